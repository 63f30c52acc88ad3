//! The Normal-Wishart family, a joint factor of q for a mean and its precision matrix: `mu | L ~ Normal(m, prec = kappa L)`,
//! `L ~ Wishart(nu, W)`.
//!
//! Statistics `log det L, L, L mu, mu' L mu`; coefficients `(nu - n) / 2, -(W^-1 + kappa m m') / 2, kappa m, -kappa / 2`; no
//! base. Log-normaliser that of the Wishart plus `n log(2 pi / kappa) / 2`. `E mu' L mu = n / kappa + nu m' W m`. The marginal
//! of mu is a Student distribution with `nu - n + 1` degrees of freedom and the covariance `W^-1 / (kappa (nu - n - 1))`.
//!
//! # Source
//! Bernardo and Smith, Bayesian Theory (1994), appendix A; Bishop, Pattern Recognition and Machine Learning (2006), 2.3.6 and
//! 10.2.

use std::f64::consts::{LN_2, PI};

use cavi_algebra::print::Formula;
use cavi_algebra::{Elementary, Statistic, Support};
use cavi_numerics::Scratch;
use cavi_numerics::linalg;
use cavi_numerics::special::ln;
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::family::Extent;
use crate::posterior::{
    Batch, Descriptor, Expectation, Improper, Posterior, require_digits, require_finite, require_positive,
};
use crate::standard::Formulas;
use crate::standard::build::{
    eta, inverse, log, log_determinant_of, matrix_vector, minus, number, outer, over, parameter, product,
    sum, symmetric, times, total,
};
use crate::wishart::{
    expected_log_determinant, inverse_or_nan, log_normaliser, require_dof, require_positive_definite,
    sample as sample_wishart, scale_of, twice_negated,
};

/// Normal-Wishart as a factor of q over two variables, the mean first.
pub struct NormalWishartPosterior;

/// `sum_kl a_k M_kl b_l`
fn form(n: usize, a: &[f64], matrix: &[f64], b: &[f64]) -> f64 {
    (0..n).map(|k| a[k] * (0..n).map(|l| matrix[k * n + l] * b[l]).sum::<f64>()).sum()
}

impl Posterior for NormalWishartPosterior {
    fn name(&self) -> &'static str {
        "Normal-Wishart"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["kappa", "m", "nu", "V", "W"]]
    }

    fn lives_on(&self, _support: Support) -> bool {
        false
    }

    fn over_slice(&self) -> bool {
        true
    }

    fn joint(&self) -> &'static [Support] {
        &[Support::Real, Support::PositiveDefinite]
    }

    fn member_of(&self, descriptor: usize) -> usize {
        [0, 0, 1, 1][descriptor]
    }

    fn statistics(&self) -> Vec<Expectation> {
        let vector = (0, Elementary::Contracted(0));
        vec![
            Expectation {
                statistic: Statistic(vec![(1, Elementary::LogDeterminant)]),
                extent: Extent::Scalar,
            },
            Expectation { statistic: Statistic(vec![(1, Elementary::Power(1))]), extent: Extent::Pairs },
            Expectation {
                statistic: Statistic(vec![vector, (1, Elementary::Contracted(1))]),
                extent: Extent::Vector,
            },
            Expectation {
                statistic: Statistic(vec![vector, vector, (1, Elementary::Contracted(0))]),
                extent: Extent::Scalar,
            },
        ]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "mean", extent: Extent::Vector, defining: true },
            Descriptor { name: "kappa", extent: Extent::Scalar, defining: true },
            Descriptor { name: "dof", extent: Extent::Scalar, defining: true },
            Descriptor { name: "scale", extent: Extent::Pairs, defining: true },
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
        // Of the natural parameters of log det L, L, L m and m' L m; n is the size.
        let (kappa, mean, dof, rate, scale) =
            (|| parameter(0), || parameter(1), || parameter(2), || parameter(3), || parameter(4));
        let size = || Formula::Size;
        let square = || total(product([scale(), outer(mean(), mean())]));
        let spread = || sum([times(LN_2, size()), log_determinant_of(scale())]);
        let half = || Box::new(times(0.5, dof()));
        let mut statistics = self.statistics().into_iter().map(|own| own.statistic);
        let mut next = || statistics.next().expect("four statistics");
        let (log_determinant, precision, linear, form) = (next(), next(), next(), next());
        Formulas {
            parameters: vec![
                ("kappa", times(-2.0, eta(3))),
                ("mean", over(eta(2), kappa())),
                ("dof", sum([times(2.0, eta(0)), size()])),
                (
                    "rate",
                    sum([times(-2.0, symmetric(eta(1))), minus(product([kappa(), outer(mean(), mean())]))]),
                ),
                ("scale", inverse(rate())),
            ],
            expectations: vec![
                (log_determinant, sum([Formula::MultivariateDigamma(half()), spread()])),
                (precision, product([dof(), scale()])),
                (linear, product([dof(), matrix_vector(scale(), mean())])),
                (form, sum([over(size(), kappa()), product([dof(), square()])])),
                (Statistic::identity(), mean()),
                (
                    Statistic::covariance(),
                    over(rate(), product([kappa(), sum([dof(), minus(size()), number(-1.0)])])),
                ),
            ],
            finite: vec![(Statistic::covariance(), [dof(), sum([size(), number(1.0)])])],
            log_normaliser: Some(sum([
                times(0.5, product([dof(), spread()])),
                Formula::LogMultivariateGamma(half()),
                times(0.5 * (2.0 * PI).ln(), size()),
                times(-0.5, product([size(), log(kappa())])),
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
        for row in 0..batch.rows {
            let kappa = -2.0 * natural[3][row];
            require_positive(row, "kappa of the mean", kappa)?;
            let mean: Scratch = natural[2][batch.row(row)].iter().map(|value| value / kappa).collect();
            let place = batch.pairs(row);
            let mut rate = twice_negated(n, &natural[1][place.clone()]);
            for k in 0..n {
                require_finite(row, "mean", mean[k])?;
                for l in 0..n {
                    rate[k * n + l] -= kappa * mean[k] * mean[l];
                }
                let name = "inverse of the scale";
                require_digits(row, name, rate[k * n + k], kappa * mean[k] * mean[k])?;
            }
            scale_of(row, &rate, &mut descriptors[3][place])?;
            descriptors[0][batch.row(row)].copy_from_slice(&mean);
            descriptors[1][row] = kappa;
            descriptors[2][row] = 2.0 * natural[0][row] + n as f64;
            require_dof(row, n, descriptors[2][row])?;
        }
        Ok(())
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            for value in &descriptors[0][batch.row(row)] {
                require_finite(row, "mean", *value)?;
            }
            require_positive(row, "kappa of the mean", descriptors[1][row])?;
            require_dof(row, batch.n, descriptors[2][row])?;
            require_positive_definite(row, "scale", &descriptors[3][batch.pairs(row)])?;
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        let n = batch.n;
        for row in 0..batch.rows {
            let (mean, kappa) = (&descriptors[0][batch.row(row)], descriptors[1][row]);
            natural[0][row] = 0.5 * (descriptors[2][row] - n as f64);
            let place = batch.pairs(row);
            let rate = &mut natural[1][place.clone()];
            inverse_or_nan(&descriptors[3][place], rate);
            for k in 0..n {
                for l in 0..n {
                    rate[k * n + l] = -0.5 * (rate[k * n + l] + kappa * mean[k] * mean[l]);
                }
            }
            for (value, mean) in natural[2][batch.row(row)].iter_mut().zip(mean) {
                *value = kappa * mean;
            }
            natural[3][row] = -0.5 * kappa;
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        let n = batch.n;
        for row in 0..batch.rows {
            let (mean, kappa) = (&descriptors[0][batch.row(row)], descriptors[1][row]);
            let (dof, scale) = (descriptors[2][row], &descriptors[3][batch.pairs(row)]);
            match which {
                0 => out[row] = expected_log_determinant(n, dof, linalg::log_determinant_of(scale)),
                1 => out[batch.pairs(row)].iter_mut().zip(scale).for_each(|(out, scale)| *out = dof * scale),
                2 => {
                    for (k, out) in out[batch.row(row)].iter_mut().enumerate() {
                        *out = dof * (0..n).map(|l| scale[k * n + l] * mean[l]).sum::<f64>();
                    }
                }
                3 => out[row] = n as f64 / kappa + dof * form(n, mean, scale, mean),
                4 => out[batch.row(row)].copy_from_slice(mean),
                _ => {
                    let free = dof - n as f64 - 1.0;
                    let out = &mut out[batch.pairs(row)];
                    if free > 0.0 {
                        inverse_or_nan(scale, out);
                        out.iter_mut().for_each(|value| *value /= kappa * free);
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
            let scale = linalg::log_determinant_of(&descriptors[3][batch.pairs(row)]);
            out[row] = log_normaliser(n, descriptors[2][row], scale)
                + 0.5 * n as f64 * ln(2.0 * PI / descriptors[1][row]);
        }
    }

    fn mode(&self, _batch: &Batch, _coefficients: &[&[f64]], _value: &mut [f64]) -> Result<(), Improper> {
        Err(Improper { row: 0, reason: "a joint factor of two variables is no point".to_owned() })
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        // The mean and the precision, one after the other.
        let n = batch.n;
        let width = n + n * n;
        for row in 0..batch.rows {
            let (mean, precision) = out[row * width..(row + 1) * width].split_at_mut(n);
            let scale = &descriptors[3][batch.pairs(row)];
            let factor = sample_wishart(n, descriptors[2][row], scale, rng, precision);
            mean.fill_with(|| rng.sample(StandardNormal));
            linalg::solve_upper(n, &factor, mean);
            let spread = descriptors[1][row].sqrt();
            for (value, centre) in mean.iter_mut().zip(&descriptors[0][batch.row(row)]) {
                *value = centre + *value / spread;
            }
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
    let n = batch.n;
    descriptors[1].fill(1.0);
    descriptors[2].fill(n as f64 + 1.0);
    descriptors[3].fill(0.0);
    for row in 0..batch.rows {
        let scale = &mut descriptors[3][batch.pairs(row)];
        scale.iter_mut().step_by(n + 1).for_each(|value| *value = 1.0 / (n as f64 + 1.0));
    }
}
