//! One chunk of [`log_sum`](super::log_sum), for each instruction set and number of modes.
//!
//! Up to four entries of one row (equal indices of the first mode) run together: the first mode's row is read once for
//! them, first for the `s_e`, then, while the other rows are still in the cache, for the accumulators. Logarithms are
//! taken over a block of entries.

#![allow(unsafe_code)]

use std::ops::Range;

use super::{LogSum, SMALLEST, Totals};
use crate::InstructionSet;
use crate::kernels::vector::{Portable, Vector};
use crate::special::ln_into;

/// What one chunk reads and writes.
pub(super) struct Task<'a> {
    pub input: &'a LogSum<'a>,
    pub range: Range<usize>,
    /// One a mode; null where not wanted. Not shared with another task, or at other rows only.
    pub accumulators: Vec<*mut f64>,
    /// The modes whose accumulators this task replaces by its own, and their places in `copy`.
    pub private: &'a [(usize, Range<usize>)],
    /// The memory of this task's own accumulators, to be cleared.
    pub copy: &'a mut [f64],
    pub ratios: Option<&'a mut [f64]>,
    pub sums: Option<&'a mut [f64]>,
}

// SAFETY: tasks write through their pointers at rows that no other task writes or reads: see `log_sum_on`.
unsafe impl Send for Task<'_> {}

/// Entries whose logarithms are taken together.
const BLOCK: usize = 512;

/// Runs the chunk.
pub(super) fn run(set: InstructionSet, mut task: Task) -> Totals {
    task.copy.fill(0.0);
    let copy = task.copy.as_mut_ptr();
    for (mode, place) in task.private {
        assert!(place.end <= task.copy.len());
        task.accumulators[*mode] = copy.wrapping_add(place.start);
    }
    match task.input.pattern.modes() {
        1 => run_modes::<1>(set, &mut task),
        2 => run_modes::<2>(set, &mut task),
        3 => run_modes::<3>(set, &mut task),
        4 => run_modes::<4>(set, &mut task),
        _ => run_modes::<ANY>(set, &mut task),
    }
}

/// Stands for a number of modes above four, which is not known to the compiler.
const ANY: usize = 0;

fn run_modes<const M: usize>(set: InstructionSet, task: &mut Task) -> Totals {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::kernels::vector::{Avx2, Avx512};

        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        fn avx512<const M: usize>(task: &mut Task) -> Totals {
            // SAFETY: compiled for these features; `check` has seen the slices.
            unsafe { chunk::<Avx512, M>(task) }
        }

        #[target_feature(enable = "avx2,fma")]
        fn avx2<const M: usize>(task: &mut Task) -> Totals {
            // SAFETY: as above.
            unsafe { chunk::<Avx2, M>(task) }
        }

        match set {
            // SAFETY: `instruction_set` found these features on this machine.
            InstructionSet::Avx512 => return unsafe { avx512::<M>(task) },
            // SAFETY: as above.
            InstructionSet::Avx2 => return unsafe { avx2::<M>(task) },
            InstructionSet::Portable => {}
        }
    }
    let _ = set;
    // SAFETY: `Portable` needs no features; `check` has seen the slices.
    unsafe { chunk::<Portable, M>(task) }
}

/// Where the rows are: copied out of the task, so that no store to the accumulators can be thought to change it.
struct Modes<const M: usize> {
    indices: [*const u32; M],
    factors: [*const f64; M],
    strides: [usize; M],
    accumulators: [*mut f64; M],
    whole: usize,
    rest: usize,
}

impl<const M: usize> Modes<M> {
    #[inline(always)]
    fn of<V: Vector>(task: &Task) -> Self {
        let input = task.input;
        Self {
            indices: std::array::from_fn(|i| input.pattern.column(i).as_ptr()),
            factors: std::array::from_fn(|i| input.factors[i].values.as_ptr()),
            strides: std::array::from_fn(|i| input.factors[i].stride),
            accumulators: std::array::from_fn(|i| task.accumulators[i]),
            whole: input.length / V::LANES * V::LANES,
            rest: input.length % V::LANES,
        }
    }
}

/// What a block of entries leaves for its logarithms.
struct Block {
    start: usize,
    sums: [f64; BLOCK],
    weights: [f64; BLOCK],
}

/// # Safety
/// The features of `V`; slices as `check` demands; indices below the pattern's sizes.
#[inline(always)]
unsafe fn chunk<V: Vector, const M: usize>(task: &mut Task) -> Totals {
    let mut totals = Totals::default();
    let mut block = Block { start: 0, sums: [1.0; BLOCK], weights: [0.0; BLOCK] };
    let mut logs = [0.0; BLOCK];
    let input = task.input;
    let rows = input.pattern.column(0);
    let modes = Modes::<M>::of::<V>(task);
    let range = task.range.clone();
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + BLOCK);
        block.start = start;
        let mut e = start;
        while e < end {
            let mut row_end = e + 1;
            while row_end < end && rows[row_end] == rows[e] {
                row_end += 1;
            }
            // SAFETY: the entries of `e..row_end` exist and share the first mode's index.
            unsafe { row::<V, M>(task, &modes, e..row_end, &mut block, &mut totals.rare) };
            e = row_end;
        }
        let count = end - start;
        ln_into(&block.sums[..count], &mut logs[..count]);
        if let Some(offsets) = input.offsets {
            for (log, offset) in logs[..count].iter_mut().zip(&offsets[start..end]) {
                *log += offset;
            }
        }
        for (log, weight) in logs[..count].iter_mut().zip(&block.weights) {
            *log = if *weight == 0.0 { 0.0 } else { *weight * *log };
        }
        totals.total += crate::reduce::sum(&logs[..count]);
        start = end;
    }
    totals
}

/// Consecutive entries that share the first mode's index.
///
/// # Safety
/// Such are the entries; otherwise as [`chunk`].
#[inline(always)]
unsafe fn row<V: Vector, const M: usize>(
    task: &mut Task,
    modes: &Modes<M>,
    entries: Range<usize>,
    block: &mut Block,
    rare: &mut Vec<usize>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if M == ANY {
            for e in entries {
                group_of_any::<V>(task, e, block, rare);
            }
            return;
        }
        // The first mode's sums past the last whole vector stay in a register for the row: a masked store that is soon
        // read again is slow.
        let mut tail = V::splat(0.0);
        let mut e = entries.start;
        while e < entries.end {
            let run = (entries.end - e).min(4);
            match run {
                4 => group::<V, M, 4>(task, modes, e, block, rare, &mut tail),
                3 => group::<V, M, 3>(task, modes, e, block, rare, &mut tail),
                2 => group::<V, M, 2>(task, modes, e, block, rare, &mut tail),
                _ => group::<V, M, 1>(task, modes, e, block, rare, &mut tail),
            }
            e += run;
        }
        let (accumulator, rest) = (modes.accumulators[0], modes.rest);
        if !accumulator.is_null() && rest > 0 {
            let index = *modes.indices[0].add(entries.start) as usize;
            let to = accumulator.add(index * modes.strides[0] + modes.whole);
            V::load_part(to, rest).plus(tail).store_part(to, rest);
        }
    }
}

/// Records `s` and says what becomes of the entry: `Some(r)`, or `None` if it contributes nothing or is rare.
#[inline(always)]
fn settle(task: &mut Task, e: usize, s: f64, block: &mut Block, rare: &mut Vec<usize>) -> Option<f64> {
    let weight = task.input.weights[e];
    let is_common = (SMALLEST..f64::INFINITY).contains(&s);
    let position = e - block.start;
    let ratio = if weight == 0.0 {
        None
    } else if is_common {
        Some(weight / s)
    } else {
        rare.push(e);
        None
    };
    block.sums[position] = if is_common { s } else { 1.0 };
    block.weights[position] = if ratio.is_some() { weight } else { 0.0 };
    if let Some(sums) = &mut task.sums {
        sums[e - task.range.start] = s;
    }
    if let Some(ratios) = &mut task.ratios {
        ratios[e - task.range.start] = ratio.unwrap_or(0.0);
    }
    ratio
}

/// [`settle`] for each of `N` entries: the ratios, and which entries contribute.
#[inline(always)]
fn settle_all<const N: usize>(
    task: &mut Task,
    e: usize,
    s: &[f64; N],
    block: &mut Block,
    rare: &mut Vec<usize>,
) -> ([f64; N], [bool; N]) {
    let weights = task.input.weights[e..].first_chunk::<N>().expect("the entries exist");
    let mut ratios = [0.0; N];
    let mut all = true;
    for n in 0..N {
        ratios[n] = weights[n] / s[n];
        all &= (weights[n] != 0.0) & (s[n] >= SMALLEST) & (s[n] < f64::INFINITY);
    }
    if !all {
        let mut contributes = [false; N];
        for n in 0..N {
            let ratio = settle(task, e + n, s[n], block, rare);
            (ratios[n], contributes[n]) = (ratio.unwrap_or(0.0), ratio.is_some());
        }
        return (ratios, contributes);
    }
    let position = e - block.start;
    block.sums[position..position + N].copy_from_slice(s);
    block.weights[position..position + N].copy_from_slice(weights);
    let start = e - task.range.start;
    if let Some(sums) = &mut task.sums {
        sums[start..start + N].copy_from_slice(s);
    }
    if let Some(out) = &mut task.ratios {
        out[start..start + N].copy_from_slice(&ratios);
    }
    (ratios, [true; N])
}

/// The rows of `N` entries that share the first mode's.
struct Rows<const M: usize, const N: usize> {
    factors: [[*const f64; N]; M],
    accumulators: [[*mut f64; N]; M],
    wanted: [bool; M],
}

/// # Safety
/// Entries `e .. e + N` exist and share the first mode's index; otherwise as [`chunk`].
#[inline(always)]
unsafe fn group<V: Vector, const M: usize, const N: usize>(
    task: &mut Task,
    modes: &Modes<M>,
    e: usize,
    block: &mut Block,
    rare: &mut Vec<usize>,
    tail: &mut V,
) {
    let (whole, rest) = (modes.whole, modes.rest);
    let mut rows = Rows::<M, N> {
        factors: [[std::ptr::null(); N]; M],
        accumulators: [[std::ptr::null_mut(); N]; M],
        wanted: [false; M],
    };
    for i in 0..M {
        rows.wanted[i] = !modes.accumulators[i].is_null();
        for n in 0..N {
            // SAFETY: the entry exists.
            let row = unsafe { *modes.indices[i].add(e + n) } as usize * modes.strides[i];
            rows.factors[i][n] = modes.factors[i].wrapping_add(row);
            rows.accumulators[i][n] = modes.accumulators[i].wrapping_add(row);
        }
    }
    // SAFETY: each row has `length` values.
    unsafe {
        let mut partial = [V::splat(0.0); 4];
        let mut k = 0;
        while k < whole {
            products::<V, M, N, true>(&rows, k, 0, &mut partial);
            k += V::LANES;
        }
        if rest > 0 {
            products::<V, M, N, false>(&rows, whole, rest, &mut partial);
        }
        let s = V::sums(partial);
        let mut s: [f64; N] = *s.first_chunk::<N>().expect("at most four entries");
        if let Some(addends) = task.input.addends {
            for n in 0..N {
                s[n] += addends[e + n];
            }
        }
        let (ratios, contributes) = settle_all(task, e, &s, block, rare);
        if rows.wanted == [false; M] {
            return;
        }
        if contributes == [true; N] {
            let mut splats = [V::splat(0.0); N];
            for n in 0..N {
                splats[n] = V::splat(ratios[n]);
            }
            accumulate_rows::<V, M, N>(&rows, whole, rest, &splats, tail);
            return;
        }
        // What does not contribute must not be multiplied by zero either: it may be infinite.
        for n in (0..N).filter(|n| contributes[*n]) {
            let row = Rows::<M, 1> {
                factors: rows.factors.map(|factors| [factors[n]]),
                accumulators: rows.accumulators.map(|accumulators| [accumulators[n]]),
                wanted: rows.wanted,
            };
            accumulate_rows::<V, M, 1>(&row, whole, rest, &[V::splat(ratios[n])], tail);
        }
    }
}

/// `partial[n] += prod_i G_i` at the lanes from `k` on.
///
/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn products<V: Vector, const M: usize, const N: usize, const FULL: bool>(
    rows: &Rows<M, N>,
    k: usize,
    count: usize,
    partial: &mut [V; 4],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let shared = V::get::<FULL>(rows.factors[0][0].add(k), count);
        for n in 0..N {
            if M == 1 {
                partial[n] = partial[n].plus(shared);
                continue;
            }
            let mut others = V::get::<FULL>(rows.factors[1][n].add(k), count);
            for factors in &rows.factors[2..] {
                others = others.times(V::get::<FULL>(factors[n].add(k), count));
            }
            partial[n] = shared.times_plus(others, partial[n]);
        }
    }
}

/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn accumulate_rows<V: Vector, const M: usize, const N: usize>(
    rows: &Rows<M, N>,
    whole: usize,
    rest: usize,
    ratios: &[V; N],
    tail: &mut V,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut k = 0;
        while k < whole {
            let mut first = V::splat(0.0);
            if rows.wanted[0] {
                first = V::load(rows.accumulators[0][0].add(k));
            }
            accumulate::<V, M, N, true>(rows, k, 0, ratios, &mut first);
            if rows.wanted[0] {
                first.store(rows.accumulators[0][0].add(k));
            }
            k += V::LANES;
        }
        if rest > 0 {
            accumulate::<V, M, N, false>(rows, whole, rest, ratios, tail);
        }
    }
}

/// `acc_i += r prod_{j != i} G_j` at the lanes from `k` on, one entry after another: two may have the same row. The sums of
/// the first mode go to `first`.
///
/// # Safety
/// As [`group`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // n, i and j are the indices of the formula
unsafe fn accumulate<V: Vector, const M: usize, const N: usize, const FULL: bool>(
    rows: &Rows<M, N>,
    k: usize,
    count: usize,
    ratios: &[V; N],
    first: &mut V,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let shared = V::get::<FULL>(rows.factors[0][0].add(k), count);
        for n in 0..N {
            if M == 1 {
                *first = first.plus(ratios[n]);
                continue;
            }
            let mut values = [shared; M];
            for i in 1..M {
                values[i] = V::get::<FULL>(rows.factors[i][n].add(k), count);
            }
            if rows.wanted[0] {
                let mut others = values[1];
                for value in &values[2..] {
                    others = others.times(*value);
                }
                *first = ratios[n].times_plus(others, *first);
            }
            // The product of the shared row and all others but the i-th.
            let scaled = if M == 2 { shared } else { ratios[n].times(shared) };
            for i in 1..M {
                if !rows.wanted[i] {
                    continue;
                }
                let to = rows.accumulators[i][n].add(k);
                let mut others = if M == 2 { ratios[n] } else { values[if i == 1 { 2 % M } else { 1 }] };
                for j in 2..M {
                    if j != i && (i != 1 || j > 2) {
                        others = others.times(values[j]);
                    }
                }
                scaled.times_plus(others, V::get::<FULL>(to, count)).put::<FULL>(to, count);
            }
        }
    }
}

/// One entry of a pattern with more modes than the compiler has been told of.
///
/// # Safety
/// Entry `e` exists; otherwise as [`chunk`].
#[inline(always)]
unsafe fn group_of_any<V: Vector>(task: &mut Task, e: usize, block: &mut Block, rare: &mut Vec<usize>) {
    let input = task.input;
    let modes = input.factors.len();
    let row = |i: usize| input.pattern.column(i)[e] as usize * input.factors[i].stride;
    let lanes = |k: usize| V::LANES.min(input.length - k);
    // SAFETY: each row has `length` values.
    unsafe {
        let get = |from: *const f64, count: usize| {
            if count == V::LANES { V::load(from) } else { V::load_part(from, count) }
        };
        let product = |k: usize, count: usize, without: usize| {
            let mut value = V::splat(1.0);
            for i in (0..modes).filter(|i| *i != without) {
                value = value.times(get(input.factors[i].values.as_ptr().add(row(i) + k), count));
            }
            value
        };
        let zero = V::splat(0.0);
        let mut partial = zero;
        for k in (0..input.length).step_by(V::LANES) {
            // The lanes past the end are products of zeros.
            partial = partial.plus(product(k, lanes(k), modes));
        }
        let s = V::sums([partial, zero, zero, zero])[0] + input.addends.map_or(0.0, |c| c[e]);
        let Some(ratio) = settle(task, e, s, block, rare) else { return };
        for (i, accumulator) in task.accumulators.iter().enumerate().filter(|(_, a)| !a.is_null()) {
            for k in (0..input.length).step_by(V::LANES) {
                let count = lanes(k);
                let to = accumulator.add(row(i) + k);
                let sum = V::splat(ratio).times_plus(product(k, count, i), get(to, count));
                if count == V::LANES { sum.store(to) } else { sum.store_part(to, count) }
            }
        }
    }
}
