//! `a - a o = a (1 - o)` for data or a constant `o` from 0 to 1: a difference that is not negative if `a` is not.
//! Each step leaves one term fewer, so that it ends. (The canonical form multiplies such products out.)

use crate::canonical::canonical;
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
use crate::symbols::{ArrayKind, Support, Symbols};

/// Puts such differences together until there are none; for a sum in canonical form.
pub fn complements(symbols: &mut Symbols, sum: &Sum) -> Sum {
    let mut terms = sum.terms.clone();
    while let Some((left, right, together)) = pair(symbols, &terms) {
        terms[left] = together;
        terms.remove(right);
    }
    Sum { terms }
}

/// Two terms that are `a` and `-a o`, and their sum.
fn pair(symbols: &mut Symbols, terms: &[Term]) -> Option<(usize, usize, Term)> {
    for (right, term) in terms.iter().enumerate() {
        for place in 0..term.factors.len() {
            let own = &term.factors[place];
            if !is_share(symbols, own) {
                continue;
            }
            let mut rest = term.clone();
            let share = rest.factors.remove(place);
            for (left, other) in terms.iter().enumerate() {
                let both = Sum { terms: vec![other.clone(), rest.clone()] };
                if left == right || !canonical(symbols, &both).terms.is_empty() {
                    continue;
                }
                // In the letters of the term that it is taken from.
                let mut together = rest;
                together.coefficient = Coefficient(-together.coefficient.0);
                let complement = Sum::number(1.0).minus(Sum::term(Term {
                    sums: Vec::new(),
                    factors: vec![share],
                    coefficient: Coefficient(1.0),
                }));
                together.factors.push(Factor::of(Atom::Group(Box::new(complement))));
                return Some((left, right, together));
            }
        }
    }
    None
}

/// Whether a factor is an element of data or of a constant from 0 to 1.
fn is_share(symbols: &Symbols, factor: &Factor) -> bool {
    let Factor { atom: Atom::Value(array, _), power: 1 } = factor else { return false };
    let array = symbols.array(*array);
    array.kind != ArrayKind::Latent && array.support != Support::Simplex && array.is_share()
}

/// Whether a sum is `1 - o` for such an element.
pub fn is_complement(symbols: &Symbols, sum: &Sum) -> bool {
    let [one, other] = sum.terms.as_slice() else { return false };
    let (one, other) = if one.is_number() { (one, other) } else { (other, one) };
    let shares = matches!(other.factors.as_slice(), [only] if is_share(symbols, only));
    one.is_number()
        && one.coefficient.0 == 1.0
        && other.coefficient.0 == -1.0
        && other.sums.is_empty()
        && shares
}
