//! FROSTT coordinate tensors: `.tns`.
//!
//! An entry a line: its positions, which count from 1, and its value. Lines that start with `#` are comments.
//!
//! # Source
//! Smith et al.: FROSTT, the formidable repository of open sparse tensors and tools, <http://frostt.io>, 2017.

use std::path::Path;

use super::number::{number, whole};
use super::stream::Bytes;
use super::words::Words;
use super::{Dimension, Wanted};
use crate::content::{Content, Coordinates, Lines};
use crate::error::{FileError, count, quote};
use crate::growing::Growing;

pub(crate) fn read(
    bytes: Bytes<'_>,
    dimensions: &[Dimension<'_>],
    wanted: Wanted,
    spill: Option<&Path>,
) -> Result<Content, FileError> {
    let mut words = Words::new(bytes)?;
    let order = dimensions.len();
    let mut indices: Vec<Growing<u32>> =
        (0..order).map(|_| Growing::new(spill, 0)).collect::<Result<_, _>>()?;
    let mut values = Growing::new(spill, 0)?;
    let mut shape = vec![0; order];
    let mut lines = Lines::new(1);
    while words.seek(b'#')? {
        let line = words.line;
        for (dimension, column) in indices.iter_mut().enumerate() {
            let Some(field) = words.word() else {
                return Err(fields_error(dimension, order).at_line(line));
            };
            let position = position(field, dimension).map_err(|error| error.at_line(line))?;
            shape[dimension] = shape[dimension].max(position as usize + 1);
            column.push(position)?;
        }
        let value = match words.word() {
            Some(field) => {
                number(field).ok_or_else(|| FileError::new(quote(field), "a number").at_line(line))?
            }
            // A file that lists positions need not give values.
            None if wanted.may_lack_values() => 1.0,
            None => return Err(fields_error(order, order).at_line(line)),
        };
        let more = words.count();
        if more > 0 {
            return Err(fields_error(order + 1 + more, order).at_line(line));
        }
        values.push(value)?;
        lines.push(line);
        words.next_line()?;
    }
    Ok(Content::Coordinates(Coordinates {
        shape,
        shape_is_exact: false,
        indices: indices.into_iter().map(Growing::finish).collect::<Result<_, _>>()?,
        ascends: false,
        values: values.finish()?,
        labels: Vec::new(),
        value_labels: None,
        texts: None,
        lines: Some(lines),
    }))
}

#[inline]
fn position(field: &[u8], dimension: usize) -> Result<u32, FileError> {
    match whole(field) {
        Some(position) if 1 <= position && position <= u64::from(u32::MAX) => Ok((position - 1) as u32),
        _ => Err(FileError::new(
            format!("position {} in dimension {}", quote(field), dimension + 1),
            "a position from 1 to 4294967295",
        )),
    }
}

fn fields_error(found: usize, order: usize) -> FileError {
    FileError::new(count(found, "field"), format!("{}: {} and a value", order + 1, count(order, "position")))
}
