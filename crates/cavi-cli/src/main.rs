//! The program `cavi`.

use std::process::ExitCode;

/// Kernels read and write arrays by whole cache lines, so that arrays have to begin at one.
#[global_allocator]
static ALLOCATOR: cavi::CacheAligned = cavi::CacheAligned;

fn main() -> ExitCode {
    cavi_cli::main()
}
