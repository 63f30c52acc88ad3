//! Texts that are long, deep or no programs at all: `check` takes time and memory in proportion to them.

use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

use crate::common::{cavi, scratch, text};

const HEAD: &str = "model m\naxis i[n] = 3\ndata x[n] : real\n";
const DATA: &str = "x[n] ~ Normal(a0, sd = 1)\n";

/// A text of many lines, each made from its number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{}", line(number));
        text
    })
}

/// Checks a text, in far less time than what grows with its square would take, and gives the status and what is said.
fn checked(name: &str, program: &str) -> (Option<i32>, String) {
    let directory = scratch(&format!("large-{name}"));
    fs::write(directory.join("m.cavi"), program).unwrap();
    let begun = Instant::now();
    let output = cavi(&directory, &["check", "m.cavi"]);
    // A second on an idle machine; tests run side by side, some of them not optimised.
    assert!(begun.elapsed() < Duration::from_secs(20), "{name}: {:?}", begun.elapsed());
    let message = text(&output.stderr);
    assert!(message.len() < 1 << 20, "{name}: {} bytes of messages", message.len());
    (output.status.code(), message)
}

#[test]
fn what_is_no_program_is_answered_at_once() {
    for (name, program) in [
        ("nul", "\0".repeat(40_000)),
        ("open", "fit {\n".repeat(10_000)),
        ("open-line", "fit { ".repeat(10_000)),
        ("words", "model ".repeat(10_000)),
        ("brackets", "x[".repeat(10_000)),
        ("closed-by-others", format!("x = {}{}", "(".repeat(100_000), "]".repeat(100_000))),
        ("comments-in-a-bracket", format!("x = ({}", "# a comment\n".repeat(100_000))),
    ] {
        let (status, message) = checked(name, &program);
        assert_eq!(status, Some(1), "{name}: {message}");
    }
}

#[test]
fn thousands_of_unknown_names_are_counted_and_the_first_of_them_shown() {
    let program =
        HEAD.to_owned() + &lines(4000, |number| format!("a{number} ~ Normal(u{number}, sd = 1)")) + DATA;
    let (status, message) = checked("unknown", &program);
    assert_eq!(status, Some(1));
    assert!(message.contains("`u0` is not declared") && message.contains("and 3900 more"), "{message}");
    assert!(message.contains("4000 errors"), "{message}");
}

#[test]
fn long_chains_and_many_latents_compile() {
    let chain = |number: usize| match number {
        0 => "a0 ~ Normal(0, sd = 1)".to_owned(),
        _ => format!("a{number} ~ Normal(a{}, sd = 1)", number - 1),
    };
    let levels = HEAD.to_owned() + &lines(500, chain) + "x[n] ~ Normal(a499, sd = 1)\n";
    assert_eq!(checked("levels", &levels).0, Some(0));
    let latents = HEAD.to_owned() + &lines(2000, |number| format!("a{number} ~ Normal(0, sd = 1)")) + DATA;
    let (status, message) = checked("latents", &latents);
    assert!(status == Some(0) && message.contains("1999 warnings"), "{message}");
    let constants = HEAD.to_owned() + &lines(100_000, |number| format!("const c{number} = {number}"));
    let (status, _) = checked("constants", &(constants + "a0 ~ Normal(c5, sd = 1)\n" + DATA));
    assert_eq!(status, Some(0));
}

#[test]
fn a_mistake_far_to_the_right_is_shown_with_what_stands_around_it() {
    let program =
        format!("{HEAD}a ~ Normal(0, sd = 1)\nx[n] ~ Normal(a{}+ bad, sd = 1)\n", " ".repeat(70_000));
    let (status, message) = checked("column", &program);
    assert_eq!(status, Some(1));
    assert!(message.contains("m.cavi:5:70018") && message.contains("^^^"), "{message}");
}
