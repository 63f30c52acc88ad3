//! What was found of the lines of a page.

use std::collections::BTreeSet;

use crate::rows::Row;

/// What was found of one kind of line.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many relations were evaluated: a line at two sets of data is two.
    pub relations: usize,
    /// The largest deviation between the sides of an equality, relative to the larger of them and to 1.
    pub deviation: f64,
    /// The largest distance of a printed expectation from the average over draws, in standard errors.
    pub errors: f64,
    /// How many bounds lay below what they bound by more than the error of the average: with `=` they would be wrong.
    pub strict: usize,
    /// The lines, as printed.
    pub lines: BTreeSet<String>,
}

impl Tally {
    /// A line was evaluated.
    pub(crate) fn row(&mut self, row: &Row) {
        self.relations += 1;
        self.lines.insert(row.shown.clone());
    }

    /// A line whose sides are equal up to a deviation.
    pub(crate) fn equal(&mut self, row: &Row, deviation: f64) {
        self.row(row);
        self.deviation = self.deviation.max(deviation);
    }

    /// Takes in what was found elsewhere.
    pub fn add(&mut self, other: Tally) {
        self.relations += other.relations;
        self.deviation = self.deviation.max(other.deviation);
        self.errors = self.errors.max(other.errors);
        self.strict += other.strict;
        self.lines.extend(other.lines);
    }
}

/// How far two numbers are apart, relative to the larger of them and to the size of what they are sums of; NaN where neither is a number, which says
/// nothing.
pub(crate) fn deviation(a: f64, b: f64, size: f64) -> f64 {
    if a == b {
        return 0.0;
    }
    if a.is_nan() && b.is_nan() {
        return f64::NAN;
    }
    let size = if size.is_finite() { size } else { 0.0 };
    let own = (a - b).abs() / a.abs().max(b.abs()).max(size);
    if own.is_nan() { f64::INFINITY } else { own }
}

#[cfg(test)]
mod tests {
    use super::deviation;

    /// Half of a small number is as far off as half of a large one; what cancels is measured by what it is a difference of.
    #[test]
    fn numbers_are_compared_on_the_scale_of_what_they_are_sums_of() {
        assert_eq!(deviation(1e-12, 2e-12, 2e-12), 0.5);
        assert_eq!(deviation(1e12, 2e12, 2e12), 0.5);
        assert_eq!(deviation(1e-17, 0.0, 1.0), 1e-17);
        assert_eq!(deviation(0.0, 0.0, 0.0), 0.0);
        assert_eq!(deviation(1.0, f64::NAN, 1.0), f64::INFINITY);
        assert_eq!(deviation(1.0, 1.5, f64::INFINITY), 1.0 / 3.0);
    }
}
