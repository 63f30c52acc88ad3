//! Components of a fit to other data in the order of the fit.
//!
//! Components (topics, factors, classes) are positions on an axis that no data have, and that no constant tells apart; any order of them is as good, and where the
//! program says the same with the signs of one turned around (`signs.rs`), so is any sign. A component of the other fit is that of the fit to which it is closest: with the means
//! of all latents that data are made from (where there are none, of all) and that run along the axis once, each divided by the standard deviation of its numbers (of non-negative ones their
//! roots), components are assigned one to one so that the sum of their squared distances is least. Over a ragged axis each group has components of its
//! own, which change places among themselves.

use std::collections::BTreeSet;
use std::ops::Range;

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Mode, Support, Symbols};
use cavi_executor::{Bound, BoundArray, Parameters};
use cavi_numerics::assignment;

use crate::bind::Existing;
use crate::heldout::unflat;
use crate::matching::component_axes;
use crate::means::{Mean, mean};
use crate::prepare::Problem;
use crate::signs;

/// The axes of components of a fit, with the means that tell them.
pub(crate) struct Components {
    axes: Vec<Axis>,
    /// The means by which components are told apart.
    reference: Vec<(ArrayId, Mean)>,
}

/// An axis of components.
struct Axis {
    axis: AxisId,
    /// Whether components have no sign of their own.
    is_signed: bool,
    /// The positions of each group; one where the axis is not ragged.
    groups: Vec<Range<usize>>,
}

impl Components {
    /// Those of latents with these means. Latents for which `is_new` belong to other rows in other data, and tell nothing; those for which `is_held` have
    /// the same q in all fits, and their components no other order.
    pub fn of(
        problem: &Problem,
        mean: &dyn Fn(ArrayId) -> Option<Mean>,
        is_new: &dyn Fn(ArrayId) -> bool,
        is_held: &dyn Fn(ArrayId) -> bool,
    ) -> Components {
        let Problem { model, equations, .. } = problem;
        let symbols = &model.symbols;
        let is_free = |axis: &AxisId| {
            let along = |array: ArrayId| dimensions(symbols, array).contains(axis);
            let mut arrays = (0..symbols.arrays.len()).map(ArrayId::from).filter(|array| along(*array));
            let fixed = |array: ArrayId| {
                let block = equations.block_of(array).map(|id| equations.block(id));
                block.is_some_and(|own| own.mode == Mode::Fixed) || is_held(array)
            };
            let is_alike = |array: ArrayId| match symbols.array(array).kind {
                ArrayKind::Latent => !fixed(array),
                ArrayKind::Constant => is_symmetric(problem, array, *axis),
                ArrayKind::Data => false,
            };
            // Of components within components those within would change places with what they are in.
            let all = component_axes(symbols);
            let is_nested = all.iter().any(|own| symbols.axis(*own).parent == Some(*axis))
                || std::iter::successors(symbols.axis(*axis).parent, |own| symbols.axis(*own).parent)
                    .any(|own| all.contains(&own));
            !is_nested && arrays.all(is_alike)
        };
        let axes: Vec<Axis> = component_axes(symbols)
            .into_iter()
            .filter(is_free)
            .map(|axis| {
                let bound = &problem.binding.bound;
                Axis { axis, is_signed: signs::are_free(model, axis), groups: groups(bound, axis) }
            })
            .collect();
        // What data are made from tells more than what that is made from: centres of classes, not their shares.
        let mut read = BTreeSet::new();
        let observed = model.statements.iter().filter(|own| own.observed);
        for argument in observed.flat_map(|own| own.arguments.iter().flatten()) {
            argument.value.visit_values(&mut |array, _| {
                read.insert(array);
            });
        }
        let is_told = |array: ArrayId| {
            !is_new(array) && axes.iter().any(|own| dimensions(symbols, array).contains(&own.axis))
        };
        if symbols.latents().any(|array| is_told(array) && read.contains(&array)) {
            read.retain(|array| symbols.array(*array).kind == ArrayKind::Latent);
        } else {
            read = symbols.latents().collect();
        }
        let reference = symbols
            .latents()
            .filter(|array| read.contains(array))
            .filter(|array| !is_new(*array))
            .filter_map(|array| Some((array, mean(array)?)))
            .filter(|(_, own)| axes.iter().any(|axis| own.axes.contains(&axis.axis)))
            .collect();
        Components { axes, reference }
    }

    /// Puts the components of means of another fit in the order of this one.
    pub fn align(&self, problem: &Problem, parameters: &Parameters, means: &mut [(ArrayId, Mean)]) {
        let Problem { model, equations, binding, .. } = problem;
        let symbols = &model.symbols;
        let of_other = self
            .reference
            .iter()
            .filter_map(|(array, _)| Some((*array, mean(equations, &binding.bound, parameters, *array)?)));
        let mut others: Vec<(ArrayId, Mean)> = of_other.collect();
        for axis in &self.axes {
            let size = axis.groups.last().map_or(0, |own| own.end);
            let mut order: Vec<(usize, f64)> = (0..size).map(|place| (place, 1.0)).collect();
            let mut is_known = false;
            for group in &axis.groups {
                let existing =
                    |array: ArrayId| Existing::of(symbols, &binding.bound.axes, symbols.array(array));
                if let Some(own) = self.order(symbols, (axis, group), &others, &existing) {
                    is_known = true;
                    order[group.clone()].copy_from_slice(&own);
                }
            }
            if !is_known {
                continue;
            }
            for (array, own) in others.iter_mut().chain(means.iter_mut()) {
                let flips = axis.is_signed && symbols.array(*array).support == Support::Real;
                for dimension in 0..own.axes.len() {
                    if own.axes[dimension] == axis.axis {
                        *own = permuted(own, dimension, &order, flips);
                    }
                }
            }
        }
    }

    /// For each component of a group of the fit that of the other, and its sign; `None` where nothing tells them apart.
    fn order(
        &self,
        symbols: &Symbols,
        (axis, group): (&Axis, &Range<usize>),
        others: &[(ArrayId, Mean)],
        existing: &dyn Fn(ArrayId) -> Existing,
    ) -> Option<Vec<(usize, f64)>> {
        let mut count = None;
        // The sum of squared distances with equal signs, and with the opposite one.
        let mut distances: Vec<[f64; 2]> = Vec::new();
        for ((array, ours), (_, theirs)) in self.reference.iter().zip(others) {
            let Some(dimension) = ours.axes.iter().position(|own| *own == axis.axis) else { continue };
            let is_once = ours.axes.iter().filter(|own| **own == axis.axis).count() == 1;
            if !is_once || ours.shape != theirs.shape {
                continue;
            }
            let is_real = symbols.array(*array).support == Support::Real;
            let scale = |value: f64| if is_real { value } else { value.max(0.0).sqrt() };
            let existing = existing(*array);
            let slices = |own: &Mean| slices(own, (dimension, group), &existing, &scale);
            let (ours, theirs) = (slices(ours), slices(theirs));
            let width = variance(&ours);
            if !(width > 0.0 && width.is_finite()) {
                continue;
            }
            let size = ours.len();
            count = Some(size);
            distances.resize(size * size, [0.0; 2]);
            for (i, one) in ours.iter().enumerate() {
                for (j, other) in theirs.iter().enumerate() {
                    for (sign, sum) in [1.0, -1.0].into_iter().zip(&mut distances[i * size + j]) {
                        let sign = if is_real { sign } else { 1.0 };
                        let square = |(a, b): (&f64, &f64)| (a - sign * b) * (a - sign * b);
                        let total: f64 = one.iter().zip(other).map(square).sum();
                        *sum += total / (width * one.len() as f64);
                    }
                }
            }
        }
        let size = count?;
        let best = |own: &[f64; 2]| if axis.is_signed { own[0].min(own[1]) } else { own[0] };
        let weights: Vec<f64> = distances.iter().map(|own| -best(own)).collect();
        if weights.iter().any(|own| !own.is_finite()) {
            return None;
        }
        let assigned = assignment(&weights, size, size).into_iter().enumerate();
        let pair = |(i, j): (usize, Option<usize>)| {
            let j = j?;
            let [same, opposite] = distances[i * size + j];
            Some((group.start + j, if axis.is_signed && opposite < same { -1.0 } else { 1.0 }))
        };
        assigned.map(pair).collect()
    }
}

/// Whether a constant stays the same when positions of an axis change places: it does if it does for the first of each group with each other one.
fn is_symmetric(problem: &Problem, array: ArrayId, axis: AxisId) -> bool {
    let (symbols, bound) = (&problem.model.symbols, &problem.binding.bound);
    let Some(BoundArray::Dense { values, observed: None }) = &bound.arrays[array.index()] else {
        return false;
    };
    let own = Mean {
        axes: dimensions(symbols, array),
        shape: bound.shape(symbols, array),
        values: values.to_vec(),
    };
    let others = |group: Range<usize>| group.clone().skip(1).map(move |other| (group.start, other));
    groups(bound, axis).into_iter().flat_map(others).all(|(first, other)| {
        let mut order: Vec<(usize, f64)> = (0..bound.size(axis)).map(|place| (place, 1.0)).collect();
        order.swap(first, other);
        let along = (0..own.axes.len()).filter(|dimension| own.axes[*dimension] == axis);
        let exchanged = along.fold(own.clone(), |one, dimension| permuted(&one, dimension, &order, false));
        exchanged.values == own.values
    })
}

/// The positions of each group of an axis; all of them where it is not ragged.
fn groups(bound: &Bound, axis: AxisId) -> Vec<Range<usize>> {
    match &bound.axes[axis.index()].starts {
        Some(starts) => starts.windows(2).map(|ends| ends[0]..ends[1]).collect(),
        None => std::iter::once(0..bound.size(axis)).collect(),
    }
}

/// The axes of the dimensions of an array.
fn dimensions(symbols: &Symbols, array: ArrayId) -> Vec<AxisId> {
    symbols.array(array).letters.iter().map(|letter| symbols.letter(*letter).axis).collect()
}

/// The numbers of each position of a group along a dimension, where there are any.
fn slices(
    own: &Mean,
    (dimension, group): (usize, &Range<usize>),
    existing: &Existing,
    scale: &dyn Fn(f64) -> f64,
) -> Vec<Vec<f64>> {
    let mut slices = vec![Vec::new(); group.len()];
    for (cell, value) in own.values.iter().enumerate() {
        let place = unflat(&own.shape, cell);
        if group.contains(&place[dimension]) && (!existing.is_tied() || existing.is_there(&place)) {
            slices[place[dimension] - group.start].push(scale(*value));
        }
    }
    slices
}

/// The variance of numbers over components, averaged over what they are compared by; of one component about 0.
fn variance(slices: &[Vec<f64>]) -> f64 {
    let count = slices.len() as f64;
    let width = slices.first().map_or(0, Vec::len);
    let of = |place: usize| {
        let mean = match slices {
            [_] => 0.0,
            _ => slices.iter().map(|own| own[place]).sum::<f64>() / count,
        };
        slices.iter().map(|own| (own[place] - mean) * (own[place] - mean)).sum::<f64>() / count
    };
    (0..width).map(of).sum::<f64>() / width as f64
}

/// The mean with position `order[k].0` along a dimension at `k`, times its sign where it flips.
fn permuted(own: &Mean, dimension: usize, order: &[(usize, f64)], flips: bool) -> Mean {
    let stride: usize = own.shape[dimension + 1..].iter().product();
    let at = |cell: usize| {
        let position = unflat(&own.shape, cell)[dimension];
        let (from, sign) = order[position];
        let value = own.values[cell - position * stride + from * stride];
        if flips { sign * value } else { value }
    };
    Mean { values: (0..own.values.len()).map(at).collect(), ..own.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of two latents along one axis of two components.
    fn found(share: [f64; 2], centre: [f64; 2]) -> Vec<(ArrayId, Mean)> {
        let mean = |values: [f64; 2]| Mean { axes: vec![AxisId(0)], shape: vec![2], values: values.to_vec() };
        vec![(ArrayId(0), mean(share)), (ArrayId(1), mean(centre))]
    }

    #[test]
    fn components_are_told_by_all_latents_along_them() {
        let mut symbols = Symbols::default();
        symbols.arrays.push(cavi_algebra::Array::latent("share", Vec::new(), Support::Simplex));
        symbols.arrays.push(cavi_algebra::Array::latent("centre", Vec::new(), Support::Real));
        let axis = |is_signed| Axis { axis: AxisId(0), is_signed, groups: Vec::new() };
        let own = Components { axes: Vec::new(), reference: found([0.64, 0.36], [-2.1, 3.9]) };
        let order = |is_signed, share, centre| {
            own.order(&symbols, (&axis(is_signed), &(0..2)), &found(share, centre), &|_| Existing::default())
        };
        // Equal shares tell nothing.
        assert_eq!(order(false, [0.5, 0.5], [-2.0, 3.8]), Some(vec![(0, 1.0), (1, 1.0)]));
        assert_eq!(order(false, [0.5, 0.5], [3.8, -2.0]), Some(vec![(1, 1.0), (0, 1.0)]));
        assert_eq!(order(true, [0.5, 0.5], [-3.8, 2.0]), Some(vec![(1, -1.0), (0, -1.0)]));
    }

    #[test]
    fn positions_and_signs_are_exchanged() {
        let own =
            Mean { axes: vec![AxisId(0), AxisId(1)], shape: vec![2, 2], values: vec![1.0, 2.0, 3.0, 4.0] };
        let order = [(1, -1.0), (0, 1.0)];
        assert_eq!(permuted(&own, 0, &order, true).values, [-3.0, -4.0, 1.0, 2.0]);
        assert_eq!(permuted(&own, 1, &order, false).values, [2.0, 1.0, 4.0, 3.0]);
    }
}
