//! The totals of rows of counts: of each row of an array that is one observation, the sum of its elements.
//!
//! A row is what remains of an array when its slices are taken together; over a ragged axis each group has a row of its own.

use cavi_algebra::{ArrayId, Symbols};
use cavi_executor::{Bound, BoundArray};
use cavi_numerics::Numbers;
use cavi_numerics::pages::{self, Pages};

use crate::heldout::unflat;

/// The lists of which sparse data are made, as one who goes through all of them in order reads them.
pub(crate) fn lists_of<'a>(indices: &'a [Numbers<u32>], values: &'a Numbers<f64>) -> Vec<&'a dyn Pages> {
    indices.iter().map(|own| own as &dyn Pages).chain([values as &dyn Pages]).collect()
}

/// The total of each row of an array.
pub(crate) struct RowTotals<'a> {
    dimensions: Vec<Dimension<'a>>,
    totals: Vec<f64>,
}

/// How a dimension tells rows apart.
struct Dimension<'a> {
    /// In how many.
    size: usize,
    /// Of a slice over a ragged axis, the group of each position.
    groups: Option<&'a [usize]>,
}

impl RowTotals<'_> {
    /// Rows whose totals are 0.
    fn nothing<'a>(symbols: &Symbols, bound: &'a Bound, id: ArrayId) -> RowTotals<'a> {
        let array = symbols.array(id);
        let shape = bound.shape(symbols, id);
        let dimension = |(place, size): (usize, &usize)| {
            let axis = &bound.axes[symbols.letter(array.letters[place]).axis.index()];
            match (array.slice[place], &axis.starts, &axis.parent) {
                (false, ..) => Dimension { size: *size, groups: None },
                (true, Some(starts), Some(parents)) => {
                    Dimension { size: starts.len() - 1, groups: Some(parents) }
                }
                (true, ..) => Dimension { size: 1, groups: None },
            }
        };
        let dimensions: Vec<Dimension<'a>> = shape.iter().enumerate().map(dimension).collect();
        let rows = dimensions.iter().map(|own| own.size).product();
        RowTotals { dimensions, totals: vec![0.0; rows] }
    }

    /// Sums up the rows of entries, whose coordinates have a column for each dimension.
    pub fn of_entries<'a>(
        symbols: &Symbols,
        bound: &'a Bound,
        id: ArrayId,
        (coordinates, values): (&[Vec<u32>], &[f64]),
    ) -> RowTotals<'a> {
        let mut of = RowTotals::nothing(symbols, bound, id);
        for (entry, value) in values.iter().enumerate() {
            let row = of.row(|dimension| coordinates[dimension][entry] as usize);
            of.totals[row] += value;
        }
        of
    }

    /// Sums up the rows of data.
    pub fn of<'a>(symbols: &Symbols, bound: &'a Bound, id: ArrayId) -> RowTotals<'a> {
        let shape = bound.shape(symbols, id);
        let mut of = RowTotals::nothing(symbols, bound, id);
        match bound.array(id) {
            BoundArray::Dense { values, .. } => {
                for (cell, value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    let place = unflat(&shape, cell);
                    let row = of.row(|dimension| place[dimension]);
                    of.totals[row] += value;
                }
            }
            BoundArray::Sparse { indices, values, .. } => {
                let columns: Vec<&[u32]> = indices.iter().map(|own| own.as_slice()).collect();
                pages::in_parts(values.len(), &lists_of(indices, values), |entries| {
                    for entry in entries {
                        let row = of.row(|dimension| columns[dimension][entry] as usize);
                        of.totals[row] += values[entry];
                    }
                });
            }
        }
        of
    }

    /// The total of the row of an entry, by its position in each dimension.
    pub fn at(&self, place: impl Fn(usize) -> usize) -> f64 {
        self.totals[self.row(place)]
    }

    /// How many groups there are; 1 where slices run over no ragged axis.
    pub fn groups(&self) -> usize {
        self.dimensions.iter().filter(|own| own.groups.is_some()).map(|own| own.size).product()
    }

    /// The number of the group of an entry, where slices run over ragged axes; 0 where none does.
    pub fn group(&self, place: impl Fn(usize) -> usize) -> usize {
        let ragged =
            self.dimensions.iter().enumerate().filter_map(|(at, own)| Some((at, own.size, own.groups?)));
        ragged.fold(0, |group, (dimension, size, groups)| group * size + groups[place(dimension)])
    }

    /// The number of the row of an entry.
    fn row(&self, place: impl Fn(usize) -> usize) -> usize {
        self.dimensions.iter().enumerate().fold(0, |row, (dimension, own)| {
            let position = match (own.groups, own.size) {
                (Some(groups), _) => groups[place(dimension)],
                (None, 1) => 0,
                (None, _) => place(dimension),
            };
            row * own.size + position
        })
    }
}
