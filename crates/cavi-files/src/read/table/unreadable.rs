//! What stands where a number should, and what to do about it.

use crate::error::{FileError, quote};
use crate::read::records::Field;

/// Words for nothing that other programs write, in lower case.
const NOTHING: [&str; 14] =
    ["n/a", "#n/a", "null", "none", "nil", "-", "--", ".", "?", "missing", "<na>", "n.a.", "na.", "#na"];

/// The error of a field that is no number, with advice where it is known what it is.
pub(super) fn error(field: &Field<'_>) -> FileError {
    let text = field.text();
    let error = FileError::new(quote(text.as_bytes()), "a number, or `NA` or nothing if it is missing");
    let plain = text.trim();
    if NOTHING.contains(&plain.to_lowercase().as_str()) {
        return error.with_help(format!(
            "where {} is a missing value, write `NA` or nothing",
            quote(plain.as_bytes())
        ));
    }
    if is_decimal_comma(plain) {
        return error.with_help(format!(
            "numbers have a point: write `{}`, and nothing between thousands",
            plain.replace(',', ".")
        ));
    }
    error
}

/// Whether a text is a number with a comma for its point.
pub(super) fn is_decimal_comma(text: &str) -> bool {
    let text = text.trim();
    text.matches(',').count() == 1 && text.len() > 2 && text.replace(',', ".").parse::<f64>().is_ok()
}
