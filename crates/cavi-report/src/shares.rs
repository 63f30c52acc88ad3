//! How much of a fit each component holds.
//!
//! Where `summary.json` has the shares of components in data ([`cavi::components`]), they are these, so that a page says what `cavi summary` says. Where
//! it has none, latents alone are looked at, with three measures, by what a program has. A vector of probabilities over the components holds shares by itself: averaged over its copies,
//! they are the expected part of the data that each component explains. Otherwise factors that enter the density of data are multiplied:
//! of x_ij ≈ Σ_k a_ik b_kj with nonnegative factors component k holds Σ_ij a_ik b_kj = (Σ_i a_ik)(Σ_j b_kj), and of real ones, which
//! cancel each other, the sum of squares Σ_ij (a_ik b_kj)² = (Σ_i a_ik²)(Σ_j b_kj²). Neither changes when a factor is scaled up and
//! the other down. A scale s_k of the same product multiplies the sum, or by its square the sum of squares.

use cavi::components::ACTIVE;
use cavi::summary::Variable;
use cavi_algebra::{ArrayId, AxisId, Expression, Support};
use serde_json::Value;

use crate::fitted::{Fitted, base_name};

/// The shares of the components on an axis.
pub(crate) struct Shares {
    /// The axis of components.
    pub axis: String,
    /// What a file of them is called.
    pub name: String,
    /// Their labels.
    pub labels: Vec<String>,
    /// The variables that the shares are of.
    pub variables: Vec<String>,
    /// What is shared, in words.
    pub what: String,
    /// For each group (of views; one without a name where there are none) its name, and the share of each component.
    pub groups: Vec<(String, Vec<f64>)>,
    /// The share of each component in everything.
    pub total: Vec<f64>,
}

impl Shares {
    /// How many components have at least one percent, of all or of a group.
    pub fn active(&self) -> usize {
        let is_active = |place: &usize| {
            let mut all = self.groups.iter().map(|(_, own)| own[*place]).chain([self.total[*place]]);
            all.any(|own| own >= ACTIVE)
        };
        (0..self.total.len()).filter(is_active).count()
    }
}

/// The shares on each axis of components; nothing where no latent has them.
pub(crate) fn shares(fitted: &Fitted) -> Vec<Shares> {
    let symbols = &fitted.compiled.model.symbols;
    let named = |axis: AxisId| symbols.axis(axis).name.clone();
    let axes: Vec<String> = (0..symbols.axes.len()).map(|own| named(AxisId::from(own))).collect();
    let of_components = axes.iter().filter(|own| fitted.is_of_components(own));
    let own = |axis: &String| match stored(fitted, axis) {
        own if own.is_empty() => of_axis(fitted, axis),
        own => own,
    };
    of_components.flat_map(own).collect()
}

/// The shares that `summary.json` has of the components on an axis, one for each array of data.
fn stored(fitted: &Fitted, axis: &str) -> Vec<Shares> {
    let arrays = fitted.summary["components"].as_object();
    let all: Vec<(&String, &Value)> =
        arrays.into_iter().flatten().filter_map(|(array, own)| Some((array, own.get(axis)?))).collect();
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().into_iter().flatten().map(|own| own.as_f64().unwrap_or(0.0)).collect()
    };
    let of = |(array, own): &(&String, &Value)| {
        let texts = own["labels"].as_array().into_iter().flatten();
        let labels: Vec<String> = texts.filter_map(|own| own.as_str().map(str::to_owned)).collect();
        let total = numbers(&own["shares"]);
        let groups = own["groups"].as_object().into_iter().flatten();
        let mut groups: Vec<(String, Vec<f64>)> =
            groups.map(|(label, own)| (label.clone(), numbers(own))).collect();
        if groups.is_empty() {
            groups.push((String::new(), total.clone()));
        }
        let is_whole = labels.len() > 1
            && groups.iter().map(|own| &own.1).chain([&total]).all(|own| own.len() == labels.len());
        let name = if all.len() > 1 { format!("{axis}-{array}-shares") } else { format!("{axis}-shares") };
        let what = own["measure"].as_str().unwrap_or_default().to_owned();
        let variables = vec![(*array).clone()];
        is_whole.then(|| Shares { axis: axis.to_owned(), name, labels, variables, what, groups, total })
    };
    all.iter().filter_map(of).collect()
}

/// Those of a ragged axis group by group, each with components of its own.
fn of_axis(fitted: &Fitted, axis: &str) -> Vec<Shares> {
    let over = |own: &&Variable| {
        own.axes.iter().filter(|(name, _)| name == axis).count() == 1 && !own.values.is_empty()
    };
    let all: Vec<&Variable> = fitted.variables.iter().filter(over).collect();
    let symbols = &fitted.compiled.model.symbols;
    let parent = |own: &AxisId| symbols.axis(*own).parent;
    let own = (0..symbols.axes.len()).map(AxisId::from).find(|own| symbols.axis(*own).name == axis);
    let above: Vec<String> = std::iter::successors(own.as_ref().and_then(parent), parent)
        .map(|own| symbols.axis(own).name.clone())
        .collect();
    let of_axis = |own: &Variable| -> Vec<String> {
        let group = own.group.iter().filter(|(axis, _)| above.contains(axis));
        group.map(|(_, label)| label.clone()).collect()
    };
    let mut groups: Vec<Vec<String>> = Vec::new();
    for own in &all {
        let group = of_axis(own);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let of_group = |group: &Vec<String>| {
        let within = all.iter().copied().filter(|own| of_axis(own) == *group).collect();
        of_components(fitted, axis, within, &above)
    };
    groups.iter().filter_map(of_group).collect()
}

/// Those of the components that are alike in all of these variables. What a variable is in beside the groups of the axis itself are groups of the data.
fn of_components(fitted: &Fitted, axis: &str, all: Vec<&Variable>, above: &[String]) -> Option<Shares> {
    let first = all.first()?;
    let labels = first.axes.iter().find(|(name, _)| name == axis)?.1.clone();
    if labels.len() < 2 {
        return None;
    }
    let own: Vec<&str> = first
        .group
        .iter()
        .filter(|(axis, _)| above.contains(axis))
        .map(|(_, label)| label.as_str())
        .collect();
    let labels: Vec<String> =
        labels.into_iter().map(|label| [&own[..], &[&label]].concat().join("/")).collect();
    let name = [&[axis], &own[..], &["shares"]].concat().join("-");
    let group_of = |own: &Variable| -> Vec<String> {
        let others = own.group.iter().filter(|(axis, _)| !above.contains(axis));
        others.map(|(_, label)| label.clone()).collect()
    };
    // Shares by themselves: the innermost slice of the statement is this axis.
    let is_share = |own: &&&Variable| {
        let array = fitted.array(own);
        let last = own.axes.last().is_some_and(|(name, _)| name == axis);
        last && (own.parameter == "prob" || array.is_some_and(|own| own.support == Support::Simplex))
    };
    if let Some(variable) = all.iter().find(is_share) {
        let sums = sums(variable, axis, false);
        let total = normalised(&sums)?;
        let variables = vec![base_name(variable).to_owned()];
        let groups = vec![(String::new(), total.clone())];
        let what = "probability".to_owned();
        return Some(Shares { axis: axis.to_owned(), name, labels, variables, what, groups, total });
    }
    let in_data =
        |own: &&&Variable| own.axes.len() + own.group.len() > 1 && enters_data(fitted, base_name(own));
    let factors: Vec<&Variable> = all.iter().filter(in_data).copied().collect();
    let is_signed = factors.iter().any(|own| own.signed);
    let factors: Vec<&Variable> = factors.into_iter().filter(|own| own.signed == is_signed).collect();
    if factors.is_empty() {
        return None;
    }
    let is_scale =
        |own: &&&Variable| own.axes.len() + own.group.len() == 1 && scales(fitted, base_name(own), &factors);
    let scales: Vec<&Variable> = all.iter().filter(is_scale).copied().collect();
    let signed = is_signed || scales.iter().any(|own| own.signed);
    let factors: Vec<&Variable> = scales.into_iter().chain(factors).collect();
    let mut names: Vec<String> = factors.iter().map(|own| base_name(own).to_owned()).collect();
    names.dedup();
    // What is in groups is multiplied with what is in none.
    let mut common = vec![1.0; labels.len()];
    for factor in factors.iter().filter(|own| group_of(own).is_empty()) {
        let own = sums(factor, axis, signed);
        common.iter_mut().zip(own).for_each(|(all, own)| *all *= own);
    }
    let mut raw: Vec<(String, Vec<f64>)> = Vec::new();
    for factor in factors.iter().filter(|own| !group_of(own).is_empty()) {
        let name = group_of(factor);
        let held: Vec<f64> =
            sums(factor, axis, signed).iter().zip(&common).map(|(own, all)| own * all).collect();
        raw.push((name.join("/"), held));
    }
    if raw.is_empty() {
        raw.push((String::new(), common));
    }
    let mut all = vec![0.0; labels.len()];
    raw.iter().for_each(|(_, own)| all.iter_mut().zip(own).for_each(|(all, own)| *all += own));
    let total = normalised(&all)?;
    let groups: Option<Vec<(String, Vec<f64>)>> =
        raw.into_iter().map(|(name, own)| Some((name, normalised(&own)?))).collect();
    let what = if signed { "sum of squares" } else { "sum" }.to_owned();
    Some(Shares { axis: axis.to_owned(), name, labels, variables: names, what, groups: groups?, total })
}

/// The sum of the values of a variable at each position of an axis, or of their squares.
fn sums(variable: &Variable, axis: &str, squares: bool) -> Vec<f64> {
    let place = variable.axes.iter().position(|(name, _)| name == axis).unwrap_or(0);
    let size = variable.axes[place].1.len();
    let after: usize = variable.axes[place + 1..].iter().map(|(_, labels)| labels.len()).product();
    let mut sums = vec![0.0; size];
    for (cell, value) in variable.values.iter().enumerate() {
        sums[cell / after.max(1) % size] += if squares { value * value } else { *value };
    }
    sums
}

fn normalised(values: &[f64]) -> Option<Vec<f64>> {
    let total: f64 = values.iter().sum();
    (total.is_finite() && total > 0.0).then(|| values.iter().map(|own| own / total).collect())
}

/// Whether a latent is a factor of a product that the distribution of some data reads, definitions written out.
fn enters_data(fitted: &Fitted, name: &str) -> bool {
    let model = &fitted.compiled.model;
    let Some(id) = model.symbols.find(name) else { return false };
    let statements = model.statements.iter().filter(|own| own.observed);
    let mut values = statements.flat_map(|own| own.arguments.iter().flatten()).map(|own| &own.value);
    values.any(|own| is_factor(own, id))
}

/// Whether a latent multiplies one of these factors in what the distribution of some data reads.
fn scales(fitted: &Fitted, name: &str, factors: &[&Variable]) -> bool {
    let model = &fitted.compiled.model;
    let Some(id) = model.symbols.find(name) else { return false };
    let others: Vec<ArrayId> = factors
        .iter()
        .filter_map(|own| model.symbols.find(base_name(own)))
        .filter(|own| *own != id)
        .collect();
    let statements = model.statements.iter().filter(|own| own.observed);
    let mut values = statements.flat_map(|own| own.arguments.iter().flatten()).map(|own| &own.value);
    values.any(|own| multiplies(own, id, &others))
}

/// Whether an array stands in a product of an expression with one of some others, each as a factor.
fn multiplies(expression: &Expression, array: ArrayId, others: &[ArrayId]) -> bool {
    match expression {
        Expression::Multiply(parts) => {
            let own = parts.iter().position(|part| is_factor(part, array));
            let is_other = |(place, part): (usize, &Expression)| {
                Some(place) != own && others.iter().any(|other| is_factor(part, *other))
            };
            own.is_some() && parts.iter().enumerate().any(is_other)
                || parts.iter().any(|part| multiplies(part, array, others))
        }
        Expression::Sum(_, body) => multiplies(body, array, others),
        Expression::Add(parts) => parts.iter().any(|own| multiplies(own, array, others)),
        Expression::Value(..)
        | Expression::Number(_)
        | Expression::Indicator(..)
        | Expression::Power(..)
        | Expression::Apply(..)
        | Expression::Position(_)
        | Expression::OfMatrix(..) => false,
    }
}

/// Whether an array stands in an expression as a factor, inside of no function.
fn is_factor(expression: &Expression, array: ArrayId) -> bool {
    match expression {
        Expression::Value(own, _) => *own == array,
        Expression::Sum(_, body) => is_factor(body, array),
        Expression::Add(parts) | Expression::Multiply(parts) => parts.iter().any(|own| is_factor(own, array)),
        Expression::Number(_)
        | Expression::Indicator(..)
        | Expression::Power(..)
        | Expression::Apply(..)
        | Expression::Position(_)
        | Expression::OfMatrix(..) => false,
    }
}
