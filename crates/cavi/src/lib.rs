//! How do the stages connect?
//!
//! [`compile`] goes from text to equations, [`bind`] puts data to a program, [`fit()`] runs it, [`heldout`] says how well it
//! predicts data that it was not given. Everything happens in
//! memory: this crate never prints, exits, handles signals or touches a global thread pool. The command line is one
//! client of it.

mod accelerate;
mod apart;
pub mod bind;
pub mod entries;
pub mod init;
pub mod posterior;

pub mod findings;
pub mod fit;
pub mod heldout;
pub mod means;
mod memory;
mod modes;
mod origin;
pub mod pipeline;
mod points;
pub mod schedule;
pub mod show;
pub mod start;
mod stuck;
pub mod warmup;

pub use cavi_executor::{Precision, Schedule};
pub use cavi_model::Set;
pub use cavi_numerics::CacheAligned;
pub use fit::{Control, Fit, FitError, Progress, Run, Settings, TraceRow, fit, plan};
pub use pipeline::{Compiled, compile, compile_with};
pub use show::Format;
