//! `cavi fit MODEL --data ... --out DIR`: the main job.

use std::path::Path;

use cavi::bind::{Binding, Inputs, Problem};
use cavi::heldout::{HeldOut, Refusal, Request};
use cavi::{Compiled, Control, Fit, FitError, Schedule, Settings};
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::Warmup;

use crate::arguments::{Acceleration, FitArguments, InputArguments, LaterArguments, RunArguments};
use crate::failure::Failure;
use crate::output::{Directory, Summary};
use crate::progress::{Display, duration};
use crate::{interrupt, program, scores, terminal};

/// Codes of warnings about the program's own sweep.
const ABOUT_THE_SWEEP: [&str; 3] = ["W0602", "W0603", "W0604"];

/// What to say of a fit that failed without its held-out part.
const WITHOUT_A_PART: &str = "  note: a part of the data was held out. Hidden entries are missing ones; of `count` data with `absent = 0` under \
    Poisson or Multinomial a fraction of the units is held out instead, and nothing is missing.\n";

/// Fits and writes the directory.
pub fn run(arguments: &FitArguments) -> Result<(), Failure> {
    refuse_later(&arguments.later)?;
    let quiet = arguments.run.quiet;
    let source = program::find(&arguments.model)?;
    let inputs = inputs(&arguments.inputs)?;
    let ignored: &[&str] = if arguments.run.schedule.is_some() { &ABOUT_THE_SWEEP } else { &[] };
    let compiled = program::compile(&source, &inputs.set_values(), ignored)?;
    let requests = requests(&arguments.heldout)?;
    let seed = arguments.run.seed.or(compiled.model.as_ref().and_then(|model| model.fit.seed)).unwrap_or(0);
    let (compiled, binding, held) = bind_without(compiled, &inputs, &requests, seed, quiet)?;
    let mut settings = settings(&compiled, &arguments.run)?;
    if let Some(init) = &arguments.init {
        settings.given = Some(given(&compiled, &binding, init)?);
    }
    let directory = Directory::prepare(&arguments.out, &compiled, &binding)?;
    let fit = fit(&compiled, &binding, &settings, &arguments.run).map_err(|failure| match failure {
        Failure::Wrong(message) if !requests.is_empty() => Failure::Wrong(message + WITHOUT_A_PART),
        other => other,
    })?;
    let scores = cavi::heldout::score(&compiled, &binding, &fit.parameters, &held, seed, settings.threads);
    // Without a score there is still a fit.
    let (scores, failure) = match scores {
        Ok(scores) => (scores, None),
        Err(diagnostic) => (Vec::new(), Some(diagnostic)),
    };
    let (compiled, binding, arguments_of_fit) = (&compiled, &binding, Some(arguments));
    let summary = Summary { compiled, binding, fit: &fit, arguments: arguments_of_fit, scores: &scores };
    directory.write(&summary, &arguments.run)?;
    if arguments.json {
        terminal::print(&format!("{:#}\n", summary.json(&arguments.run)))?;
    } else if !quiet {
        let lines: String =
            scores.iter().map(|score| format!("{}\n", scores::line("held out", score))).collect();
        terminal::print(&format!("{}\n{lines}written to {}\n", outcome(&fit), arguments.out.display()))?;
    }
    if let Some(diagnostic) = failure {
        return Err(Failure::Wrong(program::text_of(compiled, &[*diagnostic])));
    }
    ending(compiled, &fit)
}

/// `converged after 57 sweeps in 1.2 s: ELBO -12345.6`
pub fn outcome(fit: &Fit) -> String {
    let run = fit.run();
    let how = match (run.converged, fit.interrupted, &fit.failure) {
        (_, true, _) => "interrupted after",
        (_, _, Some(_)) => "ended early after",
        (true, ..) => "converged after",
        (false, ..) if run.sweeps == 0 => "start only, after",
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
pub fn ending(compiled: &Compiled, fit: &Fit) -> Result<(), Failure> {
    if fit.interrupted {
        return Err(Failure::Interrupted);
    }
    match &fit.failure {
        None => Ok(()),
        Some(failure) => Err(Failure::Wrong(program::text_of(compiled, std::slice::from_ref(failure)))),
    }
}

/// Runs the fit, its progress shown.
pub fn fit(
    compiled: &Compiled,
    binding: &Binding,
    settings: &Settings,
    arguments: &RunArguments,
) -> Result<Fit, Failure> {
    interrupt::listen();
    let mut display = Display::new(arguments.progress, arguments.quiet);
    let result = cavi::fit(compiled, binding, settings, &mut |progress| {
        display.show(progress);
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    });
    display.finish();
    let fit = result.map_err(|error| failure(compiled, error))?;
    terminal::note(&program::text_of(compiled, &fit.warnings));
    Ok(fit)
}

/// What `--data`, `--columns`, `--transpose`, `--labels` and `--set` say.
pub fn inputs(arguments: &InputArguments) -> Result<Inputs, Failure> {
    let InputArguments { data, columns, transpose, labels, set } = arguments;
    Inputs::parse(data, columns, transpose, labels, set)
        .map_err(|problems| Failure::Usage(text_of(&problems)))
}

/// What `--heldout` says.
fn requests(texts: &[String]) -> Result<Vec<Request>, Failure> {
    let parsed: Result<Vec<Request>, Problem> =
        texts.iter().map(|text| Request::parse("--heldout", text)).collect();
    parsed.map_err(|problem| Failure::Usage(text_of(&[problem])))
}

/// As [`bind`], without what is to be held out.
fn bind_without(
    compiled: Compiled,
    inputs: &Inputs,
    requests: &[Request],
    seed: u64,
    quiet: bool,
) -> Result<(Compiled, Binding, HeldOut), Failure> {
    if requests.is_empty() {
        let (compiled, binding) = bind(compiled, inputs, quiet)?;
        return Ok((compiled, binding, HeldOut::default()));
    }
    refuse_unbound(&compiled, inputs)?;
    let shown = compiled.clone();
    let (compiled, binding, held) =
        cavi::heldout::bind(compiled, inputs, requests, seed).map_err(|refusal| refused(&shown, refusal))?;
    show_notes(&binding, quiet);
    Ok((compiled, binding, held))
}

/// The failure of data that were refused.
pub fn refused(compiled: &Compiled, refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Problems(problems) => Failure::Wrong(text_of(&problems)),
        Refusal::Program(diagnostics) => Failure::Wrong(program::text_of(compiled, &diagnostics)),
    }
}

/// What there is to say about data.
pub fn show_notes(binding: &Binding, quiet: bool) {
    if !quiet {
        binding.notes.iter().for_each(|note| terminal::note(&format!("note: {note}\n")));
    }
}

/// Reads the data and puts them to the program, restated where latents live at listed entries.
pub fn bind(compiled: Compiled, inputs: &Inputs, quiet: bool) -> Result<(Compiled, Binding), Failure> {
    refuse_unbound(&compiled, inputs)?;
    let model = compiled.model.as_ref().expect("a program that compiles has a model");
    let binding = cavi::bind::bind(model, inputs).map_err(|problems| Failure::Wrong(text_of(&problems)))?;
    show_notes(&binding, quiet);
    Ok(cavi::entries::restated(compiled, binding))
}

/// Refuses data that no file is given for.
pub fn refuse_unbound(compiled: &Compiled, inputs: &Inputs) -> Result<(), Failure> {
    let given = |name: &&str| inputs.data.iter().any(|input| input.name == **name);
    let unbound: Vec<Problem> = compiled
        .required_data()
        .into_iter()
        .filter(|name| !given(name))
        .map(|name| {
            Problem::new(format!("the data `{name}` are bound to no file"))
                .help(format!("--data {name}=FILE"))
        })
        .collect();
    // A misspelt name is explained better by what reads the files.
    if !unbound.is_empty() && inputs.data.len() + unbound.len() <= compiled.required_data().len() {
        return Err(Failure::Wrong(text_of(&unbound)));
    }
    Ok(())
}

pub fn text_of(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("error: {problem}\n")).collect()
}

fn given(compiled: &Compiled, binding: &Binding, path: &Path) -> Result<cavi::start::Given, Failure> {
    let (given, warnings) =
        cavi::init::read(compiled, binding, path).map_err(|problems| Failure::Wrong(text_of(&problems)))?;
    warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
    Ok(given)
}

/// As many threads as the machine runs at once.
pub fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The settings that the options ask for.
pub fn settings(compiled: &Compiled, arguments: &RunArguments) -> Result<Settings, Failure> {
    let schedule = match &arguments.schedule {
        None => None,
        Some(text) => Some(schedule(compiled, text)?),
    };
    let warmup = arguments.warmup.as_deref().map(|text| warmup(compiled, text)).transpose()?;
    Ok(Settings {
        sweeps: arguments.sweeps,
        tolerance: arguments.tol,
        schedule,
        warmup,
        accelerate: arguments.accelerate.map(|own| own == Acceleration::Auto),
        seed: arguments.seed,
        restarts: arguments.restarts,
        threads: arguments.threads.unwrap_or_else(all_threads),
        precision: arguments.precision,
        elbo_every: arguments.elbo_every,
        verify: arguments.verify,
        given: None,
    })
}

fn schedule(compiled: &Compiled, text: &str) -> Result<Schedule, Failure> {
    let resolved = cavi::schedule::parse(compiled, text)
        .map_err(|diagnostics| Failure::Usage(program::text_in(&diagnostics, "--schedule", text)))?;
    terminal::note(&program::text_in(&resolved.about_items, "--schedule", text));
    terminal::note(&program::text_of(compiled, &resolved.about_program));
    Ok(resolved.schedule)
}

fn warmup(compiled: &Compiled, text: &str) -> Result<Vec<Warmup>, Failure> {
    cavi::warmup::parse(compiled, text)
        .map_err(|diagnostics| Failure::Usage(program::text_in(&diagnostics, "--warmup", text)))
}

/// The failure of a fit that did not come about.
pub fn failure(compiled: &Compiled, error: FitError) -> Failure {
    match error {
        FitError::Wrong(diagnostics) => {
            let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
            Failure::Wrong(program::text_of(compiled, &errors))
        }
        FitError::Unplanned(reason) => {
            Failure::wrong(format!("this version of Cavi has no plan for `{}`: {reason}", compiled.file_name))
        }
        FitError::Fell { block, sweep, amount, allowed } => {
            let fell = match amount.is_finite() {
                true => format!("fell by {amount:e}"),
                false => "fell to -inf".to_owned(),
            };
            Failure::Broken(format!(
                "error: the ELBO {fell} in sweep {sweep}, at the update of `{block}` (rounding allows {allowed:e})\n  \
                 This is a bug of Cavi, not of your program. Please report it with the program and the command.\n"
            ))
        }
        FitError::NotANumber { sweep } => Failure::Broken(format!(
            "error: the ELBO is not a number after sweep {sweep}\n  \
             The numbers went beyond what double precision holds, or this is a bug of Cavi: look for extreme values in \
             data, constants and start.\n"
        )),
    }
}

/// Options of later versions, refused one by one.
fn refuse_later(later: &LaterArguments) -> Result<(), Failure> {
    let given = [
        ("--checkpoint-every", later.checkpoint_every.is_some()),
        ("--resume", later.resume.is_some()),
        ("--memory-limit", later.memory_limit.is_some()),
        ("--report", later.report),
        ("--plots", later.plots.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::later(&format!("`{option}`"))),
        None => Ok(()),
    }
}
