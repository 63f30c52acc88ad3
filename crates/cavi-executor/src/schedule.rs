//! A sweep: which blocks are updated, in which order, and which share their allocations.

pub(crate) mod walk;

use cavi_algebra::{BlockId, Equations};
use smallvec::SmallVec;

/// The most steps of L-BFGS that one visit to a point without a closed form takes.
pub const VISIT: usize = 20;

/// Some blocks; more than these few are listed on the heap.
pub type Blocks = SmallVec<[BlockId; 16]>;

/// A copy of so many numbers takes no time that could be measured, next to any sweep that moves them.
pub(crate) const LIGHT: usize = 1 << 17;

/// The items of a sweep, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The items.
    pub items: Vec<Item>,
}

/// One item of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What is done.
    pub step: Step,
    /// How often; allocations are refreshed each time, but for an item inside a group.
    pub repeat: u64,
    /// Whether each block of it is first made the optimum of its own statements alone.
    pub reset: bool,
}

/// What an item does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Updates all copies of a block.
    Block(BlockId),
    /// Updates its members in order from one refresh of the allocations. Nothing inside it refreshes them.
    Group(Vec<Item>),
    /// Runs its items one after another, each with its own refresh.
    Sequence(Vec<Item>),
}

impl Schedule {
    /// The default sweep of a program: one block after another.
    pub fn of(equations: &Equations) -> Schedule {
        Schedule { items: equations.sweep.iter().copied().map(Item::block).collect() }
    }

    /// The blocks that the schedule updates, in order of their first visit.
    pub fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::new();
        for block in self.items.iter().flat_map(Item::blocks) {
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        blocks
    }
}

impl Schedule {
    /// The blocks that are reset in it.
    pub fn reset_blocks(&self) -> Vec<BlockId> {
        self.items.iter().flat_map(Item::reset_blocks).collect()
    }
}

impl Item {
    /// A block, once.
    pub fn block(block: BlockId) -> Item {
        Item::once(Step::Block(block))
    }

    /// A group, once.
    pub fn group(items: Vec<Item>) -> Item {
        Item::once(Step::Group(items))
    }

    /// A sequence, once.
    pub fn sequence(items: Vec<Item>) -> Item {
        Item::once(Step::Sequence(items))
    }

    /// The item, so many times.
    pub fn repeated(self, repeat: u64) -> Item {
        Item { repeat, ..self }
    }

    /// The blocks that are reset in it.
    fn reset_blocks(&self) -> Vec<BlockId> {
        match &self.step {
            _ if self.reset => self.blocks().to_vec(),
            Step::Block(_) => Vec::new(),
            Step::Group(items) | Step::Sequence(items) => items.iter().flat_map(Item::reset_blocks).collect(),
        }
    }

    /// The item, its blocks reset first.
    pub fn reset(self) -> Item {
        Item { reset: true, ..self }
    }

    /// The blocks that the item updates, in order of their first visit.
    pub fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::new();
        self.visit(&mut |block| {
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        });
        blocks
    }

    /// How many times it updates a block, repetitions included; as many as can be counted.
    pub fn updates(&self) -> u64 {
        let once = match &self.step {
            Step::Block(_) => 1,
            Step::Group(items) | Step::Sequence(items) => {
                items.iter().map(Item::updates).fold(0, u64::saturating_add)
            }
        };
        once.saturating_mul(self.repeat)
    }

    /// The blocks that it updates, in order.
    fn visit(&self, see: &mut impl FnMut(BlockId)) {
        match &self.step {
            Step::Block(block) => see(*block),
            Step::Group(items) | Step::Sequence(items) => items.iter().for_each(|item| item.visit(see)),
        }
    }

    fn once(step: Step) -> Item {
        Item { step, repeat: 1, reset: false }
    }
}
