//! Warm-ups: sweeps before those of the fit, with equations of their own ([`cavi_derivation::warmup`]).

use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_algebra::{BlockId, Equations};
use cavi_derivation::warmup::{Over, Shape, shapes, with_free_shapes, with_means};
use cavi_executor::shard::memory::of_bound;
use cavi_executor::{Digits, Ground, Parameters, Runner, Schedule, Spread, Swept, Trouble, Unplanned};
use cavi_model::Model;
use cavi_syntax::ast::{Allocations, Warmup as Line};
use cavi_syntax::{Diagnostic, Span};

use crate::allocations;
use crate::bind::Binding;
use crate::bind::known::Known;
use crate::fit::Settings;
use crate::prepare::Problem;

/// A warm-up, ready to run.
pub(crate) struct Warmup {
    pub equations: Equations,
    /// How many sweeps.
    pub sweeps: u64,
    /// The least shape at first.
    least: f64,
    /// The shapes that are raised to it: the blocks that stand for them, and what the program says.
    raised: Vec<(BlockId, Vec<f64>)>,
}

/// What a warm-up leaves.
pub(crate) struct Warmed {
    pub parameters: Parameters,
    pub peak_bytes: usize,
    /// The update that failed, and in which sweep, from 0.
    pub trouble: Option<Trouble>,
    /// Whether it was told to stop.
    pub stopped: bool,
}

/// A warm-up between two of its sweeps.
pub(crate) struct Between<'r> {
    /// It runs these.
    pub executor: &'r Runner<'r>,
    /// The program has so many blocks; those behind them stand for shapes, and follow.
    blocks: usize,
    /// How many sweeps are done.
    pub done: u64,
    /// Whether another one was stopped on its way and undone.
    pub is_undone: bool,
}

impl Between<'_> {
    /// The parameters of the program's blocks.
    pub fn parameters(&self) -> Parameters {
        Parameters { blocks: self.executor.parameters().blocks[..self.blocks].to_vec() }
    }
}

/// What is wrong with a warm-up of a program, if anything.
pub(crate) fn check(equations: &Equations, line: &Line) -> Option<Diagnostic> {
    match line {
        Line::Collapsed(_) => allocations::check(equations, Allocations::Collapsed, "warmup collapsed"),
        Line::Means(_) if equations.sites.is_empty() && equations.auxiliaries.is_empty() => Some(
            Diagnostic::error(
                "E0613",
                "`warmup means` is for programs with allocations, and this one has none",
            )
            .possible(
                "a sum of products inside a Poisson, a Multinomial or another log, or an implicit factor",
            )
            .help("leave the line out"),
        ),
        Line::Shapes(least, sweeps) if !(least.is_finite() && *least > 0.0) => Some(
            Diagnostic::error("E0613", format!("`warmup shapes {least}`: a shape must be greater than 0"))
                .possible("a number greater than 0")
                .help(format!("write `warmup shapes 0.6 over {sweeps}`")),
        ),
        Line::Means(_) | Line::Shapes(..) => None,
    }
}

/// Reads warm-ups given apart from the program (`--warmup`).
///
/// # Errors
/// What is wrong with them, with places in `text`.
pub fn parse(problem: &Problem, text: &str) -> Result<Vec<Line>, Vec<Diagnostic>> {
    let equations = &problem.equations;
    let lines = cavi_syntax::parse_warmup(text)?;
    let all = Span { start: 0, end: text.len() };
    let wrong = lines.iter().filter_map(|line| check(equations, line));
    let wrong: Vec<Diagnostic> = wrong.map(|diagnostic| diagnostic.at(all, "this warm-up")).collect();
    if wrong.is_empty() { Ok(lines) } else { Err(wrong) }
}

/// The warm-ups of a fit: those of its settings, else of the program; a run from given parameters has none of the program's.
pub(crate) fn lines<'a>(model: &'a Model, settings: &'a Settings) -> Vec<&'a Line> {
    match &settings.warmup {
        Some(lines) => lines.iter().collect(),
        None if settings.given.is_some() => Vec::new(),
        None => model.fit.warmup.iter().map(|(line, _)| line).collect(),
    }
}

impl Warmup {
    /// A line of a program, or of the option that replaces it.
    pub fn new(
        model: &Model,
        equations: &Equations,
        binding: &Binding,
        schedule: &Schedule,
        line: &Line,
    ) -> Warmup {
        let resets = allocations::reset_points(equations, schedule);
        let mut warmup = Warmup::of(model, equations, binding, schedule, line);
        warmup.equations = allocations::with_resets(warmup.equations, &resets);
        warmup
    }

    fn of(
        model: &Model,
        equations: &Equations,
        binding: &Binding,
        schedule: &Schedule,
        line: &Line,
    ) -> Warmup {
        let as_it_is =
            |equations: Equations, sweeps| Warmup { equations, sweeps, least: 0.0, raised: Vec::new() };
        match line {
            Line::Means(sweeps) => as_it_is(with_means(equations), *sweeps),
            Line::Collapsed(sweeps) => as_it_is(allocations::collapsed(equations, schedule), *sweeps),
            Line::Shapes(least, sweeps) => {
                let value = |shape: Shape| (shape, values(model, binding, shape));
                let small = |(_, values): &(Shape, Vec<f64>)| values.iter().any(|value| value < least);
                let (chosen, values): (Vec<Shape>, Vec<Vec<f64>>) =
                    shapes(model).into_iter().map(value).filter(small).unzip();
                match with_free_shapes(model, &chosen) {
                    Some(free) => {
                        let first = free.blocks.len() - chosen.len();
                        let raised = (first..).map(BlockId::from).zip(values).collect();
                        Warmup { equations: free, sweeps: *sweeps, least: *least, raised }
                    }
                    None => as_it_is(equations.clone(), *sweeps),
                }
            }
        }
    }

    /// Whether it differs from ordinary sweeps.
    pub fn raises_nothing(&self, line: &Line) -> bool {
        matches!(line, Line::Shapes(..)) && self.raised.is_empty()
    }

    /// Its line of the plan: the predicted time of a sweep, the number of steps, and the memory.
    ///
    /// # Errors
    /// If there is no plan.
    pub fn plan_text(
        &self,
        line: &Line,
        binding: &Binding,
        schedule: &Schedule,
        settings: &Settings,
    ) -> Result<String, Unplanned> {
        let plan = cavi_executor::plan::plan(&self.equations, &binding.bound, settings.precision)?;
        let forecast = plan.forecast_without_bound(&self.equations, schedule, settings.threads.max(1));
        let (bound, threads) = (&binding.bound, settings.threads.max(1));
        let memory = of_bound(bound) + plan.memory(&self.equations, bound, schedule, threads, self.sweeps);
        let (each, steps) = (forecast.sweep_text(), plan.nodes.len());
        let memory = cavi_files::memory::text(memory);
        Ok(format!("before it `warmup {line}`: predicted {each} a sweep; {steps} steps, memory {memory}\n"))
    }

    /// A shape in sweep `sweep` of `1..=sweeps`: `least (value / least)^((sweep - 1) / (sweeps - 1))` where the program says
    /// less than the least, else what it says.
    fn shape(&self, value: f64, sweep: u64) -> f64 {
        if value >= self.least {
            return value;
        }
        let along = if self.sweeps < 2 { 0.0 } else { (sweep - 1) as f64 / (self.sweeps - 1) as f64 };
        self.least * (value / self.least).powf(along)
    }

    /// Runs its sweeps; `after` is called with the number of those that are done and whether the last one was stopped on its way and
    /// undone, and says whether to stop. With `from` the first of them are done, and the run goes on from the digits that it had.
    ///
    /// # Errors
    /// If there is no plan.
    pub fn run(
        &self,
        binding: &Binding,
        schedule: &Schedule,
        (mut parameters, from): (Parameters, Option<(u64, Digits)>),
        (spread, threads): (Option<&Spread>, usize),
        settings: &Settings,
        after: &mut dyn FnMut(&Between<'_>) -> bool,
    ) -> Result<Warmed, Unplanned> {
        let own = parameters.blocks.len();
        parameters.blocks.extend(self.raised.iter().map(|(_, values)| vec![values.clone()]));
        let ground = Ground::new(&self.equations, &binding.bound, settings.precision, spread, &parameters)?;
        ground.run(parameters, threads, |executor| {
            self.sweeps(executor, (own, from), (schedule, settings), after)
        })
    }

    /// The sweeps that are left; the program has `own` blocks.
    fn sweeps(
        &self,
        mut executor: Runner<'_>,
        (own, from): (usize, Option<(u64, Digits)>),
        (schedule, settings): (&Schedule, &Settings),
        after: &mut dyn FnMut(&Between<'_>) -> bool,
    ) -> Warmed {
        let mut trouble = None;
        let mut stopped = false;
        if let Some((_, digits)) = from {
            executor.resume(digits, schedule, false);
        }
        let first = from.map_or(0, |(done, _)| done);
        for sweep in first + 1..=self.sweeps {
            for (block, values) in &self.raised {
                executor
                    .replace(*block, vec![values.iter().map(|value| self.shape(*value, sweep)).collect()]);
            }
            match executor.sweep_until(schedule, &|| settings.is_stopped()) {
                Ok(Swept::Whole) => {
                    stopped =
                        after(&Between { executor: &executor, blocks: own, done: sweep, is_undone: false });
                }
                Ok(Swept::Stopped) => {
                    after(&Between { executor: &executor, blocks: own, done: sweep - 1, is_undone: true });
                    stopped = true;
                }
                Err(own) => trouble = Some(own),
            }
            if stopped || trouble.is_some() {
                break;
            }
        }
        let peak_bytes = executor.peak_bytes();
        let mut parameters = executor.into_parameters();
        parameters.blocks.truncate(own);
        Warmed { parameters, peak_bytes, trouble, stopped }
    }
}

/// The values of a shape, in C order of its letters.
fn values(model: &Model, binding: &Binding, shape: Shape) -> Vec<f64> {
    let mut values = Vec::new();
    let Some(Over { symbols, value, letters, .. }) = shape.over(model) else { return values };
    let known = Known::new(&symbols, &binding.bound.axes, &binding.bound.arrays);
    for_each_value(&symbols, &known, &letters, &mut Assignment::new(), &mut |assignment| {
        values.push(known.value_of(&value, assignment).unwrap_or(f64::NAN));
    });
    values
}
