//! What a fit says that holds latents at given values: its draws have these, beside numbers that are worked out here by hand.

use std::fs;
use std::path::Path;

use crate::common::{json, run, scratch};
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Numbers about 0 whose mean is 0 and whose variance is nearly 1.
fn wave(place: usize) -> f64 {
    const QUANTILES: [f64; 10] = [-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645];
    QUANTILES[place * 7 % 10]
}

/// The mean of replicates of the data is that of the posterior, where the parts that are held are those that made the data.
#[test]
fn draws_from_a_fit_have_what_it_holds() {
    let directory = scratch("held_parts");
    let held = [[0.7, 0.2, 0.1, 0.001], [0.05, 0.05, 0.3, 0.6]];
    let line = |own: &[f64; 4]| own.map(|value| value.to_string()).join(",");
    fs::write(directory.join("h.csv"), format!("part,a,b,c,d\n0,{}\n1,{}\n", line(&held[0]), line(&held[1])))
        .unwrap();
    let mut table = "row,a,b,c,d\n".to_owned();
    let mut total = 0.0;
    for row in 0..8 {
        let weights = [20.0 + 15.0 * f64::from(row), 150.0 - 12.0 * f64::from(row)];
        let counts: Vec<f64> =
            (0..4).map(|at| (weights[0] * held[0][at] + weights[1] * held[1][at]).round()).collect();
        total += counts.iter().sum::<f64>();
        let texts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        table += &format!("r{row},{}\n", texts.join(","));
    }
    fs::write(directory.join("x.csv"), table).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis row[i]\naxis col[j]\naxis part[k] = 2\ndata x[i, j] : count\nw[i, k] ~ Gamma(1, rate = 0.01)\n\
         h[k, j] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n",
    )
    .unwrap();
    run(&directory, "fit m.cavi --data x=x.csv --fix h=h.csv --quiet --out o");
    run(&directory, "simulate o --out s");
    let drawn = cavi_files::read_npy(&directory.join("s/latents/h.npy")).unwrap().values;
    assert_eq!(drawn, held.concat());
    let found = json(&directory, "check-fit o");
    let rows = found["statistics"].as_array().expect("statistics");
    let mean = rows.iter().find(|own| own["statistic"] == "mean").expect("the mean");
    // The totals of rows are those that a part sums to, 1.001 and 1, times the weights; the prior takes 1 % off and adds 1 to each.
    assert!((number(&mean["observed"]) - total / 32.0).abs() < 1e-9, "{mean}");
    let expected = number(&mean["mean"]);
    assert!((expected / (total / 32.0) - 1.0).abs() < 0.03 && mean["beyond"] == false, "{mean}");
    for statistic in ["max", "dispersion"] {
        let own = rows.iter().find(|own| own["statistic"] == statistic).expect("a statistic of counts");
        assert_eq!(own["beyond"], false, "{own}");
    }
}

fn intervals<'a>(found: &'a Value, name: &str) -> &'a Vec<Value> {
    found["variables"][name]["intervals"].as_array().expect("intervals")
}

fn write_classes(directory: &Path, held: impl Fn(usize) -> bool) {
    let (mut data, mut classes) = ("obs,x\n".to_owned(), "obs,z\n".to_owned());
    for place in 0..20 {
        let centre = if place < 10 { -5.0 } else { 5.0 };
        data += &format!("o{place},{}\n", centre + wave(place % 10));
        if held(place) {
            classes += &format!("o{place},{}\n", place / 10);
        }
    }
    fs::write(directory.join("x.csv"), data).unwrap();
    fs::write(directory.join("z.csv"), classes).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis obs[n]\naxis class[c] = 3\ndata x[n] : real\npi[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n\
         mu[c] ~ Normal(0, sd = 10)\nx[n] ~ Normal(mu[z[n]], sd = 1)\n",
    )
    .unwrap();
}

/// Two classes of ten rows each, all held: their means have the standard deviation `1 / sqrt(10)` over data sets. No row is of the third.
#[test]
fn refits_of_held_classes_have_the_data_of_these_classes() {
    let directory = scratch("held_classes");
    write_classes(&directory, |_| true);
    run(&directory, "fit m.cavi --data x=x.csv:x --fix z=z.csv --quiet --out o");
    let found = json(&directory, "intervals o mu --bootstrap 100 --seed 2");
    let all = intervals(&found, "mu");
    for (own, centre) in all.iter().zip([-5.0, 5.0]) {
        let [mean, sd, low, high] = ["mean", "sd", "low", "high"].map(|key| number(&own[key]));
        assert!((mean - centre).abs() < 0.02 && (sd - 0.3162).abs() < 0.1, "{own}");
        assert!((low - centre + 0.52).abs() < 0.25 && (high - centre - 0.52).abs() < 0.25, "{own}");
    }
    let notes: Vec<&str> =
        found["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    assert!(notes.iter().any(|own| own.contains("`mu` at 2 is the same in all refits")), "{notes:?}");
    assert!(!notes.iter().any(|own| own.contains("leave the mean of the fit out")), "{notes:?}");
}

/// Scores of rows that are held in part: the loadings have the standard deviation `1 / sqrt(sum f^2)` where all are held, and have none of their own data
/// turned around where only some are.
#[test]
fn refits_of_held_scores_keep_them() {
    let directory = scratch("held_scores");
    let scores: Vec<f64> = (0..20).map(|row| 3.0 * wave(row) + 0.1).collect();
    let loadings = [1.0, -2.0, 0.5];
    let mut table = "obs,p,q,r\n".to_owned();
    for (row, score) in scores.iter().enumerate() {
        let values = (0..3).map(|at| format!(",{}", score * loadings[at] + 0.5 * wave(row * 3 + at)));
        table += &format!("o{row}{}\n", values.collect::<String>());
    }
    fs::write(directory.join("y.csv"), table).unwrap();
    fs::write(
        directory.join("m.cavi"),
        "axis obs[n]\naxis var[j]\ndata y[n, j] : real\nf[n] ~ Normal(0, sd = 1)\nb[j] ~ Normal(0, sd = 10)\n\
         y[n, j] ~ Normal(f[n] * b[j], sd = 1)\n",
    )
    .unwrap();
    let squares: f64 = scores.iter().map(|own| own * own).sum();
    for (name, count) in [("all", 20), ("most", 18)] {
        let held: String =
            scores.iter().take(count).enumerate().map(|(row, own)| format!("o{row},{own}\n")).collect();
        fs::write(directory.join("f.csv"), format!("obs,f\n{held}")).unwrap();
        run(&directory, &format!("fit m.cavi --data y=y.csv --fix f=f.csv --quiet --out {name}"));
        let found = json(&directory, &format!("intervals {name} b --bootstrap 60 --seed 5"));
        for (own, right) in intervals(&found, "b").iter().zip(loadings) {
            let [mean, sd, low, high] = ["mean", "sd", "low", "high"].map(|key| number(&own[key]));
            assert!((mean - right).abs() < 0.1, "{name}: {own}");
            assert!((sd * squares.sqrt() - 1.0).abs() < 0.4, "{name}: {own}, not {}", squares.sqrt().recip());
            assert!(low < mean && mean < high && high - low < 6.0 * sd, "{name}: {own}");
        }
    }
}
