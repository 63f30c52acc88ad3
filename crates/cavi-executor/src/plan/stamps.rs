//! When each value of a plan was last worked out, and whether it still is what it follows from.
//!
//! Every move of a block and every pass over entries has a number of its own, greater than all before it. A value has the number of
//! the newest thing that it follows from, so that it is current as long as nothing that it follows from has a greater one. A run
//! keeps these stamps beside its values, and the forecast of its time keeps them alone.

use cavi_algebra::BlockId;

use crate::plan::Plan;
use crate::plan::tensor::{NodeId, Operation, Source};

/// The stamps of a plan's nodes and blocks.
#[derive(Clone, Debug)]
pub struct Stamps {
    clock: u64,
    /// For each node; 0 before it was worked out.
    pub nodes: Vec<u64>,
    /// For each block, when it last moved.
    pub blocks: Vec<u64>,
    /// Of a held node, the stamp that its source had when it was read.
    held: Vec<u64>,
    /// In the run of a shard, the nodes whose values others have parts of; else empty.
    joint: Vec<bool>,
    /// When the others last may have moved.
    others: u64,
}

/// What is to be done before a node is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing: it is given, or held since the last refresh.
    Nothing,
    /// It is to be held for the first time.
    Hold,
    /// It has the newest state that it follows from, as long as it has been kept.
    Current(u64),
    /// It is to be worked out for this state.
    Outdated(u64),
}

impl Stamps {
    /// Before the first sweep.
    pub fn new(plan: &Plan) -> Stamps {
        let nodes = plan.nodes.len();
        Stamps {
            clock: 1,
            nodes: vec![0; nodes],
            blocks: vec![1; plan.blocks.len()],
            held: vec![0; nodes],
            joint: Vec::new(),
            others: 0,
        }
    }

    /// Of a run in which others have parts of the values of some nodes.
    pub fn joint(plan: &Plan, joint: Vec<bool>) -> Stamps {
        Stamps { joint, ..Stamps::new(plan) }
    }

    /// Notes that what others have parts of may have changed.
    pub fn others_moved(&mut self) {
        self.others = self.tick();
    }

    /// A number greater than all before it.
    pub fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Notes that a block has moved.
    pub fn touch(&mut self, block: BlockId) {
        self.blocks[block.index()] = self.tick();
    }

    /// When the newest thing that a node follows from last changed.
    pub fn newest(&self, plan: &Plan, id: NodeId) -> u64 {
        let node = &plan.nodes[id.index()];
        match node.source() {
            Source::Given => 1,
            Source::Refresh => self.nodes[id.index()],
            Source::Block(block) => self.blocks[block.index()],
            Source::Nodes => {
                let newest = self.newest_of(plan, node.reads());
                if self.joint.get(id.index()) == Some(&true) { newest.max(self.others) } else { newest }
            }
        }
    }

    /// The same of several nodes.
    pub fn newest_of(&self, plan: &Plan, nodes: impl IntoIterator<Item = NodeId>) -> u64 {
        nodes.into_iter().map(|node| self.newest(plan, node)).fold(1, u64::max)
    }

    /// What is to be done before a node is read.
    pub fn due(&self, plan: &Plan, id: NodeId) -> Due {
        let own = self.nodes[id.index()];
        match plan.nodes[id.index()].source() {
            // Before the first refresh; what is no held node has nothing to hold.
            Source::Refresh if own == 0 => Due::Hold,
            Source::Given | Source::Refresh => Due::Nothing,
            Source::Block(_) | Source::Nodes => match self.newest(plan, id) {
                newest if own >= newest => Due::Current(newest),
                newest => Due::Outdated(newest),
            },
        }
    }

    /// What a held node holds, where that has changed since it was read, or `None`; the source is up to date. The node counts as
    /// read: the values are held from now on, since what has seen all moves since the source's last has not seen them.
    pub fn hold(&mut self, plan: &Plan, id: NodeId) -> Option<NodeId> {
        let Operation::Held(from) = plan.nodes[id.index()].operation else { return None };
        let source = self.nodes[from.index()];
        if std::mem::replace(&mut self.held[id.index()], source) == source {
            return None;
        }
        self.nodes[id.index()] = self.tick();
        Some(from)
    }
}

/// What the last pass over the entries of a site took.
#[derive(Clone, Debug, Default)]
pub struct LastPass {
    /// The state of the inputs.
    stamp: u64,
    /// The blocks whose counts it took.
    targets: Vec<BlockId>,
    /// The sum of weight times log partition, if it was taken.
    total: Option<f64>,
}

impl LastPass {
    /// Whether it serves these blocks, and the bound if it wants a total, at this state of the inputs.
    pub fn serves(&self, newest: u64, targets: &[BlockId], wants_total: bool) -> bool {
        self.stamp >= newest
            && (self.total.is_some() || !wants_total)
            && targets.iter().all(|target| self.targets.contains(target))
    }

    /// Notes another pass. The total of the last one stays where the inputs have not moved since.
    pub fn took(&mut self, newest: u64, targets: &[BlockId], total: Option<f64>) {
        self.total = total.or(self.total.filter(|_| self.stamp >= newest));
        self.stamp = newest;
        self.targets.clear();
        self.targets.extend_from_slice(targets);
    }

    /// The total, if it is known.
    pub fn total(&self) -> Option<f64> {
        self.total
    }
}
