//! Letters for letters: `f(k) [k := l] = f(l)`, without capture.

use std::collections::BTreeMap;

use crate::expression::Subscript;
use crate::sum_of_products::{Atom, Factor, Sum, Term};
use crate::symbols::{ArrayId, LetterId, Symbols};

/// Which subscript stands for which letter.
pub type Substitution = BTreeMap<LetterId, Subscript>;

fn in_subscript(subscript: &mut Subscript, map: &Substitution) {
    match subscript {
        Subscript::Letter(letter) => {
            if let Some(replacement) = map.get(letter) {
                *subscript = replacement.clone();
            }
        }
        Subscript::Index(_, inner) => inner.iter_mut().for_each(|inner| in_subscript(inner, map)),
    }
}

/// Replaces letters of a term, without capture: `(sum_l f(k, l)) [k := l] = sum_l' f(l, l')`. A summed letter that a replacement
/// of a free letter holds is renamed first. A letter that the term itself sums may be replaced too: it is then summed no longer,
/// and what stands for it is read where the other sums of the term are read. A ragged letter whose parent is replaced gets a
/// fresh copy with the new parent; where the replacement of a ragged letter is a letter, its ancestors follow. A position that an index
/// gives is no letter that others could run inside of: where ragged letters stand below it, `f(m) [m := h] = sum_m' [m' = h] f(m')`.
pub fn substitute(symbols: &mut Symbols, term: &Term, map: &Substitution) -> Term {
    let mut map = map.clone();
    // Where j := j', the parents follow: m := m'.
    let pairs: Vec<(LetterId, LetterId)> = map
        .iter()
        .filter_map(|(letter, to)| if let Subscript::Letter(to) = to { Some((*letter, *to)) } else { None })
        .collect();
    for (from, to) in pairs {
        let (from, to) = (symbols.lineage(from), symbols.lineage(to));
        for (from, to) in from.into_iter().zip(to).skip(1) {
            map.entry(from).or_insert(Subscript::Letter(to));
        }
    }
    map.retain(|letter, to| *to != Subscript::Letter(*letter));
    if map.is_empty() {
        return term.clone();
    }
    let found = groups_of_indices(symbols, term, &mut map);
    let mut out = uncaptured(symbols, term, &map);
    // Ragged letters below a replaced parent.
    let mut present = present(&out);
    // Parents first, so that a grandchild finds the copy of the child.
    present = present.into_iter().flat_map(|letter| symbols.lineage(letter)).collect();
    present.sort();
    present.dedup();
    present.sort_by_key(|letter| symbols.lineage(*letter).len());
    let mut children = Substitution::new();
    for letter in present {
        if map.contains_key(&letter) {
            continue;
        }
        if let Some(parent) = symbols.letter(letter).parent
            && let Some(Subscript::Letter(to)) = map.get(&parent).or_else(|| children.get(&parent))
        {
            let to = *to;
            let fresh = symbols.fresh(letter, Some(to));
            children.insert(letter, Subscript::Letter(fresh));
        }
    }
    rename_sums(&mut out, &children);
    map.extend(children);
    for factor in &mut out.factors {
        factor.atom.map_subscripts(&mut |subscript| in_subscript(subscript, &map));
    }
    out.sums.retain(|letter| !map.contains_key(letter));
    for (letter, index) in found {
        out.sums.push(letter);
        out.factors.push(Factor::of(Atom::Equal(Subscript::Letter(letter), index)));
    }
    out
}

/// The letters of a term: those in subscripts, and all that it sums.
fn present(term: &Term) -> Vec<LetterId> {
    let mut letters = Vec::new();
    term.visit_subscripts(&mut |subscript| subscript.letters(&mut letters));
    collect_sums(&Sum::term(term.clone()), &mut letters);
    letters
}

/// Puts a new letter in the place of each index that replaces a letter of groups; gives these with the indices that they are.
fn groups_of_indices(
    symbols: &mut Symbols,
    term: &Term,
    map: &mut Substitution,
) -> Vec<(LetterId, Subscript)> {
    let letters = present(term);
    let mut found = Vec::new();
    let kept = map.clone();
    for (letter, to) in map.iter_mut().filter(|(_, to)| matches!(to, Subscript::Index(..))) {
        let below = |own: &LetterId| {
            own != letter && !kept.contains_key(own) && symbols.lineage(*own).contains(letter)
        };
        if letters.iter().any(below) {
            let parent = symbols.letter(*letter).parent;
            let group = symbols.fresh(*letter, parent);
            found.push((group, std::mem::replace(to, Subscript::Letter(group))));
        }
    }
    found
}

/// The term with fresh names for those of its summed letters that would capture a letter of a replacement.
fn uncaptured(symbols: &mut Symbols, term: &Term, map: &Substitution) -> Term {
    let mut from_outside = Vec::new();
    let mut either = Vec::new();
    for (letter, to) in map {
        either.push(*letter);
        to.letters(&mut either);
        if !term.sums.contains(letter) {
            to.letters(&mut from_outside);
        }
    }
    let clash = term.sums.iter().copied().filter(|letter| from_outside.contains(letter)).collect();
    let mut out = rename_bound(symbols, term, clash);
    for factor in &mut out.factors {
        for sum in factor.atom.nested_mut() {
            sum.terms.iter_mut().for_each(|inner| *inner = rename_apart(symbols, inner, &either));
        }
    }
    out
}

fn rename_sums(term: &mut Term, map: &Substitution) {
    for letter in &mut term.sums {
        if let Some(Subscript::Letter(to)) = map.get(letter) {
            *letter = *to;
        }
    }
    for factor in &mut term.factors {
        for sum in factor.atom.nested_mut() {
            sum.terms.iter_mut().for_each(|inner| rename_sums(inner, map));
        }
    }
}

fn collect_sums(sum: &Sum, out: &mut Vec<LetterId>) {
    for term in &sum.terms {
        out.extend(&term.sums);
        for factor in &term.factors {
            factor.atom.nested().into_iter().for_each(|inner| collect_sums(inner, out));
        }
    }
}

/// Gives fresh names to those summed letters of a term (at any depth) that stand in `taken`.
pub fn rename_apart(symbols: &mut Symbols, term: &Term, taken: &[LetterId]) -> Term {
    let mut bound = Vec::new();
    collect_sums(&Sum::term(term.clone()), &mut bound);
    let clash: Vec<LetterId> = bound.into_iter().filter(|letter| taken.contains(letter)).collect();
    rename_bound(symbols, term, clash)
}

/// Gives fresh names to every summed letter of a term.
pub fn refresh(symbols: &mut Symbols, term: &Term) -> Term {
    let mut bound = Vec::new();
    collect_sums(&Sum::term(term.clone()), &mut bound);
    rename_bound(symbols, term, bound)
}

fn rename_bound(symbols: &mut Symbols, term: &Term, mut letters: Vec<LetterId>) -> Term {
    letters.sort();
    letters.dedup();
    let mut bound = Vec::new();
    collect_sums(&Sum::term(term.clone()), &mut bound);
    // A renamed parent takes its summed children along.
    loop {
        let more: Vec<LetterId> = bound
            .iter()
            .copied()
            .filter(|letter| !letters.contains(letter))
            .filter(|letter| symbols.letter(*letter).parent.is_some_and(|parent| letters.contains(&parent)))
            .collect();
        if more.is_empty() {
            break;
        }
        letters.extend(more);
        letters.sort();
        letters.dedup();
    }
    if letters.is_empty() {
        return term.clone();
    }
    // Parents first, so that a child finds the new parent.
    letters.sort_by_key(|letter| symbols.lineage(*letter).len());
    let mut map = Substitution::new();
    for letter in letters {
        let parent = symbols.letter(letter).parent.map(|parent| match map.get(&parent) {
            Some(Subscript::Letter(renamed)) => *renamed,
            Some(Subscript::Index(..)) | None => parent,
        });
        let fresh = symbols.fresh(letter, parent);
        map.insert(letter, Subscript::Letter(fresh));
    }
    let mut out = term.clone();
    rename_in_scope(&mut out, &map, &Substitution::new());
    out
}

/// Renames the summed letters of a term, and what stands within their sums; a letter of the same name outside of these is another.
/// `around` are those of the sums around the term.
fn rename_in_scope(term: &mut Term, map: &Substitution, around: &Substitution) {
    let mut known = around.clone();
    for letter in &mut term.sums {
        if let Some(Subscript::Letter(to)) = map.get(letter) {
            known.insert(*letter, Subscript::Letter(*to));
            *letter = *to;
        }
    }
    for factor in &mut term.factors {
        let mut nested = factor.atom.nested_mut();
        let is_plain = nested.is_empty();
        nested
            .iter_mut()
            .flat_map(|sum| &mut sum.terms)
            .for_each(|inner| rename_in_scope(inner, map, &known));
        if is_plain {
            factor.atom.map_subscripts(&mut |subscript| in_subscript(subscript, &known));
        }
    }
}

/// Replaces every subscript `array[subscripts]` of a sum by a letter.
pub fn replace_index(sum: &mut Sum, array: ArrayId, subscripts: &[Subscript], by: LetterId) {
    fn inside(subscript: &mut Subscript, array: ArrayId, subscripts: &[Subscript], by: LetterId) {
        if let Subscript::Index(id, inner) = subscript {
            if *id == array && inner == subscripts {
                *subscript = Subscript::Letter(by);
            } else {
                inner.iter_mut().for_each(|inner| inside(inner, array, subscripts, by));
            }
        }
    }
    sum.map_subscripts(&mut |subscript| inside(subscript, array, subscripts, by));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::{Array, Axis, AxisId, Letter, Support};

    /// An axis with the letters k, l and m, and an array over one of them and one over two.
    fn world() -> (Symbols, [LetterId; 3], [ArrayId; 2]) {
        let letter = |name: &str| Letter { name: name.to_owned(), axis: AxisId::from(0), parent: None };
        let letters = [0, 1, 2].map(LetterId::from);
        let axis = Axis { name: "factor".to_owned(), parent: None, letters: letters.to_vec(), size: None };
        let arrays = vec![
            Array::latent("a", letters[..1].to_vec(), Support::Real),
            Array::latent("b", letters[..2].to_vec(), Support::Real),
        ];
        let letters_of_axis = ["k", "l", "m"].map(letter).to_vec();
        let symbols = Symbols { axes: vec![axis], letters: letters_of_axis, arrays, ..Symbols::default() };
        (symbols, letters, [0, 1].map(ArrayId::from))
    }

    fn value(array: ArrayId, letters: &[LetterId]) -> Factor {
        Factor::of(Atom::Value(array, letters.iter().map(|own| Subscript::Letter(*own)).collect()))
    }

    fn replaced(symbols: &mut Symbols, term: &Term, from: LetterId, to: LetterId) -> Term {
        substitute(symbols, term, &Substitution::from([(from, Subscript::Letter(to))]))
    }

    #[test]
    fn a_summed_letter_captures_no_replacement() {
        let (mut symbols, [k, l, _], [a, b]) = world();
        let term =
            Term { sums: vec![l], factors: vec![value(a, &[l]), value(b, &[k, l])], ..Term::number(1.0) };
        let out = replaced(&mut symbols, &term, k, l);
        let [summed] = out.sums[..] else { panic!("one sum") };
        assert!(![k, l].contains(&summed));
        assert_eq!(out.factors, [value(a, &[summed]), value(b, &[l, summed])]);
        assert_eq!(out.free_letters(&symbols), [l]);
    }

    #[test]
    fn a_letter_that_is_summed_inside_captures_no_replacement() {
        let (mut symbols, [k, l, m], [a, b]) = world();
        let inner = Term { sums: vec![l], factors: vec![value(b, &[k, l])], ..Term::number(1.0) };
        let group = Factor { atom: Atom::Group(Box::new(Sum::term(inner))), power: 2 };
        // The term sums k itself: `sum_kl [k = l] a_l (sum_l b_kl)^2 = sum_l a_l (sum_m b_lm)^2`.
        for sums in [vec![k, l], vec![m]] {
            let summed = sums.contains(&k);
            let term = Term { sums, factors: vec![value(a, &[l]), group.clone()], ..Term::number(1.0) };
            let out = replaced(&mut symbols, &term, k, l);
            assert_eq!(out.sums, if summed { vec![l] } else { vec![m] });
            assert_eq!(out.factors[0], value(a, &[l]));
            let Atom::Group(inner) = &out.factors[1].atom else { panic!("a group") };
            let [Term { sums, factors, .. }] = &inner.terms[..] else { panic!("one term") };
            let [within] = sums[..] else { panic!("one sum") };
            assert!(![k, l].contains(&within));
            assert_eq!(factors[..], [value(b, &[l, within])]);
        }
    }

    #[test]
    fn renaming_leaves_a_letter_outside_of_the_sum_alone() {
        let (mut symbols, [k, l, _], [a, b]) = world();
        let inner = Term { sums: vec![l], factors: vec![value(b, &[k, l])], ..Term::number(1.0) };
        let group = Factor { atom: Atom::Group(Box::new(Sum::term(inner))), power: 2 };
        let term = Term { factors: vec![value(a, &[l]), group], ..Term::number(1.0) };
        let out = rename_apart(&mut symbols, &term, &[l]);
        assert_eq!(out.factors[0], value(a, &[l]));
        assert_eq!(out.free_letters(&symbols), [l, k]);
    }
}
