//! Outcomes that a class must have or cannot have: scores and fits against sums over the classes that are written out here.

use std::fs;

use crate::common::{run, scratch};

/// `C(n, y) p^y (1 - p)^(n - y)`, 0 of more successes than trials.
fn binomial(y: u32, n: u32, p: f64) -> f64 {
    if y > n {
        return 0.0;
    }
    let coefficient: f64 = (0..y).map(|k| f64::from(n - k) / f64::from(k + 1)).product();
    coefficient * p.powi(y as i32) * (1.0 - p).powi((n - y) as i32)
}

#[test]
fn a_class_that_must_succeed_or_fail_has_a_score() {
    let directory = scratch("impossible_scored");
    let program = "axis n[n]\naxis g[g]\ndata y[n] : count, absent = NA\ndata share[g] : unit\nconst pr[g] = 1 / 3\n\
        z[n] ~ Categorical(pr)\ny[n] ~ Binomial(4, share[z[n]])\n";
    let files = [
        ("m.cavi", program),
        ("y.csv", "n,y\na,0\nb,1\nc,2\nd,3\ne,4\nf,0\ng,4\n"),
        ("share.csv", "g,share\nnone,0\none,0.5\ntwo,1\n"),
        ("hidden.csv", "n\na\nb\nc\nd\ne\n"),
    ];
    files.iter().for_each(|(name, own)| fs::write(directory.join(name), own).unwrap());
    run(&directory, "fit m.cavi --data y=y.csv --data share=share.csv --heldout y=hidden.csv --out o");
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(directory.join("o/summary.json")).unwrap()).unwrap();
    let found = summary["heldout"]["y"]["log_predictive"].as_f64().unwrap();
    let of = |y: u32| [0.0, 0.5, 1.0].iter().map(|p| binomial(y, 4, *p) / 3.0).sum::<f64>().ln();
    let expected: f64 = (0..=4).map(of).sum();
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}
