//! Constants and data as the numbers of an expression.

use std::ops::Range;

use cavi_algebra::evaluate::Environment;
use cavi_algebra::{ArrayId, AxisId, Function, Moment, SiteId, Symbols};
use cavi_executor::{Bound, BoundArray};
use cavi_numerics::special;

/// An environment without latents: what `init` lines and priors with known parameters read.
pub(crate) struct Constants<'a> {
    symbols: &'a Symbols,
    bound: &'a Bound,
}

impl<'a> Constants<'a> {
    pub fn new(symbols: &'a Symbols, bound: &'a Bound) -> Constants<'a> {
        Constants { symbols, bound }
    }

    /// The value of an entry and whether it was observed.
    fn entry(&self, array: ArrayId, subscripts: &[usize]) -> (f64, bool) {
        match self.bound.arrays[array.index()].as_ref() {
            None => (f64::NAN, false),
            Some(BoundArray::Dense { values, observed }) => {
                let shape = self.bound.shape(self.symbols, array);
                let cell =
                    shape.iter().zip(subscripts).fold(0, |cell, (size, position)| cell * size + position);
                (values[cell], observed.as_ref().is_none_or(|observed| observed[cell]))
            }
            Some(BoundArray::Sparse { indices, values, observed, unlisted_zero }) => {
                // Entries are sorted by their coordinates.
                let compare = |entry: usize| {
                    let own = indices.iter().map(|column| column[entry] as usize);
                    own.cmp(subscripts.iter().copied())
                };
                let (mut low, mut high) = (0, values.len());
                while low < high {
                    let middle = low.midpoint(high);
                    match compare(middle) {
                        std::cmp::Ordering::Less => low = middle + 1,
                        std::cmp::Ordering::Greater => high = middle,
                        std::cmp::Ordering::Equal => {
                            let seen = observed.as_ref().is_none_or(|observed| observed[middle]);
                            return (values[middle], seen);
                        }
                    }
                }
                (0.0, *unlisted_zero)
            }
        }
    }
}

impl Environment for Constants<'_> {
    fn positions(&self, axis: AxisId, parent: Option<usize>) -> Range<usize> {
        let bound = &self.bound.axes[axis.index()];
        match (parent, &bound.starts) {
            (Some(parent), Some(starts)) => starts[parent]..starts[parent + 1],
            (Some(_) | None, _) => 0..bound.size,
        }
    }

    fn parent(&self, axis: AxisId, position: usize) -> usize {
        self.bound.axes[axis.index()].parent.as_ref().map_or(0, |parent| parent[position])
    }

    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        self.entry(array, subscripts).0
    }

    fn observed(&self, array: ArrayId, subscripts: &[usize]) -> bool {
        self.entry(array, subscripts).1
    }

    fn moment(&self, _: &Moment, _: &[usize], _: &[usize]) -> f64 {
        f64::NAN
    }

    fn allocation(&self, _: SiteId, _: usize, _: &[usize], _: &[usize]) -> f64 {
        f64::NAN
    }

    fn log_partition(&self, _: SiteId, _: &[usize]) -> f64 {
        f64::NAN
    }

    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        let x = arguments[0];
        match function {
            Function::Exp => special::exp(x),
            Function::Log => special::ln(x),
            Function::Sqrt => x.sqrt(),
            Function::LogGamma => special::log_gamma(x),
            Function::Logistic => 1.0 / (1.0 + special::exp(-x)),
            Function::Softplus => x.max(0.0) + special::log1p(special::exp(-x.abs())),
            Function::Power => special::exp(arguments[1] * special::ln(x)),
            // Refused by the caller, as every start that is no finite number.
            Function::Phi
            | Function::InversePhi
            | Function::StandardNormalLogCdf
            | Function::StandardNormalLogCcdf
            | Function::StandardNormalLogQf => f64::NAN,
        }
    }
}
