//! Long work on a thread of its own, while the calling thread answers signals and calls back.
//!
//! The interpreter's lock is held by nobody while the work goes on, so that other threads of Python run. Ctrl-C raises
//! `KeyboardInterrupt` within [`WAIT`] of the moment at which the work hears of it; an exception of the callback ends the work and goes on
//! to the caller; a callback that returns `False` ends the work and keeps what is done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cavi::{Control, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::BrokenPromise;

/// How long the calling thread waits before it looks for signals again.
const WAIT: Duration = Duration::from_millis(20);
/// How many reports may wait for the callback before the work waits for it.
const WAITING: usize = 16;

/// Does the work, which is given what it calls after each sweep. `stop` becomes true once it is to end.
///
/// # Errors
/// What a signal or the callback raised; a panic of the work, as a bug of Cavi's.
pub fn watched<T: Send>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce(&mut dyn FnMut(&Progress) -> Control) -> T + Send,
) -> PyResult<T> {
    let (send, receive) = sync_channel(WAITING);
    let receive = Mutex::new(receive);
    let is_watched = callback.is_some();
    let mut raised = None;
    let joined = thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let send: SyncSender<Progress> = send;
            work(&mut |progress| {
                // A receiver that is gone has said so by `stop`.
                if is_watched && send.send(*progress).is_err() || stop.load(Ordering::Relaxed) {
                    return Control::Stop;
                }
                Control::Continue
            })
        });
        loop {
            let next =
                py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(WAIT));
            let answer = match (next, callback) {
                (Err(RecvTimeoutError::Disconnected), _) => break,
                (Ok(progress), Some(callback)) if raised.is_none() => goes_on(callback, &progress),
                _ => Ok(true),
            };
            match answer.and_then(|goes_on| py.check_signals().map(|()| goes_on)) {
                Ok(true) => {}
                Ok(false) => stop.store(true, Ordering::Relaxed),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
        }
        py.detach(|| worker.join())
    });
    match (raised, joined) {
        (Some(error), _) => Err(error),
        (None, Ok(done)) => Ok(done),
        (None, Err(panic)) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(BrokenPromise::new_err(format!(
                "internal error: {text}\nThis is a bug of Cavi, not of your program. Please report it with the program and the call."
            )))
        }
    }
}

/// Shows a report to the callback; only `False` ends the work.
fn goes_on(callback: &Bound<'_, PyAny>, progress: &Progress) -> PyResult<bool> {
    let report = PyDict::new(callback.py());
    report.set_item("restart", progress.restart)?;
    report.set_item("restarts", progress.restarts)?;
    report.set_item("sweep", progress.sweep)?;
    report.set_item("sweeps", progress.sweeps)?;
    report.set_item("warming", progress.warming)?;
    report.set_item("elbo", progress.elbo)?;
    report.set_item("rel_change", progress.rel_change)?;
    report.set_item("seconds", progress.seconds)?;
    let answer = callback.call1((report,))?;
    Ok(!answer.is_instance_of::<pyo3::types::PyBool>() || answer.is_truthy()?)
}
