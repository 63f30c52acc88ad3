//! Scores of held-out data, as a line and as JSON.

use cavi::heldout::Score;
use serde_json::{Map, Value, json};

use crate::output::number;

/// `held out n: -12345.6 of 1520 units, -8.12 each, perplexity 3361`
pub fn line(what: &str, score: &Score) -> String {
    let name = &score.name;
    let Some(per_unit) = score.per_unit() else {
        return format!("{what} {name}: no unit to score");
    };
    let error =
        score.standard_error.map_or_else(String::new, |error| format!(" (Monte Carlo error {error:.2})"));
    let each = if score.discrete { "log probability" } else { "log density" };
    let perplexity =
        score.perplexity().map_or_else(String::new, |perplexity| format!(", perplexity {perplexity:.4}"));
    let units = if score.units == 1.0 { "1 unit".to_owned() } else { format!("{} units", score.units) };
    format!(
        "{what} {name}: {each} {:.4}{error} of {units}, {per_unit:.6} each{perplexity}",
        score.log_predictive
    )
}

/// The numbers of a score.
pub fn json(score: &Score) -> Map<String, Value> {
    let optional = |value: Option<f64>| value.map_or(Value::Null, number);
    // A whole number of units is written as one.
    let units = match score.units.fract() == 0.0 && score.units < 9e15 {
        true => json!(score.units as u64),
        false => number(score.units),
    };
    let fields = [
        ("log_predictive", number(score.log_predictive)),
        ("standard_error", optional(score.standard_error)),
        ("per_unit", optional(score.per_unit())),
        ("perplexity", optional(score.perplexity())),
        ("n_scored", units),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Scores by the name of their array.
pub fn by_name(scores: &[Score]) -> Value {
    Value::Object(scores.iter().map(|score| (score.name.clone(), Value::Object(json(score)))).collect())
}
