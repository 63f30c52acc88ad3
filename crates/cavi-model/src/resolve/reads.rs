//! What the tree of an expression mentions, before anything is resolved.

use cavi_algebra::{AxisId, LetterId};
use cavi_syntax::ast::{self, ExpressionKind};

use super::Resolver;

/// Calls `visit` with every reference in an expression, those in subscripts included.
pub(super) fn visit_references<'a>(
    expression: &'a ast::Expression,
    visit: &mut dyn FnMut(&'a ast::Reference, bool),
) {
    match &expression.kind {
        ExpressionKind::Number(..) | ExpressionKind::Indicator(..) => {}
        ExpressionKind::Reference(reference) => visit_reference(reference, false, visit),
        ExpressionKind::Negate(inner) | ExpressionKind::Sum(_, inner) => visit_references(inner, visit),
        ExpressionKind::Binary(_, left, right) => {
            visit_references(left, visit);
            visit_references(right, visit);
        }
        ExpressionKind::Call(_, arguments) => {
            arguments.iter().for_each(|argument| visit_references(&argument.value, visit));
        }
    }
}

/// The same for a reference; the flag says whether it stands in a subscript.
fn visit_reference<'a>(
    reference: &'a ast::Reference,
    in_subscript: bool,
    visit: &mut dyn FnMut(&'a ast::Reference, bool),
) {
    visit(reference, in_subscript);
    for subscript in reference.subscripts.iter().flatten() {
        if let ast::Subscript::Reference(inner) = subscript {
            visit_reference(inner, true, visit);
        }
    }
}

impl Resolver<'_> {
    /// The letter of `parent` that is written before the letter `name` somewhere in the expression.
    pub fn parent_in(&self, body: &ast::Expression, name: &str, parent: AxisId) -> Option<LetterId> {
        let mut found = None;
        visit_references(body, &mut |reference, _| {
            let mut before = None;
            for subscript in reference.subscripts.iter().flatten() {
                let word = match subscript {
                    ast::Subscript::Slice(word) => word,
                    ast::Subscript::Reference(inner) if inner.subscripts.is_none() => &inner.name,
                    ast::Subscript::Reference(_) => continue,
                };
                if word.text == name && found.is_none() {
                    found = before;
                }
                if let Some(letter) = self.letters.get(&word.text)
                    && self.symbols.letter(*letter).axis == parent
                {
                    before = Some(*letter);
                }
            }
        });
        found
    }
}
