//! Memoized passes: one shard after another moves what lies at its positions, then what all share.
//!
//! With `q(theta_s)` the factors and `phi_s` the allocations (and auxiliaries of bounds) of shard `s`, and `q(beta)` what all share, the bound is
//!
//! ```text
//! L = sum_s L_s(q(theta_s), phi_s, q(beta)) + L_0(q(beta)),
//! ```
//!
//! and the natural parameters of each factor of `q(beta)` are its prior's plus `sum_s T_s`, where `T_s` follows from `q(theta_s)`, `phi_s` and
//! data alone, at most multiplied by what all share ([`Sharded::memoizes`] refuses all else). A visit of shard `s` raises `L` in `q(theta_s)`
//! and `phi_s`, replaces `T_s` among the sums that were kept ([`Memory`]), and makes each factor of `q(beta)` its optimum given all sums:
//! exact coordinate ascent on `L`, at the price of one shard. One refresh serves all that is shared, so that all `T_s` belong to the same
//! allocations.
//!
//! The bound after a pass is that of the whole: it is taken of every shard at the same `q(beta)`, with allocations at their optimum. Their
//! `T_s` are kept, so that the next pass begins at this bound and does not fall below it: within a pass it is `L` at the `phi_s` that are
//! held, which never falls.
//!
//! A matrix that copies at positions of several shards share belongs to what all share. Factors `q(z_n) = N(m_n, S)` of rows with one
//! precision `P` add `sum_n f(m_n) + (N / 2) (log det S - tr P S)` to `L`: of the two parts the first is that of the shards, and the second,
//! whose optimum `S = P^-1` depends on no row, is made its optimum at each visit. What follows from `S`, such as `N S` in the natural
//! parameters of loadings, is read as it is now, and no `T_s` has it.
//!
//! # Source
//! M. C. Hughes and E. B. Sudderth, "Memoized online variational inference for Dirichlet process mixture models", NIPS 2013.

use std::sync::{Arc, Mutex, PoisonError};

use cavi_algebra::BlockId;

use super::{Part, Sharded};
use crate::data::Bound;
use crate::layout::Parameters;
use crate::plan::Unplanned;
use crate::reduce::{Memory, Visit};
use crate::run::Executor;
use crate::run::joint::Shared;
use crate::schedule::{Blocks, Item, Schedule, Step};
use crate::trouble::Trouble;

/// How the shards are visited in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visits {
    /// Whether what lies at the positions of a shard begins afresh: as its own statements say, given what all share.
    pub afresh: bool,
    /// How often it moves before what all share does.
    pub times: u64,
}

/// The shards of a run, visited one after another.
pub struct Passes<'a> {
    sharded: &'a Sharded<'a>,
    parts: &'a [Part<'a>],
    executors: Vec<Executor<'a>>,
    memory: Arc<Mutex<Memory>>,
    /// The parameters of what all share, while no shard has them.
    shared: Shared,
    /// What moves with a shard, and what all share.
    own: Vec<Item>,
    common: Schedule,
    blocks: Blocks,
    whole: Parameters,
}

impl<'a> Passes<'a> {
    /// Before the first pass, in which a sum is that of the shards that have been visited. `bounds` are those of the parts.
    ///
    /// # Errors
    /// If shards cannot be visited one after another, with the reason.
    pub fn new(
        sharded: &'a Sharded<'a>,
        (parts, bounds): (&'a [Part<'a>], &'a [Bound]),
        from: Parameters,
        schedule: &Schedule,
        threads: usize,
    ) -> Result<Passes<'a>, Unplanned> {
        sharded.memoizes().map_err(Unplanned)?;
        let (memory, once) = (Memory::new(parts.len()), sharded.common());
        let (mut executors, mut shared) = (Vec::with_capacity(parts.len()), Shared::default());
        for (shard, (part, bound)) in parts.iter().zip(bounds).enumerate() {
            let own = sharded.parameters(part, &from);
            let reducer = Box::new(Visit::of(&memory, shard));
            let mut executor = sharded.executor(part, bound, own, threads, (reducer, &once))?;
            shared = executor.leave();
            executors.push(executor);
        }
        let is_own = |block: BlockId| sharded.is_local(block);
        let own = only(&schedule.items, &is_own);
        let common = only(&schedule.items, &|block| !is_own(block));
        let common = match common.is_empty() {
            true => Schedule::default(),
            // One refresh for all.
            false => Schedule { items: vec![Item::group(common)] },
        };
        let blocks = common.blocks();
        Ok(Passes { sharded, parts, executors, memory, shared, own, common, blocks, whole: from })
    }

    /// The number of shards.
    pub fn shards(&self) -> usize {
        self.parts.len()
    }

    /// The bytes of the runs of all shards and of the sums that are kept.
    pub fn bytes(&self) -> usize {
        let executors: usize = self.executors.iter().map(Executor::peak_bytes).sum();
        let common = self.executors.first().map_or(0, Executor::common_bytes);
        executors + common + self.memory.lock().unwrap_or_else(PoisonError::into_inner).bytes()
    }

    /// Whether squares that were multiplied out have lost digits: such a run goes on with the whole data.
    pub fn has_lost_digits(&self) -> bool {
        self.executors.iter().any(|executor| executor.digits().residuals || executor.digits().lost)
    }

    /// Lets all shards come by before the first pass, what all share held: as they are, or after these moves.
    ///
    /// # Errors
    /// If an update fails.
    pub fn begin(&mut self, visits: Option<Visits>) -> Result<(), Trouble> {
        let own = visits.map(|visits| visited(&self.own, visits)).unwrap_or_default();
        let blocks = self.blocks.clone();
        (0..self.parts.len()).try_for_each(|shard| {
            self.at(shard, |executor| {
                executor.sweep(&own)?;
                executor.refresh(&blocks)?;
                executor.contribute(&blocks);
                Ok(())
            })
        })
    }

    /// Visits a shard.
    ///
    /// # Errors
    /// If an update fails.
    pub fn visit(&mut self, shard: usize, visits: Visits) -> Result<(), Trouble> {
        let own = visited(&self.own, visits);
        let common = self.common.clone();
        self.at(shard, |executor| {
            executor.sweep(&own)?;
            executor.sweep(&common)
        })
    }

    /// The bound, and the sum of the absolute values of its terms. All shards come by, each with the allocations that its bound is at:
    /// all sums follow from the parameters then, so that new passes from them go on with the same bits.
    ///
    /// # Errors
    /// If a weight is negative.
    pub fn elbo(&mut self) -> Result<(f64, f64), Trouble> {
        let mut bound = (0.0, 0.0);
        let (blocks, common) = (self.blocks.clone(), self.common.clone());
        for shard in 0..self.parts.len() {
            bound = self.at(shard, |executor| {
                executor.foresee(&common);
                let bound = executor.elbo();
                if executor.allocates(&blocks) {
                    executor.refresh(&blocks)?;
                    executor.contribute(&blocks);
                }
                Ok((bound, executor.elbo_scale()))
            })?;
        }
        Ok(bound)
    }

    /// The parameters of the whole.
    pub fn parameters(&mut self) -> &Parameters {
        for (part, executor) in self.parts.iter().zip(&self.executors) {
            self.sharded.put_cut(part, executor.parameters(), &mut self.whole);
        }
        self.shared.put(&mut self.whole);
        &self.whole
    }

    /// Does something in a shard, with what all share.
    fn at<T>(
        &mut self,
        shard: usize,
        run: impl FnOnce(&mut Executor<'a>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let executor = &mut self.executors[shard];
        executor.come_back(std::mem::take(&mut self.shared));
        let outcome = run(executor);
        self.shared = executor.leave();
        outcome.map_err(|trouble| self.parts[shard].of_whole(trouble))
    }
}

/// The sweep of what moves with a shard in a visit.
fn visited(own: &[Item], visits: Visits) -> Schedule {
    let items = match own {
        [] => Vec::new(),
        [one] if one.repeat == 1 => vec![one.clone().repeated(visits.times)],
        several => vec![Item::sequence(several.to_vec()).repeated(visits.times)],
    };
    let afresh = |item: Item| if visits.afresh { item.reset() } else { item };
    Schedule { items: items.into_iter().map(afresh).collect() }
}

/// The items of these blocks alone.
fn only(items: &[Item], keeps: &dyn Fn(BlockId) -> bool) -> Vec<Item> {
    let kept = |item: &Item| {
        let step = match &item.step {
            Step::Block(block) => keeps(*block).then_some(Step::Block(*block))?,
            Step::Group(items) => Step::Group(some(only(items, keeps))?),
            Step::Sequence(items) => Step::Sequence(some(only(items, keeps))?),
        };
        Some(Item { step, ..item.clone() })
    };
    items.iter().filter_map(kept).collect()
}

fn some(items: Vec<Item>) -> Option<Vec<Item>> {
    (!items.is_empty()).then_some(items)
}
