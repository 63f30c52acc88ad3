//! Directories of fits that somebody edited or that lost files: one clear message each, and status 1.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{MODEL, cavi, scratch, text};

fn fitted(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), "1,2,0\n0,1,3\n2,0,1\n").unwrap();
    let output = cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "5", "--out", "f"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    directory
}

/// What all commands that open the directory answer.
fn answers(directory: &Path, commands: &[&[&str]], part: &str) {
    for arguments in commands {
        let output = cavi(directory, arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains(part), "{arguments:?}, {part}: {message}");
        assert_eq!(message.matches("error").count(), 1, "{arguments:?}: {message}");
    }
}

const SCORE: &[&str] = &["score", "f", "--data", "x=x.csv", "--quiet"];
const PROJECT: &[&str] = &["project", "f", "--data", "x=x.csv", "--out", "p", "--quiet"];
const INIT: &[&str] = &["fit", "m.cavi", "--data", "x=x.csv", "--init", "f", "--out", "i", "--quiet"];
const SUMMARY: &[&str] = &["summary", "f"];
const TOP: &[&str] = &["top", "f", "w"];
const REPORT: &[&str] = &["report", "f", "--out", "r.html"];

#[test]
fn a_program_that_was_edited_is_not_the_one_that_was_fitted() {
    let directory = fitted("damaged-program");
    let changed = MODEL.replace("Gamma(1, rate = 1)", "Gamma(1, rate = 2)");
    for text in [changed.as_str(), &MODEL[..20], ""] {
        fs::write(directory.join("f/model.cavi"), text).unwrap();
        answers(
            &directory,
            &[SCORE, PROJECT, SUMMARY, TOP, REPORT],
            "another program than the one that was fitted",
        );
    }
    // Another layout is the same program.
    fs::write(directory.join("f/model.cavi"), MODEL.replace(" ~ ", "  ~  ")).unwrap();
    assert!(cavi(&directory, SCORE).status.success());
}

#[test]
fn a_summary_that_is_none_is_refused() {
    let directory = fitted("damaged-summary");
    for (summary, part) in
        [("[]", "no summary of a fit"), ("{}", "no summary of a fit"), ("{\"a\"", "no JSON"), ("", "no JSON")]
    {
        fs::write(directory.join("f/summary.json"), summary).unwrap();
        answers(&directory, &[SCORE, PROJECT, SUMMARY, TOP, REPORT], part);
    }
    fs::remove_file(directory.join("f/summary.json")).unwrap();
    answers(&directory, &[SCORE, PROJECT, SUMMARY, TOP, REPORT], "summary.json");
}

#[test]
fn posterior_files_that_are_lost_or_cut_are_named() {
    let directory = fitted("damaged-posterior");
    let file = directory.join("f/posterior/h.shape.npy");
    let whole = fs::read(&file).unwrap();
    for length in [0, 5, 100, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        answers(&directory, &[SCORE, PROJECT, INIT], "f/posterior/h.shape.npy");
    }
    fs::remove_file(&file).unwrap();
    answers(&directory, &[SCORE, PROJECT, INIT], "`h.shape`");
    fs::remove_file(directory.join("f/posterior/h.rate.npy")).unwrap();
    answers(&directory, &[SCORE, PROJECT], "`h`");
    fs::remove_dir_all(directory.join("f/posterior")).unwrap();
    answers(&directory, &[SCORE, PROJECT, INIT], "f");
}
