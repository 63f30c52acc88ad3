//! One file a command.

mod check;
mod data;
mod demo;
mod derive;
mod export;
mod fit;
mod fmt;
mod graph;
mod list;
mod plan;
mod project;
mod score;
mod show;
mod summary;
mod top;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

/// Runs a command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::List => list::run(),
        Command::Show { name } => show::run(name),
        Command::Check(arguments) => check::run(arguments),
        Command::Fmt(arguments) => fmt::run(arguments),
        Command::Derive(arguments) => derive::run(arguments),
        Command::Graph(arguments) => graph::run(arguments),
        Command::Plan(arguments) => plan::run(arguments),
        Command::Fit(arguments) => fit::run(arguments),
        Command::Data(arguments) => data::run(arguments),
        Command::Score(arguments) => score::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Project(arguments) => project::run(arguments),
        Command::Simulate(_) => Err(Failure::later("`cavi simulate`")),
        Command::Report(_) => Err(Failure::later("`cavi report`")),
        Command::Impute(_) => Err(Failure::later("`cavi impute`")),
        Command::Choose(_) => Err(Failure::later("`cavi choose`")),
        Command::Compare(_) => Err(Failure::later("`cavi compare`")),
        Command::Export(arguments) => export::run(arguments),
        Command::Summary(arguments) => summary::run(arguments),
        Command::Top(arguments) => top::run(arguments),
        Command::Match(_) => Err(Failure::later("`cavi match`")),
        Command::Explain(_) => Err(Failure::later("`cavi explain`")),
    }
}
