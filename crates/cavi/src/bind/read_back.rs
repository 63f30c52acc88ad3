//! What was understood of the data, one line an array, for the eyes of who bound them.
//!
//! `x: 96 type (A[C>A]A, A[C>A]C, ...) x 100 genome (PD3851a, ...), 9,412 entries, 188 zeros, 0 missing, sum 183,916`:
//! the axes with their sizes and first labels, in the declared order; how many entries are observed (of data with
//! `absent = 0` those that are not 0, and the zeros apart), how many are missing, and what their values come to.

use std::collections::BTreeSet;

use cavi_algebra::{AxisId, LetterId, Support};
use cavi_executor::BoundArray;

use super::axes::Axes;
use super::place::Target;

/// Labels are shown until they take so many characters.
const ROOM: usize = 20;
/// A longer label is cut.
const LONGEST: usize = 32;
/// So many groups of a ragged axis are shown.
const GROUPS: usize = 6;

/// The line of an array, of whose entries so many stood a second time and were added to the first.
pub(super) fn line(target: &Target<'_>, tally: &Tally, added: usize) -> String {
    let axes: Vec<String> = target.array.letters.iter().map(|letter| axis(target, *letter)).collect();
    let what = if axes.is_empty() { "one number".to_owned() } else { axes.join(" x ") };
    let again = match added {
        0 => String::new(),
        1 => " (1 line stands a second time, and is added to the first)".to_owned(),
        _ => format!(" ({} lines stand a second time, and are added to the first)", grouped(added as f64)),
    };
    format!("{}: {what}, {}{again}", target.array.name, entries(target, tally))
}

/// `96 type (A[C>A]A, A[C>A]C, ...)`; of a ragged axis `30 feature in view (rna 20, protein 10)`.
fn axis(target: &Target<'_>, letter: LetterId) -> String {
    let Target { symbols, axes, .. } = target;
    let id = symbols.letter(letter).axis;
    let axis = symbols.axis(id);
    let bound = &axes.bound[id.index()];
    let size = grouped(bound.size as f64);
    let Some((parent, starts)) = axis.parent.zip(bound.starts.as_ref()) else {
        let labels = axes.labels[id.index()].as_deref().unwrap_or_default();
        return format!("{size} {}{}", axis.name, first_labels(labels));
    };
    let group = |(group, ends): (usize, &[usize])| {
        let path = axes.path(symbols, parent, group).join("/");
        format!("{} {}", shortened(&path), grouped((ends[1] - ends[0]) as f64))
    };
    let mut groups: Vec<String> = starts.windows(2).enumerate().take(GROUPS).map(group).collect();
    if starts.len() > GROUPS + 1 {
        groups.push("...".to_owned());
    }
    format!("{size} {} in {} ({})", axis.name, symbols.axis(parent).name, groups.join(", "))
}

/// ` (a, b, ...)`, nothing without labels.
fn first_labels(labels: &[String]) -> String {
    let mut shown: Vec<String> = Vec::new();
    let mut length = 0;
    for label in labels {
        if !shown.is_empty() && length + label.chars().count() > ROOM {
            break;
        }
        shown.push(shortened(label));
        length += label.chars().count() + 2;
    }
    if shown.len() < labels.len() {
        shown.push("...".to_owned());
    }
    if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
}

fn shortened(label: &str) -> String {
    let more = label.chars().nth(LONGEST).is_some();
    let shown: String = label.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    format!("{}{}", shown.replace("\\\"", "\"").replace("\\'", "'"), if more { "..." } else { "" })
}

/// What the entries of an array come to.
pub(super) struct Tally {
    entries: usize,
    zeros: usize,
    missing: usize,
    sum: f64,
    least: f64,
    most: f64,
    /// Of index data which labels occur.
    occurs: Vec<bool>,
}

impl Tally {
    /// Goes through all entries that are held.
    pub fn of(target: &Target<'_>, bound: &BoundArray) -> Tally {
        let labels = match target.array.support {
            Support::Index(axis) => target.axes.bound[axis.index()].size,
            _ => 0,
        };
        let (least, most) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut tally =
            Tally { entries: 0, zeros: 0, missing: 0, sum: 0.0, least, most, occurs: vec![false; labels] };
        let zeros_apart = target.array.absent.zero;
        let seen = |mask: &Option<Vec<bool>>, entry: usize| mask.as_ref().is_none_or(|mask| mask[entry]);
        match bound {
            BoundArray::Dense { values, observed } => {
                let gaps = target.has_gaps();
                for (cell, value) in
                    values.iter().enumerate().filter(|(cell, _)| !gaps || target.cell_exists(*cell))
                {
                    tally.see(*value, seen(observed, cell), zeros_apart);
                }
            }
            BoundArray::Sparse { values, observed, unlisted_zero, .. } => {
                match values.facts() {
                    // What was found when the file was checked need not be found again.
                    Some(facts)
                        if labels == 0
                            && observed.is_none()
                            && facts.missing == 0
                            && !(zeros_apart && facts.zeros > 0) =>
                    {
                        tally.entries = values.len();
                        (tally.sum, tally.least, tally.most) = (facts.sum, facts.least, facts.most);
                    }
                    _ => {
                        for (entry, value) in values.iter().enumerate() {
                            tally.see(*value, seen(observed, entry), zeros_apart);
                        }
                    }
                }
                // Beyond any memory there is no number of entries.
                let unlisted = target.existing().map_or(0, |existing| existing.saturating_sub(values.len()));
                if *unlisted_zero {
                    tally.zeros += unlisted;
                } else {
                    tally.missing += unlisted;
                }
            }
        }
        tally
    }

    fn see(&mut self, value: f64, is_seen: bool, zeros_apart: bool) {
        if !is_seen {
            self.missing += 1;
        } else if zeros_apart && value == 0.0 {
            self.zeros += 1;
        } else {
            self.entries += 1;
            self.sum += value;
            (self.least, self.most) = (self.least.min(value), self.most.max(value));
            if let Some(occurs) = self.occurs.get_mut(value as usize) {
                *occurs = true;
            }
        }
    }
}

/// `9,412 entries, 188 zeros, 0 missing, sum 183,916`
fn entries(target: &Target<'_>, tally: &Tally) -> String {
    let mut parts = vec![counted(tally.entries, "entry", "entries")];
    if target.array.absent.zero {
        parts.push(counted(tally.zeros, "zero", "zeros"));
    }
    parts.push(format!("{} missing", grouped(tally.missing as f64)));
    if tally.entries > 0 {
        parts.push(values(target, tally));
    }
    parts.join(", ")
}

/// What the values come to: sums of what is counted, mean and range of what is measured, how many labels occur.
fn values(target: &Target<'_>, tally: &Tally) -> String {
    match target.array.support {
        Support::Count | Support::Binary | Support::Multiplicity => format!("sum {}", number(tally.sum)),
        Support::Index(axis) => {
            let occur = tally.occurs.iter().filter(|occurs| **occurs).count();
            let name = &target.symbols.axis(axis).name;
            format!("{} of {} {name} in them", grouped(occur as f64), grouped(tally.occurs.len() as f64))
        }
        Support::Real
        | Support::Positive
        | Support::Nonnegative
        | Support::Unit
        | Support::Simplex
        | Support::PositiveDefinite => {
            let mean = tally.sum / tally.entries as f64;
            format!("mean {}, from {} to {}", number(mean), number(tally.least), number(tally.most))
        }
    }
}

pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count as f64), if count == 1 { one } else { many })
}

/// A number as people read it: whole ones in groups of three digits, others with six digits that matter.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return grouped(value);
    }
    let digits = if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 };
    if !(-4..15).contains(&digits) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", usize::try_from(5 - digits).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `183,916`
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// For each dimension of an array with rows and columns, the positions without an observed entry (of data with `absent = 0`:
/// without one that is not 0), and of measurements those whose observed entries, two or more, are all equal.
pub(super) fn poor_positions(
    target: &Target<'_>,
    axes: &Axes,
    (bound, tally): (&BoundArray, &Tally),
) -> Vec<String> {
    let array = target.array;
    // Of measurements equal ones are told.
    let measures = matches!(array.support, Support::Real | Support::Positive | Support::Nonnegative)
        && !array.absent.zero;
    let mut warnings = Vec::new();
    let axis_of = |letter: &LetterId| target.symbols.letter(*letter).axis;
    let distinct: BTreeSet<AxisId> = array.letters.iter().map(axis_of).collect();
    // Of a network, or of half of one, a row need not have an entry.
    if array.letters.len() < 2 || distinct.len() < array.letters.len() || target.shape.contains(&0) {
        return warnings;
    }
    if let Some(warning) = of_one_value(target, tally) {
        return vec![warning];
    }
    for (dimension, letter) in array.letters.iter().enumerate() {
        let mut counts = vec![0; target.shape[dimension]];
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let mut ranges = vec![nothing; if measures { target.shape[dimension] } else { 0 }];
        match known_counts(bound, dimension).filter(|_| !measures) {
            Some(known) => counts[..known.len()].copy_from_slice(known),
            None => for_each_observed(target, bound, dimension, |position, value| {
                if array.absent.zero && value == 0.0 {
                    return;
                }
                counts[position] += 1;
                if let Some(range) = ranges.get_mut(position) {
                    *range = (range.0.min(value), range.1.max(value));
                }
            }),
        }
        let axis = target.symbols.letter(*letter).axis;
        let name = &target.symbols.axis(axis).name;
        let say = |positions: Vec<usize>, what: &str| {
            let shown: Vec<String> = positions
                .iter()
                .take(3)
                .map(|position| shortened(&axes.path(target.symbols, axis, *position).join("/")))
                .collect();
            let more = match (positions.len() > 3, axes.labels[axis.index()].is_none()) {
                (true, true) => ", ... (counted from 0)",
                (false, true) => " (counted from 0)",
                (true, false) => ", ...",
                (false, false) => "",
            };
            format!(
                "`{}`: {} of {} positions of axis `{name}` {what}: {}{more}",
                array.name,
                grouped(positions.len() as f64),
                grouped(counts.len() as f64),
                shown.join(", ")
            )
        };
        let all = counts.len();
        let of =
            |holds: &dyn Fn(usize) -> bool| (0..all).filter(|position| holds(*position)).collect::<Vec<_>>();
        let empty = of(&|position| counts[position] == 0);
        if !empty.is_empty() && empty.len() < all {
            let what = match (empty.len(), array.absent.zero) {
                (1, true) => "has zeros alone",
                (_, true) => "have zeros alone",
                (1, false) => "has no observed entry",
                (_, false) => "have no observed entry",
            };
            warnings.push(say(empty, what));
        }
        let is_one_value = |position: usize| ranges.get(position).is_some_and(|(least, most)| least == most);
        let alike = of(&|position| counts[position] > 1 && is_one_value(position));
        if !alike.is_empty() && alike.len() < all {
            let what = if alike.len() == 1 { "has equal entries" } else { "have equal entries" };
            warnings.push(say(alike, what));
        }
    }
    warnings
}

/// Data all of whose entries are 0, or one number: no model finds anything in them.
fn of_one_value(target: &Target<'_>, tally: &Tally) -> Option<String> {
    let name = &target.array.name;
    let counts = matches!(target.array.support, Support::Count | Support::Binary);
    if tally.entries == 0 && tally.zeros > 1 {
        return Some(format!("`{name}`: all entries are 0"));
    }
    let measures =
        counts || matches!(target.array.support, Support::Real | Support::Positive | Support::Nonnegative);
    // Where only what happened is listed, every entry may be 1.
    let whole = tally.zeros + tally.missing == 0;
    (measures && whole && tally.entries > 1 && tally.least == tally.most).then(|| {
        format!("`{name}`: all {} entries are {}", grouped(tally.entries as f64), number(tally.least))
    })
}

/// How many entries each position has, up to the last that has one: where that is known of the file, and every entry that it lists is observed and not 0.
fn known_counts(bound: &BoundArray, dimension: usize) -> Option<&[u32]> {
    let BoundArray::Sparse { indices, values, observed: None, .. } = bound else { return None };
    values.facts().filter(|own| own.missing == 0 && own.zeros == 0)?;
    indices[dimension].facts()?.counts()
}

/// Calls `see` with the position in one dimension and the value of every observed entry that is held.
fn for_each_observed(
    target: &Target<'_>,
    bound: &BoundArray,
    dimension: usize,
    mut see: impl FnMut(usize, f64),
) {
    let seen = |mask: &Option<Vec<bool>>, entry: usize| mask.as_ref().is_none_or(|mask| mask[entry]);
    match bound {
        BoundArray::Dense { values, observed } => {
            let after: usize = target.shape[dimension + 1..].iter().product();
            for (cell, value) in values.iter().enumerate() {
                if seen(observed, cell) && (!target.has_gaps() || target.cell_exists(cell)) {
                    see(cell / after.max(1) % target.shape[dimension], *value);
                }
            }
        }
        BoundArray::Sparse { indices, values, observed, .. } => {
            for (entry, (position, value)) in indices[dimension].iter().zip(values).enumerate() {
                if seen(observed, entry) {
                    see(*position as usize, *value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let texts = [0.0, 7.0, -1234.0, 183_916.0, 1.0 / 3.0, -12.5, 1234.56789, 1e-9].map(number);
        assert_eq!(texts, ["0", "7", "-1,234", "183,916", "0.333333", "-12.5", "1234.57", "1.000e-9"]);
    }

    #[test]
    fn labels_are_shown_as_far_as_there_is_room() {
        let labels =
            |all: &[&str]| first_labels(&all.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>());
        assert_eq!(labels(&[]), "");
        assert_eq!(labels(&["a", "b"]), " (a, b)");
        assert_eq!(labels(&["A[C>A]A", "A[C>A]C", "A[C>A]G"]), " (A[C>A]A, A[C>A]C, ...)");
        assert_eq!(
            labels(&["a label of more than twenty letters", "b"]),
            " (a label of more than twenty lett..., ...)"
        );
    }
}
