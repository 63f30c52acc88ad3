//! Squares that were multiplied out are watched where lost digits would show.
//!
//! `sum (x - t)^2 = sum x^2 - 2 sum x t + sum t^2` is smaller than its terms where it has lost digits. Other sums may
//! be near 0 without a loss of digits: slopes at a maximum, or logs of weights.

use cavi_algebra::{Block, Support};

use crate::plan::passes::Context;
use crate::plan::tensor::NodeId;
use crate::plan::{Plan, Unplanned};

/// Keeps the sums that are natural parameters of scales, or terms of the bound.
pub fn watch(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    let equations = context.equations;
    let chooses = |block: &Block| {
        let support = equations.symbols.array(block.members[0]).support;
        matches!(support, Support::Index(_) | Support::Binary)
    };
    let scales = equations.blocks.iter().zip(&plan.blocks).filter(|(block, _)| !chooses(block));
    let natural = scales.flat_map(|(_, plan)| plan.natural.iter());
    let watched: Vec<NodeId> = natural.chain(&plan.elbo).copied().collect();
    plan.opened.retain(|opened| watched.contains(&opened.node));
    Ok(())
}
