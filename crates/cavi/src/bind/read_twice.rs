//! Columns of a table that is read as a whole, and that are read into other data by themselves: a response among its own predictors.

use std::ffi::OsString;
use std::path::{Component, Path};

use cavi_algebra::Symbols;
use cavi_files::{Content, Dense};

use super::inputs::{Inputs, Source};
use super::pieces::Piece;

/// What of a table of rows by columns other data read by name, a warning each.
pub(super) fn warnings(symbols: &Symbols, inputs: &Inputs, piece: &Piece) -> Vec<String> {
    let Content::Dense(Dense { labels, lines: Some(_), .. }) = &piece.content else { return Vec::new() };
    let [_, Some(columns)] = labels.as_slice() else { return Vec::new() };
    let whole = &symbols.array(piece.array).name;
    let of_it = |source: &Source| match source {
        Source::File { path, column: Some(column) } => is_same(path, &piece.file).then(|| column.clone()),
        _ => None,
    };
    let twice = inputs.data.iter().filter_map(|own| Some((&own.name, of_it(&own.source)?)));
    let twice = twice.filter(|(name, column)| *name != whole && columns.contains(column));
    twice
        .map(|(name, column)| {
            format!(
                "{}: the column `{column}` is read into `{whole}` with the others, and by itself into `{name}`: where `{whole}` predicts `{name}`, \
                 it predicts itself\n  help: give `{whole}` a file without the column `{column}`",
                piece.name()
            )
        })
        .collect()
}

/// Whether two paths are the same, `./` aside.
fn is_same(one: &Path, other: &Path) -> bool {
    let parts = |path: &Path| -> Vec<OsString> {
        path.components()
            .filter(|own| *own != Component::CurDir)
            .map(|own| own.as_os_str().to_owned())
            .collect()
    };
    parts(one) == parts(other)
}
