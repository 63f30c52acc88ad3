//! The objective never falls, which is the third law of `crates/README.md`, and after an update of a block no change
//! of that block alone would raise it.

use cavi::{Control, Settings};
use cavi_executor::{Schedule, start};
use cavi_tests::support::{
    Matrix, Ready, Shape, items_ascend, matrix_file, members_ascend, programs, random_bound, updates_rest,
};
use proptest::prelude::{ProptestConfig, Strategy, any, proptest};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Sizes from 0 or 1 on, dense and sparse, with few and with nearly all entries missing.
fn shapes() -> impl Strategy<Value = Shape> {
    let range = (0_usize..3).prop_flat_map(|smallest| (proptest::strategy::Just(smallest), 1_usize..5));
    (range, any::<bool>(), 0.0..1.0).prop_map(|((smallest, width), sparse, missing)| Shape {
        smallest,
        largest: smallest + width - 1,
        sparse,
        missing,
        scale: 1.0,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn no_item_and_no_member_of_a_group_lowers_the_bound(shape in shapes(), seed in any::<u64>()) {
        let mut wrong = Vec::new();
        for program in programs() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let bound = random_bound(&program.model, shape, &mut rng);
            let found = [
                items_ascend(&program, &bound, &program.schedule(), seed),
                items_ascend(&program, &bound, &Schedule::of(&program.equations), seed),
                members_ascend(&program, &bound, seed),
            ];
            wrong.extend(found.into_iter().filter_map(Result::err).map(|text| format!("{}: {text}", program.name)));
        }
        assert!(wrong.is_empty(), "{shape:?}, seed {seed}\n{}", wrong.join("\n"));
    }
}

#[test]
fn an_update_leaves_no_slope() {
    let mut wrong = Vec::new();
    for program in programs() {
        for (seed, sparse) in [(31, false), (32, true)] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let shape = Shape { smallest: 2, largest: 3, ..Shape::small(sparse) };
            let bound = random_bound(&program.model, shape, &mut rng);
            let from = start(&program.equations, &bound, seed);
            if let Err(problem) = updates_rest(&program, &bound, &from) {
                wrong.push(format!("{}, seed {seed}: {problem}", program.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// A trend over the years, counted from `origin`, and a wave about it of that amplitude; its rows and its data.
fn trend(origin: f64, amplitude: f64, seed: u64) -> (Ready, Matrix, Vec<f64>) {
    let text = "axis feature[p]\naxis row[n]\ndata y[n] : real\ndata x[n, p] : real\nb[p] ~ Flat(real)\n\
                t ~ Gamma(1, rate = 1)\ny[n] ~ Normal(sum[p](x[n, p] * b[p]), prec = t)\nposterior {\n  point b[:p]\n}\n";
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let years = (2000..=2020).map(|year| f64::from(year) - origin);
    let x: Matrix = years.map(|year| vec![1.0, year, year + amplitude * year.sin()]).collect();
    let y: Vec<f64> = (0..21).map(|_| 5.0 + 3.0 * rng.random::<f64>()).collect();
    let column: Matrix = y.iter().map(|value| vec![*value]).collect();
    let ready = Ready::new(text, &[], vec![matrix_file("x", &x, false), matrix_file("y", &column, false)]);
    (ready, x, y)
}

/// An update is as exact as the coefficients that it is given. Where the square that it maximises cancels, `--verify`
/// allows for the rounding of these coefficients.
#[test]
fn columns_that_nearly_agree_verify() {
    for (seed, amplitude) in (0..12).flat_map(|seed| [(seed, 0.1), (seed, 0.003), (seed, 0.001)]) {
        let (program, ..) = trend(0.0, amplitude, seed);
        let settings =
            Settings { sweeps: Some(60), tolerance: Some(0.0), verify: true, ..Settings::default() };
        let fit = program.problem().fit(&settings, &mut |_| Control::Continue);
        assert!(fit.is_ok(), "seed {seed}, {amplitude}: {:?}", fit.err());
    }
}

/// The size of the terms of an update is that of its coefficients times its statistics, `E t (|x'y| |b| + |b|' |x'x|
/// |b| / 2)`: no more than the terms of the bound where nothing cancels.
#[test]
fn what_an_update_sees() {
    let (program, x, y) = trend(2010.0, 20.0, 1);
    let mut executor = program.run(program.start(0));
    program.sweep(&mut executor);
    executor.elbo();
    let equations = program.equations();
    let block = |name: &str| {
        let own = equations.symbols.find(name).and_then(|array| equations.block_of(array));
        own.expect("a block of this name")
    };
    let after = executor.parameters().clone();
    let column = |name: &str, which: usize| program.column(&after, name, which);
    let (b, shape, rate) = (column("b", 0), column("t", 0)[0], column("t", 1)[0]);
    let total = |of: &dyn Fn(usize) -> f64| (0..y.len()).map(of).sum::<f64>();
    let mut expected = 0.0;
    for p in 0..3 {
        expected += (total(&|n| x[n][p] * y[n]) * b[p]).abs();
        for q in 0..3 {
            expected += (total(&|n| x[n][p] * x[n][q]) * b[p] * b[q]).abs() / 2.0;
        }
    }
    expected *= shape / rate;
    let found = executor.update_scale(block("b"));
    assert!((found - expected).abs() < 1e-9 * expected, "{found} and not {expected}");
    assert!(found < 100.0 * executor.elbo_scale(), "{found} and {}", executor.elbo_scale());
    // Of a Gamma `shape E log t - rate E t`, whose mean is shape / rate.
    let log = statrs::function::gamma::digamma(shape) - rate.ln();
    let expected = (shape * log).abs() + shape;
    let found = executor.update_scale(block("t"));
    assert!((found - expected).abs() < 1e-9 * expected, "{found} and not {expected}");
}
