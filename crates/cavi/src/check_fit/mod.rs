//! Posterior predictive checks: do data that a fit would produce look like those that it was made from?
//!
//! Data are drawn again and again from the fit ([`simulate::from_fit`]): latents from q, data given these, rows of counts with their
//! totals. A row of multiplicity m is m rows, in the data and in replicates, each of which has draws of its own; where multiplicities are no whole
//! numbers, one draw of a row counts as often as the row weighs in every statistic. For each array, each group of a ragged one or each label of an axis, a statistic T of the entries that were observed is
//! compared with the same entries of each replicate. With R replicates the two-sided posterior predictive p-value is
//! `min(1, 2 min(1 + #{T_rep >= T}, 1 + #{T_rep <= T}) / (R + 1))`. Some replicates may have no value of a statistic, as the variance over the
//! mean of a column that is 0 throughout: R is the number of those that have one. Where the data have none, or fewer than [`FEWEST`] replicates
//! do, nothing is compared, and a note says so. Data that the fit centres or scales are compared in the units in which they were given.
//!
//! A statistic is reported where the data lie beyond every replicate, `p = 2 / (R + 1)`. If data and replicates came from one distribution,
//! this would happen once in `(R + 1) / 2` statistics; since q has seen the data it happens less often (these p-values are conservative).
//!
//! # Source
//! Gelman, Meng, Stern (1996), "Posterior predictive assessment of model fitness via realized discrepancies".

mod groups;
mod pareto;
mod statistics;
mod verdict;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cavi_algebra::{ArrayId, BlockId, Mode};
use cavi_executor::BoundArray;
use cavi_families::Prediction;
use cavi_numerics::Threads;
use serde_json::{Value, json};

use crate::bind::{DataError, list};
use crate::dimensions::Declared;
use crate::directory::number;
use crate::error::Error;
use crate::fit::is_stopped;
use crate::heldout::log_weights;
use crate::impute::arrays;
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::rows::Repeated;
use crate::simulate;
use crate::{seeds, streams};
use groups::{Group, groups};
pub use pareto::k_hat;
pub use statistics::{ALL, Statistic};
pub use verdict::shown;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Names of statistics; where there is none, those that suit the type of each array.
    pub statistics: Vec<String>,
    /// How many replicates.
    pub draws: usize,
    /// An axis, each label of which is looked at by itself.
    pub by: Option<String>,
    /// Of the draws: each replicate has a seed of its own that follows from it.
    pub seed: u64,
    /// How many threads; they change no result.
    pub threads: usize,
    /// Draws from q for its importance weights; without it [`DRAWS`], where a draw and the data have at most [`LARGEST`] numbers.
    pub weights: Option<usize>,
    /// Ends the work with [`Error::Stopped`] once it is true.
    pub stop: Option<Arc<AtomicBool>>,
}

/// Fewer replicates than these are no comparison.
pub const FEWEST: usize = 20;

/// Draws from q for its importance weights, unless told otherwise.
pub const DRAWS: usize = 1000;

/// Where a draw from q and the data have more numbers than these, its importance weights are left out unless they are asked for.
pub const LARGEST: usize = 200_000;

/// What is found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The statistics.
    pub rows: Vec<Row>,
    /// How far q is from the posterior; or, in words, why that is not known.
    pub q: Result<Weights, String>,
    /// How many replicates were drawn.
    pub draws: usize,
    /// Of the draws.
    pub seed: u64,
    /// What is to be known about them.
    pub notes: Vec<String>,
}

impl Checked {
    /// As `cavi check-fit --json` prints it.
    pub fn json(&self) -> Value {
        let q = match &self.q {
            Ok(own) => json!({
                "k_hat": number(own.k_hat),
                "mean_log_weight": number(own.mean),
                "sd_log_weight": number(own.sd),
                "given": own.given,
                "words": own.words(),
            }),
            Err(reason) => json!({ "k_hat": null, "words": reason }),
        };
        let each = self.rows.iter().map(|row| {
            json!({
                "array": row.name,
                "group": row.group,
                "statistic": row.statistic,
                "n_entries": row.entries,
                "n_replicates": row.replicates,
                "observed": number(row.observed),
                "mean": number(row.mean),
                "lowest": number(row.lowest),
                "highest": number(row.highest),
                "p": number(row.p),
                "beyond": row.is_beyond(),
                "verdict": row.verdict,
            })
        });
        json!({ "draws": self.draws, "seed": self.seed, "q": q, "statistics": each.collect::<Vec<_>>(), "notes": self.notes })
    }
}

/// A statistic of the data beside those of the replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The array.
    pub name: String,
    /// The group of a ragged array, or the label of the axis that was asked for.
    pub group: Option<String>,
    /// The statistic, by its name.
    pub statistic: &'static str,
    /// How many entries were looked at.
    pub entries: usize,
    /// How many replicates have a value of it, which are those that it is compared with.
    pub replicates: usize,
    /// Of the data.
    pub observed: f64,
    /// Over replicates.
    pub mean: f64,
    /// The least of the replicates.
    pub lowest: f64,
    /// The greatest of the replicates.
    pub highest: f64,
    /// Two-sided.
    pub p: f64,
    /// What it means, where the data lie beyond every replicate.
    pub verdict: Option<String>,
}

impl Row {
    /// Whether the data lie beyond every replicate.
    pub fn is_beyond(&self) -> bool {
        self.beyond() > 0.0
    }

    /// How far the data lie beyond the nearest replicate; 0 where they lie among them, or where what is between is rounding.
    pub fn beyond(&self) -> f64 {
        let far = (self.observed - self.highest).max(self.lowest - self.observed);
        if far > rounding(self.observed) { far } else { 0.0 }
    }
}

/// Less than this between two values of a statistic of this size is rounding.
fn rounding(size: f64) -> f64 {
    1e-12 * size.abs()
}

/// How far q is from the posterior, by its importance weights `log p(data, latents) - log q(latents)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The shape of their tail ([`k_hat`]).
    pub k_hat: f64,
    /// The mean of their logs: the evidence lower bound, where no other bound stands in it and nothing is a point.
    pub mean: f64,
    /// The standard deviation of their logs.
    pub sd: f64,
    /// The latents that are points: they have no distribution under q, and what is said of q is said given their values.
    pub given: Vec<String>,
}

impl Weights {
    /// What k-hat says, in words.
    pub fn words(&self) -> String {
        let words = match self.k_hat {
            k if k == f64::NEG_INFINITY => "q is the posterior: the weights of all draws are equal",
            k if k < 0.5 => {
                "q is close to the posterior: means and variances can be corrected by importance weights"
            }
            k if k < 0.7 => {
                "q is near enough to the posterior to be corrected by importance weights, with more draws"
            }
            _ => {
                "q is too far from the posterior for importance weights to correct it: its means may be good, its spread is not to \
                 be trusted. With many latents k-hat is nearly always above 0.7, since it judges all of them at once"
            }
        };
        if self.given.is_empty() {
            return words.to_owned();
        }
        let names: Vec<&str> = self.given.iter().map(String::as_str).collect();
        let what = if names.len() == 1 { "the point" } else { "the points" };
        format!("given {what} {}, {words}", list(&names))
    }
}

/// The importance weights that are asked for; or, in words, why they cannot be evaluated or were left out.
fn weights(fit: &Reopened, asked: &Asked) -> Result<Weights, String> {
    let size = size(fit);
    if asked.weights.is_none() && size > LARGEST {
        return Err(format!(
            "a draw and the data have {size} numbers, for which it takes long and is nearly always above 0.7; `--k-hat {DRAWS}` works it out"
        ));
    }
    let given = points(fit)?;
    let draws = asked.weights.unwrap_or(DRAWS);
    let logs = log_weights(fit, asked.seed, draws, asked.threads, &|| is_stopped(asked.stop.as_ref()))?;
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    match mean.is_finite() {
        true => Ok(Weights { k_hat: k_hat(&logs), mean, sd: variance.sqrt(), given }),
        false => Err("a draw from q has a density of 0 or none under the model".to_owned()),
    }
}

/// The latents that are points under q.
///
/// # Errors
/// In words, that nothing is a distribution under q: points have no spread to be compared with that of the posterior.
fn points(fit: &Reopened) -> Result<Vec<String>, String> {
    let problem = fit.problem.as_given();
    let (symbols, equations) = (&problem.model.symbols, &problem.equations);
    let (mut points, mut held) = (Vec::new(), Vec::new());
    for id in (0..equations.blocks.len()).map(BlockId::from) {
        let names = equations.block(id).members.iter().map(|own| symbols.array(*own).name.clone());
        match equations.block(id).mode {
            Mode::Point => points.extend(names),
            Mode::Fixed => held.extend(names),
            Mode::Distribution | Mode::Implicit => {}
        }
    }
    let all = equations.blocks.iter().map(|own| own.members.len()).sum::<usize>();
    if all == 0 {
        return Err("the program has no latent".to_owned());
    }
    if points.len() + held.len() == all {
        let what = if held.is_empty() { "points" } else { "points or fixed" };
        return Err(format!("all latents are {what}: q has no spread to compare with that of the posterior"));
    }
    Ok(points)
}

/// How many numbers a draw from q and the data have: what the weights of a draw take, in units.
fn size(fit: &Reopened) -> usize {
    let problem = fit.problem.as_given();
    let symbols = &problem.model.symbols;
    let each = problem.model.statements.iter().map(|own| own.target);
    each.map(|own| problem.binding.bound.shape(symbols, own).iter().product::<usize>()).sum()
}

/// What is looked at in one array.
struct Array {
    id: ArrayId,
    name: String,
    prediction: Prediction,
    statistics: Vec<Statistic>,
    groups: Vec<Group>,
}

/// The statistics and the importance weights that are asked for.
///
/// # Errors
/// A statistic or an axis that there is not; one that no data have; fewer than 20 replicates, or 25 draws for importance weights; data that
/// cannot be drawn; a stop.
pub fn check(fit: &Reopened, asked: &Asked) -> Result<Checked, Error> {
    if let Some(draws) = asked.weights.filter(|own| *own < 25) {
        return Err(Error::Usage(vec![
            DataError::new(format!("`--k-hat {draws}` are too few draws to see a tail"))
                .possible("25 or more"),
        ]));
    }
    let (rows, notes) = statistics_of(fit, asked)?;
    let q = weights(fit, asked);
    if is_stopped(asked.stop.as_ref()) {
        return Err(Error::Stopped);
    }
    Ok(Checked { rows, q, draws: asked.draws, seed: asked.seed, notes })
}

/// Statistics of the data and of replicates, array by array, and what is to be known about them.
fn statistics_of(fit: &Reopened, asked: &Asked) -> Result<(Vec<Row>, Vec<String>), Error> {
    if asked.draws < FEWEST {
        return Err(Error::Usage(vec![
            DataError::new(format!("`--draws {}` are too few replicates to compare with", asked.draws))
                .possible(format!("{FEWEST} or more")),
        ]));
    }
    let given = fit.problem.as_given();
    let mut notes = Vec::new();
    let repeated = Repeated::of(&given.model, &given.binding).unwrap_or_else(|reason| {
        notes.push(format!("one draw of a row counts as often as the row weighs: {}", reason.message));
        None
    });
    let rows = match &repeated {
        None => None,
        Some(own) => Some(given.with_data(own.binding.clone())?),
    };
    let problem = rows.as_ref().map_or(given, Problem::as_given);
    let looked_at = looked_at(problem, repeated.as_ref(), asked)?;
    let threads = Threads::new(asked.threads);
    let factors = simulate::Factors::of(fit)?;
    let replicate = |draw: usize| -> Result<Vec<f64>, Error> {
        if is_stopped(asked.stop.as_ref()) {
            return Err(Error::Stopped);
        }
        let seed = seeds::nth(asked.seed, streams::REPLICATES, draw);
        let wanted = simulate::Asked { seed, totals: Vec::new() };
        let drawn = simulate::from_factors(fit, &factors, repeated.as_ref(), &wanted)?;
        let mut found = Vec::new();
        for array in &looked_at {
            let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) =
                drawn.bound.array(array.id);
            for group in &array.groups {
                let mut own: Vec<f64> = group.cells.iter().map(|cell| values[*cell]).collect();
                group.in_given_units(&mut own);
                found.extend(array.statistics.iter().map(|statistic| group.value(*statistic, &own)));
            }
        }
        Ok(found)
    };
    let replicates = threads.map(asked.draws, replicate).into_iter().collect::<Result<Vec<_>, Error>>()?;
    let (mut rows, mut valueless, mut rare) = (Vec::new(), Vec::new(), Vec::new());
    let mut too_few: Vec<Vec<&Group>> = vec![Vec::new(); ALL.len()];
    let mut place = 0;
    for array in &looked_at {
        for group in &array.groups {
            for statistic in &array.statistics {
                let own: Vec<f64> = replicates.iter().map(|found| found[place]).collect();
                place += 1;
                if group.values.len() < statistic.fewest() {
                    too_few[*statistic as usize].push(group);
                    continue;
                }
                let name = || {
                    let of = group.label.as_ref().map_or_else(String::new, |own| format!(", {own}"));
                    format!("`{}` of `{}`{of}", statistic.name(), array.name)
                };
                match row(array, group, *statistic, &own) {
                    Ok(row) => rows.push(row),
                    // One row has no others to differ from, in no data.
                    Err(_) if group.is_of_one(*statistic) => {}
                    Err(LeftOut::NoValue) => valueless.push(name()),
                    Err(LeftOut::FewReplicates(count)) => rare.push(format!("{} ({count})", name())),
                }
            }
        }
    }
    for (statistic, groups) in ALL.iter().zip(&too_few).filter(|(_, groups)| !groups.is_empty()) {
        let of = match groups[..] {
            [Group { label: None, .. }] => "all data".to_owned(),
            [Group { label: Some(label), .. }] => label.clone(),
            _ => format!("{} groups", groups.len()),
        };
        let (name, fewest) = (statistic.name(), statistic.fewest());
        notes.push(format!("`{name}` takes {fewest} entries or more, and is left out of {of}"));
    }
    if !valueless.is_empty() {
        notes.push(format!("the data have no value of {}, and nothing is compared there", some(&valueless)));
    }
    if !rare.is_empty() {
        notes.push(format!(
            "fewer than {FEWEST} of {} replicates have a value of {}, too few to compare the data with",
            asked.draws,
            some(&rare)
        ));
    }
    Ok((rows, notes))
}

/// The first of several names, and how many there are beside.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names[..names.len().min(SHOWN)].join("; ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Why a statistic is not compared.
enum LeftOut {
    /// The data have no value of it.
    NoValue,
    /// So many replicates have one, which are too few.
    FewReplicates(usize),
}

/// A statistic of the data among those of the replicates that have a value of it.
fn row(array: &Array, group: &Group, statistic: Statistic, replicates: &[f64]) -> Result<Row, LeftOut> {
    let observed = group.value(statistic, &group.values);
    if !observed.is_finite() {
        return Err(LeftOut::NoValue);
    }
    let replicates: Vec<f64> = replicates.iter().copied().filter(|own| own.is_finite()).collect();
    if replicates.len() < FEWEST {
        return Err(LeftOut::FewReplicates(replicates.len()));
    }
    let count = replicates.len() as f64;
    let rounding = rounding(observed);
    let above = replicates.iter().filter(|own| **own >= observed - rounding).count() as f64;
    let below = replicates.iter().filter(|own| **own <= observed + rounding).count() as f64;
    let mut row = Row {
        name: array.name.clone(),
        group: group.label.clone(),
        statistic: statistic.name(),
        entries: group.values.len(),
        replicates: replicates.len(),
        observed,
        mean: replicates.iter().sum::<f64>() / count,
        lowest: replicates.iter().copied().fold(f64::INFINITY, f64::min),
        highest: replicates.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        p: (2.0 * (1.0 + above.min(below)) / (count + 1.0)).min(1.0),
        verdict: None,
    };
    row.verdict = verdict::verdict(&row, statistic, array.prediction);
    Ok(row)
}

/// The arrays, the statistics and the groups that are asked for.
fn looked_at(problem: &Problem, repeated: Option<&Repeated>, asked: &Asked) -> Result<Vec<Array>, Error> {
    let wanted: Vec<Statistic> =
        asked.statistics.iter().map(|name| named(name)).collect::<Result<_, Error>>()?;
    let symbols = &problem.model.symbols;
    let mut found = Vec::new();
    let mut axes: Vec<String> = Vec::new();
    for id in arrays(problem, &[])? {
        let own = symbols.array(id);
        let statement = problem.model.statement_of(id).expect("data that are predicted have a statement");
        let prediction = statement.family.prediction();
        let dimensions = Declared::of(problem, id);
        let suits = |statistic: &Statistic| statistic.suits(own.support, dimensions.len(), prediction);
        let by_default = |statistic: &Statistic| statistic.by_default(own.support);
        let statistics: Vec<Statistic> = match wanted.is_empty() {
            true => ALL.into_iter().filter(|own| suits(own) && by_default(own)).collect(),
            false => wanted.iter().copied().filter(suits).collect(),
        };
        axes.extend(dimensions.iter().flat_map(Declared::names));
        let groups = groups(problem, repeated, id, asked.by.as_deref());
        if !statistics.is_empty() && !groups.is_empty() {
            found.push(Array { id, name: own.name.clone(), prediction, statistics, groups });
        }
    }
    if let Some(by) = asked.by.as_ref().filter(|by| !axes.contains(by)) {
        let known: Vec<&str> = axes.iter().map(String::as_str).collect();
        let message = format!("`--by {by}`: no data that the program predicts have an axis of this name");
        return Err(DataError::unknown(message, by, &known).into());
    }
    if found.is_empty() {
        let types: Vec<String> = wanted.iter().map(|own| format!("`{}`", own.name())).collect();
        let message = match types.is_empty() {
            true => "the data have no entries to compare".to_owned(),
            false => format!("no data of this fit have a type for which {} says something", types.join(", ")),
        };
        return Err(DataError::new(message).help("leave `--stat` out to have what suits the data").into());
    }
    Ok(found)
}

/// A statistic by its name.
fn named(name: &str) -> Result<Statistic, Error> {
    let known: Vec<&str> = ALL.iter().map(|own| own.name()).collect();
    let place = known.iter().position(|own| *own == name);
    place.map(|place| ALL[place]).ok_or_else(|| {
        Error::Usage(vec![DataError::unknown(
            format!("`--stat {name}`: there is no statistic of this name"),
            name,
            &known,
        )])
    })
}
