//! What is the number, fast?
//!
//! Slices of numbers come in, slices of numbers go out. This crate never knows a model, a family, a letter's name or what
//! a file holds; it knows formulas, memory and instruction sets. It is the only crate with threads and the only one with
//! `unsafe`.
//!
//! **Same bits.** Every result depends on the arguments and on [`instruction_set`] alone: never on the number of
//! threads, on timings or on cache sizes. Work is cut into chunks fixed by the arguments' sizes, and partial results
//! are combined in a fixed order.

pub mod special;

pub mod kernels;

pub mod lbfgs;

pub mod linalg;

pub mod newton;

pub mod squarem;

pub mod starts;

pub mod reduce;

pub mod facts;

pub mod pages;

mod allocator;
mod assignment;
mod instruction_set;
mod numbers;
mod overflow;
mod scratch;
mod threads;

pub use allocator::{CacheAligned, heap_held, heap_peak};
pub use assignment::assignment;
pub use instruction_set::{InstructionSet, instruction_set};
pub use numbers::{MappedFile, Number, Numbers};
pub use overflow::{overflow_left, overflow_peak, overflow_to};
pub use scratch::{Kept, KeptScratch, Scratch, release_scratch};
pub use threads::Threads;
