//! The arguments of commands that ask a fit.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ForceArguments, InputArguments, PlotArguments, RunArguments, threads};

/// What `cavi impute --help` says of entries.
const IMPUTED: &str = "\
The tables are long: a column of labels for each axis, then `mean` and `sd` of the entry in the units of the data (centre and scale
undone); of an entry that is a class, `class` and `prob`. The standard deviation is that of the entry, its noise included. Means are
exact where they are sums of products of latents that are independent under q; everything else is over draws from q. Of a row under
Multinomial the mean is its total, as it was given, times its probabilities. What was held out of the fit counts as missing.

Without --data the files that the fit was made from are read again, if they have not changed.

Rows without a single observed entry of an array (a sample that lacks a view) are predicted by what they share with other arrays alone.
In a joint fit such rows bend the factors of that array through small loadings elsewhere, and the means can be worse than those of the columns.
Their number is told. The remedy is a fit to the rows that have all arrays, `cavi project` of the others, and `cavi impute` of that
directory.";

/// `cavi impute`
#[derive(Args, Debug)]
#[command(after_long_help = IMPUTED)]
pub struct ImputeArguments {
    /// The directory of a fit, or of rows that were projected
    pub directory: PathBuf,
    /// The data of the fit [default: its own files]
    #[command(flatten)]
    pub inputs: InputArguments,
    /// All entries, with what the data have; else those that are missing
    #[arg(long)]
    pub all: bool,
    /// This array alone; may be given again [default: all data that the program predicts]
    #[arg(long, value_name = "NAME")]
    pub of: Vec<String>,
    /// Entries with this label alone; may be given again
    #[arg(long = "for", value_name = "AXIS=LABEL")]
    pub only: Vec<String>,
    /// Draws from q for standard deviations and what has no closed form; 0 gives means without standard deviations
    #[arg(long, value_name = "N", default_value_t = 200, allow_hyphen_values = true)]
    pub draws: usize,
    /// A file for one array (`.csv`), or a directory with one `NAME.csv` each [default: DIR/imputed]
    #[arg(long, value_name = "FILE|DIR")]
    pub out: Option<PathBuf>,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// No notes and no summary
    #[arg(long)]
    pub quiet: bool,
    /// Print what was written as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What ranks entries, of `cavi top`.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rankings: `cavi top DIR --rank item --for user`")]
pub struct RankArguments {
    /// Rank the positions of this axis by what entries of the data are expected to be, the greatest first; of equal ones in their order
    #[arg(long, value_name = "AXIS", requires = "each", conflicts_with_all = ["variable", "over", "by"])]
    pub rank: Option<String>,
    /// For each position of the other axis of these data, or for one of its labels; of three axes and more once for each. Where data run
    /// along one axis twice, as a network does, its letters name the sides: `--rank j --for i=LABEL`
    #[arg(long = "for", value_name = "AXIS[=LABEL]", id = "each", requires = "rank")]
    pub each: Vec<String>,
    /// The data, where several have these axes
    #[arg(long, value_name = "NAME", requires = "rank")]
    pub of: Option<String>,
    /// Leave out the entries that a file lists, by their labels; of a dense file those that are not 0
    #[arg(long, value_name = "FILE", requires = "rank")]
    pub not_in: Option<PathBuf>,
    /// Leave out the entries that the data of the fit have
    #[arg(long, requires = "rank")]
    pub unseen: bool,
    /// The data of the fit [default: its own files]
    #[command(flatten)]
    pub inputs: InputArguments,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, requires = "rank", allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Print as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What `cavi match --help` says of components.
const COMPONENTS: &str = "\
Components are positions on an axis that no data have: topics, factors, signatures, clusters. They are compared by the mean of one latent
along it (of those that rows share, where there are any), over the labels that both sides have, and assigned one to one so that the
sum of cosines is greatest. Factors that meet in products have no sign of their own: the size of the cosine counts, and a negative one says
that the signs differ. Centres of clusters have one. `stability` is the mean of the cosines of the pairs, or of their sizes.

For each component of A there is also the combination of two of B that is closest to it, if that is closer than one alone.
B may be a table with the names of its rows and columns, such as reference signatures.";

/// `cavi match`
#[derive(Args, Debug)]
#[command(after_long_help = COMPONENTS)]
pub struct MatchArguments {
    /// The directory of a fit
    pub a: PathBuf,
    /// The directory of another, or a table of components (.csv, .tsv)
    pub b: PathBuf,
    /// The latent by which components are compared [default: what the program says]
    #[arg(long, value_name = "VAR")]
    pub variable: Option<String>,
    /// The axis of the components [default: the one that no data have]
    #[arg(long, value_name = "AXIS")]
    pub axis: Option<String>,
    /// Print as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What `cavi choose --help` says of the table.
const CHOICE: &str = "\
Each value is fitted with the same part of the data held out. `score` is the held-out log predictive density a unit, and `se` its standard error
over entries; `below` is how much it is below that of the best value, with the standard error of this paired difference; `stability` the mean cosine of
components that are matched over restarts; `coherence`, of counts of words, the normalised pointwise mutual information of the ten largest words of
each component. Suggested is the smallest value that is below the best by at most one standard error of the difference.

Errors are those of the held-out entries given the fits: another split, or other data, would vary more.";

/// `cavi choose`
#[derive(Args, Debug)]
#[command(after_long_help = CHOICE)]
pub struct ChooseArguments {
    /// A .cavi file, or the name of a built-in program
    pub model: String,
    /// What it is run on; `--set NAME=5..50` tries every whole number, `5..50:5` every fifth, `4,8,16` a list
    #[command(flatten)]
    pub inputs: InputArguments,
    /// Hold a latent at the values of a file in every fit, as for `fit`
    #[arg(long, value_name = "NAME=FILE")]
    pub fix: Vec<String>,
    /// Hide a part of these data, as for `fit` [default: a tenth of all data that the program predicts]
    #[arg(long, value_name = "NAME=FRACTION|FILE", allow_hyphen_values = true)]
    pub heldout: Vec<String>,
    /// Keep the fits, each in DIR/NAME=VALUE, and the table as DIR/choose.csv
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a directory of others
    #[command(flatten)]
    pub force: ForceArguments,
    /// How to run each; without --restarts 3 runs
    #[command(flatten)]
    pub run: RunArguments,
    /// Print as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What `cavi compare --help` says of differences.
const COMPARED: &str = "\
Fits of any programs to the same data, of which the same entries were held out: with the same `--heldout` and `--seed`. For each there is
its held-out score, and how much it is below that of the best one, with the standard error of the paired difference over entries (of counts at
a rate that of a Poisson sum). It is given the fits and the split. Fits to other data, or with other held-out entries, are refused.";

/// `cavi compare`
#[derive(Args, Debug)]
#[command(after_long_help = COMPARED)]
pub struct CompareArguments {
    /// The directories of fits
    #[arg(required = true, num_args = 2.., value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// The data of the fits [default: their own files]
    #[command(flatten)]
    pub inputs: InputArguments,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Print as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What `cavi report --help` says of the page.
const PAGE: &str = "\
The page is one HTML file that holds all it shows and loads nothing: it opens offline, on a phone and in print. What is drawn for a latent
follows from its axes and labels: bars of the largest entries, curves over numbers and days, profiles of substitutions (A[C>A]A), pictures
of an `image` line, intervals of 90 %, points over two components, heat maps. Each chart has its table; without JavaScript the tables show.
With --plots the charts are written as files, and no page.

A table of --by has a line for each position of an axis. Where its first column holds labels of the axis, lines are joined by them, else
by order.

Of several fits, or of a directory that holds several (`cavi choose --out DIR`), the page has them beside each other: their scores on the same
held-out entries with paired differences, how many components to take, which component of one is which of another, and their bounds.
What was held out is scored again, from the data of the fits.";

/// `cavi report`
#[derive(Args, Debug)]
#[command(after_long_help = PAGE)]
pub struct ReportArguments {
    /// The directory of a fit; of several their fits are compared, and so are those in a directory of `cavi choose`
    #[arg(required = true, value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// The file of the page [default: report.html in the directory, of several comparison.html here]; with --plots the directory of the
    /// plots [default: DIR/plots, of several comparison-plots here]
    #[arg(long, value_name = "FILE.html|DIR")]
    pub out: Option<PathBuf>,
    /// The title of the page [default: that it is a fit of the program, or a comparison]
    #[arg(long, value_name = "TEXT", conflicts_with = "plots")]
    pub title: Option<String>,
    /// Colour the points of charts by a column of a table, `year=talks.csv:year`; may be given again, for other axes
    #[arg(long, value_name = "NAME=FILE:COLUMN")]
    pub by: Vec<String>,
    /// Charts as files in place of the page
    #[command(flatten)]
    pub plots: PlotArguments,
    /// How many threads score what was held out of several fits [default: all]; the page is the same
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
}

/// What entries are ordered by.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopBy {
    /// Their size.
    Weight,
    /// How much more frequent they are than in all components together.
    Lift,
    /// The harmonic mean of the ranks of frequency and exclusivity.
    Frex,
}
