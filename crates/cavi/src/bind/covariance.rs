//! Covariances of Gaussian processes as numbers: whitened once, refused where they are none or memory does not hold them.

use cavi_files::memory;
use cavi_numerics::linalg;

use super::compute::LARGEST_DENSE;
use super::data_error::DataError;
use super::place::Target;

const FEWER: &str = "fit fewer points: every other one, or means over short stretches";

/// The whitening matrix of a covariance.
pub(super) fn whiten(
    target: &Target<'_>,
    covariance: &[f64],
    jitters: &mut Vec<(String, f64)>,
) -> Result<Vec<f64>, DataError> {
    let size = covariance.len().isqrt();
    let name = variable(target);
    if let Some(place) = covariance.iter().position(|value| !value.is_finite()) {
        let (row, column) = (place / size + 1, place % size + 1);
        return Err(DataError::new(format!(
            "the covariance of `{name}` is {} in row {row}, column {column}",
            covariance[place]
        ))
        .possible("finite numbers, from finite places and hyper-parameters greater than 0"));
    }
    if let Some((row, column)) = linalg::asymmetry(covariance) {
        return Err(DataError::new(format!(
            "the covariance of `{name}` is not symmetric: {} in row {}, column {}, and {} in row {}, column {}",
            covariance[row * size + column],
            row + 1,
            column + 1,
            covariance[column * size + row],
            column + 1,
            row + 1
        )));
    }
    let (whitening, jitter) = linalg::whitening(covariance).map_err(|error| {
        DataError::new(format!(
            "the covariance of `{name}` is not positive semi-definite (at row {})",
            error.pivot + 1
        ))
        .possible("hyper-parameters greater than 0; a matrix that is a covariance, up to a jitter of 1e-6 of its diagonal")
        .help("add a small `white(sd = ...)` to the kernel, or to the diagonal of the matrix")
    })?;
    if jitter > 0.0 {
        match jitters.iter_mut().find(|(own, _)| own == name) {
            Some((_, largest)) => *largest = largest.max(jitter),
            None => jitters.push((name.to_owned(), jitter)),
        }
    }
    Ok(whitening)
}

/// The variable that a whitening matrix belongs to: it is named for it.
fn variable<'a>(target: &'a Target<'_>) -> &'a str {
    let name = &target.array.name;
    name.strip_prefix("C_").and_then(|name| name.strip_suffix("'^-1")).unwrap_or(name)
}

/// Refuses a covariance of too many points.
pub(super) fn too_large(target: &Target<'_>) -> DataError {
    let numbers: f64 = target.shape.iter().map(|size| *size as f64).product();
    let points = target.shape.last().copied().unwrap_or(0);
    DataError::new(format!(
        "the covariance of `{}` over {points} points would have {numbers:.1e} numbers, {:.1} GB",
        variable(target),
        8e-9 * numbers
    ))
    .possible(format!(
        "at most {LARGEST_DENSE} numbers, {:.1} GB: about 16,000 points",
        8e-9 * LARGEST_DENSE as f64
    ))
    .help(FEWER)
}

/// Refuses covariances that the memory of this machine does not hold: while one is factorised there are it, its factor and
/// the finished ones.
pub(super) fn check_memory(target: &Target<'_>, cells: usize) -> Result<(), DataError> {
    let points = target.shape.last().copied().unwrap_or(0);
    let needed = size_of::<f64>() * (cells + 2 * points * points);
    match memory::left() {
        Some(left) if needed > left => Err(DataError::new(format!(
            "the covariance of `{}` over {points} points takes {} of memory while it is factorised",
            variable(target),
            memory::text(needed)
        ))
        .possible(memory::left_in_words())
        .help(FEWER)),
        Some(_) | None => Ok(()),
    }
}
