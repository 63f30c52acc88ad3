//! Refuses groups without positions where probabilities over a group are summed to 1: of none of them the sum is 0.

use cavi_model::Model;
use cavi_syntax::Diagnostic;

use super::Problem;

/// An error for each statement that sums probabilities over a group without a position: for the first such group.
pub(super) fn check(problem: &Problem) -> Vec<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let mut refusals = Vec::new();
    for (statement, own) in model.statements.iter().zip(&equations.statements) {
        for axis in &own.filled {
            let starts = binding.bound.axes[axis.index()].starts.as_deref().unwrap_or_default();
            let Some(group) = starts.windows(2).position(|pair| pair[0] == pair[1]) else { continue };
            let Model { symbols, .. } = model;
            let Some(parent) = symbols.axis(*axis).parent else { continue };
            let label = binding.labels.label(&binding.bound, parent, group).into_owned();
            let (name, above) = (&symbols.axis(*axis).name, &symbols.axis(parent).name);
            let message = format!(
                "`{above}` {label} has no position of `{name}`, and this statement reads the sum of its probabilities as 1"
            );
            refusals.push(
                Diagnostic::error("E0717", message)
                    .at(statement.span, format!("sums probabilities over the positions of a `{above}`"))
                    .possible(format!("data in which each `{above}` has a position of `{name}`"))
                    .help(format!("leave this `{above}` out of the data")),
            );
        }
    }
    refusals
}
