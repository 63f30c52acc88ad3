//! What a sweep would take over many processes, as text.

use std::fmt::Write as _;

use cavi_algebra::AxisId;
use cavi_executor::Unplanned;
use cavi_executor::plan::forecast::time;
use cavi_executor::plan::plan;
use cavi_executor::shard::{Cluster, axes};
use cavi_syntax::Diagnostic;

use super::spread::written;
use super::{FitError, Resolved, Settings};
use crate::allocations;
use crate::batch::Batch;
use crate::error::Error;
use crate::prepare::Problem;
use crate::shards::{SHARDS, Shards};

impl Problem {
    /// What a sweep with its bound is predicted to take on 1, 2, 4, ... processes up to those of the cluster, by
    /// [`cavi_executor::shard::SpreadCost`]: a table, and what limits it. The axis and the number of shards are those of the settings; without
    /// them the largest axis that can be cut, in as many shards as there are processes, and no fewer than a fit has. Nothing is run.
    ///
    /// # Errors
    /// If there is no plan, or the axis cannot be cut, or it has fewer shards than there are processes; for mini-batches, which one process visits.
    pub fn plan_over(&self, settings: &Settings, cluster: &Cluster) -> Result<String, Error> {
        let Problem { source, model, equations, binding, .. } = self;
        let schedule = match &settings.schedule {
            Some(schedule) => schedule.clone(),
            None => crate::schedule::of_program(model, equations).schedule,
        };
        let rule = Resolved::of(settings, model).allocations;
        let swept = allocations::of_fit(equations, rule, &schedule);
        let swept = swept.as_ref().unwrap_or(equations);
        let asked = settings.shards.clone().unwrap_or(Shards::Largest);
        let refused = |why: String, help: &str| {
            let written = written(settings.shards.as_ref());
            let wrong = Diagnostic::error("E0617", format!("{written}: {why}"));
            FitError::Wrong(vec![wrong.help(help)]).of(source)
        };
        if let Some(own @ Batch::Axis(_)) = &settings.batch {
            let why = format!("`--batch {own}` visits shards one after another");
            return Err(refused(why, "leave one of the two out"));
        }
        let (axis, shards) = match &asked {
            Shards::Largest => {
                let of_plan = |own: Unplanned| refused(own.0, "fit it by one process, in one piece");
                (axes(swept, &binding.bound, settings.precision).map_err(of_plan)?[0].0, None)
            }
            Shards::Axis { axis, shards } => {
                let place = model.symbols.axes.iter().position(|own| own.name == *axis);
                let why = || "the program has no such axis with these data".to_owned();
                (place.map(AxisId::from).ok_or_else(|| refused(why(), "name another axis"))?, *shards)
            }
        };
        let name = &swept.symbols.axis(axis).name;
        let plan = plan(swept, &binding.bound, settings.precision)
            .map_err(|own| FitError::Unplanned(own.0).of(source))?;
        let uncut = |why: String| {
            refused(format!("axis `{name}` cannot be cut into shards: {why}"), "name another axis")
        };
        let cost = plan.spread_cost(swept, &schedule, axis).map_err(uncut)?;
        let (processes, positions) = (cluster.processes, binding.bound.size(axis).max(1));
        let shards = shards.unwrap_or(SHARDS.max(processes as u64));
        let shards = usize::try_from(shards).unwrap_or(usize::MAX).min(positions);
        if shards < processes {
            let why = format!(
                "axis `{name}` is cut into {}, and there are {processes} processes, each of which needs one",
                counted(shards, "shard")
            );
            let help = match positions >= processes {
                true => format!("`--shards {name}={processes}`, or fewer processes"),
                false => format!(
                    "fewer processes, at most one for each of the {} of `{name}`; or name an axis that has more",
                    counted(positions, "position")
                ),
            };
            return Err(refused(why, &help));
        }
        let mut text = format!(
            "a sweep with its bound, predicted: axis {name} in {shards} shards, {} a process, {}\n",
            counted(cluster.threads, "thread"),
            match cluster.machines {
                1 => "one machine".to_owned(),
                more => format!(
                    "{more} machines, {} each way between them, {} a message",
                    bits(cluster.bandwidth),
                    time(cluster.latency)
                ),
            }
        );
        let _ = writeln!(text, "  processes  machines   computing  exchanging     a sweep  times as fast");
        let together = processes.div_ceil(cluster.machines);
        let mut counts: Vec<usize> =
            (0..).map(|power| 1_usize << power).take_while(|count| *count < processes).collect();
        counts.push(processes);
        let one = cost.over(shards, &Cluster { processes: 1, machines: 1, ..*cluster }).seconds();
        let mut last = cost.over(shards, cluster);
        for count in counts {
            let machines = count.div_ceil(together);
            last = cost.over(shards, &Cluster { processes: count, machines, ..*cluster });
            let _ = writeln!(
                text,
                "{count:>11}{machines:>10}{:>12}{:>12}{:>12}{:>15.1}",
                time(last.computing),
                time(last.exchanging),
                time(last.seconds()),
                one / last.seconds()
            );
        }
        let numbers: usize = cost.sums.iter().map(|(length, count)| length * *count as usize).sum();
        let _ = writeln!(
            text,
            "{} over {name} a sweep, {} together; a process sends {}",
            counted(cost.sums.iter().map(|(_, count)| *count as usize).sum(), "sum"),
            bytes(8.0 * numbers as f64),
            bytes(last.bytes)
        );
        let _ = writeln!(
            text,
            "what all shards share has {}, of which a process holds what follows from parameters once",
            bytes(cost.shared_bytes as f64)
        );
        let along = last.computing - last.repeated;
        let limit = match (last.exchanging, last.repeated) {
            (exchanging, repeated) if exchanging > along.max(repeated) => format!(
                "exchanging takes the most: {} of {}; fewer processes, or more positions of {name} for each, use the machines better",
                time(exchanging),
                time(last.seconds())
            ),
            (_, repeated) if repeated > along => format!(
                "what all shards share takes the most: {} of {}; as many shards as processes have the least of it",
                time(repeated),
                time(last.seconds())
            ),
            _ => {
                format!("what lies along {name} takes the most: {} of {}", time(along), time(last.seconds()))
            }
        };
        let _ = writeln!(text, "{limit}");
        let _ = writeln!(text, "run by: mpirun -n {processes} cavi-mpi fit ... --shards {name}={shards}");
        Ok(text)
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Three digits and a unit.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let (size, unit) = units.iter().find(|(size, _)| value >= *size).unwrap_or(&units[units.len() - 1]);
    match value / size {
        own if own >= 100.0 => format!("{own:.0} {unit}"),
        own if own >= 10.0 => format!("{own:.1} {unit}"),
        own => format!("{own:.2} {unit}"),
    }
}

fn bytes(count: f64) -> String {
    scaled(count, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// Bits a second of so many bytes a second.
fn bits(bandwidth: f64) -> String {
    scaled(8.0 * bandwidth, &[(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")])
}
