//! `cavi sample DIR`: draws from q, of latents and of deterministic names.

use cavi::directory::{list_files, number};
use cavi::reopen;
use cavi::sample::{self, Asked, Drawn, LEVELS, Place, Sample, What};
use cavi::summary::digits;
use serde_json::{Map, Value, json};

use super::impute;
use crate::arguments::SampleArguments;
use crate::failure::Failure;
use crate::{table, terminal};

/// So many elements of a variable are shown; `sample.json` has all.
const MOST: usize = 200;

/// Draws, writes, and prints tables of deterministic names and of what was asked for by name.
pub fn run(arguments: &SampleArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let given = impute::given(&arguments.inputs, directory)?;
    let fit = reopen::open(directory, given.as_ref())?;
    let seed = arguments.seed.unwrap_or(0);
    let asked = Asked { draws: arguments.draws, seed, names: arguments.names.clone() };
    let sample = sample::sample(&fit.problem, &fit.parameters, &asked)?;
    let out = arguments.out.clone().unwrap_or_else(|| directory.join("sample"));
    let place = Place::prepare(&out, directory, arguments.force.force)?;
    let json = summary(arguments, &sample, seed);
    place.write(&sample, &json)?;
    if arguments.out.is_none() {
        list_files(directory, std::slice::from_ref(&out))?;
    }
    if arguments.json {
        return terminal::print(&format!("{json:#}\n"));
    }
    if arguments.quiet {
        return Ok(());
    }
    for (name, reason) in &sample.left_out {
        terminal::note(&format!("note: `{name}` has no draws: {reason}\n"));
    }
    let texts = sample.drawn.iter().map(|own| text(&sample, own, has_table(own, arguments)));
    terminal::print(&format!("{}written to {}\n", texts.collect::<String>(), out.display()))
}

/// Whether the numbers of a variable are told: of a deterministic name, and of a latent that is asked for by its name. Positions have no mean.
fn has_table(own: &Drawn, arguments: &SampleArguments) -> bool {
    match own.what {
        What::Function => true,
        What::Latent => !arguments.names.is_empty(),
        What::Index => false,
    }
}

/// A line of a variable; of a deterministic name, and of what is named, a table.
fn text(sample: &Sample<'_>, own: &Drawn, has_table: bool) -> String {
    let shape: Vec<String> = own.shape.iter().map(ToString::to_string).collect();
    let shape = if shape.is_empty() { "a number".to_owned() } else { shape.join(" x ") };
    let what = match own.what {
        What::Latent => "",
        What::Index => ", positions from 0",
        What::Function => ", a function of draws",
    };
    let line = format!("{}: {} draws of {shape}{what}\n", own.name, sample.draws);
    if !has_table {
        return line;
    }
    let mut head = sample.columns(own);
    head.extend(["mean", "sd"].map(str::to_owned));
    head.extend(LEVELS.iter().map(|(_, name)| (*name).to_owned()));
    let mut rows = vec![head];
    for cell in sample.cells(own).take(MOST) {
        let spread = own.spread(cell);
        let numbers = [spread.mean, spread.sd].into_iter().chain(spread.quantiles);
        let mut row = sample.labels(own, cell);
        row.extend(numbers.map(|value| digits(value, 6)));
        rows.push(row);
    }
    let lines: String = table::aligned(&rows).lines().map(|line| format!("  {line}\n")).collect();
    let more = sample.cells(own).count().saturating_sub(MOST);
    let more = if more > 0 { format!("  ... and {more} more\n") } else { String::new() };
    format!("{line}{lines}{more}")
}

/// What `sample.json` says.
fn summary(arguments: &SampleArguments, sample: &Sample<'_>, seed: u64) -> Value {
    let one = |own: &Drawn| {
        let what = match own.what {
            What::Latent => "latent",
            What::Index => "index",
            What::Function => "function",
        };
        let mut json = json!({ "what": what, "axes": sample.columns(own), "shape": own.shape });
        if has_table(own, arguments) {
            json["elements"] = sample.cells(own).map(|cell| element(sample, own, cell)).collect();
        }
        (own.name.clone(), json)
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "fit": arguments.directory.display().to_string(),
        "draws": sample.draws,
        "seed": seed,
        "variables": sample.drawn.iter().map(one).collect::<Map<String, Value>>(),
        "left_out": sample.left_out.iter().map(|(name, reason)| (name.clone(), json!(reason))).collect::<Map<_, _>>(),
    })
}

/// An element of a variable.
fn element(sample: &Sample<'_>, own: &Drawn, cell: usize) -> Value {
    let spread = own.spread(cell);
    let mut json = json!({
        "labels": sample.labels(own, cell),
        "mean": number(spread.mean),
        "sd": number(spread.sd),
    });
    for ((_, name), value) in LEVELS.iter().zip(spread.quantiles) {
        json[*name] = number(value);
    }
    json
}
