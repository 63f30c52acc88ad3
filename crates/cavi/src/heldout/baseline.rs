//! What a score is worth: those of predictions that take no model, and of the same program with one component.
//!
//! **The means.** Without a model an entry is expected from its row and its column alone (`margins.rs`), by what the fit was given:
//!
//! | data | prediction |
//! | --- | --- |
//! | units of rows (Multinomial) | the share of each column of all units, in its group where columns are ragged, with half a unit more each |
//! | counts at a rate | row total x column total / total, thinned as the program's own rates are; given totals of rows the shares of the columns |
//! | classes | their frequencies; where the data have several dimensions, in the column |
//! | 0 or 1 | log odds of row and column |
//! | numbers | Normal about row + column effects, with the variance of what these leave in the column |
//!
//! Rows and columns are all dimensions of an array, more than two or one alike. The scores are of the same entries or units, in the same units, as
//! those of the fit.
//!
//! **One component.** Axes of components are those that the program itself gives a size, along which no data lie, and over which a distribution of
//! data sums, or from which an index latent selects. With one position on each, the program says how much several are worth.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use cavi_algebra::evaluate::Accumulator;
use cavi_algebra::{ArrayKind, AxisId, Function, Support};
use cavi_derivation::copy::Copy;
use cavi_executor::BoundArray;
use cavi_families::{Prediction, functions};
use cavi_model::{Model, Statement};
use cavi_numerics::Threads;
use cavi_numerics::special::{ln, softplus};

use super::given_totals::{Rows, each_in_rows, falls_on_all};
use super::margins::{Frequencies, Margins, Normals, Odds, Rates};
use super::predict::{Kind, Part, Predictor, is_discrete, unflat, weighted};
use super::{HeldOut, Score, is_as_given};
use crate::bind::{Existing, Hidden};
use crate::prepare::Problem;
use crate::row_totals::RowTotals;
use crate::rows::RowWeights;

/// What is predicted without a model, or why nothing is.
#[derive(Clone, Debug, PartialEq)]
pub enum Baseline {
    /// Its score.
    Score(Score),
    /// In words, why there is none.
    None(String),
}

impl Baseline {
    /// The score, if there is one.
    pub fn score(&self) -> Option<&Score> {
        match self {
            Baseline::Score(score) => Some(score),
            Baseline::None(_) => None,
        }
    }

    /// By how much each unit is predicted better by a fit.
    pub fn difference(&self, fit: &Score) -> Option<f64> {
        Some(fit.per_unit()? - self.score()?.per_unit()?).filter(|own| !own.is_nan())
    }
}

/// What is predicted of each held-out part by the means of rows and columns.
pub fn means(problem: &Problem, held: &HeldOut, threads: usize) -> Vec<Baseline> {
    let given = problem.as_given();
    let parameters = cavi_executor::Parameters { blocks: Vec::new() };
    let predictor = Predictor {
        model: &given.model,
        equations: &given.equations,
        bound: &given.binding.bound,
        parameters: &parameters,
        seed: 0,
        threads: Threads::new(threads),
        entries: &given.binding.entries,
        given_totals: held.given_totals,
        written_out: OnceLock::new(),
    };
    let of = |hidden| match predictor.means_of(hidden) {
        Ok(score) => Baseline::Score(score),
        Err(reason) => Baseline::None(reason.to_owned()),
    };
    held.parts.iter().map(of).collect()
}

/// The axes of components of a program.
pub fn component_axes(model: &Model) -> Vec<AxisId> {
    let symbols = &model.symbols;
    let mut used: BTreeSet<AxisId> = BTreeSet::new();
    for statement in model.statements.iter().filter(|own| own.observed) {
        for argument in statement.arguments.iter().flatten() {
            argument.value.visit_values(&mut |array, _| {
                let own = symbols.array(array);
                if own.kind == ArrayKind::Latent {
                    used.extend(own.letters.iter().map(|letter| symbols.letter(*letter).axis));
                    used.extend(match own.support {
                        Support::Index(axis) => Some(axis),
                        _ => None,
                    });
                }
            });
        }
    }
    for array in symbols.arrays.iter().filter(|own| own.kind == ArrayKind::Data) {
        for letter in &array.letters {
            let mut axis = Some(symbols.letter(*letter).axis);
            while let Some(own) = axis {
                used.remove(&own);
                axis = symbols.axis(own).parent;
            }
        }
        if let Support::Index(axis) = array.support {
            used.remove(&axis);
        }
    }
    let is_plain = |axis: &AxisId| {
        symbols.axis(*axis).parent.is_none() && symbols.axes.iter().all(|own| own.parent != Some(*axis))
    };
    used.into_iter().filter(is_plain).collect()
}

impl Predictor<'_> {
    /// The score of a held-out part by the means of rows and columns.
    fn means_of(&self, hidden: &Hidden) -> Result<Score, &'static str> {
        let array = self.model.symbols.array(hidden.array);
        let statement = self.model.statement_of(hidden.array).ok_or("nothing predicts it")?;
        let copy = self.copy(statement).map_err(|_| "a parameter of its statement has no closed form")?;
        let kind = self.kind(statement, hidden);
        if is_as_given(&self.model.symbols, self.bound, hidden) {
            return Err("it is scored as it is, and no part of it was given");
        }
        let part = self.part(statement, &copy, Vec::new(), kind, hidden);
        let weights = self.row_weights(&part);
        let is_of_units = matches!(kind, Kind::Unit | Kind::Rate);
        let counts: Vec<f64> = match is_of_units {
            true => hidden.values.iter().zip(&weights).map(|(count, weight)| count * weight).collect(),
            false => weights,
        };
        let (logs, rest) = self.logs_by_means(&part, statement, &counts)?;
        let sum: Accumulator = counts.iter().zip(&logs).map(|(count, log)| weighted(*count, *log)).collect();
        Ok(Score {
            name: array.name.clone(),
            log_predictive: sum.total() - rest,
            standard_error: None,
            units: counts.iter().copied().collect::<Accumulator>().total(),
            discrete: is_discrete(array, statement),
            given_totals: self.is_given_totals(kind),
            poor: 0,
        })
    }

    /// The log of the prediction of each entry (of a unit of it), and what is subtracted from their sum.
    fn logs_by_means(
        &self,
        part: &Part<'_>,
        statement: &Statement,
        counts: &[f64],
    ) -> Result<(Vec<f64>, f64), &'static str> {
        let hidden = part.hidden;
        let symbols = &self.model.symbols;
        let array = symbols.array(hidden.array);
        let entries = counts.len();
        let place = |entry: usize| -> Vec<usize> {
            hidden.coordinates.iter().map(|column| column[entry] as usize).collect()
        };
        if part.kind == Kind::Unit {
            return Ok((self.logs_of_units(statement, hidden), 0.0));
        }
        let weights = self.weights_of_given(part.copy, statement, hidden)?;
        let margins = Margins::of(symbols, self.bound, self.entries, hidden.array, weights)?;
        let margins =
            match self.entries.iter().any(|own| own.data.iter().any(|member| member.array == hidden.array)) {
                true => margins,
                false => margins.copied(&RowWeights::of_statement(symbols, self.bound, statement)),
            };
        let log_factorial = |count: f64| functions::apply(Function::LogGamma, &[count + 1.0]);
        match (part.kind, statement.family.prediction()) {
            (Kind::Rate, _) if self.given_totals => {
                let rates = Rates::of(margins);
                let logs: Vec<f64> = (0..entries).map(|entry| ln(rates.at(&place(entry)))).collect();
                let totals = self.log_totals_by_means(hidden, &rates, &logs)?;
                Ok((logs.iter().zip(totals).map(|(log, total)| log - total).collect(), 0.0))
            }
            (Kind::Rate, _) => {
                let rates = Rates::of(margins);
                let odds = hidden.odds.unwrap_or(1.0);
                let factorials: Accumulator = (0..entries)
                    .map(|entry| {
                        let count = hidden.values[entry];
                        let weight = if count == 0.0 { 0.0 } else { counts[entry] / count };
                        weight * log_factorial(count)
                    })
                    .collect();
                let logs = (0..entries).map(|entry| ln(odds * rates.at(&place(entry)))).collect();
                Ok((logs, factorials.total() + odds * rates.total()))
            }
            (_, Prediction::Rate) => {
                let rates = Rates::of(margins);
                let of = |entry: usize| {
                    let (count, rate) = (hidden.values[entry], rates.at(&place(entry)));
                    weighted(count, ln(rate)) - rate - log_factorial(count)
                };
                Ok(((0..entries).map(of).collect(), 0.0))
            }
            (_, Prediction::Trial) if matches!(array.support, Support::Binary | Support::Unit) => {
                let odds = Odds::of(margins);
                let of = |entry: usize| {
                    let (value, odds) = (hidden.values[entry], odds.at(&place(entry)));
                    // log p = -log(1 + exp(-odds)), log (1 - p) = -log(1 + exp(odds)).
                    -value * softplus(-odds) - (1.0 - value) * softplus(odds)
                };
                Ok(((0..entries).map(of).collect(), 0.0))
            }
            (Kind::Class, _) => {
                let Support::Index(axis) = array.support else { return Err("its classes have no axis") };
                let frequencies = Frequencies::of(margins, self.bound.size(axis));
                let of = |entry: usize| ln(frequencies.at(&place(entry), hidden.values[entry] as usize));
                Ok(((0..entries).map(of).collect(), 0.0))
            }
            (_, Prediction::Density) => match array.support {
                Support::Real | Support::Positive | Support::Nonnegative | Support::Unit => {
                    let normals = Normals::of(margins)?;
                    Ok(((0..entries).map(|entry| log_normal(part, &normals, entry)).collect(), 0.0))
                }
                Support::Count => Err("counts of so many trials have no means of rows and columns here"),
                _ => Err("it is no number"),
            },
            (_, Prediction::Trial) => Err("counts of so many trials have no means of rows and columns here"),
            (_, Prediction::Units | Prediction::Class) => Err("its rows have no entries of their own"),
        }
    }

    /// The log of the share of each column of all units that were given, with half a unit more for each column. Those of a row of weight
    /// count as often.
    fn logs_of_units(&self, statement: &Statement, hidden: &Hidden) -> Vec<f64> {
        let symbols = &self.model.symbols;
        let array = symbols.array(hidden.array);
        let shape = self.bound.shape(symbols, hidden.array);
        let rows = RowTotals::of(symbols, self.bound, hidden.array);
        let within: Vec<usize> = (0..shape.len()).filter(|dimension| array.slice[*dimension]).collect();
        let column = |place: &dyn Fn(usize) -> usize| {
            within.iter().fold(0, |column, dimension| column * shape[*dimension] + place(*dimension))
        };
        let columns: usize = within.iter().map(|dimension| shape[*dimension]).product();
        let mut units = vec![0.0; columns];
        let weights = RowWeights::of_statement(symbols, self.bound, statement);
        match self.bound.array(hidden.array) {
            BoundArray::Sparse { indices, values, .. } => {
                for (entry, value) in values.iter().enumerate() {
                    let place = |dimension: usize| indices[dimension][entry] as usize;
                    units[column(&place)] += value * weights.at(place);
                }
            }
            BoundArray::Dense { values, .. } => {
                for (cell, value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    let place = unflat(&shape, cell);
                    let place = |dimension: usize| place[dimension];
                    units[column(&place)] += value * weights.at(place);
                }
            }
        }
        // The columns of a group share its units.
        let sizes: Vec<usize> = within.iter().map(|dimension| shape[*dimension]).collect();
        let group = |column: usize| {
            let own = unflat(&sizes, column);
            let at =
                |dimension: usize| within.iter().position(|own| *own == dimension).map_or(0, |at| own[at]);
            rows.group(at)
        };
        let mut sums: std::collections::BTreeMap<usize, (f64, f64)> = std::collections::BTreeMap::new();
        for (column, units) in units.iter().enumerate() {
            let own = sums.entry(group(column)).or_default();
            *own = (own.0 + units, own.1 + 1.0);
        }
        let of = |entry: usize| {
            let own = column(&|dimension| hidden.coordinates[dimension][entry] as usize);
            let (all, columns) = sums[&group(own)];
            ln((units[own] + 0.5) / (all + 0.5 * columns))
        };
        (0..hidden.values.len()).map(of).collect()
    }

    /// How often each observed entry that was given counts; `None` where each counts once.
    fn weights_of_given(
        &self,
        copy: &Copy,
        statement: &Statement,
        hidden: &Hidden,
    ) -> Result<Option<Vec<f64>>, &'static str> {
        if copy.weights.is_empty() {
            return Ok(None);
        }
        let shape = self.bound.shape(&self.model.symbols, hidden.array);
        let array = self.model.symbols.array(hidden.array);
        let data = self.bound.array(hidden.array);
        if shape.iter().copied().fold(1, usize::saturating_mul) > 1 << 26 {
            return Err("it has too many entries to go through");
        }
        let mut given = Hidden {
            coordinates: vec![Vec::new(); shape.len()],
            values: Vec::new(),
            odds: None,
            with_zeros: false,
            weights: None,
            ..hidden.clone()
        };
        let existing = Existing::of(&self.model.symbols, &self.bound.axes, array);
        for cell in 0..shape.iter().product() {
            let place = unflat(&shape, cell);
            if let (value, true) = data.entry(&shape, &place)
                && existing.is_there(&place)
            {
                given.coordinates.iter_mut().zip(&place).for_each(|(column, own)| column.push(*own as u32));
                given.values.push(value);
            }
        }
        let part = Part {
            copy,
            weights: Vec::new(),
            kind: Kind::Class,
            letters: super::predict::placed_letters(statement, &array.slice, false),
            hidden: &given,
            width: 1,
            slices: vec![None; shape.len()],
        };
        Ok(Some(self.row_weights(&part)))
    }

    /// The log of the sum of the rates of its row, for each entry.
    fn log_totals_by_means(
        &self,
        hidden: &Hidden,
        rates: &Rates<'_>,
        logs: &[f64],
    ) -> Result<Vec<f64>, &'static str> {
        let symbols = &self.model.symbols;
        let rows = Rows::of(symbols, self.bound, self.entries, hidden.array);
        let keys = rows.keys(hidden);
        let mut sums: std::collections::BTreeMap<Vec<u32>, f64> = std::collections::BTreeMap::new();
        if falls_on_all(hidden) {
            let wanted: BTreeSet<Vec<u32>> = keys.iter().cloned().collect();
            let shape = self.bound.shape(symbols, hidden.array);
            let existing = Existing::of(symbols, &self.bound.axes, symbols.array(hidden.array));
            each_in_rows(
                &existing,
                self.bound,
                &shape,
                hidden.array,
                (&rows, &wanted),
                &mut |place, key| {
                    *sums.entry(key.to_vec()).or_default() += rates.at(place);
                },
            )?;
        } else {
            for (key, log) in keys.iter().zip(logs) {
                *sums.entry(key.clone()).or_default() += cavi_numerics::special::exp(*log);
            }
        }
        Ok(keys.iter().map(|key| ln(sums.get(key).copied().unwrap_or(f64::NAN))).collect())
    }
}

/// The log density of an entry, or of a slice that is one observation, under independent Normals.
fn log_normal(part: &Part<'_>, normals: &Normals<'_>, entry: usize) -> f64 {
    let sizes: Vec<usize> = part.slices.iter().flatten().copied().collect();
    let of = |element: usize| {
        let within = unflat(&sizes, element);
        let (mut within, mut columns) = (within.into_iter(), part.hidden.coordinates.iter());
        let own = part.slices.iter().map(|slice| match slice {
            Some(_) => within.next().unwrap_or(0),
            None => columns.next().map_or(0, |column| column[entry] as usize),
        });
        let place: Vec<usize> = own.collect();
        let (mean, variance) = normals.at(&place);
        let value = part.hidden.values[entry * part.width + element];
        -0.5 * (ln(2.0 * std::f64::consts::PI * variance) + (value - mean) * (value - mean) / variance)
    };
    (0..part.width).map(of).sum()
}
