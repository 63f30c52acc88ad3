//! The contraction of any number of operands over any letters:
//!
//! ```text
//! out[o(b)] += c prod_i A_i[o_i(b)]   for every b in the product of the letters' ranges
//! ```
//!
//! Each offset is a sum of one [`Step`] a letter: a multiple of the letter's value, or a table's entry for it.

#![allow(unsafe_code)]

mod problem;

mod split;

mod product;
mod quadratic;

mod narrow;
mod nest;

mod work;

#[cfg(test)]
mod tests;

use smallvec::SmallVec;

use crate::{InstructionSet, Threads, facts, instruction_set};
use problem::Problem;
pub use work::{Work, work};

/// One thing a letter; more than these few are on the heap.
pub type Letters<T> = SmallVec<[T; 8]>;

/// One thing an operand; more than these few are on the heap.
pub type Operands<T> = SmallVec<[T; 6]>;

/// What one letter's value adds to an offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<'a> {
    /// `stride * value`; 0 if the array does not depend on the letter.
    Stride(usize),
    /// `table[value] * scale`: coordinates of sparse entries, parents of ragged axes, index data.
    Table {
        /// One index for each value of the letter (or more).
        table: &'a [u32],
        /// What each index is multiplied by.
        scale: usize,
    },
}

/// An array that is read: its values and one step a letter.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// The values.
    pub values: &'a [f64],
    /// One step a letter.
    pub steps: Letters<Step<'a>>,
}

/// The array that is added to: its values and one step a letter.
#[derive(Debug)]
pub struct Output<'a> {
    /// The values.
    pub values: &'a mut [f64],
    /// One step a letter.
    pub steps: Letters<Step<'a>>,
}

impl<'a> Step<'a> {
    /// What this value of the letter adds.
    #[inline(always)]
    fn of(&self, value: usize) -> usize {
        match self {
            Self::Stride(stride) => stride * value,
            Self::Table { table, scale } => table[value] as usize * scale,
        }
    }

    /// The largest addition over the first `size > 0` values; `None` if it does not fit or the table is too short.
    fn most(&self, size: usize) -> Option<usize> {
        match self {
            Self::Stride(stride) => stride.checked_mul(size - 1),
            Self::Table { table, scale } => {
                facts::size(table.get(..size)?).checked_sub(1)?.checked_mul(*scale)
            }
        }
    }

    fn is_constant(&self) -> bool {
        matches!(self, Self::Stride(0) | Self::Table { scale: 0, .. })
    }

    /// The stride, if it is one.
    fn stride(&self) -> Option<usize> {
        match self {
            Self::Stride(stride) => Some(*stride),
            Self::Table { .. } => None,
        }
    }

    /// The step of the letter whose value 0 is this letter's value `start`.
    fn from(&self, start: usize) -> Step<'a> {
        match self {
            Self::Stride(_) => *self,
            Self::Table { table, scale } => Step::Table { table: &table[start..], scale: *scale },
        }
    }
}

/// Adds the contraction to `output`. See the [module](self) for the formula.
///
/// The order of the loops, the use of matrix products and the chunks that threads work on depend only on sizes and
/// steps. Scratch memory is at most the larger of four times the part of the output in use and a few megabytes.
///
/// # Panics
/// If an array has not one step a letter, a table is shorter than its letter, or an offset lies outside its array.
pub fn contract(sizes: &[usize], coefficient: f64, operands: &[Operand], output: Output, threads: &Threads) {
    contract_on(instruction_set(), sizes, coefficient, operands, output, threads);
}

fn contract_on(
    set: InstructionSet,
    sizes: &[usize],
    coefficient: f64,
    operands: &[Operand],
    output: Output,
    threads: &Threads,
) {
    for steps in operands.iter().map(|operand| operand.steps.len()).chain([output.steps.len()]) {
        assert_eq!(steps, sizes.len(), "one step a letter");
    }
    if sizes.contains(&0) {
        return;
    }
    for operand in operands {
        assert!(fits(sizes, &operand.steps, operand.values.len()), "an operand's offsets lie inside it");
    }
    assert!(fits(sizes, &output.steps, output.values.len()), "the output's offsets lie inside it");
    let problem = Problem::new(sizes, coefficient, operands, output);
    // SAFETY: offsets lie inside the arrays, and the output is borrowed for the call.
    unsafe { split::run(set, &problem, threads) };
}

/// Whether every offset is below `length`.
fn fits(sizes: &[usize], steps: &[Step], length: usize) -> bool {
    let mut largest = Some(0_usize);
    for (step, size) in steps.iter().zip(sizes) {
        largest = largest.and_then(|largest| largest.checked_add(step.most(*size)?));
    }
    largest.is_some_and(|largest| largest < length)
}
