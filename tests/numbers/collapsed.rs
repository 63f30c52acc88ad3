//! Allocations that leave their own shares out, against the formula written a second time: topics, Gamma-Poisson factors, a tensor
//! with an exposure, and one with a background. Then what a fit by this rule does.

use cavi::bind::ArrayInput;
use cavi::start::Given;
use cavi::{Control, Fit, Settings};
use cavi_executor::Parameters;
use cavi_syntax::ast::{Allocations, Warmup};
use cavi_tests::support::{Ready, file_of, matrix_file};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn fit(program: &Ready, settings: &Settings) -> Fit {
    program.problem().fit(settings, &mut |_| Control::Continue).unwrap_or_else(|error| panic!("{error:?}"))
}

fn given(from: &Parameters) -> Option<Given> {
    Some(Given { blocks: from.blocks.iter().cloned().map(Some).collect() })
}

/// A fit of no sweeps after so many of the warm-up from a given start.
fn warmed(program: &Ready, from: &Parameters, sweeps: u64, threads: usize) -> Parameters {
    let warmup = Some(vec![Warmup::Collapsed(sweeps)]);
    let settings = Settings { sweeps: Some(0), warmup, given: given(from), threads, ..Settings::default() };
    fit(program, &settings).parameters
}

fn close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-10 * expected.abs(), "{what}: {found} and not {expected}");
    }
}

const K: usize = 3;

/// A table of counts, every row and column with one.
fn counts(rows: usize, columns: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let entry =
        |rng: &mut ChaCha8Rng| if rng.random_bool(0.6) { 0.0 } else { f64::from(rng.random_range(1..4)) };
    let mut table: Vec<Vec<f64>> =
        (0..rows).map(|_| (0..columns).map(|_| entry(&mut rng)).collect()).collect();
    (0..rows.max(columns)).for_each(|place| table[place % rows][place % columns] += 1.0);
    table
}

/// `sum_v`, `[d, k]` and `[k, v]` of Dirichlet concentrations: the allocation of Asuncion, Welling, Smyth and Teh with the own
/// share worked out anew, and never less than the prior left.
fn topic_shares(theta: &[f64], beta: &[f64], [d, v, words]: [usize; 3], [a, c]: [f64; 2]) -> [f64; K] {
    let total = |k: usize| beta[k * words..(k + 1) * words].iter().sum::<f64>();
    let at = |k: usize| (theta[d * K + k], beta[k * words + v]);
    let mut share: [f64; K] = std::array::from_fn(|k| at(k).0 * at(k).1 / total(k));
    let sum: f64 = share.iter().sum();
    share.iter_mut().for_each(|own| *own /= sum);
    let mut without: [f64; K] = std::array::from_fn(|k| {
        let (n, m) = at(k);
        (n - share[k]).max(a) * (m - share[k]).max(c) / (total(k) - share[k])
    });
    let sum: f64 = without.iter().sum();
    without.iter_mut().for_each(|own| *own /= sum);
    without
}

#[test]
fn topics_are_those_of_cvb0_with_the_own_share_worked_out_anew() {
    let text = "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata x[d, v] : count, absent = 0\nconst a\nconst c\n\
        theta[d, :k] ~ Dirichlet(a)\nbeta[k, :v] ~ Dirichlet(c)\nx[d, :v] ~ Multinomial(sum[k](theta[d, k] * beta[k, v]))\n\
        fit {\n  sweep theta, beta\n}\n";
    let (docs, words, prior) = (9, 7, [0.2, 0.15]);
    let data = counts(docs, words, 1);
    for sparse in [false, true] {
        let set = [("a", prior[0]), ("c", prior[1])];
        let program = Ready::new(text, &set, vec![matrix_file("x", &data, sparse)]);
        let from = program.start(3);
        let mut theta = program.column(&from, "theta", 0).to_vec();
        let mut beta = program.column(&from, "beta", 0).to_vec();
        for sweep in 1..=6 {
            for own in ["theta", "beta"] {
                let mut next = match own {
                    "theta" => vec![prior[0]; docs * K],
                    _ => vec![prior[1]; K * words],
                };
                for (d, row) in data.iter().enumerate() {
                    for (v, count) in row.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                        let shares = topic_shares(&theta, &beta, [d, v, words], prior);
                        for (k, share) in shares.iter().enumerate() {
                            next[if own == "theta" { d * K + k } else { k * words + v }] += count * share;
                        }
                    }
                }
                if own == "theta" { theta = next } else { beta = next }
            }
            let found = warmed(&program, &from, sweep, 1);
            close("theta", program.column(&found, "theta", 0), &theta);
            close("beta", program.column(&found, "beta", 0), &beta);
        }
    }
}

/// A factor of a tensor: shapes and rates, rows by categories, and its prior.
#[derive(Clone)]
struct Gammas {
    shape: Vec<f64>,
    rate: Vec<f64>,
    prior: [f64; 2],
}

impl Gammas {
    fn mean(&self, row: usize, k: usize) -> f64 {
        self.shape[row * K + k] / self.rate[row * K + k]
    }
}

/// The shares of the categories of an entry of this weight, then that of the background.
fn shares(factors: &[Gammas], at: &[usize], [exposure, background]: [f64; 2], weight: f64) -> [f64; K + 1] {
    let normalised = |own: [f64; K + 1]| {
        let sum: f64 = own.iter().sum();
        own.map(|own| own / sum)
    };
    let product = |own: &dyn Fn(&Gammas, usize, usize) -> f64| {
        normalised(std::array::from_fn(|k| match k {
            K => background,
            _ => exposure * factors.iter().zip(at).map(|(factor, row)| own(factor, *row, k)).product::<f64>(),
        }))
    };
    let first = product(&|factor, row, k| factor.mean(row, k));
    product(&|factor, row, k| {
        let left = (factor.shape[row * K + k] - weight.min(1.0) * first[k]).max(factor.prior[0]);
        left / factor.rate[row * K + k]
    })
}

/// Holds a program of Gamma factors to the formula, over some sweeps of one factor after another. The data are `(place, value)`,
/// the exposures those of the places of the first factor.
fn hold(
    text: &str,
    names: &[&str],
    priors: &[[f64; 2]],
    inputs: &dyn Fn() -> Vec<ArrayInput>,
    entries: &[(Vec<usize>, f64)],
    [sizes, exposures]: [&[f64]; 2],
    background: f64,
) {
    let program = Ready::new(text, &[], inputs());
    let from = program.start(5);
    let mut factors: Vec<Gammas> = names
        .iter()
        .zip(priors)
        .map(|(name, prior)| Gammas {
            shape: program.column(&from, name, 0).to_vec(),
            rate: program.column(&from, name, 1).to_vec(),
            prior: *prior,
        })
        .collect();
    for sweep in 1..=5 {
        for own in 0..names.len() {
            let mut shape = vec![priors[own][0]; factors[own].shape.len()];
            for (place, value) in entries.iter().filter(|(_, value)| *value > 0.0) {
                let all = shares(&factors, place, [exposures[place[0]], background], *value);
                for k in 0..K {
                    shape[place[own] * K + k] += value * all[k];
                }
            }
            // Every cell of the tensor has the rate, whatever it holds.
            let total = |factor: usize, k: usize| -> f64 {
                let weight = |row: usize| if factor == 0 { exposures[row] } else { 1.0 };
                (0..sizes[factor] as usize).map(|row| weight(row) * factors[factor].mean(row, k)).sum()
            };
            let others = |k: usize| -> f64 {
                (0..names.len()).filter(|other| *other != own).map(|other| total(other, k)).product()
            };
            let rate = (0..shape.len()).map(|place| {
                let exposure = if own == 0 { exposures[place / K] } else { 1.0 };
                priors[own][1] + exposure * others(place % K)
            });
            factors[own].rate = rate.collect();
            factors[own].shape = shape;
        }
        let found = warmed(&program, &from, sweep, 1);
        for (name, factor) in names.iter().zip(&factors) {
            close(name, program.column(&found, name, 0), &factor.shape);
            close(name, program.column(&found, name, 1), &factor.rate);
        }
    }
}

fn entries_of(table: &[Vec<f64>]) -> Vec<(Vec<usize>, f64)> {
    let row = |(i, row): (usize, &Vec<f64>)| -> Vec<(Vec<usize>, f64)> {
        row.iter().enumerate().map(|(j, value)| (vec![i, j], *value)).collect()
    };
    table.iter().enumerate().flat_map(row).collect()
}

const AXES: &str = "axis row[i]\naxis column[j]\naxis part[k] = 3\n";
const PRIORS: &str = "w[i, k] ~ Gamma(0.3, rate = 2)\nh[j, k] ~ Gamma(0.2, rate = 0.5)\n";

#[test]
fn factors_leave_a_unit_of_each_count_out() {
    let table = counts(8, 6, 2);
    let text = format!(
        "{AXES}data x[i, j] : count, absent = 0\n{PRIORS}x[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\nfit {{\n  sweep w, h\n}}\n"
    );
    for sparse in [false, true] {
        hold(
            &text,
            &["w", "h"],
            &[[0.3, 2.0], [0.2, 0.5]],
            &|| vec![matrix_file("x", &table, sparse)],
            &entries_of(&table),
            [&[8.0, 6.0], &[1.0; 8]],
            0.0,
        );
    }
}

#[test]
fn a_background_and_an_exposure_hold_no_counts_to_leave_out() {
    let table = counts(8, 6, 3);
    let exposures: Vec<f64> = (0..8).map(|row| 0.5 + 0.3 * row as f64).collect();
    let column: String = std::iter::once("row,e\n".to_owned())
        .chain((0..8).map(|row| format!("{row},{}\n", exposures[row])))
        .collect();
    let text = format!(
        "{AXES}data x[i, j] : count, absent = 0\ndata e[i] : positive\n{PRIORS}\
         x[i, j] ~ Poisson(sum[k](e[i] * w[i, k] * h[j, k]) + 0.25)\nfit {{\n  sweep w, h\n}}\n"
    );
    for sparse in [false, true] {
        hold(
            &text,
            &["w", "h"],
            &[[0.3, 2.0], [0.2, 0.5]],
            &|| {
                let e = file_of("e", "e.csv", column.clone().into_bytes());
                vec![matrix_file("x", &table, sparse), e]
            },
            &entries_of(&table),
            [&[8.0, 6.0], &exposures],
            0.25,
        );
    }
}

/// Of an entry below 1 no more is left out than it holds.
#[test]
fn fractions_leave_out_what_they_hold() {
    let mut table = counts(8, 6, 4);
    table.iter_mut().flatten().for_each(|value| *value *= 0.35);
    let text = format!(
        "{AXES}data x[i, j] : nonnegative, absent = 0\n{PRIORS}x[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\nfit {{\n  sweep w, h\n}}\n"
    );
    hold(
        &text,
        &["w", "h"],
        &[[0.3, 2.0], [0.2, 0.5]],
        &|| vec![matrix_file("x", &table, true)],
        &entries_of(&table),
        [&[8.0, 6.0], &[1.0; 8]],
        0.0,
    );
}

#[test]
fn a_tensor_leaves_a_unit_out_of_every_mode() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let sizes = [5, 4, 6];
    let mut text_of_data = "row,column,time,x\n".to_owned();
    let mut entries = Vec::new();
    for i in 0..sizes[0] {
        for j in 0..sizes[1] {
            for t in 0..sizes[2] {
                let first = i == 0 || j == 0 || t == 0;
                let value = f64::from(rng.random_range(0..3)) + f64::from(u8::from(first));
                if value > 0.0 {
                    text_of_data.push_str(&format!("r{i},c{j},t{t},{value}\n"));
                }
                entries.push((vec![i, j, t], value));
            }
        }
    }
    let text = "axis row[i]\naxis column[j]\naxis time[t]\naxis part[k] = 3\ndata x[i, j, t] : count, absent = 0\n\
        u[i, k] ~ Gamma(0.3, rate = 1)\nv[j, k] ~ Gamma(0.2, rate = 0.5)\ns[t, k] ~ Gamma(0.6, rate = 2)\n\
        x[i, j, t] ~ Poisson(sum[k](u[i, k] * v[j, k] * s[t, k]))\nfit {\n  sweep u, v, s\n}\n";
    hold(
        text,
        &["u", "v", "s"],
        &[[0.3, 1.0], [0.2, 0.5], [0.6, 2.0]],
        &|| vec![file_of("x", "x.csv", text_of_data.clone().into_bytes())],
        &entries,
        [&sizes.map(|size| size as f64), &[1.0; 5]],
        0.0,
    );
}

const MANY: &str = "axis doc[d]\naxis word[v]\naxis topic[k] = 11\ndata x[d, v] : count, absent = 0\n\
    theta[d, :k] ~ Dirichlet(0.1)\nbeta[k, :v] ~ Dirichlet(0.1)\nx[d, :v] ~ Multinomial(sum[k](theta[d, k] * beta[k, v]))\n";

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let program = Ready::new(MANY, &[], vec![matrix_file("x", &counts(300, 90, 7), true)]);
    let from = program.start(1);
    let one = warmed(&program, &from, 4, 1);
    for threads in [2, 3] {
        let others = warmed(&program, &from, 4, threads);
        for (one, other) in one.blocks.iter().flatten().zip(others.blocks.iter().flatten()) {
            assert!(one.iter().zip(other).all(|(one, other)| one.to_bits() == other.to_bits()));
        }
    }
}

/// Rows of one word in a vocabulary of one: nothing but the prior is left of any count, and there is an answer.
#[test]
fn where_all_counts_are_the_units_own_the_prior_decides() {
    let program = Ready::new(MANY, &[], vec![matrix_file("x", &vec![vec![1.0]; 2], true)]);
    let found = warmed(&program, &program.start(1), 3, 1);
    let theta = program.column(&found, "theta", 0);
    assert!(theta.iter().all(|own| own.is_finite() && *own >= 0.1));
    assert!((theta.iter().sum::<f64>() - 2.0 * (11.0 * 0.1 + 1.0)).abs() < 1e-12);
}

/// As the rule of a fit: the phase says so, the bound is that of the program, no ascent is judged, and the fit ends when the means
/// are at rest.
#[test]
fn a_fit_by_this_rule_reports_the_bound_of_the_program() {
    let table = counts(30, 20, 8);
    let data = || vec![matrix_file("x", &table, true)];
    let stated = Ready::new(&format!("{MANY}fit {{\n  allocations = collapsed\n}}\n"), &[], data());
    let plain = Ready::new(MANY, &[], data());
    let from = plain.start(2);
    let by_option = Settings {
        allocations: Some(Allocations::Collapsed),
        given: given(&from),
        sweeps: Some(400),
        tolerance: Some(1e-3),
        verify: true,
        ..Settings::default()
    };
    let by_program = Settings { allocations: None, ..by_option.clone() };
    let (one, other) = (fit(&plain, &by_option), fit(&stated, &by_program));
    assert_eq!(one.settings.allocations, Allocations::Collapsed);
    assert_eq!(one.parameters.blocks, other.parameters.blocks);
    assert!(one.run().converged && one.run().sweeps < 400, "{} sweeps", one.run().sweeps);
    assert!(one.trace.iter().skip(1).all(|row| row.phase == "collapsed"));
    let sweeps = one.run().sweeps;
    assert_eq!(one.parameters.blocks, warmed(&plain, &from, sweeps, 1).blocks);
    let end = given(&one.parameters);
    let bound = fit(&plain, &Settings { sweeps: Some(0), given: end, ..Settings::default() }).run().elbo;
    assert!((one.run().elbo - bound).abs() < 1e-9 * bound.abs(), "{} and {bound}", one.run().elbo);
    // Under the ordinary rule, which an option can ask for, the same start leads elsewhere.
    let ordinary = Settings {
        allocations: Some(Allocations::Ordinary),
        given: given(&from),
        sweeps: Some(sweeps),
        ..Settings::default()
    };
    let ordinary = fit(&stated, &ordinary);
    assert!(ordinary.trace.iter().all(|row| row.phase == "fit"));
    assert_ne!(ordinary.parameters.blocks, one.parameters.blocks);
}

/// A mixture of Betas under data of so many trials, some of them not observed, by the formula written a second time: a unit of x successes in n
/// trials leaves its x, its n - x and its n out of the two counts of its class and out of their total.
#[test]
fn classes_of_zeros_and_ones_leave_their_unit_out_of_all_counts() {
    // Successes and trials; one unit is not observed.
    let ones: [(f64, f64); 7] =
        [(1.0, 1.0), (1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (0.0, 1.0), (f64::NAN, 1.0), (1.0, 1.0)];
    let trials: [(f64, f64); 5] = [(1.0, 2.0), (3.0, 3.0), (0.0, 2.0), (f64::NAN, 4.0), (2.0, 5.0)];
    let family = |units: &[(f64, f64)]| match units.len() {
        7 => ("binary", "Bernoulli(a[z[u]])"),
        _ => ("count", "Binomial(n[u], a[z[u]])"),
    };
    // Never less than the prior contributes, nor more than there is: a start may lie below its prior.
    let left = |mass: f64, unit: f64, prior: f64| (mass - unit).max(prior).min(mass);
    for units in [&ones[..], &trials[..]] {
        let (kind, statement) = family(units);
        let text = format!(
            "axis u[u]\naxis k[k] = 3\ndata x[u] : {kind}, absent = NA\ndata n[u] : count\na[k] ~ Beta(1, 2)\npi[:k] ~ Dirichlet(0.5)\n\
             z[u] ~ Categorical(pi)\nx[u] ~ {statement}\nposterior {{\n  implicit z\n}}\nfit {{\n  sweep pi, a\n}}\n"
        );
        let column = |of: &dyn Fn(&(f64, f64)) -> f64| -> Vec<String> {
            units
                .iter()
                .map(|unit| if of(unit).is_nan() { "NA".to_owned() } else { of(unit).to_string() })
                .collect()
        };
        let files = vec![
            file_of("x", "x.csv", (column(&|unit| unit.0).join("\n") + "\n").into_bytes()),
            file_of("n", "n.csv", (column(&|unit| unit.1).join("\n") + "\n").into_bytes()),
        ];
        let program = Ready::new(&text, &[], files);
        let from = program.start(4);
        let mut pi = program.column(&from, "pi", 0).to_vec();
        let (mut a, mut b) = (program.column(&from, "a", 0).to_vec(), program.column(&from, "a", 1).to_vec());
        let shares = |pi: &[f64], a: &[f64], b: &[f64], (x, n): (f64, f64)| -> [f64; K] {
            let normalised = |own: [f64; K]| {
                let sum: f64 = own.iter().sum();
                own.map(|own| own / sum)
            };
            if x.is_nan() {
                let bar = normalised(std::array::from_fn(|k| pi[k]));
                return normalised(std::array::from_fn(|k| left(pi[k], bar[k], 0.5)));
            }
            let mean = |k: usize| a[k] / (a[k] + b[k]);
            let bar =
                normalised(std::array::from_fn(|k| pi[k] * mean(k).powf(x) * (1.0 - mean(k)).powf(n - x)));
            normalised(std::array::from_fn(|k| {
                let total = left(a[k] + b[k], n * bar[k], 3.0);
                let one = left(a[k], x * bar[k], 1.0) / total;
                let zero = left(b[k], (n - x) * bar[k], 2.0) / total;
                left(pi[k], bar[k], 0.5) * one.powf(x) * zero.powf(n - x)
            }))
        };
        for sweep in 1..=6 {
            let of_pi: Vec<[f64; K]> = units.iter().map(|unit| shares(&pi, &a, &b, *unit)).collect();
            pi = (0..K).map(|k| 0.5 + of_pi.iter().map(|own| own[k]).sum::<f64>()).collect();
            let of_a: Vec<[f64; K]> = units.iter().map(|unit| shares(&pi, &a, &b, *unit)).collect();
            let seen = || units.iter().zip(&of_a).filter(|(unit, _)| !unit.0.is_nan());
            a = (0..K).map(|k| 1.0 + seen().map(|((x, _), own)| x * own[k]).sum::<f64>()).collect();
            b = (0..K).map(|k| 2.0 + seen().map(|((x, n), own)| (n - x) * own[k]).sum::<f64>()).collect();
            let found = warmed(&program, &from, sweep, 1);
            close("pi", program.column(&found, "pi", 0), &pi);
            close("a", program.column(&found, "a", 0), &a);
            close("b", program.column(&found, "a", 1), &b);
        }
        assert!((a[0] - a[2]).abs() > 1e-3, "the classes are told apart: {a:?}");
    }
}

/// Several items of a unit, some of zeros and ones with entries that are not observed, one of classes: each is left out of the counts of its own.
#[test]
fn units_of_several_items_leave_the_counts_of_each() {
    let text = "axis u[u]\naxis j[j]\naxis k[k] = 3\naxis c[c] = 3\ndata x[u, j] : binary, absent = NA\ndata y[u, j] : index c\n\
        a[k, j] ~ Beta(1, 2)\nb[k, j, :c] ~ Dirichlet(0.7)\npi[:k] ~ Dirichlet(0.5)\nz[u] ~ Categorical(pi)\n\
        x[u, j] ~ Bernoulli(a[z[u], j])\ny[u, j] ~ Categorical(b[z[u], j])\n\
        posterior {\n  implicit z\n}\nfit {\n  sweep pi, a, b\n}\n";
    let x = [[1.0, 0.0], [1.0, f64::NAN], [0.0, 1.0], [0.0, 0.0], [f64::NAN, 1.0], [1.0, 1.0]];
    let y: [[usize; 2]; 6] = [[0, 1], [2, 2], [1, 1], [0, 0], [2, 1], [0, 2]];
    let lines = |cell: &dyn Fn(usize, usize) -> String| -> Vec<u8> {
        (0..6).map(|u| format!("{},{}\n", cell(u, 0), cell(u, 1))).collect::<String>().into_bytes()
    };
    let of_x = |u: usize, j: usize| if x[u][j].is_nan() { "NA".to_owned() } else { x[u][j].to_string() };
    let files =
        vec![file_of("x", "x.csv", lines(&of_x)), file_of("y", "y.csv", lines(&|u, j| y[u][j].to_string()))];
    let program = Ready::new(text, &[], files);
    let from = program.start(6);
    let column = |name: &str, which: usize| program.column(&from, name, which).to_vec();
    let (mut pi, mut a, mut d, mut b) = (column("pi", 0), column("a", 0), column("a", 1), column("b", 0));
    let left = |mass: f64, unit: f64, prior: f64| (mass - unit).max(prior).min(mass);
    let normalised = |own: [f64; K]| {
        let sum: f64 = own.iter().sum();
        own.map(|own| own / sum)
    };
    // At [k, j] of a and d, and [k, j, c] of b.
    let shares = |pi: &[f64], a: &[f64], d: &[f64], b: &[f64], u: usize| -> [f64; K] {
        let of = |share: &dyn Fn(usize) -> f64, k: usize| -> f64 {
            let unit = share(k);
            let mut product = left(pi[k], unit, 0.5);
            for j in 0..2 {
                let at = k * 2 + j;
                let own = &b[at * 3..at * 3 + 3];
                let total: f64 = own.iter().sum();
                product *= left(own[y[u][j]], unit, 0.7) / left(total, unit, 2.1);
                if !x[u][j].is_nan() {
                    let one = left(a[at], x[u][j] * unit, 1.0);
                    let zero = left(d[at], (1.0 - x[u][j]) * unit, 2.0);
                    product *= if x[u][j] == 1.0 { one } else { zero } / left(a[at] + d[at], unit, 3.0);
                }
            }
            product
        };
        let bar = normalised(std::array::from_fn(|k| of(&|_| 0.0, k)));
        normalised(std::array::from_fn(|k| of(&|k| bar[k], k)))
    };
    for sweep in 1..=5 {
        for own in ["pi", "a", "b"] {
            let all: Vec<[f64; K]> = (0..6).map(|u| shares(&pi, &a, &d, &b, u)).collect();
            match own {
                "pi" => pi = (0..K).map(|k| 0.5 + all.iter().map(|own| own[k]).sum::<f64>()).collect(),
                "a" => {
                    for (at, (a, d)) in a.iter_mut().zip(&mut d).enumerate() {
                        let seen = || (0..6).filter(|u| !x[*u][at % 2].is_nan());
                        *a = 1.0 + seen().map(|u| x[u][at % 2] * all[u][at / 2]).sum::<f64>();
                        *d = 2.0 + seen().map(|u| (1.0 - x[u][at % 2]) * all[u][at / 2]).sum::<f64>();
                    }
                }
                _ => {
                    for (place, own) in b.iter_mut().enumerate() {
                        let (at, c) = (place / 3, place % 3);
                        let here = (0..6).filter(|u| y[*u][at % 2] == c);
                        *own = 0.7 + here.map(|u| all[u][at / 2]).sum::<f64>();
                    }
                }
            }
        }
        let found = warmed(&program, &from, sweep, 1);
        for (name, which, expected) in [("pi", 0, &pi), ("a", 0, &a), ("a", 1, &d), ("b", 0, &b)] {
            close(name, program.column(&found, name, which), expected);
        }
    }
    assert!((a[0] - a[2]).abs() > 1e-3, "the classes are told apart: {a:?}");
}
