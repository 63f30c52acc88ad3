//! `cavi check MODEL`: everything that is wrong with a program, and what it will do.

use cavi::bind::{SetInput, SetValue};
use cavi::{Compiled, Set};
use cavi_syntax::{Diagnostic, Places, Severity, Span};
use serde_json::{Value, json};

use crate::arguments::CheckArguments;
use crate::failure::Failure;
use crate::{program, terminal};

/// Diagnostics to standard error, the chosen factorisation to standard output.
pub fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let set = values(&arguments.set)?;
    let checked = cavi::compile_with(&source.text, &source.name, &set);
    if let Some(compiled) = &checked.compiled {
        compiled.refuse_unknown(&set)?;
    }
    if arguments.json {
        let places = Places::of(&source.text);
        let list: Vec<Value> =
            checked.diagnostics.iter().map(|diagnostic| as_json(&places, diagnostic)).collect();
        terminal::print(&format!("{:#}\n", Value::Array(list)))?;
        return if checked.is_ok() { Ok(()) } else { Err(Failure::Wrong(String::new())) };
    }
    let text =
        program::text_of(&checked.source, &checked.diagnostics) + &program::count(&checked.diagnostics);
    let Some(compiled) = &checked.compiled else { return Err(Failure::Wrong(text)) };
    terminal::note(&text);
    terminal::print(&summary(compiled))
}

/// What `--set NAME=VALUE` says; a file is not read.
///
/// # Errors
/// Usage, for another form; what is neither a number nor a file.
pub fn values(set: &[String]) -> Result<Vec<Set<'_>>, Failure> {
    set.iter()
        .map(|text| {
            let parsed = SetInput::parse(text)
                .ok_or_else(|| Failure::usage(format!("`--set {text}` is not of the form `NAME=VALUE`")))?;
            let parsed = parsed.map_err(|problem| Failure::usage(problem.to_string()))?;
            let name = text.split(['=', '[']).next().unwrap_or(text).trim();
            let value = match parsed.value {
                SetValue::Number(value) if parsed.group.is_none() => Some(value),
                SetValue::Number(_) | SetValue::Source(_) => None,
            };
            Ok(Set { name, value })
        })
        .collect()
}

fn summary(compiled: &Compiled) -> String {
    let mut text = format!("{} compiles\n", compiled.source.file_name);
    let lists = [("data", compiled.data()), ("latents", compiled.latents())];
    for (word, names) in lists {
        if !names.is_empty() {
            text += &format!("  {word}: {}\n", names.join(", "));
        }
    }
    let factors = compiled.factorisation();
    if !factors.is_empty() {
        text += "  q is a product of these factors, one for each value of the indices without a colon:\n";
        factors.iter().for_each(|line| text += &format!("    {line}\n"));
    }
    text
}

fn as_json(places: &Places<'_>, diagnostic: &Diagnostic) -> Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let place = |span: Span, label: &str| {
        let (line, column) = places.position(span.start);
        json!({ "line": line, "column": column, "start": span.start, "end": span.end, "label": label })
    };
    json!({
        "severity": severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "primary": diagnostic.primary.as_ref().map(|(span, label)| place(*span, label)),
        "secondary": diagnostic.secondary.iter().map(|(span, label)| place(*span, label)).collect::<Vec<_>>(),
        "possible": diagnostic.possible,
        "help": diagnostic.help,
    })
}
