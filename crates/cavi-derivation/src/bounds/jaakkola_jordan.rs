//! `-softplus(eta) >= -eta / 2 - log(2 cosh(xi / 2)) - lambda(xi) (eta^2 - xi^2)` with `lambda(xi) = tanh(xi / 2) / (4 xi)`.
//!
//! `softplus(eta) = eta / 2 + log(2 cosh(eta / 2))`, and the second addend is concave in `eta^2`: it lies below its tangent at
//! `xi^2`, whose slope is `lambda(xi)`. Under q the tangent at `xi^2 = E eta^2` gives the best bound, and there
//! `lambda (E eta^2 - xi^2)` is 0: the bound is `-E eta / 2 - log(2 cosh(xi / 2))`. With `xi` held it is quadratic in `eta`; what
//! does not depend on `eta` stays in it, since a class that selects `eta` is weighed by it.
//!
//! # Source
//! Jaakkola and Jordan, Bayesian parameter estimation via variational methods, Statistics and Computing 10 (2000); Bishop,
//! Pattern Recognition and Machine Learning (2006), section 10.6.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{distribute, power};
use cavi_algebra::{
    Atom, Auxiliary, AuxiliaryId, Factor, Function, LetterId, StatementId, Subscript, Sum, Symbols, Term,
};

use super::Replacement;
use super::jensen_log_sum::sign_unknown;
use crate::blocks::Draft;
use crate::derive::Derivation;
use crate::joint::with_ancestors;

/// Bounds the softplus of a sum that holds a latent, if one stands in the term with a coefficient that cannot be positive
/// and nothing random in common with the rest of the term.
pub fn replace(
    derivation: &mut Derivation,
    drafts: &[Draft],
    statement: StatementId,
    auxiliaries: &mut Vec<Auxiliary>,
    term: &Term,
) -> Option<Replacement> {
    let (position, eta) = softplus(drafts, term)?;
    let mut rest = term.clone();
    rest.factors.remove(position);
    let weight = rest.clone().scaled(-1.0);
    let shared = drafts.iter().filter(|draft| draft.is_random()).any(|draft| {
        let mentions =
            |holds: &dyn Fn(cavi_algebra::ArrayId) -> bool| draft.members.iter().any(|id| holds(*id));
        mentions(&|id| eta.mentions(id)) && mentions(&|id| rest.mentions(id))
    });
    if shared || sign_unknown(&derivation.symbols, &weight).is_some() {
        return None;
    }
    let symbols = &mut derivation.symbols;
    let plates = with_ancestors(symbols, &eta.free_letters(symbols));
    let id = AuxiliaryId::from(auxiliaries.len());
    let at = plates.iter().map(|letter| Subscript::Letter(*letter)).collect();
    let xi = Sum::atom(Atom::Auxiliary { id, plates: at });
    let half = eta.clone().scaled(0.5);
    let square = power(symbols, &eta, 2);
    let slope = Term::atom(Atom::Apply(Function::LogisticCurvature, vec![xi.clone()])).scaled(0.5);
    let change = square.clone().minus(power(symbols, &xi, 2));
    let change = distribute(symbols, &slope, &change);
    let tight = half.plus(xi.apply(Function::EvenSoftplus));
    let held = distribute(symbols, &rest, &tight.clone().plus(change));
    let tight = distribute(symbols, &rest, &tight);
    let own = masks(symbols, &rest, &plates);
    let square = distribute(symbols, &own, &square);
    let square = canonical(symbols, &square);
    let others = weight.sums.iter().copied().filter(|letter| !plates.contains(letter)).collect();
    auxiliaries.push(Auxiliary {
        statement,
        weight: Sum::term(Term { sums: others, ..weight }),
        plates,
        square,
        slope: Sum::term(slope),
    });
    Some(Replacement { held: held.terms, tight: tight.terms })
}

/// The position of a softplus that holds a latent, and its argument.
fn softplus(drafts: &[Draft], term: &Term) -> Option<(usize, Sum)> {
    term.factors.iter().enumerate().find_map(|(position, factor)| match &factor.atom {
        Atom::Apply(Function::Softplus, inner) if factor.power == 1 => {
            let mut members = drafts.iter().flat_map(|draft| &draft.members);
            members.any(|id| inner[0].mentions(*id)).then(|| (position, inner[0].clone()))
        }
        Atom::Value(..)
        | Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::Group(_)
        | Atom::Apply(..)
        | Atom::ExpectedSquare(_)
        | Atom::Observed(..)
        | Atom::Equal(..)
        | Atom::Different(..)
        | Atom::Less(..) => None,
    })
}

/// The factors that say which copies exist and were observed, where they have no letter beside those of the copies.
fn masks(symbols: &Symbols, rest: &Term, plates: &[LetterId]) -> Term {
    let own = |factor: &&Factor| {
        matches!(factor.atom, Atom::Observed(..) | Atom::Different(..) | Atom::Less(..))
            && factor.atom.free_letters(symbols).iter().all(|letter| plates.contains(letter))
    };
    Term { factors: rest.factors.iter().filter(own).cloned().collect(), ..Term::number(1.0) }
}
