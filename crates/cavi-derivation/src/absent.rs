//! Terms whose coefficients are 0 by the values of the constants: `(a - 1) log x` at `a = 1`.
//!
//! They are kept if the program has a closed form with them, so that the equations hold for any value. Otherwise they
//! are left out, as if a number stood in the place of the constant.

use std::collections::BTreeMap;

use cavi_algebra::canonical::nameless;
use cavi_algebra::{ArrayId, ArrayKind, Atom, Coefficient, Expression, Sum, Symbols, Term};
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
        Expression::Equal(..) | Expression::Position(_) | Expression::Sum(..) | Expression::OfMatrix(..) => {
            None
        }
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
