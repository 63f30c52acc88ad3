//! A latent that chooses among the positions of an axis without any has no value to take.

use cavi_algebra::{ArrayKind, Support};
use cavi_syntax::Diagnostic;

use super::Problem;

/// An error for each such latent that has copies.
pub(super) fn check(problem: &Problem) -> Vec<Diagnostic> {
    let (model, bound) = (&problem.model, &problem.binding.bound);
    let symbols = &model.symbols;
    let mut errors = Vec::new();
    for (place, array) in symbols.arrays.iter().enumerate() {
        let Support::Index(axis) = array.support else { continue };
        let has_copies = bound.shape(symbols, place.into()).iter().all(|size| *size > 0);
        if array.kind != ArrayKind::Latent || !has_copies || bound.size(axis) > 0 {
            continue;
        }
        let (name, axis) = (&array.name, &symbols.axis(axis).name);
        errors.push(
            Diagnostic::error(
                "E0806",
                format!("`{name}` chooses among the positions of axis `{axis}`, which has none"),
            )
            .at(model.array_spans[place], "there is no value that it could take")
            .help(format!("`--set {axis}=2`, or another size of 1 or more")),
        );
    }
    errors
}
