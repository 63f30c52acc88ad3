//! How the families of the registry print: from natural parameters to the ones that papers state, in symbols.
//!
//! Each family states its own [`Formulas`]; here they are found by id. A formula is then written twice, in numbers
//! and in symbols; a test checks that the two agree (`tests/laws/formulas.rs`).

use cavi_algebra::print::{Formula, Limit, Standard, StandardParameter};
use cavi_algebra::{FamilyId, Statistic};

use crate::posterior;

/// What a family prints beside its natural parameters.
#[derive(Clone, Debug, Default)]
pub struct Formulas {
    /// The standard parameters, over the natural ones and over those that stand before.
    pub parameters: Vec<(&'static str, Formula)>,
    /// Expectations, over the standard parameters.
    pub expectations: Vec<(Statistic, Formula)>,
    /// Expectations that are finite only where the first formula is greater than the second, over the standard parameters.
    pub finite: Vec<(Statistic, [Formula; 2])>,
    /// What stands in the place of expectations and log-normaliser where a parameter is 0.
    pub limits: Vec<Limit>,
    /// The log-normaliser, over the standard parameters; for families that pair their entropy with the prior.
    pub log_normaliser: Option<Formula>,
    /// The entropy, over the standard parameters; for families that do not pair it.
    pub entropy: Option<Formula>,
    /// The mode, over the coefficients collected (base included), where it has a closed form.
    pub mode: Option<Formula>,
}

/// The registry as the printer of derivations asks for it.
#[derive(Clone, Copy, Debug, Default)]
struct Registry;

/// How every family of the registry prints.
pub fn standard() -> impl Standard + Copy + Sync {
    Registry
}

fn formulas(family: FamilyId) -> Formulas {
    posterior(family).formulas()
}

impl Standard for Registry {
    fn name(&self, family: FamilyId) -> &'static str {
        posterior(family).name()
    }

    fn standard(&self, family: FamilyId) -> Vec<StandardParameter> {
        let parameters = formulas(family).parameters.into_iter();
        parameters.map(|(name, formula)| StandardParameter { name, formula }).collect()
    }

    fn symbols(&self, family: FamilyId) -> &'static [&'static [&'static str]] {
        posterior(family).symbols()
    }

    fn mode(&self, family: FamilyId) -> Option<Formula> {
        formulas(family).mode
    }

    fn expectations(&self, family: FamilyId) -> Vec<(Statistic, Formula)> {
        formulas(family).expectations
    }

    fn finite(&self, family: FamilyId) -> Vec<(Statistic, [Formula; 2])> {
        formulas(family).finite
    }

    fn limits(&self, family: FamilyId) -> Vec<Limit> {
        formulas(family).limits
    }

    fn base(&self, family: FamilyId) -> Vec<f64> {
        posterior(family).base()
    }

    fn paired(&self, family: FamilyId) -> bool {
        posterior(family).paired()
    }

    fn entropy(&self, family: FamilyId) -> Option<Formula> {
        formulas(family).entropy
    }

    fn one_vector(&self, family: FamilyId) -> bool {
        posterior(family).one_vector()
    }

    fn log_normaliser(&self, family: FamilyId) -> Option<Formula> {
        formulas(family).log_normaliser
    }
}

/// Short names for building formulas.
pub(crate) mod build {
    use cavi_algebra::Function;
    use cavi_algebra::print::Formula;

    /// The natural parameter number `index`.
    pub(crate) fn eta(index: usize) -> Formula {
        Formula::Natural(index)
    }

    /// The standard parameter number `index`.
    pub(crate) fn parameter(index: usize) -> Formula {
        Formula::Parameter(index)
    }

    /// A number.
    pub(crate) fn number(value: f64) -> Formula {
        Formula::Number(value)
    }

    /// A sum.
    pub(crate) fn sum<const N: usize>(parts: [Formula; N]) -> Formula {
        Formula::Add(parts.into())
    }

    /// A product.
    pub(crate) fn product<const N: usize>(parts: [Formula; N]) -> Formula {
        Formula::Multiply(parts.into())
    }

    /// A multiple.
    pub(crate) fn times(number: f64, formula: Formula) -> Formula {
        product([Formula::Number(number), formula])
    }

    /// Minus a formula.
    pub(crate) fn minus(formula: Formula) -> Formula {
        Formula::Negate(Box::new(formula))
    }

    /// A quotient.
    pub(crate) fn over(above: Formula, below: Formula) -> Formula {
        Formula::Divide(Box::new(above), Box::new(below))
    }

    /// A function of a formula.
    pub(crate) fn apply(function: Function, formula: Formula) -> Formula {
        Formula::Apply(function, Box::new(formula))
    }

    /// The digamma function.
    pub(crate) fn psi(formula: Formula) -> Formula {
        Formula::Digamma(Box::new(formula))
    }

    /// The logarithm.
    pub(crate) fn log(formula: Formula) -> Formula {
        apply(Function::Log, formula)
    }

    /// The logarithm of the Gamma function.
    pub(crate) fn log_gamma_of(formula: Formula) -> Formula {
        apply(Function::LogGamma, formula)
    }

    /// `ln K_p(z)` of the modified Bessel function of the second kind.
    pub(crate) fn log_bessel_k_of(order: Formula, argument: Formula) -> Formula {
        Formula::LogBesselK(Box::new(order), Box::new(argument))
    }

    /// Its derivative in the order.
    pub(crate) fn log_bessel_k_in_order_of(order: Formula, argument: Formula) -> Formula {
        Formula::LogBesselKInOrder(Box::new(order), Box::new(argument))
    }

    /// Proportional to a formula, with sum 1 over its slot.
    pub(crate) fn normalised(formula: Formula) -> Formula {
        Formula::Normalised(Box::new(formula))
    }

    /// The sum over the slots.
    pub(crate) fn total(formula: Formula) -> Formula {
        Formula::Total(Box::new(formula))
    }

    /// The inverse of a matrix.
    pub(crate) fn inverse(formula: Formula) -> Formula {
        Formula::Inverse(Box::new(formula))
    }

    /// The symmetric part of a matrix.
    pub(crate) fn symmetric(formula: Formula) -> Formula {
        Formula::Symmetric(Box::new(formula))
    }

    /// The products of the elements of two vectors.
    pub(crate) fn outer(left: Formula, right: Formula) -> Formula {
        Formula::Outer(Box::new(left), Box::new(right))
    }

    /// The log of the determinant of a matrix.
    pub(crate) fn log_determinant_of(formula: Formula) -> Formula {
        Formula::LogDeterminant(Box::new(formula))
    }

    /// A matrix times a vector.
    pub(crate) fn matrix_vector(matrix: Formula, vector: Formula) -> Formula {
        Formula::MatrixVector(Box::new(matrix), Box::new(vector))
    }
}
