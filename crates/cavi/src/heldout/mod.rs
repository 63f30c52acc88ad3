//! How well does a program predict data that it was not given?
//!
//! A part of the data is hidden before a fit ([`bind`]), and what was fitted to the rest says how likely it is ([`score`]):
//! `sum log E_q p(y | latents)`, over the hidden entries, or over the units of counts that were thinned. [`rows`] does the same
//! for new rows of data, given an earlier fit.
//!
//! In come a program, its data and what to hide; out go data without it, and after the fit a [`Score`] for each array. Nothing here knows
//! a model: what is hidden how, and what is predicted, follow from the declaration of the data and from the
//! [`Prediction`] of the family of their statement.

mod averages;
mod batch;
mod draws;
mod expected;
mod mixture;
mod predict;
pub mod rows;
mod total;

use std::sync::OnceLock;

use cavi_algebra::{ArrayId, ArrayKind, BlockId, Equations, Support};
use cavi_executor::{Bound, BoundArray, Parameters};
use cavi_families::{Prediction, Slices};
use cavi_model::{Model, Statement};
use cavi_numerics::Threads;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Binomial, Distribution};

use crate::bind::{Binding, ByFile, DataError, Hidden, Hide, Inputs, Part, Source, What, bind_in_part};
use crate::compare::ByEntry;
use crate::compile::Compiled;
use crate::error::Error;
use crate::prepare::{Problem, prepare};
use draws::Source as Drawn;
pub use expected::Expected;
use predict::Predictor;
pub use predict::{BATCHES, DRAWS, Score};
pub(crate) use predict::{exists as is_there, unflat};

/// The first of the streams of random numbers that splits of rows of weight use.
const FIRST_STREAM: u64 = 3 << 40;

/// How a block of q is drawn.
pub(crate) fn sources(equations: &Equations, bound: &Bound, block: BlockId) -> Drawn {
    Drawn::new(equations, bound, block)
}

/// What to hide of one array: `--heldout NAME=FRACTION`, `--heldout NAME=FILE` or `--heldout NAME[GROUP]=FILE`.
#[derive(Clone, Debug)]
pub struct Request {
    /// The array.
    pub name: String,
    /// The label of the group, for one file of a ragged array.
    pub group: Option<String>,
    /// How much, or which entries.
    pub what: Asked,
}

/// How much is hidden, or which entries.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A share, between 0 and 1.
    Share(f64),
    /// The entries that a file names.
    File(Source),
}

/// The held-out part of the data.
#[derive(Clone, Debug, Default)]
pub struct HeldOut {
    /// One for each array, in the order in which they were asked for.
    pub parts: Vec<Hidden>,
}

impl Request {
    /// Reads `NAME=FRACTION`, `NAME=FILE` or `NAME[GROUP]=FILE`.
    ///
    /// # Errors
    /// A text of another form, a fraction that is not between 0 and 1, a name of no file.
    pub fn parse(option: &str, text: &str) -> Result<Request, DataError> {
        let form = || {
            DataError::new(format!("`{option} {text}` is not of the form `NAME=FRACTION` or `NAME=FILE`"))
                .help(format!("`{option} n=0.1` hides a tenth of `n`"))
        };
        let input = crate::bind::ArrayInput::parse(text).ok_or_else(form)?;
        let value = text.split_once('=').map_or("", |(_, value)| value);
        let Some(share) = crate::bind::number(value) else {
            let path = input.source.name().to_owned();
            if path.extension().is_none() && !path.exists() {
                let found = format!("`{option} {text}`: `{}` is neither a number nor a file", path.display());
                return Err(
                    DataError::new(found).possible("a fraction between 0 and 1, or a file of entries")
                );
            }
            return Ok(Request { name: input.name, group: input.group, what: Asked::File(input.source) });
        };
        if !(share > 0.0 && share < 1.0) {
            return Err(DataError::new(format!("`{option} {text}`: the fraction is {share}"))
                .possible("a number greater than 0 and less than 1"));
        }
        if input.group.is_some() {
            return Err(DataError::new(format!(
                "`{option} {text}`: a fraction is that of all groups together"
            ))
            .help(format!("`{option} {}={value}`", input.name)));
        }
        Ok(Request { name: input.name, group: None, what: Asked::Share(share) })
    }

    /// Reads `NAME=FILE` or `NAME[GROUP]=FILE`.
    ///
    /// # Errors
    /// A text of another form.
    pub fn parse_file(option: &str, text: &str) -> Result<Request, DataError> {
        let form = || DataError::new(format!("`{option} {text}` is not of the form `NAME=FILE`"));
        let input = crate::bind::ArrayInput::parse(text).ok_or_else(form)?;
        Ok(Request { name: input.name, group: input.group, what: Asked::File(input.source) })
    }
}

/// How an array is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The units of counts go one way or the other.
    Units,
    /// The units of rows of weight do; the array holds how many there are.
    Weights(ArrayId),
    /// Entries, or whole slices, are hidden as missing.
    Entries,
}

/// How the data of a statement are split.
fn way_of(model: &Model, statement: &Statement, by_file: bool) -> Way {
    let array = model.symbols.array(statement.target);
    let prediction = statement.family.prediction();
    // Rows have no missing entries: of them a file gives units. Of a count under a rate it names the entry.
    let thins = match prediction {
        Prediction::Units => true,
        Prediction::Rate => !by_file,
        Prediction::Trial | Prediction::Class | Prediction::Density => false,
    };
    if thins && array.support == Support::Count && array.absent.zero {
        return Way::Units;
    }
    let weight = (!by_file && prediction == Prediction::Class).then(|| weight_of(model, statement)).flatten();
    weight.map_or(Way::Entries, Way::Weights)
}

/// The multiplicity of the rows of a statement, if its rows are those of weight and no other data have it.
fn weight_of(model: &Model, statement: &Statement) -> Option<ArrayId> {
    let symbols = &model.symbols;
    let axes = |array: ArrayId| -> Vec<_> {
        symbols.array(array).letters.iter().map(|letter| symbols.letter(*letter).axis).collect()
    };
    let weighs = |array: ArrayId, by: ArrayId| {
        let own = axes(array);
        axes(by).iter().all(|axis| own.contains(axis))
    };
    let arrays = (0..symbols.arrays.len()).map(ArrayId::from);
    let mut all = arrays.filter(|id| symbols.array(*id).support == Support::Multiplicity);
    all.find(|by| {
        let observed = model.statements.iter().filter(|own| own.observed && weighs(own.target, *by));
        axes(statement.target).len() == axes(*by).len()
            && observed.map(|own| own.target).eq([statement.target])
    })
}

/// What was asked for of each array, in order.
fn requested<'m>(
    model: &'m Model,
    option: &str,
    requests: &[Request],
) -> Result<Vec<(&'m Statement, Asking)>, Vec<DataError>> {
    let symbols = &model.symbols;
    let known: Vec<&str> = model
        .statements
        .iter()
        .filter(|statement| statement.observed)
        .map(|statement| symbols.array(statement.target).name.as_str())
        .collect();
    let mut problems = Vec::new();
    let mut found: Vec<(&Statement, Asking)> = Vec::new();
    for request in requests {
        let name = &request.name;
        let statement = symbols.find(name).and_then(|id| model.statement_of(id));
        let Some(statement) = statement.filter(|statement| statement.observed) else {
            let what = match symbols.find(name).map(|id| symbols.array(id)) {
                None => "the program has no data of this name",
                Some(array) if array.kind == ArrayKind::Data => {
                    "these data stand on the left of no `~`, and are not predicted"
                }
                Some(array) if array.kind == ArrayKind::Constant => "this is a constant",
                Some(_) => "this is a latent variable",
            };
            problems.push(DataError::unknown(format!("`{option} {name}`: {what}"), name, &known));
            continue;
        };
        match (found.iter_mut().find(|(own, _)| own.target == statement.target), &request.what) {
            (None, Asked::Share(share)) => found.push((statement, Asking::Share(*share))),
            (None, Asked::File(source)) => {
                found.push((statement, Asking::Files(vec![(request.group.clone(), source.clone())])));
            }
            (Some((_, Asking::Files(files))), Asked::File(source))
                if request.group.is_some()
                    && files.iter().all(|(group, _)| group.is_some() && *group != request.group) =>
            {
                files.push((request.group.clone(), source.clone()));
            }
            (Some(_), _) => {
                problems.push(DataError::new(format!("`{option} {name}` is given twice")).possible(
                    "one fraction or one file an array, or one file for each group of a ragged array",
                ))
            }
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// What was asked for of one array.
enum Asking {
    Share(f64),
    Files(Vec<(Option<String>, Source)>),
}

/// What is hidden of the data of a statement, by how they are split.
fn hiding(model: &Model, statement: &Statement, what: What, way: Way) -> Result<Hide, DataError> {
    let array = model.symbols.array(statement.target);
    let name = &array.name;
    let family = statement.family;
    if way == Way::Entries && family.prediction() == Prediction::Units && !matches!(what, What::Nothing) {
        let problem = DataError::new(format!(
            "entries of `{name}` cannot be hidden: a row under {} has no missing entries",
            family.name()
        ));
        return Err(match (array.support, array.absent.zero) {
            (Support::Count, true) => problem.help(format!(
                "give a fraction, by which the units of each count are drawn: `--heldout {name}=0.1`"
            )),
            _ => problem.help(
                "declare the data `count, absent = 0`: a fraction of the units of each count is hidden then",
            ),
        });
    }
    let whole = match family.slices() {
        Slices::None => Vec::new(),
        Slices::One | Slices::Two | Slices::Any if family.prediction() == Prediction::Units => Vec::new(),
        Slices::One | Slices::Two | Slices::Any => {
            (0..array.slice.len()).filter(|dimension| array.slice[*dimension]).collect()
        }
    };
    let thin = way == Way::Units;
    Ok(Hide { array: statement.target, whole, thin, what, family: family.name(), rows: None })
}

/// A program bound to a part of its data.
pub(crate) struct Split {
    /// The problem without the part that is held out.
    pub problem: Problem,
    /// That part.
    pub held: HeldOut,
    /// How many entries were left out for a label that an earlier fit does not have.
    pub dropped: usize,
}

/// Binds a program to its data without what is to be held out: entries of these data may then be missing.
///
/// # Errors
/// Everything that [`crate::bind::bind()`] and [`prepare`] refuse; arrays that cannot be held out, with the reason.
pub fn bind(
    compiled: Compiled,
    inputs: &Inputs,
    requests: &[Request],
    seed: u64,
) -> Result<(Problem, HeldOut), Error> {
    let mut ways = Vec::new();
    let mut hide = Vec::new();
    for (statement, asking) in requested(&compiled.model, "--heldout", requests)? {
        let way = way_of(&compiled.model, statement, matches!(asking, Asking::Files(_)));
        let what = match (asking, way) {
            // Their weights are split, and all of them stay.
            (Asking::Share(share), Way::Weights(_)) => {
                ways.push((way, share));
                hide.push(hiding(&compiled.model, statement, What::Nothing, way)?);
                continue;
            }
            (Asking::Share(share), _) => What::Share(share),
            (Asking::Files(files), _) => What::Entries(files),
        };
        ways.push((way, 0.0));
        hide.push(hiding(&compiled.model, statement, what, way)?);
    }
    let part = Part { hide: &hide, seed, frozen: None, ..Part::default() };
    let Split { mut problem, held, .. } = bind_split(compiled, inputs, &part, &ways)?;
    let notes: Vec<String> = held.parts.iter().filter_map(|own| by_file(&problem.model, own)).collect();
    problem.binding.notes.extend(notes);
    if let Some(empty) = held.parts.iter().find(|part| part.is_empty()) {
        let name = &problem.model.symbols.array(empty.array).name;
        return Err(DataError::new(format!(
            "nothing of `{name}` is held out: what was asked for is no entry"
        ))
        .help("a greater fraction, or a file that names observed entries")
        .into());
    }
    Ok((problem, held))
}

/// What there is to say of entries that files name.
fn by_file(model: &Model, part: &Hidden) -> Option<String> {
    let ByFile { files, valued, zeros, different, left_out } = part.named.as_ref()?;
    let name = &model.symbols.array(part.array).name;
    let all = part.coordinates.first().map_or(part.values.len(), Vec::len);
    let entries = |count: usize| if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
    let mut parts = Vec::new();
    if all > valued + zeros {
        parts.push(format!("{} with the value that the data have", all - valued - zeros));
    }
    if *zeros > 0 {
        parts.push(format!(
            "{zeros} as zeros, which the data do not list (`--heldout {name}=FILE:COLUMN` gives other values)"
        ));
    }
    if *valued > 0 {
        parts.push(format!("{valued} with the value that the file gives"));
    }
    let mut note = format!("held out by {files}: {} of `{name}`, {}", entries(all), parts.join(" and "));
    if *left_out > 0 {
        note += &format!("; {} left out, for labels or places that the data do not have", entries(*left_out));
    }
    if *different > 0 {
        note += &format!(
            "; its numbers are no values of `{name}`, since {different} of them differ from those of the data"
        );
    }
    Some(note)
}

/// Binds a program to a part of its data, and prepares it without the rest.
fn bind_split(
    compiled: Compiled,
    inputs: &Inputs,
    part: &Part<'_>,
    ways: &[(Way, f64)],
) -> Result<Split, Error> {
    let bound = bind_in_part(&compiled.model, inputs, part)?;
    let (mut binding, mut hidden) = (bound.binding, bound.hidden);
    for ((way, share), hidden) in ways.iter().zip(&mut hidden) {
        if let Way::Weights(weight) = way {
            thin_weights(&mut binding, *weight, *share, part.seed, hidden)?;
        }
    }
    binding.new_rows = part.frozen.is_some();
    binding.withheld = part
        .hide
        .iter()
        .zip(ways)
        .filter(|(hide, (way, _))| *way == Way::Entries && !matches!(hide.what, What::Nothing))
        .map(|(hide, _)| hide.array)
        .collect();
    let problem = prepare(compiled, binding)?;
    for own in &mut hidden {
        at_entries(&problem, own)?;
    }
    Ok(Split { problem, held: HeldOut { parts: hidden }, dropped: bound.dropped })
}

/// Takes units out of rows of weight.
fn thin_weights(
    binding: &mut Binding,
    weight: ArrayId,
    share: f64,
    seed: u64,
    hidden: &mut Hidden,
) -> Result<(), DataError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(FIRST_STREAM + weight.index() as u64);
    let Some(BoundArray::Dense { values, .. }) = &mut binding.bound.arrays[weight.index()] else {
        return Err(DataError::new("the weights of rows are not listed one by one"));
    };
    if let Some(value) = values.iter().find(|value| value.fract() != 0.0) {
        return Err(DataError::new(format!(
            "a row weighs {value}, and a held-out fraction is one of whole units"
        ))
        .help("give a file of the entries to hide"));
    }
    let mut held = Vec::with_capacity(values.len());
    for value in values.iter_mut() {
        let units =
            Binomial::new(*value as u64, share).expect("a share is a probability").sample(&mut rng) as f64;
        *value -= units;
        held.push(units);
    }
    // One dimension: rows of weight are numbered by their own axis, and the part has an entry for each.
    let place = |entry: usize| hidden.coordinates.last().map_or(entry, |column| column[entry] as usize);
    let weights: Vec<f64> = (0..hidden.values.len()).map(|entry| held[place(entry)]).collect();
    let keep: Vec<bool> = weights.iter().map(|units| *units > 0.0).collect();
    let retain = |column: &mut Vec<u32>| {
        let mut keep = keep.iter();
        column.retain(|_| keep.next().copied().unwrap_or(false));
    };
    hidden.coordinates.iter_mut().for_each(retain);
    let mut own = keep.iter();
    hidden.values.retain(|_| own.next().copied().unwrap_or(false));
    hidden.weights = Some(weights.into_iter().filter(|units| *units > 0.0).collect());
    Ok(())
}

/// Hidden entries of an array that a program was restated over: their numbers among the listed ones.
fn at_entries(problem: &Problem, hidden: &mut Hidden) -> Result<(), DataError> {
    let own = problem.binding.entries.iter().find_map(|entries| {
        entries.data.iter().find(|own| own.array == hidden.array).map(|member| (entries, member))
    });
    let Some((entries, member)) = own else { return Ok(()) };
    let count = entries.columns.first().map_or(0, Vec::len);
    let number: std::collections::BTreeMap<Vec<u32>, u32> = (0..count)
        .map(|entry| (entries.columns.iter().map(|column| column[entry]).collect(), entry as u32))
        .collect();
    let mut places = Vec::with_capacity(hidden.values.len());
    for entry in 0..hidden.values.len() {
        let place: Vec<u32> =
            member.places.iter().map(|dimension| hidden.coordinates[*dimension][entry]).collect();
        let Some(number) = number.get(&place) else {
            let name = &problem.model.symbols.array(hidden.array).name;
            let positions: Vec<String> = place.iter().map(u32::to_string).collect();
            return Err(DataError::new(format!(
                "the held-out entry at the positions {} of `{name}` is not listed in the data, and the program has latents for \
                 listed entries alone",
                positions.join(", ")
            ))
            .possible("entries that the data list"));
        };
        places.push(*number);
    }
    hidden.coordinates = vec![places];
    Ok(())
}

/// How well a fit predicts what it was not given, one score an array.
///
/// # Errors
/// A statement whose data have no prediction in this version, at its place.
pub fn score(
    problem: &Problem,
    parameters: &Parameters,
    held: &HeldOut,
    seed: u64,
    threads: usize,
) -> Result<Vec<Score>, Error> {
    score_averaged(problem, &[parameters], held, seed, threads)
}

/// How well the average of the predictions of several fits of one problem predicts what they were not given, one score an
/// array: `sum log 1/F sum_f E_{q_f} p(y | latents)`, over entries, over slices that are one observation, or over units of
/// counts. It is never less than the mean of the fits' own scores.
///
/// # Errors
/// As [`score`].
///
/// # Panics
/// Without a fit.
pub fn score_averaged(
    problem: &Problem,
    fits: &[&Parameters],
    held: &HeldOut,
    seed: u64,
    threads: usize,
) -> Result<Vec<Score>, Error> {
    let Problem { source, model, equations, binding, .. } = problem.as_given();
    let bound = &binding.bound;
    let predictors: Vec<Predictor<'_>> = fits
        .iter()
        .map(|&parameters| {
            let (threads, written_out) = (Threads::new(threads), OnceLock::new());
            Predictor { model, equations, bound, parameters, seed, threads, written_out }
        })
        .collect();
    let scores = held.parts.iter().map(|part| mixture::score(&predictors, part));
    scores.map(|score| score.map_err(|diagnostic| Error::at(*diagnostic, source))).collect()
}

/// What a fit says of each held-out entry, one list an array.
///
/// # Errors
/// As [`score`].
pub(crate) fn by_entry(
    problem: &Problem,
    parameters: &Parameters,
    held: &HeldOut,
    seed: u64,
    threads: usize,
) -> Result<Vec<ByEntry>, Error> {
    let Problem { source, model, equations, binding, .. } = problem.as_given();
    let (bound, threads) = (&binding.bound, Threads::new(threads));
    let predictor =
        Predictor { model, equations, bound, parameters, seed, threads, written_out: OnceLock::new() };
    let each = held.parts.iter().map(|part| predictor.predict(part).map(mixture::Predicted::by_entry));
    each.map(|own| own.map_err(|diagnostic| Error::at(*diagnostic, source))).collect()
}

/// What entries of an array are expected to be under the q of a fit, in the units in which the data were given, at coordinates that have a column for
/// each dimension of the array; over so many draws where an expectation has no closed form. The pair is the seed of the draws and the number of
/// threads.
///
/// # Errors
/// Data whose entries have no expected value, at their statement.
pub fn expected(
    problem: &Problem,
    parameters: &Parameters,
    array: ArrayId,
    coordinates: &[Vec<u32>],
    draws: usize,
    (seed, threads): (u64, usize),
) -> Result<Expected, Error> {
    let Problem { source, model, equations, binding, .. } = problem.as_given();
    let threads = Threads::new(threads);
    let bound = &binding.bound;
    let predictor =
        Predictor { model, equations, bound, parameters, seed, threads, written_out: OnceLock::new() };
    let mut expected =
        predictor.expect(array, coordinates, draws).map_err(|diagnostic| Error::at(*diagnostic, source))?;
    if let Some(standardised) = binding.standardised.iter().find(|own| own.array == array) {
        standardised.undo(&model.symbols, bound, coordinates, &mut expected.mean, expected.sd.as_deref_mut());
    }
    Ok(expected)
}

/// The scores of several arrays as one.
pub fn together(scores: &[Score]) -> Score {
    let squares = scores.iter().filter_map(|score| score.standard_error).map(|error| error * error);
    let errors = scores.iter().any(|score| score.standard_error.is_some());
    Score {
        name: scores.iter().map(|score| score.name.as_str()).collect::<Vec<_>>().join(", "),
        log_predictive: scores.iter().map(|score| score.log_predictive).sum(),
        // Their errors are those of the same draws: the sum of the absolute values bounds that of the sum.
        standard_error: errors.then(|| squares.map(f64::sqrt).sum()),
        units: scores.iter().map(|score| score.units).sum(),
        discrete: scores.iter().all(|score| score.discrete),
    }
}

impl Hidden {
    /// Whether nothing is hidden.
    fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.with_zeros || self.values.is_empty() && self.odds.is_some()
    }
}
