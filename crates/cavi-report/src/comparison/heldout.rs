//! What fits say of the same held-out entries: their scores beside what takes no model, and their paired differences.

use cavi::compare::{ByEntry, Difference, Split, difference};
use cavi::reopen::{self, Reopened};
use cavi::{Error, choose};

use super::sides::Side;
use crate::charts::points::{self, Point, Titles};
use crate::figure::Figure;
use crate::html::{count, number};

/// What the fits say of held-out entries.
pub(crate) struct HeldOut {
    /// For each fit what it says of the entries, where these are the same as those of the others that have some here.
    pub entries: Vec<Option<Vec<ByEntry>>>,
    /// For each fit, of which something was held out, how often the words of its components stand together.
    pub coherence: Vec<Option<f64>>,
    /// Why fits are not compared.
    pub reasons: Vec<String>,
}

/// Fits with the same held-out entries.
struct Group {
    split: Split,
    places: Vec<usize>,
}

impl HeldOut {
    /// Opens one fit after another with its data, and keeps of each what it says of the entries. Of fits with different entries the largest
    /// group is compared, the first of equally large ones.
    pub fn of(sides: &[Side], threads: usize) -> HeldOut {
        let mut entries: Vec<Option<Vec<ByEntry>>> = vec![None; sides.len()];
        let mut coherence = vec![None; sides.len()];
        let mut reasons = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut without: Vec<&str> = Vec::new();
        for (place, side) in sides.iter().enumerate() {
            if side.summary()["settings"]["heldout"].as_array().is_none_or(Vec::is_empty) {
                without.push(&side.name);
                continue;
            }
            match opened(side, &mut groups, place, threads) {
                Ok((own, fit)) => {
                    coherence[place] = choose::coherence_of(&fit);
                    entries[place] = Some(own);
                }
                Err(error) => reasons.push(format!(
                    "What was held out of {} is not compared, because its data cannot be read again: {}.",
                    side.name,
                    first_line(&error)
                )),
            }
        }
        if without.len() == sides.len() {
            reasons.push(
                "Nothing was held out of the fits, so that the page does not say which predicts better: cavi fit ... --heldout NAME=0.1."
                    .to_owned(),
            );
        } else if !without.is_empty() {
            reasons.push(format!(
                "Nothing was held out of {}: there is no score to compare.",
                without.join(", ")
            ));
        }
        let kept = (0..groups.len()).rev().max_by_key(|own| groups[*own].places.len());
        if let Some(kept) = kept {
            for (_, group) in groups.iter().enumerate().filter(|(own, _)| *own != kept) {
                let names: Vec<&str> = group.places.iter().map(|own| sides[*own].name.as_str()).collect();
                let why = groups[kept].split.refuse_other(&group.split).err().map(|own| own.message);
                reasons.push(format!(
                    "The held-out score of {} is not compared with the others: {}.",
                    names.join(", "),
                    why.unwrap_or_default()
                ));
                group.places.iter().for_each(|own| entries[*own] = None);
            }
        }
        let mut found = HeldOut { entries, coherence, reasons };
        found.drop_other_kinds(sides);
        found
    }

    /// Leaves out fits that score their entries in another way than the best one.
    fn drop_other_kinds(&mut self, sides: &[Side]) {
        let Some(best) = self.best() else { return };
        let of_best = self.entries[best].clone().unwrap_or_default();
        for (own, side) in self.entries.iter_mut().zip(sides) {
            if let Some(Err(why)) = own.as_ref().map(|own| difference(&of_best, own)) {
                self.reasons
                    .push(format!("The held-out score of {} is not compared: {}.", side.name, why.message));
                *own = None;
            }
        }
    }

    /// The places of the fits that are compared.
    pub fn places(&self) -> Vec<usize> {
        (0..self.entries.len()).filter(|own| self.entries[*own].is_some()).collect()
    }

    /// How many units were held out of all.
    pub fn units(&self) -> f64 {
        self.entries.iter().flatten().next().map_or(0.0, |own| own.iter().map(ByEntry::units).sum())
    }

    /// The score of a unit of a fit that is compared.
    pub fn score(&self, place: usize) -> Option<f64> {
        let own = self.entries[place].as_ref()?;
        Some(own.iter().map(ByEntry::total).sum::<f64>() / self.units())
    }

    /// The fit with the best score, of several that are compared.
    pub fn best(&self) -> Option<usize> {
        let places = self.places();
        let score =
            |place: &usize| self.score(*place).filter(|own| !own.is_nan()).unwrap_or(f64::NEG_INFINITY);
        let best = places.iter().rev().max_by(|one, other| score(one).total_cmp(&score(other)));
        best.copied().filter(|_| places.len() > 1)
    }

    /// How much a unit is predicted worse by a fit than by the best one, with the standard error.
    pub fn below(&self, place: usize) -> Option<Difference> {
        let (best, own) = (self.entries[self.best()?].as_ref()?, self.entries[place].as_ref()?);
        let found = difference(best, own).ok()?;
        let units = self.units();
        Some(Difference { value: found.value / units, standard_error: found.standard_error / units })
    }

    /// The scores of each array, and the paired differences.
    pub fn figures(&self, sides: &[Side]) -> Vec<Figure> {
        let places = self.places();
        let mut figures = Vec::new();
        let arrays = places.first().and_then(|own| self.entries[*own].as_ref());
        for (number, of) in arrays.into_iter().flatten().enumerate() {
            figures.push(self.scores(sides, &places, number, &of.array));
        }
        figures.extend(self.differences(sides, &places));
        figures
    }

    /// The scores of the fits of an array, and those of what takes no model or one component.
    fn scores(&self, sides: &[Side], places: &[usize], array: usize, name: &str) -> Figure {
        let mut all: Vec<Point> = Vec::new();
        for place in places {
            let Some(own) = self.entries[*place].as_ref().and_then(|own| own.get(array)) else { continue };
            all.push(Point {
                label: sides[*place].name.clone(),
                kind: "fit".to_owned(),
                value: own.total() / own.units(),
                error: Some(own.standard_error() / own.units()).filter(|own| own.is_finite()),
            });
        }
        for (key, short, what) in [
            ("means", "rows and columns", "means of rows and columns"),
            ("one_component", "one component", "one component"),
        ] {
            let score = |place: &usize| -> Option<(usize, f64)> {
                let own = &sides[*place].summary()["heldout_baselines"][name][key];
                Some((*place, own["per_unit"].as_f64()?))
            };
            let found: Vec<(usize, f64)> = places.iter().filter_map(score).collect();
            let Some((_, first)) = found.first().copied() else { continue };
            let is_one = found.iter().all(|(_, own)| (own - first).abs() <= 1e-9 * first.abs());
            let point =
                |label: String, value: f64| Point { label, kind: what.to_owned(), value, error: None };
            match is_one {
                true => all.push(point(short.to_owned(), first)),
                false => all.extend(
                    found.iter().map(|(place, own)| point(format!("{short}, {}", sides[*place].name), *own)),
                ),
            }
        }
        let title = format!("Held-out score of each unit of {name}");
        let of = self.entries[places[0]].as_ref().and_then(|own| own.get(array)).map_or(0.0, ByEntry::units);
        let whose = if places.len() > 1 { "all" } else { sides[places[0]].name.as_str() };
        let note = format!(
            "The log predictive {} of each of {} units that were held out of {whose}, the larger the better; lines are one standard error over entries to either side.",
            sides[places[0]].predictive(name),
            shown(of)
        );
        points::figure(
            Titles { name: &format!("{name}-heldout"), title: &title, note: &note, value: "score of a unit" },
            &all,
            false,
        )
    }

    /// How much worse than the best each fit predicts the same entries.
    fn differences(&self, sides: &[Side], places: &[usize]) -> Option<Figure> {
        let best = self.best()?;
        let point = |place: &usize| {
            let own = self.below(*place)?;
            let kind = match () {
                () if *place == best => "the best",
                () if own.value <= own.standard_error => "within one standard error of the best",
                () => "below the best",
            };
            Some(Point {
                label: sides[*place].name.clone(),
                kind: kind.to_owned(),
                value: own.value,
                error: Some(own.standard_error).filter(|own| own.is_finite() && *place != best),
            })
        };
        let mut all: Vec<Point> = places.iter().filter_map(point).collect();
        all.sort_by(|one, other| one.value.total_cmp(&other.value));
        let note = format!(
            "How much worse a unit is predicted than by {}, over the same {} units. The standard error is that of the difference entry by entry, which is smaller than those of two scores where the same entries are hard for both. It is given the fits and the split.",
            sides[best].name,
            shown(self.units())
        );
        let titles = Titles {
            name: "heldout-differences",
            title: "Paired differences from the best held-out score",
            note: &note,
            value: "below the best, a unit",
        };
        Some(points::figure(titles, &all, true))
    }
}

/// A number of units.
pub(crate) fn shown(units: f64) -> String {
    match units.fract() == 0.0 && units < 1e15 {
        true => count(units as usize),
        false => number(units),
    }
}

/// What a fit says of its held-out entries, in the order of the first fit with the same.
fn opened(
    side: &Side,
    groups: &mut Vec<Group>,
    place: usize,
    threads: usize,
) -> Result<(Vec<ByEntry>, Reopened), Error> {
    let fit = reopen::open(&side.directory, None)?;
    let split = Split::of(&fit, &side.directory)?;
    let known = groups.iter_mut().find(|own| own.split.refuse_other(&split).is_ok());
    let group = match known {
        Some(group) => group,
        None => {
            groups.push(Group { split, places: Vec::new() });
            groups.last_mut().expect("one was pushed")
        }
    };
    let entries = group.split.entries(&fit, threads)?;
    group.places.push(place);
    Ok((entries, fit))
}

/// What an error says first, without its last point.
pub(crate) fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").trim_end_matches('.').to_owned()
}
