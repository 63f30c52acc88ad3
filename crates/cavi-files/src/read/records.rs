//! The records of a text table: lines of fields, where a field in quotation marks may hold separators and line breaks.
//!
//! # Source
//! RFC 4180, <https://www.rfc-editor.org/rfc/rfc4180>.

use std::borrow::Cow;

use super::number::{is_missing, number};
use crate::error::FileError;

/// A field as it stands in the file, without its quotation marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    raw: &'a str,
    quoted: bool,
}

impl<'a> Field<'a> {
    /// What the field says.
    pub(crate) fn text(&self) -> Cow<'a, str> {
        if self.quoted && self.raw.contains('"') {
            Cow::Owned(self.raw.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(self.raw)
        }
    }

    /// The field without the blanks around it, as numbers and missing entries are read.
    pub(crate) fn trimmed(&self) -> &'a str {
        self.raw.trim_ascii()
    }

    /// Whether the field is a number or missing.
    pub(crate) fn is_number_or_missing(&self) -> bool {
        let field = self.trimmed().as_bytes();
        is_missing(field) || number(field).is_some()
    }
}

/// Whether a record is an empty line.
pub(crate) fn is_blank(fields: &[Field<'_>]) -> bool {
    matches!(fields, [Field { raw: "", quoted: false }])
}

/// A reader of records.
#[derive(Clone)]
pub(crate) struct Records<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    separator: u8,
}

impl<'a> Records<'a> {
    pub(crate) fn new(text: &'a str, separator: u8) -> Records<'a> {
        Records { text, at: 0, line: 1, separator }
    }

    /// The fields of the next record, and the line where it starts; `None` at the end of the file.
    pub(crate) fn next(&mut self, fields: &mut Vec<Field<'a>>) -> Result<Option<usize>, FileError> {
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

    /// The first field of the next record.
    pub(crate) fn next_first(&mut self) -> Result<Option<Field<'a>>, FileError> {
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
        Field { raw: &self.text[start..end], quoted: false }
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
        Ok(Field { raw: &self.text[start..end], quoted: true })
    }
}
