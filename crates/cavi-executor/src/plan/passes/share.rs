//! A contraction that is an addend of several nodes is computed once, and so is one of data and constants alone that is an addend of a node
//! which changes.
//!
//! The coefficient of an update and the bound often hold the same sum over the data beside other terms. Here it becomes a node of
//! its own, which both read. The sum of squares of the data in the rate of a precision is one number: taken once, it needs neither the
//! squares nor the time in later sweeps.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::passes::Context;
use crate::plan::tensor::{Access, Contraction, Index, Loop, Node, NodeId, Operation};
use crate::plan::{Plan, Unplanned};

/// A contraction with at least this many products for each element of the output gets an array of its own.
const WORTH: usize = 4;

/// Gives contractions that occur more than once nodes of their own. None of more values than the limit is made.
pub fn share(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    if plan.moves_in_order() {
        return Ok(());
    }
    let limit = context.limit;
    let constant = plan.constant();
    // Of a step that changes, an addend that does not.
    let is_settled = |index: usize, part: &Contraction| {
        !constant[index] && part.operands.iter().all(|operand| constant[operand.node.index()])
    };
    let worth = |index: usize, part: &Contraction, nodes: &[Node]| {
        (part.operands.len() > 1 || is_settled(index, part)) && is_worth_it(part, &nodes[index], nodes, limit)
    };
    let mut alone: BTreeMap<String, NodeId> = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, node) in plan.nodes.iter().enumerate() {
        let Operation::Contractions(parts) = &node.operation else { continue };
        for part in parts.iter().filter(|part| is_worth_it(part, node, &plan.nodes, limit)) {
            let key = key(part, &node.loops());
            let is_alone = parts.len() == 1 && part.coefficient == 1.0;
            if is_alone && (constant[index] || part.operands.len() > 1) {
                alone.entry(key).or_insert(NodeId(index as u32));
            } else if worth(index, part, &plan.nodes) {
                *seen.entry(key).or_default() += 1;
            }
        }
    }
    for index in 0..constant.len() {
        let loops = plan.nodes[index].loops();
        let Operation::Contractions(mut parts) = plan.nodes[index].operation.clone() else { continue };
        if parts.len() == 1 && parts[0].coefficient == 1.0 {
            continue;
        }
        for part in &mut parts {
            if !worth(index, part, &plan.nodes) {
                continue;
            }
            let key = key(part, &loops);
            let shared = match alone.get(&key) {
                Some(node) => *node,
                None if seen[&key] < 2 && !is_settled(index, part) => continue,
                None => {
                    let operation =
                        Operation::Contractions(vec![Contraction { coefficient: 1.0, ..part.clone() }]);
                    let node = plan.push(operation, &loops);
                    alone.insert(key, node);
                    node
                }
            };
            *part = Contraction { coefficient: part.coefficient, ..Contraction::copy(shared, &loops) };
        }
        plan.nodes[index].operation = Operation::Contractions(parts);
    }
    Ok(())
}

fn is_worth_it(part: &Contraction, node: &Node, nodes: &[Node], limit: usize) -> bool {
    let work = part.sizes().fold(1, usize::saturating_mul);
    let is_kept = |node: &Node| node.len() <= limit;
    let operands = part.operands.iter().map(|operand| &nodes[operand.node.index()]);
    !part.operands.is_empty()
        && work / WORTH >= node.len().max(1)
        && is_kept(node)
        && operands.into_iter().all(is_kept)
}

/// What is the same for contractions that differ in the coefficient, in the names of letters and in the order of the operands.
fn key(part: &Contraction, loops: &[Loop]) -> String {
    let mut operands: Vec<&Access> = part.operands.iter().collect();
    operands.sort_by_key(|operand| operand.node);
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let letters = part.output.iter().chain(operands.iter().flat_map(|operand| &operand.dims));
    for index in letters {
        let next = numbers.len();
        numbers.entry(index.letter).or_insert(next);
    }
    let named = |dims: &[Index]| -> Vec<Index> {
        dims.iter().map(|index| Index { letter: numbers[&index.letter], ..*index }).collect()
    };
    let mut own: Vec<(NodeId, Vec<Index>)> =
        operands.iter().map(|operand| (operand.node, named(&operand.dims))).collect();
    own.sort();
    let letters: BTreeSet<(usize, Loop)> =
        numbers.iter().map(|(letter, number)| (*number, part.letters[*letter])).collect();
    format!("{own:?} {:?} {letters:?} {loops:?}", named(&part.output))
}
