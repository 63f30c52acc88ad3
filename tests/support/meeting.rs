//! Shards on threads of their own that come to each sum together, spread over several states.

use std::sync::{Arc, Condvar, Mutex};

use cavi_executor::reduce::{Ballot, Halt, Key, Reducer, Tree};
use cavi_numerics::Scratch;

/// What a shard brings.
type Brought = (Key, Vec<f64>, Ballot);

#[derive(Default)]
struct Table {
    brought: Vec<Option<Brought>>,
    round: u64,
    last: Vec<Brought>,
    lost: bool,
}

/// Where shards meet.
pub struct Meeting {
    states: usize,
    table: Mutex<Table>,
    arrived: Condvar,
}

/// A shard's seat. One that is left ends all sums.
pub struct Member {
    number: usize,
    meeting: Arc<Meeting>,
}

impl Meeting {
    /// Seats for so many shards, spread over so many states.
    pub fn of(shards: usize, states: usize) -> Vec<Member> {
        let table = Table { brought: vec![None; shards], ..Table::default() };
        let meeting = Arc::new(Meeting { states, table: Mutex::new(table), arrived: Condvar::new() });
        (0..shards).map(|number| Member { number, meeting: Arc::clone(&meeting) }).collect()
    }
}

impl Member {
    fn meet(&self, key: Key, values: &[f64], ballot: Ballot) -> Result<Vec<Brought>, Halt> {
        let mut table = self.meeting.table.lock().expect("no shard panics at the table");
        let round = table.round;
        table.brought[self.number] = Some((key, values.to_vec(), ballot));
        if table.brought.iter().all(Option::is_some) {
            table.last = table.brought.iter_mut().filter_map(Option::take).collect();
            table.round += 1;
            self.meeting.arrived.notify_all();
        }
        while table.round == round && !table.lost {
            table = self.meeting.arrived.wait(table).expect("no shard panics at the table");
        }
        if table.round == round {
            return Err(Halt("a shard was lost".to_owned()));
        }
        if let Some((other, ..)) =
            table.last.iter().find(|(own, other, _)| *own != key || other.len() != values.len())
        {
            return Err(Halt(format!("a shard came to {key:?}, another to {other:?}")));
        }
        Ok(table.last.clone())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Ok(mut table) = self.meeting.table.lock() {
            table.lost = true;
        }
        self.meeting.arrived.notify_all();
    }
}

impl Reducer for Member {
    fn sum(&mut self, key: Key, values: &mut [f64]) -> Result<(), Halt> {
        let all = self.meet(key, values, Ballot::default())?;
        let (shards, states) = (all.len(), self.meeting.states);
        let state_of = |shard: usize| shard * states / shards;
        let tree_of = |state: usize| {
            let mut tree = Tree::default();
            for (shard, (_, values, _)) in all.iter().enumerate() {
                if state_of(shard) == state {
                    tree.push(shard as u32, Scratch::of(values));
                }
            }
            tree
        };
        // Each state begins with its own, and takes in what the others would send.
        let own = state_of(self.number);
        let mut tree = tree_of(own);
        for step in 1..states {
            tree_of((own + step) % states).held().for_each(|subtree| tree.take_in(subtree));
        }
        values.copy_from_slice(&tree.total().expect("there is a shard"));
        Ok(())
    }

    fn vote(&mut self, key: Key, ballot: &mut Ballot) -> Result<(), Halt> {
        self.meet(key, &[], *ballot)?.iter().for_each(|(_, _, other)| ballot.join(other));
        Ok(())
    }

    fn in_step(&self) -> bool {
        true
    }
}
