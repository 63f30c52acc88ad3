//! What is added to every row of a large array alike is added up first.
//!
//! Of `out[n, k] = a[k] + b[k] + c + sum_i d[n, i] e[i, k]` the first three are one array `[k]`, and the large one is run through
//! twice, not four times.

use std::borrow::Cow;

use crate::plan::lifetimes::LARGE;
use crate::plan::tensor::{Access, Contraction, Index, Node, NodeId, Operation};

/// As many times larger than what is added to it must an array be.
const TIMES: usize = 8;

/// Gives what is added alike, of each large array, a node of its own. None of more values than `limit` is made.
pub fn broadcast(nodes: &mut Vec<Node>, values: &mut Vec<Cow<[f64]>>, limit: usize) {
    for index in 0..nodes.len() {
        let Node { operation: Operation::Contractions(parts), shape } = &nodes[index] else { continue };
        let (mut parts, shape) = (parts.clone(), shape.clone());
        if nodes[index].len() < LARGE {
            continue;
        }
        let own: Vec<Option<Vec<usize>>> = parts.iter().map(|part| hangs_on(part, &shape)).collect();
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
        let small: Vec<usize> = all.iter().map(|dim| shape[*dim]).collect();
        if small.iter().product::<usize>() > limit {
            continue;
        }
        let operation = Operation::Contractions(taken.iter().map(|part| at(&parts[*part], &all)).collect());
        let known = nodes.iter().position(|node| node.operation == operation && node.shape == small);
        let sum = known.unwrap_or_else(|| {
            nodes.push(Node { operation, shape: small });
            values.push(Cow::Owned(Vec::new()));
            nodes.len() - 1
        });
        parts[taken[0]] = Contraction {
            coefficient: 1.0,
            sizes: shape.clone(),
            operands: vec![Access {
                node: NodeId(sum as u32),
                dims: all.iter().map(|dim| Index::letter(*dim)).collect(),
            }],
            output: (0..shape.len()).map(Index::letter).collect(),
        };
        let mut place = 0;
        parts.retain(|_| {
            place += 1;
            !taken[1..].contains(&(place - 1))
        });
        nodes[index].operation = Operation::Contractions(parts);
    }
}

/// The dimensions of the output that a part hangs on, where these are few of its values: it is the same along all others.
fn hangs_on(part: &Contraction, shape: &[usize]) -> Option<Vec<usize>> {
    let letters: Vec<usize> = part.output.iter().map(|index| index.letter).collect();
    let is_plain = part.output.iter().all(|index| index.map.is_none())
        && letters.iter().enumerate().all(|(place, letter)| !letters[..place].contains(letter))
        && letters.iter().zip(shape).all(|(letter, size)| part.sizes[*letter] == *size);
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
    let letters = (0..part.sizes.len()).filter(|letter| !dropped.contains(letter));
    Contraction {
        coefficient: part.coefficient,
        sizes: letters.map(|letter| part.sizes[letter]).collect(),
        operands: part
            .operands
            .iter()
            .map(|own| Access { node: own.node, dims: own.dims.iter().map(moved).collect() })
            .collect(),
        output: dims.iter().map(|dim| moved(&part.output[*dim])).collect(),
    }
}
