//! `cavi export`: the latents of a fit as tables.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = cavi(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A program with factors of q of several families, over plain, ragged and sliced axes.
const PROGRAM: &str = "axis school[j]\naxis pupil[i] in school[j]\naxis test[k]\naxis kind[c] = 2\n\
    data y[j, i] : real\ndata x[j, k] : real\ndata n[j, k] : count\n\
    noise ~ Gamma(2, rate = 1)\nlevel[j] ~ Normal(0, sd = 3)\nchange[j, i] ~ Normal(0, sd = 1)\n\
    b[j, k] ~ Normal(0, sd = 2)\nspread[j] ~ Gamma(2, rate = 1)\nshare[j, :c] ~ Dirichlet(1)\nkind[j] ~ Categorical(share[j, :c])\n\
    most[k] ~ Gamma(1, rate = 1)\n\
    y[j, i] ~ Normal(level[j] + change[j, i], prec = noise)\nx[j, k] ~ Normal(b[j, k], prec = spread[j])\n\
    n[j, k] ~ Poisson(most[k])\nposterior {\n  q(b[j, :k])\n}\n";

#[test]
fn every_latent_has_its_tables() {
    let directory = scratch("export");
    fs::write(directory.join("m.cavi"), PROGRAM.replace("kind[j]", "sort[j]")).unwrap();
    fs::write(directory.join("y.csv"), "school,pupil,y\nA,p,1\nA,q,2.5\nB,p,-1\nB,r,0\n").unwrap();
    fs::write(directory.join("x.csv"), "school,t1,t2\nA,1,2\nB,0.5,-3\n").unwrap();
    fs::write(directory.join("n.csv"), "school,t1,t2\nA,4,0\nB,1,1\n").unwrap();
    let data = ["--data", "y=y.csv", "--data", "x=x.csv", "--data", "n=n.csv"];
    succeed(
        &directory,
        &[&["fit", "m.cavi", "--out", "fit", "--quiet", "--tol", "0", "--sweeps", "200"][..], &data].concat(),
    );
    let shown = succeed(&directory, &["export", "fit", "--csv"]);
    assert!(shown.contains("tables written to fit") && shown.contains("  level.long.csv"), "{shown}");
    let table = |file: &str| rows(&directory.join("fit/export").join(file));
    let values =
        |file: &str| cavi_files::read_npy(&directory.join("fit/posterior").join(file)).unwrap().values;
    let number = |cell: &String| cell.parse::<f64>().unwrap();

    // A Normal: 1.6448536 standard deviations on either side.
    let level = table("level.long.csv");
    assert_eq!(level[0], ["school", "mean", "sd", "q05", "q50", "q95"]);
    for ((row, mean), var) in level[1..].iter().zip(values("level.mean.npy")).zip(values("level.var.npy")) {
        let found: Vec<f64> = row[1..].iter().map(number).collect();
        let width = 1.6448536269514722 * var.sqrt();
        for (found, expected) in found.into_iter().zip([mean, var.sqrt(), mean - width, mean, mean + width]) {
            assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "{row:?} {expected}");
        }
    }
    assert_eq!(table("level.csv")[0], ["school", "mean"]);

    // A slice with a covariance: each element has its variance on the diagonal.
    let (b, covariance) = (table("b.long.csv"), values("b.cov.npy"));
    assert_eq!(b[0], ["school", "test", "mean", "sd", "q05", "q50", "q95"]);
    assert_eq!(b[4][..2], ["B", "t2"]);
    let last = covariance.len() - 1;
    assert!((number(&b[4][3]) - covariance[last].sqrt()).abs() < 1e-12);
    assert_eq!(table("b.csv")[0], ["school", "t1", "t2"]);
    assert_eq!(table("b.csv")[2][2], b[4][2]);

    // A Gamma, in the order of its tests; the median lies between the tails and below the mean.
    let most = table("most.long.csv");
    let (shape, rate) = (values("most.shape.npy"), values("most.rate.npy"));
    for (k, row) in most[1..].iter().enumerate() {
        let found: Vec<f64> = row[1..].iter().map(number).collect();
        assert!((found[1] - shape[k].sqrt() / rate[k]).abs() < 1e-12);
        assert!(found[2] < found[3] && found[3] < found[0] && found[0] < found[4], "{row:?}");
    }

    // A ragged latent: the group is a column, and groups of other labels have no wide table.
    let change = table("change.long.csv");
    assert_eq!(change[0][..3], ["school", "pupil", "mean"]);
    let labels: Vec<String> = change[1..].iter().map(|row| row[..2].join(" ")).collect();
    assert_eq!(labels, ["A p", "A q", "B p", "B r"]);
    assert!(!directory.join("fit/export/change.csv").exists());

    // An element of a Dirichlet is a Beta; an index has probabilities and no quantiles; a number has one line.
    let share = table("share.long.csv");
    let concentration = values("share.concentration.npy");
    let (a, rest) = (concentration[0], concentration[1]);
    let sd = (a * rest / (a + rest + 1.0)).sqrt() / (a + rest);
    assert!((number(&share[1][3]) - sd).abs() < 1e-12, "{share:?}");
    assert_eq!(table("sort.long.csv")[0], ["school", "kind", "prob"]);
    assert_eq!(table("noise.long.csv").len(), 2);
    assert_eq!(table("noise.csv")[0], ["mean"]);
}

#[test]
fn wrong_questions_are_answered() {
    let directory = scratch("export_wrong");
    for (arguments, status, word) in
        [(&["export", "no", "--csv"][..], 1, "the directory of a fit"), (&["export", "no"], 2, "--csv")]
    {
        let output = cavi(&directory, arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{message}");
        assert!(message.contains(word), "{message}");
    }
    assert!(!directory.join("no").exists());
}

/// Joint factors, as programs with data of four columns.
const JOINT: [(&str, &str); 4] = [
    ("normal_gamma", "t[k, j] ~ Gamma(2, rate = 1)\nm[j, k] ~ Normal(0, prec = 0.1 * t[k, j])\n"),
    ("normal_gamma_slice", "t[k] ~ Gamma(2, rate = 1)\nm[k, j] ~ Normal(0, prec = 0.1 * t[k])\n"),
    (
        "normal_wishart",
        "t[k, :j, :l] ~ Wishart(8, scale = 0.5 * [j == l])\nm[k, :j] ~ MultivariateNormal(0, prec = 0.3 * t[k])\n",
    ),
    ("spike_and_slab", "t[k, j] ~ Bernoulli(0.4)\nm[k, j] ~ Normal(0, sd = 2)\n"),
];

/// Of every member of a joint factor the mean, the deviation and the quantiles that are written are those of draws from it.
#[test]
fn members_of_joint_factors_have_means_deviations_and_quantiles() {
    let directory = scratch("export-joint");
    let table: String = (0..30)
        .map(|n| {
            let cell = |j: u32| f64::from((n * (7 + j) + 3 * j) % 11) / 3.0 - f64::from(j);
            format!("i{n},{},{},{}\n", cell(1), cell(2), cell(3))
        })
        .collect();
    fs::write(directory.join("x.csv"), format!("item,a,b,c\n{table}")).unwrap();
    for (name, statements) in JOINT {
        let (data, block) = match name {
            "normal_gamma" => ("x[n, j] ~ Normal(m[j, z[n]], prec = t[z[n], j])", "q(m[j, k], t[k, j])"),
            "normal_gamma_slice" => ("x[n, j] ~ Normal(m[z[n], j], prec = t[z[n]])", "q(m[k, :j], t[k])"),
            "normal_wishart" => {
                ("x[n, :j] ~ MultivariateNormal(m[z[n]], prec = t[z[n]])", "q(m[k, :j], t[k, :j, :l])")
            }
            _ => ("x[n, j] ~ Normal(t[z[n], j] * m[z[n], j], sd = 3)", "q(t[k, j], m[k, j])"),
        };
        let program = format!(
            "axis item[n]\naxis column[j, l]\naxis class[k] = 2\ndata x[n, j] : real\npi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n\
             {statements}{data}\nposterior {{\n  {block}\n}}\n"
        );
        fs::write(directory.join("m.cavi"), program).unwrap();
        for arguments in [
            &["fit", "m.cavi", "--data", "x=x.csv", "--out", "o"][..],
            &["export", "o", "--csv"],
            &["sample", "o", "m", "t", "--draws", "4000", "--seed", "5"],
        ] {
            let output = cavi(&directory, arguments);
            assert_eq!(output.status.code(), Some(0), "{name} {arguments:?}: {}", text(&output.stderr));
        }
        for variable in ["m", "t"] {
            let path = directory.join(format!("o/export/{variable}.long.csv"));
            let long =
                fs::read_to_string(&path).unwrap_or_else(|_| panic!("{name} has a table of {variable}"));
            let draws = cavi_files::read_npy(&directory.join(format!("o/sample/{variable}.npy"))).unwrap();
            let each = draws.values.len() / 4000;
            let header: Vec<&str> = long.lines().next().unwrap().split(',').collect();
            for (cell, line) in long.lines().skip(1).enumerate() {
                let row: Vec<&str> = line.split(',').collect();
                let at = |column: &str| {
                    let place = header.iter().position(|own| *own == column)?;
                    row[place].parse::<f64>().ok()
                };
                let own: Vec<f64> = (0..4000).map(|draw| draws.values[draw * each + cell]).collect();
                let mean = own.iter().sum::<f64>() / 4000.0;
                let sd = (own.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4000.0).sqrt();
                let what = || format!("{name}, {variable} {line}: draws have {mean} and {sd}");
                let told = at("mean").or_else(|| at("prob")).unwrap_or_else(|| panic!("{}", what()));
                assert!((told - mean).abs() < 6.0 * sd / 63.0, "{}", what());
                let Some(deviation) = at("sd") else {
                    // A switch is described by its probability.
                    assert!(name == "spike_and_slab" && variable == "t", "{}", what());
                    continue;
                };
                assert!((deviation / sd - 1.0).abs() < 0.2, "{}", what());
                for (column, level) in [("q05", 0.05), ("q50", 0.5), ("q95", 0.95)] {
                    // An element of a Wishart beside the diagonal has no quantiles.
                    let Some(quantile) = at(column) else {
                        assert!(
                            name == "normal_wishart" && variable == "t" && cell / 3 % 3 != cell % 3,
                            "{}",
                            what()
                        );
                        continue;
                    };
                    let below = own.iter().filter(|value| **value < quantile).count() as f64 / 4000.0;
                    assert!((below - level).abs() < 0.03, "{column}: {below} lie below it, {}", what());
                }
            }
        }
    }
}
