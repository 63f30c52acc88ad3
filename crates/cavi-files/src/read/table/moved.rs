//! Long tables of columns in memory, which are moved and not read row by row.

use std::collections::HashMap;

use super::{Body, check_label};
use crate::content::{Categories, Lines, MISSING, Values};
use crate::read::Wanted;
use crate::read::columns::{Column, Columns};

/// The entries of a long table, the same as row by row; the columns are gone then. `None` where a row may be wrong, a column is needed twice,
/// or values are text.
pub(super) fn body(
    columns: &mut Columns,
    labels: &[usize],
    values: &[usize],
    wanted: Wanted,
) -> Option<Body> {
    let mut needed = [labels, values].concat();
    needed.sort_unstable();
    let is_twice = needed.windows(2).any(|pair| pair[0] == pair[1]);
    let are_labels = labels.iter().all(|column| is_labels(&columns.columns[*column]));
    let are_values = values
        .iter()
        .all(|column| matches!(columns.columns[*column], Column::Whole { .. } | Column::Numbers(_)));
    if is_twice || wanted == Wanted::Text || values.len() > 1 || !are_labels || !are_values {
        return None;
    }
    let rows = std::mem::take(&mut columns.rows);
    // One column after another is freed, and those that nobody reads first.
    let mut all: Vec<Option<Column>> = std::mem::take(&mut columns.columns).into_iter().map(Some).collect();
    columns.names.clear();
    all.iter_mut().enumerate().filter(|own| !needed.contains(&own.0)).for_each(|own| *own.1 = None);
    let values: Vec<f64> =
        values.first().and_then(|column| all[*column].take()).map(numbers).unwrap_or_default();
    let labels = labels.iter().filter_map(|column| all[*column].take()).map(categories).collect();
    // The names of the columns stand where a text has its first line.
    let mut lines = Lines::new(1);
    (0..rows).for_each(|row| lines.push(row + 2));
    Some(Body { labels, values: Values::Numbers(values.into()), lines, rows, passed_over: Vec::new() })
}

/// Whether each entry of a column is a label as it stands.
fn is_labels(column: &Column) -> bool {
    match column {
        Column::Text(text) => {
            text.names.iter().all(|name| check_label(name).is_ok() && name.trim() == name)
                && !text.codes.contains(&MISSING)
        }
        Column::Whole { missing, .. } => missing.is_none(),
        Column::Numbers(_) | Column::Truths(_) | Column::Refused(_) => false,
    }
}

/// The entries of a column of numbers; NaN where they are missing.
fn numbers(column: Column) -> Vec<f64> {
    match column {
        Column::Numbers(values) => values,
        Column::Whole { values, missing } => {
            let mut values: Vec<f64> = values.into_iter().map(|value| value as f64).collect();
            for (value, _) in values.iter_mut().zip(missing.unwrap_or_default()).filter(|own| own.1) {
                *value = f64::NAN;
            }
            values
        }
        Column::Truths(_) | Column::Text(_) | Column::Refused(_) => Vec::new(),
    }
}

/// The entries of a column of labels.
fn categories(column: Column) -> Categories {
    match column {
        Column::Text(text) => text,
        Column::Whole { values, .. } => {
            let mut code_of: HashMap<i64, u32> = HashMap::new();
            let mut names: Vec<String> = Vec::new();
            let code = |value: i64| {
                *code_of.entry(value).or_insert_with(|| {
                    names.push(value.to_string());
                    // As many as there are rows, which memory holds.
                    (names.len() - 1) as u32
                })
            };
            let codes = values.into_iter().map(code).collect();
            Categories { names, codes }
        }
        Column::Numbers(_) | Column::Truths(_) | Column::Refused(_) => Categories::default(),
    }
}
