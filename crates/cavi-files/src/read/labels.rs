//! Files of labels, one a line, and labels in a column of a table.

use std::collections::HashMap;

use super::records::Records;
use super::stream::Source;
use super::table;
use crate::error::{FileError, count, list, quote};

pub(crate) fn read(text: &str) -> Result<Vec<String>, FileError> {
    let mut labels = Vec::new();
    let mut line_of = HashMap::new();
    // Empty lines may end the file.
    for (place, label) in text.trim_end_matches(['\n', '\r']).lines().enumerate() {
        let line = place + 1;
        if label.is_empty() {
            return Err(FileError::new("an empty line", "a label").at_line(line));
        }
        if label.contains('\r') {
            return Err(FileError::new(
                format!("a carriage return within {}", quote(label.as_bytes())),
                "lines that end in a line feed",
            )
            .at_line(line));
        }
        if let Some(first) = line_of.insert(label, line) {
            return Err(FileError::new(
                format!("the label {}, which also stands in line {first}", quote(label.as_bytes())),
                "a label of its own for each line",
            )
            .at_line(line));
        }
        labels.push(label.to_owned());
    }
    Ok(labels)
}

/// A label for each row, in the order of the rows, each as often as it stands; an empty line is a row without one.
pub(crate) fn of_rows(text: &str) -> Result<Vec<String>, FileError> {
    // Empty lines may end the file.
    let lines = text.trim_end_matches(['\n', '\r']).lines().enumerate();
    let of_row = |(place, label): (usize, &str)| match label.contains('\r') {
        true => Err(FileError::new(
            format!("a carriage return within {}", quote(label.as_bytes())),
            "lines that end in a line feed",
        )
        .at_line(place + 1)),
        false => Ok(label.trim().to_owned()),
    };
    lines.map(of_row).collect()
}

/// The labels of a column: by its name in the first line, or by its number from 1, where there is no header.
pub(crate) fn column(text: &str, separator: u8, column: &str) -> Result<Vec<String>, FileError> {
    let text = Source::Memory(text);
    let separator = table::separator(text, separator)?;
    let mut records = Records::new(text, separator)?;
    let Some(first) = records.next()? else {
        return Err(FileError::new("an empty file", "labels"));
    };
    let mut names: Vec<String> = first.fields().map(|field| field.text().into_owned()).collect();
    if table::lacks_a_name(text, separator)? {
        names.insert(0, String::new());
    }
    let place = match column.parse::<usize>() {
        Ok(number) if (1..=names.len()).contains(&number) => {
            records = Records::new(text, separator)?;
            number - 1
        }
        Ok(_) => {
            return Err(FileError::new(count(names.len(), "column"), format!("a column {column}")).at_line(1));
        }
        Err(_) => names.iter().position(|name| name.trim() == column).ok_or_else(|| {
            FileError::new(
                format!("the columns {}", list(&names)),
                format!("a column {}, or its number from 1", quote(column.as_bytes())),
            )
            .at_line(1)
        })?,
    };
    let (mut labels, mut line_of) = (Vec::new(), HashMap::new());
    while let Some(record) = records.next()? {
        if record.is_blank() {
            continue;
        }
        let line = record.line;
        let label = record.get(place).map(|field| field.text().trim().to_owned()).unwrap_or_default();
        table::check_label(&label).map_err(|error| error.at_line(line))?;
        if let Some(first) = line_of.insert(label.clone(), line) {
            return Err(FileError::new(
                format!("the label {}, which also stands in line {first}", quote(label.as_bytes())),
                "a label of its own for each line",
            )
            .at_line(line));
        }
        labels.push(label);
    }
    Ok(labels)
}
