//! `e^x E_1(x)`, the exponential integral `E_1(x) = int_x^inf e^(-t) / t dt` scaled so that it does not underflow.
//!
//! Up to 1 the series `E_1(x) = -gamma - log x - sum_{n >= 1} (-x)^n / (n n!)`; above, the continued fraction
//! `e^x E_1(x) = 1 / (x + 1 - 1 / (x + 3 - 4 / (x + 5 - 9 / ...)))` from below: `n` terms err by about `exp(-4 sqrt(n x))`.
//!
//! Error: below 1e-15 relative.
//!
//! # Source
//! Abramowitz and Stegun 5.1.11 and 5.1.22.

use super::{exp, ln};

/// Euler's constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// `e^x E_1(x)` for `x > 0`: infinite at 0, NaN below.
pub fn scaled_exp_integral(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x <= 1.0 {
        let (mut power, mut series) = (1.0, 0.0);
        for n in 1..=20 {
            let n = f64::from(n);
            power *= -x / n;
            series += power / n;
        }
        return exp(x) * (-GAMMA - ln(x) - series);
    }
    // 100 terms at 1, 8 far out.
    let terms = 8 + (100.0 / x) as u32;
    let tail = (1..=terms).rev().fold(0.0, |tail, n| {
        let n = f64::from(n);
        n * n / (x + 2.0 * n + 1.0 - tail)
    });
    1.0 / (x + 1.0 - tail)
}
