//! What does Python take and show?
//!
//! The module `cavi._core`: programs, fits, new rows and scores, from arrays and files, as the package in `python/cavi` calls them. A fit
//! is the directory that the command line writes, so that both read each other's. What this crate never knows: how a program is
//! compiled, planned or run; it is one client of `cavi`, as the command line is another.

mod asking;
mod error;
mod fit;
mod folds;
mod inputs;
mod lent;
mod program;
mod stored;
mod uncertain;
mod watch;

use pyo3::prelude::*;

/// Kernels read and write arrays by whole cache lines, so that arrays have to begin at one.
#[global_allocator]
static ALLOCATOR: cavi::CacheAligned = cavi::CacheAligned;

/// The compiled part of the package `cavi`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::asking::{
        choose_fit, compare_fits, grid, heldout_score, impute_entries, match_components, rankings, report,
        simulate_fit, simulate_prior,
    };
    #[pymodule_export]
    use crate::error::{BrokenPromise, CaviError, DataError, ProgramError, UsageError};
    #[pymodule_export]
    use crate::fit::{fit, pack, plan, read};
    #[pymodule_export]
    use crate::inputs::Inputs;
    #[pymodule_export]
    use crate::program::{Program, builtin, bundled, compile, explain};
    #[pymodule_export]
    use crate::stored::{Variable, export, project, score, top, variables};
    #[pymodule_export]
    use crate::uncertain::{calibrated, draw, intervals_of, plots, predictive_checks};

    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// A number as labels have it: the shortest decimal that reads back as it.
    #[pyfunction]
    fn format_number(value: f64) -> String {
        cavi_files::format_number(value)
    }

    /// The command line, with these arguments after its name; gives its exit status.
    #[pyfunction]
    fn command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| cavi_cli::run(std::iter::once(OsString::from("cavi")).chain(arguments)))
    }
}
