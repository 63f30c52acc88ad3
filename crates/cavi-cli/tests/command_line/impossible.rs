//! Outcomes that a class must have or cannot have: scores and fits against sums over the classes that are written out here.

use std::fs;

use crate::common::{cavi, json, run, scratch, text};

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

#[test]
fn a_count_above_a_candidate_total_makes_that_class_impossible() {
    let directory = scratch("impossible_totals");
    let program = "axis n[n]\naxis s[s]\ndata y[n] : count\ndata total[s] : count\nconst p = 0.4\nconst pr[s] = 1 / 3\n\
        size[n] ~ Categorical(pr)\ny[n] ~ Binomial(total[size[n]], p)\n";
    let free = program
        .replace("const p = 0.4", "p ~ Beta(1, 1)")
        .replace("const pr[s] = 1 / 3", "pr[:s] ~ Dirichlet(1)");
    let files = [
        ("m.cavi", program),
        ("free.cavi", free.as_str()),
        ("y.csv", "n,y\na,3\nb,1\nc,0\n"),
        ("total.csv", "s,total\nx,0\ny,1\nz,5\n"),
        ("new.csv", "n,y\nd,3\ne,1\nf,0\ng,2\n"),
    ];
    files.iter().for_each(|(name, own)| fs::write(directory.join(name), own).unwrap());
    run(&directory, "fit m.cavi --data y=y.csv --data total=total.csv --tol 1e-12 --out o");
    let totals = [0, 1, 5];
    let evidence = |y: u32| totals.iter().map(|n| binomial(y, *n, 0.4) / 3.0).sum::<f64>();
    // With everything else known q is the posterior, and the bound is the evidence.
    let expected: f64 = [3, 1, 0].iter().map(|y| evidence(*y).ln()).sum();
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(directory.join("o/summary.json")).unwrap()).unwrap();
    let found = summary["elbo"].as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    let bytes = fs::read(directory.join("o/posterior/size.prob.npy")).unwrap();
    let probabilities: Vec<f64> =
        bytes[bytes.len() - 72..].chunks(8).map(|own| f64::from_le_bytes(own.try_into().unwrap())).collect();
    for (place, found) in probabilities.iter().enumerate() {
        let (y, n) = ([3, 1, 0][place / 3], totals[place % 3]);
        let expected = binomial(y, n, 0.4) / 3.0 / evidence(y);
        assert!((found - expected).abs() < 1e-12, "{place}: {found}, not {expected}");
    }
    // Half of new rows are scored: each of them by the sum over totals.
    let scored = json(&directory, "score o --data y=new.csv --data total=total.csv");
    let found = scored["log_predictive"].as_f64().unwrap();
    assert!(found.is_finite(), "{scored}");
    run(&directory, "fit free.cavi --data y=y.csv --data total=total.csv --verify --out f");
    let verified = cavi(&directory, &["derive", "free.cavi", "--verify"]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
}
