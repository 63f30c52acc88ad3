//! Which random numbers are whose.
//!
//! A seed has 2^64 streams of random numbers, and each use of them here has a range of its own. Two uses of one stream would draw the same numbers: data that
//! were simulated with a seed and scored with the same one were predicted by the very numbers that had made them. Random starts of q have the
//! streams below all of these (`cavi-executor/src/initialise.rs`).

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The streams of one use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Streams {
    /// The first of them.
    first: u64,
    /// How many there are.
    count: u64,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream(u64);

const fn streams(first: u64, count: u64) -> Streams {
    Streams { first, count }
}

/// Draws of an `init` block, one for each line.
pub(crate) const INIT: Streams = streams(1 << 32, 1 << 32);
/// Starts from clusters of data, one for each array, in the order of the lines of `init` that name them.
pub(crate) const CLUSTERS: Streams = streams(1 << 33, 1 << 33);
/// What is held out, one for each array of which something is, in the order of the requests.
pub(crate) const SPLITS: Streams = streams(1 << 40, 1 << 40);
/// Draws from q that scores, expectations and importance weights are averages over, one for each draw.
pub(crate) const OF_Q: Streams = streams(2 << 40, 1 << 40);
/// What is held out of rows of weight, one for each request, in their order.
pub(crate) const SPLITS_OF_ROWS: Streams = streams(3 << 40, 1 << 40);
/// Draws from q that are asked for, one for each factor.
pub(crate) const SAMPLES: Streams = streams(5 << 40, 1 << 40);
/// Data sets of a bootstrap, one for each.
pub(crate) const BOOTSTRAP: Streams = streams(6 << 40, 1 << 40);
/// Simulated latents and data, one for each statement.
pub(crate) const SIMULATED: Streams = streams(7 << 40, 1 << 40);
/// Latents of a fit, from which data are simulated: one for all.
pub(crate) const SIMULATED_FROM_Q: Streams = streams(8 << 40, 1);
/// Ties of ranks in a calibration: one for all.
pub(crate) const TIES: Streams = streams(9 << 40, 1);
/// Seeds of the data sets of a calibration, one for each.
pub(crate) const DATA_SETS: Streams = streams(10 << 40, 1 << 40);
/// Seeds of the fits to them.
pub(crate) const FITS_TO_DATA_SETS: Streams = streams(11 << 40, 1 << 40);
/// Seeds of the replicates of a check of a fit, one for each.
pub(crate) const REPLICATES: Streams = streams(12 << 40, 1 << 40);

impl Streams {
    /// The stream of this number, from 0.
    ///
    /// # Panics
    /// If there are not so many.
    pub const fn at(self, number: usize) -> Stream {
        assert!((number as u64) < self.count, "a use of random numbers has no more streams than its range");
        Stream(self.first + number as u64)
    }
}

impl Stream {
    /// The random numbers of a seed in this stream.
    pub fn of(self, seed: u64) -> ChaCha8Rng {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(self.0);
        generator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_uses_share_a_stream() {
        let mut all = [
            INIT,
            CLUSTERS,
            SPLITS,
            OF_Q,
            SPLITS_OF_ROWS,
            SAMPLES,
            BOOTSTRAP,
            SIMULATED,
            SIMULATED_FROM_Q,
            TIES,
            DATA_SETS,
            FITS_TO_DATA_SETS,
            REPLICATES,
        ];
        all.sort_by_key(|own| own.first);
        // Those below are the starts of blocks.
        assert!(all[0].first >= 1 << 32);
        for pair in all.windows(2) {
            assert!(pair[0].first + pair[0].count <= pair[1].first, "{pair:?}");
        }
    }
}
