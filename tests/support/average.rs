//! The bound is the average of `log p - log q` over draws from q.

use cavi_algebra::{ArrayId, ArrayKind};
use cavi_executor::{Bound, Executor, start};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use cavi_verification::{Squares, World, draw, log_joint, log_joint_bounded};

use super::programs::Program;

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

/// Compares the bound after some sweeps with the average over draws from q.
///
/// # Errors
///
/// Where they differ by more than `errors` standard errors.
pub fn bound_is_average(
    program: &Program,
    bound: &Bound,
    sweeps: usize,
    seed: u64,
    draws: usize,
    errors: f64,
) -> Result<(), String> {
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
    for _ in 0..if program.equations.auxiliaries.is_empty() { 0 } else { draws } {
        world.latents = draw(program.subject(), bound, executor.parameters(), &mut rng).latents;
        squares.add(&program.model, &world);
    }
    for _ in 0..draws {
        let drawn = draw(program.subject(), bound, executor.parameters(), &mut rng);
        world.latents = drawn.latents;
        world.logs = drawn.logs;
        plain.add(log_joint(&program.model, &world) - drawn.log_q);
        if program.is_bounded() {
            let bounded = log_joint_bounded(&program.model, &world, &drawn.expected_logs, &squares);
            augmented.add(bounded - drawn.log_q);
        }
    }
    // Terms of 0 come of draws whose densities cancel.
    let rounding = 1e-10 * executor.elbo_scale().max(1e-3);
    let exact = if program.is_bounded() { augmented } else { plain };
    // `!(a <= b)`: what is no number fails.
    let off = (elbo - exact.mean).abs();
    if std::env::var_os("CAVI_TRACE").is_some() {
        eprintln!("{:<28} {elbo:>12.4} {:>12.4} +- {:.4}", program.name, exact.mean, exact.error());
    }
    if elbo.is_finite() && !exact.error().is_finite() {
        return Err(format!("the average over draws {} has no error: {}", exact.mean, exact.error()));
    }
    // Data that no draw allows, as a count under a rate of 0.
    let impossible = elbo == f64::NEG_INFINITY && !exact.mean.is_finite();
    let agrees = off <= errors * exact.error() + rounding || elbo == exact.mean || impossible;
    if !agrees {
        return Err(format!("the bound is {elbo}, the average {} +- {}", exact.mean, exact.error()));
    }
    if program.is_bounded() && elbo - plain.mean > errors * plain.error() + rounding {
        return Err(format!("the bound {elbo} is above the average {} +- {}", plain.mean, plain.error()));
    }
    Ok(())
}

/// Whether a program has an implicit factor: a latent that stands in no block.
pub fn has_implicit(program: &Program) -> bool {
    let symbols = &program.model.symbols;
    (0..symbols.arrays.len()).map(ArrayId::from).any(|array| {
        symbols.array(array).kind == ArrayKind::Latent && program.equations.block_of(array).is_none()
    })
}
