//! Logs of points in the bound, each with the whole of its coefficient.
//!
//! Multiplied out, `(a - 1) log w` is `a log w - log w`: at `a = 1` and `w = 0` the difference of two infinities, where the
//! product is 0.

use cavi_algebra::{Atom, Elementary, Equations, Factor, Function, Statistic, Sum, Term};

/// The terms of a sum, those with the same log of a point over the same letters as one.
pub fn gather(equations: &Equations, sum: &Sum) -> Vec<Term> {
    let mut gathered: Vec<Term> = Vec::new();
    let mut coefficients: Vec<(Factor, usize, Sum)> = Vec::new();
    for term in &sum.terms {
        let logs = term
            .factors
            .iter()
            .filter(|factor| factor.power == 1 && is_log_of_point(equations, &factor.atom));
        let [log] = logs.collect::<Vec<_>>()[..] else {
            gathered.push(term.clone());
            continue;
        };
        let rest = Term {
            sums: Vec::new(),
            factors: term.factors.iter().filter(|factor| *factor != log).cloned().collect(),
            coefficient: term.coefficient,
        };
        let same =
            |(own, place, _): &&mut (Factor, usize, Sum)| own == log && gathered[*place].sums == term.sums;
        match coefficients.iter_mut().find(same) {
            Some((.., coefficient)) => coefficient.terms.push(rest),
            None => {
                coefficients.push((log.clone(), gathered.len(), Sum::term(rest)));
                gathered.push(term.clone());
            }
        }
    }
    for (log, place, coefficient) in coefficients.into_iter().filter(|(.., sum)| sum.terms.len() > 1) {
        let group = Factor { atom: Atom::Group(Box::new(coefficient)), power: 1 };
        gathered[place] =
            Term { sums: gathered[place].sums.clone(), factors: vec![group, log], ..Term::number(1.0) };
    }
    gathered
}

/// Whether a term is a coefficient in brackets times the log of a point.
pub fn is_gathered(equations: &Equations, term: &Term) -> bool {
    let log = |factor: &Factor| factor.power == 1 && is_log_of_point(equations, &factor.atom);
    match term.factors.as_slice() {
        [Factor { atom: Atom::Group(_), power: 1 }, other]
        | [other, Factor { atom: Atom::Group(_), power: 1 }] => log(other),
        _ => false,
    }
}

fn is_log_of_point(equations: &Equations, atom: &Atom) -> bool {
    let is_log = |statistic: &Statistic| matches!(statistic.0.as_slice(), [(_, Elementary::Log)]);
    match atom {
        Atom::Moment(moment) => equations.block(moment.block).is_point() && is_log(&moment.statistic),
        Atom::Apply(Function::Log, sums) => match sums.as_slice() {
            [sum] => match sum.terms.as_slice() {
                [Term { factors, .. }] => match factors.as_slice() {
                    [Factor { atom: Atom::Value(array, _), power: 1 }] => {
                        equations.block_of(*array).is_some_and(|id| equations.block(id).is_point())
                    }
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}
