//! Numbers that stand for a parameter, as constants without a name of their own.
//!
//! A density has `a - 1` for a shape `a`, and its natural parameter takes the 1 back. With a number in place of `a` the
//! algebra would fold `1e-14 - 1 + 1`, which in doubles is `9.99e-15`; as a constant the number comes through untouched.
//! Numbers for which this makes no difference (0, 1, 2, 1/2) stay numbers, so that equations simplify.

use cavi_algebra::{Absent, Array, ArrayId, ArrayKind, Expression, Support, Symbols};
use cavi_syntax::Span;

use crate::model::Statement;

/// Replaces such numbers among the arguments of statements.
pub fn name_literals(symbols: &mut Symbols, spans: &mut Vec<Span>, statements: &mut [Statement]) {
    for argument in statements.iter_mut().flat_map(|statement| statement.arguments.iter_mut().flatten()) {
        let Expression::Number(value) = argument.value else { continue };
        if (value - 1.0) + 1.0 == value {
            continue;
        }
        let plain = (1e-4..1e16).contains(&value.abs());
        let name = if plain { value.to_string() } else { format!("{value:e}") };
        let known = symbols.arrays.iter().position(|array| array.name == name);
        let id = known.map(ArrayId::from).unwrap_or_else(|| {
            symbols.arrays.push(Array {
                name,
                kind: ArrayKind::Constant,
                letters: Vec::new(),
                slice: Vec::new(),
                written: Vec::new(),
                support: if value >= 0.0 { Support::Nonnegative } else { Support::Real },
                absent: Absent::default(),
                restriction: None,
                value: Some(Expression::Number(value)),
                center: None,
                scale: None,
            });
            spans.push(argument.span);
            ArrayId::from(symbols.arrays.len() - 1)
        });
        argument.value = Expression::Value(id, Vec::new());
    }
}
