//! The arguments of `cavi pack`.

use std::path::PathBuf;

use clap::Args;

use super::InputArguments;

/// What `cavi pack --help` says at its end.
const PACKED: &str = "\
The file holds every array that is given, at the positions of the program's axes, with the labels of these; it is read by the array's
name, `cavi fit MODEL --data n=n.cavi-data`, or as `n=n.cavi-data:m` by another. It is mapped and not read: the system brings in what a pass
needs and takes it back when memory is short, so that data may be larger than memory, and --memory-limit does not count them. A fit has the
same bits from it as from the files that it was packed from.

It takes the options of `fit` for the reading of files. Labels that --labels gives are packed with the data. Pack together what shares
axes. Data along ragged axes are not packed.";

/// `cavi pack`
#[derive(Args, Debug)]
#[command(after_long_help = PACKED)]
pub struct PackArguments {
    /// A .cavi file, or the name of a built-in program, which says what the axes of the data are
    pub model: String,
    /// What is packed
    #[command(flatten)]
    pub inputs: InputArguments,
    /// The file that is written, whose name ends in .cavi-data; one that has its name is replaced
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Print only warnings and errors
    #[arg(long)]
    pub quiet: bool,
}
