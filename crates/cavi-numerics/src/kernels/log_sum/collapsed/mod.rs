//! Allocations that leave their own shares out, in one pass.
//!
//! For every entry `e` of weight `x_e`, with `G_i` the means, `S_i` what a unit of a mass adds to its mean, so that the masses are
//! `N_i = G_i / S_i`, with `P_i` what of a mass stays in any case, and for a mode whose means are over totals these, `T_i` and `Q_i`:
//!
//! ```text
//! p_k    = prod_i G_i[idx_i(e), k]
//! u_k    = min(x_e, 1) p_k / sum_l p_l
//! q_k    = prod_i max(G_i - u_k S_i, P_i S_i)[idx_i(e), k] / prod_i max(1 - u_k / T_i[k], Q_i[k] / T_i[k])
//! acc_i[idx_i(e), k] += x_e q_k / sum_l q_l
//! ```
//!
//! A factor of `q` is `G_i max(1 - u / N_i, P_i / N_i)`. Written with `S_i` it needs nothing but the means of a row wherever a unit
//! adds as much to the mean of every row, as it does for probabilities of one total and for rates of one exposure.
//!
//! The three sums over `k` of an entry follow one another: what the second and the third read is in the nearest cache, the `p` and
//! `q` of up to four entries of one row. Nothing is stored by entry. Unlike in the other passes it is the counts themselves that are
//! accumulated.

#![allow(unsafe_code)]

mod by_category;
mod general;

use std::ops::Range;

use super::Totals;
use super::pass::Task;
use crate::kernels::vector::Vector;

/// What the pass reads of each mode besides its means. The rows of a mode have [`Own::width`] numbers, or twice as many where what
/// a unit adds to a mean differs by row: the means, and from that place on `S_i`.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// The length, rounded up to whole vectors ([`width_of`]); behind the length stand zeros.
    pub width: usize,
    /// For each mode `P_i[k]`.
    pub priors: &'a [&'a [f64]],
    /// For each mode `S_i[k]`, 0 for a mean that is taken as it is; empty for a mode whose rows hold it.
    pub scales: &'a [&'a [f64]],
    /// For each mode the reciprocals of its totals, then from `width` on the greatest part `1 - Q_i[k] / T_i[k]` of each that is taken
    /// out; empty for a mode whose means are not over totals.
    pub totals: &'a [&'a [f64]],
}

impl Own<'_> {
    /// The length of a row of a mode.
    pub(super) fn stride(&self, mode: usize) -> usize {
        if self.scales[mode].is_empty() { 2 * self.width } else { self.width }
    }

    /// Whether all modes but the first have `S_i` by category, no more than one has totals, and a whole unit is no more than a
    /// small part of any of these, and no more than may be taken out of it.
    fn is_by_category(&self) -> bool {
        let is_small = |total: &&[f64]| {
            let (inverses, most) = total.split_at(self.width.min(total.len()));
            inverses.iter().zip(most).all(|(inverse, most)| inverse <= &by_category::SMALL && inverse <= most)
        };
        self.scales.iter().skip(1).all(|scales| !scales.is_empty())
            && self.totals.iter().filter(|total| !total.is_empty()).count() <= 1
            && self.totals.iter().all(is_small)
    }
}

/// A length rounded up to whole vectors of every instruction set.
pub fn width_of(length: usize) -> usize {
    length.next_multiple_of(super::pass::MOST_LANES)
}

/// The most modes that the pass knows.
pub const MOST_MODES: usize = 4;

/// Where rows are.
pub(super) struct Places<const M: usize> {
    pub indices: [*const u32; M],
    /// As in the other passes.
    pub near: *const u16,
    pub first_column: usize,
    pub factors: [*const f64; M],
    pub strides: [usize; M],
    pub accumulators: [*mut f64; M],
}

impl<const M: usize> Places<M> {
    /// Where the rows of the entries `e .. e + N` begin, in the factor and in the accumulator.
    ///
    /// # Safety
    /// The entries exist.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // n and i are the indices of the formula
    unsafe fn rows<const N: usize>(&self, first: usize, e: usize) -> [[usize; N]; M] {
        let mut rows = [[0; N]; M];
        for i in 0..M {
            for n in 0..N {
                // SAFETY: the entry exists.
                let index = unsafe {
                    match i {
                        0 => first,
                        1 if !self.near.is_null() => self.first_column + *self.near.add(e + n) as usize,
                        _ => *self.indices[i].add(e + n) as usize,
                    }
                };
                rows[i][n] = index * self.strides[i];
            }
        }
        rows
    }
}

/// Consecutive entries that share the first mode's index `first`.
///
/// # Safety
/// Such are the entries; the features of `V`; slices as `check` demands; indices below the pattern's sizes.
#[inline(always)]
pub(super) unsafe fn row<V: Vector, const M: usize>(
    task: &mut Task,
    own: &Own,
    at: &Places<M>,
    first: usize,
    entries: Range<usize>,
    totals: &mut Totals,
) {
    let mut desk = std::mem::take(&mut task.desk.shares);
    desk.resize(4 * own.width, 0.0);
    let mut table = std::mem::take(&mut task.desk.table);
    let is_by_category = *task.is_by_category.get_or_insert_with(|| {
        let all = own.is_by_category();
        if all {
            by_category::lay_out::<V, M>(own, &mut table);
        }
        all
    });
    let desk_of = desk.as_mut_slice();
    // SAFETY: the caller's promise.
    unsafe {
        if is_by_category {
            let shared = by_category::Shared::<M>::of::<V>(task, own, at, first, &table);
            groups::<V, M, _>(task, &shared, at, first, entries, desk_of, totals);
        } else {
            let shared = general::Shared::<M>::of::<V>(task, own);
            groups::<V, M, _>(task, &shared, at, first, entries, desk_of, totals);
        }
    }
    (task.desk.shares, task.desk.table) = (desk, table);
}

/// A way to take the entries of a row.
trait Group<const M: usize> {
    /// `N` entries of one row; `false` where one of them has no weight, or sums out of range: nothing is accumulated then.
    ///
    /// # Safety
    /// Entries `e .. e + N` exist and share the first mode's index; otherwise as [`row`].
    unsafe fn group<V: Vector, const N: usize>(
        &self,
        task: &Task,
        at: &Places<M>,
        first: usize,
        e: usize,
        desk: &mut [f64],
    ) -> bool;
}

/// Entries in groups of up to four, and one by one where a group cannot be taken. (A closure would not have the features of `V`.)
///
/// # Safety
/// As [`row`].
#[inline(always)]
unsafe fn groups<V: Vector, const M: usize, G: Group<M>>(
    task: &Task,
    shared: &G,
    at: &Places<M>,
    first: usize,
    entries: Range<usize>,
    desk: &mut [f64],
    totals: &mut Totals,
) {
    let mut e = entries.start;
    // SAFETY: the caller's promise.
    unsafe {
        while e < entries.end {
            let count = (entries.end - e).min(4);
            let all = match count {
                4 => shared.group::<V, 4>(task, at, first, e, desk),
                3 => shared.group::<V, 3>(task, at, first, e, desk),
                2 => shared.group::<V, 2>(task, at, first, e, desk),
                _ => false,
            };
            if !all {
                // An entry that contributes nothing is not multiplied by zero, because it may be infinite.
                for e in e..e + count {
                    if task.input.weights[e] != 0.0 && !shared.group::<V, 1>(task, at, first, e, desk) {
                        totals.rare.push(e);
                    }
                }
            }
            e += count;
        }
    }
}
