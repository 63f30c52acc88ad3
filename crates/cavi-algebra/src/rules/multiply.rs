//! `(sum_k a_k) (sum_l b_l) = sum_k sum_l a_k b_l`, with different letters for the two sums.

use super::substitute::{refresh, rename_apart};
use crate::canonical::canonical;
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
use crate::symbols::{LetterId, Symbols};

/// The product of two sums, multiplied out.
pub fn multiply(symbols: &mut Symbols, left: &Sum, right: &Sum) -> Sum {
    let mut terms = Vec::with_capacity(left.terms.len() * right.terms.len());
    for a in &left.terms {
        for b in &right.terms {
            terms.push(multiply_terms(symbols, a, b));
        }
    }
    Sum { terms }
}

/// A sum without the factors that all of its terms have: `(1 / w) sum_i w a_i = sum_i a_i`.
pub fn divide(symbols: &mut Symbols, sum: &Sum, by: &[Atom]) -> Sum {
    if by.is_empty() {
        return sum.clone();
    }
    let factors = by.iter().map(|atom| Factor { atom: atom.clone(), power: -1 }).collect();
    let inverse = Sum::term(Term { factors, ..Term::number(1.0) });
    let share = multiply(symbols, sum, &inverse);
    canonical(symbols, &share)
}

/// `sum_k a_k (b + c) = sum_k a_k b + sum_k a_k c` where `b` and `c` stand under the sum: letters that the term sums are
/// the same letters in the bracket.
pub fn distribute(symbols: &mut Symbols, term: &Term, inside: &Sum) -> Sum {
    let bare = Term { sums: Vec::new(), ..term.clone() };
    let inside =
        Sum { terms: inside.terms.iter().map(|inner| rename_apart(symbols, inner, &term.sums)).collect() };
    let product = multiply(symbols, &Sum::term(bare), &inside);
    let terms = product.terms.into_iter().map(|mut inner| {
        inner.sums.splice(0..0, term.sums.iter().copied());
        inner
    });
    Sum { terms: terms.collect() }
}

fn multiply_terms(symbols: &mut Symbols, a: &Term, b: &Term) -> Term {
    let a = rename_apart(symbols, a, &b.free_letters(symbols));
    let mut taken: Vec<LetterId> = a.free_letters(symbols);
    taken.extend(&a.sums);
    let b = rename_apart(symbols, b, &taken);
    let mut sums = a.sums;
    sums.extend(b.sums);
    let mut factors = a.factors;
    factors.extend(b.factors);
    Term { sums, factors, coefficient: Coefficient(a.coefficient.0 * b.coefficient.0) }
}

/// An integer power of a sum: of a single product taken inside (`(c a b)^p = c^p a^p b^p`), else a group.
pub fn power(symbols: &mut Symbols, sum: &Sum, power: i32) -> Sum {
    if power == 0 {
        return Sum::number(1.0);
    }
    match sum.terms.as_slice() {
        [] if power > 0 => Sum::zero(),
        [term] if term.sums.is_empty() => {
            let factors = term
                .factors
                .iter()
                .map(|factor| Factor { atom: factor.atom.clone(), power: factor.power * power })
                .collect();
            Sum::term(Term {
                sums: Vec::new(),
                factors,
                coefficient: Coefficient(term.coefficient.0.powi(power)),
            })
        }
        _ if power == 1 => sum.clone(),
        _ => {
            let inner = Sum { terms: sum.terms.iter().map(|term| refresh(symbols, term)).collect() };
            let group = Factor { atom: Atom::Group(Box::new(inner)), power };
            Sum::term(Term { sums: Vec::new(), factors: vec![group], coefficient: Coefficient(1.0) })
        }
    }
}
