//! Latents that are held at given values, `--fix NAME=FILE`: whether they can be, what is said of them, and how a fit keeps them.
//!
//! # What it is
//! With `x = (x_H, x_F)` and `x_H = c` given, q is the point mass at `c` in `x_H` and what the updates give in `x_F`: the bound is that of
//! the program in which `x_H` is data, its density at `c` included. A block whose copies are scalars or whole slices has rows of both
//! kinds, as an array that is observed in part has. Of a Normal over a slice the free elements have their conditional distribution,
//! of a slice under non-negative least squares their conditional maximiser ([`cavi_families::observed::hold`]).
//!
//! `fixed/NAME.csv` in the directory of a fit is the table of what was held, so that whatever asks the fit later holds the same.

use std::collections::BTreeMap;
use std::path::Path;

use cavi_algebra::{ArrayId, Elementary, Equations, LetterId, Mode, Support, Symbols};
use cavi_executor::observed::Observed;
use cavi_executor::{Bound, BoundArray};
use cavi_files::{Cell, CsvText, FileError, write_text_atomically};
use cavi_model::Model;
use serde_json::{Map, Value, json};

use crate::bind::{ArrayInput, Binding, DataError, Inputs, Source, list};
use crate::prepare::Problem;
use crate::prepare::entries::components;

/// Numbers on a simplex that sum to 1 but for this were rounded when they were written.
const ROUNDED: f64 = 1e-3;

/// Numbers on a simplex that sum to 1 within this are not rounded.
const EXACT: f64 = 1e-9;

/// A zero where the logarithm of a latent is taken is held at this: the products of three such numbers are normal doubles.
const LEAST: f64 = 1e-100;

/// The folder of what is held, in the directory of a fit.
const FOLDER: &str = "fixed";

/// Refuses what cannot be held, and brings values to where their densities are finite: zeros to the smallest number that is used, and
/// rounded probabilities to the sum 1. Both are noted.
///
/// # Errors
/// One for each latent that cannot be held as it is asked.
pub(crate) fn settle(
    model: &Model,
    equations: &Equations,
    binding: &mut Binding,
) -> Result<(), Vec<DataError>> {
    let mut problems = Vec::new();
    for array in binding.fixed.clone() {
        match refusal(model, equations, binding, array) {
            Some(problem) => problems.push(problem),
            None => match settle_one(model, equations, binding, array) {
                Ok(notes) => binding.notes.extend(notes),
                Err(problem) => problems.push(problem),
            },
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Why a latent cannot be held as it is asked.
fn refusal(model: &Model, equations: &Equations, binding: &Binding, array: ArrayId) -> Option<DataError> {
    let symbols = &equations.symbols;
    let own = symbols.array(array);
    let name = &own.name;
    let cannot = |why: String| DataError::new(format!("`{name}` cannot be held: {why}"));
    if components(model).iter().flat_map(|own| &own.latents).any(|own| own.array == array) {
        return Some(
            cannot("it lives at the listed entries of sparse data".to_owned())
                .possible("latents along axes of the program"),
        );
    }
    let block = equations.block_of(array).map(|id| equations.block(id));
    let Some(block) = block.filter(|own| own.mode != Mode::Implicit) else {
        return Some(
            cannot("it is implicit, and always at its optimum".to_owned())
                .help(format!("leave `implicit {name}` out of `posterior`")),
        );
    };
    if block.members.len() > 1 {
        let names: Vec<&str> = block.members.iter().map(|own| symbols.array(*own).name.as_str()).collect();
        return Some(cannot(format!("{} have one factor of q", list(&names))).help(
            "leave the line of `posterior` that joins them out, so that each has a factor of its own",
        ));
    }
    if own.support == Support::PositiveDefinite {
        return Some(
            cannot("it is a matrix".to_owned()).help(format!(
                "declare `{name}` as `data` in place of its statement, and give it by `--data`"
            )),
        );
    }
    if block.ragged_slice(symbols).is_some() {
        return Some(
            cannot("its slices are of another length in each group".to_owned())
                .possible("slices over an axis that is not ragged"),
        );
    }
    let observed = Observed::of(equations, &binding.bound, block)?;
    observed.first_in_part()?;
    let whitened = equations.statements.iter().any(|own| own.target == array && own.whitening.is_some());
    let climbs = block.ascent.is_some() && own.support != Support::Simplex;
    let by_elements = climbs || cavi_families::posterior(block.family).holds_elements();
    if by_elements && !whitened {
        return None;
    }
    let slices: Vec<&str> = block.slices[0]
        .iter()
        .map(|letter| symbols.axis(symbols.letter(*letter).axis).name.as_str())
        .collect();
    let why = match own.support {
        Support::Simplex => "its numbers sum to 1",
        _ if whitened => "its elements have one prior",
        _ => "its elements have one factor of q",
    };
    Some(
        DataError::new(format!(
            "`{name}` is held at some positions of {} and not at others, and along these {why}",
            list(&slices)
        ))
        .possible(format!("values at all positions of {}, or at none", list(&slices))),
    )
}

/// Brings the values of one latent to where their densities are finite; what there is to say about it.
fn settle_one(
    model: &Model,
    equations: &Equations,
    binding: &mut Binding,
    array: ArrayId,
) -> Result<Vec<String>, DataError> {
    let symbols = &equations.symbols;
    let own = symbols.array(array);
    let name = own.name.clone();
    let shape = binding.bound.shape(symbols, array);
    let block = equations.block(equations.block_of(array).expect("what is held has a block"));
    let family = cavi_families::posterior(block.family);
    // A flat density has no logarithm in it.
    let is_flat = model.statement_of(array).is_some_and(|own| own.family.parameters().is_empty());
    let reads = |wanted: Elementary| {
        let all = family.statistics().into_iter().chain(family.expectations());
        !is_flat && all.into_iter().any(|own| own.statistic.0.iter().any(|(_, own)| *own == wanted))
    };
    let letters = symbols.slices(array);
    let is_simplex = own.support == Support::Simplex;
    let places: Vec<usize> =
        (0..shape.len()).filter(|place| letters.contains(&own.letters[*place])).collect();
    let at = |binding: &Binding, cell: usize| {
        let labels = positions(&shape, cell).into_iter().zip(&own.letters);
        let labels = labels.map(|(position, letter)| {
            let axis = symbols.letter(*letter).axis;
            format!("{} {}", symbols.axis(axis).name, binding.labels.label(&binding.bound, axis, position))
        });
        let labels: Vec<String> = labels.collect();
        if labels.is_empty() { String::new() } else { format!(" at {}", labels.join(", ")) }
    };
    let Some(BoundArray::Dense { values, observed }) = binding.bound.arrays[array.index()].clone() else {
        return Ok(Vec::new());
    };
    let is_held = |cell: usize| observed.as_ref().is_none_or(|own| own[cell]);
    let mut values = values;
    let mut notes = Vec::new();
    if is_simplex {
        let mut totals: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        let row = |cell: usize| {
            let mut at = positions(&shape, cell);
            places.iter().for_each(|place| at[*place] = 0);
            at
        };
        for cell in (0..values.len()).filter(|cell| is_held(*cell)) {
            *totals.entry(row(cell)).or_default() += values[cell];
        }
        let mut furthest = 0.0_f64;
        for cell in (0..values.len()).filter(|cell| is_held(*cell)) {
            let total = totals[&row(cell)];
            if (total - 1.0).abs() > ROUNDED {
                let others = positions(&shape, cell).into_iter().zip(&own.letters).enumerate();
                let others =
                    others.filter(|(place, _)| !places.contains(place)).map(|(_, (position, letter))| {
                        let axis = symbols.letter(*letter).axis;
                        format!(
                            "{} {}",
                            symbols.axis(axis).name,
                            binding.labels.label(&binding.bound, axis, position)
                        )
                    });
                let others: Vec<String> = others.collect();
                let place =
                    if others.is_empty() { String::new() } else { format!(" at {}", others.join(", ")) };
                return Err(DataError::new(format!(
                    "`{name}` is held at numbers that sum to {total}{place}"
                ))
                .possible("numbers that sum to 1, rounded or not")
                .help(format!(
                    "`--transpose {name}` if the file holds the transpose; or divide them by their sum"
                )));
            }
            furthest = furthest.max((total - 1.0).abs());
            // What sums to 1 stays as it is.
            if (total - 1.0).abs() > EXACT {
                values[cell] /= total;
            }
        }
        if furthest > EXACT {
            notes.push(format!(
                "`{name}` is held at numbers whose sums differ from 1 by up to {furthest:.1e}: they are divided by them"
            ));
        }
    }
    let mut zeros = 0;
    for cell in (0..values.len()).filter(|cell| is_held(*cell)) {
        let value = &mut values[cell];
        let is_log = || reads(Elementary::Log);
        if *value == 0.0 && reads(Elementary::Power(-1))
            || own.support == Support::Unit && (*value == 0.0 || *value == 1.0) && is_log()
        {
            let inside =
                if own.support == Support::Unit { "strictly between 0 and 1" } else { "greater than 0" };
            let near = if *value == 0.0 { "1e-9" } else { "0.999999999" };
            return Err(DataError::new(format!("`{name}` is held at {value}{}", at(binding, cell)))
                .possible(format!("numbers {inside}: its density is taken there"))
                .help(format!("write a number near it, such as {near}")));
        }
        if *value == 0.0 && is_log() {
            *value = LEAST;
            zeros += 1;
        }
    }
    if zeros > 0 {
        notes.push(format!(
            "{zeros} zeros of `{name}` are held at {LEAST:e}, since the logarithms of its values are taken"
        ));
    }
    binding.bound.arrays[array.index()] = Some(BoundArray::Dense { values, observed });
    Ok(notes)
}

/// The coordinates of a cell.
fn positions(shape: &[usize], cell: usize) -> Vec<usize> {
    let mut rest = cell;
    let mut at = vec![0; shape.len()];
    for (at, size) in at.iter_mut().zip(shape).rev() {
        *at = rest % (*size).max(1);
        rest /= (*size).max(1);
    }
    at
}

/// What is held of a latent.
struct Held {
    name: String,
    /// How many entries, of how many.
    count: usize,
    all: usize,
    /// The axis along which whole positions are held and others are free, its held labels and its free ones.
    along: Option<(String, Vec<String>, Vec<String>)>,
}

fn held(symbols: &Symbols, binding: &Binding, array: ArrayId) -> Option<Held> {
    let own = symbols.array(array);
    let bound: &Bound = &binding.bound;
    let BoundArray::Dense { values, observed } = bound.arrays[array.index()].as_ref()? else { return None };
    let shape = bound.shape(symbols, array);
    let is_held = |cell: usize| observed.as_ref().is_none_or(|own| own[cell]);
    let count = (0..values.len()).filter(|cell| is_held(*cell)).count();
    let along = |(dimension, letter): (usize, &LetterId)| {
        let axis = symbols.letter(*letter).axis;
        let mut seen: Vec<Option<bool>> = vec![None; shape[dimension]];
        for cell in 0..values.len() {
            let own = &mut seen[positions(&shape, cell)[dimension]];
            if own.is_some_and(|own| own != is_held(cell)) {
                return None;
            }
            *own = Some(is_held(cell));
        }
        let labels = |wanted: bool| {
            let places = seen.iter().enumerate().filter(|(_, own)| **own == Some(wanted));
            places.map(|(place, _)| binding.labels.label(bound, axis, place).into_owned()).collect()
        };
        Some((symbols.axis(axis).name.clone(), labels(true), labels(false)))
    };
    let along = (count < values.len()).then(|| own.letters.iter().enumerate().find_map(along)).flatten();
    Some(Held { name: own.name.clone(), count, all: values.len(), along })
}

/// At most so many labels are shown.
const SHOWN: usize = 6;

fn shown(labels: &[String]) -> String {
    let more = if labels.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", labels[..labels.len().min(SHOWN)].join(", "))
}

/// What a fit says of what it held, a line a latent.
pub fn lines(problem: &Problem) -> Vec<String> {
    let Problem { model, binding, .. } = problem.as_given();
    let line = |array: &ArrayId| {
        let own = held(&model.symbols, binding, *array)?;
        Some(match own.along {
            Some((axis, held, free)) => format!(
                "held `{}` at {} of {} {axis} ({}), free at {} ({})",
                own.name,
                held.len(),
                held.len() + free.len(),
                shown(&held),
                free.len(),
                shown(&free)
            ),
            None if own.count == own.all => format!("held `{}` as a whole", own.name),
            None => format!("held `{}` at {} of its {} entries", own.name, own.count, own.all),
        })
    };
    binding.fixed.iter().filter_map(line).collect()
}

/// The same as `summary.json` has it: for each latent how many entries are held, of how many, and along an axis which labels.
pub(crate) fn json(problem: &Problem) -> Option<Value> {
    let Problem { model, binding, .. } = problem.as_given();
    let of = |array: &ArrayId| {
        let own = held(&model.symbols, binding, *array)?;
        let along = own.along.map(|(axis, held, free)| json!({"axis": axis, "held": held, "free": free}));
        Some((own.name, json!({"n_held": own.count, "n_entries": own.all, "along": along})))
    };
    let all: Map<String, Value> = binding.fixed.iter().filter_map(of).collect();
    (!all.is_empty()).then_some(Value::Object(all))
}

/// Writes `fixed/NAME.csv`: a column for each axis (groups included), and one of the values, empty where the latent is free.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write(problem: &Problem, directory: &Path) -> Result<(), FileError> {
    let Problem { model, binding, .. } = problem.as_given();
    let symbols = &model.symbols;
    for array in &binding.fixed {
        let own = symbols.array(*array);
        let Some(BoundArray::Dense { values, observed }) = &binding.bound.arrays[array.index()] else {
            continue;
        };
        let shape = binding.bound.shape(symbols, *array);
        // Letters that are ragged in one axis share the columns of their groups.
        let mut columns: Vec<(LetterId, usize, usize)> = Vec::new();
        for (dimension, letter) in own.letters.iter().enumerate() {
            let lineage: Vec<LetterId> = symbols.lineage(*letter).into_iter().rev().collect();
            for (depth, step) in lineage.iter().enumerate() {
                if !columns.iter().any(|(known, ..)| known == step) {
                    columns.push((*step, dimension, depth));
                }
            }
        }
        let several = |letter: LetterId| symbols.axis(symbols.letter(letter).axis).letters.len() > 1;
        let title = |(letter, ..): &(LetterId, usize, usize)| {
            let own = symbols.letter(*letter);
            if several(*letter) { own.name.as_str() } else { symbols.axis(own.axis).name.as_str() }
        };
        let header: Vec<&str> = columns.iter().map(title).chain(["value"]).collect();
        let mut table = CsvText::new(&header);
        for (cell, value) in values.iter().enumerate() {
            let at = positions(&shape, cell);
            let paths: Vec<Vec<String>> = at
                .iter()
                .zip(&own.letters)
                .map(|(place, letter)| {
                    binding.labels.path(symbols, &binding.bound, symbols.letter(*letter).axis, *place)
                })
                .collect();
            let labels = columns.iter().map(|(_, dimension, depth)| Cell::Text(&paths[*dimension][*depth]));
            let is_held = observed.as_ref().is_none_or(|own| own[cell]);
            let class = match own.support {
                Support::Index(axis) => {
                    Some(binding.labels.label(&binding.bound, axis, *value as usize).into_owned())
                }
                _ => None,
            };
            let value = match (&class, is_held) {
                (_, false) => Cell::Empty,
                (Some(label), true) => Cell::Text(label),
                (None, true) => Cell::Number(*value),
            };
            table.row(&labels.chain([value]).collect::<Vec<_>>());
        }
        write_text_atomically(&directory.join(FOLDER).join(format!("{}.csv", own.name)), table.as_str())?;
    }
    Ok(())
}

/// Inputs that hold what the fit in a directory held. The tables there are those that Cavi wrote, so that what was said of the columns of the
/// files that they were read from says nothing of them.
pub(crate) fn hold_as(directory: &Path, inputs: &mut Inputs) {
    inputs.fix = of_directory(directory);
    let is_held = |name: &String| inputs.fix.iter().any(|own| own.name == *name);
    inputs.columns.retain(|own| !is_held(&own.name));
    inputs.transpose.retain(|own| !is_held(own));
}

/// Refuses fits that held different latents, or held them at different values: a factor of q of one is no factor of the other.
pub(crate) fn refuse_others(directories: &[&Path]) -> Result<(), DataError> {
    let held = |directory: &Path| -> BTreeMap<String, Option<Vec<u8>>> {
        let all = of_directory(directory).into_iter();
        let content = |own: &ArrayInput| match &own.source {
            Source::File { path, .. } => std::fs::read(path).ok(),
            _ => None,
        };
        all.map(|own| (own.name.clone(), content(&own))).collect()
    };
    let Some((first, others)) = directories.split_first() else { return Ok(()) };
    let own = held(first);
    for other in others {
        let theirs = held(other);
        let Some(name) = own.keys().chain(theirs.keys()).find(|name| own.get(*name) != theirs.get(*name))
        else {
            continue;
        };
        let (one, two) = (first.display(), other.display());
        let found = match (own.contains_key(name), theirs.contains_key(name)) {
            (true, true) => format!("`{name}` was held at other values in `{two}` than in `{one}`"),
            (true, false) => format!("`{name}` was held in `{one}`, and not in `{two}`"),
            _ => format!("`{name}` was held in `{two}`, and not in `{one}`"),
        };
        return Err(DataError::new(format!("fits that held different latents cannot be averaged: {found}"))
            .possible("fits with the same `--fix`"));
    }
    Ok(())
}

/// What the fit in a directory held, as `--fix` takes it.
fn of_directory(directory: &Path) -> Vec<ArrayInput> {
    let Ok(entries) = std::fs::read_dir(directory.join(FOLDER)) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let input = |path: std::path::PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".csv")?.to_owned();
        Some(ArrayInput { name, group: None, source: Source::File { path, column: None } })
    };
    paths.into_iter().filter_map(input).collect()
}
