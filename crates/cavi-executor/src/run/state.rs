//! The state of a run: q, and the values that follow from it, each with the stamp of what it was worked out from.
//!
//! It owns the parameters and all buffers of values ([`Buffers`]), and is the only one to change them. Others ask for a node to be
//! brought up to date, read it, put counts in its place, and say which block has moved. It knows nothing of schedules.

use std::collections::BTreeMap;

use cavi_algebra::{BlockId, Equations};
use cavi_families::{Posterior, views_mut};
use cavi_numerics::kernels::masked::Mask;
use cavi_numerics::{Scratch, Threads};
use smallvec::SmallVec;

use super::buffers::{Array, Buffers};
use super::changes::Changes;
use super::common::Seen;
use super::elementwise::{in_place, room};
use super::in_order::Orders;
use super::joint::Joint;
use super::pairs::Pairs;
use crate::data::Bound;
use crate::layout::{Layout, Parameters};
use crate::observed::Observed;
use crate::plan::lifetimes::{LARGE, transient};
use crate::plan::prepared::Prepared;
use crate::plan::stamps::{Due, Stamps};
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::plan::{Place, Plan, Precision, Unplanned};
use crate::trouble::Trouble;

/// What is run, and on what: fixed while a run goes on.
pub(super) struct Work<'a> {
    pub equations: &'a Equations,
    pub bound: &'a Bound,
    pub plan: Plan<'a>,
    /// For each node, its contractions with their steps worked out.
    pub prepared: Vec<Vec<Prepared>>,
    /// Nodes whose values are forgotten once their only reader has them.
    pub transient: Vec<bool>,
    /// For each block, the nodes that its update reads as they were at the last refresh.
    pub held: Vec<Vec<NodeId>>,
    /// What is observed of each block of a partly observed array.
    pub observed: Vec<Option<Observed>>,
    pub threads: Threads,
    pub precision: Precision,
}

/// The state of a run.
pub(super) struct State<'a> {
    pub work: Work<'a>,
    pub parameters: Parameters,
    pub values: Buffers<'a>,
    pub stamps: Stamps,
    /// What is known of the last change of each node and block.
    pub changes: Changes,
    /// What is known of the blocks whose copies move one after another.
    pub in_order: Orders,
    /// Entropies that wait for the bound.
    pub pairs: Pairs,
    /// The masks of sums, by rows and by columns.
    pub masks: BTreeMap<(NodeId, bool), Mask>,
    /// Whether a square that was multiplied out has lost digits.
    pub lost: bool,
    /// In the run of a shard, what brings it together with the others.
    pub joint: Option<Joint>,
}

/// What the run of a shard is given: how it is joined, and for each step that follows from data and constants alone its values.
pub(super) type Given = (Joint, Vec<Option<Array<'static>>>);

impl<'a> State<'a> {
    /// Before the first step. What follows from data and constants alone is worked out, if it is not given.
    pub fn new(
        plan: Plan<'a>,
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        (threads, precision): (usize, Precision),
        given: Option<Given>,
    ) -> Result<State<'a>, Unplanned> {
        let mut state = State::bare(plan, equations, bound, parameters, (threads, precision))?;
        let Some((mut joint, constants)) = given else {
            state.fold_constants();
            return Ok(state);
        };
        // What others have parts of stays as it is given.
        let given: Vec<bool> = constants.iter().map(Option::is_some).collect();
        let moving = given.iter().zip(&joint.places);
        let moving = moving.map(|(given, place)| !given && *place == Place::Partial);
        state.stamps = Stamps::joint(&state.work.plan, moving.collect());
        joint.seen = Seen::new(&state.work.plan, &joint.places, &joint.local, &given);
        for (node, values) in constants.into_iter().enumerate() {
            if let Some(values) = values {
                state.values.set(node, values);
                state.stamps.nodes[node] = 1;
            }
        }
        // Which values are forgotten follows from their number, which differs from shard to shard.
        state.work.transient.fill(false);
        state.joint = Some(joint);
        Ok(state)
    }

    /// Before anything is worked out.
    pub fn bare(
        mut plan: Plan<'a>,
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        (threads, precision): (usize, Precision),
    ) -> Result<State<'a>, Unplanned> {
        let prepared = plan.nodes.iter().map(|node| {
            let Operation::Contractions(parts) = &node.operation else { return Vec::new() };
            parts.iter().map(|part| Prepared::new(part, &plan.nodes, &node.shape, &plan.maps)).collect()
        });
        let prepared = prepared.collect();
        let values = Buffers::new(std::mem::take(&mut plan.statics));
        let blocks = equations.blocks.len();
        let work = Work {
            equations,
            bound,
            prepared,
            transient: transient(&plan),
            held: (0..blocks).map(|block| plan.held_by(BlockId::from(block))).collect(),
            observed: equations.blocks.iter().map(|block| Observed::of(equations, bound, block)).collect(),
            threads: Threads::new(threads),
            precision,
            plan,
        };
        let mut state = State {
            parameters,
            stamps: Stamps::new(&work.plan),
            changes: Changes::new(&work.plan),
            in_order: Orders::new(blocks),
            pairs: Pairs::new(&work.plan, |block| family(equations, block)),
            masks: masks(&work.plan, &values),
            lost: false,
            joint: None,
            values,
            work,
        };
        for index in 0..blocks {
            state.observe(BlockId::from(index))?;
        }
        Ok(state)
    }

    /// Whether some elements of slices of a block are held while others move.
    pub(super) fn has_parts(&self, id: BlockId) -> bool {
        self.work.observed[id.index()].as_ref().is_some_and(Observed::has_parts)
    }

    /// The coefficients of all rows of a block, to those of what is free where elements of slices are held.
    pub(super) fn with_parts(&self, id: BlockId, columns: &[&[f64]]) -> Option<SmallVec<[Scratch; 4]>> {
        let observed = self.work.observed[id.index()].as_ref().filter(|own| own.has_parts())?;
        let batch = self.work.plan.layouts[id.index()].batch();
        let mut own: SmallVec<[Scratch; 4]> = columns.iter().map(|column| Scratch::of(column)).collect();
        observed.hold(&batch, 0..batch.rows, &mut own);
        Some(own)
    }

    /// Makes the observed rows of a partly observed array point masses at their values.
    pub(super) fn observe(&mut self, id: BlockId) -> Result<(), Unplanned> {
        let Some(observed) = &self.work.observed[id.index()] else { return Ok(()) };
        if self.work.equations.block(id).is_point() {
            observed.put(&mut self.parameters.blocks[id.index()][0]);
            return Ok(());
        }
        let family = family(self.work.equations, id);
        let batch = self.work.plan.layouts[id.index()].batch();
        if observed.observe(family, &batch, &mut views_mut(&mut self.parameters.blocks[id.index()])) {
            return Ok(());
        }
        let array = self.work.equations.symbols.array(self.work.equations.block(id).members[0]);
        Err(Unplanned(format!(
            "`{}` is observed in part, and a {} factor of q has no point masses",
            array.name,
            family.name()
        )))
    }

    /// Marks what a node follows from, and the node.
    pub(super) fn reach(&self, node: NodeId, reached: &mut [bool]) {
        if !reached[node.index()] {
            reached[node.index()] = true;
            self.work.plan.nodes[node.index()].reads().into_iter().for_each(|read| self.reach(read, reached));
        }
    }

    /// When the newest thing that a node follows from last changed.
    pub(super) fn newest(&self, id: NodeId) -> u64 {
        self.stamps.newest(&self.work.plan, id)
    }

    /// Brings a node up to date.
    pub(super) fn evaluate(&mut self, id: NodeId) {
        let index = id.index();
        let newest = match self.stamps.due(&self.work.plan, id) {
            Due::Hold => return self.hold(id),
            Due::Nothing => return,
            Due::Current(_) if self.values[index].len() == self.work.plan.nodes[index].len() => return,
            Due::Current(newest) | Due::Outdated(newest) => newest,
        };
        let reads = self.work.plan.nodes[index].reads();
        if self.work.plan.streamed[index] {
            reads.iter().for_each(|read| self.evaluate(*read));
            return;
        }
        if let Operation::Map(function, from) = self.work.plan.nodes[index].operation
            && self.work.transient[from.index()]
        {
            // The values are written into the memory of those that they are computed from.
            self.give_back(from);
            self.values.hand_over(index, from.index());
            self.stamps.nodes[from.index()] = 0;
            self.evaluate(from);
            let mut out = self.values.take(from.index());
            in_place(function, &mut out, &self.work.threads);
            self.values.put(index, out);
            self.stamps.nodes[index] = newest;
            return;
        }
        reads.iter().for_each(|read| self.evaluate(*read));
        if self.evaluate_changed(id, newest) {
            return self.is_own(index);
        }
        self.changes.nodes[index] = None;
        if !self.borrow(id) {
            let memory = self.values.memory(index);
            let out = self.compute(id, memory);
            self.values.set(index, out);
            self.is_own(index);
        }
        self.stamps.nodes[index] = newest;
        for read in reads {
            if self.work.transient[read.index()] {
                self.give_back(read);
            }
        }
    }

    /// Brings what is held of a node to its current values.
    pub(super) fn hold(&mut self, id: NodeId) {
        let Operation::Held(from) = self.work.plan.nodes[id.index()].operation else { return };
        self.evaluate(from);
        if self.stamps.hold(&self.work.plan, id).is_some() {
            let held = self.values.memory(id.index());
            if let Some(lent) = self.values.lent(from.index()).cloned() {
                self.values.set(id.index(), Array::Lent(lent));
            } else {
                let mut held = room(held, self.values[from.index()].len());
                held.copy_from_slice(&self.values[from.index()]);
                self.values.put(id.index(), held);
            }
            self.is_same(id.index(), from.index());
        }
    }

    /// Brings what the update of a block reads as it is now to its current values.
    pub fn hold_for(&mut self, block: BlockId) {
        let held = std::mem::take(&mut self.work.held[block.index()]);
        held.iter().for_each(|node| self.hold(*node));
        self.work.held[block.index()] = held;
    }

    /// Forgets the values of a node; their memory is for others.
    pub(super) fn give_back(&mut self, node: NodeId) {
        self.values.give_back(node.index());
    }

    /// Forgets the values of large nodes that are computed anew whenever they are read.
    pub(super) fn forget(&mut self, nodes: &[NodeId]) {
        if self.is_shard() {
            return;
        }
        for node in nodes {
            let computed = matches!(self.work.plan.nodes[node.index()].operation, Operation::Contractions(_));
            if computed && self.work.plan.nodes[node.index()].len() >= LARGE {
                self.give_back(*node);
            }
        }
    }

    /// Forgets whatever can be worked out anew from the parameters and from what the last refresh left.
    pub(super) fn forget_all(&mut self) {
        self.changes.nodes.fill(None);
        self.pairs.clear();
        for index in 0..self.work.plan.nodes.len() {
            let is_left = matches!(self.work.plan.nodes[index].source(), Source::Given | Source::Refresh);
            // What follows from data and constants alone is given.
            if !is_left && self.stamps.nodes[index] > 1 {
                self.values.give_back(index);
            }
        }
    }

    /// Notes that a block has moved.
    pub(super) fn touch(&mut self, block: BlockId) {
        self.stamps.touch(block);
        self.changes.blocks[block.index()] = None;
        self.moved(block);
    }
}

/// The masks of a plan's sums.
fn masks(plan: &Plan, values: &Buffers) -> BTreeMap<(NodeId, bool), Mask> {
    let mut masks = BTreeMap::new();
    for node in &plan.nodes {
        let Operation::Masked(sum) = &node.operation else { continue };
        masks.entry((sum.mask, sum.by_columns)).or_insert_with(|| {
            let shape = &plan.nodes[sum.mask.index()].shape;
            let [rows, columns] = if sum.by_columns { [shape[1], shape[0]] } else { [shape[0], shape[1]] };
            Mask::new(&values[sum.mask.index()], [rows, columns], sum.by_columns)
        });
    }
    masks
}

/// The factor of q of a block.
pub(super) fn family(equations: &Equations, block: BlockId) -> &'static dyn Posterior {
    cavi_families::posterior(equations.block(block).family)
}

/// Trouble with a copy of a block.
pub(super) fn trouble(block: BlockId, layout: &Layout, copy: usize, reason: String) -> Trouble {
    Trouble { block, copy: layout.positions(copy), reason }
}
