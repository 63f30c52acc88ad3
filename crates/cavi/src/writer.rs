//! One writer of directories: what stands there is always whole, the old or the new.
//!
//! A directory is written beside its place, into `DIR.new-PROCESS-TIME`, synced to the disk, given a [`marker`] with the list of its
//! files, and exchanged with what stood at `DIR` by one call of the system. Then the files of the old directory that its marker lists
//! are deleted, and all others are moved into the new one. A process that is killed leaves the old directory or the new one, and beside
//! it what the next writer of the same place takes away.
//!
//! A lock on the file `.DIR.cavi-lock` beside the directory keeps a second writer out. The system gives the lock back when its process
//! ends, however it ends. File systems without locks are written to without one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::bind::DataError;
use crate::error::Error;
pub(crate) use marker::MARKER;
use marker::State;

mod marker;

/// The place of a directory that is to be written, held against other writers until it is dropped.
#[derive(Debug)]
pub struct Writer {
    /// The directory, every link on the way to it followed.
    target: PathBuf,
    /// As the caller named it, for messages.
    shown: String,
    /// The outermost directory above it that had to be made; taken away again if nothing is written.
    made: Option<PathBuf>,
    lock: Lock,
}

/// Adds a file to a directory that Cavi wrote: the next fit that takes its place takes the file away.
///
/// # Errors
/// A file that cannot be written.
pub fn add_file(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = directory.join(name);
    cavi_files::write_bytes_atomically(&path, bytes)?;
    list_files(directory, &[path])
}

/// Lists files that stand in a directory that Cavi wrote as its own, such as answers to questions to a fit: the next fit that takes its place
/// takes them away, for they are not answers of that. Of a directory all files are listed; files elsewhere are not.
///
/// # Errors
/// A list that cannot be written.
pub fn list_files(directory: &Path, files: &[PathBuf]) -> Result<(), Error> {
    let cannot = |error: io::Error| {
        DataError::new(format!("the files in `{}` cannot be listed: {error}", directory.display()))
    };
    let mut all = Vec::new();
    for file in files {
        match file.is_dir() {
            true => all.extend(marker::all_files(file).map_err(cannot)?.iter().map(|own| file.join(own))),
            false => all.push(file.clone()),
        }
    }
    let inside = all.iter().filter_map(|file| file.strip_prefix(directory).ok());
    let name = |file: &Path| -> String {
        let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
        parts.join("/")
    };
    let names: Vec<String> = inside.map(name).collect();
    Ok(marker::add(directory, &names).map_err(cannot)?)
}

impl Writer {
    /// Takes the place of a directory, before the work whose result goes there. What killed writers left beside it is taken away.
    ///
    /// With `force` a directory that Cavi did not write is replaced too; its files stay. `reads` are the directories of fits that the work reads.
    ///
    /// # Errors
    /// [`Error::Usage`]: a directory that is read, or one above it; a path that is a file, the current directory or one above it, or another file system than the directory
    /// above it; a directory that is not empty and that Cavi did not write, without `force`; another process that writes to it.
    /// [`Error::Data`]: a place that cannot be written to.
    pub fn open(path: &Path, reads: &[&Path], force: bool) -> Result<Writer, Error> {
        let shown = path.display().to_string();
        refuse_read(path, reads, &shown)?;
        if path.exists() && !path.is_dir() {
            return Err(usage(format!("`--out {shown}` is a file; expected a directory")));
        }
        if path.is_symlink() && !path.exists() {
            return Err(usage(format!("`--out {shown}` is a link to nothing; expected a directory")));
        }
        let parent = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => path,
        };
        let missing = parent.ancestors().take_while(|own| !own.as_os_str().is_empty() && !own.exists());
        let made = missing.last().map(Path::to_owned);
        let cannot = |what: &str, error: io::Error| -> Error {
            DataError::new(format!("`--out {shown}` cannot be {what}: {error}")).into()
        };
        fs::create_dir_all(parent).map_err(|error| cannot("made", error))?;
        let target = match (path.exists(), path.file_name()) {
            (false, Some(name)) => parent.canonicalize().map(|parent| parent.join(name)),
            _ => path.canonicalize(),
        };
        let target = target.map_err(|error| cannot("found", error))?;
        refuse_unmovable(&target, &shown)?;
        let lock = match Lock::take(&target) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                return Err(usage(format!(
                    "another run of Cavi is writing to `--out {shown}`; wait for its end, or name another directory"
                )));
            }
            Err(error) => return Err(cannot("written to", error)),
        };
        let writer = Writer { target, shown: shown.clone(), made, lock };
        probe(&writer.target).map_err(|error| cannot("written to", error))?;
        writer.clean().map_err(|error| cannot("cleared of what a killed run left beside it", error))?;
        if writer.target.join(MARKER).exists() && marker::state(&writer.target).is_none() {
            return Err(usage(format!(
                "`--out {}` has a file `{MARKER}` that Cavi did not write; move it away, or name another directory",
                writer.shown
            )));
        }
        let accepted = force
            || marker::is_own(&writer.target)
            || is_empty(&writer.target).map_err(|error| cannot("read", error))?;
        match accepted {
            true => Ok(writer),
            false => Err(usage(format!(
                "`--out {}` has files and was not written by Cavi; name another directory, or give `--force` to write there and keep \
                 these files",
                writer.shown
            ))),
        }
    }

    /// Writes the directory: `fill` writes its files into the directory that it is given, which then takes the place.
    ///
    /// # Errors
    /// Those of `fill`, and of the system; what stood at the place stands there still.
    pub fn write(mut self, fill: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
        let staged = self.beside("new");
        let cannot = |error: io::Error| -> Error {
            DataError::new(format!(
                "`--out {}` cannot be written: {error}; what stood there stands still",
                self.shown
            ))
            .into()
        };
        let whole = marker::begin(&staged)
            .map_err(cannot)
            .and_then(|()| fill(&staged))
            .and_then(|()| sync(&staged).and_then(|()| marker::finish(&staged)).map_err(cannot));
        if let Err(error) = whole {
            // The error that stopped the writing is the one to report; the next writer takes away what cannot be taken away now.
            let _ = marker::discard(&staged);
            return Err(error);
        }
        self.made = None;
        let retired = self.swap(&staged).map_err(|error| {
            // A name that the next writer does not take away.
            let kept = self.beside("whole");
            let at = if fs::rename(&staged, &kept).is_ok() { kept } else { staged.clone() };
            DataError::new(format!(
                "`--out {}` cannot be replaced: {error}; the result stands whole in `{}`",
                self.shown,
                at.display()
            ))
        })?;
        let Some(retired) = retired else { return Ok(()) };
        marker::retire(&retired, &self.target).map_err(|error| {
            DataError::new(format!(
                "`--out {}` is written, but what stood there cannot be taken away from `{}`: {error}",
                self.shown,
                retired.display()
            ))
            .into()
        })
    }

    /// Exchanges the finished directory with what stands at the place, and says where that is now.
    fn swap(&self, staged: &Path) -> io::Result<Option<PathBuf>> {
        if let Ok(earlier) = fs::metadata(&self.target) {
            fs::set_permissions(staged, earlier.permissions())?;
        }
        let retired = match exchange(staged, &self.target) {
            Ok(()) => Some(staged.to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::rename(staged, &self.target)?;
                None
            }
            // Two steps where the system has no exchange; `clean` ends them if the process is killed between.
            Err(_) => {
                let old = self.beside("old");
                marker::replace(&self.target)?;
                fs::rename(&self.target, &old)?;
                fs::rename(staged, &self.target)?;
                Some(old)
            }
        };
        sync_directory(self.parent())?;
        Ok(retired)
    }

    /// Takes away what killed writers left beside the directory. Nobody else writes there, since the lock is held.
    fn clean(&self) -> io::Result<()> {
        let Some(name) = self.target.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
        let mut left = Vec::new();
        for entry in fs::read_dir(self.parent())? {
            let entry = entry?;
            let own = entry.file_name().to_str().is_some_and(|own| is_left(own, name));
            if own && entry.file_type()?.is_dir() {
                left.push(entry.path());
            }
        }
        // What is new stands before what is old.
        left.sort();
        // A process that was killed between two steps had moved the old directory away, and had not yet moved the new one in.
        if !self.target.exists()
            && let Some(place) = left.iter().position(|own| marker::state(own) == Some(State::Whole))
        {
            fs::rename(left.remove(place), &self.target)?;
        }
        left.iter().try_for_each(|own| marker::retire(own, &self.target))
    }

    /// The path of a directory beside this one, of no other process and time.
    fn beside(&self, what: &str) -> PathBuf {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let mut path = self.target.clone().into_os_string();
        path.push(format!(".{what}-{}-{time}", std::process::id()));
        path.into()
    }

    fn parent(&self) -> &Path {
        self.target.parent().unwrap_or(&self.target)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.lock.give_back();
        if let Some(made) = &self.made {
            // The innermost directory is removed first, and only directories that are empty are removed.
            let made = made.canonicalize().unwrap_or_else(|_| made.clone());
            let own = self.target.ancestors().skip(1).take_while(|path| path.starts_with(&made));
            own.for_each(|path| drop(fs::remove_dir(path)));
        }
    }
}

/// A lock of the system on a file beside the directory.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    /// Open as long as the lock is held.
    file: Option<File>,
}

impl Lock {
    /// Takes the lock of a directory; `None` where another process has it.
    fn take(target: &Path) -> io::Result<Option<Lock>> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.cavi-lock"));
        loop {
            let file = OpenOptions::new().create(true).write(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Between opening and locking, the holder before may have removed the file: a lock on a removed file keeps nobody out.
            if is_at(&file, &path) {
                return Ok(Some(Lock { path, file: Some(file) }));
            }
        }
    }

    /// Removes the file while the lock is held, and gives the lock back.
    fn give_back(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = fs::remove_file(&self.path);
            drop(file);
        }
    }
}

/// Whether this open file is the one at the path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |own: fs::Metadata| (own.dev(), own.ino());
    file.metadata().map(place).is_ok_and(|own| fs::metadata(path).map(place).is_ok_and(|other| own == other))
}

/// An open file is not removed on such systems.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Exchanges two directories in one step.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, two: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    if !two.exists() {
        return Err(ErrorKind::NotFound.into());
    }
    marker::replace(two)?;
    Ok(renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE)?)
}

/// There is no such step.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &Path, two: &Path) -> io::Result<()> {
    Err(if two.exists() { ErrorKind::Unsupported } else { ErrorKind::NotFound }.into())
}

/// Refuses a directory that is read, or above one that is: it would be gone.
fn refuse_read(path: &Path, reads: &[&Path], shown: &str) -> Result<(), Error> {
    let Ok(target) = path.canonicalize() else { return Ok(()) };
    let is_in = |read: &&&Path| read.canonicalize().is_ok_and(|own| own.starts_with(&target));
    match reads.iter().find(is_in) {
        None => Ok(()),
        Some(read) => {
            let is_same = read.canonicalize().is_ok_and(|own| own == target);
            let what =
                if is_same { "the directory of the fit itself" } else { "above the directory of the fit" };
            let found = DataError::new(format!("`--out {shown}` is {what}, which is replaced as a whole"));
            Err(Error::Usage(vec![found.possible("another directory, or one inside it")]))
        }
    }
}

/// Refuses a directory that cannot change its place: a current one, or a file system of its own.
fn refuse_unmovable(target: &Path, shown: &str) -> Result<(), Error> {
    let inside = "name a directory inside it";
    let current = std::env::current_dir().and_then(|path| path.canonicalize());
    if current.is_ok_and(|current| current.starts_with(target)) {
        return Err(usage(format!(
            "`--out {shown}` is the current directory or above it, and a directory is replaced as a whole; {inside}"
        )));
    }
    match is_mounted(target) {
        true => Err(usage(format!(
            "`--out {shown}` is where a file system begins, and a directory is replaced as a whole; {inside}"
        ))),
        false => Ok(()),
    }
}

/// Whether another file system begins at this directory.
#[cfg(unix)]
fn is_mounted(target: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).map(|own| own.dev()).ok();
    match (device(target), target.parent().and_then(device)) {
        (Some(own), Some(above)) => own != above,
        (own, _) => own.is_some(),
    }
}

/// Other systems have drives instead.
#[cfg(not(unix))]
fn is_mounted(target: &Path) -> bool {
    target.parent().is_none()
}

/// Whether this is the name of what a writer of the directory `name` left: `NAME.new-PROCESS-TIME` or `NAME.old-PROCESS-TIME`.
fn is_left(own: &str, name: &str) -> bool {
    let rest = own.strip_prefix(name);
    let numbers = rest.and_then(|rest| rest.strip_prefix(".new-").or_else(|| rest.strip_prefix(".old-")));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers
        .and_then(|text| text.split_once('-'))
        .is_some_and(|(process, time)| is_number(process) && is_number(time))
}

/// Asks whether a directory that stands can be written to, and leaves nothing in it.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn probe(directory: &Path) -> io::Result<()> {
    use rustix::fs::{Access, access};
    match directory.exists() {
        true => Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?),
        false => Ok(()),
    }
}

/// The lock beside the directory has shown as much as such systems say.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn probe(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether a directory has no entries, or is none.
fn is_empty(path: &Path) -> io::Result<bool> {
    Ok(!path.exists() || fs::read_dir(path)?.next().is_none())
}

/// From so many files on, one request for all that a file system holds back takes less time than one for each file, each of which waits for the disk.
const MANY_FILES: usize = 100;

/// Brings all files of a directory, and the directories, to the disk.
fn sync(directory: &Path) -> io::Result<()> {
    let (mut files, mut directories) = (Vec::new(), vec![directory.to_path_buf()]);
    let mut read = 0;
    while let Some(own) = directories.get(read).cloned() {
        read += 1;
        for entry in fs::read_dir(own)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => directories.push(entry.path()),
                false => files.push(entry.path()),
            }
        }
    }
    if files.len() >= MANY_FILES && sync_file_system(directory)? {
        return Ok(());
    }
    files.iter().try_for_each(|own| OpenOptions::new().write(true).open(own)?.sync_all())?;
    directories.iter().rev().try_for_each(|own| sync_directory(own))
}

/// Brings all that the file system of a directory holds back to the disk, and says whether this system does so.
#[cfg(target_os = "linux")]
fn sync_file_system(directory: &Path) -> io::Result<bool> {
    rustix::fs::syncfs(File::open(directory)?)?;
    Ok(true)
}

/// Other systems have no such request.
#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Brings the entries of a directory to the disk, where the system opens directories.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

fn usage(message: String) -> Error {
    Error::Usage(vec![DataError::new(message)])
}

#[cfg(test)]
mod tests {
    use super::is_left;

    #[test]
    fn only_names_that_a_writer_gives_are_what_it_left() {
        assert!(is_left("o.new-12-345", "o") && is_left("o.old-12-345", "o"));
        for own in ["o", "o.new", "o.new-12", "o.new-x-1", "o.new-12-345.txt", "oo.new-12-345", "o.whole-1-2"]
        {
            assert!(!is_left(own, "o"), "{own}");
        }
    }
}
