//! The half-normal family: `log HalfNormal(x | tau) = log 2 - log(2 pi) / 2 + log(tau) / 2 - tau x^2 / 2` on `x >= 0`.
//!
//! # Source
//! The Normal folded at its mean 0; Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), ch. 13.

use cavi_algebra::rules::{multiply, power, push_log_into_product};
use cavi_algebra::{Sum, Support, Symbols};
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::draws::{Value, numbers};
use crate::family::{Argument, DataKind, Family, Moments, Parameter, Target};
use crate::normal::SCALES;

/// `HalfNormal(prec, var, sd)`; as a factor of q it is a truncated Normal.
pub struct HalfNormal;

const PARAMETERS: &[Parameter] = &[Parameter::scalar(SCALES).by_name()];

impl Family for HalfNormal {
    fn name(&self) -> &'static str {
        "HalfNormal"
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
        let [precision] = parameters else { return None };
        let mean = (2.0 / (std::f64::consts::PI * precision)).sqrt();
        Some(Moments { mean, variance: 1.0 / precision - mean * mean })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(precision)] = parameters else { unreachable!("the precision is mandatory") };
        let square = power(symbols, &target.value, 2);
        let quadratic = multiply(symbols, &precision.value, &square);
        Sum::number(0.5 * (2.0 / std::f64::consts::PI).ln())
            .plus(push_log_into_product(symbols, &precision.value).scaled(0.5))
            .plus(quadratic.scaled(-0.5))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [precision] = numbers(parameters);
        let noise: f64 = rng.sample(StandardNormal);
        out[0] = noise.abs() / precision.sqrt();
        Ok(())
    }
}
