//! The memory of the pass over the entries of a site: what it keeps from one to the next, as `run/site_state.rs` does.

use std::borrow::Cow;

use cavi_numerics::facts;
use cavi_numerics::kernels::Outline;
use cavi_numerics::kernels::pattern::MOST_MODES;

use super::heap::Heap;
use crate::data::Bound;
use crate::plan::site::{Rows, SitePlan};
use crate::plan::stamps::LastPass;
use crate::plan::visits::{gathered_length, wants_order};

/// The bytes of a coordinate, and of a number.
const PLACE: usize = size_of::<u32>();
const NUMBER: usize = size_of::<f64>();

/// What a site keeps between passes, and how much that is.
#[derive(Clone, Debug, Default)]
pub(super) struct Passing {
    entries: usize,
    /// For each addend, what its pattern is like.
    pub outlines: Vec<Option<Outline>>,
    /// Whether it visits the entries in another order than theirs.
    pub has_order: bool,
    /// Columns of the only addend that it owns.
    owned: usize,
    modes: usize,
    passes: Option<u32>,
    is_in_strips: bool,
    /// The numbers of its own weights.
    weights: usize,
    weights_stamp: Option<u64>,
    copies: usize,
    /// For each addend and mode, whether its factor has been narrowed.
    pub narrow: Vec<Vec<bool>>,
    /// For each addend, whether its scale has been taken.
    pub scales: Vec<bool>,
    pub scales_stamp: u64,
    pub ratios: bool,
    /// For each addend the state of its sums, and whether they have memory.
    pub sums: Vec<(u64, bool)>,
    /// Whether means and masses were laid out, and for each mode whether something was accumulated beside each other.
    pub own_rows: bool,
    pub own_sums: Vec<bool>,
    pub last: LastPass,
}

impl Passing {
    /// Before the first pass; what the plan holds was taken. Entries that stay where they are, in a mapped file, are not copied in the order of the
    /// visits.
    pub fn new(plan: &SitePlan, bound: &Bound, stays: bool, heap: &mut Heap) -> Passing {
        let entries = plan.entries;
        let columns = |addend: usize| -> Vec<Cow<[u32]>> {
            plan.addends[addend].modes.iter().map(|mode| mode.row.values(bound, entries)).collect()
        };
        let whole = |addend: usize| plan.addends[addend].whole(entries);
        let is_own = |rows: &Rows| matches!(rows, Rows::Own(_));
        // For each column whether it is owned: of modes by addend, and all others.
        let mut of_modes: Vec<Vec<bool>> = plan
            .addends
            .iter()
            .map(|addend| addend.modes.iter().map(|mode| is_own(&mode.row)).collect())
            .collect();
        let scalars = plan.addends.iter().flat_map(|addend| &addend.scalars).map(|own| &own.element);
        let single = plan.addends.iter().flat_map(|addend| &addend.single).filter_map(|own| own.row.as_ref());
        let mut others: Vec<bool> = scalars.chain(single).map(is_own).collect();
        let permute = |owned: &mut bool, heap: &mut Heap| {
            heap.take(entries * PLACE);
            heap.free(if std::mem::replace(owned, true) { entries * PLACE } else { 0 });
        };
        let main = plan.main_addend();
        let order = main.filter(|main| wants_order(plan, *main)).is_some_and(|main| {
            let is_sorted = || {
                let columns = columns(main);
                facts::pairs_are_sorted(&columns[0], &columns[1])
            };
            whole(main).is_none() && !is_sorted()
        });
        if order {
            heap.take(entries * PLACE);
            // A merge sort has half of the places beside them.
            heap.pass(entries / 2 * PLACE);
            of_modes.iter_mut().flatten().chain(&mut others).for_each(|own| permute(own, heap));
        }
        let length = main.map_or(0, |main| gathered_length(&plan.addends[main]));
        let of_main = main.map(|main| {
            if let Some(sizes) = whole(main) {
                return Outline::whole(sizes);
            }
            let (own, columns) = (&plan.addends[main], columns(main));
            let columns: Vec<&[u32]> = columns.iter().map(AsRef::as_ref).collect();
            Outline::of(&columns, order, (own.by_products, true), length)
        });
        heap.take(of_main.map_or(0, |own| own.grid * PLACE));
        let shares_grid = |number: usize| {
            let (own, grid) = (columns(number), columns(main.unwrap_or(number)));
            own.is_empty() || (2..=MOST_MODES).contains(&own.len()) && own[..2] == grid[..2]
        };
        let rest = || (0..plan.addends.len()).filter(|number| Some(*number) != main);
        let striped =
            of_main.filter(|own| own.strips.is_some() && plan.addends.len() > 1 && rest().all(shares_grid));
        if let (Some(own), Some(main)) = (striped, main) {
            let strips = own.strips.unwrap_or(0) * PLACE + entries * size_of::<u16>();
            heap.take(strips + (1 + of_modes[main].len() - 2) * entries * PLACE);
            for number in rest() {
                of_modes[number].iter_mut().for_each(|own| permute(own, heap));
            }
            others.iter_mut().for_each(|own| permute(own, heap));
            // The new order; the places in the old one, and what the main pattern was made of.
            heap.take(entries * PLACE);
            heap.free(if order { entries * PLACE } else { 0 });
            for _ in rest().filter(|number| !of_modes[*number].is_empty()) {
                heap.take(strips);
                heap.free(2 * entries * PLACE);
            }
            let owned = of_modes[main].iter().filter(|own| **own).count();
            heap.free((1 + owned) * entries * PLACE + own.grid * PLACE);
        }
        let outline = |number: usize| {
            if plan.addends[number].modes.is_empty() {
                return None;
            }
            if Some(number) == main {
                return of_main;
            }
            if let Some(striped) = striped {
                return Some(Outline { first_shared: 2, ..striped });
            }
            match of_main.filter(|_| plan.addends[number].by_products) {
                Some(of_main) => {
                    heap.take(of_main.grid * PLACE);
                    Some(of_main)
                }
                None => {
                    let own = columns(number);
                    let own: Vec<&[u32]> = own.iter().map(AsRef::as_ref).collect();
                    Some(Outline::of(&own, order, (false, false), 0))
                }
            }
        };
        let outlines: Vec<Option<Outline>> = (0..plan.addends.len()).map(outline).collect();
        let first = plan.addends.first();
        let can_move = !stays
            && plan.addends.len() == 1
            && first.is_some_and(|own| own.scalars.is_empty() && own.single.is_empty());
        Passing {
            entries,
            outlines,
            has_order: order || striped.is_some(),
            owned: of_modes.first().map_or(0, |own| own.iter().filter(|own| **own).count()),
            modes: of_modes.first().map_or(0, Vec::len),
            passes: can_move.then_some(0),
            is_in_strips: striped.is_some(),
            sums: vec![(0, false); plan.addends.len()],
            scales: vec![false; plan.addends.len()],
            narrow: plan.addends.iter().map(|own| vec![false; own.modes.len()]).collect(),
            own_sums: vec![false; of_modes.first().map_or(0, Vec::len)],
            ..Passing::default()
        }
    }

    /// As `SiteState::count_pass`.
    pub fn count_pass(&mut self, heap: &mut Heap) {
        const BEFORE: u32 = 2;
        let Some(passes) = &mut self.passes else { return };
        *passes += 1;
        if *passes <= BEFORE {
            return;
        }
        self.passes = None;
        let Some(Some(outline)) = self.outlines.first().copied() else { return };
        let Some(strips) = outline.strips else { return };
        let others = (self.modes - 2) * self.entries * PLACE;
        heap.take(self.entries * size_of::<u16>() + strips * PLACE + others + self.entries * PLACE);
        heap.free((1 + self.owned) * self.entries * PLACE + outline.grid * PLACE);
        (self.owned, self.is_in_strips, self.weights_stamp) = (self.modes - 2, true, None);
    }

    /// As `SiteState::keep_rows`.
    pub fn keep_rows(&mut self) {
        self.passes = None;
    }

    /// As `State::weigh`, for weights of this state.
    pub fn weigh(&mut self, stamp: u64, heap: &mut Heap) {
        if self.weights_stamp.replace(stamp) == Some(stamp) {
            return;
        }
        if let Some(own) = self.ordered(heap) {
            heap.free(self.weights * NUMBER);
            self.weights = own;
        }
    }

    /// As `SiteState::ordered`: the room for the numbers in another order, if it is another one.
    pub fn ordered(&self, heap: &mut Heap) -> Option<usize> {
        let ordered = self.has_order.then(|| heap.scratch(self.entries));
        if self.is_in_strips && self.outlines.len() == 1 {
            let moved = heap.scratch(self.entries);
            heap.free(ordered.unwrap_or(0) * NUMBER);
            return Some(moved);
        }
        ordered
    }

    /// Copies of what chunks accumulate, which are kept.
    pub fn copy(&mut self, addend: usize, modes: &[(usize, Option<usize>)], heap: &mut Heap) {
        let needed = self.outlines[addend].map_or(0, |own| own.copied(modes));
        if needed > self.copies {
            let grown = needed.max(2 * self.copies);
            heap.take(grown * NUMBER);
            heap.free(self.copies * NUMBER);
            self.copies = grown;
        }
    }

    /// A number for each entry, kept from now on, if it has not been before.
    pub fn numbers(&self, kept: bool, heap: &mut Heap) -> bool {
        if !kept {
            heap.take(self.entries * NUMBER);
        }
        true
    }
}
