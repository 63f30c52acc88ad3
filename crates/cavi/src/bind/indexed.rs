//! What the values of index data say of the axis that they point into, where nothing else labels it.

use super::axes::Listed;
use super::data_error::DataError;

/// The labels that are values of index data, and of which array.
pub(super) struct Indexed {
    /// Its name.
    pub array: String,
    /// Whether the array is one value.
    pub single: bool,
    /// Its values as labels, and the file.
    pub listed: Listed,
}

/// Labels that index data alone give, completed to the size of the axis: whole numbers that are positions stay positions,
/// and the rest of other labels are numbers.
pub(super) fn complete(found: &[String], size: usize) -> Option<Vec<String>> {
    if found.len() >= size {
        return Some(found.to_vec());
    }
    let is_position = |label: &String| {
        label.parse::<usize>().is_ok_and(|place| place < size && place.to_string() == *label)
    };
    if found.iter().all(is_position) {
        return None;
    }
    let mut labels = found.to_vec();
    let unused: Vec<String> = (found.len()..)
        .map(|place| place.to_string())
        .filter(|label| !found.contains(label))
        .take(size - found.len())
        .collect();
    labels.extend(unused);
    Some(labels)
}

/// A whole number in index data that is no position of an axis, whose positions are known otherwise, and no label of it:
/// others there are positions, or it stands alone. (Numbers none of which is a position, as years, are labels.)
pub(super) fn outside(indexed: &[Indexed], size: usize, place: &str, name: &str) -> Option<DataError> {
    let position =
        |label: &str| label.parse::<usize>().is_ok_and(|own| own < size && own.to_string() == label);
    let all = || indexed.iter().flat_map(|own| own.listed.labels.iter().map(move |label| (own, label)));
    if !all().all(|(_, label)| label.parse::<i64>().is_ok()) {
        return None;
    }
    let some = all().any(|(_, label)| position(label));
    let (own, label) = all().find(|(own, label)| !position(label) && (some || own.single))?;
    Some(
        DataError::new(format!(
            "{}: `{}` is {label}, and axis {place} has {size} positions",
            own.listed.from, own.array
        ))
        .possible(match size {
            0 => "none".to_owned(),
            _ => format!("a position from 0 to {}", size - 1),
        })
        .help(format!(
            "correct the value or the size; numbers that count from 1 are labels, given in order by `--labels {name}=FILE`"
        )),
    )
}
