//! Copies that meet in a term: updated one after another along the letters in which they do.

use cavi_algebra::BlockId;
use cavi_families::{Batch, Extent};

use super::{Executor, family, settle, trouble};
use crate::plan::Along;
use crate::plan::tensor::{NodeId, Operation};
use crate::trouble::Trouble;

/// The values of some plate letters, each with its place among the plates.
pub(super) type Fixed = Vec<(usize, usize)>;

impl Executor<'_> {
    /// The steps in which copies of a block move, one after another: each the copies that move at once, as the values of
    /// the letters along which they move in order, each with its place among the plates. Where these meet within their
    /// group only, the first of every group move at once, then the second.
    pub(super) fn one_after_another(&self, id: BlockId) -> Vec<Vec<Fixed>> {
        let plates = &self.plan.layouts[id.index()].plates;
        let mut steps: Vec<Vec<Fixed>> = vec![vec![Vec::new()]];
        for Along { place, groups } in &self.plan.blocks[id.index()].in_order {
            let values: Vec<Vec<usize>> = match groups {
                None => (0..plates[*place]).map(|value| vec![value]).collect(),
                Some(starts) => {
                    let longest = starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
                    let at = |step: usize| {
                        starts
                            .windows(2)
                            .filter(move |pair| pair[0] + step < pair[1])
                            .map(move |pair| pair[0] + step)
                    };
                    (0..longest).map(|step| at(step).collect()).collect()
                }
            };
            let with = |step: &Vec<Fixed>, values: &Vec<usize>| {
                let all = step.iter().flat_map(|fixed| values.iter().map(move |value| (fixed, value)));
                all.map(|(fixed, value)| fixed.iter().copied().chain([(*place, *value)]).collect()).collect()
            };
            steps =
                steps.iter().flat_map(|step| values.iter().map(move |values| with(step, values))).collect();
        }
        steps
    }

    /// Updates the copies of a step, but for those (ascending) that are kept.
    pub(super) fn update_step(&mut self, id: BlockId, step: &[Fixed], kept: &[usize]) -> Result<(), Trouble> {
        let layout = self.plan.layouts[id.index()].clone();
        let rows: Vec<usize> = step.iter().flat_map(|fixed| rows_with(&layout.plates, fixed)).collect();
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
                self.evaluate_step(*node, step, &rows)
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

    /// A natural parameter at the rows of a step.
    fn evaluate_step(&mut self, node: NodeId, step: &[Fixed], rows: &[usize]) -> Vec<f64> {
        let index = node.index();
        let sliceable = matches!(self.plan.nodes[index].operation, Operation::Contractions(_))
            && self.prepared[index]
                .iter()
                .all(|prepared| prepared.can_fix(&step[0]) && !prepared.streams(&self.plan.streamed));
        if !sliceable {
            return self.rows_of_all(node, step, rows);
        }
        for read in self.plan.nodes[index].reads() {
            self.evaluate(read);
        }
        let shape = &self.plan.nodes[index].shape;
        let mut all = Vec::new();
        for fixed in step {
            let size = shape
                .iter()
                .enumerate()
                .map(|(place, size)| if fixed.iter().any(|(own, _)| *own == place) { 1 } else { *size });
            let mut out = vec![0.0; size.product()];
            for prepared in &self.prepared[index] {
                prepared.run_fixed(&self.values, &self.plan.maps, fixed, &mut out, &self.threads);
            }
            all.extend(out);
        }
        // Nothing times infinity is nothing: the whole is worked out with that in mind.
        if all.iter().any(|value| value.is_nan()) {
            return self.rows_of_all(node, step, rows);
        }
        all
    }

    /// These rows of a natural parameter that is worked out as a whole.
    fn rows_of_all(&mut self, node: NodeId, step: &[Fixed], rows: &[usize]) -> Vec<f64> {
        self.evaluate(node);
        let values = &self.values[node.index()];
        let shape = &self.plan.nodes[node.index()].shape;
        // Each row of a step stands for all values of its fixed letters.
        let fixed: usize = step[0].iter().map(|(place, _)| shape[*place]).product();
        let width = values.len().checked_div(rows.len() / step.len() * fixed).unwrap_or(0);
        rows.iter().flat_map(|row| values[row * width..(row + 1) * width].iter().copied()).collect()
    }
}

/// The rows whose plate letters at the given places have the given values, ascending.
pub(super) fn rows_with(plates: &[usize], fixed: &[(usize, usize)]) -> Vec<usize> {
    plates.iter().enumerate().fold(vec![0], |rows, (place, size)| {
        let wanted = fixed.iter().find(|(own, _)| *own == place).map(|(_, wanted)| *wanted);
        let values = wanted.map_or(0..*size, |wanted| wanted..wanted + 1);
        rows.iter().flat_map(|row| values.clone().map(move |value| row * size + value)).collect()
    })
}
