//! The Exponential family: `log Exponential(x | rate) = log rate - rate x` on `x >= 0`.
//!
//! # Source
//! Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), ch. 19.

use cavi_algebra::rules::{multiply, power, push_log_into_product};
use cavi_algebra::{Sum, Support, Symbols};
use rand::{Rng, RngCore};
use rand_distr::Exp1;

use crate::draws::{Value, numbers};
use crate::family::{Argument, DataKind, Domain, Family, Moments, Parameter, Spelling, Target};

/// `Exponential(rate, mean)`; as a factor of q it is a Gamma.
pub struct Exponential;

/// `rate = 1 / mean`
fn from_mean(symbols: &mut Symbols, value: &Sum, _others: &[Sum]) -> Sum {
    power(symbols, value, -1)
}

const PARAMETERS: &[Parameter] = &[Parameter::scalar(&[
    Spelling::canonical("rate", Domain::Positive),
    Spelling::rewritten("mean", Domain::Positive, from_mean),
])];

impl Family for Exponential {
    fn name(&self) -> &'static str {
        "Exponential"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Nonnegative
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Nonnegative)
    }

    fn moments(&self, parameters: &[f64]) -> Option<Moments> {
        let [rate] = parameters else { return None };
        Some(Moments { mean: 1.0 / rate, variance: 1.0 / (rate * rate) })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(rate)] = parameters else { unreachable!("the rate is mandatory") };
        push_log_into_product(symbols, &rate.value).minus(multiply(symbols, &rate.value, &target.value))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [rate] = numbers(parameters);
        let unit: f64 = rng.sample(Exp1);
        out[0] = unit / rate;
        Ok(())
    }
}
