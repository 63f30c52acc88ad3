//! The one place where a restated program is derived anew.

use cavi_algebra::Equations;
use cavi_model::Model;
use cavi_syntax::Diagnostic;

/// The equations of a restated program.
///
/// # Errors
/// What keeps it from having any.
pub(crate) fn derive_again(model: &Model) -> Result<Equations, Vec<Diagnostic>> {
    let (equations, diagnostics) = crate::stack::with_room(|| cavi_derivation::derive(model));
    let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    equations.filter(|_| errors.is_empty()).ok_or(errors)
}

/// The equations of a restated program that has the blocks of the one it restates; `None` where it has no equations, or other
/// blocks. The sweep stays: which latents are local is said by the data as they are declared.
pub(crate) fn derive_alike(model: &Model, like: &Equations) -> Option<Equations> {
    let mut equations = derive_again(model).ok()?;
    let members = |equations: &Equations| -> Vec<_> {
        equations.blocks.iter().map(|block| block.members.clone()).collect()
    };
    if members(&equations) != members(like) {
        return None;
    }
    equations.sweep.clone_from(&like.sweep);
    Some(equations)
}
