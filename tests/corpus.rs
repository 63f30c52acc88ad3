//! The texts that tests run over, and the stages they run them through.

use std::path::{Path, PathBuf};

use cavi_algebra::Equations;
use cavi_algebra::print::Format;
use cavi_model::Model;
use cavi_syntax::ast::Program;
use cavi_syntax::{Diagnostic, render};

/// A program's text.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its file without folder and ending; of an example with `example_` before it.
    pub name: String,
    /// What stands in the file.
    pub text: String,
}

/// What the stages made of a text, as far as its mistakes allow.
#[derive(Debug)]
pub struct Compiled {
    /// The text.
    pub text: String,
    /// The tree.
    pub program: Program,
    /// The resolved model.
    pub model: Option<Model>,
    /// The derived updates.
    pub equations: Option<Equations>,
    /// The program as the library has it.
    pub compiled: Option<cavi::Compiled>,
    /// What the stages had to say, in their order.
    pub diagnostics: Vec<Diagnostic>,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The small programs of `tests/models`.
///
/// # Panics
/// If the folder cannot be read.
pub fn models() -> Vec<Text> {
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("models"), "")
}

/// The built-in programs of `examples`.
///
/// # Panics
/// If the folder cannot be read.
pub fn examples() -> Vec<Text> {
    let mut found = Vec::new();
    for folder in entries(&root().join("examples")) {
        if folder.is_dir() {
            found.extend(texts(&folder, "example_"));
        }
    }
    found
}

/// Programs with one mistake each, of `tests/rejected`.
///
/// # Panics
/// If the folder cannot be read.
pub fn rejected() -> Vec<Text> {
    texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("rejected"), "")
}

fn texts(folder: &Path, before: &str) -> Vec<Text> {
    let programs =
        entries(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "cavi"));
    programs
        .map(|path| Text {
            name: format!("{before}{}", path.file_stem().unwrap_or_default().to_string_lossy()),
            text: std::fs::read_to_string(&path).expect("a program is readable"),
        })
        .collect()
}

/// What stands in a folder, sorted by name.
///
/// # Panics
/// If the folder cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("an entry is readable").path()).collect();
    paths.sort();
    paths
}

/// All files below a folder that end so, sorted.
///
/// # Panics
/// If a folder cannot be read.
pub fn files_below(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // What a build leaves is no source.
    for path in entries(folder).into_iter().filter(|path| !path.ends_with("target")) {
        if path.is_dir() {
            found.extend(files_below(&path, end));
        } else if path.extension().is_some_and(|own| own == end) {
            found.push(path);
        }
    }
    found
}

/// Runs the stages as `cavi check` does.
pub fn compile(text: &str) -> Compiled {
    let cavi::Checked { source, diagnostics, compiled } = cavi::compile(text, "");
    let (model, equations) = compiled.clone().map(|own| (own.model, own.equations)).unzip();
    let (text, program) = (source.text.clone(), source.program.clone());
    Compiled { text, program, model, equations, compiled, diagnostics }
}

impl Compiled {
    /// Whether a stage found a mistake.
    pub fn failed(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The diagnostics as a terminal shows them.
    pub fn rendered(&self, name: &str, text: &str) -> String {
        let shown = self
            .diagnostics
            .iter()
            .map(|diagnostic| render(diagnostic, &format!("{name}.cavi"), text, false));
        shown.collect::<Vec<_>>().join("\n")
    }

    /// The derivation as `cavi derive` prints it.
    ///
    /// # Panics
    /// If there is none.
    pub fn derivation(&self, format: Format) -> String {
        let compiled = self.compiled.as_ref().expect("only a program that compiles has a derivation");
        compiled.derivation(format)
    }
}

/// Runs a check over texts and reports every one that fails, not only the first.
///
/// # Panics
/// If any check panics.
pub fn check_each(texts: &[Text], check: impl Fn(&Text) + std::panic::RefUnwindSafe) {
    let failed: Vec<&str> = texts
        .iter()
        .filter(|text| std::panic::catch_unwind(|| check(text)).is_err())
        .map(|text| text.name.as_str())
        .collect();
    assert!(failed.is_empty(), "{} of {} failed: {}", failed.len(), texts.len(), failed.join(", "));
}
