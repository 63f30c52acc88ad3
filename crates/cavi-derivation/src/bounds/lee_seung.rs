//! `-(sum_s w_s)^2 >= -sum_s w_s^2 / phi_s` for non-negative `w` and `phi` on the simplex: Jensen's inequality for the
//! square, tight at `phi_s` proportional to `w_s`.
//!
//! With `phi_s = w_s / sum_t w_t` at the old values, a product `w_s w_t` of the opened square becomes
//! `w_s^2 w_t' / (2 w_s') + w_t^2 w_s' / (2 w_t')`, primes for old values: every copy of the block can move at once, and the
//! objective does not fall. On a quadratic this is the multiplicative update of squared-error factorisation.
//!
//! # Source
//! Lee and Seung (2001), Algorithms for non-negative matrix factorization, theorem 1 and its auxiliary function (14).

use cavi_algebra::{Atom, Coefficient, Elementary, Factor, Term};

use crate::separate::Element;

/// As programs ask for it.
pub const NAME: &str = "lee_seung";

/// A product of two elements of a block as squares of either, the other at its old value: for each element the rest of
/// the term, in which the square of the element has to be put. `None` where the term is no such product.
pub fn split_product<'e>(term: &Term, found: &'e [Element]) -> Option<Vec<(&'e Element, Term)>> {
    let [one, other] = found else { return None };
    let plain = |element: &Element| element.elementary == Elementary::Power(1) && element.times == 1;
    if !plain(one) || !plain(other) {
        return None;
    }
    let parts = [one, other].map(|target| {
        let mut rest = term.clone();
        let old = rest.factors.remove(target.position).atom;
        debug_assert!(matches!(old, Atom::Value(..)), "elements of points are values");
        rest.factors.push(Factor { atom: old, power: -1 });
        rest.coefficient = Coefficient(0.5 * rest.coefficient.0);
        (target, rest)
    });
    Some(parts.into())
}
