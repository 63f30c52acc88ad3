//! A table as columns in memory.

use crate::content::{Categories, MISSING};
use crate::error::{FileError, count, quote};

/// Columns with names, all of one length: the frame of a caller, or what was read of a file of columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// The names; that of an index without a name is empty.
    pub names: Vec<String>,
    /// The columns, as many as there are names.
    pub columns: Vec<Column>,
    /// How many rows there are: the length of each column.
    pub rows: usize,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers, and which of them are missing.
    Whole {
        /// The numbers.
        values: Vec<i64>,
        /// Which are missing; `None` if none is.
        missing: Option<Vec<bool>>,
    },
    /// Numbers; NaN is missing.
    Numbers(Vec<f64>),
    /// Whether something is so; `None` is missing.
    Truths(Vec<Option<bool>>),
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
    /// Refuses columns that are not all of the length of the table, or not as many as the names.
    pub(crate) fn check(&self) -> Result<(), FileError> {
        let length = |column: &Column| match column {
            Column::Whole { values, missing } => {
                let missing = missing.as_ref().map_or(values.len(), Vec::len);
                (missing == values.len()).then_some(values.len())
            }
            Column::Numbers(values) => Some(values.len()),
            Column::Truths(values) => Some(values.len()),
            Column::Text(texts) => {
                let is_known = |code: &u32| *code == MISSING || (*code as usize) < texts.names.len();
                texts.codes.iter().all(is_known).then_some(texts.codes.len())
            }
            Column::Refused(_) => Some(self.rows),
        };
        if self.names.len() != self.columns.len() {
            let found = format!("{} names of {}", self.names.len(), count(self.columns.len(), "column"));
            return Err(FileError::new(found, "a name for each column"));
        }
        match self.columns.iter().position(|column| length(column) != Some(self.rows)) {
            None => Ok(()),
            Some(column) => {
                let error = FileError::new("a column of another length", count(self.rows, "row"));
                Err(error.in_column(quote(self.names[column].as_bytes())))
            }
        }
    }

    /// What a column holds, if it is neither numbers nor text.
    pub(crate) fn refused(&self, column: usize) -> Option<&str> {
        match &self.columns[column] {
            Column::Refused(what) => Some(what),
            Column::Whole { .. } | Column::Numbers(_) | Column::Truths(_) | Column::Text(_) => None,
        }
    }
}
