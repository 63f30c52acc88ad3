//! Which updates raise the bound?
//!
//! In comes a resolved model; out go its [`Equations`](cavi_algebra::Equations): blocks of q with their natural parameters, sites with their
//! allocations, the evidence lower bound. This crate knows no family by name and no data.

mod absent;
mod advice;
mod ascent;
mod blocks;
mod bounds;
mod cases;
pub mod collapsed;
mod conjugate;
mod contraction;
pub mod copy;
mod derive;
mod division;
mod elbo;
mod expect;
mod explain;
mod implicit;
mod joint;
mod levels;
mod logs;
mod lost_starts;
mod means;
mod order;
mod rotations;
mod separate;
mod shares;
mod switching;
pub mod warmup;

pub use derive::{Derivation, derive};
pub use explain::{describe_block, flat, in_words};
pub use joint::multiplicities_of;
pub use lost_starts::{lost_starts_by, start_is_lost};
pub use shares::shares_by_value;
