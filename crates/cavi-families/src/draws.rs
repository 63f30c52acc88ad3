//! What a draw of one copy of a statement is made from, and what several families draw alike.

use cavi_algebra::MatrixFunction;
use rand::RngCore;

use crate::posterior::{Batch, Posterior};

/// A parameter of one copy in numbers.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    /// One number; of a vector one for each position of the slice; of a matrix all, row by row.
    pub elements: &'a [f64],
    /// Of a matrix what the density reads in its place: a covariance is given, its inverse read.
    pub read_as: Option<MatrixFunction>,
}

impl Value<'_> {
    /// The first number: all there is of a scalar.
    pub fn number(&self) -> f64 {
        self.elements[0]
    }
}

/// The mandatory parameters as numbers, for families all of whose parameters are scalars.
pub(crate) fn numbers<const N: usize>(parameters: &[Option<Value<'_>>]) -> [f64; N] {
    std::array::from_fn(|place| parameters[place].expect("a mandatory parameter is given").number())
}

/// A draw from the factor of q of the same name, described by these numbers.
pub(crate) fn from_posterior(
    posterior: &dyn Posterior,
    descriptors: &[&[f64]],
    rng: &mut dyn RngCore,
    out: &mut [f64],
) {
    let n = descriptors[0].len();
    posterior.sample(&Batch::of(1, n), descriptors, rng, out);
}

/// A total of units, which a draw needs to be whole.
pub(crate) fn whole_total(total: f64) -> Result<u64, String> {
    // Above 2^53 not every whole number is a double.
    if total.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&total) {
        return Ok(total as u64);
    }
    Err(format!("its total is {total}, and a draw needs a whole number"))
}
