//! Where the fit of new rows starts: a row that the earlier fit has at its q there, any other at the average row of that fit.
//!
//! Averages are taken of the parameters that define q, which lie in convex sets. So a row starts where it does whatever rows stand
//! beside it, and a row of the fit comes back to where it was even if its own problem has several optima. Where a part of each row is to be predicted all rows
//! start at the average row ([`Known`]). A point that is 0 starts at
//! the average, since a multiplicative update never leaves 0. What the fit has no file for, such as a group of a ragged axis that it does
//! not have, starts at random.
//!
//! A fit to the data of an earlier one and more ([`grown`]) starts so too, along every axis of its data: of those that are predicted, of covariates, of
//! what index data name, and along the listed entries at which latents live. Components that the earlier fit does not have start at random,
//! since those at one average would stay alike in every sweep.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use cavi_algebra::{ArrayKind, AxisId, BlockId, Equations, Mode, Support};
use cavi_executor::Parameters;
use cavi_files::DenseArray;

use crate::bind::{Binding, DataError};
use crate::init::read_over;
use crate::posterior::{Along, ColumnFile, FileDimension, group_path};
use crate::prepare::{EntryAxis, Problem};
use crate::start::{Given, lost_blocks};
use crate::stuck::Stuck;

/// Where rows start that the earlier fit has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Where that fit has them.
    There,
    /// At the average row as all others: a part of the row is to be predicted that the earlier fit may have seen.
    AtAverage,
}

/// The start of the blocks of rows, and whether the earlier fit has none of them.
///
/// # Errors
/// Files that cannot be read.
pub(crate) fn start(
    problem: &Problem,
    directory: &Path,
    (is_own, is_row): (&dyn Fn(BlockId) -> bool, &dyn Fn(AxisId) -> bool),
    known: Known,
    seed: u64,
) -> Result<(Given, bool), Vec<DataError>> {
    let Problem { equations, binding, .. } = problem.as_given();
    let symbols = &equations.symbols;
    let wanted = |id: BlockId| {
        let block = equations.block(id);
        let latent = block.members.iter().all(|member| symbols.array(*member).kind == ArrayKind::Latent);
        latent && is_own(id) && matches!(block.mode, Mode::Distribution | Mode::Point)
    };
    let random = cavi_executor::start(equations, &binding.bound, seed);
    let mut rows = Matched { problem, directory, is_row, known, grows: false, found: HashMap::new() };
    let mut given = read_over(problem, directory, &wanted, &random, &mut |file, array, values| {
        rows.place(file, array, values).map(|_| ())
    })?;
    for (index, columns) in
        given.blocks.iter_mut().enumerate().filter(|(index, _)| wanted(BlockId::from(*index)))
    {
        columns.get_or_insert_with(|| random.blocks[index].clone());
    }
    let is_new = rows.found.values().flatten().all(Option::is_none);
    Ok((given, is_new))
}

/// The axes along which data lie: those of data arrays, predicted or not, and those whose positions index data name. One that counts
/// components, of which some data say which they are of, is none, unless it has labels.
fn axes_of_data(equations: &Equations, binding: &Binding) -> BTreeSet<AxisId> {
    let symbols = &equations.symbols;
    let mut found = BTreeSet::new();
    for array in symbols.arrays.iter().filter(|own| own.kind == ArrayKind::Data) {
        let letters = array.letters.iter().flat_map(|letter| symbols.lineage(*letter));
        found.extend(letters.map(|letter| symbols.letter(letter).axis));
        if let Support::Index(axis) = array.support
            && (symbols.axis(axis).size.is_none() || binding.labels.is_labelled(axis))
        {
            found.insert(axis);
        }
    }
    found
}

/// Where components that the earlier fit does not have start: as without it, in the coordinates of the data. What is wrong with a line of `init`
/// the fit itself says.
fn without_earlier(problem: &Problem, seed: u64) -> Parameters {
    let mut parameters = match crate::start::start(problem, None, seed) {
        Ok(start) => start.parameters,
        Err(_) => cavi_executor::start(&problem.equations, &problem.binding.bound, seed),
    };
    problem.way_back(&mut parameters);
    parameters
}

/// The start of a fit whose data have rows that the earlier fit in `directory` did not have, or lack some of its rows; and in words how many
/// positions of each axis of the data the earlier fit has. Variables of which nothing could be taken start as without an earlier fit.
///
/// # Errors
/// A directory that holds no fit; files that cannot be read; variables that the program does not have; labels of which the earlier fit has none;
/// `fixed` variables with new rows, which have no values.
pub(crate) fn grown(
    problem: &Problem,
    directory: &Path,
    seed: u64,
) -> Result<(Given, Vec<String>), Vec<DataError>> {
    let Problem { equations, binding, .. } = problem.as_given();
    let symbols = &equations.symbols;
    if !directory.join("axes").is_dir() {
        let message =
            format!("`--grow`: `{}` has no `axes`, by whose labels rows are matched", directory.display());
        return Err(vec![
            DataError::new(message).possible("the directory of a fit, which `cavi fit ... --out DIR` writes"),
        ]);
    }
    let of_data = axes_of_data(equations, binding);
    let is_row = |axis: AxisId| of_data.contains(&axis);
    let known = Known::There;
    let mut rows = Matched { problem, directory, is_row: &is_row, known, grows: true, found: HashMap::new() };
    let mut said = Vec::new();
    for axis in &of_data {
        let has_size = symbols.axis(*axis).size.is_some() && !binding.labels.is_labelled(*axis);
        if symbols.axis(*axis).parent.is_some() || has_size {
            continue;
        }
        let (positions, theirs) = rows.matched(*axis).map_err(|error| vec![error])?;
        let known = positions.iter().flatten().count();
        let name = &symbols.axis(*axis).name;
        if known == 0 && theirs > 0 && !positions.is_empty() {
            let message =
                format!("`--grow`: no label of axis `{name}` is one of the fit `{}`", directory.display());
            return Err(vec![
                DataError::new(message).help("leave `--init` and `--grow` out to fit these data alone"),
            ]);
        }
        let (new, gone) = (positions.len() - known, theirs.saturating_sub(known));
        let mut line = match gone {
            0 => format!("{name}: {known} of the earlier fit and {new} new"),
            _ => format!(
                "{name}: {known} of the earlier fit and {new} new, and {gone} of the earlier fit are not in these data"
            ),
        };
        if !binding.labels.is_labelled(*axis) && binding.entries.iter().all(|own| own.axis != *axis) {
            line.push_str(" (no labels: matched by position)");
        }
        said.push(line);
    }
    let wanted = |id: BlockId| {
        let block = equations.block(id);
        let latent = block.members.iter().all(|member| symbols.array(*member).kind == ArrayKind::Latent);
        latent && block.mode != Mode::Implicit
    };
    let random = without_earlier(problem, seed);
    let mut placed: BTreeSet<String> = BTreeSet::new();
    let mut given = read_over(problem, directory, &wanted, &random, &mut |file, array, values| {
        if rows.place(file, array, values)? {
            placed.extend(
                file.key.split('.').next().into_iter().flat_map(|own| own.split('+')).map(str::to_owned),
            );
        }
        Ok(())
    })?;
    let mut fresh = Vec::new();
    for (index, block) in
        equations.blocks.iter().enumerate().filter(|(index, _)| wanted(BlockId::from(*index)))
    {
        let names: Vec<&str> = block.members.iter().map(|own| symbols.array(*own).name.as_str()).collect();
        let is_new = |letter: &cavi_algebra::LetterId| {
            let axis = symbols.letter(*letter).axis;
            rows.found.iter().any(|((own, _), positions)| *own == axis && positions.contains(&None))
        };
        if block.mode == Mode::Fixed
            && block.members.iter().flat_map(|own| &symbols.array(*own).letters).any(is_new)
        {
            let message = format!("`--grow`: `{}` is `fixed`, and new rows have no values of it", names[0]);
            return Err(vec![DataError::new(message)]);
        }
        if given.blocks[index].is_none() || !names.iter().any(|own| placed.contains(*own)) {
            given.blocks[index] = None;
            fresh.extend(names.iter().map(|own| format!("`{own}`")));
        }
    }
    if !fresh.is_empty() {
        said.push(format!(
            "{} start as without an earlier fit, which has nothing of this shape",
            fresh.join(", ")
        ));
    }
    let parameters: Vec<Option<&[Vec<f64>]>> = given.blocks.iter().map(Option::as_deref).collect();
    let order = crate::schedule::of_program(&problem.as_given().model, equations).schedule.blocks();
    let lost = &lost_blocks(problem.as_given(), &order);
    let (bound, labels) = (&binding.bound, &binding.labels);
    let stuck = Stuck { equations, bound, labels, parameters: &parameters, lost };
    said.extend(stuck.symmetric().into_iter().map(|found| format!("warning: {}", found.message)));
    Ok((given, said))
}

/// For each position of a group of an axis its position in the fit; `None` for one that the fit does not have.
type Positions = Vec<Option<usize>>;

/// How new rows match those of the fit.
struct Matched<'a> {
    problem: &'a Problem,
    directory: &'a Path,
    is_row: &'a dyn Fn(AxisId) -> bool,
    known: Known,
    /// Whether rows without labels were added behind those of the fit, and other axes may have become longer too.
    grows: bool,
    found: HashMap<(AxisId, Option<usize>), Positions>,
}

/// In the place of a position of the file: what is there stays.
const STAYS: usize = usize::MAX;

impl Matched<'_> {
    /// Puts the numbers of a file at the places of the rows that they start; nothing, and `false`, where the file has another layout.
    fn place(
        &mut self,
        file: &ColumnFile,
        array: &DenseArray,
        values: &mut [f64],
    ) -> Result<bool, DataError> {
        let Some(lengths) = self.lengths(file, &array.shape) else { return Ok(false) };
        if lengths.contains(&0) {
            return Ok(false);
        }
        let mut sources: Vec<Vec<usize>> = Vec::new();
        for (dimension, theirs) in file.dimensions.iter().zip(&lengths) {
            sources.push(self.sources(dimension, *theirs)?);
        }
        let averaged = with_averages(&array.values, &lengths);
        let is_point = file.key.split('/').next().is_some_and(|key| key.ends_with(".value"));
        let of_rows = |own: &FileDimension| matches!(own.along, Along::Axis(axis, _) if (self.is_row)(axis));
        let is_row: Vec<bool> = file.dimensions.iter().map(of_rows).collect();
        let walk =
            Walk { file, lengths: &lengths, sources: &sources, from: &averaged, is_row: &is_row, is_point };
        walk.step(0, file.base, 0, 0, values);
        Ok(true)
    }

    /// The positions of an axis that is not ragged, and how many the fit has.
    fn matched(&mut self, axis: AxisId) -> Result<(Positions, usize), DataError> {
        Ok((self.positions(axis, None)?, self.size_there(axis)?))
    }

    /// How many positions an axis that is not ragged has in the fit.
    fn size_there(&self, axis: AxisId) -> Result<usize, DataError> {
        let Problem { equations, binding, .. } = self.problem.as_given();
        if let Some(entries) = binding.entries.iter().find(|own| own.axis == axis) {
            return Ok(self.index_there(entries)?.map_or(0, |(index, _)| index.shape[0]));
        }
        let name = &equations.symbols.axis(axis).name;
        let path = self.directory.join("axes").join(format!("{name}.txt"));
        Ok(if path.is_file() { cavi_files::read_labels(&path)?.len() } else { 0 })
    }

    /// The entries that the fit lists, a row each, and the coordinates of its columns.
    fn index_there(&self, entries: &EntryAxis) -> Result<Option<(DenseArray, Vec<usize>)>, DataError> {
        let symbols = &self.problem.as_given().equations.symbols;
        for (variable, declared) in &entries.latents {
            let name = &symbols.array(*variable).name;
            let path = self.directory.join("posterior").join(format!("{name}.index.npy"));
            if !path.is_file() {
                continue;
            }
            let index = cavi_files::read_npy(&path)?;
            if index.shape.len() == 2 && index.shape[1] == declared.len() {
                return Ok(Some((index, declared.clone())));
            }
        }
        Ok(None)
    }

    /// For each listed entry its number in the fit: that of the entry at the same labels.
    fn entries(&mut self, entries: &EntryAxis) -> Result<Positions, DataError> {
        let count = entries.columns.first().map_or(0, Vec::len);
        let Some((index, declared)) = self.index_there(entries)? else { return Ok(vec![None; count]) };
        let theirs: HashMap<Vec<usize>, usize> = index
            .values
            .chunks(declared.len().max(1))
            .enumerate()
            .map(|(number, entry)| (entry.iter().map(|own| *own as usize).collect(), number))
            .collect();
        let along: Vec<Positions> = declared
            .iter()
            .map(|coordinate| self.positions(entries.coordinates[*coordinate], None))
            .collect::<Result<_, _>>()?;
        let number = |entry: usize| {
            let place = declared.iter().zip(&along);
            let place = place.map(|(coordinate, own)| own[entries.columns[*coordinate][entry] as usize]);
            theirs.get(&place.collect::<Option<Vec<usize>>>()?).copied()
        };
        Ok((0..count).map(number).collect())
    }

    /// The length of each dimension in the file: those of rows are the fit's, several slices may be one of the file's.
    fn lengths(&self, file: &ColumnFile, shape: &[usize]) -> Option<Vec<usize>> {
        let mut lengths = Vec::new();
        let mut dimensions = file.dimensions.iter().peekable();
        for size in shape {
            let first = dimensions.next()?;
            let of_rows = match first.along {
                Along::Axis(axis, _) => self.grows || (self.is_row)(axis),
                Along::Members(_) => self.grows,
            };
            if of_rows || *size == 1 || *size == first.length || *size == first.full {
                lengths.push(*size);
                continue;
            }
            let mut product = first.full;
            lengths.push(first.full);
            while product < *size {
                let next = dimensions.next()?;
                lengths.push(next.full);
                product *= next.full;
            }
            if product != *size {
                return None;
            }
        }
        dimensions.peek().is_none().then_some(lengths)
    }

    /// For each position of a dimension its position in the file; the length of that stands for the average.
    fn sources(&mut self, dimension: &FileDimension, theirs: usize) -> Result<Vec<usize>, DataError> {
        let same = |position: usize| position.min(theirs - 1);
        Ok(match dimension.along {
            // One for all rows.
            _ if dimension.length < dimension.full && theirs > 1 => vec![theirs; dimension.length],
            Along::Axis(axis, group) if (self.is_row)(axis) && theirs > 1 => {
                let positions = self.positions(axis, group)?;
                let known = |own: &Option<usize>| own.filter(|own| *own < theirs).unwrap_or(theirs);
                positions.iter().take(dimension.length).map(known).collect()
            }
            // A length of 1 is that of a fit with one component, or of a covariance that all components share there.
            Along::Axis(axis, group)
                if self.grows && (theirs > 1 || group.is_none() && self.size_there(axis)? == 1) =>
            {
                let same = |position: usize| if position < theirs { position } else { STAYS };
                (0..dimension.length).map(same).collect()
            }
            Along::Members(id) if theirs > 1 => self.elements(id, dimension.length, theirs)?,
            Along::Axis(..) | Along::Members(_) => (0..dimension.length).map(same).collect(),
        })
    }

    /// For each element of the members of a block, one member after another and each in C order of its slice, the place of that element in the
    /// fit; those that it does not have keep their own start, since an average of covariances is the covariance of no new element.
    fn elements(&mut self, id: BlockId, length: usize, theirs: usize) -> Result<Vec<usize>, DataError> {
        let Problem { equations, binding, .. } = self.problem.as_given();
        let symbols = &equations.symbols;
        let mut all: Vec<usize> = Vec::with_capacity(length);
        let mut before = 0;
        for letters in &equations.block(id).slices {
            let mut places = vec![Some(0)];
            let mut size_there = 1;
            for letter in letters {
                let axis = symbols.letter(*letter).axis;
                let size = binding.bound.size_of(symbols, *letter);
                let there = Some(self.size_there(axis)?).filter(|own| *own > 0).unwrap_or(size);
                let own = match (self.is_row)(axis) {
                    true => self.positions(axis, None)?,
                    false => (0..size).map(|place| Some(place).filter(|own| *own < there)).collect(),
                };
                let next = |place: &Option<usize>| -> Vec<Option<usize>> {
                    own.iter().map(|own| Some((*place)? * there + (*own)?)).collect()
                };
                places = places.iter().flat_map(next).collect();
                size_there *= there;
            }
            all.extend(places.into_iter().map(|own| own.map_or(STAYS, |own| before + own)));
            before += size_there;
        }
        // A file that has another number of them is one that no axis explains: by position.
        if before != theirs || all.len() != length {
            return Ok((0..length).map(|own| if own < theirs { own } else { STAYS }).collect());
        }
        Ok(all)
    }

    /// Rows match by their labels; those without labels are rows of the fit if there are as many.
    fn positions(&mut self, axis: AxisId, group: Option<usize>) -> Result<Positions, DataError> {
        if let Some(found) = self.found.get(&(axis, group)) {
            return Ok(found.clone());
        }
        let Problem { equations, binding, .. } = self.problem.as_given();
        let (symbols, bound, labels) = (&equations.symbols, &binding.bound, &binding.labels);
        if self.known == Known::AtAverage && (self.is_row)(axis) {
            let own = &bound.axes[axis.index()];
            let count = match (&own.starts, group) {
                (Some(starts), Some(group)) => starts[group + 1] - starts[group],
                _ => own.size,
            };
            return Ok(vec![None; count]);
        }
        if let Some(entries) = binding.entries.iter().find(|own| own.axis == axis) {
            let found = self.entries(entries)?;
            self.found.insert((axis, group), found.clone());
            return Ok(found);
        }
        let own = &bound.axes[axis.index()];
        let range = match (&own.starts, group) {
            (Some(starts), Some(group)) => starts[group]..starts[group + 1],
            _ => 0..own.size,
        };
        let axes = self.directory.join("axes");
        let name = &symbols.axis(axis).name;
        let path = match (group, symbols.axis(axis).parent) {
            (Some(group), Some(parent)) => {
                axes.join(name).join(format!("{}.txt", group_path(symbols, bound, labels, parent, group)))
            }
            _ => axes.join(format!("{name}.txt")),
        };
        let found: Positions = if !path.is_file() {
            vec![None; range.len()]
        } else {
            let theirs = cavi_files::read_labels(&path)?;
            if labels.is_labelled(axis) {
                let places: HashMap<&str, usize> =
                    theirs.iter().enumerate().map(|(place, label)| (label.as_str(), place)).collect();
                range.map(|position| places.get(&*labels.label(bound, axis, position)).copied()).collect()
            } else {
                let same = theirs.len() == range.len();
                let is_known = |position: &usize| same || self.grows && *position < theirs.len();
                (0..range.len()).map(|position| Some(position).filter(is_known)).collect()
            }
        };
        self.found.insert((axis, group), found.clone());
        Ok(found)
    }
}

/// An array with one more position along each of its dimensions: the average over the others.
fn with_averages(values: &[f64], shape: &[usize]) -> Vec<f64> {
    let mut values = values.to_vec();
    let mut shape = shape.to_vec();
    for dimension in 0..shape.len() {
        let after: usize = shape[dimension + 1..].iter().product();
        let width = shape[dimension] * after;
        let mut more = Vec::with_capacity(values.len() + values.len() / shape[dimension].max(1));
        for row in values.chunks_exact(width.max(1)) {
            more.extend_from_slice(row);
            more.extend((0..after).map(|place| {
                let own = row.iter().skip(place).step_by(after);
                own.sum::<f64>() / shape[dimension] as f64
            }));
        }
        shape[dimension] += 1;
        values = more;
    }
    values
}

/// A walk through a column, at once through the file with its averages.
struct Walk<'a> {
    file: &'a ColumnFile,
    /// The length of each dimension in the file.
    lengths: &'a [usize],
    sources: &'a [Vec<usize>],
    from: &'a [f64],
    /// Which dimensions are those of rows.
    is_row: &'a [bool],
    is_point: bool,
}

impl Walk<'_> {
    /// `average` is the place in the file of the average row.
    fn step(&self, depth: usize, place: usize, source: usize, average: usize, values: &mut [f64]) {
        let Some(dimension) = self.file.dimensions.get(depth) else {
            let own = self.from[source];
            values[place] = if self.is_point && own == 0.0 { self.from[average] } else { own };
            return;
        };
        let theirs = self.lengths[depth];
        for (position, own) in self.sources[depth].iter().enumerate().filter(|(_, own)| **own != STAYS) {
            let mean = if self.is_row[depth] { theirs } else { *own };
            let next = |before: usize, own: usize| before * (theirs + 1) + own;
            let place = place + position * dimension.stride;
            self.step(depth + 1, place, next(source, *own), next(average, mean), values);
        }
    }
}
