//! Restarts run side by side where there are threads for it, with the bits, the best run and the warnings of one after another.

use cavi::bind::Binding;
use cavi::{Control, Fit, FitError, Progress, Settings};
use cavi_tests::support::{Ready, Shape, bundled, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// All of a fit that does not depend on the clock.
fn facts(fit: &Fit) -> String {
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

fn told(error: &FitError) -> String {
    match error {
        FitError::Wrong(diagnostics) => {
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
        let compiled = cavi::compile(&program.text, &program.name);
        let run = |threads: usize| {
            let settings = Settings { sweeps: Some(6), restarts: Some(5), threads, ..Settings::default() };
            cavi::fit(&compiled, &binding, &settings, &mut |_| Control::Continue)
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
        cavi::fit(program.compiled(), program.binding(), &settings, callback)
            .unwrap_or_else(|error| panic!("{error:?}"))
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
