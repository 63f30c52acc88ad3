//! Which files a fit was made from, and whether they are still the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use cavi_files::{PACKED_SUFFIX, packed_identity};
use serde_json::{Map, Value, json};

use crate::bind::{DataError, Inputs, LabelSource, SetValue, Source};
use crate::compile::{FNV_START, fnv1a};

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
        Source::Bytes { .. } | Source::Content { .. } => None,
    });
    let labels = inputs.labels.iter().filter_map(|own| match &own.source {
        LabelSource::File(path) => Some(path),
        LabelSource::List(..) => None,
    });
    let hashed = files.chain(labels).filter_map(|path| Some((path.display().to_string(), of(path)?)));
    hashed.collect()
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

/// The hashes that the summary of a fit keeps.
pub fn stored(summary: &Value) -> BTreeMap<String, String> {
    let files = summary["settings"]["data_files"].as_object().into_iter().flatten();
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
