//! Moves sums inward: `sum_ij a_i b_j = (sum_i a_i)(sum_j b_j)`, one letter at a time, the cheapest first.
//!
//! A letter that the output does not depend on can be summed as soon as the arrays that mention it are multiplied. The
//! result is an array of its own, computed once for every state of what it reads: this is how Gram matrices, column sums
//! and predictions come to be shared and hoisted.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::AxisId;

use crate::plan::lower::Lowering;
use crate::plan::passes::places::carries;
use crate::plan::tensor::{Access, Contraction, Index, Loop, MapId, NodeId, Operation, Source};

/// Moves the sums of a contraction inward; what is left reads intermediate arrays.
///
/// Where copies of a block move one after another, what follows from them is taken again for each, in part, with what reads it;
/// what does not follow from them is taken once.
pub fn eliminate(lowering: &mut Lowering, mut whole: Contraction) -> Contraction {
    if let Some(axis) = lowering.cut {
        whole = sum_apart(lowering, whole, axis);
    }
    loop {
        let moving = lowering.moving();
        let kept: BTreeSet<usize> = whole.output.iter().map(|index| index.letter).collect();
        // A letter of the output that no operand has would repeat the whole sum for each of its values.
        let repeated =
            kept.iter().any(|letter| group_of(&whole, *letter).is_empty() && whole.size(*letter) > 1);
        // If the output is reached through a table, it is added to once for each value of the remaining letters, and
        // not once for each product.
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
            let size: f64 = shape.iter().map(|(_, own)| own.size as f64).product();
            let follows = group.iter().any(|place| moving.follows[whole.operands[*place].node.index()]);
            let times = if follows { 2.0 * moving.steps } else { 1.0 };
            let cost = size * whole.size(letter) as f64 * times;
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

/// Sums over an axis of which each shard keeps its own are taken of what belongs to positions of the axis alone, and what all shards share
/// is multiplied in afterwards:
///
/// ```text
/// sum_e y_e z[n(e), k] w[m(e), k] = sum_mk w[m, k] (sum_{e: m(e) = m} y_e z[n(e), k])
/// ```
///
/// Where nothing belongs to positions of the axis, the sum is a number of positions: `sum_e w[m(e)] = sum_m w[m] #{e: m(e) = m}`.
///
/// A contraction stays as it is where what is shared, or the result, depends on the summed letter otherwise than through one table, or through several of which
/// one says the values of the others, as a feature says its view.
fn sum_apart(lowering: &mut Lowering, mut whole: Contraction, axis: AxisId) -> Contraction {
    let symbols = &lowering.symbols;
    let is_kept = |letter: usize| whole.output.iter().any(|index| index.letter == letter);
    let over = (0..whole.letters.len()).find(|own| carries(symbols, axis, whole.letters[*own].along));
    let Some(over) = over else { return whole };
    let read = || whole.output.iter().filter(|index| index.letter == over);
    if read().any(|index| carries(symbols, axis, whole.along(*index, &lowering.maps))) {
        return whole;
    }
    let shared: Vec<bool> =
        whole.operands.iter().map(|operand| follows_shared(lowering, operand.node, axis)).collect();
    let has = |place: usize| whole.operands[place].dims.iter().any(|index| index.letter == over);
    let own: Vec<usize> = (0..shared.len()).filter(|place| !shared[*place] && has(*place)).collect();
    if !shared.contains(&true) {
        return whole;
    }
    let is_own = |place: usize| own.contains(&place);
    let outer = |place: &usize| !is_own(*place);
    let others: Vec<usize> = (0..shared.len()).filter(outer).collect();
    let indices = || others.iter().flat_map(|place| &whole.operands[*place].dims);
    let through: BTreeSet<Option<MapId>> =
        indices().filter(|index| index.letter == over).chain(read()).map(|index| index.map).collect();
    let table = if through.is_empty() {
        None
    } else {
        let Some(table) = finest(lowering, &through) else { return whole };
        Some(table)
    };
    if own.is_empty() {
        return match table {
            Some(table) if through.len() == 1 => counted(lowering, whole, over, table),
            _ => whole,
        };
    }
    // The letters of the sum: those that are read outside, then those that are not.
    let outside = |letter: usize| is_kept(letter) || indices().any(|index| index.letter == letter);
    let letters: BTreeSet<usize> = own
        .iter()
        .flat_map(|place| whole.operands[*place].dims.iter().map(|index| index.letter))
        .filter(|letter| *letter != over)
        .collect();
    let (kept, summed): (Vec<usize>, Vec<usize>) = letters.into_iter().partition(|letter| outside(*letter));
    let order: Vec<usize> = kept.iter().chain(&summed).copied().chain([over]).collect();
    let place = |letter: usize| order.iter().position(|own| *own == letter).expect("a letter of the sum");
    let renamed = |index: &Index| Index { letter: place(index.letter), map: index.map };
    let operands = own.iter().map(|own| {
        let operand = &whole.operands[*own];
        Access { node: operand.node, dims: operand.dims.iter().map(renamed).collect() }
    });
    let scattered = table.map(|table| Index { letter: place(over), map: Some(table) });
    let inner = Contraction {
        coefficient: 1.0,
        letters: order.iter().map(|letter| whole.letters[*letter]).collect(),
        operands: operands.collect(),
        output: scattered.into_iter().chain((0..kept.len()).map(Index::letter)).collect(),
    };
    let image = table.map(|table| lowering.maps.image(table));
    let loops: Vec<Loop> =
        image.into_iter().chain(kept.iter().map(|letter| whole.letters[*letter])).collect();
    let size: f64 = loops.iter().map(|own| own.size as f64).product();
    if size > lowering.limit as f64 {
        return whole;
    }
    // A letter of its own numbers what the table has.
    let number = whole.letters.len();
    let mut rest: Vec<Access> = others.iter().map(|place| whole.operands[*place].clone()).collect();
    let coarser: BTreeMap<MapId, MapId> = match table {
        Some(table) => through
            .iter()
            .flatten()
            .filter(|own| **own != table)
            .map(|own| (*own, on_values(lowering, table, *own)))
            .collect(),
        None => BTreeMap::new(),
    };
    let dims = rest.iter_mut().flat_map(|operand| &mut operand.dims).chain(&mut whole.output);
    for index in dims.filter(|index| index.letter == over) {
        *index = Index { letter: number, map: index.map.and_then(|map| coarser.get(&map).copied()) };
    }
    whole.letters.extend(image);
    let inner = eliminate(lowering, inner);
    let node = lowering.node(Operation::Contractions(vec![inner]), loops, Vec::new);
    let dims =
        image.map(|_| Index::letter(number)).into_iter().chain(kept.into_iter().map(Index::letter)).collect();
    rest.push(Access { node, dims });
    whole.operands = rest;
    compact(&mut whole);
    sum_apart(lowering, whole, axis)
}

/// Of the tables through which a letter is read the one whose values say those of all others; `None` where there is none, or the letter is read itself.
fn finest(lowering: &Lowering, through: &BTreeSet<Option<MapId>>) -> Option<MapId> {
    let tables: Vec<MapId> = through.iter().copied().collect::<Option<_>>()?;
    let says = |table: MapId, other: MapId| {
        let mut known: Vec<Option<u32>> = vec![None; lowering.maps.range(table)];
        let mut both = lowering.maps.table(table).iter().zip(lowering.maps.table(other));
        both.all(|(value, own)| *known[*value as usize].get_or_insert(*own) == *own)
    };
    tables.iter().copied().find(|table| tables.iter().all(|other| other == table || says(*table, *other)))
}

/// The values of a table by those of another that says them; 0 for values that the other never has.
fn on_values(lowering: &mut Lowering, table: MapId, other: MapId) -> MapId {
    let mut values = vec![0_u32; lowering.maps.range(table)];
    for (value, own) in lowering.maps.table(table).iter().zip(lowering.maps.table(other)) {
        values[*value as usize] = *own;
    }
    let (from, to) = (lowering.maps.to(table), lowering.maps.image(other));
    lowering.maps.named(&format!("{other:?} by {table:?}"), (from, to), || values.into())
}

/// The sum over a letter on which nothing depends but through a table: each value counts as often as the table has it.
fn counted(lowering: &mut Lowering, mut whole: Contraction, over: usize, table: MapId) -> Contraction {
    let image = lowering.maps.image(table);
    let mut counts = vec![0.0; image.size];
    lowering.maps.table(table).iter().for_each(|value| counts[*value as usize] += 1.0);
    let label = format!("how often {table:?} has each value");
    let node = lowering.node(Operation::Static(label), vec![image], || counts);
    let number = whole.letters.len();
    let dims = whole.operands.iter_mut().flat_map(|operand| &mut operand.dims).chain(&mut whole.output);
    dims.filter(|index| index.letter == over).for_each(|index| *index = Index::letter(number));
    whole.letters.push(image);
    whole.operands.push(Access { node, dims: vec![Index::letter(number)] });
    compact(&mut whole);
    whole
}

/// Whether a node follows from what all shards of an axis share, allocations at its positions held.
fn follows_shared(lowering: &Lowering, node: NodeId, axis: AxisId) -> bool {
    let own = &lowering.nodes[node.index()];
    match (own.source(), &own.operation) {
        (Source::Given, _) => false,
        // A matrix that copies at several positions share is shared too.
        (Source::Block(_), _) => !own.dims.iter().any(|along| carries(&lowering.symbols, axis, *along)),
        (Source::Refresh, Operation::Held(from)) => {
            let is_local = own.dims.iter().any(|along| carries(&lowering.symbols, axis, *along));
            !is_local && follows_shared(lowering, *from, axis)
        }
        (Source::Refresh, _) => false,
        (Source::Nodes, _) => own.reads().into_iter().any(|read| follows_shared(lowering, read, axis)),
    }
}

pub(super) fn group_of(whole: &Contraction, letter: usize) -> Vec<usize> {
    (0..whole.operands.len())
        .filter(|place| whole.operands[*place].dims.iter().any(|index| index.letter == letter))
        .collect()
}

/// The dimensions of the product of a group of operands: for each letter its own values, or those of the one table
/// through which all of the group read it.
pub(super) fn shape_of(
    lowering: &Lowering,
    whole: &Contraction,
    group: &[usize],
    without: Option<usize>,
) -> Vec<(Index, Loop)> {
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
            (1, Some(Some(map))) if lowering.maps.range(*map) <= whole.size(letter) => {
                (Index { letter, map: Some(*map) }, lowering.maps.image(*map))
            }
            _ => (Index::letter(letter), whole.letters[letter]),
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
        shape.iter().map(|(_, own)| own.size as f64).product::<f64>() * lowering.maps.range(table) as f64;
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
    let (mut contraction, dims) = product(lowering, whole, group, sum);
    let mut loops: Vec<Loop> = dims.iter().map(|(_, own)| *own).collect();
    if let Some(table) = table {
        contraction.output.insert(0, Index { letter: dims.len(), map: Some(table) });
        loops.insert(0, lowering.maps.image(table));
    }
    merge(lowering, &mut contraction);
    compact(&mut contraction);
    let node = lowering.node(Operation::Contractions(vec![contraction]), loops, Vec::new);
    Access { node, dims: dims.into_iter().map(|(index, _)| index).collect() }
}

/// The product of a group of operands, summed over a letter if one is given, with its dimensions and their sizes: the letters
/// of the product, whose own are numbered in this order, the summed one last.
fn product(
    lowering: &Lowering,
    whole: &Contraction,
    group: &[usize],
    sum: Option<usize>,
) -> (Contraction, Vec<(Index, Loop)>) {
    let dims = shape_of(lowering, whole, group, sum);
    let letters = dims.iter().map(|(_, own)| *own).chain(sum.map(|letter| whole.letters[letter])).collect();
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
    let output = (0..dims.len()).map(Index::letter).collect();
    (Contraction { coefficient: 1.0, letters, operands, output }, dims)
}

/// Factors out what contractions with one output have in common: `sum R D + sum R E = sum R (D + E)`, where `D + E` is an array
/// no larger than one that `D` and `E` are made of. So a second moment is put together from mean and covariance before a mask is
/// summed over it, and not after.
pub fn factor_out(lowering: &mut Lowering, mut parts: Vec<Contraction>) -> Vec<Contraction> {
    let pairs =
        |count: usize| (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)));
    while let Some((place, joined, other)) = pairs(parts.len())
        .find_map(|(one, other)| Some((one, join(lowering, &parts[one], &parts[other])?, other)))
    {
        parts[place] = joined;
        parts.remove(other);
    }
    parts
}

/// Two contractions as one, if what they do not have in common adds up to an array over the same letters.
///
/// Worth it only where what they have in common holds these letters and others together, and every summed one of these: else
/// sums would move inward and leave little to be saved.
fn join(lowering: &mut Lowering, one: &Contraction, other: &Contraction) -> Option<Contraction> {
    if one.coefficient != other.coefficient || one.output.len() != other.output.len() {
        return None;
    }
    // The letters of the other by those of the one.
    let mut known: BTreeMap<usize, usize> = BTreeMap::new();
    let matches = |known: &BTreeMap<usize, usize>, own: &[Index], theirs: &[Index]| {
        let mut known = known.clone();
        for (own, theirs) in own.iter().zip(theirs) {
            let taken = known.iter().any(|(from, to)| (*to == own.letter) != (*from == theirs.letter));
            if own.map != theirs.map || taken || one.letters[own.letter] != other.letters[theirs.letter] {
                return None;
            }
            known.insert(theirs.letter, own.letter);
        }
        Some(known)
    };
    known = matches(&known, &one.output, &other.output)?;
    let (mut common, mut rest) = (Vec::new(), Vec::new());
    for operand in &other.operands {
        let found = (0..one.operands.len()).filter(|place| !common.contains(place)).find_map(|place| {
            let own = &one.operands[place];
            let same = own.node == operand.node;
            Some((place, same.then(|| matches(&known, &own.dims, &operand.dims))??))
        });
        match found {
            Some((place, letters)) => {
                common.push(place);
                known = letters;
            }
            None => rest.push(operand.clone()),
        }
    }
    let own: Vec<usize> = (0..one.operands.len()).filter(|place| !common.contains(place)).collect();
    for index in rest.iter_mut().flat_map(|operand| &mut operand.dims) {
        index.letter = *known.get(&index.letter)?;
    }
    let theirs = Contraction { operands: rest, ..one.clone() };
    let all: Vec<usize> = (0..theirs.operands.len()).collect();
    let (left, dims) = product(lowering, one, &own, None);
    let (right, same) = product(lowering, &theirs, &all, None);
    if own.is_empty() || all.is_empty() || dims != same {
        return None;
    }
    let letters = |index: &Index| dims.iter().any(|(own, _)| own.letter == index.letter);
    let shared = || common.iter().map(|place| &one.operands[*place].dims);
    let couples = shared().any(|dims| dims.iter().any(letters) && !dims.iter().all(letters));
    let is_summed = |letter: usize| one.output.iter().all(|index| index.letter != letter);
    let is_shared = |letter: usize| shared().flatten().any(|index| index.letter == letter);
    let all_shared = dims.iter().all(|(index, _)| !is_summed(index.letter) || is_shared(index.letter));
    let operands = left.operands.iter().chain(&right.operands);
    let largest = operands.map(|operand| lowering.nodes[operand.node.index()].len()).max().unwrap_or(0);
    let size: usize = dims.iter().map(|(_, own)| own.size).product();
    if !couples || !all_shared || size > largest {
        return None;
    }
    // In the order of an array that has all dimensions, so that it is the same array wherever it is read.
    let holds = |index: &Index| dims.iter().position(|(own, _)| own == index);
    let order = own.iter().map(|place| &one.operands[*place]).chain(&theirs.operands).find_map(|operand| {
        let order: Vec<usize> = operand.dims.iter().map(holds).collect::<Option<_>>()?;
        (order.len() == dims.len() && (0..order.len()).all(|place| order.contains(&place))).then_some(order)
    });
    let order = order.unwrap_or_else(|| (0..dims.len()).collect());
    let parts = [left, right].map(|part| in_order(part, &order));
    let loops = order.iter().map(|place| dims[*place].1).collect();
    let node = lowering.node(Operation::Contractions(parts.into()), loops, Vec::new);
    let mut joined = one.clone();
    replace(&mut joined, &own, Access { node, dims: order.iter().map(|place| dims[*place].0).collect() });
    Some(joined)
}

/// A product of all its letters with these in another order.
fn in_order(mut product: Contraction, order: &[usize]) -> Contraction {
    product.letters = order.iter().map(|letter| product.letters[*letter]).collect();
    for index in product.operands.iter_mut().flat_map(|operand| &mut operand.dims) {
        index.letter =
            order.iter().position(|letter| *letter == index.letter).expect("a letter of the product");
    }
    product
}

pub(super) fn replace(whole: &mut Contraction, group: &[usize], by: Access) {
    let mut place = 0;
    whole.operands.retain(|_| {
        place += 1;
        !group.contains(&(place - 1))
    });
    whole.operands.push(by);
}

/// Multiplies a small operand into a larger one whose letters contain its own, as long as there are more than two: three
/// operands become a product of two, which is a matrix product where the letters allow.
pub(super) fn merge(lowering: &mut Lowering, whole: &mut Contraction) {
    while whole.operands.len() > 2 {
        let letters = |place: usize| -> BTreeSet<usize> {
            whole.operands[place].dims.iter().map(|index| index.letter).collect()
        };
        let size = |place: usize| lowering.nodes[whole.operands[place].node.index()].len();
        let loops: f64 = whole.sizes().map(|size| size as f64).product();
        let mut best: Option<(usize, usize, usize)> = None;
        for small in 0..whole.operands.len() {
            for large in 0..whole.operands.len() {
                if small == large || !letters(small).is_subset(&letters(large)) {
                    continue;
                }
                let cost: usize = shape_of(lowering, whole, &[small, large], None)
                    .iter()
                    .map(|(_, own)| own.size)
                    .product();
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
    whole.letters = used.iter().map(|letter| whole.letters[*letter]).collect();
    for index in whole.operands.iter_mut().flat_map(|operand| &mut operand.dims).chain(&mut whole.output) {
        index.letter = order[&index.letter];
    }
}
