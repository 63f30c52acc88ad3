//! The Multinomial family: `log Multinomial(x | p) = log Gamma(sum_v x_v + 1) - sum_v log Gamma(x_v + 1) + sum_v x_v log
//! p_v`, for non-negative `x` that are no counts a quasi-likelihood.
//!
//! # Source
//! Johnson, Kotz and Balakrishnan, Discrete Multivariate Distributions (1997), ch. 35.

use cavi_algebra::rules::{multiply, push_log_into_product};
use cavi_algebra::{Sum, Support, Symbols};
use rand::{Rng, RngCore};

use crate::density::{log_factorial, sum_over};
use crate::draws::{Value, whole_total};
use crate::family::{Argument, DataKind, Domain, Family, Parameter, Prediction, Slices, Spelling, Target};

/// `Multinomial(p, total)` over one slice; the total is needed only to simulate. It has no q.
pub struct Multinomial;

const PARAMETERS: &[Parameter] = &[
    Parameter::vector(&[Spelling::canonical("p", Domain::Simplex)]),
    Parameter::scalar(&[Spelling::canonical("total", Domain::Nonnegative)]).by_name().optional(),
];

impl Family for Multinomial {
    fn name(&self) -> &'static str {
        "Multinomial"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn slices(&self) -> Slices {
        Slices::One
    }

    fn data(&self) -> DataKind {
        DataKind::Counts
    }

    fn latent(&self) -> Option<Support> {
        None
    }

    fn draws_total(&self) -> Option<usize> {
        Some(1)
    }

    fn needs_simplex(&self) -> bool {
        true
    }

    fn prediction(&self) -> Prediction {
        Prediction::Units
    }

    fn mean_is(&self) -> &'static [usize] {
        &[0]
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(p), _total] = parameters else { unreachable!("p is mandatory") };
        let letter = target.slices[0];
        let total = sum_over(symbols, letter, &target.value);
        let log_p = push_log_into_product(symbols, &p.value);
        let product = multiply(symbols, &target.value, &log_p);
        log_factorial(&total)
            .minus(sum_over(symbols, letter, &log_factorial(&target.value)))
            .plus(sum_over(symbols, letter, &product))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [Some(p), total] = parameters else { unreachable!("p is mandatory") };
        let total = total.ok_or("a draw needs the total of a row")?.number();
        let mut left = whole_total(total)?;
        let last = p.elements.iter().rposition(|own| *own > 0.0);
        let mut rest: f64 = p.elements.iter().sum();
        // One count after another: given those before it, each is Binomial, and the last one takes what is left.
        for (place, (out, own)) in out.iter_mut().zip(p.elements).enumerate() {
            let share = if Some(place) == last { 1.0 } else { (own / rest).clamp(0.0, 1.0) };
            let refused = |_| format!("its probabilities have the sum {rest}");
            let count = if left == 0 || *own == 0.0 {
                0
            } else {
                rng.sample(rand_distr::Binomial::new(left, share).map_err(refused)?)
            };
            *out = count as f64;
            left -= count;
            rest -= own;
        }
        if left > 0 { Err("all of its probabilities are 0".to_owned()) } else { Ok(()) }
    }
}
