//! The program `cavi`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cavi_cli::main()
}
