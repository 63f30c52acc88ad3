//! Auxiliary variables of tangents: the root of an expected square for each copy, over the listed entries of sparse
//! data. If there are more copies than data and parameters (because of unlisted zeros), none is stored; see
//! `run/stream.rs`. And what is read on the diagonal: auxiliary variables, sparse arrays.

use cavi_algebra::rules::{Substitution, substitute};
use cavi_algebra::{ArrayId, Atom, AuxiliaryId, BlockId, Factor, LetterId, Subscript, Sum, Term};

use super::scope::entry_of;
use super::{Dim, Lowering, Unplanned};
use crate::data::BoundArray;
use crate::plan::tensor::{Elementwise, NodeId, Operation};

impl<'a> Lowering<'a, '_> {
    /// An auxiliary variable as an array. In an update (`target` given) it is that of the last refresh.
    pub(super) fn auxiliary(
        &mut self,
        id: AuxiliaryId,
        plates: &[Subscript],
        target: Option<BlockId>,
    ) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let equations = self.equations;
        let own = equations.auxiliary(id);
        if let Some(found) = self.auxiliary_of_diagonal(id, plates, target)? {
            return Ok(found);
        }
        let mut letters: Vec<LetterId> = own.plates.clone();
        letters.retain(|letter| {
            !own.plates.iter().any(|other| other != letter && self.symbols.lineage(*other).contains(letter))
        });
        let mut domain = Vec::new();
        let mut subscripts = Vec::new();
        if let Some((array, entries)) = self.listed_entries(&own.square) {
            letters.retain(|letter| !entries.contains(letter));
            subscripts.push(entry_of(array, &entries));
            domain.push(Dim::Entries(array, entries));
        }
        subscripts.extend(letters.iter().map(|letter| Subscript::Letter(*letter)));
        domain.extend(letters.into_iter().map(Dim::Letter));
        let size = domain.iter().fold(1_usize, |size, dim| size.saturating_mul(self.size(dim)));
        // There are too many to store. They are computed a few rows at a time, from the expectations of the last
        // refresh.
        let streaming = size > self.limit;
        let outer = (self.streaming, self.holding);
        let held = target.is_some() || outer.1;
        (self.streaming, self.holding) = (streaming, streaming && held);
        let square = match streaming {
            true => self.sum(&self.unrestricted(id), &domain, None),
            false => self.sum(&own.square, &domain, None),
        };
        (self.streaming, self.holding) = outer;
        let square = square?;
        let loops = self.loops(square);
        let mut node = self.node(Operation::Map(Elementwise::Root, square), loops.clone(), Vec::new);
        if held && !streaming {
            node = self.node(Operation::Held(node), loops, Vec::new);
        }
        // From the letters of the square to the subscripts of this copy.
        let map: Substitution = own.plates.iter().copied().zip(plates.iter().cloned()).collect();
        let carried = subscripts.iter().map(|own| Factor::of(Atom::Equal(own.clone(), own.clone())));
        let carried = Term { factors: carried.collect(), ..Term::number(1.0) };
        let moved = substitute(&mut self.symbols, &carried, &map);
        let subscripts = moved.factors.into_iter().map(|factor| match factor.atom {
            Atom::Equal(left, _) => left,
            _ => unreachable!("the carrier holds equalities only"),
        });
        Ok((node, subscripts.collect()))
    }

    /// `xi[i, i]` of more copies than are kept: these few are worked out for themselves. `None` for any other.
    fn auxiliary_of_diagonal(
        &mut self,
        id: AuxiliaryId,
        plates: &[Subscript],
        target: Option<BlockId>,
    ) -> Result<Option<(NodeId, Vec<Subscript>)>, Unplanned> {
        let own = self.equations.auxiliary(id);
        let sizes = own.plates.iter().map(|letter| self.bound.size_of(&self.symbols, *letter));
        let is_kept = sizes.fold(1_usize, usize::saturating_mul) <= self.limit;
        let mut letters: Vec<LetterId> = Vec::new();
        for plate in plates {
            let Subscript::Letter(letter) = plate else { return Ok(None) };
            if !letters.contains(letter) {
                letters.push(*letter);
            }
        }
        if is_kept || letters.len() == plates.len() || self.listed_entries(&own.square).is_some() {
            return Ok(None);
        }
        let map: Substitution = own.plates.iter().copied().zip(plates.iter().cloned()).collect();
        let square = self.unrestricted(id);
        let terms = square.terms.iter().map(|term| substitute(&mut self.symbols, term, &map));
        let square = Sum { terms: terms.collect() };
        let symbols = &self.symbols;
        let is_above =
            |letter: &LetterId, other: &LetterId| other != letter && symbols.lineage(*other).contains(letter);
        let innermost: Vec<LetterId> = letters
            .iter()
            .filter(|letter| !letters.iter().any(|other| is_above(letter, other)))
            .copied()
            .collect();
        let square = self.sum_over_letters(&square, &innermost)?;
        let loops = self.loops(square);
        let mut node = self.node(Operation::Map(Elementwise::Root, square), loops.clone(), Vec::new);
        if target.is_some() || self.holding {
            node = self.node(Operation::Held(node), loops, Vec::new);
        }
        Ok(Some((node, innermost.into_iter().map(Subscript::Letter).collect())))
    }

    /// The square of an auxiliary variable without the restriction to some of its copies: the others are read nowhere, or taken off again,
    /// so that they may be anything finite.
    fn unrestricted(&self, id: AuxiliaryId) -> Sum {
        let own = self.equations.auxiliary(id);
        let is_plate =
            |subscript: &Subscript| own.plates.iter().any(|plate| *subscript == Subscript::Letter(*plate));
        let restricts = |factor: &Factor| match &factor.atom {
            Atom::Different(left, right) | Atom::Less(left, right) => is_plate(left) && is_plate(right),
            _ => false,
        };
        let mut free = own.square.clone();
        drop_factors(&mut free, &restricts);
        if free.terms.iter().any(|term| self.has_pole(term)) { own.square.clone() } else { free }
    }

    /// An auxiliary variable that stands at the listed entries of an array has no copy elsewhere, and so none by one letter
    /// alone. Where two of its subscripts are one letter, the second becomes a letter of its own:
    /// `o[i,i] f(xi[i,i]) = sum_j o[i,j] f(xi[i,j]) [i = j]`, with o the array or its mask. So does `x[i,i] = sum_j x[i,j] [i = j]` of a
    /// sparse array too large to be filled out.
    pub(super) fn letters_apart(&mut self, mut term: Term) -> Term {
        // Of an array that is read further in, the sum that reads it is a term of its own.
        let large = |own: &Self, term: &Term| {
            let found = term.factors.iter().filter_map(|factor| own.large_driver(factor));
            found.into_iter().find_map(|(array, subscripts)| twice(array, &subscripts, &[]))
        };
        while let Some((array, first, second, letter)) =
            large(self, &term).or_else(|| self.read_at_one_letter(&term, &[]))
        {
            let own = self.symbols.letter(letter).parent;
            let fresh = self.symbols.fresh(letter, own);
            self.move_apart(&mut term, array, (first, second), (letter, fresh), &[]);
            term.sums.push(fresh);
            term.factors.push(Factor::of(Atom::Equal(Subscript::Letter(letter), Subscript::Letter(fresh))));
        }
        term
    }

    /// An array at whose entries an auxiliary variable stands that is read with one letter in two of the array's dimensions:
    /// the array, the dimensions and the letter. A letter that is summed further in is left to the sum that it belongs to.
    fn read_at_one_letter(
        &self,
        term: &Term,
        inside: &[LetterId],
    ) -> Option<(ArrayId, usize, usize, LetterId)> {
        term.factors.iter().find_map(|factor| {
            if let Atom::Auxiliary { id, plates } = &factor.atom
                && let Some((array, places)) = self.places_of_entries(*id)
            {
                let at: Vec<Subscript> = places.iter().map(|place| plates[*place].clone()).collect();
                let found = twice(array, &at, inside);
                if found.is_some() {
                    return found;
                }
            }
            factor.atom.nested().into_iter().flat_map(|sum| &sum.terms).find_map(|nested| {
                self.read_at_one_letter(nested, &[inside, nested.sums.as_slice()].concat())
            })
        })
    }

    /// A sparse array, too large to be filled out, whose listed entries a factor restricts its letters to.
    pub(super) fn large_driver(&self, factor: &Factor) -> Option<(ArrayId, Vec<Subscript>)> {
        self.driver(factor).filter(|(array, _)| self.is_sparse(*array) && self.cells(*array) > self.limit)
    }

    /// Writes a letter anew in the second of two dimensions of an array, its mask and the auxiliary variables at its entries,
    /// wherever it stands in both.
    fn move_apart(
        &self,
        term: &mut Term,
        array: ArrayId,
        (first, second): (usize, usize),
        (letter, fresh): (LetterId, LetterId),
        inside: &[LetterId],
    ) {
        let one = Subscript::Letter(letter);
        for factor in &mut term.factors {
            let here = match &factor.atom {
                Atom::Auxiliary { id, .. } => self
                    .places_of_entries(*id)
                    .filter(|(own, _)| *own == array)
                    .map(|(_, places)| (places[first], places[second])),
                Atom::Value(own, _) | Atom::Observed(own, _) => (*own == array).then_some((first, second)),
                _ => None,
            };
            if let (Some((first, second)), false) = (here, inside.contains(&letter))
                && let Atom::Auxiliary { plates: subscripts, .. }
                | Atom::Value(_, subscripts)
                | Atom::Observed(_, subscripts) = &mut factor.atom
                && subscripts[first] == one
                && subscripts[second] == one
            {
                subscripts[second] = Subscript::Letter(fresh);
            }
            for nested in factor.atom.nested_mut().into_iter().flat_map(|sum| &mut sum.terms) {
                let inside = [inside, nested.sums.as_slice()].concat();
                self.move_apart(nested, array, (first, second), (letter, fresh), &inside);
            }
        }
    }

    /// Of an auxiliary variable at the listed entries of an array, the array, and for each of its dimensions the plate that
    /// runs over it.
    fn places_of_entries(&self, id: AuxiliaryId) -> Option<(ArrayId, Vec<usize>)> {
        let own = self.equations.auxiliary(id);
        let (array, entries) = self.listed_entries(&own.square)?;
        let places: Option<Vec<usize>> =
            entries.iter().map(|letter| own.plates.iter().position(|plate| plate == letter)).collect();
        Some((array, places?))
    }

    /// The sparse array whose listed entries are all the copies that are observed, with its letters.
    fn listed_entries(&self, square: &Sum) -> Option<(ArrayId, Vec<LetterId>)> {
        let (first, others) = square.terms.split_first()?;
        let everywhere = |factor: &&Factor| others.iter().all(|other| other.factors.contains(factor));
        first.factors.iter().filter(everywhere).find_map(|factor| {
            let Atom::Observed(array, subscripts) = &factor.atom else { return None };
            let bound = self.bound.array(*array);
            let listed = matches!(bound, BoundArray::Sparse { unlisted_zero: false, .. });
            let letters: Option<Vec<LetterId>> = subscripts
                .iter()
                .map(|subscript| match subscript {
                    Subscript::Letter(letter) => Some(*letter),
                    Subscript::Index(..) => None,
                })
                .collect();
            // Of one letter, nested sums run over all its values (`Lowering::inner`).
            let letters = letters.filter(|letters| {
                letters.len() > 1
                    && letters.iter().enumerate().all(|(place, letter)| !letters[..place].contains(letter))
            })?;
            (listed && bound.has_missing()).then_some((*array, letters))
        })
    }
}

/// Takes factors out of a sum, and of the sums in it.
fn drop_factors(sum: &mut Sum, is_dropped: &dyn Fn(&Factor) -> bool) {
    for term in &mut sum.terms {
        term.factors.retain(|factor| !is_dropped(factor));
        let nested = term.factors.iter_mut().flat_map(|factor| factor.atom.nested_mut());
        nested.for_each(|sum| drop_factors(sum, is_dropped));
    }
}

/// Two dimensions of an array that are read at one letter, which is none of those that are summed further in.
fn twice(array: ArrayId, at: &[Subscript], inside: &[LetterId]) -> Option<(ArrayId, usize, usize, LetterId)> {
    (1..at.len()).find_map(|second| {
        let Subscript::Letter(letter) = at[second] else { return None };
        let first = at[..second].iter().position(|own| *own == at[second])?;
        (!inside.contains(&letter)).then_some((array, first, second, letter))
    })
}
