//! Nanoseconds a value, or microseconds a matrix: `cargo bench -p cavi-numerics --bench special`. Best of 30.

#![allow(missing_docs)]

use std::time::Instant;

use cavi_numerics::{instruction_set, linalg, special};

fn main() {
    println!("{:?}", instruction_set());
    let x: Vec<f64> = (0..4096).map(|i| 0.01 + f64::from(i) * 0.01).collect();
    let mut out = vec![0.0; x.len()];
    let mut function = |name: &str, into: fn(&[f64], &mut [f64])| {
        let seconds = best(|| into(&x, &mut out));
        println!("  {name:10} {:6.2} ns a value", seconds / x.len() as f64 * 1e9);
    };
    function("exp", special::exp_into);
    function("ln", special::ln_into);
    function("digamma", special::digamma_into);
    function("trigamma", special::trigamma_into);
    function("log_gamma", special::log_gamma_into);
    let mut logs = vec![0.0; x.len()];
    let seconds = best(|| special::digamma_and_log_gamma_into(&x, &mut out, &mut logs));
    println!("  both       {:6.2} ns a value", seconds / x.len() as f64 * 1e9);
    for n in [5, 15, 50, 100] {
        let a: Vec<f64> = (0..n * n).map(|p| if p % (n + 1) == 0 { n as f64 } else { 0.5 }).collect();
        let mut factor = a.clone();
        let factored = best(|| {
            factor.copy_from_slice(&a);
            linalg::cholesky(n, &mut factor).expect("a dominant diagonal");
        });
        let mut inverse = a.clone();
        let inverted = best(|| linalg::inverse(n, &factor, &mut inverse));
        let mut b = vec![1.0; n];
        let solved = best(|| linalg::solve(n, &factor, &mut b));
        let [factored, inverted, solved] = [factored, inverted, solved].map(|seconds| seconds * 1e6);
        println!("  n = {n}: cholesky {factored:.2}, inverse {inverted:.2}, solve {solved:.2} us");
    }
}

fn best(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..30 {
        let start = Instant::now();
        for _ in 0..20 {
            run();
        }
        best = best.min(start.elapsed().as_secs_f64() / 20.0);
    }
    best
}
