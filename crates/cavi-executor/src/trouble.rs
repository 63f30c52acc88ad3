//! Numerical failures of an update while a program runs.

use std::fmt;

use cavi_algebra::BlockId;

/// A copy of a block that has no update, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// The block.
    pub block: BlockId,
    /// The copy: a position for each letter that numbers the copies of the block, in its order. Empty where all copies are meant.
    pub copy: Vec<usize>,
    /// What is wrong, in words: `the rate is 0, and must be greater than 0`.
    pub reason: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "block {}", self.block.0)?;
        if !self.copy.is_empty() {
            write!(f, ", copy {:?}", self.copy)?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Trouble {}
