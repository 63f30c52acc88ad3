//! Terms whose coefficients are 0 by the values of the constants: `(a - 1) log x` at `a = 1`; and what is 0 where
//! letters agree by the declaration of data or the value of a constant: `s[p, r]` with `p != r`.
//!
//! They are kept if the program has a closed form with them, so that the equations hold for any value. Otherwise they
//! are left out, as if a number stood in the place of the constant.

use std::collections::BTreeMap;

use cavi_algebra::canonical::{canonical, nameless};
use cavi_algebra::rules::{Substitution, distribute, multiply, rename_apart, substitute, to_sum};
use cavi_algebra::{
    ArrayId, ArrayKind, Atom, Coefficient, Expression, Factor, LetterId, Restriction, Sum, Symbols, Term,
};
use cavi_families::functions::{apply, power};

/// The value of a constant that is one number, or filled with one.
pub fn number_of(symbols: &Symbols, array: ArrayId) -> Option<f64> {
    let array = symbols.array(array);
    (array.kind == ArrayKind::Constant).then(|| value_of(symbols, array.value.as_ref()?)).flatten()
}

/// The value of an expression of such constants.
fn value_of(symbols: &Symbols, expression: &Expression) -> Option<f64> {
    match expression {
        Expression::Number(value) => Some(*value),
        Expression::Value(array, _) => number_of(symbols, *array),
        Expression::Add(parts) => parts.iter().map(|part| value_of(symbols, part)).sum(),
        Expression::Multiply(parts) => parts.iter().map(|part| value_of(symbols, part)).product(),
        Expression::Power(base, exponent) => {
            Some(power(value_of(symbols, base)?, value_of(symbols, exponent)?))
        }
        Expression::Apply(function, argument) => Some(apply(*function, &[value_of(symbols, argument)?])),
        Expression::Indicator(..)
        | Expression::Position(_)
        | Expression::Sum(..)
        | Expression::OfMatrix(..) => None,
    }
}

/// A sum with what it says of its letters as factors: data restricted to `p != r` or `p < r` have no other entries, and a
/// constant whose value holds indicators is that value.
pub fn with_indicators(symbols: &mut Symbols, sum: &Sum) -> Sum {
    let mut out = Sum::zero();
    for term in &sum.terms {
        let (mut rest, mut values) = (term.clone(), Vec::new());
        let mut guards = Vec::new();
        rest.factors.retain(|factor| {
            let Atom::Value(id, subscripts) = &factor.atom else { return true };
            let array = symbols.array(*id);
            let at = |letter: &LetterId| {
                let place = array.letters.iter().position(|own| own == letter);
                subscripts[place.expect("the resolver checks the letters")].clone()
            };
            match &array.restriction {
                Some(Restriction::Different(left, right)) => {
                    guards.push(Atom::Different(at(left), at(right)))
                }
                Some(Restriction::Less(left, right)) => guards.push(Atom::Less(at(left), at(right))),
                None => {}
            }
            let value = array.value.as_ref().filter(|own| holds_indicator(own));
            match value.filter(|_| array.kind == ArrayKind::Constant && factor.power == 1) {
                Some(value) => {
                    values.push((value.clone(), array.letters.clone(), subscripts.clone()));
                    false
                }
                None => true,
            }
        });
        rest.factors.extend(guards.into_iter().map(Factor::of));
        let mut product = Sum::number(1.0);
        for (value, letters, subscripts) in values {
            let map: Substitution = letters.into_iter().zip(subscripts).collect();
            let value = to_sum(symbols, &value);
            let mut taken: Vec<LetterId> = Vec::new();
            map.values().for_each(|own| own.letters(&mut taken));
            let value = value.terms.iter().map(|own| {
                let own = rename_apart(symbols, own, &taken);
                substitute(symbols, &own, &map)
            });
            let value = Sum { terms: value.collect() };
            product = multiply(symbols, &product, &value);
        }
        out = out.plus(distribute(symbols, &rest, &product));
    }
    canonical(symbols, &out)
}

/// Whether an expression of numbers and constants compares letters.
fn holds_indicator(expression: &Expression) -> bool {
    match expression {
        Expression::Indicator(..) => true,
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Position(_)
        | Expression::OfMatrix(..) => false,
        Expression::Sum(_, body) | Expression::Apply(_, body) => holds_indicator(body),
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().any(holds_indicator),
        Expression::Power(base, exponent) => holds_indicator(base) || holds_indicator(exponent),
    }
}

/// The sum without what is 0 by the values of the constants.
pub fn without_absent(symbols: &Symbols, sum: &Sum) -> Sum {
    let keys: Vec<(Term, f64)> = sum.terms.iter().map(|term| apart(symbols, term)).collect();
    let mut totals: BTreeMap<&Term, f64> = BTreeMap::new();
    for (key, value) in &keys {
        *totals.entry(key).or_default() += value;
    }
    let kept = sum.terms.iter().zip(&keys).filter(|(_, (key, _))| totals[key] != 0.0);
    Sum { terms: kept.map(|(term, _)| term.clone()).collect() }
}

/// A term as a number times what is no number, its summed letters without names.
fn apart(symbols: &Symbols, term: &Term) -> (Term, f64) {
    let mut value = term.coefficient.0;
    let mut rest = Term { coefficient: Coefficient(1.0), ..term.clone() };
    rest.factors.retain(|factor| {
        let number = match &factor.atom {
            Atom::Value(array, _) => number_of(symbols, *array),
            _ => None,
        };
        value *= number.map_or(1.0, |number| number.powi(factor.power));
        number.is_none()
    });
    (nameless(symbols, &rest), value)
}
