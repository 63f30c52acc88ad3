//! Functions of points that run over the group of a ragged letter.

use cavi_algebra::{ArrayId, Atom, Function, LetterId, Mode, Sum, Symbols};
use cavi_model::Statement;
use cavi_syntax::Diagnostic;

use crate::blocks::Draft;
use crate::derive::Derivation;
use crate::joint::with_ancestors;

/// Refuses a function of points whose argument runs over the group of a ragged letter, where nothing else in it says which
/// group: `exp(sum[t](a x[n, t]))` with `t` in `n`. A sum of products names a ragged letter without its ancestors, so that
/// such a function would pass for one and the same number in every group.
pub fn refuse_groups(derivation: &mut Derivation, drafts: &[Draft], statement: &Statement, density: &Sum) {
    let is_point = |array: ArrayId| {
        drafts.iter().any(|draft| draft.mode == Mode::Point && draft.members.contains(&array))
    };
    let mut found = None;
    for factor in density.terms.iter().flat_map(|term| &term.factors) {
        found = found.or_else(|| hidden_group(&derivation.symbols, &factor.atom, &is_point));
    }
    let Some(letter) = found else { return };
    let symbols = &derivation.symbols;
    let parent = symbols.letter(letter).parent.expect("a ragged letter has a parent");
    let (name, parent) = (symbols.letter(letter).name.clone(), symbols.letter(parent).name.clone());
    derivation.diagnostics.push(
        Diagnostic::error(
            "E0798",
            format!("a function of points of a sum over `{name}`, which is ragged in `{parent}`, is not in this version"),
        )
        .at(statement.span, "in this statement")
        .possible(format!("functions of points in which `{parent}` stands beside the sum, or sums over axes of one length"))
        .help(format!("declare the axis of `{name}` without `in`, and multiply by data that are 0 where a group has no such member")),
    );
}

/// The ragged letter that is summed inside a function of points, in an atom that says nothing of its group.
fn hidden_group(symbols: &Symbols, atom: &Atom, is_point: &dyn Fn(ArrayId) -> bool) -> Option<LetterId> {
    let nested = atom.nested();
    let of_points = |atom: &Atom| {
        let plain = matches!(atom, Atom::Apply(Function::Log, _) | Atom::Group(_));
        !plain
            && !atom.nested().is_empty()
            && (0..symbols.arrays.len())
                .map(ArrayId::from)
                .any(|array| is_point(array) && atom.mentions(array))
    };
    fn any_function(atom: &Atom, of_points: &dyn Fn(&Atom) -> bool) -> bool {
        of_points(atom)
            || atom
                .nested()
                .into_iter()
                .flat_map(|sum| &sum.terms)
                .flat_map(|term| &term.factors)
                .any(|factor| any_function(&factor.atom, of_points))
    }
    if any_function(atom, &of_points) {
        // Inside a log the shares are of the group as well.
        let in_log = matches!(atom, Atom::Apply(Function::Log, _));
        let free = if in_log { Vec::new() } else { with_ancestors(symbols, &atom.free_letters()) };
        for term in nested.iter().flat_map(|sum| &sum.terms) {
            let hidden = term.sums.iter().find(|letter| {
                let lineage = symbols.lineage(**letter);
                lineage[1..].iter().any(|parent| !term.sums.contains(parent) && !free.contains(parent))
            });
            if hidden.is_some() {
                return hidden.copied();
            }
        }
    }
    let inner = nested.into_iter().flat_map(|sum| &sum.terms).flat_map(|term| &term.factors);
    inner.into_iter().find_map(|factor| hidden_group(symbols, &factor.atom, is_point))
}
