//! How often an entry of data counts: the product of the multiplicities whose letters are those of its row.

use cavi_algebra::{Atom, LetterId, Subscript, Symbols};
use cavi_derivation::multiplicities_of;
use cavi_executor::{Bound, BoundArray};
use cavi_model::Statement;

use crate::heldout::placed_letters;

/// The multiplicities of the rows of a statement, found by the position of an entry in each of its dimensions.
pub(crate) struct RowWeights<'a> {
    factors: Vec<Factor<'a>>,
}

/// One of them.
struct Factor<'a> {
    array: &'a BoundArray,
    shape: Vec<usize>,
    /// For each of its dimensions that of the entry, and the parents to go up through from there: of `m[d]` the group of `t` in `y[d, t]`.
    ways: Vec<(usize, Vec<&'a [usize]>)>,
}

impl<'a> RowWeights<'a> {
    /// Those of the data or the latent of a statement; an entry has a position for each dimension of its array.
    pub fn of_statement(symbols: &Symbols, bound: &'a Bound, statement: &Statement) -> RowWeights<'a> {
        let letters = placed_letters(statement, &symbols.array(statement.target).slice, false);
        RowWeights::of(symbols, bound, &multiplicities_of(symbols, statement), &letters)
    }

    /// Those of a copy, whose entries have a position for each of these letters.
    pub fn of(
        symbols: &Symbols,
        bound: &'a Bound,
        multiplicities: &[Atom],
        letters: &[LetterId],
    ) -> RowWeights<'a> {
        let way = |wanted: LetterId| {
            let found = letters.iter().enumerate().find_map(|(place, letter)| {
                let lineage = symbols.lineage(*letter);
                let steps = lineage.iter().position(|own| *own == wanted)?;
                let parents = lineage[..steps].iter().map(|own| {
                    let axis = &bound.axes[symbols.letter(*own).axis.index()];
                    axis.parent.as_deref().expect("a ragged axis has parents")
                });
                Some((place, parents.collect()))
            });
            found.expect("a multiplicity runs along plates of its statement")
        };
        let factors = multiplicities.iter().map(|atom| {
            let Atom::Value(array, subscripts) = atom else { unreachable!("a multiplicity is an array") };
            let ways = subscripts.iter().map(|own| match own {
                Subscript::Letter(letter) => way(*letter),
                Subscript::Index(..) => unreachable!("a multiplicity is written with letters"),
            });
            Factor { array: bound.array(*array), shape: bound.shape(symbols, *array), ways: ways.collect() }
        });
        RowWeights { factors: factors.collect() }
    }

    /// The dimensions of an entry along which they run; none where rows have no multiplicity.
    pub fn dimensions(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|factor| &factor.ways).map(|(dimension, _)| *dimension).collect()
    }

    /// How often an entry counts; 1 where its rows have no multiplicity.
    pub fn at(&self, place: impl Fn(usize) -> usize) -> f64 {
        let of = |factor: &Factor<'_>| {
            let position = |(dimension, parents): &(usize, Vec<&[usize]>)| {
                parents.iter().fold(place(*dimension), |own, parents| parents[own])
            };
            let own: Vec<usize> = factor.ways.iter().map(position).collect();
            factor.array.entry(&factor.shape, &own).0
        };
        if self.factors.is_empty() { 1.0 } else { self.factors.iter().map(of).product() }
    }
}
