//! Sums of products: the normal form in which densities, updates and the bound are written.
//!
//! A [`Term`] is `coefficient * sum over letters of a product of factors`; a factor is an atom to an integer power; a
//! [`Sum`] adds terms. What is no product of elements is one of a closed list of atoms: a group (a sum to a power, above
//! all the square), a function of a sum (above all the log of one).

use std::cmp::Ordering;

use crate::expression::{Function, Subscript};
use crate::statistic::Statistic;
use crate::symbols::{ArrayId, AuxiliaryId, BlockId, LetterId, SiteId, Symbols};

/// A number with a total order, so that terms can be sorted.
#[derive(Clone, Copy, Debug)]
pub struct Coefficient(pub f64);

impl PartialEq for Coefficient {
    fn eq(&self, other: &Coefficient) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Coefficient {}
impl PartialOrd for Coefficient {
    fn partial_cmp(&self, other: &Coefficient) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Coefficient {
    fn cmp(&self, other: &Coefficient) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The expectation under q of a statistic of one copy of a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The block.
    pub block: BlockId,
    /// The statistic.
    pub statistic: Statistic,
    /// Which copy: one subscript for each plate letter of the block, in its order.
    pub plates: Vec<Subscript>,
    /// Which elements: for each elementary function of the statistic in turn, one subscript for each slice letter of
    /// its member. An indicator's class is the last slot.
    pub slots: Vec<Subscript>,
}

/// What a factor is a power of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atom {
    /// An element of an array; before expectations are taken also of a latent, after that of data, a constant or a point.
    Value(ArrayId, Vec<Subscript>),
    /// An expectation under q.
    Moment(Moment),
    /// The share of addend `addend`, categories `categories`, in the allocation of a site.
    Allocation {
        /// The site.
        site: SiteId,
        /// Which addend of the sum.
        addend: usize,
        /// Which copy of the site.
        plates: Vec<Subscript>,
        /// The values of the addend's summed letters.
        categories: Vec<Subscript>,
    },
    /// `log sum_c exp(log weight of c)`: what a site contributes to the bound, allocations at their optimum.
    LogPartition {
        /// The site.
        site: SiteId,
        /// Which copy of the site.
        plates: Vec<Subscript>,
    },
    /// The auxiliary variable of a bound by a tangent: the root of an expected square. In an update it is held like an
    /// allocation, in the bound it is at its optimum.
    Auxiliary {
        /// Which.
        id: AuxiliaryId,
        /// Which copy of it.
        plates: Vec<Subscript>,
    },
    /// A sum in brackets.
    Group(Box<Sum>),
    /// A function of sums.
    Apply(Function, Vec<Sum>),
    /// The expectation of a square of a sum.
    ExpectedSquare(Box<ExpectedSquare>),
    /// 1 where the entry of a data array is observed, else 0.
    Observed(ArrayId, Vec<Subscript>),
    /// 1 where the two subscripts agree, else 0.
    Equal(Subscript, Subscript),
    /// 0 where the two subscripts agree, else 1.
    Different(Subscript, Subscript),
    /// 1 where the first subscript is less than the second, else 0.
    Less(Subscript, Subscript),
}

/// `E (sum_s T_s)^2 = (sum_s E T_s)^2 + sum_{s,t} (E[T_s T_t] - E T_s E T_t)`: squares of sums stay squares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedSquare {
    /// `sum_s T_s`, before the expectation: for showing.
    pub of: Sum,
    /// `sum_s E T_s`.
    pub mean: Sum,
    /// The rest: what the uncertainty of the shared blocks adds.
    pub spread: Sum,
}

/// An atom to a power.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Factor {
    /// The atom.
    pub atom: Atom,
    /// The power, not 0.
    pub power: i32,
}

/// `coefficient * sum over `sums` of the product of `factors``. A summed letter that no factor mentions multiplies by
/// the size of its axis (for a ragged letter, with its summed ancestors).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// The letters that are summed. A ragged letter stands with those of its ancestors that are summed too.
    pub sums: Vec<LetterId>,
    /// The factors, sorted.
    pub factors: Vec<Factor>,
    /// The number in front.
    pub coefficient: Coefficient,
}

/// A sum of terms; the empty sum is 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Sum {
    /// The terms.
    pub terms: Vec<Term>,
}

impl ExpectedSquare {
    /// Its three sums.
    pub fn parts(&self) -> [&Sum; 3] {
        [&self.of, &self.mean, &self.spread]
    }

    /// Its three sums.
    pub fn parts_mut(&mut self) -> [&mut Sum; 3] {
        [&mut self.of, &mut self.mean, &mut self.spread]
    }
}

impl Atom {
    /// The sums that stand inside it.
    pub fn nested(&self) -> Vec<&Sum> {
        match self {
            Atom::Group(sum) => vec![sum],
            Atom::Apply(_, sums) => sums.iter().collect(),
            Atom::ExpectedSquare(square) => square.parts().to_vec(),
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Observed(..)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => Vec::new(),
        }
    }

    /// The sums that stand inside it.
    pub fn nested_mut(&mut self) -> Vec<&mut Sum> {
        match self {
            Atom::Group(sum) => vec![sum],
            Atom::Apply(_, sums) => sums.iter_mut().collect(),
            Atom::ExpectedSquare(square) => square.parts_mut().into_iter().collect(),
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Observed(..)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => Vec::new(),
        }
    }
}

impl Factor {
    /// The atom itself.
    pub fn of(atom: Atom) -> Factor {
        Factor { atom, power: 1 }
    }
}

impl Term {
    /// A number.
    pub fn number(value: f64) -> Term {
        Term { sums: Vec::new(), factors: Vec::new(), coefficient: Coefficient(value) }
    }

    /// One atom.
    pub fn atom(atom: Atom) -> Term {
        Term { sums: Vec::new(), factors: vec![Factor::of(atom)], coefficient: Coefficient(1.0) }
    }

    /// The term times a number.
    pub fn scaled(mut self, by: f64) -> Term {
        self.coefficient.0 *= by;
        self
    }

    /// Whether it is a bare number.
    pub fn is_number(&self) -> bool {
        self.sums.is_empty() && self.factors.is_empty()
    }
}

impl Sum {
    /// Nothing: 0.
    pub fn zero() -> Sum {
        Sum { terms: Vec::new() }
    }

    /// A number.
    pub fn number(value: f64) -> Sum {
        if value == 0.0 { Sum::zero() } else { Sum { terms: vec![Term::number(value)] } }
    }

    /// One atom.
    pub fn atom(atom: Atom) -> Sum {
        Sum { terms: vec![Term::atom(atom)] }
    }

    /// One term.
    pub fn term(term: Term) -> Sum {
        Sum { terms: vec![term] }
    }

    /// `f(self)`, folded where it is a number.
    pub fn apply(self, function: Function) -> Sum {
        Sum::atom(Atom::Apply(function, vec![self]))
    }

    /// The sum times a number.
    pub fn scaled(self, by: f64) -> Sum {
        if by == 0.0 {
            return Sum::zero();
        }
        Sum { terms: self.terms.into_iter().map(|term| term.scaled(by)).collect() }
    }

    /// Both sums.
    pub fn plus(mut self, other: Sum) -> Sum {
        self.terms.extend(other.terms);
        self
    }

    /// The difference.
    pub fn minus(self, other: Sum) -> Sum {
        self.plus(other.scaled(-1.0))
    }

    /// Whether it is 0 by its form.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Its value where it is a bare number.
    pub fn as_number(&self) -> Option<f64> {
        match self.terms.as_slice() {
            [] => Some(0.0),
            [term] if term.is_number() => Some(term.coefficient.0),
            _ => None,
        }
    }
}

impl Atom {
    /// Calls `visit` with every subscript list in the atom, those of nested sums included.
    pub fn visit_subscripts(&self, visit: &mut dyn FnMut(&Subscript)) {
        match self {
            Atom::Value(_, subscripts) | Atom::Observed(_, subscripts) => subscripts.iter().for_each(visit),
            Atom::Moment(moment) => moment.plates.iter().chain(&moment.slots).for_each(visit),
            Atom::Allocation { plates, categories, .. } => plates.iter().chain(categories).for_each(visit),
            Atom::LogPartition { plates, .. } | Atom::Auxiliary { plates, .. } => {
                plates.iter().for_each(visit)
            }
            Atom::Group(sum) => sum.visit_subscripts(visit),
            Atom::Apply(_, sums) => sums.iter().for_each(|sum| sum.visit_subscripts(visit)),
            Atom::ExpectedSquare(square) => {
                square.parts().into_iter().for_each(|sum| sum.visit_subscripts(visit))
            }
            Atom::Equal(left, right) | Atom::Different(left, right) | Atom::Less(left, right) => {
                visit(left);
                visit(right);
            }
        }
    }

    /// Calls `change` with every subscript, those of nested sums included.
    pub fn map_subscripts(&mut self, change: &mut dyn FnMut(&mut Subscript)) {
        match self {
            Atom::Value(_, subscripts) | Atom::Observed(_, subscripts) => {
                subscripts.iter_mut().for_each(change)
            }
            Atom::Moment(moment) => moment.plates.iter_mut().chain(&mut moment.slots).for_each(change),
            Atom::Allocation { plates, categories, .. } => {
                plates.iter_mut().chain(categories).for_each(change)
            }
            Atom::LogPartition { plates, .. } | Atom::Auxiliary { plates, .. } => {
                plates.iter_mut().for_each(change);
            }
            Atom::Group(sum) => sum.map_subscripts(change),
            Atom::Apply(_, sums) => sums.iter_mut().for_each(|sum| sum.map_subscripts(change)),
            Atom::ExpectedSquare(square) => {
                square.parts_mut().into_iter().for_each(|sum| sum.map_subscripts(change));
            }
            Atom::Equal(left, right) | Atom::Different(left, right) | Atom::Less(left, right) => {
                change(left);
                change(right);
            }
        }
    }

    /// The letters that the atom depends on (see [`Term::free_letters`]), in order of appearance.
    pub fn free_letters(&self, symbols: &Symbols) -> Vec<LetterId> {
        let mut letters = Vec::new();
        match self {
            Atom::Group(sum) => letters.extend(sum.free_letters(symbols)),
            Atom::Apply(_, sums) => sums.iter().for_each(|sum| letters.extend(sum.free_letters(symbols))),
            Atom::ExpectedSquare(square) => {
                square.parts().into_iter().for_each(|sum| letters.extend(sum.free_letters(symbols)));
            }
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Observed(..)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => self.visit_subscripts(&mut |subscript| subscript.letters(&mut letters)),
        }
        dedup(letters)
    }

    /// Whether its value depends on a letter: it holds it, or a letter that determines it, as `u` does `g` in `lam[u]` where
    /// the axis of `u` is ragged in that of `g`.
    pub fn depends_on(&self, symbols: &Symbols, letter: LetterId) -> bool {
        self.free_letters(symbols).into_iter().any(|own| symbols.lineage(own).contains(&letter))
    }

    /// Whether an element of `array` stands anywhere in it.
    pub fn mentions(&self, array: ArrayId) -> bool {
        let inside = match self {
            Atom::Value(id, _) | Atom::Observed(id, _) => *id == array,
            Atom::Group(sum) => sum.mentions(array),
            Atom::Apply(_, sums) => sums.iter().any(|sum| sum.mentions(array)),
            Atom::ExpectedSquare(square) => square.parts().into_iter().any(|sum| sum.mentions(array)),
            Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => false,
        };
        let mut in_subscript = false;
        self.visit_subscripts(&mut |subscript| in_subscript |= subscript.mentions(array));
        inside || in_subscript
    }
}

impl Term {
    /// Takes the factors at these positions away.
    pub fn remove(&mut self, positions: &[usize]) {
        let mut position = 0;
        self.factors.retain(|_| {
            position += 1;
            !positions.contains(&(position - 1))
        });
    }

    /// Calls `visit` with every subscript in the term.
    pub fn visit_subscripts(&self, visit: &mut dyn FnMut(&Subscript)) {
        self.factors.iter().for_each(|factor| factor.atom.visit_subscripts(visit));
    }

    /// The letters that its value depends on, in order of appearance: those that are free in its factors and not
    /// summed, then the ancestors of ragged letters that are summed. (A sum over a group depends on the group, even
    /// if no factor mentions it.) A free ragged letter stands without its ancestors.
    pub fn free_letters(&self, symbols: &Symbols) -> Vec<LetterId> {
        let inside = self.factors.iter().flat_map(|factor| factor.atom.free_letters(symbols));
        let groups = self.sums.iter().flat_map(|letter| symbols.lineage(*letter));
        let letters = dedup(inside.chain(groups).collect());
        letters.into_iter().filter(|letter| !self.sums.contains(letter)).collect()
    }

    /// Whether anything in it but the factors at some positions depends on a letter that it may sum itself: another factor
    /// ([`Atom::depends_on`]), or how many values another summed letter has, as the members of a group are.
    pub fn depends_elsewhere(&self, symbols: &Symbols, letter: LetterId, apart: &[usize]) -> bool {
        let mut others = self.factors.iter().enumerate().filter(|(position, _)| !apart.contains(position));
        let below = |own: &LetterId| *own != letter && symbols.lineage(*own).contains(&letter);
        others.any(|(_, factor)| factor.atom.depends_on(symbols, letter)) || self.sums.iter().any(below)
    }

    /// Whether an element of `array` stands anywhere in it.
    pub fn mentions(&self, array: ArrayId) -> bool {
        self.factors.iter().any(|factor| factor.atom.mentions(array))
    }
}

impl Sum {
    /// Calls `visit` with every subscript in the sum.
    pub fn visit_subscripts(&self, visit: &mut dyn FnMut(&Subscript)) {
        self.terms.iter().for_each(|term| term.visit_subscripts(visit));
    }

    /// Calls `change` with every subscript in the sum.
    pub fn map_subscripts(&mut self, change: &mut dyn FnMut(&mut Subscript)) {
        for factor in self.terms.iter_mut().flat_map(|term| &mut term.factors) {
            factor.atom.map_subscripts(change);
        }
    }

    /// The letters that its value depends on, in order of appearance (see [`Term::free_letters`]).
    pub fn free_letters(&self, symbols: &Symbols) -> Vec<LetterId> {
        dedup(self.terms.iter().flat_map(|term| term.free_letters(symbols)).collect())
    }

    /// Whether an element of `array` stands anywhere in it.
    pub fn mentions(&self, array: ArrayId) -> bool {
        self.terms.iter().any(|term| term.mentions(array))
    }
}

/// Removes repetitions and keeps the order of first appearance.
pub fn dedup<T: PartialEq>(items: Vec<T>) -> Vec<T> {
    let mut out: Vec<T> = Vec::with_capacity(items.len());
    for item in items {
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}
