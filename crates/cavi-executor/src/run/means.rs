//! Whether the means exist by which allocations are made.
//!
//! Under `means` and `collapsed` the weight of a category is a product of `E f` in the place of `exp E log f`. An expectation may be
//! infinite where that of the logarithm is not, as of a reciprocal that is near 0 too often: every weight that it divides is then 0,
//! the entry has no allocation at all, and its data say nothing, while the bound, which knows logarithms alone, stays finite.

use cavi_algebra::{Atom, BlockId, Equations, Function, Moment, Sum};
use cavi_families::views;
use cavi_numerics::Scratch;

use super::Executor;
use super::state::{State, family, trouble};
use crate::plan::parts::Parts;
use crate::trouble::Trouble;

/// The expectations of distributions under a logarithm in the weights of allocations, each once.
fn under_logs(equations: &Equations) -> Vec<&Moment> {
    fn inside<'e>(sum: &'e Sum, is_under_log: bool, found: &mut Vec<&'e Moment>) {
        for factor in sum.terms.iter().flat_map(|term| &term.factors) {
            match &factor.atom {
                Atom::Moment(moment) if is_under_log => {
                    let same =
                        |own: &&Moment| (own.block, &own.statistic) == (moment.block, &moment.statistic);
                    if !found.iter().any(same) {
                        found.push(moment);
                    }
                }
                Atom::Apply(function, arguments) => {
                    let is_under_log = is_under_log || *function == Function::Log;
                    arguments.iter().for_each(|own| inside(own, is_under_log, found));
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    let addends = equations.sites.iter().flat_map(|site| &site.addends);
    addends.for_each(|addend| inside(&addend.log_weight, false, &mut found));
    found.retain(|moment| !equations.block(moment.block).is_point());
    found
}

/// Means are looked at after the first sweep and after every 16th from there on.
const EVERY: u32 = 16;

impl Executor<'_> {
    /// Refuses expectations that allocations by means read and that are not finite. Called after whole sweeps, of which it looks at one in
    /// [`EVERY`], since an infinite mean stays so where its data say nothing; at the start of a fit factors need no mean.
    pub(super) fn require_means(&mut self) -> Result<(), Trouble> {
        let equations = self.state.work.equations;
        let moments =
            self.moves.means.take().unwrap_or_else(|| under_logs(equations).into_iter().cloned().collect());
        let is_due = self.moves.unseen == 0;
        self.moves.unseen = (self.moves.unseen + 1) % EVERY;
        let outcome = match moments.first().map(|moment| moment.block).filter(|_| is_due) {
            None => Ok(()),
            Some(first) => {
                let outcome = moments.iter().try_for_each(|moment| self.state.require_mean(moment));
                self.state.agree("means", first, outcome)
            }
        };
        self.moves.means = Some(moments);
        outcome
    }
}

impl State<'_> {
    fn require_mean(&self, moment: &Moment) -> Result<(), Trouble> {
        let id: BlockId = moment.block;
        let (family, layout) = (family(self.work.equations, id), &self.work.plan.layouts[id.index()]);
        let which = layout.expectations.iter().position(|own| own.statistic == moment.statistic);
        let Some(which) = which else { return Ok(()) };
        let parts = Parts::new(family, layout);
        let columns = views(&self.parameters.blocks[id.index()]);
        for part in 0..parts.count() {
            let batch = parts.batch(part);
            let own = match parts.is_one() {
                true => columns.clone(),
                false => parts.take(part, &columns, family.descriptors()),
            };
            let mut out = Scratch::zeros(batch.len(layout.expectations[which].extent));
            family.expect(&batch, &own, which, &mut out);
            let Some(place) = out.iter().position(|mean| mean.is_infinite()) else { continue };
            // Rows have equally many values, but those of ragged slices.
            let each = (out.len() / batch.rows.max(1)).max(1);
            let row = parts.rows(part).start + (place / each).min(batch.rows - 1);
            let reason = format!("its mean is {}, and allocations by means need it", out[place]);
            return Err(trouble(id, layout, row, reason));
        }
        Ok(())
    }
}
