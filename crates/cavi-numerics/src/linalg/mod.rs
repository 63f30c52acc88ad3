//! Small symmetric positive definite matrices, dense and row-major, one or a batch at a time.

mod batch;
mod cholesky;
mod nonnegative;

pub use batch::{cholesky_batch, inverse_batch, log_determinant_batch, solve_batch};
pub use cholesky::{NotPositive, cholesky, inverse, log_determinant, solve, solve_lower, solve_upper};
pub use nonnegative::{Unbounded, nonnegative_quadratic};
