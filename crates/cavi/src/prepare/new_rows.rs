//! New rows of an earlier fit keep the layout of that fit's factors.
//!
//! One covariance serves all rows where nothing is missing. The earlier fit may have had missing entries, and then a covariance
//! for each row: its files are read into that layout, which a mask of what is observed asks for even where nothing is
//! missing.

use cavi_algebra::{Array, ArrayKind, Symbols};
use cavi_executor::{Bound, BoundArray};

use super::Problem;

/// The problem with a mask for each of its data that may have missing entries; `None` where the rows are not new.
pub(super) fn restate(problem: &Problem) -> Option<Problem> {
    if !problem.binding.new_rows {
        return None;
    }
    let mut next = problem.clone();
    for (array, bound) in next.model.symbols.arrays.iter().zip(&mut next.binding.bound.arrays) {
        if let Some(bound) = bound.as_mut().filter(|bound| is_unmasked(array, bound))
            && let BoundArray::Dense { values, observed } = bound
        {
            *observed = Some(vec![true; values.len()]);
        }
    }
    Some(next)
}

/// Whether new rows would get a mask for any of their data.
pub(crate) fn masks(symbols: &Symbols, bound: &Bound) -> bool {
    let arrays = symbols.arrays.iter().zip(&bound.arrays);
    arrays.into_iter().any(|(array, bound)| bound.as_ref().is_some_and(|bound| is_unmasked(array, bound)))
}

/// Whether an array has all entries of data that may have missing ones.
fn is_unmasked(array: &Array, bound: &BoundArray) -> bool {
    let is_dense = matches!(bound, BoundArray::Dense { observed: None, .. });
    is_dense && array.absent.missing && array.kind == ArrayKind::Data
}
