//! Five models computed by straight-line code, written from their published updates, against the executor.

#![allow(clippy::needless_range_loop, reason = "the loops are those of the formulas")]

use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Parameters, start};
use cavi_tests::support::{Program, bound_of, column, compile};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TOLERANCE: f64 = 1e-10;

/// A matrix as rows.
type Matrix = Vec<Vec<f64>>;

/// `psi(x)`: the recurrence up to 15, then the asymptotic series.
pub(crate) fn digamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 15.0 {
        shift -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))));
    shift + x.ln() - 0.5 / x - series
}

/// `ln Gamma(x)`: the recurrence up to 15, then Stirling's series.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 15.0 {
        product *= x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - product.ln()
}

fn rows(values: &[f64], width: usize) -> Matrix {
    values.chunks(width).map(<[f64]>::to_vec).collect()
}

fn norm_difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let off = norm(&mut found.iter().zip(expected).map(|(found, expected)| found - expected));
    if off == 0.0 { 0.0 } else { off / norm(&mut expected.iter().copied()) }
}

/// Runs the program beside `step`, which makes one sweep of its own state and tells it: columns by variable and number,
/// and the bound.
fn compare(
    program: &Program,
    bound: &Bound,
    from: &Parameters,
    mut step: impl FnMut() -> (Vec<(&'static str, usize, Vec<f64>)>, f64),
) {
    let [mut executor, mut alone] = [2, 1].map(|threads| {
        Executor::new(&program.equations, bound, from.clone(), threads)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0))
    });
    let schedule = program.schedule();
    for sweep in 1..=50 {
        executor.sweep(&schedule).unwrap_or_else(|trouble| panic!("{trouble}"));
        alone.sweep(&schedule).unwrap_or_else(|trouble| panic!("{trouble}"));
        let (columns, elbo) = step();
        if ![1, 2, 50].contains(&sweep) {
            continue;
        }
        assert_eq!(executor.parameters(), alone.parameters(), "{}: threads differ", program.name);
        for (name, which, expected) in columns {
            let found = column(program, executor.parameters(), name, which);
            let off = norm_difference(found, &expected);
            assert!(off <= TOLERANCE, "{}, sweep {sweep}: {name}, {which} is off by {off:e}", program.name);
        }
        let found = executor.elbo();
        assert!(
            (found - elbo).abs() <= TOLERANCE * elbo.abs(),
            "{}, sweep {sweep}: the bound is {found} and not {elbo}",
            program.name
        );
    }
}

fn program(name: &str, text: &str) -> Program {
    compile(name, text).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Sparse counts, the same as rows.
fn counts(n: usize, m: usize, rng: &mut ChaCha8Rng) -> (BoundArray, Matrix) {
    let mut full = vec![vec![0.0; m]; n];
    let (mut indices, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
    for (i, row) in full.iter_mut().enumerate() {
        for (j, cell) in row.iter_mut().enumerate() {
            if rng.random::<f64>() < 0.6 {
                *cell = f64::from(rng.random_range(1..9_u32));
                indices[0].push(i as u32);
                indices[1].push(j as u32);
                values.push(*cell);
            }
        }
    }
    (
        BoundArray::Sparse {
            indices: indices.into_iter().map(Into::into).collect(),
            values: values.into(),
            observed: None,
            unlisted_zero: true,
        },
        full,
    )
}

/// `KL(Dirichlet(q) || Dirichlet(p, ..., p))`
fn dirichlet_divergence(q: &[f64], p: f64) -> f64 {
    let total: f64 = q.iter().sum();
    let prior = p * q.len() as f64;
    let logs: f64 = q.iter().map(|own| (own - p) * (digamma(*own) - digamma(total)) - ln_gamma(*own)).sum();
    ln_gamma(total) - ln_gamma(prior) + q.len() as f64 * ln_gamma(p) + logs
}

/// `KL(Gamma(a, b) || Gamma(c, d))`
fn gamma_divergence(a: f64, b: f64, c: f64, d: f64) -> f64 {
    (a - c) * digamma(a) - ln_gamma(a) + ln_gamma(c) + c * (b / d).ln() + a * (d - b) / b
}

/// Blei, Ng and Jordan (2003), topics smoothed; both factors from one allocation.
#[test]
fn lda() {
    let (d, v, k) = (430, 47, 21);
    let (alpha, eta) = (0.3, 0.4);
    let program = program(
        "lda",
        "axis doc[d]\naxis word[v]\naxis topic[k]\ndata n[d, v] : count, absent = 0\n\
         theta[d, :k] ~ Dirichlet(0.3)\nbeta[k, :v] ~ Dirichlet(0.4)\n\
         n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\nfit {\n  sweep (theta, beta)\n}\n",
    );
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (data, n) = counts(d, v, &mut rng);
    let bound = bound_of(&program, &[d, v, k].map(BoundAxis::plain), &[("n", data)]);
    let from = start(&program.equations, &bound, 5);
    let mut theta = rows(column(&program, &from, "theta", 0), k);
    let mut beta = rows(column(&program, &from, "beta", 0), v);
    let logs = |own: &Matrix| -> Matrix {
        let of = |row: &Vec<f64>| {
            let total = digamma(row.iter().sum());
            row.iter().map(|own| digamma(*own) - total).collect()
        };
        own.iter().map(of).collect()
    };
    compare(&program, &bound, &from, || {
        let (log_theta, log_beta) = (logs(&theta), logs(&beta));
        theta = vec![vec![alpha; k]; d];
        beta = vec![vec![eta; v]; k];
        for i in 0..d {
            for j in 0..v {
                let shares: Vec<f64> = (0..k).map(|t| (log_theta[i][t] + log_beta[t][j]).exp()).collect();
                let total: f64 = shares.iter().sum();
                for t in 0..k {
                    theta[i][t] += n[i][j] * shares[t] / total;
                    beta[t][j] += n[i][j] * shares[t] / total;
                }
            }
        }
        let (log_theta, log_beta) = (logs(&theta), logs(&beta));
        let mut elbo = 0.0;
        for i in 0..d {
            elbo += ln_gamma(n[i].iter().sum::<f64>() + 1.0);
            for j in 0..v {
                let total: f64 = (0..k).map(|t| (log_theta[i][t] + log_beta[t][j]).exp()).sum();
                elbo += n[i][j] * total.ln() - ln_gamma(n[i][j] + 1.0);
            }
        }
        elbo -= theta.iter().map(|row| dirichlet_divergence(row, alpha)).sum::<f64>();
        elbo -= beta.iter().map(|row| dirichlet_divergence(row, eta)).sum::<f64>();
        (vec![("theta", 0, theta.concat()), ("beta", 0, beta.concat())], elbo)
    });
}

/// Mimno et al. (2009), Polylingual topic models: LDA with a vocabulary for each language, one of them without a word.
#[test]
fn polylingual_lda() {
    let (d, k) = (23, 4);
    let vocabularies = [5_usize, 0, 9];
    let (alpha, eta) = (0.3, 0.4);
    let program = program(
        "polylingual_lda",
        "axis doc[d]\naxis lang[m]\naxis word[v] in lang[m]\naxis topic[k]\n\
         data n[d, m, v] : count, absent = 0\n\
         theta[d, :k] ~ Dirichlet(0.3)\nbeta[m, k, :v] ~ Dirichlet(0.4)\n\
         n[d, m, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[m, k, v]))\nfit {\n  sweep (theta, beta)\n}\n",
    );
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let words: usize = vocabularies.iter().sum();
    let (data, n) = counts(d, words, &mut rng);
    let axes =
        [BoundAxis::plain(d), BoundAxis::plain(3), BoundAxis::ragged(&vocabularies), BoundAxis::plain(k)];
    let bound = bound_of(&program, &axes, &[("n", data)]);
    let from = start(&program.equations, &bound, 9);
    let mut theta = rows(column(&program, &from, "theta", 0), k);
    // For each topic the words of the first language, then those of the others.
    let mut beta = rows(column(&program, &from, "beta", 0), words);
    let of = |row: &[f64]| -> Vec<f64> {
        let total = digamma(row.iter().sum());
        row.iter().map(|own| digamma(*own) - total).collect()
    };
    let split = |row: &[f64]| -> Vec<Vec<f64>> {
        let mut rest = row;
        let mut parts = Vec::new();
        for size in vocabularies {
            let (own, others) = rest.split_at(size);
            parts.push(own.to_vec());
            rest = others;
        }
        parts
    };
    let full = |row: &Vec<f64>| split(row).into_iter().filter(|own| !own.is_empty()).collect::<Matrix>();
    compare(&program, &bound, &from, || {
        let logs = |theta: &Matrix, beta: &Matrix| -> (Matrix, Matrix) {
            let by_language = |row: &Vec<f64>| full(row).iter().flat_map(|own| of(own)).collect();
            (theta.iter().map(|row| of(row)).collect(), beta.iter().map(by_language).collect())
        };
        let (log_theta, log_beta) = logs(&theta, &beta);
        theta = vec![vec![alpha; k]; d];
        beta = vec![vec![eta; words]; k];
        for i in 0..d {
            for j in 0..words {
                let shares: Vec<f64> = (0..k).map(|t| (log_theta[i][t] + log_beta[t][j]).exp()).collect();
                let total: f64 = shares.iter().sum();
                for t in 0..k {
                    theta[i][t] += n[i][j] * shares[t] / total;
                    beta[t][j] += n[i][j] * shares[t] / total;
                }
            }
        }
        let (log_theta, log_beta) = logs(&theta, &beta);
        let mut elbo = 0.0;
        for i in 0..d {
            elbo += split(&n[i]).iter().map(|own| ln_gamma(own.iter().sum::<f64>() + 1.0)).sum::<f64>();
            for j in 0..words {
                let total: f64 = (0..k).map(|t| (log_theta[i][t] + log_beta[t][j]).exp()).sum();
                elbo += n[i][j] * total.ln() - ln_gamma(n[i][j] + 1.0);
            }
        }
        elbo -= theta.iter().map(|row| dirichlet_divergence(row, alpha)).sum::<f64>();
        elbo -= beta.iter().flat_map(full).map(|own| dirichlet_divergence(&own, eta)).sum::<f64>();
        (vec![("theta", 0, theta.concat()), ("beta", 0, beta.concat())], elbo)
    });
}

/// Cemgil (2009): w, then h from a new allocation.
#[test]
fn nmf_gamma() {
    let (n, m, k) = (6, 8, 3);
    let (a, b, c, d) = (0.7, 1.2, 0.9, 0.8);
    let program = program(
        "nmf_gamma",
        "axis row[i]\naxis column[j]\naxis factor[k]\ndata x[i, j] : count, absent = 0\n\
         w[i, k] ~ Gamma(0.7, rate = 1.2)\nh[k, j] ~ Gamma(0.9, rate = 0.8)\n\
         x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\nfit {\n  sweep w, h\n}\n",
    );
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (data, x) = counts(n, m, &mut rng);
    let bound = bound_of(&program, &[n, m, k].map(BoundAxis::plain), &[("x", data)]);
    let from = start(&program.equations, &bound, 6);
    let mut w = (rows(column(&program, &from, "w", 0), k), rows(column(&program, &from, "w", 1), k));
    let mut h = (rows(column(&program, &from, "h", 0), m), rows(column(&program, &from, "h", 1), m));
    let log = |own: &(Matrix, Matrix), i: usize, j: usize| digamma(own.0[i][j]) - own.1[i][j].ln();
    let mean = |own: &(Matrix, Matrix), i: usize, j: usize| own.0[i][j] / own.1[i][j];
    compare(&program, &bound, &from, || {
        let allocated = |w: &(Matrix, Matrix), h: &(Matrix, Matrix)| -> (Matrix, Matrix, f64) {
            let (mut left, mut right, mut logs) = (vec![vec![0.0; k]; n], vec![vec![0.0; m]; k], 0.0);
            for i in 0..n {
                for j in 0..m {
                    let shares: Vec<f64> = (0..k).map(|t| (log(w, i, t) + log(h, t, j)).exp()).collect();
                    let total: f64 = shares.iter().sum();
                    logs += x[i][j] * total.ln();
                    for t in 0..k {
                        left[i][t] += x[i][j] * shares[t] / total;
                        right[t][j] += x[i][j] * shares[t] / total;
                    }
                }
            }
            (left, right, logs)
        };
        let left = allocated(&w, &h).0;
        for i in 0..n {
            for t in 0..k {
                w.0[i][t] = a + left[i][t];
                w.1[i][t] = b + (0..m).map(|j| mean(&h, t, j)).sum::<f64>();
            }
        }
        let right = allocated(&w, &h).1;
        for t in 0..k {
            for j in 0..m {
                h.0[t][j] = c + right[t][j];
                h.1[t][j] = d + (0..n).map(|i| mean(&w, i, t)).sum::<f64>();
            }
        }
        let mut elbo = allocated(&w, &h).2;
        for i in 0..n {
            for j in 0..m {
                elbo -=
                    (0..k).map(|t| mean(&w, i, t) * mean(&h, t, j)).sum::<f64>() + ln_gamma(x[i][j] + 1.0);
            }
        }
        for i in 0..n {
            elbo -= (0..k).map(|t| gamma_divergence(w.0[i][t], w.1[i][t], a, b)).sum::<f64>();
        }
        for t in 0..k {
            elbo -= (0..m).map(|j| gamma_divergence(h.0[t][j], h.1[t][j], c, d)).sum::<f64>();
        }
        let columns = vec![
            ("w", 0, w.0.concat()),
            ("w", 1, w.1.concat()),
            ("h", 0, h.0.concat()),
            ("h", 1, h.1.concat()),
        ];
        (columns, elbo)
    });
}

/// Lee and Seung (2001): the multiplicative updates of the divergence.
#[test]
fn nmf_kl() {
    let (n, m, k) = (6, 7, 3);
    let program = program(
        "nmf_kl",
        "axis row[i]\naxis column[j]\naxis factor[k]\ndata x[i, j] : nonnegative, absent = 0\n\
         w[i, k] ~ Flat(nonnegative)\nh[k, j] ~ Flat(nonnegative)\n\
         x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n\
         posterior {\n  point w\n  point h\n}\nfit {\n  sweep w, h\n}\n",
    );
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (data, x) = counts(n, m, &mut rng);
    let bound = bound_of(&program, &[n, m, k].map(BoundAxis::plain), &[("x", data)]);
    let from = start(&program.equations, &bound, 7);
    let mut w = rows(column(&program, &from, "w", 0), k);
    let mut h = rows(column(&program, &from, "h", 0), m);
    compare(&program, &bound, &from, || {
        let product =
            |w: &Matrix, h: &Matrix, i: usize, j: usize| -> f64 { (0..k).map(|t| w[i][t] * h[t][j]).sum() };
        let old = w.clone();
        for i in 0..n {
            for t in 0..k {
                let above: f64 = (0..m).map(|j| x[i][j] * h[t][j] / product(&old, &h, i, j)).sum();
                w[i][t] = old[i][t] * above / (0..m).map(|j| h[t][j]).sum::<f64>();
            }
        }
        let old = h.clone();
        for t in 0..k {
            for j in 0..m {
                let above: f64 = (0..n).map(|i| x[i][j] * w[i][t] / product(&w, &old, i, j)).sum();
                h[t][j] = old[t][j] * above / (0..n).map(|i| w[i][t]).sum::<f64>();
            }
        }
        let mut elbo = 0.0;
        for i in 0..n {
            for j in 0..m {
                let rate = product(&w, &h, i, j);
                elbo +=
                    if x[i][j] == 0.0 { 0.0 } else { x[i][j] * rate.ln() } - rate - ln_gamma(x[i][j] + 1.0);
            }
        }
        (vec![("w", 0, w.concat()), ("h", 0, h.concat())], elbo)
    });
}

/// The inverse and the log determinant of a symmetric positive definite matrix, by elimination.
fn inverse(a: &Matrix) -> (Matrix, f64) {
    let k = a.len();
    let (mut left, mut right, mut log_determinant) = (a.clone(), vec![vec![0.0; k]; k], 0.0);
    for (i, row) in right.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for p in 0..k {
        let pivot = left[p][p];
        log_determinant += pivot.ln();
        for j in 0..k {
            left[p][j] /= pivot;
            right[p][j] /= pivot;
        }
        for i in (0..k).filter(|i| *i != p) {
            let factor = left[i][p];
            for j in 0..k {
                left[i][j] -= factor * left[p][j];
                right[i][j] -= factor * right[p][j];
            }
        }
    }
    (right, log_determinant)
}

/// A Gaussian over the factors: mean, covariance, log determinant of the precision.
#[derive(Clone)]
struct Gaussian {
    mean: Vec<f64>,
    covariance: Matrix,
    log_precision: f64,
}

impl Gaussian {
    fn of(precision: &Matrix, linear: &[f64]) -> Gaussian {
        let (covariance, log_precision) = inverse(precision);
        let mean = covariance.iter().map(|row| row.iter().zip(linear).map(|(a, b)| a * b).sum()).collect();
        Gaussian { mean, covariance, log_precision }
    }

    fn second(&self, i: usize, j: usize) -> f64 {
        self.mean[i] * self.mean[j] + self.covariance[i][j]
    }

    /// The entropy.
    fn entropy(&self) -> f64 {
        0.5 * self.mean.len() as f64 * (1.0 + (2.0 * std::f64::consts::PI).ln()) - 0.5 * self.log_precision
    }
}

/// Group factor analysis of two views, with a share of the entries missing; the updates stand in
/// `examples/README.md`, after Klami et al. (2015).
fn gfa(n: usize, views: [usize; 2], missing: f64, seed: u64) {
    let k = 3;
    let (a_alpha, b_alpha, a_tau, b_tau) = (1.5, 0.7, 1.2, 0.9);
    let absent = if missing > 0.0 { ", absent = NA" } else { "" };
    let text = format!(
        "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k]\ndata x[n, m, j] : real{absent}\n\
         z[n, k] ~ Normal(0, sd = 1)\nalpha[m, k] ~ Gamma(shape = 1.5, rate = 0.7)\n\
         w[m, j, k] ~ Normal(0, prec = alpha[m, k])\ntau[m] ~ Gamma(shape = 1.2, rate = 0.9)\n\
         x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])\n\
         posterior {{\n  q(z[n, :k])\n  q(w[m, j, :k])\n}}\nfit {{\n  sweep z, w, alpha, tau\n}}\n"
    );
    let program = program("gfa", &text);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let d: usize = views.iter().sum();
    let view_of: Vec<usize> = views.iter().enumerate().flat_map(|(m, size)| vec![m; *size]).collect();
    let seen: Vec<bool> = (0..n * d).map(|_| rng.random::<f64>() >= missing).collect();
    let x: Vec<f64> = seen.iter().map(|seen| if *seen { rng.random_range(-2.0..2.0) } else { 0.0 }).collect();
    let data =
        BoundArray::Dense { values: x.clone().into(), observed: (missing > 0.0).then(|| seen.clone()) };
    let axes = [BoundAxis::plain(n), BoundAxis::plain(2), BoundAxis::ragged(&views), BoundAxis::plain(k)];
    let bound = bound_of(&program, &axes, &[("x", data)]);
    let from = start(&program.equations, &bound, 8);
    let seen = |i: usize, j: usize| seen[i * d + j];
    let x = |i: usize, j: usize| x[i * d + j];
    let gaussians = |name: &str, rows_of: usize| -> Vec<Gaussian> {
        let means = rows(column(&program, &from, name, 0), k);
        let covariances = rows(column(&program, &from, name, 1), k * k);
        let groups = covariances.len();
        (0..rows_of)
            .map(|row| {
                // Shared by all samples, by the features of a view, or by none.
                let group = match groups {
                    1 => 0,
                    2 => view_of[row],
                    _ => row,
                };
                let covariance = rows(&covariances[group], k);
                let log_precision = -inverse(&covariance).1;
                Gaussian { mean: means[row].clone(), covariance, log_precision }
            })
            .collect()
    };
    let (mut z, mut w) = (gaussians("z", n), gaussians("w", d));
    let mut alpha =
        (rows(column(&program, &from, "alpha", 0), k), rows(column(&program, &from, "alpha", 1), k));
    let mut tau = (column(&program, &from, "tau", 0).to_vec(), column(&program, &from, "tau", 1).to_vec());
    compare(&program, &bound, &from, || {
        let precision = |tau: &(Vec<f64>, Vec<f64>), j: usize| tau.0[view_of[j]] / tau.1[view_of[j]];
        for i in 0..n {
            let (mut matrix, mut linear) = (vec![vec![0.0; k]; k], vec![0.0; k]);
            for s in 0..k {
                matrix[s][s] = 1.0;
                for j in (0..d).filter(|j| seen(i, *j)) {
                    linear[s] += precision(&tau, j) * w[j].mean[s] * x(i, j);
                    (0..k).for_each(|t| matrix[s][t] += precision(&tau, j) * w[j].second(s, t));
                }
            }
            z[i] = Gaussian::of(&matrix, &linear);
        }
        for j in 0..d {
            let (mut matrix, mut linear) = (vec![vec![0.0; k]; k], vec![0.0; k]);
            for s in 0..k {
                matrix[s][s] = alpha.0[view_of[j]][s] / alpha.1[view_of[j]][s];
                for i in (0..n).filter(|i| seen(*i, j)) {
                    linear[s] += precision(&tau, j) * z[i].mean[s] * x(i, j);
                    (0..k).for_each(|t| matrix[s][t] += precision(&tau, j) * z[i].second(s, t));
                }
            }
            w[j] = Gaussian::of(&matrix, &linear);
        }
        for m in 0..2 {
            for s in 0..k {
                let squares: f64 = (0..d).filter(|j| view_of[*j] == m).map(|j| w[j].second(s, s)).sum();
                alpha.0[m][s] = a_alpha + 0.5 * views[m] as f64;
                alpha.1[m][s] = b_alpha + 0.5 * squares;
            }
        }
        let residual = |i: usize, j: usize| -> f64 {
            let fit: f64 = (0..k).map(|s| w[j].mean[s] * z[i].mean[s]).sum();
            let square: f64 =
                (0..k).map(|s| (0..k).map(|t| w[j].second(s, t) * z[i].second(s, t)).sum::<f64>()).sum();
            x(i, j) * x(i, j) - 2.0 * x(i, j) * fit + square
        };
        let entries: Vec<(usize, usize)> =
            (0..n).flat_map(|i| (0..d).map(move |j| (i, j))).filter(|(i, j)| seen(*i, *j)).collect();
        for m in 0..2 {
            let own: Vec<&(usize, usize)> = entries.iter().filter(|(_, j)| view_of[*j] == m).collect();
            tau.0[m] = a_tau + 0.5 * own.len() as f64;
            tau.1[m] = b_tau + 0.5 * own.iter().map(|(i, j)| residual(*i, *j)).sum::<f64>();
        }
        let log_two_pi = (2.0 * std::f64::consts::PI).ln();
        let log = |shape: f64, rate: f64| digamma(shape) - rate.ln();
        let mut elbo = 0.0;
        for (i, j) in &entries {
            let m = view_of[*j];
            elbo +=
                0.5 * (log(tau.0[m], tau.1[m]) - log_two_pi) - 0.5 * precision(&tau, *j) * residual(*i, *j);
        }
        for own in &z {
            let squares: f64 = (0..k).map(|s| own.second(s, s)).sum();
            elbo += own.entropy() - 0.5 * k as f64 * log_two_pi - 0.5 * squares;
        }
        for (j, own) in w.iter().enumerate() {
            let m = view_of[j];
            elbo += own.entropy() - 0.5 * k as f64 * log_two_pi;
            for s in 0..k {
                let (shape, rate) = (alpha.0[m][s], alpha.1[m][s]);
                elbo += 0.5 * log(shape, rate) - 0.5 * shape / rate * own.second(s, s);
            }
        }
        for m in 0..2 {
            elbo -= gamma_divergence(tau.0[m], tau.1[m], a_tau, b_tau);
            let own = |s: usize| gamma_divergence(alpha.0[m][s], alpha.1[m][s], a_alpha, b_alpha);
            elbo -= (0..k).map(own).sum::<f64>();
        }
        let means = |own: &[Gaussian]| own.iter().flat_map(|own| own.mean.clone()).collect::<Vec<f64>>();
        let covariances = |own: &[Gaussian], which: &[usize]| -> Vec<f64> {
            which.iter().flat_map(|row| own[*row].covariance.concat()).collect()
        };
        // Nothing missing: one covariance for all samples, and one for each view.
        let (of_z, of_w) =
            if missing > 0.0 { ((0..n).collect(), (0..d).collect()) } else { (vec![0], vec![0, views[0]]) };
        let columns = vec![
            ("z", 0, means(&z)),
            ("z", 1, covariances(&z, &of_z)),
            ("w", 0, means(&w)),
            ("w", 1, covariances(&w, &of_w)),
            ("alpha", 0, alpha.0.concat()),
            ("alpha", 1, alpha.1.concat()),
            ("tau", 0, tau.0.clone()),
            ("tau", 1, tau.1.clone()),
        ];
        (columns, elbo)
    });
}

#[test]
fn gfa_with_nothing_missing() {
    gfa(8, [3, 5], 0.0, 4);
}

#[test]
fn gfa_with_missing_entries() {
    gfa(8, [3, 5], 0.3, 5);
}

/// Of so many entries the squares are opened: no array of residuals, but Gram matrices; and so many rows with a matrix each are
/// updated in parts.
#[test]
fn gfa_of_many_entries() {
    gfa(1000, [70, 80], 0.0, 6);
    gfa(1000, [70, 80], 0.3, 7);
}
