//! How well held-out data are predicted: `sum log E_q p(y | latents)`, over entries, or over units for counts.
//!
//! An entry of an array that other statements read is latent where it is hidden, and has a factor of q: its score is `log q(y)`, since
//! what stands below it tells of it too.
//!
//! An index latent that selects the parameters of an entry is summed out, `sum_c w_c p(y | c)` (`classes.rs`).
//!
//! Where a probability or a rate is a sum of products of latents that are independent under q, its expectation is the same sum of
//! products of their means, and exact. Everything else is the log of an average over draws from q. The draws are the same for
//! all entries; the standard error of the sum is that of the averages over [`BATCHES`] batches of them, carried through the logarithm to first order.
//! Where q is wide against the noise, few draws come near an entry, and the log of their average is too low by more than that error says: entries
//! whose average rests on fewer than [`FEWEST_DRAWS`] draws have up to 100 times as many, and those that this does not help are counted.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::OnceLock;

use cavi_algebra::{
    Array, ArrayId, ArrayKind, Atom, BlockId, Equations, LetterId, Mode, Subscript, Sum, Support, Symbols,
};
use cavi_derivation::copy::Copy;
use cavi_executor::{Bound, BoundArray, Executor, Item, Parameters, Schedule};
use cavi_families::{Argument, DataKind, Prediction, Slices};
use cavi_model::{Model, Statement};
use cavi_numerics::Threads;
use cavi_numerics::special::{exp, ln};
use cavi_syntax::Diagnostic;
use smallvec::SmallVec;

use super::averages::{Effective, LogAverage, LogSum};
use super::batch::{Batch, Place, Target, Value, World};
use super::classes::Weights;
use super::draws::{Source, is_certain};
use super::mixture::Predicted;
use super::scorable::{IMPLICIT, TOO_MANY};
use crate::bind::{Existing, Hidden};
use crate::means::mean;
use crate::prepare::EntryAxis;
use crate::prepare::written_out::written_out;
use crate::rows::RowWeights;
use crate::streams;

/// How many draws from q an expectation without a closed form takes.
pub const DRAWS: usize = 200;
/// Into how many batches they fall.
pub const BATCHES: usize = 10;
/// An average that rests on fewer draws is poor (`(sum w)^2 / sum w^2`, of the densities w of an entry at the draws).
pub const FEWEST_DRAWS: f64 = 10.0;
/// So many draws are taken for the entries whose averages are poor; the second time for those that still are.
const MORE_DRAWS: [usize; 2] = [2_000, 20_000];
/// The most numbers that are drawn for the sake of poor averages, and evaluated.
const MOST_NUMBERS: usize = 1 << 26;
/// Entries evaluated at once.
pub(super) const CHUNK: usize = 512;
/// More entries than these are not written out to be scored one by one.
pub(super) const LARGEST: usize = 1 << 26;

/// How well the held-out part of an array is predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// The array.
    pub name: String,
    /// `sum log E_q p(y | latents)`.
    pub log_predictive: f64,
    /// Of what over draws from q was averaged, the standard error of that sum; `None` where it is exact.
    pub standard_error: Option<f64>,
    /// How many entries, or units of counts.
    pub units: f64,
    /// Whether what is predicted has a probability; else it has a density.
    pub discrete: bool,
    /// Whether what is scored are units given how many their row has: of rows under a Multinomial, classes, and counts at a rate where
    /// that was asked for.
    pub given_totals: bool,
    /// At how many entries the average over draws from q rests on fewer than [`FEWEST_DRAWS`] of them, after more were taken there: there q is wide against the noise, and the score is
    /// likely too low, by more than its standard error says.
    pub poor: usize,
}

impl Score {
    /// The sum over units divided by their number; `None` without a unit.
    pub fn per_unit(&self) -> Option<f64> {
        (self.units > 0.0).then(|| self.log_predictive / self.units)
    }

    /// `exp(-per_unit)` of units that are scored given how many their row has: of how many equally probable words (items, classes)
    /// each is chosen as it were. The score of a count at a rate, of a trial or of a number is none such.
    pub fn perplexity(&self) -> Option<f64> {
        self.per_unit().filter(|_| self.given_totals).map(|per_unit| exp(-per_unit))
    }
}

/// The equations and factors of a program with nothing implicit: what was is at its optimum for the others. `None` where the program
/// has no equations without implicit factors.
pub(crate) fn write_out(
    (model, equations): (&Model, &Equations),
    bound: &Bound,
    parameters: &Parameters,
    seed: u64,
    threads: usize,
) -> Option<(Equations, Parameters)> {
    let written = written_out(model)?;
    let mut all = cavi_executor::start(&written, bound, seed);
    let mut items = Vec::new();
    for (index, block) in written.blocks.iter().enumerate() {
        let stored = equations.block_of(block.members[0]);
        match stored.filter(|stored| equations.block(*stored).mode != Mode::Implicit) {
            Some(stored) => all.blocks[index].clone_from(&parameters.blocks[stored.index()]),
            None => items.push(Item::block(BlockId::from(index))),
        }
    }
    let mut executor = Executor::new(&written, bound, all, threads).ok()?;
    executor.sweep(&Schedule { items }).ok()?;
    let all = executor.parameters().clone();
    Some((written, all))
}

/// What a prediction is made from.
pub(super) struct Predictor<'a> {
    pub model: &'a Model,
    pub equations: &'a Equations,
    pub bound: &'a Bound,
    pub parameters: &'a Parameters,
    pub seed: u64,
    pub threads: Threads,
    /// The axes of listed entries that the program was restated over.
    pub entries: &'a [EntryAxis],
    /// Whether counts at a rate are scored given the totals of their rows.
    pub given_totals: bool,
    /// Equations in which nothing is implicit, and their parameters, once they were needed.
    pub written_out: OnceLock<Option<(Equations, Parameters)>>,
}

/// What an entry has in a world.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The probability of the class of the value.
    Class,
    /// The probability of 0 or 1.
    Trial,
    /// The probability of one unit.
    Unit,
    /// The rate at which units arrive.
    Rate,
    /// Its density.
    Density,
}

/// What came of the evaluation of a held-out part.
struct Evaluated {
    /// The log of the prediction of each entry, in each batch of draws; one batch where it is exact.
    batches: Vec<Vec<f64>>,
    /// What is subtracted beside the logs, in each batch.
    rests: Vec<f64>,
    /// On how many draws the average of each entry rests; nothing where it is exact.
    effective: Vec<f64>,
}

/// A held-out part, ready to be evaluated.
pub(super) struct Part<'a> {
    pub copy: &'a Copy,
    pub weights: Vec<Weights>,
    pub kind: Kind,
    pub letters: Vec<LetterId>,
    pub hidden: &'a Hidden,
    /// Numbers of a slice.
    pub width: usize,
    /// For each dimension of the array the size of a slice that stands in the values.
    pub slices: Vec<Option<usize>>,
}

impl Predictor<'_> {
    /// The prediction of the held-out part of an array.
    pub(super) fn predict(&self, hidden: &Hidden) -> Result<Predicted, Box<Diagnostic>> {
        let statement = self.model.statement_of(hidden.array).expect("what is held out has a statement");
        let array = self.model.symbols.array(hidden.array);
        let refuse = |reason: &str| self.unscored(statement, reason);
        let mut copy = self.copy(statement).map_err(|reason| refuse(&reason))?;
        let given = Self::given_of_scored(hidden);
        if self.reads_implicit(statement, &copy, given) || self.has_implicit_factor(hidden.array) {
            let written_out = self.written_out.get_or_init(|| self.write_out());
            let Some((equations, parameters)) = written_out else {
                return Err(refuse(IMPLICIT));
            };
            let threads = Threads::new(self.threads.count());
            let other = Predictor { equations, parameters, threads, written_out: OnceLock::new(), ..*self };
            return other.predict(hidden);
        }
        let kind = self.kind(statement, hidden);
        let written_out;
        let hidden = match hidden.with_zeros && !matches!(kind, Kind::Unit | Kind::Rate) {
            true => {
                written_out = self.with_zeros(statement, kind, hidden).ok_or_else(|| refuse(TOO_MANY))?;
                &written_out
            }
            false => hidden,
        };
        let own = self.logs_of_own_factor(hidden, statement, kind);
        let weights = match &own {
            Some(_) => Vec::new(),
            None => self.all_weights(statement, &mut copy, given).map_err(|reason| refuse(&reason))?,
        };
        let part = self.part(statement, &copy, weights, kind, hidden);
        let Evaluated { batches, rests, effective } = match own {
            Some(logs) => Evaluated { batches: vec![logs], rests: vec![0.0], effective: Vec::new() },
            None => self.evaluate(&part).map_err(refuse)?,
        };
        let (name, counts) = (array.name.clone(), self.counts(&part));
        let given_totals = self.is_given_totals(kind);
        let of_nothing = kind == Kind::Rate && !given_totals;
        let discrete = is_discrete(array, statement);
        Ok(Predicted { name, discrete, given_totals, counts, of_nothing, batches, rests, effective })
    }

    /// One copy of a statement.
    ///
    /// # Errors
    /// In words, why there is none.
    pub(super) fn copy(&self, statement: &Statement) -> Result<Copy, String> {
        self.copy_on(&self.equations.symbols, statement)
    }

    pub(super) fn copy_on(&self, symbols: &Symbols, statement: &Statement) -> Result<Copy, String> {
        cavi_derivation::copy::copy(self.model, symbols, statement, &|axis| self.bound.size(axis))
    }

    /// What an entry of this part has.
    pub(super) fn kind(&self, statement: &Statement, hidden: &Hidden) -> Kind {
        let support = self.model.symbols.array(hidden.array).support;
        match statement.family.prediction() {
            Prediction::Class => Kind::Class,
            Prediction::Trial if support == Support::Binary => Kind::Trial,
            Prediction::Units => Kind::Unit,
            Prediction::Rate if self.given_totals || hidden.odds.is_some() => Kind::Rate,
            Prediction::Rate | Prediction::Trial | Prediction::Density => Kind::Density,
        }
    }

    /// Whether what is scored are units given how many their row has.
    pub(super) fn is_given_totals(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Unit | Kind::Class) || kind == Kind::Rate && self.given_totals
    }

    /// A held-out part of the data of a statement.
    pub(super) fn part<'p>(
        &self,
        statement: &Statement,
        copy: &'p Copy,
        weights: Vec<Weights>,
        kind: Kind,
        hidden: &'p Hidden,
    ) -> Part<'p> {
        let array = self.model.symbols.array(hidden.array);
        let whole = is_of_slices(statement, kind);
        let slices = self.slices(array, whole);
        let letters = placed_letters(statement, &array.slice, whole);
        let width = slices.iter().flatten().product();
        Part { copy, weights, kind, letters, hidden, width, slices }
    }

    /// For each dimension of an array the size of a slice that stands in the values, where slices are one observation as a `whole`.
    fn slices(&self, array: &Array, whole: bool) -> Vec<Option<usize>> {
        let size = |letter: &LetterId| self.bound.size_of(&self.model.symbols, *letter);
        let each = array.letters.iter().zip(&array.slice);
        each.map(|(letter, slice)| (whole && *slice).then(|| size(letter))).collect()
    }

    /// An array's observed zeros written out with its other entries; where slices are one observation, slice by slice. `None` where there are
    /// too many.
    pub(super) fn with_zeros(&self, statement: &Statement, kind: Kind, hidden: &Hidden) -> Option<Hidden> {
        let shape = self.bound.shape(&self.model.symbols, hidden.array);
        let cells = shape.iter().try_fold(1_usize, |cells, size| cells.checked_mul(*size))?;
        if cells > LARGEST {
            return None;
        }
        let array = self.model.symbols.array(hidden.array);
        let bound = self.bound.array(hidden.array);
        let is_within: Vec<bool> =
            self.slices(array, is_of_slices(statement, kind)).iter().map(Option::is_some).collect();
        let sizes = |within: bool| -> Vec<usize> {
            let own = shape.iter().zip(&is_within).filter(|(_, own)| **own == within);
            own.map(|(size, _)| *size).collect()
        };
        let (outer, inner) = (sizes(false), sizes(true));
        let width: usize = inner.iter().product();
        let mut out = Hidden {
            coordinates: vec![Vec::new(); outer.len()],
            values: Vec::new(),
            with_zeros: false,
            ..hidden.clone()
        };
        let existing = Existing::of(&self.model.symbols, &self.bound.axes, array);
        let mut values = Vec::with_capacity(width);
        for entry in 0..outer.iter().product() {
            let own = unflat(&outer, entry);
            values.clear();
            for element in 0..width {
                let (mut plates, mut slices) = (own.iter(), unflat(&inner, element).into_iter());
                let place: SmallVec<[usize; 4]> = is_within
                    .iter()
                    .map(|within| if *within { slices.next() } else { plates.next().copied() })
                    .map(|position| position.expect("a position for each dimension"))
                    .collect();
                let (value, seen) = bound.entry(&shape, &place);
                values.extend((seen && existing.is_there(&place)).then_some(value));
            }
            if values.len() == width {
                out.coordinates.iter_mut().zip(&own).for_each(|(column, own)| column.push(*own as u32));
                out.values.extend(&values);
            }
        }
        Some(out)
    }

    /// The equations and factors of the program with nothing implicit.
    pub(super) fn write_out(&self) -> Option<(Equations, Parameters)> {
        write_out((self.model, self.equations), self.bound, self.parameters, self.seed, self.threads.count())
    }

    /// The latents that a prediction reads.
    pub(super) fn read(&self, part: &Part<'_>) -> BTreeSet<ArrayId> {
        let mut read = BTreeSet::new();
        let mut visit = |sum: &Sum| {
            latents_in(sum, &mut |array| {
                if self.equations.symbols.array(array).kind == ArrayKind::Latent {
                    read.insert(array);
                }
            });
        };
        part.copy.arguments.iter().flatten().for_each(|argument| visit(&argument.value));
        for weights in &part.weights {
            if let Some(probabilities) = weights.probabilities() {
                visit(probabilities);
            }
        }
        read
    }

    /// Whether what is predicted is a sum of products of latents that are independent under q.
    fn is_linear(&self, part: &Part<'_>) -> bool {
        let value = match part.kind {
            Kind::Density => return false,
            Kind::Class | Kind::Trial | Kind::Unit | Kind::Rate => {
                part.copy.arguments.iter().flatten().next().map(|argument| &argument.value)
            }
        };
        self.is_product_of_independent(part, value)
    }

    /// Whether the product of some arguments, and of the weights of classes, is a sum of products of latents that are independent
    /// under q. Two elements of one variable are where the declaration of the data says that they are not one (`d[i] * d[j]` of `i < j`) and q has
    /// a factor for each.
    pub(super) fn is_product_of_independent<'s>(
        &self,
        part: &'s Part<'_>,
        values: impl IntoIterator<Item = &'s Sum>,
    ) -> bool {
        let statements = part.weights.iter().filter_map(Weights::probabilities);
        let mut seen: BTreeSet<BlockId> = BTreeSet::new();
        for sum in values.into_iter().chain(statements) {
            let mut own: BTreeSet<BlockId> = BTreeSet::new();
            for term in &sum.terms {
                let mut in_term: Vec<(BlockId, &Atom)> = Vec::new();
                for factor in &term.factors {
                    let mut uncertain: Vec<BlockId> = Vec::new();
                    let single = Sum::atom(factor.atom.clone());
                    latents_in(&single, &mut |array| {
                        let block = self.equations.block_of(array);
                        uncertain.extend(block.filter(|block| !is_certain(self.equations, *block)));
                    });
                    let simple = matches!(factor.atom, Atom::Value(..)) && factor.power == 1;
                    if !(uncertain.is_empty() || simple && uncertain.len() == 1) {
                        return false;
                    }
                    for block in uncertain {
                        let is_same = |(other, atom): &(BlockId, &Atom)| {
                            *other == block && !self.are_apart(part, block, [atom, &factor.atom])
                        };
                        if in_term.iter().any(is_same) {
                            return false;
                        }
                        in_term.push((block, &factor.atom));
                    }
                }
                own.extend(in_term.into_iter().map(|(block, _)| block));
            }
            if own.iter().any(|block| seen.contains(block)) {
                return false;
            }
            seen.extend(own);
        }
        true
    }

    /// Whether two elements are of one variable and of different copies of its factor, since a restriction of the data keeps letters apart that
    /// number the copies.
    fn are_apart(&self, part: &Part<'_>, block: BlockId, elements: [&Atom; 2]) -> bool {
        let [Atom::Value(one, left), Atom::Value(other, right)] = elements else { return false };
        let data = part.hidden.array;
        let (Some(restriction), Some(statement)) =
            (self.model.symbols.array(data).restriction, self.model.statement_of(data))
        else {
            return false;
        };
        let declared = &self.model.symbols.array(data).letters;
        let written = self.model.target_letters(statement);
        let (first, _, second) = restriction.parts();
        let at = |letter: LetterId| Some(written[declared.iter().position(|own| *own == letter)?]);
        let pair = [at(first), at(second)];
        let block = self.equations.block(block);
        let Some(member) = block.members.iter().position(|own| own == one) else { return false };
        let letters = &self.equations.symbols.array(*one).letters;
        let is_apart = |(place, letter): (usize, &LetterId)| match (left.get(place), right.get(place)) {
            (Some(Subscript::Letter(a)), Some(Subscript::Letter(b))) => {
                let both = [Some(*a), Some(*b)];
                let is_pair = both == pair || both == [pair[1], pair[0]];
                is_pair && block.member_plates[member].contains(letter)
            }
            _ => false,
        };
        one == other && letters.iter().enumerate().any(is_apart)
    }

    /// The log of the prediction of each entry and what is subtracted beside it, in each batch of draws.
    ///
    /// # Errors
    /// In words, why there is none.
    fn evaluate(&self, part: &Part<'_>) -> Result<Evaluated, &'static str> {
        let read = self.read(part);
        let blocks: BTreeSet<BlockId> =
            read.iter().filter_map(|array| self.equations.block_of(*array)).collect();
        let certain = blocks.iter().all(|block| is_certain(self.equations, *block));
        let means = (certain || self.is_linear(part)).then(|| self.means(&read)).flatten();
        let shapes = self.shapes();
        if let Some(means) = means {
            let world = self.world(part, &means, &shapes);
            let (batches, rests) = (vec![self.logs(part, &world)?], vec![self.rest(part, &world)]);
            return Ok(Evaluated { batches, rests, effective: Vec::new() });
        }
        let sources: Vec<Source> =
            blocks.iter().map(|block| Source::new(self.equations, self.bound, *block)).collect();
        let mut evaluated = self.averaged(part, &sources, DRAWS, &shapes)?;
        self.draw_more(part, &sources, &shapes, &mut evaluated)?;
        Ok(evaluated)
    }

    /// The averages over so many draws.
    ///
    /// # Errors
    /// In words, why there are none.
    fn averaged(
        &self,
        part: &Part<'_>,
        sources: &[Source],
        draws: usize,
        shapes: &[Vec<usize>],
    ) -> Result<Evaluated, &'static str> {
        let entries = part.hidden.values.len() / part.width.max(1);
        let mut batches: Vec<Vec<f64>> = Vec::with_capacity(BATCHES);
        let mut rests: Vec<f64> = Vec::with_capacity(BATCHES);
        let mut effective = Effective::new(entries);
        let size = draws / BATCHES;
        for batch in 0..BATCHES {
            let mut average = LogAverage::new(entries);
            let mut rest = 0.0;
            for draw in batch * size..(batch + 1) * size {
                let drawn = self.drawn(sources, draw);
                let world = self.world(part, &drawn, shapes);
                let logs = self.logs(part, &world)?;
                average.add(&logs);
                effective.add(&logs);
                rest += self.rest(part, &world) / size as f64;
            }
            batches.push(average.finish());
            rests.push(rest);
        }
        Ok(Evaluated { batches, rests, effective: effective.finish() })
    }

    /// Takes more draws for the entries whose averages rest on few of them, as long as these are no more numbers than [`MOST_NUMBERS`]. Given the
    /// totals of rows an entry is predicted with all others of its row, and has no average of its own.
    ///
    /// # Errors
    /// In words, why there are none.
    fn draw_more(
        &self,
        part: &Part<'_>,
        sources: &[Source],
        shapes: &[Vec<usize>],
        evaluated: &mut Evaluated,
    ) -> Result<(), &'static str> {
        if part.kind == Kind::Rate {
            return Ok(());
        }
        for draws in MORE_DRAWS {
            let is_poor = |entry: &usize| evaluated.effective[*entry] < FEWEST_DRAWS;
            let poor: Vec<usize> = (0..evaluated.effective.len()).filter(is_poor).collect();
            let drawn: usize = sources.iter().map(Source::numbers).sum();
            if poor.is_empty() || draws.saturating_mul(drawn + poor.len() * part.width) > MOST_NUMBERS {
                return Ok(());
            }
            let hidden = entries_of(part.hidden, &poor, part.width);
            let own = Part {
                weights: part.weights.clone(),
                letters: part.letters.clone(),
                slices: part.slices.clone(),
                hidden: &hidden,
                ..*part
            };
            let found = self.averaged(&own, sources, draws, shapes)?;
            for (place, entry) in poor.into_iter().enumerate() {
                evaluated.effective[entry] = found.effective[place];
                let batches = evaluated.batches.iter_mut().zip(&found.batches);
                batches.for_each(|(all, own)| all[entry] = own[place]);
            }
        }
        Ok(())
    }

    /// The means of latents; `None` where one has none of its own.
    pub(super) fn means(&self, read: &BTreeSet<ArrayId>) -> Option<Vec<(ArrayId, BoundArray)>> {
        let own = |array: &ArrayId| {
            let own = mean(self.equations, self.bound, self.parameters, *array)?;
            Some((*array, self.observed_in(*array, own.values)))
        };
        read.iter().map(own).collect()
    }

    /// The draw of this number of all variables of some blocks.
    pub(super) fn drawn(&self, sources: &[Source], draw: usize) -> Vec<(ArrayId, BoundArray)> {
        let mut rng = streams::OF_Q.at(draw).of(self.seed);
        let mut drawn: Vec<(ArrayId, BoundArray)> = Vec::new();
        for source in sources {
            let own = source.draw(self.equations, self.parameters, &mut rng);
            drawn.extend(own.into_iter().map(|(array, own)| (array, BoundArray::full(own))));
        }
        drawn
    }

    /// How often each entry counts: the units of a count, the units of a row, or its multiplicity.
    fn counts(&self, part: &Part<'_>) -> Vec<f64> {
        let weights = self.row_weights(part);
        match part.kind {
            Kind::Unit | Kind::Rate => {
                part.hidden.values.iter().zip(weights).map(|(x, own)| x * own).collect()
            }
            Kind::Class | Kind::Trial | Kind::Density => weights,
        }
    }

    /// The held-out units of each row of weight, or its multiplicity; 1 where a row has none.
    pub(super) fn row_weights(&self, part: &Part<'_>) -> Vec<f64> {
        if let Some(weights) = &part.hidden.weights {
            return weights.clone();
        }
        let weights = RowWeights::of(&part.copy.symbols, self.bound, &part.copy.weights, &part.letters);
        let coordinates = &part.hidden.coordinates;
        let entries = 0..part.hidden.values.len() / part.width.max(1);
        entries.map(|entry| weights.at(|dimension| coordinates[dimension][entry] as usize)).collect()
    }

    pub(super) fn shapes(&self) -> Vec<Vec<usize>> {
        let symbols = &self.equations.symbols;
        (0..symbols.arrays.len()).map(|index| self.bound.shape(symbols, ArrayId::from(index))).collect()
    }

    /// Data and constants, and these values of latents.
    pub(super) fn world<'w>(
        &'w self,
        part: &'w Part<'_>,
        latents: &'w [(ArrayId, BoundArray)],
        shapes: &'w [Vec<usize>],
    ) -> World<'w> {
        let mut arrays: Vec<Option<&BoundArray>> = self.bound.arrays.iter().map(Option::as_ref).collect();
        latents.iter().for_each(|(array, values)| arrays[array.index()] = Some(values));
        World { symbols: &part.copy.symbols, axes: &self.bound.axes, arrays, shapes }
    }

    /// What is observed of a variable stays as it is.
    pub(super) fn observed_in(&self, array: ArrayId, mut values: Vec<f64>) -> BoundArray {
        if let Some(bound) = &self.bound.arrays[array.index()] {
            let shape = self.bound.shape(&self.model.symbols, array);
            for (cell, value) in values.iter_mut().enumerate() {
                let (own, seen) = bound.entry(&shape, &unflat(&shape, cell));
                if seen {
                    *value = own;
                }
            }
        }
        BoundArray::full(values)
    }

    /// Some entries in a world.
    pub(super) fn batch<'w>(
        &self,
        part: &'w Part<'_>,
        world: &'w World<'w>,
        entries: std::ops::Range<usize>,
    ) -> Batch<'w> {
        let hidden = part.hidden;
        let target = Target {
            array: hidden.array,
            values: &hidden.values[entries.start * part.width..entries.end * part.width],
            slices: part.slices.clone(),
        };
        let mut batch = Batch::new(world, entries.len(), Some(target));
        for (letter, column) in part.letters.iter().zip(&hidden.coordinates) {
            batch.place(*letter, Place::Each(Rc::new(column[entries.clone()].to_vec())));
        }
        for own in &part.copy.placed {
            batch.place(own.letter, Place::One(own.position));
        }
        batch
    }

    /// `log p` of each entry in a world.
    ///
    /// # Errors
    /// In words, why there is none.
    fn logs(&self, part: &Part<'_>, world: &World<'_>) -> Result<Vec<f64>, &'static str> {
        let mut logs = self.own_logs(part, world);
        if part.kind == Kind::Rate && self.given_totals {
            let totals = self.log_row_rates(part, world, &logs)?;
            logs.iter_mut().zip(totals).for_each(|(log, total)| *log -= total);
        }
        Ok(logs)
    }

    /// The same of other entries of the array: of counts at a rate the log of the rate.
    pub(super) fn logs_at(&self, part: &Part<'_>, world: &World<'_>, entries: &Hidden) -> Vec<f64> {
        let own = Part {
            copy: part.copy,
            weights: part.weights.clone(),
            hidden: entries,
            letters: part.letters.clone(),
            slices: part.slices.clone(),
            ..*part
        };
        self.own_logs(&own, world)
    }

    fn own_logs(&self, part: &Part<'_>, world: &World<'_>) -> Vec<f64> {
        let entries = part.hidden.values.len() / part.width.max(1);
        let chunks = entries.div_ceil(CHUNK);
        let of_chunk = |chunk: usize| {
            let entries = chunk * CHUNK..entries.min((chunk + 1) * CHUNK);
            let mut batch = self.batch(part, world, entries.clone());
            self.logs_of(part, &mut batch, entries)
        };
        self.threads.map(chunks, of_chunk).concat()
    }

    fn logs_of(&self, part: &Part<'_>, batch: &mut Batch<'_>, entries: std::ops::Range<usize>) -> Vec<f64> {
        let count = batch.count();
        let values = &part.hidden.values[entries.start * part.width..entries.end * part.width];
        let argument = part.copy.arguments.iter().flatten().next();
        let mut sum = LogSum::new(count);
        self.each_selection(part, batch, &mut |batch, weight| {
            let logs: Vec<f64> = match (part.kind, argument) {
                (Kind::Density, _) | (_, None) => batch.log_density(&part.copy.log_density),
                (Kind::Class, Some(argument)) => {
                    let classes = values.iter().map(|value| *value as u32).collect();
                    batch.place(argument.letters[0], Place::Each(Rc::new(classes)));
                    log(batch.sum(&argument.value), count)
                }
                (Kind::Trial, Some(argument)) => {
                    let p = batch.sum(&argument.value).spread(count);
                    let of = |(p, value): (f64, &f64)| ln(if *value == 0.0 { 1.0 - p } else { p });
                    p.into_iter().zip(values).map(of).collect()
                }
                (Kind::Unit, Some(argument)) => {
                    self.place_slice(part, batch, argument, &entries);
                    log(batch.sum(&argument.value), count)
                }
                (Kind::Rate, Some(argument)) => log(batch.sum(&argument.value), count),
            };
            sum.add(weight, &logs);
        });
        sum.finish()
    }

    /// Places the letter of a vector parameter at the elements of the slice that the entries are.
    pub(super) fn place_slice(
        &self,
        part: &Part<'_>,
        batch: &mut Batch<'_>,
        argument: &Argument,
        entries: &std::ops::Range<usize>,
    ) {
        let slice = part.letters.iter().zip(&part.hidden.coordinates);
        let own = self.model.statement_of(part.hidden.array).map(|own| own.slices.as_slice());
        for (letter, column) in slice.filter(|(letter, _)| own.is_some_and(|own| own.contains(letter))) {
            if argument.letters.first().is_some_and(|own| own != letter) {
                let column = column[entries.clone()].to_vec();
                batch.place(argument.letters[0], Place::Each(Rc::new(column)));
            }
        }
    }
}

/// Whether the slices of a statement are one observation each.
fn is_of_slices(statement: &Statement, kind: Kind) -> bool {
    kind == Kind::Density && statement.family.slices() != Slices::None
}

/// Whether what is predicted of an array has a probability: a density on the real line says nothing else of counts than of other numbers.
pub(super) fn is_discrete(array: &Array, statement: &Statement) -> bool {
    let of_whole_numbers =
        matches!(statement.family.data(), DataKind::Counts | DataKind::Binary | DataKind::Index);
    of_whole_numbers && matches!(array.support, Support::Count | Support::Binary | Support::Index(_))
}

/// `count * log`, 0 where the count is.
pub(super) fn weighted(count: f64, log: f64) -> f64 {
    if count == 0.0 { 0.0 } else { count * log }
}

/// Some entries of a held-out part, whose values are slices of this width.
fn entries_of(hidden: &Hidden, entries: &[usize], width: usize) -> Hidden {
    Hidden {
        coordinates: hidden
            .coordinates
            .iter()
            .map(|column| entries.iter().map(|entry| column[*entry]).collect())
            .collect(),
        values: entries
            .iter()
            .flat_map(|entry| &hidden.values[entry * width..(entry + 1) * width])
            .copied()
            .collect(),
        weights: hidden.weights.as_ref().map(|own| entries.iter().map(|entry| own[*entry]).collect()),
        named: None,
        notes: Vec::new(),
        ..hidden.clone()
    }
}

fn log(value: Value, count: usize) -> Vec<f64> {
    value.spread(count).into_iter().map(ln).collect()
}

/// The letters of a statement, in the order of the dimensions that have a column: of a slice that is `whole` none.
pub(crate) fn placed_letters(statement: &Statement, slice: &[bool], whole: bool) -> Vec<LetterId> {
    let (mut plates, mut own) = (statement.plates.iter(), statement.slices.iter());
    let mut letters: Vec<LetterId> = Vec::new();
    for slice in slice {
        let letter = if *slice { own.next() } else { plates.next() };
        letters.extend(letter.filter(|_| !(whole && *slice)));
    }
    letters
}

/// Calls `visit` with every array that a sum reads.
pub(super) fn latents_in(sum: &Sum, visit: &mut dyn FnMut(ArrayId)) {
    for factor in sum.terms.iter().flat_map(|term| &term.factors) {
        if let Atom::Value(array, _) = &factor.atom {
            visit(*array);
        }
        factor.atom.nested().into_iter().for_each(|inner| latents_in(inner, visit));
    }
    sum.visit_subscripts(&mut |subscript| inside(subscript, visit));
}

fn inside(subscript: &Subscript, visit: &mut dyn FnMut(ArrayId)) {
    if let Subscript::Index(array, inner) = subscript {
        visit(*array);
        inner.iter().for_each(|subscript| inside(subscript, visit));
    }
}

/// The positions of a place in C order.
pub(crate) fn unflat(sizes: &[usize], place: usize) -> SmallVec<[usize; 4]> {
    let mut rest = place;
    let mut positions = SmallVec::from_elem(0, sizes.len());
    for (position, size) in positions.iter_mut().zip(sizes).rev() {
        *position = rest % size.max(&1);
        rest /= size.max(&1);
    }
    positions
}
