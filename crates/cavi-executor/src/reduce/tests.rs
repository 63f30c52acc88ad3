//! A second reducer: several states, each on a thread of its own, that compute some chunks and see nothing of the others'.

use std::ops::Range;
use std::sync::{Barrier, Mutex};

use cavi_numerics::{Scratch, reduce};

use super::{Ballot, Grid, Key, Local, Reducer, Tree, totals};

/// What a state brings to a meeting, as it would send it to another process.
#[derive(Clone)]
struct Brought {
    key: Key,
    trees: Vec<Vec<(u8, u32, Vec<f64>)>>,
    ballot: Ballot,
}

/// Where the states meet.
struct Meeting {
    brought: Mutex<Vec<Option<Brought>>>,
    barrier: Barrier,
}

struct Member<'m> {
    number: usize,
    meeting: &'m Meeting,
}

/// A state asked for another sum than the others.
#[derive(Debug, PartialEq)]
struct Apart;

impl Reducer for Member<'_> {
    type Halt = Apart;

    fn own(&self, grid: &Grid) -> Range<u32> {
        let members = self.meeting.brought.lock().expect("no state panicked").len() as u32;
        let cut = |number: u32| (u64::from(grid.chunks()) * u64::from(number) / u64::from(members)) as u32;
        cut(self.number as u32)..cut(self.number as u32 + 1)
    }

    fn sum(
        &mut self,
        key: Key,
        trees: &mut [Tree],
        out: &mut [&mut [f64]],
        ballot: &mut Ballot,
    ) -> Result<(), Apart> {
        let own =
            |tree: &Tree| tree.held().map(|(level, number, sum)| (level, number, sum.to_vec())).collect();
        let brought = Brought { key, trees: trees.iter().map(own).collect(), ballot: *ballot };
        self.meeting.brought.lock().expect("no state panicked")[self.number] = Some(brought);
        self.meeting.barrier.wait();
        let all: Vec<Brought> =
            self.meeting.brought.lock().expect("no state panicked").iter().flatten().cloned().collect();
        // Nobody brings the next before all have seen this.
        self.meeting.barrier.wait();
        if all.iter().any(|other| other.key != key) {
            return Err(Apart);
        }
        // Each begins with itself: the order in which states are taken in makes no difference.
        let others = || (0..all.len()).map(|step| &all[(self.number + step) % all.len()]);
        others().for_each(|other| ballot.join(&other.ballot));
        for (place, out) in out.iter_mut().enumerate() {
            let mut tree = Tree::default();
            for (level, number, sum) in others().flat_map(|other| &other.trees[place]) {
                tree.take_in((*level, *number, sum));
            }
            out.copy_from_slice(&tree.total().expect("some state has a chunk"));
        }
        Ok(())
    }
}

/// What each of several states has in the end.
fn of_members<T: Send>(count: usize, run: impl Fn(Member) -> T + Sync) -> Vec<T> {
    let meeting = Meeting { brought: Mutex::new(vec![None; count]), barrier: Barrier::new(count) };
    std::thread::scope(|scope| {
        let (meeting, run) = (&meeting, &run);
        let start = |number| scope.spawn(move || run(Member { number, meeting }));
        let threads: Vec<_> = (0..count).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no state panics")).collect()
    })
}

const KEY: Key = Key { what: "values", number: 0 };

/// Numbers whose sums round differently in every order.
fn values(count: usize) -> Vec<f64> {
    (0..count).map(|place| ((place * 7919 + 13) % 1009) as f64 / 7.0 - 71.3).collect()
}

/// Lengths around the ends of chunks, and none at all.
const LENGTHS: [usize; 12] = [0, 1, 2, 127, 128, 129, 255, 500, 1024, 1025, 3333, 10_000];

fn grids(size: usize) -> Vec<Grid> {
    let blocks = (0..4).map(|power| Grid::of_blocks(0_usize.into(), size, power));
    let others = [1, 3, 100].map(|length| Grid { axis: None, size, length });
    blocks.chain(others).chain([Grid::whole(None, size)]).collect()
}

/// The rows of `values` by three summed over the positions of a grid, and a scalar of each.
fn sums<R: Reducer>(reducer: &mut R, grid: &Grid, values: &[f64]) -> Result<[Vec<f64>; 2], R::Halt> {
    let (mut rows, mut scalars) = (Tree::default(), Tree::default());
    for number in reducer.own(grid) {
        let mut row = Scratch::zeros(3);
        let own = &values[grid.chunk(number).start * 3..grid.chunk(number).end * 3];
        own.chunks(3).for_each(|values| row.iter_mut().zip(values).for_each(|(sum, value)| *sum += value));
        scalars.push(number, Scratch::of(&[reduce::sum(own)]));
        rows.push(number, row);
    }
    let mut out = [vec![f64::NAN; 3], vec![f64::NAN; 1]];
    let [first, second] = &mut out;
    reducer.sum(KEY, &mut [rows, scalars], &mut [first, second], &mut Ballot::default())?;
    Ok(out)
}

fn bits(all: &[Vec<f64>]) -> Vec<u64> {
    all.iter().flatten().map(|value| value.to_bits()).collect()
}

#[test]
fn any_number_of_states_has_the_bits_of_one() {
    for size in LENGTHS {
        let values = values(3 * size);
        for grid in grids(size) {
            let Ok(one) = sums(&mut Local, &grid, &values);
            for count in [1, 2, 3, 7] {
                for own in of_members(count, |mut member| sums(&mut member, &grid, &values)) {
                    assert_eq!(bits(&own.expect("all ask alike")), bits(&one), "{count} states, {grid:?}");
                }
            }
        }
    }
}

#[test]
fn chunks_of_blocks_have_the_bits_of_one_sum() {
    for size in LENGTHS {
        let values = values(size);
        for power in 0..6 {
            let grid = Grid::of_blocks(0_usize.into(), size, power);
            let Ok([own]) = totals(&mut Local, KEY, &grid, |range| [reduce::sum(&values[range])]);
            assert_eq!(own.to_bits(), reduce::sum(&values).to_bits(), "{size} values, power {power}");
        }
    }
}

/// One chunk is the sum as it stands, even of a sign that additions to 0 would lose.
#[test]
fn one_chunk_adds_nothing() {
    let grid = Grid::whole(None, 5);
    assert_eq!((grid.chunks(), grid.chunk(0)), (1, 0..5));
    let Ok([own]) = totals(&mut Local, KEY, &grid, |_| [-0.0]);
    assert_eq!(own.to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn chunks_come_in_any_order() {
    let values = values(50);
    let total = |order: &[usize]| {
        let mut tree = Tree::default();
        order.iter().for_each(|chunk| tree.push(*chunk as u32, Scratch::of(&values[*chunk..=*chunk])));
        tree.total().expect("there are chunks").to_vec()
    };
    let in_order: Vec<usize> = (0..50).collect();
    for step in [3, 7, 11, 49] {
        let order: Vec<usize> = (0..50).map(|place| place * step % 50).collect();
        assert_eq!(bits(&[total(&order)]), bits(&[total(&in_order)]), "step {step}");
    }
}

#[test]
fn votes_are_those_of_all_states() {
    let rows = [4, 9, 2, 7, 5, 3, 8];
    for count in [1, 2, 3, 7] {
        let ballots = of_members(count, |mut member| {
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
fn states_that_ask_for_different_sums_are_told() {
    let outcomes = of_members(3, |mut member| {
        let key = Key { number: usize::from(member.number == 1), ..KEY };
        member.vote(key, &mut Ballot::default())
    });
    assert_eq!(outcomes, [Err(Apart), Err(Apart), Err(Apart)]);
}
