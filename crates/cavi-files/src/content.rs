//! What a file holds, in one of four shapes.

use std::path::Path;

use cavi_numerics::Numbers;

use crate::error::{FileError, quote};
use crate::read::{TextReport, steady};

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Every entry of an array.
    Dense(Dense),
    /// Entries at positions: Matrix Market coordinates, FROSTT, SciPy sparse, texts.
    Coordinates(Coordinates),
    /// Entries at labels: a table with a column for each axis.
    Long(Long),
    /// Documents as lists of word and count: LDA-C.
    Documents(Documents),
}

/// Every entry of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// The entries in C order.
    pub values: Values,
    /// The labels of each dimension, where the file has them; no label stands twice in a dimension.
    pub labels: Vec<Option<Vec<String>>>,
    /// What the header of a table calls the column of its row labels; `None` where there is no such name.
    pub rows_are: Option<String>,
    /// Of a table without labels of its rows, the first columns that are no part of the array.
    pub passed_over: Vec<PassedOver>,
    /// Where the entries stand in a text file.
    pub lines: Option<Lines>,
}

impl Dense {
    /// Values in C order, of no text file and without columns beside them; for each dimension its labels, if it has any.
    pub fn new(shape: Vec<usize>, values: Values, labels: Vec<Option<Vec<String>>>) -> Dense {
        Dense { shape, values, labels, rows_are: None, passed_over: Vec::new(), lines: None }
    }
}

/// A column of a table that is no part of the array: it may say which row is which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// What the header calls it.
    pub name: String,
    /// What stands in its rows: texts or whole numbers.
    pub entries: Categories,
}

/// Entries at positions, in the order of the file. Positions count from 0, and may repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    /// The length of each dimension.
    pub shape: Vec<usize>,
    /// Whether the file states `shape`; otherwise it is the least one that holds the entries.
    pub shape_is_exact: bool,
    /// The positions: one column a dimension.
    pub indices: Vec<Numbers<u32>>,
    /// Whether it is known that each entry stands after the one before it, by its positions, the first dimension first.
    pub ascends: bool,
    /// The values; 1 where the format lists positions only.
    pub values: Numbers<f64>,
    /// The labels of each dimension, one for each position; nothing in formats without labels.
    pub labels: Vec<Option<Vec<String>>>,
    /// Of values that are positions of an axis with labels, these: a value v is the label at v, from 0.
    pub value_labels: Option<Vec<String>>,
    /// How the entries were counted, where they are counts of words in texts.
    pub texts: Option<Box<TextReport>>,
    /// Where the entries stand in a text file.
    pub lines: Option<Lines>,
}

/// Entries at labels, in the order of the file. Entries may repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Long {
    /// The labels of each entry: one column a dimension, none of them missing.
    pub positions: Vec<Categories>,
    /// The name of the value column and the values; `None` where only positions were wanted.
    pub values: Option<(String, Values)>,
    /// Where the entries stand.
    pub lines: Lines,
}

/// Documents as lists of id and count. Ids count from 0, and may repeat within a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Documents {
    /// Document `d` has the entries from `offsets[d]` up to `offsets[d + 1]`.
    pub offsets: Vec<usize>,
    /// The ids.
    pub ids: Vec<u32>,
    /// The count of each id.
    pub counts: Vec<f64>,
    /// Where the documents stand.
    pub lines: Lines,
}

/// The cells of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN is missing.
    Numbers(Numbers<f64>),
    /// Text, for arrays whose values are labels.
    Text(Categories),
}

/// A column of text: the distinct entries in order of first appearance, and for each row which one it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Categories {
    /// The distinct entries, in order of first appearance.
    pub names: Vec<String>,
    /// For each row a position in `names`, or [`MISSING`].
    pub codes: Vec<u32>,
}

/// The code of a missing entry of [`Categories`].
pub const MISSING: u32 = u32::MAX;

/// At which lines of a text file the entries of an array stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    entries_per_record: usize,
    records: usize,
    next_line: usize,
    /// Runs of records, each of which stands on the line after the one before it, or all of which stand on one line.
    runs: Vec<Run>,
    /// Whether the last run stands on one line.
    repeats: bool,
    /// The name of the column, where all entries stand in one.
    column: Option<Box<str>>,
}

/// Records from one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: usize,
    /// Twice the line of the first record; one more where all others stand on it too.
    line: usize,
}

impl Content {
    /// The number of entries that the file lists.
    pub fn len(&self) -> usize {
        match self {
            Content::Dense(dense) => dense.values.len(),
            Content::Coordinates(coordinates) => coordinates.values.len(),
            Content::Long(long) => long.lines.records,
            Content::Documents(documents) => documents.ids.len(),
        }
    }

    /// Whether the file lists no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, if they are numbers.
    pub fn numbers(&self) -> Option<&[f64]> {
        let values = match self {
            Content::Dense(dense) => &dense.values,
            Content::Coordinates(coordinates) => return Some(&coordinates.values),
            Content::Long(long) => &long.values.as_ref()?.1,
            Content::Documents(documents) => return Some(&documents.counts),
        };
        match values {
            Values::Numbers(numbers) => Some(numbers),
            Values::Text(_) => None,
        }
    }

    /// The labels of a dimension, where the file has them: of a long table those that occur.
    pub fn labels(&self, dimension: usize) -> Option<&[String]> {
        match self {
            Content::Dense(dense) => dense.labels.get(dimension)?.as_deref(),
            Content::Coordinates(coordinates) => coordinates.labels(dimension),
            Content::Long(long) => Some(&long.positions.get(dimension)?.names),
            Content::Documents(_) => None,
        }
    }

    /// The labels that its values are, where they are labels.
    pub fn labels_of_values(&self) -> Option<&[String]> {
        let values = match self {
            Content::Dense(dense) => &dense.values,
            Content::Long(long) => &long.values.as_ref()?.1,
            Content::Coordinates(coordinates) => return coordinates.value_labels.as_deref(),
            Content::Documents(_) => return None,
        };
        match values {
            Values::Text(categories) => Some(&categories.names),
            Values::Numbers(_) => None,
        }
    }

    /// The line of an entry in a text file.
    pub fn line(&self, entry: usize) -> Option<usize> {
        match self {
            Content::Dense(dense) => dense.lines.as_ref()?.line(entry),
            Content::Coordinates(coordinates) => coordinates.lines.as_ref()?.line(entry),
            Content::Long(long) => long.lines.line(entry),
            Content::Documents(documents) => documents.lines.line(documents.document(entry)),
        }
    }

    /// An error at an entry: with its line in a text file, and otherwise with its position.
    pub fn error_at(
        &self,
        file: &Path,
        entry: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> FileError {
        let mut error = FileError::new(found, expected).in_file(file);
        error.line = self.line(entry);
        match self {
            Content::Dense(dense) if dense.shape.len() == 2 && error.line.is_some() => {
                let width = dense.shape[1].max(1);
                let column = match &dense.labels[1] {
                    Some(labels) => quote(labels[entry % width].as_bytes()),
                    None => format!("{}", entry % width + 1),
                };
                error.in_column(column)
            }
            Content::Long(Long { values: Some((name, _)), .. }) => error.in_column(quote(name.as_bytes())),
            Content::Dense(Dense { shape, lines: Some(Lines { column: Some(name), .. }), .. })
                if shape.len() < 2 =>
            {
                error.in_column(quote(name.as_bytes()))
            }
            Content::Dense(dense) if error.line.is_none() => {
                error.found = format!("{} at entry {:?}", error.found, position(&dense.shape, entry));
                error
            }
            Content::Coordinates(coordinates) if error.line.is_none() => {
                // Who moves the lists away says the position.
                let place = coordinates.indices.iter().map(|column| column.get(entry).copied());
                if let Some(place) = place.collect::<Option<Vec<u32>>>() {
                    error.found = format!("{} at entry {place:?}", error.found);
                }
                error
            }
            Content::Dense(_) | Content::Coordinates(_) | Content::Long(_) | Content::Documents(_) => error,
        }
    }

    /// Refuses infinite values, which no data array may hold.
    pub fn refuse_infinite(&self, file: &Path) -> Result<(), FileError> {
        let values = self.numbers().unwrap_or_default();
        match values.iter().position(|value| value.is_infinite()) {
            None => Ok(()),
            Some(entry) => {
                let found =
                    if values[entry] > 0.0 { "an infinite value" } else { "a value of minus infinity" };
                Err(self.error_at(file, entry, found, "a finite number, or none"))
            }
        }
    }
}

impl Coordinates {
    /// The labels of a dimension, where the file has them.
    pub fn labels(&self, dimension: usize) -> Option<&[String]> {
        self.labels.get(dimension)?.as_deref()
    }
}

impl Documents {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The least number of words that holds every id.
    pub fn words(&self) -> usize {
        self.ids.iter().max().map_or(0, |&id| id as usize + 1)
    }

    /// The document that an entry belongs to.
    pub fn document(&self, entry: usize) -> usize {
        self.offsets.partition_point(|&offset| offset <= entry).saturating_sub(1)
    }

    /// The same counts as a matrix of documents by words, entries in the order of the file.
    pub fn into_coordinates(self) -> Coordinates {
        let shape = vec![self.len(), self.words()];
        let mut rows = Vec::with_capacity(self.ids.len());
        let mut lines = Lines::new(1);
        for (document, range) in self.offsets.windows(2).enumerate() {
            rows.resize(range[1], document as u32);
            let line = self.lines.line(document).unwrap_or_default();
            (range[0]..range[1]).for_each(|_| lines.push(line));
        }
        Coordinates {
            shape,
            shape_is_exact: false,
            indices: vec![rows.into(), self.ids.into()],
            ascends: false,
            values: self.counts.into(),
            labels: Vec::new(),
            value_labels: None,
            texts: None,
            lines: Some(lines),
        }
    }
}

impl Values {
    /// The number of cells.
    pub fn len(&self) -> usize {
        match self {
            Values::Numbers(numbers) => numbers.len(),
            Values::Text(categories) => categories.codes.len(),
        }
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Categories {
    /// The entry of a row; `None` if it is missing.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.names.get(self.codes[row] as usize).map(String::as_str)
    }
}

impl Lines {
    /// No records yet; each will hold this many entries.
    pub(crate) fn new(entries_per_record: usize) -> Lines {
        let (records, next_line, runs) = (0, 0, Vec::new());
        Lines { entries_per_record, records, next_line, runs, repeats: false, column: None }
    }

    /// The same, with the name of the column in which all entries stand.
    pub(crate) fn in_column(mut self, name: Option<String>) -> Lines {
        self.column = name.map(String::into_boxed_str);
        self
    }

    /// One record more, at this line.
    #[inline]
    pub(crate) fn push(&mut self, line: usize) {
        if line != self.next_line {
            self.turn(line);
        }
        self.records += 1;
        self.next_line = line + usize::from(!self.repeats);
    }

    /// The next record stands on another line than the last run would have it: it begins a run, or makes a run of the one before it.
    fn turn(&mut self, line: usize) {
        let records = self.records;
        match self.runs.last_mut().filter(|last| last.first + 1 == records && last.line == 2 * line) {
            Some(last) => last.line += 1,
            None => steady::push(&mut self.runs, Run { first: records, line: 2 * line }),
        }
        self.repeats = self.runs.last().is_some_and(|last| last.line % 2 == 1);
    }

    /// Keeps the lines of some records.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut kept = Lines::new(self.entries_per_record);
        kept.column = self.column.take();
        for (record, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
            kept.push(self.line(record * self.entries_per_record).unwrap_or_default());
        }
        *self = kept;
    }

    /// The line of an entry.
    pub fn line(&self, entry: usize) -> Option<usize> {
        let record = entry.checked_div(self.entries_per_record)?;
        let after = self.runs.partition_point(|run| run.first <= record);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let further = if run.line % 2 == 1 { 0 } else { record - run.first };
        (record < self.records).then_some(run.line / 2 + further)
    }
}

/// The position of an entry, given its place in C order.
fn position(shape: &[usize], entry: usize) -> Vec<usize> {
    let mut rest = entry;
    let mut place: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&length| {
            let index = rest % length.max(1);
            rest /= length.max(1);
            index
        })
        .collect();
    place.reverse();
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_records_are_recovered() {
        let mut lines = Lines::new(2);
        for line in [2, 3, 4, 7, 8, 8] {
            lines.push(line);
        }
        let found: Vec<_> = (0..12).step_by(2).map(|entry| lines.line(entry)).collect();
        assert_eq!(found, [2, 3, 4, 7, 8, 8].map(Some));
        assert_eq!(lines.line(1), Some(2));
        assert_eq!(lines.line(12), None);
        assert_eq!(Lines::new(0).line(0), None);
    }

    #[test]
    fn records_of_one_line_are_one_run() {
        for all in [
            vec![1; 7],
            [vec![3; 5], vec![4; 3], vec![5], vec![6], vec![6; 2], vec![9]].concat(),
            vec![2, 2, 3, 3, 4, 4],
        ] {
            let mut lines = Lines::new(1);
            all.iter().for_each(|line| lines.push(*line));
            let found: Vec<usize> = (0..all.len()).filter_map(|entry| lines.line(entry)).collect();
            assert_eq!(found, all);
            assert!(lines.runs.len() <= 5, "{:?}", lines.runs);
        }
    }

    #[test]
    fn a_place_in_c_order_is_a_position() {
        assert_eq!(position(&[2, 3, 4], 23), [1, 2, 3]);
        assert_eq!(position(&[2, 3, 4], 5), [0, 1, 1]);
        assert!(position(&[], 0).is_empty());
    }
}
