//! Which value of a constant, or which size of an axis: a grid of fits, and what is known of each.
//!
//! **Held-out score.** The same entries are held out of all fits. A fit is compared with the best one by their paired difference
//! ([`crate::compare`]); suggested is the smallest value whose score is within one standard error, of that difference, of the
//! best (Breiman and others, Classification and Regression Trees, 1984, section 3.4.3).
//!
//! **Stability.** The mean cosine of components that are matched over all pairs of restarts ([`crate::matching`]).
//!
//! **Coherence** of the components of counts of words in documents: the normalised pointwise mutual information of their ten largest
//! words, `log(p_ij / (p_i p_j)) / -log p_ij`, over pairs of words, p the share of documents that have both or one of them; -1 where
//! none has both. Averaged over pairs, then over components (Bouma, 2009; Lau, Newman and Baldwin, 2014).

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cavi_algebra::{ArrayId, AxisId, Support, Symbols};
use cavi_executor::{BoundArray, Parameters};
use cavi_files::format_number;
use serde_json::{Map, Value, json};

use crate::bind::{DataError, Inputs, SetInput, SetValue};
use crate::compare::{ByEntry, Difference, difference};
use crate::directory::number;
use crate::error::Error;
use crate::fit::Fit;
use crate::heldout::HeldOut;
use crate::matching::{self, Components};
use crate::prepare::Problem;
use crate::reopen::Reopened;
use crate::rows::RowWeights;

/// How many words of a component its coherence is that of.
const WORDS: usize = 10;
/// More values than these are no grid that is meant.
const MOST: usize = 1000;

/// Values to be tried of a constant or of the size of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Its name.
    pub name: String,
    /// The values.
    pub values: Vec<f64>,
}

impl Grid {
    /// Reads `topic=5..50` (every whole number), `topic=5..50:5` (every fifth) or `topic=4,8,16`; `None` for a single value.
    ///
    /// # Errors
    /// A range that is none, or has more than 1000 values.
    pub fn parse(text: &str) -> Option<Result<Grid, DataError>> {
        let (name, value) = text.split_once('=')?;
        let is_list = value.contains(',') && value.split(',').all(|own| own.trim().parse::<f64>().is_ok());
        if !(value.contains("..") && !value.contains('/') || is_list) {
            return None;
        }
        let wrong = |what: &str| {
            DataError::new(format!("`--set {text}`: {what}"))
                .possible("`5..50` for every whole number, `5..50:5` for every fifth, or a list `4,8,16`")
        };
        let values = if is_list {
            let values: Vec<f64> = value.split(',').filter_map(|own| own.trim().parse().ok()).collect();
            if values.iter().any(|own| !own.is_finite()) {
                return Some(Err(wrong("a value is no finite number")));
            }
            values
        } else {
            let (first, rest) = value.split_once("..")?;
            let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
            let number = |own: &str| own.trim().parse::<f64>().ok().filter(|own| own.is_finite());
            let (Some(first), Some(last), Some(step)) = (number(first), number(last), number(step)) else {
                return Some(Err(wrong("this is no range of numbers")));
            };
            if step <= 0.0 || last < first {
                return Some(Err(wrong("the range is empty")));
            }
            // A last value that rounding puts just beyond the range belongs to it.
            let steps = ((last - first) / step + 1e-9).floor();
            if steps >= MOST as f64 {
                let shown = if steps < 1e15 { (steps + 1.0).to_string() } else { format!("{steps:e}") };
                return Some(Err(wrong(&format!("these are {shown} values; at most {MOST} are tried"))));
            }
            let count = steps as usize + 1;
            (0..count).map(|place| first + place as f64 * step).collect::<Vec<f64>>()
        };
        let distinct: BTreeSet<u64> = values.iter().map(|own: &f64| own.to_bits()).collect();
        if distinct.len() < values.len() {
            return Some(Err(wrong("a value stands twice")));
        }
        Some(Ok(Grid { name: name.trim().to_owned(), values }))
    }

    /// A value as `--set` gives it.
    pub fn set(&self, value: f64) -> SetInput {
        SetInput { name: self.name.clone(), group: None, value: SetValue::Number(value) }
    }
}

/// What is known of a fit of the grid.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The value of each grid.
    pub values: Vec<(String, f64)>,
    /// The product of those that are sizes of axes; 1 where none is.
    pub size: f64,
    /// What the fit says of the held-out entries.
    pub entries: Vec<ByEntry>,
    /// Its evidence lower bound.
    pub elbo: f64,
    /// Whether it converged.
    pub converged: bool,
    /// How alike the components of its restarts are.
    pub stability: Option<f64>,
    /// How often the words of its components stand together.
    pub coherence: Option<f64>,
}

/// What is known of a fit, of the values of the grids. `settings` are the seed of draws and the number of threads.
///
/// # Errors
/// Data that cannot be scored.
pub fn candidate(
    values: Vec<(String, f64)>,
    problem: &Problem,
    fit: &Fit,
    held: &HeldOut,
    settings: (u64, usize),
) -> Result<Candidate, Error> {
    let (seed, threads) = settings;
    let entries = crate::heldout::by_entry(problem, &fit.parameters, held, seed, threads)?;
    let runs: Vec<&Parameters> = fit.kept.iter().map(|(_, own)| &own.parameters).collect();
    let (stability, coherence) = of_components(problem, &fit.parameters, &runs);
    let run = fit.run();
    let size = size(&problem.as_given().model.symbols, &values);
    Ok(Candidate { values, size, entries, elbo: run.elbo, converged: run.converged, stability, coherence })
}

/// What is known of a fit in a directory, with its runs if they were kept. The data are those that are `given`, else its own files.
///
/// # Errors
/// A directory that holds no fit, or one of which nothing was held out; data that are not its own.
pub fn candidate_in(
    values: Vec<(String, f64)>,
    directory: &Path,
    given: Option<&Inputs>,
    threads: usize,
) -> Result<Candidate, Error> {
    let fits = crate::compare::open(&[directory], given)?;
    let entries = crate::compare::by_entry(&fits, threads)?.swap_remove(0);
    let fit = &fits[0];
    let mut runs = Vec::new();
    for own in runs_in(directory)? {
        runs.push(crate::reopen::open(&own, given)?.parameters);
    }
    let (stability, coherence) =
        of_components(&fit.problem, &fit.parameters, &runs.iter().collect::<Vec<_>>());
    let summary = &fit.stored.summary;
    let elbo = summary["elbo"].as_f64().unwrap_or(f64::NAN);
    let converged = summary["converged"].as_bool().unwrap_or(false);
    let size = size(&fit.problem.as_given().model.symbols, &values);
    Ok(Candidate { values, size, entries, elbo, converged, stability, coherence })
}

/// The product of the values that are sizes of axes of a program.
pub fn size(symbols: &Symbols, values: &[(String, f64)]) -> f64 {
    let sizes = values.iter().filter(|(name, _)| symbols.axes.iter().any(|axis| axis.name == *name));
    sizes.map(|(_, size)| size).product()
}

/// How alike the components of the runs are that were kept with the fit in a directory; `None` with fewer than two, or of a program without
/// components. It takes no data.
///
/// # Errors
/// A run that cannot be read.
pub fn stability_in(directory: &Path) -> Result<Option<f64>, Error> {
    let runs = runs_in(directory)?;
    if runs.len() < 2 || matching::chosen(&crate::summary::model(directory)?, None, None).is_err() {
        return Ok(None);
    }
    let all: Vec<Components> =
        runs.iter().map(|own| Components::of_fit(own, None, None)).collect::<Result<_, Error>>()?;
    Ok(matching::stability(&all))
}

/// How often the words of the components of a fit stand together; `None` where its data are no words in documents.
pub fn coherence_of(fit: &Reopened) -> Option<f64> {
    of_components(&fit.problem, &fit.parameters, &[]).1
}

/// The directories of the runs that were kept with a fit.
fn runs_in(directory: &Path) -> Result<Vec<PathBuf>, DataError> {
    let runs = directory.join("runs");
    if !runs.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable =
        |error: std::io::Error| DataError::new(format!("`{}` cannot be read: {error}", runs.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(&runs).map_err(unreadable)? {
        found.push(entry.map_err(unreadable)?.path());
    }
    found.retain(|own| own.join("summary.json").is_file());
    found.sort();
    Ok(found)
}

/// How alike the components of the runs are, and how often the words of those of a fit stand together.
fn of_components(
    problem: &Problem,
    parameters: &Parameters,
    runs: &[&Parameters],
) -> (Option<f64>, Option<f64>) {
    let Ok((array, axis)) = matching::chosen(&problem.as_given().model, None, None) else {
        return (None, None);
    };
    let of = |parameters: &Parameters| Components::of_parameters(problem, parameters, array, axis);
    let runs: Vec<Components> = runs.iter().filter_map(|own| of(own)).collect();
    let coherence = of(parameters).and_then(|own| coherence(problem, array, axis, &own));
    (matching::stability(&runs), coherence)
}

impl Candidate {
    /// The held-out score and its standard error, a unit.
    pub fn score(&self) -> (f64, f64) {
        let units: f64 = self.entries.iter().map(ByEntry::units).sum();
        let total: f64 = self.entries.iter().map(ByEntry::total).sum();
        let variance: f64 = self.entries.iter().map(|own| own.standard_error().powi(2)).sum();
        (total / units, variance.sqrt() / units)
    }

    /// How much it is below another, a unit.
    ///
    /// # Errors
    /// Entries that are not the same.
    pub fn below(&self, best: &Candidate) -> Result<Difference, DataError> {
        let units: f64 = self.entries.iter().map(ByEntry::units).sum();
        let found = difference(&best.entries, &self.entries)?;
        Ok(Difference { value: found.value / units, standard_error: found.standard_error / units })
    }

    /// Which of two is smaller: by the sizes of axes, and where these are alike by the values of constants, in the order of the grids.
    fn by_size(&self, other: &Candidate) -> Ordering {
        let values = self.values.iter().zip(&other.values);
        let by_value = values.map(|((_, one), (_, other))| one.total_cmp(other)).find(|own| own.is_ne());
        self.size.total_cmp(&other.size).then(by_value.unwrap_or(Ordering::Equal))
    }
}

/// Candidates, the best of them and the one to take.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What was tried.
    pub candidates: Vec<Candidate>,
    /// How much each is below the best, a unit.
    pub below: Vec<Difference>,
    /// The place of the candidate with the best score.
    pub best: usize,
    /// The place of the smallest one within one standard error of it.
    pub suggested: usize,
}

/// The names of the numbers of a candidate, in the order of [`Choice::numbers`].
pub const COLUMNS: [&str; 7] =
    ["score", "se", "below_best", "below_best_se", "elbo", "stability", "coherence"];

/// The best of the candidates, and the one to take.
///
/// # Errors
/// No candidate; candidates of which other entries were held out: a value that changes the data.
pub fn suggest(candidates: Vec<Candidate>) -> Result<Choice, DataError> {
    let score = |place: &usize| {
        let own = candidates[*place].score().0;
        if own.is_nan() { f64::NEG_INFINITY } else { own }
    };
    let best = (0..candidates.len()).rev().max_by(|one, other| score(one).total_cmp(&score(other)));
    let Some(best) = best else { return Err(DataError::new("there is no value to choose from")) };
    let below: Vec<Difference> =
        candidates.iter().map(|own| own.below(&candidates[best])).collect::<Result<_, _>>()?;
    let within = |place: &usize| *place == best || below[*place].value <= below[*place].standard_error;
    let suggested = (0..candidates.len())
        .filter(within)
        .min_by(|one, other| candidates[*one].by_size(&candidates[*other]))
        .unwrap_or(best);
    Ok(Choice { candidates, below, best, suggested })
}

impl Choice {
    /// The numbers of a candidate by the names of [`COLUMNS`]; `None` where there is none.
    pub fn numbers(&self, place: usize) -> [Option<f64>; 7] {
        let own = &self.candidates[place];
        let (score, error) = own.score();
        let Difference { value, standard_error } = self.below[place];
        [
            Some(score),
            Some(error),
            Some(value),
            Some(standard_error),
            Some(own.elbo),
            own.stability,
            own.coherence,
        ]
    }

    /// Why this one is suggested.
    pub fn reason(&self) -> String {
        let name = |place: usize| {
            let each = self.candidates[place].values.iter();
            each.map(|(name, value)| format!("{name}={}", format_number(*value)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        if self.below.iter().any(|own| own.standard_error.is_nan()) {
            return format!(
                "suggested: {}, which has the best held-out score; of a single unit there is no standard error, so that another value may be as good: hold out more",
                name(self.suggested)
            );
        }
        if self.best == self.suggested {
            return format!(
                "suggested: {}, which has the best held-out score, and no smaller value is within one standard error",
                name(self.best)
            );
        }
        let Difference { value, standard_error } = self.below[self.suggested];
        format!(
            "suggested: {}, the smallest within one standard error of the best ({}): {value:.6} a unit below it, standard error {standard_error:.6}",
            name(self.suggested),
            name(self.best)
        )
    }

    /// As JSON: the `candidates` with their numbers, the values of the `best` and of the one `suggested`, and the `reason`.
    pub fn json(&self) -> Value {
        let values = |place: usize| -> Map<String, Value> {
            self.candidates[place].values.iter().map(|(name, value)| (name.clone(), number(*value))).collect()
        };
        let one = |place: usize| {
            let numbers = COLUMNS.iter().zip(self.numbers(place));
            let mut json: Map<String, Value> = numbers
                .map(|(name, value)| ((*name).to_owned(), value.map_or(Value::Null, number)))
                .collect();
            json.insert("values".to_owned(), Value::Object(values(place)));
            json.insert("converged".to_owned(), self.candidates[place].converged.into());
            Value::Object(json)
        };
        json!({
            "candidates": (0..self.candidates.len()).map(one).collect::<Vec<_>>(),
            "best": values(self.best),
            "suggested": values(self.suggested),
            "reason": self.reason(),
        })
    }
}

/// The coherence of components over the columns of counts, documents as often as they count; `None` where these are no words in documents.
fn coherence(problem: &Problem, array: ArrayId, axis: AxisId, components: &Components) -> Option<f64> {
    let given = problem.as_given();
    let symbols = &given.equations.symbols;
    let letters = |array: ArrayId| -> Vec<AxisId> {
        symbols.array(array).letters.iter().map(|letter| symbols.letter(*letter).axis).collect()
    };
    let others: Vec<AxisId> = letters(array).into_iter().filter(|own| *own != axis).collect();
    let [words] = others.as_slice() else { return None };
    let counts =
        given.model.statements.iter().filter(|own| own.observed).map(|own| own.target).find(|own| {
            let array = symbols.array(*own);
            array.support == Support::Count
                && matches!(letters(*own).as_slice(), [_, column] if column == words)
        })?;
    let shape = given.binding.bound.shape(symbols, counts);
    let top: Vec<Vec<usize>> = components
        .values
        .iter()
        .map(|values| {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|one, other| values[*other].total_cmp(&values[*one]));
            order.truncate(WORDS);
            order
        })
        .collect();
    let wanted: BTreeSet<usize> = top.iter().flatten().copied().collect();
    let mut documents: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); shape[1]];
    let mut keep = |row: usize, column: usize, value: f64| {
        if value > 0.0 && wanted.contains(&column) {
            documents[column].insert(row as u32);
        }
    };
    match given.binding.bound.array(counts) {
        BoundArray::Dense { values, .. } => {
            values
                .iter()
                .enumerate()
                .for_each(|(cell, value)| keep(cell / shape[1], cell % shape[1], *value));
        }
        BoundArray::Sparse { indices, values, .. } => {
            let places = indices[0].iter().zip(&indices[1]);
            places
                .zip(values)
                .for_each(|((row, column), value)| keep(*row as usize, *column as usize, *value));
        }
    }
    let statement = given.model.statement_of(counts)?;
    let weights = RowWeights::of_statement(&given.model.symbols, &given.binding.bound, statement)
        .part(|along| along.iter().all(|dimension| *dimension == 0));
    let weights: Vec<f64> = (0..shape[0]).map(|row| weights.at(|_| row)).collect();
    let weight = |rows: &mut dyn Iterator<Item = &u32>| rows.map(|row| weights[*row as usize]).sum::<f64>();
    let total: f64 = weights.iter().sum();
    let of_pair = |one: usize, other: usize| {
        let both = weight(&mut documents[one].intersection(&documents[other])) / total;
        let share = |word: usize| weight(&mut documents[word].iter()) / total;
        match both {
            0.0 => -1.0,
            1.0 => 1.0,
            both => (both / (share(one) * share(other))).ln() / -both.ln(),
        }
    };
    let of_component = |words: &Vec<usize>| {
        let pairs: Vec<f64> = (0..words.len())
            .flat_map(|place| words[place + 1..].iter().map(move |other| (words[place], *other)))
            .map(|(one, other)| of_pair(one, other))
            .collect();
        (!pairs.is_empty()).then(|| pairs.iter().sum::<f64>() / pairs.len() as f64)
    };
    let each: Vec<f64> = top.iter().filter_map(of_component).collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_ranges_and_lists() {
        let values = |text: &str| Grid::parse(text).and_then(Result::ok).map(|grid| grid.values);
        assert_eq!(values("k=2..4"), Some(vec![2.0, 3.0, 4.0]));
        assert_eq!(values("k=5..20:5"), Some(vec![5.0, 10.0, 15.0, 20.0]));
        assert_eq!(values("a=0.1..0.3:0.1").map(|own| own.len()), Some(3));
        assert_eq!(values("k=4, 8,16"), Some(vec![4.0, 8.0, 16.0]));
        assert!(Grid::parse("k=4").is_none() && Grid::parse("k=../a.csv").is_none());
        for wrong in ["k=4..2", "k=1..9:0", "k=a..b", "k=1..5000", "k=2,2", "k=..4"] {
            assert!(Grid::parse(wrong).is_some_and(|own| own.is_err()), "{wrong}");
        }
    }

    #[test]
    fn the_smallest_within_one_standard_error_is_suggested() {
        let of = |value: f64, logs: &[f64]| Candidate {
            values: vec![("k".to_owned(), value)],
            size: value,
            entries: vec![ByEntry {
                array: "x".to_owned(),
                counts: vec![1.0; logs.len()],
                logs: logs.to_vec(),
                rest: 0.0,
                of_rates: false,
                discrete: false,
            }],
            elbo: 0.0,
            converged: true,
            stability: None,
            coherence: None,
        };
        // Against the last, 2 is worse everywhere, and 3 is now better and now worse.
        let all =
            vec![of(2.0, &[-3.0, -3.1, -2.9]), of(3.0, &[-1.0, -2.0, -1.1]), of(4.0, &[-1.5, -1.0, -1.5])];
        let Choice { best, suggested, below, .. } = suggest(all).unwrap();
        assert_eq!((best, suggested), (2, 1));
        assert!(below[0].value > below[0].standard_error && below[1].value < below[1].standard_error);
        // Of one unit there is no standard error, and none is spoken of.
        let one = suggest(vec![of(2.0, &[-1.2]), of(3.0, &[-1.0])]).unwrap();
        assert_eq!(one.suggested, 1);
        assert!(one.reason().contains("of a single unit there is no standard error"), "{}", one.reason());
        // A constant is no size: with a mean of -5, three components are still more than two, and alike in score.
        let with = |components: f64, mean: f64| Candidate {
            values: vec![("mean".to_owned(), mean), ("k".to_owned(), components)],
            ..of(components, &[-1.0, -2.0, -1.1])
        };
        let all = vec![with(3.0, -5.0), with(2.0, -5.0), with(2.0, 1.0), with(3.0, 1.0), with(2.0, -6.0)];
        assert_eq!(suggest(all).unwrap().suggested, 4);
    }
}
