//! The directory that a fit is written to.
//!
//! Every file is written beside its final name and renamed; `summary.json` is the last one.

use std::fs;
use std::path::{Path, PathBuf};

use cavi::bind::Binding;
use cavi::heldout::Score;
use cavi::{Compiled, Fit, Precision};
use cavi_files::{Cell, CsvText, FileError, write_text_atomically};
use serde_json::{Map, Value, json};

use crate::arguments::{FitArguments, RunArguments};
use crate::failure::Failure;
use crate::scores;

/// A directory that can be written to.
pub struct Directory {
    path: PathBuf,
    /// The outermost directory that had to be made; taken away again if nothing is written.
    made: Option<PathBuf>,
    written: bool,
}

/// What there is to say about a fit in `summary.json`.
pub struct Summary<'a> {
    /// The program.
    pub compiled: &'a Compiled,
    /// Its data.
    pub binding: &'a Binding,
    /// What came out.
    pub fit: &'a Fit,
    /// The options; a demo has none.
    pub arguments: Option<&'a FitArguments>,
    /// How well it predicts what it was not given.
    pub scores: &'a [Score],
}

impl Directory {
    /// Makes the directory before a long fit, so that a mistake shows at once.
    pub fn prepare(path: &Path, compiled: &Compiled, binding: &Binding) -> Result<Directory, Failure> {
        cavi::posterior::check_names(compiled, binding, path)
            .map_err(|error| Failure::wrong(error.to_string()))?;
        let shown = path.display();
        if path.exists() && !path.is_dir() {
            return Err(Failure::usage(format!("`--out {shown}` is a file; expected a directory")));
        }
        let missing = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let made = missing.last().map(Path::to_owned);
        fs::create_dir_all(path)
            .map_err(|error| Failure::wrong(format!("`--out {shown}` cannot be made: {error}")))?;
        let directory = Directory { path: path.to_owned(), made, written: false };
        let probe = path.join(format!(".cavi-{}.probe", std::process::id()));
        fs::write(&probe, "")
            .and_then(|()| fs::remove_file(&probe))
            .map_err(|error| Failure::wrong(format!("`--out {shown}` cannot be written to: {error}")))?;
        Ok(directory)
    }

    /// Writes everything. What an earlier fit left in its place is taken away first.
    pub fn write(mut self, summary: &Summary<'_>, run: &RunArguments) -> Result<(), Failure> {
        self.written = true;
        self.clear().map_err(|error| {
            Failure::wrong(format!(
                "the earlier fit in `{}` cannot be replaced: {error}",
                self.path.display()
            ))
        })?;
        let result = || -> Result<(), FileError> {
            cavi::posterior::write(summary.compiled, summary.binding, &summary.fit.parameters, &self.path)?;
            write_text_atomically(&self.path.join("model.cavi"), &summary.compiled.text)?;
            write_text_atomically(&self.path.join("trace.csv"), &trace(summary.fit))?;
            write_text_atomically(&self.path.join("summary.json"), &format!("{:#}\n", summary.json(run)))
        };
        result().map_err(|error| Failure::wrong(error.to_string()))
    }

    /// Removes what an earlier fit wrote; only what has the look of a fit.
    fn clear(&self) -> std::io::Result<()> {
        let summary = self.path.join("summary.json");
        if !summary.is_file() {
            return Ok(());
        }
        fs::remove_file(summary)?;
        for name in ["posterior", "axes", "standardised"] {
            let directory = self.path.join(name);
            if directory.is_dir() {
                fs::remove_dir_all(directory)?;
            }
        }
        Ok(())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let (false, Some(made)) = (self.written, &self.made) {
            // From the inside out, and only what is empty.
            let own = self.path.ancestors().take_while(|path| path.starts_with(made));
            own.for_each(|path| drop(fs::remove_dir(path)));
        }
    }
}

impl Summary<'_> {
    /// What `summary.json` holds and `--json` prints.
    pub fn json(&self, run: &RunArguments) -> Value {
        let fit = self.fit;
        let best = fit.run();
        let mut sizes = Map::new();
        if let Some(model) = &self.compiled.model {
            let of_program =
                |index: &usize| self.binding.entries.iter().all(|own| own.axis.index() != *index);
            for index in (0..model.symbols.axes.len()).filter(of_program) {
                let (axis, bound) = (&model.symbols.axes[index], &self.binding.bound.axes[index]);
                let size = match &bound.starts {
                    None => json!(bound.size),
                    Some(starts) => {
                        json!(starts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>())
                    }
                };
                sizes.insert(axis.name.clone(), size);
            }
        }
        let settings = &fit.settings;
        let arguments = self.arguments;
        let list = |list: fn(&FitArguments) -> &Vec<String>| arguments.map(list).cloned().unwrap_or_default();
        let runs: Vec<Value> = fit
            .runs
            .iter()
            .map(|run| {
                json!({
                    "seed": run.seed,
                    "sweeps": run.sweeps,
                    "converged": run.converged,
                    "elbo": number(run.elbo),
                    "failure": run.failure,
                })
            })
            .collect();
        json!({
            "model": self.compiled.model.as_ref().map(|model| model.name.clone()),
            "model_hash": self.compiled.hash(),
            "sizes": sizes,
            "settings": {
                "sweeps": settings.sweeps,
                "tol": number(settings.tolerance),
                "patience": settings.patience,
                "schedule": run.schedule,
                "restarts": settings.restarts,
                "elbo_every": run.elbo_every,
                "verify": run.verify,
                "accelerate": if settings.accelerates { "auto" } else { "none" },
                "warmup": warmup(fit),
                "precision": match run.precision {
                    Precision::Double => "f64",
                    Precision::Single => "f32",
                },
                "data": list(|arguments| &arguments.inputs.data),
                "columns": list(|arguments| &arguments.inputs.columns),
                "transpose": list(|arguments| &arguments.inputs.transpose),
                "labels": list(|arguments| &arguments.inputs.labels),
                "set": list(|arguments| &arguments.inputs.set),
                "heldout": list(|arguments| &arguments.heldout),
                "init": arguments.and_then(|arguments| arguments.init.as_ref()).map(|init| init.display().to_string()),
            },
            "seed": best.seed,
            "sweeps": best.sweeps,
            "converged": best.converged,
            "interrupted": fit.interrupted,
            "failure": fit.failure.as_ref().map(|failure| failure.message.clone()),
            "elbo": number(best.elbo),
            "heldout": (!self.scores.is_empty()).then(|| scores::by_name(self.scores)),
            "jitter": self.jitter(),
            "runs": runs,
            "seconds": number(fit.seconds),
            "peak_bytes": fit.peak_bytes,
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// The warm-ups as `--warmup` takes them.
fn warmup(fit: &Fit) -> String {
    let lines: Vec<String> = fit.warmup.iter().map(ToString::to_string).collect();
    if lines.is_empty() { "none".to_owned() } else { lines.join(", ") }
}

impl Summary<'_> {
    /// What was added to the diagonal of each covariance without a Cholesky factor; nothing where there is none.
    fn jitter(&self) -> Option<Value> {
        let jitters = &self.binding.jitters;
        let each = || jitters.iter().map(|(name, jitter)| (name.clone(), json!(jitter)));
        (!jitters.is_empty()).then(|| Value::Object(each().collect()))
    }
}

/// A JSON number; what JSON has no number for as the strings `-inf`, `inf` and `nan`.
pub fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::String(cavi_files::format_number(value)) }
}

/// `trace.csv`
fn trace(fit: &Fit) -> String {
    let mut table = CsvText::new(&["sweep", "elbo", "rel_change", "seconds", "phase"]);
    for row in &fit.trace {
        let cell = |value: Option<f64>| value.map_or(Cell::Empty, Cell::Number);
        table.row(&[
            Cell::Integer(row.sweep),
            cell(row.elbo),
            cell(row.rel_change),
            Cell::Number(row.seconds),
            Cell::Text(row.phase),
        ]);
    }
    table.as_str().to_owned()
}
