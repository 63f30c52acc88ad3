//! The distribution of one number under q, and its quantiles.
//!
//! A [`Marginal`] is made of the parameters that a factor of q is stored by. Quantiles of a Gamma and of a Beta solve `F(x) = p`
//! in `t = log x` (of a Beta in `t = log(x / (1 - x))`), where `F` is nearly linear in both tails, by Newton steps that a bracket keeps
//! safe. The distribution functions are the regularised incomplete Gamma and Beta functions:
//!
//! ```text
//! P(a, x) = x^a e^-x / Gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...)          for x < a + 1
//! 1 - P(a, x) = x^a e^-x / Gamma(a) (1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)))           else
//! I_x(a, b) = x^a (1 - x)^b / (a B(a, b)) (1 / (1 + d_1 / (1 + d_2 / ...)))                     for x < (a + 1) / (a + b + 2)
//! ```
//!
//! Shapes of 1e6 and more, of a Beta where both parameters are as large, take the expansion of Cornish and Fisher, whose next term is
//! less than the rounding. A fraction that has not converged is no number.
//!
//! # Source
//! Abramowitz and Stegun (1964) 6.5.29, 6.5.31, 26.5.8; continued fractions by Lentz's method (Press et al., Numerical Recipes, 6.2 and
//! 6.4); Cornish and Fisher (1937), for a Gamma as in Abramowitz and Stegun 26.2.49.

use cavi_numerics::special::{
    exp, expm1, ln, ln_beta, log_gamma, log1p, normal_log_cdf, normal_log_quantile, normal_quantile,
};

/// The distribution of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Marginal {
    /// A Normal; a variance of 0 is a point.
    Normal {
        /// The mean.
        mean: f64,
        /// The variance.
        var: f64,
    },
    /// A Gamma.
    Gamma {
        /// The shape.
        shape: f64,
        /// The rate.
        rate: f64,
    },
    /// The reciprocal of a Gamma whose rate is this scale.
    InverseGamma {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: f64,
    },
    /// A Beta; an element of a Dirichlet is one of its concentration and of the sum of the others.
    Beta {
        /// Of log x.
        a: f64,
        /// Of log(1 - x).
        b: f64,
    },
    /// A density proportional to `exp(linear x - prec x^2 / 2)` on `[0, inf)`.
    TruncatedNormal {
        /// Of x.
        linear: f64,
        /// Of -x^2 / 2.
        prec: f64,
    },
    /// A Student distribution, moved and scaled: that of a mean whose precision has a Gamma or a Wishart distribution.
    Student {
        /// The middle.
        location: f64,
        /// The square of the scale.
        square: f64,
        /// The degrees of freedom.
        dof: f64,
    },
    /// A mixture of two Normals: that of a weight with a switch.
    Mixture {
        /// The probability of the second.
        prob: f64,
        /// The means.
        means: [f64; 2],
        /// The variances; one of 0 is a point.
        vars: [f64; 2],
    },
    /// A distribution whose quantiles are not known, such as that of an element of a Wishart beside the diagonal.
    Moments {
        /// The standard deviation.
        deviation: f64,
    },
}

impl Marginal {
    /// The standard deviation; `None` where it is infinite, and of a truncated Normal, whose moments are stored.
    pub fn deviation(self) -> Option<f64> {
        match self {
            Marginal::Normal { var, .. } => Some(var.sqrt()),
            Marginal::Gamma { shape, rate } => Some(shape.sqrt() / rate),
            Marginal::InverseGamma { shape, scale } => {
                (shape > 2.0).then(|| scale / ((shape - 1.0) * (shape - 2.0).sqrt()))
            }
            Marginal::Beta { a, b } => Some((a * b / (a + b + 1.0)).sqrt() / (a + b)),
            Marginal::TruncatedNormal { .. } => None,
            Marginal::Student { square, dof, .. } => (dof > 2.0).then(|| (square * dof / (dof - 2.0)).sqrt()),
            Marginal::Mixture { prob, means, vars } => {
                let apart = means[1] - means[0];
                Some((prob * vars[1] + (1.0 - prob) * vars[0] + prob * (1.0 - prob) * apart * apart).sqrt())
            }
            Marginal::Moments { deviation } => Some(deviation),
        }
    }

    /// The number that x is less than with probability `p`, which lies strictly between 0 and 1; NaN where the parameters are those of no
    /// distribution. The relative error is below 1e-9.
    pub fn quantile(self, p: f64) -> f64 {
        match self {
            Marginal::Normal { mean, var } => {
                if var == 0.0 {
                    mean
                } else {
                    mean + var.sqrt() * normal_quantile(p)
                }
            }
            Marginal::Gamma { shape, rate } => exp(log_gamma_quantile(shape, p)) / rate,
            Marginal::InverseGamma { shape, scale } => scale / exp(log_gamma_quantile(shape, 1.0 - p)),
            Marginal::Beta { a, b } => beta_quantile(a, b, p),
            Marginal::TruncatedNormal { linear, prec } => truncated_quantile(linear, prec, p),
            Marginal::Student { location, square, dof } => {
                location + square.sqrt() * student_quantile(dof, p)
            }
            Marginal::Mixture { prob, means, vars } => mixture_quantile(prob, means, vars, p),
            Marginal::Moments { .. } => f64::NAN,
        }
    }
}

/// A shape from which on quantiles are expanded about those of a Normal.
const LARGE: f64 = 1e6;
/// Steps of a solution; each at least halves the bracket.
const STEPS: usize = 200;
/// Terms of a series or of a continued fraction: they need a few times the root of the largest parameter.
const TERMS: usize = 20_000;

/// The logarithm of the quantile of a Gamma of rate 1.
fn log_gamma_quantile(shape: f64, p: f64) -> f64 {
    if !(shape > 0.0 && shape.is_finite()) {
        return f64::NAN;
    }
    if shape >= LARGE {
        return ln(expanded_gamma_quantile(shape, p));
    }
    // x^a / Gamma(a + 1) bounds F from above, so this bounds the quantile from below; where F is small both are equal.
    let low = (ln(p) + log_gamma(shape + 1.0)) / shape - 1.0;
    let high = ln(shape + 12.0 * shape.sqrt() + 60.0);
    let density = |t: f64| exp(shape * t - exp(t) - log_gamma(shape));
    solve(low, high, p, &|t| incomplete_gamma(shape, t), &density)
}

/// Cornish and Fisher's expansion for a Gamma in powers of `1 / sqrt(shape)`, from the cumulants `shape (r - 1)!`.
fn expanded_gamma_quantile(shape: f64, p: f64) -> f64 {
    let z = normal_quantile(p);
    let root = shape.sqrt();
    shape + root * z + (z * z - 1.0) / 3.0 + (z * z * z - 7.0 * z) / (36.0 * root)
        - (3.0 * z.powi(4) + 7.0 * z * z - 16.0) / (810.0 * shape)
}

/// `P(shape, e^t)`.
fn incomplete_gamma(shape: f64, t: f64) -> f64 {
    let x = exp(t);
    let front = exp(shape * t - x - log_gamma(shape));
    if x < shape + 1.0 {
        let (mut term, mut sum, mut next) = (1.0 / shape, 1.0 / shape, shape);
        for _ in 0..TERMS {
            next += 1.0;
            term *= x / next;
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        return front * sum;
    }
    let fraction = lentz(x + 1.0 - shape, &|step| {
        let step = step as f64;
        (-step * (step - shape), x + 1.0 - shape + 2.0 * step)
    });
    1.0 - front / fraction
}

/// The quantile of a Beta.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    exp(-softplus(-log_odds_quantile(a, b, p)))
}

/// The quantile of log odds `log(x / (1 - x))` of a Beta.
fn log_odds_quantile(a: f64, b: f64, p: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && a.is_finite() && b.is_finite()) {
        return f64::NAN;
    }
    if a.min(b) >= LARGE {
        return expanded_log_odds_quantile(a, b, p);
    }
    let log_beta = ln_beta(a, b);
    let density = |t: f64| {
        let (log_x, log_rest) = (-softplus(-t), -softplus(t));
        exp(a * log_x + b * log_rest - log_beta)
    };
    // x^a / (a B) is F where x is small, and likewise on the other side.
    let low = ((ln(p) + ln(a) + log_beta) / a).min(0.0) - 40.0 - 2.0 / a.min(1.0);
    let high = 40.0 + 2.0 / b.min(1.0) - ((log1p(-p) + ln(b) + log_beta) / b).min(0.0);
    solve(low, high, p, &|t| incomplete_beta(a, b, t, log_beta), &density)
}

/// Cornish and Fisher's expansion for the log odds of a Beta: those are `log G - log H` for Gamma variables of shapes a and b, so that
/// their cumulants are `psi^(r-1)(a) + (-1)^r psi^(r-1)(b)`. Polygammas by the first terms of their asymptotic series, whose next are
/// below 1e-18 of them from shapes of 1e6 on.
fn expanded_log_odds_quantile(a: f64, b: f64, p: f64) -> f64 {
    let z = normal_quantile(p);
    let polygammas = |x: f64| {
        let r = 1.0 / x;
        // psi(x) without log x, psi'(x), psi''(x), psi'''(x).
        [-0.5 * r - r * r / 12.0, r + 0.5 * r * r + r * r * r / 6.0, -r * r - r * r * r, 2.0 * r * r * r]
    };
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (polygammas(a), polygammas(b));
    let (variance, third, fourth) = (a1 + b1, a2 - b2, a3 + b3);
    let sd = variance.sqrt();
    let (skewness, kurtosis) = (third / (variance * sd), fourth / (variance * variance));
    let standard = z + (z * z - 1.0) * skewness / 6.0 + (z * z * z - 3.0 * z) * kurtosis / 24.0
        - (2.0 * z * z * z - 5.0 * z) * skewness * skewness / 36.0;
    ln(a / b) + (a0 - b0) + sd * standard
}

/// `log(1 + e^t)`.
fn softplus(t: f64) -> f64 {
    if t > 0.0 { t + log1p(exp(-t)) } else { log1p(exp(t)) }
}

/// `I_x(a, b)` at `x = 1 / (1 + e^-t)`.
fn incomplete_beta(a: f64, b: f64, t: f64, log_beta: f64) -> f64 {
    let x = exp(-softplus(-t));
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - lower_beta(b, a, -t, log_beta);
    }
    lower_beta(a, b, t, log_beta)
}

/// The same by its continued fraction, where that converges fast.
fn lower_beta(a: f64, b: f64, t: f64, log_beta: f64) -> f64 {
    let (log_x, log_rest) = (-softplus(-t), -softplus(t));
    let x = exp(log_x);
    let front = exp(a * log_x + b * log_rest - log_beta) / a;
    let fraction = lentz(1.0, &|step| {
        let m = (step / 2) as f64;
        let coefficient = match step % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        (coefficient, 1.0)
    });
    front / fraction
}

/// `first + c_1 / (d_1 + c_2 / (d_2 + ...))` by Lentz's method, where `terms(n)` gives `(c_n, d_n)`; NaN where it has not converged to
/// a few roundings.
fn lentz(first: f64, terms: &dyn Fn(usize) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let apart = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut value = apart(first);
    let (mut upper, mut lower) = (value, 0.0);
    for step in 1..=TERMS {
        let (numerator, denominator) = terms(step);
        lower = 1.0 / apart(denominator + numerator * lower);
        upper = apart(denominator + numerator / upper);
        let factor = upper * lower;
        value *= factor;
        if (factor - 1.0).abs() <= 2.0 * f64::EPSILON {
            return value;
        }
    }
    f64::NAN
}

/// The root of `below(t) = p` in a bracket, for an increasing function with this derivative; NaN where the function is no number there.
fn solve(low: f64, high: f64, p: f64, below: &dyn Fn(f64) -> f64, density: &dyn Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    let mut t = 0.5 * (low + high);
    for _ in 0..STEPS {
        let value = below(t);
        if value < p {
            low = t;
        } else {
            high = t;
        }
        // On the scale of log F a tail is a line, and Newton's method takes one step.
        let step = ln(value / p) * value / density(t);
        let next = t - step;
        let next = if next > low && next < high { next } else { 0.5 * (low + high) };
        if (next - t).abs() <= 4.0 * f64::EPSILON * t.abs().max(1e-3) || high - low <= f64::EPSILON * t.abs()
        {
            return if value.is_nan() { f64::NAN } else { next };
        }
        t = next;
    }
    t
}

/// The quantile of a Student distribution: with `x` its number, `nu / (nu + x^2)` is a Beta of `nu / 2` and `1 / 2`, so that
/// `log(nu / x^2)` is the quantile of its log odds at twice the level of the tail. From 1e5 degrees of freedom on it is expanded about
/// that of a Normal (Abramowitz and Stegun 26.7.5).
fn student_quantile(dof: f64, p: f64) -> f64 {
    if !(dof > 0.0) {
        return f64::NAN;
    }
    if dof >= 1e5 {
        let z = normal_quantile(p);
        let square = z * z;
        let first = z * (square + 1.0) / 4.0;
        let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
        return z + (first + second / dof) / dof;
    }
    if p == 0.5 {
        return 0.0;
    }
    let log_odds = log_odds_quantile(0.5 * dof, 0.5, 2.0 * p.min(1.0 - p));
    (p - 0.5).signum() * exp(0.5 * (ln(dof) - log_odds))
}

/// The quantile of a mixture of two Normals, which lies between theirs, by bisection.
fn mixture_quantile(prob: f64, means: [f64; 2], vars: [f64; 2], p: f64) -> f64 {
    let own = |place: usize| Marginal::Normal { mean: means[place], var: vars[place] }.quantile(p);
    let below = |x: f64| {
        let of = |place: usize| match vars[place] == 0.0 {
            true => f64::from(u8::from(x >= means[place])),
            false => exp(normal_log_cdf((x - means[place]) / vars[place].sqrt())),
        };
        prob * of(1) + (1.0 - prob) * of(0)
    };
    let (mut low, mut high) = (own(0).min(own(1)), own(0).max(own(1)));
    if !(low.is_finite() && high.is_finite()) {
        return f64::NAN;
    }
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if middle == low || middle == high {
            break;
        }
        *(if below(middle) < p { &mut low } else { &mut high }) = middle;
    }
    high
}

/// The quantile of a Normal truncated to positive numbers, in logarithms of its upper tail; of an Exponential where prec is 0.
fn truncated_quantile(linear: f64, prec: f64, p: f64) -> f64 {
    if prec == 0.0 && linear < 0.0 {
        return -log1p(-p) / -linear;
    }
    if !(prec > 0.0 && prec.is_finite() && linear.is_finite()) {
        return f64::NAN;
    }
    let sd = 1.0 / prec.sqrt();
    let cut = -linear * sd;
    if cut > 3.0 {
        return sd * beyond_cut(cut, -log1p(-p));
    }
    let beyond = normal_log_cdf(-cut) + log1p(-p);
    let upper = if beyond > -1e-300 { normal_quantile(-expm1(beyond)) } else { -normal_log_quantile(beyond) };
    sd * (upper - cut)
}

/// How far beyond a cut a standard Normal reaches with probability `e^-exponent`: the root of
/// `c u + u^2 / 2 + log h(c + u) - log h(c) = exponent` with the hazard `h(c) = c + 1 / (c + 2 / (c + ...))`, which is its derivative too.
fn beyond_cut(cut: f64, exponent: f64) -> f64 {
    let hazard = |at: f64| lentz(at, &|step| (step as f64, at));
    let at_cut = hazard(cut);
    let mut u = exponent / at_cut;
    for _ in 0..STEPS {
        let here = hazard(cut + u);
        let step = (cut * u + 0.5 * u * u + ln(here / at_cut) - exponent) / here;
        u -= step;
        if step.abs() <= 4.0 * f64::EPSILON * u {
            break;
        }
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: [f64; 3] = [0.05, 0.5, 0.95];

    fn check(marginal: Marginal, expected: [f64; 3]) {
        for (level, expected) in LEVELS.into_iter().zip(expected) {
            let found = marginal.quantile(level);
            let error = (found - expected).abs();
            assert!(
                error <= 1e-9 * expected.abs() + 1e-300,
                "{marginal:?} at {level}: {found:e} {expected:e}"
            );
        }
    }

    /// Of large parameters the quantile lies where a Normal's does, to the first order of their roots: with `n` and `m` trials,
    /// `p = 1e-3` away from it the distribution function moves by no more than its density says. Values of `betaincinv` of mpmath
    /// would need as many digits as the parameters have; the law of the two tails is exact: the quantile of the odds of `Beta(a, b)` at
    /// `p` is the reciprocal of that of `Beta(b, a)` at `1 - p`, and near 1e6 the expansion meets the continued fraction.
    #[test]
    fn large_betas_meet_the_fraction_and_their_normal() {
        for (a, b) in [(1e6, 1e6), (1.2e6, 4e6), (3e6, 1.1e6)] {
            for p in [0.001, 0.05, 0.5, 0.95, 0.999] {
                let t = log_odds_quantile(a, b, p);
                let own = incomplete_beta(a, b, t, ln_beta(a, b));
                // The logarithms of the two parts of the density are rounded at 1e-16 of some millions.
                assert!((own / p - 1.0).abs() < 2e-8, "{a} {b} at {p}: {own}");
            }
        }
        for n in [1e8_f64, 2e10, 2e14, 1e18] {
            let sd = (0.25 / (2.0 * n)).sqrt();
            for (p, z) in [(0.05, -1.6448536269514722), (0.5, 0.0), (0.95, 1.6448536269514722)] {
                let x = log_odds_quantile(n, n, p);
                assert!((x / 4.0 / sd - z).abs() < 1e-7, "{n} at {p}: {}", x / 4.0 / sd);
                let mirrored = log_odds_quantile(2.0 * n, n, p) + log_odds_quantile(n, 2.0 * n, 1.0 - p);
                assert!(mirrored.abs() < 1e-14 + 1e-10 * sd, "{mirrored}");
            }
        }
    }

    /// Values of SciPy 1.17, `stats.gamma.ppf`, `stats.beta.ppf`, `stats.truncnorm.ppf` and `stats.norm.ppf`; those of a cut
    /// at 300 by `findroot` of mpmath 1.4, since SciPy's keep 6 digits.
    #[test]
    fn quantiles_are_those_of_scipy() {
        let gammas = [
            (0.05, [5.573875481878824e-27, 5.573878440746256e-07, 0.2659323024258409]),
            (0.7, [0.012163199432408395, 0.4074237484764413, 2.3826200186483693]),
            (1.0, [0.05129329438755053, 0.6931471805599455, 2.9957322735539895]),
            (3.5, [1.0836749546490285, 3.1729055977607574, 7.033570224670084]),
            (40.0, [30.195739194344732, 39.6671650106891, 50.93973698271794]),
            (1000.0, [948.5598493836511, 999.6666864269652, 1052.5771180823206]),
            (2e5, [199264.96804850159, 199999.66666676544, 200736.1689801604]),
            (3e7, [29990991.33419755, 29999999.666666668, 30009009.802831415]),
        ];
        for (shape, expected) in gammas {
            check(Marginal::Gamma { shape, rate: 1.0 }, expected);
            check(Marginal::Gamma { shape, rate: 4.0 }, expected.map(|own| own / 4.0));
            let [low, middle, high] = expected;
            check(Marginal::InverseGamma { shape, scale: 3.0 }, [3.0 / high, 3.0 / middle, 3.0 / low]);
        }
        let small = Marginal::Gamma { shape: 1e-3, rate: 1.0 };
        assert_eq!(small.quantile(0.05), 0.0);
        assert!((small.quantile(0.95) / 2.973587549646711e-23 - 1.0).abs() < 1e-9);
        let betas = [
            (0.02, 3.0, [2.0064250420017997e-66, 2.0064250420018077e-16, 0.0180040474859598]),
            (0.5, 0.5, [0.0061558297024311365, 0.5, 0.9938441702975689]),
            (1.0, 1.0, [0.05, 0.5, 0.95]),
            (2.5, 70.0, [0.00806296852459694, 0.030286438414576133, 0.07526268006355948]),
            (300.0, 4.0, [0.9746104872139404, 0.9878944181085241, 0.995478477352313]),
            (1e4, 2e4, [0.3288629982552974, 0.33332962958390583, 0.33781630228265275]),
            (0.01, 0.02, [3.1055928275781e-113, 3.105592827577112e-13, 1.0]),
            (5e5, 3.0, [0.9999874085172127, 0.9999946519043699, 0.9999983646217137]),
        ];
        for (a, b, expected) in betas {
            check(Marginal::Beta { a, b }, expected);
        }
        let truncated = [
            (0.0, 1.0, [0.0627067779432137, 0.6744897501960817, 1.959963984540054]),
            (2.0, 4.0, [0.08047832379286007, 0.6000868430834454, 1.363592414410719]),
            (-3.0, 2.0, [0.014564481489638403, 0.18846232700713528, 0.7196707507723059]),
            (-300.0, 1.0, [0.00017097569950112236, 0.0023104560337902687, 0.009_985_497_115_936]),
            (50.0, 1.0, [48.35514637304853, 50.0, 51.64485362695147]),
        ];
        for (linear, prec, expected) in truncated {
            check(Marginal::TruncatedNormal { linear, prec }, expected);
        }
        check(
            Marginal::TruncatedNormal { linear: -2.0, prec: 0.0 },
            [0.05, 0.5, 0.95].map(|p: f64| -(1.0 - p).ln() / 2.0),
        );
        // Those of a mixture are roots of its distribution function, by `optimize.brentq`.
        let students = [
            (0.5, 41.13600009287819),
            (1.0, 6.313751514675037),
            (2.0, 2.9199855803537242),
            (3.5, 2.2224334936496004),
            (30.0, 1.697260886593957),
            (1000.0, 1.6463788172854643),
            (3e5, 1.6448587061977442),
            (1e9, 1.6448536284752415),
        ];
        for (dof, high) in students {
            check(Marginal::Student { location: 0.0, square: 1.0, dof }, [-high, 0.0, high]);
            let moved = [1.0 - 3.0 * high, 1.0, 1.0 + 3.0 * high];
            check(Marginal::Student { location: 1.0, square: 9.0, dof }, moved);
        }
        assert_eq!(Marginal::Student { location: 0.0, square: 4.0, dof: 2.0 }.deviation(), None);
        assert_eq!(
            Marginal::Student { location: 0.0, square: 4.0, dof: 4.0 }.deviation(),
            Some(8.0_f64.sqrt())
        );
        let mixtures = [
            (0.3, [0.0, 2.0], [1.0, 0.25], [-1.465233792692114, 0.563389191325895, 2.5125016085812666]),
            (0.9, [-1.0, 5.0], [4.0, 0.01], [-0.9999999999999991, 4.986067811772515, 5.159424626368281]),
        ];
        for (prob, means, vars, expected) in mixtures {
            check(Marginal::Mixture { prob, means, vars }, expected);
        }
        let switch = Marginal::Mixture { prob: 0.3, means: [0.0, 2.0], vars: [1.0, 0.25] };
        // E w^2 - (E w)^2 = 0.7 + 0.3 (0.25 + 4) - 0.36
        assert!((switch.deviation().unwrap_or(0.0) - 1.615_f64.sqrt()).abs() < 1e-15);
        let half = 1.6448536269514722;
        check(Marginal::Normal { mean: 1.0, var: 4.0 }, [1.0 - 2.0 * half, 1.0, 1.0 + 2.0 * half]);
        assert_eq!(Marginal::Normal { mean: 3.0, var: 0.0 }.quantile(0.95), 3.0);
        assert!(Marginal::Gamma { shape: f64::INFINITY, rate: f64::INFINITY }.quantile(0.5).is_nan());
    }

    /// `F` of a quantile is its level, over all sizes of parameters.
    #[test]
    fn quantiles_have_their_level() {
        let sizes = || (-12..=22).map(|power| 10.0_f64.powf(f64::from(power) / 4.0));
        let check = |found: f64, level: f64, what: &dyn Fn() -> String| {
            assert!((found - level).abs() < 1e-8, "{} at {level}: {found}", what());
        };
        for level in [0.001, 0.05, 0.5, 0.95] {
            for a in sizes() {
                check(incomplete_gamma(a, log_gamma_quantile(a, level)), level, &|| format!("Gamma {a}"));
                for b in sizes() {
                    let t = log_odds_quantile(a, b, level);
                    check(incomplete_beta(a, b, t, ln_beta(a, b)), level, &|| format!("Beta {a} {b}"));
                }
            }
        }
        // An expansion joins what it takes the place of.
        for level in LEVELS {
            let (one, other) = (expanded_gamma_quantile(9e5, level), exp(log_gamma_quantile(9e5, level)));
            assert!((one - other).abs() < 1e-10 * other, "{one} {other}");
        }
    }
}
