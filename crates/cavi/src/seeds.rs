//! Seeds of what is repeated with one seed: the n-th data set of `calibrate`, the n-th replicate of `check-fit`.
//!
//! A seed `S + n` for the n-th would make runs with the seeds S and S + 1 the same but for one of their repetitions, so that a check with
//! another seed would say little else. The n-th seed is the first number of the n-th of many random streams of S, and no other seed has it
//! but by chance.

use rand::Rng;

use crate::streams::Streams;

/// The seed with this number, counted from 0, among those of a use.
pub(crate) fn nth(seed: u64, streams: Streams, number: usize) -> u64 {
    streams.at(number).of(seed).random()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::streams::{DATA_SETS, FITS_TO_DATA_SETS, REPLICATES};

    #[test]
    fn seeds_beside_each_other_have_no_seed_in_common() {
        let streams = [DATA_SETS, FITS_TO_DATA_SETS, REPLICATES];
        let all: BTreeSet<u64> = (0..4)
            .flat_map(|seed| streams.map(|stream| (seed, stream)))
            .flat_map(|(seed, stream)| (0..100).map(move |number| nth(seed, stream, number)))
            .collect();
        assert_eq!(all.len(), 4 * 3 * 100);
        assert_eq!(nth(7, DATA_SETS, 3), nth(7, DATA_SETS, 3));
    }
}
