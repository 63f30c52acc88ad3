//! Indices that count from 0: those that a frame has by itself, and that say nothing of which row is which unless other data know the
//! same numbers.
//!
//! The labels of a dimension whose index is 0, 1, ..., n - 1 are these numbers where something else that is known of the axis has none but such
//! numbers as its labels, or all of them among its labels: `y` in the order 2, 0, 1 beside `x` in the order 0, 1, 2 is matched by number, and so
//! is what is left of `y` without some rows. Beside other labels (`a`, `b`, `c`, or 1, 2, 3) the dimension has no labels, and its positions are
//! taken in order, as those of an array without an index.

use cavi_algebra::{AxisId, Symbols};
use cavi_files::Content;

use super::frozen::Frozen;
use super::inputs::Inputs;
use super::pieces::Piece;
use super::suspicions::labels_of;

/// Labels the dimensions whose index counts, where something else on their axis has one of the numbers as a label.
pub(super) fn take_up(symbols: &Symbols, inputs: &Inputs, frozen: Option<&Frozen>, pieces: &mut [Piece]) {
    if !pieces.iter().any(|piece| piece.counts.contains(&true)) {
        return;
    }
    let known = known(symbols, inputs, frozen, pieces);
    for piece in pieces {
        for dimension in 0..piece.letters.len() {
            let Some(size) = size(&piece.content, dimension).filter(|_| piece.counts(dimension)) else {
                continue;
            };
            let axis = symbols.letter(piece.letters[dimension]).axis;
            let of_group =
                |own: &Known| own.group.is_none() || piece.group.is_none() || own.group == piece.group;
            if known.iter().any(|own| own.axis == axis && own.has_numbers_below(size) && of_group(own)) {
                label(piece, dimension, size);
            }
        }
    }
}

/// The numbers that something has as labels of an axis.
struct Known {
    axis: AxisId,
    /// The group of a file of one group.
    group: Option<Vec<String>>,
    /// The greatest label, where all of them are numbers.
    greatest: Option<usize>,
    /// The least number that is no label.
    lacks: usize,
}

impl Known {
    /// Of these labels; `None` without any.
    fn of<'a>(
        axis: AxisId,
        group: Option<Vec<String>>,
        labels: impl Iterator<Item = &'a str>,
    ) -> Option<Known> {
        let (mut numbers, mut are_all) = (Vec::new(), true);
        for label in labels {
            match label.parse::<usize>().ok().filter(|own| own.to_string() == label) {
                Some(number) => numbers.push(number),
                None => are_all = false,
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        let greatest = *numbers.last()?;
        let lacks = numbers.iter().enumerate().find(|(place, own)| place != *own);
        let lacks = lacks.map_or(numbers.len(), |(place, _)| place);
        Some(Known { axis, group, greatest: are_all.then_some(greatest), lacks })
    }

    /// Whether all labels are numbers below a size, or all numbers below it are labels.
    fn has_numbers_below(&self, size: usize) -> bool {
        self.greatest.is_some_and(|own| own < size) || self.lacks >= size
    }
}

/// Everything that has numbers as labels, for each axis.
fn known(symbols: &Symbols, inputs: &Inputs, frozen: Option<&Frozen>, pieces: &[Piece]) -> Vec<Known> {
    let mut known = Vec::new();
    for piece in pieces {
        for (dimension, letter) in piece.letters.iter().enumerate() {
            let labels = labels_of(&piece.content, dimension).into_iter();
            let axis = symbols.letter(*letter).axis;
            // Views have features of their own, but their samples in common.
            let group = symbols.axis(axis).parent.and_then(|_| piece.group.clone());
            known.extend(Known::of(axis, group, labels));
        }
    }
    for axis in (0..symbols.axes.len()).map(AxisId::from) {
        let name = &symbols.axis(axis).name;
        // A file that cannot be read is reported where the axis is resolved.
        let given = inputs.labels.iter().filter(|own| own.axis == *name);
        let given: Vec<String> = given.filter_map(|own| own.source.read().ok()).flatten().collect();
        let earlier =
            frozen.and_then(|own| own.labels.get(&axis)).into_iter().flat_map(|groups| groups.values());
        let labels = given.iter().chain(earlier.flatten()).map(String::as_str);
        known.extend(Known::of(axis, None, labels));
    }
    known
}

/// Gives a dimension the numbers of its positions as labels.
fn label(piece: &mut Piece, dimension: usize, size: usize) {
    let dimensions = piece.letters.len();
    let labels = match &mut piece.content {
        Content::Dense(dense) => &mut dense.labels,
        Content::Coordinates(entries) => &mut entries.labels,
        Content::Long(_) | Content::Documents(_) => return,
    };
    labels.resize(dimensions, None);
    labels[dimension] = Some((0..size).map(|position| position.to_string()).collect());
    piece.counts[dimension] = false;
}

/// The size of a dimension without labels of its own.
fn size(content: &Content, dimension: usize) -> Option<usize> {
    match content {
        Content::Dense(dense) => dense.labels[dimension].is_none().then(|| dense.shape[dimension]),
        Content::Coordinates(entries) => {
            entries.labels(dimension).is_none().then(|| entries.shape[dimension])
        }
        Content::Long(_) | Content::Documents(_) => None,
    }
}
