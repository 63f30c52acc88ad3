//! What follows from data and constants alone.

use super::state::State;
use crate::plan::tensor::{NodeId, Source};

impl State<'_> {
    /// Computes what follows from data and constants alone, once, and forgets the steps on the way there.
    pub(super) fn fold_constants(&mut self) {
        let count = self.work.plan.nodes.len();
        let mut known = vec![None; count];
        let constant: Vec<bool> =
            (0..count).map(|index| self.is_constant(NodeId(index as u32), &mut known)).collect();
        let mut wanted = vec![false; count];
        for root in self
            .work
            .plan
            .elbo
            .iter()
            .chain(self.work.plan.blocks.iter().filter_map(|block| block.weight.as_ref()))
        {
            wanted[root.index()] = true;
        }
        for input in self.work.plan.sites.iter().flatten().flat_map(|site| site.inputs()) {
            wanted[input.index()] = true;
        }
        // What leaves the range of doubles is taken in log space.
        let addends = self.work.plan.sites.iter().flatten().flat_map(|site| &site.addends);
        for mode in addends.flat_map(|addend| &addend.modes) {
            wanted[mode.log_factor.index()] = true;
        }
        for index in (0..count).filter(|index| !constant[*index]) {
            self.work.plan.nodes[index].reads().iter().for_each(|read| wanted[read.index()] = true);
        }
        for index in 0..count {
            if constant[index] && wanted[index] {
                self.evaluate(NodeId(index as u32));
            }
        }
        let blocks = self.work.plan.blocks.iter();
        let updates = blocks
            .flat_map(|block| block.natural.iter().chain(&block.prior).copied().chain(block.ascent_nodes()));
        let addends = self.work.plan.sites.iter().flatten().flat_map(|site| &site.addends);
        let logs = addends.flat_map(|addend| &addend.modes).map(|mode| mode.log_factor);
        let mut reached = vec![false; count];
        updates.chain(logs).for_each(|node| self.reach(node, &mut reached));
        let mut maps = std::collections::BTreeSet::new();
        for index in 0..count {
            if constant[index] && !wanted[index] && !reached[index] {
                self.values.put(index, Vec::new());
            } else if !constant[index] || reached[index] {
                self.work.prepared[index].iter().for_each(|prepared| maps.extend(prepared.maps()));
            }
        }
        self.work.plan.maps.keep(&maps);
    }

    /// The values of all that follows from data and constants alone and is kept, but for what is given.
    pub(super) fn constants(&mut self) -> Vec<Option<Vec<f64>>> {
        let count = self.work.plan.nodes.len();
        let mut known = vec![None; count];
        self.work.transient.fill(false);
        let values = (0..count).map(|index| {
            let node = NodeId(index as u32);
            let is_given = self.work.plan.nodes[index].source() == Source::Given;
            if is_given || self.work.plan.streamed[index] || !self.is_constant(node, &mut known) {
                return None;
            }
            self.evaluate(node);
            Some(self.values[index].to_vec())
        });
        values.collect()
    }

    /// Whether a node follows from data and constants alone; `known` where that has been asked before.
    fn is_constant(&self, id: NodeId, known: &mut [Option<bool>]) -> bool {
        if let Some(known) = known[id.index()] {
            return known;
        }
        let node = &self.work.plan.nodes[id.index()];
        let constant = match node.source() {
            Source::Given => true,
            Source::Block(_) | Source::Refresh => false,
            Source::Nodes => node.reads().into_iter().all(|read| self.is_constant(read, known)),
        };
        known[id.index()] = Some(constant);
        constant
    }
}
