//! The unit in which a density is one.
//!
//! Data that a program divides by a scale, `y = (x - c) / s`, have a density of y that is `s` times that of x:
//!
//! ```text
//! log p(x) = log p(y) - log s
//! ```
//!
//! A score is that of y, the numbers that the program is about. The sum of `log s` over the entries that are scored takes it to the units in which the
//! data were given, where fits of programs with and without a scale, and with other scales, compare ([`crate::compare`] takes them there). Centres change no density, and probabilities have no unit.

use cavi_numerics::special::ln;

use super::{HeldOut, gives_probabilities};
use crate::bind::Hidden;
use crate::dimensions::Over;
use crate::prepare::Problem;

/// The sum of the logs of the scales of all entries that are held out; `None` where no array among them is divided by one.
pub fn log_scale(problem: &Problem, held: &HeldOut) -> Option<f64> {
    let given = problem.as_given();
    let of = |part: &Hidden| {
        let logs = log_scales(given, part)?;
        let width = part.weights.as_ref().map_or(1, |weights| part.values.len() / weights.len().max(1));
        let count = |number: usize| part.weights.as_ref().map_or(1.0, |weights| weights[number / width]);
        Some(logs.iter().enumerate().map(|(number, log)| count(number) * log).sum::<f64>())
    };
    held.parts.iter().filter_map(of).fold(None, |sum, own| Some(sum.unwrap_or(0.0) + own))
}

/// The log of the scale of each held-out value of an array, 0 of what is missing; `None` where the array is divided by none, or has probabilities.
pub(crate) fn log_scales(given: &Problem, hidden: &Hidden) -> Option<Vec<f64>> {
    if gives_probabilities(&given.model, hidden.array) {
        return None;
    }
    let standardised = given.binding.standardised.iter().find(|own| own.array == hidden.array)?;
    let (over, scales) = standardised.scale.as_ref()?;
    let over = Over::of(given, hidden.array, *over);
    let dimensions = &over.dimensions;
    // Of slices that are hidden as a whole there are the coordinates of the other dimensions, and all values in C order.
    let slice = &given.equations.symbols.array(hidden.array).slice;
    let is_whole = |held: usize| hidden.coordinates.len() < slice.len() && slice[held];
    let widths: Vec<usize> =
        dimensions.iter().map(|own| if is_whole(own.held()) { own.size() } else { 1 }).collect();
    let width: usize = widths.iter().product();
    let column = |held: usize| (0..held).filter(|other| !is_whole(*other)).count();
    let group = |number: usize| {
        let (entry, mut within) = (number / width, number % width);
        let mut inside = vec![0; widths.len()];
        for (position, width) in inside.iter_mut().zip(&widths).rev() {
            *position = within % width;
            within /= width;
        }
        over.group(|number| match is_whole(dimensions[number].held()) {
            true => inside[number],
            false => dimensions[number].position(&|held| hidden.coordinates[column(held)][entry] as usize),
        })
    };
    let of = |(number, value): (usize, &f64)| if value.is_nan() { 0.0 } else { ln(scales[group(number)]) };
    Some(hidden.values.iter().enumerate().map(of).collect())
}
