//! The columns of a table as the content of a file.

use std::collections::HashMap;

use super::layout::Layout;
use super::{Body, Table, advise, check_label, column_name};
use crate::content::{Categories, Content, Dense, Lines, Long, MISSING};
use crate::error::{FileError, count, quote};
use crate::read::{ReadOptions, expected_dimensions};

/// The content that the columns make up.
pub(super) fn assemble(
    layout: Layout,
    body: Body,
    table: &Table<'_>,
    options: &ReadOptions<'_>,
) -> Result<Content, FileError> {
    let Body { mut labels, values, lines, rows, passed_over } = body;
    let dense = |shape, values, labels, lines| {
        Ok(Content::Dense(Dense { shape, values, labels, rows_are: None, passed_over, lines: Some(lines) }))
    };
    match layout {
        Layout::Matrix { row_labels: own } => {
            let row_labels = match labels.pop() {
                Some(column) => Some(distinct(column, &lines, values.len(), rows).map_err(|error| {
                    advise(
                        error.in_column(column_name(table, own.unwrap_or_default())),
                        &layout,
                        table,
                        options.dimensions,
                    )
                })?),
                None => None,
            };
            let width = table.width - usize::from(own.is_some());
            if width == 0 && own.is_some() {
                return Err(FileError::new(
                    "a column of row labels and nothing else",
                    "columns of values beside it",
                )
                .at_line(1));
            }
            let column_labels = match &table.header {
                Some(header) => Some(column_labels(header, own)?),
                None => None,
            };
            let named = table.header.as_ref().zip(own).map(|(header, own)| header[own].trim().to_owned());
            let rows_are = named.filter(|name| !name.is_empty());
            let shape = vec![rows, width];
            let labels = vec![row_labels, column_labels];
            Ok(Content::Dense(Dense {
                shape,
                values,
                labels,
                rows_are,
                passed_over: Vec::new(),
                lines: Some(lines),
            }))
        }
        Layout::Row => dense(vec![table.width], values, vec![None], lines),
        Layout::Vector { .. } if options.dimensions.is_empty() => {
            if rows != 1 {
                return Err(FileError::new(count(rows, "row"), expected_dimensions(&[])));
            }
            dense(vec![], values, vec![], lines)
        }
        Layout::Vector { labels: label, value, may_repeat } => {
            let lines = lines.in_column(table.header.as_ref().map(|_| table.name(value)));
            let Some(column) = labels.pop() else { return dense(vec![rows], values, vec![None], lines) };
            if may_repeat && first_repeated(&column).is_some() {
                let values = Some((table.name(value), values));
                return Ok(Content::Long(Long { positions: vec![column], values, lines }));
            }
            let names = distinct(column, &lines, rows, rows)
                .map_err(|error| error.in_column(column_name(table, label.unwrap_or_default())))?;
            dense(vec![rows], values, vec![Some(names)], lines)
        }
        Layout::Long { value, .. } => {
            let values = value.map(|value| (table.name(value), values));
            Ok(Content::Long(Long { positions: labels, values, lines }))
        }
    }
}

/// The labels of rows, none of which may stand twice.
fn distinct(
    column: Categories,
    lines: &Lines,
    entries: usize,
    rows: usize,
) -> Result<Vec<String>, FileError> {
    let Some((first, second)) = first_repeated(&column) else { return Ok(column.names) };
    let per_row = entries.checked_div(rows).unwrap_or(1).max(1);
    let line = |row: usize| lines.line(row * per_row).unwrap_or_default();
    Err(FileError::new(
        format!(
            "the label {}, which also stands in line {}",
            quote(column.get(second).unwrap_or_default().as_bytes()),
            line(first)
        ),
        "a label of its own for each row",
    )
    .at_line(line(second)))
}

/// The first row that repeats another, after the one that it repeats.
pub(super) fn first_repeated(column: &Categories) -> Option<(usize, usize)> {
    // Entries are numbered in order of first appearance, so that without repetition each row has its own number.
    let second =
        column.codes.iter().enumerate().position(|(row, &code)| code as usize != row && code != MISSING)?;
    let first = column.codes.iter().position(|&code| code == column.codes[second])?;
    Some((first, second))
}

/// The labels of the columns beside that of row labels, none of which may be empty or stand twice.
fn column_labels(header: &[String], row_labels: Option<usize>) -> Result<Vec<String>, FileError> {
    let mut column_of: HashMap<&str, usize> = HashMap::new();
    let mut labels = Vec::with_capacity(header.len());
    for (place, label) in header.iter().enumerate().filter(|(place, _)| Some(*place) != row_labels) {
        let column = place + 1;
        check_label(label).map_err(|error| error.at_line(1).in_column(column.to_string()))?;
        labels.push(label.clone());
        if let Some(other) = column_of.insert(label, column) {
            return Err(FileError::new(
                format!("the label {}, which column {other} has too", quote(label.as_bytes())),
                "a label of its own for each column",
            )
            .at_line(1)
            .in_column(column.to_string()));
        }
    }
    Ok(labels)
}
