//! How do the stages connect?
//!
//! [`compile()`] goes from text to equations, [`bind`] puts data to a program, [`prepare()`] restates both as they are run, [`fit()`] runs
//! them, and [`heldout`] says how well a fit predicts data that it was not given. [`session`] has the whole journey as methods: what the
//! command line and every other client call. Everything happens in memory but what [`directory`], [`export`], [`init`] and [`posterior`]
//! read and write; this crate never prints, exits, handles signals or touches a global thread pool.
//!
//! # Example
//! A fit from arrays in memory.
//! ```
//! use cavi::bind::{ArrayInput, Inputs};
//! use cavi::{Control, Settings};
//!
//! let text = "axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 10)\nx[n] ~ Normal(m, sd = 1)\n";
//! let inputs = Inputs { data: vec![ArrayInput::dense("x", &[3], vec![1.0, 2.0, 3.0])?], ..Inputs::default() };
//! let (program, _warnings) = cavi::session::open(text, "mean.cavi", &inputs)?;
//! let problem = program.bind(&inputs)?;
//! let fit = problem.fit(&Settings::default(), &mut |_| Control::Continue)?;
//! let mean = problem.posterior(&fit).into_iter().find(|array| array.name == "m.mean").expect("m has a mean");
//! assert!((mean.values[0] - 6.0 / 3.01).abs() < 1e-12);
//! # Ok::<(), cavi::Error>(())
//! ```

mod accelerate;
mod allocations;
mod batch;
pub mod bind;
pub mod calibrate;
pub mod check_fit;
pub mod checkpoint;
pub mod choose;
pub mod codes;
pub mod column;
pub mod compare;
pub mod compile;
pub mod components;
pub mod data_files;
mod dimensions;
pub mod directory;
mod error;
pub mod exclusive;
pub mod explained;
pub mod export;
pub mod init;
pub mod posterior;

pub mod findings;
pub mod fit;
pub mod fixed;
pub mod heldout;
pub mod impute;
pub mod intervals;
mod levels;
mod locations;
pub mod look;
pub mod matching;
pub mod means;
mod memory;
mod notation;
pub mod pack;
mod points;
pub mod prepare;
pub mod project;
mod python;
pub mod rank;
mod references;
pub mod reopen;
mod row_totals;
mod rows;
pub mod sample;
pub mod schedule;
mod seeds;
pub mod session;
mod shards;
pub mod show;
mod signs;
pub mod simulate;
mod stack;
pub mod start;
mod streams;
mod stuck;
pub mod summary;
mod together;
pub mod verified;
pub mod warmup;
mod writer;

pub use batch::{Batch, SHARDS};
pub use cavi_executor::reduce::{Exchange, all_bytes};
pub use cavi_executor::shard::Cluster;
pub use cavi_executor::{Parameters, Precision, Schedule};
pub use cavi_model::Set;
pub use cavi_numerics::CacheAligned;
pub use cavi_verification::Verified;
pub use compile::{Checked, Compiled, Source, compile, compile_with};
pub use error::{Error, Kind};
pub use fit::{Control, Fit, Glance, Glances, Progress, Run, Settings, TraceRow, fit, plan};
pub use prepare::{Problem, prepare};
pub use shards::{Shards, agree_on_instructions};
pub use show::{Columns, Format, Level};
