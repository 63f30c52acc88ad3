//! What was read can be written and read again: `parse(print(t)) = t`, and a printed program is printed as it stands.

use cavi_syntax::{Diagnostic, parse, print};
use cavi_tests::corpus::{Text, check_each, examples, models, rejected};

fn check(text: &Text) {
    let (program, diagnostics) = parse(&text.text);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return;
    }
    let printed = print(&program);
    let (again, diagnostics) = parse(&printed);
    assert!(diagnostics.is_empty(), "{}: what is printed does not parse\n{printed}", text.name);
    assert_eq!(print(&again), printed, "{}", text.name);
    assert_eq!(again.without_spans(), program.without_spans(), "{}", text.name);
}

#[test]
fn models_and_examples_survive_printing() {
    check_each(&models(), check);
    check_each(&examples(), check);
}

#[test]
fn rejected_programs_that_parse_survive_printing() {
    check_each(&rejected(), check);
}
