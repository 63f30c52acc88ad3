//! Squares of the data that were multiplied out, until their difference has no digits left.
//!
//! `sum x^2 - 2 sum x t + sum t^2` has an error of `eps sum x^2`. Of data without noise that is all there is of it, and a rate
//! may come out negative. Then the run goes on with residuals.

use cavi_algebra::BlockId;

use super::Executor;
use crate::plan::plan_with;
use crate::trouble::Trouble;

impl Executor<'_> {
    /// Updates all copies of a block, allocations held.
    pub fn update(&mut self, id: BlockId) -> Result<(), Trouble> {
        match self.update_once(id) {
            Err(trouble) if self.plan.opened => self.update_by_residuals(id).unwrap_or(Err(trouble)),
            outcome => outcome,
        }
    }

    /// Plans anew without squares multiplied out, and updates the block; `None` where there is no such plan.
    fn update_by_residuals(&mut self, id: BlockId) -> Option<Result<(), Trouble>> {
        let (equations, bound, precision) = (self.equations, self.bound, self.precision);
        let plan = plan_with(equations, bound, precision, false).ok()?;
        let parameters = self.parameters.clone();
        let again =
            Executor::planned(plan, equations, bound, parameters, self.threads.count(), precision).ok()?;
        *self = Executor { next: std::mem::take(&mut self.next), ..again };
        Some(self.refresh(&[id]).and_then(|()| self.update_once(id)))
    }
}
