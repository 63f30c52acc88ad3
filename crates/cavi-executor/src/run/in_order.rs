//! Copies that meet in a term: updated one after another along the letters in which they do.

use cavi_algebra::BlockId;
use cavi_families::{Batch, Extent};

use super::{Executor, family, settle, trouble};
use crate::plan::tensor::{NodeId, Operation};
use crate::trouble::Trouble;

impl Executor<'_> {
    /// The values of the letters along which copies of a block move in order, each with its place among the plates: one
    /// after another.
    pub(super) fn one_after_another(&self, id: BlockId) -> Vec<Vec<(usize, usize)>> {
        let places = &self.plan.blocks[id.index()].in_order;
        let plates = &self.plan.layouts[id.index()].plates;
        let sizes: Vec<usize> = places.iter().map(|place| plates[*place]).collect();
        let steps: usize = sizes.iter().product();
        let fixed = |step: usize| {
            let mut fixed = Vec::new();
            let mut rest = step;
            for (place, size) in places.iter().zip(&sizes).rev() {
                fixed.push((*place, rest % size));
                rest /= size;
            }
            fixed.reverse();
            fixed
        };
        (0..steps).map(fixed).collect()
    }

    /// Updates the copies whose plate letters have the given values, but for those (ascending) that are kept.
    pub(super) fn update_slice(
        &mut self,
        id: BlockId,
        fixed: &[(usize, usize)],
        kept: &[usize],
    ) -> Result<(), Trouble> {
        let layout = self.plan.layouts[id.index()].clone();
        let rows = rows_with(&layout.plates, fixed);
        let nodes = self.plan.blocks[id.index()].natural.clone();
        let point = self.equations.block(id).is_point();
        let family = family(self.equations, id);
        let extents: Vec<Extent> = family.statistics().iter().map(|own| own.extent).collect();
        // Groups of the rows, each once.
        let mut groups: Vec<usize> = rows.iter().map(|row| layout.batch().group_of(*row)).collect();
        groups.sort_unstable();
        groups.dedup();
        let group: Vec<usize> = rows
            .iter()
            .map(|row| groups.binary_search(&layout.batch().group_of(*row)).expect("a group of the rows"))
            .collect();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (node, extent) in nodes.iter().zip(&extents) {
            let shared = *extent == Extent::Matrix && layout.group_letters != self.equations.block(id).plates;
            let column = if shared {
                self.evaluate(*node);
                let width = layout.n * layout.n;
                let values = &self.values[node.index()];
                groups
                    .iter()
                    .flat_map(|group| values[group * width..(group + 1) * width].iter().copied())
                    .collect()
            } else {
                self.evaluate_slice(*node, fixed, &rows)
            };
            columns.push(column);
        }
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let batch = Batch { rows: rows.len(), n: layout.n, groups: groups.len(), group: &group };
        // The descriptors of these rows alone.
        let widths: Vec<(usize, bool)> = match point {
            true => vec![(layout.width(), false)],
            false => family
                .descriptors()
                .iter()
                .map(|own| match own.extent {
                    Extent::Scalar => (1, false),
                    Extent::Vector => (layout.n, false),
                    Extent::Matrix => (layout.n * layout.n, true),
                    Extent::Pairs => (layout.n * layout.n, false),
                })
                .collect(),
        };
        let mut own: Vec<Vec<f64>> = Vec::new();
        for ((width, grouped), column) in widths.iter().zip(&self.parameters.blocks[id.index()]) {
            let from = if *grouped { &groups } else { &rows };
            own.push(
                from.iter().flat_map(|row| column[row * width..(row + 1) * width].iter().copied()).collect(),
            );
        }
        let outcome = settle(self.equations, id, &batch, &columns, &mut own);
        outcome.map_err(|improper| trouble(id, &layout, rows[improper.row], improper.reason))?;
        for (((width, grouped), column), own) in
            widths.iter().zip(&mut self.parameters.blocks[id.index()]).zip(&own)
        {
            let to = if *grouped { &groups } else { &rows };
            for (place, row) in to.iter().enumerate() {
                if (!grouped || layout.group.is_empty()) && kept.binary_search(row).is_ok() {
                    continue;
                }
                column[row * width..(row + 1) * width]
                    .copy_from_slice(&own[place * width..(place + 1) * width]);
            }
        }
        // The family was asked once, when the run began.
        let _ = self.observe(id);
        self.touch(id);
        Ok(())
    }

    /// A natural parameter at the rows whose plate letters have the given values.
    fn evaluate_slice(&mut self, node: NodeId, fixed: &[(usize, usize)], rows: &[usize]) -> Vec<f64> {
        let index = node.index();
        let dims: Vec<(usize, usize)> = fixed.to_vec();
        let sliceable = matches!(self.plan.nodes[index].operation, Operation::Contractions(_))
            && self.prepared[index]
                .iter()
                .all(|prepared| prepared.can_fix(&dims) && !prepared.streams(&self.plan.streamed));
        if !sliceable {
            return self.rows_of_all(node, fixed, rows);
        }
        for read in self.plan.nodes[index].reads() {
            self.evaluate(read);
        }
        let shape = &self.plan.nodes[index].shape;
        let size = shape
            .iter()
            .enumerate()
            .map(|(place, size)| if dims.iter().any(|(fixed, _)| *fixed == place) { 1 } else { *size });
        let mut out = vec![0.0; size.product()];
        for prepared in &self.prepared[index] {
            prepared.run_fixed(&self.values, &self.plan.maps, &dims, &mut out, &self.threads);
        }
        // Nothing times infinity is nothing: the whole is worked out with that in mind.
        if out.iter().any(|value| value.is_nan()) {
            return self.rows_of_all(node, fixed, rows);
        }
        out
    }

    /// These rows of a natural parameter that is worked out as a whole.
    fn rows_of_all(&mut self, node: NodeId, fixed: &[(usize, usize)], rows: &[usize]) -> Vec<f64> {
        self.evaluate(node);
        let values = &self.values[node.index()];
        let width = values.len().checked_div(self.rows_of(node, fixed, rows)).unwrap_or(0);
        rows.iter().flat_map(|row| values[row * width..(row + 1) * width].iter().copied()).collect()
    }

    /// The number of rows of the block that a natural parameter belongs to.
    fn rows_of(&self, node: NodeId, fixed: &[(usize, usize)], rows: &[usize]) -> usize {
        let shape = &self.plan.nodes[node.index()].shape;
        let fixed: usize = fixed.iter().map(|(place, _)| shape[*place]).product();
        rows.len() * fixed
    }
}

/// The rows whose plate letters at the given places have the given values, ascending.
pub(super) fn rows_with(plates: &[usize], fixed: &[(usize, usize)]) -> Vec<usize> {
    let rows: usize = plates.iter().product();
    (0..rows)
        .filter(|row| {
            let mut rest = *row;
            let mut matches = true;
            for (place, size) in plates.iter().enumerate().rev() {
                let value = rest % size;
                rest /= size;
                matches &= fixed.iter().all(|(own, wanted)| *own != place || *wanted == value);
            }
            matches
        })
        .collect()
}
