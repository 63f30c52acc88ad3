//! Sums over the positions of an axis, by chunks: one place in which sums of chunks become sums of all, whoever computed them.
//!
//! A [`Grid`] cuts the positions, each chunk is summed by itself, and a [`Tree`] adds the chunks. A [`Reducer`] says which
//! chunks a state computes, and brings together what several states have. The order of the additions follows from the grid
//! alone, so that one state has the bits of many. [`Local`] is the state that computes all chunks.
//!
//! All states of a run ask for the same sums in the same order: a value that one state has alone never decides whether it asks.
//! What it would decide is voted on with a [`Ballot`].

mod ballot;
mod grid;
#[cfg(test)]
mod tests;
mod tree;

use std::convert::Infallible;
use std::ops::Range;

pub use ballot::Ballot;
use cavi_numerics::Scratch;
pub use grid::Grid;
pub use tree::Tree;

/// Which sum is asked for. States that ask for different ones have come apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// What is summed.
    pub what: &'static str,
    /// Of which block, site or step.
    pub number: usize,
}

/// Brings together the sums of chunks.
pub trait Reducer {
    /// Why a sum is not to be had.
    type Halt;

    /// The chunks that this state computes, perhaps none. Every chunk is computed by one state.
    fn own(&self, grid: &Grid) -> Range<u32>;

    /// Puts the sums over all chunks into `out`, the same bits in every state, from the trees over the chunks of this one. Votes
    /// go with them.
    ///
    /// # Errors
    /// If the states do not all come to this sum.
    fn sum(
        &mut self,
        key: Key,
        trees: &mut [Tree],
        out: &mut [&mut [f64]],
        ballot: &mut Ballot,
    ) -> Result<(), Self::Halt>;

    /// Votes alone.
    ///
    /// # Errors
    /// If the states do not all come to this vote.
    fn vote(&mut self, key: Key, ballot: &mut Ballot) -> Result<(), Self::Halt> {
        self.sum(key, &mut [], &mut [], ballot)
    }
}

/// The state that computes all chunks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

impl Reducer for Local {
    type Halt = Infallible;

    fn own(&self, grid: &Grid) -> Range<u32> {
        0..grid.chunks()
    }

    fn sum(
        &mut self,
        _: Key,
        trees: &mut [Tree],
        out: &mut [&mut [f64]],
        _: &mut Ballot,
    ) -> Result<(), Infallible> {
        for (tree, out) in trees.iter_mut().zip(out) {
            if let Some(total) = std::mem::take(tree).total() {
                out.copy_from_slice(&total);
            }
        }
        Ok(())
    }
}

/// The sums over all positions of what `chunk` has for a run of them.
///
/// # Errors
/// Those of the reducer.
pub fn totals<R: Reducer, const N: usize>(
    reducer: &mut R,
    key: Key,
    grid: &Grid,
    mut chunk: impl FnMut(Range<usize>) -> [f64; N],
) -> Result<[f64; N], R::Halt> {
    let mut tree = Tree::default();
    for number in reducer.own(grid) {
        tree.push(number, Scratch::of(&chunk(grid.chunk(number))));
    }
    let mut out = [0.0; N];
    reducer.sum(key, &mut [tree], &mut [&mut out], &mut Ballot::default())?;
    Ok(out)
}
