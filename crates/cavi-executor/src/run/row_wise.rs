//! Repeated updates of a block, a few rows at a time: what [`RowWise`] says, done.
//!
//! The rows are cut into bands that read about [`BAND_BYTES`]. All repetitions of one band are done before the next
//! band: factor, counts, natural parameters and description of its rows alone, the weights, other factors and fixed parts of
//! the natural parameters taken once. Every number is computed as it is when the whole block is updated, so that the bits are
//! the same. What that takes of the whole block (an entry in log space, a product of nothing and infinity, a copy without an
//! update) leaves it to be done as usual.

use std::ops::Range;

use cavi_algebra::BlockId;
use cavi_families::{Batch, views, views_mut};
use cavi_numerics::Threads;
use cavi_numerics::kernels::log_sum::{Factor, LogSum, Values, log_sum_rows};
use cavi_numerics::kernels::pattern::Pattern;
use cavi_numerics::reduce::has_nan;

use super::contractions::Prepared;
use super::elementwise::in_place;
use super::rows::Parts;
use super::site_state::SiteState;
use super::{Executor, family, narrow, settle};
use crate::plan::row_wise::{Column, OwnRows, RowWise};
use crate::plan::site::SitePlan;
use crate::plan::tensor::{NodeId, Operation};

/// As many bytes are read again and again for a band.
const BAND_BYTES: usize = 1 << 17;
/// Bytes that a row has for each category: factor, counts, natural parameters, descriptors.
const OWN: usize = 4 * size_of::<f64>();

impl Executor<'_> {
    /// Updates the rows of a block so many times each, one band of them after another; `false` where this is not how it can be
    /// done, and nothing has changed.
    pub(super) fn repeat_rows(&mut self, id: BlockId, repeat: u64) -> bool {
        let is_whole = self.observed[id.index()].is_none() && self.held[id.index()].is_empty();
        let Some(own) = self.plan.row_wise[id.index()].clone().filter(|_| is_whole) else { return false };
        if !own.sites.iter().all(|site| self.is_ready(site)) {
            return false;
        }
        let fixed: Vec<Vec<f64>> = own.columns.iter().map(|column| self.fixed(id, column)).collect();
        let letters = self.plan.layouts[id.index()].plates[0];
        let bands = match std::mem::take(&mut self.bands[id.index()]) {
            none if none.is_empty() => self.cut(&own, letters),
            bands => bands,
        };
        let updated = self.threads.map(bands.len(), |band| {
            let rows = bands[band].clone();
            Band { executor: self, id, own: &own, fixed: &fixed, rows }.repeated(repeat)
        });
        let updated: Option<Vec<Vec<Vec<f64>>>> = updated.into_iter().collect();
        for (rows, updated) in bands.iter().zip(updated.iter().flatten()) {
            for (column, updated) in self.parameters.blocks[id.index()].iter_mut().zip(updated) {
                let each = column.len() / letters;
                column[rows.start * each..rows.end * each].copy_from_slice(updated);
            }
        }
        self.bands[id.index()] = bands;
        if updated.is_some() {
            self.touch(id);
        }
        updated.is_some()
    }

    /// Brings up to date what the block does not move of a site; whether its entries can be visited row by row.
    fn is_ready(&mut self, own: &OwnRows) -> bool {
        let Some(plan) = self.plan.sites[own.site.index()].clone() else { return false };
        self.evaluate(plan.weight);
        plan.addends[0].modes[1..].iter().for_each(|mode| self.evaluate_factor(mode.factor));
        let mut state = std::mem::replace(&mut self.sites[own.site.index()], SiteState::empty());
        state.keep_rows();
        let is_weighed = self.weigh(&plan, &mut state).is_ok();
        self.sites[own.site.index()] = state;
        is_weighed && self.pattern(own).stands_in_rows()
    }

    /// The part of a natural parameter that the block does not move, at all rows, as an update of all of them has it.
    fn fixed(&mut self, id: BlockId, column: &Column) -> Vec<f64> {
        let node = &self.plan.nodes[column.node.index()];
        let values = node.len();
        if !matches!(node.operation, Operation::Contractions(_)) {
            if column.counts.is_empty() {
                self.evaluate(column.node);
                return self.values[column.node.index()].to_vec();
            }
            return vec![0.0; values];
        }
        let layout = self.plan.layouts[id.index()].clone();
        let parts = Parts::new(family(self.equations, id), &layout);
        let by_parts = self.is_by_parts(column.node, &parts);
        let reads: Vec<NodeId> = self.still(column).iter().flat_map(Prepared::reads).collect();
        reads.into_iter().for_each(|read| self.evaluate(read));
        let mut out = vec![0.0; values];
        if by_parts {
            self.threads.for_each_chunk(&mut out, parts.values(values), |part, out| {
                let still = self.still(column).iter();
                let (values, maps) = (&self.values, &self.plan.maps);
                still.for_each(|own| own.run_rows(values, maps, parts.letters(part), out, false));
            });
        } else {
            let still = self.still(column).iter();
            still.for_each(|own| own.run(&self.values, &self.plan.maps, &mut out, &self.threads));
        }
        out
    }

    /// The sums of a natural parameter that the block does not move.
    fn still(&self, column: &Column) -> &[Prepared] {
        &self.prepared[column.node.index()][..column.fixed]
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
        self.plan.sites[own.site.index()].as_ref().expect("a site with counts has a pass")
    }

    fn pattern(&self, own: &OwnRows) -> &Pattern<'_> {
        let patterns = &self.sites[own.site.index()].patterns;
        patterns[0].as_ref().expect("an addend with modes has a pattern")
    }
}

/// A band of a block's rows.
struct Band<'e, 'a> {
    executor: &'e Executor<'a>,
    id: BlockId,
    own: &'e RowWise,
    /// Of each natural parameter what the block does not move, at all rows.
    fixed: &'e [Vec<f64>],
    rows: Range<usize>,
}

impl Band<'_, '_> {
    /// The descriptors (or the point) of these rows after so many updates; `None` where one takes more than these rows.
    fn repeated(&self, repeat: u64) -> Option<Vec<Vec<f64>>> {
        let block = &self.executor.parameters.blocks[self.id.index()];
        let mut own: Vec<Vec<f64>> = block.iter().map(|column| self.of(column).to_vec()).collect();
        for _ in 0..repeat {
            self.update(&mut own)?;
        }
        Some(own)
    }

    fn update(&self, own: &mut [Vec<f64>]) -> Option<()> {
        let counts = self.own.sites.iter().map(|site| self.counts(site, own)).collect::<Option<Vec<_>>>()?;
        let mut natural: Vec<Vec<f64>> = Vec::with_capacity(self.fixed.len());
        for (column, fixed) in self.own.columns.iter().zip(self.fixed) {
            let mut sum = self.of(fixed).to_vec();
            for (site, coefficient) in &column.counts {
                sum.iter_mut().zip(&counts[*site]).for_each(|(sum, count)| *sum += coefficient * count);
            }
            if has_nan(&sum) {
                return None;
            }
            natural.push(sum);
        }
        let natural = views(&natural);
        settle(self.executor.equations, self.id, &self.batch(), &natural, &mut views_mut(own)).ok()
    }

    /// The counts of a site in these rows.
    fn counts(&self, own: &OwnRows, descriptors: &[Vec<f64>]) -> Option<Vec<f64>> {
        let executor = self.executor;
        let (plan, state) = (executor.site_plan(own), &executor.sites[own.site.index()]);
        let addend = &plan.addends[0];
        let from = &executor.plan.nodes[own.from.index()];
        let mut factor = match from.operation {
            Operation::Point(_, member) => descriptors[member].clone(),
            Operation::Moment(_, which) => {
                let mut out = vec![0.0; from.len() / self.letters() * self.rows.len()];
                let family = family(executor.equations, self.id);
                family.expect(&self.batch(), &views(descriptors), which, &mut out);
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
        let mut factors = executor.factors(addend, &[]);
        factors[0] = Factor { values: Values::Double(&factor), stride: addend.categories };
        let input = LogSum {
            pattern: executor.pattern(own),
            factors: &factors,
            length: addend.categories,
            weights: executor.weights(plan, &state.weights),
            addends: None,
            offsets: None,
            ratios: None,
            least: narrow::least(plan, &state.narrow),
        };
        let mut counts = vec![0.0; factor.len()];
        if !log_sum_rows(&input, self.rows.clone(), &mut counts) {
            return None;
        }
        counts.iter_mut().zip(&factor).for_each(|(count, factor)| *count *= factor);
        Some(counts)
    }

    /// The copies in these rows.
    fn batch(&self) -> Batch<'_> {
        let batch = self.executor.plan.layouts[self.id.index()].batch();
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
        self.executor.plan.layouts[self.id.index()].plates[0]
    }
}
