//! Refuses statements that read an entry which a restriction leaves out: `x[h[n], a[n]]` where `data x[i, j] : real, i < j` and `h[n]` is not
//! before `a[n]`.
//!
//! A sum over an axis of the array goes over the entries that exist: there what is left out counts as 0, and nothing is refused.

use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_algebra::{ArrayId, Expression, LetterId, Restriction, Subscript};
use cavi_model::Statement;

use super::data_error::DataError;
use super::defined::Uses;
use super::known::free_letters;

/// One place of a statement that reads a restricted array.
struct Read<'e> {
    array: ArrayId,
    subscripts: &'e [Subscript],
    /// The known factors beside it.
    around: Vec<&'e Expression>,
}

/// Reports the first entry of each statement that it reads and that does not exist.
pub(super) fn read_outside(
    uses: &Uses<'_>,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
    problems: &mut Vec<DataError>,
) {
    for statement in &uses.model.statements {
        let mut reads = Vec::new();
        for argument in statement.arguments.iter().flatten() {
            gather(uses, &argument.value, &[], &mut Vec::new(), &mut reads);
        }
        problems.extend(reads.iter().find_map(|read| first(uses, statement, read, at)));
    }
}

fn gather<'e>(
    uses: &Uses<'_>,
    value: &'e Expression,
    around: &[&'e Expression],
    summed: &mut Vec<LetterId>,
    into: &mut Vec<Read<'e>>,
) {
    match value {
        Expression::Number(_) | Expression::Indicator(..) | Expression::Position(_) => {}
        Expression::Value(array, subscripts) => reads(uses, *array, subscripts, around, summed, into),
        Expression::Sum(letters, body) => {
            let before = summed.len();
            summed.extend(letters);
            gather(uses, body, around, summed, into);
            summed.truncate(before);
        }
        Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => {
            gather(uses, body, around, summed, into);
        }
        Expression::Add(parts) => parts.iter().for_each(|part| gather(uses, part, around, summed, into)),
        Expression::Multiply(factors) => {
            for (place, factor) in factors.iter().enumerate() {
                let others = factors.iter().enumerate().filter(|(other, own)| {
                    // Every other factor that is known; of the array itself it would be 0 where it is to be judged.
                    *other != place && uses.known.knows(own) && !reads_restricted(uses, own)
                });
                let around: Vec<&Expression> =
                    around.iter().copied().chain(others.map(|(_, own)| own)).collect();
                gather(uses, factor, &around, summed, into);
            }
        }
        Expression::Power(base, exponent) => {
            gather(uses, base, around, summed, into);
            gather(uses, exponent, around, summed, into);
        }
    }
}

/// An element, and those that its subscripts read.
fn reads<'e>(
    uses: &Uses<'_>,
    array: ArrayId,
    subscripts: &'e [Subscript],
    around: &[&'e Expression],
    summed: &[LetterId],
    into: &mut Vec<Read<'e>>,
) {
    for subscript in subscripts {
        if let Subscript::Index(inner, subscripts) = subscript {
            reads(uses, *inner, subscripts, around, summed, into);
        }
    }
    let own = uses.model.symbols.array(array);
    let Some((left, _, right)) = own.restriction.map(Restriction::parts) else { return };
    let restricted =
        (own.letters.iter().zip(subscripts)).filter(|(letter, _)| [left, right].contains(letter));
    let mut letters = Vec::new();
    restricted.for_each(|(_, subscript)| subscript.letters(&mut letters));
    if !letters.iter().any(|letter| summed.contains(letter)) {
        into.push(Read { array, subscripts, around: around.to_vec() });
    }
}

fn reads_restricted(uses: &Uses<'_>, value: &Expression) -> bool {
    let mut found = false;
    value.visit_values(&mut |array, _| found |= uses.model.symbols.array(array).restriction.is_some());
    found
}

/// The first entry that is read and does not exist.
fn first(
    uses: &Uses<'_>,
    statement: &Statement,
    read: &Read<'_>,
    at: &dyn Fn(ArrayId, &[usize]) -> String,
) -> Option<DataError> {
    let (symbols, known) = (&uses.model.symbols, uses.known);
    let array = symbols.array(read.array);
    if restricts_alike(uses, statement, read) == Some(true) {
        return None;
    }
    let mut letters = Vec::new();
    read.subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
    letters.extend(read.around.iter().flat_map(|own| free_letters(own)));
    let letters = uses.to_look_through(letters.into_iter())?;
    let mut found = None;
    for_each_value(symbols, known, &letters, &mut Assignment::new(), &mut |assignment| {
        if found.is_some() {
            return;
        }
        let positions: Option<Vec<usize>> =
            read.subscripts.iter().map(|own| known.position_of(own, assignment)).collect();
        let Some(positions) = positions.filter(|own| !array.has_entry(own)) else { return };
        let mut is_zero = |own: &&Expression| known.value_of(own, assignment) == Some(0.0);
        if !read.around.iter().any(&mut is_zero) && uses.is_read(statement, assignment) {
            found = Some(positions);
        }
    });
    let target = symbols.array(statement.target);
    found.map(|positions| {
        let (left, relation, right) = array.restriction.expect("only restricted arrays are read here").parts();
        let letter = |own: LetterId| symbols.letter(own).name.as_str();
        DataError::new(format!(
            "in the statement `{} ~ {}(...)`: {} is read, and does not exist: `{}` has `{} {relation} {}`",
            target.name,
            statement.family.name(),
            at(read.array, &positions),
            array.name,
            letter(left),
            letter(right),
        ))
        .help(format!(
            "declare `{}` without the restriction and give it that entry, or leave out what reads it: where `{}` is missing nothing is read",
            array.name, target.name
        ))
    })
}

/// Whether the statement's own target has no entry where the array has none, by how both are written; `None` where that does not show.
fn restricts_alike(uses: &Uses<'_>, statement: &Statement, read: &Read<'_>) -> Option<bool> {
    let symbols = &uses.model.symbols;
    let (array, target) = (symbols.array(read.array), symbols.array(statement.target));
    let written = uses.model.target_letters(statement);
    let on_the_left = |letter: LetterId| Some(written[target.letters.iter().position(|own| *own == letter)?]);
    let at = |letter: LetterId| {
        let place = array.letters.iter().position(|own| *own == letter)?;
        match read.subscripts.get(place)? {
            Subscript::Letter(letter) => Some(*letter),
            Subscript::Index(..) => None,
        }
    };
    let (own, is_ordered) = match array.restriction? {
        Restriction::Less(left, right) => ([at(left)?, at(right)?], true),
        Restriction::Different(left, right) => ([at(left)?, at(right)?], false),
    };
    let (target, target_is_ordered) = match target.restriction? {
        Restriction::Less(left, right) => ([on_the_left(left)?, on_the_left(right)?], true),
        Restriction::Different(left, right) => ([on_the_left(left)?, on_the_left(right)?], false),
    };
    let turned = [target[1], target[0]];
    Some(own == target && (target_is_ordered || !is_ordered) || own == turned && !is_ordered)
}
