//! `cavi derive MODEL`: the updates and the bound.

use std::path::Path;

use cavi::{Columns, Compiled, Format, Level};
use cavi_syntax::nearest;

use crate::arguments::{DerivationFormat, DerivationLevel, DeriveArguments};
use crate::difference::difference;
use crate::failure::Failure;
use crate::{program, terminal};

/// The derivation in one of five formats, or how one variable comes by its update; printed, or compared with a file.
pub fn run(arguments: &DeriveArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let set = super::check::values(&arguments.set)?;
    let compiled = program::compile(&source, &set)?;
    let text = derivation(&compiled, arguments)?;
    match &arguments.check {
        Some(file) => compare(file, &text),
        None => terminal::print(&text),
    }
}

fn derivation(compiled: &Compiled, arguments: &DeriveArguments) -> Result<String, Failure> {
    let latex = matches!(arguments.chosen(), DerivationFormat::Latex) && arguments.explain.is_none();
    if arguments.columns != Columns::One && !latex {
        return Err(Failure::usage(COLUMNS));
    }
    let format = match arguments.chosen() {
        DerivationFormat::Text => Format::Text,
        DerivationFormat::Latex => Format::Latex,
        DerivationFormat::Markdown => Format::Markdown,
        DerivationFormat::Python => return python(compiled, arguments),
        DerivationFormat::Json => {
            if arguments.standalone {
                return Err(Failure::usage(STANDALONE));
            }
            if arguments.level.is_some() {
                return Err(Failure::usage(
                    "JSON holds every line of a derivation: `--level` is for the other formats",
                ));
            }
            let variable = arguments.explain.as_deref();
            let json = compiled.derivation_json(variable);
            return json.ok_or_else(|| no_latent(compiled, variable.unwrap_or_default()));
        }
    };
    let text = match &arguments.explain {
        None if format == Format::Latex => compiled.derivation_in(level(arguments), arguments.columns),
        None => compiled.derivation_at(level(arguments), format),
        Some(variable) => compiled.explain(variable, format).ok_or_else(|| no_latent(compiled, variable))?,
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let text = format!("{text}{end}");
    match (arguments.standalone, format) {
        (false, _) => Ok(text),
        (true, Format::Latex) => Ok(document(&text, arguments.columns)),
        (true, Format::Text | Format::Markdown) => Err(Failure::usage(STANDALONE)),
    }
}

const COLUMNS: &str = "`--columns` is about pages of LaTeX: add `--format latex`, without `--explain`";

const STANDALONE: &str = "`--standalone` makes a document of LaTeX: add `--format latex`";

/// A fragment as a document of its own.
fn document(fragment: &str, columns: Columns) -> String {
    let class = match columns {
        Columns::One => "\\documentclass{article}",
        Columns::Two => "\\documentclass[twocolumn]{article}",
    };
    format!(
        "{class}\n\\usepackage[T1]{{fontenc}}\n\\usepackage[utf8]{{inputenc}}\n\
         \\usepackage{{amsmath,amssymb,mathtools}}\n\\begin{{document}}\n{fragment}\\end{{document}}\n"
    )
}

fn level(arguments: &DeriveArguments) -> Level {
    match arguments.level {
        None | Some(DerivationLevel::Full) => Level::Full,
        Some(DerivationLevel::Paper) => Level::Paper,
        Some(DerivationLevel::Lecture) => Level::Lecture,
    }
}

/// The whole derivation as code.
fn python(compiled: &Compiled, arguments: &DeriveArguments) -> Result<String, Failure> {
    if arguments.explain.is_some() {
        return Err(Failure::usage(
            "`--explain` has no `--format python`: a file of code holds the whole derivation",
        ));
    }
    if arguments.standalone {
        return Err(Failure::usage(STANDALONE));
    }
    if arguments.level.is_some() {
        return Err(Failure::usage("code has no explanations: `--level` is for text, LaTeX and Markdown"));
    }
    let refused = |why| {
        Failure::wrong(format!("the derivation of `{}` has no Python code yet: {why}", arguments.model))
    };
    compiled.python().map_err(refused)
}

/// Compares a derivation with a stored one.
fn compare(file: &Path, text: &str) -> Result<(), Failure> {
    let shown = file.display();
    let stored = std::fs::read_to_string(file)
        .map_err(|error| Failure::wrong(format!("`{shown}` cannot be read: {error}")))?;
    // Line ends are those of the machine that stored it.
    match difference(&stored.replace("\r\n", "\n"), text) {
        None => Ok(()),
        Some(lines) => Err(Failure::Wrong(format!(
            "error: the derivation is no longer that of `{shown}`: what is stored has -, what is derived +\n{lines}"
        ))),
    }
}

fn no_latent(compiled: &Compiled, variable: &str) -> Failure {
    let latents = compiled.latents();
    let hint = match nearest(variable, latents.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("latent variables: {}", latents.join(", ")),
    };
    Failure::usage(format!("there is no latent variable `{variable}`\n  {hint}"))
}
