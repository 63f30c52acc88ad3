//! `psi(x)` and `ln Gamma(x)` of one argument: what the entropy of a Dirichlet or Gamma factor needs.
//!
//! Both are taken at `z = x + 8` for `x < 8`, else at `z = x`, from one logarithm and one reciprocal of `z`. Digamma is that
//! of `digamma`, bit for bit. With `x (x + 1) ... (x + 7)`, the denominator of digamma's shift,
//!
//! `ln Gamma(x) = ln Gamma(z) + ln z (x + 8 - z) - ln(x (x + 1) ... (x + 7))` for `x < 8`,
//!
//! where `ln Gamma(z)` is Stirling's series and the second term, `d/dz ln Gamma(z)` times what was lost when `z` was rounded to
//! a double, is up to 2e-15. Terms of up to 40 cancel to what is often below 1: both logarithms come in two parts, and their
//! large ones, which have no error, are subtracted first.
//!
//! Error of `ln Gamma`: below 1e-15 + 1e-15 |ln Gamma|. Unlike that of `log_gamma` it is absolute near the roots 1 and 2, as
//! that of digamma is near its own: in an entropy the two are added up.
//!
//! # Source
//! Abramowitz and Stegun 6.1.15, 6.1.41, 6.3.5 and 6.3.18.

use super::digamma::Shifted;
use super::ln::{ln_in_two, scaled_up};
use super::log_gamma::stirling;
use crate::instruction_set::{dispatch, fma};

/// `psi` and `ln Gamma` of each element of `x`, into slices of the same length: minus infinity and infinity at 0, NaN below.
pub fn digamma_and_log_gamma_into(x: &[f64], digamma: &mut [f64], log_gamma: &mut [f64]) {
    dispatch!(fn run(x: &[f64], digamma: &mut [f64], log_gamma: &mut [f64]) = both);
    assert!(
        x.len() == digamma.len() && x.len() == log_gamma.len(),
        "an element-wise function needs slices of one length"
    );
    run(crate::instruction_set(), x, digamma, log_gamma);
}

#[inline(always)]
fn both<const FMA: bool>(x: &[f64], digamma: &mut [f64], log_gamma: &mut [f64]) {
    for ((x, digamma), log_gamma) in x.iter().zip(digamma).zip(log_gamma) {
        (*digamma, *log_gamma) = body::<FMA>(*x);
    }
}

#[inline(always)]
pub(super) fn body<const FMA: bool>(x: f64) -> (f64, f64) {
    let shifted = Shifted::of::<FMA>(x);
    // Each logarithm in two parts, of which the first are multiples of a number of few digits: large, and without an error.
    let (high, low) = shifted.log;
    let (scaled, scale) = scaled_up(shifted.product);
    let (high_of_product, low_of_product) = ln_in_two::<FMA>(scaled, scale);
    let lost = if x < 8.0 { x - (shifted.z - 8.0) } else { 0.0 };
    let rest = fma::<FMA>(lost, high + low, stirling::<FMA>(shifted.inverse)) - low_of_product;
    let factor = shifted.z - 0.5;
    let value = fma::<FMA>(factor, high - 1.0, -high_of_product) + fma::<FMA>(factor, low, rest);
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x == 0.0 { f64::INFINITY } else { value };
    (shifted.digamma, if x < 0.0 { f64::NAN } else { value })
}
