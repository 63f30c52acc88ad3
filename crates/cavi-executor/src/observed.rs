//! Arrays that are observed in part: their blocks have a row for every entry, and those that were observed are point masses.

use cavi_algebra::{Block, Equations, LetterId};
use cavi_families::observed::at_value;
use cavi_families::{Batch, Extent, Posterior};
use cavi_numerics::Scratch;

use crate::data::Bound;
use crate::layout::Layout;

/// The observed rows of a block of a partly observed array.
#[derive(Clone, Debug)]
pub struct Observed {
    seen: Vec<bool>,
    /// The values of every row, slice after slice.
    values: Vec<f64>,
    width: usize,
}

impl Observed {
    /// The observed rows of a block; `None` for a block of a latent.
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
        let mut observed = Observed { seen: vec![true; rows], values: vec![0.0; rows * width], width };
        let mut at = vec![0; sizes.len()];
        for entry in 0..rows * width {
            let mut rest = entry;
            for (at, size) in at.iter_mut().zip(&sizes).rev() {
                *at = rest % size;
                rest /= size;
            }
            let subscripts: Vec<usize> = from.iter().map(|place| at[*place]).collect();
            let (value, seen) = array.entry(&shape, &subscripts);
            observed.values[entry] = value;
            observed.seen[entry / width] &= seen;
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

    /// Makes the observed rows point masses. False where the family has none.
    #[must_use]
    pub fn observe(&self, family: &dyn Posterior, batch: &Batch, descriptors: &mut [&mut [f64]]) -> bool {
        self.rows().all(|(row, value)| family.observe(batch, row, value, descriptors))
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
