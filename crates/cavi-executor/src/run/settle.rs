//! An update of some rows, once their natural parameters are known: the descriptors of q, or the point.

use cavi_algebra::{BlockId, Elementary, Equations};
use cavi_families::{Batch, Expectation, Extent, Improper, views};
use cavi_numerics::Scratch;
use smallvec::SmallVec;

use super::state::family;
use crate::layout::Layout;

/// For each stored column of a block, whether it is a matrix, which rows may share.
pub fn matrices(equations: &Equations, id: BlockId) -> SmallVec<[bool; 6]> {
    let block = equations.block(id);
    if block.is_point() {
        return SmallVec::from_elem(false, block.members.len());
    }
    family(equations, id).descriptors().iter().map(|own| own.extent == Extent::Matrix).collect()
}

/// Columns of natural parameters, changed on their way.
type Changed = SmallVec<[Scratch; 4]>;

/// Natural parameters to descriptors, or to the point.
pub fn settle(
    equations: &Equations,
    (id, layout): (BlockId, &Layout),
    batch: &Batch,
    natural: &[&[f64]],
    block: &mut [&mut [f64]],
) -> Result<(), Improper> {
    let family = family(equations, id);
    if equations.keeps_zeros(equations.block(id)) {
        // A zero stays under a multiplicative update, since the bound there is that of a point mass at 0.
        let held = |column: &[f64], own: &Expectation| -> Scratch {
            let at_zero = if own.statistic.is_square() { -1.0 } else { 0.0 };
            let mut held = Scratch::zeros(column.len());
            for ((held, own), value) in held.iter_mut().zip(column).zip(&*block[0]) {
                *held = if *value == 0.0 { at_zero } else { *own };
            }
            held
        };
        let columns: Changed =
            natural.iter().zip(&layout.statistics).map(|(column, own)| held(column, own)).collect();
        return family.mode(batch, &views(&columns), block[0]);
    }
    if equations.block(id).is_point() && equations.block(id).clamp {
        // A negative coefficient of a log makes the density infinite on the boundary.
        let logs = |own: &Expectation| {
            matches!(own.statistic.0.as_slice(), [(_, Elementary::Log | Elementary::LogComplement)])
        };
        let clamp = |(column, own): (&&[f64], &Expectation)| {
            let least = if logs(own) { 0.0 } else { f64::NEG_INFINITY };
            let mut clamped = Scratch::zeros(column.len());
            clamped.iter_mut().zip(*column).for_each(|(to, value)| *to = value.max(least));
            clamped
        };
        let clamped: Changed = natural.iter().zip(&layout.statistics).map(clamp).collect();
        family.mode(batch, &views(&clamped), block[0])
    } else if equations.block(id).is_point() {
        family.mode(batch, natural, block[0])
    } else {
        family.describe(batch, natural, block)
    }
}
