//! Seeds of what is repeated with one seed: the n-th data set of `calibrate`, the n-th replicate of `check-fit`.
//!
//! A seed `S + n` for the n-th would make runs with the seeds S and S + 1 the same but for one of their repetitions, so that a check with
//! another seed would say little else. The n-th seed is the first number of the n-th of many random streams of S, and no other seed has it
//! but by chance.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The first stream of the data sets of `calibrate`.
pub(crate) const OF_DATA_SETS: u64 = 10 << 40;

/// The first stream of the fits to them.
pub(crate) const OF_THEIR_FITS: u64 = 11 << 40;

/// The first stream of the replicates of `check-fit`.
pub(crate) const OF_REPLICATES: u64 = 12 << 40;

/// The seed with this number, counted from 0, among those that begin at a stream.
pub(crate) fn nth(seed: u64, first_stream: u64, number: usize) -> u64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(first_stream + number as u64);
    rng.random()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn seeds_beside_each_other_have_no_seed_in_common() {
        let streams = [OF_DATA_SETS, OF_THEIR_FITS, OF_REPLICATES];
        let all: BTreeSet<u64> = (0..4)
            .flat_map(|seed| streams.map(|stream| (seed, stream)))
            .flat_map(|(seed, stream)| (0..100).map(move |number| nth(seed, stream, number)))
            .collect();
        assert_eq!(all.len(), 4 * 3 * 100);
        assert_eq!(nth(7, OF_DATA_SETS, 3), nth(7, OF_DATA_SETS, 3));
    }
}
