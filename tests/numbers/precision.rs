//! `--precision f32`: every program gives what it gives in doubles, to 1e-5 of scale, with the same bits on any number of
//! threads; and where nothing is stored in single precision, to the bit.

use cavi_executor::{Bound, BoundArray, BoundAxis, Executor, Parameters, Precision, start};
use cavi_tests::support::{Program, Shape, bound_of, close, compile, farthest, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Of the terms of the bound, and of the largest number in a column of parameters.
const TOLERANCE: f64 = 1e-5;

/// Runs in doubles and in single precision beside each other. `Some(true)` if something was stored in single precision,
/// `None` where a sweep has no proper outcome.
fn check(program: &Program, bound: &Bound, from: &Parameters, sweeps: usize) -> Result<Option<bool>, String> {
    let run = |threads, precision| {
        Executor::stored(&program.equations, bound, from.clone(), threads, precision)
            .map_err(|unplanned| unplanned.0)
    };
    let schedule = program.schedule();
    // Pairs of so many positions may not fit in memory, in either precision.
    let Ok(mut double) = run(1, Precision::Double) else { return Ok(None) };
    let (mut single, mut threaded) = (run(1, Precision::Single)?, run(3, Precision::Single)?);
    let stores = single.plan_text().contains("single precision");
    for sweep in 0..=sweeps {
        if sweep > 0 {
            let outcomes = [&mut double, &mut single, &mut threaded].map(|run| run.sweep(&schedule).is_ok());
            if outcomes == [false; 3] {
                return Ok(None);
            }
            if outcomes != [true; 3] {
                return Err(format!("sweep {sweep}: {outcomes:?}"));
            }
        }
        let [elbo, own, other] = [&mut double, &mut single, &mut threaded].map(Executor::elbo);
        if own.to_bits() != other.to_bits() || single.parameters() != threaded.parameters() {
            return Err(format!("sweep {sweep}: threads differ"));
        }
        let same = elbo.to_bits() == own.to_bits() && double.parameters() == single.parameters();
        if !stores && !same {
            return Err(format!("sweep {sweep}: nothing is stored in single precision, and the run differs"));
        }
        let (distance, block, column) =
            farthest(&program.equations, double.parameters(), single.parameters());
        if distance > TOLERANCE {
            return Err(format!("sweep {sweep}: block {block}, column {column} differs by {distance:e}"));
        }
        if !close(elbo, own, double.elbo_scale(), TOLERANCE) {
            return Err(format!("sweep {sweep}: the bound is {elbo} and {own}"));
        }
    }
    Ok(Some(stores))
}

/// At most three entries of seven in each row listed: what fills its rows and columns is visited by matrix products.
fn thinned(mut bound: Bound) -> Bound {
    for array in bound.arrays.iter_mut().flatten() {
        let BoundArray::Sparse { indices, values, observed, .. } = array else { continue };
        let [first, second, ..] = indices.as_slice() else { continue };
        let kept: Vec<bool> =
            first.iter().zip(second).map(|(row, column)| (row + 2 * column) % 7 < 3).collect();
        let keep = |place: &usize| kept[*place];
        let own = |column: &[u32]| (0..kept.len()).filter(keep).map(|place| column[place]).collect();
        *indices = indices.iter().map(|column| own(column)).collect();
        *values = (0..kept.len()).filter(keep).map(|place| values[place]).collect();
        *observed =
            observed.as_ref().map(|seen| (0..kept.len()).filter(keep).map(|place| seen[place]).collect());
    }
    bound
}

#[test]
fn every_program_as_in_doubles() {
    let mut wrong = Vec::new();
    let mut stored = std::collections::BTreeSet::new();
    for program in programs() {
        for (seed, sparse) in [(1, true), (2, false)] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let shape = Shape { smallest: 18, largest: 20, missing: 0.1, ..Shape::small(sparse) };
            let bound = thinned(random_bound(&program.model, shape, &mut rng));
            let from = start(&program.equations, &bound, seed + 100);
            match check(&program, &bound, &from, 3) {
                Ok(Some(true)) => {
                    stored.insert(program.name.clone());
                }
                Ok(_) => {}
                Err(problem) => wrong.push(format!("{}, sparse {sparse}: {problem}", program.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    assert!(stored.len() >= 10, "only {stored:?} store anything in single precision");
}

const FACTORISATION: &str =
    "axis row[i]\naxis column[j]\naxis factor[k] = 4\ndata x[i, j] : count, absent = 0\n";

/// Sums of products of `factors`, with their priors or blocks.
fn factorisation(likelihood: &str) -> Program {
    compile("factorisation", &format!("{FACTORISATION}{likelihood}"))
        .unwrap_or_else(|problem| panic!("{problem}"))
}

fn table(program: &Program, seed: u64) -> (Bound, Parameters) {
    let shape = Shape { smallest: 20, largest: 23, missing: 0.0, ..Shape::small(true) };
    let bound = thinned(random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(seed)));
    let from = start(&program.equations, &bound, seed);
    (bound, from)
}

/// Shapes of 0.01 give factors about exp(-100), which single precision does not hold.
#[test]
fn factors_below_the_range_of_single_precision() {
    let gamma = "w[i, k] ~ Gamma(0.01, rate = 0.01)\nh[k, j] ~ Gamma(0.01, rate = 0.01)\n\
                 x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n";
    let dirichlet = "w[i, :k] ~ Dirichlet(0.01)\nh[k, :j] ~ Dirichlet(0.01)\n\
                     x[i, :j] ~ Multinomial(p = sum[k](w[i, k] * h[k, j]))\n";
    for (seed, text) in [(3, gamma), (4, dirichlet)] {
        let program = factorisation(text);
        let (bound, from) = table(&program, seed);
        assert_eq!(check(&program, &bound, &from, 30), Ok(Some(true)), "{text}");
        let mut run = Executor::new(&program.equations, &bound, from, 1).expect("a plan");
        (0..30).for_each(|_| run.sweep(&program.schedule()).expect("a proper sweep"));
        let smallest = |block: usize| run.parameters().blocks[block][0].iter().copied().fold(1.0, f64::min);
        assert!(smallest(0) < 0.0101 && smallest(1) < 0.0101, "no factor is so small");
    }
}

/// Factors of any scale, none of which single precision holds as it is.
#[test]
fn factors_of_any_scale() {
    let points = "posterior {\n  point w\n  point h\n}\n";
    let priors = "w[i, k] ~ Flat(nonnegative)\nh[k, j] ~ Flat(nonnegative)\n";
    let alone = format!("{priors}x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n{points}");
    let beside = format!("{priors}x[i, j] ~ Poisson(0.3 + sum[k](w[i, k] * h[k, j]))\n{points}");
    for text in [alone, beside] {
        let program = factorisation(&text);
        let (bound, from) = table(&program, 5);
        for (first, second) in [(1e-60, 1e60), (1e60, 1e-60), (1.0, 1.0)] {
            let mut from = from.clone();
            from.blocks[0][0].iter_mut().for_each(|value| *value *= first);
            from.blocks[1][0].iter_mut().for_each(|value| *value *= second);
            assert_eq!(check(&program, &bound, &from, 10), Ok(Some(true)), "{first} and {second}: {text}");
        }
    }
}

/// Rows that are gathered often have zeros or ones behind them, which say nothing of the size of a row.
#[test]
fn rows_that_are_padded() {
    let sizes = "axis row[i]\naxis column[j]\naxis factor[k] = 11\ndata x[i, j] : count, absent = 0\n";
    let gamma = "w[i, k] ~ Gamma(0.01, rate = 0.01)\nh[k, j] ~ Gamma(0.01, rate = 0.01)\n\
                 x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n";
    let points = "w[i, k] ~ Flat(nonnegative)\nh[k, j] ~ Flat(nonnegative)\n\
                  x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\nposterior {\n  point w\n  point h\n}\n";
    for text in [gamma, points] {
        let program =
            compile("padded", &format!("{sizes}{text}")).unwrap_or_else(|problem| panic!("{problem}"));
        let (rows, columns) = (70, 60);
        let places: Vec<usize> = (0..rows * columns).filter(|place| place * 7919 % 1009 % 10 < 4).collect();
        let along =
            |at: fn(usize) -> usize| -> Vec<u32> { places.iter().map(|place| at(*place) as u32).collect() };
        let data = BoundArray::Sparse {
            indices: vec![along(|place| place / 60).into(), along(|place| place % 60).into()],
            values: places.iter().map(|place| (1 + place % 5) as f64).collect(),
            observed: None,
            unlisted_zero: true,
        };
        let bound = bound_of(&program, &[rows, columns, 11].map(BoundAxis::plain), &[("x", data)]);
        let from = start(&program.equations, &bound, 7);
        let plan = Executor::stored(&program.equations, &bound, from.clone(), 1, Precision::Single)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0))
            .plan_text();
        assert!(plan.contains("60 x 11 in rows of 16") && plan.contains("single precision"), "{plan}");
        assert_eq!(check(&program, &bound, &from, 20), Ok(Some(true)), "{text}");
    }
}
