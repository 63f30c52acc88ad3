//! The Bernoulli family: `log Bernoulli(x | p) = x log p + (1 - x) log(1 - p)`, for `x` between 0 and 1 a quasi-likelihood.
//! With `p = logistic(eta)` this is `x eta - softplus(eta)`.
//!
//! Statistic `x`; coefficient `log p - log(1 - p)`; no base; entropy `-p log p - (1 - p) log(1 - p)`.
//!
//! # Source
//! Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), ch. 3, with one trial.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Function, Statistic, Sum, Support, Symbols};
use cavi_numerics::special::{ln, log1p, logistic};
use rand::{Rng, RngCore};

use crate::categorical::require_probability;
use crate::density::{PROBABILITIES, log_complement};
use crate::draws::{Value, from_posterior, numbers};
use crate::family::{Argument, DataKind, Extent, Family, Moments, Parameter, Prediction, Target};
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior};
use crate::standard::Formulas;
use crate::standard::build::{apply, eta, log, minus, number, parameter, product, sum};

/// `Bernoulli(p)`
pub struct Bernoulli;

const PARAMETERS: &[Parameter] = &[Parameter::scalar(PROBABILITIES)];

impl Family for Bernoulli {
    fn name(&self) -> &'static str {
        "Bernoulli"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Binary
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Binary)
    }

    fn prediction(&self) -> Prediction {
        Prediction::Trial
    }

    fn mean_is(&self) -> &'static [usize] {
        &[0]
    }

    fn moments(&self, parameters: &[f64]) -> Option<Moments> {
        let [p] = parameters else { return None };
        Some(Moments { mean: *p, variance: p * (1.0 - p) })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(p)] = parameters else { unreachable!("p is mandatory") };
        let log_p = push_log_into_product(symbols, &p.value);
        let log_complement = log_complement(symbols, &p.value);
        let failure = Sum::number(1.0).minus(target.value.clone());
        multiply(symbols, &target.value, &log_p).plus(multiply(symbols, &failure, &log_complement))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [p] = numbers(parameters);
        from_posterior(&BernoulliPosterior, &[&[p]], rng, out);
        Ok(())
    }
}

/// Bernoulli as a factor of q.
pub struct BernoulliPosterior;

impl Posterior for BernoulliPosterior {
    fn name(&self) -> &'static str {
        "Bernoulli"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["rho"], &["r"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        support == Support::Binary
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![Expectation { statistic: Statistic::identity(), extent: Extent::Scalar }]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[Descriptor { name: "prob", extent: Extent::Scalar, defining: true }]
    }

    fn expectations(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::covariance(), extent: Extent::Scalar },
        ]
    }

    fn paired(&self) -> bool {
        false
    }

    fn formulas(&self) -> Formulas {
        let off = || sum([number(1.0), minus(parameter(0))]);
        Formulas {
            parameters: vec![("prob", apply(Function::Logistic, eta(0)))],
            expectations: vec![(Statistic::identity(), parameter(0))],
            entropy: Some(sum([
                minus(product([parameter(0), log(parameter(0))])),
                minus(product([off(), log(off())])),
            ])),
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
            let log_odds = natural[0][row];
            if log_odds.is_nan() {
                return Err(Improper { row, reason: "the log odds are not a number".to_owned() });
            }
            descriptors[0][row] = logistic(log_odds);
        }
        Ok(())
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        (0..batch.rows).try_for_each(|row| require_probability(row, descriptors[0][row]))
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            let prob = descriptors[0][row];
            natural[0][row] = ln(prob) - log1p(-prob);
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        for row in 0..batch.rows {
            let prob = descriptors[0][row];
            out[row] = if which == 0 { prob } else { prob * (1.0 - prob) };
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            let prob = descriptors[0][row];
            let yes = if prob > 0.0 { prob * ln(prob) } else { 0.0 };
            let no = if prob < 1.0 { (1.0 - prob) * log1p(-prob) } else { 0.0 };
            out[row] = -(yes + no);
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            value[row] = if coefficients[0][row] > 0.0 { 1.0 } else { 0.0 };
        }
        Ok(())
    }

    fn observe(&self, _batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        descriptors[0][row] = value[0];
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            out[row] = f64::from(rng.random::<f64>() < descriptors[0][row]);
        }
    }

    fn start(&self, _batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill_with(|| 0.25 + 0.5 * rng.random::<f64>());
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        descriptors[0].copy_from_slice(centre);
        self.complete(batch, descriptors)
    }
}
