//! The records of a table: of text, lines of fields, where a field in quotation marks may hold separators and line breaks; of columns
//! in memory, their rows after a line of names.
//!
//! # Source
//! RFC 4180, <https://www.rfc-editor.org/rfc/rfc4180>.

use std::borrow::Cow;

use super::columns::{Column, Columns};
use super::number::{is_missing, number};
use super::stream::{Source, Stream};
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
    /// Whether something is so: 1 or 0 as a number, `True` or `False` as a label.
    Truth(bool),
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
            Field::Truth(is_so) => Cow::Borrowed(if is_so { "True" } else { "False" }),
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
            Field::Truth(is_so) => Some(f64::from(u8::from(is_so))),
        }
    }

    /// Whether nothing stands here, or a word for it.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Field::Text { raw, .. } => is_missing(raw.trim_ascii().as_bytes()),
            Field::Whole(_) | Field::Truth(_) => false,
            Field::Number(number) => number.is_nan(),
        }
    }

    /// Whether the field is a number or missing.
    pub(crate) fn is_number_or_missing(&self) -> bool {
        self.cell().is_some()
    }
}

/// A record of a table, as long as nothing is read after it.
#[derive(Clone, Copy)]
pub(crate) struct Record<'r> {
    /// The line where it starts.
    pub(crate) line: usize,
    cells: Cells<'r>,
}

#[derive(Clone, Copy)]
enum Cells<'r> {
    /// Of a text, and where the fields stand in it.
    Text(&'r str, &'r [Span]),
    /// A row of columns in memory; row 0 is that of their names.
    Columns(&'r Columns, usize),
}

/// Where a field stands in a text.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
    quoted: bool,
}

impl<'r> Record<'r> {
    /// How many fields it has.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self.cells {
            Cells::Text(_, spans) => spans.len(),
            Cells::Columns(columns, _) => columns.names.len(),
        }
    }

    /// The field in a column.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(crate) fn field(&self, column: usize) -> Field<'r> {
        match self.cells {
            Cells::Text(text, spans) => spans[column].of(text),
            Cells::Columns(columns, row) => field(columns, column, row),
        }
    }

    /// The field in a column, if there is one.
    pub(crate) fn get(&self, column: usize) -> Option<Field<'r>> {
        (column < self.len()).then(|| self.field(column))
    }

    /// All fields, from the first on.
    pub(crate) fn fields(self) -> impl ExactSizeIterator<Item = Field<'r>> {
        (0..self.len()).map(move |column| self.field(column))
    }

    /// Whether it is an empty line.
    pub(crate) fn is_blank(&self) -> bool {
        self.len() == 1 && matches!(self.field(0), Field::Text { raw: "", quoted: false })
    }
}

impl Span {
    #[inline]
    fn of<'r>(&self, text: &'r str) -> Field<'r> {
        Field::Text { raw: &text[self.start..self.end], quoted: self.quoted }
    }
}

/// A reader of records.
pub(crate) enum Records<'a> {
    /// Of a text.
    Text(TextRecords<'a>),
    /// Of columns in memory; the row that comes next, the names of the columns being the first.
    Columns(&'a Columns, usize),
}

impl<'a> Records<'a> {
    /// Those of a text.
    pub(crate) fn new(source: Source<'a>, separator: u8) -> Result<Records<'a>, FileError> {
        let stream = source.open()?;
        Ok(Records::Text(TextRecords { stream, at: 0, line: 1, separator, spans: Vec::new(), ended: false }))
    }

    /// The next record; `None` at the end of the table.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, FileError> {
        match self {
            Records::Text(text) => {
                let line = text.next()?;
                let text = &*text;
                Ok(line.map(|line| Record { line, cells: Cells::Text(&text.stream.text, &text.spans) }))
            }
            Records::Columns(columns, row) => {
                if *row > columns.rows {
                    return Ok(None);
                }
                *row += 1;
                Ok(Some(Record { line: *row, cells: Cells::Columns(columns, *row - 1) }))
            }
        }
    }

    /// The first field of the next record.
    pub(crate) fn next_first(&mut self) -> Result<Option<Field<'_>>, FileError> {
        match self {
            Records::Text(text) => {
                let found = text.next_first()?;
                Ok(found.then(|| text.spans[0].of(&text.stream.text)))
            }
            Records::Columns(columns, row) => {
                let first = (*row <= columns.rows).then(|| field(columns, 0, *row));
                *row += 1;
                Ok(first)
            }
        }
    }

    /// Of a compressed file, how many bytes were inflated so far.
    pub(crate) fn inflated(&self) -> Option<usize> {
        match self {
            Records::Text(text) => text.stream.inflated(),
            Records::Columns(..) => None,
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
        Column::Truths(values) => values[row].map_or(Field::Number(f64::NAN), Field::Truth),
        // What is missing is no empty line, where it is the only column.
        Column::Text(text) => {
            text.get(row).map_or(Field::Number(f64::NAN), |raw| Field::Text { raw, quoted: false })
        }
        Column::Refused(what) => Field::Text { raw: what, quoted: false },
    }
}

/// A reader of the records of a text.
pub(crate) struct TextRecords<'a> {
    /// What is in memory of the text; whole lines.
    stream: Stream<'a>,
    /// Where the next record starts in that.
    at: usize,
    line: usize,
    separator: u8,
    /// The fields of the last record.
    spans: Vec<Span>,
    /// Whether nothing follows what is in memory.
    ended: bool,
}

/// Why a record does not end in what is in memory of a text.
enum Stop {
    /// A field in quotation marks goes on behind it.
    Short,
    Error(FileError),
}

impl TextRecords<'_> {
    /// Finds the fields of the next record; the line where it starts, `None` at the end of the text.
    fn next(&mut self) -> Result<Option<usize>, FileError> {
        if !self.has_more()? {
            return Ok(None);
        }
        let line = self.line;
        loop {
            match self.parse() {
                Ok(()) => return Ok(Some(line)),
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::Short) => {
                    self.line = line;
                    self.refill()?;
                }
            }
        }
    }

    /// Whether there is another record; at the end of what is in memory more is read.
    #[inline]
    fn has_more(&mut self) -> Result<bool, FileError> {
        while self.at == self.stream.text.len() {
            if self.ended {
                return Ok(false);
            }
            self.refill()?;
        }
        Ok(true)
    }

    /// Reads on: what stands before the next record is forgotten.
    fn refill(&mut self) -> Result<(), FileError> {
        if self.stream.is_last() {
            self.ended = true;
            return Ok(());
        }
        self.ended = !self.stream.more(self.at)?;
        self.at = 0;
        Ok(())
    }

    /// Finds the fields of the record that starts here. Where it does not end in what is in memory, the place stays.
    fn parse(&mut self) -> Result<(), Stop> {
        self.spans.clear();
        let text: &str = &self.stream.text;
        let bytes = text.as_bytes();
        let mut at = self.at;
        loop {
            let span = match bytes.get(at) {
                Some(b'"') => quoted(bytes, at, self.separator, self.ended, &mut self.line)?,
                _ => plain(bytes, at, self.separator),
            };
            self.spans.push(span);
            at = span.end + usize::from(span.quoted);
            match bytes.get(at) {
                Some(&byte) if byte == self.separator => at += 1,
                // Otherwise the field ends at the end of the line or of the file.
                Some(&byte) => {
                    self.at = at + if byte == b'\r' { 2 } else { 1 };
                    self.line += 1;
                    return Ok(());
                }
                None => {
                    self.at = at;
                    return Ok(());
                }
            }
        }
    }

    /// Finds the first field of the next record; `false` at the end of the text.
    fn next_first(&mut self) -> Result<bool, FileError> {
        if !self.has_more()? {
            return Ok(false);
        }
        let rest = &self.stream.text.as_bytes()[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        if rest[..length].contains(&b'"') {
            return Ok(self.next()?.is_some());
        }
        // Without quotation marks the record ends where the line does.
        let end = self.at + rest.len().min(length + 1);
        self.spans.clear();
        self.spans.push(plain(self.stream.text.as_bytes(), self.at, self.separator));
        self.at = end;
        self.line += 1;
        Ok(true)
    }
}

/// A field without quotation marks.
#[inline]
fn plain(bytes: &[u8], start: usize, separator: u8) -> Span {
    let rest = &bytes[start..];
    let length = rest.iter().position(|&byte| byte == separator || byte == b'\n').unwrap_or(rest.len());
    let mut end = start + length;
    // Lines may end in a carriage return and a line feed.
    if rest.get(length) == Some(&b'\n') && rest[..length].last() == Some(&b'\r') {
        end -= 1;
    }
    Span { start, end, quoted: false }
}

/// A field in quotation marks; `line` is that where it starts, and then that where it ends.
fn quoted(bytes: &[u8], at: usize, separator: u8, ended: bool, line: &mut usize) -> Result<Span, Stop> {
    let opened = *line;
    let start = at + 1;
    let mut end = start;
    loop {
        match bytes.get(end) {
            None if !ended => return Err(Stop::Short),
            None => {
                return Err(Stop::Error(
                    FileError::new(
                        "a quotation mark that is never closed",
                        "a second one at the end of the field",
                    )
                    .at_line(opened),
                ));
            }
            Some(b'"') if bytes.get(end + 1) == Some(&b'"') => end += 2,
            Some(b'"') => break,
            Some(byte) => {
                *line += usize::from(*byte == b'\n');
                end += 1;
            }
        }
    }
    match &bytes[end + 1..] {
        [] | [b'\n', ..] | [b'\r', b'\n', ..] => {}
        [byte, ..] if *byte == separator => {}
        _ => {
            return Err(Stop::Error(
                FileError::new(
                    "text after a closing quotation mark",
                    "the end of the field (a quotation mark within a field is written twice)",
                )
                .at_line(*line),
            ));
        }
    }
    Ok(Span { start, end, quoted: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Packing;

    /// The records of a text, each with its line, or what is wrong with it.
    fn all(source: Source<'_>) -> Result<Vec<(usize, Vec<String>)>, FileError> {
        let mut records = Records::new(source, b',')?;
        let mut found = Vec::new();
        while let Some(record) = records.next()? {
            found.push((record.line, record.fields().map(|own| own.text().into_owned()).collect()));
        }
        Ok(found)
    }

    #[test]
    fn records_of_a_file_are_those_of_its_text() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let long = format!("1,\"{}\"\r\n2,x\n", "a \"\"b\"\"\nc,".repeat(100_000));
        let many = "12,\"a\nb\",c\n".repeat(70_000);
        let open = format!("{many}1,\"x\n{many}").replace("\"a\nb\"", "ab");
        let after = format!("{many}1,\"x\"y\n");
        for text in
            ["a", "a,b\n1,2", "\n\na\n", "\"a\"", &long, &many, &open, &after, &many.replace('\n', "\r\n")]
        {
            std::fs::write(place.path(), text).unwrap();
            let expected = all(Source::Memory(text));
            assert_eq!(all(Source::File(place.path(), Packing::Plain)), expected);
            let firsts = |source| {
                let (mut records, mut found) = (Records::new(source, b',')?, Vec::new());
                while let Some(first) = records.next_first()? {
                    found.push(first.text().into_owned());
                }
                Ok::<_, FileError>(found)
            };
            let own = firsts(Source::File(place.path(), Packing::Plain));
            assert_eq!(own, firsts(Source::Memory(text)));
            if let (Ok(own), Ok(expected)) = (own, expected) {
                assert!(own.iter().zip(&expected).all(|(own, (_, all))| *own == all[0]));
            }
        }
    }
}
