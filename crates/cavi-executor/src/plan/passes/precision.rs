//! Chooses which arrays are stored in single precision if a run asks for it (`--precision f32`).
//!
//! What a pass over entries reads most are rows of its factors, one a mode and entry: these have copies in single precision.
//! Everything else stays in doubles: parameters, data, what is summed, and the bound. The copies are rounded, relative
//! error 2^-24, and the allocations are those of the rounded factors.

use std::sync::Arc;

use crate::plan::passes::Context;
use crate::plan::site::{AddendPlan, ModePlan, SitePlan};
use crate::plan::{Plan, Unplanned};

/// How the arrays that a run reads most are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// In doubles.
    #[default]
    Double,
    /// In single precision where a pass over entries profits; sums in doubles.
    Single,
}

/// How the factors of an addend are stored for a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// In doubles.
    Double,
    /// In single precision, each row divided by a power of two: where there is one addend, its counts and (but for the powers)
    /// its bound are the same whatever the scale of a row.
    Scaled,
    /// In single precision as they are, while their largest values are of ordinary size; else in doubles.
    Plain,
}

/// Chooses what is stored in single precision.
///
/// Sites that an ascent climbs stay as they are: its line search compares objectives that differ little.
pub fn store(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    if context.precision == Precision::Double {
        return Ok(());
    }
    let climbs = plan.blocks.iter().flat_map(|block| &block.ascent).flat_map(|ascent| &ascent.sites);
    let climbed: Vec<usize> = climbs.map(|site| site.index()).collect();
    for (number, site) in plan.sites.iter_mut().enumerate() {
        let Some(site) = site.as_mut().and_then(Arc::get_mut) else { continue };
        if climbed.contains(&number)
            || site.own.is_some()
            || site.addends.iter().any(|addend| addend.listed.is_some())
        {
            continue;
        }
        let single = if site.addends.len() == 1 { Stored::Scaled } else { Stored::Plain };
        let entries = site.entries;
        let modes = |addend: &&mut AddendPlan| profits(addend, entries);
        site.addends.iter_mut().filter(modes).for_each(|addend| addend.stored = single);
    }
    Ok(())
}

/// Whether rows are gathered so often that a copy of them pays: two modes (of more, arithmetic hides the memory), and
/// several entries a row that are not visited by matrix products.
fn profits(addend: &AddendPlan, entries: usize) -> bool {
    let rows: usize = addend.modes.iter().map(|mode| mode.rows).sum();
    let climbs = addend.modes.iter().any(|mode| !mode.climbers.is_empty());
    addend.modes.len() == 2 && addend.categories >= 2 && entries >= 2 * rows && !climbs && !addend.by_products
}

/// The bytes that the copies of a site's factors take, with an exponent and the weight of each scaled row.
pub(crate) fn bytes(site: &SitePlan) -> usize {
    let of_row = |addend: &AddendPlan, mode: &ModePlan| match addend.stored {
        Stored::Double => 0,
        Stored::Plain => addend.row_length(mode) * size_of::<f32>(),
        Stored::Scaled => addend.row_length(mode) * size_of::<f32>() + size_of::<i32>() + size_of::<f64>(),
    };
    let of_addend = |addend: &AddendPlan| -> usize {
        addend.modes.iter().map(|mode| mode.rows * of_row(addend, mode)).sum()
    };
    site.addends.iter().map(of_addend).sum()
}
