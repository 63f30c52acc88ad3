//! A Gaussian process at the points of a slice: `log N(d | 0, K) = sum_i log W_ii - sum_i (sum_l W_il d_l)^2 / 2
//! - n log(2 pi) / 2`, with the covariance `K = C' C` of the points, C' lower triangular, and `W = C'^-1`.
//!
//! `delta = W d` is standard normal: `log det K = -2 sum_i log W_ii`, and `d' K^-1 d = |delta|^2`. The density is
//! that of d; a point moves in delta (`d = C' delta`), in which its prior is a standard normal. The elements of
//! `K^-1` are never formed: for a smooth process they are up to 1e15 times as large as its precision, and so are
//! their rounding errors.
//!
//! It has no factor of q: it is for points, and for what is fixed.
//!
//! # Source
//! Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), 2.2 and A.2; Schmidt and Laurberg, Non-negative
//! matrix factorization with Gaussian process priors (2008), for the change of variables.

use cavi_algebra::rules::{multiply, power, push_log_into_product, substitute};
use cavi_algebra::{MatrixFunction, Subscript, Sum, Support, Symbols};
use cavi_numerics::linalg;
use rand::{Rng, RngCore};
use rand_distr::StandardNormal;

use crate::draws::Value;
use crate::family::{Argument, DataKind, Domain, Extent, Family, Parameter, Slices, Spelling, Target};
use crate::matrix::{over, size};

/// `GaussianProcess(kernel or cov; at)`
pub struct GaussianProcess;

const PARAMETERS: &[Parameter] = &[
    Parameter {
        spellings: &[
            Spelling::canonical("kernel", Domain::Covariance).read_as(MatrixFunction::Whitening),
            Spelling::canonical("cov", Domain::Covariance).read_as(MatrixFunction::Whitening),
        ],
        extent: Extent::Matrix,
        positional: true,
        optional: false,
        shape: false,
    },
    Parameter::scalar(&[Spelling::canonical("at", Domain::Real)]).by_name().optional(),
];

impl Family for GaussianProcess {
    fn name(&self) -> &'static str {
        "GaussianProcess"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn slices(&self) -> Slices {
        Slices::One
    }

    fn data(&self) -> DataKind {
        DataKind::None
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Real)
    }

    fn only_point(&self) -> bool {
        true
    }

    fn has_kernel(&self) -> bool {
        true
    }

    fn log_density(&self, symbols: &mut Symbols, target: &Target, parameters: &[Option<Argument>]) -> Sum {
        let Some(whitening) = &parameters[0] else { unreachable!("the covariance is mandatory") };
        let [row, column] = whitening.letters[..] else { unreachable!("a matrix has two letters") };
        let at = |letter| Subscript::Letter(letter);
        let along = |symbols: &mut Symbols, sum: &Sum, map: [(_, Subscript); 1]| Sum {
            terms: sum
                .terms
                .iter()
                .map(|term| substitute(symbols, term, &map.iter().cloned().collect()))
                .collect(),
        };
        let other = along(symbols, &target.value, [(row, at(column))]);
        let product = multiply(symbols, &whitening.value, &other);
        let delta = over(&product, &[column]);
        let diagonal = along(symbols, &whitening.value, [(column, at(row))]);
        let square = power(symbols, &delta, 2);
        over(&push_log_into_product(symbols, &diagonal), &[row])
            .plus(over(&square, &[row]).scaled(-0.5))
            .plus(size(row).scaled(-0.5 * (2.0 * std::f64::consts::PI).ln()))
    }

    fn draw(
        &self,
        parameters: &[Option<Value<'_>>],
        rng: &mut dyn RngCore,
        out: &mut [f64],
    ) -> Result<(), String> {
        // W d is standard normal, with the whitening W of the covariance that a point has too.
        let Some(covariance) = &parameters[0] else { unreachable!("the covariance is mandatory") };
        let refused = |_| "its covariance has no Cholesky factor".to_owned();
        let (whitening, _jitter) = linalg::whitening(covariance.elements).map_err(refused)?;
        out.fill_with(|| rng.sample(StandardNormal));
        linalg::solve_lower(out.len(), &whitening, out);
        Ok(())
    }
}
