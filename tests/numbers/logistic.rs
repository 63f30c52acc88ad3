//! Log odds by Jaakkola and Jordan's bound, against Bishop's equations and quadrature (`outside/logistic_jaakkola_jordan.py`).

use cavi_executor::{Bound, BoundArray, Executor, Parameters, start};
use cavi_tests::support::{Program, Shape, compile, farthest, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const X: [f64; 12] = [1.0, 0.5, 1.0, -1.25, 1.0, 2.0, 1.0, 0.0, 1.0, -0.75, 1.0, 3.5];

fn bound(program: &Program, data: &[(&str, &[f64])]) -> Bound {
    let shape = Shape { smallest: 6, largest: 6, ..Shape::small(false) };
    let mut bound = random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(1));
    for (name, values) in data {
        let array = program.model.symbols.find(name).expect("an array of the program");
        bound.arrays[array.index()] =
            Some(BoundArray::Dense { values: values.to_vec().into(), observed: None });
    }
    bound
}

/// The state after some sweeps from `start`, with its bound.
fn run(program: &Program, bound: &Bound, start: Vec<Vec<f64>>, sweeps: usize) -> (Vec<Vec<f64>>, f64) {
    let from = Parameters { blocks: vec![start] };
    let mut executor = Executor::new(&program.equations, bound, from, 1)
        .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
    for _ in 0..sweeps {
        executor.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    (executor.parameters().blocks[0].clone(), executor.elbo())
}

/// Compares mean, covariance and bound after 1, 2 and 40 sweeps, and the last bound with the log evidence.
fn check(likelihood: &str, data: &[(&str, &[f64])], expected: [([f64; 2], [f64; 4], f64); 3], evidence: f64) {
    let text = format!(
        "axis case[n]\naxis cause[p] = 2\ndata x[n, p] : real\n{likelihood}\n\
         w[p] ~ Normal(0.3, prec = 0.5)\nposterior {{\n  q(w[:p])\n}}\n"
    );
    let program = compile("logistic", &text).unwrap_or_else(|problem| panic!("{problem}"));
    let data: Vec<(&str, &[f64])> = [("x", X.as_slice())].into_iter().chain(data.iter().copied()).collect();
    let bound = bound(&program, &data);
    for (sweeps, (mean, covariance, elbo)) in [1, 2, 40].into_iter().zip(expected) {
        let start = vec![vec![0.0; 2], vec![1.0, 0.0, 0.0, 1.0]];
        let (found, found_elbo) = run(&program, &bound, start, sweeps);
        for (found, expected) in found[0].iter().chain(&found[1]).zip(mean.iter().chain(&covariance)) {
            assert!((found - expected).abs() < 1e-12, "sweep {sweeps}: {found} and {expected}");
        }
        assert!((found_elbo - elbo).abs() < 1e-11, "sweep {sweeps}: the bound {found_elbo} and {elbo}");
        assert!(found_elbo < evidence);
    }
}

#[test]
fn logistic_regression_is_bishops() {
    check(
        "data y[n] : binary\ny[n] ~ Bernoulli(logit = sum[p](x[n, p] * w[p]))",
        &[("y", &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0])],
        [
            (
                [0.39087393942239074, 0.9635244346200709],
                [0.6167710008306279, -0.09365079750965626, -0.09365079750965624, 0.31506554463416925],
                -4.258628491127283,
            ),
            (
                [0.4333216671222308, 1.0457730349799268],
                [0.6124567029581371, -0.0797069239057726, -0.0797069239057726, 0.33453999925634276],
                -4.235414798902038,
            ),
            (
                [0.4810369636393547, 1.1567002872306453],
                [0.6234035388037529, -0.0693756194073415, -0.06937561940734148, 0.3636712498673788],
                -4.224940370935638,
            ),
        ],
        -3.8072123616321196,
    );
}

#[test]
fn successes_in_trials_weigh_the_bound() {
    check(
        "data total[n] : count\ndata y[n] : count\ny[n] ~ Binomial(total[n], logit = sum[p](x[n, p] * w[p]))",
        &[("total", &[4.0, 2.0, 7.0, 1.0, 3.0, 9.0]), ("y", &[1.0, 2.0, 5.0, 0.0, 0.0, 9.0])],
        [
            (
                [-0.31832591901656826, 0.9544494828209474],
                [0.29273373742153996, -0.08389444209663252, -0.08389444209663255, 0.07127832654019002],
                -11.420772337023344,
            ),
            (
                [-0.35253081445158396, 0.8757402274020069],
                [0.2860404866606244, -0.08424617423218471, -0.08424617423218471, 0.0670512640473638],
                -11.269051628433516,
            ),
            (
                [-0.353309575194536, 0.7921146540380152],
                [0.28139121985877913, -0.08323300342590804, -0.08323300342590803, 0.06224523218908529],
                -11.219288180851308,
            ),
        ],
        -10.842790010205388,
    );
}

/// One coefficient: the expectation under q of the log-likelihood itself, by quadrature, is above what the bound has of it.
#[test]
fn the_bound_is_below_the_expected_log_likelihood() {
    let text = "axis case[n]\ndata c[n] : real\ndata y[n] : binary\nw ~ Normal(0.3, prec = 0.5)\n\
                y[n] ~ Bernoulli(logit = c[n] * w)\n";
    let program = compile("one_coefficient", text).unwrap_or_else(|problem| panic!("{problem}"));
    let c: Vec<f64> = X.iter().skip(1).step_by(2).copied().collect();
    let bound = bound(&program, &[("c", &c), ("y", &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0])]);
    let (found, elbo) = run(&program, &bound, vec![vec![0.0], vec![1.0]], 40);
    let (mean, var) = (found[0][0], found[1][0]);
    assert!((mean - 1.1090054415540824).abs() < 1e-12 && (var - 0.3261780710453184).abs() < 1e-12);
    assert!((elbo - -3.7733914378272955).abs() < 1e-11);
    let second = var + (mean - 0.3) * (mean - 0.3);
    let divergence = 0.5 * (0.5 * second - 1.0 - (0.5 * var).ln());
    let (likelihood, evidence) = (-2.8938933736054553, -3.4612713069929906);
    assert!(elbo < likelihood - divergence && likelihood - divergence < evidence);
}

/// Of unlisted zeros every entry has an auxiliary variable. None is kept, and the fit is that of the same data filled out;
/// a sparse covariate is read row by row as well.
#[test]
fn unlisted_zeros_are_streamed() {
    let head = "axis row[i]\naxis column[j]\naxis factor[k] = 2\ndata y[i, j] : binary, absent = 0\n\
                level ~ Normal(-2, sd = 2)\nr[i] ~ Normal(0, sd = 1)\na[i, k] ~ Normal(0, sd = 1)\n\
                b[j, k] ~ Normal(0, sd = 1)\n";
    let tail = "posterior {\n  q(a[i, :k])\n}\nfit {\n  sweep (a, r), b, level";
    let products = "level + r[i] + sum[k](a[i, k] * b[j, k])";
    check_streamed(&format!("{head}y[i, j] ~ Bernoulli(logit = {products})\n{tail}\n}}\n"));
    check_streamed(&format!(
        "{head}data c[i, j] : real, absent = 0\nslope[i] ~ Normal(0, sd = 1)\n\
         y[i, j] ~ Bernoulli(logit = {products} + slope[i] * c[i, j])\n{tail}, slope\n}}\n"
    ));
}

fn check_streamed(text: &str) {
    let program = compile("streamed", text).unwrap_or_else(|problem| panic!("{problem}"));
    let (rows, columns) = (300, 260);
    let mut sparse = bound(&program, &[]);
    (sparse.axes[0].size, sparse.axes[1].size) = (rows, columns);
    let cells = || (0..rows as u32).flat_map(|i| (0..columns as u32).map(move |j| (i, j)));
    let mut dense = sparse.clone();
    let mut list = |name: &str, share: u32, value: fn(u32, u32) -> f64| {
        let Some(array) = program.model.symbols.find(name) else { return };
        let listed: Vec<(u32, u32)> =
            cells().filter(|(i, j)| (7 * i * i + 3 * i * j + 11 * j) % 23 < share).collect();
        let values: Vec<f64> = listed.iter().map(|(i, j)| value(*i, *j)).collect();
        let mut filled = vec![0.0; rows * columns];
        for ((i, j), value) in listed.iter().zip(&values) {
            filled[*i as usize * columns + *j as usize] = *value;
        }
        let indices = vec![listed.iter().map(|at| at.0).collect(), listed.iter().map(|at| at.1).collect()];
        sparse.arrays[array.index()] =
            Some(BoundArray::Sparse { indices, values: values.into(), observed: None, unlisted_zero: true });
        dense.arrays[array.index()] = Some(BoundArray::full(filled));
    };
    list("y", 2, |_, _| 1.0);
    // Not in the first rows, and not where the events are.
    list("c", 1, |i, j| if i < 3 { 0.0 } else { f64::from(j % 5) - 1.5 });
    let from = start(&program.equations, &sparse, 3);
    let fit = |bound: &Bound| {
        let mut executor = Executor::new(&program.equations, bound, from.clone(), 2)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        let mut elbos = vec![executor.elbo()];
        for _ in 0..2 {
            executor.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
            elbos.push(executor.elbo());
        }
        (elbos, executor.parameters().clone(), executor.plan_text(), executor.peak_bytes())
    };
    let (streamed, kept) = (fit(&sparse), fit(&dense));
    assert!(streamed.2.contains("streamed") && !kept.2.contains("streamed"));
    assert!(3 * streamed.3 < kept.3, "{} and {} bytes", streamed.3, kept.3);
    for (streamed, kept) in streamed.0.iter().zip(&kept.0) {
        assert!((streamed - kept).abs() < 1e-10 * kept.abs(), "{streamed} and {kept}");
    }
    let (distance, block, column) = farthest(&program.equations, &streamed.1, &kept.1);
    assert!(distance < 1e-10, "block {block}, column {column}: {distance}");
}
