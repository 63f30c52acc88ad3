//! Entropies that are worked out together with an expectation that the bound needs as well.
//!
//! The bound takes of a factor of q its log-normaliser, with log Gamma of its parameters, and the pass over the entries reads its
//! expected logs, with digamma of the same parameters. A family that works out both at once ([`Posterior::pairs_with`]) is asked
//! when the expectation is due; its rows wait here, a number a row, until the bound takes them. An expectation that is up to date
//! stays, and so does one that several copies change one after another: then the bound asks for the rows alone, with the same bits.

use cavi_algebra::BlockId;
use cavi_families::{Posterior, views};
use cavi_numerics::Scratch;

use super::rows::{ByParts, entropies_beside};
use super::state::{State, family};
use crate::plan::Plan;
use crate::plan::lifetimes::LARGE;
use crate::plan::parts::Parts;
use crate::plan::stamps::Due;
use crate::plan::tensor::{NodeId, Operation};

/// What is known of the entropy of a block.
#[derive(Default)]
enum Pair {
    /// Nothing.
    #[default]
    Unknown,
    /// It is wanted beside the expectation; the natural parameters of the prior are up to date, and this is their state.
    Wanted(ByParts, u64),
    /// Of each row, with the prior in this state.
    Rows(Vec<f64>, u64),
}

/// The entropies that wait for the bound.
pub(super) struct Pairs {
    /// For each block.
    blocks: Vec<Pair>,
    /// For each block, the step with the expectation beside which its entropy can be worked out.
    beside: Vec<Option<NodeId>>,
}

impl Pairs {
    /// None yet.
    pub fn new(plan: &Plan, family: impl Fn(BlockId) -> &'static dyn Posterior) -> Pairs {
        let beside = |id: BlockId| plan.pairs_at(family(id), id);
        let blocks = 0..plan.blocks.len();
        Pairs {
            beside: blocks.clone().map(|block| beside(BlockId::from(block))).collect(),
            blocks: blocks.map(|_| Pair::default()).collect(),
        }
    }

    /// Forgets those that wait.
    pub fn clear(&mut self) {
        self.blocks.fill_with(Pair::default);
    }
}

impl State<'_> {
    /// Lets the entropy of a block be worked out beside the expectation that goes with it, if that is due.
    pub(super) fn want_pair(&mut self, id: BlockId) {
        let Some(node) = self.pairs.beside[id.index()] else { return };
        let is_kept = self.values[node.index()].len() == self.work.plan.nodes[node.index()].len();
        if matches!(self.stamps.due(&self.work.plan, node), Due::Current(_)) && is_kept {
            return;
        }
        let layout = self.work.plan.layouts[id.index()].clone();
        let parts = Parts::new(family(self.work.equations, id), &layout);
        let plan = self.work.plan.blocks[id.index()].clone();
        let prior = &plan.prior;
        // What the prior says of all rows of several blocks is not to stand in memory at one time.
        let is_large = |node: &NodeId| {
            let own = &self.work.plan.nodes[node.index()];
            let computed = matches!(own.operation, Operation::Contractions(_));
            computed && own.len() >= LARGE && !self.is_by_parts(*node, &parts)
        };
        if self.is_shard() || !prior.iter().any(is_large) {
            let prepared = self.prepare(prior, &parts);
            self.pairs.blocks[id.index()] = Pair::Wanted(prepared, self.state_of_prior(id));
        }
    }

    /// Works out an expectation and, if it is wanted, the entropy beside it. Whether it has done so.
    pub(super) fn pair_beside(&mut self, id: BlockId, node: NodeId, out: &mut [f64]) -> bool {
        let own = &mut self.pairs.blocks[id.index()];
        if self.pairs.beside[id.index()] != Some(node) || !matches!(own, Pair::Wanted(..)) {
            return false;
        }
        let Pair::Wanted(prior, state) = std::mem::take(own) else { return false };
        let family = family(self.work.equations, id);
        let parts = Parts::new(family, &self.work.plan.layouts[id.index()]);
        let descriptors = views(&self.parameters.blocks[id.index()]);
        let columns = self.columns(&prior);
        let rows = entropies_beside(family, &parts, &descriptors, &columns, out, &self.work.threads);
        self.pairs.blocks[id.index()] = Pair::Rows(rows, state);
        true
    }

    /// The entropy of each row of a block, if it was worked out since it was wanted and the prior has not changed.
    pub(super) fn take_pair(&mut self, id: BlockId) -> Option<Vec<f64>> {
        match std::mem::take(&mut self.pairs.blocks[id.index()]) {
            Pair::Rows(rows, state) if state == self.state_of_prior(id) => Some(rows),
            Pair::Rows(rows, _) => {
                Scratch::keep(rows);
                None
            }
            Pair::Unknown | Pair::Wanted(..) => None,
        }
    }

    /// When the newest thing that the prior of a block follows from last changed.
    fn state_of_prior(&self, id: BlockId) -> u64 {
        let prior = self.work.plan.blocks[id.index()].prior.iter().copied();
        self.stamps.newest_of(&self.work.plan, prior)
    }
}
