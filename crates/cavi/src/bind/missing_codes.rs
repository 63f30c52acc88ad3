//! Numbers that most likely stand for a missing value, -999 among measurements from 0 to 20, and labels that do, `NA`.

use cavi_algebra::{ArrayKind, Support, Symbols};
use cavi_files::{Content, Values};
use cavi_numerics::Numbers;

use super::pieces::Piece;
use super::read_back::number;

/// What a file says that holds such a number: one of nines alone, two of them or more, of either sign, that stands twice or more, below or above all
/// others by more than these are apart.
pub(super) fn warning(symbols: &Symbols, piece: &Piece) -> Option<String> {
    let array = symbols.array(piece.array);
    let is_amount =
        matches!(array.support, Support::Real | Support::Positive | Support::Nonnegative | Support::Count);
    if array.kind == ArrayKind::Data && matches!(array.support, Support::Index(_)) {
        return warning_of_labels(piece, &array.name);
    }
    if array.kind != ArrayKind::Data || !is_amount {
        return None;
    }
    let values = match &piece.content {
        Content::Dense(dense) => numbers(&dense.values)?,
        Content::Long(long) => numbers(&long.values.as_ref()?.1)?,
        Content::Coordinates(coordinates) => &coordinates.values,
        Content::Documents(_) => return None,
    };
    // Where all are known to lie between two that are no such number, there is none.
    let (low, high) = match values.facts() {
        Some(facts) if facts.least.is_finite() && facts.most.is_finite() => (facts.least, facts.most),
        _ => range(values, None)?,
    };
    let code = [low, high].into_iter().find(|own| is_of_nines(*own))?;
    let count = values.iter().filter(|own| **own == code).count();
    let (least, greatest) = range(values, Some(code))?;
    let gap = if code < least { least - code } else { code - greatest };
    (count > 1 && gap > greatest - least).then(|| {
        format!(
            "{}: {code} stands {count} times, and all other values lie from {} to {}: it may stand for a missing value\n  help: \
             write `NA` or nothing in its place, with `absent = NA` in the declaration of `{}`",
            piece.name(),
            number(least),
            number(greatest),
            array.name
        )
    })
}

/// Labels of so many kinds are codes of answers or classes; more of them are ids.
const MOST_CODES: usize = 30;

/// The same of index data whose labels are whole numbers: one of nines alone, or the only one below 0.
fn warning_of_labels(piece: &Piece, name: &str) -> Option<String> {
    let values = match &piece.content {
        Content::Dense(dense) => &dense.values,
        Content::Long(long) => &long.values.as_ref()?.1,
        Content::Coordinates(_) | Content::Documents(_) => return None,
    };
    let Values::Text(labels) = values else { return None };
    if labels.names.len() > MOST_CODES {
        return None;
    }
    let of_label = |label: &String| label.trim().parse::<i32>().ok().map(f64::from);
    let whole: Vec<f64> = labels.names.iter().map(of_label).collect::<Option<_>>()?;
    let (low, high) = range(&whole, None)?;
    let is_code = |own: &f64| {
        let Some((least, greatest)) = range(&whole, Some(*own)) else { return false };
        let gap = if *own < least { least - own } else { own - greatest };
        is_of_nines(*own) && gap > greatest - least || *own < 0.0 && least >= 0.0
    };
    let code = [low, high].into_iter().find(is_code)?;
    let place = whole.iter().position(|own| *own == code)?;
    let count = labels.codes.iter().filter(|own| **own as usize == place).count();
    let (least, greatest) = range(&whole, Some(code))?;
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    Some(format!(
        "{}: the label {code} stands {times}, and all others are from {least} to {greatest}: it may stand for a missing value\n  help: \
         write `NA` or nothing in its place, with `absent = NA` in the declaration of `{name}`",
        piece.name(),
    ))
}

/// What a table says of whose labels one is `NA`: a missing label where R or pandas wrote the table, and a label like any other here.
pub(super) fn label_warning(symbols: &Symbols, piece: &Piece) -> Option<String> {
    let Content::Long(_) = &piece.content else { return None };
    let found = piece.letters.iter().enumerate().find_map(|(dimension, letter)| {
        let mut labels = piece.content.labels(dimension)?.iter();
        let label = labels.find(|label| ["NA", "NaN", "nan", "<NA>"].contains(&label.as_str()))?;
        Some((label, &symbols.axis(symbols.letter(*letter).axis).name))
    });
    let (label, axis) = found?;
    Some(format!(
        "{}: `{label}` is read as a label of `{axis}`, one position for all lines that have it\n  help: leave these lines out if the label is \
         missing there",
        piece.name()
    ))
}

fn numbers(values: &Values) -> Option<&Numbers<f64>> {
    match values {
        Values::Numbers(numbers) => Some(numbers),
        Values::Text(_) => None,
    }
}

/// The least and the greatest of finite numbers, one that is left out apart.
fn range(values: &[f64], without: Option<f64>) -> Option<(f64, f64)> {
    let kept = values.iter().copied().filter(|own| own.is_finite() && Some(*own) != without);
    kept.fold(None, |range, own| match range {
        None => Some((own, own)),
        Some((low, high)) => Some((own.min(low), own.max(high))),
    })
}

/// Whether a number is written with the digit 9 alone, twice or more: 99, -999.
fn is_of_nines(value: f64) -> bool {
    let digits = value.abs().to_string();
    digits.len() > 1 && digits.bytes().all(|digit| digit == b'9')
}

#[cfg(test)]
mod tests {
    use super::is_of_nines;

    #[test]
    fn codes_are_of_nines_alone() {
        assert!([99.0, -99.0, 999.0, -9999.0].into_iter().all(is_of_nines));
        assert!(![9.0, -9.0, 98.0, 99.9, 990.0, 0.99, 1e30].into_iter().any(is_of_nines));
    }
}
