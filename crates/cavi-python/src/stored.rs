//! Fits in directories: their latents, new rows by them, and how well they predict.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cavi::bind::DataError;
use cavi::compile::Source;
use cavi::directory::{Directory, Stored, number, score_json, scores_by_name};
use cavi::exclusive::By;
use cavi::export::Export;
use cavi::heldout::Baselines;
use cavi::rank::metrics::{self, Metric};
use cavi::{Error, Parameters, heldout, summary};
use cavi_families::marginal::Marginal;
use cavi_syntax::Diagnostic;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::error::raised;
use crate::fit::Options;
use crate::inputs::Inputs;
use crate::watch::watched;

/// A latent of a stored fit, or of one group of a ragged axis: numbers in C order over its axes.
#[pyclass(module = "cavi._core", frozen)]
pub struct Variable {
    inner: summary::Variable,
}

#[pymethods]
impl Variable {
    /// Its name; of a variable over a ragged axis with the group, `w[rna]`.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// The group: each axis with the label.
    #[getter]
    fn group(&self) -> Vec<(String, String)> {
        self.inner.group.clone()
    }

    /// The axes with their labels.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.inner.axes.clone()
    }

    /// What each axis is called: by its name, or by its letter where the latent runs along it more than once.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.inner.columns.iter().map(String::as_str).collect()
    }

    /// What its numbers are: `mean`, `prob` or `value`.
    #[getter]
    fn parameter(&self) -> &'static str {
        self.inner.parameter
    }

    /// The numbers.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.inner.values.to_pyarray(py)
    }

    /// Standard deviations under q, where the fit has them.
    #[getter]
    fn deviations<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.deviations.as_ref().map(|own| own.to_pyarray(py))
    }

    /// The quantiles of each number under q at this probability, where q has them.
    fn quantile<'py>(&self, py: Python<'py>, probability: f64) -> Option<Bound<'py, PyArray1<f64>>> {
        let marginals = self.inner.marginals.as_ref()?;
        let at = |own: &Marginal| own.quantile(probability);
        let values: Vec<f64> = py.detach(|| marginals.iter().map(at).collect());
        Some(values.to_pyarray(py))
    }
}

/// The latents of a fit, or one of them by its name.
///
/// # Errors
/// A directory that holds no fit; a name that there is not.
#[pyfunction]
#[pyo3(signature = (directory, name = None))]
pub fn variables(py: Python<'_>, directory: PathBuf, name: Option<String>) -> PyResult<Vec<Variable>> {
    let found = py.detach(|| summary::variables(&directory, name.as_deref()));
    Ok(raised(py, found)?.into_iter().map(|inner| Variable { inner }).collect())
}

/// Labels and values of the entries of a latent at each position of its other axes.
type Listed = Vec<Vec<(String, f64)>>;

/// The largest entries of a latent along the axis at this place, for each position on the others, in C order of these: labels and values. They are
/// in the order of their `weight`, their `lift`, or by `frex`. Of a ragged latent a list for each group.
///
/// # Errors
/// A directory that holds no fit; a name that there is not; another order; a lift of what has none.
#[pyfunction]
#[pyo3(signature = (directory, name, over, count, by))]
pub fn top(
    py: Python<'_>,
    directory: PathBuf,
    name: &str,
    over: usize,
    count: usize,
    by: &str,
) -> PyResult<Vec<Listed>> {
    let found = py.detach(|| {
        let by = match by {
            "weight" => By::Weight,
            "lift" => By::Lift,
            "frex" => By::Frex,
            _ => {
                let wrong = DataError::new(format!("by={by:?}: no order of entries"));
                return Err(Error::Usage(vec![wrong.possible("weight, lift or frex")]));
            }
        };
        let stored = cavi::components::StoredShares::open(&directory)?;
        let variables = summary::variables(&directory, Some(name))?;
        let each = variables.into_iter().map(|mut own| {
            // One name may stand at several axes, so that each is called by its place.
            let names: Vec<String> = own.axes.iter().map(|(name, _)| name.clone()).collect();
            for (place, (name, _)) in own.axes.iter_mut().enumerate() {
                *name = place.to_string();
            }
            let shares = |place: &str| stored.of(&own, &names[place.parse::<usize>().ok()?]);
            let top = summary::top_rows(&own, Some(&over.to_string()), count, by, &shares, usize::MAX)?;
            Ok(top.rows.into_iter().map(|(_, entries)| entries).collect())
        });
        each.collect::<Result<Vec<_>, Error>>()
    });
    raised(py, found)
}

/// Writes the latents of a fit as tables to a directory; gives the names of the files.
///
/// # Errors
/// A directory that holds no fit; one that cannot be written to, or that holds files of others.
#[pyfunction]
pub fn export(py: Python<'_>, directory: PathBuf, out: PathBuf) -> PyResult<Vec<String>> {
    let written = py.detach(|| {
        let tables = cavi::export::tables(&directory)?;
        Export::prepare(&out, &directory, false)?.write(&tables)?;
        Ok::<_, Error>(tables.into_iter().map(|own| own.file).collect())
    });
    raised(py, written)
}

/// Latents of new rows by a fit, written to `out`; gives the summary as JSON and notes.
///
/// # Errors
/// Everything that is wrong with the rows; an axis that cannot grow; what a signal or the callback raised.
#[pyfunction]
#[pyo3(signature = (directory, inputs, axis, options, out, callback))]
pub fn project(
    py: Python<'_>,
    directory: PathBuf,
    inputs: Inputs,
    axis: Option<String>,
    options: &Bound<'_, PyDict>,
    out: PathBuf,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let options = Options::read(options)?;
    let stop = Arc::new(AtomicBool::new(false));
    let done = watched(py, callback, &stop, |report| {
        let stored = Stored::open(&directory)?;
        let (inputs, asked) = as_fitted(inputs, &stored);
        let (compiled, _) =
            cavi::session::open(&stored.text, &stored.file_name, &stored.with_earlier(inputs.clone()))?;
        let seed = compiled.seed(options.seed());
        let asked = asked.of(&inputs, seed);
        let rows = cavi::project::bind(compiled, &inputs, &stored, &directory, axis.as_deref())?;
        let target = Directory::prepare(&out, &rows.problem, &[&directory], false)?;
        let binding = &rows.problem.binding;
        let mut told = [binding.warnings.as_slice(), &binding.by_counters].concat();
        told.extend(dropped(rows.dropped));
        told.extend(
            rows.not_given.iter().map(|name| format!("`{name}` is not given, and counts as missing")),
        );
        if !rows.others.is_empty() {
            let others: Vec<String> = rows.others.iter().map(|own| format!("`--axis {own}`")).collect();
            let others = others.join(" or ");
            told.push(format!(
                "the data do not say which axis grew; `{}` is taken (else {others})",
                rows.axis
            ));
        }
        let settings = options.of_rows(stored.allocations, seed, &stop);
        let projection = rows.fit(&settings, report)?;
        let source = &projection.rows.problem.source;
        told.extend(projection.fit.warnings.iter().map(|own| rendered(own, source)));
        let json = target.write_projection(&projection, &settings, &asked)?;
        if let Some(failure) = &projection.fit.failure {
            return Err(projection.rows.problem.error(vec![failure.clone()]));
        }
        Ok::<_, Error>((json.to_string(), told))
    })?;
    raised(py, done)
}

/// How well a fit, or the average of several, predicts new rows: the score as JSON, and notes.
///
/// # Errors
/// Everything that is wrong with the rows; what a signal or the callback raised.
#[pyfunction]
#[pyo3(signature = (directories, inputs, options, metrics, rank, callback))]
pub fn score(
    py: Python<'_>,
    directories: Vec<PathBuf>,
    inputs: Inputs,
    options: &Bound<'_, PyDict>,
    metrics: Option<String>,
    rank: Option<String>,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let options = Options::read(options)?;
    let wanted = metrics.as_deref().map(Metric::parse_all).transpose();
    let wanted = raised(py, wanted.map_err(|error| Error::Usage(vec![error])))?.unwrap_or_default();
    let stop = Arc::new(AtomicBool::new(false));
    let done = watched(py, callback, &stop, |report| {
        let paths: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        let stored = Stored::open_all(&paths)?;
        let requests = inputs.heldout.clone();
        let (inputs, _) = as_fitted(inputs, &stored);
        let (compiled, _) =
            cavi::session::open(&stored.text, &stored.file_name, &stored.with_earlier(inputs.clone()))?;
        compiled.refuse_unbound(&inputs)?;
        let seed = compiled.seed(options.seed());
        let settings = options.of_rows(stored.allocations, seed, &stop);
        let mut rows = heldout::rows::fit(compiled, &inputs, &stored, &paths, &requests, &settings, report)?;
        rows.held.given_totals = options.heldout_totals();
        for (fit, path) in rows.fits.iter().zip(&paths) {
            if let Some(failure) = &fit.failure {
                return Err(rows.problem.error(vec![failure.clone()]));
            }
            if fit.interrupted {
                let wrong = DataError::new(format!(
                    "the fit of the new rows by `{}` was ended before its end, and has no score",
                    path.display()
                ));
                return Err(Error::Usage(vec![
                    wrong.help("`sweeps` says how many sweeps they take at most"),
                ]));
            }
        }
        let scores = rows.score(seed, settings.threads)?;
        let mut json = score_json(&heldout::together(&scores));
        json.insert("n_dropped".to_owned(), rows.dropped.into());
        json.insert("seed".to_owned(), seed.into());
        json.insert("n_fits".to_owned(), rows.parameters.len().into());
        if let Some(log_scale) = heldout::log_scale(&rows.problem, &rows.held) {
            json.insert("log_scale".to_owned(), number(log_scale));
        }
        let runs = || rows.fits.iter().map(cavi::Fit::run);
        let sweeps = runs().map(|run| run.sweeps).max();
        json.insert("sweeps".to_owned(), sweeps.map_or(Value::Null, Value::from));
        let converged = sweeps.map(|_| runs().all(|run| run.converged));
        json.insert("converged".to_owned(), converged.map_or(Value::Null, Value::from));
        json.insert("arrays".to_owned(), scores_by_name(&scores));
        let means = heldout::baseline::means(&rows.problem, &rows.held, settings.threads);
        json.insert("baselines".to_owned(), Baselines { means, one: None }.json(&scores));
        let parameters: Vec<&Parameters> = rows.parameters.iter().collect();
        let (rank, settings) = (rank.as_deref(), (seed, settings.threads));
        let (measured, notes) =
            metrics::measure(&rows.problem, &parameters, &rows.held, rank, &wanted, settings)?;
        if !measured.is_empty() {
            json.insert("metrics".to_owned(), metrics::json(&measured));
        }
        let binding = &rows.problem.binding;
        let mut told: Vec<String> = binding.warnings.iter().chain(&binding.by_counters).cloned().collect();
        told.extend(dropped(rows.dropped));
        told.extend(notes);
        Ok::<_, Error>((Value::Object(json).to_string(), told))
    })?;
    raised(py, done)
}

/// Inputs of new rows: texts are read as the fit read them, and labels that stand twice are kept apart where they were.
pub fn as_fitted(inputs: Inputs, stored: &Stored) -> (cavi::bind::Inputs, cavi::directory::Asked) {
    let Inputs { mut inner, mut asked, .. } = inputs;
    inner.texts = stored.texts.clone().unwrap_or_default();
    inner.unique |= stored.unique();
    asked.unique = inner.unique;
    (inner, asked)
}

/// A warning with its place in the program.
pub fn rendered(own: &Diagnostic, source: &Source) -> String {
    cavi_syntax::render(own, &source.file_name, &source.text, false)
}

/// What there is to say of entries that were left out.
fn dropped(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{count} entries have a label that the fit does not know, and are left out"))
}
