//! The output of each stage is what it was: text, resolved model and derivation of every program, as snapshots.
//!
//! One snapshot a program: its text, what was resolved, what was derived, what was warned of. The first comment of a
//! program that a paper states cites the paper, so that one can be held against the other. To accept a change, read it
//! and run `INSTA_UPDATE=always cargo test -p cavi-tests --test stages`.

use cavi_algebra::print::Format;
use cavi_tests::corpus::{Text, check_each, compile, examples, models};
use insta::Settings;

/// Programs whose derivation is held as LaTeX as well.
const IN_LATEX: &[&str] = &[
    "example_gfa",
    "example_lda",
    "gamma_hierarchy",
    "hpf",
    "mixture_normal",
    "network_directed",
    "nmf_simplex",
    "regression_factorised",
];

fn settings(text: &Text) -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("snapshots/stages");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(text.text.lines().next().unwrap_or_default().trim_start_matches("# "));
    settings
}

fn check(text: &Text) {
    let compiled = compile(&text.text);
    let model = compiled.model.as_ref().filter(|_| !compiled.failed());
    let model = model.unwrap_or_else(|| panic!("{}", compiled.rendered(&text.name, &text.text)));
    let mut shown = String::new();
    for (title, part) in [
        ("program", text.text.clone()),
        ("model", cavi_model::print(model)),
        ("derivation", compiled.derivation(Format::Text)),
        ("diagnostics", compiled.rendered(&text.name, &text.text)),
    ] {
        if !part.is_empty() {
            shown += &format!("=== {title} ===\n{}\n\n", part.trim_end());
        }
    }
    settings(text).bind(|| {
        insta::assert_snapshot!(text.name.as_str(), shown);
        if IN_LATEX.contains(&text.name.as_str()) {
            insta::assert_snapshot!(format!("{}.latex", text.name), compiled.derivation(Format::Latex));
        }
    });
}

#[test]
fn every_model_reads_and_derives_as_before() {
    let models = models();
    assert!(models.len() >= 34, "{} programs in tests/models", models.len());
    check_each(&models, check);
}

#[test]
fn every_example_reads_and_derives_as_before() {
    check_each(&examples(), check);
}

#[test]
fn every_model_says_what_it_is() {
    check_each(&models(), |text| {
        let first = text.text.lines().next().unwrap_or_default();
        assert!(first.starts_with("# ") && first.ends_with('.'), "{}: {first}", text.name);
        let name = format!("\nmodel {}\n", text.name);
        assert!(text.text.contains(&name), "{} has another name inside", text.name);
    });
}

#[test]
fn no_snapshot_is_left_over() {
    let names: Vec<String> = models().into_iter().chain(examples()).map(|text| text.name).collect();
    let folder = cavi_tests::corpus::root().join("tests/snapshots/stages");
    for path in cavi_tests::corpus::files_below(&folder, "snap") {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = stem.trim_end_matches(".latex");
        assert!(names.iter().any(|own| own == name), "{} belongs to no program", path.display());
    }
}
