//! `cavi score DIR... --data ...`: how well a fit, or the average of several, predicts new rows; without data, what was held out of it.

use std::path::Path;

use cavi::bind::DataError;
use cavi::directory::{Stored, number, score_json, scores_by_name};
use cavi::heldout::{self, Baselines, HeldOut, Request, Score, rows};
use cavi::rank::metrics::{self, Measured, Metric};
use cavi::{Control, Error, Parameters, Problem, Settings, compare};
use serde_json::Value;

use super::{fit, impute};
use crate::arguments::ScoreArguments;
use crate::failure::Failure;
use crate::progress::Display;
use crate::{interrupt, scores, terminal};

/// Fits what is the rows' own and prints their score.
pub fn run(arguments: &ScoreArguments) -> Result<(), Failure> {
    let directories: Vec<&Path> = arguments.directories.iter().map(|path| path.as_path()).collect();
    let stored = Stored::open_all(&directories)?;
    let metrics = arguments.metrics.as_deref().map(Metric::parse_all).transpose();
    let metrics = metrics.map_err(|error| Error::Usage(vec![error]))?.unwrap_or_default();
    let has_held_out = stored.summary["settings"]["heldout"].as_array().is_some_and(|own| !own.is_empty());
    if arguments.inputs.data.is_empty() && arguments.given.is_empty() && has_held_out {
        return own(arguments, &directories, &metrics);
    }
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
    let mut display = Display::new(arguments.progress, arguments.quiet);
    let fitted = rows::fit(compiled, &inputs, &stored, &directories, &requests, &settings, &mut |progress| {
        display.show(progress);
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    });
    display.finish();
    let mut rows = fitted?;
    rows.held.given_totals = arguments.heldout_totals;
    fit::show_notes(&rows.problem, arguments.quiet);
    for fit in &rows.fits {
        fit::ending(&rows.problem, fit)?;
    }
    note_dropped(rows.dropped);
    let scores = rows.score(seed, settings.threads)?;
    let parameters: Vec<&Parameters> = rows.parameters.iter().collect();
    let measured = measure(arguments, &rows.problem, &parameters, &rows.held, &metrics, seed)?;
    let beside = beside(&rows.problem, &rows.held, settings.threads);
    show(arguments, &scores, &beside, &measured, Some(&rows), seed)
}

/// Scores what was held out of the fits themselves.
fn own(arguments: &ScoreArguments, directories: &[&Path], metrics: &[Metric]) -> Result<(), Failure> {
    impute::refuse_reading_alone(&arguments.inputs)?;
    let of_rows = [("--sweeps", arguments.sweeps.is_some()), ("--tol", arguments.tol.is_some())];
    if let Some((option, _)) = of_rows.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "`{option}` is of the fit of new rows, and none are given by `--data`: what was held out is scored as it was fitted"
        )));
    }
    let mut fits = compare::open(directories, None)?;
    compare::refuse_unlike(&fits, directories).map_err(Error::from)?;
    if arguments.heldout_totals {
        fits[0].held.given_totals = true;
    }
    let parameters: Vec<&Parameters> = fits.iter().map(|fit| &fit.parameters).collect();
    let first = &fits[0];
    let threads = arguments.threads.unwrap_or_else(fit::all_threads);
    let seed = arguments.seed.unwrap_or(first.seed);
    let scores = heldout::score_averaged(&first.problem, &parameters, &first.held, seed, threads)?;
    let measured = measure(arguments, &first.problem, &parameters, &first.held, metrics, seed)?;
    let beside = beside(&first.problem, &first.held, threads);
    show(arguments, &scores, &beside, &measured, None, seed)
}

/// What the same entries have by the means of rows and columns: of new rows those of the parts that were given.
fn beside(problem: &Problem, held: &HeldOut, threads: usize) -> Baselines {
    Baselines { means: heldout::baseline::means(problem, held, threads), one: None }
}

/// The metrics of what is held out of each array.
fn measure(
    arguments: &ScoreArguments,
    problem: &Problem,
    parameters: &[&Parameters],
    held: &HeldOut,
    metrics: &[Metric],
    seed: u64,
) -> Result<Vec<Measured>, Failure> {
    if metrics.is_empty() {
        return Ok(Vec::new());
    }
    let settings = (seed, arguments.threads.unwrap_or_else(fit::all_threads));
    let rank = arguments.rank.as_deref();
    let (measured, notes) = metrics::measure(problem, parameters, held, rank, metrics, settings)?;
    notes.iter().for_each(|note| terminal::note(&format!("note: {note}\n")));
    Ok(measured)
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

fn show(
    arguments: &ScoreArguments,
    scores: &[Score],
    beside: &Baselines,
    measured: &[Measured],
    rows: Option<&rows::Rows>,
    seed: u64,
) -> Result<(), Failure> {
    let all = heldout::together(scores);
    let fits = arguments.directories.len();
    if arguments.json {
        let mut json = score_json(&all);
        json.insert("n_dropped".to_owned(), rows.map_or(0, |rows| rows.dropped).into());
        json.insert("seed".to_owned(), seed.into());
        json.insert("n_fits".to_owned(), fits.into());
        if let Some(log_scale) = rows.and_then(|rows| heldout::log_scale(&rows.problem, &rows.held)) {
            json.insert("log_scale".to_owned(), number(log_scale));
        }
        let runs = || rows.iter().flat_map(|rows| rows.fits.iter().map(cavi::Fit::run));
        let sweeps = runs().map(|run| run.sweeps).max();
        json.insert("sweeps".to_owned(), sweeps.map_or(Value::Null, Value::from));
        let converged = sweeps.map(|_| runs().all(|run| run.converged));
        json.insert("converged".to_owned(), converged.map_or(Value::Null, Value::from));
        json.insert("arrays".to_owned(), scores_by_name(scores));
        json.insert("baselines".to_owned(), beside.json(scores));
        if !measured.is_empty() {
            json.insert("metrics".to_owned(), metrics::json(measured));
        }
        return terminal::print(&format!("{:#}\n", Value::Object(json)));
    }
    let what = if rows.is_some() { "score of" } else { "held out" };
    let line = |(place, score): (usize, &Score)| {
        let table = scores::beside(score, place, beside);
        format!("{}\n{table}", scores::line(what, score, fits)).trim_end().to_owned()
    };
    let mut lines: Vec<String> = scores.iter().enumerate().map(line).collect();
    if scores.len() > 1 {
        lines.push(scores::line("together", &all, fits));
    }
    lines.extend(measured.iter().map(metric_line));
    terminal::print(&format!("{}\n", lines.join("\n")))
}

/// `ndcg@20 of x: 0.3121 (standard error 0.0102) over 400 rows; popularity 0.2011`
fn metric_line(own: &Measured) -> String {
    let Measured { array, metric, count, value, standard_error, popularity } = own;
    if *count == 0.0 {
        let reason = match metric {
            Metric::Rmse | Metric::Mae => "no entry is held out",
            Metric::Auc => "no row has a held-out entry above 0 and another candidate",
            _ => "no row has a held-out entry above 0",
        };
        return format!("{} of {array}: not defined, since {reason}", metric.name());
    }
    let error = standard_error.map_or_else(String::new, |error| format!(" (standard error {error:.4})"));
    let what = match metric {
        Metric::Rmse | Metric::Mae => "entries",
        _ => "rows",
    };
    let beside = match popularity.is_nan() {
        true => "no popularity".to_owned(),
        false => format!("popularity {popularity:.4}"),
    };
    format!("{} of {array}: {value:.4}{error} over {count} {what}; {beside}", metric.name())
}
