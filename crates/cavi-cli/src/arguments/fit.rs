//! The arguments of `cavi fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::held_out::{FOLDS, HELD_OUT, HELD_OUT_TOTALS, folds};
use super::{ForceArguments, InputArguments, PlotArguments, RunArguments, StartArguments, seconds};

/// What `cavi fit --help` says of a page that follows the fit.
const WATCHED: &str = "\
Serve a page that follows the fit: its trace, and charts of the latents as they stand, at most every two seconds. Its address stands on
standard error; the system chooses a port, or --watch=8080 does. It is served to browsers of this machine alone (127.0.0.1), under a name that
cannot be guessed, and through a tunnel (`ssh -L 8080:127.0.0.1:8080`). The result has the same bits with it. The server ends with the fit:
an open page is told of the end, for which the command waits up to 5 seconds, and stays in the browser. A page that stays as a file is --report.";

/// `cavi fit`
#[derive(Args, Debug)]
pub struct FitArguments {
    /// A .cavi file, or the name of a built-in program
    pub model: String,
    /// What it is run on
    #[command(flatten)]
    pub inputs: InputArguments,
    /// The directory that the posterior is written to [default with --resume: that of the fit that is resumed]
    #[arg(long, value_name = "DIR", required_unless_present = "resume")]
    pub out: Option<PathBuf>,
    /// Checkpoints, and a fit that is resumed
    #[command(flatten)]
    pub checkpoints: CheckpointArguments,
    /// Replace a directory of others
    #[command(flatten)]
    pub force: ForceArguments,
    /// Where it starts, and what it holds
    #[command(flatten)]
    pub start: StartArguments,
    /// Hide a part of these data from the fit and score it: a fraction, whole rows, last entries, or a file of the entries
    #[arg(long, value_name = "NAME=FRACTION|FILE", long_help = HELD_OUT, allow_hyphen_values = true)]
    pub heldout: Vec<String>,
    /// Score held-out counts under a Poisson as units of their rows, given how many each row has
    #[arg(long, long_help = HELD_OUT_TOTALS)]
    pub heldout_totals: bool,
    /// Cross-validation: hide each of K parts of all data in turn and score it, then fit to all data
    #[arg(long, value_name = "K", long_help = FOLDS, value_parser = folds, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["heldout", "init"])]
    pub folds: Option<usize>,
    /// How to run it
    #[command(flatten)]
    pub run: RunArguments,
    /// With --restarts: also write every run, as DIR/runs/N/, and score what is held out by their average too
    #[arg(long, value_enum, value_name = "best|all", default_value_t = Keep::Best)]
    pub keep: Keep,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Also write a page about the fit, DIR/report.html, as `cavi report DIR` does
    #[arg(long)]
    pub report: bool,
    /// Charts as files
    #[command(flatten)]
    pub plots: PlotArguments,
    /// Serve a page that follows the fit, at an address of this machine that stands on standard error
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0", value_parser = port, long_help = WATCHED)]
    pub watch: Option<u16>,
}

/// Which runs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Keep {
    /// The one with the best ELBO
    Best,
    /// Every one that did not fail
    All,
}

/// Checkpoints of a fit.
#[derive(Args, Clone, Debug, Default)]
pub struct CheckpointArguments {
    /// Write a checkpoint every so many seconds, and one at Ctrl-C, from which --resume goes on; 0 writes one after every sweep. The fits of --folds have none: they begin anew
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub checkpoint_every: Option<f64>,
    /// Go on with the fit whose --out was DIR and that was interrupted; give its program, data and options as they were
    #[arg(long, value_name = "DIR", long_help = RESUME)]
    pub resume: Option<PathBuf>,
}

/// What `cavi fit --help` says of a fit that is resumed.
const RESUME: &str = "\
Go on with the fit whose --out was DIR and that was interrupted, from its last checkpoint. The result has the bits of a fit that
was not interrupted: posterior/, and trace.csv but for its seconds. Give program, data and options as they were; other data, another
program, seed or number of sweeps are refused. --threads, --progress, --checkpoint-every and --out may be others. A fit that is
finished stays as it is, and one without a checkpoint starts anew.";

fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| {
        "expected the number of a port, from 1 to 65535, or 0 for one that the system chooses".to_owned()
    })
}
