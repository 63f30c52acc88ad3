//! Which components of two fits are the same: an assignment by cosine.
//!
//! A component is a position on an axis that no data have (topics, factors, signatures, clusters). It is compared by the mean of one
//! latent that runs along this axis, over the labels that both sides have: of latents that rows share rather than of those
//! that are a row's own, and of those that data are made from rather than of their scales and precisions, where there are any. Components are assigned one to one, so that the sum of their
//! cosines is greatest. Where the program leaves the signs of components free, as of factors that meet in products (`signs.rs`), the size of the
//! cosine counts, and its sign is told; a centre of a cluster has a sign of its own.
//!
//! Over a ragged axis, `comp[k] in view[m]`, each group has components of its own: component 0 of one view and component 0 of another are two, `rna/0` and
//! `atac/0`, and each is matched with those of its own group.
//!
//! A component of A may be a mixture of two of B. Of unit vectors a, b, c with `g = a'b`, `h = a'c`, `r = b'c`, the combination
//! `u b + v c` that is closest to a has `u = (g - r h) / (1 - r^2)`, `v = (h - r g) / (1 - r^2)` and the cosine
//! `sqrt(g u + h v)`. Where components have signs of their own, u and v must not be negative.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Support, Symbols};
use cavi_executor::Parameters;
use cavi_files::{Content, ReadOptions, Values};
use cavi_model::Model;
use cavi_numerics::assignment;
use serde_json::{Value, json};

use crate::bind::{DataError, Existing};
use crate::dimensions::Dimension;
use crate::directory::number;
use crate::error::Error;
use crate::prepare::Problem;
use crate::rows::RowAxes;
use crate::summary::{Variable, variables};

mod simulated;

use simulated::SIMULATED;

/// The components of a latent, or of a table.
#[derive(Clone, Debug)]
pub struct Components {
    /// The latent; of a table its file.
    pub variable: String,
    /// The axis of the components.
    pub axis: String,
    /// The names of the components; over a ragged axis with that of their group, `rna/0`.
    pub names: Vec<String>,
    /// The group of each, empty where the axis has none.
    pub groups: Vec<String>,
    /// What they are compared over.
    pub labels: Vec<String>,
    /// For each component its numbers, 0 at the labels of other groups.
    pub values: Vec<Vec<f64>>,
    /// Whether they may be negative.
    pub signed: bool,
    /// Whether each may be turned around, since the program says the same of both.
    pub has_free_signs: bool,
}

/// A pair of components.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// That of A, by its place.
    pub a: usize,
    /// That of B.
    pub b: usize,
    /// Their cosine; where signs are free it is negative of those that agree but for their signs.
    pub cosine: f64,
}

/// A component of A as a combination of two of B.
#[derive(Clone, Debug, PartialEq)]
pub struct Mixture {
    /// That of A.
    pub a: usize,
    /// Those of B.
    pub parts: [usize; 2],
    /// Their weights, of components of length 1.
    pub weights: [f64; 2],
    /// The cosine of the combination.
    pub cosine: f64,
}

/// How the components of A and of B match.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The pairs, in the order of A.
    pub pairs: Vec<Pair>,
    /// For each component of A the best combination of two of B, where one is closer than each alone.
    pub mixtures: Vec<Mixture>,
    /// The cosines of all components of A with all of B: a row for each of A.
    pub cosines: Vec<f64>,
    /// How many labels both have.
    pub common: usize,
    /// Whether a component and the same turned around are one.
    pub has_free_signs: bool,
    /// The mean of the cosines of the pairs (of their sizes, where signs are free), but for those of two components that are empty; NaN without one.
    pub stability: f64,
}

impl Matching {
    /// How alike the two of a pair are: their cosine, where signs are free its size.
    pub fn likeness(&self, pair: &Pair) -> f64 {
        if self.has_free_signs { pair.cosine.abs() } else { pair.cosine }
    }

    /// The components of A without a partner.
    pub fn alone_of_a<'a>(&self, a: &'a Components) -> Vec<&'a str> {
        alone(a, |place| self.pairs.iter().any(|own| own.a == place))
    }

    /// The components of B without a partner.
    pub fn alone_of_b<'b>(&self, b: &'b Components) -> Vec<&'b str> {
        alone(b, |place| self.pairs.iter().any(|own| own.b == place))
    }

    /// As JSON, components by their names.
    pub fn json(&self, a: &Components, b: &Components) -> Value {
        let pair =
            |own: &Pair| json!({ "a": a.names[own.a], "b": b.names[own.b], "cosine": number(own.cosine) });
        let mixture = |own: &Mixture| {
            json!({
                "a": a.names[own.a],
                "b": own.parts.map(|place| b.names[place].clone()),
                "weights": own.weights.map(number),
                "cosine": number(own.cosine),
            })
        };
        json!({
            "axis": a.axis,
            "variables": [a.variable, b.variable],
            "n_common": self.common,
            "n_left_out": [a.labels.len() - self.common, b.labels.len() - self.common],
            "pairs": self.pairs.iter().map(pair).collect::<Vec<_>>(),
            "mixtures": self.mixtures.iter().map(mixture).collect::<Vec<_>>(),
            "unmatched": { "a": self.alone_of_a(a), "b": self.alone_of_b(b) },
            "stability": number(self.stability),
        })
    }
}

/// The components of one side without a partner.
fn alone(own: &Components, is_paired: impl Fn(usize) -> bool) -> Vec<&str> {
    (0..own.names.len()).filter(|place| !is_paired(*place)).map(|place| own.names[place].as_str()).collect()
}

/// The axes of components: those that no data have, nor index, and along which a latent runs.
pub fn component_axes(symbols: &Symbols) -> Vec<AxisId> {
    let is_of_data = |axis: AxisId| {
        let data = symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data);
        data.into_iter().any(|array| {
            let letters = array.letters.iter().flat_map(|letter| symbols.lineage(*letter));
            array.support == Support::Index(axis)
                || letters.into_iter().any(|letter| symbols.letter(letter).axis == axis)
        })
    };
    (0..symbols.axes.len()).map(AxisId::from).filter(|axis| !is_of_data(*axis)).collect()
}

/// The axes of an array.
fn axes_of(symbols: &Symbols, array: ArrayId) -> Vec<AxisId> {
    symbols.array(array).letters.iter().map(|letter| symbols.letter(*letter).axis).collect()
}

/// The latent by which components are compared, and their axis: those that are named, else what the program says.
///
/// # Errors
/// Names that the program does not have; a program without such an axis, or with several.
pub fn chosen(
    model: &Model,
    variable: Option<&str>,
    axis: Option<&str>,
) -> Result<(ArrayId, AxisId), DataError> {
    let symbols = &model.symbols;
    let latents: Vec<ArrayId> = symbols.latents().collect();
    let axes = match axis {
        None => component_axes(symbols),
        Some(name) => match symbols.axes.iter().position(|own| own.name == name) {
            Some(place) => vec![AxisId::from(place)],
            None => {
                let known: Vec<&str> = symbols.axes.iter().map(|own| own.name.as_str()).collect();
                let message = format!("`--axis {name}`: the program has no axis of this name");
                return Err(DataError::unknown(message, name, &known));
            }
        },
    };
    if let Some(name) = variable {
        let known: Vec<&str> = latents.iter().map(|own| symbols.array(*own).name.as_str()).collect();
        if !known.contains(&name) {
            let message = format!("`--variable {name}`: the program has no latent of this name");
            return Err(DataError::unknown(message, name, &known));
        }
    }
    let rows = RowAxes::of(model).ok();
    // What data are made from comes before what that is made from.
    let is_read = |array: ArrayId| {
        let observed = model.statements.iter().filter(|own| own.observed);
        let mut found = false;
        observed
            .flat_map(|own| own.arguments.iter().flatten())
            .for_each(|own| own.value.visit_values(&mut |other, _| found |= other == array));
        found
    };
    // For each axis the latents along it and others, those that rows share before those of rows.
    let mut found: BTreeMap<AxisId, (bool, Vec<ArrayId>)> = BTreeMap::new();
    for array in latents {
        let own = axes_of(symbols, array);
        if variable.is_some_and(|name| symbols.array(array).name != name) || own.len() < 2 {
            continue;
        }
        let of_rows = rows.as_ref().is_some_and(|rows| rows.has_rows(array));
        for axis in axes.iter().filter(|axis| own.iter().filter(|own| own == axis).count() == 1) {
            let of_data =
                own.iter().filter(|own| *own != axis).all(|own| !component_axes(symbols).contains(own));
            // Groups that are components themselves stand in no order.
            let of_components =
                std::iter::successors(symbols.axis(*axis).parent, |own| symbols.axis(*own).parent)
                    .any(|own| component_axes(symbols).contains(&own));
            if of_components {
                continue;
            }
            let is_better = !of_rows && of_data && is_read(array);
            let entry = found.entry(*axis).or_insert((is_better, Vec::new()));
            if is_better && !entry.0 {
                *entry = (true, Vec::new());
            }
            if is_better == entry.0 {
                entry.1.push(array);
            }
        }
    }
    let name_of = |axis: &AxisId| symbols.axis(*axis).name.as_str();
    let best = found.values().any(|(better, _)| *better);
    found.retain(|_, (better, _)| *better == best);
    match found.iter().next() {
        None => Err(DataError::new("there is no latent along an axis of components and another one")
            .possible("an axis that no data have, such as topics or factors, along which a latent runs")
            .help("--variable and --axis name them")),
        Some((axis, (_, latents))) if found.len() == 1 => Ok((latents[0], *axis)),
        Some(_) => {
            let names: Vec<&str> = found.keys().map(name_of).collect();
            Err(DataError::new(format!("components may run along {}", crate::bind::list(&names)))
                .help(format!("--axis {}", names[0])))
        }
    }
}

impl Components {
    /// Those of a directory: of a fit, or of what `cavi simulate` drew.
    ///
    /// # Errors
    /// A directory that holds neither, and as [`chosen`].
    pub fn of_directory(
        directory: &Path,
        variable: Option<&str>,
        axis: Option<&str>,
    ) -> Result<Components, Error> {
        if !directory.exists() {
            return Err(DataError::new(format!(
                "`{}`: found no such directory or file",
                directory.display()
            ))
            .possible("the directory of a fit, or one that `cavi simulate` wrote; as the second a table too")
            .into());
        }
        let is_simulated = directory.join(SIMULATED).is_file() && !directory.join("summary.json").is_file();
        match is_simulated {
            true => Components::of_simulated(directory, variable, axis),
            false => Components::of_fit(directory, variable, axis),
        }
    }

    /// Those of a fit.
    ///
    /// # Errors
    /// A directory that holds no fit, and as [`chosen`].
    pub fn of_fit(directory: &Path, variable: Option<&str>, axis: Option<&str>) -> Result<Components, Error> {
        let model = crate::summary::model(directory)?;
        let (array, axis) = chosen(&model, variable, axis)?;
        let has_free_signs = has_free_signs(&model, array, axis);
        let name = &model.symbols.array(array).name;
        let above = ancestors(&model.symbols, axis);
        let axis = &model.symbols.axis(axis).name;
        let mut found: Option<Components> = None;
        for own in variables(directory, Some(name))? {
            let own = Components { has_free_signs, ..Components::of_variable(&own, name, axis, &above) };
            match &mut found {
                None => found = Some(own),
                Some(all) => all.extend(own),
            }
        }
        found.ok_or_else(|| DataError::new(format!("`{name}` has no mean of its own")).into())
    }

    /// Adds what stands at other labels: numbers of the same components, or of those of another group.
    fn extend(&mut self, other: Components) {
        let before = self.labels.len();
        self.labels.extend(other.labels);
        for ((name, group), values) in other.names.into_iter().zip(other.groups).zip(other.values) {
            let known = self.names.iter().position(|own| *own == name);
            let place = known.unwrap_or_else(|| {
                self.names.push(name);
                self.groups.push(group);
                self.values.push(vec![0.0; before]);
                self.names.len() - 1
            });
            self.values[place].extend(values);
        }
        let count = self.labels.len();
        self.values.iter_mut().for_each(|own| own.resize(count, 0.0));
    }

    fn of_variable(variable: &Variable, name: &str, axis: &str, above: &[String]) -> Components {
        let place = variable.axes.iter().position(|(own, _)| own == axis).unwrap_or(0);
        let shape: Vec<usize> = variable.axes.iter().map(|(_, labels)| labels.len()).collect();
        let label = |dimension: usize, position: usize| vec![variable.axes[dimension].1[position].clone()];
        let group: Vec<String> = variable.group.iter().map(|(_, label)| label.clone()).collect();
        let own = variable.group.iter().filter(|(axis, _)| above.contains(axis));
        let own: Vec<&str> = own.map(|(_, label)| label.as_str()).collect();
        let (groups, names) = in_group(&own.join("/"), &variable.axes[place].1);
        let (labels, values) = split(&variable.values, &shape, place, &group, &label);
        Components {
            variable: name.to_owned(),
            axis: axis.to_owned(),
            names,
            groups,
            labels,
            values,
            signed: variable.signed,
            has_free_signs: false,
        }
    }

    /// Those of a fit in memory; `None` where the latent has no mean of its own.
    pub fn of_parameters(
        problem: &Problem,
        parameters: &Parameters,
        array: ArrayId,
        axis: AxisId,
    ) -> Option<Components> {
        let given = problem.as_given();
        let symbols = &given.equations.symbols;
        let mean = crate::means::mean(&given.equations, &given.binding.bound, parameters, array)?;
        let dimensions: Vec<Dimension<'_>> =
            mean.axes.iter().map(|axis| Dimension::new(given, *axis)).collect();
        let place = mean.axes.iter().position(|own| *own == axis)?;
        let label = |dimension: usize, position: usize| dimensions[dimension].labels(position);
        let paths: Vec<Vec<String>> = (0..mean.shape[place]).map(|position| label(place, position)).collect();
        let names = paths.iter().map(|own| own.join("/")).collect();
        let groups = paths.iter().map(|own| own[..own.len().saturating_sub(1)].join("/")).collect();
        // Where other axes are ragged in the same groups, a component has nothing in those of others.
        let existing = Existing::of(symbols, &given.binding.bound.axes, symbols.array(array));
        let mut values = mean.values.clone();
        for (cell, value) in values.iter_mut().enumerate().filter(|_| existing.is_tied()) {
            if !existing.is_there(&crate::heldout::unflat(&mean.shape, cell)) {
                *value = 0.0;
            }
        }
        let (labels, values) = split(&values, &mean.shape, place, &[], &label);
        let own = symbols.array(array);
        let signed = mean.values.iter().any(|value| *value < 0.0);
        let has_free_signs = has_free_signs(&given.model, array, axis);
        let (variable, axis) = (own.name.clone(), symbols.axis(axis).name.clone());
        Some(Components { variable, axis, names, groups, labels, values, signed, has_free_signs })
    }

    /// Those of a table, a column or a row each: the labels of the other side are those of `like`, and signs are free where its are. An empty cell is NaN.
    ///
    /// # Errors
    /// A file that cannot be read, with an infinite number, without labels, or of which none is among those of `like`. Whole numbers in the first
    /// column are labels.
    pub fn of_table(path: &Path, like: &Components) -> Result<Components, Error> {
        let dimensions = ["label", &like.axis].map(|axis| cavi_files::Dimension { axis, letter: None });
        let options =
            ReadOptions { dimensions: &dimensions, is_wide: true, is_named: true, ..ReadOptions::default() };
        let content = cavi_files::read(path, &options)?;
        content.refuse_infinite(path)?;
        let wrong = |what: &str| {
            DataError::new(format!("{}: {what}", path.display())).possible(
                "a table of numbers with the names of its rows and columns: a component a column, or a row",
            )
        };
        let Content::Dense(dense) = content else {
            return Err(wrong("found no table of rows and columns").into());
        };
        let (Values::Numbers(values), [Some(rows), Some(columns)]) = (&dense.values, dense.labels.as_slice())
        else {
            return Err(wrong("found a table without the names of its rows and columns").into());
        };
        let known = |labels: &[String]| labels.iter().filter(|label| like.labels.contains(label)).count();
        let (of_rows, of_columns) = (known(rows), known(columns));
        if of_rows == 0 && of_columns == 0 {
            return Err(wrong(&format!(
                "no label is one of `{}`, such as `{}`",
                like.variable,
                like.labels.first().map_or("", String::as_str)
            ))
            .into());
        }
        let place = usize::from(of_rows >= of_columns);
        let both = [rows, columns];
        let label = |dimension: usize, position: usize| vec![both[dimension][position].clone()];
        let (labels, split) = split(values, &dense.shape, place, &[], &label);
        let group = |name: &String| {
            let is_in = |group: &&String| {
                group.is_empty() || name.strip_prefix(group.as_str()).is_some_and(|own| own.starts_with('/'))
            };
            like.groups.iter().find(is_in).cloned()
        };
        let groups: Option<Vec<String>> = both[place].iter().map(group).collect();
        let Some(groups) = groups else {
            return Err(wrong(&format!(
                "`{}` has components of its own in each group, and a column or row of the table is in none",
                like.variable
            ))
            .possible(format!("names with their group, such as `{}`", like.names[0]))
            .into());
        };
        Ok(Components {
            variable: path.display().to_string(),
            axis: like.axis.clone(),
            names: both[place].clone(),
            groups,
            labels,
            signed: split.iter().flatten().any(|value| *value < 0.0),
            has_free_signs: like.has_free_signs,
            values: split,
        })
    }
}

/// The names of the axes that an axis is ragged in.
fn ancestors(symbols: &Symbols, axis: AxisId) -> Vec<String> {
    let above = std::iter::successors(symbols.axis(axis).parent, |own| symbols.axis(*own).parent);
    above.map(|own| symbols.axis(own).name.clone()).collect()
}

/// The groups of components and their names.
type Named = (Vec<String>, Vec<String>);

/// Components of these labels in a group.
fn in_group(group: &str, labels: &[String]) -> Named {
    let name = |label: &String| if group.is_empty() { label.clone() } else { format!("{group}/{label}") };
    (vec![group.to_owned(); labels.len()], labels.iter().map(name).collect())
}

fn in_no_group(labels: Vec<String>) -> Named {
    (vec![String::new(); labels.len()], labels)
}

/// Whether the components of a latent may be turned around.
fn has_free_signs(model: &Model, array: ArrayId, axis: AxisId) -> bool {
    model.symbols.array(array).support == Support::Real && crate::signs::are_free(model, axis)
}

/// The labels of the positions on all dimensions but one, and the numbers of each position on that.
fn split(
    values: &[f64],
    shape: &[usize],
    place: usize,
    group: &[String],
    label: &dyn Fn(usize, usize) -> Vec<String>,
) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut labels = Vec::new();
    let mut components = vec![Vec::new(); shape[place]];
    for (cell, value) in values.iter().enumerate() {
        let position = crate::heldout::unflat(shape, cell);
        if position[place] == 0 {
            let others = (0..shape.len()).filter(|dimension| *dimension != place);
            let own = others.flat_map(|dimension| label(dimension, position[dimension]));
            labels.push(group.iter().cloned().chain(own).collect::<Vec<_>>().join("/"));
        }
        components[position[place]].push(*value);
    }
    (labels, components)
}

/// Which components are empty: shorter than this share of the longest. Relevance determination leaves such ones, whose directions are rounding.
fn empty(components: &[Vec<f64>]) -> Vec<bool> {
    const SHARE: f64 = 1e-9;
    let known =
        |own: &Vec<f64>| own.iter().filter(|value| !value.is_nan()).map(|value| value * value).sum::<f64>();
    let length = |own: &Vec<f64>| known(own).sqrt();
    let lengths: Vec<f64> = components.iter().map(length).collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    lengths.into_iter().map(|own| own <= SHARE * longest).collect()
}

/// Refuses components with an infinite number, which have no direction.
fn refuse_infinite(own: &Components) -> Result<(), DataError> {
    for (name, values) in own.names.iter().zip(&own.values) {
        if let Some(place) = values.iter().position(|value| value.is_infinite()) {
            let label = own.labels.get(place).map_or("", String::as_str);
            return Err(DataError::new(format!(
                "`{}`: the component `{name}` is infinite at `{label}`, and has no direction",
                own.variable
            ))
            .possible("components of finite numbers"));
        }
    }
    Ok(())
}

/// Matches components, over the labels that both sides have. A label at which a component of either side has no number (NaN) is left out, as
/// one that a side lacks.
///
/// # Errors
/// Components without a common label; an infinite number.
pub fn matching(a: &Components, b: &Components) -> Result<Matching, DataError> {
    let places: HashMap<&str, usize> =
        b.labels.iter().enumerate().map(|(place, label)| (label.as_str(), place)).collect();
    for own in [a, b] {
        refuse_infinite(own)?;
    }
    let pairs = a.labels.iter().enumerate();
    let pairs = pairs.filter_map(|(place, label)| Some((place, *places.get(label.as_str())?)));
    let has = |own: &Components, place: usize| own.values.iter().all(|values| !values[place].is_nan());
    let (common, missing): (Vec<_>, Vec<_>) = pairs.partition(|pair| has(a, pair.0) && has(b, pair.1));
    if let (true, Some((place, _))) = (common.is_empty(), missing.first()) {
        return Err(DataError::new(format!(
            "`{}` and `{}` have no label in common at which all components have a number: at `{}` one has none",
            a.variable, b.variable, a.labels[*place]
        )));
    }
    if common.is_empty() {
        let first = |own: &Components| own.labels.first().cloned().unwrap_or_default();
        return Err(DataError::new(format!(
            "`{}` and `{}` have no label in common: one has `{}`, the other `{}`",
            a.variable,
            b.variable,
            first(a),
            first(b)
        ))
        .help("--variable names a latent over an axis that both have"));
    }
    let unit = |values: &[f64], places: &mut dyn Iterator<Item = usize>| -> Vec<f64> {
        let own: Vec<f64> = places.map(|place| values[place]).collect();
        let length = own.iter().map(|value| value * value).sum::<f64>().sqrt();
        own.into_iter().map(|value| if length > 0.0 { value / length } else { 0.0 }).collect()
    };
    let of_a: Vec<Vec<f64>> =
        a.values.iter().map(|own| unit(own, &mut common.iter().map(|pair| pair.0))).collect();
    let of_b: Vec<Vec<f64>> =
        b.values.iter().map(|own| unit(own, &mut common.iter().map(|pair| pair.1))).collect();
    let is_free = a.has_free_signs || b.has_free_signs;
    let size = |cosine: &f64| if is_free { cosine.abs() } else { *cosine };
    let columns = of_b.len();
    let mut cosines = vec![0.0; of_a.len() * columns];
    let (mut pairs, mut mixtures) = (Vec::new(), Vec::new());
    let groups: BTreeSet<&String> = a.groups.iter().collect();
    for group in groups {
        let within = |own: &Components| -> Vec<usize> {
            (0..own.groups.len()).filter(|place| own.groups[*place] == *group).collect()
        };
        let (rows, others) = (within(a), within(b));
        let of_group: Vec<f64> =
            rows.iter().flat_map(|a| others.iter().map(|b| dot(&of_a[*a], &of_b[*b]))).collect();
        let weights: Vec<f64> = of_group.iter().map(size).collect();
        let assigned = assignment(&weights, rows.len(), others.len());
        let between: Vec<f64> = others
            .iter()
            .flat_map(|one| others.iter().map(|other| dot(&of_b[*one], &of_b[*other])))
            .collect();
        for (place, (a, b)) in rows.iter().zip(assigned).enumerate() {
            let own = &of_group[place * others.len()..(place + 1) * others.len()];
            others.iter().zip(own).for_each(|(b, cosine)| cosines[a * columns + b] = *cosine);
            pairs.extend(b.map(|b| Pair { a: *a, b: others[b], cosine: own[b] }));
            let found = mixture(*a, own, &between, is_free);
            mixtures.extend(found.map(|own| Mixture { parts: own.parts.map(|part| others[part]), ..own }));
        }
    }
    pairs.sort_by_key(|own| own.a);
    mixtures.sort_by_key(|own| own.a);
    let (empty_a, empty_b) = (empty(&a.values), empty(&b.values));
    let kept: Vec<f64> = pairs
        .iter()
        .filter(|pair| !(empty_a[pair.a] && empty_b[pair.b]))
        .map(|pair| size(&pair.cosine))
        .collect();
    let stability = kept.iter().sum::<f64>() / kept.len() as f64;
    Ok(Matching { pairs, mixtures, cosines, common: common.len(), has_free_signs: is_free, stability })
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The best combination of two components, by their cosines with one and with each other.
fn mixture(a: usize, cosines: &[f64], between: &[f64], is_free: bool) -> Option<Mixture> {
    let count = cosines.len();
    let mut best: Option<Mixture> = None;
    for first in 0..count {
        for second in first + 1..count {
            let (g, h, r) = (cosines[first], cosines[second], between[first * count + second]);
            let rest = 1.0 - r * r;
            // Of the same direction they are one.
            if rest < 1e-12 {
                continue;
            }
            let weights = [(g - r * h) / rest, (h - r * g) / rest];
            if weights.contains(&0.0) || !is_free && weights.iter().any(|weight| *weight < 0.0) {
                continue;
            }
            let cosine = (g * weights[0] + h * weights[1]).max(0.0).sqrt();
            if best.as_ref().is_none_or(|own| cosine > own.cosine) {
                best = Some(Mixture { a, parts: [first, second], weights, cosine });
            }
        }
    }
    // What one of them does alone is no mixture.
    let alone = cosines.iter().map(|own| if is_free { own.abs() } else { *own }).fold(0.0, f64::max);
    best.filter(|own| own.cosine > alone + 1e-6)
}

/// How alike the components of several fits are: the mean stability over all pairs of them; `None` with fewer than two.
pub fn stability(all: &[Components]) -> Option<f64> {
    let pairs = all
        .iter()
        .enumerate()
        .flat_map(|(place, one)| all[place + 1..].iter().map(move |other| (one, other)));
    let each: Vec<f64> =
        pairs.filter_map(|(one, other)| Some(matching(one, other).ok()?.stability)).collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(values: &[&[f64]], labels: &[&str], signed: bool) -> Components {
        Components {
            variable: "h".to_owned(),
            axis: "part".to_owned(),
            names: (0..values.len()).map(|place| place.to_string()).collect(),
            groups: vec![String::new(); values.len()],
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            values: values.iter().map(|own| own.to_vec()).collect(),
            signed,
            has_free_signs: signed,
        }
    }

    #[test]
    fn components_are_matched_by_label() {
        let a = components(&[&[1.0, 0.0, 0.0], &[0.0, 1.0, 1.0]], &["x", "y", "z"], false);
        // The same, in another order, of other lengths, and with a label more.
        let b = components(&[&[3.0, 3.0, 9.0, 0.0], &[0.0, 0.0, 9.0, 2.0]], &["z", "y", "u", "x"], false);
        let found = matching(&a, &b).unwrap();
        assert_eq!(found.pairs.iter().map(|own| (own.a, own.b)).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
        assert!((found.stability - 1.0).abs() < 1e-15 && found.common == 3);
        assert!(matching(&a, &components(&[&[1.0]], &["other"], false)).is_err());
    }

    #[test]
    fn labels_without_a_number_are_left_out_on_both_sides() {
        let nan = f64::NAN;
        let a = components(&[&[3.0, 4.0, nan], &[4.0, -3.0, 1.0]], &["x", "y", "z"], true);
        let b = components(&[&[4.0, -3.0, 5.0], &[3.0, 4.0, 5.0]], &["x", "y", "z"], true);
        let found = matching(&a, &b).unwrap();
        assert_eq!((found.common, found.stability), (2, 1.0));
        assert_eq!(found.pairs.iter().map(|own| own.b).collect::<Vec<_>>(), [1, 0]);
        // It does not matter which side lacks the number.
        let turned = matching(&b, &a).unwrap();
        assert_eq!((turned.common, turned.stability), (2, 1.0));
        let nothing = components(&[&[nan, nan, nan]], &["x", "y", "z"], true);
        assert!(matching(&a, &nothing).unwrap_err().to_string().contains("no label in common at which"));
        let infinite = components(&[&[1.0, f64::INFINITY, 0.0]], &["x", "y", "z"], true);
        assert!(matching(&infinite, &b).unwrap_err().to_string().contains("infinite at `y`"));
    }

    /// A component of one group is none of another, however alike they are.
    #[test]
    fn components_of_groups_are_matched_within_them() {
        let in_groups = |values: &[&[f64]]| {
            let own = components(values, &["A/x", "A/y", "B/x", "B/y"], false);
            Components { groups: ["A", "A", "B"].map(str::to_owned).to_vec(), ..own }
        };
        let a = in_groups(&[&[1.0, 0.0, 0.0, 0.0], &[0.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 1.0, 1.0]]);
        let b = in_groups(&[&[0.0, 2.0, 0.0, 0.0], &[3.0, 0.0, 0.0, 0.0], &[0.0, 0.0, -1.0, -1.0]]);
        let found = matching(&a, &b).unwrap();
        assert_eq!(
            found.pairs.iter().map(|own| (own.a, own.b)).collect::<Vec<_>>(),
            [(0, 1), (1, 0), (2, 2)]
        );
        assert!((found.stability - (1.0 + 1.0 - 1.0) / 3.0).abs() < 1e-15);
    }

    /// The centres of two classes opposite of each other, and of one of them in another fit.
    #[test]
    fn a_component_with_a_sign_of_its_own_is_not_turned_around() {
        let fixed =
            |values: &[&[f64]]| Components { has_free_signs: false, ..components(values, &["x", "y"], true) };
        let (one, both) = (fixed(&[&[-3.0, -1.0]]), fixed(&[&[3.0, 1.0], &[-3.0, -2.0]]));
        let found = matching(&one, &both).unwrap();
        // (3 * 3 + 1 * 2) / sqrt(10 * 13), and not -1 with the opposite one.
        assert_eq!(found.pairs[0].b, 1);
        assert!((found.stability - 11.0 / 130.0_f64.sqrt()).abs() < 1e-15);
        assert!(found.mixtures.is_empty());
        // With nothing else to be matched with, what is opposite is not alike.
        let found = matching(&one, &fixed(&[&[3.0, 1.0]])).unwrap();
        assert!(
            (found.stability + 1.0).abs() < 1e-15 && (found.likeness(&found.pairs[0]) + 1.0).abs() < 1e-15
        );
        // Where one side may be turned around, so may the pair.
        let found = matching(&one, &components(&[&[3.0, 1.0]], &["x", "y"], true)).unwrap();
        assert!((found.stability - 1.0).abs() < 1e-15);
    }

    #[test]
    fn signs_and_mixtures_are_told() {
        let a = components(&[&[-1.0, 0.0], &[3.0, 4.0]], &["x", "y"], true);
        let b = components(&[&[2.0, 0.0], &[0.0, 1.0]], &["x", "y"], true);
        let found = matching(&a, &b).unwrap();
        assert_eq!(found.pairs[0], Pair { a: 0, b: 0, cosine: -1.0 });
        assert!((found.pairs[1].cosine - 0.8).abs() < 1e-15);
        let mixture = &found.mixtures[0];
        assert_eq!((mixture.a, mixture.parts), (1, [0, 1]));
        assert!((mixture.cosine - 1.0).abs() < 1e-12);
        assert!((mixture.weights[0] - 0.6).abs() < 1e-12 && (mixture.weights[1] - 0.8).abs() < 1e-12);
    }
}
