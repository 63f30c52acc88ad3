//! The command line as a person or a script meets it: each test starts the `cavi` binary in a directory of its own.

mod common;
mod data;

mod asking;
mod commands;
mod export;
mod heldout;
mod options;
mod project;
mod replacing;
mod resume;
mod terminal;
mod texts;
