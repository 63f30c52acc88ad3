//! The labels of the positions of axes.

use std::borrow::Cow;

use cavi_algebra::{AxisId, Symbols};
use cavi_executor::{Bound, BoundAxis};

use super::data_error::DataError;

/// The labels of every axis. A ragged axis has the labels of all its groups one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// For each axis its labels; `None` where 0-based numbers (within the group) stand for them.
    pub axes: Vec<Option<Vec<String>>>,
}

impl Labels {
    /// The label of a position: that of the axis, or its number within the group.
    pub fn label<'a>(&'a self, bound: &Bound, axis: AxisId, position: usize) -> Cow<'a, str> {
        label(&bound.axes, &self.axes, axis, position)
    }

    /// The labels of a position of a ragged axis and of its ancestors, outermost first; of another axis its label alone.
    pub fn path(&self, symbols: &Symbols, bound: &Bound, axis: AxisId, position: usize) -> Vec<String> {
        path(symbols, &bound.axes, &self.axes, axis, position)
    }

    /// Whether an axis has labels of its own.
    pub fn is_labelled(&self, axis: AxisId) -> bool {
        self.axes.get(axis.index()).is_some_and(Option::is_some)
    }
}

fn label<'a>(
    bound: &[BoundAxis],
    labels: &'a [Option<Vec<String>>],
    axis: AxisId,
    position: usize,
) -> Cow<'a, str> {
    if let Some(Some(labels)) = labels.get(axis.index()) {
        return Cow::Borrowed(&labels[position]);
    }
    let bound = &bound[axis.index()];
    let start = match (&bound.starts, &bound.parent) {
        (Some(starts), Some(parent)) => starts[parent[position]],
        _ => 0,
    };
    Cow::Owned((position - start).to_string())
}

/// The labels of a position, outermost first.
pub(super) fn path(
    symbols: &Symbols,
    bound: &[BoundAxis],
    labels: &[Option<Vec<String>>],
    axis: AxisId,
    position: usize,
) -> Vec<String> {
    let own = label(bound, labels, axis, position).into_owned();
    let mut path = match (symbols.axis(axis).parent, &bound[axis.index()].parent) {
        (Some(above), Some(parent)) => path(symbols, bound, labels, above, parent[position]),
        _ => Vec::new(),
    };
    path.push(own);
    path
}

/// That a text cannot be a label, since labels are written one a line.
pub(super) fn no_label(label: &str, place: &str, from: &str) -> Option<DataError> {
    let what = match label {
        "" => "is empty",
        _ if label.contains(['\n', '\r']) => "has a line break in it",
        _ => return None,
    };
    Some(
        DataError::new(format!("{from}: the label {label:?} of axis {place} {what}"))
            .possible("labels of one line, none of them empty"),
    )
}
