//! Columns beside the values that no role takes, which may say which row is which.
//!
//! The rows of a vector without labels are joined with others by their order. A column of texts or of whole numbers beside it is kept, so
//! that those who join can see whether it says the same.

use super::layout::{Layout, is_prose, is_row_index};
use super::{Collector, Table};
use crate::content::PassedOver;
use crate::read::records::Field;

/// So many columns of a table are kept.
const FEW: usize = 3;

impl Layout {
    /// The first columns of a vector without labels that are no part of it. An index that a frame has by itself is no label of a row.
    pub(super) fn passed_over(&self, table: &Table<'_>) -> Vec<usize> {
        let Layout::Vector { labels, value, .. } = self else { return Vec::new() };
        if table.header.is_none() || labels.is_some_and(|own| !is_row_index(&table.name(own))) {
            return Vec::new();
        }
        let is_free = |column: &usize| {
            *column != *value && Some(*column) != *labels && !is_row_index(&table.name(*column))
        };
        (0..table.width).filter(is_free).take(FEW).collect()
    }
}

/// A column that may be a key, as far as it was read.
pub(super) struct Key {
    pub(super) column: usize,
    entries: Collector,
}

impl Key {
    pub(super) fn of(column: usize) -> Key {
        Key { column, entries: Collector::default() }
    }

    /// One row more; whether the column may still be a key, which measurements and sentences are not.
    pub(super) fn push(&mut self, field: &Field<'_>) -> bool {
        match field.cell() {
            Some(number) if number.is_nan() => self.entries.push_missing(),
            Some(number) if number.fract() != 0.0 => return false,
            None if is_prose(field) => return false,
            Some(_) | None => self.entries.push(&field.text()),
        }
        true
    }

    pub(super) fn finish(self, table: &Table<'_>) -> PassedOver {
        PassedOver { name: table.name(self.column), entries: self.entries.finish() }
    }
}
