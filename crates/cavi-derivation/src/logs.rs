//! Logs that are statistics: of the factors of a product, and of a complement.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{distribute, push_log_into_product};
use cavi_algebra::{ArrayId, Atom, Factor, Function, Subscript, Sum, Symbols, Term};

/// `log(a b)` may have come about by a canonical form: take such logs apart once more.
pub fn logs_of_products_apart(symbols: &mut Symbols, term: &Term) -> Vec<Term> {
    for (position, factor) in term.factors.iter().enumerate() {
        if let Atom::Apply(Function::Log, inner) = &factor.atom
            && factor.power == 1
        {
            let apart = push_log_into_product(symbols, &inner[0]);
            let same = matches!(apart.terms.as_slice(), [only] if only.coefficient.0 == 1.0
                && only.factors.len() == 1 && only.factors[0].atom == factor.atom);
            if !same {
                let mut rest = term.clone();
                rest.factors.remove(position);
                let product = distribute(symbols, &rest, &apart);
                let product = canonical(symbols, &product);
                return product.terms.iter().flat_map(|term| logs_of_products_apart(symbols, term)).collect();
            }
        }
    }
    vec![term.clone()]
}

/// The element x of a sum `1 - x`: its log is a statistic, not a log of a sum.
pub fn is_complement_of(sum: &Sum) -> Option<(ArrayId, Vec<Subscript>)> {
    let [a, b] = sum.terms.as_slice() else { return None };
    let (one, other) = if a.is_number() { (a, b) } else { (b, a) };
    if !(one.is_number() && one.coefficient.0 == 1.0 && other.coefficient.0 == -1.0 && other.sums.is_empty())
    {
        return None;
    }
    match other.factors.as_slice() {
        [Factor { atom: Atom::Value(array, subscripts), power: 1 }] => Some((*array, subscripts.clone())),
        _ => None,
    }
}
