//! Arrays that are worked out a row at a time where they are read: what a bound needs for every entry of data whose zeros are
//! not listed. A row is forgotten once the contractions that read it have added their part.

use std::collections::BTreeMap;

use super::Executor;
use super::contractions::Prepared;
use super::elementwise::elementwise;
use crate::plan::tensor::{Index, NodeId, Operation};

impl Executor<'_> {
    /// Adds contractions that read streamed nodes to `out`, row after row. Those without one are left out.
    pub(super) fn run_streamed(&self, parts: &[Prepared], out: &mut [f64]) {
        let along = |part| Some((part, Prepared::rows(part, &self.plan.streamed, &self.plan.maps)?));
        let parts: Vec<(&Prepared, (Index, usize))> = parts.iter().filter_map(along).collect();
        let most = parts.iter().map(|(_, (_, size))| *size).max().unwrap_or(0);
        for row in 0..most {
            let mut rows = BTreeMap::new();
            for (part, (index, _)) in parts.iter().filter(|(_, (_, size))| row < *size) {
                self.rows_read(part, row, &mut rows);
                let at = (*index, row);
                part.run_row(at, &self.values, &rows, &self.plan.maps, out, false, &self.threads);
            }
        }
    }

    /// Works out one row of each streamed node that a contraction reads.
    fn rows_read(&self, prepared: &Prepared, row: usize, rows: &mut BTreeMap<NodeId, Vec<f64>>) {
        for node in prepared.reads().filter(|node| self.plan.streamed[node.index()]) {
            self.row(node, row, rows);
        }
    }

    /// Works out one row of a streamed node; what it reads that is kept is up to date.
    fn row(&self, node: NodeId, row: usize, rows: &mut BTreeMap<NodeId, Vec<f64>>) {
        if rows.contains_key(&node) {
            return;
        }
        let shape = &self.plan.nodes[node.index()].shape;
        let mut out = vec![0.0; shape[1..].iter().product()];
        match &self.plan.nodes[node.index()].operation {
            Operation::Map(function, from) => {
                self.row(*from, row, rows);
                elementwise(*function, &rows[from], &mut out, &self.threads);
            }
            Operation::Contractions(_) => {
                for prepared in &self.prepared[node.index()] {
                    self.rows_read(prepared, row, rows);
                    let at = (prepared.output_rows(), row);
                    prepared.run_row(at, &self.values, rows, &self.plan.maps, &mut out, true, &self.threads);
                }
            }
            Operation::Static(_)
            | Operation::Point(..)
            | Operation::Pair(..)
            | Operation::Whole(_)
            | Operation::Taken(_)
            | Operation::LogDeterminant(_)
            | Operation::Moment(..)
            | Operation::Counts(..)
            | Operation::Held(_) => unreachable!("only what is computed is streamed"),
        }
        rows.insert(node, out);
    }
}
