//! Questions to a fit together with its data: missing entries, rankings, metrics, comparisons, choices, draws and pages.
//!
//! Answers of several parts are the JSON that the command line prints, so that both say the same of a fit.

use std::path::{Path, PathBuf};

use cavi::bind::{DataError, Inputs as Bound};
use cavi::choose::{self, Candidate, Grid};
use cavi::directory::{Stored, score_json, scores_by_name};
use cavi::matching::{self, Components};
use cavi::rank::metrics::{self, Metric};
use cavi::rank::{self, Asked};
use cavi::simulate::{self, Place, Simulated, TOTAL};
use cavi::{Error, Parameters, compare, heldout, impute, reopen};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::raised;
use crate::fit::all_threads;
use crate::inputs::Inputs;
use crate::stored::as_fitted;

/// A table of imputed entries: its array, how many entries it has, how many of them are missing, how many rows have none, whether it has listed
/// entries alone, and its text.
type Table = (String, usize, usize, usize, bool, String);

/// A fit among which one is chosen: its values of the grids, its directory, and its data where they are not those of its files.
type Tried = (Vec<(String, f64)>, PathBuf, Option<Inputs>);

/// The directory of a fit, and its data and constants where they are not those of its files.
type Asks = (PathBuf, Option<Inputs>);

/// Data in place of the files of a fit, read as the fit read its own; `None` for these files.
pub fn given(directory: &Path, inputs: Option<Inputs>) -> Result<Option<Bound>, Error> {
    let Some(inputs) = inputs else { return Ok(None) };
    let (stored, is_kept) = (Stored::open(directory)?, inputs.is_kept);
    let found = as_fitted(inputs, &stored).0;
    if is_kept {
        cavi::data_files::refuse_changed_in_memory(&found, &stored.summary)?;
    }
    Ok(Some(found))
}

/// What missing entries, or all, are expected to be.
///
/// # Errors
/// A directory that holds no fit; data that are not its own; names, axes and labels that it does not have.
#[pyfunction]
#[pyo3(signature = (directory, inputs, all, of, only, draws, threads))]
#[allow(clippy::too_many_arguments, reason = "one for each option")]
pub fn impute_entries(
    py: Python<'_>,
    directory: PathBuf,
    inputs: Option<Inputs>,
    all: bool,
    of: Vec<String>,
    only: Vec<(String, String)>,
    draws: usize,
    threads: Option<usize>,
) -> PyResult<Vec<Table>> {
    let tables = py.detach(|| {
        let fit = reopen::open(&directory, given(&directory, inputs)?.as_ref())?;
        let threads = threads.unwrap_or_else(all_threads);
        let asked = impute::Asked { all, arrays: of, only, draws, threads };
        let wanted = impute::wanted(&fit, &asked)?;
        wanted.iter().map(|own| impute::text(&fit, &asked, own)).collect::<Result<Vec<_>, Error>>()
    });
    let each = raised(py, tables)?.into_iter();
    Ok(each
        .map(|(own, text)| (own.name, own.entries, own.missing, own.bare_rows, own.listed_only, text))
        .collect())
}

/// The positions of one axis in the order of what entries are expected to be, for each position of the others, as JSON, and notes.
///
/// # Errors
/// As [`impute_entries`]; axes that no data have; a file that cannot be read.
#[pyfunction]
#[pyo3(signature = (directory, inputs, rank, each, of, count, not_in, unseen, threads))]
#[allow(clippy::too_many_arguments, reason = "one for each option")]
pub fn rankings(
    py: Python<'_>,
    directory: PathBuf,
    inputs: Option<Inputs>,
    rank: &str,
    each: Vec<(String, Option<String>)>,
    of: Option<String>,
    count: usize,
    not_in: Option<PathBuf>,
    unseen: bool,
    threads: Option<usize>,
) -> PyResult<(String, Vec<String>)> {
    let found = py.detach(|| {
        let fit = reopen::open(&directory, given(&directory, inputs)?.as_ref())?;
        let asked = Asked {
            rank,
            each,
            of: of.as_deref(),
            count,
            not_in: not_in.as_deref(),
            unseen,
            threads: threads.unwrap_or_else(all_threads),
        };
        let found = rank::rankings(&fit, &asked)?;
        let unknown = (found.unknown > 0).then(|| {
            let count = found.unknown;
            format!(
                "{count} entries of `--not-in` have a label that the fit does not know, and leave nothing out"
            )
        });
        let told = unknown.into_iter().chain(found.empty()).collect();
        Ok::<_, Error>((found.json(rank).to_string(), told))
    });
    raised(py, found)
}

/// How well fits predict what was held out of them, the average of several; with metrics where these are named. As JSON, with what there is to say.
///
/// # Errors
/// Fits to other data, or of which other entries were held out; a metric that there is not.
#[pyfunction]
#[pyo3(signature = (directories, inputs, metrics, rank, seed, threads))]
pub fn heldout_score(
    py: Python<'_>,
    directories: Vec<PathBuf>,
    inputs: Option<Inputs>,
    metrics: Option<String>,
    rank: Option<String>,
    seed: Option<u64>,
    threads: Option<usize>,
) -> PyResult<(String, Vec<String>)> {
    let scored = py.detach(|| {
        let wanted = metrics.as_deref().map(Metric::parse_all).transpose();
        let wanted = wanted.map_err(|error| Error::Usage(vec![error]))?.unwrap_or_default();
        let paths: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        // Their program and its constants are the same.
        Stored::open_all(&paths)?;
        let fits = opened(directories.iter().map(|own| (own.clone(), inputs.clone())).collect())?;
        compare::refuse_unlike(&fits, &paths)?;
        let parameters: Vec<&Parameters> = fits.iter().map(|fit| &fit.parameters).collect();
        let first = &fits[0];
        let seed = seed.unwrap_or(first.seed);
        let threads = threads.unwrap_or_else(all_threads);
        let scores = heldout::score_averaged(&first.problem, &parameters, &first.held, seed, threads)?;
        let mut json = score_json(&heldout::together(&scores));
        json.insert("n_fits".to_owned(), fits.len().into());
        json.insert("seed".to_owned(), seed.into());
        json.insert("arrays".to_owned(), scores_by_name(&scores));
        let (rank, settings) = (rank.as_deref(), (seed, threads));
        let (measured, told) =
            metrics::measure(&first.problem, &parameters, &first.held, rank, &wanted, settings)?;
        if !measured.is_empty() {
            json.insert("metrics".to_owned(), metrics::json(&measured));
        }
        Ok::<_, Error>((Value::Object(json).to_string(), told))
    });
    raised(py, scored)
}

/// Fits of which something was held out, each with its data and constants.
fn opened(fits: Vec<Asks>) -> Result<Vec<reopen::Reopened>, Error> {
    let given = |(directory, inputs): Asks| given(&directory, inputs).map(|own| (directory, own));
    let each: Vec<(PathBuf, Option<Bound>)> = fits.into_iter().map(given).collect::<Result<_, Error>>()?;
    let each: Vec<(&Path, Option<&Bound>)> =
        each.iter().map(|(directory, own)| (directory.as_path(), own.as_ref())).collect();
    compare::open_each(&each)
}

/// Which of several fits, each with its inputs, predicts better what was held out of all of them, as JSON.
///
/// # Errors
/// Fits to other data, or of which other entries were held out.
#[pyfunction]
#[pyo3(signature = (fits, threads))]
pub fn compare_fits(py: Python<'_>, fits: Vec<Asks>, threads: Option<usize>) -> PyResult<String> {
    let compared = py.detach(|| {
        let names: Vec<String> = fits.iter().map(|(own, _)| own.display().to_string()).collect();
        let fits = opened(fits)?;
        let found = compare::comparison(&fits, threads.unwrap_or_else(all_threads))?;
        Ok::<_, Error>(found.json(&names).to_string())
    });
    raised(py, compared)
}

/// Which components of two fits, or of a fit and a table, are the same, as JSON.
///
/// # Errors
/// A directory that holds no fit; a latent or an axis that it does not have; a table without common labels.
#[pyfunction]
#[pyo3(signature = (a, b, variable, axis))]
pub fn match_components(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    variable: Option<String>,
    axis: Option<String>,
) -> PyResult<String> {
    let matched = py.detach(|| {
        let (variable, axis) = (variable.as_deref(), axis.as_deref());
        let a = Components::of_directory(&a, variable, axis)?;
        let b = match b.is_file() {
            true => Components::of_table(&b, &a)?,
            false => Components::of_directory(&b, variable, axis)?,
        };
        Ok::<_, Error>(matching::matching(&a, &b)?.json(&a, &b).to_string())
    });
    raised(py, matched)
}

/// The values of a grid in words, `topic=5..50:5` or `topic=4,8,16`; `None` for a single value.
///
/// # Errors
/// A range that is empty or too long.
#[pyfunction]
pub fn grid(py: Python<'_>, text: &str) -> PyResult<Option<Vec<f64>>> {
    let parsed = Grid::parse(text).transpose();
    Ok(raised(py, parsed.map_err(|error| Error::Usage(vec![error])))?.map(|own| own.values))
}

/// Which of several fits to take: for each its values of the grids, its directory and its data. As JSON.
///
/// # Errors
/// Fits of which nothing was held out, or not the same entries.
#[pyfunction]
#[pyo3(signature = (fits, threads))]
pub fn choose_fit(py: Python<'_>, fits: Vec<Tried>, threads: Option<usize>) -> PyResult<String> {
    let chosen = py.detach(|| {
        let threads = threads.unwrap_or_else(all_threads);
        let candidate = |(values, directory, inputs): Tried| {
            let given = given(&directory, inputs)?;
            choose::candidate_in(values, &directory, given.as_ref(), threads)
        };
        let candidates: Vec<Candidate> = fits.into_iter().map(candidate).collect::<Result<_, Error>>()?;
        Ok::<_, Error>(choose::suggest(candidates)?.json().to_string())
    });
    raised(py, chosen)
}

/// Draws latents and data from the prior of a program, and writes them to `out`; gives what `simulated.json` holds, and notes.
///
/// # Errors
/// An axis without a size; a prior that cannot be drawn from.
#[pyfunction]
#[pyo3(signature = (text, file_name, inputs, seed, totals, out))]
pub fn simulate_prior(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    inputs: Inputs,
    seed: u64,
    totals: Vec<(String, u64)>,
    out: PathBuf,
) -> PyResult<(String, Vec<String>)> {
    let drawn = py.detach(|| {
        let place = Place::prepare(&out, &[], false)?;
        let (compiled, _) = cavi::session::open(text, file_name, &inputs.inner)?;
        let inputs = Bound { sizes_of_covariances: false, ..inputs.inner };
        let simulated = simulate::from_prior(&compiled, &inputs, &simulate::Asked { seed, totals })?;
        written(place, &simulated, text, file_name, seed)
    });
    raised(py, drawn)
}

/// Draws latents from a fit and data given these, and writes them to `out`; gives what `simulated.json` holds, and notes.
///
/// # Errors
/// As [`impute_entries`]; draws that have no value.
#[pyfunction]
#[pyo3(signature = (directory, inputs, seed, totals, out))]
pub fn simulate_fit(
    py: Python<'_>,
    directory: PathBuf,
    inputs: Option<Inputs>,
    seed: u64,
    totals: Vec<(String, u64)>,
    out: PathBuf,
) -> PyResult<(String, Vec<String>)> {
    let drawn = py.detach(|| {
        let place = Place::prepare(&out, &[&directory], false)?;
        let fit = reopen::open(&directory, given(&directory, inputs)?.as_ref())?;
        let simulated = simulate::from_fit(&fit, &simulate::Asked { seed, totals })?;
        written(place, &simulated, &fit.stored.text, &directory.display().to_string(), seed)
    });
    raised(py, drawn)
}

/// Writes draws.
fn written(
    place: Place,
    simulated: &Simulated,
    text: &str,
    from: &str,
    seed: u64,
) -> Result<(String, Vec<String>), Error> {
    let symbols = &simulated.model.symbols;
    let totals = simulated.assumed.iter().map(|name| {
        format!(
            "each row of {name} has {TOTAL} units, since nothing says its total; total={{{name:?}: N}} does"
        )
    });
    let far = simulated.far().into_iter().map(|(name, largest)| {
        format!(
            "draws of {name} reach {largest:.1e}: a prior above it is too vague to be drawn from; give its constants other values"
        )
    });
    let notes = totals.chain(far).collect();
    let json = place.write(simulated, text, &|files| {
        let arrays = files.iter().map(|file| {
            let shape = symbols.find(&file.name).map(|id| simulated.bound.shape(symbols, id));
            (file.name.clone(), json!({ "file": file.path.display().to_string(), "shape": shape }))
        });
        let latents = simulated.latents.iter().map(|id| symbols.array(*id).name.clone());
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "from": from,
            "seed": seed,
            "arrays": arrays.collect::<serde_json::Map<String, Value>>(),
            "latents": latents.collect::<Vec<String>>(),
        })
    })?;
    Ok((json.to_string(), notes))
}

/// A page about a fit, as HTML that needs nothing beside it.
///
/// # Errors
/// A directory that holds no fit; a file of labels or numbers that cannot be read.
#[pyfunction]
#[pyo3(signature = (directory, title, by))]
pub fn report(
    py: Python<'_>,
    directory: PathBuf,
    title: Option<String>,
    by: Vec<String>,
) -> PyResult<String> {
    let page = py.detach(|| {
        let by: Result<Vec<cavi_report::Colouring>, String> =
            by.iter().map(|text| cavi_report::Colouring::parse(text)).collect();
        let by = by.map_err(|text| Error::Usage(vec![DataError::new(text)]))?;
        cavi_report::page(&directory, &cavi_report::Options { title, by })
    });
    raised(py, page)
}
