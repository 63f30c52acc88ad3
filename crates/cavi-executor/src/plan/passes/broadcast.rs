//! Addends that are the same for every row of a large array are added up first.
//!
//! Of `out[n, k] = a[k] + b[k] + c + sum_i d[n, i] e[i, k]` the first three are one array `[k]`, and the large one is run through
//! twice, not four times.

use crate::plan::lifetimes::LARGE;
use crate::plan::passes::Context;
use crate::plan::tensor::{Access, Contraction, Index, Loop, Operation};
use crate::plan::{Plan, Unplanned};

/// As many times larger than what is added to it must an array be.
const TIMES: usize = 8;

/// Gives what is added alike, of each large array, a node of its own. None of more values than the limit is made.
pub fn broadcast(plan: &mut Plan, context: &Context) -> Result<(), Unplanned> {
    if plan.moves_in_order() {
        return Ok(());
    }
    for index in 0..plan.nodes.len() {
        let node = &plan.nodes[index];
        let Operation::Contractions(parts) = &node.operation else { continue };
        let (mut parts, loops) = (parts.clone(), node.loops());
        if node.len() < LARGE {
            continue;
        }
        let own: Vec<Option<Vec<usize>>> = parts.iter().map(|part| hangs_on(part, &node.shape)).collect();
        // The largest first: they take in what hangs on fewer dimensions.
        let mut found: Vec<&Vec<usize>> = own.iter().flatten().collect();
        found.sort_by_key(|dims| std::cmp::Reverse(dims.len()));
        let is_within = |dims: &[usize], all: &[usize]| dims.iter().all(|dim| all.contains(dim));
        let alike = |all: &[usize]| -> Vec<usize> {
            let taken = |dims: &Option<Vec<usize>>| dims.as_ref().is_some_and(|dims| is_within(dims, all));
            (0..own.len()).filter(|part| taken(&own[*part])).collect()
        };
        let Some(all) = found.into_iter().find(|all| alike(all).len() > 1).cloned() else { continue };
        let taken = alike(&all);
        let small: Vec<Loop> = all.iter().map(|dim| loops[*dim]).collect();
        if small.iter().map(|own| own.size).product::<usize>() > context.limit {
            continue;
        }
        let operation = Operation::Contractions(taken.iter().map(|part| at(&parts[*part], &all)).collect());
        let sum = plan.find_or_push(operation, &small);
        parts[taken[0]] = Contraction {
            coefficient: 1.0,
            letters: loops.clone(),
            operands: vec![Access { node: sum, dims: all.iter().map(|dim| Index::letter(*dim)).collect() }],
            output: (0..loops.len()).map(Index::letter).collect(),
        };
        let mut place = 0;
        parts.retain(|_| {
            place += 1;
            !taken[1..].contains(&(place - 1))
        });
        plan.nodes[index].operation = Operation::Contractions(parts);
    }
    Ok(())
}

/// The dimensions of the output that a part hangs on, where these are few of its values: it is the same along all others.
fn hangs_on(part: &Contraction, shape: &[usize]) -> Option<Vec<usize>> {
    let letters: Vec<usize> = part.output.iter().map(|index| index.letter).collect();
    let is_plain = part.output.iter().all(|index| index.map.is_none())
        && letters.iter().enumerate().all(|(place, letter)| !letters[..place].contains(letter))
        && letters.iter().zip(shape).all(|(letter, size)| part.size(*letter) == *size);
    let reads =
        |letter: usize| part.operands.iter().flat_map(|own| &own.dims).any(|index| index.letter == letter);
    let own: Vec<usize> = (0..shape.len()).filter(|dim| reads(letters[*dim])).collect();
    let size: usize = own.iter().map(|dim| shape[*dim]).product();
    (is_plain && own.len() < shape.len() && size * TIMES <= shape.iter().product()).then_some(own)
}

/// A part at these dimensions of its output alone.
fn at(part: &Contraction, dims: &[usize]) -> Contraction {
    let dropped: Vec<usize> =
        (0..part.output.len()).filter(|dim| !dims.contains(dim)).map(|dim| part.output[dim].letter).collect();
    let moved = |index: &Index| Index {
        letter: index.letter - dropped.iter().filter(|letter| **letter < index.letter).count(),
        ..*index
    };
    let letters = (0..part.letters.len()).filter(|letter| !dropped.contains(letter));
    Contraction {
        coefficient: part.coefficient,
        letters: letters.map(|letter| part.letters[letter]).collect(),
        operands: part
            .operands
            .iter()
            .map(|own| Access { node: own.node, dims: own.dims.iter().map(moved).collect() })
            .collect(),
        output: dims.iter().map(|dim| moved(&part.output[*dim])).collect(),
    }
}
