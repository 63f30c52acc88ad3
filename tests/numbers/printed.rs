//! Every relation that a derivation prints is true, read back from the page itself: over all programs, what
//! `cavi derive --verify` does for one (`cavi_verification::verify`, which says what is checked, and how closely).

use cavi_algebra::print::{Columns, Derivation, Level, Notation, Run, Standard};
use cavi_tests::support::{Program, programs};
use cavi_verification::{KINDS, Tally, verify};

/// Draws of an average.
const DRAWS: usize = 1500;

/// As in a program that says nothing of its symbols.
static NOTATION: Notation = Notation { chosen: Vec::new(), taken: Vec::new() };

/// As in a program that says nothing of its run.
static RUN: Run = Run {
    start: Vec::new(),
    restarts: None,
    warmup: Vec::new(),
    means: Vec::new(),
    left_out: false,
    collapsed: None,
    stop: None,
    other_allocations: false,
    sweeps: None,
};

/// The derivation of a program, as a whole page.
pub fn derivation(program: &Program) -> Derivation<'_> {
    static STANDARD: std::sync::LazyLock<Box<dyn Standard + Send + Sync>> =
        std::sync::LazyLock::new(|| Box::new(cavi_families::standard()));
    Derivation {
        equations: &program.equations,
        program: &[],
        stated: &[],
        defined: &[],
        named: &[],
        notation: &NOTATION,
        standard: &**STANDARD,
        run: &RUN,
        schedule: None,
        level: Level::default(),
        columns: Columns::One,
        about: &[],
        diagram: None,
    }
}

#[test]
fn every_printed_relation_holds() {
    let mut failed = Vec::new();
    let mut found = KINDS.map(|kind| (kind, Tally::default()));
    let (mut lines, mut rest) = (0, 0);
    for program in programs() {
        let own = verify(program.subject(), &cavi_families::standard(), DRAWS);
        let shown = own.failed.iter().map(|failed| {
            format!("{} (seed {}), {:?}: {}", program.name, failed.seed, failed.kind, failed.problem)
        });
        failed.extend(shown);
        lines += own.lines;
        rest += own.rest.len();
        for ((_, all), (_, own)) in found.iter_mut().zip(own.found) {
            all.add(own);
        }
        if std::env::var_os("CAVI_PROGRAM").is_some() {
            eprintln!("{}: evaluated with others only:\n  {}", program.name, own.rest.join("\n  "));
        }
    }
    let counts: Vec<(_, usize)> = found.iter().map(|(kind, own)| (kind, own.relations)).collect();
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let strict: usize = found.iter().map(|(_, own)| own.strict).sum();
    eprintln!(
        "relations checked: {total} ({counts:?}), of them bounds below what they bound: {strict}; pages have {lines} \
         different lines, {rest} of them evaluated with others only"
    );
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
    assert!(strict > 30, "{strict} bounds are no equalities");
    assert!(counts.iter().all(|(_, count)| *count > 20), "{counts:?} relations");
    // What is evaluated with others only are symbols that these need, natural parameters of q whose statistics are no
    // numbers, and sums of lines.
    assert!(rest * 4 < lines, "{rest} of {lines} lines are evaluated with others only");
}
