//! The evidence lower bound of a run: scalar nodes, totals of sites, entropies.

use cavi_algebra::BlockId;
use cavi_families::{Batch, Extent, Posterior};

use super::{Executor, family};

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
            let weights = &self.values[self.plan.sites[site.index()].weight.index()];
            scale += 1e-5 * cavi_numerics::reduce::sum(weights);
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
        parts.iter().sum()
    }

    /// What a block's entropy (paired with its prior where the family says so) adds to the bound, and the sum of the
    /// absolute values of its rows.
    fn entropy(&mut self, id: BlockId) -> (f64, f64) {
        let block_plan = self.plan.blocks[id.index()].clone();
        let family = family(self.equations, id);
        block_plan.prior.iter().for_each(|node| self.evaluate(*node));
        if let Some(node) = block_plan.weight {
            self.evaluate(node);
        }
        let layout = &self.plan.layouts[id.index()];
        let batch = layout.batch();
        let descriptors = &self.parameters.blocks[id.index()];
        let mut rows = vec![0.0; batch.rows];
        if family.paired() {
            let prior: Vec<&[f64]> =
                block_plan.prior.iter().map(|node| self.values[node.index()].as_ref()).collect();
            paired_entropy(family, &batch, descriptors, &prior, &mut rows);
        } else {
            family.entropy(&batch, descriptors, &mut rows);
        }
        // What is observed has no entropy.
        if let Some(observed) = &self.observed[id.index()] {
            rows.iter_mut().zip(observed).filter(|(_, seen)| seen.is_some()).for_each(|(row, _)| *row = 0.0);
        }
        if let Some(node) = block_plan.weight {
            for (row, weight) in rows.iter_mut().zip(self.values[node.index()].iter()) {
                *row = if *weight == 0.0 { 0.0 } else { *row * weight };
            }
        }
        self.forget(&block_plan.prior);
        let absolute: f64 = rows.iter().map(|row| row.abs()).sum();
        (cavi_numerics::reduce::sum(&rows), absolute)
    }
}

/// The log-normaliser of each row plus `sum (prior - natural) E t`, in blocks of rows: no column is copied as a whole.
fn paired_entropy(
    family: &dyn Posterior,
    batch: &Batch,
    descriptors: &[Vec<f64>],
    prior: &[&[f64]],
    rows: &mut [f64],
) {
    const BLOCK: usize = 1 << 12;
    let (statistics, expectations, all) = (family.statistics(), family.expectations(), family.descriptors());
    let whole = all.iter().map(|own| own.extent).chain(statistics.iter().map(|own| own.extent));
    // Matrices belong to groups of rows: then all rows are one block.
    let step = match whole.into_iter().any(|extent| extent == Extent::Matrix) {
        true => batch.rows.max(1),
        false => (BLOCK / batch.n.max(1)).max(1),
    };
    let mut own: Vec<Vec<f64>> = vec![Vec::new(); all.len()];
    let mut natural: Vec<Vec<f64>> = vec![Vec::new(); statistics.len()];
    let mut expectation = Vec::new();
    for (block, rows) in rows.chunks_mut(step).enumerate() {
        let part = match step == batch.rows {
            true => *batch,
            false => Batch { rows: rows.len(), n: batch.n, groups: rows.len(), group: &[] },
        };
        let place = |extent: Extent| {
            let start = block * step * part.len(extent) / part.rows;
            start..start + part.len(extent)
        };
        for ((own, column), descriptor) in own.iter_mut().zip(descriptors).zip(all) {
            own.clear();
            own.extend_from_slice(&column[place(descriptor.extent)]);
        }
        family.entropy(&part, &own, rows);
        for (natural, statistic) in natural.iter_mut().zip(&statistics) {
            natural.resize(part.len(statistic.extent), 0.0);
        }
        family.natural(&part, &own, &mut natural);
        for ((statistic, prior), natural) in statistics.iter().zip(prior).zip(&natural) {
            let which = expectations
                .iter()
                .position(|expectation| expectation.statistic == statistic.statistic)
                .expect("a family that pairs answers its statistics");
            let width = natural.len() / part.rows;
            if width == 0 {
                continue;
            }
            expectation.resize(natural.len(), 0.0);
            family.expect(&part, &own, which, &mut expectation);
            let prior = &prior[place(statistic.extent)];
            let each = prior.chunks(width).zip(natural.chunks(width)).zip(expectation.chunks(width));
            for (row, ((prior, own), expectation)) in rows.iter_mut().zip(each) {
                for ((prior, own), expectation) in prior.iter().zip(own).zip(expectation) {
                    let difference = prior - own;
                    if difference != 0.0 {
                        *row += difference * expectation;
                    }
                }
            }
        }
    }
}
