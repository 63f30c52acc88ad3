//! A column of a table that describes the positions of an axis: joined by labels or by order.

use std::collections::BTreeMap;
use std::path::Path;

use cavi_files::{Categories, Content, Dimension, ReadOptions, Values, Wanted, format_number, split_column};

use crate::bind::DataError;
use crate::error::Error;

/// A column as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The labels of the rows, where the table has them.
    pub labels: Option<Vec<String>>,
    /// The values as text; nothing where one is missing.
    pub values: Vec<String>,
}

impl Column {
    /// Reads a column of a table, by its name or by its number from 1. `what` is the option or line that asks for it, for messages.
    ///
    /// # Errors
    /// A file that cannot be read, or without the column.
    pub fn read(what: &str, file: &Path, column: &str) -> Result<Column, Error> {
        let dimensions = [Dimension { axis: "row", letter: None }];
        let options = ReadOptions {
            dimensions: &dimensions,
            wanted: Wanted::Text,
            column: Some(column),
            ..ReadOptions::default()
        };
        let (labels, values) = match cavi_files::read(file, &options)? {
            Content::Dense(dense) => (dense.labels.into_iter().next().flatten(), texts(dense.values)),
            Content::Long(long) => {
                let labels = long.positions.first().map(entries);
                (labels, long.values.map_or_else(Vec::new, |(_, values)| texts(values)))
            }
            Content::Coordinates(_) | Content::Documents(_) => {
                let message = format!("`{what}`: `{}` is no table", file.display());
                return Err(DataError::new(message).possible("a table with a line for each row").into());
            }
        };
        Ok(Column { labels, values })
    }

    /// Reads `FILE:COLUMN`, or `FILE` with one label a line.
    ///
    /// # Errors
    /// A file that cannot be read, or without the column.
    pub fn read_named(text: &str) -> Result<Column, Error> {
        match split_column(text) {
            (file, Some(column)) => Column::read(text, &file, &column),
            (file, None) => Ok(Column { labels: None, values: cavi_files::read_labels(&file)? }),
        }
    }

    /// The value at each of these labels: by label where the table has labels and the axis too, else by order where the numbers agree.
    pub fn along(&self, labels: &[String]) -> Option<Vec<&str>> {
        let is_counted = labels.iter().enumerate().all(|(place, label)| *label == place.to_string());
        let Some(own) = self.labels.as_ref().filter(|_| !is_counted) else {
            return (labels.len() == self.values.len())
                .then(|| self.values.iter().map(String::as_str).collect());
        };
        let places: BTreeMap<&str, usize> =
            own.iter().enumerate().map(|(place, label)| (label.as_str(), place)).collect();
        let found: Vec<Option<usize>> =
            labels.iter().map(|label| places.get(label.as_str()).copied()).collect();
        // A table of other things has none of the labels.
        let value = |place: &Option<usize>| place.map_or("", |place| self.values[place].as_str());
        found.iter().any(Option::is_some).then(|| found.iter().map(value).collect())
    }
}

fn entries(column: &Categories) -> Vec<String> {
    (0..column.codes.len()).map(|row| column.get(row).unwrap_or_default().to_owned()).collect()
}

fn texts(values: Values) -> Vec<String> {
    match values {
        Values::Text(column) => entries(&column),
        Values::Numbers(numbers) => numbers.into_iter().map(format_number).collect(),
    }
}
