//! Allocations that leave their own shares out, in one pass.
//!
//! For every entry `e` of weight `x_e`, with `G_i` the means, `N_i` the masses, `P_i` what of them stays in any case, and for a mode
//! whose means are over totals these, `T_i` and `Q_i`:
//!
//! ```text
//! p_k    = prod_i G_i[idx_i(e), k]
//! u_k    = min(x_e, 1) p_k / sum_l p_l
//! q_k    = p_k prod_i max(1 - u_k / N_i[idx_i(e), k], P_i / N_i) / prod_i max(1 - u_k / T_i[k], Q_i[k] / T_i[k])
//! acc_i[idx_i(e), k] += x_e q_k / sum_l q_l
//! ```
//!
//! The three sums over `k` of an entry follow one another: what the second and the third read is in the nearest cache, the `p` and
//! `q` of up to four entries of one row. Nothing is stored by entry. Unlike in the other passes it is the counts themselves that are
//! accumulated.

#![allow(unsafe_code)]

use std::ops::Range;

use super::Totals;
use super::pass::Task;
use crate::kernels::vector::Vector;

/// What the pass reads of each mode besides its means. The rows of a mode's factor have twice [`Own::width`] numbers: the means,
/// and from that place on the negative reciprocals of the masses, 0 for a mean that is taken as it is.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    /// The length, rounded up to whole vectors ([`width_of`]); behind the length stand zeros.
    pub width: usize,
    /// For each mode the negatives of `P_i[k]`.
    pub priors: &'a [&'a [f64]],
    /// For each mode the reciprocals of its totals, then from `width` on the greatest part `1 - Q_i[k] / T_i[k]` of each that is taken
    /// out; empty for a mode whose means are not over totals.
    pub totals: &'a [&'a [f64]],
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

/// The numbers that all entries share.
struct Shared<const M: usize> {
    width: usize,
    /// The length in whole vectors.
    end: usize,
    priors: [*const f64; M],
    totals: [*const f64; M],
    /// Whether no quotient by a total takes more than its 128th part out.
    is_small: bool,
}

/// Up to so small a part `x`, `1 / (1 - x) = (1 + x)(1 + x^2)(1 + x^4)` to rounding: what is left out is `x^8`.
const SMALL: f64 = 1.0 / 128.0;

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
    let length = task.input.length;
    let pointer = |values: &[f64]| if values.is_empty() { std::ptr::null() } else { values.as_ptr() };
    let parts = own.totals.iter().flat_map(|total| &total[..own.width.min(total.len())]);
    let shared = Shared::<M> {
        width: own.width,
        end: length.next_multiple_of(V::LANES),
        priors: std::array::from_fn(|i| own.priors[i].as_ptr()),
        totals: std::array::from_fn(|i| pointer(own.totals[i])),
        is_small: task.is_small.unwrap_or_else(|| parts.fold(0.0, |most: f64, own| most.max(*own)) <= SMALL),
    };
    task.is_small = Some(shared.is_small);
    let mut desk = std::mem::take(&mut task.desk.shares);
    desk.resize(4 * own.width, 0.0);
    let mut e = entries.start;
    // SAFETY: the caller's promise.
    unsafe {
        while e < entries.end {
            let run = (entries.end - e).min(4);
            let all = match run {
                4 => group::<V, M, 4>(task, &shared, at, first, e, &mut desk),
                3 => group::<V, M, 3>(task, &shared, at, first, e, &mut desk),
                2 => group::<V, M, 2>(task, &shared, at, first, e, &mut desk),
                _ => false,
            };
            if !all {
                // An entry that contributes nothing is not multiplied by zero, because it may be infinite.
                for e in e..e + run {
                    if task.input.weights[e] != 0.0
                        && !group::<V, M, 1>(task, &shared, at, first, e, &mut desk)
                    {
                        totals.rare.push(e);
                    }
                }
            }
            e += run;
        }
    }
    task.desk.shares = desk;
}

/// `N` entries of one row; `false` where one of them has no weight, or sums out of range: nothing is accumulated then.
///
/// # Safety
/// Entries `e .. e + N` exist and share the first mode's index; otherwise as [`row`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // n and i are the indices of the formula
unsafe fn group<V: Vector, const M: usize, const N: usize>(
    task: &Task,
    shared: &Shared<M>,
    at: &Places<M>,
    first: usize,
    e: usize,
    desk: &mut [f64],
) -> bool {
    let (width, end) = (shared.width, shared.end);
    let desk = desk.as_mut_ptr();
    let mut rows = [[0_usize; N]; M];
    for i in 0..M {
        for n in 0..N {
            // SAFETY: the entry exists.
            let index = unsafe {
                match i {
                    0 => first,
                    1 if !at.near.is_null() => at.first_column + *at.near.add(e + n) as usize,
                    _ => *at.indices[i].add(e + n) as usize,
                }
            };
            rows[i][n] = index * at.strides[i];
        }
    }
    // SAFETY: each row has twice `width` numbers, the desk four times.
    unsafe {
        let load = |i: usize, n: usize, k: usize| V::load(at.factors[i].wrapping_add(rows[i][n] + k));
        let zero = V::splat(0.0);
        let mut partial = [zero; 4];
        for k in (0..end).step_by(V::LANES) {
            let of_row = load(0, 0, k);
            for n in 0..N {
                let mut product = of_row;
                for i in 1..M {
                    product = product.times(load(i, n, k));
                }
                product.store(desk.add(n * width + k));
                partial[n] = partial[n].plus(product);
            }
        }
        let sums = V::sums(partial);
        let in_range = |sum: f64| (task.input.least..f64::INFINITY).contains(&sum);
        let mut units = [zero; N];
        for n in 0..N {
            let weight = task.input.weights[e + n];
            if weight == 0.0 || !in_range(sums[n]) {
                return false;
            }
            units[n] = V::splat(weight.min(1.0) / sums[n]);
        }
        let one = V::splat(1.0);
        partial = [zero; 4];
        for k in (0..end).step_by(V::LANES) {
            let of_row = load(0, 0, width + k);
            let kept = V::load(shared.priors[0].add(k)).times(of_row);
            for n in 0..N {
                let product = V::load(desk.add(n * width + k));
                let share = product.times(units[n]);
                let mut left = share.times_plus(of_row, one).max(kept);
                for i in 1..M {
                    let inverse = load(i, n, width + k);
                    let kept = V::load(shared.priors[i].add(k)).times(inverse);
                    left = left.times(share.times_plus(inverse, one).max(kept));
                }
                let mut product = product.times(left);
                for i in 0..M {
                    if shared.totals[i].is_null() {
                        continue;
                    }
                    let most = V::load(shared.totals[i].add(width + k));
                    let part = share.times(V::load(shared.totals[i].add(k))).min(most);
                    product = if shared.is_small {
                        let square = part.times(part);
                        let product = product.times_plus(part, product);
                        let product = product.times_plus(square, product);
                        product.times_plus(square.times(square), product)
                    } else {
                        product.over(part.times_plus(V::splat(-1.0), one))
                    };
                }
                product.store(desk.add(n * width + k));
                partial[n] = partial[n].plus(product);
            }
        }
        let sums = V::sums(partial);
        let mut ratios = [zero; N];
        for n in 0..N {
            if !in_range(sums[n]) {
                return false;
            }
            ratios[n] = V::splat(task.input.weights[e + n] / sums[n]);
        }
        for k in (0..end).step_by(V::LANES) {
            let mut of_row = zero;
            if !at.accumulators[0].is_null() {
                of_row = V::load(at.accumulators[0].wrapping_add(rows[0][0] + k));
            }
            for n in 0..N {
                let count = V::load(desk.add(n * width + k)).times(ratios[n]);
                of_row = of_row.plus(count);
                for i in 1..M {
                    if !at.accumulators[i].is_null() {
                        let to = at.accumulators[i].wrapping_add(rows[i][n] + k);
                        V::load(to).plus(count).store(to);
                    }
                }
            }
            if !at.accumulators[0].is_null() {
                of_row.store(at.accumulators[0].wrapping_add(rows[0][0] + k));
            }
        }
    }
    true
}
