//! Low-rank precisions: they become those of the Gamma version in the limit, their gradient is 0 at convergence, and
//! a visit is compared with plain gradient ascent.

use cavi_algebra::BlockId;
use cavi_executor::{Interpreter, Parameters};
use cavi_tests::support::{Ready, file_of};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

const SAMPLES: usize = 30;
const VIEWS: [(&str, usize); 3] = [("one", 6), ("two", 9), ("three", 4)];
const FACTORS: usize = 3;

/// Three views of two shared factors, one of them absent from the last view.
fn ready(lambda: f64, rank: usize) -> Ready {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let z: Vec<[f64; 2]> =
        (0..SAMPLES).map(|_| [rng.sample(StandardNormal), rng.sample(StandardNormal)]).collect();
    let mut files = Vec::new();
    for (view, (name, features)) in VIEWS.into_iter().enumerate() {
        let loads: Vec<[f64; 2]> = (0..features)
            .map(|_| {
                let second: f64 = if view == 2 { 0.0 } else { rng.sample(StandardNormal) };
                [rng.sample::<f64, _>(StandardNormal), second]
            })
            .collect();
        let mut text = String::new();
        for z in &z {
            let row: Vec<String> = loads
                .iter()
                .map(|load| {
                    (load[0] * z[0] + load[1] * z[1] + 0.5 * rng.sample::<f64, _>(StandardNormal)).to_string()
                })
                .collect();
            text.push_str(&(row.join(",") + "\n"));
        }
        files.push(file_of(&format!("x[{name}]"), &format!("{name}.csv"), text.into_bytes()));
    }
    let text =
        include_str!("models/low_rank_precisions.cavi").replace("rank[r] = 1", &format!("rank[r] = {rank}"));
    Ready::new(&text, &[("lambda", lambda)], files)
}

/// The block (u, v, mu, nu).
fn block(ready: &Ready) -> BlockId {
    let equations = ready.equations();
    equations.block_of(equations.symbols.find("u").expect("a variable")).expect("its block")
}

fn interpreter(ready: &Ready, from: Parameters) -> Interpreter<'_> {
    let equations = ready.equations();
    Interpreter::new(equations, &ready.binding().bound, from).unwrap_or_else(|trouble| panic!("{trouble}"))
}

fn swept(ready: &Ready, sweeps: usize) -> Parameters {
    let mut executor = ready.run(ready.start(1));
    (0..sweeps).for_each(|_| ready.sweep(&mut executor));
    executor.parameters().clone()
}

/// `alpha[m, k]` of a state.
fn alpha(ready: &Ready, state: &Parameters, rank: usize) -> Vec<f64> {
    let columns = &state.blocks[block(ready).index()];
    let [u, v, mu, nu] = columns.as_slice() else { panic!("four members") };
    let value = |m: usize, k: usize| {
        let dot: f64 = (0..rank).map(|r| u[m * rank + r] * v[k * rank + r]).sum();
        (dot + mu[m] + nu[k]).exp()
    };
    (0..VIEWS.len() * FACTORS).map(|place| value(place / FACTORS, place % FACTORS)).collect()
}

/// As lambda goes to 0 and the rank is full, alpha is what the Gamma version gives as its shape and rate go to 0:
/// `D_m / sum_j E w_mjk^2`, the features of a view over the mean squares of its loadings.
#[test]
fn with_full_rank_and_no_penalty_the_precisions_are_those_of_gammas() {
    let rank = 3;
    let ready = ready(1e-9, rank);
    let mut executor = ready.run(swept(&ready, 20));
    for _ in 0..500 {
        executor.update(block(&ready)).unwrap_or_else(|trouble| panic!("{trouble}"));
    }
    let state = executor.parameters();
    let (mean, covariance) = (ready.column(state, "w", 0), ready.column(state, "w", 1));
    // A view shares one covariance among its features; its blocks stand one after another.
    let groups = covariance.len() / (FACTORS * FACTORS);
    let mut first = 0;
    for (m, (name, features)) in VIEWS.into_iter().enumerate() {
        for k in 0..FACTORS {
            let squares: f64 = (first..first + features)
                .map(|j| {
                    let group = if groups == VIEWS.len() { m } else { j };
                    let own = (group * FACTORS + k) * FACTORS + k;
                    mean[j * FACTORS + k].powi(2) + covariance[own]
                })
                .sum();
            let expected = features as f64 / squares;
            let found = alpha(&ready, state, rank)[m * FACTORS + k];
            assert!((found / expected - 1.0).abs() < 1e-5, "{name}, factor {k}: {found}, not {expected}");
        }
        first += features;
    }
}

/// After convergence the derivative in every element of the block is 0.
#[test]
fn at_rest_the_gradient_is_nought() {
    let ready = ready(0.1, 1);
    let state = swept(&ready, 3000);
    let mut run = interpreter(&ready, state);
    run.refresh().unwrap_or_else(|trouble| panic!("{trouble}"));
    let gradient = run.gradient(block(&ready));
    let largest = gradient.iter().flatten().fold(0.0_f64, |largest, own| largest.max(own.abs()));
    assert!(largest < 1e-6, "{largest}");
}

/// From one start and with z and w as they are, beside plain gradient ascent with the best fixed step of a ladder that never
/// lowers the bound: a visit, 20 steps of L-BFGS, comes to -696.9822; 20 plain steps to -703.0290, and 200 of them to -696.9830.
#[test]
fn a_visit_goes_further_than_plain_gradient_ascent() {
    let ready = ready(0.1, 1);
    let id = block(&ready);
    let mut state = swept(&ready, 5);
    state.blocks[id.index()] = ready.start(7).blocks[id.index()].clone();
    let mut visit = interpreter(&ready, state.clone());
    visit.update_block(id).unwrap_or_else(|trouble| panic!("{trouble}"));
    let after_a_visit = visit.elbo();

    let climb = |step: f64, steps: usize| -> Option<f64> {
        let mut run = interpreter(&ready, state.clone());
        let mut last = run.elbo();
        for _ in 0..steps {
            let mut columns = run.parameters().blocks[id.index()].clone();
            for (column, slope) in columns.iter_mut().zip(run.gradient(id)) {
                column.iter_mut().zip(slope).for_each(|(value, slope)| *value += step * slope);
            }
            run.set_block(id, columns);
            let elbo = run.elbo();
            if elbo < last {
                return None;
            }
            last = elbo;
        }
        Some(last)
    };
    let best = |steps: usize| {
        let ladder = (1..6).map(|power| 0.25_f64.powi(power));
        ladder.filter_map(|step| climb(step, steps)).fold(f64::NEG_INFINITY, f64::max)
    };
    let (same, ten_times) = (best(20), best(200));
    assert!(after_a_visit > same, "L-BFGS {after_a_visit}, plain {same}");
    assert!(
        after_a_visit > ten_times - 1e-3,
        "L-BFGS {after_a_visit}, ten times as many plain steps {ten_times}"
    );
}
