//! What an earlier fit fixes for new rows: the axes that keep their positions, and the scale of its data.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use cavi_algebra::{ArrayId, AxisId, LetterId};
use cavi_model::Model;

use super::RowAxes;
use crate::bind::{
    DataError, Frozen, Inputs, LabelSource, LabelsInput, SetInput, SetValue, Standardised, Typical,
};
use crate::posterior::safe;

/// What an earlier fit fixes for new rows.
pub(crate) struct Earlier {
    pub directory: PathBuf,
    /// The inputs with its sizes and labels.
    pub inputs: Inputs,
    pub frozen: Frozen,
    /// The labels of each axis that keeps its positions, in its order, of a ragged one after those of their groups.
    pub axes: BTreeMap<AxisId, Vec<String>>,
}

/// The inputs with some of the constants of a fit, where they give no others.
pub(crate) fn with_constants(
    inputs: &Inputs,
    earlier: &[SetInput],
    keep: impl Fn(&SetInput) -> bool,
) -> Inputs {
    let mut inputs = inputs.clone();
    let is_kept = |own: &&SetInput| inputs.set.iter().all(|other| other.name != own.name) && keep(own);
    let more: Vec<SetInput> = earlier.iter().filter(is_kept).cloned().collect();
    inputs.set.extend(more);
    inputs
}

impl RowAxes<'_> {
    /// The inputs with the constants of the fit, where they give no others; but without the sizes of its rows, for new rows have
    /// their own number.
    pub fn with_constants(&self, inputs: &Inputs, earlier: &[SetInput]) -> Inputs {
        let is_of_rows = |name: &str| {
            let place = self.model.symbols.axes.iter().position(|axis| axis.name == name);
            place.is_some_and(|place| self.is_row(AxisId::from(place)))
        };
        with_constants(inputs, earlier, |own| !is_of_rows(&own.name))
    }

    /// The program without sizes of rows, which are those of the rows of the fit.
    pub fn without_sizes(&self) -> Model {
        let mut model = self.model.clone();
        for (index, axis) in model.symbols.axes.iter_mut().enumerate() {
            if self.is_row(AxisId::from(index)) {
                axis.size = None;
            }
        }
        model
    }

    /// The axes that keep their positions, as labels and sizes of the earlier fit, and the scale of its data.
    ///
    /// # Errors
    /// Files that the directory of the fit lacks.
    pub fn frozen(&self, inputs: &Inputs, directory: &Path) -> Result<Earlier, Vec<DataError>> {
        let symbols = &self.model.symbols;
        let mut inputs = inputs.clone();
        let mut frozen = Frozen::default();
        let mut problems = Vec::new();
        // Sizes of other axes are those of the fit.
        inputs.set.retain(|own| {
            let axis = symbols.axes.iter().position(|axis| axis.name == own.name).map(AxisId::from);
            axis.is_none_or(|axis| self.is_row(axis))
        });
        // What the fit held is held, but for latents of its own rows.
        crate::fixed::hold_as(directory, &mut inputs);
        inputs.fix.retain(|own| {
            let letters = symbols.find(&own.name).map(|array| &symbols.array(array).letters);
            let has_rows = |letters: &Vec<LetterId>| {
                letters
                    .iter()
                    .flat_map(|own| symbols.lineage(*own))
                    .any(|own| self.is_row(symbols.letter(own).axis))
            };
            letters.is_some_and(|letters| !has_rows(letters))
        });
        // The paths of the positions of each axis: the labels of their groups, and their own.
        let mut paths_of: BTreeMap<AxisId, Vec<Vec<String>>> = BTreeMap::new();
        for (index, axis) in symbols.axes.iter().enumerate() {
            let id = AxisId::from(index);
            if self.is_row(id) {
                frozen.rows.insert(id);
                continue;
            }
            // Files are named as `posterior::group_path` names them.
            let file = |path: &Vec<String>| match path.is_empty() {
                true => format!("{}.txt", axis.name),
                false => {
                    let safe: Vec<String> = path.iter().map(|label| safe(label)).collect();
                    format!("{}/{}.txt", axis.name, safe.join("/"))
                }
            };
            let above: Vec<Vec<String>> = match axis.parent {
                None => vec![Vec::new()],
                Some(parent) => paths_of.get(&parent).cloned().unwrap_or_default(),
            };
            let mut own_paths = Vec::new();
            for path_above in above {
                let (group, file) =
                    ((!path_above.is_empty()).then(|| path_above.join("/")), file(&path_above));
                let path = directory.join("axes").join(file);
                let labels = match cavi_files::read_labels(&path) {
                    Ok(labels) => labels,
                    Err(error) => {
                        problems.push(error.into());
                        continue;
                    }
                };
                own_paths.extend(
                    labels.iter().map(|label| [&path_above[..], std::slice::from_ref(label)].concat()),
                );
                let known: HashSet<String> = labels.iter().cloned().collect();
                frozen.labels.entry(id).or_default().insert(group.clone().unwrap_or_default(), known);
                inputs.set.push(SetInput {
                    name: axis.name.clone(),
                    group: group.clone(),
                    value: SetValue::Number(labels.len() as f64),
                });
                inputs.labels.retain(|own| own.axis != axis.name || own.group != group);
                let source = LabelSource::List(path.display().to_string(), labels);
                inputs.labels.push(LabelsInput { axis: axis.name.clone(), group, source });
            }
            paths_of.insert(id, own_paths);
        }
        for (index, array) in symbols.arrays.iter().enumerate() {
            let id = ArrayId::from(index);
            let read =
                |part: &str, letter: Option<LetterId>| -> Result<Option<(LetterId, Vec<f64>)>, DataError> {
                    let Some(letter) = letter else { return Ok(None) };
                    // Numbers of a row of its own are those of the new row, and so are those of a group of an axis that is ragged in rows.
                    let others = array.letters.iter().copied().filter(|own| *own != letter);
                    let above = symbols.lineage(letter).into_iter().skip(1);
                    if others.chain(above).any(|own| self.is_row(symbols.letter(own).axis)) {
                        return Ok(None);
                    }
                    Ok(Some((letter, cavi_files::read_npy(&of_file(directory, &array.name, part))?.values)))
                };
            match (read("center", array.center), read("scale", array.scale)) {
                (Ok(None), Ok(None)) => {
                    let average = |part: &str, letter: Option<LetterId>| match letter {
                        Some(_) => average(&of_file(directory, &array.name, part)),
                        None => Ok(None),
                    };
                    match (average("center", array.center), average("scale", array.scale)) {
                        (Ok(None), Ok(None)) => {}
                        (Ok(centre), Ok(scale)) => frozen.typical.push(Typical { array: id, centre, scale }),
                        (centre, scale) => problems.extend([centre.err(), scale.err()].into_iter().flatten()),
                    }
                }
                (Ok(centre), Ok(scale)) => {
                    frozen.standardised.push(Standardised { array: id, centre, scale })
                }
                (centre, scale) => problems.extend([centre.err(), scale.err()].into_iter().flatten()),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let joined = |paths: Vec<Vec<String>>| paths.into_iter().map(|path| path.join("/")).collect();
        let axes = paths_of.into_iter().map(|(axis, paths)| (axis, joined(paths))).collect();
        Ok(Earlier { directory: directory.to_owned(), inputs, frozen, axes })
    }

    /// Refuses to average fits along other axes: with the axis, and the sizes or the first label that only one of them has.
    pub fn refuse_other_axes(&self, first: &Earlier, other: &Earlier) -> Result<(), DataError> {
        for (axis, labels) in &first.axes {
            let theirs = &other.axes[axis];
            let name = &self.model.symbols.axis(*axis).name;
            let (one, two) = (first.directory.display(), other.directory.display());
            let wrong = |found: String| {
                Err(DataError::new(format!(
                    "fits along different axes cannot be averaged: axis `{name}` has {found}"
                ))
                .possible("fits whose shared axes have the same labels, in any order")
                .help("fit all of them to the same data, as `cavi fit ... --restarts 5 --keep all` does"))
            };
            if labels.len() != theirs.len() {
                return wrong(format!("size {} in `{one}` and {} in `{two}`", labels.len(), theirs.len()));
            }
            let known: HashSet<&String> = theirs.iter().collect();
            if let Some(label) = labels.iter().find(|label| !known.contains(label)) {
                return wrong(format!("`{label}` in `{one}`, which `{two}` lacks"));
            }
        }
        Ok(())
    }

    /// Refuses to average fits to data that were standardised differently: their densities are those of different numbers.
    pub fn refuse_other_scales(&self, first: &Earlier, other: &Earlier) -> Result<(), DataError> {
        for (own, theirs) in first.frozen.standardised.iter().zip(&other.frozen.standardised) {
            let same = self.by_label(own.array, &own.centre, &first.axes)
                == self.by_label(theirs.array, &theirs.centre, &other.axes)
                && self.by_label(own.array, &own.scale, &first.axes)
                    == self.by_label(theirs.array, &theirs.scale, &other.axes);
            if !same {
                let name = &self.model.symbols.array(own.array).name;
                let (one, two) = (first.directory.display(), other.directory.display());
                return Err(DataError::new(format!(
                    "fits to different data cannot be averaged: `{name}` was standardised by other numbers in `{two}` than in \
                     `{one}`"
                ))
                .possible("fits whose `standardised/` agree"));
            }
        }
        Ok(())
    }

    /// Numbers of an array in the order of the labels that they belong to.
    fn by_label(
        &self,
        array: ArrayId,
        numbers: &Option<(LetterId, Vec<f64>)>,
        axes: &BTreeMap<AxisId, Vec<String>>,
    ) -> Vec<(Vec<String>, f64)> {
        let symbols = &self.model.symbols;
        let Some((over, values)) = numbers else { return Vec::new() };
        let mut places: Vec<Vec<String>> = vec![Vec::new()];
        for letter in &symbols.array(array).letters {
            let own = symbols.letter(*letter);
            // Over a ragged letter there is a number for each group.
            let axis = if letter == over { symbols.axis(own.axis).parent } else { Some(own.axis) };
            let labels = axis.and_then(|axis| axes.get(&axis));
            let Some(labels) = labels else { continue };
            let with =
                |place: &Vec<String>, label: &String| [&place[..], std::slice::from_ref(label)].concat();
            places = places
                .iter()
                .flat_map(|place| labels.iter().map(|label| with(place, label)).collect::<Vec<_>>())
                .collect();
        }
        let mut all: Vec<(Vec<String>, f64)> = places.into_iter().zip(values.iter().copied()).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}

/// Where a fit keeps what it standardised an array by.
fn of_file(directory: &Path, name: &str, part: &str) -> PathBuf {
    directory.join("standardised").join(format!("{name}.{part}.npy"))
}

/// The average of the numbers of a file; none of no numbers.
fn average(path: &Path) -> Result<Option<f64>, DataError> {
    let values = cavi_files::read_npy(path)?.values;
    let count = values.len() as f64;
    Ok((count > 0.0).then(|| values.iter().map(|own| own / count).sum()))
}
