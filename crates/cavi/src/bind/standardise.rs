//! `center over n` and `scale over n`: for each value of the other indices subtract the mean of the observed entries,
//! then divide by their standard deviation (divisor n; 0 counts as 1).

use cavi_algebra::evaluate::Accumulator;
use cavi_algebra::{ArrayId, LetterId};
use cavi_executor::BoundArray;

use super::compute::LARGEST_DENSE;
use super::data_error::DataError;
use super::place::Target;
use crate::dimensions::Over;
use crate::prepare::Problem;

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

/// Standardises an array as its declaration says, by `fixed` numbers where there are any; `None` where it says nothing.
pub(super) fn standardise(
    target: &Target<'_>,
    bound: &mut BoundArray,
    fixed: Option<&Standardised>,
) -> Result<Option<Standardised>, DataError> {
    let array = target.array;
    if array.center.is_none() && array.scale.is_none() {
        return Ok(None);
    }
    let mut standardised = Standardised { array: target.id, centre: None, scale: None };
    let spread = array.scale.map(|letter| (letter, moments(target, bound, letter)));
    if let Some(letter) = array.center {
        // What was found of all places holds of them still; zeros that were not listed are added up anew.
        let of_all =
            spread.as_ref().filter(|(over, _)| *over == letter && matches!(bound, BoundArray::Dense { .. }));
        let known = of_all.map(|(_, (means, _))| means.clone());
        densify(target, bound)?;
        let means = match (fixed.and_then(|fixed| fixed.centre.clone()), known) {
            (Some((_, means)), _) | (None, Some(means)) => means,
            (None, None) => moments(target, bound, letter).0,
        };
        apply(target, bound, letter, |group, value| value - means[group]);
        standardised.centre = Some((letter, means));
    }
    if let Some((letter, (_, deviations))) = spread {
        // Deviations are taken from the mean over the same letter, whether that is subtracted or not. Centring over
        // another letter comes first, since it changes them.
        let deviations = if array.center.is_some_and(|centre| centre != letter) {
            moments(target, bound, letter).1
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
    let group = |groups: &Groups, entry: usize| {
        let place = place(entry);
        groups.of(|dimension| place[dimension] as usize)
    };
    if let Some((letter, means)) = &by.centre {
        let groups = Groups::new(target, *letter);
        values.iter_mut().enumerate().for_each(|(entry, value)| *value -= means[group(&groups, entry)]);
    }
    if let Some((letter, deviations)) = &by.scale {
        let groups = Groups::new(target, *letter);
        values.iter_mut().enumerate().for_each(|(entry, value)| *value /= deviations[group(&groups, entry)]);
    }
}

/// The group of coordinates: everything but the letter. A ragged letter keeps its parent.
struct Groups {
    dimension: usize,
    /// For a ragged letter the parent of each position.
    parent: Option<Vec<usize>>,
    sizes: Vec<usize>,
}

impl Groups {
    fn new(target: &Target<'_>, letter: LetterId) -> Groups {
        let dimension = target.array.letters.iter().position(|own| *own == letter).unwrap_or(0);
        let axis = &target.axes.bound[target.symbols.letter(letter).axis.index()];
        let mut sizes = target.shape.clone();
        sizes[dimension] = axis.starts.as_ref().map_or(1, |starts| starts.len() - 1);
        Groups { dimension, parent: axis.parent.clone(), sizes }
    }

    fn count(&self) -> usize {
        self.sizes.iter().product()
    }

    fn of(&self, coordinate: impl Fn(usize) -> usize) -> usize {
        self.sizes.iter().enumerate().fold(0, |group, (dimension, size)| {
            let position = match (dimension == self.dimension, &self.parent) {
                (true, Some(parent)) => parent[coordinate(dimension)],
                (true, None) => 0,
                (false, _) => coordinate(dimension),
            };
            group * size + position
        })
    }
}

/// Means and standard deviations of the observed entries, one of each a group. Where all are equal the mean is their value, not
/// what rounding makes of the sum; a deviation within the rounding of the mean is 0, and 0 counts as 1.
fn moments(target: &Target<'_>, bound: &BoundArray, letter: LetterId) -> (Vec<f64>, Vec<f64>) {
    let groups = Groups::new(target, letter);
    let mut counts = vec![0.0; groups.count()];
    let mut totals = vec![Accumulator::default(); groups.count()];
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); groups.count()];
    for_each_observed(target, bound, &groups, &mut |group, value| {
        counts[group] += 1.0;
        totals[group].add(value);
        ranges[group] = (ranges[group].0.min(value), ranges[group].1.max(value));
    });
    let unlisted = unlisted(target, bound, &groups, &counts);
    let all: Vec<f64> = counts.iter().zip(&unlisted).map(|(count, more)| count + more).collect();
    let means: Vec<f64> = totals
        .into_iter()
        .zip(&all)
        .zip(ranges.iter().zip(&unlisted))
        .map(|((total, count), ((least, most), zeros))| match *count > 0.0 {
            true if least == most && *zeros == 0.0 => *least,
            true => total.total() / count,
            false => 0.0,
        })
        .collect();
    let mut squares: Vec<Accumulator> = vec![Accumulator::default(); means.len()];
    for_each_observed(target, bound, &groups, &mut |group, value| {
        squares[group].add((value - means[group]) * (value - means[group]));
    });
    let deviations = squares
        .into_iter()
        .zip(&all)
        .zip(means.iter().zip(&unlisted))
        .map(|((square, count), (mean, zeros))| {
            let total = square.total() + zeros * mean * mean;
            let deviation = if *count > 0.0 { (total / count).sqrt() } else { 0.0 };
            if deviation > 4.0 * f64::EPSILON * mean.abs() { deviation } else { 1.0 }
        })
        .collect();
    (means, deviations)
}

/// The number of entries of each group that are not listed and were observed to be 0.
fn unlisted(target: &Target<'_>, bound: &BoundArray, groups: &Groups, listed: &[f64]) -> Vec<f64> {
    let BoundArray::Sparse { indices, observed, unlisted_zero: true, .. } = bound else {
        return vec![0.0; listed.len()];
    };
    let mut sizes = vec![0.0; listed.len()];
    let dimension = groups.dimension;
    match target.has_gaps() {
        true => {
            // Few arrays have gaps; their cells are counted.
            for cell in 0..target.cells().unwrap_or(0) {
                let place = target.coordinates(cell);
                if target.exists(|dimension| place[dimension]) {
                    sizes[groups.of(|dimension| place[dimension])] += 1.0;
                }
            }
        }
        false => {
            let axis =
                &target.axes.bound[target.symbols.letter(target.array.letters[dimension]).axis.index()];
            for (group, size) in sizes.iter_mut().enumerate() {
                let after: usize = groups.sizes[dimension + 1..].iter().product();
                let parent = group / after.max(1) % groups.sizes[dimension].max(1);
                *size = match &axis.starts {
                    Some(starts) => (starts[parent + 1] - starts[parent]) as f64,
                    None => axis.size as f64,
                };
            }
        }
    }
    for (size, listed) in sizes.iter_mut().zip(listed) {
        *size -= listed;
    }
    // Listed entries that are missing are no zeros either.
    if let Some(observed) = observed {
        for (entry, _) in observed.iter().enumerate().filter(|(_, observed)| !**observed) {
            sizes[groups.of(|dimension| indices[dimension][entry] as usize)] -= 1.0;
        }
    }
    sizes
}

fn for_each_observed(
    target: &Target<'_>,
    bound: &BoundArray,
    groups: &Groups,
    visit: &mut dyn FnMut(usize, f64),
) {
    match bound {
        BoundArray::Dense { values, observed } => {
            let mut place = vec![0; target.shape.len()];
            for (cell, value) in values.iter().enumerate() {
                let seen = observed.as_ref().is_none_or(|observed| observed[cell]);
                if seen && target.exists(|dimension| place[dimension]) {
                    visit(groups.of(|dimension| place[dimension]), *value);
                }
                target.advance(&mut place);
            }
        }
        BoundArray::Sparse { indices, values, observed, .. } => {
            for (entry, value) in values.iter().enumerate() {
                if observed.as_ref().is_none_or(|observed| observed[entry]) {
                    visit(groups.of(|dimension| indices[dimension][entry] as usize), *value);
                }
            }
        }
    }
}

/// Changes every observed entry.
fn apply(target: &Target<'_>, bound: &mut BoundArray, letter: LetterId, change: impl Fn(usize, f64) -> f64) {
    let groups = Groups::new(target, letter);
    match bound {
        BoundArray::Dense { values, observed } => {
            let mut place = vec![0; target.shape.len()];
            for (cell, value) in values.iter_mut().enumerate() {
                let seen = observed.as_ref().is_none_or(|observed| observed[cell]);
                if seen && target.exists(|dimension| place[dimension]) {
                    *value = change(groups.of(|dimension| place[dimension]), *value);
                }
                target.advance(&mut place);
            }
        }
        BoundArray::Sparse { indices, values, observed, .. } => {
            for (entry, value) in values.iter_mut().enumerate() {
                if observed.as_ref().is_none_or(|observed| observed[entry]) {
                    *value = change(groups.of(|dimension| indices[dimension][entry] as usize), *value);
                }
            }
        }
    }
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
