//! Loops over slices, one kernel a file. A kernel knows offsets and numbers, never a model.

mod vector;

pub mod pattern;

mod outline;
pub use outline::Outline;

pub mod log_sum;

pub mod contract;

pub mod masked;

pub mod paired;

pub use contract::{Operand, Output, Step, contract};
pub use log_sum::{Factor, LogSum, Outputs, Scratch, Totals, log_sum};
pub use pattern::{Pattern, by_rows};
