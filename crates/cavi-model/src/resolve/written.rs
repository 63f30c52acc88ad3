//! The statements once more as they are written: deterministic names stay names, for who shows the model.
//!
//! The equations are derived from statements in which each deterministic name is written out. A page and a drawing show the
//! program's own names. Each is resolved here as an array would be, in a copy of the names, so that the model has none of them.

use cavi_algebra::{ArrayKind, LetterId, Support};

use super::places::{How, Scope};
use super::statements::{FamilyState, takes_support_word};
use super::{Definition, Resolver};
use crate::model::{AsWritten, DefinitionAsWritten, Statement};

impl Resolver<'_> {
    /// The statements with their deterministic names, and these in the order of the text; `None` where the program has none, or has a
    /// mistake.
    pub fn as_written(&self) -> Option<(AsWritten, Vec<DefinitionAsWritten>)> {
        if self.definitions.is_empty() || self.diagnostics.iter().any(cavi_syntax::Diagnostic::is_error) {
            return None;
        }
        let mut again = self.clone();
        let definitions: Vec<Definition> = again.definitions.clone();
        let mut targets = Vec::new();
        for definition in &definitions {
            let id = again.add_array(&definition.name, ArrayKind::Constant, definition.shape.clone());
            again.symbols.arrays[id.index()].support = Support::Real;
            again.facts[id.index()].has_support = true;
            again.facts[id.index()].untyped = true;
            targets.push(id);
        }
        let mut own = Vec::new();
        for (definition, target) in definitions.iter().zip(targets) {
            let mut scope = Scope::new(definition.bound.clone(), format!("`{}`", definition.name.text));
            let value = again.expression(&mut scope, definition.value)?;
            own.push(DefinitionAsWritten { target, value });
        }
        let statements: Option<Vec<Statement>> =
            (0..again.drafts.len()).map(|index| again.statement_as_written(index)).collect();
        Some((AsWritten { symbols: again.symbols, statements: statements? }, own))
    }

    /// A statement with its deterministic names. One whose family must see what a name stands for keeps that.
    fn statement_as_written(&mut self, index: usize) -> Option<Statement> {
        let draft = &self.drafts[index];
        let (ast, bound) = (draft.ast, draft.bound.clone()?);
        let statement = draft.statement.clone()?;
        let FamilyState::Done(Some(family)) = draft.family else { return Some(statement) };
        if takes_support_word(family) {
            return Some(statement);
        }
        let slices = bound.iter().filter(|bound| bound.how == How::LeftSlice);
        let left: Vec<LetterId> = slices.map(|bound| bound.actual).collect();
        match self.arguments(&ast.family, family, &ast.arguments, bound, &left, false) {
            Some(arguments) => Some(Statement { arguments, ..statement }),
            None => Some(statement),
        }
    }
}
