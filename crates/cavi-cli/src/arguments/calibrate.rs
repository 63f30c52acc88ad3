//! The arguments of `cavi calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::{InputArguments, positive, threads, tolerance, whole};

/// What `cavi calibrate --help` says at its end.
const CALIBRATED: &str = "\
Latents and data are drawn from the prior of the program, as `cavi simulate` draws them, and the program is fitted to each data set. Were
q the posterior, what the data were drawn from would be one more draw of q: its place among draws of q would be anywhere with the same
probability (simulation-based calibration: Talts and others 2018; of variational inference Yao and others 2018). Where the truth lies in the tails
of q too often, q is too narrow, and so are intervals of q; where it lies on one side, q is shifted. Axes need sizes, by --set, as for simulate;
data that are given, such as covariates, are not drawn. Constants want values from which sensible data come.

With --from the data are drawn from another program, which shares data and latents by name with the one that is fitted: what is found is
then what comes of believing MODEL where OTHER is true, a wrong prior for example.

Components (topics, factors, classes) are put in the order and given the signs in which they are closest to the truth. Points have no width,
and classes of single rows no order: they are left out. p-values are those of t-tests over data sets, times the number of tests.";

/// `cavi calibrate`
#[derive(Args, Debug)]
#[command(after_long_help = CALIBRATED)]
pub struct CalibrateArguments {
    /// A .cavi file or the name of a built-in program
    pub model: String,
    /// Draw the data from this program [default: MODEL]
    #[arg(long, value_name = "OTHER")]
    pub from: Option<String>,
    /// What is not drawn, and sizes and constants
    #[command(flatten)]
    pub inputs: InputArguments,
    /// The total of the rows of data under Multinomial [default: as the program says, else 100]
    #[arg(long, value_name = "NAME=N")]
    pub total: Vec<String>,
    /// How many data sets are drawn and fitted
    #[arg(long, value_name = "N", default_value_t = 100, allow_hyphen_values = true)]
    pub fits: usize,
    /// How many draws of each q
    #[arg(long, value_name = "N", default_value_t = 99, allow_hyphen_values = true)]
    pub draws: usize,
    /// At most so many sweeps of each fit [default: as the program says]
    #[arg(long, value_name = "N", value_parser = positive, allow_hyphen_values = true)]
    pub sweeps: Option<u64>,
    /// The relative change of the ELBO at which a fit stops [default: as the program says]
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub tol: Option<f64>,
    /// Runs of each fit, of which the best counts [default: as the program says]
    #[arg(long, value_name = "R", value_parser = positive, allow_hyphen_values = true)]
    pub restarts: Option<u64>,
    /// Of the first data set; the next have the seeds after it [default: 0]
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// A file for what --json prints, beside the table
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// No progress
    #[arg(long)]
    pub quiet: bool,
    /// Print as JSON on standard output
    #[arg(long)]
    pub json: bool,
}
