//! Documents as data over a ragged axis: which array has the counts of their words, and how many rows each becomes.

use cavi_algebra::{ArrayId, Support, Symbols};
use cavi_files::Content;

use super::pieces::Piece;

/// The number of rows that each document becomes.
pub(super) fn document_lengths(symbols: &Symbols, piece: &Piece) -> Vec<usize> {
    let Content::Documents(documents) = &piece.content else { return Vec::new() };
    let weighted = multiplicity_of(symbols, piece).is_some();
    let rows = |range: &[usize]| {
        let counts = &documents.counts[range[0]..range[1]];
        match weighted {
            true => counts.len(),
            // A size that is too large is refused as such.
            false => counts.iter().fold(0_usize, |rows, count| rows.saturating_add(count.max(0.0) as usize)),
        }
    };
    documents.offsets.windows(2).map(rows).collect()
}

/// The multiplicity of the rows of documents: the array of that type over the same axis.
pub(super) fn multiplicity_of(symbols: &Symbols, piece: &Piece) -> Option<ArrayId> {
    let axis_of = |id: ArrayId| match symbols.array(id).letters.as_slice() {
        [letter] => Some(symbols.letter(*letter).axis),
        _ => None,
    };
    let axis = axis_of(piece.array)?;
    (0..symbols.arrays.len())
        .map(ArrayId::from)
        .find(|id| symbols.array(*id).support == Support::Multiplicity && axis_of(*id) == Some(axis))
}
