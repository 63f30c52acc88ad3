//! Where derived data are 0 by their form: wherever the data that they are computed from are.
//!
//! Let some arrays, the operands, be 0 at a place. A number is what it is, an operand is 0, and of numbers any function is a number: `log(x + 1)`
//! is `log(0 + 1) = 0`. A product with a 0 is 0 if its other factors are finite there, `x[d, v] * idf[v]`. Elements of other data are, as long as
//! none is missing, and so are sums and products of these; any other factor, as `1 / n[v]`, is looked at along its own letters.

use std::collections::BTreeSet;

use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_algebra::{ArrayId, Expression, Function, LetterId, Subscript};
use cavi_families::functions;

use super::compute::is_element;
use super::known::{Known, free_letters};
use super::place::Target;

/// Factors with more values than this are not looked at one by one.
const MANY: usize = 5_000_000;

/// A derived array, and the arrays that are taken to be 0 at one of its places.
pub(super) struct Zeros<'a> {
    pub target: &'a Target<'a>,
    pub known: &'a Known<'a>,
    /// With the letters of the derived array.
    pub operands: &'a [ArrayId],
}

/// What is known of an expression wherever the operands are 0.
#[derive(Clone, Copy)]
enum There {
    /// It is this number.
    Number(f64),
    /// It is finite.
    Finite,
    /// Nothing.
    Unknown,
}

impl There {
    fn is_finite(self) -> bool {
        match self {
            There::Number(own) => own.is_finite(),
            There::Finite => true,
            There::Unknown => false,
        }
    }
}

impl Zeros<'_> {
    /// Whether an expression is 0 wherever the operands are.
    pub fn vanishes(&self, value: &Expression) -> bool {
        matches!(self.there(value), There::Number(0.0))
    }

    fn there(&self, value: &Expression) -> There {
        match value {
            Expression::Number(own) => There::Number(*own),
            Expression::Value(id, subscripts) => self.element(*id, subscripts),
            Expression::Indicator(..) | Expression::Position(_) => There::Finite,
            Expression::OfMatrix(..) => There::Unknown,
            Expression::Sum(_, body) => match self.there(body) {
                There::Number(0.0) => There::Number(0.0),
                own if own.is_finite() => There::Finite,
                _ => There::Unknown,
            },
            Expression::Add(parts) => {
                let parts: Vec<There> = parts.iter().map(|part| self.there(part)).collect();
                combined(&parts, &|numbers| numbers.iter().sum())
            }
            Expression::Multiply(parts) => {
                let own: Vec<There> = parts.iter().map(|part| self.there(part)).collect();
                let is_finite =
                    |(own, part): (&There, &Expression)| own.is_finite() || self.is_finite_along(part);
                if own.iter().any(|own| matches!(own, There::Number(0.0)))
                    && own.iter().zip(parts).all(is_finite)
                {
                    return There::Number(0.0);
                }
                combined(&own, &|numbers| numbers.iter().product())
            }
            Expression::Power(base, exponent) => match (self.there(base), self.there(exponent)) {
                (There::Number(base), There::Number(exponent)) => {
                    There::Number(functions::power(base, exponent))
                }
                (base, There::Number(exponent))
                    if base.is_finite() && exponent >= 0.0 && exponent.fract() == 0.0 =>
                {
                    There::Finite
                }
                _ => There::Unknown,
            },
            Expression::Apply(Function::LogDeterminant, _) => There::Unknown,
            Expression::Apply(function, argument) => match self.there(argument) {
                There::Number(own) => There::Number(functions::apply(*function, &[own])),
                There::Finite | There::Unknown => There::Unknown,
            },
        }
    }

    fn element(&self, id: ArrayId, subscripts: &[Subscript]) -> There {
        if self.operands.contains(&id) && is_element(self.target.array, subscripts) {
            return There::Number(0.0);
        }
        if subscripts.is_empty() {
            let value = self.known.value_of(&Expression::Value(id, Vec::new()), &mut Assignment::new());
            return value.map_or(There::Unknown, There::Number);
        }
        let mut whole = self.is_whole(id);
        for subscript in subscripts {
            whole = whole && self.is_position(subscript);
        }
        if whole { There::Finite } else { There::Unknown }
    }

    /// Whether a subscript is a position wherever it is read.
    fn is_position(&self, subscript: &Subscript) -> bool {
        match subscript {
            Subscript::Letter(_) => true,
            Subscript::Index(array, inner) => {
                self.is_whole(*array) && inner.iter().all(|own| self.is_position(own))
            }
        }
    }

    /// Whether every combination of positions has a value.
    fn is_whole(&self, id: ArrayId) -> bool {
        self.target.symbols.array(id).restriction.is_none() && self.known.has_all(id)
    }

    /// Whether an expression is finite at all positions of its own letters, where the operands are 0. Where these are as many as the places of the array,
    /// nothing is gained by a look.
    fn is_finite_along(&self, value: &Expression) -> bool {
        let symbols = self.target.symbols;
        let value = self.at_zero(value);
        let all: BTreeSet<LetterId> = free_letters(&value).into_iter().collect();
        let above: BTreeSet<LetterId> =
            all.iter().flat_map(|letter| symbols.lineage(*letter)[1..].to_vec()).collect();
        let letters: Vec<LetterId> = all.difference(&above).copied().collect();
        let places = letters.iter().map(|own| self.known.size(*own)).fold(1, usize::saturating_mul);
        if places > MANY || self.target.cells().is_some_and(|cells| places >= cells && cells > 1) {
            return false;
        }
        let mut is_finite = true;
        for_each_value(symbols, self.known, &letters, &mut Assignment::new(), &mut |assignment| {
            is_finite = is_finite && self.known.value_of(&value, assignment).is_some_and(f64::is_finite);
        });
        is_finite
    }

    /// An expression with 0 for the operands.
    fn at_zero(&self, value: &Expression) -> Expression {
        let boxed = |own: &Expression| Box::new(self.at_zero(own));
        let all = |parts: &[Expression]| parts.iter().map(|part| self.at_zero(part)).collect();
        match value {
            Expression::Value(id, subscripts)
                if self.operands.contains(id) && is_element(self.target.array, subscripts) =>
            {
                Expression::Number(0.0)
            }
            Expression::Number(_)
            | Expression::Value(..)
            | Expression::Indicator(..)
            | Expression::Position(_)
            | Expression::OfMatrix(..) => value.clone(),
            Expression::Sum(letters, body) => Expression::Sum(letters.clone(), boxed(body)),
            Expression::Add(parts) => Expression::Add(all(parts)),
            Expression::Multiply(parts) => Expression::Multiply(all(parts)),
            Expression::Power(base, exponent) => Expression::Power(boxed(base), boxed(exponent)),
            Expression::Apply(function, argument) => Expression::Apply(*function, boxed(argument)),
        }
    }
}

/// What numbers come to together, if all are numbers.
fn combined(parts: &[There], with: &dyn Fn(&[f64]) -> f64) -> There {
    let number = |own: &There| if let There::Number(own) = own { Some(*own) } else { None };
    match parts.iter().map(number).collect::<Option<Vec<f64>>>() {
        Some(numbers) => There::Number(with(&numbers)),
        None if parts.iter().all(|own| own.is_finite()) => There::Finite,
        None => There::Unknown,
    }
}
