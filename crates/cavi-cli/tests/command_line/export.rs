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
