//! `cavi calibrate`: exact q is left alone, wrong priors, factors taken apart and symmetric starts are found, and wrong questions are answered.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};
use serde_json::Value;

/// One mean: q is the posterior.
const MEAN: &str = "axis n[i] = 20\ndata y[i] : real\nmu ~ Normal(0, sd = 2)\ny[i] ~ Normal(mu, sd = 1)\n";

/// Two coefficients of covariates that are given; q takes them apart unless it is told to keep them together.
const REGRESSION: &str = "axis n[i]\naxis p[j]\ndata x[i, j] : real\ndata y[i] : real\n\
    b[j] ~ Normal(0, sd = 3)\ny[i] ~ Normal(sum[j](x[i, j] * b[j]), sd = 1)\n";

fn run(directory: &Path, arguments: &[&str]) -> String {
    let output = cavi(directory, &[&["calibrate"], arguments].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(directory: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&run(directory, &[arguments, &["--json"]].concat())).unwrap()
}

/// A covariate, and another that is nearly the same.
fn covariates(directory: &Path) {
    let row = |own: i32| {
        let first = f64::from(own % 7) - 3.0;
        format!("r{own},{first},{}\n", first + 0.05 * f64::from(own % 3))
    };
    let rows: String = (0..30).map(row).collect();
    fs::write(directory.join("x.csv"), format!("row,a,b\n{rows}")).unwrap();
}

#[test]
fn a_posterior_that_is_exact_is_left_alone() {
    let directory = scratch("calibrate_exact");
    fs::write(directory.join("mean.cavi"), MEAN).unwrap();
    fs::write(directory.join("regression.cavi"), format!("{REGRESSION}posterior {{ q(b[:j]) }}\n")).unwrap();
    covariates(&directory);
    let found = json(&directory, &["mean.cavi", "--out", "found.json", "--threads", "2"]);
    let own = &found["latents"]["mu"];
    assert_eq!(
        (own["elements"].as_u64(), &own["finding"], &found["fits"]),
        (Some(1), &Value::Null, &100.into())
    );
    // 90 of 100 hold the truth, within four standard errors of 0.03.
    assert!((own["coverage_90"].as_f64().unwrap() - 0.9).abs() < 0.12, "{own}");
    let total: f64 = own["histogram"].as_array().unwrap().iter().map(|share| share.as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-12);
    let written: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("found.json")).unwrap()).unwrap();
    assert_eq!(written, found);
    // Threads change nothing, and another seed does.
    assert_eq!(found, json(&directory, &["mean.cavi", "--threads", "1"]));
    assert_ne!(found, json(&directory, &["mean.cavi", "--seed", "5"]));
    let shown = run(&directory, &["regression.cavi", "--data", "x=x.csv"]);
    assert!(shown.contains("nothing is off by more than 100 fits show by chance"), "{shown}");
}

#[test]
fn coefficients_taken_apart_are_found_too_narrow() {
    let directory = scratch("calibrate_narrow");
    fs::write(directory.join("apart.cavi"), REGRESSION).unwrap();
    covariates(&directory);
    let shown = run(&directory, &["apart.cavi", "--data", "x=x.csv", "--sweeps", "5000", "--tol", "1e-12"]);
    for words in ["too narrow", "`b`: q is too narrow: its 90 % intervals hold the truth in", "by bootstrap"]
    {
        assert!(shown.contains(words), "{words} in {shown}");
    }
}

#[test]
fn a_prior_that_the_data_do_not_come_from_is_found() {
    let directory = scratch("calibrate_prior");
    let three = |mean: &str| MEAN.replace("Normal(0, sd = 2)", mean).replace("20", "3");
    fs::write(directory.join("low.cavi"), three("Normal(0, sd = 1)")).unwrap();
    fs::write(directory.join("truth.cavi"), three("Normal(3, sd = 1)")).unwrap();
    let found = json(&directory, &["low.cavi", "--from", "truth.cavi"]);
    assert_eq!(found["latents"]["mu"]["finding"], "too low");
    // The posterior mean is (3 y) / 4: with the prior at 3, the truth stands above it by 3 / 4, 1.5 standard deviations of q.
    let mean = found["latents"]["mu"]["mean_rank"].as_f64().unwrap();
    assert!(mean > 0.8, "{mean}");
    let shown = run(&directory, &["low.cavi", "--from", "truth.cavi"]);
    assert!(shown.contains("or the prior is not the one that the data were drawn from"), "{shown}");
}

#[test]
fn a_start_that_no_sweep_leaves_is_told() {
    let directory = scratch("calibrate_symmetric");
    let mixture = "axis n[i] = 60\naxis c[k] = 2\ndata y[i] : real\npi[:k] ~ Dirichlet(5)\nmu[k] ~ Normal(0, sd = 5)\n\
        z[i] ~ Categorical(pi)\ny[i] ~ Normal(mu[z[i]], sd = 1)\n";
    fs::write(directory.join("free.cavi"), mixture).unwrap();
    let text = format!("{mixture}init {{\n  mu[k] = 0\n  pi[k] = 1 / 2\n}}\n");
    fs::write(directory.join("symmetric.cavi"), text).unwrap();
    let shown = run(&directory, &["symmetric.cavi", "--fits", "20"]);
    let told = "all positions of `c` are alike at the end of 20 of 20 fits";
    assert!(shown.contains(told) && shown.contains("`z` is left out: it chooses among classes"), "{shown}");
    let shown = run(&directory, &["free.cavi", "--fits", "20"]);
    assert!(!shown.contains("are alike"), "{shown}");
}

#[test]
fn wrong_questions_are_answered() {
    let directory = scratch("calibrate_wrong");
    let point = MEAN.replace("mu ~ Normal(0, sd = 2)", "mu ~ Normal(0, sd = 2)\nposterior { point(mu) }");
    let ragged = "axis doc[d] = 4\naxis token[t] in doc[d]\ndata y[d, t] : real\nmu[d] ~ Normal(0, sd = 2)\n\
        y[d, t] ~ Normal(mu[d], sd = 1)\n";
    let other = MEAN.replace("y[", "v[");
    let longer = MEAN.replace("20", "21");
    let files =
        [("mean", MEAN), ("point", &point), ("ragged", ragged), ("other", &other), ("longer", &longer)];
    for (name, text) in files {
        fs::write(directory.join(name).with_extension("cavi"), text).unwrap();
    }
    fs::write(directory.join("y.csv"), (0..20).map(|own| format!("{own}\n")).collect::<String>()).unwrap();
    let cases: [(&str, i32, &str); 9] = [
        ("mean.cavi --fits 19", 2, "`--fits 19` are too few to judge by"),
        ("mean.cavi --draws 3", 2, "`--draws 3` are too few to judge by"),
        ("mean.cavi --total y", 2, "`--total y` is not of the form `NAME=N`"),
        ("mean.cavi --set nowhere=3", 1, "nowhere"),
        ("mean.cavi --from longer.cavi", 1, "`y` has the sizes [20] in the program that is fitted, and [21]"),
        ("mean.cavi --from other.cavi", 1, "`y`"),
        ("mean.cavi --data y=y.csv", 1, "all data are given, and nothing is left to be drawn"),
        ("point.cavi", 1, "it is a point, which has no width"),
        ("ragged.cavi", 1, "the size of axis `token` is not known"),
    ];
    for (line, status, words) in cases {
        let arguments: Vec<&str> = ["calibrate"].into_iter().chain(line.split(' ')).collect();
        let output = cavi(&directory, &arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{line}: {said}");
        assert!(said.contains(words), "{line}: {said}");
    }
    let shown = run(&directory, &["ragged.cavi", "--set", "token=10", "--fits", "20"]);
    assert!(shown.contains("nothing is off"), "{shown}");
}

/// The diagonal of data with `i != j` is no data: it was once drawn as no number, and the fit failed.
#[test]
fn programs_of_pairs_without_a_diagonal_are_calibrated() {
    let directory = scratch("calibrate_pairs");
    let program = "model m\n\naxis node[i, j]\n\ndata y[i, j] : binary, absent = 0, i != j\n\nr ~ Beta(1, 1)\ny[i, j] ~ Bernoulli(r)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let output =
        cavi(&directory, &["calibrate", "m.cavi", "--set", "node=5", "--fits", "20", "--draws", "9"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// An axis without a position leaves a sum of nothing, and no error.
#[test]
fn a_fit_without_a_topic_is_a_fit() {
    let directory = scratch("no_topic");
    fs::write(directory.join("n.csv"), "doc,word,n\na,x,2\na,y,1\nb,x,1\n").unwrap();
    let output =
        cavi(&directory, &["fit", "lda", "--data", "n=n.csv", "--set", "topic=0", "--out", "o", "--quiet"]);
    assert_ne!(output.status.code(), Some(3), "{}", text(&output.stderr));
}
