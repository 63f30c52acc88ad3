//! `center over n` and `scale over n`: for each value of the other indices subtract the mean of the observed entries,
//! then divide by their standard deviation (divisor n; 0 counts as 1). An entry counts as often as its row weighs.

use cavi_algebra::{ArrayId, Atom, LetterId};
use cavi_executor::{Bound, BoundArray};
use cavi_model::Model;

use super::compute::LARGEST_DENSE;
use super::data_error::DataError;
use super::place::Target;
use crate::dimensions::Over;
use crate::prepare::Problem;
use crate::rows::{Entries, Groups, RowWeights, change_observed, of_entries};

/// What was subtracted and divided by, for the files of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Standardised {
    /// The array.
    pub array: ArrayId,
    /// The letter of `center over`, and the means: one for each value of the other indices, in C order.
    pub centre: Option<(LetterId, Vec<f64>)>,
    /// The letter of `scale over`, and the standard deviations.
    pub scale: Option<(LetterId, Vec<f64>)>,
}

/// What data of a fit were standardised by on average, where each of its rows had numbers of its own.
#[derive(Clone, Debug)]
pub(crate) struct Typical {
    /// The array.
    pub array: ArrayId,
    /// The average of the means that `center over` subtracted.
    pub centre: Option<f64>,
    /// The average of the standard deviations.
    pub scale: Option<f64>,
}

impl Standardised {
    /// What was subtracted (`center`) and divided by (`scale`), each with its shape ([`Over::shape`]).
    pub(crate) fn parts(&self, problem: &Problem) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        let parts = [("center", &self.centre), ("scale", &self.scale)];
        let given = parts.into_iter().filter_map(|(name, part)| Some((name, part.as_ref()?)));
        let shape = |letter: &LetterId| Over::of(problem, self.array, *letter).shape();
        given.map(|(name, (letter, values))| (name, shape(letter), values.as_slice())).collect()
    }

    /// Takes means of entries at these coordinates of the array as it is held, and their standard deviations, back to the units in which the data
    /// were given.
    pub(crate) fn undo(
        &self,
        problem: &Problem,
        coordinates: &[Vec<u32>],
        means: &mut [f64],
        mut deviations: Option<&mut [f64]>,
    ) {
        let at = |over: &Over<'_>, entry: usize| {
            over.group_at(&|dimension| coordinates[dimension][entry] as usize)
        };
        if let Some((letter, scales)) = &self.scale {
            let over = Over::of(problem, self.array, *letter);
            for (entry, mean) in means.iter_mut().enumerate() {
                let scale = scales[at(&over, entry)];
                *mean *= scale;
                if let Some(deviations) = deviations.as_deref_mut() {
                    deviations[entry] *= scale;
                }
            }
        }
        if let Some((letter, centres)) = &self.centre {
            let over = Over::of(problem, self.array, *letter);
            means.iter_mut().enumerate().for_each(|(entry, mean)| *mean += centres[at(&over, entry)]);
        }
    }
}

/// The multiplicities that data wait for, since their rows are standardised by them.
pub(super) fn weighed_by(model: &Model, id: ArrayId) -> Vec<ArrayId> {
    let array = model.symbols.array(id);
    if array.center.is_none() && array.scale.is_none() {
        return Vec::new();
    }
    of_entries(model, id).0.iter().filter_map(array_of).collect()
}

/// The array that a multiplicity is an element of.
fn array_of(atom: &Atom) -> Option<ArrayId> {
    if let Atom::Value(array, _) = atom { Some(*array) } else { None }
}

/// Standardises an array as its declaration says, by `fixed` numbers where there are any, and rows without an entry by `typical` ones; `None` where it
/// says nothing. Its multiplicities are among `others`.
pub(super) fn standardise(
    target: &Target<'_>,
    bound: &mut BoundArray,
    (fixed, typical): (Option<&Standardised>, Option<&Typical>),
    (model, others): (&Model, &[Option<BoundArray>]),
) -> Result<Option<Standardised>, DataError> {
    let array = target.array;
    if array.center.is_none() && array.scale.is_none() {
        return Ok(None);
    }
    let (atoms, letters) = of_entries(model, target.id);
    let mut of_weights = Bound { arrays: vec![None; others.len()], ..Bound::default() };
    of_weights.axes.clone_from(&target.axes.bound);
    for id in atoms.iter().filter_map(array_of) {
        of_weights.arrays[id.index()].clone_from(&others[id.index()]);
    }
    let moments = |bound: &BoundArray, letter: LetterId| {
        let weights = RowWeights::of(target.symbols, &of_weights, &atoms, &letters);
        let typical = (typical.and_then(|own| own.centre), typical.and_then(|own| own.scale));
        moments(target, bound, letter, (weights, typical))
    };
    let mut standardised = Standardised { array: target.id, centre: None, scale: None };
    let spread = array.scale.map(|letter| (letter, moments(bound, letter)));
    if let Some(letter) = array.center {
        // What was found of all places holds of them still; zeros that were not listed are added up anew.
        let of_all =
            spread.as_ref().filter(|(over, _)| *over == letter && matches!(bound, BoundArray::Dense { .. }));
        let known = of_all.map(|(_, (means, _))| means.clone());
        densify(target, bound)?;
        let means = match (fixed.and_then(|fixed| fixed.centre.clone()), known) {
            (Some((_, means)), _) | (None, Some(means)) => means,
            (None, None) => moments(bound, letter).0,
        };
        apply(target, bound, letter, |group, value| value - means[group]);
        standardised.centre = Some((letter, means));
    }
    if let Some((letter, (_, deviations))) = spread {
        // Deviations are taken from the mean over the same letter, whether that is subtracted or not. Centring over
        // another letter comes first, since it changes them.
        let deviations = if array.center.is_some_and(|centre| centre != letter) {
            moments(bound, letter).1
        } else {
            deviations
        };
        let deviations = match fixed.and_then(|fixed| fixed.scale.clone()) {
            Some((_, deviations)) => deviations,
            None => deviations,
        };
        apply(target, bound, letter, |group, value| value / deviations[group]);
        standardised.scale = Some((letter, deviations));
    }
    Ok(Some(standardised))
}

/// Standardises what was taken out of an array by the numbers that its other entries were standardised by: elements, each with its place and its value.
pub(super) fn standardise_entries(
    target: &Target<'_>,
    by: &Standardised,
    place: impl Fn(usize) -> Vec<u32>,
    values: &mut [f64],
) {
    let group = |groups: &Groups<'_>, entry: usize| {
        let place = place(entry);
        groups.of(|dimension| place[dimension] as usize)
    };
    if let Some((letter, means)) = &by.centre {
        let groups = groups_over(target, *letter);
        values.iter_mut().enumerate().for_each(|(entry, value)| *value -= means[group(&groups, entry)]);
    }
    if let Some((letter, deviations)) = &by.scale {
        let groups = groups_over(target, *letter);
        values.iter_mut().enumerate().for_each(|(entry, value)| *value /= deviations[group(&groups, entry)]);
    }
}

/// The groups of entries that are standardised together: everything but the letter, of which a ragged one keeps its parent.
fn groups_over<'a>(target: &Target<'a>, letter: LetterId) -> Groups<'a> {
    let dimension = target.array.letters.iter().position(|own| *own == letter);
    let axis = &target.axes.bound[target.symbols.letter(letter).axis.index()];
    let above = axis.parent.as_deref().zip(axis.starts.as_ref().map(|starts| starts.len() - 1));
    Groups::over(&target.shape, dimension.expect("the letter is one of the array's"), above)
}

/// Means and standard deviations of the observed entries, one of each a group. A deviation within the rounding of the mean is 0, and 0 counts
/// as 1. Of a group without an entry, such as a row that is held out as a whole, they are the typical ones, or the averages over the groups that have some:
/// what is expected there is in the units of the data.
fn moments(
    target: &Target<'_>,
    bound: &BoundArray,
    letter: LetterId,
    (weights, typical): (RowWeights<'_>, (Option<f64>, Option<f64>)),
) -> (Vec<f64>, Vec<f64>) {
    let (shape, existing) = (target.shape.clone(), target.cells_with_entries().clone());
    let entries = Entries { array: bound, shape, existing, weights };
    let found = entries.moments(&groups_over(target, letter));
    let spread =
        found.deviation.into_iter().zip(&found.mean).map(|(deviation, mean)| {
            if deviation > 4.0 * f64::EPSILON * mean.abs() { deviation } else { 1.0 }
        });
    let mut spread: Vec<f64> = spread.collect();
    let mut mean = found.mean;
    let has_some = |weight: &f64| *weight > 0.0;
    let known = found.weight.iter().filter(|weight| has_some(weight)).count();
    for (values, typical) in [(&mut mean, typical.0), (&mut spread, typical.1)] {
        let all = values.iter().zip(&found.weight).filter(|(_, weight)| has_some(weight));
        let average = (known > 0).then(|| all.map(|(value, _)| value / known as f64).sum());
        let Some(unknown) = typical.or(average) else { continue };
        let without = values.iter_mut().zip(&found.weight).filter(|(_, weight)| !has_some(weight));
        without.for_each(|(value, _)| *value = unknown);
    }
    (mean, spread)
}

/// Changes every observed entry.
fn apply(target: &Target<'_>, bound: &mut BoundArray, letter: LetterId, change: impl Fn(usize, f64) -> f64) {
    let groups = groups_over(target, letter);
    change_observed(bound, &target.shape, target.cells_with_entries(), &mut |place, value| {
        change(groups.of(|dimension| place[dimension]), value)
    });
}

/// Writes out the zeros that are not listed, since they are not 0 after a mean has been subtracted.
fn densify(target: &Target<'_>, bound: &mut BoundArray) -> Result<(), DataError> {
    let BoundArray::Sparse { indices, values, observed, unlisted_zero: true } = &*bound else {
        return Ok(());
    };
    let cells = target.cells().filter(|cells| *cells <= LARGEST_DENSE).ok_or_else(|| {
        DataError::new(format!(
            "`{}` is sparse with {:?} entries; centred, none of them is 0",
            target.array.name, target.shape
        ))
        .possible(format!("at most {LARGEST_DENSE} entries in all"))
        .help("drop `center over`, and give the model an intercept")
    })?;
    let mut all = vec![0.0; cells];
    let mut mask = vec![true; cells];
    for (entry, value) in values.iter().enumerate() {
        let columns = indices.iter().zip(&target.shape);
        let cell = columns.fold(0, |cell, (column, size)| cell * size + column[entry] as usize);
        all[cell] = *value;
        mask[cell] = observed.as_ref().is_none_or(|observed| observed[entry]);
    }
    let observed = mask.contains(&false).then_some(mask);
    *bound = BoundArray::Dense { values: all.into(), observed };
    Ok(())
}
