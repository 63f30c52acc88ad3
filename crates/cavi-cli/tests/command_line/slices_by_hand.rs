//! Standard deviations and intervals of joint slices that stand before their plates, beside numbers that are worked out here by hand.

use std::fs;
use std::path::Path;

use crate::common::{json, run, scratch};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The standard deviations of a latent by its labels.
fn deviations(directory: &Path, fit: &str, name: &str) -> Vec<(String, f64)> {
    let found = json(directory, &format!("intervals {fit} {name}"));
    let all = found["variables"][name]["intervals"].as_array().expect("a list of intervals").clone();
    let labels = |own: &Value| {
        let each = own["labels"].as_array().expect("labels").iter();
        each.filter_map(Value::as_str).collect::<Vec<_>>().join(",")
    };
    all.iter().map(|own| (labels(own), number(&own["sd"]))).collect()
}

fn check(directory: &Path, fit: &str, name: &str, expected: &[(&str, f64)]) {
    let found = deviations(directory, fit, name);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((labels, sd), (right_labels, right)) in found.iter().zip(expected) {
        assert!(
            labels == right_labels && (sd - right).abs() < 1e-5,
            "{labels} {sd}, not {right_labels} {right}"
        );
    }
}

/// `(X'X + I)^-1` with `X = (1, 0; 1, 0; 0, 0.1)`: variances of 1/3 and 1/1.01, of every output.
#[test]
fn weights_over_predictors_have_the_spread_of_their_predictor() {
    for outputs in ["u", "u,v", "u,v,t"] {
        let directory = scratch(&format!("slices_normal_{}", outputs.len()));
        let labels: Vec<&str> = outputs.split(',').collect();
        fs::write(directory.join("x.csv"), "obs,a,b\no0,1,0\no1,1,0\no2,0,0.1\n").unwrap();
        let row = |name: &str, value: f64| {
            let values = (0..labels.len()).map(|place| format!(",{}", value + place as f64));
            format!("{name}{}\n", values.collect::<String>())
        };
        let table = row("o0", 1.0) + &row("o1", 3.0) + &row("o2", -2.0);
        fs::write(directory.join("y.csv"), format!("obs,{outputs}\n{table}")).unwrap();
        fs::write(
            directory.join("m.cavi"),
            "axis obs[n]\naxis pred[j]\naxis out[k]\ndata x[n, j] : real\ndata y[n, k] : real\n\
             w[j, k] ~ Normal(0, sd = 1)\ny[n, k] ~ Normal(sum[j](x[n, j] * w[j, k]), sd = 1)\n\
             posterior {\n  q(w[:j, k])\n}\nreport {\n  intervals w\n}\n",
        )
        .unwrap();
        let (said, _) =
            run(&directory, "fit m.cavi --data x=x.csv --data y=y.csv --tol 1e-12 --progress none --out o");
        assert!(said.contains("w: means with intervals of 90 %"), "{said}");
        let of = |predictor: &str, variance: f64| -> Vec<(String, f64)> {
            labels.iter().map(|output| (format!("{predictor},{output}"), variance.sqrt())).collect()
        };
        let right: Vec<(String, f64)> = [of("a", 1.0 / 3.0), of("b", 1.0 / 1.01)].concat();
        let right: Vec<(&str, f64)> = right.iter().map(|(labels, sd)| (labels.as_str(), *sd)).collect();
        check(&directory, "o", "w", &right);
        // The first mean of a is (1 + 3) / 3, and its interval 1.644854 / sqrt(3) to either side.
        let found = json(&directory, "intervals o w");
        let first = &found["variables"]["w"]["intervals"][0];
        assert!((number(&first["mean"]) - 4.0 / 3.0).abs() < 1e-6, "{first}");
        assert!((number(&first["high"]) - 4.0 / 3.0 - 1.644_854 / 3.0_f64.sqrt()).abs() < 1e-5, "{first}");
    }
}

/// With `K = X'X + I = diag(3, 1.01)` and `m = K^-1 X'y`, tau has the shape `a = 1 + 3 / 2` and the rate `b = 1 + (y'y - m'K m) / 2`, and a
/// weight the variance `b / ((a - 1) K_jj)`.
#[test]
fn weights_with_the_precision_of_their_output_have_its_spread() {
    let directory = scratch("slices_normal_gamma");
    fs::write(directory.join("x.csv"), "obs,a,b\no0,1,0\no1,1,0\no2,0,0.1\n").unwrap();
    fs::write(directory.join("y.csv"), "obs,u,v,t\no0,1,2,8\no1,3,2,-6\no2,-2,1,20\n").unwrap();
    let right: Vec<Vec<f64>> = [3.0, 1.01]
        .iter()
        .map(|precision: &f64| {
            let of = |y: [f64; 3]| {
                let fitted = (y[0] + y[1]).powi(2) / 3.0 + (0.1 * y[2]).powi(2) / 1.01;
                let rate = 1.0 + 0.5 * (y.iter().map(|own| own * own).sum::<f64>() - fitted);
                (rate / (1.5 * precision)).sqrt()
            };
            [[1.0, 3.0, -2.0], [2.0, 2.0, 1.0], [8.0, -6.0, 20.0]].map(of).to_vec()
        })
        .collect();
    let program = |own: &str, slice: &str| {
        format!(
            "axis obs[n]\naxis pred[j]\naxis out[k]\ndata x[n, j] : real\ndata y[n, k] : real\n\
             tau[k] ~ Gamma(1, rate = 1)\nw[{own}] ~ Normal(0, prec = tau[k])\n\
             y[n, k] ~ Normal(sum[j](x[n, j] * w[{own}]), prec = tau[k])\nposterior {{\n  q(w[{slice}], tau[k])\n}}\n\
             report {{\n  intervals w\n  intervals tau\n}}\n"
        )
    };
    for (name, own, slice) in [("first", "j, k", ":j, k"), ("last", "k, j", "k, :j")] {
        fs::write(directory.join("m.cavi"), program(own, slice)).unwrap();
        let (said, _) = run(
            &directory,
            &format!("fit m.cavi --data x=x.csv --data y=y.csv --tol 1e-12 --progress none --out {name}"),
        );
        // What a fit shows has the intervals of members of a joint factor.
        assert!(said.contains("w: means with intervals of 90 %"), "{said}");
        let mut expected: Vec<(String, f64)> = Vec::new();
        for (place, predictor) in ["a", "b"].iter().enumerate() {
            for (output, label) in ["u", "v", "t"].iter().enumerate() {
                let labels = if name == "first" {
                    format!("{predictor},{label}")
                } else {
                    format!("{label},{predictor}")
                };
                expected.push((labels, right[place][output]));
            }
        }
        if name == "last" {
            let order = |own: &(String, f64)| "uvt".find(&own.0[..1]);
            expected.sort_by_key(order);
        }
        let expected: Vec<(&str, f64)> = expected.iter().map(|(labels, sd)| (labels.as_str(), *sd)).collect();
        check(&directory, name, "w", &expected);
    }
}

/// A weight for each pair of a predictor and another one, each row of the data with one pair: `K = diag(2, 2, 1.01, 1)`. A fit with a matrix over
/// two slices can be asked again.
#[test]
fn weights_over_two_slices_keep_their_matrix() {
    let directory = scratch("slices_two");
    fs::write(directory.join("x.csv"), "obs,a,b\no0,1,0\no1,1,0\no2,0,0.1\n").unwrap();
    fs::write(directory.join("z.csv"), "obs,c,d\no0,1,0\no1,0,1\no2,1,0\n").unwrap();
    fs::write(directory.join("y.csv"), "obs,u,v\no0,1,2\no1,3,2\no2,-2,1\n").unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis obs[n]\naxis pred[j]\naxis oth[l]\naxis out[k]\ndata x[n, j] : real\ndata z[n, l] : real\n\
         data y[n, k] : real\ntau[k] ~ Gamma(1, rate = 1)\nw[j, l, k] ~ Normal(0, prec = tau[k])\n\
         y[n, k] ~ Normal(sum[j, l](x[n, j] * z[n, l] * w[j, l, k]), prec = tau[k])\n\
         posterior {\n  q(w[:j, :l, k], tau[k])\n}\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data x=x.csv --data z=z.csv --data y=y.csv --tol 1e-12 --quiet --out o");
    let rate = |y: [f64; 3]| {
        let fitted = (y[0] * y[0] + y[1] * y[1]) / 2.0 + (0.1 * y[2]).powi(2) / 1.01;
        1.0 + 0.5 * (y.iter().map(|own| own * own).sum::<f64>() - fitted)
    };
    let rates = [rate([1.0, 3.0, -2.0]), rate([2.0, 2.0, 1.0])];
    let mut right = Vec::new();
    for (pair, precision) in [("a,c", 2.0), ("a,d", 2.0), ("b,c", 1.01), ("b,d", 1.0)] {
        for (output, rate) in ["u", "v"].iter().zip(rates) {
            right.push((format!("{pair},{output}"), (rate / (1.5 * precision)).sqrt()));
        }
    }
    let right: Vec<(&str, f64)> = right.iter().map(|(labels, sd)| (labels.as_str(), *sd)).collect();
    check(&directory, "o", "w", &right);
    run(&directory, "sample o w --draws 3 --quiet");
}

/// The degrees of freedom are 4 and one for each row, and `W^-1 = 4 I + sum y y'`: of class p diag(5, 8), of class q (5, 1; 1, 5). An element
/// has the variance `nu (W_ij^2 + W_ii W_jj)`.
#[test]
fn matrices_before_their_plate_have_the_spread_of_their_own_elements() {
    let directory = scratch("slices_wishart");
    fs::write(directory.join("y.csv"), "obs,a,b\no0,1,0\no1,0,2\no2,1,1\n").unwrap();
    fs::write(directory.join("g.csv"), "obs,g\no0,p\no1,p\no2,q\n").unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis obs[n]\naxis dim[i, j]\naxis cls[k]\ndata g[n] : index cls\ndata y[n, i] : real\n\
         lam[:i, :j, k] ~ Wishart(4, scale = 0.25 * [i == j])\ny[n, :i] ~ MultivariateNormal(0, prec = lam[i, j, g[n]])\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data y=y.csv --data g=g.csv:g --quiet --out o");
    let off: (f64, f64) = ((6.0_f64 / 40.0).sqrt(), (5.0 * 26.0 / 576.0_f64).sqrt());
    let diagonal = 10.0_f64.sqrt() * 5.0 / 24.0;
    check(
        &directory,
        "o",
        "lam",
        &[
            ("a,a,p", 12.0_f64.sqrt() / 5.0),
            ("a,a,q", diagonal),
            ("a,b,p", off.0),
            ("a,b,q", off.1),
            ("b,a,p", off.0),
            ("b,a,q", off.1),
            ("b,b,p", 12.0_f64.sqrt() / 8.0),
            ("b,b,q", diagonal),
        ],
    );
    // An axis that stands twice is named by its letters.
    let found = json(&directory, "intervals o lam");
    assert_eq!(found["variables"]["lam"]["axes"], serde_json::json!(["i", "j", "cls"]));
}

/// With `kappa = 1 + n` and `W^-1 = 4 I + sum y y' - kappa m m'`, an element of a mean has the variance `(W^-1)_ii / (kappa (nu - d + 1 - 2))`, d = 2:
/// of class p 14/3 and 20/3 over 9, of class q 4.5 and 8.5 over 4.
#[test]
fn means_before_their_plate_have_the_spread_of_their_own_class() {
    let directory = scratch("slices_normal_wishart");
    fs::write(directory.join("y.csv"), "obs,a,b\no0,1,0\no1,0,2\no2,1,3\n").unwrap();
    fs::write(directory.join("g.csv"), "obs,g\no0,p\no1,p\no2,q\n").unwrap();
    let right = [("a,p", 14.0 / 27.0), ("a,q", 1.125), ("b,p", 20.0 / 27.0), ("b,q", 2.125_f64)];
    let right = right.map(|(labels, variance)| (labels, f64::sqrt(variance)));
    for (name, matrix) in [("first", "k, :i, :j"), ("last", ":i, :j, k")] {
        let slice = if name == "first" { "lam[k]" } else { "lam[i, j, k]" };
        let of_row = slice.replace('k', "g[n]");
        let program = format!(
            "axis obs[n]\naxis dim[i, j]\naxis cls[k]\ndata g[n] : index cls\ndata y[n, i] : real\n\
             lam[{matrix}] ~ Wishart(4, scale = 0.25 * [i == j])\nmu[:i, k] ~ MultivariateNormal(0, prec = {slice})\n\
             y[n, :i] ~ MultivariateNormal(mu[i, g[n]], prec = {of_row})\nposterior {{\n  q(mu[:i, k], lam[{matrix}])\n}}\n"
        );
        fs::write(directory.join("m.cavi"), program).unwrap();
        run(
            &directory,
            &format!("fit m.cavi --data y=y.csv --data g=g.csv:g --tol 1e-12 --quiet --out {name}"),
        );
        check(&directory, name, "mu", &right);
    }
}

/// One class alone has all probability.
#[test]
fn shares_of_one_class_are_certain() {
    let directory = scratch("slices_one_class");
    fs::write(directory.join("x.csv"), "obs,x\no0,1\no1,2.5\no2,-1\n").unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis obs[n]\naxis class[c] = 1\ndata x[n] : real\npi[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n\
         mu[c] ~ Normal(0, sd = 10)\nx[n] ~ Normal(mu[z[n]], sd = 1)\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data x=x.csv:x --quiet --out o");
    let found = json(&directory, "intervals o pi");
    let own = &found["variables"]["pi"]["intervals"][0];
    assert_eq!(["mean", "sd", "low", "high"].map(|key| number(&own[key])), [1.0, 0.0, 1.0, 1.0], "{own}");
}
