//! The reducer in step: all shards come to each sum together, those of this process on threads, those of others by messages.
//!
//! # The sum
//! Each process holds a range of the shards, adds up what of the tree ([`Tree`]) lies whole in its range, and exchanges the subtrees
//! that are left, of which there are at most two a level. Then every process finishes the same tree. Of many values each process finishes
//! a part for all, so that as much is sent as by any way of adding up: with `P` processes and `n` values, `n (P - 1) / P` of each subtree
//! out, and as much of the sums back.
//!
//! # Who is where
//! Before values are sent, processes compare what they have come for. Shards that have come for different things have come apart: all sums
//! end, on every process.
//!
//! # Threads
//! A shard has a thread of its own, and as many work at a time as there are threads; one that waits for the others lets another one work.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::exchange::Exchange;
use super::tree::Subtree;
use super::{Ballot, Halt, Key, Reducer, Tree};

/// Up to so many values are finished by every process; of more each finishes a part.
pub(crate) const FEW: usize = 4096;

/// The words of what processes compare.
pub(crate) const HEAD: usize = 8;

/// Where the shards of a process meet.
pub struct Meeting {
    shards: usize,
    own: Range<usize>,
    threads: usize,
    exchange: Option<Arc<dyn Exchange>>,
    table: Mutex<Table>,
    /// Memory for sums, from one to the next.
    kept: Mutex<Vec<Vec<f64>>>,
    /// A round is over.
    over: Condvar,
    /// One more may work.
    free: Condvar,
}

#[derive(Default)]
struct Table {
    working: usize,
    /// How many have come in this round, and for what.
    arrived: usize,
    asked: Option<Asked>,
    held: Vec<Subtree>,
    ballot: Ballot,
    /// How many have added what they brought.
    added: usize,
    round: u64,
    /// What came of the last round.
    total: Arc<Vec<f64>>,
    outcome: Ballot,
    halted: Option<String>,
}

/// What a shard comes for: a sum of so many values, or a vote.
type Asked = (Key, Option<usize>);

/// A shard's seat.
pub struct Member {
    shard: usize,
    meeting: Arc<Meeting>,
}

impl Meeting {
    /// Where a range of so many shards meets, of which as many work at a time as there are threads.
    pub fn new(
        shards: usize,
        own: Range<usize>,
        threads: usize,
        exchange: Option<Arc<dyn Exchange>>,
    ) -> Arc<Meeting> {
        let (over, free) = (Condvar::new(), Condvar::new());
        let (table, kept) = (Mutex::default(), Mutex::default());
        Arc::new(Meeting { shards, own, threads: threads.max(1), exchange, table, kept, over, free })
    }

    /// The seat of a shard of the range.
    pub fn member(self: &Arc<Meeting>, shard: usize) -> Member {
        Member { shard, meeting: Arc::clone(self) }
    }

    /// Before a shard works.
    pub fn enter(&self) {
        drop(self.take(self.lock()));
    }

    /// After it has worked.
    pub fn leave(&self) {
        self.lock().working -= 1;
        self.free.notify_one();
    }

    /// Ends all sums, and other processes: a shard is lost.
    pub fn lose(&self, why: &str) {
        if let Some(exchange) = &self.exchange {
            exchange.abort(why);
        }
        self.lock().halted.get_or_insert_with(|| why.to_owned());
        self.over.notify_all();
    }

    /// Memory for so many values: what is kept and at most twice as large, with what it held.
    fn room(&self, length: usize) -> Vec<f64> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |own: &Vec<f64>| (length..=2 * length).contains(&own.capacity());
        kept.iter().position(fits).map(|place| kept.swap_remove(place)).unwrap_or_default()
    }

    /// Keeps memory.
    fn keep(&self, values: Vec<f64>) {
        if values.capacity() > 0 {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(values);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take<'t>(&self, mut table: MutexGuard<'t, Table>) -> MutexGuard<'t, Table> {
        while table.working >= self.threads {
            table = self.free.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
        table.working += 1;
        table
    }

    /// Comes to a meeting, and waits for all. What came of it: the total, and the votes.
    fn meet(
        &self,
        shard: usize,
        asked: Asked,
        values: Vec<f64>,
        ballot: Option<&Ballot>,
    ) -> Result<(Arc<Vec<f64>>, Ballot), Halt> {
        let mut table = self.lock();
        if let Some(why) = &table.halted {
            return Err(Halt(why.clone()));
        }
        let other = *table.asked.get_or_insert(asked);
        if other != asked {
            let why = format!("a shard came to {}, another to {}", said(&asked), said(&other));
            table.halted = Some(why.clone());
            self.over.notify_all();
            // Other processes are told where they wait.
            if let Some(exchange) = self.exchange.as_deref().filter(|own| own.ranks() > 1) {
                drop(table);
                compare(exchange, &asked, &Ballot::default(), true);
            }
            return Err(Halt(why));
        }
        let round = table.round;
        table.arrived += 1;
        if let Some(ballot) = ballot {
            table.ballot.join(ballot);
        }
        let length = values.len();
        if length > 0 {
            table = self.add(table, Subtree::leaf(shard, values));
        }
        table.added += 1;
        if table.added == self.own.len() {
            let outcome = self.finish(&mut table, &asked, length);
            (table.arrived, table.added, table.asked) = (0, 0, None);
            match outcome {
                Ok(total) => {
                    let last = std::mem::replace(&mut table.total, Arc::new(total));
                    Arc::try_unwrap(last).into_iter().for_each(|last| self.keep(last));
                    table.outcome = std::mem::take(&mut table.ballot);
                }
                Err(Halt(why)) => table.halted = Some(why),
            }
            table.round += 1;
            self.over.notify_all();
        } else {
            table.working -= 1;
            self.free.notify_one();
            while table.round == round && table.halted.is_none() {
                table = self.over.wait(table).unwrap_or_else(PoisonError::into_inner);
            }
            table = self.take(table);
        }
        match &table.halted {
            Some(why) => Err(Halt(why.clone())),
            None => Ok((Arc::clone(&table.total), table.outcome)),
        }
    }

    /// Adds a subtree to those that are held; siblings are added while others come.
    fn add<'t>(&'t self, mut table: MutexGuard<'t, Table>, mut own: Subtree) -> MutexGuard<'t, Table> {
        while let Some(place) = table.held.iter().position(|other| own.is_sibling_of(other)) {
            let other = table.held.swap_remove(place);
            drop(table);
            let (sum, left) = own.with(other);
            self.keep(left);
            own = sum;
            table = self.lock();
        }
        table.held.push(own);
        table
    }

    /// What all processes have together, once the shards of this one have come.
    fn finish(&self, table: &mut Table, asked: &Asked, length: usize) -> Result<Vec<f64>, Halt> {
        let mut tree = Tree::of(std::mem::take(&mut table.held));
        let Some(exchange) = self.exchange.as_deref().filter(|own| own.ranks() > 1) else {
            return Ok(tree.total().unwrap_or_default());
        };
        table.ballot = compare(exchange, asked, &table.ballot, false)
            .ok_or_else(|| Halt("the shards of several processes came apart".to_owned()))?;
        if length == 0 {
            return Ok(Vec::new());
        }
        let ranks = exchange.ranks();
        let shapes: Vec<Vec<(u8, u32)>> =
            (0..ranks).map(|rank| Tree::whole(held_by(self.shards, ranks, rank))).collect();
        let own: Vec<&[f64]> = {
            let mut held: Vec<_> = tree.held().collect();
            held.sort_unstable_by_key(|(level, number, _)| u64::from(*number) << level);
            held.into_iter().map(|(_, _, sum)| sum).collect()
        };
        // The part of the values that each process finishes.
        let parts: Vec<Range<usize>> = match length <= FEW {
            true => vec![0..length; ranks],
            false => (0..ranks).map(|own| own * length / ranks..(own + 1) * length / ranks).collect(),
        };
        let mine = parts[exchange.rank()].clone();
        let counts: Vec<usize> = shapes.iter().map(|shape| shape.len() * mine.len()).collect();
        let mut all = vec![0.0; counts.iter().sum()];
        if length <= FEW {
            exchange.all_gather(&own.concat(), &counts, &mut all);
        } else {
            let sent: Vec<usize> = parts.iter().map(|part| own.len() * part.len()).collect();
            let out: Vec<f64> = parts
                .iter()
                .flat_map(|part| own.iter().flat_map(|sum| &sum[part.clone()]))
                .copied()
                .collect();
            exchange.all_to_all(&out, &sent, &mut all, &counts);
        }
        tree = Tree::default();
        let mut sums = all.chunks_exact(mine.len().max(1));
        for (level, number) in shapes.iter().flatten() {
            let sum = sums.next().unwrap_or_default();
            tree.take_in((*level, *number, sum));
        }
        let total = tree.total().unwrap_or_default();
        if length <= FEW {
            return Ok(total);
        }
        let mut whole = vec![0.0; length];
        let counts: Vec<usize> = parts.iter().map(Range::len).collect();
        exchange.all_gather(&total, &counts, &mut whole);
        Ok(whole)
    }
}

/// The shards of a process: as even as can be. One that has none would have nothing to do.
pub fn held_by(shards: usize, ranks: usize, rank: usize) -> Range<usize> {
    rank * shards / ranks..(rank + 1) * shards / ranks
}

/// Whether all processes have come for the same; then the votes of all.
fn compare(exchange: &dyn Exchange, (key, length): &Asked, ballot: &Ballot, lost: bool) -> Option<Ballot> {
    let ranks = exchange.ranks();
    let first = ballot.first.map_or([0, 0], |first| [1, first]);
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&[hash(key), length.map_or(0, |length| length as u64 + 1), u64::from(lost), 0]);
    head[3] = ballot.any;
    head[4..].copy_from_slice(&[ballot.all, ballot.max.to_bits(), first[0], first[1]]);
    let mut all = vec![0.0; HEAD * ranks];
    exchange.all_gather(&head.map(f64::from_bits), &vec![HEAD; ranks], &mut all);
    let mut joined = Ballot::default();
    for own in all.chunks_exact(HEAD) {
        let own: Vec<u64> = own.iter().map(|word| word.to_bits()).collect();
        if own[..2] != head[..2] || own[2] != 0 || lost {
            return None;
        }
        let first = (own[6] != 0).then_some(own[7]);
        joined.join(&Ballot { any: own[3], all: own[4], max: f64::from_bits(own[5]), first });
    }
    Some(joined)
}

/// FNV-1a.
fn hash(key: &Key) -> u64 {
    let numbers = [key.number as u64, key.part as u64].map(u64::to_le_bytes).concat();
    let bytes = key.what.bytes().chain(numbers);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn said((key, length): &Asked) -> String {
    let what = format!("\"{}\" {}.{}", key.what, key.number, key.part);
    length.map_or_else(|| format!("the vote {what}"), |length| format!("the sum {what} of {length} values"))
}

impl fmt::Debug for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meeting").field("shards", &self.shards).field("own", &self.own).finish()
    }
}

impl Reducer for Member {
    fn sum(&mut self, key: Key, values: &mut [f64]) -> Result<(), Halt> {
        let mut own = self.meeting.room(values.len());
        own.clear();
        own.extend_from_slice(values);
        let (total, _) = self.meeting.meet(self.shard, (key, Some(values.len())), own, None)?;
        values.copy_from_slice(&total);
        Ok(())
    }

    fn total(&mut self, key: Key, values: Vec<f64>) -> Result<Arc<Vec<f64>>, Halt> {
        let (total, _) = self.meeting.meet(self.shard, (key, Some(values.len())), values, None)?;
        Ok(total)
    }

    fn room(&mut self, length: usize) -> Vec<f64> {
        self.meeting.room(length)
    }

    fn keep(&mut self, values: Vec<f64>) {
        self.meeting.keep(values);
    }

    fn vote(&mut self, key: Key, ballot: &mut Ballot) -> Result<(), Halt> {
        *ballot = self.meeting.meet(self.shard, (key, None), Vec::new(), Some(ballot))?.1;
        Ok(())
    }

    fn in_step(&self) -> bool {
        true
    }
}
