//! A folder of texts, one document a file.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Counter, TextReading};
use crate::content::Content;
use crate::error::{FileError, quote};
use crate::format::{self, Format};
use crate::read::bytes;

/// Folders within folders beyond this depth are taken for a mistake.
const DEEPEST: usize = 32;

/// A file of a folder, and its path below that.
struct Member {
    path: PathBuf,
    label: String,
}

/// Reads the files of a folder and of the folders in it. Labels are their paths below it, in alphabetical order; files whose
/// names start with a point are passed over.
pub(crate) fn folder(path: &Path, reading: &TextReading<'_>) -> Result<Content, FileError> {
    let members = members(path)?;
    let mut counter = Counter::new(reading);
    let mut text_of = |member: &Member| -> Result<(), FileError> {
        let bytes = bytes::decompress(bytes::load(&member.path)?, format::packing(&member.path))?;
        let text = bytes::text(&bytes).map_err(|error| match error.help {
            Some(_) => error,
            None => error.with_help("every file of the folder is read as a text; take others out"),
        })?;
        counter.begin();
        counter.add(text);
        Ok(())
    };
    for member in &members {
        text_of(member).map_err(|error| error.in_file(&member.path))?;
    }
    let labels = members.into_iter().map(|member| member.label).collect();
    counter.finish("file", Some(labels)).map_err(|error| error.in_file(path))
}

/// The number of files of a folder, and the names of the first.
pub(crate) fn first_names(path: &Path, names: usize) -> Result<(usize, Vec<String>), FileError> {
    let members = members(path)?;
    let count = members.len();
    Ok((count, members.into_iter().take(names).map(|member| member.label).collect()))
}

fn members(path: &Path) -> Result<Vec<Member>, FileError> {
    let mut members = Vec::new();
    gather(path, "", DEEPEST, &mut members)?;
    members.sort_by(|one, other| one.label.cmp(&other.label));
    if members.is_empty() {
        return Err(FileError::new("a folder without files", "texts, one document a file").in_file(path));
    }
    // A text may be a table of numbers by its name.
    let is_data =
        |member: &&Member| !matches!(format::of_path(&member.path), Err(_) | Ok((Format::Blanks, _)));
    if let Some(data) = members.iter().find(is_data) {
        return Err(FileError::new(
            format!("the data file {} in a folder", quote(data.label.as_bytes())),
            "a folder of texts, one document a file",
        )
        .in_file(path)
        .with_help(format!("`--data NAME={}` reads that file", data.path.display())));
    }
    Ok(members)
}

fn gather(path: &Path, above: &str, depth: usize, members: &mut Vec<Member>) -> Result<(), FileError> {
    let refuse = |error: std::io::Error| {
        FileError::new(format!("an error of the system, \"{error}\""), "a readable folder").in_file(path)
    };
    if depth == 0 {
        return Err(FileError::new(format!("folders within folders, {DEEPEST} deep"), "texts").in_file(path));
    }
    for entry in fs::read_dir(path).map_err(refuse)? {
        let entry = entry.map_err(refuse)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let own = entry.path();
        let label = format!("{above}{name}");
        if name.contains(char::is_control) {
            return Err(FileError::new(
                format!("a file named {}", quote(name.as_bytes())),
                "names without control characters, since they become labels",
            )
            .in_file(path));
        }
        // What a link points to counts.
        match fs::metadata(&own).map_err(refuse)? {
            kind if kind.is_dir() => gather(&own, &format!("{label}/"), depth - 1, members)?,
            _ => members.push(Member { path: own, label }),
        }
    }
    Ok(())
}
