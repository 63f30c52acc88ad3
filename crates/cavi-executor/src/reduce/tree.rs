//! The tree in which the sums of chunks are added up.

use std::ops::Range;

use cavi_numerics::Scratch;
use smallvec::SmallVec;

/// A complete subtree: that of the chunks from `number * 2^level` up to the next one's first.
#[derive(Debug)]
pub(super) struct Subtree {
    level: u8,
    number: u32,
    sum: Vec<f64>,
}

impl Subtree {
    /// That of one chunk.
    pub fn leaf(chunk: usize, values: Vec<f64>) -> Subtree {
        Subtree { level: 0, number: chunk as u32, sum: values }
    }

    /// Whether both have one parent.
    pub fn is_sibling_of(&self, other: &Subtree) -> bool {
        self.level == other.level && self.number ^ 1 == other.number
    }

    /// The parent of both, and memory that is left over.
    pub fn with(self, other: Subtree) -> (Subtree, Vec<f64>) {
        let (mut left, right) = if self.number.is_multiple_of(2) { (self, other) } else { (other, self) };
        add(&mut left.sum, &right.sum);
        (Subtree { level: left.level + 1, number: left.number / 2, sum: left.sum }, right.sum)
    }
}

/// Sums of chunks. Node `i` of a level is node `2 i` of the level below plus node `2 i + 1`; where there is no such chunk, the
/// first alone. Only complete subtrees are held, so that what was added to what depends on the number of chunks and on nothing
/// else: not on the order in which they come, nor on how many states computed them.
#[derive(Debug, Default)]
pub struct Tree {
    held: SmallVec<[Subtree; 8]>,
}

impl Tree {
    /// Subtrees of which no two are siblings.
    pub(super) fn of(held: Vec<Subtree>) -> Tree {
        Tree { held: held.into() }
    }

    /// Level and number of the subtrees that are held once a range of chunks has come, in order of their chunks.
    pub fn whole(chunks: Range<usize>) -> Vec<(u8, u32)> {
        let mut tree = Tree::default();
        chunks.for_each(|chunk| tree.insert(Subtree::leaf(chunk, Vec::new())));
        let mut whole: Vec<(u8, u32)> = tree.held().map(|(level, number, _)| (level, number)).collect();
        whole.sort_unstable_by_key(|(level, number)| u64::from(*number) << level);
        whole
    }

    /// The sum of a chunk. Siblings are added as they meet.
    pub fn push(&mut self, chunk: u32, values: &[f64]) {
        self.insert(Subtree::leaf(chunk as usize, copy(values)));
    }

    /// What is held: level, number and sum of each subtree, for another state to take in.
    pub fn held(&self) -> impl Iterator<Item = (u8, u32, &[f64])> {
        self.held.iter().map(|own| (own.level, own.number, own.sum.as_slice()))
    }

    /// A subtree that another state holds.
    pub fn take_in(&mut self, (level, number, sum): (u8, u32, &[f64])) {
        self.insert(Subtree { level, number, sum: copy(sum) });
    }

    fn insert(&mut self, mut own: Subtree) {
        while let Some(place) = self.held.iter().position(|other| own.is_sibling_of(other)) {
            let (sum, left) = own.with(self.held.swap_remove(place));
            Scratch::keep(left);
            own = sum;
        }
        self.held.push(own);
    }

    /// The sum of all chunks, once they are all there. `None` without one.
    pub fn total(mut self) -> Option<Vec<f64>> {
        // What is left are subtrees of falling size: each is the sibling of all behind it, without the chunks that are not there.
        self.held.sort_unstable_by_key(|own| u64::from(own.number) << own.level);
        let mut rest = self.held.into_iter().rev();
        let mut total = rest.next()?.sum;
        for mut left in rest {
            add(&mut left.sum, &total);
            Scratch::keep(std::mem::replace(&mut total, left.sum));
        }
        Some(total)
    }
}

fn add(left: &mut [f64], right: &[f64]) {
    left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
}

/// A copy that another thread may finish, in memory that this one keeps.
fn copy(values: &[f64]) -> Vec<f64> {
    let mut own = Scratch::room(values.len());
    own.clear();
    own.extend_from_slice(values);
    own
}
