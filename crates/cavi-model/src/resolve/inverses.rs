//! `inverse` and `logdet` of a matrix of constants and data.
//!
//! The rows and columns of the matrix are two letters of one axis: the slices of the argument it stands in, or those that it
//! is written with. The element of the inverse has the same two letters; a log-determinant has neither.

use cavi_algebra::{Expression, Function, LetterId, MatrixFunction};
use cavi_syntax::{Diagnostic, ast};

use super::Resolver;
use super::arguments::free_letters;
use super::places::{INVERSE, LOG_DETERMINANT, Scope};

/// The functions of a whole matrix, as programs write them.
pub(super) const MATRIX_FUNCTIONS: &[&str] = &["inverse", "logdet"];

impl Resolver<'_> {
    /// A function of a whole matrix.
    pub(super) fn matrix_function(
        &mut self,
        scope: &mut Scope,
        name: &ast::Name,
        matrix: &ast::Expression,
    ) -> Option<Expression> {
        let inverts = name.text == "inverse";
        let mut own = scope.clone();
        own.known_only = own.known_only.or(Some(if inverts { INVERSE } else { LOG_DETERMINANT }));
        if !inverts || scope.capacity != 2 {
            // It brings its slices with it.
            (own.capacity, own.slices) = (2, Vec::new());
        }
        let value = self.expression(&mut own, matrix)?;
        let Some((row, column)) = self.matrix_of(&own, &value) else {
            let pair = "two letters of one axis, its rows and its columns";
            self.report(
                Diagnostic::error("E0517", format!("`{}` takes a square matrix", name.text))
                    .at(matrix.span, "what has the rows and the columns is not clear")
                    .possible(format!("a matrix of constants or data over {pair}"))
                    .help(format!(
                        "write `{}(S)` for an array `S[i, j]`, or mark its slices: `S[:i, :j]`",
                        name.text
                    )),
            );
            return None;
        };
        if inverts {
            if scope.capacity == 2 {
                (scope.bound, scope.slices) = (own.bound, own.slices);
            } else if !(scope.find(row).is_some() && scope.find(column).is_some()) {
                self.report(
                    Diagnostic::error("E0407", format!("{} is a number, and an inverse is a matrix", scope.what))
                        .at(name.span, "a matrix")
                        .help("write the element that is meant: `inverse(S[i, j])` with letters that are bound here"),
                );
                return None;
            }
            return Some(Expression::OfMatrix(MatrixFunction::Inverse, Box::new(value), row, column));
        }
        let elements = Expression::Sum(vec![row, column], Box::new(value));
        Some(Expression::Apply(Function::LogDeterminant, Box::new(elements)))
    }

    /// Rows and columns: the slices where there are two, else the letters that share an axis.
    fn matrix_of(&self, scope: &Scope, value: &Expression) -> Option<(LetterId, LetterId)> {
        if let [row, column] = scope.slices[..] {
            return Some((row, column));
        }
        let free = free_letters(value);
        let axis = |letter: &LetterId| self.symbols.letter(*letter).axis;
        let row = |place: usize| match scope.slices[..] {
            [row] => free[place] == row,
            _ => true,
        };
        let pairs = (0..free.len()).filter(|place| row(*place)).flat_map(|row| {
            let from = if scope.slices.is_empty() { row + 1 } else { 0 };
            (from..free.len()).filter(move |column| *column != row).map(move |column| (row, column))
        });
        let mut pairs = pairs.filter(|(row, column)| axis(&free[*row]) == axis(&free[*column]));
        let (row, column) = pairs.next().filter(|_| pairs.next().is_none())?;
        Some((free[row], free[column]))
    }
}
