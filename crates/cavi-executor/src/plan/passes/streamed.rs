//! Steps with more values than may be kept are worked out a few rows at a time where they are read, and never kept. So are long
//! steps that follow from data and constants alone and that others like them read: these are worked out once, such as
//! `sum_e log Gamma(n_e + 1)` of the entries of counts, and need no memory for what stands between the data and their sums.

use crate::plan::passes::Context;
use crate::plan::tensor::{Index, Node, Operation, Source};
use crate::plan::{Plan, Unplanned};

/// Marks them. What reads one runs along its first dimension, row after row.
pub fn stream(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    let large = |node: &Node| {
        let computed = is_by_rows(&node.operation) || matches!(node.operation, Operation::Site(..));
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
    stream_constants(plan);
    Ok(())
}

/// Whether any row of it can be worked out by itself.
fn is_by_rows(operation: &Operation) -> bool {
    matches!(operation, Operation::Contractions(_) | Operation::Map(..) | Operation::Pair(..))
}

/// A shorter step is kept.
const LONG: usize = 1 << 16;

/// Marks long steps that follow from data and constants alone, where all that read them do so too, and read them in rows.
fn stream_constants(plan: &mut Plan) {
    let constant = constants(plan);
    let mut is_root = vec![false; plan.nodes.len()];
    plan.roots().iter().for_each(|root| is_root[root.index()] = true);
    let mut own: Vec<bool> = (0..plan.nodes.len())
        .map(|index| {
            let node = &plan.nodes[index];
            let is_long = node.len() > LONG && !node.shape.is_empty();
            is_by_rows(&node.operation)
                && is_long
                && constant[index]
                && !is_root[index]
                && !plan.streamed[index]
        })
        .collect();
    // What cannot be read in rows is kept, and then what reads it may be read in other ways.
    loop {
        let mut refused = Vec::new();
        for (index, node) in plan.nodes.iter().enumerate() {
            let is_streamed = |node: usize| own[node] || plan.streamed[node];
            if reads_in_rows(node, own[index], &is_streamed) && constant[index] {
                continue;
            }
            refused.extend(own[index].then_some(index));
            refused.extend(node.reads().iter().map(|read| read.index()).filter(|read| own[*read]));
        }
        if refused.is_empty() {
            break;
        }
        refused.into_iter().for_each(|index| own[index] = false);
    }
    plan.streamed.iter_mut().zip(own).for_each(|(streamed, own)| *streamed |= own);
}

/// Whether a step can read what is streamed, and be streamed itself if it is to be.
fn reads_in_rows(node: &Node, is_own: bool, is_streamed: &dyn Fn(usize) -> bool) -> bool {
    match &node.operation {
        Operation::Contractions(parts) => parts.iter().all(|part| {
            let read = part.operands.iter().filter(|operand| is_streamed(operand.node.index()));
            let along = read.map(|operand| operand.dims.as_slice());
            let along: Vec<&[Index]> = along.chain(is_own.then_some(part.output.as_slice())).collect();
            let Some(first) = along.first().and_then(|first| first.first()) else { return along.is_empty() };
            // By the values of a letter.
            let in_rows = |dims: &&[Index]| {
                dims[0] == *first
                    && first.map.is_none()
                    && dims[1..].iter().all(|index| index.letter != first.letter)
            };
            along.iter().all(in_rows)
        }),
        Operation::Map(..) | Operation::Pair(..) => {
            is_own || node.reads().iter().all(|read| !is_streamed(read.index()))
        }
        _ => !is_own && node.reads().iter().all(|read| !is_streamed(read.index())),
    }
}

/// Of each step, whether it follows from data and constants alone.
fn constants(plan: &Plan) -> Vec<bool> {
    let mut constant: Vec<bool> = plan.nodes.iter().map(|node| node.source() == Source::Given).collect();
    // A step may stand before what it reads.
    loop {
        let more: Vec<usize> = (0..plan.nodes.len())
            .filter(|index| {
                let node = &plan.nodes[*index];
                let follows = || node.reads().iter().all(|read| constant[read.index()]);
                !constant[*index] && node.source() == Source::Nodes && follows()
            })
            .collect();
        if more.is_empty() {
            return constant;
        }
        more.into_iter().for_each(|index| constant[index] = true);
    }
}
