//! Counts at a rate, scored given the totals of their rows.
//!
//! Independent Poisson counts of a row have, given their sum N, the distribution Multinomial(N, p) with `p_v = r_v / sum_v r_v`: the rates say how
//! the units of a row are spread, and no more. So each held-out unit is scored by `log E p_v`, as the units of a row under a Multinomial
//! are, and both kinds of program are compared by the same numbers.
//!
//! A row is an array without its last dimension; over a ragged last axis each group is a row of its own. Its entries are those that units may
//! have fallen on: all observed ones where units were taken out of the counts, else the entries that are hidden.
//!
//! Where a rate is a sum of products of independent latents, `p` is that of the expected rates; else it is averaged over draws.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, Symbols};
use cavi_executor::Bound;
use cavi_numerics::special::{exp, ln};

use super::batch::World;
use super::predict::{CHUNK, Part, Predictor, unflat};
use super::total::{Kept, kept};
use crate::bind::{Existing, Hidden};
use crate::prepare::EntryAxis;

/// More cells than these are not gone through for the sums of rates.
const LARGEST: usize = 1 << 26;

/// Which row an entry of an array is in.
pub(super) struct Rows<'a> {
    /// Of an array over listed entries the position of each entry on the dimensions that tell rows apart.
    columns: Option<Vec<&'a [u32]>>,
    /// The last dimension.
    last: usize,
    /// The group of each position on the last axis, if that is ragged.
    groups: Option<&'a [usize]>,
}

impl<'a> Rows<'a> {
    /// Those of an array.
    pub fn of(symbols: &Symbols, bound: &'a Bound, entries: &'a [EntryAxis], id: ArrayId) -> Rows<'a> {
        for own in entries {
            if let Some(member) = own.data.iter().find(|member| member.array == id) {
                let last = member.places.len().saturating_sub(1);
                let others = member.places.iter().zip(&own.columns).filter(|(place, _)| **place != last);
                let columns = others.map(|(_, column)| column.as_slice()).collect();
                return Rows { columns: Some(columns), last: 0, groups: None };
            }
        }
        let letters = &symbols.array(id).letters;
        let groups = letters
            .last()
            .and_then(|letter| bound.axes[symbols.letter(*letter).axis.index()].parent.as_deref());
        Rows { columns: None, last: letters.len().saturating_sub(1), groups }
    }

    /// What tells the row of an entry from others.
    pub fn key(&self, place: &[usize]) -> Vec<u32> {
        let at = |dimension: usize| place.get(dimension).copied().unwrap_or(0);
        match &self.columns {
            Some(columns) => columns.iter().map(|column| column[at(0)]).collect(),
            None => {
                let mut key: Vec<u32> = (0..self.last).map(|dimension| at(dimension) as u32).collect();
                key.extend(self.groups.map(|groups| groups[at(self.last)] as u32));
                key
            }
        }
    }

    /// The keys of held-out entries.
    pub fn keys(&self, hidden: &Hidden) -> Vec<Vec<u32>> {
        let entries = 0..hidden.values.len();
        let place = |entry: usize| -> Vec<usize> {
            hidden.coordinates.iter().map(|column| column[entry] as usize).collect()
        };
        entries.map(|entry| self.key(&place(entry))).collect()
    }
}

/// Whether units of a row may have fallen on all of its observed entries; else on the hidden ones.
pub(super) fn falls_on_all(hidden: &Hidden) -> bool {
    hidden.odds.is_some() || hidden.with_zeros
}

/// Calls `body` with every observed entry of an array that is in one of these rows.
///
/// # Errors
/// In words: there are too many.
pub(super) fn each_in_rows(
    existing: &Existing,
    bound: &Bound,
    shape: &[usize],
    id: ArrayId,
    (rows, wanted): (&Rows<'_>, &BTreeSet<Vec<u32>>),
    body: &mut dyn FnMut(&[usize], &[u32]),
) -> Result<(), &'static str> {
    let cells = shape.iter().copied().fold(1, usize::saturating_mul);
    if cells > LARGEST {
        return Err("its rows have too many entries to sum the rates of");
    }
    let data = bound.array(id);
    for cell in 0..cells {
        let place = unflat(shape, cell);
        let key = rows.key(&place);
        if wanted.contains(&key) && existing.is_there(&place) && data.entry(shape, &place).1 {
            body(&place, &key);
        }
    }
    Ok(())
}

impl Predictor<'_> {
    /// The log of the sum of the rates of its row, for each held-out entry, in a world in which their logs are these.
    ///
    /// # Errors
    /// In words, why it is not known.
    pub(super) fn log_row_rates(
        &self,
        part: &Part<'_>,
        world: &World<'_>,
        logs: &[f64],
    ) -> Result<Vec<f64>, &'static str> {
        let hidden = part.hidden;
        let array = self.model.symbols.array(hidden.array);
        let rows = Rows::of(&self.model.symbols, self.bound, self.entries, hidden.array);
        let keys = rows.keys(hidden);
        let existing = Existing::of(&self.model.symbols, &self.bound.axes, array);
        let is_complete = !existing.has_gaps()
            && !self.bound.array(hidden.array).has_missing()
            && part.copy.selections.is_empty()
            && rows.columns.is_none();
        if falls_on_all(hidden)
            && is_complete
            && let Some(sums) = self.contracted_rows(part, world)
        {
            let place = |entry: usize| -> Vec<usize> {
                hidden.coordinates.iter().map(|column| column[entry] as usize).collect()
            };
            let of = |entry| ln(sums.iter().map(|own| own.at(&place(entry))).sum());
            return Ok((0..hidden.values.len()).map(of).collect());
        }
        let mut sums: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        if falls_on_all(hidden) {
            let wanted: BTreeSet<Vec<u32>> = keys.iter().cloned().collect();
            let shape = &world.shapes[hidden.array.index()];
            let nothing = || Hidden {
                coordinates: vec![Vec::new(); shape.len()],
                values: Vec::new(),
                weights: None,
                ..hidden.clone()
            };
            let (mut some, mut theirs) = (nothing(), Vec::new());
            let mut add = |some: &Hidden, theirs: &[Vec<u32>]| {
                let logs = self.logs_at(part, world, some);
                for (key, log) in theirs.iter().zip(logs) {
                    *sums.entry(key.clone()).or_default() += exp(log);
                }
            };
            each_in_rows(&existing, self.bound, shape, hidden.array, (&rows, &wanted), &mut |place, key| {
                some.coordinates.iter_mut().zip(place).for_each(|(column, own)| column.push(*own as u32));
                some.values.push(0.0);
                theirs.push(key.to_vec());
                if theirs.len() == CHUNK {
                    add(&some, &theirs);
                    (some, theirs) = (nothing(), Vec::new());
                }
            })?;
            add(&some, &theirs);
        } else {
            for (key, log) in keys.iter().zip(logs) {
                *sums.entry(key.clone()).or_default() += exp(*log);
            }
        }
        Ok(keys.iter().map(|key| ln(sums.get(key).copied().unwrap_or(f64::NAN))).collect())
    }

    /// The sums of rates over the last dimension, a table for each addend; `None` where an addend is no product of arrays at letters.
    fn contracted_rows(&self, part: &Part<'_>, world: &World<'_>) -> Option<Vec<Kept>> {
        let rate = &part.copy.arguments.first()?.as_ref()?.value;
        let (last, others) = part.letters.split_last()?;
        rate.terms.iter().map(|term| kept(world, term, &[*last], others)).collect()
    }
}
