//! Sums over the positions on one side of another, without an array of the pairs:
//!
//! ```text
//! sum_ij f_i g_j [i < j] = sum_i f_i G_i,   G_i = sum_(j > i) g_j
//! ```
//!
//! `G` is a running sum. It takes as long as `g` is, where zeros and ones for each pair would take the square of it. So does a sum over the positions
//! on one side that are of the same group, `sum_ij f_i g_j [i < j] [d_i = d_j]`, with a running sum of each group: tokens of one document, entries of
//! one row.

use cavi_numerics::Scratch;

use crate::plan::eliminate::{group_of, merge, replace, shape_of};
use crate::plan::lower::Lowering;
use crate::plan::tensor::{Access, Along, Contraction, Index, Loop, MapId, Operation, Side, Within};

/// Two indices of which the first is to be less than the second.
pub type Order = (Index, Index);

/// A letter to be summed on one side of an index.
struct Candidate {
    /// Which order it fulfils.
    order: usize,
    letter: usize,
    of: Index,
    side: Side,
    /// Among which positions it is summed, if not all.
    within: Option<Within>,
    /// What depends on the letter.
    group: Vec<usize>,
    /// The other dimensions of its product.
    others: Vec<(Index, Loop)>,
}

/// Sums letters of which nothing else than one order is asked, and takes these orders out. The letters that were summed.
pub fn sum_beside(lowering: &mut Lowering, whole: &mut Contraction, orders: &mut Vec<Order>) -> Vec<usize> {
    let mut summed = Vec::new();
    while let Some(best) = cheapest(lowering, whole, orders, None) {
        orders.remove(best.order);
        summed.push(best.letter);
        let access = running(lowering, whole, &best);
        replace(whole, &best.group, access);
    }
    summed
}

/// Indices that have one value.
pub type Class = Vec<Index>;

/// Classes of indices from pairs of indices that agree.
pub fn classes(pairs: &[(Index, Index)]) -> Vec<Class> {
    let mut found: Vec<Class> = Vec::new();
    for (left, right) in pairs {
        let mut joined = vec![*left, *right];
        found.retain(|own| {
            let meets = own.contains(left) || own.contains(right);
            if meets {
                joined.extend(own.iter().filter(|index| *index != left && *index != right));
            }
            !meets
        });
        found.push(joined);
    }
    found
}

/// Sums letters of which one order is asked, and that they are of the same group as the letter that they stand beside. These orders, and the letters in
/// their classes, are taken out. The letters that were summed.
pub fn sum_beside_in_groups(
    lowering: &mut Lowering,
    whole: &mut Contraction,
    orders: &mut Vec<Order>,
    classes: &mut [Class],
) -> Vec<usize> {
    let mut summed = Vec::new();
    while let Some(best) = cheapest(lowering, whole, orders, Some(classes)) {
        orders.remove(best.order);
        summed.push(best.letter);
        classes.iter_mut().for_each(|own| own.retain(|index| index.letter != best.letter));
        let access = running(lowering, whole, &best);
        replace(whole, &best.group, access);
    }
    summed
}

/// The groups among which a letter is summed beside another: both are in one class, through the same table, and the first is in no other.
fn group_of_both(classes: &[Class], letter: usize, other: usize) -> Option<MapId> {
    let mut of_letter = classes.iter().filter(|own| own.iter().any(|index| index.letter == letter));
    let (Some(class), None) = (of_letter.next(), of_letter.next()) else { return None };
    let mut own = class.iter().filter(|index| index.letter == letter);
    let (Some(first), None) = (own.next(), own.next()) else { return None };
    let has_other = class.iter().any(|index| index.letter == other && index.map == first.map);
    first.map.filter(|_| has_other)
}

/// The letter whose running sum is the smallest array; with classes of indices that agree, of letters in groups.
fn cheapest(
    lowering: &Lowering,
    whole: &Contraction,
    orders: &[Order],
    classes: Option<&[Class]>,
) -> Option<Candidate> {
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
            let (is_alike, within) = match classes {
                None => (own.map.is_none() && matches!(whole.letters[letter].along, Along::Axis(_)), None),
                Some(classes) => {
                    let group = group_of_both(classes, letter, of.letter);
                    let is_alike = own.map == of.map && whole.letters[letter] == whole.letters[of.letter];
                    (is_alike && group.is_some(), group.map(|group| Within { group, order: own.map }))
                }
            };
            let is_free = is_alike
                && letter != of.letter
                && !elsewhere
                && !whole.output.iter().any(|index| index.letter == letter)
                && !group.iter().any(reads_other);
            if !is_free {
                continue;
            }
            let others = shape_of(lowering, whole, &group, Some(letter));
            let size =
                others.iter().map(|(_, own)| own.size as f64).product::<f64>() * whole.size(letter) as f64;
            if size <= lowering.limit as f64 && best.as_ref().is_none_or(|(known, _)| size < *known) {
                best = Some((size, Candidate { order, letter, of, side, within, group, others }));
            }
        }
    }
    best.map(|(_, own)| own)
}

/// The running sum of the product of what depends on a letter, read at the index beside which it is taken.
fn running(lowering: &mut Lowering, whole: &Contraction, own: &Candidate) -> Access {
    let over = whole.letters[own.letter];
    let of = if own.within.is_some() { Index::letter(own.of.letter) } else { own.of };
    let dims = [of].into_iter().chain(own.others.iter().map(|(index, _)| *index)).collect();
    if own.group.is_empty() {
        let counts: Vec<f64> = match &own.within {
            None => (0..over.size)
                .map(|at| match own.side {
                    Side::Before => at as f64,
                    Side::After => (over.size - 1 - at) as f64,
                })
                .collect(),
            Some(Within { group, order }) => {
                let maps = &lowering.maps;
                let groups = (maps.table(*group), maps.range(*group));
                let mut counts = vec![0.0; over.size];
                let ones = vec![1.0; over.size];
                let order = order.map(|table| maps.table(table));
                beside_in_groups(own.side, (groups, order), &ones, 1, &mut counts);
                counts
            }
        };
        let label =
            format!("how many positions are {:?} each of {:?} within {:?}", own.side, over.along, own.within);
        let node = lowering.node(Operation::Static(label), vec![over], || counts);
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
    let node = lowering.node(Operation::Beside(own.side, own.within, node), loops, Vec::new);
    Access { node, dims }
}

/// For each row, of this width, the sum of the rows of its group before it or after it in the order of a table, or of the rows. `out` is zeros.
///
/// Rows are taken in that order. A group has the sum of the rows that are surely on the side of the next one, and apart from it that of those at the same
/// place as the last, which are on no side of each other.
pub fn beside_in_groups(
    side: Side,
    ((groups, count), order): ((&[u32], usize), Option<&[u32]>),
    rows: &[f64],
    width: usize,
    out: &mut [f64],
) {
    let length = groups.len();
    let place = |row: usize| order.map_or(row, |order| order[row] as usize);
    // The place of the row of a group that came last; one that none has before.
    let none = usize::MAX;
    let mut last = Scratch::<usize>::all(none, count);
    // Rows whose places rise within each group already, as listed entries do, are in order as they are.
    let rises = (0..length).all(|row| {
        let before = std::mem::replace(&mut last[groups[row] as usize], place(row));
        before == none || before <= place(row)
    });
    let mut sorted = Scratch::<usize>::with_room(length);
    if !rises {
        (0..length).for_each(|row| sorted.push(row));
        sorted.sort_unstable_by_key(|row| (place(*row), *row));
    }
    let row_at = |step: usize| {
        let step = if side == Side::After { length - 1 - step } else { step };
        if rises { step } else { sorted[step] }
    };
    last.fill(none);
    let (mut sums, mut same) = (Scratch::zeros(count * width), Scratch::zeros(count * width));
    for row in (0..length).map(row_at) {
        let group = groups[row] as usize;
        let (sums, same) = (&mut sums[group * width..][..width], &mut same[group * width..][..width]);
        let (own, from) = (&mut out[row * width..][..width], &rows[row * width..][..width]);
        if std::mem::replace(&mut last[group], place(row)) != place(row) {
            for (sum, same) in sums.iter_mut().zip(same.iter_mut()) {
                *sum += std::mem::take(same);
            }
        }
        own.copy_from_slice(sums);
        same.iter_mut().zip(from).for_each(|(same, from)| *same += from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_beside_in_groups_are_those_of_all_pairs() {
        let groups: Vec<u32> = (0..40).map(|row| row * 7 % 5).collect();
        let rows: Vec<f64> = (0..80).map(|own| f64::from(own * own % 23)).collect();
        // In the order of the rows, in that of a table that rises, and in that of one with equal places.
        for order in [
            None,
            Some((0..40).map(|row| row / 2).collect()),
            Some((0..40).map(|row| row * 11 % 9).collect()),
        ] {
            let order: Option<Vec<u32>> = order;
            let place = |row: usize| order.as_ref().map_or(row as u32, |order| order[row]);
            for side in [Side::Before, Side::After] {
                let mut out = vec![0.0; 80];
                beside_in_groups(side, ((&groups, 5), order.as_deref()), &rows, 2, &mut out);
                let is_beside = |row: usize, other: usize| {
                    let is_before = place(other) < place(row);
                    let is_after = place(other) > place(row);
                    groups[row] == groups[other] && if side == Side::Before { is_before } else { is_after }
                };
                for (at, found) in out.iter().enumerate() {
                    let (row, column) = (at / 2, at % 2);
                    let own =
                        (0..40).filter(|other| is_beside(row, *other)).map(|other| rows[2 * other + column]);
                    assert_eq!(*found, own.sum::<f64>(), "{side:?} {order:?} {row}");
                }
            }
        }
    }
}
