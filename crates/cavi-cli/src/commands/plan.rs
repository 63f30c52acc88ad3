//! `cavi plan MODEL --data ...`: how a program will run.

use cavi::bind::Inputs;

use super::fit;
use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::{program, terminal};

/// Binds the data and prints steps, kernels, memory and predicted seconds; nothing is fitted.
pub fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let inputs = Inputs { sizes_of_covariances: true, ..fit::inputs(&arguments.inputs)? };
    let compiled = program::compile(&source, &inputs.set_values(), &[])?;
    let (compiled, binding) = fit::bind(compiled, &inputs, false)?;
    let threads = arguments.threads.unwrap_or_else(fit::all_threads);
    let plan = cavi::plan(&compiled, &binding, arguments.precision, threads);
    let plan = plan.map_err(|error| fit::failure(&compiled, error))?;
    let end = if plan.ends_with('\n') { "" } else { "\n" };
    terminal::print(&format!("{plan}{end}"))
}
