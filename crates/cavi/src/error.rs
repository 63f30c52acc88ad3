//! What can go wrong on the way from a text to a posterior, as one type with a message, a code and a kind.

use std::fmt;
use std::sync::Arc;

use cavi_files::FileError;
use cavi_syntax::{Diagnostic, render_all};

use crate::bind::DataError;
use crate::compile::Source;

/// Why there is no result. `Display` gives the whole message, without colours and with a newline at its end.
#[derive(Clone, Debug)]
pub enum Error {
    /// The program is wrong, or cannot run on these data: at places in its text.
    Program {
        /// What is wrong; at least one.
        diagnostics: Vec<Diagnostic>,
        /// The text that the places are in.
        source: Arc<Source>,
    },
    /// A text of the language that was given apart from the program is wrong: at places in that text.
    Option {
        /// What it was given for, as `--schedule`.
        option: &'static str,
        /// The text.
        text: String,
        /// What is wrong with it; at least one.
        diagnostics: Vec<Diagnostic>,
    },
    /// The data, or the sizes and constants beside them, are wrong.
    Data(Vec<DataError>),
    /// What was asked for is not of the form that it has.
    Usage(Vec<DataError>),
    /// A file cannot be read or written.
    File(FileError),
    /// The program is one that this version cannot run.
    Unplanned {
        /// The program.
        file_name: String,
        /// What has no plan.
        reason: String,
    },
    /// The bound fell: a bug of Cavi's.
    Fell {
        /// The variables of the item after which it was found lower.
        block: String,
        /// In this sweep.
        sweep: u64,
        /// By this much.
        amount: f64,
        /// Rounding allows this much.
        allowed: f64,
    },
    /// The bound is no number.
    NotANumber {
        /// After this sweep.
        sweep: u64,
    },
    /// It was told to stop before there was anything to return.
    Stopped,
}

/// Whose mistake an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program or the data are wrong.
    Wrong,
    /// What was asked for is not of the form that it has.
    Usage,
    /// Cavi broke a promise.
    Broken,
    /// Somebody stopped it.
    Stopped,
}

impl Error {
    /// Whose mistake it is.
    pub fn kind(&self) -> Kind {
        match self {
            Error::Program { .. } | Error::Data(_) | Error::File(_) | Error::Unplanned { .. } => Kind::Wrong,
            Error::Option { .. } | Error::Usage(_) => Kind::Usage,
            Error::Fell { .. } | Error::NotANumber { .. } => Kind::Broken,
            Error::Stopped => Kind::Stopped,
        }
    }

    /// A stable code: that of the first diagnostic where there is one.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Program { diagnostics, .. } | Error::Option { diagnostics, .. } => {
                diagnostics.first().map_or("E1000", |diagnostic| diagnostic.code)
            }
            Error::Data(_) => "E1001",
            Error::Usage(_) => "E1002",
            Error::File(_) => "E1003",
            Error::Unplanned { .. } => "E1004",
            Error::Fell { .. } => "E1005",
            Error::NotANumber { .. } => "E1006",
            Error::Stopped => "E1007",
        }
    }

    /// The message, in colours where these are wanted. It ends with a newline.
    pub fn text(&self, color: bool) -> String {
        let shown = |diagnostics: &[Diagnostic], name: &str, text: &str| -> String {
            render_all(diagnostics, name, text, color)
        };
        match self {
            Error::Program { diagnostics, source } => shown(diagnostics, &source.file_name, &source.text),
            Error::Option { option, text, diagnostics } => shown(diagnostics, option, text),
            Error::Data(all) | Error::Usage(all) => all.iter().map(|own| format!("error: {own}\n")).collect(),
            Error::File(error) => format!("error: {error}\n"),
            Error::Unplanned { file_name, reason } => {
                format!(
                    "error: this version of Cavi has no plan for `{file_name}`: {reason}\n  \
                     The program has its updates (`cavi derive` prints them); they cannot be computed in the memory that data and \
                     parameters take, or this is a limit of Cavi.\n  \
                     help: give an array that is named as a dense file, split the sum that is named by a latent of its own for a part of \
                     it, or report the program with the command\n"
                )
            }
            Error::Fell { block, sweep, amount, allowed } => {
                let fell = match amount.is_finite() {
                    true => format!("fell by {amount:e}"),
                    false => "fell to -inf".to_owned(),
                };
                format!(
                    "error: the ELBO {fell} in sweep {sweep}, at the update of `{block}` (rounding allows {allowed:e})\n  \
                     This is a bug of Cavi, not of your program. Please report it with the program and the command.\n"
                )
            }
            Error::NotANumber { sweep } => format!(
                "error: the ELBO is not a number after sweep {sweep}\n  \
                 The numbers went beyond what double precision holds, or this is a bug of Cavi: look for extreme values in \
                 data, constants and start.\n"
            ),
            Error::Stopped => "stopped\n".to_owned(),
        }
    }

    /// A mistake of the program's, at its place.
    pub(crate) fn at(diagnostic: Diagnostic, source: &Arc<Source>) -> Error {
        Error::Program { diagnostics: vec![diagnostic], source: Arc::clone(source) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

impl std::error::Error for Error {}

impl From<FileError> for Error {
    fn from(error: FileError) -> Error {
        Error::File(error)
    }
}

impl From<DataError> for Error {
    fn from(error: DataError) -> Error {
        Error::Data(vec![error])
    }
}

impl From<Vec<DataError>> for Error {
    fn from(errors: Vec<DataError>) -> Error {
        Error::Data(errors)
    }
}
