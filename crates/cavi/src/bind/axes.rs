//! Sizes and labels of axes, from everything that says something about them.
//!
//! An axis takes its labels from `--labels`; else from headers, row names and the labels of groups; else from the distinct
//! entries of the tables bound to it; else from those of index data; else it has none. Its size is that of `--set`, else of
//! the text, else of its labels, else of its data; any two of them that disagree are reported. Parents come before the
//! axes that are ragged in them.

use std::collections::{BTreeSet, HashSet};

use cavi_algebra::{ArrayId, AxisId, Support, Symbols};
use cavi_executor::BoundAxis;
use cavi_files::Content;

use super::compute::{SoFar, sizes_read};
use super::data_error::DataError;
use super::documents::document_lengths;
use super::groups::unknown_group;
use super::indexed::{Indexed, complete, outside};
use super::inputs::{Inputs, SetValue};
use super::lookup::Lookup;
use super::pieces::{Piece, split_path};
use super::sizes::{self, LARGEST, size_set, whole_size};

/// The axes of a program, as far as they are resolved.
pub(super) struct Axes {
    /// Sizes and groups.
    pub bound: Vec<BoundAxis>,
    /// For each axis the labels of its positions; `None` where numbers stand for them.
    pub labels: Vec<Option<Vec<String>>>,
    /// Where the labels of each axis come from.
    origins: Vec<String>,
    /// For each axis and each group of it, where its labels are among those of the group.
    lookup: Vec<Vec<Lookup>>,
    /// What is most likely a mistake.
    pub warnings: Vec<String>,
    /// For each array whether a label of its values that its axis does not have is left out.
    pub leaves_out: Vec<bool>,
    /// The axes whose sizes are asked for, where that is not all of them.
    asked: Option<BTreeSet<AxisId>>,
}

/// What is known of one group of an axis (of the whole axis, where it is not ragged).
#[derive(Default)]
struct Facts {
    given: Option<Listed>,
    headers: Vec<Listed>,
    distinct: Vec<Listed>,
    indexed: Vec<Indexed>,
    claims: Vec<Claim>,
}

/// Labels, and what they were found in.
pub(super) struct Listed {
    /// The labels.
    pub labels: Vec<String>,
    /// The file or files.
    pub from: String,
}

/// A size, and what states it.
struct Claim {
    size: usize,
    exact: bool,
    from: String,
    array: Option<ArrayId>,
}

/// What the resolution of one group gives.
struct Resolved {
    size: usize,
    labels: Option<Vec<String>>,
    origin: String,
    /// The file whose labels were read as positions from 0, and have no 0 among them.
    from_one: Option<String>,
}

/// The size that the program states for an axis, if it states one, with the axes that are resolved so far.
pub(super) type Text<'a> = dyn Fn(AxisId, SoFar<'_>) -> Option<Result<f64, DataError>> + 'a;

/// Resolves every axis; `text` gives the size that the program states.
pub(super) fn resolve(
    symbols: &Symbols,
    inputs: &Inputs,
    pieces: &[Piece],
    text: &Text<'_>,
    problems: &mut Vec<DataError>,
) -> Axes {
    resolve_asked(symbols, inputs, pieces, (text, None), problems)
}

/// The same where the sizes of some axes alone are asked for: any other has the size 0 where its size is not known.
pub(super) fn resolve_asked(
    symbols: &Symbols,
    inputs: &Inputs,
    pieces: &[Piece],
    (text, asked): (&Text<'_>, Option<BTreeSet<AxisId>>),
    problems: &mut Vec<DataError>,
) -> Axes {
    let count = symbols.axes.len();
    let mut axes = Axes {
        bound: vec![BoundAxis::default(); count],
        labels: vec![None; count],
        origins: vec![String::new(); count],
        lookup: vec![Vec::new(); count],
        warnings: Vec::new(),
        leaves_out: vec![false; symbols.arrays.len()],
        asked,
    };
    let mut waiting: Vec<AxisId> = (0..count).map(AxisId::from).collect();
    waiting.sort_by_key(|axis| depth(symbols, *axis));
    let mut resolved = vec![false; count];
    while !waiting.is_empty() {
        // After the axes above it, and after those that its size is computed from. Where these go round in a circle, that is said of one.
        let has = |axis: AxisId| resolved[axis.index()];
        let is_below = |axis: &AxisId| symbols.axis(*axis).parent.is_none_or(has);
        let is_ready = |axis: &AxisId| is_below(axis) && sizes_read(symbols, *axis).into_iter().all(has);
        let next = waiting.iter().position(is_ready).or_else(|| waiting.iter().position(is_below));
        let axis =
            waiting.remove(next.expect("the outermost axis that waits has no axis above it that does"));
        let stated = match text(axis, SoFar { bound: &axes.bound, resolved: &resolved }) {
            None => None,
            Some(Ok(size)) => Some(size),
            Some(Err(problem)) => {
                // `--set` replaces what the text says.
                let name = &symbols.axis(axis).name;
                let is_set = inputs.set.iter().any(|own| own.name == *name && own.group.is_none());
                problems.extend((!is_set && axes.is_asked(axis)).then_some(problem));
                None
            }
        };
        axes.resolve_one(symbols, inputs, pieces, axis, stated, problems);
        resolved[axis.index()] = true;
    }
    axes
}

/// How many axes are above one, itself included.
fn depth(symbols: &Symbols, axis: AxisId) -> usize {
    std::iter::successors(Some(axis), |axis| symbols.axis(*axis).parent).count()
}

impl Axes {
    /// Whether the size of an axis is asked for.
    fn is_asked(&self, axis: AxisId) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.contains(&axis))
    }

    fn resolve_one(
        &mut self,
        symbols: &Symbols,
        inputs: &Inputs,
        pieces: &[Piece],
        axis: AxisId,
        stated: Option<f64>,
        problems: &mut Vec<DataError>,
    ) {
        self.refuse_unknown_groups(symbols, inputs, axis, problems);
        let facts = self.gather(symbols, inputs, pieces, axis, problems);
        let name = &symbols.axis(axis).name;
        let known = facts.iter().any(|facts| !facts.is_empty());
        let sort = facts.iter().flat_map(|facts| &facts.distinct).all(|listed| all_whole(&listed.labels));
        let mut resolved: Vec<Resolved> = Vec::new();
        for (group, facts) in facts.into_iter().enumerate() {
            let path = symbols.axis(axis).parent.map(|parent| self.path(symbols, parent, group).join("/"));
            let set = self.set_size(inputs, name, path.as_deref(), problems);
            let place = match &path {
                Some(path) => format!("`{name}[{path}]`"),
                None => format!("`{name}`"),
            };
            let empty = facts.is_empty() && set.is_none() && stated.is_none();
            // A group that no file mentions, where others are mentioned, has no position; nor has an axis that nothing uses.
            let letters = &symbols.axis(axis).letters;
            let unused = !self.is_asked(axis)
                || !symbols.arrays.iter().any(|array| {
                    array
                        .letters
                        .iter()
                        .any(|own| symbols.lineage(*own).iter().any(|step| letters.contains(step)))
                });
            if empty && (unused || (known && path.is_some())) {
                resolved.push(Resolved { size: 0, labels: None, origin: String::new(), from_one: None });
                continue;
            }
            if empty {
                let help = symbols.axis(axis).parent.map_or_else(
                    || format!("`--set {name}=SIZE`"),
                    |parent| {
                        format!("`--set {name}=SIZE` gives each `{}` this size", symbols.axis(parent).name)
                    },
                );
                problems.push(
                    DataError::new(format!("the size of axis `{name}` is not known"))
                        .possible("a size comes from `--set`, the text, labels or data")
                        .help(help),
                );
                break;
            }
            match facts.resolve(&place, name, set, stated, sort) {
                Ok(one) => {
                    problems.extend(
                        one.labels
                            .iter()
                            .flatten()
                            .find_map(|label| super::labels::no_label(label, &place, &one.origin)),
                    );
                    self.warnings.extend(one.from_one.iter().map(|file| {
                        format!(
                            "{file}: positions of axis {place} are read from 0, and none of them is 0 (if they count from 1, give \
                             the labels in order: `--labels {name}=FILE`)"
                        )
                    }));
                    resolved.push(one);
                }
                Err(found) => problems.extend(found),
            }
        }
        self.finish(symbols, axis, resolved);
    }

    fn finish(&mut self, symbols: &Symbols, axis: AxisId, resolved: Vec<Resolved>) {
        let sizes: Vec<usize> = resolved.iter().map(|one| one.size).collect();
        let ragged = symbols.axis(axis).parent.is_some();
        self.bound[axis.index()] = match sizes.as_slice() {
            _ if ragged => BoundAxis::ragged(&sizes),
            [size] => BoundAxis::plain(*size),
            _ => BoundAxis::plain(0),
        };
        self.origins[axis.index()] = resolved
            .iter()
            .find(|one| one.labels.is_some())
            .map_or_else(String::new, |one| one.origin.clone());
        self.lookup[axis.index()] =
            resolved.iter().map(|one| Lookup::of(one.labels.as_deref().unwrap_or_default())).collect();
        if resolved.iter().any(|one| one.labels.is_some()) {
            let numbers = |size: usize| (0..size).map(|position| position.to_string()).collect();
            let mut labels: Vec<String> = Vec::new();
            for one in resolved {
                let own = one.labels.unwrap_or_else(|| numbers(one.size));
                if labels.is_empty() { labels = own } else { labels.extend(own) }
            }
            self.labels[axis.index()] = Some(labels);
        }
    }

    /// Takes positions away: those of an axis for which `keep` says so, and all below them. Those that stay have the labels that they had, which are
    /// their numbers where they had no others.
    pub fn without(&mut self, symbols: &Symbols, keep: &mut [Option<Vec<bool>>]) {
        let mut order: Vec<AxisId> = (0..symbols.axes.len()).map(AxisId::from).collect();
        order.sort_by_key(|axis| depth(symbols, *axis));
        for axis in order {
            let index = axis.index();
            let above = symbols.axis(axis).parent.map(|parent| keep[parent.index()].clone());
            let parents = self.bound[index].parent.clone().unwrap_or_default();
            if let Some(Some(above)) = &above {
                let own = (0..parents.len())
                    .map(|place| above[parents[place]] && keep[index].as_ref().is_none_or(|own| own[place]))
                    .collect();
                keep[index] = Some(own);
            }
            let Some(own) = &keep[index] else { continue };
            let starts = self.bound[index].starts.clone().unwrap_or_default();
            let mut sizes = vec![0; self.lookup[index].len()];
            let mut labels: Vec<Vec<String>> = vec![Vec::new(); sizes.len()];
            for place in (0..own.len()).filter(|place| own[*place]) {
                let group = parents.get(place).copied().unwrap_or(0);
                let number = || (place - starts.get(group).copied().unwrap_or(0)).to_string();
                sizes[group] += 1;
                labels[group].push(self.labels[index].as_ref().map_or_else(number, |all| all[place].clone()));
            }
            let groups: Vec<usize> = match &above {
                Some(Some(above)) => (0..sizes.len()).filter(|group| above[*group]).collect(),
                Some(None) | None => (0..sizes.len()).collect(),
            };
            let sizes: Vec<usize> = groups.iter().map(|group| sizes[*group]).collect();
            self.bound[index] = match above {
                Some(_) => BoundAxis::ragged(&sizes),
                None => BoundAxis::plain(sizes[0]),
            };
            self.lookup[index] = groups.iter().map(|group| Lookup::of(&labels[*group])).collect();
            self.labels[index] =
                Some(groups.iter().flat_map(|group| std::mem::take(&mut labels[*group])).collect());
        }
    }

    /// The size that `--set` gives to an axis, or to a group of it.
    fn set_size(
        &self,
        inputs: &Inputs,
        name: &str,
        path: Option<&str>,
        problems: &mut Vec<DataError>,
    ) -> Option<Claim> {
        let input = inputs
            .set
            .iter()
            .filter(|input| input.name == name)
            .find(|input| input.group.is_some() && input.group.as_deref() == path)
            .or_else(|| inputs.set.iter().find(|input| input.name == name && input.group.is_none()))?;
        let SetValue::Number(value) = input.value else { return None };
        match size_set(name, value) {
            Ok(size) => {
                Some(Claim { size, exact: true, from: format!("`--set {name}={value}`"), array: None })
            }
            Err(problem) => {
                problems.push(problem);
                None
            }
        }
    }

    /// Everything that files and options say of an axis, one entry for each group.
    fn gather(
        &self,
        symbols: &Symbols,
        inputs: &Inputs,
        pieces: &[Piece],
        axis: AxisId,
        problems: &mut Vec<DataError>,
    ) -> Vec<Facts> {
        let parent = symbols.axis(axis).parent;
        let groups = parent.map_or(1, |parent| self.bound[parent.index()].size);
        let mut facts: Vec<Facts> = (0..groups).map(|_| Facts::default()).collect();
        self.gather_labels(symbols, inputs, axis, &mut facts, problems);
        // What `--fix` holds is at groups that the data have, where these have any.
        let is_fixed = |piece: &&Piece| {
            let name = &symbols.array(piece.array).name;
            inputs.fix.iter().any(|own| own.name == *name)
        };
        let (fixed, of_data): (Vec<&Piece>, Vec<&Piece>) = pieces.iter().partition(is_fixed);
        self.gather_groups(symbols, &of_data, axis, &mut facts);
        let is_of_data = |own: &&Piece| own.letters.iter().any(|letter| symbols.letter(*letter).axis == axis);
        if facts.iter().all(Facts::is_empty) && !of_data.iter().any(is_of_data) {
            self.gather_groups(symbols, &fixed, axis, &mut facts);
        }
        for piece in pieces {
            if let Some(own) = piece.flat(axis) {
                match self.groups_of_flat(symbols, piece, own) {
                    Ok(groups) => {
                        groups
                            .into_iter()
                            .for_each(|own| facts[own.group].of_flat(piece, own.labels, own.size));
                    }
                    Err(problem) => problems.push(problem),
                }
            }
            for (dimension, letter) in piece.letters.iter().enumerate() {
                if symbols.letter(*letter).axis == axis && piece.flat(axis).is_none() {
                    match (parent, &piece.group) {
                        (Some(parent), Some(path)) if self.find_path(symbols, parent, path).is_none() => {
                            // Said once for each file.
                            let problem = unknown_group(symbols, piece, parent, path);
                            problems.extend((!problems.contains(&problem)).then_some(problem));
                        }
                        _ => self.gather_dimension(symbols, piece, dimension, parent, &mut facts),
                    }
                }
            }
            if symbols.array(piece.array).support == Support::Index(axis)
                && let Some(facts) = facts.first_mut()
            {
                facts.index_values(symbols, piece);
            }
        }
        facts
    }

    /// The files of `--labels`.
    fn gather_labels(
        &self,
        symbols: &Symbols,
        inputs: &Inputs,
        axis: AxisId,
        facts: &mut [Facts],
        problems: &mut Vec<DataError>,
    ) {
        let name = &symbols.axis(axis).name;
        for input in inputs.labels.iter().filter(|input| input.axis == *name) {
            let group = match (symbols.axis(axis).parent, &input.group) {
                (None, None) => Ok(Some(0)),
                (Some(parent), Some(group)) => {
                    split_path(symbols, axis, group).map(|path| self.find_path(symbols, parent, &path))
                }
                (Some(_), None) => {
                    Err(DataError::new(format!("`--labels {name}` names no group, and `{name}` is ragged"))
                        .help(format!("`--labels '{name}[GROUP]={}'`", input.source.name())))
                }
                (None, Some(group)) => Err(DataError::new(format!(
                    "`--labels {name}[{group}]` names a group, and `{name}` has none"
                ))),
            };
            match group {
                Err(problem) => problems.push(problem),
                Ok(None) => problems.push(DataError::new(format!(
                    "`--labels {name}[{}]`: there is no such group",
                    input.group.as_deref().unwrap_or_default()
                ))),
                Ok(Some(group)) => {
                    let from = input.source.name();
                    match input.source.read() {
                        Err(error) => problems.push(error.into()),
                        Ok(_) if facts[group].given.is_some() => {
                            problems.push(DataError::new(format!("the labels of `{name}` are given twice")));
                        }
                        Ok(labels) => {
                            if let Some(twice) = repeated(&labels) {
                                problems.push(DataError::new(format!(
                                    "{from}: the label `{twice}` stands twice"
                                )));
                            }
                            facts[group].given = Some(Listed { labels, from });
                        }
                    }
                }
            }
        }
    }

    /// The labels of the groups that files are bound to, `--data 'x[rna]=...'`, in their order.
    fn gather_groups(&self, symbols: &Symbols, pieces: &[&Piece], axis: AxisId, facts: &mut [Facts]) {
        let mut arrays: Vec<(ArrayId, usize)> = Vec::new();
        let mut lists: Vec<(usize, Listed)> = Vec::new();
        for piece in pieces {
            let Some(path) = &piece.group else { continue };
            let ragged = piece.letters.iter().find(|letter| symbols.letter(**letter).parent.is_some());
            let Some(ragged) = ragged else { continue };
            let mut ancestors: Vec<AxisId> =
                symbols.lineage(*ragged)[1..].iter().map(|letter| symbols.letter(*letter).axis).collect();
            ancestors.reverse();
            let Some(level) = ancestors.iter().position(|ancestor| *ancestor == axis) else { continue };
            let group = match level {
                0 => Some(0),
                _ => self.find_path(symbols, ancestors[level - 1], &path[..level]),
            };
            let Some(group) = group else { continue };
            let key = (piece.array, group);
            let place = arrays.iter().position(|other| *other == key).unwrap_or_else(|| {
                arrays.push(key);
                let from = format!("the files of `{}`", symbols.array(piece.array).name);
                lists.push((group, Listed { labels: Vec::new(), from }));
                arrays.len() - 1
            });
            let labels = &mut lists[place].1.labels;
            if !labels.contains(&path[level]) {
                labels.push(path[level].clone());
            }
        }
        for (group, listed) in lists {
            facts[group].headers.push(listed);
        }
    }

    /// What one dimension of a file says.
    fn gather_dimension(
        &self,
        symbols: &Symbols,
        piece: &Piece,
        dimension: usize,
        parent: Option<AxisId>,
        facts: &mut [Facts],
    ) {
        let from = piece.name();
        let claim =
            |size: usize, exact: bool| Claim { size, exact, from: from.clone(), array: Some(piece.array) };
        let group = match (parent, &piece.group) {
            (None, _) => Some(0),
            (Some(parent), Some(path)) => match self.find_path(symbols, parent, path) {
                Some(group) => Some(group),
                None => return,
            },
            (Some(_), None) => None,
        };
        match (&piece.content, group) {
            (Content::Dense(dense), Some(group)) => match &dense.labels[dimension] {
                Some(labels) => facts[group].headers.push(Listed { labels: labels.clone(), from }),
                None => facts[group].claims.push(claim(dense.shape[dimension], true)),
            },
            (Content::Coordinates(coordinates), Some(group)) => match coordinates.labels(dimension) {
                Some(labels) => facts[group].headers.push(Listed { labels: labels.to_vec(), from }),
                None => {
                    let size = coordinates.shape[dimension];
                    facts[group].claims.push(claim(size, coordinates.shape_is_exact));
                }
            },
            (Content::Long(long), Some(group)) => {
                let labels = long.positions[dimension].names.clone();
                facts[group].distinct.push(Listed { labels, from });
            }
            (Content::Long(long), None) => {
                let above = symbols.letter(piece.letters[dimension]).parent;
                let above = above.and_then(|above| piece.letters.iter().position(|letter| *letter == above));
                let Some(Ok(parents)) = above.map(|above| self.column(symbols, piece, above)) else { return };
                let column = &long.positions[dimension];
                let mut seen: HashSet<(u32, u32)> = HashSet::new();
                let mut lists: Vec<Vec<String>> = vec![Vec::new(); facts.len()];
                for (entry, code) in column.codes.iter().enumerate() {
                    if seen.insert((parents[entry], *code)) {
                        lists[parents[entry] as usize].push(column.names[*code as usize].clone());
                    }
                }
                for (facts, labels) in facts.iter_mut().zip(lists).filter(|(_, labels)| !labels.is_empty()) {
                    facts.distinct.push(Listed { labels, from: from.clone() });
                }
            }
            (Content::Documents(documents), Some(group)) => {
                facts[group].claims.push(claim(documents.len(), false));
            }
            (Content::Documents(_), None) => {
                for (group, size) in document_lengths(symbols, piece).into_iter().enumerate() {
                    if let Some(facts) = facts.get_mut(group) {
                        facts.claims.push(claim(size, true));
                    }
                }
            }
            (Content::Dense(_) | Content::Coordinates(_), None) => {}
        }
    }

    /// The position of a group, by its labels outermost first.
    pub fn find_path(&self, symbols: &Symbols, axis: AxisId, path: &[String]) -> Option<usize> {
        let (label, above) = path.split_last()?;
        let group = match symbols.axis(axis).parent {
            Some(parent) => self.find_path(symbols, parent, above)?,
            None => 0,
        };
        self.find(axis, group, label).map(|position| position as usize)
    }

    /// The position of a label in a group of an axis.
    pub fn find(&self, axis: AxisId, group: usize, label: &str) -> Option<u32> {
        let bound = &self.bound[axis.index()];
        let (start, end) = match &bound.starts {
            Some(starts) => (*starts.get(group)?, *starts.get(group + 1)?),
            None => (0, bound.size),
        };
        let lookup = self.lookup[axis.index()].get(group)?;
        let local = if lookup.is_empty() {
            label.parse::<u32>().ok().filter(|place| place.to_string() == label)?
        } else {
            lookup.find(&self.labels[axis.index()].as_ref()?[start..end], label)?
        };
        ((local as usize) < end - start).then(|| start as u32 + local)
    }

    /// The labels of a position, outermost first.
    pub fn path(&self, symbols: &Symbols, axis: AxisId, position: usize) -> Vec<String> {
        super::labels::path(symbols, &self.bound, &self.labels, axis, position)
    }

    /// What labels an axis has, in words.
    pub fn expected_label(&self, symbols: &Symbols, axis: AxisId) -> String {
        let name = &symbols.axis(axis).name;
        match self.origins[axis.index()].as_str() {
            "" => format!(
                "a position of axis `{name}`, from 0 to {}",
                self.bound[axis.index()].size.saturating_sub(1)
            ),
            origin => format!("a label of axis `{name}`, as {origin} has it"),
        }
    }

    /// Where a label of an axis stands, apart from the files of `array`.
    pub fn who_has(
        &self,
        symbols: &Symbols,
        pieces: &[Piece],
        axis: AxisId,
        label: &str,
        array: ArrayId,
    ) -> String {
        let has = |piece: &&Piece| {
            piece.array != array
                && piece.letters.iter().enumerate().any(|(dimension, letter)| {
                    symbols.letter(*letter).axis == axis
                        && piece.content.labels(dimension).into_iter().flatten().any(|other| other == label)
                })
        };
        let points = |piece: &&Piece| {
            symbols.array(piece.array).support == Support::Index(axis)
                && piece.content.labels_of_values().into_iter().flatten().any(|other| other == label)
        };
        match pieces.iter().find(has).or_else(|| pieces.iter().find(points)) {
            Some(piece) => piece.name(),
            None if self.origins[axis.index()].is_empty() => format!("axis `{}`", symbols.axis(axis).name),
            None => self.origins[axis.index()].clone(),
        }
    }
}

impl Facts {
    fn is_empty(&self) -> bool {
        let lists = [&self.headers, &self.distinct];
        self.given.is_none()
            && lists.iter().all(|list| list.is_empty())
            && self.indexed.is_empty()
            && self.claims.is_empty()
    }

    /// The labels of a group in a packed file, or its size.
    fn of_flat(&mut self, piece: &Piece, labels: Option<Vec<String>>, size: usize) {
        let from = piece.name();
        match labels {
            Some(labels) => self.headers.push(Listed { labels, from }),
            None => self.claims.push(Claim { size, exact: true, from, array: Some(piece.array) }),
        }
    }

    /// What the values of index data say of the axis that they point into.
    fn index_values(&mut self, symbols: &Symbols, piece: &Piece) {
        let from = piece.name();
        if let Some(names) = piece.content.labels_of_values() {
            let labels = names.iter().filter(|name| *name != "-1").cloned().collect();
            let array = symbols.array(piece.array);
            let listed = Listed { labels, from };
            let (array, single) = (array.name.clone(), array.letters.is_empty());
            self.indexed.push(Indexed { array, single, listed });
            return;
        }
        match &piece.content {
            Content::Documents(documents) => {
                let size = documents.words();
                self.claims.push(Claim { size, exact: false, from, array: None });
            }
            // A long table without values says nothing.
            Content::Long(long) if long.values.is_none() => {}
            content => self.at_least(content.numbers().unwrap_or_default(), from),
        }
    }

    /// Positions give a lower bound. What is no position is reported where values are checked.
    fn at_least(&mut self, positions: &[f64], from: String) {
        let valid = positions.iter().filter(|value| value.fract() == 0.0 && **value >= 0.0 && **value < 4e9);
        let size = valid.fold(0, |size, value| size.max(*value as usize + 1));
        // Positions all of which are missing say nothing of the size.
        if size > 0 || positions.is_empty() {
            self.claims.push(Claim { size, exact: false, from, array: None });
        }
    }

    /// Labels and size of one group. `sort` says whether distinct entries are whole numbers throughout the axis.
    fn resolve(
        mut self,
        place: &str,
        name: &str,
        set: Option<Claim>,
        stated: Option<f64>,
        sort: bool,
    ) -> Result<Resolved, Vec<DataError>> {
        let mut problems = Vec::new();
        let mut claims: Vec<Claim> = Vec::new();
        match (set, stated) {
            (Some(set), _) => claims.push(set),
            (None, Some(stated)) => match whole_size(stated) {
                Some(size) => {
                    let from = "the text of the program".to_owned();
                    claims.push(Claim { size, exact: true, from, array: None });
                }
                None => problems.push(
                    DataError::new(format!("the size of axis {place} is {stated}"))
                        .possible(format!("a whole number from 0 to {LARGEST}")),
                ),
            },
            (None, None) => {}
        }
        let weak = self.given.is_none() && self.headers.is_empty() && self.distinct.is_empty();
        let origin = match &self.given {
            Some(given) => given.from.clone(),
            None => {
                let first = self.headers.iter().chain(&self.distinct).chain(listed_of(&self.indexed)).next();
                first.map_or_else(String::new, |listed| listed.from.clone())
            }
        };
        let mut labels = match &self.given {
            Some(given) => Some(given.labels.clone()),
            None if weak && self.indexed.is_empty() => None,
            None => {
                let sort = self.headers.is_empty()
                    && if weak { all_listed_whole(listed_of(&self.indexed)) } else { sort };
                // The labels of one list are moved.
                let is_one = self.headers.len() + self.distinct.len() + self.indexed.len() == 1;
                let moved = match self.headers.first_mut().or(self.distinct.first_mut()) {
                    Some(one) if is_one && repeated(&one.labels).is_none() => {
                        Some(std::mem::take(&mut one.labels))
                    }
                    Some(_) | None => None,
                };
                let mut labels = moved.unwrap_or_else(|| {
                    union(self.headers.iter().chain(&self.distinct).chain(listed_of(&self.indexed)))
                });
                if sort && all_whole(&labels) {
                    labels.sort_by_key(|label| label.parse::<i64>().unwrap_or_default());
                }
                Some(labels)
            }
        };
        if let Some(labels) = &labels {
            let from = if weak { origin.clone() } else { format!("the labels of {origin}") };
            claims.push(Claim { size: labels.len(), exact: !weak, from, array: None });
        }
        // A file with two letters on one axis says the same twice.
        for claim in self.claims {
            let alike =
                |own: &Claim| (own.size, own.exact, &own.from) == (claim.size, claim.exact, &claim.from);
            if !claims.iter().any(alike) {
                claims.push(claim);
            }
        }
        let reference = claims.iter().position(|claim| claim.exact);
        let size = match reference {
            Some(reference) => claims[reference].size,
            None => claims.iter().map(|claim| claim.size).max().unwrap_or(0),
        };
        if let Some(reference) = reference {
            let first = &claims[reference];
            for (other, claim) in claims.iter().enumerate() {
                if other != reference && (claim.size > size || claim.exact && claim.size != size) {
                    problems.push(disagreement(place, first, claim));
                }
            }
        }
        let from = claims.iter().find(|claim| claim.size == size).map_or("", |claim| claim.from.as_str());
        problems.extend(sizes::too_long(place, size, from));
        let shown = labels.as_ref().map_or(0, Vec::len);
        if weak && reference.is_some() && shown < size {
            problems.extend(outside(&self.indexed, size, place, name));
        }
        let mut from_one = None;
        if weak && let Some(found) = &mut labels {
            let zero = found.iter().any(|label| label == "0");
            labels = complete(found, size);
            from_one = (labels.is_none() && !zero && size > 0).then(|| origin.clone());
        }
        if problems.is_empty() { Ok(Resolved { size, labels, origin, from_one }) } else { Err(problems) }
    }
}

fn disagreement(place: &str, first: &Claim, other: &Claim) -> DataError {
    let at_least = if other.exact { "" } else { "at least " };
    let problem = DataError::new(format!(
        "axis {place} has size {} by {}, and {at_least}{} by {}",
        first.size, first.from, other.size, other.from
    ));
    if let Some(empty) = [first, other].into_iter().find(|own| own.size == 0) {
        return problem.help(format!(
            "{} holds no position of it: was something left out below its header?",
            empty.from
        ));
    }
    match other.array.or(first.array) {
        Some(_) => problem.help("give every size once, or `--transpose NAME` if a file holds the transpose"),
        None => problem.help("give every size once"),
    }
}

/// Whether all labels are whole numbers.
fn all_whole(labels: &[String]) -> bool {
    labels.iter().all(|label| label.parse::<i64>().is_ok())
}

fn listed_of(indexed: &[Indexed]) -> impl Iterator<Item = &Listed> {
    indexed.iter().map(|own| &own.listed)
}

fn all_listed_whole<'a>(mut lists: impl Iterator<Item = &'a Listed>) -> bool {
    lists.all(|listed| all_whole(&listed.labels))
}

/// The labels of several lists, in order of first appearance.
fn union<'a>(lists: impl Iterator<Item = &'a Listed>) -> Vec<String> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut labels = Vec::new();
    for label in lists.flat_map(|listed| &listed.labels) {
        if seen.insert(label) {
            labels.push(label.clone());
        }
    }
    labels
}

fn repeated(labels: &[String]) -> Option<&String> {
    let mut seen = HashSet::new();
    labels.iter().find(|label| !seen.insert(label.as_str()))
}
