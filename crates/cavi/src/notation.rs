//! The symbols that a program chooses for its page: whether the factors of q have such parameters.

use cavi_algebra::print::{Chosen, Defined, Notation, Standard};
use cavi_algebra::{Block, Equations};
use cavi_model::{Model, NotationSpec};
use cavi_syntax::{Diagnostic, nearest};

/// Lines of `notation` about parameters that a factor of q does not have.
pub(crate) fn check(model: &Model, equations: &Equations) -> Vec<Diagnostic> {
    model.notation.iter().filter_map(|own| wrong(own, equations)).collect()
}

fn wrong(own: &NotationSpec, equations: &Equations) -> Option<Diagnostic> {
    let (parameter, span) = own.parameter.as_ref()?;
    let variable = &own.variable;
    let array = equations.symbols.find(variable)?;
    let block: Option<&Block> = equations.block_of(array).map(|id| equations.block(id));
    let Some(block) = block.filter(|block| !block.is_point()) else {
        let message = format!("`{variable}` has no parameters in q");
        let (label, help) = match block {
            Some(_) => ("a point", format!("give the point itself a symbol: `{variable} = {}`", own.shown())),
            None => {
                ("always at its optimum: its probabilities are the allocations", "drop the line".to_owned())
            }
        };
        return Some(Diagnostic::error("E0614", message).at(*span, label).help(help));
    };
    let standard = cavi_families::standard();
    let names: Vec<&str> = standard.standard(block.family).iter().map(|own| own.name).collect();
    if names.contains(&parameter.as_str()) {
        return None;
    }
    let family = standard.name(block.family);
    let listed = names.iter().map(|own| format!("`{own}`")).collect::<Vec<_>>().join(", ");
    let help = match nearest(parameter, names.iter().copied()) {
        Some(near) => format!("did you mean `{variable}.{near}`?"),
        None => "name one of these".to_owned(),
    };
    let message = format!("q({variable}) is {family}, and has no parameter `{parameter}`");
    Some(
        Diagnostic::error("E0614", message)
            .at(*span, "unknown parameter")
            .possible(format!("parameters: {listed}"))
            .help(help),
    )
}

/// What a program says about its symbols, for the printer.
pub(crate) fn notation(model: &Model, defined: &[Defined]) -> Notation {
    let chosen = model.notation.iter().map(|own| Chosen {
        variable: own.variable.clone(),
        parameter: own.parameter.as_ref().map(|(name, _)| name.clone()),
        symbol: own.shown(),
    });
    Notation::new(chosen.collect(), defined)
}
