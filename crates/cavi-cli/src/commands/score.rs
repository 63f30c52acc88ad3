//! `cavi score DIR --data ...`: how well a fit predicts new rows.

use std::path::Path;

use cavi::bind::{Inputs, Problem, SetInput};
use cavi::heldout::rows::{self, RowsError};
use cavi::heldout::{self, Request, Score};
use cavi::{Control, Settings};
use serde_json::Value;

use super::fit;
use crate::arguments::ScoreArguments;
use crate::failure::Failure;
use crate::program::Source;
use crate::progress::Display;
use crate::{interrupt, program, scores, terminal};

/// Fits what is the rows' own and prints their score.
pub fn run(arguments: &ScoreArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let summary = summary(directory)?;
    let source = model(directory)?;
    let mut inputs = fit::inputs(&arguments.inputs)?;
    inputs.set.extend(earlier(&summary, &inputs));
    let requests: Result<Vec<Request>, Problem> =
        arguments.given.iter().map(|text| Request::parse_file("--given", text)).collect();
    let requests = requests.map_err(|problem| Failure::Usage(fit::text_of(&[problem])))?;
    let compiled = program::compile_again(&source, &inputs.set_values())?;
    fit::refuse_unbound(&compiled, &inputs)?;

    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let seed = arguments.seed.or(compiled.model.as_ref().and_then(|model| model.fit.seed)).unwrap_or(0);
    let settings = Settings {
        sweeps: arguments.sweeps,
        tolerance: arguments.tol,
        seed: Some(seed),
        threads: arguments.threads.unwrap_or(all),
        ..Settings::default()
    };
    interrupt::listen();
    let mut display = Display::new(arguments.progress, arguments.quiet);
    let shown = compiled.clone();
    let fitted = rows::fit(compiled, &inputs, directory, &requests, &settings, &mut |progress| {
        display.show(progress);
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    });
    display.finish();
    let rows = fitted.map_err(|error| match error {
        RowsError::Refused(refusal) => fit::refused(&shown, refusal),
        RowsError::Fit(compiled, error) => fit::failure(&compiled, error),
    })?;
    fit::show_notes(&rows.binding, arguments.quiet);
    if let Some(fit) = &rows.fit {
        fit::ending(&rows.compiled, fit)?;
    }
    if rows.dropped > 0 {
        let (have, are) = if rows.dropped == 1 { ("entry has", "is") } else { ("entries have", "are") };
        terminal::note(&format!(
            "note: {} {have} a label that the fit does not know, and {are} left out\n",
            rows.dropped
        ));
    }
    let scores =
        heldout::score(&rows.compiled, &rows.binding, &rows.parameters, &rows.held, seed, settings.threads)
            .map_err(|diagnostic| Failure::Wrong(program::text_of(&rows.compiled, &[*diagnostic])))?;
    show(arguments, &scores, &rows, seed)
}

fn show(arguments: &ScoreArguments, scores: &[Score], rows: &rows::Rows, seed: u64) -> Result<(), Failure> {
    let all = heldout::together(scores);
    if arguments.json {
        let mut json = scores::json(&all);
        json.insert("n_dropped".to_owned(), rows.dropped.into());
        json.insert("seed".to_owned(), seed.into());
        let run = rows.fit.as_ref().map(cavi::Fit::run);
        json.insert("sweeps".to_owned(), run.map_or(Value::Null, |run| run.sweeps.into()));
        json.insert("converged".to_owned(), run.map_or(Value::Null, |run| run.converged.into()));
        json.insert("arrays".to_owned(), scores::by_name(scores));
        return terminal::print(&format!("{:#}\n", Value::Object(json)));
    }
    let mut lines: Vec<String> = scores.iter().map(|score| scores::line("score of", score)).collect();
    if scores.len() > 1 {
        lines.push(scores::line("together", &all));
    }
    terminal::print(&format!("{}\n", lines.join("\n")))
}

/// What the fit left in `summary.json`.
fn summary(directory: &Path) -> Result<Value, Failure> {
    let path = directory.join("summary.json");
    let possible = "expected the directory of a fit, which `cavi fit ... --out DIR` writes";
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::wrong(format!("`{}` cannot be read: {error}\n  {possible}", path.display()))
    })?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::wrong(format!("`{}` is no JSON: {error}\n  {possible}", path.display())))
}

/// The program of the fit.
fn model(directory: &Path) -> Result<Source, Failure> {
    let path = directory.join("model.cavi");
    let name = path.display().to_string();
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Source { name, text, is_file: true }),
        Err(error) => Err(Failure::wrong(format!("`{name}` cannot be read: {error}"))),
    }
}

/// What `--set` gave the fit and is not given again.
fn earlier(summary: &Value, inputs: &Inputs) -> Vec<SetInput> {
    let texts = summary["settings"]["set"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let parsed = texts.filter_map(|text| SetInput::parse(text)?.ok());
    parsed.filter(|own| inputs.set.iter().all(|other| other.name != own.name)).collect()
}
