//! `cavi simulate MODEL|DIR --out DIR2`: latents and data, drawn.

use std::path::Path;

use cavi::bind::{DataError, Inputs};
use cavi::simulate::{self, Asked, File, Place, Simulated, TOTAL};
use cavi::{Error, reopen};
use serde_json::{Value, json};

use super::{fit, impute};
use crate::arguments::{InputArguments, ReadingArguments, SimulateArguments};
use crate::failure::Failure;
use crate::{program, terminal};

/// Draws and writes.
pub fn run(arguments: &SimulateArguments) -> Result<(), Failure> {
    let seed = arguments.seed.unwrap_or(0);
    let totals = arguments.total.iter().map(|text| total(text)).collect::<Result<_, Failure>>()?;
    let asked = Asked { seed, totals };
    let directory = Path::new(&arguments.model);
    let reads: &[&Path] = if directory.is_dir() { &[directory] } else { &[] };
    let place = Place::prepare(&arguments.out, reads, arguments.force.force)?;
    let (simulated, text, own) = match directory.join("summary.json").is_file() {
        true => {
            let fit = reopen::open(directory, impute::given(&arguments.inputs, directory)?.as_ref())?;
            let own = &fit.stored.summary["settings"];
            let texts = |key: &str| -> Vec<String> {
                own[key]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|own| own.as_str().map(str::to_owned))
                    .collect()
            };
            let inputs = InputArguments {
                data: texts("data"),
                reading: ReadingArguments {
                    columns: texts("columns"),
                    transpose: texts("transpose"),
                    labels: texts("labels"),
                    ..arguments.inputs.reading.clone()
                },
                set: texts("set"),
                memory_limit: None,
                scratch: None,
            };
            (simulate::from_fit(&fit, &asked)?, fit.stored.text.clone(), inputs)
        }
        false => {
            let source = program::find(&arguments.model)?;
            let inputs = fit::inputs(&arguments.inputs)?;
            let compiled = program::open(&source, &inputs, &[])?;
            let inputs = Inputs { sizes_of_covariances: false, ..inputs };
            (simulate::from_prior(&compiled, &inputs, &asked)?, source.text, arguments.inputs.clone())
        }
    };
    for name in &simulated.assumed {
        terminal::note(&format!(
            "note: each row of `{name}` has {TOTAL} units, since nothing says its total; `--total {name}=N` does\n"
        ));
    }
    for (name, count, reason) in &simulated.left_out {
        terminal::note(&format!(
            "note: {count} entries of `{name}` are left missing, where the fit saw no data: {reason}\n"
        ));
    }
    for (by, name) in simulated.weighed() {
        terminal::note(&format!(
            "note: `{by}` counts rows of `{name}` more than once, and one value was drawn for each: a fit of these draws with `{by}` takes \
             them for as many equal ones\n"
        ));
    }
    for name in simulated.computed() {
        terminal::note(&format!(
            "note: the program computes `{name}` from other data, so that no fit of it takes these draws; declare `{name}` without its \
             expression to fit them\n"
        ));
    }
    for (name, largest) in simulated.far() {
        terminal::note(&format!(
            "warning: draws of `{name}` reach {largest:.1e}: a prior above it is too vague to be drawn from; give its constants \
             other values, `--set NAME=VALUE`\n"
        ));
    }
    let written =
        place.write(&simulated, &text, &|files| summary(arguments, &own, seed, &simulated, files))?;
    if arguments.json {
        return terminal::print(&format!("{written:#}\n"));
    }
    let lines: String = written["arrays"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, own)| {
            let shape: Vec<String> =
                own["shape"].as_array().into_iter().flatten().map(Value::to_string).collect();
            let shape = if shape.is_empty() { "a number".to_owned() } else { shape.join(" x ") };
            format!("{name}: {shape}, {}\n", own["file"].as_str().unwrap_or_default())
        })
        .collect();
    let command = written["command"].as_str().unwrap_or_default();
    // A line without a draw fits what was given.
    let what = match simulated.computed().len() < simulated.data.len() {
        true => "them",
        false => "the data that were given, and not these draws",
    };
    terminal::print(&format!("{lines}written to {}\nto fit {what}: {command}\n", arguments.out.display()))
}

/// `NAME=N`
pub fn total(text: &str) -> Result<(String, u64), Failure> {
    let wrong = || {
        let problem = DataError::new(format!("`--total {text}` is not of the form `NAME=N`"));
        Failure::from(Error::Usage(vec![
            problem.possible("the name of data, and a whole number, 0 or greater"),
        ]))
    };
    let (name, number) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.to_owned(), number.parse().map_err(|_| wrong())?))
}

/// What `simulated.json` says.
fn summary(
    arguments: &SimulateArguments,
    own: &InputArguments,
    seed: u64,
    simulated: &Simulated,
    files: &[File],
) -> Value {
    let symbols = &simulated.model.symbols;
    let shape = |name: &str| symbols.find(name).map(|id| simulated.bound.shape(symbols, id));
    let arrays = files.iter().map(|file| {
        let own = json!({ "file": file.path.display().to_string(), "shape": shape(&file.name) });
        (file.name.clone(), own)
    });
    let latents = simulated.latents.iter().map(|id| symbols.array(*id).name.clone());
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "from": arguments.model,
        "seed": seed,
        "totals": arguments.total,
        "data": own.data,
        "set": own.set,
        "arrays": arrays.collect::<serde_json::Map<String, Value>>(),
        "latents": latents.collect::<Vec<String>>(),
        "command": command(arguments, own, simulated, files),
    })
}

/// The line that fits what was drawn, with what was not drawn as it was given.
fn command(
    arguments: &SimulateArguments,
    own: &InputArguments,
    simulated: &Simulated,
    files: &[File],
) -> String {
    let out = &arguments.out;
    let model = match Path::new(&arguments.model).is_dir() {
        true => out.join("model.cavi").display().to_string(),
        false => arguments.model.clone(),
    };
    let is_drawn = |text: &String| {
        let name = text.split(['=', '[', ':']).next().unwrap_or_default();
        files.iter().any(|file| file.name == name)
    };
    let computed = simulated.computed();
    let taken = files.iter().filter(|file| !computed.contains(&file.name.as_str()));
    let drawn = taken.map(|file| format!("{}={}", file.name, out.join(&file.path).display()));
    let mut words = vec!["cavi".to_owned(), "fit".to_owned(), model];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    drawn.for_each(|data| option("--data", data));
    for name in simulated.labelled(files) {
        let is_given = own.reading.labels.iter().any(|own| own.split('=').next() == Some(name));
        if !is_given {
            let file = out.join("axes").join(format!("{name}.txt"));
            option("--labels", format!("{name}={}", file.display()));
        }
    }
    for (name, values) in [
        ("--data", &own.data),
        ("--columns", &own.reading.columns),
        ("--transpose", &own.reading.transpose),
        ("--labels", &own.reading.labels),
        ("--set", &own.set),
    ] {
        values.iter().filter(|value| !is_drawn(value)).for_each(|value| option(name, value.clone()));
    }
    option("--out", "DIR".to_owned());
    words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
