//! `cavi completions SHELL`: what a shell completes after `cavi`.

use crate::arguments::CompletionsArguments;
use crate::failure::Failure;
use crate::{help, terminal};

/// Prints the script of the shell.
pub fn run(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::command(), "cavi", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}
