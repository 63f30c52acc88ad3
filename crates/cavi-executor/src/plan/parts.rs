//! The rows of a block, cut into parts that stay in the cache, on all threads. Parts follow from the layout alone, and rows do not
//! depend on one another, so that the bits depend on neither.

use std::ops::Range;

use cavi_families::{Batch, Descriptor, Extent, Posterior, Views};

use crate::layout::Layout;

/// As many values of a column are treated together.
const PART: usize = 1 << 13;

/// The rows of a block, cut at values of its first plate letter.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// The layout of the block.
    pub layout: &'a Layout,
    /// All rows.
    pub whole: Batch<'a>,
    /// The values of the first plate letter.
    pub letters: usize,
    /// How many of them are a part.
    step: usize,
}

impl<'a> Parts<'a> {
    /// One part for all rows where there are few, where rows share matrices, and of slices of no element.
    pub fn new(family: &dyn Posterior, layout: &'a Layout) -> Parts<'a> {
        let (batch, letters) = (layout.batch(), layout.plates.first().copied().unwrap_or(1));
        let descriptors = family.descriptors().iter().map(|own| own.extent);
        let extents = || descriptors.clone().chain(layout.statistics.iter().map(|own| own.extent));
        let shares = !layout.group.is_empty() && extents().any(|extent| extent == Extent::Matrix);
        let values = extents().map(|extent| batch.len(extent)).max().unwrap_or(0);
        if values <= PART || shares || layout.n == 0 {
            return Parts { layout, whole: batch, letters, step: letters.max(1) };
        }
        Parts { layout, whole: batch, letters, step: (PART * letters / values).max(1) }
    }

    /// Whether all rows are one part.
    pub fn is_one(&self) -> bool {
        self.step >= self.letters
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.letters.div_ceil(self.step)
    }

    /// The values of the first plate letter in a part.
    pub fn letters(&self, part: usize) -> Range<usize> {
        part * self.step..self.letters.min((part + 1) * self.step)
    }

    /// How many of the values of an array of all rows the parts hold, the last one fewer.
    pub fn values(&self, all: usize) -> usize {
        self.step * (all / self.letters)
    }

    /// The rows of a part.
    pub fn rows(&self, part: usize) -> Range<usize> {
        let inner = self.whole.rows / self.letters;
        let letters = self.letters(part);
        letters.start * inner..letters.end * inner
    }

    /// The batch of a part.
    pub fn batch(&self, part: usize) -> Batch<'a> {
        if self.is_one() {
            return self.whole;
        }
        let rows = self.rows(part).len();
        Batch { rows, groups: rows, group: &[], ..self.whole }
    }

    /// How many values of a column of this extent the parts hold, the last one fewer.
    pub fn length(&self, extent: Extent) -> usize {
        self.batch(0).len(extent).max(1)
    }

    /// The values of a part in columns of these descriptors.
    pub fn take<'c>(&self, part: usize, columns: &[&'c [f64]], descriptors: &[Descriptor]) -> Views<'c> {
        let own = columns.iter().zip(descriptors).map(|(column, own)| {
            let start = part * self.length(own.extent);
            &column[start..start + self.batch(part).len(own.extent)]
        });
        own.collect()
    }
}
