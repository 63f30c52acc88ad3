//! What the directory of a fit says of its variables, without the data: means and their spread, at labels.

mod cells;
mod joint;
mod listed;
mod marginals;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use cavi_algebra::{ArrayId, AxisId, LetterId, Support, Symbols};
use cavi_executor::Parameters;
use cavi_families::marginal::Marginal;
use cavi_files::DenseArray;
use cavi_model::Model;

use crate::bind::DataError;
use crate::directory::Stored;
use crate::error::Error;
use crate::exclusive::{self, By};
use crate::findings::Top;
use crate::posterior::{NamedArray, arrays_of, groups_of, numbering, safe};
use crate::prepare::Problem;
use cells::Cells;

/// More factors than these are not listed.
const MOST_ROWS: usize = 64;

/// A latent of a stored fit: its mean under q, in C order over its axes.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name; of a variable over a ragged axis with the group, `w[rna]`.
    pub name: String,
    /// Of a variable over a ragged axis the group: each of its axes with the label, outermost first.
    pub group: Vec<(String, String)>,
    /// The axes, the classes of a categorical one last, each with its labels. A latent that lives at the listed entries of data has one, the
    /// entries: `user/item` with the labels `Ana/bread`.
    pub axes: Vec<(String, Vec<String>)>,
    /// What each of these axes is called among the columns of a table: by its name, or by its letter where the latent runs along it more than once.
    pub columns: Vec<String>,
    /// Of a latent that lives at listed entries the names of the axes of the program, and for each entry its labels on these.
    pub listed: Option<Listed>,
    /// What the values are: `mean`, `prob` (of a class), or `value` (of a point).
    pub parameter: &'static str,
    /// Whether entries may have signs; they are then ordered by size.
    pub signed: bool,
    /// The values.
    pub values: Vec<f64>,
    /// Standard deviations under q, where the fit has them of one number alone; NaN where one is infinite.
    pub deviations: Option<Vec<f64>>,
    /// The distributions of single numbers under q, where the fit has them and they have quantiles.
    pub marginals: Option<Vec<Marginal>>,
}

/// Where the numbers of a latent stand that lives at the listed entries of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The names of the axes, as the latent declares them.
    pub names: Vec<String>,
    /// For each entry its label on each of them.
    pub labels: Vec<Vec<String>>,
}

/// Reads the latents of a fit, or one of them.
///
/// # Errors
/// A directory that holds no fit; a name that its program does not have, or that has no factor of q of its own.
pub fn variables(directory: &Path, wanted: Option<&str>) -> Result<Vec<Variable>, Error> {
    let model = model(directory)?;
    let reader = Reader { source: Source::Directory(directory), model: &model };
    let symbols = &model.symbols;
    let latents: Vec<&str> = symbols.latents().map(|own| symbols.array(own).name.as_str()).collect();
    if let Some(name) = wanted.filter(|name| !latents.contains(name)) {
        let message = format!("the fit in `{}` has no latent `{name}`", directory.display());
        let unknown = DataError::unknown(message, name, &latents);
        return Err(match model.definitions.iter().any(|own| own.name == name) {
            true => unknown.help(format!(
                "`{name}` is computed from latents, and has no factor of q: `cavi sample {} {name}` draws it, with its means",
                directory.display()
            )),
            false => unknown,
        }
        .into());
    }
    let mut found = Vec::new();
    for name in latents.iter().filter(|name| wanted.is_none_or(|wanted| wanted == **name)) {
        found.extend(reader.variable(name)?);
    }
    if let (true, Some(name)) = (found.is_empty(), wanted) {
        let error = DataError::new(format!("`{name}` has no mean in `{}/posterior`", directory.display()));
        let files = files_of(directory, name);
        return Err(match files.is_empty() {
            true => error.possible("latents that are not implicit"),
            false => error.help(format!("the parameters of its factor stand there in {}", files.join(", "))),
        }
        .into());
    }
    Ok(found)
}

/// The files, or folders of groups, that hold parameters of a variable, in the order of their names.
fn files_of(directory: &Path, name: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory.join("posterior")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut own: Vec<String> =
        names.filter(|file| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))).collect();
    own.sort();
    own
}

/// The program of a fit, its names resolved.
///
/// # Errors
/// A directory that holds no fit.
pub(crate) fn model(directory: &Path) -> Result<Model, Error> {
    let stored = Stored::open(directory)?;
    let (program, _) = cavi_syntax::parse(&stored.text);
    let set: Vec<cavi_model::Set<'_>> =
        stored.set.iter().map(|own| cavi_model::Set { name: &own.name, value: None }).collect();
    let model = cavi_model::resolve_with(&program, &set).0;
    let what = || DataError::new(format!("`{}` is no program that this version compiles", stored.file_name));
    Ok(model.ok_or_else(what)?)
}

/// The latents of a fit in memory, as [`variables`] reads them from the directory that it would be written to.
pub fn variables_of(problem: &Problem, parameters: &Parameters) -> Vec<Variable> {
    let given = problem.as_given();
    let reader = in_memory(given, crate::posterior::arrays(problem, parameters));
    let symbols = &given.model.symbols;
    let latents = symbols.latents().filter(|own| !is_listed(given, *own));
    // What is in memory can be read.
    latents.flat_map(|own| reader.variable(&symbols.array(own).name).unwrap_or_default()).collect()
}

fn in_memory(given: &Problem, arrays: Vec<NamedArray>) -> Reader<'_> {
    let arrays = arrays.into_iter();
    let arrays = arrays.map(|own| (own.name, DenseArray { shape: own.shape, values: own.values })).collect();
    Reader { source: Source::Memory { problem: given, arrays }, model: &given.model }
}

/// Whether a latent lives at the listed entries of data.
fn is_listed(given: &Problem, array: ArrayId) -> bool {
    let symbols = &given.model.symbols;
    let at = |axis: AxisId| given.binding.entries.iter().any(|own| own.axis == axis);
    symbols.array(array).letters.iter().any(|letter| at(symbols.letter(*letter).axis))
}

/// How the numbers of a latent of a fit in memory are spread under q, in the order of its mean ([`crate::means::mean`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread {
    /// Their distributions, where the fit has them of each.
    pub marginals: Option<Vec<Marginal>>,
    /// Their standard deviations, NaN where one is infinite; where the fit has them of each.
    pub deviations: Option<Vec<f64>>,
}

/// The spread of a latent; of a ragged one that of all its groups, each at its place.
pub(crate) fn spread_of(problem: &Problem, parameters: &Parameters, array: ArrayId) -> Spread {
    let given = problem.as_given();
    let (symbols, bound) = (&given.model.symbols, &given.binding.bound);
    let block = given.equations.block_of(array);
    let reader = in_memory(given, arrays_of(problem, parameters, &|own| Some(own) == block));
    let name = &symbols.array(array).name;
    // What is in memory can be read.
    if is_listed(given, array) {
        let mean = reader.array(name, "mean", None).ok().flatten();
        let marginals = mean.and_then(|mean| {
            reader.marginals(name, None, &mean, &Cells::of_numbers(&mean.shape)).ok().flatten()
        });
        let deviations = marginals.as_ref().map(|own| deviations_of(own));
        return Spread { marginals, deviations };
    }
    let variables = reader.variable(name).unwrap_or_default();
    let groups = groups_of(symbols, bound, &given.binding.labels, &symbols.array(array).letters);
    let shape = bound.shape(symbols, array);
    let places: Vec<Vec<usize>> = groups.iter().map(|(_, ranges)| cells_within(ranges, &shape)).collect();
    let fits = |(own, places): (&Variable, &Vec<usize>)| own.values.len() == places.len();
    if variables.len() != places.len() || !variables.iter().zip(&places).all(fits) {
        return Spread::default();
    }
    let count: usize = shape.iter().product();
    let mut marginals: Vec<Option<Marginal>> = vec![None; count];
    let mut deviations: Vec<Option<f64>> = vec![None; count];
    for (variable, places) in variables.iter().zip(&places) {
        for (own, place) in variable.marginals.iter().flatten().zip(places) {
            marginals[*place] = Some(*own);
        }
        for (own, place) in variable.deviations.iter().flatten().zip(places) {
            deviations[*place] = Some(*own);
        }
    }
    Spread { marginals: marginals.into_iter().collect(), deviations: deviations.into_iter().collect() }
}

/// The places in an array of this shape whose positions are in these ranges, in C order.
fn cells_within(ranges: &[Range<usize>], shape: &[usize]) -> Vec<usize> {
    ranges.iter().zip(shape).fold(vec![0], |cells, (range, size)| {
        let along =
            |cell: &usize| range.clone().map(move |position| cell * size + position).collect::<Vec<_>>();
        cells.iter().flat_map(along).collect()
    })
}

/// The standard deviations of distributions; NaN where one is infinite, or not known.
fn deviations_of(marginals: &[Marginal]) -> Vec<f64> {
    marginals.iter().map(|own| own.deviation().unwrap_or(f64::NAN)).collect()
}

/// Where latents are read from.
enum Source<'a> {
    /// The directory of a fit.
    Directory(&'a Path),
    /// The descriptors of a fit by their names, and its problem for labels.
    Memory { problem: &'a Problem, arrays: BTreeMap<String, DenseArray> },
}

struct Reader<'a> {
    source: Source<'a>,
    model: &'a Model,
}

impl Reader<'_> {
    /// A variable, group by group where it is ragged; nothing where it has no file.
    fn variable(&self, name: &str) -> Result<Vec<Variable>, Error> {
        let symbols = &self.model.symbols;
        let Some(id) = symbols.find(name) else { return Ok(Vec::new()) };
        let array = symbols.array(id);
        // The letters whose positions number the groups, and their axes.
        let numbering = numbering(symbols, &array.letters);
        let inner: Vec<AxisId> = numbering.iter().map(|letter| symbols.letter(*letter).axis).collect();
        let parameters = ["mean", "prob", "value"];
        let exists = |parameter: &&&str| {
            let own = format!("{name}.{parameter}");
            match &self.source {
                Source::Directory(directory) => {
                    let posterior = directory.join("posterior");
                    posterior.join(&own).is_dir() || posterior.join(format!("{own}.npy")).is_file()
                }
                Source::Memory { arrays, .. } => {
                    let group = format!("{own}/");
                    arrays.contains_key(&own) || arrays.keys().any(|key| key.starts_with(&group))
                }
            }
        };
        let Some(parameter) = parameters.iter().find(exists).copied() else { return Ok(Vec::new()) };
        if let Some(listed) = self.listed(id)? {
            return Ok(self.at_entries((name, parameter), array.support, listed)?.into_iter().collect());
        }
        let mut found = Vec::new();
        for paths in self.groups(&inner)? {
            let group: Option<Vec<String>> = (!inner.is_empty()).then(|| paths.concat());
            let mut own: Vec<(String, Vec<String>)> = Vec::new();
            let mut columns: Vec<String> = Vec::new();
            for letter in &array.letters {
                let axis = symbols.letter(*letter).axis;
                // The axes of the group itself are left out.
                if !numbers_groups(symbols, &inner, axis) {
                    let within = group_of(symbols, &numbering, &paths, *letter);
                    own.push((symbols.axis(axis).name.clone(), self.labels(axis, within)?));
                    let along = |other: &&LetterId| symbols.letter(**other).axis == axis;
                    let is_repeated = array.letters.iter().filter(along).count() > 1;
                    let called =
                        if is_repeated { &symbols.letter(*letter).name } else { &symbols.axis(axis).name };
                    columns.push(called.clone());
                }
            }
            if let (Support::Index(classes), "prob") = (array.support, parameter) {
                own.push((symbols.axis(classes).name.clone(), self.labels(classes, None)?));
                columns.push(symbols.axis(classes).name.clone());
            }
            let signed = array.support == Support::Real;
            let Some(array) = self.array(name, parameter, group.as_deref())? else { continue };
            let sizes: Vec<usize> = own.iter().map(|(_, labels)| labels.len()).collect();
            if array.shape != sizes {
                continue;
            }
            let cells = self.cells(id, &inner, &array.shape);
            let marginals =
                match joint::marginals(self, (id, name), &inner, group.as_deref(), &array, &cells)? {
                    Some(own) => Some(own),
                    None => self.marginals(name, group.as_deref(), &array, &cells)?,
                };
            let deviations = match (self.like(name, "var", group.as_deref(), &array)?, &marginals) {
                (Some(variances), _) => Some(variances.into_iter().map(f64::sqrt).collect()),
                (None, Some(marginals)) => {
                    Some(deviations_of(marginals)).filter(|all| !all.iter().all(|own| own.is_nan()))
                }
                (None, None) => None,
            };
            let labels = group.clone().unwrap_or_default();
            let groups = inner.iter().flat_map(|axis| lineage(symbols, *axis).rev());
            let named =
                groups.zip(labels).map(|(axis, label)| (symbols.axis(axis).name.clone(), label)).collect();
            let name = group.as_ref().map_or(name.to_owned(), |group| format!("{name}[{}]", group.join("/")));
            found.push(Variable {
                name,
                group: named,
                axes: own,
                columns,
                listed: None,
                parameter,
                signed,
                values: array.values,
                deviations,
                marginals,
            });
        }
        Ok(found)
    }

    /// The groups that positions of these axes number, each by the labels that lead to its position on each of them; one without any where there is
    /// no axis.
    fn groups(&self, inner: &[AxisId]) -> Result<Vec<Vec<Vec<String>>>, Error> {
        let mut all: Vec<Vec<Vec<String>>> = vec![Vec::new()];
        for axis in inner {
            let paths = self.paths(*axis)?;
            let with = |own: &Vec<Vec<String>>| {
                let own = own.clone();
                paths
                    .iter()
                    .map(move |path| [own.as_slice(), std::slice::from_ref(path)].concat())
                    .collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        Ok(all)
    }

    /// For each position of an axis the labels that lead to it, outermost first.
    fn paths(&self, axis: AxisId) -> Result<Vec<Vec<String>>, Error> {
        let Some(parent) = self.model.symbols.axis(axis).parent else {
            return Ok(self.labels(axis, None)?.into_iter().map(|label| vec![label]).collect());
        };
        let mut all = Vec::new();
        for above in self.paths(parent)? {
            let own = self.labels(axis, Some(&above))?.into_iter();
            all.extend(own.map(|label| [above.as_slice(), &[label]].concat()));
        }
        Ok(all)
    }

    /// The labels of an axis, or of a group of it.
    fn labels(&self, axis: AxisId, group: Option<&[String]>) -> Result<Vec<String>, Error> {
        let own = self.model.symbols.axis(axis);
        let directory = match &self.source {
            Source::Directory(directory) => directory,
            Source::Memory { problem, .. } => return Ok(labels_in(problem, axis, group)),
        };
        let axes = directory.join("axes");
        let path = match (own.parent, group) {
            (Some(_), Some(group)) => axes.join(&own.name).join(file(group, "txt")),
            _ => axes.join(format!("{}.txt", own.name)),
        };
        Ok(cavi_files::read_labels(&path)?)
    }

    fn array(
        &self,
        name: &str,
        parameter: &str,
        group: Option<&[String]>,
    ) -> Result<Option<DenseArray>, Error> {
        let directory = match &self.source {
            Source::Directory(directory) => directory,
            Source::Memory { arrays, .. } => {
                let key = match group {
                    Some(group) => format!("{name}.{parameter}/{}", joined(group)),
                    None => format!("{name}.{parameter}"),
                };
                return Ok(arrays.get(&key).cloned());
            }
        };
        let posterior = directory.join("posterior");
        let path = match group {
            Some(group) => posterior.join(format!("{name}.{parameter}")).join(file(group, "npy")),
            None => posterior.join(format!("{name}.{parameter}.npy")),
        };
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(cavi_files::read_npy(&path)?))
    }

    /// A parameter of a variable that has the shape of its mean.
    fn like(
        &self,
        name: &str,
        parameter: &str,
        group: Option<&[String]>,
        mean: &DenseArray,
    ) -> Result<Option<Vec<f64>>, Error> {
        let array = self.array(name, parameter, group)?;
        Ok(array.filter(|own| own.shape == mean.shape).map(|own| own.values))
    }

    /// Where the numbers of a variable of this shape stand in its factor. Slices are those of its statement, and those that `posterior` writes.
    fn cells(&self, id: ArrayId, inner: &[AxisId], shape: &[usize]) -> Cells {
        let letters = joint::letters_of(self, id, inner);
        // The probabilities of classes have one dimension more.
        if letters.len() != shape.len() {
            return Cells::of_numbers(shape);
        }
        let mut slices = self.model.symbols.slices(id);
        for block in &self.model.blocks {
            let written = block.members.iter().zip(&block.slices).filter(|(member, _)| **member == id);
            slices.extend(written.flat_map(|(_, letters)| letters));
        }
        Cells::new(&letters, shape, &slices)
    }

    /// The distributions of single numbers.
    fn marginals(
        &self,
        name: &str,
        group: Option<&[String]>,
        mean: &DenseArray,
        cells: &Cells,
    ) -> Result<Option<Vec<Marginal>>, Error> {
        marginals::marginals_of(mean, cells, &|parameter| self.array(name, parameter, group))
    }
}

/// An axis and those in which it is ragged, innermost first.
fn lineage(symbols: &Symbols, axis: AxisId) -> impl DoubleEndedIterator<Item = AxisId> {
    let axes = std::iter::successors(Some(axis), |own| symbols.axis(*own).parent);
    axes.collect::<Vec<_>>().into_iter()
}

/// Whether positions of an axis say in which group, or in which group of groups, a number is.
fn numbers_groups(symbols: &Symbols, inner: &[AxisId], axis: AxisId) -> bool {
    inner.iter().any(|own| lineage(symbols, *own).any(|above| above == axis))
}

/// The labels that lead to the group that a letter of a ragged axis runs in, where the groups that other letters number are given by the labels
/// that lead to them.
fn group_of<'p>(
    symbols: &Symbols,
    numbering: &[LetterId],
    paths: &'p [Vec<String>],
    letter: LetterId,
) -> Option<&'p [String]> {
    let parent = symbols.letter(letter).parent?;
    let place = numbering.iter().position(|own| symbols.lineage(*own).contains(&parent))?;
    paths[place].get(..symbols.lineage(parent).len())
}

/// The labels of an axis, or of a group of it, of a fit in memory.
fn labels_in(problem: &Problem, axis: AxisId, group: Option<&[String]>) -> Vec<String> {
    let Problem { equations, binding, .. } = problem;
    let bound = &binding.bound;
    let in_group = |position: &usize| {
        let path = binding.labels.path(&equations.symbols, bound, axis, *position);
        group.is_none_or(|group| path[..path.len() - 1] == *group)
    };
    let is_ragged = bound.axes[axis.index()].starts.is_some();
    let positions = (0..bound.size(axis)).filter(|own| !is_ragged || in_group(own));
    positions.map(|own| binding.labels.label(bound, axis, own).into_owned()).collect()
}

/// The labels that lead to a group, as the path of a file.
fn joined(group: &[String]) -> String {
    group.iter().map(|label| safe(label)).collect::<Vec<_>>().join("/")
}

/// The file of a group, by the labels that lead to it.
fn file(group: &[String], suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}.{suffix}", joined(group)))
}

/// The largest entries of a variable along one of its axes, for each position on the others: by size where they have signs.
///
/// The axis is the one that is asked for, else the longest.
///
/// # Errors
/// A variable without axes, or without that axis.
pub fn top(variable: &Variable, over: Option<&str>, count: usize) -> Result<Top, Error> {
    top_by(variable, over, count, By::Weight, &|_| None)
}

/// As [`top`], in another order; `shares` gives the share of each position on an axis of components, which are alike where it gives none.
///
/// # Errors
/// As there; for another order than that of weights a variable whose entries have signs, or that has but one axis.
pub fn top_by(
    variable: &Variable,
    over: Option<&str>,
    count: usize,
    by: By,
    shares: &dyn Fn(&str) -> Option<Vec<f64>>,
) -> Result<Top, Error> {
    top_rows(variable, over, count, by, shares, MOST_ROWS)
}

/// The same of so many rows at most; the others are counted.
///
/// # Errors
/// As [`top_by`].
pub fn top_rows(
    variable: &Variable,
    over: Option<&str>,
    count: usize,
    by: By,
    shares: &dyn Fn(&str) -> Option<Vec<f64>>,
    most: usize,
) -> Result<Top, Error> {
    let names: Vec<&str> = variable.axes.iter().map(|(name, _)| name.as_str()).collect();
    let place = match over {
        Some(name) => names.iter().position(|own| *own == name),
        // Of equally long ones the last.
        None => (0..names.len()).max_by_key(|place| variable.axes[*place].1.len()),
    };
    let Some(place) = place else {
        let message = match over {
            Some(name) => format!("`{}` has no axis `{name}`", variable.name),
            None => format!("`{}` is one number, and has no entries to list", variable.name),
        };
        return Err(DataError::unknown(message, over.unwrap_or_default(), &names).into());
    };
    let sizes: Vec<usize> = variable.axes.iter().map(|(_, labels)| labels.len()).collect();
    let after: usize = sizes[place + 1..].iter().product();
    let signed = variable.signed;
    let rank = |value: f64| if signed { value.abs() } else { value };
    let before: usize = sizes[..place].iter().product();
    let mut rows = Vec::new();
    let cell = |row: usize, position: usize| {
        let (outer, inner) = (row / after.max(1), row % after.max(1));
        (outer * sizes[place] + position) * after + inner
    };
    let scores = match by {
        By::Weight => None,
        By::Lift | By::Frex => {
            let others: Vec<usize> = (0..names.len()).filter(|own| *own != place).collect();
            if signed || others.is_empty() {
                let what = if signed { "its entries have signs" } else { "it has one axis alone" };
                return Err(DataError::new(format!(
                    "entries of `{}` have no lift and no exclusivity: {what}",
                    variable.name
                ))
                .possible("a variable of shares or positive numbers, of several components, such as topics by words")
                .into());
            }
            let values = |row: usize| (0..sizes[place]).map(|own| variable.values[cell(row, own)]).collect();
            let all: Vec<Vec<f64>> = (0..before * after).map(values).collect();
            let alike = vec![1.0 / all.len() as f64; all.len()];
            let known = match others[..] {
                [one] => shares(names[one]).filter(|own| own.len() == all.len()),
                _ => None,
            };
            Some(exclusive::scores(&all, &known.unwrap_or(alike), by))
        }
    };
    for row in 0..(before * after).min(most) {
        let value = |position: usize| variable.values[cell(row, position)];
        let score = |position: usize| {
            scores.as_ref().map_or_else(|| rank(value(position)), |scores| scores[row][position])
        };
        let mut order: Vec<usize> = (0..sizes[place]).collect();
        order.sort_by(|one, other| score(*other).total_cmp(&score(*one)));
        let entry = |position: &usize| (variable.axes[place].1[*position].clone(), value(*position));
        let entries = order.iter().take(count).map(entry).collect();
        rows.push((row_name(variable, place, row), entries));
    }
    let more = (before * after).saturating_sub(most);
    Ok(Top { variable: variable.name.clone(), axis: names[place].to_owned(), signed, rows, more })
}

/// `topic 0, author Ana`: a position on every axis but one.
fn row_name(variable: &Variable, without: usize, row: usize) -> String {
    let mut rest = row;
    let mut parts = Vec::new();
    for (name, labels) in
        variable.axes.iter().enumerate().rev().filter(|(place, _)| *place != without).map(|(_, own)| own)
    {
        parts.push(format!("{name} {}", labels[rest % labels.len().max(1)]));
        rest /= labels.len().max(1);
    }
    parts.reverse();
    if parts.is_empty() { variable.name.clone() } else { parts.join(", ") }
}

/// The names of the labels that [`place`] gives.
pub fn columns(variable: &Variable) -> Vec<&str> {
    match &variable.listed {
        Some(listed) => listed.names.iter().map(String::as_str).collect(),
        None => variable.columns.iter().map(String::as_str).collect(),
    }
}

/// The labels of the position of each value of a variable, in order.
pub fn place(variable: &Variable, cell: usize) -> Vec<&str> {
    if let Some(listed) = &variable.listed {
        return listed.labels[cell].iter().map(String::as_str).collect();
    }
    let mut rest = cell;
    let mut labels: Vec<&str> = Vec::new();
    for (_, own) in variable.axes.iter().rev() {
        labels.push(own[rest % own.len()].as_str());
        rest /= own.len();
    }
    labels.reverse();
    labels
}

/// `summary.json` of a fit.
///
/// # Errors
/// A directory that holds no fit.
pub fn json(directory: &Path) -> Result<serde_json::Value, Error> {
    Stored::open(directory)?;
    let path = directory.join("summary.json");
    let wrong = |what: String| DataError::new(format!("`{}` {what}", path.display()));
    let text = cavi_files::read_text(&path)
        .map_err(|error| wrong(format!("cannot be read: found {}", error.found)))?;
    Ok(serde_json::from_str(&text).map_err(|error| wrong(format!("is no JSON: {error}")))?)
}

/// A number with so many digits that matter, as it is shown to people: tiny and huge ones with an exponent, no zeros behind the point.
///
/// # Example
/// ```
/// let texts = [0.0, 1.0, -12.345678, 1e-7, 123456.0, 2.5e9].map(|own| cavi::summary::digits(own, 6));
/// assert_eq!(texts, ["0", "1", "-12.3457", "1.00000e-7", "123456", "2.50000e9"]);
/// ```
pub fn digits(value: f64, digits: usize) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    let before_the_point = size.log10().floor() as i32 + 1;
    let decimals = usize::try_from(i32::try_from(digits).unwrap_or(i32::MAX) - before_the_point).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
