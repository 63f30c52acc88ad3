//! What is the posterior, given these data? The plan, run.

mod ascend;
mod assemble;
mod bound;
mod changes;
mod constants;
mod contract;
mod contract_region;
mod elementwise;
mod extrapolate;
mod in_order;
mod narrow;
mod pass;
mod rare;
mod region;
mod rotate;
mod row_wise;
mod rows;
mod settle;
mod shares;
mod site_state;
mod squares;
mod stream;
mod sweep;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use cavi_algebra::{BlockId, Equations, SiteId, Statistic};
use cavi_families::{Posterior, Views, views, views_mut};
use cavi_numerics::kernels::masked::{Mask, masked_sums};
use cavi_numerics::reduce::has_nan;
use cavi_numerics::{KeptScratch, Scratch, Threads, release_scratch};
use smallvec::SmallVec;

use crate::coordinate::Coordinates;
use crate::data::Bound;
use crate::layout::{Layout, Parameters};
use crate::observed::Observed;
use crate::plan::lifetimes::{LARGE, transient};
use crate::plan::parts::Parts;
use crate::plan::prepared::Prepared;
use crate::plan::stamps::{Due, Stamps};
use crate::plan::tensor::{NodeId, Operation};
use crate::plan::{Plan, Precision, Unplanned, plan};
use crate::reduce::Local;
use crate::schedule::{Blocks, Schedule};
use crate::trouble::Trouble;
pub use ascend::Allocations;
use assemble::{pairs, put, square, take};
use changes::Change;
use elementwise::{elementwise, in_place, pairwise, room, zeros};
use region::{Inverses, Region};
use rows::{describe, expect};
use settle::{matrices, settle};
use site_state::SiteState;
pub use sweep::Swept;
use sweep::{End, Stop, go_on};

/// A run: the state of every block, and the values that follow from it.
pub struct Executor<'a> {
    equations: &'a Equations,
    bound: &'a Bound,
    plan: Plan<'a>,
    prepared: Vec<Vec<Prepared>>,
    values: Vec<Cow<'a, [f64]>>,
    /// Nodes whose values are forgotten once their only reader has them.
    transient: Vec<bool>,
    stamps: Stamps,
    /// The last change of each node and block, where it is known to be a part of it.
    changes: Vec<Option<Change>>,
    block_changes: Vec<Option<Change>>,
    /// Whether a sum gained and lost since all that follows from the moving block was taken anew.
    accumulated: bool,
    inverses: Inverses,
    /// The masks of sums, by rows and by columns.
    masks: BTreeMap<(NodeId, bool), Mask>,
    /// The bands of each block's rows, once they have been cut.
    bands: Vec<Vec<Range<usize>>>,
    parameters: Parameters,
    sites: Vec<SiteState<'a>>,
    /// The blocks whose counts the next pass over a site had best take along.
    next: Vec<Blocks>,
    /// For each block, the nodes that its update reads as they were at the last refresh.
    held: Vec<Vec<NodeId>>,
    threads: Threads,
    /// Brings together what chunks of the rows add to sums and votes.
    reducer: Local,
    precision: Precision,
    elbo_scale: f64,
    /// Whether a square that was multiplied out has lost digits.
    lost: bool,
    /// The most memory that a plan before this one took, in bytes.
    outgrown: usize,
    /// What is observed of each block of a partly observed array.
    observed: Vec<Option<Observed>>,
    /// The steps in which copies of each block move one after another, once they have.
    steps: Vec<Option<Arc<Vec<Region>>>>,
    /// For each block, which nodes follow from it, once that was asked.
    followers: Vec<Vec<bool>>,
    /// The coordinates in which each block climbs, once it has.
    climbing: Vec<Option<Arc<Vec<Coordinates<'a>>>>>,
    /// The terms of the bound when it was last taken.
    parts_of_bound: Vec<f64>,
    /// The schedule of the last sweep.
    expected: Option<Schedule>,
    /// The parameters of the blocks of the last long sweep before it.
    before: Vec<Vec<Vec<f64>>>,
    /// Gives back what the thread keeps for the next sweep.
    _kept: KeptScratch,
}

impl<'a> Executor<'a> {
    /// A run from the given parameters, in doubles.
    pub fn new(
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        threads: usize,
    ) -> Result<Executor<'a>, Unplanned> {
        Executor::stored(equations, bound, parameters, threads, Precision::Double)
    }

    /// A run from the given parameters, its hot arrays stored in this precision.
    pub fn stored(
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        threads: usize,
        precision: Precision,
    ) -> Result<Executor<'a>, Unplanned> {
        Executor::planned(
            plan(equations, bound, precision)?,
            equations,
            bound,
            parameters,
            threads,
            precision,
        )
    }

    fn planned(
        mut plan: Plan<'a>,
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        threads: usize,
        precision: Precision,
    ) -> Result<Executor<'a>, Unplanned> {
        let prepared = plan
            .nodes
            .iter()
            .map(|node| {
                let Operation::Contractions(parts) = &node.operation else { return Vec::new() };
                parts.iter().map(|part| Prepared::new(part, &plan.nodes, &node.shape, &plan.maps)).collect()
            })
            .collect();
        let values = std::mem::take(&mut plan.statics);
        let masks = masks(&plan, &values);
        let sites = plan
            .sites
            .iter_mut()
            .map(|site| match site {
                Some(site) => SiteState::new(Arc::get_mut(site).expect("the plan is not shared yet"), bound),
                None => SiteState::empty(),
            })
            .collect();
        let count = plan.nodes.len();
        let transient = transient(&plan);
        let mut executor = Executor {
            transient,
            equations,
            bound,
            prepared,
            values,
            stamps: Stamps::new(&plan),
            changes: vec![None; count],
            block_changes: vec![None; equations.blocks.len()],
            accumulated: false,
            inverses: Inverses::default(),
            masks,
            bands: vec![Vec::new(); equations.blocks.len()],
            parameters,
            sites,
            next: vec![Blocks::new(); plan.sites.len()],
            held: (0..equations.blocks.len()).map(|block| plan.held_by(BlockId::from(block))).collect(),
            threads: Threads::new(threads),
            reducer: Local,
            precision,
            elbo_scale: 0.0,
            lost: false,
            outgrown: 0,
            steps: vec![None; equations.blocks.len()],
            followers: vec![Vec::new(); equations.blocks.len()],
            climbing: vec![None; equations.blocks.len()],
            parts_of_bound: Vec::new(),
            expected: None,
            before: Vec::new(),
            _kept: KeptScratch,
            observed: equations.blocks.iter().map(|block| Observed::of(equations, bound, block)).collect(),
            plan,
        };
        for index in 0..equations.blocks.len() {
            executor.observe(BlockId::from(index))?;
        }
        executor.fold_constants();
        // What constants took is not taken again.
        release_scratch();
        Ok(executor)
    }

    /// Makes the observed rows of a partly observed array point masses at their values.
    fn observe(&mut self, id: BlockId) -> Result<(), Unplanned> {
        let Some(observed) = &self.observed[id.index()] else { return Ok(()) };
        let family = family(self.equations, id);
        let batch = self.plan.layouts[id.index()].batch();
        if observed.observe(family, &batch, &mut views_mut(&mut self.parameters.blocks[id.index()])) {
            return Ok(());
        }
        let array = self.equations.symbols.array(self.equations.block(id).members[0]);
        Err(Unplanned(format!(
            "`{}` is observed in part, and a {} factor of q has no point masses",
            array.name,
            family.name()
        )))
    }

    fn reach(&self, node: NodeId, reached: &mut [bool]) {
        if !reached[node.index()] {
            reached[node.index()] = true;
            self.plan.nodes[node.index()].reads().into_iter().for_each(|read| self.reach(read, reached));
        }
    }

    /// The parameters of q.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The sum of the absolute values of the terms of the bound when it was last taken.
    pub fn elbo_scale(&self) -> f64 {
        self.elbo_scale
    }

    /// The steps of the plan as text.
    pub fn plan_text(&self) -> String {
        self.plan.text(self.equations)
    }

    /// The most memory that the run holds at a time, in bytes: data, parameters, and everything that follows from them.
    pub fn peak_bytes(&self) -> usize {
        let masks: usize = self.masks.values().map(Mask::bytes).sum();
        let sites: usize = self.sites.iter().map(SiteState::bytes).sum();
        self.outgrown.max(masks + self.plan.bytes(self.equations) + sites)
    }

    /// When the newest thing that a node follows from last changed.
    fn newest(&self, id: NodeId) -> u64 {
        self.stamps.newest(&self.plan, id)
    }

    /// Brings a node up to date.
    fn evaluate(&mut self, id: NodeId) {
        let index = id.index();
        let newest = match self.stamps.due(&self.plan, id) {
            Due::Hold => return self.hold(id),
            Due::Nothing => return,
            Due::Current(_) if self.values[index].len() == self.plan.nodes[index].len() => return,
            Due::Current(newest) | Due::Outdated(newest) => newest,
        };
        let reads = self.plan.nodes[index].reads();
        if self.plan.streamed[index] {
            reads.iter().for_each(|read| self.evaluate(*read));
            return;
        }
        if let Operation::Map(function, from) = self.plan.nodes[index].operation
            && self.transient[from.index()]
        {
            // The values take the place of those they follow from, in the memory of the last ones.
            self.give_back(from);
            self.values[from.index()] = std::mem::take(&mut self.values[index]);
            self.stamps.nodes[from.index()] = 0;
            self.evaluate(from);
            let mut out = std::mem::take(&mut self.values[from.index()]).into_owned();
            in_place(function, &mut out, &self.threads);
            self.values[index] = Cow::Owned(out);
            self.stamps.nodes[index] = newest;
            return;
        }
        reads.iter().for_each(|read| self.evaluate(*read));
        if self.evaluate_changed(id, newest) {
            return;
        }
        self.changes[index] = None;
        let mut out = std::mem::take(&mut self.values[index]).into_owned();
        match &self.plan.nodes[index].operation {
            Operation::Static(_) | Operation::Counts(..) | Operation::Held(_) => {}
            Operation::Point(block, member) => {
                let point = &self.parameters.blocks[block.index()][*member];
                out = room(out, point.len());
                out.copy_from_slice(point);
            }
            Operation::Moment(block, which) => {
                let layout = &self.plan.layouts[block.index()];
                let family = family(self.equations, *block);
                out = room(out, layout.batch().len(layout.expectations[*which].extent));
                let descriptors = views(&self.parameters.blocks[block.index()]);
                expect(family, &Parts::new(family, layout), &descriptors, *which, &mut out, &self.threads);
                if let Some(observed) = &self.observed[block.index()] {
                    observed.expect(layout, *which, 0..layout.rows, &mut out);
                }
            }
            Operation::Contractions(_) => {
                out = zeros(out, self.plan.nodes[index].len(), &self.threads);
                let kept = |part: &&Prepared| !part.streams(&self.plan.streamed);
                match self.plan.opened.iter().find(|opened| opened.node == id) {
                    Some(opened) => self.lost |= self.sum_of_squares(*opened, &mut out),
                    None => {
                        for prepared in self.prepared[index].iter().filter(kept) {
                            prepared.run(&self.values, &self.plan.maps, &mut out, &self.threads);
                        }
                    }
                }
                self.run_streamed(&self.prepared[index], &mut out, false);
                // The logs of points at 0 are infinite, and 0 ln 0 is 0.
                if has_nan(&out) {
                    out.fill(0.0);
                    for prepared in self.prepared[index].iter().filter(kept) {
                        prepared.run_guarded(&self.values, &self.plan.maps, &mut out);
                    }
                    self.run_streamed(&self.prepared[index], &mut out, true);
                }
            }
            Operation::Masked(sum) => {
                out = zeros(out, self.plan.nodes[index].len(), &self.threads);
                let mask = &self.masks[&(sum.mask, sum.by_columns)];
                let of = (self.values[sum.of.index()].as_ref(), sum.last);
                masked_sums(mask, sum.coefficient, of, &mut out, &self.threads);
            }
            Operation::Map(function, node) => {
                let from = &self.values[node.index()];
                out = room(out, from.len());
                elementwise(*function, from, &mut out, &self.threads);
            }
            Operation::Pair(function, left, right) => {
                let [left, right] = [left, right].map(|node| &self.values[node.index()]);
                out = room(out, left.len());
                pairwise(*function, left, right, &mut out);
            }
            Operation::Whole(parts) => {
                out = zeros(out, self.plan.nodes[index].len(), &self.threads);
                let shape = &self.plan.nodes[index].shape;
                parts.iter().for_each(|part| put(part, &self.values[part.node.index()], shape, &mut out));
            }
            Operation::Taken(part) => {
                out = room(out, self.plan.nodes[index].len());
                let shape = &self.plan.nodes[part.node.index()].shape;
                take(part, &self.values[part.node.index()], shape, &mut out);
            }
            Operation::Pairs(node, at) => {
                out = room(out, self.plan.nodes[index].len());
                let shape = &self.plan.nodes[node.index()].shape;
                pairs(&self.values[node.index()], shape, *at, &mut out, &self.threads);
            }
            Operation::Square(node, at) => {
                out = room(out, self.plan.nodes[index].len());
                let shape = &self.plan.nodes[index].shape;
                square(&self.values[node.index()], shape, *at, &mut out, &self.threads);
            }
            Operation::LogDeterminant(node) => {
                let size = self.plan.nodes[node.index()].shape.last().copied().unwrap_or(1);
                out = zeros(out, self.plan.nodes[index].len(), &self.threads);
                let matrices = self.values[node.index()].chunks_exact((size * size).max(1));
                for (out, matrix) in out.iter_mut().zip(matrices) {
                    *out = cavi_numerics::linalg::log_determinant_of(matrix);
                }
            }
            Operation::Site(what, weights) => {
                out = room(out, self.plan.nodes[index].len());
                self.allotted(*what, weights, &mut out);
            }
        }
        self.values[index] = Cow::Owned(out);
        self.stamps.nodes[index] = newest;
        for read in reads {
            if self.transient[read.index()] {
                self.give_back(read);
            }
        }
    }

    /// Brings what is held of a node to its current values.
    fn hold(&mut self, id: NodeId) {
        let Operation::Held(from) = self.plan.nodes[id.index()].operation else { return };
        self.evaluate(from);
        if self.stamps.hold(&self.plan, id).is_some() {
            let held = std::mem::take(&mut self.values[id.index()]).into_owned();
            let mut held = room(held, self.values[from.index()].len());
            held.copy_from_slice(&self.values[from.index()]);
            self.values[id.index()] = Cow::Owned(held);
        }
    }

    /// Forgets the values of a node; their memory is for others.
    fn give_back(&mut self, node: NodeId) {
        if let Cow::Owned(values) = std::mem::take(&mut self.values[node.index()]) {
            Scratch::keep(values);
        }
    }

    /// Forgets the values of large nodes that are computed anew whenever they are read.
    fn forget(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            let computed = matches!(self.plan.nodes[node.index()].operation, Operation::Contractions(_));
            if computed && self.plan.nodes[node.index()].len() >= LARGE {
                self.give_back(*node);
            }
        }
    }

    /// Makes q the optimum of the block's own statements alone, hyper-parameters at their current expectations. A point
    /// keeps its value.
    pub fn reset(&mut self, id: BlockId) -> Result<(), Trouble> {
        let plan = Arc::clone(&self.plan.blocks[id.index()]);
        let nodes = &plan.prior;
        if nodes.is_empty() {
            return Ok(());
        }
        nodes.iter().for_each(|node| self.evaluate(*node));
        let layout = &self.plan.layouts[id.index()];
        let columns: Views = nodes.iter().map(|node| self.values[node.index()].as_ref()).collect();
        let block = &mut self.parameters.blocks[id.index()];
        let outcome = settle(self.equations, (id, layout), &layout.batch(), &columns, &mut views_mut(block));
        drop(columns);
        outcome.map_err(|improper| trouble(id, layout, improper.row, improper.reason))?;
        let _ = self.observe(id);
        self.touch(id);
        self.forget(nodes);
        Ok(())
    }

    /// One update, by the plan as it is.
    fn update_once(&mut self, id: BlockId, stop: Stop) -> Result<(), End> {
        if self.equations.block(id).ascent.is_some() {
            return self.ascend(id, Allocations::Held, stop);
        }
        let weightless = self.weightless(id);
        let at_once = self.plan.blocks[id.index()].in_order.is_empty();
        if at_once && weightless.is_empty() {
            let layout = Arc::clone(&self.plan.layouts[id.index()]);
            let parts = Parts::new(family(self.equations, id), &layout);
            let plan = Arc::clone(&self.plan.blocks[id.index()]);
            let natural = self.prepare(&plan.natural, &parts);
            let mut block = std::mem::take(&mut self.parameters.blocks[id.index()]);
            let outcome = describe(
                &parts,
                &self.columns(&natural),
                &mut views_mut(&mut block),
                &self.threads,
                |batch, natural, block| settle(self.equations, (id, &layout), batch, natural, block),
            );
            self.parameters.blocks[id.index()] = block;
            outcome.map_err(|improper| trouble(id, &layout, improper.row, improper.reason))?;
            // The family was asked once, when the run began.
            let _ = self.observe(id);
            self.touch(id);
            self.forget_prepared(&natural);
            return Ok(());
        }
        if at_once {
            let before: SmallVec<[Scratch; 6]> =
                self.parameters.blocks[id.index()].iter().map(|column| Scratch::of(column)).collect();
            let plan = Arc::clone(&self.plan.blocks[id.index()]);
            let nodes = &plan.natural;
            nodes.iter().for_each(|node| self.evaluate(*node));
            let layout = &self.plan.layouts[id.index()];
            let columns: Views = nodes.iter().map(|node| self.values[node.index()].as_ref()).collect();
            let block = &mut self.parameters.blocks[id.index()];
            let outcome =
                settle(self.equations, (id, layout), &layout.batch(), &columns, &mut views_mut(block));
            outcome.map_err(|improper| trouble(id, layout, improper.row, improper.reason))?;
            let shared = !layout.group.is_empty();
            let matrix = matrices(self.equations, id);
            for ((column, before), matrix) in block.iter_mut().zip(&before).zip(matrix) {
                let width = before.len() / layout.rows;
                for copy in weightless.iter().filter(|_| !(matrix && shared)) {
                    let own = match layout.starts.is_empty() {
                        true => copy * width..(copy + 1) * width,
                        // A row holds a copy for each group.
                        false => layout.batch().row(*copy),
                    };
                    column[own.clone()].copy_from_slice(&before[own]);
                }
            }
            drop(columns);
            let _ = self.observe(id);
            self.touch(id);
            self.forget(nodes);
            return Ok(());
        }
        // Copies meet: one after another along the letters in which they do. What is observed keeps its value.
        let mut kept = weightless;
        let observed = self.observed[id.index()].iter().flat_map(Observed::rows);
        observed.for_each(|(row, _)| kept.push(row));
        kept.sort_unstable();
        for step in self.one_after_another(id).iter() {
            go_on(stop)?;
            self.update_step(id, step, &kept)?;
        }
        self.settle_changes(id);
        Ok(())
    }

    /// The copies of a point on a simplex whose coefficients say nothing, at allocations refreshed now: those of the logs are
    /// all 0, any others all equal.
    pub fn undetermined(&mut self, id: BlockId) -> Vec<usize> {
        if self.refresh(&[id]).is_err() {
            return Vec::new();
        }
        let nodes = self.plan.blocks[id.index()].natural.clone();
        nodes.iter().for_each(|node| self.evaluate(*node));
        let layout = &self.plan.layouts[id.index()];
        let natural = &self.equations.block(id).natural;
        let says_nothing = |row: usize| {
            nodes.iter().zip(natural).all(|(node, own)| {
                let values = &self.values[node.index()][layout.batch().row(row)];
                match own.statistic == Statistic::log() {
                    true => values.iter().all(|value| *value == 0.0),
                    false => values.iter().all(|value| *value == values[0]),
                }
            })
        };
        let rows = (0..layout.batch().rows).filter(|row| says_nothing(*row)).collect();
        self.forget(&nodes);
        rows
    }

    /// The copies whose rows have weight 0: they keep their factors.
    fn weightless(&mut self, id: BlockId) -> Scratch<usize> {
        let Some(node) = self.plan.blocks[id.index()].weight else { return Scratch::with_room(0) };
        self.evaluate(node);
        let weights = self.values[node.index()].iter().enumerate();
        weights.filter(|(_, weight)| **weight == 0.0).map(|(row, _)| row).collect()
    }

    fn touch(&mut self, block: BlockId) {
        self.stamps.touch(block);
        self.block_changes[block.index()] = None;
    }

    /// Brings the allocations to their optimum, as far as these blocks read them.
    pub fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), Trouble> {
        for site in (0..self.plan.sites.len()).map(SiteId::from) {
            let targets = self.plan.site_targets(site, blocks);
            if !targets.is_empty() {
                self.pass(site, &targets)?;
            }
        }
        for block in blocks {
            let held = std::mem::take(&mut self.held[block.index()]);
            held.iter().for_each(|node| self.hold(*node));
            self.held[block.index()] = held;
        }
        Ok(())
    }
}

/// The masks of a plan's sums.
fn masks(plan: &Plan, values: &[Cow<[f64]>]) -> BTreeMap<(NodeId, bool), Mask> {
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
fn family(equations: &Equations, block: BlockId) -> &'static dyn Posterior {
    cavi_families::posterior(equations.block(block).family)
}

fn trouble(block: BlockId, layout: &Layout, copy: usize, reason: String) -> Trouble {
    Trouble { block, copy: layout.positions(copy), reason }
}
