//! An expression to a sum of products: `+ - * / ^ sum` multiplied out, functions kept.

use super::coincidences::difference_of_indicators;
use super::multiply::{multiply, power};
use super::push_log_into_product::push_log_into_product;
use super::substitute::rename_apart;
use crate::expression::{Comparison, Expression, Function, Subscript};
use crate::sum_of_products::{Atom, Factor, Sum, Term};
use crate::symbols::Symbols;

/// The expression as a sum of products.
pub fn to_sum(symbols: &mut Symbols, expression: &Expression) -> Sum {
    match expression {
        Expression::Number(value) => Sum::number(*value),
        Expression::Value(array, subscripts) => Sum::atom(Atom::Value(*array, subscripts.clone())),
        Expression::Indicator(comparison, left, right) => {
            let (left, right) = (Subscript::Letter(*left), Subscript::Letter(*right));
            Sum::atom(match comparison {
                Comparison::Equal => Atom::Equal(left, right),
                Comparison::Different => Atom::Different(left, right),
                Comparison::Less => Atom::Less(left, right),
            })
        }
        Expression::Sum(letters, body) => {
            let body = to_sum(symbols, body);
            let terms = body.terms.iter().map(|term| {
                let mut term = rename_apart(symbols, term, letters);
                term.sums.splice(0..0, letters.iter().copied());
                term
            });
            Sum { terms: terms.collect() }
        }
        Expression::Add(parts) => {
            let sum = parts.iter().fold(Sum::zero(), |sum, part| sum.plus(to_sum(symbols, part)));
            difference_of_indicators(&sum).map_or(sum, Sum::atom)
        }
        Expression::Multiply(parts) => parts.iter().fold(Sum::number(1.0), |product, part| {
            let part = to_sum(symbols, part);
            multiply(symbols, &product, &part)
        }),
        Expression::Power(base, exponent) => {
            let base = to_sum(symbols, base);
            let exponent = to_sum(symbols, exponent);
            match number_of(symbols, &exponent) {
                Some(value) if value.fract() == 0.0 && value.abs() <= 64.0 => {
                    power(symbols, &base, value as i32)
                }
                Some(value) if (2.0 * value).fract() == 0.0 && value.abs() <= 64.0 => {
                    let root = base.apply(Function::Sqrt);
                    power(symbols, &root, (2.0 * value) as i32)
                }
                Some(_) | None => Sum::atom(Atom::Apply(Function::Power, vec![base, exponent])),
            }
        }
        Expression::OfMatrix(..) | Expression::Position(_) => {
            unreachable!("they stand in the values of constants, which are read by their names")
        }
        Expression::Apply(Function::Log, body) => {
            let body = to_sum(symbols, body);
            push_log_into_product(symbols, &body)
        }
        Expression::Apply(function, body) => {
            let body = to_sum(symbols, body);
            match body.as_number() {
                Some(value) if *function == Function::Exp => Sum::number(value.exp()),
                Some(value) if *function == Function::Sqrt => Sum::number(value.sqrt()),
                Some(_) | None => body.apply(*function),
            }
        }
    }
}

/// The number that a sum of numbers and of constants with numbers is.
fn number_of(symbols: &Symbols, sum: &Sum) -> Option<f64> {
    let of_factor = |factor: &Factor| match &factor.atom {
        Atom::Value(array, _) => Some(symbols.number(*array)?.powi(factor.power)),
        _ => None,
    };
    let of_term = |term: &Term| {
        let factors = term.factors.iter().map(of_factor).product::<Option<f64>>()?;
        term.sums.is_empty().then_some(term.coefficient.0 * factors)
    };
    sum.terms.iter().map(of_term).sum()
}
