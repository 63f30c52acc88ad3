//! The names and labels of a dimension of an array, as the columns of a table.

use cavi_algebra::{ArrayId, AxisId, LetterId, Symbols};
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
    /// The letter of an axis along which the array runs more than once.
    letter: Option<LetterId>,
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
            letter: None,
        }
    }

    /// Those of an array.
    pub fn of(problem: &'a Problem, array: ArrayId) -> Vec<Dimension<'a>> {
        let symbols = &problem.equations.symbols;
        let letters = &symbols.array(array).letters;
        let axis = |letter: &LetterId| symbols.letter(*letter).axis;
        let is_repeated =
            |own: &LetterId| letters.iter().filter(|other| axis(other) == axis(own)).count() > 1;
        let of = |letter: &LetterId| Dimension {
            letter: is_repeated(letter).then_some(*letter),
            ..Dimension::new(problem, axis(letter))
        };
        letters.iter().map(of).collect()
    }

    /// Whether it is called so: by its axis, whatever else runs along it.
    pub fn is_along(&self, axis: &str) -> bool {
        self.symbols.axis(self.axis).name == axis
    }

    /// The names of its columns: the axis, after those that it is ragged in; of listed entries all of theirs. Where an array runs along
    /// an axis more than once, the letter stands for it.
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
        let mut names: Vec<String> =
            own.into_iter().map(|axis| self.symbols.axis(axis).name.clone()).collect();
        if let (Some(letter), Some(last)) = (self.letter, names.last_mut()) {
            last.clone_from(&self.symbols.letter(letter).name);
        }
        names
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
