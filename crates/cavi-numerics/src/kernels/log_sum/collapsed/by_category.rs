//! Entries of one row where a unit adds as much to the mean of every row of each mode but the first, and one mode at most has totals,
//! of which a unit is a small part.
//!
//! What all entries share is laid out in the order in which it is read, as are the products of the entries of a group: the loops
//! over categories then have few addresses.

use super::{Group, Own, Places};
use crate::kernels::log_sum::pass::Task;
use crate::kernels::vector::Vector;

/// Up to so small a part `x`, `1 / (1 - x) = (1 + x)(1 + x^2)(1 + x^4)` to rounding: what is left out is `x^8`.
pub(super) const SMALL: f64 = 1.0 / 128.0;

/// For every vector of categories `P_0`, then `S_i` and `P_i S_i` of each other mode, then the negative reciprocals of the totals.
pub(super) fn lay_out<V: Vector, const M: usize>(own: &Own, table: &mut Vec<f64>) {
    table.clear();
    let lanes = |k: usize| k..k + V::LANES;
    let total = own.totals.iter().find(|total| !total.is_empty());
    for k in (0..own.width).step_by(V::LANES) {
        table.extend_from_slice(&own.priors[0][lanes(k)]);
        for i in 1..M {
            let (scales, priors) = (&own.scales[i][lanes(k)], &own.priors[i][lanes(k)]);
            table.extend_from_slice(scales);
            table.extend(scales.iter().zip(priors).map(|(scale, prior)| scale * prior));
        }
        table.extend(lanes(k).map(|k| total.map_or(0.0, |total| -total[k])));
    }
}

/// The numbers that all entries of a row share.
pub(super) struct Shared<const M: usize> {
    /// The length in whole vectors.
    end: usize,
    means: *const f64,
    scales: *const f64,
    table: *const f64,
    has_totals: bool,
    /// Whether the counts of all modes are wanted.
    wants_all: bool,
}

impl<const M: usize> Shared<M> {
    #[inline(always)]
    pub fn of<V: Vector>(task: &Task, own: &Own, at: &Places<M>, first: usize, table: &[f64]) -> Self {
        let means = at.factors[0].wrapping_add(first * at.strides[0]);
        Self {
            end: task.input.length.next_multiple_of(V::LANES),
            means,
            scales: match own.scales[0] {
                [] => means.wrapping_add(own.width),
                scales => scales.as_ptr(),
            },
            table: table.as_ptr(),
            has_totals: own.totals.iter().any(|total| !total.is_empty()),
            wants_all: at.accumulators.iter().all(|own| !own.is_null()),
        }
    }
}

impl<const M: usize> Group<M> for Shared<M> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // n and i are the indices of the formula
    unsafe fn group<V: Vector, const N: usize>(
        &self,
        task: &Task,
        at: &Places<M>,
        first: usize,
        e: usize,
        desk: &mut [f64],
    ) -> bool {
        // SAFETY: each row has `width` numbers, the desk four times as many; the table is as `lay_out` leaves it.
        unsafe {
            let desk = desk.as_mut_ptr();
            let rows = at.rows::<N>(first, e);
            let mut means = [[self.means; N]; M];
            for i in 1..M {
                means[i] = rows[i].map(|row| at.factors[i].wrapping_add(row));
            }
            let zero = V::splat(0.0);
            let mut partial = [zero; 4];
            for k in (0..self.end).step_by(V::LANES) {
                let of_row = V::load(self.means.add(k));
                for n in 0..N {
                    let mut product = of_row;
                    for i in 1..M {
                        product = product.times(V::load(means[i][n].add(k)));
                    }
                    product.store(desk.add(N * k + n * V::LANES));
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
                units[n] = V::splat(-weight.min(1.0) / sums[n]);
            }
            let partial = match self.has_totals {
                true => left_out::<V, M, N, true>(self, &means, &units, desk),
                false => left_out::<V, M, N, false>(self, &means, &units, desk),
            };
            let sums = V::sums(partial);
            let mut ratios = [zero; N];
            for n in 0..N {
                if !in_range(sums[n]) {
                    return false;
                }
                ratios[n] = V::splat(task.input.weights[e + n] / sums[n]);
            }
            let mut counts = [[at.accumulators[0].wrapping_add(rows[0][0]); N]; M];
            for i in 1..M {
                counts[i] = rows[i].map(|row| at.accumulators[i].wrapping_add(row));
            }
            match self.wants_all {
                true => accumulate::<V, M, N>(self.end, &counts, &ratios, desk),
                false => {
                    for i in (0..M).filter(|i| !at.accumulators[*i].is_null()) {
                        accumulate_one::<V, N>(self.end, &counts[i], &ratios, desk);
                    }
                }
            }
        }
        true
    }
}

/// The products without their own shares, in the place of the products; and their sums. `T`: whether a mode has totals.
///
/// # Safety
/// As [`Group::group`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // n and i are the indices of the formula
unsafe fn left_out<V: Vector, const M: usize, const N: usize, const T: bool>(
    shared: &Shared<M>,
    means: &[[*const f64; N]; M],
    units: &[V; N],
    desk: *mut f64,
) -> [V; 4] {
    // SAFETY: the caller's promise.
    unsafe {
        let mut partial = [V::splat(0.0); 4];
        for k in (0..shared.end).step_by(V::LANES) {
            let entry = |place: usize| V::load(shared.table.add(2 * M * k + place * V::LANES));
            let (of_row, scale) = (V::load(shared.means.add(k)), V::load(shared.scales.add(k)));
            let least = scale.times(entry(0));
            for n in 0..N {
                // The negative share.
                let share = V::load(desk.add(N * k + n * V::LANES)).times(units[n]);
                let mut product = share.times_plus(scale, of_row).max(least);
                for i in 1..M {
                    let left = share.times_plus(entry(2 * i - 1), V::load(means[i][n].add(k)));
                    product = product.times(left.max(entry(2 * i)));
                }
                if T {
                    let part = share.times(entry(2 * M - 1));
                    let square = part.times(part);
                    product = product.times_plus(part, product);
                    product = product.times_plus(square, product);
                    product = product.times_plus(square.times(square), product);
                }
                product.store(desk.add(N * k + n * V::LANES));
                partial[n] = partial[n].plus(product);
            }
        }
        partial
    }
}

/// Adds the counts of all modes.
///
/// # Safety
/// As [`Group::group`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // n and i are the indices of the formula
unsafe fn accumulate<V: Vector, const M: usize, const N: usize>(
    end: usize,
    counts: &[[*mut f64; N]; M],
    ratios: &[V; N],
    desk: *const f64,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for k in (0..end).step_by(V::LANES) {
            let mut of_row = V::load(counts[0][0].add(k));
            for n in 0..N {
                let product = V::load(desk.add(N * k + n * V::LANES));
                of_row = product.times_plus(ratios[n], of_row);
                for i in 1..M {
                    let to = counts[i][n].add(k);
                    product.times_plus(ratios[n], V::load(to)).store(to);
                }
            }
            of_row.store(counts[0][0].add(k));
        }
    }
}

/// Adds the counts of one mode.
///
/// # Safety
/// As [`Group::group`].
#[inline(always)]
unsafe fn accumulate_one<V: Vector, const N: usize>(
    end: usize,
    counts: &[*mut f64; N],
    ratios: &[V; N],
    desk: *const f64,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for k in (0..end).step_by(V::LANES) {
            for n in 0..N {
                let to = counts[n].add(k);
                let product = V::load(desk.add(N * k + n * V::LANES));
                product.times_plus(ratios[n], V::load(to)).store(to);
            }
        }
    }
}
