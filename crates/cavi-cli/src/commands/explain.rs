//! `cavi explain CODE`: what a code of a diagnostic means, with a wrong and a right program.

use cavi::codes::{self, ENTRIES, Entry, Example};
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
            terminal::print(&codes::list())
        };
    };
    let found = codes::find(code).map_err(Failure::usage)?;
    if arguments.json {
        return terminal::print(&format!("{:#}\n", as_json(found)));
    }
    terminal::print(&found.text())
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
