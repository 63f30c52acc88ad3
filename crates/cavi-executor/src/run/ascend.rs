//! Points without a closed form: Newton's method in one variable, guarded, or L-BFGS in all of them, on the whole line.

use std::sync::Arc;

use cavi_algebra::{BlockId, SiteId, Support};
use cavi_numerics::Scratch;
use cavi_numerics::lbfgs::maximise;
use cavi_numerics::newton::{STEPS, Searches};
use smallvec::SmallVec;

use super::Executor;
use super::in_order::Rows;
use super::region::Region;
use super::state::trouble;
use super::sweep::{End, Stop, go_on};
use crate::coordinate::{Coordinate, Coordinates, of_members};
use crate::plan::AscentPlan;
use crate::plan::tensor::NodeId;
use crate::schedule::VISIT;
use crate::trouble::Trouble;

/// Which allocations a point without a closed form sees while it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocations {
    /// Those of the last refresh, which a group shares.
    Held,
    /// Those at their optimum for the point, at every evaluation.
    Optimal,
}

/// A decrease of the objective by at most this share of the sum of the absolute values of its terms is rounding.
const ROUNDING: f64 = 1e-13;

impl<'a> Executor<'a> {
    /// Moves a point that has no closed form.
    pub(super) fn ascend(&mut self, id: BlockId, allocations: Allocations, stop: Stop) -> Result<(), End> {
        let plan = Arc::clone(&self.state.work.plan.blocks[id.index()]);
        match &plan.ascent {
            Some(AscentPlan { objective, gradient, curvature: Some(curvature), .. }) => {
                self.one_by_one(id, (objective, &gradient[0], curvature), stop)
            }
            Some(AscentPlan { objective, tight, sites, gradient, curvature: None }) => {
                match (tight, allocations) {
                    (Some(tight), Allocations::Optimal) => {
                        self.together(id, tight, gradient, Some(sites), stop)
                    }
                    (Some(_) | None, _) => self.together(id, objective, gradient, None, stop),
                }
            }
            None => Ok(()),
        }
    }

    /// At most [`VISIT`] steps of L-BFGS for all elements of all members. Where allocations are at their optimum (`optimal`:
    /// the sites whose totals add to the objective), every evaluation refreshes those that the gradient holds.
    fn together(
        &mut self,
        id: BlockId,
        objective: &[NodeId],
        gradient: &[Vec<NodeId>],
        optimal: Option<&[SiteId]>,
        stop: Stop,
    ) -> Result<(), End> {
        let coordinates = self.climbing(id);
        let start: SmallVec<[Scratch; 4]> =
            self.state.parameters.blocks[id.index()].iter().map(|member| Scratch::of(member)).collect();
        let mut from = Scratch::zeros(start.iter().map(|member| member.len()).sum());
        let mut rest = &mut from[..];
        for (own, x) in coordinates.iter().zip(&start) {
            let (member, others) = rest.split_at_mut(x.len());
            member.copy_from_slice(&own.all(x));
            rest = others;
        }
        // What lies on the boundary stays there, and so does what is held.
        let observed = self.state.work.observed[id.index()].as_ref();
        let held: Option<Vec<bool>> =
            observed.map(|own| (0..from.len()).map(|place| own.is_held(place)).collect());
        let is_held = |place: usize| held.as_ref().is_some_and(|held| held[place]);
        let free = || (0..from.len()).filter(|place| from[*place].is_finite() && !is_held(*place));
        let whole = |part: &[f64]| {
            let mut whole = from.clone();
            free().zip(part).for_each(|(place, u)| whole[place] = *u);
            whole
        };
        let first: Scratch = free().map(|place| from[place]).collect();
        let found = maximise(&first, VISIT, &mut |part| {
            go_on(stop)?;
            self.put(id, &coordinates, &whole(part));
            let mut totals = 0.0;
            if let Some(sites) = optimal {
                for site in sites {
                    totals += self.sites.total_with(&mut self.state, *site, &[id])?;
                }
                self.refresh(&[id])?;
            }
            let value = totals + self.total(objective).0;
            let mut slopes = Scratch::zeros(from.len());
            let mut rest = &mut slopes[..];
            for (member, own) in coordinates.iter().enumerate() {
                let slope = self.at_rows(&gradient[member], 0..start[member].len());
                let (member_slopes, others) = rest.split_at_mut(slope.len());
                let point = &self.state.parameters.blocks[id.index()][member];
                member_slopes.copy_from_slice(&own.gradient(point, &slope));
                rest = others;
            }
            Ok::<_, End>((value, free().map(|place| slopes[place]).collect()))
        })?;
        // A point that did not move keeps its bits.
        if found.steps > 0 {
            self.put(id, &coordinates, &whole(&found.at));
        } else {
            for (member, start) in self.state.parameters.blocks[id.index()].iter_mut().zip(&start) {
                member.copy_from_slice(start);
            }
            self.state.touch(id);
        }
        Trouble::undefined(id, &found).map_or(Ok(()), |trouble| Err(trouble.into()))
    }

    /// The coordinates in which the members of a block climb.
    fn climbing(&mut self, id: BlockId) -> Arc<Vec<Coordinates<'a>>> {
        let (equations, bound) = (self.state.work.equations, self.state.work.bound);
        let layout = &self.state.work.plan.layouts[id.index()];
        let own = self.moves.climbing[id.index()]
            .get_or_insert_with(|| Arc::new(of_members(equations, bound, equations.block(id), layout)));
        Arc::clone(own)
    }

    /// Gives the members of a block the values of these coordinates, one member after another.
    fn put(&mut self, id: BlockId, coordinates: &[Coordinates<'_>], u: &[f64]) {
        let mut rest = u;
        for (own, column) in coordinates.iter().zip(&mut self.state.parameters.blocks[id.index()]) {
            let (member, others) = rest.split_at(column.len());
            column.copy_from_slice(&own.back(member));
            rest = others;
        }
        // There and back may round what is held. Of a point this cannot fail.
        let _ = self.state.observe(id);
        self.state.touch(id);
    }

    /// Moves every copy to the maximum of the objective in it: all at once, or in order along the letters in which copies
    /// meet.
    fn one_by_one(
        &mut self,
        id: BlockId,
        derivatives: (&[NodeId], &[NodeId], &[NodeId]),
        stop: Stop,
    ) -> Result<(), End> {
        for step in self.state.one_after_another(id).iter() {
            go_on(stop)?;
            self.climb(id, step, derivatives)?;
        }
        self.state.settle_changes(id);
        Ok(())
    }

    /// Moves some copies, which do not meet, at once.
    fn climb(
        &mut self,
        id: BlockId,
        step: &Region,
        (objective, gradient, curvature): (&[NodeId], &[NodeId], &[NodeId]),
    ) -> Result<(), Trouble> {
        let layout = Arc::clone(&self.state.work.plan.layouts[id.index()]);
        let mut rows = Rows::new(&layout, step).rows;
        if let Some(observed) = &self.state.work.observed[id.index()] {
            rows = rows.iter().copied().filter(|row| !observed.is_held(*row)).collect();
        }
        let rows = &rows;
        if rows.is_empty() {
            return Ok(());
        }
        let coordinate = Coordinate::of(self.support(id));
        let start: Scratch =
            rows.iter().map(|row| self.state.parameters.blocks[id.index()][0][*row]).collect();
        let from = coordinate.all(&start);
        let (before, scale) = self.total(objective);
        let mut searches = Searches::new(rows.len());
        let mut at = from.clone();
        for number in 0..STEPS {
            let first = self.at_rows(gradient, rows.iter().copied());
            let second = self.at_rows(curvature, rows.iter().copied());
            for (index, u) in at.iter_mut().enumerate() {
                let x = self.state.parameters.blocks[id.index()][0][rows[index]];
                if first[index].is_nan() {
                    let reason = format!("the derivative of its objective is no number at {x}");
                    return Err(trouble(id, &self.state.work.plan.layouts[id.index()], rows[index], reason));
                }
                let (first, second) = coordinate.derivatives(x, first[index], second[index]);
                if number == 0 && !first.is_finite() && before.is_finite() {
                    let reason = format!("the derivative of its objective is {first} at {x}");
                    return Err(trouble(id, &self.state.work.plan.layouts[id.index()], rows[index], reason));
                }
                *u = searches.step(index, *u, first, second, coordinate.unit(*u));
            }
            self.place(id, (step, rows), &coordinate.back(&at));
            if searches.done() {
                break;
            }
        }
        // Every copy moved uphill at first, so that a short enough part of the step does not lower the objective.
        let mut share = 1.0;
        while share > 0.0 {
            let (after, _) = self.total(objective);
            if after >= before - ROUNDING * scale || before.is_nan() {
                return Ok(());
            }
            share = if share > 1e-9 { 0.5 * share } else { 0.0 };
            let between =
                |(from, to): (&f64, &f64)| if from == to { *to } else { from + share * (to - from) };
            let part: Scratch = from.iter().zip(&*at).map(between).collect();
            self.place(id, (step, rows), &if share > 0.0 { coordinate.back(&part) } else { start.clone() });
        }
        Ok(())
    }

    fn support(&self, id: BlockId) -> Support {
        self.state.work.equations.symbols.array(self.state.work.equations.block(id).members[0]).support
    }

    fn place(&mut self, id: BlockId, (step, rows): (&Region, &[usize]), values: &[f64]) {
        for (row, value) in rows.iter().zip(values) {
            self.state.parameters.blocks[id.index()][0][*row] = *value;
        }
        self.state.touch_some(id, step);
    }

    /// The sum of nodes at some rows.
    fn at_rows(&mut self, nodes: &[NodeId], rows: impl ExactSizeIterator<Item = usize> + Clone) -> Scratch {
        let mut sums = Scratch::zeros(rows.len());
        for node in nodes {
            self.state.evaluate(*node);
            for (sum, row) in sums.iter_mut().zip(rows.clone()) {
                *sum += self.state.values[node.index()][row];
            }
        }
        sums
    }

    /// The sum of scalar nodes, and of their absolute values.
    fn total(&mut self, nodes: &[NodeId]) -> (f64, f64) {
        nodes.iter().for_each(|node| self.state.evaluate(*node));
        let values = || nodes.iter().map(|node| self.state.values[node.index()][0]);
        (values().sum(), values().map(f64::abs).sum())
    }
}
