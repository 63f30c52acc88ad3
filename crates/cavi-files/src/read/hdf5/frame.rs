//! Tables in a group: a list of row names, and a column each of numbers, text or categories.

use super::store::{Node, Store};
use crate::content::{Categories, MISSING};
use crate::error::{FileError, list, quote};
use crate::read::collector::Collector;
use crate::read::columns::{Column, Columns};

/// A table, its row names in the first column, which has no name.
pub(super) struct Frame {
    pub columns: Columns,
}

impl Frame {
    /// A table of these rows and columns.
    fn new(rows: Vec<String>, others: Vec<(String, Column)>) -> Frame {
        let length = rows.len();
        let mut texts = Collector::default();
        rows.iter().for_each(|row| texts.push(row));
        let (mut names, mut columns) = (vec![String::new()], vec![Column::Text(texts.finish())]);
        for (name, column) in others {
            names.push(name);
            columns.push(column);
        }
        Frame { columns: Columns { names, columns, rows: length } }
    }
}

/// The names of the rows of a table.
pub(super) fn index(store: &Store, path: &str) -> Result<Vec<String>, FileError> {
    if let Node::Dataset(_) = store.node(path)? {
        return Err(FileError::new(
            format!("{} as a table of records, as anndata wrote it before 0.7", quote(path.as_bytes())),
            "a group",
        )
        .with_help("`anndata.read_h5ad(FILE).write_h5ad(NEW)` writes it as it is written today"));
    }
    let name = store.text_attribute(path, "_index")?.unwrap_or_else(|| "_index".to_owned());
    texts(store, &format!("{path}/{name}"))
}

/// The names of the columns of a table, in its order.
pub(super) fn column_names(store: &Store, path: &str) -> Result<Vec<String>, FileError> {
    let ordered = store.texts_attribute(path, "column-order")?;
    if !ordered.is_empty() {
        return Ok(ordered);
    }
    let index = store.text_attribute(path, "_index")?.unwrap_or_else(|| "_index".to_owned());
    match store.node(path)? {
        Node::Group(group) => {
            let names = store.names(&group, path)?;
            Ok(names.into_iter().filter(|name| *name != index && !name.starts_with("__")).collect())
        }
        Node::Dataset(_) | Node::Nothing => Ok(Vec::new()),
    }
}

/// One column of a table with the names of its rows, or all of them.
pub(super) fn read(store: &Store, path: &str, only: Option<&str>) -> Result<Frame, FileError> {
    let rows = index(store, path)?;
    let mut names = column_names(store, path)?;
    if let Some(only) = only {
        if !names.iter().any(|name| name == only) {
            return Err(FileError::new(
                format!("no column {} in {}", quote(only.as_bytes()), quote(path.as_bytes())),
                format!("one of {}", list(&names)),
            ));
        }
        names.retain(|name| name == only);
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let own = column(store, &format!("{path}/{name}"))?;
        if length(&own).is_some_and(|length| length != rows.len()) {
            return Err(FileError::new(
                format!("the column {} of another length than the names of the rows", quote(name.as_bytes())),
                format!("{} entries", rows.len()),
            ));
        }
        columns.push((name, own));
    }
    Ok(Frame::new(rows, columns))
}

fn length(column: &Column) -> Option<usize> {
    match column {
        Column::Whole { values, .. } => Some(values.len()),
        Column::Numbers(values) => Some(values.len()),
        Column::Truths(values) => Some(values.len()),
        Column::Text(texts) => Some(texts.codes.len()),
        Column::Refused(_) => None,
    }
}

/// A list of texts, possibly with a mask of the missing ones, which are then empty.
fn texts(store: &Store, path: &str) -> Result<Vec<String>, FileError> {
    match store.node(path)? {
        Node::Group(_) => store.texts(&format!("{path}/values")),
        Node::Dataset(_) | Node::Nothing => store.texts(path),
    }
}

fn column(store: &Store, path: &str) -> Result<Column, FileError> {
    let in_group = |name: &str| format!("{path}/{name}");
    match store.node(path)? {
        Node::Group(_) if store.has(&in_group("codes"))? => {
            categories(store, path, &in_group("categories"), &in_group("codes")).map(Column::Text)
        }
        Node::Group(_) if store.has(&in_group("values"))? => masked(store, path),
        Node::Group(_) | Node::Nothing => Ok(Column::Refused("what is neither numbers nor text".to_owned())),
        Node::Dataset(_) if let Some(names) = old_categories(store, path)? => {
            categories(store, path, &names, path).map(Column::Text)
        }
        Node::Dataset(dataset) if store.is_whole(&dataset, path)? => {
            match store.shape(&dataset, path)?.len() {
                1 => Ok(Column::Whole { values: store.whole(path)?, missing: None }),
                _ => Ok(Column::Refused("several numbers a row".to_owned())),
            }
        }
        Node::Dataset(dataset) => match store.numbers(&dataset, path) {
            Ok((shape, _)) if shape.len() != 1 => Ok(Column::Refused("several numbers a row".to_owned())),
            Ok((_, values)) => Ok(numbers(values)),
            Err(_) => store.texts(path).map(text),
        },
    }
}

/// Whole numbers as such, so that they make labels.
fn numbers(values: Vec<f64>) -> Column {
    let whole = |value: &f64| value.fract() == 0.0 && value.abs() < 9e15;
    match values.iter().all(whole) {
        true => Column::Whole { values: values.iter().map(|value| *value as i64).collect(), missing: None },
        false => Column::Numbers(values),
    }
}

fn text(texts: Vec<String>) -> Column {
    let mut collector = Collector::default();
    texts.iter().for_each(|text| collector.push(text));
    Column::Text(collector.finish())
}

/// Where anndata before 0.8 kept the categories of a column: in `__categories` beside it, under its name. `None` where there are none.
fn old_categories(store: &Store, path: &str) -> Result<Option<String>, FileError> {
    let Some((frame, name)) = path.rsplit_once('/') else { return Ok(None) };
    let names = format!("{frame}/__categories/{name}");
    Ok(store.has(&names)?.then_some(names))
}

/// Categories and a code each, -1 where it is missing: of a column, where these names are and where the codes.
fn categories(store: &Store, path: &str, names: &str, codes: &str) -> Result<Categories, FileError> {
    let all = texts(store, names)?;
    // Only those that occur are kept, in the order in which they do.
    let mut collector = Collector::default();
    for code in store.whole(codes)? {
        match usize::try_from(code).ok().map(|code| all.get(code)) {
            Some(Some(name)) => collector.push(name),
            None => collector.push_missing(),
            Some(None) => {
                return Err(FileError::new(
                    format!("the code {code} in {}", quote(path.as_bytes())),
                    format!("less than {}, the number of categories", all.len()),
                ));
            }
        }
    }
    Ok(collector.finish())
}

/// Values with a mask of those that are missing.
fn masked(store: &Store, path: &str) -> Result<Column, FileError> {
    let values = column(store, &format!("{path}/values"))?;
    let mask = format!("{path}/mask");
    let (_, mask) = store.numbers(&*store.dataset(&mask)?, &mask)?;
    let is_missing = |row: usize| mask.get(row).is_some_and(|own| *own != 0.0);
    Ok(match values {
        Column::Whole { values, .. } => {
            let missing = (0..values.len()).map(is_missing).collect();
            Column::Whole { values, missing: Some(missing) }
        }
        Column::Numbers(mut values) => {
            values
                .iter_mut()
                .enumerate()
                .filter(|(row, _)| is_missing(*row))
                .for_each(|own| *own.1 = f64::NAN);
            Column::Numbers(values)
        }
        Column::Text(mut texts) => {
            texts
                .codes
                .iter_mut()
                .enumerate()
                .filter(|(row, _)| is_missing(*row))
                .for_each(|own| *own.1 = MISSING);
            Column::Text(texts)
        }
        own @ (Column::Truths(_) | Column::Refused(_)) => own,
    })
}
