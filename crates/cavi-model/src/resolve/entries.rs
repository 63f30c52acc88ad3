//! `sum_j f(d_ij) = sum_(j: j != i) f(d_ij)` for data `d[i, j]` with `i != j`: an entry that does not exist has no value, and a sum runs over
//! those that exist. Where the body is 0 for a `d_ij` of 0, as `a_j d_ij` is, nothing has to be said, since what does not exist is read as 0.
//!
//! Where the entries of one restriction are read, the whole body runs over them, as `1 + d_ij` would if it were data with a name. Where
//! those of several are, each addend runs over the entries that it reads itself: with `x[i, j]` for `i < j`,
//! `sum_j (d_ij + x_ij) = sum_(j: j != i) d_ij + sum_(j: i < j) x_ij`. What is no sum of addends, as `exp(-(d_ij + x_ij))`, is there where all
//! entries are that it reads.
//!
//! An index in place of a letter stays as it is: whether `d[i, h[j]]` exists is seen where the data are bound.

use cavi_algebra::{ArrayId, Comparison, Expression, Function, LetterId, Restriction, Subscript, Symbols};

/// Two elements of one addend that are never there together.
pub(super) type Apart = [(ArrayId, Vec<Subscript>); 2];

/// The sum of a body over letters, its restricted data read where they exist.
///
/// # Errors
///
/// An addend reads two elements of which one exists only where the other does not.
pub(super) fn over_entries(
    symbols: &Symbols,
    sums: Vec<LetterId>,
    body: Expression,
) -> Result<Expression, Apart> {
    let body = where_there(symbols, &sums, body)?;
    Ok(Expression::Sum(sums, Box::new(body)))
}

/// An element whose existence is asked for, and the indicator that says so.
struct Wanted {
    array: ArrayId,
    subscripts: Vec<Subscript>,
    exists: Expression,
}

/// The restricted elements that an expression reads with a summed letter, none that a sum inside of it binds.
fn wanted(symbols: &Symbols, sums: &[LetterId], body: &Expression) -> Vec<Wanted> {
    let mut found: Vec<Wanted> = Vec::new();
    body.visit_values(&mut |array, subscripts| {
        let Some((comparison, left, right)) = existence(symbols, array, subscripts) else { return };
        let is_summed = sums.contains(&left) || sums.contains(&right);
        let is_known = found.iter().any(|own| own.array == array && own.subscripts == subscripts);
        if is_summed && !binds(body, left) && !binds(body, right) && !is_known {
            let exists = Expression::Indicator(comparison, left, right);
            found.push(Wanted { array, subscripts: subscripts.to_vec(), exists });
        }
    });
    found
}

/// A body, or each of its addends, times the indicators of the entries that it reads.
fn where_there(symbols: &Symbols, sums: &[LetterId], mut body: Expression) -> Result<Expression, Apart> {
    let mut wanted_here = wanted(symbols, sums, &body);
    wanted_here.retain(|own| !vanishes(&body, own));
    if wanted_here.is_empty() {
        return Ok(body);
    }
    let inside = |part| where_there(symbols, sums, part);
    let is_one = wanted_here.iter().all(|own| is_same(&own.exists, &wanted_here[0].exists));
    match body {
        Expression::Add(parts) if !is_one => {
            return parts.into_iter().map(inside).collect::<Result<_, _>>().map(Expression::Add);
        }
        Expression::Sum(letters, body) if !is_one => {
            return Ok(Expression::Sum(letters, Box::new(inside(*body)?)));
        }
        // One factor alone reads such data: the product is linear in it.
        Expression::Multiply(ref mut parts) if !is_one => {
            let reads = |part: &Expression| !wanted(symbols, sums, part).is_empty();
            let reading: Vec<usize> = (0..parts.len()).filter(|place| reads(&parts[*place])).collect();
            if let [only] = reading[..]
                && matches!(parts[only], Expression::Add(_) | Expression::Sum(..))
            {
                let part = std::mem::replace(&mut parts[only], Expression::Number(1.0));
                parts[only] = inside(part)?;
                return Ok(body);
            }
        }
        _ => {}
    }
    let mut factors = indicators(wanted_here)?;
    match body {
        Expression::Multiply(parts) => factors.extend(parts),
        other => factors.push(other),
    }
    Ok(Expression::Multiply(factors))
}

/// The indicators of elements, each once.
fn indicators(wanted: Vec<Wanted>) -> Result<Vec<Expression>, Apart> {
    let excludes = |own: &Expression, other: &Expression| match (own, other) {
        (
            Expression::Indicator(Comparison::Less, left, right),
            Expression::Indicator(Comparison::Less, first, second),
        ) => left == second && right == first,
        _ => false,
    };
    for (place, one) in wanted.iter().enumerate() {
        if let Some(other) = wanted[place..].iter().find(|other| excludes(&one.exists, &other.exists)) {
            return Err([one, other].map(|own| (own.array, own.subscripts.clone())));
        }
    }
    let mut factors: Vec<Expression> = Vec::new();
    for own in wanted {
        if !factors.iter().any(|known| is_same(known, &own.exists)) {
            factors.push(own.exists);
        }
    }
    Ok(factors)
}

/// Whether two indicators say the same: `[i != j]` is `[j != i]`.
fn is_same(one: &Expression, other: &Expression) -> bool {
    let turned = |one: &Expression| match one {
        Expression::Indicator(own @ (Comparison::Different | Comparison::Equal), left, right) => {
            Some(Expression::Indicator(*own, *right, *left))
        }
        _ => None,
    };
    one == other || turned(one).as_ref() == Some(other)
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
fn vanishes(value: &Expression, element: &Wanted) -> bool {
    let inside = |own: &Expression| vanishes(own, element);
    match value {
        Expression::Value(own, at) => *own == element.array && *at == element.subscripts,
        Expression::Indicator(..) => is_same(value, &element.exists),
        Expression::Sum(_, body) => inside(body),
        Expression::Add(parts) => parts.iter().all(inside),
        // 0 times the log of 0 is no number.
        Expression::Multiply(parts) => {
            parts.iter().any(|part| is_same(part, &element.exists))
                || parts.iter().any(inside) && parts.iter().all(|part| is_finite(part, element))
        }
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

/// Whether an expression is a finite number by its form where an element is 0: it reads it, if at all, in sums, products,
/// positive powers and exponentials.
fn is_finite(value: &Expression, element: &Wanted) -> bool {
    let inside = |own: &Expression| is_finite(own, element);
    match value {
        Expression::Sum(_, body) | Expression::Apply(Function::Exp, body) => inside(body),
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().all(inside),
        Expression::Power(base, exponent) if matches!(**exponent, Expression::Number(power) if power > 0.0 && power.fract() == 0.0) => {
            inside(base)
        }
        Expression::Power(..) | Expression::Apply(..) | Expression::OfMatrix(..) => {
            let mut reads = false;
            value.visit_values(&mut |array, subscripts| {
                reads |= array == element.array && subscripts == element.subscripts;
            });
            !reads
        }
        Expression::Value(..)
        | Expression::Indicator(..)
        | Expression::Number(_)
        | Expression::Position(_) => true,
    }
}
