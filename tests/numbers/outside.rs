//! Objectives of other programs from the same starts: `tests/outside` has the numbers and the scripts that made them.

use std::path::{Path, PathBuf};

use cavi_tests::support::{Matrix, Ready, bundled, corpus_model, matrix_file};
use statrs::function::gamma::ln_gamma;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("outside")
}

fn array(name: &str) -> (usize, Vec<f64>) {
    let array = cavi_files::read_npy(&folder().join(format!("{name}.npy"))).expect("an array is readable");
    (array.shape[1], array.values)
}

fn matrix(name: &str) -> Matrix {
    let (width, values) = array(name);
    values.chunks(width).map(<[f64]>::to_vec).collect()
}

/// The objectives of a problem by the number of iterations.
fn objectives(problem: &str) -> Vec<(usize, f64)> {
    let text = std::fs::read_to_string(folder().join("nmf_scikit_learn.json")).expect("numbers are readable");
    let all: serde_json::Value = serde_json::from_str(&text).expect("numbers are JSON");
    let own = all[problem].as_object().unwrap_or_else(|| panic!("no problem {problem}"));
    own.iter()
        .map(|(count, value)| (count.parse().expect("a count"), value.as_f64().expect("a number")))
        .collect()
}

/// Runs a program from a start and compares its objective after each number of sweeps, relative.
fn compare(
    problem: &str,
    program: &Ready,
    start: (&[f64], &[f64]),
    objective: impl Fn(f64) -> f64,
    tolerance: impl Fn(usize) -> f64,
) {
    let mut from = program.start(0);
    program.put(&mut from, "w", &[start.0.to_vec()]);
    program.put(&mut from, "h", &[start.1.to_vec()]);
    let mut run = program.run(from);
    let mut done = 0;
    for (sweeps, expected) in objectives(problem) {
        (done..sweeps).for_each(|_| program.sweep(&mut run));
        done = sweeps;
        let found = objective(run.elbo());
        let off = (found - expected).abs() / expected;
        assert!(
            off <= tolerance(sweeps),
            "{problem}, {sweeps} sweeps: {found} and not {expected}, off by {off:e}"
        );
    }
}

/// The divergence `sum x log(x / y) - x + y` from the bound `sum x log y - y - log Gamma(x + 1)`.
fn divergence(data: &Matrix) -> impl Fn(f64) -> f64 {
    let own = |x: f64| if x == 0.0 { 0.0 } else { x * x.ln() - x } - ln_gamma(x + 1.0);
    let constant: f64 = data.iter().flatten().map(|x| own(*x)).sum();
    move |elbo| constant - elbo
}

/// Half the squared error from the bound `-|x - y|^2 / 2 - n log(2 pi) / 2`.
fn half_squared_error(data: &Matrix) -> impl Fn(f64) -> f64 {
    let constant = -0.5 * data.concat().len() as f64 * (2.0 * std::f64::consts::PI).ln();
    move |elbo| constant - elbo
}

fn digits() -> (Matrix, Vec<f64>, Vec<f64>) {
    let program = Ready::built_in("nmf_kl", &[], bundled("nmf_kl", &[]));
    let data = program.matrix("x");
    let w =
        (0..data.len() * 16).map(|at| 0.5 + ((7 * (at / 16) + 13 * (at % 16)) % 17) as f64 / 17.0).collect();
    let width = data[0].len();
    let h =
        (0..16 * width).map(|at| 0.5 + ((11 * (at / width) + 5 * (at % width)) % 19) as f64 / 19.0).collect();
    (data, w, h)
}

#[test]
fn nmf_kl_is_scikit_learns_by_multiplicative_updates() {
    let data = matrix("counts");
    let (w, h) = (array("start_w").1, array("start_h").1);
    for sparse in [false, true] {
        let program = Ready::built_in("nmf_kl", &[("part", 4.0)], vec![matrix_file("x", &data, sparse)]);
        compare("kullback_leibler", &program.scheduled("w, h"), (&w, &h), divergence(&data), |_| 1e-8);
    }
    let (data, w, h) = digits();
    let program = Ready::built_in("nmf_kl", &[], bundled("nmf_kl", &[])).scheduled("w, h");
    compare("digits_kullback_leibler", &program, (&w, &h), divergence(&data), |_| 1e-8);
}

#[test]
fn nmf_ls_is_scikit_learns_by_multiplicative_updates() {
    let (w, h) = (array("start_w").1, array("start_h").1);
    for (problem, file) in [("frobenius", "values"), ("frobenius_counts", "counts")] {
        let data = matrix(file);
        let program = Ready::built_in("nmf_ls", &[("note", 4.0)], vec![matrix_file("x", &data, false)]);
        compare(problem, &program.scheduled("w, h"), (&w, &h), half_squared_error(&data), |_| 1e-8);
    }
    let (data, w, h) = digits();
    let program = Ready::built_in("nmf_ls", &[("note", 16.0)], bundled("nmf_kl", &[])).scheduled("w, h");
    compare("digits_frobenius", &program, (&w, &h), half_squared_error(&data), |_| 1e-8);
}

/// Exact coordinate updates in order are the `cd` solver without shuffling: the same iterates, and the same minimum.
#[test]
fn coordinate_wise_least_squares_is_scikit_learns_by_coordinate_descent() {
    let (w, h) = (array("start_w").1, array("start_h").1);
    let data = matrix("values");
    let program = Ready::new(
        &corpus_model("nonnegative_least_squares"),
        &[("part", 4.0)],
        vec![matrix_file("x", &data, false)],
    );
    compare("coordinate_descent", &program.scheduled("w, h"), (&w, &h), half_squared_error(&data), |_| 1e-8);
}
