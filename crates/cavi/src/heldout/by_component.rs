//! How much of each entry each component of an axis accounts for.
//!
//! The mean of a statement (of counts their rate, of units and classes their probability) is `E = r + sum_k T_k`, where the letter `k` runs over an
//! axis of components: `T_k` are the addends that hold it, and `r` all others. Where `T_k` is a product of latents that are independent under q its
//! expectation is that of the means; else it is averaged over [`DRAWS`] draws from q. A mixture, in which an index latent selects the component of an
//! entry, has the probability of each instead.

use std::ops::Range;
use std::sync::OnceLock;

use cavi_algebra::{ArrayId, AxisId, LetterId, Sum};
use cavi_derivation::copy::Copy;
use cavi_families::{Prediction, Slices};
use cavi_numerics::Threads;

use super::batch::{Batch, Place};
use super::classes::{Given, Weights};
use super::draws::Source;
use super::predict::{CHUNK, Kind, Part, Predictor};
use crate::bind::Hidden;
use crate::prepare::Problem;
use cavi_executor::Parameters;

/// How many draws an expectation without a closed form takes.
const DRAWS: usize = 40;
/// Of what is averaged over draws, at most so many numbers are kept.
const LARGEST: usize = 1 << 21;

/// What each component accounts for at some entries.
pub(crate) struct OfEntries<'a> {
    /// Which of the entries.
    pub entries: Range<usize>,
    /// How often each counts.
    pub weights: &'a [f64],
    /// For each component `T_k`, or its probability, at each entry.
    pub components: &'a [Vec<f64>],
    /// All else, `r`, at each entry.
    pub rest: &'a [f64],
    /// How the components make up the entries.
    pub makes: Makes,
}

/// How the components of an axis make up the entries of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Makes {
    /// They add up.
    Sum,
    /// One of them is chosen.
    Choice,
}

/// Calls `reduce` with what each component of an axis accounts for, at some entries of an array after another, and gives what it returns in order; `None`
/// where the statement of the array neither sums over this axis nor selects from it, or does so in another way than is told here. Values
/// are those of the entries, in the units in which the fit saw them. The pair is the seed of draws and the number of threads.
pub(crate) fn by_component<R: Send>(
    problem: &Problem,
    parameters: &Parameters,
    (array, axis): (ArrayId, AxisId),
    (coordinates, values): (&[Vec<u32>], &[f64]),
    (seed, threads): (u64, usize),
    reduce: &(dyn Fn(OfEntries<'_>) -> R + Sync),
) -> Option<Vec<R>> {
    let given = problem.as_given();
    let predictor = Predictor {
        model: &given.model,
        equations: &given.equations,
        bound: &given.binding.bound,
        parameters,
        seed,
        threads: Threads::new(threads),
        entries: &given.binding.entries,
        given_totals: false,
        written_out: OnceLock::new(),
    };
    let hidden = Hidden {
        array,
        coordinates: coordinates.to_vec(),
        values: values.to_vec(),
        odds: None,
        with_zeros: false,
        weights: None,
        named: None,
        notes: Vec::new(),
    };
    predictor.by_component(&hidden, axis, reduce)
}

/// The addends of a sum by whether they hold a letter of an axis.
struct Addends {
    /// Those that do, the letter no longer summed.
    held: Vec<(LetterId, Sum)>,
    rest: Sum,
}

impl Addends {
    /// `None` where an addend sums over the axis twice, or none does.
    fn of(copy: &Copy, value: &Sum, axis: AxisId) -> Option<Addends> {
        let (mut held, mut rest) = (Vec::new(), Sum { terms: Vec::new() });
        for term in &value.terms {
            let is_on = |letter: &&LetterId| copy.symbols.letter(**letter).axis == axis;
            let letters: Vec<LetterId> = term.sums.iter().filter(is_on).copied().collect();
            match letters[..] {
                [] => rest.terms.push(term.clone()),
                [letter] => {
                    let mut own = term.clone();
                    own.sums.retain(|other| *other != letter);
                    held.push((letter, Sum { terms: vec![own] }));
                }
                _ => return None,
            }
        }
        (!held.is_empty()).then_some(Addends { held, rest })
    }
}

/// What is evaluated.
enum What {
    Addends(Addends),
    /// The places of the index latents that select from the axis, each of which accounts for as much (an edge between nodes of two groups
    /// is half of the one and half of the other); whether weights are those before the entry was seen.
    Selections {
        places: Vec<usize>,
        is_prior: bool,
    },
}

impl Predictor<'_> {
    fn by_component<R: Send>(
        &self,
        hidden: &Hidden,
        axis: AxisId,
        reduce: &(dyn Fn(OfEntries<'_>) -> R + Sync),
    ) -> Option<Vec<R>> {
        let statement = self.model.statement_of(hidden.array)?;
        let copy = self.copy(statement).ok()?;
        // Of a slice that is one observation no element has a density of its own, so that the factor of an implicit class is needed. Elsewhere its
        // statement and the density of the entry say the same without a number for each entry and class.
        let prediction = statement.family.prediction();
        let is_of_slices = prediction == Prediction::Density && statement.family.slices() != Slices::None;
        let given = if is_of_slices { Given::All } else { Given::None };
        if self.reads_implicit(statement, &copy, given) {
            let (equations, parameters) = self.written_out.get_or_init(|| self.write_out()).as_ref()?;
            let threads = Threads::new(self.threads.count());
            let other = Predictor { equations, parameters, threads, written_out: OnceLock::new(), ..*self };
            return other.by_component(hidden, axis, reduce);
        }
        let mut copy = copy;
        let own = copy.selections.len();
        let weights = self.all_weights(statement, &mut copy, Given::All).ok()?;
        let selected = |place: &usize| copy.symbols.letter(copy.selections[*place].class).axis == axis;
        let places: Vec<usize> = (0..own).filter(selected).collect();
        let is_prior = places.iter().any(|place| matches!(weights[*place], Weights::Statement(_)));
        let what = match places.is_empty() {
            false => What::Selections { places, is_prior },
            true => {
                // Where the mean is no one parameter, nothing adds up to it.
                let is_mean = matches!(statement.family.mean_is(), [0]) || prediction == Prediction::Class;
                let argument = copy.arguments.first()?.as_ref().filter(|_| is_mean)?;
                What::Addends(Addends::of(&copy, &argument.value, axis)?)
            }
        };
        let kind = match prediction {
            Prediction::Class => Kind::Class,
            Prediction::Units => Kind::Unit,
            Prediction::Trial | Prediction::Rate | Prediction::Density => Kind::Density,
        };
        let slice = &self.model.symbols.array(hidden.array).slice;
        let part = Part {
            copy: &copy,
            weights,
            kind,
            letters: super::predict::placed_letters(statement, slice, false),
            hidden,
            width: 1,
            slices: vec![None; slice.len()],
        };
        let count = self.bound.size(axis);
        let makes = if matches!(what, What::Addends(_)) { Makes::Sum } else { Makes::Choice };
        self.reduced(&part, (&what, makes), count, reduce)
    }

    fn reduced<R: Send>(
        &self,
        part: &Part<'_>,
        (what, makes): (&What, Makes),
        count: usize,
        reduce: &(dyn Fn(OfEntries<'_>) -> R + Sync),
    ) -> Option<Vec<R>> {
        let entries = part.hidden.values.len();
        let chunks = entries.div_ceil(CHUNK);
        let range = |chunk: usize| chunk * CHUNK..entries.min((chunk + 1) * CHUNK);
        let weights = self.row_weights(part);
        let read = self.read(part);
        let blocks: std::collections::BTreeSet<_> =
            read.iter().filter_map(|array| self.equations.block_of(*array)).collect();
        let first = part.copy.arguments.first().and_then(Option::as_ref).map(|argument| &argument.value);
        let certain = blocks.iter().all(|block| super::draws::is_certain(self.equations, *block));
        let is_exact =
            certain || matches!(what, What::Selections { .. }) || self.is_product_of_independent(part, first);
        let shapes = self.shapes();
        if is_exact && let Some(means) = self.means(&read) {
            let world = self.world(part, &means, &shapes);
            return Some(self.threads.map(chunks, |chunk| {
                let entries = range(chunk);
                let mut batch = self.batch(part, &world, entries.clone());
                let mut columns = self.accounted(part, what, count, &mut batch, &entries);
                let rest = columns.pop().unwrap_or_default();
                let weights = &weights[entries.clone()];
                reduce(OfEntries { entries, weights, components: &columns, rest: &rest, makes })
            }));
        }
        if entries.saturating_mul(count + 1) > LARGEST {
            return None;
        }
        let sources: Vec<Source> =
            blocks.iter().map(|block| Source::new(self.equations, self.bound, *block)).collect();
        let mut sums: Vec<Vec<Vec<f64>>> =
            (0..chunks).map(|chunk| vec![vec![0.0; range(chunk).len()]; count + 1]).collect();
        for draw in 0..DRAWS {
            let drawn = self.drawn(&sources, draw);
            let world = self.world(part, &drawn, &shapes);
            let own = self.threads.map(chunks, |chunk| {
                let mut batch = self.batch(part, &world, range(chunk));
                self.accounted(part, what, count, &mut batch, &range(chunk))
            });
            let all = sums.iter_mut().flatten().flatten().zip(own.into_iter().flatten().flatten());
            all.for_each(|(sum, own)| *sum += own / DRAWS as f64);
        }
        let reduced = sums.into_iter().enumerate().map(|(chunk, mut columns)| {
            let rest = columns.pop().unwrap_or_default();
            let (entries, weights) = (range(chunk), &weights[range(chunk)]);
            reduce(OfEntries { entries, weights, components: &columns, rest: &rest, makes })
        });
        Some(reduced.collect())
    }

    /// What each component accounts for in a world, and last what none does.
    fn accounted(
        &self,
        part: &Part<'_>,
        what: &What,
        count: usize,
        batch: &mut Batch<'_>,
        entries: &Range<usize>,
    ) -> Vec<Vec<f64>> {
        let size = batch.count();
        let mut columns = vec![vec![0.0; size]; count + 1];
        let mut largest = vec![f64::NEG_INFINITY; size];
        let values = &part.hidden.values[entries.clone()];
        let argument = part.copy.arguments.iter().flatten().next();
        let sizes: Vec<usize> = part
            .copy
            .selections
            .iter()
            .map(|own| self.bound.size_of(&part.copy.symbols, own.class))
            .collect();
        let mut combination = 0;
        self.each_selection(part, batch, &mut |batch, weight| {
            let chosen = super::unflat(&sizes, combination);
            combination += 1;
            match (part.kind, argument) {
                (Kind::Class, Some(argument)) => {
                    let classes = values.iter().map(|value| *value as u32).collect();
                    batch.place(argument.letters[0], Place::Each(std::rc::Rc::new(classes)));
                }
                (Kind::Unit, Some(argument)) => self.place_slice(part, batch, argument, entries),
                _ => {}
            }
            let add = |columns: &mut [Vec<f64>], column: usize, own: Vec<f64>| {
                let column = columns[column].iter_mut().zip(own).zip(weight);
                column.for_each(|((sum, own), weight)| *sum += weight * own);
            };
            match what {
                What::Addends(Addends { held, rest }) => {
                    add(&mut columns, count, batch.sum(rest).spread(size));
                    for component in 0..count {
                        for (letter, addend) in held {
                            batch.place(*letter, Place::One(component));
                            add(&mut columns, component, batch.sum(addend).spread(size));
                            batch.clear(*letter);
                        }
                    }
                }
                What::Selections { places, is_prior } => {
                    let likelihood = match (is_prior, part.kind, argument) {
                        (false, ..) => vec![1.0; size],
                        (true, Kind::Class | Kind::Unit, Some(argument)) => {
                            batch.sum(&argument.value).spread(size)
                        }
                        (true, ..) => {
                            // In units of the entry's largest density so far, which may be smaller than any number.
                            let logs = batch.log_density(&part.copy.log_density);
                            let each = logs.into_iter().zip(weight).enumerate();
                            each.map(|(entry, (log, weight))| {
                                if *weight > 0.0 && log > largest[entry] {
                                    let change = cavi_numerics::special::exp(largest[entry] - log);
                                    columns.iter_mut().for_each(|column| column[entry] *= change);
                                    largest[entry] = log;
                                }
                                match log > f64::NEG_INFINITY && *weight > 0.0 {
                                    true => cavi_numerics::special::exp(log - largest[entry]),
                                    false => 0.0,
                                }
                            })
                            .collect()
                        }
                    };
                    for place in places {
                        add(&mut columns, chosen[*place], likelihood.clone());
                    }
                }
            }
        });
        if matches!(what, What::Selections { .. }) {
            for entry in 0..size {
                let all: f64 = columns.iter().map(|column| column[entry]).sum();
                if all > 0.0 {
                    columns.iter_mut().for_each(|column| column[entry] /= all);
                }
            }
        }
        columns
    }
}
