//! `cavi explain CODE`: what a code of a diagnostic means, with a wrong and a right program.

use cavi::codes::{ENTRIES, Entry, Example, entry};
use serde_json::{Value, json};

use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::terminal;

/// One entry of the index, or all, a line each.
pub fn run(arguments: &ExplainArguments) -> Result<(), Failure> {
    let Some(code) = &arguments.code else {
        return if arguments.json {
            terminal::print(&format!("{:#}\n", Value::from_iter(ENTRIES.iter().map(as_json))))
        } else {
            terminal::print(&list())
        };
    };
    let found = entry(code.trim()).ok_or_else(|| unknown(code))?;
    if arguments.json {
        return terminal::print(&format!("{:#}\n", as_json(found)));
    }
    terminal::print(&text(found))
}

/// All codes with their titles, under the stages in which they are given.
fn list() -> String {
    let mut text = String::new();
    let mut stages: Vec<&str> = Vec::new();
    for entry in ENTRIES {
        if !stages.contains(&entry.stage()) {
            stages.push(entry.stage());
        }
    }
    for stage in stages {
        text += &format!("{}{stage}\n", if text.is_empty() { "" } else { "\n" });
        for entry in ENTRIES.iter().filter(|entry| entry.stage() == stage) {
            text += &format!("  {}  {}\n", entry.code, entry.title());
        }
    }
    text
}

/// An entry for a reader at a terminal.
fn text(entry: &Entry) -> String {
    let mut text = format!("{}: {}\n\n{}\n", entry.code, entry.title(), entry.meaning());
    for (heading, example) in [("wrong", entry.wrong()), ("right", entry.right())] {
        let Some(Example { program, files, commands }) = example else { continue };
        text += &format!("\n{heading}:\n\n{}", indented(program));
        for (name, content) in files {
            text += &format!("\n  {name}:\n\n{}", indented(content));
        }
        if let Some(commands) = commands {
            let lines: Vec<String> = commands.lines().map(|line| format!("$ {line}\n")).collect();
            text += &format!("\n{}", indented(&lines.concat()));
        }
    }
    text
}

/// Every line four blanks to the right; a line that is too long to be read is cut.
fn indented(text: &str) -> String {
    let line = |line: &str| match line.chars().count() {
        0..=200 => format!("    {line}\n"),
        _ => format!("    {} ...\n", line.chars().take(80).collect::<String>()),
    };
    text.lines().map(line).collect()
}

fn as_json(entry: &Entry) -> Value {
    let example = |example: Option<Example>| {
        example.map(|Example { program, files, commands }| {
            let files: Vec<Value> =
                files.into_iter().map(|(name, text)| json!({ "name": name, "text": text })).collect();
            json!({ "program": program, "files": files, "commands": commands })
        })
    };
    json!({
        "code": entry.code,
        "stage": entry.stage(),
        "title": entry.title(),
        "meaning": entry.meaning(),
        "wrong": example(entry.wrong()),
        "right": example(entry.right()),
    })
}

/// No entry has this code: those with the same digits, and those that differ in one character.
fn unknown(code: &str) -> Failure {
    let upper = code.trim().to_uppercase();
    let differing = |own: &str| own.chars().zip(upper.chars()).filter(|(one, other)| one != other).count();
    let mut near: Vec<&str> =
        ENTRIES.iter().map(|entry| entry.code).filter(|own| own.len() == upper.len()).collect();
    near.retain(|own| differing(own) == 1);
    near.sort_by_key(|own| (own[..3] != upper[..3.min(upper.len())], *own));
    near.truncate(5);
    let hint = match near.as_slice() {
        [] => "a code is a letter and four digits, as in `error[E0310]`; `cavi explain` lists all".to_owned(),
        near => format!("near it: {}; `cavi explain` lists all", near.join(", ")),
    };
    Failure::usage(format!("no diagnostic has the code `{code}`\n  {hint}"))
}
