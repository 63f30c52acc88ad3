//! A latent that is indexed by every axis of a sparse array with `absent = NA` lives at the array's listed entries:
//! elsewhere its q is the prior, and nothing of it is stored.
//!
//! The listed entries become an axis of their own, the coordinates of an entry index data over it, and the program is
//! restated: `x[i, j] ~ Normal(a[i] * b[j], prec = tau * u[i, j])` is `x[e] ~ Normal(a[i[e]] * b[j[e]], prec = tau * u[e])`
//! with `u[e]` for `u[i, j]`. That is the same model with the latents that no entry touches summed out, which is exact. It
//! is derived and run as any other program. A point, too, has a value at the listed entries alone, and adds its density
//! there.
//!
//! Several arrays may share such latents; the entries are then those of the first array in the order of its file, and
//! after them what only the others list.

mod reach;
mod restate;

use cavi_algebra::{ArrayId, AxisId, LetterId};

use super::Problem;
pub(crate) use reach::{Component, Member, components};

/// The listed entries of sparse data as an axis.
#[derive(Clone, Debug)]
pub struct EntryAxis {
    /// The axis.
    pub axis: AxisId,
    /// The axes whose positions an entry has, as the first array declares them.
    pub coordinates: Vec<AxisId>,
    /// The letters that these have there.
    pub letters: Vec<LetterId>,
    /// For each of those the position of every entry.
    pub columns: Vec<Vec<u32>>,
    /// The two coordinates of `i < j`, which have no order.
    pub pair: Option<[usize; 2]>,
    /// The data that list them, each with the dimension that every coordinate is for it.
    pub data: Vec<Member>,
    /// The latents that live there, each with the order in which it declares the coordinates.
    pub latents: Vec<(ArrayId, Vec<usize>)>,
}

impl EntryAxis {
    /// The coordinates in the order in which an array that lives there declares them.
    pub(crate) fn order(&self, array: ArrayId) -> Vec<usize> {
        let of_data = self.data.iter().find(|own| own.array == array).map(|own| {
            let mut order: Vec<usize> = (0..own.places.len()).collect();
            order.sort_by_key(|coordinate| own.places[*coordinate]);
            order
        });
        let of_latent = || self.latents.iter().find(|(own, _)| *own == array).map(|(_, order)| order.clone());
        of_data.or_else(of_latent).unwrap_or_else(|| (0..self.coordinates.len()).collect())
    }

    /// Whether several coordinates are of one axis, as the two nodes of an edge: their letters tell them apart.
    pub(crate) fn is_repeated(&self, axis: AxisId) -> bool {
        self.coordinates.iter().filter(|other| **other == axis).count() > 1
    }
}

/// The problem over the listed entries where latents live at them; `None` where none does.
pub(super) fn restate(problem: &Problem) -> Option<Problem> {
    let mut restated: Option<Problem> = None;
    for component in components(&problem.model) {
        let next = restate::restate(restated.as_ref().unwrap_or(problem), &component);
        restated = next.or(restated);
    }
    restated
}
