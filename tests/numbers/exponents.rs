//! Powers and constants by their numbers: even powers of what has either sign, and named constants in exponents and in front.

use cavi::bind::ArrayInput;
use cavi::{Control, Settings};
use cavi_tests::support::{Ready, file_of};

/// A column as a file.
fn column(name: &str, values: &[f64]) -> ArrayInput {
    let lines: Vec<String> = values.iter().map(f64::to_string).collect();
    file_of(name, "column.csv", format!("{}\n", lines.join("\n")).into_bytes())
}

/// The value of a point `w` in a fit of a program to observations `y`.
fn point(text: &str, y: &[f64]) -> f64 {
    let program = Ready::new(text, &[], vec![column("y", y)]);
    let fit = program.problem().fit(&Settings::default(), &mut |_| Control::Continue);
    let fit = fit.unwrap_or_else(|error| panic!("{error:?}"));
    program.column(&fit.parameters, "w", 0)[0]
}

/// The log of an even power of a difference is no multiple of the log of the difference: each of these has a maximum at some w < 1, where
/// `w - 1` is negative, and the fit is at one.
#[test]
fn the_log_of_a_square_is_taken_of_the_square() {
    let normal = [2.5, 1.5, 2.0];
    let counts = [15.0, 18.0, 14.0];
    let log_normal = |y: f64, mean: f64, var: f64| -0.5 * (var.ln() + (y - mean).powi(2) / var);
    let prior = |w: f64| log_normal(w, 0.0, 100.0);
    type Density<'a> = &'a dyn Fn(f64, f64) -> f64;
    let programs: [(&str, &str, &[f64], Density<'_>); 3] = [
        ("real", "Normal(log((w - 1)^2), sd = 0.5)", &normal, &|y, w| {
            log_normal(y, (w - 1.0_f64).powi(2).ln(), 0.25)
        }),
        ("real", "Normal(0, var = (w - 1)^2)", &normal, &|y, w| log_normal(y, 0.0, (w - 1.0_f64).powi(2))),
        ("count", "Poisson((w - 1)^2)", &counts, &|y, w| {
            y * (w - 1.0_f64).powi(2).ln() - (w - 1.0_f64).powi(2)
        }),
    ];
    for (sort, right, y, density) in programs {
        let text = format!(
            "axis row[n]\ndata y[n] : {sort}\nposterior {{ point w }}\ninit {{ w = -1 }}\nw ~ Normal(0, sd = 10)\ny[n] ~ {right}\n"
        );
        let objective = |w: f64| prior(w) + y.iter().map(|own| density(*own, w)).sum::<f64>();
        let w = point(&text, y);
        assert!(w < 1.0, "{right}: {w}");
        for step in [-1e-3, 1e-3] {
            assert!(objective(w) > objective(w + step), "{right}: {w}");
        }
    }
}

fn elbo(text: &str) -> f64 {
    let inputs = vec![column("x", &[1.0, -2.0, 0.5]), column("y", &[3.0, 6.0, 1.0])];
    let program = Ready::new(text, &[], inputs);
    let fit = program.problem().fit(&Settings::default(), &mut |_| Control::Continue);
    let fit = fit.unwrap_or_else(|error| panic!("{error:?}"));
    fit.trace.iter().rev().find_map(|row| row.elbo).expect("a bound")
}

/// A whole exponent is its number, whatever it is called: the square of data that may be negative is a rate.
#[test]
fn a_named_exponent_is_its_number() {
    let text = |constant: &str, power: &str| {
        elbo(&format!(
            "axis a[i]\ndata x[i] : real\n{constant}data y[i] : count\nv ~ Gamma(1, rate = 1)\nu ~ Gamma(1, rate = 1)\n\
             y[i] ~ Poisson(u + v * x[i]^{power})\n"
        ))
    };
    let expected = text("", "2");
    for (constant, power) in
        [("const c = 2\n", "c"), ("const c = 5 - 3\n", "c"), ("const b = 1\nconst c = b\n", "(c + 1)")]
    {
        assert_eq!(text(constant, power), expected, "{constant} {power}");
    }
}

/// A constant whose number is worked out turns the sign of what it multiplies, as one that is written does.
#[test]
fn a_constant_that_is_worked_out_has_its_sign() {
    let text = |constant: &str, rate: &str| {
        elbo(&format!(
            "axis a[i]\ndata x[i] : real\n{constant}data y[i] : count\nv ~ Gamma(2, rate = 1)\nu ~ Gamma(2, rate = 1)\n\
             y[i] ~ Poisson({rate})\n"
        ))
    };
    for (constant, rate) in [
        ("const e = 2 - 4\n", "-e * v + u"),
        ("const f = 4\nconst e = 2 - f\n", "-e * v + u"),
        ("const e = log(0.1353352832366127)\n", "-e * v + u"),
    ] {
        let (found, expected) = (text(constant, rate), text("", "2 * v + u"));
        assert!((found - expected).abs() < 1e-9, "{constant}: {found} and not {expected}");
    }
    let (found, expected) = (text("const e = 2 - 4\n", "e * (1 - 4) * v"), text("", "6 * v"));
    assert!((found - expected).abs() < 1e-9, "{found} and not {expected}");
}
