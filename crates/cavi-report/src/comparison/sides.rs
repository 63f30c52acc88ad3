//! The fits of a comparison: what they are, and how they differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cavi::bind::SetValue;
use cavi::directory::Stored;
use cavi::{Compiled, Error};
use serde_json::Value;

use crate::charts::points::digits;
use crate::figure::Table;
use crate::fitted::{Trace, compiled, is_of_components, trace};
use crate::html::{count, number};

/// A fit that is compared.
pub(crate) struct Side {
    /// What it is called: the end of its path by which it differs from the others.
    pub name: String,
    /// Where it is.
    pub directory: PathBuf,
    /// What its directory says.
    pub stored: Stored,
    /// Its program.
    pub compiled: Compiled,
    /// The bound of the run that was kept.
    pub trace: Option<Trace>,
}

impl Side {
    /// Reads the fits.
    ///
    /// # Errors
    /// A directory that holds no fit, or whose files cannot be read.
    pub fn open_all(directories: &[&Path]) -> Result<Vec<Side>, Error> {
        let names = names(directories);
        let open = |(directory, name): (&&Path, String)| {
            let stored = Stored::open(directory)?;
            let compiled = compiled(&stored)?;
            let path = directory.join("trace.csv");
            let points = if path.is_file() { trace(&path)? } else { Vec::new() };
            let trace = (!points.is_empty()).then(|| Trace { name: name.clone(), points });
            Ok(Side { name, directory: directory.to_path_buf(), stored, compiled, trace })
        };
        directories.iter().zip(names).map(open).collect()
    }

    /// All of `summary.json`.
    pub fn summary(&self) -> &Value {
        &self.stored.summary
    }

    /// What its program is called.
    pub fn program(&self) -> &str {
        self.summary()["model"].as_str().unwrap_or(&self.compiled.model.name)
    }

    /// Its bound; NaN where that is no number.
    pub fn elbo(&self) -> f64 {
        self.summary()["elbo"].as_f64().unwrap_or(f64::NAN)
    }

    /// `643 doc x 2,954 word`: the sizes of the axes of components, or of the others.
    pub fn sizes(&self, of_components: bool) -> String {
        let all = self.summary()["sizes"].as_object().into_iter().flatten();
        let wanted = all.filter(|(axis, _)| is_of_components(&self.compiled.model, axis) == of_components);
        let shown = |(axis, size): (&String, &Value)| match size {
            Value::Array(groups) => format!("{axis} in {} groups", groups.len()),
            other => format!("{} {axis}", count(other.as_u64().unwrap_or(0) as usize)),
        };
        wanted.map(shown).collect::<Vec<_>>().join(" x ")
    }

    /// What of it is a number that may be chosen: sizes of axes of components, and constants that `--set` gave.
    pub fn numbers(&self) -> BTreeMap<String, f64> {
        let sizes = self.summary()["sizes"].as_object().into_iter().flatten();
        let sizes = sizes.filter(|(axis, _)| is_of_components(&self.compiled.model, axis));
        let mut all: BTreeMap<String, f64> =
            sizes.filter_map(|(axis, size)| Some((axis.clone(), size.as_f64()?))).collect();
        let is_axis = |name: &str| self.compiled.model.symbols.axes.iter().any(|own| own.name == name);
        for own in self.stored.set.iter().filter(|own| own.group.is_none() && !is_axis(&own.name)) {
            if let SetValue::Number(value) = own.value {
                all.insert(own.name.clone(), value);
            }
        }
        all
    }

    /// What is predicted of the entries of an array: a probability, or a density.
    pub fn predictive(&self, array: &str) -> &'static str {
        let model = &self.compiled.model;
        match model.symbols.find(array).is_some_and(|own| cavi::heldout::gives_probabilities(model, own)) {
            true => "probability",
            false => "density",
        }
    }

    /// What tells data apart: the hashes of their files and of arrays in memory, in order; where there are no files, the sizes along which they lie, and the built-in
    /// program that carries them.
    fn data(&self) -> (Vec<String>, Vec<String>, Option<&str>) {
        let mut hashes: Vec<String> = cavi::data_files::stored(&self.stored.summary).into_values().collect();
        hashes.extend(cavi::data_files::stored_in_memory(&self.stored.summary).into_values());
        hashes.sort();
        let all = self.summary()["sizes"].as_object().into_iter().flatten();
        let along = all.filter(|(axis, _)| !is_of_components(&self.compiled.model, axis));
        let mut sizes: Vec<String> =
            along.filter(|_| hashes.is_empty()).map(|(_, size)| size.to_string()).collect();
        sizes.sort();
        (hashes, sizes, self.summary()["settings"]["demo"].as_str())
    }
}

/// Whether all fits are to the same data, as far as hashes and sizes say it.
pub(crate) fn same_data(sides: &[Side]) -> bool {
    sides.iter().all(|own| own.data() == sides[0].data())
}

/// Whether the same part of the data was held out of all fits, as far as their settings say it.
pub(crate) fn same_heldout(sides: &[Side]) -> bool {
    let asked = |own: &Side| {
        let settings = &own.summary()["settings"];
        let is_none = settings["heldout"].as_array().is_none_or(Vec::is_empty);
        (settings["heldout"].clone(), if is_none { 0 } else { own.stored.split_seed() })
    };
    sides.iter().all(|own| asked(own) == asked(&sides[0]))
}

/// The places of the fits of each program, by its text.
pub(crate) fn programs(sides: &[Side]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    for (place, own) in sides.iter().enumerate() {
        match all.iter_mut().find(|places| sides[places[0]].stored.text == own.stored.text) {
            Some(places) => places.push(place),
            None => all.push(vec![place]),
        }
    }
    all
}

/// The numbers in which the fits of one program differ; nothing for fits of several.
pub(crate) fn varying(sides: &[Side]) -> Vec<String> {
    if programs(sides).len() > 1 {
        return Vec::new();
    }
    let all: Vec<BTreeMap<String, f64>> = sides.iter().map(Side::numbers).collect();
    let differs = |name: &&String| {
        let values: Option<Vec<f64>> = all.iter().map(|own| own.get(*name).copied()).collect();
        values.is_some_and(|values| values.iter().any(|own| *own != values[0]))
    };
    all[0].keys().filter(differs).cloned().collect()
}

/// What the fits are, a row for each.
pub(crate) fn table(sides: &[Side]) -> Table {
    let mut arrays: Vec<&String> = Vec::new();
    for own in sides {
        for array in own.summary()["heldout"].as_object().into_iter().flatten().map(|(name, _)| name) {
            if !arrays.contains(&array) {
                arrays.push(array);
            }
        }
    }
    let per_unit: Vec<String> = arrays.iter().map(|own| format!("held-out score a unit of {own}")).collect();
    let perplexity: Vec<String> = arrays.iter().map(|own| format!("perplexity of {own}")).collect();
    let has_perplexity = |array: &&&String| {
        sides.iter().any(|own| own.summary()["heldout"][array.as_str()]["perplexity"].is_number())
    };
    let with: Vec<(&&String, &String)> =
        arrays.iter().zip(&perplexity).filter(|(array, _)| has_perplexity(array)).collect();
    // What is the same in all fits stands above the table.
    let differ = |of: &dyn Fn(&Side) -> String| sides.iter().any(|own| of(own) != of(&sides[0]));
    let program = |own: &Side| own.program().to_owned();
    let data = |own: &Side| own.sizes(false);
    let (has_programs, has_data) = (differ(&program), differ(&data));
    let mut head = vec!["fit"];
    head.extend(has_programs.then_some("program"));
    head.extend(has_data.then_some("data"));
    head.extend(["components", "how it ended"]);
    let labels = head.len();
    head.extend(["sweeps", "runs", "seed", "ELBO"]);
    head.extend(per_unit.iter().map(String::as_str));
    head.extend(with.iter().map(|(_, own)| own.as_str()));
    let row = |own: &Side| {
        let summary = own.summary();
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let seen = |value: &Value, show: &dyn Fn(f64) -> String| match value {
            Value::Number(own) => own.as_f64().map_or_else(String::new, show),
            other => text(other),
        };
        let ended = match (summary["failure"].as_str(), summary["interrupted"].as_bool()) {
            (Some(_), _) => "ended early",
            (_, Some(true)) => "interrupted",
            _ if summary["converged"] == true => "converged",
            _ => "not converged",
        };
        let runs = summary["runs"].as_array().map_or(0, Vec::len).to_string();
        let mut cells = vec![own.name.clone()];
        cells.extend(has_programs.then(|| program(own)));
        cells.extend(has_data.then(|| data(own)));
        cells.extend([own.sizes(true), ended.to_owned(), text(&summary["sweeps"]), runs]);
        cells.extend([text(&summary["seed"]), seen(&summary["elbo"], &|own| format!("{own:.4}"))]);
        let score = |array: &str, what: &str| summary["heldout"][array][what].clone();
        cells.extend(arrays.iter().map(|own| seen(&score(own, "per_unit"), &digits)));
        cells.extend(with.iter().map(|(own, _)| seen(&score(own, "perplexity"), &number)));
        cells
    };
    Table::new(&head, labels, sides.iter().map(row))
}

/// Settings that are not the same in all fits, a row for each, a column for each fit.
pub(crate) fn settings(sides: &[Side]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for own in sides {
        for (name, _) in own.summary()["settings"].as_object().into_iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    let shown = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(all) => {
            let each = all.iter().map(|own| own.as_str().map_or_else(|| own.to_string(), str::to_owned));
            each.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    let mut rows = Vec::new();
    for name in names {
        let values: Vec<&Value> = sides.iter().map(|own| &own.summary()["settings"][name]).collect();
        if values.iter().any(|own| *own != values[0]) {
            rows.push([vec![name.to_owned()], values.into_iter().map(shown).collect()].concat());
        }
    }
    let version: Vec<String> = sides.iter().map(|own| shown(&own.summary()["version"])).collect();
    if version.iter().any(|own| *own != version[0]) {
        rows.push([vec!["version".to_owned()], version].concat());
    }
    let head: Vec<&str> =
        std::iter::once("setting").chain(sides.iter().map(|own| own.name.as_str())).collect();
    Table::new(&head, head.len(), rows)
}

/// What fits are called: the shortest end of each path by which it differs from all others, and of the same path a number too.
fn names(directories: &[&Path]) -> Vec<String> {
    let parts = |path: &Path| -> Vec<String> {
        let full = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        full.components().map(|own| own.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let all: Vec<Vec<String>> = directories.iter().map(|own| parts(own)).collect();
    let end = |own: &[String], length: usize| own[own.len().saturating_sub(length)..].join("/");
    let mut names: Vec<String> = Vec::new();
    for (place, own) in all.iter().enumerate() {
        let is_unique = |length: &usize| {
            let others = all.iter().enumerate().filter(|(other, _)| *other != place);
            others.into_iter().all(|(_, other)| end(other, *length) != end(own, *length))
        };
        let length = (1..=own.len()).find(is_unique).unwrap_or(1);
        let name = end(own, length);
        let before = all[..place].iter().filter(|other| *other == own).count();
        names.push(if before == 0 { name } else { format!("{name} ({})", before + 1) });
    }
    names
}

/// A key by which numbers in texts come in their order: `k=4` before `k=16`.
pub(crate) fn natural(text: &str) -> Vec<(String, u128)> {
    let mut parts: Vec<(String, u128)> = vec![(String::new(), 0)];
    for letter in text.chars() {
        let last = parts.len() - 1;
        match letter.to_digit(10) {
            Some(digit) => parts[last].1 = parts[last].1.saturating_mul(10).saturating_add(digit.into()),
            None if parts[last].1 == 0 => parts[last].0.push(letter),
            None => parts.push((letter.to_string(), 0)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_come_in_their_order() {
        let mut all = ["x/k=16", "x/k=4", "x/k=4,a=10", "x/k=4,a=2"];
        all.sort_by_cached_key(|own| natural(own));
        assert_eq!(all, ["x/k=4", "x/k=4,a=2", "x/k=4,a=10", "x/k=16"]);
    }

    #[test]
    fn names_are_the_ends_that_differ() {
        let of = |all: &[&str]| names(&all.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(of(&["/no/a/fit", "/no/b/fit", "/no/c"]), ["a/fit", "b/fit", "c"]);
        assert_eq!(of(&["/no/fit", "/no/fit/"]), ["fit", "fit (2)"]);
    }
}
