//! The multivariate Normal family over a slice: `log N(x | m, L^-1) = log det(L) / 2 - sum_ij L_ij (x_i - m_i)(x_j - m_j) / 2
//! - n log(2 pi) / 2`, with the precision matrix L.
//!
//! Its factor of q is the Normal over a slice (`joint_normal.rs`).
//!
//! # Source
//! Bishop, Pattern Recognition and Machine Learning (2006), 2.3.

use cavi_algebra::{MatrixFunction, Sum, Support, Symbols};
use cavi_numerics::linalg;
use rand::RngCore;

use crate::draws::{Value, from_posterior};
use crate::family::{
    Argument, DataKind, Domain, Extent, Family, Location, Parameter, Slices, Spelling, Target,
};
use crate::joint_normal::JointNormalPosterior;
use crate::matrix::{log_determinant, quadratic_form, size};

/// `MultivariateNormal(mean; prec, cov)`
pub struct MultivariateNormal;

const PARAMETERS: &[Parameter] = &[
    Parameter::vector(&[Spelling::canonical("mean", Domain::Real)]),
    Parameter {
        spellings: &[
            Spelling::canonical("prec", Domain::PositiveDefinite),
            Spelling::canonical("cov", Domain::PositiveDefinite).read_as(MatrixFunction::Inverse),
        ],
        extent: Extent::Matrix,
        positional: false,
        optional: false,
        shape: false,
    },
];

impl Family for MultivariateNormal {
    fn name(&self) -> &'static str {
        "MultivariateNormal"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn slices(&self) -> Slices {
        Slices::One
    }

    fn data(&self) -> DataKind {
        DataKind::Any
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Real)
    }

    fn location(&self) -> Location {
        Location::Parameter(0)
    }

    fn mean_is(&self) -> &'static [usize] {
        &[0]
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let [Some(mean), Some(precision)] = parameters else { unreachable!("both parameters are mandatory") };
        let [row, column] = precision.letters[..] else { unreachable!("a matrix has two letters") };
        let residual = target.value.clone().minus(mean.value.clone());
        let log_determinant = log_determinant(symbols, &precision.value, row, column)
            .expect("a matrix without a log-determinant is refused before");
        log_determinant
            .scaled(0.5)
            .plus(quadratic_form(symbols, &precision.value, &residual, row, column).scaled(-0.5))
            .plus(size(row).scaled(-0.5 * (2.0 * std::f64::consts::PI).ln()))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        let [Some(mean), Some(matrix)] = parameters else { unreachable!("both parameters are mandatory") };
        let mut covariance = matrix.elements.to_vec();
        if matrix.read_as.is_none() {
            let refused = |_| "its precision matrix is not positive definite".to_owned();
            linalg::inverse_of(matrix.elements, &mut covariance).map_err(refused)?;
        }
        let refused = |_| "its covariance is not positive definite".to_owned();
        linalg::cholesky(mean.elements.len(), &mut covariance.clone()).map_err(refused)?;
        from_posterior(&JointNormalPosterior, &[mean.elements, &covariance], rng, out);
        Ok(())
    }
}
