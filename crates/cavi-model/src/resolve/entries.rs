//! `sum_j f(d_ij) = sum_(j: j != i) f(d_ij)` for data `d[i, j]` with `i != j`: an entry that does not exist has no value, and a sum runs over
//! those that exist. Where the body is 0 for a `d_ij` of 0, as `a_j d_ij` is, nothing has to be said, since what does not exist is read as 0.
//!
//! Of a sum of terms of which no place has all entries, as `x_ij + x_ji` with `i < j`, each term runs over its own entries.
//!
//! An index in place of a letter stays as it is: whether `d[i, h[j]]` exists is seen where the data are bound.

use cavi_algebra::{ArrayId, Comparison, Expression, Function, LetterId, Restriction, Subscript, Symbols};

/// The sum of a body over letters, its restricted data read where they exist.
pub(super) fn over_entries(symbols: &Symbols, sums: Vec<LetterId>, body: Expression) -> Expression {
    let body = where_there(symbols, &sums, body);
    Expression::Sum(sums, Box::new(body))
}

/// A body times the indicators of the entries that it reads.
fn where_there(symbols: &Symbols, sums: &[LetterId], body: Expression) -> Expression {
    let mut wanted: Vec<(ArrayId, Vec<Subscript>, Expression)> = Vec::new();
    body.visit_values(&mut |array, subscripts| {
        let Some((comparison, left, right)) = existence(symbols, array, subscripts) else { return };
        let is_summed = sums.contains(&left) || sums.contains(&right);
        let exists = Expression::Indicator(comparison, left, right);
        let known = |own: &(ArrayId, Vec<Subscript>, Expression)| own.0 == array && own.1 == subscripts;
        if is_summed && !binds(&body, left) && !binds(&body, right) && !wanted.iter().any(known) {
            wanted.push((array, subscripts.to_vec(), exists));
        }
    });
    let mut factors: Vec<Expression> = Vec::new();
    for (array, subscripts, exists) in wanted {
        if !vanishes(&body, array, &subscripts, &exists) && !factors.contains(&exists) {
            factors.push(exists);
        }
    }
    let excludes = |own: &Expression, other: &Expression| match (own, other) {
        (
            Expression::Indicator(Comparison::Less, left, right),
            Expression::Indicator(Comparison::Less, first, second),
        ) => left == second && right == first,
        _ => false,
    };
    let is_empty = factors.iter().any(|own| factors.iter().any(|other| excludes(own, other)));
    match body {
        body if factors.is_empty() => return body,
        Expression::Add(parts) if is_empty => {
            let each = parts.into_iter().map(|part| where_there(symbols, sums, part));
            return Expression::Add(each.collect());
        }
        Expression::Multiply(parts) => factors.extend(parts),
        other => factors.push(other),
    }
    Expression::Multiply(factors)
}

/// What two letters of an element have to be for it to exist; `None` where it always does, or where an index stands for a letter.
fn existence(
    symbols: &Symbols,
    array: ArrayId,
    subscripts: &[Subscript],
) -> Option<(Comparison, LetterId, LetterId)> {
    let own = symbols.array(array);
    let (comparison, left, right) = match own.restriction? {
        Restriction::Different(left, right) => (Comparison::Different, left, right),
        Restriction::Less(left, right) => (Comparison::Less, left, right),
    };
    let at = |letter: LetterId| {
        let place = own.letters.iter().position(|known| *known == letter)?;
        match subscripts.get(place)? {
            Subscript::Letter(letter) => Some(*letter),
            Subscript::Index(..) => None,
        }
    };
    Some((comparison, at(left)?, at(right)?))
}

/// Whether a sum inside of an expression binds a letter.
fn binds(value: &Expression, letter: LetterId) -> bool {
    match value {
        Expression::Sum(letters, body) => letters.contains(&letter) || binds(body, letter),
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().any(|part| binds(part, letter)),
        Expression::Power(base, exponent) => binds(base, letter) || binds(exponent, letter),
        Expression::Apply(_, inner) | Expression::OfMatrix(_, inner, ..) => binds(inner, letter),
        Expression::Number(_)
        | Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Position(_) => false,
    }
}

/// Whether an expression is 0 by its form where an element is, or says itself where the element exists.
fn vanishes(value: &Expression, array: ArrayId, subscripts: &[Subscript], exists: &Expression) -> bool {
    let inside = |own: &Expression| vanishes(own, array, subscripts, exists);
    match value {
        Expression::Value(own, at) => *own == array && at == subscripts,
        Expression::Indicator(..) => value == exists,
        Expression::Sum(_, body) => inside(body),
        Expression::Add(parts) => parts.iter().all(inside),
        Expression::Multiply(parts) => parts.iter().any(inside),
        Expression::Power(base, exponent) => {
            matches!(**exponent, Expression::Number(power) if power > 0.0) && inside(base)
        }
        Expression::Apply(Function::Sqrt, inner) => inside(inner),
        Expression::Apply(..)
        | Expression::Number(_)
        | Expression::Position(_)
        | Expression::OfMatrix(..) => false,
    }
}
