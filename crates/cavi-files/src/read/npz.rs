//! NumPy archives: `.npz`, a zip file of `.npy` files. A SciPy sparse matrix is such an archive with the keys `format`,
//! `shape`, `data` and, by its format, `indices` and `indptr`, or `row` and `col`.
//!
//! # Source
//! `scipy/sparse/_matrix_io.py`, `save_npz`.

use std::io::Cursor;

use cavi_numerics::Numbers;
use zip::ZipArchive;

use super::bytes;
use super::npy::{self, DenseArray, RawArray};
use crate::content::Coordinates;
use crate::error::{FileError, list, quote};

/// What an archive holds.
pub(crate) enum Archive {
    /// A sparse matrix.
    Sparse(Coordinates),
    /// One array.
    Array(DenseArray),
}

pub(crate) fn read(bytes: &[u8]) -> Result<Archive, FileError> {
    let members = members(bytes)?;
    if let Some(format) = find(&members, "format")?.and_then(|array| array.text()) {
        return sparse(&members, &format).map(Archive::Sparse);
    }
    match members.as_slice() {
        [(key, bytes)] => npy::read(bytes).map(Archive::Array).map_err(|error| within(key, error)),
        _ => {
            let keys: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).collect();
            Err(FileError::new(
                format!("{} arrays: {}", members.len(), list(&keys)),
                "one array, or a sparse matrix as `scipy.sparse.save_npz` writes it",
            ))
        }
    }
}

pub(crate) fn read_arrays(bytes: &[u8]) -> Result<Vec<(String, DenseArray)>, FileError> {
    members(bytes)?
        .into_iter()
        .map(|(key, bytes)| match npy::read(&bytes) {
            Ok(array) => Ok((key, array)),
            Err(error) => Err(within(&key, error)),
        })
        .collect()
}

/// The `.npy` files of an archive, by key.
fn members(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, FileError> {
    if archive.is_empty() {
        return Err(FileError::new("an empty file", "an .npz file"));
    }
    let damaged = |error: &dyn std::fmt::Display| {
        FileError::new(format!("a damaged zip file ({error})"), "an .npz file, which is a zip file of arrays")
    };
    let mut archive = ZipArchive::new(Cursor::new(archive)).map_err(|error| damaged(&error))?;
    let mut members: Vec<(String, Vec<u8>)> = Vec::new();
    for place in 0..archive.len() {
        let mut file = archive.by_index(place).map_err(|error| damaged(&error))?;
        let name = file.name().to_owned();
        let Some(key) = name.strip_suffix(".npy") else {
            return Err(FileError::new(
                format!("the member {}", quote(name.as_bytes())),
                "members that end in .npy",
            ));
        };
        if members.iter().any(|(other, _)| other == key) {
            return Err(FileError::new(format!("the key {} twice", quote(key.as_bytes())), "distinct keys"));
        }
        // The size that the archive states is not trusted: memory grows with what is really there.
        let before = members.iter().map(|(_, content)| content.len()).sum();
        let content = bytes::inflate(&mut file, before, |error, _| damaged(&error))?;
        members.push((key.to_owned(), content));
    }
    Ok(members)
}

fn within(key: &str, mut error: FileError) -> FileError {
    error.found = format!("in the array {}, {}", quote(key.as_bytes()), error.found);
    error
}

fn find<'a>(members: &'a [(String, Vec<u8>)], key: &str) -> Result<Option<RawArray<'a>>, FileError> {
    match members.iter().find(|(other, _)| other == key) {
        None => Ok(None),
        Some((key, bytes)) => npy::raw(bytes).map(Some).map_err(|error| within(key, error)),
    }
}

fn numbers(members: &[(String, Vec<u8>)], key: &str) -> Result<Vec<f64>, FileError> {
    let array = find(members, key)?.ok_or_else(|| {
        FileError::new("a sparse matrix", format!("the array {} in it", quote(key.as_bytes())))
    })?;
    if array.shape().len() != 1 {
        return Err(within(key, FileError::new(format!("the shape {:?}", array.shape()), "one dimension")));
    }
    Ok(array.numbers().map_err(|error| within(key, error))?.values)
}

fn sparse(members: &[(String, Vec<u8>)], format: &str) -> Result<Coordinates, FileError> {
    if !["csr", "csc", "coo"].contains(&format) {
        return Err(FileError::new(
            format!("a sparse matrix in the format {}", quote(format.as_bytes())),
            "`csr`, `csc` or `coo`",
        )
        .with_help("`matrix.tocsr()` converts it"));
    }
    let shape = numbers(members, "shape")?;
    let [rows, columns] = match shape.as_slice() {
        &[rows, columns] => [length(rows)?, length(columns)?],
        _ => {
            return Err(FileError::new(
                format!("a sparse array of {} dimensions", shape.len()),
                "a matrix, which has 2",
            ));
        }
    };
    let values = numbers(members, "data")?;
    let indices = match format {
        "coo" => [
            positions(members, "row", rows, values.len())?,
            positions(members, "col", columns, values.len())?,
        ],
        "csr" => {
            let within_row = positions(members, "indices", columns, values.len())?;
            [pointers(members, rows, values.len())?, within_row]
        }
        _ => {
            let within_column = positions(members, "indices", rows, values.len())?;
            [within_column, pointers(members, columns, values.len())?]
        }
    };
    Ok(Coordinates {
        shape: vec![rows, columns],
        shape_is_exact: true,
        indices: indices.map(Numbers::from).into(),
        values: values.into(),
        labels: Vec::new(),
        texts: None,
        lines: None,
    })
}

/// A length of the shape; positions are held in 32 bits.
fn length(value: f64) -> Result<usize, FileError> {
    if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
        return Ok(value as usize);
    }
    Err(within("shape", FileError::new(format!("the length {value}"), "a whole number from 0 to 4294967295")))
}

fn positions(
    members: &[(String, Vec<u8>)],
    key: &str,
    length: usize,
    entries: usize,
) -> Result<Vec<u32>, FileError> {
    let values = numbers(members, key)?;
    if values.len() != entries {
        return Err(within(
            key,
            FileError::new(
                format!("{} positions", values.len()),
                format!("{entries}, one for each entry of `data`"),
            ),
        ));
    }
    values
        .into_iter()
        .map(|value| {
            if value.fract() == 0.0 && 0.0 <= value && value < length as f64 {
                Ok(value as u32)
            } else {
                Err(within(
                    key,
                    FileError::new(
                        format!("the position {value}"),
                        format!("positions from 0 to less than {length}"),
                    ),
                ))
            }
        })
        .collect()
}

/// The row of each entry, given where each row starts (or the column, given where each column starts).
fn pointers(members: &[(String, Vec<u8>)], length: usize, entries: usize) -> Result<Vec<u32>, FileError> {
    let starts = numbers(members, "indptr")?;
    let refuse = |found: String, expected: String| Err(within("indptr", FileError::new(found, expected)));
    if starts.len() != length + 1 {
        return refuse(
            format!("{} offsets", starts.len()),
            format!("{}, one more than the shape", length + 1),
        );
    }
    if starts[0] != 0.0 || starts[length] != entries as f64 {
        return refuse(
            format!("offsets from {} to {}", starts[0], starts[length]),
            format!("offsets from 0 to {entries}, the number of entries"),
        );
    }
    let mut positions = Vec::with_capacity(entries);
    for (position, pair) in starts.windows(2).enumerate() {
        // Offsets that only rise from 0 to the number of entries stay between these two.
        if !(pair[0] <= pair[1] && pair[1] <= entries as f64 && pair[1].fract() == 0.0) {
            return refuse(
                format!("the offset {} after {}", pair[1], pair[0]),
                "whole offsets that never fall".to_owned(),
            );
        }
        positions.resize(pair[1] as usize, position as u32);
    }
    Ok(positions)
}
