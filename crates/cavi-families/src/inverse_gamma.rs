//! The inverse Gamma family: `log InverseGamma(x | a, b) = a log b - log Gamma(a) - (a + 1) log x - b / x`.
//!
//! Statistics `log x, 1 / x`; coefficients `-(a + 1), -b`; base `-1` for `log x`, so natural parameters `-a, -b`;
//! log-normaliser `log Gamma(a) - a log b`. Expectations `log b - psi(a)`, `a / b` of `1 / x`, and `b / (a - 1)` of `x`,
//! infinite for `a <= 1`.
//!
//! # Source
//! The reciprocal of a Gamma; Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994), ch. 17.

use cavi_algebra::rules::{multiply, power, push_log_into_product};
use cavi_algebra::{Elementary, Function, Statistic, Sum, Support, Symbols};
use cavi_numerics::special::{digamma_into, exp, ln, log_gamma_into};
use rand::{Rng, RngCore};

use crate::dirichlet::log_gamma_draw;
use crate::draws::{Value, numbers};
use crate::family::{Argument, DataKind, Domain, Extent, Family, Moments, Parameter, Spelling, Target};
use crate::observed;
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior, require_positive};
use crate::standard::Formulas;
use crate::standard::build::{eta, log, log_gamma_of, minus, over, parameter, product, psi, sum};

/// `InverseGamma(shape; scale)`
pub struct InverseGamma;

const PARAMETERS: &[Parameter] = &[
    Parameter::scalar(&[Spelling::canonical("shape", Domain::Positive)]).shape(),
    Parameter::scalar(&[Spelling::canonical("scale", Domain::Positive)]),
];

impl Family for InverseGamma {
    fn name(&self) -> &'static str {
        "InverseGamma"
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
        let [shape, scale] = parameters else { return None };
        let mean = if *shape > 1.0 { scale / (shape - 1.0) } else { f64::INFINITY };
        let variance = if *shape > 2.0 { mean * mean / (shape - 2.0) } else { f64::INFINITY };
        Some(Moments { mean, variance })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(shape), Some(scale)] = parameters else { unreachable!("both parameters are mandatory") };
        let (shape, scale) = (&shape.value, &scale.value);
        let log_scale = push_log_into_product(symbols, scale);
        let log_x = push_log_into_product(symbols, &target.value);
        let above = shape.clone().plus(Sum::number(1.0));
        let inverse = power(symbols, &target.value, -1);
        multiply(symbols, shape, &log_scale)
            .minus(shape.clone().apply(Function::LogGamma))
            .minus(multiply(symbols, &above, &log_x))
            .minus(multiply(symbols, scale, &inverse))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [shape, scale] = numbers(parameters);
        out[0] = exp(ln(scale) - log_gamma_draw(shape, rng)).max(f64::MIN_POSITIVE);
        Ok(())
    }
}

/// Inverse Gamma as a factor of q.
pub struct InverseGammaPosterior;

impl Posterior for InverseGammaPosterior {
    fn name(&self) -> &'static str {
        "InverseGamma"
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
            Expectation { statistic: Statistic::of(Elementary::Power(-1)), extent: Extent::Scalar },
        ]
    }

    fn base(&self) -> Vec<f64> {
        vec![-1.0, 0.0]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "shape", extent: Extent::Scalar, defining: true },
            Descriptor { name: "scale", extent: Extent::Scalar, defining: true },
            Descriptor { name: "mean", extent: Extent::Scalar, defining: false },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        let mut expectations = self.statistics();
        expectations.push(Expectation { statistic: Statistic::identity(), extent: Extent::Scalar });
        expectations
    }

    fn paired(&self) -> bool {
        true
    }

    fn formulas(&self) -> Formulas {
        let (shape, scale) = (|| parameter(0), || parameter(1));
        Formulas {
            parameters: vec![("shape", minus(eta(0))), ("scale", minus(eta(1)))],
            expectations: vec![
                (Statistic::of(Elementary::Power(-1)), over(shape(), scale())),
                (Statistic::log(), sum([log(scale()), minus(psi(shape()))])),
            ],
            log_normaliser: Some(sum([log_gamma_of(shape()), minus(product([shape(), log(scale())]))])),
            mode: Some(over(eta(1), eta(0))),
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
            descriptors[0][row] = -natural[0][row];
            descriptors[1][row] = -natural[1][row];
        }
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (shape, scale) = (descriptors[0][row], descriptors[1][row]);
            require_positive(row, "shape", shape)?;
            require_positive(row, "scale", scale)?;
            descriptors[2][row] = if shape > 1.0 { scale / (shape - 1.0) } else { f64::INFINITY };
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            natural[0][row] = -descriptors[0][row];
            natural[1][row] = -descriptors[1][row];
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        let (shape, scale) = (&descriptors[0], &descriptors[1]);
        match which {
            0 => {
                digamma_into(shape, out);
                for row in 0..batch.rows {
                    out[row] = ln(scale[row]) - out[row];
                }
            }
            1 => {
                for row in 0..batch.rows {
                    out[row] = shape[row] / scale[row];
                }
            }
            _ => out.copy_from_slice(descriptors[2]),
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        let (shape, scale) = (&descriptors[0], &descriptors[1]);
        log_gamma_into(shape, out);
        for row in 0..batch.rows {
            out[row] -= shape[row] * ln(scale[row]);
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (log, inverse) = (coefficients[0][row], coefficients[1][row]);
            // c_1 log x + c_2 / x: at c_2 / c_1, both negative; 0/0 is 0.
            value[row] = if log < 0.0 && inverse < 0.0 {
                inverse / log
            } else if log == 0.0 && inverse == 0.0 {
                0.0
            } else {
                let reason = if inverse >= 0.0 && log <= 0.0 {
                    "the mode is an infinite density at 0 (no scale)"
                } else {
                    "the objective grows without limit (no shape)"
                };
                return Err(Improper { row, reason: reason.to_owned() });
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
            out[row] = descriptors[1][row] / rng.sample(gamma);
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill(2.0);
        descriptors[1].fill_with(|| 0.5 + rng.random::<f64>());
        self.complete(batch, descriptors).expect("shape and scale are positive");
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        descriptors[0].fill(2.0);
        for row in 0..batch.rows {
            require_positive(row, "mean", centre[row])?;
            descriptors[1][row] = centre[row];
        }
        self.complete(batch, descriptors)
    }
}
