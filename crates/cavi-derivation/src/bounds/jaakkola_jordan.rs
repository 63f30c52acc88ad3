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
    Array, ArrayId, Atom, Auxiliary, AuxiliaryId, BoundWords, Factor, Function, Inequality, LetterId,
    Reference, Side, Subscript, Sum, Support, Symbols, Term,
};

use super::sign::sign_unknown;
use super::{Bound, Bounding, Replacement};
use crate::blocks::Draft;
use crate::joint::with_ancestors;

/// The bound of log odds.
pub struct JaakkolaJordan;

/// The bound on `softplus(eta)`: `tight + slope * change`.
struct Tangent {
    /// Its value where it is tight.
    tight: Sum,
    /// `lambda(xi)`
    slope: Term,
    /// `eta^2`
    square: Sum,
    /// `eta^2 - xi^2`
    change: Sum,
}

impl Tangent {
    fn at(symbols: &mut Symbols, eta: &Sum, xi: Sum) -> Tangent {
        let square = power(symbols, eta, 2);
        Tangent {
            slope: Term::atom(Atom::Apply(Function::LogisticCurvature, vec![xi.clone()])).scaled(0.5),
            change: square.clone().minus(power(symbols, &xi, 2)),
            square,
            tight: eta.clone().scaled(0.5).plus(xi.apply(Function::EvenSoftplus)),
        }
    }
}

const JAAKKOLA_JORDAN: Reference = Reference(
    "@article{jaakkola2000bayesian,
  author = {Jaakkola, Tommi S. and Jordan, Michael I.},
  title = {Bayesian Parameter Estimation via Variational Methods},
  journal = {Statistics and Computing},
  volume = {10},
  number = {1},
  pages = {25--37},
  year = {2000}
}",
);

impl Bound for JaakkolaJordan {
    fn name(&self) -> &'static str {
        "jaakkola_jordan"
    }

    fn inequality(&self) -> Inequality {
        let (argument, auxiliary) = (ArrayId(0), ArrayId(1));
        let mut symbols = Symbols {
            arrays: vec![
                Array::latent("y", Vec::new(), Support::Real),
                Array::latent("xi", Vec::new(), Support::Positive),
            ],
            ..Symbols::default()
        };
        let [y, xi] = [argument, auxiliary].map(|array| Sum::atom(Atom::Value(array, Vec::new())));
        let Tangent { tight, mut slope, square, change } = Tangent::at(&mut symbols, &y, xi);
        slope.factors.push(Factor::of(Atom::Group(Box::new(change))));
        Inequality {
            symbols,
            left: y.apply(Function::Softplus),
            side: Side::Above,
            right: tight.plus(Sum::term(slope)),
            argument,
            auxiliary,
            optimum: square.apply(Function::Sqrt),
        }
    }

    fn words(&self) -> BoundWords {
        BoundWords {
            of: "The tangent bound of softplus",
            holds: "Up to a linear term softplus is concave in the square of its argument, so that it lies below its tangents:",
            equal: "with equality where they touch:",
            best: Some(
                "Under q the argument is random, and the expected bound is best where the square is its expectation:",
            ),
            step: "the tangent of softplus",
        }
    }

    fn references(&self) -> &'static [Reference] {
        &[JAAKKOLA_JORDAN]
    }

    /// The term needs a coefficient that cannot be positive and nothing random in common with the rest of the term.
    fn replace(&self, at: &mut Bounding<'_, '_>, term: &Term) -> Option<Replacement> {
        let (position, eta) = softplus(at.drafts, term)?;
        let mut rest = term.clone();
        rest.factors.remove(position);
        let weight = rest.clone().scaled(-1.0);
        let shared = at.drafts.iter().filter(|draft| draft.is_random()).any(|draft| {
            let mentions = |holds: &dyn Fn(ArrayId) -> bool| draft.members.iter().any(|id| holds(*id));
            mentions(&|id| eta.mentions(id)) && mentions(&|id| rest.mentions(id))
        });
        let symbols = &mut at.derivation.symbols;
        if shared || sign_unknown(symbols, &weight).is_some() {
            return None;
        }
        let plates = with_ancestors(symbols, &eta.free_letters(symbols));
        let id = AuxiliaryId::from(at.auxiliaries.len());
        let copy = plates.iter().map(|letter| Subscript::Letter(*letter)).collect();
        let xi = Sum::atom(Atom::Auxiliary { id, plates: copy });
        let Tangent { tight, slope, square, change } = Tangent::at(symbols, &eta, xi);
        let change = distribute(symbols, &slope, &change);
        let held = distribute(symbols, &rest, &tight.clone().plus(change));
        let tight = distribute(symbols, &rest, &tight);
        let own = masks(symbols, &rest, &plates);
        let square = distribute(symbols, &own, &square);
        let square = canonical(symbols, &square);
        let others = weight.sums.iter().copied().filter(|letter| !plates.contains(letter)).collect();
        at.auxiliaries.push(Auxiliary {
            bound: at.bound,
            statement: at.statement,
            weight: Sum::term(Term { sums: others, ..weight }),
            plates,
            square,
            slope: Sum::term(slope),
        });
        Some(Replacement { held: held.terms, tight: tight.terms })
    }
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
