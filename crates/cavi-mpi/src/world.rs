//! All ranks of the job.

use std::sync::{Mutex, PoisonError};

use cavi::Exchange;
use mpi::Count;
use mpi::datatype::{Partition, PartitionMut};
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

/// All ranks.
#[derive(Debug)]
pub struct World {
    rank: usize,
    ranks: usize,
    /// One call at a time: threads take turns.
    turn: Mutex<()>,
}

impl World {
    /// Those of a job that has begun.
    pub fn new(universe: &Universe) -> World {
        let world = universe.world();
        let number = |own: i32| usize::try_from(own).unwrap_or_default();
        World { rank: number(world.rank()), ranks: number(world.size()), turn: Mutex::new(()) }
    }

    fn in_turn(&self, call: impl FnOnce(&SimpleCommunicator)) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        call(&SimpleCommunicator::world());
    }

    /// Counts, and where each run begins, as MPI takes them.
    fn runs(&self, counts: &[usize]) -> (Vec<Count>, Vec<Count>) {
        let mut starts = Vec::with_capacity(counts.len());
        let mut start = 0usize;
        for count in counts {
            starts.push(start);
            start = start.saturating_add(*count);
        }
        if Count::try_from(start).is_err() {
            self.abort(&format!("{start} numbers are too many for one message of MPI (2^31 - 1)"));
        }
        let all = |own: &[usize]| own.iter().map(|own| *own as Count).collect();
        (all(counts), all(&starts))
    }
}

impl Exchange for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[f64], counts: &[usize], all: &mut [f64]) {
        let (counts, starts) = self.runs(counts);
        self.in_turn(|world| {
            world.all_gather_varcount_into(own, &mut PartitionMut::new(all, counts, starts))
        });
    }

    fn all_to_all(&self, own: &[f64], sent: &[usize], all: &mut [f64], received: &[usize]) {
        let ((sent, from), (received, to)) = (self.runs(sent), self.runs(received));
        let mut all = PartitionMut::new(all, received, to);
        self.in_turn(|world| world.all_to_all_varcount_into(&Partition::new(own, sent, from), &mut all));
    }

    fn abort(&self, why: &str) {
        eprintln!("error: rank {} ends the job: {}", self.rank, why.trim_end());
        SimpleCommunicator::world().abort(1);
    }
}
