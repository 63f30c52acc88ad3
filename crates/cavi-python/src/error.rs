//! Errors of Cavi as exceptions of Python. Their text is the message that the command line prints, with the options of the methods of a fit
//! as Python writes them.

use cavi::{Error, Kind};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    cavi,
    CaviError,
    PyValueError,
    "What is wrong with a program, its data or a call. `code` is the stable code of the first message."
);
create_exception!(
    cavi,
    ProgramError,
    CaviError,
    "A program that is wrong or cannot run: with its places and repairs."
);
create_exception!(cavi, DataError, CaviError, "Data, sizes, labels or files that do not fit the program.");
create_exception!(cavi, UsageError, CaviError, "An option that is not of the form that it has.");
create_exception!(cavi, BrokenPromise, PyRuntimeError, "A bug of Cavi's, not of the program or the data.");

/// The exception of an error.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let text = in_python(error.text(false).trim_end());
    let raised = match (error.kind(), error) {
        (Kind::Stopped, _) => PyKeyboardInterrupt::new_err(text),
        (Kind::Broken, _) => BrokenPromise::new_err(text),
        (Kind::Usage, _) => UsageError::new_err(text),
        (Kind::Wrong, Error::Program { .. } | Error::Unplanned { .. }) => ProgramError::new_err(text),
        (Kind::Wrong, _) => DataError::new_err(text),
    };
    match raised.value(py).setattr("code", error.code()) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// Options that are arguments of methods.
const ARGUMENTS: [&str; 11] =
    ["bootstrap", "by", "draws", "fits", "form", "k-hat", "level", "linear-response", "rows", "sweeps", "tol"];

/// A text with the options in it as arguments: `` `--draws 0` `` is `` `draws=0` ``, and one without a value its name.
pub fn in_python(text: &str) -> String {
    let mut parts: Vec<String> = text.split('`').map(str::to_owned).collect();
    for quoted in parts.iter_mut().skip(1).step_by(2) {
        let Some(option) = quoted.strip_prefix("--") else { continue };
        let (name, value) = option.split_once(' ').unwrap_or((option, ""));
        if !ARGUMENTS.contains(&name) {
            continue;
        }
        let argument = name.replace('-', "_");
        *quoted = match (name, value) {
            ("linear-response", _) => format!("{argument}=True"),
            (_, "") => argument,
            _ => format!("{argument}={value}"),
        };
    }
    parts.join("`")
}

/// A result of Cavi's as one of Python's.
pub fn raised<T, E: Into<Error>>(py: Python<'_>, result: Result<T, E>) -> PyResult<T> {
    result.map_err(|error| exception(py, &error.into()))
}

#[cfg(test)]
mod tests {
    use super::in_python;

    #[test]
    fn options_are_arguments() {
        assert_eq!(in_python("`--draws 0`: found no draw"), "`draws=0`: found no draw");
        assert_eq!(
            in_python("`--bootstrap N` without `--rows`, or `--linear-response`"),
            "`bootstrap=N` without `rows`, or `linear_response=True`"
        );
        assert_eq!(in_python("`--data x=FILE` and `x`"), "`--data x=FILE` and `x`");
    }
}
