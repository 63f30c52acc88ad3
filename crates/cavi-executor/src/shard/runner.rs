//! A run as the loop of a fit sees it: of the whole data at once, or of shards in step. Both move the same parameters by the same updates.

use cavi_algebra::{BlockId, Equations, Rotation};
use cavi_families::Improper;

use super::Joined;
use crate::data::Bound;
use crate::layout::Parameters;
use crate::run::{Digits, Executor, Swept};
use crate::schedule::Schedule;
use crate::trouble::Trouble;

/// A run.
pub enum Runner<'a> {
    /// Of the whole data.
    Whole(Box<Executor<'a>>),
    /// Of shards in step. Each method is called on all processes that hold shards, in the same order.
    Shards(Box<Joined<'a>>),
}

impl<'a> Runner<'a> {
    /// What it runs.
    pub fn equations(&self) -> &'a Equations {
        match self {
            Runner::Whole(own) => own.equations(),
            Runner::Shards(own) => own.equations(),
        }
    }

    /// The whole data.
    pub fn bound(&self) -> &'a Bound {
        match self {
            Runner::Whole(own) => own.bound(),
            Runner::Shards(own) => own.bound(),
        }
    }

    /// The parameters of q, of all positions.
    pub fn parameters(&self) -> &Parameters {
        match self {
            Runner::Whole(own) => own.parameters(),
            Runner::Shards(own) => own.parameters(),
        }
    }

    /// The parameters of q, of all positions, after the run.
    pub fn into_parameters(self) -> Parameters {
        match self {
            Runner::Whole(own) => own.into_parameters(),
            Runner::Shards(own) => own.into_parameters(),
        }
    }

    /// Replaces the parameters of all blocks.
    pub fn restore(&mut self, parameters: Parameters) {
        match self {
            Runner::Whole(own) => own.restore(parameters),
            Runner::Shards(own) => own.restore(parameters),
        }
    }

    /// Replaces the parameters of a block.
    pub fn replace(&mut self, block: BlockId, columns: Vec<Vec<f64>>) {
        match self {
            Runner::Whole(own) => own.replace(block, columns),
            Runner::Shards(own) => own.replace(block, columns),
        }
    }

    /// Replaces a column of the parameters of a block.
    pub fn replace_column(&mut self, block: BlockId, column: usize, values: Vec<f64>) {
        match self {
            Runner::Whole(own) => own.replace_column(block, column, values),
            Runner::Shards(own) => own.replace_column(block, column, values),
        }
    }

    /// Whether a sweep that fails leaves what it began with; else the blocks before the one that failed stay updated.
    pub fn keeps_state(&self) -> bool {
        match self {
            Runner::Whole(own) => own.keeps_state(),
            Runner::Shards(_) => true,
        }
    }

    /// The evidence lower bound, allocations at their optimum.
    pub fn elbo(&mut self) -> f64 {
        match self {
            Runner::Whole(own) => own.elbo(),
            Runner::Shards(own) => own.elbo(),
        }
    }

    /// The sum of the absolute values of the terms of the bound when it was last taken.
    pub fn elbo_scale(&self) -> f64 {
        match self {
            Runner::Whole(own) => own.elbo_scale(),
            Runner::Shards(own) => own.elbo_scale(),
        }
    }

    /// See [`Executor::update_scale`].
    pub fn update_scale(&mut self, block: BlockId) -> f64 {
        match self {
            Runner::Whole(own) => own.update_scale(block),
            Runner::Shards(own) => own.update_scale(block),
        }
    }

    /// One sweep.
    ///
    /// # Errors
    /// If an update has no value.
    pub fn sweep(&mut self, schedule: &Schedule) -> Result<(), Trouble> {
        match self {
            Runner::Whole(own) => own.sweep(schedule),
            Runner::Shards(own) => own.sweep(schedule),
        }
    }

    /// One sweep that may be stopped ([`Executor::sweep_until`]); that of shards runs to its end.
    ///
    /// # Errors
    /// If an update has no value.
    pub fn sweep_until(
        &mut self,
        schedule: &Schedule,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Swept, Trouble> {
        match self {
            Runner::Whole(own) => own.sweep_until(schedule, stop),
            Runner::Shards(own) => own.sweep(schedule).map(|()| Swept::Whole),
        }
    }

    /// Moves vectors to their best coordinates ([`Executor::rotate`]).
    ///
    /// # Errors
    /// If a precision has no update.
    pub fn rotate(&mut self, rotation: &Rotation, blocks: &[BlockId]) -> Result<f64, Trouble> {
        match self {
            Runner::Whole(own) => own.rotate(rotation, blocks),
            Runner::Shards(own) => own.rotate(rotation, blocks),
        }
    }

    /// See [`Executor::natural`].
    ///
    /// # Errors
    /// If a shard has failed.
    pub fn natural(&mut self, block: BlockId, place: usize) -> Result<Vec<f64>, Trouble> {
        match self {
            Runner::Whole(own) => Ok(own.natural(block, place)),
            Runner::Shards(own) => own.natural(block, place),
        }
    }

    /// See [`Executor::prior`].
    ///
    /// # Errors
    /// If a shard has failed.
    pub fn prior(&mut self, block: BlockId, place: usize) -> Result<Option<Vec<f64>>, Trouble> {
        match self {
            Runner::Whole(own) => Ok(own.prior(block, place)),
            Runner::Shards(own) => own.prior(block, place),
        }
    }

    /// Brings allocations and auxiliary variables to their optimum, as far as these blocks read them.
    ///
    /// # Errors
    /// If they have no value.
    pub fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), Trouble> {
        match self {
            Runner::Whole(own) => own.refresh(blocks),
            Runner::Shards(own) => own.refresh(blocks),
        }
    }

    /// Whether a block is that of data, some of whose entries are observed.
    pub fn is_observed(&self, block: BlockId) -> bool {
        match self {
            Runner::Whole(own) => own.is_observed(block),
            Runner::Shards(own) => own.is_observed(block),
        }
    }

    /// See [`Executor::coordinates`].
    pub fn coordinates(&self, blocks: &[BlockId]) -> Vec<f64> {
        match self {
            Runner::Whole(own) => own.coordinates(blocks),
            Runner::Shards(own) => own.coordinates(blocks),
        }
    }

    /// See [`Executor::move_to`].
    ///
    /// # Errors
    /// If a factor of q would be no distribution there; then some blocks have moved.
    pub fn move_to(&mut self, blocks: &[BlockId], coordinates: &[f64]) -> Result<(), Improper> {
        match self {
            Runner::Whole(own) => own.move_to(blocks, coordinates),
            Runner::Shards(own) => own.move_to(blocks, coordinates),
        }
    }

    /// How many copies of a point on a simplex nothing determines ([`Executor::undetermined`]).
    pub fn undetermined(&mut self, block: BlockId) -> usize {
        match self {
            Runner::Whole(own) => own.undetermined(block).len(),
            Runner::Shards(own) => own.undetermined(block),
        }
    }

    /// What the next sweep depends on beside the parameters.
    pub fn digits(&self) -> Digits {
        match self {
            Runner::Whole(own) => own.digits(),
            Runner::Shards(own) => own.digits(),
        }
    }

    /// Goes on as a run did that had these parameters and digits ([`Executor::resume`]).
    pub fn resume(&mut self, digits: Digits, schedule: &Schedule, took_bound: bool) -> Option<f64> {
        match self {
            Runner::Whole(own) => own.resume(digits, schedule, took_bound),
            Runner::Shards(own) => own.resume(digits, schedule, took_bound),
        }
    }

    /// The steps of the plan of the whole data as text.
    pub fn plan_text(&self) -> String {
        match self {
            Runner::Whole(own) => own.plan_text(),
            Runner::Shards(own) => own.plan_text(),
        }
    }

    /// The most memory that it holds at a time on this process, in bytes.
    pub fn peak_bytes(&self) -> usize {
        match self {
            Runner::Whole(own) => own.peak_bytes(),
            Runner::Shards(own) => own.peak_bytes(),
        }
    }
}
