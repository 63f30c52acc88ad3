//! How much of the data a fit explains: the share of their variance, or of their deviance, by array and by group.
//!
//! An entry `y` is expected to be `E = E_q[y]`; without a fit it is the mean `m` of its position on the last axis of the array as it is declared (of an
//! array of one axis, and of one whose axes are a pair `i < j` without an order, the mean of all). Both are compared with what was observed, over the entries that the fit saw:
//!
//! - of numbers, `R^2 = 1 - sum (y - E)^2 / sum (y - m)^2`;
//! - of counts under a Poisson and of rows under a Multinomial, the share of the deviance `2 sum y log(y / E) - y + E`, with for `m` in a
//!   row under a Multinomial the row's total times the column's share of all units;
//! - of what is 0 or 1, the share of `-2 sum y log E + (1 - y) log(1 - E)`.
//!
//! Rows of weight (`multiplicity`) count as often as they weigh.
//!
//! Data that are centred and scaled are compared as the fit saw them, so that every scaled column counts alike. Fits in which nothing is
//! explained have 0 or a little less; groups of a ragged axis (views) have shares of their own.
//!
//! Where an array has more entries than [`MOST`], a sample of about as many is compared, the same each time. Of counts whose
//! unlisted entries are 0 the zeros count as any other entry, unless there are too many to go through: then rows under a Multinomial
//! still have a deviance, since `E - y` adds up to 0 over a row and zeros add nothing to the rest, and others have none.

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, AxisId, Support};
use cavi_executor::{BoundArray, Parameters};
use cavi_families::Prediction;
use cavi_model::Statement;
use cavi_numerics::pages;
use smallvec::SmallVec;

use crate::bind::Existing;
use crate::dimensions::Declared;
use crate::heldout::{stated, unflat};
use crate::prepare::Problem;
use crate::row_totals::{RowTotals, lists_of};
use crate::rows::RowWeights;

/// As many entries are compared, about.
pub const MOST: usize = 1 << 17;

/// Less than this share of the sum of squares is rounding: 100 times the square of that of a double.
const ROUNDING: f64 = 100.0 * f64::EPSILON * f64::EPSILON;

/// Cells beyond this are not gone through.
const CELLS: usize = 1 << 26;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Squared errors.
    Variance,
    /// Of counts.
    Deviance,
    /// Of what is 0 or 1.
    Trials,
}

/// How much of an array is explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The array.
    pub name: String,
    /// Of what it is a share.
    pub measure: Measure,
    /// Whether it is compared with the mean of each column; else with that of all.
    pub by_column: bool,
    /// The share of all; `None` where the column means leave nothing to explain.
    pub share: Option<f64>,
    /// The shares of the groups of a ragged axis, by their labels.
    pub groups: Vec<(String, Option<f64>)>,
    /// How many entries were compared.
    pub compared: usize,
    /// Of how many.
    pub entries: usize,
}

/// How much of each array that is predicted a fit explains; arrays of classes, and those whose entries have no expected value, are left
/// out.
pub fn explained(problem: &Problem, parameters: &Parameters, seed: u64, threads: usize) -> Vec<Explained> {
    let given = problem.as_given();
    let observed = given.model.statements.iter().filter(|own| own.observed);
    observed.filter_map(|statement| Of { problem, statement }.explained(parameters, seed, threads)).collect()
}

/// The entries of the data of a statement that are compared, those that the fit saw; `None` where there are too many zeros to go through.
pub(crate) fn observed_entries(problem: &Problem, statement: &Statement) -> Option<Entries> {
    Of { problem, statement }.entries()
}

/// The number of the group of a ragged axis that an entry is in, by its position in each dimension of the array as it is held; 0 where no axis
/// is ragged.
pub(crate) fn group_of<'a>(
    problem: &'a Problem,
    statement: &'a Statement,
) -> impl Fn(&dyn Fn(usize) -> usize) -> usize + 'a {
    let group = Of { problem, statement }.group();
    move |place| group.as_ref().map_or(0, |(dimension, _, above)| above[dimension.position(place)])
}

/// What the groups of a ragged axis are called; `None` where no axis is ragged.
pub(crate) fn group_labels<'a>(
    problem: &'a Problem,
    statement: &'a Statement,
) -> Option<impl Fn(usize) -> String + 'a> {
    let given = problem.as_given();
    let symbols = &given.model.symbols;
    let (_, parent, _) = Of { problem, statement }.group()?;
    let binding = &given.binding;
    Some(move |position: usize| binding.labels.path(symbols, &binding.bound, parent, position).join("/"))
}

/// An array that is predicted.
struct Of<'a> {
    problem: &'a Problem,
    statement: &'a Statement,
}

/// Entries: coordinates, a column a dimension, and values.
#[derive(Default)]
pub(crate) struct Entries {
    pub coordinates: Vec<Vec<u32>>,
    pub values: Vec<f64>,
    /// How many there are in all.
    all: usize,
    /// Whether zeros that are not listed are left out.
    without_zeros: bool,
}

impl Entries {
    fn push(&mut self, place: &mut dyn Iterator<Item = u32>, value: f64) {
        self.coordinates.iter_mut().zip(place).for_each(|(column, own)| column.push(own));
        self.values.push(value);
    }
}

impl<'a> Of<'a> {
    fn id(&self) -> ArrayId {
        self.statement.target
    }

    fn measure(&self) -> Option<Measure> {
        let array = self.problem.as_given().model.symbols.array(self.id());
        match (self.statement.family.prediction(), array.support) {
            (Prediction::Class, _)
            | (_, Support::Index(_) | Support::Simplex | Support::PositiveDefinite) => None,
            (Prediction::Trial, _) => Some(Measure::Trials),
            (Prediction::Units | Prediction::Rate, _) => Some(Measure::Deviance),
            (Prediction::Density, _) => Some(Measure::Variance),
        }
    }

    fn explained(&self, parameters: &Parameters, seed: u64, threads: usize) -> Option<Explained> {
        let measure = self.measure()?;
        let given = self.problem.as_given();
        let symbols = &given.model.symbols;
        let array = symbols.array(self.id());
        let entries = self.entries()?;
        if entries.values.is_empty() {
            return None;
        }
        let mut means =
            stated(self.problem, parameters, self.id(), &entries.coordinates, (seed, threads)).ok()?.mean;
        self.standardise(&entries.coordinates, &mut means);
        let weights = self.weights(&entries);
        let columns = self.column_means(&entries, &weights);
        let mut sums: BTreeMap<usize, [f64; 3]> = BTreeMap::new();
        let group_of = group_of(self.problem, self.statement);
        for (entry, value) in entries.values.iter().enumerate() {
            let place = |dimension: usize| entries.coordinates[dimension][entry] as usize;
            let sums = sums.entry(group_of(&place)).or_default();
            let weight = weights[entry];
            if weight > 0.0 {
                sums[0] += weight * lost(measure, *value, means[entry], entries.without_zeros);
                sums[1] += weight * lost(measure, *value, columns[entry], entries.without_zeros);
                sums[2] += weight * value * value;
            }
        }
        let share = |[left, all, squares]: [f64; 3]| {
            let share = 1.0 - left / all;
            // What rounding alone leaves of constant columns is no variance.
            let is_rounding = measure == Measure::Variance && all <= ROUNDING * squares;
            (all > 0.0 && !is_rounding && share.is_finite()).then_some(share)
        };
        let total = sums.values().fold([0.0; 3], |sum, own| [0, 1, 2].map(|part| sum[part] + own[part]));
        let groups = match self.group() {
            None => Vec::new(),
            Some((_, parent, _)) => sums
                .iter()
                .map(|(position, own)| {
                    let binding = &given.binding;
                    (binding.labels.path(symbols, &binding.bound, parent, *position).join("/"), share(*own))
                })
                .collect(),
        };
        let compared = entries.values.len();
        Some(Explained {
            name: array.name.clone(),
            measure,
            by_column: Declared::columns(given, self.id()).is_some(),
            share: share(total),
            groups,
            compared,
            entries: entries.all,
        })
    }

    /// The ragged dimension whose groups have shares of their own, with the axis of these groups and the group of each position.
    fn group(&self) -> Option<(Declared<'a>, AxisId, &'a [usize])> {
        let mut dimensions = Declared::of(self.problem.as_given(), self.id()).into_iter().rev();
        dimensions.find_map(|own| own.groups().map(|(parent, above)| (own, parent, above)))
    }

    /// The entries that are compared; `None` where there are too many zeros to go through.
    fn entries(&self) -> Option<Entries> {
        let given = self.problem.as_given();
        let array = given.model.symbols.array(self.id());
        let shape = given.binding.bound.shape(&given.model.symbols, self.id());
        let cells = shape.iter().try_fold(1_usize, |cells, size| cells.checked_mul(*size))?;
        let data = given.binding.bound.array(self.id());
        let zeros = matches!(data, BoundArray::Sparse { unlisted_zero: true, .. });
        let by_listing = match data {
            BoundArray::Dense { .. } => false,
            BoundArray::Sparse { .. } => !zeros || cells > CELLS,
        };
        if by_listing && zeros && self.statement.family.prediction() != Prediction::Units {
            return None;
        }
        let existing = Existing::of(&given.model.symbols, &given.binding.bound.axes, array);
        let mut entries = Entries {
            coordinates: vec![Vec::new(); shape.len()],
            without_zeros: by_listing && zeros,
            ..Entries::default()
        };
        let mut add = |number: usize, all: usize, place: &mut dyn Iterator<Item = u32>, value: f64| {
            entries.all += 1;
            if is_sampled(number, all) {
                entries.push(place, value);
            }
        };
        match data {
            BoundArray::Sparse { indices, values, observed, .. } if by_listing => {
                let is_seen = |entry: usize| observed.as_ref().is_none_or(|observed| observed[entry]);
                entries.all =
                    observed.as_ref().map_or(values.len(), |own| own.iter().filter(|own| **own).count());
                pages::in_parts(values.len(), &lists_of(indices, values), |part| {
                    for entry in part.filter(|entry| is_sampled(*entry, values.len()) && is_seen(*entry)) {
                        entries.push(&mut indices.iter().map(|column| column[entry]), values[entry]);
                    }
                });
            }
            // All places exist: only those of the sample are worked out.
            BoundArray::Dense { values, observed } if !existing.has_gaps() => {
                for (cell, value) in values.iter().enumerate() {
                    if observed.as_ref().is_none_or(|observed| observed[cell]) {
                        let mut place =
                            is_sampled(cell, cells).then(|| unflat(&shape, cell)).into_iter().flatten();
                        add(cell, cells, &mut place.by_ref().map(|own| own as u32), *value);
                    }
                }
            }
            // Only places of the sample are looked up among what is listed, which takes much longer than to count the others.
            BoundArray::Sparse { indices, observed, .. } => {
                let restricted = existing.has_gaps();
                let at = |entry: usize| -> SmallVec<[usize; 4]> {
                    indices.iter().map(|column| column[entry] as usize).collect()
                };
                let missing = observed.iter().flatten().enumerate().filter(|(_, seen)| !**seen);
                let missing =
                    missing.filter(|(entry, _)| !restricted || existing.is_there(&at(*entry))).count();
                let mut exist = cells;
                for cell in 0..cells {
                    let of_sample = is_sampled(cell, cells);
                    if !of_sample && !restricted {
                        continue;
                    }
                    let place = unflat(&shape, cell);
                    if restricted && !existing.is_there(&place) {
                        exist -= 1;
                    } else if of_sample && let (value, true) = data.entry(&shape, &place) {
                        add(cell, cells, &mut place.iter().map(|own| *own as u32), value);
                    }
                }
                entries.all = exist - missing;
            }
            BoundArray::Dense { .. } => {
                for cell in 0..cells {
                    let place = unflat(&shape, cell);
                    if let (value, true) = data.entry(&shape, &place)
                        && existing.is_there(&place)
                    {
                        add(cell, cells, &mut place.iter().map(|own| *own as u32), value);
                    }
                }
            }
        }
        Some(entries)
    }

    /// Means in the units of the data to those in which the fit saw them: `(mean - centre) / scale`, both from what is undone of 0 and 1.
    fn standardise(&self, coordinates: &[Vec<u32>], means: &mut [f64]) {
        let given = self.problem.as_given();
        let Some(own) = given.binding.standardised.iter().find(|own| own.array == self.id()) else { return };
        let undone = |value: f64| {
            let mut values = vec![value; means.len()];
            own.undo(given, coordinates, &mut values, None);
            values
        };
        let (zero, one) = (undone(0.0), undone(1.0));
        for ((mean, zero), one) in means.iter_mut().zip(zero).zip(one) {
            *mean = (*mean - zero) / (one - zero);
        }
    }

    /// How often each entry counts: the product of the multiplicities of its rows.
    fn weights(&self, entries: &Entries) -> Vec<f64> {
        let weights = self.row_weights();
        (0..entries.values.len())
            .map(|entry| weights.at(|dimension| entries.coordinates[dimension][entry] as usize))
            .collect()
    }

    fn row_weights(&self) -> RowWeights<'_> {
        let given = self.problem.as_given();
        RowWeights::of_statement(&given.model.symbols, &given.binding.bound, self.statement)
    }

    /// What each entry is expected to be without a fit.
    fn column_means(&self, entries: &Entries, weights: &[f64]) -> Vec<f64> {
        let last = Declared::columns(self.problem.as_given(), self.id());
        let column = |entry: usize| {
            let place = |dimension: usize| entries.coordinates[dimension][entry] as usize;
            last.as_ref().map_or(0, |last| last.position(&place))
        };
        let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        for (entry, value) in entries.values.iter().enumerate() {
            let own = sums.entry(column(entry)).or_default();
            *own = (own.0 + weights[entry] * value, own.1 + weights[entry]);
        }
        if self.statement.family.prediction() != Prediction::Units {
            return (0..entries.values.len())
                .map(|entry| {
                    let (sum, count) = sums[&column(entry)];
                    sum / count
                })
                .collect();
        }
        self.shares_of_units(entries)
    }

    /// Of rows that are complete: the total of the row times the column's share of all units, or of those of its group.
    fn shares_of_units(&self, entries: &Entries) -> Vec<f64> {
        let given = self.problem.as_given();
        let symbols = &given.model.symbols;
        let (array, bound) = (symbols.array(self.id()), &given.binding.bound);
        let shape = bound.shape(symbols, self.id());
        let slice: Vec<(usize, usize)> =
            shape.iter().copied().enumerate().filter(|(dimension, _)| array.slice[*dimension]).collect();
        let columns = slice.iter().map(|(_, size)| size).product();
        let rows = RowTotals::of(symbols, bound, self.id());
        let mut units = Units {
            slice,
            weights: self.row_weights(),
            of_columns: vec![0.0; columns],
            of_groups: vec![0.0; rows.groups()],
            rows,
        };
        match bound.array(self.id()) {
            BoundArray::Sparse { indices, values, .. } => {
                let columns: Vec<&[u32]> = indices.iter().map(|own| own.as_slice()).collect();
                pages::in_parts(values.len(), &lists_of(indices, values), |entries| {
                    entries.for_each(|entry| {
                        units.count(|dimension| columns[dimension][entry] as usize, values[entry]);
                    });
                });
            }
            BoundArray::Dense { values, .. } => {
                for (cell, value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    let place = unflat(&shape, cell);
                    units.count(|dimension| place[dimension], *value);
                }
            }
        }
        let place = |entry: usize| move |dimension: usize| entries.coordinates[dimension][entry] as usize;
        (0..entries.values.len()).map(|entry| units.expected(place(entry))).collect()
    }
}

/// What rows of counts come to, by column and by group of rows.
struct Units<'a> {
    rows: RowTotals<'a>,
    weights: RowWeights<'a>,
    /// The dimensions within a row, with their sizes.
    slice: Vec<(usize, usize)>,
    of_columns: Vec<f64>,
    of_groups: Vec<f64>,
}

impl Units<'_> {
    fn count(&mut self, place: impl Fn(usize) -> usize, value: f64) {
        let value = value * self.weights.at(&place);
        let column = self.column(&place);
        self.of_columns[column] += value;
        self.of_groups[self.rows.group(&place)] += value;
    }

    /// Without a fit: the total of the row times the column's share of its group.
    fn expected(&self, place: impl Fn(usize) -> usize) -> f64 {
        let of_column = self.of_columns[self.column(&place)];
        self.rows.at(&place) * of_column / self.of_groups[self.rows.group(&place)]
    }

    fn column(&self, place: impl Fn(usize) -> usize) -> usize {
        self.slice.iter().fold(0, |column, (dimension, size)| column * size + place(*dimension))
    }
}

/// What an entry loses by this expectation. Where zeros of a row are left out, `mean - value` is, which adds up to 0 over the whole row.
fn lost(measure: Measure, value: f64, mean: f64, without_zeros: bool) -> f64 {
    // x log(x / y), 0 where x is.
    let relative = |x: f64, y: f64| if x == 0.0 { 0.0 } else { x * (x / y).ln() };
    match measure {
        Measure::Variance => (value - mean).powi(2),
        Measure::Deviance if without_zeros => 2.0 * relative(value, mean),
        Measure::Deviance => 2.0 * (relative(value, mean) - value + mean),
        Measure::Trials => 2.0 * (relative(value, mean) + relative(1.0 - value, 1.0 - mean)),
    }
}

/// Whether an entry of so many is in the sample: by the bits of its number, mixed (Steele, Lea and Flood, Fast splittable
/// pseudorandom number generators, 2014), so that no column is preferred.
fn is_sampled(number: usize, all: usize) -> bool {
    if all <= MOST {
        return true;
    }
    let below = (u64::MAX as f64 * (MOST as f64 / all as f64)) as u64;
    let mut bits = (number as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    bits < below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `2 (3 log 3/2 + 1 log 1)`, with or without the cell that has nothing.
    #[test]
    fn zeros_of_a_row_may_be_left_out() {
        let cells = [(3.0, 2.0), (0.0, 1.0), (1.0, 1.0)];
        let all: f64 = cells.iter().map(|(y, mean)| lost(Measure::Deviance, *y, *mean, false)).sum();
        let listed = [cells[0], cells[2]];
        let listed: f64 = listed.iter().map(|(y, mean)| lost(Measure::Deviance, *y, *mean, true)).sum();
        assert!((all - 2.432_790_648_648_985_5).abs() < 1e-12 && (listed - all).abs() < 1e-12);
    }
}
