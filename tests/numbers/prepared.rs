//! What `plan` shows is what `fit` runs: the same steps, for every program and for data that are restated.

use cavi::bind::Binding;
use cavi::{Control, Problem, Settings, prepare};
use cavi_syntax::ast::Allocations;
use cavi_tests::support::{Matrix, Ready, Shape, file_of, matrix_file, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The plan that is shown, and the one that a fit by this rule of allocations was begun with; `None` where the program has no fit on
/// these data.
fn plans(problem: &Problem, rule: Option<Allocations>) -> Option<(String, String)> {
    let settings =
        Settings { sweeps: Some(0), warmup: Some(Vec::new()), allocations: rule, ..Settings::default() };
    let fit = problem.fit(&settings, &mut |_| Control::Continue).ok()?;
    let shown = problem.plan(&settings).expect("what is fitted has a plan");
    // A run that has begun holds less: tables that only constants needed are gone.
    let steps = |text: &str| -> String {
        text.lines().filter(|line| !line.starts_with("memory: ")).map(|line| format!("{line}\n")).collect()
    };
    Some((steps(&shown), steps(&fit.plan)))
}

#[test]
fn every_program_runs_the_plan_that_is_shown() {
    let (mut compared, mut warmups) = (0, 0);
    for program in programs() {
        for (seed, sparse) in [(21, false), (22, true)] {
            let shape = Shape { missing: 0.2, ..Shape::small(sparse) };
            let bound = random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(seed));
            let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
            let Ok(problem) = prepare(compiled, Binding { bound, ..Binding::default() }) else { continue };
            let others = [Allocations::Means, Allocations::Collapsed];
            let allowed = others.into_iter().filter_map(|rule| problem.allocations(rule).ok()).map(Some);
            for rule in std::iter::once(None).chain(allowed) {
                let Some((shown, run)) = plans(&problem, rule) else { continue };
                assert!(shown.contains(&run), "{} by {rule:?}:\n{shown}\n{run}", program.name);
                compared += 1;
            }
            let shown = problem.plan(&Settings::default()).unwrap_or_default();
            for (line, _) in &program.model.fit.warmup {
                assert!(
                    shown.contains(&format!("before it `warmup {line}`: predicted ")),
                    "{}",
                    program.name
                );
                warmups += 1;
            }
        }
    }
    assert!(compared > 250 && warmups > 10, "only {compared} plans were compared, and {warmups} warm-ups");
}

/// A program, its data, and the restatement that they ask for.
fn restated() -> [(&'static str, &'static str, Ready); 2] {
    let far: Matrix = (0..20).map(|row| vec![1e7 + f64::from(row % 5)]).collect();
    let lines: String = far.iter().map(|row| format!("{}\n", row[0])).collect();
    let about_an_origin = "axis item[n]\ndata x[n] : real\nt ~ Gamma(1, rate = 1)\nm ~ Normal(0, prec = 1e-9 * t)\n\
                           x[n] ~ Normal(m, prec = t)\nposterior {\n  q(m, t)\n}\n";
    let at_entries = "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA\na[i] ~ Normal(0, sd = 1)\n\
                      u[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal(a[i], prec = u[i, j])\n";
    let listed = matrix_file("x", &vec![vec![1.5, 0.0, -2.0], vec![0.0, 0.5, 0.0]], true);
    [
        (
            "origin",
            "m.mean",
            Ready::new(about_an_origin, &[], vec![file_of("x", "x.csv", lines.into_bytes())]),
        ),
        ("listed entries", "u.shape", Ready::new(at_entries, &[], vec![listed])),
    ]
}

#[test]
fn restated_data_are_planned_as_they_run_and_come_back_as_they_were() {
    for (name, array, ready) in restated() {
        let problem = ready.problem();
        let steps: Vec<&str> = problem.restated.iter().map(|step| step.name).collect();
        assert_eq!(steps, [name]);
        let (shown, run) = plans(problem, None).expect("a fit");
        assert!(
            shown.contains(&run) && shown.contains(&format!("restated for these data, {name}")),
            "{shown}"
        );
        let fit = problem.fit(&Settings::default(), &mut |_| Control::Continue).expect("a fit");
        let arrays = problem.posterior(&fit);
        let array = arrays.iter().find(|own| own.name == array).expect("an array of this name");
        assert_eq!(array.values.len(), array.shape.iter().product::<usize>());
        if name == "origin" {
            // The average of the data, about which the fit ran: 1e7 + 2.
            assert!((array.values[0] - 10_000_002.0).abs() < 1e-3, "{:?}", array.values);
        }
    }
}
