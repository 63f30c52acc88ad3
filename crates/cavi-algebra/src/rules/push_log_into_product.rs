//! `log(c a^p b) = log c + p log a + log b`, `log exp(e) = e`, `log logistic(e) = e - softplus(e)`,
//! `log(1 - logistic(e)) = -softplus(e)`, `log sum_k (exp(e) f_k) = e + log sum_k f_k`, and `log(1 - exp(e))`, `log Phi(e)`,
//! `log(1 - Phi(e))` as functions of their own, without cancellation; the log of any other sum of several terms stays.
//! `log(-f b) = log(-f) + log b` for a function f that is never positive.
//!
//! Where the sign of a factor x is not known, `log x^2` is no `2 log x`: even powers are logs of squares, `p/2 log x^2`, and several factors
//! of unknown sign, whose product may be positive where two of them are not, keep one log together.

use super::complements::is_complement;
use crate::expression::Function;
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
use crate::symbols::{ArrayKind, Symbols};

/// The log of a sum, taken inside a product.
pub fn push_log_into_product(symbols: &Symbols, sum: &Sum) -> Sum {
    match complement_of_function(sum) {
        Some((Function::Logistic, inner)) => return inner.clone().apply(Function::Softplus).scaled(-1.0),
        Some((Function::Exp, inner)) => return inner.clone().apply(Function::LogOneLessExp),
        Some((Function::Phi, inner)) => return inner.clone().apply(Function::StandardNormalLogCcdf),
        Some(_) | None => {}
    }
    let [term] = sum.terms.as_slice() else {
        return sum.clone().apply(Function::Log);
    };
    if term.coefficient.0 == 0.0 || is_negative(symbols, term) {
        return sum.clone().apply(Function::Log);
    }
    if !term.sums.is_empty() {
        return exponentials_apart(symbols, term);
    }
    let mut out = Sum::number(term.coefficient.0.abs().ln());
    // Of factors of unknown sign, one is left of each odd power.
    let odd = |factor: &&Factor| factor.power % 2 != 0 && may_be_negative(symbols, &factor.atom);
    let odd: Vec<Atom> = term.factors.iter().filter(odd).map(|factor| factor.atom.clone()).collect();
    let together = odd.len() > 1;
    if together {
        let factors = odd.into_iter().map(Factor::of).collect();
        out = out.plus(Sum::term(Term { factors, ..Term::number(1.0) }).apply(Function::Log));
    }
    for factor in &term.factors {
        let taken = together && factor.power % 2 != 0 && may_be_negative(symbols, &factor.atom);
        let even = factor.power - i32::from(taken);
        if even % 2 == 0 && has_unknown_sign(symbols, &factor.atom) {
            if even != 0 {
                let square = Factor { atom: factor.atom.clone(), power: 2 };
                let square = Term { factors: vec![square], ..Term::number(1.0) };
                out = out.plus(Sum::term(square).apply(Function::Log).scaled(f64::from(even / 2)));
            }
            continue;
        }
        let log = match &factor.atom {
            Atom::Apply(Function::Exp, inner) => inner[0].clone(),
            Atom::Apply(Function::Logistic, inner) => {
                inner[0].clone().minus(inner[0].clone().apply(Function::Softplus))
            }
            Atom::Apply(Function::Phi, inner) => inner[0].clone().apply(Function::StandardNormalLogCdf),
            Atom::Group(inner) => push_log_into_product(symbols, inner),
            Atom::Apply(Function::Sqrt, inner) => push_log_into_product(symbols, &inner[0]).scaled(0.5),
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Apply(..)
            | Atom::ExpectedSquare(_)
            | Atom::Observed(..)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => {
                let alone = Factor { atom: factor.atom.clone(), power: 1 };
                let sign = Coefficient(if is_never_positive(symbols, &factor.atom) { -1.0 } else { 1.0 });
                let term = Term { sums: Vec::new(), factors: vec![alone], coefficient: sign };
                Sum::term(term).apply(Function::Log)
            }
        };
        out = out.plus(log.scaled(f64::from(factor.power)));
    }
    out
}

/// Whether a factor, as far as supports and forms say, may be negative: what equations read of a variable, a function that takes either
/// sign, or a sum of data and constants. (Of a sum with latents, which is meant to be positive where its log is taken, nothing is said.)
/// What is never positive is known to be negative, and counted as a sign.
pub fn may_be_negative(symbols: &Symbols, atom: &Atom) -> bool {
    match atom {
        _ if is_never_positive(symbols, atom) => false,
        // A constant of a number that is negative is never positive.
        Atom::Value(array, _) => symbols.number(*array).is_none() && symbols.array(*array).may_be_negative(),
        Atom::Group(sum) if is_complement(symbols, sum) || !is_known(symbols, sum) => false,
        Atom::Group(sum) => has_either_sign(symbols, sum),
        Atom::Apply(Function::Power, arguments) => has_either_sign(symbols, &arguments[0]),
        Atom::Apply(function, _) => function.takes_either_sign(),
        Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::ExpectedSquare(_)
        | Atom::Observed(..)
        | Atom::Equal(..)
        | Atom::Different(..)
        | Atom::Less(..) => false,
    }
}

/// Whether the log of an even power of a factor is that of a square: where it may be negative, and where it is a sum whose latents may
/// make it so, of which an even power is no hint that it is positive.
fn has_unknown_sign(symbols: &Symbols, atom: &Atom) -> bool {
    match atom {
        Atom::Group(sum) => !is_complement(symbols, sum) && has_either_sign(symbols, sum),
        _ => may_be_negative(symbols, atom),
    }
}

/// Whether an addend of a sum is negative, or has an odd power of what may be.
pub fn has_either_sign(symbols: &Symbols, sum: &Sum) -> bool {
    sum.terms.iter().any(|term| {
        let of_factor = |factor: &Factor| factor.power % 2 != 0 && may_be_negative(symbols, &factor.atom);
        is_negative(symbols, term) || term.factors.iter().any(of_factor)
    })
}

/// Whether a sum holds no latent variable.
fn is_known(symbols: &Symbols, sum: &Sum) -> bool {
    sum.terms.iter().flat_map(|term| &term.factors).all(|factor| {
        let latent =
            matches!(factor.atom, Atom::Value(array, _) if symbols.array(array).kind == ArrayKind::Latent);
        !latent && factor.atom.nested().into_iter().all(|inner| is_known(symbols, inner))
    })
}

/// Whether an atom takes no positive value: a constant that is a negative number, the log of a normal probability, and a normal quantile
/// of one of at most a half.
pub fn is_never_positive(symbols: &Symbols, atom: &Atom) -> bool {
    match atom {
        Atom::Value(array, _) => symbols.number(*array).is_some_and(|value| value < 0.0),
        Atom::Apply(Function::StandardNormalLogCdf | Function::StandardNormalLogCcdf, _) => true,
        Atom::Apply(Function::StandardNormalLogQf, inner) => {
            let mut most = 0.0;
            let below = inner[0].terms.iter().all(|term| {
                if term.is_number() {
                    most += term.coefficient.0;
                    return true;
                }
                let alone = |factor: &Factor| factor.power == 1 && is_never_positive(symbols, &factor.atom);
                term.coefficient.0 > 0.0 && matches!(term.factors.as_slice(), [only] if alone(only))
            });
            below && most <= -std::f64::consts::LN_2
        }
        _ => false,
    }
}

/// Whether the number in front of a product and its factors that are never positive leave a minus.
pub fn is_negative(symbols: &Symbols, term: &Term) -> bool {
    let odd = |factor: &&Factor| factor.power % 2 != 0 && is_never_positive(symbols, &factor.atom);
    (term.coefficient.0 < 0.0) != (term.factors.iter().filter(odd).count() % 2 == 1)
}

/// `log sum_k (exp(e) f_k) = e + log sum_k f_k`, where `e` holds no letter that is summed over.
fn exponentials_apart(symbols: &Symbols, term: &Term) -> Sum {
    let mut rest = term.clone();
    let mut out = Sum::zero();
    rest.factors.retain(|factor| match &factor.atom {
        Atom::Apply(Function::Exp, inner)
            if inner[0].free_letters(symbols).iter().all(|letter| !term.sums.contains(letter)) =>
        {
            out = std::mem::replace(&mut out, Sum::zero())
                .plus(inner[0].clone().scaled(f64::from(factor.power)));
            false
        }
        _ => true,
    });
    out.plus(Sum::term(rest).apply(Function::Log))
}

/// The `f` and the `e` of `1 - f(e)`.
fn complement_of_function(sum: &Sum) -> Option<(Function, &Sum)> {
    let [a, b] = sum.terms.as_slice() else { return None };
    let (one, other) = if a.is_number() { (a, b) } else { (b, a) };
    let complement = one.is_number() && one.coefficient.0 == 1.0 && other.coefficient.0 == -1.0;
    match other.factors.as_slice() {
        [Factor { atom: Atom::Apply(function, inner), power: 1 }] if complement && other.sums.is_empty() => {
            Some((*function, &inner[0]))
        }
        _ => None,
    }
}
