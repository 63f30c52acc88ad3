//! `cavi show NAME`: the text of a built-in program.

use crate::failure::Failure;
use crate::{program, terminal};

/// The text as it is embedded.
pub fn run(name: &str) -> Result<(), Failure> {
    match cavi_examples::example(name) {
        Some(example) => terminal::print(example.text),
        None => {
            Err(Failure::usage(format!("there is no built-in program `{name}`\n{}", program::hint(name))))
        }
    }
}
