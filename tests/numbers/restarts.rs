//! Restarts that run side by side have the bits, the best run and the warnings of restarts one after another.

use cavi::bind::Binding;
use cavi::{Control, Error, Fit, Progress, Settings, prepare};
use cavi_tests::support::{Ready, Shape, bundled, file_of, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// All of a fit that does not depend on the clock.
pub(crate) fn facts(fit: &Fit) -> String {
    let trace: Vec<_> =
        fit.trace.iter().map(|row| (row.sweep, row.elbo, row.rel_change, row.phase)).collect();
    let warnings: Vec<_> = fit.warnings.iter().map(|warning| (warning.code, &warning.message)).collect();
    format!(
        "{:?} {:?} {} {trace:?} {warnings:?} {} {:?}",
        fit.parameters,
        fit.runs,
        fit.best,
        fit.interrupted,
        fit.failure.as_ref().map(|failure| &failure.message)
    )
}

pub(crate) fn told(error: &Error) -> String {
    match error {
        Error::Program { diagnostics, .. } => {
            format!("{:?}", diagnostics.iter().map(|own| &own.message).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn threads_change_no_bit() {
    let mut fitted = 0;
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let bound = random_bound(&program.model, Shape::small(true), &mut rng);
        let binding = Binding { bound, ..Binding::default() };
        let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
        let Ok(problem) = prepare(compiled, binding) else { continue };
        let run = |threads: usize| {
            let settings = Settings { sweeps: Some(6), restarts: Some(5), threads, ..Settings::default() };
            problem.fit(&settings, &mut |_| Control::Continue)
        };
        let expected = run(1).map(|fit| facts(&fit)).map_err(|error| told(&error));
        for threads in [2, 3] {
            let own = run(threads).map(|fit| facts(&fit)).map_err(|error| told(&error));
            assert!(own == expected, "{}, {threads} threads:\n{own:?}\n{expected:?}", program.name);
        }
        fitted += usize::from(expected.is_ok());
    }
    assert!(fitted > 60, "only {fitted} programs were fitted");
}

/// Every sweep of every run is shown, those of a run in their order; and a run that is told to stop ends them all.
#[test]
fn progress_and_a_stop() {
    let program = Ready::built_in("nmf_kl", &[], bundled("nmf_kl", &[]));
    let run = |restarts: u64, threads: usize, callback: &mut dyn FnMut(&Progress) -> Control| {
        let settings = Settings {
            sweeps: Some(40),
            tolerance: Some(0.0),
            restarts: Some(restarts),
            threads,
            ..Settings::default()
        };
        program.problem().fit(&settings, callback).unwrap_or_else(|error| panic!("{error:?}"))
    };
    let mut seen = vec![0; 4];
    run(4, 2, &mut |progress| {
        assert_eq!((progress.restarts, progress.sweep), (4, seen[progress.restart as usize]));
        seen[progress.restart as usize] += 1;
        Control::Continue
    });
    assert_eq!(seen, [41; 4]);

    let mut latest = 0;
    let fit = run(1000, 2, &mut |progress| {
        latest = latest.max(progress.restart);
        if progress.sweep >= 3 { Control::Stop } else { Control::Continue }
    });
    assert!(fit.interrupted && latest < 1000);
    assert_eq!(fit.runs.len() as u64, latest + 1, "what was begun is kept");
    let best = fit.runs.iter().map(|run| run.elbo).fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(fit.run().elbo, best);
    assert_eq!(fit.trace.last().and_then(|row| row.elbo), Some(best));
}

/// A point that starts on either side of 0, under a root that only one side has.
const ROOT: &str = "axis item[n]\ndata y[n] : real\nb ~ Normal(0, sd = 1)\ny[n] ~ Normal(sqrt(b), sd = 1)\n\
                    posterior {\n  point b\n}\n";

/// Three components by maximum likelihood: one that takes a single row has no bound.
const COMPONENTS: &str = "axis item[n]\naxis class[k] = 3\ndata y[n] : real\npi[:k] ~ Flat(simplex)\nm[k] ~ Flat(real)\n\
                          t[k] ~ Flat(nonnegative)\nz[n] ~ Categorical(pi)\ny[n] ~ Normal(m[z[n]], prec = t[z[n]])\n\
                          posterior {\n  point pi\n  point m\n  point t\n}\n";

const TWO_HEAPS: [f64; 24] = [
    0.126, -0.132, 0.64, 0.105, -0.536, 0.362, 1.304, 0.947, -0.704, -1.265, -0.623, 0.041, 3.675, 5.781,
    4.754, 5.268, 5.456, 5.684, 6.412, 7.043, 5.871, 7.366, 5.335, 6.352,
];

fn ready(text: &str, y: &[f64]) -> Ready {
    let lines: String = y.iter().map(|value| format!("{value}\n")).collect();
    Ready::new(text, &[], vec![file_of("y", "y.csv", lines.into_bytes())])
}

fn fit_of(ready: &Ready, seed: u64, restarts: u64, threads: usize) -> Result<Fit, Error> {
    let settings =
        Settings { seed: Some(seed), restarts: Some(restarts), threads, verify: true, ..Settings::default() };
    ready.problem().fit(&settings, &mut |_| Control::Continue)
}

/// A run that fails is left out, with a warning; the best of the others is that of these alone.
#[test]
fn a_run_that_fails_is_left_out() {
    const RUNS: u64 = 12;
    let y = TWO_HEAPS;
    for (text, failures) in [(ROOT, "number"), (COMPONENTS, "has no update")] {
        let ready = ready(text, &y);
        let fit = fit_of(&ready, 0, RUNS, 1).unwrap_or_else(|error| panic!("{error:?}"));
        for threads in [2, 3] {
            let own = fit_of(&ready, 0, RUNS, threads).map(|fit| facts(&fit)).map_err(|error| told(&error));
            assert_eq!(own, Ok(facts(&fit)), "{threads} threads");
        }
        assert_eq!(fit.runs.len() as u64, RUNS);
        assert!(fit.failure.is_none() && fit.run().failure.is_none());
        let mut failed = 0;
        for (index, run) in fit.runs.iter().enumerate() {
            let alone = fit_of(&ready, run.seed, 1, 1);
            let failure = match &alone {
                Ok(alone) => {
                    assert_eq!((alone.run().sweeps, alone.run().elbo), (run.sweeps, run.elbo));
                    alone.failure.as_ref().map(|failure| failure.message.clone())
                }
                Err(Error::Program { diagnostics, .. }) => Some(diagnostics[0].message.clone()),
                Err(Error::NotANumber { sweep }) => {
                    Some(format!("the ELBO is not a number after sweep {sweep}"))
                }
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(run.failure, failure, "run {index} of {text}");
            match failure {
                None => assert!(run.elbo <= fit.run().elbo),
                Some(failure) => {
                    failed += 1;
                    assert!(failure.contains(failures), "{failure}");
                    let names = format!("run {} of {RUNS} (seed {})", index + 1, run.seed);
                    let named = |own: &&cavi_syntax::Diagnostic| {
                        own.message.starts_with(&names) && own.message.ends_with(&failure)
                    };
                    assert_eq!(fit.warnings.iter().filter(named).count(), 1, "{names}: {:?}", fit.warnings);
                }
            }
        }
        assert!((1..RUNS).contains(&failed), "{failed} runs of {text}");
    }
}

/// If every run fails, the fit fails for the reason of the first. A state that was reached after a whole sweep is
/// kept.
#[test]
fn all_runs_fail() {
    let error = |result: Result<Fit, Error>| result.map(|fit| facts(&fit)).expect_err("no run succeeds");
    // One row has no precision of its own.
    let text = "axis item[n]\ndata y[n] : real\nm ~ Flat(real)\nt ~ Flat(nonnegative)\ny[n] ~ Normal(m, prec = t)\n\
                posterior {\n  point m\n  point t\n}\n";
    let single = ready(text, &[1.5]);
    let (Error::Program { diagnostics: alone, .. }, Error::Program { diagnostics: all, .. }) =
        (error(fit_of(&single, 4, 1, 1)), error(fit_of(&single, 4, 3, 2)))
    else {
        panic!("an update fails")
    };
    assert_eq!(all[0].message, format!("all 3 runs failed, the first (seed 4) because {}", alone[0].message));
    let root = ready(&ROOT.replace("sqrt(b)", "sqrt(b - 100)"), &[1.5]);
    assert!(matches!(error(fit_of(&root, 0, 3, 2)), Error::NotANumber { sweep: 0 }));

    // Those of the three components that fail do so after some sweeps.
    let components = ready(COMPONENTS, &TWO_HEAPS);
    let runs = fit_of(&components, 0, 40, 1).unwrap_or_else(|error| panic!("{error:?}")).runs;
    let two = runs.windows(2).find(|two| two.iter().all(|run| run.failure.is_some() && run.sweeps > 0));
    let two = two.expect("two runs that fail one after the other");
    for threads in [1, 2] {
        let fit = fit_of(&components, two[0].seed, 2, threads).unwrap_or_else(|error| panic!("{error:?}"));
        let best = two[0].elbo.max(two[1].elbo);
        assert_eq!((fit.run().elbo, fit.runs.as_slice()), (best, two));
        let failure = fit.failure.expect("no run succeeds").message;
        assert!(failure.ends_with(two[0].failure.as_deref().unwrap_or_default()), "{failure}");
    }
}
