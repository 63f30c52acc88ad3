//! The interpreter and the executor agree, and the executor with itself on any number of threads.

use cavi_executor::{Bound, Executor, Interpreter, Parameters, Schedule, start};
use cavi_tests::support::{Program, Shape, close, farthest, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const TOLERANCE: f64 = 1e-12;

/// Compares both runs after 1, 2 and 5 sweeps; returns what is wrong.
fn compare(program: &Program, bound: &Bound, schedule: &Schedule, from: &Parameters) -> Result<(), String> {
    let equations = &program.equations;
    let mut executors = Vec::new();
    for threads in [1, 2] {
        let executor = Executor::new(equations, bound, from.clone(), threads);
        executors.push(executor.map_err(|unplanned| format!("no plan: {}", unplanned.0))?);
    }
    let mut interpreter = Interpreter::new(equations, bound, from.clone())
        .map_err(|trouble| format!("interpreter: {trouble}"))?;
    for sweep in 0..=5 {
        if sweep > 0 {
            let slow = interpreter.sweep(schedule);
            for executor in &mut executors {
                let fast = executor.sweep(schedule);
                if slow.is_err() != fast.is_err() {
                    return Err(format!("sweep {sweep}: interpreter {slow:?}, executor {fast:?}"));
                }
            }
            if slow.is_err() {
                // Improper for both, which happens where a flat prior meets no data.
                return Ok(());
            }
        }
        let [one, two] = executors.as_mut_slice() else { unreachable!("two executors") };
        let (elbo, other) = (one.elbo(), two.elbo());
        if elbo.to_bits() != other.to_bits() || one.parameters() != two.parameters() {
            let (distance, block, column) = farthest(equations, one.parameters(), two.parameters());
            return Err(format!(
                "sweep {sweep}: threads differ, {elbo:e} and {other:e}, by {distance:e} in block {block}, column {column}"
            ));
        }
        let terms = interpreter.elbo_terms();
        let scale: f64 = terms.iter().map(|term| term.abs()).sum();
        let (distance, block, column) = farthest(equations, interpreter.parameters(), one.parameters());
        if distance > TOLERANCE {
            return Err(format!("sweep {sweep}: block {block}, column {column} differs by {distance:e}"));
        }
        let slow = interpreter.elbo();
        if !close(slow, elbo, scale, TOLERANCE) {
            return Err(format!("sweep {sweep}: the bound is {slow:.14e} and {elbo:.14e}"));
        }
    }
    Ok(())
}

fn check(shape: Shape, seeds: std::ops::Range<u64>) {
    let mut wrong = Vec::new();
    for program in programs() {
        if std::env::var_os("CAVI_TRACE").is_some() {
            eprintln!("{}", program.name);
        }
        for seed in seeds.clone() {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let bound = random_bound(&program.model, shape, &mut rng);
            let from = start(&program.equations, &bound, seed + 100);
            for (name, schedule) in [("its sweep", program.schedule()), ("one group", program.one_group())] {
                let attempt = std::panic::AssertUnwindSafe(|| compare(&program, &bound, &schedule, &from));
                let outcome = std::panic::catch_unwind(attempt).unwrap_or_else(|_| Err("a panic".to_owned()));
                if let Err(problem) = outcome {
                    wrong.push(format!("{}, seed {seed}, {name}: {problem}", program.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {shape:?}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn small_dense_data() {
    check(Shape::small(false), 0..2);
}

#[test]
fn small_sparse_data() {
    check(Shape::small(true), 2..4);
}

#[test]
fn axes_of_size_nought_and_one() {
    for sparse in [false, true] {
        check(Shape { smallest: 0, largest: 1, ..Shape::small(sparse) }, 4..8);
    }
}

#[test]
fn everything_missing() {
    for sparse in [false, true] {
        check(Shape { missing: 1.0, ..Shape::small(sparse) }, 8..9);
    }
}
