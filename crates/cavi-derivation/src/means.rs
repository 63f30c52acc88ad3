//! Which factors have means that one system of linear equations has: the bound is a quadratic function of all of them together.
//!
//! # Derivation
//! A Normal factor with the natural parameters `eta_1` of `x` and `eta_2` of `x^2` (or `x x'`) has the update `m = -eta_1 / (2 eta_2)`, and the derivative of
//! the bound by its mean is `eta_1 + 2 eta_2 m`, the covariance being held. For some factors together these derivatives are linear in all of their means
//! if no `eta_2` of them reads any of them, and each term of an `eta_1` reads the mean of one of them at most, once. Allocations and auxiliary variables are held.
//! So of `a[g] + b * x` it is a and b; of `mu + sum_k w_k z_k` there are mu with w and mu with z. Coordinate ascent solves such a system by the
//! method of Gauss and Seidel, a variable at a time, and takes the more sweeps the closer one variable comes to what others do together: b to all a,
//! where x is far from 0.

use std::collections::BTreeSet;

use cavi_algebra::{Atom, Block, BlockId, Elementary, Equations, Mode, Natural, Statistic, Sum, Support};

/// Of more factors than this none are tried together: they have too many choices.
const MANY: usize = 64;

/// What the natural parameters of a block read of the factors that are asked about.
struct Reads {
    block: BlockId,
    /// The factors of which `eta_2` reads anything, or of which `eta_1` reads more than the mean.
    never: BTreeSet<BlockId>,
    /// For each term of `eta_1` the factors whose means are multiplied in it; one that stands there twice is in `never`.
    products: Vec<BTreeSet<BlockId>>,
}

impl Reads {
    /// Whether the derivatives by its means are linear in those of these factors.
    fn is_linear_in(&self, set: &BTreeSet<BlockId>) -> bool {
        self.never.is_disjoint(set) && self.products.iter().all(|own| own.intersection(set).count() <= 1)
    }

    fn reads_mean_of(&self, other: BlockId) -> bool {
        self.products.iter().any(|own| own.contains(&other))
    }
}

/// The sets of factors, none of which is a part of another: of more than one factor each, or of one whose copies read each other's means.
pub fn quadratic(equations: &Equations) -> Vec<Vec<BlockId>> {
    let ids = (0..equations.blocks.len()).map(BlockId::from);
    let candidates: BTreeSet<BlockId> = ids.filter(|id| has_mean(equations, equations.block(*id))).collect();
    if candidates.len() > MANY {
        return Vec::new();
    }
    let reads: Vec<Reads> = candidates.iter().map(|id| Reads::of(equations, *id, &candidates)).collect();
    let mut sets: Vec<BTreeSet<BlockId>> = Vec::new();
    for seed in &reads {
        let mut set = BTreeSet::from([seed.block]);
        if !seed.is_linear_in(&set) {
            continue;
        }
        while let Some(more) = reads.iter().find(|own| may_join(&reads, &set, own)) {
            set.insert(more.block);
        }
        let is_coupled = set.len() > 1 || seed.reads_mean_of(seed.block);
        if is_coupled && !sets.iter().any(|own| own.is_superset(&set)) {
            sets.push(set);
        }
    }
    sets.into_iter().map(|set| set.into_iter().collect()).collect()
}

/// Whether a factor reads a mean of a set, or is read there, and all are linear in each other.
fn may_join(reads: &[Reads], set: &BTreeSet<BlockId>, other: &Reads) -> bool {
    if set.contains(&other.block) {
        return false;
    }
    let own = || reads.iter().filter(|own| set.contains(&own.block));
    let meets = own().any(|own| own.reads_mean_of(other.block) || other.reads_mean_of(own.block));
    let with: BTreeSet<BlockId> = set.iter().copied().chain([other.block]).collect();
    meets && other.is_linear_in(&with) && own().all(|own| own.is_linear_in(&with))
}

/// Whether it is a variable with Normal factors, or a point under Normal terms, whose copies all count alike.
fn has_mean(equations: &Equations, block: &Block) -> bool {
    let [member] = block.members[..] else { return false };
    let moves = match block.mode {
        Mode::Distribution => true,
        Mode::Point => block.ascent.is_none(),
        Mode::Fixed | Mode::Implicit => false,
    };
    moves
        && !block.is_weighed()
        && cavi_families::posterior(block.family).location().is_some()
        && equations.symbols.array(member).support == Support::Real
}

impl Reads {
    fn of(equations: &Equations, id: BlockId, candidates: &BTreeSet<BlockId>) -> Reads {
        let mut reads = Reads { block: id, never: BTreeSet::new(), products: Vec::new() };
        for Natural { statistic, coefficient, .. } in &equations.block(id).natural {
            if *statistic == Statistic::of(Elementary::Power(1)) {
                reads.products.extend(products(equations, coefficient, candidates, &mut reads.never));
            } else {
                everything(equations, coefficient, candidates, &mut reads.never);
            }
        }
        reads
    }
}

/// The factor that an atom is of: a moment, or the value of a point.
fn factor_of(equations: &Equations, atom: &Atom) -> Option<BlockId> {
    match atom {
        Atom::Moment(moment) => Some(moment.block),
        Atom::Value(array, _) => equations.block_of(*array),
        _ => None,
    }
}

/// The factors of which anything stands in a sum.
fn everything(
    equations: &Equations,
    sum: &Sum,
    candidates: &BTreeSet<BlockId>,
    found: &mut BTreeSet<BlockId>,
) {
    for factor in sum.terms.iter().flat_map(|term| &term.factors) {
        found.extend(factor_of(equations, &factor.atom).filter(|own| candidates.contains(own)));
        factor.atom.nested().into_iter().for_each(|inner| everything(equations, inner, candidates, found));
    }
}

/// For each term of a sum, brackets opened, the factors whose means it is a product of. Those it depends on in another way are put into `never`.
fn products(
    equations: &Equations,
    sum: &Sum,
    candidates: &BTreeSet<BlockId>,
    never: &mut BTreeSet<BlockId>,
) -> Vec<BTreeSet<BlockId>> {
    let mut all = Vec::new();
    for term in &sum.terms {
        let mut found = vec![BTreeSet::new()];
        for factor in &term.factors {
            let choices = match &factor.atom {
                Atom::Group(inner) if factor.power == 1 => products(equations, inner, candidates, never),
                atom => {
                    let own = factor_of(equations, atom).filter(|own| candidates.contains(own));
                    let is_mean = match atom {
                        Atom::Moment(moment) => moment.statistic == Statistic::of(Elementary::Power(1)),
                        _ => true,
                    };
                    if factor.power != 1 || !is_mean {
                        never.extend(own);
                    }
                    atom.nested()
                        .into_iter()
                        .for_each(|inner| everything(equations, inner, candidates, never));
                    vec![own.into_iter().collect()]
                }
            };
            let mut next = BTreeSet::new();
            for (left, right) in found.iter().flat_map(|left| choices.iter().map(move |right| (left, right)))
            {
                never.extend(left.intersection(right).copied());
                next.insert(left.union(right).copied().collect());
            }
            found = next.into_iter().collect();
        }
        all.extend(found);
    }
    all.sort_unstable();
    all.dedup();
    all
}
