//! Votes: facts about all chunks that choose a branch, or end a run.

/// What the states that compute chunks found, each of its own; then of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ballot {
    /// Bits that one state set.
    pub any: u64,
    /// Bits that no state cleared.
    pub all: u64,
    /// The largest of the numbers: NaN if one is.
    pub max: f64,
    /// The first of the positions: that of the lowest row.
    pub first: Option<u64>,
}

impl Default for Ballot {
    /// Of a state that has found nothing.
    fn default() -> Ballot {
        Ballot { any: 0, all: u64::MAX, max: f64::NEG_INFINITY, first: None }
    }
}

impl Ballot {
    /// Of a state that asks whether any found it.
    pub fn any(found: bool) -> Ballot {
        Ballot { any: u64::from(found), ..Ballot::default() }
    }

    /// Takes in what another state found.
    pub fn join(&mut self, other: &Ballot) {
        self.any |= other.any;
        self.all &= other.all;
        // Once it is no number, it stays none.
        self.max = if self.max >= other.max || self.max.is_nan() { self.max } else { other.max };
        self.first = match (self.first, other.first) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
    }
}
