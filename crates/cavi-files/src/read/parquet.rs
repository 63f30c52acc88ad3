//! Parquet tables: columns of numbers and text, read one after another.
//!
//! Numbers keep their values: whole ones are whole, single precision is widened, truth is 1 or 0. A null is missing. What is
//! nested, repeated, or neither a number nor text may stand in the file, but not be read.
//!
//! # Source
//! Apache Parquet, <https://parquet.apache.org/docs/file-format/>.

use std::collections::HashMap;
use std::panic::UnwindSafe;
use std::path::Path;

use parquet::basic::{Compression, ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::bytes::memory_for;
use super::columns::{Column, Columns, mark};
use super::number::POWERS;
use super::steady;
use crate::content::{Categories, MISSING};
use crate::error::{FileError, quote};

/// So many rows are decoded at a time.
const ROWS: usize = if cfg!(fuzzing) { 5 } else { 8192 };
/// How pandas calls the column of an index without a name.
const ROW_LABELS: &str = "__index_level_0__";

/// Reads all columns.
///
/// The decoder of pages panics on some files that are damaged. No state of ours is shared with it, so that its panic ends here, as
/// an error of the file.
pub(super) fn read(source: impl ChunkReader + UnwindSafe + 'static) -> Result<Columns, FileError> {
    std::panic::catch_unwind(|| decode(source)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("it is damaged");
        Err(damaged(&ParquetError::General(said.to_owned())))
    })
}

/// Reads all columns of a file that is opened here.
pub(super) fn read_file(path: &Path) -> Result<Columns, FileError> {
    let file = std::fs::File::open(path).map_err(|error| super::bytes::refused(&error))?;
    match file.metadata().map_err(|error| super::bytes::refused(&error))?.len() {
        0 => Err(FileError::new("an empty file", "data")),
        _ => read(file),
    }
}

fn decode(source: impl ChunkReader + 'static) -> Result<Columns, FileError> {
    let length = whole(i64::try_from(source.len()).unwrap_or(i64::MAX));
    let start = source.get_bytes(0, length.min(4)).map_err(|error| damaged(&error))?;
    if start != b"PAR1"[..] {
        return Err(FileError::new("a file that does not start as Parquet does", "a Parquet file"));
    }
    let reader = SerializedFileReader::new(source).map_err(|error| damaged(&error))?;
    refuse_compression(&reader)?;
    refuse_places(&reader, length)?;
    refuse_size(&reader)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let all: Vec<_> = (0..schema.num_columns()).map(|place| schema.column(place)).collect();
    let mut names: Vec<String> = all.iter().map(|own| own.path().string()).collect();
    let mut cells: Vec<Cells> = all.iter().map(|own| Cells::of(own)).collect();
    let in_column = |place: usize| quote(names[place].as_bytes());
    // A group of rows takes room for all columns where it is opened, so that each is opened once.
    for group in 0..reader.num_row_groups() {
        let opened = reader.get_row_group(group).map_err(|error| damaged(&error))?;
        for (place, cells) in
            cells.iter_mut().enumerate().filter(|(_, own)| !matches!(own, Cells::Refused(_)))
        {
            let stated = whole(reader.metadata().row_group(group).column(place).num_values());
            let read = opened.get_column_reader(place);
            let read = read.and_then(|column| cells.extend(column, all[place].max_def_level(), stated));
            read.map_err(|error| damaged(&error).in_column(in_column(place)))?;
        }
    }
    let mut rows = None;
    let mut columns = Vec::with_capacity(cells.len());
    for cells in cells {
        if !matches!(cells, Cells::Refused(_)) {
            let own = cells.len();
            if *rows.get_or_insert(own) != own {
                return Err(FileError::new("columns of different lengths", "a complete Parquet file"));
            }
        }
        columns.push(cells.finish());
    }
    if names.is_empty() {
        return Err(FileError::new("a Parquet file without columns", "a table"));
    }
    // The index of a data frame comes first, as in a text table. Without a name of its own it has none here.
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let pandas = metadata.into_iter().flatten().find(|own| own.key == "pandas");
    let mut index = index_columns(pandas.and_then(|own| own.value.as_deref()).unwrap_or_default());
    if index.is_empty() {
        index.push(ROW_LABELS.to_owned());
    }
    for own in index.iter().rev() {
        let Some(place) = names.iter().position(|name| name == own) else { continue };
        let name = names.remove(place);
        names.insert(0, if name == ROW_LABELS { String::new() } else { name });
        let labels = columns.remove(place);
        columns.insert(0, labels);
    }
    Ok(Columns { names, columns, rows: rows.unwrap_or(0) })
}

/// The columns that hold the index of a data frame, by what pandas writes of it into the file. An index that only counts is no column.
fn index_columns(pandas: &str) -> Vec<String> {
    let Ok(own) = serde_json::from_str::<serde_json::Value>(pandas) else { return Vec::new() };
    let columns = own.get("index_columns").and_then(serde_json::Value::as_array);
    columns.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn damaged(error: &ParquetError) -> FileError {
    FileError::new(format!("a Parquet file that cannot be read ({error})"), "a complete Parquet file")
}

/// Refuses codecs that are not built in, with what to write instead.
fn refuse_compression(reader: &SerializedFileReader<impl ChunkReader + 'static>) -> Result<(), FileError> {
    let groups = reader.metadata().row_groups().iter();
    for column in groups.flat_map(|group| group.columns()) {
        match column.compression() {
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) => {}
            other => {
                let name = other.to_string();
                let name = name.split('(').next().unwrap_or_default();
                return Err(FileError::new(
                    format!("a Parquet file compressed by {name}"),
                    "one compressed by Snappy or gzip, or not at all",
                )
                .with_help(
                    "`compression=\"snappy\"` in `to_parquet` of pandas and `write_parquet` of Polars writes one",
                ));
            }
        }
    }
    Ok(())
}

/// Refuses columns that lie outside of the file, which the reader takes for granted.
fn refuse_places(
    reader: &SerializedFileReader<impl ChunkReader + 'static>,
    length: usize,
) -> Result<(), FileError> {
    let groups = reader.metadata().row_groups().iter();
    for column in groups.flat_map(|group| group.columns()) {
        let size = column.compressed_size();
        let starts = [Some(column.data_page_offset()), column.dictionary_page_offset()];
        let is_inside = |start: i64| {
            let end = start.checked_add(size).and_then(|end| usize::try_from(end).ok());
            start >= 0 && size >= 0 && end.is_some_and(|end| end <= length)
        };
        // Pages follow each other, the dictionary first, so that only the first start is that of all of them.
        let first = starts.into_iter().flatten().min().unwrap_or(0);
        if !is_inside(first) || starts.into_iter().flatten().any(|start| start < 0) {
            return Err(FileError::new("a column outside of the file", "a complete Parquet file"));
        }
    }
    Ok(())
}

/// A number that the file states; one below 0 is too large for everything.
fn whole(stated: i64) -> usize {
    usize::try_from(stated).unwrap_or(usize::MAX)
}

/// Refuses a table that memory does not hold: by what it states to inflate to, and by its rows, of which a page may repeat one many
/// times in a few bytes.
fn refuse_size(reader: &SerializedFileReader<impl ChunkReader + 'static>) -> Result<(), FileError> {
    let groups = reader.metadata().row_groups();
    let cells = groups.iter().flat_map(|group| group.columns()).map(|column| whole(column.num_values()));
    let cells = cells.fold(0, usize::saturating_add);
    memory_for(cells.saturating_mul(size_of::<f64>()), "a table")?;
    // Pages are inflated one after another.
    let pages =
        groups.iter().flat_map(|group| group.columns()).map(|column| whole(column.uncompressed_size()));
    memory_for(pages.max().unwrap_or(0), "a column")
}

/// The cells of a column, as far as they are read.
enum Cells {
    Whole {
        values: Vec<i64>,
        missing: Vec<bool>,
        unsigned: bool,
    },
    /// Whole numbers over a power of ten.
    Decimal {
        values: Vec<f64>,
        scale: usize,
    },
    Numbers(Vec<f64>),
    Truths(Vec<Option<bool>>),
    Text(Texts),
    Refused(String),
}

#[derive(Default)]
struct Texts {
    names: Vec<String>,
    code_of: HashMap<Box<[u8]>, u32>,
    codes: Vec<u32>,
    /// The first entry that is no text.
    wrong: Option<usize>,
}

impl Cells {
    fn of(descriptor: &ColumnDescriptor) -> Cells {
        use parquet::basic::Type;
        let refused = |what: &str| Cells::Refused(what.to_owned());
        if descriptor.max_rep_level() > 0 {
            return refused("a list in each row");
        }
        if descriptor.path().parts().len() > 1 || descriptor.max_def_level() > 1 {
            return refused("values within values");
        }
        let (logical, converted) = (descriptor.logical_type_ref(), descriptor.converted_type());
        if matches!(
            logical,
            Some(LogicalType::Date | LogicalType::Time { .. } | LogicalType::Timestamp { .. })
        ) || matches!(
            converted,
            ConvertedType::DATE
                | ConvertedType::TIME_MILLIS
                | ConvertedType::TIME_MICROS
                | ConvertedType::TIMESTAMP_MILLIS
                | ConvertedType::TIMESTAMP_MICROS
                | ConvertedType::INTERVAL
        ) {
            return refused("dates or times");
        }
        let decimal =
            matches!(logical, Some(LogicalType::Decimal { .. })) || converted == ConvertedType::DECIMAL;
        let scale = usize::try_from(descriptor.type_scale()).unwrap_or(usize::MAX);
        let unsigned = matches!(logical, Some(LogicalType::Integer(own)) if !own.is_signed)
            || matches!(
                converted,
                ConvertedType::UINT_8
                    | ConvertedType::UINT_16
                    | ConvertedType::UINT_32
                    | ConvertedType::UINT_64
            );
        match descriptor.physical_type() {
            // Fifteen digits and these powers of ten are exact in double precision.
            Type::INT32 | Type::INT64 | Type::FIXED_LEN_BYTE_ARRAY | Type::BYTE_ARRAY
                if decimal && descriptor.type_precision() <= 15 && scale < POWERS.len() =>
            {
                Cells::Decimal { values: Vec::new(), scale }
            }
            _ if decimal => refused("decimal numbers of many digits"),
            Type::INT32 | Type::INT64 => Cells::Whole { values: Vec::new(), missing: Vec::new(), unsigned },
            Type::BOOLEAN => Cells::Truths(Vec::new()),
            Type::FLOAT | Type::DOUBLE => Cells::Numbers(Vec::new()),
            Type::BYTE_ARRAY => Cells::Text(Texts::default()),
            Type::INT96 => refused("dates or times"),
            Type::FIXED_LEN_BYTE_ARRAY => refused("bytes of a fixed length"),
        }
    }

    fn len(&self) -> usize {
        match self {
            Cells::Whole { values, .. } => values.len(),
            Cells::Decimal { values, .. } | Cells::Numbers(values) => values.len(),
            Cells::Truths(values) => values.len(),
            Cells::Text(texts) => texts.codes.len(),
            Cells::Refused(_) => 0,
        }
    }

    /// The cells of one group of rows more: at most `stated`, of which those that are there have this definition level.
    fn extend(&mut self, column: ColumnReader, level: i16, stated: usize) -> Result<(), ParquetError> {
        match column {
            ColumnReader::BoolColumnReader(own) => {
                pull(own, (level, stated), |value| self.truth(value.copied()))
            }
            ColumnReader::Int32ColumnReader(own) => {
                let unsigned = matches!(self, Cells::Whole { unsigned: true, .. });
                pull(own, (level, stated), |value| {
                    self.whole(
                        value.map(|own| if unsigned { i64::from(*own as u32) } else { i64::from(*own) }),
                    )
                })
            }
            ColumnReader::Int64ColumnReader(own) => {
                pull(own, (level, stated), |value| self.whole(value.copied()))
            }
            ColumnReader::FloatColumnReader(own) => {
                pull(own, (level, stated), |value| self.number(value.map(|own| f64::from(*own))))
            }
            ColumnReader::DoubleColumnReader(own) => {
                pull(own, (level, stated), |value| self.number(value.copied()))
            }
            ColumnReader::ByteArrayColumnReader(own) => pull(own, (level, stated), |value| self.text(value)),
            ColumnReader::FixedLenByteArrayColumnReader(own) => {
                pull(own, (level, stated), |value| self.whole(value.map(|value| big_endian(value.data()))))
            }
            ColumnReader::Int96ColumnReader(_) => {
                Err(ParquetError::General("a column of another type than its schema says".to_owned()))
            }
        }
    }

    fn whole(&mut self, value: Option<i64>) {
        match self {
            Cells::Whole { values, missing, .. } => {
                mark(missing, values.len(), value.is_none());
                steady::push(values, value.unwrap_or(0));
            }
            Cells::Decimal { values, scale } => {
                steady::push(values, value.map_or(f64::NAN, |value| value as f64 / POWERS[*scale]));
            }
            Cells::Numbers(_) | Cells::Truths(_) | Cells::Text(_) | Cells::Refused(_) => {}
        }
    }

    fn truth(&mut self, value: Option<bool>) {
        if let Cells::Truths(values) = self {
            steady::push(values, value);
        }
    }

    fn number(&mut self, value: Option<f64>) {
        if let Cells::Numbers(values) = self {
            steady::push(values, value.unwrap_or(f64::NAN));
        }
    }

    fn text(&mut self, value: Option<&ByteArray>) {
        let Cells::Text(texts) = self else {
            // Decimals of any number of bytes.
            return self.whole(value.map(|value| big_endian(value.data())));
        };
        let Some(value) = value else {
            steady::push(&mut texts.codes, MISSING);
            return;
        };
        let code = match texts.code_of.get(value.data()) {
            Some(code) => *code,
            None => {
                let code = u32::try_from(texts.names.len()).unwrap_or(MISSING);
                match value.as_utf8() {
                    Ok(name) => texts.names.push(name.to_owned()),
                    Err(_) => {
                        texts.wrong.get_or_insert(texts.codes.len());
                        texts.names.push(String::new());
                    }
                }
                texts.code_of.insert(value.data().into(), code);
                code
            }
        };
        steady::push(&mut texts.codes, code);
    }

    fn finish(self) -> Column {
        match self {
            Cells::Whole { values, unsigned: true, .. } if values.iter().any(|value| *value < 0) => {
                Column::Refused("whole numbers beyond 2^63".to_owned())
            }
            Cells::Whole { values, missing, .. } => {
                Column::Whole { values, missing: Some(missing).filter(|missing| !missing.is_empty()) }
            }
            Cells::Decimal { values, .. } | Cells::Numbers(values) => Column::Numbers(values),
            Cells::Truths(values) => Column::Truths(values),
            Cells::Text(Texts { wrong: Some(_), .. }) => {
                Column::Refused("bytes that are not UTF-8".to_owned())
            }
            Cells::Text(texts) => Column::Text(Categories { names: texts.names, codes: texts.codes }),
            Cells::Refused(what) => Column::Refused(what),
        }
    }
}

/// A whole number in two's complement, its first byte the greatest; only the last eight bytes matter to decimals of few digits.
fn big_endian(bytes: &[u8]) -> i64 {
    let start = if bytes.first().is_some_and(|first| *first >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(start, |number: i64, byte| number << 8 | i64::from(*byte))
}

/// Calls `each` with every cell of a column of a group of rows; `None` is a null.
fn pull<T: DataType>(
    mut column: ColumnReaderImpl<T>,
    (most, stated): (i16, usize),
    mut each: impl FnMut(Option<&T::T>),
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut read = 0_usize;
    loop {
        values.clear();
        levels.clear();
        let wanted = (most > 0).then_some(&mut levels);
        let (records, ..) = column.read_records(ROWS, wanted, None, &mut values)?;
        if records == 0 {
            return Ok(());
        }
        read = read.saturating_add(records);
        if read > stated {
            return Err(ParquetError::General(format!("more than the {stated} cells that it states")));
        }
        if most == 0 {
            values.iter().for_each(|value| each(Some(value)));
            continue;
        }
        let mut present = values.iter();
        for level in &levels {
            each(if *level == most { present.next() } else { None });
        }
    }
}
