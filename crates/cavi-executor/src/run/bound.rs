//! The evidence lower bound of a run: scalar nodes, totals of sites, entropies.

use std::borrow::Cow;

use cavi_algebra::BlockId;

use super::rows::{Parts, entropies};
use super::{Executor, family};
use crate::observed::Observed;

impl Executor<'_> {
    /// The evidence lower bound, allocations at their optimum.
    pub fn elbo(&mut self) -> f64 {
        let mut parts: Vec<f64> = Vec::new();
        let mut scale = 0.0;
        for node in self.plan.elbo.clone() {
            self.evaluate(node);
            parts.extend(self.values[node.index()].iter());
        }
        for (site, sign) in self.plan.elbo_sites.clone() {
            let total = self.site_total(site);
            parts.push(sign * total);
            // The log of a partition near 1 is as exact as the partition, not as itself: 1e-15 of the weight.
            let pass = self.plan.sites[site.index()].as_ref().expect("a site with a total has a pass");
            scale += 1e-5 * cavi_numerics::reduce::sum(&self.values[pass.weight.index()]);
        }
        for block in 0..self.equations.blocks.len() {
            if !self.equations.blocks[block].is_point() {
                let (value, size) = self.entropy(BlockId::from(block));
                parts.push(value);
                scale += (size - value.abs()).max(0.0);
            }
        }
        scale += parts.iter().map(|part| part.abs()).sum::<f64>();
        self.elbo_scale = scale;
        // Under `clamp`, an observation that cannot be outweighs an infinite density.
        let clamps = self.equations.blocks.iter().any(|block| block.clamp);
        if clamps && parts.contains(&f64::NEG_INFINITY) && !parts.iter().any(|part| part.is_nan()) {
            return f64::NEG_INFINITY;
        }
        parts.iter().sum()
    }

    /// What a block's entropy (paired with its prior where the family says so) adds to the bound, and the sum of the
    /// absolute values of its rows.
    fn entropy(&mut self, id: BlockId) -> (f64, f64) {
        let family = family(self.equations, id);
        let layout = self.plan.layouts[id.index()].clone();
        let parts = Parts::new(family, &layout);
        let block_plan = self.plan.blocks[id.index()].clone();
        let prior = if family.paired() { block_plan.prior } else { Vec::new() };
        let prior = self.prepare(&prior, &parts);
        if let Some(node) = block_plan.weight {
            self.evaluate(node);
        }
        let descriptors = &self.parameters.blocks[id.index()];
        let columns = self.columns(prior.clone());
        let mut rows = entropies(family, &parts, descriptors, &columns, &self.threads);
        // What is observed has no entropy.
        if let Some(observed) = &self.observed[id.index()] {
            let prior = columns.whole(&parts);
            for (row, value) in observed.rows() {
                let each = |column: &Cow<[f64]>| column.len() / layout.rows;
                let own: Vec<&[f64]> = prior
                    .iter()
                    .map(|column| &column[row * each(column)..(row + 1) * each(column)])
                    .collect();
                rows[row] = Observed::pair(family, value, &own);
            }
        }
        if let Some(node) = block_plan.weight {
            for (row, weight) in rows.iter_mut().zip(self.values[node.index()].iter()) {
                *row = if *weight == 0.0 { 0.0 } else { *row * weight };
            }
        }
        self.forget_prepared(&prior);
        let absolute: f64 = rows.iter().map(|row| row.abs()).sum();
        (cavi_numerics::reduce::sum(&rows), absolute)
    }
}
