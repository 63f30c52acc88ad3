//! What stands beside a score: predictions without a model, the same program with one component, and counts scored given the totals of
//! their rows. Expected numbers are written out a second time here.

use cavi::heldout::one_component::{Split, beside};
use cavi::heldout::{Baseline, Score, baseline};
use cavi::{Control, Settings};
use cavi_tests::support::{Matrix, Shape, files_of, matrix_file, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Continuous, Discrete, Normal, Poisson};

use crate::heldout::{FACTORS, LDA, Run, close, counts, inputs_of, run, share};

fn by_means(run: &Run) -> Score {
    match baseline::means(&run.problem, &run.held, 1).remove(0) {
        Baseline::Score(score) => score,
        Baseline::None(reason) => panic!("{reason}"),
    }
}

/// Row factors, column factors and the mean of `m a_i b_j` with half a unit more each, until nothing changes.
fn proportional(given: &Matrix) -> Matrix {
    let (rows, columns) = (given.len(), given[0].len());
    let total: f64 = given.iter().flatten().sum();
    let (mut a, mut b) = (vec![1.0; rows], vec![1.0; columns]);
    let mut mean = (total + 0.5) / (rows * columns) as f64;
    for _ in 0..200 {
        for i in 0..rows {
            a[i] = (given[i].iter().sum::<f64>() + 0.5) / (mean * b.iter().sum::<f64>() + 0.5);
        }
        for j in 0..columns {
            let counted: f64 = given.iter().map(|row| row[j]).sum();
            b[j] = (counted + 0.5) / (mean * a.iter().sum::<f64>() + 0.5);
        }
        mean = (total + 0.5) / (a.iter().sum::<f64>() * b.iter().sum::<f64>());
    }
    (0..rows).map(|i| (0..columns).map(|j| mean * a[i] * b[j]).collect()).collect()
}

#[test]
fn counts_are_compared_with_row_total_times_column_total() {
    let data = counts(12, 9, 4.0, 3);
    let run = run(FACTORS, &inputs_of(vec![matrix_file("x", &data, true)], &[]), &[share("x", 0.25)], 5, 1);
    let (given, held) = (run.given("x"), run.held(0, &data));
    let rates = proportional(&given);
    let mut expected = 0.0;
    for (row, rates) in held.iter().zip(&rates) {
        for (count, rate) in row.iter().zip(rates) {
            // A third of what was given is held out: 0.25 / 0.75.
            expected += Poisson::new(rate / 3.0).unwrap().ln_pmf(*count as u64);
        }
    }
    let score = by_means(&run);
    close(score.log_predictive, expected, 1e-7);
    assert_eq!(score.units, held.iter().flatten().sum::<f64>());
    assert_eq!(score.perplexity(), None);
    assert_eq!(run.score().perplexity(), None);
}

#[test]
fn counts_given_the_totals_of_their_rows_are_units_of_a_multinomial() {
    let data = counts(8, 11, 4.0, 5);
    let mut run =
        run(FACTORS, &inputs_of(vec![matrix_file("x", &data, true)], &[]), &[share("x", 0.3)], 12, 1);
    run.held.given_totals = true;
    let mean = |name: &str| -> Vec<f64> {
        run.column(name, 0).iter().zip(run.column(name, 1)).map(|(shape, rate)| shape / rate).collect()
    };
    let (w, h) = (mean("w"), mean("h"));
    let rates = proportional(&run.given("x"));
    let (mut expected, mut by_columns, mut units) = (0.0, 0.0, 0.0);
    for (i, row) in run.held(0, &data).iter().enumerate() {
        let rate = |j: usize| (0..2).map(|k| w[2 * i + k] * h[11 * k + j]).sum::<f64>();
        let all: f64 = (0..11).map(rate).sum();
        for (j, count) in row.iter().enumerate() {
            expected += count * (rate(j) / all).ln();
            by_columns += count * (rates[i][j] / rates[i].iter().sum::<f64>()).ln();
            units += count;
        }
    }
    let score = run.score();
    close(score.log_predictive, expected, 1e-12);
    close(score.perplexity().unwrap(), (-expected / units).exp(), 1e-12);
    let means = by_means(&run);
    close(means.log_predictive, by_columns, 1e-7);
    assert!(means.perplexity().is_some());
}

#[test]
fn a_rate_that_is_no_product_of_tables_has_the_same_totals() {
    // The exponential of a point is certain, and not contracted: its rows are summed entry by entry.
    let text = "axis row[i]\naxis column[j]\ndata x[i, j] : count, absent = 0\na[i] ~ Normal(0, sd = 1)\n\
        b[j] ~ Normal(0, sd = 1)\nx[i, j] ~ Poisson(exp(a[i] + b[j]))\nposterior {\n  point a\n  point b\n}\n";
    let data = counts(6, 7, 5.0, 8);
    let mut run = run(text, &inputs_of(vec![matrix_file("x", &data, true)], &[]), &[share("x", 0.3)], 8, 1);
    run.held.given_totals = true;
    let b = run.column("b", 0);
    let all: f64 = b.iter().map(|own| own.exp()).sum();
    let held = run.held(0, &data);
    let expected: f64 =
        held.iter().flat_map(|row| row.iter().zip(b)).map(|(count, b)| count * (b.exp() / all).ln()).sum();
    close(run.score().log_predictive, expected, 1e-12);
}

#[test]
fn entries_that_are_hidden_as_a_whole_are_scored_given_their_sum() {
    // Without `absent = 0` a fraction hides entries: of each row the hidden counts share their own sum.
    let text = FACTORS.replace(" : count, absent = 0", " : count, absent = NA");
    let data = counts(8, 9, 3.0, 9);
    let mut run =
        run(&text, &inputs_of(vec![matrix_file("x", &data, false)], &[]), &[share("x", 0.3)], 12, 1);
    run.held.given_totals = true;
    let mean = |name: &str| -> Vec<f64> {
        run.column(name, 0).iter().zip(run.column(name, 1)).map(|(shape, rate)| shape / rate).collect()
    };
    let (w, h) = (mean("w"), mean("h"));
    let rate = |i: usize, j: usize| (0..2).map(|k| w[2 * i + k] * h[9 * k + j]).sum::<f64>();
    let part = &run.held.parts[0];
    let places: Vec<(usize, usize)> = (0..part.values.len())
        .map(|entry| (part.coordinates[0][entry] as usize, part.coordinates[1][entry] as usize))
        .collect();
    let of_row = |i: usize| places.iter().filter(|own| own.0 == i).map(|own| rate(own.0, own.1)).sum::<f64>();
    let own = places.iter().zip(&part.values);
    let expected: f64 = own.map(|((i, j), count)| count * (rate(*i, *j) / of_row(*i)).ln()).sum();
    close(run.score().log_predictive, expected, 1e-12);
}

#[test]
fn units_are_compared_with_the_shares_of_all() {
    let data = counts(10, 13, 2.0, 11);
    let run = run(LDA, &inputs_of(vec![matrix_file("n", &data, true)], &[]), &[share("n", 0.3)], 5, 1);
    let (given, held) = (run.given("n"), run.held(0, &data));
    let column = |table: &Matrix, j: usize| table.iter().map(|row| row[j]).sum::<f64>();
    let total: f64 = given.iter().flatten().sum();
    let expected: f64 =
        (0..13).map(|j| column(&held, j) * ((column(&given, j) + 0.5) / (total + 0.5 * 13.0)).ln()).sum();
    close(by_means(&run).log_predictive, expected, 1e-12);
}

#[test]
fn numbers_are_compared_with_row_and_column_effects() {
    let text = "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA\nm ~ Normal(0, sd = 10)\n\
        t ~ Gamma(1, rate = 1)\nx[i, j] ~ Normal(m, prec = t)\n";
    let data: Matrix = (0..30)
        .map(|i| {
            (0..20)
                .map(|j| f64::from(i) + 3.0 * f64::from(j % 5) + 0.2 * f64::from((i * 7 + j * 3) % 11))
                .collect()
        })
        .collect();
    let run = run(text, &inputs_of(vec![matrix_file("x", &data, false)], &[]), &[share("x", 0.1)], 5, 1);
    let part = &run.held.parts[0];
    let hidden = |i: usize, j: usize| {
        (0..part.values.len())
            .any(|entry| part.coordinates[0][entry] as usize == i && part.coordinates[1][entry] as usize == j)
    };
    let seen: Vec<(usize, usize)> =
        (0..30).flat_map(|i| (0..20).map(move |j| (i, j))).filter(|(i, j)| !hidden(*i, *j)).collect();
    let mean = seen.iter().map(|(i, j)| data[*i][*j]).sum::<f64>() / seen.len() as f64;
    let (mut rows, mut columns) = (vec![0.0; 30], vec![0.0; 20]);
    for _ in 0..500 {
        for (i, effect) in rows.iter_mut().enumerate() {
            let own: Vec<f64> = seen
                .iter()
                .filter(|own| own.0 == i)
                .map(|own| data[i][own.1] - mean - columns[own.1])
                .collect();
            *effect = own.iter().sum::<f64>() / (own.len() as f64 + 1.0);
        }
        for (j, effect) in columns.iter_mut().enumerate() {
            let own: Vec<f64> =
                seen.iter().filter(|own| own.1 == j).map(|own| data[own.0][j] - mean - rows[own.0]).collect();
            *effect = own.iter().sum::<f64>() / (own.len() as f64 + 1.0);
        }
    }
    let residual = |i: usize, j: usize| data[i][j] - mean - rows[i] - columns[j];
    let squares: f64 = seen.iter().map(|(i, j)| residual(*i, *j).powi(2)).sum();
    let count = |which: &dyn Fn(&(usize, usize)) -> bool| seen.iter().filter(|own| which(own)).count() as f64;
    let of_rows: f64 = (0..30).map(|i| count(&|own| own.0 == i)).map(|n| n / (n + 1.0)).sum();
    let of_columns: f64 = (0..20).map(|j| count(&|own| own.1 == j)).map(|n| n / (n + 1.0)).sum();
    let left = seen.len() as f64 - 1.0 - of_rows - of_columns;
    let common = squares / left;
    let mut expected = 0.0;
    for entry in 0..part.values.len() {
        let (i, j) = (part.coordinates[0][entry] as usize, part.coordinates[1][entry] as usize);
        let n = count(&|own| own.1 == j);
        let own: f64 = seen.iter().filter(|own| own.1 == j).map(|own| residual(own.0, own.1).powi(2)).sum();
        let variance = (own * seen.len() as f64 / left + 2.0 * common) / (n + 2.0);
        let normal = Normal::new(mean + rows[i] + columns[j], variance.sqrt()).unwrap();
        expected += normal.ln_pdf(data[i][j]);
    }
    close(by_means(&run).log_predictive, expected, 1e-6);
}

#[test]
fn one_component_is_the_program_with_one() {
    let data = counts(20, 15, 40.0, 21);
    let inputs = inputs_of(vec![matrix_file("n", &data, true)], &[]);
    let requests = [share("n", 0.3)];
    let run = run(LDA, &inputs, &requests, 40, 1);
    let split = Split { inputs: &inputs, requests: &requests, seed: 3, held: &run.held };
    let settings = Settings::default();
    let found = beside(&run.problem, &run.fit, &split, &settings, &mut |_| Control::Continue);
    let one = found.one.expect("topics are components");
    assert_eq!(one.axes, ["topic"]);
    assert!(one.converged && one.sweeps <= 40, "{one:?}");
    // One topic: the mean of a Dirichlet, 0.2 more units for each word.
    let (given, held) = (run.given("n"), run.held(0, &data));
    let column = |table: &Matrix, j: usize| table.iter().map(|row| row[j]).sum::<f64>();
    let total: f64 = given.iter().flatten().sum();
    let expected: f64 =
        (0..15).map(|j| column(&held, j) * ((column(&given, j) + 0.2) / (total + 0.2 * 15.0)).ln()).sum();
    close(one.scores.unwrap()[0].log_predictive, expected, 1e-9);
    // Two true components: the fit is better than one, and its differences say by how much.
    let score = run.score();
    let difference = found.means[0].difference(&score).unwrap();
    close(difference, score.per_unit().unwrap() - by_means(&run).per_unit().unwrap(), 1e-12);
    assert!(difference > 0.0, "{difference}");
}

/// Whatever is held out of any program has a score by the means, or a reason for which it has none; probabilities are at most 1.
#[test]
fn every_program_is_compared_or_says_why_it_is_not() {
    let (mut scored, mut reasons) = (0, Vec::new());
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(17);
        let shape = Shape { smallest: 3, largest: 5, missing: 0.0, ..Shape::small(false) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let inputs = files_of(&program, &bound);
        for statement in program.model.statements.iter().filter(|own| own.observed) {
            let name = program.model.symbols.array(statement.target).name.clone();
            let compiled = cavi::compile_with(&program.text, "program.cavi", &inputs.set_values());
            let Some(compiled) = compiled.compiled else { continue };
            for totals in [false, true] {
                let requests = [share(&name, 0.3)];
                let bound = cavi::heldout::bind_by(compiled.clone(), &inputs, &requests, 3, totals);
                let Ok((problem, held)) = bound else { continue };
                match baseline::means(&problem, &held, 1).remove(0) {
                    Baseline::None(reason) => reasons.push(format!("{} {name}: {reason}", program.name)),
                    Baseline::Score(score) => {
                        scored += 1;
                        let log = score.log_predictive;
                        assert!(log.is_finite(), "{} {name}: {score:?}", program.name);
                        assert!(!score.discrete || log <= 1e-9, "{} {name}: {score:?}", program.name);
                    }
                }
            }
        }
    }
    assert!(scored > 100, "{scored} scored; {}", reasons.join("\n"));
    assert!(reasons.len() * 4 < scored, "{scored} scored; {}", reasons.join("\n"));
}
