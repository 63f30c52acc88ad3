//! The run of a shard: which of its steps are parts of sums over an axis, and what brings these together.
//!
//! What is worked out for a shard alone never decides whether it asks for a sum: all shards of a run come to the same sums in the same
//! order. So whatever follows from the number of values (which are forgotten, or worked out in parts) is left out in the run of a shard.

use cavi_algebra::{BlockId, SiteId};

use std::sync::Arc;

use cavi_numerics::Scratch;

use super::Executor;
use super::buffers::Array;
use super::common::{Common, Seen};
use super::state::State;
use crate::layout::Parameters;
use crate::plan::Place;
use crate::plan::tensor::{NodeId, Operation, Source};
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
    /// What the shards of this process hold once.
    pub common: Arc<Common>,
    /// The versions of what this one has of it.
    pub seen: Seen,
}

/// What all shards share, on its way from one that was visited to the next.
#[derive(Default)]
pub struct Shared {
    /// The columns that all share, by block and column; empty for the others.
    columns: Vec<Vec<Vec<f64>>>,
    /// Their versions, by block.
    versions: Vec<u64>,
}

impl Shared {
    /// Puts the columns where they are among those of the whole.
    pub fn put(&self, whole: &mut Parameters) {
        let columns = self.columns.iter().flatten().zip(whole.blocks.iter_mut().flatten());
        columns.filter(|(own, _)| !own.is_empty()).for_each(|(own, whole)| whole.clone_from(own));
    }
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

    /// The same of values that are given away. What comes back may be lent to all shards of the process.
    fn total(&mut self, key: Key, values: Vec<f64>) -> Array<'static> {
        let length = values.len();
        if self.halted.is_none() {
            match self.reducer.total(key, values) {
                Ok(total) => return Array::Lent(total),
                Err(Halt(why)) => self.halted = Some(why),
            }
        }
        Array::Own(vec![f64::NAN; length])
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

    /// Puts the sums over all shards in the place of those of this one, of a part of a step that is one.
    pub(super) fn join_step(&mut self, (step, part): (usize, usize), values: &mut [f64]) {
        self.join("step", (step, part), values);
        self.summed(step);
    }

    /// The values of a step, summed over all shards if it is such a sum.
    pub(super) fn join_whole(&mut self, step: usize, values: Vec<f64>) -> Array<'static> {
        let Some(joint) = self.joint.as_mut().filter(|joint| joint.places[step] == Place::Partial) else {
            return Array::Own(values);
        };
        let total = joint.total(Key { what: "step", number: step, part: 0 }, values);
        self.summed(step);
        total
    }

    /// Memory for so many values that are summed over all shards: that of the last ones, or what is kept.
    pub(super) fn memory(&mut self, last: Vec<f64>, length: usize) -> Vec<f64> {
        match &mut self.joint {
            Some(joint) if last.capacity() < length => {
                joint.reducer.keep(last);
                joint.reducer.room(length)
            }
            _ => last,
        }
    }

    /// Keeps such memory, for the other shards too.
    pub(super) fn keep(&mut self, values: Vec<f64>) {
        match &mut self.joint {
            Some(joint) => joint.reducer.keep(values),
            None => Scratch::keep(values),
        }
    }

    /// Puts the sums over all shards in the place of those of this one.
    fn join(&mut self, what: &'static str, (number, part): (usize, usize), values: &mut [f64]) {
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

    /// Forgets sums over all shards that passes gave: they are out of date before they are read again.
    fn forget_counts(&mut self) {
        for index in 0..self.work.plan.nodes.len() {
            let is_counts = matches!(self.work.plan.nodes[index].operation, Operation::Counts(..));
            if is_counts && self.is_partial(NodeId(index as u32)) {
                self.values.give_back(index);
            }
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
    /// asked for again.
    pub fn come_back(&mut self, shared: Shared) {
        let Some(joint) = &self.state.joint else { return };
        let is_shared = joint.shared.clone();
        for (block, (columns, is_shared)) in shared.columns.into_iter().zip(is_shared).enumerate() {
            let own = self.state.parameters.blocks[block].iter_mut().zip(columns);
            own.zip(&is_shared)
                .filter(|(_, is_shared)| **is_shared)
                .for_each(|((own, column), _)| *own = column);
            if is_shared.contains(&true) {
                self.state.touch(BlockId::from(block));
            }
        }
        self.state.passed_on(&shared.versions);
        self.state.stamps.others_moved();
        self.sites.all.iter_mut().for_each(|site| site.last = Default::default());
    }

    /// Gives the columns that all shards share away, and the memory of what follows from them and of sums over all shards;
    /// [`Executor::come_back`] brings them back.
    pub fn leave(&mut self) -> Shared {
        let Some(joint) = &self.state.joint else { return Shared::default() };
        let versions = joint.seen.blocks().to_vec();
        let blocks = self.state.parameters.blocks.iter_mut().zip(&joint.shared);
        let given = |(own, is_shared): (&mut Vec<Vec<f64>>, &Vec<bool>)| {
            let columns = own.iter_mut().zip(is_shared);
            columns
                .map(|(own, is_shared)| if *is_shared { std::mem::take(own) } else { Vec::new() })
                .collect()
        };
        let columns = blocks.map(given).collect();
        self.state.forget_all();
        self.state.forget_counts();
        Shared { columns, versions }
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

    /// Works out what the updates of some blocks read of sums over all shards, so that the others have what this one would give. What
    /// follows from these sums is left alone.
    pub fn contribute(&mut self, blocks: &[BlockId]) {
        let mut seen = vec![false; self.state.work.plan.nodes.len()];
        for block in blocks {
            let mut rest = self.state.work.plan.blocks[block.index()].updated_from();
            while let Some(node) = rest.pop() {
                if std::mem::replace(&mut seen[node.index()], true) {
                    continue;
                }
                let own = &self.state.work.plan.nodes[node.index()];
                match own.source() {
                    Source::Nodes if !self.state.is_partial(node) => rest.extend(own.reads()),
                    Source::Nodes | Source::Refresh => self.state.evaluate(node),
                    Source::Given | Source::Block(_) => {}
                }
            }
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
