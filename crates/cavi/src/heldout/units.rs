//! The unit in which a density is one.
//!
//! Data that a program divides by a scale, `y = (x - c) / s`, have a density of y that is `s` times that of x:
//!
//! ```text
//! log p(x) = log p(y) - log s
//! ```
//!
//! A score is that of y, the numbers that the program is about. The sum of `log s` over the entries that are scored takes it to the units in which the
//! data were given, where fits of programs with and without a scale, and with other scales, compare. Centres change no density, and probabilities have no unit.

use cavi_numerics::special::ln;

use super::{HeldOut, gives_probabilities};
use crate::bind::Hidden;
use crate::dimensions::Over;
use crate::prepare::Problem;

/// The sum of the logs of the scales of all entries that are held out; `None` where no array among them is divided by one.
pub fn log_scale(problem: &Problem, held: &HeldOut) -> Option<f64> {
    let given = problem.as_given();
    let each = held.parts.iter().filter_map(|part| of_part(given, part));
    each.fold(None, |sum, own| Some(sum.unwrap_or(0.0) + own))
}

/// That of the entries of one array.
fn of_part(given: &Problem, hidden: &Hidden) -> Option<f64> {
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
    let of = |number: usize| {
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
    let count = |entry: usize| hidden.weights.as_ref().map_or(1.0, |weights| weights[entry]);
    let seen = hidden.values.iter().enumerate().filter(|(_, value)| !value.is_nan());
    Some(seen.map(|(number, _)| count(number / width) * ln(scales[of(number)])).sum())
}
