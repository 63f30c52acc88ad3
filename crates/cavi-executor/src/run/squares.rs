//! Squares of the data that were multiplied out, until their difference has too few digits left.
//!
//! `sum (x - t)^2 = sum x^2 - 2 sum x t + sum t^2` has an error of a few units of rounding of its terms. Of noise of a share `s` of
//! the signal, `eps / s^2` of the sum is lost; of data without noise all is, and a rate may come out negative. A run that finds the
//! sum smaller than [`SHARE`] of its terms goes on with residuals.

use cavi_algebra::BlockId;
use cavi_numerics::{Scratch, release_scratch};

use super::Executor;
use super::sweep::{End, NEVER, Stop};
use crate::layout::Parameters;
use crate::plan::{Opened, plan_with};
use crate::reduce::{Ballot, Key, Reducer};
use crate::trouble::Trouble;

/// A sum of so small a share of its terms has lost digits: five or more of sixteen. The bound of n entries, in which the sum
/// times the precision is about n, keeps 1e-10 of n.
const SHARE: f64 = 1e-5;

/// A sum over fewer entries may be small by chance.
const ENTRIES: usize = 32;

impl Executor<'_> {
    /// The sum of a node's parts that are kept, and whether it has lost digits.
    pub(super) fn sum_of_squares(&self, opened: Opened, out: &mut [f64]) -> bool {
        let parts = self.prepared[opened.node.index()].iter();
        let (mut sizes, mut own) = (Scratch::zeros(out.len()), Scratch::zeros(out.len()));
        for prepared in parts.filter(|part| !part.streams(&self.plan.streamed)) {
            own.fill(0.0);
            prepared.run(&self.values, &self.plan.maps, &mut own, &self.threads);
            for ((out, size), own) in out.iter_mut().zip(&mut *sizes).zip(&*own) {
                *out += own;
                *size += own.abs();
            }
        }
        if opened.entries / ENTRIES >= out.len() {
            return out.iter().zip(&*sizes).any(|(sum, size)| sum.abs() < SHARE * size);
        }
        out.iter().map(|sum| sum.abs()).sum::<f64>() < SHARE * sizes.iter().sum::<f64>()
    }

    /// Goes on with residuals if digits were lost. Whether it does.
    pub(super) fn keep_digits(&mut self) -> bool {
        let mut ballot = Ballot::any(self.lost);
        let Ok(()) = self.reducer.vote(Key { what: "lost digits", number: 0 }, &mut ballot);
        ballot.any != 0 && self.take_residuals()
    }

    /// Updates all copies of a block, allocations held.
    pub fn update(&mut self, id: BlockId) -> Result<(), Trouble> {
        self.update_in(id, &[id], NEVER).map_err(End::trouble)
    }

    /// The same for a block of a group that shares its allocations.
    pub(super) fn update_in(&mut self, id: BlockId, group: &[BlockId], stop: Stop) -> Result<(), End> {
        match self.update_once(id, stop) {
            Err(End::Trouble(trouble)) if !self.plan.opened.is_empty() => {
                if !self.take_residuals() {
                    return Err(End::Trouble(trouble));
                }
                self.refresh(group)?;
                self.update_once(id, stop)
            }
            outcome => outcome,
        }
    }

    /// Plans anew without squares multiplied out. Whether there is such a plan.
    fn take_residuals(&mut self) -> bool {
        self.lost = false;
        self.plan.opened.clear();
        let Ok(plan) = plan_with(self.equations, self.bound, self.precision, false) else { return false };
        let outgrown = self.peak_bytes();
        // What follows from the state makes room for what will.
        self.values.clear();
        self.sites.clear();
        self.masks.clear();
        self.changes.clear();
        release_scratch();
        let again = Executor::planned(
            plan,
            self.equations,
            self.bound,
            std::mem::replace(&mut self.parameters, Parameters { blocks: Vec::new() }),
            self.threads.count(),
            self.precision,
        );
        let again = again.expect("what is observed was a point mass before");
        *self = Executor { next: std::mem::take(&mut self.next), outgrown, ..again };
        true
    }
}
