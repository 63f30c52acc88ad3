//! How often an entry of data counts: the product of the multiplicities whose letters are those of its row.

use cavi_algebra::{Array, ArrayId, Atom, LetterId, Subscript, Support, Symbols};
use cavi_derivation::multiplicities_of;
use cavi_executor::{Bound, BoundArray};
use cavi_model::{Model, Statement};

use crate::heldout::placed_letters;

/// The multiplicities of the rows of a statement, found by the position of an entry in each of its dimensions.
pub(crate) struct RowWeights<'a> {
    factors: Vec<Factor<'a>>,
}

/// The multiplicities of the entries of an array and the letters of its dimensions: those of the statement whose target it is, else (of what stands on
/// right-hand sides alone) those that run along its own letters and what these are ragged in.
pub(crate) fn of_entries(model: &Model, array: ArrayId) -> (Vec<Atom>, Vec<LetterId>) {
    let symbols = &model.symbols;
    let own = symbols.array(array);
    if let Some(statement) = model.statement_of(array) {
        return (multiplicities_of(symbols, statement), placed_letters(statement, &own.slice, false));
    }
    let along: Vec<LetterId> = own.letters.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
    let axis = |letter: LetterId| symbols.letter(letter).axis;
    let is_free = |letter: LetterId, taken: &[LetterId]| !taken.contains(&letter);
    let atom = |(index, array): (usize, &Array)| {
        let mut taken: Vec<LetterId> = Vec::new();
        for letter in &array.letters {
            let found = along.contains(letter).then_some(*letter);
            let alike =
                || along.iter().copied().find(|own| axis(*own) == axis(*letter) && is_free(*own, &taken));
            let found = found.or_else(alike)?;
            taken.push(found);
        }
        Some(Atom::Value(ArrayId::from(index), taken.into_iter().map(Subscript::Letter).collect()))
    };
    let weights = symbols.arrays.iter().enumerate().filter(|(_, own)| own.support == Support::Multiplicity);
    (weights.filter_map(atom).collect(), own.letters.clone())
}

/// One of them.
#[derive(Clone)]
struct Factor<'a> {
    id: ArrayId,
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
            let shape = bound.shape(symbols, *array);
            Factor { id: *array, array: bound.array(*array), shape, ways: ways.collect() }
        });
        RowWeights { factors: factors.collect() }
    }

    /// The dimensions of an entry along which they run; none where rows have no multiplicity.
    pub fn dimensions(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|factor| &factor.ways).map(|(dimension, _)| *dimension).collect()
    }

    /// Those of which this holds, by the dimensions of an entry along which one runs.
    pub fn part(&self, is_wanted: impl Fn(&[usize]) -> bool) -> RowWeights<'a> {
        let along = |own: &Factor<'_>| own.ways.iter().map(|(dimension, _)| *dimension).collect::<Vec<_>>();
        RowWeights { factors: self.factors.iter().filter(|own| is_wanted(&along(own))).cloned().collect() }
    }

    /// Each of the multiplicities by itself.
    pub fn each(&self) -> Vec<RowWeights<'a>> {
        self.factors.iter().map(|own| RowWeights { factors: vec![own.clone()] }).collect()
    }

    /// The arrays of the multiplicities.
    pub fn arrays(&self) -> impl Iterator<Item = ArrayId> {
        self.factors.iter().map(|own| own.id)
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
