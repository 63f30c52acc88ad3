//! `cavi compare A B ...`: fits by what they say of the same held-out entries.

use std::path::Path;

use cavi::compare::{self, ByEntry, Difference};
use cavi::directory::number;
use serde_json::json;

use super::{fit, impute};
use crate::arguments::CompareArguments;
use crate::failure::Failure;
use crate::terminal;

/// Prints the score of each fit, and how much it is below the best.
pub fn run(arguments: &CompareArguments) -> Result<(), Failure> {
    let directories: Vec<&Path> = arguments.directories.iter().map(|path| path.as_path()).collect();
    let mut given = None;
    for directory in &directories {
        given = impute::given(&arguments.inputs, directory)?;
    }
    let fits = compare::open(&directories, given.as_ref())?;
    let threads = arguments.threads.unwrap_or_else(fit::all_threads);
    let entries = compare::by_entry(&fits, threads)?;
    let total = |own: &[ByEntry]| own.iter().map(ByEntry::total).sum::<f64>();
    let totals: Vec<f64> = entries.iter().map(|own| total(own)).collect();
    let best =
        (0..totals.len()).rev().max_by(|one, other| totals[*one].total_cmp(&totals[*other])).unwrap_or(0);
    let mut below: Vec<Difference> = Vec::new();
    for own in &entries {
        below.push(compare::difference(&entries[best], own).map_err(cavi::Error::from)?);
    }
    let units: f64 = entries[best].iter().map(ByEntry::units).sum();
    let names: Vec<String> = arguments.directories.iter().map(|own| own.display().to_string()).collect();
    if arguments.json {
        let each = names.iter().zip(&totals).zip(&below).map(|((name, total), below)| {
            json!({
                "fit": name,
                "log_predictive": number(*total),
                "per_unit": number(total / units),
                "below_best": number(below.value),
                "standard_error": number(below.standard_error),
            })
        });
        let json =
            json!({ "n_scored": number(units), "best": names[best], "fits": each.collect::<Vec<_>>() });
        return terminal::print(&format!("{json:#}\n"));
    }
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(3);
    let mut text = format!(
        "{:width$}  {:>14}  {:>10}  below the best (standard error)\n",
        "fit", "log predictive", "a unit"
    );
    for (place, name) in names.iter().enumerate() {
        let (total, own) = (totals[place], below[place]);
        let less = match place == best {
            true => "the best".to_owned(),
            false => format!("{:.4} ({:.4})", own.value, own.standard_error),
        };
        text += &format!("{name:width$}  {total:14.4}  {:10.6}  {less}\n", total / units);
    }
    terminal::print(&format!("{text}over {units} held-out units, the same for all\n"))
}
