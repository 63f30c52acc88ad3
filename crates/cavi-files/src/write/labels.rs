//! Files of labels, one a line.

use std::path::Path;

use super::write_text_atomically;
use crate::error::FileError;

/// Writes labels, one a line. Directories on the way to the file are made.
pub fn write_labels<T: AsRef<str>>(path: &Path, labels: &[T]) -> Result<(), FileError> {
    let mut text = String::new();
    for label in labels {
        text.push_str(label.as_ref());
        text.push('\n');
    }
    write_text_atomically(path, &text)
}
