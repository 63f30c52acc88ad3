//! Latents that are held at given values, `--fix NAME=FILE`: which files hold them, and at which positions.
//!
//! The file is read as one of data of the same axes, whose missing entries are free. Its labels are matched with those of the data. An
//! axis of components has no other data: the labels of the file are its first, and where the axis is longer the rest are free
//! (`free 1`, `free 2`, ...). The values reach the number side as those of an array that is observed in part.

use std::collections::{BTreeMap, HashSet};

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Support, Symbols};
use cavi_executor::BoundArray;
use cavi_files::Content;
use cavi_model::Model;

use super::axes::{Axes, Text};
use super::compute::SoFar;
use super::data_error::DataError;
use super::groups::{axes_of, labels_along};
use super::inputs::{Inputs, LabelSource, LabelsInput, SetValue};
use super::pieces::Piece;
use super::place::Target;

/// Latents that are read as data.
pub(super) struct Fixed {
    /// Which they are.
    pub arrays: Vec<ArrayId>,
    /// The symbols of the program, in which they are data that may miss entries.
    pub symbols: Symbols,
    /// The inputs, with their files among those of data, and with the labels of their components.
    pub inputs: Inputs,
}

impl Fixed {
    /// What of a program is held; `None` where nothing is.
    pub fn of(model: &Model, inputs: &Inputs, problems: &mut Vec<DataError>) -> Option<Fixed> {
        if inputs.fix.is_empty() {
            return None;
        }
        let mut fixed = Fixed { arrays: Vec::new(), symbols: model.symbols.clone(), inputs: inputs.clone() };
        let latents: Vec<&str> =
            model.symbols.latents().map(|own| model.symbols.array(own).name.as_str()).collect();
        for input in &inputs.fix {
            let name = &input.name;
            let file = input.source.name().display();
            let Some(id) = model.symbols.find(name) else {
                let message = format!("`--fix {name}={file}`: the program has no latent `{name}`");
                problems.push(DataError::unknown(message, name, &latents));
                continue;
            };
            let array = model.symbols.array(id);
            if array.kind != ArrayKind::Latent {
                let (what, option) = match array.kind {
                    ArrayKind::Constant => ("a constant", "--set"),
                    ArrayKind::Data | ArrayKind::Latent => ("data", "--data"),
                };
                problems.push(
                    DataError::new(format!("`--fix {name}={file}`: `{name}` is {what}, and no latent"))
                        .help(format!("`{option} {name}={file}`")),
                );
                continue;
            }
            let own = &mut fixed.symbols.arrays[id.index()];
            own.kind = ArrayKind::Data;
            own.absent.missing = true;
            // Zeros are judged where the factor of q is known.
            if own.support == Support::Positive {
                own.support = Support::Nonnegative;
            }
            if !fixed.arrays.contains(&id) {
                fixed.arrays.push(id);
            }
        }
        fixed.inputs.data.extend(inputs.fix.iter().cloned());
        Some(fixed)
    }

    /// Matches the labels of the files with those of the data, and names what is free on axes of components. `text` gives the size
    /// that the program states.
    pub fn match_labels(&mut self, pieces: &mut [Piece], text: &Text<'_>, problems: &mut Vec<DataError>) {
        let (own, others): (Vec<usize>, Vec<usize>) =
            (0..pieces.len()).partition(|place| self.arrays.contains(&pieces[*place].array));
        // The dimensions of files along each axis of components.
        let mut components: BTreeMap<AxisId, Vec<(usize, usize)>> = BTreeMap::new();
        for place in own {
            let mut unknown = Vec::new();
            for axis in axes_of(&self.symbols, &pieces[place]) {
                let name = self.symbols.axis(axis).name.clone();
                for own in labels_along(&self.symbols, &pieces[place], axis) {
                    if let Some((from, known)) = self.known(pieces, &others, axis, &own.group) {
                        let array = &self.symbols.array(pieces[place].array).name;
                        let wrong =
                            unknown_label(&pieces[place], (array, &name), &own.labels, (&from, &known));
                        unknown.extend(wrong);
                    }
                }
            }
            // A file with other labels may have its axes the other way around, which sizes alone do not say.
            if !unknown.is_empty() {
                problems.extend(unknown);
                continue;
            }
            for dimension in 0..pieces[place].letters.len() {
                let letter = self.symbols.letter(pieces[place].letters[dimension]);
                let axis = letter.axis;
                let is_ragged = letter.parent.is_some() || self.symbols.axis(axis).parent.is_some();
                if !is_ragged
                    && self.given(axis, &[]).is_none()
                    && self.known(pieces, &others, axis, &[]).is_none()
                    && !is_of_data(&self.symbols, pieces, &others, axis)
                {
                    components.entry(axis).or_default().push((place, dimension));
                }
            }
        }
        for (axis, files) in components {
            let size = self.size(axis, text);
            self.name_components(pieces, axis, (&files, size), problems);
        }
    }

    /// The labels that the user gives to a group of an axis, or to the whole of one that is not ragged.
    fn given(&self, axis: AxisId, group: &[String]) -> Option<&LabelsInput> {
        let own = self.symbols.axis(axis);
        let group = own.parent.map(|_| group.join("/"));
        self.inputs.labels.iter().find(|given| given.axis == own.name && given.group == group)
    }

    /// The labels that a group of an axis has, and where they stand: those that the user gives, else those of the data. `None` where there are
    /// none, or where they cannot be read, which is said where labels are read.
    fn known(
        &self,
        pieces: &[Piece],
        others: &[usize],
        axis: AxisId,
        group: &[String],
    ) -> Option<(String, Vec<String>)> {
        match self.given(axis, group) {
            Some(given) => given.source.read().ok().map(|labels| (given.source.name(), labels)),
            None => known_labels(&self.symbols, pieces, others, axis, group),
        }
    }

    /// The size of an axis that `--set` or the program states.
    fn size(&self, axis: AxisId, text: &Text<'_>) -> Option<usize> {
        let name = &self.symbols.axis(axis).name;
        let set = self.inputs.set.iter().find_map(|own| match own.value {
            SetValue::Number(value) if own.name == *name && own.group.is_none() => Some(value),
            SetValue::Number(_) | SetValue::Source(_) => None,
        });
        let size = set.or_else(|| text(axis, SoFar::NONE)?.ok())?;
        (size >= 0.0 && size.fract() == 0.0 && size < f64::from(u32::MAX)).then_some(size as usize)
    }

    /// Gives an axis of components the names that files have, and names to the positions that no file has. A file without names has the first
    /// positions.
    fn name_components(
        &mut self,
        pieces: &mut [Piece],
        axis: AxisId,
        (files, size): (&[(usize, usize)], Option<usize>),
        problems: &mut Vec<DataError>,
    ) {
        let Some(size) = size else { return };
        let axis = self.symbols.axis(axis).name.clone();
        let mut named: Vec<String> = Vec::new();
        let mut unnamed: Vec<(usize, usize, usize)> = Vec::new();
        for (place, dimension) in files {
            let piece = &pieces[*place];
            let labels = piece.content.labels(*dimension);
            let Some(held) = labels.map(<[String]>::len).or_else(|| length(&piece.content, *dimension))
            else {
                continue;
            };
            if held > size {
                let array = &self.symbols.array(piece.array).name;
                problems.push(too_many(piece, array, (&axis, size), held));
                return;
            }
            match labels {
                Some(labels) => named.extend(labels.iter().cloned()),
                None => unnamed.push((*place, *dimension, held)),
            }
        }
        let mut all = cavi_algebra::dedup(named);
        if all.len() > size {
            let from: Vec<String> = files.iter().map(|(place, _)| pieces[*place].name()).collect();
            problems.push(
                DataError::new(format!(
                    "{} have {} labels of `{axis}` in all, and `{axis}` has {size} positions",
                    cavi_algebra::dedup(from).join(" and "),
                    all.len()
                ))
                .possible("labels that the files share, or no more of them than positions")
                .help(format!("`--set {axis}={}` holds all of them", all.len())),
            );
            return;
        }
        // Where every file has every position there is nothing to name.
        if (all.len() == size || all.is_empty()) && unnamed.iter().all(|own| own.2 == size) {
            return;
        }
        let is_named = !all.is_empty();
        let taken: HashSet<String> = all.iter().cloned().collect();
        let mut number = 0;
        while all.len() < size {
            number += 1;
            let label = if is_named { format!("free {number}") } else { all.len().to_string() };
            if !taken.contains(&label) {
                all.push(label);
            }
        }
        for (place, dimension, held) in unnamed {
            set_labels(&mut pieces[place].content, dimension, all[..held].to_vec());
        }
        let source = LabelSource::List(pieces[files[0].0].name(), all);
        self.inputs.labels.push(LabelsInput { axis, group: None, source });
    }

    /// Takes what is held out of the arrays, every entry at its place.
    pub fn take(&self, axes: &Axes, arrays: &mut [Option<BoundArray>]) -> Vec<(ArrayId, BoundArray)> {
        let held = |id: &ArrayId| {
            let bound = arrays[id.index()].take()?;
            let target = Target::new(&self.symbols, axes, *id);
            let cells = target.cells()?;
            let entries = (0..cells).map(|cell| bound.entry(&target.shape, &target.coordinates(cell)));
            let (values, observed): (Vec<f64>, Vec<bool>) = entries.unzip();
            // A file without a value holds nothing.
            observed.contains(&true).then(|| {
                let observed = observed.contains(&false).then_some(observed);
                (*id, BoundArray::Dense { values: values.into(), observed })
            })
        };
        self.arrays.iter().filter_map(held).collect()
    }
}

/// That a file has more positions along an axis than that has.
fn too_many(piece: &Piece, array: &str, (axis, size): (&str, usize), held: usize) -> DataError {
    DataError::new(format!(
        "{}: {held} positions along `{axis}` to hold `{array}` at, and `{axis}` has {size}",
        piece.name()
    ))
    .possible(format!("at most as many as `{axis}` has; those that the file does not have are free"))
    .help(format!(
        "`--set {axis}={held}` holds all of them, a larger number leaves further ones free; `--transpose {array}` if the file holds the \
         transpose"
    ))
}

/// How many positions a file without labels has along a dimension.
fn length(content: &Content, dimension: usize) -> Option<usize> {
    match content {
        Content::Dense(dense) => dense.shape.get(dimension).copied(),
        Content::Coordinates(own) => own.shape.get(dimension).copied(),
        Content::Long(_) | Content::Documents(_) => None,
    }
}

/// Gives the positions of a file along a dimension labels.
fn set_labels(content: &mut Content, dimension: usize, labels: Vec<String>) {
    match content {
        Content::Dense(dense) => dense.labels[dimension] = Some(labels),
        Content::Coordinates(own) => {
            own.labels.resize(own.shape.len(), None);
            own.labels[dimension] = Some(labels);
        }
        Content::Long(_) | Content::Documents(_) => {}
    }
}

/// The labels that the files of data have of a group of an axis, and the first file that has any.
fn known_labels(
    symbols: &Symbols,
    pieces: &[Piece],
    others: &[usize],
    axis: AxisId,
    group: &[String],
) -> Option<(String, Vec<String>)> {
    let mut found: Option<(String, Vec<String>)> = None;
    for piece in others.iter().map(|place| &pieces[*place]) {
        for own in labels_along(symbols, piece, axis).into_iter().filter(|own| own.group == group) {
            found.get_or_insert_with(|| (piece.name(), Vec::new())).1.extend(own.labels);
        }
    }
    found
}

/// Whether data run along an axis, or name its positions.
fn is_of_data(symbols: &Symbols, pieces: &[Piece], others: &[usize], axis: AxisId) -> bool {
    others.iter().map(|place| &pieces[*place]).any(|piece| {
        symbols.array(piece.array).support == Support::Index(axis)
            || piece.letters.iter().any(|letter| symbols.letter(*letter).axis == axis)
    })
}

/// What is wrong with a file of which a label is not one of its axis.
fn unknown_label(
    piece: &Piece,
    (array, axis): (&str, &str),
    labels: &[String],
    (from, known): (&str, &[String]),
) -> Option<DataError> {
    let set: HashSet<&String> = known.iter().collect();
    let mut unknown = labels.iter().filter(|label| !set.contains(label));
    let first = unknown.next()?;
    let count = 1 + unknown.count();
    let file = piece.name();
    let rest = match count {
        1 => String::new(),
        2 => ", nor is 1 other".to_owned(),
        _ => format!(", nor are {} others", count - 1),
    };
    let message = format!("{file}: the label `{first}` is not one of `{axis}`, as {from} has them{rest}");
    let shown: Vec<&str> = known.iter().take(3).map(String::as_str).collect();
    let more = if known.len() > 3 { ", ..." } else { "" };
    let turned = (0..piece.letters.len())
        .filter_map(|dimension| piece.content.labels(dimension))
        .any(|other| other != labels && other.iter().any(|label| set.contains(label)));
    Some(
        DataError::new(message).possible(format!("{}{more}", shown.join(", "))).help(match turned {
            true => format!("`--transpose {array}`, if the file holds the transpose"),
            false => {
                "name what the file and the data have in common alike, and leave out the rest of the file"
                    .to_owned()
            }
        }),
    )
}
