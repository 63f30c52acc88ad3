//! Hides a part of the data from a fit.
//!
//! Counts are thinned: each unit goes to the held-out part with the given probability f, so that a count x keeps
//! `x - Binomial(x, f)`. The two parts of a Poisson count of rate r are independent, of rates `(1 - f) r` and `f r`; those of
//! a Multinomial row have the same probabilities. Nothing is missing then. Of anything else whole entries are hidden as
//! missing: a share of those observed, rounded, drawn without replacement; where unlisted entries are observed zeros, that share of the
//! listed ones (those that are not 0) and as many zeros.
//!
//! Data are hidden before they are standardised, and before anything is derived from them.

mod chosen;
mod draw;
mod named;
pub(super) mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cavi_algebra::{ArrayId, AxisId, LetterId, Support};
use cavi_executor::BoundArray;
use cavi_files::Wanted;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::data_error::DataError;
use super::inputs::{Inputs, Source};
use super::pieces::{Piece, read_one};
use super::place::Target;
use super::same_rows::other_rows;
use super::spellings;
use crate::compile::FNV_START;
use crate::streams;
pub(crate) use chosen::Chosen;
pub(crate) use draw::Draw;
pub use draw::Fold;
use named::Named;

/// What to hide of an array.
#[derive(Clone, Debug)]
pub(crate) struct Hide {
    /// The array.
    pub array: ArrayId,
    /// Which of its dimensions are a slice under one distribution, hidden as a whole; empty where entries are hidden one by one.
    pub whole: Vec<usize>,
    /// Whether units are drawn; else entries.
    pub thin: bool,
    /// What is hidden.
    pub what: What,
    /// The family of the statement, for messages.
    pub family: &'static str,
    /// A letter of the array, itself or its ancestor on this axis the row: the share is taken in each row.
    pub rows: Option<(LetterId, AxisId)>,
}

/// Which part of an array is hidden.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A part that is drawn at random.
    Drawn(Draw),
    /// Whole rows, or the last entry of each; each of one group if it has a label.
    Chosen(Vec<(Option<String>, Chosen)>),
    /// The entries of files, each with the label of its group if it has one.
    Entries(Vec<(Option<String>, Source)>),
    /// All but the entries (of what is thinned: all but the counts) of files.
    AllBut(Vec<(Option<String>, Source)>),
    /// Nothing: every observed entry is to be predicted from what else is known.
    Nothing,
}

/// What was hidden of an array.
#[derive(Clone, Debug)]
pub struct Hidden {
    /// The array.
    pub array: ArrayId,
    /// The coordinates, a column a dimension of the array; of slices that are hidden as a whole those of the other dimensions.
    pub coordinates: Vec<Vec<u32>>,
    /// The values; of a slice its elements in C order, one slice after another.
    pub values: Vec<f64>,
    /// Of thinned counts the expected number of held-out units for each one that was given, `f / (1 - f)`.
    pub odds: Option<f64>,
    /// Whether entries that are observed zeros and stand nowhere here are meant too.
    pub with_zeros: bool,
    /// Of thinned rows the number of held-out units of each; `None` where a row counts by its multiplicity.
    pub weights: Option<Vec<f64>>,
    /// What files name of it; `None` where no file says what is held out.
    pub named: Option<ByFile>,
    /// What there is to say of how it was chosen.
    pub notes: Vec<String>,
}

/// What files that name entries to hold out say beyond the data.
#[derive(Clone, Debug, PartialEq)]
pub struct ByFile {
    /// The files, for messages.
    pub files: String,
    /// How many entries have the value of the file, since the data have none.
    pub valued: usize,
    /// How many are 0 because neither the data nor the file have a value of them.
    pub zeros: usize,
    /// How many entries were left out because neither the data nor the file have a value of them.
    pub without: usize,
    /// Which numbers of the file, which are then no values, differ from what the data list; `None` where none does.
    pub different: Option<Different>,
    /// How many entries were left out: for a label that the data do not have, or because there is no such entry.
    pub left_out: usize,
}

/// Numbers of a file that differ from what the data list.
#[derive(Clone, Debug, PartialEq)]
pub struct Different {
    /// How many.
    pub count: usize,
    /// The first of them in words, with both values.
    pub first: String,
}

/// Which entries or units of an array are held out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldOutPlaces {
    /// How many entries.
    pub count: usize,
    /// A hash of their positions, and of how many units of each.
    pub hash: u64,
}

impl Hidden {
    /// Where it is.
    pub(crate) fn places(&self) -> HeldOutPlaces {
        let columns = self.coordinates.iter().flatten().map(|own| u64::from(*own));
        let of_units = self.odds.map(|_| &self.values).into_iter().chain(&self.weights);
        let units = of_units.flatten().map(|own| own.to_bits());
        let count = self.coordinates.first().map_or(self.values.len(), Vec::len);
        HeldOutPlaces { count, hash: crate::data_files::of_words(columns.chain(units), FNV_START) }
    }
}

/// Takes the held-out part out of an array. `number` is that of the request among all, so that the split does not depend on where the program declares the array; `lists` says whether what is not listed
/// was observed to be 0.
pub(super) fn hide(
    target: &Target<'_>,
    inputs: &Inputs,
    (number, hide, lists): (usize, &Hide, bool),
    seed: u64,
    bound: &mut BoundArray,
) -> Result<Hidden, DataError> {
    let mut rng = streams::SPLITS.at(number).of(seed);
    let split = Split { target, hide, bound: &*bound, lists };
    let hidden = match (&hide.what, hide.thin) {
        (What::Nothing, _) => return Ok(split.everything()),
        (What::Drawn(draw), true) => split.thin(*draw, &mut rng),
        (What::AllBut(files), true) => {
            let given = split.given_counts(inputs, files)?;
            split.all_but_counts(&given)?
        }
        (What::Drawn(Draw::Share(share)), false) => split.share(*share, &mut rng),
        (What::Drawn(Draw::Fold(fold)), false) => split.fold(*fold, &mut rng)?,
        (What::Chosen(parts), _) => split.chosen(inputs, parts, &mut rng)?,
        (What::Entries(files), thin) => {
            let mut named = Named::read(target, inputs, files)?;
            if named.entries.is_empty() && named.left_out > 0 {
                return Err(named.nothing_left(target));
            }
            if thin { split.units_beside(&named)? } else { split.named(&mut named) }
        }
        (What::AllBut(files), false) => {
            let entries = listed(target, inputs, files)?;
            split.all_but(&|place| entries.contains(place))
        }
    };
    // Units that a file gives beside the data are none of theirs.
    if hidden.odds.is_none() || hidden.named.is_none() {
        Taken { target, whole: &hide.whole }.take(bound, &hidden);
    }
    Ok(hidden)
}

/// Beside so many times as many zeros as entries are listed, as many of both are no sample of the table.
const FEW_ZEROS: usize = 4;

/// An entry of an array and its value.
type Entry = (Vec<u32>, f64);

struct Split<'a> {
    target: &'a Target<'a>,
    hide: &'a Hide,
    bound: &'a BoundArray,
    /// Whether what is not listed was observed to be 0.
    lists: bool,
}

impl Split<'_> {
    /// The observed entries that the array holds, in C order; zeros of an array that lists what is not 0 are left out.
    fn observed(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let zeros = !self.lists;
        match self.bound {
            BoundArray::Dense { values, observed } => {
                for (cell, value) in values.iter().enumerate() {
                    let seen = observed.as_ref().is_none_or(|observed| observed[cell]);
                    if !seen || *value == 0.0 && !zeros {
                        continue;
                    }
                    let place = self.target.coordinates(cell);
                    if self.target.exists(|dimension| place[dimension]) {
                        entries.push((place.into_iter().map(|position| position as u32).collect(), *value));
                    }
                }
            }
            BoundArray::Sparse { indices, values, observed, .. } => {
                for (entry, value) in values.iter().enumerate() {
                    if observed.as_ref().is_none_or(|observed| observed[entry]) && (zeros || *value != 0.0) {
                        entries.push((indices.iter().map(|column| column[entry]).collect(), *value));
                    }
                }
            }
        }
        entries
    }

    /// The row of an entry.
    fn row(&self, place: &[u32]) -> usize {
        let Some((letter, axis)) = self.hide.rows else { return 0 };
        let symbols = self.target.symbols;
        let Some(dimension) = self.target.array.letters.iter().position(|own| *own == letter) else {
            return 0;
        };
        let mut position = place[dimension] as usize;
        let mut own = symbols.letter(letter).axis;
        while own != axis
            && let (Some(parent), Some(parents)) =
                (symbols.axis(own).parent, &self.target.axes.bound[own.index()].parent)
        {
            position = parents[position];
            own = parent;
        }
        position
    }

    /// The dimension along which rows are, and the positions of a row there: one, or where the dimension is ragged in the axis of rows those of
    /// its group. `None` where all entries are one row.
    fn positions_of(&self, row: usize) -> Option<(usize, Range<usize>)> {
        let (letter, axis) = self.hide.rows?;
        let symbols = self.target.symbols;
        let dimension = self.target.array.letters.iter().position(|own| *own == letter)?;
        let above = std::iter::successors(Some(symbols.letter(letter).axis), |own| symbols.axis(*own).parent);
        let mut steps: Vec<AxisId> = above.take_while(|own| *own != axis).collect();
        steps.reverse();
        let mut positions = row..row + 1;
        for step in steps {
            let starts = self.target.axes.bound[step.index()].starts.as_ref()?;
            positions = starts[positions.start]..starts[positions.end];
        }
        Some((dimension, positions))
    }

    /// The dimensions that tell what is hidden apart.
    fn dimensions(&self) -> Vec<usize> {
        (0..self.target.shape.len()).filter(|dimension| !self.hide.whole.contains(dimension)).collect()
    }

    fn hidden(&self, entries: impl IntoIterator<Item = Entry>, odds: Option<f64>) -> Hidden {
        let count = self.target.shape.len();
        let mut hidden = Hidden {
            array: self.target.id,
            coordinates: vec![Vec::new(); count],
            values: Vec::new(),
            odds,
            with_zeros: false,
            weights: None,
            named: None,
            notes: Vec::new(),
        };
        for (place, value) in entries {
            hidden.coordinates.iter_mut().zip(place).for_each(|(column, position)| column.push(position));
            hidden.values.push(value);
        }
        if !self.hide.whole.is_empty() {
            // Elements stand beside each other already: entries are in C order, and slices come last by their keys.
            self.gather_slices(&mut hidden);
        }
        hidden
    }

    /// From single elements to slices.
    fn gather_slices(&self, hidden: &mut Hidden) {
        let (dimensions, whole) = (self.dimensions(), &self.hide.whole);
        let width: usize = whole.iter().map(|dimension| self.target.shape[*dimension]).product();
        let mut keys: BTreeMap<Vec<u32>, Vec<f64>> = BTreeMap::new();
        for (entry, value) in hidden.values.iter().enumerate() {
            let key = dimensions.iter().map(|dimension| hidden.coordinates[*dimension][entry]).collect();
            let place = whole.iter().fold(0, |place, dimension| {
                place * self.target.shape[*dimension] + hidden.coordinates[*dimension][entry] as usize
            });
            keys.entry(key).or_insert_with(|| vec![0.0; width])[place] = *value;
        }
        hidden.coordinates = vec![Vec::with_capacity(keys.len()); dimensions.len()];
        hidden.values = Vec::with_capacity(keys.len() * width);
        for (key, values) in keys {
            hidden.coordinates.iter_mut().zip(key).for_each(|(column, position)| column.push(position));
            hidden.values.extend(values);
        }
    }

    /// Every observed entry.
    fn everything(&self) -> Hidden {
        let mut hidden = self.hidden(self.observed(), None);
        hidden.with_zeros = self.lists;
        hidden
    }

    /// Binomial thinning.
    fn thin(&self, draw: Draw, rng: &mut ChaCha8Rng) -> Hidden {
        let drawn = |(place, count): Entry| (place, draw.units(count as u64, rng) as f64);
        let held: Vec<Entry> =
            self.observed().into_iter().map(drawn).filter(|(_, held)| *held > 0.0).collect();
        let mut hidden = self.hidden(held, Some(draw.odds()));
        hidden.with_zeros = true;
        hidden
    }

    /// The counts that files give.
    fn given_counts(
        &self,
        inputs: &Inputs,
        files: &[(Option<String>, Source)],
    ) -> Result<BoundArray, DataError> {
        let mut pieces = pieces(self.target, inputs, files, None)?;
        super::place::one(self.target, &mut pieces)
    }

    /// The counts of the data without those given.
    fn all_but_counts(&self, given: &BoundArray) -> Result<Hidden, DataError> {
        let (mut held, mut kept) = (Vec::new(), 0.0);
        let mut total = 0.0;
        for (place, count) in self.observed() {
            let at: Vec<usize> = place.iter().map(|position| *position as usize).collect();
            let (own, _) = given.entry(&self.target.shape, &at);
            if own > count {
                return Err(self.exceeds(&at, own, count));
            }
            kept += own;
            total += count;
            if count > own {
                held.push((place, count - own));
            }
        }
        let all = Split { bound: given, ..*self }.observed();
        for (place, own) in &all {
            let at: Vec<usize> = place.iter().map(|position| *position as usize).collect();
            let (count, _) = self.bound.entry(&self.target.shape, &at);
            if *own > count {
                return Err(self.exceeds(&at, *own, count));
            }
        }
        let odds = if kept > 0.0 { (total - kept) / kept } else { 1.0 };
        let mut hidden = self.hidden(held, Some(odds));
        hidden.with_zeros = true;
        Ok(hidden)
    }

    fn exceeds(&self, at: &[usize], own: f64, count: f64) -> DataError {
        DataError::new(format!(
            "{} is given as {own}, and the data have {count} there",
            self.target.describe(at)
        ))
        .possible("at most what the data have: `--data` holds both parts, and `--given` the first of them")
    }

    /// For each entry the number of what is drawn with it: its own, or that of the first entry of its slice. And these numbers by rows.
    fn numbered(&self, observed: &[Entry]) -> (Vec<usize>, BTreeMap<usize, Vec<usize>>) {
        let mut numbers: Vec<usize> = Vec::with_capacity(observed.len());
        let mut rows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let dimensions = self.dimensions();
        let mut slices: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
        for (entry, (place, _)) in observed.iter().enumerate() {
            let mut number = entry;
            if !self.hide.whole.is_empty() {
                let key = dimensions.iter().map(|dimension| place[*dimension]).collect();
                number = *slices.entry(key).or_insert(entry);
            }
            if number == entry {
                rows.entry(self.row(place)).or_default().push(number);
            }
            numbers.push(number);
        }
        (numbers, rows)
    }

    /// A share of the observed entries; of each row where there are rows.
    fn share(&self, share: f64, rng: &mut ChaCha8Rng) -> Hidden {
        let observed = self.observed();
        let (numbers, rows) = self.numbered(&observed);
        let mut chosen = vec![false; observed.len()];
        let mut zeros: Vec<Entry> = Vec::new();
        let listed = observed.len();
        for (row, units) in rows {
            let exact = share * units.len() as f64;
            // In a row of few entries the fraction is rounded at random. In all data together it is rounded to the
            // nearest number.
            let count = match self.hide.rows {
                Some(_) => exact.floor() as usize + usize::from(rng.random::<f64>() < exact.fract()),
                None => exact.round() as usize,
            };
            sample(units, count, rng).into_iter().for_each(|number| chosen[number] = true);
            if self.lists && self.hide.whole.is_empty() {
                zeros.extend(self.zeros(count, row, rng).into_iter().map(|place| (place, 0.0)));
            }
        }
        let held =
            observed.into_iter().zip(numbers).filter(|(_, number)| chosen[*number]).map(|(entry, _)| entry);
        let note = self.few_zeros(zeros.len(), listed);
        let mut held: Vec<Entry> = held.chain(zeros).collect();
        held.sort_by(|left, right| left.0.cmp(&right.0));
        let mut hidden = self.hidden(held, None);
        hidden.notes.extend(note);
        hidden
    }

    /// That so many zeros stand for many more than entries are listed: a score of both then says little of how well most zeros are predicted.
    fn few_zeros(&self, zeros: usize, listed: usize) -> Option<String> {
        let all = self.target.cells()?.saturating_sub(listed);
        let name = &self.target.array.name;
        let is_whole = self.observed().iter().all(|(_, value)| value.fract() == 0.0);
        let count = match is_whole && self.target.array.support == Support::Nonnegative {
            true => {
                format!("; declared as `count`, the units of `{name}` are split, and all zeros are scored")
            }
            false => String::new(),
        };
        (zeros > 0 && all > FEW_ZEROS * listed).then(|| {
            format!(
                "of `{name}` as many zeros are scored as listed entries, {zeros} of {all}: where most of the table is 0, models of it are compared by their ELBO{count}"
            )
        })
    }

    /// So many observed zeros of a row, no two alike; all where there are fewer.
    fn zeros(&self, count: usize, row: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
        let is_zero = |place: &[u32]| {
            let at: Vec<usize> = place.iter().map(|position| *position as usize).collect();
            let (value, seen) = self.bound.entry(&self.target.shape, &at);
            seen && value == 0.0 && self.target.exists(|dimension| at[dimension]) && self.row(place) == row
        };
        let cells = self.target.cells().unwrap_or(usize::MAX);
        let mut found: BTreeSet<Vec<u32>> = BTreeSet::new();
        let rows = self.hide.rows.map_or(1, |(_, axis)| self.target.axes.bound[axis.index()].size.max(1));
        // Where zeros abound, a place drawn at random is one.
        let tries = 50 * count + 1000;
        let fixed = self.hide.rows.and_then(|(letter, axis)| {
            let own = self.target.symbols.letter(letter).axis == axis;
            own.then(|| self.target.array.letters.iter().position(|own| *own == letter)).flatten()
        });
        if cells / rows > 4 * count && (fixed.is_some() || self.hide.rows.is_none()) {
            for _ in 0..tries {
                if found.len() == count {
                    break;
                }
                let place: Vec<u32> = self
                    .target
                    .shape
                    .iter()
                    .enumerate()
                    .map(|(dimension, size)| match fixed == Some(dimension) {
                        true => row as u32,
                        false => rng.random_range(0..*size) as u32,
                    })
                    .collect();
                if is_zero(&place) {
                    found.insert(place);
                }
            }
            if found.len() == count {
                return found.into_iter().collect();
            }
        }
        let of_row = self.positions_of(row);
        let positions = |dimension: usize| match &of_row {
            Some((own, positions)) if *own == dimension => positions.clone(),
            _ => 0..self.target.shape[dimension],
        };
        let ranges: Vec<Range<usize>> = (0..self.target.shape.len()).map(positions).collect();
        let mut all: Vec<Vec<u32>> = Vec::new();
        for number in 0..ranges.iter().map(Range::len).product() {
            let mut rest: usize = number;
            let mut place: Vec<u32> = vec![0; ranges.len()];
            for (own, range) in place.iter_mut().zip(&ranges).rev() {
                *own = (range.start + rest % range.len()) as u32;
                rest /= range.len();
            }
            if is_zero(&place) {
                all.push(place);
            }
        }
        sample(all, count, rng)
    }

    /// The entries that files name: those that the data have, and with the value of the file those that the data lack.
    fn named(&self, named: &mut Named) -> Hidden {
        let observed = self.observed();
        let different = named.judge(self.target, &observed);
        let is_named = |place: &Vec<u32>| named.entries.contains_key(place);
        let mut held: Vec<Entry> = observed.iter().filter(|(place, _)| is_named(place)).cloned().collect();
        let (mut valued, mut zeros, mut without) = (0, 0, 0);
        if self.hide.whole.is_empty() {
            let listed: BTreeSet<Vec<u32>> = held.iter().map(|(place, _)| place.clone()).collect();
            for (place, given) in named.entries.iter().filter(|(place, _)| !listed.contains(*place)) {
                let at: Vec<usize> = place.iter().map(|position| *position as usize).collect();
                // What is observed and not listed is 0.
                let (_, is_zero) = self.bound.entry(&self.target.shape, &at);
                let value = given.or(is_zero.then_some(0.0));
                zeros += usize::from(is_zero && given.is_none());
                without += usize::from(value.is_none());
                valued += usize::from(given.is_some_and(|given| !is_zero || given != 0.0));
                held.extend(value.map(|value| (place.clone(), value)));
            }
            held.sort_by(|left, right| left.0.cmp(&right.0));
        } else {
            held = self.slices_of(observed, &held);
        }
        let mut hidden = self.hidden(held, None);
        let files = named.files().to_owned();
        hidden.named = Some(ByFile { files, valued, zeros, without, different, left_out: named.left_out });
        hidden
    }

    /// All elements of the slices of which one is held.
    fn slices_of(&self, observed: Vec<Entry>, held: &[Entry]) -> Vec<Entry> {
        let dimensions = self.dimensions();
        let key =
            |place: &[u32]| -> Vec<u32> { dimensions.iter().map(|dimension| place[*dimension]).collect() };
        let keys: BTreeSet<Vec<u32>> = held.iter().map(|(place, _)| key(place)).collect();
        observed.into_iter().filter(|(place, _)| keys.contains(&key(place))).collect()
    }

    /// The observed entries but those that are kept.
    fn all_but(&self, is_kept: &dyn Fn(&Vec<u32>) -> bool) -> Hidden {
        let observed = self.observed();
        let held: Vec<Entry> = observed.iter().filter(|(place, _)| !is_kept(place)).cloned().collect();
        if self.hide.whole.is_empty() {
            return self.hidden(held, None);
        }
        let held = self.slices_of(observed, &held);
        self.hidden(held, None)
    }

    /// Units of counts that files give beside those of the data, of which nothing is taken.
    fn units_beside(&self, named: &Named) -> Result<Hidden, DataError> {
        let mut held = Vec::new();
        for (place, value) in &named.entries {
            let Some(value) = value else {
                let name = &self.target.array.name;
                return Err(DataError::new(format!(
                    "entries of `{name}` cannot be hidden: a row under {} has no missing entries, and {} gives no counts",
                    self.hide.family,
                    named.files()
                ))
                .possible("the counts of further units, which the data do not have")
                .help(format!(
                    "give a fraction, by which the units of each count are drawn: `--heldout {name}=0.1`"
                )));
            };
            held.extend((*value > 0.0).then(|| (place.clone(), *value)));
        }
        let kept: f64 = self.observed().iter().map(|(_, count)| count).sum();
        let total: f64 = held.iter().map(|(_, count)| count).sum();
        let valued = held.len();
        let mut hidden = self.hidden(held, Some(if kept > 0.0 { total / kept } else { 1.0 }));
        hidden.with_zeros = true;
        let files = named.files().to_owned();
        hidden.named =
            Some(ByFile { files, valued, zeros: 0, without: 0, different: None, left_out: named.left_out });
        Ok(hidden)
    }
}

/// So many of the items, in their order, each set of them as likely as any other (Knuth, The Art of Computer Programming 2,
/// algorithm 3.4.2 S).
fn sample<T>(items: Vec<T>, count: usize, rng: &mut ChaCha8Rng) -> Vec<T> {
    let (mut left, mut wanted) = (items.len(), count.min(items.len()));
    let mut chosen = Vec::with_capacity(wanted);
    for item in items {
        if wanted > 0 && rng.random_range(0..left) < wanted {
            chosen.push(item);
            wanted -= 1;
        }
        left -= 1;
    }
    chosen
}

/// Takes what is hidden out of an array.
struct Taken<'a> {
    target: &'a Target<'a>,
    whole: &'a [usize],
}

impl Taken<'_> {
    fn take(&self, bound: &mut BoundArray, hidden: &Hidden) {
        let elements = self.elements(hidden);
        match bound {
            BoundArray::Dense { values, observed } => {
                let cells = values.len();
                for (place, held) in elements {
                    let cell = place
                        .iter()
                        .zip(&self.target.shape)
                        .fold(0, |cell, (position, size)| cell * size + *position as usize);
                    if hidden.odds.is_some() {
                        values[cell] -= held;
                    } else {
                        values[cell] = 0.0;
                        observed.get_or_insert_with(|| vec![true; cells])[cell] = false;
                    }
                }
            }
            BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
                let place =
                    |entry: usize| -> Vec<u32> { indices.iter().map(|column| column[entry]).collect() };
                let mut columns: Vec<Vec<u32>> = vec![Vec::with_capacity(values.len()); indices.len()];
                let (mut kept, mut mask) = (Vec::with_capacity(values.len()), Vec::new());
                let mut keep = |place: Vec<u32>, value: f64, seen: bool| {
                    columns.iter_mut().zip(place).for_each(|(column, position)| column.push(position));
                    kept.push(value);
                    mask.push(seen);
                };
                // Both lists are in the same order.
                let mut elements = elements.into_iter().peekable();
                for (entry, value) in values.iter().enumerate() {
                    let own = place(entry);
                    while let Some((zero, _)) = elements.next_if(|(place, _)| *place < own) {
                        // What is not listed is missing already, where it is no zero.
                        if *unlisted_zero {
                            keep(zero, 0.0, false);
                        }
                    }
                    let seen = observed.as_ref().is_none_or(|observed| observed[entry]);
                    match (elements.next_if(|(place, _)| *place == own), hidden.odds, *unlisted_zero) {
                        (None, _, _) => keep(own, *value, seen),
                        (Some((_, held)), Some(_), _) if held < *value => keep(own, value - held, seen),
                        (Some(_), None, true) => keep(own, 0.0, false),
                        // No unit is left, or what is not listed is missing.
                        (Some(_), Some(_), _) | (Some(_), None, false) => {}
                    }
                }
                elements.filter(|_| *unlisted_zero).for_each(|(zero, _)| keep(zero, 0.0, false));
                *indices = columns.into_iter().map(Into::into).collect();
                *values = kept.into();
                *observed = mask.contains(&false).then_some(mask);
            }
        }
    }

    /// Every element that is hidden, with its value.
    fn elements(&self, hidden: &Hidden) -> Vec<Entry> {
        let place = |number: usize| place_of(&hidden.coordinates, &self.target.shape, self.whole, number);
        let values = hidden.values.iter().enumerate();
        let mut elements: Vec<Entry> = values.map(|(number, value)| (place(number), *value)).collect();
        elements.sort_by(|left, right| left.0.cmp(&right.0));
        elements
    }
}

/// The place in an array of this shape of a hidden value, by its number among the values. Of slices that are hidden as a whole, over these
/// dimensions, the coordinates are those of the others, and the values stand in C order.
pub(super) fn place_of(
    coordinates: &[Vec<u32>],
    shape: &[usize],
    whole: &[usize],
    number: usize,
) -> Vec<u32> {
    let width: usize = whole.iter().map(|dimension| shape[*dimension]).product();
    let (entry, mut rest) = (number / width.max(1), number % width.max(1));
    let others = (0..shape.len()).filter(|dimension| !whole.contains(dimension));
    let mut place = vec![0; shape.len()];
    for (column, dimension) in coordinates.iter().zip(others) {
        place[dimension] = column[entry];
    }
    for dimension in whole.iter().rev() {
        place[*dimension] = (rest % shape[*dimension].max(1)) as u32;
        rest /= shape[*dimension].max(1);
    }
    place
}

/// The files of an array.
fn pieces(
    target: &Target<'_>,
    inputs: &Inputs,
    files: &[(Option<String>, Source)],
    wanted: Option<Wanted>,
) -> Result<Vec<Piece>, DataError> {
    let read = |(group, source): &(Option<String>, Source)| {
        read_one(target.symbols, inputs, target.id, group.as_deref(), source, wanted)
    };
    let mut pieces = files.iter().map(read).collect::<Result<Vec<Piece>, DataError>>()?;
    spellings::of_entries(target.symbols, target.axes, &mut pieces);
    // Entries that stand in the order of the data are those of the data's rows only if no column says otherwise.
    match other_rows(target.symbols, &pieces, target.axes).problems.into_iter().next() {
        // What `--columns` says, it says of the data too.
        Some(problem) => Err(problem.help(
            "call the column as the axis that it names; if it names none, and the order of the rows is right, leave it out of the file",
        )),
        None => Ok(pieces),
    }
}

/// The entries that files name.
fn listed(
    target: &Target<'_>,
    inputs: &Inputs,
    files: &[(Option<String>, Source)],
) -> Result<BTreeSet<Vec<u32>>, DataError> {
    Ok(Named::read(target, inputs, files)?.entries.into_keys().collect())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_sample_has_its_size_and_every_item_the_same_chance() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut seen = [0_u32; 6];
        for _ in 0..6000 {
            let chosen = sample((0..6).collect(), 2, &mut rng);
            assert_eq!(chosen.len(), 2);
            assert!(chosen[0] < chosen[1]);
            chosen.into_iter().for_each(|item: usize| seen[item] += 1);
        }
        // 2000 expected, with a standard deviation of 37.
        assert!(seen.iter().all(|count| (1850..2150).contains(count)), "{seen:?}");
        assert_eq!(sample(vec![1, 2], 5, &mut rng), [1, 2]);
    }
}
