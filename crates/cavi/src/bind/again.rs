//! The data of an earlier fit, given again: positions and constants of standardised data are those of the fit.
//!
//! What a fit drew, such as which entries it was not given, it drew by their positions. So an axis whose labels are those of the fit in another
//! order takes the order of the fit. Where a file without labels stands beside those with them, the order of the labels is that of this file too, and
//! is kept.

use std::collections::{BTreeMap, HashMap, HashSet};

use cavi_algebra::{AxisId, LetterId, Symbols};

use super::axes::Axes;
use super::by_order;
use super::inputs::{Inputs, LabelsInput};
use super::pieces::Piece;
use super::standardise::Standardised;

/// What is known of the fit whose data are given again.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    /// The labels of its axes, for a ragged one those of each group.
    pub labels: Vec<LabelsInput>,
    /// For each axis the labels of its positions, in its order; of a ragged one each after those above it.
    pub axes: BTreeMap<AxisId, Vec<String>>,
    /// What it standardised its data by.
    pub standardised: Vec<Standardised>,
}

impl Again {
    /// The inputs with the order of the fit for each axis whose labels the data have in another one; `None` where there is no such axis.
    pub(super) fn in_order(
        &self,
        symbols: &Symbols,
        inputs: &Inputs,
        pieces: &[Piece],
        axes: &Axes,
    ) -> Option<Inputs> {
        let differs = |(axis, theirs): &(&AxisId, &Vec<String>)| {
            if axes.labels[axis.index()].is_none() || axes.bound[axis.index()].size != theirs.len() {
                return false;
            }
            let own = paths(symbols, axes, **axis);
            let all: HashSet<&String> = theirs.iter().collect();
            own != **theirs
                && own.iter().all(|label| all.contains(label))
                && by_order::of_axis(symbols, inputs, pieces, (**axis, axes.labels[axis.index()].as_deref()))
                    .is_none()
        };
        let turned: Vec<&str> =
            self.axes.iter().filter(differs).map(|(axis, _)| symbols.axis(*axis).name.as_str()).collect();
        if turned.is_empty() {
            return None;
        }
        let mut inputs = inputs.clone();
        let is_turned = |own: &LabelsInput| turned.contains(&own.axis.as_str());
        inputs.labels.retain(|own| !is_turned(own));
        inputs.labels.extend(self.labels.iter().filter(|own| is_turned(own)).cloned());
        Some(inputs)
    }

    /// What the fit standardised its data by, at the positions of these axes. Numbers along an axis of which the fit does not know all labels are those
    /// of the data that are given, as of new rows.
    pub(super) fn standardised(&self, symbols: &Symbols, axes: &Axes) -> Vec<Standardised> {
        let of = |own: &Standardised| {
            let part = |part: &Option<(LetterId, Vec<f64>)>| {
                let (over, values) = part.as_ref()?;
                let letters = &symbols.array(own.array).letters;
                let along = letters.iter().filter_map(|letter| {
                    let axis = symbols.letter(*letter).axis;
                    // Over a ragged letter there is a number for each group.
                    if letter == over { symbols.axis(axis).parent } else { Some(axis) }
                });
                let mut places = vec![0];
                for axis in along {
                    let size = self.axes.get(&axis)?.len();
                    let order = self.places(symbols, axes, axis)?;
                    let before = std::mem::take(&mut places);
                    let within = |place: usize| order.iter().map(move |own| place * size + own);
                    places = before.into_iter().flat_map(within).collect();
                }
                let values: Option<Vec<f64>> =
                    places.iter().map(|place| values.get(*place).copied()).collect();
                Some((*over, values?))
            };
            Standardised { array: own.array, centre: part(&own.centre), scale: part(&own.scale) }
        };
        self.standardised.iter().map(of).collect()
    }

    /// For each position of an axis that of the fit; `None` where the fit does not have all of them.
    fn places(&self, symbols: &Symbols, axes: &Axes, axis: AxisId) -> Option<Vec<usize>> {
        let theirs = self.axes.get(&axis)?;
        let place: HashMap<&str, usize> =
            theirs.iter().enumerate().map(|(place, label)| (label.as_str(), place)).collect();
        let own = paths(symbols, axes, axis);
        let found: Option<Vec<usize>> = own.iter().map(|label| place.get(label.as_str()).copied()).collect();
        // Numbers stand for positions that have no labels, on either side.
        let numbers =
            |labels: &[String]| labels.iter().enumerate().all(|(place, own)| *own == place.to_string());
        let is_in_order = || own.len() == theirs.len() && (numbers(&own) || numbers(theirs));
        found.or_else(|| is_in_order().then(|| (0..own.len()).collect()))
    }
}

/// The labels of the positions of an axis, each after those above it.
fn paths(symbols: &Symbols, axes: &Axes, axis: AxisId) -> Vec<String> {
    let size = axes.bound[axis.index()].size;
    (0..size).map(|position| axes.path(symbols, axis, position).join("/")).collect()
}
