//! New data for an earlier fit. Axes that rows share keep the positions of the fit, and data are standardised by its
//! constants.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use cavi_algebra::{ArrayId, AxisId, Support, Symbols};
use cavi_executor::BoundArray;
use cavi_files::{Categories, Content, Coordinates, Dense, Long, Values};
use cavi_model::Model;

use super::axes::Axes;
use super::data_error::DataError;
use super::pieces::Piece;
use super::place::Columns;
use super::standardise::{Standardised, Typical};
use super::suspicions::labels_of;
use super::values::UNKNOWN;

/// What an earlier fit fixes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frozen {
    /// For each axis that keeps its positions and has labels: these, for a ragged one by the path of the group (of labels joined by
    /// `/`), for another by the empty path.
    pub labels: BTreeMap<AxisId, BTreeMap<String, HashSet<String>>>,
    /// The other axes: those of rows, and those that are ragged in them.
    pub rows: BTreeSet<AxisId>,
    /// What data are standardised by.
    pub standardised: Vec<Standardised>,
    /// Of data with numbers for each new row, the averages of those of the fit, by which rows without an entry are.
    pub typical: Vec<Typical>,
}

impl Frozen {
    /// Takes labels away that stand where the fit has none, of as many positions as it has: both are in one order. A sentence for each file.
    ///
    /// The positions of an axis without labels are written as the numbers 0, 1, 2, ...
    pub(super) fn in_order(&self, symbols: &Symbols, pieces: &mut [Piece]) -> Vec<String> {
        let mut notes = Vec::new();
        for piece in pieces {
            for dimension in 0..piece.letters.len() {
                let axis = symbols.letter(piece.letters[dimension]).axis;
                let Some(known) = self.known(symbols, piece, dimension) else { continue };
                let are_numbers = || (0..known.len()).all(|place| known.contains(&place.to_string()));
                let labels = match &mut piece.content {
                    Content::Dense(dense) => dense.labels.get_mut(dimension),
                    Content::Coordinates(coordinates) => coordinates.labels.get_mut(dimension),
                    Content::Long(_) | Content::Documents(_) => None,
                };
                let Some(own @ Some(_)) = labels else { continue };
                let is_strange = |labels: &Vec<String>| {
                    labels.len() == known.len() && labels.iter().all(|label| !known.contains(label))
                };
                if own.as_ref().is_some_and(is_strange) && are_numbers() {
                    *own = None;
                    notes.push(format!(
                        "labels of axis `{}` stand in `{}` ({}), and none in the fit: what has none is taken in the same order",
                        symbols.axis(axis).name,
                        symbols.array(piece.array).name,
                        piece.name()
                    ));
                }
            }
        }
        notes
    }

    /// Files of which the fit knows no label of an axis that keeps its positions: nothing would be left of them.
    pub(super) fn strange(&self, symbols: &Symbols, pieces: &[Piece]) -> Vec<DataError> {
        let of_piece = |piece: &Piece| {
            (0..piece.letters.len()).find_map(|dimension| {
                let letter = symbols.letter(piece.letters[dimension]);
                // A column of groups has labels that stand in several of them.
                let all: HashSet<String>;
                let known = match self.known(symbols, piece, dimension) {
                    Some(known) => known,
                    None => {
                        let groups = self.labels.get(&letter.axis).filter(|_| piece.group.is_none())?;
                        all = groups.values().flatten().cloned().collect();
                        &all
                    }
                };
                let labels = labels_of(&piece.content, dimension);
                let first = labels.first().filter(|_| labels.iter().all(|own| !known.contains(*own)))?;
                let mut of_fit: Vec<&str> = known.iter().map(String::as_str).collect();
                of_fit.sort_unstable();
                let (axis, name) = (&symbols.axis(letter.axis).name, &symbols.array(piece.array).name);
                Some(
                    DataError::new(format!(
                        "{}: the fit knows none of the {} labels that `{name}` has on axis `{axis}`, such as `{first}`",
                        piece.name(),
                        labels.len()
                    ))
                    .possible(format!("labels of axis `{axis}` as the fit has them: {}", super::list(&of_fit)))
                    .help(format!(
                        "write the labels alike in both files; `--transpose {name}` if the file holds the transpose"
                    )),
                )
            })
        };
        pieces.iter().filter_map(of_piece).collect()
    }

    /// The labels that the fit has on the axis of a dimension, of the group of the file where it is of one; `None` of rows, and where several groups are
    /// meant.
    fn known(&self, symbols: &Symbols, piece: &Piece, dimension: usize) -> Option<&HashSet<String>> {
        let letter = symbols.letter(piece.letters[dimension]);
        let path = match (letter.parent, &piece.group) {
            (None, _) => String::new(),
            (Some(_), path) => path.as_ref()?.join("/"),
        };
        self.labels.get(&letter.axis)?.get(&path)
    }

    /// Leaves out entries whose label on such an axis the fit does not have, and says how many there were; `unknown` gets a sentence for each file of a
    /// group that the fit does not have.
    pub(super) fn leave_out_unknown(
        &self,
        symbols: &Symbols,
        pieces: &mut Vec<Piece>,
        unknown: &mut Vec<String>,
    ) -> usize {
        let mut dropped = 0;
        pieces.retain(|piece| {
            let keep = self.knows_group(symbols, piece);
            dropped += if keep { 0 } else { piece.content.len() };
            unknown.extend((!keep).then(|| self.unknown_group(symbols, piece)));
            keep
        });
        dropped + pieces.iter_mut().map(|piece| self.leave_out(symbols, piece)).sum::<usize>()
    }

    /// The labels of axes of rows that long tables alone list, in the order in which an axis takes them: as numbers if all are
    /// whole, else as they first appear.
    pub(super) fn listed_rows(&self, symbols: &Symbols, pieces: &[Piece]) -> BTreeMap<AxisId, Vec<String>> {
        let mut listed: BTreeMap<AxisId, Option<Vec<String>>> = BTreeMap::new();
        for piece in pieces {
            for (dimension, letter) in piece.letters.iter().enumerate() {
                let own = symbols.letter(*letter);
                if own.parent.is_some() || !self.rows.contains(&own.axis) {
                    continue;
                }
                let labels = listed.entry(own.axis).or_insert_with(|| Some(Vec::new()));
                match (&piece.content, labels.as_mut()) {
                    (Content::Long(long), Some(labels)) => {
                        labels.extend(long.positions[dimension].names.iter().cloned());
                    }
                    _ => *labels = None,
                }
            }
        }
        let in_order = |labels: Vec<String>| {
            // There may be as many as rows.
            let (mut labels, mut seen) = (labels, HashSet::new());
            labels.retain(|label| seen.insert(label.clone()));
            let numbers: Option<Vec<i64>> = labels.iter().map(|label| label.parse().ok()).collect();
            if numbers.is_some() {
                labels.sort_by_key(|label| label.parse::<i64>().unwrap_or_default());
            }
            labels
        };
        listed.into_iter().filter_map(|(axis, labels)| Some((axis, in_order(labels?)))).collect()
    }

    /// That a file is bound to a group which the fit does not have, and which groups it has.
    fn unknown_group(&self, symbols: &Symbols, piece: &Piece) -> String {
        let (name, path) = (&symbols.array(piece.array).name, piece.group.as_deref().unwrap_or_default());
        let ragged = piece.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
        let above = ragged.and_then(|own| symbols.lineage(*own).last().map(|top| symbols.letter(*top).axis));
        let known = above.and_then(|axis| Some((axis, self.labels.get(&axis)?.get("")?)));
        let has = known.map_or_else(String::new, |(axis, labels)| {
            let mut labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            labels.sort_unstable();
            format!(" (its {}: {})", symbols.axis(axis).name, super::list(&labels))
        });
        format!("`{name}[{}]` is left out: the fit has no such group{has}", path.join("/"))
    }

    /// Whether the fit has the group that a file is bound to, as far as it is one of such an axis.
    fn knows_group(&self, symbols: &Symbols, piece: &Piece) -> bool {
        let ragged = piece.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
        let (Some(path), Some(ragged)) = (&piece.group, ragged) else { return true };
        let lineage = symbols.lineage(*ragged);
        let mut ancestors = lineage[1..].iter().rev().enumerate();
        ancestors.all(|(level, letter)| {
            let known = self.labels.get(&symbols.letter(*letter).axis);
            let above = path[..level].join("/");
            known.is_none_or(|known| known.get(&above).is_some_and(|known| known.contains(&path[level])))
        })
    }

    /// Says of each array whether an unknown label among its values is left out: with its row, or as a missing entry.
    pub(super) fn leaves_out(&self, model: &Model) -> Vec<bool> {
        let symbols = &model.symbols;
        let leaves_out = |id: ArrayId| match symbols.array(id).support {
            Support::Index(axis) => {
                self.labels.contains_key(&axis)
                    && (is_only_target(model, id) || self.row_of(symbols, id).is_some())
            }
            _ => false,
        };
        (0..symbols.arrays.len()).map(ArrayId::from).map(leaves_out).collect()
    }

    /// The innermost dimension of an array along which rows lie.
    fn row_of(&self, symbols: &Symbols, id: ArrayId) -> Option<usize> {
        let letters = &symbols.array(id).letters;
        (0..letters.len())
            .rev()
            .find(|dimension| self.rows.contains(&symbols.letter(letters[*dimension]).axis))
    }

    /// Leaves out values that name an unknown label, and says how many there were. Where nothing else reads the array and it may
    /// have missing entries, they are missing; else the row that holds the value goes, in every array.
    pub(super) fn leave_out_values(
        &self,
        model: &Model,
        axes: &mut Axes,
        arrays: &mut [Option<BoundArray>],
        listed: &mut [Option<Columns>],
    ) -> usize {
        let symbols = &model.symbols;
        let mut keep: Vec<Option<Vec<bool>>> = vec![None; axes.bound.len()];
        let mut dropped = 0;
        let before: Vec<usize> = axes.bound.iter().map(|axis| axis.size).collect();
        let shape = |id: ArrayId| -> Vec<usize> {
            symbols
                .array(id)
                .letters
                .iter()
                .map(|letter| before[symbols.letter(*letter).axis.index()])
                .collect()
        };
        for id in (0..arrays.len()).map(ArrayId::from).filter(|id| axes.leaves_out[id.index()]) {
            let Some(bound) = &mut arrays[id.index()] else { continue };
            let row = self.row_of(symbols, id).filter(|_| !is_only_target(model, id));
            for entry in unknown(bound) {
                dropped += 1;
                match row {
                    None => forget(bound, entry),
                    Some(row) => {
                        let axis = symbols.letter(symbols.array(id).letters[row]).axis.index();
                        let own = keep[axis].get_or_insert_with(|| vec![true; before[axis]]);
                        own[position(bound, &shape(id), entry, row)] = false;
                    }
                }
            }
        }
        if keep.iter().all(Option::is_none) {
            return dropped;
        }
        axes.warnings.extend(rows_left_out(symbols, axes, &keep));
        axes.without(symbols, &mut keep);
        for id in (0..arrays.len()).map(ArrayId::from) {
            let letters = &symbols.array(id).letters;
            let own: Vec<Option<&[bool]>> =
                letters.iter().map(|letter| keep[symbols.letter(*letter).axis.index()].as_deref()).collect();
            if own.iter().all(Option::is_none) {
                continue;
            }
            if let Some(bound) = &mut arrays[id.index()] {
                *bound = without(bound, &shape(id), &own);
            }
            if let Some(columns) = &mut listed[id.index()] {
                let length = columns.first().map_or(0, Vec::len);
                let stays: Vec<usize> = (0..length).filter(|entry| is_kept(columns, *entry, &own)).collect();
                *columns = renumbered(columns, &stays, &own);
            }
        }
        dropped
    }

    fn leave_out(&self, symbols: &Symbols, piece: &mut Piece) -> usize {
        let mut dropped = 0;
        for dimension in 0..piece.letters.len() {
            let axis = symbols.letter(piece.letters[dimension]).axis;
            let Some(known) = self.labels.get(&axis) else { continue };
            let path = piece.group.as_ref().map_or_else(String::new, |path| path.join("/"));
            let parent = symbols.letter(piece.letters[dimension]).parent;
            // The columns of the groups, outermost first; none where the file is that of one group.
            let lineage = symbols.lineage(piece.letters[dimension]);
            let ancestors = lineage[1..].iter().rev();
            let above: Option<Vec<usize>> = ancestors
                .map(|ancestor| piece.letters.iter().position(|letter| letter == ancestor))
                .collect();
            match &mut piece.content {
                Content::Dense(dense) => {
                    let Some(known) = known.get(if parent.is_some() { path.as_str() } else { "" }) else {
                        continue;
                    };
                    dropped += positions_left_out(dense, dimension, known);
                }
                Content::Long(long) => {
                    let name =
                        |column: &Categories, entry: usize| column.get(entry).unwrap_or_default().to_owned();
                    let keep: Vec<bool> = (0..long.positions[dimension].codes.len())
                        .map(|entry| {
                            let group = match (parent, &above) {
                                (None, _) => String::new(),
                                (Some(_), Some(above)) => {
                                    let labels =
                                        above.iter().map(|place| name(&long.positions[*place], entry));
                                    labels.collect::<Vec<_>>().join("/")
                                }
                                (Some(_), None) => path.clone(),
                            };
                            let own = name(&long.positions[dimension], entry);
                            known.get(&group).is_some_and(|known| known.contains(&own))
                        })
                        .collect();
                    dropped += entries_left_out(long, &keep);
                }
                Content::Coordinates(coordinates) => {
                    // Texts were read by the words of the fit, if they are those of this axis.
                    dropped +=
                        coordinates.texts.as_ref().filter(|_| dimension == 1).map_or(0, |own| own.unknown);
                    let Some(known) = known.get(if parent.is_some() { path.as_str() } else { "" }) else {
                        continue;
                    };
                    dropped += listed_left_out(coordinates, dimension, known);
                }
                Content::Documents(_) => {}
            }
        }
        dropped
    }
}

/// For each axis of which rows go, which they are: the first ones by name.
fn rows_left_out(symbols: &Symbols, axes: &Axes, keep: &[Option<Vec<bool>>]) -> Vec<String> {
    const FEW: usize = 3;
    let of_axis = |(axis, own): (AxisId, &Vec<bool>)| {
        let gone: Vec<usize> = (0..own.len()).filter(|place| !own[*place]).collect();
        let names =
            gone.iter().take(FEW).map(|place| format!("`{}`", axes.path(symbols, axis, *place).join("/")));
        let names: Vec<String> = names.collect();
        let (verb, more) = match gone.len() {
            1 => ("is", String::new()),
            count if count > FEW => ("are", format!(" and {} others", count - FEW)),
            _ => ("are", String::new()),
        };
        format!(
            "{} {}{more} {verb} left out: a value there is a label that the fit does not know",
            symbols.axis(axis).name,
            names.join(", ")
        )
    };
    let all = keep.iter().enumerate().filter_map(|(axis, own)| Some((AxisId::from(axis), own.as_ref()?)));
    all.map(of_axis).collect()
}

/// Keeps some entries of a long table.
fn entries_left_out(long: &mut Long, keep: &[bool]) -> usize {
    let dropped = keep.iter().filter(|keep| !**keep).count();
    if dropped > 0 {
        long.positions.iter_mut().for_each(|column| *column = kept(column, keep));
        if let Some((_, values)) = &mut long.values {
            match values {
                Values::Numbers(numbers) => {
                    let mut keep = keep.iter();
                    numbers.to_mut().retain(|_| keep.next().copied().unwrap_or(false));
                }
                Values::Text(text) => *text = kept(text, keep),
            }
        }
        long.lines.retain(keep);
    }
    dropped
}

/// A column with some of its rows, and only the names that these have.
fn kept(column: &Categories, keep: &[bool]) -> Categories {
    let mut codes: Vec<Option<u32>> = vec![None; column.names.len()];
    let mut out = Categories::default();
    for (code, _) in column.codes.iter().zip(keep).filter(|(_, keep)| **keep) {
        let Some(known) = codes.get_mut(*code as usize) else {
            out.codes.push(*code);
            continue;
        };
        let own = *known.get_or_insert_with(|| {
            out.names.push(column.names[*code as usize].clone());
            (out.names.len() - 1) as u32
        });
        out.codes.push(own);
    }
    out
}

/// Keeps some positions of a dimension of a dense array; how many entries go.
fn positions_left_out(dense: &mut Dense, dimension: usize, known: &HashSet<String>) -> usize {
    let Some(labels) = &mut dense.labels[dimension] else { return 0 };
    let keep: Vec<bool> = labels.iter().map(|label| known.contains(label)).collect();
    if !keep.contains(&false) {
        return 0;
    }
    let after: usize = dense.shape[dimension + 1..].iter().product::<usize>().max(1);
    let size = dense.shape[dimension];
    let is_kept = |entry: usize| keep[entry / after % size];
    let before = dense.values.len();
    match &mut dense.values {
        Values::Numbers(numbers) => {
            let mut entry = 0..before;
            numbers.to_mut().retain(|_| entry.next().is_some_and(is_kept));
        }
        Values::Text(text) => {
            let keep: Vec<bool> = (0..before).map(is_kept).collect();
            *text = kept(text, &keep);
        }
    }
    let mut own = keep.iter();
    labels.retain(|_| own.next().copied().unwrap_or(false));
    dense.shape[dimension] = labels.len();
    dense.lines = None;
    before - dense.values.len()
}

/// Keeps the listed entries whose labels are known; how many entries go.
fn listed_left_out(listed: &mut Coordinates, dimension: usize, known: &HashSet<String>) -> usize {
    let Some(labels) = listed.labels.get_mut(dimension).and_then(Option::as_mut) else { return 0 };
    let mut next = 0;
    let places: Vec<Option<u32>> = labels
        .iter()
        .map(|label| {
            let place = known.contains(label).then_some(next);
            next += u32::from(place.is_some());
            place
        })
        .collect();
    if places.iter().all(Option::is_some) {
        return 0;
    }
    let mut own = places.iter();
    labels.retain(|_| own.next().is_some_and(Option::is_some));
    listed.shape[dimension] = labels.len();
    let keep: Vec<bool> =
        listed.indices[dimension].iter().map(|position| places[*position as usize].is_some()).collect();
    for column in &mut listed.indices {
        let mut keep = keep.iter();
        column.to_mut().retain(|_| keep.next().copied().unwrap_or(false));
    }
    for position in &mut listed.indices[dimension] {
        *position = places[*position as usize].unwrap_or_default();
    }
    let mut keep_value = keep.iter();
    listed.values.to_mut().retain(|_| keep_value.next().copied().unwrap_or(false));
    listed.lines = None;
    keep.len() - listed.values.len()
}

/// Whether data stand on the left of their statement alone, and may miss entries.
fn is_only_target(model: &Model, id: ArrayId) -> bool {
    let mut is_read = false;
    for argument in model.statements.iter().flat_map(|statement| statement.arguments.iter().flatten()) {
        argument.value.visit_values(&mut |array, _| is_read |= array == id);
    }
    !is_read && model.symbols.array(id).absent.missing
}

/// The entries of an array that name an unknown label.
fn unknown(bound: &BoundArray) -> Vec<usize> {
    let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) = bound;
    (0..values.len()).filter(|entry| values[*entry] == UNKNOWN).collect()
}

/// Makes an entry a missing one.
fn forget(bound: &mut BoundArray, entry: usize) {
    let (BoundArray::Dense { values, observed } | BoundArray::Sparse { values, observed, .. }) = bound;
    observed.get_or_insert_with(|| vec![true; values.len()])[entry] = false;
    values[entry] = 0.0;
}

/// The position of an entry in one dimension.
fn position(bound: &BoundArray, shape: &[usize], entry: usize, dimension: usize) -> usize {
    match bound {
        BoundArray::Sparse { indices, .. } => indices[dimension][entry] as usize,
        BoundArray::Dense { .. } => {
            let after: usize = shape[dimension + 1..].iter().product();
            entry / after.max(1) % shape[dimension].max(1)
        }
    }
}

/// An array without some positions of its dimensions.
fn without(bound: &BoundArray, shape: &[usize], keep: &[Option<&[bool]>]) -> BoundArray {
    let some = |mask: &Option<Vec<bool>>, stays: &[usize]| {
        let mask: Option<Vec<bool>> =
            mask.as_ref().map(|mask| stays.iter().map(|entry| mask[*entry]).collect());
        mask.filter(|mask| mask.contains(&false))
    };
    match bound {
        BoundArray::Dense { values, observed } => {
            let stays: Vec<usize> = (0..values.len())
                .filter(|entry| {
                    (0..shape.len()).all(|dimension| {
                        keep[dimension].is_none_or(|keep| keep[position(bound, shape, *entry, dimension)])
                    })
                })
                .collect();
            let values = stays.iter().map(|entry| values[*entry]).collect();
            BoundArray::Dense { values, observed: some(observed, &stays) }
        }
        BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
            let stays: Vec<usize> =
                (0..values.len()).filter(|entry| is_kept(indices, *entry, keep)).collect();
            BoundArray::Sparse {
                indices: renumbered(indices, &stays, keep).into_iter().map(Into::into).collect(),
                values: stays.iter().map(|entry| values[*entry]).collect(),
                observed: some(observed, &stays),
                unlisted_zero: *unlisted_zero,
            }
        }
    }
}

/// Whether an entry stays, by its coordinates.
fn is_kept(columns: &[impl AsRef<[u32]>], entry: usize, keep: &[Option<&[bool]>]) -> bool {
    columns
        .iter()
        .zip(keep)
        .all(|(column, keep)| keep.is_none_or(|keep| keep[column.as_ref()[entry] as usize]))
}

/// The coordinates of the entries that stay, counted along what is kept.
fn renumbered<C: AsRef<[u32]>>(columns: &[C], stays: &[usize], keep: &[Option<&[bool]>]) -> Columns {
    let renumber = |(column, keep): (&C, &Option<&[bool]>)| -> Vec<u32> {
        let own = stays.iter().map(|entry| column.as_ref()[*entry]);
        let Some(keep) = keep else { return own.collect() };
        let mut places = Vec::with_capacity(keep.len());
        let mut next = 0;
        for keep in keep.iter() {
            places.push(next);
            next += u32::from(*keep);
        }
        own.map(|position| places[position as usize]).collect()
    };
    columns.iter().zip(keep).map(renumber).collect()
}
