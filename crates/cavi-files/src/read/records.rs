//! The records of a table: of text, lines of fields, where a field in quotation marks may hold separators and line breaks; of columns
//! in memory, their rows after a line of names.
//!
//! # Source
//! RFC 4180, <https://www.rfc-editor.org/rfc/rfc4180>.

use std::borrow::Cow;

use super::columns::{Column, Columns};
use super::number::{is_missing, number};
use crate::error::FileError;
use crate::write::format_number;

/// A field of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'a> {
    /// As it stands in a text file, without its quotation marks.
    Text { raw: &'a str, quoted: bool },
    /// A whole number.
    Whole(i64),
    /// A number; NaN if it is missing.
    Number(f64),
}

impl<'a> Field<'a> {
    /// What the field says.
    pub(crate) fn text(&self) -> Cow<'a, str> {
        match *self {
            Field::Text { raw, quoted: true } if raw.contains('"') => Cow::Owned(raw.replace("\"\"", "\"")),
            Field::Text { raw, quoted: true } => Cow::Borrowed(raw),
            // Blanks around a field belong to it where quotation marks hold them.
            Field::Text { raw, quoted: false } => Cow::Borrowed(raw.trim()),
            Field::Whole(number) => Cow::Owned(number.to_string()),
            Field::Number(number) if number.is_nan() => Cow::Borrowed(""),
            Field::Number(number) => Cow::Owned(format_number(number)),
        }
    }

    /// The number that the field is; NaN if it is missing.
    #[inline]
    pub(crate) fn cell(&self) -> Option<f64> {
        match *self {
            Field::Text { raw, .. } => {
                let field = raw.trim_ascii().as_bytes();
                match number(field) {
                    None if is_missing(field) => Some(f64::NAN),
                    value => value,
                }
            }
            Field::Whole(number) => Some(number as f64),
            Field::Number(number) => Some(number),
        }
    }

    /// Whether nothing stands here, or a word for it.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Field::Text { raw, .. } => is_missing(raw.trim_ascii().as_bytes()),
            Field::Whole(_) => false,
            Field::Number(number) => number.is_nan(),
        }
    }

    /// Whether the field is a number or missing.
    pub(crate) fn is_number_or_missing(&self) -> bool {
        self.cell().is_some()
    }
}

/// Whether a record is an empty line.
pub(crate) fn is_blank(fields: &[Field<'_>]) -> bool {
    matches!(fields, [Field::Text { raw: "", quoted: false }])
}

/// A reader of records.
#[derive(Clone)]
pub(crate) enum Records<'a> {
    /// Of a text.
    Text(TextRecords<'a>),
    /// Of columns in memory; the row that comes next, the names of the columns being the first.
    Columns(&'a Columns, usize),
}

impl<'a> Records<'a> {
    /// Those of a text.
    pub(crate) fn new(text: &'a str, separator: u8) -> Records<'a> {
        Records::Text(TextRecords { text, at: 0, line: 1, separator })
    }

    /// The fields of the next record, and the line where it starts; `None` at the end of the table.
    #[inline]
    pub(crate) fn next(&mut self, fields: &mut Vec<Field<'a>>) -> Result<Option<usize>, FileError> {
        match self {
            Records::Text(text) => text.next(fields),
            Records::Columns(columns, row) => {
                fields.clear();
                if *row > columns.rows {
                    return Ok(None);
                }
                fields.extend((0..columns.names.len()).map(|column| field(columns, column, *row)));
                *row += 1;
                Ok(Some(*row))
            }
        }
    }

    /// The first field of the next record.
    pub(crate) fn next_first(&mut self) -> Result<Option<Field<'a>>, FileError> {
        match self {
            Records::Text(text) => text.next_first(),
            Records::Columns(columns, row) => {
                let first = (*row <= columns.rows).then(|| field(columns, 0, *row));
                *row += 1;
                Ok(first)
            }
        }
    }
}

/// A field of columns in memory; row 0 is that of their names.
#[inline]
fn field(columns: &Columns, column: usize, row: usize) -> Field<'_> {
    let Some(row) = row.checked_sub(1) else {
        return Field::Text { raw: &columns.names[column], quoted: false };
    };
    match &columns.columns[column] {
        Column::Whole { values, missing } => match missing.as_ref().is_some_and(|missing| missing[row]) {
            true => Field::Number(f64::NAN),
            false => Field::Whole(values[row]),
        },
        Column::Numbers(values) => Field::Number(values[row]),
        // What is missing is no empty line, where it is the only column.
        Column::Text(text) => {
            text.get(row).map_or(Field::Number(f64::NAN), |raw| Field::Text { raw, quoted: false })
        }
        Column::Refused(what) => Field::Text { raw: what, quoted: false },
    }
}

/// A reader of the records of a text.
#[derive(Clone)]
pub(crate) struct TextRecords<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    separator: u8,
}

impl<'a> TextRecords<'a> {
    fn next(&mut self, fields: &mut Vec<Field<'a>>) -> Result<Option<usize>, FileError> {
        fields.clear();
        let bytes = self.text.as_bytes();
        if self.at == bytes.len() {
            return Ok(None);
        }
        let start = self.line;
        loop {
            let field = if bytes.get(self.at) == Some(&b'"') { self.quoted()? } else { self.plain() };
            fields.push(field);
            match bytes.get(self.at) {
                Some(&byte) if byte == self.separator => self.at += 1,
                // Otherwise the field ends at the end of the line or of the file.
                Some(_) => {
                    self.at += if bytes[self.at] == b'\r' { 2 } else { 1 };
                    self.line += 1;
                    return Ok(Some(start));
                }
                None => return Ok(Some(start)),
            }
        }
    }

    fn next_first(&mut self) -> Result<Option<Field<'a>>, FileError> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        if rest.is_empty() || rest[..length].contains(&b'"') {
            let mut fields = Vec::new();
            return Ok(self.next(&mut fields)?.and(fields.first().copied()));
        }
        // Without quotation marks the record ends where the line does.
        let end = self.at + rest.len().min(length + 1);
        let field = self.plain();
        self.at = end;
        self.line += 1;
        Ok(Some(field))
    }

    fn plain(&mut self) -> Field<'a> {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let separator = self.separator;
        let length = rest.iter().position(|&byte| byte == separator || byte == b'\n').unwrap_or(rest.len());
        let mut end = start + length;
        // Lines may end in a carriage return and a line feed.
        if rest.get(length) == Some(&b'\n') && rest[..length].last() == Some(&b'\r') {
            end -= 1;
        }
        self.at = end;
        Field::Text { raw: &self.text[start..end], quoted: false }
    }

    fn quoted(&mut self) -> Result<Field<'a>, FileError> {
        let bytes = self.text.as_bytes();
        let opened = self.line;
        let start = self.at + 1;
        let mut end = start;
        loop {
            match bytes.get(end) {
                None => {
                    return Err(FileError::new(
                        "a quotation mark that is never closed",
                        "a second one at the end of the field",
                    )
                    .at_line(opened));
                }
                Some(b'"') if bytes.get(end + 1) == Some(&b'"') => end += 2,
                Some(b'"') => break,
                Some(byte) => {
                    self.line += usize::from(*byte == b'\n');
                    end += 1;
                }
            }
        }
        self.at = end + 1;
        match &bytes[self.at..] {
            [] | [b'\n', ..] | [b'\r', b'\n', ..] => {}
            [byte, ..] if *byte == self.separator => {}
            _ => {
                return Err(FileError::new(
                    "text after a closing quotation mark",
                    "the end of the field (a quotation mark within a field is written twice)",
                )
                .at_line(self.line));
            }
        }
        Ok(Field::Text { raw: &self.text[start..end], quoted: true })
    }
}
