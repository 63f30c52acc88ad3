//! Sums over the positions on one side of another, without an array of the pairs:
//!
//! ```text
//! sum_ij f_i g_j [i < j] = sum_i f_i G_i,   G_i = sum_(j > i) g_j
//! ```
//!
//! `G` is a running sum. It takes as long as `g` is, where zeros and ones for each pair would take the square of it.

use crate::plan::eliminate::{group_of, merge, replace, shape_of};
use crate::plan::lower::Lowering;
use crate::plan::tensor::{Access, Along, Contraction, Index, Loop, Operation, Side};

/// Two indices of which the first is to be less than the second.
pub type Order = (Index, Index);

/// A letter to be summed on one side of an index.
struct Candidate {
    /// Which order it fulfils.
    order: usize,
    letter: usize,
    of: Index,
    side: Side,
    /// What depends on the letter.
    group: Vec<usize>,
    /// The other dimensions of its product.
    others: Vec<(Index, Loop)>,
}

/// Sums letters of which nothing else than one order is asked, and takes these orders out. The letters that were summed.
pub fn sum_beside(lowering: &mut Lowering, whole: &mut Contraction, orders: &mut Vec<Order>) -> Vec<usize> {
    let mut summed = Vec::new();
    while let Some(best) = cheapest(lowering, whole, orders) {
        orders.remove(best.order);
        summed.push(best.letter);
        let access = running(lowering, whole, &best);
        replace(whole, &best.group, access);
    }
    summed
}

/// The letter whose running sum is the smallest array.
fn cheapest(lowering: &Lowering, whole: &Contraction, orders: &[Order]) -> Option<Candidate> {
    let mut best: Option<(f64, Candidate)> = None;
    for (order, (less, more)) in orders.iter().enumerate() {
        for (own, of, side) in [(*more, *less, Side::After), (*less, *more, Side::Before)] {
            let letter = own.letter;
            let group = group_of(whole, letter);
            let elsewhere = orders.iter().enumerate().any(|(place, (less, more))| {
                place != order && (less.letter == letter || more.letter == letter)
            });
            let reads_other =
                |place: &usize| whole.operands[*place].dims.iter().any(|index| index.letter == of.letter);
            let is_free = own.map.is_none()
                && letter != of.letter
                && !elsewhere
                && matches!(whole.letters[letter].along, Along::Axis(_))
                && !whole.output.iter().any(|index| index.letter == letter)
                && !group.iter().any(reads_other);
            if !is_free {
                continue;
            }
            let others = shape_of(lowering, whole, &group, Some(letter));
            let size =
                others.iter().map(|(_, own)| own.size as f64).product::<f64>() * whole.size(letter) as f64;
            if size <= lowering.limit as f64 && best.as_ref().is_none_or(|(known, _)| size < *known) {
                best = Some((size, Candidate { order, letter, of, side, group, others }));
            }
        }
    }
    best.map(|(_, own)| own)
}

/// The running sum of the product of what depends on a letter, read at the index beside which it is taken.
fn running(lowering: &mut Lowering, whole: &Contraction, own: &Candidate) -> Access {
    let over = whole.letters[own.letter];
    let dims = [own.of].into_iter().chain(own.others.iter().map(|(index, _)| *index)).collect();
    if own.group.is_empty() {
        let counts = (0..over.size).map(|at| match own.side {
            Side::Before => at as f64,
            Side::After => (over.size - 1 - at) as f64,
        });
        let label = format!("how many positions are {:?} each of {:?}", own.side, over.along);
        let node = lowering.node(Operation::Static(label), vec![over], || counts.collect());
        return Access { node, dims };
    }
    let loops: Vec<Loop> = [over].into_iter().chain(own.others.iter().map(|(_, own)| *own)).collect();
    let renumbered = |index: &Index| {
        if index.letter == own.letter {
            return Index { letter: 0, map: index.map };
        }
        let place = own.others.iter().position(|(known, _)| known.letter == index.letter);
        let place = place.expect("a letter of the group");
        let through = own.others[place].0.map;
        Index { letter: place + 1, map: if through == index.map { None } else { index.map } }
    };
    let operands = own.group.iter().map(|place| {
        let operand = &whole.operands[*place];
        Access { node: operand.node, dims: operand.dims.iter().map(renumbered).collect() }
    });
    let mut product = Contraction {
        coefficient: 1.0,
        letters: loops.clone(),
        operands: operands.collect(),
        output: (0..loops.len()).map(Index::letter).collect(),
    };
    let node = match product.operands.as_slice() {
        [only] if only.dims == product.output => only.node,
        _ => {
            merge(lowering, &mut product);
            lowering.node(Operation::Contractions(vec![product]), loops.clone(), Vec::new)
        }
    };
    let node = lowering.node(Operation::Beside(own.side, node), loops, Vec::new);
    Access { node, dims }
}
