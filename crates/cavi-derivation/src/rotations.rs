//! Which vectors may change their coordinates: those that all other statements read only through inner products.
//!
//! # Derivation `sum_k a_k b_k = sum_k (R^-1 a)_k (R' b)_k`. If every statement but their own holds the vectors of
//! some blocks in such sums only, each of a left block with one of a right block, its expected log-density is the
//! same after the change, whatever the statement does with the sum. What changes is the expected log prior, for
//! diagonal precisions p a sum of `-p_k E[x_k^2] / 2`, and the entropy, by `log |det R|` a vector. The blocks are
//! coloured left and right along the sums; a block that would need both colours, or that stands anywhere else, is
//! excluded, and so are the blocks that it is multiplied with.
//!
//! # Source
//! Virtanen, Klami and Kaski (2011), Bayesian CCA via group sparsity, section 4.1; Liu and Wu (1999), parameter expansion.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{
    ArrayId, Atom, Block, BlockId, Elementary, Equations, Factor, LetterId, Mode, Rotated, Rotation,
    Statistic, Subscript, Sum, Symbols, Term,
};

/// The rotations of a program.
pub fn rotations(equations: &Equations) -> Vec<Rotation> {
    let ids = (0..equations.blocks.len()).map(BlockId::from);
    let mut candidates: BTreeSet<BlockId> = ids.filter(|id| is_candidate(equations, *id)).collect();
    // For each block, the blocks that it is multiplied with. A block that is multiplied with no candidate is no
    // candidate either.
    let pairs = loop {
        let pairs: BTreeMap<BlockId, Option<BTreeSet<BlockId>>> =
            candidates.iter().map(|id| (*id, partners(equations, &candidates, *id))).collect();
        let before = candidates.len();
        candidates.retain(|id| pairs[id].as_ref().is_some_and(|partners| !partners.is_empty()));
        if candidates.len() == before {
            break pairs;
        }
    };
    let mut found = Vec::new();
    while let Some(first) = candidates.pop_first() {
        let mut sides: BTreeMap<BlockId, bool> = BTreeMap::from([(first, false)]);
        let mut queue = vec![first];
        let mut consistent = true;
        while let Some(id) = queue.pop() {
            for other in pairs[&id].iter().flatten() {
                let side = !sides[&id];
                match sides.get(other) {
                    Some(known) => consistent &= *known == side,
                    None => {
                        sides.insert(*other, side);
                        queue.push(*other);
                    }
                }
            }
        }
        candidates.retain(|id| !sides.contains_key(id));
        if !consistent {
            continue;
        }
        let side = |of: bool| {
            let own = sides.iter().filter(|(_, side)| **side == of);
            own.map(|(id, _)| Rotated { block: *id, precision: precision(equations, *id) }).collect()
        };
        found.push(Rotation { left: side(false), right: side(true) });
    }
    found
}

/// Whether the vectors of a block may be multiplied by a matrix, and have a prior of mean 0 and a diagonal precision.
fn is_candidate(equations: &Equations, id: BlockId) -> bool {
    let block = equations.block(id);
    let alone = block.members.len() == 1 && matches!(block.slices.as_slice(), [slices] if slices.len() == 1);
    block.mode == Mode::Distribution
        && alone
        && cavi_families::posterior(block.family).is_linear()
        && block.in_order.is_empty()
        && block.multiplicity.is_empty()
        && block.ragged_slice(&equations.symbols).is_none()
        && block.natural.iter().zip(&block.prior).all(|(natural, prior)| {
            let pair = natural.statistic == Statistic::outer();
            let diagonal =
                |term: &Term| term.factors.iter().any(|factor| is_diagonal(factor, &natural.slots));
            if pair { prior.terms.iter().all(diagonal) } else { prior.is_zero() }
        })
}

/// Whether a factor is `[k = l]` of the two slots of a pair.
fn is_diagonal(factor: &Factor, slots: &[LetterId]) -> bool {
    match (&factor.atom, slots) {
        (Atom::Equal(Subscript::Letter(left), Subscript::Letter(right)), [k, l]) => {
            [left, right] == [k, l] || [left, right] == [l, k]
        }
        _ => false,
    }
}

/// The blocks that the vectors of a block are multiplied with; `None` if they stand anywhere else.
fn partners(equations: &Equations, candidates: &BTreeSet<BlockId>, id: BlockId) -> Option<BTreeSet<BlockId>> {
    let array = equations.block(id).members[0];
    let mut found = BTreeSet::new();
    for statement in equations.statements.iter().filter(|statement| statement.target != array) {
        if !pairs_in(equations, candidates, array, &statement.log_density, &mut found) {
            return None;
        }
    }
    Some(found)
}

/// Gathers with whom elements of an array are multiplied; false where one of them is in no inner product.
fn pairs_in(
    equations: &Equations,
    candidates: &BTreeSet<BlockId>,
    array: ArrayId,
    sum: &Sum,
    found: &mut BTreeSet<BlockId>,
) -> bool {
    sum.terms.iter().all(|term| {
        term.factors.iter().enumerate().all(|(place, factor)| match &factor.atom {
            Atom::Value(own, subscripts) if *own == array => {
                let other = (factor.power == 1)
                    .then(|| other_of_product(equations, term, place, array, subscripts))
                    .flatten()
                    .filter(|other| {
                        candidates.contains(other) && equations.block(*other).members[0] != array
                    });
                other.is_some_and(|other| {
                    found.insert(other);
                    true
                })
            }
            Atom::Group(_) | Atom::Apply(..) => factor
                .atom
                .nested()
                .into_iter()
                .all(|inner| pairs_in(equations, candidates, array, inner, found)),
            atom => !atom.mentions(array),
        })
    })
}

/// The block of `b` in `sum_k a_k b_k`, where the letter k stands nowhere else.
fn other_of_product(
    equations: &Equations,
    term: &Term,
    place: usize,
    array: ArrayId,
    subscripts: &[Subscript],
) -> Option<BlockId> {
    let symbols = &equations.symbols;
    let letter = slice_letter(equations, array, subscripts)?;
    let mut others = term.factors.iter().enumerate().filter(|(other, _)| *other != place);
    let (partner, factor) = others.find(|(_, factor)| factor.atom.depends_on(symbols, letter))?;
    if term.depends_elsewhere(symbols, letter, &[place, partner]) {
        return None;
    }
    let Factor { atom: Atom::Value(other, others), power: 1 } = factor else { return None };
    let id = equations.block_of(*other)?;
    let is_slice = slice_letter(equations, *other, others) == Some(letter);
    (term.sums.contains(&letter) && is_slice).then_some(id)
}

/// The letter at the slice of an element of a block of one vector; `None` where it is no letter, or stands elsewhere too.
fn slice_letter(equations: &Equations, array: ArrayId, subscripts: &[Subscript]) -> Option<LetterId> {
    let block = equations.block(equations.block_of(array)?);
    let [slices] = block.slices.as_slice() else { return None };
    let [slice] = slices.as_slice() else { return None };
    let place = equations.symbols.array(array).letters.iter().position(|letter| letter == slice)?;
    let Subscript::Letter(letter) = &subscripts[place] else { return None };
    let elsewhere = subscripts.iter().enumerate().any(|(other, subscript)| {
        let mut letters = Vec::new();
        subscript.letters(&mut letters);
        let below = letters.into_iter().any(|own| equations.symbols.lineage(own).contains(letter));
        other != place && below
    });
    (!elsewhere).then_some(*letter)
}

/// The variable that is the precision of the elements, where the prior has one and nothing else.
fn precision(equations: &Equations, id: BlockId) -> Option<(BlockId, Vec<LetterId>)> {
    let (symbols, block) = (&equations.symbols, equations.block(id));
    let place = block.natural.iter().position(|natural| natural.statistic == Statistic::outer())?;
    let slots = &block.natural[place].slots;
    let [Term { sums, factors, coefficient }] = block.prior[place].terms.as_slice() else { return None };
    let rest: Vec<&Factor> = factors.iter().filter(|factor| !is_diagonal(factor, slots)).collect();
    let [Factor { atom: Atom::Moment(moment), power: 1 }] = rest[..] else { return None };
    if coefficient.0 != -0.5 || !sums.is_empty() || moment.statistic != Statistic::identity() {
        return None;
    }
    let own = equations.block(moment.block);
    let letters: Vec<LetterId> = moment
        .plates
        .iter()
        .map(|subscript| match subscript {
            Subscript::Letter(letter) if slots.contains(letter) => Some(slots[0]),
            Subscript::Letter(letter) if is_above(symbols, block, *letter) => Some(*letter),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let once = letters.iter().filter(|letter| **letter == slots[0]).count() == 1;
    (once && is_scalar(own)).then_some((moment.block, letters))
}

/// Whether a letter is a plate letter of a block, or an ancestor of one.
fn is_above(symbols: &Symbols, block: &Block, letter: LetterId) -> bool {
    block.plates.iter().any(|plate| symbols.lineage(*plate).contains(&letter))
}

/// Whether a block is a distribution of numbers that move at once, and has `x` among its statistics.
fn is_scalar(block: &Block) -> bool {
    block.mode == Mode::Distribution
        && block.members.len() == 1
        && block.slices.iter().all(Vec::is_empty)
        && block.in_order.is_empty()
        && block.multiplicity.is_empty()
        && block.natural.iter().any(|natural| natural.statistic.0 == [(0, Elementary::Power(1))])
}
