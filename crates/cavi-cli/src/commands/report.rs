//! `cavi report DIR`: a page about a fit, or its charts as files. `cavi report DIR DIR ...`: the same of fits beside each other.

use std::path::{Path, PathBuf};

use cavi::Error;
use cavi::directory::add_file;
use cavi_files::{write_bytes_atomically, write_text_atomically};
use cavi_plots::{Plot, plots};
use cavi_report::{
    Colouring, ComparisonOptions, Figure, Options, charts, comparison, comparison_charts, fits_in, page,
};

use super::fit;
use crate::arguments::{PlotArguments, ReportArguments};
use crate::failure::Failure;
use crate::terminal;

/// The name of a page beside its fit.
const FILE: &str = "report.html";
/// The folder of plots beside their fit.
const FOLDER: &str = "plots";
/// The name of a page about fits in several places.
const COMPARISON: &str = "comparison.html";
/// The folder of its plots.
const COMPARISON_FOLDER: &str = "comparison-plots";

/// Writes the page or the plots, and says where.
pub fn run(arguments: &ReportArguments) -> Result<(), Failure> {
    let ReportArguments { directories, out, title, by, plots, threads: _ } = arguments;
    let by: Result<Vec<Colouring>, String> = by.iter().map(|text| Colouring::parse(text)).collect();
    let options = Options { title: title.clone(), by: by.map_err(Failure::usage)? };
    let [directory] = directories.as_slice() else {
        return compared(arguments, directories, Path::new(COMPARISON), Path::new(COMPARISON_FOLDER));
    };
    if let Some(fits) = fits_in(directory) {
        return compared(arguments, &fits, &directory.join(FILE), &directory.join(FOLDER));
    }
    if plots.asked() {
        let line = match out {
            Some(folder) => plots_to(charts(directory, &options.by)?, folder, plots)?,
            None => plots_beside(directory, &options.by, plots)?,
        };
        return terminal::print(&line);
    }
    let file = match out {
        Some(file) => to_file(directory, file, &options)?,
        None => beside(directory, &options)?,
    };
    said_where(&file)
}

/// Writes the page about several fits or its plots, to what `--out` says, else to this file or folder.
fn compared(
    arguments: &ReportArguments,
    fits: &[PathBuf],
    file: &Path,
    folder: &Path,
) -> Result<(), Failure> {
    let ReportArguments { directories: _, out, title, by, plots, threads } = arguments;
    if !by.is_empty() {
        return Err(Failure::usage(
            "`--by` colours the points of one fit; a comparison of several has none. Give one directory, or leave it out",
        ));
    }
    let fits: Vec<&Path> = fits.iter().map(PathBuf::as_path).collect();
    let threads = threads.unwrap_or_else(fit::all_threads);
    if plots.asked() {
        let charts = comparison_charts(&fits, threads)?;
        return terminal::print(&plots_to(charts, out.as_deref().unwrap_or(folder), plots)?);
    }
    let file = out.as_deref().unwrap_or(file);
    refuse_directory(file)?;
    let page = comparison(&fits, &ComparisonOptions { title: title.clone(), threads })?;
    write_text_atomically(file, &page).map_err(Error::from)?;
    said_where(file)
}

fn said_where(file: &Path) -> Result<(), Failure> {
    terminal::print(&format!("written to {}\n", file.display()))
}

/// The page about a fit, in its directory.
pub fn beside(directory: &Path, options: &Options) -> Result<PathBuf, Failure> {
    add_file(directory, FILE, page(directory, options)?.as_bytes())?;
    Ok(directory.join(FILE))
}

/// The page about a fit, in a file of its own.
pub fn to_file(directory: &Path, file: &Path, options: &Options) -> Result<PathBuf, Failure> {
    refuse_directory(file)?;
    write_text_atomically(file, &page(directory, options)?).map_err(Error::from)?;
    Ok(file.to_owned())
}

fn refuse_directory(file: &Path) -> Result<(), Failure> {
    match file.is_dir() {
        true => Err(Failure::usage(format!("`--out {}` is a directory; expected a file", file.display()))),
        false => Ok(()),
    }
}

/// The charts of a fit as files in its directory, and a line that says so.
pub fn plots_beside(directory: &Path, by: &[Colouring], asked: &PlotArguments) -> Result<String, Failure> {
    let plots = drawn(charts(directory, by)?, asked)?;
    for plot in &plots {
        add_file(directory, &format!("{FOLDER}/{}", plot.name), &plot.bytes)?;
    }
    Ok(said(&plots, &directory.join(FOLDER)))
}

/// Charts as files in a folder, which is made where there is none. Files of other names stay.
fn plots_to(charts: Vec<Figure>, folder: &Path, asked: &PlotArguments) -> Result<String, Failure> {
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::usage(format!(
            "`--out {}` is a file; expected a directory, since --plots writes several files",
            folder.display()
        )));
    }
    let plots = drawn(charts, asked)?;
    for plot in &plots {
        write_bytes_atomically(&folder.join(&plot.name), &plot.bytes).map_err(Error::from)?;
    }
    Ok(said(&plots, folder))
}

fn drawn(charts: Vec<Figure>, asked: &PlotArguments) -> Result<Vec<Plot>, Failure> {
    plots(charts, &asked.kinds(), asked.width())
        .map_err(|error| Failure::Broken(format!("error: internal error: {error}\n")))
}

fn said(plots: &[Plot], folder: &Path) -> String {
    let files = if plots.len() == 1 { "1 plot" } else { &format!("{} plots", plots.len()) };
    format!("{files} written to {}\n", folder.display())
}
