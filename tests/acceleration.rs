//! With `accelerate = auto` the bound falls from no sweep to the next, whatever the program, and slow programs reach
//! the optimum of ordinary sweeps in fewer sweeps.

use cavi::bind::Binding;
use cavi::{Control, Fit, Settings, prepare};
use cavi_tests::support::{Ready, Shape, bundled, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// By how much of its size a bound may fall by rounding.
const ROUNDING: f64 = 1e-9;

fn falls(fit: &Fit) -> Option<(i64, f64)> {
    let bounds: Vec<(i64, f64)> = fit.trace.iter().filter_map(|row| Some((row.sweep, row.elbo?))).collect();
    let fall = |pair: &&[(i64, f64)]| pair[0].1 - pair[1].1 > ROUNDING * pair[1].1.abs().max(1.0);
    bounds.windows(2).find(fall).map(|pair| (pair[1].0, pair[0].1 - pair[1].1))
}

#[test]
fn no_sweep_of_any_program_falls() {
    let mut stepped = 0;
    for program in programs() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let bound = random_bound(&program.model, Shape::small(false), &mut rng);
        let binding = Binding { bound, ..Binding::default() };
        let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
        let Ok(problem) = prepare(compiled, binding) else { continue };
        let run = |accelerate: bool, threads: usize| {
            let settings = Settings {
                sweeps: Some(25),
                tolerance: Some(0.0),
                accelerate: Some(accelerate),
                warmup: Some(Vec::new()),
                restarts: Some(1),
                threads,
                ..Settings::default()
            };
            problem.fit(&settings, &mut |_| Control::Continue)
        };
        // Improper where a flat prior meets no data: that is for other tests.
        let (Ok(plain), Ok(fast)) = (run(false, 1), run(true, 1)) else { continue };
        if plain.trace.iter().any(|row| row.phase != "fit") {
            continue;
        }
        assert_eq!(falls(&fast), None, "{}", program.name);
        let again = run(true, 2).unwrap_or_else(|error| panic!("{}: {error:?}", program.name));
        assert_eq!(again.parameters, fast.parameters, "{}: threads differ", program.name);
        stepped += usize::from(fast.parameters != plain.parameters);
    }
    assert!(stepped > 60, "only {stepped} programs were stepped");
}

/// Sweeps to a relative change below 1e-7: fewer than half, and an end that is as high to 1e-4 of its size.
#[test]
fn slow_programs_take_fewer_sweeps() {
    for name in ["factor_analysis", "nmf_gamma"] {
        let program = Ready::built_in(name, &[], bundled(name, &[]));
        let run = |accelerate: bool| {
            let settings = Settings {
                sweeps: Some(6000),
                tolerance: Some(1e-7),
                accelerate: Some(accelerate),
                ..Settings::default()
            };
            program
                .problem()
                .fit(&settings, &mut |_| Control::Continue)
                .unwrap_or_else(|error| panic!("{error:?}"))
        };
        let (plain, fast) = (run(false), run(true));
        assert_eq!(falls(&fast), None, "{name}");
        let (sweeps, most) = (fast.run().sweeps, plain.run().sweeps);
        assert!(fast.run().converged && 2 * sweeps < most, "{name}: {sweeps} of {most} sweeps");
        let (high, low) = (fast.run().elbo, plain.run().elbo);
        assert!(high > low - 1e-4 * low.abs(), "{name}: {high} and {low}");
    }
}
