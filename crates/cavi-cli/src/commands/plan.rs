//! `cavi plan MODEL --data ...`: how a program will run.

use cavi::bind::Inputs;
use cavi::{Error, Format, Settings};

use super::fit;
use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::{program, terminal};

/// Binds the data and prints steps, kernels, memory and predicted seconds; nothing is fitted.
pub fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let fix = Inputs::parse_fixed(&arguments.fix).map_err(Error::Usage)?;
    let inputs = Inputs { sizes_of_covariances: true, fix, ..fit::inputs(&arguments.inputs)? };
    let problem = program::open(&source, &inputs, &[])?.bind(&inputs)?;
    fit::show_notes(&problem, false);
    if arguments.derive {
        return terminal::print(&problem.derivation(Format::Text));
    }
    let settings = Settings {
        precision: arguments.precision,
        threads: arguments.threads.unwrap_or_else(fit::all_threads),
        ..fit::rules(&problem, &arguments.rules)?
    };
    let plan = problem.plan(&settings)?;
    let end = if plan.ends_with('\n') { "" } else { "\n" };
    terminal::print(&format!("{plan}{end}"))
}
