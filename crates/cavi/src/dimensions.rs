//! The names and labels of a dimension of an array, as the columns of a table.

use cavi_algebra::{ArrayId, AxisId, Symbols};
use cavi_executor::Bound;

use crate::bind::Labels;
use crate::prepare::{EntryAxis, Problem};

/// A dimension of data or of a latent.
#[derive(Clone, Copy)]
pub(crate) struct Dimension<'a> {
    symbols: &'a Symbols,
    bound: &'a Bound,
    labels: &'a Labels,
    entries: Option<&'a EntryAxis>,
    axis: AxisId,
}

impl<'a> Dimension<'a> {
    /// That of an axis.
    pub fn new(problem: &'a Problem, axis: AxisId) -> Dimension<'a> {
        let Problem { equations, binding, .. } = problem;
        let entries = binding.entries.iter().find(|own| own.axis == axis);
        Dimension {
            symbols: &equations.symbols,
            bound: &binding.bound,
            labels: &binding.labels,
            entries,
            axis,
        }
    }

    /// Those of an array.
    pub fn of(problem: &'a Problem, array: ArrayId) -> Vec<Dimension<'a>> {
        let symbols = &problem.equations.symbols;
        let letters = &symbols.array(array).letters;
        letters.iter().map(|letter| Dimension::new(problem, symbols.letter(*letter).axis)).collect()
    }

    /// The names of its columns: the axis, after those that it is ragged in; of listed entries all of theirs.
    pub fn names(&self) -> Vec<String> {
        let axes = |axis: AxisId| {
            let mut axes: Vec<AxisId> =
                std::iter::successors(Some(axis), |own| self.symbols.axis(*own).parent).collect();
            axes.reverse();
            axes
        };
        let own = match self.entries {
            Some(entries) => entries.coordinates.iter().flat_map(|axis| axes(*axis)).collect(),
            None => axes(self.axis),
        };
        own.into_iter().map(|axis| self.symbols.axis(axis).name.clone()).collect()
    }

    /// The labels of a position, one for each of its columns.
    pub fn labels(&self, position: usize) -> Vec<String> {
        let path = |axis: AxisId, position: usize| self.labels.path(self.symbols, self.bound, axis, position);
        match self.entries {
            None => path(self.axis, position),
            Some(entries) => {
                let each = entries.coordinates.iter().zip(&entries.columns);
                each.flat_map(|(axis, column)| path(*axis, column[position] as usize)).collect()
            }
        }
    }
}
