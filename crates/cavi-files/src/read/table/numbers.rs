//! The numbers of columns, as they are read row by row.

use super::unreadable;
use crate::error::{FileError, quote};
use crate::read::records::Field;
use crate::read::steady;

/// Numbers of so many columns. A column that says of all its entries whether something is so, `TRUE` or `FALSE`, is one of 1 and 0.
pub(super) struct Numbers {
    values: Vec<f64>,
    /// For each column whether it is one of `TRUE` and `FALSE`.
    truths: Vec<bool>,
}

impl Numbers {
    pub(super) fn new(columns: usize) -> Numbers {
        Numbers { values: Vec::new(), truths: vec![false; columns] }
    }

    /// Adds the next field, which is in this column.
    ///
    /// # Errors
    /// What is no number, and a number in a column of `TRUE` and `FALSE`, or the other way round.
    #[inline]
    pub(super) fn push(&mut self, column: usize, field: &Field<'_>) -> Result<(), FileError> {
        match field.cell() {
            Some(number) if !self.truths[column] || number.is_nan() => {
                steady::push(&mut self.values, number);
                Ok(())
            }
            _ => self.push_truth(column, field),
        }
    }

    /// Adds a missing entry.
    pub(super) fn push_missing(&mut self) {
        steady::push(&mut self.values, f64::NAN);
    }

    fn push_truth(&mut self, column: usize, field: &Field<'_>) -> Result<(), FileError> {
        let truth = unreadable::truth(field);
        match truth {
            Some(truth) if self.truths[column] || self.is_missing_so_far(column) => {
                self.truths[column] = true;
                steady::push(&mut self.values, truth);
                Ok(())
            }
            None if self.truths[column] => {
                let expected = "`TRUE` or `FALSE` as in the lines above, or `NA` or nothing if it is missing";
                Err(FileError::new(quote(field.text().as_bytes()), expected))
            }
            _ => Err(unreadable::error(field)),
        }
    }

    /// Whether all entries of a column so far are missing.
    fn is_missing_so_far(&self, column: usize) -> bool {
        self.values.iter().skip(column).step_by(self.truths.len()).all(|value| value.is_nan())
    }

    /// The bytes of the numbers so far.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.values.as_slice())
    }

    pub(super) fn finish(self) -> Vec<f64> {
        steady::fitted(self.values)
    }
}
