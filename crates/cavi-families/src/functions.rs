//! The functions of expressions, one number at a time: what constants, data, starts and the interpreter call.

use cavi_algebra::Function;
use cavi_numerics::special;

/// `function(arguments)`; NaN or infinite where it has no value.
pub fn apply(function: Function, arguments: &[f64]) -> f64 {
    let x = arguments.first().copied().unwrap_or(f64::NAN);
    match function {
        Function::Exp => special::exp(x),
        Function::Log => special::ln(x),
        Function::Sqrt => x.sqrt(),
        Function::SinePi => special::sin_pi(x),
        Function::LogOneLessExp => special::log_one_less_exp(x),
        Function::LogGamma => special::log_gamma(x),
        Function::Digamma => special::digamma(x),
        Function::Trigamma => special::trigamma(x),
        Function::LogBesselK => special::log_bessel_k(x, arguments[1]),
        Function::Power => power(x, arguments[1]),
        Function::Logistic => special::logistic(x),
        Function::Softplus => special::softplus(x),
        Function::EvenSoftplus => special::even_softplus(x),
        Function::LogisticCurvature => special::logistic_curvature(x),
        Function::Phi => special::normal_cdf(x),
        Function::InversePhi => special::normal_quantile(x),
        Function::StandardNormalLogCdf => special::normal_log_cdf(x),
        Function::StandardNormalLogCcdf => special::normal_log_cdf(-x),
        Function::StandardNormalLogQf => special::normal_log_quantile(x),
        Function::LogDeterminant => cavi_numerics::linalg::log_determinant_of(arguments),
        Function::LogMultivariateGamma => special::log_multivariate_gamma(x, arguments[1] as usize),
        Function::AtMostOne => x.min(1.0),
        Function::LogLeft => special::ln((1.0 - x).max(arguments[1].min(1.0)).max(f64::EPSILON)),
    }
}

/// `x^p`: by multiplication for whole powers up to 64, by logs for others. A negative number has whole powers alone, whose sign is that of
/// `(-1)^p`.
pub fn power(x: f64, p: f64) -> f64 {
    if p.fract() == 0.0 && p.abs() <= 64.0 {
        return x.powi(p as i32);
    }
    if x < 0.0 && p.fract() == 0.0 {
        // Whole numbers beyond 2^53 are even.
        let sign = if p % 2.0 == 0.0 { 1.0 } else { -1.0 };
        return sign * special::exp(p * special::ln(-x));
    }
    if x == 0.0 {
        return if p > 0.0 { 0.0 } else { f64::INFINITY };
    }
    special::exp(p * special::ln(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(function: Function, x: f64, expected: f64) {
        let found = apply(function, &[x]);
        let error = (found - expected).abs() / expected.abs().max(1e-300);
        assert!(found == expected || error < 1e-13, "{}({x}): {found}, not {expected}", function.name());
    }

    #[test]
    fn negative_numbers_have_whole_powers_of_any_size() {
        for p in [64.0, 65.0, 66.0, 100.0, 101.0, 1e6, 1e6 + 1.0, -65.0, -100.0] {
            assert_eq!(power(-1.0, p), if p % 2.0 == 0.0 { 1.0 } else { -1.0 }, "{p}");
        }
        let expected = -36893488147419103232.0;
        assert!((power(-2.0, 65.0) / expected - 1.0).abs() < 1e-13);
        assert!(power(-2.0, 64.5).is_nan());
    }

    /// Values from mpmath at 60 digits.
    #[test]
    fn normal_tails() {
        check(Function::StandardNormalLogCdf, -38.0, -726.5572160188201);
        check(Function::StandardNormalLogCdf, -6.0, -20.736768949974707);
        check(Function::Phi, -6.0, 9.86587645037698e-10);
        check(Function::StandardNormalLogCdf, -1.5, -2.7059444008238898);
        check(Function::Phi, -1.5, 0.06680720126885807);
        check(Function::StandardNormalLogCdf, -1.0, -1.8410216450092636);
        check(Function::Phi, -1.0, 0.15865525393145705);
        check(Function::StandardNormalLogCdf, -0.5, -1.1759117615936185);
        check(Function::Phi, -0.5, 0.3085375387259869);
        check(Function::StandardNormalLogCdf, 0.0, -std::f64::consts::LN_2);
        check(Function::Phi, 0.0, 0.5);
        check(Function::StandardNormalLogCdf, 0.7, -0.2770239422771313);
        check(Function::Phi, 0.7, 0.758036347776927);
        check(Function::StandardNormalLogCdf, 3.0, -0.0013508099647481938);
        check(Function::Phi, 3.0, 0.9986501019683699);
        check(Function::StandardNormalLogCdf, 8.0, -6.220960574271786e-16);
        check(Function::Phi, 8.0, 0.9999999999999993);
        check(Function::StandardNormalLogCcdf, 0.9, -1.6924928065613383);
        check(Function::StandardNormalLogQf, -700.0, -37.295079632647415);
        check(Function::StandardNormalLogQf, -30.0, -7.35766681500875);
        check(Function::StandardNormalLogQf, -2.0, -1.1015196284987503);
        check(Function::StandardNormalLogQf, -0.8, -0.12735689870543399);
        check(Function::StandardNormalLogQf, -0.3, 0.6458699862012636);
        check(Function::StandardNormalLogQf, -0.001, 3.090380786917045);
        check(Function::StandardNormalLogQf, -1e-12, 7.034483825301201);
        check(Function::InversePhi, 0.25, -0.6744897501960817);
        check(Function::InversePhi, 0.75, 0.6744897501960817);
        check(Function::InversePhi, 1e-10, -6.361340902404057);
    }

    /// Values from mpmath at 400 digits.
    #[test]
    fn log_of_a_complement() {
        for (x, expected) in [
            (-1e-300, -690.775_527_898_213_7),
            (-4e-18, -40.060_237_312_772_93),
            (-0.001, -6.908_255_237_315_471),
            (-0.69, -0.696_304_297_144_056_7),
            (-0.7, -0.686_341_002_808_385_2),
            (-3.0, -0.051_069_180_942_701_59),
            (-40.0, -4.248_354_255_291_589e-18),
        ] {
            check(Function::LogOneLessExp, x, expected);
        }
    }

    #[test]
    fn logistic_and_powers() {
        check(Function::Logistic, 0.0, 0.5);
        check(Function::Logistic, -800.0, 0.0);
        check(Function::Softplus, 800.0, 800.0);
        check(Function::Softplus, 0.0, std::f64::consts::LN_2);
        assert_eq!(apply(Function::Power, &[2.0, 10.0]), 1024.0);
        assert_eq!(apply(Function::Power, &[0.0, 0.3]), 0.0);
    }
}
