//! That numbers stand where they belong: data that are derived, ragged, labelled or read again, each against a number from elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{cavi, scratch, text};

fn prepared(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(name);
    for (file, content) in files {
        fs::write(directory.join(file), content).unwrap();
    }
    directory
}

/// Runs a command that succeeds; what it prints.
fn run(directory: &Path, line: &str) -> String {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = cavi(directory, &arguments);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs a command that is refused; its status and what it says.
fn refused(directory: &Path, line: &str) -> (i32, String) {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = cavi(directory, &arguments);
    (output.status.code().unwrap_or(-1), text(&output.stderr))
}

/// The mean of a latent.
fn mean(directory: &Path, fit: &str, latent: &str) -> Vec<f64> {
    let path = directory.join(fit).join(format!("posterior/{latent}.mean.npy"));
    cavi_files::read_npy(&path).unwrap().values
}

fn summary(directory: &Path, fit: &str) -> Value {
    let text = fs::read_to_string(directory.join(fit).join("summary.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{found}, not {expected}");
    }
}

/// The mean of a Normal(0, sd = 10) prior after so many observations with sd 1 and this sum.
fn posterior_mean(sum: f64, count: f64) -> f64 {
    sum / (count + 0.01)
}

#[test]
fn what_is_derived_from_sparse_data_does_not_depend_on_the_file() {
    let head = "%%MatrixMarket matrix coordinate integer general\n";
    let directory = prepared(
        "joined_derived",
        &[
            ("x.mtx", &format!("{head}3 3 1\n1 3 6\n")),
            ("x.csv", "0,0,6\n0,0,0\n0,0,0\n"),
            ("r.mtx", &format!("{head}2 3 1\n2 2 6\n")),
            ("r.csv", "0,0,0\n0,6,0\n"),
            ("w.mtx", &format!("{head}3 3 2\n1 1 2\n1 3 1\n")),
            (
                "turned.cavi",
                "axis node[i, j]\ndata x[i, j] : count, absent = 0\ndata y[i, j] = x[i, j] + x[j, i]\n\
                 m ~ Normal(0, sd = 10)\ny[i, j] ~ Normal(m, sd = 1)\n",
            ),
            (
                "less.cavi",
                "axis row[i]\naxis col[j, l]\ndata x[i, j] : count, absent = 0\n\
                 data y[i, j] = x[i, j] - sum[l](x[i, l]) / 3\na[j] ~ Normal(0, sd = 10)\ny[i, j] ~ Normal(a[j], sd = 1)\n",
            ),
            (
                "both.cavi",
                "axis row[i]\naxis col[j]\ndata x[i, j] : count, absent = 0\ndata w[i, j] : real, absent = NA\n\
                 data y[i, j] = x[i, j] + w[i, j], absent = NA\nm ~ Normal(0, sd = 10)\ny[i, j] ~ Normal(m, sd = 1)\n",
            ),
        ],
    );
    for file in ["x.mtx", "x.csv"] {
        run(&directory, &format!("fit turned.cavi --data x={file} --out o --quiet"));
        // The elements (1, 3) and (3, 1) are 6, of nine.
        assert_near(&mean(&directory, "o", "m"), &[posterior_mean(12.0, 9.0)]);
    }
    for file in ["r.mtx", "r.csv"] {
        run(&directory, &format!("fit less.cavi --data x={file} --out o --quiet"));
        let columns = [-2.0, 4.0, -2.0].map(|sum| posterior_mean(sum, 2.0));
        assert_near(&mean(&directory, "o", "a"), &columns);
    }
    // Where one operand is missing, so is the sum, also where the other lists a number; 0 is one.
    run(&directory, "fit both.cavi --data x=x.mtx --data w=w.mtx --out o --quiet");
    assert_near(&mean(&directory, "o", "m"), &[posterior_mean(2.0 + 7.0, 2.0)]);
}

const RAGGED: &str =
    "g,a,b,y\nG,1,1,12\nG,1,2,13\nG,2,1,13\nG,2,2,14\nH,1,1,12\nH,1,2,13\nH,2,1,13\nH,2,2,14\n";

#[test]
fn cells_of_two_groups_are_no_entries() {
    let axes = "axis g[g]\naxis a[i] in g[g]\naxis b[j] in g[g]\n";
    let flat: String =
        RAGGED.lines().map(|line| line.rsplit(',').next().unwrap().to_owned() + "\n").collect();
    let counts = "m ~ Gamma(1, rate = 0.1)\n";
    let directory = prepared(
        "joined_ragged",
        &[
            ("y.csv", RAGGED),
            ("flat.csv", &flat),
            (
                "real.cavi",
                &format!(
                    "{axes}data y[g, i, j] : real\nm ~ Normal(0, sd = 100)\ny[g, i, j] ~ Normal(m, sd = 1)\n"
                ),
            ),
            (
                "count.cavi",
                &format!("{axes}data y[g, i, j] : count, absent = 0\n{counts}y[g, i, j] ~ Poisson(m)\n"),
            ),
            ("flat.cavi", &format!("axis n[n]\ndata y[n] : count, absent = 0\n{counts}y[n] ~ Poisson(m)\n")),
        ],
    );
    run(&directory, "fit real.cavi --data y=y.csv --out o --quiet");
    let explained = &summary(&directory, "o")["explained"]["y"];
    assert_eq!(explained["n_compared"], 8);
    // About the means of the columns, 12.5 and 13.5, the squares add up to 2; about the mean of all, 13, to 4.
    assert!((explained["share"].as_f64().unwrap() + 1.0).abs() < 1e-6, "{explained}");
    run(&directory, "impute o --all");
    let imputed = fs::read_to_string(directory.join("o/imputed/y.csv")).unwrap();
    assert_eq!(imputed.lines().count(), 1 + 8, "{imputed}");
    let checked: Value = serde_json::from_str(&run(&directory, "check-fit o --stat min --json")).unwrap();
    let statistics = checked["statistics"].as_array().unwrap();
    for own in statistics {
        assert_eq!((own["n_entries"].as_u64(), own["observed"].as_f64()), (Some(4), Some(12.0)), "{own}");
    }
    assert_eq!(statistics.len(), 2);
    run(&directory, "simulate o --out drawn");
    let drawn = fs::read_to_string(directory.join("drawn/data/y.csv")).unwrap();
    assert_eq!(drawn.lines().count(), 1 + 8, "{drawn}");
    // The same eight counts without groups have the same score.
    let scored = |program: &str, file: &str| {
        run(&directory, &format!("fit {program} --data y={file} --heldout y=0.3 --seed 4 --out s --quiet"));
        let summary = summary(&directory, "s");
        let number = |name: &str| summary["heldout"]["y"][name].as_f64().unwrap();
        vec![number("log_predictive"), number("n_scored"), summary["elbo"].as_f64().unwrap()]
    };
    assert_near(&scored("count.cavi", "y.csv"), &scored("flat.cavi", "flat.csv"));
}

const MEANS: &str = "axis sample[n]\naxis item[j]\ndata x[n, j] : real\nm[j] ~ Normal(0, sd = 100)\nx[n, j] ~ Normal(m[j], sd = 1)\n";

#[test]
fn labels_that_are_numbers_from_0_are_joined_as_labels() {
    let directory = prepared(
        "joined_numbers",
        &[
            ("m.cavi", MEANS),
            ("turned.csv", "sample,2,0,1\na,20,0,10\nb,20,0,10\n"),
            ("x.csv", "sample,0,1,2\na,0,10,20\nb,0,10,20\n"),
            ("bare.csv", "20,0,10\n20,0,10\n"),
            ("named.csv", "sample,p,q,r\na,20,0,10\nb,20,0,10\n"),
        ],
    );
    let shrunk = |own: f64| own * 2.0 / (2.0 + 1e-4);
    run(&directory, "fit m.cavi --data x=turned.csv --out o --quiet");
    run(&directory, "fit m.cavi --data x=x.csv --init o --sweeps 0 --out started --quiet");
    assert_near(&mean(&directory, "started", "m"), &[0.0, 10.0, 20.0].map(shrunk));
    // Where one side has no labels, or other ones, the order counts.
    run(&directory, "fit m.cavi --data x=bare.csv --out o --quiet");
    for file in ["named.csv", "turned.csv"] {
        run(&directory, &format!("fit m.cavi --data x={file} --out o --quiet"));
        run(&directory, "fit m.cavi --data x=bare.csv --init o --sweeps 0 --out started --quiet");
        assert_near(&mean(&directory, "started", "m"), &[20.0, 0.0, 10.0].map(shrunk));
    }
}

#[test]
fn whole_numbers_with_a_decimal_point_are_those_numbers() {
    let directory = prepared(
        "joined_decimal",
        &[
            (
                "m.cavi",
                "axis item[n]\naxis group[g] = 3\ndata z[n] : index group\ndata c[g] : real\ndata y[n] : real\n\
                 b ~ Normal(0, sd = 10)\ny[n] ~ Normal(c[z[n]] * b, sd = 1)\n",
            ),
            ("c.csv", "1\n2\n3\n"),
            ("y.csv", "y\n3\n1\n2\n"),
            ("whole.csv", "z\n2\n0\n1\n"),
            ("decimal.csv", "z\n2.0\n0.0\n1.0\n"),
            ("named.csv", "z\nlate\nearly\nmid\n"),
        ],
    );
    for file in ["whole.csv", "decimal.csv"] {
        run(&directory, &format!("fit m.cavi --data z={file} --data c=c.csv --data y=y.csv --out o --quiet"));
        // y = c[z]: sum c^2 / (sum c^2 + 1 / 100).
        assert_near(&mean(&directory, "o", "b"), &[14.0 / 14.01]);
    }
    // Labels that index data alone give stand in order of appearance, and what has none is joined by it: this is said.
    let line = "fit m.cavi --data z=named.csv --data c=c.csv --data y=y.csv --out o --progress none";
    let output = cavi(&directory, &line.split_whitespace().collect::<Vec<_>>());
    let said = text(&output.stderr);
    assert!(
        output.status.success()
            && said.contains("labels of axis `group` stand in `z` (named.csv), and none in `c` (c.csv)"),
        "{said}"
    );
}

const FACTORS: &str = "axis user[u]\naxis item[i]\naxis f[k]\ndata n[u, i] : count, absent = 0\n\
    a[u, k] ~ Gamma(0.5, rate = 1)\nb[i, k] ~ Gamma(0.5, rate = 1)\nn[u, i] ~ Poisson(sum[k](a[u, k] * b[i, k]))\n";
const PLAYS: &str = "user,item,n\nu0,a,3\nu0,b,1\nu1,b,4\nu1,c,2\nu2,a,1\nu2,c,5\n";

#[test]
fn fits_of_other_sizes_are_not_averaged() {
    let directory = prepared("joined_sizes", &[("m.cavi", FACTORS), ("n.csv", PLAYS)]);
    for size in [2, 4] {
        run(
            &directory,
            &format!(
                "fit m.cavi --data n=n.csv --set f={size} --heldout n=0.3 --seed 1 --out o{size} --quiet"
            ),
        );
    }
    for (one, other, first, second) in [("o2", "o4", 2, 4), ("o4", "o2", 4, 2)] {
        let (status, said) = refused(&directory, &format!("score {one} {other}"));
        let found = format!("axis `f` has size {first} in `{one}` and {second} in `{other}`");
        assert!(status == 1 && said.contains(&found), "{said}");
    }
    // Of two runs of one size the average is scored, and no worse than the mean of both.
    run(
        &directory,
        "fit m.cavi --data n=n.csv --set f=2 --heldout n=0.3 --seed 1 --restarts 2 --keep all --out r --quiet",
    );
    run(&directory, "score r/runs/1 r/runs/2");
}

#[test]
fn what_is_seen_may_be_listed_in_any_format() {
    let directory = prepared(
        "joined_seen",
        &[
            ("m.cavi", FACTORS),
            ("n.csv", PLAYS),
            ("seen.csv", "user,item\nu0,a\nu2,c\n"),
            ("seen.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 1\n3 3\n"),
            ("seen.tns", "1 1 1\n3 3 1\n"),
        ],
    );
    run(&directory, "fit m.cavi --data n=n.csv --set f=2 --seed 1 --out o --quiet");
    let ranked =
        |file: &str| run(&directory, &format!("top o --rank item --for user --not-in {file} --json"));
    let expected = ranked("seen.csv");
    for file in ["seen.mtx", "seen.tns"] {
        assert_eq!(ranked(file), expected, "{file}");
    }
}

#[test]
fn a_fit_with_held_values_is_asked_whatever_the_columns_of_their_file() {
    let model = FACTORS.replace("b[i, k]", "b[k, i]").replace("axis f[k]", "axis f[k] = 2");
    let directory = prepared(
        "joined_held",
        &[
            ("m.cavi", &model),
            ("n.csv", PLAYS),
            ("b.csv", "sig,typ,val\ns1,a,1\ns1,b,2\ns1,c,3\n"),
            ("wide.csv", "f,a,b,c\ns1,1,2,3\n"),
        ],
    );
    let held = ["--fix b=b.csv --columns b=f:sig,item:typ,value:val", "--fix b=wide.csv --columns b=wide"];
    let imputed = held.map(|held| {
        run(&directory, &format!("fit m.cavi --data n=n.csv {held} --seed 1 --out o --quiet"));
        run(&directory, "impute o --all");
        fs::read_to_string(directory.join("o/imputed/n.csv")).unwrap()
    });
    assert_eq!(imputed[0], imputed[1]);
    assert_eq!(imputed[0].lines().count(), 1 + 9);
}

#[test]
fn groups_may_have_any_label() {
    let directory = prepared(
        "joined_groups",
        &[
            (
                "m.cavi",
                "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis f[k] = 1\ndata x[m, n, j] : real, absent = NA\n\
                 w[m, j, k] ~ Normal(0, sd = 1)\nz[n, k] ~ Normal(0, sd = 1)\nx[m, n, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), sd = 1)\n",
            ),
            ("v.csv", "sample,f1,f2\na,1,2\nb,2,1\nc,0,3\n"),
        ],
    );
    let projected = ["rna", "rna/seq"].map(|group| {
        run(&directory, &format!("fit m.cavi --data x[{group}]=v.csv --seed 2 --out o --quiet"));
        run(&directory, &format!("project o --data x[{group}]=v.csv --out p --quiet"));
        run(&directory, &format!("score o --data x[{group}]=v.csv"));
        mean(&directory, "p", "z")
    });
    assert_near(&projected[0], &projected[1]);
}

#[test]
fn no_command_writes_over_the_fit_that_it_reads() {
    let directory = prepared("joined_over", &[("m.cavi", FACTORS), ("n.csv", PLAYS)]);
    run(&directory, "fit m.cavi --data n=n.csv --set f=2 --restarts 2 --keep all --out o --quiet");
    for line in [
        "sample o --out o",
        "export o --csv --out o",
        "simulate o --out o",
        "project o --data n=n.csv --out o",
        "sample o/runs/1 --out o",
    ] {
        let (status, said) = refused(&directory, &format!("{line} --force"));
        assert!(status == 2 && said.contains("the directory of the fit"), "{line}: {said}");
    }
    run(&directory, "summary o");
    run(&directory, "sample o --out o/sample --quiet");
    run(&directory, "export o --csv --out other --quiet");
}

#[test]
fn empty_lines_at_the_end_are_no_entries() {
    let directory = prepared(
        "joined_blank",
        &[
            (
                "m.cavi",
                "axis n[n]\ndata y[n] : real, absent = NA\nm ~ Normal(0, sd = 10)\ny[n] ~ Normal(m, sd = 1)\n",
            ),
            ("end.csv", "y\n1\n2\n\n\n"),
            ("between.csv", "y\n1\n\n2\n\n"),
        ],
    );
    for (file, entries) in [("end.csv", 2), ("between.csv", 3)] {
        run(&directory, &format!("fit m.cavi --data y={file} --out o --quiet"));
        assert_eq!(summary(&directory, "o")["sizes"]["n"], entries, "{file}");
        assert_near(&mean(&directory, "o", "m"), &[posterior_mean(3.0, 2.0)]);
        // What is said of the file counts the same lines.
        let shown = run(&directory, &format!("data {file}"));
        assert!(shown.contains(&format!("1 column, {entries} lines")), "{shown}");
    }
}

#[test]
fn draws_from_a_fit_of_standardised_data_are_in_the_units_of_the_data() {
    let rows: String =
        (0..400).map(|row| format!("{},{}\n", 100 + row % 11, f64::from(row % 7) * 1e-3)).collect();
    let directory = prepared(
        "joined_units",
        &[
            (
                "m.cavi",
                "axis sample[n]\naxis item[j]\ndata x[n, j] : real, center over n, scale over n\nm[j] ~ Normal(0, sd = 1)\n\
                 x[n, j] ~ Normal(m[j], sd = 1)\n",
            ),
            ("x.csv", &rows),
        ],
    );
    run(&directory, "fit m.cavi --data x=x.csv --out o --quiet");
    run(&directory, "simulate o --seed 3 --out drawn");
    let drawn = cavi_files::read_npy(&directory.join("drawn/data/x.npy")).unwrap();
    assert_eq!(drawn.shape, [400, 2]);
    // 0, ..., 10 have the mean 5 and the variance 10; 0, ..., 6 the mean 3 and the variance 4.
    for (column, mean, deviation) in [(0, 105.0, 10.0_f64.sqrt()), (1, 3e-3, 2e-3)] {
        let own: Vec<f64> = drawn.values.iter().skip(column).step_by(2).copied().collect();
        let found = own.iter().sum::<f64>() / 400.0;
        let spread = (own.iter().map(|value| (value - found).powi(2)).sum::<f64>() / 399.0).sqrt();
        // Standard errors of a mean and of a standard deviation of 400 draws.
        assert!((found - mean).abs() < 5.0 * deviation / 20.0, "{found}, not {mean}");
        assert!(
            (spread / deviation - 1.0).abs() < 5.0 / (2.0 * 400.0_f64).sqrt(),
            "{spread}, not {deviation}"
        );
    }
}

#[test]
fn counts_that_were_rounded_are_refused() {
    let directory = prepared(
        "joined_rounded",
        &[
            ("m.cavi", "axis n[n]\ndata y[n] : count\nm ~ Gamma(1, rate = 1)\ny[n] ~ Poisson(m)\n"),
            ("exact.csv", "y\n9007199254740991\n1\n"),
            ("rounded.csv", "y\n9007199254740993\n1\n"),
        ],
    );
    run(&directory, "fit m.cavi --data y=exact.csv --out o --quiet");
    let (status, said) = refused(&directory, "fit m.cavi --data y=rounded.csv --out o --quiet --force");
    assert!(status == 1 && said.contains("rounded.csv, line 2") && said.contains("below 2^53"), "{said}");
}

/// The same name is written in two ways by different systems, and looks the same.
#[test]
fn labels_with_accents_are_joined_however_these_are_written() {
    let program = "axis place[p]\naxis year[t]\ndata x[p] : real\ndata y[p, t] : real, absent = NA\nb ~ Normal(0, sd = 10)\n\
                   y[p, t] ~ Normal(b * x[p], sd = 1)\n";
    let (composed, apart) = ("Orl\u{e9}ans", "Orle\u{301}ans");
    let x = format!("place,x\n{composed},1\nParis,2\n");
    let wide = format!(",a,b\nParis,20,20\n{apart},5,5\n");
    let long = format!("place,year,y\nParis,a,20\nParis,b,20\n{apart},a,5\n{composed},b,5\n");
    let labels = format!("Paris\n{apart}\n");
    let directory = prepared(
        "joined_accents",
        &[
            ("m.cavi", program),
            ("x.csv", &x),
            ("wide.csv", &wide),
            ("long.csv", &long),
            ("labels.txt", &labels),
        ],
    );
    for (number, table) in ["wide", "long"].iter().enumerate() {
        run(&directory, &format!("fit m.cavi --data x=x.csv --data y={table}.csv --out o{number} --quiet"));
        // Two observations of 20 at 2 and of 5 at 1, beside a prior of variance 100.
        let found = mean(&directory, &format!("o{number}"), "b")[0];
        assert!((found - 90.0 / 10.01).abs() < 1e-9, "{table}: {found}");
        let labels = fs::read_to_string(directory.join(format!("o{number}/axes/place.txt"))).unwrap();
        assert_eq!(labels, format!("{composed}\nParis\n"));
    }
    // New rows are those of the fit, and a label is found as it is typed.
    let new = format!("place,year,y\n{apart},a,5\n");
    fs::write(directory.join("new.csv"), new).unwrap();
    run(
        &directory,
        "fit m.cavi --data x=x.csv --data y=long.csv --labels place=labels.txt --heldout y=new.csv --out held",
    );
    let found = mean(&directory, "held", "b")[0];
    assert!((found - 85.0 / 9.01).abs() < 1e-9, "{found}");
}
