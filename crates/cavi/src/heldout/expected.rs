//! What an entry is expected to be under q: its mean and its standard deviation, for any entry of any data of a program.
//!
//! With `m` and `v` the mean and the variance of the entry given all latents, which its family states,
//! `E y = E_q m` and `Var y = E_q v + Var_q m`. An index latent that selects the parameters of an entry is summed out:
//! `m = sum_c w_c m_c`, `v = sum_c w_c (v_c + m_c^2) - m^2`, with the weights of `classes.rs`. Of a row of counts given its total N, `m = N p` and
//! `v = N p (1 - p)`.
//!
//! Where `m` is a sum of products of latents that are independent under q, `E_q m` is the same sum of products of their means, and
//! exact. Everything else is an average over draws from q. The draws are the same for all entries.
//!
//! An entry that is a class has no mean: of it there are the class of the greatest probability, and that probability.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use cavi_algebra::{Array, ArrayId, BlockId, Support};
use cavi_executor::BoundArray;
use cavi_families::{Argument, Moments, Prediction};
use cavi_model::Statement;
use cavi_numerics::Threads;
use cavi_syntax::Diagnostic;

use super::batch::{Batch, Place, World};
use super::classes::{Given, given};
use super::draws::{Source, is_certain};
use super::predict::{CHUNK, DRAWS, Kind, Part, Predictor, placed_letters};
use crate::bind::Hidden;
use crate::row_totals::RowTotals;

/// What entries of an array are expected to be, one number for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The mean; of an entry that is a class the greatest probability of one.
    pub mean: Vec<f64>,
    /// The standard deviation, of the entry and not of its mean alone; `None` where it was not asked for or is not known.
    pub sd: Option<Vec<f64>>,
    /// Of entries that are classes the one of the greatest probability.
    pub class: Option<Vec<u32>>,
}

/// Of how many units of a row under a Multinomial an entry is expected to have its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Of those that were given.
    Given,
    /// Of one: the expected entry is the probability of it.
    One,
}

/// The numbers of each entry in a world, a column each: the probability of each class; or mean and variance.
type Columns = Vec<Vec<f64>>;

impl Predictor<'_> {
    /// What entries of an array are expected to be, at coordinates that have a column for each dimension, over so many draws where draws are
    /// needed. Without draws there is no standard deviation but of what is certain.
    ///
    /// # Errors
    /// Data that have no expected value, at their statement.
    pub(super) fn expect(
        &self,
        array: ArrayId,
        coordinates: &[Vec<u32>],
        draws: usize,
        of: Of,
    ) -> Result<Expected, Box<Diagnostic>> {
        let statement = self.model.statement_of(array).expect("data that are predicted have a statement");
        let refuse =
            |reason: &str| self.without_expectation(self.model.symbols.array(array), statement, reason);
        if let Some(block) = self.equations.block_of(array) {
            return self.latent(array, block, coordinates, draws).ok_or_else(|| refuse("they are implicit"));
        }
        self.expect_by_statement(array, coordinates, (draws, of), true)
    }

    /// The same by the statement of the array alone: of an entry that is observed what its statement says of it, and not its value. Where entries
    /// `tell` of classes that belong to them, those that the fit was given do.
    ///
    /// # Errors
    /// As there.
    pub(super) fn expect_by_statement(
        &self,
        array: ArrayId,
        coordinates: &[Vec<u32>],
        (draws, of): (usize, Of),
        tell: bool,
    ) -> Result<Expected, Box<Diagnostic>> {
        let statement = self.model.statement_of(array).expect("data that are predicted have a statement");
        let symbols = &self.model.symbols;
        let own = symbols.array(array);
        let refuse = |reason: &str| self.without_expectation(own, statement, reason);
        let mut copy = self.copy(statement).map_err(|reason| refuse(&reason))?;
        let entries = coordinates.first().map_or(1, Vec::len);
        let hidden = Hidden {
            array,
            coordinates: coordinates.to_vec(),
            values: vec![0.0; entries],
            odds: None,
            with_zeros: false,
            weights: None,
            named: None,
            notes: Vec::new(),
        };
        let given = if tell { given(symbols, self.bound, &hidden) } else { Given::None };
        if self.reads_implicit(statement, &copy, given) {
            let written_out = self.written_out.get_or_init(|| self.write_out());
            let Some((equations, parameters)) = written_out else {
                return Err(refuse("it reads a latent that is implicit, and has no factor of q of its own"));
            };
            let threads = Threads::new(self.threads.count());
            let other = Predictor { equations, parameters, threads, written_out: OnceLock::new(), ..*self };
            return other.expect_by_statement(array, coordinates, (draws, of), tell);
        }
        let weights = self.all_weights(statement, &mut copy, given).map_err(|reason| refuse(&reason))?;
        let kind = match statement.family.prediction() {
            Prediction::Class => Kind::Class,
            Prediction::Units => Kind::Unit,
            Prediction::Trial | Prediction::Rate | Prediction::Density => Kind::Density,
        };
        let is_slice = statement.family.mean_is() == [0] && statement.family.moments(&[1.0; 2]).is_none();
        let is_known = kind != Kind::Density || is_slice || self.has_moments(&copy.arguments, array);
        if !is_known {
            return Err(refuse(&format!(
                "the mean of {} is not known in closed form here",
                statement.family.name()
            )));
        }
        let letters = placed_letters(statement, &own.slice, false);
        let slices = vec![None; own.letters.len()];
        let part = Part { copy: &copy, weights, kind, letters, hidden: &hidden, width: 1, slices };
        let totals = (kind == Kind::Unit).then(|| match of {
            Of::Given => self.row_totals(array, coordinates),
            Of::One => vec![1.0; entries],
        });
        Ok(self.average(&part, totals.as_deref(), draws))
    }

    fn without_expectation(&self, array: &Array, statement: &Statement, reason: &str) -> Box<Diagnostic> {
        let message = format!("entries of `{}` have no expected value: {reason}", array.name);
        Box::new(Diagnostic::error("E0905", message).at(statement.span, "in this statement").help(
            "`cavi summary` and `cavi export` give the latents of the fit, from which draws can be made",
        ))
    }

    /// Whether a family knows mean and variance of one number from so many parameters.
    fn has_moments(&self, arguments: &[Option<Argument>], array: ArrayId) -> bool {
        let ones = vec![1.0; arguments.iter().flatten().count()];
        self.model.statement_of(array).is_some_and(|own| own.family.moments(&ones).is_some())
    }

    /// Averages over q.
    fn average(&self, part: &Part<'_>, totals: Option<&[f64]>, draws: usize) -> Expected {
        let read = self.read(part);
        let blocks: BTreeSet<BlockId> =
            read.iter().filter_map(|array| self.equations.block_of(*array)).collect();
        let certain = blocks.iter().all(|block| is_certain(self.equations, *block));
        let arguments = &part.copy.arguments;
        let statement = self.model.statement_of(part.hidden.array).expect("data have a statement");
        let mean_is: Vec<usize> =
            if part.kind == Kind::Class { vec![0] } else { statement.family.mean_is().to_vec() };
        let factors = mean_is.iter().filter_map(|place| arguments.get(*place)?.as_ref());
        let is_exact = certain
            || !mean_is.is_empty()
                && self.is_product_of_independent(part, factors.map(|argument| &argument.value));
        let shapes = self.shapes();
        let exact = is_exact
            .then(|| self.means(&read))
            .flatten()
            .map(|means| self.columns(part, totals, &self.world(part, &means, &shapes)));
        let no_draws = certain || draws == 0 || part.kind == Kind::Class;
        match exact {
            Some(columns) if no_draws => finished(part, columns, certain),
            exact => {
                let sources: Vec<Source> =
                    blocks.iter().map(|block| Source::new(self.equations, self.bound, *block)).collect();
                let mut sums = Sums::default();
                for draw in 0..if draws == 0 { DRAWS } else { draws.max(2) } {
                    let drawn = self.drawn(&sources, draw);
                    sums.add(&self.columns(part, totals, &self.world(part, &drawn, &shapes)));
                }
                let (mut columns, spread) = sums.finish();
                if part.kind != Kind::Class {
                    columns[1].iter_mut().zip(spread).for_each(|(variance, own)| *variance += own);
                    if let Some(exact) = exact {
                        columns[0].clone_from(&exact[0]);
                    }
                }
                finished(part, columns, draws > 0)
            }
        }
    }

    /// The numbers of each entry in a world.
    fn columns(&self, part: &Part<'_>, totals: Option<&[f64]>, world: &World<'_>) -> Columns {
        let entries = part.hidden.values.len();
        let of_chunk = |chunk: usize| {
            let entries = chunk * CHUNK..entries.min((chunk + 1) * CHUNK);
            let mut batch = self.batch(part, world, entries.clone());
            match part.kind {
                Kind::Class => self.probabilities(part, &mut batch),
                _ => self.moments(part, totals, &mut batch, &entries),
            }
        };
        let chunks: Vec<Columns> = self.threads.map(entries.div_ceil(CHUNK), of_chunk);
        let width = chunks.first().map_or(2, Vec::len);
        let joined = |column: usize| chunks.iter().flat_map(|own| own[column].iter().copied()).collect();
        (0..width).map(joined).collect()
    }

    /// The probability of each class.
    fn probabilities(&self, part: &Part<'_>, batch: &mut Batch<'_>) -> Columns {
        let count = batch.count();
        let argument = part.copy.arguments.iter().flatten().next().expect("a class has probabilities");
        let classes = self.bound.size_of(&part.copy.symbols, argument.letters[0]);
        let mut columns = vec![vec![0.0; count]; classes];
        self.each_selection(part, batch, &mut |batch, weight| {
            for (class, column) in columns.iter_mut().enumerate() {
                batch.place(argument.letters[0], Place::One(class));
                let own = batch.sum(&argument.value).spread(count);
                column.iter_mut().zip(own).zip(weight).for_each(|((sum, own), weight)| *sum += weight * own);
            }
        });
        columns
    }

    /// Mean and variance, given all latents.
    fn moments(
        &self,
        part: &Part<'_>,
        totals: Option<&[f64]>,
        batch: &mut Batch<'_>,
        entries: &Range<usize>,
    ) -> Columns {
        let count = batch.count();
        let family = self.model.statement_of(part.hidden.array).expect("data have a statement").family;
        let (mut mean, mut variance, mut square) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
        let mut several = 0;
        self.each_selection(part, batch, &mut |batch, weight| {
            several += 1;
            let mut values: Vec<Vec<f64>> = Vec::new();
            for argument in part.copy.arguments.iter().flatten() {
                if argument.letters.len() > 1 {
                    continue;
                }
                if !argument.letters.is_empty() {
                    self.place_slice(part, batch, argument, entries);
                }
                values.push(batch.sum(&argument.value).spread(count));
            }
            let mut own = vec![0.0; values.len()];
            for entry in 0..count {
                own.iter_mut().zip(&values).for_each(|(own, values)| *own = values[entry]);
                let moments = match totals {
                    Some(totals) => {
                        let (total, p) = (totals[entries.start + entry], own[0]);
                        Moments { mean: total * p, variance: total * p * (1.0 - p) }
                    }
                    // Of an element of a slice the mean alone is known.
                    None => family.moments(&own).unwrap_or(Moments { mean: own[0], variance: f64::NAN }),
                };
                mean[entry] += weight[entry] * moments.mean;
                variance[entry] += weight[entry] * moments.variance;
                square[entry] += weight[entry] * moments.mean * moments.mean;
            }
        });
        if several > 1 {
            for ((variance, square), mean) in variance.iter_mut().zip(square).zip(&mean) {
                *variance += (square - mean * mean).max(0.0);
            }
        }
        vec![mean, variance]
    }

    /// Of each entry the sum of what its row has, as it was given.
    fn row_totals(&self, array: ArrayId, coordinates: &[Vec<u32>]) -> Vec<f64> {
        let totals = RowTotals::of(&self.model.symbols, self.bound, array);
        let count = coordinates.first().map_or(1, Vec::len);
        (0..count).map(|entry| totals.at(|dimension| coordinates[dimension][entry] as usize)).collect()
    }

    /// Entries of data that have a factor of q of their own where they are missing.
    fn latent(
        &self,
        array: ArrayId,
        block: BlockId,
        coordinates: &[Vec<u32>],
        draws: usize,
    ) -> Option<Expected> {
        let own = crate::means::mean(self.equations, self.bound, self.parameters, array)?;
        let shape = self.bound.shape(&self.model.symbols, array);
        let count = coordinates.first().map_or(1, Vec::len);
        let cell = |entry: usize| {
            shape.iter().zip(coordinates).fold(0, |cell, (size, column)| cell * size + column[entry] as usize)
        };
        if matches!(self.model.symbols.array(array).support, Support::Index(_)) {
            let classes = *own.shape.last()?;
            let column = |class| (0..count).map(|entry| own.values[cell(entry) * classes + class]).collect();
            return Some(most_probable((0..classes).map(column).collect()));
        }
        let means = self.observed_values(array, own.values);
        let mean: Vec<f64> = (0..count).map(|entry| means[cell(entry)]).collect();
        if draws == 0 {
            return Some(Expected { mean, sd: None, class: None });
        }
        let sources = [Source::new(self.equations, self.bound, block)];
        let mut sums = Sums::default();
        for draw in 0..draws.max(2) {
            let drawn = self.drawn(&sources, draw);
            let (_, values) = drawn.into_iter().find(|(own, _)| *own == array)?;
            let own = |entry: usize| match &values {
                BoundArray::Dense { values, .. } => values[cell(entry)],
                BoundArray::Sparse { .. } => f64::NAN,
            };
            sums.add(&vec![(0..count).map(own).collect()]);
        }
        let (_, spread) = sums.finish();
        Some(Expected { mean, sd: Some(spread.into_iter().map(f64::sqrt).collect()), class: None })
    }

    /// Values of a variable, with what is observed of it.
    fn observed_values(&self, array: ArrayId, values: Vec<f64>) -> Vec<f64> {
        match self.observed_in(array, values) {
            BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => values.into_vec(),
        }
    }
}

/// What comes of the averages.
fn finished(part: &Part<'_>, mut columns: Columns, has_spread: bool) -> Expected {
    if part.kind == Kind::Class {
        return most_probable(columns);
    }
    let variances = columns.pop().unwrap_or_default();
    let mean = columns.pop().unwrap_or_default();
    let is_known = has_spread && !variances.iter().all(|own| own.is_nan());
    let sd = is_known.then(|| variances.into_iter().map(f64::sqrt).collect());
    Expected { mean, sd, class: None }
}

/// The class of the greatest probability of each entry, of equal ones the first.
fn most_probable(columns: Columns) -> Expected {
    let count = columns.first().map_or(0, Vec::len);
    let (mut class, mut mean) = (vec![0_u32; count], vec![f64::NEG_INFINITY; count]);
    for (number, column) in columns.iter().enumerate() {
        for (entry, value) in column.iter().enumerate() {
            if *value > mean[entry] {
                (class[entry], mean[entry]) = (number as u32, *value);
            }
        }
    }
    Expected { mean, sd: None, class: Some(class) }
}

/// Sums over draws: of all columns, and of the squares of the first about its running mean (Welford).
#[derive(Default)]
struct Sums {
    count: f64,
    means: Columns,
    squares: Vec<f64>,
}

impl Sums {
    fn add(&mut self, columns: &Columns) {
        if self.means.is_empty() {
            self.means = columns.iter().map(|column| vec![0.0; column.len()]).collect();
            self.squares = vec![0.0; columns.first().map_or(0, Vec::len)];
        }
        self.count += 1.0;
        for (place, (means, column)) in self.means.iter_mut().zip(columns).enumerate() {
            for (entry, (mean, value)) in means.iter_mut().zip(column).enumerate() {
                let before = value - *mean;
                *mean += before / self.count;
                if place == 0 {
                    self.squares[entry] += before * (value - *mean);
                }
            }
        }
    }

    /// The averages, and the variance of the first column over draws.
    fn finish(self) -> (Columns, Vec<f64>) {
        let divisor = (self.count - 1.0).max(1.0);
        (self.means, self.squares.into_iter().map(|square| square / divisor).collect())
    }
}
