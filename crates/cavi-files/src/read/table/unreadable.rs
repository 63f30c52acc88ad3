//! What stands where a number should, and what to do about it.

use crate::error::{FileError, quote};
use crate::read::records::Field;

/// Words for nothing that other programs write, in lower case.
const NOTHING: [&str; 14] =
    ["n/a", "#n/a", "null", "none", "nil", "-", "--", ".", "?", "missing", "<na>", "n.a.", "na.", "#na"];

/// Answers, in lower case, that other programs write for 1 and for 0.
const YES: [&str; 4] = ["yes", "y", "true", "t"];
const NO: [&str; 4] = ["no", "n", "false", "f"];

/// What a field is worth that says whether something is so: `TRUE` of R, `True` of Python, `true` of JSON.
pub(super) fn truth(field: &Field<'_>) -> Option<f64> {
    match field.text().trim() {
        "TRUE" | "True" | "true" => Some(1.0),
        "FALSE" | "False" | "false" => Some(0.0),
        _ => None,
    }
}

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
    let is_in = |words: &[&str]| words.contains(&plain.to_lowercase().as_str());
    if is_in(&YES) || is_in(&NO) {
        let number = u8::from(is_in(&YES));
        return error.with_help(format!(
            "where {} is an answer, write {number}; a column of `TRUE` and `FALSE` alone is read as 1 and 0",
            quote(plain.as_bytes())
        ));
    }
    if let Some((thousands, rest)) = plain.split_once(',')
        && rest.len() == 3
        && (1..=3).contains(&thousands.trim_start_matches('-').len())
        && is_decimal_comma(plain)
    {
        return error.with_help(format!(
            "nothing stands between thousands, and numbers have a point: write `{thousands}{rest}` or `{thousands}.{rest}`, as it is meant",
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
