//! What entries of the data are expected to be, as long tables with labels: those that are missing, or all of them.
//!
//! A table has a column of labels for each axis, then `mean` and `sd` of the entry in the units in which the data were given ([`Expected`]);
//! of an entry that is a class, `class` and `prob`. With all entries, `value` is what the data have. Entries are worked out and
//! handed on some thousand at a time, never held as a dense array.
//!
//! What an entry is expected to be is as good as what is known of its row. A row without a single observed entry of an array
//! ([`Table::bare_rows`]) is predicted by what it shares with other arrays alone. The joint fit lets such rows bend factors that other
//! arrays do not support; a fit to the rows that have all arrays, and `cavi project` for the others, does not.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use cavi_algebra::{ArrayId, Support};
use cavi_executor::BoundArray;
use cavi_files::{Cell, CsvText, Written, write_atomically};

use crate::bind::{DataError, Existing};
use crate::dimensions::Dimension;
use crate::error::Error;
use crate::heldout::{Expected, expected, exposure, unflat};
use crate::prepare::Problem;
use crate::rank::pair;
use crate::reopen::Reopened;

/// Entries that are worked out together.
const BLOCK: usize = 1 << 16;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// All entries; else those that are missing.
    pub all: bool,
    /// These arrays alone; all data that are predicted where there is none.
    pub arrays: Vec<String>,
    /// Entries with these labels alone: an axis with one of its labels, several of one axis being alternatives.
    pub only: Vec<(String, String)>,
    /// Draws from q for what has no closed form; 0 gives no standard deviations.
    pub draws: usize,
    /// How many threads.
    pub threads: usize,
}

/// A table that is to be written.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The array.
    pub name: String,
    /// The most lines that it may have: the cells of the labels that are asked for, observed or not.
    pub most: usize,
    array: ArrayId,
}

/// A table of one array, as it was written.
#[derive(Clone, Debug)]
pub struct Table {
    /// The array.
    pub name: String,
    /// How many entries it has a line for.
    pub entries: usize,
    /// How many of these are missing in the data that the fit saw.
    pub missing: usize,
    /// How many rows (positions on the first axis) have no observed entry at all.
    pub bare_rows: usize,
    /// Whether it has listed entries alone, since the program has latents of its own at each of them.
    pub listed_only: bool,
}

/// The tables of all arrays that are asked for and may have such entries.
///
/// # Errors
/// A name, an axis or a label that the fit does not have; listed entries that have latents of their own.
pub fn wanted(fit: &Reopened, asked: &Asked) -> Result<Vec<Wanted>, Error> {
    let problem = fit.problem.as_given();
    let only = labels(problem, &asked.only)?;
    let mut tables = Vec::new();
    for array in arrays(problem, &asked.arrays)? {
        let cells = Cells { problem, array, only: &only };
        let has_missing = problem.binding.bound.array(array).has_missing();
        let name = problem.equations.symbols.array(array).name.clone();
        if !asked.all && cells.is_of_entries() && !has_missing {
            return Err(DataError::new(format!(
                "entries of `{name}` that are not listed cannot be predicted: the program has latents of its own at each listed entry"
            ))
            .help(format!(
                "list the wanted entries of `{name}` without a value (NaN) and fit again, and they have these latents; --all predicts those that are listed"
            ))
            .into());
        }
        if !asked.all && !has_missing {
            continue;
        }
        let sizes = cells.positions();
        let most = sizes.iter().map(Vec::len).fold(1, usize::saturating_mul);
        tables.push(Wanted { name, most, array });
    }
    Ok(tables)
}

/// Writes a table to a file, some thousand entries at a time.
///
/// # Errors
/// Data whose entries have no expected value; a file that cannot be written.
pub fn write(fit: &Reopened, asked: &Asked, wanted: &Wanted, file: &Path) -> Result<Table, Error> {
    let problem = fit.problem.as_given();
    let only = labels(problem, &asked.only)?;
    let cells = Cells { problem, array: wanted.array, only: &only };
    let mut table = None;
    write_atomically(file, |out| {
        table = Some(cells.table(fit, asked, out)?);
        Ok(())
    })?;
    Ok(table.expect("it was written"))
}

/// The data that are predicted: those of these names, else all.
///
/// # Errors
/// A name of no such data.
pub(crate) fn arrays(problem: &Problem, names: &[String]) -> Result<Vec<ArrayId>, DataError> {
    let symbols = &problem.model.symbols;
    let observed: Vec<ArrayId> =
        problem.model.statements.iter().filter(|own| own.observed).map(|own| own.target).collect();
    let known: Vec<&str> = observed.iter().map(|array| symbols.array(*array).name.as_str()).collect();
    if names.is_empty() {
        return Ok(observed);
    }
    let find = |name: &String| {
        let place = known.iter().position(|own| own == name);
        place.map(|place| observed[place]).ok_or_else(|| {
            DataError::unknown(
                format!("`--of {name}`: the program predicts no data of this name"),
                name,
                &known,
            )
        })
    };
    names.iter().map(find).collect()
}

/// For each axis that is named its labels.
pub(crate) type Only = Vec<(String, BTreeSet<String>)>;

/// Labels by their axis.
///
/// # Errors
/// An axis or a label that the fit does not have.
pub(crate) fn labels(problem: &Problem, wanted: &[(String, String)]) -> Result<Only, DataError> {
    let symbols = &problem.equations.symbols;
    let known: Vec<&str> = symbols.axes.iter().map(|axis| axis.name.as_str()).collect();
    let mut only: Only = Vec::new();
    for (axis, label) in wanted {
        let by_letter = || {
            let letter = symbols.letters.iter().find(|own| own.name == *axis)?;
            Some(letter.axis.index())
        };
        let Some(place) = known.iter().position(|own| own == axis).or_else(by_letter) else {
            let message = format!("`--for {axis}={label}`: the program has no axis of this name");
            return Err(DataError::unknown(message, axis, &known));
        };
        let dimension = Dimension::new(problem, cavi_algebra::AxisId::from(place));
        let own: Vec<String> = (0..problem.binding.bound.axes[place].size)
            .filter_map(|position| dimension.labels(position).pop())
            .collect();
        // A label may be typed as the file has it, `2.0` for `2`.
        let canonical = cavi_files::canonical_label(label).into_owned();
        let label = if own.contains(label) { label } else { &canonical };
        if !own.contains(label) {
            let own: Vec<&str> = own.iter().map(String::as_str).take(1000).collect();
            let message = format!("`--for {axis}={label}`: the fit has no such label on axis `{axis}`");
            return Err(DataError::unknown(message, label, &own));
        }
        match only.iter_mut().find(|(own, _)| own == axis) {
            Some((_, labels)) => _ = labels.insert(label.clone()),
            None => only.push((axis.clone(), BTreeSet::from([label.clone()]))),
        }
    }
    Ok(only)
}

/// The entries of an array.
pub(crate) struct Cells<'a> {
    pub problem: &'a Problem,
    pub array: ArrayId,
    pub only: &'a Only,
}

impl Cells<'_> {
    /// For each dimension the positions that are asked for.
    pub fn positions(&self) -> Vec<Vec<u32>> {
        let bound = &self.problem.binding.bound;
        let shape = bound.shape(&self.problem.equations.symbols, self.array);
        let dimensions = Dimension::of(self.problem, self.array);
        let wanted = |dimension: &Dimension<'_>, position: usize| {
            let columns = dimension.names().into_iter().zip(dimension.axes());
            // Of an axis that stands more than once its name means each.
            columns.zip(dimension.labels(position)).all(|((name, axis), label)| {
                let mut own = self.only.iter().filter(|(asked, _)| *asked == name || asked == axis);
                own.all(|(_, labels)| labels.contains(&label))
            })
        };
        let of = |(dimension, size): (&Dimension<'_>, &usize)| -> Vec<u32> {
            let all = 0..*size;
            match self.only.is_empty() {
                true => all.map(|position| position as u32).collect(),
                false => all
                    .filter(|position| wanted(dimension, *position))
                    .map(|position| position as u32)
                    .collect(),
            }
        };
        dimensions.iter().zip(&shape).map(of).collect()
    }

    fn table(
        &self,
        fit: &Reopened,
        asked: &Asked,
        out: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Table, Written<Error>> {
        let symbols = &self.problem.equations.symbols;
        let own = symbols.array(self.array);
        let bound = &self.problem.binding.bound;
        let (data, shape) = (bound.array(self.array), bound.shape(symbols, self.array));
        let dimensions = Dimension::of(self.problem, self.array);
        let names: Vec<String> = dimensions.iter().flat_map(Dimension::names).collect();
        let is_class = matches!(own.support, Support::Index(_));
        let mut header: Vec<&str> = names.iter().map(String::as_str).collect();
        header.extend(if is_class { ["class", "prob"] } else { ["mean", "sd"] });
        header.extend(asked.all.then_some("value"));
        let mut table = CsvText::new(&header);
        let positions = self.positions();
        let existing = Existing::of(symbols, &bound.axes, own);
        let thinned = asked.all.then(|| thinned(fit, self.array)).flatten();
        let table = &mut table;
        let mut writer =
            Writer { cells: self, fit, asked, dimensions: &dimensions, table, missing: 0, thinned };
        out(writer.table.take().as_bytes())?;
        let mut entries = 0;
        let mut block: Vec<Vec<u32>> = vec![Vec::new(); shape.len()];
        for place in walk(data, &positions, asked.all) {
            if !existing.is_there(&place) || !asked.all && data.entry(&shape, &place).1 {
                continue;
            }
            entries += 1;
            block.iter_mut().zip(&place).for_each(|(column, own)| column.push(*own as u32));
            if block.first().is_some_and(|column| column.len() == BLOCK) {
                writer.write(&block).map_err(Written::Own)?;
                out(writer.table.take().as_bytes())?;
                block.iter_mut().for_each(Vec::clear);
            }
        }
        if block.first().is_none_or(|column| !column.is_empty()) && entries > 0 {
            writer.write(&block).map_err(Written::Own)?;
            out(writer.table.take().as_bytes())?;
        }
        let missing = writer.missing;
        let (name, bare_rows) = (own.name.clone(), self.bare_rows());
        Ok(Table { name, entries, missing, bare_rows, listed_only: self.is_of_entries() })
    }

    /// Whether the entries are those of an axis of listed entries.
    pub fn is_of_entries(&self) -> bool {
        self.problem.binding.entries.iter().any(|own| own.data.iter().any(|own| own.array == self.array))
    }

    /// How many positions on the first axis have no observed entry, of those at which there are entries. Both nodes of a pair of `i < j` have it.
    fn bare_rows(&self) -> usize {
        let symbols = &self.problem.equations.symbols;
        let bound = &self.problem.binding.bound;
        let (array, shape) = (symbols.array(self.array), bound.shape(symbols, self.array));
        let [rows, others @ ..] = shape.as_slice() else { return 0 };
        if others.is_empty() {
            return 0;
        }
        let existing = Existing::of(symbols, &bound.axes, array);
        let ends = match pair(array) {
            Some((0, other) | (other, 0)) => vec![0, other],
            _ => vec![0],
        };
        let mut seen = vec![false; *rows];
        match bound.array(self.array) {
            BoundArray::Dense { observed: None, .. } | BoundArray::Sparse { unlisted_zero: true, .. } => {
                return 0;
            }
            BoundArray::Dense { observed: Some(observed), .. } => {
                for cell in (0..observed.len()).filter(|cell| observed[*cell]) {
                    let place = unflat(&shape, cell);
                    ends.iter()
                        .filter(|_| existing.is_there(&place))
                        .for_each(|end| seen[place[*end]] = true);
                }
            }
            BoundArray::Sparse { indices, observed, .. } => {
                for entry in 0..indices[0].len() {
                    if observed.as_ref().is_none_or(|own| own[entry]) {
                        ends.iter().for_each(|end| seen[indices[*end][entry] as usize] = true);
                    }
                }
            }
        }
        let has_entries = |row: usize| {
            let is_there = |end: &usize| {
                let mut sizes = shape.clone();
                sizes[*end] = 1;
                let place = |cell: usize| {
                    let mut place = unflat(&sizes, cell);
                    place[*end] = row;
                    place
                };
                (0..sizes.iter().product()).any(|cell| existing.is_there(&place(cell)))
            };
            ends.iter().any(is_there)
        };
        (0..*rows).filter(|row| !seen[*row] && has_entries(*row)).count()
    }
}

/// The places at these positions that may be asked for, in C order: all of them, or where what is not listed is 0 and only what is missing is wanted,
/// those that are listed as missing.
fn walk<'a>(
    data: &'a BoundArray,
    positions: &'a [Vec<u32>],
    all: bool,
) -> Box<dyn Iterator<Item = Vec<usize>> + 'a> {
    if let BoundArray::Sparse { indices, observed, unlisted_zero: true, .. } = data
        && !all
    {
        let missing = observed.iter().flat_map(|own| (0..own.len()).filter(|entry| !own[*entry]));
        let is_asked = |place: &Vec<usize>| {
            place.iter().zip(positions).all(|(own, all)| all.binary_search(&(*own as u32)).is_ok())
        };
        let place = |entry: usize| indices.iter().map(|column| column[entry] as usize).collect();
        let mut places: Vec<Vec<usize>> = missing.map(place).filter(is_asked).collect();
        places.sort_unstable();
        places.dedup();
        return Box::new(places.into_iter());
    }
    let sizes: Vec<usize> = positions.iter().map(Vec::len).collect();
    let place = move |cell: usize| {
        let own = unflat(&sizes, cell);
        own.iter().zip(positions).map(|(place, all)| all[*place] as usize).collect()
    };
    Box::new((0..positions.iter().map(Vec::len).product()).map(place))
}

/// Writes lines for blocks of entries.
struct Writer<'a> {
    cells: &'a Cells<'a>,
    fit: &'a Reopened,
    asked: &'a Asked,
    dimensions: &'a [Dimension<'a>],
    table: &'a mut CsvText,
    missing: usize,
    /// Units of counts that were held out of the fit, by their places; `None` where none were.
    thinned: Option<BTreeMap<Vec<u32>, f64>>,
}

/// The text of a table, held as a whole.
///
/// # Errors
/// Data whose entries have no expected value.
pub fn text(fit: &Reopened, asked: &Asked, wanted: &Wanted) -> Result<(Table, String), Error> {
    let problem = fit.problem.as_given();
    let only = labels(problem, &asked.only)?;
    let mut text = Vec::new();
    let cells = Cells { problem, array: wanted.array, only: &only };
    let table = cells.table(fit, asked, &mut |bytes| {
        text.extend_from_slice(bytes);
        Ok(())
    });
    match table {
        Ok(table) => Ok((table, String::from_utf8_lossy(&text).into_owned())),
        Err(Written::Own(error)) => Err(error),
        Err(Written::System(error)) => unreachable!("memory takes what is written: {error}"),
    }
}

impl Writer<'_> {
    fn write(&mut self, coordinates: &[Vec<u32>]) -> Result<(), Error> {
        let Cells { problem, array, .. } = *self.cells;
        let settings = (self.fit.seed, self.asked.threads);
        let Expected { mut mean, mut sd, class } = expected(
            &self.fit.problem,
            &self.fit.parameters,
            array,
            coordinates,
            self.asked.draws,
            settings,
        )?;
        let exposure = exposure::of_array(&self.fit.exposures_of_whole(), array);
        at_exposure(exposure, &mut mean, sd.as_deref_mut());
        let bound = &problem.binding.bound;
        let (data, shape) = (bound.array(array), bound.shape(&problem.equations.symbols, array));
        let mut values: Vec<(f64, bool)> = Vec::with_capacity(mean.len());
        for entry in 0..mean.len() {
            let place: Vec<usize> = coordinates.iter().map(|column| column[entry] as usize).collect();
            values.push(data.entry(&shape, &place));
        }
        let mut given: Vec<f64> = values.iter().map(|(value, _)| *value).collect();
        if let Some(own) = problem.binding.standardised.iter().find(|own| own.array == array) {
            own.undo(problem, coordinates, &mut given, None);
        }
        if let Some(hidden) = &self.thinned {
            let place = |entry: usize| coordinates.iter().map(|column| column[entry]).collect::<Vec<u32>>();
            let whole = given.iter_mut().enumerate();
            whole.for_each(|(entry, own)| *own += hidden.get(&place(entry)).copied().unwrap_or(0.0));
        }
        let classes = class.as_ref().and_then(|_| self.class_labels());
        for entry in 0..mean.len() {
            let each = self.dimensions.iter().zip(coordinates);
            let labels: Vec<String> =
                each.flat_map(|(dimension, column)| dimension.labels(column[entry] as usize)).collect();
            let label = |place: usize| classes.as_ref().map_or("", |labels| labels[place].as_str());
            let mut row: Vec<Cell<'_>> = labels.iter().map(|label| Cell::Text(label)).collect();
            if let Some(class) = &class {
                row.push(Cell::Text(label(class[entry] as usize)));
            }
            row.push(Cell::Number(std::mem::take(&mut mean[entry])));
            if class.is_none() {
                row.push(sd.as_ref().map_or(Cell::Empty, |sd| number(sd[entry])));
            }
            let seen = values[entry].1;
            self.missing += usize::from(!seen);
            if self.asked.all {
                row.push(match (seen, &class) {
                    (false, _) => Cell::Empty,
                    (true, Some(_)) => Cell::Text(label(given[entry] as usize)),
                    (true, None) => Cell::Number(given[entry]),
                });
            }
            self.table.row(&row);
        }
        Ok(())
    }

    /// The labels of the classes of the array.
    fn class_labels(&self) -> Option<Vec<String>> {
        let Cells { problem, array, .. } = *self.cells;
        let Support::Index(axis) = problem.equations.symbols.array(array).support else { return None };
        let dimension = Dimension::new(problem, axis);
        let size = problem.binding.bound.size(axis);
        Some((0..size).map(|position| dimension.labels(position).join("/")).collect())
    }
}

/// Units of counts at a rate that were held out of a fit, by their places.
fn thinned(fit: &Reopened, array: ArrayId) -> Option<BTreeMap<Vec<u32>, f64>> {
    let is_given_whole = exposure::of_array(&fit.exposures_of_whole(), array) == 1.0;
    let hidden = fit.held.parts.iter().find(|own| own.array == array).filter(|_| !is_given_whole)?;
    let place = |entry: usize| hidden.coordinates.iter().map(|column| column[entry]).collect();
    Some(hidden.values.iter().enumerate().map(|(entry, units)| (place(entry), *units)).collect())
}

/// Takes what counts are expected to be to another exposure e. A count of rate r has mean `E r` and variance `E r + Var r`, so that of
/// rate `e r` it has `e E r` and `e E r + e^2 Var r`.
fn at_exposure(exposure: f64, mean: &mut [f64], sd: Option<&mut [f64]>) {
    if exposure == 1.0 {
        return;
    }
    for (mean, sd) in mean.iter().zip(sd.into_iter().flatten()) {
        *sd = (exposure * mean + exposure.powi(2) * (sd.powi(2) - mean)).sqrt();
    }
    mean.iter_mut().for_each(|mean| *mean *= exposure);
}

/// A number; nothing where there is none.
fn number(value: f64) -> Cell<'static> {
    if value.is_nan() { Cell::Empty } else { Cell::Number(value) }
}
