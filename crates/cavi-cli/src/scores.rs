//! Scores of held-out data as a line.

use cavi::heldout::Score;

/// `held out n: -12345.6 of 1520 units, -8.12 each, perplexity 3361`; of several fits with their number after the name.
pub fn line(what: &str, score: &Score, fits: usize) -> String {
    let averaged = if fits > 1 { format!(", {fits} fits averaged") } else { String::new() };
    let name = format!("{}{averaged}", score.name);
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
