//! The Binomial family: `log Binomial(x | n, p) = log Gamma(n + 1) - log Gamma(x + 1) - log Gamma(n - x + 1) + x log p +
//! (n - x) log(1 - p)`, for non-negative `x` that are no counts a quasi-likelihood. With `p = logistic(eta)` the last two terms
//! are `x eta - n softplus(eta)`.
//!
//! # Source
//! Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), ch. 3.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Sum, Support, Symbols};
use rand::{Rng, RngCore};

use crate::density::{PROBABILITIES, log_complement, log_factorial};
use crate::draws::{Value, numbers, whole_total};
use crate::family::{Argument, DataKind, Domain, Family, Moments, Parameter, Spelling, Target};

/// `Binomial(total; p)`; it has no q.
pub struct Binomial;

const PARAMETERS: &[Parameter] = &[
    Parameter::scalar(&[Spelling::canonical("total", Domain::Nonnegative)]),
    Parameter::scalar(PROBABILITIES),
];

impl Family for Binomial {
    fn name(&self) -> &'static str {
        "Binomial"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Counts
    }

    fn latent(&self) -> Option<Support> {
        None
    }

    fn mean_is(&self) -> &'static [usize] {
        &[0, 1]
    }

    fn moments(&self, parameters: &[f64]) -> Option<Moments> {
        let [total, p] = parameters else { return None };
        Some(Moments { mean: total * p, variance: total * p * (1.0 - p) })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(total), Some(p)] = parameters else { unreachable!("both parameters are mandatory") };
        let failures = total.value.clone().minus(target.value.clone());
        let log_p = push_log_into_product(symbols, &p.value);
        let log_complement = log_complement(symbols, &p.value);
        log_factorial(&total.value)
            .minus(log_factorial(&target.value))
            .minus(log_factorial(&failures))
            .plus(multiply(symbols, &target.value, &log_p))
            .plus(multiply(symbols, &failures, &log_complement))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [total, p] = numbers(parameters);
        let refused = |_| format!("its probability is {p}");
        let binomial = rand_distr::Binomial::new(whole_total(total)?, p).map_err(refused)?;
        out[0] = rng.sample(binomial) as f64;
        Ok(())
    }
}
