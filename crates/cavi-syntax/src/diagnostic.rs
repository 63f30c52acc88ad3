//! What a stage has to say about a program, and where.

use crate::span::Span;

/// How serious a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program has no meaning, no closed form, or is outside the class: nothing runs.
    Error,
    /// Legal, and most likely a mistake: the fit goes on.
    Warning,
    /// Something the author may want to know.
    Note,
}

/// One message about a program, at its place in the text.
///
/// `message` says what was found; the labels say where; `possible` says what may stand there; `help` says what to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// A stable code: `E` and a number for an error, `W` for a warning, `N` for a note.
    pub code: &'static str,
    /// What was found, in one line.
    pub message: String,
    /// The place it concerns, and what to write under the caret (may be empty).
    pub primary: Option<(Span, String)>,
    /// Further places with their texts.
    pub secondary: Vec<(Span, String)>,
    /// What is possible at this place.
    pub possible: Option<String>,
    /// What to try.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place yet.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message)
    }

    /// A warning without a place yet.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// A note without a place yet.
    pub fn note(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, message)
    }

    fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Diagnostic {
        let message = message.into();
        Diagnostic {
            severity,
            code,
            message,
            primary: None,
            secondary: Vec::new(),
            possible: None,
            help: None,
        }
    }

    /// The place the message is about, with a text under the caret.
    pub fn at(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.primary = Some((span, label.into()));
        self
    }

    /// A further place that explains it.
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.secondary.push((span, label.into()));
        self
    }

    /// What is possible here.
    pub fn possible(mut self, text: impl Into<String>) -> Diagnostic {
        self.possible = Some(text.into());
        self
    }

    /// What to try.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// Whether it stops the program.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
