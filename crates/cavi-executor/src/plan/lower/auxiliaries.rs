//! Auxiliary variables of tangents: the root of an expected square for each copy, over the listed entries of sparse
//! data. If there are more copies than data and parameters (because of unlisted zeros), none is stored; see
//! `run/stream.rs`.

use cavi_algebra::rules::{Substitution, substitute};
use cavi_algebra::{Atom, AuxiliaryId, BlockId, Factor, LetterId, Subscript, Sum, Term};

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
        let square = self.sum(&own.square, &domain, None);
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

    /// The sparse array whose listed entries are all the copies that are observed, with its letters.
    fn listed_entries(&self, square: &Sum) -> Option<(cavi_algebra::ArrayId, Vec<LetterId>)> {
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
