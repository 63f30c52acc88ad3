//! How the positions of an axis are cut into chunks.

use std::ops::Range;

use cavi_algebra::AxisId;

/// The chunks of an axis: runs of positions of one length, the last one perhaps shorter. They follow from the program and the
/// sizes of all its data, never from who computes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The axis; `None` for rows over several axes at once, which are not cut.
    pub axis: Option<AxisId>,
    /// How many positions it has.
    pub size: usize,
    /// How many of them are a chunk.
    pub length: usize,
}

impl Grid {
    /// The blocks that [`cavi_numerics::reduce`] sums pairwise.
    pub const BLOCK: usize = 128;

    /// All positions as one chunk.
    pub fn whole(axis: Option<AxisId>, size: usize) -> Grid {
        Grid { axis, size, length: size.max(1) }
    }

    /// Chunks of `BLOCK * 2^power` positions. A sum of one value a position that [`cavi_numerics::reduce::sum`] takes of each
    /// chunk has the same bits for every power: a chunk is a subtree of its tree of blocks.
    pub fn of_blocks(axis: AxisId, size: usize, power: u32) -> Grid {
        Grid { axis: Some(axis), size, length: Grid::BLOCK << power }
    }

    /// The number of chunks: one, with no position, where there is none.
    pub fn chunks(&self) -> u32 {
        let chunks = self.size.div_ceil(self.length).max(1);
        u32::try_from(chunks).expect("a grid has fewer than 2^32 chunks")
    }

    /// The positions of a chunk.
    pub fn chunk(&self, number: u32) -> Range<usize> {
        let start = number as usize * self.length;
        start.min(self.size)..(start + self.length).min(self.size)
    }
}
