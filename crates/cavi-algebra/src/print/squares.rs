//! Expected squares: what stands in updates and in the bound as `E[(x - sum w z)^2]`, in means and covariances.

use crate::equations::Auxiliary;
use crate::statistic::{Elementary, Statistic};
use crate::sum_of_products::{Atom, ExpectedSquare, Factor, Moment, Sum, Term, dedup};
use crate::symbols::{BlockId, LetterId};

use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Item, Row, words};
use super::node::Node;

impl Derivation<'_> {
    /// A row for each square whose expectation is read: by the update of a block, or anywhere.
    pub(super) fn expected_squares(&self, only: Option<BlockId>) -> Vec<Item> {
        let equations = self.equations;
        let blocks = equations.blocks.iter().enumerate();
        let blocks = blocks.filter(|(index, _)| only.is_none_or(|only| only.index() == *index));
        let updates = blocks.flat_map(|(_, block)| block.update());
        let terms = equations.elbo.terms.iter().chain(&equations.elbo.shared).map(|(_, sum)| sum);
        let squares = equations.auxiliaries.iter().map(|own: &Auxiliary| &own.square);
        let addends = equations.sites.iter().flat_map(|site| &site.addends).map(|own| &own.log_weight);
        let mut found: Vec<(&ExpectedSquare, Vec<Atom>)> = Vec::new();
        let elsewhere = terms.chain(squares).chain(addends).filter(|_| only.is_none());
        updates.chain(elsewhere).for_each(|sum| collect(sum, &mut found));
        let mut rows: Vec<Row> = Vec::new();
        for (square, guards) in found {
            let row = self.expected_square(square, &guards);
            // The same square under other letters prints alike.
            if !rows.iter().any(|own| own.left == row.left) {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Vec::new();
        }
        let text = "The expectation of a square is the square of the expectation plus what the uncertainty of q adds:";
        let mut items = vec![Item::Heading("Expected squares"), Item::Paragraph(vec![words(text)])];
        items.extend(rows.into_iter().map(|row| Item::Rows(vec![row])));
        items
    }

    /// `E[(x - sum w z)^2] = (x - sum E[w] E[z])^2 + ...`, and where it holds: it was worked out under the conditions that stand beside it.
    fn expected_square(&self, square: &ExpectedSquare, beside: &[Atom]) -> Row {
        let symbols = self.symbols();
        let mut letters: Vec<LetterId> = square.of.free_letters(symbols);
        letters.extend(square.mean.free_letters(symbols));
        let letters = self.with_ancestors(&dedup(letters));
        let mut builder = Builder::new(self.scope(), &letters);
        let two = || Node::number(2.0);
        let (mut spread, mut guards) = unguarded(&square.spread);
        for guard in beside {
            let speaks_of_it = letters_of(guard).iter().all(|letter| letters.contains(letter));
            if speaks_of_it && !guards.contains(guard) {
                guards.push(guard.clone());
            }
        }
        spread.terms.iter_mut().for_each(|term| term.factors.retain(|own| !guards.contains(&own.atom)));
        let spread = by_second_moments(&spread);
        let left = Node::Expectation(Box::new(builder.sum(&square.of).raised(two())));
        let mut right = Vec::new();
        if !square.mean.is_zero() {
            right.push(builder.sum(&square.mean).raised(two()));
        }
        right.push(builder.sum(&spread));
        let guards: Vec<String> = guards.iter().map(|guard| builder.condition(guard)).collect();
        let mut row = Row::equal(left, Node::add(right));
        if !guards.is_empty() {
            row.parts[0].note = Some((format!("for {}", guards.join(", ")), Vec::new()));
        }
        row
    }
}

/// What the uncertainty of q adds to a square, as a page writes it.
pub(super) fn written_out(spread: &Sum) -> Sum {
    by_second_moments(&unguarded(spread).0)
}

/// The letters of a condition.
fn letters_of(guard: &Atom) -> Vec<LetterId> {
    let mut letters = Vec::new();
    guard.visit_subscripts(&mut |subscript| subscript.letters(&mut letters));
    letters
}

/// The conditions among the factors of a term.
fn guards_of(term: &Term) -> impl Iterator<Item = &Factor> {
    term.factors.iter().filter(|factor| matches!(factor.atom, Atom::Different(..) | Atom::Less(..)))
}

/// A sum without the conditions that all its terms have, and these: the square is read where they hold.
fn unguarded(sum: &Sum) -> (Sum, Vec<Atom>) {
    let guards = |term: &Term| -> Vec<Atom> {
        let free = guards_of(term)
            .filter(|factor| letters_of(&factor.atom).iter().all(|letter| !term.sums.contains(letter)));
        free.map(|factor| factor.atom.clone()).collect()
    };
    let Some(first) = sum.terms.first() else { return (sum.clone(), Vec::new()) };
    let mut common = guards(first);
    common.retain(|guard| sum.terms.iter().all(|term| guards(term).contains(guard)));
    let mut rest = sum.clone();
    rest.terms.iter_mut().for_each(|term| term.factors.retain(|own| !common.contains(&own.atom)));
    (rest, common)
}

/// What independent factors add, by their second moments, where it has more terms than a line or two: with each factor of a product
/// once as its variance and once as the square of its mean, all products but that of all means are
/// `E[a^2] E[b^2] ... - E[a]^2 E[b]^2 ...`, and all of them without exception are `E[a^2] E[b^2] ...`.
fn by_second_moments(sum: &Sum) -> Sum {
    /// As many terms read as they are.
    const FEW: usize = 3;
    if sum.terms.len() <= FEW {
        return sum.clone();
    }
    let variances: Vec<Moment> =
        dedup(sum.terms.iter().flat_map(|term| &term.factors).filter_map(variance).collect());
    // Of each term the factors that are a variance or the square of a mean, and the rest.
    let split = |term: &Term| {
        let (mut own, mut rest) = (Vec::new(), Vec::new());
        for factor in &term.factors {
            let place =
                |moment: Option<Moment>| moment.and_then(|own| variances.iter().position(|one| *one == own));
            match (place(variance(factor)), place(squared_mean(factor))) {
                (Some(place), _) => own.push((place, true)),
                (None, Some(place)) => own.push((place, false)),
                (None, None) => rest.push(factor.clone()),
            }
        }
        own.sort_unstable();
        (own, Term { sums: term.sums.clone(), factors: rest, coefficient: term.coefficient })
    };
    let all: Vec<(Vec<(usize, bool)>, Term)> = sum.terms.iter().map(split).collect();
    let (mut out, mut done) = (Sum::zero(), vec![false; all.len()]);
    for (at, (own, rest)) in all.iter().enumerate() {
        if done[at] {
            continue;
        }
        let about = |own: &[(usize, bool)]| own.iter().map(|(place, _)| *place).collect::<Vec<usize>>();
        let group: Vec<usize> = (at..all.len())
            .filter(|other| !done[*other] && about(&all[*other].0) == about(own) && all[*other].1 == *rest)
            .collect();
        let with = |kind: &dyn Fn(&Moment) -> Factor, open: &[usize], sign: f64| {
            let factors = own.iter().map(|(place, is_variance)| {
                let moment = &variances[*place];
                match (open.contains(place), is_variance) {
                    (true, _) => kind(moment),
                    (false, true) => Factor::of(Atom::Moment(moment.clone())),
                    (false, false) => of_mean(moment),
                }
            });
            let mut term = rest.clone().scaled(sign);
            term.factors.extend(factors);
            term.factors.sort();
            term
        };
        // The factors that are not the same in all terms of the group.
        let open: Vec<usize> = own
            .iter()
            .filter(|(place, kind)| group.iter().any(|other| !all[*other].0.contains(&(*place, *kind))))
            .map(|(place, _)| *place)
            .collect();
        let means = group.iter().any(|other| {
            all[*other].0.iter().all(|(place, is_variance)| !open.contains(place) || !is_variance)
        });
        let count = 1_usize.checked_shl(open.len() as u32).unwrap_or(usize::MAX);
        let whole = group.len() == count && means;
        let but_means = group.len() + 1 == count && !means && open.len() > 1;
        if whole && !open.is_empty() || but_means {
            out.terms.push(with(&second, &open, 1.0));
            if but_means {
                out.terms.push(with(&of_mean, &open, -1.0));
            }
            group.iter().for_each(|other| done[*other] = true);
        } else {
            out.terms.push(sum.terms[at].clone());
        }
    }
    out
}

/// The moment of a variance: both slots are the same.
fn variance(factor: &Factor) -> Option<Moment> {
    let Atom::Moment(moment) = &factor.atom else { return None };
    let [(left, Elementary::Centred), (right, Elementary::Centred)] = moment.statistic.0.as_slice() else {
        return None;
    };
    let (row, column) = moment.slots.split_at(moment.slots.len() / 2);
    (factor.power == 1 && left == right && row == column).then(|| moment.clone())
}

/// Of the square of a mean the moment of the variance.
fn squared_mean(factor: &Factor) -> Option<Moment> {
    let Atom::Moment(moment) = &factor.atom else { return None };
    let [(member, Elementary::Power(1))] = moment.statistic.0.as_slice() else { return None };
    let centred = (*member, Elementary::Centred);
    let slots = moment.slots.iter().chain(&moment.slots).cloned().collect();
    (factor.power == 2).then(|| Moment {
        statistic: Statistic(vec![centred, centred]),
        slots,
        ..moment.clone()
    })
}

/// Of the moment of a variance the square of the mean.
fn of_mean(variance: &Moment) -> Factor {
    let (member, slots) = (variance.statistic.0[0].0, &variance.slots[..variance.slots.len() / 2]);
    let statistic = Statistic(vec![(member, Elementary::Power(1))]);
    Factor { atom: Atom::Moment(Moment { statistic, slots: slots.to_vec(), ..variance.clone() }), power: 2 }
}

/// Of the moment of a variance the second moment.
fn second(variance: &Moment) -> Factor {
    let member = variance.statistic.0[0].0;
    let one = (member, Elementary::Power(1));
    let statistic = match variance.slots.is_empty() {
        true => Statistic(vec![(member, Elementary::Power(2))]),
        false => Statistic(vec![one, one]),
    };
    Factor::of(Atom::Moment(Moment { statistic, ..variance.clone() }))
}

/// The expected squares in a sum, each with the conditions that stand beside it.
fn collect<'s>(sum: &'s Sum, out: &mut Vec<(&'s ExpectedSquare, Vec<Atom>)>) {
    for term in &sum.terms {
        for factor in &term.factors {
            match &factor.atom {
                Atom::ExpectedSquare(square) => {
                    out.push((square, guards_of(term).map(|guard| guard.atom.clone()).collect()));
                }
                other => other.nested().into_iter().for_each(|inner| collect(inner, out)),
            }
        }
    }
}
