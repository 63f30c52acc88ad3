//! New rows of an earlier fit keep the layout of that fit's factors.
//!
//! One covariance serves all rows where nothing is missing. The earlier fit may have had missing entries, and then a covariance
//! for each row: its files are read into that layout, which a mask of what is observed asks for even where nothing is
//! missing.

use cavi_algebra::ArrayKind;
use cavi_executor::BoundArray;

use super::Problem;

/// The problem with a mask for each of its data that may have missing entries; `None` where the rows are not new.
pub(super) fn restate(problem: &Problem) -> Option<Problem> {
    if !problem.binding.new_rows {
        return None;
    }
    let mut next = problem.clone();
    for (array, bound) in next.model.symbols.arrays.iter().zip(&mut next.binding.bound.arrays) {
        if let Some(BoundArray::Dense { values, observed: observed @ None }) = bound
            && array.absent.missing
            && array.kind == ArrayKind::Data
        {
            *observed = Some(vec![true; values.len()]);
        }
    }
    Some(next)
}
