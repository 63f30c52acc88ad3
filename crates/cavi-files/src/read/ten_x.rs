//! A folder as 10x pipelines write it: `matrix.mtx`, features by cells, with `features.tsv` (once `genes.tsv`) and
//! `barcodes.tsv`, each also compressed; read as cells by features. Features are named by their symbols.
//!
//! # Source
//! 10x Genomics, "Feature-barcode matrices", <https://www.10xgenomics.com/support>.

use std::path::{Path, PathBuf};

use super::hdf5::Summary;
use super::stream::{self, Bytes};
use super::{ReadOptions, bytes, matrix_market, unique};
use crate::content::{Content, Coordinates};
use crate::error::{FileError, count, list, quote};
use crate::format;

/// The features of a matrix.
pub(crate) struct Features {
    /// Their symbols.
    pub names: Vec<String>,
    /// What each is, `Gene Expression` or `Antibody Capture`; nothing where the files do not say.
    pub kinds: Option<Vec<String>>,
}

/// The file of a folder that has one of these names, possibly with the end of a compressed file.
fn file(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let ends = ["", ".gz", ".zst"];
    let all = names.iter().flat_map(|name| ends.map(|end| folder.join(format!("{name}{end}"))));
    all.into_iter().find(|path| path.is_file())
}

/// Whether a folder is one of these.
pub(crate) fn is_one(folder: &Path) -> bool {
    file(folder, &["matrix.mtx"]).is_some()
}

/// Reads a folder as cells by features.
pub(crate) fn read(folder: &Path, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    super::refuse_columns(&ReadOptions { column: None, ..*options })?;
    let (features, cells) = labels(folder)?;
    let path = file(folder, &["matrix.mtx"]).expect("the caller looked");
    let in_file = |error: FileError| error.in_file(&path);
    let dimensions = options.dimensions;
    super::check_dimensions(2, dimensions)?;
    let packing = format::packing(&path);
    let content = match stream::suits(&path, packing) {
        true => matrix_market::read(Bytes::File(&path, packing), dimensions, None),
        false => matrix_market::read(Bytes::Memory(&load(&path)?), dimensions, None),
    };
    let content = content.map_err(in_file)?;
    let Content::Coordinates(mut matrix) = content else {
        return Err(in_file(FileError::new("a dense matrix", "the entries of a sparse one")));
    };
    matrix.shape.reverse();
    matrix.indices.reverse();
    self::content(matrix, features, cells, options)
}

fn load(path: &Path) -> Result<Vec<u8>, FileError> {
    bytes::load(path)
        .and_then(|bytes| bytes::decompress(bytes, format::packing(path)))
        .map_err(|error| error.in_file(path))
}

/// The features and the cells of a folder.
fn labels(folder: &Path) -> Result<(Features, Vec<String>), FileError> {
    let need = |names: &[&str]| {
        file(folder, names).ok_or_else(|| {
            let matrix = file(folder, &["matrix.mtx"]).unwrap_or_default();
            FileError::new(format!("a 10x folder without {}", names[0]), "it beside the matrix")
                .with_help(format!("`--data NAME={}` reads the matrix alone", matrix.display()))
        })
    };
    let path = need(&["features.tsv", "genes.tsv"])?;
    let rows = lines(&path)?;
    let column = |row: &str, place: usize| row.split('\t').nth(place).map(|field| field.trim().to_owned());
    // A file of one column has ids alone.
    let names =
        rows.iter().map(|row| column(row, 1).or_else(|| column(row, 0)).unwrap_or_default()).collect();
    let kinds = rows.iter().map(|row| column(row, 2)).collect();
    let cells = lines(&need(&["barcodes.tsv"])?)?;
    let cells = cells.iter().map(|row| column(row, 0).unwrap_or_default()).collect();
    Ok((Features { names, kinds }, cells))
}

fn lines(path: &Path) -> Result<Vec<String>, FileError> {
    let bytes = load(path)?;
    let text = bytes::text(&bytes).map_err(|error| error.in_file(path))?;
    Ok(text.trim_end_matches(['\n', '\r']).lines().map(str::to_owned).collect())
}

/// The matrix of cells by features with labels: all features, or those of the kind that is named.
///
/// # Errors
/// Features of several kinds, none of which is named: counts of genes and of antibodies are not one array.
pub(crate) fn content(
    matrix: Coordinates,
    features: Features,
    cells: Vec<String>,
    options: &ReadOptions<'_>,
) -> Result<Content, FileError> {
    let sizes = [cells.len(), features.names.len()];
    if features.kinds.as_ref().is_some_and(|kinds| kinds.len() != sizes[1]) || matrix.shape != sizes {
        return Err(FileError::new(
            format!(
                "a matrix of {} cells by {} features, and names of {} by {}",
                matrix.shape[0], matrix.shape[1], sizes[0], sizes[1]
            ),
            "a name for each",
        ));
    }
    let keep: Option<Vec<bool>> = chosen(&features, options.column)?;
    let (mut matrix, mut names) = (matrix, features.names);
    if let Some(keep) = keep {
        let mut number = 0;
        let map: Vec<u32> = keep
            .iter()
            .map(|kept| {
                number += u32::from(*kept);
                number.wrapping_sub(1)
            })
            .collect();
        let kept: Vec<bool> = matrix.indices[1].iter().map(|place| keep[*place as usize]).collect();
        for column in &mut matrix.indices {
            retain(column.to_mut(), &kept);
        }
        retain(matrix.values.to_mut(), &kept);
        matrix.indices[1].iter_mut().for_each(|place| *place = map[*place as usize]);
        if let Some(lines) = &mut matrix.lines {
            lines.retain(&kept);
        }
        retain(&mut names, &keep);
        matrix.shape[1] = names.len();
    }
    let unique = |labels, what: &str| unique::labels(labels, options.unique, what);
    matrix.labels = vec![Some(unique(cells, "cells")?), Some(unique(names, "features")?)];
    Ok(Content::Coordinates(matrix))
}

fn retain<T>(values: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    values.retain(|_| keep.next().copied().unwrap_or(false));
}

/// Which features are of the kind that is named; `None` where all are taken.
fn chosen(features: &Features, named: Option<&str>) -> Result<Option<Vec<bool>>, FileError> {
    let kinds = distinct(features);
    match (named, kinds.len()) {
        (None, 0 | 1) => Ok(None),
        (None, _) => {
            Err(FileError::new(format!("features of several kinds, {}", list(&kinds)), "one of them")
                .with_help(format!("`--data 'NAME=FILE:{}'` reads those", kinds[0])))
        }
        (Some(named), _) if kinds.contains(&named) => {
            let all = features.kinds.iter().flatten();
            Ok(Some(all.map(|kind| kind == named).collect()))
        }
        (Some(named), 0) => Err(FileError::new(
            format!("features without kinds, and {} asked for", quote(named.as_bytes())),
            "no kind after the name of the file",
        )),
        (Some(named), _) => Err(FileError::new(
            format!("no features of the kind {}", quote(named.as_bytes())),
            format!("one of {}", list(&kinds)),
        )),
    }
}

/// The kinds of features, in order of first appearance.
fn distinct(features: &Features) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in features.kinds.iter().flatten() {
        if !kinds.contains(&kind.as_str()) {
            kinds.push(kind);
        }
    }
    kinds
}

/// What a matrix holds, for its head.
pub(crate) fn summary(format: &str, features: &Features, cells: usize) -> Summary {
    let of_kind = |kind: &&str| {
        let number = features.kinds.iter().flatten().filter(|own| own == kind).count();
        format!("{kind}: {}", count(number, "feature"))
    };
    Summary {
        format: format!(
            "{format}, {} features x {cells} cells, read as cells by features",
            features.names.len()
        ),
        parts: distinct(features).iter().map(of_kind).collect(),
        axes: Some(["cell", "gene"]),
        dimensions: Some(2),
    }
}

/// What a folder holds.
pub(crate) fn summary_of_folder(folder: &Path) -> Result<Summary, FileError> {
    let (features, cells) = labels(folder)?;
    Ok(summary("10x folder", &features, cells.len()))
}
