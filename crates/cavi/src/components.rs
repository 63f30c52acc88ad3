//! How much of the data each component of a fit holds, by array, axis of components and group.
//!
//! Axes of components are those that a program gives a size itself, along which no data lie, and over which the mean of some data sums or from
//! which an index latent selects ([`component_axes`]). With `E = r + sum_k T_k` the mean of an entry `y` ([`crate::heldout`] says how it is
//! taken apart), component k has
//!
//! - of **numbers** the share of the squares that it takes away by itself, `R^2_k = 1 - sum (y - r - T_k)^2 / sum (y - r)^2`. That is the variance
//!   explained by a factor as MOFA has it (for data that are centred, without `r`). Components that are not orthogonal share what they explain,
//!   so that these numbers need not add up to that of all together; a factor may have less than 0.
//! - of **counts**, units of rows, classes and ones, whose addends are never negative, the share of the units that it is expected to have
//!   brought, `sum y T_k / E` over `sum y`. They add up to 1, with what `r` has.
//! - where one component is **chosen** for each entry, the mean of its probability.
//!
//! A component that has one percent or more, of all or of a group (a view), is active. Entries are those of [`crate::explained`]: of a large
//! array a sample.

use std::collections::BTreeMap;
use std::path::Path;

use cavi_algebra::{ArrayId, AxisId, Support};
use cavi_executor::Parameters;
use cavi_families::Prediction;
use cavi_model::{Model, Statement};
use serde_json::{Map, Value, json};

use crate::directory::number;
use crate::error::Error;
use crate::explained::{group_labels, group_of, observed_entries};
use crate::heldout::baseline::component_axes;
use crate::heldout::{Makes, OfEntries, by_component};
use crate::prepare::Problem;
use crate::summary::{self, Variable};

/// Where there are more groups (documents, pupils' schools) their shares are not kept.
const MOST_GROUPS: usize = 64;

/// A component with a smaller share of everything, and of each group, counts as not active.
pub const ACTIVE: f64 = 0.01;

/// Of what components have shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Of the squares of what the rest of the mean leaves, each by itself.
    Variance,
    /// Of the units, which are shared out.
    Units,
    /// Of the entries, each of which has one component.
    Entries,
}

impl Measure {
    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Measure::Variance => "variance",
            Measure::Units => "units",
            Measure::Entries => "entries",
        }
    }
}

/// The shares of the components of an axis in an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    /// The array.
    pub array: String,
    /// The axis.
    pub axis: String,
    /// Of what they have shares.
    pub measure: Measure,
    /// What each component is called.
    pub labels: Vec<String>,
    /// The share of each.
    pub shares: Vec<f64>,
    /// Those in the groups of a ragged axis, by their labels.
    pub groups: Vec<(String, Vec<f64>)>,
}

impl Components {
    /// Whether a component is active.
    pub fn is_active(&self, component: usize) -> bool {
        let mut all = self.groups.iter().map(|(_, own)| own[component]).chain([self.shares[component]]);
        all.any(|own| own >= ACTIVE)
    }

    /// How many are.
    pub fn n_active(&self) -> usize {
        (0..self.shares.len()).filter(|own| self.is_active(*own)).count()
    }

    /// The components, that with the largest share first.
    pub fn by_share(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.shares.len()).collect();
        order.sort_by(|one, other| self.shares[*other].total_cmp(&self.shares[*one]).then(one.cmp(other)));
        order
    }
}

/// The shares of all components of a fit, by array and axis.
pub fn components(problem: &Problem, parameters: &Parameters, seed: u64, threads: usize) -> Vec<Components> {
    let given = problem.as_given();
    let axes = component_axes(&given.model);
    let mut found = Vec::new();
    for statement in given.model.statements.iter().filter(|own| own.observed) {
        for axis in axes.iter().filter(|axis| given.binding.bound.size(**axis) > 1) {
            found.extend(of(problem, parameters, statement, *axis, (seed, threads)));
        }
    }
    found
}

/// What is summed over the entries of a group.
#[derive(Clone)]
struct Sums {
    all: f64,
    own: Vec<f64>,
    is_negative: bool,
}

fn of(
    problem: &Problem,
    parameters: &Parameters,
    statement: &Statement,
    axis: AxisId,
    settings: (u64, usize),
) -> Option<Components> {
    let given = problem.as_given();
    let symbols = &given.model.symbols;
    let id: ArrayId = statement.target;
    let array = symbols.array(id);
    let is_of_units = match (statement.family.prediction(), array.support) {
        (Prediction::Units | Prediction::Rate | Prediction::Class, _)
        | (Prediction::Trial, Support::Binary | Support::Unit) => true,
        (Prediction::Density, Support::Simplex | Support::PositiveDefinite) => return None,
        (Prediction::Density, _) => false,
        (Prediction::Trial, _) => return None,
    };
    let is_class = matches!(array.support, Support::Index(_));
    let entries = observed_entries(problem, statement)?;
    let (coordinates, values) = (&entries.coordinates, &entries.values);
    if values.is_empty() {
        return None;
    }
    let count = given.binding.bound.size(axis);
    let group_of = group_of(problem, statement);
    let reduce = |own: OfEntries<'_>| {
        let mut sums: BTreeMap<usize, Sums> = BTreeMap::new();
        for (place, entry) in own.entries.clone().enumerate() {
            let group = group_of(&|dimension| coordinates[dimension][entry] as usize);
            let nothing = || Sums { all: 0.0, own: vec![0.0; count], is_negative: false };
            let sums = sums.entry(group).or_insert_with(nothing);
            let (weight, rest) = (own.weights[place], own.rest[place]);
            let parts = own.components.iter().map(|column| column[place]);
            if own.makes == Makes::Choice {
                sums.all += weight;
                sums.own.iter_mut().zip(parts).for_each(|(sum, part)| *sum += weight * part);
            } else if is_of_units {
                let units = weight * if is_class { 1.0 } else { values[entry] };
                let mean = rest + parts.clone().sum::<f64>();
                sums.is_negative |= rest < 0.0 || parts.clone().any(|part| part < 0.0);
                if units > 0.0 && mean > 0.0 {
                    sums.all += units;
                    sums.own.iter_mut().zip(parts).for_each(|(sum, part)| *sum += units * part / mean);
                }
            } else {
                let left = values[entry] - rest;
                sums.all += weight * left * left;
                let own = sums.own.iter_mut().zip(parts);
                own.for_each(|(sum, part)| *sum += weight * (left - part) * (left - part));
            }
        }
        (own.makes, sums)
    };
    let parts = by_component(problem, parameters, (id, axis), (coordinates, values), settings, &reduce)?;
    let makes = parts.first().map(|(makes, _)| *makes)?;
    let mut groups: BTreeMap<usize, Sums> = BTreeMap::new();
    for (group, own) in parts.into_iter().flat_map(|(_, sums)| sums) {
        match groups.get_mut(&group) {
            None => {
                groups.insert(group, own);
            }
            Some(sums) => {
                sums.all += own.all;
                sums.is_negative |= own.is_negative;
                sums.own.iter_mut().zip(own.own).for_each(|(sum, own)| *sum += own);
            }
        }
    }
    if groups.values().any(|own| own.is_negative) {
        return None;
    }
    let measure = match makes {
        Makes::Choice => Measure::Entries,
        Makes::Sum if is_of_units => Measure::Units,
        Makes::Sum => Measure::Variance,
    };
    let shares = |sums: &Sums| -> Vec<f64> {
        let of = |own: &f64| match measure {
            // A group without units, or whose entries the rest meets exactly, has nothing to share out.
            _ if sums.all == 0.0 => 0.0,
            Measure::Variance => 1.0 - own / sums.all,
            Measure::Units | Measure::Entries => own / sums.all,
        };
        sums.own.iter().map(of).collect()
    };
    let nothing = Sums { all: 0.0, own: vec![0.0; count], is_negative: false };
    let total = groups.values().fold(nothing, |mut sum, own| {
        sum.all += own.all;
        sum.own.iter_mut().zip(&own.own).for_each(|(sum, own)| *sum += own);
        sum
    });
    if total.all <= 0.0 || !shares(&total).iter().all(|own| own.is_finite()) {
        return None;
    }
    let labels = (0..count)
        .map(|position| given.binding.labels.path(symbols, &given.binding.bound, axis, position).join("/"))
        .collect();
    let named = group_labels(problem, statement);
    let groups = match named.filter(|_| groups.len() <= MOST_GROUPS) {
        None => Vec::new(),
        Some(label) => groups.iter().map(|(group, own)| (label(*group), shares(own))).collect(),
    };
    Some(Components {
        array: array.name.clone(),
        axis: symbols.axis(axis).name.clone(),
        measure,
        labels,
        shares: shares(&total),
        groups,
    })
}

/// The shares of components that a stored fit keeps in its `summary.json`.
pub struct StoredShares {
    model: Model,
    summary: Value,
}

impl StoredShares {
    /// Those of the fit in a directory.
    ///
    /// # Errors
    /// A directory that holds no fit.
    pub fn open(directory: &Path) -> Result<StoredShares, Error> {
        Ok(StoredShares { model: summary::model(directory)?, summary: summary::json(directory)? })
    }

    /// The share of each component of an axis in the data that a latent helps to make: of units or entries, in the array whose statement reads
    /// the latent, itself or else by way of other latents, and of a ragged one in its group. `None` where no such array has shares.
    pub fn of(&self, variable: &Variable, axis: &str) -> Option<Vec<f64>> {
        let symbols = &self.model.symbols;
        let name = variable.name.split('[').next().unwrap_or(&variable.name);
        let id = symbols.find(name)?;
        let arrays = self.summary["components"].as_object()?;
        let has_shares = |array: &ArrayId| {
            let own = arrays.get(&symbols.array(*array).name)?.get(axis)?;
            (own["measure"] != Measure::Variance.word()).then_some(own)
        };
        let own = self.read_by(id).iter().find_map(has_shares)?;
        let group: Vec<&str> = variable.group.iter().map(|(_, label)| label.as_str()).collect();
        let of_group = own["groups"].get(group.join("/")).filter(|_| !group.is_empty());
        of_group.unwrap_or(&own["shares"]).as_array()?.iter().map(Value::as_f64).collect()
    }

    /// The data whose statements read a latent: those that do so themselves, then those that read latents that do, and so on.
    fn read_by(&self, latent: ArrayId) -> Vec<ArrayId> {
        let mut found: Vec<ArrayId> = Vec::new();
        let mut reached = vec![latent];
        let mut next = 0;
        while next < reached.len() {
            let own = reached[next];
            next += 1;
            for statement in &self.model.statements {
                let mut reads = false;
                for argument in statement.arguments.iter().flatten() {
                    argument.value.visit_values(&mut |array, _| reads |= array == own);
                }
                let target = statement.target;
                if reads && statement.observed && !found.contains(&target) {
                    found.push(target);
                } else if reads && !statement.observed && !reached.contains(&target) {
                    reached.push(target);
                }
            }
        }
        found
    }
}

/// As `summary.json` has them: by array and axis.
pub fn json(all: &[Components]) -> Value {
    let mut arrays = Map::new();
    for own in all {
        let list = |shares: &[f64]| Value::Array(shares.iter().copied().map(number).collect());
        let groups: Map<String, Value> =
            own.groups.iter().map(|(label, shares)| (label.clone(), list(shares))).collect();
        let json = json!({
            "measure": own.measure.word(),
            "labels": own.labels,
            "shares": list(&own.shares),
            "groups": groups,
            "n_active": own.n_active(),
        });
        let entry = arrays.entry(own.array.clone()).or_insert_with(|| Value::Object(Map::new()));
        entry[&own.axis] = json;
    }
    Value::Object(arrays)
}
