//! The directory of a fit: the program, the posterior, the trace and the summary as files.
//!
//! A directory is written beside its place and takes it as a whole, see `writer.rs`.

use std::collections::BTreeMap;
use std::path::Path;

use cavi_executor::Precision;
use cavi_files::{Cell, CsvText, TextOptions, write_text_atomically};
use cavi_syntax::ast::{Allocations, StatementKind};
use serde_json::{Map, Value, json};

use crate::bind::{DataError, Inputs, SetInput};
use crate::compile::Source;
use crate::error::Error;
use crate::explained::{Explained, Measure, explained};
use crate::fit::{Fit, Settings};
use crate::heldout::folds::Folds;
use crate::heldout::{Baselines, Score};
use crate::prepare::Problem;
use crate::project::Projection;
use crate::writer::Writer;

pub use crate::writer::{add_file, list_files};

/// Where the runs of a fit that keeps all of them are, each in a directory named by its number from 1.
pub const RUNS: &str = "runs";

/// The place of a directory that is to be written.
#[derive(Debug)]
pub struct Directory {
    writer: Writer,
}

/// What was asked for, in the words of the command line: `summary.json` keeps it, and [`Stored::open`] reads it again.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// `--schedule`
    pub schedule: Option<String>,
    /// `--data`
    pub data: Vec<String>,
    /// `--columns`
    pub columns: Vec<String>,
    /// `--transpose`
    pub transpose: Vec<String>,
    /// `--labels`
    pub labels: Vec<String>,
    /// `--unique`
    pub unique: bool,
    /// `--set`
    pub set: Vec<String>,
    /// `--heldout`
    pub heldout: Vec<String>,
    /// `--heldout-totals`
    pub heldout_totals: bool,
    /// `--folds`
    pub folds: Option<usize>,
    /// `--init`
    pub init: Option<String>,
    /// `--grow`
    pub grow: bool,
    /// `--fix`
    pub fix: Vec<String>,
    /// The files of the data, each with the hash of its bytes.
    pub data_files: BTreeMap<String, String>,
    /// The files of `--heldout`, each with the hash of its bytes.
    pub heldout_files: BTreeMap<String, String>,
    /// The data in memory, each with the hash of its labels and values.
    pub data_in_memory: BTreeMap<String, String>,
    /// The seed by which data are held out.
    pub seed: Option<u64>,
    /// The built-in program whose own data these are.
    pub demo: Option<String>,
}

impl Asked {
    /// With what the data are, by which they are known again, and the seed of the fit.
    pub fn of(self, inputs: &Inputs, seed: u64) -> Asked {
        Asked {
            data_files: crate::data_files::hashes(inputs),
            data_in_memory: crate::data_files::in_memory(inputs),
            heldout_files: crate::data_files::held_out(&self.heldout),
            seed: Some(seed),
            ..self
        }
    }
}

/// A fit and what there is to say about it in `summary.json`.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    /// The program and its data.
    pub problem: &'a Problem,
    /// What came out.
    pub fit: &'a Fit,
    /// How it was run.
    pub settings: &'a Settings,
    /// What was asked for.
    pub asked: &'a Asked,
    /// How well it predicts what it was not given.
    pub scores: &'a [Score],
    /// Every run as a fit of its own, where they are kept.
    pub runs: &'a [OwnRun<'a>],
    /// How well the average of the predictions of these runs predicts it; `None` where they are not kept.
    pub averaged: Option<&'a [Score]>,
    /// The cross-validation before it, if there was one.
    pub folds: Option<&'a Folds>,
    /// What stands beside the scores, if they have anything beside them.
    pub baselines: Option<&'a Baselines>,
}

/// A run of a fit that is kept, with how well it predicts what it was not given.
#[derive(Clone, Debug)]
pub struct OwnRun<'a> {
    /// Its number among the runs, from 1: `runs/NUMBER/` is its directory.
    pub number: usize,
    /// The run as a fit.
    pub fit: &'a Fit,
    /// Its scores.
    pub scores: Vec<Score>,
}

/// Copies the directory of a fit to another place, with everything that stands in it but checkpoints. With `force` a directory that Cavi did not write
/// is replaced too.
///
/// # Errors
/// As [`Directory::prepare`]; a file that cannot be read.
pub fn copy(from: &Path, to: &Path, force: bool) -> Result<(), Error> {
    let same = matches!((from.canonicalize(), to.canonicalize()), (Ok(from), Ok(to)) if from == to);
    if same {
        return Ok(());
    }
    Writer::open(to, &[from], force)?.write(|place| {
        copy_files(from, place)
            .map_err(|error| DataError::new(format!("`{}` cannot be copied: {error}", from.display())).into())
    })
}

/// Copies what stands in a directory into another one, but for the list of files that every directory has of its own.
fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let (path, name) = entry.map(|own| (own.path(), own.file_name()))?;
        if path.is_dir() {
            copy_files(&path, &to.join(name))?;
        } else if name != crate::writer::MARKER {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

impl Directory {
    /// Takes the place of the directory before a long fit, so that a mistake shows at once. With `force` a directory that Cavi did not
    /// write is replaced too; its files stay. `reads` are the directories of fits that the work reads, where they must stay.
    ///
    /// # Errors
    /// One of `reads`, or a directory above it; a path that is a file, that cannot be written to, that another process writes to, or that holds files of others; labels that
    /// make no file name.
    pub fn prepare(path: &Path, problem: &Problem, reads: &[&Path], force: bool) -> Result<Directory, Error> {
        crate::posterior::check_names(problem, path)?;
        Ok(Directory { writer: Writer::open(path, reads, force)? })
    }

    /// Writes everything. It takes the place of an earlier fit when it is whole. What `summary.json` holds comes back.
    ///
    /// # Errors
    /// A file that cannot be written or taken away.
    pub fn write(self, summary: &Summary<'_>) -> Result<Value, Error> {
        let json = summary.json();
        self.writer.write(|path| fill(path, summary, &json))?;
        Ok(json)
    }

    /// Writes the latents of new rows, as those of a fit: `posterior/` with what is theirs, `axes/`, the program and the summary. With
    /// them goes a table of the means of each latent, `VAR.csv`.
    ///
    /// # Errors
    /// As [`Directory::write`]; the directory of the fit that the rows were projected by.
    pub fn write_projection(
        self,
        projection: &Projection,
        settings: &Settings,
        asked: &Asked,
    ) -> Result<Value, Error> {
        let Projection { rows, fit } = projection;
        let problem = &rows.problem;
        let tables = projection.tables();
        let summary = Summary {
            problem,
            fit,
            settings,
            asked,
            scores: &[],
            runs: &[],
            averaged: None,
            folds: None,
            baselines: None,
        };
        let mut json = summary.json();
        json["projected"] = json!({
            "fit": rows.directory().display().to_string(),
            "axis": rows.axis,
            "n_rows": rows.count,
            "n_dropped": rows.dropped,
            "not_given": rows.not_given,
            "tables": tables.iter().map(|(name, _)| table(name)).collect::<Vec<_>>(),
        });
        self.writer.write(|path| {
            crate::posterior::write_blocks(problem, &fit.parameters, path, &|block| rows.is_own(block))?;
            for (name, text) in &tables {
                write_text_atomically(&path.join(table(name)), text)?;
            }
            write_text_atomically(&path.join("model.cavi"), &problem.source.text)?;
            Ok(write_text_atomically(&path.join("summary.json"), &format!("{json:#}\n"))?)
        })?;
        Ok(json)
    }
}

/// Writes the files of a fit, and those of its runs that are kept.
fn fill(path: &Path, summary: &Summary<'_>, json: &Value) -> Result<(), Error> {
    let Summary { problem, fit, .. } = summary;
    crate::posterior::write(problem, &fit.parameters, path)?;
    crate::fixed::write(problem, path)?;
    write_text_atomically(&path.join("model.cavi"), &problem.source.text)?;
    write_text_atomically(&path.join("trace.csv"), &trace(fit))?;
    for run in summary.runs {
        // Only the first run has the start that was given.
        let init = summary.asked.init.clone().filter(|_| run.number == 1);
        let grow = summary.asked.grow && init.is_some();
        let asked = Asked { init, grow, ..summary.asked.clone() };
        let own = Summary {
            fit: run.fit,
            scores: &run.scores,
            asked: &asked,
            runs: &[],
            averaged: None,
            folds: None,
            baselines: None,
            ..*summary
        };
        fill(&path.join(RUNS).join(run.number.to_string()), &own, &own.json())?;
    }
    Ok(write_text_atomically(&path.join("summary.json"), &format!("{json:#}\n"))?)
}

/// How much of each array is explained, by its name.
fn explained_json(all: &[Explained]) -> Value {
    let of = |own: &Explained| {
        let groups =
            own.groups.iter().map(|(label, share)| (label.clone(), share.map_or(Value::Null, number)));
        let json = json!({
            "measure": match own.measure {
                Measure::Variance => "variance",
                Measure::Deviance | Measure::Trials => "deviance",
            },
            "about": if own.by_column { "column means" } else { "mean" },
            "share": own.share.map_or(Value::Null, number),
            "groups": groups.collect::<Map<String, Value>>(),
            "n_compared": own.compared,
            "n_entries": own.entries,
        });
        (own.name.clone(), json)
    };
    Value::Object(all.iter().map(of).collect())
}

/// The file of the means of a latent of new rows.
fn table(name: &str) -> String {
    format!("{name}.csv")
}

impl Summary<'_> {
    /// What `summary.json` holds and `--json` prints.
    pub fn json(&self) -> Value {
        let Summary { problem, fit, settings, asked, scores, runs: kept, averaged, folds, baselines } = self;
        let given = problem.as_given();
        let best = fit.run();
        let resolved = &fit.settings;
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
            "model": given.model.name,
            "model_hash": problem.source.hash(),
            "sizes": sizes(given),
            "settings": {
                "sweeps": resolved.sweeps,
                "tol": number(resolved.tolerance),
                "patience": resolved.patience,
                "schedule": asked.schedule,
                "restarts": resolved.restarts,
                "elbo_every": settings.elbo_every,
                "verify": settings.verify,
                "accelerate": if resolved.accelerates { "auto" } else { "none" },
                "allocations": resolved.allocations.word(),
                "warmup": warmup(fit),
                "batch": resolved.batch.to_string(),
                "shards": resolved.shards.as_ref().map_or("none".to_owned(), ToString::to_string),
                "precision": match settings.precision {
                    Precision::Double => "f64",
                    Precision::Single => "f32",
                },
                "data": asked.data,
                "columns": asked.columns,
                "transpose": asked.transpose,
                "labels": asked.labels,
                "unique": asked.unique,
                "set": asked.set,
                "heldout": asked.heldout,
                "heldout_totals": asked.heldout_totals,
                "folds": asked.folds,
                "init": asked.init,
                "grow": asked.grow,
                "fix": asked.fix,
                "data_files": crate::data_files::json(&asked.data_files),
                "heldout_files": crate::data_files::json(&asked.heldout_files),
                "data_in_memory": crate::data_files::json(&asked.data_in_memory),
                "seed": asked.seed,
                "demo": asked.demo,
                "texts": given.binding.words.first().map(|own| own.options.to_json()),
                "keep": if kept.is_empty() { "best" } else { "all" },
            },
            "identity": crate::checkpoint::facts_json(problem, settings),
            "seed": best.seed,
            "sweeps": best.sweeps,
            "converged": best.converged,
            "interrupted": fit.interrupted,
            "failure": fit.failure.as_ref().map(|failure| failure.message.clone()),
            "elbo": number(best.elbo),
            "heldout": (!scores.is_empty()).then(|| scores_by_name(scores)),
            "heldout_baselines": baselines.filter(|_| !scores.is_empty()).map(|own| own.json(scores)),
            "explained": explained_json(&explained(problem, &fit.parameters, best.seed, settings.threads)),
            "components": crate::components::json(&crate::components::components(
                problem,
                &fit.parameters,
                best.seed,
                settings.threads,
            )),
            "heldout_averaged": averaged.filter(|scores| !scores.is_empty()).map(|scores| json!({
                "n_fits": kept.len(),
                "arrays": scores_by_name(scores),
            })),
            "heldout_left_out": (!problem.binding.left_out.is_empty()).then_some(&problem.binding.left_out),
            "heldout_places": held_out_places(problem),
            "folds": folds.map(Folds::json),
            "fixed": crate::fixed::json(problem),
            "jitter": jitter(given),
            "runs": runs,
            "seconds": number(fit.seconds),
            "peak_bytes": fit.peak_bytes,
            "planned_bytes": fit.planned_bytes,
            "scratch_bytes": cavi_numerics::overflow_peak(),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// The sizes of the axes of the program; of a ragged one those of its groups.
fn sizes(problem: &Problem) -> Map<String, Value> {
    let Problem { model, binding, .. } = problem;
    let mut sizes = Map::new();
    let of_program = |index: &usize| binding.entries.iter().all(|own| own.axis.index() != *index);
    for index in (0..model.symbols.axes.len()).filter(of_program) {
        let (axis, bound) = (&model.symbols.axes[index], &binding.bound.axes[index]);
        let size = match &bound.starts {
            None => json!(bound.size),
            Some(starts) => json!(starts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()),
        };
        sizes.insert(axis.name.clone(), size);
    }
    sizes
}

/// Which entries were held out, by array; nothing where none was.
fn held_out_places(problem: &Problem) -> Option<Value> {
    let all = &problem.binding.held_out;
    let each = all.iter().map(|(name, own)| {
        (name.clone(), json!({ "n_entries": own.count, "hash": format!("{:016x}", own.hash) }))
    });
    (!all.is_empty()).then(|| Value::Object(each.collect()))
}

/// The warm-ups as `--warmup` takes them.
fn warmup(fit: &Fit) -> String {
    let lines: Vec<String> = fit.warmup.iter().map(ToString::to_string).collect();
    if lines.is_empty() { "none".to_owned() } else { lines.join(", ") }
}

/// What was added to the diagonal of each covariance without a Cholesky factor; nothing where there is none.
fn jitter(problem: &Problem) -> Option<Value> {
    let jitters = &problem.binding.jitters;
    let each = || jitters.iter().map(|(name, jitter)| (name.clone(), json!(jitter)));
    (!jitters.is_empty()).then(|| Value::Object(each().collect()))
}

/// A JSON number; what JSON has no number for as the strings `-inf`, `inf` and `nan`.
pub fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { Value::String(cavi_files::format_number(value)) }
}

/// How many there are, as a JSON number; a whole number of them is written as one.
pub(crate) fn count(value: f64) -> Value {
    if value.fract() == 0.0 && value < 9e15 { json!(value as u64) } else { number(value) }
}

/// The numbers of a score.
pub fn score_json(score: &Score) -> Map<String, Value> {
    let optional = |value: Option<f64>| value.map_or(Value::Null, number);
    let fields = [
        ("log_predictive", number(score.log_predictive)),
        ("standard_error", optional(score.standard_error)),
        ("per_unit", optional(score.per_unit())),
        ("perplexity", optional(score.perplexity())),
        ("n_scored", count(score.units)),
    ];
    // Of a score that is exact, and of one that is averaged well, there is none.
    let poor = (score.poor > 0).then(|| ("n_few_draws", json!(score.poor)));
    fields.into_iter().chain(poor).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Scores by the name of their array.
pub fn scores_by_name(scores: &[Score]) -> Value {
    let each = scores.iter().map(|score| (score.name.clone(), Value::Object(score_json(score))));
    Value::Object(each.collect())
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

/// The constants of a fit that were arrays in memory, each with the hash of its labels and values.
fn constants_in_memory(stored: &Stored) -> BTreeMap<String, String> {
    let program = cavi_syntax::parse(&stored.text).0;
    let is_constant = |name: &str| {
        let name = name.split('[').next().unwrap_or(name);
        program.statements.iter().any(|own| match &own.kind {
            StatementKind::Const(constant) => constant.name.text == name,
            _ => false,
        })
    };
    let mut found = crate::data_files::stored_in_memory(&stored.summary);
    found.retain(|name, _| is_constant(name));
    found
}

/// What a directory says of the fit that it holds.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The file of the program, for messages.
    pub file_name: String,
    /// The text of the program.
    pub text: String,
    /// What `--set` gave the fit.
    pub set: Vec<SetInput>,
    /// The rule of its allocations.
    pub allocations: Option<Allocations>,
    /// The hash of the program that was fitted.
    pub model_hash: Option<String>,
    /// How it read texts, if it read any.
    pub texts: Option<TextOptions>,
    /// All of its `summary.json`.
    pub summary: Value,
}

impl Stored {
    /// Reads the program and the constants of several fits, which have them in common.
    ///
    /// # Errors
    /// A directory that holds no fit; fits of different programs, or with other constants, with the two directories.
    ///
    /// # Panics
    /// Without a directory.
    pub fn open_all(directories: &[&Path]) -> Result<Stored, Error> {
        let (first, others) = directories.split_first().expect("at least one fit is opened");
        let stored = Stored::open(first)?;
        for other in others {
            stored.refuse_other(first, &Stored::open(other)?, other)?;
        }
        Ok(stored)
    }

    /// Refuses another fit that does not have this program and its constants.
    fn refuse_other(&self, directory: &Path, other: &Stored, theirs: &Path) -> Result<(), DataError> {
        let (one, two) = (directory.display(), theirs.display());
        let program = |text: &str| cavi_syntax::parse(text).0;
        let own = program(&self.text);
        if cavi_syntax::print(&own) != cavi_syntax::print(&program(&other.text)) {
            return Err(DataError::new(format!(
                "fits of different programs cannot be averaged: `{two}/model.cavi` is another program than `{one}/model.cavi`"
            ))
            .possible("directories of fits of one program"));
        }
        // Sizes of axes are compared by their labels.
        let is_axis = |name: &str| {
            own.statements.iter().any(|statement| match &statement.kind {
                StatementKind::Axis(axis) => axis.name.text == name,
                _ => false,
            })
        };
        let differs = |one: &Stored, two: &Stored| {
            let constants = || two.set.iter().filter(|own| !is_axis(&own.name));
            let mut of_one = one.set.iter().filter(|own| !is_axis(&own.name));
            of_one.find(|own| constants().all(|other| !own.is_same(other))).map(|own| own.name.clone())
        };
        let in_memory = || {
            let (own, others) = (constants_in_memory(self), constants_in_memory(other));
            let names = own.keys().chain(others.keys()).find(|name| own.get(*name) != others.get(*name));
            names.cloned()
        };
        match differs(self, other).or_else(|| differs(other, self)).or_else(in_memory) {
            None if self.texts != other.texts => Err(DataError::new(format!(
                "fits that read texts in other ways cannot be averaged: `settings.texts` is another in \
                 `{two}/summary.json` than in `{one}/summary.json`"
            ))
            .possible("directories of fits with the same options of texts")),
            None => Ok(()),
            Some(name) => Err(DataError::new(format!(
                "fits with different constants cannot be averaged: `--set {name}=...` was another in `{two}` than in `{one}`"
            ))
            .possible("directories of fits of one program with the same constants")),
        }
    }

    /// Reads the program and the constants of an earlier fit.
    ///
    /// # Errors
    /// A directory that holds no fit.
    pub fn open(directory: &Path) -> Result<Stored, Error> {
        const POSSIBLE: &str = "the directory of a fit, which `cavi fit ... --out DIR` writes";
        let path = directory.join("summary.json");
        let wrong = |path: &Path, what: String| {
            DataError::new(format!("`{}` {what}", path.display())).possible(POSSIBLE)
        };
        let read = |path: &Path| {
            cavi_files::read_text(path)
                .map_err(|error| wrong(path, format!("cannot be read: found {}", error.found)))
        };
        let summary: Value = serde_json::from_str(&read(&path)?)
            .map_err(|error| wrong(&path, format!("is no JSON: {error}")))?;
        if !summary["settings"].is_object() || !summary["model_hash"].is_string() {
            return Err(wrong(
                &path,
                "is no summary of a fit: it has no `settings` or no `model_hash`".to_owned(),
            )
            .into());
        }
        let set = summary["settings"]["set"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let set = set.filter_map(|text| SetInput::parse(text)?.ok()).collect();
        let allocations = summary["settings"]["allocations"].as_str().and_then(Allocations::of_word);
        let model_hash = summary["model_hash"].as_str().map(str::to_owned);
        let path = directory.join("model.cavi");
        let text = read(&path)?;
        let program = cavi_syntax::parse(&text).0;
        let found = Source { file_name: "model.cavi".to_owned(), text: text.clone(), program }.hash();
        if model_hash.as_ref() != Some(&found) {
            return Err(wrong(&path, "is another program than the one that was fitted".to_owned())
                .possible("the directory of a fit as it was written")
                .into());
        }
        let texts = TextOptions::of_json(&summary["settings"]["texts"]);
        let file_name = path.display().to_string();
        Ok(Stored { file_name, text, set, allocations, model_hash, texts, summary })
    }

    /// The inputs with what the earlier fit had set and these do not.
    pub fn with_earlier(&self, mut inputs: Inputs) -> Inputs {
        let earlier = self.set.iter().filter(|own| inputs.set.iter().all(|other| other.name != own.name));
        let earlier: Vec<SetInput> = earlier.cloned().collect();
        inputs.set.extend(earlier);
        inputs
    }
}
