//! The arguments of `cavi check-fit`.

use std::path::PathBuf;

use clap::Args;

use super::{InputArguments, threads, whole};

/// What `cavi check-fit --help` says at its end.
const CHECKED: &str = "\
Data are drawn from the fit, latents from q and data given these, and compared with the data that it was made from: where a statistic of
the data lies beyond that of every replicate, the model does not produce such data. Entries that are missing or held out of the fit are left
out of both; rows of counts under Multinomial keep their totals. Data that are centred or scaled by the program are compared in the units in which they
were given.

Statistics: zeros (share of entries that are 0), mean, variance, dispersion (variance over mean), max, min, skewness, kurtosis (3 for a bell
curve), rows and columns (variance over mean of the totals by the first and by the last axis), commonest and entropy (of classes).
Without --stat each array has those that suit its type. Groups of a ragged axis are looked at one by one.

p is two-sided: 2 (1 + k) / (R + 1) of R replicates, k of which lie on the side of the data or beyond it. A statistic of a right model lies
beyond all of 100 replicates in at most 2 of 101 cases: where dozens are looked at, expect one by chance. The check uses the data
twice, which makes it conservative, and a factor of q that is too narrow makes it less so.

k-hat is the shape of the tail of the importance weights log p(data, latents) - log q(latents) at draws from q, by Pareto smoothed importance
sampling (Vehtari and others 2024; Yao and others 2018): below 0.5 q is close to the posterior, above 0.7 it is too far from it for its spread to be
trusted. It judges all latents at once, and with many of them is nearly always above 0.7. It is not offered for what the model says of
some latents alone, since that has no closed form; nor for implicit latents and factors of q whose density is not evaluated, which is said.";

/// `cavi check-fit`
#[derive(Args, Debug)]
#[command(after_long_help = CHECKED)]
pub struct CheckFitArguments {
    /// The directory of a fit
    pub directory: PathBuf,
    /// The data of the fit [default: its own files]
    #[command(flatten)]
    pub inputs: InputArguments,
    /// Statistics, separated by commas [default: those that suit the type of the data]
    #[arg(long = "stat", value_name = "NAMES", value_delimiter = ',')]
    pub statistics: Vec<String>,
    /// How many replicates of the data are drawn
    #[arg(long, value_name = "N", default_value_t = 100, allow_hyphen_values = true)]
    pub draws: usize,
    /// Draws from q for k-hat [default: 1000 where a draw and the data have at most 200000 numbers, else none]
    #[arg(long = "k-hat", value_name = "N", allow_hyphen_values = true)]
    pub weights: Option<usize>,
    /// Each label of this axis by itself
    #[arg(long, value_name = "AXIS")]
    pub by: Option<String>,
    /// Of the draws [default: 0]
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Print as JSON on standard output
    #[arg(long)]
    pub json: bool,
}
