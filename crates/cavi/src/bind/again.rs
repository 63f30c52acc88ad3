//! The data of an earlier fit, given again: positions and constants of standardised data are those of the fit.
//!
//! What a fit drew, such as which entries it was not given, it drew by their positions. So an axis whose labels are those of the fit in another
//! order takes the order of the fit. Where a file without labels stands beside those with them, the order of the labels is that of this file too, and
//! is kept.
//!
//! Along some axes q has factors. New rows may name a part of their positions alone, as new games name some of the teams: such an axis has all labels
//! of the fit, unless it is one of rows. A label that the fit does not have has no factor of q, and is refused.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use cavi_algebra::{AxisId, LetterId, Symbols};

use super::axes::Axes;
use super::by_order;
use super::data_error::DataError;
use super::inputs::{Inputs, LabelsInput, SetInput, SetValue};
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
    /// The axes along which it has factors of q.
    pub kept: BTreeSet<AxisId>,
    /// Those of them that are no rows of the data, and have all positions of the fit whichever the data name.
    pub whole: BTreeSet<AxisId>,
    /// Where it is.
    pub directory: PathBuf,
}

impl Again {
    /// The inputs with the order of the fit for each axis whose labels the data have in another one, and with its positions for each of which they name
    /// a part; `None` where there is no such axis.
    ///
    /// # Errors
    /// A label that the fit does not have along an axis of its factors of q.
    pub(super) fn in_order(
        &self,
        symbols: &Symbols,
        inputs: &Inputs,
        pieces: &[Piece],
        axes: &Axes,
    ) -> Result<Option<Inputs>, DataError> {
        let (mut turned, mut sizes) = (Vec::new(), Vec::new());
        for (axis, theirs) in &self.axes {
            let name = symbols.axis(*axis).name.as_str();
            let size = axes.bound[axis.index()].size;
            let Some(labels) = axes.labels[axis.index()].as_deref() else {
                let is_along = |piece: &Piece| {
                    symbols.array(piece.array).letters.iter().any(|own| symbols.letter(*own).axis == *axis)
                };
                if self.whole.contains(axis)
                    && symbols.axis(*axis).parent.is_none()
                    && size < theirs.len()
                    && are_counted(theirs)
                    && !pieces.iter().any(is_along)
                {
                    sizes.push((name, theirs.len()));
                }
                continue;
            };
            let own = paths(symbols, axes, *axis);
            if own == *theirs {
                continue;
            }
            let all: HashSet<&String> = theirs.iter().collect();
            if let Some(label) = own.iter().find(|label| !all.contains(label)) {
                if self.kept.contains(axis) && !is_by_place(&own, theirs) {
                    return Err(self.unknown(name, label, theirs));
                }
                continue;
            }
            let is_part = size < theirs.len() && self.whole.contains(axis);
            if (size == theirs.len() || is_part)
                && by_order::of_axis(symbols, inputs, pieces, (*axis, Some(labels))).is_none()
            {
                turned.push(name);
            }
        }
        if turned.is_empty() && sizes.is_empty() {
            return Ok(None);
        }
        let mut inputs = inputs.clone();
        let is_turned = |own: &LabelsInput| turned.contains(&own.axis.as_str());
        inputs.labels.retain(|own| !is_turned(own));
        inputs.labels.extend(self.labels.iter().filter(|own| is_turned(own)).cloned());
        for (name, size) in sizes {
            inputs.set.retain(|own| own.name != name);
            let value = SetValue::Number(size as f64);
            inputs.set.push(SetInput { name: name.to_owned(), group: None, value });
        }
        Ok(Some(inputs))
    }

    /// A label that the fit does not have.
    fn unknown(&self, axis: &str, label: &str, theirs: &[String]) -> DataError {
        let directory = self.directory.display();
        let message = format!(
            "axis `{axis}`: `{label}` is no label of the fit in `{directory}`, which has nothing learned of it"
        );
        let near = cavi_syntax::nearest(label, theirs.iter().map(String::as_str));
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let axes = self.directory.join("axes");
        DataError::new(message)
            .possible(format!("the {} labels of axis `{axis}` in `{}`", theirs.len(), axes.display()))
            .help(format!(
                "{near}`cavi project {directory} --axis {axis} --data ...` fits what is new along it, and `cavi fit ... --init {directory} --grow` \
                 all of the data from there"
            ))
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
        let is_in_order = || own.len() == theirs.len() && (are_counted(&own) || are_counted(theirs));
        found.or_else(|| is_in_order().then(|| (0..own.len()).collect()))
    }
}

/// Whether labels are the numbers of their positions, as of an axis without labels.
fn are_counted(labels: &[String]) -> bool {
    labels.iter().enumerate().all(|(place, own)| *own == place.to_string())
}

/// Whether one of two lists of labels, equally long, numbers the positions of the other, which has names.
fn is_by_place(own: &[String], theirs: &[String]) -> bool {
    let are_numbers = |labels: &[String]| labels.iter().all(|own| own.parse::<u64>().is_ok());
    let numbers = |one: &[String], other: &[String]| are_counted(one) && !are_numbers(other);
    own.len() == theirs.len() && (numbers(own, theirs) || numbers(theirs, own))
}

/// The labels of the positions of an axis, each after those above it.
fn paths(symbols: &Symbols, axes: &Axes, axis: AxisId) -> Vec<String> {
    let size = axes.bound[axis.index()].size;
    (0..size).map(|position| axes.path(symbols, axis, position).join("/")).collect()
}
