//! How much of the data a fit explains: by the formulas of the handbooks, from the posterior means that the fit wrote.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};
use serde_json::Value;

/// Fits, and gives back what `summary.json` says is explained, and what was printed.
fn fitted(directory: &Path, program: &str, data: &[&str]) -> (Value, String) {
    fs::write(directory.join("m.cavi"), program).unwrap();
    let mut arguments =
        vec!["fit", "m.cavi", "--sweeps", "25", "--progress", "none", "--out", "o", "--force"];
    data.iter().for_each(|data| arguments.extend(["--data", data]));
    let output = cavi(directory, &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    (summary["explained"].clone(), text(&output.stdout))
}

fn mean(directory: &Path, name: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(format!("o/posterior/{name}.npy"))).unwrap().values
}

fn csv(rows: &[Vec<f64>]) -> String {
    let line = |row: &Vec<f64>| {
        let cell = |value: &f64| if value.is_nan() { "NA".to_owned() } else { value.to_string() };
        row.iter().map(cell).collect::<Vec<String>>().join(",") + "\n"
    };
    rows.iter().map(line).collect()
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} and {expected}");
}

/// The means of the observed entries of each column.
fn columns(rows: &[Vec<f64>]) -> Vec<f64> {
    let of = |column: usize| {
        let own: Vec<f64> = rows.iter().map(|row| row[column]).filter(|value| !value.is_nan()).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    (0..rows[0].len()).map(of).collect()
}

/// `1 - sum f(y, fitted) / sum f(y, column)` over the observed entries.
fn share(rows: &[Vec<f64>], fitted: &dyn Fn(usize, usize) -> f64, f: &dyn Fn(f64, f64) -> f64) -> f64 {
    let means = columns(rows);
    let (mut left, mut all) = (0.0, 0.0);
    for (i, row) in rows.iter().enumerate() {
        for (j, value) in row.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            left += f(*value, fitted(i, j));
            all += f(*value, means[j]);
        }
    }
    1.0 - left / all
}

/// Twelve rows and six columns of two patterns, with some noise.
fn numbers() -> Vec<Vec<f64>> {
    let cell = |i: usize, j: usize| {
        let (a, b) = ((i as f64 * 0.9).sin(), (i as f64 * 0.4).cos());
        3.0 + j as f64
            + a * (j as f64 - 2.0)
            + b * ((j * j) as f64 / 9.0)
            + ((i * 7 + j * 5) % 11) as f64 / 40.0
    };
    (0..12).map(|i| (0..6).map(|j| cell(i, j)).collect()).collect()
}

fn squared(value: f64, mean: f64) -> f64 {
    (value - mean).powi(2)
}

fn poisson(value: f64, mean: f64) -> f64 {
    2.0 * (if value > 0.0 { value * (value / mean).ln() } else { 0.0 } - value + mean)
}

#[test]
fn the_variance_that_factors_explain_is_that_about_the_column_means() {
    let directory = scratch("explained_numbers");
    let mut rows = numbers();
    (rows[2][3], rows[7][0]) = (f64::NAN, f64::NAN);
    fs::write(directory.join("x.csv"), csv(&rows)).unwrap();
    let program = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : real, absent = NA\n\
        z[i, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 2)\nm[j] ~ Normal(0, sd = 10)\ntau ~ Gamma(1, rate = 0.1)\n\
        x[i, j] ~ Normal(m[j] + sum[k](z[i, k] * w[j, k]), prec = tau)\n";
    let (explained, shown) = fitted(&directory, program, &["x=x.csv"]);
    let (z, w, m) = (mean(&directory, "z.mean"), mean(&directory, "w.mean"), mean(&directory, "m.mean"));
    let of = |i: usize, j: usize| m[j] + (0..2).map(|k| z[i * 2 + k] * w[j * 2 + k]).sum::<f64>();
    let expected = share(&rows, &of, &squared);
    close(&explained["x"]["share"], expected);
    assert!(expected > 0.8, "{expected}");
    assert_eq!((&explained["x"]["measure"], &explained["x"]["n_compared"]), (&"variance".into(), &70.into()));
    let line = format!("explains {:.1} % of the variance of x about its column means", 100.0 * expected);
    assert!(shown.contains(&line), "{shown}");
    let summary = cavi(&directory, &["summary", "o"]);
    assert!(text(&summary.stdout).contains(&line));
}

#[test]
fn views_have_shares_of_their_own_and_scaled_data_count_as_the_fit_saw_them() {
    let directory = scratch("explained_views");
    let rows = numbers();
    let part = |columns: std::ops::Range<usize>, times: f64| -> Vec<Vec<f64>> {
        rows.iter().map(|row| columns.clone().map(|j| row[j] * times).collect()).collect()
    };
    let views = [part(0..4, 1.0), part(4..6, 1000.0)];
    fs::write(directory.join("a.csv"), csv(&views[0])).unwrap();
    fs::write(directory.join("b.csv"), csv(&views[1])).unwrap();
    let program = "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis part[k] = 1\n\
        data x[n, m, j] : real, center over n, scale over n\nz[n, k] ~ Normal(0, sd = 1)\nw[m, j, k] ~ Normal(0, sd = 1)\n\
        tau[m] ~ Gamma(1, rate = 1)\nx[n, m, j] ~ Normal(sum[k](z[n, k] * w[m, j, k]), prec = tau[m])\n";
    let (explained, shown) = fitted(&directory, program, &["x[a]=a.csv", "x[b]=b.csv"]);
    let z = mean(&directory, "z.mean");
    // Centred and scaled by columns, the mean of each is 0, and all count alike.
    let scaled = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let means = columns(rows);
        let sd = |j: usize| {
            (rows.iter().map(|row| (row[j] - means[j]).powi(2)).sum::<f64>() / rows.len() as f64).sqrt()
        };
        let sds: Vec<f64> = (0..means.len()).map(sd).collect();
        rows.iter().map(|row| (0..row.len()).map(|j| (row[j] - means[j]) / sds[j]).collect()).collect()
    };
    for (rows, view) in views.iter().zip(["a", "b"]) {
        let w = mean(&directory, &format!("w.mean/{view}"));
        let expected = share(&scaled(rows), &|i, j| z[i] * w[j], &squared);
        close(&explained["x"]["groups"][view], expected);
        assert!(shown.contains(&format!("{view} {:.1} %", 100.0 * expected)), "{shown}");
    }
}

#[test]
fn counts_and_outcomes_are_explained_by_their_deviance() {
    let directory = scratch("explained_counts");
    let counts: Vec<Vec<f64>> =
        (0..10).map(|i| (0..7).map(|j| ((i * j + 3 * (i % 2) * (j % 2) * 5) % 6) as f64).collect()).collect();
    fs::write(directory.join("x.csv"), csv(&counts)).unwrap();
    let poisson_program = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count, absent = 0\n\
        w[i, k] ~ Gamma(1, rate = 1)\nh[j, k] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\n";
    let (explained, _) = fitted(&directory, poisson_program, &["x=x.csv"]);
    let (w, h) = (mean(&directory, "w.mean"), mean(&directory, "h.mean"));
    let of = |i: usize, j: usize| (0..2).map(|k| w[i * 2 + k] * h[j * 2 + k]).sum::<f64>();
    close(&explained["x"]["share"], share(&counts, &of, &poisson));
    assert_eq!((&explained["x"]["measure"], &explained["x"]["n_entries"]), (&"deviance".into(), &70.into()));

    // Of complete rows: their totals times the columns' shares are the deviance of no structure.
    let topics = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count, absent = 0\n\
        w[i, :k] ~ Dirichlet(0.5)\nh[k, :j] ~ Dirichlet(0.5)\nx[i, :j] ~ Multinomial(sum[k](w[i, k] * h[k, :j]))\n";
    let (explained, _) = fitted(&directory, topics, &["x=x.csv"]);
    let (w, h) = (mean(&directory, "w.mean"), mean(&directory, "h.mean"));
    let totals: Vec<f64> = counts.iter().map(|row| row.iter().sum()).collect();
    let of_column = |j: usize| counts.iter().map(|row| row[j]).sum::<f64>();
    let (mut left, mut all) = (0.0, 0.0);
    for (i, row) in counts.iter().enumerate() {
        for (j, value) in row.iter().enumerate() {
            let share: f64 = (0..2).map(|k| w[i * 2 + k] * h[k * 7 + j]).sum();
            left += poisson(*value, totals[i] * share);
            all += poisson(*value, totals[i] * of_column(j) / totals.iter().sum::<f64>());
        }
    }
    close(&explained["x"]["share"], 1.0 - left / all);

    let outcomes: Vec<Vec<f64>> =
        counts.iter().map(|row| row.iter().map(|own| f64::from(*own > 2.0)).collect()).collect();
    fs::write(directory.join("x.csv"), csv(&outcomes)).unwrap();
    let trials =
        "axis row[i]\naxis column[j]\ndata x[i, j] : binary\np[i] ~ Beta(1, 1)\nx[i, j] ~ Bernoulli(p[i])\n";
    let (explained, _) = fitted(&directory, trials, &["x=x.csv"]);
    let p = mean(&directory, "p.mean");
    let log = |value: f64, mean: f64| -2.0 * if value == 1.0 { mean.ln() } else { (1.0 - mean).ln() };
    close(&explained["x"]["share"], share(&outcomes, &|i, _| p[i], &log));
}

/// Rows over a ragged axis: each group of words of a document has its own total.
#[test]
fn each_group_of_a_ragged_row_has_a_total_of_its_own() {
    let directory = scratch("explained_ragged");
    let table = |words: usize, of: &dyn Fn(usize, usize) -> usize| -> Vec<Vec<f64>> {
        (0..8).map(|d| (0..words).map(|j| of(d, j) as f64).collect()).collect()
    };
    let fields = [
        table(5, &|d, j| 1 + (d * j + d) % 4 + 9 * usize::from(d % 2 == j % 2)),
        table(3, &|d, j| 40 + (d + 3 * j) % 5),
    ];
    fs::write(directory.join("a.csv"), csv(&fields[0])).unwrap();
    fs::write(directory.join("b.csv"), csv(&fields[1])).unwrap();
    let program = "axis doc[d]\naxis field[m]\naxis word[j] in field[m]\naxis topic[k] = 2\n\
        data n[d, m, j] : count, absent = 0\ntheta[d, :k] ~ Dirichlet(0.5)\nbeta[m, k, :j] ~ Dirichlet(0.5)\n\
        n[d, m, :j] ~ Multinomial(sum[k](theta[d, k] * beta[m, k, :j]))\n";
    let (explained, _) = fitted(&directory, program, &["n[a]=a.csv", "n[b]=b.csv"]);
    let theta = mean(&directory, "theta.mean");
    for (rows, field) in fields.iter().zip(["a", "b"]) {
        let (beta, words) = (mean(&directory, &format!("beta.mean/{field}")), rows[0].len());
        let all: f64 = rows.iter().flatten().sum();
        let (mut left, mut whole) = (0.0, 0.0);
        for (d, row) in rows.iter().enumerate() {
            let total: f64 = row.iter().sum();
            for (j, value) in row.iter().enumerate() {
                let share: f64 = (0..2).map(|k| theta[d * 2 + k] * beta[k * words + j]).sum();
                left += poisson(*value, total * share);
                whole += poisson(*value, total * rows.iter().map(|row| row[j]).sum::<f64>() / all);
            }
        }
        close(&explained["n"]["groups"][field], 1.0 - left / whole);
    }
    // The expected counts of a group sum to its total.
    let output = cavi(
        &directory,
        &["impute", "o", "--all", "--out", "all.csv", "--data", "n[a]=a.csv", "--data", "n[b]=b.csv"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let imputed = fs::read_to_string(directory.join("all.csv")).unwrap();
    let mut sums = std::collections::BTreeMap::new();
    for line in imputed.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (document, field): (usize, &str) = (fields[0].parse().unwrap(), fields[1]);
        *sums.entry((field.to_owned(), document)).or_insert(0.0) += fields[3].parse::<f64>().unwrap();
    }
    for ((field, document), sum) in sums {
        let total: f64 = fields[usize::from(field == "b")][document].iter().sum();
        assert!((sum - total).abs() < 1e-9 * total, "{field} {document}: {sum} and {total}");
    }
}

#[test]
fn a_regression_has_the_coefficient_of_determination() {
    let directory = scratch("explained_regression");
    let (t, y): (Vec<f64>, Vec<f64>) =
        (0..20).map(|i| (i as f64 / 4.0, 1.0 + i as f64 / 3.0 + ((i * 13) % 7) as f64 / 5.0)).unzip();
    fs::write(directory.join("t.csv"), t.iter().map(|own| format!("{own}\n")).collect::<String>()).unwrap();
    fs::write(directory.join("y.csv"), y.iter().map(|own| format!("{own}\n")).collect::<String>()).unwrap();
    let program = "axis row[i]\ndata t[i] : real\ndata y[i] : real\na ~ Normal(0, sd = 10)\nb ~ Normal(0, sd = 10)\n\
        tau ~ Gamma(1, rate = 1)\ny[i] ~ Normal(a + b * t[i], prec = tau)\n";
    let (explained, shown) = fitted(&directory, program, &["t=t.csv", "y=y.csv"]);
    let (a, b) = (mean(&directory, "a.mean")[0], mean(&directory, "b.mean")[0]);
    let centre = y.iter().sum::<f64>() / 20.0;
    let left: f64 = t.iter().zip(&y).map(|(t, y)| (y - a - b * t).powi(2)).sum();
    let all: f64 = y.iter().map(|y| (y - centre).powi(2)).sum();
    close(&explained["y"]["share"], 1.0 - left / all);
    assert!(shown.contains("of the variance of y about its mean\n"), "{shown}");
}

/// Where a row has a class of its own, what the fit saw of the row says which: the entry is expected at its class, under one Normal over the
/// whole row as under one for each entry.
#[test]
fn clusters_explain_rows_by_the_class_that_each_row_has() {
    let directory = scratch("explained_mixture");
    let rows: Vec<Vec<f64>> = (0..30)
        .map(|i| {
            let (centre, off) = (f64::from(i % 3) * 10.0, f64::from(i * 7 % 5) * 0.3 - 0.6);
            vec![centre + off, -2.0 * centre - off * off]
        })
        .collect();
    fs::write(directory.join("x.csv"), csv(&rows)).unwrap();
    let shared = "axis row[n]\naxis dim[i, j]\naxis class[k] = 3\ndata x[n, i] : real\npi[:k] ~ Dirichlet(1)\n\
                  z[n] ~ Categorical(pi)\ninit { mu = kmeans(x) }\n";
    let whole = "mu[k, :i] ~ MultivariateNormal(0, prec = 0.01 * lam[k])\nlam[k, :i, :j] ~ Wishart(4, scale = [i == j])\n\
                 x[n, :i] ~ MultivariateNormal(mu[z[n]], prec = lam[z[n]])\nposterior { q(mu[k, :i], lam[k, :i, :j]) }\n";
    let apart = "mu[k, i] ~ Normal(0, sd = 30)\nx[n, i] ~ Normal(mu[z[n], i], sd = 1)\n";
    for program in [whole, apart] {
        let (explained, _) = fitted(&directory, &format!("{shared}{program}"), &["x=x.csv"]);
        let (prob, mu) = (mean(&directory, "z.prob"), mean(&directory, "mu.mean"));
        let at = |n: usize, i: usize| (0..3).map(|k| prob[n * 3 + k] * mu[k * 2 + i]).sum();
        let expected = share(&rows, &at, &|y, m| (y - m) * (y - m));
        assert!(expected > 0.95, "{expected}");
        // Of draws of `mu` where it is drawn with its precision: close to its mean.
        let found = explained["x"]["share"].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-3, "{found} and {expected}: {program}");
    }
    // One number a row, and a row that is missing: it has the class that rows have on average.
    let one: String = rows
        .iter()
        .enumerate()
        .map(|(n, row)| if n == 4 { "NA\n".into() } else { format!("{}\n", row[0]) })
        .collect();
    fs::write(directory.join("y.csv"), one).unwrap();
    let program = "axis row[n]\naxis class[k] = 3\ndata y[n] : real, absent = NA\npi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n\
                   mu[k] ~ Normal(0, sd = 30)\ny[n] ~ Normal(mu[z[n]], sd = 1)\ninit { mu[k] ~ Normal(10, sd = 9) }\nfit { restarts = 5 }\n";
    let (explained, _) = fitted(&directory, program, &["y=y.csv"]);
    assert!(explained["y"]["share"].as_f64().unwrap() > 0.95, "{explained}");
    let output = cavi(&directory, &["impute", "o", "--all", "--out", "all.csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (prob, mu, pi) =
        (mean(&directory, "z.prob"), mean(&directory, "mu.mean"), mean(&directory, "pi.mean"));
    for (n, line) in fs::read_to_string(directory.join("all.csv")).unwrap().lines().skip(1).enumerate() {
        let found: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
        let weights = if n == 4 { &pi[..] } else { &prob[n * 3..n * 3 + 3] };
        let expected: f64 = weights.iter().zip(&mu).map(|(weight, mu)| weight * mu).sum();
        assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "row {n}: {found} and {expected}");
    }
}

/// Rows of weight count as often as they weigh, as if each stood in the data so many times; those of no weight do not.
#[test]
fn rows_of_weight_count_as_often_as_they_weigh() {
    let program = |weight: &str| {
        format!(
            "model m\n\naxis row[n]\naxis trait[j]\naxis kind[k] = 2\n\n{weight}data at[k] : real\ndata x[n, j] : real\n\n\
             pi[:k] ~ Dirichlet(1)\nmu[k, j] ~ Normal(0, sd = 3)\ntau ~ Gamma(2, rate = 1)\n\
             z[n] ~ Categorical(pi)\nx[n, j] ~ Normal(mu[z[n], j], prec = tau)\n\ninit {{ mu = at[k] }}\n"
        )
    };
    let row = |n: usize| vec![(n % 2) as f64 * 9.0 + (n * 7 % 5) as f64 / 4.0, (n * 3 % 11) as f64 / 5.0];
    let weight = |n: usize| n * 5 % 4;
    let directory = scratch("explained_weights");
    let rows: Vec<Vec<f64>> = (0..25).map(row).collect();
    let repeated: Vec<Vec<f64>> = (0..25).flat_map(|n| std::iter::repeat_n(row(n), weight(n))).collect();
    fs::write(directory.join("x.csv"), csv(&rows)).unwrap();
    fs::write(directory.join("r.csv"), csv(&repeated)).unwrap();
    fs::write(directory.join("at.csv"), "0\n9\n").unwrap();
    fs::write(directory.join("m.csv"), (0..25).map(|n| format!("{}\n", weight(n))).collect::<String>())
        .unwrap();
    let (weighted, _) =
        fitted(&directory, &program("data m[n] : multiplicity\n"), &["x=x.csv", "m=m.csv", "at=at.csv"]);
    let (plain, _) = fitted(&directory, &program(""), &["x=r.csv", "at=at.csv"]);
    let share = |own: &Value| own["x"]["share"].as_f64().expect("a share");
    assert!((share(&weighted) - share(&plain)).abs() < 1e-6, "{weighted} and {plain}");
}

/// What is observed of an array that other statements read is no prediction of itself.
#[test]
fn an_array_that_others_read_is_explained_by_its_own_statement() {
    let program = "model m\n\naxis row[n]\n\ndata x[n] : real, absent = NA\ndata y[n] : real\n\n\
        m ~ Normal(0, sd = 10)\nc ~ Normal(0, sd = 10)\ns ~ Gamma(1, rate = 1)\nt ~ Gamma(1, rate = 1)\n\
        x[n] ~ Normal(m, prec = s)\ny[n] ~ Normal(c * x[n], prec = t)\n";
    let directory = scratch("explained_read");
    let x: Vec<Vec<f64>> =
        (0..30).map(|n| vec![if n == 4 { f64::NAN } else { (n * 7 % 11) as f64 - 5.0 }]).collect();
    let y: Vec<Vec<f64>> =
        (0..30).map(|n| vec![2.0 * ((n * 7 % 11) as f64 - 5.0) + (n * 5 % 3) as f64]).collect();
    fs::write(directory.join("x.csv"), csv(&x)).unwrap();
    fs::write(directory.join("y.csv"), csv(&y)).unwrap();
    let (explained, _) = fitted(&directory, program, &["x=x.csv", "y=y.csv"]);
    // One mean for all explains nothing.
    assert!(explained["x"]["share"].as_f64().unwrap().abs() < 0.01, "{explained}");
    assert!(explained["y"]["share"].as_f64().unwrap() > 0.9, "{explained}");
}

/// Pairs `i < j` of nodes have no columns: the order of the nodes changes neither the share nor what rows and columns predict. The expected square of a sum
/// and the expected product of two nodes are by their means, which are independent.
#[test]
fn what_is_explained_of_pairs_does_not_depend_on_the_order_of_the_nodes() {
    const NODES: usize = 9;
    let value = |i: usize, j: usize| ((i * 7 + j * 7) % 5 + (i + 1) * (j + 1) / 12) as f64;
    let held = |i: usize, j: usize| (i + j) % 6 == 3;
    let sums = "axis node[i, j]\ndata y[i, j] : real, absent = NA, i < j\nb[i] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
        y[i, j] ~ Normal(b[i] + b[j], prec = tau)\n";
    let products = "axis node[i, j]\ndata y[i, j] : count, absent = NA, i < j\nb[i] ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(b[i] * b[j])\n";
    for (name, program, f) in
        [("sums", sums, &squared as &dyn Fn(f64, f64) -> f64), ("products", products, &poisson)]
    {
        let directory = scratch(&format!("explained_pairs_{name}"));
        let mut shares: Vec<f64> = Vec::new();
        let mut baselines: Vec<f64> = Vec::new();
        for turned in [false, true] {
            let at = |node: usize| if turned { NODES - 1 - node } else { node };
            let table = |wanted: &dyn Fn(usize, usize) -> bool| -> String {
                let pairs =
                    (0..NODES).flat_map(|j| (0..j).map(move |i| (i, j))).filter(|(i, j)| wanted(*i, *j));
                let line = |(i, j): (usize, usize)| {
                    format!("{},{},{}\n", at(i).min(at(j)), at(i).max(at(j)), value(i, j))
                };
                "i,j,y\n".to_owned() + &pairs.map(line).collect::<String>()
            };
            fs::write(directory.join("y.csv"), table(&|_, _| true)).unwrap();
            fs::write(directory.join("held.csv"), table(&held)).unwrap();
            fs::write(directory.join("seen.csv"), table(&|i, j| !held(i, j))).unwrap();
            let (explained, shown) = fitted(&directory, program, &["y=y.csv"]);
            let b = mean(&directory, "b.mean");
            let expected = |i: usize, j: usize| match name {
                "sums" => b[at(i)] + b[at(j)],
                _ => b[at(i)] * b[at(j)],
            };
            let pairs: Vec<(usize, usize)> = (0..NODES).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
            let all = pairs.iter().map(|(i, j)| value(*i, *j)).sum::<f64>() / pairs.len() as f64;
            let sum = |of: &dyn Fn(usize, usize) -> f64| {
                pairs.iter().map(|(i, j)| f(value(*i, *j), of(*i, *j))).sum::<f64>()
            };
            close(&explained["y"]["share"], 1.0 - sum(&expected) / sum(&|_, _| all));
            assert!(shown.contains("of y about its mean\n"), "{shown}");
            shares.push(explained["y"]["share"].as_f64().unwrap());
            let line = [
                "fit",
                "m.cavi",
                "--data",
                "y=y.csv",
                "--heldout",
                "y=held.csv",
                "--out",
                "h",
                "--force",
                "--quiet",
            ];
            assert!(cavi(&directory, &line).status.success());
            let summary = fs::read_to_string(directory.join("h/summary.json")).unwrap();
            let summary: Value = serde_json::from_str(&summary).unwrap();
            let baseline = summary["heldout_baselines"]["y"]["means"]["per_unit"].as_f64();
            baselines.push(baseline.unwrap_or_else(|| panic!("{}", summary["heldout_baselines"])));
        }
        // After 25 sweeps, which take the nodes in another order.
        assert!((shares[0] - shares[1]).abs() < 1e-3, "{name}: {shares:?}");
        assert!((baselines[0] - baselines[1]).abs() < 1e-9, "{name}: {baselines:?}");
    }
}
