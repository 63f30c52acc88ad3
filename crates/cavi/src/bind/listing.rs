//! Listed entries: coordinates and long tables, sorted, without duplicates.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use cavi_algebra::{Array, ArrayKind, AxisId, Support};
use cavi_executor::BoundArray;
use cavi_files::{Content, Coordinates, Dense, FileError, Growing, Long, Values};
use cavi_numerics::facts::OfValues;
use cavi_numerics::reduce::has_nan;
use cavi_numerics::{Number, Numbers};

use super::data_error::DataError;
use super::pieces::Piece;
use super::place::{Columns, Listed, Target, needs_absent, too_large};
use super::values::values;

/// The entries of all files of an array, one after another.
#[derive(Default)]
pub(super) struct Listing {
    /// One column of positions a dimension of the array.
    columns: Vec<Numbers<u32>>,
    /// The values; NaN where missing.
    values: Numbers<f64>,
    /// The piece and the number of each entry. They are stored only if entries were dropped, because otherwise they
    /// follow from counting.
    sources: Option<Vec<usize>>,
    /// Where the entries of each piece begin.
    starts: Vec<usize>,
    /// Whether they were sorted on disk, so that nothing says which entry of the file each was.
    sorted_outside: bool,
    /// Whether the one file that there is says that its entries ascend.
    known_to_ascend: bool,
}

impl Listing {
    /// Reads the listed entries of an array into the form that suits it; where it is asked for, with their coordinates in
    /// the order of the file. The lists are moved out of the pieces, which are of no other array.
    pub fn read(
        target: &Target<'_>,
        own: &mut [&mut Piece],
        in_file_order: bool,
        spill: Option<&Path>,
    ) -> Result<Listed, DataError> {
        let mut listing =
            Listing { columns: vec![Numbers::default(); target.shape.len()], ..Listing::default() };
        for piece in own.iter_mut() {
            listing.append(target, piece)?;
        }
        let own: Vec<&Piece> = own.iter().map(|piece| &**piece).collect();
        let own = own.as_slice();
        listing.restrict(target, own)?;
        let added = match listing.known_to_ascend || listing.ascends() {
            // Sorted, and none stands twice.
            true => 0,
            false => {
                match spill.filter(|_| !in_file_order && listing.values.is_mapped()) {
                    Some(directory) => listing.sort_outside(target, directory)?,
                    None => listing.sort(target, in_file_order),
                }
                listing.merge(target, own)?
            }
        };
        let in_file_order = in_file_order.then(|| listing.in_file_order());
        Ok(Listed { array: listing.finish(target, own)?, in_file_order, added })
    }

    /// The coordinates of the entries in the order of the file.
    fn in_file_order(&self) -> Columns {
        let Some(sources) = &self.sources else {
            return self.columns.iter().map(|column| column.to_vec()).collect();
        };
        let mut order: Vec<usize> = (0..sources.len()).collect();
        order.sort_by_key(|entry| sources[*entry]);
        self.columns.iter().map(|column| order.iter().map(|entry| column[*entry]).collect()).collect()
    }

    fn append(&mut self, target: &Target<'_>, piece: &mut Piece) -> Result<(), DataError> {
        self.starts.push(self.values.len());
        let places = Places::of(target, piece)?;
        let outside = |entry: usize| !target.exists(|dimension| places.at(piece, dimension, entry) as usize);
        let found = values(target.symbols, target.axes, piece, &|entry| target.has_gaps() && outside(entry))?;
        let own: Numbers<f64> = match found {
            Cow::Owned(own) => own.into(),
            Cow::Borrowed(_) => match &mut piece.content {
                Content::Coordinates(own) => std::mem::take(&mut own.values),
                Content::Long(Long { values: Some((_, Values::Numbers(own))), .. }) => std::mem::take(own),
                Content::Dense(Dense { values: Values::Numbers(own), .. }) => own.clone(),
                Content::Dense(_) | Content::Long(_) | Content::Documents(_) => Numbers::default(),
            },
        };
        self.known_to_ascend = self.starts.len() == 1
            && matches!(&piece.content, Content::Coordinates(own) if own.ascends)
            && places.are_in_order();
        fn append<T: Number>(list: &mut Numbers<T>, own: Numbers<T>) {
            if list.is_empty() { *list = own } else { list.to_mut().extend(own) }
        }
        append(&mut self.values, own);
        self.columns.iter_mut().zip(places.take(piece)).for_each(|(column, own)| append(column, own));
        Ok(())
    }

    /// An error at an entry of the list, which is this one of its piece: where that piece lists entries at no lines, and its lists
    /// were moved, with the position that they gave.
    fn error_at(
        &self,
        target: &Target<'_>,
        entry: usize,
        (piece, place): (&Piece, usize),
        found: String,
        expected: String,
    ) -> FileError {
        let mut error = piece.content.error_at(&piece.file, place, found, expected);
        if let Content::Coordinates(Coordinates { lines: None, indices, .. }) = &piece.content
            && indices.iter().all(|own| own.is_empty())
        {
            let own = (0..piece.letters.len()).filter_map(|own| target.dimension_of(piece, own));
            let position: Vec<u32> = own.map(|dimension| self.columns[dimension][entry]).collect();
            error.found = format!("{} at entry {position:?}", error.found);
        }
        error
    }

    /// Refuses entries that do not exist; drops the lower triangle of a symmetric matrix.
    fn restrict(&mut self, target: &Target<'_>, own: &[&Piece]) -> Result<(), DataError> {
        let Some((row, column, upper)) = target.restricted else { return Ok(()) };
        let length = self.values.len();
        let mut keep: Vec<bool> = Vec::with_capacity(length);
        for entry in 0..length {
            let (i, j) = (self.columns[row][entry], self.columns[column][entry]);
            keep.push(i != j && (!upper || i < j));
            if keep[entry] {
                continue;
            }
            let (piece, place) = self.source(own, entry);
            // A symmetric file gives both triangles, an entry and its mirror image from the same line.
            let mirrors = |other: usize| {
                other < length
                    && self.columns[row][other] == j
                    && self.columns[column][other] == i
                    && self.source(own, other).0.content.line(self.source(own, other).1)
                        == piece.content.line(place)
            };
            let mirrored = upper && i > j && (mirrors(entry + 1) || entry > 0 && mirrors(entry - 1));
            let dense_nothing = matches!(piece.content, Content::Dense(_))
                && (self.values[entry] == 0.0 || self.values[entry].is_nan());
            if mirrored && piece.content.line(place).is_some() || dense_nothing {
                continue;
            }
            let found = format!("the entry {}", target.describe(&self.at(entry)));
            let error = self.error_at(target, entry, (piece, place), found, target.restriction());
            return Err(match upper && i > j {
                true => error.with_help(target.order_of_pairs()),
                false => error,
            }
            .into());
        }
        if !keep.contains(&false) {
            return Ok(());
        }
        let mut sources: Vec<usize> = (0..length).collect();
        retain(&mut sources, &keep);
        retain(self.values.to_mut(), &keep);
        self.columns.iter_mut().for_each(|column| retain(column.to_mut(), &keep));
        self.sources = Some(sources);
        Ok(())
    }

    /// The file and the entry in it that an entry of the list comes from.
    fn source<'p>(&self, own: &[&'p Piece], entry: usize) -> (&'p Piece, usize) {
        let entry = self.sources.as_ref().map_or(entry, |sources| sources[entry]);
        let piece = self.starts.partition_point(|start| *start <= entry) - 1;
        (own[piece], entry - self.starts[piece])
    }

    fn at(&self, entry: usize) -> Vec<usize> {
        self.columns.iter().map(|column| column[entry] as usize).collect()
    }

    fn compare(&self, left: usize, right: usize) -> std::cmp::Ordering {
        let columns = self.columns.iter().map(|column| column[left].cmp(&column[right]));
        columns.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    }

    /// Whether each entry stands after the one before it, by coordinates.
    fn ascends(&self) -> bool {
        let columns: Vec<&[u32]> = self.columns.iter().map(Numbers::as_slice).collect();
        (1..self.values.len()).all(|entry| {
            let apart = columns.iter().find(|column| column[entry - 1] != column[entry]);
            apart.is_some_and(|column| column[entry - 1] < column[entry])
        })
    }

    /// Sorts by coordinates; entries at the same place keep the order of the file. Where they come from is kept if it is asked for,
    /// or if entries that stand twice are to be refused.
    ///
    /// An entry is sorted as one number of 64 bits, its place in C order above its number in the list, where both have room: that takes
    /// no more memory than two columns of positions, which are made from it again.
    fn sort(&mut self, target: &Target<'_>, keeps_sources: bool) {
        let length = self.values.len();
        let bits = |most: usize| usize::BITS - most.leading_zeros();
        let of_entry = bits(length - 1);
        if target.cells().is_some_and(|cells| bits(cells.saturating_sub(1)) + of_entry <= u64::BITS) {
            return self.sort_packed(target, of_entry, keeps_sources);
        }
        let order: Vec<usize> = match target.cells() {
            Some(_) => {
                let mut keys: Vec<(usize, usize)> =
                    (0..length).map(|entry| (self.cell(target, entry), entry)).collect();
                keys.sort_unstable();
                keys.into_iter().map(|(_, entry)| entry).collect()
            }
            None => {
                let mut order: Vec<usize> = (0..length).collect();
                order.sort_unstable_by(|left, right| self.compare(*left, *right).then(left.cmp(right)));
                order
            }
        };
        for column in &mut self.columns {
            *column = order.iter().map(|entry| column[*entry]).collect();
        }
        self.values = order.iter().map(|entry| self.values[*entry]).collect();
        self.sources = Some(match &self.sources {
            None => order,
            Some(sources) => order.iter().map(|entry| sources[*entry]).collect(),
        });
    }

    /// The place of an entry in C order.
    fn cell(&self, target: &Target<'_>, entry: usize) -> usize {
        let columns = self.columns.iter().zip(&target.shape);
        columns.fold(0, |cell, (column, size)| cell * size + column[entry] as usize)
    }

    /// Sorts numbers of which the lowest bits, so many, are the number of an entry, and the others its place in C order.
    fn sort_packed(&mut self, target: &Target<'_>, of_entry: u32, keeps_sources: bool) {
        let mut keys: Vec<u64> = (0..self.values.len())
            .map(|entry| (self.cell(target, entry) as u64) << of_entry | entry as u64)
            .collect();
        self.columns.iter_mut().for_each(|column| *column = Numbers::default());
        keys.sort_unstable();
        let entry_of = |key: &u64| (key & ((1 << of_entry) - 1)) as usize;
        // Both are as long as the list, and only one of them is needed at a time.
        self.values = keys.iter().map(|key| self.values[entry_of(key)]).collect();
        let stands_twice = || keys.windows(2).any(|pair| pair[0] >> of_entry == pair[1] >> of_entry);
        let keeps_sources = keeps_sources || target.array.support != Support::Count && stands_twice();
        self.sources = match self.sources.take() {
            _ if !keeps_sources => None,
            None => Some(keys.iter().map(entry_of).collect()),
            Some(sources) => Some(keys.iter().map(|key| sources[entry_of(key)]).collect()),
        };
        let mut after: usize = 1;
        for (column, size) in self.columns.iter_mut().zip(&target.shape).rev() {
            let position = |key: &u64| ((key >> of_entry) as usize / after % size) as u32;
            *column = keys.iter().map(position).collect();
            after *= size;
        }
    }

    /// Sorts as [`Listing::sort`] by merging runs on disk, each sorted in memory.
    fn sort_outside(&mut self, target: &Target<'_>, directory: &Path) -> Result<(), DataError> {
        /// As many entries are sorted in memory at a time.
        const RUN: usize = 1 << 21;
        let length = self.values.len();
        if target.cells().is_none() {
            self.sort(target, false);
            return Ok(());
        }
        let key = |own: &Listing, entry: usize| own.cell(target, entry);
        let mut runs = Gathered::new(self.columns.len(), directory)?;
        for start in (0..length).step_by(RUN) {
            let entries = start..length.min(start + RUN);
            let mut order: Vec<(usize, usize)> = entries.map(|entry| (key(self, entry), entry)).collect();
            order.sort_unstable();
            order.into_iter().try_for_each(|(_, entry)| runs.push(self, entry))?;
        }
        let (columns, values) = runs.finish()?;
        let runs = Listing { columns, values, ..Listing::default() };
        // Of entries at one place that of the earlier run comes first, as it stood first in the file.
        let mut next: BinaryHeap<Reverse<(usize, usize)>> =
            (0..length).step_by(RUN).map(|first| Reverse((key(&runs, first), first))).collect();
        let mut sorted = Gathered::new(self.columns.len(), directory)?;
        while let Some(Reverse((_, entry))) = next.pop() {
            sorted.push(&runs, entry)?;
            let after = entry + 1;
            if after < length && after % RUN != 0 {
                next.push(Reverse((key(&runs, after), after)));
            }
        }
        (self.columns, self.values) = sorted.finish()?;
        self.sources = None;
        self.sorted_outside = true;
        Ok(())
    }

    /// Adds up counts at one place, and says how many were added; refuses other entries that stand twice.
    fn merge(&mut self, target: &Target<'_>, own: &[&Piece]) -> Result<usize, DataError> {
        let length = self.values.len();
        if (1..length).all(|entry| self.compare(entry - 1, entry).is_ne()) {
            return Ok(0);
        }
        let mut keep: Vec<bool> = Vec::with_capacity(length);
        let mut first = 0;
        let mut added = 0;
        for entry in 0..length {
            keep.push(entry == 0 || self.compare(first, entry).is_ne());
            if keep[entry] {
                first = entry;
                continue;
            }
            if target.array.support != Support::Count && self.sorted_outside {
                let file = own.first().map_or_else(String::new, |piece| piece.name());
                let place = target.describe(&self.at(entry));
                return Err(DataError::new(format!("{file}: found the entry {place} a second time"))
                    .possible("every entry once (only counts are added up)"));
            }
            if target.array.support != Support::Count {
                let (before, before_entry) = self.source(own, first);
                let (piece, place) = self.source(own, entry);
                let line = match before.content.line(before_entry) {
                    Some(line) => format!(", which also stands in line {line} of {}", before.name()),
                    None => " a second time".to_owned(),
                };
                let found = format!("the entry {}{line}", target.describe(&self.at(entry)));
                let expected = "every entry once (only counts are added up)".to_owned();
                return Err(self.error_at(target, entry, (piece, place), found, expected).into());
            }
            let again = self.values[entry];
            self.values[first] += again;
            added += 1;
        }
        if added > 0 {
            retain(self.values.to_mut(), &keep);
            self.columns.iter_mut().for_each(|column| retain(column.to_mut(), &keep));
            if let Some(sources) = &mut self.sources {
                retain(sources, &keep);
            }
        }
        Ok(added)
    }

    fn finish(mut self, target: &Target<'_>, own: &[&Piece]) -> Result<BoundArray, DataError> {
        let absent = target.array.absent;
        let complete = target.existing() == Some(self.values.len());
        let ragged =
            target.array.letters.iter().any(|letter| target.symbols.letter(*letter).parent.is_some());
        if !absent.zero && !absent.missing {
            let exempt = ragged
                || target.array.kind == ArrayKind::Constant
                || target.array.support == Support::Multiplicity;
            if !(complete && exempt) {
                let file = own.first().map_or_else(String::new, |piece| piece.name());
                return Err(match (exempt, self.first_absent(target)) {
                    (true, Some(place)) => {
                        DataError::new(format!("{file} does not list the entry {}", target.describe(&place)))
                            .help(of_absent(target))
                    }
                    (true, None) | (false, _) => needs_absent(target.symbols, target.id, &file),
                });
            }
        }
        match (absent.zero, self.values.facts()) {
            (true, Some(OfValues { zeros: 0, .. })) | (false, Some(OfValues { missing: 0, .. })) => {}
            (true, _) => self.keep(|value| value != 0.0),
            (false, _) => self.keep(|value| !value.is_nan()),
        }
        // What is wholly observed is dense, and so is a vector.
        let whole = !absent.zero && target.existing() == Some(self.values.len());
        if whole || target.shape.len() == 1 {
            return self.dense(target, absent.zero, whole);
        }
        let observed = observed(&mut self.values);
        Ok(BoundArray::Sparse {
            indices: self.columns,
            values: self.values,
            observed,
            unlisted_zero: absent.zero,
        })
    }

    /// Keeps the entries with such values.
    fn keep(&mut self, stays: impl Fn(f64) -> bool) {
        if !self.values.iter().all(|value| stays(*value)) {
            let keep: Vec<bool> = self.values.iter().map(|value| stays(*value)).collect();
            retain(self.values.to_mut(), &keep);
            self.columns.iter_mut().for_each(|column| retain(column.to_mut(), &keep));
        }
    }

    fn dense(self, target: &Target<'_>, zero: bool, whole: bool) -> Result<BoundArray, DataError> {
        let cells = target.cells().ok_or_else(|| too_large(target))?;
        // All of them, sorted and each once: they stand at their places.
        if self.values.len() == cells {
            let mut values = self.values;
            let observed = observed(&mut values);
            return Ok(BoundArray::Dense { values, observed });
        }
        let mut values = vec![0.0; cells];
        let mut observed = vec![zero || whole; cells];
        for (entry, value) in self.values.iter().enumerate() {
            let columns = self.columns.iter().zip(&target.shape);
            let cell = columns.fold(0, |cell, (column, size)| cell * size + column[entry] as usize);
            observed[cell] = !value.is_nan();
            values[cell] = if value.is_nan() { 0.0 } else { *value };
        }
        let observed = observed.contains(&false).then_some(observed);
        Ok(BoundArray::Dense { values: values.into(), observed })
    }

    /// The first place, in C order, that exists and is not listed.
    fn first_absent(&self, target: &Target<'_>) -> Option<Vec<usize>> {
        let mut entry = 0;
        for cell in 0..target.cells()? {
            let place = target.coordinates(cell);
            if !target.exists(|dimension| place[dimension]) {
                continue;
            }
            if entry == self.values.len() || self.at(entry) != place {
                return Some(place);
            }
            entry += 1;
        }
        None
    }
}

/// Whether a value is missing.
pub(super) fn is_partly_missing(values: &Numbers<f64>) -> bool {
    values.facts().map_or_else(|| has_nan(values), |facts| facts.missing > 0)
}

/// Which values are observed, `None` where all are. Those that are missing become 0.
fn observed(values: &mut Numbers<f64>) -> Option<Vec<bool>> {
    is_partly_missing(values).then(|| {
        let observed = values.iter().map(|value| !value.is_nan()).collect();
        values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
        observed
    })
}

/// Entries that are listed on disk.
struct Gathered {
    columns: Vec<Growing<u32>>,
    values: Growing<f64>,
}

impl Gathered {
    fn new(columns: usize, directory: &Path) -> Result<Gathered, DataError> {
        let columns = (0..columns).map(|_| Growing::new(Some(directory), 0)).collect::<Result<_, _>>()?;
        Ok(Gathered { columns, values: Growing::new(Some(directory), 0)? })
    }

    fn push(&mut self, of: &Listing, entry: usize) -> Result<(), DataError> {
        for (own, column) in self.columns.iter_mut().zip(&of.columns) {
            own.push(column[entry])?;
        }
        Ok(self.values.push(of.values[entry])?)
    }

    fn finish(self) -> Result<(Vec<Numbers<u32>>, Numbers<f64>), DataError> {
        let columns = self.columns.into_iter().map(Growing::finish).collect::<Result<_, _>>()?;
        Ok((columns, self.values.finish()?))
    }
}

/// The positions of the entries of a piece: one column a dimension of the array.
pub(super) fn positions(target: &Target<'_>, piece: &Piece) -> Result<Vec<Numbers<u32>>, DataError> {
    Ok(Places::of(target, piece)?.copied(piece))
}

/// How the positions of the entries of a piece come from its lists, one way a dimension of the array.
struct Places(Vec<Way>);

/// How the positions along a dimension come from the lists of a piece.
enum Way {
    /// They are those that the piece lists for this dimension of it.
    Listed(usize),
    /// They are where these positions stand for the positions or codes that the piece lists for this dimension of it.
    Mapped(usize, Vec<u32>),
    /// They are made.
    Made(Numbers<u32>),
}

impl Places {
    fn of(target: &Target<'_>, piece: &Piece) -> Result<Places, DataError> {
        let mut ways: Vec<Way> = target.shape.iter().map(|_| Way::Made(Numbers::default())).collect();
        for (dimension, letter) in piece.letters.iter().enumerate() {
            let Some(own) = target.dimension_of(piece, dimension) else { continue };
            let axis = target.symbols.letter(*letter).axis;
            if let (Some(flat), Content::Coordinates(_)) = (piece.flat(axis), &piece.content) {
                let map = target.axes.places_of_flat(target.symbols, piece, flat)?;
                let is_in_place = map.iter().enumerate().all(|(place, own)| place == *own as usize);
                ways[own] = if is_in_place { Way::Listed(dimension) } else { Way::Mapped(dimension, map) };
                continue;
            }
            let group = match (target.symbols.axis(axis).parent, &piece.group) {
                (Some(parent), Some(path)) => {
                    target.axes.find_path(target.symbols, parent, path).unwrap_or(0)
                }
                _ => 0,
            };
            let bound = &target.axes.bound[axis.index()];
            let start = bound.starts.as_ref().map_or(0, |starts| starts[group]) as u32;
            ways[own] = match &piece.content {
                Content::Long(_) => match target.axes.codes(target.symbols, piece, dimension)? {
                    Some(map) => Way::Mapped(dimension, map),
                    None => Way::Made(target.axes.column(target.symbols, piece, dimension)?.into()),
                },
                Content::Coordinates(coordinates) => match coordinates.labels(dimension) {
                    None if start == 0 => Way::Listed(dimension),
                    None => {
                        let size = coordinates.shape[dimension] as u32;
                        Way::Mapped(dimension, (start..start + size).collect())
                    }
                    Some(labels) => {
                        let map = positions_of(target, piece, axis, group, labels)?;
                        match map.iter().enumerate().all(|(place, own)| place == *own as usize) {
                            true => Way::Listed(dimension),
                            false => Way::Mapped(dimension, map),
                        }
                    }
                },
                Content::Dense(dense) => {
                    let before: usize = dense.shape[dimension + 1..].iter().product::<usize>().max(1);
                    let size = dense.shape[dimension].max(1);
                    let map: Vec<u32> = match &dense.labels[dimension] {
                        None => (0..dense.shape[dimension]).map(|position| start + position as u32).collect(),
                        Some(labels) => positions_of(target, piece, axis, group, labels)?,
                    };
                    Way::Made((0..dense.values.len()).map(|entry| map[entry / before % size]).collect())
                }
                Content::Documents(_) => unreachable!("documents of a ragged axis are placed on their own"),
            };
        }
        Ok(Places(ways))
    }

    /// The position of an entry along a dimension of the array.
    fn at(&self, piece: &Piece, dimension: usize, entry: usize) -> u32 {
        match &self.0[dimension] {
            Way::Listed(own) => listed(piece, *own)[entry],
            Way::Mapped(own, map) => map[listed(piece, *own)[entry] as usize],
            Way::Made(made) => made[entry],
        }
    }

    /// Whether the positions are those that the piece lists, the dimensions in the same order.
    fn are_in_order(&self) -> bool {
        self.0.iter().enumerate().all(|(dimension, way)| matches!(way, Way::Listed(own) if *own == dimension))
    }

    /// The positions, while the piece keeps its lists.
    fn copied(self, piece: &Piece) -> Vec<Numbers<u32>> {
        let column = |way: Way| match (way, &piece.content) {
            // Those of a mapped file stay where they are.
            (Way::Listed(own), Content::Coordinates(coordinates)) => coordinates.indices[own].clone(),
            (Way::Listed(own), _) => listed(piece, own).to_vec().into(),
            (Way::Mapped(own, map), _) => listed(piece, own).iter().map(|own| map[*own as usize]).collect(),
            (Way::Made(made), _) => made,
        };
        self.0.into_iter().map(column).collect()
    }

    /// The positions, made of the lists of the piece where they stand. A piece whose entries stand at no lines keeps lists that give other
    /// positions, for messages.
    fn take(self, piece: &mut Piece) -> Vec<Numbers<u32>> {
        let is_lineless = matches!(&piece.content, Content::Coordinates(Coordinates { lines: None, .. }));
        let are_listed =
            self.0.iter().filter(|way| matches!(way, Way::Listed(_))).count() == piece.letters.len();
        if is_lineless && !are_listed {
            return self.copied(piece);
        }
        let mut columns = Vec::with_capacity(self.0.len());
        for way in self.0 {
            let (own, map) = match way {
                Way::Listed(own) => (own, None),
                Way::Mapped(own, map) => (own, Some(map)),
                Way::Made(made) => {
                    columns.push(made);
                    continue;
                }
            };
            let mut column: Numbers<u32> = match &mut piece.content {
                Content::Coordinates(coordinates) => std::mem::take(&mut coordinates.indices[own]),
                Content::Long(long) => std::mem::take(&mut long.positions[own].codes).into(),
                Content::Dense(_) | Content::Documents(_) => unreachable!("their positions are made"),
            };
            if let Some(map) = map {
                column.iter_mut().for_each(|own| *own = map[*own as usize]);
            }
            columns.push(column);
        }
        columns
    }
}

/// What a piece lists for one of its dimensions: positions, or codes of labels.
fn listed(piece: &Piece, dimension: usize) -> &[u32] {
    match &piece.content {
        Content::Coordinates(coordinates) => &coordinates.indices[dimension],
        Content::Long(long) => &long.positions[dimension].codes,
        Content::Dense(_) | Content::Documents(_) => unreachable!("their positions are made"),
    }
}

/// The positions of the labels of a file.
fn positions_of(
    target: &Target<'_>,
    piece: &Piece,
    axis: AxisId,
    group: usize,
    labels: &[String],
) -> Result<Vec<u32>, DataError> {
    let position = |label: &String| {
        target.axes.find(axis, group, label).ok_or_else(|| {
            let expected = target.axes.expected_label(target.symbols, axis);
            DataError::new(format!("{}: found the label `{label}`; expected {expected}", piece.name()))
        })
    };
    labels.iter().map(position).collect()
}

fn retain<T: Copy>(column: &mut Vec<T>, keep: &[bool]) {
    let mut kept = keep.iter();
    column.retain(|_| kept.next().copied().unwrap_or(false));
}

/// What to write so that an entry that no file lists has a meaning: a constant has a value everywhere, and data need none.
pub(super) fn of_absent(target: &Target<'_>) -> String {
    let Array { name, letters, .. } = target.array;
    let letters: Vec<&str> =
        letters.iter().map(|letter| target.symbols.letter(*letter).name.as_str()).collect();
    let letters = letters.join(", ");
    match target.array.kind {
        ArrayKind::Data => {
            format!("`absent = NA` (or `absent = 0`) in the declaration of `{name}` says what that means")
        }
        ArrayKind::Latent => format!("values of `{name}` for all labels"),
        ArrayKind::Constant => format!(
            "a constant has a value for every label; `data {name}[{letters}] : real, absent = 0` in the place of `const {name}[{letters}]`, with \
             `--data {name}=FILE`, reads what is not listed as 0"
        ),
    }
}
