//! Files of labels, one a line.

use std::collections::HashMap;

use crate::error::{FileError, quote};

pub(crate) fn read(text: &str) -> Result<Vec<String>, FileError> {
    let mut labels = Vec::new();
    let mut line_of = HashMap::new();
    // Empty lines may end the file.
    for (place, label) in text.trim_end_matches(['\n', '\r']).lines().enumerate() {
        let line = place + 1;
        if label.is_empty() {
            return Err(FileError::new("an empty line", "a label").at_line(line));
        }
        if label.contains('\r') {
            return Err(FileError::new(
                format!("a carriage return within {}", quote(label.as_bytes())),
                "lines that end in a line feed",
            )
            .at_line(line));
        }
        if let Some(first) = line_of.insert(label, line) {
            return Err(FileError::new(
                format!("the label {}, which also stands in line {first}", quote(label.as_bytes())),
                "a label of its own for each line",
            )
            .at_line(line));
        }
        labels.push(label.to_owned());
    }
    Ok(labels)
}
