//! Files with labels and files without, which were taken to stand in one order.
//!
//! A file without labels says nothing of its order. Where others have labels of the same axis, or of the same group of a ragged one, its
//! positions are those of the labels one after another. That is a guess, and is told. The groups of an axis have labels too: those by which
//! files are bound, `--data 'x[rna]=rna.csv'`.

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, AxisId, Support, Symbols};
use cavi_files::Content;

use super::axes::Axes;
use super::inputs::Inputs;
use super::pieces::Piece;
use super::suspicions::labels_of;

/// That files with labels and files without were taken to stand in one order.
pub(super) struct ByOrder {
    /// The sentence.
    pub text: String,
    /// Whether one without labels has an index that counts.
    pub counts: bool,
}

/// The labels of a group, outermost first; `None` where a file holds all groups.
type Group = Option<Vec<String>>;

/// What the files say of one axis.
#[derive(Default)]
struct Said {
    /// Files with labels.
    with: Vec<(Group, String)>,
    /// Files without, and how many positions they have.
    without: Vec<(Group, String)>,
    length: usize,
    counts: bool,
}

/// For each axis on which some files have labels and others have none: both are taken to stand in one order. Values of index data are labels as
/// well, where they are no positions.
pub(super) fn joined_by_order(
    symbols: &Symbols,
    inputs: &Inputs,
    pieces: &[Piece],
    axes: &Axes,
) -> Vec<ByOrder> {
    (0..symbols.axes.len())
        .map(AxisId::from)
        .filter_map(|axis| of_axis(symbols, inputs, pieces, (axis, axes.labels[axis.index()].as_deref())))
        .collect()
}

/// Of an axis, whose positions have these labels.
pub(super) fn of_axis(
    symbols: &Symbols,
    inputs: &Inputs,
    pieces: &[Piece],
    (axis, labels): (AxisId, Option<&[String]>),
) -> Option<ByOrder> {
    let own = symbols.axis(axis);
    let given: Vec<Option<&str>> = inputs
        .labels
        .iter()
        .filter(|given| given.axis == own.name)
        .map(|given| given.group.as_deref())
        .collect();
    let mut said = Said::default();
    for piece in pieces {
        said.dimensions(symbols, piece, axis);
    }
    said.groups(symbols, pieces, axis);
    if own.parent.is_none() {
        // Values that are numbers are positions, and these have labels.
        let counted = |labels: &[String]| is_counter(&labels.iter().map(String::as_str).collect::<Vec<_>>());
        if labels.is_some_and(|labels| !counted(labels)) {
            let point = pieces.iter().filter(|piece| points_by_number(symbols, piece, axis));
            said.without.extend(point.map(|piece| (Some(Vec::new()), named(symbols, piece))));
        }
        if !said.without.is_empty() {
            let point = pieces.iter().filter(|piece| points_by_label(symbols, piece, axis, said.length));
            said.with.extend(point.map(|piece| (Some(Vec::new()), named(symbols, piece))));
        }
    }
    // Labels that the user gives are in order by that.
    let is_given = |group: &Group| {
        let path = group.as_ref().map(|path| path.join("/")).filter(|_| own.parent.is_some());
        given.contains(&path.as_deref())
    };
    said.with.retain(|(group, _)| !is_given(group));
    said.without.retain(|(group, _)| !is_given(group));
    let meets = |others: &[(Group, String)], own: &Group| {
        others.iter().any(|(other, _)| other.is_none() || own.is_none() || other == own)
    };
    let names = |own: &[(Group, String)], others: &[(Group, String)]| -> BTreeSet<String> {
        own.iter().filter(|(group, _)| meets(others, group)).map(|(_, name)| name.clone()).collect()
    };
    let (with, without) = (names(&said.with, &said.without), names(&said.without, &said.with));
    (!with.is_empty() && !without.is_empty()).then(|| ByOrder {
        text: format!(
            "labels of axis `{}` stand in {}, and none in {}: what has none is taken in the same order",
            own.name,
            list(with),
            list(without)
        ),
        counts: said.counts,
    })
}

impl Said {
    /// The dimensions of a file that run along the axis.
    fn dimensions(&mut self, symbols: &Symbols, piece: &Piece, axis: AxisId) {
        let is_ragged = symbols.axis(axis).parent.is_some();
        let group = if is_ragged { piece.group.clone() } else { Some(Vec::new()) };
        for (dimension, letter) in piece.letters.iter().enumerate() {
            if symbols.letter(*letter).axis != axis {
                continue;
            }
            let labels = labels_of(&piece.content, dimension);
            if let Some(own) = piece.flat(axis) {
                let list = if own.labels.is_some() { &mut self.with } else { &mut self.without };
                list.push((None, named(symbols, piece)));
                continue;
            }
            self.counts |= labels.is_empty() && piece.counts(dimension);
            let mut without = |length: usize| {
                self.length = self.length.max(length);
                self.without.push((group.clone(), named(symbols, piece)));
            };
            match (labels.is_empty(), &piece.content) {
                (true, Content::Dense(dense)) if dense.shape[dimension] > 1 => {
                    without(dense.shape[dimension])
                }
                (true, Content::Coordinates(own)) => without(own.shape[dimension]),
                (true, Content::Documents(_)) => without(0),
                (true, _) => {}
                (false, _) if is_counter(&labels) => {}
                (false, _) => self.with.push((group.clone(), named(symbols, piece))),
            }
        }
    }

    /// The files that are bound to groups along the axis.
    fn groups(&mut self, symbols: &Symbols, pieces: &[Piece], axis: AxisId) {
        let mut lists: Vec<Groups<'_>> = Vec::new();
        for piece in pieces {
            let ragged = piece.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
            let (Some(path), Some(ragged)) = (&piece.group, ragged) else { continue };
            let lineage = symbols.lineage(*ragged);
            let above = lineage[1..].iter().rev();
            let Some(level) = above.map(|own| symbols.letter(*own).axis).position(|own| own == axis) else {
                continue;
            };
            let (array, above, label) = (piece.array, &path[..level], path[level].as_str());
            let alike = |own: &Groups<'_>| own.array == array && own.above == above;
            let place = lists.iter().position(alike).unwrap_or_else(|| {
                lists.push(Groups { array, above, labels: Vec::new(), files: Vec::new() });
                lists.len() - 1
            });
            if !lists[place].labels.contains(&label) {
                lists[place].labels.push(label);
                lists[place].files.push(named(symbols, piece));
            }
        }
        for own in lists.into_iter().filter(|own| !is_counter(&own.labels)) {
            self.with.extend(own.files.into_iter().map(|name| (Some(own.above.to_vec()), name)));
        }
    }
}

/// The groups along an axis that files of one array are bound to.
struct Groups<'a> {
    array: ArrayId,
    /// The labels above, outermost first.
    above: &'a [String],
    labels: Vec<&'a str>,
    /// The file of each.
    files: Vec<String>,
}

/// Counters say the order themselves.
fn is_counter(labels: &[&str]) -> bool {
    labels.iter().enumerate().all(|(place, own)| *own == place.to_string())
}

fn named(symbols: &Symbols, piece: &Piece) -> String {
    let name = &symbols.array(piece.array).name;
    match &piece.group {
        Some(path) => format!("`{name}[{}]` ({})", path.join("/"), piece.name()),
        None => format!("`{name}` ({})", piece.name()),
    }
}

/// Some names, of many the first three.
fn list(all: BTreeSet<String>) -> String {
    const MANY: usize = 6;
    let count = all.len();
    let shown = if count > MANY { 3 } else { count };
    let names: Vec<String> = all.into_iter().take(shown).collect();
    let more = if count > shown { format!(" and {} others", count - shown) } else { String::new() };
    names.join(", ") + &more
}

/// Whether index data point into an axis by positions.
fn points_by_number(symbols: &Symbols, piece: &Piece, axis: AxisId) -> bool {
    let has_values = match &piece.content {
        Content::Long(long) => long.values.is_some(),
        // The words of texts have their own order.
        Content::Documents(documents) => documents.words() > 0,
        Content::Dense(dense) => !dense.values.is_empty(),
        Content::Coordinates(own) => !own.values.is_empty(),
    };
    let is_index = symbols.array(piece.array).support == Support::Index(axis);
    is_index && has_values && piece.content.labels_of_values().is_none()
}

/// Whether index data point into an axis by labels, so that these are not the numbers of so many positions.
fn points_by_label(symbols: &Symbols, piece: &Piece, axis: AxisId, length: usize) -> bool {
    let is_position = |label: &String| label.parse::<usize>().is_ok_and(|own| own < length) || label == "-1";
    symbols.array(piece.array).support == Support::Index(axis)
        && piece.content.labels_of_values().is_some_and(|labels| !labels.iter().all(is_position))
}
