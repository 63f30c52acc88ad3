//! `cavi export DIR --csv`: the latents of a fit as tables.

use cavi::Error;
use cavi::bind::DataError;
use cavi_files::write_text_atomically;

use crate::arguments::ExportArguments;
use crate::failure::Failure;
use crate::terminal;

/// Writes the tables of every latent.
pub fn run(arguments: &ExportArguments) -> Result<(), Failure> {
    let tables = cavi::export::tables(&arguments.directory)?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.directory.join("export"));
    if out.exists() && !out.is_dir() {
        let found = DataError::new(format!("`--out {}` is a file; expected a directory", out.display()));
        return Err(Error::Usage(vec![found]).into());
    }
    for table in &tables {
        write_text_atomically(&out.join(&table.file), &table.text).map_err(Error::from)?;
    }
    if arguments.quiet {
        return Ok(());
    }
    let files: String = tables.iter().map(|table| format!("  {}\n", table.file)).collect();
    terminal::print(&format!("{} tables written to {}\n{files}", tables.len(), out.display()))
}
