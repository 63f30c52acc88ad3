//! Tables of rows by columns: what of them is data, and what names rows and columns.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{fit, scratch};

const PROGRAM: &str =
    "axis row[i]\naxis col[j]\ndata y[i, j] : real\nm ~ Normal(0, sd = 10)\ny[i, j] ~ Normal(m, sd = 1)\n";

fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), PROGRAM).unwrap();
    fs::write(directory.join("na.cavi"), PROGRAM.replace(": real", ": real, absent = NA")).unwrap();
    directory
}

/// What the fit of a table says, and the mean of m.
fn fitted(directory: &Path, program: &str, (name, table): (&str, &str)) -> (String, f64) {
    fs::write(directory.join(name), table).unwrap();
    let (status, said) = fit(directory, program, &["--data", &format!("y={name}"), "--force"]);
    assert_eq!(status, 0, "{table}: {said}");
    let path = directory.join("o/posterior/m.mean.npy");
    (said, cavi_files::read_npy(&path).unwrap().values[0])
}

/// The mean of entries with variance 1 each, beside a prior of variance 100.
fn check_mean(found: f64, entries: &[f64]) {
    let expected = entries.iter().sum::<f64>() / (entries.len() as f64 + 0.01);
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn numbers_behind_an_empty_field_name_columns_above_names_of_rows() {
    let directory = prepared("wide_pivot");
    let six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    for (name, table) in [
        ("pivot.csv", ",2019,2020,2021\na,1,2,3\nb,4,5,6\n"),
        ("semicolons.csv", ";2019;2020;2021\na;1;2;3\nb;4;5;6\n"),
        // As R writes it without quotation marks.
        ("frame.tsv", "2019\t2020\t2021\na\t1\t2\t3\nb\t4\t5\t6\n"),
    ] {
        for program in ["m.cavi", "na.cavi"] {
            let (said, mean) = fitted(&directory, program, (name, table));
            assert!(said.starts_with("y: 2 row (a, b) x 3 col (2019, 2020, 2021), 6 entries"), "{said}");
            assert!(!said.contains("warning"), "{said}");
            check_mean(mean, &six);
        }
    }
    // Numbers without a name above may be data or labels.
    fs::write(directory.join("keys.csv"), ",2019,2020,2021\n7,1,2,3\n9,4,5,6\n").unwrap();
    let (status, said) = fit(&directory, "m.cavi", &["--data", "y=keys.csv"]);
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("if 2019 and 2020 are names of columns, write `row` into the empty field"),
        "{said}"
    );
    let named = ("named.csv", "row,2019,2020,2021\n7,1,2,3\n9,4,5,6\n");
    let (said, mean) = fitted(&directory, "m.cavi", named);
    assert!(said.starts_with("y: 2 row (7, 9) x 3 col (2019, 2020, 2021), 6 entries"), "{said}");
    check_mean(mean, &six);
    let (said, mean) = fitted(&directory, "na.cavi", ("corner.csv", ",0.5,1.25\n0.5,0.25,0.75\n"));
    assert!(said.starts_with("y: 2 row x 3 col, 5 entries, 1 missing"), "{said}");
    check_mean(mean, &[0.5, 1.25, 0.5, 0.25, 0.75]);
    // One of twenty entries was mistyped.
    let lines: Vec<String> = (0..20).map(|row| format!("{row}.5,{row},1\n")).collect();
    let mistyped = format!(",2,3\n{}", lines.concat().replace("7.5,", "7.s5,"));
    fs::write(directory.join("mistyped.csv"), mistyped).unwrap();
    let (status, said) = fit(&directory, "na.cavi", &["--data", "y=mistyped.csv"]);
    assert!(status == 1 && said.contains("line 9, column 1: found `7.s5`"), "{said}");
}
