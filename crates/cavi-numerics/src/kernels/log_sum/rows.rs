//! The pass over some rows of the first mode, for repeated calls while their entries and the rows that they gather
//! are in the cache.

use std::cell::Cell;
use std::ops::Range;

use super::visit::Visit;
use super::{LogSum, pass};
use crate::kernels::Pattern;
use crate::{InstructionSet, instruction_set};

thread_local! {
    /// What the last call worked in, for the next.
    static DESK: Cell<pass::Desk> = Cell::default();
}

/// Adds to `own` what [`log_sum`](super::log_sum) adds to the accumulator of the first mode at these rows when it is asked
/// for that alone: to the bit. The first factor, and `own` with its stride, begin with the first of the rows. Returns whether
/// all entries were taken: `false` where one was left out, and the counts are not to be used.
///
/// # Panics
/// If the pattern does not [stand in rows](Pattern::stands_in_rows), a slice is too short for it, or sums are wanted of known
/// ratios.
pub fn log_sum_rows(input: &LogSum, rows: Range<usize>, own: &mut [f64]) -> bool {
    log_sum_rows_on(instruction_set(), input, rows, own)
}

pub(super) fn log_sum_rows_on(
    set: InstructionSet,
    input: &LogSum,
    rows: Range<usize>,
    own: &mut [f64],
) -> bool {
    let pattern = input.pattern;
    check(input, &rows, own);
    let entries = pattern.entries_of(&rows);
    if entries.is_empty() {
        return true;
    }
    let mut task = pass::Task::of_rows(input, entries.clone(), rows.start, own.as_mut_ptr(), DESK.take());
    task.is_padded = super::is_padded(input, &[]);
    let visit = match pattern.grid() {
        None => Visit::All,
        Some(grid) => Visit::Rows { grid, rows: rows.start..rows.end.min(pattern.size(0)) },
    };
    pass::run(set, &mut task, visit);
    let (totals, desk) = task.finish();
    DESK.set(desk);
    totals.rare.is_empty()
}

/// The door, as that of the whole pass.
fn check(input: &LogSum, rows: &Range<usize>, own: &[f64]) {
    let pattern: &Pattern = input.pattern;
    let entries = pattern.len();
    assert!(pattern.stands_in_rows(), "the entries stand row after row");
    assert!(rows.start <= rows.end, "a range of rows");
    assert_eq!(input.factors.len(), pattern.modes(), "one factor a mode");
    assert!(input.factors.iter().all(|own| own.values.is_double()), "factors in double precision");
    assert!(input.ratios.is_none(), "ratios are to be taken");
    assert!(input.least >= super::LEAST, "what is left out has no reciprocal");
    assert_eq!(input.weights.len(), entries, "one weight an entry");
    assert!(input.addends.is_none_or(|c| c.len() == entries), "one addend an entry");
    for (mode, factor) in input.factors.iter().enumerate() {
        // Rows past the last one of the pattern are never read.
        let count = if mode == 0 { rows.len() } else { pattern.size(mode) };
        let needed = if count == 0 { 0 } else { (count - 1) * factor.stride + input.length };
        assert!(count <= 1 || factor.stride >= input.length, "rows of a factor do not overlap");
        assert!(factor.values.len() >= needed, "a factor has a row for each index");
        assert!(mode > 0 || own.len() >= needed, "the accumulator has a row for each index");
    }
}
