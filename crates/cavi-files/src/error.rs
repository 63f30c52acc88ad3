//! What is wrong with a file, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// What is wrong with a file: where it was found, what it is, and what was expected in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file, as the caller named it.
    pub file: PathBuf,
    /// The line, counted from 1, in a text file.
    pub line: Option<usize>,
    /// The column of a table, by name or by position.
    pub column: Option<Box<str>>,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// What to try.
    pub help: Option<Box<str>>,
}

impl FileError {
    /// A problem with a file as a whole.
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> FileError {
        FileError {
            file: PathBuf::new(),
            line: None,
            column: None,
            found: found.into(),
            expected: expected.into(),
            help: None,
        }
    }

    /// The same problem, in this file.
    pub fn in_file(mut self, file: &Path) -> FileError {
        self.file = file.to_owned();
        self
    }

    /// The same problem, at this line, counted from 1.
    pub fn at_line(mut self, line: usize) -> FileError {
        self.line = Some(line);
        self
    }

    /// The same problem, in this column of a table.
    pub fn in_column(mut self, column: impl Into<String>) -> FileError {
        self.column = Some(column.into().into_boxed_str());
        self
    }

    /// The same problem, with advice.
    pub fn with_help(mut self, help: impl Into<String>) -> FileError {
        self.help = Some(help.into().into_boxed_str());
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": found {}; expected {}", self.found, self.expected)?;
        if let Some(help) = &self.help {
            write!(f, " ({help})")?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}

/// Text of a file as it appears in a message: in backquotes, without control characters, cut after 40 characters.
pub(crate) fn quote(bytes: &[u8]) -> String {
    // Four bytes a character are enough for the first 41 characters, whatever the length of the field.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(41 * 4)]);
    let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(40).is_some() { "..." } else { "" };
    // `escape_debug` is made for string literals; quotation marks need no backslash here.
    format!("`{}{more}`", shown.replace("\\\"", "\"").replace("\\'", "'"))
}

/// A list in words: at most twenty entries, then how many more there are.
pub(crate) fn list<T: AsRef<str>>(entries: &[T]) -> String {
    let shown: Vec<String> = entries.iter().take(20).map(|entry| quote(entry.as_ref().as_bytes())).collect();
    match entries.len() {
        0 => "none".to_owned(),
        n if n > 20 => format!("{} and {} more", shown.join(", "), n - 20),
        _ => shown.join(", "),
    }
}

/// A number of things: "1 field", "3 fields", "2 entries".
pub(crate) fn count(n: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if n == 1 => format!("1 {noun}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{n} {stem}ies"),
        Some(_) | None => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_file_line_column_found_and_expected() {
        let error = FileError::new("`abc`", "a number")
            .at_line(3)
            .in_column("`count`")
            .with_help("an empty field is missing")
            .in_file(Path::new("plate.csv"));
        assert_eq!(
            error.to_string(),
            "plate.csv, line 3, column `count`: found `abc`; expected a number (an empty field is missing)"
        );
    }

    #[test]
    fn quoted_text_is_short_and_printable() {
        assert_eq!(quote(b"a\0b\"c'"), "`a\\0b\"c'`");
        assert_eq!(quote(b"\xff"), "`\u{fffd}`");
        assert_eq!(quote("é".repeat(100).as_bytes()), format!("`{}...`", "é".repeat(40)));
    }
}
