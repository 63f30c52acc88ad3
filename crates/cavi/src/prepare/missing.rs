//! Data of which entries are held out are derived as data with missing entries.

use cavi_algebra::ArrayId;
use cavi_model::{ScheduleItem, ScheduleKind};
use cavi_syntax::Diagnostic;

use super::{Problem, derive_again};

/// The program with entries that may be missing in the data of which some are withheld; `None` where it allows them already.
///
/// # Errors
/// If the program needs all entries, with the reason.
pub(super) fn restate(problem: &Problem) -> Result<Option<Problem>, Vec<Diagnostic>> {
    let symbols = &problem.model.symbols;
    let withheld = problem.binding.withheld.iter().copied();
    let changed: Vec<ArrayId> = withheld.filter(|id| !symbols.array(*id).absent.missing).collect();
    if changed.is_empty() {
        return Ok(None);
    }
    let mut model = problem.model.clone();
    for id in &changed {
        let absent = &mut model.symbols.arrays[id.index()].absent;
        (absent.missing, absent.withheld) = (true, true);
    }
    let equations = derive_again(&model).map_err(|errors| {
        let names: Vec<&str> = changed.iter().map(|id| symbols.array(*id).name.as_str()).collect();
        let names = crate::bind::list(&names);
        let message = format!("no entry of {names} can be hidden: the program needs all of them");
        let first = Diagnostic::error("E0901", message)
            .at(model.array_spans[changed[0].index()], "a held-out entry is a missing one")
            .help("what is wrong with missing entries follows");
        std::iter::once(first).chain(errors).collect::<Vec<Diagnostic>>()
    })?;
    // Entries that are latent in this form are updated first, before anything that reads them.
    let new =
        equations.blocks.iter().flat_map(|block| &block.members).filter(|member| changed.contains(member));
    if let Some(sweep) = &mut model.fit.sweep {
        for member in new {
            let span = model.array_spans[member.index()];
            let kind = ScheduleKind::Variable(*member);
            sweep.insert(0, ScheduleItem { kind, reset: false, repeat: 1, span });
        }
    }
    Ok(Some(problem.with(model, equations, problem.binding.clone())))
}
