//! `accelerate = auto`: after every third sweep the run steps on along the way that the last sweeps have taken
//! ([`cavi_numerics::squarem`]), and steps back if the sweep after that has not led higher.

use cavi_algebra::BlockId;
use cavi_executor::{Executor, Parameters};
use cavi_numerics::squarem::Stride;

/// What acceleration keeps of a run.
pub(crate) struct Accelerator {
    blocks: Vec<BlockId>,
    iterates: Vec<Vec<f64>>,
    stride: Stride,
    /// Where the run was before the last step, and its bound there.
    before: Option<(Parameters, f64)>,
}

impl Accelerator {
    /// Of the blocks that a sweep updates; those of which something is observed stay where their updates put them.
    pub fn new(executor: &Executor<'_>, blocks: Vec<BlockId>) -> Accelerator {
        let blocks = blocks.into_iter().filter(|block| !executor.is_observed(*block)).collect();
        Accelerator { blocks, iterates: Vec::new(), stride: Stride::default(), before: None }
    }

    /// Whether the run has just stepped on.
    pub fn has_stepped(&self) -> bool {
        self.before.is_some()
    }

    /// Before a sweep: steps on where three states are known. `elbo` is the bound of the current one.
    pub fn step(&mut self, executor: &mut Executor<'_>, elbo: f64) {
        self.before = None;
        if !elbo.is_finite() {
            self.iterates.clear();
            return;
        }
        self.iterates.push(executor.coordinates(&self.blocks));
        let [x0, x1, x2] = self.iterates.as_slice() else { return };
        if let Some(beyond) = self.stride.beyond([x0, x1, x2]) {
            let here = executor.parameters().clone();
            match executor.move_to(&self.blocks, &beyond.at) {
                Ok(()) => self.before = Some((here, elbo)),
                Err(_) => {
                    self.stride.shorten();
                    executor.restore(here);
                }
            }
        }
        self.iterates.clear();
    }

    /// After the sweep that followed: whether it went back, since the bound is lower than before the step. Then that sweep
    /// is to be done again.
    pub fn went_back(&mut self, executor: &mut Executor<'_>, elbo: f64) -> bool {
        let Some((here, before)) = self.before.take() else { return false };
        if elbo >= before {
            return false;
        }
        self.stride.shorten();
        executor.restore(here);
        true
    }
}
