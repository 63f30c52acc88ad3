//! `notation { }`: the symbols by which a page calls variables and the parameters of their factors of q.
//!
//! They change what a derivation looks like in print and nothing else. Whether a factor of q has a parameter of that name is
//! known only once its family is derived, and is checked there.

use cavi_algebra::ArrayKind;
use cavi_syntax::ast::{NotationItem, Program, StatementKind};
use cavi_syntax::{Diagnostic, Span};

use super::{Named, Resolver};
use crate::model::NotationSpec;

impl Resolver<'_> {
    /// The lines of all blocks `notation`.
    pub fn resolve_notation(&mut self, program: &Program) -> Vec<NotationSpec> {
        let mut found: Vec<NotationSpec> = Vec::new();
        let blocks = program.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Notation(block) => Some(block),
            _ => None,
        });
        for item in blocks.flat_map(|block| &block.items) {
            if let Some(own) = self.notation_item(&item.kind, item.span, &found) {
                found.push(own);
            }
        }
        self.check_symbols(&found);
        found
    }

    fn notation_item(
        &mut self,
        item: &NotationItem,
        span: Span,
        before: &[NotationSpec],
    ) -> Option<NotationSpec> {
        let name = &item.variable;
        match self.look_up(name)? {
            Named::Axis(_) => {
                self.report(
                    Diagnostic::error("E0614", format!("`{}` is an axis, and has no symbol", name.text))
                        .at(name.span, "expected a variable")
                        .help("name data, a constant, a latent variable or a deterministic name"),
                );
                return None;
            }
            Named::Definition(index) => {
                self.definitions[index].used = true;
                if let Some(parameter) = &item.parameter {
                    self.no_factor(&name.text, "a deterministic name", parameter.span);
                    return None;
                }
            }
            Named::Array(id) => {
                let latent = self.symbols.array(id).kind == ArrayKind::Latent
                    || self.facts[id.index()].draft.is_some() && self.facts[id.index()].read;
                if let Some(parameter) = item.parameter.as_ref().filter(|_| !latent) {
                    let kind = self.kind_in_words(id);
                    self.no_factor(&name.text, &kind, parameter.span);
                    return None;
                }
            }
        }
        let parameter = item.parameter.as_ref().map(|own| (own.text.clone(), own.span));
        let own = NotationSpec {
            variable: name.text.clone(),
            parameter,
            symbol: item.symbol.text.clone(),
            squared: item.squared,
            symbol_span: item.symbol.span,
            span,
        };
        let same = |other: &&NotationSpec| other.left() == own.left();
        if let Some(first) = before.iter().find(same) {
            self.report(
                Diagnostic::error("E0610", format!("`{}` is given twice", own.left()))
                    .at(span, "the second time")
                    .also(first.span, "the first time")
                    .help("keep one line"),
            );
            return None;
        }
        Some(own)
    }

    fn no_factor(&mut self, name: &str, kind: &str, span: Span) {
        self.report(
            Diagnostic::error("E0614", format!("`{name}` is {kind}, and has no factor of q"))
                .at(span, "a parameter of what?")
                .possible("parameters belong to latent variables: `theta.concentration = gamma`")
                .help(format!("leave the parameter out to give `{name}` itself a symbol")),
        );
    }

    /// No symbol stands for two things on one page.
    fn check_symbols(&mut self, all: &[NotationSpec]) {
        for (place, own) in all.iter().enumerate() {
            let shown = own.shown();
            let twice = all[..place].iter().find(|other| other.shown() == shown);
            if let Some(first) = twice {
                self.report(
                    Diagnostic::error("E0615", format!("the symbol `{shown}` is used twice"))
                        .at(own.symbol_span, format!("stands for `{}`", own.left()))
                        .also(first.symbol_span, format!("stands for `{}`", first.left()))
                        .help("choose another symbol for one of them"),
                );
                continue;
            }
            // A name that has another symbol on the page is free.
            let renamed = all.iter().any(|other| other.parameter.is_none() && other.variable == own.symbol);
            let itself = own.parameter.is_none() && own.variable == own.symbol;
            if own.squared || itself {
                continue;
            }
            let used = match self.names.get(&own.symbol) {
                Some(Named::Array(_) | Named::Definition(_)) if !renamed => Some("a name of the program"),
                _ if self.letters.contains_key(&own.symbol) => Some("a letter of an axis"),
                _ => None,
            };
            if let Some(kind) = used {
                self.report(
                    Diagnostic::error("E0615", format!("the symbol `{shown}` is {kind}"))
                        .at(own.symbol_span, "would stand for two things on one page")
                        .help(format!("choose another symbol, such as `{}_hat`", own.symbol)),
                );
            }
        }
    }
}
