//! The most memory that the runs of shards hold at a time, before they are run.
//!
//! The whole is planned and cut as for the runs, one shard after another, and each is walked without numbers
//! ([`crate::plan::memory`]). What all have in common counts once. Shards in step are on threads of their own, each of which keeps memory for itself; those that are visited one
//! after another share what is kept, and each but the one that is visited has given away what all share.

use cavi_algebra::{AxisId, Equations};
use cavi_numerics::Numbers;

use super::part::Entries;
use super::{Part, Sharded, Spread, ranges};
use crate::data::{Bound, BoundArray};
use crate::initialise::start;
use crate::layout::Parameters;
use crate::plan::memory::{Heap, OfShard, Walk, of_plan};
use crate::plan::{Place, Precision, Unplanned};
use crate::reduce::held_by;
use crate::run::common::lent;
use crate::schedule::Schedule;

/// How a program is run on its data.
#[derive(Clone, Copy, Debug)]
pub struct How<'s> {
    /// How its hot arrays are stored.
    pub precision: Precision,
    /// What a sweep does.
    pub schedule: &'s Schedule,
    /// How many threads.
    pub threads: usize,
    /// How many sweeps.
    pub sweeps: u64,
}

/// The bytes of parameters.
fn of_parameters(parameters: &Parameters) -> usize {
    parameters.blocks.iter().flatten().map(|column| column.len() * size_of::<f64>()).sum()
}

/// The bytes of the heap that the arrays and axes of data take: none where they lie in a mapped file.
pub fn of_bound(bound: &Bound) -> usize {
    let array = |own: &BoundArray| match own {
        BoundArray::Dense { values, observed } => values.heap_bytes() + observed.as_ref().map_or(0, Vec::len),
        BoundArray::Sparse { indices, values, observed, .. } => {
            values.heap_bytes()
                + indices.iter().map(Numbers::heap_bytes).sum::<usize>()
                + observed.as_ref().map_or(0, Vec::len)
        }
    };
    let lists = bound.axes.iter().flat_map(|own| own.starts.iter().chain(&own.parent));
    bound.arrays.iter().flatten().map(array).sum::<usize>()
        + lists.map(|own| own.len() * size_of::<usize>()).sum::<usize>()
}

/// The most bytes of a run in shards that are in step, on this process: data of its shards, plans, parameters and all that follows.
///
/// # Errors
/// If there is no plan, or the axis cannot be cut.
pub fn in_step(
    equations: &Equations,
    bound: &Bound,
    spread: &Spread,
    how: How<'_>,
) -> Result<usize, Unplanned> {
    let from = start(equations, bound, 0);
    let sharded = Sharded::new(equations, bound, spread.axis, &from, how.precision)?;
    let ranges = ranges(sharded.positions(), spread.shards);
    let (rank, ranks) = spread.exchange.as_ref().map_or((0, 1), |own| (own.rank(), own.ranks()));
    let own = held_by(ranges.len(), ranks, rank);
    let each = (how.threads.max(1) / own.len().max(1)).max(1);
    // Where parameters of all positions are asked for, those of a shard stand beside them.
    let mut bytes = sharded.held() + 2 * of_parameters(&from);
    drop(from);
    let (given, lent) = (sharded.given(), sharded.lent());
    let (mut common, mut shared) = (Vec::new(), 0);
    for range in ranges.into_iter().skip(own.start).take(own.len()) {
        let part = sharded.part(range);
        let here = part.bound();
        let (plan, split) = sharded.cut(&part).map_err(Unplanned)?;
        let shard =
            OfShard { places: &sharded.places, split: &split, given: &given, lent: &lent, in_step: true };
        let mut walk = Walk::new(&plan, equations, &here, each, Some(shard), Heap::default());
        walk.run(how.schedule, how.sweeps);
        bytes += part.bytes() + of_bound(&here) + walk.heap.peak();
        common = walk.common;
        shared = sharded.shared_bytes(&part);
    }
    // What one shard has made of what all share, until the others have it too.
    bytes += shared;
    // What one shard has worked out anew stands beside what others still read. Sums of the tree wait for their siblings, one a level, and
    // those that work bring theirs.
    let at_once = (own.len().max(1).ilog2() as usize + 1 + how.threads.max(1)).min(own.len());
    let of_step = |(step, own): (usize, usize)| match lent[step] {
        true => 2 * own,
        false if own > 0 => at_once * own + sharded.plan.nodes[step].len(),
        false => 0,
    };
    Ok(bytes + common.into_iter().enumerate().map(of_step).sum::<usize>() * size_of::<f64>())
}

/// The most bytes of memoized passes over so many shards of an axis, one after another.
///
/// # Errors
/// If there is no plan, or the axis cannot be cut.
pub fn one_by_one(
    equations: &Equations,
    bound: &Bound,
    (axis, shards): (AxisId, usize),
    how: How<'_>,
) -> Result<usize, Unplanned> {
    let from = start(equations, bound, 0);
    let sharded = Sharded::memoizing(equations, bound, axis, &from, how.precision)?;
    let parts: Vec<Part> =
        ranges(sharded.positions(), shards).into_iter().map(|range| sharded.part(range)).collect();
    // Parameters that it begins from, those of the whole, and those after the last pass.
    let mut bytes = sharded.held() + 3 * of_parameters(&from);
    drop(from);
    let mut heap = Heap::default();
    let (given, lent) = (sharded.given(), sharded.lent());
    let (mut kept, mut common) = (0, 0);
    for part in &parts {
        let here = part.bound();
        let (plan, split) = sharded.cut(part).map_err(Unplanned)?;
        let shard =
            OfShard { places: &sharded.places, split: &split, given: &given, lent: &lent, in_step: false };
        let mut walk = Walk::new(&plan, equations, &here, how.threads, Some(shard), heap);
        walk.run(how.schedule, how.sweeps);
        walk.leave();
        common = walk.common.iter().sum::<usize>() * size_of::<f64>();
        heap = walk.heap;
        // What all share goes from one to the next.
        heap.free(sharded.shared_bytes(part));
        bytes += part.bytes() + of_bound(&here);
        // Sums are kept of every shard, and of pairs of them, pairs of pairs, and so on.
        let partial = plan.nodes.iter().zip(&sharded.places).zip(&given);
        let partial = partial.filter(|((_, place), given)| **place == Place::Partial && !**given);
        kept = partial.map(|((node, _), _)| node.len() * size_of::<f64>()).sum();
    }
    Ok(bytes + common + heap.peak() + 2 * parts.len() * kept)
}

impl Sharded<'_> {
    /// The bytes that the plan of the whole holds while its shards are run.
    fn held(&self) -> usize {
        let constants = self.constants.iter().flatten().map(|own| own.len() * size_of::<f64>());
        of_plan(&self.plan) + constants.sum::<usize>()
    }

    /// For each step, whether it follows from data and constants alone and is given.
    fn given(&self) -> Vec<bool> {
        self.constants.iter().map(Option::is_some).collect()
    }

    /// For each step, whether the shards of a process hold its values once.
    fn lent(&self) -> Vec<bool> {
        lent(&self.plan, &self.places, &self.local, &self.given())
    }

    /// The bytes of the columns of parameters that all shards share.
    fn shared_bytes(&self, part: &Part) -> usize {
        let mut bytes = 0;
        self.each_column(part, |block, number, is_cut| {
            if !is_cut {
                let (own, layout) = (&self.equations.blocks[block], &self.plan.layouts[block]);
                bytes += part.column(own, layout, number).len() * size_of::<f64>();
            }
        });
        bytes
    }
}

impl Part<'_> {
    /// The bytes of the lists of entries.
    fn bytes(&self) -> usize {
        self.entries.iter().flatten().map(Entries::bytes).sum()
    }
}
