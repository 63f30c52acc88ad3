//! Constants and data as numbers: the expressions of a program evaluated as they are written, and an environment without
//! latents for what a start reads. What is not known is NaN. A product with a factor of 0 is 0 whatever its other factors are (`0 ln 0` is 0), but for
//! a division by 0, as in the checks of [`super::defined`].

use std::cell::{Cell, RefCell};
use std::ops::Range;

use cavi_algebra::evaluate::{Accumulator, Assignment, Environment, evaluate, for_each_value};
use cavi_algebra::{
    Array, ArrayId, AuxiliaryId, AxisId, Expression, Function, LetterId, Moment, Restriction, SiteId,
    Subscript, Sum, Symbols, dedup,
};
use cavi_executor::{BoundArray, BoundAxis};

use cavi_families::functions;
use smallvec::SmallVec;

/// The positions of an element, or the sizes of an array, which has few dimensions.
type Few = SmallVec<[usize; 6]>;

/// The factors of a product, which are few.
type Factors = SmallVec<[f64; 6]>;

/// What is known: sizes, and the arrays that have values so far.
pub(crate) struct Known<'a> {
    symbols: &'a Symbols,
    axes: &'a [BoundAxis],
    arrays: &'a [Option<BoundArray>],
    /// Set when a missing entry was read.
    missing: Cell<bool>,
    /// Whether entries that a restriction leaves out are told from zeros.
    entries_alone: bool,
    /// The letters of the sums that are being evaluated.
    summed: RefCell<Vec<LetterId>>,
    /// The last entry that was read, under no sum, although a restriction leaves it out.
    outside: RefCell<Option<(ArrayId, Vec<usize>)>>,
}

impl<'a> Known<'a> {
    pub fn new(symbols: &'a Symbols, axes: &'a [BoundAxis], arrays: &'a [Option<BoundArray>]) -> Known<'a> {
        Known {
            symbols,
            axes,
            arrays,
            missing: Cell::new(false),
            entries_alone: false,
            summed: RefCell::default(),
            outside: RefCell::default(),
        }
    }

    /// The same, in which an entry that a restriction leaves out (`x[2, 1]` of `x[i, j]` with `i < j`) is missing, whatever the file has
    /// there. Under a sum over one of its restricted letters it counts as 0, as in a statement: `sum[j](x[i, j])` goes over the entries that
    /// exist. So it does in a matrix, which goes over whole axes too.
    pub fn of_entries_alone(self) -> Known<'a> {
        Known { entries_alone: true, ..self }
    }

    /// The entry that the last value could not be computed from, since a restriction leaves it out.
    pub fn outside(&self) -> Option<(ArrayId, Vec<usize>)> {
        self.outside.borrow().clone()
    }

    /// The same with symbols that have more letters.
    pub fn with_symbols<'s>(&self, symbols: &'s Symbols) -> Known<'s>
    where
        'a: 's,
    {
        Known::new(symbols, self.axes, self.arrays)
    }

    /// The value of a sum of products at an assignment of its free letters; `None` where an entry that it reads is missing.
    pub fn value_of_sum(&self, sum: &Sum, assignment: &mut Assignment) -> Option<f64> {
        self.missing.set(false);
        let value = evaluate(self.symbols, sum, self, assignment);
        (!self.missing.get()).then_some(value)
    }

    /// The value at an assignment of the free letters; `None` where an entry that it reads is missing.
    pub fn value_of(&self, expression: &Expression, assignment: &mut Assignment) -> Option<f64> {
        self.missing.set(false);
        self.outside.replace(None);
        let value = self.evaluate(expression, assignment);
        (!self.missing.get()).then_some(value)
    }

    /// The position that a subscript names at an assignment of its letters; `None` where an entry that it reads is missing.
    pub fn position_of(&self, subscript: &Subscript, assignment: &mut Assignment) -> Option<usize> {
        self.missing.set(false);
        let position = self.position(subscript, assignment);
        (!self.missing.get()).then_some(position)
    }

    /// The entries that an expression reads at an assignment of its letters, each once, but for those under a sum, which have no place of
    /// their own.
    pub fn entries_of(&self, value: &Expression, assignment: &mut Assignment) -> Vec<(ArrayId, Vec<usize>)> {
        let mut entries: Vec<(ArrayId, Vec<usize>)> = Vec::new();
        value.visit_values(&mut |array, subscripts: &[Subscript]| {
            let mut letters = Vec::new();
            subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
            if letters.iter().any(|letter| assignment.get(*letter).is_none()) {
                return;
            }
            let positions: Option<Vec<usize>> =
                subscripts.iter().map(|own| self.position_of(own, assignment)).collect();
            if let Some(positions) = positions
                && !entries.contains(&(array, positions.clone()))
            {
                entries.push((array, positions));
            }
        });
        entries
    }

    /// Whether an entry was observed.
    pub fn is_observed(&self, array: ArrayId, subscripts: &[usize]) -> bool {
        self.entry(array, subscripts).1
    }

    /// The value of an entry and whether it was observed; what has no value was not.
    pub fn entry(&self, array: ArrayId, subscripts: &[usize]) -> (f64, bool) {
        let Some(bound) = &self.arrays[array.index()] else { return (f64::NAN, false) };
        let letters = &self.symbols.array(array).letters;
        let shape: Few = letters.iter().map(|letter| self.size(*letter)).collect();
        bound.entry(&shape, subscripts)
    }

    /// Calls `body` with all values of the letters of a sum.
    pub fn each(
        &self,
        letters: &[LetterId],
        assignment: &mut Assignment,
        body: &mut dyn FnMut(&mut Assignment),
    ) {
        // A parent comes before its children, which then run over its group.
        let [_, _, ..] = letters else {
            return for_each_value(self.symbols, self, letters, assignment, body);
        };
        let mut letters = letters.to_vec();
        letters.sort_by_key(|letter| self.symbols.lineage(*letter).len());
        for_each_value(self.symbols, self, &letters, assignment, body);
    }

    fn evaluate(&self, expression: &Expression, assignment: &mut Assignment) -> f64 {
        match expression {
            Expression::Number(value) => *value,
            Expression::Value(array, subscripts) => {
                self.element(*array, subscripts, assignment).unwrap_or(f64::NAN)
            }
            Expression::Indicator(comparison, left, right) => {
                let (left, right) = (assignment.get(*left), assignment.get(*right));
                f64::from(left.is_some() && comparison.holds(left, right))
            }
            Expression::Sum(letters, body) => {
                let mut total = Accumulator::default();
                let before = self.summed.borrow().len();
                self.summed.borrow_mut().extend(letters);
                self.each(letters, assignment, &mut |assignment| total.add(self.evaluate(body, assignment)));
                self.summed.borrow_mut().truncate(before);
                total.total()
            }
            Expression::Add(parts) => parts.iter().map(|part| self.evaluate(part, assignment)).sum(),
            Expression::Multiply(parts) => {
                // What an indicator leaves out is not read.
                let is_indicator = |part: &&Expression| matches!(part, Expression::Indicator(..));
                if parts.iter().filter(is_indicator).any(|part| self.evaluate(part, assignment) == 0.0) {
                    return 0.0;
                }
                let values: Factors = parts.iter().map(|part| self.evaluate(part, assignment)).collect();
                let lost = |(own, value): (&Expression, &f64)| {
                    !value.is_finite() && self.divides_by_zero(own, &mut assignment.clone())
                };
                // 0 ln 0 is 0.
                let is_zero = values.contains(&0.0)
                    && !values.iter().all(|own| own.is_finite())
                    && !parts.iter().zip(&values).any(lost);
                if is_zero { 0.0 } else { values.iter().product() }
            }
            Expression::Power(base, exponent) => {
                let arguments = [self.evaluate(base, assignment), self.evaluate(exponent, assignment)];
                self.function(Function::Power, &arguments)
            }
            Expression::Position(letter) => {
                let place = assignment.get(*letter).expect("every free letter is assigned");
                place as f64
            }
            Expression::OfMatrix(..) => {
                unreachable!("a matrix made from another is the value of an array, computed as a whole")
            }
            Expression::Apply(Function::LogDeterminant, elements) => match &**elements {
                Expression::Sum(letters, matrix) => {
                    let elements = self.matrix(matrix, letters[0], letters[1], assignment);
                    self.function(Function::LogDeterminant, &elements)
                }
                _ => unreachable!("a log-determinant has its elements as a sum"),
            },
            Expression::Apply(function, argument) => {
                let argument = self.evaluate(argument, assignment);
                self.function(*function, &[argument])
            }
        }
    }

    /// Whether a division by 0 stands in an expression: what is divided by 0 has no value, whatever it is multiplied by.
    fn divides_by_zero(&self, expression: &Expression, assignment: &mut Assignment) -> bool {
        match expression {
            Expression::Number(_)
            | Expression::Value(..)
            | Expression::Indicator(..)
            | Expression::Position(_)
            | Expression::OfMatrix(..) => false,
            Expression::Power(base, exponent) => {
                self.evaluate(base, assignment) == 0.0 && self.evaluate(exponent, assignment) < 0.0
                    || self.divides_by_zero(base, assignment)
                    || self.divides_by_zero(exponent, assignment)
            }
            Expression::Add(parts) | Expression::Multiply(parts) => {
                parts.iter().any(|part| self.divides_by_zero(part, assignment))
            }
            Expression::Apply(_, argument) => self.divides_by_zero(argument, assignment),
            Expression::Sum(letters, body) => {
                let mut found = false;
                self.each(letters, assignment, &mut |assignment| {
                    found = found || self.divides_by_zero(body, assignment);
                });
                found
            }
        }
    }

    /// The elements of a matrix along two letters, row by row.
    pub fn matrix(
        &self,
        expression: &Expression,
        row: LetterId,
        column: LetterId,
        assignment: &Assignment,
    ) -> Vec<f64> {
        let mut assignment = assignment.clone();
        let size = self.size(row);
        let mut elements = Vec::with_capacity(size * size);
        // A matrix goes over whole axes, as a sum does.
        let before = self.summed.borrow().len();
        self.summed.borrow_mut().extend([row, column]);
        for place in 0..size * size {
            assignment.assign(self.symbols, self, row, place / size);
            assignment.assign(self.symbols, self, column, place % size);
            elements.push(self.evaluate(expression, &mut assignment));
        }
        self.summed.borrow_mut().truncate(before);
        elements
    }

    fn position(&self, subscript: &Subscript, assignment: &mut Assignment) -> usize {
        match subscript {
            Subscript::Letter(letter) => assignment.get(*letter).expect("every free letter is assigned"),
            Subscript::Index(array, subscripts) => {
                self.element(*array, subscripts, assignment).unwrap_or_default() as usize
            }
        }
    }

    /// The value of an element; `None` where one of the positions that it reads is missing. What is missing is remembered.
    fn element(&self, array: ArrayId, subscripts: &[Subscript], assignment: &mut Assignment) -> Option<f64> {
        let before = self.missing.replace(false);
        let positions: Few = subscripts.iter().map(|own| self.position(own, assignment)).collect();
        if self.missing.get() {
            return None;
        }
        self.missing.set(before);
        let own = self.symbols.array(array);
        if !self.entries_alone || own.restriction.is_none() || own.has_entry(&positions) {
            return Some(self.value(array, &positions));
        }
        if self.is_summed(own, subscripts) {
            return Some(0.0);
        }
        self.outside.replace(Some((array, positions.to_vec())));
        self.missing.set(true);
        None
    }

    /// Whether a sum that is being evaluated goes over a letter by which entries of an array are restricted.
    fn is_summed(&self, array: &Array, subscripts: &[Subscript]) -> bool {
        let Some((left, _, right)) = array.restriction.map(Restriction::parts) else { return false };
        let restricted =
            array.letters.iter().zip(subscripts).filter(|(letter, _)| [left, right].contains(letter));
        let mut letters = Vec::new();
        restricted.for_each(|(_, subscript)| subscript.letters(&mut letters));
        let summed = self.summed.borrow();
        letters.iter().any(|letter| summed.contains(letter))
    }

    /// Whether every array that an expression reads has a value.
    pub fn knows(&self, expression: &Expression) -> bool {
        let mut known = true;
        expression.visit_values(&mut |array, _| known &= self.arrays[array.index()].is_some());
        known
    }

    /// Whether an array has a value at every combination of positions.
    pub fn has_all(&self, array: ArrayId) -> bool {
        self.arrays[array.index()].as_ref().is_some_and(|own| !own.has_missing())
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
        let (value, observed) = self.entry(array, subscripts);
        if !observed {
            self.missing.set(true);
            return f64::NAN;
        }
        value
    }

    fn observed(&self, array: ArrayId, subscripts: &[usize]) -> bool {
        self.entry(array, subscripts).1
    }

    fn moment(&self, _moment: &Moment, _plates: &[usize], _slots: &[usize]) -> f64 {
        f64::NAN
    }

    fn allocation(&self, _site: SiteId, _addend: usize, _plates: &[usize], _categories: &[usize]) -> f64 {
        f64::NAN
    }

    fn log_partition(&self, _site: SiteId, _plates: &[usize]) -> f64 {
        f64::NAN
    }

    fn auxiliary(&self, _: AuxiliaryId, _: &[usize]) -> f64 {
        f64::NAN
    }

    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        functions::apply(function, arguments)
    }
}

/// The letters that are free in an expression.
pub(super) fn free_letters(expression: &Expression) -> Vec<LetterId> {
    fn gather(expression: &Expression, out: &mut Vec<LetterId>) {
        match expression {
            Expression::Number(_) => {}
            Expression::Position(letter) => out.push(*letter),
            Expression::Value(_, subscripts) => {
                subscripts.iter().for_each(|subscript| subscript.letters(out))
            }
            Expression::Indicator(_, left, right) => out.extend([*left, *right]),
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
            Expression::Apply(_, argument) | Expression::OfMatrix(_, argument, ..) => gather(argument, out),
        }
    }
    let mut letters = Vec::new();
    gather(expression, &mut letters);
    dedup(letters)
}
