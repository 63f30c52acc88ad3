//! What a statement `target ~ Family(parameters)` assumes.

use cavi_algebra::{LetterId, MatrixFunction, Subscript, Sum, Support, Symbols};
use rand::RngCore;

use crate::draws::Value;

/// How many slices the left of a statement of this family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// A scalar on the left.
    None,
    /// One slice, `x[n, :k]`.
    One,
    /// Two slices over one axis, `x[:i, :j]`.
    Two,
    /// As the statement likes (`Flat`).
    Any,
}

/// The shape of a parameter, for one copy of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One number. It may depend on the slice letter of the left only where [`Parameter::extent`] says `Vector`.
    Scalar,
    /// One number for each position of a slice.
    Vector,
    /// One number for each pair of positions of a slice; rows whose matrices are equal share one.
    Matrix,
    /// One number for each pair of positions of a slice, for every row.
    Pairs,
}

/// Where a parameter must lie. What is known at `check` (a negative number) is an error there; the rest is checked when
/// data and constants are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Any number.
    Real,
    /// Greater than 0.
    Positive,
    /// Greater than the size of the statement's slice less 1.
    DegreesOfFreedom,
    /// 0 or greater.
    Nonnegative,
    /// From 0 to 1.
    Unit,
    /// Non-negative and summing to 1 over the slice.
    Simplex,
    /// A whole number, 0 or greater.
    Count,
    /// A symmetric positive definite matrix.
    PositiveDefinite,
    /// A symmetric matrix, positive semi-definite up to rounding.
    Covariance,
}

impl Domain {
    /// What lies in it, in words.
    pub fn expected(self) -> &'static str {
        match self {
            Domain::Real => "a finite number",
            Domain::Positive => "a finite number greater than 0",
            Domain::DegreesOfFreedom => "a finite number greater than the size of the axis less 1",
            Domain::Nonnegative => "a finite number, 0 or greater",
            Domain::Unit => "a number from 0 to 1",
            Domain::Count => "a whole number, 0 or greater",
            Domain::Simplex => "numbers of 0 or more that sum to 1",
            Domain::PositiveDefinite => "a symmetric positive definite matrix",
            Domain::Covariance => "a symmetric positive semi-definite matrix",
        }
    }

    /// Whether a number lies in it, or may be an element of a vector or a matrix that does. `size` is that of the statement's slice.
    pub fn holds(self, value: f64, size: usize) -> bool {
        value.is_finite()
            && match self {
                Domain::Real | Domain::PositiveDefinite | Domain::Covariance => true,
                Domain::Positive => value > 0.0,
                Domain::DegreesOfFreedom => value > size as f64 - 1.0,
                Domain::Nonnegative | Domain::Simplex => value >= 0.0,
                Domain::Unit => (0.0..=1.0).contains(&value),
                Domain::Count => value >= 0.0 && value.fract() == 0.0,
            }
    }
}

/// Rewrites a parameter given under another name to the canonical one: `sd = s` to `prec = s^-2`. `others` are the
/// canonical values of the parameters before it.
pub type Rewrite = fn(symbols: &mut Symbols, value: &Sum, others: &[Sum]) -> Sum;

/// One of the names a parameter may be given by.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    /// `prec`, `var`, `sd`.
    pub name: &'static str,
    /// Where the value must lie.
    pub domain: Domain,
    /// To the first spelling; `None` for the first itself.
    pub rewrite: Option<Rewrite>,
    /// What the density reads in place of the matrix that is given.
    pub read_as: Option<MatrixFunction>,
}

/// A parameter. Of its spellings exactly one is given.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The spellings; the first is the one in which the density is written.
    pub spellings: &'static [Spelling],
    /// Its shape.
    pub extent: Extent,
    /// Whether it may be given by position (the first spelling then).
    pub positional: bool,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it is a shape or a concentration: raised at first under `warmup shapes`.
    pub shape: bool,
}

impl Spelling {
    /// The name in which the density is written.
    pub const fn canonical(name: &'static str, domain: Domain) -> Spelling {
        Spelling { name, domain, rewrite: None, read_as: None }
    }

    /// Another name, and how to get from it to the canonical one.
    pub const fn rewritten(name: &'static str, domain: Domain, rewrite: Rewrite) -> Spelling {
        Spelling { name, domain, rewrite: Some(rewrite), read_as: None }
    }

    /// The same, for a matrix in whose place the density reads another.
    pub const fn read_as(self, function: MatrixFunction) -> Spelling {
        Spelling { read_as: Some(function), ..self }
    }
}

impl Parameter {
    /// A mandatory number that may be given by position.
    pub const fn scalar(spellings: &'static [Spelling]) -> Parameter {
        Parameter { spellings, extent: Extent::Scalar, positional: true, optional: false, shape: false }
    }

    /// A mandatory vector that may be given by position.
    pub const fn vector(spellings: &'static [Spelling]) -> Parameter {
        Parameter { spellings, extent: Extent::Vector, positional: true, optional: false, shape: false }
    }

    /// The same, given by name only.
    pub const fn by_name(self) -> Parameter {
        Parameter { positional: false, ..self }
    }

    /// The same, and it may be left out.
    pub const fn optional(self) -> Parameter {
        Parameter { optional: true, ..self }
    }

    /// The same, and it is a shape or a concentration.
    pub const fn shape(self) -> Parameter {
        Parameter { shape: true, ..self }
    }
}

/// The left of a statement, for one copy.
#[derive(Clone, Debug)]
pub struct Target {
    /// The element; where the family has slices, with the slice letters free in it.
    pub value: Sum,
    /// The slice letters.
    pub slices: Vec<LetterId>,
    /// For an index variable, the variable as a subscript: `z[n]`.
    pub index: Option<Subscript>,
}

/// A parameter's value, for one copy of the statement, under its first spelling.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The value. A vector has `letters[0]` free in it, a matrix both.
    pub value: Sum,
    /// For a vector the letter of its slice: that of the left where the left has one, else its own.
    pub letters: Vec<LetterId>,
}

/// What data a family describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Any numbers.
    Any,
    /// Counts, or non-negative numbers as a quasi-likelihood.
    Counts,
    /// Numbers greater than 0.
    Positive,
    /// Numbers 0 or greater.
    Nonnegative,
    /// 0 or 1, or numbers between as a quasi-likelihood.
    Binary,
    /// Numbers strictly between 0 and 1.
    Inside,
    /// Positions on an axis.
    Index,
    /// None: the family is for latents.
    None,
}

/// What of new data a family predicts, given its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prediction {
    /// An entry, by its density.
    Density,
    /// An entry that is one of several classes: the element of the vector parameter that it names.
    Class,
    /// An entry that is 0 or 1: the first parameter is the probability of 1.
    Trial,
    /// The units of a row of counts, one by one: each has the elements of the vector parameter as its probabilities.
    /// If each unit is kept with some probability, the kept ones have the same probabilities.
    Units,
    /// The units of a count, which arrive at the rate that is the first parameter. Units that are kept with a given
    /// probability arrive at that share of the rate, independently of those that are not kept.
    Rate,
}

/// Mean and variance of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

/// How a density moves with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// It does not.
    None,
    /// With this parameter: `p(x + c | m + c) = p(x | m)`.
    Parameter(usize),
    /// By itself: it is the same everywhere.
    Anywhere,
}

/// A distribution family as statements use it. Its log-density is stated once; updates, bound and objective follow.
pub trait Family: Sync {
    /// As programs write it.
    fn name(&self) -> &'static str;

    /// Its parameters, in positional order.
    fn parameters(&self) -> &'static [Parameter];

    /// What must stand on the left.
    fn slices(&self) -> Slices {
        Slices::None
    }

    /// The data it describes.
    fn data(&self) -> DataKind;

    /// The support of a latent with this prior; `None` where it has no q (Poisson). `Support::Index` is completed by
    /// the resolver with the axis of `p`.
    fn latent(&self) -> Option<Support>;

    /// Whether no factor of q has it as a prior: it is for points, and for what is fixed.
    fn only_point(&self) -> bool {
        false
    }

    /// Whether its first parameter is a kernel over the places of the slice, or under its other name a matrix.
    fn has_kernel(&self) -> bool {
        false
    }

    /// Whether the vector parameter must sum to 1 by the simplex rule.
    fn needs_simplex(&self) -> bool {
        false
    }

    /// Which parameter, if left out, only a draw needs: the total of a row of counts.
    fn draws_total(&self) -> Option<usize> {
        None
    }

    /// How its density moves with its target.
    fn location(&self) -> Location {
        Location::None
    }

    /// What of new data it predicts.
    fn prediction(&self) -> Prediction {
        Prediction::Density
    }

    /// Parameters whose product is the mean of an entry; none where the mean is no such product.
    fn mean_is(&self) -> &'static [usize] {
        &[]
    }

    /// Mean and variance of an entry that is one number, given its parameters under their first spellings; `None` where they are not known in closed
    /// form, or do not belong to one number. They are NaN or infinite where they do not exist.
    fn moments(&self, _parameters: &[f64]) -> Option<Moments> {
        None
    }

    /// `log p(target | parameters)` for one copy, all constants included. Optional parameters left out are `None`.
    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum;

    /// A draw of one copy, to `out`: a number; the numbers of a slice, of two slices row by row; of an index its position. Parameters
    /// stand under their first spellings and lie in their domains; of a matrix there is what was given, with what the density reads
    /// in its place. A draw lies where the density is finite.
    ///
    /// # Errors
    /// In words that follow the name of the variable: why there is no draw.
    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String>;
}
