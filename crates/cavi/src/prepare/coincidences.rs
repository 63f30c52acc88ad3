//! Refuses entries at which two index data are equal, if the derivation has no closed form for them.

use cavi_algebra::LetterId;
use cavi_algebra::evaluate::{Assignment, for_each_value};
use cavi_syntax::Diagnostic;

use super::Problem;
use crate::bind::known::Known;

/// An error for each statement with an observed entry at which two subscripts are equal that have to differ: the first one.
pub(super) fn check(problem: &Problem) -> Vec<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let symbols = &model.symbols;
    let known = Known::new(symbols, &binding.bound.axes, &binding.bound.arrays);
    let mut refusals = Vec::new();
    for (statement, own) in model.statements.iter().zip(&equations.statements) {
        for (left, right) in &own.apart {
            let mut letters: Vec<LetterId> =
                statement.plates.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
            letters.sort_by_key(|letter| symbols.lineage(*letter).len());
            letters.dedup();
            let mut first: Option<Vec<String>> = None;
            for_each_value(symbols, &known, &letters, &mut Assignment::new(), &mut |assignment| {
                if first.is_some() {
                    return;
                }
                let at = |letter: &LetterId| {
                    assignment.get(*letter).expect("every letter of the plates is assigned")
                };
                let slices = statement.slices.len();
                let entry: Vec<usize> = statement.plates.iter().map(at).collect();
                if slices == 0 && !known.is_observed(statement.target, &entry) {
                    return;
                }
                let names = || {
                    let named = statement.plates.iter().map(|letter| {
                        let axis = symbols.letter(*letter).axis;
                        binding.labels.label(&binding.bound, axis, at(letter)).into_owned()
                    });
                    named.collect()
                };
                let named = names();
                let left = known.position_of(left, assignment);
                if left.is_some() && left == known.position_of(right, assignment) {
                    first = Some(named);
                }
            });
            let Some(entry) = first else { continue };
            let name = &symbols.array(statement.target).name;
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
