//! What the runs of a fit stand on: program and data, whole or cut into shards that run in step.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use cavi_algebra::{AxisId, Equations};

use super::{Joined, Part, Runner, Sharded, ranges};
use crate::data::Bound;
use crate::layout::Parameters;
use crate::plan::{Plan, Precision, Unplanned, plan, plan_with};
use crate::reduce::{Exchange, held_by};
use crate::run::Executor;

/// How the positions of an axis are spread: over so many shards, and these over threads and processes. Only axis and number change bits.
#[derive(Clone, Debug)]
pub struct Spread {
    /// The axis.
    pub axis: AxisId,
    /// How many shards; fewer where the axis has fewer positions.
    pub shards: usize,
    /// The processes that hold the shards; `None` where this one holds all.
    pub exchange: Option<Arc<dyn Exchange>>,
}

/// Program and data of a run.
pub struct Ground<'a> {
    pub(super) equations: &'a Equations,
    pub(super) bound: &'a Bound,
    precision: Precision,
    cut: Option<Cut<'a>>,
}

/// An axis in shards.
pub(super) struct Cut<'a> {
    pub plain: Sharded<'a>,
    /// By a plan without squares multiplied out, for runs in which these lose digits; `None` where that is no other one.
    pub residuals: Option<Sharded<'a>>,
    /// All shards; those of other processes without their data.
    pub parts: Vec<Part<'a>>,
    /// The shards of this process, and their data.
    pub own: Range<usize>,
    pub bounds: Vec<Bound>,
    pub exchange: Option<Arc<dyn Exchange>>,
}

impl<'a> Ground<'a> {
    /// Plans what is cut. `from` are any parameters of the run.
    ///
    /// # Errors
    /// If there is no plan; if the axis cannot be cut, with what stands in the way; if it has fewer shards than there are processes.
    pub fn new(
        equations: &'a Equations,
        bound: &'a Bound,
        precision: Precision,
        spread: Option<&Spread>,
        from: &Parameters,
    ) -> Result<Ground<'a>, Unplanned> {
        let cut = spread.map(|spread| Cut::new(equations, bound, precision, spread, from)).transpose()?;
        Ok(Ground { equations, bound, precision, cut })
    }

    /// A run from the given parameters, as long as it is needed. The number of threads changes no bit.
    ///
    /// # Errors
    /// As [`Executor::stored`] and [`Sharded::executor`].
    pub fn run<T>(
        &'a self,
        parameters: Parameters,
        threads: usize,
        go: impl FnOnce(Runner<'a>) -> T,
    ) -> Result<T, Unplanned> {
        match &self.cut {
            Some(cut) => thread::scope(|scope| {
                let joined = Joined::new((cut, self.bound), parameters, threads, scope)?;
                Ok(go(Runner::Shards(Box::new(joined))))
            }),
            None => self.whole(parameters, threads).map(|own| go(Runner::Whole(Box::new(own)))),
        }
    }

    /// A run of the whole data, whether or not these are cut.
    ///
    /// # Errors
    /// As [`Executor::stored`].
    pub fn whole(&self, parameters: Parameters, threads: usize) -> Result<Executor<'a>, Unplanned> {
        Executor::stored(self.equations, self.bound, parameters, threads, self.precision)
    }
}

impl<'a> Cut<'a> {
    /// The plan that is run, with residuals where there is one.
    pub fn plan(&self, residuals: bool) -> &Sharded<'a> {
        self.residuals.as_ref().filter(|_| residuals).unwrap_or(&self.plain)
    }

    fn new(
        equations: &'a Equations,
        bound: &'a Bound,
        precision: Precision,
        spread: &Spread,
        from: &Parameters,
    ) -> Result<Cut<'a>, Unplanned> {
        let plain = Sharded::new(equations, bound, spread.axis, from, precision)?;
        let exchange = spread.exchange.clone().filter(|own| own.ranks() > 1);
        let ranges = ranges(plain.positions(), spread.shards);
        let (rank, ranks) = exchange.as_ref().map_or((0, 1), |own| (own.rank(), own.ranks()));
        if ranges.len() < ranks {
            let axis = &equations.symbols.axis(spread.axis).name;
            let shards = if ranges.len() == 1 { "shard" } else { "shards" };
            return Err(Unplanned(format!(
                "axis `{axis}` is cut into {} {shards}, and there are {ranks} processes, each of which needs one",
                ranges.len()
            )));
        }
        let own = held_by(ranges.len(), ranks, rank);
        let part = |(shard, range)| match own.contains(&shard) {
            true => plain.part(range),
            false => Part::outline(equations, bound, spread.axis, range),
        };
        let parts: Vec<Part> = ranges.into_iter().enumerate().map(part).collect();
        let bounds = parts[own.clone()].iter().map(Part::bound).collect();
        let residuals = match plain.plan.opened.is_empty() {
            true => None,
            false => plan_with(equations, bound, precision, false)
                .and_then(|plan| Sharded::planned(equations, bound, spread.axis, from, (plan, precision)))
                .ok(),
        };
        Ok(Cut { plain, residuals, parts, own, bounds, exchange })
    }
}

/// The axes that can be cut, each with the number of its positions; the largest first, of several the one that the program names first.
///
/// # Errors
/// If there is no plan; if no axis can be cut, with what stands in the way of each.
pub fn axes(
    equations: &Equations,
    bound: &Bound,
    precision: Precision,
) -> Result<Vec<(AxisId, usize)>, Unplanned> {
    let plan: Plan = plan(equations, bound, precision)?;
    let name = |axis: AxisId| &equations.symbols.axis(axis).name;
    let mut axes: Vec<(AxisId, usize)> = plan
        .cuts
        .iter()
        .filter(|cut| cut.places.is_ok())
        .map(|cut| (cut.axis, bound.size(cut.axis)))
        .collect();
    axes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    if axes.is_empty() {
        let why = plan.cuts.iter().filter_map(|cut| Some((cut.axis, cut.places.as_ref().err()?)));
        let why: Vec<String> = why.map(|(axis, why)| format!("`{}`: {why}", name(axis))).collect();
        let why = if why.is_empty() { "no data run along any".to_owned() } else { why.join("; ") };
        return Err(Unplanned(format!("no axis can be cut into shards: {why}")));
    }
    Ok(axes)
}
