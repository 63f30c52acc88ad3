//! `cavi top DIR VAR`: the largest entries of a variable of a fit.

use cavi::findings::Finding;
use cavi::summary;

use crate::arguments::TopArguments;
use crate::failure::Failure;
use crate::{findings, terminal};

/// Prints the largest entries along one axis, for each position on the others, with their values.
pub fn run(arguments: &TopArguments) -> Result<(), Failure> {
    let variables = summary::variables(&arguments.directory, Some(&arguments.variable))?;
    let mut found = Vec::new();
    for variable in &variables {
        found.push(Finding::Top(summary::top(variable, arguments.over.as_deref(), arguments.n)?));
    }
    terminal::print(&findings::text(&found))
}
