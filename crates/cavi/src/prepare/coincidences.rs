//! Refuses entries at which two index data are equal, if the derivation has no closed form for them.
//!
//! Looked at is what has a term: an entry that exists under the restriction of its array, was observed, and has a weight other than 0; of sparse data
//! those that are listed.

use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_algebra::{LetterId, Subscript, dedup};
use cavi_executor::BoundArray;
use cavi_model::Statement;
use cavi_syntax::Diagnostic;

use super::Problem;
use crate::bind::Existing;
use crate::bind::known::Known;
use crate::heldout::placed_letters;
use crate::rows::RowWeights;

/// An error for each statement with an observed entry at which two subscripts are equal that have to differ: the first one.
pub(super) fn check(problem: &Problem) -> Vec<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let known = Known::new(&model.symbols, &binding.bound.axes, &binding.bound.arrays);
    let mut refusals = Vec::new();
    for (statement, own) in model.statements.iter().zip(&equations.statements) {
        for (left, right) in &own.apart {
            let Some(entry) = first(problem, &known, statement, [left, right]) else { continue };
            let name = &model.symbols.array(statement.target).name;
            let (left, right) = (model.subscript_text(left), model.subscript_text(right));
            let message = format!("`{left}` and `{right}` are equal at `{name}[{}]`", entry.join(", "));
            refusals.push(
                Diagnostic::error("E0716", message)
                    .at(statement.span, "has no closed form where they are equal")
                    .possible("data in which the two differ at every observed entry")
                    .help(format!("leave such entries of `{name}` out, or make them missing")),
            );
        }
    }
    refusals
}

/// The labels of the first entry with a term at which two subscripts are equal, those of its groups before it.
fn first(
    problem: &Problem,
    known: &Known<'_>,
    statement: &Statement,
    [left, right]: [&Subscript; 2],
) -> Option<Vec<String>> {
    let Problem { model, binding, .. } = problem;
    let symbols = &model.symbols;
    let array = symbols.array(statement.target);
    let letters: Vec<LetterId> = dedup(
        statement.plates.iter().flat_map(|letter| symbols.lineage(*letter).into_iter().rev()).collect(),
    );
    let entries = statement.slices.is_empty().then(|| model.target_letters(statement));
    let placed = placed_letters(statement, &array.slice, false);
    let existing = Existing::of(symbols, &binding.bound.axes, array);
    let weights = RowWeights::of_statement(symbols, &binding.bound, statement);
    let mut found = None;
    let mut look = |assignment: &mut Assignment| {
        let position = known.position_of(left, assignment);
        if found.is_some() || position.is_none() || position != known.position_of(right, assignment) {
            return;
        }
        let at = |letter: &LetterId| assignment.get(*letter).expect("every letter of the plates is assigned");
        // A slice is observed as a whole, and so by its first element.
        let entry: Vec<usize> = placed.iter().map(|own| assignment.get(*own).unwrap_or(0)).collect();
        let is_asked = statement.observed || entries.is_some();
        if !existing.is_there(&entry)
            || is_asked && !known.is_observed(statement.target, &entry)
            || weights.at(|dimension| entry[dimension]) == 0.0
        {
            return;
        }
        let named = letters.iter().map(|letter| {
            let axis = symbols.letter(*letter).axis;
            binding.labels.label(&binding.bound, axis, at(letter)).into_owned()
        });
        found = Some(named.collect());
    };
    match (&entries, &binding.bound.arrays[statement.target.index()]) {
        (Some(own), Some(BoundArray::Sparse { indices, unlisted_zero: false, values, .. })) => {
            for entry in 0..values.len() {
                let mut assignment = Assignment::new();
                for (letter, column) in own.iter().zip(indices) {
                    assignment.assign(symbols, known, *letter, column[entry] as usize);
                }
                look(&mut assignment);
            }
        }
        _ => {
            let mut parents_first = letters.clone();
            parents_first.sort_by_key(|letter| symbols.lineage(*letter).len());
            for_each_value(symbols, known, &parents_first, &mut Assignment::new(), &mut look);
        }
    }
    found
}
