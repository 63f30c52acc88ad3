//! Scores and imputations against numbers that are worked out here: of observed classes, of data that are scored as they are, of zeros, and of data that were
//! simulated with the seed that scores them.

use std::fs;
use std::path::Path;

use crate::common::{cavi, json, run, scratch, text};
use serde_json::Value;

fn write(directory: &Path, files: &[(&str, &str)]) {
    files.iter().for_each(|(name, own)| fs::write(directory.join(name), own).unwrap());
}

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "found {found}, expected {expected}");
}

/// `log N(x; mean, variance)`.
fn log_normal(x: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((2.0 * std::f64::consts::PI * variance).ln() + (x - mean).powi(2) / variance)
}

/// The columns `mean` and `sd` of a table of imputed entries.
fn imputed(directory: &Path, file: &str) -> Vec<(f64, f64)> {
    let table = fs::read_to_string(directory.join(file)).unwrap();
    let number = |word: Option<&str>| word.unwrap().parse().unwrap();
    table
        .lines()
        .skip(1)
        .map(|line| {
            let mut words = line.split(',').skip(1);
            (number(words.next()), number(words.next()))
        })
        .collect()
}

const CLASSES: &str = "axis n[n]\naxis class[k] = 2\ndata x[n] : real, absent = NA\n@pi[:k] ~ Dirichlet(1)\n\
    mu[k] ~ Normal(0, sd = 10)\nz[n] ~ Categorical(pi)\nx[n] ~ Normal(mu[z[n]], sd = 1)\n";

#[test]
fn an_observed_or_held_class_is_the_class_of_its_entry() {
    let directory = scratch("scored_classes");
    let program = |own: &str| CLASSES.replace('@', own);
    write(
        &directory,
        &[
            ("free.cavi", &program("")),
            ("seen.cavi", &program("data z[n] : index class, absent = NA\n")),
            ("x.csv", "n,x\na,-5\nb,-5.2\nc,-4.9\nd,5\ne,5.1\nf,4.9\ng,\nh,\ni,\n"),
            ("whole.csv", "n,x\na,-5\nb,-5.2\nc,-4.9\nd,5\ne,5.1\nf,4.9\ng,-5\nh,5\n"),
            ("z.csv", "n,z\na,0\nb,0\nc,0\nd,1\ne,1\nf,1\ng,0\nh,1\ni,\n"),
            ("zw.csv", "n,z\na,0\nb,0\nc,0\nd,1\ne,1\nf,1\ng,0\nh,1\n"),
            ("fix.csv", "n,class\na,0\nb,0\nc,0\nd,1\ne,1\nf,1\ng,0\nh,1\n"),
            ("hidden.csv", "n\ng\nh\n"),
        ],
    );
    // Given their classes the centres have the precision 3 + 1/100.
    let (low, high, variance) = (-15.1 / 3.01, 15.0 / 3.01, 1.0 / 3.01);
    run(&directory, "fit seen.cavi --data x=x.csv --data z=z.csv --out o --tol 1e-12");
    run(&directory, "impute o");
    let found = imputed(&directory, "o/imputed/x.csv");
    close(found[0].0, low, 1e-9);
    close(found[1].0, high, 1e-9);
    found[..2].iter().for_each(|own| close(own.1, (1.0_f64 + variance).sqrt(), 0.05));
    // Of the last nothing is known: four of each class were seen, and its mean and variance are those of the mixture of both.
    close(found[2].0, (low + high) / 2.0, 1e-6);
    close(found[2].1, (1.0 + variance + ((high - low) / 2.0).powi(2)).sqrt(), 0.1);
    let expected = log_normal(-5.0, low, 1.0 + variance) + log_normal(5.0, high, 1.0 + variance);
    for line in ["fit seen.cavi --data z=zw.csv", "fit free.cavi --fix z=fix.csv"] {
        let own = json(&directory, &format!("{line} --data x=whole.csv --heldout x=hidden.csv --out h"));
        close(own["heldout"]["x"]["log_predictive"].as_f64().unwrap(), expected, 0.15);
        run(&directory, "impute h");
        let found = imputed(&directory, "h/imputed/x.csv");
        close(found[0].0, low, 1e-9);
        close(found[1].0, high, 1e-9);
        fs::remove_dir_all(directory.join("h")).unwrap();
    }
}

#[test]
fn data_that_are_scored_as_they_are_are_predicted_by_what_stands_above_them() {
    let directory = scratch("scored_as_given");
    write(
        &directory,
        &[
            ("classes.cavi", &CLASSES.replace('@', "data z[n] : index class, absent = NA\n")),
            ("x.csv", "n,x\na,-5\nb,-5.2\nc,-4.9\nd,5\ne,5.1\nf,4.9\ng,-5\n"),
            ("z.csv", "n,z\na,0\nb,0\nc,0\nd,1\ne,1\nf,1\ng,0\n"),
            ("x_new.csv", "n,x\np,-5\nq,-4\nr,5\ns,4\n"),
            ("z_new.csv", "n,z\np,0\nq,0\nr,1\ns,1\n"),
            (
                "line.cavi",
                "axis n[n]\ndata x[n] : real, absent = NA\ndata y[n] : real, absent = NA\nm ~ Normal(0, sd = 10)\n\
                 b ~ Normal(0, sd = 10)\nx[n] ~ Normal(m, sd = 1)\ny[n] ~ Normal(b * x[n], sd = 0.5)\n",
            ),
            ("line.csv", "n,x,y\na,1,2\nb,2,4.1\nc,3,6\nd,0.5,0.9\n"),
            ("line_new.csv", "n,x,y\np,1.5,3\nq,-1,-2\n"),
        ],
    );
    run(&directory, "fit classes.cavi --data x=x.csv --data z=z.csv --out c");
    let own = json(&directory, "score c --data x=x_new.csv --data z=z_new.csv");
    // pi is Dirichlet(1 + 4, 1 + 3).
    let expected = 2.0 * (5.0_f64 / 9.0).ln() + 2.0 * (4.0_f64 / 9.0).ln();
    close(own["arrays"]["z"]["log_predictive"].as_f64().unwrap(), expected, 1e-9);
    run(&directory, "fit line.cavi --data x=line.csv:x --data y=line.csv:y --out l");
    let line = "score l --data x=line_new.csv:x --data y=line_new.csv:y --metrics rmse,mae,auc";
    let own = json(&directory, line);
    let mean = 6.5 / 4.01;
    let expected: f64 = [1.5, -1.0].iter().map(|x| log_normal(*x, mean, 1.0 + 1.0 / 4.01)).sum();
    close(own["arrays"]["x"]["log_predictive"].as_f64().unwrap(), expected, 0.5);
    let rmse = (((1.5 - mean) * (1.5 - mean) + (1.0 + mean) * (1.0 + mean)) / 2.0_f64).sqrt();
    close(own["metrics"]["x"]["rmse"]["value"].as_f64().unwrap(), rmse, 1e-9);
    // One of the two is above 0, and both are expected to be the same.
    close(own["metrics"]["x"]["auc"]["value"].as_f64().unwrap(), 0.5, 0.0);
    for name in ["x", "y"] {
        assert_eq!(own["metrics"][name]["rmse"]["popularity"], "nan");
        let reason = own["baselines"][name]["means"]["reason"].as_str().unwrap();
        assert!(reason.contains("scored as it is"), "{reason}");
    }
    assert!(run(&directory, line).0.contains("over 2 entries; no popularity\n"));
}

#[test]
fn zeros_of_whole_slices_and_of_counts_are_scored_like_listed_ones() {
    let directory = scratch("scored_zeros");
    let slices = "axis n[n]\naxis dim[j, l]\ndata x[n, j] : real, absent = @\ndata c[n] : real\n\
        b[j] ~ Normal(0, sd = 10)\nx[n, :j] ~ MultivariateNormal(c[n] * b[j], prec = 1 * [j == l])\n";
    let counts = "axis n[n]\ndata x[n] : count@\ndata c[n] : positive\nlam ~ Gamma(1, rate = 1)\nx[n] ~ Poisson(lam * c[n])\n";
    write(
        &directory,
        &[
            ("s_zero.cavi", &slices.replace('@', "0")),
            ("s_none.cavi", &slices.replace('@', "NA")),
            ("s.csv", "n,dim,x\na,p,1\na,q,2\nb,p,2\nb,q,4\nc,p,-1\nc,q,-2\n"),
            ("sc.csv", "n,c\na,1\nb,2\nc,-1\n"),
            ("s_new.csv", "n,dim,x\nu,p,3\nu,q,6\nv,p,-3\nv,q,0\n"),
            ("sc_new.csv", "n,c\nu,3\nv,-3\n"),
            ("p_zero.cavi", &counts.replace('@', ", absent = 0")),
            ("p_none.cavi", &counts.replace('@', "")),
            ("p.csv", "n,x\na,1\nb,2\n"),
            ("pc.csv", "n,c\na,1\nb,1\n"),
            ("p_new.csv", "n,x\nu,1\nv,0\nw,7\n"),
            ("pc_new.csv", "n,c\nu,1\nv,0.5\nw,3\n"),
        ],
    );
    let mut found = Vec::new();
    for (program, own) in [("s_zero", "s"), ("s_none", "s"), ("p_zero", "p"), ("p_none", "p")] {
        run(
            &directory,
            &format!("fit {program}.cavi --data x={own}.csv --data c={own}c.csv --out {program}"),
        );
        let line = format!("score {program} --data x={own}_new.csv --data c={own}c_new.csv");
        let score = json(&directory, &line);
        let number = |key: &str| score[key].as_f64().unwrap();
        found.push((number("log_predictive"), number("n_scored")));
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[2], found[3]);
    // sum c^2 = 6, sum c x = 6 and 12.
    let variance = 1.0 / 6.01;
    let of = |x: f64, c: f64, sum: f64| log_normal(x, c * sum * variance, 1.0 + c * c * variance);
    let expected = of(3.0, 3.0, 6.0) + of(6.0, 3.0, 12.0) + of(-3.0, -3.0, 6.0) + of(0.0, -3.0, 12.0);
    close(found[0].0, expected, 1.5);
    assert_eq!(found[0].1, 2.0);
    // lam is Gamma(4, rate = 3), a new count negative binomial: Gamma(4 + x) / (Gamma(4) x!) (3 / (3 + c))^4 (c / (3 + c))^x.
    let negative_binomial = |x: u32, c: f64| {
        let ways: f64 = (1..=x).map(|own| (f64::from(3 + own) / f64::from(own)).ln()).sum();
        ways + 4.0 * (3.0 / (3.0 + c)).ln() + f64::from(x) * (c / (3.0 + c)).ln()
    };
    let expected = negative_binomial(1, 1.0) + negative_binomial(0, 0.5) + negative_binomial(7, 3.0);
    close(found[2].0, expected, 0.3);
    assert_eq!(found[2].1, 3.0);
}

#[test]
fn implicit_classes_of_slices_have_the_shares_of_stored_ones() {
    let directory = scratch("scored_shares");
    let program = "axis n[n]\naxis class[k] = 2\naxis dim[j, l]\ndata x[n, j] : real\npi[:k] ~ Dirichlet(1)\n\
        mu[k, :j] ~ MultivariateNormal(0, prec = 0.01 * [j == l])\nz[n] ~ Categorical(pi)\n\
        x[n, :j] ~ MultivariateNormal(mu[z[n], j], prec = 4 * [j == l])\n";
    // The two classes differ in what the dimensions have in common, not in the first alone.
    let row = |n: u32| {
        let (sign, wave) = (if n < 8 { 1.0 } else { -1.0 }, f64::from(n * 7 % 5) / 10.0);
        format!("{n},{},{}\n", sign * 3.0 + wave, -sign * 3.0 + wave)
    };
    let table: String = std::iter::once("n,a,b\n".to_owned()).chain((0..12).map(row)).collect();
    let implicit = format!("{program}posterior {{\n  implicit z\n}}\n");
    write(&directory, &[("stored.cavi", program), ("implicit.cavi", &implicit), ("x.csv", &table)]);
    for name in ["stored", "implicit"] {
        let (said, _) = run(&directory, &format!("fit {name}.cavi --data x=x.csv --out {name}"));
        let line = said.lines().find(|line| line.starts_with("class in x")).unwrap();
        assert!(line.contains("66.7 %") && line.contains("33.3 %"), "{name}: {line}");
    }
}

#[test]
fn popularity_is_the_same_however_zeros_are_written() {
    let directory = scratch("scored_popularity");
    let entry = |i: usize, j: usize| f64::from(u8::from((i * 5 + j * 3 + i * j) % 7 < 3 + j % 2));
    let (rows, columns) = (8, 6);
    let (mut dense, mut long, mut mask) =
        (String::from("row,c0,c1,c2,c3,c4,c5\n"), String::from("row,col,x\n"), String::from("row,col\n"));
    let is_hidden = |i: usize, j: usize| (i * 2 + j).is_multiple_of(5);
    for i in 0..rows {
        let own: Vec<String> = (0..columns).map(|j| entry(i, j).to_string()).collect();
        dense += &format!("r{i},{}\n", own.join(","));
        for j in 0..columns {
            // A zero that is listed is one like any other.
            if entry(i, j) != 0.0 || i == j {
                long += &format!("r{i},c{j},{}\n", entry(i, j));
            }
            if is_hidden(i, j) {
                mask += &format!("r{i},c{j}\n");
            }
        }
    }
    write(&directory, &[("dense.csv", &dense), ("long.csv", &long), ("mask.csv", &mask)]);
    let cells = || (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let mean = |column: usize| {
        let own: Vec<f64> =
            cells().filter(|(i, j)| *j == column && !is_hidden(*i, *j)).map(|(i, j)| entry(i, j)).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    let errors: Vec<f64> =
        cells().filter(|(i, j)| is_hidden(*i, *j)).map(|(i, j)| entry(i, j) - mean(j)).collect();
    let count = errors.len() as f64;
    let rmse = (errors.iter().map(|own| own * own).sum::<f64>() / count).sqrt();
    let mae = errors.iter().map(|own| own.abs()).sum::<f64>() / count;
    for (support, statement) in [
        ("binary", "p[j] ~ Beta(1, 1)\nx[i, j] ~ Bernoulli(p[j])\n"),
        ("nonnegative", "p[j] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(p[j], sd = 1)\n"),
    ] {
        let program = format!("axis row[i]\naxis col[j]\ndata x[i, j] : {support}, absent = 0\n{statement}");
        fs::write(directory.join("p.cavi"), program).unwrap();
        let measured = |file: &str| {
            let out = format!("{support}_{file}");
            run(&directory, &format!("fit p.cavi --data x={file}.csv --heldout x=mask.csv --out {out}"));
            json(&directory, &format!("score {out} --metrics rmse,mae,map,ndcg"))["metrics"]["x"].clone()
        };
        let (one, other) = (measured("dense"), measured("long"));
        for metric in ["rmse", "mae", "map", "ndcg"] {
            let popularity = |own: &Value| own[metric]["popularity"].as_f64().unwrap();
            close(popularity(&one), popularity(&other), 1e-12);
        }
        close(one["rmse"]["popularity"].as_f64().unwrap(), rmse, 1e-12);
        close(one["mae"]["popularity"].as_f64().unwrap(), mae, 1e-12);
    }
}

#[test]
fn simulated_data_are_not_predicted_by_the_numbers_that_made_them() {
    let directory = scratch("scored_simulated");
    let program = "axis obs[n]\ndata y[n] : real\nu[n] ~ Normal(0, sd = 3)\ny[n] ~ Normal(u[n], sd = 0.3)\n";
    write(&directory, &[("m.cavi", program)]);
    for seed in [0, 5] {
        run(&directory, &format!("simulate m.cavi --set obs=200 --seed {seed} --out s{seed}"));
        let y = cavi_files::read_npy(&directory.join(format!("s{seed}/data/y.npy"))).unwrap().values;
        let truth: f64 = y.iter().map(|own| log_normal(*own, 0.0, 9.09)).sum::<f64>() / 200.0;
        let line = format!(
            "fit m.cavi --data y=s{seed}/data/y.npy --set obs=200 --heldout y=0.9 --seed {seed} --out f{seed}"
        );
        let own = json(&directory, &line);
        // Nothing scores above the truth but by chance: the standard deviation of the log density of a normal number is 0.71.
        let score = own["heldout"]["y"]["per_unit"].as_f64().unwrap();
        assert!(score < truth + 0.05, "{score} above {truth}");
    }
}

#[test]
fn an_average_that_few_draws_make_has_more_of_them_or_is_said_to_be_one() {
    let directory = scratch("scored_poorly");
    let program = |noise: &str| {
        format!(
            "axis obs[n]\ndata y[n] : real, absent = NA\nu[n] ~ Normal(0, sd = 3)\ny[n] ~ Normal(u[n], sd = {noise})\n"
        )
    };
    write(
        &directory,
        &[
            ("sharp.cavi", &program("0.01")),
            ("needle.cavi", &program("0.0000001")),
            ("wide.cavi", &program("3")),
        ],
    );
    let y = |n: i32| f64::from(n * 17 % 40) / 5.0 - 4.0;
    let rows = |own: std::ops::Range<i32>| own.map(|n| format!("{n},{}\n", y(n))).collect::<String>();
    let others: String = (20..40).map(|n| format!("{n},\n")).collect();
    fs::write(directory.join("y.csv"), format!("obs,y\n{}{others}", rows(0..20))).unwrap();
    fs::write(directory.join("t.csv"), format!("obs,y\n{}", rows(20..40))).unwrap();
    let fitted = |name: &str| {
        let (said, _) =
            run(&directory, &format!("fit {name}.cavi --data y=y.csv --heldout y=t.csv --out {name}"));
        let summary = fs::read_to_string(directory.join(name).join("summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let own = &summary["heldout"]["y"];
        (said, own["log_predictive"].as_f64().unwrap(), own["n_few_draws"].clone())
    };
    // Of 200 draws from N(0, 9) none or one is within 0.01 of a number, of 20,000 some 50; the truth is N(0, 9.0001).
    let (said, score, count) = fitted("sharp");
    close(score, (20..40).map(|n| log_normal(y(n), 0.0, 9.0001)).sum(), 2.0);
    assert!(count == Value::Null && !said.contains("likely too low"), "{said}");
    let (said, _, count) = fitted("needle");
    assert_eq!(count, 20);
    assert!(said.contains("at 20 entries fewer than 10 of all draws from q make the average"), "{said}");
    let (said, score, count) = fitted("wide");
    close(score, (20..40).map(|n| log_normal(y(n), 0.0, 18.0)).sum(), 1.0);
    assert!(count == Value::Null && !said.contains("likely too low"), "{said}");
}

/// A missing entry that other data are read from is a latent of its row: what is scored of the row is not given to it. Of two equal numbers y of a row
/// one is hidden, and predicted by the other: with `v = 1 / (1/9 + b^2)` it is `N(b^2 v y, 1 + b^2 v)`.
#[test]
fn rows_are_not_scored_by_what_was_fitted_to_them_where_data_are_missing() {
    let directory = scratch("scored_missing");
    let program = "axis obs[n]\naxis part[j]\ndata x[n] : real, absent = NA\ndata y[n, j] : real, absent = NA\nb ~ Normal(0, sd = 10)\n\
        x[n] ~ Normal(0, sd = 3)\ny[n, j] ~ Normal(b * x[n], sd = 1)\n";
    let x = |n: i32| f64::from(n * 7 % 13) - 6.0;
    let table = |of: &dyn Fn(i32) -> String, rows: i32| (0..rows).map(of).collect::<String>();
    let train_x = table(&|n| format!("{n},{}\n", x(n)), 200);
    let train_y = table(&|n| format!("{n},0,{}\n{n},1,{}\n", 2.0 * x(n) + 0.5, 2.0 * x(n) - 0.5), 200);
    let new_y = |n: i32| f64::from(n % 5) - 2.0;
    let new = table(&|n| format!("r{n},0,{}\nr{n},1,{}\n", new_y(n), new_y(n)), 40);
    write(
        &directory,
        &[
            ("m.cavi", program),
            ("x.csv", &format!("obs,x\n{train_x}")),
            ("y.csv", &format!("obs,part,y\n{train_y}")),
            ("nx.csv", &format!("obs,x\n{}", table(&|n| format!("r{n},\n"), 40))),
            ("ny.csv", &format!("obs,part,y\n{new}")),
        ],
    );
    run(&directory, "fit m.cavi --data x=x.csv --data y=y.csv --out o --tol 1e-12");
    let own = json(&directory, "score o --data x=nx.csv --data y=ny.csv");
    let scored = &own["arrays"]["y"];
    assert_eq!(scored["n_scored"], 40, "{own}");
    let v = 1.0 / (1.0 / 9.0 + 4.0);
    let expected: f64 =
        (0..40).map(|n| log_normal(new_y(n), 4.0 * v * new_y(n), 1.0 + 4.0 * v)).sum::<f64>() / 40.0;
    close(scored["per_unit"].as_f64().unwrap(), expected, 0.03);
}

/// Entries of a long table whose class is that of their item: what was seen of an item tells the class of an entry that was not.
#[test]
fn a_class_reached_through_index_data_is_that_of_the_fit() {
    let directory = scratch("scored_classes_of_items");
    let program = "axis t[t]\naxis item[i] = 4\naxis class[k] = 2\ndata it[t] : index item\ndata x[t] : real, absent = NA\npi[:k] ~ Dirichlet(1)\n\
        mu[k] ~ Normal(0, sd = 10)\nz[i] ~ Categorical(pi)\nx[t] ~ Normal(mu[z[it[t]]], sd = 1)\n";
    write(
        &directory,
        &[
            ("m.cavi", program),
            ("x.csv", "t,x\na,-5\nb,-5.2\nc,-4.9\nd,5\ne,5.1\nf,4.9\ng,\nh,\n"),
            ("it.csv", "t,it\na,0\nb,0\nc,1\nd,2\ne,2\nf,3\ng,1\nh,3\n"),
        ],
    );
    run(&directory, "fit m.cavi --data x=x.csv --data it=it.csv --restarts 5 --out o --tol 1e-12");
    run(&directory, "impute o");
    let (low, high, sd) = (-15.1 / 3.01, 15.0 / 3.01, (1.0 + 1.0_f64 / 3.01).sqrt());
    let found = imputed(&directory, "o/imputed/x.csv");
    for ((mean, deviation), expected) in found.iter().zip([low, high]) {
        close(*mean, expected, 1e-3);
        close(*deviation, sd, 0.05);
    }
    assert_eq!(found.len(), 2);
}

/// Columns in units of their own, `scale over`, with a latent for each entry: of a long table, over whose entries the program is run, the answers
/// are those of the same numbers as a matrix.
#[test]
fn standardised_data_with_a_latent_at_each_entry_are_in_the_units_of_their_columns() {
    let directory = scratch("scored_standardised_entries");
    let program = "axis row[i]\naxis col[j]\ndata x[i, j] : real, absent = NA, center over i, scale over i\n\
        m[j] ~ Normal(0, sd = 1)\nu[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal(m[j], prec = u[i, j])\n";
    let value = |row: usize, column: usize| {
        let noise = ((row * 7 + column * 3) % 5) as f64 - 2.0;
        [0.0, 1000.0, -50.0][column]
            + [1.0, 20.0, 0.1][column] * (noise + f64::from(u8::from(row == 4)) * 9.0)
    };
    let is_missing = |row: usize, column: usize| (row, column) == (1, 0) || (row, column) == (3, 2);
    let (mut wide, mut long) = ("row,a,b,c\n".to_owned(), "row,col,x\n".to_owned());
    for row in 0..8 {
        let mut cells = vec![format!("r{row}")];
        for (column, label) in ["a", "b", "c"].into_iter().enumerate() {
            let own = value(row, column);
            cells.push(if is_missing(row, column) { String::new() } else { format!("{own}") });
            if !is_missing(row, column) {
                long += &format!("r{row},{label},{own}\n");
            }
        }
        wide += &(cells.join(",") + "\n");
    }
    write(&directory, &[("m.cavi", program), ("wide.csv", &wide), ("long.csv", &long)]);
    let answers = |form: &str| {
        let line = format!("fit m.cavi --data x={form}.csv --tol 1e-13 --sweeps 5000 --out {form}");
        let elbo = json(&directory, &line)["elbo"].as_f64().unwrap();
        let file = |name: &str| fs::read(directory.join(form).join("standardised").join(name)).unwrap();
        run(&directory, &format!("impute {form} --all"));
        let table = fs::read_to_string(directory.join(form).join("imputed/x.csv")).unwrap();
        let mut lines: Vec<String> = table.lines().skip(1).map(str::to_owned).collect();
        lines.sort();
        (elbo, [file("x.center.npy"), file("x.scale.npy")], lines)
    };
    let ((elbo, files, expected), (found, others, lines)) = (answers("wide"), answers("long"));
    close(found, elbo, 1e-7);
    assert_eq!(files, others);
    // Entries that are not listed have no latent of their own in a long table.
    let listed = |line: &&String| !line.starts_with("r1,a,") && !line.starts_with("r3,c,");
    let expected: Vec<&String> = expected.iter().filter(listed).collect();
    assert_eq!(expected.len(), lines.len());
    for (own, other) in expected.into_iter().zip(&lines) {
        let numbers =
            |line: &str| line.split(',').skip(2).map(|own| own.parse::<f64>().unwrap()).collect::<Vec<_>>();
        assert_eq!(own.split(',').take(2).collect::<Vec<_>>(), other.split(',').take(2).collect::<Vec<_>>());
        close(numbers(other)[0], numbers(own)[0], 1e-6 * numbers(own)[0].abs().max(1.0));
    }
}

/// Rows under a MultivariateNormal that are held out, of data that are centred and scaled: those of the numbers that were standardised beforehand by what is
/// left, and as probable, less the logs of the scales.
#[test]
fn standardised_rows_that_are_held_out_are_standardised_as_wholes() {
    let directory = scratch("scored_standardised_rows");
    let program = |own: &str| {
        format!(
            "axis row[n]\naxis dim[a, b] = 2\ndata y[n, a] : real, absent = NA{own}\nmu[a] ~ Normal(0, sd = 10)\n\
             lam[:a, :b] ~ Wishart(4, 0.25 * [a == b])\ny[n, :a] ~ MultivariateNormal(mu[a], prec = lam[a, b])\n"
        )
    };
    let rows: Vec<[f64; 2]> = (0..12)
        .map(|row| [f64::from(row * 5 % 7) * 10.0 + 300.0, f64::from(row * row % 11) / 4.0 - 2.0])
        .collect();
    let kept = &rows[..9];
    let of = |column: usize| {
        let mean = kept.iter().map(|row| row[column]).sum::<f64>() / 9.0;
        let square = kept.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / 9.0;
        (mean, square.sqrt())
    };
    let moments = [of(0), of(1)];
    let table = |number: &dyn Fn(usize, f64) -> f64| {
        let line =
            |(row, own): (usize, &[f64; 2])| format!("r{row},{},{}\n", number(0, own[0]), number(1, own[1]));
        format!("row,p,q\n{}", rows.iter().enumerate().map(line).collect::<String>())
    };
    write(
        &directory,
        &[
            ("as_given.cavi", &program(", center over n, scale over n")),
            ("before.cavi", &program("")),
            ("y.csv", &table(&|_, own| own)),
            ("standard.csv", &table(&|column, own| (own - moments[column].0) / moments[column].1)),
            ("hidden.csv", "row,dim\nr9,p\nr9,q\nr10,p\nr10,q\nr11,p\nr11,q\n"),
        ],
    );
    let score = |line: &str| {
        let own = json(&directory, &format!("{line} --heldout y=hidden.csv --tol 1e-12 --force --out o"));
        own["heldout"]["y"]["log_predictive"].as_f64().unwrap()
    };
    let expected = score("fit before.cavi --data y=standard.csv");
    close(score("fit as_given.cavi --data y=y.csv"), expected, 1e-6);
    run(&directory, "score o --data y=y.csv");
}

/// Votes of the workers of a fit on its items: nothing is fitted to them, and no part of them tells of another.
#[test]
fn a_given_part_that_tells_nothing_is_refused() {
    let directory = scratch("scored_given");
    let program = "axis vote[t]\naxis worker[w]\naxis item[i]\naxis label[k, l] = 2\ndata who[t] : index worker\n\
        data it[t] : index item\ndata lab[t] : index label, absent = NA\npi[:k] ~ Dirichlet(1)\ntruth[i] ~ Categorical(pi)\n\
        conf[w, k, :l] ~ Dirichlet(1)\nlab[t] ~ Categorical(conf[who[t], truth[it[t]]])\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("v.csv"), "who,it,lab\n0,0,0\n1,0,0\n0,1,1\n1,1,1\n0,2,0\n1,2,1\n").unwrap();
    fs::write(directory.join("given.csv"), "vote,lab\n0,0\n1,0\n").unwrap();
    let data = ["--data", "who=v.csv:who", "--data", "it=v.csv:it", "--data", "lab=v.csv:lab"];
    let output = cavi(&directory, &[&["fit", "m.cavi", "--out", "o", "--quiet"][..], &data].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let score = |more: &[&str]| cavi(&directory, &[&["score", "o", "--quiet"][..], &data, more].concat());
    assert!(score(&[]).status.success());
    let output = score(&["--given", "lab=given.csv"]);
    let message = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && message.contains("no part of it tells of the rest"),
        "{message}"
    );
}

/// Rows with a class and a factor of their own: one that moves first holds the other where it is. Whichever order the program has, the rows end at the higher of two
/// optima, and are scored alike, near the exact log density of what is hidden given the rest, at the means of what rows share.
#[test]
fn rows_with_a_class_and_a_factor_are_scored_whatever_moves_first() {
    let directory = scratch("score_class_and_factor");
    let program = "axis obs[n]\naxis feat[j]\naxis comp[c] = 2\ndata x[n, j] : real, absent = NA\npi[:c] ~ Dirichlet(1)\n\
        z[n] ~ Categorical(pi)\nf[n] ~ Normal(0, sd = 1)\nW[c, j] ~ Normal(0, sd = 2)\nmu[c, j] ~ Normal(0, sd = 5)\ntau[j] ~ Gamma(1, rate = 1)\n\
        x[n, j] ~ Normal(mu[z[n], j] + W[z[n], j] * f[n], prec = tau[j])\ninit {\n  z = kmeans(x)\n}\n";
    fs::write(directory.join("z.cavi"), program).unwrap();
    fs::write(directory.join("f.cavi"), format!("{program}fit {{\n  sweep pi, mu, tau, f, W, z\n}}\n"))
        .unwrap();
    let mut state = 7_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let centre = |class: usize, j: usize| if class == 0 { 3.0 - j as f64 } else { j as f64 - 2.0 };
    let loading =
        |class: usize, j: usize| if class == 0 { 2.0 - j as f64 * 0.8 } else { 1.5 * ((j % 2) as f64) + 0.5 };
    let mut table = |rows: std::ops::Range<usize>| {
        rows.map(|n| {
            let (class, factor) = (n % 2, normal());
            [0, 1, 2, 3, 4].map(|j| centre(class, j) + loading(class, j) * factor + 0.4 * normal())
        })
        .collect::<Vec<_>>()
    };
    let (fitted, new) = (table(0..150), table(0..120));
    let written = |name: &str, rows: &[[f64; 5]], hidden: bool| {
        let mut text = ",a,b,c,d,e\n".to_owned();
        for (n, row) in rows.iter().enumerate() {
            let cells = row.iter().enumerate().map(|(j, value)| match hidden && (n + j) % 2 == 1 {
                true => String::new(),
                false => format!("{value:.6}"),
            });
            text += &format!("r{n},{}\n", cells.collect::<Vec<_>>().join(","));
        }
        fs::write(directory.join(name), text).unwrap();
    };
    written("x.csv", &fitted, false);
    written("new.csv", &new, false);
    written("half.csv", &new, true);
    let mut scores = Vec::new();
    for name in ["f", "z"] {
        run(
            &directory,
            &format!("fit {name}.cavi --data x=x.csv --restarts 5 --seed 1 --out {name} --quiet"),
        );
        let own = json(&directory, &format!("score {name} --data x=new.csv --given x=half.csv"));
        scores.push(own["arrays"]["x"]["per_unit"].as_f64().expect("a score"));
    }
    // `ln p(hidden | given)` of every row, by the densities of two mixtures, of all entries and of those that are given.
    let mean =
        |name: &str| cavi_files::read_npy(&directory.join(format!("z/posterior/{name}.npy"))).unwrap().values;
    let (pi, tau, w, mu) = (mean("pi.concentration"), mean("tau.mean"), mean("W.mean"), mean("mu.mean"));
    let density = |row: &[f64; 5], is_read: &dyn Fn(usize) -> bool| {
        let of_class = |class: usize| {
            let read: Vec<usize> = (0..5).filter(|j| is_read(*j)).collect();
            // The covariance is `W W' + 1 / tau`, whose determinant and inverse follow from those of a rank of one.
            let (mut inner, mut cross, mut squares, mut log_det) = (1.0, 0.0, 0.0, 0.0);
            for j in &read {
                let (from, loading) = (row[*j] - mu[class * 5 + j], w[class * 5 + j]);
                inner += loading * loading * tau[*j];
                cross += loading * from * tau[*j];
                squares += from * from * tau[*j];
                log_det -= tau[*j].ln();
            }
            let share = pi[class] / (pi[0] + pi[1]);
            let log = -0.5 * (squares - cross * cross / inner + log_det + inner.ln());
            share.ln() + log - 0.5 * read.len() as f64 * (2.0 * std::f64::consts::PI).ln()
        };
        let (a, b) = (of_class(0), of_class(1));
        a.max(b) + (-(a - b).abs()).exp().ln_1p()
    };
    let (mut exact, mut count) = (0.0, 0);
    for (n, row) in new.iter().enumerate() {
        exact += density(row, &|_| true) - density(row, &|j| (n + j) % 2 == 0);
        count += (0..5).filter(|j| (n + j) % 2 == 1).count();
    }
    let exact = exact / f64::from(count as u32);
    assert!((scores[0] - scores[1]).abs() < 0.05, "{scores:?} {exact}");
    assert!((scores[0] - exact).abs() < 0.1, "{scores:?} {exact}");
}
