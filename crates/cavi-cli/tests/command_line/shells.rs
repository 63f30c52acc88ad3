//! `cavi completions` and `cavi man`, and help texts.

use std::fs;

use crate::common::{cavi, scratch, text};

#[test]
fn shells_are_given_completions() {
    let directory = scratch("completions");
    for (shell, wanted) in [
        ("bash", "complete -F _cavi"),
        ("zsh", "#compdef cavi"),
        ("fish", "complete -c cavi"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let output = cavi(&directory, &["completions", shell]);
        let script = text(&output.stdout);
        assert!(output.status.success() && script.contains(wanted), "{shell}: {script}");
        assert!(script.contains("heldout") && script.contains("folds"), "{shell}");
    }
    for arguments in [&["completions"][..], &["completions", "tcsh"], &["man"]] {
        assert_eq!(cavi(&directory, arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn man_pages_are_written_for_the_commands_that_there_are() {
    let directory = scratch("man");
    let output = cavi(&directory, &["man", "--out", "pages/man1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = |name: &str| fs::read_to_string(directory.join("pages/man1").join(name));
    assert!(page("cavi.1").unwrap().contains("cavi\\-fit(1)"));
    assert!(page("cavi-fit.1").unwrap().contains("\\-\\-heldout"));
    assert!(page("cavi-explain.1").unwrap().contains("code"));
    fs::write(directory.join("file"), "").unwrap();
    let output = cavi(&directory, &["man", "--out", "file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("file cannot be written"));
}

#[test]
fn paragraphs_of_help_break_where_the_terminal_does() {
    let output = cavi(&scratch("help"), &["fit", "--help"]);
    let help = text(&output.stdout);
    let start = help.find("NAME=rows:0.2").expect("the help of --heldout");
    let lines: Vec<&str> = help[start..].lines().take_while(|line| !line.trim().is_empty()).collect();
    // All lines but the last are filled: the next word has no place on them.
    for pair in lines.windows(2) {
        let next = pair[1].split_whitespace().next().unwrap_or_default();
        let indent = if pair[0].starts_with(' ') { 0 } else { 10 };
        assert!(indent + pair[0].chars().count() + 1 + next.chars().count() > 100, "{pair:?}");
    }
}
