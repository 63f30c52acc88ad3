//! The layout of the factors of q in memory: a row for each copy, slices beside each other, and shared matrices
//! stored once.

use cavi_algebra::{ArrayId, Block, Equations, LetterId, Natural, Support, Symbols};
use cavi_families::{Batch, Expectation, Extent, Posterior};

use crate::data::Bound;

/// The rows of a block. Row `r` is the copy whose plate letters have the values of `r` in mixed radix, in the order of
/// [`Block::plates`]; a ragged letter counts through all its groups. Where the slice itself is ragged, a row holds the copies
/// of all groups, one after another.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The sizes of the plate letters.
    pub plates: Vec<usize>,
    /// The number of rows.
    pub rows: usize,
    /// Of a slice over a ragged axis, where each group begins in a row, and the end of the last; else empty.
    pub starts: Vec<usize>,
    /// For each member the sizes of its slice letters.
    pub slices: Vec<Vec<usize>>,
    /// The length of the slice (of real variables all slices of the members together), or the number of classes; 1 for
    /// scalars. Of a matrix over two slices the length of one.
    pub n: usize,
    /// The letters that matrix columns depend on: plate letters of the block, or ancestors of them.
    pub group_letters: Vec<LetterId>,
    /// The sizes of those letters.
    pub group_sizes: Vec<usize>,
    /// The group of each row; empty where each row is its own.
    pub group: Vec<usize>,
    /// The number of groups.
    pub groups: usize,
    /// The statistics of its family, and the expectations that it answers.
    pub statistics: Vec<Expectation>,
    /// See above.
    pub expectations: Vec<Expectation>,
    /// What the base measure of its family takes of each coefficient.
    pub base: Vec<f64>,
}

/// The descriptors of every block, in the order of its family's list, one column each ([`Batch`] says how a column is
/// laid out). A point has one column for each member: its values, rows by slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// One for each block.
    pub blocks: Vec<Vec<Vec<f64>>>,
}

impl Layout {
    /// The layout of a block.
    pub fn new(
        equations: &Equations,
        bound: &Bound,
        block: &Block,
        missing: &dyn Fn(ArrayId) -> bool,
    ) -> Layout {
        let symbols = &equations.symbols;
        let size = |letter: &LetterId| bound.size_of(symbols, *letter);
        let plates: Vec<usize> = block.plates.iter().map(size).collect();
        let rows: usize = plates.iter().product();
        let slices: Vec<Vec<usize>> =
            block.slices.iter().map(|letters| letters.iter().map(size).collect()).collect();
        let n = match block.classes {
            Some(letter) => size(&letter),
            None if is_one_vector(block) => slices.iter().map(|sizes| sizes.iter().product::<usize>()).sum(),
            None if symbols.array(block.members[0]).support == Support::PositiveDefinite => slices[0][0],
            None => slices[0].iter().product(),
        };
        let axis = block.ragged_slice(symbols).map(|slice| symbols.letter(slice).axis);
        let starts = axis.and_then(|axis| bound.axes[axis.index()].starts.clone()).unwrap_or_default();
        // Nothing is shared if there is no copy, nor if some rows are point masses because they were observed.
        let own = rows == 0 || block.members.iter().any(|member| is_data(bound, *member));
        let group_letters = if own { block.plates.clone() } else { shared_letters(symbols, block, missing) };
        let group_sizes: Vec<usize> = group_letters.iter().map(size).collect();
        let groups = group_sizes.iter().product();
        let own = group_letters == block.plates;
        let mut group = Vec::new();
        if !own {
            for row in 0..rows {
                let mut rest = row;
                let mut values = vec![0; plates.len()];
                for (value, size) in values.iter_mut().zip(&plates).rev() {
                    *value = rest % size;
                    rest /= size;
                }
                let mut number = 0;
                for (letter, size) in group_letters.iter().zip(&group_sizes) {
                    number = number * size + value_of(symbols, bound, *letter, &block.plates, &values);
                }
                group.push(number);
            }
        }
        let family = cavi_families::posterior(block.family);
        let statistics = family.statistics();
        let expectations = family.expectations();
        Layout {
            plates,
            rows,
            starts,
            slices,
            n,
            group_letters,
            group_sizes,
            group,
            groups,
            statistics,
            expectations,
            base: family.base(),
        }
    }

    /// How many numbers describe the block: its defining descriptors, or the values of a point.
    pub fn values(&self, block: &Block) -> usize {
        if block.is_point() {
            return self.rows * self.width();
        }
        let family = cavi_families::posterior(block.family);
        let batch = self.batch();
        family.descriptors().iter().filter(|own| own.defining).map(|own| batch.len(own.extent)).sum()
    }

    /// How many values a copy has, all members together.
    pub fn width(&self) -> usize {
        self.slices.iter().map(|sizes| sizes.iter().product::<usize>()).sum()
    }

    /// For each member, where its values begin in the vector of a copy, for members that stand beside each other in one.
    pub fn offsets(&self) -> Vec<usize> {
        let widths = self.slices.iter().map(|sizes| sizes.iter().product::<usize>());
        widths.scan(0, |next, width| Some(std::mem::replace(next, *next + width))).collect()
    }

    /// The batch of all copies.
    pub fn batch(&self) -> Batch<'_> {
        Batch { groups: self.groups, group: &self.group, ..self.batch_of(self.rows) }
    }

    /// The batch of the copies in as many rows, each its own group.
    pub fn batch_of(&self, rows: usize) -> Batch<'_> {
        Batch::cut(rows, self.n, &self.starts)
    }

    /// The slices of a member, as the rows of a column of its values.
    pub fn slices_of(&self, member: usize) -> Batch<'_> {
        if self.starts.is_empty() {
            return Batch::of(self.rows, self.slices[member].iter().product());
        }
        self.batch()
    }

    /// The positions of the letters that number a copy: those of its row, then that of its group.
    pub fn positions(&self, copy: usize) -> Vec<usize> {
        let each = self.batch_of(1).rows_in_n();
        let groups = (!self.starts.is_empty()).then_some(each);
        let sizes: Vec<usize> = self.plates.iter().copied().chain(groups).collect();
        let mut positions = vec![0; sizes.len()];
        let mut rest = copy;
        for (position, size) in positions.iter_mut().zip(&sizes).rev() {
            *position = rest % size.max(&1);
            rest /= size.max(&1);
        }
        positions
    }
}

/// Whether a member of a block is data, observed in part.
fn is_data(bound: &Bound, member: ArrayId) -> bool {
    bound.arrays.get(member.index()).is_some_and(Option::is_some)
}

/// Whether several variables stand beside each other in one vector.
pub fn is_one_vector(block: &Block) -> bool {
    block.members.len() > 1 && cavi_families::posterior(block.family).one_vector()
}

/// The value of a plate letter or of an ancestor of one, given the values of the plate letters.
pub(crate) fn value_of(
    symbols: &Symbols,
    bound: &Bound,
    letter: LetterId,
    plates: &[LetterId],
    values: &[usize],
) -> usize {
    for (plate, value) in plates.iter().zip(values) {
        let mut value = *value;
        for step in symbols.lineage(*plate) {
            if step == letter {
                return value;
            }
            let axis = &bound.axes[symbols.letter(step).axis.index()];
            match &axis.parent {
                Some(parent) => value = parent[value],
                None => break,
            }
        }
    }
    unreachable!("a letter of a coefficient is a plate letter of the block or an ancestor of one")
}

/// The plate letters that the matrix coefficients of a block depend on. A mask of data without a missing entry does not
/// count.
fn shared_letters(symbols: &Symbols, block: &Block, missing: &dyn Fn(ArrayId) -> bool) -> Vec<LetterId> {
    let family = cavi_families::posterior(block.family);
    let matrix = |natural: &Natural| {
        let place = family.place_of(&natural.statistic);
        place.is_some_and(|place| family.statistics()[place].extent == Extent::Matrix)
    };
    if !block.natural.iter().any(matrix) {
        return block.plates.clone();
    }
    let mut present: Vec<LetterId> = Vec::new();
    for natural in &block.natural {
        if matrix(natural) {
            present.extend(depends_on(symbols, &natural.coefficient, missing));
        }
    }
    // In the order of the plates: the plate itself, or the innermost ancestor that is present.
    let mut letters = Vec::new();
    for plate in &block.plates {
        for step in symbols.lineage(*plate) {
            if present.contains(&step) {
                if !letters.contains(&step) {
                    letters.push(step);
                }
                break;
            }
        }
    }
    letters
}

/// The letters that the value of a sum depends on. A letter whose child is summed is one of them, though no factor may
/// mention it: the child runs over its group.
fn depends_on(
    symbols: &Symbols,
    sum: &cavi_algebra::Sum,
    missing: &dyn Fn(ArrayId) -> bool,
) -> Vec<LetterId> {
    let mut letters = Vec::new();
    for term in &sum.terms {
        let mut own: Vec<LetterId> = term.sums.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
        for factor in &term.factors {
            let full_mask =
                matches!(&factor.atom, cavi_algebra::Atom::Observed(array, _) if !missing(*array));
            let nested = factor.atom.nested();
            if nested.is_empty() && !full_mask {
                own.extend(factor.atom.free_letters(symbols));
            }
            nested.into_iter().for_each(|inner| own.extend(depends_on(symbols, inner, missing)));
        }
        letters.extend(own.into_iter().filter(|letter| !term.sums.contains(letter)));
    }
    letters
}

/// The extent of descriptor `index` of a block.
pub fn extent(posterior: &dyn Posterior, index: usize) -> Extent {
    posterior.descriptors()[index].extent
}
