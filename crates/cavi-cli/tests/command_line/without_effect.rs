//! Options that would change nothing are refused, and what has ended is written where it is asked for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{MODEL, cavi, scratch, text};

/// A directory with a fit `fit` of counts of which a part was held out, and its program.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let row = |i: usize| (0..6).map(|j| ((i * 7 + j * 13) % 5).to_string()).collect::<Vec<_>>().join(",");
    fs::write(directory.join("x.csv"), (0..9).map(|i| row(i) + "\n").collect::<String>()).unwrap();
    succeed(&directory, &fit(&["--out", "fit", "--heldout", "x=0.3"]));
    directory
}

fn fit(more: &[&'static str]) -> Vec<&'static str> {
    let fixed = ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "20", "--seed", "1", "--progress", "none"];
    fixed.iter().chain(more).copied().collect()
}

fn succeed(directory: &Path, arguments: &[&str]) -> String {
    let output = cavi(directory, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    let directory = prepared("without_effect");
    let refuse = |arguments: &[&str], words: &[&str]| {
        let output = cavi(&directory, arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(words.iter().all(|word| message.contains(word)), "{arguments:?}: {message}");
    };
    for option in [["--form", "basic"], ["--sweeps", "3"], ["--tol", "1"], ["--seed", "9"]] {
        refuse(&["intervals", "fit", option[0], option[1]], &["--bootstrap"]);
    }
    refuse(&["intervals", "fit", "--data", "x=x.csv"], &["--data", "--linear-response"]);
    for command in [&["intervals", "fit"][..], &["score", "fit"], &["top", "fit", "w"], &["impute", "fit"]] {
        for option in [["--set", "part=3"], ["--columns", "x=wide"], ["--labels", "row=no.txt"]] {
            refuse(&[command, &option].concat(), &[option[0], "--data"]);
        }
    }
    refuse(&["score", "fit", "--sweeps", "0"], &["--sweeps", "--data"]);
    refuse(&["score", "fit", "--tol", "5"], &["--tol", "--data"]);
    refuse(&["top", "fit", "w", "--threads", "3"], &["--rank"]);
    refuse(&["top", "fit", "--rank", "column", "--for", "row", "--by", "lift"], &["--by", "--rank"]);
    refuse(&fit(&["--out", "o", "--heldout-totals"]), &["--heldout-totals", "--heldout"]);
    refuse(&["plan", "m.cavi", "--data", "x=x.csv", "--derive", "--ranks", "4"], &["--derive", "--ranks"]);
    // With what they are about they are taken.
    succeed(
        &directory,
        &["intervals", "fit", "--bootstrap", "2", "--form", "basic", "--sweeps", "3", "--seed", "9"],
    );
    succeed(&directory, &["score", "fit"]);
}

#[test]
fn a_finished_fit_is_written_where_it_is_resumed_to() {
    let directory = prepared("resumed_elsewhere");
    let again = fit(&["--heldout", "x=0.3", "--resume", "fit", "--out", "other", "--report"]);
    let said = succeed(&directory, &again);
    assert!(said.contains("finished") && said.contains("report.html"), "{said}");
    for file in ["summary.json", "model.cavi", "posterior/w.mean.npy", "trace.csv"] {
        let bytes = |place: &str| fs::read(directory.join(place).join(file)).expect("the file is there");
        assert_eq!(bytes("fit"), bytes("other"), "{file}");
    }
    assert!(directory.join("other/report.html").is_file() && !directory.join("fit/report.html").exists());
    succeed(&directory, &["summary", "other"]);
    // What another wrote is not replaced.
    fs::create_dir(directory.join("theirs")).unwrap();
    fs::write(directory.join("theirs/own.txt"), "text").unwrap();
    let output = cavi(&directory, &fit(&["--heldout", "x=0.3", "--resume", "fit", "--out", "theirs"]));
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(!directory.join("theirs/summary.json").exists());
}

#[test]
fn grids_of_no_numbers_are_refused() {
    let directory = prepared("grids_of_no_numbers");
    let model = MODEL.replace("part[k] = 2", "part[k]");
    fs::write(directory.join("k.cavi"), model).unwrap();
    for (grid, word) in
        [("part=nan,2", "finite"), ("part=inf,2", "finite"), ("part=1..1e300", "at most 1000")]
    {
        let output = cavi(&directory, &["choose", "k.cavi", "--data", "x=x.csv", "--set", grid]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{grid}: {message}");
        assert!(message.contains(grid) && message.contains(word), "{message}");
    }
}

/// New rows whose directory holds a copy of their fit are asked about with this copy, wherever the fit itself has gone.
#[test]
fn projected_rows_keep_the_fit_that_lies_in_their_directory() {
    let directory = prepared("kept_earlier");
    fs::write(directory.join("z.csv"), "1,0,2,0,1,3\n0,2,0,1,0,1\n").unwrap();
    succeed(
        &directory,
        &["project", "fit", "--data", "x=z.csv", "--axis", "row", "--out", "rows", "--quiet"],
    );
    let ask = ["impute", "rows", "--all", "--draws", "0", "--out", "all.csv"];
    succeed(&directory, &ask);
    let before = fs::read_to_string(directory.join("all.csv")).unwrap();
    fs::rename(directory.join("fit"), directory.join("rows/earlier")).unwrap();
    succeed(&directory, &ask);
    assert_eq!(fs::read_to_string(directory.join("all.csv")).unwrap(), before);
    fs::rename(directory.join("rows/earlier"), directory.join("gone")).unwrap();
    assert_eq!(cavi(&directory, &ask).status.code(), Some(1));
}
