//! A bound in symbols of its own: what it states, for showing it and for testing it.

use crate::sum_of_products::Sum;
use crate::symbols::{ArrayId, Symbols};

/// A bound as a derivation shows it.
#[derive(Clone, Debug)]
pub struct StatedBound {
    /// Its name, by which programs ask for it where they may.
    pub name: &'static str,
    /// What it states.
    pub inequality: Inequality,
    /// The same in words.
    pub words: BoundWords,
    /// Whether a point that it updates keeps its zeros: the coefficients of the update are ratios with the old value below,
    /// and the bound is that of the point mass at 0.
    pub keeps_zeros: bool,
    /// Where it comes from.
    pub references: &'static [Reference],
}

/// A work of the literature, as an entry of BibTeX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference(pub &'static str);

impl Reference {
    /// What it is cited by: what stands between the first brace and the first comma.
    pub fn key(self) -> &'static str {
        let inside = self.0.split_once('{').map_or("", |(_, rest)| rest);
        inside.split_once(',').map_or(inside, |(key, _)| key).trim()
    }
}

/// The sentences about a bound.
#[derive(Clone, Copy, Debug)]
pub struct BoundWords {
    /// What it is, in a list: `The bound of logs of sums`.
    pub of: &'static str,
    /// What leads to the inequality.
    pub holds: &'static str,
    /// What leads to the auxiliary variable at which both sides are equal.
    pub equal: &'static str,
    /// What leads to the auxiliary variables of the program, those at which the bound is largest under q. Equality is then the
    /// exception: an expectation stands between.
    pub best: Option<&'static str>,
    /// What it has done to a density, as a step of a derivation: `logs of sums bounded`.
    pub step: &'static str,
}

/// An inequality between functions of an argument and an auxiliary variable.
#[derive(Clone, Debug)]
pub struct Inequality {
    /// The axes, letters and arrays of both sides.
    pub symbols: Symbols,
    /// What is bounded.
    pub left: Sum,
    /// Whether the right side lies above the left one or below.
    pub side: Side,
    /// The bound.
    pub right: Sum,
    /// The argument of both sides.
    pub argument: ArrayId,
    /// The auxiliary variable.
    pub auxiliary: ArrayId,
    /// The auxiliary variable, over the letters of its array, at which both sides are equal.
    pub optimum: Sum,
}

/// Where a bound lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It is an upper bound.
    Above,
    /// It is a lower bound.
    Below,
}
