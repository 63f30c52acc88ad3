//! SQLite: the answer to a query is the same table as in .csv, and what is refused.
//!
//! The database was written by Python: `tests/data/sqlite/make.py`.

use std::path::{Path, PathBuf};

use crate::common::{describe, read_with};
use cavi_files::{Content, Dimension, FileError, ReadOptions, Wanted, head};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sqlite/shop.db")
}

fn ask_at(path: &Path, query: Option<&str>, axes: &str) -> Result<Content, FileError> {
    let dimensions: Vec<Dimension<'_>> =
        axes.split_whitespace().map(|axis| Dimension { axis, letter: None }).collect();
    let options = ReadOptions { dimensions: &dimensions, column: query, ..ReadOptions::default() };
    cavi_files::read(path, &options)
}

fn ask(query: &str, axes: &str) -> Result<Content, FileError> {
    ask_at(&path(), Some(query), axes)
}

#[track_caller]
fn refused(query: &str, said: &[&str]) {
    let error = ask(query, "user track").map(|content| describe(&content)).unwrap_err().to_string();
    assert!(said.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_query_answers_with_the_table_of_the_csv() {
    let csv = include_bytes!("../data/parquet/plays.csv");
    let csv = read_with("t.csv", csv, "user track", Wanted::Numbers, None, &[]).unwrap();
    for query in ["SELECT user, track, plays FROM plays", "plays", " select * from plays "] {
        assert_eq!(describe(&ask(query, "user track").unwrap()), describe(&csv), "{query}");
    }
    let loud = ask("loud", "user track").unwrap();
    assert!(!loud.is_empty() && loud.len() < csv.len());
    let sums = ask("SELECT user, SUM(plays) AS n FROM plays GROUP BY user ORDER BY user", "user").unwrap();
    let total = |content: &Content| content.numbers().unwrap().iter().sum::<f64>();
    assert_eq!(total(&sums), total(&csv));
    let found = head(&path(), Some("plays")).unwrap();
    assert_eq!(found.format, format!("SQLite: a query with 3 columns, {} rows", csv.len()));
}

#[test]
fn null_is_missing_and_bytes_are_no_data() {
    assert_eq!(describe(&ask("SELECT name, price FROM odd", "name").unwrap()), "dense [3] [a|b|c] = 1.5 ? 3");
    refused(
        "SELECT name AS user, price AS track, picture FROM odd",
        &["bytes that are not text", "`picture`"],
    );
}

#[test]
fn a_query_only_reads() {
    let before = std::fs::read(path()).unwrap();
    refused("DELETE FROM plays", &["does not ask for rows", "SELECT ..."]);
    refused("DELETE FROM plays RETURNING *", &["does not ask for rows"]);
    refused("DROP TABLE plays", &["does not ask for rows"]);
    refused("ATTACH 'other.db' AS other", &["does not ask for rows"]);
    refused("SELECT * FROM plays; DELETE FROM plays", &["several queries"]);
    assert_eq!(std::fs::read(path()).unwrap(), before);
}

#[test]
fn what_is_wrong_with_a_query_is_said() {
    refused("SELECT user FROM play", &["no such table: play", "`plays`, `odd`, `loud`"]);
    refused("SELEC user FROM plays", &["syntax error", "SELEC"]);
    refused("SELECT users, track, plays FROM plays", &["no such column: users"]);
    refused("SELECT * FROM plays WHERE plays < 0", &["no row"]);
    let error = ask_at(&path(), None, "user track").unwrap_err().to_string();
    assert!(error.contains("`--data 'NAME=FILE:SELECT user, track, plays FROM"), "{error}");
    let absent = ask_at(Path::new("nowhere.db"), Some("t"), "user").unwrap_err().to_string();
    assert!(absent.contains("no such file"), "{absent}");
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.db");
    std::fs::write(&other, "user,track\n".repeat(200)).unwrap();
    let error = ask_at(&other, Some("plays"), "user track").unwrap_err().to_string();
    assert!(error.contains("no SQLite database"), "{error}");
    let whole = std::fs::read(path()).unwrap();
    for part in 1..8 {
        std::fs::write(&other, &whole[..whole.len() * part / 8]).unwrap();
        assert!(ask_at(&other, Some("SELECT * FROM plays"), "user track").is_err(), "cut at {part}");
    }
}
