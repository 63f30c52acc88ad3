//! Restarts side by side, each on its share of the threads.
//!
//! Runs share only the program and the data, so that with one thread for each run no thread waits for another. Each
//! run has the bits that it has alone, and the runs are compared in the order of their numbers, as if they had run
//! one after another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use cavi_syntax::Diagnostic;

use super::{Attempt, Context, Control, FitError, Kept, Lost, Progress};

/// As many sweeps may wait to be shown.
const WAITING: usize = 256;

/// The stack of a run's thread: that of a main thread on most systems.
const STACK: usize = 8 << 20;

/// What a run says to the caller's thread.
enum Message {
    Swept(Progress),
    Done(u64, Box<Result<Attempt, Lost>>, Vec<Diagnostic>),
}

impl Context<'_> {
    /// How many runs of so many bytes go side by side: one a thread, as far as half of the memory that is left holds them.
    pub(super) fn side_by_side(&self, each: Option<usize>) -> usize {
        let restarts = usize::try_from(self.resolved.restarts).unwrap_or(usize::MAX);
        let most = restarts.min(self.settings.threads);
        // Shards have the threads, and processes do the same in the same order.
        if most < 2 || self.spread.is_some() {
            return 1;
        }
        let Some(each) = each else { return 1 };
        match cavi_files::memory::left_in_memory() {
            Some(left) => most.min(left / 2 / each.max(1)).max(1),
            None => most,
        }
    }

    /// Runs the restarts, `count` at a time, until all are done or the callback stops them. Returns how many were kept; fewer
    /// than were asked for where no thread could be started.
    ///
    /// # Errors
    /// If no start would fare better.
    pub(super) fn run_side_by_side(
        &self,
        count: usize,
        kept: &mut Kept,
        callback: &mut dyn FnMut(&Progress) -> Control,
    ) -> Result<u64, FitError> {
        let threads = (self.settings.threads / count).max(1);
        let (next, stop) = (&AtomicU64::new(0), &AtomicBool::new(false));
        let work = |sender: mpsc::SyncSender<Message>| {
            while !stop.load(Ordering::Relaxed) {
                let restart = next.fetch_add(1, Ordering::Relaxed);
                if restart >= self.resolved.restarts {
                    break;
                }
                let mut warnings = Vec::new();
                let mut watch = |progress: &Progress| {
                    let is_heard = sender.send(Message::Swept(*progress)).is_ok();
                    if is_heard && !stop.load(Ordering::Relaxed) { Control::Continue } else { Control::Stop }
                };
                let attempt = self.attempt(restart, threads, &mut warnings, &mut watch);
                if sender.send(Message::Done(restart, Box::new(attempt), warnings)).is_err() {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(WAITING);
            for _ in 0..count {
                let sender = sender.clone();
                let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || work(sender));
                if started.is_err() {
                    break;
                }
            }
            drop(sender);
            let mut done = BTreeMap::new();
            let mut first = 0;
            for message in receiver {
                match message {
                    Message::Swept(progress) => {
                        if callback(&progress) == Control::Stop {
                            stop.store(true, Ordering::Relaxed);
                        }
                    }
                    Message::Done(restart, attempt, warnings) => {
                        done.insert(restart, (*attempt, warnings));
                    }
                }
                while let Some((attempt, warnings)) = done.remove(&first) {
                    if let Err(error) = kept.keep(self.seed(first), attempt, warnings) {
                        stop.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                    first += 1;
                }
            }
            Ok(first)
        })
    }
}
