//! The updates: for each block, the coefficients of its statistics in the expected log joint, allocations held, and the
//! family that has those statistics.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{Substitution, distribute, divide, multiply, rename_apart, substitute};
use cavi_algebra::{
    Ascent, Atom, Block, BlockId, Contribution, Elementary, Factor, LetterId, Mode, Natural, StatementId,
    Statistic, Subscript, Sum, Support, Symbols, Term, dedup,
};
use cavi_families::{Posterior, posterior, recognise, recognise_joint};
use cavi_syntax::Diagnostic;

use crate::absent::number_of;
use crate::ascent::{Moves, ascent};
use crate::blocks::Draft;
use crate::bounds::{Bounded, Part, bound_of};
use crate::contraction::{Described, describe};
use crate::derive::{Derivation, whitening};
use crate::expect::{Leftover, copies, expect};
use crate::explain;
use crate::joint::with_ancestors;
use crate::separate::{elements, separate};

/// A collected coefficient: of which statistic, from which statement, and whether another copy of the block stands in it.
struct Collected {
    statistic: Statistic,
    /// The letters of the statistic's slots.
    slots: Vec<LetterId>,
    statement: StatementId,
    /// The product it was collected from, with the first of its copies only.
    monomial: Option<Term>,
    coefficient: Sum,
    meets: Vec<LetterId>,
}

/// Derives the updates of every block, and how each came about.
pub fn conjugate(
    derivation: &mut Derivation,
    drafts: &[Draft],
    bounded: &Bounded,
) -> (Vec<Block>, Vec<Vec<Contribution>>) {
    let ids = (0..drafts.len()).map(BlockId::from);
    ids.filter_map(|id| block(derivation, drafts, bounded, id)).unzip()
}

fn block(
    derivation: &mut Derivation,
    drafts: &[Draft],
    bounded: &Bounded,
    id: BlockId,
) -> Option<(Block, Vec<Contribution>)> {
    let draft = &drafts[id.index()];
    if draft.mode == Mode::Point && draft.members.len() > 1 {
        return together(derivation, drafts, bounded, id);
    }
    if let Some((statement, refused)) = refused_bound(derivation, drafts, bounded, id) {
        derivation.complain(refused, Some(draft), Some(statement));
        return None;
    }
    let mut collected: Vec<Collected> = Vec::new();
    let mut leftovers: Vec<(StatementId, Box<Leftover>)> = Vec::new();
    for statement_id in (0..bounded.statements.len()).map(StatementId::from) {
        for term in bounded.held_by(draft, statement_id) {
            match collect(&mut derivation.symbols, drafts, id, statement_id, term) {
                Ok(found) => collected.extend(found),
                Err(leftover) => leftovers.push((statement_id, leftover)),
            }
        }
    }
    // A factor is one of a copy that exists, for which the condition is 1.
    if let Some(exists) = draft.exists(&derivation.symbols) {
        let terms = collected.iter_mut().flat_map(|entry| &mut entry.coefficient.terms);
        terms.for_each(|term| term.factors.retain(|factor| factor.atom != exists));
    }
    // The maximiser over a whitened slice solves a linear system whose matrix is as ill-conditioned as the
    // covariance. Following the gradient in whitened coordinates loses no digits, so this is done instead.
    let is_whitened = derivation
        .model
        .statements
        .iter()
        .any(|statement| draft.members.contains(&statement.target) && whitening(statement).is_some());
    if draft.mode == Mode::Point && (is_whitened || !leftovers.is_empty()) {
        match ascent(&mut derivation.symbols, drafts, bounded, id) {
            Ok(Some(moves)) => {
                let is_own = |statement: StatementId| {
                    draft.members.contains(&derivation.model.statements[statement.index()].target)
                };
                let is_whole = !leftovers.iter().any(|(statement, _)| is_own(*statement));
                return climbing(derivation, drafts, id, (&collected, is_whole), moves);
            }
            Ok(None) => {}
            Err(leftover) => leftovers.insert(0, leftover),
        }
    }
    if let Some((statement, first)) = leftovers.first() {
        // The statistic without a closed form may belong to another block. Only those of one block are reported
        // together.
        let (statement, culprit) = (*statement, first.block);
        leftovers.retain(|(_, leftover)| leftover.block == culprit);
        let diagnostic = explain::leftover(derivation, drafts, culprit, &leftovers);
        derivation.complain(diagnostic, Some(&drafts[culprit.index()]), Some(statement));
        return None;
    }
    // Statistics whose coefficients cancel are not needed in the family that is looked for, but they stay in the
    // prior: the bound takes the terms of the block's own statements from there.
    let mut statistics: Vec<Statistic> = Vec::new();
    for entry in &collected {
        if !statistics.contains(&entry.statistic) {
            statistics.push(entry.statistic.clone());
        }
    }
    let mut coefficients: Vec<(Statistic, Sum, Sum)> = Vec::new();
    for statistic in statistics {
        let (mut all, mut own) = (Sum::zero(), Sum::zero());
        for entry in collected.iter().filter(|entry| entry.statistic == statistic) {
            let target = derivation.model.statements[entry.statement.index()].target;
            // What an implicit factor selects in the block's own statement stands in the log partition of that factor, in the bound too.
            let in_partition = bounded.statements[entry.statement.index()].shared.is_some()
                && entry.coefficient.has_allocation();
            if draft.members.contains(&target) && !in_partition {
                own = own.plus(entry.coefficient.clone());
            }
            all = all.plus(entry.coefficient.clone());
        }
        let all = canonical(&mut derivation.symbols, &all);
        let own = canonical(&mut derivation.symbols, &own);
        if !(all.is_zero() && own.is_zero()) {
            coefficients.push((statistic, all, own));
        }
    }
    let support = derivation.symbols.array(draft.members[0]).support;
    let over_slice = draft.slices.iter().any(|letters| !letters.is_empty());
    let present = || coefficients.iter().filter(|(_, all, _)| !all.is_zero());
    let wanted: Vec<Statistic> = present().map(|(statistic, _, _)| statistic.clone()).collect();
    let point = draft.mode == Mode::Point;
    let recognised = if draft.members.len() > 1 {
        let supports: Vec<Support> =
            draft.members.iter().map(|member| derivation.symbols.array(*member).support).collect();
        recognise_joint(&supports, over_slice, &wanted)
    } else {
        recognise(support, over_slice, point, &wanted)
    };
    let Some(family) = recognised else {
        if draft.mode == Mode::Point
            && let Ok(Some(moves)) = ascent(&mut derivation.symbols, drafts, bounded, id)
        {
            return climbing(derivation, drafts, id, (&collected, true), moves);
        }
        let places = collected_places(&collected);
        let (diagnostic, culprit) = explain::no_family(derivation, drafts, id, &wanted, &places);
        derivation.complain(diagnostic, Some(draft), culprit);
        return None;
    };
    // With a term in 1 / x the density is not infinite at 0. If the coefficient of that term turns out to be 0, the
    // fit reports it.
    let weights = draft.multiplicities(derivation.model, &derivation.symbols);
    let inverse = Statistic::of(Elementary::Power(-1));
    if point && !draft.clamp && !wanted.contains(&inverse) {
        for (statistic, _, own) in present() {
            // A weight changes no sign.
            let own = divide(&mut derivation.symbols, own, &weights);
            if boundary_mode(&derivation.symbols, statistic, &own) {
                derivation.diagnostics.push(explain::infinite_mode(derivation, drafts, (id, 0), &own));
                return None;
            }
        }
    }
    let (natural, prior) =
        arrange(&mut derivation.symbols, draft, posterior(family), &coefficients, &weights);
    let in_order = dedup(collected.iter().flat_map(|entry| entry.meets.clone()).collect());
    let in_order: Vec<LetterId> = with_ancestors(&derivation.symbols, &draft.plates)
        .into_iter()
        .filter(|letter| in_order.contains(letter))
        .collect();
    let contributions = contributions(&mut derivation.symbols, draft, bounded, &collected);
    let block = Block {
        members: draft.members.clone(),
        plates: draft.plates.clone(),
        member_plates: draft.member_plates.clone(),
        slices: draft.slices.clone(),
        mode: draft.mode,
        family,
        natural,
        prior,
        in_order,
        classes: draft.classes,
        multiplicity: weights,
        exists: draft.exists(&derivation.symbols),
        by: draft.by,
        clamp: draft.clamp,
        resets: false,
        ascent: None,
    };
    Some((block, contributions))
}

/// Why the bound that a block asks for does not hold of one of its products.
fn refused_bound(
    derivation: &mut Derivation,
    drafts: &[Draft],
    bounded: &Bounded,
    id: BlockId,
) -> Option<(StatementId, Diagnostic)> {
    let draft = &drafts[id.index()];
    let bound = bound_of(draft.by?);
    for statement in (0..bounded.statements.len()).map(StatementId::from) {
        for term in bounded.held_by(draft, statement) {
            // What cannot be opened is told where it is collected.
            let Ok(opened) = opened(&mut derivation.symbols, draft, id, term, false) else { continue };
            for term in opened.terms {
                let symbols = &derivation.symbols;
                let Ok(found) = elements(symbols, draft, &term) else { continue };
                if let Some(sign) = bound.refuses(symbols, &term, &found) {
                    return Some((
                        statement,
                        explain::bound_fails(derivation, draft, bound.name(), &term, &sign),
                    ));
                }
            }
        }
    }
    None
}

/// What each statement contributed, as it was rewritten on the way.
fn contributions(
    symbols: &mut Symbols,
    draft: &Draft,
    bounded: &Bounded,
    collected: &[Collected],
) -> Vec<Contribution> {
    let mut contributions = Vec::new();
    for statement in dedup(collected.iter().map(|entry| entry.statement).collect()) {
        let own = || collected.iter().filter(|entry| entry.statement == statement);
        let monomials = own().filter_map(|entry| entry.monomial.clone()).collect();
        let mut parts: Vec<Natural> = Vec::new();
        for entry in own() {
            match parts.iter_mut().find(|part| part.statistic == entry.statistic) {
                Some(part) => part.coefficient.terms.extend(entry.coefficient.terms.iter().cloned()),
                None => parts.push(Natural {
                    statistic: entry.statistic.clone(),
                    slots: entry.slots.clone(),
                    coefficient: entry.coefficient.clone(),
                }),
            }
        }
        for part in &mut parts {
            part.coefficient = canonical(symbols, &part.coefficient);
        }
        let rewritten = &bounded.statements[statement.index()];
        contributions.push(Contribution {
            statement,
            selected: draft.terms_of(&rewritten.stated),
            bounded: Sum { terms: bounded.held_by(draft, statement).cloned().collect() },
            monomials: canonical(symbols, &Sum { terms: monomials }),
            parts,
            objective: None,
        });
    }
    contributions
}

/// A point that ascends, unless its prior is infinite on the boundary. What its own statements contribute is among the
/// collected terms where they are linear in statistics, and a term in 1 / x keeps the density from being infinite.
fn climbing(
    derivation: &mut Derivation,
    drafts: &[Draft],
    id: BlockId,
    (collected, is_whole): (&[Collected], bool),
    moves: Moves,
) -> Option<(Block, Vec<Contribution>)> {
    let draft = &drafts[id.index()];
    let is_own = |entry: &&Collected| {
        draft.members.contains(&derivation.model.statements[entry.statement.index()].target)
    };
    let entries: Vec<&Collected> = collected.iter().filter(is_own).collect();
    let weights = draft.multiplicities(derivation.model, &derivation.symbols);
    let mut own = Vec::new();
    for statistic in dedup(entries.iter().map(|entry| &entry.statistic).collect::<Vec<_>>()) {
        let parts = entries.iter().filter(|entry| entry.statistic == *statistic);
        let sum = parts.fold(Sum::zero(), |sum, entry| sum.plus(entry.coefficient.clone()));
        let coefficient = canonical(&mut derivation.symbols, &sum);
        let coefficient = divide(&mut derivation.symbols, &coefficient, &weights);
        if !coefficient.is_zero() {
            let slots = slot_letters(draft, statistic).concat();
            own.push(Natural { statistic: statistic.clone(), slots, coefficient });
        }
    }
    if refuse_infinite_mode(derivation, drafts, id, &own) {
        return None;
    }
    let is_fixed = |natural: &Natural| {
        let sum = &natural.coefficient;
        !sum.has_allocation() && !draft.members.iter().any(|member| sum.mentions(*member))
    };
    let apart = entries.iter().all(|entry| entry.meets.is_empty()) && own.iter().all(is_fixed);
    let closed = is_whole && apart && draft.members.len() == 1;
    Some(ascending(derivation, draft, moves, (own, closed)))
}

/// Refuses a point on which what its own statements contribute is infinite at the boundary; whether it is so.
fn refuse_infinite_mode(derivation: &mut Derivation, drafts: &[Draft], id: BlockId, own: &[Natural]) -> bool {
    let inverse = |member: u8| Statistic(vec![(member, Elementary::Power(-1))]);
    for Natural { statistic, coefficient: sum, .. } in own {
        let infinite = boundary_mode(&derivation.symbols, statistic, sum);
        let member = statistic.0.first().map_or(0, |(member, _)| *member);
        if infinite && !own.iter().any(|other| other.statistic == inverse(member)) {
            let diagnostic = explain::infinite_mode(derivation, drafts, (id, member), sum);
            let repair = format!(
                "raise it to at least 1, or write `{}(nonnegative)` in place of the prior",
                explain::flat()
            );
            derivation.diagnostics.push(diagnostic.help(repair));
            return true;
        }
    }
    false
}

/// Points of several variables in one block are optimised together, even if each has a closed form by itself.
fn together(
    derivation: &mut Derivation,
    drafts: &[Draft],
    bounded: &Bounded,
    id: BlockId,
) -> Option<(Block, Vec<Contribution>)> {
    let draft = &drafts[id.index()];
    match ascent(&mut derivation.symbols, drafts, bounded, id) {
        Ok(Some(moves)) => {
            // What is linear in statistics of their own statements; what is not has a gradient alone.
            let mut collected = Vec::new();
            for statement in (0..bounded.statements.len()).map(StatementId::from).filter(|_| !draft.clamp) {
                if draft.members.contains(&derivation.model.statements[statement.index()].target) {
                    for term in bounded.held_by(draft, statement) {
                        let found = collect(&mut derivation.symbols, drafts, id, statement, term);
                        collected.extend(found.into_iter().flatten());
                    }
                }
            }
            climbing(derivation, drafts, id, (&collected, false), moves)
        }
        Ok(None) => {
            let diagnostic = explain::no_gradient(derivation, draft);
            derivation.complain(diagnostic, Some(draft), None);
            None
        }
        Err((statement, leftover)) => {
            let culprit = leftover.block;
            let diagnostic = explain::leftover(derivation, drafts, culprit, &[(statement, leftover)]);
            derivation.complain(diagnostic, Some(&drafts[culprit.index()]), Some(statement));
            None
        }
    }
}

/// A point that ascends. Its family is the one that starts it: the smallest on its support. Where its own statements, `closed`, have a
/// mode in closed form, it has the family of that as well.
fn ascending(
    derivation: &mut Derivation,
    draft: &Draft,
    moves: Moves,
    (own, closed): (Vec<Natural>, bool),
) -> (Block, Vec<Contribution>) {
    let support = derivation.symbols.array(draft.members[0]).support;
    let over_slice = draft.slices.iter().any(|letters| !letters.is_empty());
    let start = recognise(support, over_slice, true, &[]).or_else(|| recognise(support, false, true, &[]));
    let start = start.expect("every support on which a point moves has a family");
    let wanted: Vec<Statistic> = own.iter().map(|natural| natural.statistic.clone()).collect();
    let own_family = closed.then(|| recognise(support, over_slice, true, &wanted)).flatten();
    let own = match own_family.filter(|_| !own.is_empty()) {
        None => own,
        Some(family) => {
            let coefficient = |natural: Natural| (natural.statistic, natural.coefficient, Sum::zero());
            let coefficients: Vec<_> = own.into_iter().map(coefficient).collect();
            arrange(&mut derivation.symbols, draft, posterior(family), &coefficients, &[]).0
        }
    };
    let ascent = Ascent { own, own_family, ..moves.ascent };
    let block = Block {
        members: draft.members.clone(),
        plates: draft.plates.clone(),
        member_plates: draft.member_plates.clone(),
        slices: draft.slices.clone(),
        mode: draft.mode,
        family: start,
        natural: Vec::new(),
        prior: Vec::new(),
        in_order: moves.in_order,
        classes: None,
        multiplicity: draft.multiplicities(derivation.model, &derivation.symbols),
        exists: draft.exists(&derivation.symbols),
        by: None,
        clamp: false,
        resets: false,
        ascent: Some(ascent),
    };
    (block, moves.contributions)
}

fn collected_places(collected: &[Collected]) -> Vec<(Statistic, StatementId)> {
    dedup(collected.iter().map(|entry| (entry.statistic.clone(), entry.statement)).collect())
}

/// Whether a prior has an infinite density on the boundary: its coefficient of a log is negative by the values of the
/// constants in it. If it depends on a constant without a value, the fit decides.
fn boundary_mode(symbols: &Symbols, statistic: &Statistic, prior: &Sum) -> bool {
    let log = matches!(statistic.0.as_slice(), [(_, Elementary::Log | Elementary::LogComplement)]);
    log && !prior.is_zero() && constant_value(symbols, prior).is_some_and(|value| value < 0.0)
}

/// The value of a sum of constants that are plain numbers.
fn constant_value(symbols: &Symbols, sum: &Sum) -> Option<f64> {
    let value = |term: &Term| {
        let factors = term.factors.iter().map(|factor| match &factor.atom {
            Atom::Value(array, _) => Some(number_of(symbols, *array)?.powi(factor.power)),
            _ => None,
        });
        Some(term.coefficient.0 * factors.product::<Option<f64>>()?).filter(|_| term.sums.is_empty())
    };
    sum.terms.iter().map(value).sum()
}

/// The coefficients in the order of the family's statistics. Those of a distribution are natural parameters: the base
/// measure is taken off, and so is the multiplicity of the rows, which weighs their entropy as well.
fn arrange(
    symbols: &mut Symbols,
    draft: &Draft,
    family: &dyn Posterior,
    coefficients: &[(Statistic, Sum, Sum)],
    weights: &[Atom],
) -> (Vec<Natural>, Vec<Sum>) {
    let (mut natural, mut prior) = (Vec::new(), Vec::new());
    for (statistic, base, per_element) in statistics_of(draft, family) {
        let found = coefficients.iter().find(|(own, _, _)| *own == statistic);
        let (mut all, mut from_prior) =
            found.map_or((Sum::zero(), Sum::zero()), |(_, all, own)| (all.clone(), own.clone()));
        if draft.mode != Mode::Point {
            for sum in [&mut all, &mut from_prior] {
                let share = divide(symbols, sum, weights);
                let elements = Term { sums: draft.slices[0].clone(), ..Term::number(per_element) };
                let base = Sum::number(base).plus(Sum::term(elements));
                *sum = canonical(symbols, &share.minus(base));
            }
        }
        natural.push(Natural {
            slots: slot_letters(draft, &statistic).concat(),
            statistic,
            coefficient: all,
        });
        prior.push(from_prior);
    }
    (natural, prior)
}

/// For each elementary function of a statistic the letters of its slots: those of its member's slice, and of a second
/// function over the same letters its second ones.
fn slot_letters(draft: &Draft, statistic: &Statistic) -> Vec<Vec<LetterId>> {
    let mut used: Vec<LetterId> = Vec::new();
    let letters = statistic.0.iter().map(|(member, elementary)| {
        let member = usize::from(*member);
        if *elementary == Elementary::Indicator {
            return draft.classes.into_iter().collect();
        }
        let own = &draft.slices[member];
        let letters =
            if own.iter().any(|letter| used.contains(letter)) { &draft.second[member] } else { own };
        let letters: Vec<LetterId> = letters.iter().copied().take(elementary.slots(own.len())).collect();
        used.extend(&letters);
        letters
    });
    letters.collect()
}

/// The statistics of a family for these members: those of a vector in which several variables stand beside each other
/// are taken apart, member by member and pair by pair.
fn statistics_of(draft: &Draft, family: &dyn Posterior) -> Vec<(Statistic, f64, f64)> {
    let bases = family.base().into_iter().zip(family.base_per_element());
    let own = family.statistics().into_iter().zip(bases);
    own.flat_map(|(own, (base, per_element))| {
        let members = if family.one_vector() { draft.members.len() as u8 } else { 1 };
        let apart: Vec<Statistic> = match own.statistic.0.as_slice() {
            [(0, elementary)] if members > 1 => {
                (0..members).map(|member| Statistic(vec![(member, *elementary)])).collect()
            }
            [(0, left), (0, right)] if members > 1 => (0..members)
                .flat_map(|a| (a..members).map(move |b| Statistic(vec![(a, *left), (b, *right)])))
                .collect(),
            _ => vec![own.statistic.clone()],
        };
        apart.into_iter().map(move |statistic| (statistic, base, per_element))
    })
    .collect()
}

/// The contributions of a term to the coefficients of a block.
fn collect(
    symbols: &mut Symbols,
    drafts: &[Draft],
    id: BlockId,
    statement: StatementId,
    term: &Term,
) -> Result<Vec<Collected>, Box<Leftover>> {
    let draft = &drafts[id.index()];
    let mut out = Vec::new();
    for term in opened(symbols, draft, id, term, false)?.terms {
        if !draft.members.iter().any(|member| term.mentions(*member)) {
            continue;
        }
        let leftover = |(term, position)| Box::new(Leftover { term, position, block: id });
        // The letters of the target are kept for the target.
        let taken = targets(symbols, draft);
        if let Some(bound) = draft.by {
            let term = rename_apart(symbols, &term, &taken);
            let found =
                elements(symbols, draft, &term).map_err(|position| leftover((term.clone(), position)))?;
            if let Some(parts) = bound_of(bound).split(&term, &found) {
                let mut first = Some(term.clone());
                for Part { element, statistic, rest } in parts {
                    let coefficient =
                        coefficient(symbols, drafts, draft, &rest, &element.plates, Vec::new())?;
                    let monomial = first.take();
                    let (slots, meets) = (Vec::new(), Vec::new());
                    out.push(Collected { statistic, slots, statement, monomial, coefficient, meets });
                }
                continue;
            }
        }
        for term in separate(symbols, draft, &term).map_err(leftover)? {
            let term = rename_apart(symbols, &term, &taken);
            let found =
                elements(symbols, draft, &term).map_err(|position| leftover((term.clone(), position)))?;
            let groups = copies(&found);
            let mut first = Some(term.clone());
            for copy in &groups {
                let Described { statistic, slots, taken } = describe(symbols, draft, &term, copy);
                let mut rest = term.clone();
                rest.sums.retain(|letter| !taken.contains(letter));
                let gone: Vec<usize> = copy.iter().map(|element| element.position).collect();
                rest.remove(&gone);
                let meets = meeting_letters(symbols, draft, &copy[0].plates, &groups, copy);
                let letters = slot_letters(draft, &statistic);
                let pairs = slots
                    .into_iter()
                    .zip(&letters)
                    .flat_map(|(own, at)| own.into_iter().zip(at.iter().copied()));
                let coefficient =
                    coefficient(symbols, drafts, draft, &rest, &copy[0].plates, pairs.collect())?;
                let (slots, monomial) = (letters.concat(), first.take());
                out.push(Collected { statistic, slots, statement, monomial, coefficient, meets });
            }
        }
    }
    Ok(out)
}

/// The expected coefficient of a statistic at the target: the rest of its term, with the subscripts of its copy made the
/// block's letters.
fn coefficient(
    symbols: &mut Symbols,
    drafts: &[Draft],
    draft: &Draft,
    rest: &Term,
    plates: &[Subscript],
    slots: Vec<(Subscript, LetterId)>,
) -> Result<Sum, Box<Leftover>> {
    let mut pairs: Vec<(Subscript, LetterId)> =
        plates.iter().cloned().zip(draft.plates.iter().copied()).collect();
    pairs.extend(slots);
    let rest = unify(symbols, rest, pairs);
    let rest = canonical(symbols, &Sum::term(rest));
    expect(symbols, drafts, &rest)
}

/// The letters that a coefficient is written in: plates, slices, second slices, class, with their ancestors.
fn targets(symbols: &Symbols, draft: &Draft) -> Vec<LetterId> {
    let mut letters = draft.plates.clone();
    letters.extend(draft.slices.iter().flatten());
    letters.extend(draft.second.iter().flatten());
    letters.extend(draft.classes);
    with_ancestors(symbols, &letters)
}

/// The plate letters, and their ancestors, in which another copy of the block differs from this one.
fn meeting_letters(
    symbols: &Symbols,
    draft: &Draft,
    own: &[Subscript],
    groups: &[Vec<&crate::separate::Element>],
    copy: &[&crate::separate::Element],
) -> Vec<LetterId> {
    let mut letters = Vec::new();
    for other in groups.iter().filter(|other| other[0].plates != copy[0].plates) {
        for ((left, right), letter) in own.iter().zip(&other[0].plates).zip(&draft.plates) {
            if left == right {
                continue;
            }
            letters.push(*letter);
            if let (Subscript::Letter(left), Subscript::Letter(right)) = (left, right) {
                let above = symbols.lineage(*left).into_iter().zip(symbols.lineage(*right)).skip(1);
                let known = symbols.lineage(*letter).into_iter().skip(1);
                letters
                    .extend(above.zip(known).filter(|((left, right), _)| left != right).map(|(_, own)| own));
            }
        }
    }
    letters
}

/// Opens the squares that hold the block: `(O + R)^2 = O O + 2 O R + R^2`, the last left closed (and left out where
/// nothing else in the term holds the block, unless the `whole` term is wanted).
pub fn opened(
    symbols: &mut Symbols,
    draft: &Draft,
    id: BlockId,
    term: &Term,
    whole: bool,
) -> Result<Sum, Box<Leftover>> {
    let holds = |sum: &Term| draft.members.iter().any(|member| sum.mentions(*member));
    for (position, factor) in term.factors.iter().enumerate() {
        let Atom::Group(inner) = &factor.atom else { continue };
        if !inner.terms.iter().any(holds) {
            continue;
        }
        if factor.power != 2 {
            return Err(Box::new(Leftover { term: term.clone(), position, block: id }));
        }
        let mut rest = term.clone();
        rest.factors.remove(position);
        let (own, others): (Vec<Term>, Vec<Term>) = inner.terms.iter().cloned().partition(holds);
        let (own, others) = (Sum { terms: own }, Sum { terms: others });
        let mut square = multiply(symbols, &own, &own).plus(multiply(symbols, &own, &others).scaled(2.0));
        if whole || holds(&rest) {
            square = square.plus(cavi_algebra::rules::power(symbols, &others, 2));
        }
        let product = distribute(symbols, &rest, &square);
        let product = canonical(symbols, &product);
        let mut out = Sum::zero();
        for term in &product.terms {
            out = out.plus(opened(symbols, draft, id, term, whole)?);
        }
        return Ok(out);
    }
    Ok(canonical(symbols, &Sum::term(term.clone())))
}

/// Makes the subscripts of a copy the letters of the target: a summed letter is replaced, anything else gets an
/// indicator.
pub fn unify(symbols: &mut Symbols, term: &Term, pairs: Vec<(Subscript, LetterId)>) -> Term {
    let mut term = term.clone();
    let mut pending = pairs;
    while !pending.is_empty() {
        let (subscript, letter) = pending.remove(0);
        match subscript {
            Subscript::Letter(own) if own == letter => {}
            Subscript::Letter(own) if term.sums.contains(&own) => {
                let map = Substitution::from([(own, Subscript::Letter(letter))]);
                // Ragged letters below a replaced parent are renamed. The subscripts that are still to be replaced
                // have to be renamed as well, so they are put into the term as factors meanwhile.
                let mut joined = term.clone();
                let tail = joined.factors.len();
                let riders =
                    pending.iter().map(|(subscript, _)| Atom::Equal(subscript.clone(), subscript.clone()));
                joined.factors.extend(riders.map(Factor::of));
                let mut joined = substitute(symbols, &joined, &map);
                let carried = joined.factors.split_off(tail);
                for ((subscript, _), factor) in pending.iter_mut().zip(carried) {
                    if let Atom::Equal(left, _) = factor.atom {
                        *subscript = left;
                    }
                }
                term = joined;
            }
            other => term.factors.push(Factor::of(Atom::Equal(other, Subscript::Letter(letter)))),
        }
    }
    term
}
