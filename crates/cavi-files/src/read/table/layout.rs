//! Which columns of a table are what: rows by columns, a column for each dimension, or a vector.

use super::unreadable::truth;
use super::{Table, can_be_labels};
use crate::error::{FileError, count, list, quote};
use crate::read::records::Field;
use crate::read::{ColumnOf, Dimension, ReadOptions, Wanted, ids};

/// Which columns of a table are what.
#[derive(Debug)]
pub(super) enum Layout {
    /// Rows by columns, and the column that names the rows.
    Matrix { row_labels: Option<usize> },
    /// One column is an array of one dimension, and possibly another one its labels. Where the header or the caller
    /// names the labels as the axis, the table is as well a long one, whose entries may repeat.
    Vector { labels: Option<usize>, value: usize, may_repeat: bool },
    /// One line is an array of one dimension.
    Row,
    /// A column for each dimension, and one for the value unless only positions are wanted.
    Long { positions: Vec<usize>, value: Option<usize> },
}

/// Two parts of `--columns` of which one alone can hold: two columns for one role, or one column for two roles.
fn contradicting(one: &ColumnOf<'_>, other: &ColumnOf<'_>) -> FileError {
    let written = |own: &ColumnOf<'_>| format!("`{}:{}`", own.role, own.column);
    FileError::new(
        format!("{} and {} in `--columns`", written(one), written(other)),
        "one column for each axis and one for the value, all different".to_owned(),
    )
}

/// The layout of a table.
pub(super) fn layout(table: &Table<'_>, options: &ReadOptions<'_>) -> Result<Layout, FileError> {
    let dimensions = options.dimensions;
    let mut positions = dimensions
        .iter()
        .map(|dimension| named_column(table, dimension, dimensions))
        .collect::<Result<Vec<_>, _>>()?;
    let mut value = options.column.map(|name| table.require(name)).transpose()?;
    let mut maps_positions = false;
    // Each role has one column, and each column one role.
    let mut given: Vec<(Option<usize>, usize, &ColumnOf<'_>)> = Vec::new();
    for entry in options.columns {
        let role = dimensions.iter().position(|dimension| match dimension.letter {
            Some(letter) => {
                letter == entry.role || (entry.role == dimension.axis && is_unique(dimension, dimensions))
            }
            None => dimension.axis == entry.role,
        });
        // What is said of the table of the data holds for a list of entries as far as this has the columns: values it need not have, and its
        // header may name the axes themselves.
        let may_be_left_out = options.wanted.may_lack_values()
            && match role {
                Some(dimension) => positions[dimension].is_some(),
                None => entry.role == "value",
            };
        let column = match table.find(entry.column)? {
            None if may_be_left_out => continue,
            _ => table.require(entry.column)?,
        };
        let alike = |own: &&(Option<usize>, usize, &ColumnOf<'_>)| {
            let same_role = own.0 == role && (role.is_some() || own.2.role == entry.role);
            same_role != (own.1 == column)
        };
        if let Some((_, _, before)) = given.iter().find(alike) {
            return Err(contradicting(before, entry));
        }
        given.push((role, column, entry));
        match role {
            // `FILE:COLUMN` takes precedence over `--columns`, because it is more specific.
            None if entry.role == "value" => value = value.or(Some(column)),
            Some(dimension) => {
                positions[dimension] = Some(column);
                maps_positions = true;
            }
            None => {
                return Err(FileError::new(
                    format!("{} among the names of `--columns`", quote(entry.role.as_bytes())),
                    format!("{} or `value`", list(&header_names(dimensions))),
                ));
            }
        }
    }
    if let [label] = positions[..] {
        return vector(table, options, label, value, maps_positions);
    }
    if !dimensions.is_empty() {
        // That the table of the data is rows by columns says nothing of a list of entries, whose header names the axes and no more than a value.
        let lists = options.wanted.may_lack_values()
            && table.width <= dimensions.len() + 1
            && positions.iter().all(Option::is_some);
        if options.is_wide && !lists {
            return wide(table, options, value.is_some() || maps_positions);
        }
        if let Some(positions) = positions.iter().copied().collect::<Option<Vec<usize>>>() {
            let value = long_value(table, options, &positions, value)?;
            return Ok(Layout::Long { positions, value });
        }
        let must_be_long = maps_positions || value.is_some() || dimensions.len() > 2;
        if must_be_long
            || options.wanted.may_lack_values()
                && table.header.is_some()
                && positions.iter().any(Option::is_some)
        {
            return Err(missing_columns(table, dimensions, &positions));
        }
        refuse_nearly_long(table, dimensions)?;
        if let Some(layout) = long_by_ids(table, options, &positions)? {
            return Ok(layout);
        }
        return matrix(table, dimensions);
    }
    vector(table, options, None, value, false)
}

/// Refuses a table whose header names every axis but for the case of letters: it was meant to be long, and would be read as
/// rows by columns.
fn refuse_nearly_long(table: &Table<'_>, dimensions: &[Dimension<'_>]) -> Result<(), FileError> {
    let names = header_names(dimensions);
    let is_named = |name: &&str| {
        (0..table.width).any(|column| table.name(column).trim().to_lowercase() == name.to_lowercase())
    };
    if table.header.is_none() || table.width <= names.len() || !names.iter().all(is_named) {
        return Ok(());
    }
    let found = format!("the columns {}", list(&table.names(0..table.width)));
    let expected = format!("a long table, whose header names the axes as the program does: {}", list(&names));
    Err(FileError::new(found, expected)
        .at_line(1)
        .with_help("write them so, or `--columns NAME=axis:column,...` says which columns are which axes"))
}

/// A table that is rows by columns since the caller says so.
fn wide(table: &Table<'_>, options: &ReadOptions<'_>, names_columns: bool) -> Result<Layout, FileError> {
    let dimensions = options.dimensions;
    if names_columns || dimensions.len() != 2 {
        return Err(FileError::new(
            "`wide` for a table of named columns, or of another number of dimensions than two",
            "`wide` alone, for an array of two dimensions",
        ));
    }
    if options.is_named && table.header.is_some() && table.width > 1 && can_be_labels(table, 0)? {
        return Ok(Layout::Matrix { row_labels: Some(0) });
    }
    matrix(table, dimensions)
}

/// Rows by columns. A column that is named as the axis of the rows or as its id names them wherever it stands, for it is no column of data.
///
/// # Errors
/// Such a column that cannot name the rows, since it has an entry twice, or since another column names them.
fn matrix(table: &Table<'_>, dimensions: &[Dimension<'_>]) -> Result<Layout, FileError> {
    let axis = match dimensions.first() {
        Some(first) if is_unique(first, dimensions) && table.header.is_some() => table.find(first.axis)?,
        _ => None,
    };
    let named = match axis {
        Some(column) => Some(column),
        None => table.identifying_column(dimensions)?,
    };
    let Some(column) = named.filter(|column| *column > 0) else {
        return Ok(Layout::Matrix { row_labels: table.has_row_labels(dimensions)?.then_some(0) });
    };
    let name = quote(table.name(column).as_bytes());
    if table.first_name_marks_labels(dimensions) {
        let error = FileError::new(
            format!("the column {name}, and a first column that names the rows too"),
            "one column of names of rows",
        );
        return Err(error.at_line(1).with_help("leave one of the two out"));
    }
    if !can_be_labels(table, column)? {
        let error = FileError::new(
            format!("the column {name}, of which an entry is empty or stands twice"),
            "a name for each row, since the column is named as the axis of the rows",
        );
        return Err(error
            .at_line(1)
            .with_help("leave the column out, or give it another name if it holds data"));
    }
    Ok(Layout::Matrix { row_labels: Some(column) })
}

/// The layout of a table in whose header as many columns are ids as there are dimensions: a long one. `None` if there are fewer.
///
/// It is read where the ids say which axis each identifies, and one column remains for the value.
///
/// # Errors
/// A table of ids that do not say so, with the line to type for each way in which it may be read.
fn long_by_ids(
    table: &Table<'_>,
    options: &ReadOptions<'_>,
    named: &[Option<usize>],
) -> Result<Option<Layout>, FileError> {
    let dimensions = options.dimensions;
    if table.header.is_none() {
        return Ok(None);
    }
    let identified = |column: usize| ids::identified(table.name(column).trim(), table.width);
    let mut columns: Vec<usize> = (0..table.width)
        .filter(|column| named.contains(&Some(*column)) || identified(*column).is_some())
        .collect();
    if columns.len() < dimensions.len() {
        return Ok(None);
    }
    let whole = whole_columns(table)?;
    columns.retain(|column| named.contains(&Some(*column)) || whole[*column]);
    if columns.len() < dimensions.len() {
        return Ok(None);
    }
    let mut positions = named.to_vec();
    for place in 0..dimensions.len() {
        let taken = |column: &usize| positions.contains(&Some(*column));
        let name = header_names(dimensions)[place];
        let mut same = columns
            .iter()
            .copied()
            .filter(|column| !taken(column))
            .filter(|column| identified(*column).is_some_and(|own| ids::is_same(name, &own)));
        if positions[place].is_none()
            && let (Some(column), None) = (same.next(), same.next())
        {
            positions[place] = Some(column);
        }
    }
    let told: Option<Vec<usize>> = positions.iter().copied().collect();
    let is_rest = |column: &usize| !columns.contains(column) && !is_row_index(&table.name(*column));
    let rest: Vec<usize> = (0..table.width).filter(is_rest).collect();
    if let Some(positions) = told.filter(|_| columns.len() == dimensions.len()) {
        match (options.wanted, rest.as_slice()) {
            (Wanted::Positions, _) => return Ok(Some(Layout::Long { positions, value: None })),
            (Wanted::Optional, _) => {
                let value = numeric_value(table, options, &positions)?;
                return Ok(Some(Layout::Long { positions, value }));
            }
            (_, [value]) => return Ok(Some(Layout::Long { positions, value: Some(*value) })),
            (Wanted::Numbers | Wanted::Text, _) => {}
        }
    }
    let found = format!(
        "the columns {}, of which {} are ids",
        list(&table.names(0..table.width)),
        list(&table.names(columns))
    );
    let wide = if dimensions.len() == 2 { ", or `--columns NAME=wide` if it is rows by columns" } else { "" };
    let line = columns_line(table, options, &positions);
    Err(FileError::new(found, "a header that names the axes, or which columns are which")
        .at_line(1)
        .with_help(format!("`--columns NAME={line}` if each line is one entry{wide}")))
}

/// For each column whether all of its entries are whole numbers, 0 or greater.
fn whole_columns(table: &Table<'_>) -> Result<Vec<bool>, FileError> {
    let mut whole = vec![true; table.width];
    let mut records = table.records()?;
    while let Some(record) = records.next()? {
        if record.is_blank() {
            continue;
        }
        for (whole, field) in whole.iter_mut().zip(record.fields()) {
            *whole = *whole && field.cell().is_some_and(|value| value >= 0.0 && value.fract() == 0.0);
        }
    }
    Ok(whole)
}

/// Tables with more columns are rows by columns, whatever stands in them.
const FEW: usize = 8;

/// What to do about rows by columns of few columns in which columns behind the first are text: the table is long under other names, or
/// has a column that is no part of the array. `None` where none is.
pub(super) fn text_among_numbers(table: &Table<'_>, dimensions: &[Dimension<'_>]) -> Option<String> {
    if table.width > FEW {
        return None;
    }
    let mut records = table.records().ok()?;
    // What the first line holds, and the second does too.
    let mut is_text = vec![true; table.width];
    for _ in 0..2 {
        match records.next() {
            Ok(Some(record)) if record.len() == table.width => {
                let fields = is_text.iter_mut().zip(record.fields());
                fields.for_each(|(own, field)| *own &= !field.is_number_or_missing());
            }
            _ => break,
        }
    }
    let texts: Vec<usize> = (0..table.width).filter(|column| is_text[*column]).collect();
    if let Some(name) =
        texts.iter().find(|column| is_prose_column(table, **column)).map(|own| table.name(*own))
    {
        return Some(format!(
            "{} holds texts: `FILE:{name}` reads one document from each line",
            quote(name.as_bytes())
        ));
    }
    if texts.len() >= dimensions.len() && table.width > dimensions.len() {
        let names = header_names(dimensions);
        let mut parts: Vec<String> = names
            .iter()
            .zip(&texts)
            .map(|(name, column)| format!("{name}:{}", table.name(*column)))
            .collect();
        let value =
            (0..table.width).find(|column| !texts.contains(column) && !is_row_index(&table.name(*column)));
        parts.push(format!("value:{}", value.map_or_else(|| "COLUMN".to_owned(), |value| table.name(value))));
        return Some(format!(
            "`--columns NAME={}` if each line is one entry; else the header of a long table names every axis: {}",
            parts.join(","),
            list(&names)
        ));
    }
    let text = texts.into_iter().find(|column| *column > 0)?;
    let (name, axes) = (quote(table.name(text).as_bytes()), list(&header_names(dimensions)));
    Some(format!(
        "rows by columns are numbers, behind one first column of row labels: leave {name} out, or make it the first column with an \
         empty name; the header of a long table names every axis: {axes}"
    ))
}

/// Whether an entry is a text of several words, which no label is.
pub(crate) fn is_prose(field: &Field<'_>) -> bool {
    const WORDS: usize = 6;
    !field.is_number_or_missing() && field.text().split_whitespace().count() >= WORDS
}

/// Whether the first entries of a column are texts of several words.
fn is_prose_column(table: &Table<'_>, column: usize) -> bool {
    let Ok(mut records) = table.records() else { return false };
    (0..2).all(|_| match records.next() {
        Ok(Some(record)) => record.get(column).as_ref().is_some_and(is_prose),
        _ => false,
    })
}

/// What `--columns` may say of a table: the columns of these dimensions, the first ids that remain for the others, and for the
/// value the first column that remains.
fn columns_line(table: &Table<'_>, options: &ReadOptions<'_>, positions: &[Option<usize>]) -> String {
    let names = header_names(options.dimensions);
    let free = |column: &usize| !positions.contains(&Some(*column));
    let is_id = |column: &usize| ids::identified(table.name(*column).trim(), table.width).is_some();
    let (ids, others): (Vec<usize>, Vec<usize>) = (0..table.width).filter(free).partition(is_id);
    let mut left = ids.into_iter().chain(others);
    let mut parts = Vec::new();
    for (name, position) in names.iter().zip(positions) {
        let column =
            position.or_else(|| left.next()).map_or("COLUMN".to_owned(), |column| table.name(column));
        parts.push(format!("{name}:{column}"));
    }
    if !options.wanted.may_lack_values() {
        let named = options.column.map(str::to_owned);
        let value = named.or_else(|| left.next().map(|column| table.name(column)));
        parts.push(format!("value:{}", value.unwrap_or_else(|| "COLUMN".to_owned())));
    }
    parts.join(",")
}

/// The column that the header gives to a dimension: the name of its axis, or its letter if the axis has several.
pub(crate) fn named_column(
    table: &Table<'_>,
    dimension: &Dimension<'_>,
    dimensions: &[Dimension<'_>],
) -> Result<Option<usize>, FileError> {
    if let Some(letter) = dimension.letter
        && let Some(column) = table.find(letter)?
    {
        return Ok(Some(column));
    }
    if is_unique(dimension, dimensions) { table.find(dimension.axis) } else { Ok(None) }
}

/// Whether no other dimension has the same axis.
fn is_unique(dimension: &Dimension<'_>, dimensions: &[Dimension<'_>]) -> bool {
    dimensions.iter().filter(|other| other.axis == dimension.axis).count() == 1
}

/// What the header of a long table calls the dimensions.
pub(super) fn header_names<'a>(dimensions: &[Dimension<'a>]) -> Vec<&'a str> {
    dimensions
        .iter()
        .map(|dimension| match dimension.letter {
            Some(letter) if !is_unique(dimension, dimensions) => letter,
            _ => dimension.axis,
        })
        .collect()
}

fn missing_columns(
    table: &Table<'_>,
    dimensions: &[Dimension<'_>],
    positions: &[Option<usize>],
) -> FileError {
    let missing: Vec<&str> = header_names(dimensions)
        .into_iter()
        .zip(positions)
        .filter(|(_, position)| position.is_none())
        .map(|(name, _)| name)
        .collect();
    let found = match &table.header {
        Some(_) => format!("the columns {}", list(&table.names(0..table.width))),
        None => "a table without a header".to_owned(),
    };
    FileError::new(found, format!("a long table, with a column for each axis; missing: {}", list(&missing)))
        .at_line(1)
        .with_help("`--columns NAME=axis:column,...` says which columns are which axes")
}

/// The value column of a long table: the one that is named, or the one that remains.
fn long_value(
    table: &Table<'_>,
    options: &ReadOptions<'_>,
    positions: &[usize],
    named: Option<usize>,
) -> Result<Option<usize>, FileError> {
    match (options.wanted, named) {
        (_, Some(named)) => return Ok(Some(named)),
        (Wanted::Positions, None) => return Ok(None),
        (Wanted::Optional, None) => return numeric_value(table, options, positions),
        (Wanted::Numbers | Wanted::Text, None) => {}
    }
    let is_taken = |column| positions.contains(&column);
    match only_value(table, is_taken) {
        Ok(value) => Ok(Some(value)),
        Err(several) => own_column(table, options, is_taken)?.ok_or(several).map(Some),
    }
}

/// Whether a column is the index of a data frame, which has no name where it was written, and this one where that was read and
/// written again.
pub(super) fn is_row_index(name: &str) -> bool {
    let name = name.trim();
    name.is_empty() || name == "Unnamed: 0"
}

/// The column that bears the name of the array, among those that are not taken.
fn own_column(
    table: &Table<'_>,
    options: &ReadOptions<'_>,
    is_taken: impl Fn(usize) -> bool,
) -> Result<Option<usize>, FileError> {
    match (&table.header, options.name) {
        (Some(_), name) if !name.is_empty() => Ok(table.find(name)?.filter(|column| !is_taken(*column))),
        _ => Ok(None),
    }
}

/// The one column that is not taken, the index of a data frame apart.
fn only_value(table: &Table<'_>, is_taken: impl Fn(usize) -> bool) -> Result<usize, FileError> {
    let mut remaining: Vec<usize> = (0..table.width).filter(|&column| !is_taken(column)).collect();
    if remaining.len() > 1 && table.header.is_some() {
        remaining.retain(|&column| !is_row_index(&table.name(column)));
    }
    match remaining[..] {
        [value] => Ok(value),
        [] => Err(FileError::new(
            format!("no column of values beside {}", list(&table.names(0..table.width))),
            "one",
        )
        .at_line(1)),
        _ if table.header.is_none() => {
            Err(FileError::new(count(table.width, "column"), "one column of values").at_line(1))
        }
        _ => Err(FileError::new(
            format!(
                "{} that may hold the values: {}",
                count(remaining.len(), "column"),
                list(&table.names(remaining))
            ),
            "one",
        )
        .at_line(1)
        .with_help("`FILE:COLUMN` or `--columns NAME=...,value:COLUMN` says which")),
    }
}

/// The one column beside those of positions, or of several the one that bears the name of the array, if its first field is a number, missing, or `TRUE` or
/// `FALSE`.
fn numeric_value(
    table: &Table<'_>,
    options: &ReadOptions<'_>,
    positions: &[usize],
) -> Result<Option<usize>, FileError> {
    let is_taken = |column| positions.contains(&column);
    let value = match only_value(table, is_taken) {
        Ok(value) => Some(value),
        Err(_) => own_column(table, options, is_taken)?,
    };
    let Some(value) = value else { return Ok(None) };
    let mut records = table.records()?;
    while let Some(record) = records.next()? {
        if !record.is_blank() {
            let is_value = |field: Field<'_>| field.cell().is_some() || truth(&field).is_some();
            return Ok(record.get(value).is_some_and(is_value).then_some(value));
        }
    }
    Ok(None)
}

/// An array of one dimension, or of none.
fn vector(
    table: &Table<'_>,
    options: &ReadOptions<'_>,
    label: Option<usize>,
    value: Option<usize>,
    is_mapped: bool,
) -> Result<Layout, FileError> {
    if options.wanted.may_lack_values()
        && let Some(label) = label
    {
        let value = match (value, options.wanted) {
            (None, Wanted::Optional) => numeric_value(table, options, &[label])?,
            (value, _) => value,
        };
        return Ok(Layout::Long { positions: vec![label], value });
    }
    // The only column holds the values, whatever its name.
    if table.width == 1 && !is_mapped {
        return Ok(Layout::Vector { labels: None, value: 0, may_repeat: false });
    }
    if options.dimensions.len() == 1 && table.header.is_none() && table.width > 1 && is_one_line(table)? {
        return Ok(Layout::Row);
    }
    let identifying = table.identifying_column(options.dimensions)?;
    let labels = match label {
        Some(_) if label == value => None,
        Some(_) => label,
        None if options.dimensions.is_empty() => None,
        None if identifying.is_some() && identifying != value => identifying,
        None if value == Some(0) => None,
        None if !table.first_column_is_labels(options.dimensions)? => None,
        // Where the value is picked by name, the first column may be anything: it is labels only if it can be.
        None if value.is_some() && !table.first_name_marks_labels(options.dimensions) => {
            can_be_labels(table, 0)?.then_some(0)
        }
        None => Some(0),
    };
    let value = match value {
        Some(value) => value,
        None => {
            let is_taken = |column| Some(column) == labels;
            match only_value(table, is_taken) {
                Ok(value) => value,
                Err(several) => {
                    // Picked by name, as if the caller had named it.
                    let own = own_column(table, options, is_taken)?.ok_or(several)?;
                    return vector(table, options, label, Some(own), is_mapped);
                }
            }
        }
    };
    Ok(Layout::Vector { labels, value, may_repeat: label.is_some() && labels == label })
}

/// Whether a table without a header has one line.
fn is_one_line(table: &Table<'_>) -> Result<bool, FileError> {
    let mut records = table.records()?;
    let mut lines = 0;
    while lines < 2
        && let Some(record) = records.next()?
    {
        lines += usize::from(!record.is_blank());
    }
    Ok(lines == 1)
}
