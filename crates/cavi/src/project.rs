//! Latents of new rows of data, given an earlier fit: what rows share keeps its q of the fit, and what is a row's own is fitted.
//!
//! **Which axis.** One that grows: latents run along it, or along an axis that is ragged in it, and no statement ties its
//! positions together (`crates/cavi/src/rows/`). Documents of a topic model grow, and rows as well as columns of a matrix that is factorised;
//! its words do not where a topic is one distribution over all of them. Where several axes can grow, the data say which one did:
//! the one with labels that the fit does not have, or of another size. Where they do not say, it is the axis of rows: the first one of the
//! data that can grow.
//!
//! **What is fitted.** The blocks of latents along that axis, by the steps that a sweep of the fit has for them. All other
//! factors of q are those of the fit, as distributions: expectations of their logarithms and of their squares enter, not means alone. So
//! rows of the fit come back where its sweeps left them. Where a fraction of counts at a rate was held out of the fit, those of new rows
//! are whole, and have their rate at this scale.
//!
//! **What is not given.** Data that stand on the left of their statement alone may be left out: a view that new samples lack. All of
//! their entries are missing then, and say nothing. Data that other statements read, and that have a factor of q where they are missing, may be left
//! out too: labels of a classifier. They are what is found of the new rows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cavi_algebra::{ArrayId, ArrayKind, AxisId, BlockId, Equations, Mode, Symbols};
use cavi_executor::BoundArray;
use cavi_model::{InitSpec, Model, Start};
use cavi_syntax::Diagnostic;

use crate::batch::Batch;
use crate::bind::grown::{Seen, seen};
use crate::bind::{Binding, DataError, Inputs, Part, bind_in_part};
use crate::compile::Compiled;
use crate::directory::Stored;
use crate::error::Error;
use crate::fit::{Control, Fit, Progress, SWEEPS, Settings};
use crate::heldout::exposure;
use crate::posterior::NamedArray;
use crate::prepare::{Problem, derive_again, masks, prepare};
use crate::rows::{self, Earlier, RowAxes, fit_own, with_constants};

mod tables;

/// The relative change of the bound under which a projection stops, unless told otherwise: what is shared stands still, so sweeps
/// are cheap, and the bound is flat about its maximum.
pub const TOLERANCE: f64 = 1e-10;

/// New rows, bound to the program of an earlier fit.
#[derive(Debug)]
pub struct NewRows {
    /// The program with the new rows.
    pub problem: Problem,
    /// The axis that grew.
    pub axis: String,
    /// How many rows there are.
    pub count: usize,
    /// How many entries were left out for a label that the fit does not have.
    pub dropped: usize,
    /// Data that were not given, and count as missing.
    pub not_given: Vec<String>,
    /// The other axes that could have grown, where the data do not say which one did.
    pub others: Vec<String>,
    directory: PathBuf,
    own: BTreeSet<ArrayId>,
    /// The axes of rows.
    axes: BTreeSet<AxisId>,
}

/// Latents of new rows.
#[derive(Debug)]
pub struct Projection {
    /// The rows.
    pub rows: NewRows,
    /// The fit of their latents.
    pub fit: Fit,
}

/// Binds new rows to the program of the fit in a directory. `compiled` is this program, with the constants of the fit where `inputs`
/// give no others.
///
/// # Errors
/// A program that is not the one that was fitted; an axis that cannot grow, with the statement for which it cannot; data that do not fit the axes of the fit, or of which no label
/// is one of the fit's.
pub fn bind(
    compiled: Compiled,
    inputs: &Inputs,
    stored: &Stored,
    directory: &Path,
    axis: Option<&str>,
) -> Result<NewRows, Error> {
    if stored.model_hash.as_ref().is_some_and(|hash| *hash != compiled.source.hash()) {
        return Err(DataError::new(format!(
            "`{}` is another program than the one that was fitted",
            stored.file_name
        ))
        .possible("the directory of a fit as it was written")
        .into());
    }
    let earlier = &stored.set;
    if inputs.data.is_empty() {
        compiled.refuse_unbound(inputs)?;
    }
    // Labels that are not given have a factor of q as missing ones, which may be all that new rows have.
    let (mut compiled, not_given) = with_missing(compiled, inputs)?;
    let at = |diagnostic: Box<Diagnostic>| Error::at(*diagnostic, &compiled.source);
    let growing = match axis {
        Some(name) => Growing::named(&compiled, name)?.map_err(at)?,
        None => Growing::find(&compiled, &with_constants(inputs, earlier, |_| true), directory)?,
    };
    let Growing { axis, own, axes, others } = growing;
    let names: Vec<String> =
        not_given.iter().map(|id| compiled.model.symbols.array(*id).name.clone()).collect();

    let rows = RowAxes { model: &compiled.model, axes };
    let inputs = rows.with_constants(inputs, earlier);
    let Earlier { inputs, frozen, .. } = rows.frozen(&inputs, directory)?;
    let fitted: BTreeSet<ArrayId> = own.iter().copied().chain(rows.own_data()).collect();
    let (model, axes) = (rows.without_sizes(), rows.axes);
    compiled.model = model;
    // Starts from data were computed from the data of the fit.
    let kept = |line: &InitSpec| own.contains(&line.target) && !matches!(line.start, Start::FromData { .. });
    compiled.model.init.retain(kept);
    let part = Part { frozen: Some(&frozen), unobserved: &not_given, ..Part::default() };
    let mut bound = bind_in_part(&compiled.model, &inputs, &part)?;
    bound.binding.notes.extend(rows_of_the_fit(&compiled.model.symbols, &bound.binding, axis, directory)?);
    let shares = exposure::shares(&compiled.model, &stored.summary);
    let compiled = exposure::exposed(compiled, &exposure::of_whole(&shares))?;
    let problem = prepared(compiled, bound.binding, &fitted, directory)?;
    let name = problem.model.symbols.axis(axis).name.clone();
    let count = problem.binding.bound.axes[axis.index()].size;
    let rows = NewRows {
        problem,
        axis: name,
        count,
        dropped: bound.dropped,
        not_given: names,
        others,
        directory: directory.to_owned(),
        own: fitted,
        axes,
    };
    rows.refuse_unknown()?;
    Ok(rows)
}

/// That new rows have labels of rows of the fit. Nothing that the fit knows of these is used: a row is told apart by its data alone.
fn rows_of_the_fit(
    symbols: &Symbols,
    binding: &Binding,
    axis: AxisId,
    directory: &Path,
) -> Result<Option<String>, Error> {
    const FEW: usize = 3;
    let name = &symbols.axis(axis).name;
    let path = directory.join("axes").join(format!("{name}.txt"));
    // What rows share is enough of a fit.
    let is_known = symbols.axis(axis).parent.is_none() && path.is_file();
    let Some(labels) = binding.labels.axes[axis.index()].as_ref().filter(|_| is_known) else {
        return Ok(None);
    };
    let earlier = cavi_files::read_labels(&path)?;
    // Numbers that stand for positions name no row.
    if earlier.iter().enumerate().all(|(place, own)| *own == place.to_string()) {
        return Ok(None);
    }
    let earlier: BTreeSet<&String> = earlier.iter().collect();
    let known: Vec<&String> = labels.iter().filter(|own| earlier.contains(own)).collect();
    let shown: Vec<String> = known.iter().take(FEW).map(|own| format!("`{own}`")).collect();
    let more = if known.len() > FEW { format!(" and {} others", known.len() - FEW) } else { String::new() };
    Ok((!known.is_empty()).then(|| {
        format!(
            "{}{more} along `{name}` are labels of the fit too: here they are rows of their own, and their q is that of the new data alone",
            shown.join(", ")
        )
    }))
}

/// The problem of new rows. Where none of their entries are missing, one covariance serves all of them; but if entries of the fit were, its
/// covariances of what is shared may differ from position to position, and the layout of these is kept.
fn prepared(
    compiled: Compiled,
    binding: Binding,
    own: &BTreeSet<ArrayId>,
    directory: &Path,
) -> Result<Problem, Error> {
    let masked = Binding { new_rows: true, ..binding };
    if !masks(&compiled.model.symbols, &masked.bound) {
        return prepare(compiled, masked);
    }
    let problem = prepare(compiled.clone(), Binding { new_rows: false, ..masked.clone() })?;
    let shared = |id: BlockId| {
        let block = problem.as_given().equations.block(id);
        block.mode != Mode::Implicit && !block.members.iter().any(|member| own.contains(member))
    };
    match crate::init::read_blocks(&problem, directory, &shared) {
        Ok(_) => Ok(problem),
        Err(_) => prepare(compiled, masked),
    }
}

/// The program in which data that are not given may be missing, and which data these are.
///
/// # Errors
/// Data that are not given and that the program needs.
fn with_missing(compiled: Compiled, inputs: &Inputs) -> Result<(Compiled, Vec<ArrayId>), Error> {
    let symbols = &compiled.model.symbols;
    let is_given = |name: &str| inputs.data.iter().any(|own| own.name == name);
    let lacking: Vec<ArrayId> = compiled
        .required_data()
        .into_iter()
        .filter(|name| !is_given(name))
        .filter_map(|name| symbols.find(name))
        .collect();
    let needed: Vec<DataError> =
        lacking.iter().filter(|id| !may_lack(&compiled.model, **id)).map(|id| needed(symbols, *id)).collect();
    if !needed.is_empty() {
        return Err(needed.into());
    }
    if lacking.iter().all(|id| symbols.array(*id).absent.missing) {
        without_factor(&compiled.model, &compiled.equations, &lacking)?;
        return Ok((compiled, lacking));
    }
    let mut model = compiled.model.clone();
    for id in &lacking {
        let absent = &mut model.symbols.arrays[id.index()].absent;
        (absent.missing, absent.zero) = (true, false);
    }
    let equations = derive_again(&model).map_err(|errors| {
        let name = &symbols.array(lacking[0]).name;
        let first =
            Diagnostic::error("E0901", format!("`{name}` is not given, and the program needs all of it"))
                .at(model.array_spans[lacking[0].index()], "data that are not given are missing ones")
                .help("what is wrong with missing entries follows");
        let diagnostics = std::iter::once(first).chain(errors).collect();
        Error::Program { diagnostics, source: std::sync::Arc::clone(&compiled.source) }
    })?;
    without_factor(&model, &equations, &lacking)?;
    Ok((Compiled { model, equations, ..compiled }, lacking))
}

fn needed(symbols: &Symbols, id: ArrayId) -> DataError {
    crate::bind::unbound(symbols, id).possible(
        "to leave out data that stand on the left of their statement alone, entry by entry, or that have a factor of q where they are missing",
    )
}

/// Refuses data that are not given, are read by other statements, and have no factor of q where they are missing.
fn without_factor(model: &Model, equations: &Equations, lacking: &[ArrayId]) -> Result<(), Error> {
    let has_none = |id: &&ArrayId| is_read(model, **id) && equations.block_of(**id).is_none();
    let all: Vec<DataError> = lacking.iter().filter(has_none).map(|id| needed(&model.symbols, *id)).collect();
    if all.is_empty() { Ok(()) } else { Err(all.into()) }
}

/// Whether a program can do without some data: they have a statement, and may have missing entries, or each entry has a distribution of its own.
fn may_lack(model: &Model, id: ArrayId) -> bool {
    let statement = model.statements.iter().find(|own| own.observed && own.target == id);
    statement.is_some_and(|own| model.symbols.array(id).absent.missing || own.slices.is_empty())
}

/// Whether a statement, or data that are computed, read some data.
fn is_read(model: &Model, id: ArrayId) -> bool {
    let symbols = &model.symbols;
    let mut is_read = false;
    let mut read = |array: ArrayId, _: &[cavi_algebra::Subscript]| is_read |= array == id;
    model
        .statements
        .iter()
        .flat_map(|own| own.arguments.iter().flatten())
        .for_each(|own| own.value.visit_values(&mut read));
    symbols
        .arrays
        .iter()
        .filter_map(|own| own.value.as_ref())
        .for_each(|value| value.visit_values(&mut read));
    is_read
}

/// An axis that grows, what is its rows' own, and along which axes rows run.
struct Growing {
    axis: AxisId,
    own: BTreeSet<ArrayId>,
    axes: BTreeSet<AxisId>,
    /// Other axes that could have grown.
    others: Vec<String>,
}

impl Growing {
    /// Along the axis of this name.
    fn named(compiled: &Compiled, name: &str) -> Result<Result<Growing, Box<Diagnostic>>, DataError> {
        let symbols = &compiled.model.symbols;
        let place = symbols.axes.iter().position(|axis| axis.name == name);
        let Some(place) = place else {
            let known: Vec<&str> = symbols.axes.iter().map(|axis| axis.name.as_str()).collect();
            let message = format!("`--axis {name}`: the program has no axis of this name");
            return Err(DataError::unknown(message, name, &known));
        };
        Ok(Growing::along(compiled, AxisId::from(place)))
    }

    /// Along an axis; an error where it cannot grow, with the reason.
    fn along(compiled: &Compiled, axis: AxisId) -> Result<Growing, Box<Diagnostic>> {
        let Compiled { model, equations, .. } = compiled;
        let symbols = &model.symbols;
        let name = &symbols.axis(axis).name;
        let refused = |message: String, label: &str| {
            Diagnostic::error("E0904", message).at(model.axis_spans[axis.index()], label)
        };
        let rows = RowAxes::along(model, axis);
        let is_data = |array: &ArrayId| {
            let own = symbols.array(*array);
            own.kind == ArrayKind::Data && own.value.is_none()
        };
        let along = |array: &ArrayId| rows.has_rows(*array);
        if !(0..symbols.arrays.len()).map(ArrayId::from).filter(is_data).any(|array| along(&array)) {
            let message = format!("axis `{name}` cannot grow: no data run along it");
            let mut axes: Vec<&str> = Vec::new();
            for array in (0..symbols.arrays.len()).map(ArrayId::from).filter(is_data) {
                for letter in &symbols.array(array).letters {
                    let own = &symbols.axis(symbols.letter(*letter).axis).name;
                    if !axes.contains(&own.as_str()) {
                        axes.push(own);
                    }
                }
            }
            return Err(refused(message, "its size is the program's")
                .possible(format!("axes of data: {}", axes.join(", ")))
                .help(format!("for another number of positions fit anew: `cavi fit ... --set {name}=SIZE`"))
                .into());
        }
        let own = rows.own_latents().map_err(|mut tie| {
            tie.code = "E0904";
            tie.message = format!("axis `{name}` cannot grow: {}", tie.message);
            tie
        })?;
        let stored = |id: &BlockId| equations.block(*id).mode != Mode::Implicit;
        let has_factor = |array: &&ArrayId| equations.block_of(**array).is_some_and(|id| stored(&id));
        // Missing entries of the data of rows may have a factor too.
        let of_data: Vec<ArrayId> = rows.own_data().collect();
        if !own.iter().chain(&of_data).any(|array| has_factor(&array)) {
            let message =
                format!("axis `{name}` cannot grow: no latent with a factor of q of its own runs along it");
            let refused = refused(message, "a new position has nothing of its own");
            let predicted = model.statements.iter().find(|own| own.observed && along(&own.target));
            // What is predicted of such rows is known by what they share alone.
            return Err(match predicted {
                Some(statement) => refused.help(predicts(model, statement.target)),
                None => refused,
            }
            .into());
        }
        let mixed = equations.blocks.iter().find(|block| {
            let count = block.members.iter().filter(|member| own.contains(member)).count();
            count > 0 && count < block.members.len()
        });
        if let Some(block) = mixed {
            let names: Vec<&str> =
                block.members.iter().map(|own| symbols.array(*own).name.as_str()).collect();
            let names = crate::bind::list(&names);
            let message = format!(
                "axis `{name}` cannot grow: one factor of q holds {names}, and not all of them run along it"
            );
            let refused = refused(message, "rows have no factor of their own");
            return Err(refused
                .help("take the `q(...)` of what rows have apart from that of what they share")
                .into());
        }
        let fixed = own.iter().find(|array| {
            let is_fixed =
                equations.block_of(**array).is_some_and(|id| equations.block(id).mode == Mode::Fixed);
            is_fixed && !model.init.iter().any(|line| line.target == **array)
        });
        if let Some(array) = fixed {
            let fixed = &symbols.array(*array).name;
            let message =
                format!("axis `{name}` cannot grow: `{fixed}` is `fixed`, and new rows have no values of it");
            return Err(refused(message, "runs along this axis")
                .help(format!("an `init` line for `{fixed}`"))
                .into());
        }
        Ok(Growing { axis, own, axes: rows.axes, others: Vec::new() })
    }

    /// Along the axis that the data say, else the first one of the data that can grow.
    fn find(compiled: &Compiled, inputs: &Inputs, directory: &Path) -> Result<Growing, Error> {
        let symbols = &compiled.model.symbols;
        let mut growing: Vec<Growing> = Vec::new();
        let mut refused = Vec::new();
        for axis in in_order(&compiled.model) {
            match Growing::along(compiled, axis) {
                Ok(own) => growing.push(own),
                Err(diagnostic) => refused.push(*diagnostic),
            }
        }
        if growing.len() > 1 {
            let candidates: BTreeSet<AxisId> = growing.iter().map(|own| own.axis).collect();
            let none = RowAxes { model: &compiled.model, axes: BTreeSet::new() };
            let earlier = none.frozen(&Inputs::default(), directory)?.axes;
            let names = none_above(symbols, earlier);
            let seen = seen(&compiled.model, inputs, &names)?;
            let says: Vec<AxisId> = said(&candidates, &seen, symbols);
            if let [axis] = says.as_slice() {
                growing.retain(|own| own.axis == *axis);
            } else if !says.is_empty() {
                growing.retain(|own| says.contains(&own.axis));
            }
        }
        let others = growing.iter().skip(1).map(|own| symbols.axis(own.axis).name.clone()).collect();
        match growing.into_iter().next() {
            Some(first) => Ok(Growing { others, ..first }),
            None if symbols.axes.is_empty() => {
                Err(DataError::new("there are no new rows: the program has no axis")
                    .help("`cavi score DIR --data NAME=FILE` says how well the fit predicts other data")
                    .into())
            }
            // All reasons, so that each axis has one.
            None => {
                Err(Error::Program { diagnostics: refused, source: std::sync::Arc::clone(&compiled.source) })
            }
        }
    }
}

/// How new rows are predicted of which nothing is to be fitted.
fn predicts(model: &Model, data: ArrayId) -> String {
    let array = model.symbols.array(data);
    let (name, missing) = (&array.name, array.absent.missing);
    let (all, without) = match missing {
        true => ("", format!("those of `{name}` without a value are predicted")),
        false => (" --all", format!("each entry of `{name}` is predicted, whatever its value is")),
    };
    format!(
        "`cavi impute DIR{all} --data {name}=FILE ...` predicts new rows by what the fit learned: {without}"
    )
}

/// The axes of the observed data, in the order in which they are declared there, each after those it is ragged in; then others.
fn in_order(model: &Model) -> Vec<AxisId> {
    let symbols = &model.symbols;
    let mut order: Vec<AxisId> = Vec::new();
    let observed = model.statements.iter().filter(|own| own.observed);
    let letters = observed.flat_map(|own| &symbols.array(own.target).letters);
    for letter in letters {
        order.extend(symbols.lineage(*letter).iter().rev().map(|own| symbols.letter(*own).axis));
    }
    order.extend((0..symbols.axes.len()).map(AxisId::from));
    cavi_algebra::dedup(order)
}

/// The labels of each axis, of a ragged one without those of its groups.
fn none_above(
    symbols: &Symbols,
    axes: std::collections::BTreeMap<AxisId, Vec<String>>,
) -> std::collections::BTreeMap<AxisId, Vec<String>> {
    let own = |label: String| label.rsplit('/').next().unwrap_or_default().to_owned();
    let each = axes.into_iter().map(|(axis, labels)| match symbols.axis(axis).parent {
        None => (axis, labels),
        Some(_) => (axis, labels.into_iter().map(own).collect()),
    });
    each.collect()
}

/// The axes that the data say have grown: those with new positions; of several those none of whose labels the fit knows. An axis
/// in which another is ragged counts before that.
fn said(
    candidates: &BTreeSet<AxisId>,
    seen: &std::collections::BTreeMap<AxisId, Seen>,
    symbols: &Symbols,
) -> Vec<AxisId> {
    let has_new = |axis: &&AxisId| seen.get(*axis).is_some_and(Seen::has_new);
    let mut grown: Vec<AxisId> = candidates.iter().filter(has_new).copied().collect();
    let all = grown.clone();
    let above =
        |axis: AxisId| std::iter::successors(symbols.axis(axis).parent, |own| symbols.axis(*own).parent);
    grown.retain(|axis| above(*axis).all(|above| !all.contains(&above)));
    let is_all_new = |axis: &&AxisId| seen.get(*axis).is_some_and(|own| own.known.is_empty());
    let all_new: Vec<AxisId> = grown.iter().filter(is_all_new).copied().collect();
    if all_new.is_empty() { grown } else { all_new }
}

impl NewRows {
    /// Refuses data of which no entry is left.
    fn refuse_unknown(&self) -> Result<(), DataError> {
        let Problem { model, binding, .. } = self.problem.as_given();
        let entries = |array: &Option<BoundArray>| match array {
            Some(BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) => values.len(),
            None => 0,
        };
        let observed = model.statements.iter().filter(|own| own.observed);
        let arrays = &binding.bound.arrays;
        if self.dropped == 0 || observed.into_iter().any(|own| entries(&arrays[own.target.index()]) > 0) {
            return Ok(());
        }
        Err(DataError::new(format!(
            "no entry of the new data has labels that the fit knows: all {} are left out",
            self.dropped
        ))
        .possible(format!(
            "labels of the axes in `{}`, for all axes but `{}`",
            self.directory.join("axes").display(),
            self.axis
        )))
    }

    /// The directory of the fit that they are projected by.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The variables of rows, latents and data.
    pub(crate) fn own(&self) -> &BTreeSet<ArrayId> {
        &self.own
    }

    /// Whether a block is one of rows.
    pub(crate) fn is_own(&self, block: BlockId) -> bool {
        let equations = &self.problem.as_given().equations;
        equations.block(block).members.iter().any(|member| self.own.contains(member))
    }

    /// Fits the latents of the rows. Settings that are `None` are those of a projection, not of the program: at most
    /// [`SWEEPS`] sweeps, and [`TOLERANCE`].
    ///
    /// # Errors
    /// A directory that lacks what rows share, or is that of another program; a fit that fails.
    pub fn fit(
        self,
        settings: &Settings,
        callback: &mut dyn FnMut(&Progress) -> Control,
    ) -> Result<Projection, Error> {
        let settings = Settings {
            sweeps: Some(settings.sweeps.unwrap_or(SWEEPS)),
            tolerance: Some(settings.tolerance.unwrap_or(TOLERANCE)),
            // Rotations would turn what rows share.
            accelerate: Some(false),
            batch: Some(Batch::Off),
            glances: None,
            ..settings.clone()
        };
        let rows = RowAxes { model: &self.problem.as_given().model, axes: self.axes.clone() };
        let seed = settings.seed.unwrap_or(0);
        let (start, is_new) = rows::start(
            &self.problem,
            &self.directory,
            (&|block| self.is_own(block), &|axis| rows.is_row(axis)),
            rows::Known::There,
            seed,
        )?;
        let (_, fit) =
            fit_own(&self.problem, &self.directory, &self.own, (Some(start), is_new), &settings, callback)?;
        let Some(mut fit) = fit else {
            return Err(DataError::new(format!(
                "the sweep of the program updates no latent along axis `{}`",
                self.axis
            ))
            .help("name them in its `sweep` line, or leave that out")
            .into());
        };
        // Data that were not given are unobserved on purpose.
        fit.warnings.retain(|own| own.code != "W0807" || self.not_given.is_empty());
        Ok(Projection { rows: self, fit })
    }
}

impl Projection {
    /// The factors of q of the rows' latents as named arrays, as [`Problem::posterior`] has them.
    pub fn posterior(&self) -> Vec<NamedArray> {
        crate::posterior::arrays_of(&self.rows.problem, &self.fit.parameters, &|block| {
            self.rows.is_own(block)
        })
    }
}
