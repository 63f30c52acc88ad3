//! `cavi project DIR --data ... --out DIR2`: latents of new rows, everything shared as in the fit.

use cavi::directory::{Asked, Directory, Stored};
use cavi::project::{self, NewRows};
use cavi::{Control, Settings};

use super::fit;
use super::score::note_dropped;
use crate::arguments::{InputArguments, ProjectArguments, ReadingArguments};
use crate::failure::Failure;
use crate::progress::Display;
use crate::{interrupt, program, terminal};

/// Fits what is the rows' own and writes it.
pub fn run(arguments: &ProjectArguments) -> Result<(), Failure> {
    let stored = Stored::open(&arguments.directory)?;
    let inputs = fit::inputs_as_fitted(&arguments.inputs, &stored)?;
    // The warnings about the program were shown when it was fitted.
    let (compiled, _) =
        cavi::session::open(&stored.text, &stored.file_name, &stored.with_earlier(inputs.clone()))?;
    let seed = compiled.seed(arguments.seed);
    let rows = project::bind(compiled, &inputs, &stored, &arguments.directory, arguments.axis.as_deref())?;
    let directory =
        Directory::prepare(&arguments.out, &rows.problem, &[&arguments.directory], arguments.force.force)?;
    let asked = asked(arguments).of(&inputs, seed);
    show_notes(&rows, arguments.quiet);
    let settings = Settings {
        sweeps: arguments.sweeps,
        tolerance: arguments.tol,
        allocations: stored.allocations,
        seed: Some(seed),
        threads: arguments.threads.unwrap_or_else(fit::all_threads),
        stop: Some(interrupt::flag()),
        ..Settings::default()
    };
    let mut display = Display::new(arguments.progress, arguments.quiet);
    let projected = rows.fit(&settings, &mut |progress| {
        display.show(progress);
        interrupt::hold();
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    });
    display.finish();
    let projection = projected?;
    let (rows, fit) = (&projection.rows, &projection.fit);
    terminal::note(&program::text_of(&rows.problem.source, &fit.warnings));
    let json = directory.write_projection(&projection, &settings, &asked)?;
    if arguments.json {
        terminal::print(&format!("{json:#}\n"))?;
    } else if !arguments.quiet {
        let (count, are) = (rows.count, if rows.count == 1 { "row" } else { "rows" });
        terminal::print(&format!(
            "{count} new {are} along `{}`: {}\nwritten to {}\n",
            rows.axis,
            fit::outcome(fit),
            arguments.out.display()
        ))?;
    }
    fit::ending(&rows.problem, fit)
}

/// What was understood of the new rows.
fn show_notes(rows: &NewRows, quiet: bool) {
    fit::show_notes(&rows.problem, quiet);
    note_dropped(rows.dropped);
    if quiet {
        return;
    }
    for name in &rows.not_given {
        terminal::note(&format!("note: `{name}` is not given, and counts as missing\n"));
    }
    if !rows.others.is_empty() {
        let others: Vec<String> = rows.others.iter().map(|axis| format!("`--axis {axis}`")).collect();
        terminal::note(&format!(
            "note: the data do not say which axis grew; `{}` is taken (else {})\n",
            rows.axis,
            others.join(" or ")
        ));
    }
}

/// What `summary.json` keeps of the options.
fn asked(arguments: &ProjectArguments) -> Asked {
    let InputArguments { data, reading, set, memory_limit: _, scratch: _ } = arguments.inputs.clone();
    let ReadingArguments { columns, transpose, labels, unique, texts: _ } = reading;
    Asked { data, columns, transpose, labels, unique, set, ..Asked::default() }
}
