//! The Categorical family: `log Categorical(x | p) = sum_c [x = c] log p_c`.
//!
//! Statistics `[x = c]`; coefficients log weights, of any sum; no base; entropy `-sum_c p_c log p_c`.
//!
//! # Source
//! Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions (1997), ch. 35, with one trial.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Atom, AxisId, Function, Statistic, Subscript, Sum, Support, Symbols};
use cavi_numerics::special::{entropy_rows, ln, softmax_rows};
use rand::{Rng, RngCore};

use crate::density::sum_over;
use crate::draws::{Value, from_posterior};
use crate::family::{Argument, DataKind, Domain, Extent, Family, Parameter, Prediction, Spelling, Target};
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior};
use crate::standard::Formulas;
use crate::standard::build::{apply, eta, log, minus, normalised, parameter, product, total};

/// `Categorical(p)`; its value is a position on the axis of `p`.
pub struct Categorical;

const PARAMETERS: &[Parameter] = &[Parameter::vector(&[Spelling::canonical("p", Domain::Simplex)])];

impl Family for Categorical {
    fn name(&self) -> &'static str {
        "Categorical"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Index
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Index(AxisId(0)))
    }

    fn needs_simplex(&self) -> bool {
        true
    }

    fn prediction(&self) -> Prediction {
        Prediction::Class
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(p)] = parameters else { unreachable!("p is mandatory") };
        let letter = p.letters[0];
        let index = target.index.clone().expect("a Categorical stands over an index variable");
        let chosen = Sum::atom(Atom::Equal(index, Subscript::Letter(letter)));
        let log_p = push_log_into_product(symbols, &p.value);
        let product = multiply(symbols, &chosen, &log_p);
        sum_over(symbols, letter, &product)
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [Some(p)] = parameters else { unreachable!("p is mandatory") };
        from_posterior(&CategoricalPosterior, &[p.elements], rng, out);
        Ok(())
    }
}

/// Categorical as a factor of q; the slice of its columns are the classes.
pub struct CategoricalPosterior;

impl Posterior for CategoricalPosterior {
    fn name(&self) -> &'static str {
        "Categorical"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["r"], &["rho"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        matches!(support, Support::Index(_))
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![Expectation { statistic: Statistic::indicator(), extent: Extent::Vector }]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[Descriptor { name: "prob", extent: Extent::Vector, defining: true }]
    }

    fn expectations(&self) -> Vec<Expectation> {
        self.statistics()
    }

    fn paired(&self) -> bool {
        false
    }

    fn formulas(&self) -> Formulas {
        Formulas {
            parameters: vec![("prob", normalised(apply(Function::Exp, eta(0))))],
            expectations: vec![(Statistic::indicator(), parameter(0))],
            entropy: Some(minus(total(product([parameter(0), log(parameter(0))])))),
            ..Formulas::default()
        }
    }

    fn describe(
        &self,
        batch: &Batch,
        natural: &[&[f64]],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        if batch.n == 0 && batch.rows > 0 {
            return Err(Improper { row: 0, reason: "there is no class".to_owned() });
        }
        descriptors[0].copy_from_slice(natural[0]);
        match softmax_rows(descriptors[0], batch.n) {
            Some(row) => Err(Improper { row, reason: "no class has a finite log weight".to_owned() }),
            None => Ok(()),
        }
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let mut total = 0.0;
            for value in &descriptors[0][batch.row(row)] {
                require_probability(row, *value)?;
                total += value;
            }
            if (total - 1.0).abs() > 1e-9 {
                let reason = format!("the probabilities sum to {total}, and must sum to 1");
                return Err(Improper { row, reason });
            }
        }
        Ok(())
    }

    fn natural(&self, _batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for (natural, prob) in natural[0].iter_mut().zip(descriptors[0]) {
            *natural = ln(*prob);
        }
    }

    fn expect(&self, _batch: &Batch, descriptors: &[&[f64]], _which: usize, out: &mut [f64]) {
        out.copy_from_slice(descriptors[0]);
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        entropy_rows(descriptors[0], batch.n, &mut out[..batch.rows]);
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let weights = &coefficients[0][batch.row(row)];
            // The first of the largest.
            let mut best = None;
            for (class, weight) in weights.iter().enumerate() {
                if best.map_or(*weight > f64::NEG_INFINITY, |best: usize| *weight > weights[best]) {
                    best = Some(class);
                }
            }
            let Some(best) = best else {
                return Err(Improper { row, reason: "no class has a finite log weight".to_owned() });
            };
            let value = &mut value[batch.row(row)];
            value.fill(0.0);
            value[best] = 1.0;
        }
        Ok(())
    }

    fn observe(&self, batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        let own = &mut descriptors[0][row * batch.n..(row + 1) * batch.n];
        own.fill(0.0);
        own[value[0] as usize] = 1.0;
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let prob = &descriptors[0][batch.row(row)];
            let mut left = rng.random::<f64>() * prob.iter().sum::<f64>();
            // By rounding the probabilities may sum to less than the draw. Then it is the last class with a positive
            // probability.
            let mut drawn = 0;
            for (class, prob) in prob.iter().enumerate().filter(|(_, prob)| **prob > 0.0) {
                drawn = class;
                if left < *prob {
                    break;
                }
                left -= prob;
            }
            out[row] = drawn as f64;
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            let prob = &mut descriptors[0][batch.row(row)];
            prob.fill_with(|| 1.0 - rng.random::<f64>());
            let total: f64 = prob.iter().sum();
            prob.iter_mut().for_each(|prob| *prob /= total);
        }
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

/// Refuses what does not lie in `[0, 1]`.
pub(crate) fn require_probability(row: usize, value: f64) -> Result<(), Improper> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Improper { row, reason: format!("a probability is {value}, and must lie between 0 and 1") })
}
