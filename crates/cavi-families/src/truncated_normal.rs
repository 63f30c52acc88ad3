//! The Normal truncated to `[0, inf)`: `log N(x | mu, 1 / tau) - log Phi(mu sqrt(tau))`.
//!
//! As a factor of q, `log q(x) = linear x - prec x^2 / 2 - A`: statistics `x, x^2`; coefficients `linear, -prec / 2`; no
//! base. With `s = sqrt(prec)`, `z = -linear / s` and Mills' ratio `R(z) = (1 - Phi(z)) / phi(z)`, the log-normaliser is
//! `A = log R(z) - log s`. A precision of 0 with a negative linear coefficient is an Exponential, the limit of both.
//!
//! With `u = s x`, `u` is a Normal of mean `-z` and variance 1 truncated to `u > 0`, and by the continued fraction of
//! Laplace, `R = 1 / (z + m)`, `m = 1 / (z + c_2)`, `c_k = k / (z + c_{k+1})`,
//!
//! ```text
//! E u = m,   E u^2 = m c_2,   var u = m (c_2 - m)
//! ```
//!
//! which lose no digits if most of the normal is cut off (`z >= 1`). For smaller `z`, with `h = phi(z) / (1 -
//! Phi(z))`, `E u = h - z`, `E u^2 = 1 - z E u` and `var u = 1 - h E u`.
//!
//! # Source
//! Abramowitz and Stegun 26.2.11 and 26.2.14; Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 1 (1994),
//! 13.10.1.

use cavi_algebra::print::Formula;
use cavi_algebra::print::Limit;
use cavi_algebra::rules::multiply;
use cavi_algebra::{Function, Statistic, Sum, Support, Symbols};
use cavi_numerics::special::{exp, ln, log1p};
use rand::{Rng, RngCore};
use rand_distr::{Exp1, StandardNormal};

use crate::draws::{Value, from_posterior, numbers};
use crate::family::{self, Argument, DataKind, Domain, Extent, Family, Parameter, Spelling, Target};
use crate::normal::{SCALES, log_normal_density};
use crate::observed;
use crate::posterior::{
    Batch, Descriptor, Expectation, Improper, Posterior, require_finite, require_positive,
};
use crate::standard::Formulas;
use crate::standard::build::{apply, eta, log, minus, number, over, parameter, product, sum, times};

/// `TruncatedNormal(mean; prec, var, sd)` on `[0, inf)`; mean and precision are constants.
pub struct TruncatedNormal;

const PARAMETERS: &[Parameter] =
    &[Parameter::scalar(&[Spelling::canonical("mean", Domain::Real)]), Parameter::scalar(SCALES).by_name()];

impl Family for TruncatedNormal {
    fn name(&self) -> &'static str {
        "TruncatedNormal"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn data(&self) -> DataKind {
        DataKind::Nonnegative
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Nonnegative)
    }

    fn moments(&self, parameters: &[f64]) -> Option<family::Moments> {
        let [mean, precision] = parameters else { return None };
        let Moments { mean, variance, .. } = moments(mean * precision, *precision);
        Some(family::Moments { mean, variance })
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(mean), Some(precision)] = parameters else { unreachable!("both parameters are mandatory") };
        let root = precision.value.clone().apply(Function::Sqrt);
        let standardised = multiply(symbols, &mean.value, &root);
        log_normal_density(symbols, &target.value, &mean.value, &precision.value)
            .minus(standardised.apply(Function::StandardNormalLogCdf))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [mean, precision] = numbers(parameters);
        from_posterior(&TruncatedNormalPosterior, &[&[mean * precision], &[precision]], rng, out);
        Ok(())
    }
}

/// Truncated Normal as a factor of q.
pub struct TruncatedNormalPosterior;

/// The moments of `exp(linear x - prec x^2 / 2)` on `[0, inf)`, and the log of its integral.
struct Moments {
    mean: f64,
    square: f64,
    variance: f64,
    log_normaliser: f64,
}

/// `log sqrt(2 pi)`
const LOG_ROOT_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// `1 - Phi(z)` for `-1 <= z <= 1` and `density = phi(z)`, from `Phi(z) = 1/2 + phi(z) sum_n z^(2n+1) / (1 3 5 ... (2n+1))`.
fn upper_tail_near_zero(z: f64, density: f64) -> f64 {
    let (mut term, mut series) = (z, z);
    // Below 1, the 20th term is under 1e-23.
    for n in 1..20 {
        term *= z * z / f64::from(2 * n + 1);
        series += term;
    }
    0.5 - density * series
}

/// `s c_2` and `s c_3` by the continued fraction from below, `l = s z`, `precision = s^2`, for `z >= 1`.
fn fraction(l: f64, precision: f64) -> (f64, f64) {
    // n terms multiply the error by about exp(-1.3 z sqrt(2 n)): 500 / z^2 terms by 1e-17. The rest of the fraction is
    // taken as if all its numerators were the first: c = k / (z + c).
    let squared = l * l / precision;
    let terms = if squared > 500.0 { 8 } else { 8 + (500.0 / squared) as usize };
    let rest = 2.0 * (terms + 1) as f64 * precision;
    let (mut second, mut third) = (rest / (l + (l * l + 2.0 * rest).sqrt()), 0.0);
    for k in (2..=terms).rev() {
        third = second;
        second = k as f64 * precision / (l + second);
    }
    (second, third)
}

fn moments(linear: f64, precision: f64) -> Moments {
    let (l, s) = (-linear, precision.sqrt());
    if l >= s {
        // Written in l = s z, so that s = 0 is the Exponential.
        let (second, third) = fraction(l, precision);
        let mean = 1.0 / (l + second);
        // c_2 / s = 2 / (s (z + c_3)).
        let ratio = 2.0 / (l + third);
        let log_normaliser = -ln(l + precision * mean);
        return Moments { mean, square: mean * ratio, variance: mean * (ratio - mean), log_normaliser };
    }
    let z = l / s;
    let density = exp(-0.5 * z * z - LOG_ROOT_TWO_PI);
    let (tail, log_tail) = if z > -1.0 {
        let tail = upper_tail_near_zero(z, density);
        (tail, ln(tail))
    } else {
        // phi(z) R(-z), with R(-z) = 1 / (-z + m).
        let (second, _) = fraction(-z, 1.0);
        let below = density / (-z + 1.0 / (-z + second));
        (1.0 - below, log1p(-below))
    };
    let hazard = density / tail;
    let mean = hazard - z;
    Moments {
        mean: mean / s,
        square: (1.0 - z * mean) / precision,
        variance: (1.0 - hazard * mean) / precision,
        log_normaliser: log_tail + 0.5 * z * z + LOG_ROOT_TWO_PI - ln(s),
    }
}

impl Posterior for TruncatedNormalPosterior {
    fn name(&self) -> &'static str {
        "TruncatedNormal"
    }

    fn lives_on(&self, support: Support) -> bool {
        matches!(support, Support::Positive | Support::Nonnegative)
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::square(), extent: Extent::Scalar },
        ]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "linear", extent: Extent::Scalar, defining: true },
            Descriptor { name: "prec", extent: Extent::Scalar, defining: true },
            Descriptor { name: "mean", extent: Extent::Scalar, defining: false },
            Descriptor { name: "var", extent: Extent::Scalar, defining: false },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::square(), extent: Extent::Scalar },
            Expectation { statistic: Statistic::covariance(), extent: Extent::Scalar },
        ]
    }

    fn paired(&self) -> bool {
        true
    }

    fn formulas(&self) -> Formulas {
        // With m = linear / prec the mean before truncation and z = linear / sqrt(prec) its distance from 0 in standard
        // deviations, the mean is m + phi(z) / (Phi(z) sqrt(prec)).
        let (linear, precision) = (|| parameter(0), || parameter(1));
        let untruncated = || over(linear(), precision());
        let log_mass =
            || apply(Function::StandardNormalLogCdf, over(linear(), apply(Function::Sqrt, precision())));
        let half_square = || over(product([linear(), linear()]), times(2.0, precision()));
        let two_pi = 2.0 * std::f64::consts::PI;
        // With prec = 0 it is Exponential of the rate -linear.
        let mean_of_exponential = || over(number(-1.0), linear());
        let exponential = Limit {
            parameter: 1,
            expectations: vec![
                (Statistic::identity(), mean_of_exponential()),
                (Statistic::square(), over(number(2.0), product([linear(), linear()]))),
            ],
            finite: Vec::new(),
            log_normaliser: log(mean_of_exponential()),
        };
        let density_over_mass = apply(Function::Exp, minus(sum([half_square(), log_mass()])));
        let shift = over(density_over_mass, apply(Function::Sqrt, times(two_pi, precision())));
        Formulas {
            parameters: vec![
                ("linear", eta(0)),
                ("prec", times(-2.0, eta(1))),
                ("mean", sum([untruncated(), shift])),
            ],
            expectations: vec![
                (Statistic::identity(), parameter(2)),
                (
                    Statistic::square(),
                    over(sum([number(1.0), product([linear(), parameter(2)])]), precision()),
                ),
            ],
            limits: vec![exponential],
            log_normaliser: Some(sum([
                half_square(),
                log_mass(),
                times(0.5, log(over(number(two_pi), precision()))),
            ])),
            mode: Some(Formula::PositivePart(Box::new(over(eta(0), times(-2.0, eta(1)))))),
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
            descriptors[0][row] = natural[0][row];
            // Not -0 where the coefficient is 0.
            descriptors[1][row] = 0.0 - 2.0 * natural[1][row];
        }
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (linear, precision) = (descriptors[0][row], descriptors[1][row]);
            require_finite(row, "linear coefficient", linear)?;
            if precision != 0.0 || linear >= 0.0 {
                require_positive(row, "precision", precision)?;
            }
            let moments = moments(linear, precision);
            descriptors[2][row] = moments.mean;
            descriptors[3][row] = moments.variance;
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            natural[0][row] = descriptors[0][row];
            natural[1][row] = -0.5 * descriptors[1][row];
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        match which {
            0 => out.copy_from_slice(descriptors[2]),
            1 => {
                for row in 0..batch.rows {
                    out[row] = moments(descriptors[0][row], descriptors[1][row]).square;
                }
            }
            _ => out.copy_from_slice(descriptors[3]),
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            out[row] = moments(descriptors[0][row], descriptors[1][row]).log_normaliser;
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (linear, square) = (coefficients[0][row], coefficients[1][row]);
            value[row] = if square < 0.0 {
                (linear / (-2.0 * square)).max(0.0)
            } else if square == 0.0 && linear <= 0.0 {
                0.0
            } else {
                let precision = -2.0 * square;
                let reason = format!("the objective grows without limit (its precision is {precision})");
                return Err(Improper { row, reason });
            };
        }
        Ok(())
    }

    fn observe(&self, _batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        let linear = if value[0] == 0.0 { 0.0 } else { f64::INFINITY };
        observed::describe(descriptors, row, &[linear, f64::INFINITY, value[0], 0.0]);
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let (linear, precision) = (descriptors[0][row], descriptors[1][row]);
            let root = precision.sqrt();
            out[row] = if linear > 0.0 {
                // Draws of the Normal until one is positive: at most two on average.
                loop {
                    let noise: f64 = rng.sample(StandardNormal);
                    let x = (linear / root + noise) / root;
                    if x >= 0.0 {
                        break x;
                    }
                }
            } else {
                // An Exponential of the rate at the mean's scale, kept with probability exp(-(t - t0)^2 / 2) (Robert 1995).
                let z = -linear / root;
                let rate = if root > 0.0 { 0.5 * (z + (z * z + 4.0).sqrt()) } else { f64::INFINITY };
                loop {
                    let noise: f64 = rng.sample(Exp1);
                    if !rate.is_finite() {
                        break noise / -linear;
                    }
                    let t = noise / rate;
                    let distance = t + z - rate;
                    if rng.random::<f64>() <= exp(-0.5 * distance * distance) {
                        break t / root;
                    }
                }
            };
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        // Means from about 0.5 to 1.3.
        descriptors[0].fill_with(|| 2.0 * rng.random::<f64>() - 1.0);
        descriptors[1].fill(1.0);
        self.complete(batch, descriptors).expect("the precision is positive");
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        // The half-normal of that mean, whose mean is sqrt(2 / (pi prec)).
        for row in 0..batch.rows {
            require_positive(row, "mean", centre[row])?;
            descriptors[0][row] = 0.0;
            descriptors[1][row] = 2.0 / (std::f64::consts::PI * centre[row] * centre[row]);
        }
        self.complete(batch, descriptors)
    }
}
