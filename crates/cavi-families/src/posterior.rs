//! What a factor of q answers in numbers.
//!
//! A factor of q is an exponential family `log q(x) = sum_i (base_i + eta_i) t_i(x) - A(eta)` on its support, with
//! statistics `t`, natural parameters `eta` and a base measure `exp sum_i base_i t_i(x)`. What the derivation
//! collects in a log-density with respect to Lebesgue or counting measure are the *coefficients* `base_i + eta_i`:
//! `Gamma(a, b)` has `a - 1` for `log x` and `-b` for `x`. Its base is `-1` for `log x`, so that `eta` is `a` itself:
//! the 1 has to cancel in symbols, because in double precision `(1e-14 - 1) + 1` keeps two digits, and with 1e-17 in
//! the place of 1e-14 it keeps none.

use std::ops::{Deref, DerefMut};

use cavi_algebra::{Statistic, Support};
use rand::RngCore;
use smallvec::SmallVec;

use crate::family::Extent;
use crate::standard::Formulas;

/// The rows that one call treats: copies of a block, one after another.
///
/// Columns are row-major: a scalar column holds one number a row, a vector column `n`. A matrix column holds `n * n`
/// numbers a *group* of rows (a covariance shared by rows is stored once). Slices over a ragged axis have another length in
/// each group of that axis: `n` numbers of a vector column are then a row for each group, and there is no matrix.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The number of copies.
    pub rows: usize,
    /// The length of the slice, or the number of classes; 1 for scalars. Of slices over a ragged axis, those of all its
    /// groups together.
    pub n: usize,
    /// For slices over a ragged axis, where each group begins among `n` numbers, and the end of the last; else empty.
    pub starts: &'a [usize],
    /// The number of groups that matrix columns have.
    pub groups: usize,
    /// The group of each row; empty where each row is its own group.
    pub group: &'a [usize],
}

impl Batch<'_> {
    /// As many rows of this length, each its own group.
    pub fn of(rows: usize, n: usize) -> Batch<'static> {
        Batch { rows, n, starts: &[], groups: rows, group: &[] }
    }

    /// As many times `n` numbers, each cut at `starts` into rows of their own if there are any.
    pub fn cut(times: usize, n: usize, starts: &[usize]) -> Batch<'_> {
        let rows = times * if starts.is_empty() { 1 } else { starts.len() - 1 };
        Batch { starts, ..Batch::of(rows, n) }
    }

    /// The group of a row.
    pub fn group_of(&self, row: usize) -> usize {
        if self.group.is_empty() { row } else { self.group[row] }
    }

    /// The number of rows in `n` numbers of a vector column.
    pub fn rows_in_n(&self) -> usize {
        if self.starts.is_empty() { 1 } else { self.starts.len() - 1 }
    }

    /// Where a row of a vector column stands.
    pub fn row(&self, row: usize) -> std::ops::Range<usize> {
        if self.starts.is_empty() {
            return row * self.n..(row + 1) * self.n;
        }
        let (before, group) = (row / self.rows_in_n() * self.n, row % self.rows_in_n());
        before + self.starts[group]..before + self.starts[group + 1]
    }

    /// Where a row of a column with a matrix for each row stands.
    pub fn pairs(&self, row: usize) -> std::ops::Range<usize> {
        row * self.n * self.n..(row + 1) * self.n * self.n
    }

    /// Where a group of a matrix column stands.
    pub fn matrix(&self, group: usize) -> std::ops::Range<usize> {
        group * self.n * self.n..(group + 1) * self.n * self.n
    }

    /// The first row of a group.
    pub fn first_row_of(&self, group: usize) -> usize {
        (0..self.rows).find(|row| self.group_of(*row) == group).unwrap_or(0)
    }

    /// The length of a column of this extent.
    pub fn len(&self, extent: Extent) -> usize {
        match extent {
            Extent::Scalar => self.rows,
            Extent::Vector => self.rows / self.rows_in_n().max(1) * self.n,
            Extent::Matrix => self.groups * self.n * self.n,
            Extent::Pairs => self.rows * self.n * self.n,
        }
    }

    /// Whether there is no copy at all.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

/// A number that describes q, as it is stored and written to `posterior/VAR.PARAM.npy`.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// PARAM.
    pub name: &'static str,
    /// Its shape.
    pub extent: Extent,
    /// Whether it defines q (and is read by `--init`) or follows from those that do.
    pub defining: bool,
}

/// An expectation that a family answers.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Of this statistic.
    pub statistic: Statistic,
    /// Its shape: `Vector` has one slot, `Matrix` and `Pairs` two.
    pub extent: Extent,
}

/// A row of natural parameters that belongs to no proper distribution, or a mode that does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Improper {
    /// The first such row.
    pub row: usize,
    /// What is wrong, in words: `the rate is 0`.
    pub reason: String,
}

/// Refuses what is not a finite number greater than 0.
pub(crate) fn require_positive(row: usize, name: &str, value: f64) -> Result<(), Improper> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Improper { row, reason: format!("the {name} is {value}, and must be greater than 0") })
}

/// Refuses a difference `left` of two numbers of this `size` that has fewer than two digits left: both are rounded at about 2e-16 of
/// themselves. A joint factor of a mean and its precision has its rate as `b + sum (x - m)^2 / 2`, multiplied out, so that data far
/// from 0 beside their spread lose it.
pub(crate) fn require_digits(row: usize, name: &str, left: f64, size: f64) -> Result<(), Improper> {
    /// Two digits.
    const LEAST: f64 = 100.0 * f64::EPSILON;
    if size > 0.0 && size.is_finite() && left.abs() < LEAST * size {
        let reason = format!(
            "the {name} has lost its digits: it is {left:e}, the difference of two numbers of {size:e}, which double precision knows to \
             16 digits; the data of this copy are too far from 0 beside their spread"
        );
        return Err(Improper { row, reason });
    }
    Ok(())
}

/// Refuses what is not a finite number.
pub(crate) fn require_finite(row: usize, name: &str, value: f64) -> Result<(), Improper> {
    if value.is_finite() {
        return Ok(());
    }
    Err(Improper { row, reason: format!("the {name} is {value}, and must be finite") })
}

/// Columns that are read, one a statistic or descriptor; more than these few are listed on the heap.
pub type Views<'a> = SmallVec<[&'a [f64]; 6]>;

/// Columns that are written.
pub type ViewsMut<'a> = SmallVec<[&'a mut [f64]; 6]>;

/// Columns as the methods of a [`Posterior`] read them.
pub fn views<C: Deref<Target = [f64]>>(columns: &[C]) -> Views<'_> {
    columns.iter().map(|column| &**column).collect()
}

/// Columns as the methods of a [`Posterior`] write them.
pub fn views_mut<C: DerefMut<Target = [f64]>>(columns: &mut [C]) -> ViewsMut<'_> {
    columns.iter_mut().map(|column| &mut **column).collect()
}

/// An exponential family as a factor of q.
pub trait Posterior: Sync {
    /// Its name in the registry and in `derive`.
    fn name(&self) -> &'static str;

    /// The symbols that the literature has for the parameters of its [`Formulas`], in their order; alternatives,
    /// the usual one first. Empty where the names say it best.
    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// The supports it lives on.
    fn lives_on(&self, support: Support) -> bool;

    /// Whether it is a joint family over a slice (a vector), as opposed to scalars.
    fn over_slice(&self) -> bool {
        false
    }

    /// For a joint family over several variables, the supports of its members in order. Empty for one variable.
    fn joint(&self) -> &'static [Support] {
        &[]
    }

    /// Whether several real variables, numbers or slices, may stand beside each other in its vector.
    fn one_vector(&self) -> bool {
        false
    }

    /// The member that a descriptor belongs to.
    fn member_of(&self, _descriptor: usize) -> usize {
        0
    }

    /// Whether only a point can have it: [`Posterior::mode`], [`Posterior::start`] and [`Posterior::start_at`] work, and
    /// there is no normaliser in closed form.
    fn only_point(&self) -> bool {
        false
    }

    /// The statistics that its natural parameters multiply.
    fn statistics(&self) -> Vec<Expectation>;

    /// Which of its statistics this is, however many variables stand beside each other in its vector.
    fn place_of(&self, statistic: &Statistic) -> Option<usize> {
        let of_vector = if self.one_vector() { statistic.of_one_vector() } else { statistic.clone() };
        self.statistics().iter().position(|own| own.statistic == of_vector)
    }

    /// Which of its expectations this is.
    fn expectation_of(&self, statistic: &Statistic) -> Option<usize> {
        let of_vector = if self.one_vector() { statistic.of_one_vector() } else { statistic.clone() };
        self.expectations().iter().position(|own| own.statistic == of_vector)
    }

    /// For each statistic, the constant in its coefficient that the base measure takes: the natural parameters are the
    /// coefficients collected minus these.
    fn base(&self) -> Vec<f64> {
        vec![0.0; self.statistics().len()]
    }

    /// The same for each element of the first member's slice: what a base measure has that depends on the slice's length.
    fn base_per_element(&self) -> Vec<f64> {
        vec![0.0; self.statistics().len()]
    }

    /// The numbers that describe it; the defining ones first.
    fn descriptors(&self) -> &'static [Descriptor];

    /// The expectations it answers, its statistics among them where they are finite.
    fn expectations(&self) -> Vec<Expectation>;

    /// Whether the mean of an element is its mass over the total of the masses that stand in the same normaliser: those of the
    /// slice, and that of the complement.
    fn mean_is_over_total(&self) -> bool {
        false
    }

    /// Whether the bound pairs its entropy with the prior: `sum_i (prior_i - eta_i) E t_i + A(eta)` instead of the
    /// expected log prior plus the entropy.
    fn paired(&self) -> bool;

    /// Of a family that is [`Posterior::paired`], the number of the expectation that [`Posterior::pair`] works out on the way;
    /// `None` where it has no [`Posterior::pair`] of its own.
    fn pairs_with(&self) -> Option<usize> {
        None
    }

    /// What the bound pairs, `sum_i (prior_i - eta_i) E t_i + A(eta)` of each row, from the natural parameters of the prior, a
    /// column a statistic. A statistic whose two natural parameters are equal adds nothing, even if its expectation is infinite.
    /// `expectation` gets the expectation number [`Posterior::pairs_with`], with the bits of [`Posterior::expect`].
    fn pair(
        &self,
        _batch: &Batch,
        _descriptors: &[&[f64]],
        _prior: &[&[f64]],
        _expectation: &mut [f64],
        _rows: &mut [f64],
    ) {
        unreachable!("the family works out no expectation beside what the bound pairs")
    }

    /// What it prints beside its natural parameters: the parameters, expectations, log-normaliser and mode that papers
    /// state. Empty where the natural form says it all.
    fn formulas(&self) -> Formulas {
        Formulas::default()
    }

    /// Describes q: natural parameters (one column a statistic, base taken off) to all descriptors.
    fn describe(
        &self,
        batch: &Batch,
        natural: &[&[f64]],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper>;

    /// Fills the descriptors that are not defining from those that are; refuses values outside the domain.
    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper>;

    /// The natural parameters of described q, base taken off.
    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]);

    /// The expectation number `which` of [`Posterior::expectations`].
    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]);

    /// `A(eta)` for each row where [`Posterior::paired`], else the entropy of each row.
    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]);

    /// The maximiser of `sum_i c_i t_i(x)` over the closed support: what a point takes. The `coefficients` are those
    /// collected, base included (a flat prior has exactly 0 for `log x`). `value` holds the current point on entry, kept
    /// where every value is optimal on a simplex; elsewhere 0/0 is 0. The coefficients may be those of no proper
    /// distribution as long as the maximum is attained.
    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper>;

    /// Makes a row of q a point mass at an observed value (of a slice: at its elements): what the observed entries of
    /// a partly observed variable are. The parameters that define q may be infinite there; the expectations are those
    /// of [`crate::observed::at_value`]. False where no data have this family.
    fn observe(&self, _batch: &Batch, _row: usize, _value: &[f64], _descriptors: &mut [&mut [f64]]) -> bool {
        false
    }

    /// Whether some elements of a slice can be held at values while the others move: the statistics are `x` and `x x'`, whose
    /// coefficients [`crate::observed::hold`] takes to those of the others.
    fn holds_elements(&self) -> bool {
        false
    }

    /// Makes the `held` elements of a row of q a point mass at their values, where [`Posterior::holds_elements`]: the others keep their
    /// distribution, independent of these.
    fn observe_elements(
        &self,
        _batch: &Batch,
        _row: usize,
        _held: &[bool],
        _value: &[f64],
        _descriptors: &mut [&mut [f64]],
    ) {
        unreachable!("the family holds no elements")
    }

    /// Whether every regular matrix takes its vectors to vectors of the same family ([`Posterior::transform`]).
    fn is_linear(&self) -> bool {
        false
    }

    /// Makes every row the distribution of `T x`, with the matrix T row by row.
    fn transform(&self, _batch: &Batch, _matrix: &[f64], _descriptors: &mut [&mut [f64]]) {
        unreachable!("the family is not linear")
    }

    /// Which descriptor holds the means, of a family that has `x + c` with its `x` for every number c: the number is added to them.
    fn location(&self) -> Option<usize> {
        None
    }

    /// One draw for each row: a scalar or a slice; an index as its position.
    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]);

    /// A start of its own: all descriptors, of order 1 and different for every row and element, so that no symmetry is
    /// left.
    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]);

    /// A start whose mean (for an index: probabilities) is `centre`, a scalar or a slice a row, all descriptors filled:
    /// `init { w = expr }` and draws. Refuses a centre outside the support.
    fn start_at(&self, batch: &Batch, centre: &[f64], descriptors: &mut [&mut [f64]])
    -> Result<(), Improper>;
}
