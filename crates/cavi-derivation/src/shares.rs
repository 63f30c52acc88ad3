//! Whether probabilities sum to 1: by their form, and by the values of data and constants.
//!
//! `sum_v sum_k theta_k beta_kv = 1` is taken sum by sum: first `sum_v beta_kv = 1`, then `sum_k theta_k = 1`. For a slice on
//! the simplex each step holds by form. For data and constants it is a condition on their values, judged where these are
//! bound, in a sum as where they stand alone.

use cavi_algebra::canonical::canonical;
use cavi_algebra::rules::{replace_index, sum_simplex};
use cavi_algebra::{ArrayId, ArrayKind, Atom, Factor, LetterId, Sum, Support, Symbols, Term};
use cavi_families::{Argument, Extent};
use cavi_model::{Model, Statement};

use crate::joint::{arguments, innermost_selection};

/// What has to be 1 by the values of data and constants, so that probabilities sum to 1; `None` if they do not sum to 1
/// by their form, whatever the values are.
pub fn sums_to_one(symbols: &mut Symbols, argument: &Argument) -> Option<Vec<Sum>> {
    let terms = argument.value.terms.iter().map(|term| {
        let mut term = term.clone();
        term.sums.extend(&argument.letters);
        term
    });
    let mut total = Sum { terms: terms.collect() };
    let mut conditions: Vec<Sum> = Vec::new();
    loop {
        total = canonical(symbols, &total);
        total = sum_simplex(symbols, &total);
        total = canonical(symbols, &total);
        if total.as_number().is_some_and(|value| (value - 1.0).abs() < 1e-12) {
            return Some(conditions);
        }
        let mentions = |holds: fn(ArrayKind) -> bool| {
            let factors = total.terms.iter().flat_map(|term| &term.factors);
            factors.into_iter().any(|factor| arrays(factor).iter().any(|own| holds(symbols.array(*own).kind)))
        };
        if !mentions(|kind| kind == ArrayKind::Latent) {
            let is_known = mentions(|kind| kind != ArrayKind::Latent);
            conditions.push(total);
            return is_known.then_some(conditions);
        }
        let (place, condition, rest) = next_condition(symbols, &total)?;
        total.terms[place] = rest;
        if !conditions.contains(&condition) {
            conditions.push(condition);
        }
    }
}

/// A sum of known factors alone in a term: where it is, the sum, and the term without it. Of several the one with the
/// fewest factors, so that each array is summed by itself.
fn next_condition(symbols: &Symbols, total: &Sum) -> Option<(usize, Sum, Term)> {
    let mut best: Option<(usize, usize, LetterId)> = None;
    for (place, term) in total.terms.iter().enumerate() {
        for letter in &term.sums {
            let holds = |factor: &&Factor| factor.atom.free_letters(symbols).contains(letter);
            let known = |factor: &Factor| {
                arrays(factor).iter().all(|own| symbols.array(*own).kind != ArrayKind::Latent)
            };
            let holding = term.factors.iter().filter(holds);
            let count = holding.clone().count();
            // A ragged letter is summed with the letters above it.
            let is_above = term.sums.iter().any(|own| symbols.lineage(*own)[1..].contains(letter));
            let fits = count > 0 && !is_above && holding.clone().all(known);
            if fits && best.is_none_or(|(fewest, ..)| count < fewest) {
                best = Some((count, place, *letter));
            }
        }
    }
    let (_, place, letter) = best?;
    let mut rest = total.terms[place].clone();
    let holds = |factor: &Factor| factor.atom.free_letters(symbols).contains(&letter);
    let factors: Vec<Factor> = rest.factors.iter().filter(|factor| holds(factor)).cloned().collect();
    rest.factors.retain(|factor| !holds(factor));
    rest.sums.retain(|own| *own != letter);
    let condition = Sum::term(Term { sums: vec![letter], factors, ..Term::number(1.0) });
    Some((place, condition, rest))
}

/// The arrays that a factor mentions.
fn arrays(factor: &Factor) -> Vec<ArrayId> {
    let mut found = Vec::new();
    let mut queue: Vec<&Atom> = vec![&factor.atom];
    while let Some(atom) = queue.pop() {
        if let Atom::Value(array, _) = atom {
            found.push(*array);
        }
        let nested = atom.nested().into_iter().flat_map(|sum| &sum.terms);
        queue.extend(nested.flat_map(|term| &term.factors).map(|own| &own.atom));
    }
    found
}

/// What has to be 1 by the values of data and constants in the probabilities of a statement that hold latents, with the
/// symbols that it is written in. A position that a latent chooses is any position.
pub fn shares_by_value(model: &Model, statement: &Statement) -> Option<(Symbols, Vec<Sum>)> {
    let place = statement.family.parameters().iter().position(|own| own.extent == Extent::Vector);
    let place = place.filter(|_| statement.family.needs_simplex())?;
    let mut symbols = model.symbols.clone();
    let mut argument = arguments(&mut symbols, statement).ok()?.into_iter().nth(place)??;
    let latent = symbols.arrays.iter().enumerate().any(|(number, array)| {
        array.kind == ArrayKind::Latent && argument.value.mentions(ArrayId::from(number))
    });
    if !latent {
        return None;
    }
    while let Some((index, subscripts)) = innermost_selection(&symbols, &argument.value) {
        let Support::Index(axis) = symbols.array(index).support else { return None };
        let class = symbols.fresh_on(axis);
        replace_index(&mut argument.value, index, &subscripts, class);
    }
    let conditions = sums_to_one(&mut symbols, &argument)?;
    Some((symbols, conditions))
}
