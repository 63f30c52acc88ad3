//! Counts of which a fraction was held out of a fit are predicted whole: at the rate of the fit, divided by the share that it was given.

use std::fmt::Write as _;
use std::fs;

use crate::common::{json, run, scratch};

const ROWS: usize = 30;
const RATES: [usize; 3] = [100, 30, 50];

/// Counts about their rates, the first of which is missing where it is to be.
fn table(rows: usize, is_missing: bool) -> String {
    let mut text = "row,c0,c1,c2\n".to_owned();
    for row in 0..rows {
        write!(text, "r{row}").unwrap();
        for (column, rate) in RATES.iter().enumerate() {
            let count = rate + (row * 7 + column * 3) % 11 - 5;
            match is_missing && row == 0 && column == 0 {
                true => text += ",NA",
                false => write!(text, ",{count}").unwrap(),
            }
        }
        text += "\n";
    }
    text
}

/// The fields of the lines of a table.
fn fields(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_missing_count_is_imputed_whole() {
    let directory = scratch("exposure_imputed");
    fs::write(
        directory.join("m.cavi"),
        "axis row[n]\naxis col[j]\ndata y[n, j] : count, absent = 0, NA\nr[j] ~ Gamma(1, rate = 0.001)\ny[n, j] ~ Poisson(r[j])\n",
    )
    .unwrap();
    fs::write(directory.join("y.csv"), table(ROWS, true)).unwrap();
    run(&directory, "fit m.cavi --data y=y.csv --heldout y=0.5 --quiet --out o");
    run(&directory, "impute o --out i");
    let lines = fields(&fs::read_to_string(directory.join("i/y.csv")).unwrap());
    let [line] = lines.as_slice() else { panic!("one entry is missing: {lines:?}") };
    let [mean, sd] = [2, 3].map(|place| line[place].parse::<f64>().unwrap());
    // q(r) = Gamma(a, b) of the halves, b = 0.001 + the rows of the column. A count of rate 2 r has the mean m = 2 a / b and the
    // variance m + 4 a / b^2 = m (1 + 2 / b).
    let b = 0.001 + (ROWS - 1) as f64;
    // The deviation is that of 200 draws of r; at the scale of the half it would be 3 % off.
    assert!((sd.powi(2) / (mean * (1.0 + 2.0 / b)) - 1.0).abs() < 0.015, "{mean} +- {sd}");
    // Twice what a half of the units says of their mean, 100: within five standard deviations of the binomial split.
    let all = 100.0 * b;
    assert!((mean - 100.0).abs() < 1.0 + 5.0 * all.sqrt() / b, "{mean}");
}

#[test]
fn new_rows_have_the_latents_of_whole_counts() {
    let directory = scratch("exposure_rows");
    fs::write(
        directory.join("m.cavi"),
        "axis row[n]\naxis col[j]\ndata y[n, j] : count, absent = 0\nz[n] ~ Gamma(1000, rate = 1000)\nr[j] ~ Gamma(1, rate = 0.001)\n\
         y[n, j] ~ Poisson(z[n] * r[j])\n",
    )
    .unwrap();
    fs::write(directory.join("y.csv"), table(ROWS, false)).unwrap();
    fs::write(directory.join("new.csv"), table(5, false)).unwrap();
    let mut per_unit = Vec::new();
    for (out, held) in [("whole", ""), ("halves", " --heldout y=0.5")] {
        run(&directory, &format!("fit m.cavi --data y=y.csv{held} --quiet --out {out}"));
        run(&directory, &format!("project {out} --data y=new.csv --quiet --out {out}_new"));
        // Rows of the source that all rows have: z is 1, and its prior as sure of it as 1000 units.
        for line in fields(&fs::read_to_string(directory.join(format!("{out}_new/z.csv"))).unwrap()) {
            let z: f64 = line[1].parse().unwrap();
            assert!((z - 1.0).abs() < 0.03, "{out}: {line:?}");
        }
        let score = json(&directory, &format!("score {out} --data y=new.csv --quiet"));
        per_unit.push(score["arrays"]["y"]["per_unit"].as_f64().unwrap_or_else(|| panic!("{score}")));
    }
    // Of the same units of the same rows both fits predict the same half, at rates that they know as well but for the noise of a split.
    assert!((per_unit[0] - per_unit[1]).abs() < 0.02, "{per_unit:?}");
}
