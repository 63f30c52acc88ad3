//! The same program with one component: how well it predicts what was held out, and so how much several components are worth.
//!
//! It is fitted to the same data without the same entries, from one start, in at most as many sweeps as the fit had in all its runs. A sweep with
//! one component costs no more than one with several, so neither does this fit.

use cavi_algebra::AxisId;
use serde_json::{Map, Value, json};

use super::baseline::{Baseline, component_axes, means};
use super::{HeldOut, Request, Score};
use crate::bind::{Inputs, SetInput, SetValue};
use crate::compile::Source;
use crate::directory::{number, score_json};
use crate::error::Error;
use crate::fit::{Control, Fit, Progress, Settings};
use crate::prepare::Problem;

/// What stands beside the scores of a fit.
#[derive(Clone, Debug, Default)]
pub struct Baselines {
    /// For each array that is scored, in the same order, the score by the means of rows and columns.
    pub means: Vec<Baseline>,
    /// The same program with one component; `None` where it has no axis of components with more than one.
    pub one: Option<OneComponent>,
}

/// The same program with one component.
#[derive(Clone, Debug)]
pub struct OneComponent {
    /// The axes of components.
    pub axes: Vec<String>,
    /// Its scores, one an array; or why there are none.
    pub scores: Result<Vec<Score>, String>,
    /// How many sweeps it took.
    pub sweeps: u64,
    /// Whether it converged in as many.
    pub converged: bool,
}

/// The data of a fit, and what was held out of it.
#[derive(Clone, Copy, Debug)]
pub struct Split<'a> {
    /// The data.
    pub inputs: &'a Inputs,
    /// What was asked for.
    pub requests: &'a [Request],
    /// The seed of the split.
    pub seed: u64,
    /// What came of it.
    pub held: &'a HeldOut,
}

/// What stands beside the scores of a fit to a part of its data. The callback is called after each sweep of the fit with one component, which
/// it may stop: then there is none.
pub fn beside(
    problem: &Problem,
    fit: &Fit,
    split: &Split<'_>,
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Baselines {
    let means = means(problem, split.held, settings.threads);
    Baselines { means, one: one_component(problem, fit, split, settings, callback) }
}

fn one_component(
    problem: &Problem,
    fit: &Fit,
    split: &Split<'_>,
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Option<OneComponent> {
    let given = problem.as_given();
    let several = |axis: &AxisId| given.binding.bound.size(*axis) > 1;
    // Components to each of which an array gives numbers are these, and none of them stands for all.
    let with_numbers = |axis: &AxisId| {
        let symbols = &given.model.symbols;
        let of_array = |own: &&SetInput| matches!(own.value, SetValue::Source(_));
        split.inputs.set.iter().filter(of_array).any(|set| {
            let array = symbols.arrays.iter().find(|own| own.name == set.name);
            array.is_some_and(|own| own.letters.iter().any(|letter| symbols.letter(*letter).axis == *axis))
        })
    };
    let axes: Vec<String> = component_axes(&given.model)
        .into_iter()
        .filter(|axis| several(axis) && !with_numbers(axis))
        .map(|axis| given.model.symbols.axis(axis).name.clone())
        .collect();
    let sweeps: u64 = fit.runs.iter().map(|run| run.sweeps).sum();
    if axes.is_empty() || sweeps == 0 || fit.interrupted || split.held.parts.is_empty() {
        return None;
    }
    let one = Settings {
        sweeps: Some(sweeps),
        restarts: Some(1),
        warmup: Some(Vec::new()),
        schedule: None,
        keep_all: false,
        given: None,
        checkpoints: None,
        glances: None,
        // It is fitted by one process, in one piece.
        shards: None,
        others: None,
        verify: false,
        ..settings.clone()
    };
    let mut own = OneComponent { axes, scores: Ok(Vec::new()), sweeps: 0, converged: false };
    if settings.given.as_ref().is_some_and(|given| given.has_fixed(&problem.equations)) {
        own.scores =
            Err("latents that are `fixed` have the values of `--init`, of as many components as the fit has"
                .to_owned());
        return Some(own);
    }
    match fitted(&problem.source, &own.axes, split, &one, callback) {
        Ok((scores, found)) if !found.interrupted => {
            (own.sweeps, own.converged) = (found.run().sweeps, found.run().converged);
            own.scores = match &found.failure {
                None => Ok(scores),
                Some(failure) => Err(failure.message.clone()),
            };
            Some(own)
        }
        Ok(_) => None,
        Err(error) => Some(OneComponent { scores: Err(first_line(&error)), ..own }),
    }
}

/// A fit with one position on each of these axes, scored.
fn fitted(
    source: &Source,
    axes: &[String],
    split: &Split<'_>,
    settings: &Settings,
    callback: &mut dyn FnMut(&Progress) -> Control,
) -> Result<(Vec<Score>, Fit), Error> {
    let mut inputs = split.inputs.clone();
    inputs.set.retain(|own| !axes.contains(&own.name));
    let one = |axis: &String| SetInput { name: axis.clone(), group: None, value: SetValue::Number(1.0) };
    inputs.set.extend(axes.iter().map(one));
    // What is held belongs to components that it does not have.
    inputs.fix.clear();
    let (compiled, _) = crate::session::open(&source.text, &source.file_name, &inputs)?;
    let (problem, held) =
        compiled.bind_without_by(&inputs, split.requests, Some(split.seed), split.held.given_totals)?;
    let fit = problem.fit(settings, callback)?;
    let scores = problem.score(&fit, &held, split.seed, settings.threads)?;
    Ok((scores, fit))
}

/// What an error says first.
fn first_line(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl OneComponent {
    /// Its score of the array of this number.
    pub fn of(&self, place: usize) -> Baseline {
        match &self.scores {
            Ok(scores) => scores.get(place).map_or_else(
                || Baseline::None("it has no score".to_owned()),
                |own| Baseline::Score(own.clone()),
            ),
            Err(reason) => Baseline::None(reason.clone()),
        }
    }
}

impl Baselines {
    /// As `summary.json` has them, by the name of the array: `means` and `one_component`, each with its score and by how much each unit is
    /// predicted better by the fit.
    pub fn json(&self, scores: &[Score]) -> Value {
        let mut arrays = Map::new();
        for (place, score) in scores.iter().enumerate() {
            let mut own = Map::new();
            if let Some(means) = self.means.get(place) {
                own.insert("means".to_owned(), Value::Object(json_of(means, score)));
            }
            if let Some(one) = &self.one {
                let mut json = json_of(&one.of(place), score);
                json.insert("axes".to_owned(), json!(one.axes));
                json.insert("sweeps".to_owned(), one.sweeps.into());
                json.insert("converged".to_owned(), one.converged.into());
                own.insert("one_component".to_owned(), Value::Object(json));
            }
            arrays.insert(score.name.clone(), Value::Object(own));
        }
        Value::Object(arrays)
    }
}

/// A baseline and the difference of the fit from it.
fn json_of(baseline: &Baseline, fit: &Score) -> Map<String, Value> {
    let mut own = match baseline {
        Baseline::Score(score) => score_json(score),
        Baseline::None(reason) => Map::from_iter([("reason".to_owned(), json!(reason))]),
    };
    let difference = baseline.difference(fit).map_or(Value::Null, number);
    own.insert("difference".to_owned(), difference);
    own
}
