//! The head of a data file: its format, its first lines, and what its columns look like, before anybody says what it is for.

use std::path::Path;

use super::columns::Columns;
use super::records::Records;
use super::stream::Source;
use super::table::{blanks, is_header, is_prose};
use super::{bytes, hdf5, ids, npy, npz, parquet, sqlite, stream, ten_x, texts};
use crate::error::{FileError, count};
use crate::format::{self, Format, Packing};
use crate::packed::{self, PackedSummary};

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
    /// What the rows and the columns are called where such files come from.
    pub axes: Option<[&'static str; 2]>,
    /// Whether it holds texts and nothing else.
    pub is_texts: bool,
    /// The name of the array and the names of its axes, where the file has them.
    pub array: Option<(String, Vec<String>)>,
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
    /// Whether its first entries are texts of several words, which no label is.
    pub is_prose: bool,
}

/// Reads the head of a data file, or of the part of it that is named after a colon.
///
/// # Errors
/// A file that cannot be read, or whose name states no format.
pub fn head(path: &Path, part: Option<&str>) -> Result<Head, FileError> {
    let in_file = |error: FileError| error.in_file(path);
    if path.is_dir() {
        return match ten_x::is_one(path) {
            true => ten_x::summary_of_folder(path).map(of_summary).map_err(in_file),
            false => of_folder(path),
        };
    }
    let (format, packing) = match format::of_path(path).map_err(in_file)? {
        (Format::Hdf5, Packing::Plain) => return hdf5::summary(path, part).map(of_summary).map_err(in_file),
        (Format::Sqlite, _) => {
            let answer = sqlite::answer(path, part).map_err(in_file)?;
            return of_columns("SQLite: a query with", &answer).map_err(in_file);
        }
        (Format::Packed, _) => {
            return packed::summary(path).map(|own| of_packed(&own, part)).map_err(in_file);
        }
        (Format::Parquet, _) if path.is_file() => {
            let columns = parquet::read_file(path).map_err(in_file)?;
            return of_columns("Parquet table,", &columns).map_err(in_file);
        }
        (Format::Table(separator), packing) if stream::suits(path, packing) => {
            return table(Source::File(path, packing), separator, "").map_err(in_file);
        }
        (Format::MatrixMarket, packing) if stream::suits(path, packing) => {
            let text = Source::File(path, packing).beginning(LINES).map_err(in_file)?;
            return Ok(text_file("Matrix Market", &text, Some(2)));
        }
        other => other,
    };
    let bytes = bytes::load(path).and_then(|bytes| bytes::decompress(bytes, packing)).map_err(in_file)?;
    of_bytes(format, &bytes).map_err(in_file)
}

/// The head of a file that says what it holds, its parts as lines.
fn of_summary(summary: hdf5::Summary) -> Head {
    let hdf5::Summary { format, parts, axes, dimensions } = summary;
    Head { format, lines: parts, columns: Vec::new(), dimensions, axes, is_texts: false, array: None }
}

/// The head of packed data: a line an array.
fn of_packed(arrays: &[PackedSummary], part: Option<&str>) -> Head {
    let line = |own: &PackedSummary| {
        let axes: Vec<String> = own.axes.iter().map(|(name, size)| format!("{size} {name}")).collect();
        let form = if own.is_sparse { "listed" } else { "in all" };
        let into = own.points_into.as_ref().map_or_else(String::new, |axis| format!(", positions of {axis}"));
        format!("{}: {}, {} {form}{into}", own.name, axes.join(" x "), count(own.values, "entry"))
    };
    let own = arrays.iter().find(|own| part.is_none_or(|part| own.name == part));
    let array = own.map(|own| (own.name.clone(), own.axes.iter().map(|axis| axis.0.clone()).collect()));
    Head {
        format: format!("packed data of {}", count(arrays.len(), "array")),
        lines: arrays.iter().map(line).collect(),
        columns: Vec::new(),
        dimensions: own.map(|own| own.axes.len()),
        axes: None,
        is_texts: false,
        array,
    }
}

/// The head of a folder of texts: the names of its first files.
fn of_folder(path: &Path) -> Result<Head, FileError> {
    let (files, lines) = texts::first_names(path, LINES)?;
    let format = format!("folder of {}, one document a file", count(files, "text"));
    Ok(Head {
        format,
        lines,
        columns: Vec::new(),
        dimensions: Some(2),
        axes: None,
        is_texts: true,
        array: None,
    })
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
        axes: None,
        is_texts: false,
        array: None,
    };
    Ok(match format {
        Format::Npy => {
            let array = npy::read(bytes)?;
            binary(format!("NumPy array, {}", shape(&array.shape)), array.shape.len())
        }
        Format::Npz => match npz::read(std::io::Cursor::new(bytes))? {
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
        Format::Table(separator) => table(Source::Memory(&bytes::text_of_lines(bytes)?), separator, "")?,
        Format::Blanks => {
            let text = bytes::text_of_lines(bytes)?;
            let by_blanks = !text.lines().next().unwrap_or_default().contains('\t');
            table(Source::Memory(&blanks::tabbed(&text)), b'\t', if by_blanks { "blanks" } else { "" })?
        }
        Format::Hdf5 | Format::Sqlite | Format::Packed => {
            return Err(FileError::new("a file of many parts that is not in a file of its own", "its path"));
        }
        Format::Parquet => {
            of_columns("Parquet table,", &parquet::read(::bytes::Bytes::copy_from_slice(bytes))?)?
        }
    })
}

fn text_file(format: &str, text: &str, dimensions: Option<usize>) -> Head {
    Head {
        format: format.to_owned(),
        lines: first_lines(text),
        columns: Vec::new(),
        dimensions,
        axes: None,
        is_texts: false,
        array: None,
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

/// The head of a table; `by` says what parts its fields, if that is not the separator.
fn table(text: Source<'_>, separator: u8, by: &str) -> Result<Head, FileError> {
    let separator = super::table::separator(text, separator)?;
    let by = match separator {
        _ if !by.is_empty() => by,
        b',' => "commas",
        b';' => "semicolons",
        _ => "tabs",
    };
    let mut records = Records::new(text, separator)?;
    let header = names(&mut records)?;
    let of_columns = count(header.len(), "column");
    let first = text.beginning(LINES)?;
    if header.is_empty() || !is_header(text, separator)? {
        let format = format!("table, fields parted by {by}, {of_columns}, no header");
        return Ok(text_file(&format, &first, None));
    }
    let (columns, rows) = columns_of(&header, records)?;
    let format = format!("table, fields parted by {by}, a header, {of_columns}, {}", count(rows, "line"));
    Ok(Head { columns, ..text_file(&format, &first, None) })
}

/// The fields of the next record, as names.
fn names(records: &mut Records<'_>) -> Result<Vec<String>, FileError> {
    let first = records.next()?;
    let names = first.map(|first| first.fields().map(|field| field.text().into_owned()).collect());
    Ok(names.unwrap_or_default())
}

/// The head of a table of columns in memory, shown as lines parted by commas.
fn of_columns(format: &str, columns: &Columns) -> Result<Head, FileError> {
    let mut records = Records::Columns(columns, 0);
    let mut lines = String::new();
    while lines.lines().count() < LINES
        && let Some(record) = records.next()?
    {
        let cells: Vec<String> = record.fields().map(|field| field.text().replace('\n', " ")).collect();
        lines += &format!("{}\n", cells.join(","));
    }
    let mut records = Records::Columns(columns, 0);
    let header = names(&mut records)?;
    let (heads, rows) = columns_of(&header, records)?;
    let format = format!("{format} {}, {}", count(heads.len(), "column"), count(rows, "row"));
    Ok(Head { columns: heads, ..text_file(&format, &lines, None) })
}

/// So many entries of a column say whether it holds texts.
const LOOKED_AT: usize = 2;

/// What the columns below a header look like, and the number of rows.
fn columns_of(header: &[String], mut records: Records<'_>) -> Result<(Vec<HeadColumn>, usize), FileError> {
    let width = header.len();
    let mut numbers = vec![true; width];
    let mut whole = vec![true; width];
    let mut prose = vec![true; width];
    let (mut rows, mut blank) = (0, 0);
    while let Some(record) = records.next()? {
        // In one column an empty line is a missing entry, unless nothing follows it.
        if record.is_blank() {
            blank += usize::from(width == 1);
            continue;
        }
        rows += 1 + std::mem::take(&mut blank);
        if rows <= LOOKED_AT {
            prose.iter_mut().zip(record.fields()).for_each(|(own, field)| *own &= is_prose(&field));
        }
        for ((is_number, whole), field) in numbers.iter_mut().zip(&mut whole).zip(record.fields()) {
            *is_number = *is_number && field.is_number_or_missing();
            *whole = *whole && field.cell().is_some_and(|value| value >= 0.0 && value.fract() == 0.0);
        }
    }
    let column = |(place, name): (usize, &String)| {
        let name = name.trim().to_owned();
        let identifies = ids::identified(&name, width).filter(|_| whole[place] || !numbers[place]);
        HeadColumn { name, identifies, is_number: numbers[place], is_prose: rows > 0 && prose[place] }
    };
    let columns: Vec<HeadColumn> = header.iter().enumerate().map(column).collect();
    Ok((columns, rows))
}
