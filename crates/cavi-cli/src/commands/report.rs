//! `cavi report DIR`: a page about a fit.

use std::path::{Path, PathBuf};

use cavi::Error;
use cavi::directory::add_file;
use cavi_files::write_text_atomically;
use cavi_report::{Colouring, Options, page};

use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::terminal;

/// The name of a page beside its fit.
const FILE: &str = "report.html";

/// Writes the page and says where.
pub fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let ReportArguments { directory, out, title, by } = arguments;
    let by: Result<Vec<Colouring>, String> = by.iter().map(|text| Colouring::parse(text)).collect();
    let options = Options { title: title.clone(), by: by.map_err(Failure::usage)? };
    let file = match out {
        Some(file) => to_file(directory, file, &options)?,
        None => beside(directory, &options)?,
    };
    terminal::print(&format!("written to {}\n", file.display()))
}

/// The page about a fit, in its directory.
pub fn beside(directory: &Path, options: &Options) -> Result<PathBuf, Failure> {
    add_file(directory, FILE, &page(directory, options)?)?;
    Ok(directory.join(FILE))
}

/// The page about a fit, in a file of its own.
pub fn to_file(directory: &Path, file: &Path, options: &Options) -> Result<PathBuf, Failure> {
    if file.is_dir() {
        return Err(Failure::usage(format!("`--out {}` is a directory; expected a file", file.display())));
    }
    write_text_atomically(file, &page(directory, options)?).map_err(Error::from)?;
    Ok(file.to_owned())
}
