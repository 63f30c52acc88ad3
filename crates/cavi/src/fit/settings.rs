//! How to fit: what the user asks for, and what that comes to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cavi_executor::reduce::Exchange;
use cavi_executor::{Precision, Schedule};
use cavi_model::Model;
use cavi_syntax::ast::{Allocations, Warmup as Line};

use super::Glances;
use crate::batch::Batch;
use crate::bind::DataError;
use crate::checkpoint::Checkpoints;
use crate::shards::Shards;
use crate::start::Given;

/// How many sweeps a fit has at most, unless told otherwise.
pub const SWEEPS: u64 = 1000;
/// The relative change of the bound under which a fit stops, unless told otherwise.
pub const TOLERANCE: f64 = 1e-6;
/// For how many sweeps running the change must be that small.
pub const PATIENCE: u64 = 3;
/// How to fit. What is `None` is as the program says, else the default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// At most so many sweeps.
    pub sweeps: Option<u64>,
    /// Stop when the relative change of the bound stays under this; 0 runs all sweeps.
    pub tolerance: Option<f64>,
    /// Replaces the program's `sweep` line.
    pub schedule: Option<Schedule>,
    /// Steps on along the way of the last sweeps, the bound never lower; it is then computed after every sweep.
    pub accelerate: Option<bool>,
    /// Replaces the program's `allocations`.
    pub allocations: Option<Allocations>,
    /// Replaces the program's `warmup` lines, which a run from given parameters drops.
    pub warmup: Option<Vec<Line>>,
    /// Replaces the program's `batch` line.
    pub batch: Option<Batch>,
    /// Cuts an axis into shards, in which the sweeps run in step: the bits depend on axis and number, and on nothing else.
    pub shards: Option<Shards>,
    /// The processes that hold the shards; each fits the same problem with the same settings. Without [`Settings::shards`] the largest axis is
    /// cut that can be.
    pub others: Option<Arc<dyn Exchange>>,
    /// Of the random starts; restart `r` has the seed `seed + r`.
    pub seed: Option<u64>,
    /// How many runs; the best is kept.
    pub restarts: Option<u64>,
    /// Whether every run that did not fail is returned, in [`Fit::kept`](crate::Fit::kept); else the best alone.
    pub keep_all: bool,
    /// How many threads; it changes no bit of the result.
    pub threads: usize,
    /// How the arrays that a sweep reads most are stored.
    pub precision: Precision,
    /// The bound is computed every so many sweeps.
    pub elbo_every: u64,
    /// Checks after every item that the bound does not fall.
    pub verify: bool,
    /// Initial parameters of the first run.
    pub given: Option<Given>,
    /// Stops the fit once it is true: within a long sweep (many repetitions, or copies that move one after another) as well, whose
    /// parameters are then those before it. The callback of a fit is asked between sweeps.
    pub stop: Option<Arc<AtomicBool>>,
    /// Writes checkpoints, goes on from those of a fit that was interrupted, or both. It changes no bit of the result.
    pub checkpoints: Option<Checkpoints>,
    /// Copies parameters between two sweeps for who asks for a look. It changes no bit of the result.
    pub glances: Option<Glances>,
}

impl Settings {
    /// Refuses settings of which no fit can be run.
    ///
    /// # Errors
    /// A tolerance that is no number, infinite or below 0; a bound that is computed never.
    pub(crate) fn check(&self) -> Result<(), DataError> {
        if let Some(tolerance) = self.tolerance.filter(|own| !(own.is_finite() && *own >= 0.0)) {
            return Err(DataError::new(format!("`--tol {tolerance}`"))
                .possible("a number, 0 or greater, such as `1e-6`"));
        }
        if self.elbo_every == 0 {
            return Err(DataError::new("`--elbo-every 0`").possible("a whole number, 1 or greater"));
        }
        Ok(())
    }

    /// Whether the fit is to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        is_stopped(self.stop.as_ref())
    }
}

/// Whether work is to stop.
pub(crate) fn is_stopped(stop: Option<&Arc<AtomicBool>>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sweeps: None,
            tolerance: None,
            schedule: None,
            accelerate: None,
            allocations: None,
            warmup: None,
            batch: None,
            shards: None,
            others: None,
            seed: None,
            restarts: None,
            keep_all: false,
            threads: 1,
            precision: Precision::Double,
            elbo_every: 1,
            verify: false,
            given: None,
            stop: None,
            checkpoints: None,
            glances: None,
        }
    }
}

/// The settings a fit had, defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// At most so many sweeps.
    pub sweeps: u64,
    /// The tolerance.
    pub tolerance: f64,
    /// For how many evaluations of the bound running.
    pub patience: u64,
    /// The seed of the first run.
    pub seed: u64,
    /// The number of runs.
    pub restarts: u64,
    /// Whether sweeps are extrapolated.
    pub accelerates: bool,
    /// What allocations are proportional to.
    pub allocations: Allocations,
    /// Which axis is visited in shards before the sweeps.
    pub batch: Batch,
    /// Into which shards the sweeps are cut: as asked, and with the number that the data allow once it has begun.
    pub shards: Option<Shards>,
}

impl Resolved {
    pub(crate) fn of(settings: &Settings, model: &Model) -> Resolved {
        let stop = model.fit.stop;
        let allocations =
            settings.allocations.or(model.fit.allocations.map(|(rule, _)| rule)).unwrap_or_default();
        Resolved {
            sweeps: settings.sweeps.or(model.fit.sweeps).unwrap_or(SWEEPS),
            tolerance: settings.tolerance.or(stop.map(|(tolerance, _)| tolerance)).unwrap_or(TOLERANCE),
            // A tolerance of its own is not that of the program's line, and neither is how often it is asked for.
            patience: stop.filter(|_| settings.tolerance.is_none()).map_or(PATIENCE, |(_, sweeps)| sweeps),
            seed: settings.seed.or(model.fit.seed).unwrap_or(0),
            restarts: settings.restarts.or(model.fit.restarts).unwrap_or(1).max(1),
            accelerates: settings.accelerate.unwrap_or(model.fit.accelerate)
                && allocations == Allocations::Ordinary,
            allocations,
            batch: Batch::of(settings, model),
            shards: Shards::of(settings),
        }
    }
}
