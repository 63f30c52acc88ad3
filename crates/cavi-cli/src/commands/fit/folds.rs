//! `cavi fit --folds K`: fits without one part of the data after another, and how well each predicts its part.

use cavi::bind::Inputs;
use cavi::heldout::baseline;
use cavi::heldout::folds::{self, FoldFit, Folds, requests};
use cavi::{Compiled, Error};

use super::{ending, explain_part, fit, settings};
use crate::arguments::RunArguments;
use crate::failure::Failure;
use crate::{table, terminal};

/// Fits without each part and scores it. What an interrupt leaves is shown.
pub fn fitted(
    compiled: &Compiled,
    inputs: &Inputs,
    of: usize,
    given_totals: bool,
    arguments: &RunArguments,
) -> Result<Folds, Failure> {
    let mut folds = Folds { of, fits: Vec::with_capacity(of) };
    for number in 0..of {
        if !arguments.quiet {
            terminal::note(&format!("fold {} of {of}\n", number + 1));
        }
        match one(compiled, inputs, (number, of), given_totals, arguments) {
            Ok(fit) => folds.fits.push(fit),
            Err(failure) => {
                if !folds.fits.is_empty() {
                    terminal::note(&text(&folds));
                }
                return Err(failure);
            }
        }
    }
    if !arguments.quiet {
        terminal::note("all data\n");
    }
    Ok(folds)
}

/// The fit without one part.
fn one(
    compiled: &Compiled,
    inputs: &Inputs,
    (number, of): (usize, usize),
    given_totals: bool,
    arguments: &RunArguments,
) -> Result<FoldFit, Failure> {
    let explained = |error: Error| explain_part(error, true);
    let requests = requests(compiled, number, of);
    let (problem, held) = compiled
        .clone()
        .bind_without_by(inputs, &requests, arguments.seed, given_totals)
        .map_err(explained)?;
    let settings = settings(&problem, arguments)?;
    let found = fit(&problem, &settings, arguments).map_err(explained)?;
    ending(&problem, &found)?;
    let scores = problem.score(&found, &held, compiled.seed(arguments.seed), settings.threads)?;
    let means = baseline::means(&problem, &held, settings.threads);
    let run = found.run();
    Ok(FoldFit { scores, means, elbo: run.elbo, sweeps: run.sweeps, converged: run.converged })
}

/// A line a part, with the score of an entry or unit of each array, then their means and standard errors.
pub fn text(folds: &Folds) -> String {
    let arrays = folds.arrays();
    let cell = |number: Option<f64>| number.map_or("-".to_owned(), |own| format!("{own:.6}"));
    let signed = |number: Option<f64>| number.map_or("-".to_owned(), |own| format!("{own:+.6}"));
    let mut header = vec!["held out".to_owned()];
    header.extend(arrays.iter().map(|own| {
        format!("log {} each, {}", if own.discrete { "probability" } else { "density" }, own.name)
    }));
    let with_means: Vec<&folds::Over> =
        arrays.iter().filter(|own| own.means.iter().any(Option::is_some)).collect();
    for own in &with_means {
        header.extend([format!("rows and columns, {}", own.name), "difference".to_owned()]);
    }
    header.extend(["sweeps".to_owned(), "converged".to_owned()]);
    let mut rows = vec![header];
    for (number, fit) in folds.fits.iter().enumerate() {
        let mut row = vec![format!("fold {}", number + 1)];
        row.extend(arrays.iter().map(|own| cell(own.each[number])));
        for own in &with_means {
            row.extend([cell(own.means[number]), signed(own.differences()[number])]);
        }
        row.push(fit.sweeps.to_string());
        row.push(if fit.converged { "yes" } else { "no" }.to_owned());
        rows.push(row);
    }
    let mut last = |name: &str, of: &dyn Fn(&[Option<f64>]) -> Option<f64>| {
        let mut row = vec![name.to_owned()];
        row.extend(arrays.iter().map(|own| cell(of(&own.each))));
        for own in &with_means {
            row.extend([cell(of(&own.means)), signed(of(&own.differences()))]);
        }
        row.extend([String::new(), String::new()]);
        rows.push(row);
    };
    last("mean", &folds::mean);
    last("standard error", &folds::standard_error);
    table::aligned(&rows).lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
