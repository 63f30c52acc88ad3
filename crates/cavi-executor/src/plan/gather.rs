//! Keeps logs that may be infinite together with their whole coefficients.
//!
//! Multiplied out, `(a - 1) log w` is `a log w - log w`: at `a = 1` and `w = 0` the difference of two infinities, where the
//! product is 0. So is `(1 - y) log(1 - p)` where all `y` and `p` are 1.

use cavi_algebra::{
    ArrayKind, Atom, Block, Elementary, Equations, Factor, Function, LetterId, Statistic, Sum, Symbols, Term,
};

/// A block with its coefficients gathered.
pub fn gather_block(equations: &Equations, block: &Block) -> Block {
    let mut block = block.clone();
    let point = block.is_point();
    for own in &mut block.natural {
        let whole = point && is_log_complement(&own.statistic);
        own.coefficient.terms = together(equations, &own.coefficient, !whole);
    }
    block.prior.iter_mut().for_each(|sum| sum.terms = by_data(equations, sum));
    block
}

/// Whether a statistic is `log(1 - x)`. The coefficient of such a log of a point is a sum of failures, `sum q (1 - y)`, and says whether
/// the point may be 1: as the difference `sum q - sum q y` it could be 0 by rounding alone.
pub fn is_log_complement(statistic: &Statistic) -> bool {
    matches!(statistic.0.as_slice(), [(_, Elementary::LogComplement)])
}

/// The terms of a sum, those that differ in data alone as one, then those with the same log of a point over the same letters.
pub fn gather(equations: &Equations, sum: &Sum) -> Vec<Term> {
    let mut gathered: Vec<Term> = Vec::new();
    let mut coefficients: Vec<(Factor, usize, Sum)> = Vec::new();
    for term in &by_data(equations, sum) {
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

/// The parts of a term: a log if one is asked for, the factors that change during the run, the letters of these, and
/// data.
struct Apart {
    log: Option<Factor>,
    moving: Vec<Factor>,
    outer: Vec<LetterId>,
    data: Term,
}

/// `sum_O L M (sum_i c_i sum_S D_i)` for terms `c_i sum_O sum_S L M D_i` with the same log `L` of data, constants and points and the
/// same factors `M`: `S` are the letters that stand in the data `D_i` alone.
pub fn by_data(equations: &Equations, sum: &Sum) -> Vec<Term> {
    together(equations, sum, true)
}

/// As [`by_data`]; of all terms if no log is asked for.
fn together(equations: &Equations, sum: &Sum, with_log: bool) -> Vec<Term> {
    let symbols = &equations.symbols;
    let mut together: Vec<Term> = Vec::new();
    let mut groups: Vec<(usize, Vec<Apart>)> = Vec::new();
    for term in &sum.terms {
        let Some(own) = apart(equations, term, with_log) else {
            together.push(term.clone());
            continue;
        };
        let same = |(_, others): &&mut (usize, Vec<Apart>)| {
            let other = &others[0];
            other.log == own.log && other.moving == own.moving && other.outer == own.outer
        };
        match groups.iter_mut().find(same) {
            Some((_, others)) => others.push(own),
            None => {
                groups.push((together.len(), vec![own]));
                together.push(term.clone());
            }
        }
    }
    for (place, mut parts) in groups.into_iter().filter(|(_, parts)| parts.len() > 1) {
        // What all have stays outside.
        let mut common = parts[0].data.factors.clone();
        common.retain(|factor| parts.iter().all(|part| part.data.factors.contains(factor)));
        let sums = parts[0].data.sums.clone();
        let outside = |factor: &&Factor| common.contains(factor);
        let mut outer = parts[0].outer.clone();
        outer.extend(letters(symbols, common.iter(), &sums));
        for part in &mut parts {
            part.data.factors.retain(|factor| !outside(&factor));
            part.data.sums.retain(|letter| !outer.contains(letter));
        }
        let sums = sums.into_iter().filter(|letter| outer.contains(letter)).collect();
        let (log, moving) = (parts[0].log.clone(), parts[0].moving.clone());
        let terms = parts.into_iter().map(|part| part.data).collect();
        let group = Factor::of(Atom::Group(Box::new(Sum { terms })));
        let factors = [group].into_iter().chain(log).chain(moving).chain(common).collect();
        together[place] = Term { sums, factors, ..Term::number(1.0) };
    }
    together
}

/// Takes a term apart; `None` for one without exactly one log of data, constants and points, if that is asked for.
fn apart(equations: &Equations, term: &Term, with_log: bool) -> Option<Apart> {
    let symbols = &equations.symbols;
    let log = match term.factors.iter().filter(|factor| is_known_log(equations, factor)).collect::<Vec<_>>()[..]
    {
        [log] if with_log => Some(log.clone()),
        _ if with_log => return None,
        _ => None,
    };
    let rest = term.factors.iter().filter(|factor| Some(*factor) != log.as_ref()).cloned();
    let (data, moving): (Vec<Factor>, Vec<Factor>) = rest.partition(|factor| match &factor.atom {
        Atom::Value(array, _) | Atom::Observed(array, _) => symbols.array(*array).kind != ArrayKind::Latent,
        _ => false,
    });
    let outer = letters(symbols, moving.iter().chain(&log), &term.sums);
    let data = Term { sums: term.sums.clone(), factors: data, coefficient: term.coefficient };
    Some(Apart { log, moving, outer, data })
}

/// Those of some letters that stand in factors, with their ancestors.
fn letters<'a>(
    symbols: &Symbols,
    factors: impl Iterator<Item = &'a Factor>,
    among: &[LetterId],
) -> Vec<LetterId> {
    let factors = factors.cloned().collect();
    let free = Term { factors, ..Term::number(1.0) }.free_letters(symbols);
    let above: Vec<LetterId> = free.into_iter().flat_map(|letter| symbols.lineage(letter)).collect();
    among.iter().copied().filter(|letter| above.contains(letter)).collect()
}

/// Whether a factor is the log of data, constants and points: where these are 0 it is infinite.
pub fn is_known_log(equations: &Equations, factor: &Factor) -> bool {
    let Atom::Apply(Function::Log, inner) = &factor.atom else { return false };
    factor.power == 1 && inner.iter().all(|sum| is_known(equations, sum))
}

/// Whether a sum follows from data, constants and points.
fn is_known(equations: &Equations, sum: &Sum) -> bool {
    let known = |factor: &Factor| match &factor.atom {
        Atom::Value(array, _) => {
            let latent = equations.symbols.array(*array).kind == ArrayKind::Latent;
            !latent || equations.block_of(*array).is_some_and(|id| equations.block(id).is_point())
        }
        _ => false,
    };
    sum.terms.iter().all(|term| term.factors.iter().all(known))
}

/// Whether a term has a coefficient in brackets times a log that may be infinite.
pub fn has_gathered(equations: &Equations, term: &Term) -> bool {
    let brackets = |factor: &&Factor| matches!(factor.atom, Atom::Group(_)) && factor.power == 1;
    let log = |factor: &Factor| is_known_log(equations, factor);
    term.factors.iter().filter(brackets).count() == 1 && term.factors.iter().any(log)
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
