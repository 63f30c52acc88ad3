//! Expectations under q: a product over independent copies is the product of their expectations.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{distribute, multiply, refresh};
use cavi_algebra::{
    Atom, BlockId, Elementary, ExpectedSquare, Factor, LetterId, Moment, Statistic, Subscript, Sum, Support,
    Symbols, Term,
};

use crate::blocks::Draft;
use crate::contraction::{Described, describe};
use crate::separate::{Element, elements, known_different, separate};

/// A term whose expectation is no product of expectations of elementary functions.
#[derive(Clone, Debug)]
pub struct Leftover {
    /// The term, before its expectation.
    pub term: Term,
    /// The factor in the way.
    pub position: usize,
    /// The block it belongs to.
    pub block: BlockId,
}

/// The expectation of a sum.
pub fn expect(symbols: &mut Symbols, drafts: &[Draft], sum: &Sum) -> Result<Sum, Box<Leftover>> {
    let mut out = Sum::zero();
    for term in &sum.terms {
        out = out.plus(expect_term(symbols, drafts, term)?);
    }
    Ok(canonical(symbols, &out))
}

/// The expectation of a term.
pub fn expect_term(symbols: &mut Symbols, drafts: &[Draft], term: &Term) -> Result<Sum, Box<Leftover>> {
    // Squares first: they stay squares unless the rest of the term shares a block with them.
    for (position, factor) in term.factors.iter().enumerate() {
        let Atom::Group(inner) = &factor.atom else { continue };
        let random: Vec<usize> = random_blocks(drafts, |member| inner.mentions(member));
        let Some(first) = random.first() else { continue };
        if factor.power != 2 {
            let block = BlockId::from(*first);
            return Err(Box::new(Leftover { term: term.clone(), position, block }));
        }
        let shares = term.factors.iter().enumerate().any(|(other, factor)| {
            other != position
                && random
                    .iter()
                    .any(|block| drafts[*block].members.iter().any(|member| factor.atom.mentions(*member)))
        });
        let mut rest = term.clone();
        rest.factors.remove(position);
        let product = if shares {
            let right = refreshed(symbols, inner);
            let square = multiply(symbols, inner, &right);
            distribute(symbols, &rest, &square)
        } else {
            // What keeps copies apart outside the square keeps them apart inside it.
            let guards: Vec<Factor> =
                rest.factors.iter().filter(|factor| is_guard(&factor.atom)).cloned().collect();
            let square = expected_square(symbols, drafts, inner, &guards)?;
            distribute(symbols, &rest, &Sum::atom(square))
        };
        let product = canonical(symbols, &product);
        return expect(symbols, drafts, &product);
    }
    let expected = expect_product(symbols, drafts, term)?;
    Ok(simplified(symbols, drafts, &expected))
}

/// The expectation of a product without squares of sums.
fn expect_product(symbols: &mut Symbols, drafts: &[Draft], term: &Term) -> Result<Sum, Box<Leftover>> {
    let mut terms = vec![term.clone()];
    for (index, draft) in drafts.iter().enumerate() {
        if !draft.is_random() {
            continue;
        }
        let mut next = Vec::new();
        for term in terms {
            if !mentions_outside_moments(draft, &term) {
                next.push(term);
                continue;
            }
            let block = BlockId::from(index);
            let leftover = |(term, position)| Box::new(Leftover { term, position, block });
            for term in separate(symbols, draft, &term).map_err(leftover)? {
                let found =
                    elements(symbols, draft, &term).map_err(|position| leftover((term.clone(), position)))?;
                next.push(with_moments(symbols, draft, block, &term, &found));
            }
        }
        terms = next;
    }
    Ok(canonical(symbols, &Sum { terms }))
}

/// An expectation with sums over all pairs of copies in place of those over different ones, and sums over classes taken.
fn simplified(symbols: &mut Symbols, drafts: &[Draft], expected: &Sum) -> Sum {
    let mut opened = differences_opened(symbols, drafts, expected);
    opened.terms.iter_mut().for_each(|term| sum_classes(symbols, term));
    canonical(symbols, &opened)
}

/// `sum_k q(z = k) = 1`, where nothing else in the term depends on `k`.
fn sum_classes(symbols: &Symbols, term: &mut Term) {
    let class = |factor: &Factor| match &factor.atom {
        Atom::Moment(moment) if factor.power == 1 => {
            match (moment.statistic.0.as_slice(), moment.slots.as_slice()) {
                ([(_, Elementary::Indicator)], [Subscript::Letter(letter)]) => Some(*letter),
                _ => None,
            }
        }
        _ => None,
    };
    let alone = |term: &Term, position: usize, letter: &LetterId| {
        let Atom::Moment(moment) = &term.factors[position].atom else { return false };
        let mut plates = Vec::new();
        moment.plates.iter().for_each(|plate| plate.letters(&mut plates));
        term.sums.contains(letter)
            && !plates.into_iter().any(|own| symbols.lineage(own).contains(letter))
            && !term.depends_elsewhere(symbols, *letter, &[position])
    };
    while let Some((position, letter)) = term.factors.iter().enumerate().find_map(|(position, factor)| {
        class(factor).filter(|own| alone(term, position, own)).map(|own| (position, own))
    }) {
        term.factors.remove(position);
        term.sums.retain(|own| *own != letter);
    }
}

/// `sum_(t != u) f(t) g(u) = sum_t f(t) sum_u g(u) - sum_t f(t) g(t)`, where the two are summed letters that keep two
/// copies of an index block apart and nothing else holds both: along the axis of its plates sums are long.
fn differences_opened(symbols: &mut Symbols, drafts: &[Draft], expected: &Sum) -> Sum {
    let mut queue: Vec<Term> = expected.terms.iter().rev().cloned().collect();
    let mut out = Sum::zero();
    while let Some(term) = queue.pop() {
        let Some(position) = (0..term.factors.len()).find(|at| is_open(symbols, drafts, &term, *at)) else {
            out.terms.push(term);
            continue;
        };
        let mut all = term.clone();
        let Atom::Different(left, right) = all.factors.remove(position).atom else {
            unreachable!("the position of a difference")
        };
        let mut equal = all.clone().scaled(-1.0);
        equal.factors.push(Factor::of(Atom::Equal(left, right)));
        queue.extend(canonical(symbols, &Sum { terms: vec![equal, all] }).terms);
    }
    canonical(symbols, &out)
}

/// Whether a factor says that two summed letters differ, each of which numbers copies of an index block, and no other
/// factor holds both.
fn is_open(symbols: &Symbols, drafts: &[Draft], term: &Term, position: usize) -> bool {
    let Atom::Different(Subscript::Letter(left), Subscript::Letter(right)) = &term.factors[position].atom
    else {
        return false;
    };
    let numbers = |factor: &Factor, letter: &LetterId| match &factor.atom {
        Atom::Moment(moment) => {
            drafts[moment.block.index()].classes.is_some()
                && moment.plates.contains(&Subscript::Letter(*letter))
        }
        _ => false,
    };
    let others =
        || term.factors.iter().enumerate().filter(|(at, _)| *at != position).map(|(_, factor)| factor);
    let summed =
        |letter: &LetterId| term.sums.contains(letter) && others().any(|factor| numbers(factor, letter));
    let both = others().any(|factor| {
        let held = factor.atom.free_letters(symbols);
        held.contains(left) && held.contains(right)
    });
    summed(left) && summed(right) && !both
}

/// Whether a factor says that two subscripts differ.
fn is_difference(factor: &Factor) -> bool {
    matches!(factor.atom, Atom::Different(..))
}

/// Whether an atom is an indicator of where an entry exists.
fn is_guard(atom: &Atom) -> bool {
    matches!(atom, Atom::Different(..) | Atom::Less(..))
}

/// The blocks with a distribution whose members `mentions` says are there.
fn random_blocks(drafts: &[Draft], mentions: impl Fn(cavi_algebra::ArrayId) -> bool) -> Vec<usize> {
    drafts
        .iter()
        .enumerate()
        .filter(|(_, draft)| draft.is_random() && draft.members.iter().any(|member| mentions(*member)))
        .map(|(index, _)| index)
        .collect()
}

/// Whether a member stands in a factor that is not an expectation already.
fn mentions_outside_moments(draft: &Draft, term: &Term) -> bool {
    term.factors.iter().any(|factor| match &factor.atom {
        Atom::ExpectedSquare(_) | Atom::Moment(_) => false,
        Atom::Value(..)
        | Atom::Allocation { .. }
        | Atom::LogPartition { .. }
        | Atom::Auxiliary { .. }
        | Atom::Group(_)
        | Atom::Apply(..)
        | Atom::Observed(..)
        | Atom::Equal(..)
        | Atom::Different(..)
        | Atom::Less(..) => draft.members.iter().any(|member| factor.atom.mentions(*member)),
    })
}

/// Groups the elements of a term by copy, in order of appearance.
pub fn copies(found: &[Element]) -> Vec<Vec<&Element>> {
    let mut copies: Vec<Vec<&Element>> = Vec::new();
    for element in found {
        match copies.iter_mut().find(|copy| copy[0].plates == element.plates) {
            Some(copy) => copy.push(element),
            None => copies.push(vec![element]),
        }
    }
    copies
}

fn with_moments(symbols: &Symbols, draft: &Draft, block: BlockId, term: &Term, found: &[Element]) -> Term {
    let mut out = term.clone();
    let gone: Vec<usize> = found.iter().map(|element| element.position).collect();
    out.remove(&gone);
    for copy in copies(found) {
        let Described { statistic, slots, taken } = describe(symbols, draft, term, &copy);
        out.sums.retain(|letter| !taken.contains(letter));
        let plates = copy[0].plates.clone();
        out.factors.push(Factor::of(Atom::Moment(Moment {
            block,
            statistic,
            plates,
            slots: slots.concat(),
        })));
    }
    out
}

fn refreshed(symbols: &mut Symbols, sum: &Sum) -> Sum {
    Sum { terms: sum.terms.iter().map(|term| refresh(symbols, term)).collect() }
}

/// `E (sum_s T_s)^2`, its spread found pair by pair: `E[T_s T_t] - E T_s E T_t` is non-zero only where the two share a
/// copy of a block; there `E[x y] = E x E y + Cov(x, y)`.
fn expected_square(
    symbols: &mut Symbols,
    drafts: &[Draft],
    inner: &Sum,
    guards: &[Factor],
) -> Result<Atom, Box<Leftover>> {
    let known = guarded(symbols, inner.clone(), guards.iter().cloned());
    let mut mean = expect(symbols, drafts, &known)?;
    // They stand beside the square already.
    mean.terms.iter_mut().for_each(|term| term.factors.retain(|factor| !guards.contains(factor)));
    let addends = with_indices_separate(symbols, drafts, inner, guards)?;
    let mut spread = Sum::zero();
    for (number, left) in addends.iter().enumerate() {
        for (other, right) in addends.iter().enumerate().skip(number) {
            // Two members of one block are dependent, as a member and itself are.
            let in_right = random_blocks(drafts, |member| right.mentions(member));
            let mut shared = random_blocks(drafts, |member| left.mentions(member));
            shared.retain(|block| in_right.contains(block));
            if shared.is_empty() {
                continue;
            }
            let right = refresh(symbols, right);
            let twice = if other > number { 2.0 } else { 1.0 };
            let (chosen, shared): (Vec<usize>, Vec<usize>) =
                shared.into_iter().partition(|block| drafts[*block].classes.is_some());
            for case in cases(symbols, drafts, &chosen, left, &right)? {
                let guards = || guards.iter().chain(&case.guards).cloned();
                let product = multiply(symbols, &Sum::term(left.clone()), &Sum::term(right.clone()));
                let product = guarded(symbols, product, guards());
                let known: Vec<Factor> = guards().collect();
                let difference = if case.coincide {
                    covariance(symbols, drafts, [left, &right], &product, &known)?
                } else if shared.is_empty() {
                    continue;
                } else {
                    let shared = shared.iter();
                    let sides: Vec<Shared> = shared
                        .map(|block| Shared::of(symbols, drafts, *block, [left, &right], &known))
                        .collect();
                    let own: Result<Sum, Box<Leftover>> =
                        product.terms.iter().try_fold(Sum::zero(), |own, term| {
                            Ok(own.plus(excess(symbols, drafts, &sides, term)?))
                        });
                    // Several products of members of one block on a side have no covariance of two elements.
                    match own {
                        Ok(own) => own,
                        Err(leftover) => covariance(symbols, drafts, [left, &right], &product, &known)
                            .map_err(|_| leftover)?,
                    }
                };
                spread = spread.plus(difference.scaled(twice));
            }
        }
    }
    let spread = canonical(symbols, &spread);
    Ok(Atom::ExpectedSquare(Box::new(ExpectedSquare { of: inner.clone(), mean, spread })))
}

/// `E[T_s T_t] - E T_s E T_t` where the guards hold, from the product of the two.
fn covariance(
    symbols: &mut Symbols,
    drafts: &[Draft],
    sides: [&Term; 2],
    product: &Sum,
    guards: &[Factor],
) -> Result<Sum, Box<Leftover>> {
    // Guards speak of letters of either side, so that those of a side become one only under the guards.
    let pairs = sides.into_iter().any(|side| side.factors.iter().any(is_difference));
    let [left, right] = sides.map(|side| match pairs {
        true => expect_product(symbols, drafts, side),
        false => expect_term(symbols, drafts, side),
    });
    let apart = multiply(symbols, &left?, &right?);
    let mut apart = guarded(symbols, apart, guards.iter().cloned());
    if pairs {
        apart = simplified(symbols, drafts, &apart);
    }
    Ok(expect(symbols, drafts, product)?.minus(apart))
}

/// The terms of a sum, those with two copies of an index block that may or may not be one split into both cases: where they are
/// one, their letters are, and what is known of the other letter is not said of any.
fn with_indices_separate(
    symbols: &mut Symbols,
    drafts: &[Draft],
    sum: &Sum,
    guards: &[Factor],
) -> Result<Vec<Term>, Box<Leftover>> {
    let mut out = Vec::new();
    for whole in &sum.terms {
        let mut terms = vec![whole.clone()];
        terms[0].factors.extend(guards.iter().cloned());
        for (index, draft) in drafts.iter().enumerate().filter(|(_, draft)| draft.classes.is_some()) {
            let block = BlockId::from(index);
            let mut next = Vec::new();
            for term in &terms {
                let leftover = |(term, position)| Box::new(Leftover { term, position, block });
                next.extend(separate(symbols, draft, term).map_err(leftover)?);
            }
            terms = next;
        }
        if terms.len() < 2 {
            out.push(whole.clone());
            continue;
        }
        terms.iter_mut().for_each(|term| term.factors.retain(|factor| !guards.contains(factor)));
        out.extend(terms);
    }
    Ok(out)
}

/// What is known of the copies of index blocks in two terms.
struct Case {
    guards: Vec<Factor>,
    /// Whether a copy stands in both terms.
    coincide: bool,
}

/// Which copies of index blocks stand in both of two terms: `1 = [a = b] + [a != b]` for a copy `a` of the one and `b` of
/// the other, until two are the same or none is. An index is its own square, `[z = k] [z = l] = [k = l] [z = k]`, so that its
/// product does not say whether both had it.
fn cases(
    symbols: &Symbols,
    drafts: &[Draft],
    blocks: &[usize],
    left: &Term,
    right: &Term,
) -> Result<Vec<Case>, Box<Leftover>> {
    let mut done = Vec::new();
    let mut apart: Vec<Vec<Factor>> = vec![Vec::new()];
    for block in blocks {
        let found = |term: &Term| -> Result<Vec<Vec<Subscript>>, Box<Leftover>> {
            let found = elements(symbols, &drafts[*block], term).map_err(|position| {
                Box::new(Leftover { term: term.clone(), position, block: BlockId::from(*block) })
            })?;
            Ok(copies(&found).into_iter().map(|copy| copy[0].plates.clone()).collect())
        };
        let (own, others) = (found(left)?, found(right)?);
        for (one, other) in own.iter().flat_map(|one| others.iter().map(move |other| (one, other))) {
            let mut next = Vec::new();
            for mut known in apart {
                let pairs = one.iter().zip(other).filter(|(left, right)| left != right);
                for (left, right) in pairs {
                    let mut guards = known.clone();
                    guards.push(Factor::of(Atom::Different(left.clone(), right.clone())));
                    next.push(guards);
                    known.push(Factor::of(Atom::Equal(left.clone(), right.clone())));
                }
                done.push(Case { guards: known, coincide: true });
            }
            apart = next;
        }
    }
    done.extend(apart.into_iter().map(|guards| Case { guards, coincide: false }));
    Ok(done)
}

/// The sum where the guards hold.
fn guarded(symbols: &mut Symbols, mut sum: Sum, guards: impl Iterator<Item = Factor>) -> Sum {
    let guards: Vec<Factor> = guards.collect();
    sum.terms.iter_mut().for_each(|term| term.factors.extend(guards.iter().cloned()));
    canonical(symbols, &sum)
}

/// A block that both terms of a product hold.
struct Shared {
    block: usize,
    /// What each side has of it, where that is one copy: `s w` and `s w` of a block of two variables, `s^2` and `s`. `None` where
    /// it is single elements of a vector or of one variable, which have a covariance.
    sides: Option<[Vec<(u8, i32)>; 2]>,
    /// Whether each side has single elements of copies that are known to be different. Two elements of one copy in the product are
    /// then one of each side.
    single: bool,
}

impl Shared {
    /// Of the two terms of a product, where the guards hold.
    fn of(symbols: &Symbols, drafts: &[Draft], block: usize, terms: [&Term; 2], guards: &[Factor]) -> Shared {
        let draft = &drafts[block];
        let single = terms.into_iter().all(|term| has_single_elements(symbols, draft, term, guards));
        let content = |term: &Term| {
            let found = elements(symbols, draft, term).ok()?;
            let copies = copies(&found);
            let [copy] = copies.as_slice() else { return None };
            content(copy)
        };
        let [left, right] = terms;
        let of_copy = draft.members.len() > 1 || !single;
        let sides = of_copy.then(|| Some([content(left)?, content(right)?])).flatten();
        Shared { block, sides, single }
    }
}

/// Whether the elements of a block in a term are in copies of their own, none twice, which the guards or the term keep apart.
fn has_single_elements(symbols: &Symbols, draft: &Draft, term: &Term, guards: &[Factor]) -> bool {
    let Ok(found) = elements(symbols, draft, term) else { return false };
    let mut known = term.clone();
    known.factors.extend(guards.iter().cloned());
    found.iter().enumerate().all(|(number, one)| {
        one.written == 1
            && found[..number]
                .iter()
                .all(|other| known_different(symbols, &known, &one.plates, &other.plates))
    })
}

/// The power of each member in a copy; `None` where it is no product of powers.
fn content(copy: &[&Element]) -> Option<Vec<(u8, i32)>> {
    let mut powers: Vec<(u8, i32)> = Vec::new();
    for element in copy {
        let Elementary::Power(_) = element.elementary else { return None };
        let member = element.member as u8;
        match powers.iter_mut().find(|(own, _)| *own == member) {
            Some((_, power)) => *power += element.written,
            None => powers.push((member, element.written)),
        }
    }
    powers.sort_unstable();
    Some(powers)
}

/// `E[T_s T_t] - E T_s E T_t` for a product of two terms.
fn excess(
    symbols: &mut Symbols,
    drafts: &[Draft],
    shared: &[Shared],
    product: &Term,
) -> Result<Sum, Box<Leftover>> {
    let mut terms = vec![product.clone()];
    for Shared { block, .. } in shared {
        let mut next = Vec::new();
        for term in &terms {
            let leftover =
                |(term, position)| Box::new(Leftover { term, position, block: BlockId::from(*block) });
            next.extend(separate(symbols, &drafts[*block], term).map_err(leftover)?);
        }
        terms = next;
    }
    let mut out = Sum::zero();
    for term in terms {
        // Every shared copy contributes either its means or its covariance, and at least one contributes its
        // covariance.
        let mut choices = vec![(term.clone(), false)];
        for own in shared {
            let mut next = Vec::new();
            for (term, any) in choices {
                let draft = &drafts[own.block];
                let id = BlockId::from(own.block);
                let found = elements(symbols, draft, &term)
                    .map_err(|position| Box::new(Leftover { term: term.clone(), position, block: id }))?;
                next.extend(
                    expand_copies(symbols, draft, own, &term, &found)?
                        .into_iter()
                        .map(|(term, own)| (term, any || own)),
                );
            }
            choices = next;
        }
        for (term, any) in choices {
            if any {
                out = out.plus(expect_term(symbols, drafts, &term)?);
            }
        }
    }
    Ok(out)
}

/// The powers of a product of two products.
fn product_of(left: &[(u8, i32)], right: &[(u8, i32)]) -> Vec<(u8, i32)> {
    let mut powers = left.to_vec();
    for (member, power) in right {
        match powers.iter_mut().find(|(own, _)| own == member) {
            Some((_, own)) => *own += power,
            None => powers.push((*member, *power)),
        }
    }
    powers.sort_unstable();
    powers
}

/// Replaces the copies of a block in a term by means and, where a copy stands twice, by means or its covariance; says of
/// each outcome whether a covariance is in it.
///
/// A copy may stand in each side with a product `f`, `g` of its elements, as `s w` of a block of several variables does, and `s^2`:
/// then `E[f g] = E f E g + (E[f g] - E f E g)`. Two elements of a copy that are not known to be one of each side are left over.
fn expand_copies(
    symbols: &Symbols,
    draft: &Draft,
    shared: &Shared,
    term: &Term,
    found: &[Element],
) -> Result<Vec<(Term, bool)>, Box<Leftover>> {
    let block = BlockId::from(shared.block);
    // What is left over is named by its place in the whole term.
    let leftover = |position: usize| Box::new(Leftover { term: term.clone(), position, block });
    let mut base = term.clone();
    let gone: Vec<usize> = found.iter().map(|element| element.position).collect();
    base.remove(&gone);
    let mut outcomes = vec![(base, false)];
    for copy in copies(found) {
        let plates = copy[0].plates.clone();
        let moment = |statistic: Statistic, slots: Vec<Subscript>| {
            Factor::of(Atom::Moment(Moment { block, statistic, plates: plates.clone(), slots }))
        };
        // Two elements have the covariance of one vector where a family answers it: of one variable, or of real ones.
        let products = |[left, right]: &[Vec<(u8, i32)>; 2]| {
            let single = |side: &[(u8, i32)]| side.iter().map(|(_, power)| power).sum::<i32>() <= 1;
            !single(left) || !single(right) || left != right && !draft.is_one_vector(symbols)
        };
        if let (Some(sides), Some(own)) = (&shared.sides, content(&copy))
            && products(sides)
        {
            let [left, right] = sides;
            let of = |powers: &[(u8, i32)]| {
                let binary =
                    |member: u8| symbols.array(draft.members[usize::from(member)]).support == Support::Binary;
                let reduced = powers.iter().map(|(member, power)| {
                    let power = if binary(*member) { 1 } else { *power };
                    (*member, Elementary::Power(power))
                });
                Factor::of(Atom::Moment(Moment {
                    block,
                    statistic: Statistic(reduced.collect()),
                    plates: plates.clone(),
                    slots: Vec::new(),
                }))
            };
            let sliced = copy.iter().any(|element| !element.slots.is_empty());
            let both = product_of(left, right);
            let with = |term: &Term, sign: f64, factors: Vec<Factor>| {
                let mut term = term.clone();
                term.coefficient.0 *= sign;
                term.factors.extend(factors);
                term
            };
            if !sliced && (own == *left || own == *right) {
                outcomes =
                    outcomes.into_iter().map(|(term, any)| (with(&term, 1.0, vec![of(&own)]), any)).collect();
                continue;
            }
            if !sliced && own == both {
                let means = || vec![of(left), of(right)];
                outcomes = outcomes
                    .into_iter()
                    .flat_map(|(term, any)| {
                        [
                            (with(&term, 1.0, means()), any),
                            (with(&term, 1.0, vec![of(&both)]), true),
                            (with(&term, -1.0, means()), true),
                        ]
                    })
                    .collect();
                continue;
            }
            return Err(leftover(copy[0].position));
        }
        // The single elements, `x^2` taken as `x x`.
        let mut singles: Vec<(u8, Vec<Subscript>)> = Vec::new();
        let mut plain = true;
        for element in &copy {
            match element.elementary {
                Elementary::Power(power) if power > 0 => {
                    for _ in 0..element.written {
                        singles.push((element.member as u8, element.slots.clone()));
                    }
                }
                Elementary::Power(_)
                | Elementary::Log
                | Elementary::LogComplement
                | Elementary::LogDeterminant
                | Elementary::Contracted(_)
                | Elementary::Indicator
                | Elementary::Centred
                | Elementary::Mass
                | Elementary::MassOfComplement => plain = false,
            }
        }
        let mut next = Vec::new();
        for (term, any) in outcomes {
            match (plain, singles.as_slice()) {
                (true, [(member, slots)]) => {
                    let mut term = term.clone();
                    term.factors
                        .push(moment(Statistic(vec![(*member, Elementary::Power(1))]), slots.clone()));
                    next.push((term, any));
                }
                (true, [(a, slots_a), (b, slots_b)])
                    if shared.single && (a == b || draft.is_one_vector(symbols)) =>
                {
                    let mut means = term.clone();
                    means.factors.push(moment(Statistic(vec![(*a, Elementary::Power(1))]), slots_a.clone()));
                    means.factors.push(moment(Statistic(vec![(*b, Elementary::Power(1))]), slots_b.clone()));
                    next.push((means, any));
                    let mut covariance = term.clone();
                    let statistic = Statistic(vec![(*a, Elementary::Centred), (*b, Elementary::Centred)]);
                    covariance.factors.push(moment(statistic, [slots_a.clone(), slots_b.clone()].concat()));
                    next.push((covariance, true));
                }
                _ => return Err(leftover(copy[0].position)),
            }
        }
        outcomes = next;
    }
    Ok(outcomes)
}
