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

/// More statistics than these, as of many groups, have no line each.
const LINES: usize = 60;
/// So many have one then, of those that lie beyond all replicates.
const WORST: usize = 20;
/// So many of them are said in words.
const SENTENCES: usize = 12;

/// The rows with a line: all, or those that lie farthest beyond their replicates.
fn shown_of(rows: &[Row]) -> Vec<&Row> {
    match rows.len() <= LINES {
        true => rows.iter().collect(),
        false => farthest(rows, WORST),
    }
}

/// Of the rows beyond all replicates those that lie farthest, in widths of their replicates, in the order of the rows.
fn farthest(rows: &[Row], most: usize) -> Vec<&Row> {
    let far = |row: &Row| row.beyond() / (row.highest - row.lowest);
    let mut beyond: Vec<(usize, &Row)> = rows.iter().enumerate().filter(|(_, row)| row.is_beyond()).collect();
    beyond.sort_by(|(_, left), (_, right)| far(right).total_cmp(&far(left)));
    beyond.truncate(most);
    beyond.sort_by_key(|(place, _)| *place);
    beyond.into_iter().map(|(_, row)| row).collect()
}

/// A line for each statistic, or for the worst of many.
fn table(all: &[Row], draws: usize) -> String {
    let rows = shown_of(all);
    if rows.is_empty() {
        return String::new();
    }
    let name =
        |row: &Row| row.group.as_ref().map_or_else(|| row.name.clone(), |own| format!("{}[{own}]", row.name));
    let width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!(
        "{:width$}  {:10}  {:>11}  {:>11}  {:>11}  {:>11}  {:>6}\n",
        "data", "statistic", "observed", "replicates", "lowest", "highest", "p"
    );
    for row in &rows {
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
    if all.len() > rows.len() {
        text += &format!("{} lines of {} statistics; `--json` has all\n", rows.len(), all.len());
    }
    text
}

/// What it means.
fn summary(rows: &[Row], draws: usize) -> String {
    let verdicts: Vec<&str> = rows.iter().filter_map(|row| row.verdict.as_deref()).collect();
    let by_chance: f64 = rows.iter().map(|own| 2.0 / (own.replicates as f64 + 1.0)).sum();
    if rows.is_empty() {
        return "nothing is compared\n".to_owned();
    }
    if verdicts.is_empty() {
        let by = match rows {
            [only] => format!("its {}", only.statistic),
            _ => format!("all {} statistics", rows.len()),
        };
        return format!("the data lie among {draws} replicates by {by}\n");
    }
    let said = farthest(rows, SENTENCES).into_iter().filter_map(|row| row.verdict.as_deref());
    let mut lines: String = said.map(|own| format!("{own}\n")).collect();
    if verdicts.len() > SENTENCES {
        lines += &format!("and {} more, less far from their replicates\n", verdicts.len() - SENTENCES);
    }
    format!(
        "\n{lines}{} of {} statistics beyond all {draws} replicates; of a right model at most {by_chance:.1} would be on average\n",
        verdicts.len(),
        rows.len()
    )
}
