//! The run of a shard: which of its steps are parts of sums over an axis, and what brings these together.
//!
//! What is worked out for a shard alone never decides whether it asks for a sum: all shards of a run come to the same sums in the same
//! order. So whatever follows from the number of values (which are forgotten, or worked out in parts) is left out in the run of a shard.

use cavi_algebra::{BlockId, SiteId};

use super::Executor;
use super::state::State;
use crate::plan::Place;
use crate::plan::tensor::NodeId;
use crate::reduce::{Ballot, Halt, Key, Reducer};
use crate::schedule::Schedule;
use crate::trouble::Trouble;

/// What the run of a shard has beside that of the whole.
pub struct Joint {
    /// For each step, where its values lie.
    pub places: Vec<Place>,
    /// For each step that is a sum of contractions, how many of them are sums over the axis: the first ones.
    pub split: Vec<usize>,
    /// For each block, whether its copies belong to positions of the axis.
    pub local: Vec<bool>,
    /// For each block, which of its columns all shards share: those of other blocks, and matrices that copies in several shards share.
    pub shared: Vec<Vec<bool>>,
    /// For each site, whether its entries do.
    pub sites: Vec<bool>,
    /// Why sums are no longer to be had.
    pub halted: Option<String>,
    /// Brings the shards together.
    pub reducer: Box<dyn Reducer>,
}

impl Joint {
    /// Puts the sums over all shards in the place of those of this one; NaN once they are not to be had, which the next vote tells.
    pub fn sum(&mut self, key: Key, values: &mut [f64]) {
        if self.halted.is_none() {
            match self.reducer.sum(key, values) {
                Ok(()) => return,
                Err(Halt(why)) => self.halted = Some(why),
            }
        }
        values.fill(f64::NAN);
    }

    /// Whether any shard found it.
    pub fn any(&mut self, key: Key, found: bool) -> bool {
        let mut ballot = Ballot::any(found);
        if self.halted.is_none()
            && let Err(Halt(why)) = self.reducer.vote(key, &mut ballot)
        {
            self.halted = Some(why);
        }
        ballot.any != 0 || self.halted.is_some()
    }
}

impl State<'_> {
    /// Whether this is the run of a shard.
    pub(super) fn is_shard(&self) -> bool {
        self.joint.is_some()
    }

    /// Whether the values of a step are sums over the positions of all shards.
    pub(super) fn is_partial(&self, node: NodeId) -> bool {
        self.joint.as_ref().is_some_and(|joint| joint.places[node.index()] == Place::Partial)
    }

    /// How many of the contractions of a step are sums over the axis that is cut.
    pub(super) fn split(&self, node: NodeId) -> usize {
        self.joint.as_ref().map_or(0, |joint| joint.split[node.index()])
    }

    /// Puts the sums over all shards in the place of those of this one.
    pub(super) fn join(&mut self, what: &'static str, (number, part): (usize, usize), values: &mut [f64]) {
        if let Some(joint) = &mut self.joint {
            joint.sum(Key { what, number, part }, values);
        }
    }

    /// The same of what a site or a block adds to the bound, where its entries or copies belong to the shard.
    pub(super) fn join_site(&mut self, what: &'static str, site: SiteId, values: &mut [f64]) {
        if self.joint.as_ref().is_some_and(|joint| joint.sites[site.index()]) {
            self.join(what, (site.index(), 0), values);
        }
    }

    /// See above.
    pub(super) fn join_block(&mut self, what: &'static str, block: BlockId, values: &mut [f64]) {
        if self.joint.as_ref().is_some_and(|joint| joint.local[block.index()]) {
            self.join(what, (block.index(), 0), values);
        }
    }

    /// Whether any shard found it.
    pub(super) fn any(&mut self, what: &'static str, number: usize, found: bool) -> bool {
        match &mut self.joint {
            Some(joint) => joint.any(Key { what, number, part: 0 }, found),
            None => found,
        }
    }

    /// The outcome of a step for all shards: trouble that one has, all have.
    pub(super) fn agree<T, E: From<Trouble>>(
        &mut self,
        what: &'static str,
        block: BlockId,
        outcome: Result<T, E>,
    ) -> Result<T, E> {
        if !self.is_shard() || !self.any(what, block.index(), outcome.is_err()) {
            return outcome;
        }
        let lost = self.joint.as_ref().and_then(|joint| joint.halted.clone());
        outcome.and_then(|_| Err(Trouble::of_another(block, lost).into()))
    }
}

impl<'a> Executor<'a> {
    /// Another shard has moved since this one came by: what all share is as it has become, and the sums over all shards are to be
    /// asked for again. `shared` are the columns that all share, by block and column; empty for the others.
    pub fn come_back(&mut self, shared: Vec<Vec<Vec<f64>>>) {
        let Some(joint) = &self.state.joint else { return };
        let is_shared = joint.shared.clone();
        for (block, (columns, is_shared)) in shared.into_iter().zip(is_shared).enumerate() {
            let own = self.state.parameters.blocks[block].iter_mut().zip(columns);
            own.zip(&is_shared)
                .filter(|(_, is_shared)| **is_shared)
                .for_each(|((own, column), _)| *own = column);
            if is_shared.contains(&true) {
                self.state.touch(BlockId::from(block));
            }
        }
        self.state.stamps.others_moved();
        self.sites.all.iter_mut().for_each(|site| site.last = Default::default());
    }

    /// Gives the columns that all shards share away, and the memory of what follows from them; [`Executor::come_back`] brings them back.
    pub fn leave(&mut self) -> Vec<Vec<Vec<f64>>> {
        let Some(joint) = &self.state.joint else { return Vec::new() };
        let blocks = self.state.parameters.blocks.iter_mut().zip(&joint.shared);
        let given = |(own, is_shared): (&mut Vec<Vec<f64>>, &Vec<bool>)| {
            let columns = own.iter_mut().zip(is_shared);
            columns
                .map(|(own, is_shared)| if *is_shared { std::mem::take(own) } else { Vec::new() })
                .collect()
        };
        let shared = blocks.map(given).collect();
        self.state.forget_all();
        shared
    }

    /// The columns that belong to positions of this shard, by block and column, and those that all shards share if they are wanted;
    /// empty for the others.
    pub fn columns(&self, with_shared: bool) -> Vec<Vec<Vec<f64>>> {
        let shared = self.state.joint.as_ref().map_or(&[][..], |joint| &joint.shared);
        let blocks = self.state.parameters.blocks.iter().zip(shared);
        let columns = |(own, is_shared): (&Vec<Vec<f64>>, &Vec<bool>)| {
            let columns = own.iter().zip(is_shared);
            columns
                .map(|(own, is_shared)| if *is_shared && !with_shared { Vec::new() } else { own.clone() })
                .collect()
        };
        blocks.map(columns).collect()
    }

    /// Works out what the updates of some blocks read of sums over all shards, so that the others have what this one would give.
    pub fn contribute(&mut self, blocks: &[BlockId]) {
        for block in blocks {
            let plan = std::sync::Arc::clone(&self.state.work.plan.blocks[block.index()]);
            plan.updated_from().into_iter().for_each(|node| self.state.evaluate(node));
        }
    }

    /// The end of what all shards do together: trouble that one has, all have, even where they have come apart on the way.
    ///
    /// # Errors
    /// The trouble of this shard, or that another one has some.
    pub fn end<T>(&mut self, outcome: Result<T, Trouble>) -> Result<T, Trouble> {
        self.state.agree("end", BlockId(0), outcome)
    }

    /// Lets the pass that gives the bound take the counts along that a sweep of this schedule reads first.
    pub fn foresee(&mut self, schedule: &Schedule) {
        self.sites.foresee(&self.state.work.plan, schedule);
    }

    /// Whether updates of these blocks read what is held at a refresh: allocations, or auxiliaries of a bound.
    pub fn allocates(&self, blocks: &[BlockId]) -> bool {
        let plan = &self.state.work.plan;
        blocks.iter().any(|block| !self.state.work.held[block.index()].is_empty())
            || (0..plan.sites.len()).any(|site| !plan.site_targets(site.into(), blocks).is_empty())
    }
}
