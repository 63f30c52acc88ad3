//! The Poisson family: `log Poisson(x | rate) = x log rate - rate - log Gamma(x + 1)`, for non-negative `x` that are no
//! counts a quasi-likelihood.
//!
//! # Source
//! Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), ch. 4.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Sum, Support, Symbols};
use rand::{Rng, RngCore};

use crate::density::log_factorial;
use crate::draws::{Value, numbers};
use crate::family::{Argument, DataKind, Domain, Family, Moments, Parameter, Prediction, Spelling, Target};

/// `Poisson(rate)`; it has no q.
pub struct Poisson;

const PARAMETERS: &[Parameter] = &[Parameter::scalar(&[Spelling::canonical("rate", Domain::Nonnegative)])];

impl Family for Poisson {
    fn name(&self) -> &'static str {
        "Poisson"
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

    fn prediction(&self) -> Prediction {
        Prediction::Rate
    }

    fn mean_is(&self) -> &'static [usize] {
        &[0]
    }

    fn moments(&self, parameters: &[f64]) -> Option<Moments> {
        let [rate] = parameters else { return None };
        Some(Moments { mean: *rate, variance: *rate })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(rate)] = parameters else { unreachable!("the rate is mandatory") };
        let log_rate = push_log_into_product(symbols, &rate.value);
        multiply(symbols, &target.value, &log_rate)
            .minus(rate.value.clone())
            .minus(log_factorial(&target.value))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [rate] = numbers(parameters);
        out[0] = match rate {
            0.0 => 0.0,
            _ => {
                let refused = |_| format!("its rate is {rate}, at which no count can be drawn");
                rng.sample(rand_distr::Poisson::new(rate).map_err(refused)?)
            }
        };
        Ok(())
    }
}
