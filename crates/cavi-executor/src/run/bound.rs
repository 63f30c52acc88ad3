//! The evidence lower bound of a run: scalar nodes, totals of sites, entropies.

use std::borrow::Cow;
use std::sync::Arc;

use cavi_algebra::{BlockId, Elementary};
use cavi_families::{Extent, Views, observed, views};
use cavi_numerics::{Scratch, reduce};

use super::Executor;
use super::rows::{Column, entropies, expect};
use super::state::{State, family};
use crate::observed::Observed;
use crate::plan::parts::Parts;
use crate::plan::tensor::NodeId;

/// The bound when it was last taken.
#[derive(Default)]
pub(super) struct Total {
    /// Its terms.
    pub terms: Vec<f64>,
    /// The sum of their absolute values, and of what their rounding hides.
    pub scale: f64,
    /// For each total of a site, the sum of its weights and the state of them that it was taken from.
    weights: Vec<(u64, f64)>,
}

impl Executor<'_> {
    /// The evidence lower bound, allocations at their optimum.
    pub fn elbo(&mut self) -> f64 {
        let elbo = self.elbo_once();
        if self.keep_digits() { self.elbo_once() } else { elbo }
    }

    /// The bound, by the plan as it is.
    fn elbo_once(&mut self) -> f64 {
        let mut parts = std::mem::take(&mut self.total.terms);
        parts.clear();
        let mut scale = 0.0;
        for block in 0..self.state.work.equations.blocks.len() {
            self.state.want_pair(BlockId::from(block));
        }
        for place in 0..self.state.work.plan.elbo.len() {
            let node = self.state.work.plan.elbo[place];
            self.state.evaluate(node);
            parts.extend(self.state.values[node.index()].iter());
        }
        for place in 0..self.state.work.plan.elbo_sites.len() {
            let (site, sign) = self.state.work.plan.elbo_sites[place];
            let total = self.sites.total(&mut self.state, site);
            parts.push(sign * total);
            // The log of a partition near 1 has the absolute error of the partition, 1e-15, which is large relative
            // to the log itself. It counts with 1e-15 of the weight.
            let pass =
                self.state.work.plan.sites[site.index()].as_ref().expect("a site with a total has a pass");
            let stamp = self.state.newest(pass.weight);
            let known = self.total.weights.get(place).filter(|(known, _)| *known == stamp);
            let weight = match known {
                Some((_, weight)) => *weight,
                None => {
                    let mut weight = [reduce::sum(&self.state.values[pass.weight.index()])];
                    self.state.join_site("weights", site, &mut weight);
                    weight[0]
                }
            };
            self.total.weights.resize(self.total.weights.len().max(place + 1), (0, 0.0));
            self.total.weights[place] = (stamp, weight);
            scale += 1e-5 * weight;
        }
        for block in 0..self.state.work.equations.blocks.len() {
            if !self.state.work.equations.blocks[block].is_point() {
                let (value, size) = self.entropy(BlockId::from(block));
                parts.push(value);
                scale += (size - value.abs()).max(0.0);
            }
        }
        scale += parts.iter().map(|part| part.abs()).sum::<f64>();
        self.total.scale = scale;
        // Under `clamp` the bound is minus infinity if an observation has probability 0, even if a density is
        // infinite.
        let clamps = self.state.work.equations.blocks.iter().any(|block| block.clamp);
        let is_infinite =
            clamps && parts.contains(&f64::NEG_INFINITY) && !parts.iter().any(|part| part.is_nan());
        let sum = parts.iter().sum();
        self.total.terms = parts;
        if is_infinite { f64::NEG_INFINITY } else { sum }
    }

    /// What a block's entropy (paired with its prior where the family says so) adds to the bound, and the sum of the
    /// absolute values of its rows.
    fn entropy(&mut self, id: BlockId) -> (f64, f64) {
        let family = family(self.state.work.equations, id);
        let layout = Arc::clone(&self.state.work.plan.layouts[id.index()]);
        let parts = Parts::new(family, &layout);
        let block_plan = Arc::clone(&self.state.work.plan.blocks[id.index()]);
        let prior = if family.paired() { &block_plan.prior[..] } else { &[] };
        let prior = self.state.prepare(prior, &parts);
        if let Some(node) = block_plan.weight {
            self.state.evaluate(node);
        }
        let rows = self.state.take_pair(id);
        let reads = prior.iter().map(|(node, _)| *node).chain(block_plan.weight);
        let mut sums = self
            .state
            .once_for_all(id, reads, |state| state.entropy((id, &parts), &prior, block_plan.weight, rows));
        self.state.forget_prepared(&prior);
        self.state.join_block("entropy", id, &mut sums);
        (sums[0], sums[1])
    }

    /// The sum of the absolute values of the terms that the update of a block sees: `sum_i |c_i E t_i|` over its copies, with
    /// the coefficients c of its statistics t as they are now. They hold a square of a sum multiplied out, and are larger than
    /// the square where the sum cancels. A linear solve is backward stable: it gives the maximiser for coefficients within
    /// rounding of c, so that what an exact update may lose is a few units of rounding of this. 0 for what climbs by gradients,
    /// and for points of several variables.
    pub fn update_scale(&mut self, id: BlockId) -> f64 {
        let block = self.state.work.equations.block(id);
        let is_point = block.is_point();
        if block.ascent.is_some() || is_point && block.members.len() > 1 {
            return 0.0;
        }
        let family = family(self.state.work.equations, id);
        let layout = self.state.work.plan.layouts[id.index()].clone();
        let parts = Parts::new(family, &layout);
        let nodes = self.state.work.plan.blocks[id.index()].natural.clone();
        let nodes = self.state.prepare(&nodes, &parts);
        let descriptors = views(&self.state.parameters.blocks[id.index()]);
        let batch = layout.batch();
        let mut total = 0.0;
        let columns = self.state.columns(&nodes);
        for (column, own) in columns.whole(&parts).iter().zip(family.statistics()) {
            let place = |extent: Extent, row: usize| match extent {
                Extent::Scalar => row..row + 1,
                Extent::Vector => batch.row(row),
                Extent::Matrix => batch.matrix(batch.group_of(row)),
                Extent::Pairs => batch.pairs(row),
            };
            let is_power = |(_, own): &(u8, Elementary)| matches!(own, Elementary::Power(_));
            let (extent, expected) = match (is_point, family.expectation_of(&own.statistic)) {
                (true, _) if own.statistic.0.iter().all(is_power) => (own.extent, Vec::new()),
                (false, Some(which)) => {
                    let extent = family.expectations()[which].extent;
                    let mut out = vec![0.0; batch.len(extent)];
                    expect(family, &parts, &descriptors, which, &mut out, &self.state.work.threads);
                    (extent, out)
                }
                _ => continue,
            };
            for row in 0..batch.rows {
                let coefficients = &column[place(own.extent, row)];
                let values = match is_point {
                    true => {
                        let mut out = vec![0.0; coefficients.len()];
                        observed::at_value(&own.statistic, &descriptors[0][batch.row(row)], &mut out);
                        Cow::Owned(out)
                    }
                    false => Cow::Borrowed(&expected[place(extent, row)]),
                };
                let terms = coefficients.iter().zip(values.iter()).map(|(c, t)| (c * t).abs());
                total += terms.filter(|term| term.is_finite()).sum::<f64>();
            }
        }
        drop(descriptors);
        self.state.forget_prepared(&nodes);
        let mut total = [total];
        self.state.join_block("terms", id, &mut total);
        total[0]
    }
}

impl State<'_> {
    /// The sum of the entropies of a block's rows, and of their absolute values; `known` are the rows if they have been worked out.
    fn entropy(
        &self,
        (id, parts): (BlockId, &Parts),
        prior: &[(NodeId, bool)],
        weight: Option<NodeId>,
        known: Option<Vec<f64>>,
    ) -> [f64; 2] {
        let (family, layout) = (family(self.work.equations, id), &self.work.plan.layouts[id.index()]);
        let descriptors = views(&self.parameters.blocks[id.index()]);
        let columns = self.columns(prior);
        let mut rows =
            known.unwrap_or_else(|| entropies(family, parts, &descriptors, &columns, &self.work.threads));
        // What is observed has no entropy.
        if let Some(observed) = &self.work.observed[id.index()] {
            let prior = columns.whole(parts);
            for (row, value) in observed.rows() {
                let each = |column: &Column| column.len() / layout.rows;
                let own: Views = prior
                    .iter()
                    .map(|column| &column[row * each(column)..(row + 1) * each(column)])
                    .collect();
                rows[row] = Observed::pair(family, layout, value, &own);
            }
        }
        if let Some(node) = weight {
            for (row, weight) in rows.iter_mut().zip(self.values[node.index()].iter()) {
                *row = if *weight == 0.0 { 0.0 } else { *row * weight };
            }
        }
        let sums = [reduce::sum(&rows), rows.iter().map(|row| row.abs()).sum()];
        Scratch::keep(rows);
        sums
    }
}
