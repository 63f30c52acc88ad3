//! Indices that count from 0: those that a frame has by itself, and that say nothing of which row is which unless other data know the
//! same numbers.
//!
//! The labels of a dimension whose index is 0, 1, ..., n - 1 are these numbers where anything else that is known of the axis has one of
//! them as a label: `y` in the order 2, 0, 1 beside `x` in the order 0, 1, 2 is matched by number. Where nothing has one, the dimension
//! has no labels, and its positions are taken in order, as those of an array without an index.

use cavi_algebra::{AxisId, Symbols};
use cavi_files::Content;

use super::frozen::Frozen;
use super::inputs::Inputs;
use super::pieces::Piece;
use super::suspicions::labels_of;

/// Labels the dimensions whose index counts, where something else on their axis has one of the numbers as a label.
pub(super) fn take_up(symbols: &Symbols, inputs: &Inputs, frozen: Option<&Frozen>, pieces: &mut [Piece]) {
    let mut wanted: Vec<(usize, usize, usize)> = Vec::new();
    for (place, piece) in pieces.iter().enumerate() {
        for dimension in (0..piece.letters.len()).filter(|own| piece.counts(*own)) {
            let Some(size) = size(&piece.content, dimension) else { continue };
            if is_known(symbols, inputs, frozen, pieces, (place, dimension), size) {
                wanted.push((place, dimension, size));
            }
        }
    }
    for (place, dimension, size) in wanted {
        let piece = &mut pieces[place];
        let dimensions = piece.letters.len();
        let labels = match &mut piece.content {
            Content::Dense(dense) => &mut dense.labels,
            Content::Coordinates(entries) => &mut entries.labels,
            Content::Long(_) | Content::Documents(_) => continue,
        };
        labels.resize(dimensions, None);
        labels[dimension] = Some((0..size).map(|position| position.to_string()).collect());
        piece.counts[dimension] = false;
    }
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

/// Whether anything beside a dimension has a number below `size` as a label of its axis.
fn is_known(
    symbols: &Symbols,
    inputs: &Inputs,
    frozen: Option<&Frozen>,
    pieces: &[Piece],
    (place, dimension): (usize, usize),
    size: usize,
) -> bool {
    let own = &pieces[place];
    let axis = symbols.letter(own.letters[dimension]).axis;
    let is_number =
        |label: &str| label.parse::<usize>().is_ok_and(|found| found < size && found.to_string() == label);
    let in_pieces = || {
        pieces.iter().enumerate().any(|(other, piece)| {
            let of_group = piece.group.is_none() || own.group.is_none() || piece.group == own.group;
            let mut dimensions = piece.letters.iter().enumerate();
            of_group
                && dimensions.any(|(number, letter)| {
                    (other, number) != (place, dimension)
                        && symbols.letter(*letter).axis == axis
                        && labels_of(&piece.content, number).into_iter().any(is_number)
                })
        })
    };
    let given = || of_options(symbols, inputs, axis).iter().any(|label| is_number(label));
    let earlier = || {
        let groups = frozen.and_then(|own| own.labels.get(&axis));
        groups.into_iter().flat_map(|groups| groups.values()).flatten().any(|label| is_number(label))
    };
    in_pieces() || given() || earlier()
}

/// The labels that options give an axis. A file that cannot be read is reported where the axis is resolved.
fn of_options(symbols: &Symbols, inputs: &Inputs, axis: AxisId) -> Vec<String> {
    let name = &symbols.axis(axis).name;
    let given = inputs.labels.iter().filter(|own| own.axis == *name);
    given.filter_map(|own| own.source.read().ok()).flatten().collect()
}
