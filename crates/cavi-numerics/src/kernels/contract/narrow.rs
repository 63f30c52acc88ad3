//! Matrix products of which one side is narrow: `O_ij += c sum_k W_ik S_kj` with few `j`.
//!
//! A product that packs both sides writes `W` once more before it uses each element only a few times. Here `W` is read
//! where it stands, once for every sixteen (AVX2: eight) columns of `S`; `S` alone is copied, rows padded to whole vectors.
//! Sums of eight (four) rows stay in registers along `k`. Where `W` runs along `i`, its lines are far apart along `k`: few
//! `k` at a time then leave few pages to look up, and each line is asked for two steps ahead.
//!
//! Each sum runs over `k` in order, whatever the other rows are: its bits do not depend on them.

#![allow(unsafe_code)]

use crate::kernels::vector::{Portable, Vector, prefetch};
use crate::{InstructionSet, Scratch};

/// The most columns that are few.
pub(super) const MOST: usize = 32;
/// Values of `i` and `k` treated together where `W` runs along `k`: rows of `S` of 128 KB for sixteen columns.
const ALONG_K: [usize; 2] = [512, 1024];
/// The same where it runs along `i`.
const ALONG_I: [usize; 2] = [2048, 32];
/// Rows of `W` whose sums are in registers.
const ROWS: usize = 8;

/// A matrix in memory: where it begins, and its strides along its two letters.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub values: *const f64,
    pub strides: [usize; 2],
}

/// The product. Strides of `wide` are those of `i` and `k`, one of which is 1; of `narrow` those of `k` and `j`; of `out` those
/// of `i` and `j`.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    pub sizes: [usize; 3],
    pub coefficient: f64,
    pub wide: Matrix,
    pub narrow: Matrix,
    pub out: *mut f64,
    pub out_strides: [usize; 2],
}

/// Runs the product.
///
/// # Safety
/// `sizes` are those of `i`, `j` and `k`; all offsets lie inside the arrays, no two elements of the output share a place, and
/// the output overlaps neither side. Sizes are not 0.
pub(super) unsafe fn run(set: InstructionSet, product: &Narrow) {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::kernels::vector::{Avx2, Avx512};

        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        unsafe fn avx512(product: &Narrow) {
            // SAFETY: compiled for these features; the caller's promise.
            unsafe { blocks::<Avx512, ROWS>(product) }
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(product: &Narrow) {
            // SAFETY: as above.
            unsafe { blocks::<Avx2, { ROWS / 2 }>(product) }
        }
        match set {
            // SAFETY: `instruction_set` found these features on this machine.
            InstructionSet::Avx512 => return unsafe { avx512(product) },
            // SAFETY: as above.
            InstructionSet::Avx2 => return unsafe { avx2(product) },
            InstructionSet::Portable => {}
        }
    }
    let _ = set;
    // SAFETY: `Portable` needs no features.
    unsafe { blocks::<Portable, { ROWS / 2 }>(product) }
}

/// # Safety
/// As [`run`], and the features of `V`.
#[inline(always)]
unsafe fn blocks<V: Vector, const R: usize>(product: &Narrow) {
    let [size_i, size_j, size_k] = product.sizes;
    let width = size_j.next_multiple_of(V::LANES);
    let [step_i, step_k] = if product.wide.strides[1] == 1 { ALONG_K } else { ALONG_I };
    let (step_i, step_k) = (step_i.min(size_i), step_k.min(size_k));
    let mut scratch = Scratch::zeros((step_k + step_i) * width);
    let (rows, sums) = scratch.split_at_mut(step_k * width);
    for first_i in (0..size_i).step_by(step_i) {
        let count_i = step_i.min(size_i - first_i);
        sums.fill(0.0);
        for first_k in (0..size_k).step_by(step_k) {
            let count_k = step_k.min(size_k - first_k);
            let [stride_k, stride_j] = product.narrow.strides;
            for k in 0..count_k {
                for j in 0..size_j {
                    // SAFETY: an element of S.
                    rows[k * width + j] =
                        unsafe { *product.narrow.values.add((first_k + k) * stride_k + j * stride_j) };
                }
            }
            let strides = product.wide.strides;
            let wide = product.wide.values.wrapping_add(first_i * strides[0] + first_k * strides[1]);
            let part = Part { wide, strides, count_i, count_k, width };
            let mut column = 0;
            while column < width {
                let (from, to) = (rows[column..].as_ptr(), sums[column..].as_mut_ptr());
                // SAFETY: `count_i` by `count_k` elements of W from `wide` on; `count_k` rows of S and `count_i` of sums.
                unsafe {
                    if column + 2 * V::LANES <= width {
                        part.add::<V, R, 2>(from, to);
                        column += 2 * V::LANES;
                    } else {
                        part.add::<V, R, 1>(from, to);
                        column += V::LANES;
                    }
                }
            }
        }
        let [out_i, out_j] = product.out_strides;
        for i in 0..count_i {
            for j in 0..size_j {
                // SAFETY: an element of the output.
                unsafe {
                    let to = product.out.add((first_i + i) * out_i + j * out_j);
                    *to += product.coefficient * sums[i * width + j];
                }
            }
        }
    }
}

/// Elements of `W` from `wide` on, and the distance between rows of `S` and of sums.
struct Part {
    wide: *const f64,
    strides: [usize; 2],
    count_i: usize,
    count_k: usize,
    width: usize,
}

impl Part {
    /// `to_ij += sum_k W_ik S_kj` for the `j` of `C` vectors.
    ///
    /// # Safety
    /// The elements exist, and `C` vectors of each row of `S` and of the sums.
    #[inline(always)]
    unsafe fn add<V: Vector, const R: usize, const C: usize>(&self, rows: *const f64, to: *mut f64) {
        let mut i = 0;
        // SAFETY: the caller's promise.
        unsafe {
            while i < self.count_i {
                let to = to.add(i * self.width);
                i += match self.count_i - i {
                    left if left >= R => self.tile::<V, R, C>(i, rows, to),
                    left if left >= 4 => self.tile::<V, 4, C>(i, rows, to),
                    left if left >= 2 => self.tile::<V, 2, C>(i, rows, to),
                    _ => self.tile::<V, 1, C>(i, rows, to),
                };
            }
        }
    }

    /// [`Part::add`] for `R` rows from the `i`-th on: returns how many.
    ///
    /// # Safety
    /// As [`Part::add`].
    #[inline(always)]
    unsafe fn tile<V: Vector, const R: usize, const C: usize>(
        &self,
        i: usize,
        rows: *const f64,
        to: *mut f64,
    ) -> usize {
        let [stride_i, stride_k] = self.strides;
        let wide = self.wide.wrapping_add(i * stride_i);
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [[V::splat(0.0); C]; R];
            for (i, sums) in sums.iter_mut().enumerate() {
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(to.add(i * self.width + c * V::LANES));
                }
            }
            for k in 0..self.count_k {
                if stride_k != 1 {
                    prefetch(wide.wrapping_add(2 * R * stride_i + k * stride_k));
                }
                let mut row = [V::splat(0.0); C];
                for (c, row) in row.iter_mut().enumerate() {
                    *row = V::load(rows.add(k * self.width + c * V::LANES));
                }
                for (i, sums) in sums.iter_mut().enumerate() {
                    let value = V::splat(*wide.add(i * stride_i + k * stride_k));
                    for (sum, row) in sums.iter_mut().zip(row) {
                        *sum = value.times_plus(row, *sum);
                    }
                }
            }
            for (i, sums) in sums.into_iter().enumerate() {
                for (c, sum) in sums.into_iter().enumerate() {
                    sum.store(to.add(i * self.width + c * V::LANES));
                }
            }
        }
        R
    }
}
