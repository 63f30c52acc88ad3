//! Text tables: `.csv` and `.tsv`, dense or long.
//!
//! A first line with a field that is neither a number nor missing is a header, and so is one that counts its columns behind an
//! empty field, above a first column that counts the rows; with a header, the first column holds row labels if its header cell is empty or the axis's name, or if any entry is neither a number nor missing. A table is
//! long if its header names every axis.
//!
//! The layout of a table is decided first, from its header and what the caller asks for; all layouts are then read by
//! the same loop, which takes some columns as labels and some as values.

use std::borrow::Cow;
use std::collections::HashMap;

use super::collector::Collector;
use super::ids;
use super::number::{is_missing, number};
use super::records::{Field, Records, is_blank};
use super::{Dimension, ReadOptions, Wanted, expected_dimensions, texts};
use crate::content::{Categories, Content, Dense, Lines, Long, MISSING, Values};
use crate::error::{FileError, count, list, quote};

/// Which columns of a table are what.
#[derive(Debug)]
enum Layout {
    /// Rows by columns.
    Matrix { row_labels: bool },
    /// One column is an array of one dimension, and possibly another one its labels. Where the header or the caller
    /// names the labels as the axis, the table is as well a long one, whose entries may repeat.
    Vector { labels: Option<usize>, value: usize, may_repeat: bool },
    /// One line is an array of one dimension.
    Row,
    /// A column for each dimension, and one for the value unless only positions are wanted.
    Long { positions: Vec<usize>, value: Option<usize> },
}

/// The first line of a table, and where its entries start.
pub(super) struct Table<'a> {
    header: Option<Vec<Field<'a>>>,
    pub(super) width: usize,
    /// Stands at the first entry.
    pub(super) records: Records<'a>,
}

pub(crate) fn read(text: &str, separator: u8, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let table = Table::open(text, separator)?;
    if let Some(texts) = texts::column::read(&table, options)? {
        return Ok(texts);
    }
    let layout = layout(&table, options)?;
    let (labels, values): (Vec<usize>, Vec<usize>) = match &layout {
        Layout::Matrix { row_labels: true } => (vec![0], (1..table.width).collect()),
        Layout::Matrix { row_labels: false } | Layout::Row => (vec![], (0..table.width).collect()),
        Layout::Vector { labels, value, .. } => (labels.iter().copied().collect(), vec![*value]),
        Layout::Long { positions, value } => (positions.clone(), value.iter().copied().collect()),
    };
    let body = body(&table, &labels, &values, options)
        .map_err(|error| advise(error, &layout, &table, options.dimensions))?;
    assemble(layout, body, &table, options)
}

impl<'a> Table<'a> {
    fn open(text: &'a str, separator: u8) -> Result<Table<'a>, FileError> {
        let mut records = Records::new(text, separator);
        let mut first = Vec::new();
        let start = records.clone();
        if records.next(&mut first)?.is_none() {
            return Err(FileError::new("an empty file", "a table"));
        }
        refuse_other_separator(text, separator)?;
        let width = first.len();
        if !is_header(&first, &records)? {
            return Ok(Table { header: None, width, records: start });
        }
        Ok(Table { header: Some(first), width, records })
    }

    /// The name of a column: that of the header, or its position.
    pub(super) fn name(&self, column: usize) -> String {
        match &self.header {
            Some(header) => header[column].text().into_owned(),
            None => (column + 1).to_string(),
        }
    }

    fn names(&self, columns: impl IntoIterator<Item = usize>) -> Vec<String> {
        columns.into_iter().map(|column| self.name(column)).collect()
    }

    /// The column of this name, if there is one.
    fn find(&self, name: &str) -> Result<Option<usize>, FileError> {
        let Some(header) = &self.header else { return Ok(None) };
        let mut found = (0..self.width).filter(|&column| header[column].text() == name);
        let mut column = found.next();
        let mut again = found.next();
        if column.is_none() {
            // Blanks around the names of a header are no part of the name that was asked for.
            let mut found = (0..self.width).filter(|&column| header[column].text().trim() == name);
            (column, again) = (found.next(), found.next());
        }
        match again {
            None => Ok(column),
            Some(_) => Err(FileError::new(
                format!("two columns named {}", quote(name.as_bytes())),
                "names of their own for the columns that are read",
            )
            .at_line(1)),
        }
    }

    /// The column that the caller named.
    pub(super) fn require(&self, name: &str) -> Result<usize, FileError> {
        self.find(name)?.ok_or_else(|| {
            let found = match &self.header {
                Some(_) => format!("the columns {}", list(&self.names(0..self.width))),
                None => "no header".to_owned(),
            };
            FileError::new(found, format!("a column {}", quote(name.as_bytes()))).at_line(1)
        })
    }

    /// Whether the first column of a table with a header holds labels.
    fn first_column_is_labels(&self, dimensions: &[Dimension<'_>]) -> Result<bool, FileError> {
        if self.first_name_marks_labels(dimensions) {
            return Ok(true);
        }
        if self.header.is_none() {
            return Ok(false);
        }
        let mut records = self.records.clone();
        while let Some(field) = records.next_first()? {
            if !field.is_number_or_missing() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the first name of the header is empty or that of the first axis.
    fn first_name_marks_labels(&self, dimensions: &[Dimension<'_>]) -> bool {
        let Some(header) = &self.header else { return false };
        let name = header[0].text();
        let name = name.trim();
        name.is_empty()
            || dimensions
                .first()
                .is_some_and(|dimension| name == dimension.axis || Some(name) == dimension.letter)
    }
}

/// Whether a first line is a header: one of its fields is neither a number nor missing, or it counts the columns 0, 1, 2, ... behind
/// an empty field, and the first column the rows, as data frames without names are written.
pub(super) fn is_header(first: &[Field<'_>], rest: &Records<'_>) -> Result<bool, FileError> {
    if !first.iter().all(Field::is_number_or_missing) {
        return Ok(true);
    }
    let is = |field: &Field<'_>, count: usize| cell(field) == Some(count as f64);
    let (corner, columns) = first.split_first().expect("a line has a field");
    let counts_columns = columns.iter().enumerate().all(|(count, field)| is(field, count));
    if !corner.trimmed().is_empty() || columns.is_empty() || !counts_columns {
        return Ok(false);
    }
    let (mut records, mut fields, mut rows) = (rest.clone(), Vec::new(), 0);
    while records.next(&mut fields)?.is_some() {
        if is_blank(&fields) {
            continue;
        }
        if !is(&fields[0], rows) {
            return Ok(false);
        }
        rows += 1;
    }
    Ok(rows > 0)
}

/// Refuses a .csv file whose fields are parted by something else, which would otherwise be read as one column.
fn refuse_other_separator(text: &str, separator: u8) -> Result<(), FileError> {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if first.as_bytes().contains(&separator) || first.starts_with('"') {
        return Ok(());
    }
    for (other, name) in [(';', "semicolons"), ('\t', "tabs"), (',', "commas")] {
        let times = first.matches(other).count();
        if times > 0 && second.matches(other).count() == times && !second.as_bytes().contains(&separator) {
            let expected = if separator == b',' { "commas" } else { "tabs" };
            return Err(FileError::new(
                format!("fields parted by {name}"),
                format!("{expected}, by the suffix of the file"),
            )
            .at_line(1));
        }
    }
    Ok(())
}

/// The layout of a table.
fn layout(table: &Table<'_>, options: &ReadOptions<'_>) -> Result<Layout, FileError> {
    let dimensions = options.dimensions;
    let mut positions = dimensions
        .iter()
        .map(|dimension| named_column(table, dimension, dimensions))
        .collect::<Result<Vec<_>, _>>()?;
    let mut value = options.column.map(|name| table.require(name)).transpose()?;
    let mut maps_positions = false;
    for entry in options.columns {
        let column = table.require(entry.column)?;
        let role = dimensions.iter().position(|dimension| match dimension.letter {
            Some(letter) => {
                letter == entry.role || (entry.role == dimension.axis && is_unique(dimension, dimensions))
            }
            None => dimension.axis == entry.role,
        });
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
        if options.is_wide {
            return wide(table, dimensions, value.is_some() || maps_positions);
        }
        if let Some(positions) = positions.iter().copied().collect::<Option<Vec<usize>>>() {
            let value = long_value(table, options, &positions, value)?;
            return Ok(Layout::Long { positions, value });
        }
        let must_be_long = maps_positions || value.is_some() || dimensions.len() > 2;
        if must_be_long
            || options.wanted == Wanted::Positions
                && table.header.is_some()
                && positions.iter().any(Option::is_some)
        {
            return Err(missing_columns(table, dimensions, &positions));
        }
        refuse_nearly_long(table, dimensions)?;
        if let Some(layout) = long_by_ids(table, options, &positions)? {
            return Ok(layout);
        }
        return Ok(Layout::Matrix { row_labels: table.first_column_is_labels(dimensions)? });
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
fn wide(table: &Table<'_>, dimensions: &[Dimension<'_>], names_columns: bool) -> Result<Layout, FileError> {
    if names_columns || dimensions.len() != 2 {
        return Err(FileError::new(
            "`wide` for a table of named columns, or of another number of dimensions than two",
            "`wide` alone, for an array of two dimensions",
        ));
    }
    Ok(Layout::Matrix { row_labels: table.first_column_is_labels(dimensions)? })
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
    let rest: Vec<usize> = (0..table.width).filter(|column| !columns.contains(column)).collect();
    if let Some(positions) = told.filter(|_| columns.len() == dimensions.len()) {
        match (options.wanted, rest.as_slice()) {
            (Wanted::Positions, _) => return Ok(Some(Layout::Long { positions, value: None })),
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
    let mut records = table.records.clone();
    let mut fields = Vec::new();
    while records.next(&mut fields)?.is_some() {
        if is_blank(&fields) {
            continue;
        }
        for (whole, field) in whole.iter_mut().zip(&fields) {
            *whole = *whole && cell(field).is_some_and(|value| value >= 0.0 && value.fract() == 0.0);
        }
    }
    Ok(whole)
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
    if options.wanted != Wanted::Positions {
        let named = options.column.map(str::to_owned);
        let value = named.or_else(|| left.next().map(|column| table.name(column)));
        parts.push(format!("value:{}", value.unwrap_or_else(|| "COLUMN".to_owned())));
    }
    parts.join(",")
}

/// The column that the header gives to a dimension: the name of its axis, or its letter if the axis has several.
pub(super) fn named_column(
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
fn header_names<'a>(dimensions: &[Dimension<'a>]) -> Vec<&'a str> {
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
    if options.wanted == Wanted::Positions || named.is_some() {
        return Ok(named);
    }
    only_value(table, |column| positions.contains(&column)).map(Some)
}

/// The one column that is not taken.
fn only_value(table: &Table<'_>, is_taken: impl Fn(usize) -> bool) -> Result<usize, FileError> {
    let remaining: Vec<usize> = (0..table.width).filter(|&column| !is_taken(column)).collect();
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

/// An array of one dimension, or of none.
fn vector(
    table: &Table<'_>,
    options: &ReadOptions<'_>,
    label: Option<usize>,
    value: Option<usize>,
    is_mapped: bool,
) -> Result<Layout, FileError> {
    if options.wanted == Wanted::Positions
        && let Some(label) = label
    {
        return Ok(Layout::Long { positions: vec![label], value });
    }
    // The only column holds the values, whatever its name.
    if table.width == 1 && !is_mapped {
        return Ok(Layout::Vector { labels: None, value: 0, may_repeat: false });
    }
    if options.dimensions.len() == 1 && table.header.is_none() && table.width > 1 && is_one_line(table)? {
        return Ok(Layout::Row);
    }
    let labels = match label {
        Some(_) if label == value => None,
        Some(_) => label,
        None if options.dimensions.is_empty() || value == Some(0) => None,
        None if !table.first_column_is_labels(options.dimensions)? => None,
        // Where the value is picked by name, the first column may be anything: it is labels only if it can be.
        None if value.is_some() && !table.first_name_marks_labels(options.dimensions) => {
            can_be_labels(table, 0)?.then_some(0)
        }
        None => Some(0),
    };
    let value = match value {
        Some(value) => value,
        None => only_value(table, |column| Some(column) == labels)?,
    };
    Ok(Layout::Vector { labels, value, may_repeat: label.is_some() && labels == label })
}

/// Whether a table without a header has one line.
fn is_one_line(table: &Table<'_>) -> Result<bool, FileError> {
    let mut records = table.records.clone();
    let mut fields = Vec::new();
    let mut lines = 0;
    while lines < 2 && records.next(&mut fields)?.is_some() {
        lines += usize::from(!is_blank(&fields));
    }
    Ok(lines == 1)
}

/// Whether no entry of a column is empty or stands twice.
pub(super) fn can_be_labels(table: &Table<'_>, column: usize) -> Result<bool, FileError> {
    let mut records = table.records.clone();
    let mut fields = Vec::new();
    let mut collector = Collector::default();
    while records.next(&mut fields)?.is_some() {
        let Some(field) = fields.get(column).filter(|_| !is_blank(&fields)) else { continue };
        let text = field.text();
        if check_label(&text).is_err() {
            return Ok(false);
        }
        collector.push(text);
    }
    Ok(first_repeated(&collector.finish()).is_none())
}

/// The entries of a table.
struct Body {
    labels: Vec<Categories>,
    values: Values,
    lines: Lines,
    rows: usize,
}

/// Reads the columns `labels` as labels, and the columns `values`, row by row, as values.
fn body(
    table: &Table<'_>,
    labels: &[usize],
    values: &[usize],
    options: &ReadOptions<'_>,
) -> Result<Body, FileError> {
    let mut records = table.records.clone();
    let mut fields = Vec::new();
    let mut label_columns: Vec<Collector<'_>> = labels.iter().map(|_| Collector::default()).collect();
    let mut numbers = Vec::new();
    let mut texts = Collector::default();
    let mut lines = Lines::new(if values.is_empty() { 1 } else { values.len() });
    let mut rows = 0;
    while let Some(line) = records.next(&mut fields)? {
        if fields.len() != table.width {
            // An empty line in a table of several columns carries nothing.
            if is_blank(&fields) {
                continue;
            }
            return Err(FileError::new(
                count(fields.len(), "field"),
                format!("{}, as in the first line", table.width),
            )
            .at_line(line));
        }
        for (collector, &column) in label_columns.iter_mut().zip(labels) {
            let text = fields[column].text();
            check_label(&text)
                .map_err(|error| error.at_line(line).in_column(quote(table.name(column).as_bytes())))?;
            collector.push(text);
        }
        for &column in values {
            let field = &fields[column];
            if options.wanted == Wanted::Text {
                let text = field.text();
                if is_missing(text.trim_ascii().as_bytes()) {
                    texts.push_missing();
                } else {
                    check_label(&text)
                        .map_err(|error| error.at_line(line).in_column(column_name(table, column)))?;
                    texts.push(text);
                }
            } else {
                numbers.push(cell(field).ok_or_else(|| {
                    FileError::new(
                        quote(field.text().as_bytes()),
                        "a number, or `NA` or nothing if it is missing",
                    )
                    .at_line(line)
                    .in_column(column_name(table, column))
                })?);
            }
        }
        lines.push(line);
        rows += 1;
    }
    let values = match options.wanted {
        Wanted::Text => Values::Text(texts.finish()),
        Wanted::Numbers | Wanted::Positions => Values::Numbers(numbers),
    };
    Ok(Body { labels: label_columns.into_iter().map(Collector::finish).collect(), values, lines, rows })
}

/// The number of a cell; NaN if it is missing.
#[inline]
fn cell(field: &Field<'_>) -> Option<f64> {
    let field = field.trimmed().as_bytes();
    match number(field) {
        None if is_missing(field) => Some(f64::NAN),
        value => value,
    }
}

/// Refuses empty labels and labels with line breaks, since labels are written one a line.
pub(super) fn check_label(label: &str) -> Result<(), FileError> {
    if label.is_empty() {
        return Err(FileError::new("an empty field", "a label"));
    }
    if label.contains(['\n', '\r']) {
        return Err(FileError::new(
            format!("a line break within {}", quote(label.as_bytes())),
            "a label of one line",
        ));
    }
    Ok(())
}

/// A column as a message names it.
fn column_name(table: &Table<'_>, column: usize) -> String {
    match &table.header {
        Some(header) => quote(header[column].text().as_bytes()),
        None => (column + 1).to_string(),
    }
}

/// Adds to an error how the table was read, if an entry suggests that another layout was meant.
fn advise(error: FileError, layout: &Layout, table: &Table<'_>, dimensions: &[Dimension<'_>]) -> FileError {
    if error.column.is_none() {
        return error;
    }
    match (&table.header, layout) {
        (Some(_), Layout::Matrix { .. }) => error.with_help(format!(
            "the header of a long table names every axis: {}",
            list(&header_names(dimensions))
        )),
        (None, _) if error.found.starts_with('`') => {
            error.with_help("a first line of numbers and empty fields is no header")
        }
        _ => error,
    }
}

/// The content that the columns make up.
fn assemble(
    layout: Layout,
    body: Body,
    table: &Table<'_>,
    options: &ReadOptions<'_>,
) -> Result<Content, FileError> {
    let Body { mut labels, values, lines, rows } = body;
    let dense = |shape, values, labels, lines| {
        Ok(Content::Dense(Dense { shape, values, labels, lines: Some(lines) }))
    };
    match layout {
        Layout::Matrix { .. } => {
            let row_labels = match labels.pop() {
                Some(column) => Some(distinct(column, &lines, values.len(), rows).map_err(|error| {
                    advise(error.in_column(column_name(table, 0)), &layout, table, options.dimensions)
                })?),
                None => None,
            };
            let first = usize::from(row_labels.is_some());
            if first == table.width {
                return Err(FileError::new(
                    "a column of row labels and nothing else",
                    "columns of values beside it",
                )
                .at_line(1));
            }
            let column_labels = match &table.header {
                Some(header) => Some(column_labels(&header[first..], first)?),
                None => None,
            };
            dense(vec![rows, table.width - first], values, vec![row_labels, column_labels], lines)
        }
        Layout::Row => dense(vec![table.width], values, vec![None], lines),
        Layout::Vector { .. } if options.dimensions.is_empty() => {
            if rows != 1 {
                return Err(FileError::new(count(rows, "row"), expected_dimensions(&[])));
            }
            dense(vec![], values, vec![], lines)
        }
        Layout::Vector { labels: label, value, may_repeat } => {
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
fn first_repeated(column: &Categories) -> Option<(usize, usize)> {
    // Entries are numbered in order of first appearance, so that without repetition each row has its own number.
    let second =
        column.codes.iter().enumerate().position(|(row, &code)| code as usize != row && code != MISSING)?;
    let first = column.codes.iter().position(|&code| code == column.codes[second])?;
    Some((first, second))
}

/// The labels of columns, none of which may be empty or stand twice.
fn column_labels(header: &[Field<'_>], first: usize) -> Result<Vec<String>, FileError> {
    let mut column_of: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let mut labels = Vec::with_capacity(header.len());
    for (place, field) in header.iter().enumerate() {
        let column = first + place + 1;
        let label = field.text();
        check_label(&label).map_err(|error| error.at_line(1).in_column(column.to_string()))?;
        labels.push(label.clone().into_owned());
        if let Some(other) = column_of.insert(label, column) {
            return Err(FileError::new(
                format!("the label {}, which column {other} has too", quote(field.text().as_bytes())),
                "a label of its own for each column",
            )
            .at_line(1)
            .in_column(column.to_string()));
        }
    }
    Ok(labels)
}
