//! Of two equal elements of a symmetric matrix only one is summed.
//!
//! Where the sum of the products of a matrix for each of many copies and of numbers of these is a matrix again,
//!
//! ```text
//! out[o, a, b] = sum_s R[o, s] S[s, a, b],   S[s, a, b] = S[s, b, a],
//! ```
//!
//! only the pairs `a <= b` are summed: `S` and the output stand as vectors over these while it is done.

use cavi_algebra::Equations;
use cavi_families::{Extent, posterior};

use crate::plan::passes::Context;
use crate::plan::tensor::{Access, Along, Contraction, Index, Loop, Node, NodeId, Operation};
use crate::plan::{Plan, Unplanned};

/// As many products an element of the output are worth a copy of it.
const WORTH: usize = 4;

/// Puts contractions of symmetric matrices into pairs. None of more values than the limit is copied.
pub fn pair(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    if plan.moves_in_order() {
        return Ok(());
    }
    for index in 0..plan.nodes.len() {
        let loops = plan.nodes[index].loops();
        let Operation::Contractions(mut parts) = plan.nodes[index].operation.clone() else { continue };
        for part in 0..parts.len() {
            let found = symmetric_operand(context, &plan.nodes, &parts[part], &plan.nodes[index].shape);
            let Some((place, from, to)) = found else { continue };
            let operand = &parts[part].operands[place];
            let own = paired(&plan.nodes[operand.node.index()].loops(), from);
            let matrices = plan.find_or_push(Operation::Pairs(operand.node, from), &own);
            let sum = in_pairs(&parts[part], place, matrices, from, to);
            let is_alone = parts.len() == 1;
            let sum = plan.find_or_push(Operation::Contractions(vec![sum]), &paired(&loops, to));
            if is_alone {
                plan.nodes[index].operation = Operation::Square(sum, to);
                break;
            }
            let square = plan.find_or_push(Operation::Square(sum, to), &loops);
            parts[part] = Contraction::copy(square, &loops);
            plan.nodes[index].operation = Operation::Contractions(parts.clone());
        }
    }
    Ok(())
}

/// Dimensions of which the one at `at` and the next, of one size, become one over their pairs.
pub fn paired(loops: &[Loop], at: usize) -> Vec<Loop> {
    [&loops[..at], &[pairs_of(loops[at], loops[at + 1])], &loops[at + 2..]].concat()
}

/// The pairs of two loops over the same values.
fn pairs_of(one: Loop, other: Loop) -> Loop {
    let along = match (one.along, other.along) {
        (Along::Axis(own), Along::Axis(other)) if own == other => Along::Pairs(own),
        _ => Along::Plain,
    };
    Loop { size: one.size * (one.size + 1) / 2, along }
}

/// The operand whose symmetric matrices are summed to those of the output, and where their dimensions begin in either.
fn symmetric_operand(
    Context { equations, limit, .. }: &Context,
    nodes: &[Node],
    part: &Contraction,
    shape: &[usize],
) -> Option<(usize, usize, usize)> {
    let length: usize = shape.iter().product();
    let work = part.sizes().fold(1, usize::saturating_mul);
    let is_kept = |operand: &Access| nodes[operand.node.index()].len() <= *limit;
    if part.operands.len() < 2
        || work / WORTH < length.max(1)
        || length > *limit
        || !part.operands.iter().all(is_kept)
    {
        return None;
    }
    (0..shape.len().saturating_sub(1)).find_map(|to| {
        let (a, b) = (part.output[to], part.output[to + 1]);
        let has =
            |dims: &[Index]| dims.iter().filter(|index| [a.letter, b.letter].contains(&index.letter)).count();
        let is_plain =
            a.map.is_none() && b.map.is_none() && a != b && shape[to] == shape[to + 1] && shape[to] > 1;
        if !is_plain || has(&part.output) != 2 {
            return None;
        }
        let mut holding = part.operands.iter().enumerate().filter(|(_, operand)| has(&operand.dims) > 0);
        let ((place, operand), None) = (holding.next()?, holding.next()) else { return None };
        let from = operand.dims.windows(2).position(|own| own == [a, b] || own == [b, a])?;
        let fits = has(&operand.dims) == 2 && nodes[operand.node.index()].shape[from] == shape[to];
        (fits && is_symmetric(equations, nodes, operand.node, from)).then_some((place, from, to))
    })
}

/// The contraction with the pairs of one operand in the place of its matrices.
fn in_pairs(part: &Contraction, place: usize, matrices: NodeId, from: usize, to: usize) -> Contraction {
    let (kept, dropped) = (part.output[to].letter, part.output[to + 1].letter);
    let mut own = part.clone();
    own.letters[kept] = pairs_of(own.letters[kept], own.letters[dropped]);
    own.letters.remove(dropped);
    own.output.remove(to + 1);
    let operand = &mut own.operands[place];
    operand.node = matrices;
    operand.dims[from] = Index::letter(kept);
    operand.dims.remove(from + 1);
    for index in own.operands.iter_mut().flat_map(|operand| &mut operand.dims).chain(&mut own.output) {
        index.letter -= usize::from(index.letter > dropped);
    }
    own
}

/// Whether a node has the same values with dimension `at` and the next exchanged.
fn is_symmetric(equations: &Equations, nodes: &[Node], node: NodeId, at: usize) -> bool {
    let own = &nodes[node.index()];
    match &own.operation {
        Operation::Moment(block, which) => {
            match posterior(equations.block(*block).family).expectations()[*which].extent {
                Extent::Matrix | Extent::Pairs => at + 2 == own.shape.len(),
                Extent::Scalar | Extent::Vector => false,
            }
        }
        Operation::Held(from) | Operation::Map(_, from) => is_symmetric(equations, nodes, *from, at),
        Operation::Square(_, own) => *own == at,
        Operation::Contractions(parts) => parts.iter().all(|part| {
            let (Some(a), Some(b)) = (part.output.get(at), part.output.get(at + 1)) else { return false };
            let (a, b) = (a.letter, b.letter);
            let is_plain = part.output.iter().all(|index| index.map.is_none());
            let factors = |exchange: bool| {
                let named = |index: &Index| match index.letter {
                    letter if exchange && letter == a => Index { letter: b, ..*index },
                    letter if exchange && letter == b => Index { letter: a, ..*index },
                    _ => *index,
                };
                let mut factors: Vec<(NodeId, Vec<Index>)> = part
                    .operands
                    .iter()
                    .map(|operand| {
                        let mut dims: Vec<Index> = operand.dims.iter().map(named).collect();
                        for place in 0..dims.len().saturating_sub(1) {
                            let pair = [dims[place].letter, dims[place + 1].letter];
                            let both = pair == [a, b] || pair == [b, a];
                            if both && is_symmetric(equations, nodes, operand.node, place) {
                                dims[place..place + 2].sort();
                            }
                        }
                        (operand.node, dims)
                    })
                    .collect();
                factors.sort();
                factors
            };
            is_plain && part.size(a) == part.size(b) && factors(false) == factors(true)
        }),
        Operation::Static(_)
        | Operation::Point(..)
        | Operation::Counts(..)
        | Operation::Masked(_)
        | Operation::Pair(..)
        | Operation::Pairs(..)
        | Operation::Whole(_)
        | Operation::Taken(_)
        | Operation::LogDeterminant(_)
        | Operation::Beside(..)
        | Operation::Site(..) => false,
    }
}
