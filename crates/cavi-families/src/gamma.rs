//! The Gamma family, shape and rate: `log Gamma(x | a, b) = a log b - log Gamma(a) + (a - 1) log x - b x`.
//!
//! Statistics `log x, x`; coefficients `a - 1, -b`; base `-1` for `log x`, so natural parameters `a, -b`; log-normaliser
//! `log Gamma(a) - a log b`. Expectations `psi(a) - log b` and `a / b`.
//!
//! # Source
//! Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), ch. 17.

use cavi_algebra::rules::{multiply, power, push_log_into_product};
use cavi_algebra::{Elementary, Function, Statistic, Sum, Support, Symbols};
use cavi_numerics::kernels::paired::{add_negative_pairs, add_pairs};
use cavi_numerics::special::{digamma_and_log_gamma_into, digamma_into, exp, ln, ln_into, log_gamma_into};
use rand::{Rng, RngCore};

use crate::dirichlet::{inside, log_gamma_draw};
use crate::draws::{Value, numbers};
use crate::family::{Argument, DataKind, Domain, Extent, Family, Moments, Parameter, Spelling, Target};
use crate::observed;
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior, require_positive};
use crate::standard::Formulas;
use crate::standard::build::{eta, log, log_gamma_of, minus, over, parameter, product, psi, sum};

/// `Gamma(shape; rate, scale, mean)`
pub struct Gamma;

/// `rate = 1 / scale`
fn from_scale(symbols: &mut Symbols, value: &Sum, _others: &[Sum]) -> Sum {
    power(symbols, value, -1)
}

/// `rate = shape / mean`
fn from_mean(symbols: &mut Symbols, value: &Sum, others: &[Sum]) -> Sum {
    let inverse = power(symbols, value, -1);
    multiply(symbols, &others[0], &inverse)
}

const PARAMETERS: &[Parameter] = &[
    Parameter::scalar(&[Spelling::canonical("shape", Domain::Positive)]).shape(),
    Parameter::scalar(&[
        Spelling::canonical("rate", Domain::Positive),
        Spelling::rewritten("scale", Domain::Positive, from_scale),
        Spelling::rewritten("mean", Domain::Positive, from_mean),
    ])
    .by_name(),
];

impl Family for Gamma {
    fn name(&self) -> &'static str {
        "Gamma"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Positive
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Positive)
    }

    fn moments(&self, parameters: &[f64]) -> Option<Moments> {
        let [shape, rate] = parameters else { return None };
        Some(Moments { mean: shape / rate, variance: shape / (rate * rate) })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(shape), Some(rate)] = parameters else { unreachable!("both parameters are mandatory") };
        let (shape, rate) = (&shape.value, &rate.value);
        let log_rate = push_log_into_product(symbols, rate);
        let log_x = push_log_into_product(symbols, &target.value);
        let above = shape.clone().minus(Sum::number(1.0));
        multiply(symbols, shape, &log_rate)
            .minus(shape.clone().apply(Function::LogGamma))
            .plus(multiply(symbols, &above, &log_x))
            .minus(multiply(symbols, rate, &target.value))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [shape, rate] = numbers(parameters);
        // In logarithms, so that a draw of a small shape is no 0.
        out[0] = exp(log_gamma_draw(shape, rng) - ln(rate)).max(f64::MIN_POSITIVE);
        Ok(())
    }
}

/// Gamma as a factor of q.
pub struct GammaPosterior;

impl Posterior for GammaPosterior {
    fn name(&self) -> &'static str {
        "Gamma"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["a", "b"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        matches!(support, Support::Positive | Support::Nonnegative)
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::log(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::identity(), extent: Extent::Scalar },
        ]
    }

    fn base(&self) -> Vec<f64> {
        vec![-1.0, 0.0]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "shape", extent: Extent::Scalar, defining: true },
            Descriptor { name: "rate", extent: Extent::Scalar, defining: true },
            Descriptor { name: "mean", extent: Extent::Scalar, defining: false },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        let mut expectations = self.statistics();
        expectations.push(Expectation { statistic: Statistic::covariance(), extent: Extent::Scalar });
        expectations.push(Expectation { statistic: Statistic::of(Elementary::Mass), extent: Extent::Scalar });
        expectations
    }

    fn paired(&self) -> bool {
        true
    }

    fn pairs_with(&self) -> Option<usize> {
        Some(0)
    }

    /// `log Gamma(a) - a log b + (prior_1 - a) E log x + (prior_2 + b) E x`
    fn pair(
        &self,
        _batch: &Batch,
        descriptors: &[&[f64]],
        prior: &[&[f64]],
        expectation: &mut [f64],
        rows: &mut [f64],
    ) {
        let (shape, rate, mean) = (descriptors[0], descriptors[1], descriptors[2]);
        digamma_and_log_gamma_into(shape, expectation, rows);
        with_logs(rate, |row, log| {
            expectation[row] -= log;
            rows[row] -= shape[row] * log;
        });
        add_pairs(prior[0], shape, expectation, rows);
        add_negative_pairs(prior[1], rate, mean, rows);
    }

    fn formulas(&self) -> Formulas {
        let (shape, rate) = (|| parameter(0), || parameter(1));
        Formulas {
            parameters: vec![("shape", eta(0)), ("rate", minus(eta(1)))],
            expectations: vec![
                (Statistic::identity(), over(shape(), rate())),
                (Statistic::log(), sum([psi(shape()), minus(log(rate()))])),
            ],
            log_normaliser: Some(sum([log_gamma_of(shape()), minus(product([shape(), log(rate())]))])),
            mode: Some(over(eta(0), minus(eta(1)))),
            ..Formulas::default()
        }
    }

    fn describe(
        &self,
        batch: &Batch,
        natural: &[&[f64]],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        descriptors[0].copy_from_slice(natural[0]);
        descriptors[1].iter_mut().zip(natural[1]).for_each(|(rate, own)| *rate = -own);
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        let [shape, rate, mean] = descriptors else { unreachable!("three descriptors") };
        let (shape, rate, mean) = (&shape[..batch.rows], &rate[..batch.rows], &mut mean[..batch.rows]);
        let proper = |value: &f64| *value > 0.0 && value.is_finite();
        // Without an early end the check is one of vectors.
        if !shape.iter().chain(rate).fold(true, |all, value| all & proper(value)) {
            for row in 0..batch.rows {
                require_positive(row, "shape", shape[row])?;
                require_positive(row, "rate", rate[row])?;
            }
        }
        for ((mean, shape), rate) in mean.iter_mut().zip(shape).zip(rate) {
            *mean = shape / rate;
        }
        Ok(())
    }

    fn natural(&self, _batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        natural[0].copy_from_slice(descriptors[0]);
        natural[1].iter_mut().zip(descriptors[1]).for_each(|(own, rate)| *own = -rate);
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        let (shape, rate) = (&descriptors[0], &descriptors[1]);
        match which {
            0 => {
                digamma_into(shape, out);
                with_logs(rate, |row, log| out[row] -= log);
            }
            1 => out.copy_from_slice(descriptors[2]),
            3 => out.copy_from_slice(shape),
            _ => {
                for row in 0..batch.rows {
                    out[row] = shape[row] / rate[row] / rate[row];
                }
            }
        }
    }

    fn entropy(&self, _batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        let (shape, rate) = (&descriptors[0], &descriptors[1]);
        log_gamma_into(shape, out);
        with_logs(rate, |row, log| out[row] -= shape[row] * log);
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        let pairs = || coefficients[0][..batch.rows].iter().zip(&coefficients[1][..batch.rows]);
        // Without early returns and branches for single rows, these loops vectorise.
        if pairs().fold(true, |all, (log, linear)| all & (*log >= 0.0) & (*linear < 0.0)) {
            for (value, (log, linear)) in value.iter_mut().zip(pairs()) {
                // No negative zero.
                *value = inside(*log, log / -linear) + 0.0;
            }
            return Ok(());
        }
        for row in 0..batch.rows {
            let (log, linear) = (coefficients[0][row], coefficients[1][row]);
            // c_1 log x + c_2 x: at c_1 / -c_2; 0/0 is 0, so that an element without any term takes the value 0.
            value[row] = if log > 0.0 && linear < 0.0 {
                inside(log, log / -linear)
            } else if log == 0.0 && linear <= 0.0 {
                0.0
            } else {
                let reason = if log < 0.0 {
                    "the mode is an infinite density at 0 (a shape below 1)".to_owned()
                } else {
                    "the objective grows without limit (no rate)".to_owned()
                };
                return Err(Improper { row, reason });
            };
        }
        Ok(())
    }

    fn observe(&self, _batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        observed::describe(descriptors, row, &[f64::INFINITY, f64::INFINITY, value[0]]);
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let gamma = rand_distr::Gamma::new(descriptors[0][row], 1.0).expect("the shape is positive");
            out[row] = rng.sample(gamma) / descriptors[1][row];
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill(1.0);
        descriptors[1].fill_with(|| 1.0 / (0.5 + rng.random::<f64>()));
        self.complete(batch, descriptors).expect("shape and rate are positive");
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        descriptors[0].fill(1.0);
        for row in 0..batch.rows {
            require_positive(row, "mean", centre[row])?;
            descriptors[1][row] = 1.0 / centre[row];
        }
        self.complete(batch, descriptors)
    }
}

/// Runs `task(row, logarithm)` for every value, with logarithms taken over a buffer.
fn with_logs(values: &[f64], mut task: impl FnMut(usize, f64)) {
    const BLOCK: usize = 512;
    let mut logs = [0.0; BLOCK];
    for (block, values) in values.chunks(BLOCK).enumerate() {
        ln_into(values, &mut logs[..values.len()]);
        for (row, log) in logs[..values.len()].iter().enumerate() {
            task(block * BLOCK + row, *log);
        }
    }
}
