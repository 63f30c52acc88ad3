//! One chunk of [`log_sum`](super::log_sum) (in one strip of a grid), for each instruction set and number of modes.
//!
//! Up to four entries of one row (equal indices of the first mode) run together: the first mode's row is read once for
//! them, first for the `s_e`, then, while the other rows are still in the cache, for the accumulators. Logarithms are
//! taken over a block of entries.

#![allow(unsafe_code)]

use std::ops::Range;

use smallvec::SmallVec;

use super::block::{BLOCK, Block};
use super::visit::{Runs, Visit};
use super::{LogSum, Totals, Values, any, collapsed, products};
use crate::InstructionSet;
use crate::kernels::vector::{Portable, Stored, Vector};

/// What one chunk reads and writes.
pub(super) struct Task<'a> {
    pub(super) input: &'a LogSum<'a>,
    pub(super) range: Range<usize>,
    /// One a mode; null where not wanted. Not shared with a task that runs at the same time, or at other rows only.
    pub(super) accumulators: Pointers,
    /// The accumulators of this task alone that the pointers may lead to, cleared before the first entry.
    copy: &'a mut [f64],
    is_clear: bool,
    pub(super) written: Written<'a>,
    /// The row that the first factor and its accumulator begin with.
    first_row: usize,
    /// Whether whole vectors may be read and written in the rows of every mode but the first.
    pub(super) is_padded: bool,
    /// Of allocations that leave their own shares out, once it is known, whether modes are alike by category.
    pub(super) is_by_category: Option<bool>,
    pub(super) totals: Totals,
    pub(super) desk: Desk,
}

/// One accumulator a mode.
pub(super) type Pointers = SmallVec<[*mut f64; 4]>;

/// What a chunk works in.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// Entries whose logarithms are still to be taken; absent before the first, and while a call has it.
    pub block: Option<Box<Block>>,
    pub products: products::Scratch,
    /// The products of the categories of a few entries.
    pub shares: Vec<f64>,
    /// What all entries share of allocations that leave their own shares out.
    pub table: Vec<f64>,
}

/// What one chunk writes for each of its entries, and whether it takes the total.
pub(super) struct Written<'a> {
    pub ratios: Option<&'a mut [f64]>,
    pub sums: Option<&'a mut [f64]>,
    pub total: bool,
}

// SAFETY: tasks write through their pointers at rows that no other task writes or reads meanwhile: see `log_sum_on`, and
// `rounds` for those of a grid.
unsafe impl Send for Task<'_> {}

impl<'a> Task<'a> {
    /// The chunk of the entries in `range`. The accumulators of the `private` modes are replaced by places in `copy`.
    pub fn new(
        input: &'a LogSum<'a>,
        range: Range<usize>,
        mut accumulators: Pointers,
        private: &[(usize, Range<usize>)],
        copy: &'a mut [f64],
        written: Written<'a>,
        desk: Desk,
    ) -> Self {
        let own = copy.as_mut_ptr();
        for (mode, place) in private {
            assert!(place.end <= copy.len());
            accumulators[*mode] = own.wrapping_add(place.start);
        }
        Self {
            input,
            range,
            accumulators,
            copy,
            is_clear: false,
            written,
            first_row: 0,
            is_padded: false,
            is_by_category: None,
            totals: Totals::default(),
            desk,
        }
    }

    /// The entries in `range`, whose counts in the first mode alone are wanted; its factor and accumulator begin with
    /// `first_row`.
    pub fn of_rows(
        input: &'a LogSum<'a>,
        range: Range<usize>,
        first_row: usize,
        own: *mut f64,
        desk: Desk,
    ) -> Self {
        let mut accumulators = Pointers::from_elem(std::ptr::null_mut(), input.pattern.modes());
        accumulators[0] = own;
        let written = Written { ratios: None, sums: None, total: false };
        Self { first_row, ..Self::new(input, range, accumulators, &[], &mut [], written, desk) }
    }

    /// Clears its own copies before the first entry.
    pub fn clear(&mut self) {
        if !std::mem::replace(&mut self.is_clear, true) {
            self.copy.fill(0.0);
        }
    }

    /// What the chunk adds to the totals, and what it worked in, for another.
    pub fn finish(mut self) -> (Totals, Desk) {
        if let Some(block) = &mut self.desk.block {
            self.totals.total += block.take(self.input.offsets.is_some());
        }
        (self.totals, self.desk)
    }
}

/// Runs the chunk on the entries to visit.
pub(super) fn run(set: InstructionSet, task: &mut Task, visit: Visit) {
    task.clear();
    // `check` has seen that all factors are stored alike, those of two modes alone in single precision.
    match (task.input.factors[0].values, task.input.pattern.modes()) {
        (Values::Double(_), 1) if task.input.own.is_some() => {
            run_modes::<f64, 1, OWN, false>(set, task, visit)
        }
        (Values::Double(_), 2) if task.input.own.is_some() => {
            run_modes::<f64, 2, OWN, false>(set, task, visit)
        }
        (Values::Double(_), 3) if task.input.own.is_some() => {
            run_modes::<f64, 3, OWN, false>(set, task, visit)
        }
        (Values::Double(_), 4) if task.input.own.is_some() => {
            run_modes::<f64, 4, OWN, false>(set, task, visit)
        }
        (Values::Single(_), _) if task.is_padded => run_two::<f32, true>(set, task, visit),
        (Values::Single(_), _) => run_two::<f32, false>(set, task, visit),
        (Values::Double(_), 1) => run_modes::<f64, 1, ASK, false>(set, task, visit),
        (Values::Double(_), 2) if task.is_padded => run_two::<f64, true>(set, task, visit),
        (Values::Double(_), 2) => run_two::<f64, false>(set, task, visit),
        (Values::Double(_), 3) => run_three(set, task, visit),
        (Values::Double(_), 4) => run_modes::<f64, 4, ASK, false>(set, task, visit),
        (Values::Double(_), _) => run_modes::<f64, ANY, ASK, false>(set, task, visit),
    }
}

/// Two modes. What is wanted is known at compile time, since a test for each entry would cost a tenth of the time.
fn run_two<T: Stored, const P: bool>(set: InstructionSet, task: &mut Task, visit: Visit) {
    match [0, 1].map(|mode: usize| !task.accumulators[mode].is_null()) {
        [true, false] => run_modes::<T, 2, 0b01, P>(set, task, visit),
        [false, true] => run_modes::<T, 2, 0b10, P>(set, task, visit),
        [true, true] => run_modes::<T, 2, 0b11, P>(set, task, visit),
        [false, false] => run_modes::<T, 2, 0b00, P>(set, task, visit),
    }
}

/// Three modes, as well: of one mode or of all.
fn run_three(set: InstructionSet, task: &mut Task, visit: Visit) {
    match [0, 1, 2].map(|mode: usize| !task.accumulators[mode].is_null()) {
        [true, false, false] => run_modes::<f64, 3, 0b001, false>(set, task, visit),
        [false, true, false] => run_modes::<f64, 3, 0b010, false>(set, task, visit),
        [false, false, true] => run_modes::<f64, 3, 0b100, false>(set, task, visit),
        [true, true, true] => run_modes::<f64, 3, 0b111, false>(set, task, visit),
        _ => run_modes::<f64, 3, ASK, false>(set, task, visit),
    }
}

/// Stands for accumulators that are not known to the compiler; else bit `i` says whether that of mode `i` is wanted.
const ASK: usize = usize::MAX;

/// Stands for allocations that leave their own shares out, whose accumulators are not known to the compiler either.
const OWN: usize = usize::MAX - 1;

/// Stands for a number of modes that is not known to the compiler.
const ANY: usize = 0;

/// The lanes of the widest vector.
pub(super) const MOST_LANES: usize = 8;

/// `P`: the rows of every mode but the first are read and written in whole vectors.
fn run_modes<T: Stored, const M: usize, const W: usize, const P: bool>(
    set: InstructionSet,
    task: &mut Task,
    visit: Visit,
) {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::kernels::vector::{Avx2, Avx512};

        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        fn avx512<T: Stored, const M: usize, const W: usize, const P: bool>(task: &mut Task, visit: Visit) {
            // SAFETY: compiled for these features; `check` has seen the slices.
            unsafe { chunk::<Avx512, T, M, W, P>(task, visit) }
        }

        #[target_feature(enable = "avx2,fma")]
        fn avx2<T: Stored, const M: usize, const W: usize, const P: bool>(task: &mut Task, visit: Visit) {
            // SAFETY: as above.
            unsafe { chunk::<Avx2, T, M, W, P>(task, visit) }
        }

        match set {
            // SAFETY: `instruction_set` found these features on this machine.
            InstructionSet::Avx512 => return unsafe { avx512::<T, M, W, P>(task, visit) },
            // SAFETY: as above.
            InstructionSet::Avx2 => return unsafe { avx2::<T, M, W, P>(task, visit) },
            InstructionSet::Portable => {}
        }
    }
    let _ = set;
    // One copy for all that may be wanted.
    if const { W == OWN } {
        portable::<T, M, OWN>(task, visit);
    } else {
        portable::<T, M, ASK>(task, visit);
    }
}

/// Without the vectors of one machine or another, which are not known before the run. It is not inlined, so that callers that want
/// the same share it.
#[inline(never)]
fn portable<T: Stored, const M: usize, const W: usize>(task: &mut Task, visit: Visit) {
    // SAFETY: `Portable` needs no features; `check` has seen the slices.
    unsafe { chunk::<Portable, T, M, W, false>(task, visit) }
}

/// The places of the rows, copied out of the task, so that the compiler knows that no store to the accumulators
/// changes them.
struct Modes<T, const M: usize> {
    indices: [*const u32; M],
    /// Of entries in strips, the index of the second mode less `first_column`; null otherwise.
    near: *const u16,
    first_column: usize,
    factors: [*const T; M],
    strides: [usize; M],
    accumulators: [*mut f64; M],
    whole: usize,
    rest: usize,
}

impl<T: Stored, const M: usize> Modes<T, M> {
    #[inline(always)]
    fn of<V: Vector>(task: &Task) -> Self {
        let input = task.input;
        let before = |i: usize| if i == 0 { task.first_row * input.factors[0].stride } else { 0 };
        Self {
            indices: std::array::from_fn(|i| input.pattern.column(i).as_ptr()),
            near: match input.pattern.near() {
                [] => std::ptr::null(),
                near => near.as_ptr(),
            },
            first_column: 0,
            factors: std::array::from_fn(|i| input.factors[i].values.pointer::<T>().wrapping_sub(before(i))),
            strides: std::array::from_fn(|i| input.factors[i].stride),
            accumulators: std::array::from_fn(|i| match task.accumulators[i].is_null() {
                true => std::ptr::null_mut(),
                false => task.accumulators[i].wrapping_sub(before(i)),
            }),
            whole: input.length / V::LANES * V::LANES,
            rest: input.length % V::LANES,
        }
    }
}

/// # Safety
/// The features of `V`; slices as `check` demands; indices below the pattern's sizes.
#[inline(always)]
unsafe fn chunk<V: Vector, T: Stored, const M: usize, const W: usize, const P: bool>(
    task: &mut Task,
    visit: Visit,
) {
    let mut totals = std::mem::take(&mut task.totals);
    let mut block = task.desk.block.take().unwrap_or_else(|| Box::new(Block::empty()));
    let mut modes = Modes::<T, M>::of::<V>(task);
    let mut runs = Runs::of(task, visit);
    modes.first_column = runs.first_column();
    // One loop for all visits, so that the pass over a row is compiled once.
    while let Some((first, run)) = runs.next() {
        // SAFETY: the entries of a run exist and share the first mode's index.
        unsafe { row::<V, T, M, W, P>(task, &modes, first, run, &mut block, &mut totals) };
    }
    task.desk.block = Some(block);
    task.totals = totals;
}

/// Consecutive entries that share the first mode's index `first`.
///
/// # Safety
/// Such are the entries; otherwise as [`chunk`].
#[inline(always)]
unsafe fn row<V: Vector, T: Stored, const M: usize, const W: usize, const P: bool>(
    task: &mut Task,
    modes: &Modes<T, M>,
    first: usize,
    entries: Range<usize>,
    block: &mut Block,
    totals: &mut Totals,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let rare = &mut totals.rare;
        if const { M == ANY } {
            for e in entries {
                any::entry::<V>(task, e, block, rare);
                if block.count == BLOCK {
                    totals.total += block.take(task.input.offsets.is_some());
                }
            }
            return;
        }
        // Known at compile time, so that this pass and the others are each compiled where they run.
        if const { W == OWN } {
            let Some(own) = task.input.own else { return };
            let at = collapsed::Places::<M> {
                indices: modes.indices,
                near: modes.near,
                first_column: modes.first_column,
                factors: modes.factors.map(|factor| factor.cast()),
                strides: modes.strides,
                accumulators: modes.accumulators,
            };
            return collapsed::row::<V, M>(task, &own, &at, first, entries, totals);
        }
        // The sums of the first mode behind the last whole vector stay in a register for the whole row, because a
        // masked store that is read again soon is slow.
        let mut tail = V::splat(0.0);
        let mut e = entries.start;
        while e < entries.end {
            let run = (entries.end - e).min(4);
            match run {
                4 => group::<V, T, M, W, P, 4>(task, modes, first, e, block, rare, &mut tail),
                3 => group::<V, T, M, W, P, 3>(task, modes, first, e, block, rare, &mut tail),
                2 => group::<V, T, M, W, P, 2>(task, modes, first, e, block, rare, &mut tail),
                _ => group::<V, T, M, W, P, 1>(task, modes, first, e, block, rare, &mut tail),
            }
            e += run;
            if block.count > BLOCK - 4 {
                totals.total += block.take(task.input.offsets.is_some());
            }
        }
        let (accumulator, rest) = (modes.accumulators[0], modes.rest);
        if !accumulator.is_null() && rest > 0 {
            let to = accumulator.add(first * modes.strides[0] + modes.whole);
            V::load_part(to, rest).plus(tail).store_part(to, rest);
        }
    }
}

/// Records `s` and says what becomes of the entry: `Some(r)`, or `None` if it contributes nothing or is rare.
#[inline(always)]
pub(super) fn settle(
    task: &mut Task,
    e: usize,
    s: f64,
    block: &mut Block,
    rare: &mut Vec<usize>,
) -> Option<f64> {
    let weight = task.input.weights[e];
    let is_common = (task.input.least..f64::INFINITY).contains(&s);
    let ratio = if weight == 0.0 {
        None
    } else if is_common {
        Some(weight / s)
    } else {
        rare.push(e);
        None
    };
    if task.written.total {
        let position = block.count;
        block.count += 1;
        block.sums[position] = if is_common { s } else { 1.0 };
        block.weights[position] = if ratio.is_some() { weight } else { 0.0 };
        if let Some(offsets) = task.input.offsets {
            block.offsets[position] = offsets[e];
        }
    }
    if let Some(ratios) = &mut task.written.ratios {
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
    let least = task.input.least;
    let mut ratios = [0.0; N];
    let mut all = true;
    for n in 0..N {
        ratios[n] = weights[n] / s[n];
        all &= (weights[n] != 0.0) & (s[n] >= least) & (s[n] < f64::INFINITY);
    }
    if !all {
        let mut contributes = [false; N];
        for n in 0..N {
            let ratio = settle(task, e + n, s[n], block, rare);
            (ratios[n], contributes[n]) = (ratio.unwrap_or(0.0), ratio.is_some());
        }
        return (ratios, contributes);
    }
    if task.written.total {
        let position = block.count;
        block.count += N;
        block.sums[position..position + N].copy_from_slice(s);
        block.weights[position..position + N].copy_from_slice(weights);
        if let Some(offsets) = task.input.offsets {
            block.offsets[position..position + N].copy_from_slice(&offsets[e..e + N]);
        }
    }
    let start = e - task.range.start;
    if let Some(out) = &mut task.written.ratios {
        out[start..start + N].copy_from_slice(&ratios);
    }
    (ratios, [true; N])
}

/// The rows of `N` entries that share the first mode's.
struct Rows<T, const M: usize, const N: usize> {
    factors: [[*const T; N]; M],
    accumulators: [[*mut f64; N]; M],
}

impl<T, const M: usize, const N: usize> Rows<T, M, N> {
    /// Whether the accumulator of a mode is wanted.
    #[inline(always)]
    fn wants<const W: usize>(&self, mode: usize) -> bool {
        if W == ASK { !self.accumulators[mode][0].is_null() } else { W >> mode & 1 == 1 }
    }
}

/// # Safety
/// Entries `e .. e + N` exist and share the first mode's index `first`; otherwise as [`chunk`].
#[inline(always)]
unsafe fn group<V: Vector, T: Stored, const M: usize, const W: usize, const P: bool, const N: usize>(
    task: &mut Task,
    modes: &Modes<T, M>,
    first: usize,
    e: usize,
    block: &mut Block,
    rare: &mut Vec<usize>,
    tail: &mut V,
) {
    let (whole, rest) = (modes.whole, modes.rest);
    let mut rows =
        Rows::<T, M, N> { factors: [[std::ptr::null(); N]; M], accumulators: [[std::ptr::null_mut(); N]; M] };
    for i in 0..M {
        for n in 0..N {
            // SAFETY: the entry exists.
            let index = unsafe {
                match i {
                    0 => first,
                    1 if !modes.near.is_null() => modes.first_column + *modes.near.add(e + n) as usize,
                    _ => *modes.indices[i].add(e + n) as usize,
                }
            };
            let row = index * modes.strides[i];
            rows.factors[i][n] = modes.factors[i].wrapping_add(row);
            let is_wanted = W != ASK || !modes.accumulators[i].is_null();
            rows.accumulators[i][n] =
                if is_wanted { modes.accumulators[i].wrapping_add(row) } else { std::ptr::null_mut() };
        }
    }
    // SAFETY: each row has `length` values.
    let (ratios, contributes) = match task.input.ratios {
        Some(known) => {
            let known = known[e..].first_chunk::<N>().expect("the entries exist");
            (*known, known.map(|ratio| ratio != 0.0))
        }
        None => unsafe { ratios::<V, T, M, P, N>(task, &rows, whole, rest, e, block, rare) },
    };
    if (0..M).any(|mode| rows.wants::<W>(mode)) {
        // SAFETY: as above.
        unsafe { accumulate_some::<V, T, M, W, P, N>(&rows, whole, rest, &ratios, contributes, tail) };
    }
}

/// The ratios of the entries, and which of them contribute.
///
/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn ratios<V: Vector, T: Stored, const M: usize, const P: bool, const N: usize>(
    task: &mut Task,
    rows: &Rows<T, M, N>,
    whole: usize,
    rest: usize,
    e: usize,
    block: &mut Block,
    rare: &mut Vec<usize>,
) -> ([f64; N], [bool; N]) {
    // SAFETY: each row has `length` values.
    unsafe {
        // With few entries each addition would wait for the one before it. Their sums are therefore taken in several
        // parts.
        let mut partial = [V::splat(0.0); 4];
        let mut k = 0;
        while N == 1 && k + 4 * V::LANES <= whole {
            products::<V, T, M, P, N, 0, true>(rows, k, 0, &mut partial);
            products::<V, T, M, P, N, 1, true>(rows, k + V::LANES, 0, &mut partial);
            products::<V, T, M, P, N, 2, true>(rows, k + 2 * V::LANES, 0, &mut partial);
            products::<V, T, M, P, N, 3, true>(rows, k + 3 * V::LANES, 0, &mut partial);
            k += 4 * V::LANES;
        }
        while N == 2 && k + 2 * V::LANES <= whole {
            products::<V, T, M, P, N, 0, true>(rows, k, 0, &mut partial);
            products::<V, T, M, P, N, 2, true>(rows, k + V::LANES, 0, &mut partial);
            k += 2 * V::LANES;
        }
        while k < whole {
            products::<V, T, M, P, N, 0, true>(rows, k, 0, &mut partial);
            k += V::LANES;
        }
        if rest > 0 {
            products::<V, T, M, P, N, 0, false>(rows, whole, rest, &mut partial);
        }
        if N == 1 {
            partial[0] = partial[0].plus(partial[1]).plus(partial[2].plus(partial[3]));
        } else if N == 2 {
            partial = [partial[0].plus(partial[2]), partial[1].plus(partial[3]), partial[2], partial[3]];
        }
        let s = V::sums(partial);
        let mut s: [f64; N] = *s.first_chunk::<N>().expect("at most four entries");
        if let Some(sums) = &mut task.written.sums {
            let start = e - task.range.start;
            sums[start..start + N].copy_from_slice(&s);
        }
        if let Some(addends) = task.input.addends {
            let addends = addends[e..].first_chunk::<N>().expect("the entries exist");
            s = std::array::from_fn(|n| s[n] + addends[n]);
        }
        settle_all(task, e, &s, block, rare)
    }
}

/// Accumulates the entries that contribute.
///
/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn accumulate_some<
    V: Vector,
    T: Stored,
    const M: usize,
    const W: usize,
    const P: bool,
    const N: usize,
>(
    rows: &Rows<T, M, N>,
    whole: usize,
    rest: usize,
    ratios: &[f64; N],
    contributes: [bool; N],
    tail: &mut V,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if contributes == [true; N] {
            let mut splats = [V::splat(0.0); N];
            for n in 0..N {
                splats[n] = V::splat(ratios[n]);
            }
            accumulate_rows::<V, T, M, W, P, N>(rows, whole, rest, &splats, tail);
            return;
        }
        if const { N == 1 } {
            return;
        }
        // An entry that does not contribute is skipped and not multiplied by zero, because it may be infinite.
        for n in (0..N).filter(|n| contributes[*n]) {
            let row = Rows::<T, M, 1> {
                factors: rows.factors.map(|factors| [factors[n]]),
                accumulators: rows.accumulators.map(|accumulators| [accumulators[n]]),
            };
            accumulate_rows::<V, T, M, W, P, 1>(&row, whole, rest, &[V::splat(ratios[n])], tail);
        }
    }
}

/// The values from `from` on of a row that is gathered, `count` of them or (if `FULL`, or behind them others stand) a vector.
///
/// # Safety
/// They are there; the features of `V`.
#[inline(always)]
unsafe fn gathered<V: Vector, T: Stored, const P: bool, const FULL: bool>(from: *const T, count: usize) -> V {
    // SAFETY: the caller's promise.
    unsafe { if FULL || P { T::load(from) } else { T::load_part(from, count) } }
}

/// `partial[AT + n] += prod_i G_i` at the lanes from `k` on.
///
/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn products<
    V: Vector,
    T: Stored,
    const M: usize,
    const P: bool,
    const N: usize,
    const AT: usize,
    const FULL: bool,
>(
    rows: &Rows<T, M, N>,
    k: usize,
    count: usize,
    partial: &mut [V; 4],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let shared = V::fetch::<T, FULL>(rows.factors[0][0].add(k), count);
        for n in 0..N {
            if M == 1 {
                partial[(AT + n) % 4] = partial[(AT + n) % 4].plus(shared);
                continue;
            }
            let mut others = gathered::<V, T, P, FULL>(rows.factors[1][n].add(k), count);
            for factors in &rows.factors[2..] {
                others = others.times(gathered::<V, T, P, FULL>(factors[n].add(k), count));
            }
            partial[(AT + n) % 4] = shared.times_plus(others, partial[(AT + n) % 4]);
        }
    }
}

/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn accumulate_rows<
    V: Vector,
    T: Stored,
    const M: usize,
    const W: usize,
    const P: bool,
    const N: usize,
>(
    rows: &Rows<T, M, N>,
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
            if rows.wants::<W>(0) {
                first = V::load(rows.accumulators[0][0].add(k));
            }
            accumulate::<V, T, M, W, P, N, true>(rows, k, 0, ratios, &mut first);
            if rows.wants::<W>(0) {
                first.store(rows.accumulators[0][0].add(k));
            }
            k += V::LANES;
        }
        if rest > 0 {
            accumulate::<V, T, M, W, P, N, false>(rows, whole, rest, ratios, tail);
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
unsafe fn accumulate<
    V: Vector,
    T: Stored,
    const M: usize,
    const W: usize,
    const P: bool,
    const N: usize,
    const FULL: bool,
>(
    rows: &Rows<T, M, N>,
    k: usize,
    count: usize,
    ratios: &[V; N],
    first: &mut V,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let shared = V::fetch::<T, FULL>(rows.factors[0][0].add(k), count);
        for n in 0..N {
            if M == 1 {
                *first = first.plus(ratios[n]);
                continue;
            }
            let mut values = [shared; M];
            for i in 1..M {
                values[i] = gathered::<V, T, P, FULL>(rows.factors[i][n].add(k), count);
            }
            if rows.wants::<W>(0) {
                let mut others = values[1];
                for value in &values[2..] {
                    others = others.times(*value);
                }
                *first = ratios[n].times_plus(others, *first);
            }
            // The product of the shared row and all others but the i-th.
            let scaled = if M == 2 { shared } else { ratios[n].times(shared) };
            for i in 1..M {
                if !rows.wants::<W>(i) {
                    continue;
                }
                let to = rows.accumulators[i][n].add(k);
                let mut others = if M == 2 { ratios[n] } else { values[if i == 1 { 2 % M } else { 1 }] };
                for j in 2..M {
                    if j != i && (i != 1 || j > 2) {
                        others = others.times(values[j]);
                    }
                }
                let sum = gathered::<V, f64, P, FULL>(to, count);
                let sum = scaled.times_plus(others, sum);
                if FULL || P { sum.store(to) } else { sum.store_part(to, count) }
            }
        }
    }
}
