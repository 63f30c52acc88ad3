//! Squares of the data that were multiplied out, until their difference has too few digits left.
//!
//! `sum (x - t)^2 = sum x^2 - 2 sum x t + sum t^2` has an error of a few units of rounding of its terms. Of noise of a share `s` of
//! the signal, `eps / s^2` of the sum is lost; of data without noise all is, and a rate may come out negative. A run that finds the
//! sum smaller than [`SHARE`] of its terms goes on with residuals.

use cavi_numerics::{Scratch, release_scratch};

use super::Executor;
use super::state::State;
use crate::layout::Parameters;
use crate::plan::{Opened, plan_with};

/// A sum that is at most this share of its terms has lost five or more of its sixteen digits. The bound of n entries,
/// in which the sum times the precision is about n, keeps 1e-10 of n.
const SHARE: f64 = 1e-5;

/// A sum over fewer entries than this may be small by chance, and is not judged.
const ENTRIES: usize = 32;

impl State<'_> {
    /// The sum of a node's parts that are kept, and whether it has lost digits.
    pub(super) fn sum_of_squares(&self, opened: Opened, out: &mut [f64]) -> bool {
        let parts = self.work.prepared[opened.node.index()].iter();
        let (mut sizes, mut own) = (Scratch::zeros(out.len()), Scratch::zeros(out.len()));
        for prepared in parts.filter(|part| !part.streams(&self.work.plan.streamed)) {
            own.fill(0.0);
            prepared.run(&self.values, &self.work.plan.maps, &mut own, &self.work.threads);
            for ((out, size), own) in out.iter_mut().zip(&mut *sizes).zip(&*own) {
                *out += own;
                *size += own.abs();
            }
        }
        opened.has_lost(out, &sizes)
    }
}

impl Opened {
    /// Whether sums have lost digits, from the sums of the absolute values of their terms.
    pub(super) fn has_lost(&self, sums: &[f64], sizes: &[f64]) -> bool {
        if self.entries / ENTRIES >= sums.len() {
            return sums.iter().zip(sizes).any(|(sum, size)| sum.abs() < SHARE * size);
        }
        sums.iter().map(|sum| sum.abs()).sum::<f64>() < SHARE * sizes.iter().sum::<f64>()
    }
}

impl Executor<'_> {
    /// Goes on with residuals if digits were lost. Whether it does.
    pub(super) fn keep_digits(&mut self) -> bool {
        self.state.lost && self.take_residuals()
    }

    /// Plans anew without squares multiplied out. Whether there is such a plan.
    pub(super) fn take_residuals(&mut self) -> bool {
        self.state.lost = false;
        self.residuals = true;
        self.state.work.plan.opened.clear();
        // The plan of a shard is cut from that of the whole data.
        if self.state.is_shard() {
            return false;
        }
        let Ok(plan) =
            plan_with(self.state.work.equations, self.state.work.bound, self.state.work.precision, false)
        else {
            return false;
        };
        let outgrown = self.peak_bytes();
        // What follows from the state makes room for what will.
        self.state.values.clear();
        self.sites.all.clear();
        self.state.masks.clear();
        self.state.changes.nodes.clear();
        release_scratch();
        let again = Executor::planned(
            plan,
            self.state.work.equations,
            self.state.work.bound,
            std::mem::replace(&mut self.state.parameters, Parameters { blocks: Vec::new() }),
            (self.state.work.threads.count(), self.state.work.precision),
            None,
        );
        let again = again.expect("what is observed was a point mass before");
        let sites = again.sites.foreseen_by(&mut self.sites);
        let before = std::mem::take(&mut self.moves.before);
        *self = Executor { sites, outgrown, residuals: true, ..again };
        self.moves.before = before;
        true
    }
}
