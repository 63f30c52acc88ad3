//! `cavi demo`

use std::path::PathBuf;

use clap::Args;

use super::{ForceArguments, PlotArguments, RunArguments};

/// `cavi demo`
#[derive(Args, Debug)]
pub struct DemoArguments {
    /// The built-in program
    pub name: String,
    /// Also write the fit to a directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace a directory of others
    #[command(flatten)]
    pub force: ForceArguments,
    /// A constant or the size of an axis
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// How to run it
    #[command(flatten)]
    pub run: RunArguments,
    /// Also write a page about the fit: DIR/report.html with --out, else NAME.html
    #[arg(long)]
    pub report: bool,
    /// Charts as files, with --out
    #[command(flatten)]
    pub plots: PlotArguments,
}
