//! Which values of a plan are kept from one use to the next, and which are forgotten once they have been read.
//!
//! Both a run and the forecast of its time ask here, so that they agree on what is worked out again.

use std::collections::BTreeSet;

use cavi_algebra::{BlockId, SiteId};
use cavi_families::Posterior;

use crate::plan::Plan;
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::schedule::{Blocks, Item, Schedule};

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

    /// Whether a sweep updates a block so many times on average, or in so many steps, that it may be stopped on its way, and that a copy of
    /// what it moves costs next to nothing.
    pub fn is_long(&self, schedule: &Schedule) -> bool {
        /// As many times.
        const LONG: u64 = 8;
        let blocks = schedule.blocks();
        let in_order = blocks.iter().any(|block| !self.blocks[block.index()].in_order.is_empty());
        let updates = schedule.items.iter().map(Item::updates).fold(0, u64::saturating_add);
        in_order || updates >= LONG.saturating_mul(blocks.len() as u64)
    }

    /// Those of some blocks whose updates read counts of a site.
    pub fn site_targets(&self, site: SiteId, blocks: &[BlockId]) -> Blocks {
        blocks.iter().copied().filter(|block| self.site_is_read_by(site, *block)).collect()
    }
}

/// What becomes of the steps that follow from data and constants alone, before the first sweep.
#[derive(Clone, Debug)]
pub struct Folded {
    constant: Vec<bool>,
    /// What something reads that is no such step.
    wanted: Vec<bool>,
    /// What updates follow from.
    reached: Vec<bool>,
}

impl Folded {
    /// The steps that are worked out once, in order.
    pub fn worked_out(&self) -> impl Iterator<Item = usize> {
        (0..self.constant.len()).filter(|index| self.constant[*index] && self.wanted[*index])
    }

    /// The steps whose values are not read any more.
    pub fn forgotten(&self) -> impl Iterator<Item = usize> {
        let is_forgotten =
            |index: &usize| self.constant[*index] && !self.wanted[*index] && !self.reached[*index];
        (0..self.constant.len()).filter(is_forgotten)
    }

    /// The steps that are worked out again, whose tables are kept.
    pub fn kept(&self) -> Vec<usize> {
        (0..self.constant.len()).filter(|index| !self.constant[*index] || self.reached[*index]).collect()
    }
}

impl Plan<'_> {
    /// For each step whether it follows from data and constants alone.
    pub fn constant(&self) -> Vec<bool> {
        fn is_constant(plan: &Plan, id: NodeId, known: &mut [Option<bool>]) -> bool {
            if let Some(known) = known[id.index()] {
                return known;
            }
            let node = &plan.nodes[id.index()];
            let constant = match node.source() {
                Source::Given => true,
                Source::Block(_) | Source::Refresh => false,
                Source::Nodes => node.reads().into_iter().all(|read| is_constant(plan, read, known)),
            };
            known[id.index()] = Some(constant);
            constant
        }
        let mut known = vec![None; self.nodes.len()];
        (0..self.nodes.len()).map(|index| is_constant(self, NodeId(index as u32), &mut known)).collect()
    }

    /// What becomes of these steps.
    pub fn folded(&self) -> Folded {
        let constant = self.constant();
        let mut wanted = vec![false; self.nodes.len()];
        let weights = self.blocks.iter().filter_map(|block| block.weight.as_ref());
        self.elbo.iter().chain(weights).for_each(|root| wanted[root.index()] = true);
        let sites = || self.sites.iter().flatten();
        sites().flat_map(|site| site.inputs()).for_each(|input| wanted[input.index()] = true);
        // What leaves the range of doubles is taken in log space.
        let logs = || {
            let modes = sites().flat_map(|site| &site.addends).flat_map(|addend| &addend.modes);
            modes.map(|mode| mode.log_factor)
        };
        logs().for_each(|log| wanted[log.index()] = true);
        for node in self.nodes.iter().zip(&constant).filter(|(_, constant)| !**constant).map(|(node, _)| node)
        {
            node.reads().iter().for_each(|read| wanted[read.index()] = true);
        }
        let updates = self.blocks.iter();
        let updates = updates
            .flat_map(|block| block.natural.iter().chain(&block.prior).copied().chain(block.ascent_nodes()));
        let mut reached = vec![false; self.nodes.len()];
        let mut rest: Vec<NodeId> = updates.chain(logs()).collect();
        while let Some(node) = rest.pop() {
            if !std::mem::replace(&mut reached[node.index()], true) {
                rest.extend(self.nodes[node.index()].reads());
            }
        }
        Folded { constant, wanted, reached }
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
