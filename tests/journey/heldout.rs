//! Held-out data: what is hidden, what is predicted of it, and new rows for an earlier fit. Expected numbers are written out a second
//! time here, from the parameters of q and textbooks.

use std::path::PathBuf;

use cavi::bind::{ArrayInput, Inputs, SetInput, SetValue, Source};
use cavi::heldout::{self, Asked, HeldOut, Request, Score};
use cavi::{Control, Error, Fit, Problem, Settings};
use cavi_algebra::{ArrayId, ArrayKind, Support};
use cavi_executor::{Bound, BoundArray};
use cavi_files::{Content, Dense, Values};
use cavi_tests::support::{
    Matrix, Program, Shape, World, draw, file_of, files_of, has_implicit, log_joint, matrix_file, programs,
    random_bound,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson, StandardNormal};
use statrs::function::gamma::ln_gamma;

/// A program, its data without a part of them, that part, and a fit.
pub(crate) struct Run {
    pub problem: Problem,
    pub held: HeldOut,
    pub fit: Fit,
}

pub(crate) fn share(name: &str, share: f64) -> Request {
    Request { name: name.to_owned(), group: None, what: Asked::Share(share) }
}

fn by_file(file: ArrayInput) -> Request {
    Request { name: file.name, group: file.group, what: Asked::File(file.source) }
}

pub(crate) fn inputs_of(data: Vec<ArrayInput>, set: &[(&str, f64)]) -> Inputs {
    let number = |(name, value): &(&str, f64)| SetInput {
        name: (*name).to_owned(),
        group: None,
        value: SetValue::Number(*value),
    };
    Inputs { data, set: set.iter().map(number).collect(), ..Inputs::default() }
}

pub(crate) fn run(text: &str, inputs: &Inputs, requests: &[Request], sweeps: u64, threads: usize) -> Run {
    let (compiled, _) =
        cavi::session::open(text, "program.cavi", inputs).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (problem, held) = heldout::bind(compiled, inputs, requests, 3).expect("data that can be held out");
    let settings = Settings { sweeps: Some(sweeps), tolerance: Some(0.0), threads, ..Settings::default() };
    let fit = problem.fit(&settings, &mut |_| Control::Continue).expect("a fit");
    Run { problem, held, fit }
}

impl Run {
    fn scores(&self, threads: usize) -> Vec<Score> {
        self.problem.score(&self.fit, &self.held, 3, threads).expect("a score")
    }

    pub fn score(&self) -> Score {
        self.scores(1).remove(0)
    }

    pub fn column(&self, name: &str, which: usize) -> &[f64] {
        let equations = &self.problem.equations;
        let array = equations.symbols.find(name).expect("a variable");
        let block = equations.block_of(array).expect("its factor");
        &self.fit.parameters.blocks[block.index()][which]
    }

    pub fn given(&self, name: &str) -> Matrix {
        matrix(&self.problem, name)
    }

    /// The held-out part of an array as a matrix, 0 elsewhere.
    pub fn held(&self, part: usize, like: &Matrix) -> Matrix {
        let part = &self.held.parts[part];
        let mut rows = vec![vec![0.0; like[0].len()]; like.len()];
        for (entry, value) in part.values.iter().enumerate() {
            rows[part.coordinates[0][entry] as usize][part.coordinates[1][entry] as usize] = *value;
        }
        rows
    }
}

fn matrix(problem: &Problem, name: &str) -> Matrix {
    let Problem { equations, binding, .. } = problem.as_given();
    let symbols = &equations.symbols;
    let id = symbols.find(name).expect("an array");
    let shape = binding.bound.shape(symbols, id);
    let entry = |i: usize, j: usize| binding.bound.array(id).entry(&shape, &[i, j]).0;
    (0..shape[0]).map(|i| (0..shape[1]).map(|j| entry(i, j)).collect()).collect()
}

pub(crate) fn close(found: f64, expected: f64, tolerance: f64) {
    let off = (found - expected).abs();
    assert!(off <= tolerance * expected.abs().max(1.0), "found {found}, expected {expected}");
}

/// Counts from a random factorisation of rank 2.
pub(crate) fn counts(rows: usize, columns: usize, mean: f64, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut weights = |n: usize| (0..2 * n).map(|_| rng.random::<f64>() + 0.05).collect::<Vec<f64>>();
    let (w, h) = (weights(rows), weights(columns));
    let rate = |i: usize, j: usize| mean * (w[2 * i] * h[2 * j] + w[2 * i + 1] * h[2 * j + 1]);
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 1);
    let mut count = |i: usize, j: usize| Poisson::new(rate(i, j)).expect("a rate").sample(&mut rng);
    (0..rows).map(|i| (0..columns).map(|j| count(i, j)).collect()).collect()
}

pub(crate) const LDA: &str = "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata n[d, v] : count, absent = 0\n\
    theta[d, :k] ~ Dirichlet(0.4)\nbeta[k, :v] ~ Dirichlet(0.2)\n\
    n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n";

pub(crate) const FACTORS: &str = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count, absent = 0\n\
    w[i, k] ~ Gamma(1.2, rate = 1)\nh[k, j] ~ Gamma(0.9, rate = 0.5)\n\
    x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n";

/// `sum n log sum_k E theta E beta`, with the means of two Dirichlets.
fn completion(held: &Matrix, theta: &[f64], beta: &[f64], k: usize) -> (f64, f64) {
    let width = held[0].len();
    let (mut log, mut units) = (0.0, 0.0);
    let mean = |own: &[f64]| -> Vec<f64> { own.iter().map(|a| a / own.iter().sum::<f64>()).collect() };
    let beta: Vec<f64> = beta.chunks(width).flat_map(mean).collect();
    for (row, theta) in held.iter().zip(theta.chunks(k)) {
        let theta = mean(theta);
        for (v, count) in row.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            let p: f64 = (0..k).map(|k| theta[k] * beta[k * width + v]).sum();
            log += count * p.ln();
            units += count;
        }
    }
    (log, units)
}

#[test]
fn units_of_documents_are_scored_by_their_expected_probability() {
    let data = counts(9, 14, 3.0, 1);
    let run = run(LDA, &inputs_of(vec![matrix_file("n", &data, true)], &[]), &[share("n", 0.3)], 15, 1);
    let held = run.held(0, &data);
    let (log, units) = completion(&held, run.column("theta", 0), run.column("beta", 0), 3);
    let score = run.score();
    close(score.log_predictive, log, 1e-12);
    assert_eq!(score.units, units);
    assert_eq!(score.standard_error, None);
    close(score.perplexity().unwrap(), (-log / units).exp(), 1e-12);
}

#[test]
fn tokens_of_weight_are_split_and_scored_as_the_counts_they_stand_for() {
    let text = "axis doc[d]\naxis word[v]\naxis topic[k] = 3\naxis token[t] in doc[d]\n\
        data w[d, t] : index word\ndata m[d, t] : multiplicity\n\
        theta[d, :k] ~ Dirichlet(0.4)\nbeta[k, :v] ~ Dirichlet(0.2)\n\
        z[d, t] ~ Categorical(theta[d, k])\nw[d, t] ~ Categorical(beta[z[d, t], v])\n";
    let data = counts(6, 8, 3.0, 4);
    let line = |row: &Vec<f64>| {
        let pairs: Vec<String> = row
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0.0)
            .map(|(word, count)| format!("{word}:{count}"))
            .collect();
        format!("{} {}", pairs.len(), pairs.join(" "))
    };
    let lines: Vec<String> = data.iter().map(line).collect();
    let file = || file_of("w", "w.ldac", format!("{}\n", lines.join("\n")).into_bytes());
    for implicit in ["", "posterior {\n  implicit z\n}\n"] {
        let text = format!("{text}{implicit}")
            .replace("theta[d, k])", "theta[d, :k])")
            .replace("z[d, t], v]", "z[d, t], :v]");
        let run = run(&text, &inputs_of(vec![file()], &[("word", 8.0)]), &[share("w", 0.3)], 10, 1);
        let part = &run.held.parts[0];
        let weights = part.weights.as_ref().expect("units of weight");
        let symbols = &run.problem.model.symbols;
        let m = run.problem.binding.bound.array(symbols.find("m").unwrap());
        let BoundArray::Dense { values: kept, .. } = m else { panic!("weights are listed one by one") };
        let total: f64 = data.iter().flatten().sum();
        assert_eq!(kept.iter().sum::<f64>() + weights.iter().sum::<f64>(), total);
        let parents = run.problem.binding.bound.axes
            [symbols.letter(symbols.array(symbols.find("w").unwrap()).letters[0]).axis.index()]
        .parent
        .clone()
        .unwrap();
        let mut held = vec![vec![0.0; 8]; 6];
        for (entry, weight) in weights.iter().enumerate() {
            held[parents[part.coordinates[0][entry] as usize]][part.values[entry] as usize] += weight;
        }
        let (log, units) = completion(&held, run.column("theta", 0), run.column("beta", 0), 3);
        let score = run.score();
        close(score.log_predictive, log, 1e-12);
        assert_eq!(score.units, units);
    }
}

#[test]
fn thinned_counts_of_a_poisson_have_their_rate_scaled_zeros_included() {
    let data = counts(7, 9, 2.0, 2);
    for sparse in [true, false] {
        let inputs = inputs_of(vec![matrix_file("x", &data, sparse)], &[]);
        let run = run(FACTORS, &inputs, &[share("x", 0.2)], 20, 1);
        let held = run.held(0, &data);
        let given = run.given("x");
        let (w, h) = (run.column("w", 2), run.column("h", 2));
        let mut log = 0.0;
        for i in 0..7 {
            for j in 0..9 {
                assert_eq!(given[i][j] + held[i][j], data[i][j], "units are given or held out");
                let rate = 0.25 * (w[2 * i] * h[j] + w[2 * i + 1] * h[9 + j]);
                log += held[i][j] * rate.ln() - rate - ln_gamma(held[i][j] + 1.0);
            }
        }
        let score = run.score();
        close(score.log_predictive, log, 1e-11);
        assert_eq!(score.units, held.iter().flatten().sum::<f64>());
    }
}

/// Fits of one problem, one for each seed.
fn fits_of(run: &Run, seeds: &[u64]) -> Vec<Fit> {
    let settings = Settings { sweeps: Some(12), tolerance: Some(0.0), ..Settings::default() };
    let fit = |seed: &u64| {
        let settings = Settings { seed: Some(*seed), ..settings.clone() };
        run.problem.fit(&settings, &mut |_| Control::Continue).expect("a fit")
    };
    seeds.iter().map(fit).collect()
}

/// `log 1/F sum_f p_f` of each unit under a Multinomial, and of thinned Poisson counts the probability at the mean of the rates, each
/// worked out here from the parameters of the fits.
#[test]
fn several_fits_predict_by_their_average() {
    let data = counts(9, 8, 3.0, 41);
    for text in [LDA, FACTORS] {
        let name = if text == LDA { "n" } else { "x" };
        let inputs = inputs_of(vec![matrix_file(name, &data, true)], &[]);
        let mut run = run(text, &inputs, &[share(name, 0.3)], 0, 1);
        let fits = fits_of(&run, &[1, 2, 3]);
        let odds = 0.3 / 0.7;
        let mut means = vec![vec![0.0; 8]; 9];
        for fit in &fits {
            run.fit = fit.clone();
            let normalised = |own: &[f64]| own.iter().map(|a| a / own.iter().sum::<f64>()).collect();
            let (theta, beta): (Vec<Vec<f64>>, Vec<Vec<f64>>) = match text == LDA {
                true => (
                    run.column("theta", 0).chunks(3).map(normalised).collect(),
                    run.column("beta", 0).chunks(8).map(normalised).collect(),
                ),
                false => (
                    run.column("w", 2).chunks(2).map(<[f64]>::to_vec).collect(),
                    run.column("h", 2).chunks(8).map(<[f64]>::to_vec).collect(),
                ),
            };
            for (i, row) in means.iter_mut().enumerate() {
                for (j, mean) in row.iter_mut().enumerate() {
                    *mean +=
                        beta.iter().zip(&theta[i]).map(|(beta, theta)| theta * beta[j]).sum::<f64>() / 3.0;
                }
            }
        }
        let held = run.held(0, &data);
        let entry = |(count, mean): (&f64, &f64)| match text == LDA {
            true if *count == 0.0 => 0.0,
            true => count * mean.ln(),
            false => count * (odds * mean).ln() - odds * mean - ln_gamma(count + 1.0),
        };
        let expected: f64 = held.iter().flatten().zip(means.iter().flatten()).map(entry).sum();
        let fits: Vec<&Fit> = fits.iter().collect();
        let found = run.problem.score_averaged(&fits, &run.held, 3, 1).expect("a score").remove(0);
        close(found.log_predictive, expected, 1e-11);
        assert_eq!(found.units, held.iter().flatten().sum::<f64>());
        assert_eq!(found.standard_error, None);
    }
}

/// Of hidden entries the densities are averaged, one by one, and far from 0 as well: here of points, whose densities are Normal ones.
#[test]
fn densities_of_entries_are_averaged_in_logarithms() {
    let text = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : real, absent = NA\n\
        w[i, k] ~ Normal(0, sd = 1)\nh[k, j] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(sum[k](w[i, k] * h[k, j]), sd = 0.01)\n\
        posterior {\n  point w[i, k]\n  point h[k, j]\n}\n";
    let data = counts(8, 7, 2.0, 5);
    let mut run = run(text, &inputs_of(vec![matrix_file("x", &data, false)], &[]), &[share("x", 0.3)], 0, 1);
    let fits = fits_of(&run, &[4, 5]);
    let part = run.held.parts[0].clone();
    let mut logs: Vec<Vec<f64>> = Vec::new();
    for fit in &fits {
        run.fit = fit.clone();
        let (w, h) = (run.column("w", 0), run.column("h", 0));
        let of = |entry: usize| {
            let (i, j) = (part.coordinates[0][entry] as usize, part.coordinates[1][entry] as usize);
            let residual = part.values[entry] - (w[2 * i] * h[j] + w[2 * i + 1] * h[7 + j]);
            -0.5 * (2.0 * std::f64::consts::PI * 1e-4).ln() - 0.5 * residual * residual / 1e-4
        };
        logs.push((0..part.values.len()).map(of).collect());
    }
    // Their densities are too small for a double, and their ratio may be.
    let average = |one: f64, other: f64| {
        one.max(other) + (0.5 * ((one - one.max(other)).exp() + (other - one.max(other)).exp())).ln()
    };
    assert!(logs[0].iter().any(|log| log.exp() == 0.0), "densities below the range of a double");
    let expected: f64 = logs[0].iter().zip(&logs[1]).map(|(one, other)| average(*one, *other)).sum();
    let found =
        run.problem.score_averaged(&[&fits[0], &fits[1]], &run.held, 3, 1).expect("a score").remove(0);
    close(found.log_predictive, expected, 1e-11);
}

#[test]
fn thinning_is_binomial() {
    // 3000 counts of 10: each keeps 10 * 0.7 units on average, with the variance 10 * 0.3 * 0.7.
    let data = vec![vec![10.0; 60]; 50];
    let run = run(FACTORS, &inputs_of(vec![matrix_file("x", &data, false)], &[]), &[share("x", 0.3)], 0, 1);
    let given: Vec<f64> = run.given("x").concat();
    let n = given.len() as f64;
    let mean = given.iter().sum::<f64>() / n;
    let variance = given.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    // Standard errors 0.026 and 0.053.
    assert!((mean - 7.0).abs() < 0.12, "{mean}");
    assert!((variance - 2.1).abs() < 0.25, "{variance}");
}

#[test]
fn the_same_seed_splits_and_scores_alike_on_any_number_of_threads() {
    let data = counts(40, 30, 1.0, 6);
    let text = format!("{FACTORS}posterior {{\n  q(w[i, k])\n}}\n");
    let dense = text.replace("count, absent = 0", "nonnegative, absent = NA");
    for text in [text.as_str(), dense.as_str()] {
        let inputs = || inputs_of(vec![matrix_file("x", &data, false)], &[]);
        let runs: Vec<(Vec<f64>, Vec<Score>)> = [1, 1, 3]
            .into_iter()
            .map(|threads| {
                let run = run(text, &inputs(), &[share("x", 0.25)], 6, threads);
                (run.held.parts[0].values.clone(), run.scores(threads))
            })
            .collect();
        assert_eq!(runs[0], runs[1]);
        assert_eq!(runs[0], runs[2]);
    }
}

const REGRESSION: &str = "axis case[n]\naxis predictor[p, r]\ndata x[n, p] : real\ndata y[n] : real\n\
    const a0 = 1.5\nconst b0 = 0.7\nconst K0[p, r] = 0.5 * [p == r] + 0.2\n\
    tau ~ Gamma(a0, rate = b0)\nw[:p] ~ MultivariateNormal(0, prec = tau * K0)\n\
    y[n] ~ Normal(sum[p](x[n, p] * w[p]), prec = tau)\nposterior {\n  q(w[:p], tau)\n}\n";

/// Under the exact posterior `w | tau ~ N(m, (tau K)^-1)`, `tau ~ Gamma(a, b)` a new y is Student's t with 2 a degrees of freedom
/// about `x'm`, of scale^2 `b / a (1 + x' K^-1 x)` (Bishop 2006, 2.3.7 and exercise 3.12).
#[test]
fn a_regression_predicts_by_students_t() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let (n, p) = (30, 2);
    let x: Matrix = (0..n).map(|_| (0..p).map(|_| rng.sample(StandardNormal)).collect()).collect();
    let y: Vec<f64> =
        x.iter().map(|x| 1.5 * x[0] - x[1] + 0.5 * rng.sample::<f64, _>(StandardNormal)).collect();
    let lines = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join("\n");
    let data =
        vec![matrix_file("x", &x, false), file_of("y", "y.csv", format!("y\n{}\n", lines(&y)).into_bytes())];
    let run = run(REGRESSION, &inputs_of(data, &[]), &[share("y", 0.2)], 5, 1);
    let hidden: Vec<usize> = run.held.parts[0].coordinates[0].iter().map(|case| *case as usize).collect();
    assert_eq!(hidden.len(), 6);
    // The posterior of the others, written out.
    let mut k = [[0.7, 0.2], [0.2, 0.7]];
    let (mut r, mut squares, mut count) = ([0.0; 2], 0.0, 0.0);
    for case in (0..n).filter(|case| !hidden.contains(case)) {
        for i in 0..2 {
            r[i] += x[case][i] * y[case];
            for j in 0..2 {
                k[i][j] += x[case][i] * x[case][j];
            }
        }
        squares += y[case] * y[case];
        count += 1.0;
    }
    let determinant = k[0][0] * k[1][1] - k[0][1] * k[1][0];
    let inverse =
        [[k[1][1] / determinant, -k[0][1] / determinant], [-k[1][0] / determinant, k[0][0] / determinant]];
    let m = [inverse[0][0] * r[0] + inverse[0][1] * r[1], inverse[1][0] * r[0] + inverse[1][1] * r[1]];
    let (a, b) = (1.5 + 0.5 * count, 0.7 + 0.5 * (squares - m[0] * r[0] - m[1] * r[1]));
    let mut expected = 0.0;
    for case in hidden {
        let x = &x[case];
        let form: f64 = (0..2).map(|i| (0..2).map(|j| x[i] * inverse[i][j] * x[j]).sum::<f64>()).sum();
        let scale2 = b / a * (1.0 + form);
        let residual = y[case] - m[0] * x[0] - m[1] * x[1];
        expected += ln_gamma(a + 0.5)
            - ln_gamma(a)
            - 0.5 * (2.0 * a * std::f64::consts::PI * scale2).ln()
            - (a + 0.5) * (1.0 + residual * residual / (2.0 * a * scale2)).ln();
    }
    let score = run.score();
    let error = score.standard_error.expect("an average over draws");
    assert!(error < 0.2, "{error}");
    assert!((score.log_predictive - expected).abs() < 4.0 * error, "{score:?}, expected {expected}");
    assert_eq!((score.units, score.perplexity()), (6.0, None));
}

/// With known loadings and noise an entry is Normal about `w'm` with the variance `s^2 + w'S w`.
#[test]
fn factor_scores_predict_by_a_normal() {
    let text = "axis sample[n]\naxis feature[j]\naxis factor[k] = 2\ndata x[n, j] : real\ndata w[j, k] : real\n\
        z[n, k] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), sd = 0.5)\n\
        posterior {\n  q(z[n, :k])\n}\n";
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut normal = |rows: usize, columns: usize| -> Matrix {
        (0..rows).map(|_| (0..columns).map(|_| rng.sample(StandardNormal)).collect()).collect()
    };
    let (w, z, noise) = (normal(6, 2), normal(12, 2), normal(12, 6));
    let entry = |n: usize, j: usize| w[j][0] * z[n][0] + w[j][1] * z[n][1] + 0.5 * noise[n][j];
    let x: Matrix = (0..12).map(|n| (0..6).map(|j| entry(n, j)).collect()).collect();
    let data = || vec![matrix_file("x", &x, false), matrix_file("w", &w, false)];
    let run = run(text, &inputs_of(data(), &[]), &[share("x", 0.25)], 3, 1);
    let part = &run.held.parts[0];
    assert_eq!(part.values.len(), 18);
    let (mean, cov) = (run.column("z", 0), run.column("z", 1));
    let mut expected = 0.0;
    for (entry, value) in part.values.iter().enumerate() {
        let (n, j) = (part.coordinates[0][entry] as usize, part.coordinates[1][entry] as usize);
        assert_eq!(*value, x[n][j]);
        let w = &w[j];
        let centre = w[0] * mean[2 * n] + w[1] * mean[2 * n + 1];
        let own = &cov[4 * n..4 * n + 4];
        let variance = 0.25 + w[0] * w[0] * own[0] + w[0] * w[1] * (own[1] + own[2]) + w[1] * w[1] * own[3];
        let residual = value - centre;
        expected +=
            -0.5 * (2.0 * std::f64::consts::PI * variance).ln() - residual * residual / (2.0 * variance);
    }
    let score = run.score();
    let error = score.standard_error.expect("an average over draws");
    assert!(error < 0.5, "{error}");
    assert!((score.log_predictive - expected).abs() < 4.0 * error, "{score:?}, expected {expected}");

    // Entries that a file names are hidden as if the data lacked them.
    let listed: Matrix =
        run.held(0, &x).iter().map(|row| row.iter().map(|x| f64::from(*x != 0.0)).collect()).collect();
    let named = self::run(text, &inputs_of(data(), &[]), &[by_file(matrix_file("x", &listed, true))], 3, 1);
    assert_eq!(named.held.parts[0].coordinates, part.coordinates);
    let missing: Matrix = x
        .iter()
        .zip(&listed)
        .map(|(x, listed)| {
            x.iter().zip(listed).map(|(x, own)| if *own == 1.0 { f64::NAN } else { *x }).collect()
        })
        .collect();
    let lacking = vec![matrix_file("x", &missing, false), matrix_file("w", &w, false)];
    let text = text.replace("data x[n, j] : real", "data x[n, j] : real, absent = NA");
    let without = self::run(&text, &inputs_of(lacking, &[]), &[share("x", 0.1)], 0, 1);
    assert_eq!(without.held.parts[0].values.len(), 5);
    let inputs = inputs_of(vec![matrix_file("x", &missing, false), matrix_file("w", &w, false)], &[]);
    let compiled = cavi::compile(&text, "program.cavi").into_compiled().expect("it compiles");
    let problem = compiled.bind(&inputs).expect("data");
    let settings = Settings { sweeps: Some(3), tolerance: Some(0.0), ..Settings::default() };
    let fit = problem.fit(&settings, &mut |_| Control::Continue).expect("a fit");
    assert_eq!(fit.parameters, run.fit.parameters);
    assert_eq!(named.fit.parameters, run.fit.parameters);
}

/// A hidden pixel of a mixture of Bernoullis: `sum_k q(z = k) E mu_kj`.
#[test]
fn classes_are_summed_out() {
    let text = "axis image[n]\naxis pixel[j]\naxis class[k] = 3\ndata x[n, j] : binary\n\
        pi[:k] ~ Dirichlet(1)\nmu[k, j] ~ Beta(1, 1)\nz[n] ~ Categorical(pi[k])\nx[n, j] ~ Bernoulli(mu[z[n], j])\n"
        .replace("pi[k])", "pi)");
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    let x: Matrix = (0..20)
        .map(|n| {
            (0..7)
                .map(|j| f64::from(rng.random::<f64>() < if (n + j) % 3 == 0 { 0.8 } else { 0.2 }))
                .collect()
        })
        .collect();
    let inputs = || inputs_of(vec![matrix_file("x", &x, false)], &[]);
    let run = run(&text, &inputs(), &[share("x", 0.2)], 12, 1);
    let part = &run.held.parts[0];
    let (prob, a, b) = (run.column("z", 0), run.column("mu", 0), run.column("mu", 1));
    let mut expected = 0.0;
    for (entry, value) in part.values.iter().enumerate() {
        let (n, j) = (part.coordinates[0][entry] as usize, part.coordinates[1][entry] as usize);
        let p: f64 = (0..3).map(|k| prob[3 * n + k] * a[7 * k + j] / (a[7 * k + j] + b[7 * k + j])).sum();
        expected += if *value == 1.0 { p.ln() } else { (1.0 - p).ln() };
    }
    let score = run.score();
    close(score.log_predictive, expected, 1e-11);
    assert_eq!(score.standard_error, None);
    assert!(score.discrete);
    // The same with the classes implicit, at their optimum.
    let implicit = format!("{text}posterior {{\n  implicit z\n}}\nfit {{\n  sweep pi, mu\n}}\n");
    let other = self::run(&implicit, &inputs(), &[share("x", 0.2)], 12, 1);
    let score = other.score();
    let (a, b) = (other.column("mu", 0), other.column("mu", 1));
    let concentration = other.column("pi", 0);
    let given = &other.problem.binding;
    let symbols = &other.problem.equations.symbols;
    let id = symbols.find("x").unwrap();
    let part = &other.held.parts[0];
    let psi = statrs::function::gamma::digamma;
    let mut expected = 0.0;
    for (entry, value) in part.values.iter().enumerate() {
        let (n, j) = (part.coordinates[0][entry] as usize, part.coordinates[1][entry] as usize);
        let mut logs = [0.0; 3];
        for (k, log) in logs.iter_mut().enumerate() {
            *log = psi(concentration[k]);
            for pixel in 0..7 {
                let (own, seen) = given.bound.array(id).entry(&[20, 7], &[n, pixel]);
                let (a, b) = (a[7 * k + pixel], b[7 * k + pixel]);
                if seen {
                    *log += if own == 1.0 { psi(a) } else { psi(b) } - psi(a + b);
                }
            }
        }
        let weights: Vec<f64> = logs.iter().map(|log| (log - logs[0]).exp()).collect();
        let total: f64 = weights.iter().sum();
        let p: f64 = (0..3).map(|k| weights[k] / total * a[7 * k + j] / (a[7 * k + j] + b[7 * k + j])).sum();
        expected += if *value == 1.0 { p.ln() } else { (1.0 - p).ln() };
    }
    close(score.log_predictive, expected, 1e-10);
}

/// Every program of the corpus has a score of what is held out of it, or says why it has none.
#[test]
fn every_program_predicts_or_says_why_not() {
    let mut wrong = Vec::new();
    let mut refused = Vec::new();
    let mut scored = 0;
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(31);
        let shape = Shape { smallest: 3, largest: 5, ..Shape::small(false) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let inputs = files_of(&program, &bound);
        let observed: Vec<String> = program
            .model
            .statements
            .iter()
            .filter(|statement| statement.observed)
            .map(|statement| program.model.symbols.array(statement.target).name.clone())
            .collect();
        for name in observed {
            let attempt = std::panic::AssertUnwindSafe(|| outcome(&program, &inputs, &name));
            match std::panic::catch_unwind(attempt).unwrap_or_else(|_| Err(Err("a panic".to_owned()))) {
                Ok(score) if score.log_predictive.is_nan() => {
                    wrong.push(format!("{} {name}: {score:?}", program.name))
                }
                Ok(_) => scored += 1,
                Err(Ok(reason)) => refused.push(format!("{} {name}: {reason}", program.name)),
                Err(Err(reason)) => wrong.push(format!("{} {name}: {reason}", program.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        scored > 10 * refused.len(),
        "{scored} scored, {} refused\n{}",
        refused.len(),
        refused.join("\n")
    );
}

/// A score; else a refusal, or what went wrong.
fn outcome(program: &Program, inputs: &Inputs, name: &str) -> Result<Score, Result<String, String>> {
    let compiled = cavi::compile_with(&program.text, "program.cavi", &inputs.set_values());
    let compiled = compiled.into_compiled().map_err(|error| Err(error.to_string()))?;
    let (problem, held) =
        heldout::bind(compiled, inputs, &[share(name, 0.3)], 3).map_err(|error| match error {
            Error::Data(problems) => {
                let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
                // What random data did wrong is no refusal of a split.
                let known = ["is held out", "be hidden", "missing", "whole units"];
                if texts.iter().any(|text| known.iter().any(|known| text.contains(known))) {
                    Ok(texts.join("; "))
                } else {
                    Err(texts.join("; "))
                }
            }
            Error::Program { diagnostics, .. } => Ok(diagnostics[0].message.clone()),
            other => Err(other.to_string()),
        })?;
    let settings = Settings { sweeps: Some(4), tolerance: Some(0.0), ..Settings::default() };
    let fit = problem.fit(&settings, &mut |_| Control::Continue).map_err(|error| match error {
        Error::Program { diagnostics, .. } => Ok(diagnostics[0].message.clone()),
        Error::Unplanned { reason, .. } => Ok(reason),
        other => Err(format!("{other:?}")),
    })?;
    let scores = problem.score(&fit, &held, 3, 1).map_err(|error| Ok(error.to_string()))?;
    let other = Settings { sweeps: Some(2), seed: Some(99), ..settings };
    if let Ok(other) = problem.fit(&other, &mut |_| Control::Continue) {
        laws_of_averages(&problem, &held, &fit, &other).map_err(Err)?;
    }
    Ok(scores.into_iter().next().expect("a score of the one array"))
}

/// The average of a fit with itself predicts as the fit does, to the bit; that of two fits at least as well as they do on average,
/// whichever comes first.
fn laws_of_averages(problem: &Problem, held: &HeldOut, one: &Fit, other: &Fit) -> Result<(), String> {
    let average = |fits: &[&Fit]| {
        let scores = problem.score_averaged(fits, held, 3, 1).map_err(|error| error.to_string())?;
        Ok::<Score, String>(scores.into_iter().next().expect("a score of the one array"))
    };
    let (own, theirs) = (average(&[one])?, average(&[other])?);
    let twice = average(&[one, one])?;
    if twice != own && !own.log_predictive.is_nan() {
        return Err(format!("averaged with itself {twice:?}, alone {own:?}"));
    }
    let (both, turned) = (average(&[one, other])?, average(&[other, one])?);
    let mean = 0.5 * (own.log_predictive + theirs.log_predictive);
    let tolerance = 1e-10 * (own.log_predictive.abs() + theirs.log_predictive.abs()).max(1.0);
    if mean.is_finite() && both.log_predictive < mean - tolerance {
        return Err(format!("averaged {both:?}, less than the mean {mean} of {own:?} and {theirs:?}"));
    }
    let turns = both.log_predictive - turned.log_predictive;
    if both.log_predictive.is_finite() && turns.abs() > tolerance {
        return Err(format!("averaged {both:?}, in the other order {turned:?}"));
    }
    Ok(())
}

/// The density of one hidden entry, averaged over draws that share no code with the program's: the log joint with the entry, less
/// that without it.
#[test]
fn a_hidden_entry_is_scored_by_the_average_of_its_density() {
    const DRAWS: usize = 400;
    let mut wrong = Vec::new();
    let mut compared = 0;
    for program in programs() {
        if has_implicit(&program) || program.climbs() {
            continue;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(33);
        let shape = Shape { smallest: 2, largest: 3, missing: 0.0, ..Shape::small(false) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let inputs = files_of(&program, &bound);
        for statement in program.model.statements.iter().filter(|own| own.observed && own.slices.is_empty()) {
            let array = program.model.symbols.array(statement.target);
            let shape = bound.shape(&program.model.symbols, statement.target);
            // Counts are thinned, and an array of two positions may have an entry that is excluded.
            let ragged =
                array.letters.iter().any(|letter| program.model.symbols.letter(*letter).parent.is_some());
            if shape.is_empty() || ragged || array.restriction.is_some() || array.value.is_some() {
                continue;
            }
            let mut mask = vec![0.0; shape.iter().product()];
            mask[1] = 1.0;
            let content = Content::Dense(Dense::new(
                shape.clone(),
                Values::Numbers(mask.into()),
                vec![None; shape.len()],
            ));
            let source = Source::Content { name: PathBuf::from("mask.npy"), content, counts: Vec::new() };
            let request = by_file(ArrayInput { name: array.name.clone(), group: None, source });
            let compiled = cavi::compile_with(&program.text, "program.cavi", &inputs.set_values());
            let Some(compiled) = compiled.compiled else { continue };
            let Ok((problem, held)) = heldout::bind(compiled, &inputs, &[request], 3) else { continue };
            let Problem { model, equations, binding, .. } = problem.as_given();
            let latent = equations.symbols.array(statement.target).kind == ArrayKind::Latent;
            if latent || !binding.entries.is_empty() || held.parts[0].values.len() != 1 {
                continue;
            }
            let settings = Settings { sweeps: Some(6), tolerance: Some(0.0), ..Settings::default() };
            let Ok(fit) = problem.fit(&settings, &mut |_| Control::Continue) else { continue };
            let Ok(scores) = problem.score(&fit, &held, 5, 1) else { continue };
            // A latent of the entry alone is not drawn from q.
            let own = model.statements.iter().any(|other| {
                !other.observed
                    && matches!(model.symbols.array(other.target).support, Support::Index(_))
                    && model.symbols.array(other.target).letters.len() == array.letters.len()
            });
            if own {
                continue;
            }
            let restated = Program { model: model.clone(), equations: equations.clone(), ..program.clone() };
            let mut with = binding.bound.clone();
            let place: Vec<usize> =
                held.parts[0].coordinates.iter().map(|column| column[0] as usize).collect();
            observe(&mut with, statement.target, &shape, &place, held.parts[0].values[0]);
            let mut rng = ChaCha8Rng::seed_from_u64(35);
            let mut logs = Vec::with_capacity(DRAWS);
            for _ in 0..DRAWS {
                let drawn = draw(restated.subject(), &binding.bound, &fit.parameters, &mut rng);
                let world = |bound| {
                    let mut world = World::new(&model.symbols, bound);
                    world.latents.clone_from(&drawn.latents);
                    world.logs.clone_from(&drawn.logs);
                    log_joint(model, &world)
                };
                logs.push(world(&with) - world(&binding.bound));
            }
            let values: Vec<f64> = logs.iter().map(|log: &f64| log.exp()).collect();
            let mean = values.iter().sum::<f64>() / DRAWS as f64;
            let variance =
                values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / DRAWS as f64;
            let error = (variance / DRAWS as f64).sqrt() / mean;
            let score = &scores[0];
            let allowed = 5.0 * (error * error + score.standard_error.unwrap_or(0.0).powi(2)).sqrt() + 1e-6;
            compared += 1;
            // What is no number does not agree.
            let agrees = (score.log_predictive - mean.ln()).abs() <= allowed;
            if !agrees && error < 0.2 {
                wrong.push(format!(
                    "{} {}: {score:?}, the average {} +- {error}",
                    program.name,
                    array.name,
                    mean.ln()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 60, "{compared}");
}

fn observe(bound: &mut Bound, id: ArrayId, shape: &[usize], place: &[usize], value: f64) {
    let cell = shape.iter().zip(place).fold(0, |cell, (size, position)| cell * size + position);
    match bound.arrays[id.index()].as_mut().expect("data") {
        BoundArray::Dense { values, observed } => {
            values[cell] = value;
            if let Some(observed) = observed {
                observed[cell] = true;
            }
        }
        BoundArray::Sparse { indices, values, observed, .. } => {
            let entry = (0..values.len())
                .find(|entry| indices.iter().zip(place).all(|(column, own)| column[*entry] as usize == *own));
            let entry = entry.expect("what is hidden of an array of zeros is listed");
            values[entry] = value;
            if let Some(observed) = observed {
                observed[entry] = true;
            }
        }
    }
}
