//! What is kept of the runs of a fit: the best of those that did not fail, or all of these.

use cavi_executor::Parameters;
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::Warmup as Line;

use super::{Fit, FitError, INFINITE, Lost, Resolved, Run, TraceRow};

/// A run and what it leaves.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) run: Run,
    pub(super) parameters: Parameters,
    pub(super) trace: Vec<TraceRow>,
    /// The plan that it was begun with, as text.
    pub(super) plan: String,
    pub(super) interrupted: bool,
    /// Why it ended early, after at least one whole sweep.
    pub(super) failure: Option<Diagnostic>,
    /// What is said of its end, if it is the one that is kept.
    pub(super) not_found: Option<Diagnostic>,
}

impl Attempt {
    /// A run that failed is worse than any that did not.
    fn rank(&self) -> (bool, f64) {
        (self.failure.is_none(), self.run.elbo)
    }
}

/// What is kept of the runs so far.
pub(super) struct Kept {
    best: Option<Attempt>,
    best_index: usize,
    /// Those that did not fail, by their numbers, if all are kept.
    all: Option<Vec<(usize, Attempt)>>,
    runs: Vec<Run>,
    /// Why the first run that failed did so.
    first_failure: Option<FitError>,
    warnings: Vec<Diagnostic>,
    /// Whether no run follows.
    pub(super) is_interrupted: bool,
}

impl Kept {
    pub(super) fn new(warnings: Vec<Diagnostic>, keep_all: bool) -> Kept {
        Kept {
            best: None,
            best_index: 0,
            all: keep_all.then(Vec::new),
            runs: Vec::new(),
            first_failure: None,
            warnings,
            is_interrupted: false,
        }
    }

    /// Takes the next run.
    ///
    /// # Errors
    /// If no start would fare better.
    pub(super) fn keep(
        &mut self,
        seed: u64,
        attempt: Result<Attempt, Lost>,
        warnings: Vec<Diagnostic>,
    ) -> Result<(), FitError> {
        // A bound that is infinite is worth a word once, and none where later sweeps leave it, as those of a start do that gives weight to what the data rule out.
        let has_left_it = attempt.as_ref().is_ok_and(|own| own.failure.is_none() && own.run.elbo.is_finite());
        for warning in warnings {
            let is_told = has_left_it || self.warnings.iter().any(|own| own.code == INFINITE);
            if warning.code != INFINITE || !is_told {
                self.warnings.push(warning);
            }
        }
        let attempt = match attempt {
            Ok(attempt) => attempt,
            Err(Lost::Fit(error)) => return Err(error),
            Err(Lost::Run(error, sweeps)) => {
                let failure = Some(reason(&error));
                self.runs.push(Run { seed, sweeps, converged: false, elbo: f64::NAN, failure });
                self.first_failure.get_or_insert(error);
                return Ok(());
            }
        };
        if let Some(failure) = &attempt.failure {
            self.first_failure.get_or_insert_with(|| FitError::Wrong(vec![failure.clone()]));
        }
        self.is_interrupted |= attempt.interrupted;
        self.runs.push(attempt.run.clone());
        if let (Some(all), None) = (&mut self.all, &attempt.failure) {
            all.push((self.runs.len() - 1, attempt.clone()));
        }
        if self.best.as_ref().is_none_or(|best| attempt.rank() > best.rank()) {
            self.best = Some(attempt);
            self.best_index = self.runs.len() - 1;
        }
        Ok(())
    }

    /// The fit that the runs make.
    ///
    /// # Errors
    /// If every run failed, with the reason of the first, unless a state after a whole sweep is left to be kept.
    pub(super) fn finish(
        mut self,
        settings: Resolved,
        warmup: Vec<Line>,
        planned_bytes: usize,
    ) -> Result<Fit, FitError> {
        let count = self.runs.len();
        let failed = self.best.as_ref().is_none_or(|best| best.failure.is_some());
        let best = if failed {
            let first = self.first_failure.expect("a fit has at least one run");
            let first = if count > 1 { of_all(first, count, self.runs[0].seed) } else { first };
            match (self.best, first) {
                (Some(best), FitError::Wrong(mut diagnostics)) => {
                    Attempt { failure: Some(diagnostics.swap_remove(0)), ..best }
                }
                (_, error) => return Err(error),
            }
        } else {
            self.best.expect("a run did not fail")
        };
        for (index, run) in self.runs.iter().enumerate().filter(|_| !failed) {
            if let Some(failure) = &run.failure {
                let (number, seed) = (index + 1, run.seed);
                let message =
                    format!("run {number} of {count} (seed {seed}) failed and is left out: {failure}");
                self.warnings.push(Diagnostic::warning("W0806", message).help(
                    "the result is the best of the other runs; for a start that does not fail, write it in `init`",
                ));
            }
        }
        self.warnings.extend(best.not_found);
        let all = self.all.unwrap_or_default();
        let kept = all
            .into_iter()
            .map(|(number, own)| (number, alone(own, &settings, &warmup, planned_bytes)))
            .collect();
        Ok(Fit {
            parameters: best.parameters,
            seconds: best.trace.last().map_or(0.0, |row| row.seconds),
            trace: best.trace,
            plan: best.plan,
            best: self.best_index,
            runs: self.runs,
            kept,
            warmup,
            settings,
            peak_bytes: measured(planned_bytes),
            planned_bytes,
            interrupted: self.is_interrupted,
            failure: best.failure,
            warnings: self.warnings,
        })
    }
}

/// A run as a fit that has no other.
fn alone(attempt: Attempt, settings: &Resolved, warmup: &[Line], planned_bytes: usize) -> Fit {
    Fit {
        seconds: attempt.trace.last().map_or(0.0, |row| row.seconds),
        settings: Resolved { seed: attempt.run.seed, restarts: 1, ..settings.clone() },
        parameters: attempt.parameters,
        trace: attempt.trace,
        plan: attempt.plan,
        best: 0,
        runs: vec![attempt.run],
        kept: Vec::new(),
        warmup: warmup.to_vec(),
        peak_bytes: measured(planned_bytes),
        planned_bytes,
        interrupted: attempt.interrupted,
        failure: attempt.failure,
        warnings: Vec::new(),
    }
}

/// What the heap held at most so far; where that is not known, what was planned.
pub(super) fn measured(planned: usize) -> usize {
    cavi_numerics::heap_peak().unwrap_or(planned)
}

/// How many bytes parameters take.
pub(super) fn bytes(parameters: &Parameters) -> usize {
    let numbers: usize = parameters.blocks.iter().flatten().map(Vec::len).sum();
    numbers * size_of::<f64>()
}

/// Why a run failed, in a line.
fn reason(error: &FitError) -> String {
    match error {
        FitError::Wrong(diagnostics) => diagnostics[0].message.clone(),
        FitError::Unplanned(reason) => reason.clone(),
        FitError::Fell { block, sweep, amount, .. } => {
            format!("the ELBO fell by {amount:e} in sweep {sweep}, at the update of `{block}`")
        }
        FitError::NotANumber { sweep } => format!("the ELBO is not a number after sweep {sweep}"),
        FitError::Unread(error) => error.to_string(),
    }
}

/// The failure of the first of several runs that all failed.
fn of_all(error: FitError, count: usize, seed: u64) -> FitError {
    match error {
        FitError::Wrong(mut diagnostics) => {
            let first = &mut diagnostics[0].message;
            *first = format!("all {count} runs failed, the first (seed {seed}) because {first}");
            FitError::Wrong(diagnostics)
        }
        other => other,
    }
}
