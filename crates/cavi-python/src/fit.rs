//! Fits, and what can be known of one before it is run.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cavi::checkpoint::{Checkpoints, Found, find};
use cavi::directory::{Directory, Summary};
use cavi::heldout::Baselines;
use cavi::heldout::folds::Folds;
use cavi::heldout::one_component::{self, Split};
use cavi::schedule::ABOUT_THE_SWEEP;
use cavi::{Control, Error, Fit, Precision, Problem, Settings};
use cavi_syntax::ast::Allocations;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods, PyFloat, PyInt};

use crate::error::{UsageError, raised};
use crate::inputs::Inputs;
use crate::stored::rendered;
use crate::watch::watched;

/// What a fit leaves, beside its directory: the summary as JSON, warnings about the program, and what was understood of the data.
type Told = (String, Vec<String>, Vec<String>);

/// Options of a fit, by the names that the command line has; what is not given is as the program says.
pub struct Options {
    sweeps: Option<u64>,
    tol: Option<f64>,
    schedule: Option<String>,
    warmup: Option<String>,
    batch: Option<String>,
    shards: Option<String>,
    folds: Option<usize>,
    accelerate: Option<bool>,
    allocations: Option<String>,
    seed: Option<u64>,
    restarts: Option<u64>,
    keep_all: bool,
    threads: usize,
    single: bool,
    elbo_every: u64,
    verify: bool,
    init: Option<PathBuf>,
    grow: bool,
    checkpoint_every: Option<f64>,
    resume: Option<PathBuf>,
    heldout_totals: bool,
    baselines: bool,
}

impl Options {
    /// Reads them from a dictionary, which has a value for each name that it holds.
    ///
    /// # Errors
    /// A value of another type than its option has.
    pub fn read(options: &Bound<'_, PyDict>) -> PyResult<Options> {
        fn value<T>(options: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<T>>
        where
            T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
        {
            let found = options.get_item(name)?.filter(|own| !own.is_none());
            found.map(|own| own.extract().map_err(|_| unexpected(name, &own))).transpose()
        }
        let found = Options {
            sweeps: value(options, "sweeps")?,
            tol: value(options, "tol")?,
            schedule: value(options, "schedule")?,
            warmup: value(options, "warmup")?,
            batch: value(options, "batch")?,
            shards: value(options, "shards")?,
            folds: value(options, "folds")?,
            accelerate: value(options, "accelerate")?,
            allocations: value(options, "allocations")?,
            seed: value(options, "seed")?,
            restarts: value(options, "restarts")?,
            keep_all: value(options, "keep_all")?.unwrap_or(false),
            threads: value(options, "threads")?.unwrap_or_else(all_threads),
            single: value(options, "single")?.unwrap_or(false),
            elbo_every: value(options, "elbo_every")?.unwrap_or(1),
            verify: value(options, "verify")?.unwrap_or(false),
            init: value(options, "init")?,
            grow: value(options, "grow")?.unwrap_or(false),
            checkpoint_every: value(options, "checkpoint_every")?,
            resume: value(options, "resume")?,
            heldout_totals: value(options, "heldout_totals")?.unwrap_or(false),
            baselines: value(options, "baselines")?.unwrap_or(false),
        };
        let numbers = [
            ("threads", found.threads as u64),
            ("elbo_every", found.elbo_every),
            ("restarts", found.restarts.unwrap_or(1)),
        ];
        if found.threads > MOST_THREADS {
            let threads = found.threads;
            return Err(UsageError::new_err(format!(
                "threads={threads}: expected a whole number from 1 to {MOST_THREADS}"
            )));
        }
        match numbers.iter().find(|(_, number)| *number == 0) {
            None => Ok(found),
            Some((name, _)) => {
                Err(UsageError::new_err(format!("{name}=0: expected a whole number, 1 or greater")))
            }
        }
    }

    /// The settings of new rows of a fit by these options.
    pub fn of_rows(&self, allocations: Option<Allocations>, seed: u64, stop: &Arc<AtomicBool>) -> Settings {
        Settings {
            sweeps: self.sweeps,
            tolerance: self.tol,
            allocations,
            seed: Some(seed),
            threads: self.threads,
            stop: Some(Arc::clone(stop)),
            ..Settings::default()
        }
    }

    /// The seed that is asked for.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Whether counts at a rate are scored given the totals of their rows.
    pub fn heldout_totals(&self) -> bool {
        self.heldout_totals
    }

    /// What there is to say about the schedule that is asked for: about its items, and about the latents that it leaves out.
    ///
    /// # Errors
    /// A schedule that the program does not have.
    fn about_schedule(&self, problem: &Problem) -> Result<Vec<String>, Error> {
        let Some(text) = &self.schedule else { return Ok(Vec::new()) };
        let resolved = problem.schedule(text)?;
        let items = resolved.about_items.iter().map(|own| cavi_syntax::render(own, "schedule", text, false));
        let left_out = resolved.about_program.iter().map(|own| rendered(own, &problem.source));
        Ok(items.chain(left_out).collect())
    }

    /// The settings of a fit by these options.
    ///
    /// # Errors
    /// Options that the program does not have.
    pub fn settings(&self, problem: &Problem, stop: &Arc<AtomicBool>) -> Result<Settings, Error> {
        let rule = |text: &String| match Allocations::of_word(text) {
            Some(rule) => problem.allocations(rule),
            None => {
                let found =
                    cavi::bind::DataError::new(format!("allocations={text:?}: no rule of allocations"));
                Err(Error::Usage(vec![found.possible("ordinary, means or collapsed")]))
            }
        };
        Ok(Settings {
            sweeps: self.sweeps,
            tolerance: self.tol,
            schedule: self
                .schedule
                .as_deref()
                .map(|text| problem.schedule(text))
                .transpose()?
                .map(|own| own.schedule),
            warmup: self.warmup.as_deref().map(|text| problem.warmups(text)).transpose()?,
            batch: self.batch.as_deref().map(|text| problem.batch(text)).transpose()?,
            allocations: self.allocations.as_ref().map(rule).transpose()?,
            accelerate: self.accelerate,
            seed: self.seed,
            restarts: self.restarts,
            keep_all: self.keep_all,
            threads: self.threads,
            precision: if self.single { Precision::Single } else { Precision::Double },
            elbo_every: self.elbo_every,
            verify: self.verify,
            given: None,
            stop: Some(Arc::clone(stop)),
            checkpoints: None,
            shards: self.shards.as_deref().map(|text| problem.shards(text)).transpose()?,
            others: None,
            glances: None,
        })
    }
}

/// A value that an option does not take: of a number below 0, or one that is not whole, what is expected.
fn unexpected(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let is_number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
    match (is_number, value.repr()) {
        (true, Ok(shown)) => {
            UsageError::new_err(format!("{name}={shown}: expected a whole number, 0 or greater"))
        }
        (_, Err(error)) => error,
        (false, Ok(_)) => PyTypeError::new_err(format!("{name}: a value of this type is not expected here")),
    }
}

/// A larger number of threads is taken for a typing mistake.
const MOST_THREADS: usize = 1024;

/// As many threads as the machine runs at once.
pub fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Fits a program and writes the directory of the fit.
///
/// # Errors
/// Everything that is wrong with program, data and options; what a signal or the callback raised.
#[pyfunction]
#[pyo3(signature = (text, file_name, inputs, options, out, callback))]
pub fn fit(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    inputs: Inputs,
    options: &Bound<'_, PyDict>,
    out: PathBuf,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<Told> {
    let options = Options::read(options)?;
    let stop = Arc::new(AtomicBool::new(false));
    let done = watched(py, callback, &stop, |report| {
        let Inputs { inner, heldout, mut asked, is_kept: _ } = inputs;
        asked.schedule = options.schedule.clone();
        asked.grow = options.grow;
        asked.folds = options.folds;
        asked.init = options.init.as_ref().map(|path| path.display().to_string());
        let (compiled, mut warnings) = cavi::session::open(text, file_name, &inner)?;
        // The sweep of the program is not the one that is run.
        warnings.retain(|own| options.schedule.is_none() || !ABOUT_THE_SWEEP.contains(&own.code));
        let source = Arc::clone(&compiled.source);
        asked.heldout_totals = options.heldout_totals;
        let seed = compiled.seed(options.seed);
        asked = asked.of(&inner, seed);
        let for_folds = options.folds.map(|of| (compiled.clone(), of));
        let totals = options.heldout_totals;
        let (problem, held) = compiled.bind_without_by(&inner, &heldout, options.seed, totals)?;
        let mut told: Vec<String> = warnings.iter().map(|own| rendered(own, &source)).collect();
        told.extend(options.about_schedule(&problem)?);
        let mut settings = options.settings(&problem, &stop)?;
        if let Some(init) = &options.init {
            let (given, notes) = match options.grow {
                true => problem.given_grown(init, seed)?,
                false => problem.given_by(init, settings.schedule.as_ref())?,
            };
            told.extend(notes);
            settings.given = Some(given);
        }
        let earlier = match options.resume.as_deref().map(|own| find(own, &problem, &settings)).transpose()? {
            Some(Found::Finished) => {
                let resumed = options.resume.as_deref().unwrap_or(&out);
                // What is left where it was killed while it took its checkpoints away.
                cavi::checkpoint::remove(resumed)?;
                cavi::directory::copy(resumed, &out, false)?;
                let json = cavi::directory::Stored::open(resumed)?.summary.to_string();
                return Ok((json, told, problem.binding.read.clone()));
            }
            Some(Found::Nothing) => {
                told.push(format!("`{}` has no checkpoint: the fit starts anew", out.display()));
                None
            }
            Some(Found::Runs(earlier)) => {
                told.extend(earlier.warnings.iter().cloned());
                Some(earlier)
            }
            None => None,
        };
        let directory = Directory::prepare(&out, &problem, &[], false)?;
        let every =
            options.checkpoint_every.map(|own| Duration::try_from_secs_f64(own).unwrap_or(Duration::MAX));
        if every.is_some() || earlier.is_some() {
            settings.checkpoints = Some(Checkpoints::new(&out, every, earlier, &problem, &settings));
        }
        told.extend(problem.binding.warnings.iter().chain(&problem.binding.by_counters).cloned());
        let folds = for_folds
            .map(|(compiled, of)| crate::folds::fitted(&compiled, &inner, of, &options, &stop, report))
            .transpose()?;
        // What was held out is scored beside fits to the same data again.
        let again = (options.baselines && !held.parts.is_empty()).then_some(inner);
        let fit = problem.fit(&settings, report)?;
        told.extend(settings.checkpoints.as_ref().and_then(Checkpoints::failure));
        told.extend(fit.warnings.iter().map(|own| rendered(own, &source)));
        let ended = fit.interrupted || fit.failure.is_some();
        let baselines = again.filter(|_| !ended).map(|inputs| {
            let split = Split { inputs: &inputs, requests: &heldout, seed, held: &held };
            one_component::beside(&problem, &fit, &split, &settings, &mut |_| match stop
                .load(Ordering::Relaxed)
            {
                true => Control::Stop,
                false => Control::Continue,
            })
        });
        let asked = (&asked, folds.as_ref(), baselines.as_ref());
        let json = write(&problem, &fit, &held, seed, &settings, asked, directory)?;
        if settings.checkpoints.is_some() && !fit.interrupted {
            cavi::checkpoint::remove(&out)?;
        }
        if let Some(failure) = fit.failure {
            return Err(problem.error(vec![failure]));
        }
        Ok((json, told, problem.binding.read.clone()))
    })?;
    raised(py, done)
}

/// Writes the directory of a fit, its scores in the summary, which is returned.
fn write(
    problem: &Problem,
    fit: &Fit,
    held: &cavi::heldout::HeldOut,
    seed: u64,
    settings: &Settings,
    (asked, folds, baselines): (&cavi::directory::Asked, Option<&Folds>, Option<&Baselines>),
    directory: Directory,
) -> Result<String, Error> {
    let scored = problem.score(fit, held, seed, settings.threads);
    let mut failed = None;
    let scores = scored.unwrap_or_else(|error| {
        failed = Some(error);
        Vec::new()
    });
    let mut runs = Vec::new();
    for (number, own) in &fit.kept {
        let scores = problem.score(own, held, seed, settings.threads).unwrap_or_default();
        runs.push(cavi::directory::OwnRun { number: number + 1, fit: own, scores });
    }
    let all: Vec<&Fit> = runs.iter().map(|run| run.fit).collect();
    let averaged = match all.len() {
        0 | 1 => None,
        _ => problem.score_averaged(&all, held, seed, settings.threads).ok(),
    };
    let summary = Summary {
        problem,
        fit,
        settings,
        asked,
        scores: &scores,
        runs: &runs,
        averaged: averaged.as_deref(),
        folds,
        baselines,
    };
    let json = directory.write(&summary)?.to_string();
    failed.map_or(Ok(json), Err)
}

/// How a program will run on these data: steps, memory, seconds a sweep.
///
/// # Errors
/// Everything that is wrong with program and data; a program that has no plan.
#[pyfunction]
#[pyo3(signature = (text, file_name, inputs, threads = None))]
pub fn plan(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    inputs: Inputs,
    threads: Option<usize>,
) -> PyResult<String> {
    let planned = py.detach(|| {
        let (compiled, _) = cavi::session::open(text, file_name, &inputs.inner)?;
        let settings = Settings { threads: threads.unwrap_or_else(all_threads), ..Settings::default() };
        compiled.bind(&inputs.inner)?.plan(&settings)
    });
    raised(py, planned)
}

/// Writes the data of a program to a packed file, which later runs map instead of reading; gives what was understood of them, what is
/// most likely a mistake, and the bytes of the file.
///
/// # Errors
/// Another name than that of packed data; everything that is wrong with the data; those of the system.
#[pyfunction]
pub fn pack(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    inputs: Inputs,
    out: PathBuf,
) -> PyResult<(Vec<String>, Vec<String>, u64)> {
    let packed = py.detach(|| {
        let (compiled, _) = cavi::session::open(text, file_name, &inputs.inner)?;
        let packed = cavi::pack::pack(&compiled, &inputs.inner, &out)?;
        Ok::<_, Error>((packed.read, packed.warnings, packed.bytes))
    });
    raised(py, packed)
}

/// What is understood of the data of a program, a line each, and what is most likely a mistake in them.
///
/// # Errors
/// Everything that is wrong with program and data.
#[pyfunction]
pub fn read(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    inputs: Inputs,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let bound = py.detach(|| {
        let (compiled, _) = cavi::session::open(text, file_name, &inputs.inner)?;
        let binding = cavi::bind::bind(&compiled.model, &inputs.inner)?;
        Ok::<_, Error>((binding.read, [binding.warnings, binding.by_counters].concat()))
    });
    raised(py, bound)
}
