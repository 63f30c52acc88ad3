//! Which numbers stand for the data, the constants and the sizes of a program?
//!
//! In come a [`Model`] and what it is run on ([`Inputs`]: files or data in memory, labels, sizes, constants); out
//! goes a [`Binding`], every axis with its size and labels, every array with its values, or all the [`DataError`]s
//! that were found, each with the file and the line. The rules are those of `crates/cavi-cli/README.md`, sections 4
//! and 5, and of `grammar/README.md`, sections 3 to 5.

mod data_error;
mod documents;
mod existing;
mod indexed;
mod inputs;
mod labels;

mod phantoms;
mod pieces;

mod axes;
mod codes;
mod groups;
mod lookup;

mod listing;
mod place;
mod values;

mod arithmetic;
mod compute;
mod counters;
mod covariance;
pub(crate) mod known;
mod spellings;
mod standardise;
mod zeros;

mod checks;
mod defined;
mod matrices;
mod outside;

mod again;
mod fixed;
mod flat;
mod frozen;
pub(crate) mod grown;
mod hide;

mod by_order;
mod missing_codes;
mod places;
mod read_back;
mod read_twice;
mod same_rows;
mod sizes;
mod suspicions;
mod texts;
mod to_draw;
mod to_pack;
mod totals;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Symbols};
use cavi_executor::{Bound, BoundArray};
use cavi_model::Model;
use cavi_numerics::Numbers;

pub(crate) use again::Again;
pub use data_error::DataError;
pub(crate) use data_error::list;
pub(crate) use existing::Existing;
pub(crate) use frozen::Frozen;
pub use hide::{ByFile, Different, Fold, HeldOutPlaces, Hidden};
pub(crate) use hide::{Chosen, Draw, Hide, What};
pub(crate) use inputs::number;
pub use inputs::{ArrayInput, ColumnsInput, Inputs, LabelSource, LabelsInput, SetInput, SetValue, Source};
pub use labels::Labels;
pub(crate) use pieces::{declared, unbound, with_name};
pub use standardise::Standardised;
pub(crate) use standardise::Typical;
pub use texts::Words;
pub(crate) use to_draw::bind_to_draw;
pub(crate) use to_pack::{ToPack, to_pack};
pub(crate) use values::misfit;

use crate::prepare::EntryAxis;
use crate::prepare::entries::components;
use compute::SoFar;
use defined::Uses;
use fixed::Fixed;
use known::Known;
use place::Target;

/// A program's data, constants and axes with their values.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// Sizes and values, as the number side reads them.
    pub bound: Bound,
    /// Labels of the axes.
    pub labels: Labels,
    /// What was understood of each array that is given, a line each: axes with sizes and labels, entries, what they come to.
    pub read: Vec<String>,
    /// The words of texts, for each file or folder of them.
    pub words: Vec<Words>,
    /// What a user may want to know.
    pub notes: Vec<String>,
    /// Those of the notes that say that an index which counts from 0 was matched by order with the labels of others.
    pub by_counters: Vec<String>,
    /// What is most likely a mistake.
    pub warnings: Vec<String>,
    /// For each variable whose covariance has no Cholesky factor in double precision, what was added to its diagonal.
    pub jitters: Vec<(String, f64)>,
    /// What `center over` and `scale over` have subtracted and divided by.
    pub standardised: Vec<Standardised>,
    /// Data whose missing entries are latent, since they stand on a right-hand side too.
    pub partly_latent: Vec<ArrayId>,
    /// Latents that are held at the values that the bound arrays have of them, where these are observed.
    pub fixed: Vec<ArrayId>,
    /// For each array at whose listed entries latents may live, the coordinates of these in the order of the file, a column
    /// a dimension; `None` for others, and where a dense file was read.
    pub listed: Vec<Option<Vec<Vec<u32>>>>,
    /// The axes of listed entries that a program was restated over.
    pub entries: Vec<EntryAxis>,
    /// Of files of entries to hold out, how many entries the data cannot have, by array; none where there are none.
    pub left_out: BTreeMap<String, usize>,
    /// Which entries, or units, are held out, by array: how many, and a hash of where they are.
    pub held_out: BTreeMap<String, HeldOutPlaces>,
    /// What asked for it, as `--heldout` takes it, a file without its name.
    pub held_out_by: Vec<String>,
    /// Data of which entries are held out as missing ones.
    pub withheld: Vec<ArrayId>,
    /// Whether the data are new rows of an earlier fit, whose factors keep the layout that they had there.
    pub new_rows: bool,
}

/// Binds a program to what it is run on.
///
/// # Errors
///
/// Everything that is wrong with files, labels, sizes and constants, as far as one mistake does not hide another.
///
/// # Example
/// ```
/// use cavi::bind::{Inputs, ArrayInput, Source, bind};
/// let (program, _) = cavi_syntax::parse("axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 1)\nx[n] ~ Normal(m, sd = 2)\n");
/// let (model, _) = cavi_model::resolve(&program);
/// let source = Source::Bytes { name: "x.csv".into(), bytes: b"1\n2.5\n".into() };
/// let x = ArrayInput { name: "x".to_owned(), group: None, source };
/// let binding = bind(&model.unwrap(), &Inputs { data: vec![x], ..Inputs::default() }).unwrap();
/// assert_eq!(binding.bound.axes[0].size, 2);
/// ```
pub fn bind(model: &Model, inputs: &Inputs) -> Result<Binding, Vec<DataError>> {
    bind_in_part(model, inputs, &Part::default()).map(|bound| bound.binding)
}

/// What of the data a program is bound to, and what is known of its axes beforehand.
#[derive(Default)]
pub(crate) struct Part<'a> {
    /// What is hidden.
    pub hide: &'a [Hide],
    /// Of the split.
    pub seed: u64,
    /// The axes of an earlier fit, and what it standardised data by.
    pub frozen: Option<&'a Frozen>,
    /// The fit whose own data these are, given again.
    pub again: Option<&'a Again>,
    /// Data that are not given, all of whose entries are missing.
    pub unobserved: &'a [ArrayId],
}

/// A part of the data, and what was left out.
pub(crate) struct BoundPart {
    /// Without what is hidden.
    pub binding: Binding,
    /// What is hidden, in the order in which it was asked for.
    pub hidden: Vec<Hidden>,
    /// How many entries were left out for a label that the earlier fit does not have.
    pub dropped: usize,
}

/// Binds a program to a part of the data.
pub(crate) fn bind_in_part(
    model: &Model,
    inputs: &Inputs,
    part: &Part<'_>,
) -> Result<BoundPart, Vec<DataError>> {
    let mut problems = Vec::new();
    let mut fixed = Fixed::of(model, inputs, &mut problems);
    stop(&mut problems)?;

    let read_as = |fixed: &Option<Fixed>| fixed.as_ref().map_or(&model.symbols, |own| &own.symbols).clone();
    let symbols = &read_as(&fixed);
    let mut pieces = pieces::read(symbols, fixed.as_ref().map_or(inputs, |own| &own.inputs), &mut problems);
    counters::take_up(symbols, fixed.as_ref().map_or(inputs, |own| &own.inputs), part.frozen, &mut pieces);
    // A file of texts that was not read is no reason to say that there is none.
    if problems.is_empty() {
        problems.extend(texts::refuse_without_texts(inputs, &pieces));
    }
    stop(&mut problems)?;
    if let Some(fixed) = &mut fixed {
        let scalars = compute::scalars(symbols, inputs, &[]);
        let text =
            |axis: AxisId, so_far: SoFar<'_>| compute::text_size(symbols, inputs, &scalars, axis, so_far);
        fixed.match_labels(&mut pieces, &text, &mut problems);
        stop(&mut problems)?;
    }
    let inputs = fixed.as_ref().map_or(inputs, |own| &own.inputs);
    let mut own_inputs = None;
    let (mut dropped, mut unknown, mut in_order) = (0, Vec::new(), Vec::new());
    if let Some(frozen) = part.frozen {
        in_order = frozen.in_order(symbols, &mut pieces);
        let rows = frozen.listed_rows(symbols, &pieces);
        problems.extend(frozen.strange(symbols, &pieces));
        stop(&mut problems)?;
        dropped = frozen.leave_out_unknown(symbols, &mut pieces, &mut unknown);
        own_inputs = with_all_rows(symbols, inputs, rows, &frozen.listed_rows(symbols, &pieces));
    }
    let inputs = own_inputs.as_ref().unwrap_or(inputs);

    let scalars = compute::scalars(symbols, inputs, &[]);
    let text = |axis: AxisId, so_far: SoFar<'_>| compute::text_size(symbols, inputs, &scalars, axis, so_far);
    let mut axes = axes::resolve(symbols, inputs, &pieces, &text, &mut problems);
    if !problems.is_empty() {
        problems.splice(0..0, suspicions::transposed_by_size(symbols, inputs, &pieces, &text));
    }
    stop(&mut problems)?;
    let ordered = part.again.map(|again| again.in_order(symbols, inputs, &pieces, &axes)).transpose();
    let ordered = ordered.map_err(|error| vec![error])?.flatten();
    if let Some(inputs) = &ordered {
        axes = axes::resolve(symbols, inputs, &pieces, &text, &mut problems);
        stop(&mut problems)?;
    }
    let inputs = ordered.as_ref().unwrap_or(inputs);
    if let Some(frozen) = part.frozen {
        axes.leaves_out = frozen.leaves_out(model);
    }

    let with_latents: Vec<ArrayId> =
        components(model).iter().flat_map(|own| own.data.iter().map(|member| member.array)).collect();
    // Before the arrays are placed, which may take the numbers out of the pieces.
    let suspicions = suspicions::warnings(symbols, inputs, &pieces, &axes);
    let by_order = by_order::joined_by_order(symbols, inputs, &pieces, &axes);
    // The places of new rows are those that they had in the fit.
    let places = part.frozen.map_or_else(|| places::counted(model, &axes), |_| Vec::new());
    let rows = same_rows::other_rows(symbols, &pieces, &axes);
    problems.extend(rows.problems);
    stop(&mut problems)?;
    let place::Placed { mut arrays, mut listed, added } =
        place::place(symbols, &axes, &mut pieces, &with_latents, None, &mut problems);
    // What a file that is turned lacks follows from that.
    let turned = suspicions::transposed_by_labels(symbols, inputs, &pieces);
    if !problems.is_empty() && !turned.is_empty() {
        problems = turned;
    }
    let given: BTreeSet<ArrayId> = pieces.iter().map(|piece| piece.array).collect();
    stop(&mut problems)?;
    let name = |piece: &pieces::Piece| symbols.array(piece.array).name.as_str();
    let words: Vec<Words> = pieces.iter().filter_map(|piece| Words::of(piece, name(piece))).collect();
    let of_texts: Vec<(ArrayId, String)> = pieces
        .iter()
        .filter_map(|piece| Some((piece.array, piece.texts().filter(|own| !own.is_packed())?, name(piece))))
        .map(|(array, report, name)| (array, texts::line(name, report)))
        .collect();
    let is_whole = |piece: &&pieces::Piece| matches!(piece.content, cavi_files::Content::Dense(_));
    let whole: Vec<ArrayId> =
        cavi_algebra::dedup(pieces.iter().filter(is_whole).map(|piece| piece.array).collect());
    drop(pieces);
    for id in part.unobserved {
        arrays[id.index()].get_or_insert_with(|| no_entry(symbols.array(*id).letters.len()));
    }
    if let Some(frozen) = part.frozen {
        dropped += frozen.leave_out_values(model, &mut axes, &mut arrays, &mut listed);
    }
    let is_fixed = |id: ArrayId| fixed.as_ref().is_some_and(|own| own.arrays.contains(&id));
    let (mut read, mut poor) = (Vec::new(), Vec::new());
    for (id, bound) in given.iter().filter_map(|id| Some((*id, arrays[id.index()].as_ref()?))) {
        let target = Target::new(symbols, &axes, id);
        let tally = read_back::Tally::of(&target, bound);
        read.push(read_back::line(&target, &tally, added[id.index()]));
        read.extend(of_texts.iter().filter(|own| own.0 == id).map(|own| own.1.clone()));
        // New rows need not have every column.
        if part.frozen.is_none() && symbols.array(id).kind == ArrayKind::Data && !is_fixed(id) {
            poor.extend(read_back::poor_positions(&target, &axes, (bound, &tally)));
        }
    }

    let held = fixed.as_ref().map_or_else(Vec::new, |own| own.take(&axes, &mut arrays));
    let symbols = &model.symbols;

    let mut standardised = Vec::new();
    let by_fit = match (part.frozen, part.again) {
        (Some(frozen), _) => frozen.standardised.clone(),
        (None, Some(again)) => again.standardised(symbols, &axes),
        (None, None) => Vec::new(),
    };
    let mut hidden: Vec<Option<Hidden>> = vec![None; part.hide.len()];
    let mut ready = |id: ArrayId, bound: &mut BoundArray, others: &[Option<BoundArray>]| {
        let target = Target::new(symbols, &axes, id);
        let place = part.hide.iter().position(|own| own.array == id);
        let mut taken = match place {
            Some(place) => {
                let lists = compute::lists_zeros(&target, others);
                Some(hide::hide(&target, inputs, (place, &part.hide[place], lists), part.seed, bound)?)
            }
            None => None,
        };
        let fixed = by_fit.iter().find(|own| own.array == id);
        let typical = part.frozen.and_then(|frozen| frozen.typical.iter().find(|own| own.array == id));
        let own = standardise::standardise(&target, bound, (fixed, typical), (model, others))?;
        if let (Some(own), Some(taken), Some(place)) = (&own, &mut taken, place) {
            let Hidden { coordinates, values, .. } = taken;
            let whole = &part.hide[place].whole;
            let at = |number: usize| hide::place_of(coordinates, &target.shape, whole, number);
            standardise::standardise_entries(&target, own, at, values);
        }
        if let (Some(place), Some(taken)) = (place, taken) {
            hidden[place] = Some(taken);
        }
        standardised.extend(own);
        Ok(())
    };
    let mut jitters = Vec::new();
    let after = |id: ArrayId| standardise::weighed_by(model, id);
    compute::compute(symbols, inputs, &axes, &mut arrays, (&mut ready, &after), &mut jitters, &mut problems);
    stop(&mut problems)?;

    let at = |id: ArrayId, coordinates: &[usize]| {
        let target = Target::new(symbols, &axes, id);
        let files = inputs.data.iter().filter(|own| own.name == target.array.name);
        let files: Vec<String> = files.map(|own| own.source.name().display().to_string()).collect();
        let of = if files.is_empty() { String::new() } else { format!(", of {}", files.join(" and ")) };
        format!("{}{of}", target.describe(coordinates))
    };
    problems.extend(checks::into_nothing(symbols, &axes, &arrays));
    let mut bound = Bound { axes: axes.bound.clone(), arrays, whole };
    let partly_latent =
        checks::missing_on_the_right(model, &mut bound.arrays, &bound.axes, &at, &mut problems);
    checks::whole_slices(model, &bound.arrays, &bound.axes, &at, &mut problems);
    checks::strictly_inside(model, &bound, &mut problems);
    let known = &Known::new(symbols, &bound.axes, &bound.arrays);
    let uses =
        Uses { model, known, hidden: hidden.iter().flatten().collect(), partly_latent: &partly_latent };
    let undefined = defined::undefined(&uses, &at, &mut problems);
    outside::read_outside(&uses, &at, &mut problems);
    let refused = checks::domains(&uses, &undefined, &mut problems);
    checks::shares(&uses, &mut problems);
    matrices::invertible(&uses, &refused, &mut problems);
    checks::possible(model, &bound, known, &at, &mut problems);
    stop(&mut problems)?;

    let hidden: Vec<Hidden> =
        hidden.into_iter().map(|own| own.expect("what is hidden is of data with values")).collect();
    let taken: Vec<&Hidden> = (part.hide.iter().zip(&hidden))
        .filter(|(hide, _)| !hide.thin && !matches!(hide.what, What::Nothing))
        .map(|(_, hidden)| hidden)
        .collect();
    let mut notes = missing(model, &bound.arrays, &axes, &taken);
    if part.frozen.is_none() {
        notes.extend(phantoms::notes(model, &bound.arrays));
    }
    notes.extend(jitters.iter().map(|(name, jitter)| jittered(name, *jitter)));
    notes.extend(mapped(symbols, &bound.arrays));
    let by_counters = by_order.iter().filter(|own| own.counts).map(|own| own.text.clone()).collect();
    notes.extend(by_order.into_iter().map(|own| own.text));
    notes.extend(in_order);
    let warnings = [unknown, axes.warnings, suspicions, rows.warnings, places, poor].concat();
    let fixed: Vec<ArrayId> = held.iter().map(|(id, _)| *id).collect();
    held.into_iter().for_each(|(id, values)| bound.arrays[id.index()] = Some(values));
    let labels = Labels { axes: axes.labels };
    let binding = Binding {
        bound,
        labels,
        read,
        words,
        notes,
        by_counters,
        warnings,
        jitters,
        standardised,
        partly_latent,
        fixed,
        listed,
        ..Binding::default()
    };
    Ok(BoundPart { binding, hidden, dropped })
}

/// What is wrong with a value of `--set` for this name, if the program has neither a constant nor an axis of it.
pub fn unknown_set(symbols: &Symbols, name: &str) -> Option<DataError> {
    let constants = symbols.arrays.iter().filter(|own| own.is_named_constant());
    let axes = symbols.axes.iter().map(|axis| axis.name.as_str());
    let known: Vec<&str> = constants.map(|own| own.name.as_str()).chain(axes).collect();
    let message = format!("`--set {name}`: the program has no constant and no axis of this name");
    // An index is a likely name for its axis.
    let index = symbols.letters.iter().find(|letter| letter.name == name);
    (!known.contains(&name)).then(|| match index {
        Some(letter) => {
            let axis = &symbols.axis(letter.axis).name;
            DataError::new(message)
                .help(format!("`{name}` is an index of the axis `{axis}`: `--set {axis}=...`"))
        }
        None => DataError::unknown(message, name, &known),
    })
}

/// What is wrong with a value of `--set` as the size of an axis, if the program has one of this name.
pub fn wrong_size(symbols: &Symbols, name: &str, value: f64) -> Option<DataError> {
    let axis = symbols.axes.iter().any(|axis| axis.name == name);
    sizes::size_set(name, value).err().filter(|_| axis)
}

/// Gives up if there is a problem: what follows would only repeat it.
fn stop(problems: &mut Vec<DataError>) -> Result<(), Vec<DataError>> {
    // A file that is cut has the same mistake for each array that reads it.
    if problems.is_empty() { Ok(()) } else { Err(cavi_algebra::dedup(std::mem::take(problems))) }
}

/// The inputs with the labels of rows that lost all of their entries, since each row of the data is one of the result; `None` where
/// none did.
fn with_all_rows(
    symbols: &Symbols,
    inputs: &Inputs,
    rows: BTreeMap<AxisId, Vec<String>>,
    left: &BTreeMap<AxisId, Vec<String>>,
) -> Option<Inputs> {
    let is_given = |name: &str| {
        inputs.labels.iter().any(|own| own.axis == name) || inputs.set.iter().any(|own| own.name == name)
    };
    let lost = rows.into_iter().filter(|(axis, labels)| {
        !is_given(&symbols.axis(*axis).name) && left.get(axis).is_none_or(|left| left.len() < labels.len())
    });
    let more: Vec<LabelsInput> = lost
        .map(|(axis, labels)| {
            let source = LabelSource::List("the new rows".to_owned(), labels);
            LabelsInput { axis: symbols.axis(axis).name.clone(), group: None, source }
        })
        .collect();
    if more.is_empty() {
        return None;
    }
    let mut inputs = inputs.clone();
    inputs.labels.extend(more);
    Some(inputs)
}

/// An array of which nothing is observed.
fn no_entry(dimensions: usize) -> BoundArray {
    let indices = vec![Numbers::default(); dimensions];
    BoundArray::Sparse { indices, values: Numbers::default(), observed: None, unlisted_zero: false }
}

/// Which data stay in a packed file.
fn mapped(symbols: &Symbols, arrays: &[Option<BoundArray>]) -> Vec<String> {
    let note = |(index, array): (usize, &Option<BoundArray>)| {
        let bytes = array.as_ref().filter(|array| array.is_mapped())?.bytes();
        let (name, bytes) = (&symbols.arrays[index].name, cavi_files::memory::text(bytes));
        Some(format!(
            "`{name}` stays in its file: {bytes} that the system brings in as they are read, and that no figure of memory counts"
        ))
    };
    arrays.iter().enumerate().filter_map(note).collect()
}

/// What was added to a covariance without a Cholesky factor.
fn jittered(name: &str, jitter: f64) -> String {
    format!(
        "the covariance of `{name}` has no Cholesky factor in double precision: {jitter:.1e} was added to its diagonal, the \
         least that gives it one (`white(sd = {:.1e})` in its kernel says the same)",
        jitter.sqrt()
    )
}

/// How many entries of the data are missing, those that were hidden apart.
fn missing(
    model: &Model,
    arrays: &[Option<BoundArray>],
    axes: &axes::Axes,
    hidden: &[&Hidden],
) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, array) in model.symbols.arrays.iter().enumerate() {
        let Some(bound) = arrays[index].as_ref().filter(|_| array.kind == ArrayKind::Data) else { continue };
        let target = Target::new(&model.symbols, axes, ArrayId::from(index));
        let Some(existing) = target.existing() else { continue };
        let unobserved = |observed: &Option<Vec<bool>>| {
            observed.as_ref().map_or(0, |observed| observed.iter().filter(|observed| !**observed).count())
        };
        let missing = match bound {
            BoundArray::Dense { observed, .. } | BoundArray::Sparse { observed, unlisted_zero: true, .. } => {
                unobserved(observed)
            }
            BoundArray::Sparse { observed, values, unlisted_zero: false, .. } => {
                existing - values.len() + unobserved(observed)
            }
        };
        let own = hidden.iter().find(|own| own.array.index() == index);
        let missing = missing - own.map_or(0, |own| own.values.len());
        if missing > 0 {
            notes.push(format!("{missing} of the {existing} entries of `{}` are missing", array.name));
        }
    }
    notes
}
