//! `cavi plan MODEL --data ...`: how a program will run.

use cavi::bind::Inputs;
use cavi::{Cluster, Error, Format, Settings};

use super::fit;
use crate::arguments::{ClusterArguments, PlanArguments};
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
    let rules = fit::rules(&problem, &arguments.rules)?;
    let plan = match arguments.cluster.ranks {
        Some(processes) => {
            let ClusterArguments { nodes, bandwidth, latency, .. } = &arguments.cluster;
            if *nodes > processes {
                return Err(Failure::usage(format!(
                    "`--nodes {nodes}`: expected no more machines than `--ranks {processes}`"
                )));
            }
            let settings = Settings { precision: arguments.precision, ..rules };
            let threads = arguments.threads.unwrap_or(1);
            let (bandwidth, latency) = (*bandwidth, *latency);
            problem
                .plan_over(&settings, &Cluster { processes, machines: *nodes, threads, bandwidth, latency })?
        }
        None => {
            let threads = arguments.threads.unwrap_or_else(fit::all_threads);
            problem.plan(&Settings { precision: arguments.precision, threads, ..rules })?
        }
    };
    let end = if plan.ends_with('\n') { "" } else { "\n" };
    terminal::print(&format!("{plan}{end}"))
}
