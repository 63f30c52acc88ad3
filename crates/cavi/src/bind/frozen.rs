//! New data for an earlier fit: the axes of what it shares keep their positions, and data keep the scale that they had.

use std::collections::{BTreeMap, HashSet};

use cavi_algebra::{AxisId, Support, Symbols};
use cavi_files::{Categories, Content, Dense, Long, Values};

use super::pieces::Piece;
use super::standardise::Standardised;

/// What an earlier fit fixes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frozen {
    /// For each axis that keeps its positions and has labels: these, for a ragged one by the path of the group (of labels joined by
    /// `/`), for another by the empty path.
    pub labels: BTreeMap<AxisId, BTreeMap<String, HashSet<String>>>,
    /// What data are standardised by.
    pub standardised: Vec<Standardised>,
}

impl Frozen {
    /// Leaves out entries whose label on such an axis the fit does not have, and says how many there were.
    pub(super) fn leave_out_unknown(&self, symbols: &Symbols, pieces: &mut [Piece]) -> usize {
        pieces.iter_mut().map(|piece| self.leave_out(symbols, piece)).sum()
    }

    fn leave_out(&self, symbols: &Symbols, piece: &mut Piece) -> usize {
        let mut dropped = 0;
        for dimension in 0..piece.letters.len() {
            let axis = symbols.letter(piece.letters[dimension]).axis;
            let Some(known) = self.labels.get(&axis) else { continue };
            let path = piece.group.as_ref().map_or_else(String::new, |path| path.join("/"));
            let parent = symbols.letter(piece.letters[dimension]).parent;
            let above = parent.and_then(|parent| piece.letters.iter().position(|letter| *letter == parent));
            match &mut piece.content {
                Content::Dense(dense) => {
                    let Some(known) = known.get(if parent.is_some() { path.as_str() } else { "" }) else {
                        continue;
                    };
                    dropped += positions_left_out(dense, dimension, known);
                }
                Content::Long(long) => {
                    let name =
                        |column: &Categories, entry: usize| column.get(entry).unwrap_or_default().to_owned();
                    let keep: Vec<bool> = (0..long.positions[dimension].codes.len())
                        .map(|entry| {
                            let group = match (parent, above) {
                                (None, _) => String::new(),
                                (Some(_), Some(above)) => name(&long.positions[above], entry),
                                (Some(_), None) => path.clone(),
                            };
                            let own = name(&long.positions[dimension], entry);
                            known.get(&group).is_some_and(|known| known.contains(&own))
                        })
                        .collect();
                    dropped += entries_left_out(long, &keep);
                }
                Content::Coordinates(_) | Content::Documents(_) => {}
            }
        }
        let Support::Index(axis) = symbols.array(piece.array).support else { return dropped };
        let Some(known) = self.labels.get(&axis).and_then(|known| known.get("")) else { return dropped };
        if let Content::Long(long) = &mut piece.content
            && let Some((_, Values::Text(text))) = &long.values
        {
            let is_known = |name: &str| name == "-1" || known.contains(name);
            let keep: Vec<bool> =
                (0..text.codes.len()).map(|entry| text.get(entry).is_none_or(is_known)).collect();
            dropped += entries_left_out(long, &keep);
        }
        dropped
    }
}

/// Keeps some entries of a long table.
fn entries_left_out(long: &mut Long, keep: &[bool]) -> usize {
    let dropped = keep.iter().filter(|keep| !**keep).count();
    if dropped > 0 {
        long.positions.iter_mut().for_each(|column| *column = kept(column, keep));
        if let Some((_, values)) = &mut long.values {
            match values {
                Values::Numbers(numbers) => {
                    let mut keep = keep.iter();
                    numbers.retain(|_| keep.next().copied().unwrap_or(false));
                }
                Values::Text(text) => *text = kept(text, keep),
            }
        }
        long.lines.retain(keep);
    }
    dropped
}

/// A column with some of its rows, and only the names that these have.
fn kept(column: &Categories, keep: &[bool]) -> Categories {
    let mut codes: Vec<Option<u32>> = vec![None; column.names.len()];
    let mut out = Categories::default();
    for (code, _) in column.codes.iter().zip(keep).filter(|(_, keep)| **keep) {
        let Some(known) = codes.get_mut(*code as usize) else {
            out.codes.push(*code);
            continue;
        };
        let own = *known.get_or_insert_with(|| {
            out.names.push(column.names[*code as usize].clone());
            (out.names.len() - 1) as u32
        });
        out.codes.push(own);
    }
    out
}

/// Keeps some positions of a dimension of a dense array; how many entries go.
fn positions_left_out(dense: &mut Dense, dimension: usize, known: &HashSet<String>) -> usize {
    let Some(labels) = &mut dense.labels[dimension] else { return 0 };
    let keep: Vec<bool> = labels.iter().map(|label| known.contains(label)).collect();
    if !keep.contains(&false) {
        return 0;
    }
    let after: usize = dense.shape[dimension + 1..].iter().product::<usize>().max(1);
    let size = dense.shape[dimension];
    let is_kept = |entry: usize| keep[entry / after % size];
    let before = dense.values.len();
    match &mut dense.values {
        Values::Numbers(numbers) => {
            let mut entry = 0..before;
            numbers.retain(|_| entry.next().is_some_and(is_kept));
        }
        Values::Text(text) => {
            let keep: Vec<bool> = (0..before).map(is_kept).collect();
            *text = kept(text, &keep);
        }
    }
    let mut own = keep.iter();
    labels.retain(|_| own.next().copied().unwrap_or(false));
    dense.shape[dimension] = labels.len();
    dense.lines = None;
    before - dense.values.len()
}
