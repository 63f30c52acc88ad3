//! Expressions of constants and data, evaluated as they are written.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use cavi_algebra::evaluate::{Accumulator, Assignment, Environment, for_each_value};
use cavi_algebra::{
    ArrayId, AxisId, Expression, Function, LetterId, Moment, SiteId, Subscript, Symbols, dedup,
};
use cavi_executor::{BoundArray, BoundAxis};

use super::functions;

/// What is known: sizes, and the arrays that have values so far.
pub(super) struct Known<'a> {
    symbols: &'a Symbols,
    axes: &'a [BoundAxis],
    arrays: &'a [Option<BoundArray>],
    /// Set when a missing entry was read.
    missing: Cell<bool>,
    /// Set when a function was met that is not known here.
    unsupported: RefCell<Option<Function>>,
}

/// What an expression is worth at one assignment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    /// A number.
    Number(f64),
    /// An entry that it reads is missing.
    Missing,
    /// It calls a function that this version does not evaluate.
    Unsupported(Function),
}

impl<'a> Known<'a> {
    pub fn new(symbols: &'a Symbols, axes: &'a [BoundAxis], arrays: &'a [Option<BoundArray>]) -> Known<'a> {
        Known { symbols, axes, arrays, missing: Cell::new(false), unsupported: RefCell::new(None) }
    }

    /// The value at an assignment of the free letters.
    pub fn value_of(&self, expression: &Expression, assignment: &mut Assignment) -> Value {
        self.missing.set(false);
        let value = self.evaluate(expression, assignment);
        match self.unsupported.take() {
            Some(function) => Value::Unsupported(function),
            None if self.missing.get() => Value::Missing,
            None => Value::Number(value),
        }
    }

    fn evaluate(&self, expression: &Expression, assignment: &mut Assignment) -> f64 {
        match expression {
            Expression::Number(value) => *value,
            Expression::Value(array, subscripts) => {
                let positions: Vec<usize> =
                    subscripts.iter().map(|subscript| self.position(subscript, assignment)).collect();
                if self.missing.get() {
                    return f64::NAN;
                }
                self.value(*array, &positions)
            }
            Expression::Equal(left, right) => {
                f64::from(assignment.get(*left).is_some() && assignment.get(*left) == assignment.get(*right))
            }
            Expression::Sum(letters, body) => {
                let mut letters = letters.clone();
                letters.sort_by_key(|letter| self.symbols.lineage(*letter).len());
                let mut total = Accumulator::default();
                for_each_value(self.symbols, self, &letters, assignment, &mut |assignment| {
                    total.add(self.evaluate(body, assignment));
                });
                total.total()
            }
            Expression::Add(parts) => parts.iter().map(|part| self.evaluate(part, assignment)).sum(),
            Expression::Multiply(parts) => parts.iter().map(|part| self.evaluate(part, assignment)).product(),
            Expression::Power(base, exponent) => {
                let arguments = [self.evaluate(base, assignment), self.evaluate(exponent, assignment)];
                self.function(Function::Power, &arguments)
            }
            Expression::Apply(function, argument) => {
                let argument = self.evaluate(argument, assignment);
                self.function(*function, &[argument])
            }
        }
    }

    fn position(&self, subscript: &Subscript, assignment: &mut Assignment) -> usize {
        match subscript {
            Subscript::Letter(letter) => assignment.get(*letter).expect("every free letter is assigned"),
            Subscript::Index(array, subscripts) => {
                let positions: Vec<usize> =
                    subscripts.iter().map(|inner| self.position(inner, assignment)).collect();
                if self.missing.get() { 0 } else { self.value(*array, &positions) as usize }
            }
        }
    }

    /// Whether every array that an expression reads has a value.
    pub fn knows(&self, expression: &Expression) -> bool {
        let mut known = true;
        expression.visit_values(&mut |array, _| known &= self.arrays[array.index()].is_some());
        known
    }

    /// The positions of an axis.
    pub fn size(&self, letter: LetterId) -> usize {
        self.axes[self.symbols.letter(letter).axis.index()].size
    }
}

impl Environment for Known<'_> {
    fn positions(&self, axis: AxisId, parent: Option<usize>) -> Range<usize> {
        let bound = &self.axes[axis.index()];
        match (parent, &bound.starts) {
            (Some(parent), Some(starts)) => starts[parent]..starts[parent + 1],
            _ => 0..bound.size,
        }
    }

    fn parent(&self, axis: AxisId, position: usize) -> usize {
        self.axes[axis.index()].parent.as_ref().map_or(0, |parents| parents[position])
    }

    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        let Some(bound) = &self.arrays[array.index()] else {
            unreachable!("an expression is evaluated after what it reads")
        };
        let (value, observed) = match bound {
            BoundArray::Dense { values, observed } => {
                let letters = &self.symbols.array(array).letters;
                let sizes = letters.iter().map(|letter| self.size(*letter));
                let cell = sizes.zip(subscripts).fold(0, |cell, (size, position)| cell * size + position);
                (values[cell], observed.as_ref().is_none_or(|observed| observed[cell]))
            }
            BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
                match find(indices, values.len(), subscripts) {
                    Some(entry) => (values[entry], observed.as_ref().is_none_or(|observed| observed[entry])),
                    None => (0.0, *unlisted_zero),
                }
            }
        };
        if !observed {
            self.missing.set(true);
            return f64::NAN;
        }
        value
    }

    fn observed(&self, _array: ArrayId, _subscripts: &[usize]) -> bool {
        unreachable!("expressions of the program have no masks")
    }

    fn moment(&self, _moment: &Moment, _plates: &[usize], _slots: &[usize]) -> f64 {
        unreachable!("constants and data have no moments")
    }

    fn allocation(&self, _site: SiteId, _addend: usize, _plates: &[usize], _categories: &[usize]) -> f64 {
        unreachable!("constants and data have no allocations")
    }

    fn log_partition(&self, _site: SiteId, _plates: &[usize]) -> f64 {
        unreachable!("constants and data have no allocations")
    }

    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        functions::apply(function, arguments).unwrap_or_else(|| {
            self.unsupported.borrow_mut().get_or_insert(function);
            f64::NAN
        })
    }
}

/// The entry at these positions, if it is listed.
pub(super) fn find(indices: &[Vec<u32>], length: usize, subscripts: &[usize]) -> Option<usize> {
    let (mut low, mut high) = (0, length);
    while low < high {
        let middle = low + (high - low) / 2;
        let entry = indices.iter().map(|column| column[middle] as usize);
        match entry.cmp(subscripts.iter().copied()) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return Some(middle),
        }
    }
    None
}

/// The letters that are free in an expression.
pub(super) fn free_letters(expression: &Expression) -> Vec<LetterId> {
    fn gather(expression: &Expression, out: &mut Vec<LetterId>) {
        match expression {
            Expression::Number(_) => {}
            Expression::Value(_, subscripts) => {
                subscripts.iter().for_each(|subscript| subscript.letters(out))
            }
            Expression::Equal(left, right) => out.extend([*left, *right]),
            Expression::Sum(letters, body) => {
                let mut inner = Vec::new();
                gather(body, &mut inner);
                out.extend(inner.into_iter().filter(|letter| !letters.contains(letter)));
            }
            Expression::Add(parts) | Expression::Multiply(parts) => {
                parts.iter().for_each(|part| gather(part, out));
            }
            Expression::Power(base, exponent) => {
                gather(base, out);
                gather(exponent, out);
            }
            Expression::Apply(_, argument) => gather(argument, out),
        }
    }
    let mut letters = Vec::new();
    gather(expression, &mut letters);
    dedup(letters)
}
