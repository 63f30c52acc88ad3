//! One run of a fit: its start, its warm-ups and its sweeps, from the beginning or from a checkpoint.

use std::borrow::Cow;
use std::time::Instant;

use cavi_executor::reduce::Exchange;
use cavi_executor::{Digits, Ground, Parameters, Runner, Unplanned};
use cavi_syntax::Diagnostic;

use super::batched::{Cut, Midway};
use super::moved::Moved;
use super::{Attempt, Context, Control, FitError, Halt, Lost, Progress, Run, TraceRow, WARMUP, rel_change};
use crate::accelerate::Accelerator;
use crate::checkpoint::{At, Checkpoints, Snapshot};
use crate::start::Start;
use crate::together::Reached;
use crate::warmup::Between;

/// Who watches a run.
pub(super) type Watch<'w> = &'w mut dyn FnMut(&Progress) -> Control;

/// A run before its first sweep: at its start, or where a checkpoint has it.
struct Begun {
    parameters: Parameters,
    /// The rows that it has.
    trace: Vec<TraceRow>,
    peak_bytes: usize,
    /// Whether the callback has stopped it.
    stopped: bool,
}

/// What a run's passes and sweeps begin from, beside the executor.
struct Beginning<'b> {
    /// The points of the start, to see which of them nothing moves.
    points: Option<&'b [Vec<f64>]>,
    /// The rows of the trace that it has, the memory that was taken, and whether the callback has stopped it.
    trace: Vec<TraceRow>,
    peak_bytes: usize,
    stopped: bool,
    /// The checkpoint that it goes on from.
    earlier: Option<Snapshot<'b>>,
}

/// Where a run's sweeps are, beside the executor.
pub(super) struct Sweeps<'e> {
    pub(super) trace: Vec<TraceRow>,
    /// The bound when it was last taken.
    pub(super) elbo: f64,
    /// For how many evaluations of it running it has hardly changed; where sweeps are extrapolated, for how many cycles of these.
    small: u64,
    converged: bool,
    accelerator: Option<Accelerator<'e>>,
    moved: Option<Moved>,
    /// The most memory before these sweeps.
    pub(super) peak_bytes: usize,
}

/// What came before the sweeps of a run that are left.
#[derive(Clone, Copy)]
struct Before {
    /// The callback stopped a warm-up or a pass, which has written its checkpoint.
    stopped: bool,
    /// A checkpoint has its end.
    ended: bool,
    /// The callback has seen the last row.
    told: bool,
}

/// When a run last wrote a checkpoint.
pub(super) struct Clock<'c> {
    checkpoints: Option<&'c Checkpoints>,
    /// The processes that the run is spread over: they take a checkpoint together, and the first one writes it.
    others: Option<&'c dyn Exchange>,
    last: Instant,
}

impl Clock<'_> {
    /// Writes a checkpoint if one is due, or if this is the last chance.
    pub(super) fn tick<'s>(&mut self, restart: u64, is_last: bool, snapshot: impl FnOnce() -> Snapshot<'s>) {
        let Some(checkpoints) = self.checkpoints else { return };
        let is_due = is_last && checkpoints.are_written() || checkpoints.is_due(self.last.elapsed());
        if super::spread::as_first(self.others, is_due) {
            checkpoints.write(restart, &snapshot());
            self.last = Instant::now();
        }
    }
}

impl Sweeps<'_> {
    /// After the last sweep of a trace, with its bound.
    fn of(trace: Vec<TraceRow>, elbo: f64) -> Self {
        Sweeps { trace, elbo, small: 0, converged: false, accelerator: None, moved: None, peak_bytes: 0 }
    }

    /// How many sweeps are done.
    pub(super) fn done(&self) -> u64 {
        self.trace.last().map_or(0, |row| u64::try_from(row.sweep).unwrap_or(0))
    }

    /// The state of the run; [`crate::checkpoint`] says why this is all of it.
    fn snapshot<'s>(&'s self, executor: &'s Runner<'_>) -> Snapshot<'s> {
        Snapshot {
            at: At::Sweeps {
                elbo: self.elbo,
                small: self.small,
                converged: self.converged,
                accelerator: self.accelerator.as_ref().map(|own| Cow::Owned(own.kept())),
                moved: self.moved.as_ref().map(|own| Cow::Borrowed(own.means())),
            },
            parameters: Some(Cow::Borrowed(executor.parameters())),
            digits: executor.digits(),
            trace: Cow::Borrowed(&self.trace),
            peak_bytes: self.peak_bytes.max(executor.peak_bytes()),
        }
    }
}

impl Context<'_> {
    /// Runs the warm-ups of a run that are left, and writes their rows.
    fn warm_up(
        &self,
        (restart, threads): (u64, usize),
        begun: Begun,
        from: Option<(usize, u64, Digits)>,
        clock: &mut Clock<'_>,
        callback: Watch<'_>,
    ) -> Result<Begun, Lost> {
        let Begun { mut parameters, mut trace, mut peak_bytes, mut stopped } = begun;
        let total: u64 = self.warmups.iter().map(|warmup| warmup.sweeps).sum();
        let earlier = trace.last().map_or(0.0, |row| row.seconds);
        let begin = Instant::now();
        let first = from.map_or(0, |(line, ..)| line);
        for (line, warmup) in self.warmups.iter().enumerate().skip(first) {
            let mut after = |between: &Between<'_>| {
                if !between.is_undone {
                    let sweep = trace.len() as i64 - total as i64;
                    let seconds = earlier + begin.elapsed().as_secs_f64();
                    trace.push(TraceRow { sweep, elbo: None, rel_change: None, seconds, phase: WARMUP });
                }
                let stops = between.is_undone || self.tell(restart, &trace, total, callback) == Control::Stop;
                clock.tick(restart, stops, || Snapshot {
                    at: At::Warmup { line, done: between.done },
                    parameters: Some(Cow::Owned(between.parameters())),
                    digits: between.executor.digits(),
                    trace: Cow::Borrowed(&trace),
                    peak_bytes: peak_bytes.max(between.executor.peak_bytes()),
                });
                stops
            };
            let from = from.filter(|(own, ..)| *own == line).map(|(_, done, digits)| (done, digits));
            let warmed = warmup
                .run(
                    self.binding,
                    &self.schedule,
                    (parameters, from),
                    (self.spread.as_ref(), threads),
                    self.settings,
                    &mut after,
                )
                .map_err(|unplanned| self.unplanned(unplanned))?;
            if let Some(trouble) = warmed.trouble {
                let sweep = trace.len() as i64 - total as i64;
                return Err(Lost::Run(FitError::Wrong(vec![self.explain(&trouble, sweep)]), 0));
            }
            parameters = warmed.parameters;
            peak_bytes = peak_bytes.max(warmed.peak_bytes);
            stopped = warmed.stopped;
            if stopped {
                break;
            }
        }
        Ok(Begun { parameters, trace, peak_bytes, stopped })
    }

    pub(super) fn attempt(
        &self,
        restart: u64,
        threads: usize,
        warnings: &mut Vec<Diagnostic>,
        callback: Watch<'_>,
    ) -> Result<Attempt, Lost> {
        let checkpoints = self.settings.checkpoints.as_ref();
        let earlier = checkpoints.map(|own| own.of_run(restart)).transpose().map_err(FitError::Unread)?;
        let mut earlier = earlier.flatten();
        if let Some(Snapshot { parameters: None, trace, at, .. }) = &earlier {
            return self.beaten(restart, (at, trace), warnings);
        }
        let mut clock = Clock { checkpoints, others: self.others(), last: Instant::now() };
        let is_first = restart == 0;
        let start = match (&earlier, is_first) {
            // What there is to say about the start is said again.
            (None, _) | (_, true) => Some(self.start(restart)?),
            (Some(_), false) => None,
        };
        let mut start = start.map(|Start { parameters, warnings: about_start }| {
            if is_first {
                warnings.extend(about_start);
            }
            parameters
        });
        let bound = &self.binding.bound;
        let from = start.as_ref().filter(|_| is_first);
        let from = from.map(|parameters| crate::points::traces(self.equations, bound, parameters));
        let mut begun = Begun {
            parameters: Parameters { blocks: Vec::new() },
            trace: Vec::new(),
            peak_bytes: 0,
            stopped: false,
        };
        let mut place = None;
        match &mut earlier {
            None => begun.parameters = start.take().unwrap_or(begun.parameters),
            Some(own) => {
                begun.parameters = own.parameters.take().map_or(begun.parameters, Cow::into_owned);
                begun.trace = own.trace.to_vec();
                begun.peak_bytes = own.peak_bytes;
                if let At::Warmup { line, done } = own.at {
                    place = Some((line, done, own.digits));
                }
            }
        }
        let is_warm = matches!(&earlier, Some(Snapshot { at: At::Sweeps { .. }, .. }));
        let in_passes = match &earlier {
            Some(Snapshot { at: At::Passes { afresh, .. }, digits, .. }) => {
                Some(Midway { afresh: *afresh, has_lost_digits: digits.lost })
            }
            _ => None,
        };
        // What has no mini-batches is refused before anything is run.
        let cut = (!is_warm && self.is_batched()).then(|| self.cut(&begun.parameters)).transpose()?;
        if !is_warm && in_passes.is_none() {
            begun = self.warm_up((restart, threads), begun, place, &mut clock, callback)?;
        }
        let precision = self.settings.precision;
        let unplanned = |own: Unplanned| Lost::from(self.unplanned(own));
        let spread = self.spread.as_ref();
        let ground =
            Ground::new(self.swept, bound, precision, spread, &begun.parameters).map_err(unplanned)?;
        let Begun { parameters, trace, peak_bytes, stopped } = begun;
        let go = |executor: Runner<'_>| {
            let earlier = earlier.filter(|_| is_warm || in_passes.is_some());
            let points = from.as_deref();
            let from = Beginning { points, trace, peak_bytes, stopped, earlier };
            let cut = cut.map(|cut| (cut, in_passes));
            self.go((restart, threads), (&ground, executor), from, cut, &mut clock, warnings, callback)
        };
        ground.run(parameters, threads, go).map_err(unplanned)?
    }

    /// The passes and the sweeps of a run, from its warm-ups' end or from where a checkpoint has it.
    #[allow(clippy::too_many_arguments)]
    fn go<'g>(
        &self,
        (restart, threads): (u64, usize),
        (ground, mut executor): (&Ground<'g>, Runner<'g>),
        Beginning { points, trace, peak_bytes, stopped, earlier }: Beginning<'_>,
        cut: Option<(Cut<'_>, Option<Midway>)>,
        clock: &mut Clock<'_>,
        warnings: &mut Vec<Diagnostic>,
        callback: Watch<'_>,
    ) -> Result<Attempt, Lost> {
        let bound = &self.binding.bound;
        let plan = executor.plan_text();
        let is_warm = matches!(&earlier, Some(Snapshot { at: At::Sweeps { .. }, .. }));
        let mut sweeps = match earlier {
            None => self.first(&mut executor, trace, peak_bytes, warnings)?,
            Some(own) => self.again(&mut executor, own, trace, warnings)?,
        };
        let ended = is_warm && sweeps.done() > 0 && self.is_over(&sweeps);
        let mut before = Before { stopped, ended, told: ended };
        if let Some((cut, in_passes)) = cut.filter(|_| !stopped) {
            sweeps.peak_bytes = sweeps.peak_bytes.max(executor.peak_bytes());
            let from = executor.into_parameters();
            let passed = self.passes(
                (restart, threads),
                cut,
                (from, in_passes),
                (&mut sweeps, clock),
                warnings,
                callback,
            )?;
            before = Before { stopped: passed.stopped, told: true, ..before };
            sweeps.peak_bytes = sweeps.peak_bytes.max(passed.peak_bytes);
            let whole = ground.whole(passed.parameters, threads);
            let whole = whole.map_err(|unplanned| FitError::Unplanned(unplanned.0))?;
            executor = Runner::Whole(Box::new(whole));
            self.go_on(&mut executor, &mut sweeps, warnings)?;
        }
        let (interrupted, failure) =
            self.sweeps((restart, before), &mut executor, &mut sweeps, clock, warnings, callback)?;
        let Sweeps { mut trace, mut elbo, converged, .. } = sweeps;
        // A fit that was stopped between two evaluations of the bound still says where it stands.
        if let Some(row) = trace.last_mut().filter(|row| row.elbo.is_none()) {
            let before = elbo;
            elbo = executor.elbo();
            self.judge(elbo, row.sweep as u64, warnings)?;
            row.elbo = Some(elbo);
            row.rel_change = Some(rel_change(before, elbo));
        }
        let done = trace.last().map_or(0, |row| row.sweep as u64);
        if let Some(from) = points.filter(|_| done > 0 && failure.is_none()) {
            let found = crate::points::undetermined(self.model, self.equations, bound, &mut executor, from);
            warnings.extend(found);
        }
        let is_whole = done > 0 && failure.is_none() && !interrupted;
        let not_found = if is_whole { self.not_found(&mut executor, elbo, &trace) } else { None };
        Ok(Attempt {
            not_found,
            run: Run {
                seed: self.seed(restart),
                sweeps: done,
                converged,
                elbo,
                failure: failure.as_ref().map(|own| own.message.clone()),
            },
            parameters: executor.into_parameters(),
            trace,
            plan,
            interrupted,
            failure,
        })
    }

    /// A warning about what a run has not found that a move of several variables together would: levels that only priors fix, or means.
    fn not_found(&self, executor: &mut Runner<'_>, elbo: f64, trace: &[TraceRow]) -> Option<Diagnostic> {
        let may_move = |block| self.schedule.blocks().contains(&block);
        let levels = crate::levels::not_found(self.model, &self.binding.labels, executor, &may_move);
        let known = levels.as_ref().map_or(0.0, |(_, gain)| *gain);
        let mut known_bounds = trace.iter().rev().filter_map(|row| Some((row.sweep, row.elbo?)));
        let (last, before) = (known_bounds.next(), known_bounds.next());
        let by_sweep = match (last, before) {
            (Some((sweep, last)), Some((from, earlier))) => (last - earlier) / (sweep - from).max(1) as f64,
            _ => 0.0,
        };
        let reached = Reached {
            elbo,
            sweeps: trace.last().map_or(0, |row| row.sweep.max(0) as usize),
            tolerance: self.resolved.tolerance,
            by_sweep,
        };
        // Where allocations are others, means of a lower bound may be meant.
        let together = match self.phase {
            "fit" => crate::together::not_found(self.model, executor, reached, known, &may_move),
            _ => None,
        };
        together.or(levels.map(|(warning, _)| warning))
    }

    /// Lets who asked for it look at the parameters of a run.
    pub(super) fn show(&self, restart: u64, sweep: u64, parameters: &Parameters) {
        if let Some(glances) = &self.settings.glances {
            glances.give(restart, sweep, parameters);
        }
    }

    /// The start of a run.
    fn start(&self, restart: u64) -> Result<Start, Lost> {
        let given = self.settings.given.as_ref();
        // Other runs start at random, but hold what the first one holds: else their bounds would not be those of one program.
        let held = given.filter(|_| restart > 0).map(|own| own.of_fixed(self.equations));
        let given = if restart == 0 { given } else { held.as_ref() };
        let (seed, order) = (self.seed(restart), self.schedule.blocks());
        Ok(crate::start::start_by(self.problem, given, seed, &order).map_err(FitError::Wrong)?)
    }

    /// A run that ended before the fit was interrupted, and that an earlier one beat.
    fn beaten(
        &self,
        restart: u64,
        (at, trace): (&At<'_>, &[TraceRow]),
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Attempt, Lost> {
        self.judge_again(trace, warnings)?;
        let (elbo, converged) = match at {
            At::Sweeps { elbo, converged, .. } => (*elbo, *converged),
            At::Warmup { .. } | At::Passes { .. } => (f64::NEG_INFINITY, false),
        };
        let sweeps = trace.last().map_or(0, |row| row.sweep as u64);
        Ok(Attempt {
            not_found: None,
            run: Run { seed: self.seed(restart), sweeps, converged, elbo, failure: None },
            parameters: Parameters { blocks: Vec::new() },
            trace: trace.to_vec(),
            plan: String::new(),
            interrupted: false,
            failure: None,
        })
    }

    /// The bounds of a trace give the warnings that they gave.
    fn judge_again(&self, trace: &[TraceRow], warnings: &mut Vec<Diagnostic>) -> Result<(), Lost> {
        let mut bounds = trace.iter().filter_map(|row| Some((row.elbo?, row.sweep as u64)));
        bounds.try_for_each(|(elbo, sweep)| self.judge(elbo, sweep, warnings))
    }

    /// Whether sweeps of this fit are extrapolated: where a sweep may fall, higher is no better.
    fn accelerator<'e>(&self, executor: &Runner<'e>) -> Option<Accelerator<'e>> {
        let accelerates = self.resolved.accelerates && self.phase == "fit";
        accelerates.then(|| Accelerator::new(executor, self.schedule.blocks().to_vec()))
    }

    /// Before sweep 1.
    fn first<'e>(
        &self,
        executor: &mut Runner<'e>,
        mut trace: Vec<TraceRow>,
        peak_bytes: usize,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Sweeps<'e>, Lost> {
        // Before sweep 1 only those of the warm-up take time.
        let seconds = trace.last().map_or(0.0, |row: &TraceRow| row.seconds);
        let elbo = executor.elbo();
        self.judge(elbo, 0, warnings)?;
        trace.push(TraceRow { sweep: 0, elbo: Some(elbo), rel_change: None, seconds, phase: "fit" });
        Ok(Sweeps {
            accelerator: self.accelerator(executor),
            moved: self.is_judged_by_means().then(|| Moved::new(self, executor.parameters())),
            peak_bytes,
            ..Sweeps::of(trace, elbo)
        })
    }

    /// Where passes over shards have left a run: the bound after the last of them is that of the whole.
    fn go_on<'e>(
        &self,
        executor: &mut Runner<'e>,
        own: &mut Sweeps<'e>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), Lost> {
        let done = own.done();
        let elbo = executor.elbo();
        self.judge(elbo, done, warnings)?;
        let before = own.trace.len().checked_sub(2).and_then(|place| own.trace[place].elbo);
        if let (Some(row), Some(before)) = (own.trace.last_mut().filter(|row| row.sweep > 0), before) {
            row.elbo = Some(elbo);
            row.rel_change = Some(rel_change(before, elbo));
        }
        (own.elbo, own.accelerator) = (elbo, self.accelerator(executor));
        Ok(())
    }

    /// Where a checkpoint has a run.
    fn again<'e>(
        &self,
        executor: &mut Runner<'e>,
        snapshot: Snapshot<'_>,
        trace: Vec<TraceRow>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Sweeps<'e>, Lost> {
        let (elbo, small, converged, kept, moved) = match snapshot.at {
            At::Warmup { .. } => return self.first(executor, trace, snapshot.peak_bytes, warnings),
            At::Passes { elbo, .. } => {
                self.judge_again(&trace, warnings)?;
                let peak_bytes = snapshot.peak_bytes;
                return Ok(Sweeps { peak_bytes, ..Sweeps::of(trace, elbo) });
            }
            At::Sweeps { elbo, small, converged, accelerator, moved } => {
                (elbo, small, converged, accelerator, moved)
            }
        };
        self.judge_again(&trace, warnings)?;
        let took_bound = trace.last().is_some_and(|row| row.elbo.is_some());
        let now = executor.resume(snapshot.digits, &self.schedule, took_bound);
        warnings.extend(now.and_then(|now| differs(now, elbo)));
        let mut accelerator = self.accelerator(executor);
        if let (Some(own), Some(kept)) = (&mut accelerator, &kept) {
            own.resume(kept);
        }
        let mut own = self.is_judged_by_means().then(|| Moved::new(self, executor.parameters()));
        if let (Some(own), Some(moved)) = (&mut own, moved) {
            own.resume(moved.into_owned());
        }
        Ok(Sweeps { trace, elbo, small, converged, accelerator, moved: own, peak_bytes: snapshot.peak_bytes })
    }

    /// Whether a run has no sweep left.
    pub(super) fn is_over(&self, own: &Sweeps<'_>) -> bool {
        own.converged || own.done() >= self.resolved.sweeps
    }

    /// The sweeps of a run that are left. Returns whether it was interrupted, and what ended it early.
    fn sweeps(
        &self,
        (restart, before): (u64, Before),
        executor: &mut Runner<'_>,
        own: &mut Sweeps<'_>,
        clock: &mut Clock<'_>,
        warnings: &mut Vec<Diagnostic>,
        callback: Watch<'_>,
    ) -> Result<(bool, Option<Diagnostic>), Lost> {
        let earlier = own.trace.last().map_or(0.0, |row| row.seconds);
        let stops = !before.told && self.tell(restart, &own.trace, 0, callback) == Control::Stop;
        let mut interrupted = stops || before.stopped;
        let mut failure = None;
        let begin = Instant::now();
        while !interrupted && !self.is_over(own) {
            let sweep = own.done() + 1;
            let (elbo, accelerator) = (own.elbo, &mut own.accelerator);
            let mut once = |executor: &mut Runner<'_>| self.sweep(executor, sweep);
            let outcome = match accelerator {
                Some(accelerator) => accelerator.sweep(executor, elbo, &mut once),
                None => once(executor),
            };
            match outcome {
                Ok(()) => {}
                Err(Halt::Trouble(trouble)) => {
                    let diagnostic = self.explain(&trouble, sweep as i64);
                    if sweep == 1 {
                        return Err(Lost::Run(FitError::Wrong(vec![diagnostic]), 0));
                    }
                    if !executor.keeps_state() {
                        let elbo = executor.elbo();
                        own.elbo = if elbo.is_finite() { elbo } else { own.elbo };
                    }
                    failure = Some(diagnostic);
                    break;
                }
                Err(Halt::Lost(lost)) => return Err(lost),
                Err(Halt::Stopped) => {
                    if let Some(accelerator) = accelerator {
                        accelerator.undo(executor);
                    }
                    interrupted = true;
                    break;
                }
            }
            let seconds = || earlier + begin.elapsed().as_secs_f64();
            self.note(executor, own, sweep, &seconds, warnings)?;
            self.show(restart, sweep, executor.parameters());
            let stops = self.tell(restart, &own.trace, 0, callback) == Control::Stop;
            interrupted = stops && !self.is_over(own);
            if !interrupted && !self.is_over(own) {
                clock.tick(restart, false, || own.snapshot(executor));
            }
        }
        // What failed fails again.
        if failure.is_none() && !before.stopped && !before.ended {
            if interrupted {
                clock.tick(restart, true, || own.snapshot(executor));
            } else if let Some(checkpoints) = clock.checkpoints {
                checkpoints.write_ended(restart, own.elbo, &own.snapshot(executor));
            }
        }
        Ok((interrupted, failure))
    }

    /// What a sweep has led to: its row, its bound where that is due, and whether the run is at rest.
    fn note(
        &self,
        executor: &mut Runner<'_>,
        own: &mut Sweeps<'_>,
        sweep: u64,
        seconds: &dyn Fn() -> f64,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), Lost> {
        let every = if own.accelerator.is_some() { 1 } else { self.settings.elbo_every.max(1) };
        let due = sweep.is_multiple_of(every) || sweep == self.resolved.sweeps;
        let number = sweep as i64;
        let mut row =
            TraceRow { sweep: number, elbo: None, rel_change: None, seconds: 0.0, phase: self.phase };
        if due {
            let before = own.elbo;
            let elbo = executor.elbo();
            self.judge(elbo, sweep, warnings)?;
            let change = rel_change(before, elbo);
            if let Some(accelerator) = &mut own.accelerator {
                accelerator.plan_turns(elbo - before, change);
            }
            row.elbo = Some(elbo);
            row.rel_change = Some(change);
            let change = own.moved.as_mut().map_or(change, |moved| moved.by(self, executor.parameters()));
            // Sweeps between two steps change less than those with a step: only a whole cycle without a larger change counts.
            let counts = own.accelerator.as_ref().is_none_or(Accelerator::ends_cycle);
            let is_small = change < self.resolved.tolerance && elbo.is_finite();
            own.small = if is_small { own.small + u64::from(counts) } else { 0 };
            own.converged = own.small >= self.resolved.patience
                && own.accelerator.as_mut().is_none_or(Accelerator::has_tried);
            own.elbo = elbo;
        }
        row.seconds = seconds();
        own.trace.push(row);
        Ok(())
    }
}

/// What there is to say where the bound of a checkpoint is another one here.
pub(super) fn differs(now: f64, then: f64) -> Option<Diagnostic> {
    (now.to_bits() != then.to_bits()).then(|| {
        Diagnostic::warning("W0810", "the ELBO of the checkpoint is another one here, in its last digits")
            .possible(
                "the processor, its instruction set and the version of Cavi of the fit that was interrupted",
            )
            .help("the fit went on and is a fit of the same quality, but not of the same bits")
    })
}
