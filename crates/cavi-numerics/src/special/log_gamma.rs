//! `ln Gamma(x)` for `x > 0`, accurate in the relative sense at its roots 1 and 2.
//!
//! On `[1, 2]`, `ln Gamma(y) = (y - 1)(y - 2) R(y - 3/2)`, with `R` a polynomial of degree 20 that interpolates at
//! Chebyshev points (relative error 9e-18). Below 1, `ln Gamma(x) = ln Gamma(x + 1) - ln x`; from 2 to 8,
//! `ln Gamma(x) = ln Gamma(x - m) + ln((x - 1) ... (x - m))`. From 8 on, Stirling's series:
//! `(x - 1/2)(ln x - 1) + (ln(2 pi) - 1)/2 + sum_n B_2n / (2n (2n - 1) x^(2n-1))`, nine terms.
//!
//! Error: below 2e-15 relative, the roots included.
//!
//! # Source
//! Abramowitz and Stegun 6.1.15 and 6.1.41; `R` from `tests/data/special.py`.

use super::ln::ln_body;
use super::{elementwise, ln, log1p, polynomial};
use crate::instruction_set::fma;

elementwise! {
    /// The logarithm of the gamma function of positive numbers. At 0 and the whole numbers below, the poles of the gamma function, it is
    /// infinity, so that the binomial coefficient of more successes than trials is 0; elsewhere below 0 it is NaN.
    log_gamma, log_gamma_into, log_gamma_in_place, log_gamma_body
}

/// `ln B(a, b) = ln Gamma(a) + ln Gamma(b) - ln Gamma(a + b)` for positive numbers, without the difference of two large numbers: with
/// Stirling's series `D` of what its leading terms leave,
/// `ln Gamma(b) - ln Gamma(a + b) = -(b - 1/2) log1p(a / b) - a (ln(a + b) - 1) + D(b) - D(a + b)` for the larger argument b from 8 on.
///
/// # Source
/// DiDonato and Morris (1992), algorithm 708, `ALGDIV` and `BCORR`.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    let (a, b) = if a > b { (b, a) } else { (a, b) };
    let total = a + b;
    if !(a > 0.0 && b >= 8.0 && total.is_finite()) {
        return log_gamma(a) + log_gamma(b) - log_gamma(total);
    }
    // Stirling's series has ln(2 pi) / 2 - 1/2 in it.
    let series = |x: f64| stirling::<false>(1.0 / x);
    if a >= 8.0 {
        // The arguments may both be large: a ln a - a ln(a + b) as the log of a quotient.
        let shifted = series(a) + (series(b) - series(total)) + 0.5;
        return (a - 0.5) * ln(a / total) - b * log1p(a / b) - 0.5 * ln(b) + shifted;
    }
    log_gamma(a) - (b - 0.5) * log1p(a / b) - a * (ln(total) - 1.0) + (series(b) - series(total))
}

#[inline(always)]
pub(super) fn log_gamma_body<const FMA: bool>(x: f64) -> f64 {
    let is_below_one = x < 1.0;
    let is_large = x >= 8.0;
    // y in [1, 2] by steps of one; each subtraction is exact.
    let mut y = x;
    let mut product = 1.0;
    for _ in 0..6 {
        let is_above = y > 2.0;
        y = if is_above { y - 1.0 } else { y };
        product = if is_above { product * y } else { product };
    }
    // Below 1 the argument is x + 1, and its distances to 1 and 2 are taken before it would be rounded.
    let from_one = if is_below_one { x } else { y - 1.0 };
    let from_two = if is_below_one { x - 1.0 } else { y - 2.0 };
    let r = polynomial::<FMA, 21>(
        from_one - 0.5,
        [
            0.483_128_950_540_980_9,
            -0.145_959_895_914_305_94,
            0.062_911_401_074_564_85,
            -0.031_308_487_501_053_27,
            0.016_797_098_631_213_95,
            -0.009_425_622_444_829_649,
            0.005_446_457_842_219_553,
            -0.003_212_074_220_607_290_8,
            0.001_922_916_232_122_792_3,
            -0.001_164_411_377_219_605,
            0.000_711_520_275_205_129_8,
            -0.000_438_035_161_325_805_34,
            0.000_271_302_735_451_140_05,
            -0.000_168_571_794_503_517_2,
            0.000_105_417_152_221_859_04,
            -6.793_733_027_397_047e-5,
            4.281_642_862_794_779e-5,
            -2.148_770_252_062_576e-5,
            1.358_427_545_913_094_3e-5,
            -1.852_780_399_703_296_2e-5,
            1.182_096_944_546_714_5e-5,
        ],
    );
    let argument = if is_below_one { x } else { product };
    let log = ln_body::<FMA>(if is_large { x } else { argument });
    let near = fma::<FMA>(from_one * from_two, r, if is_below_one { -log } else { log });
    let inverse = 1.0 / if is_large { x } else { 8.0 };
    let far = fma::<FMA>(x - 0.5, log - 1.0, stirling::<FMA>(inverse));
    let value = if is_large { far } else { near };
    // From -2^52 on, where all numbers are whole, the sum with -2^52 is rounded to a whole number.
    let is_whole = (x - WHOLE) + WHOLE == x || x <= -WHOLE;
    let below = if is_whole { f64::INFINITY } else { f64::NAN };
    if x < 0.0 { below } else { value }
}

/// 2^52: doubles between it and twice as much are the whole numbers.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// What Stirling's series adds to `(z - 1/2)(ln z - 1)`, of `inverse = 1 / z`.
#[inline(always)]
pub(super) fn stirling<const FMA: bool>(inverse: f64) -> f64 {
    let series = inverse
        * polynomial::<FMA, 9>(
            inverse * inverse,
            [
                1.0 / 12.0,
                -1.0 / 360.0,
                1.0 / 1260.0,
                -1.0 / 1680.0,
                1.0 / 1188.0,
                -691.0 / 360_360.0,
                1.0 / 156.0,
                -3617.0 / 122_400.0,
                43_867.0 / 244_188.0,
            ],
        );
    // (ln(2 pi) - 1) / 2
    0.418_938_533_204_672_7 + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        assert_eq!(log_gamma(0.0), f64::INFINITY);
        assert_eq!(log_gamma(1.0), 0.0);
        assert_eq!(log_gamma(2.0), 0.0);
        assert_eq!(log_gamma(f64::INFINITY), f64::INFINITY);
        for x in [-1.0, -2.0, -59.0, -4e15, -4_503_599_627_370_497.0, -1e17, f64::NEG_INFINITY] {
            assert_eq!(log_gamma(x), f64::INFINITY, "{x}");
        }
        for x in [-0.5, -1e-300, -1.000_000_000_1, -59.25, -1e9 - 0.5] {
            assert!(log_gamma(x).is_nan(), "{x}");
        }
        assert!(log_gamma(f64::NAN).is_nan());
        assert!((ln_beta(2.0, 3.0) + 12.0_f64.ln()).abs() < 1e-14);
    }

    /// `B(1, b) = 1 / b`, `B(2, b) = 1 / (b (b + 1))`, `B(10, 10) = 9! 9! / 19! = 1 / 923780`, and by the central binomial coefficient
    /// `ln B(n, n) = ln(pi / n) / 2 + (1 - 2 n) ln 2 + 1 / (8 n)` up to `1 / n^3`.
    #[test]
    fn a_beta_function_of_one_large_argument_keeps_its_digits() {
        for b in [8.0, 100.5, 1e6, 1e9, 1e12, 1e15] {
            let near = |found: f64, expected: f64| (found - expected).abs() < 4e-15 * expected.abs();
            assert!(near(ln_beta(1.0, b), -b.ln()), "{b}: {}", ln_beta(1.0, b));
            assert!(near(ln_beta(b, 2.0), -b.ln() - (b + 1.0).ln()), "{b}: {}", ln_beta(b, 2.0));
        }
        assert!((ln_beta(10.0, 10.0) + 923_780.0_f64.ln()).abs() < 1e-13);
        let n = 1e9_f64;
        let expected = (std::f64::consts::PI / n).sqrt().ln()
            + (1.0 - 2.0 * n) * std::f64::consts::LN_2
            + 1.0 / (8.0 * n);
        assert!((ln_beta(n, n) - expected).abs() < 1e-15 * expected.abs());
    }
}
