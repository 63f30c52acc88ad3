//! The tree in which the sums of chunks are added up.

use cavi_numerics::Scratch;
use smallvec::SmallVec;

/// A complete subtree: that of the chunks from `number * 2^level` up to the next one's first.
#[derive(Debug)]
struct Subtree {
    level: u8,
    number: u32,
    sum: Scratch,
}

/// Sums of chunks. Node `i` of a level is node `2 i` of the level below plus node `2 i + 1`; where there is no such chunk, the
/// first alone. Only complete subtrees are held, so that what was added to what depends on the number of chunks and on nothing
/// else: not on the order in which they come, nor on how many states computed them.
#[derive(Debug, Default)]
pub struct Tree {
    held: SmallVec<[Subtree; 8]>,
}

impl Tree {
    /// The sum of a chunk. Siblings are added as they meet.
    pub fn push(&mut self, chunk: u32, sum: Scratch) {
        self.insert(Subtree { level: 0, number: chunk, sum });
    }

    /// What is held: level, number and sum of each subtree, for another state to take in.
    pub fn held(&self) -> impl Iterator<Item = (u8, u32, &[f64])> {
        self.held.iter().map(|own| (own.level, own.number, &*own.sum))
    }

    /// A subtree that another state holds.
    pub fn take_in(&mut self, (level, number, sum): (u8, u32, &[f64])) {
        self.insert(Subtree { level, number, sum: Scratch::of(sum) });
    }

    fn insert(&mut self, mut own: Subtree) {
        let sibling =
            |own: &Subtree, other: &Subtree| own.level == other.level && own.number ^ 1 == other.number;
        while let Some(place) = self.held.iter().position(|other| sibling(&own, other)) {
            let other = self.held.swap_remove(place);
            let (mut left, right) = if own.number % 2 == 0 { (own, other) } else { (other, own) };
            add(&mut left.sum, &right.sum);
            own = Subtree { level: left.level + 1, number: left.number / 2, sum: left.sum };
        }
        self.held.push(own);
    }

    /// The sum of all chunks, once they are all there. `None` without one.
    pub fn total(mut self) -> Option<Scratch> {
        // What is left are subtrees of falling size: each is the sibling of all behind it, without the chunks that are not there.
        self.held.sort_unstable_by_key(|own| u64::from(own.number) << own.level);
        let mut rest = self.held.into_iter().rev();
        let mut total = rest.next()?.sum;
        for mut left in rest {
            add(&mut left.sum, &total);
            total = left.sum;
        }
        Some(total)
    }
}

fn add(left: &mut [f64], right: &[f64]) {
    left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
}
