//! The index of codes: every program in it does what it says, and it has every code that there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cavi::codes::{ENTRIES, Example, entry};

use crate::common::{cavi, root, scratch, text};

/// Codes without programs, and why none can be written down.
const WITHOUT_PROGRAMS: &[(&str, &str)] = &[
    ("E0130", "the command line reads a value that is no expression of numbers as the name of a file"),
    ("E0712", "a program whose family has its statistics has their expectations; this guards new families"),
    ("E0792", "the grammar takes `clamp` after a point only; this guards programs that are built otherwise"),
    (
        "E0803",
        "missing entries of such data are refused while the files are read; this guards restated programs",
    ),
    ("W0810", "a checkpoint of another processor is needed"),
];

/// The last command's status and the codes that it shows, in order.
fn run(name: &str, example: &Example) -> (Option<i32>, Vec<String>, String) {
    let directory = scratch(&format!("explain_{name}"));
    fs::write(directory.join("model.cavi"), example.program).unwrap();
    for (file, content) in &example.files {
        fs::write(directory.join(file), content).unwrap();
    }
    let lines: Vec<&str> = example.commands.unwrap_or("cavi check model.cavi").lines().collect();
    let mut outputs = lines.iter().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "cavi", "{name}: {line}");
        cavi(&directory, &words[1..])
    });
    let mut last = outputs.next().expect("an example has a command");
    for output in outputs {
        assert!(last.status.success(), "{name}: {}", text(&last.stderr));
        last = output;
    }
    let message = text(&last.stderr);
    let shown = message.lines().filter_map(|line| {
        let rest = ["error[", "note[", "warning["].iter().find_map(|kind| line.strip_prefix(kind))?;
        Some(rest.split(']').next()?.to_owned())
    });
    (last.status.code(), shown.collect(), message)
}

#[test]
fn every_wrong_program_has_its_code_and_every_right_one_has_none() {
    let mut wrong = Vec::new();
    for entry in ENTRIES {
        let code = entry.code;
        let (Some(bad), Some(good)) = (entry.wrong(), entry.right()) else {
            assert!(WITHOUT_PROGRAMS.iter().any(|(own, _)| *own == code), "{code} has no programs");
            continue;
        };
        let (status, shown, message) = run(&format!("{code}_wrong"), &bad);
        let expected = if code.starts_with('E') { 1 } else { 0 };
        let fits = match code {
            // Its reason follows as an error of its own.
            "E0901" => shown.first().is_some_and(|own| own == code),
            // What a warning or a note tells of may have further consequences.
            _ if !code.starts_with('E') => shown.iter().any(|own| own == code),
            _ => {
                shown.iter().any(|own| own == code)
                    && shown.iter().all(|own| own == code || own.starts_with('N'))
            }
        };
        if status != Some(expected) || !fits {
            wrong.push(format!("{code}, wrong: status {status:?}, {shown:?}\n{message}"));
        }
        let (status, shown, message) = run(&format!("{code}_right"), &good);
        let is_clean = match code.chars().next() {
            Some('N') => !shown.iter().any(|own| own == code || !own.starts_with('N')),
            // A note may stand beside any program.
            _ => shown.iter().all(|own| own.starts_with('N')),
        };
        if status != Some(0) || !is_clean {
            wrong.push(format!("{code}, right: status {status:?}, {shown:?}\n{message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The codes in the sources of a folder: string literals of a letter, a zero and three digits, tests aside.
fn collect(folder: &Path, codes: &mut BTreeSet<String>) {
    for item in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = item.path();
        if path.is_dir() {
            if item.file_name() != "tests" {
                collect(&path, codes);
            }
            continue;
        }
        if path.extension().is_none_or(|suffix| suffix != "rs") || item.file_name() == "tests.rs" {
            continue;
        }
        let content = fs::read_to_string(&path).unwrap();
        let content = content.split("#[cfg(test)]").next().unwrap_or_default();
        let words = content.split('"').filter(|word| {
            word.len() == 5
                && ["E0", "N0", "W0"].iter().any(|own| word.starts_with(own))
                && word[1..].bytes().all(|own| own.is_ascii_digit())
        });
        codes.extend(words.map(str::to_owned));
    }
}

#[test]
fn every_code_of_the_sources_has_an_entry_and_every_entry_a_code() {
    let mut codes = BTreeSet::new();
    for item in fs::read_dir(root().join("crates")).unwrap().map(Result::unwrap) {
        let source = item.path().join("src");
        if source.is_dir() {
            collect(&source, &mut codes);
        }
    }
    assert!(codes.len() > 100, "{codes:?}");
    let entries: BTreeSet<String> = ENTRIES.iter().map(|entry| entry.code.to_owned()).collect();
    assert_eq!(entries, codes);
    let files = fs::read_dir(root().join("crates/cavi/src/codes")).unwrap();
    let files: BTreeSet<String> = files
        .map(|own| own.unwrap().file_name().to_string_lossy().trim_end_matches(".md").to_owned())
        .collect();
    assert_eq!(files, codes);
    let table = fs::read_to_string(root().join("grammar/README.md")).unwrap();
    let missing = codes.iter().find(|code| !table.contains(&format!("\n| {code} | ")));
    assert_eq!(missing, None, "the table of grammar/README.md lacks it");
    for (code, reason) in WITHOUT_PROGRAMS {
        assert!(entry(code).is_some_and(|own| own.wrong().is_none()), "{code}: {reason}");
    }
}

#[test]
fn a_code_is_explained() {
    let directory = scratch("explain");
    let output = cavi(&directory, &["explain", "e0310"]);
    let shown = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(shown.starts_with("E0310: ") && shown.contains("\nwrong:\n\n    axis node[i, j]\n"), "{shown}");
    assert!(shown.contains("\nright:\n\n"), "{shown}");

    let all = text(&cavi(&directory, &["explain"]).stdout);
    assert!(ENTRIES.iter().all(|own| all.contains(&format!("\n  {}  {}\n", own.code, own.title()))), "{all}");

    let one = text(&cavi(&directory, &["explain", "W0807", "--json"]).stdout);
    let one: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!((&one["code"], &one["stage"]), (&"W0807".into(), &"fit".into()));
    assert_eq!(one["wrong"]["files"][0]["name"], "x.csv");
    let list = text(&cavi(&directory, &["explain", "--json"]).stdout);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list.as_array().map(Vec::len), Some(ENTRIES.len()));
}

#[test]
fn an_unknown_code_is_answered_with_near_ones() {
    let directory = scratch("explain_unknown");
    for (code, wanted) in
        [("E0311", "near it: E0301, E0310"), ("lda", "`cavi explain` lists all"), ("", "lists all")]
    {
        let output = cavi(&directory, &["explain", code]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!("no diagnostic has the code `{code}`")) && message.contains(wanted),
            "{message}"
        );
    }
}

/// What is written to a pipe has no line about the index: programs read it.
#[test]
fn only_a_terminal_is_told_of_the_index() {
    let directory = scratch("explain_pipe");
    fs::write(directory.join("m.cavi"), "axis item[n]\ndata x[n] : real\nx[n] ~ Normal(m, sd = 1)\n")
        .unwrap();
    let output = cavi(&directory, &["check", "m.cavi"]);
    assert!(!text(&output.stderr).contains("cavi explain"), "{}", text(&output.stderr));
}
