//! `cavi fit --checkpoint-every SECONDS` and `cavi fit --resume DIR`.

use std::path::Path;
use std::time::Duration;

use cavi::checkpoint::{Checkpoints, Earlier, Found, find};
use cavi::{Error, Problem, Settings};

use crate::arguments::CheckpointArguments;
use crate::failure::Failure;
use crate::{team, terminal};

/// How a fit begins.
pub enum Beginning {
    /// At its start, or where its checkpoints are.
    At(Option<Earlier>),
    /// It has ended: there is nothing to do.
    Finished,
}

/// Looks for the fit that `--resume` names, and says what was found.
///
/// # Errors
/// As [`find`].
pub fn beginning(
    arguments: &CheckpointArguments,
    problem: &Problem,
    settings: &Settings,
    quiet: bool,
) -> Result<Beginning, Error> {
    let Some(directory) = &arguments.resume else { return Ok(Beginning::At(None)) };
    let shown = directory.display();
    let say = |text: String| {
        if !quiet {
            terminal::note(&text);
        }
    };
    match find(directory, problem, settings)? {
        Found::Finished => Ok(Beginning::Finished),
        Found::Nothing => {
            say(format!("`{shown}` has no checkpoint: the fit starts anew\n"));
            Ok(Beginning::At(None))
        }
        Found::Runs(earlier) => {
            earlier.warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
            say(format!("resuming `{shown}`: {}\n", earlier.said));
            Ok(Beginning::At(Some(earlier)))
        }
    }
}

/// The checkpoints of a fit that writes this directory; `None` where it neither writes nor reads any.
pub fn checkpoints(
    arguments: &CheckpointArguments,
    out: &Path,
    earlier: Option<Earlier>,
    problem: &Problem,
    settings: &Settings,
) -> Option<Checkpoints> {
    let every = arguments
        .checkpoint_every
        .map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    let is_some = every.is_some() || earlier.is_some();
    // Of several processes the first one writes them.
    let every = every.filter(|_| team::is_first());
    is_some.then(|| Checkpoints::new(out, every, earlier, problem, settings))
}

/// Says that a fit is finished, and what was written beside it, or prints its summary.
///
/// # Errors
/// A summary that cannot be read.
pub fn say_finished(directory: &Path, json: bool, quiet: bool, also: &str) -> Result<(), Failure> {
    let shown = directory.display();
    if json {
        let stored = cavi::directory::Stored::open(directory)?;
        terminal::print(&format!("{:#}\n", stored.summary))?;
    } else if !quiet {
        terminal::print(&format!("`{shown}` holds this fit, finished: nothing is to be resumed\n{also}"))?;
    }
    Ok(())
}

/// A fit that could not be written, with how it is not lost: by its checkpoints, where there are any.
pub fn unwritten(error: Error, arguments: &CheckpointArguments, out: &Path, settings: &Settings) -> Failure {
    let read = arguments.resume.as_deref().filter(|_| arguments.checkpoint_every.is_none());
    let directory = read.unwrap_or(out);
    let stand = settings.checkpoints.is_some() && cavi::checkpoint::stand(directory);
    let note = match stand {
        true => format!(
            "  note: the checkpoints of this fit stand; once there is room, the same line with `--resume {}` finishes and writes it\n",
            directory.display()
        ),
        false => String::new(),
    };
    match Failure::from(error) {
        Failure::Wrong(message) => Failure::Wrong(message + &note),
        other => other,
    }
}

/// Says why the last checkpoint is not there, if one could not be written.
pub fn warn(settings: &Settings) {
    if let Some(reason) = settings.checkpoints.as_ref().and_then(Checkpoints::failure) {
        terminal::note(&format!(
            "warning: a checkpoint could not be written: {reason}; the one before it stands\n"
        ));
    }
}
