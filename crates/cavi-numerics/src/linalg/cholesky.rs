//! `A = L L'` of a symmetric positive definite `n x n` matrix, and what follows from it.
//!
//! Only the lower triangle is read. The factor overwrites it, and the upper triangle is set to zero. Row by row,
//! `L_ij = (A_ij - sum_{p<j} L_ip L_jp) / L_jj`: dot products of contiguous rows, each in eight lanes and a fixed order.
//!
//! Backward error: `|A - L L'| <= (n + 1) eps |L| |L'|`, element by element.
//!
//! # Source
//! N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. 2002, theorem 10.3.

use std::fmt;

use crate::instruction_set;
use crate::instruction_set::{dispatch, fma};
use crate::special::ln;

/// A pivot that is not positive beyond its rounding error: the matrix is not positive definite, singular to working precision,
/// or not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPositive {
    /// The row of the pivot.
    pub pivot: usize,
}

impl fmt::Display for NotPositive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the matrix is not positive definite: pivot {} is not positive", self.pivot + 1)
    }
}

impl std::error::Error for NotPositive {}

/// Replaces `a` by its Cholesky factor `L`, with zeros above the diagonal.
///
/// # Errors
/// [`NotPositive`] if pivot `i`, from 0, is not finite, or not above 0 for the first and `(i + 8) eps A_ii` for the others: the
/// backward error, and some roundings of the entries themselves. `a` is then half overwritten.
pub fn cholesky(n: usize, a: &mut [f64]) -> Result<(), NotPositive> {
    dispatch!(fn run(n: usize, a: &mut [f64]) -> Result<(), NotPositive> = cholesky_body);
    assert_eq!(a.len(), n * n, "a square matrix");
    run(instruction_set(), n, a)
}

/// `ln det A = 2 sum_i ln L_ii`.
pub fn log_determinant(n: usize, factor: &[f64]) -> f64 {
    assert_eq!(factor.len(), n * n, "a square matrix");
    2.0 * (0..n).map(|i| ln(factor[i * n + i])).sum::<f64>()
}

/// Replaces `b` by `A^-1 b`.
pub fn solve(n: usize, factor: &[f64], b: &mut [f64]) {
    solve_lower(n, factor, b);
    solve_upper(n, factor, b);
}

/// Replaces `b` by `L^-1 b`.
pub fn solve_lower(n: usize, factor: &[f64], b: &mut [f64]) {
    dispatch!(fn run(n: usize, factor: &[f64], b: &mut [f64]) = solve_lower_body);
    assert_eq!((factor.len(), b.len()), (n * n, n), "a square matrix and a vector");
    run(instruction_set(), n, factor, b);
}

/// Replaces `b` by `L'^-1 b`: what turns independent standard normals into a draw with precision `A`.
pub fn solve_upper(n: usize, factor: &[f64], b: &mut [f64]) {
    dispatch!(fn run(n: usize, factor: &[f64], b: &mut [f64]) = solve_upper_body);
    assert_eq!((factor.len(), b.len()), (n * n, n), "a square matrix and a vector");
    run(instruction_set(), n, factor, b);
}

/// Replaces `b` by `L b`.
pub fn multiply_lower(n: usize, factor: &[f64], b: &mut [f64]) {
    dispatch!(fn run(n: usize, factor: &[f64], b: &mut [f64]) = multiply_lower_body);
    assert_eq!((factor.len(), b.len()), (n * n, n), "a square matrix and a vector");
    run(instruction_set(), n, factor, b);
}

/// Writes `A^-1`, exactly symmetric, to `out`.
pub fn inverse(n: usize, factor: &[f64], out: &mut [f64]) {
    dispatch!(fn run(n: usize, factor: &[f64], out: &mut [f64]) = inverse_body);
    assert_eq!((factor.len(), out.len()), (n * n, n * n), "two square matrices");
    run(instruction_set(), n, factor, out);
}

#[inline(always)]
fn dot<const FMA: bool>(x: &[f64], y: &[f64]) -> f64 {
    let (x_rows, x_rest) = x.as_chunks::<8>();
    let (y_rows, y_rest) = y.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (x, y) in x_rows.iter().zip(y_rows) {
        for lane in 0..8 {
            lanes[lane] = fma::<FMA>(x[lane], y[lane], lanes[lane]);
        }
    }
    let mut value =
        ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    for (x, y) in x_rest.iter().zip(y_rest) {
        value = fma::<FMA>(*x, *y, value);
    }
    value
}

/// `y -= a x`.
#[inline(always)]
fn subtract_multiple<const FMA: bool>(a: f64, x: &[f64], y: &mut [f64]) {
    for (x, y) in x.iter().zip(y) {
        *y = fma::<FMA>(-a, *x, *y);
    }
}

#[inline(always)]
fn cholesky_body<const FMA: bool>(n: usize, a: &mut [f64]) -> Result<(), NotPositive> {
    for i in 0..n {
        let (above, rest) = a.split_at_mut(i * n);
        let row = &mut rest[..n];
        for j in 0..i {
            let other = &above[j * n..j * n + j + 1];
            row[j] = (row[j] - dot::<FMA>(&row[..j], &other[..j])) / other[j];
        }
        let pivot = row[i] - dot::<FMA>(&row[..i], &row[..i]);
        // A difference within its rounding error of 0 says nothing of its sign.
        let error = if i == 0 { 0.0 } else { (i + 8) as f64 * f64::EPSILON * row[i].abs() };
        if !(error < pivot && pivot < f64::INFINITY) {
            return Err(NotPositive { pivot: i });
        }
        row[i] = pivot.sqrt();
        row[i + 1..].fill(0.0);
    }
    Ok(())
}

#[inline(always)]
fn multiply_lower_body<const FMA: bool>(n: usize, factor: &[f64], b: &mut [f64]) {
    for i in (0..n).rev() {
        b[i] = dot::<FMA>(&factor[i * n..i * n + i + 1], &b[..i + 1]);
    }
}

#[inline(always)]
fn solve_lower_body<const FMA: bool>(n: usize, factor: &[f64], b: &mut [f64]) {
    for i in 0..n {
        let row = &factor[i * n..i * n + i + 1];
        b[i] = (b[i] - dot::<FMA>(&row[..i], &b[..i])) / row[i];
    }
}

#[inline(always)]
fn solve_upper_body<const FMA: bool>(n: usize, factor: &[f64], b: &mut [f64]) {
    for i in (0..n).rev() {
        let row = &factor[i * n..i * n + i + 1];
        let (before, rest) = b.split_at_mut(i);
        rest[0] /= row[i];
        subtract_multiple::<FMA>(rest[0], &row[..i], before);
    }
}

/// `A^-1 = L'^-1 L^-1`. First `L^-1` row by row, `(L^-1)_i = (e_i - sum_{p<i} L_ip (L^-1)_p) / L_ii`; then, row by row
/// downwards so that a row is overwritten only after its last use, `(A^-1)_ij = sum_{p>=i} (L^-1)_pi (L^-1)_pj` for `j <= i`.
#[inline(always)]
fn inverse_body<const FMA: bool>(n: usize, factor: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for i in 0..n {
        let (above, rest) = out.split_at_mut(i * n);
        let row = &mut rest[..i + 1];
        for p in 0..i {
            subtract_multiple::<FMA>(factor[i * n + p], &above[p * n..p * n + p + 1], row);
        }
        row[i] = 1.0;
        let scale = 1.0 / factor[i * n + i];
        for value in row {
            *value *= scale;
        }
    }
    for i in 0..n {
        let (done, below) = out.split_at_mut((i + 1) * n);
        let row = &mut done[i * n..i * n + i + 1];
        let diagonal = row[i];
        for value in row.iter_mut() {
            *value *= diagonal;
        }
        for other in below.chunks_exact(n) {
            subtract_multiple::<FMA>(-other[i], &other[..i + 1], row);
        }
    }
    for i in 0..n {
        for j in 0..i {
            out[j * n + i] = out[i * n + j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `B B' + I` with a `B` of fixed pseudo-random numbers.
    pub(crate) fn positive(n: usize, seed: u64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let b: Vec<f64> = (0..n * n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
            })
            .collect();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                a[i * n + j] = (0..n).map(|p| b[i * n + p] * b[j * n + p]).sum::<f64>() + f64::from(i == j);
            }
        }
        a
    }

    #[test]
    fn factor_times_its_transpose() {
        for n in (0..40).chain([64, 100, 131]) {
            let a = positive(n, n as u64);
            let mut factor = a.clone();
            cholesky(n, &mut factor).unwrap();
            let mut inverted = vec![0.0; n * n];
            inverse(n, &factor, &mut inverted);
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..n).map(|p| factor[i * n + p] * factor[j * n + p]).sum();
                    assert!((product - a[i * n + j]).abs() < 1e-12 * n as f64);
                    let unit: f64 = (0..n).map(|p| a[i * n + p] * inverted[p * n + j]).sum();
                    assert!((unit - f64::from(i == j)).abs() < 1e-10);
                    assert_eq!(inverted[i * n + j], inverted[j * n + i]);
                }
            }
            let x: Vec<f64> = (0..n).map(|i| i as f64 - 3.0).collect();
            let mut b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| a[i * n + j] * x[j]).sum()).collect();
            solve(n, &factor, &mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-9));
        }
    }

    #[test]
    fn determinant_of_a_diagonal() {
        let mut a = vec![4.0, 0.0, 0.0, 0.25];
        cholesky(2, &mut a).unwrap();
        assert!(log_determinant(2, &a).abs() < 1e-15);
        assert_eq!(log_determinant(0, &[]), 0.0);
    }

    #[test]
    fn names_the_pivot() {
        assert_eq!(cholesky(2, &mut [1.0, 0.0, 2.0, 4.0]), Err(NotPositive { pivot: 1 }));
        assert_eq!(cholesky(1, &mut [f64::NAN]), Err(NotPositive { pivot: 0 }));
        assert_eq!(cholesky(1, &mut [0.0]), Err(NotPositive { pivot: 0 }));
    }
}
