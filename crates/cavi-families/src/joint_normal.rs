//! A Normal over a slice as a factor of q: `log q(x) = eta_1' x + x' eta_2 x - A`, with `eta_2 = -precision / 2` and
//! `eta_1 = precision mean`.
//!
//! Statistics `x_k` and `x_k x_l` for all ordered pairs; no base; entropy `(n (log(2 pi) + 1) + log det cov) / 2`. Rows of
//! one group share the matrix: its Cholesky factor and the covariance are computed once, and each row costs two
//! triangular solves.
//!
//! # Source
//! Bishop, Pattern Recognition and Machine Learning (2006), 2.3.

use cavi_algebra::print::Formula;
use cavi_algebra::{Statistic, Support};
use cavi_numerics::Scratch;
use cavi_numerics::linalg;
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::family::Extent;
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior, require_finite};
use crate::standard::Formulas;
use crate::standard::build::{
    eta, inverse, log_determinant_of, matrix_vector, parameter, sum, symmetric, times,
};

/// A Normal over a slice as a factor of q.
pub struct JointNormalPosterior;

/// `-(eta + eta')`, the precision, from the coefficients of `x_k x_l`.
fn precision_of(n: usize, eta: &[f64], precision: &mut [f64]) {
    for k in 0..n {
        for l in 0..=k {
            let value = -(eta[k * n + l] + eta[l * n + k]);
            precision[k * n + l] = value;
            precision[l * n + k] = value;
        }
    }
}

/// The Cholesky factors of the precisions, one a group, from the coefficients of `x_k x_l`.
fn factor(batch: &Batch, eta: &[f64], factors: &mut [f64]) -> Result<(), Improper> {
    for group in 0..batch.groups {
        let place = batch.matrix(group);
        require_finite_precision(batch, group, &eta[place.clone()])?;
        precision_of(batch.n, &eta[place.clone()], &mut factors[place.clone()]);
        linalg::cholesky(batch.n, &mut factors[place]).map_err(|error| not_positive(batch, group, error))?;
    }
    Ok(())
}

fn require_finite_precision(batch: &Batch, group: usize, eta: &[f64]) -> Result<(), Improper> {
    if eta.iter().all(|value| value.is_finite()) {
        return Ok(());
    }
    Err(Improper { row: batch.first_row_of(group), reason: "the precision is not finite".to_owned() })
}

fn not_positive(batch: &Batch, group: usize, error: linalg::NotPositive) -> Improper {
    let reason = format!("the precision is not positive definite (at position {} of the slice)", error.pivot);
    Improper { row: batch.first_row_of(group), reason }
}

/// Why a matrix whose inverse is not one of a distribution is refused.
pub(crate) fn nearly_singular(name: &str) -> String {
    format!(
        "the {name} is so near to one that is not positive definite that its inverse is none in double precision: some direction is \
         hardly determined beside the others"
    )
}

/// Whether row and column `k` of a matrix are 0.
fn is_untouched(n: usize, matrix: &[f64], k: usize) -> bool {
    (0..n).all(|l| matrix[k * n + l] == 0.0 && matrix[l * n + k] == 0.0)
}

/// Gives point masses, whose rows and columns of a covariance are 0, a diagonal of 1, so that the matrix has a Cholesky factor and a
/// determinant that are those of the others; how many there are.
fn stand_apart(n: usize, covariance: &mut [f64]) -> usize {
    let mut masses = 0;
    for k in 0..n {
        if covariance[k * n + k] == 0.0 && is_untouched(n, covariance, k) {
            covariance[k * n + k] = 1.0;
            masses += 1;
        }
    }
    masses
}

impl Posterior for JointNormalPosterior {
    fn name(&self) -> &'static str {
        "Normal over a slice"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["Lambda", "S", "m"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        support == Support::Real
    }

    fn over_slice(&self) -> bool {
        true
    }

    fn one_vector(&self) -> bool {
        true
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Vector },
            Expectation { statistic: Statistic::outer(), extent: Extent::Matrix },
        ]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "mean", extent: Extent::Vector, defining: true },
            Descriptor { name: "cov", extent: Extent::Matrix, defining: true },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Vector },
            Expectation { statistic: Statistic::covariance(), extent: Extent::Matrix },
        ]
    }

    fn paired(&self) -> bool {
        false
    }

    fn location(&self) -> Option<usize> {
        Some(0)
    }

    fn formulas(&self) -> Formulas {
        let precision = || times(-2.0, symmetric(eta(1)));
        Formulas {
            parameters: vec![
                ("prec", precision()),
                ("cov", inverse(parameter(0))),
                ("mean", matrix_vector(parameter(1), eta(0))),
            ],
            expectations: vec![
                (Statistic::identity(), parameter(2)),
                (Statistic::covariance(), parameter(1)),
            ],
            entropy: Some(sum([
                times(0.5, log_determinant_of(parameter(1))),
                times(0.5, Formula::Size),
                times(0.5 * (2.0 * std::f64::consts::PI).ln(), Formula::Size),
            ])),
            mode: Some(matrix_vector(inverse(precision()), eta(0))),
            ..Formulas::default()
        }
    }

    fn describe(
        &self,
        batch: &Batch,
        natural: &[&[f64]],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        let [mean, covariance] = descriptors else { unreachable!("two descriptors") };
        // The Cholesky factors are kept in the memory of the covariances until every row has been solved for.
        factor(batch, natural[1], covariance)?;
        mean.copy_from_slice(natural[0]);
        for row in 0..batch.rows {
            let place = batch.row(row);
            linalg::solve(batch.n, &covariance[batch.matrix(batch.group_of(row))], &mut mean[place.clone()]);
            for value in &mean[place] {
                require_finite(row, "mean", *value)?;
            }
        }
        let n = batch.n;
        let mut scratch = Scratch::zeros(n * n);
        for group in 0..batch.groups {
            let place = batch.matrix(group);
            scratch.copy_from_slice(&covariance[place.clone()]);
            linalg::inverse(n, &scratch, &mut covariance[place.clone()]);
            let eta = &natural[1][place.clone()];
            let diagonal = (0..n).map(|k| -2.0 * eta[k * n + k]);
            if !linalg::has_factor(diagonal, &covariance[place]) {
                return Err(Improper {
                    row: batch.first_row_of(group),
                    reason: nearly_singular("precision"),
                });
            }
        }
        Ok(())
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        let n = batch.n;
        for row in 0..batch.rows {
            for value in &descriptors[0][batch.row(row)] {
                require_finite(row, "mean", *value)?;
            }
        }
        let mut scratch = Scratch::zeros(n * n);
        for group in 0..batch.groups {
            scratch.copy_from_slice(&descriptors[1][batch.matrix(group)]);
            let refuse = |reason: String| Improper { row: batch.first_row_of(group), reason };
            for k in 0..n {
                for l in 0..k {
                    let (below, above) = (scratch[k * n + l], scratch[l * n + k]);
                    let scale = (scratch[k * n + k] * scratch[l * n + l]).abs().sqrt();
                    // Written so that NaN is refused.
                    if !((below - above).abs() <= 1e-9 * scale) {
                        let reason = format!("the covariance is not symmetric ({below} against {above})");
                        return Err(refuse(reason));
                    }
                }
            }
            linalg::cholesky(n, &mut scratch).map_err(|error| {
                refuse(format!(
                    "the covariance is not positive definite (at position {} of the slice)",
                    error.pivot
                ))
            })?;
        }
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        let n = batch.n;
        let [linear, square] = natural else { unreachable!("two statistics") };
        square.copy_from_slice(descriptors[1]);
        for group in 0..batch.groups {
            let factor = &mut square[batch.matrix(group)];
            // Of no distribution there are no natural parameters: they are no numbers.
            if linalg::cholesky(n, factor).is_err() {
                factor.fill(f64::NAN);
            }
        }
        linear.copy_from_slice(descriptors[0]);
        for row in 0..batch.rows {
            linalg::solve(n, &square[batch.matrix(batch.group_of(row))], &mut linear[batch.row(row)]);
        }
        let mut scratch = Scratch::zeros(n * n);
        for group in 0..batch.groups {
            let place = batch.matrix(group);
            scratch.copy_from_slice(&square[place.clone()]);
            linalg::inverse(n, &scratch, &mut square[place.clone()]);
            square[place].iter_mut().for_each(|value| *value *= -0.5);
        }
    }

    fn expect(&self, _batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        out.copy_from_slice(descriptors[which]);
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        let n = batch.n;
        let mut scratch = Scratch::zeros(n * n);
        let each = (2.0 * std::f64::consts::PI).ln() + 1.0;
        let by_group: Scratch = (0..batch.groups)
            .map(|group| {
                scratch.copy_from_slice(&descriptors[1][batch.matrix(group)]);
                // What was observed is a point mass, and so is what is held: the entropy is that of the others.
                let free = n - stand_apart(n, &mut scratch);
                if n > 0 && free == 0 {
                    return f64::NEG_INFINITY;
                }
                if linalg::cholesky(n, &mut scratch).is_err() {
                    return f64::NAN;
                }
                0.5 * (free as f64 * each + linalg::log_determinant(n, &scratch))
            })
            .collect();
        for row in 0..batch.rows {
            out[row] = by_group[batch.group_of(row)];
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        let [linear, square] = coefficients else { unreachable!("two statistics") };
        let n = batch.n;
        let mut factors = Scratch::zeros(square.len());
        for group in 0..batch.groups {
            let place = batch.matrix(group);
            require_finite_precision(batch, group, &square[place.clone()])?;
            precision_of(n, &square[place.clone()], &mut factors[place.clone()]);
            let precision = &mut factors[place];
            for k in 0..n {
                if is_untouched(n, &precision[..], k) {
                    precision[k * n + k] = 1.0;
                }
            }
            linalg::cholesky(n, precision).map_err(|error| not_positive(batch, group, error))?;
        }
        value.copy_from_slice(linear);
        for row in 0..batch.rows {
            let place = batch.matrix(batch.group_of(row));
            let value = &mut value[batch.row(row)];
            // 0/0 is 0: an element that no term touches.
            for k in 0..n {
                if value[k] != 0.0 && is_untouched(n, &square[place.clone()], k) {
                    let reason = format!(
                        "the objective grows without limit (no precision at position {k} of the slice)"
                    );
                    return Err(Improper { row, reason });
                }
            }
            linalg::solve(n, &factors[place], value);
        }
        Ok(())
    }

    fn observe(&self, batch: &Batch, row: usize, value: &[f64], descriptors: &mut [&mut [f64]]) -> bool {
        descriptors[0][batch.row(row)].copy_from_slice(value);
        descriptors[1][batch.matrix(batch.group_of(row))].fill(0.0);
        true
    }

    fn holds_elements(&self) -> bool {
        true
    }

    fn observe_elements(
        &self,
        batch: &Batch,
        row: usize,
        held: &[bool],
        value: &[f64],
        descriptors: &mut [&mut [f64]],
    ) {
        let n = batch.n;
        let mean = &mut descriptors[0][batch.row(row)];
        for k in (0..n).filter(|k| held[*k]) {
            mean[k] = value[k];
        }
        let covariance = &mut descriptors[1][batch.matrix(batch.group_of(row))];
        for k in (0..n).filter(|k| held[*k]) {
            for l in 0..n {
                covariance[k * n + l] = 0.0;
                covariance[l * n + k] = 0.0;
            }
        }
    }

    fn is_linear(&self) -> bool {
        true
    }

    /// `T x` has the mean `T m` and the covariance `T C T'`.
    fn transform(&self, batch: &Batch, matrix: &[f64], descriptors: &mut [&mut [f64]]) {
        let n = batch.n;
        let columns = linalg::transpose(n, matrix);
        let [means, covariances] = descriptors else { unreachable!("two descriptors") };
        // Row by row of `T'`, so that the inner loop runs along memory: `(a T')_k = sum_l a_l T_kl`.
        let times_columns = |from: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            for (value, column) in from.iter().zip(columns.chunks_exact(n)) {
                out.iter_mut().zip(column).for_each(|(out, own)| *out += value * own);
            }
        };
        let (mut half, mut turned) = (Scratch::zeros(n * n), Scratch::zeros(n * n));
        for row in 0..batch.rows {
            let mean = &mut means[batch.row(row)];
            times_columns(mean, &mut half[..n]);
            mean.copy_from_slice(&half[..n]);
        }
        for group in 0..batch.groups {
            let covariance = &mut covariances[batch.matrix(group)];
            for (own, out) in covariance.chunks_exact(n).zip(half.chunks_exact_mut(n)) {
                times_columns(own, out);
            }
            // The rows of `(C T')'` are those of `T C`.
            turned.copy_from_slice(&linalg::transpose(n, &half));
            for (own, out) in turned.chunks_exact(n).zip(covariance.chunks_exact_mut(n)) {
                times_columns(own, out);
            }
            for k in 0..n {
                for l in 0..k {
                    let value = 0.5 * (covariance[k * n + l] + covariance[l * n + k]);
                    covariance[k * n + l] = value;
                    covariance[l * n + k] = value;
                }
            }
        }
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        let n = batch.n;
        let mut factors = descriptors[1].to_vec();
        for group in 0..batch.groups {
            let factor = &mut factors[batch.matrix(group)];
            let masses: Vec<usize> = (0..n).filter(|k| is_untouched(n, factor, *k)).collect();
            stand_apart(n, factor);
            if linalg::cholesky(n, factor).is_err() {
                factor.fill(f64::NAN);
            }
            // A point mass has no noise.
            masses.into_iter().for_each(|k| factor[k * n + k] = 0.0);
        }
        let mut noise = vec![0.0; n];
        for row in 0..batch.rows {
            noise.fill_with(|| rng.sample(StandardNormal));
            let factor = &factors[batch.matrix(batch.group_of(row))];
            let (mean, out) = (&descriptors[0][batch.row(row)], &mut out[batch.row(row)]);
            for k in 0..n {
                out[k] = mean[k] + (0..=k).map(|l| factor[k * n + l] * noise[l]).sum::<f64>();
            }
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        descriptors[0].fill_with(|| rng.sample(StandardNormal));
        set_identity(batch, descriptors[1]);
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        descriptors[0].copy_from_slice(centre);
        set_identity(batch, descriptors[1]);
        self.complete(batch, descriptors)
    }
}

fn set_identity(batch: &Batch, covariance: &mut [f64]) {
    covariance.fill(0.0);
    for group in 0..batch.groups {
        let place = batch.matrix(group);
        covariance[place].iter_mut().step_by(batch.n + 1).for_each(|diagonal| *diagonal = 1.0);
    }
}
