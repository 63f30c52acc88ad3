//! Families that only a point can have: their mode is exact, and there is no normaliser in closed form.

use crate::posterior::Views;
use cavi_algebra::print::Formula;
use cavi_algebra::{Elementary, Statistic, Support};
use rand::RngCore;

use crate::family::Extent;
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior};
use crate::standard::Formulas;

/// A maximiser, and a twin that is a distribution to start from.
pub struct OnlyPoint {
    pub(crate) name: &'static str,
    pub(crate) supports: &'static [Support],
    pub(crate) over_slice: bool,
    pub(crate) statistics: &'static [Elementary],
    pub(crate) twin: &'static dyn Posterior,
    /// The mode in symbols, where it has a closed form.
    pub(crate) mode: Option<fn() -> Formula>,
    /// The mode of one row.
    pub(crate) maximise: Maximise,
}

/// From the coefficients of one row, in the order of the statistics, to its value.
pub(crate) type Maximise = fn(row: usize, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper>;

const NO_DISTRIBUTION: &str = "there is no normaliser in closed form; it is for points only";

impl OnlyPoint {
    fn refusal(&self) -> Improper {
        Improper { row: 0, reason: format!("{}: {NO_DISTRIBUTION}", self.name) }
    }
}

impl Posterior for OnlyPoint {
    fn name(&self) -> &'static str {
        self.name
    }

    fn lives_on(&self, support: Support) -> bool {
        self.supports.contains(&support)
    }

    fn over_slice(&self) -> bool {
        self.over_slice
    }

    fn only_point(&self) -> bool {
        true
    }

    fn statistics(&self) -> Vec<Expectation> {
        let extent = if self.over_slice { Extent::Vector } else { Extent::Scalar };
        let of = |elementary: &Elementary| Expectation { statistic: Statistic::of(*elementary), extent };
        self.statistics.iter().map(of).collect()
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        self.twin.descriptors()
    }

    fn expectations(&self) -> Vec<Expectation> {
        Vec::new()
    }

    fn paired(&self) -> bool {
        false
    }

    fn formulas(&self) -> Formulas {
        Formulas { mode: self.mode.map(|mode| mode()), ..Formulas::default() }
    }

    fn describe(&self, _: &Batch, _: &[&[f64]], _: &mut [&mut [f64]]) -> Result<(), Improper> {
        Err(self.refusal())
    }

    fn complete(&self, _: &Batch, _: &mut [&mut [f64]]) -> Result<(), Improper> {
        Err(self.refusal())
    }

    fn natural(&self, _: &Batch, _: &[&[f64]], _: &mut [&mut [f64]]) {
        unreachable!("{}: {NO_DISTRIBUTION}", self.name)
    }

    fn expect(&self, _: &Batch, _: &[&[f64]], _: usize, _: &mut [f64]) {
        unreachable!("{}: {NO_DISTRIBUTION}", self.name)
    }

    fn entropy(&self, _: &Batch, _: &[&[f64]], _: &mut [f64]) {
        unreachable!("{}: {NO_DISTRIBUTION}", self.name)
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        let mut own = Views::from_elem(&[][..], coefficients.len());
        for row in 0..batch.rows {
            for (own, column) in own.iter_mut().zip(coefficients) {
                *own = &column[batch.row(row)];
            }
            (self.maximise)(row, &own, &mut value[batch.row(row)])?;
        }
        Ok(())
    }

    fn sample(&self, _: &Batch, _: &[&[f64]], _: &mut dyn RngCore, _: &mut [f64]) {
        unreachable!("{}: {NO_DISTRIBUTION}", self.name)
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        self.twin.start(batch, rng, descriptors);
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        self.twin.start_at(batch, centre, descriptors)
    }
}
