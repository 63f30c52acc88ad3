//! `ln x = k ln 2 + ln(1 + f)`, with `x = 2^k (1 + f)` and `1 + f` in `[sqrt(1/2), sqrt 2)`.
//!
//! With `s = f / (2 + f)`, `ln(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2))`, where `R` is a minimax polynomial of degree 7
//! in `s^2` (error below 2^-58.45). Error: below 1 unit in the last place. Subnormals are scaled up first.
//!
//! # Source
//! fdlibm `e_log.c` (Sun Microsystems, 1993), its branches replaced by selections.

use super::exp::{LN_2_HIGH, LN_2_LOW};
use super::{elementwise, polynomial};
use crate::instruction_set::fma;

elementwise! {
    /// The natural logarithm: minus infinity at 0, NaN below, exact at 1.
    ln, ln_into, ln_in_place, ln_body
}

/// `ln(1 + x)` without cancellation near zero.
pub fn log1p(x: f64) -> f64 {
    x.ln_1p()
}

/// The bits of `sqrt(1/2)`, where the interval of `1 + f` begins.
const START: u64 = 0x3fe6_a09e_667f_3bcd;
/// The bits of 2^52, whose low bits then hold an integer.
const INTEGER: u64 = 0x4330_0000_0000_0000;

#[inline(always)]
pub(super) fn ln_body<const FMA: bool>(x: f64) -> f64 {
    let (scaled, scale) = scaled_up(x);
    let (high, low) = ln_in_two::<FMA>(scaled, scale);
    let value = high + low;
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    if x < 0.0 { f64::NAN } else { value }
}

/// A subnormal number, or what is not positive, times `2^54`, and 54; else the number, and 0.
#[inline(always)]
pub(super) fn scaled_up(x: f64) -> (f64, f64) {
    // By masks: of two selections by one condition the compiler makes two paths, and takes all that follows twice.
    let mask = u64::from(x < f64::MIN_POSITIVE).wrapping_neg();
    let factor = f64::from_bits(1.0_f64.to_bits() + ((54 << 52) & mask));
    (x * factor, f64::from_bits(54.0_f64.to_bits() & mask))
}

/// `ln x - scale ln 2` of a positive normal number, `scale` a whole number, as a sum of two: the first, `k ln 2` without its
/// last digits, has no error and no digit below 2^-32; the second, between -0.35 and 0.35, has an error of about 3e-17.
#[inline(always)]
pub(super) fn ln_in_two<const FMA: bool>(x: f64, scale: f64) -> (f64, f64) {
    let bits = x.to_bits();
    // k + 1024, so that the shift need not be signed.
    let biased = bits.wrapping_sub(START).wrapping_add(1024 << 52) >> 52;
    let k = f64::from_bits(INTEGER | biased) - (4_503_599_627_370_496.0 + 1024.0) - scale;
    let mantissa = bits.wrapping_sub(biased.wrapping_sub(1024) << 52);
    let f = f64::from_bits(mantissa) - 1.0;
    let s = f / (2.0 + f);
    let w = s * s;
    let r = w * polynomial::<FMA, 7>(
        w,
        [
            0.666_666_666_666_673_5,
            0.399_999_999_994_094_2,
            0.285_714_287_436_623_9,
            0.222_221_984_321_497_84,
            0.181_835_721_616_180_5,
            0.153_138_376_992_093_73,
            0.147_981_986_051_165_86,
        ],
    );
    let half_square = 0.5 * f * f;
    let correction = fma::<FMA>(s, half_square + r, k * LN_2_LOW);
    (k * LN_2_HIGH, f - (half_square - correction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(ln(-0.0), f64::NEG_INFINITY);
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
        assert!(ln(-1.0).is_nan());
        assert!(ln(f64::NEG_INFINITY).is_nan());
        assert!(ln(f64::NAN).is_nan());
        assert!((ln(5e-324) + 744.440_071_921_381_2).abs() < 1e-12);
    }
}
