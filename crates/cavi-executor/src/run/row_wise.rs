//! Repeated updates of a block, a few rows at a time: what [`RowWise`] says, done.
//!
//! The rows are cut into bands that read about [`BAND_BYTES`]. All repetitions of one band are done before the next
//! band: factor, counts, natural parameters and description of its rows alone, the weights, other factors and fixed parts of
//! the natural parameters taken once. Every number is computed as it is when the whole block is updated, so that the bits are
//! the same. What that takes of the whole block (an entry in log space, a product of nothing and infinity, a copy without an
//! update) leaves it to be done as usual.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cavi_algebra::BlockId;
use cavi_families::{Batch, views, views_mut};
use cavi_numerics::kernels::log_sum::{Factor, LogSum, Values, log_sum_rows};
use cavi_numerics::kernels::pattern::Pattern;
use cavi_numerics::reduce::has_nan;
use cavi_numerics::{Scratch, Threads};
use smallvec::SmallVec;

use super::elementwise::in_place;
use super::settle::settle;
use super::state::family;
use super::sweep::{End, Stop, go_on};
use super::{Executor, single};
use crate::plan::parts::Parts;
use crate::plan::prepared::Prepared;
use crate::plan::row_wise::{Column, OwnRows, RowWise};
use crate::plan::site::SitePlan;
use crate::plan::tensor::{Operation, Reads};

/// As many bytes are read again and again for a band.
const BAND_BYTES: usize = 1 << 17;
/// Bytes that a row has for each category: factor, counts, natural parameters, descriptors.
const OWN: usize = 4 * size_of::<f64>();

impl Executor<'_> {
    /// Updates the rows of a block so many times each, one band of them after another; `false` where this is not how it can be
    /// done, and nothing has changed.
    pub(super) fn repeat_rows(&mut self, id: BlockId, repeat: u64, stop: Stop) -> Result<bool, End> {
        // Whether it can be done may differ between shards, which come to each sum together.
        if self.state.joint.as_ref().is_some_and(|joint| joint.reducer.in_step() || !joint.local[id.index()])
        {
            return Ok(false);
        }
        let is_whole =
            self.state.work.observed[id.index()].is_none() && self.state.work.held[id.index()].is_empty();
        let Some(own) = self.state.work.plan.row_wise[id.index()].clone().filter(|_| is_whole) else {
            return Ok(false);
        };
        if !own.sites.iter().all(|site| self.is_ready(site)) {
            return Ok(false);
        }
        let fixed: SmallVec<[Scratch; 6]> = own.columns.iter().map(|column| self.fixed(id, column)).collect();
        let letters = self.state.work.plan.layouts[id.index()].plates[0];
        let bands = match std::mem::take(&mut self.moves.bands[id.index()]) {
            none if none.is_empty() => self.cut(&own, letters),
            bands => bands,
        };
        // In copies: where a band takes more than its rows, nothing has changed.
        let mut updated: SmallVec<[Scratch; 6]> =
            self.state.parameters.blocks[id.index()].iter().map(|column| Scratch::of(column)).collect();
        let each: SmallVec<[usize; 6]> = updated.iter().map(|column| column.len() / letters).collect();
        let (end, failed) =
            (|band: usize, column: usize| bands[band].end * each[column], AtomicBool::new(false));
        let mut columns = views_mut(&mut updated);
        self.state.work.threads.for_each_part(&mut columns, bands.len(), end, |band, columns| {
            let rows = bands[band].clone();
            let band = Band { executor: self, id, own: &own, fixed: &fixed, rows };
            if !(0..repeat).all(|_| !stop() && band.update(columns).is_some()) {
                failed.store(true, Ordering::Relaxed);
            }
        });
        drop(columns);
        self.moves.bands[id.index()] = bands;
        if failed.into_inner() {
            return go_on(stop).map(|()| false);
        }
        for (column, updated) in self.state.parameters.blocks[id.index()].iter_mut().zip(updated) {
            Scratch::keep(std::mem::replace(column, updated.into_values()));
        }
        self.state.touch(id);
        Ok(true)
    }

    /// Brings up to date what the block does not move of a site; whether its entries can be visited row by row.
    fn is_ready(&mut self, own: &OwnRows) -> bool {
        let Some(plan) = self.state.work.plan.sites[own.site.index()].clone() else { return false };
        self.state.evaluate(plan.weight);
        plan.addends[0].modes[1..].iter().for_each(|mode| self.state.evaluate_factor(mode.factor));
        let site = &mut self.sites.all[own.site.index()];
        site.keep_rows();
        let is_weighed = self.state.weigh(&plan, site).is_ok();
        is_weighed && self.pattern(own).stands_in_rows()
    }

    /// The part of a natural parameter that the block does not move, at all rows, as an update of all of them has it.
    fn fixed(&mut self, id: BlockId, column: &Column) -> Scratch {
        let node = &self.state.work.plan.nodes[column.node.index()];
        let values = node.len();
        if !matches!(node.operation, Operation::Contractions(_)) {
            if column.counts.is_empty() {
                self.state.evaluate(column.node);
                return Scratch::of(&self.state.values[column.node.index()]);
            }
            return Scratch::zeros(values);
        }
        let layout = Arc::clone(&self.state.work.plan.layouts[id.index()]);
        let parts = Parts::new(family(self.state.work.equations, id), &layout);
        let by_parts = self.state.is_by_parts(column.node, &parts);
        let reads: Reads = self.still(column).iter().flat_map(Prepared::reads).collect();
        reads.into_iter().for_each(|read| self.state.evaluate(read));
        let mut out = Scratch::zeros(values);
        if by_parts {
            self.state.work.threads.for_each_chunk(&mut out, parts.values(values), |part, out| {
                let still = self.still(column).iter();
                let (values, maps) = (&self.state.values, &self.state.work.plan.maps);
                still.for_each(|own| own.run_rows(values, maps, parts.letters(part), out, false));
            });
        } else {
            let still = self.still(column).iter();
            still.for_each(|own| {
                own.run(&self.state.values, &self.state.work.plan.maps, &mut out, &self.state.work.threads)
            });
        }
        out
    }

    /// The sums of a natural parameter that the block does not move.
    fn still(&self, column: &Column) -> &[Prepared] {
        &self.state.work.prepared[column.node.index()][..column.fixed]
    }

    /// The bands of a block's rows.
    fn cut(&self, own: &RowWise, letters: usize) -> Vec<Range<usize>> {
        // Rows of other factors, and those of the block itself.
        let read = |row: usize| -> usize {
            let of_site = |own: &OwnRows| {
                let addend = &self.site_plan(own).addends[0];
                let each = addend.categories * (addend.modes.len() - 1) * size_of::<f64>();
                self.pattern(own).entries_of(&(row..row + 1)).len() * each + OWN * addend.categories
            };
            own.sites.iter().map(of_site).sum()
        };
        let mut bands: Vec<Range<usize>> = Vec::new();
        let mut bytes = 0;
        for row in 0..letters {
            let own = read(row);
            match bands.last_mut() {
                Some(band) if bytes + own <= BAND_BYTES => band.end = row + 1,
                _ => {
                    bands.push(row..row + 1);
                    bytes = 0;
                }
            }
            bytes += own;
        }
        bands
    }

    fn site_plan(&self, own: &OwnRows) -> &SitePlan {
        self.state.work.plan.sites[own.site.index()].as_ref().expect("a site with counts has a pass")
    }

    fn pattern(&self, own: &OwnRows) -> &Pattern<'_> {
        let patterns = &self.sites.all[own.site.index()].patterns;
        patterns[0].as_ref().expect("an addend with modes has a pattern")
    }
}

/// A band of a block's rows.
struct Band<'e, 'a> {
    executor: &'e Executor<'a>,
    id: BlockId,
    own: &'e RowWise,
    /// Of each natural parameter what the block does not move, at all rows.
    fixed: &'e [Scratch],
    rows: Range<usize>,
}

impl Band<'_, '_> {
    /// One update of the descriptors (or the point) of these rows; `None` where it takes more than these rows.
    fn update(&self, own: &mut [&mut [f64]]) -> Option<()> {
        let descriptors = views(own);
        let mut counts: SmallVec<[Scratch; 2]> = SmallVec::new();
        for site in &self.own.sites {
            counts.push(self.counts(site, &descriptors)?);
        }
        drop(descriptors);
        let mut natural: SmallVec<[Scratch; 6]> = SmallVec::new();
        for (column, fixed) in self.own.columns.iter().zip(self.fixed) {
            let mut sum = Scratch::of(self.of(fixed));
            for (site, coefficient) in &column.counts {
                sum.iter_mut().zip(&*counts[*site]).for_each(|(sum, count)| *sum += coefficient * count);
            }
            if has_nan(&sum) {
                return None;
            }
            natural.push(sum);
        }
        let layout = &self.executor.state.work.plan.layouts[self.id.index()];
        settle(self.executor.state.work.equations, (self.id, layout), &self.batch(), &views(&natural), own)
            .ok()
    }

    /// The counts of a site in these rows.
    fn counts(&self, own: &OwnRows, descriptors: &[&[f64]]) -> Option<Scratch> {
        let executor = self.executor;
        let (plan, state) = (executor.site_plan(own), &executor.sites.all[own.site.index()]);
        let addend = &plan.addends[0];
        let from = &executor.state.work.plan.nodes[own.from.index()];
        let mut factor = match from.operation {
            Operation::Point(_, member) => Scratch::of(descriptors[member]),
            Operation::Moment(_, which) => {
                let mut out = Scratch::zeros(from.len() / self.letters() * self.rows.len());
                let family = family(executor.state.work.equations, self.id);
                family.expect(&self.batch(), descriptors, which, &mut out);
                out
            }
            _ => unreachable!("a factor of a row follows from the block itself"),
        };
        if let Some(coefficient) = own.coefficient {
            // As it is added to a sum.
            factor.iter_mut().for_each(|value| *value = 0.0 + coefficient * *value);
        }
        if let Some(function) = own.function {
            in_place(function, &mut factor, &Threads::one());
        }
        let mut factors = executor.state.factors(addend, &[]);
        factors[0] = Factor { values: Values::Double(&factor), stride: addend.categories };
        let input = LogSum {
            pattern: executor.pattern(own),
            factors: &factors,
            length: addend.categories,
            weights: executor.state.weights(plan, &state.weights),
            addends: None,
            offsets: None,
            ratios: None,
            least: single::least(plan, &state.narrow),
            own: None,
        };
        let mut counts = Scratch::zeros(factor.len());
        if !log_sum_rows(&input, self.rows.clone(), &mut counts) {
            return None;
        }
        counts.iter_mut().zip(&*factor).for_each(|(count, factor)| *count *= factor);
        Some(counts)
    }

    /// The copies in these rows.
    fn batch(&self) -> Batch<'_> {
        let batch = self.executor.state.work.plan.layouts[self.id.index()].batch();
        let rows = batch.rows / self.letters() * self.rows.len();
        Batch { rows, groups: rows, ..batch }
    }

    /// These rows of an array of all of them.
    fn of<'v>(&self, values: &'v [f64]) -> &'v [f64] {
        let each = values.len() / self.letters();
        &values[self.rows.start * each..self.rows.end * each]
    }

    /// The number of all rows.
    fn letters(&self) -> usize {
        self.executor.state.work.plan.layouts[self.id.index()].plates[0]
    }
}
