//! The reducer that remembers: one shard moves at a time, and the sums of the others are those of their last visits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Ballot, Halt, Key, Reducer};

/// The last sums of all shards.
///
/// A sum is kept with its whole tree: a visit replaces one leaf and the nodes above it, `log2` of the number of shards additions. Nothing is
/// subtracted, so that no digit is lost over many visits.
#[derive(Debug)]
pub struct Memory {
    shards: usize,
    sums: BTreeMap<Key, Vec<Vec<Option<Vec<f64>>>>>,
}

/// A shard's way to what all shards had last.
#[derive(Clone, Debug)]
pub struct Visit {
    memory: Arc<Mutex<Memory>>,
    shard: usize,
}

impl Memory {
    /// Of so many shards, none of which has come by.
    pub fn new(shards: usize) -> Arc<Mutex<Memory>> {
        Arc::new(Mutex::new(Memory { shards, sums: BTreeMap::new() }))
    }

    /// The bytes of all that is kept.
    pub fn bytes(&self) -> usize {
        self.sums.values().flatten().flatten().flatten().map(|sum| size_of_val(sum.as_slice())).sum()
    }

    /// Replaces what a shard has, and gives the sum of all that have come by.
    fn replace(&mut self, key: Key, shard: usize, values: &mut [f64]) {
        let shards = self.shards;
        let levels = self.sums.entry(key).or_insert_with(|| {
            let mut levels = vec![vec![None; shards]];
            while levels[levels.len() - 1].len() > 1 {
                levels.push(vec![None; levels[levels.len() - 1].len().div_ceil(2)]);
            }
            levels
        });
        put(&mut levels[0][shard], values);
        let mut place = shard;
        for level in 1..levels.len() {
            place /= 2;
            let (below, above) = levels.split_at_mut(level);
            let below = &below[level - 1];
            let (left, right) = (&below[2 * place], below.get(2 * place + 1).and_then(Option::as_ref));
            let sum = &mut above[0][place];
            match (left, right) {
                (Some(left), Some(right)) => {
                    let sum = room(sum, left.len());
                    let both = left.iter().zip(right);
                    sum.iter_mut().zip(both).for_each(|(sum, (left, right))| *sum = left + right);
                }
                (Some(one), None) | (None, Some(one)) => put(sum, one),
                (None, None) => *sum = None,
            }
        }
        if let Some(total) = levels.last().and_then(|root| root[0].as_ref()) {
            values.copy_from_slice(total);
        }
    }
}

/// Copies values into the memory of what was there.
fn put(to: &mut Option<Vec<f64>>, values: &[f64]) {
    room(to, values.len()).copy_from_slice(values);
}

/// As many values in the memory of what was there.
fn room(own: &mut Option<Vec<f64>>, length: usize) -> &mut [f64] {
    let own = own.get_or_insert_default();
    own.resize(length, 0.0);
    own
}

impl Visit {
    /// The way of a shard.
    pub fn of(memory: &Arc<Mutex<Memory>>, shard: usize) -> Visit {
        Visit { memory: Arc::clone(memory), shard }
    }
}

impl Reducer for Visit {
    fn sum(&mut self, key: Key, values: &mut [f64]) -> Result<(), Halt> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.replace(key, self.shard, values);
        Ok(())
    }

    /// What one shard finds is found.
    fn vote(&mut self, _: Key, _: &mut Ballot) -> Result<(), Halt> {
        Ok(())
    }

    fn in_step(&self) -> bool {
        false
    }
}
