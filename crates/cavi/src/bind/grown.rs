//! Which axis of an earlier fit new data extend, as far as their labels and sizes say.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use cavi_algebra::{AxisId, Support};
use cavi_files::Content;
use cavi_model::Model;

use super::data_error::DataError;
use super::inputs::Inputs;
use super::pieces;

/// What new data say of an axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Its labels in them that the fit has too.
    pub known: BTreeSet<String>,
    /// Its other labels in them.
    pub new: BTreeSet<String>,
    /// Whether unlabelled data have another size along it.
    pub is_resized: bool,
}

impl Seen {
    /// Whether the data have positions on the axis that the fit does not have.
    pub fn has_new(&self) -> bool {
        !self.new.is_empty() || self.is_resized
    }
}

/// What data say of some axes of an earlier fit, whose labels these are.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn seen(
    model: &Model,
    inputs: &Inputs,
    earlier: &BTreeMap<AxisId, Vec<String>>,
) -> Result<BTreeMap<AxisId, Seen>, Vec<DataError>> {
    let symbols = &model.symbols;
    let mut problems = Vec::new();
    let pieces = pieces::read(symbols, inputs, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let known: BTreeMap<AxisId, HashSet<&str>> =
        earlier.iter().map(|(axis, labels)| (*axis, labels.iter().map(String::as_str).collect())).collect();
    let mut seen: BTreeMap<AxisId, Seen> = BTreeMap::new();
    let mut label = |axis: AxisId, label: &str| {
        let Some(known) = known.get(&axis) else { return };
        let own = seen.entry(axis).or_default();
        let labels = if known.contains(label) { &mut own.known } else { &mut own.new };
        if !labels.contains(label) {
            labels.insert(label.to_owned());
        }
    };
    let mut resized: BTreeSet<AxisId> = BTreeSet::new();
    for own in &inputs.labels {
        let axis = symbols.axes.iter().position(|axis| axis.name == own.axis).map(AxisId::from);
        let labels = own.source.read().map_err(|error| vec![error.into()])?;
        axis.into_iter().for_each(|axis| labels.iter().for_each(|own| label(axis, own)));
    }
    for piece in &pieces {
        for (dimension, letter) in piece.letters.iter().enumerate() {
            let own = symbols.letter(*letter);
            let size = earlier.get(&own.axis).map_or(0, Vec::len);
            let has_labels = inputs.labels.iter().any(|input| input.axis == symbols.axis(own.axis).name);
            let mut resize = |differs: bool| {
                if differs && own.parent.is_none() && !has_labels {
                    resized.insert(own.axis);
                }
            };
            if let Some(labels) = piece.content.labels(dimension) {
                labels.iter().for_each(|name| label(own.axis, name));
                continue;
            }
            match &piece.content {
                Content::Dense(dense) => resize(dense.shape[dimension] != size),
                Content::Coordinates(coordinates) => {
                    let length = coordinates.shape[dimension];
                    resize(length > size || coordinates.shape_is_exact && length != size);
                }
                Content::Documents(documents) => {
                    resize(dimension == 0 && documents.offsets.len() != size + 1);
                }
                Content::Long(_) => {}
            }
        }
        if let Support::Index(axis) = symbols.array(piece.array).support {
            let names = piece.content.labels_of_values().unwrap_or_default();
            names.iter().for_each(|name| label(axis, name));
        }
    }
    for axis in resized {
        seen.entry(axis).or_default().is_resized = true;
    }
    Ok(seen)
}
