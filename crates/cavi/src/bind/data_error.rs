//! What is wrong with the data of a program.

use std::fmt;

use cavi_files::FileError;

/// A mistake in what a program is run on: files, labels, sizes, constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataError {
    /// What was found, with file and line where there is one.
    pub message: String,
    /// What is possible in its place.
    pub possible: Option<String>,
    /// What to try.
    pub help: Option<String>,
}

impl DataError {
    /// A problem without advice.
    pub fn new(message: impl Into<String>) -> DataError {
        DataError { message: message.into(), possible: None, help: None }
    }

    /// The same, with what is possible.
    pub fn possible(mut self, text: impl Into<String>) -> DataError {
        self.possible = Some(text.into());
        self
    }

    /// The same, with what to try.
    pub fn help(mut self, text: impl Into<String>) -> DataError {
        self.help = Some(text.into());
        self
    }

    /// A name that does not exist: with the nearest one that does, and all of them.
    pub(crate) fn unknown(message: impl Into<String>, name: &str, known: &[&str]) -> DataError {
        let problem = DataError::new(message);
        let problem = match known {
            [] => problem,
            _ => problem.possible(list(known)),
        };
        match cavi_syntax::nearest(name, known.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem,
        }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(possible) = &self.possible {
            write!(f, "\n  possible: {possible}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DataError {}

impl From<FileError> for DataError {
    fn from(mut error: FileError) -> DataError {
        let help = error.help.take().map(String::from);
        DataError { message: error.to_string(), possible: None, help }
    }
}

/// Names in backquotes, at most twenty.
pub(crate) fn list(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|name| format!("`{name}`")).collect();
    match names.len() {
        n if n > 20 => format!("{} and {} more", shown.join(", "), n - 20),
        _ => shown.join(", "),
    }
}
