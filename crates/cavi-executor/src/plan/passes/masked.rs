//! Sums with a mask of zeros and ones run over the ones, or are the sum over all less that over the zeros.
//!
//! With data in part observed,
//!
//! ```text
//! out[o, k] = sum_s M[o, s] S[s, k]
//! ```
//!
//! is a product of matrices that mostly multiplies by 1. Where lists of the fewer kind, `o` by `o`, are cheaper (few or most
//! places are observed, or `k` takes few values), it is a sum over these. A third factor is multiplied into `S` first.

use std::collections::BTreeMap;

use cavi_numerics::kernels::masked::fewer;

use crate::plan::passes::Context;
use crate::plan::tensor::{Access, Contraction, Index, Node, NodeId, Operation};
use crate::plan::{Plan, Unplanned};

/// A sum over the places where a mask is 1: its rows number the first dimension of the output, those of the other array behind
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct MaskedSum {
    /// The number in front.
    pub coefficient: f64,
    /// The mask: a matrix of zeros and ones that never changes.
    pub mask: NodeId,
    /// Whether its first dimension is the summed one.
    pub by_columns: bool,
    /// What is summed.
    pub of: NodeId,
    /// Whether the summed dimension of that is the last one; else it is the first.
    pub last: bool,
    /// How many places of the mask are visited.
    pub listed: usize,
    /// How many there are.
    pub places: usize,
}

/// Seconds of a place of a product with a mask, and of each value there.
/// `cargo bench -p cavi-numerics --bench masked`, on the machine of the benches.
const PRODUCT: [f64; 2] = [0.5e-9, 0.05e-9];
/// Seconds of a place that is listed, and of each value there.
pub const LISTED: [f64; 2] = [1.2e-9, 0.1e-9];
/// Fewer places are not worth a list.
const LEAST: usize = 1 << 10;

impl MaskedSum {
    /// Whether lists are cheaper than a product, for rows of so many values.
    fn is_cheaper(&self, width: usize) -> bool {
        let each = |[place, value]: [f64; 2]| place + value * width as f64;
        self.places >= LEAST && self.listed as f64 * each(LISTED) < self.places as f64 * each(PRODUCT)
    }
}

/// Puts sums over masks into the places of products with them. None of more values than the limit is made or
/// read.
pub fn mask(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    if plan.moves_in_order() {
        return Ok(());
    }
    let limit = context.limit;
    // Of each matrix of zeros and ones the places that its rows and columns list.
    let mut masks: BTreeMap<NodeId, Option<[usize; 2]>> = BTreeMap::new();
    for index in 0..plan.nodes.len() {
        let loops = plan.nodes[index].loops();
        let Operation::Contractions(mut parts) = plan.nodes[index].operation.clone() else { continue };
        if plan.nodes[index].len() > limit {
            continue;
        }
        let is_alone = parts.len() == 1;
        for part in &mut parts {
            let own =
                part.operands.iter().position(|operand| listed(&mut masks, operand.node, plan).is_some());
            let Some(place) = own else { continue };
            let lists = masks[&part.operands[place].node].expect("a mask was found");
            let Some((sum, outer)) = masked(part, place, lists, &plan.nodes, limit) else { continue };
            let of = match outer {
                Some(outer) => {
                    let loops = outer.letters.clone();
                    plan.find_or_push(Operation::Contractions(vec![outer]), &loops)
                }
                None => sum.of,
            };
            let operation = Operation::Masked(MaskedSum { of, ..sum });
            if is_alone {
                plan.nodes[index].operation = operation;
                break;
            }
            *part = Contraction::copy(plan.find_or_push(operation, &loops), &loops);
        }
        if !is_alone {
            plan.nodes[index].operation = Operation::Contractions(parts);
        }
    }
    Ok(())
}

/// How many places the lists of a mask's rows have, and those of its columns, if a node is a mask.
fn listed(masks: &mut BTreeMap<NodeId, Option<[usize; 2]>>, id: NodeId, plan: &Plan) -> Option<[usize; 2]> {
    let node = &plan.nodes[id.index()];
    let ([rows, columns], Operation::Static(_)) = (node.shape.as_slice(), &node.operation) else {
        return None;
    };
    *masks.entry(id).or_insert_with(|| {
        let values = &plan.statics[id.index()];
        let is_mask = values.len() == node.len() && values.iter().all(|value| *value == 0.0 || *value == 1.0);
        (is_mask && node.len() >= LEAST).then(|| fewer(values, [*rows, *columns]))
    })
}

/// The sum that stands for a contraction with a mask among its operands, and what is to be multiplied first, over all its
/// letters.
fn masked(
    part: &Contraction,
    place: usize,
    lists: [usize; 2],
    nodes: &[Node],
    limit: usize,
) -> Option<(MaskedSum, Option<Contraction>)> {
    let plain = |dims: &[Index]| -> Option<Vec<usize>> {
        let letters: Vec<usize> =
            dims.iter().map(|index| index.map.is_none().then_some(index.letter)).collect::<Option<_>>()?;
        let alone = letters.iter().enumerate().all(|(own, letter)| !letters[..own].contains(letter));
        alone.then_some(letters)
    };
    let mask = &part.operands[place];
    let [output, kept @ ..] = &plain(&part.output)?[..] else { return None };
    let by_columns = match plain(&mask.dims)?[..] {
        [_, own] if own == *output => true,
        [own, _] if own == *output => false,
        _ => return None,
    };
    let summed = mask.dims[usize::from(!by_columns)].letter;
    let others =
        || part.operands.iter().enumerate().filter(|(own, _)| *own != place).map(|(_, operand)| operand);
    // All other operands depend only on the summed and the kept letters, and there are no further letters.
    let letters: Vec<Vec<usize>> = others().map(|operand| plain(&operand.dims)).collect::<Option<_>>()?;
    let whole: Vec<usize> = [&[summed], kept].concat();
    let is_within = letters.iter().flatten().all(|letter| whole.contains(letter));
    let is_all = whole.iter().all(|letter| letters.iter().any(|own| own.contains(letter)));
    if !is_within || !is_all || part.letters.len() != whole.len() + 1 {
        return None;
    }
    let width: usize = kept.iter().map(|letter| part.size(*letter)).product();
    let (of, last, outer) = match &letters[..] {
        [own] if *own == whole => (others().next()?.node, false, None),
        [own] if own.ends_with(&[summed]) && own[..kept.len()] == *kept => {
            (others().next()?.node, true, None)
        }
        [_, _] if part.size(summed) * width <= limit => {
            let number = |letter: usize| {
                Index::letter(whole.iter().position(|own| *own == letter).expect("one of the whole"))
            };
            let dims = |own: &Access| own.dims.iter().map(|index| number(index.letter)).collect();
            let outer = Contraction {
                coefficient: 1.0,
                letters: whole.iter().map(|letter| part.letters[*letter]).collect(),
                operands: others().map(|own| Access { node: own.node, dims: dims(own) }).collect(),
                output: (0..whole.len()).map(Index::letter).collect(),
            };
            (mask.node, false, Some(outer))
        }
        _ => return None,
    };
    if part.operands.iter().any(|own| nodes[own.node.index()].len() > limit) {
        return None;
    }
    let places = nodes[mask.node.index()].len();
    let listed = lists[usize::from(by_columns)];
    let sum =
        MaskedSum { coefficient: part.coefficient, mask: mask.node, by_columns, of, last, listed, places };
    sum.is_cheaper(width).then_some((sum, outer))
}
