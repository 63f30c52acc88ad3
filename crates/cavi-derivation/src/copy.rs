//! The density of one copy of a statement, for predictions of its data: without sums over plates, masks and weights
//! of rows.

use cavi_algebra::rules::{Substitution, replace_index, substitute};
use cavi_algebra::{
    ArrayId, Atom, AxisId, Factor, Function, LetterId, Subscript, Sum, Support, Symbols, Term,
};
use cavi_families::Argument;
use cavi_model::{Model, Statement};

use crate::joint::{arguments, innermost_selection, multiplicities_of, target_of, with_ancestors};

/// One copy of a statement.
#[derive(Clone, Debug)]
pub struct Copy {
    /// The symbols of the model, with the letters that were added.
    pub symbols: Symbols,
    /// `log p(target | parameters)`; the letters of the plates are free in it, and those of the classes. Each log stands with the whole of its
    /// coefficient.
    pub log_density: Sum,
    /// The parameters under their first spellings.
    pub arguments: Vec<Option<Argument>>,
    /// The index latents that select parameters, those that stand in subscripts of others first, each with the letter of its class.
    pub selections: Vec<Selection>,
    /// Letters that stand for one position each, in the place of sums that are written out.
    pub placed: Vec<Placed>,
    /// The multiplicities of its row.
    pub weights: Vec<Atom>,
}

/// A letter that stands for one position of its axis.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The letter.
    pub letter: LetterId,
    /// Its position.
    pub position: usize,
}

/// An index latent in a subscript.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The latent.
    pub index: ArrayId,
    /// Which element.
    pub subscripts: Vec<Subscript>,
    /// The letter that stands in its place.
    pub class: LetterId,
}

/// So many combinations of classes are summed out at most, where a class is chosen by a class or there is one for each value of a
/// letter: there are K^M of M latents of K classes.
const MOST_COMBINATIONS: usize = 1 << 14;

/// One copy of a statement, on axes of these sizes.
///
/// An index latent in a subscript is replaced by a letter of its class, the innermost first: of `mu[h[g[z[n]]]]` with classes a of z\[n\],
/// b of g\[a\] and c of h\[b\] there is left `mu[c]`, and under a q in which the three are independent its average is
///
/// ```text
/// sum_a sum_b sum_c  q(z[n] = a) q(g[a] = b) q(h[b] = c) f(mu[c])
/// ```
///
/// A sum over a letter that an index latent is subscripted by, `sum[m](mu[z[n, m]])`, is written out: there is a class for each of
/// its values.
///
/// # Errors
/// In words, why there is none: a parameter without a closed form, or more combinations of classes than can be summed out.
pub fn copy(
    model: &Model,
    symbols: &Symbols,
    statement: &Statement,
    size: &dyn Fn(AxisId) -> usize,
) -> Result<Copy, String> {
    let mut symbols = symbols.clone();
    let mut arguments = arguments(&mut symbols, statement)
        .map_err(|_| "a parameter of its statement has no closed form".to_owned())?;
    let mut selections: Vec<Selection> = Vec::new();
    let mut placed: Vec<Placed> = Vec::new();
    let plates = with_ancestors(&symbols, &statement.plates);
    while let Some((index, subscripts)) =
        arguments.iter().flatten().find_map(|argument| innermost_selection(&symbols, &argument.value))
    {
        let Support::Index(axis) = symbols.array(index).support else {
            unreachable!("what selects is an index")
        };
        let mut letters = Vec::new();
        subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
        let is_free = |letter: &LetterId| {
            plates.contains(letter)
                || selections.iter().any(|own| own.class == *letter)
                || placed.iter().any(|own| own.letter == *letter)
        };
        if let Some(summed) = letters.iter().copied().find(|letter| !is_free(letter)) {
            let own = symbols.letter(summed).axis;
            let is_group = symbols.axis(own).parent.is_some();
            let values = size(own);
            let of_each = combinations(&symbols, &selections, size)
                .saturating_mul(size(axis).max(1).saturating_pow(u32::try_from(values).unwrap_or(u32::MAX)));
            let refuse = || {
                let name = &symbols.array(index).name;
                Err(format!("`{name}` selects under a summed letter, a class for each of its values"))
            };
            if is_group || of_each > MOST_COMBINATIONS {
                return refuse();
            }
            let letters = letters_at(&mut symbols, &mut placed, own, values);
            let mut found = false;
            for argument in arguments.iter_mut().flatten() {
                found |= write_out(&mut symbols, &mut argument.value, summed, &letters);
            }
            if !found {
                let name = &symbols.array(index).name;
                return Err(format!(
                    "`{name}` selects under a summed letter, a class for each of its values"
                ));
            }
            continue;
        }
        let class = symbols.fresh_on(axis);
        for argument in arguments.iter_mut().flatten() {
            replace_index(&mut argument.value, index, &subscripts, class);
        }
        selections.push(Selection { index, subscripts, class });
        let is_chain = letters.iter().any(|letter| !plates.contains(letter));
        if is_chain && combinations(&symbols, &selections, size) > MOST_COMBINATIONS {
            return Err(format!(
                "there are more than {MOST_COMBINATIONS} combinations of the classes that choose its parameters"
            ));
        }
    }
    let target = target_of(model, &symbols, statement);
    let log_density = statement.family.log_density(&mut symbols, &target, &arguments);
    let log_density = with_whole_coefficients(&symbols, log_density);
    let weights = multiplicities_of(&symbols, statement);
    Ok(Copy { symbols, log_density, arguments, selections, placed, weights })
}

/// A sum in which each log is multiplied by the whole of its coefficient: of `n log(1 - p) - y log(1 - p)` there is left
/// `(n - y) log(1 - p)`. Where `p` is 1 and `y` is `n` this is 0 times minus infinity, nothing, and what was multiplied out the difference of two
/// infinities.
fn with_whole_coefficients(symbols: &Symbols, sum: Sum) -> Sum {
    let is_log = |factor: &Factor| factor.power == 1 && matches!(factor.atom, Atom::Apply(Function::Log, _));
    // For each log the letters it is summed over, its coefficient, and its first term as it was written.
    let mut wholes: Vec<(Factor, Vec<LetterId>, Sum, Term)> = Vec::new();
    let mut others: Vec<Term> = Vec::new();
    for term in sum.terms {
        let logs: Vec<usize> = (0..term.factors.len()).filter(|at| is_log(&term.factors[*at])).collect();
        let [at] = logs[..] else {
            others.push(term);
            continue;
        };
        let mut rest = term.clone();
        let log = rest.factors.remove(at);
        // A ragged letter stands for its ancestors too.
        let free = log.atom.free_letters(symbols);
        let seen: Vec<LetterId> = free.into_iter().flat_map(|letter| symbols.lineage(letter)).collect();
        let (outside, inside): (Vec<LetterId>, Vec<LetterId>) =
            rest.sums.iter().partition(|letter| seen.contains(letter));
        rest.sums = inside;
        match wholes.iter_mut().find(|own| own.0 == log && own.1 == outside) {
            Some((_, _, coefficient, _)) => coefficient.terms.push(rest),
            None => wholes.push((log, outside, Sum { terms: vec![rest] }, term)),
        }
    }
    others.extend(wholes.into_iter().map(|(log, sums, coefficient, first)| match coefficient.terms.len() {
        1 => first,
        _ => Term {
            sums,
            factors: vec![Factor::of(Atom::Group(Box::new(coefficient))), log],
            ..Term::number(1.0)
        },
    }));
    Sum { terms: others }
}

/// How many combinations of classes there are.
fn combinations(symbols: &Symbols, selections: &[Selection], size: &dyn Fn(AxisId) -> usize) -> usize {
    let sizes = selections.iter().map(|own| size(symbols.letter(own.class).axis));
    sizes.fold(1, usize::saturating_mul)
}

/// A letter for each position of an axis: those that are there already, and new ones.
fn letters_at(symbols: &mut Symbols, placed: &mut Vec<Placed>, axis: AxisId, size: usize) -> Vec<LetterId> {
    (0..size)
        .map(|position| {
            let there =
                placed.iter().find(|own| symbols.letter(own.letter).axis == axis && own.position == position);
            if let Some(own) = there {
                return own.letter;
            }
            let letter = symbols.fresh_on(axis);
            placed.push(Placed { letter, position });
            letter
        })
        .collect()
}

/// `sum_m f(m)` as a term for each of these letters in place of m, wherever m is summed; whether it is anywhere.
fn write_out(symbols: &mut Symbols, sum: &mut Sum, summed: LetterId, letters: &[LetterId]) -> bool {
    let mut found = false;
    let mut terms = Vec::with_capacity(sum.terms.len());
    for mut term in std::mem::take(&mut sum.terms) {
        if let Some(place) = term.sums.iter().position(|own| *own == summed) {
            term.sums.remove(place);
            for letter in letters {
                let map = Substitution::from([(summed, Subscript::Letter(*letter))]);
                terms.push(substitute(symbols, &term, &map));
            }
            found = true;
            continue;
        }
        for factor in &mut term.factors {
            for inner in factor.atom.nested_mut() {
                found |= write_out(symbols, inner, summed, letters);
            }
        }
        terms.push(term);
    }
    sum.terms = terms;
    found
}
