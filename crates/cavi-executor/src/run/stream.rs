//! Arrays that are worked out a few rows at a time where they are read: what a bound needs for every entry of data whose zeros
//! are not listed, the allocation of every entry. Rows are forgotten once the contractions that read them have added their part.

use std::collections::BTreeMap;
use std::ops::Range;

use cavi_numerics::reduce::has_nan;

use super::contract::Way;
use super::elementwise::{elementwise, pairwise};
use super::state::State;
use crate::plan::prepared::Prepared;
use crate::plan::tensor::{Index, NodeId, Operation};

impl State<'_> {
    /// Adds contractions that read streamed nodes to `out`, row after row. Those without one are left out.
    pub(super) fn run_streamed(&self, parts: &[Prepared], out: &mut [f64], guarded: bool) {
        let along =
            |part| Some((part, Prepared::rows(part, &self.work.plan.streamed, &self.work.plan.maps)?));
        let parts: Vec<(&Prepared, (Index, usize))> = parts.iter().filter_map(along).collect();
        let most = parts.iter().map(|(_, (_, size))| *size).max().unwrap_or(0);
        for range in self.ranges(most) {
            let mut rows = BTreeMap::new();
            // What has another number of rows shares none with the others.
            for (part, (index, size)) in parts.iter().filter(|(_, (_, size))| range.start < *size) {
                let range = range.start..range.end.min(*size);
                self.rows_read(part, &range, &mut rows);
                let at = (*index, range);
                let way = Way { out_in_rows: false, guarded };
                part.run_some(at, &self.values, &rows, &self.work.plan.maps, out, way, &self.work.threads);
            }
        }
    }

    /// All rows, as many together as the plan works out at once.
    pub(super) fn ranges(&self, rows: usize) -> impl Iterator<Item = Range<usize>> {
        let step = self.work.plan.rows_at_once();
        (0..rows).step_by(step).map(move |first| first..rows.min(first + step))
    }

    /// Works out some rows of each streamed node that a contraction reads.
    fn rows_read(&self, prepared: &Prepared, range: &Range<usize>, rows: &mut BTreeMap<NodeId, Vec<f64>>) {
        for node in prepared.reads().filter(|node| self.work.plan.streamed[node.index()]) {
            self.rows(node, range, rows);
        }
    }

    /// Works out some rows of a streamed node; what it reads that is kept is up to date.
    pub(super) fn rows(&self, node: NodeId, range: &Range<usize>, rows: &mut BTreeMap<NodeId, Vec<f64>>) {
        if rows.contains_key(&node) {
            return;
        }
        let shape = &self.work.plan.nodes[node.index()].shape;
        let mut out = vec![0.0; range.len() * shape[1..].iter().product::<usize>()];
        match &self.work.plan.nodes[node.index()].operation {
            Operation::Map(function, from) => {
                if self.work.plan.streamed[from.index()] {
                    self.rows(*from, range, rows);
                    elementwise(*function, &rows[from], &mut out, &self.work.threads);
                } else {
                    let each = out.len() / range.len().max(1);
                    let kept = &self.values[from.index()][range.start * each..range.end * each];
                    elementwise(*function, kept, &mut out, &self.work.threads);
                }
            }
            Operation::Pair(function, left, right) => {
                let each = out.len() / range.len().max(1);
                for read in [left, right].into_iter().filter(|read| self.work.plan.streamed[read.index()]) {
                    self.rows(*read, range, rows);
                }
                let side = |read: &NodeId| match rows.get(read) {
                    Some(own) => own.as_slice(),
                    None => &self.values[read.index()][range.start * each..range.end * each],
                };
                pairwise(*function, side(left), side(right), &mut out);
            }
            Operation::Contractions(_) => {
                let parts = &self.work.prepared[node.index()];
                parts.iter().for_each(|prepared| self.rows_read(prepared, range, rows));
                // As for what is kept: nothing times infinity is nothing.
                for guarded in [false, true] {
                    for prepared in parts {
                        let at = (prepared.output_rows(), range.clone());
                        let way = Way { out_in_rows: true, guarded };
                        let (values, maps) = (&self.values, &self.work.plan.maps);
                        prepared.run_some(at, values, rows, maps, &mut out, way, &self.work.threads);
                    }
                    if guarded || !has_nan(&out) {
                        break;
                    }
                    out.fill(0.0);
                }
            }
            Operation::Site(what, weights) => {
                self.allotted_rows(*what, weights, range, rows, &mut out);
            }
            Operation::Static(_)
            | Operation::Point(..)
            | Operation::Masked(_)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::Pairs(..)
            | Operation::Square(..)
            | Operation::LogDeterminant(_)
            | Operation::Beside(..)
            | Operation::Moment(..)
            | Operation::Counts(..)
            | Operation::Held(_) => unreachable!("only what is computed is streamed"),
        }
        rows.insert(node, out);
    }
}
