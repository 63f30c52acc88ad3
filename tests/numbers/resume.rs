//! A fit that is interrupted and resumed has the bits of one that is not, wherever it is interrupted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cavi::bind::Binding;
use cavi::checkpoint::{Checkpoints, Found, find};
use cavi::{Control, Error, Fit, Problem, Settings, prepare};
use cavi_syntax::ast::Allocations;
use cavi_tests::support::{Ready, Shape, bundled, programs, random_bound};
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
            // Stopped before it has moved anything.
            let stop = Some(Arc::new(AtomicBool::new(true)));
            let stopped = Settings { stop, ..settings.clone() };
            let (own, _) = part(&problem, &stopped, &out, Duration::MAX, usize::MAX).expect("it begins");
            assert!(own.interrupted, "{}, {}", program.name, axis.name);
            let (own, was_found) =
                part(&problem, &settings, &out, Duration::MAX, usize::MAX).expect("it goes on");
            assert!(was_found && facts(&own) == facts(&whole), "{}, {}", program.name, axis.name);
            cavi::checkpoint::remove(&out).expect("checkpoints are removed");
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

/// A run that has come to its last sweep in its passes is kept as one that has ended: it is not run again.
#[test]
fn a_run_that_ends_in_its_passes_is_not_run_again() {
    let program = Ready::built_in("lda", &[("topic", 3.0)], bundled("lda", &[]));
    let problem = program.problem();
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("o");
    let settings = Settings {
        batch: Some(problem.batch("doc=4").expect("documents can be cut")),
        allocations: Some(Allocations::Ordinary),
        warmup: Some(Vec::new()),
        sweeps: Some(2),
        restarts: Some(2),
        ..Settings::default()
    };
    let run = |most: usize| {
        let found = find(&out, problem, &settings).expect("what is there is of this fit");
        let earlier = if let Found::Runs(earlier) = found { Some(earlier) } else { None };
        let checkpoints = Checkpoints::new(&out, Some(Duration::MAX), earlier, problem, &settings);
        let settings = Settings { checkpoints: Some(checkpoints), ..settings.clone() };
        let mut seen = Vec::new();
        let fit = problem.fit(&settings, &mut |progress| {
            seen.push((progress.restart, progress.sweep));
            if seen.len() < most { Control::Continue } else { Control::Stop }
        });
        (fit.expect("it fits"), seen)
    };
    let (whole, seen) = run(usize::MAX);
    assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    cavi::checkpoint::remove(&out).expect("checkpoints are removed");
    assert!(run(5).0.interrupted);
    let (fit, seen) = run(usize::MAX);
    assert_eq!(seen, [(1, 1), (1, 2)]);
    assert!(!fit.interrupted && facts(&fit) == facts(&whole));
}
