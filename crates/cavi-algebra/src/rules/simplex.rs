//! `sum_v p_v = 1` for a slice on the simplex, where nothing else in the term depends on `v`.
//!
//! A slice over a group of a ragged axis has as many elements as the group has positions. With none the sum is 0: the rule holds for data
//! whose groups have positions, and says of which axes this is so.

use crate::expression::Subscript;
use crate::sum_of_products::{Atom, Sum, Term};
use crate::symbols::{AxisId, Letter, Support, Symbols};

/// Applies the rule to every term until it no longer applies. Only terms before expectations hold such elements.
pub fn sum_simplex(symbols: &Symbols, sum: &Sum) -> Sum {
    sum_simplex_over(symbols, sum, &mut Vec::new())
}

/// The same; adds the ragged axes over a group of which probabilities were summed.
pub fn sum_simplex_over(symbols: &Symbols, sum: &Sum, groups: &mut Vec<AxisId>) -> Sum {
    Sum { terms: sum.terms.iter().map(|term| in_term(symbols, term, groups)).collect() }
}

fn in_term(symbols: &Symbols, term: &Term, groups: &mut Vec<AxisId>) -> Term {
    let mut term = term.clone();
    'again: loop {
        for (position, factor) in term.factors.iter().enumerate() {
            let Atom::Value(array, subscripts) = &factor.atom else { continue };
            if symbols.array(*array).support != Support::Simplex || factor.power != 1 {
                continue;
            }
            let slices: Vec<&Subscript> = subscripts
                .iter()
                .zip(&symbols.array(*array).slice)
                .filter(|(_, slice)| **slice)
                .map(|(subscript, _)| subscript)
                .collect();
            let [Subscript::Letter(letter)] = slices.as_slice() else { continue };
            let in_plates = subscripts.iter().zip(&symbols.array(*array).slice).any(|(subscript, slice)| {
                let mut letters = Vec::new();
                subscript.letters(&mut letters);
                !slice && letters.into_iter().any(|own| symbols.lineage(own).contains(letter))
            });
            // The slice of a ragged axis sums to 1 within its parent, so the parent is not summed along with it.
            if term.sums.contains(letter)
                && !in_plates
                && !term.depends_elsewhere(symbols, *letter, &[position])
            {
                let letter = *letter;
                let Letter { axis, parent, .. } = symbols.letter(letter);
                if parent.is_some() && !groups.contains(axis) {
                    groups.push(*axis);
                }
                term.factors.remove(position);
                term.sums.retain(|summed| *summed != letter);
                continue 'again;
            }
        }
        return term;
    }
}
