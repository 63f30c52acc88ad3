//! What changed of a node since it was last worked out, so that the rest need not be worked out again: when the copies of a
//! block move one after another, each of them changes one row of what follows from the block.
//!
//! What is not in the changed region keeps its bits, and what is in it is worked out from what it reads, as ever. A sum over
//! many products of which few changed is not taken again: it gains what these gained,
//!
//! ```text
//! sum a' b' - sum a b = sum (a' - a) b' + sum a' (b' - b) - sum (a' - a)(b' - b)
//! ```
//!
//! each sum over the products that changed alone. Each such step rounds anew, so that all that follows from a block is taken
//! again once its copies have moved.

use cavi_algebra::BlockId;
use cavi_families::views;
use cavi_numerics::Scratch;
use cavi_numerics::kernels::contract::Operands;
use smallvec::SmallVec;

use super::contract_region::{Bounded, Seen};
use super::elementwise::{in_place, pairwise};
use super::in_order::{Rows, widths};
use super::region::{Inverses, Region, follows, gathered, scatter};
use super::state::{State, family};
use crate::plan::tensor::{NodeId, Operation};
use crate::plan::{KEPT, Plan};

/// The last change of a block or a node.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The stamp of its state before.
    since: u64,
    /// Where it changed; of a block, among its plates.
    region: Region,
    /// What a node gained there, if that is kept.
    gained: Scratch,
}

/// What is known of last changes.
pub(super) struct Changes {
    /// For each node and block, its last change, where that is known to be a part of it.
    pub nodes: Vec<Option<Change>>,
    pub blocks: Vec<Option<Change>>,
    /// Whether a sum has been updated by differences since everything that depends on the moving block was computed
    /// in full.
    pub accumulated: bool,
    /// For tables, which places have a value.
    pub inverses: Inverses,
    /// Memory for what a sum gains, from one sum to the next.
    gains: Vec<Gain>,
}

impl Changes {
    /// Before the first change.
    pub fn new(plan: &Plan) -> Changes {
        Changes {
            nodes: vec![None; plan.nodes.len()],
            blocks: vec![None; plan.blocks.len()],
            accumulated: false,
            inverses: Inverses::default(),
            gains: Vec::new(),
        }
    }
}

/// The difference has to be this many times cheaper than the sum. Otherwise the sum is computed in full.
const CHEAPER: usize = 2;

/// A sum that shrinks to this share of itself is computed in full, since it would otherwise keep the rounding errors
/// of its former size.
const SHRUNK: f64 = 1.0 / 64.0;

/// A part of what a sum of contractions gains: a sign, the contraction, the operands that stand there with their gain, and the
/// values of the letters there.
struct Gain {
    sign: f64,
    part: usize,
    gained: SmallVec<[usize; 2]>,
    bounded: Bounded,
}

impl State<'_> {
    /// Notes that some copies of a block have moved.
    pub(super) fn touch_some(&mut self, block: BlockId, region: &Region) {
        let since = self.stamps.blocks[block.index()];
        self.touch(block);
        // A matrix that rows share changes with any of them.
        if !region.is_all() && self.work.plan.layouts[block.index()].group.is_empty() {
            self.changes.blocks[block.index()] =
                Some(Change { since, region: region.clone(), gained: Scratch::zeros(0) });
        }
    }

    /// Whatever depends on a block is computed in full if it was updated by differences while copies of the block
    /// moved.
    pub(super) fn settle_changes(&mut self, block: BlockId) {
        self.changes.nodes.fill(None);
        // What gained instead of being summed anew may differ between shards.
        if std::mem::take(&mut self.changes.accumulated) || self.is_shard() {
            self.touch(block);
        }
    }

    /// Works out what changed of a node, if it is known and not all; what the node reads is up to date. Whether that was done.
    pub(super) fn evaluate_changed(&mut self, id: NodeId, newest: u64) -> bool {
        let index = id.index();
        let since = self.stamps.nodes[index];
        if self.is_partial(id) || since == 0 || self.values[index].len() != self.work.plan.nodes[index].len()
        {
            return false;
        }
        let Some(region) = self.changed_region(id) else { return false };
        if self.gain(id, &region, newest) {
            return true;
        }
        if region.is_all() {
            return false;
        }
        let shape = &self.work.plan.nodes[index].shape;
        let runs = region.runs(shape);
        let of = |node: &NodeId| gathered(&runs, &self.values[node.index()]);
        let mut own;
        match &self.work.plan.nodes[index].operation {
            Operation::Point(block, member) => {
                own = gathered(&runs, &self.parameters.blocks[block.index()][*member]);
            }
            Operation::Moment(block, which) => own = self.expected(*block, *which, &region),
            Operation::Map(function, from) => {
                own = of(from);
                in_place(*function, &mut own, &self.work.threads);
            }
            Operation::Pair(function, left, right) => {
                own = of(left);
                let left = own.clone();
                pairwise(*function, &left, &of(right), &mut own);
            }
            Operation::Contractions(_) => match self.contracted(id, &region, &[]) {
                Some(values) => own = values,
                None => return false,
            },
            Operation::Static(_)
            | Operation::Counts(..)
            | Operation::Held(_)
            | Operation::Masked(_)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::Pairs(..)
            | Operation::Square(..)
            | Operation::LogDeterminant(_)
            | Operation::Beside(..)
            | Operation::Site(..) => return false,
        }
        let mut values = self.values.take(index);
        let before = gathered(&runs, &values);
        scatter(&runs, &own, &mut values);
        self.values.put(index, values);
        own.iter_mut().zip(&*before).for_each(|(own, before)| *own -= before);
        self.note(index, newest, region, own);
        true
    }

    /// Adds to a sum of contractions what it gained in a region since it was last taken, where that is cheaper than the sum.
    /// Whether that was done.
    fn gain(&mut self, id: NodeId, region: &Region, newest: u64) -> bool {
        let index = id.index();
        if !matches!(self.work.plan.nodes[index].operation, Operation::Contractions(_)) {
            return false;
        }
        let mut gains = std::mem::take(&mut self.changes.gains);
        let is_gained =
            self.gains(id, region, &mut gains).is_some() && self.add(index, region, newest, &gains);
        gains.clear();
        self.changes.gains = gains;
        is_gained
    }

    /// Adds these gains. Whether digits are left.
    fn add(&mut self, index: usize, region: &Region, newest: u64, gains: &[Gain]) -> bool {
        let runs = region.runs(&self.work.plan.nodes[index].shape);
        let mut values = self.values.take(index);
        let before = gathered(&runs, &values);
        for Gain { sign, part, gained, bounded } in gains {
            let prepared = &self.work.prepared[index][*part];
            let seen = prepared.reads().enumerate().map(|(place, read)| match gained.contains(&place) {
                true => {
                    let change = self.changes.nodes[read.index()].as_ref().expect("what changed is known");
                    Seen { values: &change.gained, region: Some(&change.region) }
                }
                false => Seen { values: &self.values[read.index()], region: None },
            });
            let seen: Operands<Seen> = seen.collect();
            prepared.run_bounded(
                (*sign, &seen),
                &self.work.plan.maps,
                bounded,
                None,
                &mut values,
                &self.work.threads,
            );
        }
        let mut own = gathered(&runs, &values);
        // A small remainder of a large number has the rounding error of that number, and a difference cannot be added
        // to infinity.
        let lost = |(own, before): (&f64, &f64)| !own.is_finite() || own.abs() < SHRUNK * before.abs();
        let lost = own.iter().zip(&*before).any(lost);
        if lost {
            scatter(&runs, &before, &mut values);
        }
        self.values.put(index, values);
        if !lost {
            self.changes.accumulated = true;
            own.iter_mut().zip(&*before).for_each(|(own, before)| *own -= before);
            self.note(index, newest, region.clone(), own);
        }
        !lost
    }

    /// Notes that a node has newer values, and where it gained what.
    fn note(&mut self, index: usize, newest: u64, region: Region, gained: Scratch) {
        let since = std::mem::replace(&mut self.stamps.nodes[index], newest);
        let gained = if gained.len() * KEPT <= self.values[index].len() { gained } else { Scratch::zeros(0) };
        self.changes.nodes[index] = (!region.is_all()).then_some(Change { since, region, gained });
    }

    /// Lists the parts of what a sum of contractions gained, where they are known and cheaper than what is worked out of the sum
    /// in this region.
    fn gains(&mut self, id: NodeId, region: &Region, gains: &mut Vec<Gain>) -> Option<()> {
        let index = id.index();
        let (mut cost, mut anew) = (0, 0);
        for (part, prepared) in self.work.prepared[index].iter().enumerate() {
            if prepared.streams(&self.work.plan.streamed) {
                return None;
            }
            anew += prepared.cost_in(region, &self.work.plan.maps, &mut self.changes.inverses);
            let stamp = self.stamps.nodes[index];
            let moved =
                prepared.reads().enumerate().filter(|(_, read)| self.stamps.nodes[read.index()] > stamp);
            let moved: Operands<(usize, &Region)> = moved
                .map(|(place, read)| {
                    let change = self.changes.nodes[read.index()].as_ref()?;
                    (!change.gained.is_empty()).then_some((place, &change.region))
                })
                .collect::<Option<_>>()?;
            let several: &[(f64, &[usize])] = match moved.len() {
                0 => &[],
                1 => &[(1.0, &[0])],
                2 => &[(1.0, &[0]), (1.0, &[1]), (-1.0, &[0, 1])],
                _ => return None,
            };
            for (sign, of) in several {
                let at: Operands<(usize, &Region)> = of.iter().map(|own| moved[*own]).collect();
                let (own, bounded) =
                    prepared.cost_at(&at, &self.work.plan.maps, &mut self.changes.inverses)?;
                cost += own;
                gains.push(Gain {
                    sign: *sign,
                    part,
                    gained: at.iter().map(|(place, _)| *place).collect(),
                    bounded,
                });
            }
        }
        (cost.saturating_mul(CHEAPER) <= anew).then_some(())
    }

    /// Where a node differs from its values, if that is known.
    fn changed_region(&mut self, id: NodeId) -> Option<Region> {
        let node = &self.work.plan.nodes[id.index()];
        let stamp = self.stamps.nodes[id.index()];
        let known = |change: &Option<Change>| {
            change.as_ref().filter(|change| change.since <= stamp).map(|change| change.region.clone())
        };
        if let Operation::Point(block, _) | Operation::Moment(block, _) = &node.operation {
            let mut region = known(&self.changes.blocks[block.index()])?;
            region.0.resize(node.shape.len(), None);
            return Some(region);
        }
        // Of each array that is read: nothing if it did not change.
        let read = |read: &NodeId| match self.stamps.nodes[read.index()] > stamp {
            true => known(&self.changes.nodes[read.index()]).map(Some),
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
                    let changed = operands.collect::<Option<SmallVec<[_; 4]>>>()?;
                    join(follows(
                        part,
                        &changed,
                        &node.shape,
                        &self.work.plan.maps,
                        &mut self.changes.inverses,
                    ));
                }
            }
            Operation::Static(_)
            | Operation::Counts(..)
            | Operation::Held(_)
            | Operation::Point(..)
            | Operation::Moment(..)
            | Operation::Masked(_)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::Pairs(..)
            | Operation::Square(..)
            | Operation::LogDeterminant(_)
            | Operation::Beside(..)
            | Operation::Site(..) => {}
        }
        all
    }

    /// An expectation of the copies of a block in a region, whose rows share nothing.
    fn expected(&self, block: BlockId, which: usize, region: &Region) -> Scratch {
        let layout = &self.work.plan.layouts[block.index()];
        let family = family(self.work.equations, block);
        let rows = Rows::new(layout, &Region(region.0[..layout.plates.len()].into()));
        let own = rows.of(&widths(family, layout), &self.parameters.blocks[block.index()]);
        let mut out = Scratch::zeros(rows.batch().len(layout.expectations[which].extent));
        family.expect(&rows.batch(), &views(&own), which, &mut out);
        if let Some(observed) = &self.work.observed[block.index()] {
            observed.expect(layout, which, rows.rows.iter().copied(), &mut out);
        }
        out
    }
}
