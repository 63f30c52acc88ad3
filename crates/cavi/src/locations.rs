//! The means of Normal factors, and the values of points, as numbers that moves along several of them change; and the linear equations of such moves.
//!
//! # Derivation
//! With `eta_1` and `eta_2` for the coefficients of `x` and of `x^2` (or `x x'`) in the expected log joint, the derivative of the bound by a mean is
//! `eta_1 + 2 eta_2 m`, and its second derivative is `2 eta_2`; entropies do not depend on means.
//!
//! # Source
//! Conjugate gradients: Hestenes and Stiefel (1952).

use cavi_algebra::{ArrayId, BlockId, Elementary, Equations, Mode, Statistic};
use cavi_executor::{BoundArray, Layout, Runner};
use cavi_families::{Extent, Posterior, posterior, views};
use cavi_numerics::linalg::{cholesky, solve};

/// Conjugate gradients end where what is left is this share of what it was.
const SOLVED: f64 = 1e-10;

/// The means of a block, where a run has them.
pub(crate) struct Locations {
    pub block: BlockId,
    /// Rows by slice.
    pub here: Vec<f64>,
    /// The column that they are.
    column: usize,
    layout: Layout,
    family: &'static dyn Posterior,
}

/// The second derivatives of the bound by the elements of each copy, negated.
pub(crate) enum Precisions {
    /// A number an element; what is 0 or less moves nothing.
    Scalars(Vec<f64>),
    /// A Cholesky factor for each group of copies; none where nothing moves.
    Factors(Vec<Option<Vec<f64>>>),
}

impl Locations {
    /// Those of a block; `None` where it does not move as a whole.
    pub fn of(
        executor: &Runner<'_>,
        block: BlockId,
        may_move: &dyn Fn(BlockId) -> bool,
    ) -> Option<Locations> {
        let (equations, bound) = (executor.equations(), executor.bound());
        let missing =
            |array: ArrayId| bound.arrays[array.index()].as_ref().is_some_and(BoundArray::has_missing);
        let own = equations.block(block);
        let climbs = own.ascent.as_ref().and_then(|ascent| ascent.own_family);
        let family = posterior(climbs.unwrap_or(own.family));
        let column = if own.mode == Mode::Point { 0 } else { family.location()? };
        if !may_move(block) || executor.is_observed(block) {
            return None;
        }
        let here = executor.parameters().blocks[block.index()][column].clone();
        let layout = Layout::new(equations, bound, own, &missing);
        (!here.is_empty()).then_some(Locations { block, here, column, layout, family })
    }

    /// Puts means in their place.
    pub fn put(&self, executor: &mut Runner<'_>, means: Vec<f64>) {
        executor.replace_column(self.block, self.column, means);
    }

    /// Which natural parameter is the coefficient of `x`, and which is that of `x^2` or `x x'`.
    pub fn places(&self) -> (usize, usize) {
        let place = |statistic: &Statistic| self.family.place_of(statistic);
        let square = place(&Statistic::outer()).or_else(|| place(&Statistic::of(Elementary::Power(2))));
        let linear = place(&Statistic::of(Elementary::Power(1)));
        (linear.expect("a Normal has x"), square.expect("a Normal has the square of x"))
    }

    fn is_vector(&self) -> bool {
        self.family.place_of(&Statistic::outer()).is_some()
    }

    /// Calls with each copy: where its elements stand, and its group.
    fn each_copy(&self, mut call: impl FnMut(std::ops::Range<usize>, usize)) {
        let batch = self.layout.batch();
        (0..batch.rows).for_each(|copy| call(batch.row(copy), batch.group_of(copy)));
    }

    /// `eta_1 + 2 eta_2 m` of each element, at these means.
    pub fn slopes(&self, linear: &[f64], square: &[f64], means: &[f64]) -> Vec<f64> {
        if !self.is_vector() {
            let all = linear.iter().zip(square).zip(means);
            return all.map(|((linear, square), mean)| linear + 2.0 * square * mean).collect();
        }
        let mut slopes = linear.to_vec();
        let batch = self.layout.batch();
        self.each_copy(|row, group| {
            let (n, matrix) = (row.len(), &square[batch.matrix(group)]);
            let means = &means[row.clone()];
            for (k, slope) in slopes[row].iter_mut().enumerate() {
                let pairs = means.iter().enumerate();
                *slope += pairs.map(|(l, mean)| (matrix[k * n + l] + matrix[l * n + k]) * mean).sum::<f64>();
            }
        });
        slopes
    }

    /// `-2 eta_2` of each element by itself.
    pub fn diagonal(&self, square: &[f64]) -> Vec<f64> {
        if !self.is_vector() {
            return square.iter().map(|own| -2.0 * own).collect();
        }
        let mut diagonal = vec![0.0; self.here.len()];
        let batch = self.layout.batch();
        self.each_copy(|row, group| {
            let step = row.len() + 1;
            let own = square[batch.matrix(group)].iter().step_by(step);
            diagonal[row].iter_mut().zip(own).for_each(|(out, own)| *out = -2.0 * own);
        });
        diagonal
    }

    /// `-2 eta_2`.
    pub fn precisions(&self, square: &[f64]) -> Precisions {
        if !self.is_vector() {
            return Precisions::Scalars(self.diagonal(square));
        }
        let batch = self.layout.batch();
        let factor = |group: usize| {
            let matrix = &square[batch.matrix(group)];
            let n = batch.n;
            let mut own: Vec<f64> =
                (0..n * n).map(|at| -(matrix[at] + matrix[at % n * n + at / n])).collect();
            cholesky(n, &mut own).is_ok().then_some(own)
        };
        Precisions::Factors((0..batch.groups).map(factor).collect())
    }

    /// Derivatives times the inverse of precisions: how far each copy would move by itself.
    pub fn divide(&self, precisions: &Precisions, slopes: &mut [f64]) {
        match precisions {
            Precisions::Scalars(all) => {
                let own = slopes.iter_mut().zip(all);
                own.for_each(|(slope, own)| *slope = if *own > 0.0 { *slope / own } else { 0.0 });
            }
            Precisions::Factors(all) => self.each_copy(|row, group| match &all[group] {
                Some(factor) => solve(row.len(), factor, &mut slopes[row]),
                None => slopes[row].fill(0.0),
            }),
        }
    }

    /// The standard deviation of each element; `None` of a point.
    pub fn deviations(&self, executor: &Runner<'_>) -> Option<Vec<f64>> {
        let equations: &Equations = executor.equations();
        if equations.block(self.block).mode == Mode::Point {
            return None;
        }
        let batch = self.layout.batch();
        let which = self.family.expectation_of(&Statistic::covariance())?;
        let extent = self.family.expectations()[which].extent;
        let mut covariances = vec![0.0; batch.len(extent)];
        let columns = &executor.parameters().blocks[self.block.index()];
        self.family.expect(&batch, &views(columns), which, &mut covariances);
        let mut variances = vec![0.0; self.here.len()];
        for copy in 0..batch.rows {
            let row = batch.row(copy);
            let n = row.len();
            let own = match extent {
                Extent::Matrix => &covariances[batch.matrix(batch.group_of(copy))],
                Extent::Pairs => &covariances[batch.pairs(copy)],
                _ => &covariances[row.clone()],
            };
            let step = if own.len() == n { 1 } else { n + 1 };
            row.zip(own.iter().step_by(step)).for_each(|(element, own)| variances[element] = *own);
        }
        Some(variances.into_iter().map(f64::sqrt).collect())
    }
}

/// The best numbers that steps of conjugate gradients find.
#[derive(Debug, PartialEq)]
pub(crate) struct Solution {
    pub numbers: Vec<f64>,
    /// By how much they raise the bound.
    pub gain: f64,
    /// How often derivatives were taken, beside those at the start.
    pub steps: usize,
}

/// The numbers c at which derivatives are 0, which are `start` where c is 0 and `slopes` elsewhere, and linear. `scaled` divides derivatives by what the
/// second derivatives are, or about that; where it gives 0, nothing moves. `None` where nothing is to be gained.
///
/// With r for the derivatives at c, the bound is higher there by `c' (start + r) / 2`.
pub(crate) fn solved(
    start: &[f64],
    most: usize,
    scaled: &dyn Fn(&[f64]) -> Vec<f64>,
    slopes: &mut dyn FnMut(&[f64]) -> Option<Vec<f64>>,
) -> Option<Solution> {
    let dot = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
    let mut numbers = vec![0.0; start.len()];
    let mut rest = start.to_vec();
    let mut direction = scaled(&rest);
    let first = dot(&rest, &direction);
    let (mut length, mut steps) = (first, 0);
    while steps < most && length > SOLVED * SOLVED * first {
        steps += 1;
        let beyond: Vec<f64> = numbers.iter().zip(&direction).map(|(own, by)| own + by).collect();
        let bent: Vec<f64> = slopes(&beyond)?.iter().zip(&rest).map(|(beyond, here)| here - beyond).collect();
        let curvature = dot(&direction, &bent);
        if curvature <= 0.0 || curvature.is_nan() {
            break;
        }
        let step = length / curvature;
        numbers.iter_mut().zip(&direction).for_each(|(own, by)| *own += step * by);
        rest.iter_mut().zip(&bent).for_each(|(own, by)| *own -= step * by);
        let next = scaled(&rest);
        let longer = dot(&rest, &next);
        let keep = longer / length;
        direction.iter_mut().zip(next).for_each(|(own, next)| *own = next + keep * *own);
        length = longer;
    }
    let gains = numbers.iter().zip(start.iter().zip(&rest)).map(|(c, (g, rest))| c * (g + rest));
    let gain = 0.5 * gains.sum::<f64>();
    (gain > 0.0 && gain.is_finite()).then_some(Solution { numbers, gain, steps })
}

#[cfg(test)]
mod tests {
    use super::solved;

    /// `H c = g` of a matrix with a common part and another scale at each position.
    #[test]
    fn positions_with_a_common_prior_are_solved_together() {
        let n = 6;
        let scale = |at: usize| 10f64.powi(at as i32 - 3);
        let h: Vec<Vec<f64>> = (0..n)
            .map(|a| (0..n).map(|b| scale(a) * scale(b) * (0.5 + f64::from(u8::from(a == b)))).collect())
            .collect();
        let wanted: Vec<f64> = (0..n).map(|at| (at as f64 - 2.0) / scale(at)).collect();
        let product = |c: &[f64]| -> Vec<f64> {
            h.iter().map(|row| row.iter().zip(c).map(|(h, c)| h * c).sum()).collect()
        };
        let start = product(&wanted);
        let scaled = |rest: &[f64]| rest.iter().enumerate().map(|(at, own)| own / h[at][at]).collect();
        let mut slopes = |c: &[f64]| Some(start.iter().zip(product(c)).map(|(g, hc)| g - hc).collect());
        let found = solved(&start, 50, &scaled, &mut slopes).expect("it has a solution");
        for (found, wanted) in found.numbers.iter().zip(&wanted) {
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} {wanted}");
        }
        let gain: f64 = 0.5 * wanted.iter().zip(&start).map(|(c, g)| c * g).sum::<f64>();
        assert!((found.gain - gain).abs() <= 1e-9 * gain && found.steps <= n, "{} {gain}", found.gain);
    }

    #[test]
    fn what_nothing_holds_stays() {
        let scaled = |rest: &[f64]| vec![rest[0] / 4.0, 0.0];
        let mut slopes = |c: &[f64]| Some(vec![2.0 - 4.0 * c[0], 0.0]);
        let found = solved(&[2.0, 0.0], 50, &scaled, &mut slopes).expect("it has a solution");
        assert_eq!((found.numbers, found.gain, found.steps), (vec![0.5, 0.0], 0.5, 1));
        assert_eq!(solved(&[0.0, 0.0], 50, &scaled, &mut slopes), None);
    }
}
