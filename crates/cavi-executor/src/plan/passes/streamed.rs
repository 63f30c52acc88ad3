//! Steps with more values than may be kept are worked out a few rows at a time where they are read, and never kept.

use crate::plan::passes::Context;
use crate::plan::tensor::{Index, Node, Operation};
use crate::plan::{Plan, Unplanned};

/// Marks them. What reads one runs along its first dimension, row after row.
pub fn stream(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    let large = |node: &Node| {
        let computed =
            matches!(node.operation, Operation::Contractions(_) | Operation::Map(..) | Operation::Site(..));
        computed && node.len() > context.limit
    };
    let mut streamed: Vec<bool> = plan.nodes.iter().map(large).collect();
    // A pass reads its factors wherever its entries lie, and their logs where a partition leaves the range of doubles.
    for site in plan.sites.iter().flatten() {
        let modes = site.addends.iter().flat_map(|addend| &addend.modes);
        let read = site.inputs().chain(modes.map(|mode| mode.log_factor));
        read.for_each(|node| streamed[node.index()] = false);
    }
    for (node, own) in plan.nodes.iter().zip(&streamed) {
        let Operation::Contractions(parts) = &node.operation else { continue };
        for part in parts {
            let read = part.operands.iter().filter(|operand| streamed[operand.node.index()]);
            let along: Vec<&[Index]> = read
                .map(|operand| operand.dims.as_slice())
                .chain(own.then_some(part.output.as_slice()))
                .collect();
            let Some(first) = along.first() else { continue };
            // By the values of a letter, or by listed entries that lie row after row.
            let in_rows = |dims: &&[Index]| {
                let alone = || dims[1..].iter().all(|index| index.letter != dims[0].letter);
                dims[0] == first[0] && dims[0].map.map_or_else(alone, |map| plan.maps.table(map).is_sorted())
            };
            if !along.iter().all(in_rows) {
                return Err(Unplanned(format!(
                    "auxiliary variables or allocations for {} entries are too many to keep, and are not read in rows",
                    node.len()
                )));
            }
        }
    }
    plan.streamed = streamed;
    Ok(())
}
