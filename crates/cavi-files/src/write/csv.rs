//! Tables as text, such as `trace.csv`.

use std::fmt::Write;

/// The shortest decimal that reads back as the same number, by Rust, Python and JSON alike; `inf`, `-inf` and `nan` for
/// what is no finite number.
///
/// ```
/// use cavi_files::format_number;
/// let texts = [0.1, -3.0, 1e-7, 2.5e20, f64::NEG_INFINITY, f64::NAN].map(format_number);
/// assert_eq!(texts, ["0.1", "-3", "1e-7", "2.5e20", "-inf", "nan"]);
/// ```
pub fn format_number(value: f64) -> String {
    // Within these limits, which are those of Python, no exponent is the more readable.
    let is_plain = value == 0.0 || (1e-4..1e16).contains(&value.abs());
    if value.is_nan() {
        "nan".to_owned()
    } else if is_plain || value.is_infinite() {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A cell of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Empty,
    /// A whole number.
    Integer(i64),
    /// A number, see [`format_number`].
    Number(f64),
    /// Text, which is put in quotation marks if it must be.
    Text(&'a str),
}

/// The text of a table of which rows are added one by one.
#[derive(Clone, Debug)]
pub struct CsvText {
    text: String,
    width: usize,
}

impl CsvText {
    /// A table with these columns.
    pub fn new(header: &[&str]) -> CsvText {
        let mut table = CsvText { text: String::new(), width: header.len() };
        let cells: Vec<Cell<'_>> = header.iter().copied().map(Cell::Text).collect();
        table.row(&cells);
        table
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the row does not have a cell for each column.
    pub fn row(&mut self, cells: &[Cell<'_>]) {
        assert_eq!(cells.len(), self.width, "a row must have a cell for each column");
        for (place, cell) in cells.iter().enumerate() {
            if place > 0 {
                self.text.push(',');
            }
            match *cell {
                Cell::Empty => {}
                // Writing to a string cannot fail.
                Cell::Integer(value) => _ = write!(self.text, "{value}"),
                Cell::Number(value) => self.text.push_str(&format_number(value)),
                // Blanks around a field belong to it where quotation marks hold them.
                Cell::Text(text) if text.contains([',', '"', '\n', '\r']) || text != text.trim() => {
                    _ = write!(self.text, "\"{}\"", text.replace('"', "\"\""));
                }
                Cell::Text(text) => self.text.push_str(text),
            }
        }
        self.text.push('\n');
    }

    /// The rows since the last time, the header among the first of them; what is taken is held no longer.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The table so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
