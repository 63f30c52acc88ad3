//! HDF5: annotated matrices (`.h5ad`), matrices of counts as 10x pipelines write them (`.h5`), and any other array of numbers.
//!
//! What the file is follows from what is in it. Groups `obs` and `var` make an annotated matrix, whose rows and columns have
//! the names that stand there. A group `matrix`, or one of a genome, with `barcodes` is one of 10x, turned to cells by genes.
//! Of another file the path of the array is named after a colon.
//!
//! # Source
//! HDF5 file format, <https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t3.html>; anndata's specification of its
//! files, <https://anndata.readthedocs.io/en/stable/fileformat-prose.html>; 10x Genomics, "Feature-barcode matrices in HDF5".

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::{Dimension, ReadOptions, check_dimensions, table};
use crate::content::{Content, Coordinates, Dense, Values};
use crate::error::{FileError, list, quote};
use frame::Frame;
use store::{Node, Store};

mod annotated;
mod frame;
mod matrix;
mod store;
mod ten_x;

/// A file of at most so many bytes is read at once; of a larger one the parts that are needed are.
const AT_ONCE: u64 = 1 << 26;

/// What is read of a file.
enum Found {
    /// A matrix, or another array.
    Content(Content),
    /// A table.
    Frame(Frame),
}

/// What a file is, for its head.
pub(crate) struct Summary {
    /// The format in words, with the size.
    pub format: String,
    /// What may be read, a line.
    pub parts: Vec<String>,
    /// What the rows and the columns are called where such files come from.
    pub axes: Option<[&'static str; 2]>,
    /// The number of dimensions of what is read without a name.
    pub dimensions: Option<usize>,
}

/// Reads a file by its path.
pub(crate) fn read(path: &Path, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    guarded(|| within(&open(path)?, options))
}

/// Reads the bytes of a file.
pub(crate) fn read_bytes(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Content, FileError> {
    guarded(|| within(&Store::of_bytes(bytes.to_vec())?, options))
}

/// What a file holds, or the part of it that is named.
pub(crate) fn summary(path: &Path, part: Option<&str>) -> Result<Summary, FileError> {
    guarded(|| {
        let store = open(path)?;
        match () {
            () if annotated::is_one(&store)? => annotated::summary(&store, part),
            () if is_array(&store, part)? => of_arrays(&store, part),
            () if ten_x::group(&store)?.is_some() => ten_x::summary(&store),
            () => of_arrays(&store, part),
        }
    })
}

fn open(path: &Path) -> Result<Store, FileError> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_file() && file.len() > AT_ONCE => Store::open(path, file.len()),
        Ok(_) | Err(_) => Store::of_bytes(super::bytes::load(path)?),
    }
}

/// Does what may meet a damaged file. The reader of the format answers damage with an error; should it ever panic instead, this
/// is the one place where that becomes an error of the file too.
fn guarded<T>(reads: impl FnOnce() -> Result<T, FileError>) -> Result<T, FileError> {
    catch_unwind(AssertUnwindSafe(reads)).unwrap_or_else(|_| {
        Err(FileError::new("an HDF5 file that the reader of the format fails on", "a complete HDF5 file")
            .with_help("it may be damaged, or use what this program does not know; `h5repack FILE NEW` writes it anew"))
    })
}

fn within(store: &Store, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let found = match () {
        () if annotated::is_one(store)? => annotated::read(store, options)?,
        // An array that is named is read whatever else the file holds.
        () if is_array(store, options.column)? => Found::Content(any(store, options.column)?),
        () => match ten_x::group(store)? {
            Some(group) => Found::Content(ten_x::read(store, &group, options)?),
            None => Found::Content(any(store, options.column)?),
        },
    };
    match found {
        Found::Content(content) => {
            super::refuse_columns(&ReadOptions { column: None, ..*options })?;
            check_dimensions(content_dimensions(&content), options.dimensions)?;
            Ok(content)
        }
        Found::Frame(frame) => table::read_columns(frame.columns, &ReadOptions { column: None, ..*options }),
    }
}

fn content_dimensions(content: &Content) -> usize {
    match content {
        Content::Dense(dense) => dense.shape.len(),
        Content::Coordinates(coordinates) => coordinates.shape.len(),
        Content::Long(long) => long.positions.len(),
        Content::Documents(_) => 2,
    }
}

/// An array of numbers of any file: the one that is named, or the only one.
fn any(store: &Store, part: Option<&str>) -> Result<Content, FileError> {
    // What is named is read whatever else the file holds.
    let path = match part {
        Some(part) => part.trim_matches('/').to_owned(),
        None => only(&store.arrays()?)?,
    };
    match store.node(&path)? {
        Node::Dataset(dataset) => {
            let (shape, values) = store.numbers(&dataset, &path)?;
            Ok(dense(shape, values, Vec::new()))
        }
        Node::Group(_) if matrix::is_sparse(store, &path)? => {
            Ok(Content::Coordinates(matrix::sparse(store, &path)?))
        }
        Node::Group(_) | Node::Nothing => {
            let names: Vec<String> = store.arrays()?.into_iter().map(|own| own.0).collect();
            Err(FileError::new(
                format!("no array {}", quote(path.as_bytes())),
                format!("one of {}", list(&names)),
            ))
        }
    }
}

/// The only one of some arrays.
fn only(arrays: &[(String, Vec<usize>)]) -> Result<String, FileError> {
    match arrays {
        [(only, _)] => Ok(only.clone()),
        [] => Err(FileError::new("an HDF5 file without arrays", "an array of numbers")),
        _ => {
            let names: Vec<String> = arrays.iter().map(|own| own.0.clone()).collect();
            Err(FileError::new(format!("{} arrays, {}", names.len(), list(&names)), "one of them")
                .with_help(format!("`--data NAME=FILE:{}` reads the first", names[0])))
        }
    }
}

/// Whether an array stands at the path that is named.
fn is_array(store: &Store, part: Option<&str>) -> Result<bool, FileError> {
    let Some(part) = part else { return Ok(false) };
    Ok(matches!(store.node(part.trim_matches('/'))?, Node::Dataset(_)))
}

fn of_arrays(store: &Store, part: Option<&str>) -> Result<Summary, FileError> {
    let arrays = match part {
        Some(part) if is_array(store, Some(part))? => {
            let path = part.trim_matches('/');
            vec![(path.to_owned(), store.shape(&*store.dataset(path)?, path)?)]
        }
        Some(_) | None => store.arrays()?,
    };
    let shown = |(name, shape): &(String, Vec<usize>)| format!("{name}: {}", sizes(shape));
    let named = part.and_then(|part| arrays.iter().find(|own| own.0 == part.trim_matches('/')));
    let dimensions = named.or(arrays.first()).map(|own| own.1.len());
    Ok(Summary {
        format: format!("HDF5, {}", crate::error::count(arrays.len(), "array")),
        parts: arrays.iter().map(shown).collect(),
        axes: None,
        dimensions,
    })
}

/// `200 x 30`
fn sizes(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    if sizes.is_empty() { "a single number".to_owned() } else { sizes.join(" x ") }
}

fn dense(shape: Vec<usize>, values: Vec<f64>, mut labels: Vec<Option<Vec<String>>>) -> Content {
    labels.resize(shape.len(), None);
    Content::Dense(Dense::new(shape, Values::Numbers(values.into()), labels))
}

/// Labels of rows and columns for a matrix of entries at positions.
fn labelled(mut matrix: Coordinates, labels: Vec<Option<Vec<String>>>) -> Content {
    matrix.labels = labels;
    Content::Coordinates(matrix)
}

/// What the rows and columns of a matrix are called in a message.
fn axis_name(dimensions: &[Dimension<'_>], place: usize) -> String {
    dimensions.get(place).map_or_else(String::new, |own| format!(" of `{}`", own.axis))
}
