//! What does a distribution assume, and what does it answer?
//!
//! The one crate with a foot on each side: a [`Family`] states a density in symbols, a [`Posterior`] answers for a factor
//! of q in numbers. One file a family; the two lists below are the registry.

#![allow(clippy::needless_range_loop, reason = "a row indexes several columns at once")]
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN must fail every check")]

pub mod draws;
pub mod family;
pub mod functions;
pub mod kept;
pub mod observed;
pub mod posterior;
pub mod standard;

pub mod covariance;
mod density;
pub mod marginal;
pub mod matrix;

mod bernoulli;
mod bernoulli_normal;
mod beta;
mod binomial;
mod categorical;
mod dirichlet;
mod exponential;
mod flat;
mod gamma;
mod gaussian_process;
mod generalized_inverse_gaussian;
mod half_normal;
mod inverse_gamma;
mod joint_normal;
mod multinomial;
mod multivariate_normal;
mod nonnegative_point;
mod nonnegative_slice;
mod normal;
mod normal_gamma;
mod normal_gamma_slice;
mod normal_wishart;
mod only_point;
mod poisson;
mod simplex_point;
mod truncated_normal;
mod wishart;

pub use family::{
    Argument, DataKind, Domain, Extent, Family, Location, Moments, Parameter, Prediction, Rewrite, Slices,
    Spelling, Target,
};
pub use posterior::{Batch, Descriptor, Expectation, Improper, Posterior, Views, ViewsMut, views, views_mut};
pub use standard::{Formulas, standard};

use cavi_algebra::canonical::canonical;
use cavi_algebra::{Array, ArrayId, Atom, Factor, FamilyId, Statistic, Sum, Support, Symbols, Term};

/// Every family that a statement may name.
pub fn families() -> &'static [&'static dyn Family] {
    &[
        &normal::Normal,
        &multivariate_normal::MultivariateNormal,
        &gamma::Gamma,
        &exponential::Exponential,
        &poisson::Poisson,
        &dirichlet::Dirichlet,
        &multinomial::Multinomial,
        &categorical::Categorical,
        &bernoulli::Bernoulli,
        &binomial::Binomial,
        &beta::Beta,
        &inverse_gamma::InverseGamma,
        &generalized_inverse_gaussian::GeneralizedInverseGaussian,
        &half_normal::HalfNormal,
        &truncated_normal::TruncatedNormal,
        &wishart::Wishart,
        &gaussian_process::GaussianProcess,
        &flat::Flat,
    ]
}

/// Every family that a factor of q may have. If several fit equally well, [`recognise`] takes the first: a Gamma
/// before a truncated Normal.
pub fn posteriors() -> &'static [&'static dyn Posterior] {
    &[
        &normal::NormalPosterior,
        &joint_normal::JointNormalPosterior,
        &gamma::GammaPosterior,
        &dirichlet::DirichletPosterior,
        &categorical::CategoricalPosterior,
        &bernoulli::BernoulliPosterior,
        &beta::BetaPosterior,
        &inverse_gamma::InverseGammaPosterior,
        &generalized_inverse_gaussian::GeneralizedInverseGaussianPosterior,
        &truncated_normal::TruncatedNormalPosterior,
        &normal_gamma::NormalGammaPosterior,
        &bernoulli_normal::BernoulliNormalPosterior,
        &normal_gamma_slice::NormalGammaSlicePosterior,
        &wishart::WishartPosterior,
        &normal_wishart::NormalWishartPosterior,
        &simplex_point::SIMPLEX_POINT,
        &nonnegative_point::NONNEGATIVE_POINT,
        &nonnegative_slice::NonnegativeSlice,
    ]
}

/// The family of a name.
pub fn family(name: &str) -> Option<&'static dyn Family> {
    families().iter().copied().find(|family| family.name() == name)
}

/// The factor of q of an id.
pub fn posterior(id: FamilyId) -> &'static dyn Posterior {
    posteriors()[id.index()]
}

fn ids() -> impl Iterator<Item = FamilyId> {
    (0..posteriors().len()).map(FamilyId::from)
}

/// Whether the logarithm of a latent with this prior has an expectation under q. This is so if its density holds no
/// square of the latent. For priors of one number with constant parameters.
pub fn fits_a_log(family: &dyn Family) -> bool {
    let mut symbols = Symbols::default();
    symbols.arrays.push(Array::latent("x", Vec::new(), Support::Positive));
    let own = ArrayId::from(0);
    let target = Target { value: Sum::atom(Atom::Value(own, Vec::new())), slices: Vec::new(), index: None };
    let number = |_: &Parameter| Some(Argument { value: Sum::number(2.7), letters: Vec::new() });
    let arguments: Vec<Option<Argument>> = family.parameters().iter().map(number).collect();
    let density = family.log_density(&mut symbols, &target, &arguments);
    let density = canonical(&mut symbols, &density);
    let is_square = |factor: &Factor| match &factor.atom {
        Atom::ExpectedSquare(_) => true,
        atom => factor.power > 1 && Term::atom(atom.clone()).mentions(own),
    };
    !density.terms.iter().flat_map(|term| &term.factors).any(is_square)
}

/// Whether a family is one of several variables with these supports, any of them over a slice or none.
pub fn joins(posterior: &dyn Posterior, supports: &[Support], over_slice: bool) -> bool {
    if posterior.one_vector() {
        return supports.iter().all(|support| posterior.lives_on(*support));
    }
    posterior.joint() == supports && posterior.over_slice() == over_slice
}

/// Whether the copies of a factor of q may have slices of different lengths: no matrix belongs to it.
pub fn of_any_length(posterior: &dyn Posterior) -> bool {
    let described = posterior.descriptors().iter().map(|own| own.extent);
    let statistics = posterior.statistics();
    let expected = posterior.expectations();
    let answered = statistics.iter().chain(&expected).map(|own| own.extent);
    described.chain(answered).all(|extent| extent == Extent::Vector)
}

/// The joint family of several variables with these supports whose statistics contain the collected ones.
pub fn recognise_joint(supports: &[Support], over_slice: bool, collected: &[Statistic]) -> Option<FamilyId> {
    ids()
        .filter(|id| joins(posterior(*id), supports, over_slice))
        .find(|id| collected.iter().all(|wanted| posterior(*id).place_of(wanted).is_some()))
}

/// The smallest family on this support whose statistics contain the collected ones; for a point also those that have a
/// mode and no normaliser.
pub fn recognise(
    support: Support,
    over_slice: bool,
    point: bool,
    collected: &[Statistic],
) -> Option<FamilyId> {
    let fits = |id: &FamilyId| {
        let family = posterior(*id);
        let statistics = family.statistics();
        family.lives_on(support)
            && family.over_slice() == over_slice
            && (point || !family.only_point())
            && collected.iter().all(|wanted| statistics.iter().any(|own| own.statistic == *wanted))
    };
    ids().filter(fits).min_by_key(|id| posterior(*id).statistics().len())
}
