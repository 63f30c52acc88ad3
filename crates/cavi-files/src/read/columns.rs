//! A table as columns in memory.

use crate::content::Categories;

/// Columns with names, all of one length.
#[derive(Debug)]
pub(crate) struct Columns {
    /// The names.
    pub(crate) names: Vec<String>,
    /// The columns.
    pub(crate) columns: Vec<Column>,
    /// How many rows there are.
    pub(crate) rows: usize,
}

/// The cells of a column.
#[derive(Debug)]
pub(crate) enum Column {
    /// Whole numbers, and which of them are missing.
    Whole { values: Vec<i64>, missing: Option<Vec<bool>> },
    /// Numbers; NaN is missing.
    Numbers(Vec<f64>),
    /// Text.
    Text(Categories),
    /// What a table cannot be made of, in words.
    Refused(String),
}

/// Notes whether the next entry of a column, before which so many stand, is missing. There is no list before the first that is.
#[inline]
pub(crate) fn mark(missing: &mut Vec<bool>, before: usize, is_missing: bool) {
    if is_missing && missing.is_empty() {
        missing.resize(before, false);
    }
    if is_missing || !missing.is_empty() {
        missing.push(is_missing);
    }
}

impl Columns {
    /// What a column holds, if it is neither numbers nor text.
    pub(crate) fn refused(&self, column: usize) -> Option<&str> {
        match &self.columns[column] {
            Column::Refused(what) => Some(what),
            Column::Whole { .. } | Column::Numbers(_) | Column::Text(_) => None,
        }
    }
}
