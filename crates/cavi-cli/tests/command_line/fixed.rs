//! `cavi fit --fix`: known components beside free ones, what is said of them, what is refused, and that whatever asks the fit holds the same.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cavi, scratch, text};

const RATES: &str = "axis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : count, absent = 0\n\
    w[i, k] ~ Gamma(1, rate = 1)\nh[k, j] ~ Gamma(0.5, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n";

const TOPICS: &str = "axis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : count, absent = 0\n\
    w[i, :k] ~ Dirichlet(1)\nh[k, :j] ~ Dirichlet(0.5)\nx[i, :j] ~ Multinomial(p = sum[k](w[i, k] * h[k, j]))\n";

const FACTORS: &str = "axis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : real\n\
    w[i, k] ~ Normal(0, sd = 1)\nh[j, k] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(sum[k](w[i, k] * h[j, k]), sd = 1)\n\
    posterior {\n  q(w[i, :k])\n  q(h[j, :k])\n}\n";

/// Counts, with known parts in another order of columns and their transpose.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    let write = |file: &str, text: &str| fs::write(directory.join(file), text).unwrap();
    for (file, program) in [("rates.cavi", RATES), ("topics.cavi", TOPICS), ("factors.cavi", FACTORS)] {
        write(file, program);
    }
    let mut lines = vec!["row,a,b,c,d".to_owned()];
    lines.extend(
        (0..9).map(|i| format!("r{i},{},{},{},{}", 1 + i % 3 * 4, 2 + i % 2 * 5, 1 + i % 4, 8 - i % 5)),
    );
    write("x.csv", &(lines.join("\n") + "\n"));
    write("known.csv", "part,d,c,b,a\nfirst,0.1,0.2,0.3,0.4\nsecond,0.5,0.5,0,0\n");
    write("turned.csv", "column,first,second\nd,0.1,0.5\nc,0.2,0.5\nb,0.3,0\na,0.4,0\n");
    directory
}

fn fit(directory: &Path, program: &str, out: &str, more: &[&str]) -> (String, String) {
    let arguments =
        ["fit", program, "--data", "x=x.csv", "--sweeps", "20", "--tol", "0", "--out", out, "--verify"];
    let output = cavi(directory, &[&arguments, more].concat());
    assert_eq!(output.status.code(), Some(0), "{program} {more:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

fn means(directory: &Path, out: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(out).join("posterior/h.mean.npy")).unwrap().values
}

#[test]
fn known_components_stand_beside_free_ones() {
    let directory = prepared("fixed");
    for program in ["rates.cavi", "topics.cavi", "factors.cavi"] {
        // Of the factors rows are columns of the data.
        let file = if program == "factors.cavi" { "h=turned.csv" } else { "h=known.csv" };
        let (out, notes) = fit(&directory, program, "o", &["--fix", file]);
        assert!(
            out.contains("held `h` at 2 of 3 part (first, second), free at 1 (free 1)\n"),
            "{program}: {out}"
        );
        assert!(notes.contains("h: "), "{notes}");
        let labels = fs::read_to_string(directory.join("o/axes/part.txt")).unwrap();
        assert_eq!(labels, "first\nsecond\nfree 1\n");
        let found = means(&directory, "o");
        let least = if program == "factors.cavi" { 0.0 } else { 1e-100 };
        let (first, second) = ([0.4, 0.3, 0.2, 0.1], [least, least, 0.5, 0.5]);
        for column in 0..4 {
            let at = |part: usize| match program {
                "factors.cavi" => found[column * 3 + part],
                _ => found[part * 4 + column],
            };
            assert!(
                (at(0) - first[column]).abs() < 1e-15 && (at(1) - second[column]).abs() < 1e-15,
                "{found:?}"
            );
            assert!(at(2).is_finite() && at(2) != 0.0);
        }
    }
    // The transpose is the same file.
    fit(&directory, "rates.cavi", "one", &["--fix", "h=known.csv"]);
    fit(&directory, "rates.cavi", "other", &["--fix", "h=turned.csv", "--transpose", "h"]);
    assert_eq!(means(&directory, "one"), means(&directory, "other"));
    let summary = cavi(&directory, &["summary", "one", "h"]);
    assert!(
        text(&summary.stdout)
            .contains("  first   a                0.4         0           0.4           0.4"),
        "{}",
        text(&summary.stdout)
    );
}

#[test]
fn whatever_asks_a_fit_holds_what_it_held() {
    let directory = prepared("fixed-asked");
    for program in ["rates.cavi", "topics.cavi", "factors.cavi"] {
        let file = if program == "factors.cavi" { "h=turned.csv" } else { "h=known.csv" };
        fit(&directory, program, "o", &["--fix", file]);
        for arguments in [
            &["project", "o", "--data", "x=x.csv", "--out", "rows"][..],
            &["score", "o", "--data", "x=x.csv"],
            &["impute", "o", "--all", "--out", "all.csv"],
            &["intervals", "o", "w", "--bootstrap", "2"],
            &["sample", "o", "--draws", "3"],
            &["check-fit", "o", "--draws", "20"],
        ] {
            let output = cavi(&directory, arguments);
            assert_eq!(output.status.code(), Some(0), "{program} {arguments:?}: {}", text(&output.stderr));
        }
        // The file of a fit is one that holds.
        fit(&directory, program, "again", &["--fix", "h=o/fixed/h.csv"]);
        assert_eq!(means(&directory, "o"), means(&directory, "again"), "{program}");
    }
}

#[test]
fn files_that_do_not_fit_are_refused_in_one_message() {
    let directory = prepared("fixed-refused");
    let write = |file: &str, text: &str| fs::write(directory.join(file), text).unwrap();
    write("other.csv", "part,a,b,c,z\nfirst,0.1,0.2,0.3,0.4\n");
    write("negative.csv", "part,a,b,c,d\nfirst,-1,0.2,0.3,0.4\n");
    write("half.csv", "part,a,b,c,d\nfirst,0.5,0.5,,\n");
    write("sums.csv", "part,a,b,c,d\nfirst,0.5,0.5,0.5,0.5\n");
    for (program, more, words) in [
        (
            "rates.cavi",
            &["--fix", "h=turned.csv"][..],
            &["`first` is not one of `column`", "--transpose h"][..],
        ),
        ("rates.cavi", &["--fix", "h=other.csv"], &["`z` is not one of `column`, as x.csv has them"]),
        (
            "rates.cavi",
            &["--fix", "h=known.csv", "--set", "part=1"],
            &["2 positions along `part`", "`part` has 1"],
        ),
        (
            "rates.cavi",
            &["--fix", "h=negative.csv"],
            &["negative.csv, line 2, column `a`", "-1", "0 or greater"],
        ),
        ("rates.cavi", &["--fix", "g=known.csv"], &["no latent `g`", "`w`, `h`"]),
        ("rates.cavi", &["--fix", "x=known.csv"], &["`x` is data", "--data x=known.csv"]),
        ("topics.cavi", &["--fix", "h=half.csv"], &["`h` is held at some positions of `column`", "sum to 1"]),
        ("topics.cavi", &["--fix", "h=sums.csv"], &["sum to 2", "part first"]),
    ] {
        let arguments = [&["fit", program, "--data", "x=x.csv", "--out", "o"], more].concat();
        let output = cavi(&directory, &arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{more:?}: {message}");
        assert!(words.iter().all(|word| message.contains(word)), "{more:?}: {message}");
        assert_eq!(message.matches("error").count(), 1, "{message}");
    }
    let output =
        cavi(&directory, &["fit", "rates.cavi", "--data", "x=x.csv", "--out", "o", "--fix", "known.csv"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// A number is no file, and the boundary of a support is outside of where a density is taken: both are told with what to write.
#[test]
fn a_number_is_held_by_a_file() {
    let directory = scratch("fixed_number");
    let program = "axis item[n]\ndata y[n] : binary\np ~ Beta(1, 1)\ny[n] ~ Bernoulli(p)\n";
    for (name, content) in
        [("m.cavi", program), ("y.csv", "y\n1\n0\n1\n"), ("p.csv", "0\n"), ("q.csv", "1e-9\n")]
    {
        fs::write(directory.join(name), content).unwrap();
    }
    let held =
        |fix: &str| cavi(&directory, &["fit", "m.cavi", "--data", "y=y.csv", "--fix", fix, "--out", "o"]);
    let output = held("p=0");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("0 is a number, and no file") && said.contains("`--fix p=p.csv`"), "{said}");
    let output = held("p=p.csv");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("`p` is held at 0\n") && said.contains("such as 1e-9"), "{said}");
    let output = held("p=q.csv");
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Two of three at a probability of 1e-9.
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let elbo = summary["elbo"].as_f64().unwrap();
    assert!((elbo - 2.0 * 1e-9_f64.ln()).abs() < 1e-6, "{elbo}");
}
