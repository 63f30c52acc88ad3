//! How far the parameters move from sweep to sweep, where no bound says when a fit is at rest.

use cavi_algebra::ArrayId;
use cavi_executor::Parameters;

use super::Context;

/// The means of the variables that a schedule updates, after the last evaluation of the bound.
pub(super) struct Moved {
    arrays: Vec<ArrayId>,
    means: Vec<Vec<f64>>,
}

impl Moved {
    pub(super) fn new(context: &Context, parameters: &Parameters) -> Moved {
        let blocks = context.schedule.blocks();
        let members = blocks.iter().flat_map(|block| &context.equations.block(*block).members);
        let arrays: Vec<ArrayId> = members.copied().collect();
        let means = means(context, parameters, &arrays);
        Moved { arrays, means }
    }

    /// The means after the last evaluation, one list a variable.
    pub(super) fn means(&self) -> &[Vec<f64>] {
        &self.means
    }

    /// Goes on from the means of another run of the same schedule.
    pub(super) fn resume(&mut self, means: Vec<Vec<f64>>) {
        self.means = means;
    }

    /// The largest change of a variable since the last call: `sum |new - old| / sum |new|` over its means.
    pub(super) fn by(&mut self, context: &Context, parameters: &Parameters) -> f64 {
        let now = means(context, parameters, &self.arrays);
        let before = std::mem::replace(&mut self.means, now);
        let change = |(now, before): (&Vec<f64>, &Vec<f64>)| {
            // Infinity less infinity is no number, and no movement.
            let apart = |(now, before): (&f64, &f64)| if now == before { 0.0 } else { (now - before).abs() };
            let moved: f64 = now.iter().zip(before).map(apart).sum();
            let size = || now.iter().map(|own| own.abs()).filter(|own| *own < f64::INFINITY).sum::<f64>();
            let change = if moved == 0.0 { 0.0 } else { moved / size() };
            // Means that are no finite numbers are not at rest.
            if change.is_nan() { f64::INFINITY } else { change }
        };
        self.means.iter().zip(&before).map(change).fold(0.0, f64::max)
    }
}

/// The means of variables; of one without a mean nothing.
fn means(context: &Context, parameters: &Parameters, arrays: &[ArrayId]) -> Vec<Vec<f64>> {
    let bound = &context.binding.bound;
    let of = |array: &ArrayId| crate::means::mean(context.equations, bound, parameters, *array);
    arrays.iter().map(|array| of(array).map_or_else(Vec::new, |mean| mean.values)).collect()
}
