//! The arguments that say what a sweep does: those of a fit, and of the plan of a fit.

use cavi_syntax::ast::Allocations;
use clap::Args;

use super::allocations;

/// What a sweep does, and what comes before the first.
#[derive(Args, Clone, Debug)]
pub struct RuleArguments {
    /// Replaces the `sweep` line of the program: 'w, (theta, beta) repeat 3'
    #[arg(long, value_name = "ITEMS")]
    pub schedule: Option<String>,
    /// What allocations are proportional to [default: as the program says, else ordinary]
    #[arg(long, value_parser = allocations, value_name = "ordinary|means|collapsed")]
    pub allocations: Option<Allocations>,
    /// Replaces the `warmup` lines of the program: 'means 60, collapsed 60', 'shapes 0.6 over 40, means 20'
    #[arg(long, value_name = "TEXT|none")]
    pub warmup: Option<String>,
    /// Replaces the `batch` line of the program: passes over shards of an axis before the sweeps, as `doc` or `doc=16`
    #[arg(long, value_name = "AXIS[=SHARDS]|none")]
    pub batch: Option<String>,
    /// Cuts this axis into shards that move together, 16 by default: what `cavi-mpi` spreads over processes; `auto` is the largest axis
    /// that can be cut
    #[arg(long, value_name = "AXIS[=SHARDS]|auto")]
    pub shards: Option<String>,
}
