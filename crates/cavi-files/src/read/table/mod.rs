//! Tables, dense or long: `.csv` and `.tsv`, and the columns of `.parquet`.
//!
//! A first line with a field that is neither a number nor missing is a header, and so is one that counts its columns behind an
//! empty field, above a first column that counts the rows; with a header, the first column holds row labels if its header cell is empty or the axis's name, if it is named as the
//! id of the axis (`patient_id`) and its entries differ, or if any entry is neither a number nor missing. A table is
//! long if its header names every axis.
//!
//! The layout of a table is decided first, from its header and what the caller asks for; all layouts are then read by
//! the same loop, which takes some columns as labels and some as values.

use super::collector::Collector;
use super::columns::Columns;
use super::records::Records;
use super::stream::Source;
use super::whole::composed;
use super::{Dimension, ReadOptions, Wanted, bytes, ids, texts};
use crate::content::{Categories, Content, Lines, PassedOver, Values};
use crate::error::{FileError, count, list, quote};
use crate::memory;
use assemble::{assemble, first_repeated};
use keys::Key;
use layout::{Layout, header_names, is_row_index, layout};
pub(crate) use layout::{is_prose, named_column};
use lines::refuse_other_separator;
pub(crate) use lines::{is_header, lacks_a_name, separator};
use numbers::Numbers;

mod assemble;
pub(crate) mod blanks;
mod cut_decimals;
mod keys;
mod layout;
mod lines;
mod moved;
mod numbers;
mod unreadable;

/// The first line of a table, and where its entries come from.
pub(super) struct Table<'a> {
    header: Option<Vec<String>>,
    pub(super) width: usize,
    entries: Entries<'a>,
    /// Whether the first line has a name less than the others have fields, and the first column was given an empty one.
    lacked_a_name: bool,
}

/// Where the entries of a table come from. They are gone through as often as needed.
enum Entries<'a> {
    /// The lines of a text with this separator, the first one apart where it is a header.
    Text(Source<'a>, u8),
    Columns(Columns),
}

pub(crate) fn read(text: Source<'_>, separator: u8, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    read_table(Table::open(text, separator)?, options)
}

/// Reads a table of columns in memory, with a header.
pub(crate) fn read_columns(columns: Columns, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let names: Vec<String> = columns.names.iter().map(|name| name.trim().to_owned()).collect();
    let width = names.len();
    let entries = Entries::Columns(columns);
    read_table(Table { width, header: Some(names), entries, lacked_a_name: false }, options)
}

fn read_table(mut table: Table<'_>, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    if let Some(texts) = texts::column::read(&table, options)? {
        return Ok(texts);
    }
    let layout = layout(&table, options)?;
    let (labels, values): (Vec<usize>, Vec<usize>) = match &layout {
        Layout::Matrix { row_labels: Some(own) } => {
            (vec![*own], (0..table.width).filter(|column| column != own).collect())
        }
        Layout::Matrix { row_labels: None } | Layout::Row => (vec![], (0..table.width).collect()),
        Layout::Vector { labels, value, .. } => (labels.iter().copied().collect(), vec![*value]),
        Layout::Long { positions, value } => (positions.clone(), value.iter().copied().collect()),
    };
    table.refuse_unreadable(labels.iter().chain(&values).copied())?;
    table.refuse_cut_decimals(&layout, labels.iter().chain(&values).copied(), options.dimensions)?;
    if let (Entries::Columns(columns), Layout::Long { .. }) = (&mut table.entries, &layout)
        && let Some(body) = moved::body(columns, &labels, &values, options.wanted)
    {
        return assemble(layout, body, &table, options);
    }
    let body = body(&table, (&labels, &values, &layout.passed_over(&table)), options)
        .map_err(|error| advise(error, &layout, &table, options.dimensions))?;
    assemble(layout, body, &table, options)
}

impl<'a> Table<'a> {
    fn open(text: Source<'a>, stated: u8) -> Result<Table<'a>, FileError> {
        let separator = separator(text, stated)?;
        let mut records = Records::new(text, separator)?;
        let Some(first) = records.next()? else {
            return Err(FileError::new("an empty file", "a table"));
        };
        refuse_other_separator(text, separator)?;
        let names: Vec<String> = first.fields().map(|field| field.text().into_owned()).collect();
        if lacks_a_name(text, separator)? {
            let names: Vec<String> = std::iter::once(String::new()).chain(names).collect();
            let (width, entries) = (names.len(), Entries::Text(text, separator));
            return Ok(Table { header: Some(names), width, entries, lacked_a_name: true });
        }
        let width = names.len();
        let header = is_header(text, separator)?.then_some(names);
        Ok(Table { header, width, entries: Entries::Text(text, separator), lacked_a_name: false })
    }

    /// The entries from the first on.
    pub(super) fn records(&self) -> Result<Records<'_>, FileError> {
        let mut records = match &self.entries {
            Entries::Text(text, separator) => Records::new(*text, *separator)?,
            Entries::Columns(columns) => Records::Columns(columns, 0),
        };
        if self.header.is_some() {
            records.next()?;
        }
        Ok(records)
    }

    /// Whether the first field of the first entries is empty.
    fn begins_empty(&self) -> bool {
        let first =
            self.records().and_then(|mut records| Ok(records.next_first()?.map(|own| own.is_missing())));
        matches!(first, Ok(Some(true)))
    }

    /// The name of a column: that of the header, or its position.
    pub(super) fn name(&self, column: usize) -> String {
        match &self.header {
            Some(header) => header[column].clone(),
            None => (column + 1).to_string(),
        }
    }

    /// Refuses columns that hold neither numbers nor text.
    pub(super) fn refuse_unreadable(
        &self,
        mut columns: impl Iterator<Item = usize>,
    ) -> Result<(), FileError> {
        let Entries::Columns(all) = &self.entries else { return Ok(()) };
        let refused = columns.find_map(|column| all.refused(column).map(|what| (column, what)));
        refused.map_or(Ok(()), |(column, what)| {
            Err(FileError::new(what, "numbers or text").in_column(quote(self.name(column).as_bytes())))
        })
    }

    fn names(&self, columns: impl IntoIterator<Item = usize>) -> Vec<String> {
        columns.into_iter().map(|column| self.name(column)).collect()
    }

    /// The column of this name, if there is one.
    fn find(&self, name: &str) -> Result<Option<usize>, FileError> {
        let Some(header) = &self.header else { return Ok(None) };
        let mut found = (0..self.width).filter(|&column| header[column] == name);
        let mut column = found.next();
        let mut again = found.next();
        if column.is_none() {
            // Blanks around the names of a header are no part of the name that was asked for, and accents are written in two ways.
            let name = composed(name);
            let mut found = (0..self.width).filter(|&column| composed(header[column].trim()) == name);
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
        if self.first_name_marks_labels(dimensions) || self.identifying_column(dimensions)? == Some(0) {
            return Ok(true);
        }
        if self.header.is_none() {
            return Ok(false);
        }
        let mut records = self.records()?;
        while let Some(field) = records.next_first()? {
            if !field.is_number_or_missing() || is_code(&field.text()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the first column of rows by columns holds labels; refused where nearly all of its entries are measured numbers,
    /// or all that are none have a comma for their point.
    fn has_row_labels(&self, dimensions: &[Dimension<'_>]) -> Result<bool, FileError> {
        if self.first_name_marks_labels(dimensions) || self.identifying_column(dimensions)? == Some(0) {
            return Ok(true);
        }
        if !self.first_column_is_labels(dimensions)? {
            return Ok(false);
        }
        let mut records = self.records()?;
        let mut others = 0_usize;
        let mut are_decimals = true;
        let mut numbers = Vec::new();
        while let Some(field) = records.next_first()? {
            match field.cell() {
                // A missing entry, or an empty line.
                Some(number) if number.is_nan() => {}
                Some(_) if is_code(&field.text()) => {
                    others += 1;
                    are_decimals = false;
                }
                Some(number) => numbers.push(number),
                None => {
                    others += 1;
                    are_decimals &= unreadable::is_decimal_comma(&field.text());
                }
            }
        }
        match are_decimals || others * 10 <= others + numbers.len() && !are_ids(numbers) {
            true => Err(self.unlike_the_others()?),
            false => Ok(true),
        }
    }

    /// The error of the first entry of the first column that is no number, where nearly all of the others are measured ones.
    fn unlike_the_others(&self) -> Result<FileError, FileError> {
        let mut records = self.records()?;
        while let Some(record) = records.next()? {
            if record.is_blank() || record.field(0).is_number_or_missing() {
                continue;
            }
            let name = self.name(0);
            let error = unreadable::error(&record.field(0));
            let error = error.at_line(record.line).in_column(quote(name.as_bytes()));
            return Ok(match error.help {
                Some(_) => error,
                None => error.with_help(format!(
                    "nearly all entries of {} are numbers; if they are labels, leave its name in the header empty",
                    quote(name.as_bytes())
                )),
            });
        }
        Ok(FileError::new("a first column of numbers and text", "one of them"))
    }

    /// Whether the first name of the header is empty or that of the first axis.
    fn first_name_marks_labels(&self, dimensions: &[Dimension<'_>]) -> bool {
        let Some(header) = &self.header else { return false };
        let name = header[0].trim();
        is_row_index(name)
            || dimensions
                .first()
                .is_some_and(|dimension| name == dimension.axis || Some(name) == dimension.letter)
    }
}

impl Table<'_> {
    /// The column of ids of the first axis, by its name: `patient_id` of the axis `patient`. Its entries are labels if none is empty or stands
    /// twice. `None` if there is no such column, or several.
    pub(super) fn identifying_column(
        &self,
        dimensions: &[Dimension<'_>],
    ) -> Result<Option<usize>, FileError> {
        let (Some(_), Some(first)) = (&self.header, dimensions.first()) else { return Ok(None) };
        if self.width < 2 {
            return Ok(None);
        }
        let identified = |column: &usize| ids::identified(self.name(*column).trim(), self.width);
        let of_axis = |column: &usize| identified(column).is_some_and(|own| ids::is_same(first.axis, &own));
        let mut named = (0..self.width).filter(of_axis);
        let (Some(found), None) = (named.next(), named.next()) else { return Ok(None) };
        Ok(can_be_labels(self, found)?.then_some(found))
    }
}

/// Whether digits are a code, such as `0041`: nothing that is measured or counted has a 0 in front.
fn is_code(text: &str) -> bool {
    let text = text.trim();
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|own| own.is_ascii_digit())
}

/// Whether no entry of a column is empty or stands twice.
pub(super) fn can_be_labels(table: &Table<'_>, column: usize) -> Result<bool, FileError> {
    let mut records = table.records()?;
    let mut collector = Collector::default();
    while let Some(record) = records.next()? {
        let Some(field) = record.get(column).filter(|_| !record.is_blank()) else { continue };
        let text = field.text();
        if check_label(&text).is_err() {
            return Ok(false);
        }
        collector.push(&text);
    }
    Ok(first_repeated(&collector.finish()).is_none())
}

/// Whether numbers are whole and different from each other, as labels are.
fn are_ids(mut numbers: Vec<f64>) -> bool {
    numbers.sort_by(f64::total_cmp);
    numbers.iter().all(|number| number.fract() == 0.0) && numbers.windows(2).all(|pair| pair[0] != pair[1])
}

/// The entries of a table.
struct Body {
    labels: Vec<Categories>,
    values: Values,
    lines: Lines,
    rows: usize,
    passed_over: Vec<PassedOver>,
}

/// Reads the columns `labels` as labels, and the columns `values`, row by row, as values; `passed_over` are kept as they are.
fn body<'a>(
    table: &Table<'a>,
    (labels, values, passed_over): (&[usize], &[usize], &[usize]),
    options: &ReadOptions<'_>,
) -> Result<Body, FileError> {
    /// So many fields are read before somebody looks whether there is memory for more.
    const LOOK: usize = if cfg!(fuzzing) { 1 << 3 } else { 1 << 20 };
    let mut records = table.records()?;
    let mut label_columns: Vec<Collector> = labels.iter().map(|_| Collector::default()).collect();
    let mut numbers = Numbers::new(values.len());
    let mut texts = Collector::default();
    let mut keys: Vec<Key> = passed_over.iter().map(|column| Key::of(*column)).collect();
    let mut lines = Lines::new(if values.is_empty() { 1 } else { values.len() });
    let (mut rows, mut looked) = (0, 0);
    // A text of one column may end in empty lines; one before its last entry is a missing entry.
    let is_text = matches!(records, Records::Text(_));
    let mut blank: Vec<usize> = Vec::new();
    while let Some(record) = records.next()? {
        let line = record.line;
        if record.len() != table.width {
            // An empty line in a table of several columns carries nothing.
            if record.is_blank() {
                continue;
            }
            return Err(FileError::new(
                count(record.len(), "field"),
                format!("{}, as in the first line", table.width),
            )
            .at_line(line));
        }
        if is_text && record.is_blank() {
            blank.push(line);
            continue;
        }
        for line in blank.drain(..) {
            if let Some(&column) = labels.first() {
                check_label("")
                    .map_err(|error| error.at_line(line).in_column(quote(table.name(column).as_bytes())))?;
            }
            for _ in values {
                match options.wanted {
                    Wanted::Text => texts.push_missing(),
                    Wanted::Numbers | Wanted::Positions | Wanted::Optional => numbers.push_missing(),
                }
            }
            keys.clear();
            lines.push(line);
            rows += 1;
        }
        for (collector, &column) in label_columns.iter_mut().zip(labels) {
            let text = record.field(column).text();
            check_label(&text)
                .map_err(|error| error.at_line(line).in_column(quote(table.name(column).as_bytes())))?;
            collector.push(&text);
        }
        for (place, &column) in values.iter().enumerate() {
            let field = &record.field(column);
            if options.wanted == Wanted::Text {
                let text = field.text();
                if field.is_missing() {
                    texts.push_missing();
                } else {
                    check_label(&text)
                        .map_err(|error| error.at_line(line).in_column(column_name(table, column)))?;
                    texts.push(&text);
                }
            } else {
                let name = || column_name(table, column);
                numbers.push(place, field).map_err(|error| error.at_line(line).in_column(name()))?;
            }
        }
        keys.retain_mut(|key| key.push(&record.field(key.column)));
        lines.push(line);
        rows += 1;
        looked += table.width;
        if looked >= LOOK {
            looked = 0;
            let held =
                numbers.bytes() + label_columns.iter().chain([&texts]).map(Collector::bytes).sum::<usize>();
            room_to_grow(held).map_err(|error| records.inflated().map_or(error, bytes::inflated_too_much))?;
        }
    }
    let values = match options.wanted {
        Wanted::Text => Values::Text(texts.finish()),
        Wanted::Numbers | Wanted::Positions | Wanted::Optional => Values::Numbers(numbers.finish().into()),
    };
    let passed_over = keys.into_iter().map(|key| key.finish(table)).collect();
    let labels = label_columns.into_iter().map(Collector::finish).collect();
    Ok(Body { labels, values, lines, rows, passed_over })
}

/// Refuses a table whose lists, which have so many bytes, cannot grow by a quarter.
fn room_to_grow(held: usize) -> Result<(), FileError> {
    bytes::memory_for(held / 4, "").map_err(|error| {
        let found = format!("a table of which {} were read, and more follow", memory::text(held));
        FileError { found, ..error }
    })
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
        Some(header) => quote(header[column].as_bytes()),
        None => (column + 1).to_string(),
    }
}

/// Adds to an error how the table was read, if an entry suggests that another layout was meant.
fn advise(error: FileError, layout: &Layout, table: &Table<'_>, dimensions: &[Dimension<'_>]) -> FileError {
    if error.column.is_none() || error.help.is_some() {
        return error;
    }
    match (&table.header, layout) {
        (Some(_), Layout::Matrix { .. }) => {
            // A table of many columns is no long one.
            let may_be_long = table.width <= dimensions.len() + 2;
            let long = || {
                let names = list(&header_names(dimensions));
                may_be_long.then(|| format!("the header of a long table names every axis: {names}"))
            };
            match layout::text_among_numbers(table, dimensions).or_else(long) {
                Some(help) => error.with_help(help),
                None => error,
            }
        }
        (None, _) if error.found.starts_with('`') => {
            let mut help = "a first line of numbers and empty fields is no header".to_owned();
            if let Some(name) = header_names(dimensions).first().filter(|_| table.begins_empty()) {
                help += &format!(": if it names columns, write `{name}` into its empty field");
            }
            error.with_help(help)
        }
        _ => error,
    }
}
