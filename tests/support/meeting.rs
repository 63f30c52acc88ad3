//! Processes as threads of one: what they send goes through a table.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use cavi_executor::reduce::Exchange;

#[derive(Debug, Default)]
struct Table {
    brought: Vec<Option<Vec<Vec<f64>>>>,
    /// What all brought to the last round: nobody brings the next before it has seen this.
    last: Arc<Vec<Vec<Vec<f64>>>>,
    round: u64,
}

#[derive(Debug, Default)]
struct Shared {
    table: Mutex<Table>,
    turned: Condvar,
    /// How many numbers the first process sent to others.
    sent: Arc<AtomicUsize>,
}

/// One of several processes.
#[derive(Debug)]
pub struct Neighbour {
    rank: usize,
    ranks: usize,
    shared: Arc<Shared>,
}

impl Neighbour {
    /// So many processes.
    pub fn all(ranks: usize) -> Vec<Arc<dyn Exchange>> {
        Neighbour::counted(ranks).0
    }

    /// So many processes, and how many numbers the first has sent to others.
    pub fn counted(ranks: usize) -> (Vec<Arc<dyn Exchange>>, Arc<AtomicUsize>) {
        let shared = Arc::new(Shared::default());
        let sent = Arc::clone(&shared.sent);
        shared.table.lock().expect("nobody has it").brought = vec![None; ranks];
        let one =
            |rank| -> Arc<dyn Exchange> { Arc::new(Neighbour { rank, ranks, shared: Arc::clone(&shared) }) };
        ((0..ranks).map(one).collect(), sent)
    }

    fn count(&self, numbers: usize) {
        if self.rank == 0 {
            self.shared.sent.fetch_add(numbers, Ordering::Relaxed);
        }
    }

    /// Gives something for each process, and has what all gave.
    fn meet(&self, own: Vec<Vec<f64>>) -> Arc<Vec<Vec<Vec<f64>>>> {
        let mut table = self.shared.table.lock().expect("no process panics at the table");
        let round = table.round;
        table.brought[self.rank] = Some(own);
        if table.brought.iter().all(Option::is_some) {
            table.last = Arc::new(table.brought.iter_mut().filter_map(Option::take).collect());
            table.round += 1;
            self.shared.turned.notify_all();
        }
        while table.round == round {
            table = self.shared.turned.wait(table).expect("no process panics at the table");
        }
        Arc::clone(&table.last)
    }
}

impl Exchange for Neighbour {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[f64], counts: &[usize], all: &mut [f64]) {
        assert_eq!(own.len(), counts[self.rank], "what is sent is as long as was said");
        self.count(own.len() * (self.ranks - 1));
        let brought = self.meet(vec![own.to_vec()]);
        let flat: Vec<f64> = brought.iter().flat_map(|own| own[0].iter().copied()).collect();
        all.copy_from_slice(&flat);
    }

    fn all_to_all(&self, own: &[f64], sent: &[usize], all: &mut [f64], received: &[usize]) {
        self.count(own.len() - sent[self.rank]);
        let mut rest = own;
        let part = |count: &usize| {
            let (own, others) = rest.split_at(*count);
            rest = others;
            own.to_vec()
        };
        let brought = self.meet(sent.iter().map(part).collect());
        for (own, count) in brought.iter().zip(received) {
            assert_eq!(own[self.rank].len(), *count, "what is received is as long as was said");
        }
        let flat: Vec<f64> = brought.iter().flat_map(|own| own[self.rank].iter().copied()).collect();
        all.copy_from_slice(&flat);
    }

    fn abort(&self, why: &str) {
        panic!("rank {} ends all: {why}", self.rank);
    }
}
