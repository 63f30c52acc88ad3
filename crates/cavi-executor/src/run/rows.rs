//! What is done to the rows of a block, a part of them at a time: parts that stay in the cache, on all threads. Parts follow
//! from the layout alone, and rows do not depend on one another, so that the bits depend on neither.

use std::borrow::Cow;
use std::ops::Range;

use cavi_families::{Batch, Extent, Improper, Posterior, views_mut};
use cavi_numerics::Threads;
use cavi_numerics::reduce::has_nan;

use super::{Executor, LARGE};
use crate::layout::Layout;
use crate::plan::tensor::{NodeId, Operation};

/// As many values of a column are treated together.
const PART: usize = 1 << 13;

/// The rows of a block, cut at values of its first plate letter.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    batch: Batch<'a>,
    /// The values of the first plate letter.
    letters: usize,
    /// How many of them are a part.
    step: usize,
}

impl<'a> Parts<'a> {
    /// One part for all rows where there are few, where rows share matrices, and of slices of no element.
    pub fn new(family: &dyn Posterior, layout: &'a Layout) -> Parts<'a> {
        let (batch, letters) = (layout.batch(), layout.plates.first().copied().unwrap_or(1));
        let descriptors = family.descriptors().iter().map(|own| own.extent);
        let statistics = family.statistics();
        let extents = || descriptors.clone().chain(statistics.iter().map(|own| own.extent));
        let shares = !layout.group.is_empty() && extents().any(|extent| extent == Extent::Matrix);
        let values = extents().map(|extent| batch.len(extent)).max().unwrap_or(0);
        if values <= PART || shares || layout.n == 0 {
            return Parts { batch, letters, step: letters.max(1) };
        }
        Parts { batch, letters, step: (PART * letters / values).max(1) }
    }

    fn is_one(&self) -> bool {
        self.step >= self.letters
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.letters.div_ceil(self.step)
    }

    /// The values of the first plate letter in a part.
    pub(super) fn letters(&self, part: usize) -> Range<usize> {
        part * self.step..self.letters.min((part + 1) * self.step)
    }

    /// How many of the values of an array of all rows the parts hold, the last one fewer.
    pub(super) fn values(&self, all: usize) -> usize {
        self.step * (all / self.letters)
    }

    /// The rows of a part.
    fn rows(&self, part: usize) -> Range<usize> {
        let inner = self.batch.rows / self.letters;
        let letters = self.letters(part);
        letters.start * inner..letters.end * inner
    }

    fn batch(&self, part: usize) -> Batch<'a> {
        if self.is_one() {
            return self.batch;
        }
        let rows = self.rows(part).len();
        Batch { rows, groups: rows, group: &[], ..self.batch }
    }

    /// How many values of a column of this extent the parts hold, the last one fewer.
    fn length(&self, extent: Extent) -> usize {
        self.batch(0).len(extent).max(1)
    }

    /// The values of a part in columns of these extents.
    fn take<'c>(&self, part: usize, columns: &[&'c [f64]], extents: &[Extent]) -> Vec<&'c [f64]> {
        let own = columns.iter().zip(extents).map(|(column, extent)| {
            let start = part * self.length(*extent);
            &column[start..start + self.batch(part).len(*extent)]
        });
        own.collect()
    }
}

/// Where the natural parameters of rows come from.
pub struct Columns<'e> {
    nodes: Vec<(NodeId, bool)>,
    executor: &'e Executor<'e>,
}

impl Executor<'_> {
    /// Brings nodes up to date that hold a number for each row of a block and slot. For each: whether its rows are worked out
    /// when a part of them is read; then what they follow from is up to date.
    pub(super) fn prepare(&mut self, nodes: &[NodeId], parts: &Parts) -> Vec<(NodeId, bool)> {
        let mut prepared = Vec::new();
        for node in nodes {
            let by_parts = self.is_by_parts(*node, parts);
            if by_parts {
                self.plan.nodes[node.index()].reads().into_iter().for_each(|read| self.evaluate(read));
            } else {
                self.evaluate(*node);
            }
            prepared.push((*node, by_parts));
        }
        prepared
    }

    /// Whether the rows of a node are worked out when a part of them is read.
    pub(super) fn is_by_parts(&self, node: NodeId, parts: &Parts) -> bool {
        let own = &self.plan.nodes[node.index()];
        !parts.is_one()
            && own.len() >= LARGE
            && !self.plan.opened.iter().any(|opened| opened.node == node)
            && own.shape.first() == Some(&parts.letters)
            && matches!(own.operation, Operation::Contractions(_))
            && self.prepared[node.index()]
                .iter()
                .all(|prepared| prepared.is_by_rows() && !prepared.streams(&self.plan.streamed))
    }

    /// Forgets what was computed for [`Executor::prepare`] and is computed anew whenever it is read.
    pub(super) fn forget_prepared(&mut self, nodes: &[(NodeId, bool)]) {
        for (node, by_parts) in nodes {
            if !by_parts {
                self.forget(&[*node]);
                continue;
            }
            for read in self.plan.nodes[node.index()].reads() {
                if self.transient[read.index()] {
                    self.values[read.index()] = Cow::Owned(Vec::new());
                }
            }
        }
    }

    /// The prepared nodes, to be read in parts.
    pub(super) fn columns(&self, nodes: Vec<(NodeId, bool)>) -> Columns<'_> {
        Columns { nodes, executor: self }
    }
}

impl Columns<'_> {
    /// The values of one column in a part.
    fn part(&self, parts: &Parts, part: usize, column: usize) -> Cow<'_, [f64]> {
        let (node, by_parts) = self.nodes[column];
        let executor = self.executor;
        let values = executor.values[node.index()].as_ref();
        if parts.is_one() {
            return Cow::Borrowed(values);
        }
        let letters = parts.letters(part);
        let each = executor.plan.nodes[node.index()].len() / parts.letters;
        if !by_parts {
            return Cow::Borrowed(&values[letters.start * each..letters.end * each]);
        }
        let mut out = vec![0.0; letters.len() * each];
        let run = |out: &mut [f64], guarded: bool| {
            for prepared in &executor.prepared[node.index()] {
                prepared.run_rows(&executor.values, &executor.plan.maps, letters.clone(), out, guarded);
            }
        };
        run(&mut out, false);
        // Nothing times infinity is nothing.
        if has_nan(&out) {
            out.fill(0.0);
            run(&mut out, true);
        }
        Cow::Owned(out)
    }

    /// The values of all columns.
    pub fn whole(&self, parts: &Parts) -> Vec<Cow<'_, [f64]>> {
        let column = |column: usize| match parts.count() {
            1 => self.part(parts, 0, column),
            several => Cow::Owned(
                (0..several).flat_map(|part| self.part(parts, part, column).into_owned()).collect(),
            ),
        };
        (0..self.nodes.len()).map(column).collect()
    }

    fn all(&self, parts: &Parts, part: usize) -> Vec<Cow<'_, [f64]>> {
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
        let natural: Vec<&[f64]> = natural.iter().map(AsRef::as_ref).collect();
        return settle(&parts.batch, &natural, columns);
    }
    let mut pieces: Vec<Vec<&mut [f64]>> = (0..parts.count()).map(|_| Vec::new()).collect();
    for column in columns {
        let length = parts.values(column.len()).max(1);
        for (piece, values) in pieces.iter_mut().zip(column.chunks_mut(length)) {
            piece.push(values);
        }
    }
    let mut outcomes = vec![Ok(()); pieces.len()];
    let work = pieces.into_iter().zip(&mut outcomes).enumerate().collect();
    threads.for_each_item(work, |(part, (mut columns, outcome)): (usize, (Vec<&mut [f64]>, &mut _))| {
        let natural = natural.all(parts, part);
        let natural: Vec<&[f64]> = natural.iter().map(AsRef::as_ref).collect();
        *outcome = settle(&parts.batch(part), &natural, &mut columns);
    });
    for (part, outcome) in outcomes.into_iter().enumerate() {
        let shifted =
            |improper: Improper| Improper { row: parts.rows(part).start + improper.row, ..improper };
        outcome.map_err(shifted)?;
    }
    Ok(())
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
        return family.expect(&parts.batch, descriptors, which, out);
    }
    let extents: Vec<Extent> = family.descriptors().iter().map(|own| own.extent).collect();
    let length = parts.length(family.expectations()[which].extent);
    threads.for_each_chunk(out, length, |part, out| {
        family.expect(&parts.batch(part), &parts.take(part, descriptors, &extents), which, out);
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
    let mut rows = vec![0.0; parts.batch.rows];
    let extents: Vec<Extent> = family.descriptors().iter().map(|own| own.extent).collect();
    let length = parts.length(Extent::Scalar);
    threads.for_each_chunk(&mut rows, length, |part, rows| {
        let batch = parts.batch(part);
        let own = parts.take(part, descriptors, &extents);
        family.entropy(&batch, &own, rows);
        if family.paired() {
            add_pairs(family, &batch, &own, &prior.all(parts, part), rows);
        }
    });
    rows
}

/// Adds `sum (prior - natural) E t` to each row.
fn add_pairs(
    family: &dyn Posterior,
    batch: &Batch,
    descriptors: &[&[f64]],
    prior: &[Cow<[f64]>],
    rows: &mut [f64],
) {
    let (statistics, expectations) = (family.statistics(), family.expectations());
    let mut natural: Vec<Vec<f64>> =
        statistics.iter().map(|statistic| vec![0.0; batch.len(statistic.extent)]).collect();
    family.natural(batch, descriptors, &mut views_mut(&mut natural));
    let mut expectation = Vec::new();
    for ((statistic, prior), natural) in statistics.iter().zip(prior).zip(&natural) {
        let which = expectations
            .iter()
            .position(|expectation| expectation.statistic == statistic.statistic)
            .expect("a family that pairs answers its statistics");
        expectation.resize(natural.len(), 0.0);
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
