//! The entries of data that say something, and what groups of them come to.
//!
//! An entry of data has a term in the log joint where it exists (a restriction `i < j` leaves cells out, and so do groups), is observed, and has
//! a weight other than 0. Means and deviations of data are those of these entries, each counted as often as its row weighs, whether a file lists
//! them or not: with the weights `w` and the values `x` of a group, `m = sum w x / sum w` and `s^2 = sum w (x - m)^2 / sum w`. Zeros that are not
//! listed are entries too; of them only the total weight is needed, that of all entries of the group less that of those listed.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::evaluate::Accumulator;
use cavi_executor::{Bound, BoundArray};
use cavi_model::{Model, Statement};

use super::RowWeights;
use crate::bind::Existing;

/// Weights that differ from 0 by less than this share of the whole are what rounding leaves of it.
const ROUNDING: f64 = 1e-12;

/// The entries of an array with a term.
pub(crate) struct Entries<'a> {
    pub array: &'a BoundArray,
    pub shape: Vec<usize>,
    pub existing: Existing,
    pub weights: RowWeights<'a>,
}

/// Groups of entries: those with the same positions along some dimensions, or with the same ones above them.
pub(crate) struct Groups<'a> {
    ways: Vec<Way<'a>>,
}

/// A dimension that tells groups apart.
struct Way<'a> {
    dimension: usize,
    /// For each position the one above it, where that is what counts.
    parents: Option<&'a [usize]>,
    /// How many there are of what counts.
    size: usize,
}

/// Of each group.
pub(crate) struct Moments {
    /// How often its entries count together.
    pub weight: Vec<f64>,
    /// 0 where no entry counts. Where all are equal it is their value, not what rounding makes of the sum.
    pub mean: Vec<f64>,
    /// 0 where no entry counts.
    pub deviation: Vec<f64>,
}

impl<'a> Groups<'a> {
    /// Those with the same positions along these dimensions, numbered in C order of them.
    pub fn along(shape: &[usize], dimensions: &[usize]) -> Groups<'static> {
        let way = |dimension: &usize| Way { dimension: *dimension, parents: None, size: shape[*dimension] };
        Groups { ways: dimensions.iter().map(way).collect() }
    }

    /// Those with the same positions along all dimensions but this one, of which a ragged one leaves the position above it: with the parent of each
    /// position, and the number of parents.
    pub fn over(shape: &[usize], dimension: usize, above: Option<(&'a [usize], usize)>) -> Groups<'a> {
        let way = |own: usize| match (own == dimension, above) {
            (true, None) => None,
            (true, Some((parents, size))) => Some(Way { dimension, parents: Some(parents), size }),
            (false, _) => Some(Way { dimension: own, parents: None, size: shape[own] }),
        };
        Groups { ways: (0..shape.len()).filter_map(way).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ways.iter().map(|way| way.size).product()
    }

    /// The group of an entry.
    pub fn of(&self, position: impl Fn(usize) -> usize) -> usize {
        self.ways.iter().fold(0, |group, way| {
            let own = position(way.dimension);
            group * way.size + way.parents.map_or(own, |parents| parents[own])
        })
    }

    /// What tells a group apart along each of its dimensions.
    fn parts(&self, group: usize) -> Vec<usize> {
        let mut parts = vec![0; self.ways.len()];
        let mut rest = group;
        for (part, way) in parts.iter_mut().zip(&self.ways).rev() {
            *part = rest % way.size.max(1);
            rest /= way.size.max(1);
        }
        parts
    }
}

impl<'a> Entries<'a> {
    /// Those of the data of a statement; `None` where the target has no values.
    pub fn of_statement(model: &Model, bound: &'a Bound, statement: &Statement) -> Option<Entries<'a>> {
        let symbols = &model.symbols;
        let array = bound.arrays[statement.target.index()].as_ref()?;
        Some(Entries {
            array,
            shape: bound.shape(symbols, statement.target),
            existing: Existing::of(symbols, &bound.axes, symbols.array(statement.target)),
            weights: RowWeights::of_statement(symbols, bound, statement),
        })
    }

    /// Calls `visit` with the positions, the value and the weight of each entry that the array holds.
    pub fn each(&self, visit: &mut dyn FnMut(&[usize], f64, f64)) {
        each_observed(self.array, &self.shape, &self.existing, &mut |place, value| {
            let weight = self.weights.at(|dimension| place[dimension]);
            if weight != 0.0 {
                visit(place, value, weight);
            }
        });
    }

    /// The total weight of the entries of each group that are not listed and were observed to be 0; `listed` is that of those that the array holds.
    fn unlisted(&self, groups: &Groups<'_>, listed: &[f64]) -> Vec<f64> {
        let BoundArray::Sparse { indices, observed, unlisted_zero: true, .. } = self.array else {
            return vec![0.0; listed.len()];
        };
        let all = self.all(groups);
        let mut left: Vec<f64> = all.iter().zip(listed).map(|(all, listed)| all - listed).collect();
        // Listed entries that are missing are no zeros either.
        let missing = observed.iter().flatten().enumerate().filter(|(_, observed)| !**observed);
        for (entry, _) in missing {
            let place = |dimension: usize| indices[dimension][entry] as usize;
            left[groups.of(place)] -= self.weights.at(place);
        }
        for (left, all) in left.iter_mut().zip(&all) {
            *left = if *left > ROUNDING * all { *left } else { 0.0 };
        }
        left
    }

    /// Whether an entry that is not listed was observed to be 0.
    pub fn has_unlisted(&self) -> bool {
        let mut listed = 0.0;
        self.each(&mut |_, _, weight| listed += weight);
        self.unlisted(&Groups::along(&self.shape, &[]), &[listed])[0] > 0.0
    }

    /// The total weight of all entries of each group, observed or not.
    ///
    /// Without gaps that is a sum over the dimensions that the group leaves free: of those that no weight runs along, their sizes multiply it. Groups
    /// that differ in nothing that a weight depends on have one sum.
    fn all(&self, groups: &Groups<'_>) -> Vec<f64> {
        let weighted: BTreeSet<usize> = self.weights.dimensions().into_iter().collect();
        if self.existing.has_gaps() {
            let one = groups.count() == 1 && weighted.is_empty();
            if let Some(count) = one.then(|| self.existing.count(&self.shape)).flatten() {
                return vec![count as f64];
            }
            let mut sums = vec![0.0; groups.count()];
            each_place(&self.shape, &mut |_, place| {
                if self.existing.is_there(place) {
                    let position = |dimension: usize| place[dimension];
                    sums[groups.of(position)] += self.weights.at(position);
                }
            });
            return sums;
        }
        let mut known: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        let sum = |group: usize| {
            let parts = groups.parts(group);
            let matters = |way: &Way<'_>| way.parents.is_some() || weighted.contains(&way.dimension);
            let key = groups.ways.iter().zip(&parts);
            let key = key.map(|(way, part)| if matters(way) { *part } else { 0 }).collect();
            *known.entry(key).or_insert_with_key(|parts| self.sum(groups, &weighted, parts))
        };
        (0..groups.count()).map(sum).collect()
    }

    /// The total weight of a group, by what tells it apart.
    fn sum(&self, groups: &Groups<'_>, weighted: &BTreeSet<usize>, parts: &[usize]) -> f64 {
        let positions = |dimension: usize| {
            let Some(number) = groups.ways.iter().position(|way| way.dimension == dimension) else {
                return 0..self.shape[dimension];
            };
            let part = parts[number];
            match groups.ways[number].parents {
                None => part..part + 1,
                // Positions stand by their parents.
                Some(parents) => {
                    parents.partition_point(|own| *own < part)..parents.partition_point(|own| *own <= part)
                }
            }
        };
        let (mut starts, mut sizes, mut times) = (Vec::new(), Vec::new(), 1.0);
        for dimension in 0..self.shape.len() {
            let own = positions(dimension);
            if weighted.contains(&dimension) {
                starts.push(own.start);
                sizes.push(own.len());
            } else {
                times *= own.len() as f64;
                starts.push(0);
                sizes.push(1);
            }
        }
        let mut total = Accumulator::default();
        each_place(&sizes, &mut |_, place| {
            total.add(self.weights.at(|dimension| starts[dimension] + place[dimension]));
        });
        times * total.total()
    }

    /// Whether what groups come to takes no more time than their entries that are listed do.
    pub fn is_quick(&self, groups: &Groups<'_>) -> bool {
        const MANY: usize = 1 << 24;
        let zeros = matches!(self.array, BoundArray::Sparse { unlisted_zero: true, .. });
        let one = groups.count() == 1 && self.weights.dimensions().is_empty();
        let cells = self.shape.iter().fold(1_usize, |cells, size| cells.saturating_mul(*size));
        !zeros || !self.existing.has_gaps() || one || cells <= MANY
    }

    /// The means and the standard deviations of groups.
    pub fn moments(&self, groups: &Groups<'_>) -> Moments {
        let count = groups.count();
        let mut weights = vec![0.0; count];
        let mut totals = vec![Accumulator::default(); count];
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); count];
        self.each(&mut |place, value, weight| {
            let group = groups.of(|dimension| place[dimension]);
            weights[group] += weight;
            totals[group].add(weight * value);
            ranges[group] = (ranges[group].0.min(value), ranges[group].1.max(value));
        });
        let unlisted = self.unlisted(groups, &weights);
        weights.iter_mut().zip(&unlisted).for_each(|(own, more)| *own += more);
        let mean = |group: usize| match weights[group] > 0.0 {
            true if ranges[group].0 == ranges[group].1 && unlisted[group] == 0.0 => ranges[group].0,
            true => totals[group].total() / weights[group],
            false => 0.0,
        };
        let mean: Vec<f64> = (0..count).map(mean).collect();
        let mut squares = vec![Accumulator::default(); count];
        self.each(&mut |place, value, weight| {
            let group = groups.of(|dimension| place[dimension]);
            squares[group].add(weight * (value - mean[group]) * (value - mean[group]));
        });
        let deviation = (0..count).map(|group| {
            let total = squares[group].total() + unlisted[group] * mean[group] * mean[group];
            if weights[group] > 0.0 { (total / weights[group]).sqrt() } else { 0.0 }
        });
        let deviation = deviation.collect();
        Moments { weight: weights, mean, deviation }
    }
}

/// Calls `visit` with the number and the positions of each cell of an array of this shape, in C order.
fn each_place(shape: &[usize], visit: &mut dyn FnMut(usize, &[usize])) {
    let cells = shape.iter().product();
    let mut place = vec![0; shape.len()];
    for cell in 0..cells {
        visit(cell, &place);
        for (position, size) in place.iter_mut().zip(shape).rev() {
            *position += 1;
            if *position < *size {
                break;
            }
            *position = 0;
        }
    }
}

/// Calls `visit` with the positions and the value of each entry that exists, is observed, and is held: of a sparse array one that is listed.
pub(crate) fn each_observed(
    array: &BoundArray,
    shape: &[usize],
    existing: &Existing,
    visit: &mut dyn FnMut(&[usize], f64),
) {
    match array {
        BoundArray::Dense { values, observed } => each_place(shape, &mut |cell, place| {
            if observed.as_ref().is_none_or(|own| own[cell]) && existing.is_there(place) {
                visit(place, values[cell]);
            }
        }),
        BoundArray::Sparse { indices, values, observed, .. } => {
            let mut place = vec![0; indices.len()];
            for (entry, value) in values.iter().enumerate() {
                if observed.as_ref().is_none_or(|own| own[entry]) {
                    place.iter_mut().zip(indices).for_each(|(own, column)| *own = column[entry] as usize);
                    visit(&place, *value);
                }
            }
        }
    }
}

/// Changes the value of each such entry.
pub(crate) fn change_observed(
    array: &mut BoundArray,
    shape: &[usize],
    existing: &Existing,
    change: &mut dyn FnMut(&[usize], f64) -> f64,
) {
    match array {
        BoundArray::Dense { values, observed } => {
            let values = values.to_mut();
            each_place(shape, &mut |cell, place| {
                if observed.as_ref().is_none_or(|own| own[cell]) && existing.is_there(place) {
                    values[cell] = change(place, values[cell]);
                }
            });
        }
        BoundArray::Sparse { indices, values, observed, .. } => {
            let mut place = vec![0; indices.len()];
            for (entry, value) in values.to_mut().iter_mut().enumerate() {
                if observed.as_ref().is_none_or(|own| own[entry]) {
                    place.iter_mut().zip(&*indices).for_each(|(own, column)| *own = column[entry] as usize);
                    *value = change(&place, *value);
                }
            }
        }
    }
}
