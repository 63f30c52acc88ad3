//! `cavi fit --heldout NAME=rows:F`, `NAME=last:AXIS`, and `--folds K`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cavi, scratch, text};
use serde_json::Value;

const RATINGS: &str = "axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : real, absent = NA\n\
    w[u, k] ~ Normal(0, sd = 1)\nh[i, k] ~ Normal(0, sd = 1)\ny[u, i] ~ Normal(sum[k](w[u, k] * h[i, k]), sd = 0.5)\n";

const VIEWS: &str = "axis sample[s]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k] = 2\n\
    data x[s, m, j] : real, absent = NA\nz[s, k] ~ Normal(0, sd = 1)\nw[m, j, k] ~ Normal(0, sd = 1)\n\
    x[s, m, j] ~ Normal(sum[k](z[s, k] * w[m, j, k]), sd = 0.5)\n";

const FIT: [&str; 10] =
    ["fit", "m.cavi", "--sweeps", "20", "--seed", "3", "--progress", "none", "--out", "o"];

/// A directory with a program, a long table of ratings with a time, and two wide tables of views.
fn prepared(name: &str, program: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), program).unwrap();
    let mut lines = "user,item,rating,time,note\n".to_owned();
    for cell in (0..12 * 9).filter(|cell| cell % 7 < 4) {
        let (user, item) = (cell / 9, cell % 9);
        let rating = (user as f64 - 5.5) * (item as f64 - 4.0) / 10.0;
        writeln!(lines, "{user},{item},{rating:.2},{},word{cell}", cell * 31 % 40).unwrap();
    }
    fs::write(directory.join("y.csv"), lines).unwrap();
    for (view, features) in [("rna", 5), ("protein", 3)] {
        let names: Vec<String> = (0..features).map(|feature| format!(",{view}{feature}")).collect();
        let mut lines = format!("sample{}\n", names.concat());
        for sample in 0..10 {
            let cells: Vec<String> =
                (0..features).map(|own| format!(",{:.2}", ((sample * own) as f64).sin())).collect();
            writeln!(lines, "s{sample}{}", cells.concat()).unwrap();
        }
        fs::write(directory.join(format!("{view}.csv")), lines).unwrap();
    }
    directory
}

const RATED: [&str; 2] = ["--data", "y=y.csv:rating"];
const VIEWED: [&str; 4] = ["--data", "x[rna]=rna.csv", "--data", "x[protein]=protein.csv"];

/// The summary of a fit, what it printed, and what it said.
fn fitted(directory: &Path, more: &[&str]) -> (Value, String, String) {
    let output = cavi(directory, &[&FIT[..], more, &["--force"]].concat());
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    (serde_json::from_str(&summary).unwrap(), text(&output.stdout), said)
}

fn refused(directory: &Path, more: &[&str], status: i32) -> String {
    let output = cavi(directory, &[&FIT[..], more].concat());
    assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn a_view_loses_whole_rows_and_the_summary_of_it_is_scored_again() {
    let directory = prepared("parts_views", VIEWS);
    let held = ["--heldout", "x[protein]=rows:0.2"];
    let (summary, _, said) = fitted(&directory, &[&VIEWED[..], &held].concat());
    assert!(said.contains("held out: 2 of 10 rows (`sample`) of `x[protein]`, 6 entries"), "{said}");
    assert_eq!(summary["heldout"]["x"]["n_scored"], 6);
    assert_eq!(summary["settings"]["heldout"][0], "x[protein]=rows:0.2");
    // The directory says what was held out.
    let output = cavi(&directory, &["score", "o", "--metrics", "rmse", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // One request a group.
    let both = ["--heldout", "x[protein]=rows:0.2", "--heldout", "x[rna]=rows:0.1"];
    let (summary, ..) = fitted(&directory, &[&VIEWED[..], &both].concat());
    assert_eq!(summary["heldout"]["x"]["n_scored"], 6 + 5);
    let twice = ["--heldout", "x[protein]=rows:0.2", "--heldout", "x[protein]=rows:0.1"];
    assert!(refused(&directory, &[&VIEWED[..], &twice].concat(), 1).contains("given twice"));
    let wrong = ["--heldout", "x[protien]=rows:0.2"];
    let message = refused(&directory, &[&VIEWED[..], &wrong].concat(), 1);
    assert!(message.contains("did you mean `protein`?"), "{message}");
}

#[test]
fn the_last_entries_by_a_column_are_those_that_a_file_would_name() {
    let directory = prepared("parts_last", RATINGS);
    let (by_column, _, said) = fitted(&directory, &[&RATED[..], &["--heldout", "y=last:time"]].concat());
    assert!(said.contains("held out: the last by `time` of 12 rows (`user`) of `y`, 12 entries"), "{said}");
    // The same by hand: of equal times the later line.
    let table = fs::read_to_string(directory.join("y.csv")).unwrap();
    let mut last = std::collections::BTreeMap::new();
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let time: u32 = fields[3].parse().unwrap();
        let own = last.entry(fields[0].to_owned()).or_insert((time, fields[1].to_owned()));
        if time >= own.0 {
            *own = (time, fields[1].to_owned());
        }
    }
    let lines: String = last.iter().map(|(user, (_, item))| format!("{user},{item}\n")).collect();
    fs::write(directory.join("last.csv"), format!("user,item\n{lines}")).unwrap();
    let (by_file, ..) = fitted(&directory, &[&RATED[..], &["--heldout", "y=last.csv"]].concat());
    assert_eq!(by_column["heldout"], by_file["heldout"]);
}

#[test]
fn what_cannot_be_held_out_so_says_what_can() {
    let directory = prepared("parts_wrong", RATINGS);
    for (held, status, wanted) in [
        ("y=rows:0", 2, "the fraction is 0"),
        ("y=rows:half", 2, "`half` is no fraction of the rows"),
        ("y=rows:0.01", 1, "of 12 rows that fraction is less than half of one"),
        ("y[a]=rows:0.5", 1, "`y[a]` names a group, and `y` has none"),
        ("y=last:", 2, "nothing says what the last entry is"),
        ("y=last:tme", 1, "(`tme` is no axis of `y`)"),
        ("y=last:note", 1, "y.csv, line 2, column `note`: found `word0`; expected numbers, or dates"),
        ("z=last:time", 1, "the program has no data of this name"),
        ("y=rwos", 2, "`rows:FRACTION`"),
    ] {
        let message = refused(&directory, &[&RATED[..], &["--heldout", held]].concat(), status);
        assert!(message.contains(wanted), "{held}: {message}");
    }
    let twice = [&RATED[..], &["--heldout", "y=last:time", "--heldout", "y=rows:0.1"]].concat();
    assert!(refused(&directory, &twice, 1).contains("given twice"));
    // Every row has one entry.
    fs::write(directory.join("y.csv"), "user,item,rating,time\n0,0,1,1\n1,1,2,2\n").unwrap();
    let message = refused(&directory, &[&RATED[..], &["--heldout", "y=last:time"]].concat(), 1);
    assert!(message.contains("no row (`user`) of `y` has a last entry by `time` beside others"), "{message}");
}

#[test]
fn folds_are_scored_one_by_one_and_the_fit_is_that_to_all_data() {
    let directory = prepared("parts_folds", RATINGS);
    let (summary, printed, said) = fitted(&directory, &[&RATED[..], &["--folds", "4"]].concat());
    assert!(said.contains("fold 4 of 4") && said.contains("all data"), "{said}");
    let folds = &summary["folds"];
    assert_eq!(folds["n_folds"], 4);
    let each = folds["arrays"]["y"]["each"].as_array().unwrap();
    let entries = fs::read_to_string(directory.join("y.csv")).unwrap().lines().count() - 1;
    let scored: u64 = each.iter().map(|own| own["n_scored"].as_u64().unwrap()).sum();
    assert_eq!((each.len(), scored), (4, entries as u64));
    // Mean and standard error as numpy has them: np.mean(s), np.std(s, ddof=1) / 2.
    let scores: Vec<f64> = each.iter().map(|own| own["per_unit"].as_f64().unwrap()).collect();
    let mean = scores.iter().sum::<f64>() / 4.0;
    let error = (scores.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / 3.0).sqrt() / 2.0;
    let near = |found: &Value, wanted: f64| (found.as_f64().unwrap() - wanted).abs() < 1e-12 * wanted.abs();
    assert!(near(&folds["arrays"]["y"]["mean"], mean), "{folds}");
    assert!(near(&folds["arrays"]["y"]["standard_error"], error), "{folds}");
    assert!(printed.contains("standard error") && printed.contains(&format!("{mean:.6}")), "{printed}");
    let means = &folds["arrays"]["y"]["means"];
    let gained = mean - means["mean"].as_f64().unwrap();
    assert!(near(&means["difference"]["mean"], gained), "{folds}");
    assert!(
        printed.contains("rows and columns, y") && printed.contains(&format!("{gained:+.6}")),
        "{printed}"
    );
    assert!(folds["fits"].as_array().unwrap().len() == 4 && summary["heldout"].is_null());
    // The same numbers again, and the fit to all data is the one without folds.
    let (again, ..) = fitted(&directory, &[&RATED[..], &["--folds", "4"]].concat());
    assert_eq!(again["folds"], *folds);
    let (alone, ..) = fitted(&directory, &RATED);
    assert_eq!(alone["elbo"], summary["elbo"]);
    assert!(alone["folds"].is_null());
}

#[test]
fn folds_need_entries_and_no_other_part() {
    let directory = prepared("parts_folds_wrong", RATINGS);
    for (more, status, wanted) in [
        (&["--folds", "1"][..], 2, "expected a whole number from 2 to 1000"),
        (&["--folds", "3", "--heldout", "y=0.1"], 2, "--heldout"),
        (&["--folds", "3", "--init", "o"], 2, "--init"),
        (&["--folds", "70"], 1, "`y` has 63 entries, and 70 parts of it are to be held out in turn"),
    ] {
        let message = refused(&directory, &[&RATED[..], more].concat(), status);
        assert!(message.contains(wanted), "{more:?}: {message}");
    }
}

#[test]
fn ragged_data_are_asked_for_by_group() {
    let directory = prepared("parts_ragged", VIEWS);
    let message = refused(&directory, &[], 1);
    assert!(message.contains("--data 'x[GROUP]=FILE' for each label GROUP of `view`"), "{message}");
    let message = refused(&directory, &["--data", "x=rna.csv"], 1);
    assert!(message.contains("`--data 'x[rna]=rna.csv'` if this is the file of one group"), "{message}");
}

/// The bound of a fit to visits with their times, of which these were held out, and what was said.
fn of_visits(directory: &Path, heldout: &str) -> (f64, String) {
    let (summary, _, said) =
        fitted(directory, &["--data", "y=visits.csv:y", "--tol", "0", "--heldout", heldout]);
    (summary["elbo"].as_f64().expect("a bound"), said)
}

/// Hours without a zero before them, fractions of seconds and weeks are in the order of the times that they name; a column of flags names what is TRUE. The
/// fit is that to the other visits, which a file of the held-out ones leaves over.
#[test]
fn times_are_in_their_order_and_flags_name_what_is_true() {
    let program = "axis patient[p]\naxis visit[v]\ndata y[p, v] : real, absent = NA\nm[p] ~ Normal(0, sd = 10)\n\
        y[p, v] ~ Normal(m[p], sd = 1)\n";
    let directory = prepared("times_in_order", program);
    let visits = "patient,visit,y,when,exact\nP0,a,1,2024-04-01 9:00,2024-04-01T10:00:00Z\nP0,b,4,2024-04-01 10:00,2024-04-01T10:00:00.5Z\n\
        P0,c,9,2024-03-01 8:00,2024-04-01T10:00Z\nP1,b,16,2024-05-01 17:00,2024-W14\nP1,a,25,2024-05-01 9:30,2024-W13\n";
    fs::write(directory.join("visits.csv"), visits).unwrap();
    fs::write(directory.join("last.csv"), "patient,visit\nP0,b\nP1,b\n").unwrap();
    fs::write(
        directory.join("flags.csv"),
        "patient,visit,test\nP0,a,FALSE\nP0,b,TRUE\nP0,c,FALSE\nP1,b,TRUE\nP1,a,FALSE\n",
    )
    .unwrap();
    let (expected, _) = of_visits(&directory, "y=last.csv");
    for heldout in ["y=last:when", "y=last:exact", "y=flags.csv"] {
        let (found, said) = of_visits(&directory, heldout);
        assert_eq!(found, expected, "{heldout}: {said}");
        assert!(said.contains("2 entries"), "{heldout}: {said}");
    }
    // Labels without an order of their own: what was done is told.
    let (_, said) = of_visits(&directory, "y=last:visit");
    assert!(said.contains("labels of `visit` such as `a` are neither numbers nor dates"), "{said}");
}
