//! `cavi top DIR VAR`: the largest entries of a variable of a fit; `cavi top DIR --rank item --for user`: what comes first for whom.

use cavi::components::StoredShares;
use cavi::exclusive::By;
use cavi::findings::Finding;
use cavi::rank::{self, Asked, Rankings};
use cavi::{reopen, summary};
use cavi_files::{Cell, CsvText};

use super::{fit, impute};
use crate::arguments::{TopArguments, TopBy};
use crate::failure::Failure;
use crate::{findings, terminal};

/// Prints the largest entries along one axis, for each position on the others, with their values.
pub fn run(arguments: &TopArguments) -> Result<(), Failure> {
    if let Some(axis) = &arguments.ranking.rank {
        return ranked(arguments, axis);
    }
    if arguments.ranking.json || !arguments.ranking.inputs.data.is_empty() {
        let option = if arguments.ranking.json { "--json" } else { "--data" };
        return Err(Failure::usage(format!("`{option}` goes with `--rank`")));
    }
    impute::refuse_reading_alone(&arguments.ranking.inputs)?;
    let variables = summary::variables(&arguments.directory, arguments.variable.as_deref())?;
    let mut found = Vec::new();
    let by = match arguments.by {
        TopBy::Weight => By::Weight,
        TopBy::Lift => By::Lift,
        TopBy::Frex => By::Frex,
    };
    let stored = StoredShares::open(&arguments.directory)?;
    for variable in &variables {
        let over = arguments.over.as_deref();
        let shares = |axis: &str| stored.of(variable, axis);
        found.push(Finding::Top(summary::top_by(variable, over, arguments.n, by, &shares)?));
    }
    terminal::print(&findings::text(&found))
}

/// Prints rankings as a table: labels, rank, label of what is ranked, expected entry.
fn ranked(arguments: &TopArguments, axis: &str) -> Result<(), Failure> {
    let own = &arguments.ranking;
    let given = impute::given(&own.inputs, &arguments.directory)?;
    let fit = reopen::open(&arguments.directory, given.as_ref())?;
    let each = own.each.iter().map(|text| match text.split_once('=') {
        Some((axis, label)) => (axis.to_owned(), Some(label.to_owned())),
        None => (text.clone(), None),
    });
    let asked = Asked {
        rank: axis,
        each: each.collect(),
        of: own.of.as_deref(),
        count: arguments.n,
        not_in: own.not_in.as_deref(),
        unseen: own.unseen,
        threads: own.threads.unwrap_or_else(fit::all_threads),
    };
    let found = rank::rankings(&fit, &asked)?;
    let unknown = found.unknown;
    if unknown > 0 {
        terminal::note(&format!(
            "note: {unknown} entries of `--not-in` have a label that the fit does not know, and leave nothing out\n"
        ));
    }
    if let Some(empty) = found.empty() {
        terminal::note(&format!("note: {empty}\n"));
    }
    if own.json {
        return terminal::print(&format!("{:#}\n", found.json(axis)));
    }
    let Rankings { names, rankings, .. } = found;
    let mut header: Vec<&str> = names.iter().map(String::as_str).collect();
    header.extend(["rank", axis, "expected"]);
    let mut table = CsvText::new(&header);
    for ranking in &rankings {
        for (place, (label, value)) in ranking.items.iter().enumerate() {
            let mut row: Vec<Cell<'_>> = ranking.labels.iter().map(|label| Cell::Text(label)).collect();
            row.extend([Cell::Integer(place as i64 + 1), Cell::Text(label), Cell::Number(*value)]);
            table.row(&row);
        }
    }
    terminal::print(table.as_str())
}
