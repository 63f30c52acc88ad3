//! Draws of latents and data: from the prior of a program, or from a fit.
//!
//! **From the prior**, statements are drawn in the order in which they read each other, each copy from its family at the values that its
//! parameters have then: an exact draw of the joint distribution `p(latents, data)` that the program states. Its factorisation, its
//! points and its bounds play no part, for they are about q.
//!
//! **From a fit**, the blocks of q are drawn independently, as q has them, and the data given these: a draw of the posterior predictive
//! distribution as q approximates it. Rows of counts keep their totals.
//!
//! Each statement has a stream of random numbers of its own, so that the same seed gives the same draw of it whatever else is drawn.

mod statement;
mod write;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cavi_algebra::{ArrayId, ArrayKind, Atom, Equations, Mode};
use cavi_derivation::multiplicities_of;
use cavi_executor::{Bound, BoundArray, Parameters};
use cavi_files::memory;
use cavi_model::{Model, Statement};
use rand::RngCore;

use crate::bind::{Binding, DataError, Inputs, Labels, Standardised, bind_to_draw};
use crate::compile::{Compiled, Source};
use crate::error::Error;
use crate::heldout::{exposure, sources, unflat, write_out};
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::row_totals::RowTotals;
use crate::rows::Repeated;
use crate::streams;
use statement::{Drawing, Drawn};
pub use write::{File, Place};

/// The total of a row of counts, where nothing says it.
pub const TOTAL: u64 = 100;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Of the draws.
    pub seed: u64,
    /// Totals of the rows of data under a Multinomial, by the name of the data.
    pub totals: Vec<(String, u64)>,
}

/// A draw of latents and data.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The program.
    pub model: Model,
    /// Sizes, constants, data that were given, and all that was drawn: latents as well, with NaN where there is no entry.
    pub bound: Bound,
    /// Labels of the axes.
    pub labels: Labels,
    /// Latents that were drawn, in the order of their statements.
    pub latents: Vec<ArrayId>,
    /// Data that were drawn.
    pub data: Vec<ArrayId>,
    /// Data whose rows have the default total.
    pub assumed: Vec<String>,
    /// Data of a fit of which some entries have no draw, where it saw none: how many are left missing, and why the first is.
    pub left_out: Vec<(String, usize, String)>,
}

/// Draws latents and data from the prior. Data that the inputs give are not drawn.
///
/// # Errors
/// What is wrong with the inputs; an axis without a size; a total for data that have none; a prior that cannot be drawn from.
pub fn from_prior(compiled: &Compiled, inputs: &Inputs, asked: &Asked) -> Result<Simulated, Error> {
    of_prior(compiled, inputs, asked, &Ok)
}

/// The same with rows of weight written out: a row of multiplicity m is drawn m times, and counts once each time.
///
/// # Errors
/// As [`from_prior`]; rows that cannot be written out.
pub(crate) fn from_prior_by_rows(
    compiled: &Compiled,
    inputs: &Inputs,
    asked: &Asked,
) -> Result<Simulated, Error> {
    of_prior(compiled, inputs, asked, &|(bound, labels)| by_rows(&compiled.model, bound, labels))
}

/// What is given to a simulation, with rows of weight written out.
///
/// # Errors
/// Rows that cannot be written out.
pub(crate) fn by_rows(model: &Model, bound: Bound, labels: Labels) -> Result<(Bound, Labels), DataError> {
    let binding = Binding { bound, labels, ..Binding::default() };
    let Binding { bound, labels, .. } = match Repeated::of(model, &binding)? {
        Some(own) => own.binding,
        None => binding,
    };
    Ok((bound, labels))
}

/// What becomes of what is given to a simulation.
type Change<'a> = dyn Fn((Bound, Labels)) -> Result<(Bound, Labels), DataError> + 'a;

fn of_prior(
    compiled: &Compiled,
    inputs: &Inputs,
    asked: &Asked,
    change: &Change<'_>,
) -> Result<Simulated, Error> {
    let model = &compiled.model;
    let is_given = |own: &Statement| {
        let name = &model.symbols.array(own.target).name;
        own.observed && inputs.data.iter().any(|input| input.name == *name)
    };
    let wanted: Vec<&Statement> = model.statements.iter().filter(|own| !is_given(own)).collect();
    let data: Vec<ArrayId> = wanted.iter().filter(|own| own.observed).map(|own| own.target).collect();
    let totals = totals(model, asked, &data)?;
    let (bound, labels) = change(bind_to_draw(model, inputs, &data)?)?;
    let assumed = wanted
        .iter()
        .filter(|own| needs_total(own) && !totals.contains_key(&own.target))
        .map(|own| model.symbols.array(own.target).name.clone())
        .collect();
    let mut simulated = Simulated {
        model: model.clone(),
        bound,
        labels,
        latents: Vec::new(),
        data: Vec::new(),
        assumed,
        left_out: Vec::new(),
    };
    let total = |array: ArrayId, _: usize| totals.get(&array).copied().unwrap_or(TOTAL) as f64;
    simulated.draw(&compiled.source, &wanted, asked.seed, &total, None)?;
    Ok(simulated)
}

/// What latents of a fit are drawn from: the factors of its blocks. Those that are implicit are worked out, each at its optimum for the
/// others, which takes as much memory as if they had been stored.
pub(crate) struct Factors<'a> {
    equations: Cow<'a, Equations>,
    parameters: Cow<'a, Parameters>,
}

impl Factors<'_> {
    /// # Errors
    /// An implicit factor that cannot be worked out.
    pub(crate) fn of(fit: &Reopened) -> Result<Factors<'_>, Error> {
        let Problem { model, equations, binding, .. } = fit.problem.as_given();
        // An implicit latent is derived as allocations of a sum, or has a factor that is not stored.
        let is_implicit = |latent: &ArrayId| {
            let stored = equations.block_of(*latent);
            stored.is_none_or(|stored| equations.block(stored).mode == Mode::Implicit)
        };
        let Some(implicit) = model.symbols.latents().find(is_implicit) else {
            return Ok(Factors {
                equations: Cow::Borrowed(equations),
                parameters: Cow::Borrowed(&fit.parameters),
            });
        };
        let program = (model, equations);
        match write_out(program, &binding.bound, &fit.parameters, 0, 1) {
            Some((equations, parameters)) => {
                Ok(Factors { equations: Cow::Owned(equations), parameters: Cow::Owned(parameters) })
            }
            None => {
                let name = &model.symbols.array(implicit).name;
                Err(DataError::new(format!(
                    "`{name}` cannot be drawn: it is implicit, and has no factor that is stored"
                ))
                .help(format!("leave `implicit {name}` out of `posterior`, and fit again"))
                .into())
            }
        }
    }
}

/// Draws latents from q, and the data given these; what the data say of rows that are complete, their totals, stays. Data that the fit
/// standardised are drawn in the units in which they were given, and counts of which a fraction was held out are drawn whole.
///
/// # Errors
/// Draws that have no value.
pub fn from_fit(fit: &Reopened, asked: &Asked) -> Result<Simulated, Error> {
    let model = exposure::restated(&fit.problem.as_given().model, &fit.exposures_of_whole());
    let mut simulated = of_factors((fit, &model), &Factors::of(fit)?, None, asked)?;
    let given = fit.problem.as_given();
    for own in &given.binding.standardised {
        if simulated.data.contains(&own.array) {
            simulated.undo(own, given);
        }
    }
    Ok(simulated)
}

impl Simulated {
    /// Takes draws of data that a fit standardised back to the units in which its data were given.
    fn undo(&mut self, own: &Standardised, given: &Problem) {
        let symbols = &self.model.symbols;
        let shape = self.bound.shape(symbols, own.array);
        let Some(mut drawn) = self.bound.arrays[own.array.index()].take() else { return };
        match &mut drawn {
            BoundArray::Dense { values, .. } => {
                let mut coordinates: Vec<Vec<u32>> = vec![Vec::with_capacity(values.len()); shape.len()];
                for cell in 0..values.len() {
                    let place = unflat(&shape, cell);
                    coordinates.iter_mut().zip(place).for_each(|(column, own)| column.push(own as u32));
                }
                own.undo(given, &coordinates, values.to_mut(), None);
            }
            BoundArray::Sparse { indices, values, .. } => {
                let coordinates: Vec<Vec<u32>> = indices.iter().map(|column| column.to_vec()).collect();
                own.undo(given, &coordinates, values.to_mut(), None);
            }
        }
        self.bound.arrays[own.array.index()] = Some(drawn);
    }
}

/// The same from factors that were worked out before, where a fit is drawn from again and again; with rows of weight written out, where they
/// are given so: each copy of a row has draws of its own.
///
/// # Errors
/// Draws that have no value.
pub(crate) fn from_factors(
    fit: &Reopened,
    factors: &Factors<'_>,
    repeated: Option<&Repeated>,
    asked: &Asked,
) -> Result<Simulated, Error> {
    of_factors((fit, &fit.problem.as_given().model), factors, repeated, asked)
}

/// Draws of a fit by the statements of a model.
fn of_factors(
    (fit, model): (&Reopened, &Model),
    factors: &Factors<'_>,
    repeated: Option<&Repeated>,
    asked: &Asked,
) -> Result<Simulated, Error> {
    let problem = fit.problem.as_given();
    let binding = repeated.map_or(&problem.binding, |own| &own.binding);
    let bound = &binding.bound;
    let wanted: Vec<&Statement> = model.statements.iter().filter(|own| own.observed).collect();
    let data: Vec<ArrayId> = wanted.iter().map(|own| own.target).collect();
    let totals = totals(model, asked, &data)?;
    let mut simulated = Simulated {
        model: model.clone(),
        bound: bound.clone(),
        labels: binding.labels.clone(),
        latents: Vec::new(),
        data: Vec::new(),
        assumed: Vec::new(),
        left_out: Vec::new(),
    };
    let mut rng = streams::SIMULATED_FROM_Q.at(0).of(asked.seed);
    for id in 0..factors.equations.blocks.len() {
        let source = sources(&factors.equations, &problem.binding.bound, id.into());
        let copies_of = |own: &ArrayId| repeated.and_then(|repeated| repeated.latent(*own));
        let members = &factors.equations.block(id.into()).members;
        let times = members.iter().filter_map(copies_of).map(|own| own.elements.len()).max().unwrap_or(1);
        let mut all: BTreeMap<ArrayId, Vec<f64>> = BTreeMap::new();
        for copy in 0..times.max(1) {
            for (variable, values) in source.draw(&factors.equations, &factors.parameters, &mut rng) {
                // Missing data that are latent are drawn with the others.
                if model.symbols.array(variable).kind != ArrayKind::Latent {
                    continue;
                }
                match copies_of(&variable) {
                    None if copy == 0 => drop(all.insert(variable, values)),
                    None => {}
                    Some(own) => {
                        let all = all.entry(variable).or_insert_with(|| vec![0.0; own.size]);
                        let elements = own.elements.get(copy).into_iter().flatten();
                        elements.for_each(|(new, old)| all[*new] = values[*old]);
                    }
                }
            }
        }
        for (variable, values) in all {
            simulated.bound.arrays[variable.index()] = Some(BoundArray::full(values));
            simulated.latents.push(variable);
        }
    }
    let symbols = &model.symbols;
    let with = wanted.iter().filter(|own| needs_total(own));
    let own: BTreeMap<ArrayId, RowTotals> =
        with.map(|own| (own.target, RowTotals::of(symbols, bound, own.target))).collect();
    let total = |array: ArrayId, first: usize| match totals.get(&array) {
        Some(total) => *total as f64,
        None => {
            let place = unflat(&bound.shape(symbols, array), first);
            own.get(&array).map_or(0.0, |own| own.at(|dimension| place[dimension]))
        }
    };
    for id in &data {
        simulated.bound.arrays[id.index()] = None;
    }
    simulated.draw(&problem.source, &wanted, asked.seed, &total, Some(bound))?;
    Ok(simulated)
}

/// Data like those of a problem, given the values of some latents: the others, `anew`, are drawn from their statements where they are not
/// held, and the data given all of them. What is missing stays missing, and rows of counts keep their totals.
///
/// # Errors
/// Draws that have no value, and data that no statement draws.
pub(crate) fn like(
    problem: &Problem,
    values: Vec<(ArrayId, Vec<f64>)>,
    anew: &BTreeSet<ArrayId>,
    rng: &mut dyn RngCore,
) -> Result<Binding, Error> {
    let Problem { model, binding, .. } = problem;
    let (symbols, bound) = (&model.symbols, &binding.bound);
    let is_drawn = |own: &&Statement| own.observed || anew.contains(&own.target);
    let wanted: Vec<&Statement> = model.statements.iter().filter(is_drawn).collect();
    let mut simulated = Simulated {
        model: model.clone(),
        bound: bound.clone(),
        labels: Labels::default(),
        latents: Vec::new(),
        data: Vec::new(),
        assumed: Vec::new(),
        left_out: Vec::new(),
    };
    for (array, own) in values {
        simulated.bound.arrays[array.index()] = Some(BoundArray::full(own));
    }
    // What is held of a latent that is drawn comes in after its draw: until then it has no values.
    for own in &wanted {
        simulated.bound.arrays[own.target.index()] = None;
    }
    let with = wanted.iter().filter(|own| own.observed && needs_total(own));
    let own: BTreeMap<ArrayId, RowTotals> =
        with.map(|own| (own.target, RowTotals::of(symbols, bound, own.target))).collect();
    let total = |array: ArrayId, first: usize| {
        let place = unflat(&bound.shape(symbols, array), first);
        own.get(&array).map_or(0.0, |own| own.at(|dimension| place[dimension]))
    };
    simulated.draw(&problem.source, &wanted, rng.next_u64(), &total, Some(bound))?;
    if let Some((name, largest)) = simulated.far().first() {
        return Err(DataError::new(format!(
            "data drawn from this fit are no data: draws of `{name}` reach {largest:.1e}"
        ))
        .possible("priors of what is a row's own that are not too vague to be drawn from")
        .help("`--rows AXIS` draws rows of the data in place of data from the fit")
        .into());
    }
    let mut arrays = bound.arrays.clone();
    for id in &simulated.data {
        let seen = bound.array(*id);
        arrays[id.index()] = Some(as_seen(seen, simulated.bound.array(*id), &bound.shape(symbols, *id)));
    }
    Ok(Binding { bound: Bound { axes: bound.axes.clone(), arrays, ..Bound::default() }, ..binding.clone() })
}

/// Gives what is held of an array its values, in a draw of all of its entries.
fn put(held: &BoundArray, shape: &[usize], drawn: &mut [f64]) {
    for (cell, value) in drawn.iter_mut().enumerate() {
        if let (own, true) = held.entry(shape, &unflat(shape, cell)) {
            *value = own;
        }
    }
}

/// A draw of all entries in the form that the data have, where these were seen.
fn as_seen(seen: &BoundArray, drawn: &BoundArray, shape: &[usize]) -> BoundArray {
    let value = |place: &[usize]| drawn.entry(shape, place).0;
    match seen {
        BoundArray::Dense { values, observed } => {
            let cells = 0..values.len();
            let values = cells.map(|cell| match observed.as_ref().is_none_or(|own| own[cell]) {
                true => value(&unflat(shape, cell)),
                false => 0.0,
            });
            BoundArray::Dense { values: values.collect(), observed: observed.clone() }
        }
        BoundArray::Sparse { indices, values, observed, unlisted_zero: false } => {
            let place = |entry: usize| -> Vec<usize> {
                indices.iter().map(|column| column[entry] as usize).collect()
            };
            let is_seen = |entry: usize| observed.as_ref().is_none_or(|own| own[entry]);
            let values =
                (0..values.len()).map(|entry| if is_seen(entry) { value(&place(entry)) } else { 0.0 });
            BoundArray::Sparse {
                indices: indices.clone(),
                values: values.collect(),
                observed: observed.clone(),
                unlisted_zero: false,
            }
        }
        BoundArray::Sparse { observed, .. } => {
            let mut indices: Vec<Vec<u32>> = vec![Vec::new(); shape.len()];
            let (mut values, mut is_seen) = (Vec::new(), Vec::new());
            for cell in 0..shape.iter().product() {
                let place = unflat(shape, cell);
                let seen = seen.entry(shape, &place).1;
                let (own, there) = drawn.entry(shape, &place);
                if seen && (own == 0.0 || !there) {
                    continue;
                }
                indices.iter_mut().zip(&place).for_each(|(column, own)| column.push(*own as u32));
                values.push(if seen { own } else { 0.0 });
                is_seen.push(seen);
            }
            let observed = observed.as_ref().map(|_| is_seen);
            BoundArray::Sparse {
                indices: indices.into_iter().map(Into::into).collect(),
                values: values.into(),
                observed,
                unlisted_zero: true,
            }
        }
    }
}

/// The total of a row of an array by the place of its first element in C order.
type Total<'a> = dyn Fn(ArrayId, usize) -> f64 + 'a;

impl Simulated {
    /// The data that were drawn and that the program computes from other data (`data y[n] = log(x[n])`): no file is bound to them.
    pub fn computed(&self) -> Vec<&str> {
        let own = self.data.iter().map(|id| self.model.symbols.array(*id));
        own.filter(|array| array.value.is_some()).map(|array| array.name.as_str()).collect()
    }

    /// The multiplicities that weigh rows of what was drawn other than once, by their names, each with the data: a value was drawn for each
    /// row, and a fit counts it as often as the row weighs.
    pub fn weighed(&self) -> Vec<(&str, &str)> {
        let symbols = &self.model.symbols;
        let drawn = self.model.statements.iter().filter(|own| self.data.contains(&own.target));
        let weighed = drawn.flat_map(|own| {
            let atoms = multiplicities_of(symbols, own).into_iter();
            atoms.filter_map(move |atom| match atom {
                Atom::Value(by, _) => Some((by, own.target)),
                _ => None,
            })
        });
        let counts = |by: ArrayId| {
            let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) = self.bound.array(by);
            values.iter().any(|own| *own != 0.0 && *own != 1.0)
        };
        let name = |id: ArrayId| symbols.array(id).name.as_str();
        weighed.filter(|(by, _)| counts(*by)).map(|(by, data)| (name(by), name(data))).collect()
    }

    /// The arrays whose draws reach so far that a prior must be too vague to be drawn from, with the largest number of each.
    pub fn far(&self) -> Vec<(&str, f64)> {
        let all = self.latents.iter().chain(&self.data);
        let largest = |id: &ArrayId| {
            let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) =
                self.bound.array(*id);
            let numbers = values.iter().map(|value| value.abs()).filter(|value| !value.is_nan());
            (self.model.symbols.array(*id).name.as_str(), numbers.fold(0.0, f64::max))
        };
        all.map(largest).filter(|(_, largest)| *largest > FAR).collect()
    }

    /// Draws statements as soon as everything that they read has its values. A program has no circle of statements. `seen` are the data of a fit, and what it holds
    /// of latents, which keep these values.
    fn draw(
        &mut self,
        source: &Arc<Source>,
        wanted: &[&Statement],
        seed: u64,
        total: &Total<'_>,
        seen: Option<&Bound>,
    ) -> Result<(), Error> {
        let mut waiting: Vec<&Statement> = wanted.to_vec();
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut rest = Vec::new();
            for statement in waiting {
                if !self.is_ready(statement) {
                    rest.push(statement);
                    continue;
                }
                let target = statement.target;
                let cells: f64 =
                    self.bound.shape(&self.model.symbols, target).iter().map(|size| *size as f64).product();
                let name = &self.model.symbols.array(target).name;
                if cells > MOST {
                    return Err(DataError::new(format!("`{name}` would have {cells:.3e} entries"))
                        .possible(format!("at most {MOST:.0e} entries of an array"))
                        .into());
                }
                // The draw, and what is drawn from.
                let needed = 2.0 * cells * size_of::<f64>() as f64;
                if memory::left().is_some_and(|left| needed > left as f64) {
                    let needed = memory::text(needed as usize);
                    return Err(DataError::new(format!("a draw of `{name}` takes {needed} of memory"))
                        .possible(memory::left_in_words())
                        .help("fewer positions on its axes (`--set AXIS=SIZE`)")
                        .into());
                }
                let mut rng = streams::SIMULATED.at(target.index()).of(seed);
                let of_row = |first: usize| total(target, first);
                let held =
                    seen.filter(|_| !statement.observed).and_then(|own| own.arrays[target.index()].as_ref());
                let seen = seen.filter(|_| statement.observed).map(|seen| seen.array(target));
                let (model, bound, labels) = (&self.model, &self.bound, &self.labels);
                let drawing = Drawing { model, bound, statement, total: &of_row, seen, labels };
                let Drawn { values: mut drawn, left_out } =
                    drawing.draw(&mut rng).map_err(|wrong| Error::at(*wrong, source))?;
                self.left_out.extend(left_out.map(|(count, reason)| (name.clone(), count, reason)));
                if let Some(held) = held {
                    put(held, &self.bound.shape(&self.model.symbols, target), &mut drawn);
                }
                let observed: Vec<bool> = drawn.iter().map(|value| !value.is_nan()).collect();
                let observed = observed.contains(&false).then_some(observed);
                self.bound.arrays[target.index()] =
                    Some(BoundArray::Dense { values: drawn.into(), observed });
                if statement.observed { self.data.push(target) } else { self.latents.push(target) }
            }
            if rest.len() == before {
                let name = |own: ArrayId| self.model.symbols.array(own).name.as_str();
                let names: Vec<&str> = rest.iter().map(|own| name(own.target)).collect();
                let mut lacking: Vec<&str> = Vec::new();
                for statement in &rest {
                    for argument in statement.arguments.iter().flatten() {
                        argument.value.visit_values(&mut |array, _| {
                            if self.bound.arrays[array.index()].is_none() && !names.contains(&name(array)) {
                                lacking.push(name(array));
                            }
                        });
                    }
                }
                lacking.dedup();
                return Err(DataError::new(format!(
                    "{} cannot be drawn: {} has no values",
                    crate::bind::list(&names),
                    crate::bind::list(&lacking)
                ))
                .into());
            }
            waiting = rest;
        }
        Ok(())
    }

    /// Whether everything that a statement reads has its values.
    fn is_ready(&self, statement: &Statement) -> bool {
        let mut is_ready = true;
        for argument in statement.arguments.iter().flatten() {
            argument
                .value
                .visit_values(&mut |array, _| is_ready &= self.bound.arrays[array.index()].is_some());
        }
        is_ready
    }
}

/// A draw beyond this says that a prior is too vague to be drawn from.
const FAR: f64 = 1e15;

/// Arrays of more entries than this are not drawn.
const MOST: f64 = 3e8;

/// Whether a draw of a statement needs a total that the program does not say.
fn needs_total(statement: &Statement) -> bool {
    statement.family.draws_total().is_some_and(|place| statement.arguments[place].is_none())
}

/// The totals that are asked for, by array.
fn totals(model: &Model, asked: &Asked, drawn: &[ArrayId]) -> Result<BTreeMap<ArrayId, u64>, DataError> {
    let mut totals = BTreeMap::new();
    let with: Vec<&Statement> =
        model.statements.iter().filter(|own| needs_total(own) && drawn.contains(&own.target)).collect();
    let names: Vec<&str> = with.iter().map(|own| model.symbols.array(own.target).name.as_str()).collect();
    for (name, total) in &asked.totals {
        let Some(place) = names.iter().position(|own| own == name) else {
            let message = format!("`--total {name}={total}`: no data of this name are drawn with a total");
            return Err(DataError::unknown(message, name, &names));
        };
        totals.insert(with[place].target, *total);
    }
    Ok(totals)
}
