//! Files to arrays: one format a file.

use std::path::Path;

use crate::content::{Content, Dense, Values};
use crate::error::{FileError, count, quote};
use crate::format::{self, Format, Packing};
use crate::packed::{self, Declared};
use columns::Columns;
use npy::DenseArray;
use stream::{Bytes, Source};
pub(crate) use ten_x::is_one as is_ten_x;
use texts::TextReading;
pub use texts::TextReport;

pub(crate) mod bytes;
mod number;
pub(crate) mod steady;
mod stream;
mod words;

mod frostt;
pub(crate) mod hdf5;
mod lda_c;
mod matrix_market;
pub(crate) mod npy;
mod npz;

mod collector;
pub(crate) mod columns;
pub(crate) mod head;
mod ids;
mod parquet;
mod records;
mod sqlite;
mod table;
mod ten_x;
pub(crate) mod texts;

mod labels;
mod unique;
pub(crate) mod whole;

/// What the caller knows about the array that a file is bound to. Only text tables need more than the number of
/// dimensions.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// The dimensions of the array in the order of the file: rows, columns, and so on.
    pub dimensions: &'a [Dimension<'a>],
    /// The name of the array, by which a file of several knows it, and where several columns of a table may hold its values, the column of this
    /// name does; empty where there is none.
    pub name: &'a str,
    /// Where the lists of a file are kept that may be larger than memory: those of Matrix Market and FROSTT. `None` in memory.
    pub spill: Option<&'a Path>,
    /// What the cells of a table are.
    pub wanted: Wanted,
    /// What stands after the name of the file and a colon: a column of a table, a matrix of an annotated one, a query of a
    /// database, a kind of features.
    pub column: Option<&'a str>,
    /// Which columns of a table are which dimensions, and which is the value, as in `--columns`.
    pub columns: &'a [ColumnOf<'a>],
    /// Whether a table is rows by columns, whatever its header looks like.
    pub is_wide: bool,
    /// Whether the first column of such a table holds the names of its rows where they may be names: below a header, none empty and none twice.
    /// Without it whole numbers below a name that is not that of an axis are numbers.
    pub is_named: bool,
    /// Whether labels of genes and cells that stand twice are kept apart.
    pub unique: bool,
    /// Whether the dimensions are those of the program the other way round, as `--transpose` has them.
    pub is_turned: bool,
    /// How texts are read, if the array may hold their counts.
    pub texts: Option<TextReading<'a>>,
    /// What the program declares of the entries, which packed data have to have been packed under.
    pub declared: Option<Declared>,
    /// Whether labels are those that the file has, in its own spelling of numbers.
    pub as_written: bool,
}

/// A dimension of an array, as the header of a table may name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension<'a> {
    /// The name of the axis.
    pub axis: &'a str,
    /// The letter of the dimension, where its axis has several letters.
    pub letter: Option<&'a str>,
}

/// What the cells of an array are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Numbers.
    #[default]
    Numbers,
    /// Labels of some axis, as text. Formats other than tables hold the positions of labels, as numbers; in a table an
    /// entry `-1` is text as any other, since it may be a label.
    Text,
    /// No values: the file lists positions. Values are read all the same in formats in which they cannot be told from
    /// positions.
    Positions,
    /// Positions, and numbers where there are numbers: in a long table the one column more, or of several the one that bears the name of the array, if it
    /// begins with a number.
    Optional,
}

impl Wanted {
    /// Whether a file may list positions alone.
    pub fn may_lack_values(self) -> bool {
        matches!(self, Wanted::Positions | Wanted::Optional)
    }
}

/// One entry of `--columns`: the column of a dimension or of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnOf<'a> {
    /// The name of an axis, a letter, or `value`.
    pub role: &'a str,
    /// The name of the column.
    pub column: &'a str,
}

/// Reads a data file, whose suffix states its format. Its labels that are numbers have one spelling, see [`canonical`](whole::canonical): `2` for `2.0`.
pub fn read(path: &Path, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    as_written(path, options).map(|content| spelled(content, options))
}

/// Content with one spelling of its labels, where they are not wanted as they stand.
fn spelled(content: Content, options: &ReadOptions<'_>) -> Content {
    if options.as_written { content } else { whole::canonical(content) }
}

/// Reads a data file with its labels as they stand there.
fn as_written(path: &Path, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let in_file = |error: FileError| error.in_file(path);
    if path.is_dir() {
        return folder(path, options).map_err(|error| match error.file.as_os_str().is_empty() {
            true => in_file(error),
            false => error,
        });
    }
    // The suffix is checked before the file is read, since a file of an unknown format cannot be used.
    match format::of_path(path).map_err(in_file)? {
        (Format::Hdf5, Packing::Plain) => return hdf5::read(path, options).map_err(in_file),
        (Format::Sqlite, _) if !format::is_standard_input(path) => {
            return sqlite::read(path, options).map_err(in_file);
        }
        (Format::Packed, _) if !format::is_standard_input(path) => {
            refuse_columns(&ReadOptions { column: None, ..*options }).map_err(in_file)?;
            return packed::read(path, options).map_err(in_file);
        }
        (Format::Npy, Packing::Plain) if path.is_file() => {
            refuse_columns(options).map_err(in_file)?;
            let array = npy_file(path).map_err(in_file)?;
            return dense(array, options.dimensions).map_err(in_file);
        }
        (Format::Parquet, Packing::Plain) if path.is_file() => {
            let columns = parquet::read_file(path).map_err(in_file)?;
            return table::read_columns(columns, options).map_err(in_file);
        }
        (Format::Npz, Packing::Plain) if path.is_file() => {
            refuse_columns(options).map_err(in_file)?;
            let file = std::fs::File::open(path).map_err(|error| in_file(bytes::refused(&error)))?;
            if file.metadata().is_ok_and(|own| own.len() == 0) {
                return Err(in_file(FileError::new("an empty file", "data")));
            }
            return archive(std::io::BufReader::new(file), options.dimensions).map_err(in_file);
        }
        (Format::Table(separator), packing) if stream::suits(path, packing) => {
            return table::read(Source::File(path, packing), separator, options).map_err(in_file);
        }
        (format @ (Format::MatrixMarket | Format::Frostt | Format::LdaC), packing)
            if stream::suits(path, packing) =>
        {
            let is_empty = stream::is_empty(path, packing).map_err(in_file)?;
            let bytes = if is_empty { Bytes::Memory(&[]) } else { Bytes::File(path, packing) };
            return words(format, bytes, options).map_err(in_file);
        }
        _ => {}
    }
    read_from(path, bytes::load(path).map_err(in_file)?, options)
}

/// Reads a file of one array.
fn npy_file(path: &Path) -> Result<DenseArray, FileError> {
    let file = std::fs::File::open(path).map_err(|error| bytes::refused(&error))?;
    let length = file.metadata().map_err(|error| bytes::refused(&error))?.len();
    if length == 0 {
        return Err(FileError::new("an empty file", "data"));
    }
    npy::read_file(file, usize::try_from(length).unwrap_or(usize::MAX))
}

/// Reads lines of words.
fn words(format: Format, bytes: Bytes<'_>, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    refuse_columns(options)?;
    if matches!(bytes, Bytes::Memory([])) {
        return Err(FileError::new("an empty file", "data"));
    }
    let dimensions = options.dimensions;
    match format {
        Format::MatrixMarket => matrix_market::read(bytes, dimensions, options.spill),
        Format::Frostt if dimensions.is_empty() => {
            Err(FileError::new("a tensor", expected_dimensions(dimensions)))
        }
        Format::Frostt => frostt::read(bytes, dimensions, options.wanted, options.spill),
        _ => {
            check_dimensions(2, dimensions)?;
            lda_c::read(bytes).map(Content::Documents)
        }
    }
}

/// Reads the bytes of a data file. Its name states the format and stands in messages; no file is opened.
pub fn read_from(name: &Path, bytes: Vec<u8>, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    let in_file = |error: FileError| error.in_file(name);
    let (format, packing) = format::of_path(name).map_err(in_file)?;
    let bytes = bytes::decompress(bytes, packing).map_err(in_file)?;
    parse(format, &bytes, options).map(|content| spelled(content, options)).map_err(in_file)
}

/// Reads a table that is in memory as columns, by the rules of a file with these names in its header; `name` stands in messages. Row `r`, from 0,
/// is line `r + 2`.
///
/// # Errors
/// As [`read`]; columns of another length than the table, or of another number than its names.
pub fn read_columns(name: &Path, columns: &Columns, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    columns
        .check()
        .and_then(|()| table::read_columns(columns.clone(), options).map(|content| spelled(content, options)))
        .map_err(|error| error.in_file(name))
}

/// Reads a folder of texts, or one as 10x pipelines write it.
fn folder(path: &Path, options: &ReadOptions<'_>) -> Result<Content, FileError> {
    if ten_x::is_one(path) {
        return ten_x::read(path, options);
    }
    refuse_columns(options)?;
    texts::folder(path, texts_wanted("a directory", options)?)
}

/// How texts are read; an error where the array cannot hold their counts.
fn texts_wanted<'o>(found: &str, options: &'o ReadOptions<'_>) -> Result<&'o TextReading<'o>, FileError> {
    options.texts.as_ref().ok_or_else(|| {
        FileError::new(found, format!("a file that ends in {}", format::SUFFIXES))
            .with_help("texts are read for data of two axes whose values are numbers: documents by words")
    })
}

/// Refuses names of columns for a file without columns.
fn refuse_columns(options: &ReadOptions<'_>) -> Result<(), FileError> {
    if options.column.is_none() && options.columns.is_empty() {
        return Ok(());
    }
    Err(FileError::new(
        "a file without columns",
        "a table (.csv, .tsv, .parquet or the answer of a database), since columns are named",
    ))
}

fn parse(format: Format, bytes: &[u8], options: &ReadOptions<'_>) -> Result<Content, FileError> {
    if !matches!(format, Format::Table(_) | Format::Blanks | Format::Parquet | Format::Hdf5) {
        refuse_columns(options)?;
    }
    if bytes.is_empty() {
        return Err(FileError::new("an empty file", "data"));
    }
    let dimensions = options.dimensions;
    match format {
        Format::MatrixMarket | Format::Frostt | Format::LdaC => words(format, Bytes::Memory(bytes), options),
        Format::Npy => dense(npy::read(bytes)?, dimensions),
        Format::Npz => archive(std::io::Cursor::new(bytes), dimensions),
        Format::Table(separator) => {
            table::read(Source::Memory(&bytes::text_of_lines(bytes)?), separator, options)
        }
        Format::Blanks => {
            let text = bytes::text_of_lines(bytes)?;
            let tabbed = table::blanks::tabbed(&text);
            table::read(Source::Memory(&tabbed), b'\t', options).map_err(|error| match error.help {
                Some(_) => error,
                None => error.with_help("`--data NAME=lines:FILE` reads texts, one document a line"),
            })
        }
        Format::Parquet => {
            table::read_columns(parquet::read(::bytes::Bytes::copy_from_slice(bytes))?, options)
        }
        Format::Hdf5 => hdf5::read_bytes(bytes, options),
        Format::Sqlite => Err(FileError::new("a database that is no file", "a database in a file")),
        Format::Packed => {
            Err(FileError::new("packed data that are no file", "a file, since packed data are mapped"))
        }
        Format::Lines => {
            let reading = texts_wanted("one document a line", options)?;
            texts::lines(&bytes::text_of_lines(bytes)?, reading)
        }
    }
}

/// Reads a file of text in UTF-8, whatever its name.
///
/// # Errors
/// Besides those of the system: a directory, a device, what memory does not hold, and bytes that are no text, at their line.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = bytes::load(path).map_err(|error| error.in_file(path))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        FileError::new("bytes that are not UTF-8", "text in UTF-8").at_line(line).in_file(path)
    })
}

/// Reads an array of numbers from an `.npy` or `.npy.gz` file, whatever its number of dimensions.
pub fn read_npy(path: &Path) -> Result<DenseArray, FileError> {
    let in_file = |error: FileError| error.in_file(path);
    match format::of_path(path).map_err(in_file)? {
        (Format::Npy, Packing::Plain) if path.is_file() => npy_file(path).map_err(in_file),
        (Format::Npy, packing) => bytes::load(path)
            .and_then(|bytes| bytes::decompress(bytes, packing))
            .and_then(|bytes| npy::read(&bytes))
            .map_err(in_file),
        _ => Err(in_file(FileError::new("a file that is no NumPy array", "a file that ends in .npy"))),
    }
}

/// Reads all arrays of an `.npz` file with their keys, in the order of the file.
pub fn read_npz_arrays(path: &Path) -> Result<Vec<(String, DenseArray)>, FileError> {
    bytes::load(path).and_then(|bytes| npz::read_arrays(&bytes)).map_err(|error| error.in_file(path))
}

/// Reads a file of labels, one a line, or those of a column of a table, `FILE:COLUMN`. No label may stand twice.
///
/// A column is named as in the first line, or by its number from 1; of a number, the first line is no header. Numbers have
/// one spelling, as in [`read`].
pub fn read_labels(path: &Path) -> Result<Vec<String>, FileError> {
    let mut labels = labels_as_written(path)?;
    whole::list(&mut labels);
    Ok(labels)
}

/// Reads a file with a label for each row, one a line, in the order of the rows: a label stands as often as rows have it, and an empty line is a row
/// without one. Numbers have one spelling, as in [`read`].
pub fn read_labels_of_rows(path: &Path) -> Result<Vec<String>, FileError> {
    let text = |bytes: Vec<u8>| labels::of_rows(&bytes::text_of_lines(&bytes)?);
    let read = bytes::load(path).and_then(|bytes| bytes::decompress(bytes, format::packing(path)));
    let mut labels = read.and_then(text).map_err(|error| error.in_file(path))?;
    whole::list(&mut labels);
    Ok(labels)
}

fn labels_as_written(path: &Path) -> Result<Vec<String>, FileError> {
    if let (file, Some(column)) = format::split_column(&path.to_string_lossy())
        && !path.exists()
    {
        return labels_of_column(&file, &column).map_err(|error| error.in_file(&file));
    }
    bytes::load(path)
        .and_then(|bytes| bytes::decompress(bytes, format::packing(path)))
        .and_then(|bytes| labels::read(&bytes::text_of_lines(&bytes)?))
        .map_err(|error| error.in_file(path))
}

/// The labels in a column of a table.
fn labels_of_column(path: &Path, column: &str) -> Result<Vec<String>, FileError> {
    let (format, packing) = format::of_path(path)?;
    let bytes = bytes::load(path).and_then(|bytes| bytes::decompress(bytes, packing))?;
    match format {
        Format::Table(separator) => labels::column(&bytes::text_of_lines(&bytes)?, separator, column),
        Format::Blanks => labels::column(&bytes::text_of_lines(&bytes)?, b'\t', column),
        _ => Err(FileError::new(
            "labels in a file that is no table of text",
            "one that ends in .csv, .tsv or .txt",
        )),
    }
}

/// A sparse matrix or an array in an archive.
fn archive(
    bytes: impl std::io::Read + std::io::Seek,
    dimensions: &[Dimension<'_>],
) -> Result<Content, FileError> {
    match npz::read(bytes)? {
        npz::Archive::Sparse(coordinates) => {
            check_dimensions(coordinates.shape.len(), dimensions)?;
            Ok(Content::Coordinates(coordinates))
        }
        npz::Archive::Array(array) => dense(array, dimensions),
    }
}

/// An array of a binary file, which has no labels.
fn dense(array: DenseArray, dimensions: &[Dimension<'_>]) -> Result<Content, FileError> {
    check_dimensions(array.shape.len(), dimensions)?;
    let labels = vec![None; array.shape.len()];
    Ok(Content::Dense(Dense::new(array.shape, Values::Numbers(array.values.into()), labels)))
}

/// Refuses a file that has another number of dimensions than the array.
fn check_dimensions(found: usize, dimensions: &[Dimension<'_>]) -> Result<(), FileError> {
    if found == dimensions.len() {
        return Ok(());
    }
    Err(FileError::new(format!("an array of {}", count(found, "dimension")), expected_dimensions(dimensions)))
}

/// The dimensions of an array in words.
fn expected_dimensions(dimensions: &[Dimension<'_>]) -> String {
    if dimensions.is_empty() {
        return "a single number".to_owned();
    }
    let names: Vec<String> = dimensions.iter().map(|dimension| quote(dimension.axis.as_bytes())).collect();
    format!("{}, {}", count(names.len(), "dimension"), names.join(" by "))
}
