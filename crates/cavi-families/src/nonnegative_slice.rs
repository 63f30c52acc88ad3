//! What a non-negative slice takes under a quadratic objective: the maximiser of `b'x + x'A x` over `x >= 0`, non-negative
//! least squares.
//!
//! `A` is collected for all ordered pairs, so that `Q = -(A + A')` in `b'x - x'Qx / 2`.

use cavi_algebra::{Statistic, Support};
use cavi_numerics::Scratch;
use cavi_numerics::linalg;
use rand::RngCore;

use crate::family::Extent;
use crate::gamma::GammaPosterior;
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior};

/// Non-negative least squares over a slice, for points.
pub struct NonnegativeSlice;

const NO_DISTRIBUTION: &str = "a truncated Normal over a slice has no normaliser in closed form";

/// The elements of all slices, a Gamma each: what a slice starts from.
fn elements(batch: &Batch) -> Batch<'static> {
    let rows = batch.rows * batch.n;
    Batch::of(rows, 1)
}

impl Posterior for NonnegativeSlice {
    fn name(&self) -> &'static str {
        "Normal on non-negative slices"
    }

    fn lives_on(&self, support: Support) -> bool {
        matches!(support, Support::Positive | Support::Nonnegative)
    }

    fn over_slice(&self) -> bool {
        true
    }

    fn only_point(&self) -> bool {
        true
    }

    fn holds_elements(&self) -> bool {
        true
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Vector },
            Expectation { statistic: Statistic::outer(), extent: Extent::Matrix },
        ]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        const DESCRIPTORS: [Descriptor; 3] = [
            Descriptor { name: "shape", extent: Extent::Vector, defining: true },
            Descriptor { name: "rate", extent: Extent::Vector, defining: true },
            Descriptor { name: "mean", extent: Extent::Vector, defining: false },
        ];
        &DESCRIPTORS
    }

    fn expectations(&self) -> Vec<Expectation> {
        Vec::new()
    }

    fn paired(&self) -> bool {
        false
    }

    fn describe(&self, _: &Batch, _: &[&[f64]], _: &mut [&mut [f64]]) -> Result<(), Improper> {
        Err(Improper { row: 0, reason: NO_DISTRIBUTION.to_owned() })
    }

    fn complete(&self, _: &Batch, _: &mut [&mut [f64]]) -> Result<(), Improper> {
        Err(Improper { row: 0, reason: NO_DISTRIBUTION.to_owned() })
    }

    fn natural(&self, _: &Batch, _: &[&[f64]], _: &mut [&mut [f64]]) {
        unreachable!("{NO_DISTRIBUTION}")
    }

    fn expect(&self, _: &Batch, _: &[&[f64]], _: usize, _: &mut [f64]) {
        unreachable!("{NO_DISTRIBUTION}")
    }

    fn entropy(&self, _: &Batch, _: &[&[f64]], _: &mut [f64]) {
        unreachable!("{NO_DISTRIBUTION}")
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        let [linear, square] = coefficients else { unreachable!("two statistics") };
        let n = batch.n;
        let mut q = Scratch::zeros(n * n);
        let mut group = None;
        for row in 0..batch.rows {
            // Neighbouring rows of one group share the matrix.
            if group.replace(batch.group_of(row)) != Some(batch.group_of(row)) {
                let a = &square[batch.matrix(batch.group_of(row))];
                for k in 0..n {
                    for l in 0..n {
                        q[k * n + l] = -(a[k * n + l] + a[l * n + k]);
                    }
                }
            }
            let own = batch.row(row);
            linalg::nonnegative_quadratic(n, &q, &linear[own.clone()], &mut value[own]).map_err(|error| {
                let place = error.element;
                let reason =
                    format!("the objective grows without limit (no square at position {place} of the slice)");
                Improper { row, reason }
            })?;
        }
        Ok(())
    }

    fn sample(&self, _: &Batch, _: &[&[f64]], _: &mut dyn RngCore, _: &mut [f64]) {
        unreachable!("{NO_DISTRIBUTION}")
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        GammaPosterior.start(&elements(batch), rng, descriptors);
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        let outcome = GammaPosterior.start_at(&elements(batch), centre, descriptors);
        outcome.map_err(|improper| Improper { row: improper.row / batch.n.max(1), ..improper })
    }
}
