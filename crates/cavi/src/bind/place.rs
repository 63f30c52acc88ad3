//! Pieces to arrays: every entry at its position.

use std::borrow::Cow;
use std::path::Path;

use cavi_algebra::{Array, ArrayId, ArrayKind, Support, Symbols};
use cavi_executor::BoundArray;
use cavi_files::{Content, Dense, Values};
use cavi_numerics::Numbers;

use super::axes::Axes;
use super::data_error::DataError;
use super::documents::multiplicity_of;
use super::existing::Existing;
use super::listing::{Listing, is_partly_missing, of_absent};
use super::pieces::Piece;
use super::suspicions;
use super::values::{may_not_be_missing, misfit, rounded, values};

/// An array smaller than this stays as it is read.
const SMALL: usize = 4096;

/// The shape of an array and what its entries are, for one array.
pub(super) struct Target<'a> {
    pub symbols: &'a Symbols,
    pub axes: &'a Axes,
    pub id: ArrayId,
    pub array: &'a Array,
    pub shape: Vec<usize>,
    /// For a restricted array the two dimensions and whether only the upper triangle exists.
    pub restricted: Option<(usize, usize, bool)>,
    /// Which cells are entries.
    existing: Existing,
}

impl<'a> Target<'a> {
    pub fn new(symbols: &'a Symbols, axes: &'a Axes, id: ArrayId) -> Target<'a> {
        let array = symbols.array(id);
        let shape = array
            .letters
            .iter()
            .map(|letter| axes.bound[symbols.letter(*letter).axis.index()].size)
            .collect();
        let existing = Existing::of(symbols, &axes.bound, array);
        Target { symbols, axes, id, array, shape, restricted: existing.restricted(), existing }
    }

    /// The number of cells; `None` if that is beyond any memory.
    pub fn cells(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(1usize, |product, size| product.checked_mul(*size))
    }

    /// The number of entries that exist.
    pub fn existing(&self) -> Option<usize> {
        self.cells()?;
        self.existing.count(&self.shape)
    }

    /// Whether there are cells without an entry.
    pub fn has_gaps(&self) -> bool {
        self.existing.has_gaps()
    }

    /// Which cells are entries.
    pub fn cells_with_entries(&self) -> &Existing {
        &self.existing
    }

    /// Whether an entry at these coordinates exists.
    pub fn exists(&self, coordinate: impl Fn(usize) -> usize) -> bool {
        self.existing.at(coordinate)
    }

    /// The coordinates of a cell.
    pub fn coordinates(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut coordinates = vec![0; self.shape.len()];
        for (coordinate, size) in coordinates.iter_mut().zip(&self.shape).rev() {
            *coordinate = rest % size.max(&1);
            rest /= size.max(&1);
        }
        coordinates
    }

    /// Whether a cell exists.
    pub fn cell_exists(&self, cell: usize) -> bool {
        if !self.has_gaps() {
            return true;
        }
        let coordinates = self.coordinates(cell);
        self.exists(|dimension| coordinates[dimension])
    }

    /// An entry in words: its labels.
    pub fn describe(&self, coordinates: &[usize]) -> String {
        let paths: Vec<Vec<String>> = self
            .array
            .letters
            .iter()
            .zip(coordinates)
            .map(|(letter, position)| {
                self.axes.path(self.symbols, self.symbols.letter(*letter).axis, *position)
            })
            .collect();
        let labels = self.symbols.written(self.id, &paths);
        if labels.is_empty() {
            return self.array.name.clone();
        }
        format!("{}[{}]", self.array.name, labels.join(", "))
    }

    /// What the restriction says, in words.
    pub fn restriction(&self) -> String {
        let name = |dimension: usize| &self.symbols.letter(self.array.letters[dimension]).name;
        match self.restricted {
            Some((row, column, upper)) => {
                format!("an entry with {} {} {}", name(row), if upper { "<" } else { "!=" }, name(column))
            }
            None => "any entry".to_owned(),
        }
    }

    /// How a pair is written of which only one order exists.
    pub fn order_of_pairs(&self) -> String {
        let axis = self.restricted.map(|(row, _, _)| {
            let letter = self.array.letters[row];
            self.symbols.axis(self.symbols.letter(letter).axis).name.as_str()
        });
        let axis = axis.unwrap_or("AXIS");
        format!(
            "the order is that of the positions, here that in which labels first appear: swap the two labels, so that each pair stands once, or give \
             all labels in order by `--labels {axis}=FILE`"
        )
    }

    /// The dimension of the array that a dimension of a piece is; `None` for an ancestor of a ragged one.
    pub fn dimension_of(&self, piece: &Piece, dimension: usize) -> Option<usize> {
        self.array.letters.iter().position(|letter| *letter == piece.letters[dimension])
    }
}

/// Coordinates of entries, a column a dimension.
pub(super) type Columns = Vec<Vec<u32>>;

/// The arrays of the files.
pub(super) struct Placed {
    /// The arrays, where there are files.
    pub arrays: Vec<Option<BoundArray>>,
    /// The coordinates of what the files list, where they were asked for.
    pub listed: Vec<Option<Columns>>,
    /// How many entries stood a second time, and were added to the first.
    pub added: Vec<usize>,
}

/// One array from its files.
pub(super) struct Listed {
    pub array: BoundArray,
    /// The coordinates of what the files list, in their order, where they were asked for.
    pub in_file_order: Option<Columns>,
    /// How many entries stood a second time, and were added to the first.
    pub added: usize,
}

/// The arrays that files are bound to; `None` for the others. For those `with_latents` that list their entries also the
/// coordinates of these in the order of the file. With `spill` what is out of order is sorted on disk, in that directory. Numbers of a dense file that already lie where they belong are taken out of their piece.
pub(super) fn place(
    symbols: &Symbols,
    axes: &Axes,
    pieces: &mut [Piece],
    with_latents: &[ArrayId],
    spill: Option<&Path>,
    problems: &mut Vec<DataError>,
) -> Placed {
    let mut arrays: Vec<Option<BoundArray>> = vec![None; symbols.arrays.len()];
    let mut listed: Vec<Option<Columns>> = vec![None; symbols.arrays.len()];
    let mut added = vec![0; symbols.arrays.len()];
    for id in (0..symbols.arrays.len()).map(ArrayId::from) {
        let target = Target::new(symbols, axes, id);
        match at_home(&target, pieces) {
            Ok(None) => {}
            Ok(Some(array)) => {
                arrays[id.index()] = Some(array);
                continue;
            }
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        }
        let own: Vec<&Piece> = pieces.iter().filter(|piece| piece.array == id).collect();
        let [first, ..] = own.as_slice() else { continue };
        if first.is_documents() {
            match documents(&target, first) {
                Ok((index, counts)) => {
                    arrays[id.index()] = Some(BoundArray::full(index));
                    if let Some(weights) = multiplicity_of(symbols, first) {
                        match pieces.iter().find(|piece| piece.array == weights) {
                            None => arrays[weights.index()] = Some(BoundArray::full(counts)),
                            Some(other) => problems.push(DataError::new(format!(
                                "`{}` has the counts of {}, and is bound to {} too",
                                symbols.array(weights).name,
                                first.name(),
                                other.name()
                            ))),
                        }
                    }
                }
                Err(problem) => problems.push(problem),
            }
            continue;
        }
        match placed(&target, pieces, (with_latents.contains(&id), spill)) {
            Ok(own) => {
                arrays[id.index()] = Some(own.array);
                listed[id.index()] = own.in_file_order;
                added[id.index()] = own.added;
            }
            Err(problem) => problems.push(problem),
        }
    }
    Placed { arrays, listed, added }
}

/// One array from its files, and if asked for the coordinates of what they list.
fn placed(
    target: &Target<'_>,
    pieces: &mut [Piece],
    (in_file_order, spill): (bool, Option<&Path>),
) -> Result<Listed, DataError> {
    let is_own = |piece: &Piece| piece.array == target.id;
    if pieces.iter().filter(|piece| is_own(piece)).all(|piece| matches!(piece.content, Content::Dense(_))) {
        let own: Vec<&Piece> = pieces.iter().filter(|piece| is_own(piece)).collect();
        return dense(target, &own, pieces).map(|array| Listed { array, in_file_order: None, added: 0 });
    }
    let mut own: Vec<&mut Piece> = pieces.iter_mut().filter(|piece| is_own(piece)).collect();
    Listing::read(target, &mut own, in_file_order, spill)
}

/// One array from files of its own, which may be moved out of them.
pub(super) fn one(target: &Target<'_>, pieces: &mut [Piece]) -> Result<BoundArray, DataError> {
    placed(target, pieces, (false, None)).map(|own| own.array)
}

/// The rows of documents: the index of each, and its count.
fn documents(target: &Target<'_>, piece: &Piece) -> Result<(Vec<f64>, Vec<f64>), DataError> {
    let Content::Documents(documents) = &piece.content else { unreachable!("the caller looked") };
    let weighted = multiplicity_of(target.symbols, piece).is_some();
    let support = if weighted { Support::Multiplicity } else { Support::Count };
    let size = target.shape[0];
    let (mut index, mut counts) = (Vec::with_capacity(size), Vec::with_capacity(size));
    for (entry, (id, count)) in documents.ids.iter().zip(&documents.counts).enumerate() {
        if let Some(expected) = misfit(support, *count).or_else(|| rounded(support, *count)) {
            return Err(piece
                .content
                .error_at(&piece.file, entry, format!("the count {count}"), expected)
                .into());
        }
        let times = if weighted { 1 } else { *count as usize };
        index.extend(std::iter::repeat_n(f64::from(*id), times));
        counts.extend(std::iter::repeat_n(*count, times));
    }
    Ok((index, counts))
}

/// Where the positions of each dimension of a dense piece are on the axes.
fn maps(target: &Target<'_>, piece: &Piece, dense: &Dense) -> Result<Vec<Vec<usize>>, DataError> {
    let mut maps = Vec::with_capacity(dense.shape.len());
    for (dimension, letter) in piece.letters.iter().enumerate() {
        let axis = target.symbols.letter(*letter).axis;
        if let Some(own) = piece.flat(axis) {
            let places = target.axes.places_of_flat(target.symbols, piece, own)?;
            maps.push(places.into_iter().map(|place| place as usize).collect());
            continue;
        }
        let group = match (target.symbols.axis(axis).parent, &piece.group) {
            (Some(parent), Some(path)) => target.axes.find_path(target.symbols, parent, path).unwrap_or(0),
            _ => 0,
        };
        let start = target.axes.bound[axis.index()].starts.as_ref().map_or(0, |starts| starts[group]);
        maps.push(match &dense.labels[dimension] {
            None => (start..start + dense.shape[dimension]).collect(),
            Some(labels) => {
                let mut map = Vec::with_capacity(labels.len());
                for label in labels {
                    let Some(position) = target.axes.find(axis, group, label) else {
                        let expected = target.axes.expected_label(target.symbols, axis);
                        let message =
                            format!("{}: found the label `{label}`; expected {expected}", piece.name());
                        return Err(DataError::new(message).help("correct one of the two files"));
                    };
                    map.push(position as usize);
                }
                map
            }
        });
    }
    Ok(maps)
}

/// An array whose one piece is dense, holds numbers, and has each of them where it belongs: its numbers are moved, not copied. `None` for
/// any other.
fn at_home(target: &Target<'_>, pieces: &mut [Piece]) -> Result<Option<BoundArray>, DataError> {
    let mut own = pieces.iter_mut().filter(|piece| piece.array == target.id);
    let (Some(piece), None) = (own.next(), own.next()) else { return Ok(None) };
    let Content::Dense(content) = &piece.content else { return Ok(None) };
    if target.has_gaps() || Some(content.values.len()) != target.cells() {
        return Ok(None);
    }
    let offsets = offsets(target, piece, content)?;
    if cells_of(&content.shape, &offsets).is_some() {
        return Ok(None);
    }
    // Numbers that have to be others, such as positions of labels, are not those of the piece.
    let is_borrowed = matches!(values(target.symbols, target.axes, piece, &|_| false)?, Cow::Borrowed(_));
    let Content::Dense(content) = &mut piece.content else { unreachable!("it was dense") };
    let Values::Numbers(numbers) = &mut content.values else { return Ok(None) };
    if !is_borrowed {
        return Ok(None);
    }
    let mut all = std::mem::take(numbers);
    let observed = observed_of(target, &mut all);
    Ok(Some(compact(target, all, observed)))
}

/// Where the positions along each dimension of a dense piece are among the cells.
fn offsets(target: &Target<'_>, piece: &Piece, content: &Dense) -> Result<Vec<Vec<usize>>, DataError> {
    let mut strides = vec![1; target.shape.len()];
    for dimension in (1..target.shape.len()).rev() {
        strides[dimension - 1] = strides[dimension] * target.shape[dimension];
    }
    let of_dimension = |(dimension, map): (usize, &Vec<usize>)| {
        let stride = target.dimension_of(piece, dimension).map_or(0, |own| strides[own]);
        map.iter().map(|position| position * stride).collect()
    };
    Ok(maps(target, piece, content)?.iter().enumerate().map(of_dimension).collect())
}

/// Which entries of an array are observed, `None` where all are. Those that are missing, and cells without an entry, become 0.
fn observed_of(target: &Target<'_>, all: &mut Numbers<f64>) -> Option<Vec<bool>> {
    let cells = all.len();
    if !target.has_gaps() && !is_partly_missing(all) {
        return None;
    }
    let mut observed: Option<Vec<bool>> = None;
    for (cell, value) in all.iter_mut().enumerate() {
        if target.has_gaps() && !target.cell_exists(cell) {
            *value = 0.0;
        } else if value.is_nan() {
            *value = 0.0;
            observed.get_or_insert_with(|| vec![true; cells])[cell] = false;
        }
    }
    observed
}

/// An array from dense files: one, or one a group.
fn dense(target: &Target<'_>, own: &[&Piece], pieces: &[Piece]) -> Result<BoundArray, DataError> {
    let cells =
        target.cells().filter(|cells| *cells <= isize::MAX as usize / 8).ok_or_else(|| too_large(target))?;
    let mut all: Numbers<f64> = Numbers::default();
    let mut filled: Vec<bool> = Vec::new();
    let mut count = 0;
    for piece in own {
        let Content::Dense(content) = &piece.content else { unreachable!("the caller looked") };
        let offsets = offsets(target, piece, content)?;
        let places = cells_of(&content.shape, &offsets);
        let outside = |entry: usize| match &places {
            None => !target.cell_exists(entry),
            Some(places) => !target.cell_exists(places[entry]),
        };
        let found = values(target.symbols, target.axes, piece, &|entry| target.has_gaps() && outside(entry))?;
        refuse_outside(target, piece, content, &found, &outside)?;
        match places {
            None if found.len() == cells && own.len() == 1 => {
                all = found.into_owned().into();
                count = cells;
            }
            places => {
                all.to_mut().resize(cells, 0.0);
                filled.resize(cells, false);
                for (entry, value) in found.iter().enumerate() {
                    let place = places.as_ref().map_or(entry, |places| places[entry]);
                    all[place] = *value;
                    filled[place] = true;
                }
                count += found.len();
            }
        }
    }
    all.to_mut().resize(cells, 0.0);
    let mut observed = observed_of(target, &mut all);
    if count < cells {
        filled.resize(cells, false);
        let absent = (0..cells).filter(|cell| !filled[*cell] && target.cell_exists(*cell));
        for cell in absent {
            if target.array.absent.zero {
                break;
            }
            if !target.array.absent.missing {
                return Err(lacks(target, own, pieces, &target.coordinates(cell)));
            }
            observed.get_or_insert_with(|| vec![true; cells])[cell] = false;
        }
    }
    Ok(compact(target, all, observed))
}

/// The cells of the entries of a file; `None` where each entry is at its own place.
fn cells_of(shape: &[usize], offsets: &[Vec<usize>]) -> Option<Vec<usize>> {
    let length: usize = shape.iter().product();
    let mut stride = length;
    let at_home = shape.iter().zip(offsets).all(|(size, offsets)| {
        stride /= size.max(&1);
        offsets.iter().enumerate().all(|(place, offset)| *offset == place * stride)
    });
    if at_home {
        return None;
    }
    let mut cells = vec![0; length];
    let mut repeat = length;
    for (size, offsets) in shape.iter().zip(offsets) {
        // Dimension after dimension: the position changes every `repeat` entries.
        repeat /= size.max(&1);
        for (run, cells) in cells.chunks_mut(repeat.max(1)).enumerate() {
            let offset = offsets[run % size];
            cells.iter_mut().for_each(|cell| *cell += offset);
        }
    }
    Some(cells)
}

/// Refuses entries that a restriction excludes, unless they are 0 or missing, or the lower triangle of a symmetric matrix.
fn refuse_outside(
    target: &Target<'_>,
    piece: &Piece,
    content: &Dense,
    values: &[f64],
    outside: &dyn Fn(usize) -> bool,
) -> Result<(), DataError> {
    let Some((_, _, upper)) = target.restricted else { return Ok(()) };
    let wrong = |entry: &usize| {
        let value = values[*entry];
        !(value == 0.0 || value.is_nan()) && outside(*entry)
    };
    let symmetric = || {
        let matrix_market = piece.name().to_ascii_lowercase().contains(".mtx");
        let n = content.shape[0];
        matrix_market
            && content.shape.len() == 2
            && (0..values.len())
                .all(|entry| values[entry].to_bits() == values[entry % n * n + entry / n].to_bits())
    };
    let symmetric = upper && symmetric();
    let diagonal =
        |entry: &usize| content.shape.len() == 2 && entry / content.shape[0] == entry % content.shape[0];
    match (0..values.len()).find(|entry| wrong(entry) && (!symmetric || diagonal(entry))) {
        None => Ok(()),
        Some(entry) => {
            let found = format!("{}", values[entry]);
            let expected = format!("{}; elsewhere 0 or nothing", target.restriction());
            Err(piece.content.error_at(&piece.file, entry, found, expected).into())
        }
    }
}

/// An array too large for any memory.
pub(super) fn too_large(target: &Target<'_>) -> DataError {
    DataError::new(format!("`{}` has {:?} entries, which no memory holds", target.array.name, target.shape))
}

/// The first entry that the files of an array lack, while other files have its labels.
fn lacks(target: &Target<'_>, own: &[&Piece], pieces: &[Piece], coordinates: &[usize]) -> DataError {
    let help = of_absent(target);
    for piece in own {
        let Content::Dense(content) = &piece.content else { continue };
        let Ok(maps) = maps(target, piece, content) else { continue };
        for (dimension, map) in maps.iter().enumerate() {
            let Some(own_dimension) = target.dimension_of(piece, dimension) else { continue };
            let position = coordinates[own_dimension];
            if own.len() > 1 || map.contains(&position) {
                continue;
            }
            let axis = target.symbols.letter(piece.letters[dimension]).axis;
            let path = target.axes.path(target.symbols, axis, position);
            let label = path.last().map_or("", String::as_str);
            let other = target.axes.who_has(target.symbols, pieces, axis, label, target.id);
            let name = &target.symbols.axis(axis).name;
            let others = target.shape[own_dimension].saturating_sub(map.len() + 1);
            let more = match (others, target.symbols.axis(axis).parent) {
                (1.., None) => format!("; it lacks {others} more"),
                _ => String::new(),
            };
            let own_labels = suspicions::labels_of(&piece.content, dimension);
            let help = match suspicions::same_but_for_writing(label, &own_labels) {
                Some(own) => {
                    format!(
                        "`{own}` of {} may be this {name}: write its label alike in both files",
                        piece.name()
                    )
                }
                None => help,
            };
            return DataError::new(format!(
                "{} lacks the label `{label}` of axis `{name}`, which {other} has{more}",
                piece.name(),
            ))
            .help(help);
        }
    }
    let names: Vec<String> = cavi_algebra::dedup(own.iter().map(|piece| piece.name().to_string()).collect());
    let names = if names.is_empty() { "no file".to_owned() } else { format!("none of {}", names.join(", ")) };
    DataError::new(format!("{names} has the entry {}", target.describe(coordinates))).help(help)
}

/// A dense array as it is, or its listed entries where that saves much memory.
pub(super) fn compact(target: &Target<'_>, values: Numbers<f64>, observed: Option<Vec<bool>>) -> BoundArray {
    let large =
        values.len() > SMALL && target.shape.len() > 1 && !matches!(target.array.support, Support::Index(_));
    let is_observed = |cell: usize| observed.as_ref().is_none_or(|observed| observed[cell]);
    if !large || target.shape.iter().any(|size| *size > u32::MAX as usize) {
        return BoundArray::Dense { values, observed };
    }
    let zero = target.array.absent.zero;
    let keep = |cell: usize| {
        if zero {
            values[cell] != 0.0 || !is_observed(cell)
        } else {
            is_observed(cell) && target.cell_exists(cell)
        }
    };
    if !zero && observed.is_none() {
        return BoundArray::Dense { values, observed };
    }
    let kept = (0..values.len()).filter(|cell| keep(*cell)).count();
    if kept > values.len() / 4 {
        return BoundArray::Dense { values, observed };
    }
    let mut indices: Vec<Vec<u32>> = vec![Vec::with_capacity(kept); target.shape.len()];
    let mut listed = Vec::with_capacity(kept);
    let mut mask = Vec::with_capacity(kept);
    for cell in (0..values.len()).filter(|cell| keep(*cell)) {
        for (column, coordinate) in indices.iter_mut().zip(target.coordinates(cell)) {
            column.push(coordinate as u32);
        }
        listed.push(values[cell]);
        mask.push(is_observed(cell));
    }
    let observed = mask.contains(&false).then_some(mask);
    let indices = indices.into_iter().map(Into::into).collect();
    BoundArray::Sparse { indices, values: listed.into(), observed, unlisted_zero: zero }
}

/// Whether an entry that no file lists may be left out, in words why not.
pub(super) fn needs_absent(symbols: &Symbols, id: ArrayId, file: &str) -> DataError {
    let array = symbols.array(id);
    let problem = DataError::new(format!(
        "{file} lists entries of `{}`, and the program does not say what the others are",
        array.name
    ));
    match (array.kind, may_not_be_missing(symbols, id)) {
        (ArrayKind::Data, _) => problem
            .possible(
                "`absent = 0`: an unlisted entry was observed to be 0; `absent = NA`: it was not observed",
            )
            .help(format!("add one of them to the declaration of `{}`", array.name)),
        (ArrayKind::Constant | ArrayKind::Latent, _) => problem.help("give a constant as a dense file"),
    }
}
