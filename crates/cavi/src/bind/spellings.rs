//! One spelling of each label on an axis.
//!
//! `2.0` in one file and `2` in another are one label of an axis, unless one of the lists of labels that are joined there has both: an axis of
//! versions 2 and 2.0. Then `2.0` is `2.0` in every file. So files are read as they are written, and labels get their one spelling when all of an axis
//! are known: those of files, of groups and of index data, and those that are given or that a fit has.

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, AxisId, Support, Symbols};
use cavi_files::{Labels, Spellings, labels_of};

use super::axes::Axes;
use super::inputs::Inputs;
use super::pieces::Piece;

/// Gives the labels of files that are bound to data their one spelling.
pub(super) fn of_data(symbols: &Symbols, inputs: &Inputs, pieces: &mut [Piece]) {
    let given = |axis: AxisId| {
        let name = &symbols.axis(axis).name;
        // A file that cannot be read is reported where the axis is resolved.
        inputs
            .labels
            .iter()
            .filter(|own| own.axis == *name)
            .filter_map(|own| own.source.read().ok())
            .collect()
    };
    as_one(symbols, pieces, &given);
}

/// The same of files that name entries of data, whose axes these are.
pub(super) fn of_entries(symbols: &Symbols, axes: &Axes, pieces: &mut [Piece]) {
    as_one(symbols, pieces, &|axis| axes.labels[axis.index()].iter().cloned().collect());
}

/// `known` gives the lists of labels of an axis that stand in no file of these.
fn as_one(symbols: &Symbols, pieces: &mut [Piece], known: &dyn Fn(AxisId) -> Vec<Vec<String>>) {
    let mut spellings: BTreeMap<AxisId, Spellings> = BTreeMap::new();
    each(symbols, pieces, &mut |axis, labels| {
        if !spellings.contains_key(&axis) && !labels.are_canonical() {
            let mut own = Spellings::default();
            known(axis).iter_mut().for_each(|own_list| own.hear(&Labels::List(own_list)));
            spellings.insert(axis, own);
        }
    });
    each(symbols, pieces, &mut |axis, labels| {
        if let Some(own) = spellings.get_mut(&axis) {
            own.hear(labels);
        }
    });
    each(symbols, pieces, &mut |axis, labels| {
        if let Some(own) = spellings.get(&axis) {
            own.apply(labels);
        }
    });
}

/// Calls `body` with each list of labels and its axis.
fn each(symbols: &Symbols, pieces: &mut [Piece], body: &mut dyn FnMut(AxisId, &mut Labels<'_>)) {
    for piece in &mut *pieces {
        for (dimension, mut labels) in labels_of(&mut piece.content) {
            let axis = match (dimension, symbols.array(piece.array).support) {
                (Some(dimension), _) => symbols.letter(piece.letters[dimension]).axis,
                (None, Support::Index(axis)) => axis,
                // Values that are read for what they say, such as days.
                (None, _) => continue,
            };
            body(axis, &mut labels);
        }
    }
    // The groups that the files of an array are bound to are a list.
    let mut groups: BTreeMap<(ArrayId, AxisId), Vec<(usize, usize)>> = BTreeMap::new();
    for (number, piece) in pieces.iter().enumerate() {
        let ragged = piece.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
        let (Some(path), Some(ragged)) = (&piece.group, ragged) else { continue };
        let above = symbols.lineage(*ragged).into_iter().skip(1).rev();
        for (level, letter) in above.enumerate().take(path.len()) {
            groups.entry((piece.array, symbols.letter(letter).axis)).or_default().push((number, level));
        }
    }
    for ((_, axis), places) in groups {
        let label = |(number, level): &(usize, usize)| {
            pieces[*number].group.as_ref().map(|path| path[*level].clone())
        };
        let written: Vec<String> = places.iter().filter_map(label).collect();
        let mut distinct = cavi_algebra::dedup(written.clone());
        let before = distinct.clone();
        body(axis, &mut Labels::List(&mut distinct));
        for ((number, level), written) in places.into_iter().zip(written) {
            let place = before.iter().position(|own| *own == written);
            if let (Some(path), Some(place)) = (&mut pieces[number].group, place) {
                path[level] = distinct[place].clone();
            }
        }
    }
}
