//! Intervals of every program: they are made or refused with a reason, with the same bits for any number of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cavi::bind::Binding;
use cavi::check_fit::{self, Asked};
use cavi::directory::Stored;
use cavi::heldout::HeldOut;
use cavi::intervals::{Bootstrap, Draws, Form, Intervals, bootstrap};
use cavi::reopen::Reopened;
use cavi::{Control, Error, Settings, prepare};
use cavi_tests::support::{Program, Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A program fitted to random data, as it is read back.
fn fitted(program: &Program, sweeps: u64) -> Option<Reopened> {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let bound = random_bound(&program.model, Shape::small(true), &mut rng);
    let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
    let problem = prepare(compiled, Binding { bound, ..Binding::default() }).ok()?;
    let settings = Settings {
        sweeps: Some(sweeps),
        tolerance: Some(1e-10),
        restarts: Some(1),
        warmup: Some(Vec::new()),
        ..Settings::default()
    };
    let fit = problem.fit(&settings, &mut |_| Control::Continue).ok()?;
    let stored = Stored {
        file_name: program.name.clone(),
        text: program.text.clone(),
        set: Vec::new(),
        allocations: Some(fit.settings.allocations),
        model_hash: None,
        texts: None,
        summary: serde_json::json!({}),
    };
    Some(Reopened {
        stored,
        problem,
        held: HeldOut::default(),
        parameters: fit.parameters,
        seed: 0,
        own: None,
    })
}

fn is_sound(name: &str, found: &Intervals) {
    for variable in &found.variables {
        for own in &variable.intervals {
            assert!(own.low <= own.high || own.sd.is_nan(), "{name}: {} {own:?}", variable.name);
        }
    }
}

/// What was said in place of intervals.
fn reason(error: &Error) -> String {
    match error {
        Error::Data(found) => found.iter().map(ToString::to_string).collect(),
        other => other.to_string(),
    }
}

#[test]
fn every_program_has_a_bootstrap_or_a_reason() {
    let (mut made, mut reasons) = (0, Vec::new());
    for program in programs() {
        let Some(fit) = fitted(&program, 3) else { continue };
        let asked = |threads: usize| Bootstrap {
            refits: 3,
            draws: Draws::Fit,
            form: Form::Basic,
            names: Vec::new(),
            level: 0.8,
            seed: 1,
            threads,
            sweeps: Some(3),
            tolerance: 1e-8,
            stop: None,
        };
        let run = |threads: usize| bootstrap(&fit, &asked(threads), &|_| ());
        match run(1) {
            Ok(found) => {
                is_sound(&program.name, &found);
                let bits = |own: &Intervals| format!("{:?}", own.variables);
                let other = run(3).unwrap_or_else(|error| panic!("{}: {error}", program.name));
                assert_eq!(bits(&found), bits(&other), "{}: threads", program.name);
                made += 1;
            }
            Err(error) => reasons.push(format!("{}: {}", program.name, reason(&error))),
        }
    }
    assert!(made > 60, "only {made}: {}", reasons.join("\n"));
}

/// What a fit to other data that moves nothing, or that never ends, would say of the spread is no interval.
#[test]
fn refits_need_a_sweep_and_a_tolerance() {
    let program =
        programs().into_iter().find(|own| fitted(own, 3).is_some()).expect("a program that is fitted");
    let fit = fitted(&program, 3).expect("it is fitted");
    let run = |sweeps: u64, tolerance: f64| {
        let asked = Bootstrap {
            refits: 3,
            draws: Draws::Fit,
            form: Form::Percentile,
            names: Vec::new(),
            level: 0.8,
            seed: 1,
            threads: 1,
            sweeps: Some(sweeps),
            tolerance,
            stop: None,
        };
        bootstrap(&fit, &asked, &|_| ()).map_err(|error| reason(&error))
    };
    for (sweeps, tolerance, option) in [
        (0, 1e-8, "--sweeps 0"),
        (3, -1.0, "--tol -1"),
        (3, f64::NAN, "--tol NaN"),
        (3, f64::INFINITY, "--tol inf"),
    ] {
        let found = run(sweeps, tolerance).expect_err("nothing is said of the spread");
        assert!(found.contains(option), "{found}");
    }
    run(3, 0.0).expect("fits of three sweeps");
}

/// A check that is stopped ends, also where it evaluates importance weights.
#[test]
fn a_check_is_stopped() {
    let stop = Arc::new(AtomicBool::new(false));
    let program = programs().into_iter().find(|own| own.name == "normal_mean").expect("a program");
    let fit = fitted(&program, 3).expect("it is fitted");
    let asked = Asked {
        statistics: Vec::new(),
        draws: 20,
        by: None,
        seed: 1,
        threads: 1,
        weights: Some(4_000_000),
        stop: Some(Arc::clone(&stop)),
    };
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        check_fit::check(&fit, &asked)
    });
    assert!(matches!(found, Err(Error::Stopped)), "{found:?}");
}
