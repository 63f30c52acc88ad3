//! The generalised inverse Gaussian family: `log GIG(x | p, a, b) = (p / 2) (log a - log b) - log 2 - log K_p(sqrt(a b)) +
//! (p - 1) log x - (a x + b / x) / 2` on `x > 0`, `K_p` the modified Bessel function of the second kind.
//!
//! Statistics `log x, x, 1 / x`; coefficients `p - 1, -a / 2, -b / 2`; base `-1` for `log x`, so natural parameters
//! `p, -a / 2, -b / 2`. With `z = sqrt(a b)`, the log-normaliser is `log 2 + log K_p(z) + (p / 2) log(b / a)`, and `E
//! x = sqrt(b / a) K_(p+1)(z) / K_p(z)`, `E 1/x = sqrt(a / b) K_(p-1)(z) / K_p(z)`, `E log x = log sqrt(b / a) + d
//! log K_p(z) / dp`. Since `1 / x` has this distribution with `-p, b, a`, only `p >= 0` has to be computed.
//!
//! About the mode `x0 = (p + w) / a` of `log x`, `w = sqrt(p^2 + a b)`, the three are sums of positive terms
//! ([`cavi_numerics::special::bessel_k`]): with `x = x0 e^s`, `E log x = log x0 + E s`, `E 1/x = E e^(-s) / x0`,
//! `E x = (2 p + b E 1/x) / a` (the mean of the derivative of `x p(x)` is 0), and the log-normaliser is
//! `p log x0 - w + log I`.
//!
//! Where `p` is 1/2 (a variance of one observation with an exponential prior: Laplace noise), all is elementary but for
//! `d log K_p(z) / dp = e^(2 z) E_1(2 z)`.
//!
//! `b = 0` with `p > 0` is Gamma(p, a / 2); `a = 0` with `p < 0` is InverseGamma(-p, b / 2).
//!
//! # Source
//! Jorgensen, Statistical Properties of the Generalized Inverse Gaussian Distribution (1982), ch. 2; draws as Devroye,
//! Random variate generation for the generalized inverse Gaussian distribution, Statistics and Computing 24 (2014).

use std::f64::consts::PI;

use cavi_algebra::print::Limit;
use cavi_algebra::rules::{multiply, power, push_log_into_product};
use cavi_algebra::{Atom, Elementary, Function, Statistic, Sum, Support, Symbols};
use cavi_numerics::special::{
    above_tangent, bessel_k, digamma, exp, expm1, ln, log_gamma, scaled_exp_integral,
};
use rand::{Rng, RngCore};
use rand_distr::Exp1;

use crate::draws::{Value, from_posterior, numbers};
use crate::family::{Argument, DataKind, Domain, Extent, Family, Parameter, Spelling, Target};
use crate::observed;
use crate::posterior::{
    Batch, Descriptor, Expectation, Improper, Posterior, require_finite, require_positive,
};
use crate::standard::Formulas;
use crate::standard::build::{
    apply, eta, log, log_bessel_k_in_order_of, log_bessel_k_of, log_gamma_of, minus, number, over, parameter,
    product, psi, sum, times,
};

/// `GeneralizedInverseGaussian(p; a; b)`
pub struct GeneralizedInverseGaussian;

const PARAMETERS: &[Parameter] = &[
    Parameter::scalar(&[Spelling::canonical("p", Domain::Real)]),
    Parameter::scalar(&[Spelling::canonical("a", Domain::Positive)]),
    Parameter::scalar(&[Spelling::canonical("b", Domain::Positive)]),
];

impl Family for GeneralizedInverseGaussian {
    fn name(&self) -> &'static str {
        "GeneralizedInverseGaussian"
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

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(p), Some(a), Some(b)] = parameters else { unreachable!("all three are mandatory") };
        let (p, a, b) = (&p.value, &a.value, &b.value);
        let log_ratio = push_log_into_product(symbols, a).minus(push_log_into_product(symbols, b));
        let argument = multiply(symbols, a, b).apply(Function::Sqrt);
        let log_bessel = Sum::atom(Atom::Apply(Function::LogBesselK, vec![p.clone(), argument]));
        let below = p.clone().minus(Sum::number(1.0));
        let inverse = power(symbols, &target.value, -1);
        multiply(symbols, p, &log_ratio)
            .scaled(0.5)
            .minus(Sum::number(std::f64::consts::LN_2))
            .minus(log_bessel)
            .plus(multiply(symbols, &below, &push_log_into_product(symbols, &target.value)))
            .minus(multiply(symbols, a, &target.value).scaled(0.5))
            .minus(multiply(symbols, b, &inverse).scaled(0.5))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [p, a, b] = numbers(parameters);
        from_posterior(&GeneralizedInverseGaussianPosterior, &[&[p], &[a], &[b]], rng, out);
        out[0] = out[0].max(f64::MIN_POSITIVE);
        Ok(())
    }
}

/// Generalised inverse Gaussian as a factor of q.
pub struct GeneralizedInverseGaussianPosterior;

/// What one row answers.
struct Moments {
    mean: f64,
    inverse: f64,
    log: f64,
    log_normaliser: f64,
}

/// For `p >= 0`, `a > 0`, `b >= 0`, not both `p` and `b` 0.
fn rising(p: f64, a: f64, b: f64) -> Moments {
    if b == 0.0 {
        let log = digamma(p) - ln(0.5 * a);
        let inverse = if p > 1.0 { 0.5 * a / (p - 1.0) } else { f64::INFINITY };
        return Moments { mean: 2.0 * p / a, inverse, log, log_normaliser: log_gamma(p) - p * ln(0.5 * a) };
    }
    let z = a.sqrt() * b.sqrt();
    if p == 0.5 {
        return Moments {
            mean: (1.0 + z) / a,
            inverse: a.sqrt() / b.sqrt(),
            log: 0.5 * (ln(b) - ln(a)) + scaled_exp_integral(2.0 * z),
            log_normaliser: 0.5 * (ln(2.0 * PI) - ln(a)) - z,
        };
    }
    let integrals = bessel_k(p, z);
    let log_centre = ln(p + integrals.w) - ln(a);
    let inverse = exp(integrals.log_inverse - log_centre);
    Moments {
        mean: (2.0 * p + b * inverse) / a,
        inverse,
        log: log_centre + integrals.mean,
        log_normaliser: p * log_centre - integrals.w + integrals.log_integral,
    }
}

fn moments(p: f64, a: f64, b: f64) -> Moments {
    if p >= 0.0 {
        return rising(p, a, b);
    }
    let flipped = rising(-p, b, a);
    Moments { mean: flipped.inverse, inverse: flipped.mean, log: -flipped.log, ..flipped }
}

impl Posterior for GeneralizedInverseGaussianPosterior {
    fn name(&self) -> &'static str {
        "GeneralizedInverseGaussian"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["nu", "a", "b"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        matches!(support, Support::Positive | Support::Nonnegative)
    }

    fn statistics(&self) -> Vec<Expectation> {
        [Elementary::Log, Elementary::Power(1), Elementary::Power(-1)]
            .into_iter()
            .map(|own| Expectation { statistic: Statistic::of(own), extent: Extent::Scalar })
            .collect()
    }

    fn base(&self) -> Vec<f64> {
        vec![-1.0, 0.0, 0.0]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "p", extent: Extent::Scalar, defining: true },
            Descriptor { name: "a", extent: Extent::Scalar, defining: true },
            Descriptor { name: "b", extent: Extent::Scalar, defining: true },
            Descriptor { name: "mean", extent: Extent::Scalar, defining: false },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        self.statistics()
    }

    fn paired(&self) -> bool {
        true
    }

    fn formulas(&self) -> Formulas {
        let (p, a, b) = (|| parameter(0), || parameter(1), || parameter(2));
        let root = |inner| apply(Function::Sqrt, inner);
        let log_bessel = |order| log_bessel_k_of(order, root(product([a(), b()])));
        let ratio =
            |by| apply(Function::Exp, sum([log_bessel(sum([p(), number(by)])), minus(log_bessel(p()))]));
        let in_order = log_bessel_k_in_order_of(p(), root(product([a(), b()])));
        let inverse = || Statistic::of(Elementary::Power(-1));
        let half = |own| times(0.5, own);
        let log_statistic = || Statistic::of(Elementary::Log);
        // With b = 0 a Gamma of shape p and rate a / 2; with a = 0 its mirror image, an InverseGamma of shape -p and scale b / 2.
        let gamma = Limit {
            parameter: 2,
            expectations: vec![
                (log_statistic(), sum([psi(p()), minus(log(half(a())))])),
                (Statistic::identity(), times(2.0, over(p(), a()))),
                (inverse(), over(a(), times(2.0, sum([p(), number(-1.0)])))),
            ],
            finite: vec![(inverse(), [p(), number(1.0)])],
            log_normaliser: sum([log_gamma_of(p()), minus(product([p(), log(half(a()))]))]),
        };
        let shape = || minus(p());
        let inverse_gamma = Limit {
            parameter: 1,
            expectations: vec![
                (log_statistic(), sum([log(half(b())), minus(psi(shape()))])),
                (Statistic::identity(), over(b(), times(2.0, sum([shape(), number(-1.0)])))),
                (inverse(), times(2.0, over(shape(), b()))),
            ],
            finite: vec![(Statistic::identity(), [shape(), number(1.0)])],
            log_normaliser: sum([log_gamma_of(shape()), product([p(), log(half(b()))])]),
        };
        // Of the coefficients: of log x, x and 1 / x.
        let discriminant = sum([product([eta(0), eta(0)]), times(4.0, product([eta(1), eta(2)]))]);
        Formulas {
            parameters: vec![("p", eta(0)), ("a", times(-2.0, eta(1))), ("b", times(-2.0, eta(2)))],
            expectations: vec![
                (log_statistic(), sum([half(log(over(b(), a()))), in_order])),
                (Statistic::identity(), product([root(over(b(), a())), ratio(1.0)])),
                (inverse(), product([root(over(a(), b())), ratio(-1.0)])),
            ],
            limits: vec![gamma, inverse_gamma],
            log_normaliser: Some(sum([
                number(std::f64::consts::LN_2),
                log_bessel(p()),
                times(0.5, product([p(), log(over(b(), a()))])),
            ])),
            mode: Some(over(sum([eta(0), root(discriminant)]), times(-2.0, eta(1)))),
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
            descriptors[2][row] = 0.0 - 2.0 * natural[2][row];
        }
        self.complete(batch, descriptors)
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            let (p, a, b) = (descriptors[0][row], descriptors[1][row], descriptors[2][row]);
            require_finite(row, "order p", p)?;
            // One of them may be 0: a Gamma or an inverse Gamma.
            if a != 0.0 || p >= 0.0 {
                require_positive(row, "coefficient a", a)?;
            }
            if b != 0.0 || p <= 0.0 {
                require_positive(row, "coefficient b", b)?;
            }
            descriptors[3][row] = moments(p, a, b).mean;
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        for row in 0..batch.rows {
            natural[0][row] = descriptors[0][row];
            natural[1][row] = -0.5 * descriptors[1][row];
            natural[2][row] = -0.5 * descriptors[2][row];
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        if which == 1 {
            out.copy_from_slice(descriptors[3]);
            return;
        }
        for row in 0..batch.rows {
            let moments = moments(descriptors[0][row], descriptors[1][row], descriptors[2][row]);
            out[row] = if which == 0 { moments.log } else { moments.inverse };
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            out[row] = moments(descriptors[0][row], descriptors[1][row], descriptors[2][row]).log_normaliser;
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            // The positive root of linear x^2 - log x - inverse = 0, signs turned.
            let (log, linear, inverse) = (coefficients[0][row], -coefficients[1][row], -coefficients[2][row]);
            let refuse = |reason: &str| Err(Improper { row, reason: reason.to_owned() });
            value[row] = if log == 0.0 && linear == 0.0 && inverse == 0.0 {
                0.0
            } else if linear < 0.0 || (linear == 0.0 && log >= 0.0) {
                return refuse("the objective grows without limit (no rate)");
            } else if inverse < 0.0 || (inverse == 0.0 && log < 0.0) {
                return refuse("the mode is an infinite density at 0 (no scale)");
            } else {
                let root = log.hypot(2.0 * (linear.sqrt() * inverse.sqrt()));
                if log >= 0.0 { (log + root) / (2.0 * linear) } else { 2.0 * inverse / (root - log) }
            };
        }
        Ok(())
    }

    fn observe(&self, _batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        observed::describe(descriptors, row, &[0.0, f64::INFINITY, f64::INFINITY, value[0]]);
        true
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let (p, a, b) = (descriptors[0][row], descriptors[1][row], descriptors[2][row]);
            out[row] = if p >= 0.0 { draw(p, a, b, rng) } else { draw(-p, b, a, rng).recip() };
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill(0.5);
        descriptors[1].fill(1.0);
        descriptors[2].fill_with(|| 0.5 + rng.random::<f64>());
        self.complete(batch, descriptors).expect("both coefficients are positive");
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        // The inverse Gaussian of that mean and shape: K_(1/2) and K_(-1/2) are equal, and E x = sqrt(b / a).
        descriptors[0].fill(-0.5);
        for row in 0..batch.rows {
            require_positive(row, "mean", centre[row])?;
            descriptors[1][row] = 1.0 / centre[row];
            descriptors[2][row] = centre[row];
        }
        self.complete(batch, descriptors)
    }
}

/// A draw for `p >= 0`, `a > 0`, `b >= 0`. The density of `s = log(x / x0)` is `exp(-f(s))` up to a factor,
/// `f(s) = p (e^s - 1 - s) + d (cosh s - 1)`, convex with its least value `f(0) = 0`. Where `f = 1` on either side, its
/// tangents lie below it: the envelope is 1 between their roots and falls exponentially beyond.
fn draw(p: f64, a: f64, b: f64, rng: &mut dyn RngCore) -> f64 {
    let z = a.sqrt() * b.sqrt();
    let w = p.hypot(z);
    let d = z * (z / (p + w));
    let half = |s: f64| 0.5 * s;
    let cosh_less_one = |s: f64| {
        let sinh = half(expm1(half(s)) - expm1(-half(s)));
        2.0 * sinh * sinh
    };
    let f = |s: f64| p * above_tangent(s) + d * cosh_less_one(s);
    let slope = |s: f64| p * expm1(s) + half(d * (expm1(s) - expm1(-s)));
    // Where f passes 1, by doubling and halving.
    let edge = |sign: f64| {
        let mut high = 1.0;
        while f(sign * high) < 1.0 {
            high *= 2.0;
        }
        while f(sign * half(high)) >= 1.0 {
            high = half(high);
        }
        let mut low = half(high);
        for _ in 0..40 {
            let middle = half(low + high);
            if f(sign * middle) < 1.0 { low = middle } else { high = middle }
        }
        sign * high
    };
    let tangent = |at: f64| (at - f(at) / slope(at), slope(at).abs().recip());
    let ((right, right_scale), (left, left_scale)) = (tangent(edge(1.0)), tangent(edge(-1.0)));
    let whole = right - left + right_scale + left_scale;
    loop {
        let place = whole * rng.random::<f64>() - left_scale;
        let (s, envelope) = if (0.0..=right - left).contains(&place) {
            (left + place, 0.0)
        } else {
            let tail: f64 = rng.sample(Exp1);
            if place < 0.0 { (left - tail * left_scale, -tail) } else { (right + tail * right_scale, -tail) }
        };
        let level: f64 = rng.sample(Exp1);
        if level >= f(s) + envelope {
            return (p + w) / a * exp(s);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// Near point masses: the spread of `log x` is at most `1 / sqrt(hypot(p, z))`.
    #[test]
    fn draws_of_near_point_masses_come() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for size in [1e8_f64, 1e16, 1e30, 1e100, 1e300] {
            for (p, a, b) in [(size, 2.0 * size, 0.0), (0.5, size, size), (size, size, size)] {
                let (mode, spread) = ((p + p.hypot(a.sqrt() * b.sqrt())) / a, 1.0 / f64::sqrt(size));
                for _ in 0..100 {
                    let x = draw(p, a, b, &mut rng);
                    assert!((x / mode - 1.0).abs() < 10.0 * spread + 1e-12, "{p} {a} {b}: {x}");
                }
            }
        }
    }
}
