//! The head of a data file: its format, its first lines, and what its columns look like, before anybody says what it is for.

use std::path::Path;

use super::number::number;
use super::records::{Field, Records, is_blank};
use super::table::is_header;
use super::{bytes, ids, npy, npz, texts};
use crate::error::{FileError, count};
use crate::format::{self, Format};

/// So many lines are shown.
const LINES: usize = 4;
/// So many characters of a line are shown.
const WIDTH: usize = 100;

/// What stands at the head of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The format in words.
    pub format: String,
    /// The first lines of a text file, long ones cut.
    pub lines: Vec<String>,
    /// The columns of a table with a header.
    pub columns: Vec<HeadColumn>,
    /// How many dimensions the file has, where the format says so.
    pub dimensions: Option<usize>,
    /// Whether it holds texts and nothing else.
    pub is_texts: bool,
}

/// A column of a table with a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadColumn {
    /// Its name.
    pub name: String,
    /// What an id identifies, by the name of the column; `None` for one that is no id.
    pub identifies: Option<String>,
    /// Whether all of its entries are numbers or missing.
    pub is_number: bool,
}

/// Reads the head of a data file.
///
/// # Errors
/// A file that cannot be read, or whose name states no format.
pub fn head(path: &Path) -> Result<Head, FileError> {
    let in_file = |error: FileError| error.in_file(path);
    if path.is_dir() && !texts::is_ten_x(path) {
        return of_folder(path);
    }
    let (format, packing) = format::of_path(path).map_err(in_file)?;
    let bytes = bytes::load(path).and_then(|bytes| bytes::decompress(bytes, packing)).map_err(in_file)?;
    of_bytes(format, &bytes).map_err(in_file)
}

/// The head of a folder of texts: the names of its first files.
fn of_folder(path: &Path) -> Result<Head, FileError> {
    let (files, lines) = texts::first_names(path, LINES)?;
    let format = format!("folder of {}, one document a file", count(files, "text"));
    Ok(Head { format, lines, columns: Vec::new(), dimensions: Some(2), is_texts: true })
}

fn of_bytes(format: Format, bytes: &[u8]) -> Result<Head, FileError> {
    let shape = |shape: &[usize]| {
        let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
        if sizes.is_empty() { "a single number".to_owned() } else { sizes.join(" x ") }
    };
    let binary = |format: String, dimensions: usize| Head {
        format,
        lines: Vec::new(),
        columns: Vec::new(),
        dimensions: Some(dimensions),
        is_texts: false,
    };
    Ok(match format {
        Format::Npy => {
            let array = npy::read(bytes)?;
            binary(format!("NumPy array, {}", shape(&array.shape)), array.shape.len())
        }
        Format::Npz => match npz::read(bytes)? {
            npz::Archive::Sparse(sparse) => {
                let entries = count(sparse.values.len(), "entry");
                binary(
                    format!("SciPy sparse matrix, {}, {entries}", shape(&sparse.shape)),
                    sparse.shape.len(),
                )
            }
            npz::Archive::Array(array) => {
                binary(format!("NumPy array in an archive, {}", shape(&array.shape)), array.shape.len())
            }
        },
        Format::MatrixMarket => text_file("Matrix Market", bytes::text(bytes)?, Some(2)),
        Format::LdaC => text_file("LDA-C: a document a line, `N id:count ...`", bytes::text(bytes)?, Some(2)),
        Format::Frostt => {
            let text = bytes::text(bytes)?;
            let entry =
                text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
            let fields = entry.map_or(0, |line| line.split_whitespace().count());
            text_file("FROSTT tensor: positions from 1, then the value", text, fields.checked_sub(1))
        }
        Format::Lines => {
            let text = bytes::text(bytes)?;
            let documents = text.trim_end_matches(['\n', '\r']).lines().count();
            let format = format!("texts, one document a line, {}", count(documents, "line"));
            Head { is_texts: true, ..text_file(&format, text, Some(2)) }
        }
        Format::Table(separator) => table(bytes::text(bytes)?, separator)?,
    })
}

fn text_file(format: &str, text: &str, dimensions: Option<usize>) -> Head {
    Head {
        format: format.to_owned(),
        lines: first_lines(text),
        columns: Vec::new(),
        dimensions,
        is_texts: false,
    }
}

fn first_lines(text: &str) -> Vec<String> {
    let shown = |line: &str| -> String {
        let more = if line.chars().nth(WIDTH).is_some() { "..." } else { "" };
        let cut: String = line.chars().take(WIDTH).filter(|own| *own == '\t' || !own.is_control()).collect();
        cut + more
    };
    text.lines().take(LINES).map(shown).collect()
}

fn table(text: &str, separator: u8) -> Result<Head, FileError> {
    let by = if separator == b',' { "commas" } else { "tabs" };
    let mut records = Records::new(text, separator);
    let mut header: Vec<Field<'_>> = Vec::new();
    records.next(&mut header)?;
    let width = header.len();
    let of_columns = count(width, "column");
    if header.is_empty() || !is_header(&header, &records)? {
        let format = format!("table, fields parted by {by}, {of_columns}, no header");
        return Ok(text_file(&format, text, None));
    }
    let mut numbers = vec![true; width];
    let mut whole = vec![true; width];
    let mut rows = 0;
    let mut fields = Vec::new();
    while records.next(&mut fields)?.is_some() {
        if is_blank(&fields) {
            continue;
        }
        rows += 1;
        for ((is_number, whole), field) in numbers.iter_mut().zip(&mut whole).zip(&fields) {
            *is_number = *is_number && field.is_number_or_missing();
            *whole = *whole
                && number(field.trimmed().as_bytes())
                    .is_some_and(|value| value >= 0.0 && value.fract() == 0.0);
        }
    }
    let column = |(place, field): (usize, &Field<'_>)| {
        let name = field.text().trim().to_owned();
        let identifies = ids::identified(&name, width).filter(|_| whole[place] || !numbers[place]);
        HeadColumn { name, identifies, is_number: numbers[place] }
    };
    let columns = header.iter().enumerate().map(column).collect();
    let format = format!("table, fields parted by {by}, a header, {of_columns}, {}", count(rows, "line"));
    Ok(Head { columns, ..text_file(&format, text, None) })
}
