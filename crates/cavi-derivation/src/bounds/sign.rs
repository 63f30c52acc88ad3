//! Whether a product can be negative, by the supports of what stands in it.

use cavi_algebra::rules::{is_complement, is_negative, is_never_positive};
use cavi_algebra::{Atom, Factor, Function, Symbols, Term};

/// Why a product may be negative.
pub enum Sign {
    /// Its number is.
    Negative,
    /// A factor may be, in words.
    Unknown(String),
}

/// What in a product may be negative. A constant without a number in the program is taken as given.
pub fn sign_unknown(symbols: &Symbols, term: &Term) -> Option<Sign> {
    if is_negative(symbols, term) {
        let constant = |factor: &Factor| match &factor.atom {
            Atom::Value(array, _) if factor.power % 2 != 0 && is_never_positive(symbols, &factor.atom) => {
                Some(Sign::Unknown(format!("`{}` is negative", symbols.array(*array).name)))
            }
            _ => None,
        };
        let by_name = term.factors.iter().find_map(constant).filter(|_| term.coefficient.0 > 0.0);
        return Some(by_name.unwrap_or(Sign::Negative));
    }
    for factor in &term.factors {
        if factor.power % 2 == 0 || is_never_positive(symbols, &factor.atom) {
            continue;
        }
        match &factor.atom {
            Atom::Value(array, _) => {
                let array = symbols.array(*array);
                if !array.is_nonnegative() {
                    let what = match array.center {
                        Some(_) => "is centred, so that it has either sign",
                        None => "is a real number",
                    };
                    return Some(Sign::Unknown(format!("`{}` {what}", array.name)));
                }
            }
            Atom::Observed(..)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..)
            | Atom::Allocation { .. } => {}
            Atom::Apply(Function::Power, arguments) => {
                if let Some(culprit) = arguments[0].terms.iter().find_map(|term| sign_unknown(symbols, term))
                {
                    return Some(culprit);
                }
            }
            Atom::Apply(function, _) if function.takes_either_sign() => {
                return Some(Sign::Unknown(format!("`{}` takes either sign", function.name())));
            }
            Atom::Apply(..) => {}
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
