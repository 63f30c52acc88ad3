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
pub mod baseline;
mod batch;
mod by_component;
mod classes;
mod draws;
mod expected;
pub(crate) mod exposure;
pub mod folds;
mod given_totals;
mod joint;
mod margins;
mod mixture;
mod notes;
pub mod one_component;
mod own_factor;
mod predict;
mod request;
mod rest;
pub mod rows;
mod scorable;
mod total;
mod units;

use std::sync::OnceLock;

use cavi_algebra::{ArrayId, Atom, BlockId, Equations, Subscript, Support};
use cavi_derivation::multiplicities_of;
use cavi_executor::{Bound, BoundArray, Parameters};
use cavi_families::{Prediction, Slices};
use cavi_model::{Model, Statement};
use cavi_numerics::Threads;
use rand_chacha::ChaCha8Rng;

use crate::bind::{Binding, ByFile, DataError, Draw, Hidden, Hide, Inputs, Part, What, bind_in_part};
use crate::compare::ByEntry;
use crate::compile::Compiled;
use crate::error::Error;
use crate::prepare::{Problem, prepare};
use crate::streams;
pub use baseline::Baseline;
pub(crate) use by_component::{Makes, OfEntries, by_component};
pub(crate) use classes::is_as_given;
use draws::Source as Drawn;
pub use expected::Expected;
pub(crate) use expected::Of;
pub(crate) use joint::log_weights;
pub use one_component::{Baselines, OneComponent};
use predict::Predictor;
pub use predict::{BATCHES, DRAWS, FEWEST_DRAWS, Score};
pub(crate) use predict::{placed_letters, unflat, write_out};
pub use request::{Asked, Request};
use request::{Asking, requested};
pub use units::log_scale;
pub(crate) use units::log_scales;

/// How a block of q is drawn.
pub(crate) fn sources(equations: &Equations, bound: &Bound, block: BlockId) -> Drawn {
    Drawn::new(equations, bound, block)
}

/// The held-out part of the data.
#[derive(Clone, Debug, Default)]
pub struct HeldOut {
    /// One for each array, in the order in which they were asked for.
    pub parts: Vec<Hidden>,
    /// Whether counts at a rate are scored given the totals of their rows, as those of rows under a Multinomial are.
    pub given_totals: bool,
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

/// How the data of a statement are split; `given_totals` says that counts at a rate are scored as units of their rows.
fn way_of(model: &Model, statement: &Statement, by_file: bool, given_totals: bool) -> Way {
    let array = model.symbols.array(statement.target);
    let prediction = statement.family.prediction();
    // Rows have no missing entries: of them a file gives units. Of a count under a rate it names the entry.
    let thins = match prediction {
        Prediction::Units => true,
        Prediction::Rate => !by_file || given_totals,
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
        let mut left = axes(array);
        axes(by).iter().all(|axis| {
            let found = left.iter().position(|own| own == axis);
            found.map(|place| left.swap_remove(place)).is_some()
        })
    };
    let arrays = (0..symbols.arrays.len()).map(ArrayId::from);
    let mut all = arrays.filter(|id| symbols.array(*id).support == Support::Multiplicity);
    all.find(|by| {
        let observed = model.statements.iter().filter(|own| own.observed && weighs(own.target, *by));
        axes(statement.target).len() == axes(*by).len()
            && observed.map(|own| own.target).eq([statement.target])
    })
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
/// Everything that [`crate::bind::bind()`] and [`prepare`] refuse; arrays that cannot be held out, and those of which no fit has a score as far as that is
/// known beforehand, with the reason.
pub fn bind(
    compiled: Compiled,
    inputs: &Inputs,
    requests: &[Request],
    seed: u64,
) -> Result<(Problem, HeldOut), Error> {
    bind_by(compiled, inputs, requests, seed, false)
}

/// As [`bind`]; with `given_totals` what is held out of counts at a rate are units of their rows, and is scored given their number.
///
/// # Errors
/// As there.
pub fn bind_by(
    compiled: Compiled,
    inputs: &Inputs,
    requests: &[Request],
    seed: u64,
    given_totals: bool,
) -> Result<(Problem, HeldOut), Error> {
    let part = Part { seed, ..Part::default() };
    let (problem, held) = bind_part_by(compiled, inputs, requests, &part, given_totals)?;
    // A fit takes long, and this is known before it.
    scorable::refuse_unscored(&problem, &held, seed)?;
    Ok((problem, held))
}

/// As [`bind_by`], where more is known of the data.
///
/// # Errors
/// As there.
pub(crate) fn bind_part_by(
    compiled: Compiled,
    inputs: &Inputs,
    requests: &[Request],
    part: &Part<'_>,
    given_totals: bool,
) -> Result<(Problem, HeldOut), Error> {
    let mut ways = Vec::new();
    let mut hide = Vec::new();
    for (statement, asking) in requested(&compiled.model, "--heldout", requests)? {
        let by_file = !matches!(asking, Asking::Draw(_));
        let way = way_of(&compiled.model, statement, by_file, given_totals);
        let (what, draw) = match (asking, way) {
            // Their weights are split, and all of them stay.
            (Asking::Draw(draw), Way::Weights(_)) => (What::Nothing, Some(draw)),
            (Asking::Draw(draw), _) => (What::Drawn(draw), None),
            (Asking::Chosen(chosen), _) => (What::Chosen(chosen), None),
            (Asking::Files(files), _) => (What::Entries(files), None),
        };
        ways.push((way, draw));
        hide.push(hiding(&compiled.model, statement, what, way)?);
    }
    let part = Part { hide: &hide, frozen: None, ..*part };
    let Split { mut problem, mut held, .. } = bind_split(compiled, inputs, &part, &ways, None)?;
    held.given_totals = given_totals;
    problem.binding.held_out_by = requests.iter().map(Request::to_string).collect();
    problem.binding.held_out_by.sort();
    for own in &held.parts {
        let name = &problem.model.symbols.array(own.array).name;
        if let Some(named) = own.named.as_ref().filter(|named| named.left_out > 0) {
            problem.binding.left_out.insert(name.clone(), named.left_out);
        }
        problem.binding.warnings.extend(notes::mask(&problem.model, own));
        problem.binding.notes.extend(notes::by_file(&problem.model, own));
        problem.binding.notes.extend(own.notes.iter().cloned());
    }
    if let Some(empty) = held.parts.iter().find(|part| part.is_empty()) {
        let name = &problem.model.symbols.array(empty.array).name;
        if let Some(ByFile { files, without, .. }) = empty.named.as_ref().filter(|named| named.without > 0) {
            let what =
                if *without == 1 { "the entry".to_owned() } else { format!("any of the {without} entries") };
            return Err(DataError::new(format!(
                "nothing of `{name}` is held out: neither the data nor {files} have a value of {what} that it names"
            ))
            .help(format!("`--heldout {name}=FILE:COLUMN` says which column of the file holds the values"))
            .into());
        }
        return Err(DataError::new(format!(
            "nothing of `{name}` is held out: what was asked for is no entry"
        ))
        .help("data that have entries, a greater fraction of them, or a file that names some of them")
        .into());
    }
    Ok((problem, held))
}

/// Binds a program to a part of its data, and prepares it without the rest; of new rows with the shares of its counts that the earlier fit
/// was given.
fn bind_split(
    compiled: Compiled,
    inputs: &Inputs,
    part: &Part<'_>,
    ways: &[(Way, Option<Draw>)],
    shares: Option<&exposure::OfArrays>,
) -> Result<Split, Error> {
    let bound = bind_in_part(&compiled.model, inputs, part)?;
    let (mut binding, mut hidden) = (bound.binding, bound.hidden);
    for (number, ((way, draw), hidden)) in ways.iter().zip(&mut hidden).enumerate() {
        if let (Way::Weights(weight), Some(draw)) = (way, draw) {
            let rng = streams::SPLITS_OF_ROWS.at(number).of(part.seed);
            thin_weights(&compiled.model, &mut binding, *weight, (*draw, rng), hidden)?;
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
    for (own, (way, _)) in hidden.iter().zip(ways) {
        let is_whole =
            part.hide.iter().any(|hide| hide.array == own.array && matches!(hide.what, What::Nothing));
        if !is_whole || matches!(way, Way::Weights(_)) {
            let name = compiled.model.symbols.array(own.array).name.clone();
            binding.held_out.insert(name, own.places());
        }
    }
    let exposures = shares.map(|shares| exposure::of_given(&compiled.model, &hidden, shares));
    let compiled = exposure::exposed(compiled, &exposures.unwrap_or_default())?;
    let problem = prepare(compiled, binding)?;
    for own in &mut hidden {
        at_entries(&problem, own)?;
    }
    Ok(Split { problem, held: HeldOut { parts: hidden, ..HeldOut::default() }, dropped: bound.dropped })
}

/// Takes units out of rows of weight: out of the multiplicity of each, and into the part that is held out.
fn thin_weights(
    model: &Model,
    binding: &mut Binding,
    weight: ArrayId,
    (draw, mut rng): (Draw, ChaCha8Rng),
    hidden: &mut Hidden,
) -> Result<(), DataError> {
    let shape = binding.bound.shape(&model.symbols, weight);
    let dimensions = dimensions_of_weight(model, hidden.array, weight);
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
        let units = draw.units(*value as u64, &mut rng) as f64;
        *value -= units;
        held.push(units);
    }
    let place = |entry: usize| {
        let own = dimensions.iter().zip(&shape);
        own.fold(0, |cell, (dimension, size)| cell * size + hidden.coordinates[*dimension][entry] as usize)
    };
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

/// For each dimension of the multiplicity of an array the dimension of the array along which it runs: of `m[j, i]` beside `y[i, j]` the second, then
/// the first.
fn dimensions_of_weight(model: &Model, array: ArrayId, weight: ArrayId) -> Vec<usize> {
    let statement = model.statement_of(array).expect("what is held out has a statement");
    let letters = placed_letters(statement, &model.symbols.array(array).slice, false);
    let all = multiplicities_of(&model.symbols, statement);
    let own = all.iter().find_map(|atom| match atom {
        Atom::Value(own, subscripts) if *own == weight => Some(subscripts),
        _ => None,
    });
    let place = |subscript: &Subscript| match subscript {
        Subscript::Letter(letter) => letters.iter().position(|own| own == letter),
        Subscript::Index(..) => None,
    };
    let found: Option<Vec<usize>> = own.and_then(|own| own.iter().map(place).collect());
    found.expect("a multiplicity of rows runs along the letters of their array")
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

/// What is held out with a coordinate for each dimension: of slices that are held out as a whole the elements one by one.
pub(crate) fn by_element(problem: &Problem, hidden: &Hidden) -> Hidden {
    let symbols = &problem.equations.symbols;
    let array = symbols.array(hidden.array);
    if hidden.coordinates.len() == array.letters.len() {
        return hidden.clone();
    }
    let shape = problem.binding.bound.shape(symbols, hidden.array);
    let within: Vec<usize> = (0..shape.len()).filter(|dimension| array.slice[*dimension]).collect();
    let sizes: Vec<usize> = within.iter().map(|dimension| shape[*dimension]).collect();
    let width: usize = sizes.iter().product::<usize>().max(1);
    let column = |dimension: usize| -> Vec<u32> {
        let position = |entry: usize| match within.iter().position(|own| *own == dimension) {
            Some(place) => unflat(&sizes, entry % width)[place] as u32,
            None => {
                let place = (0..dimension).filter(|own| !within.contains(own)).count();
                hidden.coordinates[place][entry / width]
            }
        };
        (0..hidden.values.len()).map(position).collect()
    };
    let weights = |own: &Vec<f64>| own.iter().flat_map(|own| std::iter::repeat_n(*own, width)).collect();
    Hidden {
        coordinates: (0..shape.len()).map(column).collect(),
        weights: hidden.weights.as_ref().map(weights),
        ..hidden.clone()
    }
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
            let (entries, given_totals) = (&*binding.entries, held.given_totals);
            Predictor {
                model,
                equations,
                bound,
                parameters,
                seed,
                threads,
                entries,
                given_totals,
                written_out,
            }
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
    let predictor = Predictor {
        model,
        equations,
        bound,
        parameters,
        seed,
        threads,
        entries: &binding.entries,
        given_totals: held.given_totals,
        written_out: OnceLock::new(),
    };
    let each = held.parts.iter().map(|part| predictor.predict(part).map(mixture::Predicted::by_entry));
    each.map(|own| own.map_err(|diagnostic| Error::at(*diagnostic, source))).collect()
}

/// Whether what is predicted of the entries of an array is a probability; else it is a density, which may be above 1.
pub fn gives_probabilities(model: &Model, array: ArrayId) -> bool {
    let statement = model.statement_of(array);
    statement.is_some_and(|own| predict::is_discrete(model.symbols.array(array), own))
}

/// What entries of an array are expected to be under the q of a fit, in the units in which the data were given, at coordinates that have a column for
/// each dimension of the array; over so many draws where an expectation has no closed form. The pair is the seed of the draws and the number of
/// threads. An observed entry of an array that is latent where it is not is expected to be what it is.
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
    let expect = |predictor: &Predictor<'_>| predictor.expect(array, coordinates, draws, Of::Given);
    in_given_units(problem, parameters, array, coordinates, (seed, threads), &expect)
}

/// What the statement of an array says of its entries, whether they are observed or not: as [`expected`], without what an entry itself says of its factor.
///
/// # Errors
/// As there.
pub(crate) fn stated(
    problem: &Problem,
    parameters: &Parameters,
    array: ArrayId,
    coordinates: &[Vec<u32>],
    (seed, threads): (u64, usize),
) -> Result<Expected, Error> {
    let expect =
        |predictor: &Predictor<'_>| predictor.expect_by_statement(array, coordinates, (0, Of::Given), true);
    in_given_units(problem, parameters, array, coordinates, (seed, threads), &expect)
}

/// The means of [`expected`], or where data are scored `as_given` what their statement says before they are seen; of rows under a Multinomial for one unit of
/// each, whatever they were given.
///
/// # Errors
/// As there.
pub(crate) fn expected_of_one(
    problem: &Problem,
    parameters: &Parameters,
    array: ArrayId,
    coordinates: &[Vec<u32>],
    as_given: bool,
    settings: (u64, usize),
) -> Result<Vec<f64>, Error> {
    let expect = |predictor: &Predictor<'_>| match as_given {
        true => predictor.expect_by_statement(array, coordinates, (0, Of::One), false),
        false => predictor.expect(array, coordinates, 0, Of::One),
    };
    Ok(in_given_units(problem, parameters, array, coordinates, settings, &expect)?.mean)
}

/// What a predictor expects, in the units in which the data were given.
fn in_given_units(
    problem: &Problem,
    parameters: &Parameters,
    array: ArrayId,
    coordinates: &[Vec<u32>],
    (seed, threads): (u64, usize),
    expect: &dyn Fn(&Predictor<'_>) -> Result<Expected, Box<cavi_syntax::Diagnostic>>,
) -> Result<Expected, Error> {
    let given = problem.as_given();
    let Problem { source, model, equations, binding, .. } = given;
    let threads = Threads::new(threads);
    let bound = &binding.bound;
    let predictor = Predictor {
        model,
        equations,
        bound,
        parameters,
        seed,
        threads,
        entries: &binding.entries,
        given_totals: false,
        written_out: OnceLock::new(),
    };
    let mut expected = expect(&predictor).map_err(|diagnostic| Error::at(*diagnostic, source))?;
    if let Some(standardised) = binding.standardised.iter().find(|own| own.array == array) {
        standardised.undo(given, coordinates, &mut expected.mean, expected.sd.as_deref_mut());
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
        given_totals: scores.iter().all(|score| score.given_totals),
        poor: scores.iter().map(|score| score.poor).sum(),
    }
}

impl Hidden {
    /// Whether nothing is hidden.
    fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.with_zeros || self.values.is_empty() && self.odds.is_some()
    }
}
