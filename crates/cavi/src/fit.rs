//! A fit in memory: starts, sweeps, stopping, restarts, the trace.
//!
//! Nothing here prints, exits, handles signals or touches a global thread pool. Who wants to watch or to stop a fit
//! passes a callback.

mod attempt;
mod batched;
mod cluster;
mod footprint;
mod glances;
mod kept;
mod moved;
mod plan;
mod settings;
mod side_by_side;
mod spread;
mod unobserved;

use std::sync::Arc;

use cavi_algebra::{ArrayId, AxisId, BlockId, Equations};
use cavi_executor::{
    BoundArray, Item, Parameters, Precision, Runner, Schedule, Spread, Step, Swept, Trouble,
};
use cavi_model::Model;
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::{Allocations, Warmup as Line};

use crate::allocations;
use crate::bind::{Binding, DataError};
use crate::compile::Source;
use crate::error::Error;
use crate::prepare::Problem;
use crate::warmup::{self, Warmup};
pub use glances::{Glance, Glances};
use kept::{Attempt, Kept};
pub use plan::plan;
pub(crate) use settings::is_stopped;
pub use settings::{PATIENCE, Resolved, SWEEPS, Settings, TOLERANCE};

/// What `trace.csv` calls the sweeps before sweep 0.
const WARMUP: &str = "warmup";

/// By how much of the sum of the absolute values of its terms the bound may fall by rounding.
fn rounding(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 1e-10,
        Precision::Single => 1e-5,
    }
}

/// What an exact update may lose of the terms that it sees, in units of rounding: a solve over a slice loses a few.
const UNITS_OF_UPDATE: f64 = 32.0;

/// A unit of rounding of what is stored.
fn unit(precision: Precision) -> f64 {
    match precision {
        Precision::Double => f64::EPSILON,
        Precision::Single => f64::from(f32::EPSILON),
    }
}

/// By how much a bound fell, if that is more than rounding allows. A fall from a finite bound to minus infinity is
/// never due to rounding. A bound that was infinite before is not judged.
fn fall(before: f64, after: f64, allowed: f64) -> Option<f64> {
    let fell = after == f64::NEG_INFINITY || before - after > allowed;
    (before.is_finite() && fell).then_some(before - after)
}

/// What the callback sees after each sweep; sweep 0 is the start.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Which run, from 0.
    pub restart: u64,
    /// How many runs.
    pub restarts: u64,
    /// How many sweeps are done in this run.
    pub sweep: u64,
    /// How many there are at most.
    pub sweeps: u64,
    /// Whether this is the warm-up, whose sweeps the two numbers count then.
    pub warming: bool,
    /// How many sweeps are done, those of the warm-up included.
    pub done: u64,
    /// The bound, where it was computed.
    pub elbo: Option<f64>,
    /// Its relative change.
    pub rel_change: Option<f64>,
    /// Since this run's first sweep began.
    pub seconds: f64,
}

/// What the callback answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop here; what is done is returned.
    Stop,
}

/// A row of `trace.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceRow {
    /// The sweep; 0 is the start, or what the warm-up left, whose sweeps are negative.
    pub sweep: i64,
    /// The bound after it, if computed.
    pub elbo: Option<f64>,
    /// Its relative change since it was last computed.
    pub rel_change: Option<f64>,
    /// Since the first sweep's start.
    pub seconds: f64,
    /// `fit`, `reset`, `clamp`, `warmup`, `batch`, or the rule of allocations (`means`, `collapsed`) where that is not the ordinary one.
    pub phase: &'static str,
}

/// One of the runs of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// How many sweeps it did.
    pub sweeps: u64,
    /// Whether it stopped by itself.
    pub converged: bool,
    /// Its last bound; NaN where a run that failed has none.
    pub elbo: f64,
    /// Why it failed, if it did: it is kept only where every run failed.
    pub failure: Option<String>,
}

/// What a fit leaves.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The factors of q of the best run.
    pub parameters: Parameters,
    /// Its trace.
    pub trace: Vec<TraceRow>,
    /// The steps of the plan that it was begun with, as [`plan`] shows them.
    pub plan: String,
    /// Which run is the best.
    pub best: usize,
    /// All runs.
    pub runs: Vec<Run>,
    /// Where all runs are kept, those that did not fail, in order: the number of each, from 0, and the run as a fit of one run.
    pub kept: Vec<(usize, Fit)>,
    /// The settings, defaults filled in.
    pub settings: Resolved,
    /// The warm-ups before the first run.
    pub warmup: Vec<Line>,
    /// The time of the best run's sweeps.
    pub seconds: f64,
    /// The most bytes that the heap of the process held at a time, from its beginning to the end of the fit, what reading took included:
    /// measured, in blocks of 4 KiB or more ([`cavi_numerics::heap_peak`]). In a program that has another allocator than
    /// [`crate::CacheAligned`] it is the forecast.
    pub peak_bytes: usize,
    /// The forecast of these bytes, made before the first sweep: what reading took at most, or what data, parameters and all that follows from
    /// them take at a time in the runs.
    pub planned_bytes: usize,
    /// Whether the callback stopped it.
    pub interrupted: bool,
    /// Why the first run ended early, if every run failed and the one kept did so after at least one whole sweep.
    pub failure: Option<Diagnostic>,
    /// What the author of the program should know.
    pub warnings: Vec<Diagnostic>,
}

impl Fit {
    /// The best run.
    pub fn run(&self) -> &Run {
        &self.runs[self.best]
    }
}

/// Why there is no fit, without the text that the places of diagnostics are in.
#[derive(Clone, Debug)]
pub(crate) enum FitError {
    /// Program, data or start are wrong.
    Wrong(Vec<Diagnostic>),
    /// The program is one that this version cannot run.
    Unplanned(String),
    /// The bound fell: see [`Error::Fell`].
    Fell { block: String, sweep: u64, amount: f64, allowed: f64 },
    /// The bound is no number after this sweep.
    NotANumber { sweep: u64 },
    /// A checkpoint cannot be read.
    Unread(DataError),
}

impl FitError {
    /// The error of a fit of this program.
    fn of(self, source: &Arc<Source>) -> Error {
        match self {
            FitError::Wrong(diagnostics) => Error::Program {
                diagnostics: diagnostics.into_iter().filter(Diagnostic::is_error).collect(),
                source: Arc::clone(source),
            },
            FitError::Unplanned(reason) => Error::Unplanned { file_name: source.file_name.clone(), reason },
            FitError::Fell { block, sweep, amount, allowed } => Error::Fell { block, sweep, amount, allowed },
            FitError::NotANumber { sweep } => Error::NotANumber { sweep },
            FitError::Unread(error) => error.into(),
        }
    }
}

/// Numbers above this have a fourth power beyond double precision: products of two squares stand in determinants and
/// quadratic forms.
const LARGE: f64 = 1e77;

/// The data with the largest number, if that is beyond what products of squares hold.
fn too_large(problem: &Problem) -> Option<DataError> {
    let symbols = &problem.model.symbols;
    let sizes = problem.binding.bound.arrays.iter().enumerate().filter_map(|(index, bound)| {
        let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) = bound.as_ref()?;
        let finite = values.iter().map(|value| value.abs()).filter(|value| value.is_finite());
        Some((&symbols.arrays.get(index)?.name, finite.fold(0.0, f64::max)))
    });
    let (name, size) =
        sizes.max_by(|(_, one), (_, other)| one.total_cmp(other)).filter(|(_, size)| *size > LARGE)?;
    Some(
        DataError::new(format!(
            "`{name}` holds {size:e}, and products of squares of it are beyond double precision"
        ))
        .possible(format!("numbers up to about {LARGE:e} in size"))
        .help(format!(
            "divide it by a number of its order: a derived array, `data scaled[...] = {name}[...] / {size:e}`"
        )),
    )
}

/// What is wrong with data as a warning beside what came of them.
fn warning_of(found: DataError) -> Diagnostic {
    let warning = Diagnostic::warning("W0808", found.message);
    let warning = found.possible.into_iter().fold(warning, Diagnostic::possible);
    found.help.into_iter().fold(warning, Diagnostic::help)
}

/// What was asked for and has no effect: where a sweep may lower the bound, a lower one is no mistake, and a higher one no sign of
/// a better extrapolation. Under `reset` and `clamp` the other items of a sweep are verified all the same.
fn without_effect(
    settings: &Settings,
    resolved: &Resolved,
    (equations, schedule): (&Equations, &Schedule),
) -> Option<Diagnostic> {
    let accelerated = match settings.accelerate {
        Some(asked) => asked.then_some("`--accelerate auto`"),
        None => resolved.accelerates.then_some("`accelerate = auto`"),
    };
    let ordinary = resolved.allocations == Allocations::Ordinary;
    let verified = (settings.verify && !ordinary).then_some("`--verify`");
    let asked: Vec<&str> = verified.into_iter().chain(accelerated).collect();
    let (why, help) = if ordinary {
        let (what, without) = lowers(equations, schedule)?;
        (what, format!("leave out `{without}`, or the option"))
    } else {
        let rule = format!("allocations by `{}`", resolved.allocations.word());
        (rule, "`--allocations ordinary` for sweeps that never do".to_owned())
    };
    (!asked.is_empty()).then(|| {
        let have = if asked.len() == 1 { "has" } else { "have" };
        Diagnostic::warning(
            "W0809",
            format!("{} {have} no effect, because {why} may lower the ELBO", asked.join(" and ")),
        )
        .help(help)
    })
}

/// The first item of a schedule that may lower the bound, as a program has it, and the word for which it may.
fn lowers(equations: &Equations, schedule: &Schedule) -> Option<(String, &'static str)> {
    let name = |block: &BlockId| equations.symbols.array(equations.block(*block).members[0]).name.clone();
    if let Some(block) = schedule.reset_blocks().first() {
        return Some((format!("`{} reset`", name(block)), "reset"));
    }
    let clamped = schedule.blocks().into_iter().find(|block| equations.block(*block).clamp)?;
    Some((format!("`point {} clamp`", name(&clamped)), "clamp"))
}

/// Fits a program to data. The callback is called after each sweep.
///
/// # Errors
/// If the program cannot run on these data, if the bound falls ([`Error::Fell`]), or if every run fails: then with the
/// reason of the first. A run that fails while another does not is left out, with a warning.
pub fn fit(
    problem: &Problem,
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Fit, Error> {
    settings.check().map_err(|error| Error::Usage(vec![error]))?;
    let given = settings.given.clone().map(|given| problem.to_run(given));
    let settings = Settings { given, ..settings.clone() };
    let mut fit = run(problem, &settings, callback).map_err(|error| match (error, too_large(problem)) {
        (FitError::NotANumber { .. }, Some(found)) => Error::Data(vec![found]),
        (FitError::Wrong(mut all), Some(found)) => {
            // What the error proposes for a program is no remedy for its data.
            if let Some(first) = all.iter_mut().find(|own| own.is_error()) {
                first.possible = Some(found.message);
                first.help = found.help;
            }
            FitError::Wrong(all).of(&problem.source)
        }
        (error, _) => error.of(&problem.source),
    })?;
    if fit.run().elbo == f64::NEG_INFINITY {
        fit.warnings.extend(too_large(problem).map(warning_of));
    }
    problem.way_back(&mut fit.parameters);
    fit.kept.iter_mut().for_each(|(_, own)| problem.way_back(&mut own.parameters));
    Ok(fit)
}

/// The runs of a fit, of which the best is kept.
fn run(
    problem: &Problem,
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Fit, FitError> {
    let Problem { model, equations, binding, .. } = problem;
    let mut resolved = Resolved::of(settings, model);
    // What there is to say about a schedule was said when it was resolved.
    let schedule = match &settings.schedule {
        Some(schedule) => schedule.clone(),
        None => crate::schedule::of_program(model, equations).schedule,
    };
    let mut warnings = unobserved::warnings(model, &binding.bound);
    warnings.extend(without_effect(settings, &resolved, (equations, &schedule)));
    let phase = phase(equations, &schedule, resolved.allocations);
    // The settings of a fit say what was done.
    resolved.accelerates &= phase == "fit";
    let swept = allocations::of_fit(equations, resolved.allocations, &schedule);
    let mut context = Context {
        swept: swept.as_ref().unwrap_or(equations),
        problem,
        model,
        equations,
        binding,
        settings,
        phase,
        resolved,
        schedule,
        spread: None,
        warmups: Vec::new(),
    };
    context.spread = context.spread_of()?;
    context.resolved.shards = context.spread.as_ref().map(|spread| context.shards_of(spread));
    context.warmups = context.prepared(&mut warnings);

    let footprint = context.all_agree(context.footprint())?;
    let mut kept = Kept::new(warnings, settings.keep_all);
    let count = context.side_by_side(footprint.map(|own| own.run));
    let mut done = 0;
    if count > 1 {
        done = context.run_side_by_side(count, &mut kept, callback)?;
    }
    while done < context.resolved.restarts && !kept.is_interrupted {
        let mut own = Vec::new();
        let attempt = context.attempt(done, context.settings.threads.max(1), &mut own, callback);
        kept.keep(context.seed(done), attempt, own)?;
        done += 1;
    }
    let warmup = context.lines().into_iter().cloned().collect();
    // While the last runs go on, the best of those before is kept, and all of them where all are wanted.
    let restarts = usize::try_from(context.resolved.restarts).unwrap_or(usize::MAX);
    let before = restarts.saturating_sub(count);
    let others = before.min(1) + if settings.keep_all { before } else { 0 };
    let planned_bytes = footprint.map_or(0, |own| own.bytes(count, others));
    kept.finish(context.resolved, warmup, planned_bytes)
}

/// What the runs of a fit share.
struct Context<'a> {
    problem: &'a Problem,
    model: &'a Model,
    equations: &'a Equations,
    /// Those of its sweeps, by the rule of allocations.
    swept: &'a Equations,
    binding: &'a Binding,
    settings: &'a Settings,
    resolved: Resolved,
    schedule: Schedule,
    phase: &'static str,
    /// Over which shards its sweeps are spread.
    spread: Option<Spread>,
    /// One for each of the lines of a run that no parameters are given for.
    warmups: Vec<Warmup>,
}

/// The code of the warning about an infinite bound.
const INFINITE: &str = "W0801";

/// Why there is no run.
enum Lost {
    /// A run that failed after so many sweeps. Another start may succeed.
    Run(FitError, u64),
    /// A failure that every start would have.
    Fit(FitError),
}

/// Why a sweep was not completed.
enum Halt {
    Trouble(Trouble),
    Lost(Lost),
    /// It was told to stop: the parameters are those before the sweep.
    Stopped,
}

impl From<FitError> for Lost {
    fn from(error: FitError) -> Lost {
        Lost::Fit(error)
    }
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Halt {
        Halt::Trouble(trouble)
    }
}

impl Context<'_> {
    fn seed(&self, restart: u64) -> u64 {
        self.resolved.seed.wrapping_add(restart)
    }

    /// Whether sweeps do not raise the bound, so that a fit ends when the means of its parameters stop changing.
    fn is_judged_by_means(&self) -> bool {
        self.resolved.allocations != Allocations::Ordinary
    }

    /// The warm-ups of every run.
    fn lines(&self) -> Vec<&Line> {
        warmup::lines(self.model, self.settings)
    }

    fn prepared(&self, warnings: &mut Vec<Diagnostic>) -> Vec<Warmup> {
        let lines = self.lines();
        let mut warmups = Vec::new();
        for line in lines {
            let warmup = Warmup::new(self.model, self.equations, self.binding, &self.schedule, line);
            if warmup.raises_nothing(line) {
                warnings.push(
                    Diagnostic::warning(
                        "W0805",
                        "`warmup shapes` raises nothing: its sweeps are ordinary ones",
                    )
                    .possible("constant shapes and concentrations of priors that are less than its number")
                    .help("leave it out, or give a greater number"),
                );
            }
            warmups.push(warmup);
        }
        warmups
    }

    fn tell(
        &self,
        restart: u64,
        trace: &[TraceRow],
        warmup: u64,
        callback: &mut dyn FnMut(&Progress) -> Control,
    ) -> Control {
        let row = &trace[trace.len() - 1];
        let own = callback(&Progress {
            restart,
            restarts: self.resolved.restarts,
            sweep: if row.sweep < 0 { trace.len() as u64 } else { row.sweep as u64 },
            sweeps: if row.sweep < 0 { warmup } else { self.resolved.sweeps },
            warming: row.sweep < 0,
            done: (trace.len() - usize::from(row.sweep >= 0)) as u64,
            elbo: row.elbo,
            rel_change: row.rel_change,
            seconds: row.seconds,
        });
        let stops = spread::as_first(self.others(), own == Control::Stop);
        if stops { Control::Stop } else { Control::Continue }
    }

    /// Whether to stop within a sweep; processes do so between sweeps, where they agree on it.
    fn is_stopped(&self) -> bool {
        self.others().is_none() && self.settings.is_stopped()
    }

    /// A bound that is not a number is a bug. One that is minus infinity gets a warning.
    fn judge(&self, elbo: f64, sweep: u64, warnings: &mut Vec<Diagnostic>) -> Result<(), Lost> {
        if elbo.is_nan() {
            return Err(Lost::Run(FitError::NotANumber { sweep }, sweep));
        }
        let by_product = self.equations.blocks.iter().any(|block| self.equations.keeps_zeros(block));
        if elbo == f64::NEG_INFINITY && !warnings.iter().any(|warning| warning.code == INFINITE) {
            warnings.push(
                Diagnostic::warning(INFINITE, format!("the ELBO is -inf at sweep {sweep}"))
                    .possible(
                        "nothing is observed that the current parameters give no chance, as a positive count at rate 0 or an \
                         outcome of probability 0",
                    )
                    .help(if by_product {
                        "a zero in a start stays zero under multiplicative updates: start from positive values"
                    } else {
                        "look for constants and starts that are 0, for sums over an axis without a position, and for data that the program rules out"
                    }),
            );
        }
        Ok(())
    }

    fn sweep(&self, executor: &mut Runner<'_>, sweep: u64) -> Result<(), Halt> {
        if !self.settings.verify || self.is_judged_by_means() {
            return match executor.sweep_until(&self.schedule, &|| self.is_stopped())? {
                Swept::Whole => Ok(()),
                Swept::Stopped => Err(Halt::Stopped),
            };
        }
        let before = executor.parameters().clone();
        let outcome = self.schedule.items.iter().try_for_each(|item| self.verified(executor, item, sweep));
        if outcome.is_err() {
            executor.restore(before);
        }
        outcome
    }

    /// Runs an item one repetition after another, and checks after each that the bound did not fall.
    fn verified(&self, executor: &mut Runner<'_>, item: &Item, sweep: u64) -> Result<(), Halt> {
        let run = |executor: &mut Runner<'_>, item: Item| {
            executor.sweep(&Schedule { items: vec![item] }).map_err(Halt::Trouble)
        };
        let clamps = item.blocks().iter().any(|block| self.equations.block(*block).clamp);
        if resets(item) || clamps {
            return run(executor, item.clone());
        }
        for _ in 0..item.repeat {
            if self.is_stopped() {
                return Err(Halt::Stopped);
            }
            if let Step::Sequence(members) = &item.step {
                members.iter().try_for_each(|member| self.verified(executor, member, sweep))?;
                continue;
            }
            let before = executor.elbo();
            let scale = executor.elbo_scale();
            run(executor, Item { repeat: 1, ..item.clone() })?;
            let after = executor.elbo();
            let allowed = rounding(self.settings.precision) * scale.max(executor.elbo_scale());
            if after.is_nan() {
                return Err(Halt::Lost(Lost::Run(FitError::NotANumber { sweep }, sweep)));
            }
            if fall(before, after, allowed).is_none() {
                continue;
            }
            let seen: f64 = item.blocks().iter().map(|block| executor.update_scale(*block)).sum();
            let allowed = allowed + UNITS_OF_UPDATE * unit(self.settings.precision) * seen;
            if let Some(amount) = fall(before, after, allowed) {
                let names: Vec<String> = item.blocks().iter().map(|block| self.name(*block)).collect();
                let block = names.join(", ");
                return Err(Halt::Lost(Lost::Fit(FitError::Fell { block, sweep, amount, allowed })));
            }
        }
        Ok(())
    }

    fn name(&self, block: BlockId) -> String {
        let members = &self.equations.block(block).members;
        let name = |member: &ArrayId| self.equations.symbols.array(*member).name.clone();
        members.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// A failed update, at the statement of its block.
    fn explain(&self, trouble: &Trouble, sweep: i64) -> Diagnostic {
        let block = self.equations.block(trouble.block);
        let symbols = &self.equations.symbols;
        let place = |name: &str, axis: AxisId, position: usize| {
            let path = self.binding.labels.path(symbols, &self.binding.bound, axis, position);
            format!("{name} = {}", path.join("/"))
        };
        let mut places: Vec<String> = Vec::new();
        for (letter, position) in block.copies(symbols).iter().zip(&trouble.copy) {
            let letter = symbols.letter(*letter);
            match self.binding.entries.iter().find(|own| own.axis == letter.axis) {
                None => places.push(place(&letter.name, letter.axis, *position)),
                Some(entries) => {
                    places.extend(entries.coordinates.iter().zip(&entries.columns).map(|(axis, column)| {
                        place(&symbols.axis(*axis).name, *axis, column[*position] as usize)
                    }))
                }
            }
        }
        let mut message = format!("`{}` has no update in sweep {sweep}", self.name(trouble.block));
        if !places.is_empty() {
            message = format!("{message} at {}", places.join(", "));
        }
        let (possible, help) = remedy(&trouble.reason);
        Diagnostic::error("E0801", format!("{message}: {}", trouble.reason))
            .at(self.model.array_spans[block.members[0].index()], "this variable")
            .possible(possible)
            .help(help)
    }
}

/// What is possible instead of an update that fails for this reason, and what to try.
fn remedy(reason: &str) -> (&'static str, &'static str) {
    let says = |words: &str| reason.contains(words);
    if says("derivative") || says("objective is no number") {
        (
            "a start at which its log density has a finite derivative",
            "start it elsewhere (`init { a = 1 }`, or without a line for it), or write what it enters so that it has a derivative there",
        )
    } else if says("allocations by means") {
        (
            "means that are finite: an InverseGamma has one where its shape is greater than 1",
            "take the ordinary allocations (`--allocations ordinary`, `--warmup none`), or a prior whose mean is finite",
        )
    } else if says("digits") {
        (
            "values whose distance from 0 is at most some million times what they differ by",
            "subtract from each group or row of the data a number near its mean before the fit; what all have in common is taken off by \
             `center over` after the declaration of the data",
        )
    } else if says("finite") && !says("definite") {
        (
            "finite coefficients: those of what this variable meets are too large for double precision",
            "a scale at 0 does this, as one that may be 0 becomes where a residual is: give it a prior that keeps it from 0 (an \
                 InverseGamma, or a Gamma precision), or make this variable no point, whose residuals may be 0",
        )
    } else {
        (
            "a prior and data that determine it: what no data touch has its prior alone",
            "give it a proper prior (a shape or rate greater than 0, a precision for every element), or check the data at this \
                 place",
        )
    }
}

/// |after - before| / max(1, |after|); infinite where one side is, 0 where both are equal.
fn rel_change(before: f64, after: f64) -> f64 {
    if before == after {
        0.0
    } else if before.is_infinite() || after.is_infinite() {
        f64::INFINITY
    } else {
        (after - before).abs() / after.abs().max(1.0)
    }
}

/// What `trace.csv` calls the sweeps of a schedule.
fn phase(equations: &Equations, schedule: &Schedule, rule: Allocations) -> &'static str {
    if rule != Allocations::Ordinary {
        rule.word()
    } else if schedule.items.iter().any(resets) {
        "reset"
    } else if schedule.blocks().iter().any(|block| equations.block(*block).clamp) {
        "clamp"
    } else {
        "fit"
    }
}

/// Whether an item, or one inside it, begins with a reset.
fn resets(item: &Item) -> bool {
    item.reset
        || match &item.step {
            Step::Block(_) => false,
            Step::Group(items) | Step::Sequence(items) => items.iter().any(resets),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_to_minus_infinity_is_a_fall() {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(fall(-1.0, low, high), Some(high));
        assert_eq!(fall(-1.0, -3.0, 1.0), Some(2.0));
        assert_eq!(fall(-1.0, -1.5, 1.0), None);
        assert_eq!((fall(low, low, 1.0), fall(low, -1.0, 1.0), fall(high, -1.0, 1.0)), (None, None, None));
    }

    #[test]
    fn the_relative_change_is_defined_at_infinity() {
        assert_eq!(rel_change(f64::NEG_INFINITY, f64::NEG_INFINITY), 0.0);
        assert_eq!(rel_change(f64::NEG_INFINITY, -1.0), f64::INFINITY);
        assert_eq!(rel_change(-10.0, -8.0), 0.25);
        assert_eq!(rel_change(0.5, 0.25), 0.25);
    }
}
