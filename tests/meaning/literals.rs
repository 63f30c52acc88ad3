//! Whatever numbers a program holds, it ends in equations or in a message at its place, within seconds: each number of each
//! program in turn set to 0, 1 and -1.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use cavi_tests::corpus::{Text, compile, examples, models};

/// No program here takes a hundredth of it.
const LONGEST: Duration = Duration::from_secs(20);

/// The places of the numbers in a text, comments left out.
fn numbers(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        let mut after_word = false;
        let mut at = 0;
        while at < code.len() {
            let rest = &code[at..];
            let first = rest.chars().next().expect("there is more of the line");
            let digits = rest.find(|own: char| !own.is_ascii_digit() && own != '.').unwrap_or(rest.len());
            if first.is_ascii_digit() && !after_word {
                found.push(start + at..start + at + digits);
                at += digits;
                continue;
            }
            after_word = first.is_alphanumeric() || first == '_';
            at += first.len_utf8();
        }
        start += line.len();
    }
    found
}

/// The programs that differ from one in a number.
fn changed(text: &Text) -> Vec<String> {
    let programs = numbers(&text.text).into_iter().flat_map(|place| {
        let with =
            move |number: &str| format!("{}{number}{}", &text.text[..place.start], &text.text[place.end..]);
        ["0", "1", "-1"].map(with)
    });
    programs.collect()
}

/// Compiles programs in a thread of its own; the first that takes too long, or whose error has no place.
fn first_wrong(programs: Vec<String>) -> Option<String> {
    let (send, receive) = channel();
    let all = programs.clone();
    std::thread::spawn(move || {
        for program in all {
            let compiled = compile(&program);
            let placed = compiled.diagnostics.iter().all(|own| !own.is_error() || own.primary.is_some());
            let decided = compiled.failed() || compiled.equations.is_some();
            if send.send(placed && decided).is_err() {
                return;
            }
        }
    });
    programs.into_iter().find(|_| receive.recv_timeout(LONGEST) != Ok(true))
}

#[test]
fn every_number_may_be_nought_one_and_minus_one() {
    let texts = [models(), examples()].concat();
    let next = AtomicUsize::new(0);
    let wrong = || {
        let mut wrong = Vec::new();
        while let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(first_wrong(changed(text)).map(|program| format!("{}:\n{program}", text.name)));
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let threads = [scope.spawn(wrong), scope.spawn(wrong)];
        threads.into_iter().flat_map(|own| own.join().expect("no panic on the way")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What divides by 0 is refused at its place, and ends.
#[test]
fn divisions_by_what_is_0_by_its_form() {
    let statements = [
        "x[n] ~ Normal(a / 0, sd = 1)",
        "x[n] ~ Normal(a / (1 - 1), sd = 1)",
        "x[n] ~ Normal(a + t[n] / 0, sd = 1)",
        "x[n] ~ Normal(a + c / 0, sd = 1)",
        "x[n] ~ Normal(a * (t[n] - t[n])^-1, sd = 1)",
        "x[n] ~ Normal(a / (r - r), sd = 1)",
        "x[n] ~ Normal(a, sd = 0 * c)",
        "x[n] ~ Normal(a, sd = sqrt(c - c))",
        "x[n] ~ Exponential(r / 0)",
        "v[:i] ~ MultivariateNormal(0, cov = 0 * [i == j])",
        "v[:i, :j] ~ Wishart(6, scale = 0 * [i == j])",
    ];
    let wrong: Vec<&str> = statements.into_iter().filter(|statement| {
        let support = if statement.contains("Exponential") { "positive" } else { "real" };
        let program = format!(
            "axis row[n]\naxis column[i, j]\ndata x[n] : {support}\ndata t[n] : real\nconst c\na ~ Normal(0, sd = 1)\n\
             r ~ Gamma(1, rate = 1)\n{statement}\n"
        );
        let (send, receive) = channel();
        std::thread::spawn(move || {
            let errors = compile(&program).diagnostics.into_iter().filter(|own| own.is_error());
            let codes: Vec<String> = errors.map(|own| own.code.to_string()).collect();
            // The other side has gone where it has waited too long.
            let _ = send.send(codes);
        });
        receive.recv_timeout(LONGEST) != Ok(vec!["E0706".to_owned()])
    }).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
