//! The arguments of commands about what a fit is uncertain of.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ForceArguments, InputArguments, positive, threads, tolerance, whole};

/// What `cavi sample --help` says at its end.
const SAMPLED: &str = "\
Factors of q are drawn independently, as q has them; what is joint in q is drawn jointly, and points repeat. A deterministic name,
`NAME[...] = expression`, is evaluated on each draw: a difference, a ratio, a product of latents, anything that the program can write. An
implicit latent has no draws.

The directory gets VAR.npy, the draws first and then the axes of the variable (of a ragged one VAR/GROUP.npy), VAR.csv with labels,
mean, standard deviation and quantiles at 5, 50 and 95 %, axes/ with labels, and sample.json. Draws of an index are positions on its axis,
from 0. The same seed gives the same draws of a variable, whatever else is drawn.

These are draws of q. Where q takes factors apart it is narrower than the posterior distribution, and so are its draws: `cavi intervals`
has intervals that are not.";

/// `cavi sample`
#[derive(Args, Debug)]
#[command(after_long_help = SAMPLED)]
pub struct SampleArguments {
    /// The directory of a fit, or of rows that were projected
    pub directory: PathBuf,
    /// Latents and deterministic names [default: all]
    #[arg(value_name = "VAR")]
    pub names: Vec<String>,
    /// The data of the fit [default: its own files]
    #[command(flatten)]
    pub inputs: InputArguments,
    /// How many draws
    #[arg(long, value_name = "N", default_value_t = 1000, allow_hyphen_values = true)]
    pub draws: usize,
    /// Of the draws [default: 0]
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// The directory that the draws are written to [default: DIR/sample]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a directory of others
    #[command(flatten)]
    pub force: ForceArguments,
    /// No notes and no tables
    #[arg(long)]
    pub quiet: bool,
    /// Print sample.json on standard output
    #[arg(long)]
    pub json: bool,
}

/// What `cavi intervals --help` says at its end.
const INTERVALS: &str = "\
Without an option the intervals are quantiles of q, the variational posterior. They are too narrow wherever q takes apart what depends on
each other in the posterior.

--bootstrap N draws N data sets from the fit and fits each again, begun at the fit. Latents that intervals are asked for have their means
there; what is a row's own and not asked for is drawn anew from its statement, but for what the fit holds (`--fix`). Without VAR there are
intervals of what rows share, or of all where they share nothing. With --rows AXIS, positions of that axis (documents, samples) are drawn
with replacement from the data instead; what belongs to these rows has no interval then. Components that could have changed places or signs
are put in the order of the fit. `percentile` intervals are quantiles of the refits; `basic` intervals turn the distances of the refits from
the fit around, on the scale of logarithms for positive numbers and of log odds for probabilities.

--linear-response takes variances from how the means of q answer to a small change of the log joint (Giordano, Broderick and Jordan 2018). It
needs no other data, is exact where the posterior is Normal, and does not apply to points.

The table is printed, and written with labels to VAR.csv; each line says by what method its interval is.";

/// The interval that is made of refits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormName {
    /// Their distances from the fit, turned around
    Basic,
    /// Their quantiles
    Percentile,
}

/// `cavi intervals`
#[derive(Args, Debug)]
#[command(after_long_help = INTERVALS)]
pub struct IntervalsArguments {
    /// The directory of a fit
    pub directory: PathBuf,
    /// Latents [default: what rows share, else all]
    #[arg(value_name = "VAR")]
    pub names: Vec<String>,
    /// The probability that an interval is made for
    #[arg(long, value_name = "P", default_value_t = 0.9, allow_hyphen_values = true)]
    pub level: f64,
    /// By bootstrap: fits to so many data sets that are drawn from the fit
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub bootstrap: Option<usize>,
    /// With --bootstrap: data sets of rows along this axis, drawn with replacement
    #[arg(long, value_name = "AXIS", requires = "bootstrap")]
    pub rows: Option<String>,
    /// With --bootstrap: which interval
    #[arg(long, value_enum, default_value_t = FormName::Percentile, requires = "bootstrap")]
    pub form: FormName,
    /// By linear response of the means of q
    #[arg(long, conflicts_with = "bootstrap")]
    pub linear_response: bool,
    /// The data of the fit [default: its own files]
    #[command(flatten)]
    pub inputs: InputArguments,
    /// Of the data that are drawn [default: 0]
    #[arg(long, value_name = "S", value_parser = whole, requires = "bootstrap", allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// At most so many sweeps of each refit [default: as the fit had]
    #[arg(long, value_name = "N", value_parser = positive, requires = "bootstrap", allow_hyphen_values = true)]
    pub sweeps: Option<u64>,
    /// The relative change of the ELBO at which a refit stops [default: 1e-8]
    #[arg(long, value_name = "T", value_parser = tolerance, requires = "bootstrap", allow_hyphen_values = true)]
    pub tol: Option<f64>,
    /// A file for one latent (`.csv`), or a directory with one `VAR.csv` each [default: DIR/intervals]
    #[arg(long, value_name = "FILE|DIR")]
    pub out: Option<PathBuf>,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// No notes and no tables
    #[arg(long)]
    pub quiet: bool,
    /// Print as JSON on standard output
    #[arg(long)]
    pub json: bool,
}
