//! A column of a table that describes the positions of an axis: joined by labels or by order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cavi_files::{Categories, Content, Dimension, ReadOptions, Values, Wanted, format_number, split_column};

use crate::bind::DataError;
use crate::error::Error;

/// A column as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The labels of the rows, where the table has them.
    pub labels: Option<Vec<String>>,
    /// Of a table without labels the entries of its first column, all different: whole numbers that may be labels.
    pub ids: Option<Vec<String>>,
    /// The values as text; nothing where one is missing.
    pub values: Vec<String>,
}

impl Column {
    /// Reads a column of a table, by its name or by its number from 1. `what` is the option or line that asks for it, for messages.
    ///
    /// # Errors
    /// A file that cannot be read, or without the column.
    pub fn read(what: &str, file: &Path, column: &str) -> Result<Column, Error> {
        let (labels, values) = Column::of_rows(what, file, column, "row")?;
        let mut ids = None;
        if labels.is_none()
            && let Ok(head) = cavi_files::head(file, None)
            && let Some(first) = head.columns.first().filter(|own| own.name != column)
        {
            let (first, _) = Column::of_rows(what, file, column, &first.name)?;
            let is_label = |own: &String| own.parse::<i64>().is_ok();
            let differ = |own: &Vec<String>| own.iter().collect::<BTreeSet<_>>().len() == own.len();
            ids = first.filter(|own| own.iter().all(is_label) && differ(own));
        }
        Ok(Column { labels, ids, values })
    }

    /// The labels and the values of a table whose rows are positions of an axis of this name.
    fn of_rows(
        what: &str,
        file: &Path,
        column: &str,
        axis: &str,
    ) -> Result<(Option<Vec<String>>, Vec<String>), Error> {
        let dimensions = [Dimension { axis, letter: None }];
        let options = ReadOptions {
            dimensions: &dimensions,
            wanted: Wanted::Text,
            column: Some(column),
            ..ReadOptions::default()
        };
        match cavi_files::read(file, &options)? {
            Content::Dense(dense) => Ok((dense.labels.into_iter().next().flatten(), texts(dense.values))),
            Content::Long(long) => {
                let labels = long.positions.first().map(entries);
                Ok((labels, long.values.map_or_else(Vec::new, |(_, values)| texts(values))))
            }
            Content::Coordinates(_) | Content::Documents(_) => {
                let message = format!("`{what}`: `{}` is no table", file.display());
                Err(DataError::new(message).possible("a table with a line for each row").into())
            }
        }
    }

    /// Reads `FILE:COLUMN`, or `FILE` with one label a line.
    ///
    /// # Errors
    /// A file that cannot be read, or without the column.
    pub fn read_named(text: &str) -> Result<Column, Error> {
        match split_column(text) {
            (file, Some(column)) => Column::read(text, &file, &column),
            (file, None) => Ok(Column { labels: None, ids: None, values: cavi_files::read_labels(&file)? }),
        }
    }

    /// The value at each of these labels: by label where the table has labels and the axis too, or whole numbers most of which are labels of the
    /// axis; else by order where the numbers agree. Labels 0, 1, ... in order are those of an axis without labels, unless the table has the very
    /// same ones.
    pub fn along(&self, labels: &[String]) -> Option<Vec<&str>> {
        let is_counted = labels.iter().enumerate().all(|(place, label)| *label == place.to_string());
        let ids = || {
            let ids = self.ids.as_ref()?;
            let of_axis: BTreeSet<&String> = labels.iter().collect();
            let known = ids.iter().filter(|own| of_axis.contains(own)).count();
            (2 * known > ids.len()).then_some(ids)
        };
        let is_same = |own: &&Vec<String>| {
            let (own, of_axis): (BTreeSet<&String>, BTreeSet<&String>) =
                (own.iter().collect(), labels.iter().collect());
            own == of_axis
        };
        let Some(own) = self.labels.as_ref().or_else(ids).filter(|own| !is_counted || is_same(own)) else {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|own| (*own).to_owned()).collect()
    }

    #[test]
    fn labels_that_count_are_joined_where_the_table_has_the_same() {
        let column = |labels: &[&str]| Column {
            labels: Some(texts(labels)),
            ids: None,
            values: texts(&["third", "first", "second"]),
        };
        let counted = texts(&["0", "1", "2"]);
        assert_eq!(column(&["2", "0", "1"]).along(&counted), Some(vec!["first", "second", "third"]));
        // Of other labels the order counts: those of the axis are no more than its positions.
        assert_eq!(column(&["c", "a", "b"]).along(&counted), Some(vec!["third", "first", "second"]));
        let named = texts(&["a", "b", "c"]);
        assert_eq!(column(&["c", "a", "b"]).along(&named), Some(vec!["first", "second", "third"]));
    }
}
