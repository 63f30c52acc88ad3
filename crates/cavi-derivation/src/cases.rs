//! How many cases a product of elements of one block splits into.
//!
//! Elements whose subscripts may agree are one copy or two: `s[a] s[b] s[c]` has five cases, those in which all are one, one of the
//! three pairs is, or none. Of k elements these are the partitions of a set of k, 877 for seven and 4,140 for eight, and each becomes
//! a term of its own. What is known to be apart is never one. In a square two addends stand in one product.

use cavi_algebra::rules::refresh;
use cavi_algebra::{Atom, Subscript, Sum, Symbols, Term};
use cavi_syntax::Diagnostic;

use crate::blocks::Draft;
use crate::derive::Derivation;
use crate::separate::{elements, known_different};

/// The most cases of one product.
const MOST_CASES: usize = 1000;

/// Refuses statements with a product of more cases than derivations can take.
pub fn refuse_many_cases(derivation: &mut Derivation, drafts: &[Draft], log_densities: &[Sum]) {
    for (statement, density) in derivation.model.statements.iter().zip(log_densities) {
        let symbols = &mut derivation.symbols;
        let Some((draft, count)) = drafts
            .iter()
            .filter(|own| own.is_random())
            .find_map(|own| Some((own, widest(symbols, own, density)?)))
        else {
            continue;
        };
        let name = symbols.array(draft.members[0]).name.clone();
        derivation.diagnostics.push(
            Diagnostic::error("E0219", format!("a product of {count} elements of `{name}` has too many cases"))
                .at(statement.span, "any two of them are one element, or two")
                .possible(format!("products of at most {MOST_CASES} cases: seven elements that may all be the same"))
                .help("write products of fewer elements, or keep letters apart where the data are declared, as in `data y[i, j] : real, i != j`"),
        );
    }
}

/// How many elements of a block stand in a product of too many cases, if there is one.
fn widest(symbols: &mut Symbols, draft: &Draft, sum: &Sum) -> Option<usize> {
    sum.terms.iter().find_map(|term| {
        let own = term.clone();
        too_many(symbols, draft, &own).or_else(|| {
            term.factors.iter().find_map(|factor| {
                let nested = factor.atom.nested();
                let inside = nested.iter().find_map(|inner| widest(symbols, draft, inner));
                inside.or_else(|| {
                    // A square, or a function that is bounded by one.
                    let squared = matches!(factor.atom, Atom::Group(_) | Atom::Apply(..));
                    nested.iter().filter(|_| squared).find_map(|inner| of_square(symbols, draft, inner))
                })
            })
        })
    })
}

/// The same of the square of a sum.
fn of_square(symbols: &mut Symbols, draft: &Draft, sum: &Sum) -> Option<usize> {
    let holding: Vec<&Term> =
        sum.terms.iter().filter(|term| copies_in(symbols, draft, term).len() > 1).collect();
    for (number, left) in holding.iter().enumerate() {
        for right in &holding[number..] {
            let mut both = refresh(symbols, right);
            both.factors.extend(left.factors.iter().cloned());
            if let Some(found) = too_many(symbols, draft, &both) {
                return Some(found);
            }
        }
    }
    None
}

/// How many copies of a block the factors of a term hold, if they have too many cases.
fn too_many(symbols: &Symbols, draft: &Draft, term: &Term) -> Option<usize> {
    let copies = copies_in(symbols, draft, term);
    let apart = |one: usize, other: usize| known_different(symbols, term, &copies[one], &copies[other]);
    (partitions(copies.len(), &apart) > MOST_CASES).then_some(copies.len())
}

/// The subscripts of the copies of a block among the factors of a term, each once.
fn copies_in(symbols: &Symbols, draft: &Draft, term: &Term) -> Vec<Vec<Subscript>> {
    let mut copies: Vec<Vec<Subscript>> = Vec::new();
    for factor in &term.factors {
        let alone = Term { factors: vec![factor.clone()], ..Term::number(1.0) };
        for element in elements(symbols, draft, &alone).into_iter().flatten() {
            if !copies.contains(&element.plates) {
                copies.push(element.plates);
            }
        }
    }
    copies
}

/// The number of partitions of so many elements in which none that are apart are together, counted up to one more than
/// [`MOST_CASES`].
fn partitions(count: usize, apart: &dyn Fn(usize, usize) -> bool) -> usize {
    fn place(
        element: usize,
        count: usize,
        groups: &mut Vec<Vec<usize>>,
        apart: &dyn Fn(usize, usize) -> bool,
        found: &mut usize,
    ) {
        if element == count {
            *found += 1;
            return;
        }
        for group in 0..=groups.len() {
            if *found > MOST_CASES {
                return;
            }
            if group == groups.len() {
                groups.push(vec![element]);
                place(element + 1, count, groups, apart, found);
                groups.pop();
            } else if !groups[group].iter().any(|own| apart(*own, element)) {
                groups[group].push(element);
                place(element + 1, count, groups, apart, found);
                groups[group].pop();
            }
        }
    }
    let mut found = 0;
    place(0, count, &mut Vec::new(), apart, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bell's numbers, and one where all are apart.
    #[test]
    fn partitions_are_counted() {
        for (count, bell) in [(0, 1), (1, 1), (2, 2), (3, 5), (4, 15), (5, 52), (6, 203), (7, 877)] {
            assert_eq!(partitions(count, &|_, _| false), bell);
            assert_eq!(partitions(count, &|_, _| true), 1);
        }
        assert_eq!(partitions(8, &|_, _| false), MOST_CASES + 1);
        // The first two apart: 5 - 2 partitions of three elements have them together.
        assert_eq!(partitions(3, &|one, other| one + other == 1), 3);
    }
}
