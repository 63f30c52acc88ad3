//! What weighs the classes of the index latents that select what an entry reads, and what the fit was given of an entry.
//!
//! The prediction of an entry that reads `mu[z[n]]` is `sum_c w_c p(y | mu[c])`. The weights are those of the factor of q, `w_c = q(z[n] = c)`: it holds what
//! all that was given tells of the class. Where nothing tells of it, `q(z[n] = c)` is `exp E log p(z[n] = c)` made to sum to 1, while its own statement has the
//! expectation of the probability itself: `w_c = E p(z[n] = c)`. That is so of a class which belongs to an entry alone, if
//!
//! - the entry was not given, and neither was a part of its units (counts that are thinned leave theirs behind); or it is scored as it is, and is not
//!   to be predicted by itself,
//! - and the class is neither observed (an index with missing values) nor held (`fixed`).
//!
//! Where the statement of such a class is itself chosen by a class, `z[n] ~ Categorical(theta[g[n]])`, that one is summed out beside it: the weight of
//! a choice of both is `w_b E theta[b, c]`, with the weights of g[n] found in the same way.
//!
//! Each unit of a row of weight has a class of its own, of which the units that were given do not tell: its weights are those of the statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use cavi_algebra::{ArrayId, ArrayKind, LetterId, Mode, Subscript, Sum, Symbols};
use cavi_derivation::copy::{Copy, Selection};
use cavi_executor::{Bound, BoundArray};
use cavi_model::Statement;

use super::batch::{Batch, Place};
use super::predict::{Part, Predictor, latents_in, unflat};
use crate::bind::Hidden;
use crate::means::mean;

/// More combinations of classes are not summed out for the sake of a class whose statement is chosen by others: its factor of q is read instead.
const MOST_COMBINATIONS: usize = 1 << 10;

/// How many of some entries the fit was given, as a whole or some of their units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    All,
    Some,
    None,
}

/// How many of the entries that are to be predicted are among the data, as a whole or with some of their units.
pub(crate) fn given(symbols: &Symbols, bound: &Bound, hidden: &Hidden) -> Given {
    if hidden.odds.is_some() || hidden.with_zeros {
        return Given::All;
    }
    let array = symbols.array(hidden.array);
    let (shape, data) = (bound.shape(symbols, hidden.array), bound.array(hidden.array));
    // Of slices that are hidden as a whole the first elements.
    let whole = hidden.coordinates.len() < array.letters.len();
    let is_given = |entry: usize| {
        let mut columns = hidden.coordinates.iter();
        let place: Vec<usize> = array
            .slice
            .iter()
            .map(|slice| match whole && *slice {
                true => 0,
                false => columns.next().map_or(0, |column| column[entry] as usize),
            })
            .collect();
        data.entry(&shape, &place).1
    };
    let count = hidden.coordinates.first().map_or(usize::from(!hidden.values.is_empty()), Vec::len);
    match (0..count).filter(|entry| is_given(*entry)).count() {
        0 => Given::None,
        given if given == count => Given::All,
        _ => Given::Some,
    }
}

/// Whether an array is scored as it was given: nothing was taken out of it, since what is fitted to it tells nothing of it.
pub(crate) fn is_as_given(symbols: &Symbols, bound: &Bound, hidden: &Hidden) -> bool {
    hidden.odds.is_none() && hidden.weights.is_none() && given(symbols, bound, hidden) != Given::None
}

/// What weighs the classes of an index latent.
#[derive(Clone)]
pub(super) enum Weights {
    /// Its factor of q.
    Factor(Factor),
    /// Its own statement.
    Statement(Prior),
    /// Its factor at entries where what was given tells of the class (`of_entry`: the entry itself does), else its statement.
    ByEntry { factor: Factor, statement: Prior, of_entry: bool },
}

/// The probabilities of a factor of q.
#[derive(Clone)]
pub(super) struct Factor {
    /// The sizes of the dimensions of the latent.
    sizes: Vec<usize>,
    /// In C order of the dimensions, the classes last.
    values: Arc<[f64]>,
    classes: usize,
}

/// The probabilities of a statement.
#[derive(Clone)]
pub(super) struct Prior {
    letters: Vec<LetterId>,
    probabilities: Sum,
    /// The letter of the class.
    class: LetterId,
}

impl Weights {
    /// The probabilities of the statement, where they are read.
    pub fn probabilities(&self) -> Option<&Sum> {
        match self {
            Weights::Factor(_) => None,
            Weights::Statement(own) | Weights::ByEntry { statement: own, .. } => Some(&own.probabilities),
        }
    }
}

impl Predictor<'_> {
    /// How many of the entries that are scored tell of classes that belong to them: those that are thinned. What is hidden as a whole tells nothing, and
    /// what is scored as it is must not.
    pub(super) fn given_of_scored(hidden: &Hidden) -> Given {
        if hidden.odds.is_some() { Given::All } else { Given::None }
    }

    /// The weights of all index latents that select what an entry reads.
    ///
    /// # Errors
    /// In words, why there are none.
    pub(super) fn all_weights(
        &self,
        statement: &Statement,
        copy: &mut Copy,
        given: Given,
    ) -> Result<Vec<Weights>, String> {
        let mut weights: Vec<Weights> = Vec::new();
        // A statement that is chosen by a class adds the selections of that class.
        while let Some(selection) = copy.selections.get(weights.len()).cloned() {
            let own = self.weights(statement, copy, &selection, given);
            weights.push(own.ok_or("an index latent of it has no factor of q that could be read")?);
        }
        Ok(weights)
    }

    /// The weights of an index latent; `None` where there are none.
    fn weights(
        &self,
        statement: &Statement,
        copy: &mut Copy,
        selection: &Selection,
        given: Given,
    ) -> Option<Weights> {
        let factor = || {
            let factor = mean(self.equations, self.bound, self.parameters, selection.index)?;
            let (classes, sizes) = factor.shape.split_last()?;
            Some(Factor { sizes: sizes.to_vec(), values: factor.values.into(), classes: *classes })
        };
        let is_fixed = self
            .equations
            .block_of(selection.index)
            .is_some_and(|block| self.equations.block(block).mode == Mode::Fixed);
        if is_fixed || !self.belongs_to_entry(statement, copy, selection) {
            return factor().map(Weights::Factor);
        }
        let is_told = given != Given::None || self.bound.arrays[selection.index.index()].is_some();
        let factor_if_told = if is_told { factor() } else { None };
        if given == Given::All && factor_if_told.is_some() {
            return factor_if_told.map(Weights::Factor);
        }
        match (factor_if_told, self.prior(copy, selection)) {
            (Some(factor), Some(statement)) => {
                Some(Weights::ByEntry { factor, statement, of_entry: given != Given::None })
            }
            (None, Some(statement)) => Some(Weights::Statement(statement)),
            (Some(factor), None) => Some(Weights::Factor(factor)),
            (None, None) => factor().map(Weights::Factor),
        }
    }

    /// The statement of an index latent; `None` where its probabilities cannot be read alone.
    fn prior(&self, copy: &mut Copy, selection: &Selection) -> Option<Prior> {
        let own = self.model.statement_of(selection.index)?;
        let prior = self.copy_on(&copy.symbols, own).ok()?;
        let [Some(probabilities)] = prior.arguments.as_slice() else { return None };
        let size = |selection: &Selection| self.bound.size_of(&prior.symbols, selection.class);
        let combinations = copy.selections.iter().chain(&prior.selections).map(size).product::<usize>();
        if combinations > MOST_COMBINATIONS {
            return None;
        }
        let letters: Vec<(LetterId, Subscript)> =
            own.plates.iter().copied().zip(selection.subscripts.iter().cloned()).collect();
        let there = |selection: &Selection| Selection {
            subscripts: selection.subscripts.iter().map(|own| replaced(own, &letters)).collect(),
            ..selection.clone()
        };
        let chosen: Vec<Selection> = prior.selections.iter().map(there).collect();
        // Each of them needs weights of its own.
        let has_factor = |selection: &Selection| {
            let block = self.equations.block_of(selection.index);
            block.is_some_and(|block| self.equations.block(block).mode != Mode::Implicit)
        };
        if !chosen.iter().all(has_factor) {
            return None;
        }
        copy.symbols = prior.symbols;
        copy.selections.extend(chosen);
        Some(Prior {
            letters: own.plates.clone(),
            probabilities: probabilities.value.clone(),
            class: probabilities.letters[0],
        })
    }

    /// Whether a prediction reads a latent that has no factor of q among the parameters. Where the fit was given some of the entries, or parts of
    /// them, it reads the factors of index latents that belong to the entry alone; else their statements.
    pub(super) fn reads_implicit(&self, statement: &Statement, copy: &Copy, given: Given) -> bool {
        let is_implicit = |array: ArrayId| match self.equations.block_of(array) {
            Some(stored) => self.equations.block(stored).mode == Mode::Implicit,
            None => self.model.symbols.array(array).kind == ArrayKind::Latent,
        };
        let mut found = copy.selections.iter().any(|selection| {
            let is_told = given != Given::None || self.bound.arrays[selection.index.index()].is_some();
            is_implicit(selection.index) && (is_told || !self.belongs_to_entry(statement, copy, selection))
        });
        for argument in copy.arguments.iter().flatten() {
            latents_in(&argument.value, &mut |array| found |= is_implicit(array));
        }
        found
    }

    /// Whether a latent has an element for each entry of the data, and nothing reads it but what the entry selects.
    fn belongs_to_entry(&self, statement: &Statement, copy: &Copy, selection: &Selection) -> bool {
        // Of `z[item[t]]` all `t` of an item have one element.
        let letters = selection.subscripts.iter().filter_map(|subscript| match subscript {
            Subscript::Letter(letter) => Some(*letter),
            Subscript::Index(..) => None,
        });
        let own: BTreeSet<LetterId> = letters.flat_map(|letter| copy.symbols.lineage(letter)).collect();
        let reads = |other: &Statement| {
            let mut found = false;
            for argument in other.arguments.iter().flatten() {
                argument.value.visit_values(&mut |array, _| found |= array == selection.index);
            }
            found
        };
        statement.plates.iter().all(|letter| own.contains(letter))
            && !self.model.statements.iter().any(|other| {
                let selects = copy.selections.iter().any(|own| own.index == other.target);
                other.target != statement.target && !selects && reads(other)
            })
    }

    /// Calls `visit` with every choice of the classes that select what entries read, and the weight of that choice at each entry: the
    /// product of the weights of its classes, since index latents are independent under q. One latent that is reached in two ways
    /// at an entry, as `g[z[i]]` and `g[z[j]]` where both are of one class, has one class: it counts once, and the weight is 0
    /// where the two differ.
    pub(super) fn each_selection(
        &self,
        part: &Part<'_>,
        batch: &mut Batch<'_>,
        visit: &mut dyn FnMut(&mut Batch<'_>, &[f64]),
    ) {
        let size = |selection: &Selection| self.bound.size_of(&part.copy.symbols, selection.class);
        let sizes: Vec<usize> = part.copy.selections.iter().map(size).collect();
        for combination in 0..sizes.iter().product() {
            let classes = unflat(&sizes, combination);
            let mut weight = vec![1.0; batch.count()];
            // The statement of one class may be chosen by another.
            for (selection, class) in part.copy.selections.iter().zip(&classes) {
                batch.place(selection.class, Place::One(*class));
            }
            for (place, (selection, weights)) in part.copy.selections.iter().zip(&part.weights).enumerate() {
                let class = classes[place];
                let mut own = self.weight(part, batch, (selection, weights), class);
                let before = part.copy.selections[..place].iter().zip(&classes);
                for (other, chosen) in before.filter(|(other, _)| other.index == selection.index) {
                    let alone = f64::from(u8::from(*chosen == class));
                    let same = is_same_element(batch, selection, other);
                    own.iter_mut().zip(same).filter(|(_, same)| *same).for_each(|(own, _)| *own = alone);
                }
                weight.iter_mut().zip(own).for_each(|(weight, own)| *weight *= own);
            }
            visit(batch, &weight);
        }
    }

    /// The weight of a class at each entry.
    fn weight(
        &self,
        part: &Part<'_>,
        batch: &mut Batch<'_>,
        (selection, weights): (&Selection, &Weights),
        class: usize,
    ) -> Vec<f64> {
        let count = batch.count();
        let places: Vec<Place> =
            selection.subscripts.iter().map(|subscript| batch.position(subscript)).collect();
        match weights {
            Weights::Factor(factor) => factor.at(&places, class, count),
            Weights::Statement(statement) => statement.at(batch, places, class),
            Weights::ByEntry { factor, statement, of_entry } => {
                let told = self.told(part, batch, (selection, &places), *of_entry);
                let by_factor = factor.at(&places, class, count);
                let mut own = statement.at(batch, places, class);
                let all = own.iter_mut().zip(by_factor).zip(told);
                all.filter(|(_, told)| *told).for_each(|((own, factor), _)| *own = factor);
                own
            }
        }
    }

    /// At which entries what was given tells of the class of an index latent.
    fn told(
        &self,
        part: &Part<'_>,
        batch: &Batch<'_>,
        (selection, places): (&Selection, &[Place]),
        of_entry: bool,
    ) -> Vec<bool> {
        let mut told = vec![false; batch.count()];
        let mut mark = |array: ArrayId, data: &BoundArray, places: &[Place]| {
            let shape = self.bound.shape(&self.model.symbols, array);
            for (entry, told) in told.iter_mut().enumerate() {
                let place: Vec<usize> = places.iter().map(|place| at(place, entry)).collect();
                *told |= data.entry(&shape, &place).1;
            }
        };
        if let Some(data) = &self.bound.arrays[selection.index.index()] {
            mark(selection.index, data, places);
        }
        if of_entry {
            // Of a slice that is one observation the first element.
            let mut letters = part.letters.iter();
            let own: Vec<Place> = part
                .slices
                .iter()
                .map(|slice| match (slice, slice.is_none().then(|| letters.next()).flatten()) {
                    (None, Some(letter)) => batch.position(&Subscript::Letter(*letter)),
                    _ => Place::One(0),
                })
                .collect();
            mark(part.hidden.array, self.bound.array(part.hidden.array), &own);
        }
        told
    }
}

impl Factor {
    /// The probability of a class at each entry.
    fn at(&self, places: &[Place], class: usize, count: usize) -> Vec<f64> {
        let own = |entry: usize| {
            let own = places.iter().zip(&self.sizes);
            let row = own.fold(0, |row, (place, size)| row * size + at(place, entry));
            self.values[row * self.classes + class]
        };
        (0..count).map(own).collect()
    }
}

impl Prior {
    /// The probability of a class at each entry.
    fn at(&self, batch: &mut Batch<'_>, places: Vec<Place>, class: usize) -> Vec<f64> {
        let count = batch.count();
        let before = batch.places();
        for (letter, place) in self.letters.iter().zip(places) {
            batch.place(*letter, place);
        }
        batch.place(self.class, Place::One(class));
        let own = batch.sum(&self.probabilities).spread(count);
        batch.put_back(before);
        own
    }
}

/// A subscript with others in the places of its letters.
fn replaced(subscript: &Subscript, letters: &[(LetterId, Subscript)]) -> Subscript {
    match subscript {
        Subscript::Letter(letter) => {
            let own = letters.iter().find(|(own, _)| own == letter);
            own.map_or_else(|| subscript.clone(), |(_, there)| there.clone())
        }
        Subscript::Index(array, inner) => {
            Subscript::Index(*array, inner.iter().map(|own| replaced(own, letters)).collect())
        }
    }
}

fn at(place: &Place, entry: usize) -> usize {
    match place {
        Place::One(position) => *position,
        Place::Each(positions) => positions[entry] as usize,
    }
}

/// At which entries two selections by one index latent are by the same element of it.
fn is_same_element(batch: &Batch<'_>, one: &Selection, other: &Selection) -> Vec<bool> {
    let mut same = vec![true; batch.count()];
    for (one, other) in one.subscripts.iter().zip(&other.subscripts) {
        let (one, other) = (batch.position(one), batch.position(other));
        let all = same.iter_mut().enumerate();
        all.for_each(|(entry, same)| *same &= at(&one, entry) == at(&other, entry));
    }
    same
}
