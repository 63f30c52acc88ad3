//! Numerical failures of an update while a program runs.

use std::fmt;

use cavi_algebra::BlockId;
use cavi_numerics::lbfgs::{End, Found};

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

/// What trouble is called that another shard has.
const ELSEWHERE: &str = "it has no update at positions of another shard";
/// How the trouble of shards that have lost each other begins.
const APART: &str = "the shards of the data have come apart: ";

impl Trouble {
    /// That of a point whose search has no direction where it begins: such a point is at no maximum that anything knows of. No one
    /// copy is to blame. An objective that is infinite is left to later sweeps, and is said of the bound.
    pub(crate) fn undefined(block: BlockId, found: &Found) -> Option<Trouble> {
        if found.end != End::Undefined || found.value.is_infinite() {
            return None;
        }
        let what = if found.value.is_nan() { "its objective" } else { "the derivative of its objective" };
        Some(Trouble { block, copy: Vec::new(), reason: format!("{what} is no number where it starts") })
    }

    /// That another shard of the data has trouble with a block, or that the shards have come apart, with the reason.
    pub(crate) fn of_another(block: BlockId, apart: Option<String>) -> Trouble {
        let reason = apart.map_or_else(|| ELSEWHERE.to_owned(), |why| format!("{APART}{why}"));
        Trouble { block, copy: Vec::new(), reason }
    }

    /// Whether the cause lies with another shard.
    pub(crate) fn is_of_another(&self) -> bool {
        self.reason == ELSEWHERE || self.reason.starts_with(APART)
    }

    /// As bytes, for other processes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let copy = self.copy.iter().map(|position| *position as u64);
        let numbers = [self.block.0 as u64, self.copy.len() as u64].into_iter().chain(copy);
        numbers.flat_map(u64::to_le_bytes).chain(self.reason.bytes()).collect()
    }

    /// From bytes; `None` of others.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Trouble> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let number = |place: usize| numbers.get(place).map(|own| u64::from_le_bytes(*own) as usize);
        let (block, length) = (number(0)?, number(1)?);
        let copy = (0..length).map(|place| number(2 + place)).collect::<Option<_>>()?;
        let reason = String::from_utf8(bytes.get(8 * (2 + length)..)?.to_vec()).ok()?;
        Some(Trouble { block: BlockId::from(block), copy, reason })
    }
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
