//! Matrices that a density reads as a whole are symmetric and positive definite, those whose inverse or log-determinant a program
//! takes among them: of these one triangle is read, so that nothing else would show that the other differs.

use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_algebra::{ArrayId, Expression, Function, LetterId, MatrixFunction, Symbols};
use cavi_model::ArgumentSpec;
use cavi_numerics::linalg;

use super::data_error::DataError;
use super::defined::Uses;
use super::known::free_letters;

/// The matrix whose inverse an argument is.
pub(super) fn inverted(symbols: &Symbols, argument: &ArgumentSpec) -> Option<ArgumentSpec> {
    let Expression::Value(id, _) = &argument.value else { return None };
    match &symbols.array(*id).value {
        Some(Expression::OfMatrix(MatrixFunction::Inverse, matrix, row, column)) => {
            let (value, letters) = ((**matrix).clone(), vec![*row, *column]);
            Some(ArgumentSpec { value, letters, ..argument.clone() })
        }
        _ => None,
    }
}

/// Reports the inverses and log-determinants of matrices that have none, but for matrices that were refused before.
pub(super) fn invertible(uses: &Uses<'_>, refused: &[ArrayId], problems: &mut Vec<DataError>) {
    let symbols = &uses.model.symbols;
    for array in &symbols.arrays {
        let Some((matrix, row, column)) = array.value.as_ref().and_then(taken_of) else { continue };
        let again = matches!(matrix, Expression::Value(id, _) if refused.contains(id));
        if again || !uses.known.knows(matrix) {
            continue;
        }
        let mut letters = free_letters(matrix);
        let ancestors: Vec<LetterId> =
            letters.iter().flat_map(|letter| symbols.lineage(*letter)[1..].to_vec()).collect();
        letters.retain(|own| ![row, column].contains(own) && !ancestors.contains(own));
        let mut wrong = None;
        for_each_value(symbols, uses.known, &letters, &mut Assignment::new(), &mut |assignment| {
            if wrong.is_none() {
                wrong = wrong_matrix(&uses.known.matrix(matrix, row, column, assignment));
            }
        });
        problems.extend(wrong.map(|wrong| {
            let of = cavi_model::text_of(symbols, matrix);
            DataError::new(format!("in `{}`: the matrix `{of}` {wrong}", array.name))
                .possible("a symmetric positive definite matrix")
        }));
    }
}

/// The matrix whose inverse or log-determinant an expression is, with its row and column letters.
fn taken_of(value: &Expression) -> Option<(&Expression, LetterId, LetterId)> {
    match value {
        Expression::OfMatrix(MatrixFunction::Inverse, matrix, row, column) => Some((matrix, *row, *column)),
        Expression::Apply(Function::LogDeterminant, elements) => match &**elements {
            Expression::Sum(letters, matrix) => Some((matrix, letters[0], letters[1])),
            _ => None,
        },
        _ => None,
    }
}

/// What keeps a matrix from being symmetric and positive definite.
pub(super) fn wrong_matrix(elements: &[f64]) -> Option<String> {
    let size = elements.len().isqrt();
    if let Some(place) = elements.iter().position(|value| !value.is_finite()) {
        let (row, column) = (place / size + 1, place % size + 1);
        return Some(format!("is {} in row {row}, column {column}", elements[place]));
    }
    if let Some((row, column)) = linalg::asymmetry(elements) {
        let (below, above) = (elements[row * size + column], elements[column * size + row]);
        return Some(format!(
            "is not symmetric: {below} in row {}, column {}, and {above} in row {}, column {}",
            row + 1,
            column + 1,
            column + 1,
            row + 1
        ));
    }
    let error = linalg::cholesky(size, &mut elements.to_vec()).err()?;
    Some(format!("is not positive definite (at row {})", error.pivot + 1))
}
