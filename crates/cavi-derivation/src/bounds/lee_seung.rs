//! `-(sum_s w_s)^2 >= -sum_s w_s^2 / phi_s` for non-negative `w` and `phi` on the simplex: Jensen's inequality for the
//! square, tight at `phi_s` proportional to `w_s`.
//!
//! With `phi_s = w_s / sum_t w_t` at the old values, a product `w_s w_t` of the opened square becomes
//! `w_s^2 w_t' / (2 w_s') + w_t^2 w_s' / (2 w_t')`, primes for old values: every copy of the block can move at once, and the
//! objective does not fall. It needs a product whose coefficient in the log density cannot be positive. On a quadratic this is the multiplicative update of squared-error factorisation.
//!
//! # Source
//! Lee and Seung (2001), Algorithms for non-negative matrix factorization, theorem 1 and its auxiliary function (14).

use cavi_algebra::{
    Atom, BoundWords, Coefficient, Elementary, Factor, Inequality, Reference, Side, Statistic, Sum, Support,
    Symbols, Term,
};
use cavi_model::{BlockKind, BlockSpec};

use super::sign::{Sign, sign_unknown};
use super::{Bound, Part, Serves, shares};
use crate::separate::Element;

/// The bound of squares of sums.
pub struct LeeSeung;

/// The multiplicative updates and their auxiliary functions.
pub const LEE_SEUNG: Reference = Reference(
    "@inproceedings{lee2001algorithms,
  author = {Lee, Daniel D. and Seung, H. Sebastian},
  title = {Algorithms for Non-negative Matrix Factorization},
  booktitle = {Advances in Neural Information Processing Systems 13},
  pages = {556--562},
  year = {2001}
}",
);

impl Bound for LeeSeung {
    fn name(&self) -> &'static str {
        "lee_seung"
    }

    fn inequality(&self) -> Inequality {
        let mut right = Term { sums: vec![shares::CATEGORY], ..Term::number(1.0) };
        right.factors.push(Factor { atom: shares::element(shares::NUMBERS), power: 2 });
        right.factors.push(Factor { atom: shares::element(shares::SHARES), power: -1 });
        let left = Factor { atom: Atom::Group(Box::new(shares::total())), power: 2 };
        Inequality {
            symbols: shares::symbols("w", Support::Positive),
            left: Sum::term(Term { factors: vec![left], ..Term::number(1.0) }),
            side: Side::Above,
            right: Sum::term(right),
            argument: shares::NUMBERS,
            auxiliary: shares::SHARES,
            optimum: shares::proportional(),
        }
    }

    fn words(&self) -> BoundWords {
        BoundWords {
            of: "The bound of squares of sums, for multiplicative updates",
            holds: "As the square is convex, the square of a sum of numbers that are not negative is bounded above, for any \
                    probabilities of the addends:",
            equal: "with equality where these are proportional to the numbers; an update takes those of the values before it:",
            best: None,
            step: "the bound on squares of sums",
        }
    }

    fn references(&self) -> &'static [Reference] {
        &[LEE_SEUNG]
    }

    fn serves(&self) -> Option<Serves> {
        Some(Serves { block: serves, blocks: "a point that is no slice and cannot be negative" })
    }

    fn refuses(&self, symbols: &Symbols, term: &Term, found: &[Element]) -> Option<Sign> {
        let [one, other] = pair(found)?;
        let mut taken = term.clone();
        taken.remove(&[one.position, other.position]);
        taken.coefficient = Coefficient(-taken.coefficient.0);
        sign_unknown(symbols, &taken)
    }

    fn split<'e>(&self, term: &Term, found: &'e [Element]) -> Option<Vec<Part<'e>>> {
        let [one, other] = pair(found)?;
        let part = |element: &'e Element| {
            let mut rest = term.clone();
            let old = rest.factors.remove(element.position).atom;
            debug_assert!(matches!(old, Atom::Value(..)), "elements of points are values");
            rest.factors.push(Factor { atom: old, power: -1 });
            rest.coefficient = Coefficient(0.5 * rest.coefficient.0);
            Part { element, statistic: Statistic::square(), rest }
        };
        Some([one, other].map(part).into())
    }

    fn keeps_zeros(&self) -> bool {
        true
    }
}

/// The elements of a product of two, which the bound takes apart.
fn pair(found: &[Element]) -> Option<[&Element; 2]> {
    let [one, other] = found else { return None };
    let plain = |element: &Element| element.elementary == Elementary::Power(1) && element.times == 1;
    (plain(one) && plain(other)).then_some([one, other])
}

fn serves(symbols: &Symbols, spec: &BlockSpec) -> bool {
    let [member] = spec.members[..] else { return false };
    spec.kind == BlockKind::Point
        && symbols.array(member).support.is_nonnegative()
        && spec.slices.iter().all(Vec::is_empty)
}
