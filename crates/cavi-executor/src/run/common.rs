//! What the shards of a process have in common, worked out and held once.
//!
//! A step that follows from what all shards share alone, such as `E log beta` of topics `beta` in the run of a shard of documents, has the
//! same values in each of them. The first shard that comes to it works it out; the others read the same memory.
//!
//! # Which values
//! Each value has a *version*: a number that no other value of the same step has. What all shards share has another one whenever it moves, a
//! sum over all shards whenever it is taken, and a step that is worked out here one of its own. So a step is known for the versions of
//! all that it reads, whatever shard asks, and whenever it does. What follows from a value of one shard alone has no version, and is
//! that shard's own.
//!
//! Shards in step count the versions of what moves, since it moves for all of them at once; shards that are visited one after another
//! pass them on. A version that is not known, or no longer, costs the work again, and changes no bit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cavi_algebra::BlockId;
use smallvec::SmallVec;

use super::Executor;
use super::buffers::Array;
use super::joint::Joint;
use super::state::State;
use crate::plan::tensor::{Node, NodeId, Source};
use crate::plan::{Place, Plan};

/// That of a value of one shard alone.
pub(super) const OWN: u64 = 0;

/// That of what never changes, and of what all shards share before it has moved.
pub(super) const FIRST: u64 = 1;

/// The versions of all that a value follows from.
pub(super) type Versions = SmallVec<[u64; 6]>;

/// What was last worked out, with what it follows from.
type Last<T> = Option<(Versions, T)>;

/// What the shards of a process have in common.
pub struct Common {
    steps: Vec<Mutex<Known>>,
    /// For each block the last sum of its entropies, with the sum of their absolute values, and what they follow from.
    entropies: Vec<Mutex<Last<[f64; 2]>>>,
    /// For each block that all shards share its parameters after its last update in step, and what that follows from.
    updates: Vec<Mutex<Last<Vec<Vec<f64>>>>>,
    next: AtomicU64,
}

/// The last values of a step.
#[derive(Default)]
pub(super) struct Known {
    values: Option<Arc<Vec<f64>>>,
    from: Versions,
    version: u64,
    /// Memory of values that nobody reads any more.
    spare: Vec<f64>,
}

impl Common {
    /// Of a plan with so many steps and blocks; nothing is known.
    pub fn new(steps: usize, blocks: usize) -> Arc<Common> {
        let steps = (0..steps).map(|_| Mutex::default()).collect();
        let entropies = (0..blocks).map(|_| Mutex::default()).collect();
        let updates = (0..blocks).map(|_| Mutex::default()).collect();
        Arc::new(Common { steps, entropies, updates, next: AtomicU64::new(FIRST + 1) })
    }

    /// A version that nothing has.
    pub(super) fn version(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The bytes of the values that are held.
    pub fn bytes(&self) -> usize {
        let own = |known: &Mutex<Known>| {
            let known = lock(known);
            let values = known.values.as_ref().map_or(0, |own| size_of_val(own.as_slice()));
            values + known.spare.capacity() * size_of::<f64>()
        };
        let columns = |update: &Mutex<Last<Vec<Vec<f64>>>>| -> usize {
            let update = lock(update);
            update.iter().flat_map(|(_, columns)| columns).map(|own| size_of_val(own.as_slice())).sum()
        };
        self.steps.iter().map(own).sum::<usize>() + self.updates.iter().map(columns).sum::<usize>()
    }
}

fn lock<T>(own: &Mutex<T>) -> MutexGuard<'_, T> {
    own.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The versions of what the run of a shard has.
#[derive(Default)]
pub struct Seen {
    /// For each step.
    steps: Vec<u64>,
    /// For each block, of what all shards share.
    blocks: Vec<u64>,
    /// For each step, whether all shards have the same values of it, and work them out.
    lent: Vec<bool>,
}

impl Seen {
    /// That of a shard before its first step, whose constants are given.
    pub(super) fn new(plan: &Plan, places: &[Place], local: &[bool], given: &[bool]) -> Seen {
        let first = |(index, node): (usize, &Node)| {
            let is_constant = node.source() == Source::Given || given[index];
            if is_constant && places[index] != Place::Local { FIRST } else { OWN }
        };
        let steps = plan.nodes.iter().enumerate().map(first).collect();
        let blocks = local.iter().map(|is_local| if *is_local { OWN } else { FIRST }).collect();
        Seen { steps, blocks, lent: lent(plan, places, local, given) }
    }

    /// Those of what all shards share.
    pub fn blocks(&self) -> &[u64] {
        &self.blocks
    }
}

/// For each step of a shard, whether all shards have the same values of it, and work them out: it follows from what they share alone.
pub(crate) fn lent(plan: &Plan, places: &[Place], local: &[bool], given: &[bool]) -> Vec<bool> {
    let is_lent = |(index, node): (usize, &Node)| {
        let follows = match node.source() {
            Source::Block(block) => !local[block.index()],
            Source::Nodes => true,
            Source::Given | Source::Refresh => false,
        };
        // What says whether digits were lost is worked out by every shard.
        let is_opened = || plan.opened.iter().any(|opened| opened.node.index() == index);
        follows
            && places[index] == Place::Replicated
            && !plan.streamed[index]
            && !given[index]
            && !is_opened()
    };
    plan.nodes.iter().enumerate().map(is_lent).collect()
}

impl Executor<'_> {
    /// The bytes of what the shards of a process have in common.
    pub fn common_bytes(&self) -> usize {
        self.state.joint.as_ref().map_or(0, |joint| joint.common.bytes())
    }
}

impl State<'_> {
    /// Notes that a block has moved: what all shards share has another version.
    pub(super) fn moved(&mut self, block: BlockId) {
        let Some(joint) = self.joint.as_mut().filter(|joint| !joint.local[block.index()]) else { return };
        let version = &mut joint.seen.blocks[block.index()];
        *version = if joint.reducer.in_step() { *version + 1 } else { joint.common.version() };
    }

    /// Notes the versions of what all shards share, as another one has left it.
    pub(super) fn passed_on(&mut self, versions: &[u64]) {
        if let Some(joint) = &mut self.joint {
            joint.seen.blocks.copy_from_slice(versions);
        }
    }

    /// Notes that a sum over all shards has been taken: in step, all of them have the same.
    pub(super) fn summed(&mut self, step: usize) {
        if let Some(joint) = self.joint.as_mut().filter(|joint| joint.reducer.in_step()) {
            joint.seen.steps[step] += 1;
        }
    }

    /// Notes that a step has values that this shard alone may have.
    pub(super) fn is_own(&mut self, step: usize) {
        if let Some(joint) = &mut self.joint
            && joint.places[step] != Place::Partial
        {
            joint.seen.steps[step] = OWN;
        }
    }

    /// Notes that one step has the values of another.
    pub(super) fn is_same(&mut self, step: usize, other: usize) {
        if let Some(joint) = &mut self.joint {
            joint.seen.steps[step] = joint.seen.steps[other];
        }
    }

    /// The bytes of steps whose values other shards may hold.
    pub(super) fn lent_bytes(&self) -> usize {
        let Some(joint) = &self.joint else { return 0 };
        let lent = self.work.plan.nodes.iter().zip(&joint.seen.lent).filter(|(_, lent)| **lent);
        lent.map(|(node, _)| node.len() * size_of::<f64>()).sum()
    }

    /// The versions of these steps, if all of them have one.
    fn versions(&self, steps: impl IntoIterator<Item = NodeId>, versions: &mut Versions) -> Option<()> {
        for step in steps {
            // What is worked out where it is read has those of what it reads.
            if self.work.plan.streamed[step.index()] {
                self.versions(self.work.plan.nodes[step.index()].reads(), versions)?;
                continue;
            }
            let version = self.joint.as_ref()?.seen.steps[step.index()];
            if version == OWN {
                return None;
            }
            versions.push(version);
        }
        Some(())
    }

    /// What a step follows from, if that is what all shards share alone.
    fn follows_from(&self, id: NodeId) -> Option<Versions> {
        let joint = self.joint.as_ref().filter(|joint| joint.seen.lent[id.index()])?;
        let node = &self.work.plan.nodes[id.index()];
        let mut versions = Versions::new();
        match node.source() {
            Source::Block(block) => versions.push(joint.seen.blocks[block.index()]),
            Source::Nodes => self.versions(node.reads(), &mut versions)?,
            Source::Given | Source::Refresh => return None,
        }
        Some(versions)
    }

    /// Brings a step that all shards have in common up to date; what it reads is so. Whether it is one.
    pub(super) fn borrow(&mut self, id: NodeId) -> bool {
        let index = id.index();
        let Some(from) = self.follows_from(id) else { return false };
        let Some(common) = self.joint.as_ref().map(|joint| Arc::clone(&joint.common)) else { return false };
        // One that comes while another works it out waits for it.
        let mut known = lock(&common.steps[index]);
        // What nobody reads any more is the memory of the next values.
        let left = self.values.memory(index);
        if left.capacity() > 0 {
            known.spare = left;
        }
        match &known.values {
            Some(values) if known.from == from => {
                let values = Arc::clone(values);
                self.check_lent(id, &values);
                self.values.set(index, Array::Lent(values));
            }
            _ => {
                let last = known.values.take().and_then(|own| Arc::try_unwrap(own).ok());
                let memory = last.unwrap_or_else(|| std::mem::take(&mut known.spare));
                let out = match self.compute(id, memory) {
                    Array::Own(values) => Arc::new(values),
                    Array::Lent(values) => values,
                    Array::Given(values) => Arc::new(values.to_vec()),
                };
                (known.values, known.from, known.version) = (Some(Arc::clone(&out)), from, common.version());
                self.values.set(index, Array::Lent(out));
            }
        }
        let version = known.version;
        drop(known);
        if let Some(joint) = &mut self.joint {
            joint.seen.steps[index] = version;
        }
        true
    }

    /// In debug builds small values are worked out by every shard, and compared.
    fn check_lent(&mut self, id: NodeId, values: &[f64]) {
        const SMALL: usize = 1 << 12;
        if !cfg!(debug_assertions) || values.len() > SMALL {
            return;
        }
        let own = self.compute(id, Vec::new());
        let same = own.len() == values.len()
            && own.iter().zip(values).all(|(own, lent)| own.to_bits() == lent.to_bits());
        assert!(same, "step {} of a shard is {own:?}, and was lent as {values:?}", id.index());
    }

    /// The parameters of a block after an update that follows from these steps: those that another shard in step has worked out, or those
    /// that `work` makes. One that fails fails in every shard by itself.
    pub(super) fn update_once_for_all<E>(
        &mut self,
        block: BlockId,
        reads: impl IntoIterator<Item = NodeId>,
        work: impl FnOnce(&Self, &mut Vec<Vec<f64>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut columns = std::mem::take(&mut self.parameters.blocks[block.index()]);
        let mut from = Versions::new();
        let in_step = |joint: &&Joint| !joint.local[block.index()] && joint.reducer.in_step();
        let common = self.joint.as_ref().filter(in_step).and_then(|joint| {
            from.push(joint.seen.blocks[block.index()]);
            self.versions(reads, &mut from)?;
            Some(Arc::clone(&joint.common))
        });
        let outcome = match common {
            None => work(self, &mut columns),
            Some(common) => {
                let mut known = lock(&common.updates[block.index()]);
                match &*known {
                    Some((own, updated)) if *own == from => {
                        columns.clone_from(updated);
                        Ok(())
                    }
                    _ => work(self, &mut columns).inspect(|()| match &mut *known {
                        Some((own, updated)) => {
                            *own = from;
                            updated.clone_from(&columns);
                        }
                        none => *none = Some((from, columns.clone())),
                    }),
                }
            }
        };
        self.parameters.blocks[block.index()] = columns;
        outcome
    }

    /// The sum of the entropies of a block, and of their absolute values: known, or worked out. `reads` are the steps that it follows from
    /// beside the block.
    pub(super) fn once_for_all(
        &mut self,
        block: BlockId,
        reads: impl IntoIterator<Item = NodeId>,
        work: impl FnOnce(&mut Self) -> [f64; 2],
    ) -> [f64; 2] {
        let mut from = Versions::new();
        let common = self.joint.as_ref().filter(|joint| !joint.local[block.index()]).and_then(|joint| {
            from.push(joint.seen.blocks[block.index()]);
            self.versions(reads, &mut from)?;
            Some(Arc::clone(&joint.common))
        });
        let Some(common) = common else { return work(self) };
        let mut known = lock(&common.entropies[block.index()]);
        match &*known {
            Some((own, sums)) if *own == from => *sums,
            _ => {
                let sums = work(self);
                *known = Some((from, sums));
                sums
            }
        }
    }
}
