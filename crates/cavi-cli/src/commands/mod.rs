//! One file a command.

mod calibrate;
mod check;
mod check_fit;
mod choose;
mod compare;
mod completions;
mod data;
mod demo;
mod derive;
mod explain;
mod export;
mod fit;
mod fmt;
mod graph;
mod impute;
mod intervals;
mod list;
mod man;
mod matching;
mod pack;
mod plan;
mod project;
mod report;
mod resume;
mod sample;
mod score;
mod show;
mod simulate;
mod summary;
mod top;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;
use crate::team;

/// Runs a command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (limit, scratch) = arguments.command.memory();
    if let Some(bytes) = limit {
        cavi_files::memory::limit_to(bytes);
    }
    if let Some(directory) = scratch {
        cavi_files::memory::overflow_in(directory).map_err(|error| {
            Failure::wrong(format!(
                "`--scratch {}`: no file for arrays can be had there: {error}\n\n\
                 Give a directory that can be written, on a local disk of Linux with room (ext4, xfs, btrfs and tmpfs reserve room for files; \
                 network file systems may not). Without `--scratch` all arrays lie in memory.",
                directory.display()
            ))
        })?;
    }
    if !team::is_first() && !matches!(arguments.command, Command::Fit(_)) {
        return Ok(());
    }
    match &arguments.command {
        Command::List => list::run(),
        Command::Show { name } => show::run(name),
        Command::Check(arguments) => check::run(arguments),
        Command::Fmt(arguments) => fmt::run(arguments),
        Command::Derive(arguments) => derive::run(arguments),
        Command::Graph(arguments) => graph::run(arguments),
        Command::Plan(arguments) => plan::run(arguments),
        Command::Pack(arguments) => pack::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Data(arguments) => data::run(arguments),
        Command::Score(arguments) => score::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Project(arguments) => project::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Sample(arguments) => sample::run(arguments),
        Command::Intervals(arguments) => intervals::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Man(arguments) => man::run(arguments),
        Command::Impute(arguments) => impute::run(arguments),
        Command::CheckFit(arguments) => check_fit::run(arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Choose(arguments) => choose::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Summary(arguments) => summary::run(arguments),
        Command::Top(arguments) => top::run(arguments),
        Command::Match(arguments) => matching::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
    }
}
