//! How much memory a fit takes, before its first sweep.
//!
//! What reading and planning took has been seen by then: the most that the heap held so far. What is still to come is forecast: the most
//! that a run holds at a time ([`Plan::memory`](cavi_executor::Plan::memory)), the parameters of runs that are kept meanwhile, and what a
//! fit keeps beside a run for acceleration, checks and passers-by; on top of what is held now, the data above all.

use cavi_executor::Unplanned;
use cavi_executor::shard::memory::{self as of_shards, How};

use super::{Context, FitError};

/// How much memory a fit takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    /// The most bytes that were held so far, and those that are held now.
    read: usize,
    held: usize,
    /// The most bytes that one run takes at a time on top of these.
    pub run: usize,
    /// The bytes of its parameters.
    parameters: usize,
}

impl Footprint {
    /// The most bytes of so many runs side by side, while those of so many others are kept.
    pub fn bytes(&self, side_by_side: usize, kept: usize) -> usize {
        self.read.max(self.held + side_by_side * self.run + kept * self.parameters)
    }
}

impl Context<'_> {
    /// The memory that the fit takes; `None` where there is no plan, which a run says itself.
    ///
    /// # Errors
    /// If there is not enough for one run.
    pub(super) fn footprint(&self) -> Result<Option<Footprint>, FitError> {
        let of_data = || of_shards::of_bound(&self.binding.bound);
        let held = cavi_numerics::heap_held().unwrap_or_else(of_data);
        let Ok((run, parameters)) = self.memory_of_a_run() else { return Ok(None) };
        if let Some(refusal) = crate::memory::refusal_of_plan(run) {
            return Err(FitError::Wrong(vec![refusal]));
        }
        let read = cavi_numerics::heap_peak().unwrap_or_else(of_data);
        Ok(Some(Footprint { read, held, run, parameters }))
    }

    /// The most bytes that a run takes at a time, and those of its parameters.
    fn memory_of_a_run(&self) -> Result<(usize, usize), Unplanned> {
        let (bound, precision) = (&self.binding.bound, self.settings.precision);
        let threads = self.settings.threads.max(1);
        let how = How { precision, schedule: &self.schedule, threads, sweeps: self.resolved.sweeps };
        let mut most = 0;
        for warmup in &self.warmups {
            most = most.max(match &self.spread {
                Some(spread) => of_shards::in_step(&warmup.equations, bound, spread, how)?,
                None => {
                    let plan = cavi_executor::plan::plan(&warmup.equations, bound, precision)?;
                    plan.memory(&warmup.equations, bound, &self.schedule, threads, warmup.sweeps)
                }
            });
        }
        let plan = cavi_executor::plan::plan(self.swept, bound, precision)?;
        let parameters = plan.parameter_bytes(self.swept);
        let whole = |sweeps: u64| plan.memory(self.swept, bound, &self.schedule, threads, sweeps);
        let sweeps = match &self.spread {
            Some(spread) => of_shards::in_step(self.swept, bound, spread, how)?,
            None => whole(how.sweeps),
        };
        if let Some((axis, shards)) =
            self.resolved.batch.axis(&self.model.symbols).filter(|_| self.is_batched())
        {
            let shards = crate::batch::shards(shards, bound.size(axis));
            let passes = of_shards::one_by_one(self.swept, bound, (axis, shards), how)?;
            // The bound at the start is that of the whole, while the plan of the passes is there.
            most = most.max(passes).max(whole(0) + plan.held_bytes());
        }
        Ok((most.max(sweeps + self.beside(parameters)), parameters))
    }

    /// What a fit keeps beside the run that sweeps: of states in a row for acceleration, of the state before an item that is checked, of
    /// a copy for who looks.
    fn beside(&self, parameters: usize) -> usize {
        /// Three states, that after a step, and that before it.
        const ACCELERATED: usize = 5;
        let accelerates = self.resolved.accelerates && self.phase == "fit" && self.resolved.sweeps > 2;
        let copies = usize::from(self.settings.verify)
            + usize::from(self.settings.glances.is_some())
            + if accelerates { ACCELERATED } else { 0 };
        copies * parameters
    }
}
