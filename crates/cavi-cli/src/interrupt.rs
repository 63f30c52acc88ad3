//! Ctrl-C, SIGTERM, SIGHUP. Before the first sweep of a fit nothing is there that could be lost, and they end the program at once. From then
//! on the first one ends the fit after the current sweep, a long one within it, and lets everything be written; the second one ends at
//! once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether there is something to be written before the program ends.
static HOLDING: AtomicBool = AtomicBool::new(false);

/// From here on the program hears them. Where no handler can be set, they end the program as usual.
pub fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) || !HOLDING.load(Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// From here on the first one is a request: there is something to be written.
pub fn hold() {
    HOLDING.store(true, Ordering::SeqCst);
}

/// What becomes true once the program was asked to end.
pub fn flag() -> Arc<AtomicBool> {
    Arc::clone(&ASKED)
}

/// Whether the program was asked to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
