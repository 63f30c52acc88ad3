//! `cavi fit MODEL --data ... --out DIR`: the main job.

mod folds;

use std::path::Path;
use std::sync::Arc;

use cavi::bind::{DataError, Inputs};
use cavi::directory::{Asked, Directory, OwnRun, Stored, Summary};
use cavi::heldout::one_component::{self, Split};
use cavi::heldout::{Baselines, HeldOut, Request, Score};
use cavi::schedule::ABOUT_THE_SWEEP;
use cavi::start::Given;
use cavi::{Control, Error, Fit, Kind, Problem, Schedule, Settings};
use cavi_report::Options;
use cavi_syntax::ast::Allocations;

use super::report;
use crate::arguments::{
    Acceleration, FitArguments, InputArguments, Keep, ReadingArguments, RuleArguments, RunArguments,
};
use crate::commands::resume::{self, Beginning};
use crate::failure::Failure;
use crate::progress::{Display, duration};
use crate::watch::Watch;
use crate::{components, explained, findings, interrupt, program, scores, team, terminal};

/// A fit of so many seconds takes no longer than a reader notices.
const SHORT: f64 = 2.0;

/// What to say of a fit that failed without its held-out part.
const WITHOUT_A_PART: &str = "  note: a part of the data was held out. Hidden entries are missing ones; of `count` data with `absent = 0` under \
    Poisson or Multinomial a fraction of the units is held out instead, and nothing is missing.\n";

/// Fits and writes the directory.
pub fn run(arguments: &FitArguments) -> Result<(), Failure> {
    let quiet = arguments.run.quiet;
    if arguments.folds.is_some() && team::others().is_some() {
        return Err(Failure::usage("`--folds` is for one process: `cavi fit --folds` fits the folds"));
    }
    if arguments.heldout_totals && arguments.heldout.is_empty() && arguments.folds.is_none() {
        return Err(Failure::usage(
            "`--heldout-totals` says how held-out counts are scored: it goes with `--heldout` or `--folds`",
        ));
    }
    // One of the two is there: the command line is refused without.
    let out = arguments.out.clone().or_else(|| arguments.checkpoints.resume.clone()).unwrap_or_default();
    let source = program::find(&arguments.model)?;
    let mut inputs = inputs(&arguments.inputs)?;
    inputs.fix = Inputs::parse_fixed(&arguments.start.fix).map_err(Error::Usage)?;
    let ignored: &[&str] = if arguments.run.rules.schedule.is_some() { &ABOUT_THE_SWEEP } else { &[] };
    let compiled = program::open(&source, &inputs, ignored)?;
    let for_folds = arguments.folds.map(|of| (compiled.clone(), of));
    let for_watch = arguments.watch.map(|port| (compiled.clone(), port));
    let requests = requests(&arguments.heldout)?;
    let seed = compiled.seed(arguments.run.seed);
    let totals = arguments.heldout_totals;
    let without_a_part = |error: Error| explain_part(error, !requests.is_empty());
    let (problem, held) =
        compiled.bind_without_by(&inputs, &requests, arguments.run.seed, totals).map_err(&without_a_part)?;
    let mut settings = settings(&problem, &arguments.run)?;
    settings.keep_all = arguments.keep == Keep::All;
    settings.others = team::others().cloned();
    if let Some(init) = &arguments.start.init {
        settings.given = Some(start(&problem, init, arguments, (seed, settings.schedule.as_ref()))?);
    }
    let earlier = match resume::beginning(&arguments.checkpoints, &problem, &settings, quiet)? {
        Beginning::At(earlier) => earlier,
        Beginning::Finished => {
            let directory = arguments.checkpoints.resume.as_ref().unwrap_or(&out);
            // What is left where it was killed while it took its checkpoints away.
            cavi::checkpoint::remove(directory)?;
            if directory != &out && team::is_first() {
                cavi::directory::copy(directory, &out, arguments.force.force)?;
            }
            let also = if team::is_first() { pages(arguments, &out)? } else { String::new() };
            return resume::say_finished(&out, arguments.json, quiet, &also);
        }
    };
    let problem = Arc::new(problem);
    let is_first = team::is_first();
    let directory =
        is_first.then(|| Directory::prepare(&out, &problem, &[], arguments.force.force)).transpose()?;
    settings.checkpoints = resume::checkpoints(&arguments.checkpoints, &out, earlier, &problem, &settings);
    let asked = asked(arguments).of(&inputs, seed);
    show_notes(&problem, quiet);
    let folds = for_folds
        .map(|(compiled, of)| folds::fitted(&compiled, &inputs, of, totals, &arguments.run))
        .transpose()?;
    // One process serves the page.
    let for_watch = for_watch.filter(|_| is_first);
    let watch = for_watch.map(|(compiled, port)| Watch::start(port, &compiled, &problem)).transpose()?;
    team::agree(&cavi::checkpoint::facts(&problem, &settings))?;
    settings.glances = watch.as_ref().map(Watch::glances);
    let fitted = fit_watched(&problem, &settings, &arguments.run, watch.as_ref());
    team::after_fit();
    let fit = fitted.map_err(&without_a_part)?;
    settings.glances = None;
    if let Some(watch) = &watch {
        watch.fitted(&outcome(&fit), &fit);
    }
    let Some(directory) = directory else { return Ok(()) };
    // What follows is for this process alone.
    settings.others = None;
    resume::warn(&settings);
    let Scored { best, runs, averaged, failure } = scored(&problem, &fit, &held, seed, settings.threads);
    let split = Split { inputs: &inputs, requests: &requests, seed, held: &held };
    let baselines = (!best.is_empty()).then(|| beside(&problem, &fit, &split, &settings, &arguments.run));
    let summary = Summary {
        problem: &problem,
        fit: &fit,
        settings: &settings,
        asked: &asked,
        scores: &best,
        runs: &runs,
        averaged: averaged.as_deref(),
        folds: folds.as_ref(),
        baselines: baselines.as_ref(),
    };
    let written = directory.write(&summary);
    let json = written.map_err(|error| resume::unwritten(error, &arguments.checkpoints, &out, &settings))?;
    if !fit.interrupted {
        cavi::checkpoint::remove(&out)?;
    }
    let also = pages(arguments, &out)?;
    if arguments.json {
        terminal::print(&format!("{json:#}\n"))?;
    } else if !quiet {
        let own = best.iter().enumerate().map(|(place, score)| {
            let table = baselines.as_ref().map_or_else(String::new, |own| scores::beside(score, place, own));
            format!("{}\n{table}", scores::line("held out", score, 1))
        });
        let of_all = averaged.iter().flatten();
        let of_all = of_all.map(|score| format!("{}\n", scores::line("held out", score, runs.len())));
        let lines: String = own.chain(of_all).collect();
        let validated = folds.as_ref().map(folds::text).unwrap_or_default();
        let found = found(&problem, &fit);
        let fixed: String = cavi::fixed::lines(&problem).iter().map(|line| format!("{line}\n")).collect();
        terminal::print(&format!(
            "{validated}{}\n{fixed}{}{}{lines}{found}written to {}\n{also}",
            outcome(&fit),
            explained::lines(&json["explained"]),
            components::lines(&json["components"]),
            out.display()
        ))?;
    }
    if let Some(watch) = watch {
        watch.end(&outcome(&fit));
    }
    if let Some(error) = failure {
        return Err(error.into());
    }
    ending(&problem, &fit)
}

/// Writes the page and the charts that are asked for beside a fit, and says where.
fn pages(arguments: &FitArguments, out: &Path) -> Result<String, Failure> {
    let page = match arguments.report {
        true => {
            format!("a page about it: {}\n", report::beside(out, &Options::default())?.display())
        }
        false => String::new(),
    };
    let plots = match arguments.plots.asked() {
        true => report::plots_beside(out, &[], &arguments.plots)?,
        false => String::new(),
    };
    Ok(format!("{page}{plots}"))
}

/// What the `report` lines of the program show of a fit; nothing without such lines.
fn found(problem: &Problem, fit: &Fit) -> String {
    if problem.model.report.is_empty() {
        return String::new();
    }
    let (found, warnings) = problem.findings(fit);
    warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
    findings::text(&found)
}

/// How well a fit predicts what was held out of it.
struct Scored<'a> {
    best: Vec<Score>,
    /// The runs that are kept, each with its own scores.
    runs: Vec<OwnRun<'a>>,
    /// Of the average of their predictions, where there are several.
    averaged: Option<Vec<Score>>,
    failure: Option<Error>,
}

/// Scores a fit and the runs of it that are kept. Without a score there is still a fit.
fn scored<'a>(problem: &Problem, fit: &'a Fit, held: &HeldOut, seed: u64, threads: usize) -> Scored<'a> {
    let mut failure = None;
    let mut of = |fits: &[&Fit]| match problem.score_averaged(fits, held, seed, threads) {
        Ok(scores) => scores,
        Err(error) => {
            failure.get_or_insert(error);
            Vec::new()
        }
    };
    let best = of(&[fit]);
    let scores = |(number, own): &'a (usize, Fit)| {
        let scores = if *number == fit.best { best.clone() } else { of(&[own]) };
        OwnRun { number: number + 1, fit: own, scores }
    };
    let runs: Vec<OwnRun<'a>> = fit.kept.iter().map(scores).collect();
    let all: Vec<&Fit> = runs.iter().map(|run| run.fit).collect();
    let averaged = (all.len() > 1).then(|| of(&all));
    Scored { best, runs, averaged, failure }
}

/// What stands beside the scores of a fit; its progress is not shown, since it takes no longer than the fit did.
fn beside(
    problem: &Problem,
    fit: &Fit,
    split: &Split<'_>,
    settings: &Settings,
    arguments: &RunArguments,
) -> Baselines {
    if !arguments.quiet && fit.seconds > SHORT {
        terminal::note("the same program with one component, to compare\n");
    }
    one_component::beside(problem, fit, split, settings, &mut |_| {
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    })
}

/// `converged after 57 sweeps in 1.2 s: ELBO -12345.6`
pub fn outcome(fit: &Fit) -> String {
    let run = fit.run();
    if fit.interrupted && run.sweeps == 0 {
        return format!("interrupted before sweep 1: ELBO {:.6} at the start", run.elbo);
    }
    let how = match (run.converged, fit.interrupted, &fit.failure) {
        (_, true, _) => "interrupted after",
        (_, _, Some(_)) => "ended early after",
        (true, ..) => "converged after",
        (false, ..) if run.sweeps == 0 => "start only, after",
        // Such sweeps end by their number: that of the best predictions is no limit.
        (false, ..) if fit.settings.allocations != Allocations::Ordinary => "ended after",
        (false, ..) => "not converged after",
    };
    let sweeps = if run.sweeps == 1 { "1 sweep".to_owned() } else { format!("{} sweeps", run.sweeps) };
    let failed = fit.runs.iter().filter(|run| run.failure.is_some()).count();
    let best = match (fit.runs.len(), failed) {
        (1, _) => String::new(),
        (runs, 0) => format!(", best of {runs} runs (seed {})", run.seed),
        (runs, failed) => format!(", best of {runs} runs, {failed} of which failed (seed {})", run.seed),
    };
    format!("{how} {sweeps} in {}: ELBO {:.6}{best}", duration(fit.seconds), run.elbo)
}

/// The failure of a fit that ended before its time, everything written.
pub fn ending(problem: &Problem, fit: &Fit) -> Result<(), Failure> {
    if fit.interrupted {
        return Err(Failure::Interrupted);
    }
    match &fit.failure {
        None => Ok(()),
        Some(failure) => Err(problem.error(vec![failure.clone()]).into()),
    }
}

/// Runs the fit, its progress and its warnings shown.
pub fn fit(problem: &Problem, settings: &Settings, arguments: &RunArguments) -> Result<Fit, Error> {
    fit_watched(problem, settings, arguments, None)
}

/// The same, of a fit that a page follows.
fn fit_watched(
    problem: &Problem,
    settings: &Settings,
    arguments: &RunArguments,
    watch: Option<&Watch>,
) -> Result<Fit, Error> {
    let mut display = Display::new(arguments.progress, arguments.quiet);
    let result = problem.fit(settings, &mut |progress| {
        interrupt::hold();
        display.show(progress);
        if let Some(watch) = watch {
            watch.note(progress);
        }
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    });
    display.finish();
    let fit = result?;
    terminal::note(&program::text_of(&problem.source, &fit.warnings));
    Ok(fit)
}

/// What `--data`, `--columns`, `--transpose`, `--labels` and `--set` say.
pub fn inputs(arguments: &InputArguments) -> Result<Inputs, Failure> {
    let InputArguments { data, reading, set, memory_limit: _, scratch: _ } = arguments;
    let ReadingArguments { columns, transpose, labels, unique, texts } = reading;
    let mut inputs = Inputs::parse(data, columns, transpose, labels, set).map_err(Error::Usage)?;
    inputs.unique = *unique;
    inputs.texts = texts.over(inputs.texts).map_err(|error| Error::from(DataError::from(error)))?;
    inputs.asked_of_texts = texts.given().into_iter().map(|(option, _)| option).collect();
    Ok(inputs)
}

/// The same for new rows of a fit: texts are read as the fit read them, but for what the options say, and labels that stand twice are kept apart
/// where the fit kept them so.
pub fn inputs_as_fitted(arguments: &InputArguments, stored: &Stored) -> Result<Inputs, Failure> {
    let mut inputs = inputs(arguments)?;
    let read = stored.texts.clone().unwrap_or_default();
    inputs.unique |= stored.unique();
    inputs.texts = arguments.reading.texts.over(read).map_err(|error| Error::from(DataError::from(error)))?;
    Ok(inputs)
}

/// What `--heldout` says.
fn requests(texts: &[String]) -> Result<Vec<Request>, Failure> {
    let parsed: Result<Vec<Request>, DataError> =
        texts.iter().map(|text| Request::parse("--heldout", text)).collect();
    Ok(parsed.map_err(|error| Error::Usage(vec![error]))?)
}

/// An error of a fit, with a note where a part of the data was held out of it.
fn explain_part(error: Error, held_out: bool) -> Failure {
    let about_the_fit = error.kind() == Kind::Wrong && !matches!(error, Error::Data(_) | Error::File(_));
    // That entries cannot be hidden, or scored, says so itself.
    let explained = ["E0901", "E0902"].contains(&error.code());
    match Failure::from(error) {
        Failure::Wrong(message) if held_out && about_the_fit && !explained => {
            Failure::Wrong(message + WITHOUT_A_PART)
        }
        other => other,
    }
}

/// What was understood of the data, and what there is to say about them.
pub fn show_notes(problem: &Problem, quiet: bool) {
    let binding = &problem.binding;
    if !quiet {
        binding.read.iter().for_each(|line| terminal::note(&format!("{line}\n")));
    }
    binding.warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
    if !quiet {
        binding.notes.iter().for_each(|note| terminal::note(&format!("note: {note}\n")));
    }
}

/// As many threads as the machine runs at once.
pub fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The settings that the options ask for.
pub fn settings(problem: &Problem, arguments: &RunArguments) -> Result<Settings, Failure> {
    Ok(Settings {
        sweeps: arguments.sweeps,
        tolerance: arguments.tol,
        accelerate: arguments.accelerate.map(|own| own == Acceleration::Auto),
        seed: arguments.seed,
        restarts: arguments.restarts,
        threads: arguments.threads.unwrap_or_else(all_threads),
        precision: arguments.precision,
        elbo_every: arguments.elbo_every,
        verify: arguments.verify,
        stop: Some(interrupt::flag()),
        ..rules(problem, &arguments.rules)?
    })
}

/// The settings that say what a sweep does; all else as it is by default.
pub fn rules(problem: &Problem, arguments: &RuleArguments) -> Result<Settings, Failure> {
    let schedule = match &arguments.schedule {
        None => None,
        Some(text) => {
            let resolved = problem.schedule(text)?;
            terminal::note(&program::text_in(&resolved.about_items, "--schedule", text));
            terminal::note(&program::text_of(&problem.source, &resolved.about_program));
            Some(resolved.schedule)
        }
    };
    Ok(Settings {
        schedule,
        warmup: arguments.warmup.as_deref().map(|text| problem.warmups(text)).transpose()?,
        batch: arguments.batch.as_deref().map(|text| problem.batch(text)).transpose()?,
        shards: arguments.shards.as_deref().map(|text| problem.shards(text)).transpose()?,
        allocations: arguments.allocations.map(|rule| problem.allocations(rule)).transpose()?,
        ..Settings::default()
    })
}

/// What `--init` and `--grow` start from, with what there is to say about it.
fn start(
    problem: &Problem,
    init: &Path,
    arguments: &FitArguments,
    (seed, schedule): (u64, Option<&Schedule>),
) -> Result<Given, Error> {
    if arguments.start.grow {
        let (given, notes) = problem.given_grown(init, seed)?;
        if !arguments.run.quiet {
            notes.iter().for_each(|note| terminal::note(&format!("{note}\n")));
        }
        return Ok(given);
    }
    let (given, warnings) = problem.given_by(init, schedule)?;
    warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
    Ok(given)
}

/// What `summary.json` keeps of the options.
fn asked(arguments: &FitArguments) -> Asked {
    let InputArguments { data, reading, set, memory_limit: _, scratch: _ } = arguments.inputs.clone();
    let ReadingArguments { columns, transpose, labels, unique, texts: _ } = reading;
    Asked {
        schedule: arguments.run.rules.schedule.clone(),
        data,
        columns,
        transpose,
        labels,
        unique,
        set,
        heldout: arguments.heldout.clone(),
        heldout_totals: arguments.heldout_totals,
        folds: arguments.folds,
        init: arguments.start.init.as_ref().map(|init| init.display().to_string()),
        grow: arguments.start.grow,
        fix: arguments.start.fix.clone(),
        ..Asked::default()
    }
}
