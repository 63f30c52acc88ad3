//! The bound is the expectation that it claims to be, by draws from q and densities that are written a second time,
//! from the text of the programs.
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

use cavi_tests::support::{Shape, bound_is_average, has_implicit, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const DRAWS: usize = 3000;

fn check_all(shape: Shape, sweeps: usize, seed: u64) {
    let mut wrong = Vec::new();
    for program in programs() {
        if has_implicit(&program) {
            continue;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let bound = random_bound(&program.model, shape, &mut rng);
        let attempt =
            std::panic::AssertUnwindSafe(|| bound_is_average(&program, &bound, sweeps, seed, DRAWS, 4.0));
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
