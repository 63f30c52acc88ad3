//! Packed data along ragged axes: the positions of one group stand after those of the other, in one array.
//!
//! Other files say of each group which positions it has, by a file of its own or by columns of labels. A packed file has all of them, as the axis had them that
//! it was packed from: for each group how many, and their labels if there are any. Here they find their places on the axes of the program, whose groups
//! may stand in another order.

use cavi_algebra::{Array, AxisId, LetterId, Symbols};
use cavi_files::{AxisOfPack, PACKED_SUFFIX, packed_axes};

use super::axes::Axes;
use super::data_error::DataError;
use super::groups::unknown_group;
use super::inputs::Source;
use super::pieces::Piece;

/// An axis as a packed file has it: one that is ragged, or that another is ragged in.
#[derive(Clone, Debug)]
pub(super) struct FlatAxis {
    pub axis: AxisId,
    /// How many positions each group has; one number of an axis that is not ragged.
    pub sizes: Vec<usize>,
    /// The labels of all positions, group after group.
    pub labels: Option<Vec<String>>,
}

/// A group of such an axis.
pub(super) struct GroupOfFlat {
    /// Its place on the axis above.
    pub group: usize,
    /// Its labels, if there are any.
    pub labels: Option<Vec<String>>,
    /// How many positions it has.
    pub size: usize,
}

/// The file of a source, if it is a packed one.
fn packed(source: &Source) -> Option<&std::path::Path> {
    let Source::File { path, .. } = source else { return None };
    path.to_string_lossy().to_ascii_lowercase().ends_with(PACKED_SUFFIX).then_some(path)
}

/// The ragged axes of an array, with those above them, as a packed file has them; `None` of any other file, and of an array without such an axis.
///
/// # Errors
/// What the file does not hold; an axis whose groups are not those of the program; a file of one group.
pub(super) fn of_source(
    symbols: &Symbols,
    array: &Array,
    source: &Source,
    group: Option<&[String]>,
) -> Result<Option<Vec<FlatAxis>>, DataError> {
    let Some(path) = packed(source) else { return Ok(None) };
    let known = packed_axes(path).map_err(|error| error.in_file(path))?;
    let find = |axis: AxisId| known.iter().find(|own| own.name == symbols.axis(axis).name);
    let mut axes: Vec<AxisId> = Vec::new();
    for letter in array.letters.iter().flat_map(|letter| symbols.lineage(*letter)) {
        let axis = symbols.letter(letter).axis;
        if !axes.contains(&axis) {
            axes.push(axis);
        }
    }
    for own in axes.iter().filter_map(|axis| find(*axis).map(|own| (*axis, own))) {
        let (axis, AxisOfPack { name, groups, .. }) = own;
        let parent = symbols.axis(axis).parent.map(|parent| symbols.axis(parent).name.as_str());
        let packed_in = groups.as_ref().map(|own| own.0.as_str());
        if parent != packed_in {
            let says = |parent: Option<&str>| match parent {
                Some(parent) => format!("`{name}` in groups by `{parent}`"),
                None => format!("`{name}` without groups"),
            };
            return Err(DataError::new(format!(
                "{}: packed with the axis {}",
                path.display(),
                says(packed_in)
            ))
            .possible(format!("the axis {}, as the program has it", says(parent)))
            .help("pack the data anew for this program: `cavi pack MODEL --data ... --out FILE`"));
        }
    }
    let is_ragged = |letter: &LetterId| symbols.letter(*letter).parent.is_some();
    if !array.letters.iter().any(is_ragged) {
        return Ok(None);
    }
    if let Some(group) = group {
        let (name, group) = (&array.name, group.join("/"));
        return Err(DataError::new(format!(
            "`{name}[{group}]` is bound to {}, which holds all groups",
            path.display()
        ))
        .help(format!("--data {name}={}", path.display())));
    }
    let is_needed = |axis: &AxisId| {
        let is_above = |other: &AxisId| symbols.axis(*other).parent == Some(*axis);
        symbols.axis(*axis).parent.is_some() || axes.iter().any(is_above)
    };
    let needed = axes.iter().filter(|axis| is_needed(axis));
    let flat = needed.filter_map(|axis| {
        let own = find(*axis)?;
        let sizes = match &own.groups {
            Some((_, sizes)) => sizes.iter().map(|size| *size as usize).collect(),
            None => vec![own.size],
        };
        Some(FlatAxis { axis: *axis, sizes, labels: own.labels.clone() })
    });
    Ok(Some(flat.collect()))
}

impl Piece {
    /// What a packed file has of an axis that is ragged, or that another is ragged in.
    pub(super) fn flat(&self, axis: AxisId) -> Option<&FlatAxis> {
        self.flat.iter().find(|own| own.axis == axis)
    }

    /// The labels of a position of such an axis, outermost first; numbers where there are no labels.
    pub(super) fn flat_path(&self, symbols: &Symbols, axis: AxisId, position: usize) -> Vec<String> {
        let Some(own) = self.flat(axis) else { return Vec::new() };
        let (group, first) = own.group_of(position);
        let label = match &own.labels {
            Some(labels) => labels[position].clone(),
            None => (position - first).to_string(),
        };
        let above =
            symbols.axis(axis).parent.map_or_else(Vec::new, |parent| self.flat_path(symbols, parent, group));
        above.into_iter().chain([label]).collect()
    }
}

impl FlatAxis {
    /// The group of a position, and the first position of that group.
    fn group_of(&self, position: usize) -> (usize, usize) {
        let mut first = 0;
        for (group, size) in self.sizes.iter().enumerate() {
            if position < first + size {
                return (group, first);
            }
            first += size;
        }
        (self.sizes.len(), first)
    }

    /// For each group its labels, where there are labels, and its size.
    pub fn groups(&self) -> impl Iterator<Item = (Option<&[String]>, usize)> {
        let mut first = 0;
        self.sizes.iter().map(move |size| {
            let own = first..first + size;
            first += size;
            (self.labels.as_deref().map(|labels| &labels[own]), *size)
        })
    }
}

impl Axes {
    /// For each group of a ragged axis, or of one that another is ragged in, its place on the axis above, and its labels and size in a packed file.
    ///
    /// # Errors
    /// A group that the axis above does not have.
    pub(super) fn groups_of_flat(
        &self,
        symbols: &Symbols,
        piece: &Piece,
        own: &FlatAxis,
    ) -> Result<Vec<GroupOfFlat>, DataError> {
        let mut groups = Vec::new();
        for (number, (labels, size)) in own.groups().enumerate() {
            let group = match symbols.axis(own.axis).parent {
                None => 0,
                Some(parent) => {
                    let path = piece.flat_path(symbols, parent, number);
                    let found = self.find_path(symbols, parent, &path);
                    found.ok_or_else(|| unknown_group(symbols, piece, parent, &path))?
                }
            };
            groups.push(GroupOfFlat { group, labels: labels.map(<[String]>::to_vec), size });
        }
        Ok(groups)
    }

    /// Where the positions of a ragged axis are on that of the program, of a packed file.
    ///
    /// # Errors
    /// A label that the axis does not have.
    pub(super) fn places_of_flat(
        &self,
        symbols: &Symbols,
        piece: &Piece,
        own: &FlatAxis,
    ) -> Result<Vec<u32>, DataError> {
        let mut places = Vec::with_capacity(own.sizes.iter().sum());
        for (group, (labels, size)) in own.groups().enumerate() {
            let parent = symbols.axis(own.axis).parent;
            let path = parent.map(|parent| (parent, piece.flat_path(symbols, parent, group)));
            let found = match &path {
                None => Some(0),
                Some((parent, path)) => self.find_path(symbols, *parent, path),
            };
            let unknown = |label: &str| {
                let expected = self.expected_label(symbols, own.axis);
                DataError::new(format!("{}: found the label `{label}`; expected {expected}", piece.name()))
            };
            let Some(found) = found else {
                return Err(unknown(&path.map_or_else(String::new, |(_, path)| path.join("/"))));
            };
            for local in 0..size {
                let label = labels.map_or_else(|| local.to_string(), |labels| labels[local].clone());
                // Without labels they are counted, whatever the axis calls them.
                let place = match (labels, &self.bound[own.axis.index()].starts) {
                    (None, Some(starts)) => {
                        (starts[found] + local < starts[found + 1]).then_some((starts[found] + local) as u32)
                    }
                    (None, None) => Some(local as u32),
                    (Some(_), _) => self.find(own.axis, found, &label),
                };
                places.push(place.ok_or_else(|| unknown(&label))?);
            }
        }
        Ok(places)
    }
}
