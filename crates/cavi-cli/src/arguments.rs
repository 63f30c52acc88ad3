//! The arguments of every command.

mod asking;
mod calibrate;
mod check_fit;
mod cluster;
mod demo;
mod files;
mod fit;
mod held_out;
mod memory;
mod pack;
mod plots;
mod rules;
mod shells;
mod simulate;
mod start;
mod uncertain;

use std::path::PathBuf;

pub use asking::{
    ChooseArguments, CompareArguments, ImputeArguments, MatchArguments, RankArguments, ReportArguments, TopBy,
};
pub use calibrate::CalibrateArguments;
use cavi::verified::DRAWS;
use cavi::{Columns, Precision};
use cavi_files::{FileError, LONGEST_SEQUENCE, LanguageName, MostDocuments, StopWords, TextOptions};
use cavi_syntax::ast::Allocations;
pub use check_fit::CheckFitArguments;
use clap::{Args, Parser, Subcommand, ValueEnum};
pub use cluster::ClusterArguments;
pub use demo::DemoArguments;
use files::DATA;
pub use fit::{CheckpointArguments, FitArguments, Keep};
use held_out::HELD_OUT_TOTALS;
pub use pack::PackArguments;
pub use plots::PlotArguments;
pub use rules::RuleArguments;
pub use shells::{CompletionsArguments, ManArguments};
pub use simulate::SimulateArguments;
pub use start::StartArguments;
pub use uncertain::{FormName, IntervalsArguments, SampleArguments};

/// Factor models as text: their variational inference derived, shown and run.
#[derive(Debug, Parser)]
#[command(name = "cavi", version, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the built-in programs
    List,
    /// Show the text of a built-in program
    Show {
        /// The built-in program
        name: String,
    },
    /// Report everything that is wrong with a program
    Check(CheckArguments),
    /// Print a program in canonical form (idempotent; keeps comments)
    Fmt(FmtArguments),
    /// Print the derived updates and the evidence lower bound
    Derive(DeriveArguments),
    /// Draw the factor graph
    Graph(GraphArguments),
    /// Show how a program will run on given data: steps, kernels, memory
    Plan(PlanArguments),
    /// Show what a data file is read as: its format and first lines, sizes, labels, entries, and the line that binds it
    Data(DataArguments),
    /// Pack data for data larger than memory: one file, which is mapped instead of read
    Pack(PackArguments),
    /// Fit a program to data
    Fit(Box<FitArguments>),
    /// Score new rows of data by a fit: their log predictive density, and the perplexity of counts and classes
    Score(Box<ScoreArguments>),
    /// Fit a built-in program to its bundled data and show what was found
    Demo(DemoArguments),
    /// Latents of new rows of data by a fit, whose shared factors stay as they are: topics of new documents, factors of new users
    Project(Box<ProjectArguments>),
    /// Draw latents and data: from the prior of a program, or from a fit
    Simulate(SimulateArguments),
    /// Independent draws from a fit: of its latents, and of deterministic names as functions of them
    Sample(SampleArguments),
    /// Intervals of the latents of a fit: by bootstrap, by linear response, or of q
    Intervals(Box<IntervalsArguments>),
    /// A page about a fit, to be opened in any browser: what was found, charts with their tables, the model, its derivation
    Report(ReportArguments),
    /// Print the completions of options and commands for a shell
    Completions(CompletionsArguments),
    /// Write the man pages
    Man(ManArguments),
    /// What missing entries, or all, are expected to be by a fit: means and standard deviations in the units of the data
    Impute(ImputeArguments),
    /// Whether data drawn from a fit look like its own: posterior predictive checks, in numbers and in words
    #[command(name = "check-fit")]
    CheckFit(CheckFitArguments),
    /// Whether fits find what their data were drawn from, for builders of models
    Calibrate(CalibrateArguments),
    /// Fit with several numbers of components, and suggest one: held-out score, stability over restarts, coherence
    Choose(Box<ChooseArguments>),
    /// Compare fits by what they say of the same held-out entries, with the standard error of the difference
    Compare(CompareArguments),
    /// Write the latents of a fit as tables: labels, means, standard deviations and quantiles
    Export(ExportArguments),
    /// Summarise a fit: how it ended, and its variables; or the values of one variable at their labels
    Summary(SummaryArguments),
    /// The largest entries of a variable of a fit, for each factor; or what comes first for whom, by what entries are expected to be
    Top(TopArguments),
    /// Match the components of two fits, or of a fit and a table of reference signatures, by cosine
    Match(MatchArguments),
    /// What a code of an error or warning means, with a wrong and a right program; without a code, all of them
    Explain(ExplainArguments),
}

/// `cavi explain`
#[derive(Args, Debug)]
pub struct ExplainArguments {
    /// A code, as `E0310`, in any case
    pub code: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `cavi check`
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// A .cavi file, or the name of a built-in program
    pub model: String,
    /// A constant or size given outside of the program, as for `fit`
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print the diagnostics as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// `cavi fmt`
#[derive(Args, Debug)]
pub struct FmtArguments {
    /// A .cavi file, or the name of a built-in program
    pub model: String,
    /// Write nothing; exit 1 if the file is not in canonical form
    #[arg(long)]
    pub check: bool,
    /// Rewrite the file instead of printing it
    #[arg(long, conflicts_with = "check")]
    pub write: bool,
}

/// What `cavi derive --help` says of JSON.
const DERIVATION_JSON: &str = include_str!("derivation_json.md");

/// `cavi derive`
#[derive(Args, Debug)]
#[command(after_long_help = DERIVATION_JSON)]
pub struct DeriveArguments {
    /// A .cavi file, or the name of a built-in program
    pub model: String,
    /// How to print it (default: what the suffix of `--check` says, else text)
    #[arg(long, value_enum)]
    pub format: Option<DerivationFormat>,
    /// Show how one variable comes by its update
    #[arg(long, value_name = "VAR")]
    pub explain: Option<String>,
    /// Compare with a stored derivation: status 1 where it differs, and the lines that do
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// How much of it: the formulas for an appendix, a reason at each step, or every line with the principle at length
    /// (default: full; `--explain` and JSON hold every line)
    #[arg(long, value_enum, conflicts_with = "explain")]
    pub level: Option<DerivationLevel>,
    /// With `--format latex`, a document of its own that compiles as it is (default: a fragment to include)
    #[arg(long)]
    pub standalone: bool,
    /// With `--format latex`, the columns of the page: lines are broken to fit
    #[arg(long, value_name = "1|2", value_parser = columns, default_value = "1")]
    pub columns: Columns,
    /// With `--format latex`, a list at the end that cites the entries of `--format bibtex`
    #[arg(long, conflicts_with = "explain")]
    pub cite: bool,
    /// Evaluate every relation of the derivation at random data; how each was checked stands at its foot
    #[arg(long, conflicts_with = "explain")]
    pub verify: bool,
    /// With `--verify`, over how many draws from q expectations are averaged
    #[arg(long, value_name = "N", requires = "verify", default_value_t = DRAWS as u64, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    pub draws: u64,
    /// A constant or a size given outside of the program, as for `fit`
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// How much of a derivation is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DerivationLevel {
    /// The formulas alone, for an appendix
    Paper,
    /// With the principle and a reason at each step
    Full,
    /// With the principle at length and every line that leads to an update
    Lecture,
}

impl DeriveArguments {
    /// The format that is asked for: of a stored derivation that of its suffix.
    pub fn chosen(&self) -> DerivationFormat {
        let of_suffix = || {
            let suffix = self.check.as_ref()?.extension()?.to_str()?.to_ascii_lowercase();
            match suffix.as_str() {
                "tex" | "latex" => Some(DerivationFormat::Latex),
                "md" | "markdown" => Some(DerivationFormat::Markdown),
                "json" => Some(DerivationFormat::Json),
                "py" => Some(DerivationFormat::Python),
                "bib" => Some(DerivationFormat::Bibtex),
                _ => None,
            }
        };
        self.format.or_else(of_suffix).unwrap_or(DerivationFormat::Text)
    }
}

/// Formats of a derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DerivationFormat {
    /// Plain text
    Text,
    /// A fragment for a document that loads amsmath and mathtools
    Latex,
    /// Markdown with LaTeX between dollars
    Markdown,
    /// The parts as text, LaTeX and trees, in JSON (its layout stands below)
    Json,
    /// One file of NumPy and SciPy that runs the updates and the bound
    Python,
    /// The literature of model, bounds and method, an entry of BibTeX each
    Bibtex,
}

/// `cavi graph`
#[derive(Args, Debug)]
pub struct GraphArguments {
    /// A .cavi file, or the name of a built-in program
    pub model: String,
    /// Graphviz text, or a drawing
    #[arg(long, value_enum, default_value_t = GraphFormat::Dot)]
    pub format: GraphFormat,
}

/// Formats of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// Graphviz
    Dot,
    /// A drawing, plates as boxes, observed nodes shaded
    Svg,
    /// The same drawing for LaTeX, as a picture for a document that loads tikz and amsmath
    Tikz,
}

/// How data files are read.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadingArguments {
    /// Which columns of a table are which axes, and which is the value; `NAME=wide` if it is rows by columns
    #[arg(long, value_name = "NAME=AXIS:COLUMN,...,value:COLUMN")]
    pub columns: Vec<String>,
    /// The file of this array holds the transpose of the declared order
    #[arg(long, value_name = "NAME")]
    pub transpose: Vec<String>,
    /// Labels of an axis, one a line, or a column of a table by name or number
    #[arg(long, value_name = "AXIS=FILE[:COLUMN]")]
    pub labels: Vec<String>,
    /// Keep genes or cells of one name apart, as `TBCE`, `TBCE-1` (.h5ad, 10x)
    #[arg(long)]
    pub unique: bool,
    /// Which words of texts count
    #[command(flatten)]
    pub texts: TextArguments,
}

/// The heading of the options of texts.
const TEXTS: &str = "Texts (a folder, lines:FILE, or FILE.csv:COLUMN of text)";

/// Which words of texts count.
#[derive(Args, Clone, Debug, Default)]
pub struct TextArguments {
    /// Leave out words of fewer documents [default: 2]
    #[arg(long, help_heading = TEXTS, value_name = "N", value_parser = entries, allow_hyphen_values = true)]
    pub min_docs: Option<usize>,
    /// Leave out words of more documents: a share, `0.5`, or a number [default: none]
    #[arg(long, help_heading = TEXTS, value_name = "SHARE|N", value_parser = most_documents, allow_hyphen_values = true)]
    pub max_docs: Option<MostDocuments>,
    /// Keep the N most frequent words [default: all]
    #[arg(long, help_heading = TEXTS, value_name = "N", value_parser = entries, allow_hyphen_values = true)]
    pub words: Option<usize>,
    /// Count sequences of up to N words too [default: 1]
    #[arg(long, help_heading = TEXTS, value_name = "N", value_parser = sequences, allow_hyphen_values = true)]
    pub ngrams: Option<usize>,
    /// Cut words to their stems by the rules of a language: `english`, `german`, ...
    #[arg(long, help_heading = TEXTS, value_name = "LANGUAGE", value_parser = LanguageName::with_stems)]
    pub stem: Option<LanguageName>,
    /// Words to leave out: the list of a language, a file with one word a line, or none [default: english]
    #[arg(long, help_heading = TEXTS, value_name = "LANGUAGE|FILE|none")]
    pub stop_words: Option<String>,
}

impl TextArguments {
    /// The options that are given, by name.
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let most = self.max_docs.map(|most| match most {
            MostDocuments::Share(share) => format!("{share:?}"),
            MostDocuments::Count(count) => count.to_string(),
        });
        let number = |own: Option<usize>| own.map(|own| own.to_string());
        [
            ("--min-docs", number(self.min_docs)),
            ("--max-docs", most),
            ("--words", number(self.words)),
            ("--ngrams", number(self.ngrams)),
            ("--stem", self.stem.map(|language| language.name().to_owned())),
            ("--stop-words", self.stop_words.clone()),
        ]
        .into_iter()
        .filter_map(|(option, value)| Some((option, value?)))
        .collect()
    }

    /// What is asked for; the rest stays as it is in `options`.
    ///
    /// # Errors
    /// A file of stop words that cannot be read.
    pub fn over(&self, options: TextOptions) -> Result<TextOptions, FileError> {
        Ok(TextOptions {
            min_docs: self.min_docs.unwrap_or(options.min_docs),
            max_docs: self.max_docs.or(options.max_docs),
            words: self.words.or(options.words),
            ngrams: self.ngrams.unwrap_or(options.ngrams),
            stem: self.stem.or(options.stem),
            stop_words: match &self.stop_words {
                None => options.stop_words,
                Some(text) => StopWords::read(text)?,
            },
        })
    }
}

/// What a program is run on.
#[derive(Args, Clone, Debug, Default)]
pub struct InputArguments {
    /// Bind a data array: a file or folder, one column of a table (FILE:COLUMN), a part of an .h5ad (FILE.h5ad:layers/counts), the
    /// answer to a query (FILE.db:SELECT ...), the standard input (-.csv), or one file a group ('x[rna]=rna.csv')
    #[arg(long, value_name = "NAME=FILE", long_help = DATA)]
    pub data: Vec<String>,
    /// How files are read
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// A constant or the size of an axis: a number, arithmetic, or a file
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Take at most so much memory, `2GB` or `500MiB`: what would take more is refused before it is begun [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory::size, allow_hyphen_values = true)]
    pub memory_limit: Option<usize>,
    /// Where arrays beyond that lie: in a file without a name in this directory, which goes when the program ends
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
}

/// `cavi data`
#[derive(Args, Debug)]
pub struct DataArguments {
    /// A data file or folder, or a part of one as `--data` takes it (FILE:COLUMN); the standard input is `-- -.csv`
    pub file: String,
    /// What it is to be read as: a name, its axes, what its values are [default: the first that the file allows]
    #[arg(long = "as", value_name = "'y[u, i] : count'")]
    pub declaration: Option<String>,
    /// How files are read
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// `cavi plan`
#[derive(Args, Debug)]
pub struct PlanArguments {
    /// A .cavi file, or the name of a built-in program
    pub model: String,
    /// What it is run on
    #[command(flatten)]
    pub inputs: InputArguments,
    /// Hold a latent at the values of a file, as for `fit`
    #[arg(long, value_name = "NAME=FILE")]
    pub fix: Vec<String>,
    /// What a sweep does
    #[command(flatten)]
    pub rules: RuleArguments,
    /// How the arrays that a sweep reads most are stored
    #[arg(long, value_name = "f64|f32", value_parser = precision, default_value = "f64")]
    pub precision: Precision,
    /// On how many threads the seconds are predicted [default: all]
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// The processes that a sweep is predicted for
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Show the derivation of the program as it is restated for these data, in place of the plan
    #[arg(long)]
    pub derive: bool,
}

/// What `cavi fit --help` says of the precision.
const PRECISION: &str = "\
How the arrays that a sweep reads most are stored.

With f32 the passes over listed entries gather their two factors in single precision and sum in double (factorisations of
counts, topics; `cavi plan --precision f32` says which). Parameters, data, all sums and the files stay in double; a program
without such passes runs as with f64, to the bit. Over 50 sweeps of the built-in programs the ELBO differed by at most 3e-7 of
itself, parameters by at most 8e-6 of the largest. Rows are scaled by powers of two, and entries whose rate would need
what is then below the range of single precision are treated in logarithms, in double.";

/// How a fit runs.
#[derive(Args, Clone, Debug)]
pub struct RunArguments {
    /// At most so many sweeps [default: 1000]; 0 writes the start and its ELBO
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub sweeps: Option<u64>,
    /// Stop when the relative change of the ELBO stays under this for 3 sweeps [default: 1e-6]; 0 runs all sweeps
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub tol: Option<f64>,
    /// What a sweep does
    #[command(flatten)]
    pub rules: RuleArguments,
    /// Extrapolate from sweep to sweep; the ELBO still never falls [default: as the program says, else none]
    #[arg(long, value_enum, value_name = "auto|none")]
    pub accelerate: Option<Acceleration>,
    /// Of the random start
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// So many starts; the fit with the best ELBO is kept
    #[arg(long, value_name = "R", value_parser = positive, allow_hyphen_values = true)]
    pub restarts: Option<u64>,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// How the arrays that a sweep reads most are stored
    #[arg(long, value_name = "f64|f32", value_parser = precision, default_value = "f64", long_help = PRECISION)]
    pub precision: Precision,
    /// Compute the ELBO every N sweeps
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive, allow_hyphen_values = true)]
    pub elbo_every: u64,
    /// Check after every step that the ELBO does not fall
    #[arg(long)]
    pub verify: bool,
    /// Progress on standard error: a bar on a terminal, lines, or none
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto)]
    pub progress: ProgressMode,
    /// No progress and no summary
    #[arg(long)]
    pub quiet: bool,
}

/// Whether sweeps are extrapolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Acceleration {
    /// Where it leads higher
    Auto,
    /// A sweep is its items and nothing else
    None,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    /// A bar on a terminal, plain lines elsewhere
    Auto,
    /// Plain lines
    Plain,
    /// Nothing
    None,
}

/// What happens to an `--out` that Cavi did not write.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ForceArguments {
    /// Write to a directory that is not empty and that Cavi did not write; its files stay
    #[arg(long)]
    pub force: bool,
}

/// What `cavi score --help` says of rows.
const ROWS: &str = "\
Rows run along the first axis of the data that the program predicts. What belongs to a row is fitted to a part of it
(half, drawn by --seed, or what --given names), what rows share keeps its q of the fit, and the other part is scored: the
sum of log E_q p(y | latents) over entries, or units of counts. Data whose statement reads no latent of a row are scored as
they are. Labels of other axes are those of the fit; entries with others are left out, and counted.

Several directories of fits of one program average their predictions: each fits what belongs to a row for itself, and the score
is the sum of the log of the average of their probabilities (or densities) of each entry, of each row that is one observation,
or of each unit of counts. It is at least the mean of their own scores.";

/// What `cavi score --help` says of metrics.
const METRICS: &str = "\
How well held-out entries are ranked and met, beside popularity: `ndcg@20,precision@20,recall@20,map,auc,rmse,mae`.

For each row the positions of one axis are ranked by what their entry is expected to be, without those that the row was given. The gain of a
position is its held-out value, and it is relevant where that is above 0. ndcg, map and auc are those of scikit-learn, ties
included; precision and recall are in expectation over the order of ties. They are averaged over rows with a relevant position, with their standard
error. rmse and mae are those of the held-out entries themselves. Popularity ranks by how much the other rows were given at a
position, and predicts its mean.";

/// `cavi score`
#[derive(Args, Debug)]
#[command(after_long_help = ROWS)]
pub struct ScoreArguments {
    /// The directory of a fit, or several of one program, whose predictions are averaged
    #[arg(required = true, value_name = "DIR")]
    pub directories: Vec<PathBuf>,
    /// The new rows; without data, what was held out of the fit itself is scored
    #[command(flatten)]
    pub inputs: InputArguments,
    /// The part of these data that rows are fitted to: a file of entries, or of the counts of this part
    #[arg(long, value_name = "NAME=FILE")]
    pub given: Vec<String>,
    /// Score counts under a Poisson as units of their rows, given how many each row has
    #[arg(long, long_help = HELD_OUT_TOTALS)]
    pub heldout_totals: bool,
    /// How well held-out entries are ranked and met, beside popularity: `ndcg@20,precision@20,recall@20,map,auc,rmse,mae`
    #[arg(long, value_name = "LIST", long_help = METRICS)]
    pub metrics: Option<String>,
    /// With --metrics: the axis that is ranked [default: the last of the data]
    #[arg(long, value_name = "AXIS", requires = "metrics")]
    pub rank: Option<String>,
    /// At most so many sweeps for the rows [default: as for `fit`]
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub sweeps: Option<u64>,
    /// Stop when the relative change of the ELBO stays under this for 3 sweeps [default: as for `fit`]
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub tol: Option<f64>,
    /// Of the split, the start of the rows and the draws from q
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Progress on standard error: a bar on a terminal, lines, or none
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto)]
    pub progress: ProgressMode,
    /// No progress and no notes
    #[arg(long)]
    pub quiet: bool,
    /// Print the scores as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// What `cavi project --help` says of rows.
const NEW_ROWS: &str = "\
The axis that grows is one along which latents run, and whose positions no statement ties together: documents of a topic model,
rows as well as columns of a matrix that is factorised, samples, schools with their pupils. Where several axes can grow, the data
say which one did (labels that the fit does not have, another size), or --axis does. Labels of all other axes are those of
the fit; entries with others are left out, and counted. Data that stand on the left of their statement alone need not be given,
such as a view that new samples lack: they are missing then. Data are centred and scaled by the numbers of the fit.

The directory has the layout of a fit's, with the latents of the new rows, and a table VAR.csv of the means of each.";

/// `cavi project`
#[derive(Args, Debug)]
#[command(after_long_help = NEW_ROWS)]
pub struct ProjectArguments {
    /// The directory of a fit
    pub directory: PathBuf,
    /// The new rows
    #[command(flatten)]
    pub inputs: InputArguments,
    /// The directory that the latents of the rows are written to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace a directory of others
    #[command(flatten)]
    pub force: ForceArguments,
    /// The axis that grew [default: what the data say, else the first one of the data that can]
    #[arg(long, value_name = "AXIS")]
    pub axis: Option<String>,
    /// At most so many sweeps over the rows [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole, allow_hyphen_values = true)]
    pub sweeps: Option<u64>,
    /// Stop when the relative change of the ELBO stays under this for 3 sweeps [default: 1e-10]; 0 runs all sweeps
    #[arg(long, value_name = "T", value_parser = tolerance, allow_hyphen_values = true)]
    pub tol: Option<f64>,
    /// Of the start of the rows
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// How many threads [default: all]; the result is the same, bit for bit
    #[arg(long, value_name = "T", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Progress on standard error: a bar on a terminal, lines, or none
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto)]
    pub progress: ProgressMode,
    /// No progress, no notes and no summary
    #[arg(long)]
    pub quiet: bool,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// `cavi summary`
#[derive(Args, Debug)]
pub struct SummaryArguments {
    /// The directory of a fit
    pub directory: PathBuf,
    /// A latent variable
    pub variable: Option<String>,
}

/// `cavi export`
#[derive(Args, Debug)]
pub struct ExportArguments {
    /// The directory of a fit
    pub directory: PathBuf,
    /// As tables: VAR.csv of the means, VAR.long.csv of means, standard deviations and quantiles at 5, 50 and 95 %
    #[arg(long, required = true)]
    pub csv: bool,
    /// The directory that the tables are written to [default: DIR/export]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a directory of others
    #[command(flatten)]
    pub force: ForceArguments,
    /// No summary
    #[arg(long)]
    pub quiet: bool,
}

/// `cavi top`
#[derive(Args, Debug)]
pub struct TopArguments {
    /// The directory of a fit
    pub directory: PathBuf,
    /// A latent variable
    #[arg(required_unless_present = "rank")]
    pub variable: Option<String>,
    /// How many entries
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = entries, allow_hyphen_values = true)]
    pub n: usize,
    /// The axis along which entries are listed [default: the longest]
    #[arg(long, value_name = "AXIS")]
    pub over: Option<String>,
    /// In which order: by weight, by lift (how much more frequent than in all), or by FREX (frequent, and there alone)
    #[arg(long, value_enum, value_name = "weight|lift|frex", default_value_t = TopBy::Weight)]
    pub by: TopBy,
    /// What comes first for whom
    #[command(flatten)]
    pub ranking: RankArguments,
}

/// A larger number of threads is taken for a typing mistake.
const MOST_THREADS: u64 = 1024;

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or greater".to_owned())
}

fn positive(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number >= 1);
    number.ok_or_else(|| "expected a whole number, 1 or greater".to_owned())
}

fn entries(text: &str) -> Result<usize, String> {
    positive(text).and_then(|number| usize::try_from(number).map_err(|error| error.to_string()))
}

fn sequences(text: &str) -> Result<usize, String> {
    let number = entries(text).ok().filter(|number| *number <= LONGEST_SEQUENCE);
    number.ok_or_else(|| format!("expected a whole number from 1 to {LONGEST_SEQUENCE}"))
}

fn most_documents(text: &str) -> Result<MostDocuments, String> {
    let expected =
        "expected a share above 0 with a decimal point (`0.5`, at most `1.0`), or a number of documents";
    MostDocuments::parse(text).ok_or_else(|| expected.to_owned())
}

fn precision(text: &str) -> Result<Precision, String> {
    match text {
        "f64" => Ok(Precision::Double),
        "f32" => Ok(Precision::Single),
        _ => Err("expected `f64` or `f32`".to_owned()),
    }
}

fn allocations(text: &str) -> Result<Allocations, String> {
    Allocations::of_word(text).ok_or_else(|| "expected `ordinary`, `means` or `collapsed`".to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    let number = positive(text).ok().filter(|number| *number <= MOST_THREADS);
    let number = number.ok_or_else(|| format!("expected a whole number from 1 to {MOST_THREADS}"))?;
    Ok(number as usize)
}

/// The columns of a page.
fn columns(text: &str) -> Result<Columns, String> {
    match text {
        "1" => Ok(Columns::One),
        "2" => Ok(Columns::Two),
        _ => Err("expected 1 or 2".to_owned()),
    }
}

/// A time in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        Ok(_) | Err(_) => Err("expected seconds, 0 or greater, such as `60` or `0.5`".to_owned()),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        Ok(_) | Err(_) => Err("expected a number, 0 or greater, such as `1e-6`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }
}
