//! Arrays, labels and tables to files.
//!
//! Every file is written beside its final name and renamed, so that a directory never holds half a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::FileError;

pub use csv::{Cell, CsvText, format_number};
pub use labels::write_labels;
pub use npy::{write_npy, write_npy_i64};

mod csv;
mod labels;
mod npy;

/// Writes a text file. Directories on the way to it are made.
pub fn write_text_atomically(path: &Path, text: &str) -> Result<(), FileError> {
    write_bytes_atomically(path, text.as_bytes())
}

/// Writes a file of bytes. Directories on the way to it are made.
pub fn write_bytes_atomically(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    atomically(path, |file| file.write_all(bytes))
}

/// Writes a file part by part, by `write`. Directories on the way to it are made.
///
/// # Errors
/// An error of the system, or the first of `write`.
pub fn write_atomically<E: From<FileError>>(
    path: &Path,
    write: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), Written<E>>,
) -> Result<(), E> {
    let mut own = None;
    let outcome = atomically(path, |file| {
        write(&mut |bytes| file.write_all(bytes)).map_err(|error| match error {
            Written::System(error) => error,
            Written::Own(error) => {
                own = Some(error);
                io::Error::other("what was to be written could not be worked out")
            }
        })
    });
    match own {
        Some(error) => Err(error),
        None => outcome.map_err(E::from),
    }
}

/// Why a file was not written to its end.
#[derive(Debug)]
pub enum Written<E> {
    /// The system could not write it.
    System(io::Error),
    /// What was to be written is not known.
    Own(E),
}

impl<E> From<io::Error> for Written<E> {
    fn from(error: io::Error) -> Written<E> {
        Written::System(error)
    }
}

/// Writes a file beside its final name, and renames it when it is complete.
pub(crate) fn atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), FileError> {
    let refuse = |error: io::Error| {
        FileError::new(format!("an error of the system, \"{error}\""), "that the file can be written")
            .in_file(path)
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(directory).map_err(refuse)?;
    // Process and counter keep apart files that are written at the same time.
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let part = directory.join(format!(
        ".cavi-{}-{}.part",
        std::process::id(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    ));
    let written = File::create(&part).and_then(|file| {
        let mut file = BufWriter::with_capacity(1 << 16, file);
        write(&mut file)?;
        file.flush()?;
        drop(file);
        fs::rename(&part, path)
    });
    written.map_err(|error| {
        // The error that stopped the writing is the one to report.
        let _ = fs::remove_file(&part);
        refuse(error)
    })
}
