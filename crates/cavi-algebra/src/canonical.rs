//! The canonical form of a sum: factors merged and sorted, products multiplied out, equal letters identified, like terms
//! combined whatever their summed letters are called. An even power of a square root is a power of what is inside.

use std::collections::BTreeMap;

use crate::expression::{Expression, Function, MatrixFunction, Subscript};
use crate::rules::{Substitution, distribute, power, substitute};
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
use crate::symbols::{ArrayKind, AxisId, LetterId, Symbols};

/// A sum takes so many rewrites at most: beyond that its terms stay as they are, which keeps its value.
const MOST_REWRITES: usize = 1 << 18;

/// Brings a sum into canonical form. Idempotent, and independent of the order of terms and factors.
pub fn canonical(symbols: &mut Symbols, sum: &Sum) -> Sum {
    let mut rewrites = 0;
    let mut queue: Vec<Term> = sum.terms.iter().rev().cloned().collect();
    let mut order: Vec<Term> = Vec::new();
    let mut place: BTreeMap<Term, usize> = BTreeMap::new();
    while let Some(term) = queue.pop() {
        rewrites += 1;
        let simplified =
            if rewrites > MOST_REWRITES { Simplified::Done(term) } else { simplify(symbols, term) };
        match simplified {
            Simplified::Zero => {}
            Simplified::Several(terms) => queue.extend(terms.into_iter().rev()),
            Simplified::Done(term) => {
                let mut key = nameless(symbols, &term);
                key.coefficient = Coefficient(1.0);
                match place.get(&key) {
                    Some(index) => order[*index].coefficient.0 += term.coefficient.0,
                    None => {
                        place.insert(key, order.len());
                        order.push(term);
                    }
                }
            }
        }
    }
    order.retain(|term| term.coefficient.0 != 0.0);
    Sum { terms: order }
}

enum Simplified {
    Zero,
    Done(Term),
    Several(Vec<Term>),
}

fn simplify(symbols: &mut Symbols, mut term: Term) -> Simplified {
    if term.coefficient.0 == 0.0 {
        return Simplified::Zero;
    }
    // Inside first.
    for factor in &mut term.factors {
        for inner in factor.atom.nested_mut() {
            *inner = canonical(symbols, inner);
        }
    }
    // One factor is simplified at a time, and then the search starts again.
    for position in 0..term.factors.len() {
        let factor = &term.factors[position];
        match &factor.atom {
            Atom::Equal(left, right) if left == right => {
                term.factors.remove(position);
                return Simplified::Several(vec![term]);
            }
            Atom::Different(left, right) | Atom::Less(left, right) if left == right => {
                return Simplified::Zero;
            }
            Atom::Equal(left, right) if known_apart(symbols, &term, left, right) => {
                return Simplified::Zero;
            }
            Atom::Equal(left, right) => {
                let bound = |subscript: &Subscript, other: &Subscript| match subscript {
                    Subscript::Letter(letter) => {
                        may_become(symbols, &term, *letter, other).then_some(*letter)
                    }
                    Subscript::Index(..) => None,
                };
                // `[z = c]` of a latent z is a statistic, and stays.
                let latent = mentions_latent(symbols, left) || mentions_latent(symbols, right);
                let replace = match (bound(right, left), bound(left, right)) {
                    _ if latent => None,
                    (Some(letter), _) => Some((letter, left.clone())),
                    (None, Some(letter)) => Some((letter, right.clone())),
                    (None, None) => None,
                };
                if let Some((letter, by)) = replace {
                    return Simplified::Several(vec![identified(symbols, term, position, letter, by)]);
                }
                // `[z = a] [z = b] = [z = a] [a = b]`.
                if let Some((index, class)) = latent_and_class(symbols, left, right) {
                    let earlier = term.factors[..position].iter().find_map(|factor| match &factor.atom {
                        Atom::Equal(left, right) => latent_and_class(symbols, left, right)
                            .filter(|(own, _)| *own == index)
                            .map(|(_, class)| class.clone()),
                        _ => None,
                    });
                    if let Some(earlier) = earlier {
                        term.factors[position].atom = Atom::Equal(earlier, class.clone());
                        return Simplified::Several(vec![term]);
                    }
                }
                if left > right {
                    let swapped = Atom::Equal(right.clone(), left.clone());
                    term.factors[position].atom = swapped;
                }
            }
            Atom::Less(left, right) if is_said(&term, &Atom::Less(right.clone(), left.clone())) => {
                return Simplified::Zero;
            }
            Atom::Different(left, right)
                if groups_apart(symbols, &term, left, right) || is_ordered(&term, left, right) =>
            {
                term.factors.remove(position);
                return Simplified::Several(vec![term]);
            }
            Atom::Different(left, right) if left > right => {
                let swapped = Atom::Different(right.clone(), left.clone());
                term.factors[position].atom = swapped;
            }
            // A quotient by 0 has no value, and stays what it is.
            atom if factor.power < 0 && is_zero(atom) => {}
            Atom::Group(inner) => {
                let single = inner.terms.len() <= 1 && inner.terms.iter().all(|inner| inner.sums.is_empty());
                if single || factor.power == 1 && !whitens(symbols, inner) {
                    let (inner, exponent) = ((**inner).clone(), factor.power);
                    term.factors.remove(position);
                    let inside = power(symbols, &inner, exponent);
                    let product = distribute(symbols, &term, &inside);
                    return Simplified::Several(product.terms);
                }
            }
            Atom::Apply(function, arguments) => {
                if *function == Function::Sqrt && factor.power % 2 == 0 {
                    let (inner, exponent) = (arguments[0].clone(), factor.power / 2);
                    term.factors.remove(position);
                    let inside = power(symbols, &inner, exponent);
                    let product = distribute(symbols, &term, &inside);
                    return Simplified::Several(product.terms);
                }
                if let Some(value) = number_of(*function, arguments)
                    && value.is_finite()
                {
                    term.coefficient.0 *= value.powi(factor.power);
                    term.factors.remove(position);
                    return Simplified::Several(vec![term]);
                }
            }
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::ExpectedSquare(_)
            | Atom::Observed(..)
            | Atom::Different(..)
            | Atom::Less(..) => {}
        }
    }
    term.factors.sort();
    let mut merged: Vec<Factor> = Vec::with_capacity(term.factors.len());
    for factor in term.factors {
        match merged.last_mut() {
            Some(last) if last.atom == factor.atom => {
                // Indicators are their own squares.
                let indicator = matches!(
                    factor.atom,
                    Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..)
                );
                last.power = if indicator { 1 } else { last.power + factor.power };
            }
            Some(_) | None => merged.push(factor),
        }
    }
    merged.retain(|factor| factor.power != 0);
    term.factors = merged;
    let is_even_root = |factor: &Factor| {
        let divides_by_zero = factor.power < 0 && is_zero(&factor.atom);
        matches!(factor.atom, Atom::Apply(Function::Sqrt, _)) && factor.power % 2 == 0 && !divides_by_zero
    };
    if term.factors.iter().any(is_even_root) {
        return Simplified::Several(vec![term]);
    }
    Simplified::Done(term)
}

/// Whether `sum_t [t = b] f(t) = f(b)` leaves every letter with its values. It does not where b holds t or a letter of a group of t:
/// `[t = next[t]]` says of each t whether it counts. Nor does it where b is an index and f has letters of the group of t, summed or free:
/// of the position `h[n]` no letter tells the group, so that `sum_t sum_(p in t) [t = h[n]] x_tp` keeps its t. (A letter in place of t
/// takes the letters of the group along.)
fn may_become(symbols: &Symbols, term: &Term, letter: LetterId, by: &Subscript) -> bool {
    if !term.sums.contains(&letter) {
        return false;
    }
    let below = |own: &LetterId| symbols.lineage(*own).contains(&letter);
    let mut letters = Vec::new();
    by.letters(&mut letters);
    if letters.iter().any(below) {
        return false;
    }
    let Subscript::Index(..) = by else { return true };
    let mut inside = all_sums(term);
    for factor in &term.factors {
        factor.atom.visit_subscripts(&mut |subscript| subscript.letters(&mut inside));
    }
    symbols.letter(letter).parent.is_none() && !inside.iter().any(|own| *own != letter && below(own))
}

/// `sum_t [t = s] f(t) = f(s)`: the term without the factor at `position`, which says that the summed letter `letter` is
/// `by`. A position of a ragged axis has one parent, so that the parents are the same as well: one that is summed is replaced by
/// the other, and of two that are free the equality stays as a factor.
fn identified(
    symbols: &mut Symbols,
    mut term: Term,
    position: usize,
    letter: LetterId,
    by: Subscript,
) -> Term {
    let mut map = Substitution::from([(letter, by.clone())]);
    let mut free = None;
    if let Subscript::Letter(by) = by {
        for (from, to) in symbols.lineage(letter).into_iter().zip(symbols.lineage(by)).skip(1) {
            let summed = |letter: LetterId| term.sums.contains(&letter);
            if from == to || summed(from) {
                continue;
            }
            if summed(to) {
                // The other parent goes first: `by` is then a letter below the one that is free.
                let map = Substitution::from([(to, Subscript::Letter(from))]);
                return substitute(symbols, &term, &map);
            }
            map.insert(from, Subscript::Letter(from));
            free.get_or_insert(Atom::Equal(Subscript::Letter(from), Subscript::Letter(to)));
        }
    }
    term.factors.remove(position);
    let mut term = substitute(symbols, &term, &map);
    term.factors.extend(free.map(Factor::of));
    term
}

/// Whether a factor of the term says that two subscripts differ, or that letters above them do.
pub fn known_apart(symbols: &Symbols, term: &Term, left: &Subscript, right: &Subscript) -> bool {
    let says = |factor: &Factor| match &factor.atom {
        Atom::Different(a, b) | Atom::Less(a, b) => (a == left && b == right) || (a == right && b == left),
        _ => false,
    };
    term.factors.iter().any(says) || groups_apart(symbols, term, left, right)
}

/// Whether a factor of the term says that one of two subscripts is less than the other.
fn is_ordered(term: &Term, left: &Subscript, right: &Subscript) -> bool {
    is_said(term, &Atom::Less(left.clone(), right.clone()))
        || is_said(term, &Atom::Less(right.clone(), left.clone()))
}

/// Whether an indicator is a factor of the term.
fn is_said(term: &Term, indicator: &Atom) -> bool {
    term.factors.iter().any(|factor| factor.atom == *indicator)
}

/// Whether two letters of a ragged axis run over different groups by a factor of the term: then no position is in both.
fn groups_apart(symbols: &Symbols, term: &Term, left: &Subscript, right: &Subscript) -> bool {
    let (Subscript::Letter(left), Subscript::Letter(right)) = (left, right) else { return false };
    match (symbols.letter(*left).parent, symbols.letter(*right).parent) {
        (Some(left), Some(right)) => {
            known_apart(symbols, term, &Subscript::Letter(left), &Subscript::Letter(right))
        }
        _ => false,
    }
}

/// Whether an atom in canonical form is 0 by its form.
pub fn is_zero(atom: &Atom) -> bool {
    match atom {
        Atom::Group(inner) => inner.is_zero(),
        Atom::Apply(function, arguments) => number_of(*function, arguments) == Some(0.0),
        _ => false,
    }
}

/// Whether a sum is an element of a whitened slice. Such a sum is kept together as one number. Multiplied out, its
/// square would hold elements of the inverse of the covariance, whose rounding errors are the squares of those of the
/// factors.
fn whitens(symbols: &Symbols, sum: &Sum) -> bool {
    let whitening = |factor: &Factor| match &factor.atom {
        Atom::Value(array, _) => {
            let value = &symbols.array(*array).value;
            matches!(value, Some(Expression::OfMatrix(MatrixFunction::Whitening, ..)))
        }
        _ => false,
    };
    sum.terms.iter().flat_map(|term| &term.factors).any(whitening)
}

/// An index latent and the class that an indicator gives it, where the class is none itself.
fn latent_and_class<'a>(
    symbols: &Symbols,
    left: &'a Subscript,
    right: &'a Subscript,
) -> Option<(&'a Subscript, &'a Subscript)> {
    match (mentions_latent(symbols, left), mentions_latent(symbols, right)) {
        (true, false) => Some((left, right)),
        (false, true) => Some((right, left)),
        _ => None,
    }
}

fn mentions_latent(symbols: &Symbols, subscript: &Subscript) -> bool {
    match subscript {
        Subscript::Letter(_) => false,
        Subscript::Index(array, inner) => {
            symbols.array(*array).kind == ArrayKind::Latent
                || inner.iter().any(|inner| mentions_latent(symbols, inner))
        }
    }
}

/// The value of a function of bare numbers, for those that this crate can evaluate exactly.
fn number_of(function: Function, arguments: &[Sum]) -> Option<f64> {
    let value = arguments.first()?.as_number()?;
    match function {
        Function::Exp => Some(value.exp()),
        Function::Log => Some(value.ln()),
        Function::Sqrt => Some(value.sqrt()),
        Function::Power => Some(value.powf(arguments.get(1)?.as_number()?)),
        Function::LogGamma if value == 1.0 || value == 2.0 => Some(0.0),
        Function::LogGamma
        | Function::SinePi
        | Function::LogOneLessExp
        | Function::Digamma
        | Function::Trigamma
        | Function::LogBesselK
        | Function::Logistic
        | Function::Softplus
        | Function::EvenSoftplus
        | Function::LogisticCurvature
        | Function::Phi
        | Function::InversePhi
        | Function::StandardNormalLogCdf
        | Function::StandardNormalLogCcdf
        | Function::StandardNormalLogQf
        | Function::LogDeterminant
        | Function::LogMultivariateGamma
        | Function::AtMostOne
        | Function::LogLeft => None,
    }
}

/// So many ways to name the summed letters of a term are compared at most.
const MOST_NAMES: usize = 120;

/// The term with its summed letters renamed by axis, so that two terms that differ in nothing else are equal. (Ids from the top of the
/// range stand for the letters. A factor for each summed ragged letter says which its parent is: sums over the groups of different
/// parents are different sums.)
///
/// Factors are sorted by a shape that ignores summed letters, and the letters numbered as they appear. Where factors have one shape, as
/// `w[r] w[r']`, their order decides nothing: of all ways to number the letters of each axis that one is taken which makes the least
/// term, so that `f(r, r')` summed over both is `f(r', r)`. Beyond `MOST_NAMES` ways the first is taken; then two
/// equal terms may have two names, which keeps their sum.
pub fn nameless(symbols: &Symbols, term: &Term) -> Term {
    let shaped = {
        let mut blank = term.clone();
        let sums = term.sums.clone();
        blank_letters(&mut blank, &sums, &|letter| 1 << 24 | symbols.letter(letter).axis.0);
        blank
    };
    let mut permutation: Vec<usize> = (0..term.factors.len()).collect();
    permutation.sort_by(|a, b| shaped.factors[*a].cmp(&shaped.factors[*b]));
    let mut out = term.clone();
    out.factors = permutation.iter().map(|index| term.factors[*index].clone()).collect();
    let bound = all_sums(term);
    let mut seen: Vec<LetterId> = Vec::new();
    out.visit_subscripts(&mut |subscript| {
        let mut letters = Vec::new();
        subscript.letters(&mut letters);
        for letter in letters.into_iter().flat_map(|letter| symbols.lineage(letter)) {
            if !seen.contains(&letter) {
                seen.push(letter);
            }
        }
    });
    for letter in &bound {
        if !seen.contains(letter) {
            seen.push(*letter);
        }
    }
    seen.retain(|letter| bound.contains(letter));
    let mut by_axis: BTreeMap<AxisId, Vec<LetterId>> = BTreeMap::new();
    for letter in seen {
        by_axis.entry(symbols.letter(letter).axis).or_default().push(letter);
    }
    name_groups(symbols, &mut out);
    let named = |places: &BTreeMap<LetterId, u32>| {
        let mut out = out.clone();
        blank_letters(&mut out, &bound, &|letter| {
            1 << 31 | symbols.letter(letter).axis.0 << 12 | places[&letter]
        });
        turn_symmetric(&mut out);
        out.sums.sort();
        out.factors.sort();
        out
    };
    let first: BTreeMap<LetterId, u32> =
        by_axis.values().flat_map(|letters| letters.iter().copied().zip(0..)).collect();
    let has_one_shape = permutation.windows(2).any(|pair| {
        let [one, other] = [pair[0], pair[1]];
        shaped.factors[one] == shaped.factors[other] && term.factors[one] != term.factors[other]
    });
    let ways = by_axis.values().flat_map(|letters| 1..=letters.len()).fold(1, usize::saturating_mul);
    if !has_one_shape || ways == 1 || ways > MOST_NAMES {
        return named(&first);
    }
    let mut all: Vec<BTreeMap<LetterId, u32>> = vec![BTreeMap::new()];
    for letters in by_axis.values() {
        let orders = orders(letters);
        let with = |before: &BTreeMap<LetterId, u32>| -> Vec<BTreeMap<LetterId, u32>> {
            let each = orders.iter().map(|order| {
                let mut own = before.clone();
                own.extend(order.iter().copied().zip(0..));
                own
            });
            each.collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all.iter().map(named).min().unwrap_or_else(|| named(&first))
}

/// `[a != b]` and `[a = b]` with the lesser side first, at every depth.
fn turn_symmetric(term: &mut Term) {
    for factor in &mut term.factors {
        if let Atom::Equal(left, right) | Atom::Different(left, right) = &mut factor.atom
            && right < left
        {
            std::mem::swap(left, right);
        }
        for sum in factor.atom.nested_mut() {
            sum.terms.iter_mut().for_each(turn_symmetric);
        }
    }
}

/// Every order of some letters.
fn orders(letters: &[LetterId]) -> Vec<Vec<LetterId>> {
    let Some((last, rest)) = letters.split_last() else { return vec![Vec::new()] };
    let insert = |order: Vec<LetterId>| -> Vec<Vec<LetterId>> {
        let at = |place: usize| {
            let mut own = order.clone();
            own.insert(place, *last);
            own
        };
        (0..=order.len()).map(at).collect()
    };
    orders(rest).into_iter().flat_map(insert).collect()
}

/// Puts the pairs of a summed ragged letter and its parent among the factors, at every depth.
fn name_groups(symbols: &Symbols, term: &mut Term) {
    let pair = |letter: &LetterId| {
        let parent = symbols.letter(*letter).parent?;
        Some(Factor::of(Atom::Less(Subscript::Letter(*letter), Subscript::Letter(parent))))
    };
    let pairs: Vec<Factor> = term.sums.iter().filter_map(pair).collect();
    term.factors.extend(pairs);
    for sum in term.factors.iter_mut().flat_map(|factor| factor.atom.nested_mut()) {
        sum.terms.iter_mut().for_each(|inner| name_groups(symbols, inner));
    }
}

fn all_sums(term: &Term) -> Vec<LetterId> {
    let mut out = term.sums.clone();
    for factor in &term.factors {
        out.extend(factor.atom.nested().into_iter().flat_map(|sum| &sum.terms).flat_map(all_sums));
    }
    out
}

fn blank_letters(term: &mut Term, letters: &[LetterId], number: &dyn Fn(LetterId) -> u32) {
    fn in_subscript(subscript: &mut Subscript, letters: &[LetterId], number: &dyn Fn(LetterId) -> u32) {
        match subscript {
            Subscript::Letter(letter) if letters.contains(letter) => *letter = LetterId(number(*letter)),
            Subscript::Letter(_) => {}
            Subscript::Index(_, inner) => {
                inner.iter_mut().for_each(|inner| in_subscript(inner, letters, number))
            }
        }
    }
    for letter in &mut term.sums {
        if letters.contains(letter) {
            *letter = LetterId(number(*letter));
        }
    }
    for factor in &mut term.factors {
        for sum in factor.atom.nested_mut() {
            sum.terms.iter_mut().for_each(|inner| blank_letters(inner, letters, number));
        }
        if factor.atom.nested().is_empty() {
            factor.atom.map_subscripts(&mut |subscript| in_subscript(subscript, letters, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use crate::expression::Subscript;
    use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
    use crate::symbols::{Array, ArrayId, Axis, AxisId, Letter, LetterId, Support, Symbols};

    /// p[c], h[c, r] and w[r] with two letters on each axis.
    fn symbols() -> Symbols {
        let axis = |name: &str, letters: [u32; 2]| Axis {
            name: name.to_owned(),
            parent: None,
            letters: letters.map(LetterId).to_vec(),
            size: None,
        };
        let letter = |name: &str, axis| Letter { name: name.to_owned(), axis: AxisId(axis), parent: None };
        let array = |name: &str, letters: &[u32]| {
            Array::latent(name, letters.iter().map(|own| LetterId(*own)).collect(), Support::Real)
        };
        Symbols {
            axes: vec![axis("core", [0, 1]), axis("comp", [2, 3])],
            letters: vec![letter("c", 0), letter("d", 0), letter("r", 1), letter("s", 1)],
            arrays: vec![array("p", &[0]), array("h", &[0, 2]), array("w", &[2])],
            ..Symbols::default()
        }
    }

    fn at(array: u32, letters: &[u32]) -> Factor {
        let subscripts = letters.iter().map(|own| Subscript::Letter(LetterId(*own))).collect();
        Factor::of(Atom::Value(ArrayId(array), subscripts))
    }

    /// `sum[d, r, s: r != s](p[d] h[c, one] h[d, other] w[r] w[s])`, its factors in some order.
    fn term(one: u32, other: u32, turned: bool) -> Term {
        let (r, s) = (LetterId(2), LetterId(3));
        let mut factors = vec![at(0, &[1]), at(1, &[0, one]), at(1, &[1, other]), at(2, &[2]), at(2, &[3])];
        factors.push(Factor::of(Atom::Different(Subscript::Letter(r), Subscript::Letter(s))));
        if turned {
            factors.reverse();
        }
        Term { sums: vec![LetterId(1), r, s], factors, coefficient: Coefficient(0.5) }
    }

    #[test]
    fn what_differs_in_the_names_of_summed_letters_is_added() {
        for turned in [false, true] {
            let mut symbols = symbols();
            let sum = Sum { terms: vec![term(2, 3, false), term(3, 2, turned)] };
            let found = canonical(&mut symbols, &sum);
            assert_eq!(found.terms.len(), 1, "{found:?}");
            assert_eq!(found.terms[0].coefficient.0, 1.0);
        }
    }

    #[test]
    fn what_differs_in_more_stays_apart() {
        // Both factors h at one letter, and no letter that is free.
        let mut symbols = symbols();
        let sum = Sum { terms: vec![term(2, 3, false), term(2, 2, false)] };
        assert_eq!(canonical(&mut symbols, &sum).terms.len(), 2);
    }
}
