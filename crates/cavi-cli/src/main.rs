//! The program `cavi`.

use std::process::ExitCode;

/// Kernels read and write arrays by whole lines.
#[global_allocator]
static ALLOCATOR: cavi::CacheAligned = cavi::CacheAligned;

fn main() -> ExitCode {
    cavi_cli::main()
}
