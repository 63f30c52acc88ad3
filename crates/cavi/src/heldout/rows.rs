//! New rows of data for an earlier fit: what they share keeps the q of the fit, what is their own is fitted to a part of them, and the
//! other part is predicted.
//!
//! **Rows.** They run along the first axis of the data that the program predicts (of a ragged one its outermost ancestor), unless
//! that axis is also a later one of such data: columns of one file that are the rows of another are no rows. Everything along a
//! row axis, or along an axis that is ragged in one, is a row's own; every other axis keeps the positions and labels of the fit,
//! and every latent without a row axis its factor of q. An array that has a row axis twice (a network) has no rows, for a new row
//! would be a new column too; nor have latents that tie rows together (a simplex over rows, a Gaussian process over them).
//!
//! **Split.** An array whose statement reads latents of rows is split: by [`SHARE`], in each row, as data are held out before a
//! fit; what is given decides the row's own latents, and the rest is scored. An array whose statement reads none is scored as
//! it is.
//!
//! **Several fits.** The rows are bound once, along the axes of the first fit; every fit's q is read along the same axes, by label,
//! so that all of them are given and predict the same entries. Each fits the rows' own latents for itself.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cavi_algebra::{ArrayId, AxisId, BlockId, LetterId, Mode};
use cavi_executor::{Item, Parameters, Schedule, Step};
use cavi_model::{InitSpec, Model, Start, Statement};
use cavi_syntax::Diagnostic;

use super::{Asking, HeldOut, Request, Score, Split, Way, bind_split, hiding, requested, way_of};
use crate::bind::{
    DataError, Frozen, Hide, Inputs, LabelSource, LabelsInput, Part, SetInput, SetValue, Standardised, What,
};
use crate::compile::Compiled;
use crate::error::Error;
use crate::fit::{Control, Fit, Progress, Settings};
use crate::posterior::safe;
use crate::prepare::Problem;

/// The share of each row that is scored.
pub const SHARE: f64 = 0.5;

/// New rows with what is theirs fitted, and the part of them that is to be scored.
#[derive(Debug)]
pub struct Rows {
    /// The program with the part that was given.
    pub problem: Problem,
    /// The other part.
    pub held: HeldOut,
    /// The factors of q for each directory: those of its fit, and those of the new rows given it.
    pub parameters: Vec<Parameters>,
    /// For each directory the fit of the rows' own latents; empty where they have none.
    pub fits: Vec<Fit>,
    /// How many entries were left out for a label that the fit does not have.
    pub dropped: usize,
}

impl Rows {
    /// How well the average of the predictions of the fits predicts the part that is to be scored, one score an array.
    ///
    /// # Errors
    /// As [`super::score`].
    pub fn score(&self, seed: u64, threads: usize) -> Result<Vec<Score>, Error> {
        let parameters: Vec<&Parameters> = self.parameters.iter().collect();
        super::score_averaged(&self.problem, &parameters, &self.held, seed, threads)
    }
}

/// What is hidden of each array, and how it is split; of rows of weight with the share.
type Splits = (Vec<Hide>, Vec<(Way, f64)>);

/// What an earlier fit fixes for new rows.
struct Earlier {
    directory: PathBuf,
    /// The inputs with its sizes and labels.
    inputs: Inputs,
    frozen: Frozen,
    /// The labels of each axis that keeps its positions, in its order, of a ragged one after those of their groups.
    axes: BTreeMap<AxisId, Vec<String>>,
}

/// The axes of a program that rows run along.
struct RowAxes<'m> {
    model: &'m Model,
    axes: BTreeSet<AxisId>,
}

/// Binds new rows to the program of earlier fits, splits them and fits their own latents given each.
///
/// # Errors
/// Programs without rows, data that do not fit the axes of the earlier fits, fits along other axes than the first, a fit that
/// fails.
///
/// # Panics
/// Without a directory.
pub fn fit(
    mut compiled: Compiled,
    inputs: &Inputs,
    directories: &[&Path],
    given: &[Request],
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Rows, Error> {
    let at = |diagnostic: Box<Diagnostic>| Error::at(*diagnostic, &compiled.source);
    let rows = RowAxes::of(&compiled.model).map_err(at)?;
    let own: BTreeSet<ArrayId> = rows.own_latents().map_err(at)?;
    let asked = requested(&compiled.model, "--given", given)?;
    let (hide, ways) = rows.split(&own, asked)?;
    let (first, others) = directories.split_first().expect("rows are those of at least one fit");
    let earlier = rows.frozen(inputs, first)?;
    for other in others {
        let other = rows.frozen(inputs, other)?;
        rows.refuse_other_axes(&earlier, &other)?;
        rows.refuse_other_scales(&earlier, &other)?;
    }
    let Earlier { inputs, frozen, .. } = earlier;
    let seed = settings.seed.or(compiled.model.fit.seed).unwrap_or(0);
    // Only starts of the latents that are fitted here are kept, and no start from data, since those were computed
    // from the data of the earlier fit.
    let kept = |line: &InitSpec| own.contains(&line.target) && !matches!(line.start, Start::FromData { .. });
    compiled.model.init.retain(kept);
    let part = Part { hide: &hide, seed, frozen: Some(&frozen) };
    let Split { problem, held, dropped } = bind_split(compiled, &inputs, &part, &ways)?;
    let (mut parameters, mut fits) = (Vec::new(), Vec::new());
    for (number, directory) in directories.iter().enumerate() {
        let mut callback = |progress: &Progress| {
            let (restart, restarts) = (number as u64, directories.len() as u64);
            callback(&Progress { restart, restarts, ..*progress })
        };
        let (own, fit) = fit_own(&problem, directory, &own, settings, &mut callback)?;
        parameters.push(own);
        let stopped = fit.as_ref().is_some_and(|fit| fit.interrupted || fit.failure.is_some());
        fits.extend(fit);
        // What was not fitted to its end is not scored, and the others need not be fitted.
        if stopped {
            break;
        }
    }
    Ok(Rows { problem, held, parameters, fits, dropped })
}

/// The q of the fit for what is shared, and a fit of what is not.
fn fit_own(
    problem: &Problem,
    directory: &Path,
    own: &BTreeSet<ArrayId>,
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Result<(Parameters, Option<Fit>), Error> {
    let Problem { source, model, equations, binding, .. } = problem;
    // Entries of new data that are missing are their own as well.
    let is_own = |id: &BlockId| {
        let members = &equations.block(*id).members;
        members.iter().any(|member| own.contains(member) || binding.bound.arrays[member.index()].is_some())
    };
    for block in &equations.blocks {
        let count = block.members.iter().filter(|member| own.contains(member)).count();
        if count > 0 && count < block.members.len() {
            let names: Vec<&str> =
                block.members.iter().map(|member| model.symbols.array(*member).name.as_str()).collect();
            let names = crate::bind::list(&names);
            return Err(DataError::new(format!(
                "one factor of q holds {names}: those of rows cannot be fitted alone"
            ))
            .help("take the `q(...)` of what rows have apart from that of what they share")
            .into());
        }
    }
    let wanted = |id: BlockId| !is_own(&id) && equations.block(id).mode != Mode::Implicit;
    let given = crate::init::read_blocks(problem, directory, &wanted)?;
    let schedule = match &settings.schedule {
        Some(schedule) => schedule.clone(),
        None => crate::schedule::of_program(model, equations).schedule,
    };
    let items = only(&schedule.items, &is_own);
    if items.is_empty() {
        let seed = settings.seed.unwrap_or(0);
        let start = crate::start::start(problem.as_given(), Some(&given), seed)
            .map_err(|diagnostics| Error::Program { diagnostics, source: Arc::clone(source) })?;
        return Ok((start.parameters, None));
    }
    let settings = Settings {
        schedule: Some(Schedule { items }),
        warmup: Some(Vec::new()),
        given: Some(given),
        restarts: Some(1),
        ..settings.clone()
    };
    let fit = crate::fit::fit(problem, &settings, callback)?;
    Ok((fit.parameters.clone(), Some(fit)))
}

/// The items of a schedule, as far as they update such blocks.
fn only(items: &[Item], is_own: &dyn Fn(&BlockId) -> bool) -> Vec<Item> {
    let mut kept = Vec::new();
    for item in items {
        let step = match &item.step {
            Step::Block(block) if is_own(block) => Step::Block(*block),
            Step::Block(_) => continue,
            Step::Group(members) => Step::Group(only(members, is_own)),
            Step::Sequence(members) => Step::Sequence(only(members, is_own)),
        };
        let empty = matches!(&step, Step::Group(members) | Step::Sequence(members) if members.is_empty());
        if !empty {
            kept.push(Item { step, ..item.clone() });
        }
    }
    kept
}

impl<'m> RowAxes<'m> {
    fn of(model: &'m Model) -> Result<RowAxes<'m>, Box<Diagnostic>> {
        let symbols = &model.symbols;
        let root = |letter: LetterId| {
            let lineage = symbols.lineage(letter);
            symbols.letter(lineage[lineage.len() - 1]).axis
        };
        let mut axes = BTreeSet::new();
        let mut later = BTreeSet::new();
        let observed = || model.statements.iter().filter(|statement| statement.observed);
        for statement in observed() {
            let letters = &symbols.array(statement.target).letters;
            axes.extend(letters.first().map(|letter| root(*letter)));
            later.extend(letters.iter().skip(1).map(|letter| root(*letter)));
        }
        let all = axes.clone();
        axes.retain(|axis| !later.contains(axis));
        if let (true, Some(axis)) = (axes.is_empty(), all.first()) {
            let name = &symbols.axis(*axis).name;
            let twice = observed().find(|statement| {
                symbols
                    .array(statement.target)
                    .letters
                    .iter()
                    .filter(|letter| root(**letter) == *axis)
                    .count()
                    > 1
            });
            let statement =
                twice.or_else(|| observed().next()).expect("an axis of data is that of a statement");
            let data = &symbols.array(statement.target).name;
            return Err(Diagnostic::error(
                "E0903",
                format!(
                    "`{data}` has no rows of its own: its rows and its columns are both of axis `{name}`"
                ),
            )
            .at(statement.span, "a new row would be a new column too")
            .possible("data whose first axis is no other axis of data, as documents by words")
            .help(format!(
                "to score entries of `{data}`, hold them out of the fit: `cavi fit ... --heldout {data}=0.1`"
            ))
            .into());
        }
        Ok(RowAxes { model, axes })
    }

    /// Whether an axis is one of rows, or ragged in one.
    fn is_row(&self, axis: AxisId) -> bool {
        let parents = std::iter::successors(Some(axis), |axis| self.model.symbols.axis(*axis).parent);
        parents.into_iter().any(|axis| self.axes.contains(&axis))
    }

    fn has_rows(&self, array: ArrayId) -> bool {
        let symbols = &self.model.symbols;
        symbols.array(array).letters.iter().any(|letter| self.is_row(symbols.letter(*letter).axis))
    }

    /// The latents of rows; an error where one ties rows together.
    fn own_latents(&self) -> Result<BTreeSet<ArrayId>, Box<Diagnostic>> {
        let symbols = &self.model.symbols;
        let mut own = BTreeSet::new();
        for statement in &self.model.statements {
            let array = symbols.array(statement.target);
            let over_rows =
                statement.slices.iter().any(|letter| self.axes.contains(&symbols.letter(*letter).axis));
            if over_rows {
                let name = &array.name;
                return Err(Diagnostic::error(
                    "E0903",
                    format!("`{name}` has one distribution over all rows, of which no new row has a part"),
                )
                .at(statement.span, "a slice along the rows")
                .possible("rows that are independent given what they share")
                .into());
            }
            if !statement.observed && self.has_rows(statement.target) {
                own.insert(statement.target);
            }
        }
        Ok(own)
    }

    /// What is hidden of each array of new rows.
    fn split(&self, own: &BTreeSet<ArrayId>, asked: Vec<(&Statement, Asking)>) -> Result<Splits, DataError> {
        let symbols = &self.model.symbols;
        let mut asked = asked;
        let (mut hide, mut splits) = (Vec::new(), Vec::new());
        for statement in self.model.statements.iter().filter(|own| own.observed) {
            if !self.has_rows(statement.target) {
                continue;
            }
            let mut reads = false;
            for argument in statement.arguments.iter().flatten() {
                argument.value.visit_values(&mut |array, _| reads |= own.contains(&array));
            }
            let place = asked.iter().position(|(other, _)| other.target == statement.target);
            let given = place.map(|place| asked.remove(place).1);
            let by_file = given.is_some();
            // The counts of the first part may be given for what is thinned.
            let split = way_of(self.model, statement, by_file && !self.thins(statement));
            let (what, share) = match (reads, given) {
                (false, _) => (What::Nothing, 0.0),
                (true, Some(Asking::Files(files))) => (What::AllBut(files), 0.0),
                (true, None | Some(Asking::Share(_))) => match split {
                    Way::Weights(_) => (What::Nothing, SHARE),
                    Way::Units | Way::Entries => (What::Share(SHARE), 0.0),
                },
            };
            let split = if reads { split } else { Way::Entries };
            let mut own = hiding(self.model, statement, what, split)?;
            own.rows = symbols.array(statement.target).letters.iter().find_map(|letter| {
                let axes = std::iter::successors(Some(symbols.letter(*letter).axis), |axis| {
                    symbols.axis(*axis).parent
                });
                axes.into_iter().find(|axis| self.axes.contains(axis)).map(|axis| (*letter, axis))
            });
            hide.push(own);
            splits.push((split, share));
        }
        if let Some((statement, _)) = asked.first() {
            let name = &symbols.array(statement.target).name;
            return Err(DataError::new(format!("`--given {name}`: `{name}` has no new rows")));
        }
        Ok((hide, splits))
    }

    /// Whether counts are thinned where a fraction is asked for.
    fn thins(&self, statement: &Statement) -> bool {
        way_of(self.model, statement, false) == Way::Units
    }

    /// The axes that keep their positions, as labels and sizes of the earlier fit, and the scale of its data.
    fn frozen(&self, inputs: &Inputs, directory: &Path) -> Result<Earlier, Vec<DataError>> {
        let symbols = &self.model.symbols;
        let mut inputs = inputs.clone();
        let mut frozen = Frozen::default();
        let mut problems = Vec::new();
        // Sizes of rows were those of the rows of the fit.
        inputs.set.retain(|own| {
            let axis = symbols.axes.iter().position(|axis| axis.name == own.name).map(AxisId::from);
            axis.is_none_or(|axis| self.is_row(axis))
        });
        let mut groups: BTreeMap<AxisId, Vec<String>> = BTreeMap::new();
        for (index, axis) in symbols.axes.iter().enumerate() {
            let id = AxisId::from(index);
            if self.is_row(id) {
                frozen.rows.insert(id);
                continue;
            }
            let paths: Vec<(Option<String>, String)> = match axis.parent {
                None => vec![(None, format!("{}.txt", axis.name))],
                Some(parent) => {
                    let all = groups.get(&parent).cloned().unwrap_or_default();
                    let file = |path: &String| {
                        let safe: Vec<String> = path.split('/').map(safe).collect();
                        format!("{}/{}.txt", axis.name, safe.join("/"))
                    };
                    all.iter().map(|path| (Some(path.clone()), file(path))).collect()
                }
            };
            let mut own_groups = Vec::new();
            for (group, file) in paths {
                let path = directory.join("axes").join(file);
                let labels = match cavi_files::read_labels(&path) {
                    Ok(labels) => labels,
                    Err(error) => {
                        problems.push(error.into());
                        continue;
                    }
                };
                let above = group.clone().map_or_else(String::new, |group| format!("{group}/"));
                own_groups.extend(labels.iter().map(|label| format!("{above}{label}")));
                let known: HashSet<String> = labels.iter().cloned().collect();
                frozen.labels.entry(id).or_default().insert(group.clone().unwrap_or_default(), known);
                inputs.set.push(SetInput {
                    name: axis.name.clone(),
                    group: group.clone(),
                    value: SetValue::Number(labels.len() as f64),
                });
                inputs.labels.retain(|own| own.axis != axis.name || own.group != group);
                let source = LabelSource::List(path.display().to_string(), labels);
                inputs.labels.push(LabelsInput { axis: axis.name.clone(), group, source });
            }
            groups.insert(id, own_groups);
        }
        for (index, array) in symbols.arrays.iter().enumerate() {
            let id = ArrayId::from(index);
            let read =
                |part: &str, letter: Option<LetterId>| -> Result<Option<(LetterId, Vec<f64>)>, DataError> {
                    let Some(letter) = letter else { return Ok(None) };
                    // Numbers of a row of its own are those of the new row.
                    let others = array.letters.iter().filter(|own| **own != letter);
                    if others.into_iter().any(|own| self.is_row(symbols.letter(*own).axis)) {
                        return Ok(None);
                    }
                    let path = directory.join("standardised").join(format!("{}.{part}.npy", array.name));
                    Ok(Some((letter, cavi_files::read_npy(&path)?.values)))
                };
            match (read("center", array.center), read("scale", array.scale)) {
                (Ok(None), Ok(None)) => {}
                (Ok(centre), Ok(scale)) => {
                    frozen.standardised.push(Standardised { array: id, centre, scale })
                }
                (centre, scale) => problems.extend([centre.err(), scale.err()].into_iter().flatten()),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Earlier { directory: directory.to_owned(), inputs, frozen, axes: groups })
    }

    /// Refuses to average fits along other axes: with the axis, and the sizes or the first label that only one of them has.
    fn refuse_other_axes(&self, first: &Earlier, other: &Earlier) -> Result<(), DataError> {
        for (axis, labels) in &first.axes {
            let theirs = &other.axes[axis];
            let name = &self.model.symbols.axis(*axis).name;
            let (one, two) = (first.directory.display(), other.directory.display());
            let wrong = |found: String| {
                Err(DataError::new(format!(
                    "fits along different axes cannot be averaged: axis `{name}` has {found}"
                ))
                .possible("fits whose shared axes have the same labels, in any order")
                .help("fit all of them to the same data, as `cavi fit ... --restarts 5 --keep all` does"))
            };
            if labels.len() != theirs.len() {
                return wrong(format!("size {} in `{one}` and {} in `{two}`", labels.len(), theirs.len()));
            }
            let known: HashSet<&String> = theirs.iter().collect();
            if let Some(label) = labels.iter().find(|label| !known.contains(label)) {
                return wrong(format!("`{label}` in `{one}`, which `{two}` lacks"));
            }
        }
        Ok(())
    }

    /// Refuses to average fits to data that were standardised differently: their densities are those of different numbers.
    fn refuse_other_scales(&self, first: &Earlier, other: &Earlier) -> Result<(), DataError> {
        for (own, theirs) in first.frozen.standardised.iter().zip(&other.frozen.standardised) {
            let same = self.by_label(own.array, &own.centre, &first.axes)
                == self.by_label(theirs.array, &theirs.centre, &other.axes)
                && self.by_label(own.array, &own.scale, &first.axes)
                    == self.by_label(theirs.array, &theirs.scale, &other.axes);
            if !same {
                let name = &self.model.symbols.array(own.array).name;
                let (one, two) = (first.directory.display(), other.directory.display());
                return Err(DataError::new(format!(
                    "fits to different data cannot be averaged: `{name}` was standardised by other numbers in `{two}` than in \
                     `{one}`"
                ))
                .possible("fits whose `standardised/` agree"));
            }
        }
        Ok(())
    }

    /// Numbers of an array in the order of the labels that they belong to.
    fn by_label(
        &self,
        array: ArrayId,
        numbers: &Option<(LetterId, Vec<f64>)>,
        axes: &BTreeMap<AxisId, Vec<String>>,
    ) -> Vec<(Vec<String>, f64)> {
        let symbols = &self.model.symbols;
        let Some((over, values)) = numbers else { return Vec::new() };
        let mut places: Vec<Vec<String>> = vec![Vec::new()];
        for letter in &symbols.array(array).letters {
            let own = symbols.letter(*letter);
            // Over a ragged letter there is a number for each group.
            let axis = if letter == over { symbols.axis(own.axis).parent } else { Some(own.axis) };
            let labels = axis.and_then(|axis| axes.get(&axis));
            let Some(labels) = labels else { continue };
            let with =
                |place: &Vec<String>, label: &String| [&place[..], std::slice::from_ref(label)].concat();
            places = places
                .iter()
                .flat_map(|place| labels.iter().map(|label| with(place, label)).collect::<Vec<_>>())
                .collect();
        }
        let mut all: Vec<(Vec<String>, f64)> = places.into_iter().zip(values.iter().copied()).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}
