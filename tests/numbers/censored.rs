//! What the message about censored values tells to write is the likelihood of censored values.
//!
//! Of values above limits c under a Normal with precision 1 and a flat mean, `c ~ Normal(mu - d)` with a flat d >= 0 has the likelihood
//! P(x > c), and under q the mean of mu is at
//!
//! ```text
//! sum_i (x_i - mu) + sum_j phi(c_j - mu) / (1 - Phi(c_j - mu)) = 0,
//! ```
//!
//! the maximum of the likelihood: the expectation of d is the one of EM, since its factor reads the mean of mu alone. Of values
//! below limits the sign of d is the other.

use cavi::bind::Inputs;
use cavi_syntax::{CutOff, cut_off};
use cavi_tests::support::file_of;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

const VALUES: [f64; 7] = [0.3, -1.2, 0.9, 1.4, -0.4, 0.1, 1.1];
const LIMITS: [f64; 4] = [1.5, 1.5, 2.0, 0.7];

/// The program with the lines of the message, and what they leave open filled in.
fn program(below: bool) -> String {
    let advice = cut_off("censored").map(|own| own.advice("x")).expect("a word for it");
    let lines: Vec<&str> = advice.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(lines.len(), 4, "{advice}");
    let sign = if below { "mu +" } else { "mu -" };
    let lines = lines.join("\n").replace("prec = precision", "sd = 1").replace("mean -", sign);
    format!("axis item[n]\ndata x[n] : real\nmu ~ Normal(0, sd = 1e3)\nx[n] ~ Normal(mu, sd = 1)\n{lines}\n")
}

fn column(name: &str, values: &[f64]) -> cavi::bind::ArrayInput {
    let text: String = values.iter().map(|own| format!("{own}\n")).collect();
    file_of(name, &format!("{name}.csv"), format!("{name}\n{text}").into_bytes())
}

#[test]
fn censored_values_have_the_maximum_of_their_likelihood() {
    let normal = Normal::new(0.0, 1.0).expect("a distribution");
    for below in [false, true] {
        let text = program(below);
        let inputs =
            Inputs { data: vec![column("x", &VALUES), column("x_limit", &LIMITS)], ..Inputs::default() };
        let compiled = cavi::compile(&text, "censored.cavi").into_compiled();
        let problem =
            compiled.and_then(|own| own.bind(&inputs)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let settings = cavi::Settings {
            sweeps: Some(2000),
            tolerance: Some(1e-15),
            verify: true,
            ..cavi::Settings::default()
        };
        let fit = problem.fit(&settings, &mut |_| cavi::Control::Continue).expect("a fit");
        let equations = &problem.equations;
        let block =
            equations.block_of(equations.symbols.find("mu").expect("a variable")).expect("its factor");
        let mu = fit.parameters.blocks[block.index()][0][0];
        let of_values: f64 = VALUES.iter().map(|x| x - mu).sum();
        let of_limits: f64 = LIMITS
            .iter()
            .map(|limit| {
                let at = limit - mu;
                if below { -normal.pdf(at) / normal.cdf(at) } else { normal.pdf(at) / normal.sf(at) }
            })
            .sum();
        // The prior of mu and the rate of d are not quite flat.
        assert!((of_values + of_limits).abs() < 2e-5, "mu = {mu}: {of_values} and {of_limits}");
    }
}

#[test]
fn each_spelling_has_its_advice() {
    let of_values = "of a censored value only a limit is known";
    let of_ranges = "a family has its range";
    let cases = [
        ("censored", true, false),
        ("right_censored", true, false),
        ("cens", true, false),
        ("C", true, false),
        ("truncated", false, true),
        ("Trunc", false, true),
        ("T", false, true),
        ("lower", false, true),
        ("I", true, true),
    ];
    for (word, censored, truncated) in cases {
        let advice = cut_off(word).unwrap_or_else(|| panic!("`{word}` says nothing")).advice("x");
        assert_eq!((advice.contains(of_values), advice.contains(of_ranges)), (censored, truncated), "{word}");
    }
    for word in ["tau", "t", "i", "sd", "center", "incense"] {
        assert!(!matches!(cut_off(word), Some(CutOff::Truncated | CutOff::Either)), "{word}");
    }
    // The same wherever it stands.
    let stands = [
        "x[n] ~ Normal(mu, sd = 1) censored\n",
        "x[n] ~ Normal(mu, sd = 1), censored = c\n",
        "x[n] ~ Normal(mu, sd = 1) right censored\n",
        "x[n] ~ Normal(mu, sd = 1)C(, 3)\n",
        "x[n] ~ Normal(mu, sd = 1, censored = 3)\n",
        "x[n] ~ Censored(Normal(mu, sd = 1), 3)\n",
        "x[n] ~ dinterval(mu, 3)\n",
        "x[n] ~ Normal(mu, sd = 1)\ndata w[n] : real, censored\n",
        "x[n] ~ Normal(mu, sd = 1)\ndata w[n] : censored\n",
        "x[n] ~ Normal(censored(mu), sd = 1)\n",
    ];
    let ranges = [
        "x[n] ~ Normal(mu, sd = 1) T[0, 3]\n",
        "x[n] ~ Normal(mu, sd = 1)T(0, )\n",
        "x[n] ~ Normal(mu, sd = 1) truncated(0, 3)\n",
        "x[n] ~ Normal(mu, sd = 1) > 0\n",
        "x[n] ~ Normal(mu, sd = 1) in [0, 3]\n",
        "x[n] ~ Normal(mu, sd = 1, lower = 0)\n",
        "x[n] ~ Truncated(Normal(mu, sd = 1), 0, 3)\n",
        "mu2<lower=0> ~ Normal(0, sd = 1)\nx[n] ~ Normal(mu, sd = 1)\n",
        "x[n] ~ Normal(mu, sd = 1)\ndata w[n] : real, upper = 3\n",
    ];
    let with = stands.map(|text| (text, of_values)).into_iter().chain(ranges.map(|text| (text, of_ranges)));
    for (line, advice) in with {
        let text = format!("axis item[n]\ndata x[n] : real\nmu ~ Normal(0, sd = 10)\n{line}");
        let compiled = cavi::compile(&text, "cut.cavi");
        let errors: Vec<_> = compiled.diagnostics.iter().filter(|own| own.is_error()).collect();
        assert_eq!(errors.len(), 1, "{text}{errors:#?}");
        let help = errors[0].help.as_deref().unwrap_or_default();
        assert!(help.contains(advice), "{text}{help}");
    }
}
