//! Held-out units and entries under classes, and rows of weight: what the classes of an entry are known to be when it is predicted. Expected numbers are
//! worked out here from the data and known posteriors.

use cavi_executor::BoundArray;
use cavi_tests::support::{Matrix, file_of, matrix_file};
use statrs::function::gamma::ln_gamma;

use super::heldout::{Run, close, inputs_of, run, share};

/// The two classes of rows: the first three, and all others.
fn class(row: usize) -> usize {
    usize::from(row > 2)
}

fn units(rows: &Matrix, of: usize) -> Vec<f64> {
    let own = rows.iter().enumerate().filter(|(row, _)| class(*row) == of);
    own.fold(vec![0.0; rows[0].len()], |sums, (_, row)| sums.iter().zip(row).map(|(a, b)| a + b).collect())
}

#[test]
fn units_of_a_document_are_scored_by_the_class_that_its_other_units_show() {
    let text = "axis doc[d]\naxis class[k] = 2\naxis word[v]\ndata x[d, v] : count, absent = 0\n\
        pi[:k] ~ Dirichlet(1)\nbeta[k, :v] ~ Dirichlet(1)\nz[d] ~ Categorical(pi)\n\
        x[d, :v] ~ Multinomial(p = beta[z[d], v])\n";
    let row = |row: usize| match class(row) {
        0 => vec![40.0, 20.0 + row as f64, 1.0, 0.0],
        _ => vec![0.0, 2.0, 20.0 + row as f64, 40.0],
    };
    let data: Matrix = (0..7).map(row).collect();
    for (implicit, sparse) in [("", true), ("posterior {\n  implicit z\n}\n", false)] {
        let text = format!("{text}{implicit}");
        let inputs = inputs_of(vec![matrix_file("x", &data, sparse)], &[]);
        let run = run(&text, &inputs, &[share("x", 0.3)], 60, 1);
        let (given, held) = (run.given("x"), run.held(0, &data));
        let mut expected = 0.0;
        for (row, held) in held.iter().enumerate() {
            let own = units(&given, class(row));
            let all: f64 = own.iter().sum();
            let log = |word: usize| ((1.0 + own[word]) / (4.0 + all)).ln();
            expected += held.iter().enumerate().map(|(word, count)| count * log(word)).sum::<f64>();
        }
        close(run.score().log_predictive, expected, 1e-8);
    }
}

/// `sum m (y log(f r) - log y!) - f r m` over entries, with the rates `E lam = (1 + sum m x) / (0.1 + sum m)` of what was given to a class, at odds f of 1.
fn of_rates(
    run: &Run,
    held: &Matrix,
    weights: &[f64],
    of: &dyn Fn(usize, usize) -> usize,
    columns: bool,
) -> f64 {
    let given = run.given("x");
    let rate = |class: usize, column: usize| {
        let (mut shape, mut rate) = (1.0, 0.1);
        for (i, row) in given.iter().enumerate() {
            for (j, count) in row.iter().enumerate() {
                if of(i, j) == class && (!columns || j == column) {
                    shape += weights[i] * count;
                    rate += weights[i];
                }
            }
        }
        shape / rate
    };
    let mut sum = 0.0;
    for (i, row) in held.iter().enumerate() {
        for (j, count) in row.iter().enumerate() {
            let own = rate(of(i, j), j);
            sum += weights[i] * (count * own.ln() - ln_gamma(count + 1.0) - own);
        }
    }
    sum
}

#[test]
fn thinned_counts_under_classes_are_scored_by_their_class_as_often_as_their_row_counts() {
    let head = "axis n[n]\naxis col[j]\naxis class[k] = 2\ndata x[n, j] : count, absent = 0\npi[:k] ~ Dirichlet(1)\n";
    let of_rows = "lam[k, j] ~ Gamma(1, rate = 0.1)\nz[n] ~ Categorical(pi)\nx[n, j] ~ Poisson(lam[z[n], j])\n\
        init {\n  lam = kmeans(x)\n}\n";
    let of_entries =
        "lam[k] ~ Gamma(1, rate = 0.1)\nz[n, j] ~ Categorical(pi)\nx[n, j] ~ Poisson(lam[z[n, j]])\n";
    // Rates of a few hundred and of a few: half of each says which it is.
    let high = |row: usize, column: usize| (row + column).is_multiple_of(3);
    let by_entry: Matrix = (0..5)
        .map(|row| (0..4).map(|column| if high(row, column) { 400.0 + row as f64 } else { 4.0 }).collect())
        .collect();
    let by_row: Matrix = (0..5)
        .map(|row| if class(row) == 0 { vec![300.0, 6.0, 80.0] } else { vec![4.0, 250.0, 90.0] })
        .collect();
    let row_class = |row: usize, _: usize| class(row);
    let entry_class = |row: usize, column: usize| usize::from(high(row, column));
    let m = [3.0, 1.0, 10.0, 2.0, 5.0];
    for weighted in [false, true] {
        let weights = if weighted { m } else { [1.0; 5] };
        let declaration = if weighted { "data m[n] : multiplicity\n" } else { "" };
        let lines: Vec<String> = m.iter().enumerate().map(|(row, own)| format!("{row},{own}")).collect();
        let file = file_of("m", "m.csv", format!("n,m\n{}\n", lines.join("\n")).into_bytes());
        for (own, data, columns) in [(of_rows, &by_row, true), (of_entries, &by_entry, false)] {
            let text = format!("{head}{declaration}{own}");
            let mut files = vec![matrix_file("x", data, true)];
            files.extend(weighted.then(|| file.clone()));
            let run = run(&text, &inputs_of(files, &[]), &[share("x", 0.5)], 80, 1);
            let held = run.held(0, data);
            let of: &dyn Fn(usize, usize) -> usize = if columns { &row_class } else { &entry_class };
            let score = run.score();
            close(score.log_predictive, of_rates(&run, &held, &weights, of, columns), 1e-7);
            assert!(score.log_predictive < 0.0, "{score:?}");
        }
    }
}

#[test]
fn units_of_rows_of_weight_leave_their_own_row() {
    let m = [[1000.0, 10.0], [100.0, 20.0], [10.0, 30.0]];
    for letters in ["i, j", "j, i"] {
        let text = format!(
            "axis row[i]\naxis col[j]\naxis cat[v] = 2\ndata y[i, j] : index cat\ndata m[{letters}] : multiplicity\n\
             p[j, :v] ~ Dirichlet(1)\ny[i, j] ~ Categorical(p[j, :v])\n"
        );
        let turned = letters == "j, i";
        let table = match turned {
            false => "row,c0,c1\nr0,1000,10\nr1,100,20\nr2,10,30\n",
            true => "col,r0,r1,r2\nc0,1000,100,10\nc1,10,20,30\n",
        };
        let files = vec![
            file_of("y", "y.csv", b"row,c0,c1\nr0,0,1\nr1,1,0\nr2,0,1\n".to_vec()),
            file_of("m", "m.csv", table.as_bytes().to_vec()),
        ];
        let run = run(&text, &inputs_of(files, &[]), &[share("y", 0.5)], 5, 1);
        let part = &run.held.parts[0];
        let held = part.weights.as_ref().expect("units of rows");
        let kept = run.problem.binding.bound.array(run.problem.model.symbols.find("m").unwrap());
        let BoundArray::Dense { values: kept, .. } = kept else { panic!("weights are listed one by one") };
        for (i, row) in m.iter().enumerate() {
            for (j, all) in row.iter().enumerate() {
                let entries = 0..held.len();
                let is_own =
                    |entry: &usize| part.coordinates.iter().map(|own| own[*entry] as usize).eq([i, j]);
                let own: f64 = entries.filter(is_own).map(|entry| held[entry]).sum();
                let left = kept[if turned { j * 3 + i } else { i * 2 + j }];
                assert_eq!(left + own, *all, "{letters}: {i}, {j}");
            }
        }
        assert_eq!(run.score().units, 1170.0 - kept.iter().sum::<f64>());
    }
}
