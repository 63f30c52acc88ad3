//! The files of checkpoints: for each run the newest, and the one before it.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::snapshot::Snapshot;
use crate::bind::DataError;

/// The file that names the fit.
pub const FIT: &str = "fit.json";

/// The checkpoint of a run that can be used.
pub struct Newest {
    pub path: PathBuf,
    pub snapshot: Snapshot<'static>,
    /// The file in whose place it is used.
    pub is_damaged: Option<PathBuf>,
}

fn newest_path(place: &Path, restart: u64) -> PathBuf {
    place.join(format!("run-{}", restart + 1))
}

fn before_path(place: &Path, restart: u64) -> PathBuf {
    place.join(format!("run-{}.before", restart + 1))
}

/// Writes a file aside, syncs it, and gives it its name; `retire` makes room for it.
pub fn put(
    path: &Path,
    fill: impl FnOnce(BufWriter<File>) -> io::Result<BufWriter<File>>,
    retire: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = File::create(&part).and_then(|file| {
        let mut file = fill(BufWriter::with_capacity(1 << 16, file))?;
        file.flush()?;
        file.get_ref().sync_all()?;
        retire()?;
        fs::rename(&part, path)
    });
    match written {
        Ok(()) => crate::writer::sync_directory(path.parent().unwrap_or(path)),
        Err(error) => {
            // The error that stopped the writing is the one to report.
            let _ = fs::remove_file(&part);
            Err(error)
        }
    }
}

/// Writes the checkpoint of a run. The one that was the newest is the one before then.
pub fn write(place: &Path, restart: u64, snapshot: &Snapshot<'_>, identity: &str) -> io::Result<()> {
    let path = newest_path(place, restart);
    let retire = || match fs::rename(&path, before_path(place, restart)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    put(&path, |file| snapshot.write(file, identity), retire)
}

/// Reads a checkpoint of this fit; `None` of one that is damaged, of another version or another fit.
pub fn read(path: &Path, identity: &str) -> Option<Snapshot<'static>> {
    let (snapshot, own) = Snapshot::read(&fs::read(path).ok()?)?;
    (own == identity).then_some(snapshot)
}

/// The newest checkpoint of a run that is whole; `None` without one.
///
/// # Errors
/// If there are files, and none of them is whole.
pub fn newest(place: &Path, restart: u64, identity: &str) -> Result<Option<Newest>, DataError> {
    let mut is_damaged = None;
    for path in [newest_path(place, restart), before_path(place, restart)] {
        if !path.exists() {
            continue;
        }
        match read(&path, identity) {
            Some(snapshot) => return Ok(Some(Newest { path, snapshot, is_damaged })),
            None => is_damaged = Some(path),
        }
    }
    match is_damaged {
        None => Ok(None),
        Some(path) => Err(DataError::new(format!(
            "the checkpoint `{}` is damaged, and no other one of this run is whole",
            path.display()
        ))
        .help(format!(
            "delete `run-{}*` in `{}` to start this run anew",
            restart + 1,
            place.display()
        ))),
    }
}

/// Removes what checkpoints are written to, the name of the fit last.
pub fn clear(place: &Path) -> io::Result<()> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_own = name.to_str().is_some_and(is_run);
        if is_own {
            fs::remove_file(entry.path())?;
        }
    }
    for name in [format!("{FIT}.part"), FIT.to_owned()] {
        match fs::remove_file(place.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether this is the name of a checkpoint of a run: `run-N`, `run-N.before`, `run-N.part`.
fn is_run(name: &str) -> bool {
    let number = name
        .strip_prefix("run-")
        .map(|rest| rest.strip_suffix(".before").or_else(|| rest.strip_suffix(".part")).unwrap_or(rest));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_run;

    #[test]
    fn only_checkpoints_have_the_names_of_checkpoints() {
        assert!(["run-1", "run-12.before", "run-3.part"].into_iter().all(is_run));
        assert!(!["run-", "run-x", "run-1.txt", "fit.json", "notes"].into_iter().any(is_run));
    }
}
