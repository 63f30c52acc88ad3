//! Sparse matrices: `data`, `indices` and `indptr` in a group, by rows or by columns.

use super::store::Store;
use crate::content::Coordinates;
use crate::error::{FileError, count, quote};

/// Whether a group holds a sparse matrix.
pub(super) fn is_sparse(store: &Store, path: &str) -> Result<bool, FileError> {
    for name in ["data", "indices", "indptr"] {
        if !store.has(&format!("{path}/{name}"))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the matrix of a group, whose attributes say whether it is held by rows, and its shape.
pub(super) fn sparse(store: &Store, path: &str) -> Result<Coordinates, FileError> {
    let encoding = match store.text_attribute(path, "encoding-type")? {
        Some(encoding) => Some(encoding),
        None => store.text_attribute(path, "h5sparse_format")?,
    };
    let by_rows = match encoding.as_deref() {
        Some("csr_matrix" | "csr") => true,
        Some("csc_matrix" | "csc") => false,
        other => {
            let found = other
                .map_or("no encoding".to_owned(), |own| format!("the encoding {}", quote(own.as_bytes())));
            return Err(at(path, FileError::new(found, "`csr_matrix` or `csc_matrix`")));
        }
    };
    let shape = match store.whole_attribute(path, "shape")? {
        Some(shape) => Some(shape),
        None => store.whole_attribute(path, "h5sparse_shape")?,
    };
    match shape.as_deref() {
        Some(&[rows, columns]) => held(store, path, [rows, columns], by_rows),
        _ => Err(at(
            path,
            FileError::new("a sparse matrix without a shape", "its numbers of rows and columns"),
        )),
    }
}

/// Reads the matrix of a group, given its shape and whether it is held by rows.
pub(super) fn held(
    store: &Store,
    path: &str,
    shape: [u64; 2],
    by_rows: bool,
) -> Result<Coordinates, FileError> {
    if shape.iter().any(|length| *length > u64::from(u32::MAX)) {
        return Err(at(path, FileError::new(format!("the shape {shape:?}"), "lengths below 4294967296")));
    }
    let [rows, columns] = shape.map(|length| length as usize);
    let (outer, inner) = if by_rows { (rows, columns) } else { (columns, rows) };
    let data = format!("{path}/data");
    let (_, values) = store.numbers(&*store.dataset(&data)?, &data)?;
    let indices = format!("{path}/indices");
    let across =
        positions(store.positions(&indices)?, inner, values.len()).map_err(|error| at(&indices, error))?;
    let along = pointers(&store.whole(&format!("{path}/indptr"))?, outer, values.len())
        .map_err(|error| at(&format!("{path}/indptr"), error))?;
    Ok(Coordinates {
        shape: vec![rows, columns],
        shape_is_exact: true,
        ascends: false,
        indices: if by_rows { vec![along.into(), across.into()] } else { vec![across.into(), along.into()] },
        values: values.into(),
        labels: Vec::new(),
        value_labels: None,
        texts: None,
        lines: None,
    })
}

/// The same matrix with rows and columns exchanged.
pub(super) fn transposed(mut matrix: Coordinates) -> Coordinates {
    matrix.shape.reverse();
    matrix.indices.reverse();
    matrix
}

/// Positions as they are, if there is one for each entry and all are inside.
fn positions(found: Vec<u32>, length: usize, entries: usize) -> Result<Vec<u32>, FileError> {
    if found.len() != entries {
        return Err(FileError::new(
            count(found.len(), "position"),
            format!("{entries}, one for each entry of `data`"),
        ));
    }
    match found.iter().find(|position| **position as usize >= length) {
        None => Ok(found),
        Some(position) => Err(FileError::new(
            format!("the position {position}"),
            format!("positions from 0 to less than {length}"),
        )),
    }
}

/// The row of each entry, given where each row starts, or the column, given where each column does.
fn pointers(starts: &[i64], length: usize, entries: usize) -> Result<Vec<u32>, FileError> {
    if starts.len() != length + 1 {
        let expected = format!("{}, one more than the shape", length + 1);
        return Err(FileError::new(count(starts.len(), "offset"), expected));
    }
    let risen = starts.windows(2).all(|pair| pair[0] <= pair[1]);
    if starts[0] != 0 || usize::try_from(starts[length]).ok() != Some(entries) || !risen {
        let found = format!("offsets from {} to {}", starts[0], starts[length]);
        let expected = format!("offsets from 0 to {entries}, the number of entries, that never fall");
        return Err(FileError::new(found, expected));
    }
    let mut positions = Vec::with_capacity(entries);
    for (position, end) in starts[1..].iter().enumerate() {
        positions.resize(*end as usize, position as u32);
    }
    Ok(positions)
}

/// An error with the part of the file in it.
fn at(path: &str, mut error: FileError) -> FileError {
    error.found = format!("in {}, {}", quote(path.as_bytes()), error.found);
    error
}
