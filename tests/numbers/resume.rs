//! A fit that is interrupted and resumed has the bits of one that is not, wherever it is interrupted.

use std::path::Path;
use std::time::Duration;

use cavi::bind::Binding;
use cavi::checkpoint::{Checkpoints, Found, find};
use cavi::{Control, Error, Fit, Problem, Settings, prepare};
use cavi_syntax::ast::Allocations;
use cavi_tests::support::{Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::restarts::{facts, told};

/// One part of a fit: what the checkpoints say, at most so many sweeps (starts included), and what comes of them.
fn part(
    problem: &Problem,
    settings: &Settings,
    out: &Path,
    every: Duration,
    most: usize,
) -> Result<(Fit, bool), Error> {
    let earlier = match find(out, problem, settings)? {
        Found::Runs(earlier) => Some(earlier),
        Found::Nothing => None,
        Found::Finished => panic!("nothing has been written"),
    };
    let was_found = earlier.is_some();
    let checkpoints = Checkpoints::new(out, Some(every), earlier, problem, settings);
    let settings = Settings { checkpoints: Some(checkpoints.clone()), ..settings.clone() };
    let mut left = most;
    let fit = problem.fit(&settings, &mut |_| {
        left = left.saturating_sub(1);
        if left == 0 { Control::Stop } else { Control::Continue }
    })?;
    assert_eq!(checkpoints.failure(), None);
    Ok((fit, was_found))
}

/// The fit in parts of these lengths, over and over.
fn in_parts(
    problem: &Problem,
    settings: &Settings,
    out: &Path,
    every: Duration,
    lengths: &[usize],
) -> Result<(Fit, usize), Error> {
    for (number, length) in lengths.iter().cycle().enumerate().take(200) {
        let (fit, was_found) = part(problem, settings, out, every, *length)?;
        assert_eq!(was_found, number > 0, "an interrupted fit leaves a checkpoint");
        if !fit.interrupted {
            return Ok((fit, number + 1));
        }
    }
    panic!("the fit does not end");
}

fn anew(problem: &Problem, settings: &Settings) -> Result<String, String> {
    let fit = problem.fit(settings, &mut |_| Control::Continue);
    fit.map(|fit| facts(&fit)).map_err(|error| told(&error))
}

/// Programs on small random data, every second one from the given on: accelerated, and either plain, with the bound at every third
/// sweep alone, verified, or in single precision on two threads. Of each fit two runs are stopped a few times.
fn every_second_program(from: usize) {
    let (mut fitted, mut parts, mut accelerated) = (0, 0, 0);
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("o");
    for (number, program) in programs().into_iter().skip(from).step_by(2).enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let bound = random_bound(&program.model, Shape::small(true), &mut rng);
        let binding = Binding { bound, ..Binding::default() };
        let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
        let Ok(problem) = prepare(compiled, binding) else { continue };
        let plain = Settings { sweeps: Some(8), restarts: Some(2), ..Settings::default() };
        let fast = Settings { accelerate: Some(true), sweeps: Some(12), ..plain.clone() };
        let other = match number % 4 {
            0 => Settings { elbo_every: 3, tolerance: Some(1e-3), ..plain },
            1 => Settings { verify: true, ..plain },
            2 => Settings { precision: cavi::Precision::Single, threads: 2, ..plain },
            _ => plain,
        };
        for (settings, lengths) in [(fast, [4, 7]), (other, [2, 6])] {
            let expected = anew(&problem, &settings);
            // A checkpoint is brought to the disk, which takes longer than such a sweep.
            let every = if number % 8 == 0 { Duration::ZERO } else { Duration::MAX };
            let own = in_parts(&problem, &settings, &out, every, &lengths);
            cavi::checkpoint::remove(&out).expect("checkpoints are removed");
            if let Ok((fit, count)) = &own {
                parts += count;
                accelerated += usize::from(fit.settings.accelerates);
            }
            let own = own.map(|(fit, _)| facts(&fit)).map_err(|error| told(&error));
            assert!(own == expected, "{}, {settings:?}:\n{own:?}\n{expected:?}", program.name);
            fitted += usize::from(expected.is_ok());
        }
    }
    assert!(fitted > 60 && parts > 3 * fitted && accelerated > 25, "{fitted} {parts} {accelerated}");
}

#[test]
fn even_programs_are_resumed_to_the_same_bits() {
    every_second_program(0);
}

#[test]
fn odd_programs_are_resumed_to_the_same_bits() {
    every_second_program(1);
}

/// Programs on small random data, in passes over the shards of each axis that has some, then in sweeps.
#[test]
fn fits_by_passes_are_resumed_to_the_same_bits() {
    let (mut fitted, mut parts, mut passes) = (0, 0, 0);
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("o");
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let bound = random_bound(&program.model, Shape::small(true), &mut rng);
        let binding = Binding { bound, ..Binding::default() };
        let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
        let Ok(problem) = prepare(compiled, binding) else { continue };
        for axis in &program.model.symbols.axes {
            let Ok(batch) = problem.batch(&format!("{}=3", axis.name)) else { continue };
            let settings = Settings {
                batch: Some(batch),
                allocations: Some(Allocations::Ordinary),
                sweeps: Some(12),
                restarts: Some(2),
                tolerance: Some(1e-4),
                ..Settings::default()
            };
            let Ok(whole) = problem.fit(&settings, &mut |_| Control::Continue) else { continue };
            let own = in_parts(&problem, &settings, &out, Duration::MAX, &[4, 9]);
            cavi::checkpoint::remove(&out).expect("checkpoints are removed");
            let (fit, count) = own.expect("the whole fit succeeds");
            assert!(facts(&fit) == facts(&whole), "{}, {}", program.name, axis.name);
            fitted += 1;
            parts += count;
            passes += usize::from(whole.trace.iter().any(|row| row.phase == "batch"));
        }
    }
    assert!(fitted > 60 && parts > 3 * fitted && passes > 60, "{fitted} {parts} {passes}");
}
