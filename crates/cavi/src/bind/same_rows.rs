//! Vectors of one axis from tables whose first column says that their rows are not in one order.
//!
//! A vector without labels is joined with others of its axis by order. Where its table has a column before it that is not named as the axis, as `id`
//! or `year`, that column was passed over. Two tables with such a column of one name, with entries of their own in each row, that have most of
//! them in common at other rows, do not stand in one order.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use cavi_algebra::Symbols;
use cavi_files::Content;

use super::data_error::DataError;
use super::inputs::{Inputs, Source};
use super::pieces::Piece;

/// A table with a column that was passed over.
struct Table<'a> {
    piece: &'a Piece,
    path: PathBuf,
    /// What is written above the column.
    header: String,
    /// Its entries, no two of which are alike.
    entries: Vec<String>,
}

/// Refuses vectors whose tables say that they are joined at wrong rows, the first two of each axis.
pub(super) fn other_rows(symbols: &Symbols, inputs: &Inputs, pieces: &[Piece]) -> Vec<DataError> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for (place, piece) in pieces.iter().enumerate() {
        let Some(axis) = plain_axis(symbols, piece).filter(|axis| !seen.contains(axis)) else { continue };
        let others: Vec<&Piece> =
            pieces[place + 1..].iter().filter(|own| plain_axis(symbols, own) == Some(axis)).collect();
        let Some(first) = others.first().and_then(|_| table(symbols, inputs, piece)) else { continue };
        let problem = others.into_iter().filter(|own| own.file != piece.file).find_map(|other| {
            let other = table(symbols, inputs, other)?;
            differ(symbols, &first, &other)
        });
        if let Some(problem) = problem {
            seen.insert(axis);
            problems.push(problem);
        }
    }
    problems
}

/// The axis of a vector without labels.
fn plain_axis(symbols: &Symbols, piece: &Piece) -> Option<cavi_algebra::AxisId> {
    let ([letter], Content::Dense(dense)) = (piece.letters.as_slice(), &piece.content) else { return None };
    let is_plain = piece.group.is_none() && dense.labels[0].is_none() && dense.shape[0] > 1;
    is_plain.then(|| symbols.letter(*letter).axis)
}

/// The table of a vector, if it has a first column that was passed over and could be labels.
fn table<'a>(symbols: &Symbols, inputs: &Inputs, piece: &'a Piece) -> Option<Table<'a>> {
    let name = &symbols.array(piece.array).name;
    let (path, column) =
        inputs.data.iter().filter(|own| own.name == *name).find_map(|own| match &own.source {
            Source::File { path, column } => Some((path, column)),
            _ => None,
        })?;
    let is_text = |path: &Path| {
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        suffix.is_some_and(|suffix| ["csv", "tsv"].contains(&suffix.to_ascii_lowercase().as_str()))
    };
    if !path.is_file() || !is_text(path) || !has_columns(path) {
        return None;
    }
    let read = |number: usize| {
        let column = format!("{}:{number}", path.display());
        cavi_files::read_labels(Path::new(&column)).ok()
    };
    let mut entries = read(1)?;
    let Content::Dense(dense) = &piece.content else { return None };
    if entries.len() != dense.shape[0] + 1 {
        return None;
    }
    let header = entries.remove(0);
    let is_value = header == *name || header == "value" || column.as_ref() == Some(&header);
    (!header.is_empty() && !is_value).then(|| Table { piece, path: path.clone(), header, entries })
}

/// Whether the first line of a file has several fields, so that one of a single column is not read a second time.
fn has_columns(path: &Path) -> bool {
    let mut line = Vec::new();
    let read =
        File::open(path).and_then(|file| BufReader::new(file).take(1 << 16).read_until(b'\n', &mut line));
    read.is_ok() && line.iter().any(|byte| b",;\t".contains(byte))
}

/// What is wrong with two tables that have most of these entries in common, at other rows.
fn differ(symbols: &Symbols, first: &Table<'_>, other: &Table<'_>) -> Option<DataError> {
    if !first.header.eq_ignore_ascii_case(&other.header) {
        return None;
    }
    let row = first.entries.iter().zip(&other.entries).position(|(one, other)| one != other)?;
    let known: BTreeSet<&String> = first.entries.iter().collect();
    let common = other.entries.iter().filter(|own| known.contains(own)).count();
    if 2 * common < other.entries.len().min(first.entries.len()) {
        return None;
    }
    let name = |table: &Table<'_>| symbols.array(table.piece.array).name.clone();
    let axis = &symbols.axis(symbols.letter(first.piece.letters[0]).axis).name;
    let at =
        |table: &Table<'_>| format!("{} in line {} of {}", table.entries[row], row + 2, table.path.display());
    Some(
        DataError::new(format!(
            "`{}` and `{}` would be joined by the order of their rows, and these are not the same: `{}` is {} and {}",
            name(first),
            name(other),
            first.header,
            at(first),
            at(other)
        ))
        .help(format!(
            "if `{header}` names the {axis}: `--columns {one}={axis}:{header},value:{one}` and `--columns {two}={axis}:{header},value:{two}`, \
             or call the column `{axis}`",
            header = first.header,
            one = name(first),
            two = name(other),
        )),
    )
}
