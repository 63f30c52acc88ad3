//! The Beta family: `log Beta(x | a, b) = log Gamma(a + b) - log Gamma(a) - log Gamma(b) + (a - 1) log x + (b - 1) log(1 -
//! x)`.
//!
//! Statistics `log x, log(1 - x)`; coefficients `a - 1, b - 1`; base `-1, -1`, so natural parameters `a, b`;
//! log-normaliser `log Gamma(a) + log Gamma(b) - log Gamma(a + b)`. Expectations `psi(a) - psi(a + b)`,
//! `psi(b) - psi(a + b)` and `a / (a + b)`.
//!
//! # Source
//! Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2 (1995), ch. 25.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Elementary, Function, Statistic, Sum, Support, Symbols};
use cavi_numerics::special::{digamma, ln_beta, logistic};
use rand::{Rng, RngCore};

use crate::density::log_complement;
use crate::dirichlet::{inside, log_gamma_draw, total_of_log_coefficients};
use crate::draws::{Value, from_posterior, numbers};
use crate::family::{Argument, DataKind, Domain, Extent, Family, Moments, Parameter, Spelling, Target};
use crate::observed;
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior, require_positive};
use crate::standard::Formulas;
use crate::standard::build::{eta, log_gamma_of, minus, over, parameter, psi, sum};

/// `Beta(a; b)`
pub struct Beta;

const PARAMETERS: &[Parameter] = &[
    Parameter::scalar(&[Spelling::canonical("a", Domain::Positive)]),
    Parameter::scalar(&[Spelling::canonical("b", Domain::Positive)]),
];

impl Family for Beta {
    fn name(&self) -> &'static str {
        "Beta"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Inside
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Unit)
    }

    fn moments(&self, parameters: &[f64]) -> Option<Moments> {
        let [a, b] = parameters else { return None };
        let total = a + b;
        Some(Moments { mean: a / total, variance: a * b / (total * total * (total + 1.0)) })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(a), Some(b)] = parameters else { unreachable!("both parameters are mandatory") };
        let (a, b) = (&a.value, &b.value);
        let log_x = push_log_into_product(symbols, &target.value);
        let log_complement = log_complement(symbols, &target.value);
        let (a_above, b_above) = (a.clone().minus(Sum::number(1.0)), b.clone().minus(Sum::number(1.0)));
        a.clone()
            .plus(b.clone())
            .apply(Function::LogGamma)
            .minus(a.clone().apply(Function::LogGamma))
            .minus(b.clone().apply(Function::LogGamma))
            .plus(multiply(symbols, &a_above, &log_x))
            .plus(multiply(symbols, &b_above, &log_complement))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [a, b] = numbers(parameters);
        from_posterior(&BetaPosterior, &[&[a], &[b]], rng, out);
        // Strictly inside, where the density is finite.
        out[0] = out[0].clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
        Ok(())
    }
}

/// Beta as a factor of q.
pub struct BetaPosterior;

impl Posterior for BetaPosterior {
    fn name(&self) -> &'static str {
        "Beta"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["a", "b"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        support == Support::Unit
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::log(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::of(Elementary::LogComplement), extent: Extent::Scalar },
        ]
    }

    fn base(&self) -> Vec<f64> {
        vec![-1.0, -1.0]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "a", extent: Extent::Scalar, defining: true },
            Descriptor { name: "b", extent: Extent::Scalar, defining: true },
            Descriptor { name: "mean", extent: Extent::Scalar, defining: false },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        let mut expectations = self.statistics();
        expectations.push(Expectation { statistic: Statistic::identity(), extent: Extent::Scalar });
        expectations.push(Expectation { statistic: Statistic::covariance(), extent: Extent::Scalar });
        for mass in [Elementary::Mass, Elementary::MassOfComplement] {
            expectations.push(Expectation { statistic: Statistic::of(mass), extent: Extent::Scalar });
        }
        expectations
    }

    fn mean_is_over_total(&self) -> bool {
        true
    }

    fn paired(&self) -> bool {
        true
    }

    fn formulas(&self) -> Formulas {
        let (a, b) = (|| parameter(0), || parameter(1));
        let all = || sum([a(), b()]);
        Formulas {
            parameters: vec![("a", eta(0)), ("b", eta(1))],
            expectations: vec![
                (Statistic::identity(), over(a(), all())),
                (Statistic::log(), sum([psi(a()), minus(psi(all()))])),
                (Statistic::of(Elementary::LogComplement), sum([psi(b()), minus(psi(all()))])),
            ],
            log_normaliser: Some(sum([log_gamma_of(a()), log_gamma_of(b()), minus(log_gamma_of(all()))])),
            mode: Some(over(eta(0), sum([eta(0), eta(1)]))),
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
        descriptors[1].copy_from_slice(natural[1]);
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (a, b) = (descriptors[0][row], descriptors[1][row]);
            require_positive(row, "parameter a", a)?;
            require_positive(row, "parameter b", b)?;
            descriptors[2][row] = a / (a + b);
        }
        Ok(())
    }

    fn natural(&self, _batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        natural[0].copy_from_slice(descriptors[0]);
        natural[1].copy_from_slice(descriptors[1]);
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        for row in 0..batch.rows {
            let (a, b) = (descriptors[0][row], descriptors[1][row]);
            let total = a + b;
            out[row] = match which {
                0 => digamma(a) - digamma(total),
                1 => digamma(b) - digamma(total),
                2 => a / total,
                4 => a,
                5 => b,
                _ => (a / total) * (b / total) / (total + 1.0),
            };
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            let (a, b) = (descriptors[0][row], descriptors[1][row]);
            out[row] = ln_beta(a, b);
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let coefficients = [coefficients[0][row], coefficients[1][row]];
            // A coefficient of this size, relative to its terms, is a difference of sums (trials less successes) that
            // is 0 up to rounding.
            let rounding = 1e-12 * coefficients[0].abs().max(coefficients[1].abs());
            let [log, complement] =
                coefficients.map(|own| if -rounding <= own && own < 0.0 { 0.0 } else { own });
            let total = total_of_log_coefficients(row, &[log, complement])?;
            // With both of them 0 every value is optimal.
            if total > 0.0 {
                // The mode lies on the boundary only if the coefficient of the log that is infinite there is 0.
                // Otherwise it is at most the nearest double inside.
                let most = if complement > 0.0 { 1.0 - f64::EPSILON / 2.0 } else { 1.0 };
                value[row] = inside(log, log / total).min(most);
            }
        }
        Ok(())
    }

    fn observe(&self, _batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        observed::describe(descriptors, row, &[f64::INFINITY, f64::INFINITY, value[0]]);
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let (a, b) = (log_gamma_draw(descriptors[0][row], rng), log_gamma_draw(descriptors[1][row], rng));
            out[row] = logistic(a - b);
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill_with(|| 1.0 + rng.random::<f64>());
        descriptors[1].fill_with(|| 1.0 + rng.random::<f64>());
        self.complete(batch, descriptors).expect("both parameters are positive");
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        for row in 0..batch.rows {
            require_positive(row, "mean", centre[row])?;
            require_positive(row, "complement of the mean", 1.0 - centre[row])?;
            descriptors[0][row] = 2.0 * centre[row];
            descriptors[1][row] = 2.0 * (1.0 - centre[row]);
        }
        self.complete(batch, descriptors)
    }
}
