//! NumPy archives: `.npz`, a zip file of `.npy` files. A SciPy sparse matrix is such an archive with the keys `format`,
//! `shape`, `data` and, by its format, `indices` and `indptr`, or `row` and `col`.
//!
//! # Source
//! `scipy/sparse/_matrix_io.py`, `save_npz`.

use std::io::{Cursor, Read, Seek};

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

pub(crate) fn read(archive: impl Read + Seek) -> Result<Archive, FileError> {
    let mut members = Members::of(archive)?;
    let format = match members.inflate("format")? {
        Some(bytes) => npy::raw(&bytes).map_err(|error| within("format", error))?.text(),
        None => None,
    };
    if let Some(format) = format {
        return sparse(&mut members, &format).map(Archive::Sparse);
    }
    match members.keys.as_slice() {
        [key] => {
            let key = key.clone();
            let bytes = members.inflate(&key)?.unwrap_or_default();
            npy::read(&bytes).map(Archive::Array).map_err(|error| within(&key, error))
        }
        keys => Err(FileError::new(
            format!("{} arrays: {}", keys.len(), list(keys)),
            "one array, or a sparse matrix as `scipy.sparse.save_npz` writes it",
        )),
    }
}

pub(crate) fn read_arrays(bytes: &[u8]) -> Result<Vec<(String, DenseArray)>, FileError> {
    if bytes.is_empty() {
        return Err(FileError::new("an empty file", "an .npz file"));
    }
    let mut members = Members::of(Cursor::new(bytes))?;
    let keys = members.keys.clone();
    let array = |key: String| {
        let bytes = members.inflate(&key)?.unwrap_or_default();
        let array = npy::read(&bytes).map_err(|error| within(&key, error))?;
        Ok((key, array))
    };
    keys.into_iter().map(array).collect()
}

/// The `.npy` files of an archive. One is inflated when it is asked for, so that no two of them are held at a time.
struct Members<R> {
    archive: ZipArchive<R>,
    /// Their keys, in the order of the archive.
    keys: Vec<String>,
}

impl<R: Read + Seek> Members<R> {
    fn of(archive: R) -> Result<Members<R>, FileError> {
        let mut archive = ZipArchive::new(archive).map_err(|error| damaged(&error))?;
        let mut keys: Vec<String> = Vec::new();
        for place in 0..archive.len() {
            let file = archive.by_index_raw(place).map_err(|error| damaged(&error))?;
            let Some(key) = file.name().strip_suffix(".npy") else {
                return Err(FileError::new(
                    format!("the member {}", quote(file.name().as_bytes())),
                    "members that end in .npy",
                ));
            };
            if keys.iter().any(|other| other == key) {
                let found = format!("the key {} twice", quote(key.as_bytes()));
                return Err(FileError::new(found, "distinct keys"));
            }
            keys.push(key.to_owned());
        }
        Ok(Members { archive, keys })
    }

    /// The bytes of the file with this key, if there is one. The size that the archive states is not trusted: memory grows with what is
    /// really there.
    fn inflate(&mut self, key: &str) -> Result<Option<Vec<u8>>, FileError> {
        let Some(place) = self.keys.iter().position(|other| other == key) else { return Ok(None) };
        let mut file = self.archive.by_index(place).map_err(|error| damaged(&error))?;
        let content = bytes::inflate(&mut file, 0, |error, _| damaged(&error))?;
        Ok(Some(content))
    }

    /// The bytes of the list with this key, which a sparse matrix has.
    fn need(&mut self, key: &str) -> Result<Vec<u8>, FileError> {
        self.inflate(key)?.ok_or_else(|| {
            FileError::new("a sparse matrix", format!("the array {} in it", quote(key.as_bytes())))
        })
    }
}

fn damaged(error: &dyn std::fmt::Display) -> FileError {
    FileError::new(format!("a damaged zip file ({error})"), "an .npz file, which is a zip file of arrays")
}

fn within(key: &str, mut error: FileError) -> FileError {
    error.found = format!("in the array {}, {}", quote(key.as_bytes()), error.found);
    error
}

/// A list of numbers.
fn one_list<'b>(key: &str, bytes: &'b [u8]) -> Result<RawArray<'b>, FileError> {
    let array = npy::raw(bytes).map_err(|error| within(key, error))?;
    if array.shape().len() != 1 {
        return Err(within(key, FileError::new(format!("the shape {:?}", array.shape()), "one dimension")));
    }
    Ok(array)
}

fn numbers(members: &mut Members<impl Read + Seek>, key: &str) -> Result<Vec<f64>, FileError> {
    let bytes = members.need(key)?;
    Ok(one_list(key, &bytes)?.numbers().map_err(|error| within(key, error))?.values)
}

fn sparse(members: &mut Members<impl Read + Seek>, format: &str) -> Result<Coordinates, FileError> {
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
        ascends: false,
        values: values.into(),
        labels: Vec::new(),
        value_labels: None,
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
    members: &mut Members<impl Read + Seek>,
    key: &str,
    length: usize,
    entries: usize,
) -> Result<Vec<u32>, FileError> {
    let bytes = members.need(key)?;
    let array = one_list(key, &bytes)?;
    if array.shape() != [entries] {
        return Err(within(
            key,
            FileError::new(
                format!("{} positions", array.shape()[0]),
                format!("{entries}, one for each entry of `data`"),
            ),
        ));
    }
    let mut positions = Vec::with_capacity(entries);
    let each = array.each(|value| {
        if !(value.fract() == 0.0 && 0.0 <= value && value < length as f64) {
            let expected = format!("positions from 0 to less than {length}");
            return Err(FileError::new(format!("the position {value}"), expected));
        }
        positions.push(value as u32);
        Ok(())
    });
    each.map_err(|error| within(key, error))?;
    Ok(positions)
}

/// The row of each entry, given where each row starts (or the column, given where each column starts).
fn pointers(
    members: &mut Members<impl Read + Seek>,
    length: usize,
    entries: usize,
) -> Result<Vec<u32>, FileError> {
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
