//! The Normal-Gamma family over a slice, a joint factor of q for a vector and the precision that scales it:
//! `mu | tau ~ Normal(m, prec = tau K)`, `tau ~ Gamma(a, rate b)`, with a matrix K.
//!
//! Statistics `log tau, tau, tau mu_k, tau mu_k mu_l`; coefficients `a - 1 + n / 2, -b - m' K m / 2, K m, -K / 2`; base
//! `n / 2 - 1` for `log tau`. Log-normaliser `log Gamma(a) - a log b - log det(K) / 2 + n log(2 pi) / 2`;
//! `E tau mu mu' = m m' a / b + K^-1`. The marginal of mu is a Student distribution with `2 a` degrees of freedom and the
//! covariance `K^-1 b / (a - 1)`.
//!
//! # Source
//! Bernardo and Smith, Bayesian Theory (1994), appendix A; Bishop, Pattern Recognition and Machine Learning (2006), exercise
//! 3.12.

use std::f64::consts::PI;

use cavi_algebra::print::Formula;
use cavi_algebra::{Elementary, Statistic, Support};
use cavi_numerics::Scratch;
use cavi_numerics::linalg;
use cavi_numerics::special::{digamma, ln, log_gamma};
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::family::Extent;
use crate::posterior::{
    Batch, Descriptor, Expectation, Improper, Posterior, require_digits, require_finite, require_positive,
};
use crate::standard::Formulas;
use crate::standard::build::{
    eta, inverse, log, log_determinant_of, log_gamma_of, matrix_vector, minus, number, outer, over,
    parameter, product as product_of, psi, sum, symmetric, times, total,
};
use crate::wishart::{inverse_of, inverse_or_nan, require_positive_definite, twice_negated};

/// Normal-Gamma as a factor of q over a vector and a number, the vector first.
pub struct NormalGammaSlicePosterior;

const MEAN: (u8, Elementary) = (0, Elementary::Power(1));
const PRECISION: (u8, Elementary) = (1, Elementary::Power(1));

/// `K v` for one row.
fn product(n: usize, matrix: &[f64], vector: &[f64], out: &mut [f64]) {
    for k in 0..n {
        out[k] = (0..n).map(|l| matrix[k * n + l] * vector[l]).sum();
    }
}

/// `sum_k a_k b_k`
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Posterior for NormalGammaSlicePosterior {
    fn name(&self) -> &'static str {
        "Normal-Gamma over a slice"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["Lambda", "S", "m", "a", "b"]]
    }

    fn lives_on(&self, _support: Support) -> bool {
        false
    }

    fn over_slice(&self) -> bool {
        true
    }

    fn joint(&self) -> &'static [Support] {
        &[Support::Real, Support::Positive]
    }

    fn member_of(&self, descriptor: usize) -> usize {
        [0, 0, 1, 1][descriptor]
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic(vec![(1, Elementary::Log)]), extent: Extent::Scalar },
            Expectation { statistic: Statistic(vec![PRECISION]), extent: Extent::Scalar },
            Expectation { statistic: Statistic(vec![MEAN, PRECISION]), extent: Extent::Vector },
            Expectation { statistic: Statistic(vec![MEAN, MEAN, PRECISION]), extent: Extent::Pairs },
        ]
    }

    fn base(&self) -> Vec<f64> {
        vec![-1.0, 0.0, 0.0, 0.0]
    }

    fn base_per_element(&self) -> Vec<f64> {
        vec![0.5, 0.0, 0.0, 0.0]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "mean", extent: Extent::Vector, defining: true },
            Descriptor { name: "kappa", extent: Extent::Pairs, defining: true },
            Descriptor { name: "shape", extent: Extent::Scalar, defining: true },
            Descriptor { name: "rate", extent: Extent::Scalar, defining: true },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        let mut expectations = self.statistics();
        expectations.push(Expectation { statistic: Statistic::identity(), extent: Extent::Vector });
        expectations.push(Expectation { statistic: Statistic::covariance(), extent: Extent::Pairs });
        expectations
    }

    fn paired(&self) -> bool {
        true
    }

    fn formulas(&self) -> Formulas {
        // Of the natural parameters of log t, t, t w and t w w'.
        let (kappa, inverted, mean, shape, rate) =
            (|| parameter(0), || parameter(1), || parameter(2), || parameter(3), || parameter(4));
        let expected = || over(shape(), rate());
        let square = total(product_of([kappa(), outer(mean(), mean())]));
        let mut statistics = self.statistics().into_iter().map(|own| own.statistic);
        let mut next = || statistics.next().expect("four statistics");
        let (log_precision, precision, linear, form) = (next(), next(), next(), next());
        Formulas {
            parameters: vec![
                ("kappa", times(-2.0, symmetric(eta(3)))),
                ("spread", inverse(kappa())),
                ("mean", matrix_vector(inverted(), eta(2))),
                ("shape", eta(0)),
                ("rate", sum([minus(eta(1)), times(-0.5, square)])),
            ],
            expectations: vec![
                (log_precision, sum([psi(shape()), minus(log(rate()))])),
                (precision, expected()),
                (linear, product_of([expected(), mean()])),
                (form, sum([inverted(), product_of([expected(), outer(mean(), mean())])])),
                (Statistic::identity(), mean()),
                (
                    Statistic::covariance(),
                    over(product_of([rate(), inverted()]), sum([shape(), number(-1.0)])),
                ),
            ],
            finite: vec![(Statistic::covariance(), [shape(), number(1.0)])],
            log_normaliser: Some(sum([
                log_gamma_of(shape()),
                minus(product_of([shape(), log(rate())])),
                times(-0.5, log_determinant_of(kappa())),
                times(0.5 * (2.0 * PI).ln(), Formula::Size),
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
        let n = batch.n;
        let mut inverse = Scratch::zeros(n * n);
        for row in 0..batch.rows {
            let (place, linear) = (batch.row(row), &natural[2][batch.row(row)]);
            let kappa = twice_negated(n, &natural[3][batch.pairs(row)]);
            inverse_of(row, "kappa of the mean", &kappa, &mut inverse)?;
            product(n, &inverse, linear, &mut descriptors[0][place.clone()]);
            descriptors[1][batch.pairs(row)].copy_from_slice(&kappa);
            descriptors[2][row] = natural[0][row];
            let square = 0.5 * dot(linear, &descriptors[0][place]);
            descriptors[3][row] = -natural[1][row] - square;
            require_digits(row, "rate", descriptors[3][row], square.abs())?;
        }
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            for value in &descriptors[0][batch.row(row)] {
                require_finite(row, "mean", *value)?;
            }
            require_positive_definite(row, "kappa", &descriptors[1][batch.pairs(row)])?;
            require_positive(row, "shape", descriptors[2][row])?;
            require_positive(row, "rate", descriptors[3][row])?;
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        let n = batch.n;
        for row in 0..batch.rows {
            let mean = &descriptors[0][batch.row(row)];
            let kappa = &descriptors[1][batch.pairs(row)];
            let linear = &mut natural[2][batch.row(row)];
            product(n, kappa, mean, linear);
            let form = dot(mean, linear);
            natural[0][row] = descriptors[2][row];
            natural[1][row] = -descriptors[3][row] - 0.5 * form;
            natural[3][batch.pairs(row)].iter_mut().zip(kappa).for_each(|(out, kappa)| *out = -0.5 * kappa);
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        let n = batch.n;
        for row in 0..batch.rows {
            let (mean, kappa) = (&descriptors[0][batch.row(row)], &descriptors[1][batch.pairs(row)]);
            let (shape, rate) = (descriptors[2][row], descriptors[3][row]);
            let inverse = |out: &mut [f64]| inverse_or_nan(kappa, out);
            match which {
                0 => out[row] = digamma(shape) - ln(rate),
                1 => out[row] = shape / rate,
                2 => {
                    for (out, mean) in out[batch.row(row)].iter_mut().zip(mean) {
                        *out = mean * shape / rate;
                    }
                }
                3 => {
                    let out = &mut out[batch.pairs(row)];
                    inverse(out);
                    for k in 0..n {
                        for l in 0..n {
                            out[k * n + l] += mean[k] * mean[l] * shape / rate;
                        }
                    }
                }
                4 => out[batch.row(row)].copy_from_slice(mean),
                _ => {
                    let out = &mut out[batch.pairs(row)];
                    if shape > 1.0 {
                        inverse(out);
                        out.iter_mut().for_each(|value| *value *= rate / (shape - 1.0));
                    } else {
                        out.fill(f64::NAN);
                        out.iter_mut().step_by(n + 1).for_each(|value| *value = f64::INFINITY);
                    }
                }
            }
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        let n = batch.n;
        for row in 0..batch.rows {
            let (shape, rate) = (descriptors[2][row], descriptors[3][row]);
            let kappa = linalg::log_determinant_of(&descriptors[1][batch.pairs(row)]);
            out[row] = log_gamma(shape) - shape * ln(rate) + 0.5 * (n as f64 * ln(2.0 * PI) - kappa);
        }
    }

    fn mode(&self, _batch: &Batch, _coefficients: &[&[f64]], _value: &mut [f64]) -> Result<(), Improper> {
        Err(Improper { row: 0, reason: "a joint factor of two variables is no point".to_owned() })
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        // The vector and the precision, one after the other.
        let n = batch.n;
        for row in 0..batch.rows {
            let gamma = rand_distr::Gamma::new(descriptors[2][row], 1.0 / descriptors[3][row])
                .expect("shape and rate are positive");
            let precision: f64 = rng.sample(gamma);
            let mut factor = descriptors[1][batch.pairs(row)].to_vec();
            if linalg::cholesky(n, &mut factor).is_err() {
                factor.fill(f64::NAN);
            }
            let own = &mut out[row * (n + 1)..(row + 1) * (n + 1)];
            own[..n].fill_with(|| rng.sample(StandardNormal));
            linalg::solve_upper(n, &factor, &mut own[..n]);
            for (value, centre) in own.iter_mut().zip(&descriptors[0][batch.row(row)]) {
                *value = centre + *value / precision.sqrt();
            }
            own[n] = precision;
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill_with(|| rng.sample(StandardNormal));
        set_units(batch, descriptors);
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        descriptors[0].copy_from_slice(centre);
        set_units(batch, descriptors);
        self.complete(batch, descriptors)
    }
}

/// Everything but the mean of order 1.
fn set_units(batch: &Batch, descriptors: &mut [&mut [f64]]) {
    descriptors[1].fill(0.0);
    for row in 0..batch.rows {
        let kappa = &mut descriptors[1][batch.pairs(row)];
        kappa.iter_mut().step_by(batch.n + 1).for_each(|value| *value = 1.0);
    }
    descriptors[2].fill(1.0);
    descriptors[3].fill(1.0);
}
