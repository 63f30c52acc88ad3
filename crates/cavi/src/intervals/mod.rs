//! Intervals of latents of a fit: by bootstrap, by linear response, or the quantiles of q.
//!
//! Where q takes apart what depends on each other in the posterior, its factors are narrower than the posterior's margins, and so are their
//! quantiles ([`of_q`]). [`bootstrap`] fits data again that are drawn from the fit, or rows that are drawn from the data, and takes the spread of
//! the means of these fits. [`response`] corrects the variances of q by how its means answer to a small change of the log joint. Each
//! says what it is ([`Intervals::what`]).

mod bootstrap;
mod components;
mod gmres;
mod held;
mod refit;
mod resampled;
mod response;
mod tilt;

use std::path::Path;

use cavi_algebra::{ArrayId, Mode, Support};
use cavi_executor::Parameters;
use cavi_families::marginal::Marginal;
use cavi_files::{Cell, CsvText};

use crate::bind::DataError;
use crate::dimensions::Dimension;
use crate::error::Error;
use crate::heldout::unflat;
use crate::means::{Mean, mean};
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::rows::RowAxes;
use crate::summary::{columns, place, variables};

pub(crate) use bootstrap::side_by_side;
pub use bootstrap::{Bootstrap, Draws, Form, bootstrap};
pub(crate) use components::Components;
pub use response::{MOST as MOST_RESPONSES, response};

/// The relative change of the bound at which a refit stops unless told otherwise: later than a fit does, since what refits differ by is what counts.
pub const TOLERANCE: f64 = 1e-8;

/// An interval of one number.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Its labels, one for each column.
    pub labels: Vec<String>,
    /// Its mean under q; the value of a point.
    pub mean: f64,
    /// The standard deviation by the method.
    pub sd: f64,
    /// Where the interval begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

/// The intervals of a latent.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The names of the columns of labels.
    pub columns: Vec<String>,
    /// One for each element, in C order.
    pub intervals: Vec<Interval>,
}

/// Intervals of a fit.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// What they are, in a word: `q`, `bootstrap`, `rows` or `linear-response`.
    pub method: &'static str,
    /// What they are, in a sentence.
    pub what: String,
    /// The probability that they are made for.
    pub level: f64,
    /// One for each latent.
    pub variables: Vec<Variable>,
    /// What is to be known about them.
    pub notes: Vec<String>,
}

/// A level as a percentage: `90 %`.
pub(crate) fn percent(level: f64) -> String {
    format!("{} %", crate::summary::digits(100.0 * level, 6))
}

/// Refuses a level that is no probability strictly between 0 and 1.
fn check_level(level: f64) -> Result<(), Error> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    let message = format!("`--level {level}`: expected a number between 0 and 1, such as 0.9");
    Err(Error::Usage(vec![DataError::new(message)]))
}

impl Variable {
    /// As a table with labels; every line says what its interval is.
    pub fn table(&self, method: &str, level: f64) -> String {
        let mut header: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        header.extend(["mean", "sd", "low", "high", "level", "method"]);
        let mut table = CsvText::new(&header);
        for own in &self.intervals {
            let mut row: Vec<Cell<'_>> = own.labels.iter().map(|label| Cell::Text(label)).collect();
            row.extend([own.mean, own.sd, own.low, own.high, level].map(Cell::Number));
            row.push(Cell::Text(method));
            table.row(&row);
        }
        table.as_str().to_owned()
    }
}

/// The quantiles of q, from the files of a fit alone.
///
/// # Errors
/// A directory that holds no fit, a level that is none, a name that the program does not have, and one whose factor has no quantiles.
pub fn of_q(directory: &Path, names: &[String], level: f64) -> Result<Intervals, Error> {
    check_level(level)?;
    let all = match names {
        [] => variables(directory, None)?,
        names => {
            let mut found = Vec::new();
            // A name that stands twice is asked for once.
            for (_, name) in names.iter().enumerate().filter(|(place, name)| !names[..*place].contains(name))
            {
                found.extend(variables(directory, Some(name))?);
            }
            found
        }
    };
    let mut own: Vec<Variable> = Vec::new();
    let mut without: Vec<String> = Vec::new();
    let mut reasons: Vec<&str> = Vec::new();
    for variable in &all {
        let name = variable.name.split('[').next().unwrap_or_default().to_owned();
        let Some(marginals) = &variable.marginals else {
            if !without.contains(&name) {
                without.push(name);
            }
            let reason = match variable.parameter {
                "value" => "points have no width",
                "prob" => "what takes classes has probabilities",
                _ => "those of single numbers of their factors are not worked out",
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
            continue;
        };
        let groups = variable.group.iter().map(|(axis, _)| axis.clone());
        let columns = groups.chain(columns(variable).into_iter().map(str::to_owned)).collect();
        let each = variable.values.iter().zip(marginals).enumerate().map(|(cell, (value, marginal))| {
            let group = variable.group.iter().map(|(_, label)| label.clone());
            let deviations = variable.deviations.as_ref().map_or(f64::NAN, |own| own[cell]);
            Interval {
                labels: group.chain(place(variable, cell).into_iter().map(str::to_owned)).collect(),
                mean: *value,
                sd: deviations,
                low: marginal.quantile((1.0 - level) / 2.0),
                high: marginal.quantile((1.0 + level) / 2.0),
            }
        });
        match own.last_mut().filter(|last| last.name == name) {
            Some(last) => last.intervals.extend(each),
            None => own.push(Variable { name, columns, intervals: each.collect() }),
        }
    }
    if all.is_empty() {
        return Err(DataError::new(
            "no latent of the fit has a mean of its own, whose quantiles would be intervals",
        )
        .help("`--bootstrap 200` has intervals of every latent that has a mean")
        .into());
    }
    if own.is_empty() {
        return Err(DataError::new(format!(
            "q has no quantiles of {}: {}",
            crate::bind::list(&without.iter().map(String::as_str).collect::<Vec<_>>()),
            reasons.join("; ")
        ))
        .help("`--bootstrap 200` has intervals of points, and of every latent that has a mean")
        .into());
    }
    let mut notes = vec![
        "where q takes apart what depends on each other in the posterior, its quantiles are narrower than the posterior's: \
         `--bootstrap 200` or `--linear-response` has intervals that are not"
            .to_owned(),
    ];
    notes.extend(
        without.iter().map(|name| format!("`{name}` has no quantiles under q, and no interval here")),
    );
    let what = format!(
        "{} intervals of q, the variational posterior: its quantiles, which may be too narrow",
        percent(level)
    );
    Ok(Intervals { method: "q", what, level, variables: own, notes })
}

/// A latent that intervals are asked for.
struct Target {
    array: ArrayId,
    /// Its mean under q.
    mean: Mean,
}

/// The latents that intervals are asked for: those that are named, else what rows share, else all that have a mean. Of rows that were projected all of
/// theirs.
///
/// # Errors
/// A name that the program does not have, or of a latent that has no interval, with the reason.
fn targets(
    fit: &Reopened,
    problem: &Problem,
    parameters: &Parameters,
    names: &[String],
) -> Result<Vec<Target>, DataError> {
    let Problem { model, equations, binding, .. } = problem;
    let symbols = &model.symbols;
    let mut found = Vec::new();
    let mut reasons = Vec::new();
    for array in symbols.latents() {
        let held = "these rows were projected with the q that the fit has of it, which stays as it is: the directory of the fit has its interval";
        match reason_against(problem, array).or_else(|| fit.is_held(array).then_some(held)) {
            Some(reason) => reasons.push((array, reason)),
            None => match mean(equations, &binding.bound, parameters, array) {
                Some(mean) => found.push(Target { array, mean }),
                None => reasons.push((array, "its factor has no mean of its own")),
            },
        }
    }
    let name = |array: ArrayId| symbols.array(array).name.as_str();
    for wanted in names {
        if let Some((_, reason)) = reasons.iter().find(|(array, _)| name(*array) == wanted) {
            return Err(DataError::new(format!("`{wanted}` has no interval: {reason}")));
        }
        if found.iter().all(|own| name(own.array) != wanted) {
            let known: Vec<&str> = found.iter().map(|own| name(own.array)).collect();
            return Err(DataError::unknown(format!("the fit has no latent `{wanted}`"), wanted, &known));
        }
    }
    if !names.is_empty() {
        found.retain(|own| names.iter().any(|wanted| wanted == name(own.array)));
        return Ok(found);
    }
    if let Ok(rows) = RowAxes::of(model)
        && found.iter().any(|own| !rows.has_rows(own.array))
    {
        found.retain(|own| !rows.has_rows(own.array));
    }
    match (found.is_empty(), reasons.first()) {
        (true, Some((array, reason))) => {
            Err(DataError::new(format!("no latent has an interval; `{}`: {reason}", name(*array))))
        }
        (true, None) => Err(DataError::new("the program has no latent")),
        (false, _) => Ok(found),
    }
}

/// Why a latent has no interval.
fn reason_against(problem: &Problem, array: ArrayId) -> Option<&'static str> {
    let equations = &problem.equations;
    let Some(block) = equations.block_of(array) else {
        return Some("it is implicit, and no factor of q is stored for it");
    };
    match (equations.block(block).mode, problem.model.symbols.array(array).support) {
        (Mode::Implicit, _) => Some("it is implicit, and no factor of q is stored for it"),
        (Mode::Fixed, _) => Some("it is `fixed`, and keeps the values that it was given"),
        (_, Support::Index(_) | Support::Binary | Support::Count) => {
            Some("it takes classes, of which the fit has probabilities (`cavi summary DIR VAR`)")
        }
        _ => None,
    }
}

/// The labels of the elements of arrays.
struct Labelled<'a>(&'a Problem);

impl Labelled<'_> {
    fn columns(&self, array: ArrayId) -> Vec<String> {
        Dimension::of(self.0, array).iter().flat_map(Dimension::names).collect()
    }

    fn labels(&self, own: &Mean, cell: usize) -> Vec<String> {
        let place = unflat(&own.shape, cell);
        let each = own.axes.iter().zip(place);
        each.flat_map(|(axis, position)| Dimension::new(self.0, *axis).labels(position)).collect()
    }
}

/// The quantile of a distribution with this mean and standard deviation on this support: a Normal, on the half line a Gamma, on the unit
/// interval a Beta.
fn quantile_of(support: Support, mean: f64, sd: f64, p: f64) -> f64 {
    let marginal = match support {
        Support::Positive | Support::Nonnegative => {
            Marginal::Gamma { shape: mean * mean / (sd * sd), rate: mean / (sd * sd) }
        }
        Support::Unit | Support::Simplex => {
            let total = mean * (1.0 - mean) / (sd * sd) - 1.0;
            // A variance that no Beta has: that of a Normal remains.
            if total > 0.0 {
                Marginal::Beta { a: mean * total, b: (1.0 - mean) * total }
            } else {
                Marginal::Normal { mean, var: sd * sd }
            }
        }
        Support::Real
        | Support::Count
        | Support::Binary
        | Support::Index(_)
        | Support::Multiplicity
        | Support::PositiveDefinite => Marginal::Normal { mean, var: sd * sd },
    };
    marginal.quantile(p)
}
