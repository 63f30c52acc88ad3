//! Sums moved inward: `sum_ij a_i b_j = (sum_i a_i)(sum_j b_j)`, one letter at a time, the cheapest first.
//!
//! A letter that the output does not depend on can be summed as soon as the arrays that mention it are multiplied. The
//! result is an array of its own, computed once for every state of what it reads: this is how Gram matrices, column sums
//! and predictions come to be shared and hoisted.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::lower::Lowering;
use crate::plan::tensor::{Access, Contraction, Index, MapId, Operation};

/// Moves the sums of a contraction inward; what is left reads intermediate arrays.
///
/// Where copies of a block move one after another, what follows from them is taken again for each, in part, with what reads it;
/// what does not follow from them is taken once.
pub fn eliminate(lowering: &mut Lowering, mut whole: Contraction) -> Contraction {
    loop {
        let moving = lowering.moving();
        let kept: BTreeSet<usize> = whole.output.iter().map(|index| index.letter).collect();
        // A letter of the output that no operand has would repeat the whole sum for each of its values.
        let repeated =
            kept.iter().any(|letter| group_of(&whole, *letter).is_empty() && whole.sizes[*letter] > 1);
        // An output reached through a table is added to once for each value of what is left, not of all that is summed.
        let scattered = whole.output.iter().any(|index| index.map.is_some());
        let summed: BTreeSet<usize> = whole
            .operands
            .iter()
            .flat_map(|operand| operand.dims.iter().map(|index| index.letter))
            .filter(|letter| !kept.contains(letter))
            .collect();
        // The cheapest letter whose operands are not all there are.
        let mut best: Option<(f64, usize)> = None;
        for letter in summed {
            let group: Vec<usize> = group_of(&whole, letter);
            if group.len() == whole.operands.len() && !repeated && !scattered {
                continue;
            }
            let shape = shape_of(lowering, &whole, &group, Some(letter));
            let size: f64 = shape.iter().map(|(_, size)| *size as f64).product();
            let follows = group.iter().any(|place| moving.follows[whole.operands[*place].node.index()]);
            let times = if follows { 2.0 * moving.steps } else { 1.0 };
            let cost = size * whole.sizes[letter] as f64 * times;
            if size <= lowering.limit as f64 && best.is_none_or(|(known, _)| cost < known) {
                best = Some((cost, letter));
            }
        }
        let Some((_, letter)) = best else { break };
        let group = group_of(&whole, letter);
        let access = temporary(lowering, &whole, &group, Some(letter), None);
        replace(&mut whole, &group, access);
    }
    merge(lowering, &mut whole);
    compact(&mut whole);
    whole
}

fn group_of(whole: &Contraction, letter: usize) -> Vec<usize> {
    (0..whole.operands.len())
        .filter(|place| whole.operands[*place].dims.iter().any(|index| index.letter == letter))
        .collect()
}

/// The dimensions of the product of a group of operands: for each letter its own values, or those of the one table
/// through which all of the group read it.
fn shape_of(
    lowering: &Lowering,
    whole: &Contraction,
    group: &[usize],
    without: Option<usize>,
) -> Vec<(Index, usize)> {
    let mut through: BTreeMap<usize, BTreeSet<Option<MapId>>> = BTreeMap::new();
    for place in group {
        for index in &whole.operands[*place].dims {
            if Some(index.letter) != without {
                through.entry(index.letter).or_default().insert(index.map);
            }
        }
    }
    through
        .into_iter()
        .map(|(letter, maps)| match (maps.len(), maps.first()) {
            (1, Some(Some(map))) if lowering.maps.range(*map) <= whole.sizes[letter] => {
                (Index { letter, map: Some(*map) }, lowering.maps.range(*map))
            }
            _ => (Index::letter(letter), whole.sizes[letter]),
        })
        .collect()
}

/// Where `letter`, which the output does not depend on, counts only if its value in a table is that of `other`: what holds it
/// is summed for each value of the table, and read there. `sum_tu f_t g_u [d_t = d_u] = sum_t f_t (sum_u g_u [d_u = d])_(d = d_t)`.
/// Whether that could be done.
pub fn sum_through(
    lowering: &mut Lowering,
    whole: &mut Contraction,
    letter: usize,
    table: MapId,
    other: Index,
) -> bool {
    let group = group_of(whole, letter);
    let holds = |place: &usize| whole.operands[*place].dims.iter().any(|index| index.letter == other.letter);
    let shape = shape_of(lowering, whole, &group, Some(letter));
    let size =
        shape.iter().map(|(_, size)| *size as f64).product::<f64>() * lowering.maps.range(table) as f64;
    let is_kept = whole.output.iter().any(|index| index.letter == letter);
    if is_kept || group.is_empty() || group.iter().any(holds) || size > lowering.limit as f64 {
        return false;
    }
    let mut access = temporary(lowering, whole, &group, Some(letter), Some(table));
    access.dims.insert(0, other);
    replace(whole, &group, access);
    true
}

/// The product of a group of operands, summed over a letter if one is given, as an array of its own: of one dimension more,
/// the first, if the sum is taken for each value of a table of the letter.
fn temporary(
    lowering: &mut Lowering,
    whole: &Contraction,
    group: &[usize],
    sum: Option<usize>,
    table: Option<MapId>,
) -> Access {
    let dims = shape_of(lowering, whole, group, sum);
    let mut sizes: Vec<usize> = dims.iter().map(|(_, size)| *size).collect();
    let mut output: Vec<Index> = (0..dims.len()).map(Index::letter).collect();
    let mut shape = sizes.clone();
    if let Some(letter) = sum {
        sizes.push(whole.sizes[letter]);
    }
    if let Some(table) = table {
        output.insert(0, Index { letter: dims.len(), map: Some(table) });
        shape.insert(0, lowering.maps.range(table));
    }
    let operands = group
        .iter()
        .map(|place| {
            let operand = &whole.operands[*place];
            let own = operand.dims.iter().map(|index| {
                if Some(index.letter) == sum {
                    return Index { letter: dims.len(), map: index.map };
                }
                let place = dims
                    .iter()
                    .position(|(own, _)| own.letter == index.letter)
                    .expect("a letter of the group");
                let through = dims[place].0.map;
                Index { letter: place, map: if through == index.map { None } else { index.map } }
            });
            Access { node: operand.node, dims: own.collect() }
        })
        .collect();
    let mut contraction = Contraction { coefficient: 1.0, sizes, operands, output };
    merge(lowering, &mut contraction);
    compact(&mut contraction);
    let node = lowering.node(Operation::Contractions(vec![contraction]), shape, Vec::new);
    Access { node, dims: dims.into_iter().map(|(index, _)| index).collect() }
}

fn replace(whole: &mut Contraction, group: &[usize], by: Access) {
    let mut place = 0;
    whole.operands.retain(|_| {
        place += 1;
        !group.contains(&(place - 1))
    });
    whole.operands.push(by);
}

/// Multiplies a small operand into a larger one whose letters contain its own, as long as there are more than two: three
/// operands become a product of two, which is a matrix product where the letters allow.
fn merge(lowering: &mut Lowering, whole: &mut Contraction) {
    while whole.operands.len() > 2 {
        let letters = |place: usize| -> BTreeSet<usize> {
            whole.operands[place].dims.iter().map(|index| index.letter).collect()
        };
        let size = |place: usize| lowering.nodes[whole.operands[place].node.index()].len();
        let loops: f64 = whole.sizes.iter().map(|size| *size as f64).product();
        let mut best: Option<(usize, usize, usize)> = None;
        for small in 0..whole.operands.len() {
            for large in 0..whole.operands.len() {
                if small == large || !letters(small).is_subset(&letters(large)) {
                    continue;
                }
                let cost: usize =
                    shape_of(lowering, whole, &[small, large], None).iter().map(|(_, size)| *size).product();
                let worth = cost <= lowering.limit && (cost as f64) * 4.0 < loops && size(small) > 0;
                if worth && best.is_none_or(|(known, _, _)| cost < known) {
                    best = Some((cost, small, large));
                }
            }
        }
        let Some((_, small, large)) = best else { return };
        let group = [small.min(large), small.max(large)];
        let access = temporary(lowering, whole, &group, None, None);
        replace(whole, &group, access);
    }
}

/// Drops letters that nothing mentions: they were replaced by others.
fn compact(whole: &mut Contraction) {
    let used: BTreeSet<usize> = whole
        .operands
        .iter()
        .flat_map(|operand| operand.dims.iter())
        .chain(&whole.output)
        .map(|index| index.letter)
        .collect();
    let order: BTreeMap<usize, usize> = used.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    whole.sizes = used.iter().map(|letter| whole.sizes[*letter]).collect();
    for index in whole.operands.iter_mut().flat_map(|operand| &mut operand.dims).chain(&mut whole.output) {
        index.letter = order[&index.letter];
    }
}
