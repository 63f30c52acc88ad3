//! `cavi list`: the built-in programs.

use crate::failure::Failure;
use crate::terminal;

/// One program a line: its name, and what it is.
pub fn run() -> Result<(), Failure> {
    let examples = cavi_examples::examples();
    let width = examples.iter().map(|example| example.name.len()).max().unwrap_or(0);
    let lines =
        examples.iter().map(|example| format!("{:width$}  {}\n", example.name, example.description()));
    terminal::print(&lines.collect::<String>())
}
