//! Shards on threads of their own, spread over several states that see nothing of the others' but what they would send.

use std::sync::{Arc, Barrier, Mutex};

use super::{Ballot, Halt, Key, Memory, Reducer, Tree, Visit};

/// What a shard brings to a meeting.
#[derive(Clone)]
struct Brought {
    key: Key,
    values: Vec<f64>,
    ballot: Ballot,
}

/// Where the shards meet: each belongs to a state, and states exchange trees.
struct Meeting {
    states: usize,
    brought: Mutex<Vec<Option<Brought>>>,
    barrier: Barrier,
}

struct Member<'m> {
    number: usize,
    meeting: &'m Meeting,
}

impl Member<'_> {
    fn meet(&self, own: Brought) -> Result<Vec<Brought>, Halt> {
        let key = own.key;
        self.meeting.brought.lock().expect("no shard panicked")[self.number] = Some(own);
        self.meeting.barrier.wait();
        let all: Vec<Brought> =
            self.meeting.brought.lock().expect("no shard panicked").iter().flatten().cloned().collect();
        // Nobody brings the next before all have seen this.
        self.meeting.barrier.wait();
        if all.iter().any(|other| other.key != key) { Err(Halt("apart".to_owned())) } else { Ok(all) }
    }
}

impl Reducer for Member<'_> {
    fn sum(&mut self, key: Key, values: &mut [f64]) -> Result<(), Halt> {
        let all = self.meet(Brought { key, values: values.to_vec(), ballot: Ballot::default() })?;
        let (count, states) = (all.len(), self.meeting.states);
        // Each state adds its own, and takes in the trees of the others, beginning with its own.
        let own = self.number * states / count;
        let tree_of = |state: usize| {
            let mut tree = Tree::default();
            for (shard, other) in all.iter().enumerate().filter(|(shard, _)| shard * states / count == state)
            {
                tree.push(shard as u32, &other.values);
            }
            tree
        };
        let mut tree = tree_of(own);
        for step in 1..states {
            let other = tree_of((own + step) % states);
            other.held().for_each(|subtree| tree.take_in(subtree));
        }
        values.copy_from_slice(&tree.total().expect("there is a shard"));
        Ok(())
    }

    fn vote(&mut self, key: Key, ballot: &mut Ballot) -> Result<(), Halt> {
        let all = self.meet(Brought { key, values: Vec::new(), ballot: *ballot })?;
        all.iter().for_each(|other| ballot.join(&other.ballot));
        Ok(())
    }

    fn in_step(&self) -> bool {
        true
    }
}

/// What each of several shards has in the end.
fn of_members<T: Send>(count: usize, states: usize, run: impl Fn(Member) -> T + Sync) -> Vec<T> {
    let meeting = Meeting { states, brought: Mutex::new(vec![None; count]), barrier: Barrier::new(count) };
    std::thread::scope(|scope| {
        let (meeting, run) = (&meeting, &run);
        let start = |number| scope.spawn(move || run(Member { number, meeting }));
        let threads: Vec<_> = (0..count).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no shard panics")).collect()
    })
}

const KEY: Key = Key { what: "values", number: 0, part: 0 };

/// Numbers whose sums round differently in every order.
fn values(count: usize) -> Vec<f64> {
    (0..count).map(|place| ((place * 7919 + 13) % 1009) as f64 / 7.0 - 71.3).collect()
}

fn bits(all: &[f64]) -> Vec<u64> {
    all.iter().map(|value| value.to_bits()).collect()
}

/// What the tree makes of the values of shards.
fn total(shards: &[[f64; 3]], order: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut tree = Tree::default();
    order.for_each(|shard| tree.push(shard as u32, &shards[shard]));
    tree.total().expect("there are shards")
}

fn shards(count: usize) -> Vec<[f64; 3]> {
    values(3 * count).chunks(3).map(|own| [own[0], own[1], own[2]]).collect()
}

#[test]
fn any_number_of_states_has_the_bits_of_one() {
    for count in [1, 2, 3, 5, 8, 13] {
        let shards = shards(count);
        let one = total(&shards, 0..count);
        for states in [1, 2, 3, 7].into_iter().filter(|states| *states <= count) {
            let all = of_members(count, states, |mut member| {
                let mut own = shards[member.number];
                member.sum(KEY, &mut own).map(|()| own)
            });
            for own in all {
                assert_eq!(bits(&own.expect("all ask alike")), bits(&one), "{count} shards, {states} states");
            }
        }
    }
}

/// What is remembered is the same tree, whichever shard came last, and however often.
#[test]
fn a_memory_has_the_bits_of_the_tree() {
    for count in [1, 2, 3, 5, 8, 13] {
        let mut shards = shards(count);
        let memory = Memory::new(count);
        let visit = |shard: usize, own: [f64; 3]| {
            let mut own = own;
            let Ok(()) = Visit::of(&memory, shard).sum(KEY, &mut own) else { panic!("a visit has its sum") };
            own
        };
        (0..count).for_each(|shard| {
            visit(shard, [9.0; 3]);
        });
        let step = [3, 5, 7].into_iter().find(|step| count % step != 0).expect("a step that visits all");
        let mut last = [0.0; 3];
        for shard in (0..count).map(|place| place * step % count) {
            last = visit(shard, shards[shard]);
        }
        assert_eq!(bits(&last), bits(&total(&shards, 0..count)), "{count} shards");
        shards[count / 2] = [0.1, 0.2, 0.3];
        let after = visit(count / 2, shards[count / 2]);
        assert_eq!(bits(&after), bits(&total(&shards, 0..count)), "{count} shards");
        assert!(memory.lock().expect("no panic").bytes() >= count * 24);
    }
}

/// Before all have come by, the sum is that of those who have.
#[test]
fn what_was_never_visited_adds_nothing() {
    let memory = Memory::new(5);
    let mut own = [2.0];
    Visit::of(&memory, 3).sum(KEY, &mut own).expect("a visit has its sum");
    assert_eq!(own, [2.0]);
    own = [0.5];
    Visit::of(&Arc::clone(&memory), 0).sum(KEY, &mut own).expect("a visit has its sum");
    assert_eq!(own, [2.5]);
}

/// One shard is the sum as it stands, even of a sign that additions to 0 would lose.
#[test]
fn one_shard_adds_nothing() {
    assert_eq!(bits(&total(&[[-0.0; 3]], 0..1)), bits(&[-0.0; 3]));
    let mut own = [-0.0];
    Visit::of(&Memory::new(1), 0).sum(KEY, &mut own).expect("a visit has its sum");
    assert_eq!(bits(&own), bits(&[-0.0]));
}

#[test]
fn shards_come_in_any_order() {
    let shards = shards(50);
    let in_order = total(&shards, 0..50);
    for step in [3, 7, 11, 49] {
        let own = total(&shards, (0..50).map(|place| place * step % 50));
        assert_eq!(bits(&own), bits(&in_order), "step {step}");
    }
}

#[test]
fn votes_are_those_of_all_shards() {
    let rows = [4, 9, 2, 7, 5, 3, 8];
    for count in [1, 2, 3, 7] {
        let ballots = of_members(count, 1, |mut member| {
            let row = rows[member.number];
            let mut ballot = Ballot {
                any: 1 << member.number,
                all: !(1 << member.number),
                max: row as f64,
                first: (row % 2 == 0).then_some(row),
            };
            let outcome = member.vote(KEY, &mut ballot);
            outcome.map(|()| ballot)
        });
        let own = &rows[..count];
        let wanted = Ballot {
            any: (1 << count) - 1,
            all: !((1 << count) - 1),
            max: own.iter().max().map_or(f64::NAN, |row| *row as f64),
            first: own.iter().copied().filter(|row| row % 2 == 0).min(),
        };
        assert!(ballots.iter().all(|ballot| *ballot == Ok(wanted)), "{ballots:?}");
    }
    let mut ballot = Ballot { max: f64::NAN, ..Ballot::default() };
    ballot.join(&Ballot { max: 3.0, ..Ballot::default() });
    assert!(ballot.max.is_nan());
    let mut ballot = Ballot { max: 3.0, ..Ballot::default() };
    ballot.join(&Ballot { max: f64::NAN, ..Ballot::default() });
    assert!(ballot.max.is_nan());
}

#[test]
fn shards_that_ask_for_different_sums_are_told() {
    let outcomes = of_members(3, 1, |mut member| {
        let key = Key { number: usize::from(member.number == 1), ..KEY };
        member.vote(key, &mut Ballot::default())
    });
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
}
