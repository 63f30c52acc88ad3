//! The state at the last refresh, with what was worked out of it: sums read an allocation once for each of its categories, and the
//! auxiliary variable of a tangent once for each pair of coefficients. The state does not change, so that nothing here grows old.

use std::cell::RefCell;
use std::collections::HashMap;

use cavi_algebra::{AuxiliaryId, SiteId};

use super::state::State;

/// What was worked out of copies: by what it is of, and the positions of the plates.
type WorkedOut<Of, Value> = RefCell<HashMap<(Of, Vec<usize>), Value>>;

/// A state that does not change.
pub struct Held {
    state: State,
    squares: WorkedOut<AuxiliaryId, f64>,
    log_weights: WorkedOut<SiteId, Vec<f64>>,
}

impl Held {
    /// This state, of which nothing was worked out.
    pub fn new(state: State) -> Held {
        Held { state, squares: RefCell::default(), log_weights: RefCell::default() }
    }

    /// The state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// `E eta^2` of a copy of a tangent, as it was worked out first.
    pub fn square(&self, id: AuxiliaryId, plates: &[usize], work_out: impl FnOnce() -> f64) -> f64 {
        let known = self.squares.borrow().get(&(id, plates.to_vec())).copied();
        known.unwrap_or_else(|| {
            let square = work_out();
            self.squares.borrow_mut().insert((id, plates.to_vec()), square);
            square
        })
    }

    /// The log weights of the categories of a copy of a site, as they were worked out first.
    pub fn log_weights(
        &self,
        site: SiteId,
        plates: &[usize],
        work_out: impl FnOnce() -> Vec<f64>,
    ) -> Vec<f64> {
        let known = self.log_weights.borrow().get(&(site, plates.to_vec())).cloned();
        known.unwrap_or_else(|| {
            let log_weights = work_out();
            self.log_weights.borrow_mut().insert((site, plates.to_vec()), log_weights.clone());
            log_weights
        })
    }
}
