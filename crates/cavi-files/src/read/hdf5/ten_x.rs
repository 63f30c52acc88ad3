//! Matrices of counts as 10x pipelines write them in HDF5: features by cells, held by cells, read as cells by features.

use super::Summary;
use super::matrix;
use super::store::{Node, Store};
use crate::content::Content;
use crate::error::FileError;
use crate::read::ReadOptions;
use crate::read::ten_x::{self, Features};

/// The group of the matrix: `matrix` since version 3 of the pipeline, and the name of a genome before.
pub(super) fn group(store: &Store) -> Result<Option<String>, FileError> {
    let is_one = |path: &str| -> Result<bool, FileError> {
        Ok(store.has(&format!("{path}/barcodes"))? && matrix::is_sparse(store, path)?)
    };
    let mut found = Vec::new();
    for name in store.top()? {
        if matches!(store.node(&name)?, Node::Group(_)) && is_one(&name)? {
            found.push(name);
        }
    }
    match found.len() {
        0 => Ok(None),
        1 => Ok(found.pop()),
        _ => Err(FileError::new(
            format!("matrices of several genomes, {}", crate::error::list(&found)),
            "one matrix",
        )
        .with_help("write each to a file of its own")),
    }
}

/// Reads the matrix as cells by features.
pub(super) fn read(store: &Store, group: &str, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let (shape, features, cells) = labels(store, group)?;
    let matrix = matrix::transposed(matrix::held(store, group, shape, false)?);
    ten_x::content(matrix, features, cells, options)
}

fn labels(store: &Store, group: &str) -> Result<([u64; 2], Features, Vec<String>), FileError> {
    let at = |name: &str| format!("{group}/{name}");
    let shape = store.whole(&at("shape"))?;
    let shape: Option<Vec<u64>> = shape.iter().map(|length| u64::try_from(*length).ok()).collect();
    let Some(&[features, cells]) = shape.as_deref() else {
        return Err(FileError::new("a shape that is not one of features by cells", "two lengths"));
    };
    let own = match store.has(&at("features"))? {
        true => Features {
            names: store.texts(&at("features/name"))?,
            kinds: Some(store.texts(&at("features/feature_type"))?),
        },
        false => Features { names: store.texts(&at("gene_names"))?, kinds: None },
    };
    Ok(([features, cells], own, store.texts(&at("barcodes"))?))
}

/// What a file holds.
pub(super) fn summary(store: &Store) -> Result<Summary, FileError> {
    let group = group(store)?.unwrap_or_default();
    let (_, features, cells) = labels(store, &group)?;
    Ok(ten_x::summary("10x matrix of counts in HDF5", &features, cells.len()))
}
