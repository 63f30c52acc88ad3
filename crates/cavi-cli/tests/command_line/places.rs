//! That the places of a Gaussian process are counted only where this is right, or said.

use std::fs;
use std::path::Path;

use crate::common::{cavi, scratch, text};

const PROGRAM: &str = "axis year[i]\ndata y[i] : real\nd[:i] ~ GaussianProcess(squared_exponential(length = 2, sd = 1))\n\
                       y[i] ~ Normal(d[i], sd = 1)\nposterior { point d }\n";

/// The mode of d, and what the fit says.
fn fitted(directory: &Path, line: &str) -> (Vec<f64>, String) {
    let line = format!("fit {line} --out o --tol 1e-12 --sweeps 1000 --quiet");
    let output = cavi(directory, &line.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    let path = directory.join("o/posterior/d.value.npy");
    (cavi_files::read_npy(&path).unwrap().values, text(&output.stderr))
}

/// K (K + I)^-1 y, the mean of the points given y, for the kernel of the program at these places: by elimination.
fn mean(places: &[f64], y: &[f64]) -> Vec<f64> {
    let size = places.len();
    let kernel = |i: usize, l: usize| (-(places[i] - places[l]).powi(2) / 8.0).exp();
    let mut rows: Vec<Vec<f64>> = (0..size)
        .map(|i| (0..size).map(|l| kernel(i, l) + f64::from(u8::from(i == l))).chain([y[i]]).collect())
        .collect();
    for pivot in 0..size {
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = rows[row][pivot] / rows[pivot][pivot];
            let taken: Vec<f64> = rows[pivot].iter().map(|own| factor * own).collect();
            rows[row].iter_mut().zip(taken).for_each(|(own, taken)| *own -= taken);
        }
    }
    let solved: Vec<f64> = (0..size).map(|row| rows[row][size] / rows[row][row]).collect();
    (0..size).map(|i| (0..size).map(|l| kernel(i, l) * solved[l]).sum()).collect()
}

fn check_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }
}

#[test]
fn labels_that_are_no_places_one_after_another_are_told() {
    let directory = scratch("places");
    let files = [
        ("m.cavi", PROGRAM.to_owned()),
        ("y.csv", "year,y\n2019,1\n2023,2\n2020,-1\n".to_owned()),
        ("even.csv", "year,y\n2019,1\n2020,2\n2021,-1\n".to_owned()),
        ("days.csv", "year,y\n2024-01-05,1\n2024-01-06,2\n2024-01-12,-1\n".to_owned()),
        ("names.csv", "year,y\nb,1\na,2\nd,-1\n".to_owned()),
        ("t.csv", "year,t\n2019,2019\n2020,2020\n2023,2023\n".to_owned()),
        // What the warning says.
        (
            "at.cavi",
            PROGRAM.replace("sd = 1))", "sd = 1), at = t[i])").replace("d[:i]", "data t[i] : real\nd[:i]"),
        ),
        (
            "declared.cavi",
            PROGRAM
                .replace("d[:i]", "data t[i] : real\nd[:i]")
                .replace("Normal(d[i]", "Normal(d[i] + 0 * t[i]"),
        ),
    ];
    for (name, content) in &files {
        fs::write(directory.join(name), content).unwrap();
    }
    let y = [1.0, 2.0, -1.0];
    let counted = mean(&[0.0, 1.0, 2.0], &y);
    let (found, said) = fitted(&directory, "m.cavi --data y=y.csv");
    check_near(&found, &counted);
    for part in [
        "warning: `d` is a GaussianProcess without `at`",
        "(`2019`, `2023`, `2020`), in this order, are its places 0, 1, 2, ...",
        "another order",
        "declare `data t[i] : real`, write `at = t[i]`",
        "`--data t=FILE`, a table of the columns `year` and `t`",
    ] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let (found, said) = fitted(&directory, "at.cavi --data y=y.csv --data t=t.csv");
    check_near(&found, &mean(&[2019.0, 2023.0, 2020.0], &y));
    assert!(!said.contains("warning"), "{said}");
    let (found, said) = fitted(&directory, "m.cavi --data y=days.csv");
    check_near(&found, &counted);
    assert!(said.contains("`at`") && said.contains("are not equally far apart"), "{said}");
    let (_, said) = fitted(&directory, "declared.cavi --data y=y.csv --data t=t.csv");
    assert!(said.contains("write `at = t[i]`, if these are the places"), "{said}");
    for table in ["even.csv", "names.csv"] {
        let (found, said) = fitted(&directory, &format!("m.cavi --data y={table}"));
        check_near(&found, &counted);
        assert!(!said.contains("GaussianProcess"), "{said}");
    }
}
