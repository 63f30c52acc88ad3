//! How well held-out entries are ranked, or met, by what they are expected to be; beside what popularity does.
//!
//! A row is a position on all axes of the data but the one that is ranked. Its candidates are the positions whose entry the fit was not given: those
//! that it was given (observed, and not 0 where what is not listed is 0) are left out. The gain of a candidate is its held-out value, 0
//! where there is none; it is relevant where that is above 0. Rows without a relevant candidate are left out, and the metrics of
//! the others averaged. Rows count by their multiplicity, in averages and in what was given; where the positions that are ranked have one, a candidate of
//! multiplicity m is m candidates of one score. A pair of `i < j` has no order: it stands in the rows of both of its sides, with the other one as the candidate. Of
//! rows under a Multinomial columns are ranked by their probabilities, which do not hang on how many units a row was given.
//!
//! - `ndcg@k`: `DCG = sum_r gain_r / log2(r + 1)` over the first k ranks, over that of the best order. Candidates of the same score share
//!   the discounts of their ranks, as in scikit-learn's `ndcg_score`.
//! - `precision@k`, `recall@k`: the relevant among the first k, over k and over all relevant ones; in expectation over the order of
//!   candidates of the same score.
//! - `map`: the mean of average precision, `sum_n (R_n - R_(n-1)) P_n` over thresholds of the score, as in scikit-learn's
//!   `average_precision_score`.
//! - `auc`: the probability that a relevant candidate is above another, ties counting half, as in `roc_auc_score`.
//! - `rmse`, `mae`: of the held-out entries themselves, against what they are expected to be; of thinned counts against the
//!   expected number of held-out units, under a Multinomial all that are held out of their row, times their probability.
//!
//! Popularity ranks by how much the fit was given along the ranked axis (units of counts, else entries; zeros of `absent = 0` are none); for `rmse` and
//! `mae` it is the mean of what was given there, these zeros among it; under a Multinomial the share that these means have of the row. What was given at either side of a pair counts there, and a pair is met by the
//! mean of both sides.
//!
//! Data that are scored as they are, since nothing is fitted to them, were given as a whole and yet predicted by what stands above them alone: all of
//! their entries are candidates, what they are expected to be is what their statement says, and there is no popularity.

use std::collections::BTreeMap;

use cavi_algebra::Support;
use cavi_executor::{BoundArray, Parameters};
use serde_json::{Map, Value, json};

use crate::bind::{DataError, Existing, Hidden};
use crate::dimensions::Dimension;
use crate::directory::{count, number};
use crate::error::Error;
use crate::heldout::{HeldOut, by_element, expected_of_one, is_as_given, unflat};
use crate::prepare::Problem;
use crate::row_totals::RowTotals;
use crate::rows::RowWeights;

use super::{at_home, dimension_of, is_of_units, is_seen, pair};

mod popularity;

/// More entries than these are not gone through one by one.
const CELLS: usize = 1 << 26;

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Normalised discounted cumulative gain, of the first so many.
    Ndcg(Option<usize>),
    /// The share of the first so many that is relevant.
    Precision(usize),
    /// The share of the relevant ones that is among the first so many.
    Recall(usize),
    /// Mean average precision.
    Map,
    /// Area under the receiver operating characteristic.
    Auc,
    /// Root of the mean squared error.
    Rmse,
    /// Mean absolute error.
    Mae,
}

/// What is known, for messages.
const KNOWN: &str =
    "`ndcg`, `ndcg@K`, `precision@K`, `recall@K`, `map`, `auc`, `rmse`, `mae`, K a whole number from 1";

impl Metric {
    /// Reads `ndcg@20,recall@20,map,auc,rmse`.
    ///
    /// # Errors
    /// A name of no metric.
    pub fn parse_all(text: &str) -> Result<Vec<Metric>, DataError> {
        text.split(',').map(str::trim).map(Metric::parse).collect()
    }

    fn parse(text: &str) -> Result<Metric, DataError> {
        let unknown = || DataError::new(format!("`--metrics`: there is no metric `{text}`")).possible(KNOWN);
        let (name, at) = match text.split_once('@') {
            None => (text, None),
            Some((name, at)) => {
                (name, Some(at.parse().ok().filter(|at: &usize| *at > 0).ok_or_else(unknown)?))
            }
        };
        Ok(match (name, at) {
            ("ndcg", at) => Metric::Ndcg(at),
            ("precision", Some(at)) => Metric::Precision(at),
            ("recall", Some(at)) => Metric::Recall(at),
            ("map", None) => Metric::Map,
            ("auc", None) => Metric::Auc,
            ("rmse", None) => Metric::Rmse,
            ("mae", None) => Metric::Mae,
            _ => return Err(unknown()),
        })
    }

    /// As [`Metric::parse_all`] reads it.
    pub fn name(self) -> String {
        match self {
            Metric::Ndcg(None) => "ndcg".to_owned(),
            Metric::Ndcg(Some(at)) => format!("ndcg@{at}"),
            Metric::Precision(at) => format!("precision@{at}"),
            Metric::Recall(at) => format!("recall@{at}"),
            Metric::Map => "map".to_owned(),
            Metric::Auc => "auc".to_owned(),
            Metric::Rmse => "rmse".to_owned(),
            Metric::Mae => "mae".to_owned(),
        }
    }

    fn is_of_entries(self) -> bool {
        matches!(self, Metric::Rmse | Metric::Mae)
    }

    /// Of one row, whose candidates have these gains and scores, and stand for so many each; `None` where it is not defined.
    pub fn of_row(self, gains: &[f64], scores: &[f64], weights: &[f64]) -> Option<f64> {
        let groups = tied(gains, scores, weights);
        let sum = |of: &dyn Fn(&Tied) -> f64| groups.iter().map(of).sum::<f64>();
        let relevant = sum(&|own| own.relevant);
        let others = sum(&|own| own.count) - relevant;
        if relevant <= 0.0 {
            return None;
        }
        match self {
            Metric::Ndcg(at) => {
                let at = at.map_or(f64::INFINITY, |at| at as f64);
                // The best order is that by the gains themselves.
                let best = gained(&tied(gains, gains, weights), at);
                Some(gained(&groups, at) / best)
            }
            Metric::Precision(at) => Some(hits(&groups, at as f64) / at as f64),
            Metric::Recall(at) => Some(hits(&groups, at as f64) / relevant),
            Metric::Map => {
                let (mut found, mut seen, mut sum) = (0.0, 0.0, 0.0);
                for group in &groups {
                    found += group.relevant;
                    seen += group.count;
                    sum += group.relevant / relevant * (found / seen);
                }
                Some(sum)
            }
            Metric::Auc if others <= 0.0 => None,
            Metric::Auc => {
                let (mut above, mut pairs) = (0.0, 0.0);
                for group in &groups {
                    pairs += (group.count - group.relevant) * (above + group.relevant / 2.0);
                    above += group.relevant;
                }
                Some(pairs / (relevant * others))
            }
            Metric::Rmse | Metric::Mae => None,
        }
    }
}

/// Candidates of the same score: how many they are, the sum of their gains, and how many are relevant.
#[derive(Default)]
struct Tied {
    count: f64,
    gain: f64,
    relevant: f64,
}

/// Groups of candidates of the same score, the greatest first.
fn tied(gains: &[f64], scores: &[f64], weights: &[f64]) -> Vec<Tied> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|place| weights[*place] > 0.0).collect();
    order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
    let mut groups: Vec<Tied> = Vec::new();
    let mut before = None;
    for place in order {
        if before != Some(scores[place]) {
            groups.push(Tied::default());
        }
        before = Some(scores[place]);
        let group = groups.last_mut().expect("just pushed");
        let weight = weights[place];
        group.count += weight;
        group.gain += weight * gains[place];
        group.relevant += if gains[place] > 0.0 { weight } else { 0.0 };
    }
    groups
}

/// The discounted gain of the first so many, whose groups share the discounts of their ranks.
fn gained(groups: &[Tied], at: f64) -> f64 {
    let (mut rank, mut gained) = (0.0, 0.0);
    for group in groups {
        if rank >= at {
            break;
        }
        gained += group.gain / group.count * discounts(rank, (rank + group.count).min(at));
        rank += group.count;
    }
    gained
}

/// The sum of `1 / log2(r + 1)` over ranks r from one to another, which count from 0 here; a part of a rank has as much of its discount.
fn discounts(from: f64, to: f64) -> f64 {
    let each = from.floor() as usize..to.ceil() as usize;
    let of = |rank: usize| {
        let rank = rank as f64;
        (to.min(rank + 1.0) - from.max(rank)) / (rank + 2.0).log2()
    };
    each.map(of).sum()
}

/// How many relevant candidates are expected among the first so many.
fn hits(groups: &[Tied], at: f64) -> f64 {
    let (mut rank, mut hits) = (0.0, 0.0);
    for group in groups {
        let inside = group.count.min((at - rank).max(0.0));
        hits += group.relevant * inside / group.count;
        rank += group.count;
    }
    hits
}

/// The value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The array.
    pub array: String,
    /// The metric.
    pub metric: Metric,
    /// Over how many rows, or entries, it is averaged, each as often as it counts.
    pub count: f64,
    /// Its value; NaN where nothing has one.
    pub value: f64,
    /// The standard error of an average over rows.
    pub standard_error: Option<f64>,
    /// The value for popularity; NaN where there is none.
    pub popularity: f64,
}

/// The metrics of each array by their name, as JSON.
pub fn json(measured: &[Measured]) -> Value {
    let mut arrays: Map<String, Value> = Map::new();
    for own in measured {
        let json = json!({
            "value": number(own.value),
            "standard_error": own.standard_error.map_or(Value::Null, number),
            "popularity": number(own.popularity),
            "n": count(own.count),
        });
        let entry = arrays.entry(own.array.clone()).or_insert_with(|| Value::Object(Map::new()));
        entry[own.metric.name()] = json;
    }
    Value::Object(arrays)
}

/// Metrics of what is held out, for the average of the expectations of several fits; ranked along an axis, the last of each array where none is named.
/// `settings` are the seed of draws and the number of threads. An array that has none of the metrics is left out where another has them, with what there
/// is to say of it.
///
/// # Errors
/// Metrics that no array has: of entries without an order or an expected value, negative gains, data without such an axis.
pub fn measure(
    problem: &Problem,
    fits: &[&Parameters],
    held: &HeldOut,
    rank: Option<&str>,
    metrics: &[Metric],
    settings: (u64, usize),
) -> Result<(Vec<Measured>, Vec<String>), Error> {
    let (mut measured, mut notes) = (Vec::new(), Vec::new());
    for of_entries in [false, true] {
        let own: Vec<Metric> =
            metrics.iter().copied().filter(|own| own.is_of_entries() == of_entries).collect();
        if own.is_empty() {
            continue;
        }
        let (mut errors, before) = (Vec::new(), measured.len());
        for part in &held.parts {
            match of_part(problem, fits, part, rank, &own, settings) {
                Ok(found) => measured.extend(found),
                Err(error) => errors.push(error),
            }
        }
        for error in errors {
            // What no array has is refused; what one lacks that another has is told.
            let message = match &error {
                Error::Data(all) if measured.len() > before => all.first().map(|own| own.message.clone()),
                Error::Program { diagnostics, .. } if measured.len() > before => {
                    diagnostics.first().map(|own| own.message.clone())
                }
                _ => return Err(error),
            };
            let names: Vec<String> = own.iter().map(|own| own.name()).collect();
            notes.push(format!("left out of {}: {}", names.join(", "), message.unwrap_or_default()));
        }
    }
    let place = |array: &str| {
        held.parts.iter().position(|own| problem.as_given().equations.symbols.array(own.array).name == array)
    };
    let asked = |metric: Metric| metrics.iter().position(|own| *own == metric);
    measured.sort_by_key(|own: &Measured| (place(&own.array), asked(own.metric)));
    Ok((measured, notes))
}

/// Metrics of what is held out of an array.
fn of_part(
    problem: &Problem,
    fits: &[&Parameters],
    hidden: &Hidden,
    rank: Option<&str>,
    metrics: &[Metric],
    settings: (u64, usize),
) -> Result<Vec<Measured>, Error> {
    let given = problem.as_given();
    let array = given.equations.symbols.array(hidden.array);
    if matches!(array.support, Support::Index(_)) {
        return Err(DataError::new(format!(
            "entries of `{}` are classes, which have no order and no distance",
            array.name
        ))
        .into());
    }
    let as_given = is_as_given(&given.model.symbols, &given.binding.bound, hidden);
    let is_whole = hidden.coordinates.len() != array.letters.len();
    let hidden = &by_element(given, hidden);
    let measuring = Measuring { problem, given, fits, hidden, as_given, settings };
    let mut measured = Vec::new();
    if metrics.iter().any(|metric| !metric.is_of_entries()) {
        if is_whole {
            return Err(DataError::new(format!(
                "whole rows of `{}` are held out, and nothing of them is ranked",
                array.name
            ))
            .possible("`rmse` and `mae`, of their elements")
            .into());
        }
        let by_row = measuring.rows(rank, metrics)?;
        for (place, metric) in metrics.iter().enumerate() {
            let found = by_row.get(&place).map_or(&[][..], Vec::as_slice);
            let of = |side: usize| {
                averaged(&found.iter().map(|own| (own.values[side], own.weight)).collect::<Vec<_>>())
            };
            let (value, standard_error) = of(0);
            measured.push(Measured {
                array: array.name.clone(),
                metric: *metric,
                count: found.iter().map(|own| own.weight).sum(),
                value,
                standard_error,
                popularity: of(1).0,
            });
        }
        return Ok(measured);
    }
    let errors = measuring.errors()?;
    let count: f64 = errors.iter().map(|own| own.weight).sum();
    for metric in metrics {
        let mean =
            |of: &dyn Fn(&Both) -> f64| errors.iter().map(|own| own.weight * of(own)).sum::<f64>() / count;
        let of = |side: usize| match metric {
            Metric::Rmse => mean(&|own| own.values[side] * own.values[side]).sqrt(),
            _ => mean(&|own| own.values[side].abs()),
        };
        measured.push(Measured {
            array: array.name.clone(),
            metric: *metric,
            count,
            value: of(0),
            standard_error: None,
            popularity: of(1),
        });
    }
    Ok(measured)
}

/// The mean of numbers, each of which stands for so many, and its standard error.
fn averaged(values: &[(f64, f64)]) -> (f64, Option<f64>) {
    let count: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mean = values.iter().map(|(own, weight)| weight * own).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|(own, weight)| weight * (own - mean) * (own - mean)).sum();
    (mean, (count > 1.0).then(|| (squares / (count * (count - 1.0))).sqrt()))
}

/// A number of the fit and one of popularity, and how often they count.
#[derive(Clone, Copy)]
struct Both {
    values: [f64; 2],
    weight: f64,
}

/// Values of each metric by its place.
type ByMetric = BTreeMap<usize, Vec<Both>>;

struct Measuring<'a> {
    problem: &'a Problem,
    given: &'a Problem,
    fits: &'a [&'a Parameters],
    hidden: &'a Hidden,
    /// Whether the data are scored as they are.
    as_given: bool,
    settings: (u64, usize),
}

impl Measuring<'_> {
    fn data(&self) -> (&BoundArray, Vec<usize>) {
        let bound = &self.given.binding.bound;
        (bound.array(self.hidden.array), bound.shape(&self.given.equations.symbols, self.hidden.array))
    }

    /// How often the entries of a row count.
    fn weights(&self) -> RowWeights<'_> {
        let (symbols, bound) = (&self.given.model.symbols, &self.given.binding.bound);
        let statement = self.given.model.statement_of(self.hidden.array);
        RowWeights::of_statement(symbols, bound, statement.expect("what is held out has a statement"))
    }

    /// What entries are expected to be, on average over the fits; of rows under a Multinomial the probability of a unit of theirs.
    fn expected(&self, coordinates: &[Vec<u32>]) -> Result<Vec<f64>, Error> {
        let mut sum: Vec<f64> = Vec::new();
        for parameters in self.fits {
            let own = expected_of_one(
                self.problem,
                parameters,
                self.hidden.array,
                coordinates,
                self.as_given,
                self.settings,
            )?;
            if sum.is_empty() {
                sum = vec![0.0; own.len()];
            }
            sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own / self.fits.len() as f64);
        }
        Ok(sum)
    }

    /// Numbers of entries in the units in which the data were given.
    fn in_units(&self, coordinates: &[Vec<u32>], values: &[f64]) -> Vec<f64> {
        let mut values = values.to_vec();
        if let Some(own) = self.given.binding.standardised.iter().find(|own| own.array == self.hidden.array) {
            own.undo(self.given, coordinates, &mut values, None);
        }
        values
    }

    /// Every observed entry, zeros that are not listed among them, with its value.
    fn observed(&self) -> Result<(Vec<Vec<u32>>, Vec<f64>), DataError> {
        let (data, shape) = self.data();
        let symbols = &self.given.equations.symbols;
        let array = symbols.array(self.hidden.array);
        let cells = shape.iter().copied().fold(1, usize::saturating_mul);
        if cells > CELLS {
            return Err(DataError::new(format!("`--metrics`: `{}` has {cells} entries", array.name))
                .possible(format!("`rmse` and `mae` of at most {CELLS} entries")));
        }
        let existing = Existing::of(symbols, &self.given.binding.bound.axes, array);
        let (mut entries, mut values) = (vec![Vec::new(); shape.len()], Vec::new());
        for cell in 0..cells {
            let place = unflat(&shape, cell);
            if let (value, true) = data.entry(&shape, &place)
                && existing.is_there(&place)
            {
                entries
                    .iter_mut()
                    .zip(&place)
                    .for_each(|(column, own): (&mut Vec<u32>, _)| column.push(*own as u32));
                values.push(value);
            }
        }
        Ok((entries, values))
    }

    /// The dimensions along which positions are those of one: both of a pair without an order.
    fn ends(&self, dimension: usize) -> Vec<usize> {
        let array = self.given.equations.symbols.array(self.hidden.array);
        match pair(array) {
            Some((first, second)) if dimension == first || dimension == second => vec![first, second],
            _ => vec![dimension],
        }
    }

    /// The dimension that is ranked.
    fn ranked(&self, rank: Option<&str>) -> Result<usize, DataError> {
        let dimensions = Dimension::of(self.given, self.hidden.array);
        let name = &self.given.equations.symbols.array(self.hidden.array).name;
        if self
            .given
            .binding
            .entries
            .iter()
            .any(|own| own.data.iter().any(|own| own.array == self.hidden.array))
        {
            return Err(DataError::new(format!(
                "`--metrics`: the program has latents of its own at each listed entry of `{name}`, and others cannot be ranked"
            ))
            .possible("`rmse` and `mae`, of the held-out entries themselves"));
        }
        match rank {
            None if dimensions.is_empty() => {
                Err(DataError::new(format!("`--metrics`: `{name}` is one number, and is not ranked")))
            }
            None => Ok(dimensions.len() - 1),
            Some(axis) => dimension_of(&dimensions, axis)
                .ok_or_else(|| DataError::new(format!("`--rank {axis}`: `{name}` has no axis `{axis}`"))),
        }
    }

    /// The metrics of each row.
    fn rows(&self, rank: Option<&str>, metrics: &[Metric]) -> Result<ByMetric, Error> {
        let ranked = self.ranked(rank)?;
        let (data, shape) = self.data();
        let symbols = &self.given.equations.symbols;
        let array = symbols.array(self.hidden.array);
        let existing = Existing::of(symbols, &self.given.binding.bound.axes, array);
        let popularity = (!self.as_given).then(|| self.popularity(ranked).amounts);
        let gains = self.in_units(&self.hidden.coordinates, &self.hidden.values);
        if metrics.iter().any(|metric| matches!(metric, Metric::Ndcg(_)))
            && gains.iter().any(|gain| *gain < 0.0)
        {
            return Err(DataError::new(format!(
                "`--metrics ndcg`: a held-out entry of `{}` is negative, and gains are not",
                array.name
            ))
            .into());
        }
        let mut rows: BTreeMap<Vec<u32>, BTreeMap<u32, f64>> = BTreeMap::new();
        let ends = self.ends(ranked);
        let is_ranked = |along: &[usize]| along.iter().any(|own| ends.contains(own));
        let of_rows = self.weights().part(|along| !is_ranked(along));
        let of_candidates = self.weights().part(is_ranked);
        for (entry, gain) in gains.iter().enumerate() {
            let place: Vec<u32> = self.hidden.coordinates.iter().map(|column| column[entry]).collect();
            // Each side of a pair is ranked for the other one.
            for end in &ends {
                let mut row = place.clone();
                row.swap(*end, ranked);
                let item = std::mem::take(&mut row[ranked]);
                *rows.entry(row).or_default().entry(item).or_default() += gain;
            }
        }
        let mut found = ByMetric::new();
        // A row that stands for none is none.
        let weight = |row: &[u32]| of_rows.at(|dimension| row[dimension] as usize);
        rows.retain(|row, _| weight(row) > 0.0);
        let rows: Vec<(Vec<u32>, BTreeMap<u32, f64>)> = rows.into_iter().collect();
        for chunk in rows.chunks((super::BLOCK / shape[ranked].max(1)).max(1)) {
            let mut coordinates: Vec<Vec<u32>> = vec![Vec::new(); shape.len()];
            let (mut gains, mut items): (Vec<f64>, Vec<usize>) = (Vec::new(), Vec::new());
            let mut often: Vec<f64> = Vec::new();
            let mut ends = Vec::new();
            for (row, own) in chunk {
                let mut place = row.clone();
                for item in 0..shape[ranked] {
                    place[ranked] = item as u32;
                    let place: Vec<usize> =
                        at_home(array, &place).into_iter().map(|own| own as usize).collect();
                    let is_candidate = match self.as_given {
                        true => data.entry(&shape, &place).1,
                        false => !is_seen(array, data, &shape, &place),
                    };
                    if is_candidate && existing.is_there(&place) {
                        coordinates.iter_mut().zip(&place).for_each(|(column, own)| column.push(*own as u32));
                        gains.push(own.get(&(item as u32)).copied().unwrap_or(0.0));
                        items.push(item);
                        often.push(of_candidates.at(|dimension| place[dimension]));
                    }
                }
                ends.push(gains.len());
            }
            let scores = self.expected(&coordinates)?;
            let popular: Option<Vec<f64>> =
                popularity.as_ref().map(|own| items.iter().map(|item| own[*item]).collect());
            let mut first = 0;
            for ((row, _), end) in chunk.iter().zip(ends) {
                let own = first..end;
                let of = |metric: &Metric, scores: &[f64]| {
                    metric.of_row(&gains[own.clone()], &scores[own.clone()], &often[own.clone()])
                };
                for (number, metric) in metrics.iter().enumerate() {
                    let theirs = popular.as_ref().map_or(Some(f64::NAN), |popular| of(metric, popular));
                    if let (Some(own), Some(theirs)) = (of(metric, &scores), theirs) {
                        found
                            .entry(number)
                            .or_default()
                            .push(Both { values: [own, theirs], weight: weight(row) });
                    }
                }
                first = end;
            }
        }
        Ok(found)
    }

    /// Held-out entries less what they are expected to be: by the fits, and by the mean of what was given along the last axis.
    fn errors(&self) -> Result<Vec<Both>, Error> {
        let all = (self.as_given && self.hidden.with_zeros).then(|| self.observed()).transpose()?;
        let (coordinates, values) = all
            .as_ref()
            .map_or((&self.hidden.coordinates, &self.hidden.values), |(own, values)| (own, values));
        let symbols = &self.given.equations.symbols;
        let totals = is_of_units(self.given, self.hidden.array).then(|| {
            let bound = &self.given.binding.bound;
            RowTotals::of_entries(symbols, bound, self.hidden.array, (coordinates, values))
        });
        // How many units of an expected entry are held out.
        let odds = self.hidden.odds.unwrap_or(1.0);
        let times = |entry: usize| match &totals {
            Some(totals) => totals.at(|dimension| coordinates[dimension][entry] as usize),
            None => odds,
        };
        let values = self.in_units(coordinates, values);
        let means = self.expected(coordinates)?;
        let last = self.ranked(None).ok().filter(|_| !self.as_given);
        let popular = last.map(|last| (self.ends(last), self.popularity(last).means));
        let popular = |entry: usize| {
            let Some((ends, means)) = &popular else { return f64::NAN };
            let place = |dimension: usize| coordinates[dimension][entry] as usize;
            if totals.is_some() {
                return self.share(means, &place);
            }
            ends.iter().map(|end| means[place(*end)]).sum::<f64>() / ends.len() as f64
        };
        let weights = self.weights();
        let weight = |entry: usize| match &self.hidden.weights {
            Some(own) => own[entry],
            None => weights.at(|dimension| coordinates[dimension][entry] as usize),
        };
        let both = |(entry, (value, mean)): (usize, (&f64, f64))| Both {
            values: [mean, popular(entry)].map(|own| value - times(entry) * own),
            weight: weight(entry),
        };
        Ok(values.iter().zip(means).enumerate().map(both).filter(|own| own.weight > 0.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Metric;

    /// scikit-learn 1.5 on the same numbers: `ndcg_score([g], [s], k=..)`, `average_precision_score(g > 0, s)`,
    /// `roc_auc_score(g > 0, s)`.
    #[test]
    fn rows_are_measured_as_scikit_learn_does() {
        let gains = [0.0, 3.0, 1.0, 0.0, 2.0];
        let scores = [0.5, 0.5, 0.9, 0.1, 0.3];
        let check = |text: &str, value: f64| {
            let metric = Metric::parse_all(text).expect("a metric")[0];
            let found = metric.of_row(&gains, &scores, &[1.0; 5]).expect("it is defined");
            assert!((found - value).abs() < 1e-12, "{text}: {found}, not {value}");
        };
        let log2 = f64::log2;
        let ideal = 3.0 + 2.0 / log2(3.0) + 1.0 / 2.0;
        // The tie of the first two shares ranks 2 and 3.
        check("ndcg", (1.0 + 1.5 * (1.0 / log2(3.0) + 0.5) + 2.0 / log2(5.0)) / ideal);
        check("ndcg@2", (1.0 + 1.5 / log2(3.0)) / (3.0 + 2.0 / log2(3.0)));
        check("map", 1.0 / 3.0 * (1.0 + 2.0 / 3.0 + 3.0 / 4.0));
        // Pairs: against the first (tied with one, above another, below the last) and against the fourth (all above).
        check("auc", (0.5 + 1.0 + 0.0 + 3.0) / 6.0);
        check("recall@2", 1.5 / 3.0);
        check("precision@2", 1.5 / 2.0);
        check("recall@10", 1.0);
        assert_eq!(Metric::Map.of_row(&[0.0, 0.0], &[1.0, 2.0], &[1.0; 2]), None);
        assert_eq!(Metric::Auc.of_row(&[1.0, 2.0], &[1.0, 2.0], &[1.0; 2]), None);
    }

    #[test]
    fn a_candidate_of_weight_is_as_many_candidates() {
        let (gains, scores, weights) = ([0.0, 3.0, 1.0, 9.0], [0.5, 0.5, 0.9, 2.0], [2.0, 1.0, 3.0, 0.0]);
        let written = ([0.0, 0.0, 3.0, 1.0, 1.0, 1.0], [0.5, 0.5, 0.5, 0.9, 0.9, 0.9]);
        for metric in Metric::parse_all("ndcg,ndcg@2,ndcg@5,precision@4,recall@2,map,auc").expect("metrics") {
            let once = metric.of_row(&gains, &scores, &weights).expect("it is defined");
            let often = metric.of_row(&written.0, &written.1, &[1.0; 6]).expect("it is defined");
            assert!((once - often).abs() < 1e-12, "{}: {once} and {often}", metric.name());
        }
    }

    #[test]
    fn unknown_metrics_are_refused() {
        for text in ["ndgc", "recall", "ndcg@0", "map@3", "", "auc,"] {
            assert!(Metric::parse_all(text).is_err(), "{text}");
        }
    }
}
