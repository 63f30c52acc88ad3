//! The whole journey, as a client takes it: text, program, problem, fit, and what comes of it.
//!
//! ```text
//! compile ──▶ Checked ──▶ Compiled ──bind──▶ Problem ──fit──▶ Fit
//!                          derive, graph      plan             arrays, score, findings, write
//! ```
//!
//! Each method is one line of that journey, and each error an [`Error`]. Nothing here prints, exits, handles signals or
//! touches a global thread pool.

use std::path::Path;
use std::sync::Arc;

use cavi_syntax::ast::{Allocations, Warmup};
use cavi_syntax::{Diagnostic, Severity};

use cavi_executor::Parameters;

use crate::batch::Batch;
use crate::bind::{DataError, Inputs, Part};
use crate::compile::{Compiled, compile_with};
use crate::error::Error;
use crate::findings::Finding;
use crate::fit::{Control, Fit, Progress, Settings};
use crate::heldout::{HeldOut, Request, Score};
use crate::posterior::NamedArray;
use crate::prepare::{Problem, prepare};
use crate::shards::Shards;
use crate::start::Given;
use crate::{Schedule, Set};

/// Opens a program whose constants and sizes may be among the inputs; with it come its warnings.
///
/// # Errors
/// Everything that is wrong with the program; a value for a name that it does not have.
pub fn open(text: &str, file_name: &str, inputs: &Inputs) -> Result<(Compiled, Vec<Diagnostic>), Error> {
    let set = inputs.set_values();
    let mut checked = compile_with(text, file_name, &set);
    let mut warnings = std::mem::take(&mut checked.diagnostics);
    if !checked.is_ok() {
        checked.diagnostics = warnings;
        return checked.into_compiled().map(|compiled| (compiled, Vec::new()));
    }
    warnings.retain(|diagnostic| diagnostic.severity == Severity::Warning);
    let compiled = checked.into_compiled()?;
    compiled.refuse_unknown(&set)?;
    Ok((compiled, warnings))
}

impl Compiled {
    /// Refuses a value for a name that is neither a constant nor an axis, and one that is no size of an axis.
    ///
    /// # Errors
    /// The first such name, with what there is.
    pub fn refuse_unknown(&self, set: &[Set]) -> Result<(), Error> {
        let symbols = &self.model.symbols;
        let wrong = |own: &Set| {
            let unknown = crate::bind::unknown_set(symbols, own.name);
            unknown.or_else(|| crate::bind::wrong_size(symbols, own.name, own.value?))
        };
        set.iter().find_map(wrong).map_or(Ok(()), |error| Err(error.into()))
    }

    /// The program with its data, as it is run.
    ///
    /// # Errors
    /// Everything that is wrong with the data; a program that cannot run on them.
    pub fn bind(self, inputs: &Inputs) -> Result<Problem, Error> {
        self.refuse_unbound(inputs)?;
        let binding = crate::bind::bind(&self.model, inputs)?;
        prepare(self, binding)
    }

    /// As [`Compiled::bind`], without a part of the data that is held out to be scored.
    ///
    /// # Errors
    /// As there; arrays that cannot be held out, with the reason.
    pub fn bind_without(
        self,
        inputs: &Inputs,
        requests: &[Request],
        seed: Option<u64>,
    ) -> Result<(Problem, HeldOut), Error> {
        self.bind_without_by(inputs, requests, seed, false)
    }

    /// As [`Compiled::bind_without`]; with `given_totals` counts at a rate are scored given the totals of their rows.
    ///
    /// # Errors
    /// As there.
    pub fn bind_without_by(
        self,
        inputs: &Inputs,
        requests: &[Request],
        seed: Option<u64>,
        given_totals: bool,
    ) -> Result<(Problem, HeldOut), Error> {
        if requests.is_empty() {
            return Ok((self.bind(inputs)?, HeldOut::default()));
        }
        self.refuse_unbound(inputs)?;
        let seed = self.seed(seed);
        crate::heldout::bind_by(self, inputs, requests, seed, given_totals)
    }

    /// The program with the data of an earlier fit, given again, without what was held out of it.
    ///
    /// # Errors
    /// As [`Compiled::bind_without`].
    pub(crate) fn bind_again(
        self,
        inputs: &Inputs,
        requests: &[Request],
        part: &Part<'_>,
        given_totals: bool,
    ) -> Result<(Problem, HeldOut), Error> {
        self.refuse_unbound(inputs)?;
        if requests.is_empty() {
            let binding = crate::bind::bind_in_part(&self.model, inputs, part)?.binding;
            return Ok((prepare(self, binding)?, HeldOut::default()));
        }
        crate::heldout::bind_part_by(self, inputs, requests, part, given_totals)
    }

    /// The names of the data that the program predicts.
    pub fn predicted_data(&self) -> Vec<&str> {
        let observed = self.model.statements.iter().filter(|own| own.observed);
        observed.map(|own| self.model.symbols.array(own.target).name.as_str()).collect()
    }

    /// The seed that is asked for, else that of the program, else 0.
    pub fn seed(&self, asked: Option<u64>) -> u64 {
        asked.or(self.model.fit.seed).unwrap_or(0)
    }

    /// Refuses a program to which not all of its data are given.
    ///
    /// # Errors
    /// All data that no file is given for.
    pub fn refuse_unbound(&self, inputs: &Inputs) -> Result<(), Error> {
        let required = self.required_data();
        let given = |name: &&str| inputs.data.iter().any(|input| input.name == **name);
        let symbols = &self.model.symbols;
        let unbound: Vec<DataError> = (required.iter().filter(|name| !given(name)))
            .filter_map(|name| Some(crate::bind::unbound(symbols, symbols.find(name)?)))
            .collect();
        // A misspelt name is explained better by what reads the files.
        let misspelt = inputs.data.len() + unbound.len() > required.len();
        if unbound.is_empty() || misspelt { Ok(()) } else { Err(unbound.into()) }
    }
}

impl Problem {
    /// The plan of a fit as text.
    ///
    /// # Errors
    /// If there is no plan.
    pub fn plan(&self, settings: &Settings) -> Result<String, Error> {
        crate::fit::plan(self, settings)
    }

    /// A fit. The callback is called after each sweep, and stops the fit where it says so.
    ///
    /// # Errors
    /// As [`crate::fit::fit`].
    pub fn fit(
        &self,
        settings: &Settings,
        callback: &mut dyn FnMut(&Progress) -> Control,
    ) -> Result<Fit, Error> {
        crate::fit::fit(self, settings, callback)
    }

    /// A schedule given apart from the program, as `--schedule` takes it, with what there is to say about its items and
    /// about the blocks that it leaves out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn schedule(&self, text: &str) -> Result<crate::schedule::Resolved, Error> {
        crate::schedule::parse(self, text).map_err(|diagnostics| Error::Option {
            option: "--schedule",
            text: text.to_owned(),
            diagnostics,
        })
    }

    /// The schedule of the program.
    pub fn own_schedule(&self) -> Schedule {
        crate::schedule::of_program(&self.model, &self.equations).schedule
    }

    /// Warm-ups given apart from the program, as `--warmup` takes them.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn warmups(&self, text: &str) -> Result<Vec<Warmup>, Error> {
        crate::warmup::parse(self, text).map_err(|diagnostics| Error::Option {
            option: "--warmup",
            text: text.to_owned(),
            diagnostics,
        })
    }

    /// A rule of allocations given apart from the program, as `--allocations` takes it.
    ///
    /// # Errors
    /// If the program has no allocations.
    pub fn allocations(&self, rule: Allocations) -> Result<Allocations, Error> {
        match crate::allocations::check(&self.equations, rule, &format!("--allocations {}", rule.word())) {
            None => Ok(rule),
            Some(diagnostic) => Err(Error::Option {
                option: "--allocations",
                text: rule.word().to_owned(),
                diagnostics: vec![diagnostic.help("leave the option out")],
            }),
        }
    }

    /// Mini-batches as `--batch` takes them.
    ///
    /// # Errors
    /// If there is no such axis, or the number of shards is none.
    pub fn batch(&self, text: &str) -> Result<Batch, Error> {
        Batch::read(&self.model.symbols, text).map_err(|diagnostic| Error::Option {
            option: "--batch",
            text: text.to_owned(),
            diagnostics: vec![*diagnostic],
        })
    }

    /// Shards that are in step, as `--shards` takes them.
    ///
    /// # Errors
    /// If there is no such axis, or the number of shards is none.
    pub fn shards(&self, text: &str) -> Result<Shards, Error> {
        Shards::read(&self.model.symbols, text).map_err(|diagnostic| Error::Option {
            option: "--shards",
            text: text.to_owned(),
            diagnostics: vec![*diagnostic],
        })
    }

    /// Parameters to start from: a fit's directory, one that is laid out as its `posterior/`, or an `.npz`; with warnings.
    ///
    /// # Errors
    /// What is wrong with the files.
    pub fn given(&self, path: &Path) -> Result<(Given, Vec<String>), Error> {
        Ok(crate::init::read(self, path)?)
    }

    /// The same for a fit with another schedule than the program's: what it overwrites before anything reads it breaks no symmetry.
    ///
    /// # Errors
    /// As [`Problem::given`].
    pub fn given_by(&self, path: &Path, schedule: Option<&Schedule>) -> Result<(Given, Vec<String>), Error> {
        match schedule {
            Some(schedule) => Ok(crate::init::read_by(self, path, &schedule.blocks())?),
            None => self.given(path),
        }
    }

    /// Parameters of an earlier fit of this program to start from where its data have grown: rows are matched by their labels, those that the
    /// fit has start at its q, and new ones at its average row. With what there is to say: how many positions of each axis are new.
    ///
    /// # Errors
    /// A directory that holds no fit of these variables, or whose labels have none in common with the data.
    pub fn given_grown(&self, directory: &Path, seed: u64) -> Result<(Given, Vec<String>), Error> {
        Ok(crate::rows::grown(self, directory, seed)?)
    }

    /// The factors of q of a fit as named arrays: `VAR.PARAM`, of a ragged variable `VAR.PARAM/GROUP`.
    pub fn posterior(&self, fit: &Fit) -> Vec<NamedArray> {
        crate::posterior::arrays(self, &fit.parameters)
    }

    /// How well a fit predicts what was held out of it, one score an array.
    ///
    /// # Errors
    /// A statement whose data have no prediction, at its place.
    pub fn score(&self, fit: &Fit, held: &HeldOut, seed: u64, threads: usize) -> Result<Vec<Score>, Error> {
        crate::heldout::score(self, &fit.parameters, held, seed, threads)
    }

    /// How well the average of the predictions of several fits of this problem predicts what was held out of all of them, one
    /// score an array: runs of one fit ([`Fit::kept`]), or fits with other seeds or settings.
    ///
    /// # Errors
    /// As [`Problem::score`].
    ///
    /// # Panics
    /// Without a fit.
    pub fn score_averaged(
        &self,
        fits: &[&Fit],
        held: &HeldOut,
        seed: u64,
        threads: usize,
    ) -> Result<Vec<Score>, Error> {
        let parameters: Vec<&Parameters> = fits.iter().map(|fit| &fit.parameters).collect();
        crate::heldout::score_averaged(self, &parameters, held, seed, threads)
    }

    /// What a fit found, in the words of its labels, with warnings about `report` lines that the data do not allow.
    pub fn findings(&self, fit: &Fit) -> (Vec<Finding>, Vec<String>) {
        crate::findings::findings(self, &fit.parameters)
    }

    /// As [`Problem::findings`], where the program carries some of the files that its `report` lines name.
    pub fn findings_with(
        &self,
        fit: &Fit,
        carried: crate::findings::Carried<'_>,
    ) -> (Vec<Finding>, Vec<String>) {
        crate::findings::findings_with(self, &fit.parameters, carried)
    }

    /// Messages about the program as an error of this problem.
    pub fn error(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::Program { diagnostics, source: Arc::clone(&self.source) }
    }
}
