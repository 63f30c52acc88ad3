//! The names and labels of a dimension of an array, as the columns of a table.
//!
//! A program with latents at the listed entries of data is run over these entries, and its data then have one dimension, along which a position has
//! labels on several axes. What asks for rows and columns, groups or the number of dimensions means those that the program declares ([`Declared`]).

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
        Dimension::along(problem, &problem.equations.symbols.array(array).letters)
    }

    /// Those of what has these letters.
    pub fn along(problem: &'a Problem, letters: &[LetterId]) -> Vec<Dimension<'a>> {
        let symbols = &problem.equations.symbols;
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
        let named = |(axis, letter): (AxisId, Option<LetterId>)| {
            let mut names: Vec<String> =
                self.with_those_above(axis).map(|axis| self.symbols.axis(axis).name.clone()).collect();
            if let (Some(letter), Some(last)) = (letter, names.last_mut()) {
                last.clone_from(&self.symbols.letter(letter).name);
            }
            names
        };
        let Some(entries) = self.entries else { return named((self.axis, self.letter)) };
        let each = entries.coordinates.iter().zip(&entries.letters);
        let each = each.map(|(axis, letter)| (*axis, entries.is_repeated(*axis).then_some(*letter)));
        each.flat_map(named).collect()
    }

    /// The axes of its columns, whatever these are called.
    pub fn axes(&self) -> Vec<&'a str> {
        let own = self.entries.map_or_else(|| vec![self.axis], |entries| entries.coordinates.clone());
        own.into_iter()
            .flat_map(|axis| self.with_those_above(axis))
            .map(|axis| self.symbols.axis(axis).name.as_str())
            .collect()
    }

    /// An axis after those that it is ragged in.
    fn with_those_above(&self, axis: AxisId) -> impl Iterator<Item = AxisId> {
        let mut axes: Vec<AxisId> =
            std::iter::successors(Some(axis), |own| self.symbols.axis(*own).parent).collect();
        axes.reverse();
        axes.into_iter()
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

/// A dimension of an array as the program declares it: of an array that lives at listed entries each coordinate is one.
#[derive(Clone, Copy)]
pub(crate) struct Declared<'a> {
    dimension: Dimension<'a>,
    /// The dimension of the array as it is held.
    held: usize,
    /// Of listed entries the position of each.
    column: Option<&'a [u32]>,
    /// Whether it is one of the two of `i < j`, which have no order.
    is_of_pair: bool,
}

impl<'a> Declared<'a> {
    /// Those of an array, in the order of its declaration.
    pub fn of(problem: &'a Problem, array: ArrayId) -> Vec<Declared<'a>> {
        let held = Dimension::of(problem, array).into_iter().enumerate();
        let pair = crate::rank::pair(problem.equations.symbols.array(array));
        held.flat_map(|(held, dimension)| {
            let Some(entries) = dimension.entries else {
                let is_of_pair = pair.is_some_and(|(one, other)| [one, other].contains(&held));
                return vec![Declared { dimension, held, column: None, is_of_pair }];
            };
            let each = entries.order(array).into_iter().map(|coordinate| {
                let axis = entries.coordinates[coordinate];
                let letter = entries.is_repeated(axis).then_some(entries.letters[coordinate]);
                let dimension = Dimension { entries: None, axis, letter, ..dimension };
                let is_of_pair = entries.pair.is_some_and(|own| own.contains(&coordinate));
                Declared { dimension, held, column: Some(&entries.columns[coordinate]), is_of_pair }
            });
            each.collect()
        })
        .collect()
    }

    /// That of the columns: the last one. `None` of an array of one dimension; and neither of a pair `i < j` is one, for the order of its positions says
    /// nothing.
    pub fn columns(problem: &'a Problem, array: ArrayId) -> Option<Declared<'a>> {
        let own = Declared::of(problem, array);
        let is_table = own.len() > 1;
        own.into_iter().rev().find(|own| is_table && !own.is_of_pair)
    }

    /// Its axis.
    pub fn axis(&self) -> AxisId {
        self.dimension.axis
    }

    /// How many positions it has.
    pub fn size(&self) -> usize {
        self.dimension.bound.size(self.dimension.axis)
    }

    /// Whether the array is declared with this letter here.
    pub fn is_at(&self, letter: LetterId) -> bool {
        match self.dimension.letter {
            Some(own) => own == letter,
            None => self.dimension.symbols.letter(letter).axis == self.dimension.axis,
        }
    }

    /// The dimension of the array as it is held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// How many positions another axis has.
    pub fn sizes_of(&self, axis: AxisId) -> usize {
        self.dimension.bound.size(axis)
    }

    /// The position on it of the entry that stands at these positions in the array as it is held.
    pub fn position(&self, place: &dyn Fn(usize) -> usize) -> usize {
        let own = place(self.held);
        self.column.map_or(own, |column| column[own] as usize)
    }

    /// Whether it is a coordinate of listed entries.
    pub fn is_listed(&self) -> bool {
        self.column.is_some()
    }

    /// For each position the one above it on the axis in which it is ragged; `None` where it is in none.
    pub fn groups(&self) -> Option<(AxisId, &'a [usize])> {
        let parent = self.dimension.symbols.axis(self.dimension.axis).parent?;
        let above = self.dimension.bound.axes[self.dimension.axis.index()].parent.as_deref()?;
        Some((parent, above))
    }

    /// The names of its columns, as [`Dimension::names`].
    pub fn names(&self) -> Vec<String> {
        self.dimension.names()
    }

    /// The labels of a position, one for each of its columns.
    pub fn labels(&self, position: usize) -> Vec<String> {
        self.dimension.labels(position)
    }
}

/// The groups of entries of which each had numbers of its own when data were centred or scaled over a letter: everything but that letter, of which
/// a ragged one leaves the axis above it.
pub(crate) struct Over<'a> {
    pub dimensions: Vec<Declared<'a>>,
    /// That of the letter.
    place: usize,
}

impl<'a> Over<'a> {
    /// Those of an array, as the program declares it.
    ///
    /// # Panics
    /// If the array is not declared with this letter.
    pub fn of(problem: &'a Problem, array: ArrayId, letter: LetterId) -> Over<'a> {
        let dimensions = Declared::of(problem, array);
        let place = dimensions.iter().position(|own| own.is_at(letter));
        Over { place: place.expect("the letter is one of the array's"), dimensions }
    }

    /// The shape of the numbers: that of the array, in which the letter has length 1, a ragged one that of the axis above it.
    pub fn shape(&self) -> Vec<usize> {
        let size = |(number, own): (usize, &Declared<'_>)| match (number == self.place, own.groups()) {
            (true, Some((above, _))) => own.sizes_of(above),
            (true, None) => 1,
            (false, _) => own.size(),
        };
        self.dimensions.iter().enumerate().map(size).collect()
    }

    /// The number of the group of an entry, by its position in each of the declared dimensions.
    pub fn group(&self, position: impl Fn(usize) -> usize) -> usize {
        self.dimensions.iter().enumerate().fold(0, |group, (number, own)| {
            match (number == self.place, own.groups()) {
                (true, Some((above, parents))) => group * own.sizes_of(above) + parents[position(number)],
                (true, None) => group,
                (false, _) => group * own.size() + position(number),
            }
        })
    }

    /// The same by the entry's place in the array as it is held.
    pub fn group_at(&self, place: &dyn Fn(usize) -> usize) -> usize {
        self.group(|number| self.dimensions[number].position(place))
    }
}
