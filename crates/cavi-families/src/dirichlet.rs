//! The Dirichlet family: `log Dirichlet(x | a) = log Gamma(sum_v a_v) - sum_v log Gamma(a_v) + sum_v (a_v - 1) log x_v`
//! (density in the first K - 1 coordinates).
//!
//! Statistics `log x_v`; coefficients `a_v - 1`; base `-1`, so natural parameters `a_v`; log-normaliser
//! `sum_v log Gamma(a_v) - log Gamma(sum_v a_v)`. Expectations `psi(a_v) - psi(sum a)` and `a_v / sum a`.
//!
//! # Source
//! Kotz, Balakrishnan and Johnson, Continuous Multivariate Distributions 1 (2000), ch. 49; Blei, Ng and Jordan (2003), A.1.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Elementary, Function, Statistic, Sum, Support, Symbols};
use cavi_numerics::kernels::paired::add_pairs;
use cavi_numerics::special::{
    digamma_and_log_gamma_into, digamma_in_place, digamma_into, ln, log_gamma, log_gamma_into, softmax_rows,
};
use cavi_numerics::{Scratch, reduce};
use rand::{Rng, RngCore};

use crate::density::sum_over;
use crate::draws::{Value, from_posterior};
use crate::family::{Argument, DataKind, Domain, Extent, Family, Parameter, Slices, Spelling, Target};
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior, require_positive};
use crate::standard::Formulas;
use crate::standard::build::{eta, log_gamma_of, minus, normalised, over, parameter, psi, sum, total};

/// `Dirichlet(concentration)` over one slice.
pub struct Dirichlet;

const PARAMETERS: &[Parameter] =
    &[Parameter::vector(&[Spelling::canonical("concentration", Domain::Positive)]).shape()];

impl Family for Dirichlet {
    fn name(&self) -> &'static str {
        "Dirichlet"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn slices(&self) -> Slices {
        Slices::One
    }

    fn data(&self) -> DataKind {
        DataKind::None
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Simplex)
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(concentration)] = parameters else { unreachable!("the concentration is mandatory") };
        let letter = target.slices[0];
        let concentration = &concentration.value;
        let total = sum_over(symbols, letter, concentration);
        let each = concentration.clone().apply(Function::LogGamma);
        let above = concentration.clone().minus(Sum::number(1.0));
        let log_x = push_log_into_product(symbols, &target.value);
        let product = multiply(symbols, &above, &log_x);
        total
            .apply(Function::LogGamma)
            .minus(sum_over(symbols, letter, &each))
            .plus(sum_over(symbols, letter, &product))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [Some(concentration)] = parameters else { unreachable!("the concentration is mandatory") };
        from_posterior(&DirichletPosterior, &[concentration.elements], rng, out);
        Ok(())
    }
}

/// Dirichlet as a factor of q.
pub struct DirichletPosterior;

impl Posterior for DirichletPosterior {
    fn name(&self) -> &'static str {
        "Dirichlet"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["gamma"], &["lambda"], &["omega"], &["delta"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        support == Support::Simplex
    }

    fn over_slice(&self) -> bool {
        true
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![Expectation { statistic: Statistic::log(), extent: Extent::Vector }]
    }

    fn base(&self) -> Vec<f64> {
        vec![-1.0]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "concentration", extent: Extent::Vector, defining: true },
            Descriptor { name: "mean", extent: Extent::Vector, defining: false },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::log(), extent: Extent::Vector },
            Expectation { statistic: Statistic::identity(), extent: Extent::Vector },
            Expectation { statistic: Statistic::of(Elementary::Mass), extent: Extent::Vector },
        ]
    }

    fn mean_is_over_total(&self) -> bool {
        true
    }

    fn paired(&self) -> bool {
        true
    }

    fn pairs_with(&self) -> Option<usize> {
        Some(0)
    }

    /// With `d_v = prior_v - a_v`: `sum_v (log Gamma(a_v) + d_v E log x_v) - log Gamma(sum a)`.
    fn pair(
        &self,
        batch: &Batch,
        descriptors: &[&[f64]],
        prior: &[&[f64]],
        expectation: &mut [f64],
        rows: &mut [f64],
    ) {
        let concentration = descriptors[0];
        let mut terms = Scratch::any(concentration.len());
        digamma_and_log_gamma_into(concentration, expectation, &mut terms);
        let totals = totals(batch, concentration);
        let mut of_totals = Scratch::any(batch.rows);
        digamma_and_log_gamma_into(&totals, &mut of_totals, rows);
        for row in 0..batch.rows {
            subtract(of_totals[row], &mut expectation[batch.row(row)]);
        }
        add_pairs(prior[0], concentration, expectation, &mut terms);
        for row in 0..batch.rows {
            let own = &terms[batch.row(row)];
            // Over no category there is one value, of density 1.
            rows[row] = if own.is_empty() { 0.0 } else { reduce::sum(own) - rows[row] };
        }
    }

    fn formulas(&self) -> Formulas {
        let concentration = || parameter(0);
        let all = || total(concentration());
        Formulas {
            parameters: vec![("concentration", eta(0))],
            expectations: vec![
                (Statistic::identity(), over(concentration(), all())),
                (Statistic::log(), sum([psi(concentration()), minus(psi(all()))])),
            ],
            log_normaliser: Some(sum([total(log_gamma_of(concentration())), minus(log_gamma_of(all()))])),
            mode: Some(normalised(eta(0))),
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
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        let [concentration, mean] = descriptors else { unreachable!("two descriptors") };
        for row in 0..batch.rows {
            let (concentration, mean) = (&concentration[batch.row(row)], &mut mean[batch.row(row)]);
            // Without an early end the check is one of vectors.
            if !concentration.iter().fold(true, |all, value| all & (*value > 0.0 && value.is_finite())) {
                for value in concentration {
                    require_positive(row, "concentration", *value)?;
                }
            }
            let total = reduce::sum(concentration);
            for (mean, concentration) in mean.iter_mut().zip(concentration) {
                *mean = concentration / total;
            }
        }
        Ok(())
    }

    fn natural(&self, _batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        natural[0].copy_from_slice(descriptors[0]);
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        if which > 0 {
            out.copy_from_slice(if which == 1 { descriptors[1] } else { descriptors[0] });
            return;
        }
        digamma_into(descriptors[0], out);
        let mut of_totals = totals(batch, descriptors[0]);
        digamma_in_place(&mut of_totals);
        for row in 0..batch.rows {
            subtract(of_totals[row], &mut out[batch.row(row)]);
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        let longest = (0..batch.rows).map(|row| batch.row(row).len()).max().unwrap_or(0);
        let mut each = Scratch::zeros(longest);
        for row in 0..batch.rows {
            let concentration = &descriptors[0][batch.row(row)];
            if concentration.is_empty() {
                // Over no category there is one value, of density 1.
                out[row] = 0.0;
                continue;
            }
            let each = &mut each[..concentration.len()];
            log_gamma_into(concentration, each);
            out[row] = reduce::sum(each) - log_gamma(reduce::sum(concentration));
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (log, value) = (&coefficients[0][batch.row(row)], &mut value[batch.row(row)]);
            let total = total_of_log_coefficients(row, log)?;
            // With all of them 0 every value is optimal.
            if total > 0.0 {
                for (value, log) in value.iter_mut().zip(log) {
                    *value = inside(*log, log / total);
                }
            }
        }
        Ok(())
    }

    fn observe(&self, batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        descriptors[0][batch.row(row)].fill(f64::INFINITY);
        descriptors[1][batch.row(row)].copy_from_slice(value);
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let (concentration, out) = (&descriptors[0][batch.row(row)], &mut out[batch.row(row)]);
            for (out, concentration) in out.iter_mut().zip(concentration) {
                *out = log_gamma_draw(*concentration, rng);
            }
            softmax_rows(out, out.len());
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill_with(|| 1.0 + rng.random::<f64>());
        self.complete(batch, descriptors).expect("the concentrations are positive");
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (centre, concentration) = (&centre[batch.row(row)], &mut descriptors[0][batch.row(row)]);
            let total: f64 = centre.iter().sum();
            let n = centre.len() as f64;
            for (concentration, centre) in concentration.iter_mut().zip(centre) {
                require_positive(row, "mean", *centre)?;
                *concentration = n * centre / total;
            }
        }
        self.complete(batch, descriptors)
    }
}

/// The sum of each row's concentrations.
fn totals(batch: &Batch, concentration: &[f64]) -> Scratch {
    let mut totals = Scratch::with_room(batch.rows);
    for row in 0..batch.rows {
        totals.push(reduce::sum(&concentration[batch.row(row)]));
    }
    totals
}

/// Takes a number off each value.
fn subtract(number: f64, values: &mut [f64]) {
    values.iter_mut().for_each(|value| *value -= number);
}

/// The log of a Gamma draw of rate 1, from `log Gamma(a) = log Gamma(a + 1) + log(u) / a`: it is finite where the draw
/// itself would be 0.
pub(crate) fn log_gamma_draw(shape: f64, rng: &mut dyn RngCore) -> f64 {
    let gamma = rand_distr::Gamma::new(shape + 1.0, 1.0).expect("the shape is above 1");
    let uniform = 1.0 - rng.random::<f64>();
    ln(rng.sample(gamma)) + ln(uniform) / shape
}

/// The smallest value of a mode whose log has a positive coefficient. Products of three such numbers are normal
/// doubles: arithmetic on subnormal ones is a hundred times slower, and a point on its way to 0 would slow down every
/// sweep.
const LEAST: f64 = 1e-100;

/// A mode with a coefficient of its log: where that is positive, however small, the mode is no smaller than [`LEAST`], since at 0
/// the objective is minus infinity.
pub(crate) fn inside(log: f64, mode: f64) -> f64 {
    if log > 0.0 { mode.max(LEAST) } else { mode }
}

/// The sum of the coefficients of `log x_v`, none of which may be negative.
pub(crate) fn total_of_log_coefficients(row: usize, log: &[f64]) -> Result<f64, Improper> {
    let mut total = 0.0;
    for coefficient in log {
        // Written so that NaN is refused.
        if !(*coefficient >= 0.0 && coefficient.is_finite()) {
            let reason = format!(
                "the coefficient of the log is {coefficient}: the mode is an infinite density at the boundary (a \
                 concentration below 1)"
            );
            return Err(Improper { row, reason });
        }
        total += coefficient;
    }
    Ok(total)
}
