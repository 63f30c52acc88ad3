//! What is the posterior, given these data? The plan, run.
//!
//! An [`Executor`] has three parts, each with its own memory: the state of q and all values that follow from it, what the passes
//! over the entries of bounded logs of sums keep, and what its moves keep from one sweep to the next. In come a plan, data,
//! parameters and schedules; out go parameters and the bound.

mod ascend;
mod extrapolate;
mod in_order;
pub(crate) mod joint;
mod means;
mod residuals;
mod resume;
mod rotate;
mod row_wise;
mod settle;
mod sweep;
mod update;

mod assemble;
mod buffers;
mod changes;
mod collapsed;
pub(crate) mod common;
mod compute;
mod constants;
mod contract;
mod contract_region;
mod elementwise;
mod pairs;
mod region;
mod rows;
mod shares;
mod state;
mod stream;

mod bound;
mod log_space;
mod pass;
mod single;
mod site_state;
mod sites;

use std::ops::Range;
use std::sync::Arc;

use cavi_algebra::{BlockId, Equations, Moment};
use cavi_numerics::kernels::masked::Mask;
use cavi_numerics::{KeptScratch, release_scratch};

use crate::coordinate::Coordinates;
use crate::data::Bound;
use crate::layout::Parameters;
use crate::plan::{Plan, Precision, Unplanned, plan};
use crate::trouble::Trouble;
pub use ascend::Allocations;
use bound::Total;
pub(crate) use buffers::Array;
pub use extrapolate::is_of_switches;
pub(crate) use extrapolate::{coordinates, move_to};
use joint::Joint;
pub use resume::Digits;
pub(crate) use rotate::{Space, place_of_pairs};
use site_state::SiteState;
use sites::Sites;
use state::{Given, State};
pub use sweep::Swept;

/// A run: q, what follows from it, and how it moves.
pub struct Executor<'a> {
    state: State<'a>,
    sites: Sites<'a>,
    moves: Moves<'a>,
    /// The bound when it was last taken.
    total: Total,
    /// The most memory that a plan before this one took, in bytes.
    outgrown: usize,
    /// Whether squares that were multiplied out have lost digits, so that it goes on without them.
    residuals: bool,
    /// Gives back what the thread keeps for the next sweep.
    _kept: KeptScratch,
}

/// What moves keep from one sweep to the next.
struct Moves<'a> {
    /// The bands of each block's rows, once they have been cut.
    bands: Vec<Vec<Range<usize>>>,
    /// The coordinates in which each block climbs, once it has.
    climbing: Vec<Option<Arc<Vec<Coordinates<'a>>>>>,
    /// The blocks that the last sweep moves, with their parameters before it.
    before: Vec<(BlockId, Vec<Vec<f64>>)>,
    /// What allocations by means read under logarithms, and how many sweeps it was not looked at.
    means: Option<Vec<Moment>>,
    unseen: u32,
}

impl<'a> Executor<'a> {
    /// A run from the given parameters, in doubles.
    pub fn new(
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        threads: usize,
    ) -> Result<Executor<'a>, Unplanned> {
        Executor::stored(equations, bound, parameters, threads, Precision::Double)
    }

    /// A run from the given parameters, its hot arrays stored in this precision.
    pub fn stored(
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        threads: usize,
        precision: Precision,
    ) -> Result<Executor<'a>, Unplanned> {
        let plan = plan(equations, bound, precision)?;
        Executor::planned(plan, equations, bound, parameters, (threads, precision), None)
    }

    /// The run of a shard by its own plan, from its own parameters, with what it is given.
    pub(crate) fn of_shard(
        plan: Plan<'a>,
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        stored: (usize, Precision),
        given: (Joint, Vec<Option<Array<'static>>>),
    ) -> Result<Executor<'a>, Unplanned> {
        Executor::planned(plan, equations, bound, parameters, stored, Some(given))
    }

    fn planned(
        mut plan: Plan<'a>,
        equations: &'a Equations,
        bound: &'a Bound,
        parameters: Parameters,
        stored: (usize, Precision),
        given: Option<Given>,
    ) -> Result<Executor<'a>, Unplanned> {
        let sites = Sites::new(&mut plan, bound);
        let state = State::new(plan, equations, bound, parameters, stored, given)?;
        let blocks = equations.blocks.len();
        let moves = Moves {
            bands: vec![Vec::new(); blocks],
            climbing: vec![None; blocks],
            before: Vec::new(),
            means: None,
            unseen: 0,
        };
        // What constants took is not taken again.
        release_scratch();
        Ok(Executor {
            state,
            sites,
            moves,
            total: Total::default(),
            outgrown: 0,
            residuals: false,
            _kept: KeptScratch,
        })
    }

    /// The parameters of q.
    pub fn parameters(&self) -> &Parameters {
        &self.state.parameters
    }

    /// The parameters of q, after the run.
    pub fn into_parameters(self) -> Parameters {
        self.state.parameters
    }

    /// The sum of the absolute values of the terms of the bound when it was last taken.
    pub fn elbo_scale(&self) -> f64 {
        self.total.scale
    }

    /// The steps of the plan as text.
    pub fn plan_text(&self) -> String {
        self.state.work.plan.text(self.state.work.equations)
    }

    /// The most memory that the run holds at a time, in bytes: data, parameters, and everything that follows from them; of a shard
    /// without what it has in common with others ([`Executor::common_bytes`]).
    pub fn peak_bytes(&self) -> usize {
        let masks: usize = self.state.masks.values().map(Mask::bytes).sum();
        let before: usize =
            self.moves.before.iter().flat_map(|(_, own)| own).map(|own| size_of_val(own.as_slice())).sum();
        let sites: usize = self.sites.all.iter().map(SiteState::bytes).sum();
        let plan = self.state.work.plan.bytes(self.state.work.equations);
        self.outgrown.max(masks + plan.saturating_sub(self.state.lent_bytes()) + sites + before)
    }

    /// Brings the allocations to their optimum, as far as these blocks read them.
    pub fn refresh(&mut self, blocks: &[BlockId]) -> Result<(), Trouble> {
        let outcome = self.sites.refresh(&mut self.state, blocks);
        let first = blocks.first().copied().unwrap_or(BlockId(0));
        self.state.agree("refresh", first, outcome)?;
        blocks.iter().for_each(|block| self.state.hold_for(*block));
        Ok(())
    }
}

/// For each step that follows from data and constants alone and is kept, its values.
pub(crate) fn constants_of<'a>(
    plan: &Plan<'a>,
    equations: &'a Equations,
    bound: &'a Bound,
    parameters: &Parameters,
    precision: Precision,
) -> Result<Vec<Option<Vec<f64>>>, Unplanned> {
    let mut state = State::bare(plan.clone(), equations, bound, parameters.clone(), (1, precision))?;
    Ok(state.constants())
}
