//! What a run keeps from one sweep to the next beside its parameters, so that another run can go on with the same bits.
//!
//! All values of a run follow from its parameters, and are worked out anew with the same bits: what copies that move one after
//! another have changed by differences is taken again when they have moved, and what an update holds is held at the refresh before it.
//! What does not follow from the parameters is whether squares that were multiplied out have lost digits: such a run goes on with
//! residuals for good, whatever its parameters become.

use super::Executor;
use crate::schedule::Schedule;

/// What is known of the digits of squares that were multiplied out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digits {
    /// They were lost, and the run goes on with residuals where there is a plan with them.
    pub residuals: bool,
    /// They were lost since the run last asked; the next sweep begins with residuals.
    pub lost: bool,
}

impl Executor<'_> {
    /// What the next sweep depends on beside the parameters.
    pub fn digits(&self) -> Digits {
        Digits { residuals: self.residuals, lost: self.state.lost }
    }

    /// Goes on as a run did that had these parameters and digits after a sweep of this schedule. Where that run had taken its bound
    /// (`took_bound`), the bound is taken, and returned.
    pub fn resume(&mut self, digits: Digits, schedule: &Schedule, took_bound: bool) -> Option<f64> {
        if digits.residuals {
            self.take_residuals();
        }
        self.sites.foresee(&self.state.work.plan, schedule);
        let elbo = took_bound.then(|| self.elbo());
        self.state.lost |= digits.lost;
        elbo
    }
}
