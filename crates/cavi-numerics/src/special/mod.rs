//! Special functions, one a file: for one number, and for a slice at a time with vector instructions.
//!
//! Most bodies have no branches, so the slice versions vectorise; the scalar versions run the same body, and give the
//! same bits on the same instruction set. `exp` and `ln` stay within 2 units in the last place; `digamma`, `trigamma`
//! and `log_gamma` within 1e-13 relative (absolute near a root) of mpmath's values over 1e-14 .. 1e12
//! (`tests/special.rs`).

mod bessel_k;
mod digamma;
mod digamma_and_log_gamma;
mod exp;
mod exp_integral;
mod ln;
mod log_gamma;
mod log_sum_exp;
mod logistic;
mod multivariate_gamma;
mod normal;
mod sin_pi;
mod softmax;
mod trigamma;

pub use bessel_k::{BesselK, above_tangent, bessel_k, log_bessel_k};
pub use digamma::{digamma, digamma_in_place, digamma_into};
pub use digamma_and_log_gamma::digamma_and_log_gamma_into;
pub use exp::{exp, exp_in_place, exp_into, expm1};
pub use exp_integral::scaled_exp_integral;
pub use ln::{ln, ln_in_place, ln_into, log1p};
pub use log_gamma::{ln_beta, log_gamma, log_gamma_in_place, log_gamma_into};
pub use log_sum_exp::log_sum_exp;
pub use logistic::{even_softplus, log_one_less_exp, logistic, logistic_curvature, softplus};
pub use multivariate_gamma::{log_multivariate_gamma, multivariate_digamma};
pub use normal::{normal_cdf, normal_log_cdf, normal_log_quantile, normal_quantile};
pub use sin_pi::sin_pi;
pub use softmax::{entropy_rows, softmax_rows};
pub use trigamma::{trigamma, trigamma_in_place, trigamma_into};

/// The scalar and the slice versions of an element-wise body.
macro_rules! elementwise {
    ($(#[$document:meta])* $scalar:ident, $into:ident, $in_place:ident, $body:ident) => {
        $(#[$document])*
        pub fn $scalar(x: f64) -> f64 {
            crate::instruction_set::dispatch!(fn run(x: f64) -> f64 = $body);
            run(crate::instruction_set(), x)
        }

        #[doc = concat!("[`", stringify!($scalar), "`] of each element of `x`, into `out` of the same length.")]
        pub fn $into(x: &[f64], out: &mut [f64]) {
            #[inline(always)]
            fn body<const FMA: bool>(x: &[f64], out: &mut [f64]) {
                for (out, x) in out.iter_mut().zip(x) {
                    *out = $body::<FMA>(*x);
                }
            }
            crate::instruction_set::dispatch!(fn run(x: &[f64], out: &mut [f64]) = body);
            assert_eq!(x.len(), out.len(), "an element-wise function needs slices of one length");
            run(crate::instruction_set(), x, out);
        }

        #[doc = concat!("[`", stringify!($scalar), "`] of each element, in place.")]
        pub fn $in_place(x: &mut [f64]) {
            #[inline(always)]
            fn body<const FMA: bool>(x: &mut [f64]) {
                for x in x.iter_mut() {
                    *x = $body::<FMA>(*x);
                }
            }
            crate::instruction_set::dispatch!(fn run(x: &mut [f64]) = body);
            run(crate::instruction_set(), x);
        }
    };
}
use elementwise;

/// `c[0] + c[1] x + c[2] x^2 + ...`, by Horner's rule.
#[inline(always)]
fn polynomial<const FMA: bool, const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut value = c[N - 1];
    let mut index = N - 1;
    while index > 0 {
        index -= 1;
        value = crate::instruction_set::fma::<FMA>(value, x, c[index]);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_digamma(x: f64) -> f64 {
        let (mut digamma, mut log_gamma) = ([0.0], [0.0]);
        digamma_and_log_gamma_into(&[x], &mut digamma, &mut log_gamma);
        log_gamma[0]
    }

    /// Without a fused multiply-add only the last digits differ.
    #[test]
    fn portable_bodies_agree() {
        type Body = fn(f64) -> f64;
        let pairs: [(Body, Body); 6] = [
            (exp, exp::exp_body::<false>),
            (ln, ln::ln_body::<false>),
            (digamma, digamma::digamma_body::<false>),
            (trigamma, trigamma::trigamma_body::<false>),
            (log_gamma, log_gamma::log_gamma_body::<false>),
            (with_digamma, |x| digamma_and_log_gamma::body::<false>(x).1),
        ];
        for (index, (fused, portable)) in pairs.into_iter().enumerate() {
            for step in -1400..=1200 {
                let x = 10_f64.powf(f64::from(step) / 100.0);
                let (a, b) = (fused(x), portable(x));
                assert!(
                    a == b || (a - b).abs() <= 2e-15 * (a.abs() + f64::from(index == 2 || index == 5)),
                    "{index}: {x}"
                );
            }
        }
    }
}
