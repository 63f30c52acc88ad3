//! Entries of a pattern whose number of modes the compiler has not been told, one by one.

#![allow(unsafe_code)]

use super::block::Block;
use super::pass::{Task, settle};
use crate::kernels::vector::Vector;

/// The first `count <= LANES` values from `from` on.
///
/// # Safety
/// They are there; the features of `V`.
#[inline(always)]
unsafe fn some<V: Vector>(from: *const f64, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { if count == V::LANES { V::load(from) } else { V::load_part(from, count) } }
}

/// One entry of a chunk.
///
/// # Safety
/// Entry `e` exists; the features of `V`; slices as `check` demands; indices below the pattern's sizes.
#[inline(always)]
pub(super) unsafe fn entry<V: Vector>(task: &mut Task, e: usize, block: &mut Block, rare: &mut Vec<usize>) {
    let input = task.input;
    let modes = input.factors.len();
    let row = |i: usize| input.pattern.column(i)[e] as usize * input.factors[i].stride;
    let lanes = |k: usize| V::LANES.min(input.length - k);
    // SAFETY: each row has `length` values.
    unsafe {
        let product = |k: usize, count: usize, without: usize| {
            let mut value = V::splat(1.0);
            for i in (0..modes).filter(|i| *i != without) {
                value =
                    value.times(some::<V>(input.factors[i].values.pointer::<f64>().add(row(i) + k), count));
            }
            value
        };
        let zero = V::splat(0.0);
        let known = input.ratios.map(|ratios| ratios[e]);
        let ratio = match known {
            Some(known) => (known != 0.0).then_some(known),
            None => {
                let mut partial = zero;
                for k in (0..input.length).step_by(V::LANES) {
                    // The lanes past the end are products of zeros.
                    partial = partial.plus(product(k, lanes(k), modes));
                }
                let sum = V::sums([partial, zero, zero, zero])[0];
                if let Some(sums) = &mut task.written.sums {
                    sums[e - task.range.start] = sum;
                }
                settle(task, e, sum + input.addends.map_or(0.0, |c| c[e]), block, rare)
            }
        };
        let Some(ratio) = ratio else { return };
        for (i, accumulator) in task.accumulators.iter().enumerate().filter(|(_, a)| !a.is_null()) {
            for k in (0..input.length).step_by(V::LANES) {
                let count = lanes(k);
                let to = accumulator.add(row(i) + k);
                let sum = V::splat(ratio).times_plus(product(k, count, i), some::<V>(to, count));
                if count == V::LANES { sum.store(to) } else { sum.store_part(to, count) }
            }
        }
    }
}
