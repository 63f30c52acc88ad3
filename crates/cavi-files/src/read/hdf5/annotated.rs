//! Annotated matrices, as anndata writes them: `X` and `layers` with the names of `obs` and `var`, `raw` with names of its own,
//! `obsm` and `varm` with those of their rows, and the columns of `obs` and `var`.

use super::store::{Node, Store};
use super::{Found, Summary, axis_name, dense, frame, labelled, matrix, sizes};
use crate::error::{FileError, count, list, quote};
use crate::read::ReadOptions;
use crate::read::unique;

/// Whether a file is an annotated matrix.
pub(super) fn is_one(store: &Store) -> Result<bool, FileError> {
    Ok(store.has("obs")? && store.has("var")?)
}

/// Reads the matrix `X`, or the part that is named.
pub(super) fn read(store: &Store, options: &ReadOptions<'_>) -> Result<Found, FileError> {
    let part = options.column.unwrap_or("X").trim_matches('/');
    let part = if part == "raw" { "raw/X" } else { part };
    let names = |path: &str, place: usize| -> Result<Option<Vec<String>>, FileError> {
        let labels = frame::index(store, path)?;
        unique::labels(labels, options.unique, &format!("{path}{}", axis_name(options.dimensions, place)))
            .map(Some)
    };
    let (folder, rest) = part.split_once('/').unwrap_or((part, ""));
    let labels = match (folder, rest) {
        ("X", "") | ("layers", _) => vec![names("obs", 0)?, names("var", 1)?],
        ("raw", _) => vec![names("obs", 0)?, names("raw/var", 1)?],
        ("obsm", _) => vec![names("obs", 0)?, None],
        ("varm", _) => vec![names("var", 0)?, None],
        ("obsp", _) => vec![names("obs", 0)?, names("obs", 1)?],
        ("varp", _) => vec![names("var", 0)?, names("var", 1)?],
        ("obs" | "var", column) if !column.is_empty() => {
            return frame::read(store, folder, Some(column)).map(Found::Frame);
        }
        _ => return Err(unknown(store, part)?),
    };
    match store.node(part)? {
        Node::Nothing => Err(unknown(store, part)?),
        Node::Group(_) if matrix::is_sparse(store, part)? => {
            let own = matrix::sparse(store, part)?;
            check(&own.shape, &labels, part)?;
            Ok(Found::Content(labelled(own, labels)))
        }
        Node::Group(_) if store.text_attribute(part, "encoding-type")?.as_deref() == Some("dataframe") => {
            frame::read(store, part, None).map(Found::Frame)
        }
        Node::Group(_) => Err(unknown(store, part)?),
        Node::Dataset(dataset) => {
            let (shape, values) = store.numbers(&dataset, part)?;
            check(&shape, &labels, part)?;
            Ok(Found::Content(dense(shape, values, labels)))
        }
    }
}

/// Refuses a matrix of another shape than the names of its rows and columns.
fn check(shape: &[usize], labels: &[Option<Vec<String>>], part: &str) -> Result<(), FileError> {
    for (place, (length, labels)) in shape.iter().zip(labels).enumerate() {
        if let Some(labels) = labels.as_ref().filter(|labels| labels.len() != *length) {
            let what = if place == 0 { "rows" } else { "columns" };
            return Err(FileError::new(
                format!(
                    "{length} {what} in {}, and {} for them",
                    quote(part.as_bytes()),
                    count(labels.len(), "name")
                ),
                "a name for each",
            ));
        }
    }
    Ok(())
}

fn unknown(store: &Store, part: &str) -> Result<FileError, FileError> {
    let parts: Vec<String> = parts(store)?.into_iter().map(|own| own.0).collect();
    Ok(FileError::new(format!("no matrix {}", quote(part.as_bytes())), format!("one of {}", list(&parts))))
}

/// What may be read, with its shape where that is known.
type Part = (String, Option<Vec<usize>>);

/// The parts of a file.
fn parts(store: &Store) -> Result<Vec<Part>, FileError> {
    let mut found = Vec::new();
    let mut see = |path: String| -> Result<(), FileError> {
        match store.node(&path)? {
            Node::Nothing => {}
            Node::Dataset(dataset) => {
                let shape = store.shape(&dataset, &path)?;
                found.push((path, Some(shape)));
            }
            Node::Group(_) => {
                let shape = store.whole_attribute(&path, "shape")?;
                found.push((path, shape.map(|own| own.iter().map(|length| *length as usize).collect())));
            }
        }
        Ok(())
    };
    see("X".to_owned())?;
    for folder in ["layers", "obsm", "varm"] {
        if let Node::Group(group) = store.node(folder)? {
            for name in store.names(&group, folder)? {
                see(format!("{folder}/{name}"))?;
            }
        }
    }
    see("raw/X".to_owned())?;
    for folder in ["obs", "var"] {
        for name in frame::column_names(store, folder)? {
            found.push((format!("{folder}/{name}"), None));
        }
    }
    Ok(found)
}

/// What a file holds.
pub(super) fn summary(store: &Store, part: Option<&str>) -> Result<Summary, FileError> {
    let parts = parts(store)?;
    let (cells, genes) = (frame::index(store, "obs")?.len(), frame::index(store, "var")?.len());
    let shown = |(name, shape): &Part| match shape {
        Some(shape) => format!("{name}: {}", sizes(shape)),
        None => name.clone(),
    };
    let is_column = part.is_some_and(|part| part.starts_with("obs/") || part.starts_with("var/"));
    Ok(Summary {
        format: format!("annotated matrix (anndata), {cells} observations x {genes} variables"),
        parts: parts.iter().map(shown).collect(),
        axes: Some(["cell", "gene"]),
        dimensions: Some(if is_column { 1 } else { 2 }),
    })
}
