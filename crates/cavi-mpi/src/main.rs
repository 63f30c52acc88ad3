//! How does one fit run on several machines?
//!
//! In come the arguments of `cavi`, on every rank; the first rank prints and writes, and all hold shards of the data. This crate knows messages
//! and nothing of what is sent: it is the [`Exchange`](cavi::Exchange) of a fit.

mod world;

use std::process::ExitCode;
use std::sync::Arc;

use mpi::Threading;

use world::World;

/// Kernels read and write arrays by whole cache lines, so that arrays have to begin at one.
#[global_allocator]
static ALLOCATOR: cavi::CacheAligned = cavi::CacheAligned;

fn main() -> ExitCode {
    // Sums are brought together by whichever thread comes last, one at a time.
    let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Serialized) else {
        eprintln!("error: MPI could not be started");
        return ExitCode::from(1);
    };
    if threading < Threading::Serialized {
        eprintln!("error: this MPI does not let several threads take turns (MPI_THREAD_SERIALIZED)");
        return ExitCode::from(1);
    }
    let status = cavi_cli::run_among(std::env::args_os(), Arc::new(World::new(&universe)));
    drop(universe);
    ExitCode::from(status)
}
