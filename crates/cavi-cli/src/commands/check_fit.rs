//! `cavi check-fit DIR`: whether data drawn from a fit look like its own.

use cavi::check_fit::{self, Asked, Row, shown};
use cavi::reopen;

use super::{fit, impute};
use crate::arguments::CheckFitArguments;
use crate::failure::Failure;
use crate::terminal;

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
        weights: arguments.weights,
        stop: None,
    };
    let found = check_fit::check(&fit, &asked)?;
    if arguments.json {
        return terminal::print(&format!("{:#}\n", found.json()));
    }
    let q = match &found.q {
        Ok(own) => format!("\nk-hat of q: {:.2}: {}\n", own.k_hat, own.words()),
        Err(reason) => format!("\nk-hat of q: not worked out: {reason}\n"),
    };
    found.notes.iter().for_each(|own| terminal::note(&format!("note: {own}\n")));
    terminal::print(&(table(&found.rows, found.draws) + &summary(&found.rows, found.draws) + &q))
}

/// A line for each statistic.
fn table(rows: &[Row], draws: usize) -> String {
    let name =
        |row: &Row| row.group.as_ref().map_or_else(|| row.name.clone(), |own| format!("{}[{own}]", row.name));
    let width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!(
        "{:width$}  {:10}  {:>11}  {:>11}  {:>11}  {:>11}  {:>6}\n",
        "data", "statistic", "observed", "replicates", "lowest", "highest", "p"
    );
    for row in rows {
        let Row { statistic, observed, mean, lowest, highest, p, .. } = row;
        let mut mark = if row.is_beyond() { "  beyond all" } else { "" }.to_owned();
        if row.replicates < draws {
            mark += &format!("  ({} replicates have a value)", row.replicates);
        }
        text += &format!(
            "{:width$}  {statistic:10}  {:>11}  {:>11}  {:>11}  {:>11}  {p:6.3}{mark}\n",
            name(row),
            shown(*observed),
            shown(*mean),
            shown(*lowest),
            shown(*highest)
        );
    }
    text
}

/// What it means.
fn summary(rows: &[Row], draws: usize) -> String {
    let verdicts: Vec<&str> = rows.iter().filter_map(|row| row.verdict.as_deref()).collect();
    let by_chance: f64 = rows.iter().map(|own| 2.0 / (own.replicates as f64 + 1.0)).sum();
    if verdicts.is_empty() {
        let by = match rows {
            [only] => format!("its {}", only.statistic),
            _ => format!("all {} statistics", rows.len()),
        };
        return format!("the data lie among {draws} replicates by {by}\n");
    }
    let lines: String = verdicts.iter().map(|own| format!("{own}\n")).collect();
    format!(
        "\n{lines}{} of {} statistics beyond all {draws} replicates; of a right model at most {by_chance:.1} would be on average\n",
        verdicts.len(),
        rows.len()
    )
}
