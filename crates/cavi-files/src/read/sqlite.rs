//! SQLite: the answer to a query is a table with a header.
//!
//! The database is opened for reading alone. What stands after the file is a query, or the name of a table. A column holds whole
//! numbers, numbers, or text, whichever all of its entries are; NULL is missing. Cells are those of the same table as .csv.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::collector::Collector;
use super::columns::{Column, Columns, mark};
use super::{ReadOptions, steady, table};
use crate::content::Content;
use crate::error::{FileError, list, quote};
use crate::write::format_number;

/// Reads the answer to a query as a table.
pub(crate) fn read(path: &Path, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let columns = answer(path, options.column)?;
    table::read_columns(columns, &ReadOptions { column: None, ..*options })
}

/// The answer to a query.
pub(crate) fn answer(path: &Path, asked: Option<&str>) -> Result<Columns, FileError> {
    // The library would report a file that is not there as one that it cannot open.
    let file = std::fs::File::open(path).map_err(|error| super::bytes::refused(&error))?;
    refuse_cut(file)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(|error| wrong(&error))?;
    let tables = tables(&database)?;
    let Some(asked) = asked.map(str::trim) else {
        return Err(FileError::new(format!("a database with {}", shown(&tables)), "a query after its name")
            .with_help(example(&tables)));
    };
    let query = match tables.iter().any(|(name, _)| name == asked) {
        true => format!("SELECT * FROM \"{}\"", asked.replace('"', "\"\"")),
        false => asked.to_owned(),
    };
    let refuse = |error: rusqlite::Error| {
        let error = wrong(&error);
        error.with_help(format!("the database has {}", shown(&tables)))
    };
    let mut statement = database.prepare(&query).map_err(refuse)?;
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(FileError::new(
            format!("{}, which does not ask for rows", quote(asked.as_bytes())),
            "a query that only reads, `SELECT ...`",
        ));
    }
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut cells: Vec<Cells> = names.iter().map(|_| Cells::default()).collect();
    let mut rows = statement.query([]).map_err(refuse)?;
    let mut length = 0;
    while let Some(row) = rows.next().map_err(refuse)? {
        for (place, cells) in cells.iter_mut().enumerate() {
            cells.push(row.get_ref(place).map_err(refuse)?);
        }
        length += 1;
    }
    if length == 0 {
        return Err(FileError::new(format!("no row that {} asks for", quote(asked.as_bytes())), "rows"));
    }
    Ok(Columns { names, columns: cells.into_iter().map(Cells::finish).collect(), rows: length })
}

/// Refuses a file that is shorter than its head says, whose missing pages the library would notice only when it comes to them.
///
/// Bytes 16 and 17 are the size of a page (1 stands for 65536), bytes 28 to 31 the number of pages; the number counts if bytes 24 to
/// 27, how often the file was changed, are bytes 92 to 95, at which change it was written (<https://sqlite.org/fileformat2.html>).
fn refuse_cut(mut file: std::fs::File) -> Result<(), FileError> {
    let length = file.metadata().map_err(|error| super::bytes::refused(&error))?.len();
    let mut head = [0; 100];
    if file.read_exact(&mut head).is_err() || !head.starts_with(b"SQLite format 3\0") {
        return Err(FileError::new("a file that is no SQLite database", "one, since its name ends so"));
    }
    let number = |start: usize| u64::from(u32::from_be_bytes([0, 1, 2, 3].map(|place| head[start + place])));
    let page = match u64::from(u16::from_be_bytes([head[16], head[17]])) {
        1 => 65_536,
        page => page,
    };
    let stated = page * number(28);
    if number(24) == number(92) && length < stated {
        return Err(FileError::new(
            format!("a database that breaks off (after {length} of {stated} bytes)"),
            "a complete SQLite database",
        ));
    }
    Ok(())
}

/// The tables and views of a database with their columns.
fn tables(database: &Connection) -> Result<Vec<(String, Vec<String>)>, FileError> {
    let all = |query: &str, of: &[&str]| -> Result<Vec<String>, FileError> {
        let mut statement = database.prepare(query).map_err(|error| wrong(&error))?;
        let rows = statement
            .query_map(rusqlite::params_from_iter(of), |row| row.get(0))
            .map_err(|error| wrong(&error))?;
        rows.collect::<Result<_, _>>().map_err(|error| wrong(&error))
    };
    let names = all(
        "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY type, rowid",
        &[],
    )?;
    let columns = |name: &String| all("SELECT name FROM pragma_table_info(?1)", &[name]);
    names.into_iter().map(|name| columns(&name).map(|own| (name, own))).collect()
}

fn shown(tables: &[(String, Vec<String>)]) -> String {
    match tables {
        [] => "no table".to_owned(),
        [(name, columns)] => format!("the table {} ({})", quote(name.as_bytes()), list(columns)),
        _ => {
            let names: Vec<&str> = tables.iter().map(|own| own.0.as_str()).collect();
            format!("the tables {}", list(&names))
        }
    }
}

/// A line to type.
fn example(tables: &[(String, Vec<String>)]) -> String {
    let (name, columns) = tables.first().map_or(("TABLE", "COLUMN, ...".to_owned()), |(name, columns)| {
        (name.as_str(), columns.iter().take(3).cloned().collect::<Vec<_>>().join(", "))
    });
    format!("`--data 'NAME=FILE:SELECT {columns} FROM {name}'`")
}

/// What the library says.
fn wrong(error: &rusqlite::Error) -> FileError {
    use rusqlite::ErrorCode;
    match error {
        rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::NotADatabase => {
            FileError::new("a file that is no SQLite database", "one, since its name ends so")
        }
        rusqlite::Error::SqliteFailure(code, _) if code.code == ErrorCode::DatabaseCorrupt => {
            FileError::new("a damaged database", "a complete SQLite database")
        }
        rusqlite::Error::SqliteFailure(_, Some(message)) => {
            FileError::new(format!("a query that fails ({message})"), "a query in SQL")
        }
        rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
            let from = usize::try_from(*offset).ok().and_then(|offset| sql.get(offset..));
            let at = from
                .filter(|rest| !rest.is_empty())
                .map_or_else(String::new, |rest| format!(" at {}", quote(rest.as_bytes())));
            FileError::new(format!("a query that fails{at} ({msg})"), "a query in SQL")
        }
        rusqlite::Error::MultipleStatement => FileError::new("several queries", "one"),
        other => FileError::new(format!("an error of the database ({other})"), "a query that it answers"),
    }
}

/// The cells of a column.
#[derive(Default)]
struct Cells {
    whole: Vec<i64>,
    numbers: Vec<f64>,
    texts: Collector,
    missing: Vec<bool>,
    length: usize,
    kind: Kind,
}

/// What the cells of a column have been so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    #[default]
    Whole,
    Numbers,
    Text,
    Bytes,
}

impl Cells {
    fn push(&mut self, value: ValueRef<'_>) {
        self.rise(match value {
            ValueRef::Null | ValueRef::Integer(_) => Kind::Whole,
            ValueRef::Real(_) => Kind::Numbers,
            ValueRef::Text(text) if std::str::from_utf8(text).is_ok() => Kind::Text,
            ValueRef::Text(_) | ValueRef::Blob(_) => Kind::Bytes,
        });
        let is_missing = matches!(value, ValueRef::Null);
        match self.kind {
            Kind::Whole => {
                steady::push(&mut self.whole, if let ValueRef::Integer(own) = value { own } else { 0 });
            }
            Kind::Numbers => steady::push(
                &mut self.numbers,
                match value {
                    ValueRef::Integer(own) => own as f64,
                    ValueRef::Real(own) => own,
                    _ => f64::NAN,
                },
            ),
            Kind::Text if is_missing => self.texts.push_missing(),
            Kind::Text => self.texts.push(&match value {
                ValueRef::Integer(own) => own.to_string().into(),
                ValueRef::Real(own) => format_number(own).into(),
                ValueRef::Text(own) => String::from_utf8_lossy(own),
                ValueRef::Null | ValueRef::Blob(_) => Cow::Borrowed(""),
            }),
            Kind::Bytes => {}
        }
        mark(&mut self.missing, self.length, is_missing);
        self.length += 1;
    }

    /// Makes of the cells so far what those that follow need.
    fn rise(&mut self, kind: Kind) {
        if kind <= self.kind {
            return;
        }
        let (whole, numbers) = (std::mem::take(&mut self.whole), std::mem::take(&mut self.numbers));
        match kind {
            Kind::Whole | Kind::Bytes => {}
            Kind::Numbers => {
                let cell = |(row, value): (usize, i64)| match self.is_missing(row) {
                    true => f64::NAN,
                    false => value as f64,
                };
                self.numbers = whole.into_iter().enumerate().map(cell).collect();
            }
            Kind::Text => {
                let written: Vec<String> = match self.kind {
                    Kind::Whole => whole.iter().map(i64::to_string).collect(),
                    _ => numbers.iter().map(|own| format_number(*own)).collect(),
                };
                for (row, text) in written.into_iter().enumerate() {
                    if self.is_missing(row) { self.texts.push_missing() } else { self.texts.push(&text) }
                }
            }
        }
        self.kind = kind;
    }

    fn is_missing(&self, row: usize) -> bool {
        self.missing.get(row).is_some_and(|own| *own)
    }

    fn finish(self) -> Column {
        match self.kind {
            Kind::Whole => Column::Whole {
                values: self.whole,
                missing: Some(self.missing).filter(|own| !own.is_empty()),
            },
            Kind::Numbers => Column::Numbers(self.numbers),
            Kind::Text => Column::Text(self.texts.finish()),
            Kind::Bytes => Column::Refused("bytes that are not text".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_what_all_of_its_cells_are() {
        let of = |values: &[ValueRef<'_>]| {
            let mut cells = Cells::default();
            values.iter().for_each(|value| cells.push(*value));
            cells.finish()
        };
        let (one, half, none) = (ValueRef::Integer(1), ValueRef::Real(0.5), ValueRef::Null);
        let text = ValueRef::Text(b"x");
        assert!(matches!(of(&[one, none]), Column::Whole { values, missing: Some(_) } if values == [1, 0]));
        assert!(
            matches!(of(&[one, half, none]), Column::Numbers(own) if own[..2] == [1.0, 0.5] && own[2].is_nan())
        );
        let Column::Text(own) = of(&[none, one, half, text]) else { panic!("text") };
        assert_eq!(
            (own.get(0), own.get(1), own.get(2), own.get(3)),
            (None, Some("1"), Some("0.5"), Some("x"))
        );
        assert!(matches!(of(&[text, ValueRef::Blob(b"\0")]), Column::Refused(_)));
    }
}
