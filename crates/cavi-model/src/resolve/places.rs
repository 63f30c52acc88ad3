//! Which letters an expression may use, and where a slice may stand in it.

use cavi_algebra::LetterId;
use cavi_syntax::Span;

/// How a letter came to be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It stands on the left.
    Left,
    /// It stands on the left as a slice.
    LeftSlice,
    /// It is summed.
    Sum,
    /// It is the slice of the argument itself, as in `Categorical(pi[:k])`.
    Own,
    /// Nothing binds it, and that has been reported.
    Unbound,
}

/// A letter that may be used, and the letter it stands for.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// As the text has it.
    pub named: LetterId,
    /// What it stands for: the same, the letter that an array was declared with, or one with another parent.
    pub actual: LetterId,
    /// How it came to be bound.
    pub how: How,
    /// Where.
    pub span: Span,
}

/// What an expression is for, and so what may stand in it.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// The letters that may be used; of several for one name the last counts.
    pub bound: Vec<Bound>,
    /// How many slices the value has: 0 for a number, 1 for a vector, 2 for a matrix.
    pub capacity: usize,
    /// The letters of these slices, as far as they are known.
    pub slices: Vec<LetterId>,
    /// The left side is not known completely, so that missing letters and wrong slices are not reported.
    pub lenient: bool,
    /// Whether only data and constants may be mentioned, and then what for: `the size of an axis`.
    pub known_only: Option<&'static str>,
    /// What the value is, for messages: `the mean of Normal`.
    pub what: String,
    /// Whether the value is a vector that must sum to 1.
    pub simplex: bool,
    /// The other factor of the product that is read, where it is a name without subscripts.
    pub beside: Option<String>,
}

/// Where only what is known may stand.
pub(super) const COVARIANCE: &str = "a covariance";
pub(super) const INVERSE: &str = "the matrix of an inverse";
pub(super) const LOG_DETERMINANT: &str = "the matrix of a log-determinant";
pub(super) const CONSTANT: &str = "the value of a constant";
pub(super) const DERIVED: &str = "the value of derived data";
pub(super) const START: &str = "a start";

/// What the places of a process are, for messages.
pub(super) const PLACES: &str = "the places of the points";

impl Scope {
    /// A scope for a number, with the letters of a left.
    pub fn new(bound: Vec<Bound>, what: impl Into<String>) -> Scope {
        Scope {
            bound,
            capacity: 0,
            slices: Vec::new(),
            lenient: false,
            known_only: None,
            what: what.into(),
            simplex: false,
            beside: None,
        }
    }

    /// What a letter as written stands for here.
    pub fn find(&self, named: LetterId) -> Option<&Bound> {
        self.bound.iter().rev().find(|bound| bound.named == named)
    }

    /// Whether some letter stands for this one already.
    pub fn holds(&self, actual: LetterId) -> bool {
        self.bound.iter().any(|bound| bound.actual == actual)
    }
}
