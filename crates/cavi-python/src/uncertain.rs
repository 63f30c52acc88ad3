//! How sure a fit is: draws from q, intervals, checks of a fit by data that it would produce; and its charts as files.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cavi::bind::DataError;
use cavi::calibrate;
use cavi::check_fit::{self, Checked};
use cavi::intervals::{self, Bootstrap, Draws, Form, Intervals};
use cavi::sample::{self, What};
use cavi::{Control, Error, Settings, reopen};
use cavi_plots::Kind;
use cavi_report::Colouring;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;

use crate::asking::given;
use crate::error::{BrokenPromise, raised};
use crate::fit::all_threads;
use crate::inputs::Inputs;
use crate::watch::watched;

/// The draws of a variable or a group of one: name, `latent`, `index` or `function`, group, axes with labels, values draw by draw.
type Part<'py> = (String, &'static str, String, Vec<(String, Vec<String>)>, Bound<'py, PyArray1<f64>>);

/// Draws from q; beside them what has none, with the reason.
///
/// # Errors
/// A directory that holds no fit; data that are not its own; names that it does not have; more draws than memory holds.
#[pyfunction]
#[pyo3(signature = (directory, inputs, names, draws, seed))]
#[allow(clippy::type_complexity, reason = "a tuple of Python")]
pub fn draw<'py>(
    py: Python<'py>,
    directory: PathBuf,
    inputs: Option<Inputs>,
    names: Vec<String>,
    draws: usize,
    seed: u64,
) -> PyResult<(Vec<Part<'py>>, Vec<(String, String)>)> {
    let drawn = py.detach(|| {
        let fit = reopen::open(&directory, given(&directory, inputs)?.as_ref())?;
        let sample = sample::sample(&fit.problem, &fit.parameters, &sample::Asked { draws, seed, names })?;
        let mut found = Vec::new();
        for own in &sample.drawn {
            let what = match own.what {
                What::Latent => "latent",
                What::Index => "index",
                What::Function => "function",
            };
            found.extend(sample.parts(own).into_iter().map(|part| (own.name.clone(), what, part)));
        }
        Ok::<_, Error>((found, sample.left_out))
    });
    let (parts, left_out) = raised(py, drawn)?;
    let part = |(name, what, own): (String, &'static str, sample::Part)| {
        (name, what, own.group, own.axes, own.values.to_pyarray(py))
    };
    Ok((parts.into_iter().map(part).collect(), left_out))
}

/// Intervals of latents: what they are, notes, and a table of each latent as CSV. Without `bootstrap` and `linear_response` they are those of q.
///
/// # Errors
/// As [`draw`]; a level that is none; what a method refuses; what a signal raised.
#[pyfunction]
#[pyo3(signature = (directory, inputs, names, level, bootstrap, rows, form, linear_response, seed, sweeps, tol, threads))]
#[allow(
    clippy::too_many_arguments,
    clippy::type_complexity,
    reason = "one for each option, and a tuple of Python"
)]
pub fn intervals_of(
    py: Python<'_>,
    directory: PathBuf,
    inputs: Option<Inputs>,
    names: Vec<String>,
    level: f64,
    bootstrap: Option<usize>,
    rows: Option<String>,
    form: &str,
    linear_response: bool,
    seed: u64,
    sweeps: Option<u64>,
    tol: Option<f64>,
    threads: Option<usize>,
) -> PyResult<(String, Vec<String>, Vec<(String, String)>)> {
    let stop = Arc::new(AtomicBool::new(false));
    let usage = |text: String, possible: &str| Error::Usage(vec![DataError::new(text).possible(possible)]);
    let found = watched(py, None, &stop, |_| {
        let threads = threads.unwrap_or_else(all_threads);
        if bootstrap.is_some() && linear_response {
            return Err(usage("two methods at once".to_owned(), "bootstrap=200 or linear_response=True"));
        }
        let own = [("sweeps", sweeps.is_some()), ("tol", tol.is_some()), ("form", form != "percentile")];
        if let Some((argument, _)) = own.iter().find(|(_, given)| *given && bootstrap.is_none()) {
            return Err(usage(
                format!("{argument} without bootstrap"),
                "arguments of refits beside bootstrap=200",
            ));
        }
        if bootstrap.is_none() && !linear_response && inputs.is_some() {
            let possible = "no data for intervals by q; bootstrap=200 or linear_response=True read them";
            return Err(usage("data without a method that reads them".to_owned(), possible));
        }
        let form = match form {
            "basic" => Form::Basic,
            "percentile" => Form::Percentile,
            other => return Err(usage(format!("form={other:?}"), "\"percentile\" or \"basic\"")),
        };
        let Some(refits) = bootstrap else {
            if rows.is_some() {
                return Err(usage("rows without bootstrap".to_owned(), "bootstrap=200, rows=AXIS"));
            }
            if !linear_response {
                return intervals::of_q(&directory, &names, level);
            }
            let fit = reopen::open(&directory, given(&directory, inputs)?.as_ref())?;
            let progress = |_, _| match stop.load(Ordering::Relaxed) {
                true => Control::Stop,
                false => Control::Continue,
            };
            return intervals::response(&fit, &names, level, threads, &progress);
        };
        let fit = reopen::open(&directory, given(&directory, inputs)?.as_ref())?;
        let asked = Bootstrap {
            refits,
            draws: rows.map_or(Draws::Fit, Draws::Rows),
            form,
            names,
            level,
            seed,
            threads,
            sweeps,
            tolerance: tol.unwrap_or(intervals::TOLERANCE),
            stop: Some(Arc::clone(&stop)),
        };
        intervals::bootstrap(&fit, &asked, &|_| {})
    })?;
    let Intervals { method, what, level, variables, notes } = raised(py, found)?;
    let tables = variables.iter().map(|own| (own.name.clone(), own.table(method, level))).collect();
    Ok((what, notes, tables))
}

/// Whether data drawn from a fit look like its own, as the JSON of `cavi check-fit --json`.
///
/// # Errors
/// As [`draw`]; statistics and axes that there are not; too few draws; what a signal raised.
#[pyfunction]
#[pyo3(signature = (directory, inputs, statistics, draws, k_hat, by, seed, threads))]
#[allow(clippy::too_many_arguments, reason = "one for each option")]
pub fn predictive_checks(
    py: Python<'_>,
    directory: PathBuf,
    inputs: Option<Inputs>,
    statistics: Vec<String>,
    draws: usize,
    k_hat: Option<usize>,
    by: Option<String>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<String> {
    let stop = Arc::new(AtomicBool::new(false));
    let checked = watched(py, None, &stop, |_| {
        let fit = reopen::open(&directory, given(&directory, inputs)?.as_ref())?;
        let asked = check_fit::Asked {
            statistics,
            draws,
            by,
            seed,
            threads: threads.unwrap_or_else(all_threads),
            weights: k_hat,
            stop: Some(Arc::clone(&stop)),
        };
        check_fit::check(&fit, &asked)
    })?;
    raised(py, checked.map(|own: Checked| own.json().to_string()))
}

/// Whether fits find what their data were drawn from: what was found as JSON, and what is wrong, in words. Data are drawn from `other`, the
/// text, the name and the inputs of a program, else from the program itself.
///
/// # Errors
/// Inputs that are wrong; too few fits or draws; a prior that cannot be drawn from; fits that fail; what a signal raised.
#[pyfunction]
#[pyo3(signature = (text, file_name, inputs, other, totals, fits, draws, sweeps, tol, restarts, seed, threads))]
#[allow(clippy::too_many_arguments, reason = "one for each option")]
pub fn calibrated(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    inputs: Inputs,
    other: Option<(String, String, Inputs)>,
    totals: Vec<(String, u64)>,
    fits: usize,
    draws: usize,
    sweeps: Option<u64>,
    tol: Option<f64>,
    restarts: Option<u64>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<(String, Vec<String>)> {
    let stop = Arc::new(AtomicBool::new(false));
    let found = watched(py, None, &stop, |_| {
        let (compiled, _) = cavi::session::open(text, file_name, &inputs.inner)?;
        let opened =
            |(text, name, inputs): &(String, String, Inputs)| cavi::session::open(text, name, &inputs.inner);
        let drawn_from = other.as_ref().map(opened).transpose()?;
        let from =
            drawn_from.as_ref().zip(other.as_ref()).map(|((own, _), (_, _, inputs))| (own, &inputs.inner));
        let asked = calibrate::Asked {
            fits,
            draws,
            seed,
            totals,
            settings: Settings { sweeps, tolerance: tol, restarts, ..Settings::default() },
            threads: threads.unwrap_or_else(all_threads),
            stop: Some(Arc::clone(&stop)),
        };
        calibrate::calibrate(&compiled, &inputs.inner, from, &asked, &|_| {})
    })?;
    raised(py, found.map(|own| (own.json().to_string(), own.verdicts())))
}

/// The charts of a fit as files: their names and bytes. `kinds` are `svg`, `png` and `pdf`, `width` is in millimetres.
///
/// # Errors
/// A directory that holds no fit; a kind or a width that there is not; a file of `by` that cannot be read.
#[pyfunction]
#[pyo3(signature = (directory, kinds, width, by))]
pub fn plots(
    py: Python<'_>,
    directory: PathBuf,
    kinds: Vec<String>,
    width: Option<f64>,
    by: Vec<String>,
) -> PyResult<Vec<(String, Vec<u8>)>> {
    let usage = |text: String, possible: String| Error::Usage(vec![DataError::new(text).possible(possible)]);
    let charts = py.detach(|| {
        let kind = |text: &String| match text.as_str() {
            "svg" => Ok(Kind::Svg),
            "png" => Ok(Kind::Png),
            "pdf" => Ok(Kind::Pdf),
            other => Err(usage(format!("kind={other:?}"), "\"svg\", \"png\" or \"pdf\"".to_owned())),
        };
        let kinds: Vec<Kind> = kinds.iter().map(kind).collect::<Result<_, Error>>()?;
        let width = width.unwrap_or(cavi_plots::ONE_COLUMN);
        if !cavi_plots::WIDTHS.contains(&width) {
            let (least, most) = (cavi_plots::WIDTHS.start(), cavi_plots::WIDTHS.end());
            return Err(usage(
                format!("width={width}"),
                format!("a width in millimetres from {least} to {most}"),
            ));
        }
        let by: Result<Vec<Colouring>, String> = by.iter().map(|text| Colouring::parse(text)).collect();
        let by = by.map_err(|text| Error::Usage(vec![DataError::new(text)]))?;
        Ok::<_, Error>((cavi_report::charts(&directory, &by)?, kinds, width))
    });
    let (charts, kinds, width) = raised(py, charts)?;
    let drawn = py.detach(|| cavi_plots::plots(charts, &kinds, width));
    let drawn = drawn.map_err(|error| BrokenPromise::new_err(format!("internal error: {error}")))?;
    Ok(drawn.into_iter().map(|own| (own.name, own.bytes)).collect())
}
