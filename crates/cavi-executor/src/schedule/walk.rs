//! How a schedule is walked: in which order blocks move, which of them share their allocations, what is repeated.
//!
//! In comes a [`Schedule`]; out go its steps, one after another, to whoever takes them: a run takes them with numbers, the forecast
//! of its time without. The interpreter reads schedules by itself, so that it can be held against this.

use cavi_algebra::BlockId;

use super::{Blocks, Item, Schedule, Step};

/// Whoever takes the steps of a sweep.
pub trait Walker: Sized {
    /// What ends a sweep before its last step.
    type End;

    /// Makes a block the optimum of its own statements alone.
    fn reset(&mut self, block: BlockId) -> Result<(), Self::End>;

    /// Brings the allocations to their optimum, as far as these blocks read them.
    fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), Self::End>;

    /// Updates a block from the allocations of the last refresh, which the blocks of its group share, if it stands in one.
    fn update(&mut self, block: BlockId, group: Option<&[BlockId]>) -> Result<(), Self::End>;

    /// Refreshes and updates a block so many times, where that can be done faster than step by step. Whether it was done.
    fn repeat_block(&mut self, _block: BlockId, _times: u64) -> Result<bool, Self::End> {
        Ok(false)
    }

    /// Takes the steps of an item so many times.
    fn repeat(
        &mut self,
        times: u64,
        once: &mut dyn FnMut(&mut Self) -> Result<(), Self::End>,
    ) -> Result<(), Self::End> {
        (0..times).try_for_each(|_| once(self))
    }
}

/// One sweep: the items of a schedule in order.
pub fn sweep<W: Walker>(walker: &mut W, schedule: &Schedule) -> Result<(), W::End> {
    schedule.items.iter().try_for_each(|item| walk(walker, item))
}

/// One item, its repetitions included.
pub fn walk<W: Walker>(walker: &mut W, item: &Item) -> Result<(), W::End> {
    reset(walker, item)?;
    if let Step::Block(block) = item.step
        && item.repeat > 1
        && walker.repeat_block(block, item.repeat)?
    {
        return Ok(());
    }
    walker.repeat(item.repeat, &mut |walker| match &item.step {
        Step::Block(block) => {
            walker.refresh(&[*block])?;
            walker.update(*block, None)
        }
        Step::Group(members) => {
            let group = item.blocks();
            walker.refresh(&group)?;
            members.iter().try_for_each(|member| walk_member(walker, member, &group))
        }
        Step::Sequence(items) => items.iter().try_for_each(|item| walk(walker, item)),
    })
}

/// An item inside a group, which refreshes nothing.
fn walk_member<W: Walker>(walker: &mut W, item: &Item, group: &[BlockId]) -> Result<(), W::End> {
    reset(walker, item)?;
    walker.repeat(item.repeat, &mut |walker| match &item.step {
        Step::Block(block) => walker.update(*block, Some(group)),
        Step::Group(items) | Step::Sequence(items) => {
            items.iter().try_for_each(|item| walk_member(walker, item, group))
        }
    })
}

fn reset<W: Walker>(walker: &mut W, item: &Item) -> Result<(), W::End> {
    if item.reset { item.blocks().iter().try_for_each(|block| walker.reset(*block)) } else { Ok(()) }
}

/// The blocks that share the first refresh of a sweep that one of these blocks needs; none where the sweep has none of them. What the
/// bound at the end of a sweep works out serves these blocks in the next.
pub fn first_sharing(schedule: &Schedule, reads: &dyn Fn(BlockId) -> bool) -> Blocks {
    fn first(item: &Item, reads: &dyn Fn(BlockId) -> bool) -> Option<Blocks> {
        match &item.step {
            Step::Block(_) | Step::Group(_) => {
                Some(item.blocks()).filter(|own| own.iter().any(|own| reads(*own)))
            }
            Step::Sequence(items) => items.iter().find_map(|item| first(item, reads)),
        }
    }
    schedule.items.iter().find_map(|item| first(item, reads)).unwrap_or_default()
}
