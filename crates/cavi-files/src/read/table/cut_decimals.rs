//! Decimal commas in a table whose fields are parted by commas.
//!
//! Each line has then a field more than the header has names, as where the first column holds the names of rows and has no name itself. The two
//! readings give the columns before the comma other names. They cannot be told apart where two fields of every line, side by side, are a whole number and
//! digits.

use super::Table;
use super::layout::Layout;
use super::{Dimension, Entries};
use crate::error::{FileError, count, quote};
use crate::read::ids;
use crate::read::records::Field;

impl Table<'_> {
    /// Refuses a table that lacks a name and in which a column that is used may be another one, with a number that is cut at its comma. Rows by columns are taken for
    /// what they are, unless their first name is that of labels.
    pub(super) fn refuse_cut_decimals(
        &self,
        layout: &Layout,
        used: impl Iterator<Item = usize>,
        dimensions: &[Dimension<'_>],
    ) -> Result<(), FileError> {
        let by_commas = matches!(self.entries, Entries::Text(_, b','));
        let names_labels = || {
            let name = self.name(1);
            let name = name.trim();
            let is_axis = |own: &Dimension<'_>| name == own.axis || Some(name) == own.letter;
            dimensions.iter().any(is_axis) || ids::identified(name, self.width).is_some()
        };
        // The names of rows are the same by both readings.
        let Some(first) = used.filter(|column| *column > 0).min() else { return Ok(()) };
        if !self.lacked_a_name || !by_commas || matches!(layout, Layout::Matrix { .. }) && !names_labels() {
            return Ok(());
        }
        let mut may_be_cut = vec![true; self.width - 1];
        may_be_cut[..first - 1].fill(false);
        let mut example: Option<(usize, Vec<String>)> = None;
        let mut records = self.records()?;
        while let Some(record) = records.next()? {
            if record.is_blank() {
                continue;
            }
            // What names rows is in quotation marks, numbers are not.
            if matches!(record.field(0), Field::Text { quoted: true, .. }) {
                return Ok(());
            }
            for (column, own) in may_be_cut.iter_mut().enumerate() {
                *own = *own
                    && record.get(column).is_some_and(|field| is_whole(&field))
                    && record.get(column + 1).is_some_and(|field| are_digits(&field));
            }
            if !may_be_cut.contains(&true) {
                return Ok(());
            }
            example.get_or_insert_with(|| {
                (record.line, record.fields().map(|field| field.text().into_owned()).collect())
            });
        }
        let Some((line, fields)) = example else { return Ok(()) };
        let cut = may_be_cut.iter().rposition(|own| *own).unwrap_or_default();
        let number = format!("{},{}", fields[cut].trim(), fields[cut + 1].trim());
        Err(FileError::new(
            format!("{}, of which `{number}` may be one number", count(self.width, "field")),
            format!("{}, as the header has names", self.width - 1),
        )
        .at_line(line)
        .with_help(format!(
            "numbers have a point: write `{}`, or part the fields by semicolons; if {} is the name of a row and the header names the others, \
             begin the header with a comma, for an empty name",
            number.replace(',', "."),
            quote(fields[0].as_bytes())
        )))
    }
}

/// Whether a field is a whole number without an exponent.
fn is_whole(field: &Field<'_>) -> bool {
    let text = field.text();
    let text = text.trim();
    is_plain(field) && is_of_digits(text.strip_prefix(['-', '+']).unwrap_or(text))
}

/// Whether a field holds digits alone, as what stands behind a comma.
fn are_digits(field: &Field<'_>) -> bool {
    is_plain(field) && is_of_digits(field.text().trim())
}

fn is_plain(field: &Field<'_>) -> bool {
    matches!(field, Field::Text { quoted: false, .. })
}

fn is_of_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|own| own.is_ascii_digit())
}
