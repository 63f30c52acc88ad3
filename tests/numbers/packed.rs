//! A fit has the same bits from the files of its data and from a packed file, which is mapped: the whole, and in shards.

use cavi::bind::{ArrayInput, Inputs, Source};
use cavi::{Control, Problem, Settings, Shards};
use cavi_tests::support::{Shape, files_of, programs, random_bound};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::restarts::{facts, told};

/// What of a fit does not depend on where its data lie: bounds, parameters, the arrays that are written, or why there is none.
fn said(problem: &Problem, settings: &Settings) -> Result<String, String> {
    let fit = problem.fit(settings, &mut |_| Control::Continue).map_err(|error| told(&error))?;
    let arrays = problem.posterior(&fit).into_iter().map(|array| {
        let bits: Vec<u64> = array.values.iter().map(|value| value.to_bits()).collect();
        format!("{} {bits:?}\n", array.name)
    });
    Ok(arrays.collect::<String>() + &facts(&fit))
}

#[test]
fn a_fit_has_the_same_bits_from_a_packed_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut whole, mut in_shards, mut mapped, mut ragged) = (0, 0, 0, 0);
    for (number, program) in programs().into_iter().enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(number as u64);
        let shape = Shape { smallest: 4, largest: 7, missing: 0.1, ..Shape::small(number % 2 == 0) };
        let bound = random_bound(&program.model, shape, &mut rng);
        let inputs = files_of(&program, &bound);
        let compiled = cavi::compile_with(&program.text, "program.cavi", &inputs.set_values()).compiled;
        let Some(compiled) = compiled else { continue };
        // Random data may break a rule that only files know, such as one on labels.
        let Ok(problem) = compiled.clone().bind(&inputs) else { continue };
        if inputs.data.is_empty() {
            continue;
        }
        let file = directory.path().join(format!("{number}.cavi-data"));
        if let Err(error) = cavi::pack::pack(&compiled, &inputs, &file) {
            assert!(error.to_string().contains("which is ragged"), "{}: {error}", program.name);
            continue;
        }
        // One file has all groups of a ragged axis.
        let packed = |own: &ArrayInput| ArrayInput {
            name: own.name.clone(),
            group: None,
            source: Source::File { path: file.clone(), column: None },
        };
        let mut data: Vec<ArrayInput> = inputs.data.iter().map(packed).collect();
        data.dedup_by(|one, other| one.name == other.name);
        let packed = Inputs { data, ..inputs.clone() };
        let again = compiled.bind(&packed).unwrap_or_else(|error| panic!("{}: {error}", program.name));
        let arrays = |problem: &Problem| -> usize {
            let arrays = problem.as_given().binding.bound.arrays.iter().flatten();
            arrays.filter(|array| array.is_mapped()).count()
        };
        assert_eq!(arrays(&problem), 0, "{}", program.name);
        mapped += usize::from(arrays(&again) > 0);
        let settings = Settings { sweeps: Some(3), restarts: Some(1), ..Settings::default() };
        let own = said(&problem, &settings);
        assert_eq!(own, said(&again, &settings), "{}", program.name);
        whole += usize::from(own.is_ok());
        let symbols = &problem.as_given().model.symbols;
        let is_ragged = |own: &ArrayInput| {
            let letters = symbols.find(&own.name).map(|id| &symbols.array(id).letters);
            letters.into_iter().flatten().any(|letter| symbols.letter(*letter).parent.is_some())
        };
        ragged += usize::from(own.is_ok() && packed.data.iter().any(is_ragged));
        let settings = Settings { shards: Some(Shards::Largest), ..settings };
        let own = said(&problem, &settings);
        assert_eq!(own, said(&again, &settings), "{} in shards", program.name);
        in_shards += usize::from(own.is_ok());
    }
    assert!(whole > 100, "only {whole} programs were compared");
    assert!(in_shards > 60, "only {in_shards} programs were compared in shards");
    assert!(mapped > 80, "the data of {mapped} programs alone stayed in their file");
    assert!(ragged > 5, "{ragged} programs with data along ragged axes alone were compared");
}
