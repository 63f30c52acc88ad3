//! `cavi export DIR --csv`: the latents of a fit as tables.

use cavi::directory::list_files;
use cavi::export::Export;

use crate::arguments::ExportArguments;
use crate::failure::Failure;
use crate::terminal;

/// Writes the tables of every latent.
pub fn run(arguments: &ExportArguments) -> Result<(), Failure> {
    let tables = cavi::export::tables(&arguments.directory)?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.directory.join("export"));
    Export::prepare(&out, &arguments.directory, arguments.force.force)?.write(&tables)?;
    if arguments.out.is_none() {
        list_files(&arguments.directory, std::slice::from_ref(&out))?;
    }
    if arguments.quiet {
        return Ok(());
    }
    let files: String = tables.iter().map(|table| format!("  {}\n", table.file)).collect();
    terminal::print(&format!("{} tables written to {}\n{files}", tables.len(), out.display()))
}
