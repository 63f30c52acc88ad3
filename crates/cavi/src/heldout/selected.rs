//! The classes that select what entries read, and how probable they are.

use cavi_derivation::copy::Selection;

use super::batch::{Batch, Place};
use super::predict::{Part, Predictor, Weights, unflat};

impl Predictor<'_> {
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
            for (place, (selection, weights)) in part.copy.selections.iter().zip(&part.weights).enumerate() {
                let class = classes[place];
                let mut own = self.weight(batch, selection, weights, class);
                let before = part.copy.selections[..place].iter().zip(&classes);
                for (other, chosen) in before.filter(|(other, _)| other.index == selection.index) {
                    let alone = f64::from(u8::from(*chosen == class));
                    let same = is_same_element(batch, selection, other);
                    own.iter_mut().zip(same).filter(|(_, same)| *same).for_each(|(own, _)| *own = alone);
                }
                weight.iter_mut().zip(own).for_each(|(weight, own)| *weight *= own);
                batch.place(selection.class, Place::One(class));
            }
            visit(batch, &weight);
        }
    }

    /// The weight of a class at each entry.
    fn weight(
        &self,
        batch: &mut Batch<'_>,
        selection: &Selection,
        weights: &Weights,
        class: usize,
    ) -> Vec<f64> {
        let count = batch.count();
        let positions: Vec<Place> =
            selection.subscripts.iter().map(|subscript| batch.position(subscript)).collect();
        match weights {
            Weights::Factor { sizes, values, classes } => {
                let at = |entry: usize| {
                    let place = positions.iter().zip(sizes).fold(0, |place, (position, size)| {
                        place * size
                            + match position {
                                Place::One(position) => *position,
                                Place::Each(positions) => positions[entry] as usize,
                            }
                    });
                    values[place * classes + class]
                };
                (0..count).map(at).collect()
            }
            Weights::Statement { letters, probabilities, class: letter } => {
                let before = batch.places();
                for (letter, place) in letters.iter().zip(positions) {
                    batch.place(*letter, place);
                }
                batch.place(*letter, Place::One(class));
                let own = batch.sum(probabilities).spread(count);
                batch.put_back(before);
                own
            }
        }
    }
}

/// At which entries two selections by one index latent are by the same element of it.
fn is_same_element(batch: &Batch<'_>, one: &Selection, other: &Selection) -> Vec<bool> {
    let count = batch.count();
    let mut same = vec![true; count];
    for (one, other) in one.subscripts.iter().zip(&other.subscripts) {
        let (one, other) = (batch.position(one), batch.position(other));
        let at = |place: &Place, entry: usize| match place {
            Place::One(position) => *position,
            Place::Each(positions) => positions[entry] as usize,
        };
        same.iter_mut().enumerate().for_each(|(entry, same)| *same &= at(&one, entry) == at(&other, entry));
    }
    same
}

impl Clone for Weights {
    fn clone(&self) -> Weights {
        match self {
            Weights::Factor { sizes, values, classes } => {
                Weights::Factor { sizes: sizes.clone(), values: values.clone(), classes: *classes }
            }
            Weights::Statement { letters, probabilities, class } => Weights::Statement {
                letters: letters.clone(),
                probabilities: probabilities.clone(),
                class: *class,
            },
        }
    }
}
