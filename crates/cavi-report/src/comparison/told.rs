//! What a comparison comes to, in sentences.

use super::heldout::shown;
use super::sides::{self, Side};
use super::{Compared, matched};
use crate::charts::points::digits;
use crate::html::number;

/// So many fits are named in a sentence.
const MOST_TOLD: usize = 4;

impl Compared {
    /// What was compared and what came of it, a sentence each.
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut all = vec![what(&self.sides)];
        all.extend(differing(&self.sides));
        all.extend(self.predicted());
        all.extend(self.choice.as_ref().and_then(|own| own.reason.clone()));
        all.extend(self.alike());
        all
    }

    /// Which fit predicts best, and how far the others are from it.
    fn predicted(&self) -> Vec<String> {
        let Some(best) = self.heldout.best() else { return Vec::new() };
        let name = |place: usize| self.sides[place].name.as_str();
        let score = self.heldout.score(best).map_or_else(String::new, digits);
        let mut all = vec![format!(
            "Of {} units that were held out of {}, {} has the best score: {score} a unit.",
            shown(self.heldout.units()),
            match self.heldout.places().len() == self.sides.len() {
                true => "all fits".to_owned(),
                false => format!("{} of the fits", self.heldout.places().len()),
            },
            name(best)
        )];
        let others: Vec<usize> = self.heldout.places().into_iter().filter(|own| *own != best).collect();
        let below = |place: &usize| {
            let own = self.heldout.below(*place)?;
            Some(format!("{} by {} ({})", name(*place), number(own.value), number(own.standard_error)))
        };
        // Of many fits the chart says it.
        let each: Vec<String> = others.iter().take(MOST_TOLD).filter_map(below).collect();
        let more = match others.len() > MOST_TOLD {
            true => format!(" and {} others", others.len() - MOST_TOLD),
            false => String::new(),
        };
        all.push(format!(
            "Below it are {}{more}, with the standard error of the paired difference in brackets.",
            each.join(", ")
        ));
        all
    }

    /// How many components of one fit are those of another.
    fn alike(&self) -> Option<String> {
        let (_, first) = self.matched.pairs.first()?;
        let each = |(place, found): &(usize, cavi::matching::Matching)| {
            format!("{} in {}", self.matched.alike(found).0, self.sides[*place].name)
        };
        let each: Vec<String> = self.matched.pairs.iter().take(MOST_TOLD).map(each).collect();
        Some(format!(
            "Of {} {} of {}, these have a partner with a cosine of {} or more: {}.",
            self.matched.alike(first).1,
            self.matched.axis(),
            self.sides[self.matched.reference].name,
            matched::ALIKE,
            each.join(", ")
        ))
    }
}

/// `3 fits of the program lda to the same data of 643 doc x 2,954 word.`
fn what(sides: &[Side]) -> String {
    let distinct = sides::programs(sides);
    let programs = match distinct.as_slice() {
        [_] => format!("the program {}", sides[0].program()),
        all => {
            let names: Vec<&str> = all.iter().map(|own| sides[own[0]].program()).collect();
            format!("{} programs ({})", all.len(), names.join(", "))
        }
    };
    let data = match (sides::same_data(sides), sides[0].sizes(false)) {
        (true, sizes) if sizes.is_empty() => " to the same data".to_owned(),
        (true, sizes) => format!(" to the same data of {sizes}"),
        (false, _) => " to data that are not the same".to_owned(),
    };
    format!("{} fits of {programs}{data}.", sides.len())
}

/// `They differ in topic: 4, 8, 16.`
fn differing(sides: &[Side]) -> Option<String> {
    let all = sides::varying(sides);
    let values = |name: &String| {
        let mut own: Vec<String> = Vec::new();
        for side in sides {
            let value = side.numbers().get(name).map_or_else(String::new, |own| number(*own));
            if !own.contains(&value) {
                own.push(value);
            }
        }
        format!("{name}: {}", own.join(", "))
    };
    let each: Vec<String> = all.iter().map(values).collect();
    if !each.is_empty() {
        return Some(format!("They differ in {}.", each.join("; ")));
    }
    let rows = sides::settings(sides).rows;
    let names: Vec<&str> = rows.iter().filter_map(|own| own.first().map(String::as_str)).collect();
    match (names.is_empty(), sides::programs(sides).len()) {
        (false, _) => Some(format!("Their settings differ in {}.", names.join(", "))),
        (true, 1) => Some("They have the same settings.".to_owned()),
        (true, _) => None,
    }
}
