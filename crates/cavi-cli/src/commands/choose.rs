//! `cavi choose MODEL --data ... --set topic=5..50:5`: fits with several values, and which one to take.

use std::path::{Path, PathBuf};

use cavi::Error;
use cavi::bind::{DataError, Inputs};
use cavi::choose::{self, COLUMNS, Candidate, Choice, Grid};
use cavi::directory::{Asked, Directory, OwnRun, Summary};
use cavi::heldout::Request;
use cavi::schedule::ABOUT_THE_SWEEP;
use cavi_files::{Cell, CsvText, format_number, write_text_atomically};

use super::fit;
use crate::arguments::{ChooseArguments, InputArguments};
use crate::failure::Failure;
use crate::{interrupt, program, table, terminal};

/// Runs without `--restarts` and without a line of the program.
const RESTARTS: u64 = 3;

/// Fits every value, prints the table and the suggestion, and keeps the fits where it is told to.
pub fn run(arguments: &ChooseArguments) -> Result<(), Failure> {
    let (grids, others) = grids(&arguments.inputs.set)?;
    let source = program::find(&arguments.model)?;
    let inputs = InputArguments { set: others.clone(), ..arguments.inputs.clone() };
    let mut candidates = Vec::new();
    for (number, values) in all(&grids).into_iter().enumerate() {
        let set: Vec<String> = values.iter().map(|(name, value)| set(name, *value)).collect();
        if !arguments.run.quiet {
            terminal::note(&format!("{}\n", set.join(" ")));
        }
        let mut own = fit::inputs(&inputs)?;
        own.fix = Inputs::parse_fixed(&arguments.fix).map_err(Error::Usage)?;
        own.set.extend(grids.iter().zip(&values).map(|(grid, (_, value))| grid.set(*value)));
        let candidate = fitted(arguments, &source, &own, &others, (values, &set), number == 0)?;
        candidates.push(candidate);
        if interrupt::asked() {
            return Err(Failure::Interrupted);
        }
    }
    let choice = choose::suggest(candidates).map_err(Error::from)?;
    if let Some(out) = &arguments.out {
        write_text_atomically(&out.join("choose.csv"), csv(&choice).as_str()).map_err(Error::from)?;
    }
    if arguments.json {
        return terminal::print(&format!("{:#}\n", choice.json()));
    }
    terminal::print(&format!("{}{}\n", shown(&choice), choice.reason()))
}

/// One value: its fit, and what is known of it.
fn fitted(
    arguments: &ChooseArguments,
    source: &program::Source,
    inputs: &Inputs,
    others: &[String],
    (values, set): (Vec<(String, f64)>, &[String]),
    is_first: bool,
) -> Result<Candidate, Failure> {
    let ignored: &[&str] = if is_first { &[] } else { &ABOUT_THE_SWEEP };
    let compiled = program::open(source, inputs, ignored)?;
    let texts = if arguments.heldout.is_empty() {
        compiled.predicted_data().iter().map(|name| format!("{name}=0.1")).collect()
    } else {
        arguments.heldout.clone()
    };
    let requests: Result<Vec<Request>, DataError> =
        texts.iter().map(|text| Request::parse("--heldout", text)).collect();
    let requests = requests.map_err(|error| Error::Usage(vec![error]))?;
    let seed = compiled.seed(arguments.run.seed);
    let (problem, held) = compiled.bind_without(inputs, &requests, arguments.run.seed)?;
    let mut settings = fit::settings(&problem, &arguments.run)?;
    settings.keep_all = true;
    settings.restarts = settings.restarts.or(problem.model.fit.restarts).or(Some(RESTARTS));
    let directory = match &arguments.out {
        None => None,
        Some(out) => Some(Directory::prepare(&out.join(folder(set)), &problem, &[], arguments.force.force)?),
    };
    if is_first {
        fit::show_notes(&problem, arguments.run.quiet);
    }
    let fit = fit::fit(&problem, &settings, &arguments.run)?;
    fit::ending(&problem, &fit)?;
    if let Some(directory) = directory {
        let scores = problem.score(&fit, &held, seed, settings.threads)?;
        let mut runs: Vec<OwnRun<'_>> = Vec::new();
        for (number, own) in &fit.kept {
            let scores = problem.score(own, &held, seed, settings.threads)?;
            runs.push(OwnRun { number: number + 1, fit: own, scores });
        }
        let reading = arguments.inputs.reading.clone();
        let asked = Asked {
            schedule: arguments.run.rules.schedule.clone(),
            data: arguments.inputs.data.clone(),
            columns: reading.columns,
            transpose: reading.transpose,
            labels: reading.labels,
            unique: reading.unique,
            set: others.iter().chain(set).cloned().collect(),
            heldout: texts,
            fix: arguments.fix.clone(),
            ..Asked::default()
        }
        .of(inputs, seed);
        let summary = Summary {
            problem: &problem,
            fit: &fit,
            settings: &settings,
            asked: &asked,
            scores: &scores,
            runs: &runs,
            averaged: None,
            folds: None,
            baselines: None,
        };
        directory.write(&summary)?;
    }
    Ok(choose::candidate(values, &problem, &fit, &held, (seed, settings.threads))?)
}

/// What of `--set` is tried, and the rest.
fn grids(set: &[String]) -> Result<(Vec<Grid>, Vec<String>), Failure> {
    let (mut grids, mut others): (Vec<Grid>, Vec<String>) = (Vec::new(), Vec::new());
    for text in set {
        match Grid::parse(text) {
            None => others.push(text.clone()),
            Some(Ok(grid)) if grids.iter().any(|own| own.name == grid.name) => {
                return Err(Failure::usage(format!("`--set {}` is given twice", grid.name)));
            }
            Some(Ok(grid)) => grids.push(grid),
            Some(Err(error)) => return Err(Error::Usage(vec![error]).into()),
        }
    }
    if grids.is_empty() {
        return Err(Failure::usage(
            "`cavi choose` needs values to choose from: `--set topic=5..50:5`, or a list `--set topic=4,8,16`",
        ));
    }
    Ok((grids, others))
}

/// Every combination of the values, the last grid the fastest.
fn all(grids: &[Grid]) -> Vec<Vec<(String, f64)>> {
    grids.iter().fold(vec![Vec::new()], |before, grid| {
        let with = |own: &Vec<(String, f64)>, value: f64| [&own[..], &[(grid.name.clone(), value)]].concat();
        before
            .iter()
            .flat_map(|own| grid.values.iter().map(|value| with(own, *value)).collect::<Vec<_>>())
            .collect()
    })
}

fn set(name: &str, value: f64) -> String {
    format!("{name}={}", format_number(value))
}

/// The directory of a fit.
fn folder(set: &[String]) -> PathBuf {
    Path::new(&set.join(",")).to_owned()
}

/// The names of the columns.
fn header(choice: &Choice) -> Vec<&str> {
    let values = choice.candidates.first().map(|own| own.values.as_slice()).unwrap_or_default();
    values.iter().map(|(name, _)| name.as_str()).chain(COLUMNS).chain(["converged"]).collect()
}

fn csv(choice: &Choice) -> CsvText {
    let mut table = CsvText::new(&header(choice));
    for (place, own) in choice.candidates.iter().enumerate() {
        let mut row: Vec<Cell<'_>> = own.values.iter().map(|(_, value)| Cell::Number(*value)).collect();
        row.extend(choice.numbers(place).map(|number| number.map_or(Cell::Empty, Cell::Number)));
        row.push(Cell::Text(if own.converged { "true" } else { "false" }));
        table.row(&row);
    }
    table
}

/// The table for a terminal.
fn shown(choice: &Choice) -> String {
    let digits = [6, 6, 6, 6, 2, 3, 3];
    let mut rows = vec![header(choice).into_iter().map(str::to_owned).collect::<Vec<String>>()];
    for (place, own) in choice.candidates.iter().enumerate() {
        let mut row: Vec<String> = own.values.iter().map(|(_, value)| format_number(*value)).collect();
        let cell = |(number, digits): (Option<f64>, usize)| {
            number.map_or("-".to_owned(), |own| format!("{own:.digits$}"))
        };
        row.extend(choice.numbers(place).into_iter().zip(digits).map(cell));
        row.push(if own.converged { "yes" } else { "no" }.to_owned());
        rows.push(row);
    }
    table::aligned(&rows)
}
