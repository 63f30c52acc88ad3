//! Entries of one row whose modes may differ in every way: what a unit adds to a mean by row or by category, totals of any size.

use super::{Group, Places};
use crate::kernels::log_sum::Own;
use crate::kernels::log_sum::pass::Task;
use crate::kernels::vector::Vector;

/// The numbers that all entries share.
pub(super) struct Shared<const M: usize> {
    width: usize,
    /// The length in whole vectors.
    end: usize,
    priors: [*const f64; M],
    /// Null for a mode whose rows hold them.
    scales: [*const f64; M],
    /// Null for a mode without.
    totals: [*const f64; M],
}

impl<const M: usize> Shared<M> {
    #[inline(always)]
    pub fn of<V: Vector>(task: &Task, own: &Own) -> Self {
        let pointer = |values: &[f64]| if values.is_empty() { std::ptr::null() } else { values.as_ptr() };
        Self {
            width: own.width,
            end: task.input.length.next_multiple_of(V::LANES),
            priors: std::array::from_fn(|i| own.priors[i].as_ptr()),
            scales: std::array::from_fn(|i| pointer(own.scales[i])),
            totals: std::array::from_fn(|i| pointer(own.totals[i])),
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
        let (width, end) = (self.width, self.end);
        let desk = desk.as_mut_ptr();
        // SAFETY: the entries exist.
        let rows = unsafe { at.rows::<N>(first, e) };
        // SAFETY: each row has `width` numbers, or twice as many where it holds scales; the desk four times.
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
                units[n] = V::splat(-weight.min(1.0) / sums[n]);
            }
            let (one, minus_one) = (V::splat(1.0), V::splat(-1.0));
            partial = [zero; 4];
            for k in (0..end).step_by(V::LANES) {
                let of_row = load(0, 0, k);
                // What a unit adds to a mean, and the least that is left of it.
                let scale = |i: usize, n: usize| {
                    let scale = match self.scales[i].is_null() {
                        true => load(i, n, width + k),
                        false => V::load(self.scales[i].add(k)),
                    };
                    (scale, scale.times(V::load(self.priors[i].add(k))))
                };
                let (scale_of_row, least_of_row) = scale(0, 0);
                for n in 0..N {
                    // The negative share.
                    let share = V::load(desk.add(n * width + k)).times(units[n]);
                    let mut product = share.times_plus(scale_of_row, of_row).max(least_of_row);
                    for i in 1..M {
                        let (scale, least) = scale(i, n);
                        product = product.times(share.times_plus(scale, load(i, n, k)).max(least));
                    }
                    for i in 0..M {
                        if !self.totals[i].is_null() {
                            let most = V::load(self.totals[i].add(width + k)).times(minus_one);
                            let part = share.times(V::load(self.totals[i].add(k))).max(most);
                            product = product.over(part.plus(one));
                        }
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
}
