//! `cavi check-fit`: what it finds in data that a model does not produce, what it leaves alone, and what it says of wrong questions.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};
use serde_json::Value;

/// Counts with one rate for each row, and their prior.
const RATES: &str = "axis row[i]\naxis column[j]\ndata x[i, j] : count, absent = 0\n\
    rate[i] ~ Gamma(2, rate = 0.5)\nx[i, j] ~ Poisson(rate[i])\n";

/// The same counts with a rate for each entry: a negative binomial.
const DISPERSED: &str = "axis row[i]\naxis column[j]\ndata x[i, j] : count, absent = 0\n\
    rate[i] ~ Gamma(2, rate = 0.5)\nown[i, j] ~ Gamma(0.5, rate = 0.5)\nx[i, j] ~ Poisson(rate[i] * own[i, j])\n";

fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = cavi(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Draws data from a program and fits a program to them.
fn fitted(directory: &Path, truth: &str, model: &str, sizes: &[&str], data: &str, seed: &str) {
    fs::write(directory.join("truth.cavi"), truth).unwrap();
    fs::write(directory.join("model.cavi"), model).unwrap();
    let draw = [&["simulate", "truth.cavi", "--seed", seed, "--out", "drawn", "--force"], sizes].concat();
    succeed(directory, &draw);
    let data: Vec<&str> = data.split(' ').flat_map(|own| ["--data", own]).collect();
    let fit = [
        &["fit", "model.cavi", "--tol", "1e-10", "--progress", "none", "--out", "fit", "--force"][..],
        &data[..],
    ];
    succeed(directory, &fit.concat());
}

fn checked(directory: &Path, arguments: &[&str]) -> Value {
    let shown = succeed(directory, &[&["check-fit", "fit", "--json"], arguments].concat());
    serde_json::from_str(&shown).unwrap()
}

fn beyond(found: &Value) -> Vec<String> {
    let rows = found["statistics"].as_array().unwrap();
    let own = rows.iter().filter(|row| row["beyond"] == true);
    own.map(|row| row["statistic"].as_str().unwrap().to_owned()).collect()
}

const COUNTS: [&str; 4] = ["--set", "row=20", "--set", "column=40"];

#[test]
fn counts_with_more_zeros_than_a_rate_produces_are_found_and_said_in_words() {
    let directory = scratch("check_fit_zeros");
    fitted(&directory, DISPERSED, RATES, &COUNTS, "x=drawn/data/x.mtx", "1");
    let found = checked(&directory, &[]);
    let beyond = beyond(&found);
    assert!(
        ["zeros", "dispersion", "max"].iter().all(|own| beyond.iter().any(|found| found == own)),
        "{beyond:?}"
    );
    let row = found["statistics"].as_array().unwrap().iter().find(|row| row["statistic"] == "zeros").unwrap();
    assert!((row["p"].as_f64().unwrap() - 2.0 / 101.0).abs() < 1e-12 && row["n_entries"] == 800);
    let shown = succeed(&directory, &["check-fit", "fit", "--stat", "zeros,max"]);
    for words in ["more zeros than it can produce", "negative binomial", "beyond all", "k-hat of q"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    assert!(!shown.contains("dispersion "), "{shown}");
    // The same seed gives the same numbers for any number of threads; another gives others.
    assert_eq!(checked(&directory, &["--threads", "1"]), checked(&directory, &["--threads", "2"]));
    assert_ne!(found, checked(&directory, &["--seed", "7"]));
    // By the labels of an axis.
    let by = checked(&directory, &["--by", "row", "--stat", "zeros", "--draws", "30"]);
    assert_eq!(by["statistics"].as_array().unwrap().len(), 20);
    assert_eq!(by["statistics"][0]["n_entries"], 40);
}

#[test]
fn a_right_model_is_seldom_accused() {
    let directory = scratch("check_fit_right");
    let (mut accused, mut looked_at) = (0, 0);
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        fitted(&directory, RATES, RATES, &COUNTS, "x=drawn/data/x.mtx", seed);
        let found = checked(&directory, &["--k-hat", "25"]);
        accused += beyond(&found).len();
        looked_at += found["statistics"].as_array().unwrap().len();
    }
    // At most 2 of 101 are expected by chance: of 48 about one, and 6 or more with a probability of less than 0.001.
    assert_eq!(looked_at, 48);
    assert!(accused < 6, "{accused}");
}

/// Programs whose q is the posterior: one latent, conjugate.
const EXACT: &[&str] = &[
    "axis n[i]\ndata x[i] : binary\np ~ Beta(2, 3)\nx[i] ~ Bernoulli(p)\n",
    "axis n[i]\ndata x[i] : real\nm ~ Normal(0, sd = 2)\nx[i] ~ Normal(m, sd = 1.5)\n",
    "axis n[i]\ndata x[i] : count\nr ~ Gamma(2, rate = 1)\nx[i] ~ Poisson(r)\n",
    "axis n[i]\naxis c[k] = 3\ndata x[i] : index c\np[:k] ~ Dirichlet(1)\nx[i] ~ Categorical(p)\n",
];

#[test]
fn where_q_is_the_posterior_all_weights_are_the_evidence() {
    let directory = scratch("check_fit_exact");
    for program in EXACT {
        fitted(&directory, program, program, &["--set", "n=30"], "x=drawn/data/x.npy", "3");
        let found = checked(&directory, &[]);
        assert_eq!(found["q"]["k_hat"], "-inf", "{program}: {}", found["q"]);
        let summary: Value =
            serde_json::from_str(&fs::read_to_string(directory.join("fit/summary.json")).unwrap()).unwrap();
        let (elbo, mean) =
            (summary["elbo"].as_f64().unwrap(), found["q"]["mean_log_weight"].as_f64().unwrap());
        assert!((elbo - mean).abs() < 1e-8 * elbo.abs().max(1.0), "{program}: {elbo} and {mean}");
    }
}

/// Programs with several factors of q and no other bound.
const SEVERAL: &[&str] = &[
    "axis n[i]\naxis c[k] = 2\ndata x[i] : real\npi[:k] ~ Dirichlet(2)\nmu[k] ~ Normal(0, sd = 4)\n\
     tau[k] ~ Gamma(3, rate = 2)\nz[i] ~ Categorical(pi)\nx[i] ~ Normal(mu[z[i]], prec = tau[z[i]])\n",
    "axis n[i]\naxis f[j] = 3\naxis c[k, l] = 2\ndata x[i, j] : real\nz[i, :k] ~ MultivariateNormal(0, prec = [k == l])\n\
     w[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(3, rate = 1)\nx[i, j] ~ Normal(sum[k](z[i, k] * w[j, k]), prec = tau)\n",
];

#[test]
fn the_mean_of_log_weights_is_the_bound() {
    let directory = scratch("check_fit_bound");
    for program in SEVERAL {
        fitted(&directory, program, program, &["--set", "n=25"], "x=drawn/data/x.npy", "5");
        let found = checked(&directory, &["--k-hat", "4000", "--draws", "20"]);
        let summary: Value =
            serde_json::from_str(&fs::read_to_string(directory.join("fit/summary.json")).unwrap()).unwrap();
        let number = |name: &str| found["q"][name].as_f64().unwrap();
        let (elbo, error) = (summary["elbo"].as_f64().unwrap(), number("sd_log_weight") / 4000_f64.sqrt());
        assert!((elbo - number("mean_log_weight")).abs() < 5.0 * error, "{program}: {elbo}, {}", found["q"]);
    }
}

#[test]
fn a_factorised_q_of_correlated_weights_has_a_large_k() {
    let directory = scratch("check_fit_correlated");
    let program = "axis n[i]\ndata a[i] : real\ndata b[i] : real\ndata y[i] : real\n\
        u ~ Normal(0, sd = 3)\nv ~ Normal(0, sd = 3)\ny[i] ~ Normal(u * a[i] + v * b[i], sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    // Two inputs that are nearly the same: the posterior of their weights has a correlation near -1.
    let line = |i: i32| {
        let a = f64::from(i - 10) / 5.0;
        let b = a + f64::from((i * 7) % 5 - 2) / 10.0;
        format!("{i},{a},{b},{}\n", a + b + f64::from((i * 3) % 7 - 3) / 4.0)
    };
    fs::write(directory.join("t.csv"), format!("n,a,b,y\n{}", (0..20).map(line).collect::<String>()))
        .unwrap();
    let data = ["--data", "a=t.csv:a", "--data", "b=t.csv:b", "--data", "y=t.csv:y"];
    succeed(
        &directory,
        &[&["fit", "m.cavi", "--tol", "1e-12", "--progress", "none", "--out", "fit"], &data[..]].concat(),
    );
    let found = checked(&directory, &[]);
    assert!(found["q"]["k_hat"].as_f64().unwrap() > 0.7, "{}", found["q"]);
    assert!(found["q"]["words"].as_str().unwrap().contains("its spread is not to be trusted"));
    // The same with one factor for both is exact.
    let joint = format!("{program}posterior {{\n    q(u, v)\n}}\n");
    fs::write(directory.join("m.cavi"), joint).unwrap();
    succeed(
        &directory,
        &[&["fit", "m.cavi", "--progress", "none", "--out", "fit", "--force"], &data[..]].concat(),
    );
    assert_eq!(checked(&directory, &[])["q"]["k_hat"], "-inf");
}

#[test]
fn heavy_tails_of_one_group_are_found_in_that_group() {
    let directory = scratch("check_fit_groups");
    let program = "axis view[m]\naxis feature[j] in view[m]\naxis n[i]\ndata x[i, m, j] : real\n\
        mu[m, j] ~ Normal(0, sd = 3)\ntau[m] ~ Gamma(1, rate = 1)\nx[i, m, j] ~ Normal(mu[m, j], prec = tau[m])\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let table = |far: f64| -> String {
        let line = |i: i32| {
            let own = |j: i32| {
                f64::from((i * 13 + j * 29) % 31 - 15) / 10.0 + f64::from(u8::from(i == 7 && j == 2)) * far
            };
            format!("s{i},{},{},{}\n", own(0), own(1), own(2))
        };
        format!("n,a,b,c\n{}", (0..40).map(line).collect::<String>())
    };
    // Its largest entry, 2.2, is one that a Normal of its spread has.
    fs::write(directory.join("calm.csv"), table(1.2)).unwrap();
    fs::write(directory.join("wild.csv"), table(60.0)).unwrap();
    let data = ["--data", "x[calm]=calm.csv", "--data", "x[wild]=wild.csv"];
    succeed(&directory, &[&["fit", "m.cavi", "--progress", "none", "--out", "fit"], &data[..]].concat());
    let found = checked(&directory, &["--stat", "kurtosis,max"]);
    let rows = found["statistics"].as_array().unwrap();
    let beyond = |group: &str, statistic: &str| {
        rows.iter().any(|row| row["group"] == group && row["statistic"] == statistic && row["beyond"] == true)
    };
    assert!(rows.len() == 4 && beyond("wild", "kurtosis") && beyond("wild", "max"), "{found}");
    // The other group is even: it has no longer tails than the model.
    let longer = |row: &&Value| row["group"] == "calm" && row["observed"].as_f64() > row["highest"].as_f64();
    assert_eq!(rows.iter().filter(longer).count(), 0, "{found}");
}

#[test]
fn wrong_questions_are_answered() {
    let directory = scratch("check_fit_wrong");
    fitted(&directory, RATES, RATES, &["--set", "row=3", "--set", "column=4"], "x=drawn/data/x.mtx", "1");
    for (arguments, status, words) in [
        (&["--stat", "zeroes"][..], 2, "there is no statistic of this name"),
        (&["--stat", "commonest"], 1, "says something"),
        (&["--by", "item"], 1, "no data that the program predicts have an axis of this name"),
        (&["--draws", "5"], 2, "20 or more"),
        (&["--k-hat", "5"], 2, "25 or more"),
    ] {
        let output = cavi(&directory, &[&["check-fit", "fit"], arguments].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{arguments:?}: {}", text(&output.stderr));
    }
    let output = cavi(&directory, &["check-fit", "drawn"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// A column without an observed entry has a noise precision from its prior alone, from which nothing can be drawn.
#[test]
fn a_column_without_data_stands_in_the_way_of_nothing() {
    let directory = scratch("check_fit_empty_column");
    let rows: String =
        (0..12).map(|row| format!("r{row},{},,{}\n", row * 7 % 5, f64::from(row) / 3.0)).collect();
    fs::write(directory.join("x.csv"), format!("sample,a,b,c\n{rows}")).unwrap();
    let program = "axis sample[n]\naxis feature[j]\ndata x[n, j] : real, absent = NA\nmu[j] ~ Normal(0, sd = 9)\n\
        psi[j] ~ Gamma(1e-5, rate = 1e-5)\nx[n, j] ~ Normal(mu[j], prec = psi[j])\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    succeed(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--quiet", "--out", "fit"]);
    assert!(checked(&directory, &[])["statistics"].as_array().unwrap().len() > 3);
    let by = checked(&directory, &["--by", "feature", "--stat", "mean"]);
    let groups: Vec<&str> =
        by["statistics"].as_array().unwrap().iter().map(|own| own["group"].as_str().unwrap()).collect();
    assert_eq!(groups, ["a", "c"]);
    let output = cavi(&directory, &["simulate", "fit", "--out", "drawn"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("12 entries of `x` are left missing, where the fit saw no data: `x[r0, b]`"),
        "{said}"
    );
}

/// The kurtosis of three numbers is 3 / 2 in all data, and accuses no model. What is beyond all replicates in many groups is told for the worst.
#[test]
fn what_cannot_vary_accuses_no_model_and_many_groups_are_summed_up() {
    let directory = scratch("check_fit_groups");
    let program = "axis group[g]\naxis item[n] in group[g]\ndata y[g, n] : real\n\
        mu[g] ~ Normal(0, sd = 1)\ny[g, n] ~ Normal(mu[g], sd = 1)\n";
    // In every fifth group the numbers lie far apart.
    let number = |group: usize, item: usize| {
        let far = if group.is_multiple_of(5) { 20.0 } else { 1.0 };
        far * (item as f64 - 1.0) + ((group * 7 + item * 11) % 10) as f64 / 10.0
    };
    let table = (0..300).fold("group,item,y\n".to_owned(), |table, own| {
        let (group, item) = (own / 3, own % 3);
        table + &format!("g{group},i{item},{}\n", number(group, item))
    });
    fs::write(directory.join("own.cavi"), program).unwrap();
    fs::write(directory.join("y.csv"), table).unwrap();
    succeed(&directory, &["fit", "own.cavi", "--data", "y=y.csv", "--out", "fit", "--progress", "none"]);
    let found = checked(&directory, &[]);
    let rows = found["statistics"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["statistic"] != "kurtosis"));
    assert_eq!(rows.iter().filter(|row| row["statistic"] == "variance").count(), 100);
    assert!(found["notes"][0].as_str().unwrap().contains("left out of 100 groups"), "{}", found["notes"]);
    let shown = succeed(&directory, &["check-fit", "fit"]);
    assert!(shown.lines().count() < 45 && shown.contains("of 500 statistics"), "{shown}");
    assert!(shown.contains("`y`, g0: the model expects a variance"), "{shown}");
}
