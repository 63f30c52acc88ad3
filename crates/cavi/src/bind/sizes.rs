//! Which sizes an axis may have.

use cavi_files::memory;

use super::data_error::DataError;

/// Longer axes than this are taken for a mistake.
pub(super) const LARGEST: usize = 400_000_000;

/// So many bytes are needed at least for each position of an axis while data are read.
const OF_A_POSITION: usize = 16;

/// An error for an axis that is longer than that, by the file `from`, or for whose positions there is no memory.
pub(super) fn too_long(axis: &str, size: usize, from: &str) -> Option<DataError> {
    if size > LARGEST {
        let message = format!("axis {axis} has {size} positions, by {from}");
        return Some(DataError::new(message).possible(format!("at most {LARGEST}")));
    }
    let needed = size.saturating_mul(OF_A_POSITION);
    memory::left().filter(|left| needed > *left)?;
    let needed = memory::text(needed);
    let message =
        format!("axis {axis} has {size} positions, by {from}, for which {needed} of memory are needed");
    Some(
        DataError::new(message)
            .possible(memory::left_in_words())
            .help("a smaller size in the header of the file, or more memory"),
    )
}

/// The size that `--set` gives an axis.
pub(super) fn size_set(name: &str, value: f64) -> Result<usize, DataError> {
    whole_size(value).ok_or_else(|| {
        DataError::new(format!("`--set {name}={value}` is no size of an axis"))
            .possible(format!("a whole number from 0 to {LARGEST}"))
    })
}

/// A size that an axis may have.
pub(super) fn whole_size(value: f64) -> Option<usize> {
    (value >= 0.0 && value.fract() == 0.0 && value <= LARGEST as f64).then_some(value as usize)
}
