//! `exp x = 2^n exp r`, with `n` the integer nearest to `x / ln 2` and `r = x - n ln 2` in `[-0.347, 0.347]`.
//!
//! `exp r` is its Taylor polynomial of degree 13 (remainder below 5e-18). `ln 2` is held in two parts, the first with 32
//! trailing zeros, so `n ln 2` is exact in it. Scaling by `2^n` takes two factors, so results that are subnormal round
//! once. Error: below 1 unit in the last place with fused multiply-add, below 2 without.
//!
//! # Source
//! W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980, chapter 6.

use super::{elementwise, polynomial};
use crate::instruction_set::fma;

elementwise! {
    /// The exponential: 0 at minus infinity, infinity above 709.78, subnormal below -708.4.
    exp, exp_into, exp_in_place, exp_body
}

/// `exp(x) - 1` without cancellation near zero.
pub fn expm1(x: f64) -> f64 {
    x.exp_m1()
}

/// Adding it rounds a number of magnitude below 2^51 to an integer and leaves that integer in the low bits.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;
pub(super) const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
pub(super) const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

#[inline(always)]
pub(super) fn exp_body<const FMA: bool>(x: f64) -> f64 {
    // Comparisons in this direction let NaN through.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let shifted = fma::<FMA>(x, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma::<FMA>(-n, LN_2_LOW, fma::<FMA>(-n, LN_2_HIGH, x));
    let tail = polynomial::<FMA, 12>(
        r,
        [
            1.0 / 2.0,
            1.0 / 6.0,
            1.0 / 24.0,
            1.0 / 120.0,
            1.0 / 720.0,
            1.0 / 5_040.0,
            1.0 / 40_320.0,
            1.0 / 362_880.0,
            1.0 / 3_628_800.0,
            1.0 / 39_916_800.0,
            1.0 / 479_001_600.0,
            1.0 / 6_227_020_800.0,
        ],
    );
    let value = 1.0 + fma::<FMA>(r * r, tail, r);
    // n + 2048, halved without a signed shift (AVX2 has none for 64 bits).
    let biased = shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(2048);
    let half = biased >> 1;
    let first = f64::from_bits(half.wrapping_sub(1024).wrapping_add(1023) << 52);
    let second = f64::from_bits(biased.wrapping_sub(half).wrapping_sub(1024).wrapping_add(1023) << 52);
    value * first * second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert_eq!(exp(710.0), f64::INFINITY);
        assert_eq!(exp(-745.2), 0.0);
        assert_eq!(exp(-745.0), 5e-324);
        assert!(exp(709.78).is_finite());
        assert!(exp(f64::NAN).is_nan());
    }
}
