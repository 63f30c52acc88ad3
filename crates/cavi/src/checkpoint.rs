//! Checkpoints: a fit that was killed goes on where it was, with the bits of one that was not.
//!
//! # The complete state between two sweeps
//! A run is a sequence of sweeps, and a sweep is a function of program, data, settings and this state:
//!
//! - the **parameters** of q. Every value of an executor follows from them, and is worked out anew with the same bits. What copies
//!   that move one after another change by differences is taken again at the end of their update; allocations and what an update
//!   holds are taken at the refresh before it; L-BFGS and Newton begin anew at every update.
//! - whether squares that were multiplied out have **lost digits** ([`cavi_executor::Digits`]): then the run has another plan for good.
//! - what **acceleration** has learnt: the states that the next step is taken from, the longest step, whether the run is slow, and
//!   when each rotation is next.
//! - the **bound** when it was last taken, from which the next relative change is taken; for how many evaluations it has hardly
//!   changed; and under allocations that may lower it the **means** that the next ones are compared with.
//! - in **passes over shards**, in how many of them shards begin afresh. Sums of shards are taken again from the parameters after each pass,
//!   as they are with its bound.
//! - in a **warm-up**, which one and how many of its sweeps are done: its equations and its raised shapes follow.
//! - the **trace**, for what is written at the end. Warnings about an infinite bound follow from it.
//!
//! No stream of random numbers is in it. A run draws its start alone, from its seed, and held-out entries are drawn from the seed
//! before it; both are drawn again.
//!
//! # Files
//! Beside `DIR`, in `.DIR.cavi-checkpoints`, every run has a file with its number, and one with `.before` at its end: the
//! checkpoint before. A checkpoint is written aside, synced to the disk and renamed, so that one of the two is always whole. It ends with
//! the hash of its bytes, and names the fit that it belongs to: `fit.json` has the program, the data, and every option on which
//! a bit of the result depends. A run that has ended stays with its result, or, where an earlier one is better, without parameters.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::bind::DataError;
use crate::directory::Stored;
use crate::error::Error;
use crate::fit::Settings;
use crate::prepare::Problem;
use identity::Identity;
pub(crate) use snapshot::{At, Snapshot};

mod bytes;
mod files;
mod identity;
mod snapshot;

/// Where a fit writes its checkpoints, how often, and those that it goes on from.
#[derive(Clone, Debug)]
pub struct Checkpoints(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The directory of the checkpoints; `None` where none are written.
    place: Option<PathBuf>,
    every: Duration,
    identity: Identity,
    /// The file of each run that was begun, by its number from 0.
    earlier: BTreeMap<u64, PathBuf>,
    written: Mutex<Written>,
}

/// What has been written so far.
#[derive(Debug, Default)]
struct Written {
    /// Whether the directory is that of this fit.
    is_begun: bool,
    /// The bounds of the runs that have ended.
    ended: BTreeMap<u64, f64>,
    /// Why a checkpoint could not be written.
    failure: Option<String>,
}

/// What a directory says of the fit that is to be resumed.
#[derive(Clone, Debug)]
pub enum Found {
    /// It has no checkpoint: the fit starts anew.
    Nothing,
    /// It was fitted to its end, and has no checkpoint.
    Finished,
    /// Checkpoints of this fit.
    Runs(Earlier),
}

/// The checkpoints of a fit that is resumed.
#[derive(Clone, Debug)]
pub struct Earlier {
    files: BTreeMap<u64, PathBuf>,
    /// What was found, for a person: `run 2 after sweep 40`.
    pub said: String,
    /// Files that are damaged, in whose place the ones before are used.
    pub warnings: Vec<String>,
}

/// Where the checkpoints of a directory are: `.NAME.cavi-checkpoints` beside it, every link on the way to it followed.
pub fn place_of(directory: &Path) -> Option<PathBuf> {
    let parent = match directory.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => directory,
    };
    let target = match (directory.exists(), directory.file_name()) {
        (false, Some(name)) => parent.canonicalize().ok()?.join(name),
        _ => directory.canonicalize().ok()?,
    };
    let name = target.file_name()?.to_string_lossy();
    Some(target.with_file_name(format!(".{name}.cavi-checkpoints")))
}

/// Looks for the checkpoints of a fit in the directory that it was to write.
///
/// # Errors
/// [`Error::Usage`]: checkpoints, or a finished fit, of other data, another program, another seed, or another option on which
/// the result depends, with what differs; a file in the place of the directory. [`Error::Data`]: both checkpoints of a run are damaged, or
/// of another version.
pub fn find(directory: &Path, problem: &Problem, settings: &Settings) -> Result<Found, Error> {
    let identity = Identity::of(problem, settings);
    let shown = directory.display().to_string();
    if directory.is_file() {
        let message = format!(
            "`--resume {shown}` is a file; expected the directory that the interrupted fit was to write"
        );
        return Err(Error::Usage(vec![DataError::new(message)]));
    }
    let Some(place) = place_of(directory).filter(|place| place.is_dir()) else {
        return finished(directory, &identity);
    };
    let Some(stored) = Identity::read(&place)? else { return finished(directory, &identity) };
    if let Some(different) = identity.differs_from(&stored) {
        return Err(Error::Usage(vec![
            DataError::new(format!("`--resume {shown}` is another fit: {different}"))
                .possible("the program, the data and the options of the fit that was interrupted")
                .help(format!("give them as they were, or delete `{}` to start anew", place.display())),
        ]));
    }
    let mut earlier = Earlier { files: BTreeMap::new(), said: String::new(), warnings: Vec::new() };
    for restart in 0..identity.restarts() {
        let found = files::newest(&place, restart, &identity.hash())?;
        let Some(files::Newest { path, snapshot, is_damaged }) = found else { continue };
        if let Some(damaged) = is_damaged {
            earlier.warnings.push(format!(
                "the checkpoint `{}` is damaged; the one before it is used",
                damaged.display()
            ));
        }
        let mut said = String::new();
        if !earlier.said.is_empty() {
            said.push_str(", ");
        }
        if identity.restarts() > 1 {
            let _ = write!(said, "run {} ", restart + 1);
        }
        let _ = match snapshot.at {
            At::Warmup { .. } => {
                let done = snapshot.trace.len();
                write!(said, "after sweep {done} of the warm-up")
            }
            At::Passes { .. } => write!(said, "after pass {}", snapshot.sweeps()),
            At::Sweeps { .. } => write!(said, "after sweep {}", snapshot.sweeps()),
        };
        earlier.said.push_str(&said);
        earlier.files.insert(restart, path);
    }
    if earlier.files.is_empty() { finished(directory, &identity) } else { Ok(Found::Runs(earlier)) }
}

/// Everything on which a bit of a fit depends (program, data and options), one fact a line: its name, a tab and its value.
pub fn facts(problem: &Problem, settings: &Settings) -> String {
    Identity::of(problem, settings).text()
}

/// The same as JSON, as `identity` of `summary.json` keeps it: what a fit that is to be resumed is compared with once it has ended.
pub(crate) fn facts_json(problem: &Problem, settings: &Settings) -> serde_json::Value {
    Identity::of(problem, settings).json()
}

/// Whether a directory without checkpoints holds this fit, ended.
fn finished(directory: &Path, identity: &Identity) -> Result<Found, Error> {
    if !directory.join("summary.json").exists() {
        return Ok(Found::Nothing);
    }
    let stored = Stored::open(directory)?;
    if stored.summary["interrupted"] != false {
        return Ok(Found::Nothing);
    }
    match identity.differs_from_summary(&stored.summary) {
        None => Ok(Found::Finished),
        Some(different) => Err(Error::Usage(vec![
            DataError::new(format!(
                "`--resume {}` holds another fit, which is finished: {different}",
                directory.display()
            ))
            .help("leave `--resume` out to replace it"),
        ])),
    }
}

impl Checkpoints {
    /// Checkpoints of a fit of this problem with these settings, beside the directory that it writes: one each time that so
    /// much time has passed, and one where it is stopped. Without a time none are written.
    pub fn new(
        directory: &Path,
        every: Option<Duration>,
        earlier: Option<Earlier>,
        problem: &Problem,
        settings: &Settings,
    ) -> Checkpoints {
        Checkpoints(Arc::new(Inner {
            place: every.and_then(|_| place_of(directory)),
            every: every.unwrap_or_default(),
            identity: Identity::of(problem, settings),
            earlier: earlier.map(|own| own.files).unwrap_or_default(),
            written: Mutex::default(),
        }))
    }

    /// Whether any are written.
    pub(crate) fn are_written(&self) -> bool {
        self.0.place.is_some()
    }

    /// Whether a run whose last checkpoint is so old writes another one.
    pub(crate) fn is_due(&self, age: Duration) -> bool {
        self.0.place.is_some() && age >= self.0.every
    }

    /// The state that a run goes on from.
    ///
    /// # Errors
    /// A file that has been damaged since it was found.
    pub(crate) fn of_run(&self, restart: u64) -> Result<Option<Snapshot<'static>>, DataError> {
        let Some(path) = self.0.earlier.get(&restart) else { return Ok(None) };
        let hash = self.0.identity.hash();
        match files::read(path, &hash) {
            Some(snapshot) => Ok(Some(snapshot)),
            None => Err(DataError::new(format!("the checkpoint `{}` is damaged", path.display()))),
        }
    }

    /// Writes the state of a run, whose last checkpoint becomes the one before. A checkpoint that cannot be written is no end of
    /// the fit: [`Checkpoints::failure`] says why it is not there.
    pub(crate) fn write(&self, restart: u64, snapshot: &Snapshot<'_>) {
        self.put(restart, |_| snapshot.clone());
    }

    /// The same of a run that has ended with this bound. Its parameters are left out where an earlier run that has ended is as good, unless
    /// all runs are kept: runs are compared in the order of their numbers, so that it is never the one that is kept.
    pub(crate) fn write_ended(&self, restart: u64, elbo: f64, snapshot: &Snapshot<'_>) {
        let (is_kept, is_first) = (self.0.identity.keeps_all(), restart == 0);
        self.put(restart, |written| {
            let is_beaten = written.ended.range(..restart).any(|(_, own)| *own >= elbo);
            written.ended.insert(restart, elbo);
            // What the first run says of parameters that nothing determines is taken from them.
            let parameters = snapshot.parameters.clone().filter(|_| is_kept || is_first || !is_beaten);
            Snapshot { parameters, ..snapshot.clone() }
        });
    }

    fn put<'s>(&self, restart: u64, snapshot: impl FnOnce(&mut Written) -> Snapshot<'s>) {
        let Some(place) = &self.0.place else { return };
        let (own, hash) = {
            let mut written = self.0.written.lock().unwrap_or_else(PoisonError::into_inner);
            let own = snapshot(&mut written);
            if !written.is_begun {
                match self.0.identity.begin(place) {
                    Ok(()) => written.is_begun = true,
                    Err(error) => {
                        written.failure = Some(error.to_string());
                        return;
                    }
                }
            }
            (own, self.0.identity.hash())
        };
        if let Err(error) = files::write(place, restart, &own, &hash) {
            let mut written = self.0.written.lock().unwrap_or_else(PoisonError::into_inner);
            written.failure = Some(error.to_string());
        }
    }

    /// Why a checkpoint could not be written, the last one of which this is true.
    pub fn failure(&self) -> Option<String> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }
}

/// Whether checkpoints of a fit stand beside the directory that it was to write.
pub fn stand(directory: &Path) -> bool {
    place_of(directory).is_some_and(|place| place.join(files::FIT).is_file())
}

/// Removes the checkpoints of a directory that holds the finished fit. Files of others stay.
///
/// # Errors
/// A file that cannot be removed.
pub fn remove(directory: &Path) -> Result<(), Error> {
    let Some(place) = place_of(directory).filter(|place| place.is_dir()) else { return Ok(()) };
    files::clear(&place)
        .and_then(|()| match fs::remove_dir(&place) {
            Err(error) if error.kind() != std::io::ErrorKind::DirectoryNotEmpty => Err(error),
            _ => Ok(()),
        })
        .map_err(|error| {
            DataError::new(format!(
                "the fit is written, but its checkpoints cannot be taken away from `{}`: {error}",
                place.display()
            ))
            .into()
        })
}
