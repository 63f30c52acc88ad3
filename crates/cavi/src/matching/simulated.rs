//! Components of latents that `cavi simulate` drew.

use std::collections::HashMap;
use std::path::Path;

use cavi_algebra::{ArrayId, AxisId, Support, Symbols};
use cavi_files::{Content, ReadOptions, Values};
use cavi_model::Model;
use serde_json::Value;

use super::{Components, Named, ancestors, axes_of, chosen, has_free_signs, in_group, in_no_group, split};
use crate::bind::DataError;
use crate::error::Error;
use crate::posterior::safe;

/// What `cavi simulate` writes about its draws.
pub(super) const SIMULATED: &str = "simulated.json";

impl Components {
    /// Those of latents that were drawn, `DIR/latents/VAR.npy`, or `.csv` over a ragged axis.
    pub(super) fn of_simulated(
        directory: &Path,
        variable: Option<&str>,
        axis: Option<&str>,
    ) -> Result<Components, Error> {
        let model = simulated_model(directory)?;
        let symbols = &model.symbols;
        let (array, axis) = chosen(&model, variable, axis)?;
        let own = symbols.array(array);
        let path = |ending: &str| directory.join("latents").join(format!("{}.{ending}", safe(&own.name)));
        let (labels, (groups, names), values) = match path("csv").is_file() {
            true => drawn_table(symbols, array, axis, &path("csv"))?,
            false => {
                let drawn = cavi_files::read_npy(&path("npy"))?;
                let axes = axes_of(symbols, array);
                if drawn.shape.len() != axes.len() {
                    let found = format!("{}: found {} dimensions", path("npy").display(), drawn.shape.len());
                    return Err(DataError::new(found).possible(format!("{} dimensions", axes.len())).into());
                }
                let all: Vec<Vec<String>> = axes
                    .iter()
                    .zip(&drawn.shape)
                    .map(|(axis, size)| drawn_labels(directory, &symbols.axis(*axis).name, *size))
                    .collect::<Result<_, Error>>()?;
                let place = axes.iter().position(|own| *own == axis).unwrap_or(0);
                let label = |dimension: usize, position: usize| vec![all[dimension][position].clone()];
                let (labels, values) = split(&drawn.values, &drawn.shape, place, &[], &label);
                (labels, in_no_group(all[place].clone()), values)
            }
        };
        Ok(Components {
            variable: own.name.clone(),
            axis: symbols.axis(axis).name.clone(),
            names,
            groups,
            labels,
            signed: own.support == Support::Real,
            has_free_signs: has_free_signs(&model, array, axis),
            values,
        })
    }
}

/// The program whose latents were drawn into a directory.
fn simulated_model(directory: &Path) -> Result<Model, Error> {
    let path = directory.join(SIMULATED);
    let wrong = |what: String| {
        DataError::new(format!("`{}` {what}", path.display()))
            .possible("the directory of a fit, or one that `cavi simulate` wrote")
    };
    let text = cavi_files::read_text(&path)?;
    let json: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("is no JSON: {error}")))?;
    let set: Vec<String> = json["set"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|own| Some(own.as_str()?.split(['=', '[']).next()?.trim().to_owned()))
        .collect();
    let set: Vec<cavi_model::Set<'_>> =
        set.iter().map(|name| cavi_model::Set { name, value: None }).collect();
    let program = cavi_syntax::parse(&cavi_files::read_text(&directory.join("model.cavi"))?).0;
    let model = cavi_model::resolve_with(&program, &set).0;
    Ok(model.ok_or_else(|| wrong("stands beside a program that this version does not compile".to_owned()))?)
}

/// The labels of an axis of draws: those that were written, else numbers.
fn drawn_labels(directory: &Path, axis: &str, size: usize) -> Result<Vec<String>, Error> {
    let path = directory.join("axes").join(format!("{}.txt", safe(axis)));
    let labels = match path.is_file() {
        true => cavi_files::read_labels(&path)?,
        false => (0..size).map(|position| position.to_string()).collect(),
    };
    match labels.len() == size {
        true => Ok(labels),
        false => Err(DataError::new(format!("{}: found {} labels", path.display(), labels.len()))
            .possible(format!("{size}, one for each position"))
            .into()),
    }
}

/// Labels, groups and names of components, and for each component its numbers.
type Drawn = (Vec<String>, Named, Vec<Vec<f64>>);

/// A long table of draws along a ragged axis.
fn drawn_table(symbols: &Symbols, array: ArrayId, axis: AxisId, path: &Path) -> Result<Drawn, Error> {
    let lineage = |letter: &cavi_algebra::LetterId| symbols.lineage(*letter).into_iter().rev();
    let letters =
        cavi_algebra::dedup(symbols.array(array).letters.iter().flat_map(lineage).collect::<Vec<_>>());
    let dimensions: Vec<cavi_files::Dimension<'_>> = letters
        .iter()
        .map(|letter| {
            let own = symbols.letter(*letter);
            cavi_files::Dimension { axis: &symbols.axis(own.axis).name, letter: Some(&own.name) }
        })
        .collect();
    let options = ReadOptions { dimensions: &dimensions, ..ReadOptions::default() };
    let wrong = || DataError::new(format!("{}: found no long table of numbers", path.display()));
    let Content::Long(long) = cavi_files::read(path, &options)? else { return Err(wrong().into()) };
    let Some((_, Values::Numbers(numbers))) = &long.values else { return Err(wrong().into()) };
    let place = letters.iter().position(|letter| symbols.letter(*letter).axis == axis).unwrap_or(0);
    // The groups that the axis is ragged in, which belong to the name of a component.
    let is_above = |dimension: &usize| {
        let above = ancestors(symbols, axis);
        above.contains(&symbols.axis(symbols.letter(letters[*dimension]).axis).name)
    };
    let (above, own): (Vec<usize>, Vec<usize>) = (0..letters.len()).partition(is_above);
    let path = |dimensions: &[usize], entry: usize| -> Vec<String> {
        let each = dimensions.iter().filter(|own| **own != place);
        each.filter_map(|own| long.positions[*own].get(entry).map(str::to_owned)).collect()
    };
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut components: HashMap<String, usize> = HashMap::new();
    let (mut labels, mut groups, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut values: Vec<Vec<f64>> = Vec::new();
    for (entry, value) in numbers.iter().enumerate() {
        // Groups come first, as in the labels of a fit.
        let label = [path(&above, entry), path(&own, entry)].concat().join("/");
        let row = *places.entry(label.clone()).or_insert_with(|| {
            labels.push(label);
            labels.len() - 1
        });
        let group = path(&above, entry).join("/");
        let label = long.positions[place].get(entry).unwrap_or_default().to_owned();
        let name = in_group(&group, &[label]).1.remove(0);
        let component = *components.entry(name.clone()).or_insert_with(|| {
            groups.push(group);
            names.push(name);
            values.push(Vec::new());
            values.len() - 1
        });
        let own = &mut values[component];
        own.resize(own.len().max(row + 1), 0.0);
        own[row] = *value;
    }
    values.iter_mut().for_each(|own| own.resize(labels.len(), 0.0));
    Ok((labels, (groups, names), values))
}
