//! What a fit would do, as text.

use std::sync::Arc;

use cavi_executor::Unplanned;
use cavi_executor::shard::memory::of_bound;
use cavi_model::Model;

use super::{Context, FitError, Resolved, Settings};
use crate::allocations;
use crate::batch::Batch;
use crate::compile::Compiled;
use crate::error::Error;
use crate::prepare::Problem;
use crate::show::Format;
use crate::warmup::{self, Warmup};

/// Of the predicted seconds so many lines stand at the head of a plan: their sum and the largest parts.
const FIRST: usize = 9;

/// The plan of a fit as text, its most useful lines first (memory, seconds, and what takes them): how the problem was restated, steps, kernels, memory, and the seconds that a sweep is predicted to
/// take on so many threads of the machine of the benches, with its bound; then each warm-up. Schedule, allocations, warm-ups,
/// precision and threads are those of the settings, else of the program. Nothing is run.
///
/// # Errors
/// If there is no plan; for shards and mini-batches that a fit refuses, as the fit does.
pub fn plan(problem: &Problem, settings: &Settings) -> Result<String, Error> {
    let Problem { source, model, equations, binding, restated, .. } = problem;
    let schedule = match &settings.schedule {
        Some(schedule) => schedule.clone(),
        None => crate::schedule::of_program(model, equations).schedule,
    };
    let rule = Resolved::of(settings, model).allocations;
    let swept = allocations::of_fit(equations, rule, &schedule);
    let mut text: String = restated
        .iter()
        .map(|step| format!("restated for these data, {}: {}\n", step.name, step.reason))
        .collect();
    let unplanned = |unplanned: Unplanned| FitError::Unplanned(unplanned.0).of(source);
    let swept = swept.as_ref().unwrap_or(equations);
    let resolved = Resolved::of(settings, model);
    if resolved.shards.is_some() || resolved.batch != Batch::Off {
        let phase = super::phase(equations, &schedule, rule);
        let (schedule, spread, warmups) = (schedule.clone(), None, Vec::new());
        let mut context = Context {
            swept,
            problem,
            model,
            equations,
            binding,
            settings,
            phase,
            resolved,
            schedule,
            spread,
            warmups,
        };
        context.refuse_pieces().map_err(|error| error.of(source))?;
    }
    let plan = cavi_executor::plan::plan(swept, &binding.bound, settings.precision).map_err(unplanned)?;
    let (bound, threads) = (&binding.bound, settings.threads.max(1));
    let sweeps = Resolved::of(settings, model).sweeps;
    let memory = of_bound(bound) + plan.memory(swept, bound, &schedule, threads, sweeps);
    let memory = format!("memory: {}\n", cavi_files::memory::text(memory));
    // The steps end with what all of them take together, which no run holds at one time.
    let is_memory = |line: &&str| line.starts_with("memory: ");
    let steps = plan.text(swept);
    let steps: String = steps
        .lines()
        .map(|line| if is_memory(&line) { memory.clone() } else { format!("{line}\n") })
        .collect();
    let forecast = plan.forecast(swept, &schedule, threads).text(swept);
    let mut head = memory;
    forecast.lines().take(FIRST).for_each(|line| head += &format!("{line}\n"));
    text = format!("{head}\n{text}{steps}{forecast}");
    for line in warmup::lines(model, settings) {
        let warmup = Warmup::new(model, equations, binding, &schedule, line);
        text += &warmup.plan_text(line, binding, &schedule, settings).map_err(unplanned)?;
    }
    Ok(text)
}

impl Problem {
    /// The derivation of the program as it is restated for the data; without a restatement, that of the program.
    pub fn derivation(&self, format: Format) -> String {
        let mut text: String = self
            .restated
            .iter()
            .map(|step| format!("restated for these data, {}: {}\n", step.name, step.reason))
            .collect();
        // What is written in the program is no longer what is derived.
        let as_written = self.model.as_written.clone().filter(|_| self.restated.is_empty());
        let compiled = Compiled {
            source: Arc::clone(&self.source),
            model: Model { as_written, ..self.model.clone() },
            equations: self.equations.clone(),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text + &compiled.derivation(format)
    }
}
