//! With one block of q, joint over all that interacts, the bound is the log evidence after one sweep (identity 7 of
//! `examples/README.md`).

use cavi_executor::{Bound, BoundArray, Executor, start};
use cavi_tests::support::{Program, Shape, compile, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use statrs::function::gamma::ln_gamma;

/// Compiles, draws data, runs one sweep, and compares the bound with the evidence.
fn check(text: &str, evidence: impl Fn(&Program, &Bound) -> f64) {
    let program = compile("exact", text).unwrap_or_else(|problem| panic!("{problem}"));
    for seed in 0..5 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Every axis of the data, down to none and one.
        let smallest = [5, 3, 1, 0, 2][seed as usize];
        let shape = Shape { smallest, largest: smallest.max(1), ..Shape::small(false) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let from = start(&program.equations, &bound, seed);
        let mut executor = Executor::new(&program.equations, &bound, from, 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        executor.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
        let (found, expected) = (executor.elbo(), evidence(&program, &bound));
        assert!(
            (found - expected).abs() <= 1e-10 * expected.abs().max(1.0),
            "seed {seed}: the bound is {found}, the log evidence {expected}\n{text}"
        );
    }
}

fn values<'a>(program: &Program, bound: &'a Bound, name: &str) -> &'a [f64] {
    let array = program.model.symbols.find(name).expect("an array of the program");
    match bound.array(array) {
        BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => values,
    }
}

/// log N(x | mean, var)
fn log_normal(x: f64, mean: f64, var: f64) -> f64 {
    -0.5 * (2.0 * std::f64::consts::PI * var).ln() - 0.5 * (x - mean) * (x - mean) / var
}

fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

#[test]
fn the_mean_of_a_normal() {
    let text = "axis item[n]\ndata x[n] : real\nm ~ Normal(0.5, sd = 2)\nx[n] ~ Normal(m, prec = 1.7)\n";
    check(text, |program, bound| {
        // One observation after another, each under its predictive distribution.
        let (mut mean, mut precision, mut total) = (0.5, 0.25, 0.0);
        for x in values(program, bound, "x") {
            total += log_normal(*x, mean, 1.0 / precision + 1.0 / 1.7);
            mean = (precision * mean + 1.7 * x) / (precision + 1.7);
            precision += 1.7;
        }
        total
    });
}

#[test]
fn the_precision_of_a_normal() {
    let text =
        "axis item[n]\ndata x[n] : real\ntau ~ Gamma(1.3, rate = 0.8)\nx[n] ~ Normal(0.4, prec = tau)\n";
    check(text, |program, bound| {
        let x = values(program, bound, "x");
        let shape = 1.3 + 0.5 * x.len() as f64;
        let rate = 0.8 + 0.5 * x.iter().map(|x| (x - 0.4) * (x - 0.4)).sum::<f64>();
        -0.5 * x.len() as f64 * (2.0 * std::f64::consts::PI).ln() + ln_gamma(shape) - ln_gamma(1.3)
            + 1.3 * 0.8_f64.ln()
            - shape * rate.ln()
    });
}

#[test]
fn linear_regression_with_known_precision() {
    let text = "axis item[n]\naxis cause[p]\ndata y[n] : real\ndata c[n, p] : real\n\
                w[p] ~ Normal(0.2, prec = 0.6)\ny[n] ~ Normal(sum[p](c[n, p] * w[p]), prec = 1.4)\n\
                posterior {\n  q(w[:p])\n}\n";
    check(text, |program, bound| {
        let (y, c) = (values(program, bound, "y"), values(program, bound, "c"));
        let p = bound.axes[1].size;
        let mut mean = vec![0.2; p];
        let mut covariance: Vec<f64> =
            (0..p * p).map(|at| if at / p == at % p { 1.0 / 0.6 } else { 0.0 }).collect();
        let mut total = 0.0;
        for (n, y) in y.iter().enumerate() {
            let row = &c[n * p..(n + 1) * p];
            let gain: Vec<f64> =
                (0..p).map(|i| (0..p).map(|j| covariance[i * p + j] * row[j]).sum()).collect();
            let predicted: f64 = row.iter().zip(&mean).map(|(c, w)| c * w).sum();
            let spread = 1.0 / 1.4 + row.iter().zip(&gain).map(|(c, g)| c * g).sum::<f64>();
            total += log_normal(*y, predicted, spread);
            for i in 0..p {
                mean[i] += gain[i] * (y - predicted) / spread;
                for j in 0..p {
                    covariance[i * p + j] -= gain[i] * gain[j] / spread;
                }
            }
        }
        total
    });
}

#[test]
fn the_rate_of_a_poisson() {
    let text = "axis item[n]\ndata x[n] : count\ndata e[n] : positive\nrate ~ Gamma(1.3, rate = 0.8)\n\
                x[n] ~ Poisson(e[n] * rate)\n";
    check(text, |program, bound| {
        let (x, e) = (values(program, bound, "x"), values(program, bound, "e"));
        let (shape, rate) = (1.3 + x.iter().sum::<f64>(), 0.8 + e.iter().sum::<f64>());
        let own: f64 = x.iter().zip(e).map(|(x, e)| x * e.ln() - ln_gamma(x + 1.0)).sum();
        own + 1.3 * 0.8_f64.ln() - ln_gamma(1.3) + ln_gamma(shape) - shape * rate.ln()
    });
}

#[test]
fn the_rate_of_an_exponential() {
    let text =
        "axis item[n]\ndata x[n] : positive\nrate ~ Gamma(1.3, rate = 0.8)\nx[n] ~ Exponential(rate)\n";
    check(text, |program, bound| {
        let x = values(program, bound, "x");
        let (shape, rate) = (1.3 + x.len() as f64, 0.8 + x.iter().sum::<f64>());
        1.3 * 0.8_f64.ln() - ln_gamma(1.3) + ln_gamma(shape) - shape * rate.ln()
    });
}

#[test]
fn the_chance_of_a_bernoulli() {
    let text = "axis item[n]\ndata x[n] : binary\np ~ Beta(1.3, 0.8)\nx[n] ~ Bernoulli(p)\n";
    check(text, |program, bound| {
        let x = values(program, bound, "x");
        let hits: f64 = x.iter().sum();
        ln_beta(1.3 + hits, 0.8 + x.len() as f64 - hits) - ln_beta(1.3, 0.8)
    });
}

/// `log B(alpha + n) - log B(alpha)` for equal concentrations.
fn dirichlet_evidence(concentration: f64, counts: &[f64]) -> f64 {
    let (size, total) = (counts.len() as f64, counts.iter().sum::<f64>());
    let own: f64 = counts.iter().map(|n| ln_gamma(concentration + n) - ln_gamma(concentration)).sum();
    own + ln_gamma(size * concentration) - ln_gamma(size * concentration + total)
}

#[test]
fn the_chances_of_a_categorical() {
    let text = "axis item[n]\naxis kind[c]\ndata x[n] : index kind\npi[:c] ~ Dirichlet(0.7)\n\
                x[n] ~ Categorical(pi)\n";
    check(text, |program, bound| {
        let mut counts = vec![0.0; bound.axes[1].size];
        values(program, bound, "x").iter().for_each(|x| counts[*x as usize] += 1.0);
        dirichlet_evidence(0.7, &counts)
    });
}

#[test]
fn the_chances_of_a_multinomial() {
    let text = "axis item[n]\naxis kind[c]\ndata x[n, c] : count\npi[:c] ~ Dirichlet(0.7)\n\
                x[n, :c] ~ Multinomial(p = pi[c])\n";
    check(text, |program, bound| {
        let x = values(program, bound, "x");
        let width = bound.axes[1].size;
        let mut counts = vec![0.0; width];
        let mut coefficient = 0.0;
        for row in x.chunks(width) {
            coefficient += ln_gamma(row.iter().sum::<f64>() + 1.0);
            for (count, x) in counts.iter_mut().zip(row) {
                *count += x;
                coefficient -= ln_gamma(x + 1.0);
            }
        }
        coefficient + dirichlet_evidence(0.7, &counts)
    });
}

#[test]
fn groups_that_do_not_interact() {
    // A block for each group; they are independent given the data.
    let text = "axis group[g]\naxis item[n] in group\ndata x[g, n] : count\nrate[g] ~ Gamma(1.3, rate = 0.8)\n\
                x[g, n] ~ Poisson(rate[g])\n";
    check(text, |program, bound| {
        let x = values(program, bound, "x");
        let starts = bound.axes[1].starts.clone().expect("a ragged axis");
        let group = |pair: &[usize]| {
            let own = &x[pair[0]..pair[1]];
            let (shape, rate) = (1.3 + own.iter().sum::<f64>(), 0.8 + own.len() as f64);
            let constants: f64 = own.iter().map(|x| ln_gamma(x + 1.0)).sum();
            1.3 * 0.8_f64.ln() - ln_gamma(1.3) + ln_gamma(shape) - shape * rate.ln() - constants
        };
        starts.windows(2).map(group).sum()
    });
}

#[test]
fn a_variance_under_a_gamma_prior() {
    // A generalised inverse Gaussian; the evidence by the trapezoid rule over log v.
    let text = "axis item[n]\ndata x[n] : real\ndata c : count\nv ~ Gamma(1.3, rate = 0.8)\n\
                x[n] ~ Normal(0.4, var = v)\nc ~ Poisson(v)\n";
    check(text, |program, bound| {
        let (x, c) = (values(program, bound, "x"), values(program, bound, "c")[0]);
        let joint = |log: f64| {
            let v = log.exp();
            let likelihood: f64 = x.iter().map(|x| log_normal(*x, 0.4, v)).sum();
            1.3 * 0.8_f64.ln() - ln_gamma(1.3) + 1.3 * log - 0.8 * v + likelihood + c * log
                - v
                - ln_gamma(c + 1.0)
        };
        // A Gamma alone falls as v^1.3 towards 0.
        (0.01 * (-6000..=800).map(|step| joint(0.01 * f64::from(step)).exp()).sum::<f64>()).ln()
    });
}

#[test]
fn a_weight_and_its_switch() {
    // Joint under q, so that the bound is exact: with the switch off the data are noise, else the mean of a Normal.
    let text = "axis item[n]\ndata x[n] : real\ns ~ Bernoulli(0.3)\nw ~ Normal(0.5, sd = 2)\n\
                x[n] ~ Normal(s * w, prec = 1.7)\nposterior {\n  q(s, w)\n}\n";
    check(text, |program, bound| {
        let x = values(program, bound, "x");
        let off: f64 = x.iter().map(|x| log_normal(*x, 0.0, 1.0 / 1.7)).sum();
        let (mut mean, mut precision, mut on) = (0.5, 0.25, 0.0);
        for x in x {
            on += log_normal(*x, mean, 1.0 / precision + 1.0 / 1.7);
            mean = (precision * mean + 1.7 * x) / (precision + 1.7);
            precision += 1.7;
        }
        (0.7 * off.exp() + 0.3 * on.exp()).ln()
    });
}

#[test]
fn the_mean_and_the_precision_of_a_normal_together() {
    let text = "axis item[n]\ndata x[n] : real\ntau ~ Gamma(1.3, rate = 0.8)\nm ~ Normal(0.4, prec = 0.6 * tau)\n\
                x[n] ~ Normal(m, prec = tau)\nposterior {\n  q(m, tau)\n}\n";
    check(text, |program, bound| {
        let x = values(program, bound, "x");
        let n = x.len() as f64;
        let mean = if x.is_empty() { 0.0 } else { x.iter().sum::<f64>() / n };
        let spread: f64 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
        let (shape, kappa) = (1.3 + 0.5 * n, 0.6 + n);
        let rate = 0.8 + 0.5 * spread + 0.5 * 0.6 * n * (mean - 0.4) * (mean - 0.4) / kappa;
        ln_gamma(shape) - ln_gamma(1.3) + 1.3 * 0.8_f64.ln() - shape * rate.ln() + 0.5 * (0.6 / kappa).ln()
            - 0.5 * n * (2.0 * std::f64::consts::PI).ln()
    });
}

/// The bound on the log of a sum is no bound where the sum has one term.
#[test]
fn a_sum_of_one_rate() {
    let text = "axis item[n]\naxis cause[k] = 1\ndata x[n] : count\ndata e[n, k] : positive\nrate[k] ~ Gamma(1.3, rate = 0.8)\n\
                x[n] ~ Poisson(sum[k](e[n, k] * rate[k]))\n";
    check(text, |program, bound| {
        let (x, e) = (values(program, bound, "x"), values(program, bound, "e"));
        let (shape, rate) = (1.3 + x.iter().sum::<f64>(), 0.8 + e.iter().sum::<f64>());
        let own: f64 = x.iter().zip(e).map(|(x, e)| x * e.ln() - ln_gamma(x + 1.0)).sum();
        own + 1.3 * 0.8_f64.ln() - ln_gamma(1.3) + ln_gamma(shape) - shape * rate.ln()
    });
}
