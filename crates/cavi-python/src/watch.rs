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
    // The work waits after each sweep until the callback has answered, so that it ends after the sweep that is answered with `False`.
    let (send, receive) = sync_channel(0);
    let (answer, answered) = sync_channel(1);
    let receive = Mutex::new(receive);
    let is_watched = callback.is_some();
    let mut raised = None;
    let joined = thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let send: SyncSender<Progress> = send;
            work(&mut |progress| {
                let goes_on = || send.send(*progress).is_ok() && answered.recv().unwrap_or(false);
                let is_over = || stop.load(Ordering::Relaxed);
                if is_over() || is_watched && !goes_on() || is_over() {
                    return Control::Stop;
                }
                Control::Continue
            })
        });
        loop {
            let next =
                py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(WAIT));
            let is_report = next.is_ok();
            let found = match (next, callback) {
                (Err(RecvTimeoutError::Disconnected), _) => break,
                (Ok(progress), Some(callback)) if raised.is_none() => goes_on(callback, &progress),
                _ => Ok(true),
            };
            match found.and_then(|goes_on| py.check_signals().map(|()| goes_on)) {
                Ok(true) => {}
                Ok(false) => stop.store(true, Ordering::Relaxed),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            }
            if is_report {
                // The work waits for it, or has ended.
                let _ = answer.try_send(!stop.load(Ordering::Relaxed));
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
    // Those of NumPy are no instances of Python's.
    Ok(answer.extract::<bool>().unwrap_or(true))
}
