//! `cavi report DIR`: a page about a fit, or its charts as files.

use std::path::{Path, PathBuf};

use cavi::Error;
use cavi::directory::add_file;
use cavi_files::{write_bytes_atomically, write_text_atomically};
use cavi_plots::{Plot, plots};
use cavi_report::{Colouring, Options, charts, page};

use crate::arguments::{PlotArguments, ReportArguments};
use crate::failure::Failure;
use crate::terminal;

/// The name of a page beside its fit.
const FILE: &str = "report.html";
/// The folder of plots beside their fit.
const FOLDER: &str = "plots";

/// Writes the page or the plots, and says where.
pub fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let ReportArguments { directory, out, title, by, plots } = arguments;
    let by: Result<Vec<Colouring>, String> = by.iter().map(|text| Colouring::parse(text)).collect();
    let options = Options { title: title.clone(), by: by.map_err(Failure::usage)? };
    if plots.asked() {
        let line = match out {
            Some(folder) => plots_to(directory, folder, &options.by, plots)?,
            None => plots_beside(directory, &options.by, plots)?,
        };
        return terminal::print(&line);
    }
    let file = match out {
        Some(file) => to_file(directory, file, &options)?,
        None => beside(directory, &options)?,
    };
    terminal::print(&format!("written to {}\n", file.display()))
}

/// The page about a fit, in its directory.
pub fn beside(directory: &Path, options: &Options) -> Result<PathBuf, Failure> {
    add_file(directory, FILE, page(directory, options)?.as_bytes())?;
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

/// The charts of a fit as files in its directory, and a line that says so.
pub fn plots_beside(directory: &Path, by: &[Colouring], asked: &PlotArguments) -> Result<String, Failure> {
    let plots = drawn(directory, by, asked)?;
    for plot in &plots {
        add_file(directory, &format!("{FOLDER}/{}", plot.name), &plot.bytes)?;
    }
    Ok(said(&plots, &directory.join(FOLDER)))
}

/// The charts of a fit as files in a folder, which is made where there is none. Files of other names stay.
fn plots_to(
    directory: &Path,
    folder: &Path,
    by: &[Colouring],
    asked: &PlotArguments,
) -> Result<String, Failure> {
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::usage(format!(
            "`--out {}` is a file; expected a directory, since --plots writes several files",
            folder.display()
        )));
    }
    let plots = drawn(directory, by, asked)?;
    for plot in &plots {
        write_bytes_atomically(&folder.join(&plot.name), &plot.bytes).map_err(Error::from)?;
    }
    Ok(said(&plots, folder))
}

fn drawn(directory: &Path, by: &[Colouring], asked: &PlotArguments) -> Result<Vec<Plot>, Failure> {
    plots(charts(directory, by)?, &asked.kinds(), asked.width())
        .map_err(|error| Failure::Broken(format!("error: internal error: {error}\n")))
}

fn said(plots: &[Plot], folder: &Path) -> String {
    let files = if plots.len() == 1 { "1 plot" } else { &format!("{} plots", plots.len()) };
    format!("{files} written to {}\n", folder.display())
}
