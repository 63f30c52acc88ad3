//! What is done to the rows of a block, a part of them at a time: parts that stay in the cache, on all threads. Natural parameters
//! that are needed only there are worked out part by part too, and never stand in memory as a whole.

use std::ops::Deref;
use std::sync::Mutex;

use cavi_families::{Batch, Expectation, Extent, Improper, Posterior, views, views_mut};
use cavi_numerics::reduce::has_nan;
use cavi_numerics::{Scratch, Threads};
use smallvec::SmallVec;

use super::state::State;
use crate::layout::Layout;
use crate::plan::lifetimes::LARGE;
use crate::plan::parts::Parts;
use crate::plan::tensor::{NodeId, Operation};

/// Where the natural parameters of rows come from.
pub struct Columns<'e> {
    nodes: &'e [(NodeId, bool)],
    state: &'e State<'e>,
}

/// Nodes, and whether the rows of each are worked out when a part of them is read.
pub type ByParts = SmallVec<[(NodeId, bool); 6]>;

/// The values of a column in a part: kept, or worked out.
pub enum Column<'e> {
    Kept(&'e [f64]),
    Own(Scratch),
}

impl Deref for Column<'_> {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        match self {
            Column::Kept(values) => values,
            Column::Own(values) => values,
        }
    }
}

/// One a natural parameter.
pub type Part<'e> = SmallVec<[Column<'e>; 6]>;

impl State<'_> {
    /// Brings nodes up to date that hold a number for each row of a block and slot. For each: whether its rows are worked out
    /// when a part of them is read; then what they follow from is up to date.
    pub(super) fn prepare(&mut self, nodes: &[NodeId], parts: &Parts) -> ByParts {
        let mut prepared = ByParts::new();
        for node in nodes {
            let by_parts = self.is_by_parts(*node, parts);
            if by_parts {
                self.work.plan.nodes[node.index()].reads().into_iter().for_each(|read| self.evaluate(read));
            } else {
                self.evaluate(*node);
            }
            prepared.push((*node, by_parts));
        }
        prepared
    }

    /// Whether the rows of a node are worked out when a part of them is read.
    pub(super) fn is_by_parts(&self, node: NodeId, parts: &Parts) -> bool {
        let own = &self.work.plan.nodes[node.index()];
        !parts.is_one()
            && !self.is_shard()
            && own.len() >= LARGE
            && !self.work.plan.opened.iter().any(|opened| opened.node == node)
            && own.shape.first() == Some(&parts.letters)
            && matches!(own.operation, Operation::Contractions(_))
            && self.work.prepared[node.index()]
                .iter()
                .all(|prepared| prepared.is_by_rows() && !prepared.streams(&self.work.plan.streamed))
    }

    /// Forgets what was computed for [`State::prepare`] and is computed anew whenever it is read.
    pub(super) fn forget_prepared(&mut self, nodes: &[(NodeId, bool)]) {
        for (node, by_parts) in nodes {
            if !by_parts {
                self.forget(&[*node]);
                continue;
            }
            for read in self.work.plan.nodes[node.index()].reads() {
                if self.work.transient[read.index()] {
                    self.give_back(read);
                }
            }
        }
    }

    /// The prepared nodes, to be read in parts.
    pub(super) fn columns<'e>(&'e self, nodes: &'e [(NodeId, bool)]) -> Columns<'e> {
        Columns { nodes, state: self }
    }
}

impl Columns<'_> {
    /// The values of one column in a part.
    fn part(&self, parts: &Parts, part: usize, column: usize) -> Column<'_> {
        let (node, by_parts) = self.nodes[column];
        let state = self.state;
        let values = state.values[node.index()].as_ref();
        if parts.is_one() {
            return Column::Kept(values);
        }
        let letters = parts.letters(part);
        let each = state.work.plan.nodes[node.index()].len() / parts.letters;
        if !by_parts {
            return Column::Kept(&values[letters.start * each..letters.end * each]);
        }
        let mut out = Scratch::zeros(letters.len() * each);
        let run = |out: &mut [f64], guarded: bool| {
            for prepared in &state.work.prepared[node.index()] {
                prepared.run_rows(&state.values, &state.work.plan.maps, letters.clone(), out, guarded);
            }
        };
        run(&mut out, false);
        // Nothing times infinity is nothing.
        if has_nan(&out) {
            out.fill(0.0);
            run(&mut out, true);
        }
        Column::Own(out)
    }

    /// The values of all columns.
    pub fn whole(&self, parts: &Parts) -> Part<'_> {
        let column = |column: usize| match parts.count() {
            1 => self.part(parts, 0, column),
            several => {
                let mut whole =
                    Scratch::with_room(self.state.work.plan.nodes[self.nodes[column].0.index()].len());
                for part in 0..several {
                    self.part(parts, part, column).iter().for_each(|value| whole.push(*value));
                }
                Column::Own(whole)
            }
        };
        (0..self.nodes.len()).map(column).collect()
    }

    fn all(&self, parts: &Parts, part: usize) -> Part<'_> {
        (0..self.nodes.len()).map(|column| self.part(parts, part, column)).collect()
    }
}

/// Brings the columns of a block, its descriptors or its point, to what `settle` makes of the natural parameters of a part.
pub fn describe(
    parts: &Parts,
    natural: &Columns,
    columns: &mut [&mut [f64]],
    threads: &Threads,
    settle: impl Fn(&Batch, &[&[f64]], &mut [&mut [f64]]) -> Result<(), Improper> + Sync,
) -> Result<(), Improper> {
    if parts.is_one() {
        let natural = natural.all(parts, 0);
        return settle(&parts.whole, &views(&natural), columns);
    }
    let each: SmallVec<[usize; 6]> = columns.iter().map(|column| column.len() / parts.letters).collect();
    let end = |part: usize, column: usize| parts.letters(part).end * each[column];
    let first: Mutex<Option<Improper>> = Mutex::new(None);
    threads.for_each_part(columns, parts.count(), end, |part, columns| {
        let natural = natural.all(parts, part);
        if let Err(improper) = settle(&parts.batch(part), &views(&natural), columns) {
            let own = Improper { row: parts.rows(part).start + improper.row, ..improper };
            let mut first = first.lock().expect("no task panics");
            if first.as_ref().is_none_or(|other| own.row < other.row) {
                *first = Some(own);
            }
        }
    });
    first.into_inner().expect("no task panics").map_or(Ok(()), Err)
}

/// The expectation number `which` of a family.
pub fn expect(
    family: &dyn Posterior,
    parts: &Parts,
    descriptors: &[&[f64]],
    which: usize,
    out: &mut [f64],
    threads: &Threads,
) {
    if parts.is_one() {
        return family.expect(&parts.whole, descriptors, which, out);
    }
    let length = parts.length(parts.layout.expectations[which].extent);
    threads.for_each_chunk(out, length, |part, out| {
        family.expect(&parts.batch(part), &parts.take(part, descriptors, family.descriptors()), which, out);
    });
}

/// The entropy of each row; where the family pairs it with the `prior`, the log-normaliser plus
/// `sum (prior - natural) E t`.
pub fn entropies(
    family: &dyn Posterior,
    parts: &Parts,
    descriptors: &[&[f64]],
    prior: &Columns,
    threads: &Threads,
) -> Vec<f64> {
    let mut rows = Scratch::zeros(parts.whole.rows).into_values();
    let length = parts.length(Extent::Scalar);
    threads.for_each_chunk(&mut rows, length, |part, rows| {
        let batch = parts.batch(part);
        let own = parts.take(part, descriptors, family.descriptors());
        if let Some(which) = family.pairs_with() {
            let mut expectation = Scratch::any(batch.len(parts.layout.expectations[which].extent));
            return family.pair(&batch, &own, &views(&prior.all(parts, part)), &mut expectation, rows);
        }
        family.entropy(&batch, &own, rows);
        if family.paired() {
            add_pairs(family, parts.layout, &batch, &own, &prior.all(parts, part), rows);
        }
    });
    rows
}

/// The same of a family that works out an expectation on the way, which is kept.
pub fn entropies_beside(
    family: &dyn Posterior,
    parts: &Parts,
    descriptors: &[&[f64]],
    prior: &Columns,
    expectation: &mut [f64],
    threads: &Threads,
) -> Vec<f64> {
    let mut rows = Scratch::zeros(parts.whole.rows).into_values();
    let each = [expectation.len() / parts.letters.max(1), rows.len() / parts.letters.max(1)];
    let end = |part: usize, column: usize| parts.letters(part).end * each[column];
    threads.for_each_part(&mut [expectation, &mut rows], parts.count(), end, |part, columns| {
        let [expectation, rows] = columns else { unreachable!("two columns") };
        let own = parts.take(part, descriptors, family.descriptors());
        family.pair(&parts.batch(part), &own, &views(&prior.all(parts, part)), expectation, rows);
    });
    rows
}

/// Adds `sum (prior - natural) E t` to each row.
fn add_pairs(
    family: &dyn Posterior,
    layout: &Layout,
    batch: &Batch,
    descriptors: &[&[f64]],
    prior: &[Column],
    rows: &mut [f64],
) {
    let length = |statistic: &Expectation| batch.len(statistic.extent);
    let mut natural: SmallVec<[Scratch; 6]> =
        layout.statistics.iter().map(|statistic| Scratch::zeros(length(statistic))).collect();
    family.natural(batch, descriptors, &mut views_mut(&mut natural));
    for ((statistic, prior), natural) in layout.statistics.iter().zip(prior).zip(&natural) {
        let which = layout
            .expectations
            .iter()
            .position(|expectation| expectation.statistic == statistic.statistic)
            .expect("a family that pairs answers its statistics");
        let mut expectation = Scratch::zeros(natural.len());
        family.expect(batch, descriptors, which, &mut expectation);
        let width = natural.len() / batch.rows;
        for (number, row) in rows.iter_mut().enumerate() {
            let own = match statistic.extent {
                Extent::Vector => batch.row(number),
                Extent::Scalar | Extent::Matrix | Extent::Pairs => number * width..(number + 1) * width,
            };
            let (prior, expectation) = (&prior[own.clone()], &mut expectation[own.clone()]);
            let own = &natural[own];
            // Where nothing differs the expectation may be infinite.
            for ((prior, own), expectation) in prior.iter().zip(own).zip(&mut *expectation) {
                let difference = prior - own;
                *expectation = if difference == 0.0 { 0.0 } else { difference * *expectation };
            }
            *row += cavi_numerics::reduce::sum(expectation);
        }
    }
}
