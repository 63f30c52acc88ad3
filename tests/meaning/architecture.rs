//! The rules between crates: which may depend on which, and which words may stand where.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cavi_tests::corpus::{entries, files_below, root};

/// A row of the table in `crates/README.md`.
struct Row {
    question: String,
    may_depend_on: BTreeSet<String>,
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names between backticks.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn table() -> BTreeMap<String, Row> {
    let text = read(&root().join("crates/README.md"));
    // The package of tests may depend on everything.
    let rows = text.lines().filter(|line| line.starts_with("| `cavi") && !line.starts_with("| `cavi-tests`"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, question, arrows] = cells.as_slice() else { panic!("three cells in: {line}") };
        let row = Row { question: (*question).to_owned(), may_depend_on: quoted(arrows) };
        (quoted(name).pop_first().expect("a name"), row)
    })
    .collect()
}

/// The folders of the packages that the table speaks of.
fn packages() -> BTreeMap<String, PathBuf> {
    let mut folders: Vec<PathBuf> =
        entries(&root().join("crates")).into_iter().filter(|path| path.is_dir()).collect();
    folders.push(root().join("grammar"));
    folders.push(root().join("examples"));
    folders.into_iter().map(|folder| (field(&manifest(&folder), "name"), folder)).collect()
}

fn manifest(folder: &Path) -> String {
    read(&folder.join("Cargo.toml"))
}

fn field(manifest: &str, name: &str) -> String {
    let line = manifest.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='));
    line.unwrap_or_default().trim().trim_matches('"').to_owned()
}

/// What stands under `[dependencies]`.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let own = lines.take_while(|line| !line.starts_with('['));
    let names = own.filter_map(|line| line.split(['.', '=', ' ']).next());
    names.filter(|name| !name.is_empty() && !name.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn crates_depend_as_their_table_says() {
    let (table, packages) = (table(), packages());
    let listed: Vec<&String> = table.keys().collect();
    let found: Vec<&String> = packages.keys().collect();
    assert_eq!(listed, found, "crates/README.md lists these, and these are there");
    for (name, folder) in &packages {
        let manifest = manifest(folder);
        assert_eq!(field(&manifest, "description"), table[name].question, "the question of {name}");
        let arrows: BTreeSet<String> =
            dependencies(&manifest).into_iter().filter(|other| other.starts_with("cavi")).collect();
        assert_eq!(arrows, table[name].may_depend_on, "the arrows of {name}");
    }
}

#[test]
fn some_tools_are_used_in_one_room_only() {
    let rooms: &[(&str, &[&str])] = &[
        ("petgraph", &["cavi-model", "cavi-executor"]),
        ("rayon", &["cavi-numerics"]),
        ("ctrlc", &["cavi-cli"]),
        ("clap", &["cavi-cli"]),
        ("indicatif", &["cavi-cli"]),
        ("pest", &["cavi-grammar", "cavi-syntax"]),
        ("pest_derive", &["cavi-grammar"]),
    ];
    for (name, folder) in packages() {
        let used = dependencies(&manifest(&folder));
        for (tool, allowed) in rooms {
            assert!(!used.contains(*tool) || allowed.contains(&name.as_str()), "{name} uses {tool}");
        }
    }
}

/// Source without comments; of a file with a module of tests, what stands before it. Strings stay.
fn code(text: &str) -> String {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let characters: Vec<char> = text.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or('\0');
    let mut out = String::new();
    let mut index = 0;
    while index < characters.len() {
        let start = index;
        match at(index) {
            '/' if at(index + 1) == '/' => {
                while index < characters.len() && at(index) != '\n' {
                    index += 1;
                }
                continue;
            }
            '/' if at(index + 1) == '*' => {
                let mut depth = 0;
                loop {
                    match (at(index), at(index + 1)) {
                        ('/', '*') => (depth, index) = (depth + 1, index + 2),
                        ('*', '/') => (depth, index) = (depth - 1, index + 2),
                        _ => index += 1,
                    }
                    if depth == 0 || index >= characters.len() {
                        break;
                    }
                }
                continue;
            }
            'r' if matches!(at(index + 1), '"' | '#') && !is_word(at(index.wrapping_sub(1))) => {
                let hashes = (1..).take_while(|step| at(index + step) == '#').count();
                index += hashes + 2;
                while index < characters.len()
                    && !(at(index) == '"' && (1..=hashes).all(|step| at(index + step) == '#'))
                {
                    index += 1;
                }
                index += hashes + 1;
            }
            '"' => {
                index += 1;
                while index < characters.len() && at(index) != '"' {
                    index += if at(index) == '\\' { 2 } else { 1 };
                }
                index += 1;
            }
            // A quote or a slash as a character, not a lifetime.
            '\'' if at(index + 1) == '\\' => index += 4,
            '\'' if at(index + 2) == '\'' => index += 3,
            _ => index += 1,
        }
        out.extend(&characters[start..index.min(characters.len())]);
    }
    out
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The places of words in the code of the files below a folder, modules of tests left out.
fn places(folder: &Path, forbidden: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for path in files_below(folder, "rs") {
        // Below the folder: the way to it may lead through one of tests.
        let below = path.strip_prefix(folder).expect("a file below the folder");
        if below.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs") {
            continue;
        }
        for word in code(&read(&path)).split(|character| !is_word(character)) {
            if forbidden(word) {
                found.push(format!("`{word}` in {}", path.display()));
            }
        }
    }
    found.dedup();
    found
}

#[test]
fn comments_and_strings_are_told_apart() {
    let text = "let a = \"// Gamma \\\" \"; // Poisson\n/* Beta /* Flat */ */ let b = '\"'; let c = r#\"/* \" Normal\"#;";
    let shown = code(text);
    let words: Vec<&str> =
        shown.split(|character| !is_word(character)).filter(|word| !word.is_empty()).collect();
    assert_eq!(words, ["let", "a", "Gamma", "let", "b", "let", "c", "r", "Normal"]);
}

/// The modules below the root of its crate that a source file names, by `crate::` or by `super::`; the file stands this many
/// modules below the root.
fn modules_named(code: &str, depth: usize) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let above = "super::".repeat(depth);
    for start in ["crate::", above.as_str()].into_iter().filter(|start| !start.is_empty()) {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(|before| is_word(before) || before == ':') {
                continue;
            }
            // A name, or several in braces, of which each begins at depth 1.
            let mut nested = 0;
            let mut word = String::new();
            let mut is_first = true;
            for character in code[at + start.len()..].chars() {
                match character {
                    '{' => nested += 1,
                    '}' => nested -= 1,
                    ',' if nested == 1 => is_first = true,
                    _ if is_word(character) && is_first => {
                        word.push(character);
                        continue;
                    }
                    _ => {}
                }
                if !word.is_empty() {
                    named.insert(std::mem::take(&mut word));
                    is_first = false;
                }
                if nested <= 0 {
                    break;
                }
            }
        }
    }
    named
}

#[test]
fn named_modules_are_found() {
    let code = "use crate::plan::tensor::{NodeId, Maps}; use crate::{run::{a, b}, layout}; let x = super::super::data::y(); \
                super::own::z(); pub(crate) fn f() {} use cavi_algebra::crate_name;";
    let named: Vec<String> = modules_named(code, 2).into_iter().collect();
    assert_eq!(named, ["data", "layout", "plan", "run"]);
}

/// The rooms of the executor, each with the modules of its crate that it may name beside its own. The plan knows neither who runs it
/// nor how, so that another machine may; a shard cuts a plan and holds runs, and neither names it; the interpreter knows neither plan nor run, so that it can be held against both.
const ROOMS: [(&str, &[&str]); 5] = [
    ("plan", &["data", "layout", "schedule"]),
    ("run", &["coordinate", "data", "layout", "observed", "plan", "reduce", "schedule", "trouble"]),
    ("shard", &["data", "initialise", "layout", "plan", "reduce", "run", "schedule", "trouble"]),
    ("interpret", &["data", "layout", "schedule", "trouble"]),
    ("", &["coordinate", "data", "layout", "observed", "schedule", "trouble"]),
];

#[test]
fn the_rooms_of_the_executor_name_only_what_they_may() {
    let folder = root().join("crates/cavi-executor/src");
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in files_below(&folder, "rs") {
        let below = path.strip_prefix(&folder).expect("a file below the folder").with_extension("");
        let mut modules: Vec<String> = below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if matches!(modules.last().map(String::as_str), Some("lib" | "tests")) {
            continue;
        }
        modules.retain(|module| module != "mod");
        let (own, allowed) =
            ROOMS.iter().find(|(room, _)| *room == modules[0]).unwrap_or(&ROOMS[ROOMS.len() - 1]);
        seen.insert(*own);
        let named = modules_named(&code(&read(&path)), modules.len());
        let strange = named.iter().filter(|name| *name != own && !allowed.contains(&name.as_str()));
        wrong.extend(strange.map(|name| format!("`{name}` in {}", path.display())));
    }
    assert_eq!(seen.len(), ROOMS.len(), "a room has no file");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_family_is_named_where_none_is_known() {
    let families: BTreeSet<&str> = cavi_families::families().iter().map(|family| family.name()).collect();
    let posteriors = cavi_families::posteriors().iter().map(|posterior| posterior.name());
    let mut names = families;
    names.extend(posteriors.filter(|name| !name.contains(' ')));
    let mut found = Vec::new();
    for folder in
        ["crates/cavi-derivation/src", "crates/cavi-executor/src", "crates/cavi-numerics/src/kernels"]
    {
        found.extend(places(&root().join(folder), |word| names.contains(word)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_model_is_named_in_any_crate() {
    let models = ["lda", "nmf", "gfa", "plsa", "hpf", "ppca", "pmf", "gmm", "nmf_gamma", "nmf_kl"];
    let named = |word: &str| models.contains(&word.to_lowercase().as_str());
    let found: Vec<String> = entries(&root().join("crates"))
        .iter()
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| places(&folder.join("src"), named))
        // The format that LDA-C introduced has its name.
        .filter(|place| !place.contains("cavi-files"))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn unsafe_code_stands_in_numerics_only() {
    for (name, folder) in packages() {
        if name != "cavi-numerics" {
            let mut found = places(&folder.join("src"), |word| word == "unsafe");
            // The memory of an array of NumPy is promised to stay as it is.
            found.retain(|place| !place.contains("cavi-python/src/lent.rs"));
            assert!(found.is_empty(), "{}", found.join("\n"));
        }
    }
}

#[test]
fn the_library_neither_prints_nor_exits() {
    for path in files_below(&root().join("crates/cavi/src"), "rs") {
        let code = code(&read(&path));
        for forbidden in ["println!", "print!(", "eprint!(", "dbg!", "process::exit", "ctrlc", "build_global"]
        {
            assert!(!code.contains(forbidden), "{forbidden} in {}", path.display());
        }
    }
}

/// The text of a document without its blocks of code.
fn prose(text: &str) -> String {
    let parts = text.split("```").step_by(2);
    parts.collect()
}

/// A document that names a file has to follow when the file moves.
#[test]
fn documents_name_files_that_exist() {
    let root = root();
    let mut documents = entries(&root);
    documents.retain(|path| path.extension().is_some_and(|end| end == "md"));
    for folder in ["crates", "examples", "grammar", "tests"] {
        documents.extend(files_below(&root.join(folder), "md"));
    }
    assert!(documents.len() > 30, "the documents are found");
    let mut missing = Vec::new();
    for document in documents {
        let text = prose(&read(&document));
        let folder = document.parent().expect("a document stands in a folder");
        let code = |part: &str| part.split('`').step_by(2).collect::<String>();
        for link in code(&text).split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let target = link.0.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                missing.push(format!("the link {target} in {}", document.display()));
            }
        }
        for name in quoted(&text) {
            let from_root =
                ["tests/", "crates/", "examples/", "grammar/"].iter().any(|own| name.starts_with(own));
            let is_path = from_root
                && !name.contains("NAME")
                && name.chars().all(|own| own.is_alphanumeric() || "_-./".contains(own));
            let inside = folder.ancestors().take_while(|own| own.starts_with(&root));
            if is_path && !inside.into_iter().any(|own| own.join(&name).exists()) {
                missing.push(format!("`{name}` in {}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Two uses of one stream of a seed would draw the same numbers.
#[test]
fn streams_of_random_numbers_come_from_their_table() {
    let own: Vec<PathBuf> = files_below(&root().join("crates/cavi/src"), "rs")
        .into_iter()
        .filter(|path| read(path).contains(".set_stream("))
        .collect();
    assert_eq!(
        own,
        [root().join("crates/cavi/src/streams.rs")],
        "streams of a use are listed in `streams.rs`"
    );
}

#[test]
fn no_file_is_long() {
    let folders = ["crates", "examples", "grammar", "tests"];
    let long: Vec<String> = folders
        .iter()
        .flat_map(|folder| files_below(&root().join(folder), "rs"))
        .map(|path| (read(&path).lines().count(), path))
        .filter(|(lines, _)| *lines > 800)
        .map(|(lines, path)| format!("{lines} lines in {}", path.display()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// A file beside a `main.rs` of tests that is no module of it would never be compiled, and its tests never run.
#[test]
fn every_test_file_belongs_to_a_binary() {
    let own = files_below(&root().join("tests"), "rs");
    let folders =
        packages().into_values().map(|folder| folder.join("tests")).filter(|folder| folder.is_dir());
    let of_crates = folders.flat_map(|folder| files_below(&folder, "rs"));
    let files: Vec<PathBuf> = own.into_iter().chain(of_crates).collect();
    let mains: Vec<&PathBuf> = files.iter().filter(|path| path.ends_with("main.rs")).collect();
    assert!(mains.len() >= 3, "{mains:?}");
    for main in mains {
        let text = read(main);
        for file in files.iter().filter(|path| path.parent() == main.parent() && *path != main) {
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            assert!(
                text.contains(&format!("\nmod {name};\n")),
                "{} is not in {}",
                file.display(),
                main.display()
            );
        }
    }
}
