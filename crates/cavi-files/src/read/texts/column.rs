//! A column of text in a table, one document a row.

use std::borrow::Cow;

use super::{Counter, TextReading};
use crate::content::{Content, MISSING};
use crate::error::{FileError, list, quote};
use crate::read::collector::Collector;
use crate::read::table::{Table, check_label, named_column};
use crate::read::{ReadOptions, Wanted, ids};

/// Reads the column that the caller named as texts: where it is no column of numbers, and the table has no column for the words.
/// `None` where the table is to be read otherwise.
///
/// Rows are labelled by the column that is named as the first axis, by the header or by the caller, or by one of ids; rows with
/// one label are one document. Without such a column they have no labels.
pub(crate) fn read(table: &Table<'_>, options: &ReadOptions<'_>) -> Result<Option<Content>, FileError> {
    let (Some(reading), [document, word]) = (&options.texts, options.dimensions) else { return Ok(None) };
    let mapped = |role: &dyn Fn(&str) -> bool| {
        let own = options.columns.iter().find(|own| role(own.role));
        own.map(|own| table.require(own.column)).transpose()
    };
    let Some(texts) = options
        .column
        .map(|name| table.require(name))
        .transpose()?
        .map_or_else(|| mapped(&|role| role == "value"), |column| Ok(Some(column)))?
    else {
        return Ok(None);
    };
    let is_word = |role: &str| role == word.axis || Some(role) == word.letter;
    let names_words = mapped(&is_word)?.or(named_column(table, word, options.dimensions)?);
    if options.is_wide || options.wanted != Wanted::Numbers || names_words.is_some() {
        return Ok(None);
    }
    let is_document = |role: &str| role == document.axis || Some(role) == document.letter;
    let label = mapped(&is_document)?.or(named_column(table, document, options.dimensions)?);
    if let Some(other) = options.columns.iter().find(|own| own.role != "value" && !is_document(own.role)) {
        return Err(FileError::new(
            format!("{} among the names of `--columns`", quote(other.role.as_bytes())),
            format!("{} or `value`, for a column of texts", quote(document.axis.as_bytes())),
        ));
    }
    if is_numbers(table, texts)? {
        let name = quote(table.name(texts).as_bytes());
        let others: Vec<String> =
            (0..table.width).filter(|column| *column != texts).map(|column| table.name(column)).collect();
        return match label {
            // A long table without one of its columns says so itself.
            Some(_) => Ok(None),
            None => Err(FileError::new(
                match others.is_empty() {
                    true => format!("numbers in the column {name}"),
                    false => format!("numbers in the column {name}, beside {}", list(&others)),
                },
                format!(
                    "texts, one document a row, or a long table with columns {} and {}",
                    quote(document.axis.as_bytes()),
                    quote(word.axis.as_bytes())
                ),
            )
            .at_line(1)
            .with_help("`--columns NAME=axis:column,...` says which columns are which axes")),
        };
    }
    let label = match label {
        Some(label) => Some(label),
        None => ids_of(table, texts, document.axis)?,
    };
    table.refuse_unreadable(label.iter().copied().chain([texts]))?;
    documents(table, texts, label, reading).map(Some)
}

/// Whether every entry of a column is a number or missing.
fn is_numbers(table: &Table<'_>, column: usize) -> Result<bool, FileError> {
    let mut records = table.records()?;
    while let Some(record) = records.next()? {
        if record.get(column).is_some_and(|field| !field.is_number_or_missing()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The column of ids that identifies documents, by its name: that of the axis, or none, and no entry twice.
fn ids_of(table: &Table<'_>, texts: usize, axis: &str) -> Result<Option<usize>, FileError> {
    for column in (0..table.width).filter(|column| *column != texts) {
        let Some(own) = ids::identified(table.name(column).trim(), table.width) else { continue };
        if ids::is_same(axis, &own) || own.is_empty() && crate::read::table::can_be_labels(table, column)? {
            return Ok(Some(column));
        }
    }
    Ok(None)
}

fn documents(
    table: &Table<'_>,
    texts: usize,
    label: Option<usize>,
    reading: &TextReading<'_>,
) -> Result<Content, FileError> {
    let mut records = table.records()?;
    // The texts of rows, which stand together in a document only when all labels are known; empty where they are missing.
    let mut cells: Vec<Box<str>> = Vec::new();
    let mut labels = Collector::default();
    let mut counter = Counter::new(reading);
    while let Some(record) = records.next()? {
        let line = record.line;
        if record.len() != table.width {
            if record.is_blank() {
                continue;
            }
            let found = crate::error::count(record.len(), "field");
            let expected = format!("{}, as in the first line", table.width);
            return Err(FileError::new(found, expected).at_line(line));
        }
        let cell = record.field(texts);
        let cell = if cell.is_missing() { Cow::Borrowed("") } else { cell.text() };
        match label {
            Some(label) => {
                let text = record.field(label).text();
                check_label(&text)
                    .map_err(|error| error.at_line(line).in_column(quote(table.name(label).as_bytes())))?;
                labels.push(&text);
                cells.push(cell.into());
            }
            None => {
                counter.begin();
                counter.add(&cell);
            }
        }
    }
    if label.is_none() {
        return counter.finish("row", None);
    }
    let labels = labels.finish();
    // The rows of each document, in the order of the table.
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); labels.names.len()];
    for (row, code) in labels.codes.iter().enumerate().filter(|(_, code)| **code != MISSING) {
        rows[*code as usize].push(row);
    }
    for rows in rows {
        counter.begin();
        rows.into_iter().for_each(|row| counter.add(&cells[row]));
    }
    counter.finish("row", Some(labels.names))
}
