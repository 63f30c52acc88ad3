//! What several densities are built from.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{push_log_into_product, rename_apart};
use cavi_algebra::{Function, LetterId, Sum, Symbols};

use crate::family::{Domain, Spelling};

/// The spellings of a probability.
pub(crate) const PROBABILITIES: &[Spelling] =
    &[Spelling::canonical("p", Domain::Unit), Spelling::rewritten("logit", Domain::Real, from_logit)];

/// `p = logistic(logit)`
fn from_logit(_symbols: &mut Symbols, value: &Sum, _others: &[Sum]) -> Sum {
    value.clone().apply(Function::Logistic)
}

/// `sum over letter of body`; a term that does not mention the letter is thereby multiplied by its size.
pub(crate) fn sum_over(symbols: &mut Symbols, letter: LetterId, body: &Sum) -> Sum {
    let terms = body.terms.iter().map(|term| {
        let mut term = rename_apart(symbols, term, &[letter]);
        term.sums.insert(0, letter);
        term
    });
    Sum { terms: terms.collect() }
}

/// `log(1 - x)`
pub(crate) fn log_complement(symbols: &mut Symbols, x: &Sum) -> Sum {
    let complement = canonical(symbols, &Sum::number(1.0).minus(x.clone()));
    push_log_into_product(symbols, &complement)
}

/// `log Gamma(x + 1)`
pub(crate) fn log_factorial(x: &Sum) -> Sum {
    x.clone().plus(Sum::number(1.0)).apply(Function::LogGamma)
}
