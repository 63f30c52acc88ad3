//! How much of the data of a statement is observed.

use cavi_algebra::Symbols;
use cavi_executor::{Bound, BoundArray};
use cavi_model::Statement;

use super::RowWeights;
use crate::heldout::unflat;

/// The entries that are observed, each as often as its row weighs; of data with `absent = 0` those that are listed.
pub(crate) fn observations(symbols: &Symbols, bound: &Bound, statement: &Statement) -> f64 {
    let weights = RowWeights::of_statement(symbols, bound, statement);
    let (BoundArray::Dense { values, observed } | BoundArray::Sparse { values, observed, .. }) =
        bound.array(statement.target);
    let is_seen = |entry: &usize| observed.as_ref().is_none_or(|observed| observed[*entry]);
    let seen = (0..values.len()).filter(is_seen);
    if weights.dimensions().is_empty() {
        return seen.count() as f64;
    }
    let weight = |entry: usize| match bound.array(statement.target) {
        BoundArray::Sparse { indices, .. } => weights.at(|dimension| indices[dimension][entry] as usize),
        BoundArray::Dense { .. } => {
            let place = unflat(&bound.shape(symbols, statement.target), entry);
            weights.at(|dimension| place[dimension])
        }
    };
    seen.map(weight).sum()
}
