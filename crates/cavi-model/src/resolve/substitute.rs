//! Replaces the letters of a definition by the subscripts with which it is used, without capturing other letters.

use cavi_algebra::{Expression, LetterId, Subscript, Symbols};

use super::places::Scope;

/// What stands for a letter.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub letter: LetterId,
    pub by: Subscript,
}

/// The value with its letters replaced. `Err` with a letter that must stay a letter, and for which an index stands.
pub(super) fn substitute(
    symbols: &mut Symbols,
    scope: &Scope,
    value: &Expression,
    bindings: &[Binding],
) -> Result<Expression, LetterId> {
    Ok(match value {
        Expression::Number(number) => Expression::Number(*number),
        Expression::Value(array, subscripts) => {
            let subscripts = subscripts.iter().map(|subscript| in_subscript(subscript, bindings)).collect();
            Expression::Value(*array, subscripts)
        }
        Expression::Indicator(comparison, left, right) => {
            Expression::Indicator(*comparison, as_letter(*left, bindings)?, as_letter(*right, bindings)?)
        }
        Expression::Add(parts) => Expression::Add(in_parts(symbols, scope, parts, bindings)?),
        Expression::Multiply(parts) => Expression::Multiply(in_parts(symbols, scope, parts, bindings)?),
        Expression::Power(base, exponent) => Expression::Power(
            Box::new(substitute(symbols, scope, base, bindings)?),
            Box::new(substitute(symbols, scope, exponent, bindings)?),
        ),
        Expression::Apply(function, argument) => {
            Expression::Apply(*function, Box::new(substitute(symbols, scope, argument, bindings)?))
        }
        Expression::Position(letter) => Expression::Position(as_letter(*letter, bindings)?),
        Expression::OfMatrix(function, matrix, row, column) => Expression::OfMatrix(
            *function,
            Box::new(substitute(symbols, scope, matrix, bindings)?),
            as_letter(*row, bindings)?,
            as_letter(*column, bindings)?,
        ),
        Expression::Sum(letters, body) => {
            let mut inner = bindings.to_vec();
            // Ancestors come first, whatever the order in which the letters are written.
            let mut order = letters.clone();
            order.sort_by_key(|letter| symbols.lineage(*letter).len());
            for letter in order {
                let parent = match symbols.letter(letter).parent {
                    Some(parent) => Some(as_letter(parent, &inner)?),
                    None => None,
                };
                let clashes =
                    scope.holds(letter) || inner.iter().any(|binding| mentions(&binding.by, letter));
                let actual = if clashes || parent != symbols.letter(letter).parent {
                    symbols.fresh(letter, parent)
                } else {
                    letter
                };
                inner.push(Binding { letter, by: Subscript::Letter(actual) });
            }
            let letters: Result<Vec<LetterId>, LetterId> =
                letters.iter().map(|letter| as_letter(*letter, &inner)).collect();
            Expression::Sum(letters?, Box::new(substitute(symbols, scope, body, &inner)?))
        }
    })
}

fn in_parts(
    symbols: &mut Symbols,
    scope: &Scope,
    parts: &[Expression],
    bindings: &[Binding],
) -> Result<Vec<Expression>, LetterId> {
    parts.iter().map(|part| substitute(symbols, scope, part, bindings)).collect()
}

fn in_subscript(subscript: &Subscript, bindings: &[Binding]) -> Subscript {
    match subscript {
        Subscript::Letter(letter) => {
            let binding = bindings.iter().rev().find(|binding| binding.letter == *letter);
            binding.map_or_else(|| subscript.clone(), |binding| binding.by.clone())
        }
        Subscript::Index(array, inner) => {
            Subscript::Index(*array, inner.iter().map(|inner| in_subscript(inner, bindings)).collect())
        }
    }
}

fn as_letter(letter: LetterId, bindings: &[Binding]) -> Result<LetterId, LetterId> {
    match bindings.iter().rev().find(|binding| binding.letter == letter).map(|binding| &binding.by) {
        None => Ok(letter),
        Some(Subscript::Letter(by)) => Ok(*by),
        Some(Subscript::Index(..)) => Err(letter),
    }
}

fn mentions(subscript: &Subscript, letter: LetterId) -> bool {
    let mut letters = Vec::new();
    subscript.letters(&mut letters);
    letters.contains(&letter)
}
