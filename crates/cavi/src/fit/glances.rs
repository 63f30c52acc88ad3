//! A look at the parameters of a run between two of its sweeps, for who watches a fit.
//!
//! Nothing is copied that nobody asked for: after each sweep a run reads one number, and where a look was asked for it copies its parameters
//! once. A look changes no bit of the result.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cavi_executor::Parameters;

use super::kept;
use crate::prepare::Problem;

/// Nobody asks.
const NONE: u64 = u64::MAX;
/// Any run is asked.
const ANY: u64 = u64::MAX - 1;

/// Looks at a fit. Clones are the same; one goes into [`crate::Settings::glances`].
#[derive(Clone, Debug)]
pub struct Glances(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The run that is asked, `ANY` or `NONE`.
    asked: AtomicU64,
    most_bytes: usize,
    latest: Mutex<Option<Glance>>,
}

/// The factors of q of a run after one of its sweeps.
#[derive(Clone, Debug)]
pub struct Glance {
    /// Which run, from 0.
    pub restart: u64,
    /// After which sweep.
    pub sweep: u64,
    /// The factors, in the coordinates of the data.
    pub parameters: Parameters,
}

impl Glances {
    /// Looks at parameters of so many bytes at most; larger ones are never copied.
    pub fn new(most_bytes: usize) -> Glances {
        Glances(Arc::new(Inner { asked: AtomicU64::new(NONE), most_bytes, latest: Mutex::default() }))
    }

    /// Asks this run, or any, for its parameters after its next sweep.
    pub fn ask(&self, restart: Option<u64>) {
        self.0.asked.store(restart.unwrap_or(ANY), Ordering::Relaxed);
    }

    /// What was asked for, if it has come. `problem` is that of the fit.
    pub fn take(&self, problem: &Problem) -> Option<Glance> {
        let mut found = self.0.latest.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        problem.way_back(&mut found.parameters);
        Some(found)
    }

    /// Copies the parameters of a run, if it is asked.
    pub(super) fn give(&self, restart: u64, sweep: u64, parameters: &Parameters) {
        let asked = self.0.asked.load(Ordering::Relaxed);
        if asked == NONE || asked != ANY && asked != restart {
            return;
        }
        // Of several runs one answers.
        let is_first =
            self.0.asked.compare_exchange(asked, NONE, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_first && kept::bytes(parameters) <= self.0.most_bytes {
            let own = Glance { restart, sweep, parameters: parameters.clone() };
            *self.0.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_answers_once_and_large_ones_do_not() {
        let parameters = Parameters { blocks: vec![vec![vec![1.0; 4]]] };
        let glances = Glances::new(1 << 10);
        let has =
            |glances: &Glances| glances.0.latest.lock().unwrap().take().map(|own| (own.restart, own.sweep));
        glances.give(0, 1, &parameters);
        assert_eq!(has(&glances), None, "nobody asked");
        glances.ask(Some(2));
        glances.give(0, 2, &parameters);
        glances.give(2, 3, &parameters);
        glances.give(2, 4, &parameters);
        assert_eq!(has(&glances), Some((2, 3)));
        glances.ask(None);
        glances.give(1, 5, &parameters);
        assert_eq!(has(&glances), Some((1, 5)));
        let small = Glances::new(8);
        small.ask(None);
        small.give(0, 1, &parameters);
        assert_eq!(has(&small), None);
    }
}
