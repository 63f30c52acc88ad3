//! Matrix Market: `.mtx`.
//!
//! A header `%%MatrixMarket matrix coordinate|array FIELD SYMMETRY`, comments that start with `%`, a line of sizes, and
//! then the entries: `ROW COLUMN VALUE` a line with positions from 1, or the values of all entries, column by column.
//!
//! # Source
//! Boisvert, Pozo, Remington: The Matrix Market exchange formats, NISTIR 5935, 1996.

use std::path::Path;

use super::bytes::memory_for;
use super::number::{number, whole};
use super::stream::Bytes;
use super::words::Words;
use super::{Dimension, check_dimensions};
use crate::content::{Content, Coordinates, Dense, Lines, Values};
use crate::error::{FileError, count, quote};
use crate::growing::Growing;
use crate::memory;

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Real,
    Integer,
    Pattern,
}

struct Header {
    coordinate: bool,
    field: Field,
    symmetric: bool,
}

pub(crate) fn read(
    bytes: Bytes<'_>,
    dimensions: &[Dimension<'_>],
    spill: Option<&Path>,
) -> Result<Content, FileError> {
    let mut words = Words::new(bytes)?;
    let header = header(&mut words)?;
    let sizes = sizes(&mut words, header.coordinate)?;
    let (rows, columns) = (sizes[0], sizes[1]);
    if header.symmetric && rows != columns {
        return Err(FileError::new(
            format!("{rows} rows and {columns} columns"),
            "as many rows as columns, for the header says `symmetric`",
        )
        .at_line(words.line));
    }
    // A matrix of one column is how the format writes a vector.
    let is_vector = dimensions.len() == 1 && columns == 1;
    if !is_vector {
        check_dimensions(2, dimensions)?;
    }
    if header.coordinate {
        let mut coordinates = coordinates(&mut words, &header, sizes, spill)?;
        if is_vector {
            coordinates.shape.truncate(1);
            coordinates.indices.truncate(1);
        }
        Ok(Content::Coordinates(coordinates))
    } else {
        let values = array(&mut words, &header, rows, columns)?;
        let shape = if is_vector { vec![rows] } else { vec![rows, columns] };
        let labels = vec![None; shape.len()];
        Ok(Content::Dense(Dense::new(shape, Values::Numbers(values.into()), labels)))
    }
}

fn header(words: &mut Words<'_>) -> Result<Header, FileError> {
    let mut next = || words.word().map(<[u8]>::to_ascii_lowercase).unwrap_or_default();
    let [banner, object, layout, field, symmetry] = [next(), next(), next(), next(), next()];
    let refuse = |found: &[u8], expected: &str| {
        Err(FileError::new(format!("{} in the header", quote(found)), expected).at_line(1))
    };
    if banner != b"%%matrixmarket" {
        return Err(FileError::new(
            format!("{} at the start", quote(&banner)),
            "the header `%%MatrixMarket matrix coordinate real general`, or one of its variants",
        )
        .at_line(1));
    }
    if object != b"matrix" {
        return refuse(&object, "`matrix`");
    }
    let coordinate = match layout.as_slice() {
        b"coordinate" => true,
        b"array" => false,
        _ => return refuse(&layout, "`coordinate` or `array`"),
    };
    let field = match field.as_slice() {
        b"real" | b"double" => Field::Real,
        b"integer" | b"unsigned-integer" => Field::Integer,
        b"pattern" if coordinate => Field::Pattern,
        b"pattern" => return refuse(&field, "`real` or `integer`, for `pattern` has no meaning in an array"),
        _ => return refuse(&field, "`real`, `integer` or `pattern`"),
    };
    let symmetric = match symmetry.as_slice() {
        b"general" => false,
        b"symmetric" => true,
        _ => return refuse(&symmetry, "`general` or `symmetric`"),
    };
    Ok(Header { coordinate, field, symmetric })
}

/// Rows, columns and, for coordinates, the number of entries.
fn sizes(words: &mut Words<'_>, coordinate: bool) -> Result<[usize; 3], FileError> {
    let expected = if coordinate { "rows, columns and the number of entries" } else { "rows and columns" };
    words.next_line()?;
    if !words.seek(b'%')? {
        return Err(FileError::new("the end of the file", format!("a line with {expected}")));
    }
    let line = words.line;
    let mut sizes = [0; 3];
    let length = if coordinate { 3 } else { 2 };
    for (place, size) in sizes.iter_mut().take(length).enumerate() {
        let Some(word) = words.word() else {
            return Err(FileError::new(count(place, "number"), expected).at_line(line));
        };
        // Positions are held in 32 bits.
        let limit = if place < 2 { u64::from(u32::MAX) } else { u64::MAX };
        *size = whole(word)
            .filter(|&size| size <= limit)
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(|| {
                let expected = if place < 2 { "a size from 0 to 4294967295" } else { "a number of entries" };
                FileError::new(quote(word), expected).at_line(line)
            })?;
    }
    if let Some(word) = words.word() {
        return Err(FileError::new(format!("{} after the sizes", quote(word)), expected).at_line(line));
    }
    Ok(sizes)
}

fn coordinates(
    words: &mut Words<'_>,
    header: &Header,
    [rows, columns, entries]: [usize; 3],
    spill: Option<&Path>,
) -> Result<Coordinates, FileError> {
    // The shortest entry is `1 1`, and `1 1 1` with a value; all lines but the last have an end.
    let shortest = if header.field == Field::Pattern { 4 } else { 6 };
    check_claim(words, entries, shortest)?;
    let capacity = if header.symmetric { 2 * entries } else { entries };
    // Two positions and a value.
    if spill.is_none() {
        memory_for(capacity.saturating_mul(16), "entries").map_err(|error| {
            let left = memory::left_in_words();
            error.at_line(words.line).with_help(format!(
                "{left}; `cavi pack` writes them to a file that a fit reads from the disk, and takes no such memory"
            ))
        })?;
    }
    // Of a compressed file nobody knows yet whether it holds what it claims.
    let capacity = if words.left().is_some() { capacity } else { capacity.min(1 << 16) };
    let mut row_indices = Growing::new(spill, capacity)?;
    let mut column_indices = Growing::new(spill, capacity)?;
    let mut values = Growing::new(spill, capacity)?;
    let mut lines = Lines::new(1);
    words.next_line()?;
    // Of a symmetric matrix, whether the first entry beside the diagonal stands below it.
    let mut is_below = None;
    for entry in 0..entries {
        if !words.seek(b'%')? {
            return Err(FileError::new(
                format!("the end of the file after {}", count(entry, "entry")),
                format!("{entries} entries, as the header says"),
            ));
        }
        let line = words.line;
        let first = words.word().unwrap_or_default();
        let row = position(first, rows, "row").map_err(|error| error.at_line(line))?;
        let Some(second) = words.word() else {
            return Err(fields_error(1, header.field).at_line(line));
        };
        let column = position(second, columns, "column").map_err(|error| error.at_line(line))?;
        let value = match (header.field, words.word()) {
            (Field::Pattern, None) => 1.0,
            (Field::Pattern, Some(_)) => {
                return Err(fields_error(3 + words.count(), header.field).at_line(line));
            }
            (_, None) => return Err(fields_error(2, header.field).at_line(line)),
            (field, Some(word)) => {
                let value = value(word, field).map_err(|error| error.at_line(line))?;
                if words.word().is_some() {
                    return Err(fields_error(4 + words.count(), header.field).at_line(line));
                }
                value
            }
        };
        words.next_line()?;
        row_indices.push(row)?;
        column_indices.push(column)?;
        values.push(value)?;
        lines.push(line);
        if header.symmetric && row != column {
            if *is_below.get_or_insert(row > column) != (row > column) {
                return Err(both_triangles(row, column).at_line(line));
            }
            row_indices.push(column)?;
            column_indices.push(row)?;
            values.push(value)?;
            lines.push(line);
        }
    }
    refuse_rest(words, &format!("no more than {entries} entries, as the header says"))?;
    Ok(Coordinates {
        shape: vec![rows, columns],
        shape_is_exact: true,
        indices: vec![row_indices.finish()?, column_indices.finish()?],
        ascends: false,
        values: values.finish()?,
        labels: Vec::new(),
        value_labels: None,
        texts: None,
        lines: Some(lines),
    })
}

/// An entry of a symmetric matrix on the other side of the diagonal than those before it: the pair would count twice where both are listed. The format
/// lists entries on and below the diagonal; those above it alone say the same.
fn both_triangles(row: u32, column: u32) -> FileError {
    let side = if row > column { "below" } else { "above" };
    FileError::new(
        format!("the entry {} {} {side} the diagonal, and entries on the other side before it", row + 1, column + 1),
        "one half of the matrix, for the first line says `symmetric`",
    )
    .with_help("list each pair once, below the diagonal, or write `general` for `symmetric` if all entries are listed")
}

/// The entries of an array, which the file lists column by column, in C order.
fn array(words: &mut Words<'_>, header: &Header, rows: usize, columns: usize) -> Result<Vec<f64>, FileError> {
    let size = rows.checked_mul(columns);
    let listed = if header.symmetric { size.map(|size| (size - rows) / 2 + rows) } else { size };
    let too_many = || FileError::new(format!("a size of {rows} by {columns}"), "a size that memory can hold");
    let (Some(size), Some(listed)) = (size, listed) else {
        return Err(too_many().at_line(words.line));
    };
    check_claim(words, listed, 2)?;
    memory_for(size.saturating_mul(8), "an array").map_err(|error| error.at_line(words.line))?;
    let mut values = vec![0.0; size];
    words.next_line()?;
    for column in 0..columns {
        for row in if header.symmetric { column..rows } else { 0..rows } {
            if !words.seek(b'%')? {
                return Err(FileError::new(
                    format!("the end of the file before row {} of column {}", row + 1, column + 1),
                    format!("{listed} values, as the header says"),
                ));
            }
            let line = words.line;
            let word = words.word().unwrap_or_default();
            let value = value(word, header.field).map_err(|error| error.at_line(line))?;
            values[row * columns + column] = value;
            if header.symmetric {
                values[column * columns + row] = value;
            }
        }
    }
    refuse_rest(words, &format!("no more than {listed} values, as the header says"))?;
    Ok(values)
}

/// Refuses a header that claims more entries than the bytes behind it can hold, each at least `shortest` bytes long.
fn check_claim(words: &Words<'_>, entries: usize, shortest: usize) -> Result<(), FileError> {
    let Some(left) = words.left() else { return Ok(()) };
    let most = left.div_ceil(shortest);
    if entries <= most {
        return Ok(());
    }
    Err(FileError::new(
        format!("a header that claims {entries} entries"),
        format!("at most {most}, for which the {left} bytes that follow it suffice"),
    )
    .at_line(words.line))
}

fn refuse_rest(words: &mut Words<'_>, expected: &str) -> Result<(), FileError> {
    if !words.seek(b'%')? {
        return Ok(());
    }
    let line = words.line;
    let word = words.word().unwrap_or_default();
    Err(FileError::new(format!("{} after the last entry", quote(word)), expected).at_line(line))
}

/// A position from 1 to `size`, counted from 0.
#[inline]
fn position(word: &[u8], size: usize, what: &str) -> Result<u32, FileError> {
    match whole(word) {
        // Sizes fit into 32 bits, so that positions do.
        Some(position) if 1 <= position && position <= size as u64 => Ok((position - 1) as u32),
        _ if size == 0 => {
            Err(FileError::new(format!("{what} {}", quote(word)), "no entry, for the size is 0"))
        }
        _ => Err(FileError::new(format!("{what} {}", quote(word)), format!("a {what} from 1 to {size}"))),
    }
}

#[inline]
fn value(word: &[u8], field: Field) -> Result<f64, FileError> {
    match number(word) {
        None => Err(FileError::new(quote(word), "a number")),
        Some(value) if field == Field::Integer && value.is_finite() && value.fract() != 0.0 => {
            Err(FileError::new(quote(word), "a whole number, for the header says `integer`"))
        }
        Some(value) => Ok(value),
    }
}

fn fields_error(found: usize, field: Field) -> FileError {
    let expected = if field == Field::Pattern { "2: row and column" } else { "3: row, column and value" };
    FileError::new(count(found, "field"), expected)
}
