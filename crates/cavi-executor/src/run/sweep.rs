//! A sweep of a run, taken step by step, and stopped between two steps where the caller says so.
//!
//! In come a schedule and a question that is asked again and again; out goes whether the sweep came to its end. A sweep keeps the
//! parameters that it began with, and is undone where it stops or an update has no value: a run is then where a whole sweep has led. A
//! short sweep of many parameters keeps no copy of them, which would take a tenth of its time: where an update has no value, the blocks
//! before it stay updated.

use cavi_algebra::BlockId;

use super::ascend::Allocations;
use super::{Executor, Trouble};
use crate::schedule::walk::{self, Walker};
use crate::schedule::{Item, LIGHT, Schedule};

/// How a sweep ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// With its last step.
    Whole,
    /// Where it was told to stop: the parameters are those before it.
    Stopped,
}

/// What ends a sweep before its last step.
pub(super) enum End {
    Trouble(Trouble),
    Stopped,
}

impl From<Trouble> for End {
    fn from(trouble: Trouble) -> End {
        End::Trouble(trouble)
    }
}

impl End {
    /// What went wrong in a sweep that nothing stops.
    pub fn trouble(self) -> Trouble {
        match self {
            End::Trouble(trouble) => trouble,
            End::Stopped => unreachable!("nothing stops it"),
        }
    }
}

/// Whether to stop, asked between steps and on any thread.
pub(super) type Stop<'s> = &'s (dyn Fn() -> bool + Sync);

/// Not to be stopped.
pub(super) const NEVER: Stop<'static> = &|| false;

/// Ends a sweep that is told to stop.
pub(super) fn go_on(stop: Stop) -> Result<(), End> {
    if stop() { Err(End::Stopped) } else { Ok(()) }
}

/// A sweep on its way.
struct Sweep<'r, 'a, 's> {
    executor: &'r mut Executor<'a>,
    stop: Stop<'s>,
}

impl Walker for Sweep<'_, '_, '_> {
    type End = End;

    fn reset(&mut self, block: BlockId) -> Result<(), End> {
        Ok(self.executor.reset(block)?)
    }

    fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), End> {
        go_on(self.stop)?;
        Ok(self.executor.refresh(blocks)?)
    }

    fn update(&mut self, block: BlockId, group: Option<&[BlockId]>) -> Result<(), End> {
        go_on(self.stop)?;
        match group {
            // Outside a group the allocations follow a point that climbs.
            None if self.executor.state.work.equations.block(block).ascent.is_some() => {
                let outcome = self.executor.ascend(block, Allocations::Optimal, self.stop);
                self.executor.state.agree("ascent", block, outcome)
            }
            None => self.executor.update_in(block, &[block], self.stop),
            Some(group) => self.executor.update_in(block, group, self.stop),
        }
    }

    fn repeat_block(&mut self, block: BlockId, times: u64) -> Result<bool, End> {
        self.executor.repeat_rows(block, times, self.stop)
    }
}

impl Executor<'_> {
    /// One sweep: the items of a schedule in order. Where an update has no value, the parameters are again those before the sweep.
    pub fn sweep(&mut self, schedule: &Schedule) -> Result<(), Trouble> {
        self.walk(schedule, NEVER).map_err(End::trouble)
    }

    /// One item, its repetitions included.
    pub fn item(&mut self, item: &Item) -> Result<(), Trouble> {
        walk::walk(&mut Sweep { executor: self, stop: NEVER }, item).map_err(End::trouble)
    }

    /// One sweep that may be stopped. Between the steps of a long one (many repetitions, or copies that move one after another) it
    /// is asked whether to stop; then, and where an update has no value, the parameters are again those before the sweep. A short one
    /// runs to its end.
    pub fn sweep_until(
        &mut self,
        schedule: &Schedule,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Swept, Trouble> {
        match self.walk(schedule, if self.state.work.plan.is_long(schedule) { stop } else { NEVER }) {
            Ok(()) => Ok(Swept::Whole),
            Err(End::Stopped) => Ok(Swept::Stopped),
            Err(End::Trouble(trouble)) => Err(trouble),
        }
    }

    fn walk(&mut self, schedule: &Schedule, stop: Stop) -> Result<(), End> {
        self.keep_digits();
        self.keep_state(schedule);
        self.sites.foresee(&self.state.work.plan, schedule);
        let outcome = walk::sweep(&mut Sweep { executor: self, stop }, schedule);
        let outcome = outcome.and_then(|()| Ok(self.require_means()?));
        if outcome.is_err() {
            self.undo();
        }
        outcome
    }

    /// Whether the last sweep kept what it began with.
    pub fn keeps_state(&self) -> bool {
        !self.moves.before.is_empty()
    }

    /// Keeps the parameters of the blocks that a sweep moves, where that costs little.
    fn keep_state(&mut self, schedule: &Schedule) {
        let moving = schedule.blocks();
        let columns = moving.iter().flat_map(|block| &self.state.parameters.blocks[block.index()]);
        let size: usize = columns.map(Vec::len).sum();
        if size > LIGHT && !self.state.is_shard() && !self.state.work.plan.is_long(schedule) {
            self.moves.before.clear();
            return;
        }
        let before = &mut self.moves.before;
        before.resize_with(moving.len(), || (BlockId(0), Vec::new()));
        for ((id, before), block) in before.iter_mut().zip(&moving) {
            *id = *block;
            before.clone_from(&self.state.parameters.blocks[block.index()]);
        }
    }

    /// Puts the parameters back that the last sweep began with.
    pub(super) fn undo(&mut self) {
        for (block, before) in &self.moves.before {
            self.state.parameters.blocks[block.index()].clone_from(before);
            self.state.touch(*block);
        }
    }
}
