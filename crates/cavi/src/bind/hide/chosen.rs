//! Whole rows of an array, and the last entry of each row.
//!
//! **Whole rows.** A row is a position of the first axis of the array, with all of its entries: of one group of a ragged array with all
//! in the group, so that `x[protein]` is hidden for some samples whose other views stay. A share of the rows that have an
//! observed entry is drawn without replacement, rounded; where unlisted entries are observed zeros, of all rows, zeros included.
//!
//! **The last entry.** By an axis of the array, the entries of each row that stand last on it; by a further column of the long table of
//! the data, the one entry whose value there is greatest (of equal ones the last in the file). A row is then a position of the first
//! axis that is not this one; of a ragged axis it is a group. Of unlisted zeros none is an entry here. A row stays
//! as it is where nothing else of it would.

use std::collections::{BTreeMap, BTreeSet};

use cavi_files::{Content, MISSING, Values, Wanted};
use rand_chacha::ChaCha8Rng;

use super::order::ordered;
use super::{Entry, Hidden, Split, sample};
use crate::bind::data_error::DataError;
use crate::bind::inputs::{Inputs, Source};
use crate::bind::listing::positions;
use crate::bind::pieces::{Piece, group_of, read_one};
use crate::bind::place::Target;
use crate::bind::spellings;

/// The most entries that whole rows may have with their zeros, which are listed one by one.
const MOST_ZEROS: usize = 10_000_000;

/// What is hidden of an array, or of one group of it.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    /// A share of its rows, between 0 and 1.
    Rows(f64),
    /// The last entry of each row, along this axis or by this column.
    Last(String),
}

/// What is hidden, and what there is to say of it.
struct Part {
    held: Vec<Entry>,
    note: String,
}

impl Split<'_> {
    /// The chosen entries, of the whole array or of some of its groups.
    ///
    /// # Errors
    /// A group, an axis or a column that there is not; values of the column without an order; rows of too many zeros.
    pub(super) fn chosen(
        &self,
        inputs: &Inputs,
        parts: &[(Option<String>, Chosen)],
        rng: &mut ChaCha8Rng,
    ) -> Result<Hidden, DataError> {
        let observed = self.observed();
        let (mut held, mut notes) = (Vec::new(), Vec::new());
        for (group, chosen) in parts {
            let scope = Scope::new(self.target, group.as_deref())?;
            let own: Vec<&Entry> = observed.iter().filter(|(place, _)| scope.has(place)).collect();
            let part = match chosen {
                Chosen::Rows(share) => self.rows(&own, *share, &scope, rng)?,
                Chosen::Last(by) => self.last(&own, by, &scope, inputs)?,
            };
            held.extend(part.held);
            notes.push(part.note);
        }
        held.sort_by(|left, right| left.0.cmp(&right.0));
        if !self.hide.whole.is_empty() {
            held = self.slices_of(observed, &held);
        }
        let odds = self.hide.thin.then(|| {
            let sum = |entries: &[Entry]| entries.iter().map(|(_, count)| count).sum::<f64>();
            let (own, all) = (sum(&held), sum(&self.observed()));
            if all > own { own / (all - own) } else { 1.0 }
        });
        let mut hidden = self.hidden(held, odds);
        hidden.with_zeros = self.hide.thin;
        hidden.notes = notes;
        Ok(hidden)
    }

    /// A share of the rows.
    fn rows(
        &self,
        observed: &[&Entry],
        share: f64,
        scope: &Scope<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Part, DataError> {
        let name = &scope.name;
        let Some(row) = self.dimensions().first().copied() else {
            return Err(DataError::new(format!("`{name}` has no rows: all of it is one observation")));
        };
        let with_zeros = self.lists && self.hide.whole.is_empty() && !self.hide.thin;
        let rows: BTreeSet<u32> = match with_zeros {
            true => scope.positions(row).collect(),
            false => observed.iter().map(|(place, _)| place[row]).collect(),
        };
        let (all, wanted) = (rows.len(), (share * rows.len() as f64).round() as usize);
        let axis = self.axis(row);
        if wanted == 0 {
            return Err(DataError::new(format!(
                "no row of `{name}` is held out: of {} that fraction is less than half of one",
                counted(all, "row")
            ))
            .possible(format!("a greater fraction of the rows, which are positions of axis `{axis}`")));
        }
        let rows: BTreeSet<u32> = sample(rows.into_iter().collect(), wanted, rng).into_iter().collect();
        let held = match with_zeros {
            true => self.with_zeros(row, &rows, scope)?,
            false => {
                observed.iter().filter(|own| rows.contains(&own.0[row])).map(|own| (*own).clone()).collect()
            }
        };
        let note = format!(
            "held out: {wanted} of {} (`{axis}`) of `{name}`, {}",
            counted(all, "row"),
            entries(held.len())
        );
        Ok(Part { held, note })
    }

    /// All observed entries of rows, zeros that are not listed included.
    fn with_zeros(
        &self,
        row: usize,
        rows: &BTreeSet<u32>,
        scope: &Scope<'_>,
    ) -> Result<Vec<Entry>, DataError> {
        let mut ranges: Vec<Vec<u32>> =
            (0..self.target.shape.len()).map(|dimension| scope.positions(dimension).collect()).collect();
        ranges[row] = rows.iter().copied().collect();
        let cells = ranges.iter().try_fold(1_usize, |cells, own| cells.checked_mul(own.len()));
        let Some(cells) = cells.filter(|cells| *cells <= MOST_ZEROS) else {
            let name = &self.target.array.name;
            return Err(DataError::new(format!(
                "{} of `{name}` have more than {MOST_ZEROS} entries, zeros included",
                counted(rows.len(), "row")
            ))
            .possible("a smaller fraction of the rows, or a fraction of the entries")
            .help(format!("`--heldout {name}=0.1`")));
        };
        let mut held = Vec::new();
        for cell in 0..cells {
            let mut rest = cell;
            let mut at = vec![0; ranges.len()];
            for (own, range) in at.iter_mut().zip(&ranges).rev() {
                *own = range[rest % range.len()] as usize;
                rest /= range.len();
            }
            let (value, seen) = self.bound.entry(&self.target.shape, &at);
            if seen && self.target.exists(|dimension| at[dimension]) {
                held.push((at.into_iter().map(|position| position as u32).collect(), value));
            }
        }
        Ok(held)
    }

    /// The last entry of each row.
    fn last(
        &self,
        observed: &[&Entry],
        by: &str,
        scope: &Scope<'_>,
        inputs: &Inputs,
    ) -> Result<Part, DataError> {
        let letters = &self.target.array.letters;
        let own: Vec<usize> = (0..letters.len()).filter(|dimension| self.axis(*dimension) == by).collect();
        let name = &scope.name;
        match own[..] {
            [axis] if self.hide.whole.contains(&axis) => Err(DataError::new(format!(
                "`{name}` has no last entry along `{by}`: what stands along it is one observation"
            ))
            .possible("another axis, or a further column of the table")),
            [axis] => self.last_along(observed, axis, scope),
            [] => self.last_by(observed, by, scope, inputs),
            _ => Err(DataError::new(format!("`{name}` has the axis `{by}` more than once"))
                .possible("another axis, or a further column of the table")),
        }
    }

    /// The last entries along an axis.
    fn last_along(&self, observed: &[&Entry], axis: usize, scope: &Scope<'_>) -> Result<Part, DataError> {
        let id = self.target.symbols.letter(self.target.array.letters[axis]).axis;
        let axes = self.target.axes;
        // Labels that are neither numbers nor dates are in the order of the axis.
        let labels = axes.labels[id.index()].as_deref();
        let times = labels.and_then(|labels| ordered(labels).ok());
        let time = |place: &[u32]| {
            let position = place[axis] as usize;
            times.as_ref().map_or(position as f64, |times| times[position])
        };
        let rows = Rows::new(self, Some(axis));
        let mut span: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for (place, _) in observed {
            let (first, last) = span.entry(rows.of(place)).or_insert((f64::INFINITY, f64::NEG_INFINITY));
            (*first, *last) = (first.min(time(place)), last.max(time(place)));
        }
        let is_last = |place: &[u32]| {
            span.get(&rows.of(place)).is_some_and(|(first, last)| first < last && time(place) == *last)
        };
        let held: Vec<Entry> =
            observed.iter().filter(|own| is_last(&own.0)).map(|own| (*own).clone()).collect();
        let whole = span.values().filter(|(first, last)| first == last).count();
        let mut part = rows.part(held, (self.axis(axis), &scope.name), span.len(), whole)?;
        if let (Some([first, .., last]), None) = (labels, &times) {
            part.note += &format!(
                "; labels of `{}` such as `{first}` are neither numbers nor dates (2024-05-31), so that the last is that which the data name last, \
                 up to `{last}`",
                self.axis(axis)
            );
        }
        Ok(part)
    }

    /// The entries with the greatest value in a column.
    fn last_by(
        &self,
        observed: &[&Entry],
        column: &str,
        scope: &Scope<'_>,
        inputs: &Inputs,
    ) -> Result<Part, DataError> {
        let times = self.times(column, scope, inputs)?;
        let rows = Rows::new(self, None);
        // For each row the number of its timed entries, and the last of them.
        let mut last: BTreeMap<u32, (usize, (f64, usize), &Entry)> = BTreeMap::new();
        for own in observed {
            let Some(time) = times.get(&own.0) else { continue };
            let (count, latest, entry) = last.entry(rows.of(&own.0)).or_insert((0, *time, own));
            *count += 1;
            if *time >= *latest {
                (*latest, *entry) = (*time, own);
            }
        }
        let all = last.len();
        let held: Vec<Entry> =
            last.into_values().filter(|(count, ..)| *count > 1).map(|(_, _, own)| own.clone()).collect();
        let whole = all - held.len();
        rows.part(held, (column, &scope.name), all, whole)
    }

    /// For each entry of the long tables of the data the value of a further column, and its place among the lines.
    fn times(
        &self,
        column: &str,
        scope: &Scope<'_>,
        inputs: &Inputs,
    ) -> Result<BTreeMap<Vec<u32>, (f64, usize)>, DataError> {
        let array = self.target.array;
        let mut times: BTreeMap<Vec<u32>, (f64, usize)> = BTreeMap::new();
        // Dates of several files are in one order.
        let (mut texts, mut entries): (Vec<String>, Vec<(Vec<u32>, usize)>) = (Vec::new(), Vec::new());
        for input in inputs.data.iter().filter(|own| own.name == array.name) {
            if scope.group.is_some() && input.group.is_some() && input.group.as_deref() != scope.group {
                continue;
            }
            let piece = self.with_column(column, &input.source, input.group.as_deref(), inputs)?;
            let Content::Long(long) = &piece.content else {
                return Err(self.no_column(column, &piece.name()));
            };
            let Some((_, Values::Text(values))) = &long.values else {
                return Err(self.no_column(column, &piece.name()));
            };
            if let Err(other) = ordered(&values.names) {
                let line = values.codes.iter().position(|code| *code as usize == other).unwrap_or(0);
                let found = format!("`{}`", values.names[other]);
                let expected = "numbers, or dates such as 2024-05-31";
                return Err(piece.content.error_at(&piece.file, line, found, expected).into());
            }
            let start = texts.len();
            texts.extend(values.names.iter().cloned());
            let columns = positions(self.target, &piece)?;
            for (line, code) in values.codes.iter().enumerate().filter(|(_, code)| **code != MISSING) {
                entries.push((columns.iter().map(|own| own[line]).collect(), start + *code as usize));
            }
        }
        let order = ordered(&texts).map_err(|_| {
            DataError::new(format!("the column `{column}` has numbers in one file and dates in another"))
        })?;
        for (line, (place, text)) in entries.into_iter().enumerate() {
            let time = (order[text], line);
            times.entry(place).and_modify(|own| *own = if time > *own { time } else { *own }).or_insert(time);
        }
        Ok(times)
    }

    /// A file of the data with another column as its values.
    fn with_column(
        &self,
        column: &str,
        source: &Source,
        group: Option<&str>,
        inputs: &Inputs,
    ) -> Result<Piece, DataError> {
        let Source::File { path, .. } = source else {
            return Err(self.no_column(column, &source.name().display().to_string()));
        };
        let source = Source::File { path: path.clone(), column: Some(column.to_owned()) };
        let read = read_one(self.target.symbols, inputs, self.target.id, group, &source, Some(Wanted::Text));
        let spelled = read.map(|mut piece| {
            spellings::of_entries(self.target.symbols, self.target.axes, std::slice::from_mut(&mut piece));
            piece
        });
        spelled.map_err(|error| DataError {
            message: format!("{} (`{column}` is no axis of `{}`)", error.message, self.target.array.name),
            ..error
        })
    }

    fn no_column(&self, column: &str, file: &str) -> DataError {
        let name = &self.target.array.name;
        let axes: Vec<&str> = (0..self.target.shape.len()).map(|dimension| self.axis(dimension)).collect();
        DataError::new(format!(
            "`{column}` is no axis of `{name}`, and {file} is no long table with such a column"
        ))
        .possible(format!("an axis of `{name}` ({}), or a column of a long table", crate::bind::list(&axes)))
    }

    /// The name of the axis of a dimension.
    fn axis(&self, dimension: usize) -> &str {
        let symbols = self.target.symbols;
        &symbols.axis(symbols.letter(self.target.array.letters[dimension]).axis).name
    }
}

/// What a row is, where each has a last entry.
struct Rows<'a> {
    /// The dimension whose positions are rows, or groups of which are; `None` where all is one row.
    dimension: Option<usize>,
    /// The group of each position.
    parents: Option<&'a [usize]>,
    /// The axis that rows are positions of.
    axis: Option<&'a str>,
}

impl<'a> Rows<'a> {
    /// The rows of an array; where the last entry is one along a dimension, those beside it.
    fn new(split: &'a Split<'_>, along: Option<usize>) -> Rows<'a> {
        let symbols = split.target.symbols;
        let dimensions = split.dimensions();
        let id = |dimension: usize| symbols.letter(split.target.array.letters[dimension]).axis;
        let parents = |dimension: usize| split.target.axes.bound[id(dimension).index()].parent.as_deref();
        let ragged = along.or(dimensions.first().copied());
        if let Some((dimension, parents)) = ragged.and_then(|own| Some((own, parents(own)?))) {
            let axis = symbols.axis(id(dimension)).parent.map(|parent| symbols.axis(parent).name.as_str());
            return Rows { dimension: Some(dimension), parents: Some(parents), axis };
        }
        let dimension = match along {
            Some(along) => dimensions.into_iter().find(|own| *own != along),
            // Each entry of a single axis would be a row.
            None => dimensions.first().copied().filter(|_| dimensions.len() > 1),
        };
        Rows { dimension, parents: None, axis: dimension.map(|own| symbols.axis(id(own)).name.as_str()) }
    }

    /// The row of an entry.
    fn of(&self, place: &[u32]) -> u32 {
        let position = self.dimension.map_or(0, |dimension| place[dimension]);
        self.parents.map_or(position, |parents| parents[position as usize] as u32)
    }

    /// The entries that are held, with what there is to say: of so many rows so many stay whole.
    ///
    /// # Errors
    /// No entry is held.
    fn part(
        &self,
        held: Vec<Entry>,
        (by, name): (&str, &str),
        rows: usize,
        whole: usize,
    ) -> Result<Part, DataError> {
        let axis = self.axis.map_or_else(String::new, |axis| format!(" (`{axis}`)"));
        if held.is_empty() {
            return Err(DataError::new(format!(
                "no row{axis} of `{name}` has a last entry by `{by}` beside others"
            ))
            .possible("rows with several entries: the last one of each is held out"));
        }
        let of = match self.axis {
            None => format!("`{name}`"),
            Some(_) => format!("{}{axis} of `{name}`", counted(rows - whole, "row")),
        };
        let mut note = format!("held out: the last by `{by}` of {of}, {}", entries(held.len()));
        match whole {
            0 => {}
            1 => note += "; 1 row without another entry stays as it is",
            _ => note += &format!("; {whole} rows without another entry stay as they are"),
        }
        Ok(Part { held, note })
    }
}

/// The entries of an array, or of one group of it.
struct Scope<'a> {
    target: &'a Target<'a>,
    /// The label of the group, and its position.
    group: Option<&'a str>,
    position: usize,
    /// The array as it was written.
    name: String,
}

impl<'a> Scope<'a> {
    fn new(target: &'a Target<'a>, group: Option<&'a str>) -> Result<Scope<'a>, DataError> {
        let own = &target.array.name;
        let Some(label) = group else {
            return Ok(Scope { target, group: None, position: 0, name: own.clone() });
        };
        let (axis, path) = group_of(target.symbols, target.id, label)?;
        let Some(position) = target.axes.find_path(target.symbols, axis, &path) else {
            let size = target.axes.bound[axis.index()].size;
            let all: Vec<String> =
                (0..size).map(|own| target.axes.path(target.symbols, axis, own).join("/")).collect();
            let known: Vec<&str> = all.iter().map(String::as_str).collect();
            let message =
                format!("`{own}[{label}]`: axis `{}` has no such label", target.symbols.axis(axis).name);
            return Err(DataError::unknown(message, label, &known));
        };
        Ok(Scope { target, group, position, name: format!("{own}[{label}]") })
    }

    /// Whether it has a position of a dimension.
    fn is_in(&self, dimension: usize, position: usize) -> bool {
        let axis = self.target.symbols.letter(self.target.array.letters[dimension]).axis;
        let parents = self.target.axes.bound[axis.index()].parent.as_ref().filter(|_| self.group.is_some());
        parents.is_none_or(|parents| parents[position] == self.position)
    }

    fn has(&self, place: &[u32]) -> bool {
        place.iter().enumerate().all(|(dimension, position)| self.is_in(dimension, *position as usize))
    }

    /// Its positions of a dimension.
    fn positions(&self, dimension: usize) -> impl Iterator<Item = u32> {
        let all = 0..self.target.shape[dimension];
        all.filter(move |position| self.is_in(dimension, *position)).map(|position| position as u32)
    }
}

/// `1 row`, `12 rows`
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `1 entry`, `12 entries`
fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}
