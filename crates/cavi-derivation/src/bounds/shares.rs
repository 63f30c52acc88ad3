//! What bounds by shares have in common in their inequalities: numbers over categories, and a share of each category.

use cavi_algebra::{
    Array, ArrayId, Atom, Axis, AxisId, Factor, Letter, LetterId, Subscript, Sum, Support, Symbols, Term,
};

/// The numbers.
pub const NUMBERS: ArrayId = ArrayId(0);
/// The shares.
pub const SHARES: ArrayId = ArrayId(1);
/// The letter of a category.
pub const CATEGORY: LetterId = LetterId(0);
/// A second letter of the categories.
const OTHER: LetterId = LetterId(1);

/// The numbers and their shares.
pub fn symbols(numbers: &str, support: Support) -> Symbols {
    let axis = Axis { name: "category".to_owned(), parent: None, letters: vec![CATEGORY, OTHER], size: None };
    let letter = Letter { name: "c".to_owned(), axis: AxisId(0), parent: None };
    Symbols {
        axes: vec![axis],
        letters: vec![letter.clone(), letter],
        arrays: vec![
            Array::latent(numbers, vec![CATEGORY], support),
            Array::latent("phi", vec![CATEGORY], Support::Simplex),
        ],
        ..Symbols::default()
    }
}

/// The element of a category.
pub fn element(array: ArrayId) -> Atom {
    element_at(array, CATEGORY)
}

fn element_at(array: ArrayId, letter: LetterId) -> Atom {
    Atom::Value(array, vec![Subscript::Letter(letter)])
}

/// The sum of the numbers.
pub fn total() -> Sum {
    Sum::term(Term { sums: vec![CATEGORY], ..Term::atom(element(NUMBERS)) })
}

/// The shares in proportion to the numbers.
pub fn proportional() -> Sum {
    let all = Sum::term(Term { sums: vec![OTHER], ..Term::atom(element_at(NUMBERS, OTHER)) });
    let mut share = Term::atom(element(NUMBERS));
    share.factors.push(Factor { atom: Atom::Group(Box::new(all)), power: -1 });
    Sum::term(share)
}
