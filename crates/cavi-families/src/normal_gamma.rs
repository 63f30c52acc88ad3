//! The Normal-Gamma family, a joint factor of q for a mean and its precision: `mu | tau ~ Normal(m, prec = kappa tau)`,
//! `tau ~ Gamma(a, rate b)`.
//!
//! Statistics `log tau, tau, tau mu, tau mu^2`; coefficients `a - 1/2, -b - kappa m^2 / 2, kappa m, -kappa / 2`; base `-1/2`
//! for `log tau`. Log-normaliser `log Gamma(a) - a log b - log(kappa) / 2 + log(2 pi) / 2`.
//!
//! # Source
//! Bernardo and Smith, Bayesian Theory (1994), appendix A; Bishop, Pattern Recognition and Machine Learning (2006), 2.3.6.

use std::f64::consts::PI;

use cavi_algebra::{Elementary, Statistic, Support};
use cavi_numerics::special::{digamma, log_gamma};
use rand::{Rng, RngCore};

use crate::family::Extent;
use crate::posterior::{
    Batch, Descriptor, Expectation, Improper, Posterior, require_digits, require_finite, require_positive,
};
use crate::standard::Formulas;
use crate::standard::build::{
    eta, log, log_gamma_of, minus, number, over, parameter, product as product_of, psi, sum, times,
};

/// Normal-Gamma as a factor of q over two variables, the mean first.
pub struct NormalGammaPosterior;

/// `tau^p mu^q` as a statistic.
fn product(mean: i32, precision: i32) -> Statistic {
    let mut factors = Vec::new();
    if mean != 0 {
        factors.push((0, Elementary::Power(mean)));
    }
    if precision != 0 {
        factors.push((1, Elementary::Power(precision)));
    }
    Statistic(factors)
}

impl Posterior for NormalGammaPosterior {
    fn name(&self) -> &'static str {
        "Normal-Gamma"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["m", "kappa", "a", "b"]]
    }

    fn lives_on(&self, _support: Support) -> bool {
        false
    }

    fn joint(&self) -> &'static [Support] {
        &[Support::Real, Support::Positive]
    }

    fn member_of(&self, descriptor: usize) -> usize {
        [0, 0, 1, 1][descriptor]
    }

    fn statistics(&self) -> Vec<Expectation> {
        [Statistic(vec![(1, Elementary::Log)]), product(0, 1), product(1, 1), product(2, 1)]
            .into_iter()
            .map(|statistic| Expectation { statistic, extent: Extent::Scalar })
            .collect()
    }

    fn base(&self) -> Vec<f64> {
        vec![-0.5, 0.0, 0.0, 0.0]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "mean", extent: Extent::Scalar, defining: true },
            Descriptor { name: "kappa", extent: Extent::Scalar, defining: true },
            Descriptor { name: "shape", extent: Extent::Scalar, defining: true },
            Descriptor { name: "rate", extent: Extent::Scalar, defining: true },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        let mut expectations = self.statistics();
        expectations.push(Expectation { statistic: product(1, 0), extent: Extent::Scalar });
        let variance = Statistic(vec![(0, Elementary::Centred), (0, Elementary::Centred)]);
        expectations.push(Expectation { statistic: variance, extent: Extent::Scalar });
        expectations
    }

    fn paired(&self) -> bool {
        true
    }

    fn formulas(&self) -> Formulas {
        // Of the natural parameters; of mean, kappa, shape and rate.
        let (mean, kappa, shape, rate) = (|| parameter(0), || parameter(1), || parameter(2), || parameter(3));
        let expected_precision = || over(shape(), rate());
        Formulas {
            parameters: vec![
                ("mean", over(eta(2), times(-2.0, eta(3)))),
                ("kappa", times(-2.0, eta(3))),
                ("shape", eta(0)),
                ("rate", sum([minus(eta(1)), times(-0.5, product_of([kappa(), mean(), mean()]))])),
            ],
            expectations: vec![
                (Statistic(vec![(1, Elementary::Log)]), sum([psi(shape()), minus(log(rate()))])),
                (product(0, 1), expected_precision()),
                (product(1, 1), product_of([mean(), expected_precision()])),
                (
                    product(2, 1),
                    sum([over(number(1.0), kappa()), product_of([mean(), mean(), expected_precision()])]),
                ),
                (product(1, 0), mean()),
                (
                    Statistic(vec![(0, Elementary::Centred), (0, Elementary::Centred)]),
                    over(rate(), product_of([kappa(), sum([shape(), number(-1.0)])])),
                ),
            ],
            finite: vec![(
                Statistic(vec![(0, Elementary::Centred), (0, Elementary::Centred)]),
                [shape(), number(1.0)],
            )],
            log_normaliser: Some(sum([
                log_gamma_of(shape()),
                minus(product_of([shape(), log(rate())])),
                times(-0.5, log(kappa())),
                number(0.5 * (2.0 * PI).ln()),
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
            let kappa = -2.0 * natural[3][row];
            require_positive(row, "kappa of the mean", kappa)?;
            let mean = natural[2][row] / kappa;
            descriptors[0][row] = mean;
            descriptors[1][row] = kappa;
            descriptors[2][row] = natural[0][row];
            descriptors[3][row] = -natural[1][row] - 0.5 * natural[2][row] * mean;
            require_digits(row, "rate", descriptors[3][row], (0.5 * natural[2][row] * mean).abs())?;
        }
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            require_finite(row, "mean", descriptors[0][row])?;
            require_positive(row, "kappa of the mean", descriptors[1][row])?;
            require_positive(row, "shape", descriptors[2][row])?;
            require_positive(row, "rate", descriptors[3][row])?;
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            let (mean, kappa) = (descriptors[0][row], descriptors[1][row]);
            natural[0][row] = descriptors[2][row];
            natural[1][row] = -descriptors[3][row] - 0.5 * kappa * mean * mean;
            natural[2][row] = kappa * mean;
            natural[3][row] = -0.5 * kappa;
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        for row in 0..batch.rows {
            let (mean, kappa) = (descriptors[0][row], descriptors[1][row]);
            let (shape, rate) = (descriptors[2][row], descriptors[3][row]);
            out[row] = match which {
                0 => digamma(shape) - rate.ln(),
                1 => shape / rate,
                2 => mean * shape / rate,
                3 => 1.0 / kappa + mean * mean * shape / rate,
                4 => mean,
                // The marginal of the mean is a Student distribution with 2 a degrees of freedom.
                _ if shape > 1.0 => rate / (kappa * (shape - 1.0)),
                _ => f64::INFINITY,
            };
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            let (kappa, shape, rate) = (descriptors[1][row], descriptors[2][row], descriptors[3][row]);
            out[row] = log_gamma(shape) - shape * rate.ln() + 0.5 * (2.0 * PI / kappa).ln();
        }
    }

    fn mode(&self, _batch: &Batch, _coefficients: &[&[f64]], _value: &mut [f64]) -> Result<(), Improper> {
        Err(Improper { row: 0, reason: "a joint factor of two variables is no point".to_owned() })
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        // The mean and the precision, one after the other.
        for row in 0..batch.rows {
            let (mean, kappa) = (descriptors[0][row], descriptors[1][row]);
            let gamma = rand_distr::Gamma::new(descriptors[2][row], 1.0 / descriptors[3][row])
                .expect("shape and rate are positive");
            let precision: f64 = rng.sample(gamma);
            let unit: f64 = rng.sample(rand_distr::StandardNormal);
            out[2 * row] = mean + unit / (kappa * precision).sqrt();
            out[2 * row + 1] = precision;
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            descriptors[0][row] = rng.sample(rand_distr::StandardNormal);
            descriptors[1][row] = 1.0;
            descriptors[2][row] = 1.0;
            descriptors[3][row] = 1.0;
        }
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        for row in 0..batch.rows {
            descriptors[0][row] = centre[row];
            for column in &mut descriptors[1..] {
                column[row] = 1.0;
            }
        }
        self.complete(batch, descriptors)
    }
}
