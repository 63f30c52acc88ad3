//! Values for everything a program names, and expressions evaluated on them: a second reading of a program's text, which
//! shares no code with the algebra.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use cavi_algebra::{
    ArrayId, AxisId, Expression, Function, LetterId, MatrixFunction, Subscript, Support, Symbols,
};
use cavi_executor::{Bound, BoundArray};
use statrs::function::erf::{erfc, erfc_inv};
use statrs::function::gamma::{digamma, ln_gamma};

/// Data, constants and one value for each latent.
#[derive(Clone)]
pub struct World<'a> {
    /// Names.
    pub symbols: &'a Symbols,
    /// Sizes, data and constants.
    pub bound: &'a Bound,
    /// For each latent its values, in C order of its declared dimensions.
    pub latents: Vec<Option<Vec<f64>>>,
    /// For each latent the logarithms of its values, which hold where a value itself is too small for a double.
    pub logs: Vec<Option<Vec<f64>>>,
}

/// Positions of letters.
pub type Positions = Vec<Option<usize>>;

impl<'a> World<'a> {
    /// No latent has a value yet.
    pub fn new(symbols: &'a Symbols, bound: &'a Bound) -> World<'a> {
        let arrays = symbols.arrays.len();
        World { symbols, bound, latents: vec![None; arrays], logs: vec![None; arrays] }
    }

    /// No letter has a position.
    pub fn nowhere(&self) -> Positions {
        vec![None; self.symbols.letters.len()]
    }

    /// The place of an element in C order.
    pub fn place(&self, array: ArrayId, positions: &[usize]) -> usize {
        let shape = self.bound.shape(self.symbols, array);
        assert_eq!(shape.len(), positions.len());
        shape.iter().zip(positions).fold(0, |place, (size, position)| {
            assert!(position < size, "position {position} of {size} in `{}`", self.symbols.array(array).name);
            place * size + position
        })
    }

    /// An element of data, a constant or a latent; unlisted is 0.
    pub fn element(&self, array: ArrayId, positions: &[usize]) -> f64 {
        let place = self.place(array, positions);
        if let Some(values) = &self.latents[array.index()] {
            return values[place];
        }
        match self.bound.array(array) {
            BoundArray::Dense { values, .. } => values[place],
            BoundArray::Sparse { indices, values, .. } => {
                listed(indices, positions).map_or(0.0, |entry| values[entry])
            }
        }
    }

    /// The logarithm of an element.
    pub fn log_element(&self, array: ArrayId, positions: &[usize]) -> f64 {
        match &self.logs[array.index()] {
            Some(logs) => logs[self.place(array, positions)],
            None => self.element(array, positions).ln(),
        }
    }

    /// Whether an entry of data was observed.
    pub fn observed(&self, array: ArrayId, positions: &[usize]) -> bool {
        match self.bound.array(array) {
            BoundArray::Dense { observed, .. } => {
                observed.as_ref().is_none_or(|observed| observed[self.place(array, positions)])
            }
            BoundArray::Sparse { indices, observed, unlisted_zero, .. } => match listed(indices, positions) {
                Some(entry) => observed.as_ref().is_none_or(|observed| observed[entry]),
                None => *unlisted_zero,
            },
        }
    }

    /// The position that a subscript names.
    pub fn position(&self, subscript: &Subscript, at: &Positions) -> usize {
        match subscript {
            Subscript::Letter(letter) => at[letter.index()].unwrap_or_else(|| {
                panic!("the letter `{}` has no position", self.symbols.letter(*letter).name)
            }),
            Subscript::Index(array, inner) => self.element(*array, &self.positions(inner, at)) as usize,
        }
    }

    /// The positions that subscripts name.
    pub fn positions(&self, subscripts: &[Subscript], at: &Positions) -> Vec<usize> {
        subscripts.iter().map(|subscript| self.position(subscript, at)).collect()
    }

    /// Calls `visit` for every value of the letters that have no position yet, ragged ones within their parents.
    pub fn each(&self, letters: &[LetterId], at: &mut Positions, visit: &mut dyn FnMut(&mut Positions)) {
        let Some(letter) = letters.iter().copied().find(|letter| at[letter.index()].is_none()) else {
            return visit(at);
        };
        // The outermost ancestor without a position comes first.
        let lineage = self.symbols.lineage(letter);
        let letter =
            *lineage.iter().rev().find(|own| at[own.index()].is_none()).expect("the letter itself has none");
        let own = self.symbols.letter(letter);
        let axis = &self.bound.axes[own.axis.index()];
        let range = match (&axis.starts, own.parent) {
            (Some(starts), Some(parent)) => {
                let parent = at[parent.index()].expect("ancestors come first");
                starts[parent]..starts[parent + 1]
            }
            _ => 0..axis.size,
        };
        for position in range {
            at[letter.index()] = Some(position);
            self.each(letters, at, visit);
        }
        at[letter.index()] = None;
    }

    /// The value of an expression.
    pub fn value(&self, expression: &Expression, at: &mut Positions) -> f64 {
        match expression {
            Expression::Number(value) => *value,
            Expression::Value(array, subscripts) => self.element(*array, &self.positions(subscripts, at)),
            Expression::Indicator(comparison, left, right) => {
                f64::from(u8::from(comparison.holds(at[left.index()], at[right.index()])))
            }
            Expression::Sum(letters, body) => {
                let mut total = 0.0;
                self.each(letters, at, &mut |at| total += self.value(body, at));
                total
            }
            Expression::Add(parts) => parts.iter().map(|part| self.value(part, at)).sum(),
            Expression::Multiply(parts) => {
                // What an indicator leaves out is not read: it may have no value.
                let is_indicator = |part: &&Expression| matches!(part, Expression::Indicator(..));
                if parts.iter().filter(is_indicator).any(|part| self.value(part, at) == 0.0) {
                    return 0.0;
                }
                parts.iter().map(|part| self.value(part, at)).product()
            }
            Expression::Power(base, exponent) => self.value(base, at).powf(self.value(exponent, at)),
            Expression::Apply(Function::LogDeterminant, elements) => match &**elements {
                Expression::Sum(letters, matrix) => {
                    inverse_and_determinant(&self.matrix(matrix, letters[0], letters[1], at)).1
                }
                _ => panic!("a log-determinant has its elements as a sum"),
            },
            Expression::Apply(function, inner) => apply(*function, self.value(inner, at)),
            Expression::Position(letter) => at[letter.index()].expect("every letter has a position") as f64,
            Expression::OfMatrix(function, matrix, row, column) => {
                let n = self.bound.size_of(self.symbols, *row);
                let place = |letter: &LetterId| at[letter.index()].expect("row and column have positions");
                let element = place(row) * n + place(column);
                let elements = self.matrix(matrix, *row, *column, at);
                match function {
                    MatrixFunction::Inverse => inverse_and_determinant(&elements).0[element],
                    MatrixFunction::Whitening => whitening(&elements)[element],
                }
            }
        }
    }

    /// The elements of a matrix along two letters, row by row.
    pub fn matrix(
        &self,
        expression: &Expression,
        row: LetterId,
        column: LetterId,
        at: &mut Positions,
    ) -> Vec<f64> {
        let n = self.bound.size_of(self.symbols, row);
        let before = (at[row.index()], at[column.index()]);
        let mut elements = Vec::with_capacity(n * n);
        for place in 0..n * n {
            (at[row.index()], at[column.index()]) = (Some(place / n), Some(place % n));
            elements.push(self.value(expression, at));
        }
        (at[row.index()], at[column.index()]) = before;
        elements
    }

    /// Whether a latent stands in an expression.
    pub fn holds_latent(&self, expression: &Expression) -> bool {
        let mut found = false;
        expression.visit_values(&mut |array, _| {
            found |= self.symbols.array(array).kind == cavi_algebra::ArrayKind::Latent;
        });
        found
    }

    /// The axis whose positions an index array holds.
    pub fn index_axis(&self, array: ArrayId) -> Option<AxisId> {
        match self.symbols.array(array).support {
            Support::Index(axis) => Some(axis),
            _ => None,
        }
    }
}

fn listed(indices: &[impl AsRef<[u32]>], positions: &[usize]) -> Option<usize> {
    let entries = indices.first().map_or(0, |column| column.as_ref().len());
    let is_at = |entry: &usize| {
        indices.iter().zip(positions).all(|(column, own)| column.as_ref()[*entry] as usize == *own)
    };
    (0..entries).find(is_at)
}

/// Functions from the standard library, but for those of Gamma and normal distributions.
pub fn apply(function: Function, x: f64) -> f64 {
    match function {
        Function::Exp => x.exp(),
        Function::Log => x.ln(),
        Function::Sqrt => x.sqrt(),
        Function::Logistic => 1.0 / (1.0 + (-x).exp()),
        Function::LogOneLessExp => (-x.exp_m1()).ln(),
        Function::Softplus => x.exp().ln_1p(),
        Function::EvenSoftplus => (2.0 * (0.5 * x).cosh()).ln(),
        Function::LogisticCurvature => (0.5 * x).tanh() / (2.0 * x),
        Function::LogGamma => log_gamma(x),
        Function::Digamma => digamma(x),
        Function::Trigamma => trigamma(x),
        Function::SinePi => (std::f64::consts::PI * x).sin(),
        Function::Phi => 0.5 * erfc(-x * FRAC_1_SQRT_2),
        Function::StandardNormalLogCdf => (0.5 * erfc(-x * FRAC_1_SQRT_2)).ln(),
        Function::StandardNormalLogCcdf => (0.5 * erfc(x * FRAC_1_SQRT_2)).ln(),
        Function::InversePhi => -SQRT_2 * erfc_inv(2.0 * x),
        Function::StandardNormalLogQf => -SQRT_2 * erfc_inv(2.0 * x.exp()),
        Function::LogBesselK
        | Function::Power
        | Function::LogDeterminant
        | Function::LogMultivariateGamma
        | Function::AtMostOne
        | Function::LogLeft => {
            panic!("`{}` has no second writing", function.name())
        }
    }
}

/// `log Gamma(x)`; infinity at its poles, 0 and the whole numbers below.
pub fn log_gamma(x: f64) -> f64 {
    if x <= 0.0 && x.fract() == 0.0 { f64::INFINITY } else { ln_gamma(x) }
}

/// `psi'(x) = 1 / x^2 + psi'(x + 1)` up to 20, from there `1/y + 1/(2 y^2) + 1/(6 y^3) - 1/(30 y^5) + 1/(42 y^7)`, whose next
/// term is below 1e-13 of it (Abramowitz and Stegun, 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    if x < 20.0 {
        return 1.0 / (x * x) + trigamma(x + 1.0);
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0);
    1.0 / x + 0.5 * square + square * series / x
}

/// The inverse of the Cholesky factor, by columns: `L L' = A`, then `L X = I`.
fn whitening(matrix: &[f64]) -> Vec<f64> {
    let n = matrix.len().isqrt();
    let mut factor = vec![0.0; n * n];
    for column in 0..n {
        for row in column..n {
            let done: f64 = (0..column).map(|p| factor[row * n + p] * factor[column * n + p]).sum();
            let rest = matrix[row * n + column] - done;
            factor[row * n + column] =
                if row == column { rest.sqrt() } else { rest / factor[column * n + column] };
        }
    }
    let mut inverse = vec![0.0; n * n];
    for column in 0..n {
        for row in column..n {
            let done: f64 = (column..row).map(|p| factor[row * n + p] * inverse[p * n + column]).sum();
            let unit = if row == column { 1.0 } else { 0.0 };
            inverse[row * n + column] = (unit - done) / factor[row * n + row];
        }
    }
    inverse
}

/// The inverse and the log of the absolute determinant of a matrix, by Gauss-Jordan elimination with row exchanges.
pub fn inverse_and_determinant(matrix: &[f64]) -> (Vec<f64>, f64) {
    let n = matrix.len().isqrt();
    let mut left = matrix.to_vec();
    let mut right = vec![0.0; n * n];
    (0..n).for_each(|k| right[k * n + k] = 1.0);
    let mut log_determinant = 0.0;
    for k in 0..n {
        let size = |row: &usize| left[row * n + k].abs();
        let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b))).expect("a row is left");
        for column in 0..n {
            left.swap(k * n + column, pivot * n + column);
            right.swap(k * n + column, pivot * n + column);
        }
        let scale = left[k * n + k];
        log_determinant += scale.abs().ln();
        for column in 0..n {
            left[k * n + column] /= scale;
            right[k * n + column] /= scale;
        }
        for row in (0..n).filter(|row| *row != k) {
            let factor = left[row * n + k];
            for column in 0..n {
                left[row * n + column] -= factor * left[k * n + column];
                right[row * n + column] -= factor * right[k * n + column];
            }
        }
    }
    (right, log_determinant)
}
