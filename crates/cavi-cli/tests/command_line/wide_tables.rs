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

#[test]
fn labels_that_are_read_as_data_are_told() {
    let directory = prepared("wide_labels");
    for column in ["id", "gene_key", "Year"] {
        let rows = "1001,1,2\n1007,4,5\n1003,3,1\n";
        let (said, _) = fitted(&directory, "m.cavi", ("keys.csv", &format!("{column},a,b\n{rows}")));
        let told = format!("warning: keys.csv: the column `{column}` has another whole number in each row");
        assert!(said.contains(&told) && said.contains("name it `row` in the header"), "{said}");
        let (said, mean) = fitted(&directory, "m.cavi", ("named.csv", &format!("row,a,b\n{rows}")));
        assert!(!said.contains("warning"), "{said}");
        check_mean(mean, &[1.0, 2.0, 4.0, 5.0, 3.0, 1.0]);
    }
    for rows in [
        "1001,0.5,0.25\n1002,1.5,2\n1005,1,1\n1007,2,0\n1008,0,0\n",
        "1996,5,2\n1997,1,2\n1998,0,1\n1999,2,0\n2000,0,3\n",
    ] {
        let (said, _) = fitted(&directory, "m.cavi", ("bare.csv", rows));
        assert!(said.contains("warning: bare.csv: the first column holds whole numbers that rise"), "{said}");
        assert!(
            said.contains("write a first line with a name for each column, `row` for this one"),
            "{said}"
        );
        let (said, _) = fitted(&directory, "m.cavi", ("named.csv", &format!("row,a,b\n{rows}")));
        assert!(!said.contains("is read as data") && said.contains("5 row"), "{said}");
    }
    for (name, table) in [
        // Counts of which one happens to differ in each row.
        ("counts.csv", "BRCA1,TP53,MYC\n100,3,7\n90,2,7\n120,0,1\n80,4,4\n"),
        ("bare.csv", "100,3,7\n90,2,7\n120,0,1\n80,4,4\n11,3,3\n"),
        ("rising.csv", "1,3,7\n2,2,7\n4,0,1\n8,4,4\n11,3,3\n"),
        ("sums.csv", "0,1,2\n1,2,3\n2,3,4\n3,4,5\n4,5,6\n"),
        ("alike.csv", "id,a\n1,2\n1,3\n2,5\n"),
        ("words.csv", "key,nr\n5,3\n4,1\n2,2\n"),
    ] {
        let (said, _) = fitted(&directory, "m.cavi", (name, table));
        assert!(!said.contains("is read as data"), "{table}: {said}");
    }
}

#[test]
fn totals_that_are_read_as_data_are_told() {
    let directory = prepared("wide_totals");
    let (said, _) =
        fitted(&directory, "m.cavi", ("total.csv", "place,a,b,total\nx,1,2,3\nz,4,5,9\nq,3,0,3\n"));
    assert!(
        said.contains("warning: total.csv: the column `total` is the sum of the others in every line"),
        "{said}"
    );
    assert!(said.contains("if it holds totals and is no col of its own, leave it out of the file"), "{said}");
    let (said, _) = fitted(&directory, "m.cavi", ("last.csv", "place,a,b\nx,1,2\nz,4,5\nq,3,2\nTotal,8,9\n"));
    assert!(
        said.contains(
            "warning: last.csv: line 5 (`Total`) is the sum of the others in every column, and is read as data"
        ),
        "{said}"
    );
    // Without a name, of more rows.
    let (said, _) = fitted(
        &directory,
        "m.cavi",
        ("bare.csv", "1.5,3.25,4.75\n2,3,5\n4,1,5\n2,7,9\n0.1,0.2,0.3\n0,1,1\n"),
    );
    assert!(said.contains("warning: bare.csv: the column 3 is the sum of the others"), "{said}");
    for (name, table) in [
        ("without.csv", "place,a,b\nx,1,2\nz,4,5\nq,3,0\n"),
        ("copies.csv", "place,a,total\nx,1,1\nz,4,4\nq,3,3\nr,7,7\ns,2,2\nt,6,6\n"),
        ("zeros.csv", "place,a,b,total\nx,0,0,0\nz,0,0,0\nq,0,0,0\n"),
        ("one.csv", "place,a,b,total\nx,1,2,3\n"),
        ("groups.csv", "place,one,p,q\na,1,1,0\nb,1,0,1\nc,1,1,0\nd,1,0,1\ne,1,1,0\nf,1,0,1\n"),
        ("chance.csv", "place,a,b,c\nx,1,2,3\nz,1,1,2\nq,0,1,1\n"),
        ("almost.csv", "place,a,b,total\nx,1,2,3\nz,4,5,9\nq,3,2,5\nr,2,2,5\n"),
    ] {
        let (said, _) = fitted(&directory, "m.cavi", (name, table));
        assert!(!said.contains("is read as data"), "{table}: {said}");
    }
}

/// A table whose last column is the response, read whole as predictors: it predicts itself, and that is said. Without that column there is nothing to say.
#[test]
fn a_response_among_its_own_predictors_is_told() {
    let directory = scratch("wide_response");
    let program = "axis row[i]\naxis predictor[p]\ndata x[i, p] : real\ndata y[i] : real\nb[p] ~ Normal(0, sd = 10)\n\
        y[i] ~ Normal(sum[p](x[i, p] * b[p]), sd = 1)\n";
    fs::write(directory.join("r.cavi"), program).unwrap();
    fs::write(directory.join("all.csv"), "a,b,y\n1,2,3.5\n2,1,2.5\n0,3,4\n1,1,1.5\n").unwrap();
    fs::write(directory.join("x.csv"), "a,b\n1,2\n2,1\n0,3\n1,1\n").unwrap();
    for (x, is_told) in [("all.csv", true), ("./all.csv", true), ("x.csv", false)] {
        let data = [format!("x={x}"), "y=all.csv:y".to_owned()];
        let (status, said) = fit(&directory, "r.cavi", &["--data", &data[0], "--data", &data[1], "--force"]);
        assert_eq!(status, 0, "{said}");
        let found = said.contains("the column `y` is read into `x` with the others, and by itself into `y`");
        assert_eq!(found, is_told, "{x}: {said}");
    }
}
