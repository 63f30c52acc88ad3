//! The bound is what it says: draws from q, densities written a second time straight from the programs' text.
//!
//! With `theta` drawn from q, the average of `log p(data, theta) - log q(theta)` is the bound, all constants included.
//! Where a log of a sum is bounded, the latents are augmented by an allocation of every unit to an addend, drawn from its
//! optimal distribution; its average can be taken in closed form for every draw (`log_joint_bounded`), which holds for
//! data that are no whole numbers as well. Where the softplus of log odds is bounded, the density has the parabola that
//! touches it at the average square of the log odds over other draws; the bound is flat there, so that the error of that
//! average does not count. The bound is then smaller than the average of the density itself.
//!
//! # Exceptions
//!
//! A program whose point has no finite mode is refused, and has no bound to compare. Programs with `implicit` factors: their q is not among the
//! parameters. `tests/cases.rs` has their bound from two other implementations.

use cavi_algebra::{ArrayId, ArrayKind};
use cavi_executor::{Bound, Executor, start};
use cavi_tests::support::{
    Program, Shape, Squares, World, draw, log_joint, log_joint_bounded, programs, random_bound,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const DRAWS: usize = 3000;

/// An average with its standard error.
#[derive(Clone, Copy, Default)]
struct Average {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Average {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let step = value - self.mean;
        self.mean += step / self.count;
        self.squares += step * (value - self.mean);
    }

    fn error(&self) -> f64 {
        (self.squares / (self.count - 1.0) / self.count).sqrt()
    }
}

fn check(program: &Program, bound: &Bound, sweeps: usize, seed: u64) -> Result<(), String> {
    let from = start(&program.equations, bound, seed);
    let mut executor = Executor::new(&program.equations, bound, from, 1)
        .map_err(|unplanned| format!("no plan: {}", unplanned.0))?;
    for _ in 0..sweeps {
        match executor.sweep(&program.schedule()) {
            Ok(()) => {}
            Err(trouble) if trouble.reason.contains("infinite density") => return Ok(()),
            Err(trouble) => return Err(trouble.to_string()),
        }
    }
    let elbo = executor.elbo();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut plain, mut augmented) = (Average::default(), Average::default());
    let mut world = World::new(&program.model.symbols, bound);
    let mut squares = Squares::default();
    for _ in 0..if program.equations.auxiliaries.is_empty() { 0 } else { DRAWS } {
        world.latents = draw(program, bound, executor.parameters(), &mut rng).latents;
        squares.add(&program.model, &world);
    }
    for _ in 0..DRAWS {
        let drawn = draw(program, bound, executor.parameters(), &mut rng);
        world.latents = drawn.latents;
        world.logs = drawn.logs;
        plain.add(log_joint(&program.model, &world) - drawn.log_q);
        if program.is_bounded() {
            let bounded = log_joint_bounded(&program.model, &world, &drawn.expected_logs, &squares);
            augmented.add(bounded - drawn.log_q);
        }
    }
    let rounding = 1e-10 * executor.elbo_scale();
    let exact = if program.is_bounded() { augmented } else { plain };
    // `!(a <= b)`: what is no number fails.
    let off = (elbo - exact.mean).abs();
    if std::env::var_os("CAVI_TRACE").is_some() {
        eprintln!("{:<28} {elbo:>12.4} {:>12.4} +- {:.4}", program.name, exact.mean, exact.error());
    }
    if elbo.is_finite() && !exact.error().is_finite() {
        return Err(format!("the average over draws {} has no error: {}", exact.mean, exact.error()));
    }
    let agrees = off <= 4.0 * exact.error() + rounding || (elbo == exact.mean);
    if !agrees {
        return Err(format!("the bound is {elbo}, the average {} +- {}", exact.mean, exact.error()));
    }
    if program.is_bounded() && elbo - plain.mean > 4.0 * plain.error() + rounding {
        return Err(format!("the bound {elbo} is above the average {} +- {}", plain.mean, plain.error()));
    }
    Ok(())
}

/// Programs with an implicit factor: a latent that stands in no block.
fn excepted(program: &Program) -> bool {
    let symbols = &program.model.symbols;
    (0..symbols.arrays.len()).map(ArrayId::from).any(|array| {
        symbols.array(array).kind == ArrayKind::Latent && program.equations.block_of(array).is_none()
    })
}

fn check_all(shape: Shape, sweeps: usize, seed: u64) {
    let mut wrong = Vec::new();
    for program in programs() {
        if excepted(&program) {
            continue;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let bound = random_bound(&program.model, shape, &mut rng);
        let attempt = std::panic::AssertUnwindSafe(|| check(&program, &bound, sweeps, seed));
        let outcome = std::panic::catch_unwind(attempt).unwrap_or_else(|_| Err("a panic".to_owned()));
        if let Err(problem) = outcome {
            wrong.push(format!("{}: {problem}", program.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_bound_is_the_average_over_draws_from_q() {
    check_all(Shape { smallest: 2, largest: 3, ..Shape::small(false) }, 2, 21);
}

#[test]
fn the_bound_of_sparse_data_is_the_average_over_draws_from_q() {
    check_all(Shape { smallest: 2, largest: 3, ..Shape::small(true) }, 1, 22);
}
