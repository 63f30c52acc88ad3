//! What the pass over the entries of a site keeps from one to the next.

use std::borrow::Cow;

use cavi_numerics::kernels::log_sum;
use cavi_numerics::kernels::pattern::{MOST_MODES, Pattern, by_rows};
use cavi_numerics::{Scratch, facts};

use super::rows::Column;
use super::single::Narrow;
use crate::data::{Bound, BoundArray};
use crate::plan::site::{AddendPlan, Rows, SitePlan};
use crate::plan::stamps::LastPass;
use crate::plan::visits::{gathered_length, wants_order};

/// What a site keeps between passes.
pub struct SiteState<'a> {
    /// For each addend, its entries' rows as the kernel reads them; `None` where it has no mode.
    pub(super) patterns: Vec<Option<Pattern<'a>>>,
    /// For each addend, the rows of the numbers that its offset is the product of.
    pub(super) single: Vec<Vec<Option<Cow<'a, [u32]>>>>,
    /// For each addend, the elements of its terms without a summed letter.
    pub(super) elements: Vec<Vec<Cow<'a, [u32]>>>,
    /// The entry at each place of the pass, or at each place of the order of rows that the only pattern was in before it was
    /// put in strips; empty where it visits them as they are, or on a grid.
    order: Vec<u32>,
    /// How many passes have gone over all entries; `None` where they are to stay in the order of rows.
    passes: Option<u32>,
    /// The weights in the order of the pass, and the stamp of the node they were taken from; empty where that is the node's.
    pub(super) weights: Vec<f64>,
    pub(super) weights_stamp: Option<u64>,
    pub(super) scratch: log_sum::Scratch,
    /// For each addend, its factors in single precision; empty where they are read in doubles.
    pub(super) narrow: Vec<Vec<Narrow>>,
    /// For each addend the exponential of its offset less the main addend's; empty where both are 0.
    pub(super) scales: Vec<Vec<f64>>,
    /// The state of the offsets that the scales follow from.
    pub(super) scales_stamp: u64,
    /// The ratio of each entry, where several addends or a count without a summed letter read it.
    pub(super) ratios: Vec<f64>,
    /// For each addend its sum over the categories at each entry, without its offset, and the state of the factors that it
    /// was taken from; empty where there is one addend, or for one without a mode.
    pub(super) sums: Vec<(u64, Vec<f64>)>,
    /// The sum of weight times offset of the only addend, and the state that it follows from.
    pub(super) offsets: (u64, f64),
    /// Of a pass that leaves shares out, for each mode its means and masses, and what it accumulates.
    pub(super) own_rows: Vec<Vec<f64>>,
    pub(super) own_sums: Vec<Vec<f64>>,
    /// What the last pass took.
    pub(super) last: LastPass,
}

impl<'a> SiteState<'a> {
    /// Before the first pass. Rows that are no coordinates of the data move here from the plan. Entries that stay where they are, in a
    /// mapped file, are not copied in the order of the visits, which changes no bit.
    pub fn new(plan: &mut SitePlan, bound: &'a Bound, stays: bool) -> SiteState<'a> {
        let column = |rows: &mut Rows| -> Cow<'a, [u32]> {
            match rows {
                Rows::Coordinate(array, column) => match bound.array(*array) {
                    BoundArray::Sparse { indices, .. } => Cow::Borrowed(indices[*column].as_slice()),
                    BoundArray::Dense { .. } => unreachable!("coordinates belong to sparse arrays"),
                },
                Rows::Own(row) => Cow::Owned(std::mem::take(row)),
                // The pattern of a whole matrix has no columns.
                Rows::Counted { .. } => Cow::Borrowed(&[]),
            }
        };
        let entries = plan.entries;
        let whole: Vec<Option<[usize; 2]>> = plan.addends.iter().map(|own| own.whole(entries)).collect();
        let columns = |addend: &mut AddendPlan| -> Vec<Cow<'a, [u32]>> {
            addend.modes.iter_mut().map(|mode| column(&mut mode.row)).collect()
        };
        let mut all: Vec<Vec<Cow<'a, [u32]>>> = plan.addends.iter_mut().map(columns).collect();
        let main = plan.main_addend();
        let order = main.filter(|main| wants_order(plan, *main)).and_then(|main| {
            let columns: Vec<&[u32]> = all[main].iter().map(|column| column.as_ref()).collect();
            (whole[main].is_none() && !facts::pairs_are_sorted(columns[0], columns[1]))
                .then(|| by_rows(&columns))
        });
        let mut order = order.unwrap_or_default();
        let mut elements: Vec<Vec<Cow<'a, [u32]>>> = plan
            .addends
            .iter_mut()
            .map(|addend| addend.scalars.iter_mut().map(|scalar| column(&mut scalar.element)).collect())
            .collect();
        let mut single: Vec<Vec<Option<Cow<'a, [u32]>>>> = plan
            .addends
            .iter_mut()
            .map(|addend| addend.single.iter_mut().map(|single| single.row.as_mut().map(column)).collect())
            .collect();
        if !order.is_empty() {
            let rest = elements.iter_mut().flatten().chain(single.iter_mut().flatten().flatten());
            all.iter_mut().flatten().chain(rest).for_each(|column| permute(column, &order));
        }
        // Of several addends numbers of every entry are read and written, besides the weights: they stand in the order of the
        // visits.
        let main_pattern = main.map(|main| {
            let (columns, addend) = (std::mem::take(&mut all[main]), &plan.addends[main]);
            if let Some(sizes) = whole[main] {
                return Pattern::whole(sizes);
            }
            let filled = if addend.by_products { Pattern::filled(columns) } else { Err(columns) };
            filled.unwrap_or_else(|columns| Pattern::on_grid(columns, gathered_length(addend)))
        });
        let shares_grid = |columns: &Vec<Cow<[u32]>>, pattern: &Pattern| {
            columns.is_empty()
                || (2..=MOST_MODES).contains(&columns.len())
                    && (0..2).all(|mode| columns[mode].as_ref() == pattern.indices(mode).as_ref())
        };
        let striped = main_pattern.as_ref().filter(|pattern| {
            let mut rest = all.iter().enumerate().filter(|(number, _)| Some(*number) != main);
            plan.addends.len() > 1 && rest.all(|(_, columns)| shares_grid(columns, pattern))
        });
        let striped = striped.and_then(Pattern::in_strips);
        if let Some((_, strips)) = &striped {
            let rest = elements.iter_mut().flatten().chain(single.iter_mut().flatten().flatten());
            all.iter_mut().flatten().chain(rest).for_each(|column| permute(column, strips));
            order = match order.is_empty() {
                true => strips.clone(),
                false => strips.iter().map(|place| order[*place as usize]).collect(),
            };
        }
        let mut patterns: Vec<Option<Pattern>> = all
            .into_iter()
            .zip(plan.addends.iter().zip(&whole))
            .map(|(columns, (addend, whole))| {
                (!columns.is_empty()).then(|| match (&striped, &main_pattern) {
                    (None, Some(pattern)) if whole.is_some() => pattern.clone(),
                    (Some((pattern, _)), _) => pattern.with_columns(columns),
                    (None, Some(pattern)) if addend.by_products => pattern.with_columns(columns),
                    _ => Pattern::new(columns),
                })
            })
            .collect();
        if let Some(main) = main {
            patterns[main] = striped.map(|(pattern, _)| pattern).or(main_pattern);
        }
        // Of a single addend the weights alone are read at every entry.
        let can_move = !stays && plan.addends.len() == 1 && elements[0].is_empty() && single[0].is_empty();
        SiteState { patterns, single, elements, order, passes: can_move.then_some(0), ..SiteState::empty() }
    }

    /// What stands in while a pass runs, and for a site without one.
    pub(super) fn empty() -> SiteState<'a> {
        SiteState {
            patterns: Vec::new(),
            single: Vec::new(),
            elements: Vec::new(),
            order: Vec::new(),
            passes: None,
            weights: Vec::new(),
            weights_stamp: None,
            scratch: log_sum::Scratch::default(),
            narrow: Vec::new(),
            scales: Vec::new(),
            scales_stamp: 0,
            offsets: (0, 0.0),
            ratios: Vec::new(),
            sums: Vec::new(),
            own_rows: Vec::new(),
            own_sums: Vec::new(),
            last: LastPass::default(),
        }
    }

    /// Called before a pass over all entries. After a few passes more are likely to follow, so the entries are put in
    /// the order of the visits. This changes no bit.
    pub(super) fn count_pass(&mut self) {
        /// That order is found in the time of about two passes, and saves a sixth of each.
        const BEFORE: u32 = 2;
        let Some(passes) = &mut self.passes else { return };
        *passes += 1;
        if *passes > BEFORE {
            self.passes = None;
            let strips = self.patterns[0].as_ref().and_then(Pattern::in_strips);
            if let Some((strips, _)) = strips {
                self.patterns[0] = Some(strips);
                self.weights_stamp = None;
            }
        }
    }

    /// Puts places of the pass into the order of the rows, in which they are read whether or not the entries have been moved.
    pub(super) fn sort_by_rows(&self, places: &mut [usize]) {
        if let Some(pattern) = self.moved() {
            places.sort_unstable_by_key(|place| pattern.place_by_rows(*place));
        }
    }

    /// Entries that are visited row by row stay in that order.
    pub(super) fn keep_rows(&mut self) {
        self.passes = None;
    }

    /// The bytes of what the pass keeps beside the plan: grids, and entries in another order.
    pub(super) fn bytes(&self) -> usize {
        let patterns = || self.patterns.iter().flatten();
        let own: usize = patterns().map(Pattern::own_bytes).sum();
        // Of entries in strips the grid has two columns.
        let columns = |pattern: &Pattern| match (pattern.is_in_strips(), self.order.is_empty()) {
            (true, _) => (pattern.modes() - 2) * pattern.len(),
            (false, true) => 0,
            (false, false) => pattern.modes() * pattern.len(),
        };
        let columns: usize = patterns().map(columns).sum();
        own + (self.order.len() + columns) * size_of::<u32>() + self.weights.len() * size_of::<f64>()
    }

    /// Values of the entries in the order of the pass.
    pub(super) fn ordered<'v>(&self, values: &'v [f64]) -> Column<'v> {
        let ordered = match self.order.is_empty() {
            true => Column::Kept(values),
            false => {
                let mut ordered = Scratch::any(self.order.len());
                let entries = ordered.iter_mut().zip(&self.order);
                entries.for_each(|(own, entry)| *own = values[*entry as usize]);
                Column::Own(ordered)
            }
        };
        let Some(moved) = self.moved().and_then(|pattern| pattern.by_strips(&ordered)) else {
            return ordered;
        };
        // Once, and not for the next sweep.
        if let Column::Own(ordered) = ordered {
            drop(ordered.into_values());
        }
        Column::Own(moved)
    }

    /// The entry at a place of the pass.
    pub(super) fn entry(&self, place: usize) -> usize {
        let place = self.moved().map_or(place, |pattern| pattern.place_by_rows(place));
        if self.order.is_empty() { place } else { self.order[place] as usize }
    }

    /// The only pattern, if it was put in strips after the order had been found.
    fn moved(&self) -> Option<&Pattern<'a>> {
        match self.patterns.as_slice() {
            [Some(pattern)] if pattern.is_in_strips() => Some(pattern),
            _ => None,
        }
    }

    /// The pattern of an addend with modes.
    pub(super) fn pattern(&self, addend: usize) -> &Pattern<'a> {
        self.patterns[addend].as_ref().expect("an addend with modes has a pattern")
    }
}

/// Puts the numbers of entries in another order.
fn permute(column: &mut Cow<[u32]>, order: &[u32]) {
    *column = Cow::Owned(order.iter().map(|entry| column[*entry as usize]).collect());
}
