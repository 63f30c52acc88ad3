//! `MODEL`: a file or the name of a built-in program, compiled, with what it has to say shown.

use std::path::Path;

use cavi::bind::Inputs;
use cavi::{Compiled, Error, Set};
use cavi_syntax::{Diagnostic, Severity, nearest, render_all};

use crate::failure::Failure;
use crate::terminal;

/// The text of a program and what the user typed for it.
pub struct Source {
    /// What the user typed.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether it is a file.
    pub is_file: bool,
}

/// Finds the program that the user means: a file, else a built-in program.
pub fn find(model: &str) -> Result<Source, Failure> {
    let path = Path::new(model);
    let looks_like_a_path = path.extension().is_some() || path.components().count() > 1;
    if path.is_file() || looks_like_a_path {
        return read(path, model);
    }
    if let Some(example) = cavi_examples::example(model) {
        return Ok(Source { name: model.to_owned(), text: example.text.to_owned(), is_file: false });
    }
    let beside = format!("{model}.cavi");
    if Path::new(&beside).is_file() {
        let message = format!("there is neither a file nor a built-in program `{model}`");
        return Err(Failure::usage(format!("{message}\n  did you mean the file `{beside}`?")));
    }
    if path.is_dir() {
        return Err(Failure::usage(format!("`{model}` is a directory; expected a .cavi file")));
    }
    Err(Failure::usage(format!("there is neither a file nor a built-in program `{model}`\n{}", hint(model))))
}

fn read(path: &Path, model: &str) -> Result<Source, Failure> {
    let text = cavi_files::read_text(path).map_err(|error| match error.line {
        _ if !path.exists() => Failure::wrong(format!(
            "there is no file `{model}`\n  {}",
            "expected a .cavi file; `cavi list` shows the built-in programs"
        )),
        Some(line) => {
            Failure::wrong(format!("`{model}`, line {line}: this is not UTF-8 text; expected a .cavi file"))
        }
        None => {
            let (expected, help) = match &error.help {
                Some(help) => (error.expected.as_str(), format!("\n  {help}")),
                None => ("a .cavi file", String::new()),
            };
            Failure::wrong(format!(
                "`{model}` cannot be read: it is {}; expected {expected}{help}",
                error.found
            ))
        }
    })?;
    Ok(Source { name: model.to_owned(), text, is_file: true })
}

/// What the user may have meant by the name of a built-in program.
pub fn hint(name: &str) -> String {
    let names: Vec<&str> = cavi_examples::examples().iter().map(|example| example.name).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => format!("  did you mean `{near}`?"),
        None => format!("  built-in programs: {}", names.join(", ")),
    }
}

/// Opens a program whose constants and sizes may be among the inputs, and shows its warnings; the ones whose code is in `ignored` are
/// not shown.
///
/// # Errors
/// If the program has an error, or a value is given for a name that it does not have.
pub fn open(source: &Source, inputs: &Inputs, ignored: &[&str]) -> Result<Compiled, Failure> {
    let (compiled, mut warnings) =
        cavi::session::open(&source.text, &source.name, inputs).map_err(counted)?;
    warnings.retain(|warning| !ignored.contains(&warning.code));
    terminal::note(&text_of(&compiled.source, &warnings));
    Ok(compiled)
}

/// Compiles a program without data, and shows its warnings.
///
/// # Errors
/// As [`open`].
pub fn compile(source: &Source, set: &[Set]) -> Result<Compiled, Failure> {
    let mut checked = cavi::compile_with(&source.text, &source.name, set);
    checked.diagnostics.retain(|own| own.severity <= Severity::Warning);
    let warnings: Vec<Diagnostic> =
        checked.diagnostics.iter().filter(|own| !own.is_error()).cloned().collect();
    let compiled = checked.into_compiled().map_err(counted)?;
    compiled.refuse_unknown(set)?;
    terminal::note(&text_of(&compiled.source, &warnings));
    Ok(compiled)
}

/// The failure of a program, how many errors it has in its last line.
fn counted(error: Error) -> Failure {
    let count = match &error {
        Error::Program { diagnostics, .. } => count(diagnostics),
        _ => String::new(),
    };
    match Failure::from(error) {
        Failure::Wrong(text) => Failure::Wrong(text + &count),
        other => other,
    }
}

/// Diagnostics as text, one after another, an empty line between.
pub fn text_of(source: &cavi::Source, diagnostics: &[Diagnostic]) -> String {
    text_in(diagnostics, &source.file_name, &source.text)
}

/// As [`text_of`], for places in another text.
pub fn text_in(diagnostics: &[Diagnostic], file_name: &str, text: &str) -> String {
    diagnostics.iter().for_each(|diagnostic| terminal::remember(diagnostic.code));
    render_all(diagnostics, file_name, text, terminal::colors(true))
}

/// `3 errors, 1 warning`
pub fn count(diagnostics: &[Diagnostic]) -> String {
    let number = |severity: Severity, word: &str| {
        let count = diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        match count {
            0 => None,
            1 => Some(format!("1 {word}")),
            count => Some(format!("{count} {word}s")),
        }
    };
    let parts: Vec<String> =
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")]
            .into_iter()
            .filter_map(|(severity, word)| number(severity, word))
            .collect();
    if parts.is_empty() { String::new() } else { parts.join(", ") + "\n" }
}
