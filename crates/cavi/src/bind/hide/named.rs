//! The entries that files name, and the values that they give them.
//!
//! A file of entries to hold out is a mask or a table of test entries. A dense file without a missing entry is a mask: it names what is
//! not 0 in it. Of any other file the numbers are the values of its entries, unless one of them differs from what the data list
//! there, or all are 1 and the data list some of the entries: then it is a mask as well, and names every entry that it has. Where the
//! numbers are 0 and 1, as of TRUE and FALSE, and stand in a column of another name than the array's, `test` say, it names those that are 1.

use std::collections::{BTreeMap, HashSet};

use cavi_algebra::{AxisId, Support};
use cavi_files::{Content, Values, Wanted};

use super::{Different, Entry, pieces};
use crate::bind::data_error::DataError;
use crate::bind::frozen::Frozen;
use crate::bind::inputs::{Inputs, Source};
use crate::bind::listing::positions;
use crate::bind::place::Target;
use crate::bind::values::misfit;

/// The entries that files name.
pub(super) struct Named {
    /// Each with its value, where the files give values.
    pub entries: BTreeMap<Vec<u32>, Option<f64>>,
    /// How many entries the data cannot have: for a label that they do not have, or outside of what exists.
    pub left_out: usize,
    /// Whether the values stand in a column of a long table that has another name than the array.
    is_of_another_name: bool,
    /// The files, for messages.
    files: String,
}

impl Named {
    /// Reads the entries that files name.
    ///
    /// # Errors
    /// Files that cannot be read or hold no entries; a value outside of the type of the array; values for one entry that differ, but
    /// for counts, which are added up.
    pub fn read(
        target: &Target<'_>,
        inputs: &Inputs,
        files: &[(Option<String>, Source)],
    ) -> Result<Named, DataError> {
        let names: Vec<String> =
            files.iter().map(|(_, source)| source.name().display().to_string()).collect();
        let mut named = Named {
            entries: BTreeMap::new(),
            left_out: 0,
            is_of_another_name: true,
            files: names.join(" and "),
        };
        // Labels are no values of entries, as far as a held-out file is concerned.
        let wanted = match target.array.support {
            Support::Index(_) => Wanted::Positions,
            _ => Wanted::Optional,
        };
        let mut pieces = pieces(target, inputs, files, Some(wanted))?;
        if let Some(piece) = pieces.iter().find(|piece| piece.is_documents()) {
            return Err(DataError::new(format!("{}: documents, which name no entries", piece.name()))
                .possible("a table with a column for each axis, or a file with an entry for each position"));
        }
        named.left_out = known(target).leave_out_unknown(target.symbols, &mut pieces, &mut Vec::new());
        if pieces.iter().all(|piece| piece.content.is_empty()) && named.left_out > 0 {
            // The first label that is not known says where it stands.
            for piece in &self::pieces(target, inputs, files, Some(wanted))? {
                positions(target, piece)?;
            }
        }
        for piece in &pieces {
            let columns = positions(target, piece)?;
            let numbers = numbers(&piece.content).filter(|_| wanted == Wanted::Optional);
            let is_mask = is_mask(&piece.content);
            let is_of_another_name = |long: &cavi_files::Long| {
                long.values.as_ref().is_some_and(|(name, _)| *name != target.array.name)
            };
            named.is_of_another_name &=
                matches!(&piece.content, Content::Long(long) if is_of_another_name(long));
            for entry in 0..piece.content.len() {
                if !is_named(&piece.content, is_mask, entry) {
                    continue;
                }
                let place: Vec<u32> = columns.iter().map(|column| column[entry]).collect();
                named.refuse_outside(target, &piece.name(), &place)?;
                let value = numbers.map(|numbers| numbers[entry]).filter(|value| !is_mask && !value.is_nan());
                if let Some(expected) = value.and_then(|value| misfit(target.array.support, value)) {
                    let found = value.unwrap_or_default().to_string();
                    return Err(piece.content.error_at(&piece.file, entry, found, expected).into());
                }
                named.add(target, place, value)?;
            }
        }
        Ok(named)
    }

    fn add(&mut self, target: &Target<'_>, place: Vec<u32>, value: Option<f64>) -> Result<(), DataError> {
        let at: Vec<usize> = place.iter().map(|position| *position as usize).collect();
        if !target.exists(|dimension| at[dimension]) {
            self.left_out += 1;
            return Ok(());
        }
        let before = self.entries.insert(place.clone(), value).flatten();
        match (before, value) {
            (Some(before), Some(value)) if target.array.support == Support::Count => {
                self.entries.insert(place, Some(before + value));
            }
            (Some(before), Some(value)) if before != value => {
                return Err(DataError::new(format!(
                    "{} is {before} and {value} in {}",
                    target.describe(&at),
                    self.files
                ))
                .possible("every entry once (only counts are added up)"));
            }
            _ => {}
        }
        Ok(())
    }

    fn refuse_outside(&self, target: &Target<'_>, file: &str, place: &[u32]) -> Result<(), DataError> {
        for (position, (size, letter)) in place.iter().zip(target.shape.iter().zip(&target.array.letters)) {
            if *position as usize >= *size {
                let axis = &target.symbols.axis(target.symbols.letter(*letter).axis).name;
                let found = format!("{file}: the position {position} of axis `{axis}`");
                return Err(DataError::new(found).possible(format!("a position less than {size}")));
            }
        }
        Ok(())
    }

    /// Forgets numbers that are those of a mask, and says how many of them differ from what the data list, and which first.
    pub fn judge(&mut self, target: &Target<'_>, listed: &[Entry]) -> Option<Different> {
        let given = |(place, own): &Entry| Some((place.clone(), (*self.entries.get(place)?)?, *own));
        let both: Vec<(Vec<u32>, f64, f64)> = listed.iter().filter_map(given).collect();
        let mut different = both.iter().filter(|(_, value, own)| value != own);
        let first = different.next().map(|(place, value, own)| {
            let at: Vec<usize> = place.iter().map(|position| *position as usize).collect();
            format!("{} is {value} there and {own} in the data", target.describe(&at))
        });
        let count = different.count() + 1;
        if first.is_some() && self.is_of_another_name && self.is_of_zeros_and_ones() {
            self.entries.retain(|_, value| *value == Some(1.0));
            self.entries.values_mut().for_each(|value| *value = None);
            return None;
        }
        let all_one = self.entries.values().all(|value| *value == Some(1.0));
        if first.is_some() || all_one && !both.is_empty() {
            self.entries.values_mut().for_each(|value| *value = None);
        }
        first.filter(|_| !all_one).map(|first| Different { count, first })
    }

    /// Whether all values are 0 or 1, and both occur.
    fn is_of_zeros_and_ones(&self) -> bool {
        let has = |wanted: f64| self.entries.values().any(|value| *value == Some(wanted));
        has(0.0) && has(1.0) && self.entries.values().all(|value| matches!(value, Some(0.0 | 1.0)))
    }

    /// What names these entries, where nothing is left of them.
    pub fn nothing_left(&self, target: &Target<'_>) -> DataError {
        let name = &target.array.name;
        let message = format!(
            "none of the {} entries of {} is an entry of `{name}`: their labels are not those of the data",
            self.left_out, self.files
        );
        DataError::new(message)
            .help("check the columns of the two files; new rows are scored by `cavi score`")
    }

    /// Which files, for messages.
    pub fn files(&self) -> &str {
        &self.files
    }
}

/// The numbers of a file, if it has any.
fn numbers(content: &Content) -> Option<&[f64]> {
    let values = match content {
        Content::Coordinates(coordinates) => return Some(&coordinates.values),
        Content::Dense(dense) => &dense.values,
        Content::Long(long) => &long.values.as_ref()?.1,
        Content::Documents(_) => return None,
    };
    match values {
        Values::Numbers(numbers) => Some(numbers),
        Values::Text(_) => None,
    }
}

/// Whether a file is a dense one without a missing entry.
fn is_mask(content: &Content) -> bool {
    matches!(content, Content::Dense(dense)
        if matches!(&dense.values, Values::Numbers(numbers) if numbers.iter().all(|value| !value.is_nan())))
}

/// Whether a file names an entry of its own.
fn is_named(content: &Content, is_mask: bool, entry: usize) -> bool {
    match content {
        Content::Dense(dense) => match &dense.values {
            Values::Numbers(numbers) if is_mask => numbers[entry] != 0.0,
            Values::Numbers(numbers) => !numbers[entry].is_nan(),
            Values::Text(text) => text.get(entry).is_some(),
        },
        Content::Coordinates(_) | Content::Long(_) | Content::Documents(_) => true,
    }
}

/// The labels that the axes of the data have.
fn known(target: &Target<'_>) -> Frozen {
    let mut known = Frozen::default();
    for (index, labels) in target.axes.labels.iter().enumerate() {
        let (id, bound) = (AxisId::from(index), &target.axes.bound[index]);
        let Some(labels) = labels else { continue };
        let own = known.labels.entry(id).or_default();
        match (&bound.starts, target.symbols.axis(id).parent) {
            (Some(starts), Some(parent)) => {
                for (group, bounds) in starts.windows(2).enumerate() {
                    let path = target.axes.path(target.symbols, parent, group).join("/");
                    let labels: HashSet<String> = labels[bounds[0]..bounds[1]].iter().cloned().collect();
                    own.insert(path, labels);
                }
            }
            _ => {
                own.insert(String::new(), labels.iter().cloned().collect());
            }
        }
    }
    known
}
