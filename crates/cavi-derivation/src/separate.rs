//! Copies of a block in one product are made either equal or different, so that the expectation of each product is a
//! product of expectations.
//!
//! `f = [a = b] f + [a != b] f`: two elements `w[j, k]`, `w[j, l]` of one block are one copy where `k = l` and two
//! independent copies elsewhere.

use cavi_algebra::canonical::{canonical, known_apart};
use cavi_algebra::{Atom, Elementary, Factor, Function, LetterId, Subscript, Sum, Support, Symbols, Term};

use crate::blocks::Draft;
use crate::logs::is_complement_of;

/// An elementary function of an element of a block in a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Which factor of the term it is.
    pub position: usize,
    /// Which member of the block.
    pub member: usize,
    /// Which copy.
    pub plates: Vec<Subscript>,
    /// Which element of the copy's slice; for an indicator the class.
    pub slots: Vec<Subscript>,
    /// The function.
    pub elementary: Elementary,
    /// How many times it stands there as a factor of its own (slices: `x_k^2` is `x_k x_k`).
    pub times: usize,
    /// The power of the factor, before a binary element's is taken down (`s^2 = s`).
    pub written: i32,
}

/// The elements of a block among the factors of a term; `Err` with the position of a factor that holds the block in a
/// way that is no elementary function.
pub fn elements(symbols: &Symbols, draft: &Draft, term: &Term) -> Result<Vec<Element>, usize> {
    let mut found = Vec::new();
    for (position, factor) in term.factors.iter().enumerate() {
        if !draft.members.iter().any(|member| factor.atom.mentions(*member)) {
            continue;
        }
        found.push(element(symbols, draft, factor, position).ok_or(position)?);
    }
    Ok(found)
}

fn element(symbols: &Symbols, draft: &Draft, factor: &Factor, position: usize) -> Option<Element> {
    let value = |sum: &Sum| match sum.terms.as_slice() {
        [term] if term.sums.is_empty() && term.coefficient.0 == 1.0 => match term.factors.as_slice() {
            [Factor { atom: Atom::Value(array, subscripts), power: 1 }] => Some((*array, subscripts.clone())),
            _ => None,
        },
        _ => None,
    };
    let (array, subscripts, elementary, times) = match &factor.atom {
        Atom::Value(array, subscripts) => {
            // The elements of one vector, whether they are those of a slice or of several variables.
            let sliced = draft.is_one_vector(symbols) || !draft.slices.iter().all(Vec::is_empty);
            let binary = symbols.array(*array).support == Support::Binary;
            if binary && factor.power > 0 {
                // s^p = s where s is 0 or 1.
                (*array, subscripts.clone(), Elementary::Power(1), 1)
            } else if sliced && factor.power > 0 {
                (*array, subscripts.clone(), Elementary::Power(1), factor.power as usize)
            } else {
                (*array, subscripts.clone(), Elementary::Power(factor.power), 1)
            }
        }
        Atom::Apply(Function::Log, inner) if factor.power == 1 => {
            if let Some((array, subscripts)) = value(&inner[0]) {
                (array, subscripts, Elementary::Log, 1)
            } else {
                let (array, subscripts) = is_complement_of(&inner[0])?;
                (array, subscripts, Elementary::LogComplement, 1)
            }
        }
        Atom::Apply(Function::LogDeterminant, matrix) if factor.power == 1 => {
            let [term] = matrix[0].terms.as_slice() else { return None };
            let ([Factor { atom: Atom::Value(array, subscripts), power: 1 }], 1.0) =
                (term.factors.as_slice(), term.coefficient.0)
            else {
                return None;
            };
            let member = draft.members.iter().position(|member| member == array)?;
            let summed =
                |own: &Subscript| matches!(own, Subscript::Letter(letter) if term.sums.contains(letter));
            return Some(Element {
                position,
                member,
                plates: subscripts.iter().filter(|own| !summed(own)).cloned().collect(),
                slots: Vec::new(),
                elementary: Elementary::LogDeterminant,
                times: 1,
                written: 1,
            });
        }
        Atom::Equal(left, right) if factor.power == 1 => {
            let (index, class) = match (left, right) {
                (Subscript::Index(array, inner), class) if draft.members.contains(array) => {
                    ((array, inner), class)
                }
                (class, Subscript::Index(array, inner)) if draft.members.contains(array) => {
                    ((array, inner), class)
                }
                _ => return None,
            };
            let member = draft.members.iter().position(|member| member == index.0)?;
            if draft.members.iter().any(|member| class.mentions(*member)) {
                return None;
            }
            return Some(Element {
                position,
                member,
                plates: index.1.clone(),
                slots: vec![class.clone()],
                elementary: Elementary::Indicator,
                times: 1,
                written: 1,
            });
        }
        Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::Group(_)
        | Atom::Apply(..)
        | Atom::ExpectedSquare(_)
        | Atom::Observed(..)
        | Atom::Equal(..)
        | Atom::Different(..)
        | Atom::Less(..) => return None,
    };
    let member = draft.members.iter().position(|member| *member == array)?;
    let letters = &symbols.array(array).letters;
    let at = |letter: &LetterId| {
        let place = letters.iter().position(|own| own == letter).expect("a letter of the member");
        subscripts[place].clone()
    };
    let plates = draft.member_plates[member].iter().map(at).collect();
    let slots = draft.slices[member].iter().map(at).collect();
    Some(Element { position, member, plates, slots, elementary, times, written: factor.power })
}

/// Splits a term until any two copies of the block in it are the same by their subscripts or different by a factor.
pub fn separate(symbols: &mut Symbols, draft: &Draft, term: &Term) -> Result<Vec<Term>, (Term, usize)> {
    let mut done = Vec::new();
    let mut queue = vec![term.clone()];
    while let Some(term) = queue.pop() {
        let found = elements(symbols, draft, &term).map_err(|position| (term.clone(), position))?;
        match undecided(symbols, &term, &found) {
            None => done.push(term),
            Some((left, right)) => {
                let with = |atom: Atom| {
                    let mut term = term.clone();
                    term.factors.push(Factor::of(atom));
                    Sum::term(term)
                };
                let equal = with(Atom::Equal(left.clone(), right.clone()));
                let different = with(Atom::Different(left.clone(), right.clone()));
                for mut term in canonical(symbols, &equal).terms {
                    identify(&mut term, &left, &right);
                    queue.extend(canonical(symbols, &Sum::term(term)).terms);
                }
                queue.extend(canonical(symbols, &different).terms);
            }
        }
    }
    done.reverse();
    Ok(done)
}

/// Where `[left = right]` stays a factor (neither is a summed letter that the other is free of), `right` is written as `left` elsewhere; where
/// `right` stands in `left`, as in `[next[t] = t]`, it is the other way round, so that subscripts become shorter.
fn identify(term: &mut Term, left: &Subscript, right: &Subscript) {
    fn inside(subscript: &mut Subscript, left: &Subscript, right: &Subscript) {
        if subscript == right {
            *subscript = left.clone();
        } else if let Subscript::Index(_, inner) = subscript {
            inner.iter_mut().for_each(|inner| inside(inner, left, right));
        }
    }
    let (left, right) = if holds(left, right) { (right, left) } else { (left, right) };
    let stays = |factor: &Factor| match &factor.atom {
        Atom::Equal(a, b) => (a == left && b == right) || (a == right && b == left),
        _ => false,
    };
    if !term.factors.iter().any(stays) {
        return;
    }
    for factor in term.factors.iter_mut().filter(|factor| !stays(factor)) {
        factor.atom.map_subscripts(&mut |subscript| inside(subscript, left, right));
    }
}

/// Whether one subscript stands within another.
fn holds(outer: &Subscript, inner: &Subscript) -> bool {
    match outer {
        Subscript::Letter(_) => false,
        Subscript::Index(_, subscripts) => subscripts.iter().any(|own| own == inner || holds(own, inner)),
    }
}

/// The first pair of subscripts that may or may not coincide, in two copies that are not known to be different.
fn undecided(symbols: &Symbols, term: &Term, found: &[Element]) -> Option<(Subscript, Subscript)> {
    for (number, one) in found.iter().enumerate() {
        for other in &found[number + 1..] {
            if one.plates == other.plates || known_different(symbols, term, &one.plates, &other.plates) {
                continue;
            }
            let pair = one.plates.iter().zip(&other.plates).find(|(left, right)| left != right);
            return pair.map(|(left, right)| (left.clone(), right.clone()));
        }
    }
    None
}

/// Whether a factor of the term keeps two copies apart.
pub fn known_different(symbols: &Symbols, term: &Term, one: &[Subscript], other: &[Subscript]) -> bool {
    one.iter().zip(other).any(|(left, right)| known_apart(symbols, term, left, right))
}
