//! Which latents are indexed by every axis of a sparse array, and which statements hold them.
//!
//! Starting from the statement of the data: a latent of which an element is read at the entry itself is reached, then those
//! that its own statement reads there, and the statements that read it. All of them have to be at the same entry. Where
//! one is not (it is summed over an axis, a dense array reads it, a block of q joins several entries), the latents stay
//! arrays over all positions.

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, ArrayKind, Expression, LetterId, Subscript, Support};
use cavi_model::{Model, Start, Statement};

/// A variable of which each entry has an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The variable.
    pub array: ArrayId,
    /// For each coordinate of an entry, the dimension of the variable that it is.
    pub places: Vec<usize>,
}

/// Sparse data and the latents that live at their entries.
#[derive(Clone, Debug)]
pub struct Component {
    /// The data; the first one orders the coordinates.
    pub data: Vec<Member>,
    /// The latents.
    pub latents: Vec<Member>,
}

impl Member {
    /// The letters of the coordinates in the variable's own statement.
    pub fn letters(&self, model: &Model) -> Vec<LetterId> {
        let own = &model.symbols.array(self.array).letters;
        self.places.iter().map(|place| own[*place]).collect()
    }

    /// The letters that the coordinates have in an element.
    pub fn at(&self, subscripts: &[Subscript]) -> Option<Vec<LetterId>> {
        let letter = |place: &usize| match subscripts.get(*place) {
            Some(Subscript::Letter(letter)) => Some(*letter),
            Some(Subscript::Index(..)) | None => None,
        };
        self.places.iter().map(letter).collect()
    }
}

impl Component {
    /// Data and latents.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.data.iter().chain(&self.latents)
    }
}

/// The components of a program, by its text alone.
pub fn components(model: &Model) -> Vec<Component> {
    let mut components: Vec<Component> = Vec::new();
    for statement in &model.statements {
        let seen = |component: &Component| component.data.iter().any(|own| own.array == statement.target);
        if may_be_sparse(model, statement) && !components.iter().any(seen) {
            components.extend(component(model, statement));
        }
    }
    components
}

/// Whether the left of a statement is data of which an unlisted entry is missing, over several axes.
fn may_be_sparse(model: &Model, statement: &Statement) -> bool {
    let array = model.symbols.array(statement.target);
    let ragged = |letter: &LetterId| model.symbols.letter(*letter).parent.is_some();
    statement.observed
        && array.absent.missing
        && !array.absent.zero
        && statement.slices.is_empty()
        && array.letters.len() > 1
        && !array.letters.iter().any(ragged)
}

fn component(model: &Model, statement: &Statement) -> Option<Component> {
    let count = model.symbols.array(statement.target).letters.len();
    let mut members = vec![Member { array: statement.target, places: (0..count).collect() }];
    let mut next = 0;
    while next < members.len() {
        let member = members[next].clone();
        next += 1;
        let own = model.statement_of(member.array)?;
        // What its statement reads at the entry.
        let entry = member.letters(model);
        let mut found = Vec::new();
        visit(own, &mut |array, subscripts| {
            let place = |letter| subscripts.iter().position(|own| *own == Subscript::Letter(letter));
            let places: Option<Vec<usize>> = entry.iter().map(|letter| place(*letter)).collect();
            if let Some(places) = places
                && model.symbols.array(array).kind == ArrayKind::Latent
            {
                found.push(Member { array, places });
            }
        });
        // The statements that read it.
        for reader in &model.statements {
            let mut reads = Vec::new();
            visit(reader, &mut |array, subscripts| {
                if array == member.array {
                    reads.push(member.at(subscripts));
                }
            });
            for letters in reads {
                let dimensions = &model.symbols.array(reader.target).letters;
                let letters = letters?;
                let place = |letter: &LetterId| dimensions.iter().position(|own| own == letter);
                let places: Vec<usize> = letters.iter().map(place).collect::<Option<_>>()?;
                if reader.observed && !(may_be_sparse(model, reader) && dimensions.len() == count) {
                    return None;
                }
                found.push(Member { array: reader.target, places });
            }
        }
        for member in found {
            match members.iter().find(|own| own.array == member.array) {
                Some(known) if *known == member => {}
                Some(_) => return None,
                None => members.push(member),
            }
        }
    }
    let observed = |member: &Member| model.symbols.array(member.array).kind == ArrayKind::Data;
    let (data, latents): (Vec<Member>, Vec<Member>) = members.into_iter().partition(observed);
    let component = Component { data, latents };
    (!component.latents.is_empty() && stands_alone(model, &component)).then_some(component)
}

/// Whether nothing but single entries is said of the members.
fn stands_alone(model: &Model, component: &Component) -> bool {
    let symbols = &model.symbols;
    let first = &component.data[0];
    let axes: BTreeSet<_> =
        first.letters(model).into_iter().map(|letter| symbols.letter(letter).axis).collect();
    let weighs = |array: &cavi_algebra::Array| {
        array.support == Support::Multiplicity
            && array.letters.iter().any(|letter| axes.contains(&symbols.letter(*letter).axis))
    };
    if symbols.arrays.iter().any(weighs) {
        return false;
    }
    let whole = component.members().all(|member| {
        let letters = member.letters(model);
        let own = symbols.array(member.array);
        let Some(statement) = model.statement_of(member.array) else { return false };
        let distinct: BTreeSet<&LetterId> = letters.iter().collect();
        let mut bound = false;
        arguments(statement, &mut |expression| bound |= rebinds(expression, &letters));
        !bound && distinct.len() == letters.len() && member.places.iter().all(|place| !own.slice[*place])
    });
    whole
        && (0..model.blocks.len()).all(|block| copies_are_entries(model, component, block))
        && model.init.iter().all(|line| {
            let lives = component.latents.iter().any(|member| member.array == line.target);
            !(lives && matches!(line.start, Start::FromData { .. }))
        })
}

/// Whether a block of q has all its members at entries, one entry a copy, or none.
fn copies_are_entries(model: &Model, component: &Component, block: usize) -> bool {
    let spec = &model.blocks[block];
    let mut numbers: Vec<Vec<Option<usize>>> = Vec::new();
    for (array, plates) in spec.members.iter().zip(&model.block_plates[block]) {
        let Some(member) = component.latents.iter().find(|member| member.array == *array) else { continue };
        let place = |letter: &LetterId| plates.iter().position(|own| own == letter);
        numbers.push(member.letters(model).iter().map(place).collect());
    }
    let alike = numbers.windows(2).all(|pair| pair[0] == pair[1]);
    numbers.is_empty()
        || numbers.len() == spec.members.len() && alike && numbers[0].iter().all(Option::is_some)
}

/// Whether an expression sums over one of the letters, or asks whether it is equal to another letter.
fn rebinds(expression: &Expression, letters: &[LetterId]) -> bool {
    match expression {
        Expression::Number(_) | Expression::Value(..) => false,
        Expression::Indicator(_, left, right) => letters.contains(left) || letters.contains(right),
        Expression::Sum(own, body) => {
            own.iter().any(|letter| letters.contains(letter)) || rebinds(body, letters)
        }
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter().any(|part| rebinds(part, letters))
        }
        Expression::Power(base, exponent) => rebinds(base, letters) || rebinds(exponent, letters),
        Expression::Apply(_, body) => rebinds(body, letters),
        Expression::Position(letter) => letters.contains(letter),
        Expression::OfMatrix(_, body, row, column) => {
            letters.contains(row) || letters.contains(column) || rebinds(body, letters)
        }
    }
}

/// The expressions of the arguments of a statement.
fn arguments(statement: &Statement, read: &mut dyn FnMut(&Expression)) {
    for argument in statement.arguments.iter().flatten() {
        read(&argument.value);
        argument.inverse.iter().for_each(&mut *read);
    }
}

/// Every element that the arguments of a statement read.
fn visit(statement: &Statement, read: &mut dyn FnMut(ArrayId, &[Subscript])) {
    arguments(statement, &mut |expression| expression.visit_values(&mut |array, own| read(array, own)));
}
