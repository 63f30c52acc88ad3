//! Scores of held-out data as a line, and what stands beside them as a table.

use cavi::heldout::{Baseline, Baselines, FEWEST_DRAWS, Score};

use crate::table;

/// `held out n: -12345.6 of 1520 units, -8.12 each, perplexity 3361`; of several fits with their number after the name. Where averages over draws are
/// poor a second line says so.
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
    let poor = match score.poor {
        0 => String::new(),
        poor => format!(
            "\n  likely too low, by more than its error: at {poor} {} fewer than {FEWEST_DRAWS} of all draws from q make the average",
            if poor == 1 { "entry" } else { "entries" }
        ),
    };
    format!(
        "{what} {name}: {each} {:.4}{error} of {units}, {per_unit:.6} each{perplexity}{poor}",
        score.log_predictive
    )
}

/// The score of each unit of an array beside those that take no model, and those of the same program with one component.
///
/// ```text
///                             each  difference  perplexity
///   this fit             -7.221345                    1368
///   rows and columns     -7.893012   +0.671667        2678
/// ```
pub fn beside(score: &Score, place: usize, baselines: &Baselines) -> String {
    let Some(own) = score.per_unit() else { return String::new() };
    let perplexity = |score: &Score| score.perplexity().map_or_else(String::new, |own| format!("{own:.1}"));
    let row = |name: &str, baseline: &Baseline| {
        let other = baseline.score()?;
        let difference = baseline.difference(score).map_or_else(String::new, |own| format!("{own:+.6}"));
        Some(vec![name.to_owned(), format!("{:.6}", other.per_unit()?), difference, perplexity(other)])
    };
    let mut rows = vec![
        ["", "each", "difference", if score.given_totals { "perplexity" } else { "" }]
            .map(str::to_owned)
            .to_vec(),
        vec!["this fit".to_owned(), format!("{own:.6}"), String::new(), perplexity(score)],
    ];
    let mut notes = Vec::new();
    let of_means = baselines.means.get(place).map(|own| ("rows and columns", own.clone()));
    let name = baselines.one.as_ref().map(|one| format!("one {}", one.axes.join(", one ")));
    let of_one = baselines.one.as_ref().zip(name.as_deref()).map(|(one, name)| (name, one.of(place)));
    for (name, baseline) in of_means.into_iter().chain(of_one) {
        rows.extend(row(name, &baseline));
        if let Baseline::None(reason) = &baseline {
            notes.push(format!("  {name}: no score, because {reason}\n"));
        }
    }
    let unfinished = baselines.one.as_ref().filter(|one| one.scores.is_ok() && !one.converged);
    notes.extend(unfinished.map(|one| {
        let sweeps = one.sweeps;
        format!(
            "  one {}: not converged in the {sweeps} sweeps that this fit took\n",
            one.axes.join(", one ")
        )
    }));
    let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    rows.iter_mut().for_each(|row| row[0] = format!("  {:<width$}", row[0]));
    let table: String = table::aligned(&rows).lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if rows.len() > 2 { table + &notes.concat() } else { notes.concat() }
}
