//! The Wishart family over symmetric positive definite n x n matrices: `log W(L | nu, V) = (nu - n - 1) log det(L) / 2 -
//! tr(V^-1 L) / 2 - nu n log(2) / 2 - nu log det(V) / 2 - log Gamma_n(nu / 2)`, with mean `nu V`, for `nu > n - 1`.
//!
//! Statistics `L, log det L`; coefficients `-V^-1 / 2, (nu - n - 1) / 2`; no base. Log-normaliser `nu n log(2) / 2 +
//! nu log det(V) / 2 + log Gamma_n(nu / 2)`; `E log det L = sum_i psi((nu + 1 - i) / 2) + n log 2 + log det V`.
//!
//! # Source
//! Bishop, Pattern Recognition and Machine Learning (2006), appendix B; Bartlett (1933) for draws.

use cavi_algebra::print::Formula;
use cavi_algebra::rules::multiply;
use cavi_algebra::{Function, MatrixFunction, Statistic, Sum, Support, Symbols};
use cavi_numerics::Scratch;
use cavi_numerics::linalg;
use cavi_numerics::special::{log_multivariate_gamma, multivariate_digamma};
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::draws::Value;
use crate::family::{Argument, DataKind, Domain, Extent, Family, Parameter, Slices, Spelling, Target};
use crate::joint_normal::nearly_singular;
use crate::matrix::{log_determinant, over, size};
use crate::posterior::{Batch, Descriptor, Expectation, Improper, Posterior, require_finite};
use crate::standard::Formulas;
use crate::standard::build::{
    eta, inverse, log_determinant_of, number, parameter, product, sum, symmetric, times,
};

/// `Wishart(dof; scale)`
pub struct Wishart;

const PARAMETERS: &[Parameter] = &[
    Parameter::scalar(&[Spelling::canonical("dof", Domain::DegreesOfFreedom)]),
    Parameter {
        spellings: &[Spelling::canonical("scale", Domain::PositiveDefinite).read_as(MatrixFunction::Inverse)],
        extent: Extent::Matrix,
        positional: true,
        optional: false,
        shape: false,
    },
];

impl Family for Wishart {
    fn name(&self) -> &'static str {
        "Wishart"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn slices(&self) -> Slices {
        Slices::Two
    }

    fn data(&self) -> DataKind {
        DataKind::None
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::PositiveDefinite)
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(dof), Some(rate)] = parameters else { unreachable!("both parameters are mandatory") };
        let [row, column] = target.slices[..] else { unreachable!("two slices on the left") };
        let refused = "a matrix without a log-determinant is refused before";
        let dof = &dof.value;
        let own = log_determinant(symbols, &target.value, row, column).expect(refused);
        let of_rate = log_determinant(symbols, &rate.value, row, column).expect(refused);
        let shape = dof.clone().minus(size(row)).minus(Sum::number(1.0));
        let trace = over(&multiply(symbols, &rate.value, &target.value), &[row, column]);
        let normaliser = Sum::atom(cavi_algebra::Atom::Apply(
            Function::LogMultivariateGamma,
            vec![dof.clone().scaled(0.5), size(row)],
        ));
        multiply(symbols, &shape, &own)
            .scaled(0.5)
            .plus(trace.scaled(-0.5))
            .plus(multiply(symbols, dof, &of_rate).scaled(0.5))
            .plus(multiply(symbols, dof, &size(row)).scaled(-0.5 * std::f64::consts::LN_2))
            .minus(normaliser)
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [Some(dof), Some(scale)] = parameters else { unreachable!("both parameters are mandatory") };
        let n = scale.elements.len().isqrt();
        let refused = |_| "its scale is not positive definite".to_owned();
        linalg::cholesky(n, &mut scale.elements.to_vec()).map_err(refused)?;
        sample(n, dof.number(), scale.elements, rng, out);
        Ok(())
    }
}

/// Wishart as a factor of q over two slices of one axis.
pub struct WishartPosterior;

/// `E log det L`, from the log-determinant of the scale.
pub(crate) fn expected_log_determinant(n: usize, dof: f64, log_determinant_of_scale: f64) -> f64 {
    multivariate_digamma(0.5 * dof, n) + n as f64 * std::f64::consts::LN_2 + log_determinant_of_scale
}

/// The log-normaliser, from the log-determinant of the scale.
pub(crate) fn log_normaliser(n: usize, dof: f64, log_determinant_of_scale: f64) -> f64 {
    0.5 * dof * (n as f64 * std::f64::consts::LN_2 + log_determinant_of_scale)
        + log_multivariate_gamma(0.5 * dof, n)
}

/// The inverse of a positive definite matrix; only its lower triangle is read.
pub(crate) fn inverse_of(row: usize, name: &str, matrix: &[f64], out: &mut [f64]) -> Result<(), Improper> {
    linalg::inverse_of(matrix, out).map_err(|error| Improper {
        row,
        reason: format!("the {name} is not positive definite (at position {} of the slice)", error.pivot),
    })
}

/// The scale of a Wishart, from its inverse. Refused where it is not positive definite as it is rounded.
pub(crate) fn scale_of(row: usize, rate: &[f64], scale: &mut [f64]) -> Result<(), Improper> {
    inverse_of(row, "inverse of the scale", rate, scale)?;
    let n = scale.len().isqrt();
    match linalg::has_factor(rate.iter().copied().step_by(n + 1), scale) {
        true => Ok(()),
        false => Err(Improper { row, reason: nearly_singular("inverse of the scale") }),
    }
}

/// The inverse of a matrix that was found positive definite, or no numbers.
pub(crate) fn inverse_or_nan(matrix: &[f64], out: &mut [f64]) {
    if linalg::inverse_of(matrix, out).is_err() {
        out.fill(f64::NAN);
    }
}

/// `-(eta + eta')` for each matrix.
pub(crate) fn twice_negated(n: usize, eta: &[f64]) -> Scratch {
    let mut out = Scratch::zeros(n * n);
    for k in 0..n {
        for l in 0..n {
            out[k * n + l] = -(eta[k * n + l] + eta[l * n + k]);
        }
    }
    out
}

/// Refuses what is not greater than `n - 1`.
pub(crate) fn require_dof(row: usize, n: usize, dof: f64) -> Result<(), Improper> {
    if dof > n as f64 - 1.0 && dof.is_finite() {
        return Ok(());
    }
    let least = n as f64 - 1.0;
    let reason = format!("the dof is {dof}, and must be greater than {least}, the size of the axis less 1");
    Err(Improper { row, reason })
}

/// Refuses a matrix that is not symmetric and positive definite.
pub(crate) fn require_positive_definite(row: usize, name: &str, matrix: &[f64]) -> Result<(), Improper> {
    let n = matrix.len().isqrt();
    if let Some((k, l)) = linalg::asymmetry(matrix) {
        let (below, above) = (matrix[k * n + l], matrix[l * n + k]);
        let reason = format!("the {name} is not symmetric ({below} against {above})");
        return Err(Improper { row, reason });
    }
    inverse_of(row, name, matrix, &mut Scratch::zeros(matrix.len()))
}

/// A draw, by Bartlett's decomposition: `L A A' L'` with `L L'` the scale, `A` lower triangular with standard Normals below
/// a diagonal of square roots of chi-squared variables with `dof, dof - 1, ...` degrees of freedom. Returns `L A`, the Cholesky factor
/// of the draw; no numbers where the scale has none.
pub(crate) fn sample(n: usize, dof: f64, scale: &[f64], rng: &mut dyn RngCore, out: &mut [f64]) -> Vec<f64> {
    let mut factor = scale.to_vec();
    if linalg::cholesky(n, &mut factor).is_err() {
        factor.fill(f64::NAN);
    }
    let mut triangle = vec![0.0; n * n];
    for k in 0..n {
        for l in 0..k {
            triangle[k * n + l] = rng.sample(StandardNormal);
        }
        let chi: f64 = rng.sample(
            rand_distr::ChiSquared::new(dof - k as f64).expect("the dof is greater than the size less 1"),
        );
        triangle[k * n + k] = chi.sqrt();
    }
    let mut product = vec![0.0; n * n];
    for k in 0..n {
        for l in 0..=k {
            product[k * n + l] = (l..=k).map(|m| factor[k * n + m] * triangle[m * n + l]).sum();
        }
    }
    for k in 0..n {
        for l in 0..n {
            out[k * n + l] = (0..=k.min(l)).map(|m| product[k * n + m] * product[l * n + m]).sum();
        }
    }
    product
}

impl Posterior for WishartPosterior {
    fn name(&self) -> &'static str {
        "Wishart"
    }

    fn symbols(&self) -> &'static [&'static [&'static str]] {
        &[&["nu", "V", "W"]]
    }

    fn lives_on(&self, support: Support) -> bool {
        support == Support::PositiveDefinite
    }

    fn over_slice(&self) -> bool {
        true
    }

    fn statistics(&self) -> Vec<Expectation> {
        vec![
            Expectation { statistic: Statistic::identity(), extent: Extent::Pairs },
            Expectation { statistic: Statistic::log_determinant(), extent: Extent::Scalar },
        ]
    }

    fn descriptors(&self) -> &'static [Descriptor] {
        &[
            Descriptor { name: "dof", extent: Extent::Scalar, defining: true },
            Descriptor { name: "scale", extent: Extent::Pairs, defining: true },
            Descriptor { name: "mean", extent: Extent::Pairs, defining: false },
        ]
    }

    fn expectations(&self) -> Vec<Expectation> {
        self.statistics()
    }

    fn paired(&self) -> bool {
        true
    }

    fn formulas(&self) -> Formulas {
        // With n the size, the inverse W^-1 of the scale is -2 eta(L), and n log 2 + log det W stands in two places.
        let (dof, rate, scale) = (|| parameter(0), || parameter(1), || parameter(2));
        let size = || Formula::Size;
        let spread = || sum([times(std::f64::consts::LN_2, size()), log_determinant_of(scale())]);
        Formulas {
            parameters: vec![
                ("dof", sum([times(2.0, eta(1)), size(), number(1.0)])),
                ("rate", times(-2.0, symmetric(eta(0)))),
                ("scale", inverse(rate())),
            ],
            expectations: vec![
                (Statistic::identity(), product([dof(), scale()])),
                (
                    Statistic::log_determinant(),
                    sum([Formula::MultivariateDigamma(Box::new(times(0.5, dof()))), spread()]),
                ),
            ],
            log_normaliser: Some(sum([
                times(0.5, product([dof(), spread()])),
                Formula::LogMultivariateGamma(Box::new(times(0.5, dof()))),
            ])),
            ..Formulas::default()
        }
    }

    fn describe(
        &self,
        batch: &Batch,
        natural: &[&[f64]],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        let n = batch.n;
        for row in 0..batch.rows {
            let place = batch.pairs(row);
            let rate = twice_negated(n, &natural[0][place.clone()]);
            scale_of(row, &rate, &mut descriptors[1][place])?;
            descriptors[0][row] = 2.0 * natural[1][row] + n as f64 + 1.0;
            require_dof(row, n, descriptors[0][row])?;
        }
        fill_mean(batch, descriptors);
        Ok(())
    }

    fn complete(&self, batch: &Batch, descriptors: &mut [&mut [f64]]) -> Result<(), Improper> {
        for row in 0..batch.rows {
            require_dof(row, batch.n, descriptors[0][row])?;
            require_positive_definite(row, "scale", &descriptors[1][batch.pairs(row)])?;
        }
        fill_mean(batch, descriptors);
        Ok(())
    }

    fn natural(&self, batch: &Batch, descriptors: &[&[f64]], natural: &mut [&mut [f64]]) {
        let n = batch.n;
        for row in 0..batch.rows {
            let place = batch.pairs(row);
            let rate = &mut natural[0][place.clone()];
            inverse_or_nan(&descriptors[1][place], rate);
            rate.iter_mut().for_each(|value| *value *= -0.5);
            natural[1][row] = 0.5 * (descriptors[0][row] - n as f64 - 1.0);
        }
    }

    fn expect(&self, batch: &Batch, descriptors: &[&[f64]], which: usize, out: &mut [f64]) {
        if which == 0 {
            out.copy_from_slice(descriptors[2]);
            return;
        }
        for row in 0..batch.rows {
            let scale = linalg::log_determinant_of(&descriptors[1][batch.pairs(row)]);
            out[row] = expected_log_determinant(batch.n, descriptors[0][row], scale);
        }
    }

    fn entropy(&self, batch: &Batch, descriptors: &[&[f64]], out: &mut [f64]) {
        for row in 0..batch.rows {
            let scale = linalg::log_determinant_of(&descriptors[1][batch.pairs(row)]);
            out[row] = log_normaliser(batch.n, descriptors[0][row], scale);
        }
    }

    fn mode(&self, batch: &Batch, coefficients: &[&[f64]], value: &mut [f64]) -> Result<(), Improper> {
        // c log det L - tr(S L) / 2 has its maximum at 2 c S^-1.
        let n = batch.n;
        for row in 0..batch.rows {
            let place = batch.pairs(row);
            let coefficient = coefficients[1][row];
            require_finite(row, "coefficient of log det", coefficient)?;
            if coefficient <= 0.0 && n > 0 {
                let reason = if coefficient < 0.0 {
                    "its mode is an infinite density at a singular matrix (the coefficient of log det is negative)"
                } else {
                    "its mode is a singular matrix (nothing has log det)"
                };
                return Err(Improper { row, reason: reason.to_owned() });
            }
            let sums = twice_negated(n, &coefficients[0][place.clone()]);
            inverse_of(row, "sum of squares", &sums, &mut value[place.clone()])?;
            value[place].iter_mut().for_each(|value| *value *= 2.0 * coefficient);
        }
        Ok(())
    }

    fn sample(&self, batch: &Batch, descriptors: &[&[f64]], rng: &mut dyn RngCore, out: &mut [f64]) {
        for row in 0..batch.rows {
            let place = batch.pairs(row);
            sample(batch.n, descriptors[0][row], &descriptors[1][place.clone()], rng, &mut out[place]);
        }
    }

    fn start(&self, batch: &Batch, rng: &mut dyn RngCore, descriptors: &mut [&mut [f64]]) {
        // A diagonal of order 1 and a matrix of rank one.
        let n = batch.n;
        let dof = n as f64 + 1.0;
        descriptors[0].fill(dof);
        for row in 0..batch.rows {
            let direction: Vec<f64> = (0..n).map(|_| rng.random::<f64>() - 0.5).collect();
            let scale = &mut descriptors[1][batch.pairs(row)];
            for k in 0..n {
                for l in 0..n {
                    scale[k * n + l] = direction[k] * direction[l] / dof;
                }
                scale[k * n + k] += (0.5 + rng.random::<f64>()) / dof;
            }
        }
        fill_mean(batch, descriptors);
    }

    fn start_at(
        &self,
        batch: &Batch,
        centre: &[f64],
        descriptors: &mut [&mut [f64]],
    ) -> Result<(), Improper> {
        let dof = batch.n as f64 + 1.0;
        descriptors[0].fill(dof);
        descriptors[1].iter_mut().zip(centre).for_each(|(scale, centre)| *scale = centre / dof);
        self.complete(batch, descriptors)
    }
}

/// `mean = dof scale`
fn fill_mean(batch: &Batch, descriptors: &mut [&mut [f64]]) {
    let [dof, scale, mean] = descriptors else { unreachable!("three descriptors") };
    for row in 0..batch.rows {
        for place in batch.pairs(row) {
            mean[place] = dof[row] * scale[place];
        }
    }
}
