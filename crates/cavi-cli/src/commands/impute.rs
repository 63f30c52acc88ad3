//! `cavi impute DIR`: what missing entries, or all, are expected to be.

use std::path::{Path, PathBuf};

use cavi::bind::{DataError, Inputs};
use cavi::directory::{Stored, list_files};
use cavi::impute::{self, Asked, Table, Wanted};
use cavi::{Error, reopen};
use serde_json::json;

use super::{demo, fit};
use crate::arguments::{ImputeArguments, InputArguments};
use crate::failure::Failure;
use crate::terminal;

/// Before more lines than these, it is said how many there are.
const MANY: usize = 10_000_000;

/// Writes the tables.
pub fn run(arguments: &ImputeArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let only = arguments.only.iter().map(|text| match text.split_once('=') {
        Some((axis, label)) if !axis.is_empty() => Ok((axis.to_owned(), label.to_owned())),
        _ => Err(Failure::usage(format!("`--for {text}` is not of the form `AXIS=LABEL`"))),
    });
    let only = only.collect::<Result<_, Failure>>()?;
    let given = given(&arguments.inputs, directory)?;
    let fit = reopen::open(directory, given.as_ref())?;
    let asked = Asked {
        all: arguments.all,
        arrays: arguments.of.clone(),
        only,
        draws: arguments.draws,
        threads: arguments.threads.unwrap_or_else(fit::all_threads),
    };
    let wanted = impute::wanted(&fit, &asked)?;
    if wanted.is_empty() {
        if !arguments.json {
            return terminal::print("no entry is missing; --all predicts those that are there\n");
        }
        return terminal::print("{\n  \"arrays\": {}\n}\n");
    }
    let files = files(arguments, &wanted)?;
    let mut tables = Vec::new();
    for (own, file) in wanted.iter().zip(&files) {
        if own.most > MANY && !arguments.quiet {
            terminal::note(&format!(
                "note: `{}` has {} cells, and each that is asked for is a line of {}; `--for AXIS=LABEL` asks for some of them\n",
                own.name,
                own.most,
                file.display()
            ));
        }
        let table = impute::write(&fit, &asked, own, file)?;
        if table.bare_rows > 0 && !arguments.quiet {
            let Table { name, bare_rows, .. } = &table;
            terminal::note(&format!(
                "note: {bare_rows} rows have no entry of `{name}`; such rows bend a joint fit, and `cavi impute --help` says what to do\n"
            ));
        }
        if table.listed_only && !arguments.quiet {
            terminal::note(&format!(
                "note: entries of `{}` that are not listed are left out: the program has latents of its own at each listed entry\n",
                table.name
            ));
        }
        tables.push(table);
    }
    if arguments.out.is_none() {
        list_files(directory, &files)?;
    }
    if arguments.json {
        let each = tables.iter().zip(&files).map(|(table, file)| {
            let own = json!({
                "file": file.display().to_string(),
                "n_entries": table.entries,
                "n_missing": table.missing,
                "n_rows_without_entries": table.bare_rows,
            });
            (table.name.clone(), own)
        });
        let arrays: serde_json::Map<String, serde_json::Value> = each.collect();
        return terminal::print(&format!("{:#}\n", json!({ "arrays": arrays })));
    }
    if arguments.quiet {
        return Ok(());
    }
    let line = |(table, file): (&Table, &PathBuf)| {
        let Table { name, entries, missing, .. } = table;
        format!("{name}: {entries} entries, {missing} of them missing, written to {}\n", file.display())
    };
    terminal::print(&tables.iter().zip(&files).map(line).collect::<String>())
}

/// The data of a fit that are given in place of its own files, or that the binary holds; `None` where the fit's own files are read.
pub fn given(arguments: &InputArguments, directory: &Path) -> Result<Option<Inputs>, Failure> {
    let stored = Stored::open(directory)?;
    let inputs = fit::inputs_as_fitted(arguments, &stored)?;
    if !inputs.data.is_empty() {
        return Ok(Some(inputs));
    }
    refuse_reading_alone(arguments)?;
    demo::own_data(&stored)
}

/// Refuses options that say how the files of `--data` are read, where none is given: a fit's own files are read as they were.
///
/// # Errors
/// The first of these options.
pub fn refuse_reading_alone(arguments: &InputArguments) -> Result<(), Failure> {
    let InputArguments { data, reading, set, memory_limit: _, scratch: _ } = arguments;
    if !data.is_empty() {
        return Ok(());
    }
    let alone = [
        ("--columns", !reading.columns.is_empty()),
        ("--transpose", !reading.transpose.is_empty()),
        ("--labels", !reading.labels.is_empty()),
        ("--unique", reading.unique),
        ("--set", !set.is_empty()),
    ];
    match alone.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "`{option}` says how the files of `--data` are read, and none is given; without it the fit's own files are read as they were"
        ))),
        None => Ok(()),
    }
}

/// The file of each table.
fn files(arguments: &ImputeArguments, tables: &[Wanted]) -> Result<Vec<PathBuf>, Failure> {
    let out = arguments.out.clone().unwrap_or_else(|| arguments.directory.join("imputed"));
    let is_file = out.extension().is_some_and(|own| own == "csv");
    match tables {
        [_] if is_file => return Ok(vec![out]),
        [_, _, ..] if is_file => {
            let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "`--out {}` is one file, and there are entries of {}: give a directory, or one of them by `--of`",
                out.display(),
                names.join(", ")
            )));
        }
        _ => {}
    }
    if out.exists() && !out.is_dir() {
        let found = DataError::new(format!("`--out {}` is a file; expected a directory", out.display()));
        return Err(Error::Usage(vec![found]).into());
    }
    Ok(tables.iter().map(|table| out.join(format!("{}.csv", table.name))).collect())
}
