//! The letters of a term: which loop each belongs to, and which sparse array drives it.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayId, ArrayKind, Atom, Factor, Function, LetterId, Subscript, Support, Symbols, Term};

use super::{Dim, Lowering, Scope, Unplanned};
use crate::data::BoundArray;
use crate::plan::tensor::{Along, Index, MapId};

/// The number of an entry of a pattern by its letters, not the value that stands there, which index data have as well: the
/// first letter is repeated, and no subscript of a program has more of its own than the array has dimensions.
pub(super) fn entry_of(array: ArrayId, letters: &[LetterId]) -> Subscript {
    Subscript::Index(
        array,
        letters.iter().chain(letters.first()).map(|own| Subscript::Letter(*own)).collect(),
    )
}

/// Puts a subscript in the place of another, wherever it stands in one.
fn replace_within(own: &mut Subscript, old: &Subscript, new: &Subscript) {
    if own == old {
        *own = new.clone();
    } else if let Subscript::Index(_, inner) = own {
        inner.iter_mut().for_each(|inner| replace_within(inner, old, new));
    }
}

/// Reads an element of an array elsewhere, wherever a term reads it, its nested sums included.
fn replace_element(term: &mut Term, array: ArrayId, old: &[Subscript], new: &[Subscript]) {
    for factor in &mut term.factors {
        if let Atom::Value(own, subscripts) | Atom::Observed(own, subscripts) = &mut factor.atom
            && *own == array
            && subscripts.as_slice() == old
        {
            *subscripts = new.to_vec();
        }
        let nested = factor.atom.nested_mut().into_iter().flat_map(|sum| &mut sum.terms);
        nested.for_each(|term| replace_element(term, array, old, new));
    }
}

/// Index subscripts with more than one subscript of their own, or none.
pub(super) fn wide_indices(symbols: &Symbols, term: &Term) -> Vec<Subscript> {
    fn inside(symbols: &Symbols, subscript: &Subscript, out: &mut Vec<Subscript>) {
        if let Subscript::Index(array, inner) = subscript {
            if inner.len() != 1 && symbols.array(*array).kind != ArrayKind::Latent {
                out.push(subscript.clone());
            }
            inner.iter().for_each(|inner| inside(symbols, inner, out));
        }
    }
    let mut out = Vec::new();
    term.visit_subscripts(&mut |subscript| inside(symbols, subscript, &mut out));
    out
}

impl<'a> Lowering<'a, '_> {
    pub(super) fn scope(&mut self, domain: &[Dim]) -> Scope {
        let mut scope = Scope {
            letters: Vec::new(),
            index: BTreeMap::new(),
            output: Vec::new(),
            pattern: Vec::new(),
            tied: Vec::new(),
            replaced: Vec::new(),
        };
        for dim in domain {
            let letter = scope.letters.len();
            scope.letters.push(self.over(dim));
            scope.output.push(Index::letter(letter));
            match dim {
                Dim::Letter(id) => self.bind(&mut scope, *id, Index::letter(letter)),
                Dim::Entries(array, letters) => {
                    for (column, id) in letters.iter().enumerate() {
                        let map = self.coordinate(*array, column);
                        self.bind(&mut scope, *id, Index { letter, map: Some(map) });
                    }
                    scope.pattern.push((letter, *array, letters.clone()));
                }
            }
        }
        scope
    }

    /// Gives a letter and its ancestors their values, where they have none.
    pub(super) fn bind(&mut self, scope: &mut Scope, letter: LetterId, index: Index) {
        scope.index.entry(letter).or_insert(index);
        let mut index = scope.index[&letter];
        let lineage = self.symbols.lineage(letter);
        for pair in lineage.windows(2) {
            let parent = self.parent_map(pair[0]);
            index = Index { letter: index.letter, map: self.maps.compose(index.map, Some(parent)) };
            scope.index.entry(pair[1]).or_insert(index);
        }
    }

    /// The index of an ancestor of a letter that has an index.
    pub(super) fn of_ancestor(&mut self, letter: LetterId, index: Index, ancestor: LetterId) -> Index {
        let lineage = self.symbols.lineage(letter);
        let steps = lineage.iter().take_while(|own| **own != ancestor);
        steps.fold(index, |index, step| {
            let parent = self.parent_map(*step);
            Index { letter: index.letter, map: self.maps.compose(index.map, Some(parent)) }
        })
    }

    /// From the positions of a ragged letter's axis to those of its parent.
    pub(super) fn parent_map(&mut self, letter: LetterId) -> MapId {
        let axis = self.symbols.letter(letter).axis;
        let parent_axis = self.symbols.axis(axis).parent.expect("a ragged letter's axis has a parent");
        let bound = self.bound;
        let ends = (Along::Axis(axis), self.over_axis(parent_axis));
        self.maps.named(&format!("parent {axis:?}"), ends, || {
            let parent =
                bound.axes[axis.index()].parent.as_ref().expect("a ragged axis is bound with its parents");
            parent.iter().map(|value| *value as u32).collect()
        })
    }

    /// From the listed entries of an array to a coordinate.
    pub fn coordinate(&mut self, array: ArrayId, column: usize) -> MapId {
        let bound = self.bound;
        let shape = bound.shape(&self.symbols, array);
        let to = self.over_array(array)[column];
        let range = to.size;
        let ends = (Along::Entries(array), to);
        self.maps.named(&format!("coordinate {array:?} {column}"), ends, || match bound.array(array) {
            BoundArray::Sparse { indices, .. } => indices[column].clone(),
            BoundArray::Dense { values, .. } => {
                let inner: usize = shape[column + 1..].iter().product();
                (0..values.len()).map(|entry| ((entry / inner.max(1)) % range.max(1)) as u32).collect()
            }
        })
    }

    /// Whether a factor restricts its letters to the listed entries of a sparse array.
    pub(super) fn driver(&self, factor: &Factor) -> Option<(ArrayId, Vec<Subscript>)> {
        match &factor.atom {
            Atom::Value(array, subscripts) if self.is_sparse(*array) => Some((*array, subscripts.clone())),
            Atom::Observed(array, subscripts)
                if matches!(self.bound.array(*array), BoundArray::Sparse { unlisted_zero: false, .. }) =>
            {
                Some((*array, subscripts.clone()))
            }
            Atom::Apply(Function::Power, arguments) if arguments[1].is_zero() => {
                match arguments[0].terms.first().map(|term| &term.factors[0].atom) {
                    Some(Atom::Value(array, subscripts)) => Some((*array, subscripts.clone())),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Makes the listed entries of an array a letter of the loop, from which its subscripts follow.
    pub(super) fn drive(
        &mut self,
        scope: &mut Scope,
        array: ArrayId,
        subscripts: &[Subscript],
        term: &Term,
    ) -> Result<(), Unplanned> {
        let letters: Option<Vec<LetterId>> = subscripts
            .iter()
            .map(|subscript| match subscript {
                Subscript::Letter(letter) => Some(*letter),
                Subscript::Index(..) => None,
            })
            .collect();
        let Some(letters) = letters else { return Ok(()) };
        if scope.pattern.iter().any(|(_, _, known)| letters.iter().all(|letter| known.contains(letter))) {
            return Ok(());
        }
        // Only letters of their own can be replaced: summed ones without a value yet, or plain dimensions of the output.
        let free = |letter: &LetterId| match scope.index.get(letter) {
            None => term.sums.contains(letter),
            Some(index) => {
                index.map.is_none() && !scope.pattern.iter().any(|(own, _, _)| *own == index.letter)
            }
        };
        let distinct = letters.iter().enumerate().all(|(place, letter)| !letters[..place].contains(letter));
        // Where an index gives some of the letters their values, those of the entry have to agree with them; shares stand at the
        // entries and nowhere else, and an array that cannot be filled out is read nowhere else.
        let shares = term.factors.iter().any(|factor| matches!(factor.atom, Atom::Allocation { .. }));
        let indexed = shares
            || matches!(self.symbols.array(array).support, Support::Index(_))
            || self.is_sparse(array) && self.cells(array) > self.limit;
        let known = |letter: &LetterId| indexed && scope.index.contains_key(letter);
        if !distinct || !letters.iter().any(free) || !letters.iter().all(|own| free(own) || known(own)) {
            return Ok(());
        }
        let bound: Vec<bool> = letters.iter().map(|letter| !free(letter)).collect();
        let entry = scope.letters.len();
        scope.letters.push(self.over_entries(array));
        for (column, letter) in letters.iter().enumerate() {
            let map = self.coordinate(array, column);
            let index = Index { letter: entry, map: Some(map) };
            match scope.index.get(letter).copied() {
                Some(known) if bound[column] => scope.tied.push((known, index)),
                Some(old) => self.rebind(scope, old.letter, index),
                None => {
                    self.tie(scope, *letter, index);
                    self.bind(scope, *letter, index);
                }
            }
        }
        scope.pattern.push((entry, array, letters));
        Ok(())
    }

    /// A sparse array that is too large to be filled out is read at its listed entries, also where index data say where:
    /// `x[h[n], j] = sum_i x[i, j] [i = h[n]]`.
    pub(super) fn indices_apart(&mut self, term: &mut Term) {
        let is_index = |own: &Subscript| matches!(own, Subscript::Index(..));
        let read_through = |own: &Self, term: &Term| {
            let mut read = term.factors.iter().filter_map(|factor| own.large_driver(factor));
            read.find(|(_, subscripts)| subscripts.iter().any(is_index))
        };
        while let Some((array, subscripts)) = read_through(self, term) {
            let plain = self.at_letters(array, &subscripts, term);
            replace_element(term, array, &subscripts, &plain);
        }
    }

    /// The subscripts with letters in place of index data, which are to be equal to them.
    fn at_letters(&mut self, array: ArrayId, subscripts: &[Subscript], term: &mut Term) -> Vec<Subscript> {
        let mut plain = subscripts.to_vec();
        for (place, own) in plain.iter_mut().enumerate() {
            if !matches!(own, Subscript::Index(..)) {
                continue;
            }
            let axis = self.symbols.letter(self.symbols.array(array).letters[place]).axis;
            let fresh = Subscript::Letter(self.symbols.fresh_on(axis));
            fresh.letters(&mut term.sums);
            term.factors.push(Factor::of(Atom::Equal(fresh.clone(), std::mem::replace(own, fresh))));
        }
        plain
    }

    /// Index data that stand where other index data say, as `g[p[n], l]`, follow from no loop letter alone, unless one has both `n` and `l`.
    /// The position gets a letter of its own: `b[l, g[p[n], l]] = sum_i b[l, g[i, l]] [i = p[n]]`.
    pub(super) fn positions_apart(&mut self, scope: &Scope, term: &mut Term) {
        // What is read further in is a term of its own.
        let is_plain = |factor: &Factor| factor.atom.nested().is_empty();
        let mut plain = term.clone();
        plain.factors.retain(is_plain);
        for subscript in cavi_algebra::dedup(wide_indices(&self.symbols, &plain)) {
            let Subscript::Index(array, inner) = &subscript else { continue };
            let mut letters = Vec::new();
            inner.iter().for_each(|own| own.letters(&mut letters));
            let loops: BTreeSet<(Option<usize>, LetterId)> = letters
                .iter()
                .map(|letter| match scope.index.get(letter) {
                    Some(index) => (Some(index.letter), letters[0]),
                    None => (None, *letter),
                })
                .collect();
            let apart = |own: &Subscript| matches!(own, Subscript::Index(..));
            if loops.len() < 2 || !inner.iter().any(apart) {
                continue;
            }
            let plain = Subscript::Index(*array, self.at_letters(*array, inner, term));
            for factor in term.factors.iter_mut().filter(|factor| is_plain(factor)) {
                factor.atom.map_subscripts(&mut |own| replace_within(own, &subscript, &plain));
            }
        }
    }

    /// Makes the ancestors of a letter, where they have values already, follow from the index it is about to get. Where
    /// another letter gave them these, the two have to agree.
    pub(super) fn tie(&mut self, scope: &mut Scope, letter: LetterId, index: Index) {
        let lineage = self.symbols.lineage(letter);
        let mut index = index;
        for pair in lineage.windows(2) {
            let parent = self.parent_map(pair[0]);
            index = Index { letter: index.letter, map: self.maps.compose(index.map, Some(parent)) };
            let Some(known) = scope.index.get(&pair[1]).copied() else { continue };
            if known == index {
                continue;
            }
            if known.map.is_some() || scope.pattern.iter().any(|(own, _, _)| *own == known.letter) {
                scope.tied.push((known, index));
                return;
            }
            self.rebind(scope, known.letter, index);
        }
    }

    /// Everything that followed from loop letter `old` follows from `new` instead.
    pub(super) fn rebind(&mut self, scope: &mut Scope, old: usize, new: Index) {
        scope.replaced.push(old);
        let maps = &mut self.maps;
        let tied = scope.tied.iter_mut().flat_map(|(left, right)| [left, right]);
        for index in scope.index.values_mut().chain(&mut scope.output).chain(tied) {
            if index.letter == old {
                *index = Index { letter: new.letter, map: maps.compose(new.map, index.map) };
            }
        }
    }
}
