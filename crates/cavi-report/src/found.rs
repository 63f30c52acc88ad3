//! What was found, in sentences.

use serde_json::Value;

use crate::fitted::Fitted;
use crate::html::{count, number};
use crate::shares::Shares;

/// What the fit came to, a sentence each.
pub(crate) fn sentences(fitted: &Fitted, shares: &[Shares]) -> Vec<String> {
    let summary = &fitted.summary;
    let mut all = vec![fitted_to(fitted), ending(summary)];
    all.extend(runs(summary));
    all.extend(shares.iter().map(components));
    all.extend(explained(summary));
    all.extend(heldout(summary));
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
        Some(format!("It explains {share} % of the {measure} of {array} about its {about}."))
    };
    summary["explained"].as_object().into_iter().flatten().filter_map(line).collect()
}

/// How well what was held out is predicted.
fn heldout(summary: &Value) -> Vec<String> {
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
            "Of {array}, {} units were held out of the fit; their log predictive density is {total}{error}{each}{perplexity}.",
            number(scored)
        )
    };
    let scores = summary["heldout"].as_object();
    match scores {
        Some(scores) if !scores.is_empty() => scores.iter().map(line).collect(),
        _ => {
            vec!["Nothing was held out, so that the page does not say how well the fit predicts.".to_owned()]
        }
    }
}
