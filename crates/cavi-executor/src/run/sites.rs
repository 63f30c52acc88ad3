//! The bounded logs of sums of a program: what their passes keep, and when one is due.
//!
//! In come blocks whose counts are wanted, or the wish for the total; a pass over the entries is made where the last one does not
//! serve. Counts go into the nodes of the [`State`] that updates read; totals are answered here.

use std::sync::Arc;

use cavi_algebra::{BlockId, SiteId};

use super::site_state::SiteState;
use super::state::State;
use crate::data::Bound;
use crate::plan::Plan;
use crate::schedule::walk::first_sharing;
use crate::schedule::{Blocks, Schedule};
use crate::trouble::Trouble;

/// The sites of a run.
pub(super) struct Sites<'a> {
    /// One for each site; of one without a pass empty.
    pub all: Vec<SiteState<'a>>,
    /// The blocks whose counts the pass for the bound had best take along.
    next: Vec<Blocks>,
    /// The schedule that this follows from.
    expected: Option<Schedule>,
}

impl<'a> Sites<'a> {
    /// Before the first pass. Rows that are no coordinates of the data move here from the plan.
    pub fn new(plan: &mut Plan<'a>, bound: &'a Bound) -> Sites<'a> {
        let mapped = &plan.mapped;
        let all = plan.sites.iter_mut().map(|site| match site {
            Some(site) => {
                let stays = mapped.get(site.weight.index()).is_some_and(|mapped| *mapped);
                SiteState::new(Arc::get_mut(site).expect("the plan is not shared yet"), bound, stays)
            }
            None => SiteState::empty(),
        });
        let all: Vec<SiteState> = all.collect();
        Sites { next: vec![Blocks::new(); all.len()], all, expected: None }
    }

    /// Remembers which counts the first item of a sweep needs from each site, so that the pass that gives the bound at
    /// the end of a sweep serves the next sweep as well.
    pub fn foresee(&mut self, plan: &Plan, schedule: &Schedule) {
        if self.expected.as_ref() == Some(schedule) {
            return;
        }
        self.expected = Some(schedule.clone());
        for (site, next) in self.next.iter_mut().enumerate() {
            *next = first_sharing(schedule, &|block: BlockId| plan.site_is_read_by(site.into(), block));
        }
    }

    /// The same counts as these, for a run by another plan of the same program.
    pub fn foreseen_by(self, other: &mut Sites) -> Sites<'a> {
        Sites { next: std::mem::take(&mut other.next), ..self }
    }

    /// The sum of weight times log partition at the current expectations.
    pub fn total(&mut self, state: &mut State<'a>, id: SiteId) -> f64 {
        // A negative weight was refused before.
        let next = std::mem::take(&mut self.next[id.index()]);
        let total = self.total_with(state, id, &next).unwrap_or(f64::NAN);
        self.next[id.index()] = next;
        total
    }

    /// The same, in one pass with the counts of those of these blocks that read them; of a site without a pass nothing.
    pub fn total_with(
        &mut self,
        state: &mut State<'a>,
        id: SiteId,
        blocks: &[BlockId],
    ) -> Result<f64, Trouble> {
        let targets = state.work.plan.site_targets(id, blocks);
        self.pass(state, id, &targets, true)?;
        Ok(self.all[id.index()].last.total().unwrap_or(0.0))
    }

    /// Brings the allocations to their optimum, as far as these blocks read them.
    pub fn refresh(&mut self, state: &mut State<'a>, blocks: &[BlockId]) -> Result<(), Trouble> {
        for site in (0..self.all.len()).map(SiteId::from) {
            let targets = state.work.plan.site_targets(site, blocks);
            if !targets.is_empty() {
                self.pass(state, site, &targets, false)?;
            }
        }
        Ok(())
    }

    /// Runs the pass for the counts of these blocks, unless the last one saw the same inputs and took them.
    fn pass(
        &mut self,
        state: &mut State<'a>,
        id: SiteId,
        targets: &[BlockId],
        wants_total: bool,
    ) -> Result<(), Trouble> {
        let Some(plan) = state.work.plan.sites[id.index()].clone() else { return Ok(()) };
        let newest = state.stamps.newest_of(&state.work.plan, plan.inputs());
        let site = &mut self.all[id.index()];
        if site.last.serves(newest, targets, wants_total) {
            return Ok(());
        }
        state.evaluate(plan.weight);
        let modes = plan.addends.iter().flat_map(|addend| &addend.modes);
        modes.for_each(|mode| state.evaluate_factor(mode.factor));
        match state.newest(plan.weight) {
            // Weights that moved would be put in order at every sweep.
            moved if moved > 1 => site.keep_rows(),
            _ => site.count_pass(),
        }
        if let Err(entry) = state.weigh(&plan, site) {
            let block = targets.first().copied().unwrap_or(BlockId(0));
            let reason = format!("the coefficient of a log of a sum is negative at entry {entry}");
            return Err(Trouble { block, copy: Vec::new(), reason });
        }
        state.narrow(&plan, site);
        let mut total = [state.run_pass(id, &plan, targets, wants_total, site)];
        if wants_total {
            state.join_site("total", id, &mut total);
        }
        let [total] = total;
        site.last.took(newest, targets, wants_total.then_some(total));
        Ok(())
    }
}
