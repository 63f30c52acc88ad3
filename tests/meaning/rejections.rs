//! Each mistake is explained: one program a file, and what `cavi check` prints about it.
//!
//! A file holds one mistake and gets one error, unless its first line says how many: `# (3 errors) ...`. To accept a
//! change, read it as somebody would who does not know Cavi, and run
//! `INSTA_UPDATE=always cargo test -p cavi-tests --test meaning rejections`.

use std::collections::BTreeMap;

use cavi_syntax::Diagnostic;
use cavi_tests::corpus::{Text, check_each, compile, examples, models, rejected};
use insta::Settings;

/// Kinds of mistakes, and how many files at least show one.
const KINDS: &[(&str, usize)] = &[
    ("syntax", 8),
    ("names", 5),
    ("axes", 8),
    ("matrices", 7),
    ("slices", 4),
    ("arguments", 6),
    ("blocks", 5),
    ("conjugacy", 8),
    ("warmup", 2),
    ("notation", 6),
    ("processes", 15),
];

fn errors_announced(text: &Text) -> usize {
    let first = text.text.lines().next().unwrap_or_default();
    let count = first.strip_prefix("# (").and_then(|rest| rest.split_once(" errors)"));
    count.and_then(|(count, _)| count.parse().ok()).unwrap_or(1)
}

fn check(text: &Text) {
    let compiled = compile(&text.text);
    let shown = compiled.rendered(&text.name, &text.text);
    let errors: Vec<&Diagnostic> = compiled.diagnostics.iter().filter(|own| own.is_error()).collect();
    assert_eq!(errors.len(), errors_announced(text), "{}:\n{shown}", text.name);
    for error in errors {
        assert!(error.primary.is_some(), "{} has no place:\n{shown}", text.name);
        assert!(error.help.is_some() || error.possible.is_some(), "{} leads nowhere:\n{shown}", text.name);
    }
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("../snapshots/rejections");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(text.name.as_str(), shown));
}

#[test]
fn every_mistake_is_explained_as_before() {
    check_each(&rejected(), check);
}

/// A mistake in the syntax of one line is one error: nothing that only follows from it is reported, whatever the line
/// declares.
#[test]
fn one_broken_line_is_one_error() {
    check_each(&[models(), examples()].concat(), |text| {
        for (start, line) in lines(&text.text) {
            let statement = !line.trim().is_empty() && !line.contains(['#', '{', '}']);
            // A line of a report that is not known is kept, and warned about.
            let reports = ["top ", "heat ", "image ", "bars ", "curve ", "intervals ", "compare "];
            if !statement || reports.iter().any(|word| line.trim_start().starts_with(word)) {
                continue;
            }
            for broken in [format!("{line} )"), line.replacen(|sign| "=~,".contains(sign), "$", 1)] {
                if broken == line {
                    continue;
                }
                let whole = format!("{}{broken}{}", &text.text[..start], &text.text[start + line.len()..]);
                let compiled = compile(&whole);
                let errors = compiled.diagnostics.iter().filter(|own| own.is_error()).count();
                assert_eq!(errors, 1, "`{broken}`:\n{}", compiled.rendered(&text.name, &whole));
            }
        }
    });
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let place = start;
        start += line.len();
        (place, line.trim_end_matches('\n'))
    })
}

#[test]
fn there_are_mistakes_of_every_kind() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let rejected = rejected();
    for text in &rejected {
        let kind = text.name.split('_').next().unwrap_or_default();
        assert!(KINDS.iter().any(|(own, _)| *own == kind), "{} is of no kind", text.name);
        *counts.entry(kind).or_default() += 1;
    }
    assert!(rejected.len() >= 45, "{} rejected programs", rejected.len());
    for (kind, least) in KINDS {
        let found = counts.get(kind).copied().unwrap_or(0);
        assert!(found >= *least, "{found} mistakes of the kind {kind}, and at least {least} were wanted");
    }
}

#[test]
fn no_snapshot_is_left_over() {
    let rejected = rejected();
    let folder = cavi_tests::corpus::root().join("tests/snapshots/rejections");
    for path in cavi_tests::corpus::files_below(&folder, "snap") {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        assert!(rejected.iter().any(|text| text.name == stem), "{} belongs to no program", path.display());
    }
}
