//! Which files and arrays a fit was made from, and whether they are still the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use cavi_files::{Categories, Column, Columns, Content, PACKED_SUFFIX, Values, packed_identity};
use serde_json::{Map, Value, json};

use crate::bind::{DataError, Inputs, LabelSource, SetValue, Source};
use crate::compile::{FNV_START, fnv1a};
use crate::heldout::{Asked, Request};

/// The files that inputs name, each with the hash of its bytes, 16 hexadecimal digits: as `summary.json` keeps them. A folder has that of
/// the names and bytes of its files. What cannot be read has none.
pub fn hashes(inputs: &Inputs) -> BTreeMap<String, String> {
    let data = inputs.data.iter().map(|own| &own.source);
    let set = inputs.set.iter().filter_map(|own| match &own.value {
        SetValue::Source(source) => Some(source),
        SetValue::Number(_) => None,
    });
    let files = data.chain(set).filter_map(|source| match source {
        Source::File { path, .. } => Some(path),
        Source::Bytes { .. } | Source::Content { .. } | Source::Table { .. } => None,
    });
    let labels = inputs.labels.iter().filter_map(|own| match &own.source {
        LabelSource::File(path) => Some(path),
        LabelSource::List(..) => None,
    });
    let hashed = files.chain(labels).filter_map(|path| Some((path.display().to_string(), of(path)?)));
    hashed.collect()
}

/// The files that the texts of `--heldout` name, each with the hash of its bytes, as [`hashes`].
pub(crate) fn held_out(texts: &[String]) -> BTreeMap<String, String> {
    let requests = texts.iter().filter_map(|text| Request::parse("--heldout", text).ok());
    let files = requests.filter_map(|own| match own.what {
        Asked::File(Source::File { path, .. }) => Some(path),
        Asked::File(_) | Asked::Share(_) | Asked::Rows(_) | Asked::Last(_) | Asked::Fold(_) => None,
    });
    files.filter_map(|path| Some((path.display().to_string(), of(&path)?))).collect()
}

/// Refuses a fit whose held-out files are no longer those that it was scored by, as far as its summary says what these were.
///
/// # Errors
/// Every file that is gone, or has changed.
pub(crate) fn refuse_changed_held_out(
    texts: &[String],
    summary: &Value,
    directory: &Path,
) -> Result<(), Vec<DataError>> {
    let now = held_out(texts);
    let stored = kept(summary, "heldout_files");
    let changed = stored.iter().filter(|(path, hash)| now.get(*path) != Some(hash)).map(|(path, _)| {
        let what = if now.contains_key(path) { "has changed since" } else { "is not there" };
        DataError::new(format!(
            "`{path}`, which was held out of the fit in `{}`, {what}",
            directory.display()
        ))
        .possible("the file as it was, at the same path")
        .help(
            "fit again with `--heldout`, or put the file back: what is in it was not in the data of the fit",
        )
    });
    let changed: Vec<DataError> = changed.collect();
    if changed.is_empty() { Ok(()) } else { Err(changed) }
}

/// The data and constants that inputs hold in memory, each with the hash of its labels and values, 16 hexadecimal digits: as `summary.json` keeps
/// them. A group of a ragged array is `NAME[GROUP]`.
pub fn in_memory(inputs: &Inputs) -> BTreeMap<String, String> {
    let data = inputs.data.iter().map(|own| (&own.name, &own.group, &own.source));
    let set = inputs.set.iter().filter_map(|own| match &own.value {
        SetValue::Source(source) => Some((&own.name, &own.group, source)),
        SetValue::Number(_) => None,
    });
    let hashed = data.chain(set).filter_map(|(name, group, source)| {
        let hash = match source {
            Source::Content { content, .. } => of_content(content),
            Source::Table { columns, .. } => of_columns(columns),
            Source::File { .. } | Source::Bytes { .. } => return None,
        };
        let name = group.as_ref().map_or_else(|| name.clone(), |group| format!("{name}[{group}]"));
        Some((name, format!("{hash:016x}")))
    });
    hashed.collect()
}

/// Takes numbers into a hash, eight bytes at a time.
pub(crate) fn of_words(words: impl Iterator<Item = u64>, hash: u64) -> u64 {
    words.fold(hash, mixed)
}

/// A hash and a word in one: the prime of FNV-1a, an odd number, so that no word is lost; the shift carries what is high back down.
pub(crate) fn mixed(hash: u64, word: u64) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mixed = (hash ^ word).wrapping_mul(PRIME);
    mixed ^ (mixed >> 32)
}

fn of_floats(values: &[f64], hash: u64) -> u64 {
    of_words(values.iter().map(|own| own.to_bits()), hash)
}

fn of_texts<'a>(texts: impl Iterator<Item = &'a String>, hash: u64) -> u64 {
    texts.fold(hash, |hash, own| fnv1a(fnv1a(hash, &own.len().to_le_bytes()), own.as_bytes()))
}

fn of_categories(own: &Categories, hash: u64) -> u64 {
    of_words(own.codes.iter().map(|code| u64::from(*code)), of_texts(own.names.iter(), hash))
}

fn of_values(values: &Values, hash: u64) -> u64 {
    match values {
        Values::Numbers(numbers) => of_floats(numbers, hash),
        Values::Text(texts) => of_categories(texts, hash),
    }
}

fn of_labels(labels: &[Option<Vec<String>>], hash: u64) -> u64 {
    labels.iter().enumerate().fold(hash, |hash, (dimension, own)| {
        of_texts(own.iter().flatten(), fnv1a(hash, &dimension.to_le_bytes()))
    })
}

fn of_content(content: &Content) -> u64 {
    let shape = |sizes: &[usize]| of_words(sizes.iter().map(|size| *size as u64), FNV_START);
    match content {
        Content::Dense(own) => of_values(&own.values, of_labels(&own.labels, shape(&own.shape))),
        Content::Coordinates(own) => {
            let positions = own.indices.iter().flat_map(|column| column.iter().map(|at| u64::from(*at)));
            of_floats(&own.values, of_words(positions, of_labels(&own.labels, shape(&own.shape))))
        }
        Content::Long(own) => {
            let hash = own.positions.iter().fold(FNV_START, |hash, column| of_categories(column, hash));
            own.values.iter().fold(hash, |hash, (_, values)| of_values(values, hash))
        }
        Content::Documents(own) => {
            let ids = own.ids.iter().map(|id| u64::from(*id));
            of_floats(&own.counts, of_words(ids, shape(&own.offsets)))
        }
    }
}

fn of_columns(table: &Columns) -> u64 {
    table.columns.iter().fold(of_texts(table.names.iter(), FNV_START), |hash, column| match column {
        Column::Whole { values, missing } => {
            let hash = of_words(values.iter().map(|own| own.cast_unsigned()), hash);
            of_words(missing.iter().flatten().map(|own| u64::from(*own)), hash)
        }
        Column::Numbers(values) => of_floats(values, hash),
        Column::Truths(values) => of_words(values.iter().map(|own| own.map_or(2, u64::from)), hash),
        Column::Text(texts) => of_categories(texts, hash),
        Column::Refused(what) => fnv1a(hash, what.as_bytes()),
    })
}

/// The hash of a file or folder; `None` where it cannot be read.
fn of(path: &Path) -> Option<String> {
    let text = path.to_str().and_then(|text| text.strip_prefix("lines:")).map(PathBuf::from);
    let path = text.as_deref().unwrap_or(path);
    // Data that are mapped may be larger than anybody would read for a hash.
    if let Some(identity) =
        path.to_str().filter(|name| name.ends_with(PACKED_SUFFIX)).and_then(|_| packed_identity(path))
    {
        return Some(format!("{:016x}", fnv1a(FNV_START, &identity)));
    }
    let hash = hash_all(path, FNV_START).ok()?;
    Some(format!("{hash:016x}"))
}

fn hash_all(path: &Path, hash: u64) -> io::Result<u64> {
    if path.is_dir() {
        let mut inside: Vec<PathBuf> =
            std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        inside.sort();
        return inside.iter().try_fold(hash, |hash, own| {
            let name = own.file_name().unwrap_or_default().to_string_lossy();
            hash_all(own, fnv1a(hash, name.as_bytes()))
        });
    }
    // A pipe gives its bytes once, and a device has no end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut file = BufReader::new(File::open(path)?);
    let mut buffer = vec![0; 1 << 16];
    let mut hash = hash;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash),
            count => hash = fnv1a(hash, &buffer[..count]),
        }
    }
}

/// The hashes as JSON.
pub(crate) fn json(hashes: &BTreeMap<String, String>) -> Value {
    Value::Object(hashes.iter().map(|(path, hash)| (path.clone(), json!(hash))).collect::<Map<_, _>>())
}

/// The hashes of files that the summary of a fit keeps.
pub fn stored(summary: &Value) -> BTreeMap<String, String> {
    kept(summary, "data_files")
}

/// The hashes of data in memory that the summary of a fit keeps; none in one of an earlier version.
pub fn stored_in_memory(summary: &Value) -> BTreeMap<String, String> {
    kept(summary, "data_in_memory")
}

/// Refuses data in memory that are not those that a fit was made from, as far as its summary says what these were.
///
/// # Errors
/// Every array that has changed since.
pub fn refuse_changed_in_memory(inputs: &Inputs, summary: &Value) -> Result<(), Vec<DataError>> {
    let now = in_memory(inputs);
    let stored = stored_in_memory(summary);
    let changed = stored.iter().filter(|(name, hash)| now.get(*name).is_some_and(|own| own != *hash));
    let changed: Vec<DataError> = changed
        .map(|(name, _)| {
            DataError::new(format!("`{name}`, from which the fit was made, has changed in memory since"))
                .possible("the array as it was, or the data of the question beside it: data={NAME: ARRAY}")
        })
        .collect();
    if changed.is_empty() { Ok(()) } else { Err(changed) }
}

fn kept(summary: &Value, name: &str) -> BTreeMap<String, String> {
    let files = summary["settings"][name].as_object().into_iter().flatten();
    files.filter_map(|(path, hash)| Some((path.clone(), hash.as_str()?.to_owned()))).collect()
}

/// Refuses inputs whose files are not those that a fit was made from.
///
/// # Errors
/// Every file that is gone, or has changed; a fit that does not say what its files were.
pub(crate) fn refuse_changed(
    inputs: &Inputs,
    stored: &BTreeMap<String, String>,
    directory: &Path,
) -> Result<(), Vec<DataError>> {
    let shown = directory.display();
    let help = "--data NAME=FILE for all data of the fit, as `cavi fit` takes them";
    if stored.is_empty() {
        return Err(vec![
            DataError::new(format!("`{shown}/summary.json` does not say which files the fit was made from"))
                .help(help),
        ]);
    }
    let now = hashes(inputs);
    let changed = stored.iter().filter(|(path, hash)| now.get(*path) != Some(hash)).map(|(path, _)| {
        let what = if now.contains_key(path) { "has changed since" } else { "is not there" };
        DataError::new(format!("`{path}`, from which the fit in `{shown}` was made, {what}"))
            .possible("the files of the fit as they were, at the same paths")
            .help(help)
    });
    let changed: Vec<DataError> = changed.collect();
    if changed.is_empty() { Ok(()) } else { Err(changed) }
}
