//! Divisions by what is 0 whatever the values of latents, data and constants are: `a / (1 - 1)`, `c / (t - t)`.

use cavi_algebra::canonical::{canonical, is_zero};
use cavi_algebra::rules::to_sum;
use cavi_algebra::{Atom, Expression, Function, Sum, Symbols};

/// Divisors with more parts than this are judged with the sum that they stand in.
const MANY: usize = 1000;

/// The first divisor in an expression that is 0 by its form.
pub fn zero_divisor<'e>(symbols: &mut Symbols, expression: &'e Expression) -> Option<&'e Expression> {
    match expression {
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_)
        | Expression::OfMatrix(..) => None,
        Expression::Sum(_, body) | Expression::Apply(_, body) => zero_divisor(symbols, body),
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter().find_map(|part| zero_divisor(symbols, part))
        }
        Expression::Power(base, exponent) => {
            let inside = zero_divisor(symbols, base).or_else(|| zero_divisor(symbols, exponent));
            let negative = matches!(**exponent, Expression::Number(value) if value < 0.0);
            if inside.is_some() || !negative || parts(base) > MANY {
                return inside;
            }
            let divisor = to_sum(symbols, base);
            canonical(symbols, &divisor).is_zero().then_some(base)
        }
    }
}

/// How many nodes an expression has.
fn parts(expression: &Expression) -> usize {
    let below = match expression {
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => 0,
        Expression::Sum(_, body) | Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            parts(body)
        }
        Expression::Add(inner) | Expression::Multiply(inner) => inner.iter().map(parts).sum(),
        Expression::Power(base, exponent) => parts(base) + parts(exponent),
    };
    1 + below
}

/// Whether a sum in canonical form divides by 0.
pub fn divides_by_zero(sum: &Sum) -> bool {
    sum.terms.iter().flat_map(|term| &term.factors).any(|factor| {
        let negative = factor.power < 0 && is_zero(&factor.atom);
        let power = match &factor.atom {
            Atom::Apply(Function::Power, arguments) => {
                arguments[0].is_zero() && arguments[1].as_number().is_some_and(|exponent| exponent < 0.0)
            }
            _ => false,
        };
        negative || power || factor.atom.nested().into_iter().any(divides_by_zero)
    })
}
