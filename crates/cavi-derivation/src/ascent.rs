//! Points without a closed form: the terms of the expected log joint that hold them, and their derivatives.
//!
//! If the copies of a number do not interact (`d^2 L / dx[i] dx[j] = 0`), each has a problem of one variable, which
//! Newton's method on `L'` solves. Copies that interact only through sums over themselves, such as the total of a
//! concentration, are solved in the same way, one after another. All other points move together along the gradient,
//! by L-BFGS.
//!
//! Where the point stands in a log of a sum, `F(x) = max over phi of L(x, phi)` is what a visit raises: the bound with the
//! allocations at their optimum. `L(x, phi)`, allocations held, has the same slope there (the envelope theorem), so that
//! `F'(x) = dL/dx (x, phi*(x))`: its derivatives are those with shares and auxiliary variables as constants, taken at the
//! shares of the current point. For the log of a sum of weight w that is `w sum_c phi_c d(E log f_c)/dx`, the slope of
//! `w log sum_c exp E log f_c`.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{Substitution, differentiate, substitute};
use cavi_algebra::{
    ArrayId, Ascent, Atom, BlockId, Contribution, LetterId, Mode, StatementId, Subscript, Sum, Support,
    Symbols, Term, dedup,
};

use crate::blocks::Draft;
use crate::bounds::Bounded;
use crate::expect::{Leftover, expect};
use crate::joint::with_ancestors;

/// An ascent, the contributions that its objective is made of, and the plate letters along which copies move one
/// after another.
pub struct Moves {
    /// Objective and derivatives.
    pub ascent: Ascent,
    /// What each statement contributes to the objective.
    pub contributions: Vec<Contribution>,
    /// Letters of the plates.
    pub in_order: Vec<LetterId>,
}

/// The ascent of a point; `Ok(None)` where it cannot be one: a function in the way has no derivative. `Err` where an
/// expectation has no closed form.
pub fn ascent(
    symbols: &mut Symbols,
    drafts: &[Draft],
    bounded: &Bounded,
    id: BlockId,
) -> Result<Option<Moves>, (StatementId, Box<Leftover>)> {
    let draft = &drafts[id.index()];
    if draft.mode != Mode::Point || draft.by.is_some() || draft.clamp || !moves(symbols, draft) {
        return Ok(None);
    }
    let (mut objective, mut tight) = (Sum::zero(), Sum::zero());
    let mut contributions = Vec::new();
    for statement in (0..bounded.statements.len()).map(StatementId::from) {
        // At the optimum an implicit factor contributes where its own statement stands.
        let optimal = Sum { terms: bounded.tight_of(draft, statement).cloned().collect() };
        tight = tight.plus(expect(symbols, drafts, &optimal).map_err(|leftover| (statement, leftover))?);
        let own = Sum { terms: bounded.held_by(draft, statement).cloned().collect() };
        if own.is_zero() {
            continue;
        }
        let expected = expect(symbols, drafts, &own).map_err(|leftover| (statement, leftover))?;
        objective = objective.plus(expected.clone());
        contributions.push(Contribution {
            statement,
            selected: draft.terms_of(&bounded.statements[statement.index()].stated),
            bounded: own.clone(),
            monomials: own,
            parts: Vec::new(),
            objective: Some(canonical(symbols, &expected)),
        });
    }
    let objective = canonical(symbols, &objective);
    let holds = objective.has_allocation() || objective.has_auxiliary();
    let tight = holds.then(|| canonical(symbols, &tight));
    let mut gradient = Vec::new();
    for member in &draft.members {
        let letters = symbols.array(*member).letters.clone();
        let Some(own) = differentiate(symbols, &objective, *member, &letters) else { return Ok(None) };
        gradient.push(own);
    }
    // Allocations follow the point, so that all of it meets in them.
    let alone = if holds { None } else { in_one_variable(symbols, draft, &gradient) };
    let (curvature, in_order) = match alone {
        Some((curvature, in_order)) => (Some(curvature), in_order),
        None => (None, Vec::new()),
    };
    Ok(Some(Moves {
        ascent: Ascent { objective, tight, gradient, curvature, own: Vec::new(), own_family: None },
        contributions,
        in_order,
    }))
}

/// Whether the members lie where a coordinate moves on the whole line.
fn moves(symbols: &Symbols, draft: &Draft) -> bool {
    draft.members.iter().all(|member| match symbols.array(*member).support {
        Support::Real | Support::Positive | Support::Nonnegative | Support::Unit | Support::Simplex => true,
        Support::Count
        | Support::Binary
        | Support::Index(_)
        | Support::Multiplicity
        | Support::PositiveDefinite => false,
    })
}

/// The second derivative and the letters along which copies meet, for a number that moves by itself.
fn in_one_variable(symbols: &mut Symbols, draft: &Draft, gradient: &[Sum]) -> Option<(Sum, Vec<LetterId>)> {
    let ([member], [gradient]) = (draft.members.as_slice(), gradient) else { return None };
    if !draft.slices[0].is_empty() {
        return None;
    }
    let letters = symbols.array(*member).letters.clone();
    let others: Vec<LetterId> = letters
        .iter()
        .map(|letter| {
            let axis = symbols.letter(*letter).axis;
            symbols.fresh_on(axis)
        })
        .collect();
    let mixed = differentiate(symbols, gradient, *member, &others)?;
    let mut meets = Vec::new();
    for term in &mixed.terms {
        let own = unequal(term, &letters, &others);
        if !own.is_empty() && !holds_only(term, *member) {
            return None;
        }
        meets.extend(own);
    }
    let meets = dedup(meets);
    // The same element twice.
    let same: Substitution =
        others.iter().zip(&letters).map(|(other, own)| (*other, Subscript::Letter(*own))).collect();
    let terms = mixed.terms.iter().map(|term| substitute(symbols, term, &same)).collect();
    let curvature = canonical(symbols, &Sum { terms });
    // What is ragged may meet across groups.
    let in_order = with_ancestors(symbols, &draft.plates);
    let lineage = |letter: &LetterId| meets.iter().any(|own| symbols.lineage(*own).contains(letter));
    let in_order = in_order.into_iter().filter(lineage).collect();
    Some((curvature, in_order))
}

/// The letters whose counterparts no indicator of the term makes equal to them.
fn unequal(term: &Term, letters: &[LetterId], others: &[LetterId]) -> Vec<LetterId> {
    let equalities: Vec<(&Subscript, &Subscript)> = term
        .factors
        .iter()
        .filter_map(|factor| match &factor.atom {
            Atom::Equal(left, right) => Some((left, right)),
            _ => None,
        })
        .collect();
    let apart = |own: &LetterId, other: &LetterId| {
        // Everything that is equal to the first letter, step by step.
        let mut known = vec![Subscript::Letter(*own)];
        let mut seen = 0;
        while seen < known.len() {
            for (left, right) in &equalities {
                for (from, to) in [(left, right), (right, left)] {
                    if **from == known[seen] && !known.contains(to) {
                        known.push((*to).clone());
                    }
                }
            }
            seen += 1;
        }
        !known.contains(&Subscript::Letter(*other))
    };
    letters.iter().zip(others).filter(|(own, other)| apart(own, other)).map(|(own, _)| *own).collect()
}

/// Whether a term holds nothing but the point, indicators and numbers without subscripts, so that its cost is
/// proportional to the size of the point.
fn holds_only(term: &Term, member: ArrayId) -> bool {
    term.factors.iter().all(|factor| match &factor.atom {
        Atom::Value(array, subscripts) => *array == member || subscripts.is_empty(),
        Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => true,
        Atom::Group(inner) => inner.terms.iter().all(|term| holds_only(term, member)),
        Atom::Apply(_, arguments) => {
            arguments.iter().flat_map(|sum| &sum.terms).all(|term| holds_only(term, member))
        }
        Atom::Moment(_)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::ExpectedSquare(_)
        | Atom::Observed(..) => false,
    })
}
