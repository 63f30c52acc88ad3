//! The most memory that a run holds at a time, before it is run.
//!
//! The schedule is walked by the `Walker` of the run, with `Stamps` in the place of values, and a [`Heap`] of sizes in the place of
//! memory: every array that the run takes, keeps for another use or gives back is taken, kept or given back here too, in the same order.
//! What the run holds all the time (`holdings`), what the passes over entries keep (`site`) and what a step works in come with it.
//!
//! A part of what happens depends on values: whether rows have no weight, how often a point climbs. There the larger is assumed. Blocks
//! smaller than a page and the stacks of threads are left out.
//!
//! `tests/long/footprint.py` holds it to what the heap holds in fits of many kinds.

mod heap;
mod holdings;
mod passes;
mod site;

use std::convert::Infallible;
use std::sync::Arc;

use cavi_algebra::{Block, BlockId, Equations, SiteId};
use cavi_families::Posterior;
use cavi_numerics::lbfgs::HISTORY;

use self::site::Passing;
use crate::data::Bound;
use crate::plan::lifetimes::{LARGE, transient};
use crate::plan::parts::Parts;
use crate::plan::prepared::Prepared;
use crate::plan::stamps::{Due, Stamps};
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::plan::{AscentPlan, KEPT, Place, Plan};
use crate::schedule::walk::{Walker, first_sharing, sweep};
use crate::schedule::{Blocks, LIGHT, Schedule};
pub use heap::Heap;
pub(crate) use holdings::plan as of_plan;

/// So many sweeps differ from each other: before its third run a pass puts its entries in the order of its visits.
const SETTLED: u64 = 5;

/// What the run of a shard has beside that of the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfShard<'s> {
    /// For each step, where its values lie.
    pub places: &'s [Place],
    /// For each step that is a sum of contractions, how many of them are sums over the axis.
    pub split: &'s [usize],
    /// For each step that follows from data and constants alone and is kept, its values are given.
    pub given: &'s [bool],
    /// For each step, whether the shards of a process hold its values once.
    pub lent: &'s [bool],
    /// Whether all shards come to each sum together: then they hold sums over all of them once.
    pub in_step: bool,
}

impl OfShard<'_> {
    /// Whether the values of a step are held once for all shards.
    pub fn is_common(&self, step: usize) -> bool {
        self.lent[step] || self.in_step && self.places[step] == Place::Partial && !self.given[step]
    }
}

/// A run without numbers.
pub(crate) struct Walk<'w> {
    plan: &'w Plan<'w>,
    equations: &'w Equations,
    threads: usize,
    shard: Option<OfShard<'w>>,
    prepared: Vec<Vec<Prepared>>,
    transient: Vec<bool>,
    /// For each block, whether it is that of an array some of whose entries are observed.
    observed: Vec<bool>,
    stamps: Stamps,
    held: Vec<Vec<NodeId>>,
    /// For each node, the doubles that its own memory has room for, and whether its values are there.
    room: Vec<usize>,
    there: Vec<bool>,
    /// For each block, the room of an entropy that waits for the bound, with the state of the prior.
    pairs: Vec<Option<(usize, u64)>>,
    wants: Vec<bool>,
    beside: Vec<Option<NodeId>>,
    sites: Vec<Passing>,
    next: Vec<Blocks>,
    /// Whether the coordinates in which a block climbs are known.
    climbs: Vec<bool>,
    before: bool,
    /// For each node whose values the shards of a process hold once, the doubles that one of them works them out in, if one did.
    pub common: Vec<usize>,
    /// The memory.
    pub heap: Heap,
}

impl Plan<'_> {
    /// The most bytes that a run of so many sweeps of this schedule holds at a time, each followed by the bound: parameters, what of the
    /// plan is no data, and everything that follows from them. Data that are bound are not counted.
    pub fn memory(
        &self,
        equations: &Equations,
        bound: &Bound,
        schedule: &Schedule,
        threads: usize,
        sweeps: u64,
    ) -> usize {
        let mut walk = Walk::new(self, equations, bound, threads, None, Heap::default());
        walk.run(schedule, sweeps);
        walk.heap.peak()
    }
}

impl Plan<'_> {
    /// The bytes of the parameters of a run.
    pub fn parameter_bytes(&self, equations: &Equations) -> usize {
        let blocks = (0..self.blocks.len()).map(BlockId::from);
        let columns = blocks.flat_map(|id| holdings::columns(equations, &self.layouts, id));
        columns.sum::<usize>() * size_of::<f64>()
    }

    /// The bytes of what the plan itself holds, data that it only reads left out.
    pub fn held_bytes(&self) -> usize {
        holdings::plan(self)
    }
}

impl<'w> Walk<'w> {
    /// Before the first sweep, as `Executor::planned`.
    pub fn new(
        plan: &'w Plan<'w>,
        equations: &'w Equations,
        bound: &'w Bound,
        threads: usize,
        shard: Option<OfShard<'w>>,
        mut heap: Heap,
    ) -> Walk<'w> {
        let (nodes, blocks) = (plan.nodes.len(), plan.blocks.len());
        heap.take(holdings::plan(plan));
        let ids = || (0..blocks).map(BlockId::from);
        for id in ids() {
            let columns: usize = holdings::columns(equations, &plan.layouts, id).iter().sum();
            heap.take(columns * size_of::<f64>());
        }
        let sites = plan.sites.iter();
        let sites = sites.map(|own| match own {
            Some(own) => Passing::new(own, bound, plan.is_mapped(own.weight), &mut heap),
            None => Passing::default(),
        });
        let sites: Vec<Passing> = sites.collect();
        let prepared = plan.nodes.iter().map(|node| {
            let Operation::Contractions(parts) = &node.operation else { return Vec::new() };
            parts.iter().map(|part| Prepared::new(part, &plan.nodes, &node.shape, &plan.maps)).collect()
        });
        let prepared: Vec<Vec<Prepared>> = prepared.collect();
        heap.take(holdings::prepared(&prepared) + holdings::masks(plan));
        let is_bound = |block: &Block| match block.members.as_slice() {
            [member] => bound.arrays.get(member.index()).is_some_and(Option::is_some),
            _ => false,
        };
        let observed: Vec<bool> = equations.blocks.iter().map(is_bound).collect();
        for (_, layout) in observed.iter().zip(&plan.layouts).filter(|(observed, _)| **observed) {
            heap.take(holdings::observed(layout));
        }
        let owned = |own: &std::borrow::Cow<[f64]>| match own {
            std::borrow::Cow::Owned(values) => values.len(),
            std::borrow::Cow::Borrowed(_) => 0,
        };
        let family = |id: BlockId| cavi_families::posterior(equations.block(id).family);
        let mut walk = Walk {
            equations,
            threads: threads.max(1),
            prepared,
            transient: transient(plan),
            observed,
            stamps: Stamps::new(plan),
            held: ids().map(|block| plan.held_by(block)).collect(),
            room: plan.statics.iter().map(owned).collect(),
            there: plan.nodes.iter().map(|own| own.source() == Source::Given).collect(),
            pairs: vec![None; blocks],
            wants: vec![false; blocks],
            beside: ids().map(|id| plan.pairs_at(family(id), id)).collect(),
            next: vec![Blocks::new(); sites.len()],
            sites,
            climbs: vec![false; blocks],
            before: false,
            common: vec![0; nodes],
            shard,
            plan,
            heap,
        };
        match shard {
            Some(own) => {
                walk.transient.fill(false);
                let moving = own.given.iter().zip(own.places);
                let moving = moving.map(|(given, place)| !given && *place == Place::Partial);
                walk.stamps = Stamps::joint(plan, moving.collect());
                for node in (0..nodes).filter(|node| own.given[*node]) {
                    // What is the same for all shards is read where it is.
                    if own.places[node] == Place::Local {
                        walk.room[node] = plan.nodes[node].len();
                        walk.heap.take(plan.nodes[node].len() * size_of::<f64>());
                    }
                    (walk.stamps.nodes[node], walk.there[node]) = (1, true);
                }
            }
            None => walk.fold_constants(),
        }
        walk.heap.release();
        walk
    }

    /// As `State::fold_constants`.
    fn fold_constants(&mut self) {
        let folded = self.plan.folded();
        for index in folded.worked_out() {
            self.evaluate(NodeId(index as u32));
        }
        for index in folded.forgotten() {
            self.heap.free(std::mem::take(&mut self.room[index]) * size_of::<f64>());
            self.there[index] = false;
        }
        let kept = folded.kept().into_iter().flat_map(|index| &self.prepared[index]).flat_map(Prepared::maps);
        let kept = kept.collect::<std::collections::BTreeSet<_>>().into_iter();
        let kept: usize = kept.map(|map| size_of_val(self.plan.maps.table(map))).sum();
        self.heap.free(self.plan.maps.bytes().saturating_sub(kept));
    }

    /// The bound at the start, and so many sweeps, each with its bound.
    pub fn run(&mut self, schedule: &Schedule, sweeps: u64) {
        self.bound();
        for _ in 0..sweeps.min(SETTLED) {
            self.sweep(schedule);
            self.bound();
        }
    }

    /// A sweep.
    pub fn sweep(&mut self, schedule: &Schedule) {
        for site in 0..self.sites.len() {
            let reads = |block: BlockId| self.plan.site_is_read_by(SiteId::from(site), block);
            self.next[site] = first_sharing(schedule, &reads);
        }
        // As `Executor::keep_state`.
        if !self.before {
            self.before = true;
            let columns = schedule.blocks().into_iter().flat_map(|block| self.columns(block));
            let columns: usize = columns.sum();
            if columns <= LIGHT || self.shard.is_some() || self.plan.is_long(schedule) {
                self.heap.take(columns * size_of::<f64>());
            }
        }
        let Ok(()) = sweep(self, schedule);
    }

    /// As `Executor::leave`.
    pub fn leave(&mut self) {
        for index in 0..self.plan.nodes.len() {
            let is_sum = self.shard.is_some_and(|own| own.places[index] == Place::Partial);
            let is_left = match self.plan.nodes[index].operation {
                Operation::Counts(..) => !is_sum,
                _ => matches!(self.plan.nodes[index].source(), Source::Given | Source::Refresh),
            };
            if !is_left && self.stamps.nodes[index] > 1 {
                self.give_back(NodeId(index as u32));
            }
        }
        for pair in &mut self.pairs {
            // It is given back to the system.
            let room = pair.take().map_or(0, |(room, _)| room);
            self.heap.free(room * size_of::<f64>());
        }
        self.stamps.others_moved();
        self.sites.iter_mut().for_each(|site| site.last = Default::default());
    }

    fn columns(&self, id: BlockId) -> Vec<usize> {
        holdings::columns(self.equations, &self.plan.layouts, id)
    }

    fn family(&self, id: BlockId) -> &'static dyn Posterior {
        cavi_families::posterior(self.equations.block(id).family)
    }

    fn length(&self, id: NodeId) -> usize {
        holdings::length(self.plan, id)
    }

    /// Brings a node up to date, as `State::evaluate`.
    fn evaluate(&mut self, id: NodeId) {
        let index = id.index();
        let newest = match self.stamps.due(self.plan, id) {
            Due::Hold => return self.hold(id),
            Due::Nothing => return,
            Due::Current(_) if self.there[index] || self.length(id) == 0 => return,
            Due::Current(newest) | Due::Outdated(newest) => newest,
        };
        let reads = self.plan.nodes[index].reads();
        if self.plan.streamed[index] {
            reads.iter().for_each(|read| self.evaluate(*read));
            return;
        }
        if let Operation::Map(_, from) = self.plan.nodes[index].operation
            && self.transient[from.index()]
        {
            self.give_back(from);
            self.room[from.index()] = std::mem::take(&mut self.room[index]);
            self.stamps.nodes[from.index()] = 0;
            self.evaluate(from);
            self.room[index] = std::mem::take(&mut self.room[from.index()]);
            (self.there[index], self.there[from.index()]) = (true, false);
            self.stamps.nodes[index] = newest;
            return;
        }
        reads.iter().for_each(|read| self.evaluate(*read));
        self.compute(id);
        self.there[index] = true;
        self.stamps.nodes[index] = newest;
        for read in reads {
            if self.transient[read.index()] {
                self.give_back(read);
            }
        }
    }

    /// Whether the values of a node are held once for all shards of a process.
    fn is_common(&self, id: NodeId) -> bool {
        self.shard.is_some_and(|own| own.is_common(id.index()))
    }

    /// Memory for the values of a node.
    fn take(&mut self, id: NodeId, length: usize) {
        if self.is_common(id) {
            self.common[id.index()] = length;
            return;
        }
        self.room[id.index()] = self.heap.again(self.room[id.index()], length);
    }

    /// As `State::compute`.
    fn compute(&mut self, id: NodeId) {
        let (plan, length) = (self.plan, self.length(id));
        match &plan.nodes[id.index()].operation {
            Operation::Static(_) | Operation::Counts(..) | Operation::Held(_) => {}
            Operation::Point(block, member) => {
                let own = self.columns(*block)[*member];
                self.take(id, own);
            }
            Operation::Moment(block, which) => {
                let layout = &plan.layouts[block.index()];
                self.take(id, layout.batch().len(layout.expectations[*which].extent));
                if self.beside[block.index()] == Some(id) && std::mem::take(&mut self.wants[block.index()]) {
                    let rows = self.heap.scratch(layout.rows);
                    let state = self.state_of_prior(*block);
                    self.pairs[block.index()] = Some((rows, state));
                }
            }
            Operation::Contractions(parts) => {
                self.take(id, length);
                let split = self.shard.map_or(0, |own| own.split[id.index()]);
                let is_opened = plan.opened.iter().any(|own| own.node == id);
                let beside = match (is_opened, self.shard.is_some()) {
                    (true, _) => 2,
                    (false, true) if (1..parts.len()).contains(&split) => 1,
                    (false, _) => 0,
                };
                let beside: Vec<usize> = (0..beside).map(|_| self.heap.scratch(length)).collect();
                self.contract(id);
                beside.into_iter().for_each(|room| self.heap.keep(room));
                self.stream(id);
            }
            Operation::Masked(sum) => {
                /// Rows are padded to whole vectors.
                const LANES: usize = 8;
                self.take(id, length);
                let shape = &plan.nodes[sum.mask.index()].shape;
                let columns = if sum.by_columns { shape[0] } else { shape[1] };
                let rows = if sum.by_columns { shape[1] } else { shape[0] };
                let width = (length / rows.max(1)).next_multiple_of(LANES);
                self.heap.between([columns * width, 2 * width]);
            }
            Operation::Whole(parts) => {
                self.take(id, length);
                let places = parts.iter().map(|own| own.windows.iter().map(|(_, size)| *size).product());
                let most: usize = places.max().unwrap_or(0);
                self.heap.places_between([most, most]);
            }
            Operation::Taken(own) => {
                self.take(id, length);
                let most: usize = own.windows.iter().map(|(_, size)| *size).product();
                self.heap.places_between([most, most]);
            }
            Operation::Site(..) => {
                self.take(id, length);
                self.stream(id);
            }
            Operation::Map(..)
            | Operation::Pair(..)
            | Operation::Pairs(..)
            | Operation::Square(..)
            | Operation::LogDeterminant(_)
            | Operation::Beside(..) => self.take(id, length),
        }
    }

    /// What the sums of a node work in.
    fn contract(&mut self, id: NodeId) {
        for own in 0..self.prepared[id.index()].len() {
            let part = &self.prepared[id.index()][own];
            if part.streams(&self.plan.streamed) || part.is_multiple() {
                continue;
            }
            let work = part.work(&self.plan.maps);
            let desks = work.tasks.min(self.threads);
            self.heap.between(std::iter::once(work.apart).chain(std::iter::repeat_n(work.desk, desks)));
        }
    }

    /// What is worked out a few rows at a time where a node reads it.
    fn stream(&mut self, id: NodeId) {
        fn rows(plan: &Plan, id: NodeId) -> usize {
            let streamed =
                plan.nodes[id.index()].reads().into_iter().filter(|own| plan.streamed[own.index()]);
            let each = streamed.map(|own| {
                let node = &plan.nodes[own.index()];
                node.len() / node.shape[0].max(1) * plan.rows_at_once().min(node.shape[0]) + rows(plan, own)
            });
            each.sum()
        }
        self.heap.pass(rows(self.plan, id) * size_of::<f64>());
    }

    fn hold(&mut self, id: NodeId) {
        let Operation::Held(from) = self.plan.nodes[id.index()].operation else { return };
        self.evaluate(from);
        if self.stamps.hold(self.plan, id).is_some() {
            if !self.is_common(from) {
                self.take(id, self.length(from));
            }
            self.there[id.index()] = true;
        }
    }

    /// As `State::give_back`.
    fn give_back(&mut self, id: NodeId) {
        self.heap.keep(std::mem::take(&mut self.room[id.index()]));
        self.there[id.index()] = false;
    }

    /// As `State::forget`.
    fn forget(&mut self, nodes: &[NodeId]) {
        if self.shard.is_some() {
            return;
        }
        for node in nodes {
            let computed = matches!(self.plan.nodes[node.index()].operation, Operation::Contractions(_));
            if computed && self.length(*node) >= LARGE {
                self.give_back(*node);
            }
        }
    }

    /// As `State::is_by_parts`.
    fn is_by_parts(&self, node: NodeId, parts: &Parts) -> bool {
        let own = &self.plan.nodes[node.index()];
        !parts.is_one()
            && self.shard.is_none()
            && own.len() >= LARGE
            && !self.plan.opened.iter().any(|opened| opened.node == node)
            && own.shape.first() == Some(&parts.letters)
            && matches!(own.operation, Operation::Contractions(_))
            && self.prepared[node.index()]
                .iter()
                .all(|prepared| prepared.is_by_rows() && !prepared.streams(&self.plan.streamed))
    }

    /// As `State::prepare`.
    fn prepare(&mut self, nodes: &[NodeId], parts: &Parts) -> Vec<(NodeId, bool)> {
        let mut prepared = Vec::new();
        for node in nodes {
            let by_parts = self.is_by_parts(*node, parts);
            if by_parts {
                self.plan.nodes[node.index()].reads().into_iter().for_each(|read| self.evaluate(read));
            } else {
                self.evaluate(*node);
            }
            prepared.push((*node, by_parts));
        }
        prepared
    }

    /// As `State::forget_prepared`.
    fn forget_prepared(&mut self, nodes: &[(NodeId, bool)]) {
        for (node, by_parts) in nodes {
            if !by_parts {
                self.forget(&[*node]);
                continue;
            }
            for read in self.plan.nodes[node.index()].reads() {
                if self.transient[read.index()] {
                    self.give_back(read);
                }
            }
        }
    }

    /// What the rows of a block are treated in: all at once, or in parts, one a thread.
    fn describe(&mut self, id: BlockId, columns: usize) {
        let layout = &self.plan.layouts[id.index()];
        let parts = Parts::new(self.family(id), layout);
        if parts.is_one() {
            let desks = holdings::whole_desk(self.equations, layout, id);
            self.heap.between(desks);
        } else {
            let most = layout.statistics.iter().map(|own| parts.length(own.extent)).max().unwrap_or(0);
            let desks = self.threads.min(parts.count()) * columns;
            self.heap.between(std::iter::repeat_n(most, desks));
        }
    }

    fn state_of_prior(&self, id: BlockId) -> u64 {
        self.stamps.newest_of(self.plan, self.plan.blocks[id.index()].prior.iter().copied())
    }

    /// As `Executor::elbo`.
    pub fn bound(&mut self) {
        for block in (0..self.plan.blocks.len()).map(BlockId::from) {
            self.want_pair(block);
        }
        self.plan.elbo.iter().for_each(|node| self.evaluate(*node));
        for (site, _) in &self.plan.elbo_sites {
            let targets = self.plan.site_targets(*site, &self.next[site.index()]);
            self.pass(*site, &targets, true);
        }
        for (index, block) in self.equations.blocks.iter().enumerate() {
            if !block.is_point() {
                self.entropy(BlockId::from(index));
            }
        }
    }

    /// As `State::want_pair`.
    fn want_pair(&mut self, id: BlockId) {
        let Some(node) = self.beside[id.index()] else { return };
        if matches!(self.stamps.due(self.plan, node), Due::Current(_)) && self.there[node.index()] {
            return;
        }
        let layout = Arc::clone(&self.plan.layouts[id.index()]);
        let parts = Parts::new(self.family(id), &layout);
        let prior = &self.plan.blocks[id.index()].prior;
        let is_large = |node: &NodeId| {
            let own = &self.plan.nodes[node.index()];
            let computed = matches!(own.operation, Operation::Contractions(_));
            computed && own.len() >= LARGE && !self.is_by_parts(*node, &parts)
        };
        if self.shard.is_some() || !prior.iter().any(is_large) {
            self.prepare(prior, &parts);
            // One that waited is given back to the system.
            let waited = self.pairs[id.index()].take().map_or(0, |(room, _)| room);
            self.heap.free(waited * size_of::<f64>());
            self.wants[id.index()] = true;
        }
    }

    /// As `Executor::entropy`.
    fn entropy(&mut self, id: BlockId) {
        let family = self.family(id);
        let layout = Arc::clone(&self.plan.layouts[id.index()]);
        let parts = Parts::new(family, &layout);
        let block = &self.plan.blocks[id.index()];
        let prior = if family.paired() { &block.prior[..] } else { &[] };
        let prior = self.prepare(prior, &parts);
        block.weight.iter().for_each(|node| self.evaluate(*node));
        self.wants[id.index()] = false;
        let state = self.state_of_prior(id);
        let known = match self.pairs[id.index()].take() {
            Some((room, own)) if own == state => Some(room),
            Some((room, _)) => {
                self.heap.keep(room);
                None
            }
            None => None,
        };
        let rows = known.unwrap_or_else(|| {
            let rows = self.heap.scratch(layout.rows);
            let batch = parts.batch(0);
            let desks = layout.statistics.iter().map(|own| batch.len(own.extent));
            let paired = family.paired() && family.pairs_with().is_none();
            let each = if paired { 2 } else { 1 };
            let threads = self.threads.min(parts.count());
            let desks: Vec<usize> = desks.flat_map(|own| std::iter::repeat_n(own, each * threads)).collect();
            self.heap.between(desks);
            rows
        });
        self.forget_prepared(&prior);
        self.heap.keep(rows);
    }

    /// As `Executor::update_once`, without what climbs.
    fn update_block(&mut self, id: BlockId) {
        let layout = Arc::clone(&self.plan.layouts[id.index()]);
        let block = Arc::clone(&self.plan.blocks[id.index()]);
        if let Some(node) = block.weight {
            self.evaluate(node);
            self.heap.places_between([self.length(node)]);
        }
        if !block.in_order.is_empty() {
            return self.update_in_order(id);
        }
        // Whether some elements of slices are held depends on the data.
        let has_parts = self.observed[id.index()] && self.family(id).holds_elements() && layout.width() > 1;
        let clamps = self.equations.block(id).clamp || self.equations.keeps_zeros(self.equations.block(id));
        if !has_parts && block.weight.is_none_or(|node| !self.has_zeros(node)) {
            let parts = Parts::new(self.family(id), &layout);
            let natural = self.prepare(&block.natural, &parts);
            if clamps && parts.is_one() {
                let own: Vec<usize> = natural.iter().map(|(node, _)| self.length(*node)).collect();
                self.heap.between(own);
            }
            self.describe(id, natural.len() * if clamps { 2 } else { 1 });
            self.stamps.touch(id);
            self.forget_prepared(&natural);
            return;
        }
        let before: Vec<usize> = self.columns(id).into_iter().map(|own| self.heap.scratch(own)).collect();
        block.natural.iter().for_each(|node| self.evaluate(*node));
        let own: Vec<usize> = block.natural.iter().map(|node| self.length(*node)).collect();
        // Coefficients beside which elements are held, and those that rows of weight 0 borrow.
        let copies =
            usize::from(has_parts) + usize::from(block.weight.is_some_and(|node| self.has_zeros(node)));
        self.heap.between(own.repeat(copies));
        self.heap.between(holdings::whole_desk(self.equations, &layout, id));
        self.stamps.touch(id);
        self.forget(&block.natural);
        before.into_iter().for_each(|room| self.heap.keep(room));
    }

    /// Whether some values of a node are 0, as far as that is known; if not, it is assumed.
    fn has_zeros(&self, id: NodeId) -> bool {
        match self.plan.nodes[id.index()].operation {
            Operation::Static(_) => self.plan.statics[id.index()].contains(&0.0),
            _ => true,
        }
    }

    /// Copies that move one after another: what follows from them gains what each step changes.
    fn update_in_order(&mut self, id: BlockId) {
        let block = Arc::clone(&self.plan.blocks[id.index()]);
        block.natural.iter().for_each(|node| self.evaluate(*node));
        if !std::mem::replace(&mut self.climbs[id.index()], true) {
            self.heap.take(holdings::steps(self.plan, id));
        }
        let follows = |own: &NodeId| self.plan.nodes[own.index()].source() == Source::Nodes;
        let mut rest: Vec<NodeId> = block.natural.clone();
        let mut seen = vec![false; self.plan.nodes.len()];
        let mut gained = Vec::new();
        while let Some(node) = rest.pop() {
            if !std::mem::replace(&mut seen[node.index()], true) && follows(&node) {
                gained.push(self.length(node) / KEPT);
                rest.extend(self.plan.nodes[node.index()].reads());
            }
        }
        self.heap.between(gained);
        self.stamps.touch(id);
    }

    /// A visit to a point without a closed form.
    fn ascend(&mut self, id: BlockId, ascent: &AscentPlan, optimal: bool) {
        /// Vectors that a step has beside those that are remembered: where it begins and is, the gradients there, the direction, what
        /// goes from coordinates to values and back.
        const BESIDE: usize = 10;
        let columns = self.columns(id);
        let (length, members) = (columns.iter().sum::<usize>(), columns.len());
        let vectors = if ascent.curvature.is_some() { BESIDE } else { 2 * HISTORY + BESIDE };
        let whole: Vec<usize> = columns.iter().map(|own| self.heap.scratch(*own)).collect();
        let taken: Vec<usize> = (0..vectors).map(|_| self.heap.scratch(length)).collect();
        if !std::mem::replace(&mut self.climbs[id.index()], true) {
            // Whitened slices have the factor of their covariance.
            let (block, layout) = (self.equations.block(id), &self.plan.layouts[id.index()]);
            let whitened = crate::plan::print::whitened(self.equations, block, layout);
            for (_, (points, matrices)) in whitened {
                self.heap.take(matrices * points * points * size_of::<f64>());
            }
        }
        for _ in 0..2 {
            if optimal {
                for site in &ascent.sites {
                    self.pass(*site, &self.plan.site_targets(*site, &[id]), true);
                }
                let Ok(()) = self.refresh(&[id]);
            }
            let objective = ascent.tight.as_ref().filter(|_| optimal).unwrap_or(&ascent.objective);
            objective.iter().for_each(|node| self.evaluate(*node));
            for node in ascent.gradient.iter().flatten().chain(ascent.curvature.iter().flatten()) {
                self.evaluate(*node);
            }
            self.heap.between(std::iter::repeat_n(length / members.max(1), 2));
            self.stamps.touch(id);
        }
        whole.into_iter().chain(taken).for_each(|room| self.heap.keep(room));
    }
}

impl Walker for Walk<'_> {
    type End = Infallible;

    fn reset(&mut self, id: BlockId) -> Result<(), Infallible> {
        let prior = self.plan.blocks[id.index()].prior.clone();
        if prior.is_empty() {
            return Ok(());
        }
        let weight = self.plan.blocks[id.index()].weight;
        if let Some(node) = weight {
            self.evaluate(node);
            self.heap.places_between([self.length(node)]);
        }
        let before: Vec<usize> = self.columns(id).into_iter().map(|own| self.heap.scratch(own)).collect();
        prior.iter().for_each(|node| self.evaluate(*node));
        let own: Vec<usize> = prior.iter().map(|node| self.length(*node)).collect();
        self.heap.between(if weight.is_some() || self.observed[id.index()] { own } else { Vec::new() });
        self.describe(id, prior.len());
        self.stamps.touch(id);
        self.forget(&prior);
        before.into_iter().for_each(|room| self.heap.keep(room));
        Ok(())
    }

    fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), Infallible> {
        for site in (0..self.sites.len()).map(SiteId::from) {
            let targets = self.plan.site_targets(site, blocks);
            if !targets.is_empty() {
                self.pass(site, &targets, false);
            }
        }
        for block in blocks {
            self.held[block.index()].clone().into_iter().for_each(|node| self.hold(node));
        }
        Ok(())
    }

    fn update(&mut self, id: BlockId, group: Option<&[BlockId]>) -> Result<(), Infallible> {
        match &self.plan.blocks[id.index()].ascent {
            Some(ascent) => self.ascend(id, ascent, group.is_none()),
            None => self.update_block(id),
        }
        Ok(())
    }

    fn repeat_block(&mut self, id: BlockId, _times: u64) -> Result<bool, Infallible> {
        let is_whole = !self.observed[id.index()] && self.held[id.index()].is_empty();
        let Some(own) = self.plan.row_wise[id.index()].clone().filter(|_| is_whole && self.shard.is_none())
        else {
            return Ok(false);
        };
        for rows in &own.sites {
            let Some(plan) = self.plan.sites[rows.site.index()].clone() else { return Ok(false) };
            self.evaluate(plan.weight);
            plan.addends[0].modes[1..].iter().for_each(|mode| self.evaluate_factor(mode.factor));
            self.sites[rows.site.index()].keep_rows();
            let stamp = self.stamps.nodes[plan.weight.index()];
            self.sites[rows.site.index()].weigh(stamp, &mut self.heap);
            if !self.sites[rows.site.index()].outlines[0].is_some_and(|own| own.in_rows) {
                return Ok(false);
            }
        }
        let fixed: Vec<usize> =
            own.columns.iter().map(|own| self.heap.scratch(self.length(own.node))).collect();
        for column in &own.columns {
            let still: Vec<NodeId> = match self.plan.nodes[column.node.index()].operation {
                Operation::Contractions(_) => self.prepared[column.node.index()][..column.fixed]
                    .iter()
                    .flat_map(Prepared::reads)
                    .collect(),
                _ if column.counts.is_empty() => vec![column.node],
                _ => Vec::new(),
            };
            still.into_iter().for_each(|read| self.evaluate(read));
        }
        let columns = self.columns(id);
        let updated: Vec<usize> = columns.into_iter().map(|own| self.heap.scratch(own)).collect();
        fixed.into_iter().chain(updated).for_each(|room| self.heap.keep(room));
        self.stamps.touch(id);
        Ok(true)
    }

    /// From the third time on every time is like the one before.
    fn repeat(
        &mut self,
        times: u64,
        once: &mut dyn FnMut(&mut Self) -> Result<(), Infallible>,
    ) -> Result<(), Infallible> {
        (0..times.min(SETTLED)).try_for_each(|_| once(self))
    }
}
