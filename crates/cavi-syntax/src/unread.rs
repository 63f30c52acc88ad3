//! What is still known about a line that could not be parsed.
//!
//! A line that could not be parsed declares nothing, and every use of its name would be reported as undeclared. So
//! the head of such a line is kept where it can be recognised. Of any other line all names are kept, since each of
//! them may be what the line declares.

use crate::ast::{Head, HeadKind, Name, Unread};
use crate::mistakes::second_statement;
use crate::tokens::Token;

impl Unread {
    /// Keeps what a line that could not be read declares; it may hold several statements.
    pub(crate) fn statements(&mut self, tokens: &[Token<'_>]) {
        let declared = |index: usize| matches!(tokens[index - 1].text, "axis" | "data" | "const");
        let starts = (1..tokens.len()).filter(|index| !declared(*index) && second_statement(tokens, *index));
        let mut start = 0;
        for next in starts.chain([tokens.len()]) {
            self.statement(&tokens[start..next]);
            start = next;
        }
    }

    fn statement(&mut self, tokens: &[Token<'_>]) {
        let (Some(first), next) = (tokens.first(), tokens.get(1)) else { return };
        let kind = match first.text {
            "axis" => HeadKind::Axis,
            "data" => HeadKind::Data,
            "const" => HeadKind::Const,
            _ if first.is_name() && next.is_some_and(|next| !next.is_word()) => {
                self.heads.push(Head { kind: HeadKind::Left, name: name(first), letters: None });
                return;
            }
            _ => return self.line(tokens),
        };
        let Some(declared) = next.filter(|next| next.is_name()) else { return self.line(tokens) };
        let letters = letters(&tokens[2..]);
        // The letters of an axis may be any names on its line, and whether it is ragged is not known behind `in`.
        let uncertain =
            letters.as_ref().is_none_or(Vec::is_empty) || tokens.iter().any(|token| token.is("in"));
        if kind == HeadKind::Axis && uncertain {
            self.letters_unknown = true;
            return self.line(tokens);
        }
        self.heads.push(Head { kind, name: name(declared), letters });
    }

    /// Keeps every name of a line or of a part of the text.
    pub(crate) fn line(&mut self, tokens: &[Token<'_>]) {
        let names = tokens.iter().filter(|token| token.is_name());
        self.names.extend(names.map(|token| token.text.to_owned()));
    }

    /// Whether every line was read.
    pub fn is_empty(&self) -> bool {
        !self.letters_unknown && self.heads.is_empty() && self.names.is_empty()
    }
}

fn name(token: &Token<'_>) -> Name {
    Name { text: token.text.to_owned(), span: token.span }
}

/// The letters behind a declared name, in whatever brackets; `None` where something else stands among them.
fn letters(tokens: &[Token<'_>]) -> Option<Vec<Name>> {
    let mut letters = Vec::new();
    for token in tokens {
        if token.is_name() {
            letters.push(name(token));
        } else if token.is("]") || token.is(")") || token.is(":") || token.is("=") {
            break;
        } else if !(token.is("[") || token.is("(") || token.is(",")) {
            return None;
        }
    }
    Some(letters)
}
