//! `cavi man --out DIR`: a page for `man` of each command.

use std::fs;

use crate::arguments::ManArguments;
use crate::failure::Failure;
use crate::{help, terminal};

/// Writes the pages.
pub fn run(arguments: &ManArguments) -> Result<(), Failure> {
    let out = &arguments.out;
    let written = fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(help::command(), out));
    written.map_err(|error| Failure::wrong(format!("{} cannot be written: {error}", out.display())))?;
    terminal::print(&format!("written to {}\n", out.display()))
}
