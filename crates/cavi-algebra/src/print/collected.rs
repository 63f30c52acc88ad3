//! Terms with factors in common as one, what is not common in brackets: sums as a person would factor them.

use crate::expression::Subscript;
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
use crate::symbols::{ArrayKind, LetterId, Support, Symbols};

use super::Scope;

/// `a f + b f = (a + b) f` where f is no constant, and b is one: `sum[n](x[n] * f[n]) - sum[n](f[n]) / 2` is
/// `sum[n]((x[n] - 1 / 2) * f[n])`. Both sums run over the same letters.
pub(super) fn collected(scope: Scope<'_>, sum: &Sum) -> Vec<Term> {
    let mut groups: Vec<Like> = Vec::new();
    for term in &sum.terms {
        let term = without_choices(scope.symbols, term);
        let (constant, rest): (Vec<Factor>, Vec<Factor>) =
            term.factors.into_iter().partition(|factor| is_constant(scope, &factor.atom));
        let cofactor = Term { sums: Vec::new(), factors: constant, coefficient: term.coefficient };
        let like =
            groups.iter_mut().find(|own| !rest.is_empty() && own.sums == term.sums && own.common == rest);
        match like {
            Some(own) => own.cofactors.push(cofactor),
            None => groups.push(Like { sums: term.sums, common: rest, cofactors: vec![cofactor] }),
        }
    }
    let mut place = 0;
    while place < groups.len() {
        match (0..groups.len()).find(|other| *other != place && groups[place].holds(&groups[*other])) {
            // What holds another one joins it, where the first of both stands.
            Some(other) => {
                let own = groups.remove(place.max(other));
                let first = &mut groups[place.min(other)];
                if place < other {
                    let larger = std::mem::replace(first, own);
                    first.join(larger, true);
                } else {
                    first.join(own, false);
                }
                place = 0;
            }
            None => place += 1,
        }
    }
    groups.into_iter().map(Like::whole).collect()
}

/// Terms over the same letters that have factors in common.
struct Like {
    sums: Vec<LetterId>,
    common: Vec<Factor>,
    cofactors: Vec<Term>,
}

impl Like {
    /// Whether its factors are those of another one and more, of which the others say what it is summed over: conditions alone
    /// are nothing to take out of brackets.
    fn holds(&self, other: &Like) -> bool {
        let counts = |own: &&Factor| {
            !matches!(own.atom, Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..))
        };
        let conditions =
            |own: &Like| own.common.iter().filter(|own| !counts(own)).cloned().collect::<Vec<_>>();
        let rest = self.common.iter().filter(|own| !other.common.contains(own));
        let mut rest = rest.peekable();
        self.sums == other.sums
            && self.cofactors.len() == 1
            && rest.peek().is_some()
            && rest.all(|own| matches!(own.atom, Atom::Value(..)) && own.power == 1)
            && other.common.iter().any(|own| counts(&own))
            && other.common.iter().all(|own| self.common.contains(own))
            && conditions(self) == conditions(other)
    }

    /// Takes in one that holds it.
    fn join(&mut self, other: Like, first: bool) {
        let rest = other.common.into_iter().filter(|own| !self.common.contains(own));
        let rest: Vec<Factor> = rest.collect();
        let place = if first { 0 } else { self.cofactors.len() };
        let with_rest = other.cofactors.into_iter().map(|mut own| {
            own.factors.extend(rest.iter().cloned());
            own
        });
        self.cofactors.splice(place..place, with_rest);
    }

    /// One term, what is not common in brackets.
    fn whole(self) -> Term {
        let Like { sums, common: mut factors, mut cofactors } = self;
        if cofactors.len() == 1 {
            let cofactor = cofactors.remove(0);
            factors.splice(0..0, cofactor.factors);
            return Term { sums, factors, coefficient: cofactor.coefficient };
        }
        let sign = if cofactors[0].coefficient.0 < 0.0 { -1.0 } else { 1.0 };
        let inside = Sum { terms: cofactors }.scaled(sign);
        factors.insert(0, Factor::of(Atom::Group(Box::new(inside))));
        Term { sums, factors, coefficient: Coefficient(sign) }
    }
}

/// A term without the classes that are only counted: of all `k` just one is `z[n]`, so that `sum[n,k: k = z[n]](1)` is the number
/// of the `n`.
pub(super) fn without_choices(symbols: &Symbols, term: &Term) -> Term {
    let mut term = term.clone();
    for letter in term.sums.clone() {
        let depends = |own: &Factor| {
            let letters = own.atom.free_letters(symbols).into_iter();
            letters.flat_map(|own| symbols.lineage(own)).any(|own| own == letter)
        };
        let holding: Vec<usize> = (0..term.factors.len()).filter(|at| depends(&term.factors[*at])).collect();
        let [at] = holding[..] else { continue };
        let chosen = match &term.factors[at].atom {
            Atom::Equal(Subscript::Letter(own), Subscript::Index(array, _))
            | Atom::Equal(Subscript::Index(array, _), Subscript::Letter(own))
                if *own == letter =>
            {
                let array = symbols.array(*array);
                array.kind == ArrayKind::Latent
                    && matches!(array.support, Support::Index(axis) if axis == symbols.letter(letter).axis)
            }
            _ => false,
        };
        let nested = term.sums.iter().any(|own| *own != letter && symbols.lineage(*own).contains(&letter));
        if chosen && !nested && symbols.letter(letter).parent.is_none() {
            term.factors.remove(at);
            term.sums.retain(|own| *own != letter);
        }
    }
    term
}

/// Whether only constants stand in an atom.
pub(super) fn is_constant(scope: Scope<'_>, atom: &Atom) -> bool {
    match atom {
        Atom::Value(array, subscripts) => {
            let letter = |subscript: &Subscript| matches!(subscript, Subscript::Letter(_));
            scope.symbols.array(*array).kind == ArrayKind::Constant && subscripts.iter().all(letter)
        }
        Atom::Group(_) | Atom::Apply(..) => atom
            .nested()
            .into_iter()
            .flat_map(|sum| &sum.terms)
            .flat_map(|term| &term.factors)
            .all(|factor| is_constant(scope, &factor.atom)),
        Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::ExpectedSquare(_)
        | Atom::Observed(..)
        | Atom::Equal(..)
        | Atom::Different(..)
        | Atom::Less(..) => false,
    }
}
