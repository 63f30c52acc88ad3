//! The arguments of `cavi simulate`.

use std::path::PathBuf;

use clap::Args;

use super::{ForceArguments, InputArguments, whole};

/// What `cavi simulate --help` says at its end.
const SIMULATED: &str = "\
Of a program, latents are drawn from their priors and data given these: every statement `x ~ F(...)`, one after another. Axes need
sizes, by `--set doc=200` (of a group of a ragged axis `--set 'gene[rna]=50'`), by the text, or by data. Data that are given are not
drawn: covariates, index data, weights. A prior that is Flat has no draws. Rows of counts under Multinomial have the total that the
program states, else that of --total, else 100.

Of the directory of a fit, latents are drawn from q and data given these, row by row with the totals of the data.

The directory gets data/ with a file for each array that `cavi fit` reads (the line to type is printed), latents/ with what they were
drawn from, axes/ with labels, model.cavi and simulated.json. The same seed gives the same draws.";

/// `cavi simulate`
#[derive(Args, Debug)]
#[command(after_long_help = SIMULATED)]
pub struct SimulateArguments {
    /// A .cavi file, the name of a built-in program, or the directory of a fit
    pub model: String,
    /// What is not drawn; of a fit its own data are read again
    #[command(flatten)]
    pub inputs: InputArguments,
    /// The total of the rows of data under Multinomial [default: as the program says, else 100; of a fit those of its data]
    #[arg(long, value_name = "NAME=N")]
    pub total: Vec<String>,
    /// Of the draws [default: 0]
    #[arg(long, value_name = "S", value_parser = whole, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// The directory that is written
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace a directory of others
    #[command(flatten)]
    pub force: ForceArguments,
    /// Print simulated.json on standard output
    #[arg(long)]
    pub json: bool,
}
