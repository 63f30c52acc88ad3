//! What is known of lists of numbers that nobody changes, from going through them once.
//!
//! Data of a mapped file are read from the disk whenever they are gone through. Whether a value is missing, what the largest position is and the
//! like is therefore asked once, when the file is checked, and kept beside the list ([`Numbers::facts`](crate::Numbers::facts)). Whoever has a slice
//! alone, as kernels do, asks for it by that slice: here stand all lists about which something is known, as long as they live.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What is known of a list of values.
#[derive(Clone, Debug, PartialEq)]
pub struct OfValues {
    /// How many are not a number, which stands for a missing one.
    pub missing: usize,
    /// How many are 0.
    pub zeros: usize,
    /// The least that is a number; infinity where none is.
    pub least: f64,
    /// The largest that is a number; minus infinity where none is.
    pub most: f64,
    /// The sum of those that are numbers, added one after another.
    pub sum: f64,
    /// Whether all that are numbers are whole.
    pub are_whole: bool,
}

impl Default for OfValues {
    fn default() -> OfValues {
        OfValues {
            missing: 0,
            zeros: 0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            sum: 0.0,
            are_whole: true,
        }
    }
}

impl OfValues {
    /// Takes some more of the list in.
    pub(crate) fn see(&mut self, values: &[f64]) {
        let mut missing = 0;
        let mut zeros = 0;
        let (mut least, mut most, mut are_whole) = (self.least, self.most, true);
        for value in values {
            missing += usize::from(value.is_nan());
            zeros += usize::from(*value == 0.0);
            least = if *value < least { *value } else { least };
            most = if *value > most { *value } else { most };
            // From 2^52 on every double is whole.
            are_whole &=
                (*value as i64) as f64 == *value || value.is_nan() || value.abs() >= 4_503_599_627_370_496.0;
        }
        (self.least, self.most, self.are_whole) = (least, most, self.are_whole && are_whole);
        self.missing += missing;
        self.zeros += zeros;
        self.sum =
            values.iter().filter(|own| missing == 0 || !own.is_nan()).fold(self.sum, |sum, own| sum + own);
    }
}

/// What is known of a list of positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfPositions {
    /// How often each occurs, up to the largest; nothing where that is beyond [`LARGEST`].
    counts: Vec<u32>,
    beyond: bool,
    falls: bool,
    last: u32,
    /// Where the list begins that it ascends with.
    with: Option<usize>,
}

/// Positions are counted up to here.
const LARGEST: usize = 1 << 24;

impl OfPositions {
    /// How often each position occurs, up to the largest that does; `None` where positions are so large that they were not counted.
    pub fn counts(&self) -> Option<&[u32]> {
        (!self.beyond).then_some(&self.counts)
    }

    /// Whether no position is smaller than the one before it.
    pub fn are_sorted(&self) -> bool {
        !self.falls
    }

    /// Says that entries are sorted by another list, and those with equal positions there by this one. Both are to stay as they are, at their places.
    pub fn sorted_after(&mut self, first: &[u32]) {
        self.with = Some(first.as_ptr().addr());
    }

    /// Takes some more of the list in.
    pub(crate) fn see(&mut self, positions: &[u32]) {
        let Some(last) = positions.last() else { return };
        self.falls |= positions[0] < self.last || !positions.is_sorted();
        self.last = *last;
        let most = positions.iter().copied().max().map_or(0, |most| most as usize + 1);
        if self.beyond || most > LARGEST {
            (self.counts, self.beyond) = (Vec::new(), true);
            return;
        }
        if self.counts.len() < most {
            self.counts.resize(most, 0);
        }
        positions
            .iter()
            .for_each(|own| self.counts[*own as usize] = self.counts[*own as usize].saturating_add(1));
    }
}

/// Shorter lists are gone through whenever something is asked of them.
const SHORT: usize = 1 << 16;

/// A list of numbers about which something is known, as long as this lives.
#[derive(Debug)]
pub(crate) struct Known<F: Listed> {
    first: usize,
    pub(crate) facts: Arc<F>,
    /// A number that was computed from the list and another number, and that one.
    pub(crate) computed: Mutex<Option<(u64, u64)>>,
}

/// All lists about which something is known: where each begins, its length, and what is known.
type Lists<F> = RwLock<Vec<(usize, usize, Arc<F>)>>;

/// What may be known of a list, with the place where all such lists stand.
pub trait Listed: Sized + 'static {
    #[doc(hidden)]
    fn lists() -> &'static Lists<Self>;
}

impl Listed for OfValues {
    fn lists() -> &'static Lists<Self> {
        static LISTS: Lists<OfValues> = RwLock::new(Vec::new());
        &LISTS
    }
}

impl Listed for OfPositions {
    fn lists() -> &'static Lists<Self> {
        static LISTS: Lists<OfPositions> = RwLock::new(Vec::new());
        &LISTS
    }
}

impl<F: Listed> Known<F> {
    /// From here on this is known of a list of so many numbers from an address on.
    pub(crate) fn new(first: usize, length: usize, facts: F) -> Known<F> {
        let facts = Arc::new(facts);
        if length >= SHORT {
            let mut lists = F::lists().write().unwrap_or_else(PoisonError::into_inner);
            lists.push((first, length, Arc::clone(&facts)));
        }
        Known { first, facts, computed: Mutex::new(None) }
    }
}

impl<F: Listed> Drop for Known<F> {
    fn drop(&mut self) {
        let mut lists = F::lists().write().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(first, _, own)| *first != self.first || !Arc::ptr_eq(own, &self.facts));
    }
}

/// What is known of a list by its slice.
fn known<T, F: Listed>(numbers: &[T]) -> Option<Arc<F>> {
    if numbers.len() < SHORT {
        return None;
    }
    let (first, length) = (numbers.as_ptr().addr(), numbers.len());
    let lists = F::lists().read().unwrap_or_else(PoisonError::into_inner);
    lists.iter().find(|own| (own.0, own.1) == (first, length)).map(|own| Arc::clone(&own.2))
}

/// One more than the largest position; 0 of none.
pub fn size(positions: &[u32]) -> usize {
    match known::<_, OfPositions>(positions) {
        Some(facts) if !facts.beyond => facts.counts.len(),
        _ => positions.iter().max().map_or(0, |most| *most as usize + 1),
    }
}

/// Whether no position is smaller than the one before it.
pub fn are_sorted(positions: &[u32]) -> bool {
    known::<_, OfPositions>(positions).map_or_else(|| positions.is_sorted(), |facts| facts.are_sorted())
}

/// Whether entries are sorted by their positions in one list, and those with equal ones by those in another of the same length.
pub fn pairs_are_sorted(first: &[u32], second: &[u32]) -> bool {
    let is_known = known::<_, OfPositions>(second).is_some_and(|own| own.with == Some(first.as_ptr().addr()));
    is_known || first.iter().zip(second).is_sorted()
}

/// How often each position occurs that is less than a size, which is larger than all of them.
pub fn counts(positions: &[u32], size: usize) -> Vec<u32> {
    let mut counts = match known::<_, OfPositions>(positions) {
        Some(facts) if !facts.beyond => facts.counts.clone(),
        _ => {
            let mut counts = vec![0_u32; size];
            positions.iter().for_each(|own| counts[*own as usize] += 1);
            counts
        }
    };
    counts.resize(size, 0);
    counts
}

/// The first value that is less than 0.
pub fn first_negative(values: &[f64]) -> Option<usize> {
    match known::<_, OfValues>(values) {
        Some(facts) if facts.least >= 0.0 => None,
        _ => values.iter().position(|own| *own < 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_parts_are_those_of_the_whole() {
        let values = [3.0, 0.0, f64::NAN, -2.5, 1e300, -0.0, 7.0];
        for cut in 0..=values.len() {
            let mut facts = OfValues::default();
            facts.see(&values[..cut]);
            facts.see(&values[cut..]);
            let expected = OfValues {
                missing: 1,
                zeros: 2,
                least: -2.5,
                most: 1e300,
                sum: 3.0 - 2.5 + 1e300 + 7.0,
                are_whole: false,
            };
            assert_eq!(facts, expected, "{cut}");
        }
        let mut whole = OfValues::default();
        whole.see(&[1.0, f64::NAN, 1e300]);
        assert!(whole.are_whole);
        whole.see(&[f64::INFINITY, 0.5]);
        assert!(!whole.are_whole && whole.most == f64::INFINITY);
    }

    #[test]
    fn positions_are_counted_up_to_the_largest() {
        let mut facts = OfPositions::default();
        facts.see(&[2, 0, 2]);
        facts.see(&[4]);
        assert_eq!(facts.counts(), Some(&[1, 0, 2, 0, 1][..]));
        assert!(!facts.are_sorted());
        facts.see(&[LARGEST as u32]);
        facts.see(&[1]);
        assert_eq!(facts.counts(), None);
        let mut sorted = OfPositions::default();
        [[0, 0], [0, 3], [3, 9]].iter().for_each(|own| sorted.see(own));
        assert!(sorted.are_sorted());
        sorted.see(&[8]);
        assert!(!sorted.are_sorted());
    }

    /// What is asked by a slice is what going through it says, whether or not it was told before, and of a part of it, too.
    #[test]
    fn what_is_asked_of_a_slice_is_the_same_with_and_without_facts() {
        let rows: Vec<u32> = (0..3 * SHORT).map(|entry| (entry / 7) as u32).collect();
        let columns: Vec<u32> = (0..3 * SHORT).map(|entry| (entry % 7 * 5) as u32).collect();
        let values: Vec<f64> = (0..3 * SHORT).map(|entry| entry as f64).collect();
        let ask = || {
            let parts = [&rows[..], &columns[..], &rows[1..], &columns[..2 * SHORT], &rows[..5]];
            let of_list = |own: &[u32]| (size(own), are_sorted(own), counts(own, size(own) + 2));
            let pairs = [pairs_are_sorted(&rows, &columns), pairs_are_sorted(&columns, &rows)];
            (parts.map(of_list), pairs, [first_negative(&values), first_negative(&values[2..])])
        };
        let expected = ask();
        let mut of = [OfPositions::default(), OfPositions::default()];
        of[0].see(&rows);
        of[1].see(&columns);
        of[1].sorted_after(&rows);
        let mut of_values = OfValues::default();
        of_values.see(&values);
        let [of_rows, of_columns] = of;
        let known = (
            Known::new(rows.as_ptr().addr(), rows.len(), of_rows),
            Known::new(columns.as_ptr().addr(), columns.len(), of_columns),
            Known::new(values.as_ptr().addr(), values.len(), of_values),
        );
        assert!(
            super::known::<_, OfPositions>(&rows).is_some() && super::known::<_, OfValues>(&values).is_some()
        );
        assert_eq!(ask(), expected);
        drop(known);
        assert!(
            super::known::<_, OfPositions>(&rows).is_none() && super::known::<_, OfValues>(&values).is_none()
        );
        assert_eq!(ask(), expected);
    }
}
