//! A contraction that is an addend of several nodes is computed once.
//!
//! The coefficient of an update and the bound often hold the same sum over the data beside other terms. Here it becomes a node of
//! its own, which both read.

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
    let mut alone: BTreeMap<String, NodeId> = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (index, node) in plan.nodes.iter().enumerate() {
        let Operation::Contractions(parts) = &node.operation else { continue };
        for part in parts.iter().filter(|part| is_worth_it(part, node, &plan.nodes, limit)) {
            let key = key(part, &node.loops());
            if parts.len() == 1 && part.coefficient == 1.0 {
                alone.entry(key).or_insert(NodeId(index as u32));
            } else {
                *seen.entry(key).or_default() += 1;
            }
        }
    }
    for index in 0..plan.nodes.len() {
        let loops = plan.nodes[index].loops();
        let Operation::Contractions(mut parts) = plan.nodes[index].operation.clone() else { continue };
        if parts.len() == 1 && parts[0].coefficient == 1.0 {
            continue;
        }
        for part in &mut parts {
            if !is_worth_it(part, &plan.nodes[index], &plan.nodes, limit) {
                continue;
            }
            let key = key(part, &loops);
            let shared = match alone.get(&key) {
                Some(node) => *node,
                None if seen[&key] < 2 => continue,
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
    part.operands.len() > 1
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
