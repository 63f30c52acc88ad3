//! One chunk of [`log_sum`](super::log_sum) over entries that fill most of a grid of rows and columns, by matrix products.
//!
//! Block by block of at most 64 rows of `A` and 64 of `B` (the factors of the two modes):
//!
//! ```text
//! S = A B'        R_e = x_e / (c_e + S_e) at the entries, 0 where none is        acc_A += R B        acc_B += R' A
//! ```
//!
//! Ratios stand in the place of the sums, so that nothing larger than a block is kept, and each weight is read once. Where a
//! run of entries fills a row of the block, entries are read and written as they stand; otherwise they are gathered from it
//! and put back. All three products are of one kind, `O_mn += sum_l W_ml N_ln` with vectors along `n` and the sums in registers.
//!
//! An entry that contributes nothing has the ratio 0, which is multiplied by the factors; these are finite here.

#![allow(unsafe_code)]

use std::ops::Range;

use super::Values;
use super::block::{BLOCK, Block};
use super::pass::{Task, settle};
use crate::InstructionSet;
use crate::kernels::pattern::{Grid, Tile};
use crate::kernels::vector::{Portable, Vector, prefetch};

/// The most rows and columns of a block.
const SIDE: usize = crate::kernels::pattern::BLOCK_COLUMNS;

/// What a block needs besides its entries.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Sums, then ratios: rows of `SIDE` values.
    cells: Vec<f64>,
    /// Weights, in rows that entries do not fill: 0 where none is.
    weights: Vec<f64>,
    /// The columns of the other mode's factor: for each `k` its `SIDE` values.
    columns: Vec<f64>,
}

/// Runs a tile: of a pattern of two modes on this grid.
pub(super) fn run(set: InstructionSet, task: &mut Task, grid: &Grid, tile: Tile) {
    task.clear();
    #[cfg(target_arch = "x86_64")]
    {
        use crate::kernels::vector::{Avx2, Avx512};

        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        unsafe fn multiply_avx512(product: &Product) {
            // SAFETY: compiled for these features; the caller's promise.
            unsafe { product.run::<Avx512>() }
        }
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        unsafe fn avx512(task: &mut Task, grid: &Grid, tile: Tile) {
            // SAFETY: as above.
            unsafe { blocks::<Avx512>(task, grid, tile, multiply_avx512) }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn multiply_avx2(product: &Product) {
            // SAFETY: as above.
            unsafe { product.run::<Avx2>() }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(task: &mut Task, grid: &Grid, tile: Tile) {
            // SAFETY: as above.
            unsafe { blocks::<Avx2>(task, grid, tile, multiply_avx2) }
        }
        match set {
            // SAFETY: `instruction_set` found these features on this machine.
            InstructionSet::Avx512 => return unsafe { avx512(task, grid, tile) },
            // SAFETY: as above.
            InstructionSet::Avx2 => return unsafe { avx2(task, grid, tile) },
            InstructionSet::Portable => {}
        }
    }
    let _ = set;
    unsafe fn multiply(product: &Product) {
        // SAFETY: `Portable` needs no features; the caller's promise.
        unsafe { product.run::<Portable>() }
    }
    // SAFETY: as above.
    unsafe { blocks::<Portable>(task, grid, tile, multiply) }
}

/// The products come as a function, which is compiled once.
///
/// # Safety
/// The features of `V`, and of the products; slices as `check` demands; a pattern of two modes on this grid.
#[inline(always)]
unsafe fn blocks<V: Vector>(task: &mut Task, grid: &Grid, tile: Tile, multiply: unsafe fn(&Product)) {
    let mut totals = std::mem::take(&mut task.totals);
    let mut scratch = std::mem::take(&mut task.desk.products);
    let mut block = task.desk.block.take().unwrap_or_else(|| Box::new(Block::empty()));
    let length = task.input.length;
    let [a, b] = [0, 1].map(|mode| {
        let factor = &task.input.factors[mode];
        let Values::Double(values) = factor.values else { unreachable!("products are of doubles") };
        (values.as_ptr(), factor.stride)
    });
    scratch.cells.resize(SIDE * SIDE, 0.0);
    scratch.weights.resize(SIDE * SIDE, 0.0);
    scratch.columns.resize(length * SIDE, 0.0);
    let columns = grid.edges(tile.strip);
    if task.input.ratios.is_none() {
        for k in 0..length {
            for (place, column) in columns.clone().enumerate() {
                // SAFETY: the factor has a row for each column.
                scratch.columns[k * SIDE + place] = unsafe { *b.0.add(column * b.1 + k) };
            }
        }
    }
    let (first, from, to) = grid.runs_of(tile);
    for start in (0..from.len()).step_by(SIDE) {
        let rows = start..from.len().min(start + SIDE);
        let own = Matrix { values: a.0.wrapping_add((first + start) * a.1), strides: [a.1, 1] };
        // Known ratios stand where weights do.
        let source = task.input.ratios.unwrap_or(task.input.weights);
        for (row, weights) in rows.clone().zip(scratch.weights.chunks_exact_mut(SIDE)) {
            let run = from[row] as usize..to[row] as usize;
            if run.len() == columns.len() {
                // Later blocks are asked for while the one before them is divided.
                if start == 0 {
                    ask_for(source, run);
                }
                continue;
            }
            weights.fill(0.0);
            for (column, weight) in task.input.pattern.column(1)[run.clone()].iter().zip(&source[run]) {
                // SAFETY: the entries of a run lie in the strip's columns.
                unsafe { *weights.get_unchecked_mut(*column as usize - columns.start) = *weight };
            }
        }
        if task.input.ratios.is_none() {
            let sums = Product {
                sizes: [rows.len(), columns.len(), length],
                wide: own,
                narrow: (scratch.columns.as_ptr(), SIDE),
                out: (scratch.cells.as_mut_ptr(), SIDE),
                adds: false,
            };
            // SAFETY: rows of A; columns of B; a block of sums.
            unsafe { multiply(&sums) };
        }
        let cells = scratch.cells.chunks_exact_mut(SIDE).zip(scratch.weights.chunks_exact(SIDE));
        for (row, (cells, weights)) in rows.clone().zip(cells) {
            let run = from[row] as usize..to[row] as usize;
            let is_full = run.len() == columns.len();
            let weights = if is_full { &source[run.clone()] } else { &weights[..columns.len()] };
            if let (Some(next), Some(end)) = (from.get(row + SIDE), to.get(row + SIDE)) {
                ask_for(source, *next as usize..*end as usize);
            }
            let cells = &mut cells[..columns.len()];
            if block.count > BLOCK - SIDE {
                totals.total += block.take(task.input.offsets.is_some());
            }
            if task.input.ratios.is_some() {
                cells.copy_from_slice(weights);
            } else {
                // SAFETY: the features of `V`.
                unsafe {
                    self::row::<V>(task, run, columns.start, (cells, weights), &mut block, &mut totals.rare)
                };
            }
        }
        let [of_rows, of_columns] = [task.accumulators[0], task.accumulators[1]];
        let cells = scratch.cells.as_ptr();
        if !of_rows.is_null() {
            let counts = Product {
                sizes: [rows.len(), length, columns.len()],
                wide: Matrix { values: cells, strides: [SIDE, 1] },
                narrow: (b.0.wrapping_add(columns.start * b.1), b.1),
                out: (of_rows.wrapping_add((first + start) * a.1), a.1),
                adds: true,
            };
            // SAFETY: a block of ratios; columns of B; rows of the accumulator.
            unsafe { multiply(&counts) };
        }
        if !of_columns.is_null() {
            let counts = Product {
                sizes: [columns.len(), length, rows.len()],
                wide: Matrix { values: cells, strides: [1, SIDE] },
                narrow: (own.values, a.1),
                out: (of_columns.wrapping_add(columns.start * b.1), b.1),
                adds: true,
            };
            // SAFETY: a block of ratios; rows of A; columns of the accumulator.
            unsafe { multiply(&counts) };
        }
    }
    task.desk.block = Some(block);
    task.desk.products = scratch;
    task.totals = totals;
}

/// Asks for the values of a run, which are soon read.
#[inline(always)]
fn ask_for(values: &[f64], run: Range<usize>) {
    for entry in run.step_by(8) {
        prefetch(values.as_ptr().wrapping_add(entry));
    }
}

/// The entries of a run in one row of a block: `cells` has the sums of the columns from `first` on, and then the ratios, 0
/// where there is no entry.
///
/// # Safety
/// The features of `V`.
#[inline(always)]
unsafe fn row<V: Vector>(
    task: &mut Task,
    run: Range<usize>,
    first: usize,
    (cells, weights): (&mut [f64], &[f64]),
    block: &mut Block,
    rare: &mut Vec<usize>,
) {
    // If the entries do not fill the row, whatever they have besides a weight is read and written entry by entry.
    let own = |values: &Option<&mut [f64]>| values.is_some();
    let is_full = run.len() == cells.len();
    let is_plain = !own(&task.written.sums) && !own(&task.written.ratios) && task.input.addends.is_none();
    if is_full || is_plain {
        if let (Some(sums), true) = (&mut task.written.sums, is_full) {
            sums[run.start - task.range.start..run.end - task.range.start].copy_from_slice(cells);
        }
        let mut sums = [0.0; SIDE];
        if let (Some(addends), true) = (task.input.addends, is_full) {
            sums[..cells.len()].copy_from_slice(cells);
            cells.iter_mut().zip(&addends[run.clone()]).for_each(|(cell, addend)| *cell += addend);
        }
        if may_be_divided(task.input.least, cells, weights) {
            if task.written.total {
                let at = block.count..block.count + run.len();
                block.count = at.end;
                block.weights[at.clone()].copy_from_slice(&task.input.weights[run.clone()]);
                if let Some(offsets) = task.input.offsets {
                    block.offsets[at.clone()].copy_from_slice(&offsets[run.clone()]);
                }
                let sums = &mut block.sums[at];
                if is_full {
                    sums.copy_from_slice(cells);
                } else {
                    for (sum, column) in sums.iter_mut().zip(&task.input.pattern.column(1)[run.clone()]) {
                        // SAFETY: the entries of a run lie in the strip's columns.
                        *sum = unsafe { *cells.get_unchecked(*column as usize - first) };
                    }
                }
            }
            // SAFETY: as many weights as cells; the caller's promise.
            unsafe { divide::<V>(cells, weights) };
            if let (Some(ratios), true) = (&mut task.written.ratios, is_full) {
                ratios[run.start - task.range.start..run.end - task.range.start].copy_from_slice(cells);
            }
            return;
        }
        if let (Some(_), true) = (task.input.addends, is_full) {
            cells.copy_from_slice(&sums[..cells.len()]);
        }
    }
    let mut kept = [0.0; SIDE];
    for entry in run.clone() {
        // A run that fills the row has its columns in order; a whole matrix keeps none.
        let place = match is_full {
            true => entry - run.start,
            false => task.input.pattern.column(1)[entry] as usize - first,
        };
        let sum = cells[place];
        if let Some(sums) = &mut task.written.sums {
            sums[entry - task.range.start] = sum;
        }
        let sum = sum + task.input.addends.map_or(0.0, |addends| addends[entry]);
        kept[place] = settle(task, entry, sum, block, rare).unwrap_or(0.0);
    }
    cells.copy_from_slice(&kept[..cells.len()]);
}

/// Whether each sum, none below `least`, divides its weight; a sum that does not, where there is no weight, becomes 1.
#[inline(always)]
fn may_be_divided(least: f64, sums: &mut [f64], weights: &[f64]) -> bool {
    let divides = |sum: f64| (least..=LARGEST).contains(&sum);
    if sums.iter().fold(true, |all, sum| all & divides(*sum)) {
        return true;
    }
    let pairs = || sums.iter().zip(weights);
    if !pairs().fold(true, |all, (sum, weight)| all & (divides(*sum) | (*weight == 0.0))) {
        return false;
    }
    sums.iter_mut().zip(weights).for_each(|(sum, weight)| *sum = if *weight == 0.0 { 1.0 } else { *sum });
    true
}

/// A reciprocal above this is none of full precision.
const LARGEST: f64 = 1e300;

/// Puts `weight / sum` in the place of each sum.
///
/// # Safety
/// As many weights as sums; the features of `V`.
#[inline(always)]
unsafe fn divide<V: Vector>(sums: &mut [f64], weights: &[f64]) {
    let whole = sums.len() / V::LANES * V::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        for place in (0..whole).step_by(V::LANES) {
            let to = sums.as_mut_ptr().add(place);
            V::load(weights.as_ptr().add(place)).over(V::load(to)).store(to);
        }
    }
    for (sum, weight) in sums.iter_mut().zip(weights).skip(whole) {
        *sum = weight / *sum;
    }
}

/// A matrix in memory, of any strides.
#[derive(Clone, Copy)]
struct Matrix {
    values: *const f64,
    strides: [usize; 2],
}

/// `O_mn = sum_l W_ml N_ln`, or added to what is there: rows of `N` and `O` lie along `n`, each at its stride from the one before.
struct Product {
    /// Those of m, n and l.
    sizes: [usize; 3],
    wide: Matrix,
    narrow: (*const f64, usize),
    out: (*mut f64, usize),
    adds: bool,
}

impl Product {
    /// # Safety
    /// The elements exist; the output overlaps neither side; the features of `V`.
    #[inline(always)]
    unsafe fn run<V: Vector>(&self) {
        let size = self.sizes[1];
        let mut n = 0;
        // SAFETY: the caller's promise.
        unsafe {
            while n < size {
                let left = size - n;
                n += match left.div_ceil(V::LANES) {
                    1 if left < V::LANES => self.columns::<V, 1, false>(n),
                    1 => self.columns::<V, 1, true>(n),
                    2 if left < 2 * V::LANES => self.columns::<V, 2, false>(n),
                    2 | 4 => self.columns::<V, 2, true>(n),
                    3 if left < 3 * V::LANES => self.columns::<V, 3, false>(n),
                    _ => self.columns::<V, 3, true>(n),
                };
            }
        }
    }

    /// The `C` vectors from `n` on, the last of which is whole or not: returns how many values that is at most.
    ///
    /// # Safety
    /// As [`Product::run`].
    #[inline(always)]
    unsafe fn columns<V: Vector, const C: usize, const FULL: bool>(&self, n: usize) -> usize {
        let mut m = 0;
        // SAFETY: the caller's promise.
        unsafe {
            while m < self.sizes[0] {
                m += match self.sizes[0] - m {
                    8.. if V::LANES == 8 => self.tile::<V, 8, C, FULL>(m, n),
                    4.. if V::LANES == 4 => self.tile::<V, 4, C, FULL>(m, n),
                    2.. => self.tile::<V, 2, C, FULL>(m, n),
                    _ => self.tile::<V, 1, C, FULL>(m, n),
                };
            }
        }
        C * V::LANES
    }

    /// The sums of `R` rows and `C` vectors from `(m, n)` on: returns how many rows.
    ///
    /// # Safety
    /// As [`Product::run`].
    #[inline(always)]
    unsafe fn tile<V: Vector, const R: usize, const C: usize, const FULL: bool>(
        &self,
        m: usize,
        n: usize,
    ) -> usize {
        let last = self.sizes[1] - n - (C - 1) * V::LANES;
        let [stride, step] = self.wide.strides;
        // SAFETY: the caller's promise.
        unsafe {
            let out = self.out.0.add(m * self.out.1 + n);
            let wide = self.wide.values.add(m * stride);
            let narrow = self.narrow.0.add(n);
            let mut sums = [[V::splat(0.0); C]; R];
            if self.adds {
                for (r, sums) in sums.iter_mut().enumerate() {
                    for (c, sum) in sums.iter_mut().enumerate() {
                        let from = out.add(r * self.out.1 + c * V::LANES);
                        *sum = if c + 1 < C { V::load(from) } else { V::get::<FULL>(from, last) };
                    }
                }
            }
            for l in 0..self.sizes[2] {
                let from = narrow.add(l * self.narrow.1);
                let mut row = [V::splat(0.0); C];
                for (c, row) in row.iter_mut().enumerate() {
                    let from = from.add(c * V::LANES);
                    *row = if c + 1 < C { V::load(from) } else { V::get::<FULL>(from, last) };
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let value = V::splat(*wide.add(r * stride + l * step));
                    for (sum, row) in sums.iter_mut().zip(row) {
                        *sum = value.times_plus(row, *sum);
                    }
                }
            }
            for (r, sums) in sums.into_iter().enumerate() {
                for (c, sum) in sums.into_iter().enumerate() {
                    let to = out.add(r * self.out.1 + c * V::LANES);
                    if c + 1 < C { sum.store(to) } else { sum.put::<FULL>(to, last) }
                }
            }
        }
        R
    }
}
