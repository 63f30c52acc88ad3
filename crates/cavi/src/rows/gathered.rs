//! Data at other positions of an axis: rows that are left out, and rows that stand more than once.
//!
//! Each new position is an old one. What is ragged in the axis comes with its parent, and where index data choose positions on the axis
//! (`user[r]`), the rows of these data come with the position that they choose. So every array is gathered along its axes, and an index array
//! that chooses has the numbers of the new positions.

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Support};
use cavi_executor::{Bound, BoundArray, BoundAxis};
use cavi_model::Model;

use super::RowAxes;
use crate::bind::Binding;
use crate::heldout::unflat;

/// An axis along which rows can be taken by themselves.
pub(crate) struct Gathering<'a> {
    pub model: &'a Model,
    pub axis: AxisId,
    /// What runs along rows.
    pub rows: RowAxes<'a>,
    /// For each axis whose rows choose positions: the index array, and the axis on which it chooses.
    choosing: BTreeMap<AxisId, (ArrayId, AxisId)>,
}

/// The positions of new data: for each axis that has others the old position of each new one.
pub(crate) type Positions = BTreeMap<AxisId, Vec<usize>>;

impl<'a> Gathering<'a> {
    /// Along an axis.
    ///
    /// # Errors
    /// In words, how its positions are tied together.
    pub fn along(model: &'a Model, axis: AxisId) -> Result<Gathering<'a>, String> {
        let symbols = &model.symbols;
        let rows = RowAxes::along(model, axis);
        rows.own_latents().map_err(|tie| tie.message.clone())?;
        let mut choosing = BTreeMap::new();
        for (place, array) in symbols.arrays.iter().enumerate() {
            let Support::Index(chosen) = array.support else { continue };
            if array.kind != ArrayKind::Data || !rows.is_row(chosen) {
                continue;
            }
            let own = match array.letters.as_slice() {
                [letter] if symbols.letter(*letter).parent.is_none() => symbols.letter(*letter).axis,
                _ => return Err(format!("`{}` chooses among them in groups", array.name)),
            };
            if choosing.insert(own, (ArrayId::from(place), chosen)).is_some() {
                return Err(format!("each position of `{}` chooses two of them", symbols.axis(own).name));
            }
        }
        Ok(Gathering { model, axis, rows, choosing })
    }

    /// Data whose rows are these old ones, without labels, and the old positions along every axis that has others; those of a ragged axis
    /// are given in the order of their groups.
    pub fn at(&self, binding: &Binding, drawn: Vec<usize>) -> (Binding, Positions) {
        let symbols = &self.model.symbols;
        let bound = &binding.bound;
        let mut positions: Positions = BTreeMap::from([(self.axis, drawn)]);
        // The new positions that rows of index data choose.
        let mut chosen_by: BTreeMap<AxisId, Vec<usize>> = BTreeMap::new();
        let mut axes = bound.axes.clone();
        let drawn = &positions[&self.axis];
        axes[self.axis.index()] = match &bound.axes[self.axis.index()] {
            BoundAxis { starts: Some(starts), parent: Some(parent), .. } => {
                let mut sizes = vec![0; starts.len() - 1];
                drawn.iter().for_each(|old| sizes[parent[*old]] += 1);
                BoundAxis::ragged(&sizes)
            }
            _ => BoundAxis::plain(drawn.len()),
        };
        loop {
            let before = positions.len();
            for (place, own) in symbols.axes.iter().enumerate() {
                let id = AxisId::from(place);
                if positions.contains_key(&id) {
                    continue;
                }
                let above = own.parent.and_then(|parent| positions.get(&parent));
                if let (Some(above), Some(starts)) = (above, &bound.axes[place].starts) {
                    let groups = above.iter().map(|group| starts[*group]..starts[group + 1]);
                    let sizes: Vec<usize> = groups.clone().map(|own| own.len()).collect();
                    let own: Vec<usize> = groups.flatten().collect();
                    axes[place] = BoundAxis::ragged(&sizes);
                    positions.insert(id, own);
                } else if let Some((array, on)) = self.choosing.get(&id) {
                    let Some(above) = positions.get(on) else { continue };
                    let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); bound.size(*on)];
                    let shape = [bound.size(id)];
                    for row in 0..bound.size(id) {
                        if let (value, true) = bound.array(*array).entry(&shape, &[row]) {
                            rows_of[value as usize].push(row);
                        }
                    }
                    let pairs = above.iter().enumerate();
                    let (own, choice): (Vec<usize>, Vec<usize>) =
                        pairs.flat_map(|(new, old)| rows_of[*old].iter().map(move |row| (*row, new))).unzip();
                    axes[place] = BoundAxis::plain(own.len());
                    positions.insert(id, own);
                    chosen_by.insert(id, choice);
                }
            }
            if positions.len() == before {
                break;
            }
        }
        let gathered = |(place, own): (usize, &Option<BoundArray>)| {
            let array = symbols.arrays.get(place)?;
            let own = own.as_ref()?;
            let dimensions: Vec<Option<&Vec<usize>>> =
                array.letters.iter().map(|letter| positions.get(&symbols.letter(*letter).axis)).collect();
            let chooses = self.choosing.iter().find(|(_, (id, _))| id.index() == place);
            if let Some(choice) = chooses.and_then(|(axis, _)| chosen_by.get(axis)) {
                return Some(BoundArray::full(choice.iter().map(|new| *new as f64).collect()));
            }
            if dimensions.iter().all(Option::is_none) {
                return Some(own.clone());
            }
            Some(gather(own, &bound.shape(symbols, ArrayId::from(place)), &dimensions))
        };
        let arrays = bound.arrays.iter().enumerate().map(gathered).collect();
        let mut new =
            Binding { bound: Bound { axes, arrays, whole: bound.whole.clone() }, ..binding.clone() };
        for (place, labels) in new.labels.axes.iter_mut().enumerate() {
            if positions.contains_key(&AxisId::from(place)) {
                *labels = None;
            }
        }
        for entries in &mut new.entries {
            let Some(own) = positions.get(&entries.axis) else { continue };
            for (coordinate, column) in entries.coordinates.iter().zip(&mut entries.columns) {
                let chosen = self.choosing.get(&entries.axis).filter(|(_, on)| on == coordinate);
                *column = match (chosen, chosen_by.get(&entries.axis)) {
                    (Some(_), Some(choice)) => choice.iter().map(|new| *new as u32).collect(),
                    _ => own.iter().map(|old| column[*old]).collect(),
                };
            }
        }
        (new, positions)
    }
}

/// An array at old positions along some of its dimensions.
fn gather(array: &BoundArray, shape: &[usize], dimensions: &[Option<&Vec<usize>>]) -> BoundArray {
    match array {
        BoundArray::Dense { values, observed } => {
            let sizes: Vec<usize> =
                shape.iter().zip(dimensions).map(|(size, own)| own.map_or(*size, Vec::len)).collect();
            let cells = (0..sizes.iter().product()).map(|cell| {
                let place = unflat(&sizes, cell);
                let old = place.iter().zip(dimensions).map(|(new, own)| own.map_or(*new, |own| own[*new]));
                shape.iter().zip(old).fold(0, |cell, (size, position)| cell * size + position)
            });
            let cells: Vec<usize> = cells.collect();
            BoundArray::Dense {
                values: cells.iter().map(|cell| values[*cell]).collect(),
                observed: observed.as_ref().map(|own| cells.iter().map(|cell| own[*cell]).collect()),
            }
        }
        BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
            // Where each old position has gone.
            let gone: Vec<Option<Vec<Vec<u32>>>> = shape
                .iter()
                .zip(dimensions)
                .map(|(size, own)| {
                    own.map(|own| {
                        let mut gone = vec![Vec::new(); *size];
                        own.iter().enumerate().for_each(|(new, old)| gone[*old].push(new as u32));
                        gone
                    })
                })
                .collect();
            let mut entries: Vec<(Vec<u32>, usize)> = Vec::new();
            for entry in 0..values.len() {
                let mut places: Vec<Vec<u32>> = vec![Vec::new()];
                for (column, gone) in indices.iter().zip(&gone) {
                    let old = column[entry];
                    let own = match gone {
                        Some(gone) => gone[old as usize].as_slice(),
                        None => &[old],
                    };
                    places = places
                        .iter()
                        .flat_map(|place| own.iter().map(move |new| [place.as_slice(), &[*new]].concat()))
                        .collect();
                }
                entries.extend(places.into_iter().map(|place| (place, entry)));
            }
            entries.sort();
            BoundArray::Sparse {
                indices: (0..shape.len())
                    .map(|dimension| entries.iter().map(|(place, _)| place[dimension]).collect())
                    .collect(),
                values: entries.iter().map(|(_, entry)| values[*entry]).collect(),
                observed: observed.as_ref().map(|own| entries.iter().map(|(_, entry)| own[*entry]).collect()),
                unlisted_zero: *unlisted_zero,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_gathered_along_their_dimensions() {
        let rows = vec![1, 1, 0];
        let dimensions = [Some(&rows), None];
        let dense = BoundArray::Dense {
            values: vec![1.0, 2.0, 3.0, 4.0].into(),
            observed: Some(vec![true, false, true, true]),
        };
        let BoundArray::Dense { values, observed } = gather(&dense, &[2, 2], &dimensions) else {
            panic!("a dense array stays dense")
        };
        assert_eq!(values, [3.0, 4.0, 3.0, 4.0, 1.0, 2.0]);
        assert_eq!(observed.unwrap(), [true, true, true, true, true, false]);
        let sparse = BoundArray::Sparse {
            indices: vec![vec![0, 1].into(), vec![1, 0].into()],
            values: vec![5.0, 7.0].into(),
            observed: None,
            unlisted_zero: true,
        };
        let BoundArray::Sparse { indices, values, .. } = gather(&sparse, &[2, 2], &dimensions) else {
            panic!("a sparse array stays sparse")
        };
        assert_eq!(indices[0], [0, 1, 2]);
        assert_eq!(indices[1], [0, 0, 1]);
        assert_eq!(values, [7.0, 7.0, 5.0]);
    }
}
