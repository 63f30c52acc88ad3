//! In which order a pass visits the entries of a site.

use crate::plan::precision::Stored;
use crate::plan::site::{AddendPlan, SitePlan};

/// The doubles that a gathered row takes.
pub fn gathered_length(addend: &AddendPlan) -> usize {
    let longest = addend.modes.iter().map(|mode| addend.row_length(mode)).max();
    let longest = longest.unwrap_or(addend.categories);
    match addend.stored {
        Stored::Double => longest,
        Stored::Scaled | Stored::Plain => longest.div_ceil(2),
    }
}

/// Whether sorting the entries by their rows pays for a second copy of their coordinates and weights: the rows that they
/// gather in the second mode outgrow a cache of a megabyte, and each is gathered many times. Matrix products need it.
pub fn wants_order(plan: &SitePlan, main: usize) -> bool {
    const LEAST_BYTES: usize = 1 << 20;
    const LEAST_ENTRIES: usize = 1 << 16;
    let addend = &plan.addends[main];
    if addend.by_products {
        return true;
    }
    let [_, second, ..] = addend.modes.as_slice() else { return false };
    let bytes = second.rows * addend.categories * size_of::<f64>();
    let many = plan.entries >= LEAST_ENTRIES.max(8 * second.rows);
    many && bytes >= LEAST_BYTES && u32::try_from(plan.entries).is_ok()
}
