//! The logistic function and its relatives, one number at a time, without overflow or cancellation on either side.
//!
//! `log(1 + exp(x)) = x / 2 + log(2 cosh(x / 2))`: a line and an even function. The even part is concave in `x^2`, with the
//! derivative `tanh(x / 2) / (4 x)`: half the curvature of the parabola that touches it at `x`.
//!
//! # Source
//!
//! Jaakkola and Jordan, Bayesian parameter estimation via variational methods, Statistics and Computing 10 (2000).

use super::{exp, expm1, ln, log1p};

/// `1 / (1 + exp(-x))`
pub fn logistic(x: f64) -> f64 {
    let small = exp(-x.abs());
    (if x < 0.0 { small } else { 1.0 }) / (1.0 + small)
}

/// `log(1 + exp(x))`
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + log1p(exp(-x.abs()))
}

/// `log(2 cosh(x / 2))`, the even part of [`softplus`]: both addends of `|x| / 2 + log(1 + exp(-|x|))` are positive.
pub fn even_softplus(x: f64) -> f64 {
    0.5 * x.abs() + log1p(exp(-x.abs()))
}

/// `log(1 - exp(x))` for `x < 0`: the difference taken by `expm1` where `exp(x)` is more than a half, since `log(1 - y)` is
/// read off its small argument elsewhere.
///
/// # Source
/// Maechler, Accurately computing log(1 - exp(-|a|)), vignette of the R package Rmpfr (2012).
pub fn log_one_less_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { ln(-expm1(x)) } else { log1p(-exp(x)) }
}

/// `tanh(x / 2) / (2 x)`, 1/4 at 0: the curvature of the parabola in `x` that touches `log(2 cosh(x / 2))` from above. With
/// `tanh(x / 2) = (1 - exp(-x)) / (1 + exp(-x))`, the difference taken by `expm1`.
pub fn logistic_curvature(x: f64) -> f64 {
    let x = x.abs();
    if x == 0.0 { 0.25 } else { -expm1(-x) / (2.0 * x * (1.0 + exp(-x))) }
}
