//! A contraction in its simplest form: it has no letter of size one, no two letters that could be one, and no operand
//! that is a number.

use std::ops::Range;

use super::{Letters, Operand, Operands, Output, Step};

/// An operand: where it begins, and its steps.
#[derive(Clone, Debug)]
pub(super) struct Array<'a> {
    pub values: *const f64,
    pub steps: Letters<Step<'a>>,
}

/// `out[o(b)] += c prod_i A_i[o_i(b)]`. Whoever builds one has checked that all offsets lie inside the arrays.
#[derive(Clone, Debug)]
pub(super) struct Problem<'a> {
    pub sizes: Letters<usize>,
    pub coefficient: f64,
    pub operands: Operands<Array<'a>>,
    pub out: *mut f64,
    pub steps: Letters<Step<'a>>,
}

// SAFETY: the pointers stand for borrows that outlive the problem; who shares one across threads sees to it that the
// outputs do not overlap (`split`).
unsafe impl Send for Problem<'_> {}
// SAFETY: as above.
unsafe impl Sync for Problem<'_> {}

impl<'a> Problem<'a> {
    /// The contraction, simplified. All sizes are positive, and all offsets lie inside the arrays.
    pub fn new<'b: 'a, 'c: 'a>(
        sizes: &[usize],
        coefficient: f64,
        operands: &[Operand<'b>],
        output: Output<'c>,
    ) -> Self {
        // SAFETY: an operand that depends on nothing begins at its only value.
        Self::reading(sizes, coefficient, operands, output, |number| unsafe { *number })
    }

    /// The same, with a function that reads operands which are numbers. No other element of the arrays is read.
    pub fn reading<'b: 'a, 'c: 'a>(
        sizes: &[usize],
        coefficient: f64,
        operands: &[Operand<'b>],
        output: Output<'c>,
        number: impl Fn(*const f64) -> f64,
    ) -> Self {
        // Copies: the type of a list on the stack has one lifetime, which is no longer than it is.
        let arrays = operands.iter().map(|operand| Array {
            values: operand.values.as_ptr(),
            steps: operand.steps.iter().copied().collect(),
        });
        let mut problem = Self {
            sizes: sizes.into(),
            coefficient,
            operands: arrays.collect(),
            out: output.values.as_mut_ptr(),
            steps: output.steps.iter().copied().collect(),
        };
        problem.simplify(number);
        problem
    }

    fn simplify(&mut self, number: impl Fn(*const f64) -> f64) {
        for letter in (0..self.sizes.len()).rev() {
            if self.sizes[letter] == 1 {
                // The first value of a table may lie anywhere; that of a stride is where the array begins.
                if self.all_steps(letter).any(|step| step.stride().is_none()) {
                    *self = self.part(letter, 0..1);
                }
                self.remove(letter);
            } else if self.all_steps(letter).all(|step| step.is_constant()) {
                self.coefficient *= self.sizes[letter] as f64;
                self.remove(letter);
            }
        }
        let mut coefficient = self.coefficient;
        self.operands.retain(|operand| {
            let is_number = operand.steps.iter().all(Step::is_constant);
            if is_number {
                coefficient *= number(operand.values);
            }
            !is_number
        });
        self.coefficient = coefficient;
        while let Some((outer, inner)) = self.fusible() {
            self.sizes[inner] *= self.sizes[outer];
            self.remove(outer);
        }
    }

    /// The steps of one letter, the output's last.
    pub fn all_steps(&self, letter: usize) -> impl Iterator<Item = &Step<'a>> {
        let operands = self.operands.iter().map(move |operand| &operand.steps[letter]);
        operands.chain([&self.steps[letter]])
    }

    fn remove(&mut self, letter: usize) {
        self.sizes.remove(letter);
        self.steps.remove(letter);
        for operand in &mut self.operands {
            operand.steps.remove(letter);
        }
    }

    /// Two letters that every array runs through as if they were one.
    fn fusible(&self) -> Option<(usize, usize)> {
        let letters = 0..self.sizes.len();
        let pairs = letters.clone().flat_map(|outer| letters.clone().map(move |inner| (outer, inner)));
        pairs.into_iter().find(|&(outer, inner)| {
            outer != inner
                && self.all_steps(outer).zip(self.all_steps(inner)).all(|(outer, step)| {
                    match (outer.stride(), step.stride()) {
                        (Some(outer), Some(step)) => outer == step * self.sizes[inner],
                        _ => false,
                    }
                })
        })
    }

    /// The same with one letter restricted to a range of its values.
    pub fn part(&self, letter: usize, range: Range<usize>) -> Self {
        let shift = |step: &Step| step.stride().unwrap_or(0) * range.start;
        let restrict = |steps: &[Step<'a>]| {
            let mut steps = Letters::from(steps);
            steps[letter] = steps[letter].from(range.start);
            if range.len() == 1
                && let Step::Table { table, scale } = steps[letter]
            {
                let offset = table[0] as usize * scale;
                steps[letter] = Step::Stride(0);
                return (steps, offset);
            }
            (steps, 0)
        };
        let mut sizes = self.sizes.clone();
        sizes[letter] = range.len();
        let operands = self.operands.iter().map(|operand| {
            let (steps, offset) = restrict(&operand.steps);
            Array { values: operand.values.wrapping_add(shift(&operand.steps[letter]) + offset), steps }
        });
        let operands = operands.collect();
        let (steps, offset) = restrict(&self.steps);
        let out = self.out.wrapping_add(shift(&self.steps[letter]) + offset);
        Self { sizes, coefficient: self.coefficient, operands, out, steps }
    }

    /// The number of products.
    pub fn work(&self) -> usize {
        self.sizes.iter().fold(1, |work: usize, size| work.saturating_mul(*size))
    }
}
