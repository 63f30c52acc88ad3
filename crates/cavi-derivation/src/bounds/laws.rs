//! The same laws for every bound, in one loop over the list.

use std::ops::Range;

use cavi_algebra::evaluate::{Assignment, Environment, evaluate};
use cavi_algebra::{ArrayId, AuxiliaryId, AxisId, Function, Inequality, Moment, Side, SiteId, Sum, Support};
use cavi_families::functions::apply;

use super::{asked_for, bounds};

/// How many points each bound is tried at.
const POINTS: usize = 2000;
/// How many categories numbers and shares have.
const CATEGORIES: usize = 4;

/// Numbers spread over the unit interval: multiples of the golden ratio, without what stands before the point.
struct Spread(u32);

impl Spread {
    fn next(&mut self) -> f64 {
        self.0 += 1;
        (f64::from(self.0) * 0.618_033_988_749_894_9).fract()
    }

    /// An array with elements where its support is, from very small to very large.
    fn array(&mut self, inequality: &Inequality, array: ArrayId) -> Vec<f64> {
        let array = inequality.symbols.array(array);
        let count = if array.letters.is_empty() { 1 } else { CATEGORIES };
        let mut positive = || (12.0 * self.next() - 6.0).exp();
        let values: Vec<f64> = (0..count).map(|_| positive()).collect();
        match array.support {
            Support::Positive => values,
            Support::Simplex => {
                let total: f64 = values.iter().sum();
                values.into_iter().map(|value| value / total).collect()
            }
            Support::Real => {
                values.into_iter().map(|value| if self.next() < 0.5 { value } else { -value }).collect()
            }
            other => panic!("no law has points of the support {other:?}"),
        }
    }
}

/// The values of an argument and of an auxiliary variable.
struct Point<'a> {
    inequality: &'a Inequality,
    argument: Vec<f64>,
    auxiliary: Vec<f64>,
}

impl Point<'_> {
    fn value_of(&self, sum: &Sum, category: usize) -> f64 {
        let symbols = &self.inequality.symbols;
        let mut at = Assignment::new();
        for letter in &symbols.array(self.inequality.auxiliary).letters {
            at.assign(symbols, self, *letter, category);
        }
        evaluate(symbols, sum, self, &mut at)
    }

    fn left(&self) -> f64 {
        self.value_of(&self.inequality.left, 0)
    }

    fn right(&self) -> f64 {
        self.value_of(&self.inequality.right, 0)
    }

    /// By how much the bound holds, and the size of what is compared.
    fn margin(&self) -> (f64, f64) {
        let (left, right) = (self.left(), self.right());
        let margin = match self.inequality.side {
            Side::Above => right - left,
            Side::Below => left - right,
        };
        (margin, left.abs().max(right.abs()).max(1.0))
    }

    /// The same argument, with the auxiliary variable at its optimum.
    fn tight(&self) -> Point<'_> {
        let optimum = |category| self.value_of(&self.inequality.optimum, category);
        let auxiliary = (0..self.auxiliary.len()).map(optimum).collect();
        Point { inequality: self.inequality, argument: self.argument.clone(), auxiliary }
    }
}

impl Environment for Point<'_> {
    fn positions(&self, _: AxisId, _: Option<usize>) -> Range<usize> {
        0..CATEGORIES
    }

    fn parent(&self, _: AxisId, _: usize) -> usize {
        unreachable!("no axis of an inequality is ragged")
    }

    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        let values = if array == self.inequality.argument { &self.argument } else { &self.auxiliary };
        values[subscripts.first().copied().unwrap_or(0)]
    }

    fn observed(&self, _: ArrayId, _: &[usize]) -> bool {
        true
    }

    fn moment(&self, _: &Moment, _: &[usize], _: &[usize]) -> f64 {
        unreachable!("an inequality holds for numbers")
    }

    fn allocation(&self, _: SiteId, _: usize, _: &[usize], _: &[usize]) -> f64 {
        unreachable!("an inequality has an array for its shares")
    }

    fn log_partition(&self, _: SiteId, _: &[usize]) -> f64 {
        unreachable!("an inequality has an array for its shares")
    }

    fn auxiliary(&self, _: AuxiliaryId, _: &[usize]) -> f64 {
        unreachable!("an inequality has an array for its auxiliary variable")
    }

    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        apply(function, arguments)
    }
}

#[test]
fn bounds_bound_and_are_tight_at_their_optimum() {
    for bound in bounds() {
        let inequality = bound.inequality();
        let name = bound.name();
        let mut spread = Spread(0);
        let mut farthest = 0.0_f64;
        for _ in 0..POINTS {
            let argument = spread.array(&inequality, inequality.argument);
            let auxiliary = spread.array(&inequality, inequality.auxiliary);
            let point = Point { inequality: &inequality, argument, auxiliary };
            let (margin, size) = point.margin();
            assert!(margin >= -1e-12 * size, "{name} is broken by {margin} at {:?}", point.argument);
            farthest = farthest.max(margin / size);
            let (margin, size) = point.tight().margin();
            assert!(margin.abs() <= 1e-12 * size, "{name} is {margin} off at {:?}", point.argument);
        }
        assert!(farthest > 0.1, "{name} is tight everywhere, so that it gives nothing up");
    }
}

#[test]
fn bounds_have_names_of_their_own() {
    for (number, bound) in bounds().iter().enumerate() {
        assert!(bounds()[..number].iter().all(|other| other.name() != bound.name()));
        assert_eq!(asked_for(bound.name()).is_some(), bound.serves().is_some());
    }
}
