//! What changed of a node since it was last worked out, so that the rest need not be worked out again: when the copies of a
//! block move one after another, each of them changes one row of what follows from the block.
//!
//! What is not in the changed region keeps its bits, and what is in it is worked out from what it reads, as ever; nothing is
//! added to or taken off a value, and nothing drifts.

use std::borrow::Cow;

use cavi_algebra::BlockId;

use super::elementwise::{elementwise, pairwise};
use super::in_order::{Rows, widths};
use super::region::{Region, follows, gathered, scatter};
use super::{Executor, family};
use crate::plan::tensor::{NodeId, Operation};

/// The last change of a block or a node.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The stamp of its state before.
    since: u64,
    /// Where it changed; of a block, among its plates.
    region: Region,
}

impl Executor<'_> {
    /// Notes that some copies of a block have moved.
    pub(super) fn touch_some(&mut self, block: BlockId, region: &Region) {
        let since = self.block_stamps[block.index()];
        self.touch(block);
        // A matrix that rows share changes with any of them.
        if !region.is_all() && self.plan.layouts[block.index()].group.is_empty() {
            self.block_changes[block.index()] = Some(Change { since, region: region.clone() });
        }
    }

    /// Works out what changed of a node, if it is known and not all; what the node reads is up to date. Whether that was done.
    pub(super) fn evaluate_changed(&mut self, id: NodeId, newest: u64) -> bool {
        let index = id.index();
        let since = self.stamps[index];
        if since == 0 || self.values[index].len() != self.plan.nodes[index].len() {
            return false;
        }
        let Some(region) = self.changed_region(id).filter(|region| !region.is_all()) else { return false };
        let shape = &self.plan.nodes[index].shape;
        let runs = region.runs(shape);
        let of = |node: &NodeId| gathered(&runs, &self.values[node.index()]);
        let mut own = Vec::new();
        match &self.plan.nodes[index].operation {
            Operation::Point(block, member) => {
                own = gathered(&runs, &self.parameters.blocks[block.index()][*member]);
            }
            Operation::Moment(block, which) => own = self.expected(*block, *which, &region),
            Operation::Map(function, from) => elementwise(*function, &of(from), &mut own, &self.threads),
            Operation::Pair(function, left, right) => pairwise(*function, &of(left), &of(right), &mut own),
            Operation::Contractions(_) => match self.contracted(id, &region) {
                Some(values) => own = values,
                None => return false,
            },
            Operation::Static(_)
            | Operation::Counts(..)
            | Operation::Held(_)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::LogDeterminant(_)
            | Operation::Site(..) => return false,
        }
        let mut values = std::mem::take(&mut self.values[index]).into_owned();
        scatter(&runs, &own, &mut values);
        self.values[index] = Cow::Owned(values);
        self.stamps[index] = newest;
        self.changes[index] = Some(Change { since, region });
        true
    }

    /// Where a node differs from its values, if that is known.
    fn changed_region(&mut self, id: NodeId) -> Option<Region> {
        let node = &self.plan.nodes[id.index()];
        let stamp = self.stamps[id.index()];
        let known = |change: &Option<Change>| {
            change.as_ref().filter(|change| change.since <= stamp).map(|change| change.region.clone())
        };
        if let Operation::Point(block, _) | Operation::Moment(block, _) = &node.operation {
            let mut region = known(&self.block_changes[block.index()])?;
            region.0.resize(node.shape.len(), None);
            return Some(region);
        }
        // Of each array that is read: nothing if it did not change.
        let read = |read: &NodeId| match self.stamps[read.index()] > stamp {
            true => known(&self.changes[read.index()]).map(Some),
            false => Some(None),
        };
        let mut all: Option<Region> = None;
        let mut join = |region: Option<Region>| match (&mut all, region) {
            (Some(all), Some(region)) => all.join(&region),
            (all @ None, region) => *all = region,
            (Some(_), None) => {}
        };
        match &node.operation {
            Operation::Map(_, from) => join(read(from)?),
            Operation::Pair(_, left, right) => {
                join(read(left)?);
                join(read(right)?);
            }
            Operation::Contractions(parts) => {
                for part in parts {
                    let operands = part.operands.iter().map(|operand| read(&operand.node));
                    let changed = operands.collect::<Option<Vec<_>>>()?;
                    join(follows(part, &changed, &node.shape, &self.plan.maps, &mut self.inverses));
                }
            }
            Operation::Static(_)
            | Operation::Counts(..)
            | Operation::Held(_)
            | Operation::Point(..)
            | Operation::Moment(..)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::LogDeterminant(_)
            | Operation::Site(..) => {}
        }
        all
    }

    /// An expectation of the copies of a block in a region, whose rows share nothing.
    fn expected(&self, block: BlockId, which: usize, region: &Region) -> Vec<f64> {
        let layout = &self.plan.layouts[block.index()];
        let family = family(self.equations, block);
        let rows = Rows::new(layout, &Region(region.0[..layout.plates.len()].to_vec()));
        let own = rows.of(&widths(family, layout), &self.parameters.blocks[block.index()]);
        let mut out = vec![0.0; rows.batch().len(family.expectations()[which].extent)];
        family.expect(&rows.batch(), &own, which, &mut out);
        if let Some(observed) = &self.observed[block.index()] {
            observed.expect(family, layout.n, which, rows.rows.iter().copied(), &mut out);
        }
        out
    }
}
