//! Copies that meet in a term: updated one after another along the letters in which they do.

use std::sync::Arc;

use cavi_algebra::BlockId;
use cavi_families::{Batch, Extent, Posterior, views, views_mut};
use cavi_numerics::Scratch;
use cavi_numerics::kernels::contract::Operands;
use cavi_numerics::reduce::has_nan;
use smallvec::SmallVec;

use super::contract_region::Seen;
use super::region::{Region, Values, gathered};
use super::settle::settle;
use super::state::{State, family, trouble};
use crate::layout::Layout;
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::plan::{InOrder, Place};
use crate::trouble::Trouble;
use cavi_families::kept::lend;

/// What is found out once of each block whose copies move one after another.
pub(super) struct Orders {
    /// The steps in which they move.
    steps: Vec<Option<Arc<Vec<Region>>>>,
    /// Which nodes follow from the block.
    followers: Vec<Vec<bool>>,
    /// Memory for what a step needs, and takes in part, from one step to the next.
    needed: Vec<(NodeId, Option<Region>)>,
    taken: Portions,
}

impl Orders {
    /// Of so many blocks, before any has moved.
    pub fn new(blocks: usize) -> Orders {
        Orders {
            steps: vec![None; blocks],
            followers: vec![Vec::new(); blocks],
            needed: Vec::new(),
            taken: Portions::new(),
        }
    }
}

/// Some rows of a block, as a batch of their own.
pub(super) struct Rows<'l> {
    pub rows: Scratch<usize>,
    /// The groups of the rows, each once.
    groups: Scratch<usize>,
    /// Of each row, the place of its group among them.
    group: Scratch<usize>,
    layout: &'l Layout,
}

/// One a column.
type Columns<T> = SmallVec<[T; 6]>;

impl<'l> Rows<'l> {
    /// The rows of a region of the plates of a block.
    pub fn new(layout: &'l Layout, region: &Region) -> Rows<'l> {
        let rows: Scratch<usize> = region.runs(&layout.plates).iter().flatten().collect();
        let batch = layout.batch();
        let mut groups: Scratch<usize> = rows.iter().map(|row| batch.group_of(*row)).collect();
        groups.sort_unstable();
        groups.dedup();
        let place = |row: &usize| groups.binary_search(&batch.group_of(*row)).expect("a group of the rows");
        let group = rows.iter().map(place).collect();
        Rows { rows, groups, group, layout }
    }

    pub fn batch(&self) -> Batch<'_> {
        Batch { groups: self.groups.len(), group: &self.group, ..self.layout.batch_of(self.rows.len()) }
    }

    /// The descriptors of these rows alone.
    pub fn of(&self, widths: &[(usize, bool)], columns: &[Vec<f64>]) -> Columns<Scratch> {
        let own = widths.iter().zip(columns).map(|((width, grouped), column)| {
            let from = if *grouped { &self.groups } else { &self.rows };
            from.iter().flat_map(|row| &column[row * width..(row + 1) * width]).copied().collect()
        });
        own.collect()
    }
}

/// For each stored column of a distribution, the length of a row, and whether rows share it.
pub(super) fn widths(family: &dyn Posterior, layout: &Layout) -> Columns<(usize, bool)> {
    let width = |extent| match extent {
        Extent::Scalar => (1, false),
        Extent::Vector => (layout.n, false),
        Extent::Matrix => (layout.n * layout.n, true),
        Extent::Pairs => (layout.n * layout.n, false),
    };
    family.descriptors().iter().map(|own| width(own.extent)).collect()
}

impl State<'_> {
    /// The steps in which copies of a block move, one after another: each the copies that move at once, as a region of the
    /// plates. Where these meet within their group only, the first of every group move at once, then the second.
    pub(super) fn one_after_another(&mut self, id: BlockId) -> Arc<Vec<Region>> {
        if self.in_order.steps[id.index()].is_none() {
            self.in_order.steps[id.index()] = Some(Arc::new(self.steps_of(id)));
        }
        Arc::clone(self.in_order.steps[id.index()].as_ref().expect("just found"))
    }

    fn steps_of(&self, id: BlockId) -> Vec<Region> {
        let plates = &self.work.plan.layouts[id.index()].plates;
        let mut steps = vec![Region::all(plates.len())];
        for InOrder { place, groups } in &self.work.plan.blocks[id.index()].in_order {
            let values: Vec<Values> = match groups {
                None => (0..plates[*place]).map(|value| Values::from_elem(value as u32, 1)).collect(),
                Some(starts) => {
                    let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
                    let at = |step: usize| {
                        starts
                            .windows(2)
                            .filter(move |pair| pair[0] + step < pair[1])
                            .map(move |pair| (pair[0] + step) as u32)
                    };
                    (0..longest).map(|step| at(step).collect()).collect()
                }
            };
            let with = |step: &Region, values: &Values| {
                let mut step = step.clone();
                step.0[*place] = Some(values.clone());
                step
            };
            steps =
                steps.iter().flat_map(|step| values.iter().map(move |values| with(step, values))).collect();
        }
        steps
    }

    /// Updates the copies of a step, but for those (ascending) that are kept.
    pub(super) fn update_step(&mut self, id: BlockId, step: &Region, kept: &[usize]) -> Result<(), Trouble> {
        let layout = Arc::clone(&self.work.plan.layouts[id.index()]);
        let rows = Rows::new(&layout, step);
        let plan = Arc::clone(&self.work.plan.blocks[id.index()]);
        let nodes = &plan.natural;
        let block = self.work.equations.block(id);
        let family = family(self.work.equations, id);
        let mut columns: Columns<Scratch> = Columns::new();
        for (node, own) in nodes.iter().zip(&layout.statistics) {
            let shared = own.extent == Extent::Matrix && layout.group_letters != block.plates;
            let width = layout.n * layout.n;
            columns.push(if shared {
                self.evaluate(*node);
                let values = &self.values[node.index()];
                let each = |group: &usize| values[group * width..(group + 1) * width].iter().copied();
                rows.groups.iter().flat_map(each).collect()
            } else {
                self.evaluate_step(id, *node, step)
            });
        }
        let held = self.work.observed[id.index()].as_ref().filter(|own| own.has_parts());
        if let Some(held) = held {
            held.hold(&rows.batch(), rows.rows.iter().copied(), &mut columns);
        }
        let each = layout.batch_of(1).rows;
        let copy_of = |number: usize| rows.rows[number / each] * each + number % each;
        let is_kept = |number: usize| kept.binary_search(&copy_of(number)).is_ok();
        let mut lender = None;
        if !kept.is_empty() {
            let shared = !layout.group.is_empty();
            lender = lend(&layout.statistics, (&rows.batch(), shared), &is_kept, &mut columns);
            if lender.is_none() && !(shared && self.is_shard()) {
                self.touch_some(id, step);
                return Ok(());
            }
        }
        let columns = views(&columns);
        let widths = if block.is_point() {
            Columns::from_elem((layout.width(), false), 1)
        } else {
            widths(family, &layout)
        };
        let mut own = rows.of(&widths, &self.parameters.blocks[id.index()]);
        let mut settled = views_mut(&mut own);
        let outcome = settle(self.work.equations, (id, &layout), &rows.batch(), &columns, &mut settled);
        drop(settled);
        outcome.map_err(|improper| {
            let number = lender.filter(|_| is_kept(improper.row)).unwrap_or(improper.row);
            trouble(id, &layout, copy_of(number), improper.reason)
        })?;
        for (((width, grouped), column), own) in
            widths.iter().zip(&mut self.parameters.blocks[id.index()]).zip(&own)
        {
            let to = if *grouped { &rows.groups } else { &rows.rows };
            for (place, row) in to.iter().enumerate() {
                // A row of ragged slices holds a copy for each group.
                for copy in row * each..(row + 1) * each {
                    if (!grouped || layout.group.is_empty()) && kept.binary_search(&copy).is_ok() {
                        continue;
                    }
                    let within = if each > 1 { layout.batch_of(1).row(copy % each) } else { 0..*width };
                    let at = |row: usize| row * width + within.start..row * width + within.end;
                    column[at(*row)].copy_from_slice(&own[at(place)]);
                }
            }
        }
        if self.has_parts(id) {
            let _ = self.observe(id);
        }
        self.touch_some(id, step);
        Ok(())
    }

    /// A natural parameter of a block at the rows of a step.
    fn evaluate_step(&mut self, id: BlockId, node: NodeId, step: &Region) -> Scratch {
        let index = node.index();
        let mut region = step.clone();
        region.0.resize(self.work.plan.nodes[index].shape.len(), None);
        if matches!(self.work.plan.nodes[index].operation, Operation::Contractions(_)) {
            let mut taken = self.evaluate_reads(id, node, &region);
            let out = self.contracted(node, &region, &taken);
            taken.clear();
            self.in_order.taken = taken;
            if let Some(out) = out {
                return out;
            }
        }
        self.evaluate(node);
        gathered(&region.runs(&self.work.plan.nodes[index].shape), &self.values[index])
    }

    /// Brings up to date what a sum of contractions reads in a region. What would be taken anew as a whole for every step of the
    /// block, and is read in part, is taken in this part alone.
    fn evaluate_reads(&mut self, id: BlockId, node: NodeId, region: &Region) -> Portions {
        let mut needed = std::mem::take(&mut self.in_order.needed);
        for prepared in &self.work.prepared[node.index()] {
            let own = prepared.needed(region, &self.work.plan.maps, &mut self.changes.inverses);
            for (read, own) in prepared.reads().zip(own) {
                let own = (!own.is_all()).then_some(own);
                match needed.iter_mut().find(|(other, _)| *other == read) {
                    Some((_, known)) if *known != own => *known = None,
                    Some(_) => {}
                    None => needed.push((read, own)),
                }
            }
        }
        needed.sort_unstable_by_key(|(read, _)| *read);
        let mut taken = std::mem::take(&mut self.in_order.taken);
        for (read, region) in needed.drain(..) {
            let portion = region.and_then(|region| self.portion(id, read, region));
            match portion {
                Some(portion) => taken.push((read, portion)),
                None => self.evaluate(read),
            }
        }
        self.in_order.needed = needed;
        taken
    }

    /// Whether a node follows from the state of a block.
    fn follows(&mut self, node: NodeId, id: BlockId) -> bool {
        if self.in_order.followers[id.index()].is_empty() {
            let moves = |index: &usize| self.work.plan.nodes[*index].source() == Source::Block(id);
            let follows = |index: usize| {
                let mut reached = vec![false; self.work.plan.nodes.len()];
                self.reach(NodeId(index as u32), &mut reached);
                (0..reached.len()).filter(|index| reached[*index]).any(|index| moves(&index))
            };
            self.in_order.followers[id.index()] = (0..self.work.plan.nodes.len()).map(follows).collect();
        }
        self.in_order.followers[id.index()][node.index()]
    }

    /// A part of a sum that every step of a block changes all over.
    fn portion(&mut self, id: BlockId, node: NodeId, region: Region) -> Option<Portion> {
        let is_sum = matches!(self.work.plan.nodes[node.index()].operation, Operation::Contractions(_));
        // Which part is read may differ between shards.
        let is_joint = self.joint.as_ref().is_some_and(|joint| joint.places[node.index()] != Place::Local);
        if !is_sum
            || is_joint
            || self.work.plan.streamed[node.index()]
            || self.stamps.blocks[id.index()] <= self.stamps.nodes[node.index()]
        {
            return None;
        }
        if !self.follows(node, id) {
            return None;
        }
        self.work.plan.nodes[node.index()].reads().into_iter().for_each(|read| self.evaluate(read));
        let newest = self.newest(node);
        if self.evaluate_changed(node, newest) {
            return None;
        }
        let values = self.contracted(node, &region, &[])?;
        Some(Portion { region, values })
    }

    /// The values of a sum of contractions in a region, what they read being up to date or taken in part. `None` if they are
    /// to be worked out as a whole: where rows stream, and where nothing meets infinity.
    pub(super) fn contracted(
        &mut self,
        node: NodeId,
        region: &Region,
        taken: &[(NodeId, Portion)],
    ) -> Option<Scratch> {
        let index = node.index();
        // A sum over all shards is taken as a whole: what the others have of it has no region.
        if self.is_partial(node)
            || self.work.prepared[index].iter().any(|prepared| prepared.streams(&self.work.plan.streamed))
        {
            return None;
        }
        let mut out = Scratch::zeros(region.shape(&self.work.plan.nodes[index].shape).iter().product());
        for prepared in &self.work.prepared[index] {
            let seen = prepared.reads().map(|read| match taken.iter().find(|(own, _)| *own == read) {
                Some((_, own)) => Seen { values: &own.values, region: Some(&own.region) },
                None => Seen { values: &self.values[read.index()], region: None },
            });
            let seen: Operands<Seen> = seen.collect();
            let tables = (&self.work.plan.maps, &mut self.changes.inverses);
            prepared.run_region(&seen, tables, region, &mut out, &self.work.threads);
        }
        (!has_nan(&out)).then_some(out)
    }
}

/// A part of an array.
pub(super) struct Portion {
    region: Region,
    values: Scratch,
}

/// Parts of arrays, by their nodes.
type Portions = Vec<(NodeId, Portion)>;
