//! Parts that are drawn at random: a share, or one of several parts that are disjoint and together are all.
//!
//! The units of a count n go to K parts with probability 1/K each: part 1 has Binomial(n, 1/K) of them, and each further one
//! Binomial(rest, 1/(parts left)), which together is Multinomial(n, 1/K). Entries (and slices) are put in an order, each as
//! likely as any other, and part k has those from n k/K to n (k + 1)/K. Every part is drawn with the same random numbers.

use std::ops::Range;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution};

use super::{Entry, Hidden, Split};
use crate::bind::data_error::DataError;

/// Which part is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Draw {
    /// This share, between 0 and 1.
    Share(f64),
    /// One of several parts of equal size.
    Fold(Fold),
}

/// One of several parts of equal size, disjoint and together all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Which one, from 0.
    pub number: usize,
    /// How many there are, at least 2.
    pub of: usize,
}

impl Draw {
    /// How many of so many units are drawn.
    pub fn units(self, count: u64, rng: &mut ChaCha8Rng) -> u64 {
        match self {
            Draw::Share(share) => binomial(count, share, rng),
            Draw::Fold(fold) => {
                let (mut left, mut own) = (count, 0);
                for number in 0..fold.of {
                    let rest = fold.of - number;
                    let units = if rest == 1 { left } else { binomial(left, 1.0 / rest as f64, rng) };
                    left -= units;
                    if number == fold.number {
                        own = units;
                    }
                }
                own
            }
        }
    }

    /// The expected number of drawn units for each one that stays.
    pub fn odds(self) -> f64 {
        match self {
            Draw::Share(share) => share / (1.0 - share),
            Draw::Fold(fold) => 1.0 / (fold.of as f64 - 1.0),
        }
    }
}

fn binomial(count: u64, share: f64, rng: &mut ChaCha8Rng) -> u64 {
    Binomial::new(count, share).expect("a share is a probability").sample(rng)
}

impl Fold {
    /// Which of so many it has.
    fn range(self, count: usize) -> Range<usize> {
        let start = |number: usize| (count as u128 * number as u128 / self.of as u128) as usize;
        start(self.number)..start(self.number + 1)
    }
}

/// Puts items in an order, each as likely as any other (Knuth, The Art of Computer Programming 2, algorithm 3.4.2 P).
fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.random_range(0..=last));
    }
}

impl Split<'_> {
    /// One of several parts of the observed entries; where unlisted entries are observed zeros, of the listed ones, and as many zeros.
    ///
    /// # Errors
    /// More parts than entries.
    pub(super) fn fold(&self, fold: Fold, rng: &mut ChaCha8Rng) -> Result<Hidden, DataError> {
        let observed = self.observed();
        let (numbers, rows) = self.numbered(&observed);
        let mut units: Vec<usize> = rows.into_values().flatten().collect();
        if units.len() < fold.of {
            let name = &self.target.array.name;
            let what = if self.hide.whole.is_empty() { "entries" } else { "rows" };
            return Err(DataError::new(format!(
                "`{name}` has {} {what}, and {} parts of it are to be held out in turn",
                units.len(),
                fold.of
            ))
            .possible("at most as many parts as there are entries"));
        }
        let count = units.len();
        shuffle(&mut units, rng);
        let mut chosen = vec![false; observed.len()];
        units[fold.range(count)].iter().for_each(|number| chosen[*number] = true);
        let mut held: Vec<Entry> = observed
            .into_iter()
            .zip(numbers)
            .filter(|(_, number)| chosen[*number])
            .map(|(entry, _)| entry)
            .collect();
        if self.lists && self.hide.whole.is_empty() {
            let mut zeros = self.zeros(count, 0, rng);
            shuffle(&mut zeros, rng);
            let own = fold.range(zeros.len());
            held.extend(zeros.drain(own).map(|place| (place, 0.0)));
            held.sort_by(|left, right| left.0.cmp(&right.0));
        }
        Ok(self.hidden(held, None))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn folds_are_disjoint_and_together_all_units() {
        let units = |number: usize| -> Vec<u64> {
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let draw = Draw::Fold(Fold { number, of: 4 });
            (0..200).map(|count| draw.units(count, &mut rng)).collect()
        };
        let all: Vec<Vec<u64>> = (0..4).map(units).collect();
        for count in 0..200 {
            assert_eq!(all.iter().map(|own| own[count]).sum::<u64>(), count as u64);
        }
        // Of 19,900 units a quarter is 4,975 in expectation, with a standard deviation of 61.
        for own in &all {
            let sum: u64 = own.iter().sum();
            assert!((4670..5280).contains(&sum), "{sum}");
        }
        let ranges: Vec<Range<usize>> = (0..4).map(|number| Fold { number, of: 4 }.range(10)).collect();
        assert_eq!(ranges, [0..2, 2..5, 5..7, 7..10]);
    }

    #[test]
    fn a_shuffle_puts_every_item_at_every_place_alike() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut seen = [[0_u32; 4]; 4];
        for _ in 0..4000 {
            let mut items = [0, 1, 2, 3];
            shuffle(&mut items, &mut rng);
            (0..4).for_each(|place| seen[place][items[place]] += 1);
        }
        // 1000 expected, with a standard deviation of 27.
        assert!(seen.iter().flatten().all(|count| (860..1140).contains(count)), "{seen:?}");
    }
}
