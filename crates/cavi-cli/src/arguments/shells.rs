//! What shells and `man` are given.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// What `cavi completions --help` says.
const INSTALL: &str = "\
bash: cavi completions bash > ~/.local/share/bash-completion/completions/cavi

zsh: cavi completions zsh > a folder of $fpath, as _cavi

fish: cavi completions fish > ~/.config/fish/completions/cavi.fish";

/// `cavi completions`
#[derive(Args, Debug)]
#[command(after_long_help = INSTALL)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `cavi man`
#[derive(Args, Debug)]
pub struct ManArguments {
    /// The directory that the pages are written to, `cavi.1` and one a command, such as `cavi-fit.1`
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}
