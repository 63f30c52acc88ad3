//! Which values of a plan are kept from one use to the next, and which are forgotten once they have been read.
//!
//! Both a run and the forecast of its time ask here, so that they agree on what is worked out again.

use std::collections::BTreeSet;

use cavi_algebra::{BlockId, SiteId};
use cavi_families::Posterior;

use crate::plan::Plan;
use crate::plan::tensor::{NodeId, Operation};
use crate::schedule::Blocks;

impl Plan<'_> {
    /// The held nodes that the update of a block reads, ascending.
    pub fn held_by(&self, block: BlockId) -> Vec<NodeId> {
        let plan = &self.blocks[block.index()];
        let mut rest: Vec<NodeId> = plan.natural.iter().copied().chain(plan.ascent_nodes()).collect();
        let mut reached = BTreeSet::new();
        while let Some(node) = rest.pop() {
            if reached.insert(node) {
                rest.extend(self.nodes[node.index()].reads());
            }
        }
        let is_held = |node: &NodeId| matches!(self.nodes[node.index()].operation, Operation::Held(_));
        reached.into_iter().filter(is_held).collect()
    }

    /// The step with the expectation beside which a family works out what the bound pairs, if it does and there is one. A prior
    /// that follows from that expectation itself can only be paired after it.
    pub fn pairs_at(&self, family: &dyn Posterior, block: BlockId) -> Option<NodeId> {
        let which = family.pairs_with()?;
        let is_it = |own: &Operation| matches!(own, Operation::Moment(of, number) if *of == block && *number == which);
        let place = self.nodes.iter().position(|node| is_it(&node.operation))?;
        let mut rest = self.blocks[block.index()].prior.clone();
        let mut reached = BTreeSet::new();
        while let Some(node) = rest.pop() {
            if reached.insert(node) {
                rest.extend(self.nodes[node.index()].reads());
            }
        }
        let step = NodeId(place as u32);
        (!reached.contains(&step)).then_some(step)
    }

    /// Whether the update of a block reads counts of a site.
    pub fn site_is_read_by(&self, site: SiteId, block: BlockId) -> bool {
        self.sites[site.index()].as_ref().is_some_and(|site| site.is_read_by(block))
    }

    /// Those of some blocks whose updates read counts of a site.
    pub fn site_targets(&self, site: SiteId, blocks: &[BlockId]) -> Blocks {
        blocks.iter().copied().filter(|block| self.site_is_read_by(site, *block)).collect()
    }
}

/// Nodes of fewer values are kept: they cost nothing.
pub const LARGE: usize = 1 << 12;

/// Large nodes with one reader that reads nothing else, so that the two are always computed together.
pub fn transient(plan: &Plan) -> Vec<bool> {
    let mut readers = vec![0_usize; plan.nodes.len()];
    let mut alone = vec![true; plan.nodes.len()];
    for node in &plan.nodes {
        let reads = node.reads();
        for read in &reads {
            readers[read.index()] += 1;
            alone[read.index()] &= reads.iter().all(|other| other == read);
        }
    }
    // What is held is read at a refresh, and again for the bound.
    for node in &plan.nodes {
        if let Operation::Held(from) = node.operation {
            alone[from.index()] = false;
        }
    }
    let roots = plan.blocks.iter().flat_map(|block| {
        block.natural.iter().chain(&block.prior).chain(&block.weight).copied().chain(block.ascent_nodes())
    });
    for root in roots
        .chain(plan.elbo.iter().copied())
        .chain(plan.sites.iter().flatten().flat_map(|site| site.inputs()))
    {
        alone[root.index()] = false;
    }
    // What changes a row at a time keeps the others.
    let in_order = plan.blocks.iter().filter(|block| !block.in_order.is_empty());
    let mut kept: Vec<NodeId> =
        in_order.flat_map(|block| block.natural.iter().copied().chain(block.ascent_nodes())).collect();
    let mut seen = vec![false; plan.nodes.len()];
    while let Some(node) = kept.pop() {
        if !std::mem::replace(&mut seen[node.index()], true) {
            alone[node.index()] = false;
            kept.extend(plan.nodes[node.index()].reads());
        }
    }
    (0..plan.nodes.len())
        .map(|index| {
            let given = matches!(
                plan.nodes[index].operation,
                Operation::Static(_) | Operation::Counts(..) | Operation::Held(_)
            );
            !given && alone[index] && readers[index] == 1 && plan.nodes[index].len() >= LARGE
        })
        .collect()
}
