//! One mistake a file, and exactly one error for it, with the code that the first line names.

use std::path::{Path, PathBuf};

use cavi_model::resolve;
use cavi_syntax::{Diagnostic, parse, render};

const PREFIXES: &[&str] = &["names_", "axes_", "slices_", "arguments_", "blocks_"];

fn rejected() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/rejected");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.ends_with(".cavi") && PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_mistake_is_explained_once() {
    let files = rejected();
    let mut failures = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("readable");
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let code = first.split(['(', ')']).nth(1).unwrap_or_default();
        let (program, syntax) = parse(&text);
        assert!(syntax.is_empty(), "{name} does not parse");
        let (model, diagnostics) = resolve(&program);
        let errors: Vec<&Diagnostic> =
            diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        let complete = |error: &&Diagnostic| error.primary.is_some() && error.help.is_some();
        if model.is_some() || errors.len() != 1 || errors[0].code != code || !errors.iter().all(complete) {
            let shown: Vec<String> =
                diagnostics.iter().map(|diagnostic| render(diagnostic, name, &text, false)).collect();
            failures.push(format!("{name}: expected one {code}\n{}", shown.join("\n")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for (prefix, least) in [("names_", 5), ("axes_", 8), ("slices_", 4), ("arguments_", 6), ("blocks_", 5)] {
        let starts =
            |file: &&PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
        assert!(files.iter().filter(starts).count() >= least, "too few programs named {prefix}");
    }
}
