//! Which combinations of positions are entries of an array.
//!
//! A cell is a combination of one position for each letter of an array. Not every cell is an entry: a restriction `i != j` or `i < j` leaves
//! cells out, and so do letters that run over groups. Where the letters i and j of `y[g, i, j]` are both ragged in g, an entry has both
//! positions in one group, `group(i) = group(j)`: of groups of sizes n_1, n_2, ... there are `sum_g n_g^2` entries among `(sum_g n_g)^2` cells.

use cavi_algebra::{Array, LetterId, Restriction, Symbols};
use cavi_executor::BoundAxis;

/// Which cells of an array are entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Existing {
    /// For a restricted array the two dimensions, and whether only the upper triangle exists.
    restricted: Option<(usize, usize, bool)>,
    /// Pairs of dimensions that are ragged in one axis: an entry is of one group of that.
    tied: Vec<Tied>,
}

/// Two dimensions that are ragged in one axis, with the group of each of their positions.
#[derive(Clone, Debug)]
struct Tied {
    dimensions: [usize; 2],
    groups: [Vec<usize>; 2],
}

impl Tied {
    /// Of two dimensions, if they are ragged in one axis.
    fn of(
        symbols: &Symbols,
        axes: &[BoundAxis],
        letters: &[LetterId],
        dimensions: [usize; 2],
    ) -> Option<Tied> {
        let lineages = dimensions.map(|dimension| symbols.lineage(letters[dimension]));
        let group = *lineages[0].iter().find(|letter| lineages[1].contains(letter))?;
        let groups = [0, 1].map(|side: usize| {
            let lineage = &lineages[side];
            let steps = lineage.iter().take_while(|letter| **letter != group);
            let size = axes[symbols.letter(lineage[0]).axis.index()].size;
            steps.fold((0..size).collect(), |positions: Vec<usize>, step| {
                let parents = axes[symbols.letter(*step).axis.index()].parent.as_ref();
                let parents = parents.expect("a letter with an ancestor is ragged");
                positions.into_iter().map(|position| parents[position]).collect()
            })
        });
        Some(Tied { dimensions, groups })
    }

    fn agree(&self, coordinate: &impl Fn(usize) -> usize) -> bool {
        let [left, right] = self.dimensions;
        self.groups[0][coordinate(left)] == self.groups[1][coordinate(right)]
    }
}

impl Existing {
    /// Of an array, on axes of these sizes and groups.
    pub fn of(symbols: &Symbols, axes: &[BoundAxis], array: &Array) -> Existing {
        Existing::along(symbols, axes, &array.letters, array.restriction.as_ref())
    }

    /// Of anything that has a number at each combination of positions of these letters.
    pub fn along(
        symbols: &Symbols,
        axes: &[BoundAxis],
        letters: &[LetterId],
        restriction: Option<&Restriction>,
    ) -> Existing {
        let dimension = |letter: &LetterId| letters.iter().position(|own| own == letter);
        let restricted = match restriction {
            Some(Restriction::Different(left, right)) => {
                dimension(left).zip(dimension(right)).map(|(i, j)| (i, j, false))
            }
            Some(Restriction::Less(left, right)) => {
                dimension(left).zip(dimension(right)).map(|(i, j)| (i, j, true))
            }
            None => None,
        };
        let pairs = (0..letters.len()).flat_map(|right| (0..right).map(move |left| [left, right]));
        let tied = pairs.filter_map(|pair| Tied::of(symbols, axes, letters, pair)).collect();
        Existing { restricted, tied }
    }

    /// For a restricted array the two dimensions, and whether only the upper triangle exists.
    pub fn restricted(&self) -> Option<(usize, usize, bool)> {
        self.restricted
    }

    /// Whether dimensions are tied by a group.
    pub fn is_tied(&self) -> bool {
        !self.tied.is_empty()
    }

    /// Whether there are cells without an entry.
    pub fn has_gaps(&self) -> bool {
        self.restricted.is_some() || self.is_tied()
    }

    /// Whether the cell with these positions, one for each dimension, is an entry.
    pub fn at(&self, coordinate: impl Fn(usize) -> usize) -> bool {
        self.tied.iter().all(|tied| tied.agree(&coordinate))
            && match self.restricted {
                None => true,
                Some((row, column, true)) => coordinate(row) < coordinate(column),
                Some((row, column, false)) => coordinate(row) != coordinate(column),
            }
    }

    /// The same of a slice of positions.
    pub fn is_there(&self, place: &[usize]) -> bool {
        self.at(|dimension| place[dimension])
    }
}
