//! `log(c a^p b) = log c + p log a + log b`, and `log exp(e) = e`; the log of a sum of several terms stays.

use crate::expression::Function;
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};

/// The log of a sum, taken inside a product.
pub fn push_log_into_product(sum: &Sum) -> Sum {
    let [term] = sum.terms.as_slice() else {
        return sum.clone().apply(Function::Log);
    };
    if !term.sums.is_empty() || (term.coefficient.0 <= 0.0) {
        return sum.clone().apply(Function::Log);
    }
    let mut out = Sum::number(term.coefficient.0.ln());
    for factor in &term.factors {
        let log = match &factor.atom {
            Atom::Apply(Function::Exp, inner) => inner[0].clone(),
            Atom::Group(inner) => push_log_into_product(inner),
            Atom::Apply(Function::Sqrt, inner) => push_log_into_product(&inner[0]).scaled(0.5),
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Apply(..)
            | Atom::ExpectedSquare(_)
            | Atom::Observed(..)
            | Atom::Equal(..)
            | Atom::Different(..)
            | Atom::Less(..) => {
                let alone = Factor { atom: factor.atom.clone(), power: 1 };
                let term = Term { sums: Vec::new(), factors: vec![alone], coefficient: Coefficient(1.0) };
                Sum::term(term).apply(Function::Log)
            }
        };
        out = out.plus(log.scaled(f64::from(factor.power)));
    }
    out
}
