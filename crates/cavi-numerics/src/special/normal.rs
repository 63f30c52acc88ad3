//! The standard normal distribution function, its logarithm and their inverses, one number at a time.

use super::{exp, expm1, ln, log1p};

/// `log sqrt(2 pi)`
const LOG_ROOT_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// `Phi(x) / phi(x)` for `x <= 0`, where `phi` is the density: near 0 by the power series
/// `Phi(x) - 1/2 = phi(x) (x + x^3 / 3 + x^5 / (3 5) + ...)`, further out by the continued fraction
/// `1 / (y + 1 / (y + 2 / (y + 3 / ...)))`, `y = -x`, whose part of n fractions is off by about `exp(-1.9 y sqrt(n))`: less
/// than the rounding with `400 / y^2` of them.
///
/// # Source
///
/// Abramowitz and Stegun (1964), 26.2.11 and 26.2.14.
fn mills_ratio(x: f64) -> f64 {
    if x > -1.0 {
        let (mut term, mut series, mut odd) = (x, x, 1.0);
        while term.abs() > 1e-18 * series.abs() {
            odd += 2.0;
            term *= x * x / odd;
            series += term;
        }
        return 0.5 * exp(0.5 * x * x + LOG_ROOT_TWO_PI) + series;
    }
    let fractions = 20 + (450.0 / (x * x)) as u32;
    1.0 / (1..=fractions).rev().fold(-x, |rest, step| -x + f64::from(step) / rest)
}

/// `Phi(x)` for `x <= 0`.
fn lower_tail(x: f64) -> f64 {
    mills_ratio(x) * exp(-0.5 * x * x - LOG_ROOT_TWO_PI)
}

/// `log Phi(x)`, the logarithm of the standard normal distribution function, without cancellation in either tail.
pub fn normal_log_cdf(x: f64) -> f64 {
    if x > 0.0 {
        return log1p(-lower_tail(-x));
    }
    if x == f64::NEG_INFINITY {
        return x;
    }
    ln(mills_ratio(x)) - 0.5 * x * x - LOG_ROOT_TWO_PI
}

/// The `x` with `log Phi(x) = level`. Newton's steps: `log Phi` is concave, so that from the second point on they climb
/// to the root and never pass it.
pub fn normal_log_quantile(level: f64) -> f64 {
    if level.is_nan() || level > 0.0 {
        return f64::NAN;
    }
    if level == 0.0 || level == f64::NEG_INFINITY {
        return if level == 0.0 { f64::INFINITY } else { level };
    }
    if level > -std::f64::consts::LN_2 {
        return -normal_log_quantile(ln(-expm1(level)));
    }
    let mut x = -(-2.0 * level).sqrt();
    for _ in 0..100 {
        // The slope of log Phi is phi / Phi.
        let step = (level - normal_log_cdf(x)) * mills_ratio(x);
        x = (x + step).min(0.0);
        if step.abs() <= 1e-16 * x.abs() {
            break;
        }
    }
    x
}

/// `Phi(x)`, the standard normal distribution function.
pub fn normal_cdf(x: f64) -> f64 {
    if x > 0.0 { 1.0 - lower_tail(-x) } else { lower_tail(x) }
}

/// The `x` with `Phi(x) = p`.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 { -normal_log_quantile(log1p(-p)) } else { normal_log_quantile(ln(p)) }
}
