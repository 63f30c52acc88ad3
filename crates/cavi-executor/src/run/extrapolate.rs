//! The state of a run as one vector: natural parameters of factors of q, and points on the whole line.

use std::sync::Arc;

use cavi_algebra::{BlockId, Equations, Mode, Statistic, Support};
use cavi_families::{Expectation, Improper, views, views_mut};

use super::Executor;
use super::state::family;
use crate::coordinate::of_members;
use crate::data::Bound;
use crate::layout::{Layout, Parameters};

/// What is run, and on what.
type Of<'a> = (&'a Equations, &'a Bound);

/// The coordinates of these blocks at parameters, one after another ([`Executor::coordinates`]).
pub fn coordinates(
    (equations, bound): Of<'_>,
    layouts: &[Arc<Layout>],
    parameters: &Parameters,
    blocks: &[BlockId],
) -> Vec<f64> {
    let mut out = Vec::new();
    for id in blocks {
        let block = equations.block(*id);
        let layout = &layouts[id.index()];
        let own = &parameters.blocks[id.index()];
        match block.mode {
            Mode::Point => {
                let members = of_members(equations, bound, block, layout);
                members
                    .iter()
                    .zip(own)
                    .for_each(|(coordinates, values)| out.extend_from_slice(&coordinates.all(values)));
            }
            Mode::Distribution => {
                let (family, batch) = (family(equations, *id), layout.batch());
                let statistics = family.statistics();
                let mut natural: Vec<Vec<f64>> =
                    statistics.iter().map(|own| vec![0.0; batch.len(own.extent)]).collect();
                family.natural(&batch, &views(own), &mut views_mut(&mut natural));
                natural.iter().for_each(|column| out.extend(column));
            }
            Mode::Fixed | Mode::Implicit => {}
        }
    }
    out
}

/// Whether a statistic is of variables that are 0 or 1 alone: its natural parameter holds their log odds, infinite where a probability is 0 or 1.
pub fn is_of_switches(equations: &Equations, id: BlockId, statistic: &Statistic) -> bool {
    let members = &equations.block(id).members;
    let is_switch = |member: u8| {
        let support = members.get(usize::from(member)).map(|own| equations.symbols.array(*own).support);
        support == Some(Support::Binary)
    };
    statistic.0.iter().all(|(member, _)| is_switch(*member))
}

/// Moves these blocks to the given coordinates ([`Executor::move_to`]).
///
/// # Errors
/// As there.
pub fn move_to(
    (equations, bound): Of<'_>,
    layouts: &[Arc<Layout>],
    parameters: &mut Parameters,
    (blocks, coordinates): (&[BlockId], &[f64]),
) -> Result<(), Improper> {
    let mut rest = coordinates;
    let mut take = |length: usize| {
        let (own, others) = rest.split_at(length);
        rest = others;
        own
    };
    for id in blocks {
        let block = equations.block(*id);
        let layout = &layouts[id.index()];
        match block.mode {
            Mode::Point => {
                let members = of_members(equations, bound, block, layout);
                for (own, values) in members.iter().zip(&mut parameters.blocks[id.index()]) {
                    let moved = own.back(take(values.len()));
                    let finite = values.iter_mut().zip(&*moved).filter(|(_, moved)| moved.is_finite());
                    finite.for_each(|(value, moved)| *value = *moved);
                }
            }
            Mode::Distribution => {
                let (family, batch) = (family(equations, *id), layout.batch());
                let statistics = family.statistics();
                let natural: Vec<&[f64]> = statistics.iter().map(|own| take(batch.len(own.extent))).collect();
                // The logarithm of a probability of 0 is one, and so are the log odds of a probability of 1; a step that left the range of doubles is
                // none.
                let is_wrong = |(column, own): (&&[f64], &Expectation)| {
                    let may_be_infinite = is_of_switches(equations, *id, &own.statistic);
                    column.iter().any(|own| own.is_nan() || *own == f64::INFINITY && !may_be_infinite)
                };
                if natural.iter().zip(&statistics).any(is_wrong) {
                    let reason = "natural parameters that are no numbers".to_owned();
                    return Err(Improper { row: 0, reason });
                }
                family.describe(&batch, &natural, &mut views_mut(&mut parameters.blocks[id.index()]))?;
            }
            Mode::Fixed | Mode::Implicit => {}
        }
    }
    Ok(())
}

impl<'a> Executor<'a> {
    /// What it runs.
    pub fn equations(&self) -> &'a Equations {
        self.state.work.equations
    }

    /// The data that it runs on.
    pub fn bound(&self) -> &'a Bound {
        self.state.work.bound
    }

    /// Whether a block is that of data, some of whose entries are observed.
    pub fn is_observed(&self, id: BlockId) -> bool {
        self.state.work.observed[id.index()].is_some()
    }

    /// The coordinates of these blocks, one after another: the natural parameters of a distribution; of a point its value,
    /// its logarithm, its log odds, or what whitens it.
    pub fn coordinates(&self, blocks: &[BlockId]) -> Vec<f64> {
        let work = &self.state.work;
        coordinates((work.equations, work.bound), &work.plan.layouts, &self.state.parameters, blocks)
    }

    /// Moves these blocks to the given coordinates. A coordinate that is not finite leaves its point where it is.
    ///
    /// # Errors
    /// If a factor of q would be no distribution there; then some blocks have moved.
    pub fn move_to(&mut self, blocks: &[BlockId], coordinates: &[f64]) -> Result<(), Improper> {
        let work = &self.state.work;
        let (of, at) = ((work.equations, work.bound), (blocks, coordinates));
        let outcome = move_to(of, &work.plan.layouts, &mut self.state.parameters, at);
        blocks.iter().for_each(|id| self.state.touch(*id));
        outcome
    }

    /// Replaces the parameters of a block.
    pub fn replace(&mut self, id: BlockId, columns: Vec<Vec<f64>>) {
        self.state.parameters.blocks[id.index()] = columns;
        self.state.touch(id);
    }

    /// Replaces a column of the parameters of a block.
    pub fn replace_column(&mut self, id: BlockId, column: usize, values: Vec<f64>) {
        self.state.parameters.blocks[id.index()][column] = values;
        self.state.touch(id);
    }

    /// Replaces the parameters of all blocks.
    pub fn restore(&mut self, parameters: Parameters) {
        self.state.parameters = parameters;
        (0..self.state.work.equations.blocks.len()).map(BlockId::from).for_each(|id| self.state.touch(id));
    }
}
