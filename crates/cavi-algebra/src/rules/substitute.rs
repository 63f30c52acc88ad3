//! Letters for letters: `f(k) [k := l] = f(l)`, without capture.

use std::collections::BTreeMap;

use crate::expression::Subscript;
use crate::sum_of_products::{Sum, Term};
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

/// Replaces free letters of a term. The letters of `map` must not be summed in the term, and no letter of a replacement
/// may be summed anywhere in it (call [`rename_apart`] first). A ragged letter whose parent is replaced gets a fresh copy
/// with the new parent; where the replacement of a ragged letter is a letter, its ancestors follow.
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
    let mut out = term.clone();
    // Ragged letters below a replaced parent.
    let mut present = out.sums.clone();
    out.visit_subscripts(&mut |subscript| subscript.letters(&mut present));
    collect_sums(&Sum::term(out.clone()), &mut present);
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
    rename_sums(&mut out, &map);
    for factor in &mut out.factors {
        factor.atom.map_subscripts(&mut |subscript| in_subscript(subscript, &map));
    }
    out
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
