//! In what order, with which kernels, in which memory; and what is the posterior, given these data?

mod coordinate;
pub mod data;
pub mod initialise;
pub mod interpret;
pub mod layout;
pub mod observed;
pub mod plan;
pub mod reduce;
pub mod run;
pub mod schedule;
pub mod shard;
pub mod trouble;

pub use coordinate::{normalise, simplexes};
pub use data::{Bound, BoundArray, BoundAxis};
pub use initialise::start;
pub use interpret::Interpreter;
pub use layout::{Layout, Parameters};
pub use plan::{Plan, Precision, Unplanned};
pub use run::{Digits, Executor, Swept, is_of_switches};
pub use schedule::{Item, Schedule, Step};
pub use shard::{Ground, Runner, Sharded, Spread};
pub use trouble::Trouble;
