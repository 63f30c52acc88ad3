//! How well held-out entries are ranked, or met, by what they are expected to be; beside what popularity does.
//!
//! A row is a position on all axes of the data but the one that is ranked. Its candidates are the positions whose entry the fit was not given: those
//! that it was given (observed, and not 0 where what is not listed is 0) are left out. The gain of a candidate is its held-out value, 0
//! where there is none; it is relevant where that is above 0. Rows without a relevant candidate are left out, and the metrics of
//! the others averaged. A pair of `i < j` has no order: it stands in the rows of both of its sides, with the other one as the candidate.
//!
//!
//! - `ndcg@k`: `DCG = sum_r gain_r / log2(r + 1)` over the first k ranks, over that of the best order. Candidates of the same score share
//!   the discounts of their ranks, as in scikit-learn's `ndcg_score`.
//! - `precision@k`, `recall@k`: the relevant among the first k, over k and over all relevant ones; in expectation over the order of
//!   candidates of the same score.
//! - `map`: the mean of average precision, `sum_n (R_n - R_(n-1)) P_n` over thresholds of the score, as in scikit-learn's
//!   `average_precision_score`.
//! - `auc`: the probability that a relevant candidate is above another, ties counting half, as in `roc_auc_score`.
//! - `rmse`, `mae`: of the held-out entries themselves, against what they are expected to be; of thinned counts against the
//!   expected number of held-out units.
//!
//! Popularity ranks by how much the fit was given along the ranked axis (units of counts, else entries; zeros of `absent = 0` are none); for `rmse` and
//! `mae` it is the mean of what was given there, these zeros among it. What was given at either side of a pair counts there, and a pair is met by the
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
use crate::directory::number;
use crate::error::Error;
use crate::heldout::{expected, is_as_given, stated, unflat};
use crate::prepare::Problem;

use super::{at_home, dimension_of, is_seen, pair};

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

    /// Of one row, whose candidates have these gains and scores; `None` where it is not defined.
    pub fn of_row(self, gains: &[f64], scores: &[f64]) -> Option<f64> {
        let groups = tied(gains, scores);
        let relevant = gains.iter().filter(|gain| **gain > 0.0).count() as f64;
        let others = gains.len() as f64 - relevant;
        if relevant == 0.0 {
            return None;
        }
        match self {
            Metric::Ndcg(at) => {
                let at = at.unwrap_or(gains.len());
                let mut best = gains.to_vec();
                best.sort_by(|one, other| other.total_cmp(one));
                let ideal: f64 =
                    best.iter().take(at).enumerate().map(|(rank, gain)| gain * discount(rank)).sum();
                let mut rank = 0;
                let mut gained = 0.0;
                for group in &groups {
                    let discounts: f64 = (rank..(rank + group.count).min(at.max(rank))).map(discount).sum();
                    gained += group.gain / group.count as f64 * discounts;
                    rank += group.count;
                }
                Some(gained / ideal)
            }
            Metric::Precision(at) => Some(hits(&groups, at) / at as f64),
            Metric::Recall(at) => Some(hits(&groups, at) / relevant),
            Metric::Map => {
                let (mut found, mut seen, mut sum) = (0.0, 0.0, 0.0);
                for group in &groups {
                    found += group.relevant as f64;
                    seen += group.count as f64;
                    sum += group.relevant as f64 / relevant * (found / seen);
                }
                Some(sum)
            }
            Metric::Auc if others == 0.0 => None,
            Metric::Auc => {
                let (mut above, mut pairs) = (0.0, 0.0);
                for group in &groups {
                    let (own, rest) = (group.relevant as f64, (group.count - group.relevant) as f64);
                    pairs += rest * (above + own / 2.0);
                    above += own;
                }
                Some(pairs / (relevant * others))
            }
            Metric::Rmse | Metric::Mae => None,
        }
    }
}

/// Candidates of the same score.
struct Tied {
    count: usize,
    gain: f64,
    relevant: usize,
}

/// Groups of candidates of the same score, the greatest first.
fn tied(gains: &[f64], scores: &[f64]) -> Vec<Tied> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
    let mut groups: Vec<Tied> = Vec::new();
    let mut before = None;
    for place in order {
        if before != Some(scores[place]) {
            groups.push(Tied { count: 0, gain: 0.0, relevant: 0 });
        }
        before = Some(scores[place]);
        let group = groups.last_mut().expect("just pushed");
        group.count += 1;
        group.gain += gains[place];
        group.relevant += usize::from(gains[place] > 0.0);
    }
    groups
}

/// `1 / log2(r + 1)` of a rank that counts from 0.
fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 2.0).log2()
}

/// How many relevant candidates are expected among the first so many.
fn hits(groups: &[Tied], at: usize) -> f64 {
    let (mut rank, mut hits) = (0, 0.0);
    for group in groups {
        let inside = group.count.min(at.saturating_sub(rank));
        hits += group.relevant as f64 * inside as f64 / group.count as f64;
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
    /// Over how many rows, or entries, it is averaged.
    pub count: usize,
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
            "n": own.count,
        });
        let entry = arrays.entry(own.array.clone()).or_insert_with(|| Value::Object(Map::new()));
        entry[own.metric.name()] = json;
    }
    Value::Object(arrays)
}

/// Metrics of what is held out of an array, for the average of the expectations of several fits; ranked along an axis, the last where none is named.
/// `settings` are the seed of draws and the number of threads.
///
/// # Errors
/// Data whose entries have no order or no expected value; negative gains; data without such an axis.
pub fn measure(
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
            "`--metrics`: entries of `{}` are classes, which have no order",
            array.name
        ))
        .into());
    }
    if hidden.coordinates.len() != array.letters.len() {
        return Err(DataError::new(format!(
            "`--metrics`: whole rows of `{}` are held out, and nothing of them is ranked",
            array.name
        ))
        .into());
    }
    let as_given = is_as_given(&given.model.symbols, &given.binding.bound, hidden);
    let measuring = Measuring { problem, given, fits, hidden, as_given, settings };
    let rows = metrics.iter().any(|metric| !metric.is_of_entries());
    let by_row = if rows { measuring.rows(rank, metrics)? } else { BTreeMap::new() };
    let entries = metrics.iter().any(|metric| metric.is_of_entries());
    let errors = if entries { Some(measuring.errors()?) } else { None };
    let each = metrics.iter().enumerate().map(|(place, metric)| match (&errors, metric.is_of_entries()) {
        (Some((own, popularity)), true) => {
            let of = |errors: &[f64]| match metric {
                Metric::Rmse => {
                    (errors.iter().map(|own| own * own).sum::<f64>() / errors.len() as f64).sqrt()
                }
                _ => errors.iter().map(|own| own.abs()).sum::<f64>() / errors.len() as f64,
            };
            Measured {
                array: array.name.clone(),
                metric: *metric,
                count: own.len(),
                value: of(own),
                standard_error: None,
                popularity: of(popularity),
            }
        }
        _ => {
            let (own, popularity) = by_row.get(&place).cloned().unwrap_or_default();
            let (value, standard_error) = averaged(&own);
            Measured {
                array: array.name.clone(),
                metric: *metric,
                count: own.len(),
                value,
                standard_error,
                popularity: averaged(&popularity).0,
            }
        }
    });
    Ok(each.collect())
}

/// The mean of numbers and its standard error.
fn averaged(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|own| (own - mean) * (own - mean)).sum();
    (mean, (values.len() > 1).then(|| (squares / (count * (count - 1.0))).sqrt()))
}

/// Values of each metric by its place: of the fit, and of popularity.
type ByMetric = BTreeMap<usize, (Vec<f64>, Vec<f64>)>;

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

    /// What entries are expected to be, on average over the fits.
    fn expected(&self, coordinates: &[Vec<u32>]) -> Result<Vec<f64>, Error> {
        let mut sum: Vec<f64> = Vec::new();
        for parameters in self.fits {
            let array = self.hidden.array;
            let own = match self.as_given {
                true => stated(self.problem, parameters, array, coordinates, false, self.settings)?.mean,
                false => expected(self.problem, parameters, array, coordinates, 0, self.settings)?.mean,
            };
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

    /// What was given along a dimension: how much, and its mean over all entries there. How the data were written changes neither: a zero of
    /// `absent = 0` counts for the mean whether it is listed or not.
    fn popularity(&self, dimension: usize) -> (Vec<f64>, Vec<f64>) {
        let (data, shape) = self.data();
        let symbols = &self.given.equations.symbols;
        let array = symbols.array(self.hidden.array);
        let is_count = matches!(array.support, Support::Count | Support::Binary);
        let existing = Existing::of(symbols, &self.given.binding.bound.axes, array);
        let cells = shape.iter().copied().fold(1, usize::saturating_mul);
        let mut entries: Vec<Vec<u32>> = vec![Vec::new(); shape.len()];
        let mut values = Vec::new();
        let ends = self.ends(dimension);
        // How many entries are observed at each position.
        let mut observed = vec![0.0; shape[dimension]];
        match data {
            BoundArray::Sparse { indices, values: listed, observed: seen, unlisted_zero } => {
                let others: usize =
                    (0..shape.len()).filter(|own| *own != dimension).map(|own| shape[own]).product();
                if *unlisted_zero && existing.has_gaps() && cells > CELLS {
                    // Too many to count: their means are not known.
                    observed.fill(f64::NAN);
                } else if *unlisted_zero && existing.has_gaps() {
                    (0..cells).for_each(|cell| {
                        let place = unflat(&shape, cell);
                        let is_observed = existing.is_there(&place) && data.entry(&shape, &place).1;
                        let count = f64::from(u8::from(is_observed));
                        ends.iter().for_each(|end| observed[place[*end]] += count);
                    });
                } else if *unlisted_zero {
                    observed.fill(others as f64);
                }
                for (entry, value) in listed.iter().enumerate() {
                    let is_seen = seen.as_ref().is_none_or(|own| own[entry]);
                    let change = match (is_seen, *unlisted_zero) {
                        (true, false) => 1.0,
                        (false, true) if !existing.has_gaps() => -1.0,
                        _ => 0.0,
                    };
                    ends.iter().for_each(|end| observed[indices[*end][entry] as usize] += change);
                    if is_seen {
                        let own = entries.iter_mut().zip(indices);
                        own.for_each(|(column, own)| column.push(own[entry]));
                        values.push(*value);
                    }
                }
            }
            BoundArray::Dense { values: all, observed: seen } => {
                for (cell, value) in all.iter().enumerate() {
                    let place = unflat(&shape, cell);
                    if seen.as_ref().is_none_or(|own| own[cell]) && existing.is_there(&place) {
                        ends.iter().for_each(|end| observed[place[*end]] += 1.0);
                        entries.iter_mut().zip(&place).for_each(|(column, own)| column.push(*own as u32));
                        values.push(*value);
                    }
                }
            }
        }
        let (mut sums, mut counts) = (vec![0.0; shape[dimension]], vec![0.0; shape[dimension]]);
        let in_units = self.in_units(&entries, &values);
        for (entry, (value, own)) in values.iter().zip(in_units).enumerate() {
            // What is not listed is no entry that was given, so neither is a zero that is.
            let is_nothing = array.absent.zero && *value == 0.0;
            for end in &ends {
                let position = entries[*end][entry] as usize;
                sums[position] += own;
                counts[position] += f64::from(u8::from(!is_nothing));
            }
        }
        let overall = sums.iter().sum::<f64>() / observed.iter().sum::<f64>().max(1.0);
        let mean = |(sum, observed): (&f64, &f64)| if *observed > 0.0 { sum / observed } else { overall };
        let means = sums.iter().zip(&observed).map(mean).collect();
        (if is_count { sums } else { counts }, means)
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
        let popularity = (!self.as_given).then(|| self.popularity(ranked).0);
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
        let rows: Vec<(Vec<u32>, BTreeMap<u32, f64>)> = rows.into_iter().collect();
        for chunk in rows.chunks((super::BLOCK / shape[ranked].max(1)).max(1)) {
            let mut coordinates: Vec<Vec<u32>> = vec![Vec::new(); shape.len()];
            let (mut gains, mut items): (Vec<f64>, Vec<usize>) = (Vec::new(), Vec::new());
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
                    }
                }
                ends.push(gains.len());
            }
            let scores = self.expected(&coordinates)?;
            let popular: Option<Vec<f64>> =
                popularity.as_ref().map(|own| items.iter().map(|item| own[*item]).collect());
            let mut first = 0;
            for end in ends {
                for (number, metric) in metrics.iter().enumerate() {
                    let own = metric.of_row(&gains[first..end], &scores[first..end]);
                    let theirs = match &popular {
                        Some(popular) => metric.of_row(&gains[first..end], &popular[first..end]),
                        None => Some(f64::NAN),
                    };
                    if let (Some(own), Some(theirs)) = (own, theirs) {
                        let both = found.entry(number).or_default();
                        both.0.push(own);
                        both.1.push(theirs);
                    }
                }
                first = end;
            }
        }
        Ok(found)
    }

    /// Held-out entries less what they are expected to be: by the fits, and by the mean of what was given along the last axis.
    fn errors(&self) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let odds = self.hidden.odds.unwrap_or(1.0);
        let all = (self.as_given && self.hidden.with_zeros).then(|| self.observed()).transpose()?;
        let (coordinates, values) = all
            .as_ref()
            .map_or((&self.hidden.coordinates, &self.hidden.values), |(own, values)| (own, values));
        let values = self.in_units(coordinates, values);
        let means = self.expected(coordinates)?;
        let own = values.iter().zip(means).map(|(value, mean)| value - odds * mean).collect();
        let nothing = || vec![f64::NAN; values.len()];
        let Some(last) = self.ranked(None).ok().filter(|_| !self.as_given) else {
            return Ok((own, nothing()));
        };
        let (_, popular) = self.popularity(last);
        let ends = self.ends(last);
        let popular = |entry: usize| {
            let each = ends.iter().map(|end| popular[coordinates[*end][entry] as usize]);
            each.sum::<f64>() / ends.len() as f64
        };
        let theirs = values.iter().enumerate().map(|(entry, value)| value - odds * popular(entry)).collect();
        Ok((own, theirs))
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
            let found = metric.of_row(&gains, &scores).expect("it is defined");
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
        assert_eq!(Metric::Map.of_row(&[0.0, 0.0], &[1.0, 2.0]), None);
        assert_eq!(Metric::Auc.of_row(&[1.0, 2.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn unknown_metrics_are_refused() {
        for text in ["ndgc", "recall", "ndcg@0", "map@3", "", "auc,"] {
            assert!(Metric::parse_all(text).is_err(), "{text}");
        }
    }
}
