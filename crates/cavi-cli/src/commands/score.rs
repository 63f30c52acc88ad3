//! `cavi score DIR... --data ...`: how well a fit, or the average of several, predicts new rows.

use std::path::Path;

use cavi::bind::DataError;
use cavi::directory::{Stored, score_json, scores_by_name};
use cavi::heldout::{self, Request, Score, rows};
use cavi::{Control, Error, Settings};
use serde_json::Value;

use super::fit;
use crate::arguments::ScoreArguments;
use crate::failure::Failure;
use crate::progress::Display;
use crate::{interrupt, scores, terminal};

/// Fits what is the rows' own and prints their score.
pub fn run(arguments: &ScoreArguments) -> Result<(), Failure> {
    let directories: Vec<&Path> = arguments.directories.iter().map(|path| path.as_path()).collect();
    let stored = Stored::open_all(&directories)?;
    let inputs = fit::inputs_as_fitted(&arguments.inputs, &stored)?;
    let requests: Result<Vec<Request>, DataError> =
        arguments.given.iter().map(|text| Request::parse_file("--given", text)).collect();
    let requests = requests.map_err(|error| Error::Usage(vec![error]))?;
    // The warnings about the program were shown when it was fitted.
    let (compiled, _) =
        cavi::session::open(&stored.text, &stored.file_name, &stored.with_earlier(inputs.clone()))?;
    compiled.refuse_unbound(&inputs)?;

    let seed = compiled.seed(arguments.seed);
    let settings = Settings {
        sweeps: arguments.sweeps,
        tolerance: arguments.tol,
        allocations: stored.allocations,
        seed: Some(seed),
        threads: arguments.threads.unwrap_or_else(fit::all_threads),
        stop: Some(interrupt::flag()),
        ..Settings::default()
    };
    interrupt::listen();
    let mut display = Display::new(arguments.progress, arguments.quiet);
    let fitted = rows::fit(compiled, &inputs, &stored, &directories, &requests, &settings, &mut |progress| {
        display.show(progress);
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    });
    display.finish();
    let rows = fitted?;
    fit::show_notes(&rows.problem, arguments.quiet);
    for fit in &rows.fits {
        fit::ending(&rows.problem, fit)?;
    }
    note_dropped(rows.dropped);
    let scores = rows.score(seed, settings.threads)?;
    show(arguments, &scores, &rows, seed)
}

/// Says how many entries were left out for a label that the fit does not have.
pub fn note_dropped(dropped: usize) {
    if dropped > 0 {
        let (have, are) = if dropped == 1 { ("entry has", "is") } else { ("entries have", "are") };
        terminal::note(&format!(
            "note: {dropped} {have} a label that the fit does not know, and {are} left out\n"
        ));
    }
}

fn show(arguments: &ScoreArguments, scores: &[Score], rows: &rows::Rows, seed: u64) -> Result<(), Failure> {
    let all = heldout::together(scores);
    let fits = rows.parameters.len();
    if arguments.json {
        let mut json = score_json(&all);
        json.insert("n_dropped".to_owned(), rows.dropped.into());
        json.insert("seed".to_owned(), seed.into());
        json.insert("n_fits".to_owned(), fits.into());
        let runs = || rows.fits.iter().map(cavi::Fit::run);
        let sweeps = runs().map(|run| run.sweeps).max();
        json.insert("sweeps".to_owned(), sweeps.map_or(Value::Null, Value::from));
        let converged = sweeps.map(|_| runs().all(|run| run.converged));
        json.insert("converged".to_owned(), converged.map_or(Value::Null, Value::from));
        json.insert("arrays".to_owned(), scores_by_name(scores));
        return terminal::print(&format!("{:#}\n", Value::Object(json)));
    }
    let mut lines: Vec<String> = scores.iter().map(|score| scores::line("score of", score, fits)).collect();
    if scores.len() > 1 {
        lines.push(scores::line("together", &all, fits));
    }
    terminal::print(&format!("{}\n", lines.join("\n")))
}
