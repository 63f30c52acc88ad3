//! `f - f [a = b] = f [a != b]`: what is taken off where two letters agree was never there. A pair interaction without
//! squares, `(sum_p v_p)^2 - sum_p v_p^2 = sum_(p != r) v_p v_r`, is such a difference once its square is multiplied out.
//!
//! Each step leaves one term fewer, so that it ends. (The canonical form keeps `[a != b]`.)

use super::multiply::{distribute, multiply};
use super::substitute::refresh;
use crate::canonical::{canonical, known_apart};
use crate::expression::Subscript;
use crate::sum_of_products::{Atom, Factor, Sum, Term};
use crate::symbols::{LetterId, Symbols};

/// Squares that hold more products than this are not multiplied out.
const MOST_PRODUCTS: usize = 128;

/// Puts such differences together until there are none, those inside brackets first; for a sum in canonical form.
/// Powers of sums are multiplied out where terms cancel that way.
pub fn coincidences(symbols: &mut Symbols, sum: &Sum) -> Sum {
    let mut sum = sum.clone();
    for inner in sum.terms.iter_mut().flat_map(|term| &mut term.factors).flat_map(|own| own.atom.nested_mut())
    {
        *inner = coincidences(symbols, inner);
    }
    let sum = canonical(symbols, &sum);
    let closed = together(symbols, &sum);
    match multiplied_out(symbols, &closed) {
        Some(opened) => {
            let each: usize = opened.iter().map(|own| together(symbols, own).terms.len()).sum();
            let all = Sum { terms: opened.into_iter().flat_map(|own| own.terms).collect() };
            let all = canonical(symbols, &all);
            let all = together(symbols, &all);
            if all.terms.len() < each { all } else { closed }
        }
        None => closed,
    }
}

/// `1 - [a = b] = [a != b]` where nothing else is added.
pub fn difference_of_indicators(sum: &Sum) -> Option<Atom> {
    let [one, other] = sum.terms.as_slice() else { return None };
    let (one, other) = if one.is_number() { (one, other) } else { (other, one) };
    let [Factor { atom: Atom::Equal(left, right), power: 1.. }] = other.factors.as_slice() else {
        return None;
    };
    let is_difference = one.is_number() && one.coefficient.0 == 1.0 && other.coefficient.0 == -1.0;
    (is_difference && other.sums.is_empty()).then(|| Atom::Different(left.clone(), right.clone()))
}

fn together(symbols: &mut Symbols, sum: &Sum) -> Sum {
    let mut terms = sum.terms.clone();
    while let Some((left, right, apart)) = pair(symbols, &terms) {
        terms[left] = apart;
        terms.remove(right);
    }
    Sum { terms }
}

/// Two terms that are `f` and `-f [a = b]`, and `f [a != b]`.
fn pair(symbols: &mut Symbols, terms: &[Term]) -> Option<(usize, usize, Term)> {
    for (right, taken) in terms.iter().enumerate() {
        for (left, whole) in terms.iter().enumerate() {
            let may_cancel = whole.coefficient.0 == -taken.coefficient.0 && degree(whole) == degree(taken);
            if left == right || !may_cancel {
                continue;
            }
            for (a, b) in pairs_of_letters(symbols, whole) {
                let with = |atom: Atom| {
                    let mut term = whole.clone();
                    term.factors.push(Factor::of(atom));
                    term
                };
                let [a, b] = [Subscript::Letter(a), Subscript::Letter(b)];
                let both = Sum { terms: vec![with(Atom::Equal(a.clone(), b.clone())), taken.clone()] };
                if canonical(symbols, &both).terms.is_empty() {
                    return Some((left, right, with(Atom::Different(a, b))));
                }
            }
        }
    }
    None
}

/// The powers of what a product holds, indicators left out.
fn degree(term: &Term) -> i32 {
    let indicator = |atom: &Atom| {
        matches!(atom, Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..))
    };
    term.factors.iter().filter(|factor| !indicator(&factor.atom)).map(|factor| factor.power).sum()
}

/// The pairs of letters of one axis in a term that may agree.
fn pairs_of_letters(symbols: &Symbols, term: &Term) -> Vec<(LetterId, LetterId)> {
    let mut letters = term.sums.clone();
    letters.extend(term.free_letters(symbols));
    letters.sort();
    letters.dedup();
    let mut pairs = Vec::new();
    for (number, one) in letters.iter().enumerate() {
        for other in &letters[number + 1..] {
            let alike = symbols.letter(*one).axis == symbols.letter(*other).axis;
            let (left, right) = (Subscript::Letter(*one), Subscript::Letter(*other));
            if alike && !known_apart(symbols, term, &left, &right) {
                pairs.push((*one, *other));
            }
        }
    }
    pairs
}

/// Each term with its powers of sums multiplied out, in canonical form; `None` if there is no such power, or one that is
/// too large.
fn multiplied_out(symbols: &mut Symbols, sum: &Sum) -> Option<Vec<Sum>> {
    let power = |factor: &Factor| match &factor.atom {
        Atom::Group(inner) if factor.power > 1 => Some(((**inner).clone(), factor.power as u32)),
        _ => None,
    };
    let mut found = false;
    let mut out = Vec::new();
    for term in &sum.terms {
        let Some(position) = term.factors.iter().position(|factor| power(factor).is_some()) else {
            out.push(Sum::term(term.clone()));
            continue;
        };
        let (inner, exponent) = power(&term.factors[position])?;
        if inner.terms.len().saturating_pow(exponent) > MOST_PRODUCTS {
            return None;
        }
        found = true;
        let mut product = Sum::number(1.0);
        for _ in 0..exponent {
            let copy = Sum { terms: inner.terms.iter().map(|term| refresh(symbols, term)).collect() };
            product = multiply(symbols, &product, &copy);
        }
        let mut rest = term.clone();
        rest.factors.remove(position);
        let product = distribute(symbols, &rest, &product);
        out.push(canonical(symbols, &product));
    }
    found.then_some(out)
}
