//! Matrix parameters in symbols: what is diagonal, what its inverse and its log-determinant are.
//!
//! A matrix is a sum with two free letters, row and column. `log det` is written for three forms: a diagonal matrix,
//! `sum_i log d_i`; one array (a constant, or a matrix latent); and an array times a factor `f` that depends on neither
//! letter, `log det(f M) = n log f + log det M`.

use cavi_algebra::rules::{multiply, power, push_log_into_product, substitute};
use cavi_algebra::{Atom, Factor, Function, LetterId, Subscript, Sum, Symbols, Term};

/// The diagonal `d_i` of a matrix all of whose terms hold `[i = j]`, over the row letter.
pub fn diagonal(symbols: &mut Symbols, value: &Sum, row: LetterId, column: LetterId) -> Option<Sum> {
    let is_indicator = |factor: &Factor| match &factor.atom {
        Atom::Equal(Subscript::Letter(left), Subscript::Letter(right)) => {
            (*left == row && *right == column) || (*left == column && *right == row)
        }
        _ => false,
    };
    let mut terms = Vec::new();
    for term in &value.terms {
        if !term.factors.iter().any(is_indicator) {
            return None;
        }
        let mut rest = term.clone();
        rest.factors.retain(|factor| !is_indicator(factor));
        let map = [(column, Subscript::Letter(row))].into_iter().collect();
        terms.push(substitute(symbols, &rest, &map));
    }
    Some(Sum { terms })
}

/// The inverse of a diagonal matrix; `None` for any other.
pub fn inverse_of_diagonal(
    symbols: &mut Symbols,
    value: &Sum,
    row: LetterId,
    column: LetterId,
) -> Option<Sum> {
    let diagonal = diagonal(symbols, value, row, column)?;
    let inverse = power(symbols, &diagonal, -1);
    let indicator = Atom::Equal(Subscript::Letter(row), Subscript::Letter(column));
    Some(multiply(symbols, &inverse, &Sum::atom(indicator)))
}

/// `log det` of a matrix; `None` where it is of none of the three forms.
pub fn log_determinant(symbols: &mut Symbols, value: &Sum, row: LetterId, column: LetterId) -> Option<Sum> {
    if let Some(diagonal) = diagonal(symbols, value, row, column) {
        return Some(over(&push_log_into_product(symbols, &diagonal), &[row]));
    }
    let [term] = value.terms.as_slice() else { return None };
    let reads = |factor: &Factor| {
        let letters = factor.atom.free_letters(symbols);
        letters.contains(&row) || letters.contains(&column)
    };
    let (matrix, rest): (Vec<Factor>, Vec<Factor>) = term.factors.iter().cloned().partition(reads);
    let ([Factor { atom: Atom::Value(array, subscripts), power: 1 }], []) =
        (matrix.as_slice(), term.sums.as_slice())
    else {
        return None;
    };
    let at = |letter: LetterId| subscripts.contains(&Subscript::Letter(letter));
    if !at(row) || !at(column) {
        return None;
    }
    let scale = Sum::term(Term { factors: rest, ..term.clone() });
    let logs = over(&push_log_into_product(symbols, &scale), &[row]);
    let elements = over(&Sum::atom(Atom::Value(*array, subscripts.clone())), &[row, column]);
    Some(logs.plus(elements.apply(Function::LogDeterminant)))
}

/// The sum over letters.
pub fn over(sum: &Sum, letters: &[LetterId]) -> Sum {
    let terms = sum.terms.iter().cloned().map(|mut term| {
        term.sums.splice(0..0, letters.iter().copied());
        term
    });
    Sum { terms: terms.collect() }
}

/// The size of a letter's axis: `sum_i 1`.
pub fn size(letter: LetterId) -> Sum {
    over(&Sum::number(1.0), &[letter])
}

/// `sum_ij A_ij r_i r_j`, and for a diagonal matrix `sum_i d_i r_i^2`; `residual` is over the row letter.
pub fn quadratic_form(
    symbols: &mut Symbols,
    value: &Sum,
    residual: &Sum,
    row: LetterId,
    column: LetterId,
) -> Sum {
    if let Some(diagonal) = diagonal(symbols, value, row, column) {
        let square = power(symbols, residual, 2);
        return over(&multiply(symbols, &diagonal, &square), &[row]);
    }
    // A is symmetric, so that for two different addends of the residual one product is taken twice.
    let map = [(row, Subscript::Letter(column))].into_iter().collect();
    let along_columns: Vec<Term> =
        residual.terms.iter().map(|term| substitute(symbols, term, &map)).collect();
    let mut form = Sum::zero();
    for (number, left) in residual.terms.iter().enumerate() {
        let left = multiply(symbols, value, &Sum::term(left.clone()));
        for (other, right) in along_columns.iter().enumerate().skip(number) {
            let twice = if other > number { 2.0 } else { 1.0 };
            form = form.plus(multiply(symbols, &left, &Sum::term(right.clone())).scaled(twice));
        }
    }
    over(&form, &[row, column])
}
