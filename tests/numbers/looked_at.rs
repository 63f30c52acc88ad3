//! A fit that is looked at while it runs is the same fit, and what is seen is what it would have written.

use cavi::bind::Binding;
use cavi::summary::{variables, variables_of};
use cavi::{Control, Glances, Problem, Settings, prepare};
use cavi_tests::support::{Shape, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The latents as the directory of a fit has them, and as they are in memory.
fn both_ways(problem: &Problem, settings: &Settings) -> Option<(String, String)> {
    let fit = problem.fit(settings, &mut |_| Control::Continue).ok()?;
    let folder = tempfile::tempdir().expect("a directory can be made");
    let place = folder.path();
    // The files of a fit that its latents are read from.
    let summary = serde_json::json!({ "settings": {}, "model_hash": problem.source.hash() });
    std::fs::write(place.join("summary.json"), summary.to_string()).expect("it can be written");
    std::fs::write(place.join("model.cavi"), &problem.source.text).expect("it can be written");
    cavi::posterior::write(problem, &fit.parameters, place).expect("it can be written");
    let read = variables(place, None).expect("it is read");
    let seen = variables_of(problem, &fit.parameters);
    Some((format!("{read:#?}"), format!("{seen:#?}")))
}

#[test]
fn what_is_seen_in_memory_is_what_the_directory_has() {
    let mut compared = 0;
    for program in programs() {
        let shape = Shape { missing: 0.1, ..Shape::small(false) };
        let bound = random_bound(&program.model, shape, &mut ChaCha8Rng::seed_from_u64(31));
        let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
        let Ok(problem) = prepare(compiled, Binding { bound, ..Binding::default() }) else { continue };
        let settings = Settings { sweeps: Some(2), warmup: Some(Vec::new()), ..Settings::default() };
        let Some((read, seen)) = both_ways(&problem, &settings) else { continue };
        assert_eq!(read, seen, "{}", program.name);
        compared += usize::from(read.contains("values"));
    }
    assert!(compared > 100, "only {compared} programs were compared");
}

#[test]
fn a_look_changes_no_bit_and_sees_the_last_sweep() {
    let mut seen = 0;
    for program in programs() {
        let bound = random_bound(&program.model, Shape::small(false), &mut ChaCha8Rng::seed_from_u64(32));
        let compiled = cavi::compile(&program.text, &program.name).into_compiled().expect("it compiles");
        let Ok(problem) = prepare(compiled, Binding { bound, ..Binding::default() }) else { continue };
        let settings = Settings { sweeps: Some(3), restarts: Some(1), ..Settings::default() };
        let Ok(alone) = problem.fit(&settings, &mut |_| Control::Continue) else { continue };
        let glances = Glances::new(usize::MAX);
        let watched = Settings { glances: Some(glances.clone()), ..settings };
        let mut last = None;
        let fit = problem.fit(&watched, &mut |_| {
            last = glances.take(&problem).or(last.take());
            glances.ask(None);
            Control::Continue
        });
        let fit = fit.expect("it is fitted without a look");
        let bits = |own: &cavi::Parameters| -> Vec<u64> {
            own.blocks.iter().flatten().flatten().map(|own| own.to_bits()).collect()
        };
        assert_eq!(bits(&alone.parameters), bits(&fit.parameters), "{}", program.name);
        let Some(last) = last.filter(|own| own.sweep == fit.run().sweeps) else { continue };
        assert_eq!(bits(&last.parameters), bits(&fit.parameters), "{}", program.name);
        seen += 1;
    }
    assert!(seen > 100, "the last sweep of {seen} programs alone was seen");
}
