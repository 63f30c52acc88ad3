//! A column of a table that describes the positions of an axis: joined by labels or by order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cavi_files::{
    Categories, Content, Dimension, Lines, ReadOptions, Values, Wanted, format_number, split_column,
};

use crate::bind::DataError;
use crate::error::Error;

/// A column as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The labels of the rows, where the table has them.
    pub labels: Option<Vec<String>>,
    /// Of a table without labels the entries of its first column, if these are whole numbers or texts, which may be labels all the same.
    pub ids: Option<Vec<String>>,
    /// The values as text; nothing where one is missing.
    pub values: Vec<String>,
    /// Where the rows stand in a file.
    pub lines: Option<Lines>,
    /// The table, whose other columns may hold labels.
    pub file: Option<PathBuf>,
}

/// So many columns of a table are looked at for labels.
const COLUMNS: usize = 100;

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
        match cavi_files::read(file, &options)? {
            Content::Dense(dense) => Ok(Column {
                labels: dense.labels.into_iter().next().flatten(),
                ids: dense.passed_over.first().map(|own| entries(&own.entries)),
                values: texts(dense.values),
                lines: dense.lines,
                file: Some(file.to_owned()),
            }),
            Content::Long(long) => Ok(Column {
                labels: long.positions.first().map(entries),
                ids: None,
                values: long.values.map_or_else(Vec::new, |(_, values)| texts(values)),
                lines: Some(long.lines),
                file: Some(file.to_owned()),
            }),
            Content::Coordinates(_) | Content::Documents(_) => {
                let message = format!("`{what}`: `{}` is no table", file.display());
                Err(DataError::new(message).possible("a table with a line for each row").into())
            }
        }
    }

    /// Reads `FILE:COLUMN`, or `FILE` with one label a line, which is that of the row at this place.
    ///
    /// # Errors
    /// A file that cannot be read, or without the column.
    pub fn read_named(text: &str) -> Result<Column, Error> {
        match split_column(text) {
            (file, Some(column)) => Column::read(text, &file, &column),
            (file, None) => {
                Ok(Column { values: cavi_files::read_labels_of_rows(&file)?, ..Column::default() })
            }
        }
    }

    /// The value at each of these labels; `None` of a table of other things.
    ///
    /// They are joined by label where a table has labels, or another column most of whose entries are labels of the axis; else by order where
    /// the numbers agree. Labels 0, 1, ... in order may be those of an axis without labels: there the labels of a table count only if most of
    /// them are among these. A label that stands twice with one value is one.
    ///
    /// # Errors
    /// In words, a label that stands twice with two values, rows that are numbered from 1 in another order, or labels that are those of the axis but for
    /// zeros in front.
    pub fn along(&self, labels: &[String]) -> Result<Option<Vec<&str>>, String> {
        let is_counted = labels.iter().enumerate().all(|(place, label)| *label == place.to_string());
        let of_axis: BTreeSet<&str> = labels.iter().map(String::as_str).collect();
        let known = |key: &[String]| key.iter().filter(|own| of_axis.contains(own.as_str())).count();
        let is_join = |key: &[String]| {
            let present = key.iter().filter(|own| !own.is_empty()).count();
            let distinct = key.iter().filter(|own| !own.is_empty()).collect::<BTreeSet<_>>().len();
            // Numbers of which many are alike may be anything that is counted.
            let is_number = key.iter().all(|own| own.is_empty() || own.parse::<f64>().is_ok());
            2 * known(key) > present && (!is_number || present - distinct <= (present / 10).max(1))
        };
        let own = self.labels.as_deref().filter(|own| if is_counted { is_join(own) } else { known(own) > 0 });
        let other = || self.ids.as_deref().filter(|own| is_join(own));
        let elsewhere = match own.or_else(other) {
            None if !is_counted => self.column_of(&is_join),
            _ => None,
        };
        let Some(key) = own.or_else(other).or(elsewhere.as_deref()) else {
            let plain = |own: &str| own.trim_start_matches('0').to_owned();
            let of_axis: BTreeMap<String, &String> =
                labels.iter().map(|label| (plain(label), label)).collect();
            let keys = [&self.labels, &self.ids].into_iter().flatten();
            for key in keys.filter(|_| !is_counted) {
                let both = |own: &&String| own.len() > 1 && of_axis.contains_key(&plain(own));
                if let Some(first) = key.iter().find(both)
                    && 2 * key.iter().filter(both).count() > key.len()
                {
                    return Err(format!(
                        "its label `{first}` is `{}` along the axis: write both with the same zeros in front",
                        of_axis[&plain(first)]
                    ));
                }
            }
            let is_by_order = self.labels.is_none() || is_counted;
            return Ok((is_by_order && labels.len() == self.values.len())
                .then(|| self.values.iter().map(String::as_str).collect()));
        };
        if is_counted && is_numbered_from_one(key) {
            return match labels.len() == key.len()
                && key.iter().is_sorted_by_key(|own| own.parse::<usize>().ok())
            {
                true => Ok(Some(self.values.iter().map(String::as_str).collect())),
                false => {
                    Err("its rows are numbered from 1, and positions of the axis from 0: number both alike, \
                              or leave the column of numbers out where the order of the rows is right"
                        .to_owned())
                }
            };
        }
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (row, label) in key.iter().enumerate().filter(|(_, own)| of_axis.contains(own.as_str())) {
            let first = *places.entry(label).or_insert(row);
            let (one, other) = (&self.values[first], &self.values[row]);
            if one != other {
                let (first, second) = (self.place(first), self.place(row));
                let shown =
                    |own: &str| if own.is_empty() { "missing".to_owned() } else { format!("`{own}`") };
                return Err(format!(
                    "`{label}` is {} in {first} and {} in {second}",
                    shown(one),
                    shown(other)
                ));
            }
        }
        let value = |label: &String| places.get(label.as_str()).map_or("", |row| self.values[*row].as_str());
        Ok(Some(labels.iter().map(value).collect()))
    }

    /// The first column of the table by which it can be joined.
    fn column_of(&self, is_join: &dyn Fn(&[String]) -> bool) -> Option<Vec<String>> {
        let file = self.file.as_deref()?;
        let columns = cavi_files::head(file, None).ok()?.columns.into_iter().take(COLUMNS);
        let mut keys = columns.filter_map(|own| Column::read("", file, &own.name).ok()).map(|own| own.values);
        keys.find(|key| key.len() == self.values.len() && is_join(key))
    }

    /// Where a row stands.
    fn place(&self, row: usize) -> String {
        match self.lines.as_ref().and_then(|lines| lines.line(row)) {
            Some(line) => format!("line {line}"),
            None => format!("row {}", row + 1),
        }
    }
}

/// Whether these are the numbers from 1 to that of the rows, in any order.
fn is_numbered_from_one(key: &[String]) -> bool {
    let numbers: BTreeSet<usize> = key.iter().filter_map(|own| own.parse().ok()).collect();
    numbers.len() == key.len() && numbers.first() == Some(&1) && numbers.last() == Some(&key.len())
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

    fn check(column: &Column, labels: &[&str], expected: &[&str]) {
        assert_eq!(column.along(&texts(labels)), Ok(Some(expected.to_vec())));
    }

    #[test]
    fn labels_that_count_are_joined_where_the_table_has_the_same() {
        let column = |labels: &[&str]| Column {
            labels: Some(texts(labels)),
            values: texts(&["third", "first", "second"]),
            ..Column::default()
        };
        let counted = ["0", "1", "2"];
        check(&column(&["2", "0", "1"]), &counted, &["first", "second", "third"]);
        // One that is none of them does not make the rest positions.
        check(&column(&["2", "0", "total"]), &counted, &["first", "", "third"]);
        // Of other labels the order counts: those of the axis are no more than its positions.
        check(&column(&["c", "a", "b"]), &counted, &["third", "first", "second"]);
        check(&column(&["c", "a", "b"]), &["a", "b", "c"], &["first", "second", "third"]);
        // Rows that are numbered from 1 are in this order, or it is not known in which.
        check(&column(&["1", "2", "3"]), &counted, &["third", "first", "second"]);
        assert!(column(&["3", "1", "2"]).along(&texts(&counted)).is_err_and(|own| own.contains("from 1")));
        // Zeros in front that one of the two lacks are told.
        let said = column(&["10", "11", "12"]).along(&texts(&["010", "011", "012"])).unwrap_err();
        assert!(said.contains("`10` is `010`"), "{said}");
    }

    #[test]
    fn a_label_that_stands_twice_is_one_where_its_values_are() {
        let column = |ids: &[&str], values: &[&str]| Column {
            ids: Some(texts(ids)),
            values: texts(values),
            ..Column::default()
        };
        let axis = ["a", "b", "c", "d"];
        check(&column(&["d", "c", "b", "b"], &["4", "3", "2", "2"]), &axis, &["", "2", "3", "4"]);
        let two = column(&["d", "c", "b", "b"], &["4", "3", "2", "1"]);
        assert_eq!(two.along(&texts(&axis)), Err("`b` is `2` in row 3 and `1` in row 4".to_owned()));
        // Groups, and numbers that are counted, are no labels.
        check(&column(&["x", "x", "y", "y"], &["4", "3", "2", "1"]), &axis, &["4", "3", "2", "1"]);
        let counted = ["0", "1", "2", "3"];
        check(&column(&["2", "2", "1", "1"], &["4", "3", "2", "1"]), &counted, &["4", "3", "2", "1"]);
        check(&column(&["7", "9", "8", "5"], &["4", "3", "2", "1"]), &counted, &["4", "3", "2", "1"]);
    }
}
