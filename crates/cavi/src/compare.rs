//! Which of several fits predicts better: the same held-out entries, and the differences of what each says of them.
//!
//! Of entries e with weights c_e (units of a count, or 1) and log predictive probabilities `l_e` and `m_e` under two fits, the
//! difference is `D = sum c_e (l_e - m_e)`, and its standard error `sqrt(N / (N - 1) sum c_e (d_e - D / N)^2)` with `d_e = l_e - m_e` and
//! `N = sum c_e`: that of a sum of N independent differences. Counts at a rate have what the rates sum to subtracted as well, a number
//! of each fit; as units arrive by chance, the standard error is then that of a Poisson sum, `sqrt(sum c_e d_e^2)`. Both are given the
//! fits: they do not hold what another split, or other data, would change.
//!
//! Entries are the same where they are in the units in which the data were given, whatever programs subtract from them and divide them by. A density of
//! quotients is one of the data divided by the scale: those of all fits are taken to the units of the first, `l_e + log s_e(first) - log s_e(own)`.

use std::path::Path;

use cavi_algebra::ArrayKind;
use serde_json::{Value, json};

use crate::bind::{DataError, Hidden, Inputs};
use crate::data_files;
use crate::dimensions::Declared;
use crate::directory::number;
use crate::error::Error;
use crate::heldout::{HeldOut, by_element, log_scales};
use crate::prepare::Problem;
use crate::reopen::{self, Reopened};

/// What a fit says of the held-out entries of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct ByEntry {
    /// The array.
    pub array: String,
    /// How often each entry counts.
    pub counts: Vec<f64>,
    /// The log of the prediction of each.
    pub logs: Vec<f64>,
    /// What is subtracted beside.
    pub rest: f64,
    /// Whether they are counts at a rate.
    pub of_rates: bool,
    /// Whether predictions are probabilities; else they are densities, whose size is that of the unit of the data.
    pub discrete: bool,
}

impl ByEntry {
    /// The score: the sum of the logs, each as often as it counts, less what is subtracted beside.
    pub fn total(&self) -> f64 {
        let own = self.counts.iter().zip(&self.logs).filter(|(count, _)| **count != 0.0);
        own.map(|(count, log)| count * log).sum::<f64>() - self.rest
    }

    /// How many units.
    pub fn units(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// The standard error of the score, as that of a sum of independent entries.
    pub fn standard_error(&self) -> f64 {
        spread(&self.counts, &self.logs, self.of_rates)
    }
}

/// A difference and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// One score less the other.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// The difference of two fits over all arrays, in the same order in both.
///
/// # Errors
/// Entries that differ in what is predicted of them: a probability by one and a density by the other, or counts at a rate and units of rows.
pub fn difference(one: &[ByEntry], other: &[ByEntry]) -> Result<Difference, DataError> {
    let (mut value, mut variance) = (0.0, 0.0);
    for (one, other) in one.iter().zip(other) {
        if one.discrete != other.discrete {
            return Err(DataError::new(format!(
                "`{}` is not scored alike: one program gives probabilities, and the other densities, which may be above 1",
                one.array
            ))
            .possible("programs that declare the data with the same type: `binary`, `count` and classes have probabilities, `real` and `nonnegative` densities"));
        }
        if one.counts != other.counts || one.of_rates != other.of_rates {
            return Err(DataError::new(format!(
                "`{}` is not scored alike: as units of its rows by one program, and as counts at a rate by the other",
                one.array
            ))
            .possible("programs whose data have the same kind of distribution"));
        }
        // Where neither can be, they do not differ.
        let of = |(one, other): (&f64, &f64)| if one == other { 0.0 } else { one - other };
        let logs: Vec<f64> = one.logs.iter().zip(&other.logs).map(of).collect();
        let own = one.counts.iter().zip(&logs).filter(|(count, _)| **count != 0.0);
        value += own.map(|(count, log)| count * log).sum::<f64>() - (one.rest - other.rest);
        variance += spread(&one.counts, &logs, one.of_rates).powi(2);
    }
    Ok(Difference { value, standard_error: variance.sqrt() })
}

/// The standard error of a sum of entries.
fn spread(counts: &[f64], logs: &[f64], of_rates: bool) -> f64 {
    let pairs = || counts.iter().zip(logs).filter(|(count, _)| **count > 0.0);
    let units: f64 = pairs().map(|(count, _)| count).sum();
    if of_rates {
        return pairs().map(|(count, log)| count * log * log).sum::<f64>().sqrt();
    }
    if units <= 1.0 {
        return f64::NAN;
    }
    let mean = pairs().map(|(count, log)| count * log).sum::<f64>() / units;
    let squares: f64 = pairs().map(|(count, log)| count * (log - mean) * (log - mean)).sum();
    (units / (units - 1.0) * squares).sqrt()
}

/// Fits with the same data, of which the same entries were held out.
///
/// # Errors
/// Fits to different data, or with different held-out entries, with the two directories; a fit of which nothing was held out.
pub fn open(directories: &[&Path], given: Option<&Inputs>) -> Result<Vec<Reopened>, Error> {
    open_each(&directories.iter().map(|own| (*own, given)).collect::<Vec<_>>())
}

/// As [`open`], each fit with inputs of its own: fits to the same data may have other constants.
///
/// # Errors
/// As there.
pub fn open_each(each: &[(&Path, Option<&Inputs>)]) -> Result<Vec<Reopened>, Error> {
    let fits: Vec<Reopened> =
        each.iter().map(|(own, given)| reopen::open(own, *given)).collect::<Result<_, Error>>()?;
    let directories = each.iter().map(|(own, _)| *own);
    let splits: Vec<Split> =
        fits.iter().zip(directories).map(|(fit, own)| Split::of(fit, own)).collect::<Result<_, _>>()?;
    if let Some((first, others)) = splits.split_first() {
        others.iter().try_for_each(|other| first.refuse_other(other))?;
    }
    Ok(fits)
}

/// Refuses to average fits that held different latents, and fits along other axes: q of one is read at the positions of another, so that each axis has the same labels in the same
/// order, or the same size where it has none, and so has each of its groups.
///
/// # Errors
/// Fits of which an axis differs, with the axis, the sizes or the first label that differs, and the two directories; fits that held different
/// latents.
pub fn refuse_unlike(fits: &[Reopened], directories: &[&Path]) -> Result<(), DataError> {
    crate::fixed::refuse_others(directories)?;
    let Some(first) = fits.first() else { return Ok(()) };
    let of = |fit: &'_ Reopened| {
        let given = fit.problem.as_given();
        let each = given.model.symbols.axes.iter().zip(&given.binding.bound.axes).enumerate();
        let each = each.map(|(place, (axis, bound))| {
            let labels = (0..bound.size)
                .map(|position| given.binding.labels.label(&given.binding.bound, place.into(), position));
            let labels: Vec<String> = labels.map(std::borrow::Cow::into_owned).collect();
            (axis.name.clone(), bound.starts.clone(), labels)
        });
        each.collect::<Vec<_>>()
    };
    let own = of(first);
    for (other, directory) in fits.iter().zip(directories).skip(1) {
        let (one, two) = (directories[0].display(), directory.display());
        for ((name, starts, labels), (_, other_starts, theirs)) in own.iter().zip(of(other)) {
            let found = match labels.iter().zip(&theirs).find(|(own, other)| own != other) {
                _ if labels.len() != theirs.len() => {
                    format!("size {} in `{one}` and {} in `{two}`", labels.len(), theirs.len())
                }
                Some((own, other)) => format!("`{own}` in `{one}` where it has `{other}` in `{two}`"),
                None if *starts != other_starts => {
                    format!("groups of other sizes in `{one}` than in `{two}`")
                }
                None => continue,
            };
            return Err(DataError::new(format!(
                "fits along different axes cannot be averaged: axis `{name}` has {found}"
            ))
            .possible("fits whose axes have the same labels in the same order")
            .help("fit all of them to the same data, as `cavi fit ... --restarts 5 --keep all` does"));
        }
    }
    Ok(())
}

/// What was held out of an array.
#[derive(Clone, Debug)]
struct Part {
    /// The array.
    name: String,
    /// Where the entries stand on the axes that the program declares.
    places: Vec<Vec<u32>>,
    /// Their values in the units in which the data were given.
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
    /// The logs of what the values were divided by; nothing where that is 1.
    log_scales: Option<Vec<f64>>,
}

impl Part {
    fn of(problem: &Problem, hidden: &Hidden) -> Part {
        let mut own = by_element(problem, hidden);
        if let Some(by) = problem.binding.standardised.iter().find(|by| by.array == hidden.array) {
            by.undo(problem, &own.coordinates, &mut own.values, None);
        }
        Part {
            name: problem.equations.symbols.array(hidden.array).name.clone(),
            places: declared(problem, hidden),
            values: own.values,
            weights: hidden.weights.clone(),
            log_scales: log_scales(problem, hidden),
        }
    }

    /// Whether they are the same entries, the rounding of their values apart.
    fn is_like(&self, other: &Part) -> bool {
        const ROUNDING: f64 = 1e-9;
        let largest =
            self.values.iter().filter(|own| own.is_finite()).fold(0.0, |all: f64, own| all.max(own.abs()));
        let alike = |(one, other): (&f64, &f64)| {
            one.to_bits() == other.to_bits() || one == other || (one - other).abs() <= ROUNDING * largest
        };
        self.places == other.places
            && self.weights == other.weights
            && self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(alike)
    }
}

/// What was held out of a fit, and of which data: fits that have it in common can be compared. It holds the entries, and no other data.
#[derive(Clone, Debug)]
pub struct Split {
    /// The directory of the fit, for messages.
    directory: String,
    /// The hashes of the files of its data, in order, then those of its data in memory.
    hashes: Vec<String>,
    parts: Vec<Part>,
}

impl Split {
    /// That of a fit.
    ///
    /// # Errors
    /// A fit of which nothing was held out.
    pub fn of(fit: &Reopened, directory: &Path) -> Result<Split, DataError> {
        let directory = directory.display().to_string();
        if fit.held.parts.is_empty() {
            return Err(DataError::new(format!("nothing was held out of the fit in `{directory}`"))
                .help("cavi fit ... --heldout NAME=0.1"));
        }
        let summary = &fit.stored.summary;
        let mut hashes: Vec<String> = data_files::stored(summary).into_values().collect();
        hashes.sort();
        let symbols = &fit.problem.as_given().equations.symbols;
        let is_data = |name: &str| {
            let id = symbols.find(name.split('[').next().unwrap_or(name));
            id.is_some_and(|id| symbols.array(id).kind == ArrayKind::Data)
        };
        let in_memory = data_files::stored_in_memory(summary);
        let mut in_memory: Vec<String> =
            in_memory.into_iter().filter(|(name, _)| is_data(name)).map(|(_, hash)| hash).collect();
        in_memory.sort();
        hashes.extend(in_memory);
        let given = fit.problem.as_given();
        let parts = fit.held.parts.iter().map(|hidden| Part::of(given, hidden)).collect();
        Ok(Split { directory, hashes, parts })
    }

    /// Refuses a fit to other data, or with other held-out entries.
    ///
    /// # Errors
    /// What differs, with the two directories.
    pub fn refuse_other(&self, other: &Split) -> Result<(), DataError> {
        let (one, two) = (&self.directory, &other.directory);
        if self.hashes != other.hashes {
            return Err(DataError::new(format!(
                "`{one}` and `{two}` are fits to different data: the hashes of these differ"
            ))
            .possible("fits whose `settings.data_files` and `settings.data_in_memory` in `summary.json` have the same hashes"));
        }
        let find = |of: &'_ Split, name: &str| of.parts.iter().position(|own| own.name == name);
        let possible = "fits with the same `--heldout` and the same `--seed`";
        let is_other =
            |own: &&Part| find(other, &own.name).is_some_and(|place| !own.is_like(&other.parts[place]));
        if let Some(Part { name, .. }) = self.parts.iter().find(is_other) {
            return Err(DataError::new(format!(
                "other entries of `{name}` were held out of `{two}` than of `{one}`"
            ))
            .possible(possible));
        }
        let lacks = |with: &Split, without: &Split| {
            let missing = with.parts.iter().find(|own| find(without, &own.name).is_none())?;
            Some(format!(
                "entries of `{}` were held out of `{}`, and none of an array of this name of `{}`",
                missing.name, with.directory, without.directory
            ))
        };
        match lacks(self, other).or_else(|| lacks(other, self)) {
            None => Ok(()),
            Some(message) => Err(DataError::new(message).possible(possible)),
        }
    }

    /// What a fit with this split says of the held-out entries, arrays in the order of this one and densities in its units.
    ///
    /// # Errors
    /// As [`crate::heldout::score`].
    pub fn entries(&self, fit: &Reopened, threads: usize) -> Result<Vec<ByEntry>, Error> {
        let given = fit.problem.as_given();
        let symbols = &given.equations.symbols;
        let place =
            |part: &Hidden| self.parts.iter().position(|own| own.name == symbols.array(part.array).name);
        let mut parts = fit.held.parts.clone();
        parts.sort_by_key(place);
        let held = HeldOut { parts, given_totals: fit.held.given_totals };
        let mut found = crate::heldout::by_entry(&fit.problem, &fit.parameters, &held, fit.seed, threads)?;
        for ((own, hidden), first) in found.iter_mut().zip(&held.parts).zip(&self.parts) {
            let scales = log_scales(given, hidden);
            if scales == first.log_scales {
                continue;
            }
            let width = hidden.values.len() / own.logs.len().max(1);
            let sum = |scales: &Option<Vec<f64>>, entry: usize| -> f64 {
                scales.iter().flat_map(|all| &all[entry * width..(entry + 1) * width]).sum()
            };
            for (entry, log) in own.logs.iter_mut().enumerate() {
                *log += sum(&first.log_scales, entry) - sum(&scales, entry);
            }
        }
        Ok(found)
    }
}

/// Where entries that were held out stand on the axes that the program declares: a program with latents at listed entries numbers these.
fn declared(problem: &Problem, part: &Hidden) -> Vec<Vec<u32>> {
    let dimensions = Declared::of(problem, part.array);
    // Of slices that were held out as a whole there are the coordinates of the other dimensions.
    if !dimensions.iter().any(Declared::is_listed) {
        return part.coordinates.clone();
    }
    let count = part.coordinates.first().map_or(0, Vec::len);
    let column = |dimension: &Declared<'_>| {
        let position =
            |entry: usize| dimension.position(&|held| part.coordinates[held][entry] as usize) as u32;
        (0..count).map(position).collect()
    };
    dimensions.iter().map(column).collect()
}

/// What each of several fits says of what was held out of all of them, arrays in the order of the first.
///
/// # Errors
/// As [`crate::heldout::score`].
pub fn by_entry(fits: &[Reopened], threads: usize) -> Result<Vec<Vec<ByEntry>>, Error> {
    let Some(first) = fits.first() else { return Ok(Vec::new()) };
    let split = Split::of(first, Path::new(""))?;
    fits.iter().map(|fit| split.entries(fit, threads)).collect()
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn entries(counts: &[f64], logs: &[f64], rest: f64, of_rates: bool) -> ByEntry {
        ByEntry {
            array: "x".to_owned(),
            counts: counts.to_vec(),
            logs: logs.to_vec(),
            rest,
            of_rates,
            discrete: of_rates,
        }
    }

    #[test]
    fn differences_are_paired() {
        let one = entries(&[1.0; 3], &[-1.0, -2.0, -3.0], 0.0, false);
        let other = entries(&[1.0; 3], &[-1.5, -2.0, -4.0], 0.0, false);
        let found = difference(from_ref(&one), from_ref(&other)).unwrap();
        // 0.5, 0 and 1: their mean is 0.5, their variance 0.25, that of the sum 3 times this.
        assert!((found.value - 1.5).abs() < 1e-15);
        assert!((found.standard_error - 0.75_f64.sqrt()).abs() < 1e-15);
        assert_eq!(difference(from_ref(&one), from_ref(&one)).unwrap().standard_error, 0.0);
        // Of counts at rates of 2 and 1 in one cell with 4 units: 4 log 2 - (2 - 1), and a Poisson sum.
        let one = entries(&[4.0], &[2.0_f64.ln()], 2.0, true);
        let other = entries(&[4.0], &[0.0], 1.0, true);
        let found = difference(&[one], &[other]).unwrap();
        assert!((found.value - (4.0 * 2.0_f64.ln() - 1.0)).abs() < 1e-15);
        assert!((found.standard_error - 2.0 * 2.0_f64.ln()).abs() < 1e-15);
        // A density of 3 is no better than a probability of 1.
        let (density, probability) =
            (entries(&[1.0], &[3.0_f64.ln()], 0.0, false), entries(&[1.0], &[0.0], 0.0, false));
        let probability = ByEntry { discrete: true, ..probability };
        assert!(
            difference(from_ref(&density), from_ref(&probability))
                .unwrap_err()
                .message
                .contains("not scored alike")
        );
        assert!(difference(&[probability], &[density]).is_err());
        // An entry that neither allows is no difference.
        let never = entries(&[1.0, 1.0], &[f64::NEG_INFINITY, -1.0], 0.0, false);
        assert_eq!(difference(from_ref(&never), from_ref(&never)).unwrap().value, 0.0);
    }
}

/// Several fits by what they say of the same held-out entries.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The log predictive density of each.
    pub totals: Vec<f64>,
    /// How much each is below the best.
    pub below: Vec<Difference>,
    /// How many units were held out.
    pub units: f64,
    /// The place of the best.
    pub best: usize,
}

/// Compares fits that [`open`] gave.
///
/// # Errors
/// As [`by_entry`].
pub fn comparison(fits: &[Reopened], threads: usize) -> Result<Comparison, Error> {
    let entries = by_entry(fits, threads)?;
    let totals: Vec<f64> = entries.iter().map(|own| own.iter().map(ByEntry::total).sum::<f64>()).collect();
    let best = (0..totals.len()).rev().max_by(|one, other| totals[*one].total_cmp(&totals[*other]));
    let Some(best) = best else { return Err(DataError::new("there is no fit to compare").into()) };
    let below: Vec<Difference> =
        entries.iter().map(|own| difference(&entries[best], own)).collect::<Result<_, _>>()?;
    let units = entries[best].iter().map(ByEntry::units).sum();
    Ok(Comparison { totals, below, units, best })
}

impl Comparison {
    /// As JSON, fits by these names.
    pub fn json(&self, names: &[String]) -> Value {
        let each = names.iter().zip(&self.totals).zip(&self.below).map(|((name, total), below)| {
            json!({
                "fit": name,
                "log_predictive": number(*total),
                "per_unit": number(total / self.units),
                "below_best": number(below.value),
                "standard_error": number(below.standard_error),
            })
        });
        let fits: Vec<Value> = each.collect();
        json!({ "n_scored": number(self.units), "best": names[self.best], "fits": fits })
    }
}
