//! The command line as clap knows it, with help texts whose lines break where the terminal does.

use clap::{Command, CommandFactory};

use crate::arguments::Arguments;

/// All commands with their options.
pub fn command() -> Command {
    unwrapped(Arguments::command())
}

/// The same with every long text as paragraphs of one line, which clap wraps.
fn unwrapped(command: Command) -> Command {
    let after = command.get_after_long_help().map(|text| paragraphs(&text.to_string()));
    let command = match after {
        Some(text) => command.after_long_help(text),
        None => command,
    };
    let command = command.mut_args(|argument| match argument.get_long_help() {
        Some(text) => {
            let text = paragraphs(&text.to_string());
            argument.long_help(text)
        }
        None => argument,
    });
    command.mut_subcommands(unwrapped)
}

/// A text with the lines of each paragraph as one; lists, tables and code keep theirs.
fn paragraphs(text: &str) -> String {
    let is_prose = |line: &str| !line.starts_with([' ', '-', '*', '|', '#', '\t']);
    let paragraph = |text: &str| match text.lines().all(is_prose) {
        true => text.lines().collect::<Vec<_>>().join(" "),
        false => text.to_owned(),
    };
    text.split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n\n")
}
