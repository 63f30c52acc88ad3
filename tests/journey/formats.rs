//! Data in the formats that people have: an annotated matrix to gene programmes with names, and one table in four formats to
//! the same fit.

use std::fs;
use std::path::{Path, PathBuf};

use super::texts::cavi;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The file was written by anndata: `tests/outside/blood.py`.
#[test]
fn an_annotated_matrix_becomes_gene_programmes_in_three_commands() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::copy(repository().join("tests/outside/blood.h5ad"), directory.path().join("blood.h5ad"))
        .expect("a copy");
    let (shown, _) = cavi(directory.path(), &["data", "blood.h5ad"]);
    assert!(
        shown.starts_with("blood.h5ad: annotated matrix (anndata), 150 observations x 60 variables"),
        "{shown}"
    );
    assert!(shown.contains("150 cell (cell0, ") && shown.contains(" x 60 gene (C1QA, "), "{shown}");
    assert!(shown.ends_with("cavi fit MODEL --data y=blood.h5ad --out DIR\n"), "{shown}");
    let fit = ["fit", "hpf", "--data", "y=blood.h5ad", "--set", "taste=4", "--restarts", "3", "--out", "o"];
    cavi(directory.path(), &[&fit[..], &["--progress", "none"]].concat());
    let (top, _) = cavi(directory.path(), &["top", "o", "beta", "--n", "8"]);
    let programmes: Vec<Vec<&str>> = top
        .lines()
        .filter(|line| line.trim_start().starts_with("taste"))
        .map(|line| line.split_whitespace().skip(2).collect())
        .collect();
    let has = |genes: &[&str]| programmes.iter().any(|own| genes.iter().all(|gene| own.contains(gene)));
    // Cytotoxic cells; monocytes; cells that present antigens.
    assert!(has(&["GNLY", "NKG7", "CCL5"]), "{top}");
    assert!(has(&["AIF1", "CST3", "LST1"]), "{top}");
    assert!(has(&["CD74", "HLA-DRA"]), "{top}");
    let cells = fs::read_to_string(directory.path().join("o/axes/user.txt")).expect("labels");
    assert!(cells.starts_with("cell0\ncell2\n"), "{cells}");
}

const MODEL: &str = "axis user[u]\naxis track[i]\naxis part[k] = 2\ndata y[u, i] : count, absent = 0\n\
    w[u, k] ~ Gamma(1, rate = 1)\nh[i, k] ~ Gamma(1, rate = 1)\ny[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))\n";

/// Every file below a directory of a fit that holds numbers or labels, by its name.
fn numbers(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(numbers(&path));
        } else if path.extension().is_some_and(|own| own == "npy" || own == "txt") {
            found.push((path.clone(), fs::read(&path).expect("a file")));
        }
    }
    found.sort();
    found
}

/// The same entries as .csv, as .parquet, as an answer of SQLite and from the standard input.
#[test]
fn one_table_gives_one_fit_in_every_format() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = repository().join("crates/cavi-files/tests/data");
    for (from, to) in [
        ("parquet/plays.csv", "plays.csv"),
        ("parquet/plays.parquet", "plays.parquet"),
        ("sqlite/shop.db", "shop.db"),
    ] {
        fs::copy(data.join(from), directory.path().join(to)).expect("a copy");
    }
    fs::write(directory.path().join("m.cavi"), MODEL).expect("a program");
    let fit = |source: &str, out: &str| {
        let data = format!("y={source}");
        let arguments =
            ["fit", "m.cavi", "--data", &data, "--sweeps", "5", "--out", out, "--progress", "none"];
        let (_, said) = cavi(directory.path(), &arguments);
        let files = numbers(&directory.path().join(out));
        let strip = |(path, bytes): (PathBuf, Vec<u8>)| {
            (path.strip_prefix(directory.path().join(out)).expect("below it").to_owned(), bytes)
        };
        (said, files.into_iter().map(strip).collect::<Vec<_>>())
    };
    let expected = fit("plays.csv", "csv");
    assert!(expected.1.len() >= 4 && expected.0.contains("sum "), "{expected:?}");
    assert_eq!(fit("plays.parquet", "parquet"), expected);
    assert_eq!(fit("shop.db:SELECT user, track, plays FROM plays", "sqlite"), expected);
}
