//! `cavi demo NAME`: a built-in program on the data inside the binary, and what it found.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use cavi::Error;
use cavi::bind::{ArrayInput, Inputs, LabelSource, LabelsInput, Source};
use cavi::directory::{Asked, Directory, Stored, Summary};
use cavi_examples::{Example, Role};
use cavi_report::Options;

use super::{fit, report};
use crate::arguments::{DemoArguments, InputArguments};
use crate::failure::Failure;
use crate::{components, explained, findings, program, terminal};

/// Fits and shows what was found.
pub fn run(arguments: &DemoArguments) -> Result<(), Failure> {
    let name = &arguments.name;
    let Some(example) = cavi_examples::example(name) else {
        return Err(Failure::usage(format!(
            "there is no built-in program `{name}`\n{}",
            program::hint(name)
        )));
    };
    if arguments.plots.asked() && arguments.out.is_none() {
        return Err(Failure::usage(
            "`--plots` writes a file for each chart, into DIR/plots of `--out DIR`, which is not given",
        ));
    }
    let quiet = arguments.run.quiet;
    let set = fit::inputs(&InputArguments { set: arguments.set.clone(), ..InputArguments::default() })?.set;
    let inputs = Inputs { set, ..bundled(example) };
    let source = program::find(name)?;
    let problem = program::open(&source, &inputs, &[])?.bind(&inputs)?;
    let settings = fit::settings(&problem, &arguments.run)?;
    let scratch = (arguments.report && arguments.out.is_none()).then(Scratch::new);
    let out = arguments.out.as_deref().or(scratch.as_ref().map(|own| own.0.as_path()));
    let directory =
        out.map(|out| Directory::prepare(out, &problem, &[], arguments.force.force)).transpose()?;
    fit::show_notes(&problem, quiet);

    let fit = fit::fit(&problem, &settings, &arguments.run)?;
    let (schedule, set) = (arguments.run.rules.schedule.clone(), arguments.set.clone());
    let asked = Asked { schedule, set, demo: Some(name.clone()), ..Asked::default() };
    let summary = Summary {
        problem: &problem,
        fit: &fit,
        settings: &settings,
        asked: &asked,
        scores: &[],
        runs: &[],
        averaged: None,
        folds: None,
        baselines: None,
    };
    let json = match directory {
        Some(directory) => directory.write(&summary)?,
        None => summary.json(),
    };
    let page = match out.filter(|_| arguments.report) {
        Some(out) => format!("a page about it: {}\n", written(out, arguments)?.display()),
        None => String::new(),
    };
    // Without --out the command line is refused.
    let plots = match out.filter(|_| arguments.plots.asked()) {
        Some(out) => report::plots_beside(out, &[], &arguments.plots)?,
        None => String::new(),
    };
    let (found, warnings) = problem.findings_with(&fit, &|name| known(example, name));
    warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
    let text = findings::text(&found);
    let explained = explained::lines(&json["explained"]) + &components::lines(&json["components"]);
    terminal::print(&format!(
        "{}\n\n{text}\n{explained}{}\n{page}{plots}",
        example.description(),
        fit::outcome(&fit)
    ))?;
    fit::ending(&problem, &fit)
}

/// The page about the fit in a directory: beside the fit, or where that is not kept, in a file with the name of the program.
fn written(directory: &Path, arguments: &DemoArguments) -> Result<PathBuf, Failure> {
    match arguments.out {
        Some(_) => report::beside(directory, &Options::default()),
        None => {
            let file = PathBuf::from(format!("{}.html", arguments.name));
            report::to_file(directory, &file, &Options::default())
        }
    }
}

/// A place for a fit that only its page needs; it goes with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        Scratch(std::env::temp_dir().join(format!("cavi-demo-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in the folder of temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The lines of a file that an example carries to be compared with.
fn known(example: &Example, name: &str) -> Option<Vec<String>> {
    let file = example.files.iter().find(|file| matches!(file.role, Role::Known(own) if own == name))?;
    Some(String::from_utf8_lossy(file.bytes).lines().map(str::to_owned).collect())
}

/// The data of a fit that `cavi demo` wrote, where this version has the same program; `None` of another fit.
///
/// # Errors
/// A value of `--set` that is none.
pub fn own_data(stored: &Stored) -> Result<Option<Inputs>, Failure> {
    let name = stored.summary["settings"]["demo"].as_str();
    let example = name.and_then(cavi_examples::example).filter(|example| example.text == stored.text);
    let Some(example) = example else { return Ok(None) };
    Ok(Some(Inputs { set: stored.inputs().map_err(Error::from)?.set, ..bundled(example) }))
}

/// The data that an example carries.
fn bundled(example: &Example) -> Inputs {
    let mut inputs = Inputs::default();
    for file in example.files {
        match file.role {
            Role::Data(role) => {
                let (name, group) = match role.split_once('[') {
                    Some((name, group)) => (name, Some(group.trim_end_matches(']').to_owned())),
                    None => (role, None),
                };
                let source =
                    Source::Bytes { name: PathBuf::from(file.file), bytes: Cow::Borrowed(file.bytes) };
                inputs.data.push(ArrayInput { name: name.to_owned(), group, source });
            }
            Role::Known(_) => {}
            Role::Labels(axis) => {
                let text = String::from_utf8_lossy(file.bytes);
                let labels = text.lines().map(str::to_owned).collect();
                let source = LabelSource::List(file.file.to_owned(), labels);
                inputs.labels.push(LabelsInput { axis: axis.to_owned(), group: None, source });
            }
        }
    }
    inputs
}
