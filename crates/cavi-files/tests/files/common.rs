//! Files as text, contents as text.

use std::path::Path;

use cavi_files::{
    Categories, ColumnOf, Content, Dimension, FileError, ReadOptions, TextOptions, TextReading, Values,
    Wanted, read as read_file, read_from,
};

/// Reads text as a file of this name, bound to an array over these axes.
pub fn read(name: &str, bytes: impl AsRef<[u8]>, axes: &str) -> Result<Content, FileError> {
    read_with(name, bytes, axes, Wanted::Numbers, None, &[])
}

/// The same, with all options. Axes are parted by blanks; `person/i` is the letter `i` of an axis with several.
pub fn read_with(
    name: &str,
    bytes: impl AsRef<[u8]>,
    axes: &str,
    wanted: Wanted,
    column: Option<&str>,
    columns: &[(&str, &str)],
) -> Result<Content, FileError> {
    let dimensions: Vec<Dimension<'_>> = axes
        .split_whitespace()
        .map(|axis| match axis.split_once('/') {
            Some((axis, letter)) => Dimension { axis, letter: Some(letter) },
            None => Dimension { axis, letter: None },
        })
        .collect();
    let columns: Vec<ColumnOf<'_>> =
        columns.iter().map(|&(role, column)| ColumnOf { role, column }).collect();
    let words = TextOptions::default();
    let texts = (dimensions.len() == 2).then_some(TextReading { options: &words, vocabulary: None });
    let options = ReadOptions {
        dimensions: &dimensions,
        wanted,
        column,
        columns: &columns,
        texts,
        ..ReadOptions::default()
    };
    read_both(name, bytes.as_ref(), &options)
}

/// Reads bytes in memory, and, of a format that is read block by block where it is a file, also as one: both are the same content or the
/// same error.
fn read_both(name: &str, bytes: &[u8], options: &ReadOptions<'_>) -> Result<Content, FileError> {
    const BY_BLOCKS: [&str; 6] = [".csv", ".tsv", ".mtx", ".tns", ".ldac", ".npz"];
    let of_memory = read_from(Path::new(name), bytes.to_vec(), options);
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    if BY_BLOCKS.iter().any(|suffix| plain.ends_with(suffix)) && !name.contains([':', '/']) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        let of_file = read_file(&path, options).map_err(|error| error.in_file(Path::new(name)));
        // Missing numbers are not equal, but written alike.
        assert_eq!(format!("{of_file:?}"), format!("{of_memory:?}"), "{name}");
    }
    of_memory
}

/// A table for the array of this name.
pub fn read_named(file: &str, table: &str, axes: &str, name: &str) -> Result<Content, FileError> {
    let dimensions: Vec<Dimension<'_>> =
        axes.split_whitespace().map(|axis| Dimension { axis, letter: None }).collect();
    let options = ReadOptions { dimensions: &dimensions, name, ..ReadOptions::default() };
    read_both(file, table.as_bytes(), &options)
}

/// A content on a few lines.
pub fn describe(content: &Content) -> String {
    match content {
        Content::Dense(dense) => {
            let mut text = format!("dense {:?}", dense.shape);
            for labels in &dense.labels {
                text += &match labels {
                    Some(labels) => format!(" [{}]", labels.join("|")),
                    None => " -".to_owned(),
                };
            }
            text + " = " + &values(&dense.values)
        }
        Content::Coordinates(coordinates) => {
            let bound = if coordinates.shape_is_exact { "" } else { " or more" };
            let entries: Vec<String> = (0..coordinates.values.len())
                .map(|entry| {
                    let place: Vec<u32> = coordinates.indices.iter().map(|column| column[entry]).collect();
                    format!("{place:?}={}", number(coordinates.values[entry]))
                })
                .collect();
            format!("coordinates {:?}{bound}: {}", coordinates.shape, entries.join(" "))
        }
        Content::Long(long) => {
            let positions: Vec<String> = long.positions.iter().map(categories).collect();
            let value = match &long.values {
                Some((name, cells)) => format!(" {name}={}", values(cells)),
                None => String::new(),
            };
            format!("long {}{value}", positions.join(" by "))
        }
        Content::Documents(documents) => {
            let lines: Vec<String> = documents
                .offsets
                .windows(2)
                .map(|range| {
                    let pairs: Vec<String> = (range[0]..range[1])
                        .map(|entry| format!("{}:{}", documents.ids[entry], documents.counts[entry]))
                        .collect();
                    pairs.join(" ")
                })
                .collect();
            format!("documents {}", lines.join(" / "))
        }
    }
}

#[track_caller]
pub fn check(content: Result<Content, FileError>, expected: &str) {
    match content {
        Ok(content) => assert_eq!(describe(&content), expected),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
pub fn check_error(content: Result<Content, FileError>, expected: &str) {
    match content {
        Ok(content) => panic!("accepted: {}", describe(&content)),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}

/// The lines of the first entries.
pub fn lines(content: &Content) -> Vec<usize> {
    (0..content.len()).filter_map(|entry| content.line(entry)).collect()
}

fn values(values: &Values) -> String {
    match values {
        Values::Numbers(numbers) => numbers.iter().copied().map(number).collect::<Vec<_>>().join(" "),
        Values::Text(text) => categories(text),
    }
}

fn categories(categories: &Categories) -> String {
    let rows: Vec<&str> = (0..categories.codes.len()).map(|row| categories.get(row).unwrap_or("?")).collect();
    format!("({})", rows.join("|"))
}

fn number(value: f64) -> String {
    if value.is_nan() { "?".to_owned() } else { format!("{value}") }
}
