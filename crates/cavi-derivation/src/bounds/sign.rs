//! Whether a product can be negative, by the supports of what stands in it.

use cavi_algebra::rules::{is_complement, is_negative, is_never_positive};
use cavi_algebra::{ArrayKind, Atom, Function, Symbols, Term};

/// Why a product may be negative.
pub enum Sign {
    /// Its number is.
    Negative,
    /// A factor may be, in words.
    Unknown(String),
}

/// What in a product may be negative. A constant without a number in the program is taken as given.
pub fn sign_unknown(symbols: &Symbols, term: &Term) -> Option<Sign> {
    if is_negative(term) {
        return Some(Sign::Negative);
    }
    for factor in &term.factors {
        if factor.power % 2 == 0 || is_never_positive(&factor.atom) {
            continue;
        }
        match &factor.atom {
            Atom::Value(array, _) => {
                let array = symbols.array(*array);
                if !array.is_nonnegative() {
                    let what = match (array.kind, array.center) {
                        (ArrayKind::Constant, _) => "is negative",
                        (_, Some(_)) => "is centred, so that it has either sign",
                        (_, None) => "is a real number",
                    };
                    return Some(Sign::Unknown(format!("`{}` {what}", array.name)));
                }
            }
            Atom::Observed(..)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..)
            | Atom::Allocation { .. } => {}
            Atom::Apply(function, arguments) => match function {
                Function::Exp
                | Function::Sqrt
                | Function::Logistic
                | Function::Softplus
                | Function::EvenSoftplus
                | Function::LogisticCurvature
                | Function::Phi
                | Function::Trigamma => {}
                Function::Power => {
                    if let Some(culprit) =
                        arguments[0].terms.iter().find_map(|term| sign_unknown(symbols, term))
                    {
                        return Some(culprit);
                    }
                }
                Function::Log
                | Function::LogOneLessExp
                | Function::SinePi
                | Function::LogGamma
                | Function::Digamma
                | Function::LogBesselK
                | Function::LogDeterminant
                | Function::LogMultivariateGamma
                | Function::AtMostOne
                | Function::LogLeft
                | Function::InversePhi
                | Function::StandardNormalLogCdf
                | Function::StandardNormalLogCcdf
                | Function::StandardNormalLogQf => {
                    return Some(Sign::Unknown(format!("`{}` takes either sign", function.name())));
                }
            },
            Atom::Group(sum) if is_complement(symbols, sum) => {}
            Atom::Group(sum) => {
                if let Some(culprit) = sum.terms.iter().find_map(|term| sign_unknown(symbols, term)) {
                    return Some(culprit);
                }
            }
            Atom::Moment(_)
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::ExpectedSquare(_) => {
                unreachable!("expectations are taken after the bounds")
            }
        }
    }
    None
}
