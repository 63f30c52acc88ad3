//! `cavi check-fit DIR`: whether data drawn from a fit look like its own.

use cavi::check_fit::{self, Asked, Row, Weights};
use cavi::directory::number;
use cavi::reopen;
use serde_json::json;

use super::{fit, impute};
use crate::arguments::CheckFitArguments;
use crate::failure::Failure;
use crate::terminal;

/// Draws for k-hat, unless told otherwise.
const DRAWS: usize = 1000;
/// Unless draws are asked for, k-hat is left out where a draw and the data have more numbers.
const LARGEST: usize = 200_000;

/// Prints a table and what it means.
pub fn run(arguments: &CheckFitArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let fit = reopen::open(directory, impute::given(&arguments.inputs, directory)?.as_ref())?;
    let asked = Asked {
        statistics: arguments.statistics.clone(),
        draws: arguments.draws,
        by: arguments.by.clone(),
        seed: arguments.seed.unwrap_or(0),
        threads: arguments.threads.unwrap_or_else(fit::all_threads),
    };
    let rows = check_fit::check(&fit, &asked)?;
    let size = check_fit::size(&fit);
    let weights: Result<Weights, String> = match arguments.weights {
        Some(draws) if draws < 25 => {
            return Err(Failure::usage(format!(
                "`--k-hat {draws}` are too few draws to see a tail; expected 25 or more"
            )));
        }
        None if size > LARGEST => Err(format!(
            "a draw and the data have {size} numbers, for which it takes long and is nearly always above 0.7; `--k-hat {DRAWS}` works it out"
        )),
        draws => check_fit::weights(&fit, draws.unwrap_or(DRAWS), asked.seed, asked.threads),
    };
    if arguments.json {
        let weights = match &weights {
            Ok(own) => json!({
                "k_hat": number(own.k_hat),
                "mean_log_weight": number(own.mean),
                "sd_log_weight": number(own.sd),
                "words": own.words(),
            }),
            Err(reason) => json!({ "k_hat": null, "words": reason }),
        };
        let each = rows.iter().map(|row| {
            json!({
                "array": row.name,
                "group": row.group,
                "statistic": row.statistic,
                "n_entries": row.entries,
                "observed": number(row.observed),
                "mean": number(row.mean),
                "lowest": number(row.lowest),
                "highest": number(row.highest),
                "p": number(row.p),
                "beyond": row.is_beyond(),
                "verdict": row.verdict,
            })
        });
        let json = json!({ "draws": asked.draws, "seed": asked.seed, "q": weights, "statistics": each.collect::<Vec<_>>() });
        return terminal::print(&format!("{json:#}\n"));
    }
    let q = match &weights {
        Ok(own) => format!("\nk-hat of q: {:.2}: {}\n", own.k_hat, own.words()),
        Err(reason) => format!("\nk-hat of q: not worked out: {reason}\n"),
    };
    terminal::print(&(table(&rows) + &summary(&rows, asked.draws) + &q))
}

/// A line for each statistic.
fn table(rows: &[Row]) -> String {
    let name =
        |row: &Row| row.group.as_ref().map_or_else(|| row.name.clone(), |own| format!("{}[{own}]", row.name));
    let width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!(
        "{:width$}  {:10}  {:>11}  {:>11}  {:>11}  {:>11}  {:>6}\n",
        "data", "statistic", "observed", "replicates", "lowest", "highest", "p"
    );
    for row in rows {
        let Row { statistic, observed, mean, lowest, highest, p, .. } = row;
        let mark = if row.is_beyond() { "  beyond all" } else { "" };
        text += &format!(
            "{:width$}  {statistic:10}  {observed:11.4}  {mean:11.4}  {lowest:11.4}  {highest:11.4}  {p:6.3}{mark}\n",
            name(row)
        );
    }
    text
}

/// What it means.
fn summary(rows: &[Row], draws: usize) -> String {
    let verdicts: Vec<&str> = rows.iter().filter_map(|row| row.verdict.as_deref()).collect();
    let by_chance = 2.0 * rows.len() as f64 / (draws as f64 + 1.0);
    if verdicts.is_empty() {
        return format!("the data lie among {draws} replicates by all {} statistics\n", rows.len());
    }
    let lines: String = verdicts.iter().map(|own| format!("{own}\n")).collect();
    format!(
        "\n{lines}{} of {} statistics beyond all {draws} replicates; of a right model at most {by_chance:.1} would be on average\n",
        verdicts.len(),
        rows.len()
    )
}
