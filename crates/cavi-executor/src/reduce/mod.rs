//! Sums over the positions of an axis whose parts are held apart: one place in which sums of parts become sums of all.
//!
//! An axis is cut into *shards*, ranges of its positions, each with its own run over its own data. Every sum over the axis is taken by
//! each shard over its positions, and handed to a [`Reducer`], which gives back the sum of all. It may be one of two:
//!
//! - All shards come to each sum together ([`Reducer::in_step`]): then the runs are one, and each update is that of the whole data.
//! - One shard moves at a time, and the reducer remembers what the others had when they last came by. Then each update of what all
//!   share is exact for the factors of q as they are, since those of the other shards have not moved since: memoized variational
//!   inference.
//!
//! The order of additions follows from the number of shards alone ([`Tree`]), so that the bits do not depend on who holds which.
//!
//! # Source
//! M. C. Hughes and E. B. Sudderth, "Memoized online variational inference for Dirichlet process mixture models", NIPS 2013.

mod ballot;
mod exchange;
mod meeting;
mod memory;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

use cavi_numerics::Scratch;

pub use ballot::Ballot;
pub use exchange::{Exchange, all_bytes, of_first};
pub(crate) use meeting::{FEW, HEAD};
pub use meeting::{Meeting, Member, held_by};
pub use memory::{Memory, Visit};
pub use tree::Tree;

/// Which sum is asked for. Shards that ask for different ones at a time have come apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What is summed.
    pub what: &'static str,
    /// Of which block, site or step.
    pub number: usize,
    /// Which of several sums of it.
    pub part: usize,
}

/// Why a sum is not to be had: the shards came apart, or one was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt(pub String);

/// Brings together what the shards of an axis have.
pub trait Reducer: Send + Sync {
    /// Puts the sums over all shards in the place of those of this one.
    ///
    /// # Errors
    /// If the sum is not to be had; then `values` may be anything.
    fn sum(&mut self, key: Key, values: &mut [f64]) -> Result<(), Halt>;

    /// The same of values that are given away, and may be lent to all shards of the process when they come back.
    ///
    /// # Errors
    /// If the sum is not to be had.
    fn total(&mut self, key: Key, mut values: Vec<f64>) -> Result<Arc<Vec<f64>>, Halt> {
        self.sum(key, &mut values)?;
        Ok(Arc::new(values))
    }

    /// Memory for so many values that are going to be summed, with what it held; it may have less room.
    fn room(&mut self, length: usize) -> Vec<f64> {
        Scratch::room(length)
    }

    /// Keeps memory that such values had.
    fn keep(&mut self, values: Vec<f64>) {
        Scratch::keep(values);
    }

    /// Joins what all shards found.
    ///
    /// # Errors
    /// If not all come to this vote.
    fn vote(&mut self, key: Key, ballot: &mut Ballot) -> Result<(), Halt>;

    /// Whether all shards come to each sum together. If not, what one shard alone asks for keeps nobody waiting.
    fn in_step(&self) -> bool;
}
