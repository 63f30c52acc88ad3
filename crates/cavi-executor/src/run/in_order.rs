//! Copies that meet in a term: updated one after another along the letters in which they do.

use std::collections::BTreeMap;

use cavi_algebra::BlockId;
use cavi_families::{Batch, Extent, Posterior, views, views_mut};
use cavi_numerics::reduce::has_nan;

use super::contractions::Seen;
use super::region::{Region, gathered};
use super::{Executor, family, settle, trouble};
use crate::layout::Layout;
use crate::plan::Along;
use crate::plan::tensor::{NodeId, Operation, Source};
use crate::trouble::Trouble;

/// Some rows of a block, as a batch of their own.
pub(super) struct Rows {
    pub rows: Vec<usize>,
    /// The groups of the rows, each once.
    groups: Vec<usize>,
    /// Of each row, the place of its group among them.
    group: Vec<usize>,
    n: usize,
    starts: Vec<usize>,
}

impl Rows {
    /// The rows of a region of the plates of a block.
    pub fn new(layout: &Layout, region: &Region) -> Rows {
        let rows: Vec<usize> = region.runs(&layout.plates).into_iter().flatten().collect();
        let batch = layout.batch();
        let mut groups: Vec<usize> = rows.iter().map(|row| batch.group_of(*row)).collect();
        groups.sort_unstable();
        groups.dedup();
        let place = |row: &usize| groups.binary_search(&batch.group_of(*row)).expect("a group of the rows");
        let group = rows.iter().map(place).collect();
        Rows { rows, groups, group, n: layout.n, starts: layout.starts.clone() }
    }

    pub fn batch(&self) -> Batch<'_> {
        Batch {
            groups: self.groups.len(),
            group: &self.group,
            ..Batch::cut(self.rows.len(), self.n, &self.starts)
        }
    }

    /// The descriptors of these rows alone.
    pub fn of(&self, widths: &[(usize, bool)], columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let own = widths.iter().zip(columns).map(|((width, grouped), column)| {
            let from = if *grouped { &self.groups } else { &self.rows };
            let mut own = Vec::with_capacity(from.len() * width);
            from.iter().for_each(|row| own.extend_from_slice(&column[row * width..(row + 1) * width]));
            own
        });
        own.collect()
    }
}

/// For each stored column of a distribution, the length of a row, and whether rows share it.
pub(super) fn widths(family: &dyn Posterior, layout: &Layout) -> Vec<(usize, bool)> {
    let width = |extent| match extent {
        Extent::Scalar => (1, false),
        Extent::Vector => (layout.n, false),
        Extent::Matrix => (layout.n * layout.n, true),
        Extent::Pairs => (layout.n * layout.n, false),
    };
    family.descriptors().iter().map(|own| width(own.extent)).collect()
}

impl Executor<'_> {
    /// The steps in which copies of a block move, one after another: each the copies that move at once, as a region of the
    /// plates. Where these meet within their group only, the first of every group move at once, then the second.
    pub(super) fn one_after_another(&self, id: BlockId) -> Vec<Region> {
        let plates = &self.plan.layouts[id.index()].plates;
        let mut steps = vec![Region::all(plates.len())];
        for Along { place, groups } in &self.plan.blocks[id.index()].in_order {
            let values: Vec<Vec<u32>> = match groups {
                None => (0..plates[*place]).map(|value| vec![value as u32]).collect(),
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
            let with = |step: &Region, values: &Vec<u32>| {
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
        let rows = Rows::new(&self.plan.layouts[id.index()], step);
        let nodes = self.plan.blocks[id.index()].natural.clone();
        let block = self.equations.block(id);
        let family = family(self.equations, id);
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (node, own) in nodes.iter().zip(family.statistics()) {
            let layout = &self.plan.layouts[id.index()];
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
        let columns = views(&columns);
        let layout = &self.plan.layouts[id.index()];
        let widths = if block.is_point() { vec![(layout.width(), false)] } else { widths(family, layout) };
        let mut own = rows.of(&widths, &self.parameters.blocks[id.index()]);
        let outcome = settle(self.equations, id, &rows.batch(), &columns, &mut views_mut(&mut own));
        let each = layout.batch_of(1).rows;
        let copy_of = |number: usize| rows.rows[number / each] * each + number % each;
        outcome.map_err(|improper| trouble(id, layout, copy_of(improper.row), improper.reason))?;
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
        self.touch_some(id, step);
        Ok(())
    }

    /// A natural parameter of a block at the rows of a step.
    fn evaluate_step(&mut self, id: BlockId, node: NodeId, step: &Region) -> Vec<f64> {
        let index = node.index();
        let mut region = step.clone();
        region.0.resize(self.plan.nodes[index].shape.len(), None);
        if matches!(self.plan.nodes[index].operation, Operation::Contractions(_)) {
            let taken = self.evaluate_reads(id, node, &region);
            if let Some(out) = self.contracted(node, &region, &taken) {
                return out;
            }
        }
        self.evaluate(node);
        gathered(&region.runs(&self.plan.nodes[index].shape), &self.values[index])
    }

    /// Brings up to date what a sum of contractions reads in a region. What would be taken anew as a whole for every step of the
    /// block, and is read in part, is taken in this part alone.
    fn evaluate_reads(&mut self, id: BlockId, node: NodeId, region: &Region) -> BTreeMap<NodeId, Portion> {
        let mut needed: BTreeMap<NodeId, Option<Region>> = BTreeMap::new();
        for prepared in &self.prepared[node.index()] {
            let own = prepared.needed(region, &self.plan.maps, &mut self.inverses);
            for (read, own) in prepared.reads().zip(own) {
                let own = (!own.is_all()).then_some(own);
                let known = needed.entry(read).or_insert_with(|| own.clone());
                if *known != own {
                    *known = None;
                }
            }
        }
        let mut taken = BTreeMap::new();
        for (read, region) in needed {
            let portion = region.and_then(|region| self.portion(id, read, region));
            match portion {
                Some(portion) => _ = taken.insert(read, portion),
                None => self.evaluate(read),
            }
        }
        taken
    }

    /// A part of a sum that every step of a block changes all over.
    fn portion(&mut self, id: BlockId, node: NodeId, region: Region) -> Option<Portion> {
        let is_sum = matches!(self.plan.nodes[node.index()].operation, Operation::Contractions(_));
        if !is_sum
            || self.plan.streamed[node.index()]
            || self.block_stamps[id.index()] <= self.stamps[node.index()]
        {
            return None;
        }
        let mut reached = vec![false; self.plan.nodes.len()];
        self.reach(node, &mut reached);
        let moves = |index: usize| self.plan.nodes[index].source() == Source::Block(id);
        if !(0..reached.len()).any(|index| reached[index] && moves(index)) {
            return None;
        }
        self.plan.nodes[node.index()].reads().into_iter().for_each(|read| self.evaluate(read));
        let newest = self.newest(node);
        if self.evaluate_changed(node, newest) {
            return None;
        }
        let values = self.contracted(node, &region, &BTreeMap::new())?;
        Some(Portion { region, values })
    }

    /// The values of a sum of contractions in a region, what they read being up to date or taken in part. `None` if they are
    /// to be worked out as a whole: where rows stream, and where nothing meets infinity.
    pub(super) fn contracted(
        &mut self,
        node: NodeId,
        region: &Region,
        taken: &BTreeMap<NodeId, Portion>,
    ) -> Option<Vec<f64>> {
        let index = node.index();
        if self.prepared[index].iter().any(|prepared| prepared.streams(&self.plan.streamed)) {
            return None;
        }
        let mut out = vec![0.0; region.shape(&self.plan.nodes[index].shape).iter().product()];
        for prepared in &self.prepared[index] {
            let seen = prepared.reads().map(|read| match taken.get(&read) {
                Some(own) => Seen { values: &own.values, region: Some(&own.region) },
                None => Seen { values: &self.values[read.index()], region: None },
            });
            let seen: Vec<Seen> = seen.collect();
            let tables = (&self.plan.maps, &mut self.inverses);
            prepared.run_region(&seen, tables, region, &mut out, &self.threads);
        }
        (!has_nan(&out)).then_some(out)
    }
}

/// A part of an array.
pub(super) struct Portion {
    region: Region,
    values: Vec<f64>,
}
