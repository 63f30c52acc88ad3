//! Which row of its matrix each mode of a site reads at each entry, and whether the entries are visited by matrix products.

use std::borrow::Cow;

use cavi_algebra::ArrayId;
use cavi_numerics::facts;
use cavi_numerics::kernels::pattern;

use crate::data::{Bound, BoundArray};
use crate::plan::site::{AddendPlan, SitePlan};

/// The row of a mode at each entry.
#[derive(Clone, Debug)]
pub enum Rows {
    /// A coordinate of the listed entries, read where it is bound.
    Coordinate(ArrayId, usize),
    /// Worked out from several letters, or for a dense domain.
    Own(Vec<u32>),
    /// Of entries that are all places of a matrix, one row after another ([`AddendPlan::whole`]): the value of the letter of so many values
    /// that changes every `inner` entries.
    Counted {
        /// How many entries have one value before the next.
        inner: usize,
        /// How many values there are.
        size: usize,
    },
}

impl Rows {
    /// The rows of so many entries.
    pub(crate) fn values<'s>(&'s self, bound: &'s Bound, entries: usize) -> Cow<'s, [u32]> {
        match self {
            Rows::Own(row) => Cow::Borrowed(row),
            Rows::Coordinate(array, column) => match bound.array(*array) {
                BoundArray::Sparse { indices, .. } => Cow::Borrowed(&indices[*column]),
                BoundArray::Dense { .. } => unreachable!("coordinates belong to sparse arrays"),
            },
            Rows::Counted { inner, size } => {
                (0..entries).map(|entry| (entry / inner % size) as u32).collect()
            }
        }
    }

    /// Whether the rows of so many entries ascend.
    pub(super) fn is_sorted(&self, bound: &Bound, entries: usize) -> bool {
        match self {
            Rows::Counted { inner, size } => entries <= inner * size,
            Rows::Own(_) | Rows::Coordinate(..) => facts::are_sorted(&self.values(bound, entries)),
        }
    }

    /// The bytes that they take beside the data.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Rows::Own(row) => row.len() * size_of::<u32>(),
            Rows::Coordinate(..) | Rows::Counted { .. } => 0,
        }
    }
}

impl AddendPlan {
    /// The rows and columns of a matrix of which so many entries are all places, one row after another, where its two modes are these.
    pub fn whole(&self, entries: usize) -> Option<[usize; 2]> {
        let [first, second] = self.modes.as_slice() else { return None };
        let (&Rows::Counted { inner: width, size: rows }, &Rows::Counted { inner: 1, size }) =
            (&first.row, &second.row)
        else {
            return None;
        };
        let is_whole = size == width && rows * width == entries && u32::try_from(entries).is_ok();
        (is_whole && entries > 0).then_some([rows, width])
    }
}

/// Rows that follow from the number of an entry are written out, for passes that look them up.
pub(super) fn write_out(bound: &Bound, entries: usize, addend: &mut AddendPlan) {
    for mode in &mut addend.modes {
        if matches!(mode.row, Rows::Counted { .. }) {
            mode.row = Rows::Own(mode.row.values(bound, entries).into_owned());
        }
    }
}

/// Entries that fill most of the rows and columns of two modes, one a place, are visited by matrix products: those of the main
/// addend, which are put in order for it if they are not, and those of others with the same rows and columns.
pub(super) fn choose_products(bound: &Bound, plan: &mut SitePlan) {
    let entries = plan.entries;
    let main = plan.main_addend();
    if let Some(grid) = main.and_then(|main| plan.addends[main].whole(entries)) {
        for addend in &mut plan.addends {
            match addend.whole(entries) == Some(grid) {
                true => (addend.fill, addend.by_products) = (Some(1.0), true),
                false => {
                    write_out(bound, entries, addend);
                    addend.fill =
                        columns_of(bound, entries, addend).map(|own| pattern::fill([&own[0], &own[1]]));
                }
            }
        }
        return;
    }
    plan.addends.iter_mut().for_each(|addend| write_out(bound, entries, addend));
    let columns: Vec<Option<[Cow<[u32]>; 2]>> =
        plan.addends.iter().map(|addend| columns_of(bound, entries, addend)).collect();
    let of_main = main.and_then(|main| columns[main].as_ref());
    let of_main = of_main.filter(|own| pattern::fills_a_grid([&own[0], &own[1]]));
    let chosen = columns.iter().map(|own| {
        let fill = own.as_ref().map(|own| pattern::fill([&own[0], &own[1]]));
        (fill, of_main.is_some() && own.as_ref() == of_main)
    });
    let chosen: Vec<(Option<f64>, bool)> = chosen.collect();
    for (addend, (fill, by_products)) in plan.addends.iter_mut().zip(chosen) {
        (addend.fill, addend.by_products) = (fill, by_products);
    }
}

/// The rows and columns of the entries, of an addend of two modes.
fn columns_of<'s>(bound: &'s Bound, entries: usize, addend: &'s AddendPlan) -> Option<[Cow<'s, [u32]>; 2]> {
    match addend.modes.as_slice() {
        [first, second] => Some([first, second].map(|mode| mode.row.values(bound, entries))),
        _ => None,
    }
}
