//! The sums of some entries, whose logarithms are taken together.

use crate::special::ln_into;

/// Entries whose logarithms are taken together.
pub(super) const BLOCK: usize = 512;

/// What entries leave for their logarithms.
#[derive(Debug)]
pub(super) struct Block {
    pub count: usize,
    pub sums: [f64; BLOCK],
    pub weights: [f64; BLOCK],
    pub offsets: [f64; BLOCK],
}

impl Block {
    pub fn empty() -> Self {
        Self { count: 0, sums: [1.0; BLOCK], weights: [0.0; BLOCK], offsets: [0.0; BLOCK] }
    }

    /// `sum x (ln s + o)` over the entries so far, which are then forgotten.
    #[inline(never)]
    pub fn take(&mut self, has_offsets: bool) -> f64 {
        let count = std::mem::take(&mut self.count);
        let mut logs = [0.0; BLOCK];
        let logs = &mut logs[..count];
        ln_into(&self.sums[..count], logs);
        if has_offsets {
            logs.iter_mut().zip(&self.offsets).for_each(|(log, offset)| *log += offset);
        }
        for (log, weight) in logs.iter_mut().zip(&self.weights) {
            *log = if *weight == 0.0 { 0.0 } else { *weight * *log };
        }
        crate::reduce::sum(logs)
    }
}
