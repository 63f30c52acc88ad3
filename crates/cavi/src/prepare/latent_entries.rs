//! Missing entries on a right-hand side are latent, and need a factor of q: a statement whose family has one.

use cavi_algebra::ArrayId;
use cavi_syntax::Diagnostic;

use super::Problem;

/// An error for each array with such entries and no factor of q.
pub(super) fn check(problem: &Problem) -> Vec<Diagnostic> {
    let Problem { model, equations, binding, .. } = problem;
    let refusal = |array: &ArrayId| {
        let name = &model.symbols.array(*array).name;
        Diagnostic::error(
            "E0803",
            format!("`{name}` has missing entries, and stands on a right-hand side: they are latent"),
        )
        .at(model.array_spans[array.index()], "these entries have no factor of q")
        .possible("data without a missing entry, or missing entries of an array that stands only on the left")
        .help("give the array a statement whose family has a q, or leave out the rows in which it is missing")
    };
    let without = binding.partly_latent.iter().filter(|array| equations.block_of(**array).is_none());
    without.map(refusal).collect()
}
