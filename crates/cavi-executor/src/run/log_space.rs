//! Entries whose partition leaves the range of doubles are computed one by one, in logarithms.

use cavi_numerics::{Scratch, special};

use super::pass::Counts;
use super::site_state::SiteState;
use super::state::State;
use crate::plan::site::{AddendPlan, ModePlan, SitePlan};

impl State<'_> {
    /// Entries whose partition leaves the range of doubles, in log space. Returns what they add to the total.
    pub(super) fn rare_entries(
        &mut self,
        plan: &SitePlan,
        rare: &[usize],
        state: &SiteState,
        counts: &mut Counts,
        scattered: &mut Counts,
    ) -> f64 {
        if rare.is_empty() {
            return 0.0;
        }
        for addend in &plan.addends {
            addend.modes.iter().for_each(|mode| self.evaluate(mode.log_factor));
            addend.offset.into_iter().for_each(|offset| self.evaluate(offset));
        }
        let mut total = 0.0;
        let mut logs: Scratch = Scratch::with_room(0);
        for entry in rare {
            let weight = self.values[plan.weight.index()][state.entry(*entry)];
            if weight == 0.0 {
                continue;
            }
            logs.clear();
            for (number, addend) in plan.addends.iter().enumerate() {
                let offset = addend.offset.map_or(0.0, |node| self.values[node.index()][state.entry(*entry)]);
                let of_modes = |category: usize| -> f64 {
                    let log = |(place, mode): (usize, &ModePlan)| {
                        let logs = &self.values[mode.log_factor.index()];
                        logs[state.pattern(number).index(place, *entry) * (logs.len() / mode.rows) + category]
                    };
                    addend.modes.iter().enumerate().map(log).sum()
                };
                let own = categories(addend, state.entry(*entry));
                own.for_each(|(category, log)| logs.push(offset + log + of_modes(category)));
            }
            let partition = special::log_sum_exp(&logs);
            total += weight * partition;
            // A sum of one category leaves no choice, whatever its weight.
            let only = self.only_category(plan, state, *entry);
            if partition == f64::NEG_INFINITY && only.is_none() {
                continue;
            }
            let mut place = 0;
            for (number, addend) in plan.addends.iter().enumerate() {
                let mut share = 0.0;
                for (category, _) in categories(addend, state.entry(*entry)) {
                    let count = match only {
                        Some(only) => weight * f64::from(only == (number, category)),
                        None => weight * special::exp(logs[place] - partition),
                    };
                    place += 1;
                    share += count;
                    for (place, (own, mode)) in counts[number].iter_mut().zip(&addend.modes).enumerate() {
                        if let Some(own) = own {
                            let row = state.pattern(number).index(place, *entry);
                            own[row * addend.row_length(mode) + category] += count;
                        }
                    }
                }
                for (element, own) in state.elements[number].iter().zip(&mut scattered[number]) {
                    if let Some(own) = own {
                        own[element[*entry] as usize] += share;
                    }
                }
            }
        }
        total
    }

    /// The only category that an entry has, with its addend.
    fn only_category(&self, plan: &SitePlan, state: &SiteState, entry: usize) -> Option<(usize, usize)> {
        let mut only = None;
        for (number, addend) in plan.addends.iter().enumerate() {
            for (category, _) in categories(addend, state.entry(entry)) {
                let exists = addend.modes.iter().enumerate().all(|(mode, own)| {
                    let row = || state.pattern(number).index(mode, entry);
                    !own.membership
                        || self.factor(own.factor)[row() * addend.row_length(own) + category] != 0.0
                });
                if exists && only.replace((number, category)).is_some() {
                    return None;
                }
            }
        }
        only
    }
}

/// The categories of an addend at an entry, each with the log of what lists it: all of them where nothing does.
fn categories(addend: &AddendPlan, entry: usize) -> impl Iterator<Item = (usize, f64)> {
    let listed = addend.listed.iter().flat_map(move |listed| listed.of(entry));
    let all = if addend.listed.is_some() { 0 } else { addend.categories };
    (0..all).map(|category| (category, 0.0)).chain(listed)
}
