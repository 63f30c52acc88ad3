//! Where a fit starts, and what it holds.

use std::path::PathBuf;

use clap::Args;

/// What `cavi fit --help` says of latents that are held.
const FIX: &str = "\
Hold a latent at the values of a file, as far as the file has any: known signatures beside free ones, the classes of some cases, a
weight that is known.

The file is read as one of data of the same axes: wide or long, with `--transpose NAME` and `--columns NAME=...`, one file a group of a
ragged axis. Its labels are those of the data, matched by name. An axis of components takes the names of the file for its first
positions: `--fix h=known.csv --set signature=8` holds those of the file and leaves the rest of the 8 free (`free 1`, ...). Entries
that are empty in the file are free too. Shares that sum to 1 are held as a whole.";

/// Where a fit starts, and what it holds.
#[derive(Args, Clone, Debug, Default)]
pub struct StartArguments {
    /// Initial parameters: a fit's directory, one laid out as its posterior/, or an .npz
    ///
    /// What the program holds by `posterior { fixed h }` stays at the values that stand there, such as topics of an earlier fit or
    /// signatures that are known.
    #[arg(long, value_name = "FILE_OR_DIR")]
    pub init: Option<PathBuf>,
    /// The data have grown since the fit of --init: rows that it has start there, new ones at its average row
    ///
    /// Rows are matched by their labels along every axis of the data; without labels the new ones stand behind those of the fit. Positions
    /// of other axes that the fit does not have, such as more topics, start at random. The fit goes on from there with all rows, old and
    /// new; `cavi project` keeps what is shared as it is.
    #[arg(long, requires = "init")]
    pub grow: bool,
    /// Hold a latent at the values of a file, as far as it has any: known components beside free ones
    #[arg(long, value_name = "NAME=FILE", long_help = FIX)]
    pub fix: Vec<String>,
}
