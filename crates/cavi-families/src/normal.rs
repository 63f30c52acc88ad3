//! The Normal family: `log N(x | mu, 1 / tau) = -log(2 pi) / 2 + log(tau) / 2 - tau (x - mu)^2 / 2`.
//!
//! Statistics `x, x^2`; coefficients `mean / var, -1 / (2 var)`; no base; entropy `(log(2 pi var) + 1) / 2`.
//!
//! # Source
//! Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), ch. 13.

use cavi_algebra::rules::{multiply, power, push_log_into_product};
use cavi_algebra::{Statistic, Sum, Support, Symbols};
use cavi_numerics::special::ln;
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::draws::{Value, from_posterior, numbers};
use crate::family::{
    Argument, DataKind, Domain, Extent, Family, Location, Moments, Parameter, Spelling, Target,
};
use crate::posterior::{
    Batch, Descriptor, Expectation, Improper, Posterior, require_finite, require_positive,
};
use crate::standard::Formulas;
use crate::standard::build::{eta, log, number, over, parameter, sum, times};

/// `Normal(mean; prec, var, sd)`
pub struct Normal;

/// `prec = var^-1`
fn from_variance(symbols: &mut Symbols, value: &Sum, _others: &[Sum]) -> Sum {
    power(symbols, value, -1)
}

/// `prec = sd^-2`
fn from_deviation(symbols: &mut Symbols, value: &Sum, _others: &[Sum]) -> Sum {
    power(symbols, value, -2)
}

/// The spellings of a scale.
pub const SCALES: &[Spelling] = &[
    Spelling::canonical("prec", Domain::Positive),
    Spelling::rewritten("var", Domain::Positive, from_variance),
    Spelling::rewritten("sd", Domain::Positive, from_deviation),
];

const PARAMETERS: &[Parameter] =
    &[Parameter::scalar(&[Spelling::canonical("mean", Domain::Real)]), Parameter::scalar(SCALES).by_name()];

/// `log N(x | mean, 1 / precision)`
pub(crate) fn log_normal_density(symbols: &mut Symbols, x: &Sum, mean: &Sum, precision: &Sum) -> Sum {
    let residual = x.clone().minus(mean.clone());
    let square = power(symbols, &residual, 2);
    let quadratic = multiply(symbols, precision, &square);
    Sum::number(-0.5 * (2.0 * std::f64::consts::PI).ln())
        .plus(push_log_into_product(symbols, precision).scaled(0.5))
        .plus(quadratic.scaled(-0.5))
}

impl Family for Normal {
    fn name(&self) -> &'static str {
        "Normal"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Any
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Real)
    }

    fn location(&self) -> Location {
        Location::Parameter(0)
    }

    fn mean_is(&self) -> &'static [usize] {
        &[0]
    }

    fn moments(&self, parameters: &[f64]) -> Option<Moments> {
        let [mean, precision] = parameters else { return None };
        Some(Moments { mean: *mean, variance: 1.0 / precision })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(mean), Some(precision)] = parameters else { unreachable!("both parameters are mandatory") };
        log_normal_density(symbols, &target.value, &mean.value, &precision.value)
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [mean, precision] = numbers(parameters);
        from_posterior(&NormalPosterior, &[&[mean], &[1.0 / precision]], rng, out);
        Ok(())
    }
}

/// Normal as a factor of q.
pub struct NormalPosterior;

impl Posterior for NormalPosterior {
    fn name(&self) -> &'static str {
        "Normal"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["lambda", "m"], &["Lambda", "m"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        support == Support::Real
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::square(), extent: Extent::Scalar },
        ]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "mean", extent: Extent::Scalar, defining: true },
            Descriptor { name: "var", extent: Extent::Scalar, defining: true },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::covariance(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::square(), extent: Extent::Scalar },
        ]
    }

    fn paired(&self) -> bool {
        false
    }

    fn location(&self) -> Option<usize> {
        Some(0)
    }

    fn formulas(&self) -> Formulas {
        let precision = || parameter(0);
        Formulas {
            parameters: vec![("prec", times(-2.0, eta(1))), ("mean", over(eta(0), precision()))],
            expectations: vec![
                (Statistic::identity(), parameter(1)),
                (Statistic::covariance(), over(number(1.0), precision())),
            ],
            entropy: Some(sum([
                number(0.5),
                number(0.5 * (2.0 * std::f64::consts::PI).ln()),
                times(-0.5, log(precision())),
            ])),
            mode: Some(over(eta(0), times(-2.0, eta(1)))),
            ..Formulas::default()
        }
    }

    fn describe(
        &self,
        batch: &Batch,
        natural: &[&[f64]],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let precision = -2.0 * natural[1][row];
            require_positive(row, "precision", precision)?;
            require_finite(row, "linear coefficient", natural[0][row])?;
            descriptors[0][row] = natural[0][row] / precision;
            descriptors[1][row] = 1.0 / precision;
        }
        Ok(())
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            require_finite(row, "mean", descriptors[0][row])?;
            require_positive(row, "variance", descriptors[1][row])?;
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            natural[0][row] = descriptors[0][row] / descriptors[1][row];
            natural[1][row] = -0.5 / descriptors[1][row];
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        match which {
            0 => out.copy_from_slice(descriptors[0]),
            1 => out.copy_from_slice(descriptors[1]),
            _ => {
                for row in 0..batch.rows {
                    out[row] = descriptors[0][row] * descriptors[0][row] + descriptors[1][row];
                }
            }
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            out[row] = 0.5 * (ln(2.0 * std::f64::consts::PI * descriptors[1][row]) + 1.0);
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (linear, square) = (coefficients[0][row], coefficients[1][row]);
            value[row] = if square < 0.0 {
                linear / (-2.0 * square)
            } else if linear == 0.0 && square == 0.0 {
                0.0
            } else {
                let precision = -2.0 * square;
                let reason = format!("the objective grows without limit (its precision is {precision})");
                return Err(Improper { row, reason });
            };
        }
        Ok(())
    }

    fn observe(&self, _batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        descriptors[0][row] = value[0];
        descriptors[1][row] = 0.0;
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let noise: f64 = rng.sample(StandardNormal);
            out[row] = descriptors[0][row] + descriptors[1][row].sqrt() * noise;
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            descriptors[0][row] = rng.sample(StandardNormal);
            descriptors[1][row] = 1.0;
        }
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        descriptors[0].copy_from_slice(centre);
        descriptors[1].fill(1.0);
        self.complete(batch, descriptors)
    }
}
