//! What was found, in sentences.

use serde_json::Value;

use crate::fitted::Fitted;
use crate::html::{count, number};
use crate::shares::Shares;

/// So many groups have their shares in a sentence.
const MOST_GROUPS: usize = 12;

/// What the fit came to, a sentence each.
pub(crate) fn sentences(fitted: &Fitted, shares: &[Shares]) -> Vec<String> {
    let summary = &fitted.summary;
    let mut all = vec![fitted_to(fitted), ending(summary)];
    all.extend(runs(summary));
    all.extend(shares.iter().map(components));
    all.extend(explained(summary));
    let is_discrete = |name: &str| {
        let model = &fitted.compiled.model;
        let array = model.symbols.find(name.split('[').next().unwrap_or(name));
        array.is_some_and(|array| cavi::heldout::gives_probabilities(model, array))
    };
    all.extend(predictions(summary, &is_discrete));
    all
}

/// `lda was fitted to data of 643 doc and 2,954 word, with 12 topic.`
fn fitted_to(fitted: &Fitted) -> String {
    let name = fitted.summary["model"].as_str().unwrap_or(&fitted.compiled.model.name);
    let sizes = fitted.summary["sizes"].as_object();
    let shown = |(axis, size): (&String, &Value)| match size {
        Value::Array(groups) => {
            let all: Vec<String> =
                groups.iter().filter_map(Value::as_u64).map(|own| count(own as usize)).collect();
            match all.len() > 6 {
                true => format!("{} in {} groups", axis, all.len()),
                false => format!("{} {axis}", all.join(" + ")),
            }
        }
        other => format!("{} {axis}", count(other.as_u64().unwrap_or(0) as usize)),
    };
    let (inner, outer): (Vec<_>, Vec<_>) =
        sizes.into_iter().flatten().partition(|(axis, _)| fitted.is_of_components(axis));
    let list = |all: Vec<(&String, &Value)>| all.into_iter().map(shown).collect::<Vec<_>>().join(" x ");
    let of = if outer.is_empty() { String::new() } else { format!(" to data of {}", list(outer)) };
    let with = if inner.is_empty() { String::new() } else { format!(", with {}", list(inner)) };
    format!("The program {name} was fitted{of}{with}.")
}

fn ending(summary: &Value) -> String {
    let sweeps = summary["sweeps"].as_u64().unwrap_or(0);
    let sweeps = format!("{} {}", count(sweeps as usize), if sweeps == 1 { "sweep" } else { "sweeps" });
    let elbo = match &summary["elbo"] {
        Value::Number(own) => own.as_f64().map_or_else(String::new, |own| format!("{own:.6}")),
        Value::String(own) => own.clone(),
        _ => String::new(),
    };
    let other_rule = !matches!(summary["settings"]["allocations"].as_str(), None | Some("ordinary"));
    let how =
        match (summary["failure"].as_str(), summary["interrupted"].as_bool(), summary["converged"].as_bool())
        {
            (Some(why), ..) => format!("It ended early, after {sweeps}: {why}"),
            (_, Some(true), _) => format!("It was interrupted after {sweeps}"),
            (.., Some(true)) => format!("It converged after {sweeps}"),
            _ if other_rule => format!("It ended after {sweeps}"),
            _ => format!("It did not converge within {sweeps}: more of them may change what is shown"),
        };
    format!("{how}; its evidence lower bound (ELBO) is {elbo}.")
}

/// How far restarts agree.
fn runs(summary: &Value) -> Option<String> {
    let runs = summary["runs"].as_array().filter(|own| own.len() > 1)?;
    let bounds: Vec<f64> = runs.iter().filter_map(|own| own["elbo"].as_f64()).collect();
    let (low, high) = bounds
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), own| (low.min(*own), high.max(*own)));
    let relative = 100.0 * (high - low) / high.abs().max(f64::MIN_POSITIVE);
    let agree = match bounds.len() {
        0 | 1 => String::new(),
        _ if relative < 1e-4 => "; their bounds agree to 0.0001 %".to_owned(),
        _ => format!("; their bounds span {} ({} % of the best)", number(high - low), number(relative)),
    };
    Some(format!("It is the best of {} runs from different starts{agree}.", runs.len()))
}

/// How many components are active.
fn components(shares: &Shares) -> String {
    let Shares { axis, labels, variables, what, total, .. } = shares;
    let variables = variables.join(" x ");
    let (largest, most) = total
        .iter()
        .enumerate()
        .fold((0, 0.0), |best, (place, own)| if *own > best.1 { (place, *own) } else { best });
    format!(
        "Of {} {axis}, {} have 1 % or more of the {what} of {variables}; the largest is {axis} {} with {} %.",
        labels.len(),
        shares.active(),
        labels[largest],
        number(100.0 * most)
    )
}

/// How much of each array of data the fit explains.
fn explained(summary: &Value) -> Vec<String> {
    let line = |(array, own): (&String, &Value)| {
        let (measure, about) = (own["measure"].as_str()?, own["about"].as_str()?);
        let share = number(100.0 * own["share"].as_f64()?);
        let (compared, all) = (own["n_compared"].as_u64(), own["n_entries"].as_u64());
        let sample = match (compared, all) {
            (Some(compared), Some(all)) if compared < all => {
                format!(", by {} of {} entries", count(compared as usize), count(all as usize))
            }
            _ => String::new(),
        };
        let groups = own["groups"].as_object().into_iter().flatten();
        let of_group = |(group, share): (&String, &Value)| {
            Some(format!("{} % of {group}", number(100.0 * share.as_f64()?)))
        };
        let groups: Vec<String> = groups.filter_map(of_group).collect();
        let groups = match groups.len() {
            0 => String::new(),
            1..=MOST_GROUPS => format!(": {}", groups.join(", ")),
            more => format!("; `summary.json` has the shares of its {} groups", count(more)),
        };
        Some(format!("It explains {share} % of the {measure} of {array} about its {about}{sample}{groups}."))
    };
    summary["explained"].as_object().into_iter().flatten().filter_map(line).collect()
}

/// How well what a fit was not given is predicted: what was held out, and the parts of a cross-validation. The predictions of some arrays are
/// probabilities, and those of others densities.
fn predictions(summary: &Value, is_discrete: &dyn Fn(&str) -> bool) -> Vec<String> {
    let kind = |array: &str| if is_discrete(array) { "probability" } else { "density" };
    let line = |(array, score): (&String, &Value)| {
        let each =
            score["per_unit"].as_f64().map_or_else(String::new, |own| format!(": {} for each", number(own)));
        let perplexity = score["perplexity"]
            .as_f64()
            .map_or_else(String::new, |own| format!(", a perplexity of {}", number(own)));
        let scored = score["n_scored"].as_f64().unwrap_or(0.0);
        let error = score["standard_error"]
            .as_f64()
            .map_or_else(String::new, |own| format!(" (standard error of the sum {})", number(own)));
        let total = score["log_predictive"].as_f64().map_or_else(String::new, number);
        format!(
            "Of {array}, {} units were held out of the fit; their log predictive {} is {total}{error}{each}{perplexity}.",
            number(scored),
            kind(array)
        )
    };
    let folds = summary["folds"]["n_folds"].as_u64().unwrap_or(0);
    let of_folds = |(array, own): (&String, &Value)| {
        let error = own["standard_error"]
            .as_f64()
            .map_or_else(String::new, |own| format!(" (standard error over the parts {})", number(own)));
        let means = own["means"]["mean"].as_f64().map_or_else(String::new, |own| {
            format!("; by the means of rows and columns it is {}", number(own))
        });
        Some(format!(
            "Each of {folds} parts of {array} was held out of a fit to the others: the log predictive {} of a unit is {} on average{error}{means}.",
            kind(array),
            number(own["mean"].as_f64()?)
        ))
    };
    let scores = summary["heldout"].as_object().into_iter().flatten().map(line);
    let parts = summary["folds"]["arrays"].as_object().into_iter().flatten().filter_map(of_folds);
    let all: Vec<String> = scores.chain(parts).collect();
    match all.is_empty() {
        false => all,
        true => {
            vec!["Nothing was held out, so that the page does not say how well the fit predicts.".to_owned()]
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{explained, predictions};

    #[test]
    fn a_share_by_a_sample_says_so() {
        let own = json!({ "measure": "deviance", "about": "column means", "share": 0.25, "groups": {}, "n_compared": 131_013, "n_entries": 160_000 });
        assert_eq!(
            explained(&json!({ "explained": { "x": own } })),
            ["It explains 25 % of the deviance of x about its column means, by 131,013 of 160,000 entries."]
        );
        let own = json!({ "measure": "variance", "about": "mean", "share": 0.5, "groups": { "a": 0.25, "b": null, "c": 0.75 }, "n_compared": 9, "n_entries": 9 });
        assert_eq!(
            explained(&json!({ "explained": { "x": own } })),
            ["It explains 50 % of the variance of x about its mean: 25 % of a, 75 % of c."]
        );
    }

    #[test]
    fn scores_say_what_they_are_of_and_parts_are_told() {
        let score = json!({ "log_predictive": -9.5, "per_unit": -0.5, "n_scored": 19 });
        let held = json!({ "heldout": { "y": score } });
        let of = |summary, is_discrete: bool| predictions(summary, &|_| is_discrete).join(" ");
        assert_eq!(
            of(&held, true),
            "Of y, 19 units were held out of the fit; their log predictive probability is -9.5: -0.5 for each."
        );
        assert!(of(&held, false).contains("their log predictive density is -9.5"));
        let folds = json!({ "heldout": {}, "folds": { "n_folds": 4, "arrays": { "y": {
            "mean": -1.25, "standard_error": 0.125, "means": { "mean": -1.75 } } } } });
        assert_eq!(
            of(&folds, false),
            "Each of 4 parts of y was held out of a fit to the others: the log predictive density of a unit is -1.25 on average \
             (standard error over the parts 0.125); by the means of rows and columns it is -1.75."
        );
        let nothing = json!({ "heldout": {}, "folds": null });
        assert!(of(&nothing, true).starts_with("Nothing was held out"));
    }
}
