//! What is Cavi's in a directory: the marker `cavi-files.json` with the list of its files, and what earlier versions wrote without one.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::compile::Source;
use crate::directory::RUNS;

/// The file of the marker.
pub const MARKER: &str = "cavi-files.json";

/// The marker while it is written.
const PART: &str = "cavi-files.json.part";

/// The only value of `written_by`.
const WRITER: &str = "cavi";

/// How far a directory got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being written: all in it is Cavi's.
    Begun,
    /// It has all of its files, which the marker lists.
    Whole,
    /// Another takes its place: what the marker lists is Cavi's, the rest moves over.
    Replaced,
}

impl State {
    const ALL: [State; 3] = [State::Begun, State::Whole, State::Replaced];

    fn word(self) -> &'static str {
        match self {
            State::Begun => "begun",
            State::Whole => "whole",
            State::Replaced => "replaced",
        }
    }
}

/// Makes a directory that is being written.
pub fn begin(directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)?;
    put(directory, State::Begun, &[])
}

/// Gives a directory the marker of a whole one. Everything in it is Cavi's.
pub fn finish(directory: &Path) -> io::Result<()> {
    put(directory, State::Whole, &files_below(directory)?)
}

/// Lists more files of a whole directory as Cavi's; of a directory without a marker there is no list.
pub fn add(directory: &Path, more: &[String]) -> io::Result<()> {
    if state(directory) != Some(State::Whole) {
        return Ok(());
    }
    let mut files = own_files(directory)?;
    let known = files.len();
    files.extend(more.iter().filter(|file| !files.contains(file)).cloned().collect::<Vec<_>>());
    if files.len() > known {
        files.sort();
        put(directory, State::Whole, &files)?;
    }
    Ok(())
}

/// Marks a directory whose place another is about to take. A whole one of Cavi's keeps its marker.
pub fn replace(directory: &Path) -> io::Result<()> {
    match state(directory) {
        Some(State::Whole) => Ok(()),
        _ => put(directory, State::Replaced, &own_files(directory)?),
    }
}

/// Whether Cavi wrote the directory: a marker, or the program and its hash as earlier versions left them.
pub fn is_own(directory: &Path) -> bool {
    state(directory) == Some(State::Whole) || earlier_summary(directory).is_some()
}

/// What the marker of a directory says; `None` without one.
pub fn state(directory: &Path) -> Option<State> {
    let marker = read(directory)?;
    State::ALL.into_iter().find(|own| marker["state"].as_str() == Some(own.word()))
}

/// Deletes what is Cavi's in a directory whose place another has, or that was never finished, and moves all other files into `target`.
/// Where that has a file of the same name, the one that is moved gets `.earlier` at the end of its name. A directory that says nothing
/// of Cavi is left as it is.
pub fn retire(directory: &Path, target: &Path) -> io::Result<()> {
    match state(directory) {
        Some(State::Begun) => return discard(directory),
        Some(_) => {}
        None if earlier_summary(directory).is_some() => {}
        // Killed before the marker had its text.
        None => {
            let entries: Result<Vec<_>, _> = fs::read_dir(directory)?.collect();
            let is_begun = entries?.iter().all(|own| is_marker(&own.file_name()));
            return if is_begun { fs::remove_dir_all(directory) } else { Ok(()) };
        }
    }
    for file in own_files(directory)? {
        let path = directory.join(file);
        remove_file(&path)?;
        // Directories that are empty then, from the innermost; the first that is not ends it.
        let above = path.ancestors().skip(1).take_while(|own| *own != directory);
        let _ = above.map(fs::remove_dir).find(Result::is_err);
    }
    remove_file(&directory.join(PART))?;
    if target.is_dir() {
        move_rest(directory, target, true)?;
    }
    let rest: Result<Vec<_>, _> = fs::read_dir(directory)?.collect();
    if rest?.iter().all(|own| own.file_name() == MARKER) { remove_marked(directory) } else { Ok(()) }
}

/// Removes a directory that was never finished, with all that is in it.
pub fn discard(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false if entry.file_name() == MARKER => {}
            false => fs::remove_file(entry.path())?,
        }
    }
    remove_marked(directory)
}

/// Removes a directory that has its marker alone. The marker goes last of all: a process that is killed before leaves what the next one
/// knows and can end.
fn remove_marked(directory: &Path) -> io::Result<()> {
    remove_file(&directory.join(MARKER))?;
    fs::remove_dir(directory)
}

/// Moves the files of a directory into another, below the same names.
/// The marker of the outermost directory stays.
fn move_rest(from: &Path, to: &Path, outermost: bool) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if outermost && entry.file_name() == MARKER {
            continue;
        }
        let goal = to.join(entry.file_name());
        let is_directory = entry.file_type()?.is_dir();
        if is_directory && goal.is_dir() {
            move_rest(&entry.path(), &goal, false)?;
            fs::remove_dir(entry.path())?;
        } else {
            fs::rename(entry.path(), free(goal))?;
        }
    }
    Ok(())
}

/// A path that nothing has: this one, or with `.earlier` at its end as often as it takes.
fn free(mut path: PathBuf) -> PathBuf {
    while path.symlink_metadata().is_ok() {
        let mut longer = path.into_os_string();
        longer.push(".earlier");
        path = longer.into();
    }
    path
}

/// The files of Cavi in a directory, relative to it, without the marker.
fn own_files(directory: &Path) -> io::Result<Vec<String>> {
    if let Some(marker) = read(directory).filter(|marker| marker["files"].is_array()) {
        let listed = marker["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
        return Ok(listed.filter(|file| is_inside(file)).map(str::to_owned).collect());
    }
    match earlier_summary(directory) {
        Some(summary) => earlier_files(directory, &summary),
        None => Ok(Vec::new()),
    }
}

/// Whether a path of a marker stays inside its directory.
fn is_inside(file: &str) -> bool {
    file.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && !part.contains('\\'))
}

/// The files that a version without a marker wrote for a fit with this summary.
fn earlier_files(directory: &Path, summary: &Value) -> io::Result<Vec<String>> {
    let tables = summary["projected"]["tables"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut files: Vec<String> = ["model.cavi", "trace.csv", "summary.json"].map(str::to_owned).into();
    files.extend(tables.filter(|own| !own.contains('/') && is_inside(own)).map(str::to_owned));
    for (folder, ending) in
        [("posterior", ".npy"), ("standardised", ".npy"), ("axes", ".txt"), ("vocabulary", ".csv")]
    {
        if directory.join(folder).is_dir() {
            let own = files_below(&directory.join(folder))?.into_iter().filter(|file| file.ends_with(ending));
            files.extend(own.map(|file| format!("{folder}/{file}")));
        }
    }
    let runs = summary["runs"].as_array().filter(|_| summary["settings"]["keep"] == "all");
    for number in 1..=runs.map_or(0, Vec::len) {
        let run = format!("{RUNS}/{number}");
        if let Some(own) = earlier_summary(&directory.join(&run)) {
            let files_of_run = earlier_files(&directory.join(&run), &own)?;
            files.extend(files_of_run.into_iter().map(|file| format!("{run}/{file}")));
        }
    }
    Ok(files)
}

/// The summary of a fit whose program has the hash that the summary says.
fn earlier_summary(directory: &Path) -> Option<Value> {
    let summary: Value = serde_json::from_slice(&fs::read(directory.join("summary.json")).ok()?).ok()?;
    let text = fs::read_to_string(directory.join("model.cavi")).ok()?;
    let program = cavi_syntax::parse(&text).0;
    let hash = Source { file_name: "model.cavi".to_owned(), text, program }.hash();
    (summary["model_hash"].as_str() == Some(&hash)).then_some(summary)
}

/// All files below a directory, its marker among them, relative to it.
pub fn all_files(directory: &Path) -> io::Result<Vec<String>> {
    let mut files = files_below(directory)?;
    files.extend(directory.join(MARKER).is_file().then(|| MARKER.to_owned()));
    Ok(files)
}

/// All files below a directory but its marker, relative to it, in order, with `/` between names.
fn files_below(directory: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&entry.path())?.into_iter().map(|file| format!("{name}/{file}")));
        } else if !is_marker(name.as_ref()) {
            files.push(name);
        }
    }
    files.sort();
    Ok(files)
}

/// The marker of a directory that Cavi wrote.
fn read(directory: &Path) -> Option<Value> {
    let marker: Value = serde_json::from_slice(&fs::read(directory.join(MARKER)).ok()?).ok()?;
    (marker["written_by"] == WRITER).then_some(marker)
}

/// Writes the marker and brings it to the disk; an earlier one stands until the new one does.
fn put(directory: &Path, state: State, files: &[String]) -> io::Result<()> {
    let marker = json!({
        "written_by": WRITER,
        "version": env!("CARGO_PKG_VERSION"),
        "state": state.word(),
        "files": files,
    });
    let part = directory.join(PART);
    let mut file = File::create(&part)?;
    file.write_all(format!("{marker:#}\n").as_bytes())?;
    file.sync_all()?;
    drop(file);
    fs::rename(part, directory.join(MARKER))?;
    super::sync_directory(directory)
}

/// Whether this is the name of a marker, finished or not.
fn is_marker(name: &OsStr) -> bool {
    name == MARKER || name == PART
}

/// Removes a file; one that is not there is none.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
