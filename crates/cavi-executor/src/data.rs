//! Data and constants, bound to the arrays of a program, as the number side reads them.

use cavi_algebra::{ArrayId, AxisId, LetterId, Symbols};
use cavi_numerics::Numbers;

/// A program's axes with their sizes and its data and constants with their values.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    /// One for each axis.
    pub axes: Vec<BoundAxis>,
    /// One for each array: `None` for latents, but for those that are held at values, where the entries that are observed are held.
    pub arrays: Vec<Option<BoundArray>>,
    /// The arrays of which every cell was given, also where they are held by their entries alone.
    pub whole: Vec<ArrayId>,
}

/// The positions of an axis. A ragged axis holds those of all its parents, one after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoundAxis {
    /// How many positions.
    pub size: usize,
    /// For a ragged axis: where the group of each parent position begins, and the end of the last.
    pub starts: Option<Vec<usize>>,
    /// For a ragged axis: the parent of each position.
    pub parent: Option<Vec<usize>>,
}

/// The values of an array in C order of its dimensions (ragged ones flattened). Index arrays hold 0-based positions.
#[derive(Clone, Debug)]
pub enum BoundArray {
    /// Every entry.
    Dense {
        /// The values; 0 where missing.
        values: Numbers<f64>,
        /// Which entries are observed; `None` where all are.
        observed: Option<Vec<bool>>,
    },
    /// Listed entries only, sorted by their coordinates, no two alike.
    Sparse {
        /// One column of positions a dimension.
        indices: Vec<Numbers<u32>>,
        /// The values of the listed entries; 0 where missing.
        values: Numbers<f64>,
        /// Which listed entries are observed; `None` where all are.
        observed: Option<Vec<bool>>,
        /// Whether the entries that are not listed were observed to be 0; else they are missing.
        unlisted_zero: bool,
    },
}

impl BoundAxis {
    /// An axis of `size` positions.
    pub fn plain(size: usize) -> BoundAxis {
        BoundAxis { size, starts: None, parent: None }
    }

    /// A ragged axis, from the number of positions of each parent.
    pub fn ragged(sizes: &[usize]) -> BoundAxis {
        let mut starts = vec![0];
        let mut parent = Vec::new();
        for (group, size) in sizes.iter().enumerate() {
            parent.extend(std::iter::repeat_n(group, *size));
            starts.push(parent.len());
        }
        BoundAxis { size: parent.len(), starts: Some(starts), parent: Some(parent) }
    }
}

impl BoundArray {
    /// All entries, all observed.
    pub fn full(values: Vec<f64>) -> BoundArray {
        BoundArray::Dense { values: values.into(), observed: None }
    }

    /// The value of an entry of an array of this shape, and whether it was observed; 0 where it is missing or not listed.
    pub fn entry(&self, shape: &[usize], subscripts: &[usize]) -> (f64, bool) {
        let seen = |observed: &Option<Vec<bool>>, at: usize| observed.as_ref().is_none_or(|own| own[at]);
        match self {
            BoundArray::Dense { values, observed } => {
                let cell =
                    shape.iter().zip(subscripts).fold(0, |cell, (size, position)| cell * size + position);
                (values[cell], seen(observed, cell))
            }
            BoundArray::Sparse { values, observed, unlisted_zero, .. } => match self.listed(subscripts) {
                Some(entry) => (values[entry], seen(observed, entry)),
                None => (0.0, *unlisted_zero),
            },
        }
    }

    /// The place of these coordinates among the listed entries of a sparse array.
    pub fn listed(&self, subscripts: &[usize]) -> Option<usize> {
        let BoundArray::Sparse { indices, values, .. } = self else { return None };
        let (mut low, mut high) = (0, values.len());
        while low < high {
            let middle = low.midpoint(high);
            let entry = indices.iter().map(|column| column[middle] as usize);
            match entry.cmp(subscripts.iter().copied()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    /// Whether its values lie in a mapped file, so that they take no memory of the process.
    pub fn is_mapped(&self) -> bool {
        let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) = self;
        values.is_mapped()
    }

    /// The bytes of its positions and values.
    pub fn bytes(&self) -> usize {
        match self {
            BoundArray::Dense { values, .. } => size_of_val(values.as_slice()),
            BoundArray::Sparse { indices, values, .. } => {
                let columns: usize = indices.iter().map(|column| size_of_val(column.as_slice())).sum();
                columns + size_of_val(values.as_slice())
            }
        }
    }

    /// Whether any entry is missing.
    pub fn has_missing(&self) -> bool {
        match self {
            BoundArray::Dense { observed, .. } => observed.is_some(),
            BoundArray::Sparse { observed, unlisted_zero, .. } => observed.is_some() || !unlisted_zero,
        }
    }
}

impl Bound {
    /// The number of positions of an axis.
    pub fn size(&self, axis: AxisId) -> usize {
        self.axes[axis.index()].size
    }

    /// The number of positions of a letter's axis.
    pub fn size_of(&self, symbols: &Symbols, letter: LetterId) -> usize {
        self.size(symbols.letter(letter).axis)
    }

    /// The data or constant of an id. Latents have none.
    pub fn array(&self, id: ArrayId) -> &BoundArray {
        self.arrays[id.index()].as_ref().expect("data and constants are bound before a run")
    }

    /// The shape of an array: the sizes of its dimensions, ragged ones flattened.
    pub fn shape(&self, symbols: &Symbols, id: ArrayId) -> Vec<usize> {
        symbols.array(id).letters.iter().map(|letter| self.size_of(symbols, *letter)).collect()
    }
}
