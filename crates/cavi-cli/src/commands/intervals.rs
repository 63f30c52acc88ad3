//! `cavi intervals DIR`: intervals of latents, by bootstrap, by linear response, or of q.

use std::io::{IsTerminal, stderr};
use std::path::PathBuf;

use cavi::directory::{list_files, number};
use cavi::intervals::{self, Bootstrap, Draws, Form, Intervals, Variable};
use cavi::summary::digits;
use cavi::{Control, Error, reopen};
use cavi_files::write_text_atomically;
use serde_json::{Map, Value, json};

use super::{fit, impute};
use crate::arguments::{FormName, IntervalsArguments};
use crate::failure::Failure;
use crate::{table, terminal};

/// So many intervals of a variable are listed.
const MOST: usize = 200;

/// Works them out, writes them, and prints them.
pub fn run(arguments: &IntervalsArguments) -> Result<(), Failure> {
    let found = found(arguments)?;
    let files = files(arguments, &found)?;
    for (variable, file) in found.variables.iter().zip(&files) {
        let text = variable.table(found.method, found.level);
        write_text_atomically(file, &text).map_err(Error::from)?;
    }
    if arguments.out.is_none() {
        list_files(&arguments.directory, &files)?;
    }
    if arguments.json {
        return terminal::print(&format!("{:#}\n", summary(arguments, &found, &files)));
    }
    if arguments.quiet {
        return Ok(());
    }
    for note in &found.notes {
        terminal::note(&format!("note: {note}\n"));
    }
    let texts: String = found.variables.iter().map(shown).collect();
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    terminal::print(&format!("{}\n{texts}written to {}\n", found.what, files.join(", ")))
}

/// The intervals that are asked for.
fn found(arguments: &IntervalsArguments) -> Result<Intervals, Failure> {
    let (directory, names) = (&arguments.directory, &arguments.names);
    if arguments.bootstrap.is_none() && !arguments.linear_response {
        impute::refuse_reading_alone(&arguments.inputs)?;
        if !arguments.inputs.data.is_empty() {
            return Err(Failure::usage(
                "`--data` goes with `--bootstrap` or `--linear-response`: intervals of q need no data",
            ));
        }
        return Ok(intervals::of_q(directory, names, arguments.level)?);
    }
    let given = impute::given(&arguments.inputs, directory)?;
    let fit = reopen::open(directory, given.as_ref())?;
    let threads = arguments.threads.unwrap_or_else(fit::all_threads);
    let is_shown = !arguments.quiet && !arguments.json && stderr().is_terminal();
    let show = |what: &str, done: usize, all: usize| {
        if is_shown {
            let end = if done == all { "\r\x1b[K" } else { "" };
            terminal::note(&format!("\r{what} {done} of {all}{end}"));
        }
    };
    if arguments.linear_response {
        let progress = |done: usize, all: usize| {
            show("number", done, all);
            Control::Continue
        };
        return Ok(intervals::response(&fit, names, arguments.level, threads, &progress)?);
    }
    let refits = arguments.bootstrap.unwrap_or_default();
    let asked = Bootstrap {
        refits,
        draws: arguments.rows.clone().map_or(Draws::Fit, Draws::Rows),
        form: match arguments.form {
            FormName::Basic => Form::Basic,
            FormName::Percentile => Form::Percentile,
        },
        names: names.clone(),
        level: arguments.level,
        seed: arguments.seed.unwrap_or(0),
        threads,
        sweeps: arguments.sweeps,
        tolerance: arguments.tol.unwrap_or(intervals::TOLERANCE),
        stop: None,
    };
    Ok(intervals::bootstrap(&fit, &asked, &|done| show("fit", done, refits))?)
}

/// The file of each variable.
fn files(arguments: &IntervalsArguments, found: &Intervals) -> Result<Vec<PathBuf>, Failure> {
    let out = arguments.out.clone().unwrap_or_else(|| arguments.directory.join("intervals"));
    if out.extension().is_some_and(|own| own == "csv") {
        return match found.variables.as_slice() {
            [_] => Ok(vec![out]),
            several => Err(Failure::usage(format!(
                "`--out {}` is one file, and there are intervals of {} latents: give a directory, or name one latent",
                out.display(),
                several.len()
            ))),
        };
    }
    if out.exists() && !out.is_dir() {
        return Err(Failure::usage(format!("`--out {}` is a file; expected a directory", out.display())));
    }
    Ok(found.variables.iter().map(|own| out.join(format!("{}.csv", own.name))).collect())
}

/// A line of a variable, and a table of its intervals.
fn shown(variable: &Variable) -> String {
    let mut head = variable.columns.clone();
    head.extend(["mean", "sd", "low", "high"].map(str::to_owned));
    let mut rows = vec![head];
    for own in variable.intervals.iter().take(MOST) {
        let numbers = [own.mean, own.sd, own.low, own.high];
        rows.push(own.labels.iter().cloned().chain(numbers.map(|value| digits(value, 6))).collect());
    }
    let lines: String = table::aligned(&rows).lines().map(|line| format!("  {line}\n")).collect();
    let more = variable.intervals.len().saturating_sub(MOST);
    let more = if more > 0 { format!("  ... and {more} more\n") } else { String::new() };
    format!("{}\n{lines}{more}", variable.name)
}

/// What `--json` prints.
fn summary(arguments: &IntervalsArguments, found: &Intervals, files: &[PathBuf]) -> Value {
    let variable = |(own, file): (&Variable, &PathBuf)| {
        let intervals = own.intervals.iter().map(|own| {
            json!({
                "labels": own.labels,
                "mean": number(own.mean),
                "sd": number(own.sd),
                "low": number(own.low),
                "high": number(own.high),
            })
        });
        let json = json!({
            "axes": own.columns,
            "file": file.display().to_string(),
            "intervals": intervals.collect::<Vec<Value>>(),
        });
        (own.name.clone(), json)
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "fit": arguments.directory.display().to_string(),
        "method": found.method,
        "what": found.what,
        "level": found.level,
        "notes": found.notes,
        "variables": found.variables.iter().zip(files).map(variable).collect::<Map<String, Value>>(),
    })
}
