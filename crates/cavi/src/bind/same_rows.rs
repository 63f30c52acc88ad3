//! Tables with a column that says which row is which, and that is not taken for labels.
//!
//! Rows without labels are joined with others of their axis by order. Their table may have a column of texts or whole numbers all the same, that
//! is not called as the axis, or that has an entry twice: beside a vector it was passed over, and as the first column of rows by columns it was
//! read as data. Such a column is taken for a key where most of its entries are labels of the axis, or stand in such a column of another table.
//! If they are those of the same rows, the order is right. Else somebody has to say what it is: by order, numbers would stand at wrong rows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use cavi_algebra::{AxisId, Support, Symbols};
use cavi_files::{Content, Dense, Values, format_number};

use super::axes::Axes;
use super::data_error::DataError;
use super::pieces::Piece;

/// A column of a table whose rows have no labels.
struct Key<'a> {
    piece: &'a Piece,
    axis: AxisId,
    /// What is written above it.
    header: &'a str,
    /// Its entries; nothing where one is missing.
    entries: Vec<Option<Cow<'a, str>>>,
    /// Whether it is the first one of its table.
    is_first: bool,
    /// Whether it is a column of the data.
    is_data: bool,
    /// Whether the rows have labels that count from 0, as a frame has by itself.
    is_counted: bool,
}

/// What tables say of their rows beside their labels.
#[derive(Default)]
pub(super) struct Rows {
    /// Those that are joined at wrong rows: one problem for each table.
    pub problems: Vec<DataError>,
    /// Keys that are read as data.
    pub warnings: Vec<String>,
}

/// Looks at all columns that may be keys.
pub(super) fn other_rows(symbols: &Symbols, pieces: &[Piece], axes: &Axes) -> Rows {
    let keys: Vec<Key<'_>> = pieces.iter().flat_map(|piece| keys(symbols, piece)).collect();
    let mut rows = Rows::default();
    let mut refused: BTreeSet<usize> = BTreeSet::new();
    for (place, key) in keys.iter().enumerate().filter(|(_, own)| own.is_first && !own.is_counted) {
        match beside_labels(symbols, pieces, axes, key) {
            Some(Said::Other(problem)) => {
                rows.problems.push(problem);
                refused.insert(place);
            }
            Some(Said::Same) if key.is_data => rows.warnings.push(counted_as_data(symbols, key)),
            Some(Said::Same) | None => {}
        }
    }
    let mut seen = BTreeSet::new();
    for (place, key) in keys.iter().enumerate() {
        for (other_place, other) in keys.iter().enumerate().skip(place + 1) {
            let meet = key.axis == other.axis
                && (symbols.axis(key.axis).parent.is_none() || key.piece.group == other.piece.group)
                && key.piece.file != other.piece.file
                && key.entries.len() == other.entries.len();
            if !meet || refused.contains(&place) || refused.contains(&other_place) {
                continue;
            }
            match beside_another(symbols, key, other) {
                Some(Said::Other(problem)) if seen.insert(key.axis) => rows.problems.push(problem),
                Some(Said::Same) if key.is_data != other.is_data => {
                    rows.warnings.push(counted_as_data(symbols, if key.is_data { key } else { other }));
                }
                Some(_) | None => {}
            }
        }
    }
    rows.warnings = cavi_algebra::dedup(rows.warnings);
    rows
}

/// What a key says of the rows of its table.
enum Said {
    /// They are in the order in which they are joined.
    Same,
    /// They are not.
    Other(DataError),
}

/// The columns of a table without labels that may say which row is which.
fn keys<'a>(symbols: &Symbols, piece: &'a Piece) -> Vec<Key<'a>> {
    let Content::Dense(dense) = &piece.content else { return Vec::new() };
    let (Some(letter), Some(rows)) = (piece.letters.first(), dense.shape.first()) else { return Vec::new() };
    let counts = |labels: &Vec<String>| labels.iter().enumerate().all(|(row, own)| *own == row.to_string());
    let is_counted = dense.labels[0].is_some();
    if *rows < 2 || !dense.labels[0].as_ref().is_none_or(counts) {
        return Vec::new();
    }
    let axis = symbols.letter(*letter).axis;
    let key = |header, entries, is_first, is_data| Key {
        piece,
        axis,
        header,
        entries,
        is_first,
        is_data,
        is_counted,
    };
    // Columns that are named by the rows are no labels of these.
    let is_square = piece.letters.get(1).is_some_and(|own| symbols.letter(*own).axis == axis);
    if let Some((header, entries)) = first_column(dense).filter(|_| !is_square) {
        return vec![key(header, entries, true, true)];
    }
    let own = dense.passed_over.iter().enumerate().filter(|(_, own)| own.entries.codes.len() == *rows);
    own.map(|(place, own)| {
        let entry = |row: usize| own.entries.get(row).filter(|text| !text.is_empty()).map(canonical);
        key(own.name.as_str(), (0..*rows).map(entry).collect(), place == 0, false)
    })
    .filter(|own| own.entries.iter().any(Option::is_some) && !own.header.is_empty())
    .collect()
}

/// The first column of rows by columns under a header, if it is whole numbers.
fn first_column(dense: &Dense) -> Option<(&str, Vec<Option<Cow<'_, str>>>)> {
    let ([_, width], Some(header), Values::Numbers(values)) =
        (dense.shape.as_slice(), dense.labels.get(1)?, &dense.values)
    else {
        return None;
    };
    let column = || values.iter().step_by((*width).max(1));
    let is_whole = *width > 1 && column().all(|own| own.fract() == 0.0);
    is_whole.then(|| {
        let entries = column().map(|own| Some(Cow::Owned(format_number(*own)))).collect();
        (header[0].as_str(), entries)
    })
}

/// A label as it is compared: whole numbers are the same with zeros before them or behind the point.
fn canonical(label: &str) -> Cow<'_, str> {
    match label.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() < 9e15 => Cow::Owned(format_number(number)),
        _ => Cow::Borrowed(label),
    }
}

impl Key<'_> {
    fn distinct(&self) -> BTreeSet<&str> {
        self.entries.iter().flatten().map(Cow::as_ref).collect()
    }

    fn present(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    fn is_number(&self) -> bool {
        self.entries.iter().flatten().all(|own| own.parse::<f64>().is_ok())
    }

    /// Whether its entries are numbers that count the rows from 0 or 1.
    fn counts(&self) -> bool {
        let first = |start: usize| {
            self.entries
                .iter()
                .enumerate()
                .all(|(row, own)| own.as_deref() == Some(&(row + start).to_string()))
        };
        first(0) || first(1)
    }

    /// An entry that stands twice: it, and its rows.
    fn repeated(&self) -> Option<(&str, usize, usize)> {
        let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
        self.entries.iter().enumerate().find_map(|(row, own)| {
            let own = own.as_deref()?;
            rows.insert(own, row).map(|before| (own, before, row))
        })
    }

    /// How it is said that a row is in a line.
    fn place(&self, row: usize) -> String {
        let per_row = match &self.piece.content {
            Content::Dense(dense) => dense.shape.get(1).copied().unwrap_or(1),
            _ => 1,
        };
        match self.piece.content.line(row * per_row) {
            Some(line) => format!("line {line}"),
            None => format!("row {}", row + 1),
        }
    }

    fn shown(&self, row: usize) -> String {
        self.entries[row].as_deref().map_or("empty".to_owned(), str::to_owned)
    }

    /// Why it is not taken for labels, if more than its name is in the way.
    fn obstacle(&self) -> Option<String> {
        if let Some((label, first, second)) = self.repeated() {
            let (first, second) = (self.place(first), self.place(second));
            return Some(format!("`{label}` stands in {first} and in {second}"));
        }
        let empty = self.entries.iter().position(Option::is_none)?;
        Some(format!("it is empty in {}", self.place(empty)))
    }

    /// What to write if the column names the rows, and what if it does not.
    fn help(&self, symbols: &Symbols) -> String {
        let (axis, array) = (&symbols.axis(self.axis).name, &symbols.array(self.piece.array).name);
        let header = self.header;
        let named = match (self.obstacle(), self.is_data) {
            (Some(_), _) => format!("let `{header}` have one line for each {axis}, and call it `{axis}`"),
            (None, true) => format!("call the column `{axis}`"),
            (None, false) => format!("{}, or call the column `{axis}`", columns(array, axis, header)),
        };
        let otherwise = match self.is_data {
            true => "let another column be the first one",
            false => "leave the column out of the file",
        };
        format!(
            "if `{header}` names the {axis}: {named}; if it does not, and the order of the rows is right: {otherwise}"
        )
    }
}

/// What a column says beside the labels of its axis; `None` if it is no key.
fn beside_labels(symbols: &Symbols, pieces: &[Piece], axes: &Axes, key: &Key<'_>) -> Option<Said> {
    let points = |piece: &Piece| symbols.array(piece.array).support == Support::Index(key.axis);
    let is_pointed_at = pieces.iter().any(points);
    let all: Vec<Cow<'_, str>> = match labels_of_rows(symbols, axes, key)? {
        Some(labels) => labels.iter().map(|own| canonical(own)).collect(),
        // Numbers that point at positions name them.
        None if is_pointed_at => (0..key.entries.len()).map(|row| Cow::Owned(row.to_string())).collect(),
        None => return None,
    };
    let known: HashSet<&str> = all.iter().map(Cow::as_ref).collect();
    let count = key.entries.iter().flatten().filter(|own| known.contains(own.as_ref())).count();
    let (present, distinct) = (key.present(), key.distinct().len());
    // Numbers of which several are alike may be anything that is counted.
    let few = if key.is_data { 0 } else { 1 }.max(present / 10);
    let is_key = match (distinct == present, key.is_number()) {
        (true, _) | (false, false) => 2 * count > present && distinct > 1,
        (false, true) => count == present && present - distinct <= few,
    };
    let label_counts =
        |from: usize| all.iter().enumerate().all(|(row, own)| **own == (row + from).to_string());
    // Labels that count the rows, as a frame has by itself, are of others only where these have the same.
    let is_counter = label_counts(0) || label_counts(1);
    if !is_key || is_counter && key.counts() || label_counts(0) && !is_pointed_at && count < present {
        return None;
    }
    let differs = |row: &usize| key.entries[*row].is_some() && key.entries[*row].as_ref() != all.get(*row);
    let Some(row) = (0..key.entries.len()).find(differs) else { return Some(Said::Same) };
    let axis = &symbols.axis(key.axis).name;
    let why =
        key.obstacle().map_or_else(String::new, |own| format!(", which is not taken for labels since {own}"));
    let by_order = all.get(row).map_or("none", |own| own);
    Some(Said::Other(
        DataError::new(format!(
            "{}: the rows of `{}` would be joined by their order, and the column `{}` has labels of `{axis}`{why}: it is {} in {}, \
             and the {axis} in this place is {by_order}",
            key.piece.name(),
            symbols.array(key.piece.array).name,
            key.header,
            key.shown(row),
            key.place(row),
        ))
        .help(key.help(symbols)),
    ))
}

/// The labels that the rows of a table have, if their axis has any; `None` of a group that there is not.
fn labels_of_rows<'a>(symbols: &Symbols, axes: &'a Axes, key: &Key<'_>) -> Option<Option<&'a [String]>> {
    let labels = axes.labels[key.axis.index()].as_deref();
    let Some(parent) = symbols.axis(key.axis).parent else { return Some(labels) };
    let group = axes.find_path(symbols, parent, key.piece.group.as_deref()?)?;
    let starts = axes.bound[key.axis.index()].starts.as_ref()?;
    let (start, end) = (*starts.get(group)?, *starts.get(group + 1)?);
    Some(labels.map(|labels| &labels[start..end]))
}

/// What a column says beside one of another table; `None` if they are not of the same things.
fn beside_another(symbols: &Symbols, key: &Key<'_>, other: &Key<'_>) -> Option<Said> {
    let is_same_name = key.header.eq_ignore_ascii_case(other.header);
    if !is_same_name && !(key.is_first && other.is_first && !(key.is_data && other.is_data)) {
        return None;
    }
    let sorted = |own: &Key<'_>| {
        let mut all: Vec<Option<String>> =
            own.entries.iter().map(|own| own.as_deref().map(str::to_owned)).collect();
        all.sort_unstable();
        all
    };
    let (first, second) = (key.distinct(), other.distinct());
    let rows = key.entries.len();
    let differ = first.len() == rows && second.len() == rows;
    let mostly = 2 * first.len() > rows && 2 * second.len() > rows;
    let is_most = 2 * first.intersection(&second).count() >= first.len().min(second.len());
    let are_names = !key.is_number() && !other.is_number();
    let alike = sorted(key) == sorted(other);
    let is_key = match is_same_name {
        // Columns of data of one name are of one quantity, whose values may be alike by chance.
        true if key.is_data && other.is_data => alike && differ && rows > 3,
        true => alike && first.len() > 1 || is_most && (differ || are_names && mostly),
        false => alike && differ,
    };
    if !is_key {
        return None;
    }
    let Some(row) = (0..rows).find(|row| key.entries[*row] != other.entries[*row]) else {
        return (differ && is_same_name).then_some(Said::Same);
    };
    let name = |key: &Key<'_>| symbols.array(key.piece.array).name.clone();
    let at = |key: &Key<'_>| format!("{} in {} of {}", key.shown(row), key.place(row), key.piece.name());
    let of = match is_same_name {
        true => String::new(),
        false => format!("`{}` is ", other.header),
    };
    let axis = &symbols.axis(key.axis).name;
    let help = match (key.is_data || other.is_data, key.obstacle().or(other.obstacle())) {
        (false, None) => format!(
            "if `{}` names the {axis}: {} and {}, or call the column `{axis}`",
            key.header,
            columns(&name(key), axis, key.header),
            columns(&name(other), axis, other.header),
        ),
        (true, None) => format!("if `{}` names the {axis}, call the column `{axis}` in both", key.header),
        (_, Some(why)) => format!(
            "bring the rows into one order ({why}, so that `{}` alone does not say which is which)",
            key.header
        ),
    };
    Some(Said::Other(
        DataError::new(format!(
            "`{}` and `{}` would be joined by the order of their rows, and these are not the same: `{}` is {} and {of}{}",
            name(key),
            name(other),
            key.header,
            at(key),
            at(other)
        ))
        .help(format!("{help}; if the order is right, leave the column out of one of the files")),
    ))
}

/// The option that takes a column for labels, as it is written in a shell.
fn columns(array: &str, axis: &str, header: &str) -> String {
    match header.contains(char::is_whitespace) {
        true => format!("`--columns '{array}={axis}:{header}'`"),
        false => format!("`--columns {array}={axis}:{header}`"),
    }
}

/// That a key is a column of data.
fn counted_as_data(symbols: &Symbols, key: &Key<'_>) -> String {
    let axis = &symbols.axis(key.axis).name;
    format!(
        "{}: the column `{header}` is read as data of `{}`, and holds labels of `{axis}` (if it names the rows and is no data, call it `{axis}`)",
        key.piece.name(),
        symbols.array(key.piece.array).name,
        header = key.header,
    )
}
