//! Arrays that are observed in part, and latents that are held at values: their blocks have a row for every entry, and those that were
//! observed are point masses.

use cavi_algebra::{Block, Equations, LetterId};
use cavi_families::observed::{at_value, hold};
use cavi_families::{Batch, Extent, Posterior};
use cavi_numerics::Scratch;

use crate::data::Bound;
use crate::layout::Layout;

/// The observed rows of a block of a partly observed array, and what is held of a latent ([`Bound::arrays`] has the values of both).
#[derive(Clone, Debug)]
pub struct Observed {
    /// Of each row, whether all of it is.
    seen: Vec<bool>,
    /// Of each element.
    held: Vec<bool>,
    /// Whether any row is observed in part.
    in_part: bool,
    /// The values of every row, slice after slice.
    values: Vec<f64>,
    width: usize,
}

impl Observed {
    /// The observed rows of a block; `None` for a block of a latent that is held nowhere.
    pub fn of(equations: &Equations, bound: &Bound, block: &Block) -> Option<Observed> {
        let [member] = block.members.as_slice() else { return None };
        let array = bound.arrays.get(member.index())?.as_ref()?;
        let symbols = &equations.symbols;
        let shape = bound.shape(symbols, *member);
        let own: Vec<LetterId> = block.plates.iter().chain(&block.slices[0]).copied().collect();
        let sizes: Vec<usize> = own.iter().map(|letter| bound.size_of(symbols, *letter)).collect();
        let declared = &symbols.array(*member).letters;
        let place =
            |letter: &LetterId| own.iter().position(|own| own == letter).expect("a letter of the block");
        let from: Vec<usize> = declared.iter().map(place).collect();
        let width = block.slices[0].iter().map(|letter| bound.size_of(symbols, *letter)).product();
        let rows: usize = block.plates.iter().map(|letter| bound.size_of(symbols, *letter)).product();
        let mut observed = Observed {
            seen: vec![true; rows],
            held: vec![false; rows * width],
            in_part: false,
            values: vec![0.0; rows * width],
            width,
        };
        let mut at = vec![0; sizes.len()];
        for entry in 0..rows * width {
            let mut rest = entry;
            for (at, size) in at.iter_mut().zip(&sizes).rev() {
                *at = rest % size;
                rest /= size;
            }
            let subscripts: Vec<usize> = from.iter().map(|place| at[*place]).collect();
            // What a restriction leaves out counts as observed to be 0, as sums read it.
            let (value, seen) = match symbols.array(*member).has_entry(&subscripts) {
                true => array.entry(&shape, &subscripts),
                false => (0.0, true),
            };
            observed.values[entry] = value;
            observed.held[entry] = seen;
            observed.seen[entry / width] &= seen;
        }
        if cavi_families::posterior(block.family).holds_elements() {
            observed.in_part = (0..rows).any(|row| observed.part(row).is_some());
        }
        Some(observed)
    }

    /// The observed value of a row.
    pub fn row(&self, row: usize) -> Option<&[f64]> {
        self.seen[row].then(|| &self.values[row * self.width..(row + 1) * self.width])
    }

    /// The observed rows with their values.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &[f64])> {
        (0..self.seen.len()).filter_map(|row| Some((row, self.row(row)?)))
    }

    /// Whether some elements of a slice are held while others move.
    pub fn has_parts(&self) -> bool {
        self.in_part
    }

    /// The first row some elements of which are observed and others not.
    pub fn first_in_part(&self) -> Option<usize> {
        (0..self.seen.len()).find(|row| self.part(*row).is_some())
    }

    /// Whether an element of a row has its value.
    pub fn is_held(&self, element: usize) -> bool {
        self.held[element]
    }

    /// Which elements of a row are held and at which values, where it is some of them.
    fn part(&self, row: usize) -> Option<(&[bool], &[f64])> {
        let own = row * self.width..(row + 1) * self.width;
        let held = &self.held[own.clone()];
        (!self.seen[row] && held.contains(&true)).then(|| (held, &self.values[own]))
    }

    /// Takes the coefficients of some rows to those of their free elements, where others are held.
    pub fn hold(&self, batch: &Batch, rows: impl Iterator<Item = usize>, columns: &mut [Scratch]) {
        let [linear, square] = columns else {
            unreachable!("a family that holds elements has two statistics")
        };
        for (place, row) in rows.enumerate() {
            if let Some((held, value)) = self.part(row) {
                let square = &mut square[batch.matrix(batch.group_of(place))];
                hold(batch.n, held, value, &mut linear[batch.row(place)], square);
            }
        }
    }

    /// Makes what is observed of all rows point masses. False where the family has none.
    #[must_use]
    pub fn observe(&self, family: &dyn Posterior, batch: &Batch, descriptors: &mut [&mut [f64]]) -> bool {
        if self.in_part {
            for row in 0..self.seen.len() {
                if let Some((held, value)) = self.part(row) {
                    family.observe_elements(batch, row, held, value, descriptors);
                }
            }
        }
        self.rows().all(|(row, value)| family.observe(batch, row, value, descriptors))
    }

    /// Gives the elements that are held a variance of 1 in the covariances of vectors, apart from all others, as a proper distribution has it.
    pub fn stand_apart(&self, batch: &Batch, covariances: &mut [f64]) {
        for row in (0..self.seen.len()).filter(|_| self.in_part) {
            if let Some((held, _)) = self.part(row) {
                let start = batch.matrix(batch.group_of(row)).start;
                for element in (0..batch.n).filter(|element| held[*element]) {
                    covariances[start + element * batch.n + element] = 1.0;
                }
            }
        }
    }

    /// Gives the elements of a point that are held their values.
    pub fn put(&self, point: &mut [f64]) {
        for (own, (value, held)) in point.iter_mut().zip(self.values.iter().zip(&self.held)) {
            if *held {
                *own = *value;
            }
        }
    }

    /// Puts the expectations of those that are observed of some rows into a column of an expectation at these rows.
    pub fn expect(&self, layout: &Layout, which: usize, rows: impl Iterator<Item = usize>, out: &mut [f64]) {
        let (own, n) = (&layout.expectations[which], layout.n);
        let width = match own.extent {
            Extent::Scalar => 1,
            Extent::Vector => n,
            Extent::Matrix | Extent::Pairs => n * n,
        };
        for (place, value) in rows.enumerate().filter_map(|(place, row)| Some((place, self.row(row)?))) {
            at_value(&own.statistic, value, &mut out[place * width..(place + 1) * width]);
        }
    }

    /// What the prior of an observed row has that the bound takes from there: `sum_i c_i t_i(x)`, where the family pairs the
    /// prior with its entropy. `prior` are the natural parameters of the row's own statements, base taken off.
    pub fn pair(family: &dyn Posterior, layout: &Layout, value: &[f64], prior: &[&[f64]]) -> f64 {
        if !family.paired() {
            return 0.0;
        }
        let mut total = 0.0;
        for ((own, base), prior) in layout.statistics.iter().zip(&layout.base).zip(prior) {
            let mut statistic = Scratch::zeros(prior.len());
            at_value(&own.statistic, value, &mut statistic);
            for (statistic, prior) in statistic.iter().zip(*prior) {
                // 0 ln 0 is 0.
                let coefficient = prior + base;
                total += if coefficient == 0.0 { 0.0 } else { coefficient * statistic };
            }
        }
        total
    }
}
