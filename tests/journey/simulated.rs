//! What is drawn from the prior of a program can be fitted by it: every program of the repository.

use std::path::{Path, PathBuf};

use cavi::bind::Inputs;
use cavi::simulate::{self, Asked, Place};
use cavi::{Control, Error, Settings};
use cavi_algebra::ArrayKind;
use cavi_tests::support::programs;

/// A directory for the draws of one program.
fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulated").join(name.replace('/', "-"))
}

/// What became of a program.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Fitted,
    /// It needs data that no statement draws.
    NeedsData,
    /// A prior without draws, or so vague that no number holds its draws.
    NoDraws(String),
}

fn outcome(name: &str, text: &str) -> Outcome {
    let symbols = cavi::compile(text, name).into_compiled().expect("it compiles").model.symbols;
    let sizes = symbols.axes.iter().map(|axis| format!("{}=4", axis.name));
    let without_value =
        |array: &&cavi_algebra::Array| array.kind == ArrayKind::Constant && array.value.is_none();
    let constants = symbols.arrays.iter().filter(without_value).map(|array| format!("{}=1", array.name));
    let set: Vec<String> = sizes.chain(constants).collect();
    let inputs = Inputs::parse(&[], &[], &[], &[], &set).expect("sizes");
    let Ok((compiled, _)) = cavi::session::open(text, name, &inputs) else { return Outcome::NeedsData };
    let simulated = match simulate::from_prior(&compiled, &inputs, &Asked { seed: 1, totals: Vec::new() }) {
        Ok(simulated) => simulated,
        Err(Error::Data(problems)) => {
            let message = problems[0].to_string();
            assert!(message.contains("bound to no file"), "{name}: {message}");
            return Outcome::NeedsData;
        }
        Err(error) => {
            assert_eq!(error.code(), "E0906", "{name}: {error}");
            return Outcome::NoDraws(error.to_string());
        }
    };
    if let Some((far, _)) = simulated.far().first() {
        return Outcome::NoDraws((*far).to_owned());
    }
    let directory = directory(name);
    let place = Place::prepare(&directory, &[], true).unwrap_or_else(|error| panic!("{name}: {error}"));
    let list = |files: &[simulate::File]| {
        let line = |file: &simulate::File| format!("{}={}", file.name, directory.join(&file.path).display());
        files.iter().map(line).collect::<Vec<String>>().into()
    };
    let files = place.write(&simulated, text, &list).unwrap_or_else(|error| panic!("{name}: {error}"));
    let data: Vec<String> =
        files.as_array().into_iter().flatten().filter_map(|own| own.as_str().map(str::to_owned)).collect();
    let inputs = Inputs::parse(&data, &[], &[], &[], &set).expect("files");
    let problem = compiled.bind(&inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
    // The data that were read are those that were drawn.
    for id in &simulated.data {
        let shape = simulated.bound.shape(&simulated.model.symbols, *id);
        let (drawn, read) = (simulated.bound.array(*id), problem.as_given().binding.bound.array(*id));
        let array = simulated.model.symbols.array(*id);
        // Standardised data are read in other units.
        if array.center.is_some() || array.scale.is_some() {
            continue;
        }
        for cell in 0..shape.iter().product::<usize>() {
            let mut rest = cell;
            let mut place = vec![0; shape.len()];
            for (position, size) in place.iter_mut().zip(&shape).rev() {
                *position = rest % size;
                rest /= size;
            }
            let (value, there) = drawn.entry(&shape, &place);
            if there {
                assert_eq!(read.entry(&shape, &place).0, value, "{name}: {}{place:?}", array.name);
            }
        }
    }
    let settings =
        Settings { sweeps: Some(1), restarts: Some(1), warmup: Some(Vec::new()), ..Settings::default() };
    problem.fit(&settings, &mut |_| Control::Continue).unwrap_or_else(|error| panic!("{name}: {error}"));
    Outcome::Fitted
}

#[test]
fn what_is_drawn_from_a_prior_is_read_and_fitted() {
    let outcomes: Vec<Outcome> =
        programs().iter().map(|program| outcome(&program.name, &program.text)).collect();
    let fitted = outcomes.iter().filter(|own| **own == Outcome::Fitted).count();
    let needy = outcomes.iter().filter(|own| **own == Outcome::NeedsData).count();
    assert!(fitted > 100, "only {fitted} of {} programs; {needy} need data", outcomes.len());
}
