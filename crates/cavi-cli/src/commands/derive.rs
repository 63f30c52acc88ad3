//! `cavi derive MODEL`: the updates and the bound.

use std::path::Path;

use cavi::verified::{foot, foot_in_python, without_foot};
use cavi::{Columns, Compiled, Format, Level, Verified};
use cavi_syntax::nearest;

use crate::arguments::{DerivationFormat, DerivationLevel, DeriveArguments};
use crate::difference::difference;
use crate::failure::Failure;
use crate::{program, terminal};

/// The derivation in one of its formats, or how one variable comes by its update; printed, or compared with a file.
pub fn run(arguments: &DeriveArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let set = super::check::values(&arguments.set)?;
    let compiled = program::compile(&source, &set)?;
    let verified = arguments.verify.then(|| compiled.verify(arguments.draws as usize));
    let text = derivation(&compiled, arguments, verified.as_ref())?;
    match &arguments.check {
        Some(file) => compare(file, &text)?,
        None => terminal::print(&text)?,
    }
    verified.as_ref().map_or(Ok(()), holds)
}

/// A line that does not hold is a mistake of Cavi. Where no line was evaluated, nothing was verified.
fn holds(verified: &Verified) -> Result<(), Failure> {
    let Some(first) = verified.failed.first() else {
        return match verified.lines > 0 && verified.total().relations == 0 {
            true => Err(Failure::wrong(
                "no line was evaluated: no random data of a few positions keep the subscripts apart that the program has to keep apart",
            )),
            false => Ok(()),
        };
    };
    Err(Failure::Broken(format!(
        "error: Cavi broke a promise: {} of the lines that were evaluated do not hold; this is a bug, and worth a report\n  {}\n",
        verified.failed.len(),
        first.problem
    )))
}

fn derivation(
    compiled: &Compiled,
    arguments: &DeriveArguments,
    verified: Option<&Verified>,
) -> Result<String, Failure> {
    let latex = matches!(arguments.chosen(), DerivationFormat::Latex) && arguments.explain.is_none();
    if arguments.columns != Columns::One && !latex {
        return Err(Failure::usage(COLUMNS));
    }
    if arguments.cite && !latex {
        return Err(Failure::usage(CITE));
    }
    let format = match arguments.chosen() {
        DerivationFormat::Text => Format::Text,
        DerivationFormat::Latex => Format::Latex,
        DerivationFormat::Markdown => Format::Markdown,
        DerivationFormat::Python => return python(compiled, arguments, verified),
        DerivationFormat::Bibtex => return bibliography(compiled, arguments),
        DerivationFormat::Json => {
            if arguments.standalone {
                return Err(Failure::usage(STANDALONE));
            }
            if arguments.level.is_some() {
                return Err(Failure::usage(
                    "JSON holds every line of a derivation: `--level` is for the other formats",
                ));
            }
            let Some(variable) = arguments.explain.as_deref() else {
                return Ok(compiled.derivation_json_checked(verified));
            };
            let json = compiled.derivation_json(Some(variable));
            return json.ok_or_else(|| no_latent(compiled, variable));
        }
    };
    let text = match &arguments.explain {
        None if format == Format::Latex => compiled.derivation_in(level(arguments), arguments.columns),
        None => compiled.derivation_at(level(arguments), format),
        Some(variable) => compiled.explain(variable, format).ok_or_else(|| no_latent(compiled, variable))?,
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let foot = if arguments.explain.is_none() { foot(format, verified) } else { String::new() };
    let cited = if arguments.cite { compiled.citations() } else { String::new() };
    let text = format!("{text}{end}{cited}{foot}");
    match (arguments.standalone, format) {
        (false, _) => Ok(text),
        (true, Format::Latex) => {
            let works = if cited.is_empty() { String::new() } else { works(&compiled.equations.name) };
            Ok(document(&format!("{text}{works}"), arguments.columns))
        }
        (true, Format::Text | Format::Markdown) => Err(Failure::usage(STANDALONE)),
    }
}

const COLUMNS: &str = "`--columns` is about pages of LaTeX: add `--format latex`, without `--explain`";

const CITE: &str = "`--cite` cites in LaTeX: add `--format latex`, without `--explain`";

const STANDALONE: &str = "`--standalone` makes a document of LaTeX: add `--format latex`";

/// The works that a document cites, from the file that `--format bibtex` is stored as: `MODEL.bib`.
fn works(model: &str) -> String {
    format!("\\bibliographystyle{{plain}}\n\\bibliography{{{model}}}\n")
}

/// The literature of the derivation.
fn bibliography(compiled: &Compiled, arguments: &DeriveArguments) -> Result<String, Failure> {
    let options = [
        ("--explain", arguments.explain.is_some()),
        ("--level", arguments.level.is_some()),
        ("--standalone", arguments.standalone),
        ("--verify", arguments.verify),
    ];
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "BibTeX is a list of works: `{option}` is about the lines of a derivation"
        ))),
        None => Ok(compiled.bibliography()),
    }
}

/// A fragment as a document of its own.
fn document(fragment: &str, columns: Columns) -> String {
    let class = match columns {
        Columns::One => "\\documentclass{article}",
        Columns::Two => "\\documentclass[twocolumn]{article}",
    };
    format!(
        "{class}\n\\usepackage[T1]{{fontenc}}\n\\usepackage[utf8]{{inputenc}}\n\
         \\usepackage{{amsmath,amssymb,mathtools,tikz}}\n\\begin{{document}}\n{fragment}\\end{{document}}\n"
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
fn python(
    compiled: &Compiled,
    arguments: &DeriveArguments,
    verified: Option<&Verified>,
) -> Result<String, Failure> {
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
    let code = compiled.python().map_err(refused)?;
    Ok(code + &foot_in_python(verified))
}

/// Compares a derivation with a stored one; the feet, which change with every version, are no part of it.
fn compare(file: &Path, text: &str) -> Result<(), Failure> {
    let shown = file.display();
    let stored = std::fs::read_to_string(file)
        .map_err(|error| Failure::wrong(format!("`{shown}` cannot be read: {error}")))?;
    // Line ends are those of the machine that stored it.
    match difference(&without_foot(&stored.replace("\r\n", "\n")), &without_foot(text)) {
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
