//! Which combinations of positions are entries of an array.
//!
//! A cell is a combination of one position for each letter of an array. Not every cell is an entry: a restriction `i != j` or `i < j` leaves
//! cells out, and so do letters that run over groups. Where the letters i and j of `y[g, i, j]` are both ragged in g, an entry has both
//! positions in one group, `group(i) = group(j)`: of groups of sizes n_1, n_2, ... there are `sum_g n_g^2` entries among `(sum_g n_g)^2` cells.

use std::collections::BTreeMap;

use cavi_algebra::{Array, LetterId, Restriction, Symbols};
use cavi_executor::BoundAxis;

use crate::heldout::unflat;

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

    /// The number of entries of an array of this shape; `None` if that is beyond any memory.
    ///
    /// Dimensions are counted one after another, by groups: each way to choose groups so far stands for so many combinations of positions, and
    /// the next dimension multiplies it by the number of its positions in these groups. The time is that of the groups, not of the cells.
    /// With a restriction, those with equal positions are taken off: they are counted as entries in which both dimensions are one. Of
    /// the rest, `i < j` keeps half: an exchange of the positions turns each entry into another.
    pub fn count(&self, shape: &[usize]) -> Option<usize> {
        let dimensions: Vec<Vec<usize>> = (0..shape.len()).map(|own| vec![own]).collect();
        let all = self.count_of(shape, &dimensions)?;
        let Some((row, column, upper)) = self.restricted else { return Some(all) };
        if !self.is_symmetric(row, column) {
            return Some(self.count_one_by_one(shape));
        }
        let one = dimensions.into_iter().filter(|own| own.as_slice() != [column]);
        let one = one.map(|own| if own.as_slice() == [row] { vec![row, column] } else { own });
        let apart = all - self.count_of(shape, &one.collect::<Vec<_>>())?;
        Some(if upper { apart / 2 } else { apart })
    }

    /// The number of combinations of positions whose groups agree, where the dimensions of each list have one position.
    fn count_of(&self, shape: &[usize], lists: &[Vec<usize>]) -> Option<usize> {
        // For each tie between two lists, the places of both and the groups of their positions.
        let place = |dimension: usize| lists.iter().position(|own| own.contains(&dimension));
        let ties: Vec<([usize; 2], &Tied)> = (self.tied.iter())
            .filter_map(|own| Some(([place(own.dimensions[0])?, place(own.dimensions[1])?], own)))
            .filter(|(places, _)| places[0] != places[1])
            .collect();
        // The groups that were chosen for ties whose other side is still to come, and how many combinations chose them.
        let mut chosen: BTreeMap<Vec<Option<usize>>, usize> = BTreeMap::from([(vec![None; ties.len()], 1)]);
        for (number, list) in lists.iter().enumerate() {
            let own: Vec<(usize, usize, bool)> = (ties.iter().enumerate())
                .filter_map(|(tie, (places, _))| {
                    let side = places.iter().position(|own| *own == number)?;
                    Some((tie, side, places[1 - side] < number))
                })
                .collect();
            if own.is_empty() {
                let size = shape[list[0]];
                let mut all = chosen.values_mut();
                all.try_for_each(|ways| ways.checked_mul(size).map(|product| *ways = product))?;
                continue;
            }
            let mut groups: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
            for position in 0..shape[list[0]] {
                let key = own.iter().map(|(tie, side, _)| ties[*tie].1.groups[*side][position]).collect();
                *groups.entry(key).or_default() += 1;
            }
            let (before, after): (Vec<usize>, Vec<usize>) = (0..own.len()).partition(|at| own[*at].2);
            let mut by_before: BTreeMap<Vec<usize>, Vec<(&Vec<usize>, usize)>> = BTreeMap::new();
            for (key, count) in &groups {
                by_before.entry(before.iter().map(|at| key[*at]).collect()).or_default().push((key, *count));
            }
            let mut next: BTreeMap<Vec<Option<usize>>, usize> = BTreeMap::new();
            for (state, ways) in chosen {
                let wanted: Option<Vec<usize>> = before.iter().map(|at| state[own[*at].0]).collect();
                for (key, count) in by_before.get(&wanted?).into_iter().flatten() {
                    let mut state = state.clone();
                    before.iter().for_each(|at| state[own[*at].0] = None);
                    after.iter().for_each(|at| state[own[*at].0] = Some(key[*at]));
                    let slot = next.entry(state).or_default();
                    *slot = slot.checked_add(ways.checked_mul(*count)?)?;
                }
            }
            chosen = next;
        }
        chosen.into_values().try_fold(0_usize, usize::checked_add)
    }

    /// Whether the two restricted dimensions are tied to each other one alike.
    fn is_symmetric(&self, row: usize, column: usize) -> bool {
        let of = |own: usize| -> BTreeMap<usize, [&Vec<usize>; 2]> {
            let ties = self.tied.iter().filter_map(|tied| {
                let side = tied.dimensions.iter().position(|other| *other == own)?;
                Some((tied.dimensions[1 - side], [&tied.groups[side], &tied.groups[1 - side]]))
            });
            ties.filter(|(other, _)| ![row, column].contains(other)).collect()
        };
        of(row) == of(column)
    }

    /// The number of entries, looked at one by one.
    fn count_one_by_one(&self, shape: &[usize]) -> usize {
        let cells: usize = shape.iter().product();
        let mut place = vec![0; shape.len()];
        let mut count = 0;
        for _ in 0..cells {
            count += usize::from(self.is_there(&place));
            for (position, size) in place.iter_mut().zip(shape).rev() {
                *position += 1;
                if *position < *size {
                    break;
                }
                *position = 0;
            }
        }
        count
    }

    /// The cells, a list of positions each, that are no entries since two of their positions are equal, where `i != j` is asked of an array of
    /// this shape; none of any other.
    pub fn equal_positions(&self, shape: &[usize]) -> Vec<Vec<usize>> {
        let Some((row, column, false)) = self.restricted else { return Vec::new() };
        let apart: Vec<usize> =
            (0..shape.len()).map(|place| if place == column { 1 } else { shape[place] }).collect();
        let cell = |number: usize| {
            let mut positions = unflat(&apart, number).to_vec();
            positions[column] = positions[row];
            positions
        };
        (0..apart.iter().product()).map(cell).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tied(dimensions: [usize; 2], groups: [&[usize]; 2]) -> Tied {
        Tied { dimensions, groups: groups.map(<[usize]>::to_vec) }
    }

    /// Counted by hand and one by one.
    fn check(existing: &Existing, shape: &[usize], expected: usize) {
        assert_eq!(existing.count(shape), Some(expected), "{shape:?}");
        assert_eq!(existing.count_one_by_one(shape), expected, "{shape:?}");
    }

    #[test]
    fn entries_of_pairs_in_groups_are_counted_by_groups() {
        // Groups of 3, 1, 0 and 2 positions: 9 + 1 + 4 pairs, of which 6 are of one position with itself.
        let of = [0, 0, 0, 1, 3, 3];
        let pairs = |restricted| Existing { restricted, tied: vec![tied([0, 1], [&of, &of])] };
        check(&pairs(None), &[6, 6], 14);
        check(&pairs(Some((0, 1, false))), &[6, 6], 8);
        check(&pairs(Some((0, 1, true))), &[6, 6], 4);
        // Triples in one group, 27 + 1 + 8, and the same beside a plain dimension.
        let all = vec![tied([0, 1], [&of, &of]), tied([0, 2], [&of, &of]), tied([1, 2], [&of, &of])];
        check(&Existing { restricted: None, tied: all.clone() }, &[6, 6, 6], 36);
        check(&Existing { restricted: None, tied: all.clone() }, &[6, 6, 6, 2], 72);
        // i < j < anything in the group: 3 * 3 + 0 + 1 * 2.
        check(&Existing { restricted: Some((0, 1, true)), tied: all }, &[6, 6, 6], 11);
        check(&Existing::default(), &[3, 4], 12);
        check(&Existing { restricted: Some((0, 2, true)), tied: Vec::new() }, &[3, 4, 3], 12);
        check(&pairs(None), &[6, 6, 0], 0);
    }

    /// Of y[s, c, i, e, j, p] with i in c, j in e, both classes in the school s, and p in c: an exchange of i and j is no entry.
    #[test]
    fn a_restriction_of_dimensions_that_are_tied_apart_is_counted_too() {
        let (school, class) = ([0, 0, 0, 0, 1], [0, 0, 1, 1, 2]);
        let ties = vec![
            tied([0, 1], [&school, &school]),
            tied([0, 2], [&class, &class]),
            tied([1, 2], [&school, &school]),
        ];
        let existing = Existing { restricted: Some((0, 1, true)), tied: ties };
        // Pairs of the first school: (0,1), (0,2), (0,3), (1,2), (1,3), (2,3), each with the two of the class of the first.
        check(&existing, &[5, 5, 5], 12);
    }

    #[test]
    fn large_groups_take_no_square_of_time() {
        let of: Vec<usize> = (0..1_000_000).map(|own| own / 10).collect();
        let existing = Existing { restricted: None, tied: vec![tied([0, 1], [&of, &of])] };
        assert_eq!(existing.count(&[1_000_000, 1_000_000]), Some(10_000_000));
        let beyond = Existing::default().count(&[usize::MAX, 3]);
        assert_eq!(beyond, None);
    }
}
