//! Intervals against what is known by hand: rows of weight, and rows that were projected.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{cavi, json, run, scratch, text};

fn write(directory: &Path, files: &[(&str, &str)]) {
    files.iter().for_each(|(file, text)| fs::write(directory.join(file), text).unwrap());
}

/// The mean and the standard deviation of each element of a latent.
fn intervals(found: &Value, name: &str) -> Vec<[f64; 2]> {
    let own = found["variables"][name]["intervals"].as_array().unwrap();
    own.iter().map(|own| ["mean", "sd"].map(|key| own[key].as_f64().unwrap())).collect()
}

/// Linear response is exact where the posterior is Normal. A row stands for one of its copies.
#[test]
fn a_row_of_weight_has_the_variance_of_one_of_its_copies() {
    let directory = scratch("intervals_of_weights");
    let program = "axis row[n]\ndata x[n] : real\ndata m[n] : multiplicity\nmu ~ Normal(0, sd = 10)\n\
        z[n] ~ Normal(mu, sd = 1)\nx[n] ~ Normal(z[n], sd = 1)\n";
    let crossed = "axis row[n]\naxis col[j]\ndata x[n, j] : real\ndata m[n] : multiplicity\ndata l[j] : multiplicity\n\
        mu ~ Normal(0, sd = 10)\nu[n] ~ Normal(mu, sd = 1)\nz[n, j] ~ Normal(u[n], sd = 1)\nx[n, j] ~ Normal(z[n, j], sd = 1)\n";
    write(
        &directory,
        &[
            ("h.cavi", program),
            ("c.cavi", crossed),
            ("x.csv", "row,x\na,2\nb,-1\nc,7\n"),
            ("m.csv", "row,m\na,5\nb,1\nc,0\n"),
            ("y.csv", "row,p,q\na,2,3\nb,-1,0\n"),
            ("my.csv", "row,m\na,4\nb,1\n"),
            ("l.csv", "col,l\np,3\nq,1\n"),
        ],
    );
    let rest = "--tol 1e-14 --sweeps 20000 --quiet";
    run(&directory, &format!("fit h.cavi --data x=x.csv --data m=m.csv {rest} --out h"));
    let found = json(&directory, "intervals h z mu --linear-response");
    // Six answers of variance 2 tell of mu; given mu, a z has the variance 1/2 and half of mu.
    let of_mu = 1.0 / (0.01 + 6.0 / 2.0);
    let of_z = 0.5 + 0.25 * of_mu;
    let own = intervals(&found, "z");
    assert_eq!(own.len(), 2, "{found}");
    assert!(own.iter().all(|[_, sd]| (sd * sd - of_z).abs() < 1e-5), "{own:?}, by hand {of_z}");
    assert!((intervals(&found, "mu")[0][1].powi(2) - of_mu).abs() < 1e-5, "{found}");
    let notes = found["notes"].to_string();
    assert!(notes.contains("`z` has for rows of weight 0 has no interval"), "{found}");

    run(&directory, &format!("fit c.cavi --data x=y.csv --data m=my.csv --data l=l.csv {rest} --out c"));
    let found = json(&directory, "intervals c z u mu --linear-response");
    // Four answers of variance 2 in each of five rows.
    let of_mu = 1.0 / (0.01 + 5.0 / (1.0 + 2.0 / 4.0));
    let given_mu = 1.0 / (1.0 + 4.0 / 2.0);
    let of_u = given_mu + given_mu * given_mu * of_mu;
    let of_z = 0.5 + 0.25 * of_u;
    for (name, expected) in [("mu", of_mu), ("u", of_u), ("z", of_z)] {
        for [_, sd] in intervals(&found, name) {
            assert!((sd * sd - expected).abs() < 1e-5, "{name}: {}, by hand {expected}", sd * sd);
        }
    }
}

/// With the loadings as they are under q, rows are one Normal each, of precision `1 + sum_j E w_j^2 / s^2`.
#[test]
fn what_projected_rows_share_keeps_its_q() {
    let directory = scratch("intervals_of_projected_rows");
    let program = "axis row[n]\naxis col[j]\naxis k[k] = 1\ndata x[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\n\
        w[j, k] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(sum[k](z[n, k] * w[j, k]), sd = 0.5)\n";
    let row = |name: &str, z: f64, number: usize| {
        let each = (0..4).map(|j| {
            let wave = ((number * 7 + j * 5) % 11) as f64 / 10.0 - 0.5;
            format!("{:.4}", z * [0.8, -0.5, 0.3, 0.6][j] + 0.6 * wave)
        });
        format!("{name},{}\n", each.collect::<Vec<String>>().join(","))
    };
    let header = "row,a,b,c,d\n";
    let old: String = (0..30).map(|n| row(&format!("r{n}"), (n % 7) as f64 / 2.0 - 1.5, n)).collect();
    let new: String =
        [-0.9, 0.2, 1.4].iter().enumerate().map(|(n, z)| row(&format!("s{n}"), *z, n + 3)).collect();
    write(
        &directory,
        &[("m.cavi", program), ("x.csv", &format!("{header}{old}")), ("new.csv", &format!("{header}{new}"))],
    );
    run(&directory, "fit m.cavi --data x=x.csv --tol 1e-12 --sweeps 5000 --quiet --out fit");
    run(&directory, "project fit --data x=new.csv --quiet --out new");
    let w = intervals(&json(&directory, "intervals fit w"), "w");
    let second: f64 = w.iter().map(|[mean, sd]| mean * mean + sd * sd).sum();
    let first: f64 = w.iter().map(|[mean, _]| mean * mean).sum();
    let variance = 1.0 / (1.0 + second / 0.25);
    let found = json(&directory, "intervals new z --linear-response");
    assert_eq!(found["notes"].as_array().map(Vec::len), Some(0), "{found}");
    let own = intervals(&found, "z");
    assert_eq!(own.len(), 3);
    assert!(own.iter().all(|[_, sd]| (sd * sd - variance).abs() < 1e-6), "{own:?}, by hand {variance}");
    // What is drawn from the fit and fitted again with these loadings moves a mean by the noise alone: z* = v w'x / s^2.
    let found = json(&directory, "intervals new --bootstrap 400");
    let spread = variance * (first / 0.25).sqrt();
    for [_, sd] in intervals(&found, "z") {
        // Four standard errors of 400 refits.
        assert!((sd / spread).ln().abs() < 0.15, "{sd}, by hand {spread}");
    }
    for options in ["--linear-response", "--bootstrap 20"] {
        let line = format!("intervals new w {options}");
        let output = cavi(&directory, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(text(&output.stderr).contains("`w` has no interval: these rows were projected"), "{line}");
    }
}

/// Where classes are out of the question, their probabilities are 0 in doubles, and each mean has the conjugate posterior of its own rows.
#[test]
fn certain_classes_do_not_answer() {
    let directory = scratch("intervals_of_certain_classes");
    let program = "axis row[n]\naxis class[k] = 2\ndata x[n] : real\nconst p[k] = 0.5\nmu[k] ~ Normal(0, sd = 100)\nz[n] ~ Categorical(p)\n\
        x[n] ~ Normal(mu[z[n]], sd = 1)\n";
    let low = [-50.3, -49.1, -50.9];
    let high = [49.2, 50.4, 51.1, 50.2, 49.6];
    let lines: String = low.iter().chain(&high).enumerate().map(|(n, x)| format!("r{n},{x}\n")).collect();
    write(&directory, &[("m.cavi", program), ("x.csv", &format!("row,x\n{lines}"))]);
    run(&directory, "fit m.cavi --data x=x.csv --seed 1 --tol 1e-12 --quiet --out m");
    let found = json(&directory, "intervals m mu --linear-response");
    let mut own = intervals(&found, "mu");
    own.sort_by(|one, other| one[0].total_cmp(&other[0]));
    assert_eq!(own.len(), 2, "{found}");
    for ([mean, sd], x) in own.into_iter().zip([&low[..], &high[..]]) {
        let precision = 1e-4 + x.len() as f64;
        let expected = x.iter().sum::<f64>() / precision;
        assert!((mean - expected).abs() < 1e-6, "{mean}, by hand {expected}");
        assert!((sd * sd * precision - 1.0).abs() < 1e-6, "{sd}, by hand {}", precision.powf(-0.5));
    }
}

/// Where a switch is certain its probability is 1 in doubles, or nearly so, and its log odds are infinite or known to few digits. The means have the conjugate
/// posteriors of their own rows, and the share that of so many rows.
#[test]
fn certain_switches_do_not_answer() {
    let directory = scratch("intervals_of_certain_switches");
    let program = "axis row[n]\ndata x[n] : real\nconst s\nshare ~ Beta(1, 1)\nz[n] ~ Bernoulli(share)\n\
        a ~ Normal(0, sd = 30)\nb ~ Normal(0, sd = 30)\nx[n] ~ Normal((1 - z[n]) * a + z[n] * b, sd = s)\n";
    let (low, high) = ([-8.1, -7.9, -8.0], [8.0, 8.1, 7.9, 8.05, 7.95]);
    let rows: Vec<String> = low.iter().chain(&high).map(f64::to_string).collect();
    write(&directory, &[("m.cavi", program), ("x.csv", &rows.join("\n"))]);
    // Log odds of 16^2 / (2 s^2), which are 12,800 and 30.
    for s in [0.1, 2.066] {
        run(
            &directory,
            &format!(
                "fit m.cavi --data x=x.csv --set s={s} --tol 1e-12 --sweeps 2000 --quiet --force --out o"
            ),
        );
        let found = json(&directory, "intervals o a b share --linear-response");
        let number = |mean: f64| if mean < 0.0 { 3.0 } else { 5.0 };
        let (a, b) = (intervals(&found, "a")[0], intervals(&found, "b")[0]);
        assert!(a[0] * b[0] < 0.0, "{found}");
        for [mean, sd] in [a, b] {
            let precision = 1.0 / 900.0 + number(mean) / (s * s);
            assert!((sd * sd * precision - 1.0).abs() < 1e-5, "{s}: {sd}, by hand {}", precision.powf(-0.5));
        }
        let (ones, zeros) = (1.0 + number(b[0]), 1.0 + number(a[0]));
        let variance = ones * zeros / ((ones + zeros) * (ones + zeros) * (ones + zeros + 1.0));
        let [mean, sd] = intervals(&found, "share")[0];
        assert!((mean - ones / (ones + zeros)).abs() < 1e-9, "{found}");
        assert!((sd * sd / variance - 1.0).abs() < 1e-5, "{s}: {sd}, by hand {}", variance.sqrt());
    }
}
