//! `psi(x) = d/dx ln Gamma(x)` for `x > 0`.
//!
//! For `z >= 8`, `psi(z) ~ ln z - 1/(2z) - sum_n B_2n / (2n z^2n)`, ten terms (remainder below 1e-17). Below 8,
//! `psi(x) = psi(x + 8) - sum_{i<8} 1/(x + i)`. With `y = x (x + 7)` that sum pairs up as
//! `(2x + 7) sum_a 1/(y + a)`, `a` in `{0, 6, 10, 12}`, which is one quotient of polynomials in `y`.
//!
//! Error: below 1e-15 + 1e-15 |psi|; absolute, not relative, near the root 1.4616.
//!
//! # Source
//! Abramowitz and Stegun 6.3.5 (recurrence) and 6.3.18 (asymptotic series).

use super::elementwise;
use super::ln::ln_in_two;
use super::polynomial;
use crate::instruction_set::fma;

elementwise! {
    /// The digamma function of positive numbers: minus infinity at 0, NaN below.
    digamma, digamma_into, digamma_in_place, digamma_body
}

#[inline(always)]
pub(super) fn digamma_body<const FMA: bool>(x: f64) -> f64 {
    Shifted::of::<FMA>(x).digamma
}

/// What digamma is worked out from, and the logarithm of Gamma may be ([`super::digamma_and_log_gamma`]): `z = x + 8` for
/// `x < 8`, else `z = x`.
pub(super) struct Shifted {
    pub z: f64,
    /// `ln z` as a sum of two ([`ln_in_two`]); of infinity neither has a meaning.
    pub log: (f64, f64),
    /// `1 / z`
    pub inverse: f64,
    /// `Gamma(x + 8) / Gamma(x) = x (x + 1) ... (x + 7)` for `x < 8`, else 1.
    pub product: f64,
    /// `psi(x)`
    pub digamma: f64,
}

impl Shifted {
    #[inline(always)]
    pub fn of<const FMA: bool>(x: f64) -> Shifted {
        let is_small = x < 8.0;
        let z = if is_small { x + 8.0 } else { x };
        // A harmless argument where the quotient is not used: its square's square would overflow.
        let u = if is_small { x } else { 1.0 };
        let y = u * (u + 7.0);
        let (p, q) = (y * (y + 6.0), (y + 10.0) * (y + 12.0));
        let product = p * q;
        let numerator = fma::<FMA>(2.0 * y + 6.0, q, (2.0 * y + 22.0) * p);
        let shift = fma::<FMA>(2.0, u, 7.0) * (numerator / product);
        let shift = if is_small { shift } else { 0.0 };
        let inverse = 1.0 / z;
        let w = inverse * inverse;
        let series = w * polynomial::<FMA, 10>(
            w,
            [
                -1.0 / 12.0,
                1.0 / 120.0,
                -1.0 / 252.0,
                1.0 / 240.0,
                -1.0 / 132.0,
                691.0 / 32_760.0,
                -1.0 / 12.0,
                3617.0 / 8160.0,
                -43_867.0 / 14_364.0,
                174_611.0 / 6600.0,
            ],
        );
        // z is no less than 8, unless x is negative.
        let log = ln_in_two::<FMA>(z, 0.0);
        let whole = if z < f64::INFINITY { log.0 + log.1 } else { z };
        let value = whole + (fma::<FMA>(-0.5, inverse, series) - shift);
        let digamma = if x < 0.0 { f64::NAN } else { value };
        let product = if is_small { product } else { 1.0 };
        Shifted { z, log, inverse, product, digamma }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        assert_eq!(digamma(0.0), f64::NEG_INFINITY);
        assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
        assert!(digamma(-0.5).is_nan());
        assert!(digamma(f64::NAN).is_nan());
        assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-15);
    }
}
