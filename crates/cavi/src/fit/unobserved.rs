//! Warns about data of which no entry is observed, since a fit learns nothing from them.

use cavi_algebra::{ArrayId, ArrayKind};
use cavi_executor::{Bound, BoundArray};
use cavi_model::Model;
use cavi_syntax::Diagnostic;

/// A warning for each array of data that the program observes and that has no observed entry.
pub(super) fn warnings(model: &Model, bound: &Bound) -> Vec<Diagnostic> {
    let mut targets: Vec<ArrayId> =
        model.statements.iter().filter(|own| own.observed).map(|own| own.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let is_data = |own: &&ArrayId| model.symbols.array(**own).kind == ArrayKind::Data;
    let unobserved = targets.iter().filter(is_data).filter(|own| !is_observed(model, bound, **own));
    unobserved
        .map(|own| {
            let name = &model.symbols.array(*own).name;
            Diagnostic::warning(
                "W0807",
                format!("no entry of `{name}` is observed: nothing is learnt from it"),
            )
            .at(model.array_spans[own.index()], "these data")
            .possible("at least one entry that is not missing")
            .help("look whether the file has rows below its header, and what it writes for a missing entry")
        })
        .collect()
}

/// Whether any entry is observed.
fn is_observed(model: &Model, bound: &Bound, id: ArrayId) -> bool {
    let any = |values: &[f64], observed: &Option<Vec<bool>>| {
        observed.as_ref().map_or(!values.is_empty(), |own| own.contains(&true))
    };
    match bound.array(id) {
        BoundArray::Dense { values, observed } => any(values, observed),
        BoundArray::Sparse { values, observed, unlisted_zero, .. } => {
            any(values, observed) || (*unlisted_zero && !bound.shape(&model.symbols, id).contains(&0))
        }
    }
}
