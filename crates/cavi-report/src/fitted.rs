//! Everything that a page reads of a fit.

use std::path::Path;

use cavi::bind::DataError;
use cavi::directory::{RUNS, Stored};
use cavi::summary::{self, Variable};
use cavi::{Compiled, Error, Set};
use cavi_algebra::{Array, LetterId};
use cavi_model::Model;
use serde_json::Value;

use crate::axes::Kind;

/// A fit as its directory holds it.
pub(crate) struct Fitted {
    /// The program.
    pub compiled: Compiled,
    /// `summary.json`
    pub summary: Value,
    /// The latents.
    pub variables: Vec<Variable>,
    /// The bound from sweep to sweep: of the fit, or of each of its runs where they are kept.
    pub traces: Vec<Trace>,
}

/// The bound of a run.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// What the run is called.
    pub name: String,
    /// Sweeps with their bounds; warm-ups, whose bounds are not those of the fit, are left out.
    pub points: Vec<(f64, f64)>,
}

impl Fitted {
    /// Reads the directory.
    ///
    /// # Errors
    /// A directory that holds no fit, or whose files cannot be read.
    pub fn open(directory: &Path) -> Result<Fitted, Error> {
        let stored = Stored::open(directory)?;
        let compiled = compiled(&stored)?;
        // What stands at listed entries is as long as the data, and has no chart.
        let mut variables = summary::variables(directory, None)?;
        variables.retain(|own| own.listed.is_none());
        let traces = traces(directory, &stored.summary)?;
        Ok(Fitted { compiled, summary: stored.summary, variables, traces })
    }

    /// The declaration of a variable, by its name without a group.
    pub fn array(&self, variable: &Variable) -> Option<&Array> {
        let symbols = &self.compiled.model.symbols;
        symbols.find(base_name(variable)).map(|id| symbols.array(id))
    }

    /// Whether an axis is one of components: no data lie along it, nor name its positions.
    pub fn is_of_components(&self, axis: &str) -> bool {
        is_of_components(&self.compiled.model, axis)
    }
}

/// The program of a stored fit.
///
/// # Errors
/// One that this version does not compile.
pub(crate) fn compiled(stored: &Stored) -> Result<Compiled, Error> {
    let set: Vec<Set<'_>> = stored.set.iter().map(|own| Set { name: &own.name, value: None }).collect();
    cavi::compile::compile_with(&stored.text, &stored.file_name, &set).into_compiled()
}

/// Whether an axis of a program is one of components: no data lie along it, nor name its positions.
pub(crate) fn is_of_components(model: &Model, axis: &str) -> bool {
    let symbols = &model.symbols;
    cavi::matching::component_axes(symbols).into_iter().any(|own| symbols.axis(own).name == axis)
}

impl Fitted {
    /// What the positions of an axis are: whole numbers are quantities where a process runs over them.
    pub fn kind(&self, axis: &str, labels: &[String]) -> Kind {
        let model = &self.compiled.model;
        let is_over = |letter: &LetterId| model.symbols.axis(model.symbols.letter(*letter).axis).name == axis;
        let has_process =
            || model.statements.iter().any(|own| own.family.has_kernel() && own.slices.iter().any(is_over));
        match Kind::of(labels) {
            Kind::Whole | Kind::Counted if has_process() => Kind::Numbers,
            Kind::Whole => Kind::Names,
            other => other,
        }
    }
}

/// The name of a variable without its group.
pub(crate) fn base_name(variable: &Variable) -> &str {
    match variable.group.is_empty() {
        true => &variable.name,
        false => variable.name.split('[').next().unwrap_or_default(),
    }
}

/// The traces of the runs that are kept, else that of the fit.
fn traces(directory: &Path, summary: &Value) -> Result<Vec<Trace>, Error> {
    let kept = directory.join(RUNS);
    let runs = summary["runs"].as_array().map_or(0, Vec::len);
    let mut found = Vec::new();
    for number in 1..=runs {
        let path = kept.join(number.to_string()).join("trace.csv");
        if path.is_file() {
            found.push(Trace { name: format!("run {number}"), points: trace(&path)? });
        }
    }
    let path = directory.join("trace.csv");
    if found.is_empty() && path.is_file() {
        let name = if runs > 1 { "the best run" } else { "the run" };
        found.push(Trace { name: name.to_owned(), points: trace(&path)? });
    }
    Ok(found)
}

/// Sweep and bound of each row of a `trace.csv`.
///
/// # Errors
/// A file that cannot be read, or that lacks a column.
pub(crate) fn trace(path: &Path) -> Result<Vec<(f64, f64)>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| DataError::new(format!("`{}` cannot be read: {error}", path.display())))?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        let missing = || DataError::new(format!("`{}` has no column `{name}`", path.display()));
        head.iter().position(|own| *own == name).ok_or_else(missing)
    };
    let (sweep, elbo, phase) = (column("sweep")?, column("elbo")?, column("phase")?);
    let point = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |place: usize| cells.get(place)?.parse::<f64>().ok().filter(|own| own.is_finite());
        if cells.get(phase) == Some(&"warmup") {
            return None;
        }
        Some((number(sweep)?, number(elbo)?))
    };
    Ok(lines.filter_map(point).collect())
}
