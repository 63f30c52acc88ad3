//! The Multinomial family: `log Multinomial(x | p) = log Gamma(sum_v x_v + 1) - sum_v log Gamma(x_v + 1) + sum_v x_v log
//! p_v`, for non-negative `x` that are no counts a quasi-likelihood.
//!
//! # Source
//! Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions (1997), ch. 35.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Sum, Support, Symbols};

use crate::density::{log_factorial, sum_over};
use crate::family::{Argument, DataKind, Domain, Family, Parameter, Prediction, Slices, Spelling, Target};

/// `Multinomial(p, total)` over one slice; the total is needed only to simulate. It has no q.
pub struct Multinomial;

const PARAMETERS: &[Parameter] = &[
    Parameter::vector(&[Spelling::canonical("p", Domain::Simplex)]),
    Parameter::scalar(&[Spelling::canonical("total", Domain::Nonnegative)]).by_name().optional(),
];

impl Family for Multinomial {
    fn name(&self) -> &'static str {
        "Multinomial"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn slices(&self) -> Slices {
        Slices::One
    }

    fn data(&self) -> DataKind {
        DataKind::Counts
    }

    fn latent(&self) -> Option<Support> {
        None
    }

    fn needs_simplex(&self) -> bool {
        true
    }

    fn prediction(&self) -> Prediction {
        Prediction::Units
    }

    fn mean_is(&self) -> &'static [usize] {
        &[0]
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(p), _total] = parameters else { unreachable!("p is mandatory") };
        let letter = target.slices[0];
        let total = sum_over(symbols, letter, &target.value);
        let log_p = push_log_into_product(symbols, &p.value);
        let product = multiply(symbols, &target.value, &log_p);
        log_factorial(&total)
            .minus(sum_over(symbols, letter, &log_factorial(&target.value)))
            .plus(sum_over(symbols, letter, &product))
    }
}
