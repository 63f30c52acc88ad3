//! Squares of large data are multiplied where they are read, and never kept.
//!
//! ```text
//! out[n, k] = sum_j x[n, j]^2 t[k, j] = sum_j x[n, j] x[n, j] t[k, j]
//! ```
//!
//! A matrix product multiplies the two out block by block, in a memory that stays in the cache; any other sum reads the number twice. An
//! array of all squares would be as large as the data. It is kept where it is smaller than that matters: a Gaussian mixture of 25 million numbers
//! and ten clusters takes a quarter longer without it, since its squares are then multiplied for each of three products of matrices.

use crate::plan::passes::{Context, used};
use crate::plan::tensor::{Access, Elementwise, NodeId, Operation, Source};
use crate::plan::{Plan, Unplanned};

/// A shorter array of squares, of less than 134 MB, is kept.
const LONG: usize = 1 << 24;

/// Reads what is given twice in the place of its squares, where a step that changes reads them and nothing but sums does.
pub fn square(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    if plan.moves_in_order() {
        return Ok(());
    }
    let constant = plan.constant();
    let roots = plan.roots();
    let mut squares: Vec<Option<NodeId>> = plan
        .nodes
        .iter()
        .map(|node| match node.operation {
            Operation::Map(Elementwise::Power(2), from) if node.len() > LONG => {
                Some(from).filter(|from| plan.nodes[from.index()].source() == Source::Given)
            }
            _ => None,
        })
        .collect();
    let mut changes = vec![false; plan.nodes.len()];
    for (index, node) in plan.nodes.iter().enumerate() {
        let is_sum = matches!(node.operation, Operation::Contractions(_));
        for read in node.reads() {
            changes[read.index()] |= !constant[index];
            squares[read.index()] = squares[read.index()].filter(|_| is_sum);
        }
    }
    for index in 0..squares.len() {
        let is_root = roots.contains(&NodeId(index as u32));
        squares[index] = squares[index].filter(|_| changes[index] && !is_root);
    }
    if squares.iter().all(Option::is_none) {
        return Ok(());
    }
    for node in &mut plan.nodes {
        let Operation::Contractions(parts) = &mut node.operation else { continue };
        for part in parts {
            let operands = std::mem::take(&mut part.operands);
            part.operands = operands
                .into_iter()
                .flat_map(|own| match squares[own.node.index()] {
                    Some(node) => vec![Access { node, ..own.clone() }, Access { node, ..own }],
                    None => vec![own],
                })
                .collect();
        }
    }
    used::keep_used(plan, context)
}
