//! Updates in closed form: a block becomes what its natural parameters say.
//!
//! In come a block and the state; its natural parameters are brought up to date, and its factors of q or its point are made their
//! optimum: all copies at once, all but those that keep what they have, or one after another where copies meet.

use std::sync::Arc;

use cavi_algebra::{BlockId, Statistic};
use cavi_families::{Views, views, views_mut};
use cavi_numerics::Scratch;
use smallvec::SmallVec;

use super::Executor;
use super::ascend::Allocations;
use super::rows::describe;
use super::settle::{matrices, settle};
use super::state::{State, family, trouble};
use super::sweep::{End, NEVER, Stop, go_on};
use crate::observed::Observed;
use crate::plan::parts::Parts;
use crate::plan::tensor::NodeId;
use crate::trouble::Trouble;
use cavi_families::kept::{is_inside, lend};

impl Executor<'_> {
    /// Makes q the optimum of the block's own statements alone, hyper-parameters at their current expectations. A point whose reset was
    /// not planned ([`cavi_algebra::Block::resets`]) keeps its value.
    pub fn reset(&mut self, id: BlockId) -> Result<(), Trouble> {
        let outcome = self.state.reset(id);
        self.state.agree("reset", id, outcome)
    }

    /// Updates all copies of a block, allocations held.
    pub fn update(&mut self, id: BlockId) -> Result<(), Trouble> {
        self.update_in(id, &[id], NEVER).map_err(End::trouble)
    }

    /// The same for a block of a group that shares its allocations. One that fails since squares that were multiplied out have lost
    /// their digits is made again by residuals.
    pub(super) fn update_in(&mut self, id: BlockId, group: &[BlockId], stop: Stop) -> Result<(), End> {
        let outcome = self.update_once(id, stop);
        match self.state.agree("update", id, outcome) {
            Err(End::Trouble(trouble)) if !self.state.work.plan.opened.is_empty() => {
                if !self.take_residuals() {
                    return Err(End::Trouble(trouble));
                }
                self.refresh(group)?;
                self.update_once(id, stop)
            }
            outcome => outcome,
        }
    }

    /// One update, by the plan as it is.
    fn update_once(&mut self, id: BlockId, stop: Stop) -> Result<(), End> {
        if self.state.work.equations.block(id).ascent.is_some() {
            return self.ascend(id, Allocations::Held, stop);
        }
        let weightless = self.state.weightless(id);
        if !self.state.work.plan.blocks[id.index()].in_order.is_empty() {
            return self.state.update_in_order(id, weightless, stop);
        }
        // Parts of rows need the coefficients of all of them.
        match weightless.is_empty() && !self.state.has_parts(id) {
            true => Ok(self.state.update_all(id)?),
            false => {
                let plan = Arc::clone(&self.state.work.plan.blocks[id.index()]);
                Ok(self.state.settle_moving(id, &plan.natural, &weightless)?)
            }
        }
    }

    /// The copies of a point on a simplex whose coefficients say nothing, at allocations refreshed now: those of the logs are
    /// all 0, any others all equal.
    pub fn undetermined(&mut self, id: BlockId) -> Vec<usize> {
        if self.refresh(&[id]).is_err() {
            return Vec::new();
        }
        let nodes = self.state.work.plan.blocks[id.index()].natural.clone();
        nodes.iter().for_each(|node| self.state.evaluate(*node));
        let layout = &self.state.work.plan.layouts[id.index()];
        let natural = &self.state.work.equations.block(id).natural;
        let says_nothing = |row: usize| {
            nodes.iter().zip(natural).all(|(node, own)| {
                let values = &self.state.values[node.index()][layout.batch().row(row)];
                match own.statistic == Statistic::log() {
                    true => values.iter().all(|value| *value == 0.0),
                    false => values.iter().all(|value| *value == values[0]),
                }
            })
        };
        let rows = (0..layout.batch().rows).filter(|row| says_nothing(*row)).collect();
        self.state.forget(&nodes);
        rows
    }
}

impl State<'_> {
    /// Makes a block the optimum of its own statements alone. Rows of weight 0 keep their factors, and a point keeps its value where that
    /// optimum is every value, or one that no update leaves.
    fn reset(&mut self, id: BlockId) -> Result<(), Trouble> {
        let plan = Arc::clone(&self.work.plan.blocks[id.index()]);
        let block = self.work.equations.block(id);
        if plan.prior.is_empty() || block.is_point() && !block.resets {
            return Ok(());
        }
        let weightless = self.weightless(id);
        match block.is_point() {
            true => self.reset_point(id, &weightless),
            false => self.settle_moving(id, &plan.prior, &weightless),
        }
    }

    /// A point to the mode of its own statements.
    fn reset_point(&mut self, id: BlockId, weightless: &[usize]) -> Result<(), Trouble> {
        let plan = Arc::clone(&self.work.plan.blocks[id.index()]);
        plan.prior.iter().for_each(|node| self.evaluate(*node));
        let layout = Arc::clone(&self.work.plan.layouts[id.index()]);
        let equations = self.work.equations;
        let block = equations.block(id);
        let free;
        let mut columns: Views = plan.prior.iter().map(|node| self.values[node.index()].as_ref()).collect();
        let mut point = Scratch::of(&self.parameters.blocks[id.index()][0]);
        let outcome = match block.ascent.as_ref().and_then(|ascent| ascent.own_family) {
            Some(family) => cavi_families::posterior(family).mode(&layout.batch(), &columns, &mut point),
            None => {
                if let Some(own) = self.with_parts(id, &columns) {
                    free = own;
                    columns = views(&free);
                }
                settle(equations, (id, &layout), &layout.batch(), &columns, &mut [&mut point[..]])
            }
        };
        drop(columns);
        outcome.map_err(|improper| trouble(id, &layout, improper.row, improper.reason))?;
        let support = equations.symbols.array(block.members[0]).support;
        let copies = layout.slices_of(0);
        let own = &mut self.parameters.blocks[id.index()][0];
        for copy in (0..copies.rows).filter(|copy| weightless.binary_search(copy).is_err()) {
            let place = copies.row(copy);
            if is_inside(support, &point[place.clone()]) {
                own[place.clone()].copy_from_slice(&point[place]);
            }
        }
        let _ = self.observe(id);
        self.touch(id);
        self.forget(&plan.prior);
        Ok(())
    }

    /// Updates all copies at once.
    fn update_all(&mut self, id: BlockId) -> Result<(), Trouble> {
        let layout = Arc::clone(&self.work.plan.layouts[id.index()]);
        let parts = Parts::new(family(self.work.equations, id), &layout);
        let plan = Arc::clone(&self.work.plan.blocks[id.index()]);
        let natural = self.prepare(&plan.natural, &parts);
        let reads = natural.iter().map(|(node, _)| *node);
        let outcome = self.update_once_for_all(id, reads, |state, block| {
            let equations = state.work.equations;
            describe(
                &parts,
                &state.columns(&natural),
                &mut views_mut(block),
                &state.work.threads,
                |batch, natural, block| settle(equations, (id, &layout), batch, natural, block),
            )
        });
        outcome.map_err(|improper| trouble(id, &layout, improper.row, improper.reason))?;
        // The family was asked once, when the run began.
        let _ = self.observe(id);
        self.touch(id);
        self.forget_prepared(&natural);
        Ok(())
    }

    /// Makes all copies what these coefficients say, but those without a weight, which keep their factors, and elements that are held.
    fn settle_moving(&mut self, id: BlockId, nodes: &[NodeId], weightless: &[usize]) -> Result<(), Trouble> {
        let before: SmallVec<[Scratch; 6]> =
            self.parameters.blocks[id.index()].iter().map(|column| Scratch::of(column)).collect();
        nodes.iter().for_each(|node| self.evaluate(*node));
        let layout = &self.work.plan.layouts[id.index()];
        let shared = !layout.group.is_empty();
        let free;
        let mut lent: SmallVec<[Scratch; 4]>;
        let mut columns: Views = nodes.iter().map(|node| self.values[node.index()].as_ref()).collect();
        let mut lender = None;
        if let Some(own) = self.with_parts(id, &columns) {
            free = own;
            columns = views(&free);
        }
        if !weightless.is_empty() {
            lent = columns.iter().map(|column| Scratch::of(column)).collect();
            let is_kept = |copy: usize| weightless.binary_search(&copy).is_ok();
            lender = lend(&layout.statistics, (&layout.batch(), shared), &is_kept, &mut lent);
            // Of a shard whose rows all keep what they have, the matrix that they share with others moves.
            if lender.is_none() && !(shared && self.is_shard()) {
                // What follows is due all the same: other shards have rows that move.
                drop(columns);
                self.touch(id);
                self.forget(nodes);
                return Ok(());
            }
            columns = views(&lent);
        }
        let block = &mut self.parameters.blocks[id.index()];
        let outcome =
            settle(self.work.equations, (id, layout), &layout.batch(), &columns, &mut views_mut(block));
        if let Err(improper) = outcome {
            block.iter_mut().zip(&before).for_each(|(column, before)| column.copy_from_slice(before));
            let is_lent = weightless.binary_search(&improper.row).is_ok();
            let row = lender.filter(|_| is_lent).unwrap_or(improper.row);
            return Err(trouble(id, layout, row, improper.reason));
        }
        let matrix = matrices(self.work.equations, id);
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
        Ok(())
    }

    /// Updates copies that meet one after another along the letters in which they do. What is observed keeps its value.
    fn update_in_order(&mut self, id: BlockId, weightless: Scratch<usize>, stop: Stop) -> Result<(), End> {
        let mut kept = weightless;
        let observed = self.work.observed[id.index()].iter().flat_map(Observed::rows);
        observed.for_each(|(row, _)| kept.push(row));
        kept.sort_unstable();
        for step in self.one_after_another(id).iter() {
            go_on(stop)?;
            self.update_step(id, step, &kept)?;
        }
        self.settle_changes(id);
        Ok(())
    }

    /// The copies whose rows have weight 0 or do not exist: they keep their factors.
    fn weightless(&mut self, id: BlockId) -> Scratch<usize> {
        let Some(node) = self.work.plan.blocks[id.index()].weight else { return Scratch::with_room(0) };
        self.evaluate(node);
        let weights = self.values[node.index()].iter().enumerate();
        weights.filter(|(_, weight)| **weight == 0.0).map(|(row, _)| row).collect()
    }
}
