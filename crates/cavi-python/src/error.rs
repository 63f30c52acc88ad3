//! Errors of Cavi as exceptions of Python. Their text is the message that the command line prints, with arguments in the place of options.

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
    let text = match in_python(py, error.text(false).trim_end()) {
        Ok(text) => text,
        Err(other) => return other,
    };
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

/// A message in the words of Python: `draws=0` for `--draws 0`.
fn in_python(py: Python<'_>, text: &str) -> PyResult<String> {
    py.import("cavi._words")?.call_method1("in_python", (text,))?.extract()
}

/// A result of Cavi's as one of Python's.
pub fn raised<T, E: Into<Error>>(py: Python<'_>, result: Result<T, E>) -> PyResult<T> {
    result.map_err(|error| exception(py, &error.into()))
}
