//! Squares of residuals that are small beside the data keep their digits, whatever way they are summed.
//!
//! `sum (x - t)^2 = sum x^2 - 2 sum x t + sum t^2` loses them where `x` is large: a plan that multiplies squares out goes on with residuals.

use std::fmt::Write as _;
use std::fs;

use crate::common::{cavi, scratch, text};

/// The rate of the precision `tau` of a fit.
fn rate(name: &str, program: &str, files: &[(&str, &str)], arguments: &[&str]) -> f64 {
    let directory = scratch(&format!("digits_{name}"));
    fs::write(directory.join("own.cavi"), program).unwrap();
    files.iter().for_each(|(file, content)| fs::write(directory.join(file), content).unwrap());
    let fixed = ["fit", "own.cavi", "--out", "o", "--quiet", "--threads", "1", "--sweeps", "5"];
    let output = cavi(&directory, &[&fixed[..], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
    cavi_files::read_npy(&directory.join("o/posterior/tau.rate.npy")).unwrap().values[0]
}

/// `tau ~ Gamma(1, rate = 1)` and residuals of 0.01, every other one below 0: the rate is `1 + n 0.01^2 / 2`.
fn right(entries: usize) -> f64 {
    1.0 + entries as f64 * 1e-4 / 2.0
}

/// Sparse data with every entry listed, of rows about 0, 1e6, 2e6, ...: of 4 entries, of 240, and of more than are filled out at once. The square was
/// multiplied out without a look at its digits, so that the rate was random or below 0, where the same numbers in a dense file were right.
#[test]
fn of_sparse_data_with_zeros() {
    let program = "axis row[i]\naxis col[j]\ndata x[i, j] : real, absent = 0\nconst c[i]\n\
        tau ~ Gamma(1, rate = 1)\nx[i, j] ~ Normal(c[i], prec = tau)\n";
    for (rows, columns) in [(2, 2), (6, 40), (300, 220)] {
        let mut listed =
            format!("%%MatrixMarket matrix coordinate real general\n{rows} {columns} {}\n", rows * columns);
        let mut centres = String::new();
        for i in 0..rows {
            writeln!(centres, "{}", i % 7 * 1_000_000).unwrap();
            for j in 0..columns {
                let below = if (i + j) % 2 == 0 { 0.01 } else { -0.01 };
                writeln!(listed, "{} {} {}", i + 1, j + 1, f64::from(i % 7) * 1e6 + below).unwrap();
            }
        }
        let files = [("x.mtx", listed.as_str()), ("c.csv", centres.as_str())];
        let found =
            rate(&format!("sparse_{rows}"), program, &files, &["--data", "x=x.mtx", "--set", "c=c.csv"]);
        let right = right((rows * columns) as usize);
        assert!((found - right).abs() < 1e-5 * right, "{rows} by {columns}: {found} for {right}");
    }
}

/// A mixture with more residuals than there are data and parameters: 700 rows, 10 columns, 10 classes with centres 1e6 apart.
#[test]
fn of_mixtures_with_more_residuals_than_data() {
    let program = "axis row[i]\naxis col[j]\naxis class[k] = 10\ndata x[i, j] : real\nconst c[k, j]\nconst p[k] = 0.1\n\
        tau ~ Gamma(1, rate = 1)\nz[i] ~ Categorical(p)\nx[i, j] ~ Normal(c[z[i], j], prec = tau)\n";
    let (mut data, mut centres) = (String::new(), String::new());
    let line = |value: &dyn Fn(u32) -> f64| {
        (0..10).map(|j| value(j).to_string()).collect::<Vec<String>>().join(",") + "\n"
    };
    (0..10).for_each(|k| centres += &line(&|_| f64::from(k) * 1e6));
    for i in 0..700_u32 {
        data += &line(&|j| f64::from(i % 10) * 1e6 + if (i + j) % 2 == 0 { 0.01 } else { -0.01 });
    }
    let files = [("x.csv", data.as_str()), ("c.csv", centres.as_str())];
    let found = rate("mixture", program, &files, &["--data", "x=x.csv", "--set", "c=c.csv"]);
    assert!((found - right(7000)).abs() < 1e-5, "{found} for {}", right(7000));
}
