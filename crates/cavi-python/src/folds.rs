//! Cross-validation: fits without one part of the data after another, and how well each predicts its part.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use cavi::bind::DataError;
use cavi::heldout::baseline;
use cavi::heldout::folds::{FoldFit, Folds, requests};
use cavi::{Compiled, Control, Error, Progress};

use crate::fit::Options;

/// Fits without each of so many parts, and scores it.
///
/// # Errors
/// What is wrong with data and options; a fit that fails; that the work was ended before all parts were scored.
pub fn fitted(
    compiled: &Compiled,
    inputs: &cavi::bind::Inputs,
    of: usize,
    options: &Options,
    stop: &Arc<AtomicBool>,
    report: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Folds, Error> {
    if !(2..=1000).contains(&of) {
        let wrong = DataError::new(format!("folds={of}: no number of parts"));
        return Err(Error::Usage(vec![wrong.possible("a whole number from 2 to 1000")]));
    }
    let mut folds = Folds { of, fits: Vec::with_capacity(of) };
    for number in 0..of {
        let requests = requests(compiled, number, of);
        let (problem, held) =
            compiled.clone().bind_without_by(inputs, &requests, options.seed(), options.heldout_totals())?;
        let settings = options.settings(&problem, stop)?;
        let fit = problem.fit(&settings, report)?;
        if fit.interrupted {
            let wrong = DataError::new(format!("the fit was ended in fold {} of {of}", number + 1));
            return Err(Error::Usage(vec![wrong.help("a cross-validation has a score of every part")]));
        }
        if let Some(failure) = fit.failure {
            return Err(problem.error(vec![failure]));
        }
        let scores = problem.score(&fit, &held, compiled.seed(options.seed()), settings.threads)?;
        let means = baseline::means(&problem, &held, settings.threads);
        let run = fit.run();
        folds.fits.push(FoldFit {
            scores,
            means,
            elbo: run.elbo,
            sweeps: run.sweeps,
            converged: run.converged,
        });
    }
    Ok(folds)
}
