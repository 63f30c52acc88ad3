//! `psi'(x) = d^2/dx^2 ln Gamma(x)` for `x > 0`.
//!
//! For `z >= 8`, `psi'(z) ~ 1/z + 1/(2 z^2) + sum_n B_2n / z^(2n+1)`, eleven terms. Below 8,
//! `psi'(x) = psi'(x + 8) + sum_{i<8} 1/(x + i)^2`; with `y = x (x + 7)` the squares pair up as
//! `(2y + 49 - 2a) / (y + a)^2`, `a` in `{0, 6, 10, 12}`.
//!
//! Error: below 2e-15 relative.
//!
//! # Source
//! Abramowitz and Stegun 6.4.6 (recurrence) and 6.4.12 (asymptotic series).

use super::{elementwise, polynomial};
use crate::instruction_set::fma;

elementwise! {
    /// The trigamma function of positive numbers: infinity at 0, NaN below.
    trigamma, trigamma_into, trigamma_in_place, trigamma_body
}

#[inline(always)]
pub(super) fn trigamma_body<const FMA: bool>(x: f64) -> f64 {
    let is_small = x < 8.0;
    let z = if is_small { x + 8.0 } else { x };
    let u = if is_small { x } else { 1.0 };
    let y = u * (u + 7.0);
    let pair = |a: f64| {
        let inverse = 1.0 / (y + a);
        fma::<FMA>(2.0, y, 49.0 - 2.0 * a) * inverse * inverse
    };
    let shift = pair(0.0) + ((pair(6.0) + pair(10.0)) + pair(12.0));
    let shift = if is_small { shift } else { 0.0 };
    let inverse = 1.0 / z;
    let w = inverse * inverse;
    let series = w * polynomial::<FMA, 11>(
        w,
        [
            1.0 / 6.0,
            -1.0 / 30.0,
            1.0 / 42.0,
            -1.0 / 30.0,
            5.0 / 66.0,
            -691.0 / 2730.0,
            7.0 / 6.0,
            -3617.0 / 510.0,
            43_867.0 / 798.0,
            -174_611.0 / 330.0,
            854_513.0 / 138.0,
        ],
    );
    let value = shift + fma::<FMA>(0.5, w, fma::<FMA>(inverse, series, inverse));
    if x < 0.0 { f64::NAN } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        assert_eq!(trigamma(0.0), f64::INFINITY);
        assert_eq!(trigamma(f64::INFINITY), 0.0);
        assert!(trigamma(-0.5).is_nan());
        assert!(trigamma(f64::NAN).is_nan());
        assert!((trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
    }
}
