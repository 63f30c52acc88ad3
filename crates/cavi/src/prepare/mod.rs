//! Which problem is solved, given this program and these data?
//!
//! In come a program that compiles and its data; out goes a [`Problem`], which is what is planned, started, fitted and scored:
//! nothing further on takes the program apart again. The stage is the list [`STEPS`]. A step either *restates* the problem
//! as one with the same posterior that is cheaper, or loses fewer digits, or *checks* it and refuses what cannot run. A
//! restated program is derived anew, by `derive_again` and nowhere else.

mod choices;
mod coincidences;
mod derive;
pub(crate) mod entries;
mod groups;
mod latent_entries;
mod missing;
mod modes;
mod new_rows;
pub(crate) mod origin;
pub(crate) mod prior;
pub(crate) mod written_out;

use std::sync::Arc;

use cavi_algebra::Equations;
use cavi_executor::Parameters;
use cavi_model::Model;
use cavi_syntax::Diagnostic;

use crate::bind::Binding;
use crate::compile::{Compiled, Source};
use crate::error::Error;
use crate::start::Given;
pub(crate) use derive::{derive_again, derive_alike};
pub use entries::EntryAxis;
pub(crate) use modes::reads_constants;
pub(crate) use new_rows::masks;
use origin::Shift;

/// A program with its data, as it is run.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The text of the program.
    pub source: Arc<Source>,
    /// The program with its names resolved, restated.
    pub model: Model,
    /// Its updates and its bound.
    pub equations: Equations,
    /// Its data.
    pub binding: Binding,
    /// The restatements that were made, in order.
    pub restated: Vec<&'static Step>,
    /// The problem as it was before the means moved, and by how much they did.
    moved: Option<Box<Moved>>,
}

/// A problem before its means moved.
#[derive(Clone, Debug)]
struct Moved {
    from: Problem,
    by: Vec<Shift>,
}

/// A problem whose means moved, and by how much each did.
type Shifted = (Problem, Vec<Shift>);

/// One step of the stage.
#[derive(Debug)]
pub struct Step {
    /// Its name.
    pub name: &'static str,
    /// What it does and why, in a sentence.
    pub reason: &'static str,
    action: Action,
}

/// What a step does.
#[derive(Debug)]
enum Action {
    /// Gives the same problem in another form; `None` where the form that it has is as good.
    Restate(fn(&Problem) -> Result<Option<Problem>, Vec<Diagnostic>>),
    /// The same, with means in other coordinates, and by how much they moved.
    Move(fn(&Problem) -> Option<Shifted>),
    /// Gives the reasons for which the problem is refused.
    Check(fn(&Problem) -> Vec<Diagnostic>),
}

/// The steps, in order. What hides entries comes first, since it decides what is missing; the origin comes last, since the checks
/// speak of the data as they were given.
pub static STEPS: [Step; 7] = [
    Step {
        name: "missing entries",
        reason: "data of which entries are held out are derived as data with missing entries",
        action: Action::Restate(missing::restate),
    },
    Step {
        name: "listed entries",
        reason: "latents that are indexed by every axis of a sparse array live at its listed entries, which become an axis",
        action: Action::Restate(|problem| Ok(entries::restate(problem))),
    },
    Step {
        name: "new rows",
        reason: "new rows of an earlier fit keep one covariance for each row, as that fit may have",
        action: Action::Restate(|problem| Ok(new_rows::restate(problem))),
    },
    Step {
        name: "latent entries",
        reason: "missing entries on a right-hand side are latent and need a factor of q",
        action: Action::Check(latent_entries::check),
    },
    Step {
        name: "memory",
        reason: "the parameters must fit into the memory of the machine",
        action: Action::Check(|problem| crate::memory::refusal(problem).into_iter().collect()),
    },
    Step {
        name: "closed forms",
        reason: "some updates have a closed form only for some values of constants and data",
        action: Action::Check(|problem| {
            let of_data = [coincidences::check(problem), groups::check(problem)].concat();
            [choices::check(problem), modes::check(problem), of_data].concat()
        }),
    },
    Step {
        name: "origin",
        reason: "data far from 0 are fitted from an origin near them, since their squares and sums would lose the digits of their differences",
        action: Action::Move(origin::restate),
    },
];

/// Puts data to a program and restates both as they are run.
///
/// # Errors
/// [`Error::Program`] where the program cannot run on these data; [`Error::Data`] where a latent cannot be held as it is asked.
pub fn prepare(compiled: Compiled, binding: Binding) -> Result<Problem, Error> {
    crate::stack::with_room(|| {
        let Compiled { source, model, equations } = compiled;
        let mut binding = binding;
        crate::fixed::settle(&model, &equations, &mut binding)?;
        let mut problem = Problem { source, model, equations, binding, restated: Vec::new(), moved: None };
        for step in &STEPS {
            problem = step.take(problem)?;
        }
        Ok(problem)
    })
}

impl Step {
    /// The problem after this step.
    fn take(&'static self, problem: Problem) -> Result<Problem, Error> {
        let refused = |diagnostics| Error::Program { diagnostics, source: Arc::clone(&problem.source) };
        let mut next = match self.action {
            Action::Restate(restate) => match restate(&problem).map_err(refused)? {
                Some(next) => next,
                None => return Ok(problem),
            },
            Action::Move(restate) => match restate(&problem) {
                Some((next, by)) => Problem { moved: Some(Box::new(Moved { from: problem, by })), ..next },
                None => return Ok(problem),
            },
            Action::Check(check) => {
                let refusals = check(&problem);
                return if refusals.is_empty() { Ok(problem) } else { Err(refused(refusals)) };
            }
        };
        next.restated.push(self);
        Ok(next)
    }
}

impl Problem {
    /// The problem in the coordinates in which the data were given: those of posteriors, files and scores.
    pub fn as_given(&self) -> &Problem {
        self.moved.as_ref().map_or(self, |moved| &moved.from)
    }

    /// The same program, restated as it is, with other data of the same kind: values, numbers of rows, which entries are missing.
    ///
    /// # Errors
    /// As [`prepare`].
    pub(crate) fn with_data(&self, binding: Binding) -> Result<Problem, Error> {
        let Problem { source, model, equations, restated, .. } = self.as_given();
        let mut problem = Problem {
            source: Arc::clone(source),
            model: model.clone(),
            equations: equations.clone(),
            binding,
            restated: restated.clone(),
            moved: None,
        };
        crate::stack::with_room(|| {
            for step in STEPS.iter().filter(|step| !matches!(step.action, Action::Restate(_))) {
                problem = step.take(problem)?;
            }
            Ok(problem)
        })
    }

    /// Parameters in the coordinates of the data as those of the run.
    pub(crate) fn to_run(&self, mut given: Given) -> Given {
        for shift in self.moved.iter().flat_map(|moved| &moved.by) {
            shift.off(&mut given);
        }
        given
    }

    /// Parameters of a run in the coordinates of the data.
    pub(crate) fn way_back(&self, parameters: &mut Parameters) {
        for shift in self.moved.iter().flat_map(|moved| &moved.by) {
            shift.back(parameters);
        }
    }

    /// The same text and history with another program and other data.
    fn with(&self, model: Model, equations: Equations, binding: Binding) -> Problem {
        let (source, restated) = (Arc::clone(&self.source), self.restated.clone());
        Problem { source, model, equations, binding, restated, moved: self.moved.clone() }
    }
}
