//! Small matrices, dense and row-major: symmetric positive definite ones, one or a batch at a time, and what little is needed of
//! others.

#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN must fail every check")]

mod batch;
mod cholesky;
mod general;
mod nonnegative;
mod whitening;

pub use batch::{cholesky_batch, inverse_batch, log_determinant_batch, solve_batch};
pub use cholesky::{
    NotPositive, cholesky, inverse, log_determinant, multiply_lower, solve, solve_lower, solve_upper,
};
pub use general::{lu_inverse, multiply, transpose};
pub use nonnegative::{Unbounded, nonnegative_quadratic};
pub use whitening::whitening;

use crate::Scratch;

/// The log-determinant of a symmetric matrix, row by row; NaN where it is not positive definite, 0 without an element.
pub fn log_determinant_of(matrix: &[f64]) -> f64 {
    let n = matrix.len().isqrt();
    let mut factor = Scratch::of(matrix);
    match cholesky(n, &mut factor) {
        Ok(()) => log_determinant(n, &factor),
        Err(_) => f64::NAN,
    }
}

/// The inverse of a symmetric matrix, row by row, to `out`.
///
/// # Errors
/// If it is not positive definite.
pub fn inverse_of(matrix: &[f64], out: &mut [f64]) -> Result<(), NotPositive> {
    let n = matrix.len().isqrt();
    let mut factor = Scratch::of(matrix);
    cholesky(n, &mut factor)?;
    inverse(n, &factor, out);
    Ok(())
}

/// Whether the inverse `b` of a symmetric positive definite matrix `a`, as it was rounded, has a Cholesky factor too. In units in which
/// `b` has a diagonal of ones its least eigenvalue is at least `1 / sum_k a_kk b_kk`, the reciprocal of the trace of its inverse: where
/// this is far above the rounding of `n` numbers nothing need be computed, and else the factor is.
///
/// # Source
/// Demmel (1989), On floating point errors in Cholesky, LAPACK Working Note 14: the factor exists where the scaled matrix has no
/// eigenvalue below `n (n + 1)` roundings.
pub fn has_factor(diagonal: impl Iterator<Item = f64>, b: &[f64]) -> bool {
    /// The share of the digits up to which an inverse is surely positive definite.
    const SURE: f64 = 1e-10;
    let n = b.len().isqrt();
    let trace: f64 = diagonal.zip(b.iter().step_by(n + 1)).map(|(a, b)| a * b).sum();
    // Written so that NaN asks for the factor.
    trace * n as f64 * SURE < 1.0 || cholesky(n, &mut Scratch::of(b)).is_ok()
}

/// The first pair of places below and above the diagonal of a matrix, row by row, whose values differ by more than 1e-9 of
/// the size of its rows; NaN differs from everything.
pub fn asymmetry(matrix: &[f64]) -> Option<(usize, usize)> {
    let n = matrix.len().isqrt();
    let differs = |(k, l): &(usize, usize)| {
        let size = (matrix[k * n + k] * matrix[l * n + l]).abs().sqrt();
        // Written so that NaN is found.
        !((matrix[k * n + l] - matrix[l * n + k]).abs() <= 1e-9 * size)
    };
    (0..n).flat_map(|k| (0..k).map(move |l| (k, l))).find(differs)
}
