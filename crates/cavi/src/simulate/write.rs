//! What was drawn as files that `cavi fit` reads.
//!
//! `data/NAME.mtx` for counts and other data of two axes whose unlisted entries are 0; `data/NAME.csv`, a long table with the labels of all
//! axes, where an axis is ragged; `data/NAME.npy` for the rest, with NaN where there is no entry. Latents stand in `latents/`, as `.npy`
//! or `.csv` in the same way, and labels of axes that have some in `axes/`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cavi_algebra::{Array, ArrayId, AxisId, LetterId, Support, dedup};
use cavi_executor::BoundArray;
use cavi_files::{Cell, CsvText, format_number, write_labels, write_npy, write_text_atomically};
use serde_json::Value;

use super::Simulated;
use crate::bind::{DataError, Existing};
use crate::error::Error;
use crate::heldout::unflat;
use crate::posterior::safe;
use crate::writer::Writer;

/// A file of data that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The data.
    pub name: String,
    /// The path below the directory.
    pub path: PathBuf,
}

impl Simulated {
    /// The axes whose labels stand in `axes/` and not in the files of the data, which are no tables: their names, to be given to a fit
    /// of these files.
    pub fn labelled(&self, files: &[File]) -> Vec<&str> {
        let symbols = &self.model.symbols;
        let without = files.iter().filter(|file| file.path.extension().is_none_or(|ending| ending != "csv"));
        let arrays: Vec<&Array> =
            without.filter_map(|file| symbols.find(&file.name)).map(|id| symbols.array(id)).collect();
        let is_in = |axis: AxisId| {
            let runs = |own: &&Array| own.letters.iter().any(|letter| symbols.letter(*letter).axis == axis);
            arrays.iter().any(|own| runs(own) || own.support == Support::Index(axis))
        };
        let has_labels =
            |axis: &AxisId| symbols.axis(*axis).parent.is_none() && self.labels.axes[axis.index()].is_some();
        let axes = (0..symbols.axes.len()).map(AxisId::from).filter(has_labels);
        axes.filter(|axis| is_in(*axis)).map(|axis| symbols.axis(axis).name.as_str()).collect()
    }
}

/// The place of a directory of draws, held against other writers.
#[derive(Debug)]
pub struct Place(Writer);

impl Place {
    /// Takes the place of a directory. With `force` a directory that Cavi did not write is replaced too; its files stay.
    ///
    /// # Errors
    /// A directory that is read, or one above it; a path that is a file, that cannot be written to, that another process writes to, or that holds files of others.
    pub fn prepare(path: &Path, reads: &[&Path], force: bool) -> Result<Place, Error> {
        Ok(Place(Writer::open(path, reads, force)?))
    }

    /// Writes the draws, the program as `model.cavi`, and `simulated.json`, made from the files of the data.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn write(
        self,
        simulated: &Simulated,
        program: &str,
        json: &dyn Fn(&[File]) -> Value,
    ) -> Result<Value, Error> {
        let mut found = Value::Null;
        self.0.write(|path| {
            let files = write(simulated, path)?;
            found = json(&files);
            write_text_atomically(&path.join("model.cavi"), program)?;
            Ok(write_text_atomically(&path.join("simulated.json"), &format!("{found:#}\n"))?)
        })?;
        Ok(found)
    }
}

/// Writes what was drawn below a directory; the data come back, each with its file.
fn write(simulated: &Simulated, directory: &Path) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    for id in &simulated.data {
        let path = array(simulated, *id, directory, "data")?;
        files.push(File { name: simulated.model.symbols.array(*id).name.clone(), path });
    }
    for id in &simulated.latents {
        array(simulated, *id, directory, "latents")?;
    }
    for (axis, labels) in simulated.model.symbols.axes.iter().zip(&simulated.labels.axes) {
        if let Some(labels) = labels.as_ref().filter(|_| axis.parent.is_none()) {
            let path = directory.join("axes").join(format!("{}.txt", safe(&axis.name)));
            make_parent(&path)?;
            write_labels(&path, labels)?;
        }
    }
    Ok(files)
}

fn make_parent(path: &Path) -> Result<(), DataError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .map_err(|error| DataError::new(format!("{} cannot be made: {error}", parent.display())))
}

/// Writes one array; its path below the directory comes back.
fn array(simulated: &Simulated, id: ArrayId, directory: &Path, folder: &str) -> Result<PathBuf, Error> {
    let symbols = &simulated.model.symbols;
    let own = symbols.array(id);
    let shape = simulated.bound.shape(symbols, id);
    let data = simulated.bound.array(id);
    let is_ragged = own.letters.iter().any(|letter| symbols.letter(*letter).parent.is_some());
    let is_listed = folder == "data" && own.absent.zero && shape.len() == 2;
    let ending = match (is_ragged, is_listed) {
        (true, _) => "csv",
        (false, true) => "mtx",
        (false, false) => "npy",
    };
    let path = Path::new(folder).join(format!("{}.{ending}", safe(&own.name)));
    let whole = directory.join(&path);
    make_parent(&whole)?;
    let existing = Existing::of(symbols, &simulated.bound.axes, own);
    match ending {
        "csv" => write_text_atomically(&whole, &table(simulated, id)?)?,
        "mtx" => write_text_atomically(&whole, &matrix_market(&existing, data, &shape))?,
        _ => {
            let cells: usize = shape.iter().product();
            let values: Vec<f64> = (0..cells)
                .map(|cell| {
                    let place = unflat(&shape, cell);
                    match data.entry(&shape, &place) {
                        _ if !existing.is_there(&place) => 0.0,
                        (value, true) => value,
                        (_, false) => f64::NAN,
                    }
                })
                .collect();
            write_npy(&whole, &shape, &values)?;
        }
    }
    Ok(path)
}

/// The entries that are not 0, those that are missing among them.
fn matrix_market(existing: &Existing, data: &BoundArray, shape: &[usize]) -> String {
    let cells: usize = shape.iter().product();
    let mut lines = String::new();
    let mut count = 0;
    for cell in 0..cells {
        let place = unflat(shape, cell);
        let (value, seen) = data.entry(shape, &place);
        if (!seen || value != 0.0) && existing.is_there(&place) {
            let value = if seen { value } else { f64::NAN };
            // Writing to a text does not fail.
            let _ = writeln!(lines, "{} {} {}", place[0] + 1, place[1] + 1, format_number(value));
            count += 1;
        }
    }
    format!("%%MatrixMarket matrix coordinate real general\n{} {} {count}\n{lines}", shape[0], shape[1])
}

/// A long table: a column for each axis, those that an axis is ragged in before it, and the value.
fn table(simulated: &Simulated, id: ArrayId) -> Result<String, DataError> {
    let Simulated { model, bound, labels, .. } = simulated;
    let symbols = &model.symbols;
    let own = symbols.array(id);
    let shape = bound.shape(symbols, id);
    let lineage = |letter: &LetterId| symbols.lineage(*letter).into_iter().rev();
    let letters: Vec<LetterId> = dedup(own.letters.iter().flat_map(lineage).collect());
    let axis_of = |letter: &LetterId| symbols.letter(*letter).axis;
    let name = |letter: &LetterId| {
        let axis = axis_of(letter);
        let alone = letters.iter().filter(|other| axis_of(other) == axis).count() == 1;
        if alone { &symbols.axis(axis).name } else { &symbols.letter(*letter).name }
    };
    let mut header: Vec<&str> = letters.iter().map(|letter| name(letter).as_str()).collect();
    header.push(if header.contains(&own.name.as_str()) { "value" } else { &own.name });
    let mut text = CsvText::new(&header);
    let data = bound.array(id);
    let existing = Existing::of(symbols, &bound.axes, own);
    for cell in 0..shape.iter().product() {
        let place = unflat(&shape, cell);
        let (value, seen) = data.entry(&shape, &place);
        // Where an entry that is not listed is 0, one that is missing is listed as such.
        if !existing.is_there(&place) || !seen && !own.absent.zero {
            continue;
        }
        let mut fields: Vec<Option<String>> = vec![None; letters.len()];
        for (letter, position) in own.letters.iter().zip(&place) {
            let path = labels.path(symbols, bound, axis_of(letter), *position);
            let own: Vec<LetterId> = lineage(letter).collect();
            for (letter, label) in own.iter().zip(path) {
                let column = letters.iter().position(|other| other == letter);
                fields[column.unwrap_or_default()] = Some(label);
            }
        }
        let mut cells: Vec<Cell<'_>> =
            fields.iter().map(|field| Cell::Text(field.as_deref().unwrap_or_default())).collect();
        let class = match own.support {
            Support::Index(axis) if seen => Some(labels.path(symbols, bound, axis, value as usize)),
            _ => None,
        };
        cells.push(match class.as_ref().and_then(|path| path.last()) {
            Some(label) => Cell::Text(label),
            None => Cell::Number(if seen { value } else { f64::NAN }),
        });
        text.row(&cells);
    }
    Ok(text.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of six entries two have no draw: they are missing in the file, and the zero is not listed.
    #[test]
    fn entries_without_a_draw_are_missing_and_no_zeros() {
        let values = [3.0, 0.0, 0.0, 5.0, 1.5, 0.0].into_iter().collect();
        let observed = Some(vec![true, false, false, true, true, true]);
        let text = matrix_market(&Existing::default(), &BoundArray::Dense { values, observed }, &[3, 2]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines, ["3 2 5", "1 1 3", "1 2 nan", "2 1 nan", "2 2 5", "3 1 1.5"]);
    }
}
