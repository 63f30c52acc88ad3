//! Which entries of an array are looked at together, and their numbers in the units in which the data were given.

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, AxisId};

use super::statistics::Statistic;
use crate::bind::Existing;
use crate::dimensions::Declared;
use crate::heldout::unflat;
use crate::prepare::Problem;
use crate::rank::pair;
use crate::rows::{Repeated, RowWeights};

/// A group, the numbers of its rows and columns, and for its entries those of the other sides of pairs.
type Found = (Group, [BTreeMap<usize, u32>; 2], [Vec<u32>; 2]);

/// Entries that are looked at together.
pub(super) struct Group {
    pub label: Option<String>,
    /// The cells in C order.
    pub cells: Vec<usize>,
    pub values: Vec<f64>,
    /// How often each counts.
    weights: Vec<f64>,
    rows: (Vec<u32>, usize),
    columns: (Vec<u32>, usize),
    /// Of data that the fit centres or scales, for each entry the number that a 0 stands for and that of which it is a multiple.
    units: Option<(Vec<f64>, Vec<f64>)>,
}

impl Group {
    pub fn value(&self, statistic: Statistic, values: &[f64]) -> f64 {
        statistic.value(values, &self.weights, (&self.rows.0, self.rows.1), (&self.columns.0, self.columns.1))
    }

    /// Whether a statistic compares what there is but one of: the totals of one row, or of one column.
    pub fn is_of_one(&self, statistic: Statistic) -> bool {
        statistic == Statistic::Rows && self.rows.1 < 2
            || statistic == Statistic::Columns && self.columns.1 < 2
    }

    /// Takes numbers as the fit has them to the units in which the data were given. What is left of a 0 by rounding is 0.
    pub fn in_given_units(&self, values: &mut [f64]) {
        let Some((centres, scales)) = &self.units else { return };
        for ((value, centre), scale) in values.iter_mut().zip(centres).zip(scales) {
            let own = centre + *value * scale;
            let rounding = 8.0 * f64::EPSILON * (centre.abs() + (*value * scale).abs());
            *value = if own.abs() <= rounding { 0.0 } else { own };
        }
    }
}

/// The entries of an array that were observed and count: all together, by the group of a ragged axis, or by the labels of an axis, each with the groups that it is in. An array that does
/// not have that axis has no groups. Of a group that stands for several, which are alike, the first is looked at.
pub(super) fn groups(
    problem: &Problem,
    repeated: Option<&Repeated>,
    id: ArrayId,
    by: Option<&str>,
) -> Vec<Group> {
    let (symbols, bound) = (&problem.model.symbols, &problem.binding.bound);
    let (own, shape) = (symbols.array(id), bound.shape(symbols, id));
    let data = bound.array(id);
    let statement = problem.model.statement_of(id).expect("data that are predicted have a statement");
    let weights = RowWeights::of_statement(symbols, bound, statement);
    let dimensions = Declared::of(problem, id);
    // Which dimension says the group, and how many of its labels: a class 1 of one school is not the class 1 of another.
    let by_label = dimensions.iter().enumerate().find_map(|(place, dimension)| {
        let names = dimension.names();
        match by {
            Some(by) => names.iter().position(|name| name == by).map(|label| (place, label + 1)),
            None => (names.len() > 1).then_some((place, names.len() - 1)),
        }
    });
    if by.is_some() && by_label.is_none() {
        return Vec::new();
    }
    let label = |position: usize| {
        by_label.map(|(dimension, end)| dimensions[dimension].labels(position)[..end].join("/"))
    };
    let firsts = by_label.and_then(|(dimension, end)| {
        let axis = dimensions[dimension].axis();
        let mut above: Vec<AxisId> =
            std::iter::successors(Some(axis), |own| symbols.axis(*own).parent).collect();
        above.truncate((above.len() + 1).saturating_sub(end));
        let group = *above.last()?;
        let firsts = repeated?.firsts(group)?;
        let position = move |place: usize| {
            let ragged =
                above[..above.len() - 1].iter().filter_map(|own| bound.axes[own.index()].parent.as_ref());
            ragged.fold(place, |place, parent| parent[place])
        };
        Some((0..dimensions[dimension].size()).map(|place| firsts[position(place)]).collect::<Vec<bool>>())
    });
    let at = |dimension: &Declared<'_>, place: &[usize]| dimension.position(&|held| place[held]);
    let is_first = |place: &[usize]| match (&firsts, by_label) {
        (Some(firsts), Some((dimension, _))) => firsts[at(&dimensions[dimension], place)],
        _ => true,
    };
    let labels: Vec<Option<String>> = match by_label {
        Some((dimension, _)) => (0..dimensions[dimension].size()).map(label).collect(),
        None => vec![None],
    };
    let mut order: BTreeMap<&Option<String>, usize> = BTreeMap::new();
    let mut found: Vec<Found> = Vec::new();
    // A pair of `i < j` belongs to both of its sides, as a row and as a column.
    let other_side = |dimension: usize| match pair(own) {
        Some((first, second)) if dimension == first => Some(second),
        Some((first, second)) if dimension == second => Some(first),
        _ => None,
    };
    let existing = Existing::of(symbols, &bound.axes, own);
    for cell in 0..shape.iter().product() {
        let place = unflat(&shape, cell);
        let (value, true) = data.entry(&shape, &place) else { continue };
        let weight = weights.at(|dimension| place[dimension]);
        if !existing.is_there(&place) || weight == 0.0 || !is_first(&place) {
            continue;
        }
        let label = &labels[by_label.map_or(0, |(dimension, _)| at(&dimensions[dimension], &place))];
        let next = found.len();
        let group = *order.entry(label).or_insert(next);
        if group == next {
            let none = (Vec::new(), 0);
            let new = Group {
                label: label.clone(),
                cells: Vec::new(),
                values: Vec::new(),
                weights: Vec::new(),
                rows: none.clone(),
                columns: none,
                units: None,
            };
            found.push((new, [BTreeMap::new(), BTreeMap::new()], [Vec::new(), Vec::new()]));
        }
        let (group, [rows, columns], [other_rows, other_columns]) = &mut found[group];
        group.cells.push(cell);
        group.values.push(value);
        group.weights.push(weight);
        let next = |seen: &mut BTreeMap<usize, u32>, position: usize| {
            let next = seen.len() as u32;
            *seen.entry(position).or_insert(next)
        };
        group.rows.0.push(next(rows, dimensions.first().map_or(0, |own| at(own, &place))));
        group.columns.0.push(next(columns, dimensions.last().map_or(0, |own| at(own, &place))));
        other_rows.extend(other_side(0).map(|side| next(rows, place[side])));
        let last = dimensions.len().saturating_sub(1);
        other_columns.extend(other_side(last).map(|side| next(columns, place[side])));
    }
    let finish = |(mut group, [rows, columns], [other_rows, other_columns]): (
        Group,
        [BTreeMap<usize, u32>; 2],
        [Vec<u32>; 2],
    )| {
        group.rows.0.extend(other_rows);
        group.columns.0.extend(other_columns);
        (group.rows.1, group.columns.1) = (rows.len(), columns.len());
        group.units = units(problem, id, &shape, &group.cells);
        let mut values = std::mem::take(&mut group.values);
        group.in_given_units(&mut values);
        Group { values, ..group }
    };
    found.into_iter().map(finish).collect()
}

/// Of data that the fit centres or scales, for each cell the number that a 0 stands for and that of which it is a multiple.
fn units(problem: &Problem, id: ArrayId, shape: &[usize], cells: &[usize]) -> Option<(Vec<f64>, Vec<f64>)> {
    let own = problem.binding.standardised.iter().find(|own| own.array == id)?;
    let mut coordinates: Vec<Vec<u32>> = vec![Vec::with_capacity(cells.len()); shape.len()];
    for cell in cells {
        let place = unflat(shape, *cell);
        coordinates.iter_mut().zip(place).for_each(|(column, own)| column.push(own as u32));
    }
    let (mut centres, mut scales) = (vec![0.0; cells.len()], vec![1.0; cells.len()]);
    own.undo(problem, &coordinates, &mut centres, Some(&mut scales));
    Some((centres, scales))
}
