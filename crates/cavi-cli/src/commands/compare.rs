//! `cavi compare A B ...`: fits by what they say of the same held-out entries.

use std::path::Path;

use cavi::compare::{self, Comparison};

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
    let found = compare::comparison(&fits, threads)?;
    let names: Vec<String> = arguments.directories.iter().map(|own| own.display().to_string()).collect();
    if arguments.json {
        return terminal::print(&format!("{:#}\n", found.json(&names)));
    }
    let Comparison { units, best, .. } = found;
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(3);
    let mut text = format!(
        "{:width$}  {:>14}  {:>10}  below the best (standard error)\n",
        "fit", "log predictive", "a unit"
    );
    for (place, name) in names.iter().enumerate() {
        let (total, own) = (found.totals[place], found.below[place]);
        let less = match place == best {
            true => "the best".to_owned(),
            false if own.standard_error.is_nan() => {
                format!("{:.4} (one unit has no standard error)", own.value)
            }
            false => format!("{:.4} ({:.4})", own.value, own.standard_error),
        };
        text += &format!("{name:width$}  {total:14.4}  {:10.6}  {less}\n", total / units);
    }
    terminal::print(&format!("{text}over {units} held-out units, the same for all\n"))
}
